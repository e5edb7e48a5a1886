/* call/task_store.h - where tasks are kept: the records, the interface of a store, and one in memory.
 * Layer: call. Threads: records are immutable and counted atomically; a store is asked on any
 * reactor and answers on the same one.
 *
 * A task is a call whose client comes back for the answer. While it runs, the reactor of its call
 * alone writes versions of its record; everybody reads the store. */
#ifndef OWL_CALL_TASK_STORE_H
#define OWL_CALL_TASK_STORE_H

#include <stdatomic.h>

#include "base/base.h"

enum owl_task_status {
    OWL_TASK_WORKING,
    OWL_TASK_INPUT,     /* payload: object of the open questions, key → {method, params} */
    OWL_TASK_COMPLETED, /* payload: result object */
    OWL_TASK_FAILED,    /* payload: JSON-RPC error object */
    OWL_TASK_CANCELLED
};
static inline bool owl_task_over(enum owl_task_status s)
{
    return s >= OWL_TASK_COMPLETED;
}

enum {
    OWL_TASK_ID_BYTES = 48, /* "<reactor>-<32 hex digits>" and its NUL */
    OWL_TASK_MESSAGE = 512  /* bytes of what a task says of itself */
};

/* One version of a task. */
struct owl_task {
    atomic_uint _refs;
    char id[OWL_TASK_ID_BYTES];
    enum owl_task_status status;
    bool tool_failed;               /* completed: the result has isError */
    int64_t created_ms, updated_ms; /* wall clock */
    uint64_t ttl_ms;                /* from its creation; then it is forgotten */
    unsigned poll_ms;               /* how often a client should ask */
    uint64_t session;               /* serial of the legacy session that made it, or 0 */
    owl_str principal;              /* whose it is; empty: nobody's */
    owl_str message;                /* how it is getting on, for people; or empty */
    owl_str payload;                /* JSON text as its status says, or absent */
};
/* A copy with its texts, of one reference; NULL without memory. */
OWL_NODISCARD struct owl_task *owl_task_new(const struct owl_task *from);
struct owl_task *owl_task_aref(struct owl_task *t);
void owl_task_aunref(struct owl_task *t);
/* Milliseconds until it is forgotten; 0: it is. A clock that was set back counts for nothing. */
uint64_t owl_task_left(const struct owl_task *t);

/* A question to a store, embedded by who asks; lives until `done`, which every question gets: a store
 * that is freed answers those that are left with -OWL_ECLOSED. */
struct owl_task_op {
    /* On the reactor that asked, inside the call or later; after its end on any thread. */
    void (*done)(struct owl_task_op *op, int rc);
    struct owl_task **tasks; /* what was found, borrowed until `done` returns */
    size_t n;
    bool more; /* of list: others follow */
};

struct owl_task_store {
    const struct owl_task_store_ops *ops;
};

struct owl_task_store_ops {
    /* Keep this version, durably, in place of the last. @errors OWL_ELIMIT (no room), OWL_ENOMEM,
     * OWL_EIO. */
    void (*put)(struct owl_task_store *s, struct owl_task *t, struct owl_task_op *op);
    /* @errors OWL_ENOTFOUND: never there, or forgotten. */
    void (*get)(struct owl_task_store *s, owl_str id, struct owl_task_op *op);
    /* At most @p max tasks of a session, oldest first, behind the task @p after (may be absent).
     * @errors OWL_ENOTFOUND: there is no such @p after. */
    void (*list)(struct owl_task_store *s, uint64_t session, owl_str after, size_t max,
                 struct owl_task_op *op);
    /* [any] Forget what has outlived its time; now and then. */
    void (*expire)(struct owl_task_store *s);
    void (*free)(struct owl_task_store *s);
};

/* In memory: at most @p max tasks; @p max_bytes bounds their payloads. The oldest that are over give
 * way to new ones. Answers inside the call. NULL without memory. */
OWL_NODISCARD struct owl_task_store *owl_task_store_memory_new(size_t max, size_t max_bytes);

#endif

/* reactor/reactor.h - N event loops, each with its own thread and mailbox.
 * Layer: reactor. Threads: see each function.
 *
 * A reactor owns its connections, timers and calls; nothing else touches them. What crosses threads
 * crosses by owl_post(). A runtime belongs to the composition root: the program's, or a server that
 * was started without one. What lives on it is added as a part (part.h). Life of a runtime:
 *     owl_runtime_new → (parts) → owl_runtime_start → … → owl_runtime_drain → owl_runtime_join →
 *     owl_runtime_aunref
 * The end of its last part stops it; one without parts is stopped by owl_runtime_stop(). The loop of
 * a reactor ends when the runtime is stopped and every handle on it is closed. Nothing that runs on
 * one raises SIGPIPE, not even on the thread of a program. Signal handlers are the program's. */
#ifndef OWL_REACTOR_REACTOR_H
#define OWL_REACTOR_REACTOR_H

#include <uv.h>

#include "base/log.h"

struct owl_runtime;
struct owl_reactor;

/* A message to a reactor; embed it in what is sent. The receiver owns it once it is posted. */
struct owl_msg {
    struct owl_msg *next;
    void (*run)(struct owl_reactor *r, struct owl_msg *m);
};

struct owl_runtime_options {
    unsigned reactors;         /* at least 1 */
    unsigned workers;          /* at least 1; threads start on the first submitted work */
    unsigned max_queued_work;  /* beyond which owl_worker_submit() refuses */
    unsigned lag_warn_ms;      /* a loop turn longer than this is logged; 0: no watchdog */
    bool embedded;             /* reactor 0 has no thread: the caller steps it */
    const struct owl_log *log; /* borrowed, outlives the runtime; NULL: no log */
};

/* Loops and mailboxes, no threads yet: handles may be put on any loop until the start. Posting
 * works from now on. Standard descriptors that are closed are taken: see base/fd.h. Counted, because
 * calls that are kept after the stop still post: one reference. The last one goes after the join.
 * @errors OWL_EINVAL, OWL_ENOMEM, OWL_EIO (out of descriptors). */
OWL_NODISCARD int owl_runtime_new(const struct owl_runtime_options *o, struct owl_runtime **ret,
                                  owl_error *reterr);
struct owl_runtime *owl_runtime_aref(struct owl_runtime *rt);
void owl_runtime_aunref(struct owl_runtime *rt);

/* All or nothing: after a failure the runtime is as it was. Threads block all signals but faults.
 * @errors OWL_ENOMEM (no thread could be made), OWL_ESTATE (started or stopped before). */
OWL_NODISCARD int owl_runtime_start(struct owl_runtime *rt, owl_error *reterr);
/* [any] False until the start has begun: whoever holds the runtime may touch its loops until then. */
bool owl_runtime_started(const struct owl_runtime *rt);
/* [any] Returns at once; parts are not drained. A thread of the runtime's own waits for the workers,
 * then closes the mailboxes: whoever owns handles must close them, beforehand or by a message that is
 * posted by now. Work that is still queued is run all the same; more is refused. Harmless if it is
 * repeated. */
void owl_runtime_stop(struct owl_runtime *rt);
/* Waits for all threads; the stop may come before or during it. An embedded reactor 0 is run to its
 * end. Without a start it only closes the loops, after running what was posted and submitted.
 * Parts that are still there are let go, without a word to them. Aborts if a handle was left on a
 * loop. Not from a reactor or worker. */
void owl_runtime_join(struct owl_runtime *rt);

/* Embedded: run what is ready on reactor 0 without blocking; false once its loop has ended. */
bool owl_runtime_step(struct owl_runtime *rt);

unsigned owl_runtime_count(const struct owl_runtime *rt);
struct owl_reactor *owl_runtime_at(struct owl_runtime *rt, unsigned index);
/* The reactor that an id such as "3-…" names by its index, or NULL. */
struct owl_reactor *owl_runtime_named(struct owl_runtime *rt, owl_str id);

/* [any] Run m->run on @p r, in the order of posting per sender. False if the reactor has closed its
 * mailbox: the message stays the caller's. Never runs m inside the call. */
OWL_NODISCARD bool owl_post(struct owl_reactor *r, struct owl_msg *m);

/* [any] The reactor whose thread this is, or NULL. */
struct owl_reactor *owl_reactor_self(void);
unsigned owl_reactor_index(const struct owl_reactor *r);
struct owl_runtime *owl_reactor_runtime(struct owl_reactor *r);
uv_loop_t *owl_reactor_loop(struct owl_reactor *r);
/* Loop time in ms: cheap, constant within one turn. */
uint64_t owl_reactor_now(const struct owl_reactor *r);
/* Aborts unless called on @p r's thread (or, before the start and after the join, on any). */
void owl_reactor_assert(const struct owl_reactor *r);

/* Names what the reactor is doing, for the watchdog: a static string. Returns the previous one, to
 * be put back. Callbacks of handles mark themselves first of all: by that the watchdog knows that
 * the loop has woken, which libuv itself tells only after them. Messages and timers are marked
 * already. */
const char *owl_reactor_mark(struct owl_reactor *r, const char *doing);

/* Connections and streams that live here; the listener balances by it. [any] */
void owl_reactor_load_add(struct owl_reactor *r, int delta);
unsigned owl_reactor_load(const struct owl_reactor *r);

/* Longest loop turn so far, in microseconds. [any] */
uint64_t owl_reactor_max_lag_us(const struct owl_reactor *r);

#endif

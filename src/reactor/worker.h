/* reactor/worker.h - threads for work that may block.
 * Layer: reactor. Threads: any. */
#ifndef OWL_REACTOR_WORKER_H
#define OWL_REACTOR_WORKER_H

#include "base/list.h"
#include "reactor/reactor.h"

struct owl_runtime_part;

/* Clients take turns, and none that can be told apart has more than three quarters of the workers,
 * if there are several. Zero, but for `run`, `client` and `part`, before it is queued for the first
 * time. */
struct owl_work {
    struct owl_list node;
    bool queued;                     /* under the lock of the queue */
    uint64_t client;                 /* a number for whose it is; 0: it cannot be told */
    struct owl_runtime_part *part;   /* which does not leave before it has run; or NULL */
    void (*run)(struct owl_work *w); /* on a worker thread; owns w */
};

/* Queue @p w. In a full queue a client, or those few that share its lane, still gets an even share of
 * max_queued_work. @errors OWL_ELIMIT (the queue is full), OWL_ECLOSED (stopped), OWL_ENOMEM (no
 * thread could be made); w stays the caller's then. */
OWL_NODISCARD int owl_worker_submit(struct owl_runtime *rt, struct owl_work *w);
/* Take @p w out of the queue: true, and it is the caller's again. False: it is not there. */
OWL_NODISCARD bool owl_worker_withdraw(struct owl_runtime *rt, struct owl_work *w);

#endif

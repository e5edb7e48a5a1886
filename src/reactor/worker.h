/* reactor/worker.h - threads for work that may block.
 * Layer: reactor. Threads: any. */
#ifndef OWL_REACTOR_WORKER_H
#define OWL_REACTOR_WORKER_H

#include "reactor/reactor.h"

struct owl_work {
    struct owl_work *next;
    void (*run)(struct owl_work *w); /* on a worker thread; owns w */
};

/* Queue @p w. @errors OWL_ELIMIT (the queue is full), OWL_ECLOSED (stopped), OWL_ENOMEM (no thread
 * could be made); w stays the caller's then. */
OWL_NODISCARD int owl_worker_submit(struct owl_runtime *rt, struct owl_work *w);

#endif

/* reactor/part.h - parts: what lives on a runtime, and how the runtime comes to its end.
 * Layer: reactor. Threads: see each function.
 *
 * The composition root makes and starts a runtime. Every part that lives on it (a server, upstreams,
 * a store) is added, before the start or while it runs, and goes by these steps:
 *
 *     add → drain on each reactor → owl_runtime_part_ended() → left
 *
 * Parts come and go on their own. The end of the last one stops the runtime; a root that wants to keep
 * one without parts adds a part of its own. */
#ifndef OWL_REACTOR_PART_H
#define OWL_REACTOR_PART_H

#include <stdatomic.h>

#include "base/list.h"
#include "reactor/reactor.h"

struct owl_runtime__station; /* of a part on one reactor */

/* Embed it; zero but for the first five members. Its owner keeps it until it has left. */
struct owl_runtime_part {
    const char *name; /* static; for the log */
    /* Parts with a higher level are needed by those with a lower one: owl_runtime_drain() drains them
     * after those have left. 0: what brings work, such as a server. */
    unsigned level;
    /* On each reactor, once: take no new work, and begin to end what is there. It must come to an
     * end in bounded time, whatever peers do. */
    void (*drain)(struct owl_runtime_part *p, struct owl_reactor *r);
    /* On each reactor, once, after drain and perhaps after the end: wait for nothing more. NULL:
     * there is nothing to hurry. */
    void (*hurry)(struct owl_runtime_part *p, struct owl_reactor *r);
    /* The runtime does not touch the part any more; it may be freed here. On reactor 0. May be
     * NULL. */
    void (*left)(struct owl_runtime_part *p);

    /* The runtime's own. */
    _Atomic(struct owl_runtime *) _rt;
    atomic_bool _drain_asked, _hurry_asked;
    struct owl_list _node;                  /* the rest under the runtime's lock */
    struct owl_runtime__station *_stations; /* one a reactor */
    struct owl_msg _round;
    unsigned _rounds;         /* reactors that the round has still to visit */
    unsigned _work;           /* of the part, queued or running on a worker */
    bool _draining, _hurried; /* told so */
    bool _ended;
};

/* [any] @errors OWL_ESTATE (the runtime is draining or stopped), OWL_ENOMEM. */
OWL_NODISCARD int owl_runtime_part_add(struct owl_runtime *rt, struct owl_runtime_part *p,
                                       owl_error *reterr);
/* [any] Drain this part alone. May be called from a signal handler, before the part is added, and after
 * it has left if the caller holds the runtime. False if that was asked for before. */
bool owl_runtime_part_drain(struct owl_runtime_part *p);
/* The same, and then hurry. */
void owl_runtime_part_hurry(struct owl_runtime_part *p);
/* [any] Once, after drain has run on every reactor: the part has no handle, timer or connection on any
 * of them, and posts nothing to them any more. Before it leaves, its work (see worker.h) has returned,
 * and the messages that were on their way have run, and those which these have posted. */
void owl_runtime_part_ended(struct owl_runtime_part *p);

/* [any] Drain all parts, level by level; the runtime stops when the last has left, or at once if
 * there is none. No part can be added from now on. May be called from a signal handler. Before the
 * start of the runtime it takes effect with that. False if it was asked for before. */
bool owl_runtime_drain(struct owl_runtime *rt);
/* The same, and hurry each part. */
void owl_runtime_hurry(struct owl_runtime *rt);

#endif

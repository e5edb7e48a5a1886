/* reactor/timer.h - many timers on one loop timer.
 * Layer: reactor. Threads: the reactor's.
 *
 * Intrusive (a pairing heap without allocation), so starting one cannot fail. Due timers run in the
 * order of their times; one that is started by a timer's callback runs in a later turn. */
#ifndef OWL_REACTOR_TIMER_H
#define OWL_REACTOR_TIMER_H

#include "reactor/reactor.h"

struct owl_timer {
    struct owl_timer *_child, *_next, *_prev; /* heap links */
    struct owl_reactor *_reactor;             /* set while it runs */
    uint64_t _at, _seq;                       /* equal times run in the order of starting */
    void (*fn)(struct owl_timer *t);
};

void owl_timer_init(struct owl_timer *t, void (*fn)(struct owl_timer *t));
/* (Re)start: fn runs once, on @p r, no earlier than @p delay_ms from now. A running timer does not
 * keep the loop alive, and never runs once the mailbox of @p r has closed. */
void owl_timer_start(struct owl_reactor *r, struct owl_timer *t, uint64_t delay_ms);
/* Harmless if it is idle. */
void owl_timer_stop(struct owl_timer *t);
bool owl_timer_active(const struct owl_timer *t);

#endif

/* reactor/timer.c - a pairing heap of intrusive timers under one libuv timer.
 *
 * Threads: the reactor's own.
 * Invariants: a timer is in the heap exactly while t->_reactor is set. `_prev` of a first child is
 * its parent, of another child its elder sibling, of the root NULL. The alarm rings no later than
 * the root is due; it may ring too early, since stopping a timer leaves it alone. */
#include "reactor/internal.h"

static bool earlier(const struct owl_timer *a, const struct owl_timer *b)
{
    return a->_at != b->_at ? a->_at < b->_at : a->_seq < b->_seq;
}

/* Joins two heaps, either of which may be NULL; roots without siblings. */
static struct owl_timer *meld(struct owl_timer *a, struct owl_timer *b)
{
    if (!a || !b)
        return a ? a : b;
    if (earlier(b, a)) {
        struct owl_timer *swap = a;
        a = b;
        b = swap;
    }
    b->_prev = a;
    b->_next = a->_child;
    if (b->_next)
        b->_next->_prev = b;
    a->_child = b;
    return a;
}

/* One heap of a list of siblings: in pairs from the left, then all of them from the right. */
static struct owl_timer *meld_siblings(struct owl_timer *first)
{
    struct owl_timer *pairs = NULL;
    while (first) {
        struct owl_timer *a = first, *b = a->_next;
        first = b ? b->_next : NULL;
        a->_next = a->_prev = NULL;
        if (b)
            b->_next = b->_prev = NULL;
        a = meld(a, b);
        a->_next = pairs;
        pairs = a;
    }
    struct owl_timer *root = NULL;
    while (pairs) {
        struct owl_timer *next = pairs->_next;
        pairs->_next = NULL;
        root = meld(root, pairs);
        pairs = next;
    }
    return root;
}

static void heap_remove(struct owl_reactor *r, struct owl_timer *t)
{
    if (t == r->timers) {
        r->timers = meld_siblings(t->_child);
    } else {
        if (t->_prev->_child == t)
            t->_prev->_child = t->_next;
        else
            t->_prev->_next = t->_next;
        if (t->_next)
            t->_next->_prev = t->_prev;
        r->timers = meld(r->timers, meld_siblings(t->_child));
    }
    t->_child = t->_next = t->_prev = NULL;
    t->_reactor = NULL;
}

static void alarm_rang(uv_timer_t *alarm);

/* The loop's clock and uv_hrtime() are the same clock, the former as of the last poll. */
static void alarm_set(struct owl_reactor *r, uint64_t least_delay)
{
    if (!r->timers || r->timers->_at >= r->alarm_at || uv_is_closing((uv_handle_t *)&r->alarm))
        return;
    uint64_t now = uv_now(&r->loop);
    uint64_t delay = r->timers->_at > now ? r->timers->_at - now : 0;
    r->alarm_at = r->timers->_at;
    uv_timer_start(&r->alarm, alarm_rang, delay < least_delay ? least_delay : delay, 0);
}

/* Timers that are started by a callback wait for a later turn, or one that restarts itself without
 * a delay would keep the loop from polling: hence the limit, and the delay of at least 1 ms. */
static void alarm_rang(uv_timer_t *alarm)
{
    struct owl_reactor *r = alarm->data;
    const char *before = owl_reactor_mark(r, "timer");
    uint64_t now = uv_hrtime() / OWL_NS_PER_MS, limit = r->timer_seq;

    r->alarm_at = 0; /* callbacks leave the alarm alone */
    while (r->timers && r->timers->_at <= now && r->timers->_seq < limit) {
        struct owl_timer *t = r->timers;
        heap_remove(r, t);
        t->fn(t);
    }
    r->alarm_at = UINT64_MAX;
    alarm_set(r, 1);
    owl_reactor_mark(r, before);
}

void owl_timer__init(struct owl_reactor *r)
{
    r->alarm_at = UINT64_MAX;
    r->alarm.data = r;
    uv_timer_init(&r->loop, &r->alarm);
    uv_unref((uv_handle_t *)&r->alarm);
}

void owl_timer_init(struct owl_timer *t, void (*fn)(struct owl_timer *t))
{
    *t = (struct owl_timer){.fn = fn};
}

void owl_timer_start(struct owl_reactor *r, struct owl_timer *t, uint64_t delay_ms)
{
    owl_reactor_assert(r);
    owl_timer_stop(t);

    /* A fresh clock, since the loop's is as old as this turn; rounded up, or it would be early. */
    uint64_t ns = uv_hrtime() + (delay_ms ? OWL_NS_PER_MS - 1 : 0);
    t->_at = ns / OWL_NS_PER_MS + delay_ms;
    if (t->_at < delay_ms)
        t->_at = UINT64_MAX - 1;
    t->_seq = r->timer_seq++;
    t->_reactor = r;
    r->timers = meld(r->timers, t);
    alarm_set(r, 0);
}

void owl_timer_stop(struct owl_timer *t)
{
    if (!t->_reactor)
        return;
    owl_reactor_assert(t->_reactor);
    heap_remove(t->_reactor, t);
}

bool owl_timer_active(const struct owl_timer *t)
{
    return t->_reactor != NULL;
}

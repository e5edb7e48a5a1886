/* reactor/part.c - parts of a runtime: added, drained, gone; the last one stops it.
 *
 * Threads: asking for a drain from any, even in a signal handler: it sets a flag and rings the bell, a
 * handle on reactor 0, which alone tells parts. The list is under rt->mu, never held while a callback
 * runs.
 * Invariants: a part leaves after its work has returned and a round has visited every reactor twice.
 * Mailboxes keep their order: the first visit comes after the messages that were on their way when
 * the part ended, the second after those which these have posted. The bell is rung only while it is
 * open; it is closed when nobody rings. */
#include "reactor/part.h"

#include <limits.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/err.h"
#include "reactor/internal.h"

enum { VISITS = 2 };

struct owl_runtime__station {
    struct owl_runtime_part *part;
    struct owl_msg drain, hurry;
};

/* ---- telling parts, on reactor 0 ---- */

static void on_drain(struct owl_reactor *r, struct owl_msg *m)
{
    struct owl_runtime_part *p = OWL_CONTAINER(m, struct owl_runtime__station, drain)->part;
    p->drain(p, r);
}

static void on_hurry(struct owl_reactor *r, struct owl_msg *m)
{
    struct owl_runtime_part *p = OWL_CONTAINER(m, struct owl_runtime__station, hurry)->part;
    p->hurry(p, r);
}

/* A mailbox that refuses belongs to a runtime that was stopped without a drain: nobody is told. */
static void tell(struct owl_runtime *rt, struct owl_runtime_part *p, bool hurry)
{
    for (unsigned i = 0; i < rt->opt.reactors; i++) {
        struct owl_runtime__station *st = &p->_stations[i];
        OWL_IGNORE(owl_post(&rt->reactors[i], hurry ? &st->hurry : &st->drain));
    }
}

static unsigned lowest_level(struct owl_runtime *rt)
{
    unsigned level = UINT_MAX;
    OWL_LIST_EACH (&rt->parts, it) {
        const struct owl_runtime_part *p = OWL_CONTAINER(it, struct owl_runtime_part, _node);
        level = p->level < level ? p->level : level;
    }
    return level;
}

static void stop(struct owl_runtime *rt)
{
    owl_worker__stop(rt);
    pthread_cond_broadcast(&rt->change);
}

/* Under rt->mu: tells those parts that are to hear something now. */
static void look(struct owl_runtime *rt)
{
    bool all = atomic_load(&rt->drain_asked), hurry = atomic_load(&rt->hurry_asked);
    unsigned level = lowest_level(rt);
    if (all && owl_list_empty(&rt->parts))
        stop(rt);
    OWL_LIST_EACH (&rt->parts, it) {
        struct owl_runtime_part *p = OWL_CONTAINER(it, struct owl_runtime_part, _node);
        if (!p->_draining && (atomic_load(&p->_drain_asked) || (all && p->level == level))) {
            p->_draining = true;
            tell(rt, p, false);
        }
        bool late = hurry || atomic_load(&p->_hurry_asked);
        if (late && p->_draining && !p->_hurried && !p->_ended) {
            p->_hurried = true;
            if (p->hurry)
                tell(rt, p, true);
        }
    }
}

static void on_bell(uv_async_t *bell)
{
    struct owl_runtime *rt = bell->data;
    pthread_mutex_lock(&rt->mu);
    look(rt);
    pthread_mutex_unlock(&rt->mu);
}

/* ---- the bell ---- */

void owl_part__init(struct owl_runtime *rt)
{
    owl_list_init(&rt->parts);
    rt->bell.data = rt;
    /* What could fail is made once a loop, and the mailbox has made it. */
    bool made = uv_async_init(&rt->reactors[0].loop, &rt->bell, on_bell) == 0;
    OWL_ASSERT(made);
    atomic_store(&rt->bell_open, true);
}

/* All that is allowed in a signal handler. */
static void ring(struct owl_runtime *rt)
{
    atomic_fetch_add(&rt->ringers, 1u);
    if (atomic_load(&rt->bell_open))
        uv_async_send(&rt->bell);
    atomic_fetch_sub(&rt->ringers, 1u);
}

void owl_part__close(struct owl_runtime *rt)
{
    if (!atomic_exchange(&rt->bell_open, false))
        return;
    while (atomic_load(&rt->ringers) > 0)
        sched_yield();
    uv_close((uv_handle_t *)&rt->bell, NULL);
}

bool owl_runtime_part_drain(struct owl_runtime_part *p)
{
    bool first = !atomic_exchange(&p->_drain_asked, true);
    struct owl_runtime *rt = atomic_load(&p->_rt);
    if (rt)
        ring(rt);
    return first;
}

void owl_runtime_part_hurry(struct owl_runtime_part *p)
{
    atomic_store(&p->_hurry_asked, true);
    OWL_IGNORE(owl_runtime_part_drain(p)); /* whoever asked first */
}

bool owl_runtime_drain(struct owl_runtime *rt)
{
    bool first = !atomic_exchange(&rt->drain_asked, true);
    ring(rt);
    return first;
}

void owl_runtime_hurry(struct owl_runtime *rt)
{
    atomic_store(&rt->hurry_asked, true);
    OWL_IGNORE(owl_runtime_drain(rt)); /* likewise */
}

/* ---- coming and going ---- */

int owl_runtime_part_add(struct owl_runtime *rt, struct owl_runtime_part *p, owl_error *reterr)
{
    p->_stations = owl_calloc(rt->opt.reactors, sizeof(p->_stations[0]));
    if (!p->_stations)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    for (unsigned i = 0; i < rt->opt.reactors; i++)
        p->_stations[i] = (struct owl_runtime__station){
            .part = p, .drain.run = on_drain, .hurry.run = on_hurry};
    owl_list_init(&p->_node);

    pthread_mutex_lock(&rt->mu);
    bool open = !rt->stopping && !atomic_load(&rt->drain_asked);
    if (open) {
        owl_list_add(&rt->parts, &p->_node);
        atomic_store(&p->_rt, rt);
    }
    pthread_mutex_unlock(&rt->mu);
    if (!open) {
        OWL_FREE(&p->_stations);
        return owl_fail(reterr, OWL_ESTATE, "%s: the runtime is about to stop", p->name);
    }
    if (atomic_load(&p->_drain_asked))
        ring(rt);
    return 0;
}

/* On reactor 0; the last touch. */
static void leave(struct owl_runtime *rt, struct owl_runtime_part *p)
{
    pthread_mutex_lock(&rt->mu);
    owl_list_del(&p->_node);
    if (owl_list_empty(&rt->parts))
        stop(rt);
    else
        look(rt);
    pthread_mutex_unlock(&rt->mu);
    OWL_FREE(&p->_stations);
    if (p->left)
        p->left(p);
}

static void go_round(struct owl_runtime *rt, struct owl_runtime_part *p)
{
    unsigned next = --p->_rounds % rt->opt.reactors;
    OWL_IGNORE(owl_post(&rt->reactors[next], &p->_round)); /* or the runtime was stopped */
}

static void on_round(struct owl_reactor *r, struct owl_msg *m)
{
    struct owl_runtime_part *p = OWL_CONTAINER(m, struct owl_runtime_part, _round);
    if (p->_rounds > 0)
        go_round(r->rt, p);
    else
        leave(r->rt, p);
}

/* Under rt->mu. */
static void begin_round(struct owl_runtime *rt, struct owl_runtime_part *p)
{
    p->_round.run = on_round;
    p->_rounds = VISITS * rt->opt.reactors;
    go_round(rt, p);
}

void owl_runtime_part_ended(struct owl_runtime_part *p)
{
    struct owl_runtime *rt = atomic_load(&p->_rt);
    pthread_mutex_lock(&rt->mu);
    OWL_ASSERT(p->_draining && !p->_ended);
    p->_ended = true;
    if (p->_work == 0)
        begin_round(rt, p);
    pthread_mutex_unlock(&rt->mu);
}

void owl_part__work_done(struct owl_runtime *rt, struct owl_runtime_part *p)
{
    if (p && --p->_work == 0 && p->_ended)
        begin_round(rt, p);
}

void owl_part__let_go(struct owl_runtime *rt)
{
    OWL_LIST_EACH (&rt->parts, it) {
        struct owl_runtime_part *p = OWL_CONTAINER(it, struct owl_runtime_part, _node);
        owl_list_del(&p->_node);
        OWL_FREE(&p->_stations);
    }
}

/* reactor/runtime.c - the life of all reactors: new, start, stop, join.
 *
 * Threads: one a reactor, the workers, and one control thread, which is the watchdog and carries
 * out the stop, so that stopping never blocks and never needs a resource that it might not get.
 * Invariants: the start is all or nothing: threads wait until all of them exist. Mailboxes close
 * only after the last worker has ended, so that work can always deliver its result. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/fd.h"
#include "reactor/internal.h"

enum { MOST_THREADS = 1024 };

static void state_set(struct owl_runtime *rt, enum owl_runtime_state state)
{
    pthread_mutex_lock(&rt->mu);
    atomic_store_explicit(&rt->state, state, memory_order_relaxed);
    pthread_cond_broadcast(&rt->change);
    pthread_mutex_unlock(&rt->mu);
}

static enum owl_runtime_state state_get(struct owl_runtime *rt)
{
    return atomic_load_explicit(&rt->state, memory_order_relaxed);
}

/* Threads begin here. False: another one could not be made, and this one is to go again. */
static bool started(struct owl_runtime *rt)
{
    pthread_mutex_lock(&rt->mu);
    while (state_get(rt) == OWL_RUNTIME_STARTING)
        pthread_cond_wait(&rt->change, &rt->mu);
    bool yes = state_get(rt) == OWL_RUNTIME_RUNNING;
    pthread_mutex_unlock(&rt->mu);
    return yes;
}

static void reactor_main(void *arg)
{
    struct owl_reactor *r = arg;
    if (started(r->rt))
        owl_reactor__run(r);
}

/* Under rt->mu: until something changes or it is time to look at the reactors again. */
static void control_wait(struct owl_runtime *rt)
{
    if (rt->opt.lag_warn_ms == 0) {
        pthread_cond_wait(&rt->change, &rt->mu);
        return;
    }
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t ns = (uint64_t)at.tv_nsec + (rt->opt.lag_warn_ms + 1u) / 2 * OWL_NS_PER_MS;
    at.tv_sec += (time_t)(ns / (1000 * OWL_NS_PER_MS));
    at.tv_nsec = (long)(ns % (1000 * OWL_NS_PER_MS));
    if (pthread_cond_timedwait(&rt->change, &rt->mu, &at) == 0)
        return;
    pthread_mutex_unlock(&rt->mu); /* the log is the program's: never under a lock */
    owl_watch__scan(rt);
    pthread_mutex_lock(&rt->mu);
}

/* Waits for the stop and for the workers, then lets the loops end. */
static void wind_down(struct owl_runtime *rt)
{
    pthread_mutex_lock(&rt->mu);
    while (!rt->stopping || rt->workers_live > 0)
        control_wait(rt);
    pthread_mutex_unlock(&rt->mu);

    owl_worker__join(rt);
    for (unsigned i = 0; i < rt->opt.reactors; i++)
        owl_mailbox__shut(&rt->reactors[i]);
}

static void control_main(void *arg)
{
    if (started(arg))
        wind_down(arg);
}

static int options_check(const struct owl_runtime_options *o, owl_error *reterr)
{
    if (o->reactors < 1 || o->reactors > MOST_THREADS)
        return owl_fail(reterr, OWL_EINVAL, "%u reactors: there must be 1 to %d", o->reactors,
                        MOST_THREADS);
    if (o->workers < 1 || o->workers > MOST_THREADS)
        return owl_fail(reterr, OWL_EINVAL, "%u workers: there must be 1 to %d", o->workers,
                        MOST_THREADS);
    return 0;
}

static void locks_init(struct owl_runtime *rt)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&rt->mu, NULL);
    pthread_cond_init(&rt->work, NULL);
    pthread_cond_init(&rt->change, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Frees a runtime whose first @p made loops exist and have ended. */
static void runtime_free(struct owl_runtime *rt, unsigned made)
{
    for (unsigned i = 0; i < made; i++)
        pthread_mutex_destroy(&rt->reactors[i].mu);
    pthread_cond_destroy(&rt->change);
    pthread_cond_destroy(&rt->work);
    pthread_mutex_destroy(&rt->mu);
    owl_free(rt->workers);
    owl_free(rt);
}

static void loop_discard(struct owl_reactor *r)
{
    owl_mailbox__shut(r);
    owl_reactor__run(r);
    owl_reactor__done(r);
}

int owl_runtime_new(const struct owl_runtime_options *o, struct owl_runtime **ret,
                    owl_error *reterr)
{
    static const struct owl_log no_log;
    int rc = options_check(o, reterr);
    if (rc != 0)
        return rc;
    if (!owl_fd_hold_standard())
        return owl_fail(reterr, OWL_EIO,
                        "a standard descriptor is closed, and /dev/null cannot be opened: %s",
                        strerror(errno));

    struct owl_runtime *rt = owl_calloc(1, sizeof(*rt) + o->reactors * sizeof(rt->reactors[0]));
    pthread_t *workers = owl_calloc(o->workers, sizeof(*workers));
    if (!rt || !workers) {
        owl_free(workers);
        owl_free(rt);
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    }
    atomic_init(&rt->refs, 1);
    rt->opt = *o;
    if (!rt->opt.log)
        rt->opt.log = &no_log;
    rt->workers = workers;
    locks_init(rt);
    owl_worker__init(rt);

    for (unsigned i = 0; i < o->reactors; i++) {
        rc = owl_reactor__init(rt, i);
        if (rc == 0)
            continue;
        for (unsigned k = 0; k < i; k++)
            loop_discard(&rt->reactors[k]);
        runtime_free(rt, i);
        return owl_fail(reterr, OWL_EIO, "cannot make event loop %u of %u: %s", i + 1, o->reactors,
                        uv_strerror(rc));
    }
    owl_part__init(rt);
    *ret = rt;
    return 0;
}

struct owl_runtime *owl_runtime_aref(struct owl_runtime *rt)
{
    atomic_fetch_add_explicit(&rt->refs, 1, memory_order_relaxed);
    return rt;
}

void owl_runtime_aunref(struct owl_runtime *rt)
{
    /* Release what this holder did, acquire what all others did before the end. */
    if (!rt || atomic_fetch_sub_explicit(&rt->refs, 1, memory_order_acq_rel) != 1)
        return;
    bool joined = state_get(rt) == OWL_RUNTIME_ENDED;
    OWL_ASSERT(joined);
    runtime_free(rt, rt->opt.reactors);
}

static unsigned first_with_thread(const struct owl_runtime *rt)
{
    return rt->opt.embedded ? 1 : 0;
}

static void reactors_join(struct owl_runtime *rt, unsigned end)
{
    for (unsigned i = first_with_thread(rt); i < end; i++)
        pthread_join(rt->reactors[i].thread, NULL);
}

static int threads_make(struct owl_runtime *rt)
{
    unsigned i = first_with_thread(rt);
    int rc = 0;
    for (; i < rt->opt.reactors && rc == 0; i++) {
        char name[16];
        snprintf(name, sizeof(name), "owl-r%u", i);
        rc = owl_thread__start(&rt->reactors[i].thread, name, reactor_main, &rt->reactors[i]);
    }
    unsigned made = rc == 0 ? i : i - 1;
    if (rc == 0)
        rc = owl_thread__start(&rt->control, "owl-control", control_main, rt);
    state_set(rt, rc == 0 ? OWL_RUNTIME_RUNNING : OWL_RUNTIME_NEW);
    if (rc != 0)
        reactors_join(rt, made);
    return rc;
}

int owl_runtime_start(struct owl_runtime *rt, owl_error *reterr)
{
    pthread_mutex_lock(&rt->mu);
    bool fresh = state_get(rt) == OWL_RUNTIME_NEW && !rt->stopping;
    if (fresh)
        atomic_store_explicit(&rt->state, OWL_RUNTIME_STARTING, memory_order_relaxed);
    pthread_mutex_unlock(&rt->mu);
    if (!fresh)
        return owl_fail(reterr, OWL_ESTATE, "the runtime was started or stopped before");
    if (threads_make(rt) != 0)
        return owl_fail(reterr, OWL_ENOMEM, "cannot start the threads of %u reactors",
                        rt->opt.reactors);
    return 0;
}

bool owl_runtime_started(const struct owl_runtime *rt)
{
    return atomic_load_explicit(&rt->state, memory_order_relaxed) != OWL_RUNTIME_NEW;
}

void owl_runtime_stop(struct owl_runtime *rt)
{
    pthread_mutex_lock(&rt->mu);
    owl_worker__stop(rt);
    pthread_cond_broadcast(&rt->change);
    pthread_mutex_unlock(&rt->mu);
}

void owl_runtime_join(struct owl_runtime *rt)
{
    struct owl_reactor *self = owl_reactor_self();
    OWL_ASSERT(!self || self->rt != rt);
    enum owl_runtime_state state = state_get(rt);
    if (state == OWL_RUNTIME_ENDED)
        return;
    if (state == OWL_RUNTIME_RUNNING) {
        if (rt->opt.embedded)
            owl_reactor__run(&rt->reactors[0]);
        pthread_join(rt->control, NULL);
        reactors_join(rt, rt->opt.reactors);
    } else {
        owl_runtime_stop(rt);
        wind_down(rt);
        for (unsigned i = 0; i < rt->opt.reactors; i++)
            owl_reactor__run(&rt->reactors[i]);
    }
    for (unsigned i = 0; i < rt->opt.reactors; i++)
        owl_reactor__done(&rt->reactors[i]);
    owl_part__let_go(rt);
    state_set(rt, OWL_RUNTIME_ENDED);
}

bool owl_runtime_step(struct owl_runtime *rt)
{
    OWL_ASSERT(rt->opt.embedded);
    if (state_get(rt) == OWL_RUNTIME_ENDED)
        return false;
    return owl_reactor__step(&rt->reactors[0]);
}

unsigned owl_runtime_count(const struct owl_runtime *rt)
{
    return rt->opt.reactors;
}

struct owl_reactor *owl_runtime_at(struct owl_runtime *rt, unsigned index)
{
    OWL_ASSERT(index < rt->opt.reactors);
    return &rt->reactors[index];
}

struct owl_reactor *owl_runtime_named(struct owl_runtime *rt, owl_str id)
{
    owl_str index;
    uint64_t i;
    if (!owl_str_split(&id, '-', &index) || !owl_str_u64(index, owl_runtime_count(rt) - 1, &i))
        return NULL;
    return owl_runtime_at(rt, (unsigned)i);
}

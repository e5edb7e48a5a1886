/* reactor/reactor.c - one event loop: its making, its running and its end.
 *
 * Threads: init and done on the thread that holds the runtime; run and step make the calling thread
 * the reactor's own for as long as they take.
 * Invariant: when the loop has ended, no handle is left on it. A handle that is left is a fault of
 * its owner and aborts, because its memory would be used after it was freed. */
#include <signal.h>
#include <time.h>

#include "base/block.h"
#include "reactor/internal.h"

enum { LULL_MS = 2000 };

static OWL_THREAD_LOCAL struct owl_reactor *self;

struct owl_reactor *owl_reactor_self(void)
{
    return self;
}

unsigned owl_reactor_index(const struct owl_reactor *r)
{
    return r->index;
}

struct owl_runtime *owl_reactor_runtime(struct owl_reactor *r)
{
    return r->rt;
}

uv_loop_t *owl_reactor_loop(struct owl_reactor *r)
{
    return &r->loop;
}

uint64_t owl_reactor_now(const struct owl_reactor *r)
{
    return uv_now(&r->loop);
}

void owl_reactor_assert(const struct owl_reactor *r)
{
    if (OWL_LIKELY(self == r))
        return;
    /* Relaxed: only the thread that starts or joins may be in doubt, and it wrote the state
     * itself. */
    enum owl_runtime_state s = atomic_load_explicit(&r->rt->state, memory_order_relaxed);
    bool on_the_thread_of_the_reactor = s == OWL_RUNTIME_NEW || s == OWL_RUNTIME_ENDED;
    OWL_ASSERT(on_the_thread_of_the_reactor);
}

/* What was of use in the last seconds may be so again; the rest goes. */
static void on_lull(struct owl_timer *t)
{
    (void)t; /* the end of the turn starts it again if there is something left */
    owl_thread_keep_less();
}

void owl_reactor__keep(struct owl_reactor *r)
{
    if (OWL_UNLIKELY(owl_thread_kept() > 0) && !owl_timer_active(&r->lull))
        owl_timer_start(r, &r->lull, LULL_MS);
}

int owl_reactor__init(struct owl_runtime *rt, unsigned index)
{
    struct owl_reactor *r = &rt->reactors[index];
    r->rt = rt;
    r->index = index;
    int rc = uv_loop_init(&r->loop);
    if (rc != 0)
        return rc;
    rc = owl_mailbox__init(r);
    if (rc != 0) {
        OWL_ASSERT(uv_loop_close(&r->loop) == 0);
        return rc;
    }
    owl_timer__init(r);
    owl_timer_init(&r->lull, on_lull);
    owl_watch__init(r);
    return 0;
}

/* A peer that has gone is an error of a write and no signal. Our own threads block it, but that of a
 * program that steps the loop itself may not, and libuv writes in a way that raises it. */
static int run_quietly(uv_loop_t *loop, uv_run_mode mode)
{
    const struct timespec now = {0, 0};
    sigset_t pipe_only, before;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    int alive = uv_run(loop, mode);
    if (sigismember(&before, SIGPIPE) == 0) {
        OWL_IGNORE(sigtimedwait(&pipe_only, NULL, &now)); /* takes it off, if it is there */
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return alive;
}

/* Both leave the previous self in place: a program may step an embedded runtime from the callbacks
 * of another one. */
static bool run(struct owl_reactor *r, uv_run_mode mode)
{
    struct owl_reactor *before = self;
    self = r;
    owl_thread_keep_long();
    owl_watch__turn_begin(r);
    bool alive = run_quietly(&r->loop, mode) != 0;
    owl_watch__turn_end(r);
    self = before;
    if (!alive && !before) /* no lull will come any more */
        owl_thread_keep_nothing();
    return alive;
}

void owl_reactor__run(struct owl_reactor *r)
{
    OWL_IGNORE(run(r, UV_RUN_DEFAULT)); /* until nothing is alive */
}

bool owl_reactor__step(struct owl_reactor *r)
{
    return run(r, UV_RUN_NOWAIT);
}

void owl_reactor__close_handles(struct owl_reactor *r)
{
    if (r->index == 0)
        owl_part__close(r->rt);
    uv_close((uv_handle_t *)&r->wake, NULL);
    uv_close((uv_handle_t *)&r->alarm, NULL);
    uv_close((uv_handle_t *)&r->before_poll, NULL);
    uv_close((uv_handle_t *)&r->after_poll, NULL);
}

static void log_leak(uv_handle_t *h, void *data)
{
    const struct owl_reactor *r = data;
    const char *type = uv_handle_type_name(h->type);
    OWL_LOG(r->rt->opt.log, OWL_LEVEL_CRITICAL, "reactor",
            "reactor %u ended with an open %s handle%s", r->index, type ? type : "unknown",
            uv_is_closing(h) ? " (closing)" : "");
}

void owl_reactor__done(struct owl_reactor *r)
{
    bool all_handles_closed = uv_loop_close(&r->loop) == 0;
    if (!all_handles_closed)
        uv_walk(&r->loop, log_leak, r);
    OWL_ASSERT(all_handles_closed);
}

void owl_reactor_load_add(struct owl_reactor *r, int delta)
{
    int before = atomic_fetch_add_explicit(&r->load, delta, memory_order_relaxed);
    OWL_ASSERT(before + delta >= 0);
    /* Unsigned arithmetic wraps: adding the two's complement subtracts. */
    atomic_fetch_add_explicit(&r->rt->load, (unsigned)delta, memory_order_relaxed);
}

unsigned owl_reactor_load(const struct owl_reactor *r)
{
    return (unsigned)atomic_load_explicit(&r->load, memory_order_relaxed);
}

bool owl_reactor__load_take(struct owl_reactor *r, unsigned max)
{
    unsigned sum = atomic_load_explicit(&r->rt->load, memory_order_relaxed);
    do {
        if (sum >= max)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&r->rt->load, &sum, sum + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    atomic_fetch_add_explicit(&r->load, 1, memory_order_relaxed);
    return true;
}

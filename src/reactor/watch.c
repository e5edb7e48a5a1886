/* reactor/watch.c - how long the turns of a loop take, and a warning while one takes too long.
 *
 * Threads: begin and end of a turn on the reactor's own, the scan on the control thread; between
 * them only relaxed atomics, since nothing else is published through them.
 *
 * A turn lasts from the moment the loop wakes until it polls again. libuv runs the callbacks of I/O
 * before its check handles, so a check alone would miss what blocks there: the turn also begins
 * with the first message, timer, accepted connection or mark, whichever comes first. */
#include "base/clock.h"
#include "reactor/internal.h"

static void after_poll(uv_check_t *check)
{
    struct owl_reactor *r = check->data;
    if (atomic_load_explicit(&r->busy_since, memory_order_relaxed) != 0)
        return;

    /* No callback has marked itself. The loop's clock stands at the moment it woke, coarsely. */
    uint64_t now = owl_now_ns(), spent = uv_hrtime() / OWL_NS_PER_MS - uv_now(&r->loop);
    uint64_t since = spent > 2 ? now - spent * OWL_NS_PER_MS : now;
    atomic_store_explicit(&r->busy_since, since, memory_order_relaxed);
}

static void before_poll(uv_prepare_t *prepare)
{
    owl_reactor__keep(prepare->data);
    owl_watch__turn_end(prepare->data);
}

void owl_watch__init(struct owl_reactor *r)
{
    /* None of these can fail; neither keeps the loop alive. */
    r->before_poll.data = r->after_poll.data = r;
    uv_prepare_init(&r->loop, &r->before_poll);
    uv_prepare_start(&r->before_poll, before_poll);
    uv_unref((uv_handle_t *)&r->before_poll);
    uv_check_init(&r->loop, &r->after_poll);
    uv_check_start(&r->after_poll, after_poll);
    uv_unref((uv_handle_t *)&r->after_poll);
}

void owl_watch__turn_begin(struct owl_reactor *r)
{
    if (atomic_load_explicit(&r->busy_since, memory_order_relaxed) == 0)
        atomic_store_explicit(&r->busy_since, owl_now_ns(), memory_order_relaxed);
}

void owl_watch__turn_end(struct owl_reactor *r)
{
    uint64_t since = atomic_load_explicit(&r->busy_since, memory_order_relaxed);
    if (since == 0)
        return;
    uint64_t lag = owl_now_ns() - since;
    if (lag > atomic_load_explicit(&r->max_lag_ns, memory_order_relaxed))
        atomic_store_explicit(&r->max_lag_ns, lag, memory_order_relaxed);
    atomic_store_explicit(&r->busy_since, 0, memory_order_relaxed);
}

const char *owl_reactor_mark(struct owl_reactor *r, const char *doing)
{
    owl_reactor_assert(r);
    if (owl_reactor_self() == r)
        owl_watch__turn_begin(r);
    const char *before = atomic_load_explicit(&r->mark, memory_order_relaxed);
    atomic_store_explicit(&r->mark, doing, memory_order_relaxed);
    return before;
}

uint64_t owl_reactor_max_lag_us(const struct owl_reactor *r)
{
    return atomic_load_explicit(&r->max_lag_ns, memory_order_relaxed) / 1000;
}

static void scan_one(struct owl_runtime *rt, struct owl_reactor *r, uint64_t now)
{
    uint64_t since = atomic_load_explicit(&r->busy_since, memory_order_relaxed);
    const char *mark = atomic_load_explicit(&r->mark, memory_order_relaxed);
    if (since == 0 || since > now || since == r->warned_turn)
        return;
    uint64_t ms = (now - since) / OWL_NS_PER_MS;
    if (ms < rt->opt.lag_warn_ms)
        return;
    r->warned_turn = since;
    OWL_LOG(rt->opt.log, OWL_LEVEL_WARNING, "reactor",
            "reactor %u has not polled for %llu ms, doing: %s", r->index, (unsigned long long)ms,
            mark ? mark : "(not marked)");
}

void owl_watch__scan(struct owl_runtime *rt)
{
    uint64_t now = owl_now_ns();
    for (unsigned i = 0; i < rt->opt.reactors; i++)
        scan_one(rt, &rt->reactors[i], now);
}

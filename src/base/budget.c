/* base/budget.c - bytes that many arenas hold together, bounded.
 * Threads: see the header. `held` is the only thing that threads share. */
#include "base/budget.h"

#include "base/alloc.h"

enum { FREE_BYTES = 16 * 1024 };

/* In the arena. */
struct owl_budget__hold {
    struct owl_budget *pool;
    size_t n; /* counted */
};

static void give(struct owl_budget *pool, size_t n)
{
    if (atomic_fetch_sub_explicit(&pool->held, n, memory_order_acq_rel) == n)
        owl_free(pool);
}

struct owl_budget *owl_budget_new(size_t max)
{
    struct owl_budget *pool = owl_malloc(sizeof *pool);
    if (!pool)
        return NULL;
    atomic_init(&pool->held, 1);
    pool->max = max;
    return pool;
}

void owl_budget_done(struct owl_budget *pool)
{
    if (pool)
        give(pool, 1);
}

static void hold_end(void *data)
{
    struct owl_budget__hold *h = data;
    give(h->pool, h->n);
}

static struct owl_budget__hold *hold_new(struct owl_budget *pool, struct owl_arena *a)
{
    struct owl_budget__hold *h = owl_arena_alloc(a, sizeof *h);
    if (!h || owl_arena_cleanup(a, hold_end, h) != 0)
        return NULL;
    *h = (struct owl_budget__hold){.pool = pool};
    return h;
}

int owl_budget_take(struct owl_budget *pool, struct owl_arena *a, struct owl_budget_share *share,
                    size_t n)
{
    size_t free_bytes = share->n < FREE_BYTES ? FREE_BYTES - share->n : 0;
    if (n > free_bytes) {
        size_t counted = n - free_bytes, mine = share->_hold ? share->_hold->n : 0;
        /* Other threads can only make it less meanwhile. */
        size_t held = atomic_load_explicit(&pool->held, memory_order_relaxed) - 1;
        if (held > mine && counted > pool->max - (held < pool->max ? held : pool->max))
            return -OWL_EBUSY;
        if (!share->_hold && !(share->_hold = hold_new(pool, a)))
            return -OWL_ENOMEM;
        atomic_fetch_add_explicit(&pool->held, counted, memory_order_relaxed);
        share->_hold->n += counted;
    }
    share->n += n;
    return 0;
}

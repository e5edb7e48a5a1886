/* Bytes that many arenas hold together. */
#include "support/test.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/budget.h"

enum { KIB = 1024, FREE = 16 * KIB };

static struct owl_arena *arena(void)
{
    struct owl_arena *a = owl_arena_new(0);
    assert_non_null(a);
    return a;
}

static struct owl_budget *pool_of(size_t max)
{
    struct owl_budget *pool = owl_budget_new(max);
    assert_non_null(pool);
    return pool;
}

static size_t held(struct owl_budget *pool)
{
    return atomic_load(&pool->held) - 1;
}

TEST(shares_are_counted_beyond_their_first_bytes_and_go_with_their_arena, "")
{
    struct owl_budget *pool = pool_of(100 * KIB);
    struct owl_arena *a = arena(), *b = arena();
    struct owl_budget_share one = {0}, two = {0};
    assert_int_equal(owl_budget_take(pool, a, &one, 10 * KIB), 0);
    assert_int_equal(held(pool), 0);
    assert_int_equal(owl_budget_take(pool, a, &one, 10 * KIB), 0);
    assert_int_equal(held(pool), 4 * KIB);
    assert_int_equal(owl_budget_take(pool, b, &two, FREE + 96 * KIB), 0); /* the last that fits */
    assert_int_equal(held(pool), 100 * KIB);
    assert_int_equal(owl_budget_take(pool, b, &two, 1), -OWL_EBUSY);
    assert_int_equal(owl_budget_take(pool, a, &one, 1), -OWL_EBUSY);
    assert_int_equal(one.n, 20 * KIB); /* what was refused does not count */
    owl_arena_free(b);
    assert_int_equal(held(pool), 4 * KIB);
    assert_int_equal(owl_budget_take(pool, a, &one, 1), 0);
    owl_arena_free(a);
    assert_int_equal(held(pool), 0);
    owl_budget_done(pool);
}

TEST(one_alone_is_always_taken_and_small_ones_are_beside_it, "")
{
    struct owl_budget *pool = pool_of(KIB);
    struct owl_arena *a = arena(), *b = arena();
    struct owl_budget_share one = {0}, two = {0};
    assert_int_equal(owl_budget_take(pool, a, &one, FREE + 2 * KIB), 0);
    assert_int_equal(owl_budget_take(pool, a, &one, SIZE_MAX / 2), 0);
    assert_int_equal(owl_budget_take(pool, b, &two, FREE), 0);
    assert_int_equal(owl_budget_take(pool, b, &two, 1), -OWL_EBUSY);
    owl_arena_free(a);
    owl_arena_free(b);
    owl_budget_done(pool);
}

static void *free_arena(void *a)
{
    owl_arena_free(a);
    return NULL;
}

TEST(what_is_held_may_outlive_the_owner_and_end_anywhere, "")
{
    struct owl_budget *pool = pool_of(SIZE_MAX);
    struct owl_arena *a = arena();
    struct owl_budget_share share = {0};
    assert_int_equal(owl_budget_take(pool, a, &share, 20 * KIB), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_arena, a), 0);
    owl_budget_done(pool); /* whoever comes last frees it */
    pthread_join(thread, NULL);
    owl_budget_done(NULL);
}

TEST(without_memory_nothing_is_counted, "")
{
    owl_alloc_fail_at(1);
    assert_null(owl_budget_new(1));
    owl_alloc_fail_at(0);
    struct owl_budget *pool = pool_of(SIZE_MAX);
    for (unsigned long fail = 1, failed = 1; failed; fail++) {
        struct owl_arena *a = arena();
        struct owl_budget_share share = {0};
        assert_non_null(owl_arena_alloc(a, 3900)); /* what the pool needs is not in this chunk */
        owl_alloc_fail_at(fail);
        int rc = owl_budget_take(pool, a, &share, 20 * KIB);
        owl_alloc_fail_at(0);
        failed = rc != 0;
        if (failed) {
            assert_int_equal(rc, -OWL_ENOMEM);
            assert_int_equal(share.n, 0);
            assert_int_equal(held(pool), 0);
        }
        owl_arena_free(a);
        assert_int_equal(held(pool), 0);
    }
    owl_budget_done(pool);
}

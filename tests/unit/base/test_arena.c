/* Unit tests of base/arena.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/block.h"

#include <pthread.h>

static unsigned order[4];
static unsigned nordered;

static void note(void *data)
{
    order[nordered++] = *(unsigned *)data;
}

static void ignore(void *data)
{
    (void)data;
}

TEST(objects_are_aligned_and_apart, "")
{
    struct owl_arena *a = owl_arena_new(0);
    assert_non_null(a);
    unsigned char *p[300];
    for (size_t i = 0; i < OWL_COUNT(p); i++) {
        p[i] = owl_arena_alloc(a, i * 17 % 3000);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        memset(p[i], (int)(i & 0xff), i * 17 % 3000);
    }
    for (size_t i = 0; i < OWL_COUNT(p); i++) {
        for (size_t k = 0; k < i * 17 % 3000; k++)
            assert_int_equal(p[i][k], i & 0xff);
    }
    owl_arena_free(a);
}

TEST(zalloc_zeroes_recycled_memory, "")
{
    struct owl_arena *a = owl_arena_new(0);
    void *dirty = owl_arena_alloc(a, 2000);
    assert_non_null(dirty);
    memset(dirty, 0xff, 2000);
    owl_arena_free(a);
    a = owl_arena_new(0);
    unsigned char *p = owl_arena_zalloc(a, 2000);
    assert_non_null(p);
    for (size_t i = 0; i < 2000; i++)
        assert_int_equal(p[i], 0);
    owl_arena_free(a);
}

TEST(the_cap_is_kept_and_told, "")
{
    struct owl_arena *a = owl_arena_new(10000);
    assert_non_null(owl_arena_alloc(a, 1000));
    assert_non_null(owl_arena_alloc(a, 5000));
    assert_false(owl_arena_over(a));
    size_t used = owl_arena_used(a);
    assert_in_range(used, 6000, 6016);
    assert_null(owl_arena_alloc(a, 5000));
    assert_true(owl_arena_over(a));
    assert_int_equal(owl_arena_used(a), used);
    assert_null(owl_arena_alloc(a, SIZE_MAX));
    assert_null(owl_arena_alloc(a, SIZE_MAX - 8));
    assert_non_null(owl_arena_alloc(a, 100));
    owl_arena_free(a);
}

TEST(a_cap_holds_for_many_small_objects_and_for_growth, "")
{
    struct owl_arena *a = owl_arena_new(4096);
    size_t n = 0;
    while (owl_arena_alloc(a, 16))
        n++;
    assert_in_range(n, 256, 4096);
    assert_true(owl_arena_over(a));
    owl_arena_free(a);

    a = owl_arena_new(4096);
    void *p = owl_arena_alloc(a, 3000);
    assert_non_null(p);
    assert_null(owl_arena_realloc(a, p, 3000, 5000));
    assert_true(owl_arena_over(a));
    p = owl_arena_realloc(a, p, 3000, 4000);
    assert_non_null(p);
    owl_arena_free(a);
}

TEST(without_a_cap_impossible_sizes_are_no_memory, "")
{
    struct owl_arena *a = owl_arena_new(0);
    assert_null(owl_arena_alloc(a, SIZE_MAX - 8));
    void *p = owl_arena_alloc(a, 5000);
    assert_non_null(p);
    assert_null(owl_arena_realloc(a, p, 5000, SIZE_MAX - 8));
    assert_null(owl_arena_dup(a, (owl_str){"", SIZE_MAX}));
    owl_arena_free(a);
}

#ifndef OWL_ARENA_DEBUG
TEST(the_newest_object_grows_in_place, "")
{
    struct owl_arena *a = owl_arena_new(0);
    char *p = owl_arena_alloc(a, 10);
    char *q = owl_arena_realloc(a, p, 10, 1000);
    assert_ptr_equal(p, q);
    /* What it gives back is used again. */
    assert_ptr_equal(owl_arena_realloc(a, q, 1000, 16), p);
    assert_int_equal(owl_arena_used(a), 16);
    char *next = owl_arena_alloc(a, 16);
    assert_ptr_equal(next, p + 16);
    char *moved = owl_arena_realloc(a, p, 16, 32);
    assert_ptr_not_equal(moved, p);
    owl_arena_free(a);
}
#endif

TEST(realloc_keeps_the_bytes_through_all_sizes, "")
{
    struct owl_arena *a = owl_arena_new(0);
    size_t n = 0;
    unsigned char *p = owl_arena_realloc(a, NULL, 0, 0);
    for (size_t i = 0; i < 20000; i++) {
        p = owl_arena_realloc(a, p, n, i + 1);
        assert_non_null(p);
        n = i + 1;
        p[i] = (unsigned char)(i * 7);
        if (i % 1000 == 0)
            assert_non_null(owl_arena_alloc(a, 8)); /* it is the newest no more */
    }
    /* Big, then small, then big again. */
    p = owl_arena_realloc(a, p, n, 100);
    p = owl_arena_realloc(a, p, 100, 6000);
    assert_non_null(p);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(p[i], (i * 7) & 0xff);
    owl_arena_free(a);
}

TEST(big_objects_grow_beside_each_other, "")
{
    struct owl_arena *a = owl_arena_new(0);
    unsigned char *p[5];
    for (size_t i = 0; i < OWL_COUNT(p); i++) {
        p[i] = owl_arena_alloc(a, 5000);
        assert_non_null(p[i]);
        memset(p[i], (int)i, 5000);
        /* Every one moves; what is added next must find the list whole. */
        for (size_t k = 0; k <= i; k++) {
            size_t n = 5000 + (i - k) * 50000;
            p[k] = owl_arena_realloc(a, p[k], n, n + 50000);
            assert_non_null(p[k]);
        }
    }
    for (size_t i = 0; i < OWL_COUNT(p); i++) {
        for (size_t k = 0; k < 5000; k++)
            assert_int_equal(p[i][k], i);
    }
    owl_arena_free(a);
}

TEST(dup_ends_in_nul, "")
{
    struct owl_arena *a = owl_arena_new(0);
    assert_string_equal(owl_arena_dup(a, OWL_STR("owl")), "owl");
    assert_string_equal(owl_arena_dup(a, (owl_str){NULL, 0}), "");
    owl_arena_free(a);
}

TEST(cleanups_run_newest_first_while_memory_lives, "")
{
    struct owl_arena *a = owl_arena_new(0);
    for (unsigned i = 0; i < 4; i++) {
        unsigned *v = owl_arena_alloc(a, i % 2 ? sizeof *v : 9000);
        assert_non_null(v);
        *v = i;
        assert_int_equal(owl_arena_cleanup(a, note, v), 0);
    }
    owl_arena_free(a);
    assert_int_equal(nordered, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(order[i], 3 - i);
    owl_arena_free(NULL);
}

TEST(a_cleanup_that_cannot_be_kept_is_not_run, "")
{
    unsigned v = 1;
    struct owl_arena *a = owl_arena_new(16);
    assert_int_equal(owl_arena_cleanup(a, note, &v), -OWL_ELIMIT);
    owl_arena_free(a);
    assert_int_equal(nordered, 0);
}

TEST(no_memory_is_null_and_not_over, "")
{
    owl_arena_free(owl_arena_new(0)); /* a recycled chunk must not hide the failure */
    owl_alloc_fail_at(1);
    assert_null(owl_arena_new(0));
    owl_alloc_fail_at(2);
    struct owl_arena *a = owl_arena_new(0);
    assert_non_null(a);
    while (owl_arena_alloc(a, 500))
        ;
    size_t used = owl_arena_used(a);
    assert_null(owl_arena_alloc(a, 5000));
    assert_null(owl_arena_zalloc(a, 2000));
    assert_false(owl_arena_over(a));
    assert_int_equal(owl_arena_used(a), used);
    while (owl_arena_cleanup(a, ignore, NULL) == 0)
        ;
    assert_int_equal(owl_arena_cleanup(a, ignore, NULL), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    void *p = owl_arena_alloc(a, 3000);
    assert_non_null(p);
    owl_alloc_fail_at(1);
    assert_null(owl_arena_realloc(a, p, 3000, 4000));
    owl_alloc_fail_at(0);
    owl_arena_free(a);
}

static void *churn(void *data)
{
    for (int i = 0; i < 200; i++) {
        struct owl_arena *a = owl_arena_new(0);
        for (int k = 0; k < 300; k++)
            memset(owl_arena_alloc(a, 1000), k, 1000);
        owl_arena_free(a);
    }
    owl_thread_keep_nothing();
    return data;
}

TEST(threads_recycle_their_own_chunks, "")
{
    pthread_t t[2];
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&t[i], NULL, churn, NULL), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(t[i], NULL), 0);
    owl_thread_keep_nothing();
}

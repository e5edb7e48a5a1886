/* Unit tests of base/block.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "base/block.h"

#include <pthread.h>

enum { KIB = 1024, MIB = 1024 * 1024 };

static void *block(size_t n, size_t *ret_size)
{
    char *p = owl_block_new(n, ret_size);
    assert_non_null(p);
    assert_true(*ret_size >= n);
    p[0] = p[*ret_size - 1] = 'x';
    return p;
}

TEST(blocks_of_all_lengths_grow_and_keep_their_bytes, "")
{
    for (size_t n = 16; n < 4 * MIB; n = n * 3 + 1) {
        size_t size;
        char *p = block(n, &size);
        memset(p, 'a', size);
        size_t before = size;
        p = owl_block_grow(p, &size, size * 5);
        assert_non_null(p);
        assert_true(size >= before * 5);
        for (size_t i = 0; i < before; i += 1 + i / 7)
            assert_int_equal(p[i], 'a');
        p[size - 1] = 'b';
        owl_block_free(p, size);
    }
    owl_thread_keep_nothing();
    assert_int_equal(owl_thread_kept(), 0);
}

TEST(impossible_sizes_are_no_memory, "")
{
    size_t size = 0;
    assert_null(owl_block_new(SIZE_MAX - 8, &size));
    char *p = block(64 * KIB, &size);
    size_t before = size;
    assert_null(owl_block_grow(p, &size, SIZE_MAX - 8));
    assert_int_equal(size, before);
    owl_block_free(p, size);
}

#ifndef OWL_ARENA_DEBUG
TEST(a_long_block_serves_again_if_it_fits, "")
{
    owl_thread_keep_nothing();
    owl_thread_keep_long();
    size_t size, other_size;
    void *p = block(MIB, &size);
    owl_block_free(p, size);
    assert_int_equal(owl_thread_kept(), size);
    void *other = block(MIB / 3, &other_size); /* it would be wasted on that */
    assert_ptr_not_equal(other, p);
    void *again = block(MIB - 100 * KIB, &size);
    assert_ptr_equal(again, p);
    assert_int_equal(owl_thread_kept(), 0);
    /* Growing is to take one that is kept, too. */
    owl_block_free(again, size);
    memset(other, 'o', other_size);
    size_t had = other_size;
    char *grown = owl_block_grow(other, &other_size, MIB);
    assert_ptr_equal(grown, p);
    assert_int_equal(other_size, size);
    assert_int_equal(grown[had - 1], 'o');
    assert_int_equal(owl_thread_kept(), had);
    owl_block_free(grown, other_size);
    owl_thread_keep_nothing();
}

TEST(only_who_wants_to_keeps_long_blocks, "")
{
    owl_thread_keep_nothing();
    size_t size;
    owl_block_free(block(MIB, &size), size);
    assert_int_equal(owl_thread_kept(), 0);
}

TEST(what_is_kept_is_bounded_and_the_last_stays, "")
{
    static const size_t lengths[] = {40 * KIB, MIB, 15 * MIB, 17 * MIB};
    void *p[100];
    size_t size[100];
    owl_thread_keep_long();
    for (size_t i = 0; i < OWL_COUNT(lengths); i++) {
        for (size_t k = 0; k < OWL_COUNT(p); k++)
            p[k] = block(lengths[i], &size[k]);
        for (size_t k = 0; k < OWL_COUNT(p); k++) {
            owl_block_free(p[k], size[k]);
            assert_true(owl_thread_kept() <= 32 * MIB);
        }
        assert_true(lengths[i] > 16 * MIB || owl_thread_kept() >= lengths[i]);
    }
    owl_thread_keep_nothing();
}

TEST(what_nobody_needs_goes_and_what_is_in_use_stays, "")
{
    owl_thread_keep_nothing();
    owl_thread_keep_long();
    size_t idle_size, busy_size;
    void *idle = block(MIB, &idle_size), *busy = block(3 * MIB, &busy_size);
    owl_block_free(idle, idle_size);
    owl_block_free(busy, busy_size);
    for (int i = 0; i < 3; i++) {
        owl_thread_keep_less(); /* the first finds only what has come since the last */
        assert_int_equal(owl_thread_kept(), i == 0 ? idle_size + busy_size : busy_size);
        void *again = block(3 * MIB, &busy_size);
        assert_ptr_equal(again, busy);
        owl_block_free(again, busy_size);
    }
    owl_thread_keep_less();
    owl_thread_keep_less();
    assert_int_equal(owl_thread_kept(), 0);
}

TEST(a_kept_block_can_be_denied_and_stays, "")
{
    owl_thread_keep_nothing();
    owl_thread_keep_long();
    size_t size, small;
    void *p = block(MIB, &size), *q = block(64 * KIB, &small);
    owl_block_free(p, size);
    owl_alloc_fail_at(1);
    size_t any, before = small;
    assert_null(owl_block_new(MIB, &any));
    assert_null(owl_block_grow(q, &small, MIB));
    owl_alloc_fail_at(0);
    assert_int_equal(small, before);
    assert_int_equal(owl_thread_kept(), size);
    owl_block_free(q, small);
    owl_thread_keep_nothing();
}
#endif

/* Destructors run in the order of their keys: this one after that of the library. */
static void look_at_kept(void *ret_kept)
{
    *(size_t *)ret_kept = owl_thread_kept();
}

struct keeper {
    pthread_key_t last;
    size_t kept, left;
};

static void *keep_some(void *data)
{
    struct keeper *k = data;
    size_t size;
    owl_thread_keep_long();
    void *p = block(MIB, &size), *c = owl_chunk_new();
    assert_non_null(c);
    owl_block_free(p, size);
    owl_chunk_free(c);
    k->kept = owl_thread_kept();
    k->left = SIZE_MAX;
    assert_int_equal(pthread_setspecific(k->last, &k->left), 0);
    return NULL;
}

TEST(the_end_of_a_thread_is_the_end_of_what_it_keeps, "")
{
    struct keeper k = {.left = 0};
    pthread_t t;
    owl_chunk_free(owl_chunk_new()); /* makes the key of the library */
    assert_int_equal(pthread_key_create(&k.last, look_at_kept), 0);
    assert_int_equal(pthread_create(&t, NULL, keep_some, &k), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
#ifndef OWL_ARENA_DEBUG
    assert_true(k.kept >= MIB);
#endif
    assert_int_equal(k.left, 0);
    pthread_key_delete(k.last);
}

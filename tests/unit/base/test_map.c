/* Unit tests of base/map.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "base/map.h"

#include <stdio.h>

enum { KEYS = 5000 };

static char text[KEYS][24];
static int values[KEYS];

static owl_str key(size_t i)
{
    snprintf(text[i], sizeof text[i], "key%zu", i);
    return owl_str_of(text[i]);
}

TEST(an_empty_map_has_nothing, "")
{
    struct owl_map m;
    owl_map_init(&m);
    size_t i = 0;
    assert_null(owl_map_get(&m, OWL_STR("x")));
    assert_null(owl_map_del(&m, OWL_STR("x")));
    assert_false(owl_map_next(&m, &i, NULL, NULL));
    owl_map_done(&m);
}

TEST(replacement_returns_the_old_value_and_takes_the_new_key, "")
{
    struct owl_map m;
    owl_map_init(&m);
    char first[] = "name", second[] = "name";
    void *old = &m;
    assert_int_equal(owl_map_put(&m, owl_str_of(first), &values[1], &old), 0);
    assert_null(old);
    assert_int_equal(owl_map_put(&m, owl_str_of(second), &values[2], &old), 0);
    assert_ptr_equal(old, &values[1]);
    assert_int_equal(m.n, 1);
    first[0] = '!';
    assert_ptr_equal(owl_map_get(&m, OWL_STR("name")), &values[2]);
    assert_int_equal(owl_map_put(&m, OWL_STR(""), &values[3], NULL), 0);
    assert_ptr_equal(owl_map_get(&m, (owl_str){NULL, 0}), &values[3]);
    owl_map_done(&m);
}

/* A model of flags beside the map; seeded, so that a failure repeats. */
TEST(agrees_with_a_model_over_random_changes, "")
{
    struct owl_map m;
    owl_map_init(&m);
    static bool present[KEYS];
    size_t n = 0;
    uint32_t random = 42;
    for (int step = 0; step < 100000; step++) {
        random = random * 1664525 + 1013904223;
        size_t i = (random >> 8) % (step < 50000 ? KEYS : 40);
        void *want = present[i] ? &values[i] : NULL;
        assert_ptr_equal(owl_map_get(&m, key(i)), want);
        if (random >> 31) {
            void *old = NULL;
            assert_int_equal(owl_map_put(&m, key(i), &values[i], &old), 0);
            assert_ptr_equal(old, want);
            n += !present[i];
            present[i] = true;
        } else {
            assert_ptr_equal(owl_map_del(&m, key(i)), want);
            n -= present[i];
            present[i] = false;
        }
        assert_int_equal(m.n, n);
    }
    for (size_t i = 0; i < KEYS; i++)
        assert_ptr_equal(owl_map_get(&m, key(i)), present[i] ? &values[i] : NULL);
    owl_str k;
    void *v;
    for (size_t i = 0; owl_map_next(&m, &i, &k, &v); n--) {
        size_t index = (size_t)((int *)v - values);
        assert_true(present[index]);
        assert_true(owl_str_is(k, text[index]));
        present[index] = false;
    }
    assert_int_equal(n, 0);
    owl_map_done(&m);
}

TEST(no_memory_leaves_the_map_as_it_was, "")
{
    struct owl_map m;
    owl_map_init(&m);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_map_put(&m, key(0), &values[0], NULL), -OWL_ENOMEM);
    owl_alloc_fail_at(2);
    size_t n = 0;
    while (owl_map_put(&m, key(n), &values[n], NULL) == 0)
        n++;
    owl_alloc_fail_at(0);
    assert_in_range(n, 1, 8);
    assert_int_equal(m.n, n);
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(owl_map_get(&m, key(i)), &values[i]);
    assert_null(owl_map_get(&m, key(n)));
    owl_map_done(&m);
}

TEST(the_hash_spreads_and_sees_every_byte, "")
{
    unsigned buckets[256] = {0};
    for (size_t i = 0; i < KEYS; i++)
        buckets[owl_hash(key(i)) & 255]++;
    for (size_t i = 0; i < 256; i++)
        assert_in_range(buckets[i], 1, 60); /* 19.5 on average */
    char bytes[64] = {0};
    for (size_t n = 1; n <= sizeof bytes; n++) {
        uint64_t h = owl_hash((owl_str){bytes, n});
        assert_true(h != owl_hash((owl_str){bytes, n - 1}));
        for (size_t i = 0; i < n; i++) {
            bytes[i] ^= 1;
            assert_true(h != owl_hash((owl_str){bytes, n}));
            bytes[i] ^= 1;
        }
        assert_true(h == owl_hash((owl_str){bytes, n}));
    }
}

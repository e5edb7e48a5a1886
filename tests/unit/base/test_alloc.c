/* Unit tests of base/alloc.c. */
#include "support/test.h"

#include "base/alloc.h"

TEST(nothing_is_still_an_object, "")
{
    void *p = owl_malloc(0), *q = owl_calloc(0, 8), *r = owl_realloc(NULL, 0);
    assert_non_null(p);
    assert_non_null(q);
    assert_non_null(r);
    owl_free(p);
    owl_free(q);
    OWL_FREE(&r);
    assert_null(r);
    owl_free(NULL);
}

TEST(calloc_zeroes_and_refuses_what_wraps, "")
{
    unsigned char *p = owl_calloc(4, 8);
    assert_non_null(p);
    for (size_t i = 0; i < 32; i++)
        assert_int_equal(p[i], 0);
    owl_free(p);
    volatile size_t huge = SIZE_MAX / 2;
    assert_null(owl_calloc(huge, 4));
}

TEST(strings_are_copied_with_their_end, "")
{
    char *a = owl_strdup("owl"), *b = owl_strndup("a\0b", 3), *c = owl_strndup(NULL, 0);
    assert_string_equal(a, "owl");
    assert_memory_equal(b, "a\0b", 4);
    assert_string_equal(c, "");
    assert_null(owl_strdup(NULL));
    owl_free(a);
    owl_free(b);
    owl_free(c);
}

TEST(the_knob_fails_from_the_nth_allocation_on, "")
{
    owl_alloc_fail_at(3);
    void *p = owl_malloc(1), *q = owl_malloc(1);
    assert_non_null(p);
    assert_non_null(q);
    assert_null(owl_malloc(1));
    assert_null(owl_calloc(1, 1));
    assert_null(owl_realloc(p, 100));
    assert_null(owl_strdup("x"));
    assert_true(owl_alloc_denied());
    owl_alloc_fail_at(0);
    assert_false(owl_alloc_denied());
    p = owl_realloc(p, 100);
    assert_non_null(p);
    owl_free(p);
    owl_free(q);
}

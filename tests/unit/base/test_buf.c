/* Unit tests of base/buf.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "base/buf.h"

static void check(const struct owl_buf *b, const char *want)
{
    assert_int_equal(b->rc, 0);
    assert_int_equal(b->n, strlen(want));
    assert_memory_equal(owl_buf_str(b).p, want, b->n);
}

TEST(appends_in_order, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 1000);
    check(&b, "");
    owl_buf_putc(&b, 'a');
    owl_buf_put(&b, "bc", 2);
    owl_buf_puts(&b, OWL_STR("de"));
    owl_buf_putz(&b, "f");
    owl_buf_puts(&b, (owl_str){NULL, 0});
    owl_buf_printf(&b, "%d%s", 12, "");
    owl_buf_printf(&b, "%s", "");
    owl_buf_putu(&b, 0);
    owl_buf_putu(&b, UINT64_MAX);
    check(&b, "abcdef12018446744073709551615");
    owl_buf_consume(&b, 6);
    check(&b, "12018446744073709551615");
    owl_buf_consume(&b, 0);
    owl_buf_consume(&b, b.n);
    check(&b, "");
    owl_buf_done(&b);
    owl_buf_printf(&b, "%s", "");
    owl_buf_printf(&b, "%0200d", 7);
    assert_int_equal(b.n, 200);
    assert_int_equal(b.p[199], '7');
    owl_buf_done(&b);
}

TEST(growth_doubles, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 1u << 20);
    unsigned grown = 0;
    for (size_t i = 0, cap = 0; i < 1u << 20; i++) {
        owl_buf_putc(&b, 'x');
        grown += b.cap != cap;
        cap = b.cap;
    }
    assert_int_equal(b.rc, 0);
    assert_in_range(grown, 2, 20);
    owl_buf_done(&b);
}

TEST(the_maximum_is_reached_and_not_passed, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 300);
    owl_buf_printf(&b, "%0*d", 300, 5);
    assert_int_equal(b.rc, 0);
    assert_int_equal(b.n, 300);
    assert_in_range(b.cap, 300, 300);
    owl_buf_putc(&b, 'x');
    assert_int_equal(b.rc, -OWL_ELIMIT);
    assert_int_equal(b.n, 300);
    owl_buf_reset(&b);
    owl_buf_put(&b, "abc", 3);
    check(&b, "abc");
    owl_buf_printf(&b, "%0298d", 5);
    assert_int_equal(b.rc, -OWL_ELIMIT);
    assert_int_equal(b.n, 3);
    assert_int_equal(owl_buf_reserve(&b, 0), -OWL_ELIMIT);
    owl_buf_done(&b);
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_buf_reserve(&b, SIZE_MAX), -OWL_ELIMIT);
    owl_buf_done(&b);
}

TEST(the_first_failure_stays, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 1000);
    owl_alloc_fail_at(1);
    owl_buf_putz(&b, "abc");
    owl_alloc_fail_at(0);
    assert_int_equal(b.rc, -OWL_ENOMEM);
    owl_buf_putz(&b, "abc");
    owl_buf_printf(&b, "x");
    assert_int_equal(b.rc, -OWL_ENOMEM);
    assert_int_equal(b.n, 0);
    owl_buf_done(&b);
}

TEST(lives_in_an_arena_under_its_cap, "")
{
    struct owl_arena *a = owl_arena_new(8000);
    struct owl_buf b;
    owl_buf_init_arena(&b, a, SIZE_MAX);
    for (int i = 0; i < 3000; i++)
        owl_buf_putc(&b, (char)('a' + i % 26));
    assert_int_equal(b.rc, 0);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(b.p[i], 'a' + i % 26);
    for (int i = 0; i < 10000; i++)
        owl_buf_putc(&b, 'x');
    assert_int_equal(b.rc, -OWL_ELIMIT);
    owl_buf_done(&b);
    owl_arena_free(a);

    a = owl_arena_new(0);
    owl_buf_init_arena(&b, a, SIZE_MAX);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_buf_reserve(&b, 5000), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    owl_arena_free(a);
}

/* Lines out of bytes, however the bytes are cut. */
#include "support/test.h"

#include "base/alloc.h"
#include "transport/line.h"

/* What was reported, as text: "<line>" for a line, "!" for an overlong one. */
struct seen {
    struct owl_buf text;
};

static void on_line(void *user, owl_str line)
{
    struct seen *s = user;
    owl_buf_putc(&s->text, '<');
    owl_buf_puts(&s->text, line);
    owl_buf_putc(&s->text, '>');
}

static void on_overlong(void *user)
{
    owl_buf_putc(&((struct seen *)user)->text, '!');
}

static const struct owl_line_ops ops = {.line = on_line, .overlong = on_overlong};

static void on_skipped(void *user, owl_str piece, bool last)
{
    struct seen *s = user;
    owl_buf_puts(&s->text, piece);
    if (last)
        owl_buf_putc(&s->text, '.');
}

static const struct owl_line_ops watching = {
    .line = on_line, .overlong = on_overlong, .skipped = on_skipped};

/* Feeds @p in in pieces of @p step bytes and checks what comes out. */
static void check_with(const struct owl_line_ops *by, owl_str in, size_t max, size_t step,
                       owl_str want)
{
    struct owl_line l;
    struct seen s;
    owl_line_init(&l, max);
    owl_buf_init(&s.text, 1 << 20);
    for (size_t at = 0; at < in.n; at += step) {
        size_t n = in.n - at < step ? in.n - at : step;
        char *piece = malloc(n); /* its own block, so that sanitizers see an overrun */
        assert_non_null(piece);
        memcpy(piece, in.p + at, n);
        assert_int_equal(owl_line_feed(&l, (owl_str){piece, n}, by, &s), 0);
        free(piece);
        assert_true(l.buf.n <= max + 1);
    }
    assert_int_equal(s.text.n, want.n);
    assert_memory_equal(owl_buf_str(&s.text).p, want.p, want.n);
    owl_line_done(&l);
    owl_buf_done(&s.text);
}

static void check(owl_str in, size_t max, size_t step, owl_str want)
{
    check_with(&ops, in, max, step, want);
}

static void check_all_steps(const char *in, size_t max, const char *want)
{
    for (size_t step = 1; step <= strlen(in); step++)
        check(owl_str_of(in), max, step, owl_str_of(want));
}

TEST(lines_end_in_lf_and_a_cr_before_it_is_dropped, "")
{
    check_all_steps("one\ntwo\r\nthree\n", 100, "<one><two><three>");
    check_all_steps("a\rb\r\r\n", 100, "<a\rb\r>");
}

TEST(blank_lines_are_not_reported, "")
{
    check_all_steps("\n\r\n\na\n\n\r\n", 100, "<a>");
}

TEST(a_partial_line_waits_for_its_end, "")
{
    check_all_steps("whole\npart", 100, "<whole>");
}

TEST(an_overlong_line_is_reported_once_and_skipped, "")
{
    check_all_steps("12345\n123456\n1\n", 5, "<12345>!<1>");
    check_all_steps("12345\r\n123456\r\n1\r\n", 5, "<12345>!<1>");
    check_all_steps("12345678901234567890\nok\n", 5, "!<ok>");
    check_all_steps("12345\rx\nok\n", 5, "!<ok>");
}

TEST(what_is_skipped_can_be_seen_whole, "")
{
    static const char in[] = "ab\n1234567890\nok\n123456\n\r\n12345\n";
    for (size_t step = 1; step <= sizeof in - 1; step++)
        check_with(&watching, owl_str_of(in), 5, step,
                   OWL_STR("<ab>!1234567890.<ok>!123456.<12345>"));
}

TEST(a_nul_byte_is_a_byte, "")
{
    check(OWL_STR("a\0b\nc\n"), 10, 2, OWL_STR("<a\0b><c>"));
}

TEST(the_cut_of_the_bytes_does_not_matter, "")
{
    static const char letters[] = "ab\r\n\n";
    unsigned seed = 1;
    for (int round = 0; round < 300; round++) {
        char in[200];
        struct owl_line l;
        struct seen s;
        for (size_t i = 0; i < sizeof(in); i++) {
            seed = seed * 1103515245u + 12345u;
            in[i] = letters[(seed >> 16) % (sizeof(letters) - 1)];
        }
        owl_line_init(&l, 4);
        owl_buf_init(&s.text, 1 << 20);
        assert_int_equal(owl_line_feed(&l, (owl_str){in, sizeof(in)}, &ops, &s), 0);
        for (size_t step = 1; step < 7; step++)
            check((owl_str){in, sizeof(in)}, 4, step, owl_buf_str(&s.text));
        owl_line_done(&l);
        owl_buf_done(&s.text);
    }
}

TEST(without_memory_the_line_is_lost_and_the_next_is_whole, "")
{
    struct owl_line l;
    struct seen s;
    owl_line_init(&l, 1000);
    owl_buf_init(&s.text, 1 << 20);
    assert_int_equal(owl_buf_reserve(&s.text, 100), 0);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_line_feed(&l, OWL_STR("lost"), &ops, &s), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    assert_int_equal(owl_line_feed(&l, OWL_STR(" tail\n"), &ops, &s), 0);
    char long_end[200] = {0};
    memset(long_end, 'x', sizeof(long_end) - 1);
    long_end[sizeof(long_end) - 2] = '\n';
    assert_int_equal(owl_line_feed(&l, OWL_STR("begun"), &ops, &s), 0);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_line_feed(&l, owl_str_of(long_end), &ops, &s), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    assert_int_equal(owl_line_feed(&l, OWL_STR("next\n"), &ops, &s), 0);
    assert_int_equal(s.text.n, 6);
    assert_memory_equal(s.text.p, "<next>", 6);
    owl_line_done(&l);
    owl_buf_done(&s.text);
}

TEST(a_long_line_does_not_keep_its_memory, "")
{
    struct owl_line l;
    struct seen s;
    static char big[200 * 1024];
    owl_line_init(&l, sizeof(big));
    owl_buf_init(&s.text, 1 << 20);
    memset(big, 'x', sizeof(big));
    assert_int_equal(owl_line_feed(&l, (owl_str){big, sizeof(big)}, &ops, &s), 0);
    assert_int_equal(owl_line_feed(&l, OWL_STR("\n"), &ops, &s), 0);
    assert_int_equal(s.text.n, sizeof(big) + 2);
    assert_int_equal(l.buf.cap, 0);
    owl_line_done(&l);
    owl_buf_done(&s.text);
}

/* Tests of jsonrpc/member.h. */
#include "support/test.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "jsonrpc/member.h"

static const owl_str names[] = {{"a", 1}, {"bc", 2}, {"d", 1}};

static void assert_str(owl_str got, const char *want)
{
    assert_non_null(got.p);
    assert_int_equal(got.n, strlen(want));
    assert_memory_equal(got.p, want, got.n);
}

TEST(members_are_found_in_any_order_with_their_spelling, "")
{
    owl_str m[3];
    assert_true(
        owl_members(OWL_STR(" { \"d\" : [1, 2] ,\"x\":{\"a\":1},\"a\":1.50 }"), NULL, names, 3, m));
    assert_str(m[0], "1.50");
    assert_null(m[1].p);
    assert_str(m[2], "[1, 2]");
}

TEST(keys_spelled_with_escapes_are_found, "")
{
    owl_str m[3];
    assert_true(
        owl_members(OWL_STR("{\"\\u0062c\":2,\"\\u0061\":1,\"\\u0064d\":3}"), NULL, names, 3, m));
    assert_str(m[0], "1");
    assert_str(m[1], "2");
    assert_null(m[2].p);
}

TEST(what_is_no_object_has_no_members, "")
{
    const char *texts[] = {"[1,2]", "\"a\"", "1", "null", ""};
    for (size_t i = 0; i < OWL_COUNT(texts); i++) {
        owl_str m[3] = {{"x", 1}, {"x", 1}, {"x", 1}};
        assert_false(owl_members(owl_str_of(texts[i]), NULL, names, 3, m));
        assert_null(m[0].p);
        assert_null(m[2].p);
    }
    owl_str m[3];
    assert_false(owl_members((owl_str){NULL, 0}, NULL, names, 3, m));
    assert_true(owl_members(OWL_STR("{}"), NULL, names, 3, m));
    assert_null(m[1].p);
}

TEST(text_is_borrowed_unless_it_has_escapes, "")
{
    struct owl_arena *a = owl_arena_new(0);
    assert_non_null(a);
    owl_str plain = OWL_STR("\"tools/call\""), got;
    assert_int_equal(owl_member_text(a, plain, &got), 0);
    assert_str(got, "tools/call");
    assert_ptr_equal(got.p, plain.p + 1);
    assert_int_equal(owl_member_text(a, OWL_STR("\"a\\/\\u00e9\""), &got), 0);
    assert_str(got, "a/\xc3\xa9");
    assert_int_equal(owl_member_text(a, OWL_STR("7"), &got), 0);
    assert_null(got.p);
    assert_int_equal(owl_member_text(a, (owl_str){NULL, 0}, &got), 0);
    assert_null(got.p);
    owl_arena_free(a);
}

/* ---- with the tape of a scan ----------------------------------------------------------------- */

static uint64_t seed = 1;

static unsigned draw(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(seed >> 33) % n;
}

/* A value of at most @p depth levels, with white space in odd places. */
static void put_value(struct owl_buf *b, unsigned depth)
{
    static const char *const scalars[] = {"1",    "-2.5e3", "\"\"", "\"a\\\"b{\"",
                                          "true", "null",   "[]",   "{}"};
    static const char *const blanks[] = {"", "", " ", "\n\t"};
    unsigned kind = depth ? draw(4) : 0;
    if (kind < 2) {
        owl_buf_putz(b, scalars[draw(OWL_COUNT(scalars))]);
        return;
    }
    owl_buf_putc(b, kind == 2 ? '[' : '{');
    unsigned n = draw(7);
    for (unsigned i = 0; i < n; i++) {
        owl_buf_putz(b, i ? "," : "");
        owl_buf_putz(b, blanks[draw(4)]);
        if (kind == 3)
            owl_buf_printf(b, draw(5) ? "\"k%u\"" : "\"\\u006b%u\"", i);
        owl_buf_putz(b, kind == 3 ? " :" : "");
        owl_buf_putz(b, blanks[draw(4)]);
        put_value(b, depth - 1);
        owl_buf_putz(b, blanks[draw(4)]);
    }
    owl_buf_putc(b, kind == 2 ? ']' : '}');
}

static void assert_same_members(owl_str object, const struct owl_tape *tape, unsigned levels)
{
    struct owl_span_iter it = owl_span_iter(object);
    for (struct owl_span s; it.object && owl_span_next(&it, &s);) {
        owl_str some[2] = {s.key, {"k1", 2}}, w[2], t[2];
        assert_int_equal(owl_members(object, NULL, some, 2, w),
                         owl_members(object, tape, some, 2, t));
        for (size_t i = 0; i < 2; i++) {
            assert_ptr_equal(w[i].p, t[i].p);
            assert_int_equal(w[i].n, t[i].n);
        }
        assert_true(s.escaped || w[0].p == s.value.p);
        if (levels > 1)
            assert_same_members(s.value, tape, levels - 1);
    }
}

TEST(tape_tells_what_a_walk_finds, "")
{
    unsigned whole = 0, partial = 0;
    for (int i = 0; i < 1500; i++) {
        struct owl_buf b;
        struct owl_tape tape;
        owl_buf_init(&b, SIZE_MAX);
        unsigned n = draw(60);
        owl_buf_putc(&b, '{');
        for (unsigned k = 0; k < n; k++) {
            owl_buf_printf(&b, "%s\"k%u\":", k ? "," : "", k);
            put_value(&b, 4);
        }
        owl_buf_putc(&b, '}');
        assert_int_equal(owl_json_scan_tape(owl_buf_str(&b), 64, &tape, NULL), 0);
        whole += tape.n > 0 && !tape.partial;
        partial += tape.partial;
        assert_same_members(owl_buf_str(&b), &tape, 5);
        owl_buf_done(&b);
    }
    assert_true(whole > 150 && partial > 15); /* the generator reaches both */
}

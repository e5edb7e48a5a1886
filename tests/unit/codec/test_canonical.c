/* Unit tests of codec/canonical.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "codec/tree.h"

#include <stdio.h>
#include <stdlib.h>

static char *copy_of(const struct owl_buf *b)
{
    char *text = calloc(1, b->n + 1);
    memcpy(text, b->p, b->n);
    return text;
}

static char *canonical(const char *text)
{
    struct owl_buf b;
    assert_int_equal(owl_json_scan(owl_str_of(text), OWL_JSON_DEPTH, NULL), 0);
    owl_buf_init(&b, SIZE_MAX);
    owl_json_canonical(&b, owl_str_of(text));
    assert_int_equal(b.rc, 0);
    char *copy = copy_of(&b);
    owl_buf_done(&b);
    return copy;
}

static void expect(const char *text, const char *want)
{
    char *got = canonical(text);
    assert_string_equal(got, want);
    free(got);
}

TEST(each_value_has_one_spelling, "")
{
    expect(" { } ", "{}");
    expect("[ ]", "[]");
    expect("[true , false,null, \"\" ]", "[true,false,null,\"\"]");
    expect("{\"b\":1,\"a\" : {\"d\":[{\"z\":1,\"y\":2}],\"c\":3}}",
           "{\"a\":{\"c\":3,\"d\":[{\"y\":2,\"z\":1}]},\"b\":1}");
    expect("{\"ab\":1,\"\\u0061\":2,\"\":3,\"a\\u0000\":4}",
           "{\"\":3,\"a\":2,\"a\\u0000\":4,\"ab\":1}");
    expect("\"\\u006d\\/\\u00E9\\ud83d\\ude00\\u000A\\\"\\u007f\"",
           "\"m/\xc3\xa9\xf0\x9f\x98\x80\\n\\\"\x7f\"");
}

TEST(numbers_are_written_by_value, "")
{
    static const char *const same[][6] = {
        {"0", "-0", "0.000", "0e9", "-0.0E-99999999999999999999", "0E+1"},
        {"1", "1.0", "1e0", "10e-1", "0.001E+3", "1.000000000000000000000"},
        {"-15e-1", "-1.5", "-1.50", "-15E-1", "-0.15e1", "-150e-2"},
        {"12e3", "12000", "12000.0", "1.2e4", "0.12E05", "120e2"},
        {"12345678901234567890123", "12345678901234567890123.0", "1.2345678901234567890123e22",
         "123456789012345678901230E-1", "12345678901234567890123e0", "12345678901234567890123e-0"},
        {"1e400", "10e399", "1E+400", "0.1e401", "1.0e400", "100000e395"},
    };
    for (size_t i = 0; i < OWL_COUNT(same); i++)
        for (size_t k = 0; k < OWL_COUNT(same[i]); k++)
            expect(same[i][k], same[i][0]);
    expect("1e99999999999999999999", "1e99999999999999999999");
    expect("9007199254740993", "9007199254740993"); /* not what a double makes of it */
}

/* ---- a value written in many ways ---- */

static unsigned pick(unsigned *seed, unsigned n)
{
    return (unsigned)rand_r(seed) % n;
}

static void put_blank(struct owl_buf *b, unsigned *style)
{
    static const char *const blanks[] = {"", "", " ", "\n\t"};
    owl_buf_putz(b, blanks[pick(style, 4)]);
}

static void put_text(struct owl_buf *b, unsigned value, unsigned *style)
{
    static const char *const plain[] = {"a", "/", "\xc3\xa9", "\\n", "\\\"", "\xf0\x9f\x98\x80"};
    static const char *const other[] = {"\\u0061", "\\/",     "\\u00E9",
                                        "\\u000a", "\\u0022", "\\uD83D\\ude00"};
    owl_buf_putc(b, '"');
    for (unsigned n = pick(&value, 4); n > 0; n--) {
        unsigned i = pick(&value, OWL_COUNT(plain));
        owl_buf_putz(b, pick(style, 2) ? plain[i] : other[i]);
    }
    owl_buf_putc(b, '"');
}

static void put_number(struct owl_buf *b, unsigned value, unsigned *style)
{
    int m = (int)pick(&value, 23), e = (int)pick(&value, 7) - 3;
    owl_buf_putz(b, pick(&value, 2) ? "-" : "");
    switch (pick(style, 4)) {
    case 0: owl_buf_printf(b, "%de%d", m, e); break;
    case 1: owl_buf_printf(b, "%d.00E%+d", m, e); break;
    case 2: owl_buf_printf(b, "%d.%de%d", m / 10, m % 10, e + 1); break;
    default: owl_buf_printf(b, "%s%de%d", m ? "" : "0.", m * 10, e - 1); break;
    }
}

/* Writes the value that @p value makes, in the style that @p style makes. */
static void put_any(struct owl_buf *b, unsigned value, unsigned depth, unsigned *style)
{
    unsigned kind = pick(&value, depth ? 5 : 3), n = pick(&value, 4), turn = pick(style, 4);
    put_blank(b, style);
    if (kind == 0) {
        put_text(b, value, style);
    } else if (kind == 1) {
        put_number(b, value, style);
    } else if (kind == 2) {
        owl_buf_putz(b, n == 0 ? "null" : n == 1 ? "true" : "false");
    } else {
        owl_buf_putc(b, kind == 3 ? '[' : '{');
        for (unsigned i = 0; i < n; i++) {
            unsigned which = kind == 3 ? i : (i + turn) % n;
            owl_buf_putz(b, i ? "," : "");
            if (kind == 4)
                owl_buf_printf(b, pick(style, 2) ? "\"k%u\":" : "\"\\u006b%u\" :", which);
            put_any(b, value * 31 + which, depth - 1, style);
        }
        owl_buf_putc(b, kind == 3 ? ']' : '}');
    }
    put_blank(b, style);
}

static char *written(unsigned value, unsigned *style)
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    put_any(&b, value, 4, style);
    char *text = copy_of(&b);
    owl_buf_done(&b);
    return text;
}

static bool equal(const char *a, const char *b)
{
    struct owl_tree x, y;
    uint64_t work = UINT64_MAX;
    bool same = false;
    owl_tree_init(&x, NULL, 0);
    owl_tree_init(&y, NULL, 0);
    assert_int_equal(owl_tree_read(&x, owl_str_of(a)), 0);
    assert_int_equal(owl_tree_read(&y, owl_str_of(b)), 0);
    assert_int_equal(owl_tree_equal(&x, 0, &y, 0, &work, &same), 0);
    owl_tree_done(&x);
    owl_tree_done(&y);
    return same;
}

TEST(equal_values_and_no_others_are_spelled_alike, "")
{
    unsigned style = 1, alike = 0;
    for (unsigned i = 0; i < 20000; i++) {
        /* The same value in two styles, then two of a few values. */
        unsigned v = i, other = i % 2 ? i : (unsigned)rand_r(&style) % 50;
        char *a = written(i % 2 ? v : v % 50, &style), *b = written(other, &style);
        char *x = canonical(a), *y = canonical(b), *again = canonical(x);
        bool same = strcmp(x, y) == 0;
        if (same != equal(a, b) || (i % 2 && !same) || strcmp(x, again) != 0 || !equal(a, x))
            fail_msg("%s and %s: %s and %s", a, b, x, y);
        alike += !(i % 2) && same;
        free(a);
        free(b);
        free(x);
        free(y);
        free(again);
    }
    assert_true(alike > 0);
}

TEST(large_deep_and_unlucky_values_are_spelled, "")
{
    enum { MEMBERS = 50000 };
    struct owl_buf text, out;
    owl_buf_init(&text, SIZE_MAX);
    owl_buf_putc(&text, '{');
    for (int i = 0; i < MEMBERS; i++)
        owl_buf_printf(&text, "%s\"%0100d\":%d", i ? "," : "", i * 7919 % MEMBERS, i);
    owl_buf_putc(&text, '}');
    owl_buf_init(&out, SIZE_MAX);
    owl_json_canonical(&out, owl_buf_str(&text));
    assert_int_equal(out.rc, 0);
    assert_int_equal(owl_json_scan(owl_buf_str(&out), 2, NULL), 0);
    assert_memory_equal(out.p + 1 + 100, "0\":0,", 5);
    owl_buf_reset(&text);
    owl_buf_reset(&out);
    for (int i = 0; i < OWL_JSON_DEPTH; i++)
        owl_buf_putz(&text, i % 2 ? "[" : "{\"\\u0061\":");
    owl_buf_putz(&text, "1.0");
    for (int i = OWL_JSON_DEPTH; i > 0; i--)
        owl_buf_putz(&text, i % 2 ? "}" : "]");
    assert_int_equal(owl_json_scan(owl_buf_str(&text), OWL_JSON_DEPTH, NULL), 0);
    for (unsigned long n = 1;; n++) { /* without memory it says so, and nothing else */
        owl_buf_done(&out);
        owl_alloc_fail_at(n);
        owl_json_canonical(&out, owl_buf_str(&text));
        owl_alloc_fail_at(0);
        if (out.rc == 0)
            break;
        assert_int_equal(out.rc, -OWL_ENOMEM);
    }
    assert_int_equal(owl_json_scan(owl_buf_str(&out), OWL_JSON_DEPTH, NULL), 0);
    owl_buf_done(&text);
    owl_buf_putc(&text, '[');
    owl_buf_puts(&text, owl_buf_str(&out));
    owl_buf_putc(&text, ']');
    owl_buf_done(&out);
    owl_json_canonical(&out, owl_buf_str(&text));
    assert_int_equal(out.rc, -OWL_ELIMIT);
    owl_buf_done(&text);
    owl_buf_done(&out);
}

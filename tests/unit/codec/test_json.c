/* Unit tests of codec/json_read.c and codec/json_write.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/json.h"
#include "codec/scan.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

static owl_json_doc *parse(const char *text)
{
    owl_json_doc *doc = NULL;
    owl_error e = {0};
    if (owl_json_parse(text, strlen(text), &doc, &e) != 0)
        fail_msg("%s: %s", text, e.message);
    assert_non_null(doc);
    return doc;
}

/* ---- reading -------------------------------------------------------------------------------- */

TEST(values_read_as_what_they_are, "")
{
    owl_json_doc *doc = parse("{\"s\":\"a\\u0000b\",\"i\":-7,\"f\":1.5,\"t\":true,\"n\":null,"
                              "\"a\":[1,2,3],\"o\":{\"k\":\"v\"},\"big\":12345678901234567890123,"
                              "\"inf\":-1e999,\"u\":18446744073709551615,\"z\":-0,\"d\":1.0}");
    const owl_json *r = owl_json_doc_root(doc);
    assert_int_equal(owl_json_kind_of(r), OWL_JSON_OBJECT);
    assert_int_equal(owl_json_len(r), 12);
    assert_memory_equal(owl_json_get_str(r, "s", ""), "a\0b", 4);
    assert_int_equal(owl_json_len(owl_json_get(r, "s")), 3);
    assert_int_equal(owl_json_string(owl_json_get(r, "s")).n, 3);
    assert_int_equal(owl_json_get_int(r, "i", 0), -7);
    assert_true(owl_json_get_num(r, "i", 0) == -7.0);
    assert_true(owl_json_get_num(r, "f", 0) == 1.5);
    assert_int_equal(owl_json_get_int(r, "f", 9), 9);
    assert_int_equal(owl_json_get_int(r, "d", 9), 1);
    assert_int_equal(owl_json_get_int(r, "z", 9), 0);
    assert_true(owl_json_get_bool(r, "t", false));
    assert_int_equal(owl_json_kind_of(owl_json_get(r, "n")), OWL_JSON_NULL);
    assert_int_equal(owl_json_len(owl_json_get(r, "a")), 3);
    assert_int_equal(owl_json_int(owl_json_at(owl_json_get(r, "a"), 2), 0), 3);
    assert_null(owl_json_at(owl_json_get(r, "a"), 3));
    assert_string_equal(owl_json_get_str(owl_json_get(r, "o"), "k", ""), "v");
    assert_int_equal(owl_json_kind_of(owl_json_get(r, "big")), OWL_JSON_NUMBER);
    assert_true(owl_json_get_num(r, "big", 0) == 12345678901234567890123.0);
    assert_int_equal(owl_json_get_int(r, "big", 9), 9);
    assert_int_equal(owl_json_len(owl_json_get(r, "big")), 0);
    assert_true(owl_json_get_num(r, "inf", 0) == -(double)INFINITY);
    assert_int_equal(owl_json_get_int(r, "u", 9), 9);
    assert_true(owl_json_get_num(r, "u", 0) == 18446744073709551615.0);
    owl_json_doc_free(doc);
}

/* As the validator has it: 1.0 is an integer. */
TEST(an_integer_may_be_written_in_any_way, "")
{
    static const struct {
        const char *text;
        int64_t value; /* 9: it is none, or does not fit */
    } cases[] = {
        {"1.0", 1},
        {"1e0", 1},
        {"10e-1", 1},
        {"-1.50E1", -15},
        {"-0.0", 0},
        {"0.0e99", 0},
        {"1.5", 9},
        {"1e-400", 0}, /* as a double it is */
        {"1e15", 1000000000000000},
        {"9007199254740992.0", 9007199254740992},
        {"9007199254740993.0", 9007199254740993}, /* no double is that */
        {"-9007199254740993e0", -9007199254740993},
        {"90071992547409930e-1", 9007199254740993},
        {"9007199254740993.5", 9},
        {"9.223372036854775807e18", INT64_MAX},
        {"-9.223372036854775808e18", INT64_MIN},
        {"9223372036854775808.0", 9},
        {"-9223372036854775809.0", 9},
        {"9223372036854775808", 9},
        {"-9223372036854775808", INT64_MIN},
        {"1e19", 9},
        {"1e300", 9},
        {"1e400", 9},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        char text[200];
        const struct owl_json *v;
        snprintf(text, sizeof text, "{\"a\":[%s,\"x\"],\"b\":%s}", cases[i].text, cases[i].text);
        owl_json_doc *doc = parse(text);
        v = owl_json_at(owl_json_get(owl_json_doc_root(doc), "a"), 0);
        if (owl_json_int(v, 9) != cases[i].value ||
            owl_json_get_int(owl_json_doc_root(doc), "b", 9) != cases[i].value)
            fail_msg("%s: %lld", cases[i].text, (long long)owl_json_int(v, 9));
        assert_true(owl_json_num(v, 0) == strtod(cases[i].text, NULL));
        owl_json_doc_free(doc);
        doc = parse(cases[i].text);
        assert_true(owl_json_int(owl_json_doc_root(doc), 9) == cases[i].value);
        owl_json_doc_free(doc);
    }
}

TEST(no_value_reads_as_the_fallback, "")
{
    assert_int_equal(owl_json_kind_of(NULL), OWL_JSON_NONE);
    assert_null(owl_json_get(owl_json_at(owl_json_get(NULL, "a"), 0), "b"));
    assert_int_equal(owl_json_len(NULL), 0);
    assert_string_equal(owl_json_str(NULL, "x"), "x");
    assert_null(owl_json_str(NULL, NULL));
    assert_null(owl_json_string(NULL).p);
    assert_int_equal(owl_json_int(NULL, 5), 5);
    assert_true(owl_json_num(NULL, 2.5) == 2.5);
    assert_true(owl_json_bool(NULL, true));
    owl_json_iter it = owl_json_iter_of(NULL);
    assert_null(owl_json_next(&it, NULL));
    assert_null(owl_json_doc_root(NULL));
    owl_json_doc_free(NULL);
    /* A value of another type is no better. */
    owl_json_doc *doc = parse("[\"1\"]");
    const owl_json *s = owl_json_at(owl_json_doc_root(doc), 0);
    assert_int_equal(owl_json_int(s, 5), 5);
    assert_true(owl_json_num(s, 5) == 5.0);
    assert_true(owl_json_bool(s, true));
    assert_null(owl_json_get(s, "a"));
    assert_null(owl_json_at(s, 0));
    assert_string_equal(owl_json_str(owl_json_doc_root(doc), "no"), "no");
    it = owl_json_iter_of(s);
    assert_null(owl_json_next(&it, NULL));
    owl_json_doc_free(doc);
}

TEST(iteration_is_in_order, "")
{
    owl_json_doc *doc = parse("{\"a\":[10,[],{\"x\":1},20],\"b\":{},\"c\":\"s\"}");
    owl_json_iter it = owl_json_iter_of(owl_json_doc_root(doc));
    const char *key = NULL;
    const char *want = "abc";
    for (const owl_json *e; (e = owl_json_next(&it, &key)) != NULL; want++)
        assert_int_equal(key[0], *want);
    assert_int_equal(*want, '\0');
    it = owl_json_iter_of(owl_json_get(owl_json_doc_root(doc), "a"));
    assert_int_equal(owl_json_int(owl_json_next(&it, &key), 0), 10);
    assert_null(key);
    assert_int_equal(owl_json_kind_of(owl_json_next(&it, NULL)), OWL_JSON_ARRAY);
    assert_int_equal(owl_json_kind_of(owl_json_next(&it, NULL)), OWL_JSON_OBJECT);
    assert_int_equal(owl_json_int(owl_json_next(&it, NULL), 0), 20);
    assert_null(owl_json_next(&it, NULL));
    assert_null(owl_json_next(&it, NULL));
    owl_json_doc_free(doc);
}

TEST(parse_refuses_and_says_where, "OR-13.2")
{
    owl_json_doc *doc = NULL;
    owl_error e = {0};
    assert_int_equal(owl_json_parse("{\"a\":1,\"a\":1}", 13, &doc, &e), -OWL_EPARSE);
    assert_int_equal(e.code, OWL_EPARSE);
    assert_int_equal(strncmp(e.message, "byte 8: ", 8), 0);
    assert_int_equal(owl_json_parse("[", 1, &doc, NULL), -OWL_EPARSE);
    assert_null(doc);
}

TEST(parse_survives_every_lack_of_memory, "")
{
    char text[20000] = "[9007199254740993.0";
    for (size_t n = strlen(text); n + 5 < sizeof text; n += 4)
        memcpy(text + n, ",\"a\"", 4);
    text[strlen(text)] = ']';
    unsigned long n = 0;
    for (;;) {
        owl_json_doc *doc = NULL;
        owl_error e = {0};
        owl_alloc_fail_at(++n);
        int rc = owl_json_parse(text, strlen(text), &doc, &e);
        owl_alloc_fail_at(0);
        if (rc == 0) {
            owl_json_doc_free(doc);
            break;
        }
        assert_int_equal(rc, -OWL_ENOMEM);
        assert_int_equal(e.code, OWL_ENOMEM);
        assert_null(doc);
    }
    assert_in_range(n, 3, 20);
    struct owl_arena *a = owl_arena_new(1000);
    const owl_json *v = NULL;
    assert_int_equal(owl_json_parse_arena(a, owl_str_of(text), &v, NULL), -OWL_ELIMIT);
    assert_null(v);
    owl_arena_free(a);
}

TEST(arena_parse_refuses_what_was_not_proved, "")
{
    struct owl_arena *a = owl_arena_new(0);
    const owl_json *v = NULL;
    assert_int_equal(owl_json_parse_arena(a, OWL_STR("[1,"), &v, NULL), -OWL_EPARSE);
    assert_int_equal(owl_json_parse_arena(a, OWL_STR(""), &v, NULL), -OWL_EPARSE);
    assert_null(v);
    assert_int_equal(owl_json_parse_arena(a, OWL_STR(" 7 "), &v, NULL), 0);
    assert_int_equal(owl_json_int(v, 0), 7);
    owl_arena_free(a);
}

TEST(literals_decode_into_the_arena, "")
{
    struct owl_arena *a = owl_arena_new(0);
    owl_str s;
    const owl_str literal = OWL_STR("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\ud83d\\ude00z\"");
    assert_int_equal(owl_json_decode(a, literal, &s), 0);
    assert_true(owl_str_is(s, "a\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"));
    assert_int_equal(s.p[s.n], '\0');
    assert_int_equal(owl_json_decode(a, OWL_STR("\"\\u0000\""), &s), 0);
    assert_int_equal(s.n, 1);
    assert_int_equal(owl_json_decode(a, OWL_STR("\"\""), &s), 0);
    assert_true(s.p && s.n == 0);
    assert_int_equal(owl_json_decode(a, (owl_str){NULL, 0}, &s), 0);
    assert_null(s.p);
    assert_int_equal(owl_json_decode(a, OWL_STR("12"), &s), 0);
    assert_null(s.p);
    owl_arena_free(a);
    a = owl_arena_new(16);
    assert_int_equal(owl_json_decode(a, OWL_STR("\"0123456789abcdef\""), &s), -OWL_ELIMIT);
    owl_arena_free(a);
}

/* Appends what is left of @p text after it was read and written. */
static void rewrite(struct owl_buf *b, owl_str text)
{
    owl_json_doc *doc = NULL;
    assert_int_equal(owl_json_parse(text.p, text.n, &doc, NULL), 0);
    owl_json_put(b, owl_json_doc_root(doc));
    assert_int_equal(b->rc, 0);
    owl_json_doc_free(doc);
}

TEST(what_was_read_is_written_and_read_alike, "")
{
    static const char *const texts[] = {
        "{ \"jsonrpc\" : \"2.0\", \"id\": 1, \"method\": \"a/b\", \"params\": {\"x\":[ ]} }",
        "[ 1.0, -0.0, 1e5, 1E400, 12345678901234567890, 123456789012345678901, 5e-324, -7 ]",
        "[ \"\\u0000 \\ud83d\\ude00 \\/ \\\" \\\\ \xc3\xa9\", {\"\\u0061\": null, \"\": 1} ]",
        " \"text with  blanks\" ",
        "[[[[ ]]], {}, { } ]",
        "false",
    };
    for (size_t i = 0; i < OWL_COUNT(texts); i++) {
        struct owl_buf once, twice, compact;
        owl_buf_init(&once, SIZE_MAX);
        owl_buf_init(&twice, SIZE_MAX);
        owl_buf_init(&compact, SIZE_MAX);
        rewrite(&once, owl_str_of(texts[i]));
        rewrite(&twice, owl_buf_str(&once));
        assert_true(owl_str_eq(owl_buf_str(&once), owl_buf_str(&twice)));
        owl_json_compact(&compact, owl_str_of(texts[i]));
        owl_buf_reset(&twice);
        rewrite(&twice, owl_buf_str(&compact));
        assert_true(owl_str_eq(owl_buf_str(&once), owl_buf_str(&twice)));
        owl_buf_done(&once);
        owl_buf_done(&twice);
        owl_buf_done(&compact);
    }
}

/* ---- text ----------------------------------------------------------------------------------- */

static void check_quote(owl_str s, const char *want)
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_json_quote(&b, s);
    assert_int_equal(b.rc, 0);
    if (!owl_str_is(owl_buf_str(&b), want))
        fail_msg("%.*s", (int)b.n, b.p);
    assert_int_equal(owl_json_scan(owl_buf_str(&b), 1, NULL), 0);
    owl_buf_done(&b);
}

TEST(quoting_escapes_and_repairs, "")
{
    check_quote(OWL_STR(""), "\"\"");
    check_quote((owl_str){NULL, 0}, "\"\"");
    check_quote(OWL_STR("a\"\\/\b\f\n\r\t\x01\x1f\x7f"),
                "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
    check_quote((owl_str){"\0", 1}, "\"\\u0000\"");
    check_quote(OWL_STR("caf\xc3\xa9 \xe2\x82\xac\xf0\x9f\x98\x80"),
                "\"caf\xc3\xa9 \xe2\x82\xac\xf0\x9f\x98\x80\"");
    check_quote(OWL_STR("a\xff"), "\"a\xef\xbf\xbd\"");
    check_quote(OWL_STR("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    check_quote(OWL_STR("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    check_quote(OWL_STR("long enough for words\n\xc0 and more"),
                "\"long enough for words\\n\xef\xbf\xbd and more\"");
}

TEST(quoting_reads_back_equal, "")
{
    struct owl_arena *a = owl_arena_new(0);
    for (unsigned c = 0; c < 128; c++) {
        char text[20];
        for (size_t n = 1; n < sizeof text; n++) {
            memset(text, 'a', sizeof text);
            text[n / 2] = (char)c;
            struct owl_buf b;
            owl_buf_init_arena(&b, a, SIZE_MAX);
            owl_json_quote(&b, (owl_str){text, n});
            owl_str back;
            assert_int_equal(owl_json_decode(a, owl_buf_str(&b), &back), 0);
            assert_true(owl_str_eq(back, (owl_str){text, n}));
        }
    }
    owl_arena_free(a);
}

TEST(base64_within_quotes, "")
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_json_quote_base64(&b, "fo", 2);
    assert_true(owl_str_is(owl_buf_str(&b), "\"Zm8=\""));
    owl_buf_done(&b);
}

TEST(compacting_drops_only_space_outside_strings, "")
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_json_compact(&b, OWL_STR(" { \"a b\\\" \" :\n[ 1 ,\t\"x \\\\\" , { } ]\r} "));
    assert_true(owl_str_is(owl_buf_str(&b), "{\"a b\\\" \":[1,\"x \\\\\",{}]}"));
    owl_buf_reset(&b);
    owl_json_compact(&b, OWL_STR("7"));
    owl_json_compact(&b, (owl_str){NULL, 0});
    assert_true(owl_str_is(owl_buf_str(&b), "7"));
    owl_buf_done(&b);
}

/* What a reader gets who also ends lines at U+0085, U+2028 and U+2029. */
static void expect_line(const char *text, const char *want)
{
    struct owl_buf b;
    owl_str rest = owl_str_of(text), plain, escape;
    owl_buf_init(&b, SIZE_MAX);
    while (owl_json_line_split(&rest, &plain, &escape)) {
        owl_buf_puts(&b, plain);
        owl_buf_puts(&b, escape);
    }
    owl_buf_putc(&b, '\0');
    assert_int_equal(b.rc, 0);
    assert_string_equal(b.p, want);
    owl_buf_done(&b);
}

TEST(characters_that_end_lines_elsewhere_are_escaped, "")
{
    expect_line("", "");
    expect_line("{\"a\":1}", "{\"a\":1}");
    expect_line("\"\xe2\x80\xa8\"", "\"\\u2028\"");
    expect_line("\"\xe2\x80\xa9\xe2\x80\xa8\xc2\x85\"", "\"\\u2029\\u2028\\u0085\"");
    /* Their bytes in other characters. */
    static const char others[] =
        "\"\xc2\xa8\xe2\x80\xa7\xe2\x80\xaa\xe2\x81\xa8\xe3\x80\xa8\xc3\x85"
        "\xe2\x85\xa8\xf0\x9f\x82\x85\"";
    expect_line(others, others);
    /* At every place of a vector. */
    for (size_t n = 0; n < 70; n++) {
        char text[100], want[100];
        memset(text, 'x', n);
        snprintf(text + n, sizeof text - n, "\xe2\x80\xa8y\xc2\x85");
        memset(want, 'x', n);
        snprintf(want + n, sizeof want - n, "\\u2028y\\u0085");
        expect_line(text, want);
    }
    /* Cut off, at the end of the memory. */
    for (size_t n = 0; n < 40; n++) {
        char *text = malloc(n + 2);
        assert_non_null(text);
        memset(text, 'x', n);
        memcpy(text + n, "\xe2\x80", 2);
        owl_str rest = {text, n + 2}, plain, escape;
        assert_true(owl_json_line_split(&rest, &plain, &escape));
        assert_int_equal(plain.n, n + 2);
        assert_int_equal(escape.n, 0);
        assert_false(owl_json_line_split(&rest, &plain, &escape));
        rest = (owl_str){text, n + 1};
        assert_true(owl_json_line_split(&rest, &plain, &escape));
        assert_int_equal(plain.n, n + 1);
        free(text);
    }
}

TEST(utf8_is_judged_by_the_standard, "")
{
    static const char *const good[] = {"",
                                       "plain ascii text",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "12345678\xc3\xa9 2345678"};
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2 ",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xe2\x82",
                                      "\xe2\x82 ",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "\xfe",
                                      "\xf0\x90\x80",
                                      "12345678\xc3",
                                      "1234567\xc3 89012345",
                                      "\xf0\x90\x80 ",
                                      "\xe2\xc2\x80"};
    for (size_t i = 0; i < OWL_COUNT(good); i++)
        assert_true(owl_utf8_valid(owl_str_of(good[i])));
    for (size_t i = 0; i < OWL_COUNT(bad); i++)
        assert_false(owl_utf8_valid(owl_str_of(bad[i])));
    assert_true(owl_utf8_valid((owl_str){NULL, 0}));
}

static void check_number(double v, const char *want)
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_json_number(&b, v);
    if (!owl_str_is(owl_buf_str(&b), want))
        fail_msg("%s: %.*s", want, (int)b.n, b.p);
    owl_buf_done(&b);
}

TEST(numbers_are_short_in_every_locale, "")
{
    OWL_IGNORE(!setlocale(LC_ALL, "de_DE.UTF-8")); /* where it exists, it must not matter */
    check_number(0, "0");
    check_number(-0.0, "-0.0");
    check_number(1, "1");
    check_number(-100, "-100");
    check_number(0.1, "0.1");
    check_number(0.1 + 0.2, "0.30000000000000004");
    check_number(1e21, "1e21");
    check_number(5e-324, "5e-324");
    check_number(1.7976931348623157e308, "1.7976931348623157e308");
    check_number(123456.75, "123456.75");
}

TEST(numbers_read_back_equal, "")
{
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        double v;
        memcpy(&v, &state, sizeof v);
        if (i % 2)
            v = (double)(state >> 20) / 1000;
        if (!isfinite(v))
            continue;
        struct owl_buf b;
        owl_buf_init(&b, SIZE_MAX);
        owl_json_number(&b, v);
        owl_json_doc *doc = NULL;
        assert_int_equal(owl_json_parse(b.p, b.n, &doc, NULL), 0);
        double back = owl_json_num(owl_json_doc_root(doc), 0);
        assert_memory_equal(&back, &v, sizeof v);
        assert_in_range(b.n, 1, 25);
        owl_json_doc_free(doc);
        owl_buf_done(&b);
    }
}

/* ---- the writer ----------------------------------------------------------------------------- */

static void write_all(owl_json_writer *w, const owl_json *value)
{
    owl_json_begin_object(w);
    owl_json_key(w, "s");
    owl_json_put_str(w, "a\"b");
    owl_json_key(w, "n");
    owl_json_put_str(w, NULL);
    owl_json_key(w, "list");
    owl_json_begin_array(w);
    owl_json_put_int(w, INT64_MIN);
    owl_json_put_int(w, INT64_MAX);
    owl_json_put_num(w, 2.5);
    owl_json_put_bool(w, true);
    owl_json_put_bool(w, false);
    owl_json_put_null(w);
    owl_json_begin_object(w);
    owl_json_end(w);
    owl_json_begin_array(w);
    owl_json_end(w);
    owl_json_put_strn(w, "x\0y", 3);
    owl_json_end(w);
    owl_json_key(w, "raw");
    owl_json_put_raw(w, " [ 1 ,\n2 ] ", 11);
    owl_json_key(w, "value");
    owl_json_put_value(w, value);
    owl_json_key(w, "none");
    owl_json_put_value(w, NULL);
    owl_json_end(w);
}

TEST(the_writer_writes_json, "")
{
    const char *source = "{\"a\":[1.0,\"\xc3\xa9\",12345678901234567890123],\"b\":{}}";
    owl_json_doc *doc = parse(source);
    owl_json_writer *w = owl_json_writer_new();
    write_all(w, owl_json_doc_root(doc));
    const char *text = NULL;
    size_t len = 0;
    assert_int_equal(owl_json_writer_text(w, &text, &len), 0);
    char want[400];
    snprintf(want, sizeof want,
             "{\"s\":\"a\\\"b\",\"n\":null,\"list\":[-9223372036854775808,9223372036854775807,2.5,"
             "true,false,null,{},[],\"x\\u0000y\"],\"raw\":[1,2],\"value\":%s,\"none\":null}",
             source);
    assert_string_equal(text, want);
    assert_int_equal(len, strlen(want));
    assert_int_equal(owl_json_writer_text(w, &text, NULL), 0);
    owl_json_writer_free(w);
    owl_json_doc_free(doc);
    owl_json_writer_free(NULL);
}

/* Runs a program of one letter a step. */
static void run(owl_json_writer *w, const char *steps)
{
    for (; *steps; steps++) {
        switch (*steps) {
        case '{': owl_json_begin_object(w); break;
        case '[': owl_json_begin_array(w); break;
        case '.': owl_json_end(w); break;
        case 'k': owl_json_key(w, "a"); break;
        case 'K': owl_json_key(w, "\xc0\x80"); break;
        case '0': owl_json_key(w, NULL); break;
        case '1': owl_json_put_int(w, 1); break;
        case 'N': owl_json_put_num(w, (double)NAN); break;
        case 'I': owl_json_put_num(w, -(double)INFINITY); break;
        case 'u': owl_json_put_str(w, "a\xff"); break;
        case 'd': owl_json_put_raw(w, "{\"a\":1,\"a\":1}", 13); break;
        case 'e': owl_json_put_raw(w, NULL, 0); break;
        default: owl_json_put_raw(w, "[]", 2); break;
        }
    }
}

#define DEEP16 "[[[[[[[[[[[[[[[["
#define DEEP128 DEEP16 DEEP16 DEEP16 DEEP16 DEEP16 DEEP16 DEEP16 DEEP16

TEST(the_length_of_text_that_ends_in_nul_need_not_be_given, "")
{
    owl_json_doc *doc = NULL;
    assert_int_equal(owl_json_parse("[1, 2]", OWL_NTS, &doc, NULL), 0);
    assert_int_equal(owl_json_len(owl_json_doc_root(doc)), 2);
    owl_json_doc_free(doc);
    assert_int_equal(owl_json_parse("[1, 2", OWL_NTS, &doc, NULL), -OWL_EPARSE);

    owl_json_writer *w = owl_json_writer_new();
    const char *text = NULL;
    owl_json_begin_array(w);
    owl_json_put_strn(w, "a", OWL_NTS);
    owl_json_put_strn(w, NULL, OWL_NTS);
    owl_json_put_raw(w, "{ }", OWL_NTS);
    owl_json_end(w);
    assert_int_equal(owl_json_writer_text(w, &text, NULL), 0);
    assert_string_equal(text, "[\"a\",null,{}]");
    owl_json_writer_free(w);
}

TEST(misuse_of_the_writer_is_an_error_that_stays, "")
{
    static const struct {
        const char *steps;
        int rc;
    } cases[] = {
        {"k", -OWL_ESTATE},   {"[k", -OWL_ESTATE},        {"{1", -OWL_ESTATE},
        {"{[", -OWL_ESTATE},  {"{{", -OWL_ESTATE},        {"11", -OWL_ESTATE},
        {"{.{", -OWL_ESTATE}, {".", -OWL_ESTATE},         {"[..", -OWL_ESTATE},
        {"{kk", -OWL_ESTATE}, {"{k.", -OWL_ESTATE},       {"1k", -OWL_ESTATE},
        {"N", -OWL_EINVAL},   {"[I", -OWL_EINVAL},        {"u", -OWL_EINVAL},
        {"{K", -OWL_EINVAL},  {"{0", -OWL_EINVAL},        {"d", -OWL_EPARSE},
        {"[e", -OWL_EPARSE},  {DEEP128 "[", -OWL_ELIMIT}, {DEEP128 "r", -OWL_ELIMIT},
        {"{kN", -OWL_EINVAL},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        owl_json_writer *w = owl_json_writer_new();
        assert_non_null(w);
        const char *text = NULL;
        size_t len = 99;
        run(w, cases[i].steps);
        if (owl_json_writer_text(w, &text, &len) != cases[i].rc)
            fail_msg("%s", cases[i].steps);
        write_all(w, NULL);
        assert_int_equal(owl_json_writer_text(w, &text, &len), cases[i].rc);
        assert_null(text);
        assert_int_equal(len, 99);
        owl_json_writer_free(w);
    }
}

TEST(unfinished_text_is_not_given_out, "")
{
    static const char *const open[] = {"", "[", "{", "{k", "{k1", "[[.", DEEP128};
    for (size_t i = 0; i < OWL_COUNT(open); i++) {
        owl_json_writer *w = owl_json_writer_new();
        const char *text = NULL;
        run(w, open[i]);
        assert_int_equal(owl_json_writer_text(w, &text, NULL), -OWL_ESTATE);
        assert_null(text);
        owl_json_writer_free(w);
    }
    /* It can be finished then. */
    owl_json_writer *w = owl_json_writer_new();
    const char *text = NULL;
    run(w, "{k");
    assert_int_equal(owl_json_writer_text(w, &text, NULL), -OWL_ESTATE);
    run(w, "1.");
    assert_int_equal(owl_json_writer_text(w, &text, NULL), 0);
    assert_string_equal(text, "{\"a\":1}");
    owl_json_writer_free(w);
}

TEST(the_writer_survives_every_lack_of_memory, "")
{
    owl_json_doc *doc = parse("[\"a value that is long enough to make the text grow a few times "
                              "beyond what the first piece of memory has room for\"]");
    unsigned long n = 0;
    for (;;) {
        const char *text = NULL;
        owl_alloc_fail_at(++n);
        owl_json_writer *w = owl_json_writer_new();
        write_all(w, owl_json_doc_root(doc));
        int rc = owl_json_writer_text(w, &text, NULL);
        owl_alloc_fail_at(0);
        owl_json_writer_free(w);
        if (rc == 0)
            break;
        assert_int_equal(rc, -OWL_ENOMEM);
        assert_null(text);
    }
    assert_in_range(n, 4, 20);
    owl_json_doc_free(doc);
}

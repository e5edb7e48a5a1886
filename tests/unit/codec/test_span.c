/* Unit tests of codec/span.c. */
#include "support/test.h"

#include "base/buf.h"
#include "codec/scan.h"

/* "key=value;" for every part of the outermost value. */
static void check_walk(const char *text, const char *want)
{
    assert_int_equal(owl_json_scan(owl_str_of(text), OWL_JSON_DEPTH, NULL), 0);
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    struct owl_span_iter it = owl_span_iter(owl_str_of(text));
    struct owl_span s;
    while (owl_span_next(&it, &s)) {
        if (s.key.p)
            owl_buf_puts(&b, s.key);
        owl_buf_putc(&b, '=');
        owl_buf_puts(&b, s.value);
        owl_buf_putc(&b, ';');
    }
    assert_false(owl_span_next(&it, &s));
    owl_buf_putc(&b, '\0');
    assert_string_equal(b.p, want);
    owl_buf_done(&b);
}

TEST(walks_members_and_elements_as_written, "")
{
    check_walk("{}", "");
    check_walk("[]", "");
    check_walk(" { } ", "");
    check_walk("12", "");
    check_walk("\"{}\"", "");
    check_walk("{\"a\":1}", "a=1;");
    check_walk(" { \"a\" : 1 , \"b\\\"\" : \"x,}\\\\\" } ", "a=1;b\\\"=\"x,}\\\\\";");
    check_walk("[1 ,-2.5e3,true\n,null]", "=1;=-2.5e3;=true;=null;");
    check_walk("[[1,[2]],{\"a\":\"]}\\\"\"},\"long string beyond eight bytes \\\" end\",{}]",
               "=[1,[2]];={\"a\":\"]}\\\"\"};=\"long string beyond eight bytes \\\" end\";={};");
    check_walk("{\"jsonrpc\":\"2.0\",\"id\":7,\"params\":{\"name\":\"echo\",\"arguments\":{}}}",
               "jsonrpc=\"2.0\";id=7;params={\"name\":\"echo\",\"arguments\":{}};");
    struct owl_span_iter it = owl_span_iter((owl_str){NULL, 0});
    struct owl_span s;
    assert_false(owl_span_next(&it, &s));
}

TEST(get_finds_members_however_spelled, "")
{
    const owl_str o = OWL_STR("{\"x\":{\"id\":1},\"\\u0069d\":2,\"name\\n\":3,\"\":4}");
    assert_true(owl_str_is(owl_span_get(o, "id"), "2"));
    assert_true(owl_str_is(owl_span_get(o, "name\n"), "3"));
    assert_true(owl_str_is(owl_span_get(o, ""), "4"));
    assert_true(owl_str_is(owl_span_get(o, "x"), "{\"id\":1}"));
    assert_true(owl_str_is(owl_span_get(owl_span_get(o, "x"), "id"), "1"));
    assert_null(owl_span_get(o, "i").p);
    assert_null(owl_span_get(o, "idd").p);
    assert_null(owl_span_get(o, "name\\n").p);
    assert_null(owl_span_get(OWL_STR("[1]"), "").p);
    assert_null(owl_span_get((owl_str){NULL, 0}, "a").p);
}

TEST(classes_of_values, "")
{
    assert_true(owl_span_is_object(OWL_STR("{}")));
    assert_true(owl_span_is_array(OWL_STR("[]")));
    assert_true(owl_span_is_string(OWL_STR("\"\"")));
    assert_false(owl_span_is_string((owl_str){NULL, 0}));
    assert_true(owl_span_is_integer(OWL_STR("0")));
    assert_true(owl_span_is_integer(OWL_STR("-12345678901234567890")));
    static const char *const none[] = {"1.0", "1e3", "1E3", "\"1\"", "true", "null", "", "[1]"};
    for (size_t i = 0; i < OWL_COUNT(none); i++)
        assert_false(owl_span_is_integer(owl_str_of(none[i])));
}

TEST(literals_compare_decoded, "")
{
    assert_true(owl_span_str_eq(OWL_STR("\"\""), OWL_STR("")));
    assert_true(owl_span_str_eq(OWL_STR("\"a\\/b\""), OWL_STR("a/b")));
    assert_true(owl_span_str_eq(OWL_STR("\"\\u20AC\""), OWL_STR("\xe2\x82\xac")));
    assert_true(owl_span_str_eq(OWL_STR("\"\\ud83d\\ude00\""), OWL_STR("\xf0\x9f\x98\x80")));
    assert_true(owl_span_str_eq(OWL_STR("\"\\u00e9\""), OWL_STR("\xc3\xa9")));
    assert_true(owl_span_str_eq(OWL_STR("\"\\u0000\""), (owl_str){"\0", 1}));
    assert_false(owl_span_str_eq(OWL_STR("\"ab\""), OWL_STR("a")));
    assert_false(owl_span_str_eq(OWL_STR("\"a\""), OWL_STR("ab")));
    assert_false(owl_span_str_eq(OWL_STR("\"\\u20AC\""), OWL_STR("\xe2\x82")));
    assert_false(owl_span_str_eq(OWL_STR("1"), OWL_STR("1")));
    assert_false(owl_span_str_eq((owl_str){NULL, 0}, OWL_STR("")));
}

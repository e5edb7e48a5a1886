/* Tests of jsonrpc/member.h. */
#include "support/test.h"

#include "base/alloc.h"
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
        owl_members(OWL_STR(" { \"d\" : [1, 2] ,\"x\":{\"a\":1},\"a\":1.50 }"), names, 3, m));
    assert_str(m[0], "1.50");
    assert_null(m[1].p);
    assert_str(m[2], "[1, 2]");
}

TEST(keys_spelled_with_escapes_are_found, "")
{
    owl_str m[3];
    assert_true(owl_members(OWL_STR("{\"\\u0062c\":2,\"\\u0061\":1,\"\\u0064d\":3}"), names, 3, m));
    assert_str(m[0], "1");
    assert_str(m[1], "2");
    assert_null(m[2].p);
}

TEST(what_is_no_object_has_no_members, "")
{
    const char *texts[] = {"[1,2]", "\"a\"", "1", "null", ""};
    for (size_t i = 0; i < OWL_COUNT(texts); i++) {
        owl_str m[3] = {{"x", 1}, {"x", 1}, {"x", 1}};
        assert_false(owl_members(owl_str_of(texts[i]), names, 3, m));
        assert_null(m[0].p);
        assert_null(m[2].p);
    }
    owl_str m[3];
    assert_false(owl_members((owl_str){NULL, 0}, names, 3, m));
    assert_true(owl_members(OWL_STR("{}"), names, 3, m));
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

/* Tests of owl_mcp_strip_meta(): what others say in our name is left out. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/scan.h"
#include "mcp/wire.h"

static void strips(const char *object, const char *want)
{
    struct owl_buf b;
    owl_str got = {NULL, 0};
    owl_buf_init(&b, 4096);
    owl_buf_putz(&b, "before");
    assert_int_equal(owl_json_scan(owl_str_of(object), OWL_JSON_DEPTH, NULL), 0);
    assert_int_equal(owl_mcp_strip_meta(owl_str_of(object), &b, &got), 0);
    if (!owl_str_is(got, want ? want : object))
        fail_msg("%s\nbecame %.*s", object, (int)got.n, got.p);
    assert_int_equal(owl_json_scan(got, OWL_JSON_DEPTH, NULL), 0);
    if (!want) { /* neither copied nor written */
        assert_ptr_equal(got.p, object);
        assert_int_equal(b.n, 6);
    }
    owl_buf_done(&b);
}

TEST(what_has_nothing_of_ours_is_not_copied, "")
{
    strips("{}", NULL);
    strips("{\"content\":[{\"_meta\":{\"owlclaw/cost\":1}}]}", NULL); /* not its own */
    strips("{\"_meta\":{\"a/b\":1,\"owlclaw\":2,\"owlclawx/y\":3,\"x.owlclaw/y\":4}}", NULL);
    strips("{\"_meta\":{}}", NULL);
    strips("{\"_meta\":[\"owlclaw/cost\"]}", NULL);
    strips("{\"_meta\":\"owlclaw/cost\"}", NULL);
    strips("[{\"_meta\":{\"owlclaw/cost\":1}}]", NULL);
}

TEST(keys_of_ours_are_left_out_and_the_rest_stays_as_it_is, "")
{
    strips("{\"_meta\":{\"owlclaw/cost\":1}}", "{\"_meta\":{}}");
    strips(" {\"a\" : 1, \"_meta\" : { \"owlclaw/\":{\"x\":[1,{}]} , \"b\" : \"\\u00e9\" } "
           ",\"c\":[] } ",
           " {\"a\" : 1, \"_meta\" : {\"b\" : \"\\u00e9\"} ,\"c\":[] } ");
    strips("{\"_meta\":{\"a\":1,\"owlclaw/x\":2,\"b\":3,\"owlclaw/y\":4,\"c\":5}}",
           "{\"_meta\":{\"a\":1,\"b\":3,\"c\":5}}");
}

TEST(no_spelling_of_a_key_gets_through, "")
{
    strips("{\"\\u005fmeta\":{\"owlclaw/x\":1}}", "{\"\\u005fmeta\":{}}");
    strips("{\"_meta\":{\"owlclaw\\/x\":1,\"b\\n\":2}}", "{\"_meta\":{\"b\\n\":2}}");
    strips("{\"_meta\":{\"\\u006fwlclaw\\u002fx\":1,\"\\u006fwlclaw\":2}}",
           "{\"_meta\":{\"\\u006fwlclaw\":2}}");
    strips("{\"_meta\":{\"\\u00f6wlclaw/x\":1}}", NULL);
}

TEST(without_memory_nothing_is_returned, "")
{
    owl_str object = OWL_STR("{\"_meta\":{\"owlclaw/x\":1}}"), got = {NULL, 0};
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    owl_alloc_fail_at(1);
    int rc = owl_mcp_strip_meta(object, &b, &got);
    owl_alloc_fail_at(0);
    assert_int_equal(rc, -OWL_ENOMEM);
    assert_null(got.p);
    owl_buf_done(&b);
    owl_buf_init(&b, 8);
    assert_int_equal(owl_mcp_strip_meta(object, &b, &got), -OWL_ELIMIT);
    assert_null(got.p);
    owl_buf_done(&b);
}

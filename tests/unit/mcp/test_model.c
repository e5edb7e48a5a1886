/* Tests of mcp/model.h. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/scan.h"
#include "mcp/model.h"

static void assert_str(owl_str got, const char *want)
{
    assert_non_null(got.p);
    assert_int_equal(got.n, strlen(want));
    assert_memory_equal(got.p, want, got.n);
}

/* ---- revisions ------------------------------------------------------------------------------- */

TEST(revisions_have_names_and_eras, "")
{
    for (int i = 0; i < OWL_REV__MAX; i++)
        assert_int_equal(owl_rev_parse(owl_str_of(owl_rev_name((enum owl_rev)i))), i);
    assert_int_equal(owl_rev_era(OWL_REV_2025_11_25), OWL_ERA_LEGACY);
    assert_int_equal(owl_rev_era(OWL_REV_2026_07_28), OWL_ERA_MODERN);
    assert_int_equal(owl_rev_parse(OWL_STR("1.0")), -1);
    assert_int_equal(owl_rev_asked(OWL_STR("1.0")), OWL_REV_2024_11_05);
    assert_int_equal(owl_rev_asked(OWL_STR("2025-06-18")), OWL_REV_2025_06_18);
    assert_int_equal(owl_rev_parse(OWL_STR("1900-01-01")), -1);
    assert_int_equal(owl_rev_parse(OWL_STR("2026-07-2")), -1);
    assert_int_equal(owl_rev_parse((owl_str){NULL, 0}), -1);
}

TEST(revision_lists_are_parsed, "")
{
    unsigned set = 0;
    assert_int_equal(owl_revs_parse(OWL_STR("2026-07-28 ,\t2025-11-25"), &set, NULL), 0);
    assert_int_equal(set, OWL_REV_BIT(OWL_REV_2025_11_25) | OWL_REV_BIT(OWL_REV_2026_07_28));
    assert_int_equal(owl_revs_parse(OWL_STR("2026-07-28"), &set, NULL), 0);
    assert_int_equal(set, OWL_REV_BIT(OWL_REV_2026_07_28));
}

TEST(unknown_revisions_are_named_beside_the_known, "")
{
    const char *bad[] = {"2025-11-25, 1.0", "", "2025-11-25,,2026-07-28", "x\ny"};
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        unsigned set = 77;
        owl_error err = {0};
        assert_int_equal(owl_revs_parse(owl_str_of(bad[i]), &set, &err), -OWL_EINVAL);
        assert_int_equal(set, 77);
        assert_non_null(strstr(err.message, "2025-11-25, 2026-07-28"));
        assert_null(strchr(err.message, '\n'));
    }
    owl_error err = {0};
    unsigned set;
    assert_int_equal(owl_revs_parse(OWL_STR("1.0"), &set, &err), -OWL_EINVAL);
    assert_non_null(strstr(err.message, "'1.0'"));
    assert_int_equal(owl_revs_parse((owl_str){NULL, 0}, &set, &err), -OWL_EINVAL);
}

TEST(revision_sets_are_written_oldest_first, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 256);
    owl_revs_write(&b, OWL_REV_ALL);
    assert_str(owl_buf_str(&b),
               "[\"2024-11-05\",\"2025-03-26\",\"2025-06-18\",\"2025-11-25\",\"2026-07-28\"]");
    owl_buf_reset(&b);
    owl_revs_write(&b, OWL_REV_BIT(OWL_REV_2026_07_28));
    assert_str(owl_buf_str(&b), "[\"2026-07-28\"]");
    owl_buf_reset(&b);
    owl_revs_write(&b, 0);
    assert_str(owl_buf_str(&b), "[]");
    owl_buf_done(&b);
}

/* ---- _meta ----------------------------------------------------------------------------------- */

static int read_meta(struct owl_arena *a, owl_str params, struct owl_mcp_meta *ret, owl_error *err)
{
    return owl_mcp_meta_read(a, owl_span_get(params, "_meta"), NULL, ret, err);
}

TEST(meta_of_a_modern_request_is_read, "")
{
    struct owl_mcp_meta m;
    owl_str params = OWL_STR(
        "{\"name\":\"x\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}},"
        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\"},"
        "\"io.modelcontextprotocol/logLevel\":\"debug\",\"progressToken\":\"p\\u0031\","
        "\"traceparent\":\"00-a\",\"other\":1}}");
    assert_int_equal(read_meta(NULL, params, &m, NULL), 0); /* nothing to decode: no arena */
    assert_str(m.protocol_version, "2026-07-28");
    assert_str(m.client_caps, "{\"roots\":{}}");
    assert_str(m.client_info, "{\"name\":\"c\"}");
    assert_str(m.log_level, "debug");
    assert_str(m.progress_token, "\"p\\u0031\"");
    assert_str(m.traceparent, "00-a");
    assert_true(owl_span_is_object(m.raw));
}

TEST(meta_may_be_absent, "")
{
    owl_str params[] = {
        {NULL, 0}, OWL_STR("{}"), OWL_STR("{\"a\":{\"_meta\":{}}}"), OWL_STR("[1]")};
    for (size_t i = 0; i < OWL_COUNT(params); i++) {
        struct owl_mcp_meta m = {.raw = {"x", 1}};
        assert_int_equal(read_meta(NULL, params[i], &m, NULL), 0);
        assert_null(m.raw.p);
        assert_null(m.protocol_version.p);
        assert_null(m.client_caps.p);
        assert_null(m.progress_token.p);
    }
}

TEST(meta_members_of_the_wrong_type_are_absent, "")
{
    struct owl_mcp_meta m;
    assert_int_equal(
        read_meta(NULL,
                  OWL_STR("{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":20260728,"
                          "\"io.modelcontextprotocol/clientCapabilities\":[],"
                          "\"io.modelcontextprotocol/clientInfo\":\"c\","
                          "\"io.modelcontextprotocol/"
                          "logLevel\":7,\"progressToken\":1.5,\"traceparent\":null}}"),
                  &m, NULL),
        0);
    assert_null(m.protocol_version.p);
    assert_null(m.client_caps.p);
    assert_null(m.client_info.p);
    assert_str(m.log_level, ""); /* a request with it is refused */
    assert_null(m.progress_token.p);
    assert_null(m.traceparent.p);
    assert_int_equal(read_meta(NULL, OWL_STR("{\"_meta\":{\"progressToken\":-9}}"), &m, NULL), 0);
    assert_str(m.progress_token, "-9");
}

TEST(meta_that_is_no_object_is_refused, "")
{
    const char *bad[] = {"{\"_meta\":null}", "{\"_meta\":[]}", "{\"_meta\":\"x\"}",
                         "{\"_meta\":1}"};
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        struct owl_mcp_meta m = {.raw = {"kept", 4}};
        owl_error err = {0};
        assert_int_equal(read_meta(NULL, owl_str_of(bad[i]), &m, &err), -OWL_EPARAMS);
        assert_non_null(strstr(err.message, "params._meta must be an object"));
        assert_str(m.raw, "kept");
    }
}

TEST(meta_with_escapes_is_decoded, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_mcp_meta m;
    owl_str params = OWL_STR("{\"\\u005fmeta\":{\"io.modelcontextprotocol\\/protocolVersion\":"
                             "\"2026-07-2\\u0038\"}}");
    assert_int_equal(read_meta(a, params, &m, NULL), 0);
    assert_str(m.protocol_version, "2026-07-28");
    owl_arena_free(a);

    struct owl_arena *tiny = owl_arena_new(1);
    owl_error err = {0};
    int rc = read_meta(tiny, params, &m, &err);
    assert_true(rc == -OWL_ENOMEM || rc == -OWL_ELIMIT);
    assert_int_equal(err.code, -rc);
    owl_arena_free(tiny);
}

/* mcp-wire 3, "_meta keys". */
TEST(keys_of_meta_obey_their_grammar, "mcp:B8 mcp:B11")
{
    static const char *const good[] = {
        "progressToken",
        "a",
        "7",
        "a-b_c.d",
        "com.example/colour",
        "owlclaw/error",
        "a.b.c/",
        "io.modelcontextprotocol/serverInfo",
        "x-1.y2/a.b",
        "",
    };
    static const char *const bad[] = {
        "a b",    "-a",   "a-",   ".a",   "a.",    "\"",    "\xc3\xbc", "/a",    ".a/b", "a./b",
        "a..b/c", "1a/b", "a-/b", "-a/b", "a_b/c", "a/b/c", "a/-b",     "a/b c", "a /b",
    };
    for (size_t i = 0; i < OWL_COUNT(good); i++)
        if (!owl_mcp_key_valid(owl_str_of(good[i])))
            fail_msg("'%s' is refused", good[i]);
    for (size_t i = 0; i < OWL_COUNT(bad); i++)
        if (owl_mcp_key_valid(owl_str_of(bad[i])))
            fail_msg("'%s' is taken", bad[i]);
    assert_false(owl_mcp_key_valid((owl_str){"a\0b", 3}));
    assert_true(owl_mcp_key_valid((owl_str){NULL, 0}));
}

/* ---- client capabilities --------------------------------------------------------------------- */

static const struct {
    const char *caps, *name;
    bool have;
} declared[] = {
    {"{}", "sampling", false},
    {"{\"sampling\":{}}", "sampling", true},
    {"{\"sampling\":{}}", "sampling.tools", false},
    {"{\"sampling\":{\"tools\":{}}}", "sampling.tools", true},
    {"{\"sampling\":null}", "sampling", false},
    {"{\"sampling\":true}", "sampling", false},
    {"{\"roots\":{\"listChanged\":true}}", "roots", true},
    {"{\"elicitation\":{}}", "elicitation", true},
    {"{\"elicitation\":{}}", "elicitation.form", true},
    {"{\"elicitation\":{ }}", "elicitation.form", true},
    {"{\"elicitation\":{}}", "elicitation.url", false},
    {"{\"elicitation\":{\"url\":{}}}", "elicitation", true},
    {"{\"elicitation\":{\"url\":{}}}", "elicitation.url", true},
    {"{\"elicitation\":{\"url\":{}}}", "elicitation.form", false},
    {"{\"elicitation\":{\"other\":{}}}", "elicitation.form", true},
    {"{\"elicitation\":{\"form\":{},\"url\":{}}}", "elicitation.form", true},
    {"{\"roots\":{}}", "elicitation.form", false},
    {"{\"extensions\":{\"io.example.a/b.c\":{}}}", "extensions.io.example.a/b.c", true},
    {"{\"extensions\":{\"io\":{\"example\":{}}}}", "extensions.io.example", false},
    {"{\"extensions\":{}}", "extensions.x/y", false},
    {"{\"experimental\":{\"k.v\":{\"a\":1}}}", "experimental.k.v", true},
    {"{\"s\\u0061mpling\":{}}", "sampling", true},
};

TEST(declared_capabilities_are_found, "")
{
    for (size_t i = 0; i < OWL_COUNT(declared); i++) {
        bool have = owl_mcp_caps_have(owl_str_of(declared[i].caps), OWL_REV_2026_07_28,
                                      declared[i].name);
        if (have != declared[i].have)
            fail_msg("%s of %s: %d", declared[i].name, declared[i].caps, have);
    }
    assert_false(owl_mcp_caps_have((owl_str){NULL, 0}, OWL_REV_2026_07_28, "sampling"));
}

/* mcp-wire 1.2, 1.4: a client may declare more than the revision has that was agreed on. */
TEST(capabilities_count_from_their_revision_on, "")
{
    owl_str caps = OWL_STR("{\"sampling\":{\"tools\":{}},\"elicitation\":{\"url\":{}}}");
    static const struct {
        const char *name;
        bool have[5]; /* from 2024-11-05 on */
    } rows[] = {
        {"sampling", {true, true, true, true, true}},
        {"sampling.tools", {false, false, false, true, true}},
        {"elicitation", {false, false, true, true, true}},
        {"elicitation.form", {false, false, true, false, false}},
        {"elicitation.url", {false, false, false, true, true}},
    };
    assert_int_equal(OWL_REV__MAX, 5);
    for (size_t i = 0; i < OWL_COUNT(rows); i++)
        for (enum owl_rev rev = 0; rev < OWL_REV__MAX; rev++)
            if (owl_mcp_caps_have(caps, rev, rows[i].name) != rows[i].have[rev])
                fail_msg("%s at %s", rows[i].name, owl_rev_name(rev));
}

/* mcp-wire 1.8, "needs undeclared client capability": requiredCapabilities is an object. */
TEST(required_capabilities_are_written_as_an_object, "")
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"sampling", "{\"sampling\":{}}"},
        {"elicitation.url", "{\"elicitation\":{\"url\":{}}}"},
        {"extensions.io.example/x", "{\"extensions\":{\"io.example/x\":{}}}"},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        struct owl_buf b;
        owl_buf_init(&b, 256);
        owl_mcp_caps_required(&b, cases[i].name);
        assert_str(owl_buf_str(&b), cases[i].want);
        assert_true(owl_mcp_caps_have(owl_buf_str(&b), OWL_REV_2026_07_28, cases[i].name));
        owl_buf_done(&b);
    }
}

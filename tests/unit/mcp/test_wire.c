/* Tests of mcp/wire.h: results and failures in the words of both eras. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/scan.h"
#include "mcp/wire.h"

#include <stdio.h>

#define INFO "{\"name\":\"s\",\"version\":\"1\"}"
static const owl_str absent = {NULL, 0};

#define CODES owl_mcp_codec_of(OWL_REV_2024_11_05, OWL_ERRORS_AUTO)
#define EARLY owl_mcp_codec_of(OWL_REV_2025_06_18, OWL_ERRORS_AUTO)
#define LEGACY owl_mcp_codec_of(OWL_REV_2025_11_25, OWL_ERRORS_AUTO)
#define MODERN owl_mcp_codec_of(OWL_REV_2026_07_28, OWL_ERRORS_AUTO)

static void assert_str(owl_str got, const char *want)
{
    if (!owl_str_is(got, want))
        fail_msg("got  %.*s\nwant %s", (int)got.n, got.p, want);
}

static void assert_result(const struct owl_mcp_codec *codec, struct owl_mcp_result r, owl_str info,
                          const char *want)
{
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    codec->result(&b, &r, info);
    assert_int_equal(owl_json_scan(owl_buf_str(&b), OWL_JSON_DEPTH, NULL), 0);
    assert_str(owl_buf_str(&b), want);
    owl_buf_done(&b);
}

/* ---- results --------------------------------------------------------------------------------- */

TEST(legacy_results_are_bare, "")
{
    owl_str info = OWL_STR(INFO), m = OWL_STR("\"tools\":[]"), x = OWL_STR("\"k\":1");
    assert_result(LEGACY, (struct owl_mcp_result){.type = "complete"}, info, "{}");
    assert_result(LEGACY, (struct owl_mcp_result){.members = m, .cacheable = true}, info,
                  "{\"tools\":[]}");
    assert_result(LEGACY, (struct owl_mcp_result){.meta = x}, info, "{\"_meta\":{\"k\":1}}");
    assert_result(LEGACY, (struct owl_mcp_result){.members = m, .meta = x}, info,
                  "{\"tools\":[],\"_meta\":{\"k\":1}}");
}

TEST(modern_results_say_their_type_and_server, "")
{
    owl_str info = OWL_STR(INFO), m = OWL_STR("\"tools\":[]"), x = OWL_STR("\"k\":1");
    struct owl_mcp_result r = {.type = "complete"};
    assert_result(MODERN, r, absent, "{\"resultType\":\"complete\"}");
    assert_result(MODERN, r, info,
                  "{\"resultType\":\"complete\",\"_meta\":{"
                  "\"io.modelcontextprotocol/serverInfo\":" INFO "}}");
    r = (struct owl_mcp_result){.members = m, .meta = x}; /* no type is complete */
    assert_result(MODERN, r, absent,
                  "{\"resultType\":\"complete\",\"tools\":[],\"_meta\":{\"k\":1}}");
    assert_result(MODERN, r, info,
                  "{\"resultType\":\"complete\",\"tools\":[],\"_meta\":{"
                  "\"io.modelcontextprotocol/serverInfo\":" INFO ",\"k\":1}}");
}

TEST(modern_complete_results_carry_cache_hints, "")
{
    owl_str m = OWL_STR("\"tools\":[]");
    struct owl_mcp_result r = {.type = "complete", .members = m, .cacheable = true, .ttl_ms = 5000};
    assert_result(MODERN, r, absent,
                  "{\"resultType\":\"complete\",\"tools\":[],\"ttlMs\":5000,"
                  "\"cacheScope\":\"public\"}");
    r.per_user = true;
    r.ttl_ms = 0;
    assert_result(MODERN, r, absent,
                  "{\"resultType\":\"complete\",\"tools\":[],\"ttlMs\":0,"
                  "\"cacheScope\":\"private\"}");
    r.type = "input_required"; /* mcp-wire 4.6: has no hints */
    assert_result(MODERN, r, absent, "{\"resultType\":\"input_required\",\"tools\":[]}");
}

TEST(revisions_have_their_style_unless_one_is_fixed, "")
{
    static const struct {
        enum owl_rev rev;
        enum owl_era era;
        enum owl_error_style style;
    } rows[] = {{OWL_REV_2024_11_05, OWL_ERA_LEGACY, OWL_ERRORS_CODES},
                {OWL_REV_2025_03_26, OWL_ERA_LEGACY, OWL_ERRORS_MCP},
                {OWL_REV_2025_06_18, OWL_ERA_LEGACY, OWL_ERRORS_MCP},
                {OWL_REV_2025_11_25, OWL_ERA_LEGACY, OWL_ERRORS_MCP},
                {OWL_REV_2026_07_28, OWL_ERA_MODERN, OWL_ERRORS_MCP}};
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        const struct owl_mcp_codec *codec = owl_mcp_codec_of(rows[i].rev, OWL_ERRORS_AUTO);
        assert_int_equal(codec->era, rows[i].era);
        assert_int_equal(codec->style, rows[i].style);
        for (int style = OWL_ERRORS_CODES; style <= OWL_ERRORS_LAYERED; style++) {
            const struct owl_mcp_codec *fixed = owl_mcp_codec_of(rows[i].rev,
                                                                 (enum owl_error_style)style);
            assert_int_equal(fixed->era, rows[i].era);
            assert_int_equal(fixed->style, style);
            assert_int_equal(fixed->since, codec->since);
            assert_ptr_equal(owl_mcp_codec_with(codec, (enum owl_error_style)style), fixed);
        }
    }
}

/* ---- codes ----------------------------------------------------------------------------------- */

static const struct {
    struct owl_mcp_failure f;
    int legacy, modern, modern_status;
} codes[] = {
    {{.error = OWL_EPARSE}, -32700, -32700, 400},
    {{.error = OWL_EREQUEST}, -32600, -32600, 400},
    {{.error = OWL_ENOMETHOD}, -32601, -32601, 404},
    {{.error = OWL_EPARAMS}, -32602, -32602, 200},
    {{.error = OWL_ENOTFOUND}, -32602, -32602, 200}, /* unknown tool or prompt */
    {{.error = OWL_ENOTFOUND, .of_resource = true}, -32002, -32602, 200},
    {{.error = OWL_EHEADER}, -32020, -32020, 400},
    {{.error = OWL_ECAPABILITY}, -32603, -32021, 400},
    {{.error = OWL_EVERSION}, -32022, -32022, 400},
    {{.error = OWL_ETIMEOUT}, -32603, -32603, 200},
    {{.error = OWL_EDENIED}, -32003, 32003, 200}, /* of a resource or prompt */
    {{.error = OWL_ETOOL}, -32603, -32603, 200},
    {{.error = OWL_ECANCELLED}, -32603, -32603, 200},
    {{.error = OWL_EINTERNAL}, -32603, -32603, 200},
    {{.error = OWL_ENOMEM}, -32603, -32603, 200},
    {{.error = OWL_ELIMIT}, -32600, -32600, 200},
    {{.error = OWL_ESTATE}, -32600, -32600, 200},
    /* chosen by a handler */
    {{.error = OWL_ETOOL, .rpc_code = -32602}, -32602, -32602, 200},
    {{.error = OWL_ETOOL, .rpc_code = 17}, 17, 17, 200},
    {{.error = OWL_ETOOL, .rpc_code = -1}, -1, -1, 200},
    {{.error = OWL_ETOOL, .rpc_code = -32002}, -32002, -32602, 200},
    {{.error = OWL_ETOOL, .rpc_code = -32042}, -32042, -32603, 200},
    {{.error = OWL_ETOOL, .rpc_code = -32021}, -32603, -32021, 400},
    {{.error = OWL_ETOOL, .rpc_code = -32000}, -32603, -32603, 200},
    {{.error = OWL_ETOOL, .rpc_code = -32019}, -32603, -32603, 200},
    {{.error = OWL_ETOOL, .rpc_code = -32099}, -32603, -32603, 200},
    {{.error = OWL_ETOOL, .rpc_code = -32500}, -32603, -32603, 200},
    {{.error = OWL_ETOOL, .rpc_code = -32768}, -32603, -32603, 200},
    {{.error = OWL_ETOOL, .rpc_code = -31999}, -31999, -31999, 200},
    {{.error = OWL_ETOOL, .rpc_code = -32769}, -32769, -32769, 200},
};

/* Ruling 5, style `codes`. */
TEST(old_revisions_tell_failures_of_tools_by_codes, "")
{
    static const struct {
        struct owl_mcp_failure f;
        int code;
    } rows[] = {
        {{.error = OWL_ENOTFOUND, .of_name = true}, -32001},
        {{.error = OWL_ENOTFOUND, .of_resource = true}, -32002},
        {{.error = OWL_ENOTFOUND}, -32602}, /* a prompt */
        {{.error = OWL_EDENIED, .of_tool = true}, -32003},
        {{.error = OWL_ETIMEOUT, .of_tool = true}, -32004},
        {{.error = OWL_ETOOL, .of_tool = true}, -32005},
        {{.error = OWL_EIO, .of_tool = true}, -32005},
        {{.error = OWL_ECAPABILITY, .of_tool = true}, -32005},
        {{.error = OWL_EPARAMS, .of_tool = true}, -32602},
        {{.error = OWL_EINTERNAL, .of_tool = true}, -32603},
        {{.error = OWL_ECLOSED, .of_tool = true}, -32603},
        {{.error = OWL_ENOMETHOD}, -32601},
        {{.error = OWL_ETOOL, .of_tool = true, .rpc_code = 17}, 17},
    };
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        int code = owl_mcp_failure_code(CODES, &rows[i].f);
        if (code != rows[i].code)
            fail_msg("row %zu: %d", i, code);
    }
    /* By errors.style also to newer clients; what 2026-07-28 has a code for keeps it. */
    const struct owl_mcp_codec *fixed = owl_mcp_codec_of(OWL_REV_2026_07_28, OWL_ERRORS_CODES);
    struct owl_mcp_failure slow = {.error = OWL_ETIMEOUT, .of_tool = true};
    struct owl_mcp_failure lacks = {.error = OWL_ECAPABILITY, .of_tool = true};
    assert_int_equal(owl_mcp_failure_code(fixed, &slow), -32004);
    assert_int_equal(owl_mcp_failure_code(fixed, &lacks), -32021);

    struct owl_buf b;
    owl_buf_init(&b, 4096);
    struct owl_mcp_failure f = {.error = OWL_ETIMEOUT,
                                .of_tool = true,
                                .message = OWL_STR("too slow"),
                                .trace_id = OWL_STR("t")};
    owl_mcp_write_failure(&b, CODES, OWL_STR("1"), &f, OWL_STR("{}"));
    assert_true(owl_str_is(owl_buf_str(&b),
                           "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32004,\"message\":"
                           "\"too slow\",\"data\":{\"details\":\"too slow\",\"retryable\":true,"
                           "\"trace_id\":\"t\"}}}"));
    owl_buf_reset(&b);
    f.data = OWL_STR("{\"details\":[1],\"reason\":\"x\"}");
    owl_mcp_write_failure(&b, CODES, OWL_STR("1"), &f, OWL_STR("{}"));
    assert_non_null(memmem(b.p, b.n,
                           "\"data\":{\"retryable\":true,\"trace_id\":\"t\",\"details\":[1],"
                           "\"reason\":\"x\"}",
                           strlen("\"data\":{\"retryable\":true,\"trace_id\":\"t\",\"details\":[1],"
                                  "\"reason\":\"x\"}")));
    owl_buf_done(&b);
}

static int status_of(const struct owl_mcp_codec *codec, const struct owl_mcp_failure *f)
{
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    int status = owl_mcp_write_failure(&b, codec, OWL_STR("1"), f, absent);
    assert_int_equal(b.rc, 0);
    owl_buf_done(&b);
    return status;
}

TEST(failures_have_the_codes_of_their_revision, "")
{
    for (size_t i = 0; i < OWL_COUNT(codes); i++) {
        const struct owl_mcp_failure *f = &codes[i].f;
        int l = owl_mcp_failure_code(LEGACY, f), m = owl_mcp_failure_code(MODERN, f);
        int status = status_of(MODERN, f);
        if (l != codes[i].legacy || m != codes[i].modern || status != codes[i].modern_status)
            fail_msg("error %d, code %d: %d %d %d", f->error, f->rpc_code, l, m, status);
        assert_int_equal(status_of(LEGACY, f), 200);
    }
}

/* mcp-wire 2: reserved codes that are not defined are never written, whatever goes wrong. */
TEST(no_failure_has_a_reserved_code, "mcp:B7")
{
    for (int error = OWL_EINVAL; error <= OWL_EBUSY; error++) {
        for (int code = -32800; code <= -31900; code++) {
            struct owl_mcp_failure f = {.error = error, .rpc_code = code};
            int l = owl_mcp_failure_code(LEGACY, &f), m = owl_mcp_failure_code(MODERN, &f);
            assert_false(l <= -32000 && l >= -32099 && l != -32002 && l != -32020 && l != -32022 &&
                         l != -32042 && !(l == -32003 && error == OWL_EDENIED));
            assert_false(m <= -32000 && m >= -32099 && m != -32020 && m != -32021 && m != -32022);
        }
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

static void assert_failure(const struct owl_mcp_codec *codec, struct owl_mcp_failure f, int status,
                           const char *want)
{
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    assert_int_equal(owl_mcp_write_failure(&b, codec, OWL_STR("7"), &f, OWL_STR(INFO)), status);
    assert_int_equal(b.rc, 0);
    owl_error err = {0};
    if (owl_json_scan(owl_buf_str(&b), OWL_JSON_DEPTH, &err) != 0)
        fail_msg("%.*s: %s", (int)b.n, b.p, err.message);
    assert_str(owl_buf_str(&b), want);
    assert_null(memchr(b.p, '\n', b.n));
    owl_buf_done(&b);
}

TEST(tool_failures_are_results_that_the_model_sees, "OR-1.10")
{
    struct owl_mcp_failure f = {.error = OWL_ETIMEOUT,
                                .of_tool = true,
                                .message = OWL_STR("took \"long\""),
                                .trace_id = OWL_STR("t1")};
    assert_failure(LEGACY, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
                   "\"text\":\"took \\\"long\\\"\"}],\"isError\":true,\"_meta\":{\"owlclaw/error\":"
                   "{\"code\":-32004,\"details\":\"took "
                   "\\\"long\\\"\",\"retryable\":true,\"trace_id\":\"t1\"}}}}");
    assert_failure(MODERN, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"resultType\":\"complete\","
                   "\"content\":[{\"type\":\"text\",\"text\":\"took \\\"long\\\"\"}],"
                   "\"isError\":true,\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" INFO
                   ",\"owlclaw/error\":{\"code\":-32004,\"details\":\"took "
                   "\\\"long\\\"\",\"retryable\":true,\"trace_id\":\"t1\"}}}}");
}

static const struct {
    int error, code;
    const char *retryable;
} tool_codes[] = {
    {OWL_EPARAMS, -32602, "false"}, {OWL_EDENIED, -32003, "false"},
    {OWL_ETIMEOUT, -32004, "true"}, {OWL_ETOOL, -32005, "false"},
    {OWL_EIO, -32005, "true"},      {OWL_ENOTFOUND, -32005, "false"},
    {OWL_EINVAL, -32005, "false"},  {OWL_ELIMIT, -32005, "false"},
    {OWL_ESTATE, -32005, "false"},
};

TEST(tool_failures_tell_their_code_in_meta, "")
{
    const struct owl_mcp_codec *both[] = {LEGACY, MODERN};
    for (size_t i = 0; i < 2 * OWL_COUNT(tool_codes); i++) {
        struct owl_mcp_failure f = {.error = tool_codes[i / 2].error, .of_tool = true};
        struct owl_buf b;
        char code[16];
        owl_buf_init(&b, 4096);
        assert_int_equal(owl_mcp_write_failure(&b, both[i % 2], OWL_STR("1"), &f, absent), 200);
        owl_str result = owl_span_get(owl_buf_str(&b), "result");
        owl_str meta = owl_span_get(owl_span_get(result, "_meta"), "owlclaw/error");
        snprintf(code, sizeof(code), "%d", tool_codes[i / 2].code);
        assert_str(owl_span_get(result, "isError"), "true");
        assert_str(owl_span_get(meta, "code"), code);
        assert_str(owl_span_get(meta, "retryable"), tool_codes[i / 2].retryable);
        owl_buf_done(&b);
    }
}

TEST(faults_of_the_server_during_a_tool_are_errors, "")
{
    int errors[] = {OWL_ENOMEM, OWL_EINTERNAL, OWL_ECLOSED, OWL_ECANCELLED};
    for (size_t i = 0; i < OWL_COUNT(errors); i++) {
        struct owl_mcp_failure f = {.error = errors[i], .of_tool = true};
        struct owl_buf b;
        owl_buf_init(&b, 4096);
        assert_int_equal(owl_mcp_write_failure(&b, MODERN, OWL_STR("1"), &f, absent), 200);
        owl_str error = owl_span_get(owl_buf_str(&b), "error");
        assert_str(owl_span_get(error, "code"), "-32603");
        assert_true(owl_span_get(error, "message").n > 2);
        owl_buf_done(&b);
    }
}

/* mcp-wire 1.8, "needs undeclared client capability"; legacy has no code for it. */
TEST(a_missing_capability_is_told_in_the_words_of_the_era, "")
{
    struct owl_mcp_failure f = {.error = OWL_ECAPABILITY,
                                .of_tool = true,
                                .message = OWL_STR("m"),
                                .data = OWL_STR("{\"requiredCapabilities\":{\"sampling\":{}}}")};
    assert_failure(MODERN, f, 400,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32021,\"message\":\"m\","
                   "\"data\":{\"requiredCapabilities\":{\"sampling\":{}}}}}");
    assert_failure(
        LEGACY, f, 200,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
        "\"text\":\"m\"}],\"isError\":true,\"_meta\":{\"owlclaw/error\":{\"code\":-32021,"
        "\"details\":\"m\",\"retryable\":false,\"requiredCapabilities\":{\"sampling\":{}}}}}}");
    f.of_tool = false;
    assert_failure(LEGACY, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"m\","
                   "\"data\":{\"requiredCapabilities\":{\"sampling\":{}}}}}");
}

TEST(protocol_errors_are_json_rpc_errors, "OR-1.10")
{
    assert_failure(MODERN,
                   (struct owl_mcp_failure){.error = OWL_ENOMETHOD, .message = OWL_STR("no")}, 404,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32601,\"message\":\"no\"}}");
    /* mcp-wire 10.5 */
    struct owl_mcp_failure f = {.error = OWL_ENOTFOUND,
                                .of_resource = true,
                                .message = OWL_STR("Resource not found"),
                                .data = OWL_STR("{\"uri\":\"file:///nope\"}")};
    assert_failure(MODERN, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\":"
                   "\"Resource not found\",\"data\":{\"uri\":\"file:///nope\"}}}");
    assert_failure(LEGACY, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32002,\"message\":"
                   "\"Resource not found\",\"data\":{\"uri\":\"file:///nope\"}}}");
}

TEST(a_code_of_a_handler_is_an_error_even_of_a_tool, "")
{
    struct owl_mcp_failure f = {.error = OWL_ETOOL,
                                .rpc_code = 5,
                                .of_tool = true,
                                .message = OWL_STR("m"),
                                .data = OWL_STR("[1,\n 2]"),
                                .trace_id = OWL_STR("t")};
    assert_failure(MODERN, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":5,\"message\":\"m\","
                   "\"data\":[1,2]}}");
}

TEST(errors_carry_retryable_and_trace_id, "")
{
    struct owl_mcp_failure f = {
        .error = OWL_ETIMEOUT, .message = OWL_STR("m"), .trace_id = OWL_STR("t")};
    assert_failure(LEGACY, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"m\","
                   "\"data\":{\"retryable\":true,\"trace_id\":\"t\"}}}");
    f.data = OWL_STR("{}");
    f.error = OWL_EPARAMS;
    f.trace_id = absent;
    assert_failure(LEGACY, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\":\"m\","
                   "\"data\":{}}}");
}

TEST(data_is_merged_without_repeating_a_member, "")
{
    struct owl_mcp_failure f = {.error = OWL_EDENIED,
                                .of_tool = true,
                                .message = OWL_STR("m"),
                                .data = OWL_STR("{ \"code\":1, \"retry\\u0061ble\":true,"
                                                "\"trace_id\":\"x\",\"reason\" : \"r\"}"),
                                .trace_id = OWL_STR("t")};
    assert_failure(
        LEGACY, f, 200,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
        "\"text\":\"m\"}],\"isError\":true,\"_meta\":{\"owlclaw/error\":{\"code\":-32003,"
        "\"details\":\"m\",\"retryable\":true,\"trace_id\":\"t\",\"reason\":\"r\"}}}}");
    f.data = OWL_STR("\"why\"");
    assert_failure(
        LEGACY, f, 200,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
        "\"text\":\"m\"}],\"isError\":true,\"_meta\":{\"owlclaw/error\":{\"code\":-32003,"
        "\"retryable\":false,\"trace_id\":\"t\",\"details\":\"why\"}}}}");
}

/* Ruling 5: what a model of today's clients should see, and what 2025-11-25 moved there. */
TEST(early_revisions_show_failures_of_tools_to_the_model_but_for_arguments, "")
{
    struct owl_mcp_failure f = {.error = OWL_ETOOL,
                                .of_tool = true,
                                .message = OWL_STR("m"),
                                .data = OWL_STR("{\"reason\":\"r\"}"),
                                .trace_id = OWL_STR("t")};
    for (enum owl_rev rev = OWL_REV_2025_03_26; rev <= OWL_REV_2025_06_18; rev++) {
        const struct owl_mcp_codec *codec = owl_mcp_codec_of(rev, OWL_ERRORS_AUTO);
        f.error = OWL_ETOOL;
        assert_failure(
            codec, f, 200,
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
            "\"text\":\"m\"}],\"isError\":true,\"_meta\":{\"owlclaw/error\":{\"code\":-32005,"
            "\"details\":\"m\",\"retryable\":false,\"trace_id\":\"t\",\"reason\":\"r\"}}}}");
        f.error = OWL_EPARAMS;
        assert_failure(codec, f, 200,
                       "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\":\"m\","
                       "\"data\":{\"details\":\"m\",\"retryable\":false,\"trace_id\":\"t\","
                       "\"reason\":\"r\"}}}");
    }
    struct owl_mcp_failure unknown = {.error = OWL_ENOTFOUND, .of_name = true};
    assert_int_equal(owl_mcp_failure_code(EARLY, &unknown), -32602);
}

TEST(denied_resources_and_prompts_have_the_same_data_on_every_revision, "OR-9.3")
{
    struct owl_mcp_failure f = {.error = OWL_EDENIED,
                                .message = OWL_STR("no"),
                                .data = OWL_STR("{\"reason\":\"permission\"}"),
                                .trace_id = OWL_STR("t")};
#define DATA \
    ",\"message\":\"no\",\"data\":{\"details\":\"no\",\"retryable\":false,\"trace_id\":\"t\"," \
    "\"reason\":\"permission\"}}}"
    for (enum owl_rev rev = OWL_REV_2024_11_05; rev <= OWL_REV_2025_11_25; rev++)
        assert_failure(owl_mcp_codec_of(rev, OWL_ERRORS_AUTO), f, 200,
                       "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32003" DATA);
    assert_failure(MODERN, f, 200, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":32003" DATA);
}

/* ---- layered --------------------------------------------------------------------------------- */

TEST(layered_failures_have_an_envelope_on_every_revision,
     "CO-7.2.2a CO-7.2.2b CO-7.3.1 CO-7.3.2 CO-7.3.4 CO-7.3.5 CO-7.3.6 CO-7.3.7 CO-7.3.8")
{
    struct owl_mcp_run run = {OWL_STR("set_node"), OWL_STR("2.0.0"), 42, 1770888921103};
    struct owl_mcp_failure f = {.error = OWL_EPARAMS,
                                .of_tool = true,
                                .message = OWL_STR("m"),
                                .data = OWL_STR("{\"code\":1,\"message\":2,\"violations\":[]}"),
                                .trace_id = OWL_STR("t"),
                                .run = &run};
#define ENVELOPE \
    "\"content\":[{\"type\":\"text\",\"text\":\"m\"}],\"isError\":true,\"structuredContent\":{" \
    "\"success\":false,\"data\":{},\"error\":{\"code\":\"E_INVALID_ARGUMENT\",\"message\":\"m\"," \
    "\"retryable\":false,\"violations\":[]},\"meta\":{\"traceId\":\"t\",\"tool\":\"set_node\"," \
    "\"version\":\"2.0.0\",\"durationMs\":42,\"timestamp\":\"2026-02-12T09:35:21.103Z\"}}"
    for (enum owl_rev rev = OWL_REV_2024_11_05; rev <= OWL_REV_2025_11_25; rev++)
        assert_failure(owl_mcp_codec_of(rev, OWL_ERRORS_LAYERED), f, 200,
                       "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{" ENVELOPE "}}");
    assert_failure(owl_mcp_codec_of(OWL_REV_2026_07_28, OWL_ERRORS_LAYERED), f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"resultType\":\"complete\"," ENVELOPE
                   ",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" INFO "}}}");
    /* What is no failure of a tool is a JSON-RPC error here too. */
    f = (struct owl_mcp_failure){.error = OWL_ENOTFOUND, .of_name = true, .message = OWL_STR("m")};
    assert_failure(owl_mcp_codec_of(OWL_REV_2025_06_18, OWL_ERRORS_LAYERED), f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\":\"m\"}}");
}

TEST(layered_failures_have_the_codes_of_the_contract,
     "CO-7.4.1 CO-7.4.2 CO-7.4.3 CO-7.4.4 CO-7.4.5 CO-7.4.6 CO-7.4.7")
{
    static const struct {
        int error;
        const char *data, *code, *retryable;
    } rows[] = {
        {OWL_EPARAMS, NULL, "\"E_INVALID_ARGUMENT\"", "false"},
        {OWL_EINVAL, NULL, "\"E_INVALID_ARGUMENT\"", "false"},
        {OWL_ENOTFOUND, NULL, "\"E_NOT_FOUND\"", "false"},
        {OWL_EEXISTS, NULL, "\"E_CONFLICT\"", "false"},
        {OWL_ESTATE, NULL, "\"E_CONFLICT\"", "false"},
        {OWL_EDENIED, "{\"reason\":\"budget\"}", "\"E_PRECONDITION_FAILED\"", "false"},
        {OWL_EDENIED, "{\"reason\":\"rate\",\"retryable\":true}", "\"E_UNAVAILABLE\"", "true"},
        {OWL_ECAPABILITY, NULL, "\"E_PRECONDITION_FAILED\"", "false"},
        {OWL_ETIMEOUT, NULL, "\"E_TIMEOUT\"", "true"},
        {OWL_EIO, NULL, "\"E_UNAVAILABLE\"", "true"},
        {OWL_ETOOL, NULL, "\"E_INTERNAL\"", "false"},
        {OWL_ETOOL, "{\"retryable\":true}", "\"E_INTERNAL\"", "true"},
    };
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        struct owl_mcp_failure f = {
            .error = rows[i].error, .of_tool = true, .data = owl_str_of(rows[i].data)};
        struct owl_buf b;
        owl_buf_init(&b, 4096);
        OWL_IGNORE(owl_mcp_write_failure(&b,
                                         owl_mcp_codec_of(OWL_REV_2025_11_25, OWL_ERRORS_LAYERED),
                                         OWL_STR("1"), &f, absent));
        owl_str content = owl_span_get(owl_span_get(owl_buf_str(&b), "result"),
                                       "structuredContent");
        owl_str error = owl_span_get(content, "error");
        assert_str(owl_span_get(error, "code"), rows[i].code);
        assert_str(owl_span_get(error, "retryable"), rows[i].retryable);
        owl_buf_done(&b);
    }
}

/* ---- relayed --------------------------------------------------------------------------------- */

/* mcp-wire 7.2, rows "Errors", "-32021 from U" and "-32042 from U". */
TEST(relayed_errors_keep_code_and_data_where_the_revision_allows, "")
{
    enum { RESULT = 1 }; /* isError */
    static const struct {
        struct owl_mcp_failure f;
        int first, early, late, modern, status; /* the last: of modern */
    } rows[] = {
        {{.rpc_code = 17}, 17, 17, 17, 17, 200},
        {{.rpc_code = -32050, .of_tool = true}, -32050, -32050, -32050, -32050, 200},
        {{.rpc_code = -32001, .of_tool = true}, -32001, -32001, -32001, -32001, 200},
        {{.rpc_code = -32603, .of_tool = true}, -32603, -32603, -32603, -32603, 200},
        {{.rpc_code = -32600}, -32600, -32600, -32600, -32600, 200},
        {{.rpc_code = -32601}, -32601, -32601, -32601, -32601, 404},
        {{.rpc_code = -32602}, -32602, -32602, -32602, -32602, 200},
        {{.rpc_code = -32602, .of_resource = true}, -32002, -32002, -32002, -32602, 200},
        {{.rpc_code = -32002, .of_resource = true}, -32002, -32002, -32002, -32602, 200},
        {{.rpc_code = -32002, .of_tool = true}, -32002, -32002, -32002, -32603, 200},
        {{.rpc_code = -32021, .of_tool = true}, -32005, RESULT, RESULT, -32021, 400},
        {{.rpc_code = -32021}, -32603, -32603, -32603, -32021, 400},
        {{.rpc_code = -32020, .of_tool = true}, -32603, -32603, -32603, -32020, 400},
        {{.rpc_code = -32022}, -32603, -32603, -32603, -32022, 400},
        {{.rpc_code = -32042, .of_tool = true}, -32005, RESULT, -32042, -32021, 400},
        {{.rpc_code = -32042}, -32603, -32603, -32042, -32021, 400},
    };
    const struct owl_mcp_codec *codecs[] = {CODES, EARLY, LEGACY, MODERN};
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        int want[] = {rows[i].first, rows[i].early, rows[i].late, rows[i].modern};
        for (size_t k = 0; k < OWL_COUNT(codecs); k++) {
            struct owl_mcp_failure f = rows[i].f;
            struct owl_buf b;
            char code[16];
            f.error = OWL_ETOOL;
            f.relayed = true;
            f.message = OWL_STR("theirs");
            f.data = OWL_STR("{\"uri\":\"x\"}");
            f.trace_id = OWL_STR("ours");
            owl_buf_init(&b, 4096);
            int status = owl_mcp_write_failure(&b, codecs[k], OWL_STR("1"), &f, absent);
            owl_str error = owl_span_get(owl_buf_str(&b), "error");
            snprintf(code, sizeof code, "%d", want[k]);
            if (want[k] == RESULT ? error.p != NULL
                                  : !owl_str_is(owl_span_get(error, "code"), code))
                fail_msg("row %zu, codec %zu: %.*s", i, k, (int)b.n, b.p);
            if (want[k] == rows[i].f.rpc_code) /* as it is: nothing is added */
                assert_str(owl_span_get(error, "data"), "{\"uri\":\"x\"}");
            assert_int_equal(status, k == 3 ? rows[i].status : 200);
            owl_buf_done(&b);
        }
    }
}

TEST(an_error_without_id_says_null, "OR-1.10")
{
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    struct owl_mcp_failure f = {.error = OWL_EPARSE};
    assert_int_equal(owl_mcp_write_failure(&b, MODERN, absent, &f, absent), 400);
    assert_str(owl_buf_str(&b), "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
                                "\"message\":\"malformed JSON\"}}");
    owl_buf_reset(&b);
    assert_int_equal(owl_mcp_write_failure(&b, MODERN, OWL_STR(""), &f, absent), 400);
    assert_str(owl_buf_str(&b), "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,"
                                "\"message\":\"malformed JSON\"}}");
    owl_buf_done(&b);
}

TEST(running_out_of_memory_is_kept_in_the_buffer, "")
{
    struct owl_mcp_failure f = {.error = OWL_ETOOL, .of_tool = true, .message = OWL_STR("m")};
    for (unsigned long n = 1; n <= 2; n++) {
        struct owl_buf b;
        owl_buf_init(&b, 4096);
        owl_alloc_fail_at(n);
        OWL_IGNORE(owl_mcp_write_failure(&b, MODERN, OWL_STR("1"), &f, absent));
        owl_alloc_fail_at(0);
        assert_int_equal(b.rc, -OWL_ENOMEM);
        owl_buf_done(&b);
    }
    struct owl_buf small;
    owl_buf_init(&small, 64);
    OWL_IGNORE(owl_mcp_write_failure(&small, MODERN, OWL_STR("1"), &f, absent));
    assert_int_equal(small.rc, -OWL_ELIMIT);
    owl_buf_done(&small);

    struct owl_arena *a = owl_arena_new(0);
    owl_buf_init_arena(&small, a, 4096);
    assert_int_equal(owl_mcp_write_failure(&small, MODERN, OWL_STR("1"), &f, absent), 200);
    assert_int_equal(small.rc, 0);
    owl_arena_free(a);
}

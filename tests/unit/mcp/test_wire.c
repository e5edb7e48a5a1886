/* Tests of mcp/wire.h: results and failures in the words of both eras. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/scan.h"
#include "mcp/wire.h"

#include <stdio.h>

#define INFO "{\"name\":\"s\",\"version\":\"1\"}"
static const owl_str absent = {NULL, 0};

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
    assert_result(&owl_mcp_legacy, (struct owl_mcp_result){.type = "complete"}, info, "{}");
    assert_result(&owl_mcp_legacy, (struct owl_mcp_result){.members = m, .cacheable = true}, info,
                  "{\"tools\":[]}");
    assert_result(&owl_mcp_legacy, (struct owl_mcp_result){.meta = x}, info,
                  "{\"_meta\":{\"k\":1}}");
    assert_result(&owl_mcp_legacy, (struct owl_mcp_result){.members = m, .meta = x}, info,
                  "{\"tools\":[],\"_meta\":{\"k\":1}}");
}

TEST(modern_results_say_their_type_and_server, "")
{
    owl_str info = OWL_STR(INFO), m = OWL_STR("\"tools\":[]"), x = OWL_STR("\"k\":1");
    struct owl_mcp_result r = {.type = "complete"};
    assert_result(&owl_mcp_modern, r, absent, "{\"resultType\":\"complete\"}");
    assert_result(&owl_mcp_modern, r, info,
                  "{\"resultType\":\"complete\",\"_meta\":{"
                  "\"io.modelcontextprotocol/serverInfo\":" INFO "}}");
    r = (struct owl_mcp_result){.members = m, .meta = x}; /* no type is complete */
    assert_result(&owl_mcp_modern, r, absent,
                  "{\"resultType\":\"complete\",\"tools\":[],\"_meta\":{\"k\":1}}");
    assert_result(&owl_mcp_modern, r, info,
                  "{\"resultType\":\"complete\",\"tools\":[],\"_meta\":{"
                  "\"io.modelcontextprotocol/serverInfo\":" INFO ",\"k\":1}}");
}

TEST(modern_complete_results_carry_cache_hints, "")
{
    owl_str m = OWL_STR("\"tools\":[]");
    struct owl_mcp_result r = {.type = "complete", .members = m, .cacheable = true, .ttl_ms = 5000};
    assert_result(&owl_mcp_modern, r, absent,
                  "{\"resultType\":\"complete\",\"tools\":[],\"ttlMs\":5000,"
                  "\"cacheScope\":\"public\"}");
    r.per_user = true;
    r.ttl_ms = 0;
    assert_result(&owl_mcp_modern, r, absent,
                  "{\"resultType\":\"complete\",\"tools\":[],\"ttlMs\":0,"
                  "\"cacheScope\":\"private\"}");
    r.type = "input_required"; /* mcp-wire 4.6: has no hints */
    assert_result(&owl_mcp_modern, r, absent, "{\"resultType\":\"input_required\",\"tools\":[]}");
}

TEST(revisions_have_their_codec, "")
{
    assert_ptr_equal(owl_mcp_codec_of(OWL_REV_2025_11_25), &owl_mcp_legacy);
    assert_ptr_equal(owl_mcp_codec_of(OWL_REV_2026_07_28), &owl_mcp_modern);
    assert_int_equal(owl_mcp_legacy.era, OWL_ERA_LEGACY);
    assert_int_equal(owl_mcp_modern.era, OWL_ERA_MODERN);
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
    {{.error = OWL_EDENIED}, -32603, -32603, 200},
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
        if (owl_mcp_codes.code(&rows[i].f) != rows[i].code)
            fail_msg("row %zu: %d", i, owl_mcp_codes.code(&rows[i].f));
    }
    assert_ptr_equal(owl_mcp_codec_of(OWL_REV_2024_11_05), &owl_mcp_codes);
    assert_ptr_equal(owl_mcp_codec_of(OWL_REV_2025_06_18), &owl_mcp_codes);
    assert_ptr_equal(owl_mcp_codec_of(OWL_REV_2025_11_25), &owl_mcp_legacy);

    struct owl_buf b;
    owl_buf_init(&b, 4096);
    struct owl_mcp_failure f = {.error = OWL_ETIMEOUT,
                                .of_tool = true,
                                .message = OWL_STR("too slow"),
                                .trace_id = OWL_STR("t")};
    owl_mcp_write_failure(&b, &owl_mcp_codes, OWL_STR("1"), &f, OWL_STR("{}"));
    assert_true(owl_str_is(owl_buf_str(&b),
                           "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32004,\"message\":"
                           "\"too slow\",\"data\":{\"details\":\"too slow\",\"retryable\":true,"
                           "\"trace_id\":\"t\"}}}"));
    owl_buf_reset(&b);
    f.data = OWL_STR("{\"details\":[1],\"reason\":\"x\"}");
    owl_mcp_write_failure(&b, &owl_mcp_codes, OWL_STR("1"), &f, OWL_STR("{}"));
    assert_non_null(memmem(b.p, b.n,
                           "\"data\":{\"retryable\":true,\"trace_id\":\"t\",\"details\":[1],"
                           "\"reason\":\"x\"}",
                           strlen("\"data\":{\"retryable\":true,\"trace_id\":\"t\",\"details\":[1],"
                                  "\"reason\":\"x\"}")));
    owl_buf_done(&b);
}

TEST(failures_have_the_codes_of_their_revision, "")
{
    for (size_t i = 0; i < OWL_COUNT(codes); i++) {
        const struct owl_mcp_failure *f = &codes[i].f;
        int l = owl_mcp_legacy.code(f), m = owl_mcp_modern.code(f);
        int status = owl_mcp_modern.http_status(m, f->error);
        if (l != codes[i].legacy || m != codes[i].modern || status != codes[i].modern_status)
            fail_msg("error %d, code %d: %d %d %d", f->error, f->rpc_code, l, m, status);
        assert_int_equal(owl_mcp_legacy.http_status(l, f->error), 200);
    }
}

/* mcp-wire 2: reserved codes that are not defined are never written, whatever goes wrong. */
TEST(no_failure_has_a_reserved_code, "mcp:B7")
{
    for (int error = 0; error < 64; error++) {
        for (int code = -32800; code <= -31900; code++) {
            struct owl_mcp_failure f = {.error = error, .rpc_code = code};
            int l = owl_mcp_legacy.code(&f), m = owl_mcp_modern.code(&f);
            assert_false(l <= -32000 && l >= -32099 && l != -32002 && l != -32020 && l != -32022 &&
                         l != -32042);
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
    assert_failure(&owl_mcp_legacy, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
                   "\"text\":\"took \\\"long\\\"\"}],\"isError\":true,\"_meta\":{\"owlclaw/error\":"
                   "{\"code\":-32004,\"details\":\"took "
                   "\\\"long\\\"\",\"retryable\":true,\"trace_id\":\"t1\"}}}}");
    assert_failure(&owl_mcp_modern, f, 200,
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
    const struct owl_mcp_codec *both[] = {&owl_mcp_legacy, &owl_mcp_modern};
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
        assert_int_equal(owl_mcp_write_failure(&b, &owl_mcp_modern, OWL_STR("1"), &f, absent), 200);
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
    assert_failure(&owl_mcp_modern, f, 400,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32021,\"message\":\"m\","
                   "\"data\":{\"requiredCapabilities\":{\"sampling\":{}}}}}");
    assert_failure(
        &owl_mcp_legacy, f, 200,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
        "\"text\":\"m\"}],\"isError\":true,\"_meta\":{\"owlclaw/error\":{\"code\":-32021,"
        "\"details\":\"m\",\"retryable\":false,\"requiredCapabilities\":{\"sampling\":{}}}}}}");
    f.of_tool = false;
    assert_failure(&owl_mcp_legacy, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"m\","
                   "\"data\":{\"requiredCapabilities\":{\"sampling\":{}}}}}");
}

TEST(protocol_errors_are_json_rpc_errors, "OR-1.10")
{
    assert_failure(&owl_mcp_modern,
                   (struct owl_mcp_failure){.error = OWL_ENOMETHOD, .message = OWL_STR("no")}, 404,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32601,\"message\":\"no\"}}");
    /* mcp-wire 10.5 */
    struct owl_mcp_failure f = {.error = OWL_ENOTFOUND,
                                .of_resource = true,
                                .message = OWL_STR("Resource not found"),
                                .data = OWL_STR("{\"uri\":\"file:///nope\"}")};
    assert_failure(&owl_mcp_modern, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\":"
                   "\"Resource not found\",\"data\":{\"uri\":\"file:///nope\"}}}");
    assert_failure(&owl_mcp_legacy, f, 200,
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
    assert_failure(&owl_mcp_modern, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":5,\"message\":\"m\","
                   "\"data\":[1,2]}}");
}

TEST(errors_carry_retryable_and_trace_id, "")
{
    struct owl_mcp_failure f = {
        .error = OWL_ETIMEOUT, .message = OWL_STR("m"), .trace_id = OWL_STR("t")};
    assert_failure(&owl_mcp_legacy, f, 200,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"m\","
                   "\"data\":{\"retryable\":true,\"trace_id\":\"t\"}}}");
    f.data = OWL_STR("{}");
    f.error = OWL_EPARAMS;
    f.trace_id = absent;
    assert_failure(&owl_mcp_legacy, f, 200,
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
        &owl_mcp_legacy, f, 200,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
        "\"text\":\"m\"}],\"isError\":true,\"_meta\":{\"owlclaw/error\":{\"code\":-32003,"
        "\"details\":\"m\",\"retryable\":true,\"trace_id\":\"t\",\"reason\":\"r\"}}}}");
    f.data = OWL_STR("\"why\"");
    assert_failure(
        &owl_mcp_legacy, f, 200,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
        "\"text\":\"m\"}],\"isError\":true,\"_meta\":{\"owlclaw/error\":{\"code\":-32003,"
        "\"retryable\":false,\"trace_id\":\"t\",\"details\":\"why\"}}}}");
}

TEST(an_error_without_id_says_null, "OR-1.10")
{
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    struct owl_mcp_failure f = {.error = OWL_EPARSE};
    assert_int_equal(owl_mcp_write_failure(&b, &owl_mcp_modern, absent, &f, absent), 400);
    assert_str(owl_buf_str(&b), "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
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
        OWL_IGNORE(owl_mcp_write_failure(&b, &owl_mcp_modern, OWL_STR("1"), &f, absent));
        owl_alloc_fail_at(0);
        assert_int_equal(b.rc, -OWL_ENOMEM);
        owl_buf_done(&b);
    }
    struct owl_buf small;
    owl_buf_init(&small, 64);
    OWL_IGNORE(owl_mcp_write_failure(&small, &owl_mcp_modern, OWL_STR("1"), &f, absent));
    assert_int_equal(small.rc, -OWL_ELIMIT);
    owl_buf_done(&small);

    struct owl_arena *a = owl_arena_new(0);
    owl_buf_init_arena(&small, a, 4096);
    assert_int_equal(owl_mcp_write_failure(&small, &owl_mcp_modern, OWL_STR("1"), &f, absent), 200);
    assert_int_equal(small.rc, 0);
    owl_arena_free(a);
}

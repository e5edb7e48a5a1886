/* Tests of jsonrpc/envelope.h, with a property test over generated messages. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "jsonrpc/envelope.h"

#include <stdio.h>

static void assert_str(owl_str got, const char *want)
{
    assert_non_null(got.p);
    assert_int_equal(got.n, strlen(want));
    assert_memory_equal(got.p, want, got.n);
}

static int read_text(struct owl_arena *a, owl_str text, struct owl_rpc_msg *ret, owl_error *err)
{
    /* With and without the tape of the scan: the same message, or the same refusal. */
    struct owl_tape tape;
    struct owl_rpc_msg walked = {0}, taped = {0};
    owl_error why = {0};
    assert_int_equal(owl_json_scan_tape(text, OWL_JSON_DEPTH, &tape, err), 0);
    int rc = owl_rpc_read(a, text, NULL, &walked, &why);
    assert_int_equal(owl_rpc_read(a, text, &tape, &taped, err), rc);
    assert_true(walked.id.p == taped.id.p);
    if (err && rc != 0)
        assert_string_equal(err->message, why.message);
    static const char *const names[] = {"_meta", "name", "arguments", "cursor", "n", "other"};
    for (size_t i = 0; i < OWL_COUNT(names); i++)
        assert_ptr_equal(owl_rpc_param(&walked, owl_str_of(names[i])).p,
                         owl_rpc_param(&taped, owl_str_of(names[i])).p);
    if (rc == 0)
        *ret = taped;
    else
        ret->id = taped.id;
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What is kept of params does not grow with what a peer puts there. */
TEST(many_params_take_no_memory_and_hide_none, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_buf b;
    struct owl_rpc_msg m;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_putz(&b, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{");
    for (int i = 0; i < 99000; i++)
        owl_buf_printf(&b, "\"%x\":1,", (unsigned)i);
    owl_buf_putz(&b, "\"\\u006eame\":\"x\",\"other\":[2]}}");
    assert_int_equal(owl_rpc_read(a, owl_buf_str(&b), NULL, &m, NULL), 0);
    assert_in_range(owl_arena_used(a), 0, 1024);
    assert_str(owl_rpc_param(&m, OWL_STR("name")), "\"x\"");
    assert_str(owl_rpc_param(&m, OWL_STR("other")), "[2]"); /* which no method looks for */
    assert_str(owl_rpc_param(&m, OWL_STR("182b7")), "1");
    assert_null(owl_rpc_param(&m, OWL_STR("arguments")).p);
    assert_null(owl_rpc_param(&m, OWL_STR("182b8")).p);
    owl_buf_done(&b);
    owl_arena_free(a);
}

TEST(params_that_are_no_object_have_none, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_rpc_msg m;
    assert_int_equal(read_text(a,
                               OWL_STR("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":"
                                       "[{\"name\":1}]}"),
                               &m, NULL),
                     0);
    assert_null(owl_rpc_param(&m, OWL_STR("name")).p);
    assert_null(owl_rpc_param(&m, OWL_STR("other")).p);
    owl_arena_free(a);
}

TEST(request_gives_method_params_and_id, "OR-13.1 OR-1.2")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_rpc_msg m;
    assert_int_equal(read_text(a,
                               OWL_STR(" {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","
                                       "\"params\":{\"name\":\"x\", \"n\":1.0}}\n"),
                               &m, NULL),
                     0);
    assert_int_equal(m.kind, OWL_RPC_REQUEST);
    assert_str(m.id, "7");
    assert_str(m.method, "tools/call");
    assert_str(m.params, "{\"name\":\"x\", \"n\":1.0}");
    assert_null(m.payload.p);
    owl_arena_free(a);
}

TEST(ids_keep_type_and_spelling, "OR-13.1")
{
    const char *ids[] = {"0",    "-1",           "\"1\"",
                         "\"\"", "\"a\\u0062\"", "123456789012345678901234567890"};
    for (size_t i = 0; i < OWL_COUNT(ids); i++) {
        char text[128];
        struct owl_rpc_msg m;
        int n = snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}",
                         ids[i]);
        assert_int_equal(read_text(NULL, (owl_str){text, (size_t)n}, &m, NULL), 0);
        assert_int_equal(m.kind, OWL_RPC_REQUEST);
        assert_str(m.id, ids[i]);
        assert_null(m.params.p);
    }
}

TEST(message_without_id_is_a_notification, "OR-13.3")
{
    struct owl_rpc_msg m;
    assert_int_equal(read_text(NULL,
                               OWL_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\","
                                       "\"params\":[1]}"),
                               &m, NULL),
                     0);
    assert_int_equal(m.kind, OWL_RPC_NOTIFICATION);
    assert_null(m.id.p);
    assert_str(m.params, "[1]");
}

TEST(responses_are_read, "OR-13.1")
{
    struct owl_rpc_msg m;
    assert_int_equal(
        read_text(NULL, OWL_STR("{\"id\":\"s-1\",\"result\":null,\"jsonrpc\":\"2.0\"}"), &m, NULL),
        0);
    assert_int_equal(m.kind, OWL_RPC_RESULT);
    assert_str(m.id, "\"s-1\"");
    assert_str(m.payload, "null");
    assert_null(m.method.p);

    assert_int_equal(read_text(NULL,
                               OWL_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1}}"),
                               &m, NULL),
                     0);
    assert_int_equal(m.kind, OWL_RPC_ERROR);
    assert_str(m.payload, "{\"code\":-1}");
}

TEST(error_response_may_have_no_id_or_null, "")
{
    struct owl_rpc_msg m;
    assert_int_equal(read_text(NULL, OWL_STR("{\"jsonrpc\":\"2.0\",\"error\":{}}"), &m, NULL), 0);
    assert_int_equal(m.kind, OWL_RPC_ERROR);
    assert_null(m.id.p);
    assert_int_equal(
        read_text(NULL, OWL_STR("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}"), &m, NULL), 0);
    assert_null(m.id.p);
}

TEST(escaped_keys_and_values_are_understood, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_rpc_msg m;
    assert_int_equal(read_text(a,
                               OWL_STR("{\"json\\u0072pc\":\"\\u0032.0\",\"\\u0069d\":3,"
                                       "\"metho\\u0064\":\"tools\\/list\"}"),
                               &m, NULL),
                     0);
    assert_str(m.id, "3");
    assert_str(m.method, "tools/list");
    owl_arena_free(a);
}

TEST(unknown_members_are_ignored, "")
{
    struct owl_rpc_msg m;
    assert_int_equal(read_text(NULL,
                               OWL_STR("{\"x\":[{\"id\":9}],\"jsonrpc\":\"2.0\",\"method\":\"m\","
                                       "\"ids\":1}"),
                               &m, NULL),
                     0);
    assert_int_equal(m.kind, OWL_RPC_NOTIFICATION);
}

/* What is refused, what the message names, and the id that an answer can repeat. */
static const struct refusal {
    const char *text, *names, *id;
} refusals[] = {
    {"[]", "byte 0: a message must be an object", NULL},
    {"3", "must be an object", NULL},
    {"{}", "\"jsonrpc\":\"2.0\" is missing", NULL},
    {"{\"id\":1,\"method\":\"m\"}", "\"jsonrpc\":\"2.0\" is missing", "1"},
    {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", "byte 11: \"jsonrpc\" must be \"2.0\"",
     "1"},
    {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", "not 2.0", "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", "byte 22: \"id\" must be", NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}", "not 1.5", NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"m\"}", "\"id\" must be", NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", "\"id\" must be", NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}", "\"id\" must be", NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":4}", "needs \"method\"", "4"},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"params\":{}}", "needs \"method\"", "4"},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":5}", "byte 33: \"method\" must be a string, not 5",
     "4"},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":null}", "\"method\" must be a string", "4"},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"params\":\"p\"}", "\"params\" must be", "4"},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"params\":null}", "\"params\" must be", "4"},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"result\":1}", "\"method\" or \"result\"",
     "4"},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"error\":{}}", "\"method\" or \"error\"",
     "4"},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":1,\"error\":{}}", "not both", NULL},
    {"{\"jsonrpc\":\"2.0\",\"result\":1}", "needs \"id\"", NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}", "\"id\" must be", NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":\"e\"}", "\"error\" must be an object", NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":[\"0123456789012345678901234567890123456789\"]}",
     "…", "4"},
};

TEST(invalid_messages_are_refused_and_named, "OR-13.2 OR-13.3")
{
    for (size_t i = 0; i < OWL_COUNT(refusals); i++) {
        struct owl_rpc_msg m = {.kind = OWL_RPC_ERROR, .id = {"old", 3}, .method = {"kept", 4}};
        owl_error err = {0};
        assert_int_equal(read_text(NULL, owl_str_of(refusals[i].text), &m, &err), -OWL_EREQUEST);
        assert_int_equal(err.code, OWL_EREQUEST);
        if (!strstr(err.message, refusals[i].names))
            fail_msg("%s: \"%s\" does not say \"%s\"", refusals[i].text, err.message,
                     refusals[i].names);
        if (refusals[i].id)
            assert_str(m.id, refusals[i].id);
        else
            assert_null(m.id.p);
        assert_int_equal(m.kind, OWL_RPC_ERROR);
        assert_str(m.method, "kept");
    }
}

TEST(malformed_text_is_refused_with_its_position, "OR-13.2")
{
    owl_error err = {0};
    assert_int_equal(
        owl_json_scan(OWL_STR("{\"jsonrpc\":\"2.0\",\"id\":1,}"), OWL_JSON_DEPTH, &err),
        -OWL_EPARSE);
    assert_non_null(strstr(err.message, "byte 24"));
}

TEST(quoting_a_refused_value_does_not_cut_a_character, "OR-13.2")
{
    struct owl_rpc_msg m;
    owl_error err = {0};
    /* Two-byte characters from the second byte on: the limit is within one. */
    assert_int_equal(
        read_text(NULL, OWL_STR("{\"jsonrpc\":\"éééééééééééééééééééééééé\",\"id\":1}"), &m, &err),
        -OWL_EREQUEST);
    assert_true(owl_utf8_valid(owl_str_of(err.message)));
    assert_non_null(strstr(err.message, "é…"));
}

/* {"jsonrpc":"2.0","id":1,KEY:"aaa…"} with @p n times @p unit. */
static owl_str long_member(char *text, size_t size, const char *key, const char *unit, size_t n)
{
    size_t at = (size_t)snprintf(text, size, "{\"jsonrpc\":\"2.0\",\"%s\":\"", key);
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, size - at, "%s", unit);
    at += (size_t)snprintf(text + at, size - at, "\"%s}",
                           strcmp(key, "id") == 0 ? ",\"method\":\"m\"" : "");
    assert_true(at < size);
    return (owl_str){text, at};
}

TEST(long_methods_and_ids_are_refused, "")
{
    static char text[8192];
    struct owl_arena *a = owl_arena_new(0);
    struct owl_rpc_msg m;
    owl_error err = {0};
    const char *units[] = {"a", "\\u0061"};
    for (size_t i = 0; i < OWL_COUNT(units); i++) {
        owl_str ok = long_member(text, sizeof(text), "method", units[i], OWL_RPC_METHOD_BYTES);
        assert_int_equal(read_text(a, ok, &m, &err), 0);
        assert_int_equal(m.method.n, OWL_RPC_METHOD_BYTES);
        owl_str bad = long_member(text, sizeof(text), "method", units[i], OWL_RPC_METHOD_BYTES + 1);
        assert_int_equal(read_text(a, bad, &m, &err), -OWL_EREQUEST);
        assert_non_null(strstr(err.message, "\"method\" is longer than 256"));
    }
    owl_str escaped = long_member(text, sizeof(text), "method", "\\n", OWL_RPC_METHOD_BYTES + 1);
    assert_int_equal(read_text(a, escaped, &m, &err), -OWL_EREQUEST);

    owl_str ok = long_member(text, sizeof(text), "id", "a", OWL_RPC_ID_BYTES - 2);
    assert_int_equal(read_text(a, ok, &m, &err), 0);
    assert_int_equal(m.id.n, OWL_RPC_ID_BYTES);
    owl_str bad = long_member(text, sizeof(text), "id", "a", OWL_RPC_ID_BYTES - 1);
    assert_int_equal(read_text(a, bad, &m, &err), -OWL_EREQUEST);
    assert_non_null(strstr(err.message, "\"id\" is longer than 1024"));
    assert_null(m.id.p);
    owl_arena_free(a);
}

TEST(no_memory_for_a_decoded_method_is_an_error, "")
{
    struct owl_arena *a = owl_arena_new(1);
    struct owl_rpc_msg m;
    owl_error err = {0};
    int rc = read_text(
        a, OWL_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\u0061bcdefghijklmnopqrstu\"}"), &m,
        &err);
    assert_true(rc == -OWL_ENOMEM || rc == -OWL_ELIMIT);
    assert_int_equal(err.code, -rc);
    assert_str(m.id, "1");
    owl_arena_free(a);
}

/* ---- writing --------------------------------------------------------------------------------- */

TEST(messages_are_written_whole, "OR-1.2 OR-1.10")
{
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    owl_rpc_begin_result(&b, OWL_STR("\"a\\u0062\""));
    owl_buf_putz(&b, "{}");
    owl_rpc_end(&b);
    assert_str(owl_buf_str(&b), "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0062\",\"result\":{}}");

    owl_buf_reset(&b);
    owl_rpc_begin_request(&b, OWL_STR("12"), OWL_STR("roots/list"));
    owl_buf_putz(&b, "{}");
    owl_rpc_end(&b);
    assert_str(owl_buf_str(&b),
               "{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"roots/list\",\"params\":{}}");

    owl_buf_reset(&b);
    owl_rpc_begin_notification(&b, OWL_STR("a\"b"));
    owl_buf_putz(&b, "[]");
    owl_rpc_end(&b);
    assert_str(owl_buf_str(&b), "{\"jsonrpc\":\"2.0\",\"method\":\"a\\\"b\",\"params\":[]}");
    owl_buf_done(&b);
}

TEST(errors_are_written_with_id_or_null, "OR-1.10")
{
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    owl_rpc_error(&b, OWL_STR("5"), -32601, OWL_STR("no\nsuch"), OWL_STR("{\"a\":1}"));
    assert_str(owl_buf_str(&b), "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32601,"
                                "\"message\":\"no\\nsuch\",\"data\":{\"a\":1}}}");
    owl_buf_reset(&b);
    owl_rpc_error(&b, (owl_str){NULL, 0}, -32700, OWL_STR("bad"), (owl_str){NULL, 0});
    assert_str(owl_buf_str(&b), "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
                                "\"message\":\"bad\"}}");
    owl_buf_done(&b);
}

TEST(a_buffer_too_small_keeps_its_error, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 16);
    owl_rpc_error(&b, OWL_STR("5"), -32601, OWL_STR("no such"), (owl_str){NULL, 0});
    assert_int_equal(b.rc, -OWL_ELIMIT);
    owl_buf_done(&b);
}

/* ---- the property: write, scan, read, write again -------------------------------------------- */

static uint64_t seed;

static unsigned pick(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)((seed >> 11) % n);
}

/* Text with everything that must be escaped or has several bytes. */
static size_t random_text(char *out, size_t max)
{
    static const char *const units[] = {"a",
                                        "Z",
                                        "/",
                                        "\"",
                                        "\\",
                                        "\n",
                                        "\x01",
                                        "\t",
                                        "\xc3\xa9",
                                        "\xe4\xb8\x96",
                                        "\x7f",
                                        "9",
                                        "\xf0\x9f\xa6\x89",
                                        " ",
                                        "{",
                                        "]"};
    size_t n = 0;
    for (unsigned i = pick(12); i > 0; i--) {
        const char *unit = units[pick(OWL_COUNT(units))];
        if (n + strlen(unit) > max)
            break;
        memcpy(out + n, unit, strlen(unit));
        n += strlen(unit);
    }
    return n;
}

static void random_string(struct owl_buf *b)
{
    char text[64];
    size_t n = random_text(text, sizeof(text));
    owl_json_quote(b, (owl_str){text, n});
}

static void random_value(struct owl_buf *b, unsigned depth)
{
    static const char *const scalars[] = {"null", "true",          "false", "0",
                                          "-1",   "1.50",          "1e+9",  "12345678901234567890",
                                          "-0.0", "\"\\u00e9\\/\""};
    unsigned kind = pick(depth > 0 ? 4 : 2);
    if (kind == 0) {
        owl_buf_putz(b, scalars[pick(OWL_COUNT(scalars))]);
        return;
    }
    if (kind == 1) {
        random_string(b);
        return;
    }
    owl_buf_putc(b, kind == 2 ? '[' : '{');
    for (unsigned i = 0, n = pick(4); i < n; i++) {
        if (i > 0)
            owl_buf_putc(b, ',');
        if (kind == 3)
            owl_buf_printf(b, "\"k%u\": ", i);
        random_value(b, depth - 1);
    }
    owl_buf_putc(b, kind == 2 ? ']' : '}');
}

static void random_id(struct owl_buf *b)
{
    switch (pick(4)) {
    case 0: owl_buf_printf(b, "%u", pick(1000000)); break;
    case 1: owl_buf_printf(b, "-%u98765432109876543210", 1 + pick(9)); break;
    case 2: owl_buf_printf(b, "\"\\u00%02x-%u\"", 0x20 + pick(0x5f), pick(100)); break;
    default: random_string(b); break;
    }
}

static void random_object(struct owl_buf *b)
{
    owl_buf_putz(b, "{\"v\":");
    random_value(b, 4);
    owl_buf_putc(b, '}');
}

struct message {
    enum owl_rpc_kind kind;
    struct owl_buf id, value;
    char method[64];
    size_t method_n;
};

static void random_message(struct message *m)
{
    m->kind = (enum owl_rpc_kind)pick(4);
    owl_buf_reset(&m->id);
    owl_buf_reset(&m->value);
    if (m->kind != OWL_RPC_NOTIFICATION)
        random_id(&m->id);
    m->method_n = random_text(m->method, sizeof(m->method));
    if (m->kind == OWL_RPC_RESULT)
        random_value(&m->value, 4);
    else if (m->kind != OWL_RPC_ERROR)
        random_object(&m->value);
}

static void write_message(struct owl_buf *b, const struct owl_rpc_msg *m)
{
    switch (m->kind) {
    case OWL_RPC_REQUEST: owl_rpc_begin_request(b, m->id, m->method); break;
    case OWL_RPC_NOTIFICATION: owl_rpc_begin_notification(b, m->method); break;
    case OWL_RPC_RESULT: owl_rpc_begin_result(b, m->id); break;
    case OWL_RPC_ERROR: fail(); break;
    }
    owl_buf_puts(b, m->kind == OWL_RPC_RESULT ? m->payload : m->params);
    owl_rpc_end(b);
}

static void write_generated(struct owl_buf *b, const struct message *m)
{
    if (m->kind == OWL_RPC_ERROR) {
        owl_rpc_error(b, owl_buf_str(&m->id), -32000 - (int)m->method_n,
                      (owl_str){m->method, m->method_n}, (owl_str){NULL, 0});
        return;
    }
    struct owl_rpc_msg msg = {.kind = m->kind,
                              .id = owl_buf_str(&m->id),
                              .method = {m->method, m->method_n},
                              .params = owl_buf_str(&m->value),
                              .payload = owl_buf_str(&m->value)};
    write_message(b, &msg);
}

static bool same(owl_str a, owl_str b)
{
    return owl_str_eq(a, b);
}

static void check_round_trip(const struct message *m, struct owl_buf *first, struct owl_buf *second)
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_rpc_msg got;
    owl_error err = {0};
    owl_buf_reset(first);
    owl_buf_reset(second);
    write_generated(first, m);
    assert_int_equal(first->rc, 0);
    assert_null(memchr(first->p, '\n', first->n));
    assert_int_equal(owl_json_scan(owl_buf_str(first), OWL_JSON_DEPTH, &err), 0);
    assert_int_equal(read_text(a, owl_buf_str(first), &got, &err), 0);
    assert_int_equal(got.kind, m->kind);
    if (m->kind == OWL_RPC_NOTIFICATION)
        assert_null(got.id.p);
    else
        assert_true(same(got.id, owl_buf_str(&m->id)));
    if (m->kind == OWL_RPC_REQUEST || m->kind == OWL_RPC_NOTIFICATION) {
        assert_true(same(got.method, (owl_str){m->method, m->method_n}));
        assert_true(same(got.params, owl_buf_str(&m->value)));
    }
    if (m->kind == OWL_RPC_RESULT)
        assert_true(same(got.payload, owl_buf_str(&m->value)));
    if (m->kind == OWL_RPC_ERROR) {
        owl_str text;
        assert_int_equal(owl_json_decode(a, owl_span_get(got.payload, "message"), &text), 0);
        assert_true(same(text, (owl_str){m->method, m->method_n}));
    } else {
        write_message(second, &got);
        assert_true(same(owl_buf_str(first), owl_buf_str(second)));
    }
    owl_arena_free(a);
}

TEST(any_message_survives_a_round_trip, "OD-P1 OR-13.5 OR-1.2")
{
    struct message m = {0};
    struct owl_buf first, second;
    owl_buf_init(&m.id, 1 << 20);
    owl_buf_init(&m.value, 1 << 20);
    owl_buf_init(&first, 1 << 20);
    owl_buf_init(&second, 1 << 20);
    for (uint64_t i = 1; i <= 3000; i++) {
        seed = i * 0x9E3779B97F4A7C15u;
        random_message(&m);
        check_round_trip(&m, &first, &second);
    }
    owl_buf_done(&m.id);
    owl_buf_done(&m.value);
    owl_buf_done(&first);
    owl_buf_done(&second);
}

/* Mutated messages never crash the reader; what it accepts it can write again. */
TEST(damaged_messages_are_refused_or_read, "")
{
    struct message m = {0};
    struct owl_buf b;
    owl_buf_init(&m.id, 1 << 20);
    owl_buf_init(&m.value, 1 << 20);
    owl_buf_init(&b, 1 << 20);
    for (uint64_t i = 1; i <= 3000; i++) {
        seed = i * 0xD1342543DE82EF95u;
        random_message(&m);
        owl_buf_reset(&b);
        write_generated(&b, &m);
        b.p[pick((unsigned)b.n)] = "{}[]\",:0x\\ "[pick(11)];
        struct owl_arena *a = owl_arena_new(0);
        struct owl_rpc_msg got;
        owl_error err;
        if (owl_json_scan(owl_buf_str(&b), OWL_JSON_DEPTH, &err) == 0 &&
            owl_rpc_read(a, owl_buf_str(&b), NULL, &got, &err) == 0)
            assert_true(got.method.p || got.payload.p);
        owl_arena_free(a);
    }
    owl_buf_done(&m.id);
    owl_buf_done(&m.value);
    owl_buf_done(&b);
}

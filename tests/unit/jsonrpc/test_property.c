/* A property of jsonrpc/envelope.h and codec/json.h: whatever message a peer writes, however it
 * spells it, parse → write → parse gives the same message.
 *
 * Case n is made from the seed $OWLCLAW_SEED + n (default 1). A failure names its seed: set it to
 * see that case first. */
#include "support/test.h"

#include "codec/json.h"
#include "codec/scan.h"
#include "jsonrpc/envelope.h"

#include <inttypes.h>
#include <stdio.h>

enum { CASES = 4000, DEEP = 60 };

static uint64_t case_seed, state;

static void set_case(uint64_t i)
{
    const char *first = getenv("OWLCLAW_SEED");
    case_seed = (first ? strtoull(first, NULL, 0) : 1) + i;
    state = case_seed * 0x9E3779B97F4A7C15u + 1;
}

static unsigned pick(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % n);
}

/* Fails the case with its seed and the message that it was about. */
#define HOLDS(condition, text) \
    do { \
        if (!(condition)) \
            fail_msg("OWLCLAW_SEED=%" PRIu64 ": %s does not hold of\n%.*s", case_seed, #condition, \
                     (int)(text).n, (text).p); \
    } while (0)

/* ---- a peer that spells freely ---- */

static void space(struct owl_buf *b)
{
    static const char *const spaces[] = {"", "", "", " ", "\t", "\n", "\r\n", "  "};
    owl_buf_putz(b, spaces[pick(OWL_COUNT(spaces))]);
}

/* Pieces of string literals: plain, escaped and over-escaped, of one to four bytes. */
static void put_pieces(struct owl_buf *b, unsigned n)
{
    static const char *const pieces[] = {
        "a",
        "Z",
        "0",
        " ",
        "/",
        "\\/",
        "\\\"",
        "\\\\",
        "\\n",
        "\\r",
        "\\t",
        "\\b",
        "\\f",
        "\\u0000",
        "\\u001f",
        "\\u0041",
        "\\u00e9",
        "\\u4E16",
        "\\u2028",
        "\x7f",
        "\xc3\xa9",
        "\xe4\xb8\x96",
        "\xe2\x80\xa8",
        "\xf0\x9f\xa6\x89",
        "\\ud83e\\udd89",
        "\\uD800\\uDC00",
        "\xef\xbf\xbf",
        "\\uffff",
        "{",
        "]",
        "'",
    };
    while (n-- > 0)
        owl_buf_putz(b, pieces[pick(OWL_COUNT(pieces))]);
}

static void put_string(struct owl_buf *b)
{
    owl_buf_putc(b, '"');
    put_pieces(b, pick(20) == 0 ? 200 : pick(10));
    owl_buf_putc(b, '"');
}

static void put_number(struct owl_buf *b)
{
    static const char *const numbers[] = {
        "0",
        "-0",
        "-0.0",
        "1.50",
        "1e+9",
        "1E-9",
        "-1e00",
        "0.1",
        "123456789012345678901234567890",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "18446744073709551615",
        "9007199254740993",
        "1.7976931348623157e308",
        "5e-324",
        "2.2250738585072011e-308",
        "1e-400",
        "0.30000000000000004",
        "-12345.678e-3",
    };
    if (pick(2))
        owl_buf_putz(b, numbers[pick(OWL_COUNT(numbers))]);
    else
        owl_buf_printf(b, "%s%u.%ue%d", pick(2) ? "-" : "", pick(1000), pick(1000000),
                       (int)pick(600) - 300);
}

/* A key that no other member of its object has, whatever the pieces. */
static void put_key(struct owl_buf *b, unsigned i)
{
    owl_buf_putc(b, '"');
    put_pieces(b, pick(4));
    owl_buf_printf(b, "#%u\"", i);
    space(b);
    owl_buf_putc(b, ':');
    space(b);
}

static void put_value(struct owl_buf *b, unsigned depth);

static void put_members(struct owl_buf *b, bool object, unsigned depth)
{
    /* Deep ones are narrow: the text must not explode. */
    unsigned n = depth > 6 ? 1 : pick(4);
    owl_buf_putc(b, object ? '{' : '[');
    space(b);
    for (unsigned i = 0; i < n; i++) {
        if (i > 0)
            owl_buf_putc(b, ',');
        space(b);
        if (object)
            put_key(b, i);
        put_value(b, depth - 1);
        space(b);
    }
    owl_buf_putc(b, object ? '}' : ']');
}

static void put_value(struct owl_buf *b, unsigned depth)
{
    static const char *const names[] = {"null", "true", "false"};
    if (depth > 6 || (depth > 0 && pick(2))) {
        put_members(b, pick(2), depth);
        return;
    }
    switch (pick(3)) {
    case 0: owl_buf_putz(b, names[pick(OWL_COUNT(names))]); break;
    case 1: put_number(b); break;
    default: put_string(b); break;
    }
}

static void put_id(struct owl_buf *b)
{
    static const char *const ids[] = {
        "0",
        "-0",
        "-1",
        "9007199254740993",
        "-9223372036854775809",
        "18446744073709551616",
        "\"\"",
        "\"0\"",
        "\"null\"",
        "\"\\u0000\"",
        "\"\\ud83e\\udd89\"",
        "123456789012345678901234567890",
    };
    if (pick(3) == 0) {
        owl_buf_putz(b, ids[pick(OWL_COUNT(ids))]);
    } else if (pick(2)) {
        owl_buf_printf(b, "%u", pick(1u << 30));
    } else {
        owl_buf_putc(b, '"');
        put_pieces(b, pick(8));
        owl_buf_putc(b, '"');
    }
}

/* ---- messages: members in any order, keys with escapes, others between them ---- */

enum { VERSION, ID, METHOD, VALUE, OTHER, MEMBERS };

static void put_error(struct owl_buf *b, unsigned depth)
{
    owl_buf_printf(b, "{ \"code\":%d,\"message\":", (int)pick(70000) - 35000);
    put_string(b);
    if (pick(2)) {
        owl_buf_putz(b, " ,\"data\" : ");
        put_value(b, depth);
    }
    owl_buf_putc(b, '}');
}

static void put_member(struct owl_buf *b, unsigned member, enum owl_rpc_kind kind)
{
    static const char *const value_keys[] = {"params", "p\\u0061rams", "result", "error"};
    unsigned depth = pick(10) == 0 ? DEEP : pick(4);
    bool call = kind == OWL_RPC_REQUEST || kind == OWL_RPC_NOTIFICATION;
    const char *key = call ? value_keys[pick(2)] : value_keys[kind == OWL_RPC_RESULT ? 2 : 3];
    switch (member) {
    case VERSION:
        owl_buf_putz(b, pick(4) ? "\"jsonrpc\":\"2.0\"" : "\"jsonrpc\":\"2\\u002e0\"");
        break;
    case ID:
        owl_buf_putz(b, pick(4) ? "\"id\" :" : "\"\\u0069d\": ");
        put_id(b);
        break;
    case METHOD:
        owl_buf_putz(b, "\"method\":\"");
        put_pieces(b, pick(16));
        owl_buf_putc(b, '"');
        break;
    case VALUE:
        owl_buf_printf(b, "\"%s\":", key);
        if (call)
            put_members(b, true, depth + 1);
        else if (kind == OWL_RPC_ERROR)
            put_error(b, depth);
        else
            put_value(b, depth);
        break;
    default:
        owl_buf_putz(b, "\"x-other\":");
        put_value(b, 2);
        break;
    }
}

static enum owl_rpc_kind put_message(struct owl_buf *b)
{
    enum owl_rpc_kind kind = (enum owl_rpc_kind)pick(4);
    unsigned members[MEMBERS] = {VERSION, ID, METHOD, VALUE, OTHER};
    const char *comma = "";
    for (unsigned i = MEMBERS - 1; i > 0; i--) {
        unsigned j = pick(i + 1), other = members[i];
        members[i] = members[j];
        members[j] = other;
    }
    owl_buf_reset(b);
    space(b);
    owl_buf_putc(b, '{');
    for (unsigned i = 0; i < MEMBERS; i++) {
        unsigned m = members[i];
        bool response = kind == OWL_RPC_RESULT || kind == OWL_RPC_ERROR;
        if ((m == ID && kind == OWL_RPC_NOTIFICATION) || (m == METHOD && response) ||
            (m == OTHER && pick(2)) || (m == VALUE && !response && pick(6) == 0))
            continue;
        owl_buf_putz(b, comma);
        space(b);
        put_member(b, m, kind);
        space(b);
        comma = ",";
    }
    owl_buf_putc(b, '}');
    space(b);
    assert_int_equal(b->rc, 0);
    return kind;
}

/* ---- equivalence ---- */

static bool equivalent(const owl_json *a, const owl_json *b)
{
    const char *ka = NULL, *kb = NULL;
    owl_str sa = owl_json_string(a), sb = owl_json_string(b);
    if (owl_json_kind_of(a) != owl_json_kind_of(b) || owl_json_len(a) != owl_json_len(b) ||
        owl_json_bool(a, false) != owl_json_bool(b, false) || !owl_str_eq(sa, sb) ||
        owl_json_int(a, 7) != owl_json_int(b, 7) ||
        memcmp(&(double){owl_json_num(a, 7)}, &(double){owl_json_num(b, 7)}, sizeof(double)) != 0)
        return false;
    owl_json_iter ia = owl_json_iter_of(a), ib = owl_json_iter_of(b);
    const owl_json *ea, *eb;
    do {
        ea = owl_json_next(&ia, &ka);
        eb = owl_json_next(&ib, &kb);
        if (!ea != !eb ||
            (ea && (!ka != !kb || (ka && strcmp(ka, kb) != 0) || !equivalent(ea, eb))))
            return false;
    } while (ea);
    return true;
}

static const owl_json *parse(struct owl_arena *a, owl_str text)
{
    const owl_json *v = NULL;
    if (text.p)
        HOLDS(owl_json_parse_arena(a, text, &v, NULL) == 0, text);
    return v;
}

static struct owl_rpc_msg read_message(struct owl_arena *a, owl_str text)
{
    struct owl_tape tape;
    struct owl_rpc_msg m = {0};
    owl_error err = {0};
    if (owl_json_scan_tape(text, OWL_JSON_DEPTH, &tape, &err) != 0 ||
        owl_rpc_read(a, text, &tape, &m, &err) != 0)
        fail_msg("OWLCLAW_SEED=%" PRIu64 ": %s\n%.*s", case_seed, err.message, (int)text.n, text.p);
    return m;
}

/* As the server does: ids and values as they came, on one line. */
static void write_message(struct owl_buf *b, struct owl_arena *a, const struct owl_rpc_msg *m)
{
    owl_str text = {NULL, 0};
    owl_buf_reset(b);
    switch (m->kind) {
    case OWL_RPC_REQUEST: owl_rpc_begin_request(b, m->id, m->method); break;
    case OWL_RPC_NOTIFICATION: owl_rpc_begin_notification(b, m->method); break;
    case OWL_RPC_RESULT: owl_rpc_begin_result(b, m->id); break;
    case OWL_RPC_ERROR:
        assert_int_equal(owl_json_decode(a, owl_span_get(m->payload, "message"), &text), 0);
        owl_rpc_begin_error(b, m->id,
                            (int)owl_json_int(parse(a, owl_span_get(m->payload, "code")), 0), text);
        if ((text = owl_span_get(m->payload, "data")).p) {
            owl_buf_putz(b, ",\"data\":");
            owl_json_compact(b, text);
        }
        owl_rpc_end_error(b);
        return;
    }
    if (m->kind == OWL_RPC_RESULT || m->params.p)
        owl_json_compact(b, m->kind == OWL_RPC_RESULT ? m->payload : m->params);
    else
        owl_buf_putz(b, "{}");
    owl_rpc_end(b);
}

static void check_message(struct owl_buf *foreign, struct owl_buf *ours)
{
    struct owl_arena *a = owl_arena_new(0);
    enum owl_rpc_kind kind = put_message(foreign);
    owl_str text = owl_buf_str(foreign);
    struct owl_rpc_msg first = read_message(a, text);
    HOLDS(first.kind == kind, text);
    write_message(ours, a, &first);
    HOLDS(ours->rc == 0 && !memchr(ours->p, '\n', ours->n), text);
    struct owl_rpc_msg second = read_message(a, owl_buf_str(ours));
    HOLDS(second.kind == kind && owl_str_eq(first.id, second.id), text);
    HOLDS(owl_str_eq(first.method, second.method), text);
    HOLDS(!first.params.p || equivalent(parse(a, first.params), parse(a, second.params)), text);
    HOLDS(equivalent(parse(a, first.payload), parse(a, second.payload)), text);
    owl_arena_free(a);
}

TEST(any_message_of_a_peer_survives_parse_write_parse, "OD-P1 OR-13.5 mcp:B1")
{
    struct owl_buf foreign, ours;
    owl_buf_init(&foreign, 1 << 22);
    owl_buf_init(&ours, 1 << 22);
    for (uint64_t i = 0; i < CASES; i++) {
        set_case(i);
        check_message(&foreign, &ours);
    }
    owl_buf_done(&foreign);
    owl_buf_done(&ours);
}

TEST(any_value_survives_parse_write_parse, "OD-P1")
{
    struct owl_buf foreign, ours;
    owl_buf_init(&foreign, 1 << 22);
    owl_buf_init(&ours, 1 << 22);
    for (uint64_t i = 0; i < CASES; i++) {
        struct owl_arena *a = owl_arena_new(0);
        set_case(i);
        owl_buf_reset(&foreign);
        owl_buf_reset(&ours);
        put_value(&foreign, pick(10) == 0 ? DEEP : pick(5));
        owl_str text = owl_buf_str(&foreign);
        HOLDS(owl_json_scan(text, OWL_JSON_DEPTH, NULL) == 0, text);
        const owl_json *first = parse(a, text);
        owl_json_put(&ours, first);
        HOLDS(owl_json_scan(owl_buf_str(&ours), OWL_JSON_DEPTH, NULL) == 0, text);
        HOLDS(equivalent(first, parse(a, owl_buf_str(&ours))), text);
        owl_arena_free(a);
    }
    owl_buf_done(&foreign);
    owl_buf_done(&ours);
}

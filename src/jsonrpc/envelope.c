/* jsonrpc/envelope.c - JSON-RPC 2.0 messages: read from proved text, written to buffers.
 *
 * Pure, any thread. Reading is one walk over the members, and one over those of params: everything but
 * a method name with escapes is borrowed from the source, so that ids and params keep their
 * spelling. */
#include "jsonrpc/envelope.h"

#include "base/err.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "jsonrpc/member.h"

enum member { JSONRPC, ID, METHOD, PARAMS, RESULT, ERROR, MEMBERS };

static const owl_str names[MEMBERS] = {
    [JSONRPC] = {"jsonrpc", 7}, [ID] = {"id", 2},         [METHOD] = {"method", 6},
    [PARAMS] = {"params", 6},   [RESULT] = {"result", 6}, [ERROR] = {"error", 5},
};

enum {
#define OWL_PARAM_ROW(symbol, name) PARAM_##symbol,
#include "tbl/params.h"
    PARAMS_KNOWN
};

static const owl_str known[PARAMS_KNOWN] = {
#define OWL_PARAM_ROW(symbol, name) {name, sizeof(name) - 1},
#include "tbl/params.h"
};

/* Which of those a name may be: no two have both length and first letter in common. */
static int candidate_param(owl_str name)
{
    switch (name.n) {
    case 3: return name.p[0] == 'u' ? PARAM_uri : PARAM_ref;
    case 4: return name.p[0] == 'n' ? PARAM_name : PARAM_task;
    case 5: return name.p[0] == '_' ? PARAM_meta : PARAM_level;
    case 6: return name.p[0] == 'c' ? PARAM_cursor : PARAM_taskId;
    case 7: return PARAM_context;
    case 8: return PARAM_argument;
    case 9: return name.p[0] == 'a' ? PARAM_arguments : PARAM_requestId;
    case 10: return PARAM_clientInfo;
    case 12: return name.p[0] == 'c' ? PARAM_capabilities : PARAM_requestState;
    case 13: return PARAM_notifications;
    case 14: return PARAM_inputResponses;
    case 15: return PARAM_protocolVersion;
    default: return -1;
    }
}

/* Its place among them, or -1. */
static int find_known(owl_str name)
{
    int i = candidate_param(name);
    return i >= 0 && owl_str_eq(known[i], name) ? i : -1;
}

static int find_known_key(const struct owl_span *s)
{
    int i = 0;
    if (OWL_LIKELY(!s->escaped))
        return find_known(s->key);
    while (i < PARAMS_KNOWN && !owl_span_key_is(s, known[i]))
        i++;
    return i < PARAMS_KNOWN ? i : -1;
}

/* What a failure quotes of the source: enough to recognise it, little enough to leave room. */
enum { QUOTED = 40 };

static int refuse(owl_error *reterr, owl_str proved, owl_str value, const char *what)
{
    owl_str shown = owl_utf8_cut(value, QUOTED);
    return owl_fail(reterr, OWL_EREQUEST, "byte %zu: %s, not %.*s%s", (size_t)(value.p - proved.p),
                    what, (int)shown.n, shown.p, shown.n < value.n ? "…" : "");
}

static int too_long(owl_error *reterr, owl_str proved, owl_str value, const char *what, int max)
{
    return owl_fail(reterr, OWL_EREQUEST, "byte %zu: \"%s\" is longer than %d bytes",
                    (size_t)(value.p - proved.p), what, max);
}

static bool id_valid(owl_str id)
{
    return id.n <= OWL_RPC_ID_BYTES && (owl_span_is_string(id) || owl_span_is_integer(id));
}

static int refuse_id(owl_str proved, owl_str id, owl_error *reterr)
{
    if (owl_span_is_string(id) || owl_span_is_integer(id))
        return too_long(reterr, proved, id, "id", OWL_RPC_ID_BYTES);
    return refuse(reterr, proved, id, "\"id\" must be a string or an integer");
}

static int read_method(struct owl_arena *a, owl_str proved, owl_str literal, owl_str *ret,
                       owl_error *reterr)
{
    /* No escape is longer than the six bytes of \u0000, hence no name that fits is refused here. */
    enum { LITERAL_BYTES = 6 * OWL_RPC_METHOD_BYTES + 2 };
    owl_str method = {NULL, 0};
    if (!owl_span_is_string(literal))
        return refuse(reterr, proved, literal, "\"method\" must be a string");
    if (literal.n <= LITERAL_BYTES) {
        int rc = owl_member_text(a, literal, &method);
        if (rc != 0)
            return owl_fail(reterr, -rc, NULL);
    }
    if (!method.p || method.n > OWL_RPC_METHOD_BYTES)
        return too_long(reterr, proved, literal, "method", OWL_RPC_METHOD_BYTES);
    *ret = method;
    return 0;
}

static int read_call(struct owl_arena *a, owl_str proved, const owl_str m[MEMBERS],
                     struct owl_rpc_msg *msg, owl_error *reterr)
{
    if (m[RESULT].p || m[ERROR].p)
        return owl_fail(reterr, OWL_EREQUEST, "a message has either \"method\" or \"%s\", not both",
                        m[RESULT].p ? "result" : "error");
    int rc = read_method(a, proved, m[METHOD], &msg->method, reterr);
    if (rc != 0)
        return rc;
    if (m[PARAMS].p && !owl_span_is_object(m[PARAMS]) && !owl_span_is_array(m[PARAMS]))
        return refuse(reterr, proved, m[PARAMS], "\"params\" must be an object or an array");
    msg->params = m[PARAMS];
    msg->kind = m[ID].p ? OWL_RPC_REQUEST : OWL_RPC_NOTIFICATION;
    return 0;
}

static int read_response(owl_str proved, const owl_str m[MEMBERS], struct owl_rpc_msg *msg,
                         owl_error *reterr)
{
    if (!m[RESULT].p && !m[ERROR].p)
        return owl_fail(reterr, OWL_EREQUEST,
                        "a message needs \"method\" (a request or notification), or \"result\" or "
                        "\"error\" (a response)");
    if (m[RESULT].p && m[ERROR].p)
        return owl_fail(reterr, OWL_EREQUEST,
                        "a response has either \"result\" or \"error\", not both");
    if (m[RESULT].p && !msg->id.p)
        return owl_fail(reterr, OWL_EREQUEST, "a response with \"result\" needs \"id\"");
    if (m[ERROR].p && !owl_span_is_object(m[ERROR]))
        return refuse(reterr, proved, m[ERROR], "\"error\" must be an object");
    msg->kind = m[RESULT].p ? OWL_RPC_RESULT : OWL_RPC_ERROR;
    msg->payload = m[RESULT].p ? m[RESULT] : m[ERROR];
    return 0;
}

static int read_params(struct owl_arena *a, const struct owl_tape *tape, struct owl_rpc_msg *msg)
{
    if (!owl_span_is_object(msg->params))
        return 0;
    owl_str *values = owl_arena_zalloc(a, sizeof known);
    if (!values)
        return owl_arena_over(a) ? -OWL_ELIMIT : -OWL_ENOMEM;
    struct owl_member_walk w = owl_member_walk(msg->params, tape);
    for (struct owl_span s; owl_member_next(&w, &s);) {
        int i = find_known_key(&s);
        if (i >= 0)
            values[i] = s.value;
    }
    msg->_known = values;
    return 0;
}

owl_str owl_rpc_param(const struct owl_rpc_msg *msg, owl_str name)
{
    owl_str value = {NULL, 0};
    if (!msg->_known)
        return value;
    int i = find_known(name);
    if (i >= 0)
        return msg->_known[i];
    OWL_IGNORE(owl_members(msg->params, NULL, &name, 1, &value)); /* it is an object */
    return value;
}

int owl_rpc_id_plain(struct owl_arena *a, owl_str id, owl_str *ret)
{
    owl_str text;
    struct owl_buf b;
    if (!owl_span_is_string(id) || !memchr(id.p, '\\', id.n)) {
        *ret = id;
        return 0;
    }
    int rc = owl_json_decode(a, id, &text);
    if (rc != 0)
        return rc;
    owl_buf_init_arena(&b, a, 6 * text.n + 2);
    owl_json_quote(&b, text);
    if (b.rc == 0)
        *ret = owl_buf_str(&b);
    return b.rc;
}

/* Which member a key without escapes may be; its bytes are still to be compared. */
static enum member candidate(owl_str key)
{
    switch (key.n) {
    case 2: return ID;
    case 5: return ERROR;
    case 6: return key.p[0] == 'm' ? METHOD : key.p[0] == 'p' ? PARAMS : RESULT;
    case 7: return JSONRPC;
    default: return MEMBERS;
    }
}

/* The members of the message, from the tape of its scan. False: there is none, or a key is
 * escaped. */
static bool find_members(const struct owl_tape *tape, owl_str m[MEMBERS])
{
    if (!tape || tape->partial || tape->n == 0)
        return false;
    memset(m, 0, MEMBERS * sizeof m[0]);
    for (size_t i = 0; i < tape->n; i++) {
        const struct owl_tape_entry *e = &tape->entries[i];
        if (e->level != 1)
            continue;
        if (e->span.escaped)
            return false;
        enum member k = candidate(e->span.key);
        if (k != MEMBERS && memcmp(e->span.key.p, names[k].p, names[k].n) == 0)
            m[k] = e->span.value;
    }
    return true;
}

int owl_rpc_read(struct owl_arena *a, owl_str proved, const struct owl_tape *tape,
                 struct owl_rpc_msg *ret, owl_error *reterr)
{
    owl_str m[MEMBERS];
    bool object = find_members(tape, m) || owl_members(proved, tape, names, MEMBERS, m);

    struct owl_rpc_msg msg = {.id = id_valid(m[ID]) ? m[ID] : (owl_str){NULL, 0}};
    /* A refusal names a request of the peer's; the id of a response is one of ours. */
    bool response = !m[METHOD].p && (m[RESULT].p || m[ERROR].p);
    ret->id = response ? (owl_str){NULL, 0} : msg.id;
    if (!object)
        return owl_fail(reterr, OWL_EREQUEST, "byte 0: a message must be an object");
    if (!m[JSONRPC].p)
        return owl_fail(reterr, OWL_EREQUEST, "\"jsonrpc\":\"2.0\" is missing");
    if (!owl_span_is_string(m[JSONRPC]) || !owl_span_str_eq(m[JSONRPC], OWL_STR("2.0")))
        return refuse(reterr, proved, m[JSONRPC], "\"jsonrpc\" must be \"2.0\"");

    /* An error that answers something unreadable has the id null, which is as good as none. */
    bool null_id = !m[METHOD].p && m[ERROR].p && owl_str_eq(m[ID], OWL_STR("null"));
    if (m[ID].p && !msg.id.p && !null_id)
        return refuse_id(proved, m[ID], reterr);

    int rc = m[METHOD].p ? read_call(a, proved, m, &msg, reterr)
                         : read_response(proved, m, &msg, reterr);
    if (rc != 0)
        return rc;
    rc = read_params(a, tape, &msg);
    if (rc != 0)
        return owl_fail(reterr, -rc, NULL);
    *ret = msg;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

void owl_rpc_begin_result(struct owl_buf *b, owl_str id)
{
    owl_buf_puts(b, OWL_STR("{\"jsonrpc\":\"2.0\",\"id\":"));
    owl_buf_puts(b, id);
    owl_buf_puts(b, OWL_STR(",\"result\":"));
}

void owl_rpc_begin_request(struct owl_buf *b, owl_str id, owl_str method)
{
    owl_buf_puts(b, OWL_STR("{\"jsonrpc\":\"2.0\",\"id\":"));
    owl_buf_puts(b, id);
    owl_buf_puts(b, OWL_STR(",\"method\":"));
    owl_json_quote(b, method);
    owl_buf_puts(b, OWL_STR(",\"params\":"));
}

void owl_rpc_begin_notification(struct owl_buf *b, owl_str method)
{
    owl_buf_puts(b, OWL_STR("{\"jsonrpc\":\"2.0\",\"method\":"));
    owl_json_quote(b, method);
    owl_buf_puts(b, OWL_STR(",\"params\":"));
}

void owl_rpc_end(struct owl_buf *b)
{
    owl_buf_putc(b, '}');
}

void owl_rpc_begin_error(struct owl_buf *b, owl_str id, int code, owl_str message)
{
    owl_buf_puts(b, OWL_STR("{\"jsonrpc\":\"2.0\""));
    if (!id.p || id.n > 0) {
        owl_buf_puts(b, OWL_STR(",\"id\":"));
        owl_buf_puts(b, id.p ? id : OWL_STR("null"));
    }
    owl_buf_printf(b, ",\"error\":{\"code\":%d,\"message\":", code);
    owl_json_quote(b, message);
}

void owl_rpc_end_error(struct owl_buf *b)
{
    owl_buf_puts(b, OWL_STR("}}"));
}

void owl_rpc_error(struct owl_buf *b, owl_str id, int code, owl_str message, owl_str data)
{
    owl_rpc_begin_error(b, id, code, message);
    if (data.p) {
        owl_buf_puts(b, OWL_STR(",\"data\":"));
        owl_buf_puts(b, data);
    }
    owl_rpc_end_error(b);
}

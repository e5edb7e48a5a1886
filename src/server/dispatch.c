/* server/dispatch.c - from the text of a message to a running call, for every front.
 *
 * Threads: the front's reactor. The order of the checks is that of mcp-wire 1.8: parse, envelope,
 * era, required _meta, mirror headers, version; the rest are steps of the call. */
#include "server/dispatch.h"
#include "base/alloc.h"
#include "base/err.h"
#include "call/ask.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "jsonrpc/find_id.h"
#include "mcp/headers.h"
#include "server/peer.h"

enum { MAX_VERSION = 256 }; /* bytes of a version that a refusal repeats */
#define BATCHES (OWL_REV_BIT(OWL_REV_2025_03_26 + 1) - 1) /* revisions that have them */

/* What is known of a message while it is being admitted. */
struct entry {
    struct owl_inbound *in;
    struct owl_rpc_msg msg;
    struct owl_mcp_meta meta;
    struct owl_mcp_class class;
    const struct owl_mcp_codec *codec; /* in whose words it is refused */
    const struct owl_method *method;
    owl_error err;   /* also decides the HTTP status of the refusal */
    owl_str version; /* that was asked for and is not served; for error.data */
};

/* The texts of errors are only written when there is one. */
static void entry_init(struct entry *e, struct owl_inbound *in)
{
    e->in = in;
    e->msg = (struct owl_rpc_msg){.kind = OWL_RPC_REQUEST};
    e->meta = (struct owl_mcp_meta){.raw = {NULL, 0}};
    e->class.error = 0;
    e->codec = owl_mcp_codec_of(in->session ? owl_session_rev(in->session) : OWL_REV_2025_11_25,
                                in->front->server->env.error_style);
    e->method = NULL;
    e->err.code = 0;
    e->version = (owl_str){NULL, 0};
}

/* ---- refusals ---- */

/* The id of an answer to a message whose own could not be read: null, as JSON-RPC has it, or none for
 * those revisions whose schema does not know null. */
static owl_str missing_id(const struct owl_inbound *in)
{
    return owl_rev_asked(in->version) >= (int)OWL_REV_2025_11_25 ? OWL_STR("") : (owl_str){NULL, 0};
}

static enum owl_dispatched refuse(struct entry *e, struct owl_buf *out, int *status)
{
    struct owl_server *s = e->in->front->server;
    struct owl_buf data;
    owl_buf_init(&data, 8192);
    if (e->err.code == OWL_EVERSION) {
        owl_buf_putz(&data, "{\"supported\":");
        owl_revs_write(&data, s->revs);
        owl_buf_putz(&data, ",\"requested\":");
        owl_json_quote(&data, owl_utf8_cut(e->version, MAX_VERSION));
        owl_buf_putc(&data, '}');
    }
    char trace_id[OWL_TRACE_ID + 1];
    if (!owl_trace_id_of(e->meta.traceparent, trace_id) && owl_trace_id_new(trace_id) != 0)
        trace_id[0] = '\0';
    struct owl_mcp_failure f = {.error = e->err.code,
                                .message = owl_str_of(e->err.message),
                                .data = data.n && data.rc == 0 ? owl_buf_str(&data)
                                                               : (owl_str){NULL, 0},
                                .trace_id = owl_str_of(trace_id)};
    owl_mcp_write_failure(out, e->codec, e->msg.id.p ? e->msg.id : missing_id(e->in), &f,
                          s->env.server_info);
    owl_buf_done(&data);
    *status = owl_err_info(out->rc == 0 ? e->err.code : OWL_ENOMEM)->http_status;
    if (out->rc != 0)
        out->n = 0; /* rather nothing than half of something */
    OWL_LOG(&s->log, OWL_LEVEL_INFO, "dispatch", "refused: %s trace_id=%s", e->err.message,
            trace_id);
    return OWL_DISPATCH_REFUSED;
}

enum owl_dispatched owl_dispatch__refuse(struct owl_inbound *in, owl_str id, const owl_error *err,
                                         struct owl_buf *out, int *status)
{
    struct entry e;
    entry_init(&e, in);
    e.err = *err;
    e.msg.id = id.n <= in->front->server->limits.id_bytes ? id : (owl_str){NULL, 0};
    return refuse(&e, out, status);
}

/* A text that the scan has refused. What another parser would take has an id that its sender waits
 * for. */
static enum owl_dispatched refuse_text(struct owl_inbound *in, const owl_error *err,
                                       struct owl_buf *out, int *status)
{
    struct owl_id_finder f;
    unsigned depth = (unsigned)in->front->server->limits.depth;
    owl_id_finder_init(&f);
    if (err->code != OWL_EPARSE || owl_json_scan_lenient(in->text, depth, NULL) != -OWL_EPARSE)
        owl_id_finder_feed(&f, in->text);
    return owl_dispatch__refuse(in, owl_id_finder_end(&f), err, out, status);
}

/* ---- one message ---- */

/* The version that the client wants, for a refusal. */
static owl_str version_asked(struct entry *e)
{
    owl_str asked = owl_rpc_param(&e->msg, OWL_STR("protocolVersion")), text;
    if (e->meta.protocol_version.p)
        return e->meta.protocol_version;
    if (owl_str_is(e->msg.method, "initialize") && owl_span_is_string(asked) &&
        owl_json_decode(e->in->arena, asked, &text) == 0)
        return text;
    return e->in->version;
}

static int classify(struct entry *e)
{
    struct owl_inbound *in = e->in;
    struct owl_server *s = in->front->server;
    struct owl_mcp_input input = {
        .http = in->front->http,
        .method = e->msg.method,
        .notification = e->msg.kind == OWL_RPC_NOTIFICATION,
        .meta_version = e->meta.protocol_version,
        .header_version = in->version,
        .header_twice = in->twice,
        .legacy_twice = in->legacy_twice,
        .session = in->session_state,
        .session_rev = in->session ? owl_session_rev(in->session) : 0,
        .revs = s->revs,
    };
    owl_mcp_classify(&input, &e->class);
    if (!e->class.error) {
        e->codec = owl_mcp_codec_of(e->class.rev, s->env.error_style);
        return 0;
    }
    if (e->class.era == OWL_ERA_MODERN)
        e->codec = owl_mcp_codec_of(OWL_REV_2026_07_28, s->env.error_style);
    e->version = version_asked(e);
    return owl_fail(&e->err, e->class.error, "%s", e->class.why);
}

/* What a modern request must carry: its _meta members and, over HTTP, headers that mirror the
 * body. */
static int check_modern(struct entry *e)
{
    struct owl_inbound *in = e->in;
    int rc = owl_mcp_modern_check(&e->meta, &e->err);
    const char *name_key = e->method ? e->method->name_key : NULL;
    struct owl_mcp_mirror mirror = {.header_method = in->method,
                                    .header_name = in->name,
                                    .method = e->msg.method,
                                    .name_key = name_key};
    if (name_key)
        mirror.name = owl_rpc_param(&e->msg, owl_str_of(name_key));
    if (rc == 0 && in->front->http)
        rc = owl_mcp_headers_check(in->arena, &mirror, &e->err);
    bool known = e->method && (e->method->eras & OWL_IN_MODERN); /* otherwise that is the error */
    if (rc == 0 && known && e->meta.log_level.p && owl_level_parse(e->meta.log_level) < 0)
        rc = owl_fail(&e->err, OWL_EPARAMS,
                      "_meta logLevel must be one of debug, info, notice, warning, error, "
                      "critical, alert, emergency");
    return rc;
}

struct cancel {
    struct owl_msg msg;
    struct owl_call_env *env;
    uint64_t scope;
    size_t n; /* 0: all calls of the scope */
    char id[];
};

static void on_cancel(struct owl_reactor *r, struct owl_msg *m)
{
    struct cancel *k = OWL_CONTAINER(m, struct cancel, msg);
    struct owl_call_local *l = owl_call_local(k->env, r);
    if (k->n > 0)
        owl_call_cancel(l, k->scope, (owl_str){k->id, k->n});
    else
        owl_calls_cancel(l, k->scope, true);
    owl_free(k);
}

/* False without memory. */
static bool post_cancel(struct owl_call_env *h, struct owl_reactor *r, uint64_t scope, owl_str id)
{
    struct cancel *k = owl_malloc(sizeof *k + id.n);
    if (!k)
        return false;
    *k = (struct cancel){.msg.run = on_cancel, .env = h, .scope = scope, .n = id.n};
    memcpy(k->id, id.p, id.n);
    if (!owl_post(r, &k->msg))
        owl_free(k); /* stopped: nothing runs there */
    return true;
}

void owl_dispatch_cancel_all(struct owl_server *s, uint64_t scope)
{
    struct owl_call_env *h = &s->env;
    bool all = true;
    for (unsigned i = 0; i < owl_runtime_count(h->runtime); i++)
        all = post_cancel(h, owl_runtime_at(h->runtime, i), scope, OWL_STR("")) && all;
    if (!all)
        OWL_LOG(&s->log, OWL_LEVEL_WARNING, "dispatch",
                "out of memory: calls of a session that has ended run on");
}

/* A call runs where it arrived, which a legacy client's next POST need not: ask every reactor. */
static void cancel(struct entry *e)
{
    struct owl_inbound *in = e->in;
    struct owl_call_env *h = &in->front->server->env;
    owl_str id = owl_rpc_param(&e->msg, OWL_STR("requestId"));
    if (!in->scope || !id.p || id.n > OWL_RPC_ID_BYTES || owl_rpc_id_plain(in->arena, id, &id) != 0)
        return;
    for (unsigned i = 0; i < owl_runtime_count(h->runtime); i++) {
        struct owl_reactor *r = owl_runtime_at(h->runtime, i);
        if (r == in->front->reactor) {
            owl_call_cancel(owl_call_local(h, r), in->scope, id);
            continue;
        }
        if (!post_cancel(h, r, in->scope, id))
            return;
    }
}

/* To the parts that want to hear of it. */
static void pass_on(struct entry *e, bool known)
{
    struct owl_inbound *in = e->in;
    struct owl_session *session = e->class.era == OWL_ERA_LEGACY ? in->session : NULL;
    if (e->class.era == OWL_ERA_LEGACY && (!session || !owl_session_initialized(session)))
        return;
    if (session && owl_str_is(e->msg.method, "notifications/roots/list_changed")) {
        known = true;
        owl_session_roots_changed(session);
    }
    owl_peer_heard(&(struct owl_peer_note){.server = in->front->server,
                                           .reactor = in->front->reactor,
                                           .session = session,
                                           .principal = in->front->principal,
                                           .method = e->msg.method,
                                           .params = e->msg.params},
                   known);
}

static enum owl_dispatched take_notification(struct entry *e)
{
    struct owl_inbound *in = e->in;
    bool legacy = e->class.era == OWL_ERA_LEGACY;
    bool known = true;
    if (legacy && in->session && owl_str_is(e->msg.method, "notifications/initialized"))
        owl_session_set_initialized(in->session);
    /* A modern client cancels over HTTP by closing its stream: ids are only its own there. */
    else if (owl_str_is(e->msg.method, "notifications/cancelled") && (legacy || !in->front->http))
        cancel(e);
    else
        known = false;
    pass_on(e, known);
    return OWL_DISPATCH_ACCEPTED;
}

static int take_response(struct entry *e)
{
    struct owl_inbound *in = e->in;
    owl_str id = e->msg.id;
    e->msg.id = (owl_str){NULL, 0}; /* it is an id of ours: a refusal must not name it */
    if (in->front->http && classify(e) != 0)
        return -e->err.code;
    e->msg.id = id;
    if (!owl_peer_answer(in->front->server, in->front->reactor, in->session, &e->msg) &&
        !owl_ask_answer(&in->front->server->env, in->front->reactor, in->session, &e->msg))
        OWL_LOG(&in->front->server->log, OWL_LEVEL_DEBUG, "dispatch",
                "nobody waits for response %.*s", (int)id.n, id.p ? id.p : "");
    return 0;
}

static int start_call(struct entry *e, struct owl_call **ret)
{
    struct owl_inbound *in = e->in;
    bool legacy = e->class.era == OWL_ERA_LEGACY;
    owl_str who = in->front->principal; /* a task may outlive the front */
    if (who.n && !(who.p = owl_arena_dup(in->arena, who)))
        return owl_fail(&e->err, OWL_ENOMEM, NULL);
    struct owl_call_init init = {
        .env = &in->front->server->env,
        .reactor = in->front->reactor,
        .arena = in->arena,
        .sink = &in->front->sink,
        .msg = &e->msg,
        .meta = &e->meta,
        .rev = e->class.rev,
        .session = legacy ? in->session : NULL,
        .principal = who,
        .client = in->front->client,
        .method = e->method,
        /* A modern client cancels over HTTP by closing its stream. */
        .scope = legacy || !in->front->http ? in->scope : 0,
    };
    struct owl_call *c = owl_call_new(&init);
    if (!c)
        return owl_fail(&e->err, OWL_ENOMEM, NULL);
    in->arena = NULL;
    *ret = c;
    return 0;
}

/* Everything before the call exists. 0 and *ret_call, 0 without a call (nothing to answer), or the
 * error in e->err. */
static int admit(struct entry *e, owl_str proved, const struct owl_tape *tape,
                 struct owl_call **ret_call)
{
    struct owl_inbound *in = e->in;
    struct owl_server *s = in->front->server;
    int rc = owl_rpc_read(in->arena, proved, tape, &e->msg, &e->err);
    if (rc == 0 && e->msg.id.n > s->limits.id_bytes) {
        e->msg.id = (owl_str){NULL, 0}; /* nor does the answer repeat it */
        rc = owl_fail(&e->err, OWL_EREQUEST, "\"id\" is longer than %zu bytes", s->limits.id_bytes);
    }
    if (rc != 0)
        return rc;
    if (e->msg.kind == OWL_RPC_RESULT || e->msg.kind == OWL_RPC_ERROR)
        return take_response(e);
    if (in->in_batch && e->msg.kind == OWL_RPC_REQUEST && owl_str_is(e->msg.method, "initialize"))
        return owl_fail(&e->err, OWL_EREQUEST, "initialize must not be part of a batch");
    rc = owl_mcp_meta_read(in->arena, owl_rpc_param(&e->msg, OWL_STR("_meta")), tape, &e->meta,
                           &e->err);
    if (rc == 0)
        rc = classify(e);
    if (rc != 0)
        return rc;
    if (e->msg.kind == OWL_RPC_NOTIFICATION) {
        take_notification(e);
        return 0;
    }
    if (owl_server_local(s, in->front->reactor)->draining)
        return owl_fail(&e->err, OWL_ECLOSED, NULL);
    if (in->busy)
        return owl_fail(&e->err, OWL_EBUSY,
                        "too many requests of this client wait for answers; try again later");
    if (in->in_batch && e->class.era == OWL_ERA_MODERN)
        return owl_fail(&e->err, OWL_EREQUEST, "%s has no batches: send one message at a time",
                        owl_rev_name(e->class.rev));
    if (owl_span_is_array(e->msg.params)) /* JSON-RPC has those, MCP has not */
        return owl_fail(&e->err, OWL_EPARAMS, "\"params\" must be an object, not an array");
    e->method = owl_map_get(&s->methods, e->msg.method);
    if (e->class.era == OWL_ERA_MODERN && (rc = check_modern(e)) != 0)
        return rc;
    return start_call(e, ret_call);
}

enum owl_dispatched owl_dispatch__one(struct owl_inbound *in, owl_str proved,
                                      const struct owl_tape *tape, struct owl_call **ret_call,
                                      struct owl_buf *out, int *status)
{
    struct entry e;
    entry_init(&e, in);
    struct owl_call *c = NULL;
    if (admit(&e, proved, tape, &c) != 0) {
        /* A notification gets no answer, not even a refusal; a POST of its own gets a status. */
        bool unheard = e.msg.kind == OWL_RPC_NOTIFICATION && e.msg.method.p &&
                       (!in->front->http || in->in_batch);
        return unheard ? OWL_DISPATCH_ACCEPTED : refuse(&e, out, status);
    }
    if (!c)
        return OWL_DISPATCH_ACCEPTED;
    if (ret_call)
        *ret_call = c;
    owl_call_run(c);
    return OWL_DISPATCH_CALL;
}

/* ---- batches ---- */

/* Over HTTP only a session has them; elsewhere they may come before one. */
static bool allows_batches(const struct owl_inbound *in)
{
    if (in->session)
        return OWL_REV_BIT(owl_session_rev(in->session)) & BATCHES;
    return !in->front->http && (in->front->server->revs & BATCHES);
}

static int check_batch(struct entry *e, owl_str array)
{
    const struct owl_inbound *in = e->in;
    if (in->front->http && (in->session_state != OWL_SESSION_NONE || in->version.p) &&
        classify(e) != 0)
        return -e->err.code;
    if (!allows_batches(in))
        return owl_fail(
            &e->err, OWL_EREQUEST,
            "batches are not part of this protocol revision: send one message at a time");
    size_t n = owl_span_count(array), most = in->front->server->limits.batch;
    if (n > 0 && n <= most)
        return 0;
    if (n == 0)
        return owl_fail(&e->err, OWL_EREQUEST, "an empty batch");
    return owl_fail(&e->err, OWL_EREQUEST, "a batch of more than %zu messages", most);
}

enum owl_dispatched owl_dispatch(struct owl_inbound *in, struct owl_call **ret_call,
                                 struct owl_buf *out, int *status)
{
    struct owl_tape tape;
    owl_error err;
    owl_buf_reset(out);
    if (owl_json_scan_tape(in->text, (unsigned)in->front->server->limits.depth, &tape, &err) != 0)
        return refuse_text(in, &err, out, status);
    if (!owl_span_is_array(owl_span_begin(in->text)))
        return owl_dispatch__one(in, in->text, &tape, ret_call, out, status);
    struct entry e;
    entry_init(&e, in);
    if (check_batch(&e, in->text) != 0)
        return refuse(&e, out, status);
    return owl_dispatch__batch(in, in->text, out, status);
}

/* server/http.c - the HTTP front: /mcp for every revision.
 *
 * Threads: the reactor of the connection. POST: one message, answered as JSON, or as an event
 * stream as soon as a notification comes before the answer. GET: the stream of a legacy session.
 * DELETE: its end. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/err.h"
#include "codec/scan.h"
#include "mcp/headers.h"
#include "server/server.h"

/* What hangs on a request until it is answered; the first member says how to let go. */
struct hook {
    void (*gone)(struct hook *h);
};

/* A POST whose call runs. Lives in the call's arena. */
struct exchange {
    struct hook hook;
    struct owl_front front;
    struct owl_http_req *req; /* NULL once answered or gone */
    struct owl_call *call;
    struct owl_session *opened; /* made by this `initialize`: counted until the answer */
    bool streaming;
    bool only_stream; /* the client accepts no JSON */
};

/* ---- the headers that matter ---- */

struct heads {
    owl_str host, origin, accept, type, session, version, method, name;
};

/* Where the value of a header goes, or NULL. Lengths tell nearly all of them apart. */
static owl_str *slot(struct heads *h, owl_str name)
{
    static const owl_str origin = {"origin", 6};
    owl_str wanted;
    owl_str *at;
    switch (name.n) {
    case 4: wanted = OWL_STR("host"), at = &h->host; break;
    case 6:
        if (owl_str_ieq(name, origin))
            return &h->origin;
        wanted = OWL_STR("accept"), at = &h->accept;
        break;
    case 8: wanted = OWL_STR("mcp-name"), at = &h->name; break;
    case 10: wanted = OWL_STR("mcp-method"), at = &h->method; break;
    case 12: wanted = OWL_STR("content-type"), at = &h->type; break;
    case 14: wanted = OWL_STR("mcp-session-id"), at = &h->session; break;
    case 20: wanted = OWL_STR("mcp-protocol-version"), at = &h->version; break;
    default: return NULL;
    }
    return owl_str_ieq(name, wanted) ? at : NULL;
}

/* Of a header that is repeated the first counts. */
static void read_heads(const struct owl_http_view *v, struct heads *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < v->n_headers; i++) {
        owl_str *at = slot(ret, v->headers[i].name);
        if (at && !at->p)
            *at = v->headers[i].value;
    }
}

/* ---- small answers ---- */

static void reply_status(struct owl_http_req *req, int status, owl_str headers)
{
    struct owl_http_reply r = {.status = status, .headers = headers};
    owl_http_reply(req, &r);
}

static void reply_json(struct owl_http_req *req, int status, owl_str body)
{
    struct owl_http_reply r = {.status = status, .content_type = "application/json", .body = body};
    owl_http_reply(req, &r);
}

/* An HTTP error with a JSON-RPC error without id as its body. */
static void reply_error(struct owl_server *s, struct owl_http_req *req, int status,
                        const char *text)
{
    struct owl_buf *b = &owl_host_local(&s->host, owl_http_reactor(req))->out;
    owl_buf_reset(b);
    owl_rpc_error(b, (owl_str){NULL, 0}, -32600, owl_str_of(text), (owl_str){NULL, 0});
    OWL_LOG(&s->log, OWL_LEVEL_INFO, "http", "%d: %s", status, text);
    reply_json(req, status, owl_buf_str(b));
}

/* ---- POST: the exchange as a sink ---- */

static void put_event(struct owl_buf *b, owl_str message)
{
    owl_buf_puts(b, OWL_STR("data: "));
    owl_buf_puts(b, message);
    owl_buf_puts(b, OWL_STR("\n\n"));
}

static int write_event(struct owl_http_req *req, owl_str message)
{
    struct owl_buf b;
    owl_buf_init(&b, message.n + 64);
    put_event(&b, message);
    int rc = b.rc ? b.rc : owl_http_stream_write(req, owl_buf_str(&b));
    owl_buf_done(&b);
    return rc;
}

static int exchange_send(struct owl_sink *sink, struct owl_call *c, owl_str message)
{
    struct exchange *x = OWL_CONTAINER(sink, struct exchange, front.sink);
    (void)c;
    if (!x->req)
        return -OWL_ECLOSED;
    if (!x->front.can_send)
        return -OWL_ESTATE;
    if (!x->streaming)
        owl_http_stream_begin(x->req, OWL_STR(""));
    x->streaming = true;
    int rc = write_event(x->req, message);
    return rc == -OWL_ELIMIT ? 0 : rc; /* a reader that is too slow is dropped: `gone` follows */
}

/* The header that names the session which this `initialize` has made, or nothing. */
static owl_str session_header(const struct exchange *x, char *buf, size_t size)
{
    if (!x->opened)
        return OWL_STR("");
    owl_str id = owl_session_id(x->opened);
    int n = snprintf(buf, size, "Mcp-Session-Id: %.*s\r\n", (int)id.n, id.p);
    return (owl_str){buf, (size_t)n};
}

static void exchange_respond(struct owl_sink *sink, struct owl_call *c, owl_str message, int status)
{
    char header[128];
    struct exchange *x = OWL_CONTAINER(sink, struct exchange, front.sink);
    struct owl_http_req *req = x->req;
    (void)c;
    x->req = NULL;
    x->call = NULL;
    if (req && x->only_stream && !x->streaming && message.n && status == 200) {
        owl_http_stream_begin(req, session_header(x, header, sizeof header));
        x->streaming = true;
    }
    if (req && x->streaming) {
        if (message.n)
            OWL_IGNORE(write_event(req, message)); /* as above */
        owl_http_stream_end(req);
    } else if (req && !message.n) {
        reply_status(req, status, OWL_STR(""));
    } else if (req) {
        struct owl_http_reply r = {status, "application/json",
                                   session_header(x, header, sizeof header), message};
        owl_http_reply(req, &r);
    }
    owl_session_aunref(x->opened);
    x->opened = NULL;
}

static const struct owl_sink_ops exchange_ops = {.send = exchange_send,
                                                 .respond = exchange_respond};

static void exchange_adopt(struct owl_front *f, struct owl_session *s)
{
    struct exchange *x = OWL_CONTAINER(f, struct exchange, front);
    x->opened = owl_session_aref(s);
}

static owl_str exchange_param(struct owl_front *f, owl_str name)
{
    static const owl_str prefix = {"mcp-param-", 10};
    struct exchange *x = OWL_CONTAINER(f, struct exchange, front);
    const struct owl_http_view *v = owl_http_view(x->req);
    for (size_t i = 0; i < v->n_headers; i++) {
        owl_str head = v->headers[i].name;
        if (head.n != prefix.n + name.n || !owl_str_ieq((owl_str){head.p, prefix.n}, prefix))
            continue;
        if (owl_str_ieq((owl_str){head.p + prefix.n, name.n}, name))
            return v->headers[i].value;
    }
    return (owl_str){NULL, 0};
}

/* The client has hung up. A modern one has cancelled by that; a legacy one has not. */
static void exchange_gone(struct hook *h)
{
    struct exchange *x = OWL_CONTAINER(h, struct exchange, hook);
    struct owl_call *c = x->call;
    x->req = NULL; /* Nor can a question be answered whose stream has gone. */
    if (c && (c->codec->era == OWL_ERA_MODERN || c->n_asked))
        /* just completed: its answer is dropped */
        OWL_IGNORE(owl_call_end(c, OWL_ECANCELLED, false));
}

/* ---- POST ---- */

/* Whether a media range, without parameters, covers @p type: it, its group or anything. */
static bool covers(owl_str range, owl_str type)
{
    size_t group = (size_t)((const char *)memchr(type.p, '/', type.n) - type.p) + 1;
    if (range.n == group + 1 && range.p[group] == '*')
        return owl_str_ieq((owl_str){range.p, group}, (owl_str){type.p, group});
    return owl_str_ieq(range, type) || owl_str_is(range, "*/*");
}

struct accepted {
    bool json, stream;
};

/* No Accept at all accepts everything. */
static struct accepted read_accept(owl_str accept)
{
    struct accepted a = {false, false};
    owl_str part, range;
    /* What nearly everybody sends, or nothing. */
    if (!accept.p || owl_str_is(accept, "application/json, text/event-stream"))
        return (struct accepted){true, true};
    while (owl_str_split(&accept, ',', &part)) {
        if (!owl_str_split(&part, ';', &range))
            continue;
        range = owl_str_trim(range);
        a.json = a.json || covers(range, OWL_STR("application/json"));
        a.stream = a.stream || covers(range, OWL_STR("text/event-stream"));
    }
    return a;
}

static bool is_json(owl_str type)
{
    owl_str part;
    return owl_str_split(&type, ';', &part) &&
           owl_str_ieq(owl_str_trim(part), OWL_STR("application/json"));
}

/* The session that the request names: counted in in->session. */
static void find_session(struct owl_server *s, owl_str id, struct owl_inbound *in)
{
    in->session = id.p ? owl_sessions_find(s->sessions, id) : NULL;
    in->session_state = in->session ? OWL_SESSION_KNOWN
                        : id.p      ? OWL_SESSION_UNKNOWN
                                    : OWL_SESSION_NONE;
}

static void on_post(struct owl_server *s, struct owl_http_req *req, const struct heads *h)
{
    struct accepted accept = read_accept(h->accept);
    if (!is_json(h->type)) {
        reply_error(s, req, 415, "Content-Type must be application/json");
        return;
    }
    if (!accept.json && !accept.stream) {
        reply_error(s, req, 406, "Accept must allow application/json or text/event-stream");
        return;
    }
    struct owl_inbound in = {.text = owl_http_view(req)->body,
                             .version = h->version,
                             .method = h->method,
                             .name = h->name};
    in.arena = owl_http_take_arena(req);
    struct exchange *x = owl_arena_zalloc(in.arena, sizeof *x);
    if (!x) {
        reply_error(s, req, 503, "out of memory; try again later");
        owl_arena_free(in.arena);
        return;
    }
    x->hook.gone = exchange_gone;
    x->front = (struct owl_front){.sink.ops = &exchange_ops,
                                  .server = s,
                                  .reactor = owl_http_reactor(req),
                                  .adopt = exchange_adopt,
                                  .param = exchange_param,
                                  .http = true,
                                  .can_send = accept.stream};
    x->req = req;
    x->only_stream = !accept.json;
    in.front = &x->front;
    owl_http_set_user(req, x);
    find_session(s, h->session, &in);
    in.scope = in.session ? owl_session_serial(in.session) : 0;
    in.allow_batch = in.session && owl_session_rev(in.session) <= OWL_REV_2025_03_26;
    struct owl_buf *out = &owl_host_local(&s->host, owl_http_reactor(req))->out;
    int status = 400;
    /* If a call took the arena, it may be over when this returns, and the exchange with it. */
    enum owl_dispatched d = owl_dispatch(&in, &x->call, out, &status);
    if (d == OWL_DISPATCH_REFUSED)
        reply_json(req, status, owl_buf_str(out));
    else if (d == OWL_DISPATCH_ACCEPTED)
        reply_status(req, 202, OWL_STR(""));
    owl_arena_free(in.arena);
    owl_session_aunref(in.session);
}

/* ---- GET: the stream of a legacy session ---- */

struct stream {
    struct hook hook;
    struct owl_sub sub;
    struct owl_http_req *req;
};

static void stream_free(struct stream *st)
{
    owl_subs_remove(&st->sub);
    owl_session_release(st->sub.session);
    owl_session_aunref(st->sub.session);
    owl_free(st);
}

static void stream_gone(struct hook *h)
{
    stream_free(OWL_CONTAINER(h, struct stream, hook));
}

static void stream_send(struct owl_sub *sub, owl_str message)
{
    struct stream *st = OWL_CONTAINER(sub, struct stream, sub);
    /* a reader that is too slow is dropped: `gone` follows */
    OWL_IGNORE(write_event(st->req, message));
}

static void stream_end(struct owl_sub *sub)
{
    struct stream *st = OWL_CONTAINER(sub, struct stream, sub);
    owl_http_stream_end(st->req);
    stream_free(st);
}

/* The session that GET and DELETE are about, counted; or an error reply. */
static struct owl_session *require_session(struct owl_server *s, struct owl_http_req *req,
                                           owl_str id)
{
    struct owl_inbound in = {.session = NULL};
    find_session(s, id, &in);
    if (in.session_state == OWL_SESSION_NONE)
        reply_error(s, req, 400, "Mcp-Session-Id is missing: GET and DELETE belong to a session");
    else if (in.session_state == OWL_SESSION_UNKNOWN)
        reply_error(s, req, 404, "session not found: initialize again");
    return in.session;
}

static void on_get(struct owl_server *s, struct owl_http_req *req, const struct heads *h)
{
    if (!h->accept.p || !read_accept(h->accept).stream) {
        reply_error(s, req, 406, "GET opens an event stream: Accept must be text/event-stream");
        return;
    }
    struct owl_session *session = require_session(s, req, h->session);
    if (!session)
        return;
    struct stream *st = owl_calloc(1, sizeof *st);
    if (!st) {
        owl_session_aunref(session);
        reply_error(s, req, 503, "out of memory; try again later");
        return;
    }
    st->hook.gone = stream_gone;
    st->req = req;
    st->sub.session = session;
    st->sub.send = stream_send;
    st->sub.end = stream_end;
    st->sub.stream = owl_session_open_stream(session);
    bool replaces = owl_session_held(session);
    owl_session_hold(session);
    owl_http_set_user(req, st);
    owl_subs_add(s, owl_http_reactor(req), &st->sub);
    owl_http_stream_begin(req, OWL_STR(""));
    OWL_IGNORE(owl_http_stream_write(req, OWL_STR(":\n\n"))); /* headers go out now */
    if (replaces)
        owl_subs_prune(s); /* the stream that was there ends */
}

static void on_delete(struct owl_server *s, struct owl_http_req *req, const struct heads *h)
{
    struct owl_session *session = require_session(s, req, h->session);
    if (!session)
        return;
    OWL_IGNORE(owl_sessions_end(s->sessions, owl_session_id(session))); /* ended twice is ended */
    if (owl_session_held(session))
        owl_subs_prune(s);
    owl_session_aunref(session);
    reply_status(req, 200, OWL_STR(""));
}

/* ---- routing ---- */

#define ALLOW "Allow: GET, POST, DELETE, OPTIONS\r\n"

static void route(struct owl_server *s, struct owl_http_req *req, const struct heads *h)
{
    switch (owl_http_view(req)->method) {
    case OWL_HTTP_POST: on_post(s, req, h); break;
    case OWL_HTTP_GET: on_get(s, req, h); break;
    case OWL_HTTP_DELETE: on_delete(s, req, h); break;
    case OWL_HTTP_OPTIONS: reply_status(req, 204, OWL_STR(ALLOW)); break;
    case OWL_HTTP_HEAD:
    case OWL_HTTP_OTHER: reply_status(req, 405, OWL_STR(ALLOW)); break;
    }
}

static bool host_allowed(struct owl_server *s, struct owl_server_local *l, owl_str host)
{
    if (host.p && host.n > 0 && owl_str_eq(host, (owl_str){l->host, l->host_n}))
        return true;
    if (!host.p || !owl_mcp_host_allowed(host, owl_str_of(s->allow_hosts)))
        return false;
    l->host_n = host.n <= sizeof l->host ? host.n : 0;
    memcpy(l->host, host.p, l->host_n);
    return true;
}

static void on_request(void *user, struct owl_http_req *req)
{
    struct owl_server *s = user;
    const struct owl_http_view *v = owl_http_view(req);
    struct owl_server_local *l = owl_server_local(s, owl_http_reactor(req));
    struct heads h;
    read_heads(v, &h);
    if (!host_allowed(s, l, h.host))
        reply_error(s, req, 403, "this Host is not served here (DNS rebinding protection)");
    else if (!owl_mcp_origin_allowed(h.origin, owl_str_of(s->allow_hosts)))
        reply_error(s, req, 403, "requests from this Origin are not allowed");
    else if (!owl_str_is(v->path, "/mcp"))
        reply_error(s, req, 404, "not found: the MCP endpoint is /mcp");
    else if (v->method != OWL_HTTP_POST && l->draining)
        reply_error(s, req, 503, "the server is stopping; try again");
    else
        route(s, req, &h);
}

static void on_gone(void *user, struct owl_http_req *req)
{
    (void)user;
    struct hook *h = owl_http_user(req);
    if (h)
        h->gone(h);
}

const struct owl_http_ops owl_http_front_ops = {.request = on_request, .gone = on_gone};

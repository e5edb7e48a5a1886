/* server/front_post.c - POST: one message or batch, answered as JSON, or as an event stream as soon as
 * something comes before the answer.
 *
 * Threads: the reactor of the connection, on which the call runs too. The stream of a session is
 * written through a log (replay.h), and the connection is only its first reader; every other stream
 * is written directly. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/err.h"
#include "server/front.h"

/* A POST whose call runs. Lives in the call's arena. */
struct exchange {
    struct owl_hook hook;
    struct owl_front front;
    struct owl_http_req *req;    /* NULL once answered, gone, or handed to the reader of the log */
    struct owl_call *call;       /* NULL for a batch, and once it is answered */
    struct owl_session *session; /* that the request names; the calls of a batch count it */
    struct owl_session *opened;  /* made by this `initialize`: counted until the answer */
    struct owl_replay *log;      /* of the stream of a session */
    bool streaming;
    bool only_stream; /* the client accepts no JSON, or rather has what it can come back for */
};

/* ---- the stream ---- */

/* The client cannot come back, or has ended its session: a question that it was asked will never be
 * answered, and nobody waits for a task any more. What runs goes on, and answers who still reads. */
static void on_forgotten(void *user)
{
    struct exchange *x = user;
    struct owl_call *c = x->call;
    if (!c)
        owl_dispatch_leave(&x->front);
    else if (c->n_asked || c->visit)
        /* just completed: its answer is dropped */
        OWL_IGNORE(owl_call_end(c, OWL_ECANCELLED, false));
}

/* From now on the stream, which has begun, is written through a log, where the end of the session
 * finds it. Without memory it goes on as it is, and cannot be resumed. */
static void open_log(struct exchange *x, struct owl_session *session)
{
    struct owl_server *s = x->front.server;
    struct owl_replay_init init = {
        .reactor = x->front.reactor, .forgotten = on_forgotten, .user = x};
    struct owl_replay *log = owl_front__log(s, session, &init);
    if (!log)
        return;
    if (!owl_front__read(s, x->req, session, log)) {
        owl_replay_finish(log);
        return;
    }
    x->log = log;
    x->req = NULL;
    if (owl_session_rev(session) >= OWL_REV_2025_11_25)
        OWL_IGNORE(owl_replay_prime(log)); /* without memory the client waits for a real event */
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

static void begin(struct exchange *x)
{
    char header[128];
    struct owl_session *session = x->call ? x->call->req.session : x->session;
    owl_http_stream_begin(x->req, session_header(x, header, sizeof header));
    x->streaming = true;
    if (session)
        open_log(x, session);
}

/* ---- as a sink ---- */

static int exchange_send(struct owl_sink *sink, struct owl_call *c, owl_str message)
{
    struct exchange *x = OWL_CONTAINER(sink, struct exchange, front.sink);
    (void)c;
    if (!x->req && !x->log)
        return -OWL_ECLOSED;
    if (!x->front.can_send)
        return -OWL_ESTATE;
    if (!x->streaming)
        begin(x);
    if (x->log)
        return owl_replay_append(x->log, message);
    int rc = owl_front__write_event(x->req, NULL, message);
    return rc == -OWL_ELIMIT ? 0 : rc; /* a reader that is too slow is dropped: `gone` follows */
}

/* Only who was told an event id and a time comes back by itself. */
static void exchange_release(struct owl_sink *sink, struct owl_call *c)
{
    struct exchange *x = OWL_CONTAINER(sink, struct exchange, front.sink);
    if (!x->front.can_send || !c->req.session ||
        owl_session_rev(c->req.session) < OWL_REV_2025_11_25)
        return;
    if (x->req && !x->streaming)
        begin(x);
    if (x->log)
        owl_replay_release(x->log);
}

/* The answer as the last event of a stream. */
static void end_stream(struct exchange *x, struct owl_http_req *req, owl_str message)
{
    if (x->log) {
        if (message.n)
            OWL_IGNORE(owl_replay_append(x->log, message)); /* nobody will come for it: fine */
        owl_replay_finish(x->log);
        x->log = NULL;
    } else if (req) {
        if (message.n)
            OWL_IGNORE(owl_front__write_event(req, NULL, message)); /* as above */
        owl_http_stream_end(req);
    }
}

static void exchange_respond(struct owl_sink *sink, struct owl_call *c, owl_str message, int status)
{
    char header[128];
    struct exchange *x = OWL_CONTAINER(sink, struct exchange, front.sink);
    (void)c;
    if (x->req && x->only_stream && !x->streaming && message.n && status == 200)
        begin(x);
    struct owl_http_req *req = x->req;
    x->req = NULL;
    x->call = NULL;
    if (x->streaming) {
        end_stream(x, req, message);
    } else if (req && !message.n && status == 200) {
        /* A request that was cancelled has no answer, and 202 is for what never has one. */
        owl_http_stream_begin(req, OWL_STR(""));
        owl_http_stream_end(req);
    } else if (req && !message.n) {
        owl_front__reply_status(req, status, OWL_STR(""));
    } else if (req) {
        struct owl_http_reply r = {status, "application/json",
                                   session_header(x, header, sizeof header), message};
        owl_http_reply(req, &r);
    }
    owl_session_aunref(x->opened);
    x->opened = NULL;
}

static const struct owl_sink_ops exchange_ops = {
    .send = exchange_send, .respond = exchange_respond, .release = exchange_release};

static void exchange_adopt(struct owl_front *f, struct owl_session *s)
{
    struct exchange *x = OWL_CONTAINER(f, struct exchange, front);
    x->opened = owl_session_aref(s);
}

static owl_str exchange_param(struct owl_front *f, owl_str name, bool *ret_twice)
{
    static const owl_str prefix = {"mcp-param-", 10};
    struct exchange *x = OWL_CONTAINER(f, struct exchange, front);
    const struct owl_http_view *v = owl_http_view(x->req);
    owl_str value = {NULL, 0};
    *ret_twice = false;
    for (size_t i = 0; i < v->n_headers; i++) {
        owl_str head = v->headers[i].name;
        if (head.n != prefix.n + name.n || !owl_str_ieq((owl_str){head.p, prefix.n}, prefix))
            continue;
        if (!owl_str_ieq((owl_str){head.p + prefix.n, name.n}, name))
            continue;
        *ret_twice = *ret_twice || (value.p && !owl_str_eq(value, v->headers[i].value));
        value = v->headers[i].value;
    }
    return value;
}

/* ---- as a request that waits ---- */

/* The client has hung up, and was given nothing to come back with. A modern one has cancelled by
 * that; a legacy one has not. */
static void exchange_gone(struct owl_hook *h)
{
    struct exchange *x = OWL_CONTAINER(h, struct exchange, hook);
    struct owl_call *c = x->call;
    x->req = NULL; /* Nor can a question be answered whose stream has gone, nor be waited for. */
    if (!c)
        owl_dispatch_leave(&x->front);
    else if (c->req.codec->era == OWL_ERA_MODERN || c->n_asked || c->visit)
        /* just completed: its answer is dropped */
        OWL_IGNORE(owl_call_end(c, OWL_ECANCELLED, false));
}

/* Proxies give up on silence: a stream shows life. */
static void exchange_waiting(struct owl_hook *h)
{
    struct exchange *x = OWL_CONTAINER(h, struct exchange, hook);
    if (!x->req || x->streaming || !x->front.can_send)
        return;
    begin(x);
    if (x->req)
        OWL_IGNORE(owl_http_stream_write(x->req, OWL_STR(":\n\n"))); /* as above */
}

/* ---- POST ---- */

bool owl_front__post_head(void *data, const struct owl_route_req *r)
{
    (void)data;
    if (!owl_front__require_json(r))
        return false;
    if (r->heads->accept.json || r->heads->accept.stream)
        return true;
    owl_front__reply_error(r->server, r->http, 406, OWL_STR(""),
                           "Accept must allow application/json or text/event-stream");
    return false;
}

void owl_front__post(void *data, const struct owl_route_req *r)
{
    (void)data;
    struct owl_server *s = r->server;
    struct owl_http_req *req = r->http;
    const struct owl_heads *h = r->heads;
    struct owl_accepted accept = h->accept;
    owl_str who = r->principal;
    struct owl_inbound in = {.text = owl_http_view(req)->body,
                             .version = h->version,
                             .twice = h->twice,
                             .legacy_twice = h->legacy_twice,
                             .method = h->method,
                             .name = h->name};
    in.arena = owl_http_take_arena(req);
    struct exchange *x = owl_arena_zalloc(in.arena, sizeof *x);
    if (!x || (who.n && !(who.p = owl_arena_dup(in.arena, who)))) {
        owl_front__refuse(s, req, OWL_ENOMEM, "out of memory; try again later");
        owl_arena_free(in.arena);
        return;
    }
    x->hook = (struct owl_hook){exchange_gone, exchange_waiting};
    x->front = (struct owl_front){.sink.ops = &exchange_ops,
                                  .server = s,
                                  .reactor = owl_http_reactor(req),
                                  .principal = who,
                                  .adopt = exchange_adopt,
                                  .param = exchange_param,
                                  .http = true,
                                  .can_send = accept.stream};
    x->req = req;
    in.front = &x->front;
    owl_http_set_user(req, x);
    owl_front__find_session(r, &in);
    x->session = in.session;
    bool resumable = in.session && owl_session_rev(in.session) >= OWL_REV_2025_03_26;
    x->only_stream = !accept.json || (accept.stream_first && accept.stream && resumable);
    in.scope = in.session ? owl_session_serial(in.session) : 0;
    x->front.client = owl_http_peer_number(req);
    if (!x->front.client)
        x->front.client = owl_front__lane(who, in.scope);
    struct owl_buf *out = &owl_call_local(&s->env, owl_http_reactor(req))->out;
    int status = 0;
    /* If a call took the arena, it may be over when this returns, and the exchange with it. */
    enum owl_dispatched d = owl_dispatch(&in, &x->call, out, &status);
    if (d == OWL_DISPATCH_REFUSED)
        owl_front__reply_json(req, status, owl_buf_str(out));
    else if (d == OWL_DISPATCH_ACCEPTED)
        owl_front__reply_status(req, 202, OWL_STR(""));
    owl_arena_free(in.arena);
    owl_session_aunref(in.session);
}

/* server/front_sse.c - the old HTTP+SSE front: a stream of events down, a POST for each message up.
 *
 * A peer is an open stream and everything that its client has made: its session, its subscription,
 * its calls. It lives on the reactor of the stream and is known there by its id, "<reactor>-<32
 * hex>". A POST may arrive on another reactor: its message makes a trip to the peer and comes back
 * with the status, and only then is the POST answered. So a client that waits for its answers has
 * its messages dispatched in their order, and no more of them wait than it has connections.
 *
 * Threads: a peer on its reactor; a letter where it is, its request only on its own reactor.
 * Invariant: a peer is freed when its stream has ended and nothing is left that answers through
 * it. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "codec/scan.h"
#include "server/front.h"

enum {
    RANDOM_BYTES = 16,
    ID_BYTES = 10 + 1 + 2 * RANDOM_BYTES + 1,
    MAX_BUSY = 256 /* requests and batches of a peer: no connection of its own bounds them */
};

struct peer {
    struct owl_hook hook; /* of the request that opened the stream */
    struct owl_front front;
    struct owl_http_req *req;    /* NULL once the stream has ended */
    struct owl_session *session; /* after initialize; counted */
    struct owl_sub sub;          /* hears of changes once there is a session */
    struct owl_list node;        /* among the peers of the reactor */
    uint64_t scope;
    size_t busy;  /* who still uses it: calls and batches to be answered, the functions below */
    bool leaving; /* the server stops: the stream ends with the last answer */
    char id[ID_BYTES];
    char principal[]; /* of front */
};

/* ---- the end of a peer ---- */

/* Neither a message nor news find it any more. */
static void peer_hide(struct peer *p)
{
    OWL_IGNORE(owl_map_del(&owl_server_local(p->front.server, p->front.reactor)->sse_ids,
                           owl_str_of(p->id))); /* or it was hidden before */
    owl_subs_remove(&p->sub);
}

/* Whoever was busy with the peer has done. */
static void peer_release(struct peer *p)
{
    if (--p->busy)
        return;
    struct owl_http_req *req = p->req;
    if (req && !p->leaving)
        return;
    struct owl_server *s = p->front.server;
    p->req = NULL;
    owl_list_del(&p->node);
    peer_hide(p);
    if (p->session)
        owl_session_end(p->session);
    owl_session_aunref(p->session);
    owl_places_give(&s->streams);
    owl_free(p);
    if (req)
        owl_http_stream_end(req);
}

/* The transport is the session: what the client has asked for is not wanted any more. */
static void peer_gone(struct owl_hook *h)
{
    struct peer *p = OWL_CONTAINER(h, struct peer, hook);
    p->req = NULL;
    p->busy++;
    peer_hide(p);
    if (p->session)
        owl_session_end(p->session);
    owl_calls_cancel(owl_call_local(&p->front.server->env, p->front.reactor), p->scope, false);
    peer_release(p);
}

void owl_sse_leave(struct owl_server *s, struct owl_reactor *r)
{
    OWL_LIST_EACH (&owl_server_local(s, r)->sse_peers, it) {
        struct peer *p = OWL_CONTAINER(it, struct peer, node);
        p->busy++;
        p->leaving = true;
        peer_release(p);
    }
}

/* ---- as a sink ---- */

static int write_event(struct peer *p, const char *name, owl_str data)
{
    return p->req ? owl_front__write_event(p->req, name, data) : -OWL_ECLOSED;
}

static int peer_send(struct owl_sink *sink, struct owl_call *c, owl_str message)
{
    (void)c;
    int rc = write_event(OWL_CONTAINER(sink, struct peer, front.sink), "message", message);
    return rc == -OWL_ELIMIT ? 0 : rc; /* a reader that is too slow is dropped: `gone` follows */
}

/* An answer that was lost would be waited for in vain: without memory for it the stream ends. */
static void peer_answer(struct peer *p, owl_str message)
{
    if (!message.n || write_event(p, "message", message) == -OWL_ENOMEM)
        p->leaving = true;
}

static void peer_respond(struct owl_sink *sink, struct owl_call *c, owl_str message, int status)
{
    struct peer *p = OWL_CONTAINER(sink, struct peer, front.sink);
    (void)c;
    if (message.n || status >= 400) /* otherwise there is none: it was cancelled */
        peer_answer(p, message);
    peer_release(p);
}

static void peer_hold(struct owl_front *f)
{
    OWL_CONTAINER(f, struct peer, front)->busy++;
}

static void peer_let_go(struct owl_front *f)
{
    peer_release(OWL_CONTAINER(f, struct peer, front));
}

static const struct owl_sink_ops peer_ops = {.send = peer_send, .respond = peer_respond};

/* ---- the legacy session ---- */

static void sub_send(struct owl_sub *sub, owl_str message)
{
    struct peer *p = OWL_CONTAINER(sub, struct peer, sub);
    OWL_IGNORE(peer_send(&p->front.sink, NULL, message)); /* not told: it has gone */
}

static void sub_end(struct owl_sub *sub)
{
    owl_subs_remove(sub); /* the stream itself ends in owl_sse_leave() */
}

static void peer_adopt(struct owl_front *f, struct owl_session *s)
{
    struct peer *p = OWL_CONTAINER(f, struct peer, front);
    p->session = owl_session_aref(s); /* the first and last: initialize is refused afterwards */
    p->sub.session = s;
    p->sub.send = sub_send;
    p->sub.end = sub_end;
    owl_subs_add(f->server, f->reactor, &p->sub);
}

/* ---- GET /mcp/sse ---- */

static struct peer *peer_new(struct owl_server *s, struct owl_http_req *req, owl_str who)
{
    static _Atomic uint64_t scopes;
    struct peer *p = owl_calloc(1, sizeof *p + who.n);
    if (!p)
        return NULL;
    memcpy(p->principal, who.n ? who.p : "", who.n);
    struct owl_reactor *r = owl_http_reactor(req);
    struct owl_server_local *l = owl_server_local(s, r);
    int n = snprintf(p->id, sizeof p->id, "%u-", owl_reactor_index(r));
    if (owl_random_hex(p->id + n, RANDOM_BYTES) != 0 ||
        owl_map_put(&l->sse_ids, owl_str_of(p->id), p, NULL) != 0) {
        owl_free(p);
        return NULL;
    }
    p->hook.gone = peer_gone;
    p->front = (struct owl_front){.sink.ops = &peer_ops,
                                  .server = s,
                                  .reactor = r,
                                  .principal = {p->principal, who.n},
                                  .adopt = peer_adopt,
                                  .hold = peer_hold,
                                  .let_go = peer_let_go,
                                  .can_send = true};
    p->req = req;
    /* The serials of sessions leave the upper half for those who have none yet. */
    p->scope = UINT64_C(1) << 63 | atomic_fetch_add(&scopes, 1);
    p->front.client = owl_http_peer_number(req);
    if (!p->front.client)
        p->front.client = owl_front__lane(who, p->scope);
    owl_list_init(&p->sub.node);
    owl_list_add(&l->sse_peers, &p->node);
    return p;
}

/* Whether a proxy says that it serves us below a path of its own. */
static bool is_prefixed(const struct owl_http_view *v)
{
    for (size_t i = 0; i < v->n_headers; i++)
        if (owl_str_ieq(v->headers[i].name, OWL_STR("x-forwarded-prefix")))
            return true;
    return false;
}

void owl_front__sse_get(void *data, const struct owl_route_req *r)
{
    (void)data;
    struct owl_server *s = r->server;
    struct owl_http_req *req = r->http;
    if (!r->heads->accept.stream) {
        owl_front__reply_error(s, req, 406, OWL_STR(""),
                               "GET opens an event stream: Accept must be text/event-stream");
        return;
    }
    if (!owl_places_take(&s->streams)) {
        owl_front__refuse(s, req, OWL_EBUSY, "too many event streams are open; try again later");
        return;
    }
    /* Relative to where the client asked; the path of ours alone is understood by more clients. */
    const char *base = is_prefixed(owl_http_view(req)) ? "" : "/mcp/";
    struct peer *p = peer_new(s, req, r->principal);
    if (!p) {
        owl_places_give(&s->streams);
        owl_front__refuse(s, req, OWL_ENOMEM, "out of memory; try again later");
        return;
    }
    char endpoint[ID_BYTES + 40];
    int n = snprintf(endpoint, sizeof endpoint, "%smessages?session_id=%s", base, p->id);
    owl_http_set_user(req, &p->hook);
    owl_http_stream_begin(req, OWL_STR(""));
    p->busy++;
    if (write_event(p, "endpoint", (owl_str){endpoint, (size_t)n}) == -OWL_ENOMEM)
        p->leaving = true; /* a client that does not know where to write */
    peer_release(p);
}

/* ---- POST /mcp/messages ---- */

#define UNKNOWN "no event stream has this session_id: open a new one"
#define BUSY "out of memory, or stopping; try again later"

/* A message on its way to its peer, and the answer to its POST on the way back. */
struct letter {
    struct owl_hook hook; /* of the POST */
    struct owl_msg msg;
    struct owl_server *server;
    struct owl_http_req *req; /* NULL once answered or gone */
    struct owl_reactor *home; /* of the POST */
    atomic_uint refs;         /* of the POST and of the trip */
    struct owl_arena *arena;  /* holds text and principal; NULL once a call took it */
    owl_str text, principal;
    int error;          /* 0, or what is wrong with the message */
    struct owl_buf out; /* the same as the body of the answer; without it, it is the stream's */
    char id[ID_BYTES];
};

static void letter_unref(struct letter *l)
{
    if (atomic_fetch_sub(&l->refs, 1) != 1)
        return;
    owl_arena_free(l->arena);
    owl_buf_done(&l->out);
    owl_free(l);
}

static void letter_gone(struct owl_hook *h)
{
    struct letter *l = OWL_CONTAINER(h, struct letter, hook);
    l->req = NULL;
    letter_unref(l);
}

/* An error that names no request has no place on the stream: it is the answer to the POST. */
static void refuse(struct peer *p, struct letter *l)
{
    owl_str message = owl_buf_str(&l->out);
    if (l->out.rc != 0) {
        l->error = OWL_ENOMEM;
    } else if (owl_str_is(owl_span_get(message, "id"), "null")) {
        l->error = OWL_EREQUEST;
        return;
    } else {
        peer_answer(p, message);
    }
    owl_buf_reset(&l->out);
}

static void peer_take(struct peer *p, struct letter *l)
{
    struct owl_inbound in = {.front = &p->front,
                             .arena = l->arena,
                             .text = l->text,
                             .session = p->session,
                             .session_state = p->session ? OWL_SESSION_KNOWN : OWL_SESSION_NONE,
                             .scope = p->scope,
                             .busy = p->busy >= MAX_BUSY};
    int status;
    p->busy += 2; /* the answer, and this function */
    enum owl_dispatched d = owl_dispatch(&in, NULL, &l->out, &status);
    l->arena = in.arena;
    if (d == OWL_DISPATCH_REFUSED)
        refuse(p, l);
    if (d != OWL_DISPATCH_CALL)
        p->busy--;
    peer_release(p);
}

static void reply(struct letter *l)
{
    struct owl_http_req *req = l->req;
    if (!req)
        return;
    l->req = NULL;
    if (!l->error)
        owl_front__reply_status(req, 202, OWL_STR(""));
    else if (l->out.n > 0)
        owl_front__reply_json(req, owl_err_info(l->error)->http_status, owl_buf_str(&l->out));
    else
        owl_front__refuse(l->server, req, l->error, l->error == OWL_ENOTFOUND ? UNKNOWN : BUSY);
    letter_unref(l);
}

static void on_return(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct letter *l = OWL_CONTAINER(m, struct letter, msg);
    reply(l);
    letter_unref(l);
}

static void on_arrival(struct owl_reactor *r, struct owl_msg *m)
{
    struct letter *l = OWL_CONTAINER(m, struct letter, msg);
    struct owl_server_local *local = owl_server_local(l->server, r);
    struct peer *p = owl_map_get(&local->sse_ids, owl_str_of(l->id));
    if (p && owl_str_eq(p->front.principal, l->principal))
        peer_take(p, l);
    else
        l->error = local->draining ? OWL_ECLOSED : OWL_ENOTFOUND;
    m->run = on_return;
    if (r == l->home)
        on_return(r, m);
    else if (!owl_post(l->home, m))
        letter_unref(l); /* the server has stopped there, and the POST is gone */
}

static owl_str session_id(owl_str query)
{
    static const owl_str key = {"session_id=", 11};
    for (owl_str part; owl_str_split(&query, '&', &part);)
        if (part.n >= key.n && owl_str_eq((owl_str){part.p, key.n}, key))
            return (owl_str){part.p + key.n, part.n - key.n};
    return (owl_str){NULL, 0};
}

static struct letter *letter_new(struct owl_server *s, struct owl_http_req *req, owl_str who,
                                 owl_str id)
{
    struct letter *l = owl_calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->text = owl_http_view(req)->body;
    l->arena = owl_http_take_arena(req);
    char *name = owl_arena_dup(l->arena, who);
    if (!name) {
        owl_arena_free(l->arena);
        owl_free(l);
        return NULL;
    }
    l->hook.gone = letter_gone;
    l->msg.run = on_arrival;
    l->server = s;
    l->req = req;
    l->home = owl_http_reactor(req);
    atomic_init(&l->refs, 2);
    l->principal = (owl_str){name, who.n};
    owl_buf_init(&l->out, 64 * 1024);
    memcpy(l->id, id.p, id.n);
    return l;
}

bool owl_front__sse_post_head(void *data, const struct owl_route_req *r)
{
    (void)data;
    if (!owl_front__require_json(r))
        return false;
    if (session_id(owl_http_view(r->http)->query).n)
        return true;
    owl_front__refuse(r->server, r->http, OWL_EREQUEST,
                      "session_id is missing: POST to what the endpoint event said");
    return false;
}

void owl_front__sse_post(void *data, const struct owl_route_req *r)
{
    (void)data;
    struct owl_server *s = r->server;
    struct owl_http_req *req = r->http;
    owl_str id = session_id(owl_http_view(req)->query);
    struct owl_reactor *to = id.n > 0 && id.n < ID_BYTES ? owl_runtime_named(s->env.runtime, id)
                                                         : NULL;
    struct letter *l = to ? letter_new(s, req, r->principal, id) : NULL;
    if (!l) {
        owl_front__refuse(s, req, to ? OWL_ENOMEM : OWL_ENOTFOUND, to ? BUSY : UNKNOWN);
        return;
    }
    owl_http_set_user(req, &l->hook);
    if (to == l->home) {
        on_arrival(to, &l->msg);
    } else if (!owl_post(to, &l->msg)) {
        l->error = OWL_ECLOSED; /* the server has stopped there */
        on_return(l->home, &l->msg);
    }
}

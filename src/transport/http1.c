/* transport/http1.c - the HTTP server: life and input of its connections.
 * Threads: a connection and its shard belong to one reactor.
 *
 * Input is parsed where the reactor's one read buffer holds it. One loop, serve(), takes request
 * after request from a piece of input; an answer given inside it only changes the state, so that a
 * pipeline of any length needs no recursion. Input behind a request that is not answered yet is
 * copied aside, up to a bound, and taken up in a later turn.
 *
 * Invariants: a connection is in its shard's list until owl_http__close(). Its memory lives until
 * the close callback, which is also where `gone` comes from, never from inside a call of ours. */
#include "transport/http1.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "transport/http1_conn.h"

static const struct owl_http_limits defaults = {
    .url_bytes = OWL_DEFAULT_url_bytes,
    .header_bytes = OWL_DEFAULT_header_bytes,
    .headers = OWL_DEFAULT_headers,
    .body_bytes = OWL_DEFAULT_body_bytes,
    .queue_bytes = OWL_DEFAULT_queue_bytes,
    .queue_total_bytes = OWL_DEFAULT_queue_total_bytes,
    .input_total_bytes = OWL_DEFAULT_input_total_bytes,
    .header_ms = OWL_DEFAULT_header_ms,
    .body_ms = OWL_DEFAULT_body_ms,
    .idle_ms = OWL_DEFAULT_idle_ms,
    .keepalive_ms = OWL_DEFAULT_keepalive_ms,
    .handshake_ms = OWL_DEFAULT_handshake_ms,
    .handshakes = OWL_DEFAULT_handshakes,
};

/* ---- the server ---- */

static struct owl_http_limits limits_or_defaults(const struct owl_http_limits *given)
{
    struct owl_http_limits l = given ? *given : defaults;
    l.url_bytes = l.url_bytes ? l.url_bytes : defaults.url_bytes;
    l.header_bytes = l.header_bytes ? l.header_bytes : defaults.header_bytes;
    l.headers = l.headers ? l.headers : defaults.headers;
    l.body_bytes = l.body_bytes ? l.body_bytes : defaults.body_bytes;
    l.queue_bytes = l.queue_bytes ? l.queue_bytes : defaults.queue_bytes;
    l.queue_total_bytes = l.queue_total_bytes ? l.queue_total_bytes : defaults.queue_total_bytes;
    l.input_total_bytes = l.input_total_bytes ? l.input_total_bytes : defaults.input_total_bytes;
    l.header_ms = l.header_ms ? l.header_ms : defaults.header_ms;
    l.body_ms = l.body_ms ? l.body_ms : defaults.body_ms;
    l.idle_ms = l.idle_ms ? l.idle_ms : defaults.idle_ms;
    l.keepalive_ms = l.keepalive_ms ? l.keepalive_ms : defaults.keepalive_ms;
    l.handshake_ms = l.handshake_ms ? l.handshake_ms : defaults.handshake_ms;
    l.handshakes = l.handshakes ? l.handshakes : defaults.handshakes;
    return l;
}

/* The buffers are left untouched, so that an unused server costs no memory for them. */
static struct owl_http__shard *shard_new(struct owl_http *h, struct owl_reactor *r)
{
    unsigned n = owl_runtime_count(owl_reactor_runtime(r));
    struct owl_http__shard *s = owl_malloc(sizeof(*s));
    if (!s || !(s->bodies = owl_budget_new(h->limits.input_total_bytes / n))) {
        owl_free(s);
        return NULL;
    }
    s->http = h;
    s->reactor = r;
    owl_list_init(&s->conns);
    s->n_conns = 0;
    owl_list_init(&s->behind);
    s->queued = 0;
    s->max_queued = h->limits.queue_total_bytes / n;
    s->draining = false;
    s->date_at = (time_t)-1;
    owl_list_init(&s->line);
    s->handshakes = 0;
    owl_timer_init(&s->turn, owl_http__tls_turn);
    owl_buf_init(&s->sealed, OWL_HTTP__SEALED_BYTES);
    return s;
}

int owl_http_new(struct owl_runtime *rt, const struct owl_http_limits *limits,
                 const struct owl_http_ops *ops, void *user, struct owl_http **ret)
{
    unsigned n = owl_runtime_count(rt);
    struct owl_http *h = owl_calloc(1, sizeof(*h) + n * sizeof(h->shards[0]));
    if (!h)
        return -OWL_ENOMEM;
    h->limits = limits_or_defaults(limits);
    h->ops = *ops;
    h->user = user;
    for (; h->n < n; h->n++) {
        h->shards[h->n] = shard_new(h, owl_runtime_at(rt, h->n));
        if (!h->shards[h->n]) {
            owl_http_free(h);
            return -OWL_ENOMEM;
        }
    }
    *ret = h;
    return 0;
}

void owl_http_free(struct owl_http *h)
{
    if (!h)
        return;
    for (unsigned i = 0; i < h->n; i++) {
        OWL_ASSERT(owl_list_empty(&h->shards[i]->conns));
        owl_buf_done(&h->shards[i]->sealed);
        owl_budget_done(h->shards[i]->bodies);
        owl_free(h->shards[i]);
    }
    owl_free(h);
}

/* ---- deadlines ---- */

static enum owl_http__wait wait_of(const struct owl_http__conn *c)
{
    switch (c->state) {
    case OWL_HTTP__HANDSHAKE: return OWL_HTTP__WAIT_HANDSHAKE;
    case OWL_HTTP__PENDING: return OWL_HTTP__WAIT_PENDING;
    case OWL_HTTP__STREAM: return OWL_HTTP__WAIT_STREAM;
    case OWL_HTTP__CLOSED: return OWL_HTTP__WAIT_NONE;
    case OWL_HTTP__LINGER: return c->queued > 0 ? OWL_HTTP__WAIT_FLUSH : OWL_HTTP__WAIT_LINGER;
    case OWL_HTTP__READING: break;
    }
    if (c->queued > 0)
        return OWL_HTTP__WAIT_FLUSH;
    switch (c->parse.stage) {
    case OWL_HTTP__HEAD: return OWL_HTTP__WAIT_HEAD;
    case OWL_HTTP__BODY: return OWL_HTTP__WAIT_BODY;
    default: return OWL_HTTP__WAIT_IDLE;
    }
}

static unsigned wait_ms(const struct owl_http__conn *c, enum owl_http__wait wait)
{
    const struct owl_http_limits *l = &c->shard->http->limits;
    switch (wait) {
    case OWL_HTTP__WAIT_HANDSHAKE: return l->handshake_ms;
    case OWL_HTTP__WAIT_HEAD: return l->header_ms;
    case OWL_HTTP__WAIT_BODY: return l->body_ms;
    case OWL_HTTP__WAIT_LINGER: return OWL_HTTP__LINGER_MS;
    case OWL_HTTP__WAIT_PENDING:
    case OWL_HTTP__WAIT_STREAM: return l->keepalive_ms;
    default: return l->idle_ms;
    }
}

static void timer_arm(struct owl_http__conn *c, uint64_t at)
{
    uint64_t now = owl_reactor_now(c->shard->reactor);
    c->timer_at = at;
    owl_timer_start(c->shard->reactor, &c->timer, at > now ? at - now : 0);
}

void owl_http__await(struct owl_http__conn *c)
{
    enum owl_http__wait wait = wait_of(c);
    if (wait == c->wait)
        return;
    c->wait = wait;
    if (wait == OWL_HTTP__WAIT_NONE)
        return;
    /* The loop's clock is as old as this turn, which may have been long: making a big answer is. */
    uint64_t now = wait == OWL_HTTP__WAIT_FLUSH ? uv_hrtime() / 1000000
                                                : owl_reactor_now(c->shard->reactor);
    c->deadline = now + wait_ms(c, wait);
    c->flush_mark = uv_stream_get_write_queue_size((uv_stream_t *)&c->tcp);
    if (c->deadline < c->timer_at)
        timer_arm(c, c->deadline);
}

void owl_http__spoke(struct owl_http__conn *c)
{
    c->deadline = owl_reactor_now(c->shard->reactor) + c->shard->http->limits.keepalive_ms;
}

/* What the ops keep for a request whose head they have accepted will not be needed. */
static void forget_head(struct owl_http__conn *c)
{
    const struct owl_http *h = c->shard->http;
    if (!c->accepted)
        return;
    c->accepted = false;
    h->ops.gone(h->user, &c->req);
}

static void refuse_slow(struct owl_http__conn *c, const char *why, unsigned limit_ms)
{
    forget_head(c);
    owl_http__refuse(c, &(struct owl_http__refusal){.status = 408, .why = why, .limit = limit_ms});
}

/* A comment for a stream; a request that is pending is shown to the ops. */
static void on_silence(struct owl_http__conn *c, enum owl_http__wait wait)
{
    const struct owl_http *h = c->shard->http;
    /* What is queued already will reach the peer before a comment could. */
    if (wait == OWL_HTTP__WAIT_STREAM && c->queued == 0)
        OWL_IGNORE(owl_http_stream_write(&c->req, OWL_STR(":\n\n"))); /* closed if it fails */
    else if (wait == OWL_HTTP__WAIT_PENDING && h->ops.waiting)
        h->ops.waiting(h->user, &c->req);
    owl_http__await(c);
}

static void on_deadline(struct owl_http__conn *c)
{
    const struct owl_http_limits *l = &c->shard->http->limits;
    enum owl_http__wait wait = c->wait;
    size_t unsent = uv_stream_get_write_queue_size((uv_stream_t *)&c->tcp);
    c->wait = OWL_HTTP__WAIT_NONE;
    if (wait == OWL_HTTP__WAIT_STREAM || wait == OWL_HTTP__WAIT_PENDING)
        on_silence(c, wait);
    else if (wait == OWL_HTTP__WAIT_HEAD)
        refuse_slow(c, "The headers took too long; the limit in milliseconds is", l->header_ms);
    else if (wait == OWL_HTTP__WAIT_BODY)
        refuse_slow(c, "The body took too long; the limit in milliseconds is", l->body_ms);
    else if (wait == OWL_HTTP__WAIT_FLUSH && unsent < c->flush_mark)
        owl_http__await(c); /* a slow reader, but it reads */
    else if (wait == OWL_HTTP__WAIT_IDLE && c->tls)
        owl_http__linger(c); /* an end that is not told looks like an attack */
    else
        owl_http__close(c);
}

/* ---- input ---- */

/* Whether new input must wait behind an answer. */
static bool busy(const struct owl_http__conn *c)
{
    return c->open || c->queued > 0 || c->ahead.n > 0;
}

/* TLS may have kept a part of a record back, with which a read yields more than was read. */
static size_t ahead_room(const struct owl_http__conn *c)
{
    size_t held = c->ahead.n - c->ahead_at;
    return held < OWL_HTTP__AHEAD_BYTES ? OWL_HTTP__AHEAD_BYTES - held : 0;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct owl_http__conn *c = handle->data;
    size_t n = c->state == OWL_HTTP__LINGER || !busy(c) ? OWL_HTTP__READ_BYTES : ahead_room(c);
    if (c->sated || (c->state == OWL_HTTP__HANDSHAKE && !owl_http__tls_may_go_on(c)))
        n = 0; /* libuv reads nothing in this turn then, and tells us UV_ENOBUFS */
    buf->base = c->shard->read;
    buf->len = n;
}

static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf);

static void read_pause(struct owl_http__conn *c)
{
    if (c->paused)
        return;
    c->paused = true;
    OWL_IGNORE(uv_read_stop((uv_stream_t *)&c->tcp)); /* it cannot fail */
}

void owl_http__read_continue(struct owl_http__conn *c)
{
    if (!c->paused || c->eof)
        return;
    c->paused = false;
    if (uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) != 0)
        owl_http__close(c);
}

static void keep_ahead(struct owl_http__conn *c, owl_str in)
{
    if (c->ahead_at > c->ahead.n / 2) {
        owl_buf_consume(&c->ahead, c->ahead_at);
        c->ahead_at = 0;
    }
    owl_buf_puts(&c->ahead, in);
    if (c->ahead.rc != 0)
        owl_http__close(c);
    else if (ahead_room(c) == 0)
        read_pause(c);
}

/* The request is the ops' to answer. */
static void hand_over(struct owl_http__conn *c)
{
    c->state = OWL_HTTP__PENDING;
    c->open = true;
    c->wait = OWL_HTTP__WAIT_NONE;
    if (!c->accepted)
        c->req.user = NULL;
    c->accepted = false;
}

static void take_back(struct owl_http__conn *c)
{
    c->state = OWL_HTTP__READING;
    c->open = false;
    c->accepted = true;
}

/* The body is awaited: the ops may refuse it. All of the head is in the arena by now. */
static void show_head(struct owl_http__conn *c)
{
    struct owl_http *h = c->shard->http;
    c->shown = true;
    hand_over(c);
    if (h->ops.headers(h->user, &c->req))
        take_back(c);
}

static void may_continue(struct owl_http__conn *c)
{
    if (!c->parse.may_continue || c->parse.view.body.n > 0)
        return;
    c->parse.may_continue = false;
    owl_http__continue(c);
}

void owl_http_read_body(struct owl_http_req *req)
{
    struct owl_http__conn *c = req->conn;
    OWL_ASSERT(c->open && c->shown && !c->serving);
    if (c->state == OWL_HTTP__CLOSED)
        return; /* `gone` follows */
    take_back(c);
    may_continue(c);
    if (c->state == OWL_HTTP__READING)
        owl_http__next(c);
}

static void dispatch(struct owl_http__conn *c)
{
    struct owl_http *h = c->shard->http;
    hand_over(c);
    h->ops.request(h->user, &c->req);
    if (c->state == OWL_HTTP__STREAM)
        owl_http__parse_release(&c->parse);
}

/* Takes request after request from @p in, until it ends or one has to wait for an answer or for the
 * peer. Returns how much was used. */
static size_t serve(struct owl_http__conn *c, owl_str in)
{
    size_t at = 0;
    c->serving = true;
    while (at < in.n && c->state == OWL_HTTP__READING && c->queued == 0) {
        at += owl_http__parse_feed(&c->parse, (owl_str){in.p + at, in.n - at});
        if (c->parse.stage == OWL_HTTP__COMPLETE) {
            dispatch(c);
        } else if (c->parse.stage == OWL_HTTP__REFUSED) {
            struct owl_http__refusal why = c->parse.refusal;
            forget_head(c);
            owl_http__refuse(c, &why);
        } else if (c->parse.stage == OWL_HTTP__BODY) {
            if (!c->shown && c->shard->http->ops.headers)
                show_head(c);
            if (c->state == OWL_HTTP__READING && c->parse.stage == OWL_HTTP__BODY)
                may_continue(c);
        }
    }
    c->serving = false;
    owl_http__await(c);
    return at;
}

static void serve_ahead(struct owl_http__conn *c)
{
    owl_str in = owl_buf_str(&c->ahead);
    c->ahead_at += serve(c, (owl_str){in.p + c->ahead_at, in.n - c->ahead_at});
    if (c->state == OWL_HTTP__CLOSED || c->state == OWL_HTTP__LINGER)
        return;
    if (c->ahead_at == c->ahead.n) {
        owl_buf_done(&c->ahead);
        c->ahead_at = 0;
    }
    if (ahead_room(c) > 0)
        owl_http__read_continue(c);
}

void owl_http__end(struct owl_http__conn *c, bool orderly)
{
    c->eof = true;
    if (!orderly || c->open || c->queued == 0 || c->state == OWL_HTTP__CLOSED)
        owl_http__close(c);
    else if (c->state != OWL_HTTP__LINGER)
        owl_http__linger(c); /* the peer may still be reading the last answer */
}

/* The end of a TLS connection has been told by now, or it is no end but a cut. */
static void on_read_error(struct owl_http__conn *c, ssize_t error)
{
    if (error == UV_ENOBUFS && c->sated) {
        c->sated = false; /* more may wait: the next turn looks */
    } else if (error == UV_ENOBUFS && c->state == OWL_HTTP__HANDSHAKE) {
        read_pause(c);
        owl_http__tls_line_up(c);
    } else {
        owl_http__end(c, error == UV_EOF && (!c->tls || c->state == OWL_HTTP__LINGER));
    }
}

static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct owl_http__conn *c = stream->data;
    if (nread < 0) {
        on_read_error(c, nread);
        return;
    }
    owl_str in = {buf->base, (size_t)nread};
    c->sated = in.n == buf->len;
    if (c->state == OWL_HTTP__LINGER) {
        c->discarded += in.n;
        if (c->discarded > OWL_HTTP__LINGER_BYTES)
            owl_http__close(c);
    } else if (c->tls) {
        owl_http__tls_input(c, in);
    } else {
        owl_http__input(c, in);
    }
}

void owl_http__input(struct owl_http__conn *c, owl_str in)
{
    size_t used = busy(c) ? 0 : serve(c, in);
    bool over = c->state == OWL_HTTP__CLOSED || c->state == OWL_HTTP__LINGER;
    if (used < in.n && !over)
        keep_ahead(c, (owl_str){in.p + used, in.n - used});
}

static void on_timer(struct owl_timer *t)
{
    struct owl_http__conn *c = OWL_CONTAINER(t, struct owl_http__conn, timer);
    bool wake = c->wake;
    c->wake = false;
    c->timer_at = UINT64_MAX;
    if (wake && c->state == OWL_HTTP__READING)
        serve_ahead(c);
    bool armed = c->timer_at != UINT64_MAX;
    if (armed || c->state == OWL_HTTP__CLOSED || c->wait == OWL_HTTP__WAIT_NONE)
        return;
    if (c->deadline > owl_reactor_now(c->shard->reactor))
        timer_arm(c, c->deadline);
    else
        on_deadline(c);
}

/* ---- the life of a connection ---- */

/* Nothing of a request has come and nothing is to be sent. */
static bool idle(const struct owl_http__conn *c)
{
    return c->state == OWL_HTTP__READING && c->parse.stage == OWL_HTTP__BEFORE && !busy(c);
}

void owl_http__next(struct owl_http__conn *c)
{
    if (c->shard->draining && idle(c)) {
        owl_http__linger(c);
    } else if (c->ahead.n > 0 && c->queued == 0) {
        c->wake = true;
        timer_arm(c, 0);
    } else {
        owl_http__await(c);
    }
}

static void on_shutdown(uv_shutdown_t *req, int status)
{
    struct owl_http__conn *c = req->handle->data;
    if (status != 0 || c->eof)
        owl_http__close(c);
    else
        owl_http__await(c);
}

void owl_http__linger(struct owl_http__conn *c)
{
    c->state = OWL_HTTP__LINGER;
    owl_buf_done(&c->ahead);
    c->ahead_at = 0;
    if (c->tls)
        owl_http__tls_end(c);
    if (c->state == OWL_HTTP__CLOSED)
        return;
    if (uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shutdown) != 0) {
        owl_http__close(c);
        return;
    }
    owl_http__read_continue(c);
    owl_http__await(c);
}

static void conn_free(struct owl_http__conn *c)
{
    owl_tls_conn_free(c->tls);
    owl_free(c);
}

static void on_closed(uv_handle_t *handle)
{
    struct owl_http__conn *c = handle->data;
    struct owl_http *h = c->shard->http;
    if (c->open || c->accepted)
        h->ops.gone(h->user, &c->req);
    owl_http__parse_release(&c->parse);
    owl_buf_done(&c->ahead);
    c->shard->n_conns--;
    conn_free(c);
}

void owl_http__close(struct owl_http__conn *c)
{
    if (c->state == OWL_HTTP__CLOSED)
        return;
    c->state = OWL_HTTP__CLOSED;
    owl_timer_stop(&c->timer);
    owl_list_del(&c->link);
    owl_list_del(&c->behind);
    c->shard->queued -= c->queued;
    owl_list_del(&c->in_line);
    owl_conn_left(c->shard->reactor, c->peer);
    uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_unborn(uv_handle_t *handle)
{
    conn_free(handle->data);
}

/* Takes @p fd on success only. */
static struct owl_http__conn *conn_new(struct owl_http__shard *s, struct owl_tls *tls, int fd)
{
    struct owl_http__conn *c = owl_calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->tls = tls ? owl_tls_conn_new(tls, &s->sealed) : NULL;
    if ((tls && !c->tls) || uv_tcp_init(owl_reactor_loop(s->reactor), &c->tcp) != 0) {
        conn_free(c);
        return NULL;
    }
    c->tcp.data = c;
    /* libuv's handles for TCP take a Unix socket as well: what is of TCP alone just fails. */
    if (uv_tcp_open(&c->tcp, fd) != 0) {
        uv_close((uv_handle_t *)&c->tcp, on_unborn);
        return NULL;
    }
    c->fd = fd;
    c->state = tls ? OWL_HTTP__HANDSHAKE : OWL_HTTP__READING;
    owl_list_init(&c->in_line);
    c->shard = s;
    c->req.conn = c;
    c->paused = true;
    c->timer_at = UINT64_MAX;
    owl_timer_init(&c->timer, on_timer);
    owl_buf_init(&c->ahead, 2 * (OWL_HTTP__AHEAD_BYTES + OWL_HTTP__RECORD_BYTES));
    owl_http__parse_init(&c->parse, &s->http->limits);
    c->parse.bodies = s->bodies;
    owl_list_init(&c->behind);
    owl_list_add(&s->conns, &c->link);
    s->n_conns++;
    return c;
}

void owl_http_accept(void *user, struct owl_reactor *r, int fd, struct owl_peer *peer)
{
    const struct owl_http_port *port = user;
    struct owl_http__shard *s = port->http->shards[owl_reactor_index(r)];
    struct owl_http__conn *c = s->draining ? NULL : conn_new(s, port->tls, fd);
    if (!c) {
        close(fd);
        owl_conn_left(r, peer);
        return;
    }
    c->peer = peer;
    owl_http__read_continue(c);
    owl_http__await(c);
}

void owl_http_drain(struct owl_http *h, struct owl_reactor *r)
{
    owl_reactor_assert(r);
    struct owl_http__shard *s = h->shards[owl_reactor_index(r)];
    struct owl_list todo;
    s->draining = true;
    owl_list_add(&s->conns, &todo); /* takes the place of the head */
    owl_list_del(&s->conns);
    while (!owl_list_empty(&todo)) { /* saying goodbye to one may drop any other */
        struct owl_http__conn *c = OWL_CONTAINER(todo.next, struct owl_http__conn, link);
        owl_list_del(&c->link);
        owl_list_add(&s->conns, &c->link);
        if (idle(c) && c->tls)
            owl_http__linger(c);
        else if (idle(c) || c->state == OWL_HTTP__HANDSHAKE)
            owl_http__close(c);
    }
}

void owl_http_close(struct owl_http *h, struct owl_reactor *r)
{
    owl_reactor_assert(r);
    struct owl_http__shard *s = h->shards[owl_reactor_index(r)];
    s->draining = true;
    owl_timer_stop(&s->turn);
    OWL_LIST_EACH (&s->conns, it)
        owl_http__close(OWL_CONTAINER(it, struct owl_http__conn, link));
}

size_t owl_http_connections(const struct owl_http *h, const struct owl_reactor *r)
{
    return h->shards[owl_reactor_index(r)]->n_conns;
}

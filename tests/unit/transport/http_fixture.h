/* A server on a loopback port with a few paths that show what it does.
 *
 *   /echo          "METHOD path?query body", at once
 *   /later, /hold  the same, in a later turn of the loop; never
 *   /big?n         n bytes
 *   /stream        an event stream of three pieces
 *   /stream-later  begun now, its pieces in later turns
 *   /stream-hold   begun, one piece, never ended
 *   /patient       a stream, begun when the request has waited for the second time; /patient-reply
 *   /flood, /empty, /teapot  a stream that is written to until it fails; 204; 418
 *   /extra, /keep  the arena is taken: with further header lines; and kept
 *   /starve?n      n bytes, but without memory to queue them
 *   /closed        answered after owl_http_close(); /closed-stream is not ended: it is gone
 * and, if the body does not come with the head:
 *   /refuse        401, without it; /ask?1, ?0, nothing: later like /echo; 403, without it; never */
#ifndef OWL_TEST_HTTP_FIXTURE_H
#define OWL_TEST_HTTP_FIXTURE_H

#include <stdatomic.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "reactor/listen.h"
#include "reactor/timer.h"
#include "transport/http1.h"
#include "unit/transport/http_answer.h"

struct server {
    struct owl_log log;
    struct owl_runtime *rt;
    struct owl_http *http;
    struct owl_http_port port;
    struct owl_listener *listener;
    _Atomic(struct owl_arena *) kept; /* by /keep */
    atomic_int heads, requests, gone, waits;
    atomic_int flood_rc;        /* what ended the flood */
    atomic_bool starved;        /* /starve has been answered */
    atomic_bool inside;         /* a function of the server is running */
    atomic_bool gone_inside;    /* `gone` was called from one: must never be */
    atomic_bool request_inside; /* … nor `request`, from a reply in a later turn */
};

struct later {
    struct owl_msg msg;
    struct server *server;
    struct owl_http_req *req; /* NULL: it has gone */
    struct owl_buf echo;      /* /later: what to answer; the head is not there any more by then */
    unsigned left;            /* /stream-later: pieces to send; /patient: waits to go */
    bool patient, reply;
    bool head; /* /ask: of which `left` says whether the body is wanted */
};

static inline void reply_text(struct server *s, struct owl_http_req *req, int status, owl_str body)
{
    (void)s;
    owl_http_reply(req, &(struct owl_http_reply){.status = status,
                                                 .content_type = body.n ? "text/plain" : NULL,
                                                 .body = body});
}

static inline void put_echo(struct owl_buf *b, struct owl_http_req *req)
{
    static const char *const methods[] = {"GET",   "HEAD",   "POST",    "PUT",
                                          "PATCH", "DELETE", "OPTIONS", "OTHER"};
    const struct owl_http_view *v = owl_http_view(req);
    owl_buf_init(b, SIZE_MAX);
    owl_buf_printf(b, "%s %.*s", methods[v->method], (int)v->path.n, v->path.p);
    if (v->query.p)
        owl_buf_printf(b, "?%.*s", (int)v->query.n, v->query.p);
    owl_buf_putc(b, ' ');
    owl_buf_puts(b, v->body);
}

static inline void reply_echo(struct server *s, struct owl_http_req *req)
{
    struct owl_buf b;
    put_echo(&b, req);
    reply_text(s, req, 200, owl_buf_str(&b));
    owl_buf_done(&b);
}

static inline void run_later(struct owl_reactor *r, struct owl_msg *m)
{
    struct later *l = OWL_CONTAINER(m, struct later, msg);
    if (!l->req) {
        owl_buf_done(&l->echo);
        free(l);
        return;
    }
    atomic_store(&l->server->inside, true);
    if (l->head && l->left) {
        owl_http_set_user(l->req, NULL);
        owl_http_read_body(l->req);
    } else if (l->head) {
        reply_text(l->server, l->req, 403, OWL_STR("no"));
    } else if (l->echo.n) {
        reply_text(l->server, l->req, 200, owl_buf_str(&l->echo));
    } else if (l->left-- > 0) {
        OWL_IGNORE(owl_http_stream_write(l->req, OWL_STR("data: x\n\n")));
        atomic_store(&l->server->inside, false);
        OWL_ASSERT(owl_post(r, &l->msg));
        return;
    } else {
        owl_http_stream_end(l->req);
    }
    atomic_store(&l->server->inside, false);
    owl_buf_done(&l->echo);
    free(l);
}

static inline void start_later(struct server *s, struct owl_http_req *req, bool stream)
{
    struct later *l = calloc(1, sizeof(*l));
    OWL_ASSERT(l);
    *l = (struct later){.msg.run = run_later, .server = s, .req = req, .left = 3};
    if (!stream)
        put_echo(&l->echo, req);
    owl_http_set_user(req, l);
    OWL_ASSERT(owl_post(owl_http_reactor(req), &l->msg));
}

static inline void reply_big(struct server *s, struct owl_http_req *req)
{
    uint64_t n = 0;
    OWL_ASSERT(owl_str_u64(owl_http_view(req)->query, 1u << 30, &n));
    char *body = malloc(n + 1);
    OWL_ASSERT(body);
    memset(body, 'b', n);
    reply_text(s, req, 200, (owl_str){body, n});
    free(body);
}

static inline void flood(struct server *s, struct owl_http_req *req)
{
    static char piece[100 * 1000];
    memset(piece, 'f', sizeof(piece));
    owl_http_stream_begin(req, (owl_str){"", 0});
    int rc = 0;
    for (int i = 0; i < 1000 && rc == 0; i++)
        rc = owl_http_stream_write(req, (owl_str){piece, sizeof(piece)});
    atomic_store(&s->flood_rc, rc);
    OWL_ASSERT(owl_http_stream_write(req, OWL_STR("x")) == -OWL_ECLOSED);
}

static inline owl_str header_of(struct owl_http_req *req, owl_str name)
{
    const struct owl_http_view *v = owl_http_view(req);
    for (size_t i = 0; i < v->n_headers; i++)
        if (owl_str_ieq(v->headers[i].name, name))
            return v->headers[i].value;
    return (owl_str){NULL, 0};
}

static inline void reply_extra(struct server *s, struct owl_http_req *req)
{
    struct owl_arena *a = owl_http_take_arena(req);
    owl_str x = header_of(req, OWL_STR("X-TEST"));
    OWL_ASSERT(!header_of(req, OWL_STR("absent")).p);
    owl_http_reply(req, &(struct owl_http_reply){.status = 404,
                                                 .headers = OWL_STR("X-One: 1\r\nX-Two: 2\r\n"),
                                                 .body = x});
    (void)s;
    owl_arena_free(a);
}

static inline void answer_closed(struct server *s, struct owl_http_req *req)
{
    bool stream = owl_str_is(owl_http_view(req)->path, "/closed-stream");
    owl_http_close(s->http, owl_http_reactor(req));
    if (!stream) {
        reply_echo(s, req);
        return;
    }
    owl_http_stream_begin(req, (owl_str){"", 0});
    OWL_ASSERT(owl_http_stream_write(req, OWL_STR("x")) == -OWL_ECLOSED);
}

static inline void wait_patiently(struct server *s, struct owl_http_req *req)
{
    struct later *l = calloc(1, sizeof(*l));
    OWL_ASSERT(l);
    *l = (struct later){.server = s, .req = req, .left = 2, .patient = true};
    l->reply = owl_str_is(owl_http_view(req)->path, "/patient-reply");
    owl_http_set_user(req, l);
}

static inline void on_waiting(void *user, struct owl_http_req *req)
{
    struct server *s = user;
    struct later *l = owl_http_user(req);
    OWL_ASSERT(!atomic_load(&s->inside));
    atomic_fetch_add(&s->waits, 1);
    if (!l || !l->patient || --l->left > 0)
        return;
    if (!l->reply) {
        owl_http_stream_begin(req, (owl_str){"", 0});
        return;
    }
    free(l);
    reply_text(s, req, 200, OWL_STR("at last"));
}

static inline bool on_headers(void *user, struct owl_http_req *req)
{
    struct server *s = user;
    const struct owl_http_view *v = owl_http_view(req);
    OWL_ASSERT(!atomic_load(&s->inside) && !owl_http_user(req));
    atomic_fetch_add(&s->heads, 1);
    if (owl_str_is(v->path, "/refuse")) {
        atomic_store(&s->inside, true);
        reply_text(s, req, 401, OWL_STR("who are you?"));
        atomic_store(&s->inside, false);
        return false;
    }
    if (!owl_str_is(v->path, "/ask"))
        return true;
    struct later *l = v->query.n ? calloc(1, sizeof *l) : NULL;
    if (l) {
        *l = (struct later){.msg.run = run_later, .server = s, .req = req, .head = true};
        l->left = *v->query.p == '1';
        owl_http_set_user(req, l);
        OWL_ASSERT(owl_post(owl_http_reactor(req), &l->msg));
    }
    return false;
}

static inline void on_request(void *user, struct owl_http_req *req)
{
    struct server *s = user;
    owl_str path = owl_http_view(req)->path;
    atomic_fetch_add(&s->requests, 1);
    if (atomic_load(&s->inside))
        atomic_store(&s->request_inside, true);
    if (owl_str_is(path, "/hold"))
        return;
    if (owl_str_is(path, "/later")) {
        start_later(s, req, false);
        return;
    }
    if (owl_str_is(path, "/stream-later")) {
        owl_http_stream_begin(req, (owl_str){"", 0});
        start_later(s, req, true);
        return;
    }
    if (owl_str_is(path, "/patient") || owl_str_is(path, "/patient-reply")) {
        wait_patiently(s, req);
        return;
    }
    atomic_store(&s->inside, true);
    if (owl_str_is(path, "/big")) {
        reply_big(s, req);
    } else if (owl_str_is(path, "/stream")) {
        owl_http_stream_begin(req, OWL_STR("X-Stream: 1\r\n"));
        OWL_IGNORE(owl_http_stream_write(req, OWL_STR("data: 1\n\n")));
        OWL_IGNORE(owl_http_stream_write(req, (owl_str){"", 0}));
        OWL_IGNORE(owl_http_stream_write(req, OWL_STR("data: 22\n\n")));
        OWL_IGNORE(owl_http_stream_write(req, OWL_STR("data: a longer one\n\n")));
        owl_http_stream_end(req);
    } else if (owl_str_is(path, "/stream-hold")) {
        owl_http_stream_begin(req, (owl_str){"", 0});
        OWL_IGNORE(owl_http_stream_write(req, OWL_STR("data: 1\n\n")));
    } else if (owl_str_is(path, "/flood")) {
        flood(s, req);
    } else if (owl_str_is(path, "/count")) {
        char text[16];
        snprintf(text, sizeof text, "%d", atomic_load(&s->requests));
        reply_text(s, req, 200, owl_str_of(text));
    } else if (owl_str_is(path, "/empty")) {
        reply_text(s, req, 204, (owl_str){"", 0});
    } else if (owl_str_is(path, "/teapot")) {
        reply_text(s, req, 418, OWL_STR("short and stout"));
    } else if (owl_str_is(path, "/closed") || owl_str_is(path, "/closed-stream")) {
        answer_closed(s, req);
    } else if (owl_str_is(path, "/starve")) {
        owl_alloc_fail_at(1);
        reply_big(s, req);
        owl_alloc_fail_at(0);
        atomic_store(&s->starved, true);
    } else if (owl_str_is(path, "/extra")) {
        reply_extra(s, req);
    } else if (owl_str_is(path, "/keep")) {
        atomic_store(&s->kept, owl_http_take_arena(req));
        reply_text(s, req, 200, OWL_STR("kept"));
    } else {
        reply_echo(s, req);
    }
    atomic_store(&s->inside, false);
}

static inline void on_gone(void *user, struct owl_http_req *req)
{
    struct server *s = user;
    if (atomic_load(&s->inside))
        atomic_store(&s->gone_inside, true);
    struct later *l = owl_http_user(req);
    if (l && l->patient)
        free(l);
    else if (l)
        l->req = NULL;
    atomic_fetch_add(&s->gone, 1);
}

static inline void server_start_tls(struct server *s, const struct owl_http_limits *limits,
                                    struct owl_tls *tls)
{
    static const struct owl_http_ops ops = {
        .headers = on_headers, .request = on_request, .gone = on_gone, .waiting = on_waiting};
    owl_error e = {0};
    memset(s, 0, sizeof(*s));
    struct owl_runtime_options o = {
        .reactors = 1, .workers = 1, .max_queued_work = 1, .log = &s->log};
    assert_int_equal(owl_runtime_new(&o, &s->rt, &e), 0);
    assert_int_equal(owl_http_new(s->rt, limits, &ops, s, &s->http), 0);
    s->port = (struct owl_http_port){.http = s->http, .tls = tls};
    struct owl_listen_options lo = {.address = OWL_STR("127.0.0.1:0"),
                                    .max = 1000,
                                    .accept = owl_http_accept,
                                    .user = &s->port};
    assert_int_equal(owl_listener_open(s->rt, &lo, &s->listener, &e), 0);
    assert_int_equal(owl_runtime_start(s->rt, &e), 0);
}

static inline void server_start(struct server *s, const struct owl_http_limits *limits)
{
    server_start_tls(s, limits, NULL);
}

/* Runs a function on the server's reactor and waits for it. */
struct errand {
    struct owl_msg msg;
    struct server *server;
    void (*run)(struct server *s, struct owl_reactor *r);
    atomic_bool done;
};

static inline void run_errand(struct owl_reactor *r, struct owl_msg *m)
{
    struct errand *e = OWL_CONTAINER(m, struct errand, msg);
    e->run(e->server, r);
    atomic_store(&e->done, true);
}

static inline void server_run(struct server *s, void (*run)(struct server *, struct owl_reactor *))
{
    struct errand e = {.msg.run = run_errand, .server = s, .run = run};
    assert_true(owl_post(owl_runtime_at(s->rt, 0), &e.msg));
    while (!atomic_load(&e.done))
        usleep(500);
}

static inline void do_drain(struct server *s, struct owl_reactor *r)
{
    owl_listener_stop(s->listener, r);
    owl_http_drain(s->http, r);
}

static inline void do_close(struct server *s, struct owl_reactor *r)
{
    owl_listener_stop(s->listener, r);
    owl_http_close(s->http, r);
}

/* Waits until no connection is left; false after two seconds (or @p ms). */
static inline bool server_empty_within(struct server *s, unsigned ms)
{
    for (unsigned i = 0; i < ms; i++) {
        if (owl_reactor_load(owl_runtime_at(s->rt, 0)) == 0)
            return true;
        usleep(1000);
    }
    return false;
}

static inline bool gone_within(struct server *s, int count, unsigned ms)
{
    for (unsigned i = 0; i < ms && atomic_load(&s->gone) < count; i++)
        usleep(1000);
    return atomic_load(&s->gone) == count;
}

static inline void server_stop(struct server *s)
{
    server_run(s, do_close);
    owl_runtime_stop(s->rt);
    owl_runtime_join(s->rt);
    assert_int_equal(owl_reactor_load(owl_runtime_at(s->rt, 0)), 0);
    assert_false(atomic_load(&s->gone_inside));
    assert_false(atomic_load(&s->request_inside));
    owl_listener_free(s->listener);
    owl_http_free(s->http);
    owl_runtime_aunref(s->rt);
}

static inline void client_open(struct http *c, struct server *s)
{
    http_open_port(c, owl_listener_port(s->listener));
}

#endif

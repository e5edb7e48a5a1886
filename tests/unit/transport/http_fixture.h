/* A server on a loopback port with a few paths that show what it does, and a blocking client.
 *
 *   /echo          "METHOD path?query body", at once
 *   /later         the same, in a later turn of the loop
 *   /hold          never answered
 *   /big?n         n bytes
 *   /stream        an event stream of three pieces
 *   /stream-later  begun now, its pieces in later turns
 *   /stream-hold   begun, one piece, never ended
 *   /flood         a stream that is written to until it fails
 *   /empty         204
 *   /extra         with further header lines; the arena is taken */
#ifndef OWL_TEST_HTTP_FIXTURE_H
#define OWL_TEST_HTTP_FIXTURE_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "reactor/listen.h"
#include "reactor/timer.h"
#include "transport/http1.h"

struct server {
    struct owl_log log;
    struct owl_runtime *rt;
    struct owl_http *http;
    struct owl_listener *listener;
    atomic_int requests, gone;
    atomic_int flood_rc;        /* what ended the flood */
    atomic_bool inside;         /* a function of the server is running */
    atomic_bool gone_inside;    /* `gone` was called from one: must never be */
    atomic_bool request_inside; /* … nor `request`, from a reply in a later turn */
};

struct later {
    struct owl_msg msg;
    struct server *server;
    struct owl_http_req *req; /* NULL: it has gone */
    unsigned left;
};

static inline void reply_text(struct server *s, struct owl_http_req *req, int status, owl_str body)
{
    (void)s;
    owl_http_reply(req, &(struct owl_http_reply){.status = status,
                                                 .content_type = body.n ? "text/plain" : NULL,
                                                 .body = body});
}

static inline void reply_echo(struct server *s, struct owl_http_req *req)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "DELETE", "OPTIONS", "OTHER"};
    const struct owl_http_view *v = owl_http_view(req);
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_printf(&b, "%s %.*s", methods[v->method], (int)v->path.n, v->path.p);
    if (v->query.p)
        owl_buf_printf(&b, "?%.*s", (int)v->query.n, v->query.p);
    owl_buf_putc(&b, ' ');
    owl_buf_puts(&b, v->body);
    reply_text(s, req, 200, owl_buf_str(&b));
    owl_buf_done(&b);
}

static inline void run_later(struct owl_reactor *r, struct owl_msg *m)
{
    struct later *l = OWL_CONTAINER(m, struct later, msg);
    if (!l->req) {
        free(l);
        return;
    }
    atomic_store(&l->server->inside, true);
    if (owl_str_is(owl_http_view(l->req)->path, "/later")) {
        reply_echo(l->server, l->req);
    } else if (l->left-- > 0) {
        OWL_IGNORE(owl_http_stream_write(l->req, OWL_STR("data: x\n\n")));
        atomic_store(&l->server->inside, false);
        OWL_ASSERT(owl_post(r, &l->msg));
        return;
    } else {
        owl_http_stream_end(l->req);
    }
    atomic_store(&l->server->inside, false);
    free(l);
}

static inline void start_later(struct server *s, struct owl_http_req *req)
{
    struct later *l = calloc(1, sizeof(*l));
    OWL_ASSERT(l);
    *l = (struct later){.msg.run = run_later, .server = s, .req = req, .left = 3};
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

static inline void reply_extra(struct server *s, struct owl_http_req *req)
{
    struct owl_arena *a = owl_http_take_arena(req);
    owl_str x = owl_http_header(req, "X-TEST");
    OWL_ASSERT(!owl_http_header(req, "absent").p);
    owl_http_reply(req, &(struct owl_http_reply){.status = 404,
                                                 .headers = OWL_STR("X-One: 1\r\nX-Two: 2\r\n"),
                                                 .body = x});
    (void)s;
    owl_arena_free(a);
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
        start_later(s, req);
        return;
    }
    if (owl_str_is(path, "/stream-later")) {
        owl_http_stream_begin(req, (owl_str){"", 0});
        start_later(s, req);
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
    } else if (owl_str_is(path, "/empty")) {
        reply_text(s, req, 204, (owl_str){"", 0});
    } else if (owl_str_is(path, "/extra")) {
        reply_extra(s, req);
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
    if (l)
        l->req = NULL;
    OWL_ASSERT(owl_http_view(req)->path.p);
    atomic_fetch_add(&s->gone, 1);
}

static inline void server_start(struct server *s, const struct owl_http_limits *limits)
{
    static const struct owl_http_ops ops = {.request = on_request, .gone = on_gone};
    owl_error e = {0};
    memset(s, 0, sizeof(*s));
    struct owl_runtime_options o = {
        .reactors = 1, .workers = 1, .max_queued_work = 1, .log = &s->log};
    assert_int_equal(owl_runtime_new(&o, &s->rt, &e), 0);
    assert_int_equal(owl_http_new(s->rt, limits, &ops, s, &s->http), 0);
    struct owl_listen_options lo = {.address = OWL_STR("127.0.0.1:0"),
                                    .max = 1000,
                                    .accept = owl_http_accept,
                                    .user = s->http};
    assert_int_equal(owl_listener_open(s->rt, &lo, &s->listener, &e), 0);
    assert_int_equal(owl_runtime_start(s->rt, &e), 0);
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

/* ---- the client ---- */

struct client {
    int fd;
    size_t n, at; /* of buf: filled, used */
    char buf[256 * 1024];
};

struct answer {
    int status;
    char head[4096];
    char *body;
    size_t n;
};

static inline void client_open(struct client *c, struct server *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons((uint16_t)owl_listener_port(s->listener))};
    struct timeval patience = {.tv_sec = 20};
    int on = 1;
    c->n = c->at = 0;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(c->fd >= 0);
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    assert_int_equal(connect(c->fd, (struct sockaddr *)&a, sizeof(a)), 0);
}

static inline void client_close(struct client *c)
{
    close(c->fd);
}

/* False if the server has closed meanwhile. */
static inline bool client_send_n(struct client *c, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(c->fd, p, n, MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

static inline void client_send(struct client *c, const char *text)
{
    assert_true(client_send_n(c, text, strlen(text)));
}

/* More bytes into the buffer; 0 at the end, -1 after a reset. */
static inline ssize_t client_fill(struct client *c)
{
    if (c->at == c->n)
        c->at = c->n = 0;
    if (c->n == sizeof(c->buf)) {
        memmove(c->buf, c->buf + c->at, c->n - c->at);
        c->n -= c->at;
        c->at = 0;
    }
    ssize_t n = recv(c->fd, c->buf + c->n, sizeof(c->buf) - c->n, 0);
    if (n < 0)
        assert_int_not_equal(errno, EAGAIN); /* an answer that never came */
    if (n > 0)
        c->n += (size_t)n;
    return n;
}

static inline bool client_at_end(struct client *c)
{
    return c->at == c->n && client_fill(c) <= 0;
}

/* Exactly @p n bytes. */
static inline void client_read(struct client *c, char *out, size_t n)
{
    while (n > 0) {
        if (c->at == c->n)
            assert_true(client_fill(c) > 0);
        size_t take = c->n - c->at < n ? c->n - c->at : n;
        memcpy(out, c->buf + c->at, take);
        c->at += take;
        out += take;
        n -= take;
    }
}

/* Up to and with the next LF; the line without CRLF. */
static inline void client_line(struct client *c, char *out, size_t size)
{
    size_t n = 0;
    do {
        assert_true(n + 1 < size);
        client_read(c, out + n, 1);
    } while (out[n++] != '\n');
    assert_true(n >= 2 && out[n - 2] == '\r');
    out[n - 2] = '\0';
}

static inline bool head_has(const struct answer *a, const char *line)
{
    char wanted[256];
    snprintf(wanted, sizeof(wanted), "\n%s\n", line);
    return strstr(a->head, wanted) != NULL;
}

static inline void client_head(struct client *c, struct answer *a)
{
    char line[1024];
    *a = (struct answer){0};
    client_line(c, line, sizeof(line));
    assert_int_equal(sscanf(line, "HTTP/1.1 %d ", &a->status), 1);
    size_t n = 1;
    a->head[0] = '\n';
    for (;;) {
        client_line(c, line, sizeof(line));
        if (line[0] == '\0')
            break;
        n += (size_t)snprintf(a->head + n, sizeof(a->head) - n, "%s\n", line);
        assert_true(n < sizeof(a->head));
    }
}

static inline void client_chunks(struct client *c, struct answer *a)
{
    char line[64];
    for (;;) {
        client_line(c, line, sizeof(line));
        size_t n = strtoul(line, NULL, 16);
        a->body = realloc(a->body, a->n + n + 1);
        assert_non_null(a->body);
        client_read(c, a->body + a->n, n);
        a->n += n;
        client_line(c, line, sizeof(line));
        assert_string_equal(line, "");
        if (n == 0)
            break;
    }
    a->body[a->n] = '\0';
}

/* One whole answer (not to HEAD); free with answer_free(). */
static inline void client_answer(struct client *c, struct answer *a)
{
    client_head(c, a);
    const char *length = strstr(a->head, "\nContent-Length: ");
    if (strstr(a->head, "\nTransfer-Encoding: chunked\n")) {
        client_chunks(c, a);
        return;
    }
    a->n = length ? strtoul(length + 17, NULL, 10) : 0;
    a->body = malloc(a->n + 1);
    assert_non_null(a->body);
    client_read(c, a->body, a->n);
    a->body[a->n] = '\0';
}

static inline void answer_free(struct answer *a)
{
    free(a->body);
    a->body = NULL;
}

/* Reads one answer and compares. @p body NULL: any. */
static inline void client_expect(struct client *c, int status, const char *body)
{
    struct answer a;
    client_answer(c, &a);
    assert_int_equal(a.status, status);
    if (body)
        assert_string_equal(a.body, body);
    answer_free(&a);
}

#endif

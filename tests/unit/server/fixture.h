/* unit/server/fixture.h - servers on loopback and small blocking clients for the server's tests.
 *
 * Every message that arrives is parsed strictly (no duplicate keys) and checked to be JSON-RPC. A
 * client belongs to one thread; whatever takes longer than WAIT_MS fails the test. */
#ifndef OWL_TEST_SERVER_FIXTURE_H
#define OWL_TEST_SERVER_FIXTURE_H

#include <arpa/inet.h>
#include <owlclaw/owlclaw.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "support/test.h"

enum { WAIT_MS = 20000 };

#define MODERN "2026-07-28"
#define LEGACY "2025-11-25"
#define SCHEMA "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}"

/* ---- time and flags ---- */

static inline int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void pause_ms(unsigned ms)
{
    usleep(ms * 1000);
}

/* Whether the counter reaches @p n in time. */
static inline bool reaches(atomic_int *counter, int n)
{
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; usleep(200))
        if (atomic_load(counter) >= n)
            return true;
    return false;
}

/* ---- servers ---- */

static inline owl_server *server_with(owl_server_options o)
{
    owl_server *s = NULL;
    owl_error e = {0};
    o.size = sizeof o;
    o.name = o.name ? o.name : "test";
    o.version = o.version ? o.version : "1";
    o.workers = o.workers ? o.workers : 4;
    if (owl_server_new(&o, &s, &e) != 0)
        fail_msg("owl_server_new: %s", e.message);
    return s;
}

static inline owl_server *server_new(unsigned reactors)
{
    return server_with((owl_server_options){.reactors = reactors});
}

static inline void server_start(owl_server *s)
{
    owl_error e = {0};
    if (owl_server_listen(s, "127.0.0.1:0", &e) != 0 || owl_server_start(s, &e) != 0)
        fail_msg("start: %s", e.message);
}

static inline void server_end(owl_server *s)
{
    owl_server_stop(s);
    assert_int_equal(owl_server_join(s), 0);
    owl_server_free(s);
}

static inline void add_tool(owl_server *s, owl_tool t)
{
    owl_error e = {0};
    t.size = sizeof t;
    if (owl_server_add_tool(s, &t, &e) != 0)
        fail_msg("owl_server_add_tool: %s", e.message);
}

static inline void add_prompt(owl_server *s, owl_prompt p)
{
    owl_error e = {0};
    p.size = sizeof p;
    if (owl_server_add_prompt(s, &p, &e) != 0)
        fail_msg("owl_server_add_prompt: %s", e.message);
}

static inline void add_resource(owl_server *s, owl_resource r)
{
    owl_error e = {0};
    r.size = sizeof r;
    if (owl_server_add_resource(s, &r, &e) != 0)
        fail_msg("owl_server_add_resource: %s", e.message);
}

/* ---- text ---- */

/* printf into memory of its own, freed by the caller. */
static inline char *text_of(const char *fmt, ...) OWL_PRINTF(1, 2);
static inline char *text_of(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    assert_true(n >= 0);
    return text;
}

struct bytes {
    char *p;
    size_t n;
};

static inline void bytes_add(struct bytes *b, const char *p, size_t n)
{
    char *grown = realloc(b->p, b->n + n + 1);
    assert_non_null(grown);
    b->p = grown;
    memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

static inline void bytes_drop(struct bytes *b, size_t n)
{
    memmove(b->p, b->p + n, b->n - n + 1);
    b->n -= n;
}

/* ---- messages ---- */

typedef owl_json_doc msg; /* one message; NULL: the stream has ended */

static inline msg *msg_parse(const char *text, size_t n)
{
    msg *m = NULL;
    owl_error e = {0};
    if (owl_json_parse(text, n, &m, &e) != 0)
        fail_msg("%s in %.*s", e.message, (int)n, text);
    const owl_json *root = owl_json_doc_root(m);
    if (owl_json_kind_of(root) == OWL_JSON_OBJECT)
        assert_string_equal(owl_json_get_str(root, "jsonrpc", ""), "2.0");
    return m;
}

/* The value at a path such as "result/content/0/text"; "~" stands for a slash in a key. */
static inline const owl_json *at(const msg *m, const char *path)
{
    const owl_json *v = m ? owl_json_doc_root(m) : NULL;
    while (*path) {
        char key[200];
        size_t n = strcspn(path, "/");
        assert_true(n < sizeof key);
        for (size_t i = 0; i < n; i++)
            key[i] = path[i] == '~' ? '/' : path[i];
        key[n] = '\0';
        path += n + (path[n] == '/');
        v = owl_json_kind_of(v) == OWL_JSON_ARRAY ? owl_json_at(v, strtoul(key, NULL, 10))
                                                  : owl_json_get(v, key);
    }
    return v;
}

static inline const char *str_at(const msg *m, const char *path)
{
    return owl_json_str(at(m, path), "(none)");
}

static inline int64_t int_at(const msg *m, const char *path)
{
    return owl_json_int(at(m, path), -999999);
}

/* The value at a path as compact JSON. Static memory. */
static inline const char *json_at(const msg *m, const char *path)
{
    static _Thread_local char text[65536];
    const char *p;
    size_t n;
    owl_json_writer *w = owl_json_writer_new();
    owl_json_put_value(w, at(m, path));
    assert_int_equal(owl_json_writer_text(w, &p, &n), 0);
    assert_true(n < sizeof text);
    memcpy(text, p, n + 1);
    owl_json_writer_free(w);
    return text;
}

/* Frees the message after comparing what is at the path. */
static inline void expect_str(msg *m, const char *path, const char *want)
{
    if (strcmp(str_at(m, path), want) != 0)
        fail_msg("%s is \"%s\", not \"%s\", in %s", path, str_at(m, path), want, json_at(m, ""));
    owl_json_doc_free(m);
}

static inline void expect_int(msg *m, const char *path, int64_t want)
{
    if (int_at(m, path) != want)
        fail_msg("%s is not %lld in %s", path, (long long)want, json_at(m, ""));
    owl_json_doc_free(m);
}

/* A failed tool: a result that says so, with @p part in its text. */
static inline void expect_failed(msg *m, const char *part)
{
    if (!owl_json_bool(at(m, "result/isError"), false) ||
        !strstr(str_at(m, "result/content/0/text"), part))
        fail_msg("no failure with \"%s\": %s", part, json_at(m, ""));
    owl_json_doc_free(m);
}

/* ---- HTTP ---- */

struct http {
    int fd;
    int port;
    int status;        /* of the last response */
    char session[120]; /* Mcp-Session-Id that was received, or given by http_join() */
    bool legacy;
    bool chunked, events;
    size_t left;       /* of a body that has a length */
    struct bytes raw;  /* received, not decoded */
    struct bytes body; /* decoded, not consumed */
    bool over;         /* the body is complete */
};

static inline void http_connect(struct http *h)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)h->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval t = {.tv_sec = WAIT_MS / 1000};
    h->fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(h->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    assert_int_equal(connect(h->fd, (struct sockaddr *)&a, sizeof a), 0);
}

static inline struct http http_open(owl_server *s)
{
    struct http h = {.port = owl_server_port(s)};
    http_connect(&h);
    return h;
}

static inline void http_close(struct http *h)
{
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    free(h->raw.p);
    free(h->body.p);
    h->raw = h->body = (struct bytes){NULL, 0};
}

/* Receives something; false at the end of the connection. */
static inline bool http_fill(struct http *h)
{
    char chunk[16384];
    ssize_t n = recv(h->fd, chunk, sizeof chunk, 0);
    if (n < 0)
        fail_msg("nothing received in time");
    bytes_add(&h->raw, chunk, (size_t)n);
    return n > 0;
}

static inline void http_send(struct http *h, const char *method, const char *headers,
                             const char *body)
{
    char *text = text_of("%s /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %zu\r\n\r\n%s",
                         method, headers, strlen(body), body);
    size_t n = strlen(text);
    for (size_t sent = 0; sent < n;) {
        ssize_t k = send(h->fd, text + sent, n - sent, MSG_NOSIGNAL);
        assert_true(k > 0);
        sent += (size_t)k;
    }
    free(text);
}

static inline const char *http_header(const char *head, const char *name, char *out, size_t max)
{
    const char *p = strcasestr(head, name);
    out[0] = '\0';
    if (p) {
        p += strlen(name);
        p += strspn(p, ": ");
        size_t n = strcspn(p, "\r");
        snprintf(out, max, "%.*s", (int)n, p);
    }
    return out;
}

/* Reads status and headers. */
static inline int http_head(struct http *h)
{
    char value[120];
    while (!h->raw.p || !strstr(h->raw.p, "\r\n\r\n"))
        if (!http_fill(h))
            return h->status = 0; /* closed without an answer */
    size_t n = (size_t)(strstr(h->raw.p, "\r\n\r\n") - h->raw.p) + 4;
    h->raw.p[n - 2] = '\0';
    h->status = atoi(h->raw.p + 9);
    http_header(h->raw.p, "\r\nMcp-Session-Id", value, sizeof value);
    if (value[0])
        snprintf(h->session, sizeof h->session, "%s", value);
    h->chunked = strcmp(http_header(h->raw.p, "\r\nTransfer-Encoding", value, sizeof value),
                        "chunked") == 0;
    h->events = strstr(http_header(h->raw.p, "\r\nContent-Type", value, sizeof value), "event");
    h->left = strtoul(http_header(h->raw.p, "\r\nContent-Length", value, sizeof value), NULL, 10);
    h->over = !h->chunked && h->left == 0;
    h->raw.p[n - 2] = '\r';
    bytes_drop(&h->raw, n);
    free(h->body.p);
    h->body = (struct bytes){NULL, 0};
    return h->status;
}

/* Decodes one more piece of the body; false when it is over. */
static inline bool http_piece(struct http *h)
{
    if (h->over)
        return false;
    if (!h->chunked) {
        if (!h->raw.n && !http_fill(h))
            fail_msg("the body is cut off");
        size_t n = h->raw.n < h->left ? h->raw.n : h->left;
        bytes_add(&h->body, h->raw.p, n);
        bytes_drop(&h->raw, n);
        h->left -= n;
        h->over = h->left == 0;
        return true;
    }
    char *end;
    while (!h->raw.p || !(end = strstr(h->raw.p, "\r\n")))
        if (!http_fill(h)) {
            h->over = true;
            return false;
        }
    size_t size = strtoul(h->raw.p, NULL, 16), head = (size_t)(end - h->raw.p) + 2;
    while (h->raw.n < head + size + 2)
        if (!http_fill(h))
            fail_msg("a chunk is cut off");
    bytes_add(&h->body, h->raw.p + head, size);
    bytes_drop(&h->raw, head + size + 2);
    h->over = size == 0;
    return !h->over;
}

/* The next message of the response; NULL when there is none. */
static inline msg *http_next(struct http *h)
{
    if (!h->events) {
        while (http_piece(h))
            ;
        msg *m = h->body.n ? msg_parse(h->body.p, h->body.n) : NULL;
        h->body.n = 0;
        return m;
    }
    for (;;) {
        char *end = h->body.p ? strstr(h->body.p, "\n\n") : NULL;
        if (!end) {
            if (!http_piece(h))
                return NULL;
            continue;
        }
        size_t n = (size_t)(end - h->body.p);
        msg *m = NULL;
        if (n > 6 && memcmp(h->body.p, "data: ", 6) == 0)
            m = msg_parse(h->body.p + 6, n - 6);
        bytes_drop(&h->body, n + 2);
        if (m)
            return m;
    }
}

/* Whether a message or the end of the stream comes within @p ms; comments do not count. */
static inline bool http_ready(struct http *h, int ms)
{
    for (;;) {
        char *end = h->body.n ? strstr(h->body.p, "\n\n") : NULL;
        struct pollfd p = {.fd = h->fd, .events = POLLIN};
        if (end && h->body.p[0] != ':')
            return true;
        if (end)
            bytes_drop(&h->body, (size_t)(end - h->body.p) + 2);
        else if (!h->raw.n && poll(&p, 1, ms) <= 0)
            return false;
        else if (!http_piece(h))
            return true;
    }
}

#define POST_HEADERS \
    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"

/* ---- modern requests ---- */

/* The message; @p id is a JSON literal, @p params are members without braces ("" for none), @p caps
 * is the client's capabilities object, @p meta further members of _meta ("" for none). */
static inline char *modern_text(const char *id, const char *method, const char *params,
                                const char *caps, const char *meta)
{
    return text_of("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{%s%s\"_meta\":{"
                   "\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","
                   "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"},"
                   "\"io.modelcontextprotocol/clientCapabilities\":%s%s%s}}}",
                   id, method, params, *params ? "," : "", caps, *meta ? "," : "", meta);
}

static inline void modern_send(struct http *h, const char *name, const char *text)
{
    msg *m = msg_parse(text, strlen(text));
    char *headers = text_of(POST_HEADERS "MCP-Protocol-Version: " MODERN "\r\nMcp-Method: %s\r\n"
                                         "%s%s%s",
                            str_at(m, "method"), *name ? "Mcp-Name: " : "", name,
                            *name ? "\r\n" : "");
    http_send(h, "POST", headers, text);
    owl_json_doc_free(m);
    free(headers);
}

/* Sends tools/call; @p more are further members of params ("" for none). */
static inline void modern_call(struct http *h, const char *tool, const char *more, const char *caps,
                               const char *meta)
{
    char *params = text_of("\"name\":\"%s\"%s%s", tool, *more ? "," : "", more);
    char *text = modern_text("1", "tools/call", params, caps, meta);
    modern_send(h, tool, text);
    free(text);
    free(params);
}

/* One modern request on a connection of its own, to its last message. */
static inline msg *modern(owl_server *s, const char *method, const char *name, const char *params)
{
    struct http h = http_open(s);
    char *text = modern_text("1", method, params, "{}", "");
    modern_send(&h, name, text);
    free(text);
    http_head(&h);
    msg *last = NULL;
    for (msg *m; (m = http_next(&h));) {
        owl_json_doc_free(last);
        last = m;
        if (!h.events)
            break;
    }
    http_close(&h);
    return last;
}

/* A tool without arguments, called by a client that can do nothing. */
static inline msg *call(owl_server *s, const char *tool)
{
    char *params = text_of("\"name\":\"%s\"", tool);
    msg *m = modern(s, "tools/call", tool, params);
    free(params);
    return m;
}

/* ---- legacy requests over HTTP ---- */

/* A connection of its own for the session of @p h. */
static inline struct http http_join(const struct http *h)
{
    struct http other = {.port = h->port, .legacy = true};
    snprintf(other.session, sizeof other.session, "%s", h->session);
    http_connect(&other);
    return other;
}

static inline void legacy_send(struct http *h, const char *text)
{
    char *headers = text_of(POST_HEADERS "%s%s%s", h->session[0] ? "Mcp-Session-Id: " : "",
                            h->session, h->session[0] ? "\r\n" : "");
    http_send(h, "POST", headers, text);
    free(headers);
}

/* A message that gets no answer of its own. */
static inline void legacy_tell(const struct http *h, const char *text)
{
    struct http other = http_join(h);
    legacy_send(&other, text);
    assert_int_equal(http_head(&other), 202);
    http_close(&other);
}

#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

static inline char *initialize_text(const char *caps)
{
    return text_of("{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\",\"params\":{"
                   "\"protocolVersion\":\"" LEGACY "\",\"capabilities\":%s,"
                   "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
                   caps);
}

static inline struct http legacy_open(owl_server *s, const char *caps)
{
    struct http h = http_open(s);
    char *text = initialize_text(caps);
    legacy_send(&h, text);
    free(text);
    assert_int_equal(http_head(&h), 200);
    owl_json_doc_free(http_next(&h));
    assert_true(h.session[0]);
    h.legacy = true;
    legacy_tell(&h, INITIALIZED);
    return h;
}

static inline char *legacy_text(const char *id, const char *method, const char *params)
{
    return text_of("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{%s}}", id, method,
                   params);
}

/* Sends tools/call with id 1. */
static inline void legacy_call(struct http *h, const char *tool, const char *more)
{
    char *text = text_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"%s\"%s%s}}",
                         tool, *more ? "," : "", more);
    legacy_send(h, text);
    free(text);
}

/* The answer to a question of the server. */
static inline char *answer_text(const msg *question, const char *result)
{
    return text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":%s}", str_at(question, "id"),
                   result);
}

/* Frees the question. */
static inline void legacy_answer(const struct http *h, msg *question, const char *result)
{
    char *text = answer_text(question, result);
    legacy_tell(h, text);
    free(text);
    owl_json_doc_free(question);
}

/* ---- stdio ---- */

struct pipes {
    int in, out; /* the client's ends: write, read */
    int server_in, server_out;
    struct bytes raw;
};

static inline struct pipes pipes_open(owl_server *s)
{
    int to[2], from[2];
    owl_error e = {0};
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    struct pipes p = {.in = to[1], .out = from[0], .server_in = to[0], .server_out = from[1]};
    if (owl_server_serve_fds(s, to[0], from[1], &e) != 0)
        fail_msg("serve_fds: %s", e.message);
    return p;
}

static inline void pipes_send(struct pipes *p, const char *text)
{
    char *line = text_of("%s\n", text);
    assert_int_equal(write(p->in, line, strlen(line)), (ssize_t)strlen(line));
    free(line);
}

/* The next line, NULL when nothing comes for @p ms. */
static inline msg *pipes_next_in(struct pipes *p, int ms)
{
    char *end;
    while (!p->raw.p || !(end = memchr(p->raw.p, '\n', p->raw.n))) {
        char chunk[16384];
        struct pollfd f = {.fd = p->out, .events = POLLIN};
        if (poll(&f, 1, ms) <= 0)
            return NULL;
        ssize_t n = read(p->out, chunk, sizeof chunk);
        if (n <= 0)
            return NULL;
        bytes_add(&p->raw, chunk, (size_t)n);
    }
    size_t n = (size_t)(end - p->raw.p);
    msg *m = msg_parse(p->raw.p, n);
    bytes_drop(&p->raw, n + 1);
    return m;
}

static inline msg *pipes_next(struct pipes *p)
{
    msg *m = pipes_next_in(p, WAIT_MS);
    assert_non_null(m);
    return m;
}

static inline void pipes_initialize(struct pipes *p, const char *caps)
{
    char *text = initialize_text(caps);
    pipes_send(p, text);
    free(text);
    expect_str(pipes_next(p), "id", "init");
    pipes_send(p, INITIALIZED);
}

static inline void pipes_call(struct pipes *p, const char *id, const char *tool)
{
    char *params = text_of("\"name\":\"%s\"", tool);
    char *text = legacy_text(id, "tools/call", params);
    pipes_send(p, text);
    free(text);
    free(params);
}

static inline void pipes_answer(struct pipes *p, msg *question, const char *result)
{
    char *text = answer_text(question, result);
    pipes_send(p, text);
    free(text);
    owl_json_doc_free(question);
}

static inline void pipes_close(struct pipes *p)
{
    const int fds[] = {p->in, p->out, p->server_in, p->server_out};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(p->raw.p);
    p->raw = (struct bytes){NULL, 0};
}

#endif

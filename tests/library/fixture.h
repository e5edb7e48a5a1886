/* library/fixture.h - servers on loopback and small blocking clients for the server's tests. */
#ifndef OWL_TEST_SERVER_FIXTURE_H
#define OWL_TEST_SERVER_FIXTURE_H

#include "library/http.h"

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

static inline char *initialize_as(const char *version, const char *caps)
{
    return text_of("{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\",\"params\":{"
                   "\"protocolVersion\":\"%s\",\"capabilities\":%s,"
                   "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
                   version, caps);
}

static inline char *initialize_text(const char *caps)
{
    return initialize_as(LEGACY, caps);
}

static inline struct http legacy_open_as(owl_server *s, const char *version, const char *caps)
{
    struct http h = http_open(s);
    char *text = initialize_as(version, caps);
    legacy_send(&h, text);
    free(text);
    assert_int_equal(http_head(&h), 200);
    owl_json_doc_free(http_next(&h));
    assert_true(h.session[0]);
    h.legacy = true;
    legacy_tell(&h, INITIALIZED);
    return h;
}

static inline struct http legacy_open(owl_server *s, const char *caps)
{
    return legacy_open_as(s, LEGACY, caps);
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
    bytes_free(&p->raw);
}

#endif

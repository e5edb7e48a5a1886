/* library/http.h - MCP over the client of support/http.h; part of fixture.h. */
#ifndef OWL_TEST_SERVER_HTTP_H
#define OWL_TEST_SERVER_HTTP_H

#include "library/servers.h"
#include "support/http.h"

/* ---- HTTP ---- */

static inline struct http http_open(owl_server *s)
{
    struct http h = {.port = owl_server_port(s)};
    http_connect(&h);
    return h;
}

static inline void http_send(struct http *h, const char *method, const char *headers,
                             const char *body)
{
    char *text = text_of("%s /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %zu\r\n\r\n%s",
                         method, headers, strlen(body), body);
    if (!http_put(h, text, strlen(text)))
        http_broke(h, strerror(errno));
    free(text);
}

/* The next message of the response; NULL when there is none. */
static inline msg *http_next(struct http *h)
{
    if (!h->events) {
        while (http_piece(h))
            ;
        msg *m = h->body.n && !h->broken ? msg_parse(h->body.p, h->body.n) : NULL;
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
        size_t at = http_data(h, n);
        if (at < n)
            m = msg_parse(h->body.p + at, n - at);
        bytes_drop(&h->body, n + 2);
        if (m)
            return m;
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
static inline msg *modern_with(owl_server *s, const char *method, const char *name,
                               const char *params, const char *caps)
{
    struct http h = http_open(s);
    char *text = modern_text("1", method, params, caps, "");
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

static inline msg *modern(owl_server *s, const char *method, const char *name, const char *params)
{
    return modern_with(s, method, name, params, "{}");
}

/* A tool without arguments, called by a client that can do nothing. */
static inline msg *call(owl_server *s, const char *tool)
{
    char *params = text_of("\"name\":\"%s\"", tool);
    msg *m = modern(s, "tools/call", tool, params);
    free(params);
    return m;
}

/* ---- embedded servers ---- */

/* Steps until something arrives at @p fd, or for @p ms. */
static inline bool step_until_readable(owl_server *s, int fd, int64_t ms)
{
    for (int64_t end = now_ms() + ms; now_ms() < end;) {
        struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
                              {.fd = owl_server_fd(s, NULL), .events = POLLIN}};
        int wait = owl_server_poll_ms(s);
        poll(p, 2, wait < 0 || wait > 5 ? 5 : wait);
        if (p[0].revents)
            return true;
        assert_int_equal(owl_server_step(s), 1);
    }
    return false;
}

#endif

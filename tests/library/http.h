/* library/http.h - a blocking HTTP client that reads answers and event streams; part of fixture.h. */
#ifndef OWL_TEST_SERVER_HTTP_H
#define OWL_TEST_SERVER_HTTP_H

#include "library/servers.h"

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
    char event[64];    /* id of the last event that had one */
    bool broken;       /* ended in the midst of something */

    const atomic_bool *may_break; /* once set, that is no failure; NULL: it always is */
};

static inline bool http_broke(struct http *h, const char *why)
{
    if (!h->may_break || !atomic_load(h->may_break))
        fail_msg("%s", why);
    h->over = h->broken = true;
    return false;
}

static inline void http_connect(struct http *h)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)h->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval t = {.tv_sec = WAIT_MS / 1000};
    h->fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(h->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    if (connect(h->fd, (struct sockaddr *)&a, sizeof a) != 0)
        http_broke(h, "no connection");
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
    ssize_t n;
    do { /* a ring that libuv has closed may interrupt a wait with a time limit, without a signal */
        n = recv(h->fd, chunk, sizeof chunk, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        fail_msg("nothing received in time");
    if (n < 0)
        return http_broke(h, strerror(errno));
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
        if (k <= 0 && !http_broke(h, strerror(errno)))
            break;
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
            return http_broke(h, "the body is cut off");
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
            return http_broke(h, "a chunk is cut off");
    bytes_add(&h->body, h->raw.p + head, size);
    bytes_drop(&h->raw, head + size + 2);
    h->over = size == 0;
    return !h->over;
}

/* Where the message of the first event begins, whose length is @p n: n if it has none. Keeps its id. */
static inline size_t http_data(struct http *h, size_t n)
{
    size_t data = n;
    for (size_t at = 0, end; at < n; at = end + 1) {
        const char *line = h->body.p + at;
        end = at + strcspn(line, "\n");
        if (end - at > 6 && memcmp(line, "data: ", 6) == 0)
            data = at + 6;
        else if (end - at > 4 && memcmp(line, "id: ", 4) == 0)
            snprintf(h->event, sizeof h->event, "%.*s", (int)(end - at - 4), line + 4);
    }
    return data;
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

/* Whether a message or the end of the stream comes within @p ms; comments and events without a
 * message do not count. */
static inline bool http_ready(struct http *h, int ms)
{
    for (;;) {
        char *end = h->body.n ? strstr(h->body.p, "\n\n") : NULL;
        struct pollfd p = {.fd = h->fd, .events = POLLIN};
        if (end && http_data(h, (size_t)(end - h->body.p)) < (size_t)(end - h->body.p))
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

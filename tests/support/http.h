/* support/http.h - a blocking HTTP client over any connected socket or TLS. It reads an answer in
 * pieces, as a whole or event by event.
 *
 * A client belongs to one thread and is closed by http_close(), which frees what it has read.
 * Whatever takes longer than HTTP_WAIT_S, or is not HTTP, fails the test. */
#ifndef OWL_SUPPORT_HTTP_H
#define OWL_SUPPORT_HTTP_H

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

enum { HTTP_WAIT_S = 20 };

struct bytes {
    char *p; /* terminated; NULL: nothing yet */
    size_t n;
    size_t room;
};

struct http {
    int fd;
    int port;
    SSL *ssl;          /* NULL: plain */
    struct bytes raw;  /* received, not decoded */
    int status;        /* of the last answer; 0: the connection was closed instead */
    struct bytes head; /* its fields: "\nName: value\nName: value\n" */
    struct bytes body; /* decoded, not consumed */
    bool chunked, events;
    size_t left;       /* of a body that has a length */
    bool over;         /* the body is complete */
    char event[64];    /* id of the last event that had one */
    char session[120]; /* Mcp-Session-Id that was received, or given */
    bool legacy;
    bool broken;                  /* ended in the midst of something */
    const atomic_bool *may_break; /* once set, that is no failure; NULL: it always is */
};

/* ---- bytes ---- */

static inline void bytes_add(struct bytes *b, const char *p, size_t n)
{
    if (b->room < b->n + n + 1) {
        b->room = 2 * (b->n + n + 1);
        b->p = realloc(b->p, b->room);
        assert_non_null(b->p);
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

static inline void bytes_drop(struct bytes *b, size_t n)
{
    memmove(b->p, b->p + n, b->n - n + 1);
    b->n -= n;
}

static inline char *bytes_find(const struct bytes *b, const char *text)
{
    return b->n ? memmem(b->p, b->n, text, strlen(text)) : NULL;
}

static inline void bytes_free(struct bytes *b)
{
    free(b->p);
    *b = (struct bytes){0};
}

/* ---- the connection ---- */

static inline bool http_broke(struct http *h, const char *why)
{
    if (!h->may_break || !atomic_load(h->may_break))
        fail_msg("%s", why);
    h->over = h->broken = true;
    return false;
}

/* To h->port of loopback. */
static inline void http_connect(struct http *h)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)h->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = HTTP_WAIT_S};
    int on = 1;
    h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(h->fd >= 0);
    setsockopt(h->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(h->fd, (struct sockaddr *)&a, sizeof a) != 0)
        http_broke(h, "no connection");
}

static inline void http_open_port(struct http *h, int port)
{
    *h = (struct http){.port = port};
    http_connect(h);
}

/* Makes the connection a TLS one; false if the handshake fails. */
static inline bool http_secure(struct http *h, SSL_CTX *ctx)
{
    h->ssl = SSL_new(ctx);
    assert_non_null(h->ssl);
    SSL_set_fd(h->ssl, h->fd);
    return SSL_connect(h->ssl) == 1;
}

static inline void http_close(struct http *h)
{
    SSL_free(h->ssl);
    h->ssl = NULL;
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    bytes_free(&h->raw);
    bytes_free(&h->head);
    bytes_free(&h->body);
}

/* False if the server has closed meanwhile. */
static inline bool http_put(struct http *h, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = h->ssl ? SSL_write(h->ssl, p, n < INT_MAX ? (int)n : INT_MAX)
                              : send(h->fd, p, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Receives something: how much, 0 at the end of the connection, -1 after a reset. */
static inline ssize_t http_receive(struct http *h)
{
    char chunk[16 * 1024];
    ssize_t n;
    do { /* a ring that libuv has closed may interrupt a wait with a time limit, without a signal */
        n = h->ssl ? SSL_read(h->ssl, chunk, sizeof chunk) : recv(h->fd, chunk, sizeof chunk, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        fail_msg("nothing received in time");
    if (n > 0)
        bytes_add(&h->raw, chunk, (size_t)n);
    return n;
}

/* Receives something; false at the end of the connection. */
static inline bool http_fill(struct http *h)
{
    ssize_t n = http_receive(h);
    return n < 0 ? http_broke(h, strerror(errno)) : n > 0;
}

static inline bool http_at_end(struct http *h)
{
    return h->raw.n == 0 && http_receive(h) <= 0;
}

/* Exactly @p n bytes, not decoded. */
static inline void http_read(struct http *h, char *out, size_t n)
{
    while (h->raw.n < n)
        assert_true(http_receive(h) > 0);
    if (n == 0)
        return;
    memcpy(out, h->raw.p, n);
    bytes_drop(&h->raw, n);
}

/* Up to and with the next LF; the line without CRLF. */
static inline void http_line(struct http *h, char *out, size_t size)
{
    char *end;
    while (!(end = bytes_find(&h->raw, "\n")))
        assert_true(http_receive(h) > 0);
    size_t n = (size_t)(end - h->raw.p) + 1;
    assert_true(n >= 2 && n < size);
    http_read(h, out, n);
    assert_int_equal(out[n - 2], '\r');
    out[n - 2] = '\0';
}

/* ---- answers ---- */

/* The value of a field of the last answer, "" if it has none. */
static inline const char *http_header(const struct http *h, const char *name, char *out, size_t max)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\n%s: ", name);
    const char *p = h->head.p ? strcasestr(h->head.p, wanted) : NULL;
    p = p ? p + strlen(wanted) : "";
    snprintf(out, max, "%.*s", (int)strcspn(p, "\n"), p);
    return out;
}

/* Reads status and fields; the status, 0 at the end of the connection. */
static inline int http_head(struct http *h)
{
    char value[120], *end;
    while (!(end = bytes_find(&h->raw, "\r\n\r\n")))
        if (!http_fill(h))
            return h->status = 0;
    if (sscanf(h->raw.p, "HTTP/1.1 %d ", &h->status) != 1)
        fail_msg("no answer: %.60s", h->raw.p);
    h->head.n = 0;
    bytes_free(&h->body);
    for (const char *p = bytes_find(&h->raw, "\r\n"); p < end + 2; p++)
        if (*p != '\r')
            bytes_add(&h->head, p, 1);
    bytes_drop(&h->raw, (size_t)(end - h->raw.p) + 4);
    if (http_header(h, "Mcp-Session-Id", value, sizeof value)[0])
        snprintf(h->session, sizeof h->session, "%s", value);
    h->chunked = strcmp(http_header(h, "Transfer-Encoding", value, sizeof value), "chunked") == 0;
    h->events = strstr(http_header(h, "Content-Type", value, sizeof value), "event");
    h->left = strtoul(http_header(h, "Content-Length", value, sizeof value), NULL, 10);
    h->over = !h->chunked && h->left == 0;
    return h->status;
}

static inline bool http_chunk(struct http *h)
{
    char *end;
    while (!(end = bytes_find(&h->raw, "\r\n")))
        if (!http_fill(h)) {
            h->over = true;
            return false;
        }
    size_t size = strtoul(h->raw.p, NULL, 16), head = (size_t)(end - h->raw.p) + 2;
    while (h->raw.n < head + size + 2)
        if (!http_fill(h))
            return http_broke(h, "a chunk is cut off");
    assert_memory_equal(h->raw.p + head + size, "\r\n", 2);
    bytes_add(&h->body, h->raw.p + head, size);
    bytes_drop(&h->raw, head + size + 2);
    h->over = size == 0;
    return !h->over;
}

/* Decodes one more piece of the body; false when it is over. */
static inline bool http_piece(struct http *h)
{
    if (h->over)
        return false;
    if (h->chunked)
        return http_chunk(h);
    if (!h->raw.n && !http_fill(h))
        return http_broke(h, "the body is cut off");
    size_t n = h->raw.n < h->left ? h->raw.n : h->left;
    bytes_add(&h->body, h->raw.p, n);
    bytes_drop(&h->raw, n);
    h->left -= n;
    h->over = h->left == 0;
    return true;
}

/* ---- events ---- */

/* Where the data of the first event begins, whose length is @p n: n if it has none. Keeps its id. */
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

/* Whether an event with data or the end of the stream comes within @p ms. */
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

#endif

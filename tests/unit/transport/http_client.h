/* A blocking HTTP client that asserts what it reads: an answer in pieces or as a whole. */
#ifndef OWL_TEST_HTTP_CLIENT_H
#define OWL_TEST_HTTP_CLIENT_H

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
    int fd;
    SSL *ssl;     /* NULL: plain */
    size_t n, at; /* of buf: filled, used */
    char buf[256 * 1024];
};

struct answer {
    int status;
    char head[4096];
    char *body;
    size_t n;
};

static inline void client_open_port(struct client *c, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons((uint16_t)port)};
    struct timeval patience = {.tv_sec = 20};
    int on = 1;
    c->n = c->at = 0;
    c->ssl = NULL;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(c->fd >= 0);
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    assert_int_equal(connect(c->fd, (struct sockaddr *)&a, sizeof(a)), 0);
}

static inline void client_close(struct client *c)
{
    SSL_free(c->ssl);
    close(c->fd);
}

/* Makes the connection a TLS one; false if the handshake fails. */
static inline bool client_secure(struct client *c, SSL_CTX *ctx)
{
    c->ssl = SSL_new(ctx);
    assert_non_null(c->ssl);
    SSL_set_fd(c->ssl, c->fd);
    return SSL_connect(c->ssl) == 1;
}

/* False if the server has closed meanwhile. */
static inline bool client_send_n(struct client *c, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = c->ssl ? SSL_write(c->ssl, p, n < INT_MAX ? (int)n : INT_MAX)
                              : send(c->fd, p, n, MSG_NOSIGNAL);
        if (sent <= 0)
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
    ssize_t n;
    do { /* a ring that libuv has closed may interrupt a wait with a time limit, without a signal */
        n = c->ssl ? SSL_read(c->ssl, c->buf + c->n, (int)(sizeof(c->buf) - c->n))
                   : recv(c->fd, c->buf + c->n, sizeof(c->buf) - c->n, 0);
    } while (n < 0 && errno == EINTR);
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

/* client.c - connections of an HTTP client: see client.h. */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 1024 * 1024, PORTS = 20000 };

void (*on_body_bytes)(struct conn *c, const char *bytes, size_t n);

void fail(const char *what)
{
    fprintf(stderr, "bench: %s: %s\n", what, errno != 0 ? strerror(errno) : "unexpected answer");
    exit(1);
}

double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- answers ---- */

static int on_header_field(llhttp_t *parser, const char *at, size_t len)
{
    struct conn *c = parser->data;
    static const char name[] = "mcp-session-id";
    bool is_session = len == sizeof(name) - 1 && strncasecmp(at, name, len) == 0;
    c->header = is_session ? SESSION_HEADER : OTHER_HEADER;
    if (is_session)
        c->session[0] = '\0';
    return 0;
}

static int on_header_value(llhttp_t *parser, const char *at, size_t len)
{
    struct conn *c = parser->data;
    if (c->header != SESSION_HEADER)
        return 0;
    size_t had = strlen(c->session);
    if (had + len >= sizeof(c->session))
        return -1;
    memcpy(c->session + had, at, len);
    c->session[had + len] = '\0';
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct conn *c = parser->data;
    if (c->body_len < sizeof(c->body) - 1) {
        size_t room = sizeof(c->body) - 1 - c->body_len;
        memcpy(c->body + c->body_len, at, len < room ? len : room);
    }
    c->body_len += len;
    c->body[c->body_len < sizeof(c->body) ? c->body_len : sizeof(c->body) - 1] = '\0';
    if (on_body_bytes != NULL)
        on_body_bytes(c, at, len);
    return 0;
}

static int on_message_begin(llhttp_t *parser)
{
    struct conn *c = parser->data;
    c->body_len = 0;
    c->body[0] = '\0';
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct conn *c = parser->data;
    c->complete = true;
    return 0;
}

static const llhttp_settings_t *settings(void)
{
    static llhttp_settings_t s;
    if (s.on_body == NULL) {
        llhttp_settings_init(&s);
        s.on_message_begin = on_message_begin;
        s.on_header_field = on_header_field;
        s.on_header_value = on_header_value;
        s.on_body = on_body;
        s.on_message_complete = on_message_complete;
    }
    return &s;
}

bool conn_receive(struct conn *c)
{
    static char bytes[READ_BYTES];
    ssize_t n = read(c->fd, bytes, sizeof(bytes));
    if (n <= 0)
        fail("read");
    errno = 0;
    if (llhttp_execute(&c->parser, bytes, (size_t)n) != HPE_OK)
        fail("the answer is not HTTP");
    return c->complete;
}

void conn_expect(const struct conn *c, int status)
{
    if (c->parser.status_code != status) {
        fprintf(stderr, "bench: status %d instead of %d: %s\n", c->parser.status_code, status,
                c->body);
        exit(1);
    }
}

/* ---- requests ---- */

void conn_open(struct conn *c, int port, size_t index)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(index / PORTS));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1;
    memset(c, 0, sizeof(*c));
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        fail("socket");
    setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
    if (bind(c->fd, (struct sockaddr *)&from, sizeof(from)) != 0 ||
        connect(c->fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    llhttp_init(&c->parser, HTTP_RESPONSE, settings());
    c->parser.data = c;
}

void request_make(struct request *r, const char *method, int port, const char *lines,
                  const char *body)
{
    int n = snprintf(r->bytes, sizeof(r->bytes),
                     "%s /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                     "Accept: application/json, text/event-stream\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n%s",
                     method, port, strlen(body), lines, body);
    errno = 0;
    if (n < 0 || (size_t)n >= sizeof(r->bytes))
        fail("a request is too long");
    r->len = (size_t)n;
}

void conn_send(struct conn *c, const struct request *r)
{
    c->complete = false;
    if (write(c->fd, r->bytes, r->len) != (ssize_t)r->len)
        fail("write");
}

void conn_send_legacy(struct conn *c, int port, const char *method, const char *body)
{
    struct request r;
    char lines[160] = "";
    if (c->session[0] != '\0')
        snprintf(lines, sizeof(lines), "MCP-Protocol-Version: " LEGACY "\r\nMcp-Session-Id: %s\r\n",
                 c->session);
    request_make(&r, method, port, lines, body);
    conn_send(c, &r);
}

/* load.c - a load generator: keep-alive connections that call `echo`, one request at a time.
 *
 * usage: load PORT CONNECTIONS REQUESTS      prints the seconds that the requests took
 *
 * Every answer is checked: its status is 200 and the message is in it. One thread, epoll. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_BYTES = 16 * 1024, MAX_EVENTS = 64 };

#define MESSAGE "The quick brown owl jumps over the lazy dog, and \\\"echoes\\\" what it is told."

static const char body[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
    "\"arguments\":{\"message\":\"" MESSAGE "\"},\"_meta\":{"
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"load\",\"version\":\"1\"},"
    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";

struct conn {
    int fd;
    size_t len;
    char answer[ANSWER_BYTES];
};

struct load {
    char request[2048];
    size_t request_len;
    unsigned long to_send, to_receive;
};

static void fail(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, errno != 0 ? strerror(errno) : "unexpected answer");
    exit(1);
}

static int open_connection(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

/* A request fits the socket's buffer, so that a blocking write never waits. */
static void send_request(struct load *l, const struct conn *c)
{
    if (l->to_send == 0)
        return;
    if (write(c->fd, l->request, l->request_len) != (ssize_t)l->request_len)
        fail("write");
    l->to_send--;
}

/* Whether the answer is complete; ends the program if it is not the one that was expected. */
static bool answer_complete(struct conn *c)
{
    c->answer[c->len] = '\0';
    const char *end = strstr(c->answer, "\r\n\r\n");
    if (end == NULL)
        return false;
    const char *length = strcasestr(c->answer, "\r\ncontent-length:");
    errno = 0;
    if (strncmp(c->answer, "HTTP/1.1 200", 12) != 0 || length == NULL || length > end)
        fail("answer");
    size_t whole = (size_t)(end + 4 - c->answer) + strtoul(length + 17, NULL, 10);
    if (c->len < whole)
        return false;
    if (c->len > whole || strstr(end, MESSAGE) == NULL)
        fail("answer");
    return true;
}

static void receive(struct load *l, struct conn *c)
{
    ssize_t n = read(c->fd, c->answer + c->len, sizeof(c->answer) - 1 - c->len);
    if (n <= 0)
        fail("read");
    c->len += (size_t)n;
    if (answer_complete(c)) {
        c->len = 0;
        l->to_receive--;
        send_request(l, c);
    }
}

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void run(struct load *l, struct conn *conns, unsigned long n)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned long i = 0; i < n; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &conns[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, conns[i].fd, &event) != 0)
            fail("epoll");
        send_request(l, &conns[i]);
    }
    while (l->to_receive > 0) {
        struct epoll_event events[MAX_EVENTS];
        int ready = epoll_wait(epoll, events, MAX_EVENTS, 10000);
        if (ready <= 0)
            fail("no answer for 10 s");
        for (int i = 0; i < ready; i++)
            receive(l, events[i].data.ptr);
    }
    close(epoll);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: load PORT CONNECTIONS REQUESTS\n");
        return 2;
    }
    int port = (int)strtol(argv[1], NULL, 10);
    unsigned long n = strtoul(argv[2], NULL, 10);
    struct load l = {.to_send = strtoul(argv[3], NULL, 10)};
    l.to_receive = l.to_send;
    l.request_len = (size_t)snprintf(
        l.request, sizeof(l.request),
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        "Mcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: %zu\r\n\r\n%s",
        port, sizeof(body) - 1, body);

    struct conn *conns = calloc(n, sizeof(*conns));
    if (conns == NULL || l.request_len >= sizeof(l.request))
        fail("out of memory");
    for (unsigned long i = 0; i < n; i++)
        conns[i].fd = open_connection(port);
    double started = now();
    run(&l, conns, n);
    printf("%.6f\n", now() - started);
    free(conns);
    return 0;
}

/* load.c - a load generator: keep-alive connections, one request at a time on each.
 *
 * usage: load PORT CONNECTIONS REQUESTS [echo | list | session [spin]]
 *
 *   echo      modern calls of the tool `echo`; the default
 *   list      modern tools/list
 *   session   legacy sessions: initialize, initialized, a call of `echo` and DELETE count as four
 *   spin      never sleep while there is no answer: a server that is slow enough for the generator
 *             to sleep would also pay for waking it up, with every answer
 *
 * Prints the seconds that the requests took. Every answer is checked: its status, and that the
 * message is in it, or that it is as long as the first one. One thread, epoll. */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { MAX_EVENTS = 64 };

#define MESSAGE "The quick brown owl jumps over the lazy dog, and \\\"echoes\\\" what it is told."

#define CALL(more) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"," \
    "\"arguments\":{\"message\":\"" MESSAGE "\"}" more "}}"
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" MODERN_META "}}"

enum kind { ECHO, LISTING, SESSION };

struct load {
    int port;
    enum kind kind;
    bool spin;
    struct request request; /* the one and only, but for sessions */
    size_t list_len;        /* of the first answer */
    unsigned long to_send, to_receive;
};

/* What a session is from its beginning to its end. */
static const struct {
    const char *method, *body;
    int status;
} script[] = {
    {"POST", INITIALIZE, 200},
    {"POST", INITIALIZED, 202},
    {"POST", CALL(""), 200},
    {"DELETE", "", 200},
};

enum { STEPS = sizeof(script) / sizeof(script[0]), CALL_STEP = 2 };

static void send_request(struct load *l, struct conn *c)
{
    if (l->to_send == 0)
        return;
    if (l->kind == SESSION)
        conn_send_legacy(c, l->port, script[c->step].method, script[c->step].body);
    else
        conn_send(c, &l->request);
    l->to_send--;
}

static void check_answer(struct load *l, struct conn *c)
{
    errno = 0;
    conn_expect(c, l->kind == SESSION ? script[c->step].status : 200);
    if (l->list_len == 0)
        l->list_len = c->body_len;
    if (l->kind == LISTING && c->body_len != l->list_len)
        fail("the length of the list");
    if ((l->kind == ECHO || c->step == CALL_STEP) && strstr(c->body, MESSAGE) == NULL)
        fail("the message");
    if (l->kind != SESSION)
        return;
    c->step = (c->step + 1) % STEPS;
    if (c->step == 0)
        c->session[0] = '\0';
}

static int wait_ready(const struct load *l, int epoll, struct epoll_event *events)
{
    const int ms = 10000;
    if (!l->spin)
        return epoll_wait(epoll, events, MAX_EVENTS, ms);
    int ready;
    double until = now() + ms / 1e3;
    do {
        ready = epoll_wait(epoll, events, MAX_EVENTS, 0);
    } while (ready == 0 && now() < until);
    return ready;
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
        int ready = wait_ready(l, epoll, events);
        if (ready <= 0)
            fail("no answer for 10 s");
        for (int i = 0; i < ready; i++) {
            struct conn *c = events[i].data.ptr;
            if (!conn_receive(c))
                continue;
            check_answer(l, c);
            l->to_receive--;
            send_request(l, c);
        }
    }
    close(epoll);
}

static bool parse_kind(const char *name, enum kind *ret)
{
    static const char *const names[] = {[ECHO] = "echo", [LISTING] = "list", [SESSION] = "session"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret = (enum kind)i;
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    struct load l = {.kind = ECHO};
    l.spin = argc == 6 && strcmp(argv[5], "spin") == 0;
    if (argc < 4 || argc > 5 + l.spin || (argc > 4 && !parse_kind(argv[4], &l.kind))) {
        fprintf(stderr, "usage: load PORT CONNECTIONS REQUESTS [echo | list | session [spin]]\n");
        return 2;
    }
    l.port = (int)strtol(argv[1], NULL, 10);
    unsigned long n = strtoul(argv[2], NULL, 10);
    l.to_send = l.to_receive = strtoul(argv[3], NULL, 10);
    if (l.kind == ECHO)
        request_make(&l.request, "POST", l.port,
                     "MCP-Protocol-Version: " MODERN "\r\nMcp-Method: tools/call\r\n"
                     "Mcp-Name: echo\r\n",
                     CALL("," MODERN_META));
    else if (l.kind == LISTING)
        request_make(&l.request, "POST", l.port,
                     "MCP-Protocol-Version: " MODERN "\r\nMcp-Method: tools/list\r\n", LIST);

    struct conn *conns = calloc(n, sizeof(*conns));
    if (conns == NULL)
        fail("out of memory");
    for (unsigned long i = 0; i < n; i++)
        conn_open(&conns[i], l.port, i);
    double started = now();
    run(&l, conns, n);
    printf("%.6f\n", now() - started);
    free(conns);
    return 0;
}

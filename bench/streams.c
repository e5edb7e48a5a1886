/* streams.c - very many open event streams, and a change that all of them hear of.
 *
 * usage: streams PORT N modern | legacy
 *
 * A modern stream is a subscriptions/listen, a legacy one the GET of a session of its own. When all
 * are open it prints the seconds that this took; for every line of its input it calls the tool
 * `change` and prints the seconds until the last stream has heard of it. One thread, epoll. */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { MAX_EVENTS = 256, AT_ONCE = 256, OPEN = 3 /* the step of a stream that is open */ };

static struct {
    int port, epoll;
    bool legacy;
    size_t n, begun, opened, heard;
    struct request listen;
    struct conn *conns;
} all;

/* Whether the stream has now seen all of @p text, whose first character comes only once in it. */
static bool has_seen(struct conn *c, const char *text, const char *bytes, size_t n)
{
    bool seen = false;
    for (size_t i = 0; i < n; i++) {
        c->found = bytes[i] == text[c->found] ? c->found + 1 : bytes[i] == text[0];
        if (text[c->found] == '\0') {
            seen = true;
            c->found = 0;
        }
    }
    return seen;
}

static void on_bytes(struct conn *c, const char *bytes, size_t n)
{
    if (c->step == OPEN) {
        all.heard += has_seen(c, "/list_changed", bytes, n);
        return;
    }
    bool is_open = all.legacy ? c->step == 2 /* what comes after the head */
                              : has_seen(c, "/acknowledged", bytes, n);
    if (is_open) {
        conn_expect(c, 200);
        c->step = OPEN;
        all.opened++;
    }
}

static void send_step(struct conn *c)
{
    static const struct {
        const char *method, *body;
    } script[] = {{"POST", INITIALIZE}, {"POST", INITIALIZED}, {"GET", ""}};
    if (all.legacy)
        conn_send_legacy(c, all.port, script[c->step].method, script[c->step].body);
    else
        conn_send(c, &all.listen);
}

static void begin_one(void)
{
    struct conn *c = &all.conns[all.begun];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    conn_open(c, all.port, all.begun++);
    if (epoll_ctl(all.epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
        fail("epoll");
    send_step(c);
}

static void turn(void)
{
    struct epoll_event events[MAX_EVENTS];
    int ready = epoll_wait(all.epoll, events, MAX_EVENTS, 10000);
    if (ready <= 0)
        fail("nothing comes for 10 s");
    for (int i = 0; i < ready; i++) {
        struct conn *c = events[i].data.ptr;
        if (!conn_receive(c))
            continue;
        errno = 0;
        if (!all.legacy || c->step >= 2)
            fail(c->body);
        conn_expect(c, c->step == 0 ? 200 : 202);
        c->step++;
        send_step(c);
    }
}

static void open_all(void)
{
    while (all.opened < all.n) {
        while (all.begun < all.n && all.begun - all.opened < AT_ONCE)
            begin_one();
        turn();
    }
}

/* The change is asked for on a connection of its own, which nobody waits for until the end. */
static void change(struct conn *c, const struct request *r)
{
    all.heard = 0;
    conn_send(c, r);
    while (all.heard < all.n)
        turn();
    while (!conn_receive(c))
        ;
    conn_expect(c, 200);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: streams PORT N modern | legacy\n");
        return 2;
    }
    struct conn control;
    struct request call;
    raise_descriptors();
    on_body_bytes = on_bytes;
    all.port = (int)strtol(argv[1], NULL, 10);
    all.n = strtoul(argv[2], NULL, 10);
    all.legacy = strcmp(argv[3], "legacy") == 0;
    all.epoll = epoll_create1(EPOLL_CLOEXEC);
    all.conns = calloc(all.n, sizeof(*all.conns));
    if (all.conns == NULL)
        fail("out of memory");
    request_make(&all.listen, "POST", all.port,
                 "MCP-Protocol-Version: " MODERN "\r\nMcp-Method: subscriptions/listen\r\n",
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
                 "\"notifications\":{\"toolsListChanged\":true}," MODERN_META "}}");
    request_make(&call, "POST", all.port,
                 "MCP-Protocol-Version: " MODERN "\r\nMcp-Method: tools/call\r\n"
                 "Mcp-Name: change\r\n",
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"change\",\"arguments\":{}," MODERN_META "}}");

    double started = now();
    open_all();
    printf("%.6f\n", now() - started);
    fflush(stdout);
    conn_open(&control, all.port, all.n);
    while (getchar() == '\n') {
        started = now();
        change(&control, &call);
        printf("%.6f\n", now() - started);
        fflush(stdout);
    }
    free(all.conns);
    return 0;
}

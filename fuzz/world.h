/* fuzz/world.h - a server in this process whose clock, chance and threads a fuzz target holds.
 *
 * The loop turns only in world_turn(), when all workers rest: what a program of messages does, it
 * does again. */
#ifndef OWL_FUZZ_WORLD_H
#define OWL_FUZZ_WORLD_H

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "call/ask.h"
#include "fuzz/clock.h"
#include "fuzz/offers.h"
#include "reactor/internal.h"
#include "server/server.h"
#include "transport/http1_conn.h"

/* ---- the server ---- */

enum { WORLD_PATIENCE_MS = 600000 }; /* the longest that anything waits by itself */

static struct world {
    owl_server *server;
    struct owl_reactor *reactor;
    int fd; /* readable when the loop has something to do */
} world;

static void world_open(void)
{
    owl_error e = {0};
    owl_server_options o = OWL_SERVER_OPTIONS("fuzz", "1");
    owl_limits limits = OWL_LIMITS;
    limits.session_idle_ms = limits.task_ms = limits.question_ms = WORLD_PATIENCE_MS;
    o.workers = 1;
    o.page_items = 2;
    o.limits = &limits;
    int rc = owl_server_new(&o, &world.server, &e);
    if (rc == 0)
        rc = offers_add(world.server, &e);
    if (rc == 0)
        rc = owl_server_listen(world.server, "127.0.0.1:0", &e);
    if (rc == 0)
        rc = world.fd = owl_server_fd(world.server, &e);
    if (rc < 0) {
        fprintf(stderr, "no server: %s\n", e.message);
        exit(1);
    }
    world.reactor = owl_runtime_at(world.server->env.runtime, 0);
}

static bool world_working(void)
{
    struct owl_runtime *rt = world.server->env.runtime;
    pthread_mutex_lock(&rt->mu);
    bool working = rt->queued > 0 || rt->workers_free < rt->workers_live;
    pthread_mutex_unlock(&rt->mu);
    return working;
}

/* One turn of the loop, once all workers rest. False: it has ended. */
static bool world_turn(void)
{
    while (world_working())
        sched_yield();
    return owl_server_step(world.server) == 1;
}

/* Whether a turn would do anything. */
static bool world_ready(void)
{
    struct pollfd p = {.fd = world.fd, .events = POLLIN};
    return world_working() || owl_server_poll_ms(world.server) == 0 || poll(&p, 1, 0) > 0;
}

/* ---- on the reactor ---- */

struct errand {
    struct owl_msg msg;
    void (*run)(int fd);
    int fd;
};

static void errand_run(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct errand *e = OWL_CONTAINER(m, struct errand, msg);
    e->run(e->fd);
}

/* Runs it on the reactor, in this call. */
static void world_do(void (*run)(int fd), int fd)
{
    struct errand e = {.msg.run = errand_run, .run = run, .fd = fd};
    bool posted = owl_post(world.reactor, &e.msg);
    OWL_ASSERT(posted && world_turn());
}

static void accept_http(int fd)
{
    static struct owl_http_port port;
    port = (struct owl_http_port){.http = world.server->http};
    owl_reactor_load_add(world.reactor, 1);
    owl_http_accept(&port, world.reactor, fd, NULL);
}

static void open_stdio(int fd)
{
    world.server->stdio_in = world.server->stdio_out = fd;
    OWL_ASSERT(owl_stdio_peer_open(world.server, NULL) == 0);
}

static void close_stdio(int fd)
{
    (void)fd;
    owl_stdio_peer_close(world.server, NULL);
}

static void end_streams(int fd)
{
    (void)fd;
    owl_subs_end(world.server, world.reactor);
    owl_sse_leave(world.server, world.reactor);
}

/* The client's end of a connection of its own; over HTTP, or the one on stdio. */
static int world_connect(bool http)
{
    int pair[2];
    OWL_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    world_do(http ? accept_http : open_stdio, pair[1]);
    if (!http)
        close(pair[1]); /* the server has a duplicate */
    return pair[0];
}

/* ---- what is left when nobody is there any more: nothing ---- */

static void world_check_empty(void)
{
    struct owl_server *s = world.server;
    struct owl_call_local *l = owl_call_local(&s->env, world.reactor);
    OWL_ASSERT(l->n_calls == 0 && owl_list_empty(&l->calls));
    OWL_ASSERT(l->in_flight.n == 0 && l->asked.n == 0 && l->parked.n == 0);
    OWL_ASSERT(owl_list_empty(&l->park_order));
    OWL_ASSERT(l->tasks.n == 0 && owl_list_empty(&owl_server_local(s, world.reactor)->subs));
    OWL_ASSERT(owl_list_empty(&owl_server_local(s, world.reactor)->sse_peers));
    OWL_ASSERT(owl_list_empty(&s->http->shards[0]->conns));
    OWL_ASSERT(owl_reactor_load(world.reactor) == 0);
    OWL_ASSERT(owl_sessions_count(s->sessions) == 0);
    OWL_ASSERT(owl_replay_table_bytes(s->replays) == 0 && atomic_load(&s->streams.taken) == 0);
}

/* For a thread of the runtime's own, which closes it. In several waits: a machine that stood still
 * for a minute lets time pass, not threads, and the alarm of the fuzzer ends each early. */
static void world_wait(void)
{
    struct pollfd p = {.fd = world.fd, .events = POLLIN};
    int ready = 0;
    for (int waits = 0; ready <= 0 && waits < 20; waits++)
        ready = poll(&p, 1, 6000);
    OWL_ASSERT(ready == 1);
}

/* After owl_server_stop() or the end of stdio: to the end, and free. */
static void world_close(void (*read_all)(void))
{
    bool alive = true;
    for (unsigned turns = 0; alive && turns < 2000; turns++) {
        alive = world_turn();
        read_all();
        if (!alive || world_ready())
            continue;
        if (world.server->env.runtime->stopping)
            world_wait();
        else
            clock_wait(50);
    }
    OWL_ASSERT(!alive);
    owl_server_free(world.server);
    world = (struct world){.server = NULL};
}

#endif

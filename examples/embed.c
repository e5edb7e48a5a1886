/* embed.c - an MCP server inside a program that has a poll() loop of its own.
 *
 * The program counts seconds; its tool `ticks` tells how many. The handler is inline, so
 * that everything happens on the main thread and the counter needs no lock.
 *
 * usage: embed [--port N]      then e.g. `hello-server` shows how to call a tool */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* signalfd, timerfd */
#endif

#include <owlclaw/owlclaw.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct program {
    owl_server *server;
    unsigned long ticks;
};

static int ticks(owl_call *call, void *data)
{
    const struct program *p = (const struct program *)data;
    return owl_result_textf(call, "%lu", p->ticks);
}

static int set_up(struct program *p, const char *port, owl_error *reterr)
{
    owl_server_options options = OWL_SERVER_OPTIONS("embed", "1.0");
    owl_tool tool = OWL_TOOL("ticks", "How many seconds the program has been running.", NULL,
                             ticks);
    tool.data = p;
    tool.flags = OWL_INLINE; /* runs within owl_server_step() */

    int rc = owl_server_new(&options, &p->server, reterr);
    if (rc == 0)
        rc = owl_server_add_tool(p->server, &tool, reterr);
    if (rc == 0)
        rc = owl_server_listen(p->server, port, reterr);
    return rc;
}

static int open_ticker(void)
{
    const struct itimerspec every_second = {{1, 0}, {1, 0}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0)
        timerfd_settime(fd, 0, &every_second, NULL);
    return fd;
}

/* Signals become readable beside everything else. They are blocked first, in all threads to come,
 * so that none of them interrupts anything. */
static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void loop(struct program *p, int server_fd, int tick_fd, int signal_fd)
{
    struct pollfd fds[] = {{server_fd, POLLIN, 0}, {tick_fd, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    do {
        if (poll(fds, 3, owl_server_poll_ms(p->server)) < 0 && errno != EINTR)
            break;
        struct signalfd_siginfo received;
        if (read(signal_fd, &received, sizeof(received)) == sizeof(received))
            owl_server_stop(p->server); /* goes on until what runs is finished */
        uint64_t passed;
        if (read(tick_fd, &passed, sizeof(passed)) == sizeof(passed))
            p->ticks += passed;
    } while (owl_server_step(p->server) == 1);
}

int main(int argc, char **argv)
{
    bool has_port = argc == 3 && strcmp(argv[1], "--port") == 0;
    if (argc != 1 && !has_port) {
        bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
        fprintf(help ? stdout : stderr, "usage: embed [--port N]\n");
        return help ? 0 : 2;
    }

    struct program p = {0};
    owl_error error = {0};
    int signal_fd = open_signals();
    int tick_fd = open_ticker();
    int server_fd = -1;
    if (set_up(&p, has_port ? argv[2] : "8080", &error) == 0)
        server_fd = owl_server_fd(p.server, &error);
    if (server_fd < 0 || tick_fd < 0 || signal_fd < 0) {
        fprintf(stderr, "embed: %s\n", server_fd < 0 ? error.message : strerror(errno));
        return 1;
    }
    fprintf(stderr, "listening on http://127.0.0.1:%d/mcp\n", owl_server_port(p.server));
    loop(&p, server_fd, tick_fd, signal_fd);
    owl_server_free(p.server);
    close(tick_fd);
    close(signal_fd);
    return 0;
}

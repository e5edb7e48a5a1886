/* everything-server.c - a server with every kind of tool, resource and prompt, to try clients on.
 *
 * everything/options.c has its command line.
 *
 * Over HTTP it prints one line with its URL to standard error, or with the address of a Unix socket
 * ("unix:/path"), for each that it listens on; port 0 picks a free one. It stops gracefully on
 * SIGINT and SIGTERM, on stdio also at the end of input; with TLS it reads the files again on
 * SIGHUP. */
#include "everything/everything.h"
#include "everything/options.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void print_log(void *data, owl_level level, const char *line)
{
    (void)data;
    (void)level;
    fprintf(stderr, "everything-server: %s\n", line);
}

static int set_up(owl_server **ret_server, const struct options *o, owl_error *reterr)
{
    owl_server_options options = o->server;
    options.title = "Everything";
    options.instructions = "Every tool tries one thing that a client must cope with.";
    options.log = print_log;
    options.log_level = OWL_LEVEL_WARNING;

    int (*const parts[])(owl_server *, owl_error *) = {
        add_content_tools, add_runtime_tools, add_asking_tools, add_task_tools,
        add_resources,     add_prompts,       add_skills,
    };
    int rc = owl_server_new(&options, ret_server, reterr);
    for (size_t i = 0; rc == 0 && i < COUNT_OF(parts); i++)
        rc = parts[i](*ret_server, reterr);
    if (rc == 0 && o->stdio)
        return owl_server_serve_fds(*ret_server, 0, 1, reterr);
    for (size_t i = 0; rc == 0 && i < o->n_addresses; i++)
        rc = options_want_tls(o)
                 ? owl_server_listen_tls(*ret_server, o->addresses[i], &o->tls, reterr)
                 : owl_server_listen(*ret_server, o->addresses[i], reterr);
    return rc;
}

/* Where it listens. Of several ports that were picked only the first is known. */
static void print_addresses(const owl_server *server, const struct options *o)
{
    char picked[16];
    int port = owl_server_port(server);
    snprintf(picked, sizeof(picked), "%d", port);
    for (size_t i = 0; i < o->n_addresses; i++) {
        const char *address = o->addresses[i];
        const char *colon = strrchr(address, ':');
        if (strncmp(address, "unix:", 5) == 0) {
            fprintf(stderr, "listening on %s\n", address);
            continue;
        }
        fprintf(stderr, "listening on http%s://%.*s:%s/mcp\n", options_want_tls(o) ? "s" : "",
                colon != NULL ? (int)(colon - address) : 9, colon != NULL ? address : "127.0.0.1",
                port != 0       ? picked
                : colon != NULL ? colon + 1
                                : address);
        port = 0;
    }
    fflush(stderr);
}

/* A thread waits for signals. Every other thread blocks them, so that none is interrupted. */
struct signals {
    sigset_t set;
    owl_server *server;
    atomic_bool over;
    pthread_t thread;
};

/* To be called before there are threads: they inherit what is blocked. */
static void hold_signals(struct signals *s, bool hangup)
{
    sigemptyset(&s->set);
    if (hangup)
        sigaddset(&s->set, SIGHUP);
    sigaddset(&s->set, SIGINT);
    sigaddset(&s->set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &s->set, NULL);
}

static void *take_signals(void *data)
{
    struct signals *s = data;
    int signo;
    while (sigwait(&s->set, &signo) == 0 && !atomic_load(&s->over)) {
        if (signo != SIGHUP) {
            owl_server_stop(s->server);
            continue;
        }
        owl_error error = {0};
        int rc = owl_server_reload_tls(s->server, &error);
        fprintf(stderr, "everything-server: %s\n", rc == 0 ? "reloaded" : error.message);
    }
    return NULL;
}

/* Of a server that has ended: nobody must signal it any more. */
static void end_signals(struct signals *s)
{
    atomic_store(&s->over, true);
    pthread_kill(s->thread, SIGINT);
    pthread_join(s->thread, NULL);
}

/* From the start to the end of the server. */
static int serve(owl_server *server, const struct options *o, struct signals *signals,
                 owl_error *reterr)
{
    int rc = owl_server_start(server, reterr);
    if (rc != 0)
        return rc;
    signals->server = server;
    rc = pthread_create(&signals->thread, NULL, take_signals, signals);
    if (rc != 0) {
        snprintf(reterr->message, sizeof(reterr->message), "no thread: %s", strerror(rc));
        return rc;
    }
    if (!o->stdio)
        print_addresses(server, o);
    rc = owl_server_join(server);
    end_signals(signals);
    return rc;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct options o;
    if (!options_parse(argv, &o))
        return 2;
    if (o.help)
        return 0;

    struct signals signals = {.over = false};
    owl_server *server = NULL;
    owl_error error = {0};
    hold_signals(&signals, options_want_tls(&o));
    int rc = set_up(&server, &o, &error);
    if (rc == 0)
        rc = serve(server, &o, &signals, &error);
    if (rc != 0)
        fprintf(stderr, "%s: %s\n", argv[0], error.message);
    owl_server_free(server);
    return rc == 0 ? 0 : 1;
}

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

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Set before the signal handlers are installed, and never again. */
static owl_server *running;

static void on_signal(int signo)
{
    (void)signo;
    owl_server_stop(running);
}

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

static void stop_on_signals(owl_server *server)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    running = server;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Signals that are waited for, by the one below. */
static sigset_t hold_signals(void)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGHUP);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, NULL);
    return held;
}

/* For as long as the server runs. Reading files is nothing that a signal handler may do. */
static void reload_on_hangup(owl_server *server, const sigset_t *held)
{
    int signo = SIGHUP;
    while (sigwait(held, &signo) == 0 && signo == SIGHUP) {
        owl_error error = {0};
        int rc = owl_server_reload_tls(server, &error);
        fprintf(stderr, "everything-server: %s\n", rc == 0 ? "reloaded" : error.message);
    }
    owl_server_stop(server);
}

int main(int argc, char **argv)
{
    (void)argc;
    struct options o;
    if (!options_parse(argv, &o))
        return 2;

    sigset_t held;
    owl_server *server = NULL;
    owl_error error = {0};
    if (options_want_tls(&o))
        held = hold_signals();
    int rc = set_up(&server, &o, &error);
    if (rc == 0) {
        stop_on_signals(server);
        rc = owl_server_start(server, &error);
    }
    if (rc == 0 && !o.stdio)
        print_addresses(server, &o);
    if (rc == 0 && options_want_tls(&o))
        reload_on_hangup(server, &held);
    if (rc == 0)
        rc = owl_server_join(server);
    else
        fprintf(stderr, "%s: %s\n", argv[0], error.message);
    owl_server_free(server);
    return rc == 0 ? 0 : 1;
}

/* everything-server.c - a server with every kind of tool, resource and prompt, to try clients on.
 *
 * usage: everything-server [--stdio | --port N] [--listen ADDRESS]... [--revisions LIST]
 *                          [--reactors N] [--max-per-peer N] [--trusted-proxies LIST]
 *                          [--tls-cert FILE --tls-key FILE [--tls-client-ca FILE]] [--cors ORIGINS]
 *
 * Over HTTP it prints one line with its URL to standard error, or with the address of a Unix socket
 * ("unix:/path"), for each that it listens on; port 0 picks a free one. It stops gracefully on
 * SIGINT and SIGTERM, on stdio also at the end of input; with TLS it reads the files again on
 * SIGHUP. */
#include "everything/everything.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ADDRESSES = 8 };

struct options {
    bool stdio;
    const char *addresses[MAX_ADDRESSES];
    size_t n_addresses;
    const char *revisions;
    const char *trusted_proxies;
    owl_limits limits;
    const char *cors;
    unsigned reactors;
    unsigned page_items; /* for tests of pagination */
    owl_tls_options tls; /* without a certificate: plain HTTP */
};

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

static bool parse_unsigned(const char *text, unsigned max, unsigned *ret)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value > max)
        return false;
    *ret = (unsigned)value;
    return true;
}

/* Takes one option and its value; how many arguments it used, or 0 if it is none. */
static int parse_option(char *const *args, struct options *o)
{
    unsigned number;
    if (strcmp(args[0], "--stdio") == 0) {
        o->stdio = true;
        return 1;
    }
    if (args[1] == NULL)
        return 0;
    if ((strcmp(args[0], "--listen") == 0 ||
         (strcmp(args[0], "--port") == 0 && parse_unsigned(args[1], 65535, &number))) &&
        o->n_addresses < MAX_ADDRESSES) {
        o->addresses[o->n_addresses++] = args[1];
        return 2;
    }
    if (strcmp(args[0], "--trusted-proxies") == 0) {
        o->trusted_proxies = args[1];
        return 2;
    }
    if (strcmp(args[0], "--max-per-peer") == 0 && parse_unsigned(args[1], UINT_MAX, &number)) {
        o->limits.connections_per_peer = number;
        return 2;
    }
    if (strcmp(args[0], "--revisions") == 0) {
        o->revisions = args[1];
        return 2;
    }
    if (strcmp(args[0], "--cors") == 0) {
        o->cors = args[1];
        return 2;
    }
    if (strcmp(args[0], "--reactors") == 0 && parse_unsigned(args[1], 1024, &o->reactors))
        return 2;
    if (strcmp(args[0], "--page-items") == 0 && parse_unsigned(args[1], UINT_MAX, &o->page_items))
        return 2;
    return 0;
}

/* The same for the files of TLS. */
static int parse_tls(char *const *args, owl_tls_options *tls)
{
    if (args[1] == NULL)
        return 0;
    if (strcmp(args[0], "--tls-cert") == 0)
        tls->cert_file = args[1];
    else if (strcmp(args[0], "--tls-key") == 0)
        tls->key_file = args[1];
    else if (strcmp(args[0], "--tls-client-ca") == 0)
        tls->client_ca_file = args[1];
    else
        return 0;
    return 2;
}

static bool wants_tls(const struct options *o)
{
    return !o->stdio && (o->tls.cert_file || o->tls.key_file || o->tls.client_ca_file);
}

static bool parse_options(char **argv, struct options *o)
{
    for (char **args = argv + 1; *args != NULL;) {
        int used = parse_option(args, o);
        if (used == 0)
            used = parse_tls(args, &o->tls);
        if (used == 0)
            return false;
        args += used;
    }
    if (o->n_addresses == 0)
        o->addresses[o->n_addresses++] = "8080";
    return true;
}

static int set_up(owl_server **ret_server, const struct options *o, owl_error *reterr)
{
    owl_server_options options = OWL_SERVER_OPTIONS("everything-server", owl_version());
    options.title = "Everything";
    options.instructions = "Every tool tries one thing that a client must cope with.";
    options.revisions = o->revisions;
    options.cors_origins = o->cors;
    options.reactors = o->reactors;
    options.page_items = o->page_items;
    options.limits = &o->limits;
    options.trusted_proxies = o->trusted_proxies;
    options.log = print_log;
    options.log_level = OWL_LEVEL_WARNING;

    int (*const parts[])(owl_server *, owl_error *) = {
        add_content_tools, add_runtime_tools, add_asking_tools,
        add_task_tools,    add_resources,     add_prompts,
    };
    int rc = owl_server_new(&options, ret_server, reterr);
    for (size_t i = 0; rc == 0 && i < COUNT_OF(parts); i++)
        rc = parts[i](*ret_server, reterr);
    if (rc == 0 && o->stdio)
        return owl_server_serve_fds(*ret_server, 0, 1, reterr);
    for (size_t i = 0; rc == 0 && i < o->n_addresses; i++)
        rc = wants_tls(o) ? owl_server_listen_tls(*ret_server, o->addresses[i], &o->tls, reterr)
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
        fprintf(stderr, "listening on http%s://%.*s:%s/mcp\n", wants_tls(o) ? "s" : "",
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
    struct options o = {.tls = OWL_TLS_OPTIONS(NULL, NULL), .limits = OWL_LIMITS};
    if (!parse_options(argv, &o)) {
        fprintf(stderr,
                "usage: %s [--stdio | --port N] [--listen ADDRESS]... [--revisions LIST]\n"
                "       [--reactors N] [--max-per-peer N] [--trusted-proxies LIST]\n"
                "       [--tls-cert FILE --tls-key FILE [--tls-client-ca FILE]] [--cors ORIGINS]\n",
                argv[0]);
        return 2;
    }

    sigset_t held;
    owl_server *server = NULL;
    owl_error error = {0};
    if (wants_tls(&o))
        held = hold_signals();
    int rc = set_up(&server, &o, &error);
    if (rc == 0) {
        stop_on_signals(server);
        rc = owl_server_start(server, &error);
    }
    if (rc == 0 && !o.stdio)
        print_addresses(server, &o);
    if (rc == 0 && wants_tls(&o))
        reload_on_hangup(server, &held);
    if (rc == 0)
        rc = owl_server_join(server);
    else
        fprintf(stderr, "%s: %s\n", argv[0], error.message);
    owl_server_free(server);
    return rc == 0 ? 0 : 1;
}

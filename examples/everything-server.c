/* everything-server.c - a server with every kind of tool, resource and prompt, to try clients on.
 *
 * usage: everything-server [--stdio | --port N] [--revisions LIST] [--reactors N]
 *
 * Over HTTP it prints one line with its URL to standard error; --port 0 picks a free port. It stops
 * gracefully on SIGINT and SIGTERM, on stdio also at the end of input. */
#include "everything/everything.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    bool stdio;
    const char *port;
    const char *revisions;
    unsigned reactors;
    unsigned page_items; /* for tests of pagination */
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
    unsigned port;
    if (strcmp(args[0], "--stdio") == 0) {
        o->stdio = true;
        return 1;
    }
    if (args[1] == NULL)
        return 0;
    if (strcmp(args[0], "--port") == 0 && parse_unsigned(args[1], 65535, &port)) {
        o->port = args[1];
        return 2;
    }
    if (strcmp(args[0], "--revisions") == 0) {
        o->revisions = args[1];
        return 2;
    }
    if (strcmp(args[0], "--reactors") == 0 && parse_unsigned(args[1], 1024, &o->reactors))
        return 2;
    if (strcmp(args[0], "--page-items") == 0 && parse_unsigned(args[1], UINT_MAX, &o->page_items))
        return 2;
    return 0;
}

static bool parse_options(char **argv, struct options *o)
{
    for (char **args = argv + 1; *args != NULL;) {
        int used = parse_option(args, o);
        if (used == 0)
            return false;
        args += used;
    }
    return true;
}

static int set_up(owl_server **ret_server, const struct options *o, owl_error *reterr)
{
    owl_server_options options = OWL_SERVER_OPTIONS("everything-server", owl_version());
    options.title = "Everything";
    options.instructions = "Every tool tries one thing that a client must cope with.";
    options.revisions = o->revisions;
    options.reactors = o->reactors;
    options.page_items = o->page_items;
    options.log = print_log;
    options.log_level = OWL_LEVEL_WARNING;

    int (*const parts[])(owl_server *, owl_error *) = {
        add_content_tools, add_runtime_tools, add_asking_tools,
        add_task_tools,    add_resources,     add_prompts,
    };
    int rc = owl_server_new(&options, ret_server, reterr);
    for (size_t i = 0; rc == 0 && i < COUNT_OF(parts); i++)
        rc = parts[i](*ret_server, reterr);
    if (rc == 0)
        rc = o->stdio ? owl_server_serve_fds(*ret_server, 0, 1, reterr)
                      : owl_server_listen(*ret_server, o->port, reterr);
    return rc;
}

static void stop_on_signals(owl_server *server)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    running = server;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int main(int argc, char **argv)
{
    (void)argc;
    struct options o = {.port = "8080"};
    if (!parse_options(argv, &o)) {
        fprintf(stderr, "usage: %s [--stdio | --port N] [--revisions LIST] [--reactors N]\n",
                argv[0]);
        return 2;
    }

    owl_server *server = NULL;
    owl_error error = {0};
    int rc = set_up(&server, &o, &error);
    if (rc == 0) {
        stop_on_signals(server);
        rc = owl_server_start(server, &error);
    }
    if (rc == 0 && !o.stdio) {
        fprintf(stderr, "listening on http://127.0.0.1:%d/mcp\n", owl_server_port(server));
        fflush(stderr);
    }
    if (rc == 0)
        rc = owl_server_join(server);
    else
        fprintf(stderr, "%s: %s\n", argv[0], error.message);
    owl_server_free(server);
    return rc == 0 ? 0 : 1;
}

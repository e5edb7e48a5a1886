/* server.c - the server that is measured: the tool `echo`, and as many more as one likes.
 *
 * usage: server [--reactors N] [--tools N]
 *
 * It listens on a free port of loopback and prints its URL to standard error. `echo` runs on the
 * reactor and `change` changes the list of tools; the others, --tools in all, are there to be
 * listed, on one page. Limits of number are high enough for 100,000 streams. */
#include <owlclaw/owlclaw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MANY = 100 * 1000 };

#define SCHEMA \
    "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"," \
    "\"description\":\"What is to be said again.\"}},\"required\":[\"message\"]}"

static int echo(owl_call *call, void *data)
{
    (void)data;
    const owl_json *message = owl_json_get(owl_call_args(call), "message");
    return owl_result_textn(call, owl_json_str(message, ""), owl_json_len(message));
}

static int add_tool(owl_server *server, const char *name, owl_error *reterr)
{
    owl_tool tool = OWL_TOOL(name, "Returns its message.", SCHEMA, echo);
    tool.flags = OWL_INLINE;
    return owl_server_add_tool(server, &tool, reterr);
}

/* Replaces a tool by itself: that is a change, too. */
static int change(owl_call *call, void *data)
{
    (void)data;
    owl_error error;
    if (add_tool(owl_call_server(call), "echo", &error) != 0)
        return owl_call_fail(call, "%s", error.message);
    return owl_result_text(call, "changed");
}

static int add_tools(owl_server *server, unsigned n, owl_error *reterr)
{
    char name[32];
    owl_tool tool = OWL_TOOL("change", "Changes the list of tools.", NULL, change);
    int rc = add_tool(server, "echo", reterr);
    if (rc == 0 && n > 1)
        rc = owl_server_add_tool(server, &tool, reterr);
    for (unsigned i = 2; rc == 0 && i < n; i++) {
        snprintf(name, sizeof(name), "echo_%04u", i);
        rc = add_tool(server, name, reterr);
    }
    return rc;
}

static int set_up(owl_server **ret_server, unsigned reactors, unsigned tools, owl_error *reterr)
{
    owl_limits limits = OWL_LIMITS;
    limits.connections = limits.streams = limits.listens = limits.sessions = MANY;
    owl_server_options options = OWL_SERVER_OPTIONS("bench", "1");
    options.limits = &limits;
    options.reactors = reactors;
    options.page_items = tools;
    int rc = owl_server_new(&options, ret_server, reterr);
    if (rc == 0)
        rc = add_tools(*ret_server, tools, reterr);
    if (rc == 0)
        rc = owl_server_listen(*ret_server, "127.0.0.1:0", reterr);
    return rc == 0 ? owl_server_start(*ret_server, reterr) : rc;
}

int main(int argc, char **argv)
{
    unsigned reactors = 0, tools = 1;
    for (int i = 1; i < argc; i += 2) {
        unsigned *option = strcmp(argv[i], "--reactors") == 0 ? &reactors
                           : strcmp(argv[i], "--tools") == 0  ? &tools
                                                              : NULL;
        if (option == NULL || argv[i + 1] == NULL) {
            fprintf(stderr, "usage: server [--reactors N] [--tools N]\n");
            return 2;
        }
        *option = (unsigned)strtoul(argv[i + 1], NULL, 10);
    }
    struct rlimit descriptors;
    if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
        descriptors.rlim_cur = descriptors.rlim_max;
        setrlimit(RLIMIT_NOFILE, &descriptors);
    }

    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, NULL); /* it waits for sigwait() */

    owl_server *server = NULL;
    owl_error error = {0};
    int rc = set_up(&server, reactors, tools, &error), signo;
    if (rc == 0) {
        fprintf(stderr, "listening on http://127.0.0.1:%d/mcp\n", owl_server_port(server));
        sigwait(&held, &signo);
    } else {
        fprintf(stderr, "server: %s\n", error.message);
    }
    owl_server_free(server); /* stops and joins */
    return rc == 0 ? 0 : 1;
}

/* provider.c - the same echo, answered by a handler on a worker or relayed as bytes.
 *
 * usage: provider worker|relay
 *
 * It has one reactor, listens on a free port of loopback and prints its URL to standard error. The
 * relay hands the arguments to a peer, which is a message to the reactor's own mailbox, and gives
 * back what comes: no argument is parsed, and no result is built. */
#include <owlclaw/owlclaw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "call/provider.h"
#include "server/server.h"

#define SCHEMA \
    "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},\"required\":[" \
    "\"message\"]}"

static int echo(owl_call *call, void *data)
{
    (void)data;
    const owl_json *message = owl_json_get(owl_call_args(call), "message");
    return owl_result_textn(call, owl_json_str(message, ""), owl_json_len(message));
}

struct parcel {
    struct owl_msg msg;
    struct owl_call *call; /* counted */
    size_t n;
    char text[];
};

static void on_return(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct parcel *p = OWL_CONTAINER(m, struct parcel, msg);
    struct owl_call *c = p->call;
    struct owl_given g = {.result = {p->text, p->n}, .owner = p, .release = owl_free};
    OWL_IGNORE(owl_call_give(c, &g)); /* ended meanwhile: it was released */
    owl_call_unref(c);
}

static enum owl_verdict relay(struct owl_call *c)
{
    static const char before[] = "{\"content\":[{\"type\":\"text\",\"text\":\"said\"}],"
                                 "\"structuredContent\":";
    size_t head = sizeof before - 1, n = head + c->req.arguments.n + 1;
    struct parcel *p = owl_malloc(sizeof *p + n);
    if (!p)
        return owl_call_set_failure(c, OWL_ENOMEM, "out of memory");
    *p = (struct parcel){.msg.run = on_return, .call = owl_call_ref(c), .n = n};
    memcpy(p->text, before, head);
    memcpy(p->text + head, c->req.arguments.p, c->req.arguments.n);
    p->text[n - 1] = '}';
    owl_call_await(c);
    if (!owl_post(c->reactor, &p->msg)) {
        owl_call_unref(c);
        owl_free(p);
    }
    return OWL_NEXT;
}

static void no_free(struct owl_provider *p)
{
    (void)p;
}

static int add_echo(owl_server *s, bool relayed, owl_error *reterr)
{
    static const struct owl_provider_ops ops = {.invoke = relay};
    static struct owl_provider provider = {.name = "peer", .ops = &ops, .free = no_free};
    static const char entry[] = "{\"name\":\"echo\",\"inputSchema\":" SCHEMA "}";
    if (!relayed) {
        owl_tool tool = OWL_TOOL("echo", "Returns its message.", SCHEMA, echo);
        return owl_server_add_tool(s, &tool, reterr);
    }
    atomic_init(&provider._refs, 1);
    struct owl_item_options o = {.provider = &provider};
    struct owl_update *u = owl_update_new(s->registry, &provider);
    int rc = u ? owl_update_add_raw(u, OWL_KIND_TOOL, owl_str_of(entry), &o, reterr) : -OWL_ENOMEM;
    rc = rc == 0 ? owl_update_commit(u, 1, NULL) : rc;
    owl_update_free(u);
    return rc;
}

int main(int argc, char **argv)
{
    bool relayed = argc == 2 && strcmp(argv[1], "relay") == 0;
    if (argc != 2 || (!relayed && strcmp(argv[1], "worker") != 0)) {
        fprintf(stderr, "usage: provider worker|relay\n");
        return 2;
    }
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, NULL); /* it waits for sigwait() */

    owl_server *server = NULL;
    owl_error error = {0};
    owl_server_options options = OWL_SERVER_OPTIONS("bench", "1");
    options.reactors = 1;
    int rc = owl_server_new(&options, &server, &error), signo;
    if (rc == 0)
        rc = add_echo(server, relayed, &error);
    if (rc == 0)
        rc = owl_server_listen(server, "127.0.0.1:0", &error);
    if (rc == 0)
        rc = owl_server_start(server, &error);
    if (rc == 0) {
        fprintf(stderr, "listening on http://127.0.0.1:%d/mcp\n", owl_server_port(server));
        sigwait(&held, &signo);
    } else {
        fprintf(stderr, "provider: %s\n", error.message);
    }
    owl_server_free(server); /* stops and joins */
    return rc == 0 ? 0 : 1;
}

/* server/subs.c - who hears of changes: legacy streams and modern listens.
 *
 * Threads: a subscriber lives on one reactor; a change is posted to every reactor and told there.
 * Changes of lists are gathered for a few milliseconds on reactor 0 first, so that a hundred new
 * tools are one notification. */
#include "base/alloc.h"
#include "codec/json.h"
#include "server/server.h"

enum { DEBOUNCE_MS = 10 };

struct news {
    struct owl_msg msg;
    struct owl_server *server;
    unsigned changes; /* OWL_CHANGED_* */
    size_t n;
    char uri[]; /* n bytes: this resource has changed */
};

static const struct {
    unsigned bit;
    const char *method;
} lists[] = {
    {OWL_CHANGED_TOOLS, "notifications/tools/list_changed"},
    {OWL_CHANGED_RESOURCES, "notifications/resources/list_changed"},
    {OWL_CHANGED_PROMPTS, "notifications/prompts/list_changed"},
};

void owl_subs_add(struct owl_server *s, struct owl_reactor *r, struct owl_sub *sub)
{
    owl_list_add(&owl_server_local(s, r)->subs, &sub->node);
}

void owl_subs_remove(struct owl_sub *sub)
{
    owl_list_del(&sub->node);
}

void owl_subs_end(struct owl_server *s, struct owl_reactor *r)
{
    OWL_LIST_EACH (&owl_server_local(s, r)->subs, it) {
        struct owl_sub *sub = OWL_CONTAINER(it, struct owl_sub, node);
        sub->end(sub);
    }
}

/* ---- telling one subscriber ---- */

static void notify(struct owl_sub *sub, const char *method, owl_str uri)
{
    struct owl_buf b;
    owl_buf_init(&b, 64 * 1024);
    if (!sub->call && !uri.p) { /* a legacy list_changed has no params at all */
        owl_buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"}", method);
    } else {
        owl_rpc_begin_notification(&b, owl_str_of(method));
        const char *before = "{";
        if (sub->call) {
            owl_buf_putz(&b, "{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":");
            owl_buf_puts(&b, sub->call->msg.id);
            owl_buf_putc(&b, '}');
            before = ",";
        }
        if (uri.p) {
            owl_buf_putz(&b, before);
            owl_buf_putz(&b, "\"uri\":");
            owl_json_quote(&b, uri);
        }
        owl_buf_putc(&b, '}');
        owl_rpc_end(&b);
    }
    if (b.rc == 0)
        sub->send(sub, owl_buf_str(&b));
    owl_buf_done(&b);
}

static bool wants_uri(struct owl_sub *sub, owl_str uri)
{
    if (sub->session)
        return owl_session_subscribed(sub->session, uri);
    for (size_t i = 0; i < sub->n_uris; i++)
        if (owl_str_eq(sub->uris[i], uri))
            return true;
    return false;
}

/* Whether a legacy stream has lost its session or its place as the session's one stream. */
static bool is_stale(const struct owl_sub *sub)
{
    return sub->session && (owl_session_ended(sub->session) ||
                            (sub->stream && sub->stream != owl_session_stream(sub->session)));
}

static void tell(struct owl_sub *sub, const struct news *n)
{
    if (is_stale(sub)) {
        sub->end(sub);
        return;
    }
    if (sub->session && !owl_session_initialized(sub->session))
        return;
    for (size_t i = 0; i < OWL_COUNT(lists); i++)
        if ((n->changes & lists[i].bit) && (sub->session || (sub->changes & lists[i].bit)))
            notify(sub, lists[i].method, (owl_str){NULL, 0});
    if (n->n && wants_uri(sub, (owl_str){n->uri, n->n}))
        notify(sub, "notifications/resources/updated", (owl_str){n->uri, n->n});
}

/* ---- telling all ---- */

static void on_news(struct owl_reactor *r, struct owl_msg *m)
{
    struct news *n = OWL_CONTAINER(m, struct news, msg);
    struct owl_pin *pin = n->changes ? owl_cell_pin(n->server->host.registry, r) : NULL;
    if (pin)
        owl_pin_release(pin); /* a reactor without work lets go of what was removed, too */
    OWL_LIST_EACH (&owl_server_local(n->server, r)->subs, it)
        tell(OWL_CONTAINER(it, struct owl_sub, node), n);
    owl_free(n);
}

static int post_all(struct owl_server *s, unsigned changes, owl_str uri)
{
    int rc = 0;
    for (unsigned i = 0; i < owl_runtime_count(s->host.runtime); i++) {
        struct news *n = owl_malloc(sizeof *n + uri.n);
        if (!n) {
            rc = -OWL_ENOMEM;
            continue;
        }
        *n = (struct news){.msg.run = on_news, .server = s, .changes = changes, .n = uri.n};
        memcpy(n->uri, uri.n ? uri.p : "", uri.n);
        if (!owl_post(owl_runtime_at(s->host.runtime, i), &n->msg))
            owl_free(n); /* that reactor has stopped: nobody listens there */
    }
    return rc;
}

static void on_tell(struct owl_timer *t)
{
    struct owl_server *s = OWL_CONTAINER(t, struct owl_server, tell);
    unsigned changes = atomic_exchange(&s->changed, 0);
    if (changes && post_all(s, changes, (owl_str){NULL, 0}) != 0)
        OWL_LOG(&s->log, OWL_LEVEL_ERROR, "subs",
                "out of memory: clients were not told of a change");
}

struct arm {
    struct owl_msg msg;
    struct owl_server *server;
};

static void on_arm(struct owl_reactor *r, struct owl_msg *m)
{
    struct arm *a = OWL_CONTAINER(m, struct arm, msg);
    struct owl_server *s = a->server;
    owl_free(a);
    if (!s->tell.fn)
        owl_timer_init(&s->tell, on_tell);
    if (!owl_timer_active(&s->tell))
        owl_timer_start(r, &s->tell, DEBOUNCE_MS);
}

void owl_subs_changed(struct owl_server *s, unsigned changes)
{
    if (!changes || atomic_fetch_or(&s->changed, changes))
        return; /* the timer runs, or is about to */
    struct arm *a = owl_malloc(sizeof *a);
    if (a) {
        *a = (struct arm){.msg.run = on_arm, .server = s};
        if (owl_post(owl_runtime_at(s->host.runtime, 0), &a->msg))
            return;
    }
    owl_free(a);
    atomic_store(&s->changed, 0);
}

int owl_subs_updated(struct owl_server *s, owl_str uri)
{
    return post_all(s, 0, uri);
}

void owl_subs_prune(struct owl_server *s)
{
    if (post_all(s, 0, (owl_str){NULL, 0}) != 0)
        OWL_LOG(&s->log, OWL_LEVEL_ERROR, "subs", "out of memory: a stream stays open too long");
}

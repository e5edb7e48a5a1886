/* server/subs.c - who hears of changes: legacy streams and modern listens.
 *
 * Threads: a subscriber lives on one reactor; a change is posted to every reactor and told there.
 * Changes are gathered for a few milliseconds on reactor 0 first, so that a hundred new tools are one
 * notification, and a resource that changes all the time is told of a hundred times a second. */
#include "base/alloc.h"
#include "codec/json.h"
#include "server/server.h"

enum {
    DEBOUNCE_MS = 10,
    MAX_TOUCHED = 1000, /* resources that wait to be told of */
    PER_TURN = 32       /* subscribers that are told in one turn: others want to be served, too */
};

struct news {
    struct owl_msg msg;
    struct owl_list node; /* among those of the reactor, which are told one after the other */
    struct owl_server *server;
    struct owl_buf members; /* of `params`, the same for all: what is told of the resource */
    unsigned changes;       /* OWL_CHANGED_* */
    struct owl_task *task;  /* or a task has changed; counted */
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

static struct owl_list *bucket(struct owl_server *s, struct owl_reactor *r, uint64_t serial)
{
    return &owl_server_local(s, r)->subs_of[serial % OWL_SUB_BUCKETS];
}

void owl_subs_add(struct owl_server *s, struct owl_reactor *r, struct owl_sub *sub)
{
    sub->server = s;
    sub->heard = owl_server_local(s, r)->told; /* what is being told is older than it */
    atomic_fetch_add(&s->n_subs, 1);
    owl_list_add(&owl_server_local(s, r)->subs, &sub->node);
    owl_list_init(&sub->in_session);
    if (sub->session)
        owl_list_add(bucket(s, r, owl_session_serial(sub->session)), &sub->in_session);
}

void owl_subs_remove(struct owl_sub *sub)
{
    if (owl_list_empty(&sub->node))
        return; /* it was removed, or never added */
    atomic_fetch_sub(&sub->server->n_subs, 1);
    owl_list_del(&sub->node);
    owl_list_del(&sub->in_session);
}

bool owl_streams_take(struct owl_server *s)
{
    if (atomic_fetch_add(&s->n_streams, 1u) < s->limits.streams)
        return true;
    atomic_fetch_sub(&s->n_streams, 1u);
    return false;
}

void owl_streams_give(struct owl_server *s)
{
    atomic_fetch_sub(&s->n_streams, 1u);
}

void owl_subs_end(struct owl_server *s, struct owl_reactor *r)
{
    struct owl_list *subs = &owl_server_local(s, r)->subs;
    while (!owl_list_empty(subs)) { /* one may take others with it */
        struct owl_sub *sub = OWL_CONTAINER(subs->next, struct owl_sub, node);
        sub->end(sub);
    }
}

/* ---- telling one subscriber ---- */

/* @p members are those of params, or empty. */
static void notify(struct owl_sub *sub, const char *method, owl_str members)
{
    struct owl_buf b;
    owl_buf_init(&b, members.n + 4096);
    if (!sub->call && !members.n) { /* a legacy list_changed has no params at all */
        owl_buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"}", method);
    } else {
        owl_rpc_begin_notification(&b, owl_str_of(method));
        owl_buf_putc(&b, '{');
        if (sub->call) {
            owl_buf_putz(&b, "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":");
            owl_buf_puts(&b, sub->call->msg.id);
            owl_buf_putz(&b, members.n ? "}," : "}");
        }
        owl_buf_puts(&b, members);
        owl_buf_putc(&b, '}');
        owl_rpc_end(&b);
    }
    if (b.rc == 0)
        sub->send(sub, owl_buf_str(&b));
    owl_buf_done(&b);
}

static void notify_task(struct owl_sub *sub, const struct owl_task *t)
{
    struct owl_buf members;
    enum owl_era era = sub->call ? OWL_ERA_MODERN : OWL_ERA_LEGACY;
    owl_buf_init(&members, t->payload.n + 4096);
    owl_task_write(&members, t, era, era == OWL_ERA_MODERN);
    if (members.rc == 0)
        notify(sub, sub->call ? "notifications/tasks" : "notifications/tasks/status",
               owl_buf_str(&members));
    owl_buf_done(&members);
}

static bool wants_task(const struct owl_sub *sub, const struct owl_task *t)
{
    if (sub->session)
        return owl_session_serial(sub->session) == t->session;
    for (size_t i = 0; i < sub->n_tasks; i++)
        if (owl_str_is(sub->tasks[i], t->id))
            return owl_str_eq(sub->call->principal, t->principal);
    return false;
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

static void tell(struct owl_sub *sub, const struct news *n)
{
    if (sub->session && owl_session_ended(sub->session)) {
        sub->end(sub);
        return;
    }
    if (sub->session && !owl_session_initialized(sub->session))
        return;
    for (size_t i = 0; i < OWL_COUNT(lists); i++)
        if ((n->changes & lists[i].bit) && (sub->session || (sub->changes & lists[i].bit)))
            notify(sub, lists[i].method, (owl_str){NULL, 0});
    if (n->members.n && n->members.rc == 0 && wants_uri(sub, (owl_str){n->uri, n->n}))
        notify(sub, "notifications/resources/updated", owl_buf_str(&n->members));
    if (n->task && wants_task(sub, n->task))
        notify_task(sub, n->task);
}

/* ---- telling all ---- */

static void news_free(struct news *n)
{
    owl_list_del(&n->node);
    owl_task_aunref(n->task);
    owl_buf_done(&n->members);
    owl_free(n);
}

/* Whether all have heard of it. Who has goes to the end of the list: it may change meanwhile. */
static bool tell_some(struct owl_server_local *l, const struct news *n)
{
    for (unsigned i = 0; i < PER_TURN && !owl_list_empty(&l->subs); i++) {
        struct owl_sub *sub = OWL_CONTAINER(l->subs.next, struct owl_sub, node);
        if (sub->heard == l->told)
            return true;
        sub->heard = l->told;
        owl_list_del(&sub->node);
        owl_list_add(&l->subs, &sub->node);
        tell(sub, n);
    }
    return owl_list_empty(&l->subs);
}

/* The first of the reactor's news goes on; the next one follows in a later turn. */
static void on_turn(struct owl_reactor *r, struct owl_msg *m)
{
    struct news *n = OWL_CONTAINER(m, struct news, msg);
    struct owl_server_local *l = owl_server_local(n->server, r);
    if (tell_some(l, n)) {
        news_free(n);
        if (owl_list_empty(&l->news))
            return;
        n = OWL_CONTAINER(l->news.next, struct news, node);
        l->told++;
    }
    while (!owl_post(r, &n->msg)) { /* the reactor stops: nobody listens any more */
        news_free(n);
        if (owl_list_empty(&l->news))
            return;
        n = OWL_CONTAINER(l->news.next, struct news, node);
    }
}

static void on_news(struct owl_reactor *r, struct owl_msg *m)
{
    struct news *n = OWL_CONTAINER(m, struct news, msg);
    struct owl_server_local *l = owl_server_local(n->server, r);
    struct owl_pin *pin = n->changes ? owl_cell_pin(n->server->host.registry, r) : NULL;
    if (pin)
        owl_pin_release(pin); /* a reactor without work lets go of what was removed, too */
    bool first = owl_list_empty(&l->news);
    n->msg.run = on_turn;
    owl_list_add(&l->news, &n->node);
    if (n->n) {
        owl_buf_putz(&n->members, "\"uri\":");
        owl_json_quote(&n->members, (owl_str){n->uri, n->n});
    }
    if (!first)
        return; /* its turn comes */
    l->told++;
    on_turn(r, m);
}

/* Copies of @p news, whose uri is @p uri, to every reactor. */
static int post_all(const struct news *news, owl_str uri)
{
    struct owl_server *s = news->server;
    int rc = 0;
    for (unsigned i = 0; i < owl_runtime_count(s->host.runtime); i++) {
        struct news *n = owl_malloc(sizeof *n + uri.n);
        if (!n) {
            rc = -OWL_ENOMEM;
            continue;
        }
        *n = *news;
        n->msg.run = on_news;
        owl_list_init(&n->node);
        owl_buf_init(&n->members, 64 * 1024);
        n->task = news->task ? owl_task_aref(news->task) : NULL;
        n->n = uri.n;
        memcpy(n->uri, uri.n ? uri.p : "", uri.n);
        if (!owl_post(owl_runtime_at(s->host.runtime, i), &n->msg))
            news_free(n); /* that reactor has stopped: nobody listens there */
    }
    return rc;
}

void owl_subs_task(struct owl_host *h, const struct owl_task *t)
{
    struct news news = {.server = OWL_CONTAINER(h, struct owl_server, host)};
    if (atomic_load(&news.server->n_subs) == 0)
        return;
    news.task = owl_task_new(t);
    if (!news.task || post_all(&news, (owl_str){NULL, 0}) != 0)
        OWL_LOG(&news.server->log, OWL_LEVEL_ERROR, "subs",
                "out of memory: clients were not told of a task");
    owl_task_aunref(news.task);
}

/* A resource that has changed, on its way to reactor 0 and until it is told there. */
struct touch {
    struct owl_msg msg;
    struct owl_server *server;
    struct owl_list node;
    size_t n;
    char uri[];
};

static void forget_touched(struct owl_server *s, struct touch *t)
{
    owl_map_del(&s->touched, (owl_str){t->uri, t->n});
    owl_list_del(&t->node);
    owl_free(t);
}

void owl_subs_done(struct owl_server *s)
{
    /* News that a reactor did not come to before it ended; a start that failed has made no lists. */
    for (unsigned i = 0; s->local && i < owl_runtime_count(s->host.runtime); i++)
        while (s->local[i].news.next && !owl_list_empty(&s->local[i].news))
            news_free(OWL_CONTAINER(s->local[i].news.next, struct news, node));
    OWL_LIST_EACH (&s->touched_order, it)
        forget_touched(s, OWL_CONTAINER(it, struct touch, node));
    owl_map_done(&s->touched);
}

static void tell_all(struct owl_server *s)
{
    unsigned changes = atomic_exchange(&s->changed, 0);
    struct news news = {.server = s, .changes = changes};
    int rc = changes ? post_all(&news, (owl_str){NULL, 0}) : 0;
    news.changes = 0;
    OWL_LIST_EACH (&s->touched_order, it) {
        struct touch *t = OWL_CONTAINER(it, struct touch, node);
        rc = post_all(&news, (owl_str){t->uri, t->n}) ? -OWL_ENOMEM : rc;
        forget_touched(s, t);
    }
    if (rc != 0)
        OWL_LOG(&s->log, OWL_LEVEL_ERROR, "subs",
                "out of memory: clients were not told of a change");
}

static void on_tell(struct owl_timer *t)
{
    tell_all(OWL_CONTAINER(t, struct owl_server, tell));
}

static void arm(struct owl_server *s, struct owl_reactor *r)
{
    if (!s->tell.fn)
        owl_timer_init(&s->tell, on_tell);
    if (!owl_timer_active(&s->tell))
        owl_timer_start(r, &s->tell, DEBOUNCE_MS);
}

struct change {
    struct owl_msg msg;
    struct owl_server *server;
};

static void on_change(struct owl_reactor *r, struct owl_msg *m)
{
    struct change *c = OWL_CONTAINER(m, struct change, msg);
    arm(c->server, r);
    owl_free(c);
}

void owl_subs_changed(struct owl_server *s, unsigned changes)
{
    if (!changes || atomic_fetch_or(&s->changed, changes))
        return; /* the timer runs, or is about to */
    struct change *c = owl_malloc(sizeof *c);
    if (c) {
        *c = (struct change){.msg.run = on_change, .server = s};
        if (owl_post(owl_runtime_at(s->host.runtime, 0), &c->msg))
            return;
    }
    owl_free(c);
    atomic_store(&s->changed, 0);
}

static void on_touch(struct owl_reactor *r, struct owl_msg *m)
{
    struct touch *t = OWL_CONTAINER(m, struct touch, msg);
    struct owl_server *s = t->server;
    owl_str uri = {t->uri, t->n};
    if (owl_map_get(&s->touched, uri) || owl_map_put(&s->touched, uri, t, NULL) != 0) {
        owl_free(t); /* it is about to be told; or nobody can be told anything */
        return;
    }
    owl_list_add(&s->touched_order, &t->node);
    if (s->touched.n < MAX_TOUCHED)
        arm(s, r);
    else
        tell_all(s);
}

int owl_subs_updated(struct owl_server *s, owl_str uri)
{
    struct touch *t = owl_malloc(sizeof *t + uri.n);
    if (!t)
        return -OWL_ENOMEM;
    *t = (struct touch){.msg.run = on_touch, .server = s, .n = uri.n};
    memcpy(t->uri, uri.p, uri.n);
    if (!owl_post(owl_runtime_at(s->host.runtime, 0), &t->msg))
        owl_free(t); /* the server has stopped: nobody listens */
    return 0;
}

struct ended {
    struct owl_msg msg;
    struct owl_server *server;
    uint64_t serial;
};

static void on_ended(struct owl_reactor *r, struct owl_msg *m)
{
    struct ended *e = OWL_CONTAINER(m, struct ended, msg);
    OWL_LIST_EACH (bucket(e->server, r, e->serial), it) {
        struct owl_sub *sub = OWL_CONTAINER(it, struct owl_sub, in_session);
        if (owl_session_serial(sub->session) == e->serial)
            sub->end(sub);
    }
    owl_free(e);
}

void owl_subs_prune(struct owl_server *s, const struct owl_session *session)
{
    for (unsigned i = 0; i < owl_runtime_count(s->host.runtime); i++) {
        struct ended *e = owl_malloc(sizeof *e);
        if (!e) {
            OWL_LOG(&s->log, OWL_LEVEL_ERROR, "subs",
                    "out of memory: a stream stays open too long");
            return;
        }
        *e = (struct ended){
            .msg.run = on_ended, .server = s, .serial = owl_session_serial(session)};
        if (!owl_post(owl_runtime_at(s->host.runtime, i), &e->msg))
            owl_free(e); /* that reactor has stopped: nobody listens there */
    }
}

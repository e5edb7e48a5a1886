/* server/subs.c - who hears of changes: legacy streams and modern listens.
 *
 * Threads: a subscriber lives on one reactor; a change is posted to every reactor and told there.
 * Changes are gathered for a few milliseconds on reactor 0 first, and for as long as a reactor still
 * tells of earlier ones: a hundred new tools are one notification, and a resource that changes all
 * the time is told of a hundred times a second, or as often as all of its subscribers can be told.
 * Telling many is work that can wait: a reactor does it for a little while, then pauses, so that
 * calls are served and whoever shares the processor gets it. */
#include "base/alloc.h"
#include "base/clock.h"
#include "codec/json.h"
#include "server/server.h"

enum {
    DEBOUNCE_MS = 10,
    MAX_TOUCHED = 1000,   /* resources that wait to be told of while nothing is being told */
    TELL_NS = 100 * 1000, /* a reactor tells for so long, … */
    PAUSE_MS = 2          /* … then does something else */
};

struct news {
    struct owl_msg msg;
    struct owl_list node; /* among those of the reactor, which are told one after the other */
    struct owl_server *server;
    struct owl_buf members; /* of `params`, the same for all: what is told of the resource */
    uint64_t serial;        /* on its reactor, once it is being told; before: 0 */
    unsigned changes;       /* OWL_CHANGED_* */
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
    owl_list_init(&sub->kin);
    if (sub->session)
        owl_list_add(bucket(s, r, owl_session_serial(sub->session)), &sub->kin);
    else if (sub->n_tasks)
        owl_list_add(&owl_server_local(s, r)->task_subs, &sub->kin);
}

void owl_subs_remove(struct owl_sub *sub)
{
    if (owl_list_empty(&sub->node))
        return; /* it was removed, or never added */
    atomic_fetch_sub(&sub->server->n_subs, 1);
    owl_list_del(&sub->node);
    owl_list_del(&sub->kin);
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
}

/* ---- telling all ---- */

static void news_free(struct news *n)
{
    atomic_fetch_sub(&n->server->telling, 1u);
    owl_list_del(&n->node);
    owl_buf_done(&n->members);
    owl_free(n);
}

/* Whether all have heard of it before @p end. Who has goes to the end of the list: it may change
 * meanwhile. */
static bool tell_until(struct owl_server_local *l, const struct news *n, uint64_t end)
{
    while (!owl_list_empty(&l->subs)) {
        struct owl_sub *sub = OWL_CONTAINER(l->subs.next, struct owl_sub, node);
        if (sub->heard == n->serial)
            break;
        if (owl_now_ns() >= end)
            return false;
        sub->heard = n->serial;
        owl_list_del(&sub->node);
        owl_list_add(&l->subs, &sub->node);
        tell(sub, n);
    }
    return true;
}

static void go_on(struct owl_timer *t)
{
    struct owl_server_local *l = OWL_CONTAINER(t, struct owl_server_local, tell);
    uint64_t end = owl_now_ns() + TELL_NS;
    while (!owl_list_empty(&l->news)) {
        struct news *n = OWL_CONTAINER(l->news.next, struct news, node);
        if (n->serial == 0)
            n->serial = ++l->told;
        if (!tell_until(l, n, end)) {
            owl_timer_start(l->reactor, t, PAUSE_MS);
            return;
        }
        news_free(n);
    }
}

static void on_news(struct owl_reactor *r, struct owl_msg *m)
{
    struct news *n = OWL_CONTAINER(m, struct news, msg);
    struct owl_server_local *l = owl_server_local(n->server, r);
    struct owl_pin *pin = n->changes ? owl_cell_pin(n->server->host.registry, r) : NULL;
    if (pin)
        owl_pin_release(pin); /* a reactor without work lets go of what was removed, too */
    if (n->n) {
        owl_buf_putz(&n->members, "\"uri\":");
        owl_json_quote(&n->members, (owl_str){n->uri, n->n});
    }
    owl_list_add(&l->news, &n->node);
    if (!owl_timer_active(&l->tell))
        go_on(&l->tell);
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
        n->n = uri.n;
        memcpy(n->uri, uri.n ? uri.p : "", uri.n);
        atomic_fetch_add(&s->telling, 1u);
        if (!owl_post(owl_runtime_at(s->host.runtime, i), &n->msg))
            news_free(n); /* that reactor has stopped: nobody listens there */
    }
    return rc;
}

/* ---- tasks: few listen to the same one, so they are told at once ---- */

struct task_news {
    struct owl_msg msg;
    struct owl_server *server;
    struct owl_task *task; /* counted */
};

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
        return owl_session_serial(sub->session) == t->session &&
               owl_session_initialized(sub->session) && !owl_session_ended(sub->session);
    for (size_t i = 0; i < sub->n_tasks; i++)
        if (owl_str_is(sub->tasks[i], t->id))
            return owl_str_eq(sub->call->principal, t->principal);
    return false;
}

/* As above: telling one may end others. */
static void tell_kin(struct owl_list *kin, const struct owl_task *t, uint64_t serial)
{
    while (!owl_list_empty(kin)) {
        struct owl_sub *sub = OWL_CONTAINER(kin->next, struct owl_sub, kin);
        if (sub->heard_task == serial)
            break;
        sub->heard_task = serial;
        owl_list_del(&sub->kin);
        owl_list_add(kin, &sub->kin);
        if (wants_task(sub, t))
            notify_task(sub, t);
    }
}

static void task_news_free(struct task_news *n)
{
    owl_task_aunref(n->task);
    owl_free(n);
}

static void on_task_news(struct owl_reactor *r, struct owl_msg *m)
{
    struct task_news *n = OWL_CONTAINER(m, struct task_news, msg);
    struct owl_server_local *l = owl_server_local(n->server, r);
    uint64_t serial = ++l->told_tasks;
    tell_kin(bucket(n->server, r, n->task->session), n->task, serial);
    tell_kin(&l->task_subs, n->task, serial);
    task_news_free(n);
}

/* Consumes the reference. */
static bool post_task(struct owl_server *s, struct owl_reactor *r, struct owl_task *t)
{
    struct task_news *n = owl_malloc(sizeof *n);
    if (!n) {
        owl_task_aunref(t);
        return false;
    }
    *n = (struct task_news){.msg.run = on_task_news, .server = s, .task = t};
    if (!owl_post(r, &n->msg))
        task_news_free(n); /* that reactor has stopped: nobody listens there */
    return true;
}

void owl_subs_task(struct owl_host *h, const struct owl_task *t)
{
    struct owl_server *s = OWL_CONTAINER(h, struct owl_server, host);
    if (atomic_load(&s->n_subs) == 0)
        return;
    struct owl_task *told = owl_task_new(t);
    bool all = told != NULL;
    for (unsigned i = 0; told && i < owl_runtime_count(h->runtime); i++)
        all = post_task(s, owl_runtime_at(h->runtime, i), owl_task_aref(told)) && all;
    owl_task_aunref(told);
    if (!all)
        OWL_LOG(&s->log, OWL_LEVEL_ERROR, "subs", "out of memory: clients were not told of a task");
}

/* ---- changes are gathered ---- */

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

static void arm(struct owl_server *s)
{
    if (!owl_timer_active(&s->tell))
        owl_timer_start(owl_runtime_at(s->host.runtime, 0), &s->tell, DEBOUNCE_MS);
}

static void on_gathered(struct owl_timer *t)
{
    struct owl_server *s = OWL_CONTAINER(t, struct owl_server, tell);
    if (atomic_load(&s->telling) > 0)
        arm(s);
    else
        tell_all(s);
}

struct change {
    struct owl_msg msg;
    struct owl_server *server;
};

static void on_change(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct change *c = OWL_CONTAINER(m, struct change, msg);
    arm(c->server);
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
    (void)r;
    struct touch *t = OWL_CONTAINER(m, struct touch, msg);
    struct owl_server *s = t->server;
    owl_str uri = {t->uri, t->n};
    if (owl_map_get(&s->touched, uri) || owl_map_put(&s->touched, uri, t, NULL) != 0) {
        owl_free(t); /* it is about to be told; or nobody can be told anything */
        return;
    }
    owl_list_add(&s->touched_order, &t->node);
    if (s->touched.n < MAX_TOUCHED || atomic_load(&s->telling) > 0)
        arm(s);
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
        struct owl_sub *sub = OWL_CONTAINER(it, struct owl_sub, kin);
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

void owl_subs_init(struct owl_server *s)
{
    owl_map_init(&s->touched);
    owl_list_init(&s->touched_order);
    owl_timer_init(&s->tell, on_gathered);
}

void owl_subs_init_local(struct owl_server_local *l)
{
    owl_list_init(&l->subs);
    owl_list_init(&l->news);
    for (size_t i = 0; i < OWL_SUB_BUCKETS; i++)
        owl_list_init(&l->subs_of[i]);
    owl_list_init(&l->task_subs);
    owl_timer_init(&l->tell, go_on);
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

/* server/notify.c - telling subscribers what has changed.
 *
 * Threads: what has changed is posted to every reactor and told there. Telling many is work that can
 * wait: a reactor does it for a little while, then not until the next tick of its timers, so that
 * its other clients, and whoever shares the processor, have their turn. */
#include "base/alloc.h"
#include "base/clock.h"
#include "codec/json.h"
#include "server/subs.h"

enum {
    TELL_NS = 200 * 1000, /* for so long in a tick */
    MAX_WAITING = 100000  /* tasks that wait to be told of */
};

struct news {
    struct owl_msg msg;
    struct owl_list node; /* in its telling: they are told one after the other */
    struct owl_server *server;
    uint64_t serial;        /* in its telling, once it is being told; before: 0 */
    unsigned changes;       /* OWL_CHANGED_* */
    struct owl_task *task;  /* or a task has changed; counted */
    struct owl_buf members; /* of `params`, the same for all: what is told of the resource */
    size_t n;
    char uri[]; /* n bytes: this resource has changed */
};

static const struct list {
    unsigned bit, cap;
    const char *method;
} lists[] = {
    {OWL_CHANGED_TOOLS, OWL_CAP_TOOLS, "notifications/tools/list_changed"},
    {OWL_CHANGED_RESOURCES, OWL_CAP_RESOURCES, "notifications/resources/list_changed"},
    {OWL_CHANGED_PROMPTS, OWL_CAP_PROMPTS, "notifications/prompts/list_changed"},
};

/* ---- one subscriber ---- */

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
            owl_buf_puts(&b, sub->call->req.msg.id);
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

static bool wants_uri(struct owl_sub *sub, owl_str uri)
{
    if (sub->session)
        return owl_session_subscribed(sub->session, uri);
    for (size_t i = 0; i < sub->n_uris; i++)
        if (owl_str_eq(sub->uris[i], uri))
            return true;
    return false;
}

static bool wants_task(const struct owl_task_watch *watch, const struct owl_task *t)
{
    const struct owl_sub *sub = watch->sub;
    if (sub->session)
        return owl_session_serial(sub->session) == t->session &&
               owl_session_initialized(sub->session) && !owl_session_ended(sub->session);
    return owl_str_is(sub->tasks[watch - sub->watches], t->id) &&
           owl_str_eq(sub->call->req.principal, t->principal);
}

/* Strict legacy clients refuse notifications of capabilities that were not declared to them. */
static bool wants_list(const struct owl_sub *sub, const struct list *l)
{
    return sub->session ? owl_session_offered(sub->session) & l->cap : sub->changes & l->bit;
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
        if ((n->changes & lists[i].bit) && wants_list(sub, &lists[i]))
            notify(sub, lists[i].method, (owl_str){NULL, 0});
    if (n->members.n && n->members.rc == 0 && wants_uri(sub, (owl_str){n->uri, n->n}))
        notify(sub, "notifications/resources/updated", owl_buf_str(&n->members));
}

/* ---- all of them. Who has heard goes to the end of the list: telling one may end others ---- */

/* Whether all have heard of it before @p end. */
static bool tell_subs(struct owl_list *subs, const struct news *n, uint64_t end)
{
    while (!owl_list_empty(subs)) {
        struct owl_sub *sub = OWL_CONTAINER(subs->next, struct owl_sub, node);
        if (sub->heard == n->serial)
            break;
        if (owl_now_ns() >= end)
            return false;
        sub->heard = n->serial;
        owl_list_del(&sub->node);
        owl_list_add(subs, &sub->node);
        tell(sub, n);
    }
    return true;
}

/* Likewise of a task, those that are where @p key is. */
static bool tell_ears(struct owl_server_local *l, uint64_t key, const struct news *n, uint64_t end)
{
    uint64_t id = owl_hash(owl_str_of(n->task->id));
    for (struct owl_list *watches; !owl_list_empty(watches = owl_subs__watches(l, key));) {
        struct owl_task_watch *watch = OWL_CONTAINER(watches->next, struct owl_task_watch, node);
        struct owl_sub *sub = watch->sub;
        if (watch->heard == n->serial)
            break;
        if (owl_now_ns() >= end)
            return false;
        watch->heard = n->serial;
        owl_list_del(&watch->node);
        owl_list_add(watches, &watch->node);
        bool may = watch->key == id || watch->key == n->task->session;
        if (!may || sub->heard_task == n->serial || !wants_task(watch, n->task))
            continue;
        sub->heard_task = n->serial; /* it may have asked twice for the same */
        notify_task(sub, n->task);
    }
    return true;
}

static bool tell_until(struct owl_server_local *l, const struct news *n, uint64_t end)
{
    if (!n->task)
        return tell_subs(&l->subs, n, end);
    return tell_ears(l, owl_hash(owl_str_of(n->task->id)), n, end) &&
           (!n->task->session || tell_ears(l, n->task->session, n, end));
}

static void news_free(struct news *n)
{
    if (!n->task)
        atomic_fetch_sub(&n->server->telling, 1u);
    owl_task_aunref(n->task);
    owl_buf_done(&n->members);
    owl_free(n);
}

/* ---- what waits ---- */

/* No newer version of its task takes its place any more. */
static void unwait(struct owl_notify_queue *t, const struct news *n)
{
    if (n->task && owl_map_get(&t->waiting, owl_str_of(n->task->id)) == n)
        owl_map_del(&t->waiting, owl_str_of(n->task->id));
}

static void drop(struct owl_notify_queue *t, struct news *n)
{
    unwait(t, n);
    t->bytes -= n->task ? n->task->payload.n : 0;
    owl_list_del(&n->node);
    news_free(n);
}

/* Tasks change faster than clients can be told: as of the tasks that are kept, the oldest go. */
static void lose(struct owl_notify_queue *t, const struct news *keep)
{
    const struct owl_server *s = keep->server;
    while ((t->bytes > s->limits.task_bytes || t->waiting.n > MAX_WAITING) &&
           t->news.next != &keep->node) {
        drop(t, OWL_CONTAINER(t->news.next, struct news, node));
        if (!t->lost)
            OWL_LOG(&s->log, OWL_LEVEL_ERROR, "subs",
                    "clients are not told of some tasks: they change faster than clients can be "
                    "told");
        t->lost = true;
    }
}

static void wait_turn(struct owl_notify_queue *t, struct news *n)
{
    void *older = NULL;
    owl_list_add(&t->news, &n->node);
    if (!n->task)
        return;
    t->bytes += n->task->payload.n;
    /* Without memory both are told. */
    OWL_IGNORE(owl_map_put(&t->waiting, owl_str_of(n->task->id), n, &older));
    if (older)
        drop(t, older);
    lose(t, n);
}

static void go_on(struct owl_timer *timer)
{
    struct owl_notify_queue *t = OWL_CONTAINER(timer, struct owl_notify_queue, timer);
    uint64_t end = owl_now_ns() + TELL_NS;
    while (!owl_list_empty(&t->news)) {
        struct news *n = OWL_CONTAINER(t->news.next, struct news, node);
        if (n->serial == 0) {
            n->serial = ++t->told;
            unwait(t, n);
        }
        if (!tell_until(t->local, n, end)) {
            owl_timer_start(t->local->reactor, timer, 0);
            return;
        }
        drop(t, n);
    }
    t->lost = false;
}

static void on_news(struct owl_reactor *r, struct owl_msg *m)
{
    struct news *n = OWL_CONTAINER(m, struct news, msg);
    struct owl_server_local *l = owl_server_local(n->server, r);
    struct owl_notify_queue *t = n->task ? &l->tasks : &l->changes;
    if (l->ended) {
        news_free(n);
        return;
    }
    struct owl_pin *pin = n->changes ? owl_cell_pin(n->server->env.registry, r) : NULL;
    if (pin)
        owl_pin_release(pin); /* a reactor without work lets go of what was removed, too */
    if (n->n) {
        owl_buf_putz(&n->members, "\"uri\":");
        owl_json_quote(&n->members, (owl_str){n->uri, n->n});
    }
    wait_turn(t, n);
    if (!owl_timer_active(&t->timer))
        owl_timer_start(r, &t->timer, 0); /* those that come with it have the same turn */
}

/* Copies of @p news, whose uri is @p uri, to every reactor. */
static int post_all(const struct news *news, owl_str uri)
{
    struct owl_server *s = news->server;
    int rc = 0;
    for (unsigned i = 0; i < owl_runtime_count(s->env.runtime); i++) {
        struct news *n = owl_malloc(sizeof *n + uri.n);
        if (!n) {
            rc = -OWL_ENOMEM;
            continue;
        }
        *n = *news;
        n->msg.run = on_news;
        owl_buf_init(&n->members, 64 * 1024);
        n->task = news->task ? owl_task_aref(news->task) : NULL;
        if (!n->task)
            atomic_fetch_add(&s->telling, 1u);
        n->n = uri.n;
        memcpy(n->uri, uri.n ? uri.p : "", uri.n);
        if (!owl_post(owl_runtime_at(s->env.runtime, i), &n->msg))
            news_free(n); /* that reactor has stopped: nobody listens there */
    }
    return rc;
}

int owl_notify__changes(struct owl_server *s, unsigned changes)
{
    return post_all(&(struct news){.server = s, .changes = changes}, (owl_str){NULL, 0});
}

int owl_notify__updated(struct owl_server *s, owl_str uri)
{
    return post_all(&(struct news){.server = s}, uri);
}

void owl_subs_task(struct owl_call_env *h, const struct owl_task *t)
{
    struct news news = {.server = OWL_CONTAINER(h, struct owl_server, env)};
    if (atomic_load(&news.server->n_subs) == 0)
        return;
    news.task = owl_task_new(t);
    if (!news.task || post_all(&news, (owl_str){NULL, 0}) != 0)
        OWL_LOG(&news.server->log, OWL_LEVEL_ERROR, "subs",
                "out of memory: clients were not told of a task");
    owl_task_aunref(news.task);
}

static void telling_init(struct owl_notify_queue *t, struct owl_server_local *l)
{
    t->local = l;
    owl_list_init(&t->news);
    owl_map_init(&t->waiting);
    owl_timer_init(&t->timer, go_on);
}

static void telling_done(struct owl_notify_queue *t)
{
    while (t->local && !owl_list_empty(&t->news))
        drop(t, OWL_CONTAINER(t->news.next, struct news, node));
    owl_map_done(&t->waiting);
}

void owl_subs_init_local(struct owl_server_local *l)
{
    owl_list_init(&l->subs);
    l->watches = l->first_watches;
    l->n_buckets = OWL_WATCH_BUCKETS;
    for (size_t i = 0; i < OWL_WATCH_BUCKETS; i++)
        owl_list_init(&l->watches[i]);
    telling_init(&l->changes, l);
    telling_init(&l->tasks, l);
}

void owl_notify__done(struct owl_server_local *l)
{
    telling_done(&l->changes);
    telling_done(&l->tasks);
    if (l->watches != l->first_watches)
        owl_free(l->watches);
}

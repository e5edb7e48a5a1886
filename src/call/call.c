/* call/call.c - the life of a call: made, stepped, completed exactly once, let go.
 *
 * Threads: a call is stepped on its reactor only. Other threads meet it in two places: finishing (a
 * compare-and-swap on `state`, then a post) and letting go (an atomic count). */
#include "call/call.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/ask.h"
#include "call/parts.h"
#include "call/provider.h"
#include "call/task.h"
#include "codec/json.h"
#include "codec/scan.h"

enum { FAILURE_BYTES = 1024 }; /* to say that there is no memory takes none */

/* ---- the reactors' own parts ---- */

int owl_call_env_init(struct owl_call_env *h)
{
    unsigned n = owl_runtime_count(h->runtime);
    h->local = owl_calloc(n, sizeof *h->local);
    if (!h->local)
        return -OWL_ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        struct owl_call_local *l = &h->local[i];
        owl_list_init(&l->calls);
        owl_map_init(&l->in_flight);
        owl_map_init(&l->scopes);
        owl_map_init(&l->asked);
        owl_map_init(&l->parked);
        owl_list_init(&l->park_order);
        owl_list_init(&l->asking);
        owl_map_init(&l->tasks);
        owl_buf_init(&l->out, h->limits->result_bytes + 64 * 1024);
    }
    int rc = 0;
    for (unsigned i = 0; i < n && rc == 0; i++) {
        struct owl_call_local *l = &h->local[i];
        l->values = owl_budget_new(h->limits->input_total_bytes / n);
        rc = l->values ? owl_buf_reserve(&l->out, FAILURE_BYTES) : -OWL_ENOMEM;
    }
    return rc;
}

void owl_call_env_done(struct owl_call_env *h)
{
    if (!h->local)
        return;
    for (unsigned i = 0; i < owl_runtime_count(h->runtime); i++) {
        struct owl_call_local *l = &h->local[i];
        OWL_ASSERT(owl_list_empty(&l->calls));
        owl_map_done(&l->in_flight);
        owl_map_done(&l->scopes);
        owl_map_done(&l->asked);
        owl_map_done(&l->parked);
        owl_map_done(&l->tasks);
        owl_buf_done(&l->out);
        owl_budget_done(l->values);
    }
    OWL_FREE(&h->local);
}

struct owl_call_local *owl_call_local(struct owl_call_env *h, const struct owl_reactor *r)
{
    return &h->local[owl_reactor_index(r)];
}

void owl_calls_end(struct owl_call_local *l, int error)
{
    struct owl_list todo;
    l->ending = true;
    owl_list_move(&todo, &l->calls); /* the end of one may be the end of others */
    for (struct owl_list *it; (it = owl_list_turn(&todo, &l->calls));) {
        struct owl_call *c = OWL_CONTAINER(it, struct owl_call, node);
        if (!owl_call_end(c, error, true))
            owl_call__give_up(c);
    }
}

/* ---- life ---- */

static void on_deadline(struct owl_timer *t)
{
    struct owl_call *c = OWL_CONTAINER(t, struct owl_call, deadline);
    if (!owl_call_end(c, OWL_ETIMEOUT, true))
        owl_call__give_up(c);
}

/* The least severe level that the client wants to hear about this call. */
static int wanted_level(const struct owl_call *c)
{
    if (c->req.codec->era == OWL_ERA_LEGACY)
        return c->req.session ? (int)owl_session_log_level(c->req.session)
                              : OWL_LEVEL_EMERGENCY + 1;
    int level = owl_level_parse(c->req.meta.log_level);
    return level < 0 ? OWL_LEVEL_EMERGENCY + 1 : level;
}

struct owl_call *owl_call_new(const struct owl_call_init *init)
{
    struct owl_call *c = owl_arena_zalloc(init->arena, sizeof *c);
    if (!c)
        return NULL;
    struct owl_call_local *l = owl_call_local(init->env, init->reactor);
    atomic_init(&c->refs, 1);
    atomic_init(&c->state, OWL_CALL_RUNNING);
    atomic_init(&c->keeps_rt, false);
    c->env = init->env;
    c->runtime = init->env->runtime;
    c->reactor = init->reactor;
    c->arena = init->arena;
    c->sink = init->sink;
    c->req.msg = *init->msg;
    c->req.meta = *init->meta;
    c->req.rev = init->rev;
    c->req.codec = owl_mcp_codec_of(init->rev, init->env->error_style);
    c->ops = &owl_native;
    c->method = init->method;
    c->req.name = init->msg->method;
    c->req.principal = init->principal;
    c->scope = init->scope;
    c->work.client = init->client;
    c->work.part = init->env->part;
    if (init->session) {
        c->req.session = owl_session_aref(init->session);
        c->req.client_caps = owl_session_client_caps(init->session);
    } else {
        c->req.client_caps = init->meta->client_caps;
    }
    atomic_init(&c->log_level, wanted_level(c));
    c->begun_ms = owl_reactor_now(init->reactor);
    atomic_init(&c->deadline_ms, c->begun_ms + init->env->timeout_ms);
    owl_timer_init(&c->deadline, on_deadline);
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->cancelling, NULL);
    owl_list_init(&c->scope_node);
    c->step = &owl_steps[0];
    c->last_progress = c->told = -1;
    owl_result_init(&c->result, OWL_RESULT_RAW, c->arena, init->env->limits->result_bytes);
    owl_list_add(&l->calls, &c->node);
    l->n_calls++;
    return c;
}

/* On the reactor, while the snapshot is pinned; a call that waits holds what it is about already. */
static void hold(struct owl_call *c)
{
    if (c->held)
        return;
    c->held = true;
    if (c->req.item)
        owl_item_aref(c->req.item); /* and by that its provider */
    else if (c->provider)
        owl_provider_aref(c->provider);
}

static void let_go(struct owl_call *c)
{
    if (c->held && c->req.item)
        owl_item_aunref(c->req.item);
    else if (c->held)
        owl_provider_aunref(c->provider);
}

owl_call *owl_call_ref(owl_call *c)
{
    if (!c->held)
        hold(c);
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    /* A kept call may outlive the server, and still posts to it: keep the mailboxes. */
    if (!atomic_exchange(&c->keeps_rt, true))
        owl_runtime_aref(c->runtime);
    return c;
}

static bool last_ref(struct owl_call *c)
{
    return c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1;
}

void owl_call_unref(owl_call *c)
{
    while (last_ref(c)) {
        struct owl_call *front = owl_call_front(c); /* counted by this one */
        struct owl_runtime *rt = atomic_load(&c->keeps_rt) ? c->runtime : NULL;
        let_go(c);
        owl_session_aunref(c->req.session);
        owl_call__release_given(c);
        if (c->talk)
            owl_free(c->talk->word);
        owl_free(c->talk);
        owl_free(c->said);
        pthread_mutex_destroy(&c->lock);
        pthread_mutex_destroy(&c->cancelling);
        owl_arena_free(c->arena);
        owl_runtime_aunref(rt);
        c = front;
    }
}

void owl_call__trace(struct owl_call *c, const struct owl_step *step)
{
    uint64_t now = owl_now_ns();
    owl_log_write(c->env->log, OWL_LEVEL_DEBUG, "call", "%.*s id=%.*s %s->%s us=%llu",
                  (int)c->req.msg.method.n, c->req.msg.method.p, (int)c->req.msg.id.n,
                  c->req.msg.id.p ? c->req.msg.id.p : "", c->step->name, step->name,
                  (unsigned long long)(c->step_ns ? (now - c->step_ns) / 1000 : 0));
    c->step_ns = now;
}

void owl_call_run(struct owl_call *c)
{
    struct owl_reactor *r = c->reactor;
    const char *before = owl_reactor_mark(r, c->step->name);
    for (;;) {
        const struct owl_step *step = c->step;
        enum owl_verdict v = step->run(c);
        if (step == &owl_steps[OWL_STEP_end] || v == OWL_SUSPEND)
            break;
        if (v == OWL_FINISH)
            owl_call__goto(c, &owl_steps[OWL_STEP_settle]);
        else if (c->step == step)
            owl_call__goto(c, step + 1);
        owl_reactor_mark(r, c->step->name);
    }
    owl_reactor_mark(r, before);
}

void owl_call_resume(struct owl_call *c)
{
    owl_reactor_assert(c->reactor);
    OWL_ASSERT(c->ticket.suspended > 0);
    c->ticket.suspended--;
    if (c->ticket.stale > 0) {
        c->ticket.stale--;
        return;
    }
    /* After a refusal; in `settle` a handler of a call that was ended may still write its own. */
    bool refused = c->step == &owl_steps[OWL_STEP_admit] && c->failure.error;
    owl_call__goto(c, refused ? &owl_steps[OWL_STEP_settle] : c->step + 1);
    owl_call_run(c);
}

void owl_call__advance(struct owl_call *c, enum owl_verdict v)
{
    owl_call__goto(c, v == OWL_FINISH ? &owl_steps[OWL_STEP_settle] : c->step + 1);
    owl_call_run(c);
}

void owl_call__fail(struct owl_call *c)
{
    owl_call__goto(c, &owl_steps[OWL_STEP_settle]);
    owl_call_run(c);
}

void owl_call__give_up(struct owl_call *c)
{
    if (c->step == &owl_steps[OWL_STEP_settle] && c->ticket.suspended > c->ticket.stale) {
        OWL_LOG(c->env->log, OWL_LEVEL_ERROR, "call",
                "%.*s: its end could not be recorded in time trace_id=%s", (int)c->req.name.n,
                c->req.name.p ? c->req.name.p : "", owl_call_trace_id(c));
        c->ticket.stale++;
        owl_call__goto(c, &owl_steps[OWL_STEP_reply]);
        owl_call_run(c);
    } else if (c->step == &owl_steps[OWL_STEP_reply]) {
        if (c->talk)
            c->talk->holding = false;
        owl_call__goto(c, &owl_steps[OWL_STEP_end]);
        owl_call_run(c);
    }
}

/* ---- waiting, and the end from outside ---- */

/* The key under which notifications/cancelled finds a call: where the id counts, and the id. */
static size_t cancel_key(char *out, uint64_t scope, owl_str id)
{
    memcpy(out, &scope, sizeof scope);
    memcpy(out + sizeof scope, id.p, id.n);
    return sizeof scope + id.n;
}

static owl_str scope_key(const struct owl_call *c)
{
    return (owl_str){(const char *)&c->scope, sizeof c->scope};
}

/* The calls of a scope form a ring, one of which is in the map. */
static int enter_scope(struct owl_call *c)
{
    struct owl_map *map = &owl_call_local(c->env, c->reactor)->scopes;
    struct owl_call *other = owl_map_get(map, scope_key(c));
    if (!other)
        return owl_map_put(map, scope_key(c), c, NULL);
    owl_list_add(&other->scope_node, &c->scope_node);
    return 0;
}

static void leave_scope(struct owl_call *c)
{
    struct owl_map *map = &owl_call_local(c->env, c->reactor)->scopes;
    struct owl_call *next = OWL_CONTAINER(c->scope_node.next, struct owl_call, scope_node);
    owl_list_del(&c->scope_node);
    if (owl_map_get(map, scope_key(c)) != c)
        return;
    if (next == c)
        owl_map_del(map, scope_key(c));
    else
        OWL_IGNORE(owl_map_put(map, scope_key(next), next, NULL)); /* replaces: takes no memory */
}

int owl_call_claim_id(struct owl_call *c)
{
    if (!c->scope || c->cancel_key.p)
        return 0;
    owl_str id;
    int rc = owl_rpc_id_plain(c->arena, c->req.msg.id, &id);
    char *key = rc == 0 ? owl_arena_alloc(c->arena, sizeof c->scope + id.n) : NULL;
    if (!key)
        return -OWL_ENOMEM;
    owl_str k = {key, cancel_key(key, c->scope, id)};
    struct owl_map *map = &owl_call_local(c->env, c->reactor)->in_flight;
    if (owl_map_get(map, k))
        return -OWL_EEXISTS;
    rc = owl_map_put(map, k, c, NULL);
    if (rc != 0)
        return rc;
    rc = enter_scope(c);
    if (rc != 0) {
        owl_map_del(map, k);
        return rc;
    }
    c->cancel_key = k;
    /* Who ended the session either finds the call from now on, or has marked it before. */
    return c->req.session && owl_session_ended(c->req.session) ? -OWL_ECANCELLED : 0;
}

enum owl_verdict owl_call_refuse_id(struct owl_call *c, int rc)
{
    if (rc == -OWL_EEXISTS)
        return owl_call_set_failure(c, OWL_EREQUEST, "id %.*s is in use by a request that runs",
                                    (int)c->req.msg.id.n, c->req.msg.id.p);
    return owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
}

void owl_call_wait(struct owl_call *c, uint64_t ms)
{
    if (c->pin) { /* quick calls pin the registry; one that waits holds its item only */
        hold(c);
        owl_pin_release(c->pin);
        c->pin = NULL;
    }
    if (!ms)
        return;
    atomic_store(&c->deadline_ms, owl_now_ms() + ms);
    owl_timer_start(c->reactor, &c->deadline, ms);
}

uint64_t owl_call__allowed_ms(const struct owl_call *c)
{
    uint64_t ms = c->task ? owl_task_allowed(c) : c->env->timeout_ms;
    return c->req.item && c->req.item->timeout_ms && c->req.item->timeout_ms < ms
               ? c->req.item->timeout_ms
               : ms;
}

enum owl_verdict owl_call__enter(struct owl_call *c)
{
    size_t most = c->env->limits->session_calls;
    if ((!c->run && !c->provider) || !c->req.session || c->counted)
        return OWL_NEXT;
    c->counted = owl_session_enter(c->req.session, OWL_SESSION_CALLS, most);
    if (c->counted)
        return OWL_NEXT;
    return owl_call_set_failure(c, OWL_EBUSY,
                                "%zu calls of this session are not over, the most there may be; "
                                "try again later",
                                most);
}

void owl_call__leave(struct owl_call *c)
{
    if (c->counted)
        owl_session_leave(c->req.session, OWL_SESSION_CALLS);
    c->counted = false;
}

void owl_call_forget_id(struct owl_call *c)
{
    if (!c->cancel_key.p)
        return;
    owl_map_del(&owl_call_local(c->env, c->reactor)->in_flight, c->cancel_key);
    leave_scope(c);
    c->cancel_key = (owl_str){NULL, 0};
}

bool owl_call__move(struct owl_call *c, unsigned from, enum owl_call_state to)
{
    unsigned now = atomic_load(&c->state);
    while (from & (1u << now % OWL_CALL__RUN)) {
        unsigned next = now - now % OWL_CALL__RUN + (unsigned)to;
        if (to == OWL_CALL_RUNNING)
            next += OWL_CALL__RUN; /* the next run of the handler */
        if (atomic_compare_exchange_weak(&c->state, &now, next))
            return true;
    }
    return false;
}

bool owl_call_complete(struct owl_call *c)
{
    if (!owl_call__move(c, 1u << OWL_CALL_RUNNING, OWL_CALL_FINISHED))
        return false;
    owl_call__goto(c, &owl_steps[OWL_STEP_settle]);
    owl_call_run(c);
    return true;
}

static void run_on_cancel(struct owl_call *c)
{
    pthread_mutex_lock(&c->cancelling);
    pthread_mutex_lock(&c->lock);
    c->cancelled = true;
    void (*fn)(owl_call *, void *) = c->on_cancel;
    void *data = c->on_cancel_data;
    pthread_mutex_unlock(&c->lock);
    if (fn)
        fn(c, data);
    pthread_mutex_unlock(&c->cancelling);
}

void owl_call__cancelled(struct owl_call *c)
{
    bool ended = owl_call__move(c, 1u << OWL_CALL_ASKING, OWL_CALL_ENDED);
    OWL_ASSERT(ended);
    c->end_error = OWL_ECANCELLED;
    c->silent = true;
    run_on_cancel(c);
}

bool owl_call_end(struct owl_call *c, int error, bool answer)
{
    owl_reactor_assert(c->reactor);
    if (!owl_call__move(c, 1u << OWL_CALL_RUNNING | 1u << OWL_CALL_ASKING, OWL_CALL_ENDED)) {
        if (!c->end_wanted) { /* its answer goes out, unless it is a question */
            c->end_wanted = error;
            c->end_silent = !answer;
        }
        return false;
    }
    c->end_error = error;
    c->silent = !answer;
    if (c->step == &owl_steps[OWL_STEP_admit])
        c->ticket.stale = c->ticket.suspended;
    run_on_cancel(c);
    if (c->step == &owl_steps[OWL_STEP_await] && c->ops->cancel)
        c->ops->cancel(c, error);
    if (owl_worker_withdraw(c->runtime, &c->work))
        owl_call_unref(c); /* the work's own */
    owl_ask_drop(c);
    owl_park_drop(c);
    owl_call__goto(c, &owl_steps[OWL_STEP_settle]);
    owl_call_run(c);
    return true;
}

void owl_call_cancel(struct owl_call_local *l, uint64_t scope, owl_str id)
{
    char key[sizeof scope + OWL_RPC_ID_BYTES];
    if (id.n > OWL_RPC_ID_BYTES)
        return;
    owl_str k = {key, cancel_key(key, scope, id)};
    struct owl_call *c = owl_map_get(&l->in_flight, k);
    if (c)
        OWL_IGNORE(owl_call_end(c, OWL_ECANCELLED, false)); /* completed: the answer goes out */
}

void owl_calls_cancel(struct owl_call_local *l, uint64_t scope, bool answer)
{
    owl_str key = {(const char *)&scope, sizeof scope};
    for (struct owl_call *c; (c = owl_map_get(&l->scopes, key));) {
        leave_scope(c);
        OWL_IGNORE(owl_call_end(c, OWL_ECANCELLED, answer)); /* completed: the answer goes out */
    }
}

/* ---- for steps and methods ---- */

enum owl_verdict owl_call_set_failure(struct owl_call *c, int error, const char *fmt, ...)
{
    if (c->failure.error)
        return OWL_FINISH;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->why, sizeof c->why, fmt, ap);
    va_end(ap);
    c->failure.error = error;
    c->failure.message = owl_str_of(c->why);
    c->failure.of_tool = c->req.item && c->req.item->kind == OWL_KIND_TOOL;
    return OWL_FINISH;
}

void owl_call_set_failure_data(struct owl_call *c, owl_str json)
{
    c->failure.data = json;
}

void owl_call__set_provider(struct owl_call *c, struct owl_provider *p)
{
    c->provider = p;
    c->ops = p->ops;
}

enum owl_verdict owl_call_set_handler(struct owl_call *c, owl_handler_fn fn, void *data,
                                      unsigned flags)
{
    if (!fn)
        return OWL_NEXT;
    c->run = owl_arena_zalloc(c->arena, sizeof *c->run);
    if (!c->run)
        return owl_call_set_failure(c, OWL_ENOMEM, "%s", owl_err_info(OWL_ENOMEM)->text);
    c->run->call = c;
    c->run->fn = fn;
    c->run->data = data;
    c->run->flags = flags;
    return OWL_NEXT;
}

enum owl_verdict owl_call_set_item(struct owl_call *c, struct owl_item *item, owl_handler_fn fn,
                                   owl_str name)
{
    c->req.item = item;
    c->req.name = name;
    if (item->timeout_ms && item->timeout_ms < c->env->timeout_ms)
        atomic_store(&c->deadline_ms, owl_now_ms() + item->timeout_ms);
    if (!item->provider)
        return owl_call_set_handler(c, fn, item->data, item->flags);
    owl_call__set_provider(c, item->provider);
    return OWL_NEXT;
}

struct owl_talk *owl_call__talk(struct owl_call *c)
{
    struct owl_talk *t = c->talk ? c->talk : owl_calloc(1, sizeof *t);
    if (!t || c->talk)
        return t;
    t->call = c;
    owl_list_init(&t->park_node);
    owl_timer_init(&t->timer, owl_park_on_timer);
    pthread_mutex_lock(&c->lock); /* a handler that keeps the call may look for its front */
    c->talk = t;
    pthread_mutex_unlock(&c->lock);
    return t;
}

struct owl_snapshot *owl_call_registry(struct owl_call *c)
{
    if (!c->pin)
        c->pin = owl_cell_pin(c->env->registry, c->reactor);
    return c->pin ? c->pin->object : NULL;
}

bool owl_call_param_str(struct owl_call *c, const char *key, owl_str *ret)
{
    owl_str literal = owl_rpc_param(&c->req.msg, owl_str_of(key));
    if (literal.p && !owl_span_is_string(literal)) {
        owl_call_set_failure(c, OWL_EPARAMS, "params.%s must be a string", key);
        return false;
    }
    int rc = literal.p ? owl_json_decode(c->arena, literal, ret) : 0;
    if (!literal.p)
        *ret = (owl_str){NULL, 0};
    if (rc != 0)
        owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
    return rc == 0;
}

char *owl_call_vprintf(struct owl_call *c, const char *fmt, va_list ap, size_t *ret_n)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = n < 0 ? NULL : owl_arena_alloc(c->arena, (size_t)n + 1);
    if (!text)
        return NULL;
    vsnprintf(text, (size_t)n + 1, fmt, ap);
    *ret_n = (size_t)n;
    return text;
}

/* ---- messages to the client while it runs ---- */

enum { MAX_NOTES = 1000 }; /* of one call, beyond which a chatty handler is not heard */

struct note {
    struct owl_msg msg;
    struct owl_call *call;
    double progress; /* NaN: it is about something else */
    size_t n;
    char text[];
};

/* On the reactor of @p c, which has a sink. */
static int deliver(struct owl_call *c, owl_str message, double progress)
{
    if (progress <= c->told)
        return 0;
    if (progress > c->told)
        c->told = progress;
    return c->sink->ops->send(c->sink, c, message);
}

static void drop_note(struct owl_call *c)
{
    pthread_mutex_lock(&c->lock);
    c->notes--;
    pthread_mutex_unlock(&c->lock);
}

static void on_note(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct note *note = OWL_CONTAINER(m, struct note, msg);
    struct owl_call *c = note->call;
    drop_note(c);
    if (c->sink)
        OWL_IGNORE(deliver(c, (owl_str){note->text, note->n}, note->progress)); /* not told */
    owl_call_unref(c);
    owl_free(note);
}

static int send_to(struct owl_call *c, owl_str message, double progress)
{
    if (owl_reactor_self() == c->reactor)
        return c->sink ? deliver(c, message, progress) : c->task ? 0 : -OWL_ECLOSED;
    pthread_mutex_lock(&c->lock);
    bool many = c->notes >= MAX_NOTES;
    c->notes += !many;
    pthread_mutex_unlock(&c->lock);
    if (many)
        return -OWL_ELIMIT;
    struct note *note = owl_malloc(sizeof *note + message.n);
    if (!note) {
        drop_note(c);
        return -OWL_ENOMEM;
    }
    note->msg.run = on_note;
    note->call = c;
    note->progress = progress;
    note->n = message.n;
    memcpy(note->text, message.p, message.n);
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    if (owl_post(c->reactor, &note->msg))
        return 0;
    owl_free(note);
    drop_note(c);
    owl_call_unref(c);
    return -OWL_ECLOSED;
}

/* With @p own only to the client that began the call. */
static int speak(struct owl_call *c, owl_str message, double progress, bool own)
{
    struct owl_call *front = NULL;
    pthread_mutex_lock(&c->lock);
    if (owl_call_front(c) && !(own && c->talk->front->req.session != c->req.session))
        front = owl_call_ref(c->talk->front);
    pthread_mutex_unlock(&c->lock);
    int rc = send_to(front ? front : c, message, progress);
    owl_call_unref(front);
    return rc;
}

int owl_call_tell(struct owl_call *c, owl_str message, double progress)
{
    return speak(c, message, progress, true);
}

int owl_call_send(struct owl_call *c, owl_str message)
{
    return speak(c, message, (double)NAN, false);
}

const char *owl_call_trace_id(struct owl_call *c)
{
    if (!c->trace_id[0] && !owl_trace_id_of(c->req.meta.traceparent, c->trace_id) &&
        owl_trace_id_new(c->trace_id) != 0)
        c->trace_id[0] = '\0';
    return c->trace_id;
}

/* call/task_birth.c - how a call becomes a task: before its handler runs, or when that says so.
 *
 * Threads: the call's reactor, but for owl_call_become_task(). */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/parts.h"
#include "call/task_run.h"
#include "codec/scan.h"

enum { MIN_TTL_MS = 1000 };

/* ---- the record ---- */

/* The answer to the request that begins it; a front writes its own message. */
static int write_birth(struct owl_task_run *t)
{
    struct owl_call *c = t->call;
    bool modern = c->req.codec->era == OWL_ERA_MODERN;
    struct owl_buf members;
    if (!c->sink) {
        owl_task_write(&t->birth, &t->now, c->req.codec->era, false);
        return t->birth.rc;
    }
    owl_buf_init(&members, 4096);
    owl_buf_putz(&members, modern ? "" : "\"task\":{");
    owl_task_write(&members, &t->now, c->req.codec->era, false);
    owl_buf_putz(&members, modern ? "" : "}");
    struct owl_mcp_result r = {.type = "task", .members = owl_buf_str(&members)};
    owl_rpc_begin_result(&t->birth, c->req.msg.id);
    c->req.codec->result(&t->birth, &r, c->env->server_info);
    owl_rpc_end(&t->birth);
    int rc = members.rc ? members.rc : t->birth.rc;
    owl_buf_done(&members);
    return rc;
}

/* A legacy call becomes a task before its handler has the arena, or never. */
static int relate(struct owl_task_run *t)
{
    struct owl_call *c = t->call;
    owl_str id = owl_str_of(t->now.id);
    if (c->req.codec->era == OWL_ERA_LEGACY)
        c->related = (owl_str){owl_arena_dup(c->arena, id), id.n};
    return c->req.codec->era == OWL_ERA_LEGACY && !c->related.p ? -OWL_ENOMEM : 0;
}

static struct owl_task_run *run_new(struct owl_call *c, uint64_t ttl_ms)
{
    char hex[33];
    struct owl_task_run *t = owl_malloc(sizeof *t);
    if (!t || owl_random_hex(hex, 16) != 0) {
        owl_free(t);
        return NULL;
    }
    owl_task__init(t, c);
    snprintf(t->now.id, sizeof t->now.id, "%u-%s", owl_reactor_index(c->reactor), hex);
    t->now.created_ms = t->now.updated_ms = owl_wall_ms();
    t->now.ttl_ms = ttl_ms;
    t->now.poll_ms = c->env->task_poll_ms;
    t->now.session = c->req.session ? owl_session_serial(c->req.session) : 0;
    t->now.principal = c->req.principal;
    if (relate(t) != 0 || write_birth(t) != 0 ||
        owl_map_put(&owl_call_local(c->env, c->reactor)->tasks, owl_str_of(t->now.id), c, NULL)) {
        owl_buf_done(&t->birth);
        owl_free(t);
        return NULL;
    }
    return t;
}

/* The task of the reactor that has waited for its client for longest ends; false: none waits. */
static bool end_one(struct owl_call_env *h, struct owl_reactor *r)
{
    OWL_LIST_EACH (&owl_call_local(h, r)->asking, it) {
        struct owl_call *c = OWL_CONTAINER(it, struct owl_task_run, asking)->call;
        owl_list_del(it);
        if (owl_call__state(c) == OWL_CALL_ASKING && owl_call_end(c, OWL_ECANCELLED, true))
            return true;
    }
    return false;
}

struct full {
    struct owl_msg msg;
    struct owl_call_env *env;
};

static void on_full(struct owl_reactor *r, struct owl_msg *m)
{
    struct full *f = OWL_CONTAINER(m, struct full, msg);
    OWL_IGNORE(end_one(f->env, r)); /* then there is no room */
    owl_free(f);
}

/* There is no room. So that nobody can lock the others out, a task that waits for its client ends;
 * false: one of another reactor will, for whoever comes next. */
static bool make_room(struct owl_call *c)
{
    if (end_one(c->env, c->reactor))
        return true;
    for (unsigned i = 1; i < owl_runtime_count(c->runtime); i++) {
        unsigned other = (owl_reactor_index(c->reactor) + i) % owl_runtime_count(c->runtime);
        struct full *f = owl_malloc(sizeof *f);
        if (!f)
            break;
        *f = (struct full){.msg.run = on_full, .env = c->env};
        if (!owl_post(owl_runtime_at(c->runtime, other), &f->msg))
            owl_free(f); /* it has ended */
    }
    return false;
}

static int begin(struct owl_call *c, uint64_t ttl_ms)
{
    c->task = run_new(c, ttl_ms);
    if (!c->task)
        return -OWL_ENOMEM;
    owl_task__save(c->task);
    if (!c->task->saving && c->task->rc == -OWL_ELIMIT && make_room(c))
        owl_task__save(c->task);
    return 0;
}

/* ---- before the handler runs ---- */

/* Whether a legacy client has asked for a task. */
static bool wants_task(const struct owl_call *c)
{
    return c->req.rev >= OWL_REV_2025_11_25 && owl_rpc_param(&c->req.msg, OWL_STR("task")).p;
}

/* Whether such a client is heard. */
static bool serves_tasks(struct owl_call *c)
{
    struct owl_snapshot *s = c->req.rev >= OWL_REV_2025_11_25 ? owl_call_registry(c) : NULL;
    return s && (owl_snapshot_caps(s) & OWL_CAP_TASKS);
}

bool owl_task_wanted(struct owl_call *c)
{
    return c->req.codec->era == OWL_ERA_LEGACY && wants_task(c) && serves_tasks(c);
}

/* A JSON number that is not negative; what is larger than @p most counts as that. */
static bool read_ms(owl_str json, uint64_t most, uint64_t *ret)
{
    if (json.n == 0 || json.p[0] < '0' || json.p[0] > '9')
        return false;
    double ms = strtod(json.p, NULL); /* the rest of the object ends it */
    *ret = ms < (double)most ? (uint64_t)ms : most;
    return true;
}

/* How long it wants the task to be kept. */
static int wanted_ttl(struct owl_call *c, uint64_t *ret_ms)
{
    uint64_t most = c->env->limits->task_ms, ms = most;
    owl_str task = owl_rpc_param(&c->req.msg, OWL_STR("task"));
    owl_str ttl = owl_span_is_object(task) ? owl_span_get(task, "ttl") : (owl_str){NULL, 0};
    bool as_long_as_possible = !ttl.p || owl_str_is(ttl, "null");
    if (!owl_span_is_object(task) || !(as_long_as_possible || read_ms(ttl, most, &ms))) {
        owl_call_set_failure(c, OWL_EPARAMS,
                             "params.task must be an object, its ttl a number of milliseconds");
        c->failure.of_tool = false; /* the request is malformed, the tool has not failed */
        return -OWL_EPARAMS;
    }
    uint64_t least = MIN_TTL_MS < most ? MIN_TTL_MS : most;
    *ret_ms = ms < least ? least : ms;
    return 0;
}

/* Whether the client gets a task now: OWL_SUSPEND; OWL_NEXT: an ordinary call; OWL_FINISH: neither
 * is possible. */
static enum owl_verdict decide(struct owl_call *c, uint64_t *ret_ttl_ms)
{
    bool tasks = owl_call_flags(c) & OWL_TASK, only = owl_call_flags(c) & OWL_TASK_ONLY;
    *ret_ttl_ms = c->env->limits->task_ms;
    if (c->req.codec->era == OWL_ERA_MODERN) {
        /* A retry goes on with the call that asked. */
        if (!tasks || (!only && owl_rpc_param(&c->req.msg, OWL_STR("requestState")).p))
            return OWL_NEXT;
        if (!only && !owl_call_client_can(c, "extensions." OWL_TASKS_EXTENSION))
            return OWL_NEXT;
        if (owl_call_require(c, "extensions." OWL_TASKS_EXTENSION) != 0)
            return OWL_FINISH;
        return owl_call_flags(c) & OWL_TASK_LATER ? OWL_NEXT : OWL_SUSPEND;
    }
    bool wanted = owl_task_wanted(c);
    if (wanted && !tasks)
        return owl_call_set_failure(c, OWL_ENOMETHOD, "%.*s does not run as a task",
                                    (int)c->req.name.n, c->req.name.p);
    if (wanted)
        return wanted_ttl(c, ret_ttl_ms) == 0 ? OWL_SUSPEND : OWL_FINISH;
    if (!only)
        return OWL_NEXT;
    if (serves_tasks(c))
        return owl_call_set_failure(c, OWL_ENOMETHOD, "%.*s runs as a task only: send params.task",
                                    (int)c->req.name.n, c->req.name.p);
    return owl_call_set_failure(c, OWL_ETOOL, "%.*s runs as a task only, which %s does not have",
                                (int)c->req.name.n, c->req.name.p, owl_rev_name(c->req.rev));
}

/* No task, no result either: the server has failed, not the tool. */
static enum owl_verdict refuse(struct owl_call *c, int rc)
{
    bool many = rc == -OWL_ELIMIT;
    owl_call_set_failure(c, many ? OWL_EBUSY : -rc,
                         "the task could not be kept: %s; try again later",
                         many ? "there are too many" : owl_err_info(rc)->text);
    c->failure.of_tool = false;
    return OWL_FINISH;
}

/* Run again when the first save is done, if that takes a while. */
enum owl_verdict owl_task_step(struct owl_call *c)
{
    if (!c->req.item || c->req.item->kind != OWL_KIND_TOOL)
        return OWL_NEXT;
    if (!c->task) {
        uint64_t ttl_ms;
        enum owl_verdict v = decide(c, &ttl_ms);
        if (v != OWL_SUSPEND)
            return v;
        if (begin(c, ttl_ms) != 0)
            return refuse(c, -OWL_ENOMEM);
        if (c->task->saving) {
            owl_call_wait(c, c->env->timeout_ms);
            return OWL_SUSPEND;
        }
    }
    if (c->task->announced)
        return OWL_NEXT;
    int rc = c->task->rc;
    owl_task__free(c->task);
    return refuse(c, rc);
}

/* ---- while the handler runs ---- */

static void become(struct owl_call *c)
{
    if (c->task || owl_call__state(c) == OWL_CALL_ENDED || c->step > &owl_steps[OWL_STEP_await])
        return;
    if (begin(c, c->env->limits->task_ms) == 0 && !c->task->saving && !c->task->announced)
        owl_task__free(c->task); /* it stays an ordinary call */
}

struct wish {
    struct owl_msg msg;
    struct owl_call *call;
};

static void on_wish(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct wish *w = OWL_CONTAINER(m, struct wish, msg);
    become(w->call);
    owl_call_unref(w->call);
    owl_free(w);
}

int owl_call_become_task(owl_call *c)
{
    if (!c->req.item || !(owl_call_flags(c) & OWL_TASK_LATER))
        return -OWL_ESTATE;
    if (c->req.codec->era == OWL_ERA_LEGACY) /* there the client decides, before the handler runs */
        return wants_task(c) ? 0 : -OWL_ECAPABILITY;
    if (!owl_call_client_can(c, "extensions." OWL_TASKS_EXTENSION))
        return -OWL_ECAPABILITY;
    if (owl_reactor_self() == c->reactor) {
        become(c);
        return 0;
    }
    struct wish *w = owl_malloc(sizeof *w);
    if (!w)
        return -OWL_ENOMEM;
    *w = (struct wish){.msg.run = on_wish, .call = owl_call_ref(c)};
    if (owl_post(c->reactor, &w->msg))
        return 0;
    owl_call_unref(c);
    owl_free(w);
    return -OWL_ECLOSED;
}

/* call/task.c - a call that runs as a task: its birth, its questions, its outcome.
 *
 * Threads: the call's reactor. A handler may be at work meanwhile, so nothing here uses the call's
 * arena or result except where the call waits for its client or is over.
 * Invariants: one version of the record is being saved at a time, and the last change is saved
 * after it; the client is told of a task only when the store has it; a task that it knows is saved
 * again and again for a while if the store fails. */
#include "call/task.h"

#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/ask.h"
#include "codec/json.h"
#include "codec/scan.h"

enum { MIN_TTL_MS = 1000, TRIES = 8, RETRY_MS = 250 };

/* A call that waits for the task to be over. */
struct waiter {
    struct owl_list node;
    struct owl_call *visitor; /* counted */
    bool speak;               /* the task may speak through it */
};

struct owl_task_run {
    struct owl_call *call;
    struct owl_task now;    /* the next version */
    struct owl_buf payload; /* of it, unless that is constant */
    struct owl_buf birth;   /* what the client is told first: a message, or a result's members */
    struct owl_task_op op;
    struct owl_timer retry;
    unsigned failures; /* saves that failed in a row */
    int rc;            /* of the last one */
    bool saving;       /* op is out, or is tried again soon */
    bool dirty;        /* … and there is a newer version */
    bool inside;       /* op is on the stack */
    bool announced;    /* the client knows the task */
    struct owl_list waiters;
};

uint64_t owl_task_allowed(const struct owl_call *c)
{
    uint64_t left = owl_task_left(&c->task->now);
    return left ? left : 1;
}

/* ---- as JSON ---- */

static void put_time(struct owl_buf *b, const char *prefix, int64_t ms)
{
    char text[32];
    struct tm tm;
    time_t s = (time_t)(ms / 1000);
    if (!gmtime_r(&s, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        text[0] = '\0';
    owl_buf_printf(b, "%s\"%s.%03dZ\"", prefix, text, (int)(ms % 1000));
}

static const char *status_name(const struct owl_task *t, enum owl_era era)
{
    static const char *const names[] = {
        [OWL_TASK_WORKING] = "working",     [OWL_TASK_INPUT] = "input_required",
        [OWL_TASK_COMPLETED] = "completed", [OWL_TASK_FAILED] = "failed",
        [OWL_TASK_CANCELLED] = "cancelled",
    };
    /* To the older form a tool that failed is a task that failed. */
    return names[era == OWL_ERA_LEGACY && t->tool_failed ? OWL_TASK_FAILED : t->status];
}

void owl_task_write(struct owl_buf *b, const struct owl_task *t, enum owl_era era, bool detailed)
{
    static const char *const shown[] = {
        [OWL_TASK_INPUT] = ",\"inputRequests\":",
        [OWL_TASK_COMPLETED] = ",\"result\":",
        [OWL_TASK_FAILED] = ",\"error\":",
        [OWL_TASK_CANCELLED] = NULL,
    };
    bool modern = era == OWL_ERA_MODERN;
    owl_buf_printf(b, "\"taskId\":\"%s\",\"status\":\"%s\"", t->id, status_name(t, era));
    put_time(b, ",\"createdAt\":", t->created_ms);
    put_time(b, ",\"lastUpdatedAt\":", t->updated_ms);
    owl_buf_printf(
        b, modern ? ",\"ttlMs\":%llu,\"pollIntervalMs\":%u" : ",\"ttl\":%llu,\"pollInterval\":%u",
        (unsigned long long)t->ttl_ms, t->poll_ms);
    if (detailed && shown[t->status] && t->payload.p) {
        owl_buf_putz(b, shown[t->status]);
        owl_buf_puts(b, t->payload);
    }
}

void owl_task_write_related(struct owl_buf *b, const struct owl_call *c)
{
    if (!c->related.p)
        return;
    owl_buf_putz(b, "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"");
    owl_buf_puts(b, c->related);
    owl_buf_putz(b, "\"}");
}

/* ---- keeping it ---- */

/* What becomes of a save that is out is told to go_on(); otherwise `rc` has it. */
static void save(struct owl_task_run *t)
{
    struct owl_task_store *store = t->call->host->tasks;
    t->dirty = t->saving;
    if (t->saving)
        return;
    t->saving = t->inside = true;
    struct owl_task *version = owl_task_new(&t->now);
    if (version)
        store->ops->put(store, version, &t->op);
    else
        t->op.done(&t->op, -OWL_ENOMEM);
    owl_task_aunref(version);
    t->inside = false;
}

static void change(struct owl_task_run *t, enum owl_task_status status)
{
    t->now.status = status;
    t->now.updated_ms = owl_wall_ms();
    t->now.payload = (owl_str){NULL, 0};
    owl_buf_reset(&t->payload);
}

static void run_free(struct owl_task_run *t)
{
    struct owl_call *c = t->call;
    c->task = NULL;
    owl_map_del(&owl_host_local(c->host, c->reactor)->tasks, owl_str_of(t->now.id));
    OWL_LIST_EACH (&t->waiters, it) {
        struct waiter *w = OWL_CONTAINER(it, struct waiter, node);
        owl_task__wake(w->visitor);
        owl_call_unref(w->visitor);
        owl_free(w);
    }
    owl_timer_stop(&t->retry);
    owl_buf_done(&t->payload);
    owl_buf_done(&t->birth);
    owl_free(t);
}

/* The store has it: the request that began it is answered. */
static void announce(struct owl_task_run *t)
{
    struct owl_call *c = t->call;
    t->announced = true;
    owl_call_forget_id(c); /* its request is answered: the id is free again, for good */
    c->scope = 0;
    if (c->codec->era == OWL_ERA_MODERN) { /* it is asked how it goes, and tells nothing itself */
        pthread_mutex_lock(&c->lock);
        c->meta.progress_token = (owl_str){NULL, 0};
        pthread_mutex_unlock(&c->lock);
        atomic_store(&c->log_level, OWL_LEVEL_EMERGENCY + 1);
    }
    if (owl_call__state(c) == OWL_CALL_RUNNING)
        owl_call_wait(c, owl_call__allowed_ms(c));
    struct owl_sink *sink = c->sink;
    c->sink = NULL;
    if (sink)
        sink->ops->respond(sink, c, owl_buf_str(&t->birth), 200);
    else if (c->front) /* a parked call, and the retry that has brought the answers */
        owl_park_leave(c, "task", owl_buf_str(&t->birth));
    owl_buf_done(&t->birth);
}

/* Nothing is out any more: whoever waits for that goes on. */
static void go_on(struct owl_task_run *t)
{
    struct owl_call *c = t->call;
    const struct owl_step *step = c->step;
    int rc = t->rc;
    bool announced = t->announced;
    if (!announced && step != &owl_steps[OWL_STEP_task])
        run_free(t); /* it stays an ordinary call */
    if (step == &owl_steps[OWL_STEP_ask] && announced && rc != 0) {
        owl_call_set_failure(c, -rc, "the questions could not be kept: %s", owl_err_info(rc)->text);
        owl_call_resume(c);
    } else if (step == &owl_steps[OWL_STEP_task] || step == &owl_steps[OWL_STEP_reply] ||
               (step == &owl_steps[OWL_STEP_ask] && !announced)) {
        owl_call_run(c);
    }
}

static void on_retry(struct owl_timer *timer)
{
    struct owl_task_run *t = OWL_CONTAINER(timer, struct owl_task_run, retry);
    t->saving = false;
    save(t);
    if (!t->saving)
        go_on(t);
}

/* The client knows the task and would miss the version; but a server that stops has no time. */
static bool worth_a_retry(const struct owl_task_run *t)
{
    return t->announced && t->failures < TRIES && !(t->rc == -OWL_ELIMIT && t->payload.n) &&
           !owl_host_local(t->call->host, t->call->reactor)->ending;
}

static void on_saved(struct owl_task_op *op, int rc)
{
    struct owl_task_run *t = OWL_CONTAINER(op, struct owl_task_run, op);
    struct owl_call *c = t->call;
    bool inside = t->inside;
    t->saving = false;
    t->rc = rc;
    t->failures = rc == 0 ? 0 : t->failures + 1;
    if (rc == 0 && !t->announced)
        announce(t);
    if (rc != 0)
        OWL_LOG(c->host->log, OWL_LEVEL_ERROR, "task", "%s could not be kept: %s", t->now.id,
                owl_err_info(rc)->text);
    if (t->dirty) {
        save(t);
    } else if (rc == 0) {
        if (c->host->task_changed)
            c->host->task_changed(c->host, &t->now);
    } else if (worth_a_retry(t)) {
        t->saving = true;
        owl_timer_start(c->reactor, &t->retry, RETRY_MS);
    }
    if (!inside && !t->saving)
        go_on(t);
}

/* ---- birth ---- */

/* The answer to the request that begins it; a front writes its own message. */
static int write_birth(struct owl_task_run *t)
{
    struct owl_call *c = t->call;
    bool modern = c->codec->era == OWL_ERA_MODERN;
    struct owl_buf members;
    if (!c->sink) {
        owl_task_write(&t->birth, &t->now, c->codec->era, false);
        return t->birth.rc;
    }
    owl_buf_init(&members, 4096);
    owl_buf_putz(&members, modern ? "" : "\"task\":{");
    owl_task_write(&members, &t->now, c->codec->era, false);
    owl_buf_putz(&members, modern ? "" : "}");
    struct owl_mcp_result r = {.type = "task", .members = owl_buf_str(&members)};
    owl_rpc_begin_result(&t->birth, c->msg.id);
    c->codec->result(&t->birth, &r, c->host->server_info);
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
    if (c->codec->era == OWL_ERA_LEGACY)
        c->related = (owl_str){owl_arena_dup(c->arena, id), id.n};
    return c->codec->era == OWL_ERA_LEGACY && !c->related.p ? -OWL_ENOMEM : 0;
}

static struct owl_task_run *run_new(struct owl_call *c, uint64_t ttl_ms)
{
    char hex[33];
    struct owl_task_run *t = owl_calloc(1, sizeof *t);
    if (!t || owl_random_hex(hex, 16) != 0) {
        owl_free(t);
        return NULL;
    }
    t->call = c;
    t->op.done = on_saved;
    owl_timer_init(&t->retry, on_retry);
    owl_buf_init(&t->payload, c->host->limits->result_bytes + 64 * 1024);
    owl_buf_init(&t->birth, c->host->limits->result_bytes + 64 * 1024);
    owl_list_init(&t->waiters);
    snprintf(t->now.id, sizeof t->now.id, "%u-%s", owl_reactor_index(c->reactor), hex);
    t->now.created_ms = t->now.updated_ms = owl_wall_ms();
    t->now.ttl_ms = ttl_ms;
    t->now.poll_ms = c->host->task_poll_ms;
    t->now.session = c->session ? owl_session_serial(c->session) : 0;
    t->now.principal = c->principal;
    if (relate(t) != 0 || write_birth(t) != 0 ||
        owl_map_put(&owl_host_local(c->host, c->reactor)->tasks, owl_str_of(t->now.id), c, NULL)) {
        owl_buf_done(&t->birth);
        owl_free(t);
        return NULL;
    }
    return t;
}

static int begin(struct owl_call *c, uint64_t ttl_ms)
{
    c->task = run_new(c, ttl_ms);
    if (!c->task)
        return -OWL_ENOMEM;
    save(c->task);
    return 0;
}

/* Whether a legacy client has asked for a task. */
static bool wants_task(const struct owl_call *c)
{
    return c->rev >= OWL_REV_2025_11_25 && owl_rpc_param(&c->msg, OWL_STR("task")).p;
}

/* How long it wants the task to be kept. */
static int wanted_ttl(struct owl_call *c, uint64_t *ret_ms)
{
    uint64_t most = c->host->limits->task_ms, ms = most;
    owl_str task = owl_rpc_param(&c->msg, OWL_STR("task"));
    owl_str ttl = owl_span_is_object(task) ? owl_span_get(task, "ttl") : (owl_str){NULL, 0};
    bool as_long_as_possible = !ttl.p || owl_str_is(ttl, "null");
    if (!owl_span_is_object(task) || !(as_long_as_possible || owl_str_u64(ttl, UINT64_MAX, &ms))) {
        owl_call_set_failure(c, OWL_EPARAMS,
                             "params.task must be an object, its ttl a number of milliseconds");
        c->failure.of_tool = false; /* the request is malformed, the tool has not failed */
        return -OWL_EPARAMS;
    }
    *ret_ms = ms > most ? most : ms < MIN_TTL_MS ? MIN_TTL_MS : ms;
    return 0;
}

/* Whether the client gets a task now: OWL_SUSPEND; OWL_NEXT: an ordinary call; OWL_FINISH: neither
 * is possible. */
static enum owl_verdict decide(struct owl_call *c, uint64_t *ret_ttl_ms)
{
    bool tasks = c->handler_flags & OWL_TASK, only = c->handler_flags & OWL_TASK_ONLY;
    *ret_ttl_ms = c->host->limits->task_ms;
    if (c->codec->era == OWL_ERA_MODERN) {
        /* A retry goes on with the call that asked. */
        if (!tasks || (!only && owl_rpc_param(&c->msg, OWL_STR("requestState")).p))
            return OWL_NEXT;
        if (!only && !owl_call_client_can(c, "extensions." OWL_TASKS_EXTENSION))
            return OWL_NEXT;
        if (owl_call_require(c, "extensions." OWL_TASKS_EXTENSION) != 0)
            return OWL_FINISH;
        return c->handler_flags & OWL_TASK_LATER ? OWL_NEXT : OWL_SUSPEND;
    }
    bool served = c->rev >= OWL_REV_2025_11_25 &&
                  (owl_snapshot_caps(owl_call_registry(c)) & OWL_CAP_TASKS);
    bool wanted = served && wants_task(c);
    if (wanted && !tasks)
        return owl_call_set_failure(c, OWL_ENOMETHOD, "%.*s does not run as a task", (int)c->name.n,
                                    c->name.p);
    if (wanted)
        return wanted_ttl(c, ret_ttl_ms) == 0 ? OWL_SUSPEND : OWL_FINISH;
    if (!only)
        return OWL_NEXT;
    if (served)
        return owl_call_set_failure(c, OWL_ENOMETHOD, "%.*s runs as a task only: send params.task",
                                    (int)c->name.n, c->name.p);
    return owl_call_set_failure(c, OWL_ETOOL, "%.*s runs as a task only, which %s does not have",
                                (int)c->name.n, c->name.p, owl_rev_name(c->rev));
}

/* No task, no result either: the server has failed, not the tool. */
static enum owl_verdict refuse(struct owl_call *c, int rc)
{
    owl_call_set_failure(c, -rc, "the task could not be kept: %s; try again later",
                         rc == -OWL_ELIMIT ? "there are too many" : owl_err_info(rc)->text);
    c->failure.of_tool = false;
    return OWL_FINISH;
}

/* Run again when the first save is done, if that takes a while. */
enum owl_verdict owl_task_step(struct owl_call *c)
{
    if (!c->item || c->item->kind != OWL_KIND_TOOL)
        return OWL_NEXT;
    if (!c->task) {
        uint64_t ttl_ms;
        enum owl_verdict v = decide(c, &ttl_ms);
        if (v != OWL_SUSPEND)
            return v;
        if (begin(c, ttl_ms) != 0)
            return refuse(c, -OWL_ENOMEM);
        if (c->task->saving) {
            owl_call_wait(c, c->host->timeout_ms);
            return OWL_SUSPEND;
        }
    }
    if (c->task->announced)
        return OWL_NEXT;
    int rc = c->task->rc;
    run_free(c->task);
    return refuse(c, rc);
}

/* ---- birth while the handler runs ---- */

static void become(struct owl_call *c)
{
    if (c->task || owl_call__state(c) == OWL_CALL_ENDED || c->step > &owl_steps[OWL_STEP_await])
        return;
    if (begin(c, c->host->limits->task_ms) == 0 && !c->task->saving && !c->task->announced)
        run_free(c->task); /* it stays an ordinary call */
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
    if (!c->item || !(c->handler_flags & OWL_TASK_LATER))
        return -OWL_ECAPABILITY;
    if (c->codec->era == OWL_ERA_LEGACY) /* there the client decides, before the handler runs */
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

/* ---- questions ---- */

/* What cannot be sent is asked again through the next call that waits. */
static void ask_front(struct owl_call *c)
{
    if (owl_ask__send(c) != 0)
        owl_ask__unsend(c);
}

/* The open questions become what the task shows. */
static int show_questions(struct owl_task_run *t)
{
    change(t, OWL_TASK_INPUT);
    owl_ask__requests(t->call, &t->payload);
    t->now.payload = owl_buf_str(&t->payload);
    if (t->payload.rc != 0)
        return t->payload.rc;
    save(t);
    return t->saving ? 0 : t->rc;
}

enum owl_verdict owl_task_ask(struct owl_call *c)
{
    owl_call_wait(c, owl_task_allowed(c));
    int rc = show_questions(c->task);
    if (rc != 0)
        return owl_call_set_failure(c, -rc, "the questions could not be kept: %s",
                                    owl_err_info(rc)->text);
    /* A legacy client is asked on the stream of a call that waits for the outcome. */
    if (c->codec->era == OWL_ERA_LEGACY && c->front)
        ask_front(c);
    return OWL_SUSPEND;
}

void owl_task_go_on(struct owl_call *c)
{
    change(c->task, OWL_TASK_WORKING);
    save(c->task);
}

void owl_task__answer(struct owl_call *c, owl_str responses)
{
    if (c->codec->era != OWL_ERA_MODERN || owl_call__state(c) != OWL_CALL_ASKING)
        return; /* nobody has asked, or the older way */
    int rc = owl_ask__take(c, responses);
    bool open = false;
    for (struct owl_ask *a = c->asks; a; a = a->next)
        open = open || owl_ask_open(a);
    if (rc == 0 && open)
        rc = show_questions(c->task);
    if (rc != 0) {
        owl_call_set_failure(c, -rc, "the answers could not be kept: %s", owl_err_info(rc)->text);
        owl_call_resume(c);
    } else if (!open) {
        owl_ask_go_on(c);
    }
}

/* ---- calls that wait for it ---- */

/* What the call says from now on, and asks, goes through @p front (NULL: nowhere). */
static void speak_through(struct owl_call *c, struct owl_call *front)
{
    owl_ask_drop(c);              /* asked again where they are heard */
    pthread_mutex_lock(&c->lock); /* the handler may report progress at any time */
    struct owl_call *old = c->front;
    c->front = front ? owl_call_ref(front) : NULL;
    pthread_mutex_unlock(&c->lock);
    owl_call_unref(old);
    if (front && owl_call__state(c) == OWL_CALL_ASKING)
        ask_front(c);
}

void owl_task__attach(struct owl_call *c, struct owl_call *visitor, bool speak)
{
    struct waiter *w = owl_malloc(sizeof *w);
    if (!w) {
        owl_task__wake(visitor);
        return;
    }
    w->visitor = owl_call_ref(visitor);
    /* Only the client that began it is asked and told, and only in the older form. */
    w->speak = speak && c->session && visitor->session == c->session;
    owl_list_add(&c->task->waiters, &w->node);
    if (w->speak)
        speak_through(c, visitor);
}

void owl_task__detach(struct owl_call *c, struct owl_call *visitor)
{
    struct owl_call *other = NULL;
    OWL_LIST_EACH (&c->task->waiters, it) {
        struct waiter *w = OWL_CONTAINER(it, struct waiter, node);
        if (w->visitor != visitor) {
            other = w->speak ? w->visitor : other;
            continue;
        }
        owl_list_del(&w->node);
        owl_call_unref(w->visitor);
        owl_free(w);
    }
    if (c->front == visitor)
        speak_through(c, other);
}

/* ---- the end ---- */

static void lose(struct owl_task_run *t)
{
    change(t, OWL_TASK_FAILED);
    t->now.tool_failed = false;
    t->now.payload = OWL_STR("{\"code\":-32603,\"message\":\"the result could not be kept until it "
                             "is fetched\"}");
    t->failures = 0;
}

static void outcome(struct owl_task_run *t, owl_str response)
{
    owl_str result = owl_span_get(response, "result"), error = owl_span_get(response, "error");
    change(t, t->call->end_error == OWL_ECANCELLED ? OWL_TASK_CANCELLED
              : result.p                           ? OWL_TASK_COMPLETED
                                                   : OWL_TASK_FAILED);
    t->failures = 0;
    if (t->now.status == OWL_TASK_CANCELLED)
        return;
    t->now.tool_failed = result.p && owl_str_is(owl_span_get(result, "isError"), "true");
    owl_buf_puts(&t->payload, result.p ? result : error);
    t->now.payload = owl_buf_str(&t->payload);
    if (t->payload.rc != 0 || !t->payload.n)
        lose(t);
}

bool owl_task_due(const struct owl_call *c)
{
    return !c->task->saving && !owl_task_over(c->task->now.status);
}

enum owl_verdict owl_task_reply(struct owl_call *c, owl_str response)
{
    struct owl_task_run *t = c->task;
    if (owl_task_due(c)) {
        outcome(t, response);
        save(t);
    }
    if (!t->saving && t->rc != 0 && t->payload.n) {
        lose(t); /* something small may find room */
        save(t);
    }
    return t->saving ? OWL_SUSPEND : OWL_NEXT;
}

void owl_task_drop(struct owl_call *c)
{
    if (c->task)
        run_free(c->task);
}

void owl_tasks_end_waiting(struct owl_host_local *l)
{
    OWL_LIST_EACH (&l->calls, it) {
        struct owl_call *c = OWL_CONTAINER(it, struct owl_call, node);
        if (c->task && owl_call__state(c) == OWL_CALL_ASKING)
            OWL_IGNORE(owl_call_end(c, OWL_ECLOSED, true)); /* it is asking: it ends */
    }
}

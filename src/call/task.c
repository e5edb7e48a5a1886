/* call/task.c - a call that runs as a task: how it is kept, its questions, its outcome.
 *
 * Threads: the call's reactor. A handler may be at work meanwhile, so nothing here uses the call's
 * arena or result except where the call waits for its client or is over.
 * Invariants: one version of the record is being saved at a time, and the last change is saved
 * after it; the client is told of a task only when the store has it; a task that it knows is saved
 * again and again for a while if the store fails. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/ask.h"
#include "call/task_run.h"
#include "codec/json.h"
#include "codec/scan.h"

enum { TRIES = 8, RETRY_MS = 250 };

/* A call that waits for the task to be over. */
struct waiter {
    struct owl_list node;
    struct owl_call *visitor; /* counted */
    bool speak;               /* the task may speak through it */
};

uint64_t owl_task_allowed(const struct owl_call *c)
{
    uint64_t left = owl_task_left(&c->task->now);
    return left ? left : 1;
}

/* ---- keeping it ---- */

void owl_task__save(struct owl_task_run *t)
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

void owl_task__free(struct owl_task_run *t)
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
        owl_task__free(t); /* it stays an ordinary call */
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
    owl_task__save(t);
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
        owl_task__save(t);
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

void owl_task__init(struct owl_task_run *t, struct owl_call *c)
{
    *t = (struct owl_task_run){.call = c, .op.done = on_saved};
    owl_timer_init(&t->retry, on_retry);
    owl_buf_init(&t->payload, c->host->limits->result_bytes + 64 * 1024);
    owl_buf_init(&t->birth, c->host->limits->result_bytes + 64 * 1024);
    owl_list_init(&t->waiters);
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
    owl_task__save(t);
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
    owl_task__save(c->task);
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
        owl_task__save(t);
    }
    if (!t->saving && t->rc != 0 && t->payload.n) {
        lose(t); /* something small may find room */
        owl_task__save(t);
    }
    return t->saving ? OWL_SUSPEND : OWL_NEXT;
}

void owl_task_drop(struct owl_call *c)
{
    if (c->task)
        owl_task__free(c->task);
}

void owl_tasks_end_waiting(struct owl_host_local *l)
{
    OWL_LIST_EACH (&l->calls, it) {
        struct owl_call *c = OWL_CONTAINER(it, struct owl_call, node);
        if (c->task && owl_call__state(c) == OWL_CALL_ASKING)
            OWL_IGNORE(owl_call_end(c, OWL_ECLOSED, true)); /* it is asking: it ends */
    }
}

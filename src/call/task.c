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
#include "call/parts.h"
#include "call/task_run.h"
#include "codec/json.h"
#include "codec/scan.h"

enum { TRIES = 8, RETRY_MS = 250 };

owl_str owl_task_id(const struct owl_call *c)
{
    return c->task ? owl_str_of(c->task->now.id) : (owl_str){NULL, 0};
}

uint64_t owl_task_allowed(const struct owl_call *c)
{
    uint64_t left = owl_task_left(&c->task->now);
    return left ? left : 1;
}

/* ---- keeping it ---- */

void owl_task__save(struct owl_task_run *t)
{
    struct owl_task_store *store = t->call->env->tasks;
    t->dirty = t->saving;
    if (t->saving)
        return;
    t->saving = t->inside = t->out = true;
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

/* The waiter waits no more; its call, with the reference. */
static struct owl_call *let_go(struct owl_task_waiter *w)
{
    struct owl_call *visitor = w->visitor;
    owl_list_del(&w->node);
    w->visitor = NULL;
    return visitor;
}

void owl_task__free(struct owl_task_run *t)
{
    struct owl_call *c = t->call;
    c->task = NULL;
    owl_map_del(&owl_call_local(c->env, c->reactor)->tasks, owl_str_of(t->now.id));
    OWL_LIST_EACH (&t->waiters, it) {
        struct owl_call *visitor = let_go(OWL_CONTAINER(it, struct owl_task_waiter, node));
        owl_task__wake(visitor, 0);
        owl_call_unref(visitor);
    }
    owl_list_del(&t->asking);
    owl_timer_stop(&t->again);
    owl_timer_stop(&t->retry);
    owl_buf_done(&t->payload);
    owl_buf_done(&t->birth);
    t->call = NULL;
    if (!t->out)
        owl_free(t);
}

/* The store has it: the request that began it is answered. */
static void announce(struct owl_task_run *t)
{
    struct owl_call *c = t->call;
    t->announced = true;
    owl_call_forget_id(c); /* its request is answered: the id is free again, for good */
    c->scope = 0;
    if (c->req.codec->era ==
        OWL_ERA_MODERN) { /* it is asked how it goes, and tells nothing itself */
        pthread_mutex_lock(&c->lock);
        c->req.meta.progress_token = (owl_str){NULL, 0};
        pthread_mutex_unlock(&c->lock);
        atomic_store(&c->log_level, OWL_LEVEL_EMERGENCY + 1);
    }
    if (owl_call__state(c) == OWL_CALL_RUNNING)
        owl_call_wait(c, owl_call__allowed_ms(c));
    struct owl_sink *sink = c->sink;
    c->sink = NULL;
    if (sink)
        sink->ops->respond(sink, c, owl_buf_str(&t->birth), 200);
    else if (owl_call_front(c)) /* a parked call, and the retry that has brought the answers */
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
        owl_call__fail(c);
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
           !owl_call_local(t->call->env, t->call->reactor)->ending;
}

static void on_saved(struct owl_task_op *op, int rc)
{
    struct owl_task_run *t = OWL_CONTAINER(op, struct owl_task_run, op);
    struct owl_call *c = t->call;
    bool inside = t->inside;
    t->saving = t->out = false;
    if (!c) {
        owl_free(t);
        return;
    }
    t->rc = rc;
    t->failures = rc == 0 ? 0 : t->failures + 1;
    if (rc == 0 && !t->announced)
        announce(t);
    if (rc != 0)
        OWL_LOG(c->env->log, OWL_LEVEL_ERROR, "task", "%s could not be kept: %s", t->now.id,
                owl_err_info(rc)->text);
    if (t->dirty) {
        owl_task__save(t);
    } else if (rc == 0) {
        if (c->env->task_changed)
            c->env->task_changed(c->env, &t->now);
    } else if (worth_a_retry(t)) {
        t->saving = true;
        owl_timer_start(c->reactor, &t->retry, RETRY_MS);
    }
    if (!inside && !t->saving)
        go_on(t);
}

/* ---- what it says of itself ---- */

/* The last message, which lives as long as the call: it may become a task later. */
struct owl_task_said {
    struct owl_msg msg;
    struct owl_call *call;
    bool posted; /* counts the call until it arrives at the reactor */
    size_t n;
    char text[OWL_TASK_MESSAGE];
};

/* The record has what the call has said last; whether that is new. */
static bool take_said(struct owl_task_run *t)
{
    struct owl_call *c = t->call;
    pthread_mutex_lock(&c->lock);
    owl_str text = c->said ? (owl_str){c->said->text, c->said->n} : OWL_STR("");
    bool is_new = !owl_str_eq(text, t->now.message);
    if (is_new)
        t->now.message = (owl_str){memcpy(t->message, text.p, text.n), text.n};
    pthread_mutex_unlock(&c->lock);
    return is_new;
}

static void on_said(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct owl_call *c = OWL_CONTAINER(m, struct owl_task_said, msg)->call;
    struct owl_task_run *t = c->task;
    pthread_mutex_lock(&c->lock);
    c->said->posted = false;
    pthread_mutex_unlock(&c->lock);
    if (t && (t->announced || t->saving) && !owl_task_over(t->now.status) && take_said(t)) {
        t->now.updated_ms = owl_wall_ms();
        owl_task__save(t);
    }
    owl_call_unref(c);
}

/* Whether the call is a task or may still become one. Any thread: while it runs this does not
 * change. */
static bool may_be_task(struct owl_call *c)
{
    if (c->req.codec->era == OWL_ERA_LEGACY)
        return c->related.p;
    return (owl_call_flags(c) & OWL_TASK) &&
           owl_call_client_can(c, "extensions." OWL_TASKS_EXTENSION);
}

int owl_task_say(struct owl_call *c, const char *message)
{
    if (!may_be_task(c))
        return 0;
    owl_str text = owl_utf8_cut(owl_str_of(message), OWL_TASK_MESSAGE);
    pthread_mutex_lock(&c->lock);
    if (!c->said && (c->said = owl_malloc(sizeof *c->said)))
        *c->said = (struct owl_task_said){.msg.run = on_said, .call = c};
    struct owl_task_said *said = c->said;
    bool post = said && !said->posted;
    if (said) {
        memcpy(said->text, text.p, text.n);
        said->n = text.n;
        said->posted = true;
    }
    pthread_mutex_unlock(&c->lock);
    if (post && !owl_post(owl_call_ref(c)->reactor, &said->msg))
        owl_call_unref(c); /* the server has gone */
    return said ? 0 : -OWL_ENOMEM;
}

static void on_again(struct owl_timer *timer);

void owl_task__init(struct owl_task_run *t, struct owl_call *c)
{
    *t = (struct owl_task_run){.call = c, .op.done = on_saved};
    owl_timer_init(&t->retry, on_retry);
    owl_timer_init(&t->again, on_again);
    owl_list_init(&t->asking);
    owl_buf_init(&t->payload, c->env->limits->result_bytes + 64 * 1024);
    owl_buf_init(&t->birth, c->env->limits->result_bytes + 64 * 1024);
    owl_list_init(&t->waiters);
    OWL_IGNORE(take_said(t)); /* before it was a task */
}

/* ---- questions ---- */

/* Whether there are questions, which no handler touches now, and they may be put to that client. */
static bool may_ask(struct owl_call *c, struct owl_call *visitor)
{
    return owl_call__state(c) == OWL_CALL_ASKING && visitor->req.session &&
           owl_ask__may(c, visitor);
}

/* What cannot be asked there, or sent, waits for the next call that waits, or for tasks/update; what
 * only has no room now is tried again. */
static void ask_front(struct owl_call *c)
{
    int rc = owl_call_front(c) && may_ask(c, c->talk->front) ? owl_ask__send(c) : 0;
    if (rc == -OWL_EBUSY || rc == -OWL_ELIMIT)
        owl_task__ask_later(c);
    else if (rc != 0)
        owl_ask_drop(c);
}

static void on_again(struct owl_timer *timer)
{
    ask_front(OWL_CONTAINER(timer, struct owl_task_run, again)->call);
}

void owl_task__ask_later(struct owl_call *c)
{
    owl_timer_start(c->reactor, &c->task->again, RETRY_MS);
}

/* What the call says from now on, and asks, goes through @p front (NULL: nowhere). */
static void speak_through(struct owl_call *c, struct owl_call *front)
{
    if (!owl_call__talk(c))
        return;                   /* without memory it is heard by those who ask */
    owl_ask_drop(c);              /* asked again where they are heard */
    pthread_mutex_lock(&c->lock); /* the handler may report progress at any time */
    struct owl_call *old = c->talk->front;
    c->talk->front = front ? owl_call_ref(front) : NULL;
    pthread_mutex_unlock(&c->lock);
    owl_call_unref(old);
    ask_front(c);
}

/* Whether it is the client that began the task, in the older form: that one is told and asked before
 * all others, to whom its progress means nothing. */
static bool is_own(const struct owl_call *c, const struct owl_call *visitor)
{
    return visitor->req.session && visitor->req.session == c->req.session;
}

/* Of the calls that wait the last of its own, otherwise the last that can be asked; or NULL. */
static struct owl_call *best_front(struct owl_call *c)
{
    struct owl_list *waiters = &c->task->waiters;
    const struct owl_task_waiter *last = OWL_CONTAINER(waiters->prev, struct owl_task_waiter, node);
    if (!owl_list_empty(waiters) && last->speak && is_own(c, last->visitor))
        return last->visitor;
    if (owl_call__state(c) != OWL_CALL_ASKING)
        return NULL;
    OWL_LIST_EACH (waiters, it) {
        const struct owl_task_waiter *w = OWL_CONTAINER(it, struct owl_task_waiter, node);
        if (w->speak && may_ask(c, w->visitor))
            return w->visitor;
    }
    return NULL;
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
    owl_list_del(&c->task->asking);
    owl_list_add(&owl_call_local(c->env, c->reactor)->asking, &c->task->asking);
    /* A legacy client is asked on the stream of a call that waits for the outcome. */
    struct owl_call *front = best_front(c);
    if (front && front != owl_call_front(c))
        speak_through(c, front);
    else
        ask_front(c);
    return OWL_SUSPEND;
}

void owl_task_go_on(struct owl_call *c)
{
    change(c->task, OWL_TASK_WORKING);
    owl_task__save(c->task);
}

static unsigned open_questions(const struct owl_call *c)
{
    unsigned n = 0;
    for (const struct owl_ask *a = c->asks; a; a = a->next)
        n += owl_ask_open(a);
    return n;
}

/* The answers could be kept, unless @p rc says otherwise: what is still open is shown. */
static void go_on_asking(struct owl_call *c, int rc)
{
    unsigned open = open_questions(c);
    if (rc == 0 && open)
        rc = show_questions(c->task);
    if (rc == 0 && open)
        ask_front(c); /* what it was to answer, and could not be kept */
    if (rc != 0) {
        owl_call_set_failure(c, -rc, "the answers could not be kept: %s", owl_err_info(rc)->text);
        owl_call__fail(c);
    } else if (!open) {
        owl_ask_go_on(c);
    }
}

void owl_task__answered(struct owl_call *c)
{
    go_on_asking(c, 0);
}

int owl_task__answer(struct owl_call *c, owl_str responses)
{
    if (owl_call__state(c) != OWL_CALL_ASKING)
        return 0; /* nobody has asked */
    unsigned were = open_questions(c);
    int rc = owl_ask__take(c, responses);
    bool busy = rc == -OWL_EBUSY; /* the others were kept */
    if ((rc == 0 || busy) && open_questions(c) == were)
        return rc;
    owl_ask__withdraw(c); /* who was asked in the older form need not answer any more */
    go_on_asking(c, busy ? 0 : rc);
    return busy ? rc : 0;
}

/* ---- calls that wait for it ---- */

void owl_task__attach(struct owl_call *c, struct owl_call *visitor, struct owl_task_waiter *w,
                      bool speak)
{
    struct owl_list *waiters = &c->task->waiters;
    const struct owl_call *front = owl_call_front(c);
    bool own = speak && is_own(c, visitor), taken = front && is_own(c, front);
    *w = (struct owl_task_waiter){.visitor = owl_call_ref(visitor), .speak = speak};
    owl_list_add(own ? waiters : waiters->next, &w->node); /* behind all, or in front of them */
    if (own || (speak && !taken && may_ask(c, visitor)))
        speak_through(c, visitor);
}

void owl_task__detach(struct owl_call *c, struct owl_task_waiter *w)
{
    if (!w->visitor)
        return;
    struct owl_call *visitor = let_go(w);
    if (owl_call_front(c) == visitor)
        speak_through(c, best_front(c));
    owl_call_unref(visitor);
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

void owl_tasks_end_waiting(struct owl_call_local *l)
{
    struct owl_list todo;
    owl_list_move(&todo, &l->calls); /* the end of one may be the end of others */
    for (struct owl_list *it; (it = owl_list_turn(&todo, &l->calls));) {
        struct owl_call *c = OWL_CONTAINER(it, struct owl_call, node);
        if (c->task && owl_call__state(c) == OWL_CALL_ASKING)
            OWL_IGNORE(owl_call_end(c, OWL_ECLOSED, true)); /* it is asking: it ends */
    }
}

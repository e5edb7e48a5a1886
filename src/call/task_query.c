/* call/task_query.c - calls about tasks: they read the store, and visit the reactor that runs the task
 * where something is to be done there.
 *
 * Threads: a visiting call is touched on its reactor only, the task's call on its own; they meet by
 * messages, each of which holds the visitor. */
#include "base/alloc.h"
#include "base/err.h"
#include "call/ask.h"
#include "call/task.h"
#include "codec/json.h"
#include "codec/scan.h"

enum { GRACE_MS = 1000 }; /* beyond the end of a task, for it to be told */

/* Lives in the arena of the visiting call. */
struct owl_task_query {
    struct owl_call *call;
    struct owl_task_op op;
    enum owl_task_wish wish;
    enum owl_verdict (*answer)(struct owl_call *c, const struct owl_task *t);
    owl_str id;
    bool inside;  /* the question to the store is on the stack */
    bool visited; /* the wish was carried to the task */
    enum owl_verdict verdict;
    struct owl_task_waiter waiter; /* the reactor's that runs the task */
};

/* ---- on the task's reactor ---- */

struct errand {
    struct owl_msg msg;
    struct owl_call_env *env;
    struct owl_call *visitor; /* counted */
    enum owl_task_wish wish;
    bool leave; /* the visitor has gone */
    size_t id_n, n;
    char text[]; /* the id, then inputResponses */
};

static void on_errand(struct owl_reactor *r, struct owl_msg *m)
{
    struct errand *e = OWL_CONTAINER(m, struct errand, msg);
    struct owl_call *c = owl_map_get(&owl_call_local(e->env, r)->tasks,
                                     (owl_str){e->text, e->id_n});
    if (e->leave) {
        if (c)
            owl_task__detach(c, &e->visitor->visit->waiter);
    } else if (!c) {
        owl_task__wake(e->visitor, 0); /* it is over: the store has the end */
    } else if (e->wish == OWL_TASK_UPDATE) {
        owl_task__wake(e->visitor, owl_task__answer(c, (owl_str){e->text + e->id_n, e->n}));
    } else {
        owl_task__attach(c, e->visitor, &e->visitor->visit->waiter, e->wish == OWL_TASK_AWAIT);
        if (e->wish == OWL_TASK_CANCEL)
            OWL_IGNORE(owl_call_end(c, OWL_ECANCELLED, true)); /* just finishing: it is over, too */
    }
    owl_call_unref(e->visitor);
    owl_free(e);
}

static int send_errand(struct owl_task_query *v, bool leave, owl_str text)
{
    struct owl_call *c = v->call;
    struct owl_reactor *to = owl_runtime_named(c->runtime, v->id);
    if (!to)
        return -OWL_EPARAMS;
    struct errand *e = owl_malloc(sizeof *e + v->id.n + text.n);
    if (!e)
        return -OWL_ENOMEM;
    *e = (struct errand){.msg.run = on_errand,
                         .env = c->env,
                         .wish = v->wish,
                         .leave = leave,
                         .id_n = v->id.n,
                         .n = text.n};
    memcpy(e->text, v->id.p, v->id.n);
    memcpy(e->text + v->id.n, text.n ? text.p : "", text.n);
    e->visitor = owl_call_ref(c);
    if (owl_post(to, &e->msg))
        return 0;
    owl_call_unref(c);
    owl_free(e);
    return -OWL_ECLOSED;
}

/* ---- on the visitor's ---- */

static enum owl_verdict fail(struct owl_call *c, int rc)
{
    if (rc == -OWL_ENOTFOUND || rc == -OWL_EPARAMS)
        return owl_call_set_failure(c, OWL_EPARAMS,
                                    "unknown task: there never was one, or its time is over");
    return owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
}

static void on_gone(owl_call *c, void *data)
{
    (void)c;
    /* no memory: the task tells nobody, which harms nobody */
    OWL_IGNORE(send_errand(data, true, (owl_str){NULL, 0}));
}

static enum owl_verdict carry(struct owl_task_query *v, const struct owl_task *t)
{
    struct owl_call *c = v->call;
    owl_str text = {NULL, 0};
    if (v->wish == OWL_TASK_UPDATE)
        text = owl_rpc_param(&c->req.msg, OWL_STR("inputResponses"));
    int rc = owl_call_claim_id(c);
    if (rc != 0)
        return owl_call_refuse_id(c, rc);
    rc = owl_call_on_cancel(c, on_gone, v);
    v->visited = true;
    owl_call_wait(c, v->wish == OWL_TASK_AWAIT ? owl_task_left(t) + GRACE_MS : c->env->timeout_ms);
    if (rc == 0)
        rc = send_errand(v, false, text);
    return rc == 0 ? OWL_SUSPEND : fail(c, rc);
}

static enum owl_verdict found(struct owl_task_query *v, int rc, const struct owl_task *t)
{
    struct owl_call *c = v->call;
    if (rc != 0 || !owl_str_eq(t->principal, c->req.principal))
        return fail(c, rc ? rc : -OWL_ENOTFOUND);
    if (v->wish != OWL_TASK_LOOK && !v->visited && !owl_task_over(t->status))
        return carry(v, t);
    if ((v->wish == OWL_TASK_AWAIT || v->wish == OWL_TASK_CANCEL) && !owl_task_over(t->status))
        return owl_call_set_failure(c, OWL_EIO, "the task runs nowhere any more");
    return v->answer(c, t);
}

static void on_found(struct owl_task_op *op, int rc)
{
    struct owl_task_query *v = OWL_CONTAINER(op, struct owl_task_query, op);
    struct owl_call *c = v->call;
    c->consults = false;
    if (c->step == &owl_steps[OWL_STEP_end]) { /* over: it only waited for this to be freed */
        owl_call_unref(c);
        return;
    }
    v->verdict = found(v, rc, rc == 0 ? op->tasks[0] : NULL);
    if (!v->inside && v->verdict != OWL_SUSPEND)
        OWL_IGNORE(owl_call_complete(c)); /* nobody else can have */
}

static void look(struct owl_task_query *v)
{
    struct owl_task_store *store = v->call->env->tasks;
    v->call->consults = true;
    store->ops->get(store, v->id, &v->op);
}

/* The store takes its time, and the client may lose its patience. */
static enum owl_verdict wait_for_store(struct owl_task_query *v)
{
    int rc = owl_call_claim_id(v->call);
    if (rc != 0)
        return owl_call_refuse_id(v->call, rc);
    owl_call_wait(v->call, v->call->env->timeout_ms);
    return OWL_SUSPEND;
}

struct wake {
    struct owl_msg msg;
    struct owl_call *visitor; /* counted */
    int rc;
};

static void on_wake(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct wake *w = OWL_CONTAINER(m, struct wake, msg);
    if (owl_call__state(w->visitor) == OWL_CALL_RUNNING && w->rc == 0) {
        look(w->visitor->visit);
    } else if (owl_call__state(w->visitor) == OWL_CALL_RUNNING) {
        OWL_IGNORE(fail(w->visitor, w->rc));
        OWL_IGNORE(owl_call_complete(w->visitor)); /* nobody else can have */
    }
    owl_call_unref(w->visitor);
    owl_free(w);
}

void owl_task__wake(struct owl_call *visitor, int rc)
{
    struct wake *w = owl_malloc(sizeof *w);
    if (!w)
        return; /* its deadline answers */
    *w = (struct wake){.msg.run = on_wake, .visitor = owl_call_ref(visitor), .rc = rc};
    if (!owl_post(visitor->reactor, &w->msg)) {
        owl_call_unref(visitor);
        owl_free(w);
    }
}

enum owl_verdict owl_task_query(struct owl_call *c, enum owl_task_wish wish,
                                enum owl_verdict (*answer)(struct owl_call *c,
                                                           const struct owl_task *t))
{
    if (c->req.codec->era == OWL_ERA_MODERN &&
        owl_call_require(c, "extensions." OWL_TASKS_EXTENSION) != 0)
        return OWL_FINISH;
    struct owl_task_query *v = owl_arena_zalloc(c->arena, sizeof *v);
    if (!v)
        return fail(c, -OWL_ENOMEM);
    if (!owl_call_param_str(c, "taskId", &v->id))
        return OWL_FINISH;
    if (!v->id.p)
        return owl_call_set_failure(c, OWL_EPARAMS, "%s needs params.taskId", c->method->name);
    if (wish == OWL_TASK_UPDATE &&
        !owl_span_is_object(owl_rpc_param(&c->req.msg, OWL_STR("inputResponses"))))
        return owl_call_set_failure(c, OWL_EPARAMS, "%s needs params.inputResponses, an object",
                                    c->method->name);
    v->call = c;
    v->op.done = on_found;
    v->wish = wish;
    v->answer = answer;
    v->verdict = OWL_SUSPEND;
    c->visit = v;
    v->inside = true;
    look(v);
    v->inside = false;
    return c->consults ? wait_for_store(v) : v->verdict;
}

bool owl_task_query_carried(const struct owl_call *c)
{
    return c->visit->visited;
}

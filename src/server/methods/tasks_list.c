/* server/methods/tasks_list.c - the method tasks/list of 2025-11-25: the tasks of this session. */
#include "base/err.h"
#include "server/server.h"

enum { PAGE = 50 };

struct page {
    struct owl_task_op op;
    struct owl_call *call;
    bool inside; /* run() is on the stack */
};

static void write_page(struct page *p)
{
    struct owl_buf *b = &p->call->result.list;
    owl_buf_putz(b, "\"tasks\":[");
    for (size_t i = 0; i < p->op.n; i++) {
        owl_buf_putz(b, i ? ",{" : "{");
        owl_task_write(b, p->op.tasks[i], OWL_ERA_LEGACY, false);
        owl_buf_putc(b, '}');
    }
    owl_buf_putc(b, ']');
    if (p->op.more)
        owl_buf_printf(b, ",\"nextCursor\":\"%s\"", p->op.tasks[p->op.n - 1]->id);
}

static void on_listed(struct owl_task_op *op, int rc)
{
    struct page *p = OWL_CONTAINER(op, struct page, op);
    p->call->consults = false;
    if (p->call->step == &owl_steps[OWL_STEP_end]) { /* over: it only waited for this to be freed */
        owl_call_unref(p->call);
        return;
    }
    if (rc == -OWL_ENOTFOUND)
        owl_call_set_failure(p->call, OWL_EPARAMS, "cursor: not one that this list gave out");
    else if (rc != 0)
        owl_call_set_failure(p->call, -rc, "%s", owl_err_info(rc)->text);
    else
        write_page(p);
    if (!p->inside)
        OWL_IGNORE(owl_call_complete(p->call)); /* nobody else can have */
}

static enum owl_verdict run(struct owl_call *c)
{
    owl_str cursor;
    struct page *p = owl_arena_zalloc(c->arena, sizeof *p);
    if (!p)
        return owl_call_set_failure(c, OWL_ENOMEM, "%s", owl_err_info(OWL_ENOMEM)->text);
    if (!owl_call_param_str(c, "cursor", &cursor))
        return OWL_FINISH;
    p->call = c;
    p->op.done = on_listed;
    p->inside = c->consults = true;
    c->env->tasks->ops->list(c->env->tasks, owl_session_serial(c->req.session), cursor, PAGE,
                             &p->op);
    p->inside = false;
    if (!c->consults)
        return OWL_FINISH;
    int rc = owl_call_claim_id(c);
    if (rc != 0)
        return owl_call_refuse_id(c, rc);
    owl_call_wait(c, c->env->timeout_ms);
    return OWL_SUSPEND;
}

const struct owl_method owl_method_tasks_list = {
    .name = "tasks/list",
    .eras = OWL_IN_LEGACY,
    .since = OWL_REV_2025_11_25,
    .capability = OWL_CAP_TASKS,
    .run = run,
};

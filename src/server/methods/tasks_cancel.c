/* server/methods/tasks_cancel.c - the method tasks/cancel: end a task. */
#include "server/server.h"

static enum owl_verdict answer(struct owl_call *c, const struct owl_task *t)
{
    if (c->req.codec->era == OWL_ERA_MODERN)
        return OWL_FINISH; /* received; tasks/get shows how it has ended */
    if (t->status != OWL_TASK_CANCELLED || !owl_task_query_carried(c))
        return owl_call_set_failure(c, OWL_EPARAMS, "the task is over: it cannot be cancelled");
    owl_task_write(&c->result.list, t, OWL_ERA_LEGACY, false);
    return OWL_FINISH;
}

static enum owl_verdict run(struct owl_call *c)
{
    return owl_task_query(c, OWL_TASK_CANCEL, answer);
}

const struct owl_method owl_method_tasks_cancel = {
    .name = "tasks/cancel",
    .eras = OWL_IN_BOTH,
    .since = OWL_REV_2025_11_25,
    .name_key = "taskId",
    .capability = OWL_CAP_TASKS,
    .run = run,
};

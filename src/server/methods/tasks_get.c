/* server/methods/tasks_get.c - the method tasks/get: how a task is. */
#include "server/server.h"

static enum owl_verdict answer(struct owl_call *c, const struct owl_task *t)
{
    enum owl_era era = c->req.codec->era;
    owl_task_write(&c->result.list, t, era, era == OWL_ERA_MODERN);
    return OWL_FINISH;
}

static enum owl_verdict run(struct owl_call *c)
{
    return owl_task_query(c, OWL_TASK_LOOK, answer);
}

const struct owl_method owl_method_tasks_get = {
    .name = "tasks/get",
    .eras = OWL_IN_BOTH,
    .since = OWL_REV_2025_11_25,
    .name_key = "taskId",
    .capability = OWL_CAP_TASKS,
    .run = run,
};

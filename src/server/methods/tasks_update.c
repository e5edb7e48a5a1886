/* server/methods/tasks_update.c - the method tasks/update: answers to the questions of a task. */
#include "server/server.h"

static enum owl_verdict answer(struct owl_call *c, const struct owl_task *t)
{
    (void)c;
    (void)t;
    return OWL_FINISH; /* received; what came of it is seen by tasks/get */
}

static enum owl_verdict run(struct owl_call *c)
{
    return owl_task_query(c, OWL_TASK_UPDATE, answer);
}

const struct owl_method owl_method_tasks_update = {
    .name = "tasks/update",
    .eras = OWL_IN_MODERN,
    .name_key = "taskId",
    .capability = OWL_CAP_TASKS,
    .run = run,
};

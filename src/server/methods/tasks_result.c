/* server/methods/tasks_result.c - the method tasks/result of 2025-11-25: wait for a task, and have what its
 * request would have answered. */
#include <stdio.h>

#include "base/err.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "server/server.h"

static int read_code(owl_str literal)
{
    uint64_t n;
    bool minus = literal.n > 0 && literal.p[0] == '-';
    if (!owl_str_u64((owl_str){literal.p + minus, literal.n - minus}, INT32_MAX, &n))
        return 0;
    return minus ? -(int)n : (int)n;
}

/* The error that the request would have answered. */
static enum owl_verdict answer_error(struct owl_call *c, owl_str kept)
{
    owl_str message = {NULL, 0}, error = {owl_arena_dup(c->arena, kept), kept.n};
    if (!error.p || owl_json_decode(c->arena, owl_span_get(error, "message"), &message) != 0)
        return owl_call_set_failure(c, OWL_ENOMEM, "%s", owl_err_info(OWL_ENOMEM)->text);
    owl_str data = owl_span_get(error, "data"), trace = owl_span_get(data, "trace_id");
    if (trace.n == OWL_TRACE_ID + 2) /* the log knows the task by it */
        memcpy(c->trace_id, trace.p + 1, OWL_TRACE_ID);
    owl_call_set_failure(c, OWL_ETOOL, "the task failed");
    c->failure.message = message;
    c->failure.rpc_code = read_code(owl_span_get(error, "code"));
    if (data.p)
        owl_call_set_failure_data(c, data);
    return OWL_FINISH;
}

static enum owl_verdict answer(struct owl_call *c, const struct owl_task *t)
{
    char related[80];
    if (t->status == OWL_TASK_CANCELLED)
        return owl_call_set_failure(c, OWL_ECANCELLED, "the task was cancelled");
    if (t->status == OWL_TASK_FAILED)
        return answer_error(c, t->payload);
    snprintf(related, sizeof related, "{\"taskId\":\"%s\"}", t->id);
    int rc = owl_result_raw(c, t->payload.p, t->payload.n);
    if (rc == 0)
        rc = owl_result_meta(c, "io.modelcontextprotocol/related-task", related, OWL_NTS);
    return rc == 0 ? OWL_FINISH
                   : owl_call_set_failure(c, -rc, "the result of the task could not be written");
}

static enum owl_verdict run(struct owl_call *c)
{
    return owl_task_query(c, OWL_TASK_AWAIT, answer);
}

const struct owl_method owl_method_tasks_result = {
    .name = "tasks/result",
    .eras = OWL_IN_LEGACY,
    .since = OWL_REV_2025_11_25,
    .capability = OWL_CAP_TASKS,
    .run = run,
};

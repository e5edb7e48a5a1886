/* call/task_record.c - the records of tasks, and how clients see them.
 *
 * Threads: any. */
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "call/task.h"
#include "codec/json.h"

static owl_str put_text(char **at, owl_str s)
{
    if (!s.p)
        return s;
    owl_str copy = {memcpy(*at, s.p, s.n), s.n};
    *at += s.n;
    return copy;
}

struct owl_task *owl_task_new(const struct owl_task *from)
{
    struct owl_task *t = owl_malloc(sizeof *t + from->principal.n + from->message.n +
                                    from->payload.n);
    if (!t)
        return NULL;
    char *text = (char *)(t + 1);
    memcpy(t, from, sizeof *t);
    atomic_init(&t->_refs, 1);
    t->principal = put_text(&text, from->principal);
    t->message = put_text(&text, from->message);
    t->payload = put_text(&text, from->payload);
    return t;
}

struct owl_task *owl_task_aref(struct owl_task *t)
{
    atomic_fetch_add_explicit(&t->_refs, 1, memory_order_relaxed);
    return t;
}

void owl_task_aunref(struct owl_task *t)
{
    if (t && atomic_fetch_sub_explicit(&t->_refs, 1, memory_order_acq_rel) == 1)
        owl_free(t);
}

uint64_t owl_task_left(const struct owl_task *t)
{
    int64_t gone = owl_wall_ms() - t->created_ms;
    if (gone < 0)
        return t->ttl_ms;
    return (uint64_t)gone < t->ttl_ms ? t->ttl_ms - (uint64_t)gone : 0;
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
    if (t->message.n) {
        owl_buf_putz(b, ",\"statusMessage\":");
        owl_json_quote(b, t->message);
    }
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

void owl_task_write_related(struct owl_buf *b, owl_str id)
{
    if (!id.p)
        return;
    owl_buf_putz(b, "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"");
    owl_buf_puts(b, id);
    owl_buf_putz(b, "\"}");
}

void owl_task_write_meta(struct owl_buf *b, owl_str id)
{
    if (!id.p)
        return;
    owl_buf_putz(b, ",\"_meta\":{");
    owl_task_write_related(b, id);
    owl_buf_putc(b, '}');
}

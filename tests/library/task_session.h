/* library/task_session.h - a session of 2025-11-25 that asks for tasks and about them. */
#ifndef OWL_TEST_SERVER_TASK_SESSION_H
#define OWL_TEST_SERVER_TASK_SESSION_H

#include "library/tasks.h"

#define ELICIT "{\"elicitation\":{}}"
#define RELATED "_meta/io.modelcontextprotocol~related-task/taskId"

static owl_server *s;
static struct http h; /* the session */

static void (*check)(void);

static void check_on(owl_server *server)
{
    s = server;
    h = legacy_open(s, ELICIT);
    check();
    http_close(&h);
}

static inline void everywhere(void (*test)(void))
{
    check = test;
    in_all_worlds(check_on);
}

/* A request on a connection of its own, to be read by the caller. */
static inline struct http ask_about(const char *id, const char *method, const char *params)
{
    struct http c = http_join(&h);
    char *text = legacy_text(id, method, params);
    legacy_send(&c, text);
    free(text);
    return c;
}

static inline msg *answer_of(struct http c)
{
    http_head(&c);
    msg *m = http_next(&c);
    http_close(&c);
    return m;
}

static inline msg *request(const char *method, const char *params)
{
    return answer_of(ask_about("1", method, params));
}

static inline msg *call_tool(const char *tool, const char *task)
{
    char *params = text_of("\"name\":\"%s\",\"_meta\":{\"progressToken\":\"p\"}%s%s", tool,
                           *task ? ",\"task\":" : "", task);
    msg *m = request("tools/call", params);
    free(params);
    return m;
}

static inline struct id begin(const char *tool)
{
    msg *m = call_tool(tool, "{}");
    struct id id = id_at(m, "result/task/taskId");
    expect_str(m, "result/task/status", "working");
    return id;
}

static inline struct http open_about(const char *id, const char *method, struct id task)
{
    char *params = text_of("\"taskId\":\"%s\"", task.text);
    struct http c = ask_about(id, method, params);
    free(params);
    return c;
}

static inline msg *with_task(const char *method, struct id id)
{
    return answer_of(open_about("1", method, id));
}

static inline void wait_status(struct id id, const char *status)
{
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; usleep(2000)) {
        msg *m = with_task("tasks/get", id);
        bool is = strcmp(str_at(m, "result/status"), status) == 0;
        owl_json_doc_free(m);
        if (is)
            return;
    }
    fail_msg("never %s", status);
}

static inline msg *next_question(struct http *c)
{
    for (;;) {
        msg *m = http_next(c);
        assert_non_null(m);
        if (strcmp(str_at(m, "method"), "elicitation/create") == 0)
            return m;
        owl_json_doc_free(m);
    }
}

#endif

/* library/tasks.h - for the tests of tasks: the tools that run as tasks, and modern clients that
 * ask about them. */
#ifndef OWL_TEST_SERVER_TASKS_H
#define OWL_TEST_SERVER_TASKS_H

#include "base/alloc.h"
#include "library/fixture.h"
#include "library/task_store.h"

/* ---- tools ---- */

#define ACCEPT(name) "{\"action\":\"accept\",\"content\":{\"name\":\"" name "\"}}"

static atomic_int begun, gate, cancels;
static atomic_int become_rc = 1;

static inline int quick(owl_call *c, void *data)
{
    (void)data;
    return owl_result_text(c, "quick");
}

/* Works until the gate is open. */
static inline int wait_gate(owl_call *c, void *data)
{
    (void)data;
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&gate) && !owl_call_cancelled(c))
        usleep(500);
    if (owl_call_cancelled(c))
        atomic_fetch_add(&cancels, 1);
    return owl_result_text(c, "through");
}

/* Tells progress and logs, now and when the gate is open. */
static inline int tell_all(owl_call *c, void *data)
{
    owl_call_progress(c, 1, 3, "one");
    owl_call_logf(c, OWL_LEVEL_ERROR, "test", "first");
    int rc = wait_gate(c, data);
    owl_call_progress(c, 2, 3, "two");
    owl_call_logf(c, OWL_LEVEL_ERROR, "test", "second");
    while (atomic_load(&gate) == 1 && !owl_call_cancelled(c))
        usleep(500);
    return rc;
}

static inline int fail_tool(owl_call *c, void *data)
{
    (void)data;
    return owl_call_fail(c, "it broke");
}

static inline int fail_rpc(owl_call *c, void *data)
{
    (void)data;
    return owl_call_error(c, -32603, "{\"why\":\"x\"}", "it broke badly");
}

static inline int ask_form(owl_call *c, const char *key, const owl_json **ret)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = key, .schema = SCHEMA};
    return owl_ask(c, key, &q, ret);
}

static inline const char *given_name(const owl_json *answer)
{
    return owl_json_get_str(owl_json_get(answer, "content"), "name",
                            owl_json_get_str(answer, "action", "?"));
}

static inline int ask_one(owl_call *c, void *data)
{
    (void)data;
    const owl_json *a;
    int rc = ask_form(c, "a", &a);
    return rc ? rc : owl_result_textf(c, "a=%s", given_name(a));
}

static inline int ask_two(owl_call *c, void *data)
{
    (void)data;
    const owl_json *a, *b;
    int rc = ask_form(c, "a", &a), rc2 = ask_form(c, "b", &b);
    if (rc || rc2)
        return rc ? rc : rc2;
    return owl_result_textf(c, "a=%s b=%s", given_name(a), given_name(b));
}

/* One question after the other. */
static inline int ask_rounds(owl_call *c, void *data)
{
    (void)data;
    const owl_json *a, *b;
    int rc = ask_form(c, "a", &a);
    if (rc == 0)
        rc = ask_form(c, "b", &b);
    return rc ? rc : owl_result_textf(c, "a=%s b=%s", given_name(a), given_name(b));
}

static inline int become(owl_call *c, void *data)
{
    atomic_store(&become_rc, owl_call_become_task(c));
    return data ? wait_gate(c, NULL) : owl_result_text(c, "became");
}

/* A question before it is a task, one after. */
static inline int become_between(owl_call *c, void *data)
{
    (void)data;
    const owl_json *a, *b;
    int rc = ask_form(c, "a", &a);
    if (rc != 0)
        return rc;
    atomic_store(&become_rc, owl_call_become_task(c));
    rc = ask_form(c, "b", &b);
    return rc ? rc : owl_result_textf(c, "a=%s b=%s", given_name(a), given_name(b));
}

static inline int parked_answer(owl_call *c, const owl_json *answer, void *data)
{
    if (data)
        atomic_store(&become_rc, owl_call_become_task(c));
    if (data)
        while (!atomic_load(&gate) && !owl_call_cancelled(c))
            usleep(500);
    return owl_result_textf(c, "parked=%s", given_name(answer));
}

static inline int ask_parked(owl_call *c, void *data)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "?", .schema = SCHEMA};
    int rc = owl_ask_async(c, "a", &q, parked_answer, data);
    return rc ? rc : OWL_PENDING;
}

static inline int big_result(owl_call *c, void *data)
{
    (void)data;
    char text[20001];
    memset(text, 'x', 20000);
    text[20000] = '\0';
    return owl_result_text(c, text);
}

static inline int with_meta(owl_call *c, void *data)
{
    (void)data;
    int rc = owl_result_meta(c, "mine", "1", OWL_NTS);
    return rc ? rc : owl_result_text(c, "meta");
}

static char some_data[] = "x";

static inline void add_task_tools(owl_server *s)
{
    const owl_tool tools[] = {
        {.name = "plain", .handler = quick},
        {.name = "quick", .handler = quick, .flags = OWL_TASK},
        {.name = "inline", .handler = quick, .flags = OWL_TASK | OWL_INLINE},
        {.name = "gate", .handler = wait_gate, .flags = OWL_TASK},
        {.name = "short", .handler = wait_gate, .flags = OWL_TASK, .timeout_ms = 50},
        {.name = "tell", .handler = tell_all, .flags = OWL_TASK},
        {.name = "only", .handler = quick, .flags = OWL_TASK_ONLY},
        {.name = "fail", .handler = fail_tool, .flags = OWL_TASK},
        {.name = "error", .handler = fail_rpc, .flags = OWL_TASK},
        {.name = "ask", .handler = ask_one, .flags = OWL_TASK},
        {.name = "ask2", .handler = ask_two, .flags = OWL_TASK},
        {.name = "rounds", .handler = ask_rounds, .flags = OWL_TASK},
        {.name = "later", .handler = become, .flags = OWL_TASK_LATER},
        {.name = "later_inline", .handler = become, .flags = OWL_TASK_LATER | OWL_INLINE},
        {.name = "later_gate", .handler = become, .data = some_data, .flags = OWL_TASK_LATER},
        {.name = "between", .handler = become_between, .flags = OWL_TASK_LATER},
        {.name = "parked", .handler = ask_parked, .flags = OWL_TASK | OWL_PARKED},
        {.name = "parked_later",
         .handler = ask_parked,
         .data = some_data,
         .flags = OWL_TASK_LATER | OWL_PARKED},
        {.name = "big", .handler = big_result, .flags = OWL_TASK},
        {.name = "meta", .handler = with_meta, .flags = OWL_TASK},
    };
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        add_tool(s, tools[i]);
}

static inline owl_server *task_server(unsigned reactors)
{
    owl_limits limits = OWL_LIMITS;
    limits.replay_ms = 50; /* a client that has lost its stream is given up soon */
    owl_server *s = server_with((owl_server_options){.reactors = reactors, .limits = &limits});
    add_task_tools(s);
    use_store(s, 1000, 1 << 20);
    server_start(s);
    return s;
}

static inline void task_server_end(owl_server *s)
{
    server_end(s);
    assert_int_equal(atomic_load(&store_out), 0);
    assert_int_equal(atomic_load(&store_lost), 0);
}

/* Runs a test on servers of 1, 2 and 4 reactors, with a store that answers inside and one that
 * answers later. */
static inline void in_all_worlds(void (*test)(owl_server *s))
{
    static const struct {
        unsigned reactors, delay_ms, mixed;
    } worlds[] = {{1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {1, 3, 0}, {2, 3, 0}, {4, 2, 50}};
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        atomic_store(&store_delay_ms, worlds[i].delay_ms);
        atomic_store(&store_mixed, worlds[i].mixed);
        atomic_store(&gate, 0);
        atomic_store(&begun, 0);
        atomic_store(&cancels, 0);
        owl_server *s = task_server(worlds[i].reactors);
        test(s);
        task_server_end(s);
    }
}

/* ---- modern clients ---- */

#define EXTENSION "io.modelcontextprotocol/tasks"
#define TASKS "{\"elicitation\":{},\"extensions\":{\"" EXTENSION "\":{}}}"
#define NO_TASKS "{\"elicitation\":{}}"

static inline msg *modern_tool(owl_server *s, const char *tool, const char *caps)
{
    char *params = text_of("\"name\":\"%s\"", tool);
    msg *m = modern_with(s, "tools/call", tool, params, caps);
    free(params);
    return m;
}

struct id {
    char text[OWL_TASK_ID_BYTES];
};

static inline struct id id_at(const msg *m, const char *path)
{
    struct id id;
    snprintf(id.text, sizeof id.text, "%s", str_at(m, path));
    if (strlen(id.text) < 33)
        fail_msg("no task: %s", json_at(m, ""));
    return id;
}

/* Calls the tool, which must become a task. */
static inline struct id task_of(owl_server *s, const char *tool)
{
    msg *m = modern_tool(s, tool, TASKS);
    struct id id = id_at(m, "result/taskId");
    assert_string_equal(str_at(m, "result/status"), "working");
    expect_str(m, "result/resultType", "task");
    return id;
}

static inline msg *about(owl_server *s, const char *method, struct id id, const char *more)
{
    char *params = text_of("\"taskId\":\"%s\"%s%s", id.text, *more ? "," : "", more);
    msg *m = modern_with(s, method, id.text, params, TASKS);
    free(params);
    return m;
}

static inline msg *task_get(owl_server *s, struct id id)
{
    return about(s, "tasks/get", id, "");
}

/* tasks/get until the status is @p status; the last answer. */
static inline msg *task_when(owl_server *s, struct id id, const char *status)
{
    msg *m = NULL;
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; usleep(2000)) {
        owl_json_doc_free(m);
        m = task_get(s, id);
        if (strcmp(str_at(m, "result/status"), status) == 0)
            return m;
    }
    fail_msg("never %s: %s", status, json_at(m, ""));
    return NULL;
}

static inline void expect_text(msg *m, const char *want)
{
    expect_str(m, "result/result/content/0/text", want);
}

static inline msg *task_update(owl_server *s, struct id id, const char *responses)
{
    char *more = text_of("\"inputResponses\":%s", responses);
    msg *m = about(s, "tasks/update", id, more);
    free(more);
    return m;
}

/* The answer has nothing but resultType and _meta. */
static inline void expect_ack(msg *m)
{
    const owl_json *r = at(m, "result");
    if (owl_json_len(r) - (at(m, "result/_meta") != NULL) != 1)
        fail_msg("no bare ack: %s", json_at(m, ""));
    expect_str(m, "result/resultType", "complete");
}

static inline void listen_to(struct http *h, const char *filter, const char *caps)
{
    char *params = text_of("\"notifications\":%s", filter);
    char *text = modern_text("\"sub\"", "subscriptions/listen", params, caps, "");
    modern_send(h, "", text);
    free(text);
    free(params);
    http_head(h);
}

#endif

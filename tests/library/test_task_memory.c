/* Tasks that meet a server without memory: every request gets a whole answer or a closed connection,
 * nothing leaks, and the server serves again when there is memory.
 *
 * The server lives in the loop of the test: the reactor's allocations are those of this thread. */
#include "library/tasks.h"

enum { ALLOCATIONS = 70 };

static owl_server *s;

static void begin(void)
{
    owl_error e = {0};
    s = server_with((owl_server_options){.workers = 1, .timeout_ms = 400});
    add_tool(s, (owl_tool){.name = "inline", .handler = quick, .flags = OWL_TASK | OWL_INLINE});
    add_tool(s, (owl_tool){.name = "ask", .handler = ask_two, .flags = OWL_TASK | OWL_INLINE});
    add_tool(s,
             (owl_tool){.name = "later", .handler = become, .flags = OWL_TASK_LATER | OWL_INLINE});
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", &e), 0);
    if (owl_server_fd(s, &e) < 0)
        fail_msg("owl_server_fd: %s", e.message);
}

/* The answer, read to its end; NULL: there was none for want of memory. */
static msg *finish(struct http *h)
{
    while (!h->raw.p || !strstr(h->raw.p, "\r\n\r\n")) {
        if (!step_until_readable(s, h->fd, 5000))
            fail_msg("no answer");
        char c;
        if (recv(h->fd, &c, 1, MSG_PEEK) <= 0) { /* closed, perhaps with what was not read */
            http_close(h);
            return NULL;
        }
        http_fill(h);
    }
    if (http_head(h) == 503) { /* the transport itself had none: plain text */
        http_close(h);
        return NULL;
    }
    if (h->events) /* the rest of a stream comes while the server is stepped */
        for (int64_t end = now_ms() + 100; now_ms() < end;)
            assert_int_equal(owl_server_step(s), 1);
    msg *m = http_next(h);
    http_close(h);
    return m;
}

struct request {
    const char *method, *name, *params;
};

/* Without memory from the @p n-th allocation on, if n is not 0. */
static msg *send_request(const struct request *r, unsigned long n)
{
    struct http h = http_open(s);
    char *text = modern_text("1", r->method, r->params, TASKS, "");
    modern_send(&h, r->name, text);
    free(text);
    if (n) {
        owl_alloc_fail_at(n);
        step_until_readable(s, h.fd, 20);
        owl_alloc_fail_at(0);
    }
    return finish(&h);
}

static struct id new_task(const char *tool)
{
    char *params = text_of("\"name\":\"%s\"", tool);
    msg *m = send_request(&(struct request){"tools/call", tool, params}, 0);
    struct id id = id_at(m, "result/taskId");
    owl_json_doc_free(m);
    free(params);
    return id;
}

/* A request about an asking task (or a call, without @p method), then the task in peace. */
static void meets_no_memory(const char *method, const char *tool, unsigned long n)
{
    begin();
    struct id id = new_task("ask");
    char *params = method
                       ? text_of("\"taskId\":\"%s\",\"inputResponses\":{\"a\":" ACCEPT("Ann") "}",
                                 id.text)
                       : text_of("\"name\":\"%s\"", tool);
    struct request r = {method ? method : "tools/call", method ? id.text : tool, params};
    owl_json_doc_free(send_request(&r, n));
    char *get = text_of("\"taskId\":\"%s\"", id.text);
    msg *m = send_request(&(struct request){"tasks/get", id.text, get}, 0);
    bool asks = strcmp(str_at(m, "result/status"), "input_required") == 0;
    assert_int_equal(asks, at(m, "result/inputRequests") != NULL);
    if (!asks && !at(m, "result/result") && !at(m, "result/error"))
        assert_string_equal(str_at(m, "result/status"), "cancelled");
    owl_json_doc_free(m);
    new_task("inline");
    free(get);
    free(params);
    owl_server_free(s);
}

static void survives(const char *method, const char *tool)
{
    for (unsigned long n = 1; n <= ALLOCATIONS; n++)
        meets_no_memory(method, tool, n);
}

TEST(tasks_begin_without_memory, "")
{
    survives(NULL, "inline");
    survives(NULL, "ask");
    survives(NULL, "later");
}

TEST(tasks_are_looked_at_and_changed_without_memory, "mcp:K4")
{
    survives("tasks/get", NULL);
    survives("tasks/update", NULL);
    survives("tasks/cancel", NULL);
}

/* The same for sessions: the task, its question on a stream, its answer. */
static void session_meets_no_memory(const char *method, unsigned long n)
{
    begin();
    struct http h = http_open(s);
    char *text = initialize_text("{\"elicitation\":{}}");
    legacy_send(&h, text);
    free(text);
    assert_true(step_until_readable(s, h.fd, 3000));
    assert_int_equal(http_head(&h), 200);
    owl_json_doc_free(http_next(&h));
    legacy_send(&h, INITIALIZED);
    assert_true(step_until_readable(s, h.fd, 3000));
    assert_int_equal(http_head(&h), 202);
    legacy_call(&h, "ask", "\"task\":{}");
    assert_true(step_until_readable(s, h.fd, 3000));
    assert_int_equal(http_head(&h), 200);
    msg *m = http_next(&h);
    struct id id = id_at(m, "result/task/taskId");
    owl_json_doc_free(m);
    char *params = text_of("\"taskId\":\"%s\"", id.text);
    text = legacy_text("7", method, params);
    legacy_send(&h, text);
    owl_alloc_fail_at(n);
    step_until_readable(s, h.fd, 20);
    owl_alloc_fail_at(0);
    http_close(&h);
    free(text);
    new_task("inline");
    msg *got = send_request(&(struct request){"tasks/get", id.text, params}, 0);
    assert_non_null(at(got, "result/status"));
    owl_json_doc_free(got);
    free(params);
    owl_server_free(s);
}

TEST(sessions_wait_for_tasks_without_memory, "")
{
    for (unsigned long n = 1; n <= ALLOCATIONS; n++) {
        session_meets_no_memory("tasks/result", n);
        session_meets_no_memory("tasks/cancel", n);
        session_meets_no_memory("tasks/list", n);
    }
}

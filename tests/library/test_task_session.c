/* Tasks of a session of 2025-11-25: what it is told of them, its list; older revisions; stdio. */
#include "library/task_session.h"

/* ---- telling ---- */

/* What the task says goes where its client waits, and names the task. */
static void check_progress(void)
{
    struct id id = begin("tell");
    assert_true(reaches(&begun, 1));
    struct http c = open_about("7", "tasks/result", id);
    pause_ms(30);
    atomic_store(&gate, 1);
    assert_int_equal(http_head(&c), 200);
    msg *m = http_next(&c);
    assert_string_equal(str_at(m, "method"), "notifications/progress");
    assert_string_equal(str_at(m, "params/progressToken"), "p");
    assert_int_equal(int_at(m, "params/progress"), 2);
    expect_str(m, "params/" RELATED, id.text);
    m = http_next(&c);
    assert_string_equal(str_at(m, "params/data"), "second");
    expect_str(m, "params/" RELATED, id.text);
    atomic_store(&gate, 2);
    expect_str(http_next(&c), "result/content/0/text", "through");
    http_close(&c);
}

TEST(progress_comes_on_the_stream_of_tasks_result, "mcp:L13 OD-2.3.7")
{
    everywhere(check_progress);
}

static int ask_with_meta(owl_call *c, void *data)
{
    const owl_json *a;
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .params_json = data};
    int rc = owl_ask(c, "a", &q, &a);
    return rc ? rc : owl_result_textf(c, "a=%s", given_name(a));
}

TEST(questions_name_their_task_beside_the_handlers_own_meta, "mcp:L13")
{
    static char metas[3][128] = {"{ \"requestedSchema\":" SCHEMA ", \"_meta\": {\"mine\": 1} }",
                                 "{\"_meta\":{},\"message\":\"m\",\"requestedSchema\":" SCHEMA "}",
                                 "{\"requestedSchema\":" SCHEMA "}"};
    s = task_server(1);
    h = legacy_open(s, ELICIT);
    for (size_t i = 0; i < 3; i++) {
        char *name = text_of("meta%zu", i);
        add_tool(s,
                 (owl_tool){
                     .name = name, .handler = ask_with_meta, .data = metas[i], .flags = OWL_TASK});
        struct id id = begin(name);
        struct http c = open_about("7", "tasks/result", id);
        assert_int_equal(http_head(&c), 200);
        msg *q = next_question(&c);
        assert_string_equal(str_at(q, "params/" RELATED), id.text);
        if (i == 0)
            assert_int_equal(int_at(q, "params/_meta/mine"), 1);
        legacy_answer(&h, q, ACCEPT("Ann"));
        expect_str(http_next(&c), "result/content/0/text", "a=Ann");
        http_close(&c);
        free(name);
    }
    http_close(&h);
    task_server_end(s);
}

/* The stream of the session hears of its tasks, and of no others. */
static void check_status_stream(void)
{
    struct http get = http_join(&h), other = legacy_open(s, ELICIT), mine = h;
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n", h.session);
    http_send(&get, "GET", headers, "");
    assert_int_equal(http_head(&get), 200);
    free(headers);
    h = other;
    wait_status(begin("quick"), "completed");
    h = mine;
    struct id id = begin("quick");
    for (bool over = false; !over;) {
        msg *m = http_next(&get);
        assert_string_equal(str_at(m, "method"), "notifications/tasks/status");
        assert_string_equal(str_at(m, "params/taskId"), id.text);
        assert_null(at(m, "params/result"));
        assert_null(at(m, "params/_meta"));
        assert_int_equal(int_at(m, "params/ttl"), 3600000);
        over = strcmp(str_at(m, "params/status"), "completed") == 0;
        owl_json_doc_free(m);
    }
    http_close(&get);
    http_close(&other);
}

TEST(the_stream_of_the_session_hears_of_its_tasks, "mcp:L13")
{
    everywhere(check_status_stream);
}

/* ---- the list ---- */

static void check_list(void)
{
    enum { N = 120, PAGE = 50 };
    struct id ids[N];
    for (size_t i = 0; i < N; i++)
        ids[i] = begin("inline");
    task_of(s, "quick"); /* in no list */
    struct http other = legacy_open(s, ELICIT), mine = h;
    h = other;
    msg *m = request("tasks/list", "");
    assert_int_equal(owl_json_len(at(m, "result/tasks")), 0);
    owl_json_doc_free(m);
    char *foreign = text_of("\"cursor\":\"%s\"", ids[0].text);
    expect_int(request("tasks/list", foreign), "error/code", -32602);
    free(foreign);
    h = mine;
    char *cursor = text_of("%s", "");
    for (size_t n = 0; n < N;) {
        m = request("tasks/list", cursor);
        size_t len = owl_json_len(at(m, "result/tasks"));
        assert_int_equal(len, N - n < PAGE ? N - n : PAGE);
        for (size_t i = 0; i < len; i++, n++) {
            char *path = text_of("result/tasks/%zu/taskId", i);
            assert_string_equal(str_at(m, path), ids[n].text);
            free(path);
        }
        free(cursor);
        cursor = text_of("\"cursor\":\"%s\"", str_at(m, "result/nextCursor"));
        assert_int_equal(at(m, "result/nextCursor") != NULL, n < N);
        owl_json_doc_free(m);
    }
    free(cursor);
    expect_int(request("tasks/list", "\"cursor\":\"x\""), "error/code", -32602);
    expect_int(request("tasks/list", "\"cursor\":5"), "error/code", -32602);
    atomic_store(&store_fail_rc, -OWL_EIO);
    atomic_store(&store_fail_gets, 1);
    expect_int(request("tasks/list", ""), "error/code", -32603);
    struct http c = ask_about("1", "tasks/list", "");
    http_close(&c); /* leaves before the answer */
    http_close(&other);
}

TEST(a_session_lists_its_own_tasks_page_by_page, "mcp:L13")
{
    everywhere(check_list);
}

/* ---- older revisions, and stdio ---- */

static void use_revision(const char *revision)
{
    s = task_server(1);
    h = http_open(s);
    char *text = text_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                         "\"protocolVersion\":\"%s\",\"capabilities\":{\"extensions\":{\"" EXTENSION
                         "\":{}}},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
                         revision);
    legacy_send(&h, text);
    free(text);
    assert_int_equal(http_head(&h), 200);
    msg *m = http_next(&h);
    assert_int_equal(at(m, "result/capabilities/tasks") != NULL,
                     strcmp(revision, "2025-11-25") == 0);
    assert_null(at(m, "result/capabilities/extensions"));
    expect_str(m, "result/protocolVersion", revision);
    legacy_tell(&h, INITIALIZED);
}

TEST(older_revisions_have_no_tasks, "mcp:L13")
{
    static const char *const old[] = {"2024-11-05", "2025-03-26", "2025-06-18"};
    for (size_t i = 0; i < 3; i++) {
        use_revision(old[i]);
        expect_str(call_tool("quick", "{}"), "result/content/0/text", "quick");
        expect_str(call_tool("later", "{}"), "result/content/0/text", "became");
        msg *m = call_tool("only", "{}");
        assert_non_null(strstr(json_at(m, ""), "runs as a task only"));
        owl_json_doc_free(m);
        static const char *const methods[] = {"tasks/get", "tasks/list", "tasks/result",
                                              "tasks/cancel"};
        for (size_t k = 0; k < 4; k++)
            expect_int(request(methods[k], "\"taskId\":\"x\""), "error/code", -32601);
        http_close(&h);
        task_server_end(s);
    }
    use_revision("2025-11-25"); /* the name of the extension means nothing there */
    expect_str(call_tool("quick", ""), "result/content/0/text", "quick");
    http_close(&h);
    task_server_end(s);
}

static void stdio_send(struct pipes *p, const char *id, const char *method, const char *params)
{
    char *text = legacy_text(id, method, params);
    pipes_send(p, text);
    free(text);
}

/* The next message that is no notification of a status. */
static msg *stdio_next(struct pipes *p, int *statuses)
{
    for (;;) {
        msg *m = pipes_next(p);
        if (strcmp(str_at(m, "method"), "notifications/tasks/status") != 0)
            return m;
        ++*statuses;
        owl_json_doc_free(m);
    }
}

TEST(tasks_work_over_stdio, "mcp:L13 mcp:K9")
{
    int statuses = 0;
    owl_error e = {0};
    for (unsigned delay_ms = 0; delay_ms <= 3; delay_ms += 3) {
        atomic_store(&store_delay_ms, delay_ms);
        s = server_new(1);
        add_task_tools(s);
        use_store(s, 100, 1 << 20);
        struct pipes p = pipes_open(s);
        assert_int_equal(owl_server_start(s, &e), 0);
        pipes_initialize(&p, ELICIT);
        stdio_send(&p, "1", "tools/call", "\"name\":\"ask\",\"task\":{}");
        msg *m = stdio_next(&p, &statuses);
        struct id id = id_at(m, "result/task/taskId");
        owl_json_doc_free(m);
        /* the id of the request that began it is free, and cancels nothing */
        pipes_send(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                       "\"requestId\":1}}");
        char *params = text_of("\"taskId\":\"%s\"", id.text);
        stdio_send(&p, "1", "tasks/result", params);
        pipes_answer(&p, stdio_next(&p, &statuses), ACCEPT("Ann"));
        expect_str(stdio_next(&p, &statuses), "result/content/0/text", "a=Ann");
        stdio_send(&p, "2", "tasks/get", params);
        expect_str(stdio_next(&p, &statuses), "result/status", "completed");
        stdio_send(&p, "3", "tools/call", "\"name\":\"gate\",\"task\":{}");
        owl_json_doc_free(stdio_next(&p, &statuses));
        free(params);
        task_server_end(s);
        pipes_close(&p);
    }
    assert_true(statuses >= 4);
}

/* Tools that run as tasks for clients of 2025-11-25, which ask for that. */
#include "unit/server/tasks.h"

#define ELICIT "{\"elicitation\":{}}"
#define RELATED "_meta/io.modelcontextprotocol~related-task/taskId"

static owl_server *s;
static struct http h; /* the session */

static void everywhere(void (*test)(void))
{
    static const struct {
        unsigned reactors, delay_ms, mixed;
    } worlds[] = {{1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {1, 3, 0}, {4, 3, 30}};
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        atomic_store(&store_delay_ms, worlds[i].delay_ms);
        atomic_store(&store_mixed, worlds[i].mixed);
        atomic_store(&gate, 0);
        atomic_store(&begun, 0);
        atomic_store(&cancels, 0);
        s = task_server(worlds[i].reactors);
        h = legacy_open(s, ELICIT);
        test();
        http_close(&h);
        task_server_end(s);
    }
}

/* ---- small clients ---- */

/* A request on a connection of its own, to be read by the caller. */
static struct http ask_about(const char *id, const char *method, const char *params)
{
    struct http c = http_join(&h);
    char *text = legacy_text(id, method, params);
    legacy_send(&c, text);
    free(text);
    return c;
}

static msg *answer_of(struct http c)
{
    http_head(&c);
    msg *m = http_next(&c);
    http_close(&c);
    return m;
}

static msg *request(const char *method, const char *params)
{
    return answer_of(ask_about("1", method, params));
}

static msg *call_tool(const char *tool, const char *task)
{
    char *params = text_of("\"name\":\"%s\",\"_meta\":{\"progressToken\":\"p\"}%s%s", tool,
                           *task ? ",\"task\":" : "", task);
    msg *m = request("tools/call", params);
    free(params);
    return m;
}

static struct id begin(const char *tool)
{
    msg *m = call_tool(tool, "{}");
    struct id id = id_at(m, "result/task/taskId");
    expect_str(m, "result/task/status", "working");
    return id;
}

static struct http open_about(const char *id, const char *method, struct id task)
{
    char *params = text_of("\"taskId\":\"%s\"", task.text);
    struct http c = ask_about(id, method, params);
    free(params);
    return c;
}

static msg *with_task(const char *method, struct id id)
{
    return answer_of(open_about("1", method, id));
}

static void wait_status(struct id id, const char *status)
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

/* ---- who gets one ---- */

static void check_choice(void)
{
    expect_str(call_tool("quick", ""), "result/content/0/text", "quick");
    expect_str(call_tool("plain", ""), "result/content/0/text", "quick");
    expect_int(call_tool("plain", "{}"), "error/code", -32601);
    expect_int(call_tool("only", ""), "error/code", -32601);
    expect_int(call_tool("quick", "5"), "error/code", -32602);
    expect_int(call_tool("quick", "{\"ttl\":\"x\"}"), "error/code", -32602);
    expect_int(call_tool("quick", "{\"ttl\":-5}"), "error/code", -32602);
    static const char *const tools[] = {"quick", "inline", "only", "later", "later_inline"};
    for (size_t i = 0; i < 5; i++)
        expect_str(with_task("tasks/result", begin(tools[i])), "result/content/0/text",
                   i < 3 ? "quick" : "became");
    assert_int_equal(atomic_load(&become_rc), 0);
    expect_str(call_tool("later", ""), "result/content/0/text", "became");
    assert_int_equal(atomic_load(&become_rc), -OWL_ECAPABILITY);
}

TEST(the_client_decides_what_is_a_task, "mcp:L13")
{
    everywhere(check_choice);
}

static void expect_ttl(const char *task, int64_t ttl)
{
    expect_int(call_tool("quick", task), "result/task/ttl", ttl);
}

static void check_ttl(void)
{
    expect_ttl("{}", 3600000);
    expect_ttl("{\"ttl\":null}", 3600000);
    expect_ttl("{\"ttl\":60000}", 60000);
    expect_ttl("{\"ttl\":18446744073709551615}", 3600000);
    expect_ttl("{\"ttl\":0}", 1000);
    msg *m = call_tool("quick", "{\"ttl\":1}");
    struct id id = id_at(m, "result/task/taskId");
    owl_json_doc_free(m);
    expect_str(with_task("tasks/result", id), "result/content/0/text", "quick");
    pause_ms(1100);
    expect_int(with_task("tasks/get", id), "error/code", -32602);
    expect_int(with_task("tasks/result", id), "error/code", -32602);
    expect_int(with_task("tasks/cancel", id), "error/code", -32602);
}

TEST(a_task_is_kept_as_long_as_wanted_and_allowed, "mcp:L13")
{
    everywhere(check_ttl);
}

static void check_form(void)
{
    msg *m = call_tool("gate", "{\"ttl\":60000}");
    struct id id = id_at(m, "result/task/taskId");
    assert_string_equal(str_at(m, "result/task/status"), "working");
    assert_int_equal(int_at(m, "result/task/pollInterval"), 500);
    assert_null(at(m, "result/task/ttlMs"));
    assert_null(at(m, "result/taskId"));
    assert_null(at(m, "result/resultType"));
    owl_json_doc_free(m);
    m = with_task("tasks/get", id);
    assert_null(at(m, "result/task"));
    assert_null(at(m, "result/" RELATED));
    expect_str(m, "result/status", "working");
    expect_int(request("tasks/get", "\"taskId\":\"0-00\""), "error/code", -32602);
    expect_int(request("tasks/get", ""), "error/code", -32602);
    expect_int(with_task("tasks/update", id), "error/code", -32601);
    atomic_store(&gate, 1);
    m = with_task("tasks/result", id);
    assert_string_equal(str_at(m, "result/" RELATED), id.text);
    expect_str(m, "result/content/0/text", "through");
    m = with_task("tasks/result", begin("meta"));
    assert_non_null(at(m, "result/" RELATED));
    expect_int(m, "result/_meta/mine", 1);
}

TEST(tasks_are_nested_when_begun_and_flat_later, "mcp:L13")
{
    everywhere(check_form);
}

static void check_ends(void)
{
    struct id id = begin("fail");
    msg *m = with_task("tasks/result", id);
    assert_string_equal(str_at(m, "result/" RELATED), id.text);
    expect_failed(m, "it broke");
    expect_str(with_task("tasks/get", id), "result/status", "failed");
    id = begin("error");
    m = with_task("tasks/result", id);
    assert_int_equal(int_at(m, "error/code"), -32603);
    assert_string_equal(str_at(m, "error/data/why"), "x");
    expect_str(m, "error/message", "it broke badly");
    expect_str(with_task("tasks/get", id), "result/status", "failed");
    expect_int(with_task("tasks/cancel", id), "error/code", -32602);
}

TEST(tasks_result_is_what_the_request_would_have_answered, "mcp:L13")
{
    everywhere(check_ends);
}

static void check_cancel(void)
{
    struct id id = begin("gate");
    assert_true(reaches(&begun, 1));
    struct http waits = open_about("9", "tasks/result", id);
    pause_ms(10);
    expect_str(with_task("tasks/cancel", id), "result/status", "cancelled");
    expect_int(answer_of(waits), "error/code", -32603);
    expect_int(with_task("tasks/cancel", id), "error/code", -32602);
    expect_str(with_task("tasks/get", id), "result/status", "cancelled");
    assert_true(reaches(&cancels, 1));
    id = begin("ask");
    wait_status(id, "input_required");
    expect_str(with_task("tasks/cancel", id), "result/status", "cancelled");
    id = begin("quick");
    wait_status(id, "completed");
    expect_int(with_task("tasks/cancel", id), "error/code", -32602);
}

TEST(a_task_is_cancelled_once, "mcp:L13")
{
    everywhere(check_cancel);
}

/* ---- waiting for it ---- */

static void check_waiters(void)
{
    struct id id = begin("gate");
    struct http c[6];
    char ids[6][8];
    for (size_t i = 0; i < 6; i++) {
        snprintf(ids[i], sizeof ids[i], "%zu", i + 10);
        c[i] = open_about(ids[i], "tasks/result", id);
    }
    pause_ms(20);
    http_close(&c[1]); /* one leaves, one cancels */
    legacy_tell(&h, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                    "\"requestId\":14}}");
    assert_int_equal(http_head(&c[4]), 202);
    http_close(&c[4]);
    atomic_store(&gate, 1);
    for (size_t i = 0; i < 6; i++)
        if (i != 1 && i != 4)
            expect_str(answer_of(c[i]), "result/content/0/text", "through");
}

TEST(many_may_wait_and_some_may_leave, "mcp:L13")
{
    everywhere(check_waiters);
}

struct probe {
    struct owl_msg msg;
    atomic_int n;
};

static void on_probe(struct owl_reactor *r, struct owl_msg *m)
{
    atomic_store(&OWL_CONTAINER(m, struct probe, msg)->n,
                 (int)owl_host_local(&s->host, r)->n_calls);
}

/* How many calls there are on the one reactor. */
static int count_calls(void)
{
    struct probe p = {.msg.run = on_probe, .n = -1};
    assert_true(owl_post(owl_runtime_at(s->host.runtime, 0), &p.msg));
    assert_true(reaches(&p.n, 0));
    return atomic_load(&p.n);
}

/* However often a client asks and leaves: nothing of it stays. */
static void check_no_growth(void)
{
    struct id id = begin("gate");
    for (int i = 0; i < 20; i++) {
        struct http c = open_about("5", "tasks/result", id); /* the id is free again */
        pause_ms(5);
        http_close(&c);
        pause_ms(10);
    }
    for (int64_t end = now_ms() + WAIT_MS; count_calls() != 1;) /* the task alone */
        assert_true(now_ms() < end);
}

TEST(waiting_calls_end_with_their_connection, "")
{
    s = task_server(1);
    h = legacy_open(s, ELICIT);
    check_no_growth();
    http_close(&h);
    task_server_end(s);
}

/* ---- questions ---- */

static msg *next_question(struct http *c)
{
    for (;;) {
        msg *m = http_next(c);
        assert_non_null(m);
        if (strcmp(str_at(m, "method"), "elicitation/create") == 0)
            return m;
        owl_json_doc_free(m);
    }
}

static void check_question(void)
{
    struct id id = begin("ask2");
    wait_status(id, "input_required");
    struct http c = open_about("7", "tasks/result", id);
    assert_int_equal(http_head(&c), 200);
    msg *a = next_question(&c), *b = next_question(&c);
    assert_string_equal(str_at(a, "params/" RELATED), id.text);
    assert_string_equal(str_at(a, "params/message"), "a");
    legacy_answer(&h, a, ACCEPT("Ann"));
    expect_str(with_task("tasks/get", id), "result/status", "input_required");
    legacy_answer(&h, b, "{\"action\":\"decline\"}");
    msg *m = http_next(&c);
    assert_string_equal(str_at(m, "result/" RELATED), id.text);
    expect_str(m, "result/content/0/text", "a=Ann b=decline");
    http_close(&c);
    id = begin("parked");
    c = open_about("8", "tasks/result", id); /* before it asks, perhaps */
    assert_int_equal(http_head(&c), 200);
    legacy_answer(&h, next_question(&c), ACCEPT("Pat"));
    expect_str(http_next(&c), "result/content/0/text", "parked=Pat");
    http_close(&c);
}

TEST(questions_come_on_the_stream_of_tasks_result, "mcp:L13")
{
    everywhere(check_question);
}

static void check_lost_stream(void)
{
    struct id id = begin("ask");
    struct http c = open_about("7", "tasks/result", id);
    assert_int_equal(http_head(&c), 200);
    owl_json_doc_free(next_question(&c));
    http_close(&c);
    pause_ms(10);
    expect_str(with_task("tasks/get", id), "result/status", "input_required");
    c = open_about("8", "tasks/result", id);
    assert_int_equal(http_head(&c), 200);
    legacy_answer(&h, next_question(&c), ACCEPT("Ann"));
    expect_str(http_next(&c), "result/content/0/text", "a=Ann");
    http_close(&c);
}

TEST(a_question_whose_stream_is_lost_is_asked_again, "mcp:L13")
{
    everywhere(check_lost_stream);
}

/* The last that waits is asked; the question moves on when another comes, and back when it goes. */
static void check_moving(void)
{
    struct id id = begin("ask");
    struct http one = open_about("7", "tasks/result", id);
    assert_int_equal(http_head(&one), 200);
    msg *q = next_question(&one);
    struct http two = open_about("8", "tasks/result", id);
    assert_int_equal(http_head(&two), 200);
    msg *q2 = next_question(&two);
    msg *m = http_next(&one);
    assert_string_equal(str_at(m, "method"), "notifications/cancelled");
    expect_str(m, "params/requestId", str_at(q, "id"));
    legacy_answer(&h, q, ACCEPT("Old")); /* too late: it was withdrawn */
    owl_json_doc_free(q2);
    http_close(&two);
    legacy_answer(&h, next_question(&one), ACCEPT("Ann"));
    expect_str(http_next(&one), "result/content/0/text", "a=Ann");
    http_close(&one);
}

TEST(a_question_moves_with_those_who_wait, "")
{
    everywhere(check_moving);
}

/* Another session that knows the id waits, but is not asked. */
static void check_other_session(void)
{
    struct id id = begin("ask");
    wait_status(id, "input_required");
    struct http mine = h, other = legacy_open(s, ELICIT);
    h = other;
    struct http c = open_about("7", "tasks/result", id);
    h = mine;
    struct http own = open_about("8", "tasks/result", id);
    assert_int_equal(http_head(&own), 200);
    legacy_answer(&h, next_question(&own), ACCEPT("Ann"));
    expect_str(http_next(&own), "result/content/0/text", "a=Ann");
    expect_str(answer_of(c), "result/content/0/text", "a=Ann"); /* its first and only message */
    http_close(&own);
    http_close(&other);
}

TEST(only_the_session_that_began_it_is_asked, "mcp:L10")
{
    everywhere(check_other_session);
}

/* A modern client may look and cancel; what it answers to a legacy question is ignored. */
static void check_both_forms(void)
{
    struct id id = begin("ask");
    struct http c = open_about("7", "tasks/result", id);
    assert_int_equal(http_head(&c), 200);
    msg *q = next_question(&c);
    expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Bob") "}"));
    expect_str(task_get(s, id), "result/status", "input_required");
    legacy_answer(&h, q, ACCEPT("Ann"));
    expect_str(http_next(&c), "result/content/0/text", "a=Ann");
    http_close(&c);
    id = begin("gate");
    expect_ack(about(s, "tasks/cancel", id, ""));
    expect_str(with_task("tasks/get", id), "result/status", "cancelled");
    id = task_of(s, "ask");
    c = open_about("7", "tasks/result", id);
    owl_json_doc_free(task_when(s, id, "input_required"));
    expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Bob") "}"));
    expect_str(answer_of(c), "result/content/0/text", "a=Bob");
}

TEST(the_two_forms_do_not_disturb_each_other, "mcp:L13")
{
    everywhere(check_both_forms);
}

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

TEST(progress_comes_on_the_stream_of_tasks_result, "mcp:L13 OR-3.5")
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
    static char metas[3][100] = {"{ \"message\":\"m\", \"_meta\": {\"mine\": 1} }",
                                 "{\"_meta\":{},\"message\":\"m\"}", "{}"};
    s = task_server(1);
    h = legacy_open(s, ELICIT);
    for (size_t i = 0; i < 3; i++) {
        char *name = text_of("meta%zu", i);
        add_tool(s, (owl_tool){.name = name,
                               .handler = ask_with_meta,
                               .data = metas[i],
                               .flags = OWL_TASK});
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

/* Tools that run as tasks for modern clients: who gets a task, how it goes, how it ends. */
#include "library/tasks.h"

static owl_server *s;

static void (*check)(void);

static void check_on(owl_server *server)
{
    s = server;
    check();
}

static void everywhere(void (*test)(void))
{
    check = test;
    in_all_worlds(check_on);
}

/* ---- who gets one ---- */

static void check_choice(void)
{
    expect_str(modern_tool(s, "plain", TASKS), "result/content/0/text", "quick");
    expect_str(modern_tool(s, "quick", NO_TASKS), "result/content/0/text", "quick");
    expect_str(modern_tool(s, "quick", "{\"tasks\":{}}"), "result/content/0/text", "quick");
    static const char *const tools[] = {"quick", "inline", "only"};
    for (size_t i = 0; i < 3; i++) {
        struct id id = task_of(s, tools[i]);
        expect_text(task_when(s, id, "completed"), "quick");
    }
    msg *m = modern_tool(s, "only", NO_TASKS);
    assert_int_equal(int_at(m, "error/code"), -32021);
    assert_non_null(
        at(m, "error/data/requiredCapabilities/extensions/io.modelcontextprotocol~tasks"));
    owl_json_doc_free(m);
}

TEST(declaring_clients_get_tasks_and_others_results, "mcp:K1 mcp:K10")
{
    everywhere(check_choice);
}

static void check_created(void)
{
    msg *m = modern_tool(s, "gate", TASKS);
    struct id id = id_at(m, "result/taskId");
    assert_string_equal(str_at(m, "result/resultType"), "task");
    assert_string_equal(str_at(m, "result/status"), "working");
    assert_int_equal(int_at(m, "result/ttlMs"), 3600000);
    assert_int_equal(int_at(m, "result/pollIntervalMs"), 500);
    assert_int_equal(strlen(str_at(m, "result/createdAt")), 24);
    assert_null(at(m, "result/task"));
    assert_null(at(m, "result/requestState"));
    owl_json_doc_free(m);
    m = task_get(s, id);
    assert_string_equal(str_at(m, "result/taskId"), id.text);
    assert_string_equal(str_at(m, "result/resultType"), "complete");
    assert_null(at(m, "result/result"));
    assert_null(at(m, "result/error"));
    assert_null(at(m, "result/inputRequests"));
    expect_str(m, "result/status", "working");
    atomic_store(&gate, 1);
    m = task_when(s, id, "completed");
    assert_null(at(m, "result/error"));
    assert_null(at(m, "result/result/_meta/io.modelcontextprotocol~related-task"));
    expect_text(m, "through");
}

TEST(a_task_is_flat_and_there_at_once, "mcp:K1 mcp:K2 mcp:K4")
{
    everywhere(check_created);
}

static void check_ends(void)
{
    msg *m = task_when(s, task_of(s, "fail"), "completed");
    assert_true(owl_json_bool(at(m, "result/result/isError"), false));
    expect_text(m, "it broke");
    m = task_when(s, task_of(s, "error"), "failed");
    assert_int_equal(int_at(m, "result/error/code"), -32603);
    assert_string_equal(str_at(m, "result/error/data/why"), "x");
    assert_null(at(m, "result/result"));
    expect_str(m, "result/error/message", "it broke badly");
    m = task_when(s, task_of(s, "short"), "completed");
    assert_true(owl_json_bool(at(m, "result/result/isError"), false));
    owl_json_doc_free(m);
    assert_true(reaches(&cancels, 1));
}

TEST(failed_is_for_errors_of_the_protocol_only, "mcp:K4")
{
    everywhere(check_ends);
}

static void check_ids(void)
{
    struct id unknown = {"0-00000000000000000000000000000000"}, id = task_of(s, "quick");
    struct id odd = {"99-00000000000000000000000000000000"};
    expect_int(task_get(s, unknown), "error/code", -32602);
    expect_int(task_get(s, odd), "error/code", -32602);
    expect_int(about(s, "tasks/cancel", unknown, ""), "error/code", -32602);
    expect_int(task_update(s, unknown, "{}"), "error/code", -32602);
    expect_int(task_update(s, id, "[]"), "error/code", -32602);
    expect_int(modern_with(s, "tasks/get", "", "", TASKS), "error/code", -32602);
    expect_int(about(s, "tasks/result", id, ""), "error/code", -32601);
    expect_int(about(s, "tasks/list", id, ""), "error/code", -32601);
    static const char *const methods[] = {"tasks/get", "tasks/cancel", "tasks/update"};
    for (size_t i = 0; i < 3; i++) {
        char *params = text_of("\"taskId\":\"%s\",\"inputResponses\":{}", id.text);
        expect_int(modern_with(s, methods[i], id.text, params, NO_TASKS), "error/code", -32021);
        expect_int(modern_with(s, methods[i], "other", params, TASKS), "error/code", -32020);
        expect_int(modern_with(s, methods[i], "", params, TASKS), "error/code", -32020);
        free(params);
    }
}

TEST(methods_of_tasks_check_their_callers, "mcp:K2 mcp:K3 mcp:K6 mcp:K7")
{
    everywhere(check_ids);
}

TEST(ids_cannot_be_guessed, "mcp:K8")
{
    s = task_server(1);
    struct id a = task_of(s, "quick"), b = task_of(s, "quick");
    assert_int_equal(strspn(a.text + 2, "0123456789abcdef"), 32);
    assert_int_equal(strlen(a.text), 34);
    int same = 0;
    for (size_t i = 2; i < 34; i++)
        same += a.text[i] == b.text[i];
    assert_true(same < 16);
    task_server_end(s);
}

static void on_put(struct owl_task_op *op, int rc)
{
    (void)op;
    assert_int_equal(rc, 0);
}

/* Whoever knows the id of somebody else's task knows nothing. */
TEST(tasks_of_others_are_unknown, "mcp:K8 mcp:K3")
{
    s = task_server(1);
    struct owl_task from = {.id = "0-0123456789abcdef0123456789abcdef",
                            .created_ms = owl_wall_ms(),
                            .ttl_ms = 60000,
                            .principal = OWL_STR("somebody")};
    struct owl_task *t = owl_task_new(&from);
    struct owl_task_op op = {.done = on_put};
    s->env.tasks->ops->put(s->env.tasks, t, &op);
    struct id id;
    snprintf(id.text, sizeof id.text, "%s", from.id);
    expect_int(task_get(s, id), "error/code", -32602);
    expect_int(about(s, "tasks/cancel", id, ""), "error/code", -32602);
    expect_int(task_update(s, id, "{}"), "error/code", -32602);
    struct http h = legacy_open(s, "{}");
    char *params = text_of("\"taskId\":\"%s\"", id.text);
    char *text = legacy_text("1", "tasks/result", params);
    legacy_send(&h, text);
    http_head(&h);
    expect_int(http_next(&h), "error/code", -32602);
    http_close(&h);
    free(text);
    free(params);
    owl_task_aunref(t);
    task_server_end(s);
}

static void check_task_param(void)
{
    char *params = text_of("\"name\":\"plain\",\"task\":{\"ttl\":1}");
    expect_str(modern_with(s, "tools/call", "plain", params, TASKS), "result/content/0/text",
               "quick");
    free(params);
}

TEST(the_older_parameter_is_ignored, "mcp:K7")
{
    everywhere(check_task_param);
}

/* ---- the end from outside ---- */

static void check_cancel(void)
{
    struct id id = task_of(s, "gate");
    assert_true(reaches(&begun, 1));
    expect_ack(about(s, "tasks/cancel", id, ""));
    msg *m = task_when(s, id, "cancelled");
    assert_null(at(m, "result/result"));
    assert_null(at(m, "result/error"));
    owl_json_doc_free(m);
    assert_true(reaches(&cancels, 1));
    expect_ack(about(s, "tasks/cancel", id, ""));
    owl_json_doc_free(task_when(s, id, "cancelled"));
    id = task_of(s, "ask");
    owl_json_doc_free(task_when(s, id, "input_required"));
    expect_ack(about(s, "tasks/cancel", id, ""));
    owl_json_doc_free(task_when(s, id, "cancelled"));
    expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Ann") "}"));
    owl_json_doc_free(task_when(s, id, "cancelled"));
    id = task_of(s, "quick");
    owl_json_doc_free(task_when(s, id, "completed"));
    expect_ack(about(s, "tasks/cancel", id, ""));
    expect_text(task_when(s, id, "completed"), "quick");
}

TEST(a_task_is_cancelled_in_every_state, "mcp:K2 mcp:K4")
{
    everywhere(check_cancel);
}

static void check_cancel_races(void)
{
    for (int i = 0; i < 30; i++) {
        struct id id = task_of(s, i % 2 ? "quick" : "ask");
        expect_ack(about(s, "tasks/cancel", id, ""));
        msg *m = task_get(s, id);
        const char *status = str_at(m, "result/status");
        if (strcmp(status, "completed") != 0 && strcmp(status, "cancelled") != 0)
            fail_msg("neither: %s", json_at(m, ""));
        owl_json_doc_free(m);
    }
}

TEST(a_cancel_that_meets_the_end_leaves_one_end, "")
{
    everywhere(check_cancel_races);
}

static void check_gone(void)
{
    struct http h = http_open(s);
    modern_call(&h, "gate", "", TASKS, "");
    assert_int_equal(http_head(&h), 200);
    msg *m = http_next(&h);
    struct id id = id_at(m, "result/taskId");
    owl_json_doc_free(m);
    http_close(&h);
    pause_ms(20);
    atomic_store(&gate, 1);
    expect_text(task_when(s, id, "completed"), "through");
}

TEST(a_task_outlives_the_connection_that_began_it, "OR-5.7")
{
    everywhere(check_gone);
}

static void check_not_blocked(void)
{
    struct id id = task_of(s, "gate");
    for (int i = 0; i < 10; i++)
        expect_str(modern_tool(s, "plain", TASKS), "result/content/0/text", "quick");
    atomic_store(&gate, 1);
    expect_text(task_when(s, id, "completed"), "through");
}

TEST(a_running_task_blocks_nobody, "OR-5.7")
{
    everywhere(check_not_blocked);
}

/* ---- questions ---- */

static void check_questions(void)
{
    struct id id = task_of(s, "ask2");
    msg *m = task_when(s, id, "input_required");
    assert_string_equal(str_at(m, "result/inputRequests/a/method"), "elicitation/create");
    assert_string_equal(str_at(m, "result/inputRequests/b/params/message"), "b");
    assert_null(at(m, "result/requestState"));
    owl_json_doc_free(m);
    /* unknown keys, answers that do not fit, and nothing at all change nothing */
    expect_ack(task_update(s, id, "{}"));
    expect_ack(task_update(s, id, "{\"zz\":" ACCEPT("Zoe") ",\"a\":5}"));
    expect_ack(task_update(s, id, "{\"a\":{\"action\":\"accept\"},\"b\":{\"action\":\"no\"}}"));
    m = task_get(s, id);
    assert_int_equal(owl_json_len(at(m, "result/inputRequests")), 2);
    expect_str(m, "result/status", "input_required");
    expect_ack(task_update(s, id, "{\"b\":" ACCEPT("Bea") "}"));
    for (int64_t end = now_ms() + WAIT_MS;; pause_ms(2)) {
        m = task_get(s, id);
        size_t n = owl_json_len(at(m, "result/inputRequests"));
        bool left = at(m, "result/inputRequests/a") != NULL;
        owl_json_doc_free(m);
        assert_true(left && now_ms() < end);
        if (n == 1)
            break;
    }
    expect_ack(task_update(s, id, "{\"b\":" ACCEPT("Bob") "}")); /* answered: ignored */
    expect_ack(task_update(s, id, "{\"a\":{\"action\":\"decline\"}}"));
    expect_text(task_when(s, id, "completed"), "a=decline b=Bea");
}

TEST(questions_are_shown_and_answered_in_parts, "mcp:K4 mcp:K5")
{
    everywhere(check_questions);
}

static void check_rounds(void)
{
    struct id id = task_of(s, "rounds");
    msg *m = task_when(s, id, "input_required");
    assert_null(at(m, "result/inputRequests/b"));
    owl_json_doc_free(m);
    expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Ann") "}"));
    for (bool asked = false; !asked;) {
        m = task_when(s, id, "input_required");
        asked = at(m, "result/inputRequests/b") != NULL;
        assert_true(!asked || !at(m, "result/inputRequests/a"));
        owl_json_doc_free(m);
    }
    expect_ack(task_update(s, id, "{\"b\":" ACCEPT("Bea") "}"));
    expect_text(task_when(s, id, "completed"), "a=Ann b=Bea");
    id = task_of(s, "parked");
    owl_json_doc_free(task_when(s, id, "input_required"));
    expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Pat") "}"));
    expect_text(task_when(s, id, "completed"), "parked=Pat");
}

TEST(tasks_that_wait_for_their_clients_give_way_when_all_places_are_taken, "")
{
    owl_limits limits = OWL_LIMITS;
    limits.tasks = 3;
    s = server_with((owl_server_options){.reactors = 1, .limits = &limits});
    add_task_tools(s);
    server_start(s);
    atomic_store(&gate, 0);
    struct id runs = task_of(s, "gate"), oldest = task_of(s, "ask"), other = task_of(s, "ask");
    owl_json_doc_free(task_when(s, oldest, "input_required"));
    owl_json_doc_free(task_when(s, other, "input_required"));
    expect_text(task_when(s, task_of(s, "quick"), "completed"), "quick");
    expect_int(task_get(s, oldest), "error/code", -32602); /* forgotten */
    expect_str(task_get(s, other), "result/status", "input_required");
    expect_str(task_get(s, runs), "result/status", "working");
    atomic_store(&gate, 1);
    owl_json_doc_free(task_when(s, runs, "completed"));
    server_end(s);
}

TEST(tasks_ask_round_after_round, "mcp:K5")
{
    everywhere(check_rounds);
}

/* ---- tasks that begin later ---- */

static void check_later(void)
{
    expect_text(task_when(s, task_of(s, "later"), "completed"), "became");
    assert_int_equal(atomic_load(&become_rc), 0);
    expect_text(task_when(s, task_of(s, "later_inline"), "completed"), "became");
    atomic_store(&gate, 1);
    expect_text(task_when(s, task_of(s, "later_gate"), "completed"), "through");
    expect_str(modern_tool(s, "later", NO_TASKS), "result/content/0/text", "became");
    assert_int_equal(atomic_load(&become_rc), -OWL_ECAPABILITY);
}

TEST(a_handler_decides_when_it_becomes_a_task, "mcp:K1")
{
    everywhere(check_later);
}

/* The retry of an input_required that the tool has answered with. */
static msg *retry(const char *tool, const msg *first, const char *responses)
{
    char *params = text_of("\"name\":\"%s\",\"requestState\":\"%s\",\"inputResponses\":%s", tool,
                           str_at(first, "result/requestState"), responses);
    msg *m = modern_with(s, "tools/call", tool, params, TASKS);
    free(params);
    return m;
}

static void check_between(void)
{
    msg *first = modern_tool(s, "between", TASKS);
    assert_string_equal(str_at(first, "result/resultType"), "input_required");
    msg *m = retry("between", first, "{\"a\":" ACCEPT("Ann") "}");
    assert_string_equal(str_at(m, "result/resultType"), "task");
    assert_string_equal(str_at(m, "result/status"), "working");
    struct id id = id_at(m, "result/taskId");
    owl_json_doc_free(m);
    owl_json_doc_free(first);
    m = task_when(s, id, "input_required");
    assert_null(at(m, "result/inputRequests/a"));
    assert_non_null(at(m, "result/inputRequests/b"));
    owl_json_doc_free(m);
    expect_ack(task_update(s, id, "{\"b\":" ACCEPT("Bea") "}"));
    expect_text(task_when(s, id, "completed"), "a=Ann b=Bea");
}

TEST(questions_before_the_task_travel_with_the_call, "mcp:K1")
{
    everywhere(check_between);
}

static void check_parked_later(void)
{
    msg *first = modern_tool(s, "parked_later", TASKS);
    assert_string_equal(str_at(first, "result/resultType"), "input_required");
    msg *m = retry("parked_later", first, "{\"a\":" ACCEPT("Ann") "}");
    struct id id = id_at(m, "result/taskId");
    assert_int_equal(atomic_load(&become_rc), 0);
    expect_str(m, "result/resultType", "task");
    owl_json_doc_free(first);
    atomic_store(&gate, 1);
    expect_text(task_when(s, id, "completed"), "parked=Ann");
}

TEST(a_parked_call_becomes_a_task, "")
{
    everywhere(check_parked_later);
}

/* A call that began without a task ends without one, even if the client has learnt of tasks. */
static void check_late_declaration(void)
{
    static const char *const tools[] = {"ask", "parked"}, *const texts[] = {"a=Ann", "parked=Ann"};
    for (size_t i = 0; i < 2; i++) {
        msg *first = modern_tool(s, tools[i], NO_TASKS);
        assert_string_equal(str_at(first, "result/resultType"), "input_required");
        expect_str(retry(tools[i], first, "{\"a\":" ACCEPT("Ann") "}"), "result/content/0/text",
                   texts[i]);
        owl_json_doc_free(first);
    }
}

TEST(a_retry_goes_on_with_the_call_that_asked, "")
{
    everywhere(check_late_declaration);
}

/* ---- telling ---- */

static void check_silence(void)
{
    struct http h = http_open(s);
    modern_call(&h, "tell", "", TASKS,
                "\"progressToken\":7,\"io.modelcontextprotocol/logLevel\":\"debug\"");
    assert_int_equal(http_head(&h), 200);
    msg *m = http_next(&h);
    struct id id = id_at(m, "result/taskId"); /* the first message is the answer */
    owl_json_doc_free(m);
    atomic_store(&gate, 2);
    owl_json_doc_free(task_when(s, id, "completed"));
    http_close(&h);
}

TEST(modern_tasks_tell_nothing_by_themselves, "mcp:K7")
{
    everywhere(check_silence);
}

static void check_listen(void)
{
    struct http h = http_open(s);
    struct id id = task_of(s, "ask"), other = task_of(s, "gate");
    owl_json_doc_free(task_when(s, id, "input_required"));
    char *filter = text_of("{\"taskIds\":[\"%s\"]}", id.text);
    listen_to(&h, filter, TASKS);
    msg *m = http_next(&h);
    assert_string_equal(str_at(m, "method"), "notifications/subscriptions/acknowledged");
    expect_str(m, "params/notifications/taskIds/0", id.text);
    expect_ack(about(s, "tasks/cancel", other, ""));
    expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Ann") "}"));
    for (bool over = false; !over; owl_json_doc_free(m)) {
        m = http_next(&h);
        assert_string_equal(str_at(m, "method"), "notifications/tasks");
        assert_string_equal(str_at(m, "params/taskId"), id.text);
        assert_string_equal(str_at(m, "params/_meta/io.modelcontextprotocol~subscriptionId"),
                            "sub");
        over = strcmp(str_at(m, "params/status"), "completed") == 0;
        if (over)
            assert_string_equal(str_at(m, "params/result/content/0/text"), "a=Ann");
    }
    http_close(&h);
    h = http_open(s);
    listen_to(&h, filter, NO_TASKS);
    expect_int(http_next(&h), "error/code", -32021);
    http_close(&h);
    h = http_open(s);
    listen_to(&h, "{\"taskIds\":[5]}", TASKS);
    expect_int(http_next(&h), "error/code", -32602);
    http_close(&h);
    free(filter);
}

/* As many ids as a filter may have, and those that listen hear of theirs, once. */
static void check_many_listens(void)
{
    enum { LISTENS = 20 };
    struct http h[LISTENS], dull = http_open(s);
    struct id id = task_of(s, "gate");
    struct owl_buf foreign;
    owl_buf_init(&foreign, 1 << 20);
    owl_buf_putz(&foreign, "{\"taskIds\":[\"0\"");
    for (int i = 1; i < 1000; i++)
        owl_buf_printf(&foreign, ",\"%0*d\"", (int)strlen(id.text), i);
    owl_buf_putz(&foreign, "]}");
    owl_buf_putc(&foreign, '\0');
    listen_to(&dull, foreign.p, TASKS);
    owl_json_doc_free(http_next(&dull));
    char *twice = text_of("{\"taskIds\":[\"%s\",\"%s\"]}", id.text, id.text);
    for (int i = 0; i < LISTENS; i++) {
        h[i] = http_open(s);
        listen_to(&h[i], twice, TASKS);
        owl_json_doc_free(http_next(&h[i]));
    }
    expect_ack(about(s, "tasks/cancel", id, ""));
    for (int i = 0; i < LISTENS; i++) {
        msg *m = http_next(&h[i]);
        assert_string_equal(str_at(m, "params/taskId"), id.text);
        expect_str(m, "params/status", "cancelled");
        assert_false(http_ready(&h[i], i ? 0 : 50));
        http_close(&h[i]);
    }
    assert_false(http_ready(&dull, 0));
    http_close(&dull);
    owl_buf_done(&foreign);
    free(twice);
}

TEST(however_many_listen_to_a_task_each_hears_of_it_once, "mcp:K4")
{
    everywhere(check_many_listens);
}

TEST(listens_hear_of_their_tasks_in_full, "mcp:K2 mcp:K4")
{
    everywhere(check_listen);
}

/* Running handlers have four seconds, hence only two worlds. */
TEST(a_server_stops_with_tasks_in_every_state, "")
{
    for (unsigned reactors = 1; reactors <= 4; reactors += 3) {
        atomic_store(&store_delay_ms, reactors - 1);
        s = task_server(reactors);
        owl_json_doc_free(task_when(s, task_of(s, "ask2"), "input_required"));
        task_of(s, "gate");
        task_of(s, "parked");
        task_of(s, "later_gate");
        task_server_end(s);
    }
}

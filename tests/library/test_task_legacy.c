/* Tools that run as tasks for clients of 2025-11-25: who gets one, who waits for it, who is asked. */
#include "library/task_session.h"

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
    assert_int_equal(http_head(&c[4]), 200);
    assert_null(http_next(&c[4]));
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
    atomic_store(&OWL_CONTAINER(m, struct probe, msg)->n, (int)owl_call_local(&s->env, r)->n_calls);
}

/* How many calls there are on the one reactor. */
static int count_calls(void)
{
    struct probe p = {.msg.run = on_probe, .n = -1};
    assert_true(owl_post(owl_runtime_at(s->env.runtime, 0), &p.msg));
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
    assert_string_equal(str_at(m, "params/" RELATED), id.text);
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

/* A session that waits for the task @p id of somebody else. */
static struct http wait_as(struct http *session, struct id id)
{
    struct http mine = h;
    h = *session;
    struct http c = open_about("7", "tasks/result", id);
    h = mine;
    return c;
}

/* Another session that knows the id waits and could be asked, but the one that began it is there. */
static void check_other_session(void)
{
    struct id id = begin("ask");
    wait_status(id, "input_required");
    struct http other = legacy_open(s, ELICIT);
    struct http own = open_about("8", "tasks/result", id);
    assert_int_equal(http_head(&own), 200);
    msg *q = next_question(&own);
    struct http c = wait_as(&other, id);
    pause_ms(5);
    legacy_answer(&h, q, ACCEPT("Ann"));
    expect_str(http_next(&own), "result/content/0/text", "a=Ann");
    expect_str(answer_of(c), "result/content/0/text", "a=Ann"); /* its first and only message */
    http_close(&own);
    http_close(&other);
}

TEST(the_session_that_began_it_is_asked_before_others, "mcp:L10")
{
    everywhere(check_other_session);
}

static void delete_session(void)
{
    struct http gone = http_join(&h);
    char *headers = text_of("Mcp-Session-Id: %s\r\n", h.session);
    http_send(&gone, "DELETE", headers, "");
    assert_int_equal(http_head(&gone), 200);
    free(headers);
    http_close(&gone);
}

/* Nobody waits who began it: others are asked, if they have declared what it takes. */
static void check_only_others(void)
{
    struct http mute = legacy_open(s, "{}"), other = legacy_open(s, ELICIT), mine = h;
    h = legacy_open(s, ELICIT);
    struct http gone = h;
    struct id ids[] = {begin("ask"), task_of(s, "ask"), task_of(s, "parked")};
    delete_session();
    http_close(&gone);
    h = mine;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        owl_json_doc_free(task_when(s, ids[i], "input_required"));
        struct http c = wait_as(&other, ids[i]), silent = wait_as(&mute, ids[i]);
        assert_int_equal(http_head(&c), 200);
        msg *q = next_question(&c);
        assert_string_equal(str_at(q, "params/" RELATED), ids[i].text);
        char *text = answer_text(q, ACCEPT("Eve"));
        legacy_tell(&h, text); /* it was not asked */
        free(text);
        legacy_answer(&other, q, ACCEPT("Ann"));
        expect_str(http_next(&c), "result/content/0/text", i == 2 ? "parked=Ann" : "a=Ann");
        expect_str(answer_of(silent), "result/content/0/text", i == 2 ? "parked=Ann" : "a=Ann");
        http_close(&c);
    }
    http_close(&mute);
    http_close(&other);
}

TEST(whoever_waits_is_asked_if_nobody_else_does, "mcp:L10 mcp:L13")
{
    everywhere(check_only_others);
}

static int ask_url(owl_call *c, void *data)
{
    (void)data;
    const owl_json *a;
    owl_question q = {
        .size = sizeof q, .kind = OWL_ASK_URL, .message = "There", .url = "https://x.example/"};
    int rc = owl_ask(c, "a", &q, &a);
    return rc ? rc : owl_result_textf(c, "a=%s", given_name(a));
}

/* What the older form must have and the newer has not is added. */
TEST(an_url_of_a_modern_task_has_an_id_for_a_session, "mcp:L13")
{
    s = task_server(1);
    add_tool(s, (owl_tool){.name = "url", .handler = ask_url, .flags = OWL_TASK});
    h = legacy_open(s, "{\"elicitation\":{\"url\":{}}}");
    msg *m = modern_with(s, "tools/call", "url", "\"name\":\"url\"",
                         "{\"elicitation\":{\"url\":{}},\"extensions\":{\"" EXTENSION "\":{}}}");
    struct id id = id_at(m, "result/taskId");
    owl_json_doc_free(m);
    struct http c = open_about("7", "tasks/result", id);
    assert_int_equal(http_head(&c), 200);
    m = next_question(&c);
    assert_int_equal(strlen(str_at(m, "params/elicitationId")), 32);
    assert_string_equal(str_at(m, "params/url"), "https://x.example/");
    assert_string_equal(str_at(m, "params/" RELATED), id.text);
    legacy_answer(&h, m, "{\"action\":\"decline\"}");
    expect_str(http_next(&c), "result/content/0/text", "a=decline");
    http_close(&c);
    http_close(&h);
    task_server_end(s);
}

/* Progress and log messages are for the session that asked for them. */
static void check_others_hear_nothing(void)
{
    struct http other = legacy_open(s, ELICIT);
    struct id id = begin("tell");
    assert_true(reaches(&begun, 1));
    struct http c = wait_as(&other, id);
    pause_ms(5);
    atomic_store(&gate, 2);
    expect_str(answer_of(c), "result/content/0/text", "through");
    http_close(&other);
}

TEST(others_are_not_told_what_a_task_says, "mcp:L13")
{
    everywhere(check_others_hear_nothing);
}

/* Of two questions that are out one is answered by a modern client: the legacy one is told so. */
static void check_mixed_answers(void)
{
    struct id id = begin("ask2");
    struct http c = open_about("7", "tasks/result", id);
    assert_int_equal(http_head(&c), 200);
    msg *a = next_question(&c), *b = next_question(&c);
    expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Bob") "}"));
    msg *m = http_next(&c);
    assert_string_equal(str_at(m, "method"), "notifications/cancelled");
    expect_str(m, "params/requestId", str_at(a, "id"));
    for (bool gone = false; !gone; pause_ms(2)) {
        m = task_when(s, id, "input_required");
        assert_non_null(at(m, "result/inputRequests/b"));
        gone = !at(m, "result/inputRequests/a");
        owl_json_doc_free(m);
    }
    legacy_answer(&h, a, ACCEPT("Ann")); /* too late */
    legacy_answer(&h, b, ACCEPT("Ben"));
    expect_str(http_next(&c), "result/content/0/text", "a=Bob b=Ben");
    http_close(&c);
}

/* A modern client may look, cancel and answer. */
static void check_both_forms(void)
{
    struct id id = begin("ask");
    wait_status(id, "input_required");
    expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Bob") "}"));
    expect_str(with_task("tasks/result", id), "result/content/0/text", "a=Bob");
    check_mixed_answers();
    id = begin("gate");
    expect_ack(about(s, "tasks/cancel", id, ""));
    expect_str(with_task("tasks/get", id), "result/status", "cancelled");
    id = task_of(s, "ask");
    struct http c = open_about("7", "tasks/result", id);
    assert_int_equal(http_head(&c), 200);
    owl_json_doc_free(next_question(&c));
    expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Bob") "}"));
    expect_str(http_next(&c), "method", "notifications/cancelled");
    expect_str(http_next(&c), "result/content/0/text", "a=Bob");
    http_close(&c);
}

TEST(a_task_is_answered_in_either_form, "mcp:L13")
{
    everywhere(check_both_forms);
}

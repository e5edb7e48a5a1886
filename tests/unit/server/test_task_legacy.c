/* Tools that run as tasks for clients of 2025-11-25: who gets one, who waits for it, who is asked. */
#include "unit/server/task_session.h"

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

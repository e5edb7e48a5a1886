/* Tasks whose store answers later, fails, or is full. */
#include "library/tasks.h"

static owl_server *s;

static void begin(unsigned reactors, unsigned delay_ms)
{
    atomic_store(&store_delay_ms, delay_ms);
    s = task_server(reactors);
}

static void fail_puts(int n, int rc)
{
    atomic_store(&store_fail_rc, rc);
    atomic_store(&store_fail_puts, n);
}

/* ---- the first version ---- */

static void refuses_at_birth(unsigned delay_ms)
{
    begin(2, delay_ms);
    fail_puts(1, -OWL_ELIMIT);
    msg *m = modern_tool(s, "quick", TASKS);
    assert_non_null(strstr(str_at(m, "error/message"), "too many"));
    owl_json_doc_free(m);
    fail_puts(1, -OWL_EIO);
    expect_int(modern_tool(s, "gate", TASKS), "error/code", -32603);
    assert_int_equal(atomic_load(&begun), 0); /* the tool did not run */
    expect_text(task_when(s, task_of(s, "quick"), "completed"), "quick");
    fail_puts(1, -OWL_EIO);
    expect_str(modern_tool(s, "later", TASKS), "result/content/0/text", "became");
    fail_puts(1, -OWL_EIO);
    expect_str(modern_tool(s, "later_inline", TASKS), "result/content/0/text", "became");
    task_server_end(s);
}

TEST(a_task_that_cannot_be_kept_is_refused, "mcp:K1")
{
    refuses_at_birth(0);
    refuses_at_birth(5);
}

/* The handler asks while the store is still about to refuse the task: the question travels with the
 * call, as if no task had been wanted. */
TEST(a_call_that_could_not_become_a_task_asks_as_a_call, "")
{
    begin(1, 30);
    msg *first = modern_tool(s, "between", TASKS);
    char *params = text_of("\"name\":\"between\",\"requestState\":\"%s\",\"inputResponses\":"
                           "{\"a\":" ACCEPT("Ann") "}",
                           str_at(first, "result/requestState"));
    fail_puts(2, -OWL_EIO); /* the working version and the one that asks */
    msg *m = modern_with(s, "tools/call", "between", params, TASKS);
    assert_non_null(at(m, "result/inputRequests/b"));
    expect_str(m, "result/resultType", "input_required");
    free(params);
    owl_json_doc_free(first);
    task_server_end(s);
}

/* ---- later versions ---- */

static void outcome_survives(unsigned delay_ms, const char *tool)
{
    begin(2, delay_ms);
    struct id id = task_of(s, tool);
    assert_true(reaches(&begun, 1));
    fail_puts(3, -OWL_EIO);
    atomic_store(&gate, 1);
    expect_text(task_when(s, id, "completed"), "through");
    atomic_store(&gate, 0);
    atomic_store(&begun, 0);
    task_server_end(s);
}

TEST(an_outcome_is_saved_again_when_the_store_fails, "")
{
    outcome_survives(0, "gate");
    outcome_survives(4, "gate");
    outcome_survives(4, "later_gate");
}

TEST(a_question_is_saved_again_when_the_store_fails, "")
{
    for (unsigned delay_ms = 0; delay_ms <= 4; delay_ms += 4) {
        begin(2, delay_ms);
        struct id id = task_of(s, "rounds");
        owl_json_doc_free(task_when(s, id, "input_required"));
        fail_puts(3, -OWL_EIO);
        expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Ann") "}"));
        for (bool asked = false; !asked; pause_ms(5)) {
            msg *m = task_get(s, id);
            asked = at(m, "result/inputRequests/b") != NULL;
            owl_json_doc_free(m);
        }
        expect_ack(task_update(s, id, "{\"b\":" ACCEPT("Bea") "}"));
        expect_text(task_when(s, id, "completed"), "a=Ann b=Bea");
        task_server_end(s);
    }
}

/* Full for good when the question comes: the task fails and says so. */
TEST(a_question_that_finds_no_room_fails_the_task, "mcp:K4")
{
    for (unsigned delay_ms = 0; delay_ms <= 4; delay_ms += 4) {
        begin(1, delay_ms);
        atomic_store(&store_fail_rc, -OWL_ELIMIT);
        struct id id = task_of(s, "ask2");
        owl_json_doc_free(task_when(s, id, "input_required"));
        int puts = atomic_load(&store_puts);
        fail_puts(1, -OWL_ELIMIT);
        expect_ack(task_update(s, id, "{\"zz\":1}")); /* nothing to save */
        expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Ann") "}"));
        msg *m = task_when(s, id, "completed");
        assert_true(owl_json_bool(at(m, "result/result/isError"), false));
        assert_true(atomic_load(&store_puts) > puts);
        owl_json_doc_free(m);
        task_server_end(s);
    }
}

TEST(a_result_too_large_for_the_store_fails_the_task, "mcp:K4")
{
    for (unsigned delay_ms = 0; delay_ms <= 4; delay_ms += 4) {
        atomic_store(&store_delay_ms, delay_ms);
        s = server_new(2);
        add_task_tools(s);
        use_store(s, 100, 10000);
        server_start(s);
        msg *m = task_when(s, task_of(s, "big"), "failed");
        assert_null(at(m, "result/result"));
        assert_non_null(strstr(str_at(m, "result/error/message"), "could not be kept"));
        expect_int(m, "result/error/code", -32603);
        expect_text(task_when(s, task_of(s, "quick"), "completed"), "quick");
        task_server_end(s);
    }
}

/* The store never comes back: the call ends nevertheless, and the server stops. */
TEST(a_store_that_fails_for_good_ends_nothing_but_the_task, "")
{
    begin(2, 1);
    struct id id = task_of(s, "gate");
    fail_puts(1000, -OWL_EIO);
    expect_int(about(s, "tasks/cancel", id, ""), "error/code", -32603);
    fail_puts(0, -OWL_EIO);
    expect_str(modern_tool(s, "plain", TASKS), "result/content/0/text", "quick");
    task_server_end(s);
}

/* ---- questions to the store ---- */

TEST(a_store_that_cannot_be_read_is_an_error, "")
{
    for (unsigned delay_ms = 0; delay_ms <= 4; delay_ms += 4) {
        begin(2, delay_ms);
        struct id id = task_of(s, "gate");
        atomic_store(&store_fail_rc, -OWL_EIO);
        atomic_store(&store_fail_gets, 1);
        expect_int(task_get(s, id), "error/code", -32603);
        atomic_store(&store_fail_gets, 1);
        expect_int(about(s, "tasks/cancel", id, ""), "error/code", -32603);
        expect_str(task_get(s, id), "result/status", "working");
        task_server_end(s);
    }
}

static void leave_early(const char *method, struct id id, unsigned after_ms)
{
    struct http h = http_open(s);
    char *params = text_of("\"taskId\":\"%s\",\"inputResponses\":{}", id.text);
    char *text = modern_text("1", method, params, TASKS, "");
    modern_send(&h, id.text, text);
    pause_ms(after_ms);
    http_close(&h);
    free(text);
    free(params);
}

TEST(clients_that_leave_do_not_disturb_the_store, "")
{
    begin(2, 20);
    struct id id = task_of(s, "ask");
    for (unsigned i = 0; i < 5; i++) {
        leave_early("tasks/get", id, i * 6);
        leave_early("tasks/update", id, i * 6);
    }
    for (unsigned i = 0; i < 8; i++) { /* the task is told, or not */
        struct http h = http_open(s);
        modern_call(&h, i % 2 ? "quick" : "later_gate", "", TASKS, "");
        pause_ms(i * 4);
        http_close(&h);
    }
    for (unsigned i = 0; i < 5; i++)
        leave_early("tasks/cancel", id, i * 6);
    owl_json_doc_free(task_when(s, id, "cancelled"));
    task_server_end(s);
}

TEST(a_server_stops_while_the_store_is_asked, "")
{
    for (unsigned i = 0; i < 6; i++) {
        begin(1 + i % 2 * 3, 40);
        struct id id = task_of(s, "ask");
        struct http h[4];
        static const char *const tools[] = {"quick", "ask", "later", "inline"};
        for (size_t k = 0; k < 4; k++) {
            h[k] = http_open(s);
            modern_call(&h[k], tools[k], "", TASKS, "");
        }
        leave_early("tasks/get", id, 0);
        pause_ms(i * 12);
        task_server_end(s);
        for (size_t k = 0; k < 4; k++)
            http_close(&h[k]);
    }
}

/* ---- everything at once ---- */

static void *client(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    static const char *const tools[] = {"quick",  "ask2",       "inline",  "later", "gate",
                                        "parked", "later_gate", "between", "fail",  "short"};
    for (int i = 0; i < 25; i++) {
        msg *m = modern_tool(s, tools[(unsigned)rand_r(&seed) % 10], TASKS);
        assert_non_null(m);
        bool task = strcmp(str_at(m, "result/resultType"), "task") == 0;
        struct id id = task ? id_at(m, "result/taskId") : (struct id){""};
        owl_json_doc_free(m);
        for (int k = 0; task && k < 3; k++) {
            switch (rand_r(&seed) % 5) {
            case 0: leave_early("tasks/get", id, (unsigned)rand_r(&seed) % 4); break;
            case 1: leave_early("tasks/cancel", id, (unsigned)rand_r(&seed) % 4); break;
            case 2: owl_json_doc_free(task_update(s, id, "{\"a\":" ACCEPT("A") "}")); break;
            case 3: owl_json_doc_free(task_update(s, id, "{\"b\":" ACCEPT("B") "}")); break;
            default: owl_json_doc_free(task_get(s, id)); break;
            }
        }
        if (task && rand_r(&seed) % 2)
            owl_json_doc_free(about(s, "tasks/cancel", id, ""));
    }
    return NULL;
}

TEST(nothing_is_lost_when_the_store_fails_at_random, "")
{
    static const struct {
        unsigned reactors, delay_ms, mixed, bad;
    } worlds[] = {{1, 2, 30, 10}, {2, 2, 30, 20}, {4, 1, 50, 40}, {4, 0, 0, 30}};
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        pthread_t threads[4];
        atomic_store(&store_mixed, worlds[i].mixed);
        atomic_store(&store_bad, worlds[i].bad);
        atomic_store(&gate, 1); /* some stay ordinary calls */
        begin(worlds[i].reactors, worlds[i].delay_ms);
        for (uintptr_t k = 0; k < 4; k++)
            pthread_create(&threads[k], NULL, client, (void *)(k + 1));
        for (size_t k = 0; k < 4; k++)
            pthread_join(threads[k], NULL);
        task_server_end(s);
    }
}

/* What a task says of itself: statusMessage, in both forms. */
#include "library/task_session.h"

static void wait_for(int value, owl_call *c)
{
    while (atomic_load(&gate) < value && !owl_call_cancelled(c))
        usleep(500);
}

/* A message, none, and when the gate is open one that is too long. */
static int say_all(owl_call *c, void *data)
{
    (void)data;
    char text[601] = "";
    for (int i = 0; i < 600; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    assert_int_equal(owl_call_progress(c, 1, 3, "\"one\""), 0);
    assert_int_equal(owl_call_progress(c, 2, 3, NULL), 0);
    wait_for(1, c);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(owl_call_progress(c, 2, 3, "too fast for anybody"), 0);
    assert_int_equal(owl_call_progress(c, 3, 3, text), 0);
    wait_for(2, c);
    return owl_result_text(c, "said");
}

enum { CUT = 510 }; /* whole characters of 3 bytes in 512 */

/* Whether it is the message of that moment. */
static bool is_message(const msg *m, const char *path, int moment)
{
    const char *text = str_at(m, path);
    return moment == 0 ? strcmp(text, "\"one\"") == 0 : strlen(text) == CUT;
}

static msg *get(struct id id, bool modern)
{
    return modern ? task_get(s, id) : with_task("tasks/get", id);
}

static void wait_message(struct id id, bool modern, int moment)
{
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; usleep(2000)) {
        msg *m = get(id, modern);
        bool is = is_message(m, "result/statusMessage", moment);
        owl_json_doc_free(m);
        if (is)
            return;
    }
    fail_msg("never message %d", moment);
}

static void check_form(bool modern)
{
    atomic_store(&gate, 0);
    struct id id = modern ? task_of(s, "say") : begin("say");
    for (int moment = 0; moment < 2; moment++) {
        wait_message(id, modern, moment);
        wait_message(id, !modern, moment); /* whoever asks sees it */
        atomic_store(&gate, moment + 1);
    }
    msg *m = task_when(s, id, "completed");
    assert_true(is_message(m, "result/statusMessage", 1)); /* its last word */
    owl_json_doc_free(m);
    if (modern)
        return;
    m = request("tasks/list", "");
    assert_true(is_message(m, "result/tasks/0/statusMessage", 1));
    owl_json_doc_free(m);
}

static void check_get(void)
{
    add_tool(s, (owl_tool){.name = "say", .handler = say_all, .flags = OWL_TASK});
    check_form(false);
    check_form(true);
}

TEST(a_task_says_how_it_is_getting_on, "mcp:K2 mcp:L13")
{
    everywhere(check_get);
}

/* Reads what a stream is told of the task until it is the message of that moment. */
static void hear(struct http *stream, const char *method, int moment)
{
    for (bool heard = false; !heard;) {
        msg *m = http_next(stream);
        assert_non_null(m);
        heard = strcmp(str_at(m, "method"), method) == 0 &&
                is_message(m, "params/statusMessage", moment);
        owl_json_doc_free(m);
    }
}

static void check_streams(void)
{
    add_tool(s, (owl_tool){.name = "say", .handler = say_all, .flags = OWL_TASK});
    struct http stream = http_join(&h), listen = http_open(s);
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n", h.session);
    http_send(&stream, "GET", headers, "");
    assert_int_equal(http_head(&stream), 200);
    struct id id = begin("say");
    hear(&stream, "notifications/tasks/status", 0);
    char *filter = text_of("{\"taskIds\":[\"%s\"]}", id.text);
    listen_to(&listen, filter, TASKS);
    owl_json_doc_free(http_next(&listen)); /* acknowledged */
    atomic_store(&gate, 1);
    hear(&stream, "notifications/tasks/status", 1);
    hear(&listen, "notifications/tasks", 1);
    atomic_store(&gate, 2);
    free(headers);
    free(filter);
    http_close(&stream);
    http_close(&listen);
}

TEST(streams_hear_how_a_task_is_getting_on, "mcp:K4 mcp:L13")
{
    everywhere(check_streams);
}

/* What a call has said before it became a task is where the task begins. */
static int say_later(owl_call *c, void *data)
{
    (void)data;
    assert_int_equal(owl_call_progress(c, 1, 3, "\"one\""), 0);
    assert_int_equal(owl_call_become_task(c), 0);
    wait_for(1, c);
    assert_int_equal(owl_call_progress(c, 1, 3, ""), 0);
    wait_for(2, c);
    return owl_result_text(c, "said");
}

static void check_later(void)
{
    add_tool(s, (owl_tool){.name = "later_say", .handler = say_later, .flags = OWL_TASK_LATER});
    msg *m = modern_tool(s, "later_say", TASKS);
    assert_true(is_message(m, "result/statusMessage", 0));
    struct id id = id_at(m, "result/taskId");
    owl_json_doc_free(m);
    wait_message(id, true, 0);
    atomic_store(&gate, 1);
    for (bool gone = false; !gone; pause_ms(2)) {
        m = task_get(s, id);
        gone = !at(m, "result/statusMessage");
        owl_json_doc_free(m);
    }
    atomic_store(&gate, 2);
    expect_text(task_when(s, id, "completed"), "said");
}

TEST(a_task_begins_with_what_its_call_has_said, "")
{
    everywhere(check_later);
}

/* Where the parts of a server meet: tasks and stopping, questions and their memory, refusals and
 * what they repeat. */
#include "unit/server/tasks.h"

static owl_server *s;

/* ---- tasks that cannot be kept, and a server that stops ---- */

static void stops_in_time(unsigned reactors, unsigned delay_ms, int rc)
{
    atomic_store(&store_delay_ms, delay_ms);
    atomic_store(&begun, 0);
    s = task_server(reactors);
    task_of(s, "gate");
    task_of(s, "later_gate");
    assert_true(reaches(&begun, 2));
    atomic_store(&store_fail_rc, rc);
    atomic_store(&store_fail_puts, 1000);
    int64_t begin = now_ms();
    task_server_end(s);
    assert_true(now_ms() - begin < 5000);
    atomic_store(&store_fail_puts, 0);
}

TEST(a_server_stops_in_time_with_a_store_that_fails, "")
{
    stops_in_time(1, 0, -OWL_EIO);
    stops_in_time(4, 3, -OWL_ELIMIT);
}

/* ---- what clients send to a task again and again ---- */

struct weigh {
    struct owl_msg msg;
    atomic_size_t bytes;
    atomic_int done;
};

static void weigh_here(struct owl_reactor *r, struct owl_msg *m)
{
    struct weigh *w = OWL_CONTAINER(m, struct weigh, msg);
    OWL_LIST_EACH (&owl_host_local(&s->host, r)->calls, it) {
        struct owl_call *c = OWL_CONTAINER(it, struct owl_call, node);
        if (c->task)
            atomic_fetch_add(&w->bytes, owl_arena_used(c->arena));
    }
    atomic_fetch_add(&w->done, 1);
}

/* Memory of the calls that run as tasks, on a server of one reactor. */
static size_t weight_of_tasks(void)
{
    struct weigh w = {.msg.run = weigh_here};
    assert_true(owl_post(owl_runtime_at(s->host.runtime, 0), &w.msg));
    assert_true(reaches(&w.done, 1));
    return atomic_load(&w.bytes);
}

TEST(a_task_does_not_grow_by_answers_that_it_did_not_ask_for, "mcp:K5")
{
    s = task_server(1);
    struct id id = task_of(s, "ask");
    owl_json_doc_free(task_when(s, id, "input_required"));
    size_t before = weight_of_tasks();
    char *responses = text_of("{\"%0100000d\":" ACCEPT("Ann") ",\"\\u0062\":" ACCEPT("Bea") "}", 0);
    for (int i = 0; i < 20; i++)
        expect_ack(task_update(s, id, responses));
    free(responses);
    assert_int_equal(weight_of_tasks(), before);
    expect_ack(task_update(s, id, "{\"\\u0061\":" ACCEPT("Cid") "}"));
    expect_text(task_when(s, id, "completed"), "a=Cid");
    task_server_end(s);
}

/* ---- refusals ---- */

/* A version longer than anything that a refusal has room for. */
static char *long_version(void)
{
    return text_of("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                   "\"io.modelcontextprotocol/protocolVersion\":\"%09000d\"}}}",
                   1);
}

static void expect_refusal(msg *m)
{
    assert_int_equal(int_at(m, "id"), 7);
    assert_int_equal(owl_json_len(at(m, "error/data/supported")), 5);
    expect_int(m, "error/code", -32022);
}

TEST(a_version_of_any_length_is_refused_with_a_whole_message, "")
{
    s = server_new(1);
    struct pipes p = pipes_open(s);
    server_start(s);
    char *text = long_version();
    char *headers = text_of(POST_HEADERS "MCP-Protocol-Version: %09000d\r\n", 1);
    struct http h = http_open(s);
    http_send(&h, "POST", headers, text);
    assert_int_equal(http_head(&h), 400);
    expect_refusal(http_next(&h));
    http_close(&h);
    pipes_send(&p, text);
    expect_refusal(pipes_next(&p));
    free(headers);
    free(text);
    server_end(s);
    pipes_close(&p);
}

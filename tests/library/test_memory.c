/* Requests that meet a server without memory: they are answered, refused or cut off, never lost;
 * nothing leaks; and the server serves again when there is memory.
 *
 * The server lives in the loop of the test: the reactor's allocations are those of this thread. */
#include "base/alloc.h"
#include "library/fixture.h"

#define ALL "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}"

static int hello(owl_call *c, void *data)
{
    (void)data;
    owl_call_progress(c, 1, 0, "on the way");
    return owl_result_textf(c, "hello %s", owl_json_get_str(owl_call_args(c), "name", "you"));
}

static int go_on(owl_call *c, const owl_json *answer, void *data)
{
    (void)answer;
    return hello(c, data);
}

static int ask(owl_call *c, void *data)
{
    (void)data;
    const owl_json *answer;
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "?", .schema = SCHEMA};
    return owl_ask(c, "who", &q, &answer);
}

static int break_promise(owl_call *c, void *data)
{
    (void)data;
    return owl_result_structured(c, "{\"a\":1}", OWL_NTS);
}

static int ask_parked(owl_call *c, void *data)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "?", .schema = SCHEMA};
    int rc = owl_ask_async(c, "who", &q, go_on, data);
    return rc ? rc : OWL_PENDING;
}

static owl_server *embedded(void)
{
    owl_server *s = server_with((owl_server_options){.workers = 1, .timeout_ms = 400});
    owl_error e = {0};
    add_tool(s,
             (owl_tool){
                 .name = "inline", .input_schema = SCHEMA, .handler = hello, .flags = OWL_INLINE});
    add_tool(s, (owl_tool){.name = "worker", .handler = hello});
    add_tool(s, (owl_tool){.name = "promise",
                           .output_schema = "{\"type\":\"object\",\"maxProperties\":0}",
                           .handler = break_promise,
                           .flags = OWL_INLINE});
    add_tool(s, (owl_tool){.name = "ask", .handler = ask, .flags = OWL_INLINE});
    add_tool(s,
             (owl_tool){.name = "parked", .handler = ask_parked, .flags = OWL_INLINE | OWL_PARKED});
    add_resource(
        s, (owl_resource){.uri = "x:{id}", .name = "r", .handler = hello, .flags = OWL_INLINE});
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", &e), 0);
    if (owl_server_fd(s, &e) < 0)
        fail_msg("owl_server_fd: %s", e.message);
    return s;
}

struct scenario {
    const char *method, *name, *params;
    bool legacy;
};

static void send_scenario(struct http *h, const struct scenario *c)
{
    char *text = c->legacy ? initialize_text(ALL)
                           : modern_text("1", c->method, c->params, ALL, "\"progressToken\":1");
    if (c->legacy)
        legacy_send(h, text);
    else
        modern_send(h, c->name, text);
    free(text);
}

static void meets_no_memory(const struct scenario *c, unsigned long n)
{
    owl_server *s = embedded();
    struct http h = http_open(s);
    send_scenario(&h, c);
    owl_alloc_fail_at(n);
    bool answered = step_until_readable(s, h.fd, 30);
    owl_alloc_fail_at(0);
    if (!answered && !step_until_readable(s, h.fd, 3000))
        fail_msg("%s %s: lost at allocation %lu", c->method, c->name, n);
    http_close(&h);

    h = http_open(s); /* it serves again */
    send_scenario(&h, c);
    if (!step_until_readable(s, h.fd, 3000))
        fail_msg("%s %s: dead after allocation %lu", c->method, c->name, n);
    if (http_head(&h) != 200)
        fail_msg("%s %s: status %d after allocation %lu", c->method, c->name, h.status, n);
    http_close(&h);
    owl_server_free(s);
}

static void survives(struct scenario c)
{
    for (unsigned long n = 1; n <= 50; n++)
        meets_no_memory(&c, n);
}

TEST(calls_survive_running_out_of_memory, "")
{
    survives((struct scenario){"tools/call", "inline",
                               "\"name\":\"inline\",\"arguments\":{\"name\":\"\\u00e4\"}", false});
    survives((struct scenario){"tools/call", "worker", "\"name\":\"worker\"", false});
}

TEST(what_does_not_fit_survives_running_out_of_memory, "")
{
    survives((struct scenario){"tools/call", "inline",
                               "\"name\":\"inline\",\"arguments\":{\"name\":7}", false});
    survives((struct scenario){"tools/call", "promise", "\"name\":\"promise\"", false});
    survives((struct scenario){"tools/call", "ask",
                               "\"name\":\"ask\",\"inputResponses\":{\"who\":{\"action\":"
                               "\"accept\",\"content\":{\"name\":7}}}",
                               false});
}

TEST(questions_survive_running_out_of_memory, "")
{
    survives((struct scenario){"tools/call", "ask", "\"name\":\"ask\"", false});
    survives((struct scenario){"tools/call", "parked", "\"name\":\"parked\"", false});
}

TEST(other_requests_survive_running_out_of_memory, "")
{
    survives((struct scenario){"initialize", "", "", true});
    survives((struct scenario){"tools/list", "", "", false});
    survives((struct scenario){"resources/read", "x:1", "\"uri\":\"x:1\"", false});
    survives((struct scenario){"server/discover", "", "", false});
    survives((struct scenario){"subscriptions/listen", "",
                               "\"notifications\":{\"toolsListChanged\":true,"
                               "\"resourceSubscriptions\":[\"x:1\"]}",
                               false});
}

/* ---- batches ---- */

static msg *step_answer(owl_server *s, struct http *h, const char *text)
{
    legacy_send(h, text);
    assert_true(step_until_readable(s, h->fd, 3000));
    http_head(h);
    return http_next(h);
}

/* Either every request of the batch is answered, or the batch is refused as a whole. */
static void batch_meets_no_memory(owl_server *s, struct http *session, unsigned long n)
{
    static const char batch[] =
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"1\",\"id\":2},"
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/"
        "call\",\"params\":{\"name\":\"inline\"}}]";
    struct http h = http_join(session);
    legacy_send(&h, batch);
    owl_alloc_fail_at(n);
    bool answered = step_until_readable(s, h.fd, 30);
    owl_alloc_fail_at(0);
    if (!answered && !step_until_readable(s, h.fd, 3000))
        fail_msg("lost at allocation %lu", n);
    char byte;
    if (recv(h.fd, &byte, 1, MSG_PEEK) == 1 && http_head(&h) == 200) {
        msg *m = http_next(&h);
        const owl_json *root = owl_json_doc_root(m);
        if (owl_json_kind_of(root) == OWL_JSON_ARRAY && owl_json_len(root) != 3)
            fail_msg("at allocation %lu: %s", n, json_at(m, ""));
        owl_json_doc_free(m);
    }
    http_close(&h);
}

TEST(a_batch_without_memory_is_answered_as_a_whole, "")
{
    owl_server *s = embedded();
    struct http h = http_open(s);
    owl_json_doc_free(step_answer(
        s, &h,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-03-26\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"));
    owl_json_doc_free(step_answer(s, &h, INITIALIZED));
    for (unsigned long n = 1; n <= 60; n++)
        batch_meets_no_memory(s, &h, n);
    http_close(&h);
    owl_server_free(s);
}

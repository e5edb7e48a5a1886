/* A second provider beside handlers: calls that a peer answers, whose bytes pass through, which asks
 * the client by itself, withdraws what it asked, and finishes while a request is open. */
#include "library/relay.h"

static struct relay relay;
static owl_server *s;

/* ---- the peer ---- */

#define TEXT(fmt) "{\"content\":[{\"type\":\"text\",\"text\":\"" fmt "\"}]}"
#define RESULT(value) "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":" value "}"
#define FORM "{\"message\":\"Who?\",\"odd\":[1.0, 2],\"requestedSchema\":{\"type\":\"object\"}}"

static void peer_ask(unsigned id, unsigned n, const char *method, const char *params)
{
    peer_say(&relay, id,
             text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%u.%u\",\"method\":\"%s\","
                     "\"params\":%s}",
                     id, n, method, params));
}

static void peer_withdraw(unsigned id, unsigned n)
{
    peer_say(&relay, id,
             text_of("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                     "\"params\":{\"requestId\":\"%u.%u\"}}",
                     id, n));
}

static atomic_int withdraw_now, finish_now;

static void wait_for(atomic_int *flag)
{
    while (!atomic_exchange(flag, 0))
        pause_ms(1);
}

static void peer_call(unsigned id, const char *tool, const msg *m)
{
    if (strcmp(str_at(m, "method"), "tools/call") != 0)
        peer_say(&relay, id, text_of(RESULT("{\"said\":\"%s\"}"), id, str_at(m, "method")));
    else if (strcmp(tool, "echo") == 0)
        peer_say(&relay, id,
                 text_of(RESULT("{\"unknown\" : [ 1.50 ],\"content\":[],\"structuredContent\":%s,"
                                "\"_meta\":{\"a/b\":1.0,\"owlclaw/cost\":9}}"),
                         id, json_at(m, "params/arguments")));
    else if (strcmp(tool, "fails") == 0)
        peer_say(&relay, id,
                 text_of("{\"jsonrpc\":\"2.0\",\"id\":%u,\"error\":{\"code\":%s,"
                         "\"message\":\"no luck\",\"data\":{\"why\":[1]}}}",
                         id, json_at(m, "params/arguments/code")));
    else if (strcmp(tool, "asks_on_lines") == 0)
        peer_ask(id, 1, "elicitation/create", "{\n\"message\":\"Who?\"\n}");
    else if (strcmp(tool, "asks") == 0 || strcmp(tool, "asks_thrice") == 0)
        peer_ask(id, 1, "elicitation/create", FORM);
    else if (strcmp(tool, "asks_two") == 0) {
        peer_ask(id, 1, "elicitation/create", FORM);
        peer_ask(id, 2, "roots/list", "{}");
    } else if (strcmp(tool, "asks_anything") == 0)
        peer_ask(id, 1, "vendor/anything", "{\"x\":1}");
    else if (strcmp(tool, "withdraws") == 0) {
        peer_ask(id, 1, "elicitation/create", FORM);
        wait_for(&withdraw_now);
        peer_withdraw(id, 1);
        peer_say(&relay, id, text_of(RESULT(TEXT("withdrawn")), id));
    } else if (strcmp(tool, "finishes") == 0) {
        peer_ask(id, 1, "elicitation/create", FORM);
        wait_for(&finish_now);
        peer_say(&relay, id, text_of(RESULT(TEXT("without you")), id));
    } else if (strcmp(tool, "state") == 0 && !at(m, "params/requestState"))
        peer_say(&relay, id,
                 text_of(RESULT("{\"resultType\":\"input_required\","
                                "\"requestState\":\"the peer's own\"}"),
                         id));
    else if (strcmp(tool, "state_and_ask") == 0 && !at(m, "params/requestState"))
        peer_say(&relay, id,
                 text_of(RESULT("{\"inputRequests\":{\"k\":{\"method\":\"roots/list\"}},"
                                "\"requestState\":\"two\"}"),
                         id));
    else if (strncmp(tool, "state", 5) == 0)
        peer_say(&relay, id,
                 text_of(RESULT(TEXT("%s, %s")), id, str_at(m, "params/requestState"),
                         at(m, "params/inputResponses/k") ? "answered" : "no answer"));
}

/* The client has answered request n of a call. */
static void peer_answered(unsigned id, unsigned n, const msg *m)
{
    bool thrice = owl_json_get(at(m, "result/content"), "again");
    if (at(m, "error"))
        peer_say(&relay, id, text_of(RESULT(TEXT("refused: %s")), id, str_at(m, "error/message")));
    else if (thrice)
        peer_ask(id, n + 1, "elicitation/create", FORM);
    else if (at(m, "result/roots"))
        ; /* the other answer ends it */
    else
        peer_say(&relay, id,
                 text_of(RESULT(TEXT("%u answers, %s")), id, n, str_at(m, "result/action")));
}

static void peer(struct relay *r, const msg *m)
{
    (void)r;
    unsigned id, n;
    if (sscanf(str_at(m, "id"), "%u.%u", &id, &n) == 2)
        peer_answered(id, n, m);
    else if (at(m, "id"))
        peer_call((unsigned)int_at(m, "id"), str_at(m, "params/name"), m);
}

static void begin(unsigned reactors)
{
    static const char *const tools[] = {
        "echo",     "fails", "asks",          "asks_two", "asks_anything", "withdraws",
        "finishes", "state", "state_and_ask", "never",    "asks_thrice",   "asks_on_lines"};
    owl_limits limits = OWL_LIMITS;
    limits.question_ms = 2000;
    s = server_with((owl_server_options){.reactors = reactors, .limits = &limits});
    relay_start(&relay, peer);
    relay_offer(&relay, s, tools, OWL_COUNT(tools), "vendor/method");
    server_start(s);
}

static void end(void)
{
    server_end(s);
    relay_end(&relay);
    for (size_t i = 0; i < RELAY_CALLS; i++)
        relay.calls[i] = NULL;
}

#define CAN_ALL "{\"elicitation\":{},\"roots\":{},\"sampling\":{}}"
#define YES "{\"action\":\"accept\",\"content\":{}}"

static msg *modern_call_tool(const char *tool, const char *more)
{
    char *params = text_of("\"name\":\"%s\"%s%s", tool, *more ? "," : "", more);
    msg *m = modern_with(s, "tools/call", tool, params, CAN_ALL);
    free(params);
    return m;
}

static msg *retry(const char *tool, char *state, const char *answers)
{
    char *more = text_of("\"requestState\":\"%s\",\"inputResponses\":%s", state, answers);
    msg *m = modern_call_tool(tool, more);
    free(more);
    free(state);
    return m;
}

/* ---- bytes ---- */

TEST(arguments_and_results_pass_as_they_are_written, "")
{
    begin(2);
    struct http h = http_open(s);
    modern_call(&h, "echo", "\"arguments\":{\"n\":1.0,\"deep\":{\"x\":[1e3]}}", "{}", "");
    http_head(&h);
    while (http_piece(&h))
        ;
    assert_non_null(strstr(h.body.p, "\"unknown\":[ 1.50 ]"));
    assert_non_null(strstr(h.body.p, "\"resultType\":\"complete\""));
    assert_non_null(strstr(h.body.p, "\"a/b\":1.0"));
    assert_null(strstr(h.body.p, "owlclaw/cost"));
    http_close(&h);
    assert_true(reaches(&relay.released, 1));
    struct http old = legacy_open_as(s, "2025-03-26", "{}");
    legacy_call(&old, "echo", "\"arguments\":{\"n\":1}");
    http_head(&old);
    msg *m = http_next(&old);
    assert_null(at(m, "result/structuredContent"));
    assert_null(at(m, "result/resultType"));
    expect_str(m, "result/content/0/text", "{\"n\":1}");
    http_close(&old);
    end();
}

TEST(a_method_that_only_the_peer_knows_reaches_it, "")
{
    begin(2);
    expect_str(modern(s, "vendor/method", "", "\"x\":1"), "result/said", "vendor/method");
    expect_int(modern(s, "vendor/other", "", "\"x\":1"), "error/code", -32601);
    struct http h = legacy_open(s, "{}");
    char *text = legacy_text("5", "vendor/method", "");
    legacy_send(&h, text);
    free(text);
    http_head(&h);
    msg *m = http_next(&h);
    assert_null(at(m, "result/resultType"));
    expect_str(m, "result/said", "vendor/method");
    http_close(&h);
    end();
}

TEST(what_the_peer_lists_is_listed_as_it_is, "")
{
    begin(1);
    struct http h = http_open(s);
    char *text = modern_text("1", "tools/list", "", "{}", "");
    modern_send(&h, "", text);
    free(text);
    http_head(&h);
    while (http_piece(&h))
        ;
    assert_non_null(strstr(h.body.p, "{\"name\":\"echo\",\"vendor\":[1.0],"));
    http_close(&h);
    end();
}

TEST(an_error_of_the_peer_keeps_its_code_and_data, "")
{
    static const int codes[] = {4711, -32077, -32005, -32603};
    begin(1);
    struct http h = legacy_open(s, "{}");
    for (size_t i = 0; i < OWL_COUNT(codes); i++) {
        char *more = text_of("\"arguments\":{\"code\":%d}", codes[i]);
        msg *m = modern_call_tool("fails", more);
        assert_string_equal(json_at(m, "error/data"), "{\"why\":[1]}");
        assert_string_equal(str_at(m, "error/message"), "no luck");
        expect_int(m, "error/code", codes[i]);
        legacy_call(&h, "fails", more);
        http_head(&h);
        expect_int(http_next(&h), "error/code", codes[i]);
        free(more);
    }
    http_close(&h);
    end();
}

/* ---- requests to a legacy client ---- */

TEST(a_legacy_client_is_asked_what_the_peer_asks, "")
{
    begin(2);
    struct http h = legacy_open(s, CAN_ALL);
    struct http c = http_join(&h);
    legacy_call(&c, "asks", "");
    assert_int_equal(http_head(&c), 200);
    msg *q = http_next(&c);
    assert_string_equal(str_at(q, "method"), "elicitation/create");
    assert_int_equal(owl_json_len(at(q, "params/odd")), 2);
    legacy_answer(&h, q, YES);
    expect_str(http_next(&c), "result/content/0/text", "1 answers, accept");
    http_close(&c);
    http_close(&h);
    end();
}

TEST(any_method_is_asked_and_a_refusal_reaches_the_peer, "")
{
    begin(1);
    struct http h = legacy_open(s, "{}");
    struct http c = http_join(&h);
    legacy_call(&c, "asks_anything", "");
    http_head(&c);
    msg *q = http_next(&c);
    assert_string_equal(str_at(q, "method"), "vendor/anything");
    char *refusal = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"error\":{\"code\":-1,"
                            "\"message\":\"never\"}}",
                            str_at(q, "id"));
    legacy_tell(&h, refusal);
    free(refusal);
    owl_json_doc_free(q);
    expect_str(http_next(&c), "result/content/0/text", "refused: never");
    http_close(&c);
    http_close(&h);
    end();
}

TEST(a_request_is_one_line_however_the_peer_wrote_it, "")
{
    owl_limits limits = OWL_LIMITS;
    s = server_with((owl_server_options){.reactors = 1, .limits = &limits});
    relay_start(&relay, peer);
    static const char *const tools[] = {"asks_on_lines"};
    relay_offer(&relay, s, tools, 1, "vendor/method");
    struct pipes p = pipes_open(s);
    server_start(s);
    pipes_initialize(&p, CAN_ALL);
    pipes_call(&p, "7", "asks_on_lines");
    msg *q = pipes_next(&p);
    assert_string_equal(str_at(q, "params/message"), "Who?");
    pipes_answer(&p, q, "[1]"); /* which is no result */
    expect_str(pipes_next(&p), "result/content/0/text", "refused: no result of the client");
    end();
    pipes_close(&p);
}

TEST(a_request_is_withdrawn_and_the_call_goes_on, "")
{
    begin(1);
    struct http h = legacy_open(s, CAN_ALL);
    struct http c = http_join(&h);
    legacy_call(&c, "withdraws", "");
    http_head(&c);
    msg *q = http_next(&c);
    atomic_store(&withdraw_now, 1);
    msg *gone = http_next(&c);
    assert_string_equal(str_at(gone, "params/requestId"), str_at(q, "id"));
    expect_str(gone, "method", "notifications/cancelled");
    expect_str(http_next(&c), "result/content/0/text", "withdrawn");
    legacy_answer(&h, q, YES); /* nobody waits for it any more */
    http_close(&c);
    http_close(&h);
    end();
}

TEST(a_call_finishes_while_its_client_is_asked, "")
{
    begin(1);
    struct http h = legacy_open(s, CAN_ALL);
    struct http c = http_join(&h);
    legacy_call(&c, "finishes", "");
    http_head(&c);
    owl_json_doc_free(http_next(&c));
    atomic_store(&finish_now, 1);
    expect_str(http_next(&c), "method", "notifications/cancelled");
    expect_str(http_next(&c), "result/content/0/text", "without you");
    http_close(&c);
    http_close(&h);
    end();
}

/* ---- requests to a modern client ---- */

TEST(a_modern_client_is_asked_by_input_required, "")
{
    for (unsigned reactors = 1; reactors <= 4; reactors *= 2) {
        begin(reactors);
        msg *m = modern_call_tool("asks_two", "");
        assert_string_equal(json_at(m, "result/inputRequests/1.2"),
                            "{\"method\":\"roots/list\",\"params\":{}}");
        assert_int_equal(owl_json_len(at(m, "result/inputRequests/1.1/params/odd")), 2);
        m = retry("asks_two", state_of(m), "{\"1.2\":{\"roots\":[]}}");
        assert_null(at(m, "result/inputRequests/1.2")); /* only what is open is asked again */
        m = retry("asks_two", state_of(m), "{\"1.1\":" YES "}");
        expect_str(m, "result/content/0/text", "1 answers, accept");
        assert_int_equal(atomic_load(&relay.invoked), 1);
        end();
    }
}

TEST(a_modern_client_is_asked_again_and_again, "")
{
    begin(2);
    char *state = state_of(modern_call_tool("asks_thrice", ""));
    state = state_of(
        retry("asks_thrice", state, "{\"1.1\":{\"action\":\"accept\",\"content\":{\"again\":1}}}"));
    state = state_of(
        retry("asks_thrice", state, "{\"1.2\":{\"action\":\"accept\",\"content\":{\"again\":1}}}"));
    expect_str(retry("asks_thrice", state, "{\"1.3\":" YES "}"), "result/content/0/text",
               "3 answers, accept");
    end();
}

TEST(an_answer_that_comes_while_the_client_is_away_waits_for_it, "")
{
    begin(2);
    char *state = state_of(modern_call_tool("finishes", ""));
    atomic_store(&finish_now, 1);
    assert_true(reaches(&relay.invoked, 1));
    pause_ms(20);
    expect_str(retry("finishes", state, "{}"), "result/content/0/text", "without you");
    assert_true(reaches(&relay.released, 1));
    end();
}

TEST(an_answer_that_nobody_comes_for_is_let_go, "")
{
    begin(1);
    free(state_of(modern_call_tool("finishes", "")));
    atomic_store(&finish_now, 1);
    assert_true(reaches(&relay.released, 1)); /* when nobody has come for as long as they may */
    end();
}

TEST(a_provider_seals_its_own_state_with_or_without_requests, "")
{
    begin(2);
    msg *m = modern_call_tool("state", "");
    assert_null(at(m, "result/inputRequests"));
    char *state = state_of(m);
    assert_null(strstr(state, "peer"));
    expect_str(retry("state", state, "{}"), "result/content/0/text", "the peer's own, no answer");
    m = modern_call_tool("state_and_ask", "");
    assert_string_equal(json_at(m, "result/inputRequests/k/method"), "\"roots/list\"");
    expect_str(retry("state_and_ask", state_of(m), "{\"k\":{\"roots\":[]}}"),
               "result/content/0/text", "two, answered");
    end();
}

/* ---- the end from outside ---- */

TEST(a_client_that_leaves_cancels_at_the_peer, "")
{
    begin(2);
    struct http h = http_open(s);
    modern_call(&h, "never", "", "{}", "");
    assert_true(reaches(&relay.invoked, 1));
    http_close(&h);
    assert_true(reaches(&relay.cancelled, 1));
    free(state_of(modern_call_tool("asks", ""))); /* and does not come back */
    assert_true(reaches(&relay.cancelled, 2));
    end();
}

TEST(a_stop_ends_what_the_peer_has_and_what_clients_were_asked, "")
{
    for (unsigned reactors = 1; reactors <= 4; reactors *= 2) {
        begin(reactors);
        struct http h = http_open(s), l = legacy_open(s, CAN_ALL), c = http_join(&l);
        modern_call(&h, "never", "", "{}", "");
        legacy_call(&c, "asks", "");
        free(state_of(modern_call_tool("asks", "")));
        free(state_of(modern_call_tool("finishes", "")));
        atomic_store(&finish_now, 1);
        assert_true(reaches(&relay.invoked, 4));
        end();
        /* one that was cancelled may have had its answer on the way */
        assert_true(atomic_load(&relay.cancelled) + atomic_load(&relay.released) >= 4);
        http_close(&h);
        http_close(&c);
        http_close(&l);
    }
}

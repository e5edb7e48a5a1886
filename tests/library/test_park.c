/* Tools registered with OWL_PARKED: they ask, wait where they are, and go on with the answers. */
#include "library/fixture.h"

#define ALL "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}"
#define ACCEPT(name) "{\"action\":\"accept\",\"content\":{\"name\":\"" name "\"}}"

static atomic_int runs, answers, cancelled;
static _Atomic(owl_call *) kept;

static owl_question form(const char *message)
{
    return (owl_question){
        .size = sizeof(owl_question), .kind = OWL_ASK_FORM, .message = message, .schema = SCHEMA};
}

static const char *name_of(const owl_json *answer)
{
    const char *action = owl_json_get_str(answer, "action", "none");
    return strcmp(action, "accept")
               ? action
               : owl_json_get_str(owl_json_get(answer, "content"), "name", "?");
}

static int say_name(owl_call *c, const owl_json *answer, void *data)
{
    atomic_fetch_add(&answers, 1);
    return owl_result_textf(c, "%s=%s", (const char *)data, answer ? name_of(answer) : "refused");
}

static char label_a[] = "a", label_b[] = "b", label_c[] = "c";

static int ask_one(owl_call *c, void *data)
{
    (void)data;
    atomic_fetch_add(&runs, 1);
    owl_question q = form("A?");
    int rc = owl_ask_async(c, "a", &q, say_name, label_a);
    if (rc == 0 && owl_ask_async(c, "a", &q, say_name, NULL) != -OWL_EEXISTS)
        return -OWL_ETOOL;
    owl_result_text(c, "kept");
    return rc ? rc : OWL_PENDING;
}

static int ask_two(owl_call *c, void *data)
{
    (void)data;
    atomic_fetch_add(&runs, 1);
    owl_question q = form("?"), r = {.size = sizeof r, .kind = OWL_ASK_SAMPLING, .message = "S"};
    int rc = owl_ask_async(c, "a", &q, say_name, label_a);
    if (rc == 0)
        rc = owl_ask_async(c, "b", &r, say_name, label_b);
    return rc ? rc : OWL_PENDING;
}

/* The function asks once more. */
static int ask_more(owl_call *c, const owl_json *answer, void *data)
{
    int rc = say_name(c, answer, data);
    owl_question q = form("C?");
    if (rc == 0)
        rc = owl_ask_async(c, "c", &q, say_name, label_c);
    return rc ? rc : OWL_PENDING;
}

static int ask_rounds(owl_call *c, void *data)
{
    (void)data;
    atomic_fetch_add(&runs, 1);
    owl_question q = form("A?");
    int rc = owl_ask_async(c, "a", &q, ask_more, label_a);
    return rc ? rc : OWL_PENDING;
}

static void on_cancel(owl_call *c, void *data)
{
    (void)c;
    (void)data;
    atomic_fetch_add(&cancelled, 1);
}

/* Goes on for ever after the answer. */
static int never_end(owl_call *c, const owl_json *answer, void *data)
{
    (void)answer;
    (void)data;
    kept = owl_call_ref(c);
    atomic_fetch_add(&answers, 1);
    return OWL_LATER;
}

static int ask_then_hang(owl_call *c, void *data)
{
    (void)data;
    owl_question q = form("A?");
    owl_call_on_cancel(c, on_cancel, NULL);
    int rc = owl_ask_async(c, "a", &q, never_end, NULL);
    return rc ? rc : OWL_PENDING;
}

static int tell_progress(owl_call *c, const owl_json *answer, void *data)
{
    (void)answer;
    (void)data;
    owl_call_progress(c, 1, 2, NULL);
    return owl_result_text(c, "told");
}

static int ask_then_tell(owl_call *c, void *data)
{
    (void)data;
    owl_question q = form("A?");
    owl_call_progress(c, 5, 0, NULL);
    int rc = owl_ask_async(c, "a", &q, tell_progress, NULL);
    return rc ? rc : OWL_PENDING;
}

static int fail_after(owl_call *c, const owl_json *answer, void *data)
{
    (void)answer;
    (void)data;
    return owl_call_fail(c, "after the answer");
}

static int ask_then_fail(owl_call *c, void *data)
{
    (void)data;
    owl_question q = form("A?");
    int rc = owl_ask_async(c, "a", &q, fail_after, NULL);
    return rc ? rc : OWL_PENDING;
}

static owl_server *parking(unsigned reactors, unsigned flags)
{
    static const struct {
        const char *name;
        owl_handler_fn fn;
    } tools[] = {{"one", ask_one},        {"two", ask_two},        {"rounds", ask_rounds},
                 {"hang", ask_then_hang}, {"tell", ask_then_tell}, {"fail", ask_then_fail}};
    owl_server *s = server_new(reactors);
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        add_tool(
            s,
            (owl_tool){.name = tools[i].name, .handler = tools[i].fn, .flags = OWL_PARKED | flags});
    return s;
}

/* ---- legacy ---- */

TEST(a_parked_tool_goes_on_in_a_legacy_session, "")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        atomic_store(&runs, 0);
        owl_server *s = parking(2, flags);
        server_start(s);
        struct http h = legacy_open(s, ALL);
        legacy_call(&h, "one", "");
        http_head(&h);
        legacy_answer(&h, http_next(&h), ACCEPT("x"));
        msg *m = http_next(&h);
        assert_string_equal(str_at(m, "result/content/0/text"), "kept");
        expect_str(m, "result/content/1/text", "a=x");
        assert_int_equal(atomic_load(&runs), 1);
        assert_null(http_next(&h));

        legacy_call(&h, "rounds", "");
        http_head(&h);
        legacy_answer(&h, http_next(&h), ACCEPT("x"));
        msg *q = http_next(&h);
        assert_string_equal(str_at(q, "params/message"), "C?");
        legacy_answer(&h, q, "{\"action\":\"decline\"}");
        m = http_next(&h);
        assert_string_equal(str_at(m, "result/content/0/text"), "a=x");
        expect_str(m, "result/content/1/text", "c=decline");
        assert_null(http_next(&h));
        assert_int_equal(atomic_load(&runs), 2);

        legacy_call(&h, "two", "");
        http_head(&h);
        msg *a = http_next(&h), *b = http_next(&h);
        char *no = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"error\":{\"code\":1,\"message\":"
                           "\"no\"}}",
                           str_at(b, "id"));
        legacy_tell(&h, no);
        free(no);
        owl_json_doc_free(b);
        legacy_answer(&h, a, ACCEPT("x"));
        m = http_next(&h);
        assert_string_equal(str_at(m, "result/content/0/text"), "a=x");
        expect_str(m, "result/content/1/text", "b=refused");
        http_close(&h);
        server_end(s);
    }
}

/* ---- modern ---- */

/* Sends a (re)try on a connection of its own. */
static struct http send_try(owl_server *s, const char *tool, const char *state,
                            const char *responses, const char *meta)
{
    struct http h = http_open(s);
    char *more = text_of("\"arguments\":{}%s%s%s%s%s", state ? ",\"requestState\":\"" : "",
                         state ? state : "", state ? "\"" : "",
                         responses ? ",\"inputResponses\":" : "", responses ? responses : "");
    modern_call(&h, tool, more, ALL, meta);
    free(more);
    return h;
}

static msg *try_call(owl_server *s, const char *tool, const char *state, const char *responses)
{
    struct http h = send_try(s, tool, state, responses, "");
    http_head(&h);
    msg *m = http_next(&h);
    http_close(&h);
    return m;
}

TEST(a_parked_tool_goes_on_when_a_modern_client_comes_back, "")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        atomic_store(&runs, 0);
        owl_server *s = parking(4, flags);
        server_start(s);
        char *state = state_of(try_call(s, "one", NULL, NULL));
        msg *m = try_call(s, "one", state, "{\"a\":" ACCEPT("y") ",\"other\":{}}");
        assert_string_equal(str_at(m, "result/resultType"), "complete");
        assert_string_equal(str_at(m, "result/content/0/text"), "kept");
        expect_str(m, "result/content/1/text", "a=y");
        assert_int_equal(atomic_load(&runs), 1);
        /* A state is used once. */
        expect_int(try_call(s, "one", state, "{\"a\":" ACCEPT("z") "}"), "error/code", -32602);
        assert_int_equal(atomic_load(&runs), 1);
        free(state);
        server_end(s);
    }
}

/* A state for two questions, of which the first was answered with @p n bytes; how many are open. */
static char *answer_largely(owl_server *s, int n, size_t *ret_open)
{
    char *state = state_of(try_call(s, "two", NULL, NULL));
    char *large = text_of("{\"a\":{\"action\":\"accept\",\"content\":{\"name\":\"%0*d\"}}}", n, 1);
    msg *m = try_call(s, "two", state, large);
    free(large);
    free(state);
    *ret_open = owl_json_len(at(m, "result/inputRequests"));
    return state_of(m);
}

/* Answers both with little; what was answered before stays. */
static void expect_name(owl_server *s, char *state, size_t n)
{
    msg *m = try_call(
        s, "two", state,
        "{\"a\":" ACCEPT("little") ",\"b\":{\"role\":\"assistant\",\"model\":\"m\","
                                   "\"content\":{\"type\":\"text\",\"text\":\"hi\"}}}");
    assert_int_equal(strlen(str_at(m, "result/content/0/text")), n + strlen("a="));
    owl_json_doc_free(m);
    free(state);
}

/* What does not fit is asked for again: nothing is lost. */
TEST(answers_of_parked_calls_are_bounded_together, "")
{
    owl_limits limits = {.size = sizeof limits, .input_total_bytes = 65536};
    owl_server *s = server_with((owl_server_options){.reactors = 1, .limits = &limits});
    add_tool(s, (owl_tool){.name = "two", .handler = ask_two, .flags = OWL_PARKED});
    server_start(s);
    size_t open;
    char *first = answer_largely(s, 30000, &open);
    assert_int_equal(open, 1);
    char *other = answer_largely(s, 30000, &open);
    assert_int_equal(open, 2);
    expect_name(s, other, strlen("little"));
    expect_name(s, first, 30000);
    first = answer_largely(s, 30000, &open); /* there is room again */
    assert_int_equal(open, 1);
    expect_name(s, first, 30000);
    server_end(s);
}

TEST(missing_answers_are_asked_for_again, "")
{
    owl_server *s = parking(2, 0);
    server_start(s);
    char *first = state_of(try_call(s, "two", NULL, NULL));
    msg *m = try_call(s, "two", first, "{\"a\":" ACCEPT("1") ",\"b\":5}");
    assert_int_equal(owl_json_len(at(m, "result/inputRequests")), 1);
    assert_non_null(at(m, "result/inputRequests/b"));
    char *second = state_of(m);
    assert_string_not_equal(first, second);
    free(first);
    char *third = state_of(try_call(s, "two", second, NULL));
    free(second);
    assert_int_equal(atomic_load(&answers), 0);
    m = try_call(s, "two", third, "{\"b\":{\"role\":\"assistant\",\"content\":{}}}");
    assert_string_equal(str_at(m, "result/content/0/text"), "a=1");
    expect_str(m, "result/content/1/text", "b=none");
    assert_int_equal(atomic_load(&answers), 2);
    assert_int_equal(atomic_load(&runs), 1);
    free(third);
    server_end(s);
}

TEST(a_second_round_is_asked_by_the_function, "")
{
    owl_server *s = parking(4, 0);
    server_start(s);
    char *one = state_of(try_call(s, "rounds", NULL, NULL));
    msg *m = try_call(s, "rounds", one, "{\"a\":" ACCEPT("1") "}");
    assert_string_equal(str_at(m, "result/inputRequests/c/params/message"), "C?");
    assert_null(at(m, "result/inputRequests/a"));
    char *two = state_of(m);
    m = try_call(s, "rounds", two, "{\"c\":" ACCEPT("2") "}");
    assert_string_equal(str_at(m, "result/content/0/text"), "a=1");
    expect_str(m, "result/content/1/text", "c=2");
    expect_int(try_call(s, "rounds", one, "{}"), "error/code", -32602);
    expect_int(try_call(s, "rounds", two, "{}"), "error/code", -32602);
    free(one);
    free(two);
    server_end(s);
}

TEST(retries_find_their_call_on_every_reactor, "")
{
    enum { CALLS = 60 };
    owl_server *s = parking(4, 0);
    server_start(s);
    char *states[CALLS];
    for (int i = 0; i < CALLS; i++)
        states[i] = state_of(try_call(s, "rounds", NULL, NULL));
    for (int i = CALLS - 1; i >= 0; i--) {
        char *next = state_of(try_call(s, "rounds", states[i], "{\"a\":" ACCEPT("1") "}"));
        free(states[i]);
        states[i] = next;
    }
    for (int i = 0; i < CALLS; i++) {
        expect_str(try_call(s, "rounds", states[i], "{\"c\":" ACCEPT("2") "}"),
                   "result/content/1/text", "c=2");
        free(states[i]);
    }
    assert_int_equal(atomic_load(&runs), CALLS);
    server_end(s);
}

struct retry {
    owl_server *server;
    const char *state;
    int won;
};

static void *retry_main(void *arg)
{
    struct retry *r = arg;
    msg *m = try_call(r->server, "one", r->state, "{\"a\":" ACCEPT("w") "}");
    r->won = at(m, "result") != NULL;
    owl_json_doc_free(m);
    return NULL;
}

TEST(of_many_retries_at_once_one_wins, "")
{
    enum { RACERS = 8 };
    owl_server *s = parking(4, 0);
    server_start(s);
    for (int round = 0; round < 5; round++) {
        char *state = state_of(try_call(s, "one", NULL, NULL));
        struct retry r[RACERS];
        pthread_t t[RACERS];
        int won = 0;
        for (int i = 0; i < RACERS; i++) {
            r[i] = (struct retry){s, state, 0};
            assert_int_equal(pthread_create(&t[i], NULL, retry_main, &r[i]), 0);
        }
        for (int i = 0; i < RACERS; i++) {
            pthread_join(t[i], NULL);
            won += r[i].won;
        }
        assert_int_equal(won, 1);
        free(state);
    }
    assert_int_equal(atomic_load(&answers), 5);
    server_end(s);
}

TEST(progress_and_failures_travel_with_the_retry, "")
{
    owl_server *s = parking(2, 0);
    server_start(s);
    struct http h = send_try(s, "tell", NULL, NULL, "\"progressToken\":\"p1\"");
    http_head(&h);
    msg *m = http_next(&h);
    expect_str(m, "params/progressToken", "p1");
    char *state = state_of(http_next(&h));
    http_close(&h);
    h = send_try(s, "tell", state, "{\"a\":" ACCEPT("x") "}", "\"progressToken\":\"p2\"");
    http_head(&h);
    expect_str(http_next(&h), "params/progressToken", "p2");
    expect_str(http_next(&h), "result/content/0/text", "told");
    http_close(&h);
    free(state);

    state = state_of(try_call(s, "fail", NULL, NULL));
    expect_failed(try_call(s, "fail", state, "{\"a\":" ACCEPT("x") "}"), "after the answer");
    free(state);
    server_end(s);
}

TEST(a_client_that_drops_its_retry_cancels_the_call, "")
{
    owl_server *s = parking(4, 0);
    server_start(s);
    for (int i = 1; i <= 4; i++) {
        char *state = state_of(try_call(s, "hang", NULL, NULL));
        struct http h = send_try(s, "hang", state, "{\"a\":" ACCEPT("x") "}", "");
        assert_true(reaches(&answers, i));
        assert_int_equal(atomic_load(&cancelled), i - 1);
        http_close(&h);
        assert_true(reaches(&cancelled, i));
        assert_true(owl_call_cancelled(kept));
        assert_int_equal(owl_call_finish(kept, 0), -OWL_EDONE);
        owl_call_unref(kept);
        expect_int(try_call(s, "hang", state, "{}"), "error/code", -32602);
        free(state);
    }
    server_end(s);
}

TEST(a_parked_call_can_be_finished_by_hand, "")
{
    owl_server *s = parking(2, 0);
    server_start(s);
    char *state = state_of(try_call(s, "hang", NULL, NULL));
    struct http h = send_try(s, "hang", state, "{\"a\":" ACCEPT("x") "}", "");
    assert_true(reaches(&answers, 1));
    owl_result_text(kept, "by hand");
    assert_int_equal(owl_call_finish(kept, 0), 0);
    owl_call_unref(kept);
    http_head(&h);
    expect_str(http_next(&h), "result/content/0/text", "by hand");
    http_close(&h);
    free(state);
    server_end(s);
}

static int ask_and_keep(owl_call *c, void *data)
{
    kept = owl_call_ref(c);
    return ask_one(c, data);
}

TEST(a_parked_call_that_waits_cannot_be_finished, "")
{
    owl_server *s = server_new(2);
    add_tool(s, (owl_tool){.name = "keep", .handler = ask_and_keep, .flags = OWL_PARKED});
    server_start(s);
    char *state = state_of(try_call(s, "keep", NULL, NULL));
    assert_int_equal(owl_call_finish(kept, 0), -OWL_EDONE);
    expect_str(try_call(s, "keep", state, "{\"a\":" ACCEPT("x") "}"), "result/content/1/text",
               "a=x");
    owl_call_unref(kept);
    free(state_of(try_call(s, "keep", NULL, NULL)));
    server_end(s);
    assert_true(owl_call_cancelled(kept));
    assert_int_equal(owl_call_finish(kept, 0), -OWL_EDONE);
    owl_call_unref(kept);
    free(state);
}

TEST(a_server_with_parked_calls_stops_quickly, "")
{
    owl_server *s = parking(4, 0);
    server_start(s);
    for (int i = 0; i < 8; i++)
        free(state_of(try_call(s, "hang", NULL, NULL)));
    int64_t start = now_ms();
    server_end(s);
    assert_true(now_ms() - start < 1500);
    assert_int_equal(atomic_load(&cancelled), 8);
}

/* ---- modern on a pipe ---- */

static msg *pipe_try(struct pipes *p, const char *id, const char *tool, const char *state,
                     const char *responses)
{
    char *params = text_of("\"name\":\"%s\"%s%s%s%s%s", tool, state ? ",\"requestState\":\"" : "",
                           state ? state : "", state ? "\"" : "",
                           responses ? ",\"inputResponses\":" : "", responses ? responses : "");
    char *text = modern_text(id, "tools/call", params, ALL, "");
    pipes_send(p, text);
    free(text);
    free(params);
    return pipes_next(p);
}

TEST(a_retry_may_use_the_id_of_its_request_again, "")
{
    owl_server *s = parking(1, 0);
    struct pipes p = pipes_open(s);
    assert_int_equal(owl_server_start(s, NULL), 0);
    char *one = state_of(pipe_try(&p, "7", "rounds", NULL, NULL));
    char *two = state_of(pipe_try(&p, "7", "rounds", one, "{\"a\":" ACCEPT("1") "}"));
    expect_str(pipe_try(&p, "7", "rounds", two, "{\"c\":" ACCEPT("2") "}"), "result/content/1/text",
               "c=2");
    free(one);
    free(two);
    server_end(s);
    pipes_close(&p);
}

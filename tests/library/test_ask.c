/* Handlers that ask the client and are run again, on every revision and transport. */
#include "base/arena.h"
#include "library/fixture.h"
#include "mcp/state.h"

#define ALL "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}"
#define ACCEPT(name) "{\"action\":\"accept\",\"content\":{\"name\":\"" name "\"}}"
#define SAMPLE \
    "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":\"hi\"}}"

static const unsigned char key[32] = "0123456789abcdef0123456789abcde";
static atomic_int runs, cancelled;
static atomic_int last_rc;

static owl_question form(const char *message)
{
    return (owl_question){
        .size = sizeof(owl_question), .kind = OWL_ASK_FORM, .message = message, .schema = SCHEMA};
}

static const char *name_of(const owl_json *answer)
{
    const char *action = owl_json_get_str(answer, "action", "?");
    return strcmp(action, "accept")
               ? action
               : owl_json_get_str(owl_json_get(answer, "content"), "name", "?");
}

/* One question. */
static int ask_one(owl_call *c, void *data)
{
    (void)data;
    atomic_fetch_add(&runs, 1);
    owl_question q = form("Who?");
    const owl_json *answer = NULL;
    owl_result_text(c, "before");
    int rc = owl_ask(c, "who", &q, &answer);
    if (rc != 0)
        return rc;
    return owl_result_text(c, name_of(answer));
}

/* Three questions of different kinds together. */
static int ask_three(owl_call *c, void *data)
{
    (void)data;
    atomic_fetch_add(&runs, 1);
    owl_question q = form("Who?"),
                 s = {.size = sizeof s,
                      .kind = OWL_ASK_SAMPLING,
                      .message = "Say",
                      .system = "sys"},
                 r = {.size = sizeof r, .kind = OWL_ASK_ROOTS};
    const owl_json *who, *said, *roots;
    int a = owl_ask(c, "who", &q, &who), b = owl_ask(c, "said", &s, &said),
        d = owl_ask(c, "roots", &r, &roots);
    if (a || b || d)
        return a < 0 ? a : b < 0 ? b : d < 0 ? d : OWL_PENDING;
    return owl_result_textf(c, "%s %s %zu", name_of(who),
                            owl_json_get_str(owl_json_get(said, "content"), "text", "?"),
                            owl_json_len(owl_json_get(roots, "roots")));
}

/* Two rounds. */
static int ask_twice(owl_call *c, void *data)
{
    (void)data;
    atomic_fetch_add(&runs, 1);
    const owl_json *one, *two;
    owl_question q = form("First?");
    int rc = owl_ask(c, "one", &q, &one);
    if (rc != 0)
        return rc;
    q = form("Second?");
    rc = owl_ask(c, "two", &q, &two);
    if (rc != 0)
        return rc;
    return owl_result_textf(c, "%s, %s", name_of(one), name_of(two));
}

static int ask_sampling(owl_call *c, void *data)
{
    (void)data;
    owl_question s = {.size = sizeof s, .kind = OWL_ASK_SAMPLING, .message = "Say"};
    const owl_json *said;
    int rc = owl_ask(c, "said", &s, &said);
    return rc ? rc
              : owl_result_text(c, owl_json_get_str(owl_json_get(said, "content"), "text", "?"));
}

static void on_cancel(owl_call *c, void *data)
{
    (void)c;
    (void)data;
    atomic_fetch_add(&cancelled, 1);
}

static int ask_and_listen(owl_call *c, void *data)
{
    owl_call_on_cancel(c, on_cancel, NULL);
    return ask_one(c, data);
}

static owl_server *asking(unsigned reactors, unsigned flags)
{
    owl_server *s = server_with((owl_server_options){.reactors = reactors, .state_key = key});
    static const struct {
        const char *name;
        owl_handler_fn fn;
    } tools[] = {{"one", ask_one},
                 {"three", ask_three},
                 {"twice", ask_twice},
                 {"sample", ask_sampling},
                 {"listen", ask_and_listen}};
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        add_tool(s, (owl_tool){.name = tools[i].name,
                               .input_schema = ANY_ARGUMENTS,
                               .handler = tools[i].fn,
                               .flags = flags});
    return s;
}

/* ---- legacy ---- */

static msg *question(struct http *h, const char *method)
{
    msg *m = http_next(h);
    if (strcmp(str_at(m, "method"), method) != 0)
        fail_msg("not %s: %s", method, json_at(m, ""));
    return m;
}

TEST(a_session_is_asked_on_the_stream_of_its_call, "")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        atomic_store(&runs, 0);
        owl_server *s = asking(2, flags);
        server_start(s);
        struct http h = legacy_open(s, ALL);
        legacy_call(&h, "one", "");
        http_head(&h);
        msg *q = question(&h, "elicitation/create");
        assert_string_equal(str_at(q, "params/message"), "Who?");
        assert_string_equal(json_at(q, "params/requestedSchema"), SCHEMA);
        legacy_answer(&h, q, ACCEPT("Ann"));
        msg *m = http_next(&h);
        assert_int_equal(owl_json_len(at(m, "result/content")), 2); /* of the second run only */
        expect_str(m, "result/content/1/text", "Ann");
        assert_int_equal(atomic_load(&runs), 2);
        http_close(&h);
        server_end(s);
    }
}

TEST(a_session_is_asked_several_things_in_several_rounds, "")
{
    owl_server *s = asking(4, 0);
    server_start(s);
    struct http h = legacy_open(s, ALL);
    legacy_call(&h, "three", "");
    http_head(&h);
    msg *who = question(&h, "elicitation/create"), *said = question(&h, "sampling/createMessage"),
        *roots = question(&h, "roots/list");
    assert_int_equal(int_at(said, "params/maxTokens"), 1000);
    assert_string_equal(str_at(said, "params/systemPrompt"), "sys");
    assert_string_equal(str_at(said, "params/messages/0/content/text"), "Say");
    legacy_answer(&h, roots, "{\"roots\":[{\"uri\":\"file:///\"}]}");
    legacy_answer(&h, said, SAMPLE);
    assert_int_equal(atomic_load(&runs), 1);
    legacy_answer(&h, who, ACCEPT("Bob"));
    expect_str(http_next(&h), "result/content/0/text", "Bob hi 1");
    assert_int_equal(atomic_load(&runs), 2);
    assert_null(http_next(&h));

    legacy_call(&h, "twice", "");
    http_head(&h);
    legacy_answer(&h, question(&h, "elicitation/create"), ACCEPT("x"));
    legacy_answer(&h, question(&h, "elicitation/create"), "{\"action\":\"decline\"}");
    expect_str(http_next(&h), "result/content/0/text", "x, decline");
    assert_int_equal(atomic_load(&runs), 5);
    http_close(&h);
    server_end(s);
}

static void answer_error(struct http *h, msg *q)
{
    char *text = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"error\":{\"code\":-1,"
                         "\"message\":\"no\"}}",
                         str_at(q, "id"));
    legacy_tell(h, text);
    free(text);
    owl_json_doc_free(q);
}

TEST(a_session_that_refuses, "")
{
    owl_server *s = asking(2, 0);
    server_start(s);
    struct http h = legacy_open(s, ALL);
    legacy_call(&h, "sample", "");
    http_head(&h);
    answer_error(&h, question(&h, "sampling/createMessage"));
    expect_failed(http_next(&h), "refused");
    assert_null(http_next(&h));

    legacy_call(&h, "one", ""); /* a form that is closed is an answer */
    http_head(&h);
    answer_error(&h, question(&h, "elicitation/create"));
    expect_str(http_next(&h), "result/content/1/text", "cancel");
    assert_null(http_next(&h));

    legacy_call(&h, "sample", ""); /* an answer without the form of one */
    http_head(&h);
    legacy_answer(&h, question(&h, "sampling/createMessage"), "{\"x\":1}");
    expect_failed(http_next(&h), "has not the form");
    assert_null(http_next(&h));

    legacy_call(&h, "three", ""); /* the questions that are left are withdrawn */
    http_head(&h);
    owl_json_doc_free(question(&h, "elicitation/create"));
    answer_error(&h, question(&h, "sampling/createMessage"));
    owl_json_doc_free(question(&h, "roots/list"));
    for (int i = 0; i < 2; i++)
        owl_json_doc_free(question(&h, "notifications/cancelled"));
    expect_failed(http_next(&h), "refused");
    http_close(&h);
    server_end(s);
}

TEST(who_did_not_declare_a_capability_is_not_asked, "mcp:S11 mcp:L10")
{
    owl_server *s = asking(1, 0);
    server_start(s);
    struct http h = legacy_open(s, "{\"sampling\":{}}");
    legacy_call(&h, "one", "");
    http_head(&h);
    assert_false(h.events);
    expect_failed(http_next(&h), "elicitation");
    http_close(&h);

    h = http_open(s);
    modern_call(&h, "one", "", "{\"roots\":{}}", "");
    assert_int_equal(http_head(&h), 400);
    msg *m = http_next(&h);
    assert_non_null(at(m, "error/data/requiredCapabilities/elicitation"));
    expect_int(m, "error/code", -32021);
    http_close(&h);
    server_end(s);
}

TEST(a_stdio_client_is_asked_on_the_pipe, "")
{
    owl_server *s = asking(1, 0);
    struct pipes p = pipes_open(s);
    assert_int_equal(owl_server_start(s, NULL), 0);
    pipes_initialize(&p, ALL);
    pipes_call(&p, "1", "twice");
    msg *one = pipes_next(&p);
    pipes_call(&p, "2", "one");
    msg *who = pipes_next(&p);
    pipes_answer(&p, who, ACCEPT("Cid"));
    expect_int(pipes_next(&p), "id", 2);
    pipes_answer(&p, one, ACCEPT("1"));
    pipes_answer(&p, pipes_next(&p), ACCEPT("2"));
    expect_str(pipes_next(&p), "result/content/0/text", "1, 2");
    server_end(s);
    pipes_close(&p);
}

#define CANCEL_1 \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}"

TEST(a_call_that_waits_for_an_answer_can_be_cancelled, "")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        atomic_store(&cancelled, 0);
        owl_server *s = asking(2, flags);
        server_start(s);
        struct http h = legacy_open(s, ALL);
        legacy_call(&h, "listen", "");
        http_head(&h);
        msg *q = question(&h, "elicitation/create");
        legacy_tell(&h, CANCEL_1);
        if (!http_ready(&h, 3000))
            fail_msg("not cancelled (flags %u)", flags);
        msg *m = question(&h, "notifications/cancelled");
        assert_string_equal(str_at(m, "params/requestId"), str_at(q, "id"));
        owl_json_doc_free(m);
        assert_null(http_next(&h));
        assert_int_equal(atomic_load(&cancelled), 1);
        legacy_answer(&h, q, ACCEPT("too late"));
        http_close(&h);
        server_end(s);
    }
}

static _Atomic(owl_call *) kept;

static int ask_and_keep(owl_call *c, void *data)
{
    if (!kept)
        kept = owl_call_ref(c);
    return ask_one(c, data);
}

TEST(a_call_that_waits_for_an_answer_cannot_be_finished, "")
{
    owl_server *s = server_new(2);
    add_tool(s, (owl_tool){.name = "keep", .handler = ask_and_keep});
    server_start(s);
    struct http h = legacy_open(s, ALL);
    legacy_call(&h, "keep", "");
    http_head(&h);
    msg *q = question(&h, "elicitation/create");
    assert_int_equal(owl_call_finish(kept, -OWL_EIO), -OWL_EDONE);
    assert_false(owl_call_cancelled(kept));
    legacy_answer(&h, q, ACCEPT("in time"));
    expect_str(http_next(&h), "result/content/1/text", "in time");
    assert_int_equal(owl_call_finish(kept, 0), -OWL_EDONE);
    owl_call_unref(kept);
    http_close(&h);
    server_end(s);
}

/* ---- modern ---- */

/* Sends tools/call with answers and state; the response. */
static msg *try_call(owl_server *s, const char *tool, const char *args, const char *state,
                     const char *responses)
{
    struct http h = http_open(s);
    char *more = text_of("\"arguments\":%s%s%s%s%s%s", args, state ? ",\"requestState\":\"" : "",
                         state ? state : "", state ? "\"" : "",
                         responses ? ",\"inputResponses\":" : "", responses ? responses : "");
    modern_call(&h, tool, more, ALL, "");
    free(more);
    http_head(&h);
    msg *m = http_next(&h);
    assert_false(h.events);
    http_close(&h);
    return m;
}

TEST(a_modern_client_is_asked_and_comes_back, "")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        atomic_store(&runs, 0);
        owl_server *s = asking(4, flags);
        server_start(s);
        msg *m = try_call(s, "one", "{}", NULL, NULL);
        assert_string_equal(str_at(m, "result/inputRequests/who/method"), "elicitation/create");
        assert_string_equal(str_at(m, "result/inputRequests/who/params/message"), "Who?");
        assert_null(at(m, "result/content"));
        char *state = state_of(m);
        m = try_call(s, "one", "{}", state, "{\"who\":" ACCEPT("Dot") "}");
        assert_string_equal(str_at(m, "result/resultType"), "complete");
        expect_str(m, "result/content/1/text", "Dot");
        assert_int_equal(atomic_load(&runs), 2);
        free(state);
        server_end(s);
    }
}

TEST(several_questions_travel_together_and_missing_ones_again, "")
{
    owl_server *s = asking(2, 0);
    server_start(s);
    msg *m = try_call(s, "three", "{}", NULL, NULL);
    assert_int_equal(owl_json_len(at(m, "result/inputRequests")), 3);
    char *state = state_of(m);
    m = try_call(s, "three", "{}", state, "{\"said\":" SAMPLE ",\"roots\":7}");
    assert_int_equal(owl_json_len(at(m, "result/inputRequests")), 2);
    assert_null(at(m, "result/inputRequests/said"));
    free(state);
    state = state_of(m);
    m = try_call(s, "three", "{}", state,
                 "{\"who\":{\"action\":\"cancel\"},\"roots\":{\"roots\":[]}}");
    expect_str(m, "result/content/0/text", "cancel hi 0");
    free(state);
    server_end(s);
}

TEST(the_answers_of_one_round_reach_another_server_with_the_same_key, "")
{
    owl_server *a = asking(2, 0), *b = asking(1, 0);
    server_start(a);
    server_start(b);
    msg *m = try_call(a, "twice", "{\"k\": [1, 2],\"m\":\"x/\"}", NULL, NULL);
    char *state = state_of(m);
    /* A proxy may spell the arguments as it likes. */
    m = try_call(b, "twice", "{\"\\u006d\":\"\\u0078\\/\",\"k\":[1.0,20e-1]}", state,
                 "{\"one\":" ACCEPT("x") "}");
    assert_string_equal(str_at(m, "result/inputRequests/two/params/message"), "Second?");
    free(state);
    state = state_of(m);
    expect_int(try_call(a, "twice", "{\"k\":[2,1],\"m\":\"x/\"}", state, "{}"), "error/code",
               -32602);
    m = try_call(a, "twice", "{\"m\":\"x/\",\"k\":[1,2]}", state, "{\"two\":" ACCEPT("y") "}");
    expect_str(m, "result/content/0/text", "x, y");
    assert_int_equal(atomic_load(&runs), 3);
    free(state);
    server_end(a);
    server_end(b);
}

/* A state as the server makes it, for a call of "one" without arguments, with that time to live. */
static char *sealed(const void *secret, const char *payload, uint64_t ttl_ms)
{
    struct owl_state_key k;
    struct owl_buf b;
    struct owl_state_bind bind = {.principal = OWL_STR(""),
                                  .method = OWL_STR("tools/call"),
                                  .name = OWL_STR("one"),
                                  .args = OWL_STR("{}")};
    assert_int_equal(owl_state_key_init(&k, secret), 0);
    owl_buf_init(&b, 1 << 16);
    assert_int_equal(owl_state_seal(&k, &bind, owl_str_of(payload), ttl_ms, &b), 0);
    char *text = text_of("%.*s", (int)b.n, b.p);
    owl_buf_done(&b);
    return text;
}

static void refused(owl_server *s, const char *tool, const char *args, const char *state)
{
    int before = atomic_load(&runs);
    expect_int(try_call(s, tool, args, state, "{\"who\":" ACCEPT("z") "}"), "error/code", -32602);
    assert_int_equal(atomic_load(&runs), before);
}

TEST(a_state_that_is_not_ours_is_refused, "")
{
    static const unsigned char other[32] = {1};
    owl_server *s = asking(1, 0);
    server_start(s);
    char *good = sealed(key, "{\"answers\":{\"who\":" ACCEPT("from the state") "}}", 60000);
    expect_str(try_call(s, "one", "{}", good, NULL), "result/content/1/text", "from the state");
    refused(s, "one", "{\"x\":1}", good); /* other arguments */
    refused(s, "twice", "{}", good);      /* another tool */
    for (size_t i = 0; i < strlen(good); i += 7) {
        good[i] = good[i] == 'A' ? 'B' : 'A';
        refused(s, "one", "{}", good);
        free(good);
        good = sealed(key, "{\"answers\":{}}", 60000);
    }
    good[strlen(good) / 2] = '\0';
    refused(s, "one", "{}", good);
    refused(s, "one", "{}", "");
    refused(s, "one", "{}", "no state at all");
    free(good);
    char *foreign = sealed(other, "{\"answers\":{}}", 60000);
    refused(s, "one", "{}", foreign);
    char *old = sealed(key, "{\"answers\":{}}", 1);
    pause_ms(20);
    refused(s, "one", "{}", old);
    free(foreign);
    free(old);
    struct http h = http_open(s);
    modern_call(&h, "one", "\"arguments\":{},\"requestState\":5", ALL, "");
    http_head(&h);
    expect_int(http_next(&h), "error/code", -32602);
    http_close(&h);
    server_end(s);
}

static int draft_then_ask(owl_call *c, void *data)
{
    (void)data;
    if (atomic_fetch_add(&runs, 1) == 0)
        owl_result_raw(c, "{\"draft\":true}", OWL_NTS);
    owl_question q = form("Who?");
    const owl_json *answer;
    int rc = owl_ask(c, "who", &q, &answer);
    return rc ? rc : owl_result_text(c, name_of(answer));
}

TEST(a_raw_draft_does_not_survive_the_question, "")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "t", .handler = draft_then_ask});
    server_start(s);
    struct http h = legacy_open(s, ALL);
    legacy_call(&h, "t", "");
    http_head(&h);
    legacy_answer(&h, question(&h, "elicitation/create"), ACCEPT("E"));
    expect_str(http_next(&h), "result/content/0/text", "E");
    http_close(&h);
    atomic_store(&runs, 0);
    msg *m = try_call(s, "t", "{}", NULL, NULL);
    assert_null(at(m, "result/draft"));
    free(state_of(m));
    server_end(s);
}

/* ---- prompts, resources, and who may not ask ---- */

static int may_not_ask(owl_call *c, void *data)
{
    (void)data;
    owl_question q = form("?");
    const owl_json *answer;
    atomic_store(&last_rc, owl_ask(c, "k", &q, &answer));
    return owl_call_complete_name(c) ? owl_result_completion(c, "v") : owl_result_raw(c, "{}", 2);
}

static int ask_async_here(owl_call *c, void *data)
{
    (void)data;
    owl_question q = form("?");
    atomic_store(&last_rc, owl_ask_async(c, "k", &q, NULL, NULL));
    return 0;
}

static int no_fn(owl_call *c, const owl_json *a, void *data)
{
    (void)c;
    (void)a;
    (void)data;
    return 0;
}

static int ask_async_unparked(owl_call *c, void *data)
{
    (void)data;
    owl_question q = form("?");
    atomic_store(&last_rc, owl_ask_async(c, "k", &q, no_fn, NULL));
    return 0;
}

TEST(prompts_and_resources_may_ask_others_may_not, "mcp:S10")
{
    owl_server *s = server_new(1);
    owl_method_def own = {.size = sizeof own, .name = "own/method", .handler = may_not_ask};
    add_prompt(s, (owl_prompt){.name = "p", .handler = ask_one, .complete = may_not_ask});
    add_resource(s, (owl_resource){.uri = "x:y", .name = "n", .handler = ask_one});
    add_tool(s, (owl_tool){.name = "parked", .handler = may_not_ask, .flags = OWL_PARKED});
    add_tool(s, (owl_tool){.name = "null", .handler = ask_async_here, .flags = OWL_PARKED});
    add_tool(s, (owl_tool){.name = "plain", .handler = ask_async_unparked});
    assert_int_equal(owl_server_add_method(s, &own, NULL), 0);
    server_start(s);
    struct http h = legacy_open(s, ALL);
    const char *const requests[] = {
        legacy_text("1", "prompts/get", "\"name\":\"p\""),
        legacy_text("1", "resources/read", "\"uri\":\"x:y\""),
    };
    const char *const paths[] = {"result/messages/1/content/text", "result/contents/1/text"};
    for (int i = 0; i < 2; i++) {
        legacy_send(&h, requests[i]);
        http_head(&h);
        legacy_answer(&h, question(&h, "elicitation/create"), ACCEPT("F"));
        expect_str(http_next(&h), paths[i], "F");
        assert_null(http_next(&h));
        free((void *)(uintptr_t)requests[i]);
    }
    static const struct {
        const char *method, *params;
        int rc;
    } others[] = {
        {"completion/complete",
         "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"a\",\"value\":"
         "\"\"}",
         -OWL_ESTATE},
        {"own/method", "", -OWL_ESTATE},
        {"tools/call", "\"name\":\"parked\"", -OWL_ESTATE},
        {"tools/call", "\"name\":\"null\"", -OWL_EINVAL},
        {"tools/call", "\"name\":\"plain\"", -OWL_ESTATE},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        atomic_store(&last_rc, 1);
        char *text = legacy_text("1", others[i].method, others[i].params);
        legacy_send(&h, text);
        free(text);
        http_head(&h);
        msg *m = http_next(&h);
        assert_non_null(at(m, "result"));
        owl_json_doc_free(m);
        assert_int_equal(atomic_load(&last_rc), others[i].rc);
    }
    http_close(&h);
    server_end(s);
}

/* ---- limits ---- */

static int ask_for_ever(owl_call *c, void *data)
{
    (void)data;
    char k[16];
    const owl_json *answer;
    owl_question q = form("?");
    for (int i = 0;; i++) {
        snprintf(k, sizeof k, "%d", i);
        int rc = owl_ask(c, k, &q, &answer);
        if (rc != 0)
            return rc;
    }
}

TEST(rounds_are_limited, "")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "t", .handler = ask_for_ever});
    struct pipes p = pipes_open(s);
    assert_int_equal(owl_server_start(s, NULL), 0);
    pipes_initialize(&p, ALL);
    pipes_call(&p, "1", "t");
    msg *m = pipes_next(&p);
    int n = 0;
    for (; at(m, "method") && n < 100; n++) {
        pipes_answer(&p, m, ACCEPT("again"));
        m = pipes_next(&p);
    }
    assert_int_equal(n, 32);
    expect_failed(m, "asked 32 times");
    server_end(s);
    pipes_close(&p);
}

TEST(the_time_that_the_client_takes_does_not_count, "")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "t", .handler = ask_one, .timeout_ms = 60});
    server_start(s);
    struct http h = legacy_open(s, ALL);
    legacy_call(&h, "t", "");
    http_head(&h);
    msg *q = question(&h, "elicitation/create");
    pause_ms(150);
    legacy_answer(&h, q, ACCEPT("slow"));
    expect_str(http_next(&h), "result/content/1/text", "slow");
    http_close(&h);
    server_end(s);
}

/* ---- what answers hold ---- */

/* Three questions to a client, of which the first is answered with 30 KB. */
static struct http answer_largely(owl_server *s, msg **ret_said, msg **ret_roots)
{
    struct http h = legacy_open(s, ALL);
    legacy_call(&h, "three", "");
    http_head(&h);
    msg *who = question(&h, "elicitation/create");
    *ret_said = question(&h, "sampling/createMessage");
    *ret_roots = question(&h, "roots/list");
    char *large = text_of("{\"action\":\"accept\",\"content\":{\"name\":\"%030000d\"}}", 1);
    legacy_answer(&h, who, large);
    free(large);
    return h;
}

static void expect_three(struct http *h, msg *said, msg *roots)
{
    legacy_answer(h, said, SAMPLE);
    legacy_answer(h, roots, "{\"roots\":[]}");
    msg *m = http_next(h);
    assert_int_equal(strlen(str_at(m, "result/content/0/text")), 30000 + strlen(" hi 0"));
    owl_json_doc_free(m);
    http_close(h);
}

TEST(answers_of_calls_that_wait_for_others_are_bounded_together, "")
{
    owl_limits limits = {.size = sizeof limits, .input_total_bytes = 65536};
    owl_server *s = server_with((owl_server_options){.reactors = 1, .limits = &limits});
    add_tool(s, (owl_tool){.name = "three", .handler = ask_three});
    add_tool(s, (owl_tool){.name = "one", .handler = ask_one});
    server_start(s);
    msg *said, *roots;
    struct http first = answer_largely(s, &said, &roots), other;
    msg *unsaid, *no_roots;
    other = answer_largely(s, &unsaid, &no_roots);
    owl_json_doc_free(unsaid);
    owl_json_doc_free(no_roots);
    for (int i = 0; i < 2; i++) /* nobody needs the others any more */
        owl_json_doc_free(question(&other, "notifications/cancelled"));
    expect_int(http_next(&other), "error/code", -32603);
    http_close(&other);
    other = legacy_open(s, ALL); /* small ones are always taken */
    legacy_call(&other, "one", "");
    http_head(&other);
    legacy_answer(&other, question(&other, "elicitation/create"), ACCEPT("Ann"));
    expect_str(http_next(&other), "result/content/1/text", "Ann");
    http_close(&other);
    expect_three(&first, said, roots); /* what had been taken was not lost … */
    other = answer_largely(s, &said, &roots);
    expect_three(&other, said, roots); /* … and its room is free again */
    server_end(s);
}

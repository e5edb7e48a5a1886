/* How a call ends: by its handler, by another thread, by its client, by its deadline, with its
 * server. */
#include "library/fixture.h"

static atomic_int entered, cancelled, freed;
static _Atomic(owl_call *) kept[64];
static atomic_int n_kept;

static void keep(owl_call *c)
{
    kept[atomic_fetch_add(&n_kept, 1)] = owl_call_ref(c);
}

static int return_0(owl_call *c, void *data)
{
    (void)data;
    return owl_result_text(c, "done");
}

/* Keeps the call; the test ends it. */
static int later(owl_call *c, void *data)
{
    (void)data;
    keep(c);
    atomic_fetch_add(&entered, 1);
    return OWL_LATER;
}

static owl_server *serving(owl_handler_fn handler, unsigned flags)
{
    owl_server *s = server_new(2);
    add_tool(
        s,
        (owl_tool){.name = "t", .input_schema = ANY_ARGUMENTS, .handler = handler, .flags = flags});
    add_tool(s, (owl_tool){.name = "ok", .handler = return_0, .flags = OWL_INLINE});
    return s;
}

/* ---- return values ---- */

static int give_back(owl_call *c, void *data)
{
    (void)data;
    return (int)owl_json_get_int(owl_call_args(c), "rc", 0);
}

static msg *give(owl_server *s, int rc)
{
    char *params = text_of("\"name\":\"t\",\"arguments\":{\"rc\":%d}", rc);
    msg *m = modern(s, "tools/call", "t", params);
    free(params);
    return m;
}

TEST(a_handler_ends_its_call_with_what_it_returns, "")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        owl_server *s = serving(give_back, flags);
        server_start(s);
        msg *m = give(s, 0);
        assert_string_equal(json_at(m, "result/content"), "[]");
        owl_json_doc_free(m);
        expect_failed(give(s, -OWL_ETOOL), "the tool failed");
        expect_failed(give(s, -OWL_EIO), "input/output error");
        /* None of ours, or about messages that it has read itself. */
        static const int its_own[] = {-12345,
                                      -1,
                                      INT32_MIN,
                                      -OWL_EINTERNAL,
                                      -OWL_EDONE,
                                      -OWL_EPARSE,
                                      -OWL_EREQUEST,
                                      -OWL_ENOMETHOD,
                                      -OWL_EVERSION,
                                      -OWL_EHEADER,
                                      0};
        for (const int *rc = its_own; *rc != 0; rc++)
            expect_failed(give(s, *rc), "the tool failed");
        expect_failed(give(s, INT32_MAX), "returned 2147483647");
        expect_failed(give(s, 77), "returned 77");
        expect_failed(give(s, OWL_PENDING), "did not ask");
        server_end(s);
    }
}

static int fail_with_text(owl_call *c, void *data)
{
    (void)data;
    owl_result_text(c, "dropped");
    owl_call_fail(c, "no %s\xff", "luck");
    owl_call_fail(c, "second");
    return 0; /* it failed all the same */
}

static int fail_with_code(owl_call *c, void *data)
{
    (void)data;
    return owl_call_error(c, -31000, "{\"n\":1}", "bad %d", 7);
}

static int fail_twice(owl_call *c, void *data)
{
    (void)data;
    owl_call_error(c, -31000, "{\"n\":1}", "first");
    return owl_call_error(c, -31001, "{\"n\":2}", "second");
}

TEST(a_failure_says_why, "")
{
    owl_server *s = serving(fail_with_text, 0);
    add_tool(s, (owl_tool){.name = "code", .handler = fail_with_code});
    add_tool(s, (owl_tool){.name = "twice", .handler = fail_twice});
    add_prompt(s, (owl_prompt){.name = "p", .handler = fail_with_text});
    server_start(s);
    msg *m = call(s, "t");
    assert_string_equal(str_at(m, "result/content/0/text"), "no luck\xef\xbf\xbd");
    assert_int_equal(owl_json_len(at(m, "result/content")), 1);
    expect_failed(m, "no luck");
    m = call(s, "code");
    assert_int_equal(int_at(m, "error/code"), -31000);
    assert_int_equal(int_at(m, "error/data/n"), 1);
    expect_str(m, "error/message", "bad 7");
    m = call(s, "twice"); /* the first failure counts, with its own data */
    assert_int_equal(int_at(m, "error/code"), -31000);
    assert_string_equal(str_at(m, "error/message"), "first");
    expect_int(m, "error/data/n", 1);
    m = modern(s, "prompts/get", "p", "\"name\":\"p\"");
    expect_str(m, "error/message", "no luck\xef\xbf\xbd");
    server_end(s);
}

static int fill(owl_call *c, void *data)
{
    (void)data;
    char text[1000];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 100; i++)
        owl_result_textn(c, text, sizeof text);
    return 0;
}

TEST(a_result_that_is_too_big_is_a_clean_failure, "")
{
    owl_limits limits = OWL_LIMITS;
    limits.result_bytes = 50000;
    owl_server *s = server_with((owl_server_options){.reactors = 1, .limits = &limits});
    char *text = malloc(60001);
    memset(text, 'y', 60000);
    text[60000] = '\0';
    add_tool(s, (owl_tool){.name = "t", .handler = fill});
    add_tool(s, (owl_tool){.name = "i", .handler = fill, .flags = OWL_INLINE});
    add_resource(s, (owl_resource){.uri = "x:y", .name = "n", .text = text});
    add_resource(s, (owl_resource){.uri = "x:z", .name = "n", .handler = fill});
    add_prompt(s, (owl_prompt){.name = "p", .handler = fill});
    server_start(s);
    expect_failed(call(s, "t"), "a limit was exceeded");
    expect_failed(call(s, "i"), "a limit was exceeded");
    expect_int(modern(s, "resources/read", "x:y", "\"uri\":\"x:y\""), "error/code", -32603);
    expect_int(modern(s, "resources/read", "x:z", "\"uri\":\"x:z\""), "error/code", -32603);
    expect_int(modern(s, "prompts/get", "p", "\"name\":\"p\""), "error/code", -32603);
    free(text);
    server_end(s);
}

static int odd_meta(owl_call *c, void *data)
{
    return owl_result_raw(c, data, OWL_NTS);
}

TEST(what_a_handler_builds_is_no_fault_of_the_request, "")
{
    owl_server *s = server_new(1);
    static char broken[] = "{oops";
    add_resource(s, (owl_resource){.uri = "x:y", .name = "n", .handler = odd_meta, .data = broken});
    owl_method_def own = {
        .size = sizeof own, .name = "own/method", .handler = odd_meta, .data = broken};
    assert_int_equal(owl_server_add_method(s, &own, NULL), 0);
    server_start(s);
    expect_int(modern(s, "own/method", "", ""), "error/code", -32603);
    expect_int(modern(s, "resources/read", "x:y", "\"uri\":\"x:y\""), "error/code", -32603);
    server_end(s);
}

TEST(a_raw_result_never_makes_keys_twice, "")
{
    char number[] = "{\"content\":[],\"_meta\":5}";
    char info[] = "{\"content\":[],\"_meta\":{\"io.modelcontextprotocol/serverInfo\":1}}";
    char ttl[] = "{\"contents\":[],\"ttlMs\":7,\"cacheScope\":\"private\"}";
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "number", .handler = odd_meta, .data = number});
    add_tool(s, (owl_tool){.name = "info", .handler = odd_meta, .data = info});
    add_resource(s, (owl_resource){.uri = "x:y", .name = "n", .handler = odd_meta, .data = ttl});
    server_start(s);
    /* every message is parsed strictly */
    expect_failed(call(s, "number"), "invalid argument"); /* _meta is an object */
    expect_str(call(s, "info"), "result/resultType", "complete");
    expect_str(modern(s, "resources/read", "x:y", "\"uri\":\"x:y\""), "result/resultType",
               "complete");
    server_end(s);
}

/* ---- OWL_LATER ---- */

static void *finish_from_thread(void *arg)
{
    owl_call *c = arg;
    owl_result_text(c, "from afar");
    assert_int_equal(owl_call_finish(c, 0), 0);
    owl_call_unref(c);
    return NULL;
}

/* Hands over to a thread, and returns before or after the thread has finished the call. */
static int hand_over(owl_call *c, void *data)
{
    pthread_t t;
    owl_call_ref(c);
    if (pthread_create(&t, NULL, finish_from_thread, c) != 0)
        return -OWL_EIO;
    if (data)
        pthread_join(t, NULL);
    else
        pthread_detach(t);
    return OWL_LATER;
}

TEST(another_thread_finishes_before_or_after_the_handler_has_returned, "")
{
    static char wait;
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        owl_server *s = server_new(2);
        add_tool(s, (owl_tool){.name = "after", .handler = hand_over, .flags = flags});
        add_tool(s,
                 (owl_tool){.name = "before", .handler = hand_over, .data = &wait, .flags = flags});
        server_start(s);
        for (int i = 0; i < 20; i++) {
            expect_str(call(s, "after"), "result/content/0/text", "from afar");
            expect_str(call(s, "before"), "result/content/0/text", "from afar");
        }
        server_end(s);
    }
}

/* Finishes by hand; what it returns is ignored. */
static int by_hand(owl_call *c, void *data)
{
    (void)data;
    owl_result_text(c, "by hand");
    if (owl_call_finish(c, OWL_LATER) != -OWL_EINVAL || owl_call_finish(c, 0) != 0 ||
        owl_call_finish(c, 0) != -OWL_EDONE || owl_call_finish(c, -OWL_EIO) != -OWL_EDONE)
        abort();
    return -OWL_ETOOL;
}

TEST(a_call_is_finished_once, "")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        owl_server *s = serving(by_hand, flags);
        server_start(s);
        expect_str(call(s, "t"), "result/content/0/text", "by hand");
        server_end(s);
    }
}

TEST(a_status_of_owl_call_finish_counts_like_one_that_is_returned, "")
{
    static const struct {
        int status;
        const char *text;
    } cases[] = {{-OWL_EIO, "input"}, {99, "returned 99"}, {OWL_PENDING, "did not ask"}};
    owl_server *s = serving(later, 0);
    server_start(s);
    for (int i = 0; i < 3; i++) {
        struct http h = http_open(s);
        modern_call(&h, "t", "", "{}", "");
        assert_true(reaches(&entered, i + 1));
        assert_int_equal(owl_call_finish(kept[i], cases[i].status), 0);
        owl_call_unref(kept[i]);
        http_head(&h);
        expect_failed(http_next(&h), cases[i].text);
        http_close(&h);
    }
    server_end(s);
}

static void count_freed(void *data)
{
    (void)data;
    atomic_fetch_add(&freed, 1);
}

static void *unref_from_thread(void *arg)
{
    owl_call_unref(arg);
    return NULL;
}

TEST(a_call_may_be_kept_beyond_its_server, "")
{
    owl_server *s = server_new(2);
    static char data;
    add_tool(s, (owl_tool){.name = "t",
                           .input_schema = ANY_ARGUMENTS,
                           .handler = later,
                           .data = &data,
                           .free_data = count_freed});
    add_tool(s, (owl_tool){.name = "over", .handler = later, .flags = OWL_INLINE});
    server_start(s);
    struct http h = http_open(s), g = http_open(s);
    modern_call(&h, "t", "\"arguments\":{\"k\":\"v\"}", "{}", "");
    assert_true(reaches(&entered, 1));
    modern_call(&g, "over", "", "{}", "");
    assert_true(reaches(&entered, 2));
    assert_int_equal(owl_call_finish(kept[1], 0), 0);
    http_head(&g);
    owl_json_doc_free(http_next(&g));
    http_close(&h); /* a modern client cancels by hanging up */
    http_close(&g);
    while (!owl_call_cancelled(kept[0]))
        pause_ms(1);
    server_end(s);
    assert_int_equal(atomic_load(&freed), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(owl_call_finish(kept[i], 0), -OWL_EDONE);
        assert_int_equal(owl_result_text(kept[i], "late"), -OWL_EDONE);
        assert_int_equal(owl_result_structured(kept[i], "{}", OWL_NTS), -OWL_EDONE);
        assert_int_equal(owl_result_raw(kept[i], "{}", OWL_NTS), -OWL_EDONE);
        assert_int_equal(owl_call_progress(kept[i], 1, 0, NULL), -OWL_EDONE);
        owl_call_logf(kept[i], OWL_LEVEL_EMERGENCY, NULL, "late");
        owl_call_unref(owl_call_ref(kept[i]));
    }
    assert_string_equal(owl_json_get_str(owl_call_args(kept[0]), "k", ""), "v");
    assert_string_equal(owl_call_name(kept[0]), "t");
    pthread_t t;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&t, NULL, unref_from_thread, kept[i]), 0);
        pthread_join(t, NULL);
    }
    assert_int_equal(atomic_load(&freed), 1);
}

static void count_cancelled(owl_call *c, void *data)
{
    (void)c;
    (void)data;
    atomic_fetch_add(&cancelled, 1);
}

static int later_and_listen(owl_call *c, void *data)
{
    if (owl_call_on_cancel(c, count_cancelled, NULL) != 0 ||
        owl_call_on_cancel(c, count_cancelled, NULL) != -OWL_EEXISTS)
        abort();
    return later(c, data);
}

/* What holds for a call that was ended from outside. */
static void is_over(owl_call *c)
{
    assert_true(owl_call_cancelled(c));
    assert_int_equal(owl_call_finish(c, 0), -OWL_EDONE);
    assert_int_equal(owl_call_progress(c, 5, 0, NULL), -OWL_EDONE);
    owl_call_unref(c);
}

TEST(a_client_that_hangs_up_cancels_a_modern_call, "")
{
    owl_server *s = serving(later_and_listen, 0);
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "t", "", "{}", "");
    assert_true(reaches(&entered, 1));
    assert_int_equal(atomic_load(&cancelled), 0);
    http_close(&h);
    assert_true(reaches(&cancelled, 1));
    is_over(kept[0]);
    server_end(s);
    assert_int_equal(atomic_load(&cancelled), 1);
}

TEST(a_notification_cancels_a_call_of_its_own_session_only, "")
{
    static const char cancel[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}";
    owl_server *s = serving(later_and_listen, 0);
    server_start(s);
    struct http a = legacy_open(s, "{}"), b = legacy_open(s, "{}");
    legacy_call(&a, "t", "");
    assert_true(reaches(&entered, 1));
    legacy_tell(&b, cancel);
    pause_ms(50);
    assert_int_equal(atomic_load(&cancelled), 0);
    legacy_tell(&a, cancel);
    assert_true(reaches(&cancelled, 1));
    is_over(kept[0]);
    http_head(&a);
    assert_null(http_next(&a)); /* no answer */
    http_close(&a);
    http_close(&b);
    server_end(s);
    assert_int_equal(atomic_load(&cancelled), 1);
}

TEST(a_tool_that_takes_too_long_is_ended_at_its_deadline, "OD-7.3.6")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "t", .handler = later_and_listen, .timeout_ms = 50});
    add_tool(s,
             (owl_tool){
                 .name = "i", .handler = later_and_listen, .timeout_ms = 50, .flags = OWL_INLINE});
    server_start(s);
    int64_t start = now_ms();
    expect_failed(call(s, "t"), "took too long");
    assert_in_range(now_ms() - start, 45, 3000);
    assert_int_equal(owl_call_remaining_ms(kept[0]), 0);
    is_over(kept[0]);
    expect_failed(call(s, "i"), "took too long");
    is_over(kept[1]);
    server_end(s);
    assert_int_equal(atomic_load(&cancelled), 2);
}

static atomic_llong remaining;

static int tell_remaining(owl_call *c, void *data)
{
    (void)data;
    remaining = owl_call_remaining_ms(c);
    return 0;
}

TEST(a_handler_knows_how_long_it_has, "")
{
    owl_server *s = server_with((owl_server_options){.reactors = 1, .timeout_ms = 5000});
    add_tool(s, (owl_tool){.name = "short", .handler = tell_remaining, .timeout_ms = 1000});
    add_tool(s, (owl_tool){.name = "default", .handler = tell_remaining});
    server_start(s);
    owl_json_doc_free(call(s, "short"));
    assert_in_range(remaining, 1, 1000);
    owl_json_doc_free(call(s, "default"));
    assert_in_range(remaining, 1001, 5000);
    server_end(s);
}

/* Registers only after the call was ended. */
static int register_late(owl_call *c, void *data)
{
    (void)data;
    atomic_fetch_add(&entered, 1);
    while (!owl_call_cancelled(c))
        pause_ms(1);
    if (owl_call_on_cancel(c, count_cancelled, NULL) != 0)
        abort();
    atomic_fetch_add(&entered, 1);
    return owl_result_text(c, "nobody reads this");
}

/* Takes its function back before the call is ended. */
static int register_and_unset(owl_call *c, void *data)
{
    if (owl_call_on_cancel(c, count_cancelled, NULL) != 0 || owl_call_on_cancel(c, NULL, NULL) != 0)
        abort();
    return later(c, data);
}

TEST(a_function_that_was_unset_is_not_called, "")
{
    owl_server *s = serving(register_and_unset, 0);
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "t", "", "{}", "");
    assert_true(reaches(&entered, 1));
    http_close(&h);
    for (int i = 0; i < WAIT_MS && !owl_call_cancelled(kept[0]); i++)
        pause_ms(1);
    is_over(kept[0]);
    server_end(s);
    assert_int_equal(atomic_load(&cancelled), 0);
}

TEST(a_cancellation_that_has_happened_is_told_at_once, "")
{
    owl_server *s = serving(register_late, 0);
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "t", "", "{}", "");
    assert_true(reaches(&entered, 1));
    http_close(&h);
    assert_true(reaches(&entered, 2));
    assert_int_equal(atomic_load(&cancelled), 1);
    server_end(s);
}

TEST(a_server_that_stops_answers_what_still_runs, "")
{
    owl_server *s = serving(later_and_listen, 0);
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "t", "", "{}", "");
    assert_true(reaches(&entered, 1));
    int64_t start = now_ms();
    owl_server_stop(s);
    assert_int_equal(owl_server_join(s), 0);
    assert_in_range(now_ms() - start, 3500, 7000);
    http_head(&h);
    msg *m = http_next(&h);
    assert_true(owl_json_bool(at(m, "error/data/retryable"), false));
    expect_int(m, "error/code", -32603);
    assert_int_equal(atomic_load(&cancelled), 1);
    http_close(&h);
    is_over(kept[0]);
    owl_server_free(s);
}

TEST(a_call_that_ends_while_the_server_stops_is_answered, "")
{
    owl_server *s = serving(later, 0);
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "t", "", "{}", "");
    assert_true(reaches(&entered, 1));
    int64_t start = now_ms();
    owl_server_stop(s);
    pause_ms(20);
    owl_result_text(kept[0], "in time");
    assert_int_equal(owl_call_finish(kept[0], 0), 0);
    owl_call_unref(kept[0]);
    assert_int_equal(owl_server_join(s), 0);
    assert_true(now_ms() - start < 3000);
    http_head(&h);
    expect_str(http_next(&h), "result/content/0/text", "in time");
    http_close(&h);
    owl_server_free(s);
}

/* ---- ids in use ---- */

TEST(an_id_in_use_is_refused_and_harms_nobody, "")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "t", .handler = later});
    add_tool(s, (owl_tool){.name = "hand", .handler = by_hand, .flags = OWL_INLINE});
    add_tool(s, (owl_tool){.name = "over", .handler = hand_over, .flags = OWL_INLINE});
    struct pipes p = pipes_open(s);
    assert_int_equal(owl_server_start(s, NULL), 0);
    pipes_initialize(&p, "{}");
    pipes_call(&p, "1", "t");
    assert_true(reaches(&entered, 1));
    pipes_call(&p, "1", "t");
    expect_int(pipes_next(&p), "error/code", -32600);
    /* Inline handlers have run when the id turns out to be in use: they go on. */
    pipes_call(&p, "1", "hand");
    msg *m = pipes_next(&p);
    assert_int_equal(int_at(m, "id"), 1);
    owl_json_doc_free(m);
    pipes_call(&p, "1", "over");
    owl_json_doc_free(pipes_next(&p));
    pipes_call(&p, "2", "hand");
    expect_str(pipes_next(&p), "result/content/0/text", "by hand");
    assert_int_equal(owl_call_finish(kept[0], 0), 0);
    expect_int(pipes_next(&p), "id", 1);
    owl_call_unref(kept[0]);
    server_end(s);
    pipes_close(&p);
}

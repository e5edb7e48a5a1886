/* What a call tells its client while it runs: progress and log. */
#include "library/fixture.h"

static owl_server *serving(owl_handler_fn handler, unsigned flags)
{
    owl_server *s = server_new(2);
    add_tool(s, (owl_tool){.name = "t", .handler = handler, .flags = flags});
    return s;
}

/* ---- progress ---- */

static int progress_values(owl_call *c, void *data)
{
    (void)data;
    int bad = owl_call_progress(c, 0, 0, NULL);
    bad |= owl_call_progress(c, 1, 10, "one \xff");
    bad |= owl_call_progress(c, 1, 10, "again");
    bad |= owl_call_progress(c, 0.5, 10, "back");
    bad |= owl_call_progress(c, 2.5, 0, NULL);
    if (owl_call_progress(c, 0.0 / 0.0, 0, NULL) != -OWL_EINVAL ||
        owl_call_progress(c, 3, 1.0 / 0.0, NULL) != -OWL_EINVAL)
        return -OWL_ETOOL;
    return bad;
}

TEST(progress_is_told_in_order_and_only_if_it_grows, "OR-3.5 mcp:B10")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        owl_server *s = serving(progress_values, flags);
        server_start(s);
        struct http h = http_open(s);
        modern_call(&h, "t", "", "{}", "\"progressToken\":\"tok\"");
        http_head(&h);
        assert_true(h.events);
        msg *m = http_next(&h);
        assert_string_equal(json_at(m, "params"), "{\"progressToken\":\"tok\",\"progress\":0}");
        expect_str(m, "method", "notifications/progress");
        m = http_next(&h);
        expect_str(m, "params/message", "one \xef\xbf\xbd");
        m = http_next(&h);
        assert_string_equal(json_at(m, "params"), "{\"progressToken\":\"tok\",\"progress\":2.5}");
        owl_json_doc_free(m);
        m = http_next(&h);
        assert_false(owl_json_bool(at(m, "result/isError"), false));
        owl_json_doc_free(m);
        assert_null(http_next(&h));
        http_close(&h);
        expect_int(call(s, "t"), "id", 1); /* nobody wants to know: fine */
        server_end(s);
    }
}

enum { REPORTERS = 4, REPORTS = 200 };
static atomic_int next_report;

static void *report(void *arg)
{
    for (int i = 0; i < REPORTS; i++)
        owl_call_progress(arg, atomic_fetch_add(&next_report, 1), 0, NULL);
    owl_call_unref(arg);
    return NULL;
}

static int report_from_threads(owl_call *c, void *data)
{
    (void)data;
    pthread_t t[REPORTERS];
    for (int i = 0; i < REPORTERS; i++)
        if (pthread_create(&t[i], NULL, report, owl_call_ref(c)) != 0)
            abort();
    for (int i = 0; i < REPORTERS - 1; i++)
        pthread_join(t[i], NULL);
    pthread_detach(t[REPORTERS - 1]); /* goes on while the call ends */
    return 0;
}

TEST(progress_of_several_threads_grows_and_ends_with_the_answer, "mcp:B10")
{
    owl_server *s = serving(report_from_threads, 0);
    server_start(s);
    for (int round = 0; round < 5; round++) {
        atomic_store(&next_report, 0);
        struct http h = http_open(s);
        modern_call(&h, "t", "", "{}", "\"progressToken\":1");
        http_head(&h);
        double last = -1;
        bool answered = false;
        for (msg *m; (m = http_next(&h)); owl_json_doc_free(m)) {
            assert_false(answered);
            answered = at(m, "id") != NULL;
            double v = owl_json_num(at(m, "params/progress"), -1);
            if (!answered && v <= last)
                fail_msg("%g after %g", v, last);
            last = v;
        }
        assert_true(answered);
        http_close(&h);
    }
    server_end(s);
}

/* ---- log ---- */

static int log_all(owl_call *c, void *data)
{
    (void)data;
    int bad = 0;
    for (int level = OWL_LEVEL_DEBUG; level <= OWL_LEVEL_EMERGENCY; level++)
        bad |= owl_call_logf(c, (owl_level)level, NULL, "level %d", level);
    bad |= owl_call_log_json(c, OWL_LEVEL_EMERGENCY, "me", " {\"a\" : 1} ", OWL_NTS);
    bad |= owl_call_log_json(c, OWL_LEVEL_DEBUG, "me", "never looked at", OWL_NTS);
    return bad;
}

static int log_badly(owl_call *c, void *data)
{
    (void)data;
    bool wanted = owl_json_get_bool(owl_call_args(c), "wanted", false);
    if (wanted && (owl_call_log_json(c, OWL_LEVEL_ERROR, NULL, "{", OWL_NTS) != -OWL_EPARSE ||
                   owl_call_log_json(c, OWL_LEVEL_ERROR, NULL, NULL, 0) >= 0))
        return -OWL_ETOOL;
    static const int levels[] = {-1, 0, OWL_LEVEL_EMERGENCY + 1, 99};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (owl_call_logf(c, (owl_level)levels[i], NULL, "x") != -OWL_EINVAL ||
            owl_call_log_json(c, (owl_level)levels[i], NULL, "1", 1) != -OWL_EINVAL)
            return -OWL_ETOOL;
    return 0;
}

static void log_levels_end(struct http *h, int first)
{
    for (int level = first; level <= OWL_LEVEL_EMERGENCY; level++) {
        char want[20];
        snprintf(want, sizeof want, "level %d", level);
        expect_str(http_next(h), "params/data", want);
    }
    msg *m = http_next(h);
    assert_string_equal(json_at(m, "params"),
                        "{\"level\":\"emergency\",\"logger\":\"me\",\"data\":{\"a\":1}}");
    expect_str(m, "method", "notifications/message");
    expect_int(http_next(h), "id", 1);
}

TEST(a_client_hears_the_levels_that_it_wants, "")
{
    owl_server *s = serving(log_all, 0);
    add_tool(s, (owl_tool){.name = "badly", .input_schema = ANY_ARGUMENTS, .handler = log_badly});
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "t", "", "{}", "\"io.modelcontextprotocol/logLevel\":\"alert\"");
    http_head(&h);
    log_levels_end(&h, OWL_LEVEL_ALERT);
    http_close(&h);
    h = http_open(s);
    modern_call(&h, "t", "", "{}", ""); /* did not ask for any */
    http_head(&h);
    assert_false(h.events);
    http_close(&h);

    h = legacy_open(s, "{}");
    char *text = legacy_text("5", "logging/setLevel", "\"level\":\"critical\"");
    legacy_send(&h, text);
    free(text);
    http_head(&h);
    expect_int(http_next(&h), "id", 5);
    legacy_call(&h, "t", "");
    http_head(&h);
    log_levels_end(&h, OWL_LEVEL_CRITICAL);
    http_close(&h);

    for (int want = 0; want < 2; want++) {
        h = http_open(s);
        modern_call(&h, "badly", want ? "\"arguments\":{\"wanted\":true}" : "", "{}",
                    want ? "\"io.modelcontextprotocol/logLevel\":\"debug\"" : "");
        http_head(&h);
        msg *m = http_next(&h); /* a level that does not exist is not sent */
        assert_false(owl_json_bool(at(m, "result/isError"), false));
        expect_int(m, "id", 1);
        http_close(&h);
    }
    server_end(s);
}

TEST(a_stdio_client_gets_progress_and_log_before_the_answer, "")
{
    owl_server *s = serving(progress_values, 0);
    struct pipes p = pipes_open(s);
    assert_int_equal(owl_server_start(s, NULL), 0);
    char *text = modern_text("3", "tools/call", "\"name\":\"t\"", "{}", "\"progressToken\":3");
    pipes_send(&p, text);
    free(text);
    for (int i = 0; i < 3; i++)
        expect_int(pipes_next(&p), "params/progressToken", 3);
    expect_int(pipes_next(&p), "id", 3);
    close(p.in);
    p.in = -1;
    assert_int_equal(owl_server_join(s), 0); /* end of input */
    owl_server_free(s);
    pipes_close(&p);
}

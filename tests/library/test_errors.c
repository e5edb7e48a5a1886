/* How a server tells failures: by the revision of the client, or in the style that it was given. */
#include "library/tasks.h"

static int fail_it(owl_call *c, void *data)
{
    (void)data;
    return owl_call_fail(c, "no weather today");
}

static owl_server *failing_server(owl_server_options o)
{
    o.reactors = 1;
    owl_server *s = server_with(o);
    add_tool(s, (owl_tool){.name = "t", .input_schema = SCHEMA, .handler = fail_it});
    add_resource(s, (owl_resource){.name = "r", .uri = "test://r", .handler = fail_it});
    return s;
}

/* A request of a client of that revision; @p name is what it is about. */
static msg *ask_at(owl_server *s, const char *revision, const char *method, const char *name,
                   const char *params)
{
    if (strcmp(revision, MODERN) == 0)
        return modern(s, method, name, params);
    struct http h = legacy_open_as(s, revision, "{}");
    char *text = legacy_text("1", method, params);
    legacy_send(&h, text);
    free(text);
    assert_int_equal(http_head(&h), 200);
    msg *m = http_next(&h);
    http_close(&h);
    return m;
}

static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", LEGACY, MODERN};

TEST(the_style_of_a_server_is_that_of_all_its_clients, "")
{
    for (unsigned style = OWL_ERRORS_CODES; style <= OWL_ERRORS_MCP; style++) {
        owl_server *s = failing_server((owl_server_options){.error_style = style});
        server_start(s);
        for (size_t i = 0; i < OWL_COUNT(revisions); i++) {
            msg *m = ask_at(s, revisions[i], "tools/call", "t", "\"name\":\"t\"");
            const char *code = style == OWL_ERRORS_CODES ? "error/code"
                                                         : "result/_meta/owlclaw~error/code";
            if (!at(m, code) || int_at(m, code) != -32005)
                fail_msg("%s: %s", revisions[i], json_at(m, ""));
            owl_json_doc_free(m);
            m = ask_at(s, revisions[i], "tools/call", "none", "\"name\":\"none\"");
            assert_int_equal(int_at(m, "error/code"), style == OWL_ERRORS_CODES ? -32001 : -32602);
            owl_json_doc_free(m);
        }
        server_end(s);
    }
    owl_server *s = NULL;
    owl_error e = {0};
    owl_server_options o = OWL_SERVER_OPTIONS("n", "1");
    o.error_style = OWL_ERRORS_LAYERED + 1;
    assert_int_equal(owl_server_new(&o, &s, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "error_style"));
}

TEST(the_layered_style_says_which_tool_ran_and_when, "")
{
    owl_server *s = failing_server((owl_server_options){.error_style = OWL_ERRORS_LAYERED});
    server_start(s);
    for (size_t i = 0; i < OWL_COUNT(revisions); i++) {
        msg *m = ask_at(s, revisions[i], "tools/call", "t", "\"name\":\"t\"");
        assert_true(owl_json_bool(at(m, "result/isError"), false));
        assert_false(owl_json_bool(at(m, "result/structuredContent/success"), true));
        assert_string_equal(str_at(m, "result/structuredContent/error/code"), "E_INTERNAL");
        assert_string_equal(str_at(m, "result/structuredContent/error/message"),
                            "no weather today");
        assert_string_equal(str_at(m, "result/structuredContent/meta/tool"), "t");
        assert_int_equal(strlen(str_at(m, "result/structuredContent/meta/traceId")), 32);
        assert_in_range(int_at(m, "result/structuredContent/meta/durationMs"), 0, WAIT_MS);
        const char *when = str_at(m, "result/structuredContent/meta/timestamp");
        assert_int_equal(strlen(when), strlen("2026-02-12T09:35:21.103Z"));
        assert_int_equal(strncmp(when, "20", 2), 0);
        owl_json_doc_free(m);
    }
    server_end(s);
}

/* ---- denied ---- */

static enum owl_verdict deny(void *self, struct owl_call *c)
{
    (void)self;
    owl_call_set_failure(c, OWL_EDENIED, "not for you");
    owl_call_set_failure_data(c, OWL_STR("{\"reason\":\"permission\"}"));
    return OWL_FINISH;
}

static enum owl_verdict settle(void *self, struct owl_call *c)
{
    (void)self;
    (void)c;
    return OWL_NEXT;
}

TEST(a_resource_that_is_denied_is_an_error_on_every_revision, "OR-7.9 OR-9.3")
{
    static const struct owl_policy_ops policy = {deny, settle};
    owl_server *s = failing_server((owl_server_options){.reactors = 1});
    s->env.policy = &policy;
    server_start(s);
    for (size_t i = 0; i < OWL_COUNT(revisions); i++) {
        msg *m = ask_at(s, revisions[i], "resources/read", "test://r", "\"uri\":\"test://r\"");
        assert_int_equal(int_at(m, "error/code"),
                         strcmp(revisions[i], MODERN) == 0 ? 32003 : -32003);
        assert_string_equal(str_at(m, "error/data/details"), "not for you");
        assert_string_equal(str_at(m, "error/data/reason"), "permission");
        assert_int_equal(strlen(str_at(m, "error/data/trace_id")), 32);
        assert_false(owl_json_bool(at(m, "error/data/retryable"), true));
        owl_json_doc_free(m);
    }
    server_end(s);
}

/* ---- the log ---- */

static char logged[8192];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void to_log(void *data, owl_level level, const char *line)
{
    (void)data;
    (void)level;
    pthread_mutex_lock(&log_lock);
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof logged - n, "%s\n", line);
    pthread_mutex_unlock(&log_lock);
}

TEST(a_failure_is_logged_with_what_it_was_about_once_and_its_trace_id, "")
{
    owl_server *s = failing_server((owl_server_options){.log = to_log});
    server_start(s);
    msg *m = modern(s, "resources/read", "test://none", "\"uri\":\"test://none\"");
    const char *trace_id = str_at(m, "error/data/trace_id");
    pthread_mutex_lock(&log_lock);
    if (!strstr(logged, "resources/read failed: not_found") || !strstr(logged, trace_id) ||
        strstr(logged, "resources/read resources/read"))
        fail_msg("%s", logged);
    pthread_mutex_unlock(&log_lock);
    owl_json_doc_free(m);
    owl_json_doc_free(modern(s, "tools/call", "t", "\"name\":\"t\""));
    pthread_mutex_lock(&log_lock);
    assert_non_null(strstr(logged, "tools/call t failed: tool_failed: no weather today"));
    pthread_mutex_unlock(&log_lock);
    server_end(s);
}

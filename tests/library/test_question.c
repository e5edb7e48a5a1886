/* Questions as a handler writes them: what is refused, and what is sent. */
#include "library/fixture.h"

#define ALL "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}"

static int bad_questions(owl_call *c, void *data)
{
    (void)data;
    static const struct {
        owl_question q;
        int rc;
    } bad[] = {
        {{.size = 3}, -OWL_EINVAL},
        {{.size = sizeof(owl_question) + 1, .kind = OWL_ASK_ROOTS}, -OWL_EINVAL},
        {{.size = sizeof(owl_question)}, -OWL_EINVAL},
        {{.size = sizeof(owl_question), .kind = (owl_ask_kind)9}, -OWL_EINVAL},
        {{.size = sizeof(owl_question), .kind = OWL_ASK_FORM, .message = "m"}, -OWL_EINVAL},
        {{.size = sizeof(owl_question), .kind = OWL_ASK_FORM, .schema = "{}"}, -OWL_EINVAL},
        {{.size = sizeof(owl_question), .kind = OWL_ASK_FORM, .message = "m", .schema = "{"},
         -OWL_EPARSE},
        {{.size = sizeof(owl_question), .kind = OWL_ASK_FORM, .message = "m", .schema = "[]"},
         -OWL_EINVAL},
        {{.size = sizeof(owl_question), .kind = OWL_ASK_FORM, .message = "m", .schema = ""},
         -OWL_EPARSE},
        {{.size = sizeof(owl_question), .kind = OWL_ASK_SAMPLING}, -OWL_EINVAL},
        {{.size = sizeof(owl_question), .kind = OWL_ASK_SAMPLING, .params_json = "3"}, -OWL_EINVAL},
        {{.size = sizeof(owl_question), .kind = OWL_ASK_URL, .message = "m"}, -OWL_ECAPABILITY},
        {{.size = sizeof(owl_question), .kind = OWL_ASK_SAMPLING, .params_json = "{\"tools\":[]}"},
         -OWL_ECAPABILITY},
        {{.size = sizeof(owl_question),
          .kind = OWL_ASK_SAMPLING,
          .params_json = "{\"toolChoice\":{}}"},
         -OWL_ECAPABILITY},
        {{.size = sizeof(owl_question), .kind = OWL_ASK_FORM, .params_json = "{\"mode\":\"url\"}"},
         -OWL_ECAPABILITY},
    };
    const owl_json *answer;
    owl_question good = {.size = sizeof good, .kind = OWL_ASK_ROOTS};
    if (owl_ask(c, NULL, &good, &answer) != -OWL_EINVAL ||
        owl_ask(c, "k", NULL, &answer) != -OWL_EINVAL)
        return owl_call_fail(c, "NULL was taken");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char k[8];
        snprintf(k, sizeof k, "%zu", i);
        int rc = owl_ask(c, k, &bad[i].q, &answer);
        if (rc != bad[i].rc)
            return owl_call_fail(c, "question %zu: %s", i, owl_error_name(rc));
    }
    /* A question that could not be written is not asked. */
    return owl_result_text(c, "all refused");
}

TEST(bad_questions_are_refused, "mcp:S11")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "bad", .handler = bad_questions});
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "bad", "", ALL, "");
    http_head(&h);
    expect_str(http_next(&h), "result/content/0/text", "all refused");
    http_close(&h);
    server_end(s);
}

static int ask_params(owl_call *c, void *data)
{
    (void)data;
    owl_question q = {.size = offsetof(owl_question, message), .kind = OWL_ASK_ROOTS}, /* older */
        p = {.size = sizeof p,
             .kind = OWL_ASK_SAMPLING,
             .params_json = " { \"messages\" : [], \"maxTokens\" : 5 } "},
                 u = {
                     .size = sizeof u, .kind = OWL_ASK_URL, .message = "Go", .url = "https://x.y/"};
    const owl_json *answer;
    owl_ask(c, "q", &q, &answer);
    owl_ask(c, "p", &p, &answer);
    return owl_ask(c, "u", &u, &answer);
}

TEST(a_question_may_be_given_as_params_or_by_an_older_program, "")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "t", .handler = ask_params});
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "t", "", "{\"elicitation\":{\"url\":{}},\"sampling\":{},\"roots\":{}}", "");
    http_head(&h);
    msg *m = http_next(&h);
    assert_string_equal(json_at(m, "result/inputRequests/q"),
                        "{\"method\":\"roots/list\",\"params\":{}}");
    assert_string_equal(json_at(m, "result/inputRequests/p/params"),
                        "{\"messages\":[],\"maxTokens\":5}");
    assert_string_equal(json_at(m, "result/inputRequests/u/params"),
                        "{\"mode\":\"url\",\"message\":\"Go\",\"url\":\"https://x.y/\"}");
    owl_json_doc_free(m);
    http_close(&h);
    server_end(s);
}

static int ask_tools(owl_call *c, void *data)
{
    (void)data;
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_SAMPLING, .params_json = "{\"tools\":[]}"};
    const owl_json *answer;
    return owl_ask(c, "q", &q, &answer);
}

TEST(a_client_that_samples_with_tools_is_asked_so, "mcp:S11")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "t", .handler = ask_tools});
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "t", "", "{\"sampling\":{\"tools\":{}}}", "");
    http_head(&h);
    expect_str(http_next(&h), "result/inputRequests/q/method", "sampling/createMessage");
    http_close(&h);
    h = http_open(s);
    modern_call(&h, "t", "", "{\"sampling\":{}}", "");
    assert_int_equal(http_head(&h), 400);
    msg *m = http_next(&h);
    assert_non_null(at(m, "error/data/requiredCapabilities/sampling/tools"));
    expect_int(m, "error/code", -32021);
    http_close(&h);
    server_end(s);
}

static int ask_url(owl_call *c, void *data)
{
    (void)data;
    owl_question q = {
        .size = sizeof q, .kind = OWL_ASK_URL, .message = "Go", .url = "https://x.y/"};
    const owl_json *answer;
    int rc = owl_ask(c, "q", &q, &answer);
    return rc ? rc : owl_result_text(c, owl_json_get_str(answer, "action", "?"));
}

TEST(a_url_has_an_id_in_a_session, "mcp:L12")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "t", .handler = ask_url});
    server_start(s);
    struct http h = legacy_open(s, "{\"elicitation\":{\"url\":{}}}");
    char first[33] = "";
    for (int i = 0; i < 2; i++) {
        legacy_call(&h, "t", "");
        http_head(&h);
        msg *q = http_next(&h);
        const char *id = str_at(q, "params/elicitationId");
        assert_string_equal(str_at(q, "params/mode"), "url");
        assert_int_equal(strlen(id), 32);
        assert_string_not_equal(id, first);
        memcpy(first, id, sizeof first);
        legacy_answer(&h, q, "{\"action\":\"accept\"}");
        expect_str(http_next(&h), "result/content/0/text", "accept");
        assert_null(http_next(&h));
    }
    http_close(&h);
    server_end(s);
}

TEST(what_the_user_has_answered_is_not_for_others, "mcp:S27 mcp:S3")
{
    owl_server *s = server_with((owl_server_options){.reactors = 1, .list_ttl_ms = 77});
    add_resource(s, (owl_resource){.uri = "x:y", .name = "n", .handler = ask_url});
    add_resource(s, (owl_resource){.uri = "x:z", .name = "n", .text = "for all"});
    server_start(s);
    expect_str(modern(s, "resources/read", "x:z", "\"uri\":\"x:z\""), "result/cacheScope",
               "public");
    expect_int(modern(s, "resources/read", "x:z", "\"uri\":\"x:z\""), "result/ttlMs", 77);
    static const char *const answers[] = {"",
                                          ",\"inputResponses\":{\"q\":{\"action\":\"decline\"}}"};
    for (int i = 0; i < 2; i++) {
        struct http h = http_open(s);
        char *params = text_of("\"uri\":\"x:y\"%s", answers[i]);
        char *text = modern_text("1", "resources/read", params, "{\"elicitation\":{\"url\":{}}}",
                                 "");
        modern_send(&h, "x:y", text);
        http_head(&h);
        msg *m = http_next(&h);
        if (i == 0)
            assert_null(at(m, "result/cacheScope"));
        else
            assert_string_equal(str_at(m, "result/cacheScope"), "private");
        if (i > 0)
            assert_int_equal(int_at(m, "result/ttlMs"), 0);
        expect_str(m, "result/resultType", i == 0 ? "input_required" : "complete");
        http_close(&h);
        free(text);
        free(params);
    }
    server_end(s);
}

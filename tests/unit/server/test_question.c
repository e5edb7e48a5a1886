/* Questions as a handler writes them: what is refused, and what is sent. */
#include "unit/server/fixture.h"

#define ALL "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}"

static int bad_questions(owl_call *c, void *data)
{
    (void)data;
    static const struct {
        owl_question q;
        int rc;
    } bad[] = {
        {{.size = 3}, -OWL_EINVAL},
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

TEST(bad_questions_are_refused, "")
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

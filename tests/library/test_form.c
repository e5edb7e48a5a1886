/* Forms: schemas that may be asked for, and answers that do not fit them. */
#include "library/tasks.h"

#define PERSON \
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"minLength\":2}," \
    "\"mail\":" \
    "{\"type\":\"string\",\"format\":\"email\"},\"age\":{\"type\":\"integer\"}}," \
    "\"required\":[\"name\"]}"
#define ENTER(content) "{\"action\":\"accept\",\"content\":" content "}"

static atomic_int good; /* answers that reached a handler as accepted */

static int tell_person(owl_call *c, const owl_json *answer, void *data)
{
    (void)data;
    if (strcmp(owl_json_get_str(answer, "action", "?"), "accept") == 0)
        atomic_fetch_add(&good, 1);
    return owl_result_textf(c, "a=%s", given_name(answer));
}

static int ask_person(owl_call *c, void *data)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "Who?", .schema = PERSON};
    const owl_json *answer;
    int rc = owl_ask(c, "who", &q, &answer);
    return rc ? rc : tell_person(c, answer, data);
}

static int ask_person_parked(owl_call *c, void *data)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "Who?", .schema = PERSON};
    int rc = owl_ask_async(c, "who", &q, tell_person, data);
    return rc ? rc : OWL_PENDING;
}

static const struct {
    const char *answer, *why;
} misfits[] = {
    {ENTER("{}"), "lacks the required property \"name\""},
    {ENTER("{\"name\":7}"), "/name must be of type string, but is a number: 7"},
    {ENTER("{\"name\":\"x\"}"), "/name must have at least 2 characters"},
    {ENTER("{\"name\":\"Ann\",\"mail\":\"nowhere\"}"), "/mail must have the format"},
    {ENTER("{\"name\":\"Ann\",\"age\":1.5}"), "/age must be of type integer"},
    {ENTER("[]"), "has not the form of a result of elicitation/create"},
    {"{\"action\":\"accept\"}", "has not the form of a result of elicitation/create"},
    {"{\"action\":\"maybe\"}", "has not the form of a result of elicitation/create"},
};
static const struct {
    const char *answer, *text;
} fits[] = {
    {ENTER("{\"name\":\"Ann\",\"mail\":\"a@b.example\",\"age\":3}"), "a=Ann"},
    {ENTER("{\"name\":\"Bea\",\"unknown\":[]}"), "a=Bea"},
    {"{\"action\":\"decline\"}", "a=decline"},
    {"{\"action\":\"cancel\",\"content\":{}}", "a=cancel"},
};

static owl_server *person_server(void)
{
    owl_server *s = task_server(2);
    add_tool(s, (owl_tool){.name = "again", .handler = ask_person});
    add_tool(s, (owl_tool){.name = "again_task", .handler = ask_person, .flags = OWL_TASK});
    add_tool(s, (owl_tool){.name = "wait", .handler = ask_person_parked, .flags = OWL_PARKED});
    atomic_store(&good, 0);
    return s;
}

/* ---- legacy ---- */

static msg *legacy_round(struct http *h, const char *tool, const char *answer)
{
    legacy_call(h, tool, "");
    http_head(h);
    legacy_answer(h, http_next(h), answer);
    msg *m = http_next(h);
    assert_null(http_next(h));
    return m;
}

TEST(a_form_that_a_legacy_client_fills_in_wrongly_fails_the_call, "")
{
    static const char *const tools[] = {"again", "wait"};
    owl_server *s = person_server();
    struct http h = legacy_open(s, NO_TASKS);
    for (size_t t = 0; t < OWL_COUNT(tools); t++) {
        for (size_t i = 0; i < OWL_COUNT(misfits); i++)
            expect_failed(legacy_round(&h, tools[t], misfits[i].answer), misfits[i].why);
        assert_int_equal(atomic_load(&good), 0);
        for (size_t i = 0; i < OWL_COUNT(fits); i++)
            expect_str(legacy_round(&h, tools[t], fits[i].answer), "result/content/0/text",
                       fits[i].text);
        assert_int_equal(atomic_exchange(&good, 0), 2);
    }
    http_close(&h);
    task_server_end(s);
}

/* ---- modern ---- */

/* Comes back with that answer; frees the first message. */
static msg *come_back(owl_server *s, const char *tool, msg *first, const char *answer)
{
    if (strcmp(str_at(first, "result/resultType"), "input_required") != 0)
        fail_msg("nobody was asked: %s", json_at(first, ""));
    assert_non_null(at(first, "result/inputRequests/who/params/requestedSchema/required"));
    char *params = text_of("\"name\":\"%s\",\"requestState\":\"%s\",\"inputResponses\":{"
                           "\"who\":%s}",
                           tool, str_at(first, "result/requestState"), answer);
    msg *m = modern_with(s, "tools/call", tool, params, NO_TASKS);
    free(params);
    owl_json_doc_free(first);
    return m;
}

TEST(a_form_that_a_modern_client_fills_in_wrongly_is_asked_again, "mcp:S13")
{
    static const char *const tools[] = {"again", "wait"};
    owl_server *s = person_server();
    for (size_t t = 0; t < OWL_COUNT(tools); t++) {
        msg *m = modern_tool(s, tools[t], NO_TASKS);
        for (size_t i = 0; i < OWL_COUNT(misfits); i++)
            m = come_back(s, tools[t], m, misfits[i].answer);
        assert_int_equal(atomic_load(&good), 0);
        expect_str(come_back(s, tools[t], m, fits[0].answer), "result/content/0/text", "a=Ann");
        for (size_t i = 1; i < OWL_COUNT(fits); i++) {
            m = modern_tool(s, tools[t], NO_TASKS);
            expect_str(come_back(s, tools[t], m, fits[i].answer), "result/content/0/text",
                       fits[i].text);
        }
        assert_int_equal(atomic_exchange(&good, 0), 2);
    }
    task_server_end(s);
}

TEST(a_task_goes_on_asking_until_an_answer_fits, "mcp:K5")
{
    owl_server *s = person_server();
    struct id id = task_of(s, "again_task");
    owl_json_doc_free(task_when(s, id, "input_required"));
    for (size_t i = 0; i < OWL_COUNT(misfits); i++) {
        char *responses = text_of("{\"who\":%s}", misfits[i].answer);
        expect_ack(task_update(s, id, responses));
        msg *m = task_get(s, id);
        assert_non_null(at(m, "result/inputRequests/who"));
        expect_str(m, "result/status", "input_required");
        free(responses);
    }
    assert_int_equal(atomic_load(&good), 0);
    expect_ack(task_update(s, id, "{\"who\":" ENTER("{\"name\":\"Cid\"}") "}"));
    expect_text(task_when(s, id, "completed"), "a=Cid");
    task_server_end(s);
}

/* An answer that was good when it was sealed is judged by what is asked now. */
static int ask_more_each_time(owl_call *c, void *data)
{
    (void)data;
    static atomic_int rounds;
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "Who?", .schema = SCHEMA};
    if (atomic_fetch_add(&rounds, 1) > 0)
        q.schema = PERSON;
    const owl_json *answer;
    int rc = owl_ask(c, "who", &q, &answer);
    return rc ? rc : tell_person(c, answer, data);
}

TEST(an_answer_is_judged_by_the_question_of_its_run, "")
{
    owl_server *s = task_server(1);
    add_tool(s, (owl_tool){.name = "more", .handler = ask_more_each_time});
    msg *m = modern_tool(s, "more", NO_TASKS);
    char *params = text_of("\"name\":\"more\",\"requestState\":\"%s\",\"inputResponses\":{"
                           "\"who\":" ENTER("{}") "}",
                           str_at(m, "result/requestState"));
    owl_json_doc_free(m);
    m = modern_with(s, "tools/call", "more", params, NO_TASKS);
    free(params);
    expect_str(come_back(s, "more", m, fits[0].answer), "result/content/0/text", "a=Ann");
    task_server_end(s);
}

/* ---- what may be asked ---- */

static const struct {
    const char *name, *schema, *why;
} bad[] = {
    {"root", "{\"properties\":{}}", "must have \"type\":\"object\""},
    {"array", "{\"type\":\"array\"}", "must have \"type\":\"object\""},
    {"none", "{\"type\":\"object\"}", "must have \"properties\""},
    {"list", "{\"type\":\"object\",\"properties\":[]}", "must have \"properties\""},
    {"nested", "{\"type\":\"object\",\"properties\":{\"in\":{\"type\":\"object\"}}}",
     "the type of \"in\" must be string, number, integer, boolean or array"},
    {"untyped", "{\"type\":\"object\",\"properties\":{\"a\":{}}}", "the type of \"a\""},
    {"bool", "{\"type\":\"object\",\"properties\":{\"b\":true}}", "the type of \"b\""},
    {"union", "{\"type\":\"object\",\"properties\":{\"u\":{\"type\":[\"string\"]}}}",
     "the type of \"u\""},
    {"keyword",
     "{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\",\"minLength\":-1}}}",
     "#/properties/k/minLength"},
    {"pattern",
     "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"string\",\"pattern\":\"(\"}}}",
     "#/properties/p/pattern"},
    {"ref", "{\"type\":\"object\",\"properties\":{},\"$ref\":\"https://x.example/s\"}",
     "https://x.example/s"},
};

static int ask_badly(owl_call *c, void *data)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "?", .schema = data};
    const owl_json *answer;
    return owl_ask(c, "q", &q, &answer);
}

/* A handler that is told may ask something else instead. */
static int ask_better(owl_call *c, void *data)
{
    int rc = ask_badly(c, data);
    return rc == -OWL_EINVAL ? ask_person(c, NULL) : owl_call_fail(c, "it was taken");
}

TEST(a_question_with_a_bad_schema_is_refused_and_the_reason_told, "mcp:B5 mcp:B6")
{
    owl_server *s = task_server(1);
    static char copies[OWL_COUNT(bad)][160];
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        snprintf(copies[i], sizeof copies[i], "%s", bad[i].schema);
        add_tool(s, (owl_tool){.name = bad[i].name, .handler = ask_badly, .data = copies[i]});
        msg *m = modern_tool(s, bad[i].name, NO_TASKS);
        assert_non_null(strstr(str_at(m, "result/content/0/text"), "requestedSchema"));
        expect_failed(m, bad[i].why);
    }
    add_tool(s, (owl_tool){.name = "better", .handler = ask_better, .data = copies[0]});
    expect_str(modern_tool(s, "better", NO_TASKS), "result/inputRequests/who/method",
               "elicitation/create");
    task_server_end(s);
}

static int ask_without_schema(owl_call *c, void *data)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .params_json = data};
    const owl_json *answer;
    int rc = owl_ask(c, "q", &q, &answer);
    return rc ? rc : owl_result_text(c, owl_json_get_str(answer, "action", "?"));
}

TEST(params_of_ones_own_need_a_schema_unless_they_lead_to_a_url, "")
{
    static char plain[] = "{\"message\":\"m\"}", url[] = "{\"mode\":\"url\",\"message\":\"m\","
                                                         "\"url\":\"https://x.example/\"}";
    static const char caps[] = "{\"elicitation\":{\"form\":{},\"url\":{}}}";
    owl_server *s = task_server(1);
    add_tool(s, (owl_tool){.name = "plain", .handler = ask_without_schema, .data = plain});
    add_tool(s, (owl_tool){.name = "url", .handler = ask_without_schema, .data = url});
    expect_failed(modern_tool(s, "plain", caps), "a form needs a requestedSchema");
    struct http h = legacy_open(s, caps);
    expect_str(legacy_round(&h, "url", "{\"action\":\"accept\"}"), "result/content/0/text",
               "accept");
    http_close(&h);
    task_server_end(s);
}

/* What a tool takes and gives, judged by its schemas, in the words of every revision. */
#include "library/tasks.h"
#include "reactor/internal.h"

#define POINT \
    "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\"},\"y\":{\"type\":" \
    "\"integer\",\"minimum\":0}},\"required\":[\"x\"],\"additionalProperties\":false}"

static atomic_int ran;

static int count(owl_call *c, void *data)
{
    (void)data;
    atomic_fetch_add(&ran, 1);
    return owl_result_text(c, "ran");
}

/* ---- clients ---- */

static struct http session_of(owl_server *s, const char *revision)
{
    struct http h = http_open(s);
    char *text = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\","
                         "\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{},"
                         "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
                         revision);
    legacy_send(&h, text);
    free(text);
    assert_int_equal(http_head(&h), 200);
    expect_str(http_next(&h), "result/protocolVersion", revision);
    h.legacy = true;
    legacy_tell(&h, INITIALIZED);
    return h;
}

/* Calls a tool in a session of that revision; @p args "" leaves them out. */
static msg *call_at(owl_server *s, const char *revision, const char *tool, const char *args)
{
    char *more = text_of("%s%s", *args ? "\"arguments\":" : "", args);
    bool legacy = strcmp(revision, MODERN) != 0;
    struct http h = legacy ? session_of(s, revision) : http_open(s);
    if (legacy)
        legacy_call(&h, tool, more);
    else
        modern_call(&h, tool, more, "{}", "");
    assert_int_equal(http_head(&h), 200);
    msg *m = http_next(&h);
    free(more);
    http_close(&h);
    return m;
}

static const char *const with_codes[] = {"2024-11-05", "2025-03-26", "2025-06-18"};
static const char *const with_results[] = {LEGACY, MODERN};

/* A failure of a tool as the revision tells it: its code, its text, its data. */
struct told {
    int64_t code;
    const char *text;
    const owl_json *data;
};

static struct told failure_in(const msg *m)
{
    if (at(m, "error"))
        return (struct told){int_at(m, "error/code"), str_at(m, "error/message"),
                             at(m, "error/data")};
    if (!owl_json_bool(at(m, "result/isError"), false))
        fail_msg("no failure: %s", json_at(m, ""));
    return (struct told){int_at(m, "result/_meta/owlclaw~error/code"),
                         str_at(m, "result/content/0/text"), at(m, "result/_meta/owlclaw~error")};
}

static void expect_told(msg *m, int64_t code, const char *part)
{
    struct told t = failure_in(m);
    if (t.code != code || !strstr(t.text, part))
        fail_msg("not %lld with \"%s\": %s", (long long)code, part, json_at(m, ""));
    owl_json_doc_free(m);
}

/* ---- arguments ---- */

static const struct {
    const char *args, *instance, *keyword, *sentence;
} misfits[] = {
    {"{}", "", "required", "lacks the required property \"x\""},
    {"", "", "required", "lacks the required property \"x\""},
    {"{\"x\":\"1\"}", "/x", "type", "/x must be of type integer, but is a string: \"1\""},
    {"{\"x\":null}", "/x", "type", "/x must be of type integer, but is null"},
    {"{\"x\":1,\"y\":-1}", "/y", "minimum", "/y must be at least 0, but is -1"},
    {"{\"x\":1,\"z\":2}", "/z", "additionalProperties", "/z is not allowed"},
};

static void expect_misfit(msg *m, size_t i)
{
    struct told t = failure_in(m);
    const owl_json *v = owl_json_at(owl_json_get(t.data, "violations"), 0);
    static const char begin[] = "Invalid params: the arguments do not fit the inputSchema of point";
    if (t.code != -32602 || strncmp(t.text, begin, sizeof begin - 1) != 0 ||
        !strstr(t.text, misfits[i].sentence) || owl_json_get_bool(t.data, "retryable", true) ||
        strlen(owl_json_get_str(t.data, "trace_id", "")) != 32)
        fail_msg("%s: %s", misfits[i].args, json_at(m, ""));
    assert_string_equal(owl_json_get_str(v, "instance", "?"), misfits[i].instance);
    assert_string_equal(owl_json_get_str(v, "keyword", "?"), misfits[i].keyword);
    assert_non_null(strstr(owl_json_get_str(v, "message", "?"), misfits[i].sentence));
    assert_int_equal(owl_json_get_str(v, "schema", "?")[0], '#');
    owl_json_doc_free(m);
}

static owl_server *point_server(unsigned flags)
{
    owl_server *s = server_new(2);
    add_tool(s,
             (owl_tool){.name = "point", .input_schema = POINT, .handler = count, .flags = flags});
    add_tool(s, (owl_tool){.name = "nothing", .handler = count, .flags = flags});
    server_start(s);
    atomic_store(&ran, 0);
    return s;
}

TEST(arguments_that_do_not_fit_are_an_error_with_a_code_to_old_clients,
     "OR-5.2 OR-5.3 OD-P12 OD-5.1.6 OD-5.4.2 OD-5.4.7 OD-7.2.4 OD-3.2.1.4 OD-7.3.1 CO-13.1b")
{
    owl_server *s = point_server(OWL_INLINE);
    for (size_t r = 0; r < OWL_COUNT(with_codes); r++) {
        for (size_t i = 0; i < OWL_COUNT(misfits); i++) {
            msg *m = call_at(s, with_codes[r], "point", misfits[i].args);
            assert_non_null(at(m, "error"));
            expect_misfit(m, i);
        }
        expect_told(call_at(s, with_codes[r], "nothing", "{\"x\":1}"), -32602, "/x is not allowed");
        assert_int_equal(atomic_load(&ran), 0);
        expect_str(call_at(s, with_codes[r], "point", "{\"x\":1}"), "result/content/0/text", "ran");
        expect_str(call_at(s, with_codes[r], "nothing", ""), "result/content/0/text", "ran");
        assert_int_equal(atomic_exchange(&ran, 0), 2);
    }
    server_end(s);
}

TEST(arguments_that_do_not_fit_are_told_to_the_model_by_newer_revisions, "OR-5.2 mcp:S23 mcp:S24")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        owl_server *s = point_server(flags);
        for (size_t r = 0; r < OWL_COUNT(with_results); r++) {
            for (size_t i = 0; i < OWL_COUNT(misfits); i++) {
                msg *m = call_at(s, with_results[r], "point", misfits[i].args);
                assert_null(at(m, "error"));
                assert_int_equal(owl_json_len(at(m, "result/content")), 1);
                expect_misfit(m, i);
            }
            assert_int_equal(atomic_load(&ran), 0);
            expect_str(call_at(s, with_results[r], "point", " { \"x\" : 1.0 , \"\\u0079\":0 } "),
                       "result/content/0/text", "ran");
            assert_int_equal(atomic_exchange(&ran, 0), 1);
        }
        server_end(s);
    }
}

static int pay(owl_call *c, void *data)
{
    (void)data;
    const owl_json *args = owl_call_args(c);
    return owl_result_textf(c, "paid %lld of %g", (long long)owl_json_get_int(args, "n", 1000),
                            owl_json_get_num(args, "share", -1));
}

/* What a handler reads is what was judged. */
TEST(a_number_reaches_its_handler_as_it_was_judged, "")
{
    static const struct {
        const char *args, *text; /* NULL: refused */
    } cases[] = {
        {"{\"n\":1,\"share\":0.5}", "paid 1 of 0.5"},
        {"{\"n\":1.0,\"share\":0.5}", "paid 1 of 0.5"},
        {"{\"n\":1e0,\"share\":0.5}", "paid 1 of 0.5"},
        {"{\"n\":10e-1,\"share\":0.5}", "paid 1 of 0.5"},
        {"{\"n\":1.0000000000000000000001,\"share\":0.5}", NULL},
        {"{\"n\":11.0,\"share\":0.5}", NULL},
        {"{\"n\":1,\"share\":0.99999999999999999999}", NULL},
    };
    owl_server *s = server_new(1);
    add_tool(s,
             (owl_tool){
                 .name = "pay",
                 .input_schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\","
                                 "\"maximum\":10},\"share\":{\"type\":\"number\","
                                 "\"exclusiveMaximum\":1}}}",
                 .handler = pay});
    server_start(s);
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        msg *m = call_at(s, MODERN, "pay", cases[i].args);
        if (cases[i].text)
            expect_str(m, "result/content/0/text", cases[i].text);
        else
            expect_told(m, -32602, "Invalid params");
    }
    server_end(s);
}

TEST(every_fault_is_told_and_what_is_told_is_bounded, "")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "list",
                           .input_schema = "{\"type\":\"object\",\"properties\":{\"l\":{\"items\":{"
                                           "\"type\":\"string\"}}}}",
                           .handler = count});
    server_start(s);
    msg *m = call_at(s, MODERN, "list", "{\"l\":[1,\"a\",2]}");
    struct told t = failure_in(m);
    assert_non_null(strstr(t.text, "/l/0 must"));
    assert_non_null(strstr(t.text, "/l/2 must"));
    assert_int_equal(owl_json_len(owl_json_get(t.data, "violations")), 2);
    assert_null(owl_json_get(t.data, "left_out"));
    owl_json_doc_free(m);

    struct bytes args = {.p = NULL};
    bytes_add(&args, "{\"l\":[0", 7);
    for (int i = 1; i < 5000; i++)
        bytes_add(&args, ",{\"k\":\"\\u0001\"}", 15);
    bytes_add(&args, "]}", 2);
    m = call_at(s, MODERN, "list", args.p);
    t = failure_in(m);
    size_t shown = owl_json_len(owl_json_get(t.data, "violations"));
    assert_true(shown > 1 && shown < 5000);
    assert_int_equal(owl_json_get_int(t.data, "left_out", 0), 5000 - shown);
    assert_true(strlen(t.text) < 5000 && strlen(json_at(m, "")) < 40000);
    assert_non_null(strstr(t.text, " more"));
    owl_json_doc_free(m);
    free(args.p);

    char *long_key = text_of("{\"l\":[{\"%0200000d\":[1]},3,{\"a\":1}]}", 0);
    m = call_at(s, MODERN, "list", long_key);
    assert_true(strlen(json_at(m, "")) < 20000);
    expect_told(m, -32602, "/l/1 must be of type string");
    free(long_key);
    assert_int_equal(atomic_load(&ran), 0);
    server_end(s);
}

TEST(a_name_too_long_to_be_told_is_refused_all_the_same, "")
{
    owl_server *s = point_server(0);
    char *args = text_of("{\"x\":1,\"%02000000d\":2}", 0);
    for (size_t r = 0; r < OWL_COUNT(with_results); r++)
        expect_told(call_at(s, with_results[r], "point", args), -32602, "do not fit");
    expect_told(call_at(s, "2025-06-18", "point", args), -32602, "do not fit");
    assert_int_equal(atomic_load(&ran), 0);
    free(args);
    server_end(s);
}

TEST(arguments_that_cannot_be_judged_are_refused, "")
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "t",
                           .input_schema = "{\"type\":\"object\",\"properties\":{\"s\":{"
                                           "\"pattern\":\"^(a+)+\\\\1$\"}}}",
                           .handler = count});
    server_start(s);
    static const char bad[] =
        "{\"s\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"}";
    atomic_store(&ran, 0);
    expect_told(call_at(s, MODERN, "t", bad), -32602,
                "cannot be checked: a pattern takes too many");
    expect_told(call_at(s, "2024-11-05", "t", bad), -32602, "cannot be checked");
    assert_int_equal(atomic_load(&ran), 0);
    expect_str(call_at(s, MODERN, "t", "{\"s\":\"aa\"}"), "result/content/0/text", "ran");
    server_end(s);
}

/* ---- the order of checks ---- */

static atomic_int asked_policy, settled;

static enum owl_verdict deny_names(void *self, struct owl_call *c)
{
    (void)self;
    atomic_fetch_add(&asked_policy, 1);
    return owl_str_is(c->req.name, "denied") ? owl_call_set_failure(c, OWL_EDENIED, "not for you")
                                             : OWL_NEXT;
}

static enum owl_verdict note_end(void *self, struct owl_call *c)
{
    (void)self;
    atomic_fetch_add(&settled, c->failure.error == OWL_EPARAMS ? 100 : 1);
    return OWL_NEXT;
}

TEST(arguments_are_judged_after_the_policy_and_the_policy_hears_of_it, "OD-5.4.5 OD-5.4.7")
{
    static const struct owl_policy_ops deny = {deny_names, note_end};
    owl_server *s = server_new(1);
    s->env.policy = &deny;
    add_tool(s, (owl_tool){.name = "denied", .input_schema = POINT, .handler = count});
    add_tool(s, (owl_tool){.name = "open", .input_schema = POINT, .handler = count});
    server_start(s);
    atomic_store(&ran, 0);
    msg *m = call_at(s, "2024-11-05", "denied", "{\"x\":\"\"}");
    assert_non_null(at(m, "error")); /* style `codes` */
    expect_told(m, -32003, "not for you");
    m = call_at(s, "2025-06-18", "denied", "{\"x\":\"\"}");
    assert_non_null(at(m, "result")); /* style `mcp` */
    expect_told(m, -32003, "not for you");
    expect_told(call_at(s, MODERN, "denied", "{\"x\":\"\"}"), -32003, "not for you");
    assert_int_equal(atomic_load(&settled), 3);
    expect_told(call_at(s, MODERN, "open", "{\"x\":\"\"}"), -32602, "/x");
    assert_int_equal(atomic_load(&asked_policy), 4);
    assert_int_equal(atomic_load(&settled), 103);
    assert_int_equal(atomic_load(&ran), 0);
    server_end(s);
}

/* ---- tasks ---- */

TEST(a_task_is_not_begun_with_arguments_that_do_not_fit, "OR-5.2")
{
    owl_server *s = task_server(1);
    add_tool(
        s, (owl_tool){.name = "point", .input_schema = POINT, .handler = count, .flags = OWL_TASK});
    atomic_store(&ran, 0);
    msg *m = modern_tool(s, "point", TASKS);
    assert_string_equal(str_at(m, "result/resultType"), "complete");
    expect_told(m, -32602, "lacks the required property");
    struct http h = legacy_open(s, "{}"); /* it takes a task or an error */
    legacy_call(&h, "point", "\"task\":{}");
    http_head(&h);
    m = http_next(&h);
    assert_non_null(strstr(str_at(m, "error/message"), "lacks the required property"));
    assert_int_equal(owl_json_len(at(m, "error/data/violations")), 1);
    expect_int(m, "error/code", -32602);
    http_close(&h);
    assert_int_equal(atomic_load(&ran), 0);
    task_server_end(s);
}

/* ---- results ---- */

#define WEATHER \
    "{\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"number\"}},\"required\":[\"t\"]}"

enum how { TEXT, STRUCTURED, RAW, NEITHER, FAIL };

static const struct given {
    const char *name;
    enum how how;
    const char *json;
    const char *log; /* what the log says; NULL: the result is good */
} given[] = {
    {"good", STRUCTURED, " { \"t\" : 1 } ", NULL},
    {"raw", RAW, "{\"content\":[],\"structuredContent\":{\"t\":1}}", NULL},
    {"raw_error", RAW, "{\"content\":[],\"isError\":true}", NULL},
    {"raw_bad_error", RAW, "{\"content\":[],\"isError\":true,\"structuredContent\":{}}", NULL},
    {"bad", STRUCTURED, "{\"t\":\"warm\"}", "/t must be of type number, but is a string"},
    {"empty", STRUCTURED, "{}", "lacks the required property \"t\""},
    {"array", STRUCTURED, "[1]", "must be of type object, but is an array"},
    {"null", STRUCTURED, "null", "must be of type object, but is null"},
    {"text", TEXT, "It is warm.", "gave no structuredContent"},
    {"neither", NEITHER, NULL, "gave no structuredContent"},
    {"raw_text", RAW, "{\"content\":[]}", "gave no structuredContent"},
    {"raw_bad", RAW, "{\"structuredContent\":{\"t\":null},\"isError\":false,\"content\":[]}",
     "/t must be of type number, but is null"},
    {"raw_esc", RAW, "{\"content\":[],\"structured\\u0043ontent\":{}}", "lacks the required"},
};

static int build(owl_call *c, const struct given *g)
{
    if (g->how == TEXT)
        return owl_result_text(c, g->json);
    if (g->how == STRUCTURED)
        return owl_result_structured(c, g->json, OWL_NTS);
    return g->how == RAW ? owl_result_raw(c, g->json, OWL_NTS) : 0;
}

static int give(owl_call *c, void *data)
{
    return build(c, data);
}

static void *finish_later(void *arg)
{
    owl_call *c = arg;
    OWL_IGNORE(owl_call_finish(c, 0)); /* ended: fine */
    owl_call_unref(c);
    return NULL;
}

/* Finished by another thread. */
static int give_later(owl_call *c, void *data)
{
    pthread_t t;
    build(c, data);
    pthread_create(&t, NULL, finish_later, owl_call_ref(c));
    pthread_detach(t);
    return OWL_LATER;
}

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char log_text[1 << 16];

static void to_log(void *data, owl_level level, const char *line)
{
    (void)data;
    pthread_mutex_lock(&log_lock);
    size_t n = strlen(log_text);
    if (level >= OWL_LEVEL_WARNING && n + strlen(line) + 2 < sizeof log_text)
        sprintf(log_text + n, "%s\n", line);
    pthread_mutex_unlock(&log_lock);
}

static bool logged(const char *part)
{
    pthread_mutex_lock(&log_lock);
    bool found = strstr(log_text, part);
    bool any = log_text[0];
    log_text[0] = '\0';
    pthread_mutex_unlock(&log_lock);
    return part[0] ? found : any;
}

static owl_server *giving_server(owl_handler_fn handler, unsigned flags)
{
    owl_server *s = server_with((owl_server_options){.reactors = 2, .log = to_log});
    for (size_t i = 0; i < OWL_COUNT(given); i++) {
        static struct given copies[OWL_COUNT(given)];
        copies[i] = given[i];
        add_tool(s, (owl_tool){.name = given[i].name,
                               .output_schema = WEATHER,
                               .handler = handler,
                               .data = &copies[i],
                               .flags = flags});
    }
    return s;
}

static void check_given(owl_server *s, const struct given *g, const char *revision)
{
    msg *m = call_at(s, revision, g->name, "");
    if (!g->log) {
        if (!at(m, "result/content") || logged(""))
            fail_msg("%s at %s: %s", g->name, revision, json_at(m, ""));
        owl_json_doc_free(m);
        return;
    }
    struct told t = failure_in(m);
    if (t.code != -32005 || !strstr(t.text, "is at fault, not the arguments"))
        fail_msg("%s at %s: %s", g->name, revision, json_at(m, ""));
    assert_null(at(m, "result/structuredContent"));
    if (!logged(g->log))
        fail_msg("%s at %s: not in the log: %s", g->name, revision, g->log);
    owl_json_doc_free(m);
}

TEST(a_result_that_breaks_the_tools_own_schema_is_a_fault_of_the_tool, "mcp:S22")
{
    static const char *const revisions[] = {"2024-11-05", "2025-06-18", LEGACY, MODERN};
    static const struct {
        owl_handler_fn handler;
        unsigned flags;
    } ways[] = {{give, 0}, {give, OWL_INLINE}, {give_later, 0}, {give_later, OWL_INLINE}};
    for (size_t w = 0; w < OWL_COUNT(ways); w++) {
        owl_server *s = giving_server(ways[w].handler, ways[w].flags);
        server_start(s);
        for (size_t r = 0; r < OWL_COUNT(revisions); r++)
            for (size_t i = 0; i < OWL_COUNT(given); i++)
                check_given(s, &given[i], revisions[r]);
        msg *m = call_at(s, MODERN, "good", "");
        assert_string_equal(json_at(m, "result/structuredContent"), "{\"t\":1}");
        owl_json_doc_free(m);
        server_end(s);
    }
}

TEST(what_another_servers_tool_gives_is_passed_on_with_a_warning, "")
{
    owl_server *s = giving_server(give, OWL_FOREIGN);
    server_start(s);
    for (size_t i = 0; i < OWL_COUNT(given); i++) {
        msg *m = call_at(s, MODERN, given[i].name, "");
        if (!at(m, "result/content"))
            fail_msg("%s: %s", given[i].name, json_at(m, ""));
        if (given[i].how == STRUCTURED)
            assert_non_null(at(m, "result/structuredContent"));
        assert_int_equal(logged(given[i].log ? given[i].log : ""), given[i].log != NULL);
        owl_json_doc_free(m);
    }
    server_end(s);
}

static int fail_or_replace(owl_call *c, void *data)
{
    owl_result_structured(c, "{\"t\":\"draft\"}", OWL_NTS);
    if (data)
        return owl_call_fail(c, "no weather today");
    return owl_result_raw(c, "{\"content\":[],\"structuredContent\":{\"t\":2}}", OWL_NTS);
}

TEST(only_what_is_sent_counts, "mcp:S22")
{
    static char fails;
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "fails",
                           .output_schema = WEATHER,
                           .handler = fail_or_replace,
                           .data = &fails});
    add_tool(s,
             (owl_tool){.name = "replaces", .output_schema = WEATHER, .handler = fail_or_replace});
    server_start(s);
    expect_told(call_at(s, MODERN, "fails", ""), -32005, "no weather today");
    expect_int(call_at(s, MODERN, "replaces", ""), "result/structuredContent/t", 2);
    server_end(s);
}

static int give_array(owl_call *c, void *data)
{
    return owl_result_structured(c, data, OWL_NTS);
}

TEST(a_result_may_be_an_array, "mcp:S22")
{
    static char good[] = "[1,2]", bad[] = "[\"a\"]";
    owl_server *s = server_new(1);
    for (int i = 0; i < 2; i++)
        add_tool(
            s, (owl_tool){.name = i ? "bad" : "good",
                          .output_schema = "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}",
                          .handler = give_array,
                          .data = i ? bad : good});
    server_start(s);
    expect_int(call_at(s, MODERN, "good", ""), "result/structuredContent/1", 2);
    expect_told(call_at(s, MODERN, "bad", ""), -32005, "is at fault");
    msg *m = call_at(s, LEGACY, "good", ""); /* which has objects only, and the text */
    assert_null(at(m, "result/structuredContent"));
    assert_string_equal(str_at(m, "result/content/0/text"), "[1,2]");
    owl_json_doc_free(m);
    expect_told(call_at(s, LEGACY, "bad", ""), -32005, "is at fault");
    server_end(s);
}

TEST(the_result_of_a_task_is_judged_too, "mcp:S22")
{
    owl_server *s = task_server(1);
    static struct given bad = {"bad", STRUCTURED, "{\"t\":\"warm\"}", ""};
    static struct given good = {"good", STRUCTURED, "{\"t\":7}", NULL};
    struct given *both[] = {&bad, &good};
    for (size_t i = 0; i < OWL_COUNT(both); i++)
        add_tool(s, (owl_tool){.name = both[i]->name,
                               .output_schema = WEATHER,
                               .handler = give,
                               .data = both[i],
                               .flags = OWL_TASK});
    msg *m = task_when(s, task_of(s, "bad"), "completed");
    assert_true(owl_json_bool(at(m, "result/result/isError"), false));
    assert_null(at(m, "result/result/structuredContent"));
    expect_int(m, "result/result/_meta/owlclaw~error/code", -32005);
    expect_int(task_when(s, task_of(s, "good"), "completed"), "result/result/structuredContent/t",
               7);
    task_server_end(s);
}

TEST(a_result_that_cannot_be_judged_is_not_sent, "")
{
    static struct given slow = {
        "slow", STRUCTURED, "{\"s\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"}", ""};
    owl_server *s = server_with((owl_server_options){.reactors = 1, .log = to_log});
    add_tool(s, (owl_tool){.name = "slow",
                           .output_schema = "{\"type\":\"object\",\"properties\":{\"s\":{"
                                            "\"pattern\":\"^(a+)+\\\\1$\"}}}",
                           .handler = give,
                           .data = &slow});
    server_start(s);
    expect_told(call_at(s, MODERN, "slow", ""), -32005, "cannot be checked");
    assert_true(logged("a pattern takes too many steps"));
    server_end(s);
}

/* ---- many at once ---- */

enum { THREADS = 4, CALLS = 60 };

struct caller {
    owl_server *server;
    const char *revision;
};

static void *call_often(void *arg)
{
    const struct caller *w = arg;
    for (int i = 0; i < CALLS; i++) {
        if (i % 2)
            expect_told(call_at(w->server, w->revision, "both", "{\"x\":\"\"}"), -32602, "/x must");
        else
            expect_int(call_at(w->server, w->revision, "both", "{\"x\":5}"),
                       "result/structuredContent/t", 3);
    }
    return NULL;
}

TEST(calls_of_one_tool_share_its_schemas, "")
{
    static struct given good = {"both", STRUCTURED, "{\"t\":3}", NULL};
    owl_server *s = server_new(4);
    owl_tool both = {.size = sizeof both,
                     .name = "both",
                     .input_schema = POINT,
                     .output_schema = WEATHER,
                     .handler = give,
                     .data = &good};
    add_tool(s, both);
    server_start(s);
    pthread_t threads[THREADS];
    struct caller callers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){s, with_results[i % 2]};
        pthread_create(&threads[i], NULL, call_often, &callers[i]);
    }
    for (int i = 0; i < 20; i++) { /* schemas that are replaced live as long as their calls */
        add_tool(s, both);
        pause_ms(1);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    server_end(s);
}

/* ---- checks that take long ---- */

/* Whether a worker was needed for this call of an inline tool, which needs none itself. */
static bool is_judged_elsewhere(owl_server *s, const char *args, const char *path, const char *want)
{
    unsigned before = s->env.runtime->workers_made;
    msg *m = call_at(s, MODERN, "word", args);
    if (!strstr(json_at(m, path), want))
        fail_msg("%.200s", json_at(m, ""));
    owl_json_doc_free(m);
    return s->env.runtime->workers_made > before;
}

TEST(a_check_that_takes_long_holds_no_reactor, "")
{
    enum { N = 60000 };
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "word",
                           .flags = OWL_INLINE,
                           .input_schema = "{\"type\":\"object\",\"properties\":{\"w\":{"
                                           "\"pattern\":\"^(?:[a-z][a-z])+$\"}}}",
                           .handler = count});
    server_start(s);
    char *word = calloc(1, N + 2);
    memset(word, 'a', N);
    char *fits = text_of("{\"w\":\"%s\"}", word);
    word[N] = 'a';
    char *odd = text_of("{\"w\":\"%s\"}", word);
    assert_false(is_judged_elsewhere(s, "{\"w\":\"ab\"}", "result", "ran"));
    assert_false(is_judged_elsewhere(s, "{\"w\":\"abc\"}", "result", "pattern"));
    assert_true(is_judged_elsewhere(s, fits, "result", "ran"));
    expect_failed(call_at(s, MODERN, "word", odd), "/w");
    for (int i = 0; i < 20; i++) { /* clients that do not wait for the verdict */
        struct http h = http_open(s);
        char *more = text_of("\"arguments\":%s", i % 2 ? fits : odd);
        modern_call(&h, "word", more, "{}", "");
        free(more);
        http_close(&h);
    }
    free(word);
    free(fits);
    free(odd);
    server_end(s);
}

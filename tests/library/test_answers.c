/* Retries that are not quite what was asked for: answers to other questions, which cost their sender
 * nothing and nobody else either, and arguments in another spelling. */
#include "library/tasks.h"

/* {"k0":{},…,  more}, with a key of many bytes among them. */
static char *strange(unsigned keys, size_t bytes, const char *more)
{
    char *text = malloc(keys * 16u + bytes + strlen(more) + 64);
    size_t n = (size_t)sprintf(text, "{\"long\":\"%0*d\"", (int)bytes, 0);
    for (unsigned i = 0; i < keys; i++)
        n += (size_t)sprintf(text + n, ",\"k%u\":{}", i);
    sprintf(text + n, "%s%s}", *more ? "," : "", more);
    return text;
}

/* A call that is no task, with answers; frees them. */
static msg *try_call(owl_server *s, const char *tool, const char *state, char *responses)
{
    char *params = text_of("\"name\":\"%s\"%s%s%s,\"inputResponses\":%s", tool,
                           state ? ",\"requestState\":\"" : "", state ? state : "",
                           state ? "\"" : "", responses);
    msg *m = modern_with(s, "tools/call", tool, params, NO_TASKS);
    free(params);
    free(responses);
    return m;
}

TEST(a_retry_may_bring_any_answers, "mcp:S13")
{
    owl_server *s = task_server(2);
    char *first = state_of(try_call(s, "rounds", NULL, strdup("{}")));
    char *plain = state_of(try_call(s, "rounds", first, strdup("{\"a\":" ACCEPT("1") "}")));
    char *second = state_of(
        try_call(s, "rounds", first, strange(5000, 60000, "\"a\":" ACCEPT("1"))));
    assert_int_equal(strlen(second), strlen(plain)); /* nothing of them travels on */
    msg *m = try_call(s, "rounds", second,
                      strange(5000, 60000, "\"a\":" ACCEPT("9") ",\"\\u0062\":" ACCEPT("2")));
    expect_str(m, "result/content/0/text", "a=1 b=2"); /* "a" is answered: it stays */
    free(first);
    free(plain);
    free(second);
    task_server_end(s);
}

TEST(of_answers_before_the_question_the_first_are_kept, "mcp:S13")
{
    owl_server *s = task_server(1);
    expect_str(try_call(s, "plain", NULL, strange(5000, 60000, "")), "result/content/0/text",
               "quick");
    expect_str(
        try_call(s, "rounds", NULL, strange(10, 100, "\"b\":" ACCEPT("2") ",\"a\":" ACCEPT("1"))),
        "result/content/0/text", "a=1 b=2");
    /* What was not looked for, or came too late, is asked for; nothing of the rest is kept. */
    char *bare = state_of(try_call(s, "rounds", NULL, strdup("{}")));
    char *one = state_of(try_call(s, "rounds", NULL, strange(5000, 60000, "\"a\":" ACCEPT("1"))));
    char *two = state_of(try_call(s, "rounds", NULL, strange(1, 60000, "\"b\":" ACCEPT("2"))));
    assert_int_equal(strlen(one), strlen(bare));
    assert_int_equal(strlen(two), strlen(bare));
    free(bare);
    free(one);
    free(two);
    task_server_end(s);
}

TEST(a_parked_call_may_be_brought_any_answers, "mcp:S13")
{
    owl_server *s = task_server(2);
    char *state = state_of(try_call(s, "parked", NULL, strange(100, 100, "\"a\":" ACCEPT("0"))));
    char *again = state_of(try_call(s, "parked", state, strange(5000, 60000, "")));
    expect_str(try_call(s, "parked", again, strange(5000, 60000, "\"a\":" ACCEPT("1"))),
               "result/content/0/text", "parked=1");
    free(state);
    free(again);
    task_server_end(s);
}

TEST(no_arguments_are_an_empty_object, "")
{
    owl_server *s = task_server(2);
    for (int i = 0; i < 2; i++) {
        const char *tool = i ? "parked" : "ask";
        char *state = state_of(try_call(s, tool, NULL, strdup("{}")));
        char *params = text_of("\"name\":\"%s\",\"arguments\":{ },\"requestState\":\"%s\","
                               "\"inputResponses\":{\"a\":" ACCEPT("1") "}",
                               tool, state);
        expect_str(modern_with(s, "tools/call", tool, params, NO_TASKS), "result/content/0/text",
                   i ? "parked=1" : "a=1");
        free(params);
        free(state);
    }
    task_server_end(s);
}

static void check_task(owl_server *s)
{
    struct id id = task_of(s, "ask2");
    msg *m = task_when(s, id, "input_required");
    char *updated = strdup(str_at(m, "result/lastUpdatedAt")), *any = strange(5000, 60000, "");
    owl_json_doc_free(m);
    pause_ms(5);
    expect_ack(task_update(s, id, any));
    m = task_get(s, id);
    assert_string_equal(str_at(m, "result/lastUpdatedAt"), updated); /* nothing has happened */
    expect_str(m, "result/status", "input_required");
    free(any);
    any = strange(5000, 60000, "\"b\":" ACCEPT("2") ",\"a\":" ACCEPT("1"));
    expect_ack(task_update(s, id, any));
    expect_text(task_when(s, id, "completed"), "a=1 b=2");
    free(any);
    free(updated);
}

TEST(a_task_may_be_brought_any_answers, "mcp:K5")
{
    in_all_worlds(check_task);
}

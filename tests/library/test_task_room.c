/* Tasks when there is no room: for one more, for a question, for an answer. */
#include "library/hold.h"
#include "library/task_session.h"

static void small_server(unsigned reactors, const owl_limits *limits)
{
    s = server_with((owl_server_options){.reactors = reactors, .workers = 8, .limits = limits});
    add_task_tools(s);
}

/* The task of a client of its own, or "" if it is refused. */
static struct id begin_alone(const char *tool)
{
    struct http c = http_open(s);
    modern_call(&c, tool, "", TASKS, "");
    http_head(&c);
    msg *m = http_next(&c);
    struct id id = {.text = ""};
    if (at(m, "result"))
        id = id_at(m, "result/taskId");
    owl_json_doc_free(m);
    http_close(&c);
    return id;
}

TEST(tasks_that_wait_for_their_clients_give_way_whatever_else_is_open, "")
{
    enum { LISTENS = 300, TASKS_MAX = 4 };
    static struct http listens[LISTENS];
    owl_limits limits = OWL_LIMITS;
    limits.tasks = TASKS_MAX;
    small_server(1, &limits);
    server_start(s);
    for (int i = 0; i < LISTENS; i++) {
        listens[i] = http_open(s);
        listen_to(&listens[i], "{\"toolsListChanged\":true}", "{}");
        assert_int_equal(listens[i].status, 200);
    }
    for (int i = 0; i < 2 * TASKS_MAX; i++) {
        struct id id = begin_alone("ask");
        assert_string_not_equal(id.text, "");
        owl_json_doc_free(task_when(s, id, "input_required"));
    }
    for (int i = 0; i < LISTENS; i++)
        http_close(&listens[i]);
    server_end(s);
}

TEST(tasks_of_another_reactor_give_way_to_whoever_comes_next, "")
{
    enum { TASKS_MAX = 4 };
    owl_limits limits = OWL_LIMITS;
    limits.tasks = TASKS_MAX;
    small_server(2, &limits);
    server_start(s);
    struct http c = http_open(s); /* all of one reactor */
    char mine = 0;
    for (int i = 0; i < TASKS_MAX; i++) {
        modern_call(&c, "ask", "", TASKS, "");
        http_head(&c);
        msg *m = http_next(&c);
        struct id id = id_at(m, "result/taskId");
        mine = id.text[0];
        owl_json_doc_free(m);
        owl_json_doc_free(task_when(s, id, "input_required"));
    }
    bool elsewhere = false;
    int refused = 0; /* in a row */
    for (int i = 0; i < 200 && !elsewhere; i++) {
        struct id id = begin_alone("ask");
        refused = *id.text ? 0 : refused + 1;
        elsewhere = *id.text && id.text[0] != mine;
        assert_true(refused < 100);
        pause_ms(10);
    }
    assert_true(elsewhere);
    http_close(&c);
    server_end(s);
}

TEST(a_question_without_room_is_asked_when_there_is, "")
{
    enum { N = 5 }; /* one more than a session is asked if all together have too many */
    owl_limits limits = OWL_LIMITS;
    limits.questions = 1;
    small_server(1, &limits);
    server_start(s);
    h = legacy_open(s, ELICIT);
    struct id id[N];
    struct http w[N];
    msg *q[N];
    for (int i = 0; i < N; i++) {
        char request[8];
        snprintf(request, sizeof request, "%d", 100 + i);
        id[i] = begin("ask");
        wait_status(id[i], "input_required");
        w[i] = open_about(request, "tasks/result", id[i]);
        if (i < N - 1) {
            http_head(&w[i]);
            q[i] = next_question(&w[i]);
        }
    }
    for (int i = 0; i < N; i++) {
        if (i == N - 1) {
            http_head(&w[i]);
            q[i] = next_question(&w[i]);
        }
        legacy_answer(&h, q[i], ACCEPT("x"));
        expect_str(http_next(&w[i]), "result/content/0/text", "a=x");
        http_close(&w[i]);
    }
    http_close(&h);
    server_end(s);
}

static atomic_int speak;

/* Says more than is on its way to another reactor at once, and then asks. */
static int chatter(owl_call *c, void *data)
{
    (void)data;
    const owl_json *a;
    while (!atomic_load(&speak))
        usleep(500);
    for (int i = 0; i < 100000; i++)
        if (owl_call_logf(c, OWL_LEVEL_ERROR, "x", "x") == -OWL_ELIMIT)
            break;
    int rc = ask_form(c, "a", &a);
    return rc ? rc : owl_result_textf(c, "a=%s", given_name(a));
}

static bool is_asked(struct http *w)
{
    bool asked = false;
    http_head(w);
    while (!asked && http_ready(w, WAIT_MS)) {
        msg *m = http_next(w);
        asked = strcmp(str_at(m, "method"), "elicitation/create") == 0;
        owl_json_doc_free(m);
    }
    return asked;
}

TEST(a_task_that_says_much_is_heard_when_it_asks, "")
{
    enum { N = 8 };
    owl_limits limits = OWL_LIMITS;
    limits.queue_bytes = limits.replay_bytes = (size_t)1 << 28;
    limits.replay_total_bytes = (size_t)1 << 29;
    limits.replay_events = 1000000;
    small_server(2, &limits);
    add_tool(s, (owl_tool){.name = "chatter", .handler = chatter, .flags = OWL_TASK});
    server_start(s);
    h = legacy_open(s, ELICIT);
    struct http w[N];
    for (int i = 0; i < N; i++) {
        char request[8];
        snprintf(request, sizeof request, "%d", 100 + i);
        w[i] = open_about(request, "tasks/result", begin("chatter"));
    }
    pause_ms(100); /* some have arrived */
    atomic_store(&speak, 1);
    for (int i = 0; i < N; i++) {
        assert_true(is_asked(&w[i]));
        http_close(&w[i]);
    }
    http_close(&h);
    server_end(s);
}

/* Text with @p n letters between two others. */
static char *around(const char *before, size_t n, const char *after)
{
    size_t k = strlen(before);
    char *text = malloc(k + n + strlen(after) + 1);
    memcpy(text, before, k);
    memset(text + k, 'y', n);
    strcpy(text + k + n, after);
    return text;
}

TEST(who_answers_a_task_knows_that_the_answer_could_not_be_kept, "")
{
    owl_limits limits = OWL_LIMITS;
    limits.input_total_bytes = 65536;
    small_server(1, &limits);
    add_tool(s, (owl_tool){.name = "hold", .handler = hold, .input_schema = ANY_ARGUMENTS});
    server_start(s);
    struct id id = task_of(s, "ask");
    owl_json_doc_free(task_when(s, id, "input_required"));
    struct http c = http_open(s);
    char *args = around("\"arguments\":{\"a\":\"", 100000, "\"}");
    modern_call(&c, "hold", args, "{}", "");
    assert_true(reaches(&entered, 1));
    char *answer = around("{\"a\":{\"action\":\"accept\",\"content\":{\"name\":\"", 14000, "\"}}}");
    msg *m = task_update(s, id, answer);
    assert_int_equal(int_at(m, "error/code"), -32603);
    assert_true(owl_json_bool(at(m, "error/data/retryable"), false));
    owl_json_doc_free(m);
    m = task_get(s, id);
    assert_string_equal(str_at(m, "result/status"), "input_required");
    owl_json_doc_free(m);
    atomic_store(&may_leave, true);
    http_head(&c);
    http_close(&c);
    expect_ack(task_update(s, id, answer));
    owl_json_doc_free(task_when(s, id, "completed"));
    free(args);
    free(answer);
    server_end(s);
}

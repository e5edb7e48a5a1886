/* Where the parts of a server meet: tasks and stopping, questions and their memory, refusals and
 * what they repeat. */
#include "library/tasks.h"

enum { STOP_MS = 6500 }; /* five seconds, and something for a busy machine */

static owl_server *s;

/* ---- tasks that cannot be kept, and a server that stops ---- */

static void stops_in_time(unsigned reactors, unsigned delay_ms, int rc)
{
    atomic_store(&store_delay_ms, delay_ms);
    atomic_store(&begun, 0);
    s = task_server(reactors);
    task_of(s, "gate");
    task_of(s, "later_gate");
    assert_true(reaches(&begun, 2));
    atomic_store(&store_fail_rc, rc);
    atomic_store(&store_fail_puts, 1000);
    int64_t begin = now_ms();
    task_server_end(s);
    assert_true(now_ms() - begin < STOP_MS);
    atomic_store(&store_fail_puts, 0);
}

TEST(a_server_stops_in_time_with_a_store_that_fails, "")
{
    stops_in_time(1, 0, -OWL_EIO);
    stops_in_time(4, 3, -OWL_ELIMIT);
}

/* ---- what clients send to a task again and again ---- */

struct weigh {
    struct owl_msg msg;
    atomic_size_t bytes;
    atomic_int done;
};

static void weigh_here(struct owl_reactor *r, struct owl_msg *m)
{
    struct weigh *w = OWL_CONTAINER(m, struct weigh, msg);
    OWL_LIST_EACH (&owl_call_local(&s->env, r)->calls, it) {
        struct owl_call *c = OWL_CONTAINER(it, struct owl_call, node);
        if (c->task)
            atomic_fetch_add(&w->bytes, owl_arena_used(c->arena));
    }
    atomic_fetch_add(&w->done, 1);
}

/* Memory of the calls that run as tasks, on a server of one reactor. */
static size_t weight_of_tasks(void)
{
    struct weigh w = {.msg.run = weigh_here};
    assert_true(owl_post(owl_runtime_at(s->env.runtime, 0), &w.msg));
    assert_true(reaches(&w.done, 1));
    return atomic_load(&w.bytes);
}

TEST(a_task_does_not_grow_by_answers_that_it_did_not_ask_for, "mcp:K5")
{
    s = task_server(1);
    struct id id = task_of(s, "ask");
    owl_json_doc_free(task_when(s, id, "input_required"));
    size_t before = weight_of_tasks();
    char *responses = text_of("{\"%0100000d\":" ACCEPT("Ann") ",\"\\u0062\":" ACCEPT("Bea") "}", 0);
    for (int i = 0; i < 20; i++)
        expect_ack(task_update(s, id, responses));
    free(responses);
    assert_int_equal(weight_of_tasks(), before);
    expect_ack(task_update(s, id, "{\"\\u0061\":" ACCEPT("Cid") "}"));
    expect_text(task_when(s, id, "completed"), "a=Cid");
    task_server_end(s);
}

/* ---- refusals ---- */

/* A version longer than anything that a refusal has room for. */
static char *long_version(void)
{
    return text_of("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                   "\"io.modelcontextprotocol/protocolVersion\":\"%09000d\"}}}",
                   1);
}

static void expect_refusal(msg *m)
{
    assert_int_equal(int_at(m, "id"), 7);
    assert_int_equal(owl_json_len(at(m, "error/data/supported")), 5);
    expect_int(m, "error/code", -32022);
}

TEST(a_version_of_any_length_is_refused_with_a_whole_message, "")
{
    s = server_new(1);
    struct pipes p = pipes_open(s);
    server_start(s);
    char *text = long_version();
    char *headers = text_of(POST_HEADERS "MCP-Protocol-Version: %09000d\r\n", 1);
    struct http h = http_open(s);
    http_send(&h, "POST", headers, text);
    assert_int_equal(http_head(&h), 400);
    expect_refusal(http_next(&h));
    http_close(&h);
    pipes_send(&p, text);
    expect_refusal(pipes_next(&p));
    free(headers);
    free(text);
    server_end(s);
    pipes_close(&p);
}

static char refused[512];

static void keep_refusal(void *data, owl_level level, const char *line)
{
    (void)data;
    (void)level;
    if (strstr(line, "refused: "))
        snprintf(refused, sizeof refused, "%s", line);
}

TEST(a_refusal_has_the_same_trace_id_in_the_reply_and_in_the_log, "")
{
    s = server_with((owl_server_options){.reactors = 1, .log = keep_refusal});
    server_start(s);
    struct http h = http_open(s);
    http_send(&h, "POST", POST_HEADERS, "{");
    assert_int_equal(http_head(&h), 400);
    msg *m = http_next(&h);
    assert_int_equal(strlen(str_at(m, "error/data/trace_id")), 32);
    http_close(&h);
    server_end(s); /* what was logged is written */
    assert_non_null(strstr(refused, str_at(m, "error/data/trace_id")));
    owl_json_doc_free(m);
}

/* ---- a policy that takes its time ---- */

struct pause {
    struct owl_timer timer;
    struct owl_call *call; /* counted */
};

static atomic_uint admit_ms, settle_ms; /* 0: at once */

static void go_on(struct owl_timer *t)
{
    struct pause *p = OWL_CONTAINER(t, struct pause, timer);
    struct owl_call *c = p->call;
    free(p);
    owl_call_resume(c);
    owl_call_unref(c);
}

static enum owl_verdict slowly(struct owl_call *c, unsigned ms)
{
    if (!ms)
        return OWL_NEXT;
    struct pause *p = malloc(sizeof *p);
    p->call = owl_call_ref(c);
    owl_timer_init(&p->timer, go_on);
    owl_timer_start(c->reactor, &p->timer, ms);
    return OWL_SUSPEND;
}

static enum owl_verdict admit_slowly(void *self, struct owl_call *c)
{
    (void)self;
    return slowly(c, atomic_load(&admit_ms));
}

static enum owl_verdict settle_slowly(void *self, struct owl_call *c)
{
    (void)self;
    return slowly(c, atomic_load(&settle_ms));
}

static owl_server *slow_server(unsigned reactors)
{
    static const struct owl_policy_ops slow = {admit_slowly, settle_slowly};
    owl_limits limits = OWL_LIMITS;
    atomic_store(&admit_ms, 2);
    atomic_store(&settle_ms, 20);
    limits.parked = 2;
    limits.question_ms = 1000;
    s = server_with((owl_server_options){.reactors = reactors, .limits = &limits});
    s->env.policy = &slow;
    add_task_tools(s);
    use_store(s, 1000, 1 << 20);
    server_start(s);
    return s;
}

static void retry(const char *state, const char *want)
{
    char *params = text_of(
        "\"name\":\"parked\",\"requestState\":\"%s\",\"inputResponses\":{\"a\":%s}", state,
        ACCEPT("Ann"));
    msg *m = modern_with(s, "tools/call", "parked", params, NO_TASKS);
    if (!strstr(json_at(m, ""), want))
        fail_msg("%s", json_at(m, ""));
    owl_json_doc_free(m);
    free(params);
}

TEST(parked_calls_end_once_however_long_their_settling_takes, "")
{
    for (unsigned reactors = 1; reactors <= 4; reactors *= 2) {
        s = slow_server(reactors);
        msg *first = modern_tool(s, "parked", NO_TASKS), *second = NULL;
        for (unsigned i = 0; i < 3 * reactors; i++) { /* too many: the oldest give way */
            owl_json_doc_free(second);
            second = modern_tool(s, "parked", NO_TASKS);
        }
        if (reactors == 1)
            retry(str_at(first, "result/requestState"), "used before or has expired");
        retry(str_at(second, "result/requestState"), "parked=Ann");
        retry(str_at(second, "result/requestState"), "used before or has expired");
        owl_json_doc_free(first);
        owl_json_doc_free(second);
        owl_json_doc_free(modern_tool(s, "parked", NO_TASKS)); /* at its deadline, or the stop */
        pause_ms(reactors == 2 ? 1010 : 0);
        task_server_end(s);
    }
}

TEST(tasks_end_once_however_long_their_settling_takes, "")
{
    for (unsigned reactors = 1; reactors <= 4; reactors *= 2) {
        atomic_store(&store_delay_ms, reactors - 1);
        s = slow_server(reactors);
        expect_text(task_when(s, task_of(s, "quick"), "completed"), "quick");
        struct id id = task_of(s, "ask");
        owl_json_doc_free(task_when(s, id, "input_required"));
        expect_ack(about(s, "tasks/cancel", id, ""));
        expect_ack(task_update(s, id, "{\"a\":" ACCEPT("Ann") "}"));
        owl_json_doc_free(task_when(s, id, "cancelled"));
        owl_json_doc_free(task_when(s, task_of(s, "ask"), "input_required"));
        task_server_end(s);
    }
}

/* A client that hangs up while the policy thinks about its call. */
static void leave_undecided(const char *tool, unsigned ms)
{
    struct http h = http_open(s);
    modern_call(&h, tool, "", TASKS, "");
    pause_ms(ms);
    http_close(&h);
}

TEST(a_call_that_ends_before_it_is_admitted_ends_once, "")
{
    static const struct {
        unsigned admit, settle;
    } paces[] = {{30, 0}, {30, 10}, {20, 40}};
    for (size_t i = 0; i < OWL_COUNT(paces); i++) {
        s = slow_server(2);
        atomic_store(&admit_ms, paces[i].admit);
        atomic_store(&settle_ms, paces[i].settle);
        for (unsigned k = 0; k < 10; k++)
            leave_undecided(k % 2 ? "plain" : "gate", k * 4);
        expect_str(modern_tool(s, "plain", TASKS), "result/content/0/text", "quick");
        atomic_store(&gate, 1);
        pause_ms(100);
        task_server_end(s);
    }
}

/* ---- a stream that is read on another reactor than it is written ---- */

static struct http resume(const struct http *session, const char *last)
{
    struct http g = http_join(session);
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n"
                            "Last-Event-ID: %s\r\n",
                            session->session, last);
    http_send(&g, "GET", headers, "");
    free(headers);
    assert_int_equal(http_head(&g), 200);
    return g;
}

/* A session whose call tells something, loses its stream and goes on with another. */
static struct http broken_and_resumed(struct http *h)
{
    struct http c = http_join(h);
    legacy_call(&c, "tell", "\"_meta\":{\"progressToken\":1}");
    assert_int_equal(http_head(&c), 200);
    owl_json_doc_free(http_next(&c));
    char last[64];
    snprintf(last, sizeof last, "%s", c.event);
    http_close(&c);
    return resume(h, last);
}

TEST(a_stream_that_was_resumed_has_its_answer_when_the_server_stops, "mcp:L8")
{
    for (int i = 0; i < 4; i++) { /* the reactors are drawn by lot */
        atomic_store(&gate, 0);
        atomic_store(&begun, 0);
        s = server_new(4);
        add_task_tools(s);
        server_start(s);
        struct http h = legacy_open(s, "{}"), g = broken_and_resumed(&h);
        assert_true(reaches(&begun, 1));
        owl_server_stop(s);
        pause_ms(1000); /* longer than an idle reactor lingers */
        atomic_store(&gate, 2);
        msg *m = NULL;
        while ((m = http_next(&g)) && !at(m, "result"))
            owl_json_doc_free(m);
        expect_str(m, "result/content/0/text", "through");
        http_close(&g);
        http_close(&h);
        int64_t begin = now_ms();
        assert_int_equal(owl_server_join(s), 0);
        assert_true(now_ms() - begin < 3000);
        owl_server_free(s);
    }
}

/* ---- tasks, keep-alive and resumption ---- */

static owl_server *impatient_server(unsigned reactors)
{
    owl_limits limits = OWL_LIMITS;
    limits.keepalive_ms = 20; /* whatever waits becomes a stream soon */
    limits.replay_ms = 500;
    s = server_with((owl_server_options){.reactors = reactors, .limits = &limits});
    add_task_tools(s);
    use_store(s, 1000, 1 << 20);
    server_start(s);
    return s;
}

static struct http session_send(const struct http *h, const char *id, const char *method,
                                const char *params)
{
    struct http c = http_join(h);
    char *text = legacy_text(id, method, params);
    legacy_send(&c, text);
    free(text);
    return c;
}

static struct http wait_for(const struct http *h, const char *id, struct id task)
{
    char *params = text_of("\"taskId\":\"%s\"", task.text);
    struct http c = session_send(h, id, "tasks/result", params);
    free(params);
    assert_int_equal(http_head(&c), 200);
    return c;
}

static struct id legacy_task(const struct http *h, const char *tool)
{
    char *params = text_of("\"name\":\"%s\",\"task\":{}", tool);
    struct http c = session_send(h, "1", "tools/call", params);
    free(params);
    assert_int_equal(http_head(&c), 200);
    msg *m = http_next(&c);
    struct id id = id_at(m, "result/task/taskId");
    owl_json_doc_free(m);
    http_close(&c);
    return id;
}

/* Reads until a message of that method comes; "": the answer. */
static msg *read_until(struct http *c, const char *method)
{
    msg *m;
    while ((m = http_next(c)) && strcmp(at(m, "method") ? str_at(m, "method") : "", method) != 0)
        owl_json_doc_free(m);
    assert_non_null(m);
    return m;
}

/* The event that the stream began with: it has an id before anything was said. */
static void read_first_event(struct http *c)
{
    while (!c->event[0]) {
        while (!c->body.n || !strstr(c->body.p, "\n\n"))
            assert_true(http_piece(c));
        size_t n = (size_t)(strstr(c->body.p, "\n\n") - c->body.p);
        http_data(c, n);
        bytes_drop(&c->body, n + 2);
    }
}

static void wait_and_resume(unsigned reactors)
{
    s = impatient_server(reactors);
    struct http h = legacy_open(s, "{\"elicitation\":{}}");
    atomic_store(&gate, 0);
    /* It waits in silence: the keep-alive makes a stream of it. It breaks, and is resumed. */
    struct id quiet = legacy_task(&h, "gate");
    struct http c = wait_for(&h, "2", quiet);
    read_first_event(&c);
    http_close(&c);
    struct http g = resume(&h, c.event);
    atomic_store(&gate, 1);
    msg *m = read_until(&g, "");
    assert_int_equal(int_at(m, "id"), 2);
    expect_str(m, "result/content/0/text", "through");
    http_close(&g);
    /* A question is kept with the stream, and asked again elsewhere when another waits. */
    struct id id = legacy_task(&h, "rounds");
    c = wait_for(&h, "3", id);
    msg *lost = read_until(&c, "elicitation/create");
    http_close(&c);
    g = resume(&h, c.event);
    struct http other = wait_for(&h, "4", id);
    legacy_answer(&h, read_until(&other, "elicitation/create"), ACCEPT("Ann"));
    owl_json_doc_free(read_until(&g, "notifications/cancelled"));
    legacy_answer(&h, lost, ACCEPT("Nobody")); /* too late */
    m = read_until(&other, "elicitation/create");
    http_close(&other); /* back to the one that was resumed, when the log of this one is gone */
    owl_json_doc_free(m);
    legacy_answer(&h, read_until(&g, "elicitation/create"), ACCEPT("Bea"));
    m = read_until(&g, "");
    assert_int_equal(int_at(m, "id"), 3);
    expect_str(m, "result/content/0/text", "a=Ann b=Bea");
    http_close(&g);
    http_close(&h);
    task_server_end(s);
    assert_int_equal(atomic_load(&begun), 1);
    atomic_store(&begun, 0);
}

TEST(waiting_for_a_task_survives_a_broken_stream, "mcp:L8 mcp:L13")
{
    for (unsigned reactors = 1; reactors <= 4; reactors *= 2)
        wait_and_resume(reactors);
}

/* Every state at once, and the stop. */
static void stop_amidst(unsigned reactors)
{
    s = impatient_server(reactors);
    struct http h = legacy_open(s, "{\"elicitation\":{}}");
    atomic_store(&gate, 0);
    struct id asks = legacy_task(&h, "ask"), works = legacy_task(&h, "gate");
    struct http waiters[] = {wait_for(&h, "2", asks), wait_for(&h, "3", asks),
                             wait_for(&h, "4", works)};
    owl_json_doc_free(read_until(&waiters[1], "elicitation/create"));
    http_close(&waiters[1]); /* kept */
    read_first_event(&waiters[2]);
    http_close(&waiters[2]);
    struct http resumed = resume(&h, waiters[2].event);
    struct http parked = http_open(s), retry = http_open(s), asking = http_join(&h);
    modern_call(&parked, "parked_later", "", NO_TASKS, "");
    assert_int_equal(http_head(&parked), 200);
    msg *m = http_next(&parked);
    char *more = text_of("\"requestState\":\"%s\",\"inputResponses\":{\"a\":%s}",
                         str_at(m, "result/requestState"), ACCEPT("Ann"));
    modern_call(&retry, "parked_later", more, NO_TASKS, ""); /* a front, and a stream by now */
    legacy_call(&asking, "ask", "");
    pause_ms(60);
    int64_t begin = now_ms();
    task_server_end(s);
    assert_true(now_ms() - begin < STOP_MS);
    free(more);
    owl_json_doc_free(m);
    struct http *all[] = {&h, &waiters[0], &resumed, &parked, &retry, &asking};
    for (size_t i = 0; i < OWL_COUNT(all); i++)
        http_close(all[i]);
}

TEST(a_server_stops_in_time_in_every_state, "")
{
    stop_amidst(1);
    stop_amidst(2);
    stop_amidst(4);
}

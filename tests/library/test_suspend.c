/* Calls that wait for a policy or a store that takes its time, or never answers: nobody is answered
 * who has cancelled, a stop ends them, and what comes too late is ignored. */
#include "library/tasks.h"

enum { HELD = 16 };

static owl_server *s;
static atomic_int n_held;
static struct owl_call *held[HELD]; /* that the policy has suspended, counted */
static atomic_bool holds_admit, holds_settle;

static enum owl_verdict hold(struct owl_call *c, bool yes)
{
    static atomic_int places;
    if (!yes)
        return OWL_NEXT;
    held[atomic_fetch_add(&places, 1)] = owl_call_ref(c);
    atomic_fetch_add(&n_held, 1); /* and it may be looked at */
    return OWL_SUSPEND;
}

static enum owl_verdict admit(void *self, struct owl_call *c)
{
    (void)self;
    return hold(c, atomic_load(&holds_admit));
}

static enum owl_verdict settle(void *self, struct owl_call *c)
{
    (void)self;
    return hold(c, atomic_load(&holds_settle));
}

static void begin(unsigned reactors, unsigned timeout_ms)
{
    static const struct owl_policy_ops policy = {admit, settle};
    s = server_with((owl_server_options){.reactors = reactors, .timeout_ms = timeout_ms});
    s->env.policy = &policy;
    add_task_tools(s);
    use_store(s, 1000, 1 << 20);
}

static void let_go(void)
{
    for (int i = 0; i < atomic_load(&n_held); i++)
        owl_call_unref(held[i]);
    atomic_store(&n_held, 0);
}

struct resume {
    struct owl_msg msg;
    struct owl_call *call;
    atomic_int done;
};

static void on_resume(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct resume *x = OWL_CONTAINER(m, struct resume, msg);
    owl_call_resume(x->call);
    atomic_store(&x->done, 1);
}

static void resume(struct owl_call *c)
{
    struct resume x = {.msg.run = on_resume, .call = c};
    assert_true(owl_post(c->reactor, &x.msg));
    assert_true(reaches(&x.done, 1));
}

/* ---- who is answered ---- */

TEST(a_client_that_cancelled_is_not_answered_at_the_deadline, "")
{
    begin(1, 100);
    struct pipes p = pipes_open(s);
    server_start(s);
    pipes_initialize(&p, "{}");
    atomic_store(&holds_settle, true);
    pipes_call(&p, "7", "gate");
    assert_true(reaches(&begun, 1));
    pipes_send(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                   "\"requestId\":7}}");
    assert_true(reaches(&n_held, 1));
    msg *m = pipes_next_in(&p, 300); /* longer than the deadline */
    if (m)
        fail_msg("%s", json_at(m, ""));
    atomic_store(&holds_settle, false);
    resume(held[0]);
    pipes_send(&p, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}");
    expect_int(pipes_next(&p), "id", 8);
    task_server_end(s);
    let_go();
    pipes_close(&p);
}

static atomic_int slow_begun;

/* Fails, with words of its own, long after it was ended. */
static int fail_late(owl_call *c, void *data)
{
    (void)data;
    atomic_store(&slow_begun, 1);
    while (!owl_call_cancelled(c))
        usleep(100);
    for (int i = 0; i < 50; i++) {
        usleep(200);
        owl_call_fail(c, "too late %d", i);
    }
    return -OWL_ETOOL;
}

TEST(a_handler_that_fails_late_does_not_disturb_the_settling, "")
{
    begin(2, 50);
    add_tool(s, (owl_tool){.name = "late", .handler = fail_late});
    server_start(s);
    atomic_store(&holds_settle, true);
    struct http h = http_open(s);
    modern_call(&h, "late", "", "{}", "");
    assert_true(reaches(&n_held, 1));
    resume(held[0]);
    http_head(&h);
    expect_failed(http_next(&h), "took too long");
    atomic_store(&holds_settle, false);
    http_close(&h);
    server_end(s);
    let_go();
}

/* ---- a stop waits for nobody ---- */

TEST(a_stop_ends_calls_that_the_policy_never_settles, "")
{
    begin(2, 0);
    server_start(s);
    atomic_store(&holds_settle, true);
    struct http h = http_open(s);
    modern_call(&h, "plain", "", "{}", "");
    assert_true(reaches(&n_held, 1));
    owl_server_stop(s);
    http_head(&h);
    expect_str(http_next(&h), "result/content/0/text", "quick"); /* it has run */
    assert_int_equal(owl_server_join(s), 0);
    let_go();
    owl_server_free(s);
    http_close(&h);
}

TEST(a_stop_ends_calls_that_the_policy_never_admits, "")
{
    begin(2, 0);
    server_start(s);
    atomic_store(&holds_admit, true);
    struct http h = http_open(s);
    modern_call(&h, "plain", "", "{}", "");
    assert_true(reaches(&n_held, 1));
    server_end(s);
    let_go();
    http_close(&h);
}

TEST(a_stop_ends_calls_about_tasks_whose_store_is_silent, "")
{
    begin(2, 0);
    server_start(s);
    struct id id = task_of(s, "gate");
    atomic_store(&store_silent, true);
    struct http h = http_open(s);
    char *params = text_of("\"taskId\":\"%s\"", id.text);
    char *text = modern_text("1", "tasks/get", params, TASKS, "");
    modern_send(&h, id.text, text);
    assert_true(reaches(&store_out, 1));
    atomic_store(&gate, 1); /* the outcome of the task is not kept either */
    assert_true(reaches(&store_out, 2));
    server_end(s);
    assert_int_equal(atomic_load(&store_out), 0);
    free(text);
    free(params);
    http_close(&h);
}

/* ---- ids, and calls that end each other ---- */

TEST(an_id_that_is_in_use_is_refused_while_the_policy_decides, "")
{
    begin(1, 0);
    struct pipes p = pipes_open(s);
    server_start(s);
    pipes_initialize(&p, "{}");
    atomic_store(&holds_admit, true);
    pipes_call(&p, "7", "plain");
    assert_true(reaches(&n_held, 1));
    pipes_call(&p, "7", "plain");
    assert_true(reaches(&n_held, 2));
    msg *m = pipes_next(&p);
    assert_non_null(strstr(str_at(m, "error/message"), "in use"));
    owl_json_doc_free(m);
    resume(held[1]); /* too late: it is over */
    resume(held[0]);
    expect_str(pipes_next(&p), "result/content/0/text", "quick");
    atomic_store(&holds_admit, false);
    task_server_end(s);
    let_go();
    pipes_close(&p);
}

static owl_call *partner; /* kept by the first of two calls, which the end of the other finishes */
static atomic_int partners;

static void finish_partner(owl_call *c, void *data)
{
    (void)c;
    (void)data;
    OWL_IGNORE(owl_call_finish(partner, 0)); /* it may have been ended before */
}

static int keep_first(owl_call *c, void *data)
{
    (void)data;
    if (!partner)
        partner = owl_call_ref(c);
    else
        OWL_IGNORE(owl_call_on_cancel(c, finish_partner, NULL)); /* nothing else is set */
    atomic_fetch_add(&partners, 1);
    return OWL_LATER;
}

TEST(a_stop_ends_calls_that_finish_each_other, "")
{
    begin(1, 0);
    add_tool(s, (owl_tool){.name = "pair", .handler = keep_first, .flags = OWL_INLINE});
    server_start(s);
    struct http a = http_open(s), b = http_open(s), c = http_open(s);
    /* In the list of calls the partner follows the one whose end finishes it. */
    modern_call(&b, "gate", "", "{}", "");
    assert_true(reaches(&begun, 1));
    modern_call(&a, "pair", "", "{}", "");
    assert_true(reaches(&partners, 1));
    modern_call(&c, "pair", "", "{}", "");
    assert_true(reaches(&partners, 2));
    owl_server_stop(s);
    owl_server_stop(s);
    assert_int_equal(owl_server_join(s), 0);
    owl_call_unref(partner);
    owl_server_free(s);
    http_close(&a);
    http_close(&b);
    http_close(&c);
}

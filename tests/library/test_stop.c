/* The stop of a server: bounded, whatever suspends its calls, and shorter for who asks twice. */
#include "library/hold.h"
#include "library/task_store.h"

/* ---- who asks twice ---- */

struct held {
    owl_server *server;
    struct http http;
};

static struct held hold_one(void)
{
    struct held h = {.server = server_new(2)};
    int before = atomic_load(&entered);
    add_tool(h.server, (owl_tool){.name = "hold", .handler = hold});
    server_start(h.server);
    h.http = http_open(h.server);
    modern_call(&h.http, "hold", "", "{}", "");
    assert_true(reaches(&entered, before + 1));
    return h;
}

static void held_end(struct held *h)
{
    http_close(&h->http);
    atomic_store(&may_leave, true);
    assert_int_equal(owl_server_join(h->server), 0);
    owl_server_free(h->server);
}

/* Of two servers that stop, the later one is asked again: it ends its call while the other still
 * waits. */
TEST(a_second_stop_does_not_wait, "")
{
    struct held patient = hold_one(), hasty = hold_one();
    owl_server_stop(patient.server);
    owl_server_stop(hasty.server);
    owl_server_stop(hasty.server);
    assert_int_equal(http_head(&hasty.http), 200);
    expect_str(http_next(&hasty.http), "error/message", "the server is stopping; try again");
    struct pollfd p = {.fd = patient.http.fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 0), 0);
    atomic_store(&may_leave, true);
    assert_int_equal(http_head(&patient.http), 200);
    expect_str(http_next(&patient.http), "result/content/0/text", "held");
    held_end(&patient);
    held_end(&hasty);
}

static owl_server *pipe_server(struct pipes *p)
{
    owl_server *s = server_new(1);
    int before = atomic_load(&entered);
    add_tool(s, (owl_tool){.name = "hold", .handler = hold});
    *p = pipes_open(s);
    assert_int_equal(owl_server_start(s, NULL), 0);
    pipes_initialize(p, "{}");
    pipes_call(p, "7", "hold");
    assert_true(reaches(&entered, before + 1));
    return s;
}

static void end_input(struct pipes *p)
{
    close(p->in);
    p->in = -1;
}

/* The same where the end of input has begun the stop, as when a signal comes next. */
TEST(a_stop_after_the_end_of_input_does_not_wait, "")
{
    struct pipes patient, hasty;
    owl_server *a = pipe_server(&patient), *b = pipe_server(&hasty);
    end_input(&patient);
    end_input(&hasty);
    while (atomic_load(&b->phase) != OWL_PHASE_STOPPING)
        usleep(200);
    owl_server_stop(b);
    expect_str(pipes_next(&hasty), "error/message", "the server is stopping; try again");
    struct pollfd p = {.fd = patient.out, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 0), 0);
    atomic_store(&may_leave, true);
    expect_str(pipes_next(&patient), "result/content/0/text", "held");
    owl_server_free(a);
    owl_server_free(b);
    pipes_close(&patient);
    pipes_close(&hasty);
}

/* A client that closes its end because the server stops still gets its answer. */
TEST(the_end_of_input_hurries_nobody, "")
{
    struct pipes p;
    owl_server *s = pipe_server(&p);
    owl_server_stop(s);
    while (atomic_load(&s->phase) != OWL_PHASE_STOPPING)
        usleep(200);
    end_input(&p);
    pause_ms(50);
    atomic_store(&may_leave, true);
    expect_str(pipes_next(&p), "result/content/0/text", "held");
    owl_server_free(s); /* nor does this */
    pipes_close(&p);
}

/* ---- calls that nobody ends ---- */

static struct owl_call *kept; /* by a policy that never answers */
static atomic_int settling;
static atomic_int complaints;

static void on_log(void *data, owl_level level, const char *line)
{
    (void)data;
    if (level == OWL_LEVEL_ERROR && strstr(line, "could not be recorded in time"))
        atomic_fetch_add(&complaints, 1);
}

static enum owl_verdict admit_all(void *self, struct owl_call *c)
{
    (void)self;
    (void)c;
    return OWL_NEXT;
}

static enum owl_verdict settle_never(void *self, struct owl_call *c)
{
    (void)self;
    kept = owl_call_ref(c);
    atomic_fetch_add(&settling, 1);
    return OWL_SUSPEND;
}

static int hello(owl_call *c, void *data)
{
    (void)data;
    return owl_result_text(c, "hello");
}

static owl_server *stuck_server(void)
{
    static const struct owl_policy_ops silent = {admit_all, settle_never};
    owl_server *s = server_with((owl_server_options){.reactors = 2, .log = on_log});
    s->env.policy = &silent;
    add_tool(s, (owl_tool){.name = "t", .handler = hello});
    return s;
}

TEST(a_policy_that_never_settles_does_not_keep_the_server, "")
{
    owl_server *s = stuck_server();
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "t", "", "{}", "");
    assert_true(reaches(&settling, 1));
    owl_server_stop(s);
    owl_server_stop(s);
    assert_int_equal(owl_server_join(s), 0);
    owl_server_free(s);
    assert_int_equal(atomic_load(&complaints), 1);
    assert_int_equal(http_head(&h), 200);
    expect_str(http_next(&h), "result/content/0/text", "hello"); /* it has run */
    http_close(&h);
    owl_call_unref(kept);
}

/* … nor one on pipes, nor on the runtime of another, where the policy may go on at last: too late. */
static void resume_kept(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    (void)m;
    owl_call_resume(kept);
    owl_call_unref(kept);
    kept = NULL;
    atomic_fetch_add(&settling, 1);
}

TEST(a_policy_that_settles_after_the_stop_is_ignored, "")
{
    const struct owl_runtime_options o = {.reactors = 1, .workers = 2, .max_queued_work = 10};
    struct owl_runtime *rt = NULL;
    assert_int_equal(owl_runtime_new(&o, &rt, NULL), 0);
    owl_server *s = stuck_server(), *stays = server_new(1);
    struct pipes p = pipes_open(s);
    assert_int_equal(owl_server_attach(s, rt, NULL), 0);
    assert_int_equal(owl_server_attach(stays, rt, NULL), 0);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    pipes_initialize(&p, "{}");
    pipes_call(&p, "7", "t");
    assert_true(reaches(&settling, 1));
    owl_server_stop(s);
    owl_server_stop(s);
    assert_int_equal(owl_server_join(s), 0);
    owl_server_free(s);
    assert_int_equal(atomic_load(&complaints), 1);
    struct owl_msg m = {.run = resume_kept};
    assert_true(owl_post(kept->reactor, &m));
    assert_true(reaches(&settling, 2));
    server_end(stays);
    owl_runtime_join(rt);
    owl_runtime_aunref(rt);
    pipes_close(&p);
}

TEST(a_silent_store_of_tasks_does_not_keep_the_server, "")
{
    owl_server *s = server_with((owl_server_options){.reactors = 2, .log = on_log});
    add_tool(s, (owl_tool){.name = "t", .handler = hello, .flags = OWL_TASK});
    use_store(s, 100, 1 << 20);
    server_start(s);
    atomic_store(&store_silent, true);
    struct http h = http_open(s);
    char *text = modern_text("1", "tasks/get", "\"taskId\":\"0-none\"",
                             "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}", "");
    modern_send(&h, "0-none", text);
    free(text);
    assert_true(reaches(&store_out, 1));
    owl_server_stop(s);
    owl_server_stop(s);
    assert_int_equal(owl_server_join(s), 0);
    owl_server_free(s);
    assert_int_equal(atomic_load(&store_out), 0); /* which was told so at its end */
    http_close(&h);
}

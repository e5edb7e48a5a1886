/* Several servers on one runtime: they serve at once, come and go on their own, and leave nothing
 * behind. */
#include "base/alloc.h"
#include "library/hold.h"
#include "server/server.h"

static int hello(owl_call *c, void *data)
{
    return owl_result_text(c, data);
}

static struct owl_runtime *runtime_new(unsigned reactors)
{
    const struct owl_runtime_options o = {
        .reactors = reactors, .workers = 4, .max_queued_work = 1000};
    struct owl_runtime *rt = NULL;
    assert_int_equal(owl_runtime_new(&o, &rt, NULL), 0);
    return rt;
}

static struct owl_runtime *runtime_started(unsigned reactors)
{
    struct owl_runtime *rt = runtime_new(reactors);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    return rt;
}

/* The runtime has stopped by itself. */
static void runtime_end(struct owl_runtime *rt)
{
    owl_runtime_join(rt);
    owl_runtime_aunref(rt);
}

static char one[] = "one", two[] = "two";

static owl_server *server_of(char *word)
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "who", .handler = hello, .data = word});
    add_tool(s, (owl_tool){.name = "hold", .handler = hold});
    add_resource(s, (owl_resource){.uri = "x:y", .name = "r", .text = "t"});
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", NULL), 0);
    return s;
}

static void attach(owl_server *s, struct owl_runtime *rt)
{
    owl_error e = {0};
    if (owl_server_attach(s, rt, &e) != 0)
        fail_msg("%s", e.message);
}

static void says(owl_server *s, const char *word)
{
    expect_str(call(s, "who"), "result/content/0/text", word);
}

/* A legacy session with a stream that hears of changes. */
static struct http listener_of(owl_server *s, struct http *ret_session)
{
    *ret_session = legacy_open(s, "{}");
    struct http g = http_join(ret_session);
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n",
                            ret_session->session);
    http_send(&g, "GET", headers, "");
    free(headers);
    assert_int_equal(http_head(&g), 200);
    return g;
}

TEST(two_servers_live_on_one_runtime, "")
{
    for (unsigned reactors = 1; reactors <= 3; reactors++) {
        struct owl_runtime *rt = runtime_new(reactors);
        owl_server *a = server_of(one), *b = server_of(two);
        attach(a, rt); /* before the start */
        assert_int_equal(owl_runtime_start(rt, NULL), 0);
        attach(b, rt); /* while it runs */
        says(a, "one");
        says(b, "two");
        struct http session, g = listener_of(a, &session);
        assert_int_equal(owl_server_remove_resource(a, "x:y"), 0);
        expect_str(http_next(&g), "method", "notifications/resources/list_changed");
        server_end(a);
        assert_null(http_next(&g));
        http_close(&g);
        http_close(&session);
        says(b, "two");

        a = server_of(one);
        attach(a, rt);
        says(a, "one");
        says(b, "two");
        server_end(b);
        says(a, "one");
        server_end(a); /* the last one */
        runtime_end(rt);
    }
}

TEST(a_drain_of_the_runtime_stops_all_servers, "")
{
    struct owl_runtime *rt = runtime_started(2);
    owl_server *a = server_of(one), *b = server_of(two);
    attach(a, rt);
    attach(b, rt);
    says(a, "one");
    owl_runtime_drain(rt);
    assert_int_equal(owl_server_join(a), 0);
    assert_int_equal(owl_server_join(b), 0);
    owl_error e = {0};
    owl_server *late = server_of(one);
    assert_int_equal(owl_server_attach(late, rt, &e), -OWL_ESTATE);
    assert_int_equal(owl_server_join(late), 0);
    owl_server_free(late);
    owl_server_free(a);
    runtime_end(rt);
    owl_server_free(b); /* holds the runtime: the order does not matter */
}

static void *call_hold(void *arg)
{
    owl_json_doc_free(call(arg, "hold"));
    return NULL;
}

/* Its handlers are awaited, and nobody else's. */
TEST(a_server_leaves_after_its_handlers, "")
{
    struct owl_runtime *rt = runtime_started(2);
    owl_server *a = server_of(one), *b = server_of(two);
    pthread_t t;
    attach(a, rt);
    attach(b, rt);
    assert_int_equal(pthread_create(&t, NULL, call_hold, a), 0);
    assert_true(reaches(&entered, 1));
    server_end(b);
    owl_server_stop(a);
    owl_server_stop(a); /* the client has its answer, the handler goes on */
    pthread_join(t, NULL);
    pause_ms(20);
    pthread_mutex_lock(&a->lock);
    assert_false(a->gone);
    pthread_mutex_unlock(&a->lock);
    atomic_store(&may_leave, true);
    server_end(a);
    runtime_end(rt);
}

/* A program that changes what its server offers until the server has gone, and afterwards. */
static atomic_bool enough;

static void *meddle(void *arg)
{
    owl_server *s = arg;
    while (!atomic_load(&enough)) {
        add_resource(s, (owl_resource){.uri = "x:z", .name = "r", .text = "t"});
        assert_int_equal(owl_server_resource_updated(s, "x:y"), 0);
        assert_int_equal(owl_server_remove_resource(s, "x:z"), 0);
    }
    return NULL;
}

TEST(servers_come_and_go_under_load, "")
{
    struct owl_runtime *rt = runtime_started(3);
    owl_server *stays = server_of(two);
    attach(stays, rt);
    for (int i = 0; i < 12; i++) {
        owl_server *s = server_of(one);
        attach(s, rt);
        struct http sessions[3], streams[3];
        for (int k = 0; k < 3; k++)
            streams[k] = listener_of(s, &sessions[k]);
        pthread_t t;
        atomic_store(&enough, false);
        assert_int_equal(pthread_create(&t, NULL, meddle, s), 0);
        says(s, "one");
        owl_server_stop(s);
        says(stays, "two");
        assert_int_equal(owl_server_join(s), 0);
        atomic_store(&enough, true);
        pthread_join(t, NULL);
        owl_server_free(s);
        for (int k = 0; k < 3; k++) {
            http_close(&streams[k]);
            http_close(&sessions[k]);
        }
    }
    server_end(stays);
    runtime_end(rt);
}

TEST(an_attach_that_fails_leaves_the_runtime_as_it_was, "")
{
    struct owl_runtime *rt = runtime_started(2);
    owl_server *stays = server_of(two);
    owl_error e = {0};
    attach(stays, rt);
    assert_int_equal(owl_server_attach(stays, rt, &e), -OWL_ESTATE);
    assert_int_equal(owl_server_start(stays, &e), -OWL_ESTATE);
    assert_int_equal(owl_server_fd(stays, &e), -OWL_ESTATE);

    owl_server *s = server_of(one);
    char *taken = text_of("127.0.0.1:%d", owl_server_port(stays));
    assert_int_equal(owl_server_listen(s, taken, NULL), 0);
    assert_int_equal(owl_server_attach(s, rt, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, taken));
    assert_int_equal(owl_server_port(s), 0);
    owl_server_stop(s);
    owl_server_free(s);
    free(taken);

    s = server_of(one);
    struct pipes p = pipes_open(s);
    assert_int_equal(owl_server_attach(s, rt, &e), -OWL_ESTATE);
    assert_non_null(strstr(e.message, "before the runtime starts"));
    owl_server_free(s);
    pipes_close(&p);

    int rc = -1;
    for (unsigned long n = 1; rc != 0; n++) {
        s = server_of(one);
        owl_alloc_fail_at(n);
        rc = owl_server_attach(s, rt, &e);
        owl_alloc_fail_at(0);
        if (rc != 0)
            assert_int_equal(rc, -OWL_ENOMEM);
        says(rc == 0 ? s : stays, rc == 0 ? "one" : "two");
        owl_server_free(s);
        assert_true(n < 500);
    }
    says(stays, "two");
    server_end(stays);
    runtime_end(rt);
}

/* What a failed attach has put on the loops ends after its server. */
TEST(an_attach_before_the_start_may_fail, "")
{
    int rc = -1;
    for (unsigned long n = 1; rc != 0; n++) {
        struct owl_runtime *rt = runtime_new(2);
        owl_server *s = server_of(one);
        struct pipes p = pipes_open(s);
        owl_alloc_fail_at(n);
        rc = owl_server_attach(s, rt, NULL);
        owl_alloc_fail_at(0);
        if (rc == 0)
            assert_int_equal(owl_runtime_start(rt, NULL), 0);
        owl_server_free(s);
        runtime_end(rt);
        pipes_close(&p);
        assert_true(n < 500);
    }
}

TEST(a_server_on_pipes_is_attached_before_the_start, "")
{
    struct owl_runtime *rt = runtime_new(2);
    owl_server *a = server_of(one), *b = server_of(two);
    struct pipes p = pipes_open(a);
    attach(a, rt);
    attach(b, rt);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    pipes_initialize(&p, "{}");
    pipes_call(&p, "7", "who");
    expect_str(pipes_next(&p), "result/content/0/text", "one");
    close(p.in); /* the end of input stops its server, and no other */
    p.in = -1;
    assert_int_equal(owl_server_join(a), 0);
    owl_server_free(a);
    pipes_close(&p);
    says(b, "two");
    server_end(b);
    runtime_end(rt);
}

TEST(a_server_without_an_address_waits_for_one, "")
{
    struct owl_runtime *rt = runtime_started(2);
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "who", .handler = hello, .data = one});
    attach(s, rt);
    assert_int_equal(owl_server_port(s), 0);
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", NULL), 0);
    says(s, "one");
    server_end(s);
    runtime_end(rt);
}

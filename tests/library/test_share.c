/* What one client may take of what all share, and that the others still have theirs. */
#include "library/fixture.h"
#include "library/hold.h"
#include "reactor/internal.h"
#include "server/server.h"

static int never(owl_call *call, void *data)
{
    (void)call;
    (void)data;
    atomic_fetch_add(&entered, 1);
    return OWL_LATER;
}

static int ask(owl_call *c, void *data)
{
    (void)data;
    const owl_json *answer;
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_ROOTS};
    int rc = owl_ask(c, "roots", &q, &answer);
    return rc ? rc : owl_result_text(c, "asked");
}

static owl_server *shared_server(owl_limits limits)
{
    limits.size = sizeof limits;
    owl_server *s = server_with(
        (owl_server_options){.reactors = 1, .workers = 1, .limits = &limits});
    add_tool(s, (owl_tool){.name = "hold", .handler = hold});
    add_tool(s, (owl_tool){.name = "never", .handler = never, .flags = OWL_INLINE});
    add_tool(s, (owl_tool){.name = "ask", .handler = ask, .flags = OWL_INLINE});
    atomic_store(&entered, 0);
    atomic_store(&may_leave, false);
    return s;
}

/* ---- calls of a session ---- */

static void call_with_id(struct http *h, const char *id, const char *tool)
{
    char *params = text_of("\"name\":\"%s\"", tool);
    char *text = legacy_text(id, "tools/call", params);
    legacy_send(h, text);
    free(text);
    free(params);
}

/* Whoever is asked to come back later is told so. Frees the message. */
static void expect_busy(msg *m, const char *why)
{
    assert_non_null(strstr(str_at(m, "error/message"), why));
    assert_true(owl_json_bool(at(m, "error/data/retryable"), false));
    expect_int(m, "error/code", -32603);
}

static char *cancel_text(int id)
{
    return text_of("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                   "\"requestId\":%d}}",
                   id);
}

static void cancel(const struct http *session, int id)
{
    char *text = cancel_text(id);
    legacy_tell(session, text);
    free(text);
}

/* Sends a call of the session on a connection of its own, and hangs up while it runs. */
static void call_and_leave(const struct http *session, const char *id)
{
    struct http h = http_join(session);
    int before = atomic_load(&entered);
    call_with_id(&h, id, "never");
    assert_true(reaches(&entered, before + 1));
    http_close(&h);
}

TEST(calls_of_a_session_that_nobody_waits_for_are_limited, "")
{
    owl_server *s = shared_server((owl_limits){.session_calls = 2});
    server_start(s);
    struct http a = legacy_open(s, "{}"), b = legacy_open(s, "{}");
    call_and_leave(&a, "11");
    call_and_leave(&a, "12");
    call_with_id(&a, "13", "never");
    assert_int_equal(http_head(&a), 200);
    expect_busy(http_next(&a), "2 calls of this session");
    char *ping = legacy_text("14", "ping", "");
    legacy_send(&a, ping); /* what needs no handler is answered */
    assert_int_equal(http_head(&a), 200);
    expect_int(http_next(&a), "id", 14);
    free(ping);
    atomic_store(&may_leave, true);
    call_with_id(&b, "1", "hold"); /* nor do others suffer */
    assert_int_equal(http_head(&b), 200);
    expect_str(http_next(&b), "result/content/0/text", "held");
    cancel(&a, 11);
    call_with_id(&a, "15", "hold"); /* there is a place again, and each call gives its back */
    assert_int_equal(http_head(&a), 200);
    expect_str(http_next(&a), "result/content/0/text", "held");
    call_with_id(&a, "16", "hold");
    assert_int_equal(http_head(&a), 200);
    expect_str(http_next(&a), "result/content/0/text", "held");
    cancel(&a, 12);
    http_close(&a);
    http_close(&b);
    server_end(s);
}

TEST(a_call_that_was_cancelled_leaves_the_queue_of_the_workers, "")
{
    owl_server *s = shared_server((owl_limits){0});
    server_start(s);
    struct owl_runtime *rt = s->env.runtime;
    struct http a = http_open(s), b = http_open(s);
    modern_call(&a, "hold", "", "{}", "");
    assert_true(reaches(&entered, 1));
    modern_call(&b, "hold", "", "{}", "");
    unsigned queued = 0;
    for (int want = 1; want >= 0; want--) { /* it comes, and goes with its client */
        for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; usleep(200)) {
            pthread_mutex_lock(&rt->mu);
            queued = rt->queued;
            pthread_mutex_unlock(&rt->mu);
            if (queued == (unsigned)want)
                break;
        }
        assert_int_equal(queued, want);
        if (want)
            http_close(&b);
    }
    atomic_store(&may_leave, true);
    assert_int_equal(http_head(&a), 200);
    expect_str(http_next(&a), "result/content/0/text", "held");
    assert_int_equal(atomic_load(&entered), 1);
    http_close(&a);
    server_end(s);
}

/* ---- questions to a session ---- */

enum { QUESTIONS = 64, FEW = 4 };

/* Opens a peer on stdio, and asks it @p n times. */
static struct pipes open_asked(owl_server *s, int n)
{
    struct pipes p = pipes_open(s);
    server_start(s);
    pipes_initialize(&p, "{\"roots\":{}}");
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", 100 + i);
        pipes_call(&p, id, "ask");
    }
    return p;
}

/* A server that stops would wait for the calls. */
static void close_asked(struct pipes *p, int n)
{
    for (int i = 0; i < n; i++) {
        char *text = cancel_text(100 + i);
        pipes_send(p, text);
        free(text);
    }
    close(p->in);
    p->in = -1;
}

TEST(questions_to_one_session_are_limited, "")
{
    owl_server *s = shared_server((owl_limits){0});
    struct pipes p = open_asked(s, QUESTIONS);
    msg *first = pipes_next(&p);
    for (int i = 1; i < QUESTIONS; i++)
        expect_str(pipes_next(&p), "method", "roots/list");
    pipes_call(&p, "1", "ask");
    expect_busy(pipes_next(&p), "too many questions");
    pipes_answer(&p, first, "{\"roots\":[]}");
    expect_str(pipes_next(&p), "result/content/0/text", "asked");
    pipes_call(&p, "100", "ask"); /* there is a place again */
    expect_str(pipes_next(&p), "method", "roots/list");
    close_asked(&p, QUESTIONS);
    server_end(s);
    pipes_close(&p);
}

TEST(a_session_that_takes_all_questions_leaves_some_to_others, "")
{
    owl_server *s = shared_server((owl_limits){.questions = 10});
    struct pipes p = open_asked(s, 10);
    for (int i = 0; i < 10; i++)
        expect_str(pipes_next(&p), "method", "roots/list");
    pipes_call(&p, "1", "ask");
    expect_busy(pipes_next(&p), "too many questions");
    struct http h = legacy_open(s, "{\"roots\":{}}"), other[FEW];
    for (int i = 0; i < FEW; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", 100 + i);
        other[i] = http_join(&h);
        call_with_id(&other[i], id, "ask");
        assert_int_equal(http_head(&other[i]), 200);
        expect_str(http_next(&other[i]), "method", "roots/list");
    }
    call_with_id(&h, "1", "ask");
    assert_int_equal(http_head(&h), 200);
    expect_busy(http_next(&h), "too many questions");
    for (int i = 0; i < FEW; i++) {
        cancel(&h, 100 + i);
        http_close(&other[i]);
    }
    http_close(&h);
    close_asked(&p, 10);
    server_end(s);
    pipes_close(&p);
}

/* ---- listens of a front ---- */

enum { LISTENS = 16 };

static void pipes_listen(struct pipes *p, int id)
{
    char number[16];
    snprintf(number, sizeof number, "%d", id);
    char *text = modern_text(number, "subscriptions/listen", "\"notifications\":{}", "{}", "");
    pipes_send(p, text);
    free(text);
}

TEST(listens_through_one_front_are_limited, "")
{
    static const char heard[] = "notifications/subscriptions/acknowledged";
    owl_server *s = shared_server((owl_limits){.listens = LISTENS + 1});
    struct pipes p = pipes_open(s);
    server_start(s);
    for (int i = 0; i < LISTENS; i++) {
        pipes_listen(&p, 100 + i);
        expect_str(pipes_next(&p), "method", heard);
    }
    pipes_listen(&p, 1);
    expect_busy(pipes_next(&p), "16 listens");
    struct http h = http_open(s);
    char *text = modern_text("1", "subscriptions/listen", "\"notifications\":{}", "{}", "");
    modern_send(&h, "", text);
    assert_int_equal(http_head(&h), 200);
    expect_str(http_next(&h), "method", heard); /* the last of all */
    free(text);
    text = cancel_text(100);
    pipes_send(&p, text);
    free(text);
    pipes_listen(&p, 2); /* there is a place again */
    expect_str(pipes_next(&p), "method", heard);
    pipes_listen(&p, 3);
    expect_busy(pipes_next(&p), "16 listens");
    http_close(&h);
    server_end(s);
    pipes_close(&p);
}

/* ---- results that wait for a reactor ---- */

enum { LARGE = 8 << 20, CALLS = 30 };

static atomic_int made;

static int make_large(owl_call *c, void *data)
{
    (void)data;
    char *text = malloc(LARGE + 1);
    memset(text, 'x', LARGE);
    text[LARGE] = '\0';
    int rc = owl_result_textn(c, text, LARGE);
    free(text);
    atomic_fetch_add(&made, 1);
    return rc;
}

TEST(workers_wait_while_a_reactor_has_results_to_send, "")
{
    owl_limits limits = OWL_LIMITS;
    limits.queue_total_bytes = 2 * LARGE;
    owl_server *s = server_with(
        (owl_server_options){.reactors = 1, .workers = 4, .limits = &limits});
    add_tool(s, (owl_tool){.name = "large", .handler = make_large});
    add_tool(s, (owl_tool){.name = "stop", .handler = hold, .flags = OWL_INLINE});
    server_start(s);
    struct http asked[CALLS], stopper = http_open(s);
    int before = atomic_load(&entered);
    for (int i = 0; i < CALLS; i++)
        asked[i] = http_open(s);
    atomic_store(&may_leave, false);
    for (int i = 0; i < CALLS; i++)
        modern_call(&asked[i], "large", "", "{}", "");
    modern_call(&stopper, "stop", "", "{}", "");
    assert_true(reaches(&entered, before + 1)); /* the reactor takes nothing any more */
    int then = atomic_load(&made);
    pause_ms(300);
    assert_true(atomic_load(&made) <= then + 3 + 4); /* what fits, and one of each worker */
    atomic_store(&may_leave, true);
    assert_true(reaches(&made, CALLS));
    for (int i = 0; i < CALLS; i++)
        http_close(&asked[i]);
    http_close(&stopper);
    server_end(s);
}

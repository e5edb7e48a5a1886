/* Streams that break, over HTTP, with limits that a test can reach. */
#include <fcntl.h>

#include "library/fixture.h"
#include "server/server.h"

enum { KEPT_MS = 300 };

static owl_server *serving(owl_handler_fn handler, unsigned flags)
{
    owl_server *s = server_new(2);
    owl_replay_table_free(s->replays);
    s->replays = owl_replay_table_new(&(struct owl_replay_limits){.replay_ms = KEPT_MS});
    assert_non_null(s->replays);
    add_tool(s, (owl_tool){.name = "t", .handler = handler, .flags = flags});
    return s;
}

static int get(struct http *g, const char *last)
{
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n%s%s%s", g->session,
                            last ? "Last-Event-ID: " : "", last ? last : "", last ? "\r\n" : "");
    http_send(g, "GET", headers, "");
    free(headers);
    return http_head(g);
}

/* The status of a resume, on a connection of its own. */
static int resumed(const struct http *session, const char *last)
{
    struct http g = http_join(session);
    int status = get(&g, last);
    http_close(&g);
    return status;
}

/* ---- a question whose client does not come back ---- */

static atomic_int cancelled;

static void on_cancel(owl_call *c, void *data)
{
    (void)c;
    (void)data;
    atomic_fetch_add(&cancelled, 1);
}

static int ask_name(owl_call *c, void *data)
{
    (void)data;
    const owl_json *answer;
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "Who?", .schema = SCHEMA};
    int rc = owl_ask(c, "name", &q, &answer);
    if (rc == OWL_PENDING && owl_call_on_cancel(c, on_cancel, NULL) != 0)
        return -OWL_ETOOL;
    return rc != 0 ? rc : owl_result_text(c, owl_json_get_str(answer, "action", "?"));
}

TEST(a_question_waits_as_long_as_its_stream_is_kept, "mcp:L8")
{
    owl_server *s = serving(ask_name, 0);
    server_start(s);
    struct http h = legacy_open(s, "{\"elicitation\":{}}");
    struct http c = http_join(&h);
    legacy_call(&c, "t", "");
    assert_int_equal(http_head(&c), 200);
    msg *q = http_next(&c);
    assert_string_equal(str_at(q, "method"), "elicitation/create");
    http_close(&c);
    pause_ms(KEPT_MS / 3);
    assert_int_equal(atomic_load(&cancelled), 0);
    struct http g = http_join(&h);
    assert_int_equal(get(&g, c.event), 200);
    pause_ms(KEPT_MS * 2); /* somebody reads: the clock stands still */
    assert_int_equal(atomic_load(&cancelled), 0);
    http_close(&g);
    assert_true(reaches(&cancelled, 1));
    assert_int_equal(resumed(&h, c.event), 400);
    legacy_answer(&h, q, "{\"action\":\"decline\"}"); /* too late */
    http_close(&h);
    server_end(s);
}

/* What clients of all revisions may be asked. */
static int ask_roots(owl_call *c, void *data)
{
    (void)data;
    const owl_json *answer;
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_ROOTS};
    int rc = owl_ask(c, "roots", &q, &answer);
    if (rc == OWL_PENDING && owl_call_on_cancel(c, on_cancel, NULL) != 0)
        return -OWL_ETOOL;
    return rc != 0 ? rc : owl_result_text(c, "answered");
}

static void end_session(const struct http *h)
{
    struct http d = http_join(h);
    char *headers = text_of("Mcp-Session-Id: %s\r\n", h->session);
    http_send(&d, "DELETE", headers, "");
    free(headers);
    assert_int_equal(http_head(&d), 200);
    http_close(&d);
}

/* Asks, ends the session, and expects the end of the call. */
static void end_while_asked(const struct http *h, const char *text)
{
    int before = atomic_load(&cancelled);
    struct http c = http_join(h);
    legacy_send(&c, text);
    assert_int_equal(http_head(&c), 200);
    expect_str(http_next(&c), "method", "roots/list");
    end_session(h);
    expect_str(http_next(&c), "method", "notifications/cancelled");
    assert_null(http_next(&c));
    assert_false(c.broken);
    assert_true(reaches(&cancelled, before + 1));
    http_close(&c);
}

#define CALL "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}"

TEST(the_end_of_a_session_ends_its_questions, "mcp:L4")
{
    static const char *const versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", LEGACY};
    owl_server *s = serving(ask_roots, 0);
    server_start(s);
    for (size_t i = 0; i < OWL_COUNT(versions); i++) {
        struct http h = legacy_open_as(s, versions[i], "{\"roots\":{}}");
        end_while_asked(&h, CALL);
        http_close(&h);
        if (i > 1)
            continue;
        h = legacy_open_as(s, versions[i], "{\"roots\":{}}");
        end_while_asked(&h, "[" CALL "]");
        http_close(&h);
    }
    server_end(s);
}

TEST(the_end_of_a_session_ends_questions_on_streams_that_are_not_kept, "")
{
    owl_server *s = serving(ask_roots, 0);
    owl_replay_table_free(s->replays);
    s->replays = owl_replay_table_new(&(struct owl_replay_limits){.replay_streams = 1});
    assert_non_null(s->replays);
    server_start(s);
    struct http h = legacy_open(s, "{\"roots\":{}}");
    struct http g = http_join(&h);
    assert_int_equal(get(&g, NULL), 200);
    end_while_asked(&h, CALL);
    assert_null(http_next(&g));
    http_close(&g);
    http_close(&h);
    server_end(s);
}

TEST(a_session_that_expires_ends_its_questions, "")
{
    owl_server *s = serving(ask_roots, 0);
    owl_replay_table_free(s->replays);
    s->replays = owl_replay_table_new(NULL); /* kept for longer than the test takes */
    assert_non_null(s->replays);
    server_start(s);
    struct http h = legacy_open(s, "{\"roots\":{}}");
    struct http c = http_join(&h);
    int before = atomic_load(&cancelled);
    legacy_call(&c, "t", "");
    assert_int_equal(http_head(&c), 200);
    expect_str(http_next(&c), "method", "roots/list");
    http_close(&c);
    while (owl_sessions_sweep(s->sessions, UINT64_MAX) == 0) /* until the stream is gone */
        pause_ms(1);
    assert_true(reaches(&cancelled, before + 1));
    http_close(&h);
    server_end(s);
}

static atomic_int asks_now;

static int ask_late(owl_call *c, void *data)
{
    atomic_store(&asks_now, 1);
    while (atomic_load(&asks_now) == 1)
        pause_ms(1);
    return ask_roots(c, data);
}

TEST(the_end_of_a_session_cancels_its_calls_wherever_they_run, "mcp:L4")
{
    static const char *const versions[] = {"2024-11-05", "2025-03-26", LEGACY};
    owl_server *s = serving(ask_late, 0);
    server_start(s);
    for (size_t i = 0; i < OWL_COUNT(versions); i++) {
        atomic_store(&asks_now, 0);
        struct http h = legacy_open_as(s, versions[i], "{\"roots\":{}}");
        struct http c = http_join(&h);
        legacy_call(&c, "t", "");
        assert_true(reaches(&asks_now, 1));
        end_session(&h);
        assert_int_equal(http_head(&c), 200); /* although its handler still runs */
        expect_str(http_next(&c), "error/message", "cancelled");
        atomic_store(&asks_now, 2); /* it asks nobody any more */
        http_close(&c);
        http_close(&h);
    }
    server_end(s);
}

/* ---- time ---- */

static int say_hello(owl_call *c, void *data)
{
    (void)data;
    int rc = owl_call_progress(c, 1, 2, NULL);
    return rc != 0 ? rc : owl_result_text(c, "hello");
}

TEST(a_stream_is_forgotten_after_a_while, "mcp:L7")
{
    owl_server *s = serving(say_hello, 0);
    server_start(s);
    struct http h = legacy_open(s, "{}");
    struct http c = http_join(&h), g = http_join(&h);
    legacy_call(&c, "t", "\"_meta\":{\"progressToken\":1}");
    http_head(&c);
    expect_str(http_next(&c), "method", "notifications/progress");
    char progress[64];
    snprintf(progress, sizeof progress, "%s", c.event);
    expect_str(http_next(&c), "result/content/0/text", "hello");
    assert_int_equal(get(&g, progress), 200);
    expect_str(http_next(&g), "result/content/0/text", "hello");
    assert_null(http_next(&g));
    assert_int_equal(resumed(&h, c.event), 204);
    int status = 200;
    for (int64_t end = now_ms() + WAIT_MS; status == 200 && now_ms() < end; pause_ms(10))
        status = resumed(&h, progress);
    assert_int_equal(status, 400);
    for (int64_t end = now_ms() + WAIT_MS; owl_replay_table_bytes(s->replays) && now_ms() < end;)
        pause_ms(10);
    assert_int_equal(owl_replay_table_bytes(s->replays), 0);
    http_close(&c);
    http_close(&g);
    http_close(&h);
    server_end(s);
}

TEST(a_feed_ends_when_its_client_does_not_come_back, "mcp:L7")
{
    owl_server *s = serving(say_hello, 0);
    server_start(s);
    struct http h = legacy_open(s, "{}");
    struct http g = http_join(&h);
    assert_int_equal(get(&g, NULL), 200);
    assert_false(http_ready(&g, 50));
    assert_true(g.event[0]);
    assert_true(owl_replay_table_bytes(s->replays) > 0);
    http_close(&g);
    for (int64_t end = now_ms() + WAIT_MS; owl_replay_table_bytes(s->replays) && now_ms() < end;)
        pause_ms(10);
    assert_int_equal(owl_replay_table_bytes(s->replays), 0);
    assert_int_equal(resumed(&h, g.event), 400);
    http_close(&h);
    server_end(s);
}

/* ---- closing early ---- */

static atomic_int closed_rc;

static int close_then_tell(owl_call *c, void *data)
{
    (void)data;
    atomic_store(&closed_rc, owl_call_close_stream(c));
    int rc = owl_call_progress(c, 1, 2, NULL);
    return rc != 0 ? rc : owl_result_text(c, "done");
}

TEST(a_client_is_sent_away_from_any_thread, "mcp:T12")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        owl_server *s = serving(close_then_tell, flags);
        server_start(s);
        struct http h = legacy_open(s, "{}");
        struct http c = http_join(&h), g = http_join(&h);
        legacy_call(&c, "t", "\"_meta\":{\"progressToken\":1}");
        assert_int_equal(http_head(&c), 200);
        assert_null(http_next(&c));
        assert_true(c.event[0]);
        assert_int_equal(get(&g, c.event), 200);
        expect_str(http_next(&g), "method", "notifications/progress");
        expect_str(http_next(&g), "result/content/0/text", "done");
        assert_null(http_next(&g));
        assert_int_equal(atomic_load(&closed_rc), 0);
        http_close(&g);
        http_close(&c);
        http_close(&h);
        server_end(s);
    }
}

TEST(on_stdio_nobody_is_sent_away, "")
{
    owl_server *s = serving(close_then_tell, 0);
    struct pipes p = pipes_open(s);
    owl_error e = {0};
    assert_int_equal(owl_server_start(s, &e), 0);
    pipes_initialize(&p, "{}");
    pipes_call(&p, "5", "t");
    expect_str(pipes_next(&p), "result/content/0/text", "done");
    assert_int_equal(atomic_load(&closed_rc), 0);
    server_end(s);
    pipes_close(&p);
}

static owl_call *_Atomic kept;

static int keep(owl_call *c, void *data)
{
    (void)data;
    atomic_store(&kept, owl_call_ref(c));
    return OWL_LATER;
}

TEST(a_call_that_has_ended_closes_nothing, "")
{
    owl_server *s = serving(keep, 0);
    server_start(s);
    struct http h = legacy_open(s, "{}");
    legacy_call(&h, "t", "");
    while (!atomic_load(&kept))
        pause_ms(1);
    legacy_tell(&h, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                    "\"requestId\":1}}");
    while (!owl_call_cancelled(kept))
        pause_ms(1);
    assert_int_equal(owl_call_close_stream(kept), -OWL_EDONE);
    http_close(&h);
    server_end(s);
    owl_call_unref(kept);
}

/* ---- how many ---- */

TEST(streams_that_last_are_bounded, "")
{
    owl_server *s = serving(say_hello, 0);
    s->streams.max = 2;
    server_start(s);
    struct http h = legacy_open(s, "{}"), k = legacy_open(s, "{}"), third = legacy_open(s, "{}");
    struct http a = http_join(&h), b = http_join(&k), c = http_join(&third);
    assert_int_equal(get(&a, NULL), 200);
    assert_int_equal(get(&b, NULL), 200);
    assert_int_equal(get(&c, NULL), 503);
    msg *m = http_next(&c);
    assert_true(owl_json_bool(at(m, "error/data/retryable"), false));
    owl_json_doc_free(m);
    http_close(&b);
    http_close(&a);
    for (int64_t end = now_ms() + WAIT_MS; atomic_load(&s->streams.taken) && now_ms() < end;)
        pause_ms(5);
    assert_int_equal(atomic_load(&s->streams.taken), 0);
    http_close(&c);
    http_close(&h);
    http_close(&k);
    http_close(&third);
    server_end(s);
}

/* ---- a request that waits ---- */

static void finish_kept(void)
{
    while (!atomic_load(&kept))
        pause_ms(1);
    owl_call *c = atomic_exchange(&kept, NULL);
    owl_result_text(c, "at last");
    assert_int_equal(owl_call_finish(c, 0), 0);
    owl_call_unref(c);
}

TEST(a_request_that_waits_shows_life_on_a_stream, "")
{
    owl_server *s = serving(keep, 0);
    s->limits.keepalive_ms = 20;
    server_start(s);
    struct http h = legacy_open(s, "{}");
    for (int legacy = 0; legacy <= 1; legacy++) {
        struct http c = legacy ? http_join(&h) : http_open(s);
        if (legacy)
            legacy_call(&c, "t", "");
        else
            modern_call(&c, "t", "", "{}", "");
        assert_int_equal(http_head(&c), 200);
        assert_true(c.events);
        pause_ms(50); /* comments come meanwhile */
        finish_kept();
        expect_str(http_next(&c), "result/content/0/text", "at last");
        assert_int_equal(c.event[0] != '\0', legacy);
        assert_null(http_next(&c));
        http_close(&c);
    }
    http_close(&h);
    server_end(s);
}

/* Clients outside of calls, on every front: what parts of a program hear of their sessions and from
 * them, and what they say to them. */
#include "library/fixture.h"

#include "base/alloc.h"
#include "server/peer.h"
#include "server/server.h"

static owl_server *s;

/* ---- what is heard of sessions ---- */

static atomic_int opened, ended, levels, roots;
static _Atomic(struct owl_session *) session; /* the last one; counted */

static void forget_session(void)
{
    owl_session_aunref(atomic_exchange(&session, NULL));
}

static void on_opened(void *user, struct owl_session *x)
{
    (void)user;
    owl_session_aunref(atomic_exchange(&session, owl_session_aref(x)));
    atomic_fetch_add(&opened, 1);
}

static void on_ended(void *user, struct owl_session *x)
{
    (void)user;
    (void)x;
    atomic_fetch_add(&ended, 1);
}

static void on_level(void *user, struct owl_session *x, owl_level level)
{
    (void)user;
    (void)x;
    assert_int_equal(level, OWL_LEVEL_ERROR);
    atomic_fetch_add(&levels, 1);
}

static void on_roots(void *user, struct owl_session *x)
{
    (void)user;
    assert_ptr_equal(x, atomic_load(&session));
    atomic_fetch_add(&roots, 1);
}

/* ---- a client of any front ---- */

enum front { STDIO, SSE, GET, FRONTS };

struct client {
    enum front front;
    struct pipes pipes;
    struct http stream; /* SSE: its stream; GET: likewise */
    struct http http;   /* GET: the session */
    char path[120];     /* SSE */
};

static void start(unsigned reactors)
{
    static const struct owl_session_observer o = {on_opened, on_ended, on_level, on_roots, NULL};
    atomic_store(&opened, 0);
    atomic_store(&ended, 0);
    atomic_store(&levels, 0);
    atomic_store(&roots, 0);
    s = server_new(reactors);
    assert_int_equal(owl_sessions_observe(s->sessions, &o), 0);
}

static void raw_send(struct http *h, const char *method, const char *path, const char *headers,
                     const char *body)
{
    char *text = text_of("%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %zu\r\n\r\n%s",
                         method, path, headers, strlen(body), body);
    assert_int_equal(send(h->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    free(text);
}

static void tell(struct client *c, const char *text)
{
    if (c->front == STDIO) {
        pipes_send(&c->pipes, text);
    } else if (c->front == GET) {
        legacy_tell(&c->http, text);
    } else {
        struct http h = http_open(s);
        raw_send(&h, "POST", c->path, POST_HEADERS, text);
        assert_int_equal(http_head(&h), 202);
        http_close(&h);
    }
}

/* The next message that comes outside of an answer. */
static msg *next(struct client *c)
{
    return c->front == STDIO ? pipes_next(&c->pipes) : http_next(&c->stream);
}

static void open_sse(struct client *c)
{
    c->stream = http_open(s);
    raw_send(&c->stream, "GET", "/mcp/sse", "Accept: text/event-stream\r\n", "");
    assert_int_equal(http_head(&c->stream), 200);
    while (!c->stream.body.p || !strstr(c->stream.body.p, "\n\n"))
        assert_true(http_piece(&c->stream));
    const char *path = strstr(c->stream.body.p, "data: ") + 6;
    snprintf(c->path, sizeof c->path, "%.*s", (int)strcspn(path, "\n"), path);
    bytes_drop(&c->stream.body, (size_t)(strstr(c->stream.body.p, "\n\n") - c->stream.body.p) + 2);
    char *text = initialize_as("2024-11-05", "{\"roots\":{}}");
    tell(c, text);
    free(text);
    expect_str(http_next(&c->stream), "id", "init");
    tell(c, INITIALIZED);
}

static void open_get(struct client *c)
{
    c->http = legacy_open(s, "{\"roots\":{}}");
    c->stream = http_join(&c->http);
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n", c->http.session);
    http_send(&c->stream, "GET", headers, "");
    assert_int_equal(http_head(&c->stream), 200);
    free(headers);
}

/* The server runs afterwards. */
static struct client client_of(enum front front)
{
    struct client c = {.front = front, .pipes = {.in = -1}};
    if (front == STDIO) {
        c.pipes = pipes_open(s);
        server_start(s);
        pipes_initialize(&c.pipes, "{\"roots\":{}}");
    } else {
        server_start(s);
        if (front == SSE)
            open_sse(&c);
        else
            open_get(&c);
    }
    for (int i = 0; i < WAIT_MS && !owl_session_initialized(atomic_load(&session)); i++)
        usleep(1000);
    return c;
}

/* The session ends with it on all but HTTP, where it is deleted. */
static void client_leave(struct client *c)
{
    if (c->front == STDIO) {
        close(c->pipes.in); /* which also stops the server */
        c->pipes.in = -1;
    } else if (c->front == SSE) {
        http_close(&c->stream);
    } else {
        struct http d = http_join(&c->http);
        char *headers = text_of("Mcp-Session-Id: %s\r\n", c->http.session);
        http_send(&d, "DELETE", headers, "");
        assert_int_equal(http_head(&d), 200);
        free(headers);
        http_close(&d);
    }
}

static void client_end(struct client *c)
{
    server_end(s);
    if (c->front == STDIO)
        pipes_close(&c->pipes);
    if (c->front != STDIO)
        http_close(&c->stream);
    if (c->front == GET)
        http_close(&c->http);
    forget_session();
}

#define NOTE(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":{\"x\":1}}"

TEST(observers_hear_of_sessions_on_every_front, "")
{
    for (enum front f = STDIO; f < FRONTS; f++) {
        start(2);
        struct client c = client_of(f);
        assert_int_equal(atomic_load(&opened), 1);
        tell(&c, NOTE("notifications/roots/list_changed"));
        assert_true(reaches(&roots, 1));
        if (f == STDIO)
            tell(&c, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"logging/setLevel\","
                     "\"params\":{\"level\":\"error\"}}");
        else
            owl_session_set_log_level(atomic_load(&session), OWL_LEVEL_ERROR);
        assert_true(reaches(&levels, 1));
        assert_int_equal(atomic_load(&ended), 0);
        client_leave(&c);
        assert_true(reaches(&ended, 1));
        client_end(&c);
        assert_int_equal(atomic_load(&opened), 1);
        assert_int_equal(atomic_load(&ended), 1);
    }
}

TEST(a_session_that_is_open_ends_with_the_server, "")
{
    for (enum front f = STDIO; f <= SSE; f++) {
        start(1);
        struct client c = client_of(f);
        client_end(&c);
        assert_int_equal(atomic_load(&ended), 1);
    }
}

/* ---- messages ---- */

#define MESSAGE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"n\":%d}}"

static void say(int n)
{
    char text[100];
    snprintf(text, sizeof text, MESSAGE, n);
    assert_int_equal(owl_session_send(s, atomic_load(&session), owl_str_of(text)), 0);
}

TEST(a_message_reaches_a_session_on_every_front, "")
{
    for (enum front f = STDIO; f < FRONTS; f++) {
        start(4);
        struct client c = client_of(f);
        for (int i = 0; i < 20; i++)
            say(i);
        for (int i = 0; i < 20; i++) {
            msg *m = next(&c);
            assert_non_null(m);
            assert_string_equal(str_at(m, "method"), "notifications/x");
            assert_int_equal(int_at(m, "params/n"), i);
            owl_json_doc_free(m);
        }
        client_leave(&c);
        assert_true(reaches(&ended, 1));
        assert_int_equal(owl_session_send(s, atomic_load(&session), OWL_STR("{}")), -OWL_ECLOSED);
        client_end(&c);
    }
}

/* The newest; the other has ended for it. */
TEST(a_message_is_sent_on_one_stream_only, "")
{
    start(1);
    struct client c = client_of(GET);
    struct http again = http_join(&c.http);
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n", c.http.session);
    http_send(&again, "GET", headers, "");
    assert_int_equal(http_head(&again), 200);
    free(headers);
    say(1);
    expect_str(http_next(&again), "method", "notifications/x");
    assert_null(http_next(&c.stream));
    http_close(&again);
    client_end(&c);
}

TEST(a_session_without_a_stream_cannot_be_told, "")
{
    start(1);
    server_start(s);
    struct http h = legacy_open(s, "{}");
    assert_int_equal(owl_session_send(s, atomic_load(&session), OWL_STR("{}")), -OWL_ESTATE);
    http_close(&h);
    server_end(s);
    forget_session();
}

/* ---- requests ---- */

struct reply {
    atomic_int n;
    int rc;
    char payload[100];
};

static void on_reply(void *user, int rc, owl_str payload)
{
    struct reply *r = user;
    r->rc = rc;
    snprintf(r->payload, sizeof r->payload, "%.*s", (int)payload.n, payload.n ? payload.p : "");
    atomic_fetch_add(&r->n, 1);
}

static int request(struct reply *r, unsigned ms)
{
    struct owl_session_question q = {
        .method = "roots/list", .timeout_ms = ms, .done = on_reply, .user = r};
    return owl_session_request(s, atomic_load(&session), &q);
}

static void answer(struct client *c, msg *m, const char *rest)
{
    char *text = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}", str_at(m, "id"), rest);
    assert_string_equal(str_at(m, "method"), "roots/list");
    tell(c, text);
    free(text);
    owl_json_doc_free(m);
}

TEST(a_session_answers_requests_on_every_front, "")
{
    for (enum front f = STDIO; f < FRONTS; f++) {
        struct reply r = {.rc = 1}, no = {.rc = 1}, params = {.rc = 1};
        start(4);
        struct client c = client_of(f);
        assert_int_equal(request(&r, 0), 0);
        answer(&c, next(&c), "\"result\":{\"roots\":[]}");
        assert_true(reaches(&r.n, 1));
        assert_int_equal(r.rc, 0);
        assert_string_equal(r.payload, "{\"roots\":[]}");
        assert_int_equal(request(&no, 0), 0);
        answer(&c, next(&c), "\"error\":{\"code\":1,\"message\":\"no\"}");
        assert_true(reaches(&no.n, 1));
        assert_int_equal(no.rc, -OWL_ETOOL);
        assert_string_equal(no.payload, "{\"code\":1,\"message\":\"no\"}");
        struct owl_session_question q = {"roots/list", OWL_STR("{\"a\":1}"), 0, on_reply, &params};
        assert_int_equal(owl_session_request(s, atomic_load(&session), &q), 0);
        msg *m = next(&c);
        assert_int_equal(int_at(m, "params/a"), 1);
        answer(&c, m, "\"result\":{}");
        assert_true(reaches(&params.n, 1));
        client_end(&c);
        assert_int_equal(atomic_load(&r.n) + atomic_load(&no.n) + atomic_load(&params.n), 3);
    }
}

TEST(a_request_that_is_not_answered_is_taken_back, "")
{
    struct reply r = {.rc = 0};
    start(1);
    struct client c = client_of(SSE);
    assert_int_equal(request(&r, 20), 0);
    msg *m = next(&c), *back = next(&c);
    assert_string_equal(str_at(back, "method"), "notifications/cancelled");
    assert_string_equal(str_at(back, "params/requestId"), str_at(m, "id"));
    assert_true(reaches(&r.n, 1));
    assert_int_equal(r.rc, -OWL_ETIMEOUT);
    answer(&c, m, "\"result\":{}"); /* too late: nobody hears it */
    owl_json_doc_free(back);
    client_end(&c);
    assert_int_equal(atomic_load(&r.n), 1);
}

TEST(requests_end_with_their_session_and_with_the_server, "")
{
    for (enum front f = STDIO; f < FRONTS; f++) {
        for (int leave = 0; leave < 2; leave++) {
            struct reply r = {.rc = 0}, second = {.rc = 0};
            start(2);
            struct client c = client_of(f);
            assert_int_equal(request(&r, 0), 0);
            assert_int_equal(request(&second, 0), 0);
            owl_json_doc_free(next(&c));
            if (leave)
                client_leave(&c);
            else
                owl_server_stop(s);
            assert_true(reaches(&r.n, 1) && reaches(&second.n, 1));
            assert_int_equal(r.rc, -OWL_ECLOSED);
            assert_int_equal(second.rc, -OWL_ECLOSED);
            client_end(&c);
        }
    }
}

TEST(a_session_is_asked_so_much_at_once_and_no_more, "")
{
    enum { MOST = 64 };
    struct reply r = {.rc = 0};
    start(1);
    struct client c = client_of(STDIO);
    for (int i = 0; i < MOST; i++)
        assert_int_equal(request(&r, 0), 0);
    assert_int_equal(request(&r, 0), -OWL_EBUSY);
    answer(&c, next(&c), "\"result\":{}");
    assert_true(reaches(&r.n, 1));
    for (int i = 0; request(&r, 0) != 0 && i < WAIT_MS; i++)
        usleep(1000); /* it is called before there is room */
    client_end(&c);
    assert_int_equal(atomic_load(&r.n), MOST + 1);
}

/* Ids name the session that was asked: nobody answers for another. */
TEST(only_the_session_that_was_asked_can_answer, "")
{
    struct reply r = {.rc = 1};
    start(2);
    struct client c = client_of(GET);
    struct owl_session *asked = owl_session_aref(atomic_load(&session));
    assert_int_equal(request(&r, 0), 0);
    struct http other = legacy_open(s, "{}");
    msg *m = next(&c);
    char *text = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"forged\":1}}",
                         str_at(m, "id"));
    legacy_tell(&other, text);
    free(text);
    pause_ms(20);
    assert_int_equal(atomic_load(&r.n), 0);
    answer(&c, m, "\"result\":{}");
    assert_true(reaches(&r.n, 1));
    assert_string_equal(r.payload, "{}");
    http_close(&other);
    owl_session_aunref(asked);
    client_end(&c);
}

/* ---- notifications of clients ---- */

static atomic_int heard_x, heard_roots, heard_others;

static void hear(void *user, const struct owl_peer_note *n)
{
    assert_ptr_equal(n->session, atomic_load(&session));
    assert_true(owl_str_is(n->params, "{\"x\":1}"));
    owl_reactor_assert(n->reactor);
    atomic_fetch_add((atomic_int *)user, 1);
}

TEST(parts_hear_the_notifications_that_they_asked_for, "")
{
    for (enum front f = STDIO; f < FRONTS; f++) {
        start(2);
        atomic_store(&heard_x, 0);
        atomic_store(&heard_roots, 0);
        atomic_store(&heard_others, 0);
        assert_int_equal(owl_server_on_notification(s, "notifications/x", hear, &heard_x), 0);
        assert_int_equal(owl_server_on_notification(s, "notifications/x", hear, &heard_x), 0);
        assert_int_equal(
            owl_server_on_notification(s, "notifications/roots/list_changed", hear, &heard_roots),
            0);
        assert_int_equal(owl_server_on_notification(s, NULL, hear, &heard_others), 0);
        assert_int_equal(owl_server_on_notification(s, "", hear, NULL), -OWL_EINVAL);
        struct client c = client_of(f);
        assert_int_equal(owl_server_on_notification(s, NULL, hear, NULL), -OWL_ESTATE);
        tell(&c, NOTE("notifications/x"));
        tell(&c, NOTE("notifications/roots/list_changed"));
        tell(&c, NOTE("notifications/progress"));
        tell(&c, NOTE("notifications/never/heard/of"));
        tell(&c, NOTE("notifications/cancelled")); /* that is the server's */
        tell(&c, NOTE("notifications/x"));
        assert_true(reaches(&heard_x, 4));
        assert_true(reaches(&heard_others, 2));
        client_end(&c);
        assert_int_equal(atomic_load(&heard_x), 4);
        assert_int_equal(atomic_load(&heard_roots), 1);
        assert_int_equal(atomic_load(&heard_others), 2);
    }
}

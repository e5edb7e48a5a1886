/* Routes that come and go, and clients that are authenticated, at once or in their own time. */
#include "library/fixture.h"

#include "base/alloc.h"
#include "reactor/timer.h"
#include "server/route.h"
#include "server/server.h"

static owl_server *s;
static atomic_int freed, handled;

/* ---- routes ---- */

static void say(void *data, const struct owl_route_req *r)
{
    char text[200];
    snprintf(text, sizeof text, "%s|%.*s|%.*s|%.*s", (const char *)data, (int)r->rest.n,
             r->rest.n ? r->rest.p : "", (int)r->principal.n, r->principal.n ? r->principal.p : "",
             (int)owl_http_view(r->http)->body.n, owl_http_view(r->http)->body.p);
    atomic_fetch_add(&handled, 1);
    struct owl_http_reply a = {
        .status = 200, .content_type = "text/plain", .body = owl_str_of(text)};
    owl_http_reply(r->http, &a);
}

static void count_free(void *data)
{
    (void)data;
    atomic_fetch_add(&freed, 1);
}

static int add(unsigned methods, const char *path, unsigned flags, const char *name)
{
    union {
        const char *from;
        void *to; /* only read */
    } data = {name};
    struct owl_route r = {.methods = methods,
                          .path = path,
                          .flags = flags,
                          .handler = say,
                          .data = data.to,
                          .free_data = count_free};
    return owl_server_add_route(s, &r, NULL);
}

enum { GET = 1 << OWL_HTTP_GET, POST = 1 << OWL_HTTP_POST, PUT = 1 << OWL_HTTP_PUT };

/* A request of its own; the body of the answer goes to @p body (200 bytes), its head to @p head. */
static void send_to(struct http *h, const char *text)
{
    assert_int_equal(send(h->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void expect(struct http *h, int status, const char *body)
{
    assert_int_equal(http_head(h), status);
    while (http_piece(h))
        ;
    if (body)
        assert_string_equal(h->body.p ? h->body.p : "", body);
}

static void ask(const char *request_line, int status, const char *body)
{
    struct http h = http_open(s);
    char *text = text_of("%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", request_line);
    send_to(&h, text);
    expect(&h, status, body);
    free(text);
    http_close(&h);
}

TEST(routes_are_found_by_method_and_path, "")
{
    s = server_new(1);
    assert_int_equal(add(GET, "/a", 0, "a"), 0);
    assert_int_equal(add(PUT, "/a", 0, "put a"), 0);
    assert_int_equal(add(GET, "/a/", OWL_ROUTE_PREFIX, "under a"), 0);
    assert_int_equal(add(GET, "/a/b/", OWL_ROUTE_PREFIX, "under b"), 0);
    assert_int_equal(add(GET, "/a/b/c", 0, "c"), 0);
    server_start(s);
    ask("GET /a", 200, "a|||");
    ask("GET /a?x=1", 200, "a|||");
    ask("PUT /a", 200, "put a|||");
    ask("GET /a/", 200, "under a|||");
    ask("GET /a/x/y", 200, "under a|x/y||");
    ask("GET /a/b/x", 200, "under b|x||");
    ask("GET /a/b/c", 200, "c|||");
    ask("GET /ab", 404, NULL);
    ask("GET /a/b", 200, "under a|b||");
    ask("DELETE /a", 405, "");
    ask("PROPFIND /a", 405, "");
    ask("OPTIONS /a", 204, "");
    ask("GET /", 404, NULL);
    server_end(s);
}

TEST(a_path_names_the_methods_that_it_has, "")
{
    s = server_new(1);
    assert_int_equal(add(GET | PUT, "/a", 0, "a"), 0);
    server_start(s);
    struct http h = http_open(s);
    send_to(&h, "POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    while (!h.raw.p || !strstr(h.raw.p, "\r\n\r\n"))
        assert_true(http_fill(&h));
    assert_non_null(strstr(h.raw.p, "\r\nAllow: GET, PUT, OPTIONS\r\n"));
    http_close(&h);
    server_end(s);
}

TEST(a_route_that_cannot_be_is_refused, "")
{
    atomic_store(&freed, 0);
    s = server_new(1);
    assert_int_equal(add(GET, "no-slash", 0, ""), -OWL_EINVAL);
    assert_int_equal(add(GET, NULL, 0, ""), -OWL_EINVAL);
    assert_int_equal(add(GET, "/a?b", 0, ""), -OWL_EINVAL);
    assert_int_equal(add(GET, "/a", OWL_ROUTE_PREFIX, ""), -OWL_EINVAL);
    assert_int_equal(add(0, "/a", 0, ""), -OWL_EINVAL);
    assert_int_equal(add(1 << OWL_HTTP_OPTIONS, "/a", 0, ""), -OWL_EINVAL);
    assert_int_equal(add(1 << OWL_HTTP_OTHER, "/a", 0, ""), -OWL_EINVAL);
    assert_int_equal(add(GET, "/mcp", 0, ""), -OWL_EEXISTS);
    assert_int_equal(add(GET | PUT, "/mcp", 0, ""), -OWL_EEXISTS);
    assert_int_equal(owl_server_remove_route(s, PUT, "/mcp", 0), -OWL_ENOTFOUND);
    assert_int_equal(owl_server_remove_route(s, GET, "/mcp", OWL_ROUTE_PREFIX), -OWL_ENOTFOUND);
    char path[20];
    int rc = 0;
    for (int i = 0; rc == 0 && i <= OWL_ROUTES; i++) {
        snprintf(path, sizeof path, "/%d", i);
        rc = add(GET, path, 0, "");
    }
    assert_int_equal(rc, -OWL_ELIMIT);
    assert_int_equal(atomic_load(&freed), 0);
    owl_server_free(s);
    assert_true(atomic_load(&freed) > OWL_ROUTES / 2);
}

TEST(routes_come_and_go_while_the_server_runs, "")
{
    for (unsigned reactors = 1; reactors <= 4; reactors += 3) {
        atomic_store(&freed, 0);
        s = server_new(reactors);
        server_start(s);
        ask("GET /late", 404, NULL);
        for (int i = 1; i <= 20; i++) {
            assert_int_equal(add(GET, "/late", 0, "late"), 0);
            ask("GET /late", 200, "late|||");
            assert_int_equal(owl_server_remove_route(s, GET, "/late", 0), 0);
            assert_true(reaches(&freed, i)); /* although most reactors have no requests */
            ask("GET /late", 404, NULL);
        }
        server_end(s);
        assert_int_equal(atomic_load(&freed), 20);
    }
}

TEST(a_change_of_routes_without_memory_changes_nothing, "")
{
    for (long n = 1; n < 100; n++) {
        atomic_store(&freed, 0);
        s = server_new(1);
        assert_int_equal(add(GET, "/a/", OWL_ROUTE_PREFIX, "a"), 0);
        owl_alloc_fail_at((uint64_t)n);
        int rc = add(GET, "/b", 0, "b");
        owl_alloc_fail_at(0);
        assert_int_equal(atomic_load(&freed), 0);
        bool there = owl_server_remove_route(s, GET, "/b", 0) == 0;
        assert_true(there == (rc == 0));
        owl_server_free(s);
        if (rc == 0)
            return;
        assert_int_equal(rc, -OWL_ENOMEM);
    }
    fail();
}

TEST(only_routes_that_say_so_are_served_to_any_host, "")
{
    s = server_new(1);
    assert_int_equal(add(GET, "/open", OWL_ROUTE_ANY_HOST, "open"), 0);
    assert_int_equal(add(GET, "/closed", 0, "closed"), 0);
    server_start(s);
    struct http h = http_open(s);
    send_to(&h, "GET /open HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n");
    expect(&h, 200, "open|||");
    send_to(&h, "GET /closed HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    expect(&h, 403, NULL);
    send_to(&h, "GET /unknown HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    expect(&h, 403, NULL);
    http_close(&h);
    server_end(s);
}

/* ---- refused by the head ---- */

/* The head of a POST whose body never comes. */
static void refused_without_body(const char *path, const char *headers, int status)
{
    struct http h = http_open(s);
    char *text = text_of("POST %s HTTP/1.1\r\n%sContent-Length: 1000\r\n\r\n", path, headers);
    send_to(&h, text);
    expect(&h, status, NULL);
    char c;
    assert_int_equal(recv(h.fd, &c, 1, 0), 0); /* and it is the end */
    free(text);
    http_close(&h);
}

#define HOST "Host: 127.0.0.1\r\n"
#define JSON "Content-Type: application/json\r\n"

TEST(what_the_head_is_enough_for_is_refused_without_the_body, "")
{
    s = server_new(2);
    server_start(s);
    refused_without_body("/nothing", HOST JSON, 404);
    refused_without_body("/mcp/sse", HOST JSON, 405);
    refused_without_body("/mcp", "Host: evil.example\r\n" JSON, 403);
    refused_without_body("/mcp", HOST JSON "Origin: http://evil.example\r\n", 403);
    refused_without_body("/mcp", HOST "Content-Type: text/plain\r\n", 415);
    refused_without_body("/mcp", HOST JSON "Accept: text/html\r\n", 406);
    refused_without_body("/mcp/messages", HOST JSON, 400);
    refused_without_body("/mcp/messages?session_id=1", HOST, 415);
    server_end(s);
}

/* ---- authentication ---- */

enum how { AT_ONCE, LATER, NEVER };
static enum how how;
static atomic_int begun, cancelled;

struct pending {
    struct owl_timer timer;
    struct owl_auth_req *req;
};

/* The credentials of the request: "good NAME" or others. */
static void decide(struct owl_auth_req *a)
{
    const struct owl_http_view *v = owl_http_view(a->http);
    char address[OWL_HTTP_ADDRESS_BYTES];
    struct owl_auth_answer no = {.status = 401,
                                 .why = "a token is needed",
                                 .headers = OWL_STR("WWW-Authenticate: Bearer\r\n")};
    OWL_ASSERT(owl_str_is(owl_http_peer_address(a->http, address), "127.0.0.1"));
    for (size_t i = 0; i < v->n_headers; i++) {
        owl_str value = v->headers[i].value;
        if (!owl_str_ieq(v->headers[i].name, OWL_STR("authorization")) ||
            !owl_str_begins(value, "good "))
            continue;
        char name[200]; /* copied: it need not live longer than the call */
        size_t n = value.n - 5;
        memcpy(name, value.p + 5, n);
        owl_auth_done(a, &(struct owl_auth_answer){.principal = {name, n}});
        memset(name, 0, sizeof name);
        return;
    }
    owl_auth_done(a, &no);
}

static void on_decide(struct owl_timer *t)
{
    struct pending *p = OWL_CONTAINER(t, struct pending, timer);
    struct owl_auth_req *a = p->req;
    free(p);
    decide(a);
}

static void auth_begin(void *self, struct owl_auth_req *a)
{
    assert_ptr_equal(self, &how);
    atomic_fetch_add(&begun, 1);
    if (how == AT_ONCE) {
        decide(a);
        return;
    }
    struct pending *p = calloc(1, sizeof *p);
    OWL_ASSERT(p);
    p->req = a;
    a->state = p;
    owl_timer_init(&p->timer, on_decide);
    if (how == LATER)
        owl_timer_start(owl_http_reactor(a->http), &p->timer, 20);
}

static void auth_cancel(void *self, struct owl_auth_req *a)
{
    struct pending *p = a->state;
    (void)self;
    owl_timer_stop(&p->timer);
    free(p);
    atomic_fetch_add(&cancelled, 1);
}

static void start_auth(enum how when, unsigned reactors, unsigned timeout_ms)
{
    static struct owl_auth_ops ops;
    ops = (struct owl_auth_ops){auth_begin, auth_cancel, timeout_ms};
    how = when;
    atomic_store(&begun, 0);
    atomic_store(&cancelled, 0);
    atomic_store(&handled, 0);
    s = server_new(reactors);
    owl_server_set_auth(s, &ops, &how);
    assert_int_equal(add(GET | POST, "/who", OWL_ROUTE_AUTH, "who"), 0);
    assert_int_equal(add(GET, "/free", 0, "free"), 0);
    server_start(s);
}

TEST(a_route_is_reached_by_clients_that_are_known, "")
{
    for (how = AT_ONCE; how <= LATER; how++) {
        enum how when = how;
        start_auth(when, 2, 0);
        struct http h = http_open(s);
        for (int i = 0; i < 3; i++) {
            send_to(&h, "GET /who HTTP/1.1\r\n" HOST "Authorization: good Ann\r\n\r\n");
            expect(&h, 200, "who||Ann|");
            send_to(&h, "GET /who HTTP/1.1\r\n" HOST "Authorization: bad\r\n\r\n");
            expect(&h, 401, NULL);
            send_to(&h, "POST /who HTTP/1.1\r\n" HOST
                        "Authorization: good Bea\r\nContent-Length: 4\r\n\r\nbo");
            pause_ms(5);
            send_to(&h, "dy");
            expect(&h, 200, "who||Bea|body");
            send_to(&h, "POST /who HTTP/1.1\r\n" HOST
                        "Authorization: good Cas\r\nContent-Length: 4\r\n\r\nbody"
                        "GET /free HTTP/1.1\r\n" HOST "\r\n");
            expect(&h, 200, "who||Cas|body");
            expect(&h, 200, "free|||");
        }
        assert_int_equal(atomic_load(&begun), 12); /* once for each */
        http_close(&h);
        server_end(s);
        how = when;
    }
}

TEST(a_refusal_says_how_to_authenticate, "")
{
    start_auth(AT_ONCE, 1, 0);
    struct http h = http_open(s);
    send_to(&h, "POST /who HTTP/1.1\r\n" HOST "Content-Length: 4000\r\n\r\n");
    while (!h.raw.p || !strstr(h.raw.p, "\r\n\r\n"))
        assert_true(http_fill(&h));
    assert_non_null(strstr(h.raw.p, "HTTP/1.1 401 "));
    assert_non_null(strstr(h.raw.p, "\r\nWWW-Authenticate: Bearer\r\n"));
    assert_non_null(strstr(h.raw.p, "\r\nConnection: close\r\n")); /* its body was not read */
    http_close(&h);
    server_end(s);
    assert_int_equal(atomic_load(&handled), 0);
}

TEST(unknown_clients_learn_nothing_of_a_body_that_is_too_late, "")
{
    start_auth(LATER, 1, 0);
    refused_without_body("/who", HOST, 401);
    assert_int_equal(atomic_load(&handled), 0);
    server_end(s);
}

/* Others of the reactor go on; the client that leaves is not looked for any further. */
TEST(a_client_that_waits_holds_up_nobody, "")
{
    start_auth(NEVER, 1, 0);
    struct http h[3];
    for (int i = 0; i < 3; i++) {
        h[i] = http_open(s);
        send_to(&h[i], i == 2 ? "POST /who HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\n"
                              : "GET /who HTTP/1.1\r\n" HOST "\r\n");
    }
    assert_true(reaches(&begun, 3));
    ask("GET /free", 200, "free|||");
    http_close(&h[0]);
    assert_true(reaches(&cancelled, 1));
    http_close(&h[2]);
    assert_true(reaches(&cancelled, 2));
    ask("GET /free", 200, "free|||");
    owl_server_stop(s); /* ends the third */
    expect(&h[1], 503, NULL);
    http_close(&h[1]);
    assert_int_equal(owl_server_join(s), 0);
    assert_int_equal(atomic_load(&cancelled), 3);
    owl_server_free(s);
}

TEST(authentication_that_takes_too_long_is_given_up, "")
{
    start_auth(NEVER, 1, 30);
    ask("GET /who", 503, NULL);
    refused_without_body("/who", HOST, 503);
    assert_int_equal(atomic_load(&cancelled), 2);
    server_end(s);
}

TEST(a_route_may_go_while_its_client_is_looked_up, "")
{
    start_auth(LATER, 1, 0);
    struct http h = http_open(s);
    send_to(&h, "GET /who HTTP/1.1\r\n" HOST "Authorization: good Ann\r\n\r\n");
    assert_true(reaches(&begun, 1));
    assert_int_equal(owl_server_remove_route(s, GET, "/who", 0), 0);
    expect(&h, 404, NULL);
    http_close(&h);
    server_end(s);
}

/* ---- MCP itself ---- */

static void mcp_send(struct http *h, const char *who, const char *session, const char *body)
{
    char *text = text_of("POST /mcp HTTP/1.1\r\n" HOST POST_HEADERS
                         "Authorization: good %s\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
                         who, *session ? "Mcp-Session-Id: " : "", session, *session ? "\r\n" : "",
                         strlen(body), body);
    send_to(h, text);
    free(text);
}

TEST(a_session_belongs_to_the_client_that_was_authenticated, "")
{
    for (how = AT_ONCE; how <= LATER; how++) {
        enum how when = how;
        start_auth(when, 2, 0);
        struct http h = http_open(s);
        char *text = initialize_text("{}");
        send_to(&h, "POST /mcp HTTP/1.1\r\n" HOST POST_HEADERS "Content-Length: 2\r\n\r\n{}");
        expect(&h, 401, NULL);
        mcp_send(&h, "Ann", "", text);
        assert_int_equal(http_head(&h), 200);
        owl_json_doc_free(http_next(&h));
        mcp_send(&h, "Ann", h.session, INITIALIZED);
        expect(&h, 202, NULL);
        mcp_send(&h, "Bea", h.session, INITIALIZED);
        expect(&h, 404, NULL);
        mcp_send(&h, "Ann", h.session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
        expect(&h, 200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
        free(text);
        http_close(&h);
        server_end(s);
        how = when;
    }
}

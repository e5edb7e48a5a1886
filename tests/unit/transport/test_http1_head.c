/* Requests that are refused, or decided about later, when only their head has come. */
#include <poll.h>

#include "support/test.h"

#include "unit/transport/http_fixture.h"

static struct server server;
static struct http client;

static void start(void)
{
    server_start(&server, NULL);
    client_open(&client, &server);
}

static void stop(void)
{
    http_close(&client);
    server_stop(&server);
}

/* The answer is there although the body is not, and it is the last one. */
static void expect_last(int status, const char *body)
{
    struct answer a;
    client_answer(&client, &a);
    assert_int_equal(a.status, status);
    assert_string_equal(a.body, body);
    assert_true(head_has(&a, "Connection: close"));
    answer_free(&a);
}

TEST(a_head_is_refused_before_its_body_has_come, "")
{
    start();
    client_send(&client, "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n");
    expect_last(401, "who are you?");
    assert_true(http_at_end(&client));
    assert_int_equal(atomic_load(&server.requests), 0);
    assert_int_equal(atomic_load(&server.gone), 0);
    stop();
}

TEST(a_head_is_refused_instead_of_continued, "")
{
    start();
    client_send(&client, "POST /refuse HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n");
    expect_last(401, "who are you?");
    stop();
}

/* What comes after a refused head is its body, whatever it looks like. */
TEST(the_body_of_a_refused_head_is_never_a_request, "")
{
    static const char inner[] = "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char *const heads[] = {
        "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 300\r\n\r\n",
        "POST /refuse HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /ask?0 HTTP/1.1\r\nHost: x\r\nContent-Length: 300\r\n\r\n",
    };
    for (size_t i = 0; i < OWL_COUNT(heads); i++) {
        start();
        client_send(&client, heads[i]);
        while (atomic_load(&server.heads) == 0)
            usleep(500);
        OWL_IGNORE(http_put(&client, inner, sizeof inner - 1));
        expect_last(i == 2 ? 403 : 401, i == 2 ? "no" : "who are you?");
        OWL_IGNORE(http_put(&client, inner, sizeof inner - 1));
        OWL_IGNORE(http_put(&client, inner, sizeof inner - 1));
        assert_true(http_at_end(&client));
        assert_int_equal(atomic_load(&server.requests), 0);
        stop();
    }
}

TEST(a_head_with_its_body_is_shown_once_as_a_request, "")
{
    start();
    client_send(&client, "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    client_expect(&client, 200, "POST /refuse body");
    assert_int_equal(atomic_load(&server.heads), 0);
    client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nbo");
    while (atomic_load(&server.heads) == 0)
        usleep(500);
    client_send(&client, "dy");
    usleep(5000);
    client_send(&client, "body");
    client_expect(&client, 200, "POST /echo bodybody");
    assert_int_equal(atomic_load(&server.heads), 1);
    assert_int_equal(atomic_load(&server.requests), 2);
    stop();
}

TEST(a_body_waits_until_its_head_is_accepted, "")
{
    start();
    for (int i = 0; i < 3; i++) {
        struct answer a;
        client_send(&client, "PUT /ask?1 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                             "Content-Length: 4\r\n\r\n");
        client_head(&client, &a);
        assert_int_equal(a.status, 100);
        client_send(&client, "body");
        client_expect(&client, 200, "PUT /ask?1 body");
        client_send(&client, "PATCH /ask?1 HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nbody");
        client_send(&client, "bodyGET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "PATCH /ask?1 bodybody");
        client_expect(&client, 200, "GET /echo ");
    }
    stop();
}

/* It is not stored either: the peer is stopped by its own full socket. */
TEST(little_of_a_body_is_taken_before_its_head_is_accepted, "")
{
    static char piece[100 * 1000];
    struct owl_http_limits limits = {.body_bytes = 1000 * 1000 * 1000};
    size_t sent = 0;
    server_start(&server, &limits);
    client_open(&client, &server);
    client_send(&client, "POST /ask HTTP/1.1\r\nHost: x\r\nContent-Length: 900000000\r\n\r\n");
    for (ssize_t n; sent < 900u * 1000 * 1000; sent += (size_t)n) {
        struct pollfd f = {.fd = client.fd, .events = POLLOUT};
        if (poll(&f, 1, 300) <= 0)
            break;
        n = send(client.fd, piece, sizeof piece, MSG_DONTWAIT | MSG_NOSIGNAL);
        assert_true(n > 0);
    }
    assert_true(sent < 900u * 1000 * 1000);
    stop();
}

TEST(a_peer_that_leaves_before_its_body_is_reported, "")
{
    static const char *const heads[] = {
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n", /* accepted */
        "POST /ask HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n",  /* undecided */
    };
    for (size_t i = 0; i < OWL_COUNT(heads); i++) {
        start();
        client_send(&client, heads[i]);
        while (atomic_load(&server.heads) == 0)
            usleep(500);
        http_close(&client);
        assert_true(gone_within(&server, 1, 2000));
        assert_int_equal(atomic_load(&server.requests), 0);
        client_open(&client, &server);
        stop();
    }
}

TEST(a_body_that_is_refused_after_its_head_was_accepted_is_reported, "")
{
    struct owl_http_limits limits = {.body_ms = 100};
    struct answer a;
    start();
    client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (atomic_load(&server.heads) == 0)
        usleep(500);
    client_send(&client, "no chunk\r\n");
    client_answer(&client, &a);
    assert_int_equal(a.status, 400);
    answer_free(&a);
    assert_true(gone_within(&server, 1, 2000));
    stop();
    server_start(&server, &limits);
    client_open(&client, &server);
    client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n");
    client_answer(&client, &a);
    assert_int_equal(a.status, 408);
    answer_free(&a);
    assert_true(gone_within(&server, 1, 2000));
    stop();
}

/* ---- the peer's address ---- */

static void reply_address(void *user, struct owl_http_req *req)
{
    char text[OWL_HTTP_ADDRESS_BYTES];
    reply_text(user, req, 200, owl_http_peer_address(req, text));
}

TEST(a_request_knows_the_address_of_its_peer, "")
{
    static const char *const addresses[] = {"127.0.0.1:0", "[::]:0"};
    static const struct owl_http_ops ops = {.request = reply_address, .gone = on_gone};
    for (size_t i = 0; i < OWL_COUNT(addresses); i++) {
        struct owl_runtime_options o = {.reactors = 1, .workers = 1, .max_queued_work = 1};
        memset(&server, 0, sizeof server);
        assert_int_equal(owl_runtime_new(&o, &server.rt, NULL), 0);
        assert_int_equal(owl_http_new(server.rt, NULL, &ops, &server, &server.http), 0);
        server.port.http = server.http;
        struct owl_listen_options lo = {.address = owl_str_of(addresses[i]),
                                        .max = 10,
                                        .accept = owl_http_accept,
                                        .user = &server.port};
        assert_int_equal(owl_listener_open(server.rt, &lo, &server.listener, NULL), 0);
        assert_int_equal(owl_runtime_start(server.rt, NULL), 0);
        client_open(&client, &server);
        client_send(&client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "127.0.0.1");
        stop();
    }
}

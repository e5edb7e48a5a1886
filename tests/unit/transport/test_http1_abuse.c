/* Malformed, oversized and slow requests: each gets its status, none reaches the ops. */
#include "support/test.h"

#include "transport/http1_conn.h"
#include "unit/transport/http_fixture.h"

static struct server server;
static struct http client;

static const struct owl_http_limits tight = {
    .url_bytes = 100,
    .header_bytes = 1000,
    .headers = 10,
    .body_bytes = 1000,
    .header_ms = 100,
    .body_ms = 100,
    .idle_ms = 200,
};

/* Sends @p text on a new connection; it must be answered with @p status and closed. */
static void refused_n(const char *text, size_t n, int status)
{
    struct answer a;
    int before = atomic_load(&server.requests);
    client_open(&client, &server);
    assert_true(http_put(&client, text, n));
    client_answer(&client, &a);
    if (a.status != status)
        print_error("%.60s: %d instead of %d: %s\n", text, a.status, status, a.body);
    assert_int_equal(a.status, status);
    assert_true(head_has(&a, "Connection: close"));
    assert_true(head_has(&a, "Content-Type: text/plain; charset=utf-8"));
    assert_true(a.n > 10 && a.body[a.n - 2] == '.' && a.body[a.n - 1] == '\n');
    answer_free(&a);
    assert_true(http_at_end(&client));
    assert_int_equal(atomic_load(&server.requests), before);
    http_close(&client);
}

static void refused(const char *text, int status)
{
    refused_n(text, strlen(text), status);
}

TEST(malformed_requests_are_bad_requests, "")
{
    static const char *const bad[] = {
        "GET\t/ HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02\x01",
        "GET / HTTQ/1.1\r\n\r\n",
        "GET / HTTP/1.1\nHost: x\n\n",
        "GET  HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET mcp HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA: 1\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\rA: 1\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: x\r\n\r\n",
    };
    server_start(&server, NULL);
    for (size_t i = 0; i < OWL_COUNT(bad); i++)
        refused(bad[i], 400);
    static const char nul[] = "GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n";
    refused_n(nul, sizeof(nul) - 1, 400);
    server_stop(&server);
}

TEST(a_host_header_is_needed_exactly_once, "")
{
    server_start(&server, NULL);
    refused("GET / HTTP/1.1\r\n\r\n", 400);
    refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400);
    refused("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", 400);
    server_stop(&server);
}

TEST(ambiguous_framing_is_a_bad_request, "")
{
#define POST "POST / HTTP/1.1\r\nHost: x\r\n"
    server_start(&server, NULL);
    refused(POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
    refused(POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400);
    refused(POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400);
    refused(POST "Content-Length: 3, 3\r\n\r\n", 400);
    refused(POST "Content-Length: -3\r\n\r\n", 400);
    refused(POST "Content-Length: +3\r\n\r\n", 400);
    refused(POST "Content-Length: 0x3\r\n\r\n", 400);
    refused(POST "Content-Length:\r\n\r\n", 400);
    refused(POST "Content-Length: 99999999999999999999999999\r\n\r\n", 400);
    refused(POST "Transfer-Encoding: chunked, gzip\r\n\r\n", 400);
    refused(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
    refused(POST "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400);
    refused(POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", 400);
    refused(POST "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n", 400);
    refused(POST "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400);
    refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
    server_stop(&server);
}

TEST(what_is_not_understood_is_not_implemented, "")
{
    server_start(&server, NULL);
    refused(POST "Transfer-Encoding: gzip\r\n\r\n", 501);
    refused(POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501);
    refused("BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 501);
    refused("get / HTTP/1.1\r\nHost: x\r\n\r\n", 501);
    refused("CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", 501);
    refused(POST "Expect: a-miracle\r\nContent-Length: 1\r\n\r\n", 417);
    refused(POST "Expect: b\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", 417);
    refused("GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505);
    refused("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505);
    refused("GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505);
    refused("GET /\r\n\r\n", 505);
    refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
    server_stop(&server);
}

/* A request with @p count headers of @p length bytes each ("a:" and the value). */
static void send_headers(int count, int length, int status)
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_putz(&b, "GET /echo HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < count; i++)
        owl_buf_printf(&b, "a:%0*d\r\n", length - 1, i);
    owl_buf_putz(&b, "\r\n");
    if (status == 200) {
        client_open(&client, &server);
        assert_true(http_put(&client, b.p, b.n));
        client_expect(&client, 200, NULL);
        http_close(&client);
    } else {
        refused_n(b.p, b.n, status);
    }
    owl_buf_done(&b);
}

TEST(long_heads_are_refused_by_what_is_too_long, "")
{
    server_start(&server, &tight);
    send_headers(9, 10, 200);
    send_headers(10, 10, 431);
    send_headers(9, 110, 200);
    send_headers(9, 120, 431);
    send_headers(1, 5000, 431);
    char url[300];
    snprintf(url, sizeof(url), "GET /%0*d HTTP/1.1\r\nHost: x\r\n\r\n", 100, 1);
    refused(url, 414);
    snprintf(url, sizeof(url), "GET /%0*d", 200, 1); /* as soon as it is seen */
    refused(url, 414);
    server_stop(&server);
}

TEST(endless_white_space_in_a_head_is_refused, "")
{
    char spaces[8000];
    server_start(&server, &tight);
    memset(spaces, ' ', sizeof(spaces));
    memcpy(spaces, "GET / HTTP/1.1\r\nHost:", 21);
    refused_n(spaces, sizeof(spaces), 431);
    server_stop(&server);
}

TEST(long_bodies_are_refused_before_they_are_read, "")
{
    server_start(&server, &tight);
    refused(POST "Content-Length: 1001\r\n\r\n", 413);
    refused(POST "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n", 413);
    refused(POST "Transfer-Encoding: chunked\r\n\r\n3e9\r\n", 413);
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_putz(&b, POST "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 101; i++)
        owl_buf_putz(&b, "a\r\n0123456789\r\n");
    refused_n(b.p, b.n, 413);
    owl_buf_reset(&b);
    owl_buf_putz(&b, POST "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n");
    for (int i = 0; i < 101; i++)
        owl_buf_putz(&b, "trailer: 1234567890\r\n");
    refused_n(b.p, b.n, 431);
    owl_buf_done(&b);
    server_stop(&server);
}

TEST(a_peer_that_goes_on_sending_can_still_read_its_refusal, "")
{
    enum { SIZE = 10 * 1000 * 1000 };
    static char body[SIZE];
    struct answer a;
    server_start(&server, &tight);
    client_open(&client, &server);
    client_send(&client, POST "Content-Length: 10000000\r\n\r\n");
    assert_true(http_put(&client, body, SIZE));
    client_answer(&client, &a);
    assert_int_equal(a.status, 413);
    assert_non_null(strstr(a.body, "1000"));
    answer_free(&a);
    http_close(&client);
    assert_true(server_empty_within(&server, 1000));
    server_stop(&server);
}

/* Not for ever: neither in bytes nor in time. */
TEST(a_peer_that_never_stops_sending_is_dropped, "")
{
    static char junk[1 << 20];
    server_start(&server, &tight);
    client_open(&client, &server);
    client_send(&client, POST "Content-Length: 10000000\r\n\r\n");
    int sent = 0;
    while (sent < 100 && http_put(&client, junk, sizeof(junk)))
        sent++;
    assert_true(sent < 100);
    http_close(&client);
    client_open(&client, &server);
    client_send(&client, POST "Content-Length: 10000000\r\n\r\n");
    client_expect(&client, 413, NULL);
    assert_false(server_empty_within(&server, 1000));
    assert_true(server_empty_within(&server, 3000));
    http_close(&client);
    server_stop(&server);
}

TEST(slow_heads_and_bodies_time_out, "")
{
    struct answer a;
    server_start(&server, &tight);
    refused("G", 408);
    refused(POST, 408);
    refused(POST "Content-Length: 3\r\n\r\nab", 408);
    refused(POST "Transfer-Encoding: chunked\r\n\r\n", 408);
    /* Each byte in time, the whole too late. */
    client_open(&client, &server);
    client_send(&client, "GET /");
    for (int i = 0; i < 15 && http_put(&client, "x", 1); i++)
        usleep(10 * 1000);
    client_answer(&client, &a);
    assert_int_equal(a.status, 408);
    answer_free(&a);
    http_close(&client);
    server_stop(&server);
}

TEST(the_head_of_each_request_has_its_own_time, "")
{
    server_start(&server, &tight);
    client_open(&client, &server);
    for (int i = 0; i < 6; i++) {
        client_send(&client, "GET /echo HTT");
        usleep(60 * 1000);
        client_send(&client, "P/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "GET /echo ");
    }
    http_close(&client);
    server_stop(&server);
}

TEST(idle_connections_are_closed_and_busy_ones_are_not, "")
{
    struct http hold;
    server_start(&server, &tight);
    client_open(&hold, &server);
    client_send(&hold, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_open(&client, &server);
    for (int i = 0; i < 5; i++) {
        client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "GET /echo ");
        usleep(100 * 1000);
    }
    assert_true(http_at_end(&client));
    assert_int_equal(atomic_load(&server.gone), 0);
    http_close(&client);
    http_close(&hold);
    server_stop(&server);
}

TEST(a_peer_that_does_not_read_its_answer_is_dropped, "")
{
    server_start(&server, &tight);
    client_open(&client, &server);
    client_send(&client, "GET /big?30000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(server_empty_within(&server, 3000));
    http_close(&client);
    server_stop(&server);
}

TEST(a_peer_that_reads_slowly_is_not_dropped, "")
{
    static char part[1500 * 1000];
    struct answer a;
    server_start(&server, &(struct owl_http_limits){.idle_ms = 600});
    client_open(&client, &server);
    client_send(&client, "GET /big?30000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    for (int i = 0; i < 20; i++) {
        usleep(80 * 1000);
        http_read(&client, part, sizeof(part));
    }
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "GET /echo ");
    http_close(&client);
    server_stop(&server);
}

TEST(peers_that_do_not_read_do_not_have_all_the_memory_together, "")
{
    enum { PEERS = 8, BYTES = 20 * 1000 * 1000, ROOM = 3 * BYTES };
    static struct http peers[PEERS];
    static char body[BYTES];
    struct answer a;
    char request[100];
    server_start(&server, &(struct owl_http_limits){.queue_total_bytes = ROOM});
    snprintf(request, sizeof(request), "GET /big?%d HTTP/1.1\r\nHost: x\r\n\r\n", BYTES);
    for (int i = 0; i < PEERS; i++) {
        client_open(&peers[i], &server);
        client_send(&peers[i], request);
        client_head(&peers[i], &a);
    }
    unsigned stay = owl_reactor_load(owl_runtime_at(server.rt, 0));
    assert_in_range(stay, 3, PEERS - 2);              /* the kernel keeps some of it, too */
    http_read(&peers[PEERS - 1], body, sizeof(body)); /* who came last is not the one to go */
    for (int i = 0; i < PEERS; i++)
        http_close(&peers[i]);
    server_stop(&server);
}

TEST(a_peer_that_reads_is_not_dropped_for_those_that_do_not, "")
{
    enum { PEERS = 5, PART = 10 * 1000 * 1000, BYTES = 60 * 1000 * 1000 };
    static struct http peers[PEERS];
    static char body[PART]; /* more than the kernel keeps */
    const int little = 64 * 1024;
    struct answer a;
    char request[100];
    server_start(&server, &(struct owl_http_limits){.queue_total_bytes = BYTES + PART + PART / 2});
    for (int i = 0; i < PEERS; i++) {
        int n = i == 0 ? BYTES : 2 * PART;
        snprintf(request, sizeof(request), "GET /big?%d HTTP/1.1\r\nHost: x\r\n\r\n", n);
        client_open(&peers[i], &server);
        setsockopt(peers[i].fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
        client_send(&peers[i], request);
        client_head(&peers[i], &a);
        http_read(&peers[0], body, sizeof(body));
    }
    assert_in_range(owl_reactor_load(owl_runtime_at(server.rt, 0)), 3, PEERS - 1);
    http_read(&peers[0], body, sizeof(body));
    for (int i = 0; i < PEERS; i++)
        http_close(&peers[i]);
    server_stop(&server);
}

/* Sends a POST with a body of @p n bytes, of which @p left are missing. */
static void send_body(struct http *c, const char *path, size_t n, size_t left)
{
    static char body[1000 * 1000];
    char head[120];
    memset(body, 'x', sizeof(body));
    snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", path,
             n);
    client_send(c, head);
    OWL_IGNORE(http_put(c, body, n - left)); /* it may be refused before its end */
}

static size_t held(const struct server *s)
{
    return atomic_load(&s->http->shards[0]->bodies->held) - 1;
}

TEST(bodies_together_are_bounded, "")
{
    enum { SMALL = 16 * 1024, BYTES = 600 * 1000, ROOM = BYTES };
    static struct http slow, other;
    struct answer a;
    server_start(&server, &(struct owl_http_limits){.input_total_bytes = ROOM});
    client_open(&slow, &server);
    send_body(&slow, "/echo", BYTES, 1);
    while (held(&server) < BYTES - 1 - SMALL)
        usleep(500);
    client_open(&other, &server);
    send_body(&other, "/echo", BYTES, 0);
    client_head(&other, &a);
    assert_int_equal(a.status, 503);
    http_close(&other);
    client_open(&other, &server);
    send_body(&other, "/echo", SMALL, 0); /* small ones are always taken */
    client_head(&other, &a);
    assert_int_equal(a.status, 200);
    http_close(&other);
    client_send(&slow, "x");
    client_head(&slow, &a); /* who came first is served, and makes room */
    assert_int_equal(a.status, 200);
    client_open(&other, &server);
    send_body(&other, "/echo", BYTES, 0);
    client_head(&other, &a);
    assert_int_equal(a.status, 200);
    http_close(&other);
    client_open(&other, &server);
    send_body(&other, "/echo", ROOM, 1); /* one that is cut off gives its room back, too */
    http_close(&other);
    http_close(&slow);
    assert_true(server_empty_within(&server, 3000));
    client_open(&other, &server);
    send_body(&other, "/echo", ROOM, 0);
    client_head(&other, &a);
    assert_int_equal(a.status, 200);
    http_close(&other);
    server_stop(&server);
}

/* The status of a POST with a body of @p n bytes. */
static int post_body(const char *path, size_t n)
{
    static struct http c;
    struct answer a;
    client_open(&c, &server);
    send_body(&c, path, n, 0);
    client_head(&c, &a);
    http_close(&c);
    return a.status;
}

TEST(a_body_counts_until_whoever_took_it_lets_go, "")
{
    enum { BYTES = 100 * 1000 };
    server_start(&server, &(struct owl_http_limits){.input_total_bytes = BYTES});
    assert_int_equal(post_body("/keep", BYTES), 200);
    assert_true(server_empty_within(&server, 3000));
    assert_int_equal(post_body("/echo", BYTES), 503);
    owl_arena_free(atomic_load(&server.kept));
    assert_int_equal(held(&server), 0);
    assert_int_equal(post_body("/keep", BYTES), 200);
    server_stop(&server);
    owl_arena_free(atomic_load(&server.kept)); /* may be later than the server */
}

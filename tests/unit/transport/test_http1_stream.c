/* Event streams. */
#include "support/test.h"

#include "base/block.h"
#include "transport/http1_conn.h"
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

TEST(a_stream_is_chunked_and_the_connection_goes_on, "")
{
    struct answer a;
    start();
    for (int i = 0; i < 3; i++) {
        client_send(&client, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
        client_answer(&client, &a);
        assert_int_equal(a.status, 200);
        assert_true(head_has(&a, "Content-Type: text/event-stream"));
        assert_true(head_has(&a, "X-Accel-Buffering: no"));
        assert_true(head_has(&a, "X-Stream: 1"));
        assert_non_null(strstr(a.head, "Cache-Control: no-cache"));
        assert_string_equal(a.body, "data: 1\n\ndata: 22\n\ndata: a longer one\n\n");
        answer_free(&a);
    }
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "GET /echo ");
    stop();
}

TEST(one_write_is_one_chunk, "")
{
    struct answer a;
    char line[64], data[64];
    start();
    client_send(&client, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    http_line(&client, line, sizeof(line));
    assert_string_equal(line, "9");
    http_read(&client, data, 9 + 2);
    assert_memory_equal(data, "data: 1\n\n\r\n", 11);
    http_line(&client, line, sizeof(line));
    assert_string_equal(line, "a");
    http_read(&client, data, 10 + 2);
    http_line(&client, line, sizeof(line));
    assert_string_equal(line, "14");
    stop();
}

TEST(the_end_of_a_peer_with_an_open_stream_is_told, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    http_close(&client);
    assert_true(gone_within(&server, 1, 1000));
    assert_true(server_empty_within(&server, 1000));
    client_open(&client, &server);
    stop();
}

TEST(a_stream_has_no_idle_timeout, "")
{
    struct answer a;
    struct owl_http_limits l = {.idle_ms = 50, .header_ms = 50, .body_ms = 50};
    char data[16];
    server_start(&server, &l);
    client_open(&client, &server);
    client_send(&client, "GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    http_read(&client, data, 14);
    usleep(300 * 1000);
    assert_int_equal(atomic_load(&server.gone), 0);
    struct timeval soon = {.tv_usec = 1000};
    setsockopt(client.fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
    assert_int_equal(recv(client.fd, data, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
    stop();
}

static const struct owl_http_limits lively = {.keepalive_ms = 60};

static void open_stream(const char *request)
{
    struct answer a;
    server_start(&server, &lively);
    client_open(&client, &server);
    client_send(&client, request);
    client_head(&client, &a);
}

static void expect_bytes(const char *text)
{
    char got[64] = {0};
    http_read(&client, got, strlen(text));
    assert_string_equal(got, text);
}

TEST(a_silent_stream_is_kept_alive, "")
{
    open_stream("GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_bytes("9\r\ndata: 1\n\n\r\n");
    uint64_t before = uv_hrtime();
    for (int i = 0; i < 3; i++)
        expect_bytes("3\r\n:\n\n\r\n");
    uint64_t ms = (uv_hrtime() - before) / 1000000;
    assert_true(ms >= 3 * 60 - 60);
    assert_true(ms < 2000);
    assert_int_equal(atomic_load(&server.waits), 0);
    stop();
}

TEST(a_silent_stream_of_an_old_client_is_kept_alive_without_chunks, "")
{
    open_stream("GET /stream-hold HTTP/1.0\r\n\r\n");
    expect_bytes("data: 1\n\n:\n\n:\n\n");
    stop();
}

/* What the stream writes puts the comment off. */
static void write_piece(struct server *s, struct owl_reactor *r)
{
    struct owl_http__shard *shard = s->http->shards[owl_reactor_index(r)];
    struct owl_http__conn *c = OWL_CONTAINER(shard->conns.next, struct owl_http__conn, link);
    assert_int_equal(owl_http_stream_write(&c->req, OWL_STR("x")), 0);
}

TEST(a_stream_that_is_written_to_gets_no_comments, "")
{
    struct owl_http_limits l = {.keepalive_ms = 500};
    struct answer a;
    server_start(&server, &l);
    client_open(&client, &server);
    client_send(&client, "GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    expect_bytes("9\r\ndata: 1\n\n\r\n");
    for (int i = 0; i < 12; i++) {
        usleep(100 * 1000);
        server_run(&server, write_piece);
        expect_bytes("1\r\nx\r\n");
    }
    expect_bytes("3\r\n:\n\n\r\n");
    stop();
}

TEST(a_stream_without_a_body_gets_no_comments, "")
{
    struct timeval soon = {.tv_usec = 300 * 1000};
    char byte;
    open_stream("HEAD /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    setsockopt(client.fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
    assert_int_equal(recv(client.fd, &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
    stop();
}

static bool keeps_memory;

static void look_at_stream(struct server *s, struct owl_reactor *r)
{
    (void)r;
    struct owl_http__conn *c = OWL_CONTAINER(s->http->shards[0]->conns.next, struct owl_http__conn,
                                             link);
    keeps_memory = c->parse.arena || c->parse.view.n_headers > 0;
}

TEST(a_stream_keeps_no_memory_of_its_request, "")
{
    open_stream("GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_bytes("9\r\ndata: 1\n\n\r\n3\r\n:\n\n\r\n");
    server_run(&server, look_at_stream);
    assert_false(keeps_memory);
    assert_true(sizeof(struct owl_http__conn) <= 1536);
    stop();
}

TEST(a_pending_request_is_shown_again_and_again, "")
{
    server_start(&server, &lively);
    client_open(&client, &server);
    client_send(&client, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 5000 && atomic_load(&server.waits) < 3; i++)
        usleep(1000);
    assert_true(atomic_load(&server.waits) >= 3);
    assert_int_equal(atomic_load(&server.gone), 0);
    stop();
}

TEST(a_request_that_waits_can_be_answered_then, "")
{
    open_stream("GET /patient HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(atomic_load(&server.waits), 2);
    expect_bytes("3\r\n:\n\n\r\n3\r\n:\n\n\r\n");
    assert_int_equal(atomic_load(&server.waits), 2);
    stop();
    server_start(&server, &lively);
    client_open(&client, &server);
    client_send(&client, "GET /patient-reply HTTP/1.1\r\nHost: x\r\n\r\n"
                         "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "at last");
    client_expect(&client, 200, "GET /echo ");
    stop();
}

TEST(a_peer_that_does_not_read_its_stream_is_dropped, "")
{
    struct owl_http_limits l = {.queue_bytes = 500 * 1000};
    server_start(&server, &l);
    client_open(&client, &server);
    client_send(&client, "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(gone_within(&server, 1, 5000));
    assert_int_equal(atomic_load(&server.flood_rc), -OWL_ELIMIT);
    stop();
}

/* The thread keeps blocks that are twice as long as what is written into them. */
static void write_into_kept_blocks(struct server *s, struct owl_reactor *r)
{
    enum { KEPT = 16, BYTES = 33000 };
    static char text[BYTES];
    struct owl_http__shard *shard = s->http->shards[owl_reactor_index(r)];
    struct owl_http__conn *c = OWL_CONTAINER(shard->conns.next, struct owl_http__conn, link);
    void *kept[KEPT];
    size_t sizes[KEPT], written = 0;
    for (size_t i = 0; i < KEPT; i++)
        kept[i] = owl_block_new(OWL_HTTP__SLICE_BYTES, &sizes[i]);
    for (size_t i = 0; i < KEPT; i++)
        owl_block_free(kept[i], sizes[i]);
    memset(text, 'x', BYTES);
    while (c->queued == 0) /* the kernel takes it */
        assert_int_equal(owl_http_stream_write(&c->req, (owl_str){text, BYTES}), 0);
    size_t before = c->queued;
    for (; written < 10UL * BYTES; written += BYTES)
        assert_int_equal(owl_http_stream_write(&c->req, (owl_str){text, BYTES}), 0);
    assert_in_range(c->queued - before, written, written + written / 50);
}

TEST(a_peer_may_leave_unread_what_the_limit_says, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    answer_free(&a);
    server_run(&server, write_into_kept_blocks);
    stop();
}

TEST(a_drain_lets_a_stream_come_to_its_end, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /stream-later HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    server_run(&server, do_drain);
    client_body(&client, &a);
    assert_string_equal(a.body, "data: x\n\ndata: x\n\ndata: x\n\n");
    answer_free(&a);
    assert_true(http_at_end(&client));
    stop();
}

static void starve(struct server *s, struct owl_reactor *r)
{
    (void)s;
    (void)r;
    owl_alloc_fail_at(1);
}

static void feed_again(struct server *s, struct owl_reactor *r)
{
    (void)s;
    (void)r;
    owl_alloc_fail_at(0);
}

TEST(without_memory_a_request_is_refused_and_the_server_lives, "")
{
    start();
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, NULL);
    server_run(&server, starve);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 503, NULL);
    http_close(&client);
    client_open(&client, &server); /* refused by closing it */
    assert_true(http_at_end(&client));
    server_run(&server, feed_again);
    http_close(&client);
    client_open(&client, &server);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, NULL);
    stop();
}

/* Event streams. */
#include "support/test.h"

#include "unit/transport/http_fixture.h"

static struct server server;
static struct client client;

static void start(void)
{
    server_start(&server, NULL);
    client_open(&client, &server);
}

static void stop(void)
{
    client_close(&client);
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
    client_line(&client, line, sizeof(line));
    assert_string_equal(line, "9");
    client_read(&client, data, 9 + 2);
    assert_memory_equal(data, "data: 1\n\n\r\n", 11);
    client_line(&client, line, sizeof(line));
    assert_string_equal(line, "a");
    client_read(&client, data, 10 + 2);
    client_line(&client, line, sizeof(line));
    assert_string_equal(line, "14");
    stop();
}

TEST(the_end_of_a_peer_with_an_open_stream_is_told, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    client_close(&client);
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
    client_read(&client, data, 14);
    usleep(300 * 1000);
    assert_int_equal(atomic_load(&server.gone), 0);
    struct timeval soon = {.tv_usec = 1000};
    setsockopt(client.fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
    assert_int_equal(recv(client.fd, data, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
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

TEST(a_drain_lets_a_stream_come_to_its_end, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /stream-later HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    server_run(&server, do_drain);
    client_chunks(&client, &a);
    assert_string_equal(a.body, "data: x\n\ndata: x\n\ndata: x\n\n");
    answer_free(&a);
    assert_true(client_at_end(&client));
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
    client_close(&client);
    client_open(&client, &server); /* refused by closing it */
    assert_true(client_at_end(&client));
    server_run(&server, feed_again);
    client_close(&client);
    client_open(&client, &server);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, NULL);
    stop();
}

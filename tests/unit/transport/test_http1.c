/* Requests and answers over real sockets. */
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

TEST(a_connection_serves_one_request_after_the_other, "")
{
    start();
    for (int i = 0; i < 20; i++) {
        client_send(&client, "GET /echo?a=1 HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "GET /echo?a=1 ");
        client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
        client_expect(&client, 200, "POST /echo body");
        client_send(&client, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "GET /later ");
    }
    stop();
}

TEST(an_answer_has_date_type_and_length, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_answer(&client, &a);
    assert_true(head_has(&a, "Content-Type: text/plain"));
    assert_true(head_has(&a, "Content-Length: 10"));
    const char *date = strstr(a.head, "\nDate: ");
    assert_non_null(date);
    struct tm t = {0};
    const char *end = strptime(date + 7, "%a, %d %b %Y %H:%M:%S GMT", &t);
    assert_true(end && *end == '\n');
    double off = difftime(time(NULL), timegm(&t));
    assert_true(off >= 0.0 && off < 5.0);
    assert_null(strstr(a.head, "Connection:"));
    answer_free(&a);
    stop();
}

TEST(further_headers_are_sent_and_a_taken_arena_stays_valid, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /extra HTTP/1.1\r\nHost: x\r\nx-tEST:  value \t\r\n\r\n");
    client_answer(&client, &a);
    assert_int_equal(a.status, 404);
    assert_true(head_has(&a, "X-One: 1") && head_has(&a, "X-Two: 2"));
    assert_null(strstr(a.head, "Content-Type"));
    assert_string_equal(a.body, "value");
    answer_free(&a);
    stop();
}

TEST(a_thousand_pipelined_requests_are_answered_in_order, "")
{
    static const char *const paths[] = {"/echo", "/later"};
    for (size_t p = 0; p < 2; p++) {
        struct owl_buf b;
        start();
        owl_buf_init(&b, SIZE_MAX);
        for (int i = 0; i < 1000; i++)
            owl_buf_printf(&b, "GET %s?%d HTTP/1.1\r\nHost: x\r\n\r\n", paths[p], i);
        assert_true(http_put(&client, b.p, b.n));
        for (int i = 0; i < 1000; i++) {
            char want[64];
            snprintf(want, sizeof(want), "GET %s?%d ", paths[p], i);
            client_expect(&client, 200, want);
        }
        owl_buf_done(&b);
        stop();
    }
}

static void *send_pipeline(void *arg)
{
    struct owl_buf *b = arg;
    assert_true(http_put(&client, b->p, b->n));
    return NULL;
}

/* Many more than fit the read-ahead, all at once, with answers of both kinds between them. */
TEST(a_hundred_thousand_pipelined_requests_need_neither_stack_nor_memory, "")
{
    enum { COUNT = 100 * 1000 };
    struct owl_buf b;
    pthread_t thread;
    start();
    owl_buf_init(&b, SIZE_MAX);
    for (int i = 0; i < COUNT; i++)
        owl_buf_printf(&b, "GET %s HTTP/1.1\r\nHost:\r\n\r\n",
                       i % 1000 == 500 ? "/later" : "/echo");
    assert_int_equal(pthread_create(&thread, NULL, send_pipeline, &b), 0);
    for (int i = 0; i < COUNT; i++)
        client_expect(&client, 200, i % 1000 == 500 ? "GET /later " : "GET /echo ");
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&server.requests), COUNT);
    owl_buf_done(&b);
    stop();
}

TEST(a_pipeline_behind_a_pending_answer_waits_within_bounds, "")
{
    struct owl_buf b;
    pthread_t thread;
    start();
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_putz(&b, "GET /stream-later HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 20000; i++)
        owl_buf_putz(&b, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(pthread_create(&thread, NULL, send_pipeline, &b), 0);
    client_expect(&client, 200, "data: x\n\ndata: x\n\ndata: x\n\n");
    for (int i = 0; i < 20000; i++)
        client_expect(&client, 200, "GET /later ");
    pthread_join(thread, NULL);
    owl_buf_done(&b);
    stop();
}

TEST(the_cut_of_the_bytes_does_not_matter, "")
{
    static const char in[] =
        "POST /echo?q HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\nA;ext=1\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
        "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
        "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n";
    start();
    for (size_t cut = 1; cut < sizeof(in) - 1; cut++) {
        assert_true(http_put(&client, in, cut));
        usleep(300);
        assert_true(http_put(&client, in + cut, sizeof(in) - 1 - cut));
        client_expect(&client, 200, "POST /echo?q abc0123456789");
        client_expect(&client, 200, "POST /later hello");
        client_expect(&client, 200, "GET /echo ");
    }
    for (size_t i = 0; i < sizeof(in) - 1; i++)
        assert_true(http_put(&client, in + i, 1));
    client_expect(&client, 200, "POST /echo?q abc0123456789");
    client_expect(&client, 200, "POST /later hello");
    client_expect(&client, 200, "GET /echo ");
    stop();
}

TEST(a_body_up_to_the_limit_is_taken, "")
{
    enum { SIZE = 4 * 1024 * 1024 };
    struct answer a;
    char head[100];
    char *body = malloc(SIZE);
    assert_non_null(body);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (char)('a' + i % 23);
    start();
    snprintf(head, sizeof(head), "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
             SIZE);
    client_send(&client, head);
    assert_true(http_put(&client, body, SIZE));
    client_answer(&client, &a);
    assert_int_equal(a.n, SIZE + strlen("POST /echo "));
    assert_memory_equal(a.body + strlen("POST /echo "), body, SIZE);
    answer_free(&a);
    free(body);
    stop();
}

TEST(a_large_answer_arrives_whole_and_the_connection_goes_on, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /big?20000000 HTTP/1.1\r\nHost: x\r\n\r\n"
                         "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    usleep(50 * 1000);
    assert_int_equal(atomic_load(&server.requests), 1); /* the second waits for the first's bytes */
    client_answer(&client, &a);
    assert_int_equal(a.n, 20000000);
    answer_free(&a);
    client_expect(&client, 200, "GET /echo ");
    stop();
}

/* A peer that half-closes while it is answered, and then reads. */
static void half_close(const char *request)
{
    struct answer a;
    client_send(&client, request);
    usleep(50 * 1000);
    shutdown(client.fd, SHUT_WR);
    usleep(50 * 1000);
    client_answer(&client, &a);
    assert_int_equal(a.n, 20000000);
    answer_free(&a);
    assert_true(http_at_end(&client));
    assert_true(server_empty_within(&server, 2000));
}

TEST(a_large_last_answer_reaches_a_peer_that_has_half_closed, "")
{
    start();
    half_close("GET /big?20000000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stop();
}

TEST(a_peer_that_half_closes_while_it_reads_gets_the_whole_answer, "")
{
    start();
    half_close("GET /big?20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(atomic_load(&server.gone), 0);
    stop();
}

TEST(without_memory_for_the_rest_of_an_answer_the_peer_is_dropped, "")
{
    start();
    client_send(&client, "GET /starve?20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    /* A peer that reads meanwhile may take all of it at once. */
    for (int i = 0; i < 10000 && !atomic_load(&server.starved); i++)
        usleep(1000);
    size_t n = 0;
    while (!http_at_end(&client)) {
        n += client.raw.n;
        client.raw.n = 0;
    }
    assert_true(n > 0 && n < 20000000);
    assert_int_equal(atomic_load(&server.gone), 0); /* it was answered, if in vain */
    stop();
}

TEST(a_status_without_a_name_is_sent_all_the_same, "")
{
    start();
    client_send(&client, "GET /teapot HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 418, "short and stout");
    stop();
}

TEST(head_is_answered_without_a_body_but_with_its_length, "")
{
    struct answer a;
    start();
    client_send(&client, "HEAD /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    assert_int_equal(a.status, 200);
    assert_true(head_has(&a, "Content-Length: 11"));
    client_send(&client, "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    assert_true(head_has(&a, "Content-Type: text/event-stream"));
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "GET /echo ");
    stop();
}

TEST(no_content_has_no_length, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /empty HTTP/1.1\r\nHost: x\r\n\r\n");
    client_answer(&client, &a);
    assert_int_equal(a.status, 204);
    assert_null(strstr(a.head, "Content-Length"));
    answer_free(&a);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "GET /echo ");
    stop();
}

TEST(every_method_and_form_of_target_is_handed_up, "")
{
    start();
    client_send(&client, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "OPTIONS * ");
    client_send(&client, "DELETE /mcp HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "DELETE /mcp ");
    client_send(&client, "PATCH /mcp HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "PATCH /mcp ");
    client_send(&client, "PROPFIND /mcp HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "OTHER /mcp ");
    client_send(&client, "GET http://x:80/mcp?y HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "GET /mcp?y ");
    client_send(&client, "GET http://x HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "GET / ");
    client_send(&client, "GET /up HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\n"
                         "Upgrade: websocket\r\n\r\n");
    client_expect(&client, 200, "GET /up ");
    stop();
}

TEST(continue_is_sent_once_and_only_if_the_peer_waits, "")
{
    char line[100];
    start();
    client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n"
                         "Content-Length: 4\r\n\r\n");
    http_line(&client, line, sizeof(line));
    assert_string_equal(line, "HTTP/1.1 100 Continue");
    http_line(&client, line, sizeof(line));
    assert_string_equal(line, "");
    client_send(&client, "bo");
    usleep(5000);
    client_send(&client, "dy");
    client_expect(&client, 200, "POST /echo body");
    /* The body is there already. */
    client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                         "Content-Length: 4\r\n\r\nbody");
    client_expect(&client, 200, "POST /echo body");
    /* There is no body. */
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n");
    client_expect(&client, 200, "GET /echo ");
    stop();
}

TEST(http_1_0_closes_unless_it_asks_to_be_kept, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client_answer(&client, &a);
    assert_true(head_has(&a, "Connection: keep-alive"));
    answer_free(&a);
    client_send(&client, "GET /echo HTTP/1.0\r\n\r\n");
    client_answer(&client, &a);
    assert_true(head_has(&a, "Connection: close"));
    answer_free(&a);
    assert_true(http_at_end(&client));
    stop();
}

TEST(a_stream_to_http_1_0_is_ended_by_the_close, "")
{
    struct answer a;
    char body[100];
    start();
    client_send(&client, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client_head(&client, &a);
    assert_null(strstr(a.head, "Transfer-Encoding"));
    assert_true(head_has(&a, "Connection: close"));
    static const char want[] = "data: 1\n\ndata: 22\n\ndata: a longer one\n\n";
    http_read(&client, body, sizeof(want) - 1);
    assert_memory_equal(body, want, sizeof(want) - 1);
    assert_true(http_at_end(&client));
    stop();
}

TEST(connection_close_is_honoured_and_what_follows_is_ignored, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                         "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_answer(&client, &a);
    assert_true(head_has(&a, "Connection: close"));
    answer_free(&a);
    assert_true(http_at_end(&client));
    http_close(&client);
    assert_true(server_empty_within(&server, 1000));
    assert_int_equal(atomic_load(&server.requests), 1);
    client_open(&client, &server);
    stop();
}

TEST(a_disconnect_while_a_request_is_open_is_told_once, "")
{
    start();
    client_send(&client, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    usleep(20 * 1000);
    http_close(&client);
    assert_true(gone_within(&server, 1, 1000));
    client_open(&client, &server);
    client_send(&client, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    usleep(20 * 1000);
    shutdown(client.fd, SHUT_WR); /* half closed counts as gone */
    assert_true(gone_within(&server, 2, 1000));
    assert_true(server_empty_within(&server, 1000));
    stop();
}

TEST(a_disconnect_between_requests_is_not_told, "")
{
    start();
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, NULL);
    client_send(&client, "GET /ec");
    http_close(&client);
    assert_true(server_empty_within(&server, 1000));
    assert_int_equal(atomic_load(&server.gone), 0);
    client_open(&client, &server);
    stop();
}

TEST(an_answer_to_a_peer_that_has_gone_is_harmless, "")
{
    start();
    for (unsigned i = 0; i < 50; i++) {
        struct linger reset = {.l_onoff = 1};
        client_send(&client, "GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET /big?3000000 HTTP/1.1\r\n"
                             "Host: x\r\n\r\nGET /stream-later HTTP/1.1\r\nHost: x\r\n\r\n");
        setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        usleep(i % 5 * 200);
        http_close(&client);
        client_open(&client, &server);
    }
    stop();
}

TEST(drain_closes_idle_connections_and_others_after_their_answer, "")
{
    struct http idle, pending;
    struct answer a;
    start();
    client_open(&idle, &server);
    client_send(&idle, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&idle, 200, NULL);
    client_open(&pending, &server);
    client_send(&pending, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbo");
    usleep(20 * 1000);
    server_run(&server, do_drain);
    assert_true(http_at_end(&idle));
    assert_true(http_at_end(&client));
    client_send(&pending, "dy");
    client_answer(&pending, &a);
    assert_string_equal(a.body, "POST /echo body");
    assert_true(head_has(&a, "Connection: close"));
    answer_free(&a);
    assert_true(http_at_end(&pending));
    http_close(&pending);
    http_close(&idle);
    assert_true(server_empty_within(&server, 1000));
    stop();
}

TEST(drain_lets_an_answer_be_read_to_its_end, "")
{
    struct answer a;
    start();
    client_send(&client, "GET /big?20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    usleep(50 * 1000);
    server_run(&server, do_drain);
    client_answer(&client, &a);
    assert_int_equal(a.n, 20000000);
    answer_free(&a);
    assert_true(http_at_end(&client));
    stop();
}

static void accept_nonsense(struct server *s, struct owl_reactor *r)
{
    owl_reactor_load_add(r, 1);
    owl_http_accept(&s->port, r, 999, NULL);
}

static void accept_late(struct server *s, struct owl_reactor *r)
{
    do_close(s, r);
    owl_reactor_load_add(r, 1);
    owl_http_accept(&s->port, r, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), NULL);
}

TEST(what_cannot_be_served_is_closed_and_not_counted, "")
{
    start();
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, NULL);
    server_run(&server, accept_nonsense);
    assert_int_equal(owl_reactor_load(owl_runtime_at(server.rt, 0)), 1);
    server_run(&server, accept_late);
    assert_true(server_empty_within(&server, 1000));
    stop();
}

TEST(answers_after_the_close_are_harmless, "")
{
    start();
    client_send(&client, "GET /closed HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(http_at_end(&client));
    assert_int_equal(atomic_load(&server.gone), 0);
    stop();
    start();
    client_send(&client, "GET /closed-stream HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(http_at_end(&client));
    assert_true(gone_within(&server, 1, 1000));
    stop();
}

TEST(close_ends_everything_and_tells_of_open_requests, "")
{
    struct http hold, stream;
    struct answer a;
    start();
    client_open(&hold, &server);
    client_send(&hold, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_open(&stream, &server);
    client_send(&stream, "GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&stream, &a);
    usleep(20 * 1000);
    server_run(&server, do_close);
    assert_true(gone_within(&server, 2, 1000));
    assert_true(http_at_end(&hold));
    assert_int_equal(owl_reactor_load(owl_runtime_at(server.rt, 0)), 0);
    http_close(&hold);
    http_close(&stream);
    stop();
}

TEST(without_memory_there_is_no_server, "")
{
    static const struct owl_http_ops ops = {.request = on_request, .gone = on_gone};
    struct owl_log log = {0};
    struct owl_runtime *rt;
    struct owl_http *h = NULL;
    struct owl_runtime_options o = {.reactors = 3, .workers = 1, .max_queued_work = 1, .log = &log};
    assert_int_equal(owl_runtime_new(&o, &rt, NULL), 0);
    for (unsigned long n = 1; n <= 4; n++) {
        owl_alloc_fail_at(n);
        assert_int_equal(owl_http_new(rt, NULL, &ops, NULL, &h), -OWL_ENOMEM);
        owl_alloc_fail_at(0);
        assert_null(h);
    }
    assert_int_equal(owl_http_new(rt, NULL, &ops, NULL, &h), 0);
    owl_http_free(h);
    owl_http_free(NULL);
    owl_runtime_join(rt);
    owl_runtime_aunref(rt);
}

static int unix_end;

static void accept_unix(struct server *s, struct owl_reactor *r)
{
    owl_reactor_load_add(r, 1);
    owl_http_accept(&s->port, r, unix_end, NULL);
}

static void open_unix(struct http *c)
{
    int ends[2], room = 400 * 1000;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
    unix_end = ends[1];
    *c = (struct http){.fd = ends[0]};
    server_run(&server, accept_unix);
}

TEST(a_unix_socket_is_served_like_any_other, "")
{
    struct answer a;
    server_start(&server, &(struct owl_http_limits){.keepalive_ms = 60});
    open_unix(&client);
    client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    client_expect(&client, 200, "POST /echo body");
    client_send(&client, "GET /big?10000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    client_answer(&client, &a);
    assert_int_equal(a.n, 10000000);
    answer_free(&a);
    client_send(&client, "GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    char got[32] = {0};
    http_read(&client, got, 14 + 8);
    assert_string_equal(got, "9\r\ndata: 1\n\n\r\n3\r\n:\n\n\r\n");
    http_close(&client);
    assert_true(gone_within(&server, 1, 1000));
    assert_true(server_empty_within(&server, 1000));
    server_stop(&server);
}

static struct http other;

/* On the reactor, which looks at its sockets afterwards. */
static void send_much_then_little(struct server *s, struct owl_reactor *r)
{
    (void)s, (void)r;
    static char body[200 * 1000];
    client_send(&client, "POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n");
    assert_true(http_put(&client, body, sizeof body));
    client_send(&other, "GET /count HTTP/1.1\r\nHost: x\r\n\r\n");
}

TEST(a_large_body_is_read_in_turn_with_others, "")
{
    server_start(&server, NULL);
    open_unix(&client);
    open_unix(&other);
    server_run(&server, send_much_then_little);
    client_expect(&other, 200, "1");
    while (atomic_load(&server.requests) < 2) /* the other comes, too */
        usleep(500);
    http_close(&other);
    stop();
}

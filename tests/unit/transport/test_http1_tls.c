/* HTTP over TLS: what holds of plain connections holds of these, and handshakes cannot hurt. */
#include "support/test.h"

#include <fcntl.h>

#include "transport/http1_conn.h"
#include "unit/transport/http_fixture.h"
#include "unit/transport/tls_fixture.h"

static struct tls_world world;
static struct owl_tls *tls;
static SSL_CTX *ctx;
static struct server server;
static struct http client;

static void begin(const struct owl_http_limits *limits, bool client_ca)
{
    world_make(&world);
    struct owl_tls_files files = world_files(client_ca);
    assert_int_equal(owl_tls_new(&files, &tls, NULL), 0);
    ctx = client_ctx(&world.ca, client_ca ? &world.client : NULL);
    server_start_tls(&server, limits, tls);
}

static void end(void)
{
    server_stop(&server);
    owl_tls_free(tls);
    SSL_CTX_free(ctx);
    world_done(&world);
}

static void open_secure(struct http *c)
{
    client_open(c, &server);
    assert_true(http_secure(c, ctx));
}

static struct owl_http__shard *shard(void)
{
    return server.http->shards[0];
}

TEST(requests_are_served_over_tls, "OR-3.10")
{
    struct answer a;
    begin(NULL, false);
    open_secure(&client);
    for (int i = 0; i < 3; i++) {
        client_send(&client, "POST /echo?q HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
        client_expect(&client, 200, "POST /echo?q body");
        client_send(&client, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "GET /later ");
        client_send(&client, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
        client_answer(&client, &a);
        assert_string_equal(a.body, "data: 1\n\ndata: 22\n\ndata: a longer one\n\n");
        answer_free(&a);
    }
    http_close(&client);
    end();
}

TEST(pipelined_requests_are_answered_in_order_over_tls, "")
{
    struct owl_buf b;
    begin(NULL, false);
    owl_buf_init(&b, SIZE_MAX);
    for (int i = 0; i < 3000; i++)
        owl_buf_printf(&b, "GET /later?%d HTTP/1.1\r\nHost: x\r\n\r\n", i);
    open_secure(&client);
    assert_true(http_put(&client, b.p, b.n));
    for (int i = 0; i < 3000; i++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "GET /later?%d ", i);
        client_expect(&client, 200, expected);
    }
    owl_buf_done(&b);
    http_close(&client);
    end();
}

/* Sends in records of @p record bytes, as slow and stupid peers do. */
static void post_in_records(size_t size, size_t record)
{
    struct owl_buf b;
    struct answer a;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_printf(&b, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", size);
    size_t head = b.n;
    assert_int_equal(owl_buf_reserve(&b, size), 0);
    for (size_t i = 0; i < size; i++)
        b.p[b.n++] = (char)('a' + i % 23);
    for (size_t at = 0; at < b.n; at += record)
        assert_true(http_put(&client, b.p + at, b.n - at < record ? b.n - at : record));
    client_answer(&client, &a);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.n, strlen("POST /echo ") + size);
    assert_memory_equal(a.body + strlen("POST /echo "), b.p + head, size);
    answer_free(&a);
    owl_buf_done(&b);
}

TEST(big_bodies_go_both_ways_in_records_of_any_length, "")
{
    begin(NULL, false);
    open_secure(&client);
    post_in_records(4000 * 1000, 16384);
    post_in_records(300 * 1000, 100);
    post_in_records(3000, 1);
    post_in_records(16384, 5000);
    client_send(&client, "GET /big?30000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    struct answer a;
    client_answer(&client, &a);
    assert_int_equal(a.n, 30000000);
    assert_int_equal(a.body[a.n - 1], 'b');
    answer_free(&a);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "GET /echo ");
    http_close(&client);
    end();
}

TEST(the_last_answer_is_followed_by_a_close_notify, "")
{
    begin(&(struct owl_http_limits){.idle_ms = 100}, false);
    open_secure(&client);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    client_expect(&client, 200, NULL);
    assert_true(http_at_end(&client));
    assert_true(SSL_get_shutdown(client.ssl) & SSL_RECEIVED_SHUTDOWN);
    http_close(&client);
    open_secure(&client); /* says nothing */
    assert_true(http_at_end(&client));
    assert_true(SSL_get_shutdown(client.ssl) & SSL_RECEIVED_SHUTDOWN);
    http_close(&client);
    assert_true(server_empty_within(&server, 1000));
    end();
}

TEST(a_drain_says_goodbye, "")
{
    struct http half;
    begin(NULL, false);
    open_secure(&client);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, NULL);
    client_open(&half, &server); /* never begins */
    while (owl_reactor_load(owl_runtime_at(server.rt, 0)) < 2)
        usleep(1000);
    server_run(&server, do_drain);
    assert_true(http_at_end(&client));
    assert_true(SSL_get_shutdown(client.ssl) & SSL_RECEIVED_SHUTDOWN);
    assert_true(http_at_end(&half));
    http_close(&client);
    http_close(&half);
    assert_true(server_empty_within(&server, 1000));
    end();
}

/* The server's end of a connection: the server is in this process. */
static int end_of(const struct http *c)
{
    struct sockaddr_in ours, theirs;
    socklen_t n = sizeof(ours);
    assert_int_equal(getsockname(c->fd, (struct sockaddr *)&ours, &n), 0);
    for (int fd = 3; fd < 1024; fd++) {
        n = sizeof(theirs);
        if (getpeername(fd, (struct sockaddr *)&theirs, &n) == 0 && theirs.sin_family == AF_INET &&
            theirs.sin_port == ours.sin_port && theirs.sin_addr.s_addr == ours.sin_addr.s_addr)
            return fd;
    }
    fail_msg("the connection has no other end");
    return -1;
}

/* Until the kernel takes nothing more, for good. */
static void stuff(int fd)
{
    static const char junk[4096];
    for (int quiet = 0; quiet < 20; quiet++) {
        while (send(fd, junk, sizeof(junk), MSG_DONTWAIT) > 0 ||
               send(fd, junk, 1, MSG_DONTWAIT) > 0)
            quiet = 0;
        usleep(1000);
    }
}

static void drain_stuffed(struct server *s, struct owl_reactor *r)
{
    stuff(end_of(&client));
    do_drain(s, r);
}

TEST(a_goodbye_that_has_to_be_queued_may_drop_the_next_peer, "")
{
    static struct http slow;
    const int little = 64 * 1024;
    struct answer a;
    begin(&(struct owl_http_limits){.queue_total_bytes = 1}, false);
    open_secure(&client);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, NULL);
    open_secure(&slow);
    setsockopt(slow.fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
    client_send(&slow, "GET /big?20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&slow, &a);
    server_run(&server, drain_stuffed);
    assert_int_equal(owl_reactor_load(owl_runtime_at(server.rt, 0)), 1);
    http_close(&client);
    http_close(&slow);
    assert_true(server_empty_within(&server, 1000));
    end();
}

/* ---- ends ---- */

TEST(an_end_in_the_middle_is_told_once, "")
{
    struct answer a;
    begin(NULL, false);
    open_secure(&client); /* cut off: no close_notify */
    client_send(&client, "GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    http_close(&client);
    assert_true(gone_within(&server, 1, 2000));
    open_secure(&client); /* with a close_notify */
    client_send(&client, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    SSL_shutdown(client.ssl);
    assert_true(gone_within(&server, 2, 2000));
    http_close(&client);
    open_secure(&client); /* in the middle of a request whose head was accepted */
    client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nbo");
    http_close(&client);
    client_open(&client, &server); /* in the middle of a handshake */
    client_send(&client, "\x16\x03\x01");
    http_close(&client);
    assert_true(server_empty_within(&server, 2000));
    assert_int_equal(atomic_load(&server.gone), 3);
    end();
}

TEST(a_record_that_was_tampered_with_ends_the_connection, "")
{
    begin(NULL, false);
    open_secure(&client);
    client_send(&client, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    static const char forged[] = "\x17\x03\x03\x00\x20--------------------------------";
    assert_int_equal(send(client.fd, forged, sizeof(forged) - 1, 0), sizeof(forged) - 1);
    assert_true(http_at_end(&client));
    assert_true(gone_within(&server, 1, 2000));
    http_close(&client);
    end();
}

TEST(a_peer_that_does_not_read_its_stream_is_dropped_over_tls, "")
{
    struct owl_http_limits l = {.queue_bytes = 500 * 1000};
    begin(&l, false);
    open_secure(&client);
    client_send(&client, "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(gone_within(&server, 1, 10000));
    assert_int_equal(atomic_load(&server.flood_rc), -OWL_ELIMIT);
    http_close(&client);
    end();
}

TEST(a_peer_that_does_not_read_its_answer_is_dropped_over_tls, "")
{
    begin(&(struct owl_http_limits){.idle_ms = 200}, false);
    open_secure(&client);
    client_send(&client, "GET /big?30000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(server_empty_within(&server, 5000));
    http_close(&client);
    end();
}

/* Each update asks for one in return, which costs us memory as long as the peer does not read. */
TEST(a_flood_of_key_updates_is_dropped, "")
{
    struct owl_http_limits l = {.queue_bytes = 20 * 1000, .idle_ms = 60 * 1000};
    begin(&l, false);
    open_secure(&client);
    client_send(&client, "GET /big?20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    bool alive = true;
    for (int i = 0; i < 20000 && alive; i++) {
        SSL_key_update(client.ssl, SSL_KEY_UPDATE_REQUESTED);
        alive = SSL_do_handshake(client.ssl) == 1;
    }
    assert_true(server_empty_within(&server, 10000));
    http_close(&client);
    end();
}

TEST(a_silent_stream_is_kept_alive_over_tls, "")
{
    struct answer a;
    char got[32] = {0};
    begin(&(struct owl_http_limits){.keepalive_ms = 60}, false);
    open_secure(&client);
    client_send(&client, "GET /stream-hold HTTP/1.1\r\nHost: x\r\n\r\n");
    client_head(&client, &a);
    http_read(&client, got, 14 + 8 + 8);
    assert_string_equal(got, "9\r\ndata: 1\n\n\r\n3\r\n:\n\n\r\n3\r\n:\n\n\r\n");
    http_close(&client);
    end();
}

/* ---- those who do not get in ---- */

TEST(plain_http_is_told_that_this_is_https, "OR-3.10")
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n",
        "P",
    };
    begin(NULL, false);
    for (size_t i = 0; i < OWL_COUNT(requests); i++) {
        client_open(&client, &server);
        client_send(&client, requests[i]);
        client_expect(&client, 400, "This port speaks HTTPS, not plain HTTP.\n");
        assert_true(http_at_end(&client));
        http_close(&client);
    }
    assert_true(server_empty_within(&server, 2000));
    assert_int_equal(atomic_load(&server.requests), 0);
    end();
}

/* OpenSSL has an alert only for what looks a little like TLS. */
TEST(what_is_neither_is_closed, "")
{
    static const owl_str bad[] = {{"\x16\x03\x01\x00\x04\x02\x00\x00\x00", 9},
                                  {"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", 11}};
    begin(NULL, false);
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        client_open(&client, &server);
        assert_true(http_put(&client, bad[i].p, bad[i].n));
        if (i == 0) {
            assert_true(http_receive(&client) > 0);
            assert_int_equal(client.raw.p[0], 0x15);
            client.raw.n = 0;
        }
        assert_true(http_at_end(&client));
        http_close(&client);
    }
    assert_true(server_empty_within(&server, 2000));
    end();
}

TEST(a_slow_handshake_is_closed, "")
{
    begin(&(struct owl_http_limits){.handshake_ms = 100}, false);
    client_open(&client, &server);
    assert_true(http_at_end(&client));
    http_close(&client);
    client_open(&client, &server); /* each byte in time, the whole too late */
    for (int i = 0; i < 100 && http_put(&client, &"\x16\x03\x01\x02\x00"[i < 4 ? i : 4], 1); i++)
        usleep(10 * 1000);
    assert_true(http_at_end(&client));
    http_close(&client);
    open_secure(&client); /* the time is for the handshake alone */
    usleep(300 * 1000);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, NULL);
    http_close(&client);
    end();
}

/* ---- client certificates ---- */

static void on_whoami(void *user, struct owl_http_req *req)
{
    owl_str peer = owl_http_peer(req);
    assert_non_null(peer.p);
    reply_text(user, req, 200, peer.n ? peer : OWL_STR("nobody"));
}

static void answer_whoami(struct server *s, struct owl_reactor *r)
{
    (void)r;
    s->http->ops.request = on_whoami;
}

static void whoami(bool client_ca, const char *expected)
{
    begin(NULL, client_ca);
    server_run(&server, answer_whoami);
    open_secure(&client);
    client_send(&client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, expected);
    http_close(&client);
    end();
}

TEST(a_request_knows_the_client_certificate, "OR-3.10")
{
    whoami(true, "athene");
}

TEST(without_client_certificates_nobody_is_known, "")
{
    whoami(false, "nobody");
    server_start(&server, NULL);
    server_run(&server, answer_whoami);
    client_open(&client, &server);
    client_send(&client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, "nobody");
    http_close(&client);
    server_stop(&server);
}

TEST(a_client_without_the_right_certificate_reaches_nothing, "OR-3.10")
{
    begin(NULL, true);
    struct cert other_ca = cert_make(&(struct cert_plan){.common = "Other CA", .ca = true});
    struct cert forged = cert_make(&(struct cert_plan){.common = "athene", .issuer = &other_ca});
    const struct cert *bad[] = {NULL, &forged};
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        SSL_CTX *stranger = client_ctx(&world.ca, bad[i]);
        client_open(&client, &server);
        /* In TLS 1.3 the client is through before the server has looked at its certificate. */
        if (http_secure(&client, stranger)) {
            OWL_IGNORE(http_put(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n", 31));
            assert_true(http_at_end(&client));
        }
        http_close(&client);
        SSL_CTX_free(stranger);
    }
    assert_int_equal(atomic_load(&server.requests), 0);
    cert_done(&other_ca);
    cert_done(&forged);
    end();
}

/* ---- many handshakes ---- */

enum { CROWD = 12, PER_TURN = 2 };

/* Looks at the line once a turn, between two polls. */
static struct {
    uv_check_t check;
    unsigned most_leaves, longest;
    const struct owl_list *first; /* of the line, at the last look */
    bool disorder;
    struct owl_list *seen[CROWD];
    unsigned n_seen;
} watch;

static void on_check(uv_check_t *h)
{
    (void)h;
    struct owl_http__shard *s = shard();
    unsigned n = 0;
    OWL_LIST_EACH (&s->line, it) {
        bool known = false;
        for (unsigned i = 0; i < watch.n_seen; i++)
            known = known || watch.seen[i] == it;
        if (!known && watch.n_seen < CROWD)
            watch.seen[watch.n_seen++] = it;
        n++;
    }
    /* The line is a tail of those that ever stood in it: whoever came first has left first. */
    unsigned at = watch.n_seen - n;
    OWL_LIST_EACH (&s->line, it)
        watch.disorder = watch.disorder || watch.seen[at++] != it;
    watch.longest = n > watch.longest ? n : watch.longest;
    watch.most_leaves = s->handshakes > watch.most_leaves ? s->handshakes : watch.most_leaves;
}

static atomic_bool go_on;

static void watch_and_block(struct server *s, struct owl_reactor *r)
{
    (void)s;
    uv_check_init(owl_reactor_loop(r), &watch.check);
    uv_check_start(&watch.check, on_check);
    while (!atomic_load(&go_on))
        usleep(1000);
}

static void unwatch(struct server *s, struct owl_reactor *r)
{
    (void)s;
    (void)r;
    uv_close((uv_handle_t *)&watch.check, NULL);
}

TEST(a_turn_takes_few_handshakes_further_and_the_others_wait_in_line, "")
{
    static struct http crowd[CROWD];
    struct errand block = {.msg.run = run_errand, .server = &server, .run = watch_and_block};
    begin(&(struct owl_http_limits){.handshakes = PER_TURN}, false);
    for (int i = 0; i < CROWD; i++)
        client_open(&crowd[i], &server);
    while (owl_reactor_load(owl_runtime_at(server.rt, 0)) < CROWD)
        usleep(1000);
    assert_true(owl_post(owl_runtime_at(server.rt, 0), &block.msg));
    for (int i = 0; i < CROWD; i++) { /* all greet while the loop is busy */
        crowd[i].ssl = SSL_new(ctx);
        SSL_set_fd(crowd[i].ssl, crowd[i].fd);
        fcntl(crowd[i].fd, F_SETFL, O_NONBLOCK);
        assert_int_equal(SSL_connect(crowd[i].ssl), -1);
        fcntl(crowd[i].fd, F_SETFL, 0);
    }
    atomic_store(&go_on, true);
    while (!atomic_load(&block.done))
        usleep(1000);
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(SSL_connect(crowd[i].ssl), 1);
        client_send(&crowd[i], "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&crowd[i], 200, NULL);
        http_close(&crowd[i]);
    }
    server_run(&server, unwatch);
    assert_int_equal(watch.most_leaves, PER_TURN);
    assert_true(watch.longest >= CROWD - 2 * PER_TURN);
    assert_false(watch.disorder);
    end();
}

TEST(those_who_wait_in_line_can_be_closed, "")
{
    static struct http crowd[CROWD];
    begin(&(struct owl_http_limits){.handshakes = 1}, false);
    for (int i = 0; i < CROWD; i++) {
        client_open(&crowd[i], &server);
        client_send(&crowd[i], "\x16\x03\x01\x02");
    }
    server_run(&server, do_close);
    for (int i = 0; i < CROWD; i++) {
        OWL_IGNORE(http_at_end(&crowd[i]));
        http_close(&crowd[i]);
    }
    assert_true(server_empty_within(&server, 2000));
    end();
}

/* ---- reload ---- */

static void *reload_again_and_again(void *unused)
{
    (void)unused;
    for (int i = 0; i < 50; i++)
        assert_int_equal(owl_tls_reload(tls, NULL), 0);
    return NULL;
}

TEST(connections_come_and_go_while_the_files_are_reloaded, "OR-3.10")
{
    pthread_t thread;
    static struct http lasting;
    begin(NULL, false);
    open_secure(&lasting);
    assert_int_equal(pthread_create(&thread, NULL, reload_again_and_again, NULL), 0);
    for (int i = 0; i < 30; i++) {
        open_secure(&client);
        client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "GET /echo ");
        http_close(&client);
    }
    pthread_join(thread, NULL);
    client_send(&lasting, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&lasting, 200, "GET /echo ");
    http_close(&lasting);
    end();
}

/* ---- without memory ---- */

static void starve(struct server *s, struct owl_reactor *r)
{
    (void)s;
    (void)r;
    owl_buf_done(&shard()->sealed);
    owl_alloc_fail_at(1);
}

static void feed_again(struct server *s, struct owl_reactor *r)
{
    (void)s;
    (void)r;
    owl_alloc_fail_at(0);
}

TEST(without_memory_connections_end_and_the_server_lives, "")
{
    begin(NULL, false);
    open_secure(&client);
    client_send(&client, "GET /starve?30000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    while (!atomic_load(&server.starved)) /* nobody reads meanwhile: the answer must be queued */
        usleep(1000);
    assert_true(server_empty_within(&server, 2000));
    http_close(&client);
    open_secure(&client);
    server_run(&server, starve);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(http_at_end(&client));
    http_close(&client);
    client_open(&client, &server);
    assert_true(http_at_end(&client));
    http_close(&client);
    server_run(&server, feed_again);
    open_secure(&client);
    client_send(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&client, 200, NULL);
    http_close(&client);
    end();
}

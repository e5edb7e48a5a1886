/* Addresses of a server that runs: more of them, and fewer. */
#include "library/fixture.h"

static int hello(owl_call *c, void *data)
{
    (void)data;
    return owl_result_text(c, "hello");
}

static owl_server *start(unsigned reactors)
{
    owl_server *s = server_new(reactors);
    add_tool(s, (owl_tool){.name = "t", .handler = hello});
    server_start(s);
    return s;
}

/* A port that was free a moment ago. */
static char *free_address(void)
{
    owl_server *s = start(1);
    char *address = text_of("127.0.0.1:%d", owl_server_port(s));
    server_end(s);
    return address;
}

static struct http at_address(const char *address)
{
    struct http h = {.port = atoi(strchr(address, ':') + 1)};
    http_connect(&h);
    return h;
}

static bool refuses(const char *address)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool refused = connect(fd, (struct sockaddr *)&a, sizeof a) != 0;
    close(fd);
    return refused;
}

static void asks(struct http *h)
{
    modern_call(h, "t", "", "{}", "");
    assert_int_equal(http_head(h), 200);
    expect_str(http_next(h), "result/content/0/text", "hello");
}

TEST(a_running_server_listens_on_more, "")
{
    for (unsigned reactors = 1; reactors <= 3; reactors++) {
        char *address = free_address();
        owl_server *s = start(reactors);
        int port = owl_server_port(s);
        owl_error e = {0};
        for (int i = 0; i < 5; i++) {
            if (owl_server_listen(s, address, &e) != 0)
                fail_msg("%s", e.message);
            assert_int_equal(owl_server_port(s), port);
            struct http h = at_address(address);
            asks(&h);
            assert_int_equal(owl_server_unlisten(s, address, &e), 0);
            assert_int_equal(owl_server_unlisten(s, address, &e), -OWL_ENOTFOUND);
            assert_non_null(strstr(e.message, address));
            bool refused = false; /* a moment later another program may have the port */
            for (int64_t end = now_ms() + WAIT_MS; !refused && now_ms() < end; usleep(1000))
                refused = refuses(address);
            assert_true(refused);
            asks(&h); /* a connection that is open lives on */
            expect_str(call(s, "t"), "result/content/0/text", "hello");
            http_close(&h);
        }
        server_end(s);
        free(address);
    }
}

TEST(a_listener_that_cannot_be_opened_changes_nothing, "")
{
    owl_server *s = start(2), *other = start(1);
    owl_error e = {0};
    char *taken = text_of("127.0.0.1:%d", owl_server_port(other));
    assert_int_equal(owl_server_listen(s, taken, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, taken));
    assert_int_equal(owl_server_listen(s, "0.0.0.0:0", &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "allow_hosts"));
    assert_int_equal(owl_server_listen(s, "nowhere:1", &e), -OWL_EINVAL);
    assert_int_equal(owl_server_unlisten(s, NULL, &e), -OWL_ENOTFOUND);
    assert_int_equal(owl_server_unlisten(s, taken, &e), -OWL_ENOTFOUND);
    expect_str(call(s, "t"), "result/content/0/text", "hello");
    server_end(other);
    owl_server_stop(s);
    assert_int_equal(owl_server_join(s), 0);
    assert_int_equal(owl_server_listen(s, taken, &e), -OWL_ESTATE);
    assert_non_null(strstr(e.message, "stopped"));
    assert_int_equal(owl_server_unlisten(s, "127.0.0.1:0", &e), -OWL_ESTATE);
    owl_server_free(s);
    free(taken);
}

TEST(an_address_is_taken_back_before_the_start, "")
{
    owl_server *s = server_new(1);
    owl_error e = {0};
    assert_int_equal(owl_server_listen(s, "nowhere:1", &e), 0);
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", &e), 0);
    assert_int_equal(owl_server_unlisten(s, "nowhere:1", &e), 0);
    assert_int_equal(owl_server_start(s, &e), 0);
    server_end(s);
}

/* The server goes on without any, and stops with one that is being closed. */
TEST(the_last_listener_may_go, "")
{
    owl_server *s = start(2);
    struct http h = http_open(s);
    asks(&h);
    assert_int_equal(owl_server_unlisten(s, "127.0.0.1:0", NULL), 0);
    assert_int_equal(owl_server_port(s), 0);
    asks(&h);
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", NULL), 0);
    expect_str(call(s, "t"), "result/content/0/text", "hello");
    http_close(&h);
    assert_int_equal(owl_server_unlisten(s, "127.0.0.1:0", NULL), 0);
    server_end(s);
}

TEST(a_server_on_pipes_may_listen_later, "")
{
    owl_server *s = server_new(2);
    add_tool(s, (owl_tool){.name = "t", .handler = hello});
    struct pipes p = pipes_open(s);
    assert_int_equal(owl_server_start(s, NULL), 0);
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", NULL), 0);
    expect_str(call(s, "t"), "result/content/0/text", "hello");
    server_end(s);
    pipes_close(&p);
}

static atomic_bool enough;

static void *open_and_close(void *arg)
{
    while (!atomic_load(&enough))
        if (owl_server_listen(arg, "127.0.0.1:0", NULL) == 0)
            owl_server_unlisten(arg, "127.0.0.1:0", NULL); /* or it has stopped */
    return NULL;
}

TEST(listeners_come_and_go_while_the_server_stops, "")
{
    for (int i = 0; i < 10; i++) {
        pthread_t t[2];
        owl_server *s = start(2);
        atomic_store(&enough, false);
        for (int k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&t[k], NULL, open_and_close, s), 0);
        pause_ms(5);
        owl_server_stop(s);
        assert_int_equal(owl_server_join(s), 0);
        atomic_store(&enough, true);
        for (int k = 0; k < 2; k++)
            pthread_join(t[k], NULL);
        owl_server_free(s);
    }
}

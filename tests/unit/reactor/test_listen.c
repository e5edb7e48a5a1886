/* Tests of reactor/listen.c, with real connections over the loopback. */
#include "reactor/listen.h"
#include "unit/reactor/fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { MOST = 2048 };

/* What the accept callback took: its descriptors are closed at the end. */
static struct {
    pthread_mutex_t mu;
    unsigned n, of[8];
    int fds[MOST];
    struct owl_reactor *by[MOST];
    struct owl_peer *of_peer[MOST];
    bool wrong;
} taken = {.mu = PTHREAD_MUTEX_INITIALIZER};

static struct log_tail tail = {.mu = PTHREAD_MUTEX_INITIALIZER};
static const struct owl_log log_to_tail = {log_tail_line, &tail, OWL_LEVEL_DEBUG};

static void take(void *user, struct owl_reactor *r, int fd, struct owl_peer *peer)
{
    int nodelay = 0, unsent = 0;
    socklen_t n = sizeof(nodelay);
    pthread_mutex_lock(&taken.mu);
    taken.wrong |= user != &taken || owl_reactor_self() != r ||
                   getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &n) != 0 || !nodelay ||
                   getsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, &n) != 0 ||
                   unsent != 256 * 1024 || !(fcntl(fd, F_GETFL) & O_NONBLOCK) ||
                   !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    taken.of[owl_reactor_index(r)]++;
    taken.by[taken.n] = r;
    taken.of_peer[taken.n] = peer;
    taken.fds[taken.n++] = fd;
    pthread_mutex_unlock(&taken.mu);
}

static unsigned taken_count(void)
{
    pthread_mutex_lock(&taken.mu);
    unsigned n = taken.n;
    pthread_mutex_unlock(&taken.mu);
    return n;
}

static bool taken_wait(unsigned n)
{
    for (unsigned i = 0; i < 20000 && taken_count() < n; i++)
        usleep(1000);
    return taken_count() == n;
}

static void taken_close(void)
{
    for (unsigned i = 0; i < taken.n; i++) {
        close(taken.fds[i]);
        owl_conn_left(taken.by[i], taken.of_peer[i]);
    }
    taken.n = 0;
    assert_false(taken.wrong);
}

static struct owl_runtime *runtime_of(unsigned reactors, bool embedded)
{
    const struct owl_runtime_options o = {
        .reactors = reactors, .workers = 1, .embedded = embedded, .log = &log_to_tail};
    return runtime_new(&o);
}

static int open_at(struct owl_runtime *rt, const char *address, unsigned max,
                   struct owl_listener **ret, owl_error *e)
{
    const struct owl_listen_options o = {
        .address = owl_str_of(address), .max = max, .accept = take, .user = &taken};
    return owl_listener_open(rt, &o, ret, e);
}

static struct owl_listener *listener(struct owl_runtime *rt, const char *address, unsigned max)
{
    struct owl_listener *l = NULL;
    owl_error e = {0};
    if (open_at(rt, address, max, &l, &e) != 0)
        fail_msg("%s", e.message);
    return l;
}

static void stop_on(struct owl_reactor *r, void *l)
{
    owl_listener_stop(l, r);
    owl_listener_stop(l, r); /* harmless */
}

static void end(struct owl_runtime *rt, struct owl_listener *l)
{
    for (unsigned i = 0; i < owl_runtime_count(rt); i++)
        on_reactor(owl_runtime_at(rt, i), stop_on, l);
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    taken_close();
    for (unsigned i = 0; i < owl_runtime_count(rt); i++)
        assert_int_equal(owl_reactor_load(owl_runtime_at(rt, i)), 0);
    owl_listener_free(l);
    owl_runtime_aunref(rt);
}

/* The same of a runtime whose only reactor is stepped by hand. */
static void end_stepped(struct owl_runtime *rt, struct owl_listener *l)
{
    struct on_reactor stop = {.msg.run = on_reactor_run, .fn = stop_on, .arg = l};
    assert_true(owl_post(owl_runtime_at(rt, 0), &stop.msg));
    while (atomic_load(&stop.done.n) == 0)
        assert_true(owl_runtime_step(rt));
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    taken_close();
    owl_listener_free(l);
    owl_runtime_aunref(rt);
}

/* From 127.0.0.@p host, which is a peer of its own. */
static int dial_from(unsigned host, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in me = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&me, sizeof(me)), 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
        return fd;
    close(fd);
    return -1;
}

static int dial(int port)
{
    return dial_from(1, port);
}

/* True if the other side closes @p fd within 10 s. */
static bool is_closed(int fd)
{
    char c;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 10000) == 1 && read(fd, &c, 1) <= 0;
}

/* … and does not reset it. */
static bool is_ended(int fd)
{
    char c;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 10000) == 1 && read(fd, &c, 1) == 0;
}

TEST(connections_arrive_on_their_reactor, "")
{
    static const char *addresses[] = {"127.0.0.1:0", "localhost:0", "0"};
    for (size_t i = 0; i < OWL_COUNT(addresses); i++) {
        struct owl_runtime *rt = runtime_of(2, false);
        struct owl_listener *l = listener(rt, addresses[i], 10);
        assert_true(owl_listener_loopback(l));
        assert_true(owl_listener_port(l) > 0);
        int early = dial(owl_listener_port(l)); /* waits for the start */
        assert_int_equal(owl_runtime_start(rt, NULL), 0);
        int later = dial(owl_listener_port(l));
        assert_true(early >= 0 && later >= 0);
        assert_true(taken_wait(2));
        int port = owl_listener_port(l);
        end(rt, l);
        close(early);
        close(later);
        assert_int_equal(dial(port), -1);
    }
}

TEST(ipv6_is_served, "")
{
    struct owl_runtime *rt = runtime_of(2, false);
    struct owl_listener *l = NULL;
    if (open_at(rt, "[::]:0", 10, &l, NULL) != 0) {
        runtime_end(rt);
        skip(); /* no IPv6 here */
    }
    assert_false(owl_listener_loopback(l));
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    struct sockaddr_in6 a = {.sin6_family = AF_INET6,
                             .sin6_port = htons((uint16_t)owl_listener_port(l)),
                             .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(six, (struct sockaddr *)&a, sizeof(a)), 0);
    int four = dial(owl_listener_port(l));
    assert_true(four >= 0);
    assert_true(taken_wait(2));
    end(rt, l);
    close(six);
    close(four);
}

TEST(ipv6_alone_is_served, "")
{
    struct owl_runtime *rt = runtime_of(2, false);
    struct owl_listener *l = NULL;
    if (open_at(rt, "[::1]:0", 10, &l, NULL) != 0) {
        runtime_end(rt);
        skip(); /* no IPv6 here */
    }
    assert_true(owl_listener_loopback(l));
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    assert_int_equal(dial(owl_listener_port(l)), -1); /* that would be IPv4 */
    struct sockaddr_in6 a = {.sin6_family = AF_INET6,
                             .sin6_port = htons((uint16_t)owl_listener_port(l)),
                             .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(six, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_true(taken_wait(1));
    end(rt, l);
    close(six);
}

/* So many connections at once must not keep the ones that are open waiting. */
TEST(a_turn_accepts_only_some, "")
{
    struct owl_runtime *rt = runtime_of(1, true);
    struct owl_listener *l = listener(rt, "127.0.0.1:0", 1000);
    int fds[100];
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    for (unsigned i = 0; i < 100; i++)
        assert_true((fds[i] = dial(owl_listener_port(l))) >= 0);
    while (taken_count() == 0)
        assert_true(owl_runtime_step(rt));
    assert_int_equal(taken_count(), 64);
    while (taken_count() == 64)
        assert_true(owl_runtime_step(rt));
    assert_int_equal(taken_count(), 100);
    end_stepped(rt, l);
    for (unsigned i = 0; i < 100; i++)
        close(fds[i]);
}

TEST(long_lived_connections_are_balanced, "")
{
    struct owl_runtime *rt = runtime_of(4, false);
    struct owl_listener *l = listener(rt, "127.0.0.1:0", 1000);
    int fds[64];
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    for (unsigned i = 0; i < 64; i++)
        assert_true((fds[i] = dial(owl_listener_port(l))) >= 0);
    assert_true(taken_wait(64));
    for (unsigned i = 0; i < 4; i++) {
        assert_true(taken.of[i] <= 24); /* the mean is 16 */
        assert_int_equal(taken.of[i], owl_reactor_load(owl_runtime_at(rt, i)));
    }
    end(rt, l);
    for (unsigned i = 0; i < 64; i++)
        close(fds[i]);
}

TEST(a_loaded_reactor_hands_connections_over, "")
{
    struct owl_runtime *rt = runtime_of(2, false);
    struct owl_listener *l = listener(rt, "127.0.0.1:0", 100000);
    int fds[16];
    owl_reactor_load_add(owl_runtime_at(rt, 0), 50);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    for (unsigned i = 0; i < 16; i++) /* some of them arrive at reactor 0, by the kernel's hash */
        assert_true((fds[i] = dial(owl_listener_port(l))) >= 0);
    assert_true(taken_wait(16));
    assert_int_equal(taken.of[1], 16);
    owl_reactor_load_add(owl_runtime_at(rt, 0), -50);
    end(rt, l);
    for (unsigned i = 0; i < 16; i++)
        close(fds[i]);
}

/* Reactor 0 is stepped by hand, so that what it is handed waits in its mailbox meanwhile. */
TEST(what_is_handed_over_after_the_stop_is_closed, "")
{
    struct owl_runtime *rt = runtime_of(2, true);
    struct owl_reactor *r0 = owl_runtime_at(rt, 0), *r1 = owl_runtime_at(rt, 1);
    struct owl_listener *l = listener(rt, "127.0.0.1:0", 100000);
    struct on_reactor stop = {.msg.run = on_reactor_run, .fn = stop_on, .arg = l};
    int fds[32];
    owl_reactor_load_add(r1, 1000);
    assert_true(owl_post(r0, &stop.msg)); /* runs first of all when reactor 0 is stepped */
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    for (unsigned i = 0; i < 32; i++)
        assert_true((fds[i] = dial(owl_listener_port(l))) >= 0);
    for (unsigned i = 0; i < 20000 && owl_reactor_load(r0) == 0; i++)
        usleep(1000);
    assert_true(owl_reactor_load(r0) > 0); /* on their way */
    on_reactor(r1, stop_on, l);
    while (atomic_load(&stop.done.n) == 0 || owl_reactor_load(r0) > 0)
        assert_true(owl_runtime_step(rt));
    assert_int_equal(taken_count(), 0);
    for (unsigned i = 0; i < 32; i++) {
        assert_true(is_closed(fds[i]));
        close(fds[i]);
    }
    owl_reactor_load_add(r1, -1000);
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    owl_listener_free(l);
    owl_runtime_aunref(rt);
}

TEST(beyond_the_limit_connections_are_closed_at_once, "")
{
    struct owl_runtime *rt = runtime_of(2, false);
    struct owl_listener *l = listener(rt, "127.0.0.1:0", 3);
    int fds[8];
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_true((fds[i] = dial(owl_listener_port(l))) >= 0);
    assert_true(taken_wait(3));
    for (unsigned i = 3; i < 8; i++) {
        assert_true((fds[i] = dial(owl_listener_port(l))) >= 0);
        assert_true(is_closed(fds[i]));
    }
    assert_int_equal(taken_count(), 3);
    unsigned lines = log_tail_count(&tail);
    assert_true(lines == 1 || lines == 2); /* one a reactor, not one a connection */
    assert_true(log_tail_warns(&tail, "limit of 3"));
    taken_close();
    int again = dial(owl_listener_port(l)); /* there is room again */
    assert_true(taken_wait(1));
    end(rt, l);
    close(again);
    for (unsigned i = 0; i < 8; i++)
        close(fds[i]);
}

/* What a peer has on one reactor and one listener counts on the others, too. */
TEST(a_peer_over_its_limit_is_refused_and_others_are_not, "")
{
    struct owl_peers *peers = owl_peers_new(
        &(struct owl_peers_options){.max = 3, .count_local = true});
    struct owl_runtime *rt = runtime_of(4, false);
    struct owl_listener *l[2] = {NULL, NULL};
    for (unsigned i = 0; i < 2; i++) {
        const struct owl_listen_options o = {.address = OWL_STR("127.0.0.1:0"),
                                             .max = 100,
                                             .peers = peers,
                                             .accept = take,
                                             .user = &taken};
        assert_int_equal(owl_listener_open(rt, &o, &l[i], NULL), 0);
    }
    int fds[10], port[2] = {owl_listener_port(l[0]), owl_listener_port(l[1])};
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_true((fds[i] = dial_from(1, port[i % 2])) >= 0);
    assert_true(taken_wait(3));
    for (unsigned i = 3; i < 8; i++) {
        assert_true((fds[i] = dial_from(1, port[i % 2])) >= 0);
        assert_true(is_ended(fds[i]));
    }
    assert_true(log_tail_warns(&tail, "127.0.0.1: it has the limit of 3"));
    assert_true(log_tail_count(&tail) <= 5);
    assert_true((fds[8] = dial_from(2, port[0])) >= 0);
    assert_true(taken_wait(4));

    taken_close();
    assert_true((fds[9] = dial_from(1, port[1])) >= 0); /* there is room again */
    assert_true(taken_wait(1));
    for (unsigned i = 0; i < 8; i++)
        on_reactor(owl_runtime_at(rt, i / 2), stop_on, l[i % 2]);
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    taken_close();
    owl_listener_free(l[0]);
    owl_listener_free(l[1]);
    owl_runtime_aunref(rt);
    owl_peers_free(peers); /* asserts that all were given back */
    for (unsigned i = 0; i < 10; i++)
        close(fds[i]);
}

/* Reactor 0 is stepped by hand, so that the input is there when the connection is looked at. */
TEST(input_of_the_refused_does_not_reset_them, "")
{
    struct owl_peers *peers = owl_peers_new(
        &(struct owl_peers_options){.max = 1, .count_local = true});
    struct owl_runtime *rt = runtime_of(1, true);
    struct owl_listener *l = NULL;
    const struct owl_listen_options o = {
        .address = OWL_STR("0"), .max = 2, .peers = peers, .accept = take, .user = &taken};
    assert_int_equal(owl_listener_open(rt, &o, &l, NULL), 0);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    int fds[4];
    for (unsigned i = 0; i < 4; i++) { /* the second is its peer's, the last the server's limit */
        assert_true((fds[i] = dial_from(i == 1 ? 1 : i + 1, owl_listener_port(l))) >= 0);
        assert_int_equal(write(fds[i], "POST", 4), 4);
    }
    for (unsigned i = 0; i < 20; i++)
        assert_true(owl_runtime_step(rt));
    assert_int_equal(taken_count(), 2);
    assert_true(is_ended(fds[1]));
    assert_true(is_ended(fds[3]));
    end_stepped(rt, l);
    owl_peers_free(peers);
    for (unsigned i = 0; i < 4; i++)
        close(fds[i]);
}

TEST(without_memory_to_count_a_connection_is_refused, "")
{
    struct owl_peers *peers = owl_peers_new(
        &(struct owl_peers_options){.max = 1, .count_local = true});
    struct owl_runtime *rt = runtime_of(1, true);
    struct owl_listener *l = NULL;
    const struct owl_listen_options o = {
        .address = OWL_STR("0"), .max = 2, .peers = peers, .accept = take, .user = &taken};
    assert_int_equal(owl_listener_open(rt, &o, &l, NULL), 0);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    int fd = dial(owl_listener_port(l));
    owl_alloc_fail_at(1);
    while (log_tail_count(&tail) == 0)
        assert_true(owl_runtime_step(rt));
    owl_alloc_fail_at(0);
    assert_true(log_tail_warns(&tail, "no memory"));
    assert_true(is_ended(fd));
    assert_int_equal(taken_count(), 0);
    end_stepped(rt, l);
    owl_peers_free(peers);
    close(fd);
}

/* Connects, and leaves the process no descriptor to accept with. */
static int dial_with_the_last_descriptor(int port, struct rlimit *before)
{
    assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct rlimit full = *before;
    full.rlim_cur = (rlim_t)client + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &full), 0);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(client, (struct sockaddr *)&a, sizeof(a)), 0);
    return client;
}

TEST(out_of_descriptors_it_pauses_and_recovers, "")
{
    struct owl_runtime *rt = runtime_of(1, false);
    struct owl_listener *l = listener(rt, "127.0.0.1:0", 100);
    struct rlimit before;
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    int client = dial_with_the_last_descriptor(owl_listener_port(l), &before);
    struct rusage began, ended;
    getrusage(RUSAGE_SELF, &began);
    usleep(450000);
    getrusage(RUSAGE_SELF, &ended);
    assert_int_equal(taken_count(), 0);
    assert_int_equal(log_tail_count(&tail), 1);
    assert_true(log_tail_warns(&tail, "too many open files"));
    /* A loop that spins would use all of the 450 ms. */
    long us = (ended.ru_utime.tv_sec - began.ru_utime.tv_sec + ended.ru_stime.tv_sec -
               began.ru_stime.tv_sec) *
                  1000000 +
              ended.ru_utime.tv_usec - began.ru_utime.tv_usec + ended.ru_stime.tv_usec -
              began.ru_stime.tv_usec;
    assert_true(us < 200000);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(taken_wait(1));
    end(rt, l);
    close(client);
}

TEST(a_paused_listener_can_be_stopped, "")
{
    struct owl_runtime *rt = runtime_of(1, false);
    struct owl_listener *l = listener(rt, "127.0.0.1:0", 100);
    struct rlimit before;
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    int client = dial_with_the_last_descriptor(owl_listener_port(l), &before);
    for (unsigned i = 0; i < 20000 && log_tail_count(&tail) == 0; i++)
        usleep(1000);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    on_reactor(owl_runtime_at(rt, 0), stop_on, l);
    usleep(150000); /* past the end of the pause, while the reactor still runs */
    assert_int_equal(taken_count(), 0);
    end(rt, l);
    close(client);
}

TEST(a_port_in_use_is_said_so, "")
{
    static const unsigned reactors[] = {1, 4};
    for (size_t i = 0; i < OWL_COUNT(reactors); i++) {
        struct owl_runtime *rt = runtime_of(reactors[i], false);
        struct owl_runtime *other = runtime_of(reactors[i], false);
        struct owl_listener *l = listener(rt, "127.0.0.1:0", 1), *second = NULL;
        char address[32];
        owl_error e = {0};
        snprintf(address, sizeof(address), "127.0.0.1:%d", owl_listener_port(l));
        /* Another runtime, as another process of the same user would: it shares no port by accident. */
        assert_int_equal(open_at(other, address, 1, &second, &e), -OWL_EIO);
        assert_null(second);
        assert_non_null(strstr(e.message, address));
        assert_non_null(strstr(e.message, "address already in use"));
        runtime_end(other);
        runtime_end(rt);
        owl_listener_free(l);
    }
}

TEST(bad_options_are_refused, "")
{
    struct owl_runtime *rt = runtime_of(2, false);
    struct owl_listener *l = NULL;
    owl_error e = {0};
    assert_int_equal(open_at(rt, "nowhere:80", 1, &l, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "nowhere"));
    assert_int_equal(open_at(rt, "0", 0, &l, &e), -OWL_EINVAL);
    assert_int_equal(open_at(rt, "192.0.2.1:0", 1, &l, &e),
                     -OWL_EIO); /* not an address of this machine */
    assert_non_null(strstr(e.message, "address not available"));
    assert_null(l);
    owl_listener_free(NULL);
    runtime_end(rt);
}

TEST(without_memory_it_does_not_open, "")
{
    struct owl_runtime *rt = runtime_of(3, false);
    struct owl_listener *l = NULL;
    owl_alloc_fail_at(1);
    int rc = open_at(rt, "0", 1, &l, NULL);
    owl_alloc_fail_at(0);
    assert_int_equal(rc, -OWL_ENOMEM);
    assert_null(l);
    runtime_end(rt);
}

static int bind_one(struct owl_runtime *rt, const char *address, struct flag *closed,
                    struct owl_listener **ret);

TEST(never_started_it_closes_in_any_order, "")
{
    struct owl_runtime *rt = runtime_of(2, false);
    struct owl_listener *a = listener(rt, "0", 1), *b = NULL;
    assert_int_equal(bind_one(rt, "0", NULL, &b), 0);
    int port = owl_listener_port(b);
    owl_listener_stop(a, owl_runtime_at(rt, 1)); /* before the start: on any thread */
    owl_listener_free(b);                        /* was not started itself */
    assert_int_equal(dial(port), -1);
    runtime_end(rt);
    port = owl_listener_port(a);
    owl_listener_free(a);
    assert_int_equal(dial(port), -1);

    rt = runtime_of(2, false);
    a = listener(rt, "0", 1);
    owl_listener_close(a);
    runtime_end(rt);
    owl_listener_free(a);
}

/* ---- while the runtime runs ---- */

static struct flag *closed_flag; /* of the listener that a test closes */

static void on_closed(void *user)
{
    assert_ptr_equal(user, &taken);
    flag_raise(closed_flag);
}

static int bind_one(struct owl_runtime *rt, const char *address, struct flag *closed,
                    struct owl_listener **ret)
{
    const struct owl_listen_options o = {.address = owl_str_of(address),
                                         .max = MOST,
                                         .accept = take,
                                         .user = &taken,
                                         .closed = closed ? on_closed : NULL};
    closed_flag = closed;
    return owl_listener_bind(rt, &o, ret, NULL);
}

TEST(listeners_come_and_go_while_the_runtime_runs, "")
{
    for (unsigned reactors = 1; reactors <= 3; reactors++) {
        struct owl_runtime *rt = runtime_of(reactors, false);
        struct owl_listener *first = listener(rt, "0", MOST), *second = NULL;
        assert_int_equal(owl_runtime_start(rt, NULL), 0);
        struct flag closed = {0};
        assert_int_equal(bind_one(rt, "0", &closed, &second), 0);
        int port = owl_listener_port(second);
        int early = dial(port); /* waits for the start */
        assert_true(early >= 0);
        owl_listener_start(second);
        int later = dial(port);
        assert_true(taken_wait(2));
        owl_listener_close(second);
        assert_true(flag_wait(&closed, 1));
        owl_listener_free(second);
        assert_int_equal(dial(port), -1);

        int other = dial(owl_listener_port(first));
        assert_true(taken_wait(3));
        struct pollfd p = {.fd = early, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 0), 0); /* what was accepted lives on */
        end(rt, first);
        close(early);
        close(later);
        close(other);
    }
}

/* Close before the reactors have heard of the start, and with connections between two of them. */
TEST(a_listener_may_be_closed_at_any_time, "")
{
    struct owl_runtime *rt = runtime_of(3, false);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    owl_reactor_load_add(owl_runtime_at(rt, 1), 1000); /* it hands over all that it accepts */
    for (unsigned i = 0; i < 100; i++) {
        struct owl_listener *l = NULL;
        struct flag closed = {0};
        int fds[8];
        assert_int_equal(bind_one(rt, "0", &closed, &l), 0);
        owl_listener_start(l);
        for (unsigned k = 0; k < i % OWL_COUNT(fds); k++)
            assert_true((fds[k] = dial(owl_listener_port(l))) >= 0);
        owl_listener_close(l);
        assert_true(flag_wait(&closed, 1));
        owl_listener_free(l);
        for (unsigned k = 0; k < i % OWL_COUNT(fds); k++)
            close(fds[k]);
    }
    owl_reactor_load_add(owl_runtime_at(rt, 1), -1000);
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    taken_close();
    owl_runtime_aunref(rt);
}

/* Tests of reactor/peers.c. */
#include "reactor/peers.h"
#include "unit/reactor/fixture.h"

static struct sockaddr_storage from(const char *address)
{
    struct sockaddr_storage a = {.ss_family = AF_UNIX};
    if (strcmp(address, "unix") != 0)
        assert_true(owl_address__host(owl_str_of(address), &a));
    return a;
}

static int take(struct owl_peers *p, const char *address, struct owl_peer **ret)
{
    const struct sockaddr_storage a = from(address);
    return owl_peers_take(p, &a, ret);
}

static struct owl_peers *peers(unsigned max, bool count_local, const struct owl_nets *exempt)
{
    struct owl_peers *p = owl_peers_new(
        &(struct owl_peers_options){.max = max, .count_local = count_local, .exempt = exempt});
    assert_non_null(p);
    assert_int_equal(owl_peers_max(p), max);
    return p;
}

TEST(a_peer_has_its_limit_and_others_have_theirs, "")
{
    struct owl_peers *p = peers(2, false, NULL);
    struct owl_peer *a[2], *b, *c = NULL;
    assert_int_equal(take(p, "192.0.2.1", &a[0]), 0);
    assert_int_equal(take(p, "192.0.2.1", &a[1]), 0);
    assert_int_equal(take(p, "192.0.2.1", &c), -OWL_ELIMIT);
    assert_null(c);
    assert_int_equal(take(p, "192.0.2.2", &b), 0);
    uint64_t number = owl_peer_number(b);
    assert_int_not_equal(number, 0);
    assert_int_not_equal(number, owl_peer_number(a[0]));
    assert_int_equal(owl_peer_number(NULL), 0);
    owl_peer_release(b);
    assert_int_equal(take(p, "192.0.2.2", &b), 0);
    assert_int_equal(owl_peer_number(b), number); /* whenever it comes */
    owl_peer_release(a[0]);
    assert_int_equal(take(p, "192.0.2.1", &a[0]), 0);
    assert_int_equal(take(p, "192.0.2.1", &c), -OWL_ELIMIT);
    owl_peer_release(a[0]);
    owl_peer_release(a[1]);
    owl_peer_release(b);
    owl_peer_release(NULL);
    owl_peers_free(p); /* asserts that nobody is left */
    owl_peers_free(NULL);
}

TEST(what_counts_as_one_peer, "")
{
    static const struct {
        const char *one, *other;
        bool same;
    } rows[] = {
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.1", "::ffff:192.0.2.1", true},
        {"192.0.2.1", "192.0.2.2", false},
        {"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
        {"2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true},
        {"2001:db8::1", "2001:db8:0:1::1", false},
        {"127.0.0.1", "127.0.0.2", false},
        {"unix", "unix", true},
        {"unix", "::1", false},
        {"unix", "0.0.0.0", false},
        {"::", "0.0.0.0", false},
    };
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        struct owl_peers *p = peers(1, true, NULL);
        struct owl_peer *a = NULL, *b = NULL;
        assert_int_equal(take(p, rows[i].one, &a), 0);
        assert_non_null(a);
        if ((take(p, rows[i].other, &b) == -OWL_ELIMIT) != rows[i].same)
            fail_msg("%s and %s", rows[i].one, rows[i].other);
        owl_peer_release(a);
        owl_peer_release(b);
        owl_peers_free(p);
    }
}

TEST(the_exempt_are_not_counted, "")
{
    static const char *const local[] = {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1",
                                        "unix"};
    struct owl_nets *proxies = NULL;
    assert_int_equal(owl_nets_parse(OWL_STR("10.0.0.0/8, 127.0.0.9"), &proxies, NULL), 0);
    struct owl_peers *free_local = peers(1, false, proxies), *all = peers(1, true, proxies);
    for (size_t i = 0; i < OWL_COUNT(local); i++) {
        struct owl_peer *x = NULL;
        assert_int_equal(take(free_local, local[i], &x), 0);
        assert_null(x);
        assert_int_equal(take(all, local[i], &x), 0);
        assert_non_null(x);
        owl_peer_release(x);
    }
    static const char *const trusted[] = {"10.9.9.9", "127.0.0.9"};
    for (size_t i = 0; i < OWL_COUNT(trusted); i++) {
        struct owl_peer *x = NULL;
        assert_int_equal(take(all, trusted[i], &x), 0);
        assert_null(x);
    }
    owl_peers_free(free_local);
    owl_peers_free(all);
    owl_nets_free(proxies);
}

TEST(without_memory_nobody_is_counted, "")
{
    owl_alloc_fail_at(1);
    struct owl_peers *none = owl_peers_new(&(struct owl_peers_options){.max = 1});
    owl_alloc_fail_at(0);
    assert_null(none);
    struct owl_peers *p = peers(1, false, NULL);
    struct owl_peer *x = NULL;
    for (unsigned long n = 1; n <= 2; n++) { /* the peer, and room for it */
        owl_alloc_fail_at(n);
        int rc = take(p, "192.0.2.1", &x);
        owl_alloc_fail_at(0);
        assert_int_equal(rc, -OWL_ENOMEM);
        assert_null(x);
    }
    assert_int_equal(take(p, "192.0.2.1", &x), 0);
    owl_peer_release(x);
    owl_peers_free(p);
}

enum { THREADS = 4, ROUNDS = 3000, LIMIT = 3 };

struct crowd {
    struct owl_peers *peers;
    atomic_uint inside, most, refused;
};

/* Connections of two addresses of one network come and go on all threads. */
static void *come_and_go(void *arg)
{
    struct crowd *c = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct owl_peer *x;
        if (take(c->peers, i % 2 ? "2001:db8::1" : "2001:db8::2", &x) != 0) {
            atomic_fetch_add(&c->refused, 1);
            continue;
        }
        unsigned now = atomic_fetch_add(&c->inside, 1) + 1;
        unsigned most = atomic_load(&c->most);
        while (now > most && !atomic_compare_exchange_weak(&c->most, &most, now)) {
        }
        if (i % 8 == 0)
            sched_yield();
        atomic_fetch_sub(&c->inside, 1);
        owl_peer_release(x);
    }
    return NULL;
}

TEST(threads_share_the_count, "")
{
    struct crowd c = {.peers = peers(LIMIT, false, NULL)};
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &c), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(atomic_load(&c.most) <= LIMIT);
    owl_peers_free(c.peers); /* asserts that nobody is left */
}

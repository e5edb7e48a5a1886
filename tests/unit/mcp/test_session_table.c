/* Tests of mcp/session.h: the table of sessions, its limits, expiry, and many threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "unit/mcp/sessions.h"

/* mcp-wire 1.9: visible ASCII only, unguessable. */
TEST(ids_name_the_owner_and_128_random_bits, "")
{
    struct owl_sessions *t = owl_sessions_new(10, 1000, 0);
    struct owl_session *a = open_one(t), *b = open_one(t);
    owl_str id = owl_session_id(a);
    assert_int_equal(id.n, 2 + 32);
    assert_memory_equal(id.p, "3-", 2);
    for (size_t i = 2; i < id.n; i++)
        assert_non_null(strchr("0123456789abcdef", id.p[i]));
    assert_false(owl_str_eq(id, owl_session_id(b)));
    owl_session_aunref(a);
    owl_session_aunref(b);

    struct owl_session_init far = init;
    far.owner = UINT32_MAX;
    assert_int_equal(owl_sessions_open(t, &far, &a, NULL), 0);
    assert_int_equal(owl_session_id(a).n, 10 + 1 + 32);
    owl_session_aunref(a);
    owl_sessions_free(t);
}

TEST(sessions_are_found_and_ended, "")
{
    struct owl_sessions *t = owl_sessions_new(0, 0, 0);
    struct owl_session *s = open_one(t);
    assert_int_equal(owl_sessions_count(t), 1);
    struct owl_session *found = owl_sessions_find(t, owl_session_id(s));
    assert_ptr_equal(found, s);
    owl_session_aunref(found);
    assert_null(owl_sessions_find(t, OWL_STR("3-00000000000000000000000000000000")));
    assert_null(owl_sessions_find(t, OWL_STR("")));
    assert_null(owl_sessions_find(t, (owl_str){NULL, 0}));

    assert_false(owl_sessions_end(t, OWL_STR("x")));
    assert_true(owl_sessions_end(t, owl_session_id(s)));
    assert_true(owl_session_ended(s));
    assert_null(owl_sessions_find(t, owl_session_id(s)));
    assert_false(owl_sessions_end(t, owl_session_id(s)));
    assert_int_equal(owl_sessions_count(t), 0);
    owl_session_aunref(s);
    owl_sessions_free(t);
}

TEST(sessions_outlive_their_table, "")
{
    struct owl_sessions *t = owl_sessions_new(0, 0, 0);
    struct owl_session *kept = open_one(t);
    owl_session_aunref(open_one(t));
    owl_session_hold(kept);
    owl_sessions_free(t);
    assert_true(owl_session_ended(kept));
    owl_session_release(kept);
    assert_int_equal(owl_session_subscribe(kept, OWL_STR("a:b")), 0);
    owl_session_aunref(kept);
    owl_sessions_free(NULL);
}

TEST(the_number_of_sessions_is_limited, "")
{
    struct owl_sessions *t = owl_sessions_new(2, 1000, 0);
    struct owl_session *a = open_one(t), *b = open_one(t), *c = NULL;
    owl_error err = {0};
    owl_session_hold(a);
    owl_session_hold(b);
    assert_int_equal(owl_sessions_open(t, &init, &c, &err), -OWL_EBUSY);
    assert_null(c);
    assert_non_null(strstr(err.message, "2 sessions"));
    assert_int_equal(owl_sessions_count(t), 2);
    assert_true(owl_sessions_end(t, owl_session_id(a)));
    c = open_one(t);
    owl_session_aunref(a);
    owl_session_aunref(b);
    owl_session_aunref(c);
    owl_sessions_free(t);
}

TEST(a_flood_of_sessions_does_not_push_out_those_in_use, "")
{
    enum { MAX = 1000, FLOOD = 20000, EVERY = 50 };
    struct owl_sessions *t = owl_sessions_new(MAX, 0, 0);
    struct owl_session *held = open_one(t), *used = open_one(t);
    owl_session_hold(held);
    owl_session_set_initialized(used);
    for (int i = 0; i < FLOOD; i++) {
        owl_session_aunref(open_one(t));
        if (i % EVERY == 0) {
            struct owl_session *found = owl_sessions_find(t, owl_session_id(used));
            assert_ptr_equal(found, used);
            owl_session_aunref(found);
        }
    }
    assert_true(owl_sessions_count(t) <= MAX);
    assert_false(owl_session_ended(held));
    assert_false(owl_session_ended(used));
    owl_session_release(held);
    owl_session_aunref(held);
    owl_session_aunref(used);
    owl_sessions_free(t);
}

TEST(whatever_is_held_the_last_idle_session_gives_way, "")
{
    enum { HELD = 2000 };
    static struct owl_session *held[HELD];
    struct owl_sessions *t = owl_sessions_new(HELD + 1, 0, 0);
    for (size_t i = 0; i < HELD; i++) {
        held[i] = open_one(t);
        owl_session_hold(held[i]);
    }
    struct owl_session *idle = open_one(t);
    for (int i = 0; i < 5; i++) {
        struct owl_session *next = open_one(t);
        assert_true(owl_session_ended(idle));
        owl_session_aunref(idle);
        idle = next;
    }
    owl_session_hold(idle);
    struct owl_session *none = NULL;
    assert_int_equal(owl_sessions_open(t, &init, &none, NULL), -OWL_EBUSY);
    owl_session_release(held[7]);
    owl_session_aunref(open_one(t));
    assert_true(owl_session_ended(held[7]));
    for (size_t i = 0; i < HELD; i++)
        owl_session_aunref(held[i]);
    owl_session_aunref(idle);
    owl_sessions_free(t);
}

TEST(subscriptions_of_all_sessions_are_limited_together, "")
{
    enum { EACH = 128 + 4, MAX = 3 * EACH };
    struct owl_sessions *t = owl_sessions_new(0, 0, MAX);
    struct owl_session *a = open_one(t), *b = open_one(t), *outside = owl_session_new(t, &init);
    owl_session_hold(a);
    owl_session_hold(b);
    assert_int_equal(owl_session_subscribe(a, OWL_STR("a://")), 0);
    assert_int_equal(owl_session_subscribe(a, OWL_STR("a://")), 0); /* once is enough */
    assert_int_equal(owl_session_subscribe(b, OWL_STR("a://")), 0);
    assert_int_equal(owl_session_subscribe(outside, OWL_STR("a://")), 0);
    assert_int_equal(owl_session_subscribe(b, OWL_STR("b://")), -OWL_EBUSY);
    assert_int_equal(owl_session_subscribe(b, OWL_STR("a://")), 0);
    assert_false(owl_session_subscribed(b, OWL_STR("b://")));

    owl_session_unsubscribe(a, OWL_STR("b://"));
    assert_int_equal(owl_session_subscribe(b, OWL_STR("b://")), -OWL_EBUSY);
    owl_session_unsubscribe(a, OWL_STR("a://"));
    for (int i = 0; i < 2; i++) { /* what could not be kept is not counted */
        owl_alloc_fail_at(1);
        assert_int_equal(owl_session_subscribe(a, OWL_STR("b://")), -OWL_ENOMEM);
        owl_alloc_fail_at(0);
    }
    assert_int_equal(owl_session_subscribe(b, OWL_STR("b://")), 0);
    assert_int_equal(owl_session_subscribe(b, OWL_STR("c://")), -OWL_EBUSY);
    owl_session_aunref(outside); /* and what has gone counts no more */
    assert_int_equal(owl_session_subscribe(b, OWL_STR("c://")), 0);
    owl_session_aunref(a);
    owl_session_aunref(b);
    owl_sessions_free(t);
}

TEST(idle_sessions_give_way_to_subscriptions_of_others, "")
{
    enum { EACH = 128 + 4, MAX = 3 * EACH };
    struct owl_sessions *t = owl_sessions_new(0, 0, MAX);
    struct owl_session *held = open_one(t), *idle = open_one(t), *none = open_one(t),
                       *newest = open_one(t);
    owl_session_hold(held);
    assert_int_equal(owl_session_subscribe(held, OWL_STR("a://")), 0);
    assert_int_equal(owl_session_subscribe(idle, OWL_STR("a://")), 0);
    assert_int_equal(owl_session_subscribe(idle, OWL_STR("b://")), 0);
    assert_int_equal(owl_session_subscribe(newest, OWL_STR("a://")), 0);
    assert_true(owl_session_ended(idle)); /* and its own are forgotten though it is still used */
    assert_false(owl_session_subscribed(idle, OWL_STR("a://")));
    assert_int_equal(owl_session_subscribe(newest, OWL_STR("b://")), 0);
    assert_int_equal(owl_session_subscribe(newest, OWL_STR("c://")), -OWL_EBUSY);
    assert_false(owl_session_ended(held));
    assert_false(owl_session_ended(none)); /* there was nothing to be had */
    assert_false(owl_session_ended(newest));
    assert_int_equal(owl_sessions_count(t), 3);
    struct owl_session *all[] = {held, idle, none, newest};
    for (size_t i = 0; i < OWL_COUNT(all); i++)
        owl_session_aunref(all[i]);
    owl_sessions_free(t);
}

TEST(whoever_takes_most_subscriptions_gives_way, "")
{
    enum { EACH = 128 + 4, GREEDY = 1000 };
    struct owl_sessions *t = owl_sessions_new(0, 0, (2 * GREEDY + 1) * EACH);
    struct owl_session *modest = open_one(t);
    assert_int_equal(owl_session_subscribe(modest, OWL_STR("a://")), 0);
    for (int i = 0; i < GREEDY; i++) {
        struct owl_session *s = open_one(t);
        assert_int_equal(owl_session_subscribe(s, OWL_STR("a://")), 0);
        assert_int_equal(owl_session_subscribe(s, OWL_STR("b://")), 0);
        owl_session_aunref(s);
    }
    for (int i = 0; i < GREEDY / 4; i++) { /* though it is unused for longest */
        struct owl_session *s = open_one(t);
        assert_int_equal(owl_session_subscribe(s, OWL_STR("c://")), 0);
        assert_int_equal(owl_session_subscribe(s, OWL_STR("d://")), 0);
        owl_session_aunref(s);
    }
    assert_false(owl_session_ended(modest));
    assert_int_equal(owl_sessions_count(t), 1 + GREEDY);
    owl_session_aunref(modest);
    owl_sessions_free(t);
}

TEST(who_takes_most_subscriptions_pushes_nobody_out, "")
{
    enum { EACH = 128 + 4, OTHERS = 8, MOST = 60 };
    struct owl_sessions *t = owl_sessions_new(0, 0, (MOST + OTHERS) * EACH);
    struct owl_session *others[OTHERS], *greedy = open_one(t);
    char uri[8192];
    for (int i = 0; i < OTHERS; i++) {
        others[i] = open_one(t);
        assert_int_equal(owl_session_subscribe(others[i], OWL_STR("a://")), 0);
    }
    for (int i = 0; i < MOST; i++) {
        snprintf(uri, sizeof uri, "%04d", i);
        assert_int_equal(owl_session_subscribe(greedy, owl_str_of(uri)), 0);
    }
    memset(uri, 'x', sizeof uri);
    assert_int_equal(owl_session_subscribe(greedy, (owl_str){uri, 4}), -OWL_EBUSY);
    assert_int_equal(owl_session_subscribe(greedy, (owl_str){uri, 4000}), -OWL_EBUSY);
    /* What is longer than all that one may give is no reason to end it. */
    assert_int_equal(owl_session_subscribe(others[0], (owl_str){uri, 8192}), -OWL_EBUSY);
    assert_int_equal(owl_sessions_count(t), 1 + OTHERS);
    assert_int_equal(owl_session_subscribe(others[0], OWL_STR("b://")), 0);
    assert_true(owl_session_ended(greedy));
    assert_int_equal(owl_sessions_count(t), OTHERS);
    for (int i = 0; i < OTHERS; i++)
        owl_session_aunref(others[i]);
    owl_session_aunref(greedy);
    owl_sessions_free(t);
}

TEST(who_is_subscribed_to_nothing_any_more_hides_nobody, "")
{
    enum { EACH = 128 + 4, EMPTY = 2000 };
    struct owl_sessions *t = owl_sessions_new(0, 0, EACH);
    for (int i = 0; i < EMPTY; i++) {
        struct owl_session *s = open_one(t);
        assert_int_equal(owl_session_subscribe(s, OWL_STR("a://")), 0);
        owl_session_unsubscribe(s, OWL_STR("a://"));
        owl_session_aunref(s);
    }
    struct owl_session *taker = open_one(t), *newest = open_one(t);
    assert_int_equal(owl_session_subscribe(taker, OWL_STR("a://")), 0);
    assert_int_equal(owl_session_subscribe(newest, OWL_STR("a://")), 0);
    assert_true(owl_session_ended(taker));
    owl_session_aunref(taker);
    owl_session_aunref(newest);
    owl_sessions_free(t);
}

TEST(sessions_with_subscriptions_expire_and_give_way_like_others, "")
{
    struct owl_sessions *t = owl_sessions_new(2, 1000, 0);
    struct owl_session *a = open_one(t), *b = open_one(t);
    assert_int_equal(owl_session_subscribe(a, OWL_STR("a://")), 0);
    owl_session_hold(b);
    owl_session_aunref(open_one(t));
    assert_true(owl_session_ended(a));
    owl_session_release(b);
    assert_int_equal(owl_session_subscribe(b, OWL_STR("a://")), 0);
    assert_int_equal(owl_sessions_sweep(t, owl_now_ms() + 5000), 2);
    assert_true(owl_session_ended(b));
    owl_session_aunref(a);
    owl_session_aunref(b);
    owl_sessions_free(t);
}

TEST(opening_without_memory_leaves_nothing_behind, "")
{
    struct owl_sessions *t = owl_sessions_new(5, 1000, 0);
    struct owl_session *s = NULL;
    unsigned long n = 1;
    for (;; n++) {
        owl_error err = {0};
        owl_alloc_fail_at(n);
        int rc = owl_sessions_open(t, &init, &s, &err);
        owl_alloc_fail_at(0);
        if (rc == 0)
            break;
        assert_int_equal(rc, -OWL_ENOMEM);
        assert_int_equal(err.code, OWL_ENOMEM);
        assert_null(s);
        assert_int_equal(owl_sessions_count(t), 0);
    }
    assert_true(n > 1);
    owl_session_aunref(s);
    owl_sessions_free(t);
    owl_alloc_fail_at(1);
    assert_null(owl_sessions_new(1, 1, 0));
    owl_alloc_fail_at(0);
}

TEST(idle_sessions_expire_and_used_ones_do_not, "")
{
    enum { IDLE = 60000 };
    struct owl_sessions *t = owl_sessions_new(0, IDLE, 0);
    uint64_t before = owl_now_ms();
    struct owl_session *s = open_one(t);
    uint64_t after = owl_now_ms();
    assert_int_equal(owl_sessions_sweep(t, before + IDLE - 1), 0);
    assert_int_equal(owl_sessions_sweep(t, 0), 0); /* a clock behind is no reason */
    assert_false(owl_session_ended(s));
    assert_int_equal(owl_sessions_sweep(t, after + IDLE), 1);
    assert_true(owl_session_ended(s));
    assert_null(owl_sessions_find(t, owl_session_id(s)));
    assert_int_equal(owl_sessions_count(t), 0);
    owl_session_aunref(s);
    owl_sessions_free(t);
}

TEST(finding_a_session_counts_as_use, "")
{
    struct owl_sessions *t = owl_sessions_new(0, 60000, 0);
    struct owl_session *s = open_one(t);
    uint64_t opened = owl_now_ms();
    while (owl_now_ms() < opened + 5)
        continue;
    owl_session_aunref(owl_sessions_find(t, owl_session_id(s)));
    assert_int_equal(owl_sessions_sweep(t, opened + 60000), 0);
    assert_int_equal(owl_sessions_sweep(t, owl_now_ms() + 60000), 1);
    owl_session_aunref(s);
    owl_sessions_free(t);
}

TEST(a_held_session_does_not_expire, "")
{
    struct owl_sessions *t = owl_sessions_new(0, 1000, 0);
    struct owl_session *s = open_one(t);
    owl_session_hold(s);
    owl_session_hold(s);
    owl_session_release(s);
    assert_int_equal(owl_sessions_sweep(t, owl_now_ms() + 3600000), 0);
    assert_false(owl_session_ended(s));
    owl_session_release(s);
    assert_int_equal(owl_sessions_sweep(t, owl_now_ms() + 999), 0);
    assert_int_equal(owl_sessions_sweep(t, owl_now_ms() + 1000), 1);
    owl_session_aunref(s);
    owl_sessions_free(t);
}

TEST(without_an_idle_time_nothing_expires, "")
{
    struct owl_sessions *t = owl_sessions_new(0, 0, 0);
    owl_session_aunref(open_one(t));
    assert_int_equal(owl_sessions_sweep(t, UINT64_MAX), 0);
    assert_int_equal(owl_sessions_count(t), 1);
    owl_sessions_free(t);
}

/* More than a batch a stripe. */
TEST(a_sweep_reaches_every_session, "")
{
    enum { N = 10000 };
    static struct owl_session *s[N];
    struct owl_sessions *t = owl_sessions_new(0, 1000, 0);
    for (size_t i = 0; i < N; i++) {
        s[i] = open_one(t);
        if (i % 3 == 0)
            owl_session_hold(s[i]);
    }
    assert_int_equal(owl_sessions_count(t), N);
    size_t held = (N + 2) / 3;
    assert_int_equal(owl_sessions_sweep(t, owl_now_ms() + 2000), N - held);
    assert_int_equal(owl_sessions_count(t), held);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(owl_session_ended(s[i]), i % 3 != 0);
        owl_session_aunref(s[i]);
    }
    owl_sessions_free(t);
}

/* ---- many threads ---------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 1500, SHARED = 32 };

struct crowd {
    struct owl_sessions *t;
    char ids[SHARED][64];
    atomic_bool stop;
    atomic_uint wrong;
};

static void use_shared(struct crowd *c, unsigned i)
{
    struct owl_session *s = owl_sessions_find(c->t, owl_str_of(c->ids[i % SHARED]));
    if (!s)
        return; /* another thread ended it */
    char uri[32];
    snprintf(uri, sizeof(uri), "a:%u", i % 7);
    owl_session_hold(s);
    if (owl_session_subscribe(s, owl_str_of(uri)) != 0)
        atomic_fetch_add(&c->wrong, 1u);
    owl_session_set_log_level(s, (owl_level)(i % 8));
    owl_session_set_initialized(s);
    if (i % 3 == 0)
        owl_session_unsubscribe(s, owl_str_of(uri));
    if (!owl_session_initialized(s) || owl_session_owner(s) != 3)
        atomic_fetch_add(&c->wrong, 1u);
    owl_session_release(s);
    if (i % 500 == 499)
        owl_sessions_end(c->t, owl_session_id(s));
    owl_session_aunref(s);
}

static void *crowd_user(void *data)
{
    struct crowd *c = data;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct owl_session *s = NULL;
        if (owl_sessions_open(c->t, &init, &s, NULL) != 0) {
            atomic_fetch_add(&c->wrong, 1u);
            continue;
        }
        if (i % 2 == 0)
            owl_sessions_end(c->t, owl_session_id(s));
        owl_session_aunref(s);
        use_shared(c, i);
    }
    return NULL;
}

static void *crowd_sweeper(void *data)
{
    struct crowd *c = data;
    while (!atomic_load(&c->stop)) {
        OWL_IGNORE(owl_sessions_sweep(c->t, owl_now_ms()) == 0); /* as many as there are */
        OWL_IGNORE(owl_sessions_count(c->t) == 0);
    }
    return NULL;
}

TEST(threads_share_a_table, "")
{
    static struct crowd c;
    pthread_t users[THREADS], sweeper;
    c.t = owl_sessions_new(0, 1, 0);
    assert_non_null(c.t);
    for (unsigned i = 0; i < SHARED; i++) {
        struct owl_session *s = open_one(c.t);
        owl_str id = owl_session_id(s);
        memcpy(c.ids[i], id.p, id.n);
        owl_session_aunref(s);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&users[i], NULL, crowd_user, &c), 0);
    assert_int_equal(pthread_create(&sweeper, NULL, crowd_sweeper, &c), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(users[i], NULL), 0);
    atomic_store(&c.stop, true);
    assert_int_equal(pthread_join(sweeper, NULL), 0);
    assert_int_equal(atomic_load(&c.wrong), 0);
    size_t left = owl_sessions_count(c.t);
    assert_int_equal(owl_sessions_sweep(c.t, owl_now_ms() + 1000), left);
    assert_int_equal(owl_sessions_count(c.t), 0);
    owl_sessions_free(c.t);
}

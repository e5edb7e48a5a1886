/* Tests of mcp/session.h: one session. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/mcp/sessions.h"

TEST(a_session_outside_a_table_keeps_what_was_agreed, "")
{
    char caps[] = "{\"roots\":{}}";
    struct owl_session_init own = init;
    own.client_caps = (owl_str){caps, 12};
    struct owl_session *s = owl_session_new(NULL, &own);
    assert_non_null(s);
    memset(caps, 'x', sizeof(caps)); /* it has a copy */
    assert_int_equal(owl_session_id(s).n, 0);
    assert_int_equal(owl_session_rev(s), OWL_REV_2025_11_25);
    assert_true(owl_str_is(owl_session_client_caps(s), "{\"roots\":{}}"));
    assert_true(owl_str_is(owl_session_client_info(s), "{\"name\":\"c\"}"));
    assert_int_equal(owl_session_owner(s), 3);
    assert_false(owl_session_ended(s));
    owl_session_aunref(owl_session_aref(s));
    owl_session_aunref(s);
    owl_session_aunref(NULL);
}

TEST(absent_client_facts_stay_absent, "")
{
    struct owl_session *s = owl_session_new(NULL, &(struct owl_session_init){.owner = 0});
    assert_null(owl_session_client_caps(s).p);
    assert_null(owl_session_client_info(s).p);
    owl_session_aunref(s);
}

TEST(flags_and_level_change, "")
{
    struct owl_session *s = owl_session_new(NULL, &init);
    assert_false(owl_session_initialized(s));
    owl_session_set_initialized(s);
    assert_true(owl_session_initialized(s));
    assert_int_equal(owl_session_log_level(s), OWL_LEVEL_INFO);
    owl_session_set_log_level(s, OWL_LEVEL_EMERGENCY);
    assert_int_equal(owl_session_log_level(s), OWL_LEVEL_EMERGENCY);
    owl_session_aunref(s);
}

TEST(streams_of_a_session_share_their_places, "")
{
    struct owl_places p = {.max = 1};
    struct owl_session *s = owl_session_new(NULL, &init);
    assert_true(owl_places_take(&p));
    assert_false(owl_session_stream_enter(s, &p)); /* none to share */
    owl_places_give(&p);
    for (int i = 0; i < 3; i++)
        assert_true(owl_session_stream_enter(s, &p));
    for (int left = 2; left >= 0; left--) {
        assert_int_equal(p.taken, 1);
        owl_session_stream_leave(s, &p);
    }
    assert_int_equal(p.taken, 0);
    p.max = 2;
    for (size_t i = 1; i <= 2; i++) {
        assert_true(owl_session_stream_enter(s, &p));
        assert_int_equal(p.taken, i); /* each its own */
    }
    owl_session_stream_leave(s, &p);
    assert_int_equal(p.taken, 1);
    owl_session_stream_leave(s, &p);
    assert_int_equal(p.taken, 0);
    owl_session_aunref(s);
}

struct comings {
    struct owl_session *s;
    struct owl_places places;
    atomic_uint refused;
};

static void *come_and_go(void *user)
{
    struct comings *c = user;
    for (int i = 0; i < 50000; i++) {
        if (owl_session_stream_enter(c->s, &c->places))
            owl_session_stream_leave(c->s, &c->places);
        else
            atomic_fetch_add(&c->refused, 1u);
    }
    return NULL;
}

/* A connection broke and its client is back: whichever is seen first, there is a place. */
TEST(a_stream_takes_the_place_of_one_that_leaves_at_the_same_time, "")
{
    struct comings c = {.s = owl_session_new(NULL, &init), .places = {.max = 1}};
    pthread_t threads[4];
    for (size_t i = 0; i < OWL_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &c), 0);
    for (size_t i = 0; i < OWL_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(c.refused, 0);
    assert_int_equal(c.places.taken, 0);
    owl_session_aunref(c.s);
}

TEST(streams_count_from_one, "")
{
    struct owl_session *s = owl_session_new(NULL, &init);
    assert_int_equal(owl_session_next_stream(s), 1);
    assert_int_equal(owl_session_next_stream(s), 2);
    owl_session_aunref(s);
}

TEST(subscriptions_are_kept_once, "")
{
    struct owl_session *s = owl_session_new(NULL, &init);
    char uri[] = "file:///a";
    assert_false(owl_session_subscribed(s, OWL_STR("file:///a")));
    assert_int_equal(owl_session_subscribe(s, owl_str_of(uri)), 0);
    memset(uri, 'x', sizeof(uri) - 1); /* it has a copy */
    assert_int_equal(owl_session_subscribe(s, OWL_STR("file:///a")), 0);
    assert_true(owl_session_subscribed(s, OWL_STR("file:///a")));
    assert_false(owl_session_subscribed(s, OWL_STR("file:///")));
    owl_session_unsubscribe(s, OWL_STR("file:///a"));
    assert_false(owl_session_subscribed(s, OWL_STR("file:///a")));
    owl_session_unsubscribe(s, OWL_STR("file:///a"));
    owl_session_aunref(s);
}

TEST(subscriptions_are_limited, "")
{
    struct owl_session *s = owl_session_new(NULL, &init);
    char uri[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(uri, sizeof(uri), "file:///%d", i);
        assert_int_equal(owl_session_subscribe(s, owl_str_of(uri)), 0);
    }
    assert_int_equal(owl_session_subscribe(s, OWL_STR("file:///more")), -OWL_ELIMIT);
    assert_int_equal(owl_session_subscribe(s, OWL_STR("file:///7")), 0);
    owl_session_unsubscribe(s, OWL_STR("file:///7"));
    assert_int_equal(owl_session_subscribe(s, OWL_STR("file:///more")), 0);
    static const char huge[OWL_SESSION_URI_BYTES + 1];
    assert_int_equal(owl_session_subscribe(s, (owl_str){huge, sizeof(huge)}), -OWL_ELIMIT);
    owl_session_aunref(s);
}

TEST(a_subscription_without_memory_is_an_error, "")
{
    struct owl_session *s = owl_session_new(NULL, &init);
    for (unsigned long n = 1; n <= 2; n++) {
        owl_alloc_fail_at(n);
        assert_int_equal(owl_session_subscribe(s, OWL_STR("file:///a")), -OWL_ENOMEM);
        owl_alloc_fail_at(0);
        assert_false(owl_session_subscribed(s, OWL_STR("file:///a")));
    }
    assert_int_equal(owl_session_subscribe(s, OWL_STR("file:///a")), 0);
    owl_session_aunref(s);
}

/* The serial of the first session of another process. */
static uint64_t serial_elsewhere(void)
{
    int fds[2];
    uint64_t serial = 0;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct owl_session *s = owl_session_new(NULL, &init);
        serial = owl_session_serial(s);
        _exit(write(fds[1], &serial, sizeof serial) != sizeof serial);
    }
    assert_int_equal(read(fds[0], &serial, sizeof serial), sizeof serial);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(fds[0]);
    close(fds[1]);
    return serial;
}

/* A store outlives the process, and must not give a session what was that of an older one. */
TEST(serials_are_not_used_again_by_the_next_process, "")
{
    uint64_t serials[4];
    for (size_t i = 0; i < 4; i++) {
        serials[i] = serial_elsewhere();
        assert_true(serials[i] > 0 && serials[i] < UINT64_C(1) << 63);
        for (size_t k = 0; k < i; k++) {
            uint64_t far = serials[i] > serials[k] ? serials[i] - serials[k]
                                                   : serials[k] - serials[i];
            assert_true(far > 1000 * 1000);
        }
    }
}

TEST(a_session_knows_where_its_newest_stream_is, "")
{
    struct owl_session *s = owl_session_new(NULL, &init);
    assert_int_equal(owl_session_stream_at(s), -1);
    owl_session_set_stream(s, 0);
    owl_session_set_stream(s, 3);
    owl_session_clear_stream(s, 0);
    assert_int_equal(owl_session_stream_at(s), 3);
    owl_session_clear_stream(s, 3);
    assert_int_equal(owl_session_stream_at(s), -1);
    owl_session_aunref(s);
}

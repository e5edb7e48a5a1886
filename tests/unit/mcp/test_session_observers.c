/* Tests of mcp/session.h: observers of sessions. */
#include "unit/mcp/sessions.h"

static void count_end(void *user, struct owl_session *s)
{
    assert_true(owl_session_ended(s));
    (*(int *)user)++;
}

TEST(every_end_of_a_session_is_told_once, "mcp:L4")
{
    struct owl_sessions *t = owl_sessions_new(2, 1000, 0);
    int ended = 0;
    struct owl_session_observer o = {.ended = count_end, .user = &ended};
    assert_int_equal(owl_sessions_observe(t, &o), 0);
    struct owl_session *a = open_one(t);
    assert_true(owl_sessions_end(t, owl_session_id(a)));
    assert_false(owl_sessions_end(t, owl_session_id(a)));
    assert_int_equal(ended, 1);
    owl_session_aunref(a);
    for (int i = 0; i < 3; i++) /* the first gives way to the third */
        owl_session_aunref(open_one(t));
    assert_int_equal(ended, 2);
    assert_int_equal(owl_sessions_sweep(t, owl_now_ms() + 2000), 2);
    assert_int_equal(ended, 4);
    owl_session_aunref(open_one(t));
    owl_sessions_free(t);
    assert_int_equal(ended, 4);
}

struct heard {
    int opened, ended, levels, roots;
    owl_level level;
    const struct owl_session *session;
};

static void hear_opened(void *user, struct owl_session *s)
{
    struct heard *h = user;
    h->opened++;
    h->session = s;
    assert_false(owl_session_ended(s));
}

static void hear_ended(void *user, struct owl_session *s)
{
    struct heard *h = user;
    assert_true(owl_session_ended(s));
    assert_true(++h->ended <= h->opened);
}

static void hear_level(void *user, struct owl_session *s, owl_level level)
{
    struct heard *h = user;
    h->levels++;
    h->level = level;
    assert_int_equal(owl_session_log_level(s), level);
}

static void hear_roots(void *user, struct owl_session *s)
{
    struct heard *h = user;
    h->roots++;
    assert_ptr_equal(h->session, s);
}

TEST(observers_hear_of_sessions_inside_and_outside_the_table, "")
{
    struct owl_sessions *t = owl_sessions_new(0, 0, 0);
    struct heard h[OWL_SESSION_OBSERVERS] = {{0}};
    struct owl_session_observer o = {hear_opened, hear_ended, hear_level, hear_roots, NULL};
    for (size_t i = 0; i < OWL_SESSION_OBSERVERS; i++) {
        o.user = &h[i];
        assert_int_equal(owl_sessions_observe(t, &o), 0);
    }
    assert_int_equal(owl_sessions_observe(t, &o), -OWL_ELIMIT);
    struct owl_session *s = open_one(t);
    owl_session_set_log_level(s, OWL_LEVEL_ERROR);
    owl_session_roots_changed(s);
    assert_true(owl_sessions_end(t, owl_session_id(s)));
    owl_session_aunref(s);
    s = owl_session_new(t, &init);
    owl_session_set_log_level(s, OWL_LEVEL_DEBUG);
    owl_session_roots_changed(s);
    owl_session_end(s);
    owl_session_end(s);
    owl_session_aunref(s);
    for (size_t i = 0; i < OWL_SESSION_OBSERVERS; i++) {
        assert_int_equal(h[i].opened, 2);
        assert_int_equal(h[i].ended, 2);
        assert_int_equal(h[i].levels, 2);
        assert_int_equal(h[i].roots, 2);
        assert_int_equal(h[i].level, OWL_LEVEL_DEBUG);
    }
    owl_sessions_free(t);
}

TEST(what_is_opened_without_memory_has_ended_for_observers, "")
{
    for (uint64_t n = 1; n < 100; n++) {
        struct owl_sessions *t = owl_sessions_new(0, 0, 0);
        struct heard h = {0};
        struct owl_session_observer o = {.opened = hear_opened, .ended = hear_ended, .user = &h};
        struct owl_session *s = NULL;
        assert_int_equal(owl_sessions_observe(t, &o), 0);
        owl_alloc_fail_at(n);
        int rc = owl_sessions_open(t, &init, &s, NULL);
        owl_alloc_fail_at(0);
        assert_int_equal(h.opened - h.ended, rc == 0);
        owl_session_aunref(s);
        owl_sessions_free(t);
        if (rc == 0)
            return;
    }
    fail();
}

/* Tests of reactor/watch.c: the watchdog and the length of turns. */
#include "unit/reactor/fixture.h"

static struct log_tail tail = {.mu = PTHREAD_MUTEX_INITIALIZER};
static const struct owl_log log_to_tail = {log_tail_line, &tail, OWL_LEVEL_DEBUG};

static struct owl_runtime *watched(bool embedded, unsigned lag_warn_ms)
{
    const struct owl_runtime_options o = {.reactors = 2,
                                          .workers = 1,
                                          .lag_warn_ms = lag_warn_ms,
                                          .embedded = embedded,
                                          .log = &log_to_tail};
    struct owl_runtime *rt = runtime_new(&o);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    return rt;
}

static void sleep_marked(struct owl_reactor *r, void *arg)
{
    const char *before = owl_reactor_mark(r, "chewing");
    usleep(*(unsigned *)arg * 1000);
    assert_string_equal(owl_reactor_mark(r, before), "chewing");
}

TEST(a_long_turn_is_reported_once_with_its_mark, "")
{
    struct owl_runtime *rt = watched(false, 20);
    unsigned ms = 150;
    on_reactor(owl_runtime_at(rt, 1), sleep_marked, &ms);
    assert_int_equal(log_tail_count(&tail), 1);
    assert_true(log_tail_warns(&tail, "reactor 1"));
    assert_true(log_tail_warns(&tail, "chewing"));
    on_reactor(owl_runtime_at(rt, 1), sleep_marked, &ms);
    assert_int_equal(log_tail_count(&tail), 2); /* another turn, another warning */
    runtime_end(rt);
    assert_int_equal(log_tail_count(&tail), 2);
}

TEST(waiting_and_short_turns_are_not_reported, "")
{
    struct owl_runtime *rt = watched(false, 40);
    unsigned ms = 1;
    for (unsigned i = 0; i < 30; i++)
        on_reactor(owl_runtime_at(rt, 0), sleep_marked, &ms);
    usleep(150000);
    assert_int_equal(log_tail_count(&tail), 0);
    runtime_end(rt);
}

TEST(without_a_limit_nothing_is_reported, "")
{
    struct owl_runtime *rt = watched(false, 0);
    unsigned ms = 100;
    on_reactor(owl_runtime_at(rt, 0), sleep_marked, &ms);
    assert_int_equal(log_tail_count(&tail), 0);
    runtime_end(rt);
}

static struct flag gate;

static void gated_work(struct owl_work *w)
{
    (void)w;
    if (!flag_wait(&gate, 1))
        abort();
}

TEST(it_still_watches_while_a_stop_waits_for_the_workers, "")
{
    struct owl_runtime *rt = watched(false, 20);
    struct owl_work w = {.run = gated_work};
    unsigned ms = 150;
    assert_int_equal(owl_worker_submit(rt, &w), 0);
    owl_runtime_stop(rt);
    usleep(20000);
    on_reactor(owl_runtime_at(rt, 0), sleep_marked, &ms);
    assert_true(log_tail_warns(&tail, "chewing"));
    flag_raise(&gate);
    runtime_end(rt);
}

static void unmarked_timer(struct owl_timer *t)
{
    (void)t;
    usleep(150000);
}

TEST(what_marks_itself_not_is_named_by_its_kind, "")
{
    const struct owl_runtime_options o = {
        .reactors = 1, .workers = 1, .lag_warn_ms = 20, .log = &log_to_tail};
    struct owl_runtime *rt = runtime_new(&o);
    struct owl_timer t;
    owl_timer_init(&t, unmarked_timer);
    owl_timer_start(owl_runtime_at(rt, 0), &t, 1);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    for (unsigned i = 0; i < 2000 && log_tail_count(&tail) == 0; i++)
        usleep(1000);
    runtime_end(rt);
    assert_true(log_tail_warns(&tail, "doing: timer"));
}

TEST(the_longest_turn_is_kept, "")
{
    struct owl_runtime *rt = watched(false, 0);
    struct owl_reactor *r = owl_runtime_at(rt, 0);
    unsigned ms = 30, none = 0;
    on_reactor(r, sleep_marked, &ms);
    on_reactor(r, sleep_marked, &none); /* the turn before has ended by now */
    on_reactor(r, sleep_marked, &none);
    assert_true(owl_reactor_max_lag_us(r) >= 29000);
    assert_true(owl_reactor_max_lag_us(owl_runtime_at(rt, 1)) < 29000);
    runtime_end(rt);
}

/* libuv runs this before the check handle, and it does not mark itself. */
static void poll_slow(uv_poll_t *p, int status, int events)
{
    (void)status;
    (void)events;
    usleep(30000);
    uv_close((uv_handle_t *)p, NULL);
}

TEST(a_slow_callback_that_marks_nothing_still_counts, "")
{
    struct owl_runtime *rt = runtime_new(
        &(struct owl_runtime_options){.reactors = 1, .workers = 1});
    struct owl_reactor *r = owl_runtime_at(rt, 0);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    static uv_poll_t poll;
    assert_int_equal(uv_poll_init(owl_reactor_loop(r), &poll, fds[0]), 0);
    assert_int_equal(uv_poll_start(&poll, UV_READABLE, poll_slow), 0);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    usleep(20000); /* it waits; the byte wakes it */
    assert_int_equal(write(fds[1], "x", 1), 1);
    usleep(10000);
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    assert_true(owl_reactor_max_lag_us(r) >= 27000);
    owl_runtime_aunref(rt);
    close(fds[0]);
    close(fds[1]);
}

TEST(an_embedded_reactor_is_idle_between_steps, "")
{
    struct owl_runtime *rt = watched(true, 20);
    assert_true(owl_runtime_step(rt));
    usleep(100000);
    assert_true(owl_runtime_step(rt));
    assert_int_equal(log_tail_count(&tail), 0);
    assert_true(owl_reactor_max_lag_us(owl_runtime_at(rt, 0)) < 90000);
    runtime_end(rt);
}

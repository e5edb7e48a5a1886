/* Tests of reactor/timer.c. */
#include "unit/reactor/fixture.h"

enum { MANY = 10000 };

static struct owl_runtime *embedded_started(void)
{
    const struct owl_runtime_options o = {.reactors = 1, .workers = 1, .embedded = true};
    struct owl_runtime *rt = runtime_new(&o);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    return rt;
}

/* Fixtures run their starts and stops on the reactor: on an embedded one by a message and a step. */
struct call {
    struct owl_msg msg;
    void (*fn)(struct owl_reactor *r);
};

static void call_run(struct owl_reactor *r, struct owl_msg *m)
{
    OWL_CONTAINER(m, struct call, msg)->fn(r);
}

static void inside(struct owl_runtime *rt, void (*fn)(struct owl_reactor *r))
{
    struct call c = {.msg.run = call_run, .fn = fn};
    assert_true(owl_post(owl_runtime_at(rt, 0), &c.msg));
    assert_true(owl_runtime_step(rt));
}

static void step_for(struct owl_runtime *rt, uint64_t ms)
{
    for (uint64_t end = owl_now_ms() + ms; owl_now_ms() < end;) {
        assert_true(owl_runtime_step(rt));
        usleep(200);
    }
    assert_true(owl_runtime_step(rt)); /* this thread may have slept through all of it */
}

struct item {
    struct owl_timer timer;
    unsigned id;
    uint64_t not_before;
    bool fired;
};

static struct item items[MANY];
static unsigned fired, order[MANY];
static bool early;

static void item_fired(struct owl_timer *t)
{
    struct item *i = OWL_CONTAINER(t, struct item, timer);
    early |= owl_now_ns() < i->not_before;
    i->fired = true;
    order[fired++] = i->id;
    assert_false(owl_timer_active(t));
}

static void item_start(struct owl_reactor *r, unsigned id, uint64_t delay)
{
    items[id].id = id;
    items[id].not_before = owl_now_ns() + delay * OWL_NS_PER_MS;
    owl_timer_init(&items[id].timer, item_fired);
    owl_timer_start(r, &items[id].timer, delay);
}

static void start_four(struct owl_reactor *r)
{
    item_start(r, 0, 30);
    item_start(r, 1, 10);
    item_start(r, 2, 20);
    item_start(r, 3, 10);
    item_start(r, 4, UINT64_MAX);
    assert_true(owl_timer_active(&items[0].timer));
}

static void stop_last(struct owl_reactor *r)
{
    (void)r;
    owl_timer_stop(&items[4].timer);
    owl_timer_stop(&items[4].timer); /* idle: harmless */
    assert_false(owl_timer_active(&items[4].timer));
}

TEST(timers_run_in_the_order_of_their_times_and_never_early, "")
{
    struct owl_runtime *rt = embedded_started();
    inside(rt, start_four);
    assert_int_equal(fired, 0);
    step_for(rt, 60);
    assert_int_equal(fired, 4);
    static const unsigned expected[] = {1, 3, 2, 0};
    assert_memory_equal(order, expected, sizeof(expected));
    assert_false(early);
    assert_true(owl_timer_active(&items[4].timer)); /* in half a billion years */
    inside(rt, stop_last);
    runtime_end(rt);
}

static void sleep_then_start(struct owl_reactor *r)
{
    usleep(30000); /* the loop's clock is stale now */
    item_start(r, 0, 10);
}

TEST(a_delay_counts_from_now_and_not_from_the_start_of_the_turn, "")
{
    struct owl_runtime *rt = embedded_started();
    inside(rt, sleep_then_start);
    assert_true(owl_runtime_step(rt));
    assert_int_equal(fired, 0);
    step_for(rt, 30);
    assert_int_equal(fired, 1);
    assert_false(early);
    runtime_end(rt);
}

static void restart_first(struct owl_reactor *r)
{
    item_start(r, 0, 5);
    item_start(r, 1, 20);
    owl_timer_start(r, &items[0].timer, 40);
}

TEST(restarting_moves_a_timer, "")
{
    struct owl_runtime *rt = embedded_started();
    inside(rt, restart_first);
    step_for(rt, 80);
    assert_int_equal(fired, 2);
    assert_int_equal(order[0], 1);
    assert_int_equal(order[1], 0);
    runtime_end(rt);
}

/* Items 0..3 are due together. 0 stops 2 and frees what it is, 1 restarts itself without a delay. */
static struct owl_timer self_starting;
static unsigned self_runs;

static void stops_another(struct owl_timer *t)
{
    item_fired(t);
    owl_timer_stop(&items[2].timer);
}

static void restarts_itself(struct owl_timer *t)
{
    self_runs++;
    owl_timer_start(owl_reactor_self(), t, 0);
}

static void start_tangle(struct owl_reactor *r)
{
    item_start(r, 0, 5);
    items[0].timer.fn = stops_another;
    item_start(r, 2, 5);
    item_start(r, 3, 5);
    owl_timer_init(&self_starting, restarts_itself);
    owl_timer_start(r, &self_starting, 5);
    usleep(10000);
}

static void stop_self(struct owl_reactor *r)
{
    (void)r;
    owl_timer_stop(&self_starting);
}

TEST(callbacks_may_start_and_stop_timers, "")
{
    struct owl_runtime *rt = embedded_started();
    inside(rt, start_tangle);
    assert_true(owl_runtime_step(rt));
    assert_int_equal(fired, 2);
    assert_int_equal(order[0], 0);
    assert_int_equal(order[1], 3);
    assert_false(items[2].fired);
    assert_int_equal(self_runs, 1); /* it did not hold up the loop */
    step_for(rt, 50);
    assert_true(self_runs > 1 && self_runs <= 60);
    inside(rt, stop_self);
    unsigned runs = self_runs;
    step_for(rt, 10);
    assert_int_equal(self_runs, runs);
    runtime_end(rt);
}

static unsigned random_state = 1;

static unsigned any_below(unsigned n)
{
    random_state = random_state * 1103515245 + 12345;
    return (random_state >> 8) % n;
}

static unsigned stopped;

static void start_many(struct owl_reactor *r)
{
    for (unsigned i = 0; i < MANY; i++)
        item_start(r, i, any_below(100));
    for (unsigned i = 0; i < MANY; i++) {
        unsigned what = any_below(4);
        if (what == 0)
            owl_timer_stop(&items[i].timer);
        else if (what == 1)
            owl_timer_start(r, &items[i].timer, any_below(100));
        items[i].not_before = items[i].timer._at;
        stopped += what == 0;
    }
}

TEST(ten_thousand_timers, "")
{
    struct owl_runtime *rt = embedded_started();
    inside(rt, start_many);
    step_for(rt, 400);
    assert_true(stopped > MANY / 8);
    assert_int_equal(fired, MANY - stopped);
    assert_null(owl_runtime_at(rt, 0)->timers);
    for (unsigned i = 0; i < fired; i++) {
        const struct item *now = &items[order[i]], *before = i ? &items[order[i - 1]] : now;
        assert_true(now->not_before >= before->not_before);
        assert_true(now->not_before > before->not_before || i == 0 ||
                    now->timer._seq > before->timer._seq);
    }
    runtime_end(rt);
}

TEST(a_timer_does_not_keep_the_loop_alive, "")
{
    const struct owl_runtime_options o = {.reactors = 1, .workers = 1};
    struct owl_runtime *rt = runtime_new(&o);
    uint64_t began = owl_now_ms();
    item_start(owl_runtime_at(rt, 0), 0, 60000); /* before the start: from any thread */
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    runtime_end(rt);
    assert_int_equal(fired, 0);
    assert_true(owl_now_ms() - began < 30000);
}

TEST(a_timer_wakes_a_sleeping_loop, "")
{
    struct owl_runtime *rt = runtime_started(1);
    struct call c = {.msg.run = call_run, .fn = start_four};
    assert_true(owl_post(owl_runtime_at(rt, 0), &c.msg));
    usleep(100000);
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    assert_int_equal(fired, 4);
    assert_false(early);
    owl_timer_stop(&items[4].timer); /* after the end: from any thread */
    owl_runtime_aunref(rt);
}

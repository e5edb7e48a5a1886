/* Tests of reactor/part.c: parts come and go, and the last one stops the runtime. */
#include "reactor/part.h"
#include "unit/reactor/fixture.h"

#include <signal.h>

/* A part that ends when the drain has run on all reactors, or when the test says so. */
struct part {
    struct owl_runtime_part part;
    bool by_hand;
    atomic_uint drained, hurried;
    struct flag ready, hurry, left;
    unsigned order; /* when it left: 1 was the first */
};

static atomic_uint leavers;

static void part_drain(struct owl_runtime_part *p, struct owl_reactor *r)
{
    struct part *x = OWL_CONTAINER(p, struct part, part);
    assert_ptr_equal(owl_reactor_self(), r);
    if (atomic_fetch_add(&x->drained, 1) + 1 < owl_runtime_count(owl_reactor_runtime(r)))
        return;
    if (!x->by_hand)
        owl_runtime_part_ended(p);
    flag_raise(&x->ready);
}

static void part_hurry(struct owl_runtime_part *p, struct owl_reactor *r)
{
    struct part *x = OWL_CONTAINER(p, struct part, part);
    assert_ptr_equal(owl_reactor_self(), r);
    assert_true(atomic_load(&x->drained) > 0);
    atomic_fetch_add(&x->hurried, 1);
    flag_raise(&x->hurry);
}

static void part_left(struct owl_runtime_part *p)
{
    struct part *x = OWL_CONTAINER(p, struct part, part);
    assert_int_equal(owl_reactor_index(owl_reactor_self()), 0);
    x->order = atomic_fetch_add(&leavers, 1) + 1;
    flag_raise(&x->left);
}

#define PART(...) \
    { \
        .part = {.name = "test", .drain = part_drain, .hurry = part_hurry, .left = part_left}, \
        __VA_ARGS__ \
    }

static void add(struct owl_runtime *rt, struct part *x)
{
    owl_error e = {0};
    if (owl_runtime_part_add(rt, &x->part, &e) != 0)
        fail_msg("%s", e.message);
}

static void join(struct owl_runtime *rt)
{
    owl_runtime_join(rt);
    owl_runtime_aunref(rt);
}

static void nothing(struct owl_reactor *r, void *arg)
{
    (void)r;
    (void)arg;
}

TEST(the_last_part_that_leaves_stops_the_runtime, "")
{
    struct owl_runtime *rt = runtime_started(3);
    struct part a = PART(), b = PART();
    add(rt, &a);
    add(rt, &b); /* while it runs */
    assert_true(owl_runtime_part_drain(&a.part));
    assert_false(owl_runtime_part_drain(&a.part));
    assert_true(flag_wait(&a.left, 1));
    assert_int_equal(atomic_load(&a.drained), 3);
    for (unsigned i = 0; i < 3; i++)
        on_reactor(owl_runtime_at(rt, i), nothing, NULL); /* the other one lives on */
    assert_int_equal(atomic_load(&b.drained), 0);

    struct part c = PART();
    add(rt, &c);
    owl_runtime_part_drain(&b.part);
    assert_true(flag_wait(&b.left, 1));
    owl_runtime_part_drain(&c.part);
    owl_runtime_join(rt);
    assert_int_equal(atomic_load(&c.left.n), 1);
    assert_int_equal(atomic_load(&c.drained), 3);
    owl_runtime_part_drain(&c.part); /* harmless */
    owl_runtime_aunref(rt);
}

TEST(a_drain_ends_what_is_needed_after_those_who_need_it, "")
{
    struct owl_runtime *rt = runtime_started(2);
    struct part store = PART(.by_hand = false), first = PART(.by_hand = true),
                second = PART(.by_hand = true);
    store.part.level = 7;
    add(rt, &store);
    add(rt, &first);
    add(rt, &second);
    assert_true(owl_runtime_drain(rt));
    assert_false(owl_runtime_drain(rt));
    assert_true(flag_wait(&first.ready, 1));
    assert_true(flag_wait(&second.ready, 1));
    owl_runtime_part_ended(&second.part);
    assert_true(flag_wait(&second.left, 1));
    assert_int_equal(atomic_load(&store.drained), 0);
    owl_runtime_part_ended(&first.part);
    join(rt);
    assert_int_equal(store.order, 3);
    assert_int_equal(atomic_load(&store.drained), 2);
}

TEST(no_part_comes_to_a_runtime_that_ends, "")
{
    owl_error e = {0};
    struct owl_runtime *rt = runtime_started(2);
    struct part a = PART(.by_hand = true), late = PART();
    add(rt, &a);
    owl_runtime_drain(rt);
    assert_int_equal(owl_runtime_part_add(rt, &late.part, &e), -OWL_ESTATE);
    assert_non_null(strstr(e.message, "test"));
    assert_true(flag_wait(&a.ready, 1));
    owl_runtime_part_ended(&a.part);
    owl_runtime_join(rt);
    assert_int_equal(owl_runtime_part_add(rt, &late.part, &e), -OWL_ESTATE);
    owl_runtime_aunref(rt);
}

TEST(a_drain_without_parts_is_a_stop, "")
{
    struct owl_runtime *rt = runtime_started(2);
    owl_runtime_drain(rt);
    join(rt);

    rt = runtime_new(
        &(struct owl_runtime_options){.reactors = 1, .workers = 1, .max_queued_work = 1});
    owl_runtime_drain(rt); /* takes effect with the start */
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    join(rt);
}

TEST(a_part_that_is_drained_before_it_is_added_goes_at_once, "")
{
    struct owl_runtime *rt = runtime_started(2);
    struct part a = PART();
    owl_runtime_part_drain(&a.part);
    add(rt, &a);
    join(rt);
    assert_int_equal(atomic_load(&a.left.n), 1);
}

TEST(who_asks_again_is_in_a_hurry, "")
{
    for (int all = 0; all <= 1; all++) {
        struct owl_runtime *rt = runtime_started(2);
        struct part a = PART(.by_hand = true), b = PART();
        b.part.hurry = NULL;
        b.part.level = 1;
        add(rt, &a);
        add(rt, &b);
        owl_runtime_part_drain(&a.part);
        assert_true(flag_wait(&a.ready, 1));
        assert_int_equal(atomic_load(&a.hurried), 0);
        for (int i = 0; i < 3; i++) {
            if (all)
                owl_runtime_hurry(rt);
            else
                owl_runtime_part_hurry(&a.part);
        }
        assert_true(flag_wait(&a.hurry, 2));
        owl_runtime_part_ended(&a.part);
        assert_true(flag_wait(&a.left, 1));
        owl_runtime_hurry(rt);
        join(rt);
        assert_int_equal(atomic_load(&a.hurried), 2);
        assert_int_equal(atomic_load(&b.left.n), 1);
    }
}

/* ---- what a part waits for before it leaves ---- */

struct job {
    struct owl_work work;
    struct flag begun, go, done;
};

static void job_run(struct owl_work *w)
{
    struct job *j = OWL_CONTAINER(w, struct job, work);
    flag_raise(&j->begun);
    assert_true(flag_wait(&j->go, 1));
    flag_raise(&j->done);
}

TEST(a_part_leaves_after_its_work, "")
{
    const struct owl_runtime_options o = {.reactors = 2, .workers = 1, .max_queued_work = 8};
    struct owl_runtime *rt = runtime_new(&o);
    struct part a = PART(), b = PART();
    struct job runs = {.work = {.run = job_run, .part = &a.part}}, waits = runs,
               others = {.work = {.run = job_run}};
    add(rt, &a);
    add(rt, &b);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    assert_int_equal(owl_worker_submit(rt, &runs.work), 0);
    assert_true(flag_wait(&runs.begun, 1));
    assert_int_equal(owl_worker_submit(rt, &others.work), 0);
    assert_int_equal(owl_worker_submit(rt, &waits.work), 0);
    owl_runtime_part_drain(&a.part);
    assert_true(flag_wait(&a.ready, 1));
    for (unsigned i = 0; i < 4; i++) /* a round that had begun would have passed */
        on_reactor(owl_runtime_at(rt, i % 2), nothing, NULL);
    assert_int_equal(atomic_load(&a.left.n), 0);
    flag_raise(&runs.go);
    assert_true(flag_wait(&others.begun, 1));
    for (unsigned i = 0; i < 4; i++)
        on_reactor(owl_runtime_at(rt, i % 2), nothing, NULL);
    assert_int_equal(atomic_load(&a.left.n), 0); /* one is queued still */
    assert_true(owl_worker_withdraw(rt, &waits.work));
    assert_true(flag_wait(&a.left, 1));
    assert_int_equal(atomic_load(&others.done.n), 0); /* of no concern to it */
    flag_raise(&others.go);
    owl_runtime_part_drain(&b.part);
    join(rt);
}

/* Goes to reactor 0 and from there to 1, where it must meet its part. */
struct traveller {
    struct owl_msg msg;
    struct part *part;
    struct flag there;
};

static void travel_on(struct owl_reactor *r, struct owl_msg *m)
{
    struct traveller *t = OWL_CONTAINER(m, struct traveller, msg);
    assert_int_equal(owl_reactor_index(r), 1);
    usleep(500); /* a part that does not wait for this message is gone by then */
    assert_int_equal(atomic_load(&t->part->left.n), 0);
    flag_raise(&t->there);
}

static void travel(struct owl_reactor *r, struct owl_msg *m)
{
    m->run = travel_on;
    assert_true(owl_post(owl_runtime_at(owl_reactor_runtime(r), 1), m));
}

static void end_with_a_message(struct owl_runtime_part *p, struct owl_reactor *r)
{
    struct part *x = OWL_CONTAINER(p, struct part, part);
    struct owl_runtime *rt = owl_reactor_runtime(r);
    static struct traveller t;
    if (atomic_fetch_add(&x->drained, 1) + 1 < owl_runtime_count(rt))
        return;
    t = (struct traveller){.msg.run = travel, .part = x};
    assert_true(owl_post(owl_runtime_at(rt, 0), &t.msg));
    owl_runtime_part_ended(p);
}

TEST(messages_on_their_way_meet_the_part, "")
{
    for (int i = 0; i < 200; i++) {
        struct owl_runtime *rt = runtime_started(2);
        struct part a = PART();
        a.part.drain = end_with_a_message;
        add(rt, &a);
        owl_runtime_drain(rt);
        join(rt);
        assert_int_equal(atomic_load(&a.left.n), 1);
    }
}

/* ---- other ways to the end ---- */

static struct owl_runtime *signalled;

static void on_signal(int sig)
{
    (void)sig;
    owl_runtime_drain(signalled); /* NOLINT(bugprone-signal-handler): this one is allowed */
}

TEST(a_signal_handler_may_drain, "")
{
    struct part a = PART();
    signalled = runtime_started(2);
    add(signalled, &a);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    owl_runtime_join(signalled);
    raise(SIGUSR1); /* harmless, as long as somebody holds it */
    signal(SIGUSR1, SIG_DFL);
    owl_runtime_aunref(signalled);
    assert_int_equal(atomic_load(&a.left.n), 1);
}

TEST(an_embedded_runtime_drains_while_it_is_stepped, "")
{
    struct owl_runtime *rt = runtime_new(&(struct owl_runtime_options){
        .reactors = 2, .workers = 1, .max_queued_work = 4, .embedded = true});
    struct part a = PART();
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    add(rt, &a);
    owl_runtime_drain(rt);
    for (unsigned i = 0; owl_runtime_step(rt); i++) {
        assert_true(i < 20000);
        usleep(1000);
    }
    join(rt);
    assert_int_equal(atomic_load(&a.left.n), 1);
}

TEST(a_runtime_that_was_never_started_lets_its_parts_go, "")
{
    struct owl_runtime *rt = runtime_new(
        &(struct owl_runtime_options){.reactors = 2, .workers = 1, .max_queued_work = 4});
    struct part a = PART(), b = PART();
    add(rt, &a);
    add(rt, &b);
    owl_runtime_part_drain(&b.part);
    join(rt);
    assert_int_equal(atomic_load(&a.left.n), 0);
}

TEST(a_part_without_memory_is_not_added, "")
{
    struct owl_runtime *rt = runtime_started(2);
    struct part a = PART();
    owl_error e = {0};
    owl_alloc_fail_at(1);
    int rc = owl_runtime_part_add(rt, &a.part, &e);
    owl_alloc_fail_at(0);
    assert_int_equal(rc, -OWL_ENOMEM);
    add(rt, &a);
    owl_runtime_drain(rt);
    join(rt);
}

/* Tests of reactor/mailbox.c: order, fairness, closing. */
#include "unit/reactor/fixture.h"

struct numbered {
    struct owl_msg msg;
    unsigned sender, number;
};

enum { SENDERS = 4, PER_SENDER = 5000 };

static unsigned next_of[SENDERS]; /* touched by the receiving reactor only */
static struct flag received;
static atomic_uint disorder;

static void numbered_run(struct owl_reactor *r, struct owl_msg *m)
{
    struct numbered *n = OWL_CONTAINER(m, struct numbered, msg);
    if (owl_reactor_self() != r || next_of[n->sender]++ != n->number)
        atomic_fetch_add(&disorder, 1);
    owl_free(n);
    flag_raise(&received);
}

static struct owl_reactor *target;

static void *sender_main(void *arg)
{
    unsigned id = *(unsigned *)arg;
    for (unsigned i = 0; i < PER_SENDER; i++) {
        struct numbered *n = owl_malloc(sizeof(*n));
        *n = (struct numbered){.msg.run = numbered_run, .sender = id, .number = i};
        if (!owl_post(target, &n->msg)) {
            owl_free(n);
            atomic_fetch_add(&disorder, 1);
        }
    }
    return NULL;
}

TEST(messages_of_a_sender_keep_their_order, "")
{
    struct owl_runtime *rt = runtime_started(1);
    pthread_t threads[SENDERS];
    unsigned ids[SENDERS];
    target = owl_runtime_at(rt, 0);
    for (unsigned i = 0; i < SENDERS; i++) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, sender_main, &ids[i]), 0);
    }
    for (unsigned i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    runtime_end(rt);
    assert_int_equal(atomic_load(&received.n), SENDERS * PER_SENDER);
    assert_int_equal(atomic_load(&disorder), 0);
}

/* ---- turns: embedded, so that each step is one turn ---- */

static unsigned ran, ran_order[2000];

struct ordered {
    struct owl_msg msg;
    unsigned id;
    struct ordered *follow_up;
};

static void ordered_run(struct owl_reactor *r, struct owl_msg *m)
{
    struct ordered *o = OWL_CONTAINER(m, struct ordered, msg);
    ran_order[ran++] = o->id;
    if (o->follow_up) {
        assert_true(owl_post(r, &o->follow_up->msg));
        assert_int_equal(ran_order[ran - 1], o->id); /* it was not run inside the call */
    }
}

static struct owl_runtime *embedded_started(void)
{
    const struct owl_runtime_options o = {.reactors = 1, .workers = 1, .embedded = true};
    struct owl_runtime *rt = runtime_new(&o);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    return rt;
}

TEST(a_flood_is_run_256_a_turn_and_in_order, "")
{
    struct owl_runtime *rt = embedded_started();
    struct owl_reactor *r = owl_runtime_at(rt, 0);
    static struct ordered all[602], extra = {.msg.run = ordered_run, .id = 602};
    for (unsigned i = 0; i < 602; i++) {
        all[i] = (struct ordered){.msg.run = ordered_run, .id = i};
        if (i == 0)
            all[i].follow_up = &extra;
        assert_true(owl_post(r, &all[i].msg));
    }
    assert_int_equal(ran, 0);
    assert_true(owl_runtime_step(rt));
    assert_int_equal(ran, 256);
    struct ordered late = {.msg.run = ordered_run, .id = 603};
    assert_true(owl_post(r, &late.msg));
    assert_true(owl_runtime_step(rt));
    assert_int_equal(ran, 512);
    assert_true(owl_runtime_step(rt));
    assert_int_equal(ran, 604);
    for (unsigned i = 0; i < 604; i++)
        assert_int_equal(ran_order[i], i);
    runtime_end(rt);
}

TEST(what_was_posted_before_the_close_still_runs, "")
{
    struct owl_runtime *rt = embedded_started();
    struct owl_reactor *r = owl_runtime_at(rt, 0);
    static struct ordered all[1000];
    for (unsigned i = 0; i < 1000; i++) {
        all[i] = (struct ordered){.msg.run = ordered_run, .id = i};
        assert_true(owl_post(r, &all[i].msg));
    }
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    assert_int_equal(ran, 1000);
    struct ordered late = {.msg.run = ordered_run};
    assert_false(owl_post(r, &late.msg)); /* the runtime is still referenced: posting is safe */
    assert_false(owl_runtime_step(rt));
    owl_runtime_aunref(rt);
    assert_int_equal(ran, 1000);
}

/* Posts until it is refused, while the runtime stops. */
static atomic_uint accepted, delivered;

static void count_run(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    owl_free(m);
    atomic_fetch_add(&delivered, 1);
}

static void *hammer_main(void *arg)
{
    struct owl_runtime *rt = arg;
    for (unsigned i = 0;; i++) {
        struct owl_msg *m = owl_malloc(sizeof(*m));
        *m = (struct owl_msg){.run = count_run};
        if (!owl_post(owl_runtime_at(rt, i % 2), m)) {
            owl_free(m);
            break;
        }
        atomic_fetch_add(&accepted, 1);
        if (i % 64 == 0)
            usleep(50);
    }
    owl_runtime_aunref(rt);
    return NULL;
}

TEST(closing_does_not_race_with_senders, "")
{
    for (unsigned round = 0; round < 20; round++) {
        struct owl_runtime *rt = runtime_started(2);
        pthread_t threads[3];
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, hammer_main, owl_runtime_aref(rt)),
                             0);
        usleep(round * 200);
        runtime_end(rt); /* the senders hold references of their own */
        for (unsigned i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&accepted), atomic_load(&delivered));
    assert_true(atomic_load(&delivered) > 0);
}

/* ---- many hops ---- */

enum { TRAVELLERS = 400, HOPS = 60 };

struct traveller {
    struct owl_msg msg;
    unsigned hops, random;
};

static struct flag arrived;

static void traveller_run(struct owl_reactor *r, struct owl_msg *m)
{
    struct traveller *t = OWL_CONTAINER(m, struct traveller, msg);
    owl_reactor_assert(r);
    if (++t->hops == HOPS) {
        owl_free(t);
        flag_raise(&arrived);
        return;
    }
    t->random = t->random * 1103515245 + 12345;
    struct owl_runtime *rt = owl_reactor_runtime(r);
    struct owl_reactor *to = owl_runtime_at(rt, (t->random >> 16) % owl_runtime_count(rt));
    if (!owl_post(to, &t->msg))
        owl_free(t);
}

TEST(messages_hop_between_reactors, "")
{
    struct owl_runtime *rt = runtime_started(4);
    for (unsigned i = 0; i < TRAVELLERS; i++) {
        struct traveller *t = owl_malloc(sizeof(*t));
        *t = (struct traveller){.msg.run = traveller_run, .random = i};
        assert_true(owl_post(owl_runtime_at(rt, i % 4), &t->msg));
    }
    assert_true(flag_wait(&arrived, TRAVELLERS));
    runtime_end(rt);
}

/* Tests of reactor/cell.c: every object is freed exactly once, and never while it is pinned. */
#include "reactor/cell.h"
#include "unit/reactor/fixture.h"

static atomic_uint made, freed;

struct object {
    atomic_uint refs;
    unsigned a, b; /* b is always ~a: a reader of freed or half-written memory would notice */
};

static void object_aref(void *p)
{
    struct object *o = p;
    assert_true(atomic_fetch_add(&o->refs, 1) > 0);
}

static void object_aunref(void *p)
{
    struct object *o = p;
    if (atomic_fetch_sub(&o->refs, 1) != 1)
        return;
    o->a = o->b = 0;
    owl_free(o);
    atomic_fetch_add(&freed, 1);
}

static struct object *object_new(unsigned a)
{
    struct object *o = owl_malloc(sizeof(*o));
    atomic_init(&o->refs, 1);
    o->a = a;
    o->b = ~a;
    atomic_fetch_add(&made, 1);
    return o;
}

static unsigned number_of(const struct owl_pin *pin)
{
    return ((const struct object *)pin->object)->a;
}

TEST(a_pin_keeps_its_object_while_newer_ones_are_published, "")
{
    const struct owl_runtime_options o = {.reactors = 2, .workers = 1};
    struct owl_runtime *rt = runtime_new(&o); /* not started: any thread may act as the reactors */
    struct owl_reactor *r = owl_runtime_at(rt, 0);
    struct owl_cell *c = owl_cell_new(rt, object_new(1), object_aref, object_aunref);

    struct owl_pin *first = owl_cell_pin(c, r), *again = owl_cell_pin(c, r);
    assert_ptr_equal(first, again);
    struct owl_pin *elsewhere = owl_cell_pin(c, owl_runtime_at(rt, 1));
    assert_ptr_not_equal(first, elsewhere);
    owl_pin_release(elsewhere);

    owl_cell_publish(c, object_new(2));
    struct owl_pin *second = owl_cell_pin(c, r);
    assert_int_equal(number_of(first), 1);
    assert_int_equal(number_of(second), 2);
    owl_pin_release(again);
    assert_int_equal(atomic_load(&freed), 0);
    owl_pin_release(first); /* the other reactor still has it */
    assert_int_equal(atomic_load(&freed), 0);
    owl_pin_release(owl_cell_pin(c, owl_runtime_at(rt, 1)));
    assert_int_equal(atomic_load(&freed), 1);

    owl_pin_release(second);
    owl_cell_publish(c, object_new(3));
    struct object *got = owl_cell_get(c);
    assert_int_equal(got->a, 3);
    object_aunref(got);
    owl_cell_publish(c, object_new(4)); /* nobody has pinned the third */
    assert_int_equal(atomic_load(&freed), 2);

    struct owl_pin *kept = owl_cell_pin(c, r);
    runtime_end(owl_runtime_aref(rt));
    owl_cell_free(c);
    assert_int_equal(number_of(kept), 4);
    assert_int_equal(atomic_load(&freed), 3);
    owl_pin_release(kept);
    assert_int_equal(atomic_load(&freed), 4);
    owl_runtime_aunref(rt);
}

TEST(without_memory_there_is_no_pin, "")
{
    const struct owl_runtime_options o = {.reactors = 1, .workers = 1};
    struct owl_runtime *rt = runtime_new(&o);
    struct object *object = object_new(1);
    owl_alloc_fail_at(1);
    struct owl_cell *c = owl_cell_new(rt, object, object_aref, object_aunref);
    owl_alloc_fail_at(0);
    assert_null(c);
    c = owl_cell_new(rt, object, object_aref, object_aunref);
    owl_alloc_fail_at(1);
    struct owl_pin *pin = owl_cell_pin(c, owl_runtime_at(rt, 0));
    owl_alloc_fail_at(0);
    assert_null(pin);
    pin = owl_cell_pin(c, owl_runtime_at(rt, 0));
    assert_int_equal(number_of(pin), 1);
    owl_pin_release(pin);
    owl_cell_publish(c, object_new(2));
    owl_alloc_fail_at(1);
    pin = owl_cell_pin(c, owl_runtime_at(rt, 0)); /* not the outdated one either */
    owl_alloc_fail_at(0);
    assert_null(pin);
    runtime_end(rt);
    owl_cell_free(c);
    owl_cell_free(NULL);
    assert_int_equal(atomic_load(&freed), 2);
}

/* ---- under load ---- */

enum { READERS = 64, HOPS = 300, PUBLISHERS = 2, SWAPS = 400 };

struct reader {
    struct owl_msg msg;
    struct owl_cell *cell;
    struct owl_pin *held; /* across turns, as a call does */
    unsigned turns, last;
};

static struct flag readers_done;
static atomic_uint faults;

static void reader_run(struct owl_reactor *r, struct owl_msg *m)
{
    struct reader *x = OWL_CONTAINER(m, struct reader, msg);
    struct owl_pin *now = owl_cell_pin(x->cell, r);
    const struct object *o = now->object;
    if (o->b != ~o->a)
        atomic_fetch_add(&faults, 1);
    if (x->held) {
        o = x->held->object;
        if (o->b != ~o->a)
            atomic_fetch_add(&faults, 1);
    }
    if (x->turns % 7 == 0) {
        if (x->held)
            owl_pin_release(x->held);
        x->held = now;
    } else {
        owl_pin_release(now);
    }
    if (++x->turns < HOPS) {
        if (!owl_post(r, m))
            atomic_fetch_add(&faults, 1);
        return;
    }
    if (x->held)
        owl_pin_release(x->held);
    flag_raise(&readers_done);
}

static void *publisher_main(void *arg)
{
    struct owl_cell *c = arg;
    for (unsigned i = 0; i < SWAPS; i++) {
        owl_cell_publish(c, object_new(i));
        struct object *o = owl_cell_get(c);
        if (o->b != ~o->a)
            atomic_fetch_add(&faults, 1);
        object_aunref(o);
        if (i % 8 == 0)
            usleep(100);
    }
    return NULL;
}

TEST(publishing_under_load_frees_every_object_once, "")
{
    struct owl_runtime *rt = runtime_started(4);
    struct owl_cell *c = owl_cell_new(rt, object_new(0), object_aref, object_aunref);
    static struct reader readers[READERS];
    pthread_t publishers[PUBLISHERS];
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.msg.run = reader_run, .cell = c};
        assert_true(owl_post(owl_runtime_at(rt, i % 4), &readers[i].msg));
    }
    for (unsigned i = 0; i < PUBLISHERS; i++)
        assert_int_equal(pthread_create(&publishers[i], NULL, publisher_main, c), 0);
    for (unsigned i = 0; i < PUBLISHERS; i++)
        pthread_join(publishers[i], NULL);
    assert_true(flag_wait(&readers_done, READERS));
    runtime_end(rt);
    owl_cell_free(c);
    assert_int_equal(atomic_load(&faults), 0);
    assert_int_equal(atomic_load(&made), PUBLISHERS * SWAPS + 1);
    assert_int_equal(atomic_load(&freed), atomic_load(&made));
}

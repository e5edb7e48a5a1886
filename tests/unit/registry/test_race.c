/* One writer and several readers: meant for the thread sanitizer, true without it too. */
#include "unit/registry/fixture.h"

#include <pthread.h>

#include "base/block.h"

enum { KEYS = 30, ROUNDS = 400, READERS = 3 };

struct race {
    struct owl_registry *registry;
    atomic_bool stop;
    atomic_uint freed, walks, wrong;
};

static void count_race(void *data)
{
    atomic_fetch_add(&((struct race *)data)->freed, 1);
}

/* Pages through all of one snapshot; false if something does not add up. cmocka must not be called
 * from here: its asserts jump, and belong to the main thread. */
static bool walk(struct owl_snapshot *s, struct owl_buf *scratch)
{
    size_t items = 0;
    owl_str cursor = {0}, members;
    char copy[128];
    do {
        owl_buf_reset(scratch);
        if (owl_snapshot_page(s, &(struct owl_page){OWL_KIND_TOOL, OWL_REV_2026_07_28, cursor},
                              scratch, &members, NULL))
            return false;
        for (size_t i = 0; i + 8 < members.n; i++)
            items += memcmp(members.p + i, "{\"name\":", 8) == 0;
        cursor = page_cursor(members);
        if (cursor.p)
            cursor.p = memcpy(copy, cursor.p, cursor.n);
    } while (cursor.p);
    return items == owl_snapshot_count(s, OWL_KIND_TOOL);
}

static void *reader(void *arg)
{
    struct race *race = arg;
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    while (!atomic_load(&race->stop)) {
        struct owl_snapshot *s = owl_registry_snapshot(race->registry);
        struct owl_item *it = owl_snapshot_find(s, OWL_KIND_TOOL, OWL_STR("t1"));
        if (it)
            owl_item_aref(it); /* a call that outlives the snapshot */
        if (!walk(s, &scratch))
            atomic_fetch_add(&race->wrong, 1);
        owl_snapshot_aunref(s);
        if (it && !owl_str_is(it->key, "t1"))
            atomic_fetch_add(&race->wrong, 1);
        owl_item_aunref(it);
        atomic_fetch_add(&race->walks, 1);
    }
    owl_buf_done(&scratch);
    owl_thread_keep_nothing();
    return NULL;
}

TEST(readers_and_a_writer_do_not_disturb_each_other, "")
{
    struct race race = {.registry = owl_registry_new(7)};
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reader, &race), 0);

    unsigned made = 0;
    uint64_t state = 1;
    for (int i = 0; i < ROUNDS || atomic_load(&race.walks) < 10; i++) {
        char name[16];
        sprintf(name, "t%u", draw(&state, KEYS));
        if (draw(&state, 4) == 0) {
            int rc = owl_registry_remove(race.registry, OWL_KIND_TOOL, owl_str_of(name));
            assert_true(rc == 0 || rc == -OWL_ENOTFOUND);
        } else {
            owl_tool def = TOOL(name);
            def.data = &race;
            def.free_data = count_race;
            struct owl_item *it = NULL;
            assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
            assert_int_equal(owl_registry_put(race.registry, it), 0);
            made++;
        }
        struct owl_snapshot *s = owl_registry_snapshot(race.registry);
        assert_non_null(s);
        owl_snapshot_aunref(s);
    }
    atomic_store(&race.stop, true);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&race.wrong), 0);
    owl_registry_free(race.registry);
    assert_int_equal(atomic_load(&race.freed), made);
}

/* ---- parts ----------------------------------------------------------------------------------- */

enum { PARTS = 3, TOOLS = 12 };

struct parts_race {
    struct owl_registry *registry;
    struct test_provider providers[PARTS];
    atomic_bool stop;
    atomic_uint walks, wrong;
};

static void *part_reader(void *arg)
{
    struct parts_race *race = arg;
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    while (!atomic_load(&race->stop)) {
        struct owl_snapshot *s = owl_registry_snapshot(race->registry);
        struct owl_item *it = owl_snapshot_find(s, OWL_KIND_TOOL, OWL_STR("p0:t1"));
        if (it)
            owl_item_aref(it);
        struct owl_provider *method = owl_snapshot_method(s, OWL_STR("a/b"));
        if (method && method->name[0] != 'p')
            atomic_fetch_add(&race->wrong, 1);
        if (!walk(s, &scratch))
            atomic_fetch_add(&race->wrong, 1);
        owl_snapshot_aunref(s);
        if (it && (!owl_str_is(it->origin, "t1") || it->provider->name[0] != 'p'))
            atomic_fetch_add(&race->wrong, 1);
        owl_item_aunref(it);
        atomic_fetch_add(&race->walks, 1);
    }
    owl_buf_done(&scratch);
    owl_thread_keep_nothing();
    return NULL;
}

/* Offers some tools anew, some as they were. All providers have the same names. */
static void offer_some(struct parts_race *race, unsigned i, uint64_t *state)
{
    struct owl_provider *p = &race->providers[i].provider;
    struct owl_update *u = owl_update_new(race->registry, p);
    assert_non_null(u);
    for (unsigned k = 0; k < TOOLS; k++) {
        char name[16], fallback[16], registry_name[16];
        sprintf(name, "t%u", k);
        sprintf(fallback, "t%u_%u", k, i);
        sprintf(registry_name, "p%u:t%u", i, k);
        if (draw(state, 4) == 0)
            continue;
        assert_int_equal(owl_update_add_raw(
                             u, OWL_KIND_TOOL,
                             owl_str_of(raw_tool(name, draw(state, 3) ? "a" : "b").z),
                             &(struct owl_item_options){.fallback = owl_str_of(fallback),
                                                        .registry_name = owl_str_of(registry_name),
                                                        .provider = p},
                             NULL),
                         0);
    }
    if (draw(state, 2))
        assert_int_equal(owl_update_add_method(u, OWL_STR("a/b"), NULL), 0);
    assert_int_equal(owl_update_commit(u, draw(state, 3), NULL), 0);
    owl_update_free(u);
}

TEST(readers_see_whole_parts_while_they_are_replaced, "")
{
    struct parts_race race = {.registry = owl_registry_new(5)};
    for (int i = 0; i < PARTS; i++)
        test_provider_init(&race.providers[i], "p");
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, part_reader, &race), 0);
    uint64_t state = 1;
    for (int i = 0; i < 300 || atomic_load(&race.walks) < 10; i++) {
        unsigned which = draw(&state, PARTS);
        if (draw(&state, 5) == 0)
            OWL_IGNORE(owl_registry_remove_part(race.registry, &race.providers[which].provider,
                                                NULL)); /* it may have none */
        else
            offer_some(&race, which, &state);
    }
    atomic_store(&race.stop, true);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&race.wrong), 0);
    owl_registry_free(race.registry);
    for (int i = 0; i < PARTS; i++)
        assert_int_equal(atomic_load(&race.providers[i].provider._refs), 1);
}

/* ---- pages ----------------------------------------------------------------------------------- */

struct first {
    struct owl_snapshot *snapshot;
    pthread_barrier_t *start;
    const char *got;
};

static void *ask_first(void *arg)
{
    struct first *f = arg;
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    owl_str members = {0};
    pthread_barrier_wait(f->start);
    if (owl_snapshot_page(f->snapshot,
                          &(struct owl_page){OWL_KIND_TOOL, OWL_REV_2026_07_28, (owl_str){0}},
                          &scratch, &members, NULL) == 0)
        f->got = members.p;
    owl_buf_done(&scratch);
    return NULL;
}

TEST(page_asked_for_by_many_at_once_is_built_once, "")
{
    struct owl_registry *r = owl_registry_new(0);
    for (int i = 0; i < 200; i++) {
        char name[16];
        sprintf(name, "t%d", i);
        put_tool(r, name, NULL);
    }
    for (int round = 0; round < 50; round++) {
        put_tool(r, "t0", NULL); /* a new snapshot */
        pthread_barrier_t start;
        assert_int_equal(pthread_barrier_init(&start, NULL, READERS), 0);
        struct owl_snapshot *s = owl_registry_snapshot(r);
        pthread_t threads[READERS];
        struct first firsts[READERS];
        for (int i = 0; i < READERS; i++) {
            firsts[i] = (struct first){s, &start, NULL};
            assert_int_equal(pthread_create(&threads[i], NULL, ask_first, &firsts[i]), 0);
        }
        for (int i = 0; i < READERS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_non_null(firsts[0].got);
        for (int i = 1; i < READERS; i++)
            assert_ptr_equal(firsts[i].got, firsts[0].got);
        owl_snapshot_aunref(s);
        pthread_barrier_destroy(&start);
    }
    owl_registry_free(r);
}

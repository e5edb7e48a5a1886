/* The list that changes: places, snapshots of it, references, limits. */
#include "unit/registry/fixture.h"

#include "base/alloc.h"
#include "mcp/model.h"

static struct owl_item *find_tool(const struct owl_snapshot *s, const char *name)
{
    return owl_snapshot_find(s, OWL_KIND_TOOL, owl_str_of(name));
}

TEST(snapshot_shows_what_is_there, "OD-5.5.4")
{
    struct owl_registry *r = owl_registry_new(0);
    put_tool(r, "a", NULL);
    put_tool(r, "b", NULL);
    assert_int_equal(owl_registry_put(r, make_prompt("a")), 0);
    assert_int_equal(owl_registry_put(r, make_resource("db://a")), 0);
    assert_int_equal(owl_registry_put(r, make_resource("db://{x}/y")), 0);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), 2);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_PROMPT), 1);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_RESOURCE), 1);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TEMPLATE), 1);
    assert_str(find_tool(s, "b")->key, "b");
    assert_int_equal(find_tool(s, "a")->kind, OWL_KIND_TOOL);
    assert_null(find_tool(s, "c"));
    assert_null(find_tool(s, ""));
    assert_null(owl_snapshot_find(s, OWL_KIND_RESOURCE, OWL_STR("db://b")));
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(snapshot_is_the_same_while_nothing_changes, "OR-4.10 OD-5.5.1")
{
    struct owl_registry *r = owl_registry_new(0);
    struct owl_snapshot *empty = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_count(empty, OWL_KIND_TOOL), 0);
    put_tool(r, "a", NULL);
    struct owl_snapshot *one = owl_registry_snapshot(r);
    struct owl_snapshot *same = owl_registry_snapshot(r);
    assert_ptr_not_equal(one, empty);
    assert_ptr_equal(one, same);
    assert_int_equal(owl_registry_remove(r, OWL_KIND_TOOL, OWL_STR("b")), -OWL_ENOTFOUND);
    assert_int_equal(owl_registry_remove(r, OWL_KIND_PROMPT, OWL_STR("a")), -OWL_ENOTFOUND);
    struct owl_snapshot *still = owl_registry_snapshot(r);
    assert_ptr_equal(one, still);
    owl_snapshot_aunref(empty);
    owl_snapshot_aunref(one);
    owl_snapshot_aunref(same);
    owl_snapshot_aunref(still);
    owl_registry_free(r);
    owl_registry_free(NULL);
    owl_snapshot_aunref(NULL);
}

TEST(replacement_keeps_its_place, "")
{
    struct owl_registry *r = owl_registry_new(0);
    put_tool(r, "a", "1");
    put_tool(r, "b", "1");
    put_tool(r, "c", "1");
    struct owl_snapshot *before = owl_registry_snapshot(r);
    put_tool(r, "b", "2");
    struct owl_snapshot *after = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_count(after, OWL_KIND_TOOL), 3);
    assert_int_equal(find_tool(after, "b")->seq, find_tool(before, "b")->seq);
    assert_ptr_not_equal(find_tool(after, "b"), find_tool(before, "b"));
    assert_non_null(strstr(find_tool(after, "b")->json.p, "\"description\":\"2\""));
    assert_non_null(strstr(find_tool(before, "b")->json.p, "\"description\":\"1\""));
    assert_ptr_equal(find_tool(after, "c"), find_tool(before, "c"));
    owl_snapshot_aunref(before);
    owl_snapshot_aunref(after);
    owl_registry_free(r);
}

TEST(removed_and_added_again_goes_to_the_end, "")
{
    struct owl_registry *r = owl_registry_new(0);
    put_tool(r, "a", NULL);
    put_tool(r, "b", NULL);
    assert_int_equal(owl_registry_remove(r, OWL_KIND_TOOL, OWL_STR("a")), 0);
    put_tool(r, "a", NULL);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_true(find_tool(s, "a")->seq > find_tool(s, "b")->seq);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(same_item_put_twice_is_one, "")
{
    struct owl_registry *r = owl_registry_new(0);
    struct owl_item *it = make_tool("a", NULL);
    owl_item_aref(it);
    assert_int_equal(owl_registry_put(r, it), 0);
    assert_int_equal(owl_registry_put(r, it), 0);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_ptr_equal(find_tool(s, "a"), it);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(capabilities_once_declared_stay, "")
{
    struct owl_registry *r = owl_registry_new(0);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_caps(s), OWL_CAP_NONE);
    owl_snapshot_aunref(s);

    put_tool(r, "a", NULL);
    assert_int_equal(owl_registry_remove(r, OWL_KIND_TOOL, OWL_STR("a")), 0);
    s = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_caps(s), OWL_CAP_TOOLS);
    owl_snapshot_aunref(s);

    assert_int_equal(owl_registry_put(r, make_resource("db://{x}")), 0);
    s = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_caps(s), OWL_CAP_TOOLS | OWL_CAP_RESOURCES);
    owl_snapshot_aunref(s);

    owl_prompt def = PROMPT("p");
    def.complete = no_handler;
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_prompt(&def, &it, NULL), 0);
    assert_int_equal(owl_registry_put(r, it), 0);
    s = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_caps(s),
                     OWL_CAP_TOOLS | OWL_CAP_RESOURCES | OWL_CAP_PROMPTS | OWL_CAP_COMPLETIONS);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(plain_resource_declares_resources, "")
{
    struct owl_registry *r = owl_registry_new(0);
    assert_int_equal(owl_registry_put(r, make_resource("db://x")), 0);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_caps(s), OWL_CAP_RESOURCES);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(first_matching_template_wins, "")
{
    struct owl_registry *r = owl_registry_new(0);
    assert_int_equal(owl_registry_put(r, make_resource("db://t/{id}")), 0);
    assert_int_equal(owl_registry_put(r, make_resource("db://{table}/{id}")), 0);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    owl_str values[OWL_URI_VARS];
    assert_str(owl_snapshot_match(s, OWL_STR("db://t/7"), values)->key, "db://t/{id}");
    assert_str(values[0], "7");
    assert_str(owl_snapshot_match(s, OWL_STR("db://u/8"), values)->key, "db://{table}/{id}");
    assert_str(values[0], "u");
    assert_str(values[1], "8");
    assert_null(owl_snapshot_match(s, OWL_STR("file:///t/7"), values));
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

/* ---- ownership ------------------------------------------------------------------------------- */

static struct owl_item *make_counted(const char *name, unsigned *freed)
{
    owl_tool def = TOOL(name);
    def.data = freed;
    def.free_data = count_free;
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
    return it;
}

TEST(item_lives_until_registry_snapshots_and_calls_let_go, "")
{
    unsigned freed = 0;
    struct owl_registry *r = owl_registry_new(0);
    assert_int_equal(owl_registry_put(r, make_counted("a", &freed)), 0);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_item *running = owl_item_aref(find_tool(s, "a"));
    assert_int_equal(owl_registry_remove(r, OWL_KIND_TOOL, OWL_STR("a")), 0);
    assert_int_equal(freed, 0);
    owl_snapshot_aunref(s);
    assert_int_equal(freed, 0);
    owl_item_aunref(running);
    assert_int_equal(freed, 1);

    assert_int_equal(owl_registry_put(r, make_counted("a", &freed)), 0);
    owl_snapshot_aunref(owl_registry_snapshot(r));
    put_tool(r, "a", NULL); /* replaced */
    assert_int_equal(freed, 2);
    assert_int_equal(owl_registry_put(r, make_counted("a", &freed)), 0);
    s = owl_registry_snapshot(r);
    owl_registry_free(r);
    assert_int_equal(freed, 2);
    owl_snapshot_aunref(s);
    assert_int_equal(freed, 3);
}

static struct owl_registry *reentered;

static void reenter(void *data)
{
    (void)data;
    put_tool(reentered, "again", NULL);
    owl_snapshot_aunref(owl_registry_snapshot(reentered));
}

TEST(free_data_may_use_the_registry, "")
{
    reentered = owl_registry_new(0);
    owl_tool def = TOOL("a");
    def.free_data = reenter;
    for (int with_snapshot = 0; with_snapshot < 2; with_snapshot++) {
        struct owl_item *it = NULL;
        assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
        assert_int_equal(owl_registry_put(reentered, it), 0);
        if (with_snapshot)
            owl_snapshot_aunref(owl_registry_snapshot(reentered));
        assert_int_equal(owl_registry_remove(reentered, OWL_KIND_TOOL, OWL_STR("a")), 0);
        assert_int_equal(owl_registry_remove(reentered, OWL_KIND_TOOL, OWL_STR("again")), 0);
    }
    owl_registry_free(reentered);
}

/* ---- limits ---------------------------------------------------------------------------------- */

TEST(ten_thousand_items_are_added_and_found, "")
{
    enum { N = 10000 };
    char name[16];
    struct owl_registry *r = owl_registry_new(0);
    for (int i = 0; i < N; i++) {
        sprintf(name, "t%d", i);
        put_tool(r, name, NULL);
    }
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), N);
    for (int i = 0; i < N; i++) {
        sprintf(name, "t%d", i);
        assert_str(find_tool(s, name)->key, name);
    }
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(more_than_100000_items_are_refused, "")
{
    enum { MAX = 100000 };
    /* Bare items, which the test keeps: real ones would take 400 MB. */
    struct bare {
        struct owl_item item;
        char name[16];
    } *bare = owl_calloc(MAX, sizeof *bare);
    assert_non_null(bare);
    struct owl_registry *r = owl_registry_new(0);
    for (int i = 0; i < MAX; i++) {
        int n = sprintf(bare[i].name, "t%d", i);
        bare[i].item.key = (owl_str){bare[i].name, (size_t)n};
        atomic_init(&bare[i].item._refs, 2);
        assert_int_equal(owl_registry_put(r, &bare[i].item), 0);
    }
    struct owl_item *more = make_prompt("one-more");
    assert_int_equal(owl_registry_put(r, more), -OWL_ELIMIT);
    put_tool(r, "t5", "replacing is no addition");
    assert_int_equal(owl_registry_remove(r, OWL_KIND_TOOL, OWL_STR("t7")), 0);
    assert_int_equal(owl_registry_put(r, more), 0);
    owl_registry_free(r);
    for (int i = 0; i < MAX; i++)
        assert_int_equal(atomic_load(&bare[i].item._refs), 1);
    owl_free(bare);
}

/* ---- memory ---------------------------------------------------------------------------------- */

enum { OOM_ITEMS = 40 };

/* Puts many, replaces and removes some, and takes snapshots; stops where memory ends. */
static int scenario(struct owl_registry *r, struct owl_item **items)
{
    for (size_t i = 0; i < OOM_ITEMS; i++) {
        int rc = owl_registry_put(r, items[i]);
        if (rc)
            return rc;
        items[i] = NULL;
    }
    struct owl_snapshot *s = owl_registry_snapshot(r);
    if (!s)
        return -OWL_ENOMEM;
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), OOM_ITEMS - 1);
    owl_snapshot_aunref(s);
    int rc = owl_registry_remove(r, OWL_KIND_TOOL, OWL_STR("t3"));
    assert_int_equal(rc, 0);
    s = owl_registry_snapshot(r);
    if (!s)
        return -OWL_ENOMEM;
    assert_null(find_tool(s, "t3"));
    owl_snapshot_aunref(s);
    return 0;
}

TEST(without_memory_changes_fail_and_leave_what_was_there, "")
{
    int rc = -OWL_ENOMEM;
    unsigned long n;
    for (n = 1; rc; n++) {
        struct owl_item *items[OOM_ITEMS];
        for (int i = 0; i < OOM_ITEMS; i++) {
            char name[16];
            sprintf(name, "t%d", i == OOM_ITEMS - 1 ? 0 : i); /* the last one replaces */
            items[i] = make_tool(name, NULL);
        }
        owl_alloc_fail_at(n);
        struct owl_registry *r = owl_registry_new(0);
        rc = r ? scenario(r, items) : -OWL_ENOMEM;
        owl_alloc_fail_at(0);
        size_t left = 0;
        for (size_t i = 0; i < OOM_ITEMS; i++) {
            left += items[i] != NULL;
            owl_item_aunref(items[i]); /* refused ones are still ours */
        }
        if (r && left > 1) {
            struct owl_snapshot *s = owl_registry_snapshot(r);
            assert_non_null(s);
            assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), OOM_ITEMS - left);
            owl_snapshot_aunref(s);
        }
        owl_registry_free(r);
    }
    assert_true(n > 10);
}

/* ---- against a model ------------------------------------------------------------------------- */

enum { KEYS = 24 };

struct model {
    int order[KEYS]; /* keys that are there, in the order of the list */
    int version[KEYS];
    size_t n;
};

static void model_put(struct model *m, int key, int version)
{
    m->version[key] = version;
    for (size_t i = 0; i < m->n; i++) {
        if (m->order[i] == key)
            return;
    }
    m->order[m->n++] = key;
}

static bool model_remove(struct model *m, int key)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->order[i] != key)
            continue;
        m->n--;
        memmove(&m->order[i], &m->order[i + 1], (m->n - i) * sizeof m->order[0]);
        return true;
    }
    return false;
}

static void assert_shows(struct owl_snapshot *s, const struct model *m)
{
    struct owl_buf expected, scratch;
    owl_buf_init(&expected, SIZE_MAX);
    owl_buf_init(&scratch, SIZE_MAX);
    owl_buf_putz(&expected, "\"tools\":[");
    for (size_t i = 0; i < m->n; i++) {
        int key = m->order[i];
        owl_buf_printf(&expected,
                       "%s{\"name\":\"k%d\",\"description\":\"%d\",\"inputSchema\":"
                       "{\"type\":\"object\",\"additionalProperties\":false}}",
                       i ? "," : "", key, m->version[key]);
    }
    owl_buf_putz(&expected, "]");
    owl_str page;
    assert_int_equal(
        owl_snapshot_page(s, &(struct owl_page){OWL_KIND_TOOL, OWL_REV_2026_07_28, (owl_str){0}},
                          &scratch, &page, NULL),
        0);
    assert_int_equal(expected.rc, 0);
    assert_true(owl_str_eq(page, owl_buf_str(&expected)));
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), m->n);
    owl_buf_done(&expected);
    owl_buf_done(&scratch);
}

TEST(after_any_change_the_next_list_shows_it, "OD-P11 OD-5.5.1")
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t state = seed;
        struct model m = {.n = 0};
        struct owl_registry *r = owl_registry_new(0);
        struct owl_snapshot *old = owl_registry_snapshot(r);
        struct model then = m;
        for (int step = 0; step < 300; step++) {
            char name[16], version[16];
            int key = (int)draw(&state, KEYS);
            sprintf(name, "k%d", key);
            sprintf(version, "%d", step);
            if (draw(&state, 3) > 0) {
                put_tool(r, name, version);
                model_put(&m, key, step);
            } else {
                int rc = owl_registry_remove(r, OWL_KIND_TOOL, owl_str_of(name));
                assert_int_equal(rc, model_remove(&m, key) ? 0 : -OWL_ENOTFOUND);
            }
            if (draw(&state, 4) == 0)
                continue;             /* several changes between two lists */
            assert_shows(old, &then); /* what was taken before has not changed */
            owl_snapshot_aunref(old);
            old = owl_registry_snapshot(r);
            then = m;
            assert_shows(old, &m);
        }
        owl_snapshot_aunref(old);
        owl_registry_free(r);
    }
}

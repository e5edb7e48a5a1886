/* Parts of providers: order, what is kept when one is replaced, what else is declared, limits. */
#include "unit/registry/parts.h"

#include "base/alloc.h"

TEST(list_is_in_the_order_of_ranks_then_of_arrival, "")
{
    struct test_provider p, q, o;
    test_provider_init(&p, "p");
    test_provider_init(&q, "q");
    test_provider_init(&o, "o");
    struct owl_registry *r = owl_registry_new(0);
    offer(r, &p, 2, "ab");
    offer(r, &q, 1, "dc");
    put_tool(r, "x", NULL);
    assert_list(r, "xdcab");
    offer(r, &o, 2, "e");
    assert_list(r, "xdcabe");
    assert_int_equal(offer(r, &p, 3, "ab").changes, OWL_CHANGED_TOOLS); /* moved */
    assert_list(r, "xdceab");
    assert_int_equal(owl_registry_set_rank(r, NULL, 2), 0);
    assert_list(r, "dcxeab");
    assert_int_equal(owl_registry_set_rank(r, &q.provider, 9), 0);
    assert_list(r, "xeabdc");
    put_tool(r, "y", NULL);
    assert_list(r, "xyeabdc");
    unsigned changes = 0;
    assert_int_equal(owl_registry_remove_part(r, &p.provider, &changes), 0);
    assert_int_equal(changes, OWL_CHANGED_TOOLS);
    assert_list(r, "xyedc");
    assert_int_equal(owl_registry_remove_part(r, &p.provider, NULL), -OWL_ENOTFOUND);
    assert_int_equal(owl_registry_set_rank(r, &p.provider, 1), -OWL_ENOTFOUND);
    owl_registry_free(r);
    struct test_provider *all[] = {&p, &q, &o};
    for (size_t i = 0; i < 3; i++) {
        owl_provider_aunref(&all[i]->provider);
        assert_int_equal(all[i]->freed, 1);
    }
}

TEST(what_did_not_change_is_kept, "")
{
    struct test_provider p;
    test_provider_init(&p, "p");
    struct owl_registry *r = owl_registry_new(0);
    struct owl_update_result got = offer(r, &p, 1, "abc");
    assert_int_equal(got.built, 3);
    assert_int_equal(got.kept, 0);
    assert_int_equal(got.changes, OWL_CHANGED_TOOLS);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_item *a = find_tool(s, "a"), *b = find_tool(s, "b");

    got = offer(r, &p, 1, "abc");
    assert_int_equal(got.built, 0);
    assert_int_equal(got.kept, 3);
    assert_int_equal(got.changes, 0);
    struct owl_snapshot *same = owl_registry_snapshot(r);
    assert_ptr_equal(same, s); /* nor is there a new snapshot */
    owl_snapshot_aunref(same);

    struct owl_update *u = begin(r, &p);
    struct owl_item_options o = {.provider = &p.provider};
    add_tool(u, "c", "p", &o);
    add_tool(u, "a", "p", &o);
    add_tool(u, "b", "another", &o);
    got = commit(u, 1);
    assert_int_equal(got.built, 1);
    assert_int_equal(got.kept, 2);
    assert_int_equal(got.changes, OWL_CHANGED_TOOLS);
    struct owl_snapshot *next = owl_registry_snapshot(r);
    assert_ptr_equal(find_tool(next, "a"), a);
    assert_ptr_not_equal(find_tool(next, "b"), b);
    assert_ptr_equal(find_tool(s, "b"), b); /* for those who still have the old one */
    assert_list(r, "cab");
    owl_snapshot_aunref(s);
    owl_snapshot_aunref(next);
    owl_registry_free(r);
}

TEST(changes_tell_which_lists_differ, "")
{
    struct test_provider p;
    test_provider_init(&p, "p");
    struct owl_registry *r = owl_registry_new(0);
    struct owl_item_options o = {.provider = &p.provider};
    const owl_str prompt = OWL_STR("{\"name\":\"p\"}");
    const owl_str resource = OWL_STR("{\"uri\":\"a:b\",\"name\":\"n\"}");
    struct owl_update *u = begin(r, &p);
    add_tool(u, "a", "d", &o);
    assert_int_equal(owl_update_add_raw(u, OWL_KIND_PROMPT, prompt, &o, NULL), 0);
    assert_int_equal(owl_update_add_raw(u, OWL_KIND_RESOURCE, resource, &o, NULL), 0);
    assert_int_equal(commit(u, 1).changes,
                     OWL_CHANGED_TOOLS | OWL_CHANGED_PROMPTS | OWL_CHANGED_RESOURCES);
    u = begin(r, &p);
    assert_int_equal(owl_update_add_raw(u, OWL_KIND_PROMPT, prompt, &o, NULL), 0);
    add_tool(u, "a", "d", &o);
    assert_int_equal(commit(u, 1).changes, OWL_CHANGED_RESOURCES);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_caps(s), OWL_CAP_TOOLS | OWL_CAP_PROMPTS | OWL_CAP_RESOURCES);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(replacing_one_part_of_many_touches_only_it, "")
{
    enum { PARTS = 100, EACH = 100 };
    struct test_provider *p = owl_calloc(PARTS, sizeof *p);
    struct owl_registry *r = owl_registry_new(0);
    size_t built = 0;
    for (int round = 0; round < 2; round++) { /* the second changes one tool of one part */
        struct owl_snapshot *before = owl_registry_snapshot(r);
        for (int i = 0; i < PARTS; i++) {
            if (round == 0)
                test_provider_init(&p[i], "p");
            struct owl_update *u = begin(r, &p[i]);
            for (int k = 0; k < EACH; k++) {
                char name[32];
                sprintf(name, "p%d__t%d", i, k);
                add_tool(u, name, round == 1 && i == 7 && k == 9 ? "changed" : "d",
                         &(struct owl_item_options){.provider = &p[i].provider});
            }
            built += commit(u, (unsigned)i + 1).built;
        }
        struct owl_snapshot *after = owl_registry_snapshot(r);
        assert_int_equal(owl_snapshot_count(after, OWL_KIND_TOOL), PARTS * EACH);
        assert_int_equal(built, PARTS * EACH + round);
        for (size_t i = 0; round == 1 && i < after->n_parts; i++)
            assert_int_equal(after->parts[i] == before->parts[i], i != 8); /* 0: the program's */
        assert_str(find_tool(after, "p99__t99")->key, "p99__t99");
        owl_snapshot_aunref(before);
        owl_snapshot_aunref(after);
    }
    owl_registry_free(r);
    for (int i = 0; i < PARTS; i++)
        assert_int_equal(atomic_load(&p[i].provider._refs), 1);
    owl_free(p);
}

TEST(update_of_a_part_that_was_replaced_meanwhile_is_refused, "")
{
    struct test_provider p;
    test_provider_init(&p, "p");
    struct owl_registry *r = owl_registry_new(0);
    struct owl_update *late = begin(r, &p);
    offer(r, &p, 1, "a");
    assert_int_equal(owl_update_commit(late, 1, NULL), -OWL_ESTATE);
    owl_update_free(late);
    late = begin(r, &p);
    assert_int_equal(owl_registry_remove_part(r, &p.provider, NULL), 0);
    assert_int_equal(owl_update_commit(late, 1, NULL), -OWL_ESTATE); /* it stays removed */
    assert_list(r, "");
    owl_update_free(late);
    owl_update_free(NULL);
    owl_registry_free(r);
}

TEST(one_name_is_taken_once_a_kind, "")
{
    struct test_provider p;
    test_provider_init(&p, "p");
    struct owl_registry *r = owl_registry_new(0);
    struct owl_update *u = begin(r, &p);
    struct owl_item_options o = {.provider = &p.provider}, other = o;
    other.key = OWL_STR("b");
    add_tool(u, "a", "first", &o);
    owl_error e = {0};
    assert_int_equal(
        owl_update_add_raw(u, OWL_KIND_TOOL, owl_str_of(raw_tool("a", "second").z), &other, &e),
        -OWL_EEXISTS);
    assert_non_null(strstr(e.message, "\"a\" is listed twice"));
    assert_int_equal(owl_update_add_raw(u, OWL_KIND_TOOL, OWL_STR("{}"), &o, &e), -OWL_EINVAL);
    assert_int_equal(owl_update_add_raw(u, OWL_KIND_PROMPT, OWL_STR("{\"name\":\"a\"}"), &o, NULL),
                     0);
    commit(u, 1);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_non_null(strstr(find_tool(s, "a")->json.p, "first"));
    assert_null(find_tool(s, "b"));
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(ready_items_replace_a_part_too, "")
{
    struct test_provider p;
    test_provider_init(&p, "p");
    struct owl_registry *r = owl_registry_new(0);
    struct owl_item *items[] = {make_tool("a", NULL), make_tool("b", NULL), make_tool("b", NULL)};
    struct owl_update_result got;
    assert_int_equal(owl_registry_replace_part(r, &p.provider, 1, items, 3, &got), -OWL_EEXISTS);
    assert_list(r, "");
    assert_int_equal(owl_registry_replace_part(r, &p.provider, 1, items, 2, &got), 0);
    assert_list(r, "ab");
    assert_int_equal(owl_registry_replace_part(r, &p.provider, 1, items + 1, 1, &got), 0);
    assert_list(r, "b");
    assert_int_equal(got.kept, 1);
    assert_int_equal(owl_registry_replace_part(r, &p.provider, 1, NULL, 0, NULL), 0);
    assert_list(r, "");
    for (size_t i = 0; i < 3; i++) {
        owl_item_aunref(items[i]);
    }
    owl_registry_free(r);
}

/* ---- methods, extensions, capabilities ------------------------------------------------------- */

TEST(methods_and_extensions_of_providers_are_in_the_snapshot, "")
{
    struct test_provider p, q;
    test_provider_init(&p, "p");
    test_provider_init(&q, "q");
    struct owl_registry *r = owl_registry_new(0);
    struct owl_update *u = begin(r, &p);
    assert_int_equal(owl_update_add_method(u, OWL_STR("skills/list"), NULL), 0);
    assert_int_equal(owl_update_add_method(u, OWL_STR("skills/get"), NULL), 0);
    assert_int_equal(
        owl_update_add_extension(u, OWL_STR("a.b/skills"), OWL_STR("{ \"x\": 1 }"), NULL), 0);
    assert_int_equal(commit(u, 2).changes, 0);
    u = begin(r, &q);
    assert_int_equal(owl_update_add_method(u, OWL_STR("skills/get"), NULL), 0);
    assert_int_equal(owl_update_add_extension(u, OWL_STR("a.b/ui"), OWL_STR("{}"), NULL), 0);
    assert_int_equal(owl_update_add_extension(u, OWL_STR("a.b/skills"), OWL_STR("{}"), NULL), 0);
    commit(u, 1);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_ptr_equal(owl_snapshot_method(s, OWL_STR("skills/list")), &p.provider);
    assert_ptr_equal(owl_snapshot_method(s, OWL_STR("skills/get")), &q.provider);
    assert_null(owl_snapshot_method(s, OWL_STR("skills")));
    assert_str(owl_snapshot_extension(s, 0)->id, "a.b/ui");
    assert_str(owl_snapshot_extension(s, 1)->id, "a.b/skills");
    assert_str(owl_snapshot_extension(s, 1)->settings, "{}");
    assert_null(owl_snapshot_extension(s, 2));

    u = begin(r, &q); /* the same again is no change; less is one */
    assert_int_equal(owl_update_add_method(u, OWL_STR("skills/get"), NULL), 0);
    assert_int_equal(owl_update_add_extension(u, OWL_STR("a.b/ui"), OWL_STR(" {}"), NULL), 0);
    assert_int_equal(owl_update_add_extension(u, OWL_STR("a.b/skills"), OWL_STR("{}"), NULL), 0);
    commit(u, 1);
    struct owl_snapshot *same = owl_registry_snapshot(r);
    assert_ptr_equal(same, s);
    owl_snapshot_aunref(same);
    commit(begin(r, &q), 1);
    owl_snapshot_aunref(s);
    s = owl_registry_snapshot(r);
    assert_ptr_equal(owl_snapshot_method(s, OWL_STR("skills/get")), &p.provider);
    assert_str(owl_snapshot_extension(s, 0)->settings, "{\"x\":1}");
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(malformed_declarations_are_refused, "")
{
    struct test_provider p;
    test_provider_init(&p, "p");
    struct owl_registry *r = owl_registry_new(0);
    struct owl_update *u = begin(r, &p);
    static char big[70000];
    memset(big, ' ', sizeof big);
    memcpy(big, "{\"a\":\"", 6);
    memset(big + 6, 'x', sizeof big - 8);
    memcpy(big + sizeof big - 2, "\"}", 2);
    owl_error e = {0};
    assert_int_equal(owl_update_add_method(u, OWL_STR(""), &e), -OWL_EINVAL);
    assert_int_equal(owl_update_add_method(u, (owl_str){big, 257}, &e), -OWL_EINVAL);
    assert_int_equal(owl_update_add_method(u, OWL_STR("\xff"), &e), -OWL_EINVAL);
    assert_int_equal(owl_update_add_extension(u, OWL_STR("noprefix"), OWL_STR("{}"), &e),
                     -OWL_EINVAL);
    assert_int_equal(owl_update_add_extension(u, OWL_STR("a/b"), OWL_STR("[]"), &e), -OWL_EINVAL);
    assert_int_equal(owl_update_add_extension(u, OWL_STR("a/b"), OWL_STR("{"), &e), -OWL_EINVAL);
    assert_int_equal(owl_update_add_extension(u, OWL_STR("a/b"), (owl_str){big, sizeof big}, &e),
                     -OWL_ELIMIT);
    for (int i = 0; i < 256; i++) {
        char name[16];
        sprintf(name, "m/%d", i);
        assert_int_equal(owl_update_add_method(u, owl_str_of(name), &e), 0);
        assert_int_equal(owl_update_add_extension(u, owl_str_of(name), OWL_STR("{}"), &e), 0);
    }
    assert_int_equal(owl_update_add_method(u, OWL_STR("m/0"), &e), -OWL_EEXISTS);
    assert_int_equal(owl_update_add_extension(u, OWL_STR("m/0"), OWL_STR("{}"), &e), -OWL_EEXISTS);
    assert_int_equal(owl_update_add_method(u, OWL_STR("m/256"), &e), -OWL_ELIMIT);
    assert_int_equal(owl_update_add_extension(u, OWL_STR("m/256"), OWL_STR("{}"), &e), -OWL_ELIMIT);
    commit(u, 1);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_str(owl_snapshot_extension(s, 255)->id, "m/255");
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(capabilities_may_be_declared_before_there_is_an_item, "")
{
    struct owl_registry *r = owl_registry_new(0);
    struct owl_snapshot *empty = owl_registry_snapshot(r);
    owl_registry_declare(r, OWL_CAP_RESOURCES | OWL_CAP_COMPLETIONS);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_caps(s), OWL_CAP_RESOURCES | OWL_CAP_COMPLETIONS);
    assert_int_equal(owl_snapshot_caps(empty), OWL_CAP_NONE);
    owl_registry_declare(r, OWL_CAP_RESOURCES); /* known already */
    struct owl_snapshot *same = owl_registry_snapshot(r);
    assert_ptr_equal(same, s);
    owl_snapshot_aunref(empty);
    owl_snapshot_aunref(same);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

/* ---- limits, memory -------------------------------------------------------------------------- */

TEST(parts_count_for_the_limit_of_items, "")
{
    enum { MAX = 100000 };
    /* Bare items, which the test keeps: real ones would take 400 MB. */
    struct bare {
        struct owl_item item;
        char name[16];
    } *bare = owl_calloc(MAX, sizeof *bare);
    struct owl_item **items = owl_calloc(MAX, sizeof(struct owl_item *));
    for (int i = 0; i < MAX; i++) {
        int n = sprintf(bare[i].name, "t%d", i);
        bare[i].item.key = bare[i].item.origin = (owl_str){bare[i].name, (size_t)n};
        atomic_init(&bare[i].item._refs, 1);
        items[i] = &bare[i].item;
    }
    struct test_provider p, q;
    test_provider_init(&p, "p");
    test_provider_init(&q, "q");
    struct owl_registry *r = owl_registry_new(0);
    put_tool(r, "one", NULL);
    assert_int_equal(owl_registry_replace_part(r, &p.provider, 1, items, MAX, NULL), -OWL_ELIMIT);
    assert_int_equal(owl_registry_replace_part(r, &p.provider, 1, items, MAX - 1, NULL), 0);
    assert_int_equal(owl_registry_replace_part(r, &q.provider, 1, items, 1, NULL), -OWL_ELIMIT);
    struct owl_item *two = make_tool("two", NULL);
    assert_int_equal(owl_registry_put(r, two), -OWL_ELIMIT);
    assert_int_equal(owl_registry_replace_part(r, &p.provider, 1, items, MAX - 2, NULL), 0);
    assert_int_equal(owl_registry_put(r, two), 0);
    assert_int_equal(owl_registry_remove_part(r, &p.provider, NULL), 0);
    assert_int_equal(owl_registry_replace_part(r, &q.provider, 1, items, MAX - 2, NULL), 0);
    owl_registry_free(r);
    owl_free(items);
    owl_free(bare);
}

TEST(more_than_10000_parts_are_refused, "")
{
    enum { MAX = 10000 };
    struct test_provider *p = owl_calloc(MAX + 1, sizeof *p);
    assert_non_null(p);
    struct owl_registry *r = owl_registry_new(0);
    for (int i = 0; i <= MAX; i++) {
        test_provider_init(&p[i], "p");
        assert_int_equal(owl_registry_replace_part(r, &p[i].provider, 1, NULL, 0, NULL),
                         i < MAX ? 0 : -OWL_ELIMIT);
    }
    assert_int_equal(owl_registry_remove_part(r, &p[5].provider, NULL), 0);
    assert_int_equal(owl_registry_replace_part(r, &p[MAX].provider, 1, NULL, 0, NULL), 0);
    owl_registry_free(r);
    owl_free(p);
}

/* A first part, another one of the same provider, and a snapshot; stops where memory ends. */
static int scenario(struct owl_registry *r, struct test_provider *p)
{
    int rc = 0;
    for (int round = 0; rc == 0 && round < 2; round++) {
        struct owl_update *u = owl_update_new(r, &p->provider);
        if (!u)
            return -OWL_ENOMEM;
        for (int i = round; rc == 0 && i < 20; i++) {
            char name[16];
            sprintf(name, "t%d", i);
            rc = owl_update_add_raw(u, OWL_KIND_TOOL, owl_str_of(raw_tool(name, "d").z),
                                    &(struct owl_item_options){.provider = &p->provider}, NULL);
        }
        if (rc == 0)
            rc = owl_update_add_method(u, OWL_STR("a/b"), NULL);
        if (rc == 0)
            rc = owl_update_add_extension(u, OWL_STR("a/b"), OWL_STR("{}"), NULL);
        if (rc == 0)
            rc = owl_update_commit(u, (unsigned)round, NULL);
        owl_update_free(u);
        struct owl_snapshot *s = rc == 0 ? owl_registry_snapshot(r) : NULL;
        if (rc == 0 && !s)
            rc = -OWL_ENOMEM;
        if (s)
            assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), 20 - round);
        owl_snapshot_aunref(s);
    }
    return rc;
}

TEST(without_memory_a_part_stays_as_it_was, "")
{
    struct test_provider p;
    test_provider_init(&p, "p");
    int rc = -OWL_ENOMEM;
    unsigned long n;
    for (n = 1; rc; n++) {
        owl_alloc_fail_at(n);
        struct owl_registry *r = owl_registry_new(0);
        rc = r ? scenario(r, &p) : -OWL_ENOMEM;
        owl_alloc_fail_at(0);
        assert_true(rc == 0 || rc == -OWL_ENOMEM);
        if (r) {
            struct owl_snapshot *s = owl_registry_snapshot(r);
            size_t tools = owl_snapshot_count(s, OWL_KIND_TOOL);
            assert_true(tools == 0 || tools == 19 || tools == 20);
            assert_int_equal(owl_snapshot_method(s, OWL_STR("a/b")) != NULL, tools > 0);
            owl_snapshot_aunref(s);
        }
        owl_registry_free(r);
        assert_int_equal(atomic_load(&p.provider._refs), 1);
    }
    assert_true(n > 50);
}

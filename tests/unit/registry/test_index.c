/* Names of items over several parts: what leads where, what is listed as what. */
#include "unit/registry/parts.h"

#include "registry/names.h"

TEST(every_name_of_an_item_leads_to_it, "")
{
    struct test_provider p;
    test_provider_init(&p, "gh");
    struct owl_registry *r = owl_registry_new(0);
    struct owl_update *u = begin(r, &p);
    owl_str aliases[] = {OWL_STR("find"), OWL_STR("look")};
    add_tool(u, "s", "d",
             &(struct owl_item_options){.key = OWL_STR("gh__s"),
                                        .fallback = OWL_STR("gh__s_1234"),
                                        .registry_name = OWL_STR("gh:s"),
                                        .aliases = aliases,
                                        .n_aliases = 2,
                                        .provider = &p.provider});
    commit(u, 1);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_item *it = find_tool(s, "gh__s");
    assert_non_null(it);
    static const char *const names[] = {"gh__s_1234", "gh:s", "find", "look"};
    for (size_t i = 0; i < OWL_COUNT(names); i++)
        assert_ptr_equal(find_tool(s, names[i]), it);
    assert_null(find_tool(s, "s"));
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), 1);
    assert_str(owl_snapshot_name(s, it), "gh__s");
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(lower_rank_has_the_name_and_a_key_stands_over_an_alias, "")
{
    struct test_provider p, q;
    test_provider_init(&p, "p");
    test_provider_init(&q, "q");
    struct owl_registry *r = owl_registry_new(0);
    owl_str alias = OWL_STR("read");
    struct owl_update *u = begin(r, &p);
    add_tool(
        u, "a", "d",
        &(struct owl_item_options){.aliases = &alias, .n_aliases = 1, .provider = &p.provider});
    add_tool(u, "same", "d", &(struct owl_item_options){.provider = &p.provider});
    commit(u, 2);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_str(find_tool(s, "read")->key, "a");
    owl_snapshot_aunref(s);

    u = begin(r, &q);
    add_tool(u, "read", "d", &(struct owl_item_options){.provider = &q.provider});
    add_tool(u, "same", "d", &(struct owl_item_options){.provider = &q.provider});
    commit(u, 3);
    s = owl_registry_snapshot(r);
    assert_str(find_tool(s, "read")->key, "read"); /* listed under it, hence called by it */
    assert_ptr_equal(find_tool(s, "same")->provider, &p.provider);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), 3);
    owl_snapshot_aunref(s);

    assert_int_equal(owl_registry_set_rank(r, &q.provider, 1), 0);
    s = owl_registry_snapshot(r);
    assert_ptr_equal(find_tool(s, "same")->provider, &q.provider);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(item_whose_key_is_taken_is_listed_under_its_fallback, "")
{
    struct test_provider p, q;
    test_provider_init(&p, "p");
    test_provider_init(&q, "q");
    struct test_provider *both[] = {&p, &q};
    struct owl_registry *r = owl_registry_new(0);
    const owl_str entry = OWL_STR("{\"name\":\"N\",\"uriTemplate\":\"db://{t}\"}");
    for (unsigned i = 0; i < 2; i++) {
        const char *name = both[i]->provider.name;
        char tool[16], uri[32];
        sprintf(tool, "read_%s", name);
        sprintf(uri, "%s+db://{t}", name);
        struct owl_update *u = begin(r, both[i]);
        assert_int_equal(
            owl_update_add_raw(u, OWL_KIND_TOOL,
                               OWL_STR("{\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{},"
                                       "\"name\":\"read\",\"x\":1}"),
                               &(struct owl_item_options){.fallback = owl_str_of(tool),
                                                          .provider = &both[i]->provider},
                               NULL),
            0);
        assert_int_equal(
            owl_update_add_raw(u, OWL_KIND_TEMPLATE, entry,
                               &(struct owl_item_options){.fallback = owl_str_of(uri),
                                                          .provider = &both[i]->provider},
                               NULL),
            0);
        commit(u, i + 1);
    }
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_buf none;
    owl_buf_init(&none, 1);
    owl_str page;
    assert_int_equal(
        owl_snapshot_page(s, &(struct owl_page){OWL_KIND_TOOL, OWL_REV_2024_11_05, (owl_str){0}},
                          &none, &page, NULL),
        0);
    assert_str(page, "\"tools\":[{\"name\":\"read\",\"inputSchema\":{\"type\":\"object\"},\"x\":1},"
                     "{\"name\":\"read_q\",\"inputSchema\":{\"type\":\"object\"},\"x\":1}]");
    assert_int_equal(owl_snapshot_page(
                         s, &(struct owl_page){OWL_KIND_TEMPLATE, OWL_REV_2026_07_28, (owl_str){0}},
                         &none, &page, NULL),
                     0);
    assert_str(page, "\"resourceTemplates\":[{\"uriTemplate\":\"db://{t}\",\"name\":\"N\"},"
                     "{\"uriTemplate\":\"q+db://{t}\",\"name\":\"N\"}]");
    assert_str(owl_snapshot_name(s, find_tool(s, "read_q")), "read_q");
    assert_ptr_equal(find_tool(s, "read")->provider, &p.provider);
    assert_ptr_equal(find_tool(s, "read_p")->provider, &p.provider); /* always accepted */
    owl_str values[OWL_URI_VARS];
    assert_ptr_equal(owl_snapshot_match(s, OWL_STR("db://7"), values)->provider, &p.provider);
    assert_ptr_equal(owl_snapshot_match(s, OWL_STR("p+db://7"), values)->provider, &p.provider);
    assert_ptr_equal(owl_snapshot_match(s, OWL_STR("q+db://7"), values)->provider, &q.provider);
    assert_str(values[0], "7");
    owl_snapshot_aunref(s);

    assert_int_equal(owl_registry_remove_part(r, &p.provider, NULL), 0);
    s = owl_registry_snapshot(r);
    assert_ptr_equal(find_tool(s, "read")->provider, &q.provider);
    assert_str(owl_snapshot_name(s, find_tool(s, "read_q")), "read");
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(item_that_is_not_listed_is_found_by_its_registry_name, "")
{
    struct test_provider p;
    test_provider_init(&p, "p");
    struct owl_registry *r = owl_registry_new(0);
    put_tool(r, "read", NULL);
    put_tool(r, "p__read", NULL);
    struct owl_update *u = begin(r, &p);
    add_tool(u, "read", "d",
             &(struct owl_item_options){.fallback = OWL_STR("p__read"),
                                        .registry_name = OWL_STR("p:read"),
                                        .provider = &p.provider});
    commit(u, 1);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), 2);
    struct owl_item *it = find_tool(s, "p:read");
    assert_ptr_equal(it->provider, &p.provider);
    assert_null(owl_snapshot_name(s, it).p);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

/* Servers and tools of few letters meet in one wire name often, the more so without a prefix. */
TEST(two_tools_never_share_a_wire_name, "")
{
    enum { SERVERS = 6 };
    static const char *const words[] = {"a", "b", "a_", "_b", "a__b", "a.b", "a b", "__"};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        uint64_t state = seed;
        struct test_provider p[SERVERS];
        struct owl_registry *r = owl_registry_new(0);
        size_t total = 0;
        for (unsigned i = 0; i < SERVERS; i++) {
            test_provider_init(&p[i], words[i]);
            struct owl_update *u = begin(r, &p[i]);
            bool prefix = draw(&state, 3) > 0;
            owl_str server = owl_str_of(words[i]);
            for (unsigned left = draw(&state, 6); left > 0; left--) {
                const char *tool = words[draw(&state, OWL_COUNT(words))];
                struct owl_name_parts parts = {server, prefix ? server : (owl_str){0},
                                               OWL_STR("__"), owl_str_of(tool)};
                struct owl_wire_name wire, distinct;
                char name[32];
                sprintf(name, "%s:%s", words[i], tool);
                assert_int_equal(owl_name_wire(&parts, &wire, NULL), 0);
                assert_int_equal(owl_name_distinct(&parts, &distinct, NULL), 0);
                struct owl_item_options o = {.key = owl_str_of(wire.z),
                                             .fallback = owl_str_of(distinct.z),
                                             .registry_name = owl_str_of(name),
                                             .provider = &p[i].provider};
                int rc = owl_update_add_raw(u, OWL_KIND_TOOL, owl_str_of(raw_tool(tool, "d").z), &o,
                                            NULL);
                assert_true(rc == 0 || rc == -OWL_EEXISTS);
                total += rc == 0;
            }
            commit(u, draw(&state, 4));
        }
        struct owl_snapshot *s = owl_registry_snapshot(r);
        const struct owl_index *x = &s->kinds[OWL_KIND_TOOL];
        assert_int_equal(x->n, total); /* all are listed */
        for (size_t i = 0; i < x->n; i++) {
            struct owl_item *it = x->items[i].item;
            owl_str shown = owl_snapshot_name(s, it);
            assert_true(owl_str_eq(shown, x->items[i].shown == OWL_SHOWN ? it->key : it->fallback));
            assert_ptr_equal(owl_snapshot_find(s, OWL_KIND_TOOL, shown), it);
            assert_ptr_equal(owl_snapshot_find(s, OWL_KIND_TOOL, it->registry_name), it);
        }
        owl_snapshot_aunref(s);
        owl_registry_free(r);
    }
}

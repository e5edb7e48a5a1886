/* unit/registry/parts.h - providers and their parts, for the tests of this layer. */
#ifndef OWL_TEST_REGISTRY_PARTS_H
#define OWL_TEST_REGISTRY_PARTS_H

#include "registry/snapshot.h"
#include "unit/registry/fixture.h"

static inline struct owl_item *find_tool(const struct owl_snapshot *s, const char *name)
{
    return owl_snapshot_find(s, OWL_KIND_TOOL, owl_str_of(name));
}

static inline void add_tool(struct owl_update *u, const char *name, const char *description,
                            const struct owl_item_options *o)
{
    owl_error e = {0};
    if (owl_update_add_raw(u, OWL_KIND_TOOL, owl_str_of(raw_tool(name, description).z), o, &e))
        fail_msg("%s", e.message);
}

static inline struct owl_update *begin(struct owl_registry *r, struct test_provider *p)
{
    struct owl_update *u = owl_update_new(r, &p->provider);
    assert_non_null(u);
    return u;
}

static inline struct owl_update_result commit(struct owl_update *u, unsigned rank)
{
    struct owl_update_result result = {.changes = 99};
    assert_int_equal(owl_update_commit(u, rank, &result), 0);
    owl_update_free(u);
    return result;
}

/* Tools with the names that the letters of @p names are. */
static inline struct owl_update_result offer(struct owl_registry *r, struct test_provider *p,
                                             unsigned rank, const char *names)
{
    struct owl_update *u = begin(r, p);
    for (; *names; names++) {
        const char name[] = {*names, '\0'};
        add_tool(u, name, p->provider.name, &(struct owl_item_options){.provider = &p->provider});
    }
    return commit(u, rank);
}

/* The names of the listed tools, which have one letter each. */
static inline void assert_list(struct owl_registry *r, const char *names)
{
    struct owl_snapshot *s = owl_registry_snapshot(r);
    const struct owl_index *x = &s->kinds[OWL_KIND_TOOL];
    char got[64];
    assert_true(x->n < sizeof got);
    for (size_t i = 0; i < x->n; i++)
        got[i] = x->items[i].item->key.p[0];
    got[x->n] = '\0';
    assert_string_equal(got, names);
    owl_snapshot_aunref(s);
}

#endif

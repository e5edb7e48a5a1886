/* The index over several parts: order, precedence, references. */
#include "unit/registry/fixture.h"

#include "base/alloc.h"
#include "registry/snapshot.h"

/* A part of its own, which holds the only reference to its item or two. */
static struct owl_part *part_of(struct owl_item *a, struct owl_item *b)
{
    struct owl_part *p = owl_part__new(NULL, 2);
    assert_non_null(p);
    owl_part__add(p, a, 1);
    owl_item_aunref(a);
    if (b) {
        owl_part__add(p, b, 2);
        owl_item_aunref(b);
    }
    return p;
}

TEST(parts_are_listed_one_after_the_other, "")
{
    struct owl_ranked parts[] = {{part_of(make_tool("a", NULL), make_tool("b", NULL)), 3, 7, NULL},
                                 {part_of(make_tool("c", NULL), make_prompt("c")), 3, 8, NULL},
                                 {part_of(make_prompt("d"), NULL), 4, 1, NULL},
                                 {part_of(make_tool("d", NULL), make_tool("e", NULL)), 9, 2, NULL}};
    struct owl_snapshot *s = owl_snapshot__new(parts, 4, 0, 2);
    assert_non_null(s);
    const struct owl_index *x = &s->kinds[OWL_KIND_TOOL];
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), 5);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_PROMPT), 2);
    assert_int_equal(x->n_runs, 3);
    assert_int_equal(x->runs[2].from, 3);
    assert_int_equal(x->runs[2].rank, 9);
    for (size_t i = 0; i < 5; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        assert_str(x->items[i].item->key, name);
        assert_ptr_equal(owl_snapshot_find(s, OWL_KIND_TOOL, owl_str_of(name)), x->items[i].item);
    }
    for (size_t i = 0; i < 4; i++)
        owl_part__aunref(parts[i].part);
    assert_str(owl_snapshot_find(s, OWL_KIND_TOOL, OWL_STR("e"))->key, "e");
    owl_snapshot_aunref(s);
}

TEST(part_that_comes_first_wins_a_name, "")
{
    struct owl_ranked parts[] = {{part_of(make_tool("x", NULL), NULL), 0, 0, NULL},
                                 {part_of(make_tool("x", NULL), make_tool("y", NULL)), 0, 1, NULL}};
    struct owl_snapshot *s = owl_snapshot__new(parts, 2, 0, 10);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), 2);
    struct owl_item *first = parts[0].part->items[0].item;
    assert_ptr_equal(owl_snapshot_find(s, OWL_KIND_TOOL, OWL_STR("x")), first);
    assert_str(owl_snapshot_name(s, first), "x");
    assert_null(owl_snapshot_name(s, parts[1].part->items[0].item).p);
    assert_str(s->kinds[OWL_KIND_TOOL].items[1].item->key, "y");
    owl_snapshot_aunref(s);
    owl_part__aunref(parts[0].part);
    owl_part__aunref(parts[1].part);
    owl_part__aunref(NULL);
}

TEST(parts_are_shared_between_snapshots, "")
{
    unsigned freed = 0;
    owl_tool def = TOOL("a");
    def.data = &freed;
    def.free_data = count_free;
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
    struct owl_ranked part = {.part = part_of(it, NULL)};
    struct owl_snapshot *one = owl_snapshot__new(&part, 1, 0, 10);
    struct owl_snapshot *two = owl_snapshot__new(&part, 1, 0, 10);
    owl_part__aunref(part.part);
    owl_snapshot_aunref(one);
    assert_int_equal(freed, 0);
    assert_ptr_equal(owl_snapshot_find(two, OWL_KIND_TOOL, OWL_STR("a")), it);
    owl_snapshot_aunref(two);
    assert_int_equal(freed, 1);
}

TEST(no_parts_make_an_empty_snapshot, "")
{
    struct owl_snapshot *s = owl_snapshot__new(NULL, 0, 5, 10);
    assert_non_null(s);
    assert_int_equal(owl_snapshot_caps(s), 5);
    for (int k = 0; k < OWL_KIND__MAX; k++)
        assert_int_equal(owl_snapshot_count(s, (enum owl_kind)k), 0);
    owl_snapshot_aunref(s);
}

TEST(without_memory_there_is_no_snapshot_and_no_leak, "")
{
    struct owl_ranked parts[] = {{part_of(make_tool("b", NULL), make_tool("d", NULL)), 0, 0, NULL},
                                 {part_of(make_resource("a://{x}"), make_prompt("c")), 0, 1, NULL}};
    struct owl_snapshot *s = NULL;
    unsigned long n;
    for (n = 1; !s; n++) {
        owl_alloc_fail_at(n);
        s = owl_snapshot__new(parts, 2, 0, 10);
        owl_alloc_fail_at(0);
        assert_int_equal(atomic_load(&parts[0].part->_refs), s ? 2 : 1);
        assert_int_equal(atomic_load(&parts[1].part->_refs), s ? 2 : 1);
    }
    assert_true(n > 8);
    owl_snapshot_aunref(s);
    owl_part__aunref(parts[0].part);
    owl_part__aunref(parts[1].part);
}

/* The index over several parts: order, precedence, references. */
#include "unit/registry/fixture.h"

#include "base/alloc.h"
#include "registry/snapshot.h"

static struct owl_item *numbered(const char *name, uint64_t seq)
{
    struct owl_item *it = make_tool(name, NULL);
    it->seq = seq;
    return it;
}

/* A part of its own, which holds the only reference to its item or two. */
static struct owl_part *part_of(struct owl_item *a, struct owl_item *b)
{
    struct owl_part *p = owl_part__new(2);
    assert_non_null(p);
    owl_part__add(p, a);
    owl_item_aunref(a);
    if (b) {
        owl_part__add(p, b);
        owl_item_aunref(b);
    }
    return p;
}

TEST(parts_are_merged_in_the_order_of_their_items, "")
{
    struct owl_part *parts[] = {part_of(numbered("b", 2), numbered("d", 4)),
                                part_of(numbered("a", 1), numbered("e", 5)),
                                part_of(numbered("c", 3), make_prompt("c"))};
    struct owl_snapshot *s = owl_snapshot__new(parts, 3, 0, 2);
    assert_non_null(s);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), 5);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_PROMPT), 1);
    for (size_t i = 0; i < 5; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        assert_str(s->kinds[OWL_KIND_TOOL].items[i].item->key, name);
        assert_ptr_equal(owl_snapshot_find(s, OWL_KIND_TOOL, owl_str_of(name)),
                         s->kinds[OWL_KIND_TOOL].items[i].item);
    }
    for (size_t i = 0; i < 3; i++)
        owl_part__aunref(parts[i]);
    assert_str(owl_snapshot_find(s, OWL_KIND_TOOL, OWL_STR("e"))->key, "e");
    owl_snapshot_aunref(s);
}

TEST(part_that_comes_first_wins_a_name, "")
{
    struct owl_part *parts[] = {part_of(numbered("x", 7), NULL),
                                part_of(numbered("x", 1), numbered("y", 2))};
    struct owl_snapshot *s = owl_snapshot__new(parts, 2, 0, 10);
    assert_int_equal(owl_snapshot_count(s, OWL_KIND_TOOL), 2);
    assert_ptr_equal(owl_snapshot_find(s, OWL_KIND_TOOL, OWL_STR("x")), parts[0]->items[0]);
    assert_str(s->kinds[OWL_KIND_TOOL].items[0].item->key, "y");
    owl_snapshot_aunref(s);
    owl_part__aunref(parts[0]);
    owl_part__aunref(parts[1]);
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
    struct owl_part *part = part_of(it, NULL);
    struct owl_snapshot *one = owl_snapshot__new(&part, 1, 0, 10);
    struct owl_snapshot *two = owl_snapshot__new(&part, 1, 0, 10);
    owl_part__aunref(part);
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
    struct owl_part *parts[] = {part_of(numbered("b", 2), numbered("d", 4)),
                                part_of(numbered("a", 1), make_prompt("c"))};
    struct owl_snapshot *s = NULL;
    unsigned long n;
    for (n = 1; !s; n++) {
        owl_alloc_fail_at(n);
        s = owl_snapshot__new(parts, 2, 0, 10);
        owl_alloc_fail_at(0);
        assert_int_equal(atomic_load(&parts[0]->_refs), s ? 2 : 1);
        assert_int_equal(atomic_load(&parts[1]->_refs), s ? 2 : 1);
    }
    assert_true(n > 8);
    owl_snapshot_aunref(s);
    owl_part__aunref(parts[0]);
    owl_part__aunref(parts[1]);
}

/* Unit tests of codec/tree.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/tree.h"

#include <stdio.h>

static struct owl_tree tree(const char *text)
{
    struct owl_tree t;
    owl_tree_init(&t, NULL, 0);
    assert_int_equal(owl_tree_read(&t, owl_str_of(text)), 0);
    return t;
}

TEST(nodes_stand_in_the_order_of_the_text, "")
{
    struct owl_node own[2];
    struct owl_tree t;
    owl_tree_init(&t, own, 2);
    assert_int_equal(owl_tree_read(&t, OWL_STR(" {\"a\" : [1, \"x\\n\"], \"b\":{} } ")), 0);
    assert_int_equal(t.n, 7);
    assert_int_equal(t.nodes[0].kind, OWL_NODE_OBJECT);
    assert_int_equal(t.nodes[0].count, 2);
    assert_int_equal(t.nodes[0].next, 7);
    assert_int_equal(t.nodes[2].count, 2);
    assert_int_equal(t.nodes[2].next, 5);
    assert_true(t.nodes[4].escaped);
    assert_true(owl_tree_is(&t, 4, OWL_STR("x\n")));
    assert_true(owl_str_is(owl_tree_text(&t, 0), "{\"a\" : [1, \"x\\n\"], \"b\":{} }"));
    assert_true(owl_str_is(owl_tree_text(&t, 2), "[1, \"x\\n\"]"));
    assert_int_equal(owl_tree_get(&t, 0, OWL_STR("b")), 6);
    assert_int_equal(owl_tree_get(&t, 0, OWL_STR("c")), 0);
    assert_int_equal(owl_tree_get(&t, 2, OWL_STR("a")), 0);
    owl_tree_done(&t);
    owl_tree_init(&t, own, 2);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_tree_read(&t, OWL_STR("[1,2]")), -OWL_ENOMEM);
    assert_int_equal(owl_tree_read(&t, OWL_STR("[1]")), 0);
    owl_alloc_fail_at(0);
    owl_tree_done(&t);
}

/* Long texts are looked at through windows: an end, an escape and a character of several bytes must
 * be seen on either side of every edge. */
TEST(strings_end_wherever_they_stand, "")
{
    char text[400];
    for (int pad = 0; pad < 140; pad++) {
        for (int behind = 0; behind < 80; behind += 13) {
            int n = snprintf(text, sizeof text, "[\"%0*d\\\"\\\\\",\"\xc3\xa9\",-12,1e3,\"\"%*s]",
                             pad, 0, behind, "");
            struct owl_tree t = tree(text);
            assert_int_equal(t.n, 6);
            assert_int_equal(t.nodes[0].n, n);
            assert_int_equal(t.nodes[0].count, 5);
            assert_int_equal(t.nodes[1].n, (pad ? pad : 1) + 4);
            assert_true(t.nodes[1].escaped && !t.nodes[2].escaped && !t.nodes[5].escaped);
            assert_true(owl_str_is(owl_tree_text(&t, 2), "\xc3\xa9"));
            assert_true(owl_str_is(owl_tree_text(&t, 3), "-12") && t.nodes[3].whole);
            assert_true(owl_str_is(owl_tree_text(&t, 4), "1e3") && !t.nodes[4].whole);
            assert_int_equal(t.nodes[5].n, 0);
            owl_tree_done(&t);
        }
    }
}

TEST(equality_is_that_of_values, "")
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"1", "1.0", true},
        {"1", "true", false},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"\\n\\u00e9x\"", "\"\\u000a\\u00E9x\"", true},
        {"\"\\n\"", "\"\\na\"", false},
        {"[1,[2,{\"a\":null}]]", "[1.0,[2,{\"a\":null}]]", true},
        {"[1,2]", "[2,1]", false},
        {"[1,2]", "[1]", false},
        {"{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}", true},
        {"{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"\\u0061\":1}", true},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"{\"a\":1}", "{\"a\":2}", false},
        {"[]", "{}", false},
        {"{\"a\":{\"b\":1,\"c\":2},\"d\":3}", "{\"d\":3,\"a\":{\"c\":2,\"b\":1}}", true},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        struct owl_tree a = tree(cases[i].a), b = tree(cases[i].b);
        uint64_t work = 1000;
        bool equal = !cases[i].equal;
        assert_int_equal(owl_tree_equal(&a, 0, &b, 0, &work, &equal), 0);
        if (equal != cases[i].equal)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        if ((owl_tree_hash(&a, 0) == owl_tree_hash(&b, 0)) != cases[i].equal)
            fail_msg("hashes of %s and %s", cases[i].a, cases[i].b);
        owl_tree_done(&a);
        owl_tree_done(&b);
    }
}

/* Reads @p n bytes of 'a' in quotes, the one in the middle escaped, with @p last at the end. */
static void read_long(struct owl_tree *t, char *room, size_t n, bool escaped, char last)
{
    size_t middle = n / 2;
    memset(room, 'a', n + 16);
    room[0] = '"';
    if (escaped)
        memcpy(room + middle, "\\u0061", 6);
    size_t end = n + 1 + (escaped ? 5 : 0);
    room[end - 1] = last;
    room[end] = '"';
    owl_tree_init(t, NULL, 0);
    assert_int_equal(owl_tree_read(t, (owl_str){room, end + 1}), 0);
}

TEST(long_strings_are_hashed_and_paid_for_to_their_end, "")
{
    static const size_t sizes[] = {255, 256, 257, 511, 512, 513, 1000};
    for (size_t i = 0; i < OWL_COUNT(sizes); i++) {
        char rooms[3][1024];
        struct owl_tree plain, escaped, other;
        read_long(&plain, rooms[0], sizes[i], false, 'a');
        read_long(&escaped, rooms[1], sizes[i], true, 'a');
        read_long(&other, rooms[2], sizes[i], false, 'b');
        assert_int_equal(owl_tree_hash(&plain, 0), owl_tree_hash(&escaped, 0));
        assert_int_not_equal(owl_tree_hash(&plain, 0), owl_tree_hash(&other, 0));
        uint64_t work = 1000;
        bool equal = false;
        assert_int_equal(owl_tree_equal(&plain, 0, &escaped, 0, &work, &equal), 0);
        assert_true(equal);
        assert_true(work <= 1000 - sizes[i] / 16);
        owl_tree_done(&plain);
        owl_tree_done(&escaped);
        owl_tree_done(&other);
    }
}

TEST(depth_costs_memory_and_nothing_else, "")
{
    enum { DEEP = 5000 };
    char *text = malloc(2 * DEEP);
    assert_non_null(text);
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    struct owl_tree t;
    owl_tree_init(&t, NULL, 0);
    assert_int_equal(owl_tree_read(&t, (owl_str){text, 2 * DEEP}), 0);
    uint64_t work = 100000;
    bool equal = false;
    assert_int_equal(owl_tree_equal(&t, 0, &t, 0, &work, &equal), 0);
    assert_true(equal);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_tree_equal(&t, 0, &t, 0, &work, &equal), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    work = 10;
    assert_int_equal(owl_tree_equal(&t, 0, &t, 0, &work, &equal), 0);
    assert_int_equal(work, 0);
    owl_tree_done(&t);
    free(text);
}

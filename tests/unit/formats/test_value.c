/* Unit tests of formats/value.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "formats/value.h"

static struct owl_value *add(struct owl_arena *a, struct owl_value *parent, const char *key,
                             enum owl_node_kind kind, const char *text)
{
    struct owl_value *v = owl_value_new(a, kind, (struct owl_mark){0, 1, 1});
    assert_non_null(v);
    v->key = owl_str_of(key);
    v->text = owl_str_of(text);
    if (parent)
        owl_value_add(parent, v);
    return v;
}

/* {"a/b":[1,"x\n",[],inf],"c":{"~":null},"d":true} */
static struct owl_value *sample(struct owl_arena *a)
{
    struct owl_value *root = add(a, NULL, NULL, OWL_NODE_OBJECT, NULL);
    struct owl_value *list = add(a, root, "a/b", OWL_NODE_ARRAY, NULL);
    add(a, list, NULL, OWL_NODE_NUMBER, "1");
    add(a, list, NULL, OWL_NODE_STRING, "x\n");
    add(a, list, NULL, OWL_NODE_ARRAY, NULL);
    add(a, list, NULL, OWL_NODE_NUMBER, "inf")->form = OWL_FORM_NOT_FINITE;
    struct owl_value *c = add(a, root, "c", OWL_NODE_OBJECT, NULL);
    add(a, c, "~", OWL_NODE_NULL, NULL);
    add(a, root, "d", OWL_NODE_TRUE, NULL);
    return root;
}

static void assert_json(const struct owl_value *v, const char *expected)
{
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    owl_value_json(&b, v, NULL);
    assert_int_equal(b.rc, 0);
    assert_int_equal(b.n, strlen(expected));
    assert_memory_equal(b.p, expected, b.n);
    owl_buf_done(&b);
}

static const char sample_json[] = "{\"a/b\":[1,\"x\\n\",[],\"inf\"],\"c\":{\"~\":null},\"d\":true}";

TEST(a_tree_is_walked_written_and_copied, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_value *root = sample(a), *copy;
    assert_json(root, sample_json);
    assert_json(root->first, "[1,\"x\\n\",[],\"inf\"]");
    assert_int_equal(owl_value_copy(a, root, &copy), 0);
    assert_json(copy, sample_json);
    assert_int_equal(owl_value_copy(a, root->first, &copy), 0);
    assert_json(copy, "[1,\"x\\n\",[],\"inf\"]");
    size_t n = 0;
    for (struct owl_value *v = root; v; v = owl_value_next(root, v))
        n++;
    assert_int_equal(n, 9);
    n = 0;
    for (struct owl_value *v = root->first; v; v = owl_value_next(root->first, v))
        n++;
    assert_int_equal(n, 5);
    assert_ptr_equal(owl_value_get(root, OWL_STR("d")), root->last);
    assert_null(owl_value_get(root, OWL_STR("e")));
    assert_null(owl_value_get(root->first, OWL_STR("a")));
    assert_null(owl_value_get(NULL, OWL_STR("a")));
    owl_arena_free(a);
}

TEST(a_place_in_the_text_leads_to_its_value, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_value *root = sample(a);
    struct owl_buf b;
    struct owl_value_places places = {0};
    assert_null(owl_value_at(&places, 0));
    owl_buf_init(&b, 4096);
    owl_value_json(&b, root, &places);
    struct {
        const char *text, *pointer;
    } cases[] = {{"{", ""},          {"\"a/b\"", "/a~1b"}, {"[1", "/a~1b"},   {"1", "/a~1b/0"},
                 {"\"x", "/a~1b/1"}, {"[]", "/a~1b/2"},    {"null", "/c/~0"}, {"true", "/d"}};
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        size_t at = (size_t)(strstr(sample_json, cases[i].text) - sample_json);
        const struct owl_value *v = owl_value_at(&places, at);
        struct owl_buf p;
        owl_buf_init(&p, 100);
        owl_value_pointer(&p, root, v);
        owl_buf_putc(&p, '\0');
        assert_string_equal(p.p, cases[i].pointer);
        owl_buf_done(&p);
    }
    owl_free(places.list);
    owl_buf_done(&b);
    owl_arena_free(a);
}

TEST(faults_are_kept_sorted_and_bounded, "")
{
    struct owl_faults f = {.arena = owl_arena_new(0)};
    struct owl_fault *late = owl_fault_add(&f, (struct owl_mark){1, 2, 3}, "b%s", "\x1b[31m\n");
    owl_fault_hint(&f, late, "say %d", 7);
    owl_warning_add(&f, (struct owl_mark){1, 2, 1}, "a");
    owl_fault_add(&f, (struct owl_mark){0, 9, 9}, "first");
    owl_fault_add(&f, (struct owl_mark){1, 2, 3}, "c");
    owl_faults_sort(&f);
    const char *order[] = {"first", "a", "b?[31m ", "c"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(f.list[i].what.p, order[i]);
    assert_true(f.list[1].warning);
    assert_string_equal(f.list[2].hint.p, "say 7");
    assert_int_equal(f.errors, 3);
    for (size_t i = 0; i < OWL_FAULTS; i++)
        owl_fault_hint(&f, owl_fault_add(&f, (struct owl_mark){2, 1, 1}, "more"), "hint");
    assert_int_equal(f.n, OWL_FAULTS);
    assert_int_equal(f.left_out, 4);
    assert_int_equal(f.errors, OWL_FAULTS + 3);
    size_t used = owl_arena_used(f.arena);
    owl_fault_hint(&f, owl_fault_add(&f, (struct owl_mark){2, 1, 1}, "more"), "hint");
    assert_int_equal(owl_arena_used(f.arena), used);
    owl_arena_free(f.arena);
}

TEST(without_memory_nothing_is_lost_but_the_words, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_value *root = sample(a), *copy;
    for (unsigned long at = 1;; at++) {
        struct owl_arena *b = owl_arena_new(0);
        owl_alloc_fail_at(at);
        int rc = owl_value_copy(b, root, &copy);
        owl_alloc_fail_at(0);
        owl_arena_free(b);
        if (rc == 0)
            break;
        assert_int_equal(rc, -OWL_ENOMEM);
    }
    struct owl_faults f = {.arena = owl_arena_new(1)}; /* nothing fits */
    owl_fault_hint(&f, owl_fault_add(&f, (struct owl_mark){0, 1, 1}, "x"), "y");
    assert_int_equal(f.errors, 1);
    assert_int_equal(f.n, 0);
    assert_int_equal(f.left_out, 1);
    owl_arena_free(f.arena);
    struct owl_buf b;
    struct owl_value_places places = {0};
    owl_buf_init(&b, 4096);
    owl_buf_reserve(&b, 1000);
    owl_alloc_fail_at(1);
    owl_value_json(&b, root, &places);
    owl_alloc_fail_at(0);
    assert_int_equal(b.rc, -OWL_ENOMEM);
    owl_buf_done(&b);
    owl_arena_free(a);
}

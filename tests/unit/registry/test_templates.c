/* Templates are found by their literal beginning, in their order. */
#include "unit/registry/fixture.h"

#include "base/alloc.h"
#include "registry/snapshot.h"

static struct owl_snapshot *snapshot_of(const char *const *templates, size_t n)
{
    struct owl_registry *r = owl_registry_new(0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(owl_registry_put(r, make_resource(templates[i])), 0);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    owl_registry_free(r);
    assert_non_null(s);
    return s;
}

static const char *match(struct owl_snapshot *s, const char *uri, size_t *tried)
{
    owl_str values[OWL_URI_VARS];
    struct owl_item *it = owl_templates__match(&s->templates, owl_str_of(uri), values, tried);
    assert_ptr_equal(owl_snapshot_match(s, owl_str_of(uri), values), it);
    return it ? it->key.p : NULL;
}

TEST(only_templates_with_the_beginning_of_the_uri_are_tried, "")
{
    enum { N = 1000 };
    char texts[N][32];
    const char *templates[N];
    for (int i = 0; i < N; i++) {
        sprintf(texts[i], "db%d://{id}", i);
        templates[i] = texts[i];
    }
    struct owl_snapshot *s = snapshot_of(templates, N);
    size_t tried;
    assert_string_equal(match(s, "db731://7", &tried), "db731://{id}");
    assert_int_equal(tried, 1);
    assert_null(match(s, "db1000://7", &tried));
    assert_int_equal(tried, 0);
    assert_null(match(s, "a", &tried));
    assert_int_equal(tried, 0);
    assert_null(match(s, "zz", &tried));
    assert_int_equal(tried, 0);
    assert_null(match(s, "db5://a/b", &tried));
    assert_int_equal(tried, 1);
    owl_snapshot_aunref(s);
}

TEST(order_counts_not_the_length_of_the_beginning, "")
{
    static const char *const templates[] = {"a://x/y/{v}/no", "a://{+v}", "a://x/{v}", "{+v}",
                                            "a://x/y{v}"};
    struct owl_snapshot *s = snapshot_of(templates, OWL_COUNT(templates));
    size_t tried;
    assert_string_equal(match(s, "a://x/y", &tried), "a://{+v}");
    assert_string_equal(match(s, "a://x/y/1/no", &tried), "a://x/y/{v}/no");
    assert_string_equal(match(s, "b:q", &tried), "{+v}");
    assert_int_equal(tried, 1);
    owl_str values[OWL_URI_VARS];
    owl_snapshot_match(s, OWL_STR("a://x/yz"), values); /* a later one that fits has no say */
    assert_str(values[0], "x/yz");
    owl_snapshot_aunref(s);
}

/* Against a walk over all of them. */
TEST(first_match_is_that_of_a_walk_over_all, "")
{
    static const char *const pieces[] = {"a", "b", "/", "{v}", "{+w}", "a/"};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t state = seed;
        enum { N = 12 };
        char texts[N][64];
        const char *templates[N];
        for (int i = 0; i < N; i++) {
            int n = sprintf(texts[i], "x:");
            bool used[2] = {false, false};
            for (unsigned left = 1 + draw(&state, 5); left > 0; left--) {
                unsigned piece = draw(&state, OWL_COUNT(pieces));
                if ((piece == 3 || piece == 4) && used[piece - 3])
                    continue; /* a variable occurs once */
                if (piece == 3 || piece == 4)
                    used[piece - 3] = true;
                n += sprintf(texts[i] + n, "%s", pieces[piece]);
            }
            if (!used[0])
                sprintf(texts[i] + n, "{v}");
            templates[i] = texts[i];
        }
        struct owl_snapshot *s = snapshot_of(templates, N);
        const struct owl_index *x = &s->kinds[OWL_KIND_TEMPLATE];
        for (int round = 0; round < 50; round++) {
            char uri[32] = "x:";
            for (unsigned left = draw(&state, 8); left > 0; left--)
                strcat(uri, (const char *const[]){"a", "b", "/"}[draw(&state, 3)]);
            const char *expected = NULL;
            owl_str values[OWL_URI_VARS];
            for (size_t i = 0; i < x->n && !expected; i++) {
                if (owl_uri_template_match(x->items[i].item->uri_template, owl_str_of(uri), values))
                    expected = x->items[i].item->key.p;
            }
            size_t tried;
            assert_ptr_equal(match(s, uri, &tried), expected);
            assert_true(tried <= x->n);
        }
        owl_snapshot_aunref(s);
    }
}

/* What somebody meant to type. */
#include "cli/suggest.h"
#include "support/test.h"

static size_t distance(const char *a, const char *b)
{
    size_t there = owl_suggest_distance(owl_str_of(a), owl_str_of(b));
    assert_int_equal(owl_suggest_distance(owl_str_of(b), owl_str_of(a)), there);
    return there;
}

TEST(distances_count_single_mistakes, "")
{
    assert_int_equal(distance("", ""), 0);
    assert_int_equal(distance("", "abc"), 3);
    assert_int_equal(distance("json", "json"), 0);
    assert_int_equal(distance("jsn", "json"), 1);
    assert_int_equal(distance("josn", "json"), 1);
    assert_int_equal(distance("jason", "json"), 1);
    assert_int_equal(distance("jso", "json"), 1);
    assert_int_equal(distance("validate", "vaildaet"), 2);
    assert_int_equal(distance("ca", "abc"), 3);
    assert_int_equal(distance("kitten", "sitting"), 3);
}

TEST(long_words_are_far_from_all, "")
{
    char word[40];
    memset(word, 'a', sizeof word);
    owl_str w32 = {word, 32}, w33 = {word, 33};
    assert_int_equal(owl_suggest_distance(w32, w32), 0);
    assert_int_equal(owl_suggest_distance(w33, w33), 33);
    char endless[400];
    memset(endless, 'x', sizeof endless);
    struct owl_suggestion s = {0};
    owl_suggest(&s, (owl_str){endless, sizeof endless}, "json");
    assert_null(s.best);
}

static const char *nearest(const char *typed)
{
    static const char *const words[] = {"validate", "show", "schema", "import", "json", NULL};
    struct owl_suggestion s = {0};
    for (const char *const *w = words; *w; w++)
        owl_suggest(&s, owl_str_of(typed), *w);
    return s.best;
}

TEST(the_nearest_word_is_suggested_if_it_is_near, "")
{
    assert_string_equal(nearest("valdiate"), "validate");
    assert_string_equal(nearest("shwo"), "show");
    assert_string_equal(nearest("improt"), "import");
    assert_string_equal(nearest("scheme"), "schema");
    assert_string_equal(nearest("val"), "validate");
    assert_string_equal(nearest("jsn"), "json");
    assert_null(nearest("x"));
    assert_null(nearest(""));
    assert_null(nearest("list"));
    assert_null(nearest("completely-different"));
}

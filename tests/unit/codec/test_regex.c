/* Unit tests of codec/regex.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "codec/regex.h"

static bool found(const char *pattern, const char *text)
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_matcher m;
    owl_matcher_init(&m, 10000);
    const struct owl_regex *re = NULL;
    owl_error err = {0};
    if (owl_regex_new(a, owl_str_of(pattern), &re, &err))
        fail_msg("%s: %s", pattern, err.message);
    bool yes = false;
    assert_int_equal(owl_regex_search(re, &m, owl_str_of(text), &yes), 0);
    owl_matcher_done(&m);
    owl_arena_free(a);
    return yes;
}

TEST(expressions_mean_what_ecmascript_says, "")
{
    static const struct {
        const char *pattern, *yes, *no;
    } cases[] = {
        {"", "x", NULL},
        {"^a$", "a", "a\n"},
        {"^.$", "\xf0\x9f\x90\xb2", "\xe2\x80\xa8"},
        {"^\\s$", "\xc2\xa0", "x"},
        {"^[^\\S]$", "\xc2\xa0", "x"},
        {"^[\\s]$", "\xef\xbb\xbf", "x"},
        {"^\\u0061\\x62\\u{63}\\cA\\0$", NULL, "abc"},
        {"^\\uD83D\\uDC32$", "\xf0\x9f\x90\xb2", "D"},
        {"^[[:alpha:]$", NULL, "b"},
        {"^[[:alph]$", "[", "b"},
        {"^\\p{Lu}\\P{Lu}$", "Aa", "AA"},
        {"^\\p{Script=Greek}$", "\xce\xb1", "a"},
        {"^\\p{gc=Decimal_Number}$", "7", "a"},
        {"^(?:a|(?<n>b))\\k<n>$", "bb", "ab"},
        {"^(a)?\\1b$", "aab", "ab b"},
        {"(?<=a)b(?!c)", "ab", "abc"},
        {"^{a}$", "{a}", "a"},
        {"^a{2,3}?$", "aaa", "a"},
        {"^[\\b]$", "\b", "b"},
        {"a\\/b\\-", "a/b-", "ab"},
        {"[]", NULL, "a"},
        {"^a[]?b[]*$", "ab", "a"},
        {"^(a)[]{0,2}\\1$", "aa", "a"},
        {"(?:(?:|((?=b)(\\p{L}([ab]){0,3}\\w)+)){0}){2,}", "a", NULL},
        {"[^]", "\n", ""},
        {"\\bfoo\\B", "food", "foo"},
        {"^\\v\\f\\t\\r\\n$", "\v\f\t\r\n", "v"},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        if (cases[i].yes && !found(cases[i].pattern, cases[i].yes))
            fail_msg("%s finds nothing", cases[i].pattern);
        if (cases[i].no && found(cases[i].pattern, cases[i].no))
            fail_msg("%s finds something", cases[i].pattern);
    }
}

TEST(what_is_no_expression_is_refused, "")
{
    static const char *const bad[] = {
        "(",           ")",         "[",      "a**",   "a++",     "*a",      "(*FAIL)",
        "(?i)a",       "(?>a)",     "(?#a)",  "(?|a)", "\\a",     "\\Qa\\E", "\\A",
        "\\z",         "\\R",       "\\X",    "\\h",   "\\K",     "\\u12",   "\\u{}",
        "\\u{110000}", "\\x1",      "\\c1",   "\\00",  "\\p",     "\\p{",    "\\p{No Such}",
        "\\p{x=L}",    "\\k",       "\\k<",   "\\",    "\\ud800", "a{2,1}",  "[b-a]",
        "(?<1>a)",     "\\p{Nope}", "\\2(a)", "^*",
    };
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        if (owl_regex_valid(owl_str_of(bad[i]), NULL))
            fail_msg("%s", bad[i]);
    }
    assert_true(owl_regex_valid(OWL_STR("^(a|b)*$"), NULL));
}

/* A long pattern has groups of our own behind the others. */
TEST(references_to_no_group_are_refused_in_any_pattern, "")
{
    static const struct {
        const char *tail;
        bool good;
    } cases[] = {
        {"(a)\\1", true}, {"\\1(a)", true},    {"(a)\\2", false},  {"(a)\\3", false},
        {"\\1", false},   {"(?:a)\\1", false}, {"(a)\\10", false}, {"\\4294967297(a)", false}};
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        for (size_t spaces = 0; spaces < 8000; spaces += 3999) {
            struct owl_buf b;
            owl_buf_init(&b, 64 * 1024);
            for (size_t k = 0; k < spaces; k++)
                owl_buf_putz(&b, "\\s");
            owl_buf_putz(&b, cases[i].tail);
            if (owl_regex_valid(owl_buf_str(&b), NULL) != cases[i].good)
                fail_msg("%zu spaces, %s", spaces, cases[i].tail);
            owl_buf_done(&b);
        }
    }
}

TEST(long_texts_are_searched_to_their_end, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_matcher m;
    owl_matcher_init(&m, 1000);
    const struct owl_regex *re = NULL;
    bool found = false;
    char *text = malloc(60001);
    assert_non_null(text);
    for (int i = 0; i < 10000; i++)
        memcpy(text + 6 * i, "words ", 6);
    assert_int_equal(owl_regex_new(a, OWL_STR("^([a-z]+ )*$"), &re, NULL), 0);
    assert_int_equal(owl_regex_search(re, &m, (owl_str){text, 60000}, &found), 0);
    assert_true(found);
    text[60000] = '!';
    assert_int_equal(owl_regex_search(re, &m, (owl_str){text, 60001}, &found), 0);
    assert_false(found);
    free(text);
    owl_matcher_done(&m);
    owl_arena_free(a);
}

/* Groups that are repeated all along a text need memory in proportion to it. */
TEST(groups_may_be_repeated_along_a_long_text, "")
{
    enum { N = 1 << 20 };
    static const struct {
        const char *pattern, *unit;
    } cases[] = {
        {"^(?:[^\"\\\\]|\\\\.)*$", "a"},
        {"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$", "QUJD"},
        {"^(?:(?!<script>)[\\s\\S])*$", "a"},
    };
    char *text = malloc(N);
    assert_non_null(text);
    struct owl_arena *a = owl_arena_new(0);
    struct owl_matcher m;
    owl_matcher_init(&m, 100000);
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        const struct owl_regex *re = NULL;
        bool yes = false;
        for (size_t j = 0, n = strlen(cases[i].unit); j < N; j++)
            text[j] = cases[i].unit[j % n];
        assert_int_equal(owl_regex_new(a, owl_str_of(cases[i].pattern), &re, NULL), 0);
        assert_int_equal(owl_regex_search(re, &m, (owl_str){text, N}, &yes), 0);
        assert_true(yes);
        assert_true(m.cost >= N / 4); /* it takes its time */
    }
    const struct owl_regex *re = NULL;
    bool yes = false;
    memset(text, 'a', N);
    assert_int_equal(owl_regex_new(a, OWL_STR("^((((a)|(b))(c)?)((d)?(e)?)?)*$"), &re, NULL), 0);
    assert_int_equal(owl_regex_search(re, &m, (owl_str){text, N}, &yes), 0);
    assert_true(yes);
    /* what refers back is searched for by backtracking, which remembers every round */
    assert_int_equal(owl_regex_new(a, OWL_STR("^((((a)|(b))(c)?)((d)?(e)?)?)*\\6$"), &re, NULL), 0);
    assert_int_equal(owl_regex_search(re, &m, (owl_str){text, N}, &yes), -OWL_ELIMIT);
    assert_non_null(strstr(m.why, "too much memory"));
    owl_matcher_done(&m);
    owl_arena_free(a);
    free(text);
}

/* PCRE2 writes counted groups out: \s must not be long, and \1 must stay what it is. */
TEST(counted_words_fit, "")
{
    static const struct {
        const char *pattern, *yes, *no;
    } cases[] = {
        {"^(?:\\S+\\s+){0,499}\\S+$",
         "one two\xc2\xa0three\xef\xbb\xbf"
         "four",
         "one two "},
        {"^(\\S+\\s?){1,1000}$", "one two three", " one"},
        {"^(\\s*\\S+\\s*){1,300}$", " one\xe3\x80\x80two ", "  "},
        {"^(a|b)(?:\\S+\\s+){0,600}\\1$", "bone two b", "bone two a"},
        {"^(?<x>a|b)(?:[^\\s]+\\s){0,600}\\k<x>$", "bone two b", "bone  two b"},
        {"^(?:\\S+\\s+){0,600}$|^!(?<=^\\S)$", "!", "!!"},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        if (!found(cases[i].pattern, cases[i].yes))
            fail_msg("%s finds nothing", cases[i].pattern);
        if (found(cases[i].pattern, cases[i].no))
            fail_msg("%s finds something", cases[i].pattern);
    }
    static const char *const big[][2] = {
        {"^(?:[a-z]{1,64}[A-Z0-9]){0,5000}$", "more than 64 KiB"},
        {"a{70000}", "more than 65535 times"},
    };
    struct owl_arena *a = owl_arena_new(0);
    for (size_t i = 0; i < OWL_COUNT(big); i++) {
        const struct owl_regex *re = NULL;
        owl_error err = {0};
        assert_int_equal(owl_regex_new(a, owl_str_of(big[i][0]), &re, &err), -OWL_ELIMIT);
        if (!strstr(err.message, big[i][1]))
            fail_msg("%s", err.message);
    }
    owl_arena_free(a);
}

TEST(an_expression_counts_against_its_arena, "")
{
    struct owl_arena *a = owl_arena_new(4096);
    const struct owl_regex *re = NULL;
    assert_int_equal(owl_regex_new(a, OWL_STR("a"), &re, NULL), 0);
    assert_int_equal(owl_regex_new(a, OWL_STR("(abcdefghij){200}"), &re, NULL), -OWL_ELIMIT);
    owl_arena_free(a);
}

TEST(searching_ends, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_matcher m;
    owl_matcher_init(&m, 10000);
    const struct owl_regex *re = NULL;
    bool yes;
    assert_int_equal(owl_regex_new(a, OWL_STR("^(a*)*$"), &re, NULL), 0);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_regex_search(re, &m, OWL_STR("a"), &yes), 0);
    owl_alloc_fail_at(0);
    owl_str text = OWL_STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
    assert_int_equal(owl_regex_search(re, &m, text, &yes), 0);
    assert_false(yes);
    assert_int_equal(owl_regex_new(a, OWL_STR("^(a+)+\\1$"), &re, NULL), 0);
    assert_int_equal(owl_regex_search(re, &m, text, &yes), -OWL_ELIMIT);
    owl_matcher_done(&m);
    char *big = malloc(70000);
    assert_non_null(big);
    memset(big, 'a', 70000);
    assert_int_equal(owl_regex_new(a, (owl_str){big, 70000}, &re, NULL), -OWL_ELIMIT);
    free(big);
    owl_arena_free(a);
}

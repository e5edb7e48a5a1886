/* Unit tests of codec/regex.h: what a search costs, counted in steps. */
#include "support/test.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "codec/regex.h"

#include <stdlib.h>

enum { MIB = 1 << 20 };

struct searching {
    struct owl_arena *a;
    struct owl_matcher m;
    const struct owl_regex *re;
    bool found;
};

static void begin(struct searching *x, const char *pattern)
{
    owl_error err = {0};
    *x = (struct searching){.a = owl_arena_new(0)};
    assert_non_null(x->a);
    owl_matcher_init(&x->m, 100000);
    if (owl_regex_new(x->a, owl_str_of(pattern), &x->re, &err))
        fail_msg("%s: %s", pattern, err.message);
}

static void end(struct searching *x)
{
    owl_matcher_done(&x->m);
    owl_arena_free(x->a);
}

static int search(struct searching *x, owl_str text, uint64_t budget)
{
    x->m.budget = budget;
    x->found = false;
    int rc = owl_regex_search(x->re, &x->m, text, &x->found);
    if (x->m.cost > budget)
        fail_msg("%llu steps of %llu", (unsigned long long)x->m.cost, (unsigned long long)budget);
    return rc;
}

/* Patterns that try every place of a text with a backtracking matcher, or many ways at one. */
static const char *const slow[] = {
    "(?=.*\\d)(?=.*[a-z]).{8,}",
    "(?:[a-z][a-z])+[0-9]",
    "^(a+)+$",
    "^(?:a|a)*$",
    "(a*)*b",
    "[a-z]+[0-9]",
    "(?:a?){20}a{20}b",
    "^(?=(a+)+$)b",
    "(?<=[a-z])[a-z]*!",
    "(?:(?!.*!)a)*\\d",
    "\\b[a-z]+\\b\\d",
    "(?:\\w+\\s?)*\\d$",
};

/* No step is left out: twice the text is twice the work, and a step is at most 48 bytes. */
TEST(work_grows_no_faster_than_the_text, "")
{
    char *text = malloc(4 * MIB);
    assert_non_null(text);
    memset(text, 'a', 4 * MIB);
    text[4 * MIB - 1] = '?';
    for (size_t i = 0; i < OWL_COUNT(slow); i++) {
        struct searching x;
        uint64_t last = 0;
        begin(&x, slow[i]);
        for (size_t n = MIB / 8; n <= MIB; n *= 2) {
            owl_str end_of_text = {text + 4 * MIB - n, n};
            assert_int_equal(search(&x, end_of_text, UINT64_MAX), 0);
            assert_false(x.found);
            if (x.m.cost < n / 48 || x.m.cost > n * 16 || (last && x.m.cost > last * 2 + 64))
                fail_msg("%s: %llu steps for %zu bytes", slow[i], (unsigned long long)x.m.cost, n);
            last = x.m.cost;
        }
        assert_int_equal(search(&x, (owl_str){text, 4 * MIB}, 10000), -OWL_EBUSY);
        end(&x);
    }
    free(text);
}

/* A pattern that refers back is searched for by backtracking: the whole search is counted, not each
 * place where it might begin. */
TEST(backtracking_ends_with_the_budget, "")
{
    static const char *const patterns[] = {
        "(?=.*(\\d))(?=.*[a-z]).{8,}\\1",
        "([a-z][a-z])+\\1[0-9]",
        "^(a+)+\\1\\d$",
        "(a*)\\1[bc]",
        "(?<x>a)[a-z]*\\k<x>\\d",
        "(a*)\\1{2,}\\d",
        "()[a-z]{5000}\\1\\d",
        "([a-z]{1,40000})\\1\\d",
        "(?:()[a-z]*)*\\1\\d",
    };
    char *text = malloc(80000);
    assert_non_null(text);
    memset(text, 'a', 80000);
    for (size_t i = 0; i < OWL_COUNT(patterns); i++) {
        struct searching x;
        begin(&x, patterns[i]);
        int rc = search(&x, (owl_str){text, 80000}, 200000);
        if (rc != -OWL_EBUSY || x.m.cost < 190000)
            fail_msg("%s: %d after %llu steps", patterns[i], rc, (unsigned long long)x.m.cost);
        end(&x);
    }
    free(text);
}

/* ---- generated ------------------------------------------------------------------------------ */

static unsigned pick(unsigned *seed, unsigned n)
{
    return (unsigned)rand_r(seed) % n;
}

/* A pattern, and how many atoms it has with its counted repetitions written out. */
struct pattern {
    struct owl_buf b;
    unsigned size;
};

static const char *atom(unsigned *seed)
{
    static const char *const atoms[] = {
        "a",   "b",   "\xc3\xa9",   ".",      "[ab]",        "[^a]",   "\\w",
        "\\W", "\\s", "[\\d\\xe9]", "\\p{L}", "[^\\P{Lu}a]", "^",      "$",
        "\\b", "\\B", "(?=b)",      "(?!ab)", "(?<=a)",      "(?<!b)", "[a-c\\u00e0-\\u00ff-]",
        "\\S", "[^]", "a|b",        ""};
    return atoms[pick(seed, OWL_COUNT(atoms))];
}

static void wrap(struct pattern *p, const char *before, const char *behind)
{
    struct owl_buf b;
    owl_buf_init(&b, 1 << 16);
    owl_buf_putz(&b, before);
    owl_buf_puts(&b, owl_buf_str(&p->b));
    owl_buf_putz(&b, behind);
    owl_buf_done(&p->b);
    p->b = b;
    p->size += 2;
}

static void grow(struct pattern *p, unsigned *seed)
{
    static const struct {
        const char *before, *behind;
        unsigned times;
    } repeated[] = {{"(?:", ")*", 1},    {"(", ")+", 1},     {"(?:", ")?", 1},
                    {"(", ")*?", 1},     {"(?:", "){2}", 2}, {"(", "){0,3}", 3},
                    {"(?:", "){2,}", 3}, {"(", "){1,3}?", 3}};
    static const char *const others[][2] = {{"(?=", ")"}, {"(?!", ")"},   {"(?:", ")|"},
                                            {"|(", ")"},  {"^(?:", ")$"}, {"(?=.*(?:", "))"}};
    unsigned i = pick(seed, OWL_COUNT(repeated)), j = pick(seed, OWL_COUNT(others));
    switch (pick(seed, 4)) {
    case 0: wrap(p, atom(seed), ""); break;
    case 1: wrap(p, "", atom(seed)); break;
    case 2:
        wrap(p, repeated[i].before, repeated[i].behind);
        p->size = (p->size + 1) * repeated[i].times;
        break;
    default: wrap(p, others[j][0], others[j][1]); break;
    }
}

/* The same, but PCRE2 has to search for it: it refers back to a group that is empty. */
static void refer_back(struct pattern *p)
{
    wrap(p, "(?:", ")(?<owl>)\\k<owl>");
    owl_buf_putc(&p->b, '\0');
}

static void check_budget(struct searching *x, owl_str text, const char *pattern)
{
    bool found = x->found;
    uint64_t cost = x->m.cost;
    if (search(x, text, cost) || x->found != found)
        fail_msg("%s: the budget %llu is not enough", pattern, (unsigned long long)cost);
    int rc = search(x, text, cost / 2);
    if (rc != -OWL_EBUSY && (rc || x->found != found))
        fail_msg("%s: %d with half the budget", pattern, rc);
}

/* The machine against PCRE2, which counts on characters of groups that are repeated {0} times: there
 * are none. At a position each state is visited twice at most. */
static void compare(const char *pattern, const char *referring, unsigned size, owl_str text)
{
    struct searching ours, theirs;
    begin(&ours, pattern);
    begin(&theirs, referring);
    assert_int_equal(search(&ours, text, UINT64_MAX), 0);
    if (ours.m.cost > 4 + size * UINT64_C(8) * (text.n + 2))
        fail_msg("%s: %llu steps for %zu bytes", pattern, (unsigned long long)ours.m.cost, text.n);
    int rc = search(&theirs, text, 100000);
    if (rc == 0 && ours.found != theirs.found)
        fail_msg("%s is%s found in '%.*s'", pattern, ours.found ? "" : " not", (int)text.n, text.p);
    check_budget(&ours, text, pattern);
    end(&ours);
    end(&theirs);
}

TEST(generated_patterns_agree_with_pcre2_and_stay_within_budgets, "")
{
    static const char *const letters[] = {"a", "a", "b", "\xc3\xa9", " ", "Z", "\n", "1"};
    for (unsigned round = 0; round < 3000; round++) {
        unsigned seed = round;
        struct pattern p = {.size = 1};
        owl_buf_init(&p.b, 1 << 16);
        owl_buf_putz(&p.b, atom(&seed));
        for (unsigned k = pick(&seed, 9); k > 0 && p.size < 400; k--)
            grow(&p, &seed);
        struct owl_buf copy;
        owl_buf_init(&copy, 1 << 16);
        owl_buf_puts(&copy, owl_buf_str(&p.b));
        owl_buf_putc(&copy, '\0');
        const char *pattern = copy.p;
        struct owl_arena *a = owl_arena_new(0);
        const struct owl_regex *re;
        int rc = owl_regex_new(a, owl_str_of(pattern), &re, NULL); /* "^*" is no pattern */
        owl_arena_free(a);
        refer_back(&p);
        for (unsigned k = 0; rc == 0 && k < 4; k++) {
            struct owl_buf text;
            owl_buf_init(&text, 1 << 16);
            for (unsigned n = pick(&seed, k * 8 + 2); n > 0; n--)
                owl_buf_putz(&text, letters[pick(&seed, OWL_COUNT(letters))]);
            compare(pattern, p.b.p, p.size, owl_buf_str(&text));
            owl_buf_done(&text);
        }
        owl_buf_done(&copy);
        owl_buf_done(&p.b);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

TEST(searches_without_memory_fail, "")
{
    static const char *const patterns[] = {"(?=a)\\p{L}", "(a)\\1", "[a-z]{300}"};
    char text[2000];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < OWL_COUNT(patterns); i++) {
        int rc = -OWL_ENOMEM;
        for (unsigned long n = 1; rc == -OWL_ENOMEM; n++) {
            struct owl_arena *a = owl_arena_new(0);
            struct owl_matcher m;
            const struct owl_regex *re = NULL;
            bool found = false;
            owl_matcher_init(&m, 1000);
            owl_alloc_fail_at(n);
            rc = owl_regex_new(a, owl_str_of(patterns[i]), &re, NULL);
            if (rc == 0)
                rc = owl_regex_search(re, &m, (owl_str){text, sizeof text}, &found);
            owl_alloc_fail_at(0);
            assert_true(rc == -OWL_ENOMEM || (rc == 0 && found));
            owl_matcher_done(&m);
            owl_arena_free(a);
        }
    }
}

/* Where a lookaround holds is noted for each place of the text. */
TEST(many_lookarounds_take_no_more_memory_than_allowed, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 1 << 16);
    for (int i = 0; i < 600; i++)
        owl_buf_putz(&b, "(?=a)");
    owl_buf_putc(&b, '\0');
    char *text = calloc(1, MIB);
    assert_non_null(text);
    struct searching x;
    begin(&x, b.p);
    assert_int_equal(search(&x, (owl_str){text, MIB}, UINT64_MAX), -OWL_ELIMIT);
    assert_non_null(strstr(x.m.why, "memory"));
    end(&x);
    free(text);
    owl_buf_done(&b);
}

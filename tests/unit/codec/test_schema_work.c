/* Unit tests of codec/schema.h: judging within a budget. */
#include "schemas.h"

#include "base/buf.h"

static const char password[] = "{\"pattern\":\"(?=.*\\\\d)(?=.*[a-z]).{8,}\"}";

/* A string of @p n times "a", as JSON. The test ends the buffer. */
static owl_str string_of(struct owl_buf *b, size_t n)
{
    owl_buf_init(b, n + 2);
    owl_buf_putc(b, '"');
    for (size_t i = 0; i < n; i++)
        owl_buf_putc(b, 'a');
    owl_buf_putc(b, '"');
    assert_int_equal(b->rc, 0);
    return owl_buf_str(b);
}

static uint64_t steps_of(const struct owl_schema *s, owl_str instance)
{
    struct owl_schema_work work = {.used = 0};
    bool ok = false;
    assert_int_equal(owl_schema_validate_within(s, instance, &work, &ok, NULL), 0);
    return work.used;
}

/* 24,000 bytes once held a thread for a second and were charged 1,500 steps. */
TEST(a_small_budget_says_that_more_is_needed, "")
{
    struct owl_buf b;
    owl_str text = string_of(&b, 24000);
    struct owl_schema *s = compiled(password);
    struct owl_schema_work work = {.budget = 10000};
    owl_error err = {0};
    bool ok = true;
    assert_int_equal(owl_schema_validate_within(s, text, &work, &ok, &err), -OWL_EBUSY);
    assert_int_equal(err.code, OWL_EBUSY);
    assert_non_null(strstr(err.message, "10000 steps"));
    assert_true(work.used <= 10000 && work.used > 9000);
    assert_int_equal(owl_schema_validate(s, text, &ok, &err), 0);
    assert_false(ok);
    assert_true(steps_of(s, text) > 10000);
    owl_buf_done(&b);
    owl_schema_free(s);
}

TEST(explaining_has_a_budget_too, "")
{
    struct owl_buf b;
    owl_str text = string_of(&b, 24000);
    struct owl_schema *s = compiled(password);
    struct owl_schema_work work = {.budget = 10000};
    struct owl_arena *a = owl_arena_new(0);
    struct owl_explanation e = {0};
    assert_int_equal(owl_schema_explain_within(s, text, &work, a, &e, NULL), -OWL_EBUSY);
    assert_true(work.used <= 10000 && work.used > 9000);
    work.budget = 0;
    assert_int_equal(owl_schema_explain_within(s, text, &work, a, &e, NULL), 0);
    assert_int_equal(e.n, 1);
    assert_true(work.used > 10000);
    owl_arena_free(a);
    owl_buf_done(&b);
    owl_schema_free(s);
}

/* What has begun to be judged may stop anywhere: the answer is the verdict or "more". */
TEST(every_budget_gives_the_verdict_or_asks_for_more, "")
{
    static const struct {
        const char *schema, *instance;
    } cases[] = {
        {"{\"items\":{\"pattern\":\"^(?=.*\\\\d)[a-z0-9]+$\"}}", "[\"ab1\",\"x2\",\"é\"]"},
        {"{\"items\":{\"pattern\":\"(.)\\\\1\"}}", "[\"abba\",\"xx\",\"abc\"]"},
        {"{\"uniqueItems\":true,\"items\":{\"enum\":[[1],[2],{\"a\":[3]}]}}",
         "[[1],[2],{\"a\":[3]},[4]]"},
        {"{\"patternProperties\":{\"^[a-c]+$\":{\"type\":\"integer\"},\"d\":{\"minLength\":2}}}",
         "{\"abc\":1,\"d\":\"xy\",\"ad\":\"z\"}"},
        {"{\"anyOf\":[{\"required\":[\"x\"]},{\"dependentRequired\":{\"a\":[\"b\"]}}]}",
         "{\"a\":1,\"c\":[1,2,3]}"},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        struct owl_schema *s = compiled(cases[i].schema);
        owl_str instance = owl_str_of(cases[i].instance);
        bool whole = false, ok = false;
        assert_int_equal(owl_schema_validate(s, instance, &whole, NULL), 0);
        uint64_t all = steps_of(s, instance), answered = 0;
        for (uint64_t budget = 1; budget <= all + 2; budget++) {
            struct owl_schema_work work = {.budget = budget};
            int rc = owl_schema_validate_within(s, instance, &work, &ok, NULL);
            if (work.used > budget || (rc && rc != -OWL_EBUSY) || (rc == 0 && ok != whole))
                fail_msg("%s: %d of %u: %d", cases[i].schema, (int)work.used, (unsigned)budget, rc);
            answered += rc == 0;
        }
        assert_true(answered >= 2 && answered < all + 2);
        owl_schema_free(s);
    }
}

/* Asked for as much as the schema allows, a limit is a limit. */
TEST(the_limit_of_the_schema_is_final, "")
{
    struct owl_schema_options o = {.max_work = 5000};
    struct owl_schema *s = NULL;
    struct owl_buf b;
    owl_str text = string_of(&b, 24000);
    bool ok;
    assert_int_equal(owl_schema_compile(owl_str_of(password), &o, &s, NULL), 0);
    static const uint64_t budgets[] = {0, 5000, UINT64_MAX};
    for (size_t i = 0; i < OWL_COUNT(budgets); i++) {
        struct owl_schema_work work = {.budget = budgets[i]};
        assert_int_equal(owl_schema_validate_within(s, text, &work, &ok, NULL), -OWL_ELIMIT);
        assert_true(work.used <= 5000);
    }
    struct owl_schema_work work = {.budget = 4999};
    assert_int_equal(owl_schema_validate_within(s, text, &work, &ok, NULL), -OWL_EBUSY);
    owl_buf_done(&b);
    owl_schema_free(s);
    /* a limit that no budget would lift is told at once */
    s = compiled("{\"$ref\":\"#\"}");
    work = (struct owl_schema_work){.budget = 1000000};
    assert_int_equal(owl_schema_validate_within(s, OWL_STR("1"), &work, &ok, NULL), -OWL_ELIMIT);
    owl_schema_free(s);
}

TEST(a_text_that_takes_too_long_to_read_is_not_read, "")
{
    struct owl_buf b;
    owl_str text = string_of(&b, 1 << 20);
    struct owl_schema *s = compiled("{}");
    struct owl_schema_work work = {.budget = 1000};
    bool ok = false;
    assert_int_equal(owl_schema_validate_within(s, text, &work, &ok, NULL), -OWL_EBUSY);
    work.budget = 20000;
    assert_int_equal(owl_schema_validate_within(s, text, &work, &ok, NULL), 0);
    assert_true(ok && work.used >= (1 << 20) / 64);
    owl_buf_done(&b);
    owl_schema_free(s);
}

/* Some formats compile patterns: 20 bytes may become 60,000. */
TEST(formats_are_paid_for_by_what_they_take, "")
{
    static const struct {
        const char *schema, *instance;
        uint64_t least, most;
    } cases[] = {
        {"{\"format\":\"regex\"}", "\"((((((a?)?)?)?)?)?){1,900}\"", 20000, 60000},
        {"{\"format\":\"regex\"}", "\"^[a-z]{2,3}$\"", 60, 500},
        {"{\"format\":\"hostname\"}", "\"xn--bcher-kva.xn--tda.example\"", 6000, 7000},
        {"{\"format\":\"hostname\"}", "\"www.example.org\"", 1, 10},
        {"{\"format\":\"email\"}", "\"ann@xn--tda.example\"", 3000, 4000},
    };
    const struct owl_schema_options o = {.assert_format = true};
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        struct owl_schema *s = NULL;
        owl_str instance = owl_str_of(cases[i].instance);
        bool ok = true;
        assert_int_equal(owl_schema_compile(owl_str_of(cases[i].schema), &o, &s, NULL), 0);
        uint64_t steps = steps_of(s, instance);
        if (steps < cases[i].least || steps > cases[i].most)
            fail_msg("%s: %u steps", cases[i].instance, (unsigned)steps);
        struct owl_schema_work work = {.budget = steps / 2 + 1};
        int rc = owl_schema_validate_within(s, instance, &work, &ok, NULL);
        assert_true(work.used <= work.budget && (rc == -OWL_EBUSY || steps < 10));
        owl_schema_free(s);
    }
}

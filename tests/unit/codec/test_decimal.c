/* Unit tests of codec/decimal.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

#include "codec/decimal.h"

static struct owl_decimal d(const char *text)
{
    return owl_decimal_of(owl_str_of(text));
}

TEST(decimals_compare_by_value, "")
{
    /* Each is less than the next; those with "=" in front equal the one before. */
    static const char *const order[] = {
        "-1e1000000000000000000",
        "=-0.1e1000000000000000001",
        "-1e999999999999999999",
        "-1e400",
        "-10",
        "=-1e1",
        "=-10.0",
        "-9.99",
        "-0.1",
        "0",
        "=-0",
        "=0.000",
        "=0e7",
        "1e-4611686018427387905",
        "1e-4611686018427387904",
        "=0.01e-4611686018427387902",
        "1e-100000000000000001",
        "=10e-100000000000000002",
        "1e-100000000000000000",
        "=0.1e-99999999999999999",
        "1e-400",
        "0.1",
        "=0.10",
        "=1e-1",
        "=0.001E+2",
        "0.10000000000000000000000001",
        "1",
        "=1.0",
        "=10e-1",
        "9.5",
        "10",
        "=1E1",
        "9007199254740992",
        "9007199254740993",
        "1e400",
        "=10e399",
        "1e99999999999999999",
        "1e100000000000000000",
        "=10e99999999999999999",
        "=0.1e100000000000000001",
        "1e100000000000000001",
        "=10e+0100000000000000000",
        "1e999999999999999999",
        "1e4611686018427387904",
        "=100e4611686018427387902",
        "=0.01e4611686018427387906",
        "1e4611686018427387905",
        "1e99999999999999999999999999999999999999",
        "1e100000000000000000000000000000000000000",
        "=10e99999999999999999999999999999999999999",
    };
    int rank[OWL_COUNT(order)];
    for (size_t i = 0; i < OWL_COUNT(order); i++) {
        bool equal = order[i][0] == '=';
        rank[i] = i == 0 ? 0 : rank[i - 1] + !equal;
        for (size_t j = 0; j <= i; j++) {
            struct owl_decimal a = d(order[j] + (order[j][0] == '='));
            struct owl_decimal b = d(order[i] + equal);
            int want = rank[j] < rank[i] ? -1 : 0;
            if (owl_decimal_cmp(&a, &b) != want || owl_decimal_cmp(&b, &a) != -want)
                fail_msg("%s and %s", order[j], order[i]);
            if (want == 0)
                assert_int_equal(owl_decimal_hash(&a), owl_decimal_hash(&b));
        }
    }
}

TEST(every_digit_is_hashed, "")
{
    char text[1003], other[1003];
    memset(text, '7', sizeof text);
    text[1001] = '\0';
    memcpy(other, text, sizeof text);
    other[1000] = '8';
    struct owl_decimal a = d(text), b = d(other);
    assert_int_not_equal(owl_decimal_hash(&a), owl_decimal_hash(&b));
    memcpy(other, text, sizeof text);
    memmove(other + 601, other + 600, 402);
    other[600] = '.';
    text[1001] = 'e'; /* the same number, its point elsewhere */
    char long_one[1010], split_one[1010];
    snprintf(long_one, sizeof long_one, "%.1001se-1", text);
    snprintf(split_one, sizeof split_one, "%.1002se400", other);
    a = d(long_one);
    b = d(split_one);
    assert_int_equal(owl_decimal_cmp(&a, &b), 0);
    assert_int_equal(owl_decimal_hash(&a), owl_decimal_hash(&b));
}

TEST(integers_are_told_by_value, "")
{
    static const char *const yes[] = {"0", "-0.0", "1", "1.0", "1.50e1", "100", "1e3", "-7"};
    static const char *const no[] = {"0.1", "1.5", "1e-1", "100.001", "1.55e1"};
    for (size_t i = 0; i < OWL_COUNT(yes); i++) {
        struct owl_decimal x = d(yes[i]);
        assert_true(owl_decimal_is_integer(&x));
    }
    for (size_t i = 0; i < OWL_COUNT(no); i++) {
        struct owl_decimal x = d(no[i]);
        assert_false(owl_decimal_is_integer(&x));
    }
}

TEST(small_integers_convert, "")
{
    uint64_t v = 7;
    struct owl_decimal x = d("18446744073709551615");
    assert_true(owl_decimal_u64(&x, UINT64_MAX, &v));
    assert_true(v == UINT64_MAX);
    assert_false(owl_decimal_u64(&x, UINT64_MAX - 1, &v));
    static const char *const no[] = {"18446744073709551616", "-1", "1.5", "1e30"};
    for (size_t i = 0; i < OWL_COUNT(no); i++) {
        x = d(no[i]);
        assert_false(owl_decimal_u64(&x, UINT64_MAX, &v));
    }
    x = d("1.20e2");
    assert_true(owl_decimal_u64(&x, 120, &v));
    assert_int_equal(v, 120);
    x = d("0");
    assert_true(owl_decimal_u64(&x, 0, &v));
    assert_int_equal(v, 0);
}

TEST(integers_with_a_sign_convert, "")
{
    static const struct {
        const char *text;
        int64_t value;
        bool is;
    } cases[] = {
        {"0", 0, true},
        {"-0.0", 0, true},
        {"-1.20e2", -120, true},
        {"9223372036854775807.0", INT64_MAX, true},
        {"-9223372036854775808", INT64_MIN, true},
        {"9223372036854775808", 0, false},
        {"-9223372036854775809", 0, false},
        {"-1.5", 0, false},
        {"1e19", 0, false},
        {"-1e999999999999999999999", 0, false},
        {"1e-999999999999999999999", 0, false},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        int64_t v = 0;
        struct owl_decimal x = d(cases[i].text);
        assert_true(owl_decimal_i64(&x, &v) == cases[i].is);
        assert_true(v == cases[i].value);
    }
}

/* strtod() rounds correctly, and no test sets another locale here. */
TEST(decimals_round_to_the_nearest_double, "")
{
    static const char *const cases[] = {
        "0",
        "-0.0",
        "1",
        "-1.5",
        "0.1",
        "19.99",
        "123456789012345678901",
        "1e23",
        "1e308",
        "1e309",
        "-1e400",
        "5e-324",
        "2e-324",
        "1e-400",
        "1e-310",
        "1.0e-99",
        "9e9999",
        "-1e9999",
        "1e-999999",
        "0.000e-99",
        "0.99999999999999999999",
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        struct owl_decimal x = d(cases[i]);
        assert_true(owl_decimal_double(&x) == strtod(cases[i], NULL));
    }
    struct owl_decimal far = d("1e99999999999999999999"), near = d("-1e-99999999999999999999");
    assert_true(owl_decimal_double(&far) == (double)INFINITY);
    assert_true(owl_decimal_double(&near) == 0);
}

/* Just above the middle of two doubles, which only the last of very many digits says. */
TEST(every_digit_counts_when_decimals_are_rounded, "")
{
    char text[2000];
    int n = snprintf(text, sizeof text, "1.00000000000000011102230246251565404236316680908203125");
    memset(text + n, '0', 1500);
    text[n + 1500] = '\0';
    struct owl_decimal even = d(text);
    assert_true(owl_decimal_double(&even) == 1.0);
    text[n + 1499] = '1';
    struct owl_decimal above = d(text);
    assert_true(owl_decimal_double(&above) == 1.0 + 0x1p-52);
}

TEST(numbers_that_doubles_do_not_tell_apart_are_known, "")
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"1", "2", false},
        {"1", "0.99999999999999999999", true},
        {"-1", "0.99999999999999999999", false},
        {"10", "9.9999999999999999999999", true},
        {"0.1", "0.099999999999999999999999", true},
        {"0", "0.00000000000000000001", false},
        {"0", "1e-400", true},
        {"0", "-1e-99999999999999999999", true},
        {"0", "5e-324", false},
        {"1e-323", "1.1e-323", true},
        {"1e400", "2e399", true},
        {"1e400", "-2e399", false},
        {"1e22", "1.000000000000000000001e22", true},
        {"1e23", "1.00000000000001e23", false},
        {"9007199254740992", "9007199254740993", true},
        {"123456789012345678", "12345678901234567", false},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        struct owl_decimal a = d(cases[i].a), b = d(cases[i].b);
        assert_true(owl_decimal_same_double(&a, &b) == cases[i].same);
        assert_true(owl_decimal_same_double(&b, &a) == cases[i].same);
        assert_true((strtod(cases[i].a, NULL) == strtod(cases[i].b, NULL)) == cases[i].same);
    }
}

TEST(multiples_are_exact, "")
{
    static const struct {
        const char *number, *divisor;
        bool is;
    } cases[] = {
        {"0", "3", true},
        {"9", "3", true},
        {"10", "3", false},
        {"19.99", "0.01", true},
        {"19.995", "0.01", false},
        {"1e308", "0.5", true},
        {"3e99999", "3", true},
        {"1e99999", "3", false},
        {"12391239123", "1e-8", true},
        {"-4.5", "1.5", true},
        {"0.3", "0.1", true},
        {"1", "1000", false},
        {"1000", "1e3", true},
        {"1e-9", "1e-8", false},
        {"999999999999999999", "999999999999999999", true},
        {"123456789012345678901234567890", "10", true},
        {"123456789012345678901234567891", "10", false},
        {"1e4611686018427387905", "1e4611686018427387904", true},
        {"1e4611686018427387905", "2e4611686018427387904", true},
        {"1e4611686018427387905", "3e4611686018427387904", false},
        {"1e4611686018427387904", "1e4611686018427387905", false},
        {"3e4611686018427387904", "0.03", true},
        {"1e4611686018427387904", "1024", true},
        {"1e4611686018427387904", "3", false},
        {"1e-4611686018427387904", "1", false},
        {"1", "1e-4611686018427387904", true},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        struct owl_decimal n = d(cases[i].number), by = d(cases[i].divisor);
        if (owl_decimal_is_multiple(&n, &by) != cases[i].is)
            fail_msg("%s by %s", cases[i].number, cases[i].divisor);
    }
}

/* codec/decimal.c - numbers as they are written, compared exactly.
 * Threads: pure.
 *
 * Invariant: p points to a digit that is not 0 and so does end - 1, or p == end; equal numbers have
 * equal digits and, unless the exponent is beyond, an equal top. */
#include "codec/decimal.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"

static const int64_t EXPONENT_MAX = INT64_C(100000000000000000);

__extension__ typedef unsigned __int128 wide;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Of what stands behind the "e"; beyond ±EXPONENT_MAX it is that. */
static int64_t exponent_of(owl_str s, bool *ret_beyond)
{
    const char *p = s.p, *end = s.p + s.n;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    int64_t e = 0;
    for (; p < end && e <= EXPONENT_MAX; p++)
        e = e * 10 + (*p - '0');
    *ret_beyond = e > EXPONENT_MAX;
    if (e > EXPONENT_MAX)
        e = EXPONENT_MAX;
    return negative ? -e : e;
}

struct owl_decimal owl_decimal_of(owl_str proved_number)
{
    const owl_str s = proved_number;
    struct owl_decimal d = {.negative = s.n > 0 && s.p[0] == '-'};
    const char *end = s.p + s.n, *point = NULL, *tail = s.p + d.negative;
    while (tail < end && (is_digit(*tail) || *tail == '.')) {
        if (*tail == '.')
            point = tail;
        tail++;
    }
    if (!point)
        point = tail;
    int64_t exponent = 0;
    if (tail < end) {
        d.exponent = (owl_str){tail + 1, (size_t)(end - tail - 1)};
        exponent = exponent_of(d.exponent, &d.beyond);
    }
    d.p = s.p + d.negative;
    d.end = tail;
    while (d.p < d.end && (*d.p == '0' || *d.p == '.'))
        d.p++;
    if (d.p == d.end)
        return (struct owl_decimal){.p = d.p, .end = d.p};
    while (d.end[-1] == '0' || d.end[-1] == '.')
        d.end--;
    bool split = d.p < point && point < d.end;
    d.digits = (uint32_t)(d.end - d.p - split);
    /* Before the point every digit is a place; behind it every zero that was passed is one less. */
    d.top = exponent + (d.p < point ? point - d.p : point + 1 - d.p);
    return d;
}

static char next_digit(const char **p)
{
    if (**p == '.')
        ++*p;
    return *(*p)++;
}

/* The digits of an exponent without zeros in front. */
static owl_str exponent_digits(owl_str s, bool *ret_negative)
{
    *ret_negative = s.n > 0 && s.p[0] == '-';
    while (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+' || s.p[0] == '0'))
        s = (owl_str){s.p + 1, s.n - 1};
    return s;
}

/* The difference of two exponents, of which at least one is beyond ±EXPONENT_MAX, exactly unless it
 * is greater than any number has digits. */
static int64_t exponent_difference(owl_str a, owl_str b)
{
    static const int64_t FAR = INT64_C(1000000000000000);
    bool negative, other;
    a = exponent_digits(a, &negative);
    b = exponent_digits(b, &other);
    if (negative != other)
        return negative ? -FAR : FAR;
    size_t n = a.n > b.n ? a.n : b.n;
    int64_t v = 0;
    for (size_t i = n; i > 0 && v < FAR && v > -FAR; i--)
        v = v * 10 + (i <= a.n ? a.p[a.n - i] - '0' : 0) - (i <= b.n ? b.p[b.n - i] - '0' : 0);
    return negative ? -v : v;
}

/* The difference of a->top and b->top; those are at most a few bytes off the exponent. */
static int64_t top_difference(const struct owl_decimal *a, const struct owl_decimal *b)
{
    if (OWL_LIKELY(!a->beyond && !b->beyond))
        return a->top - b->top;
    bool beyond;
    int64_t x = a->exponent.n > 0 ? a->top - exponent_of(a->exponent, &beyond) : a->top;
    int64_t y = b->exponent.n > 0 ? b->top - exponent_of(b->exponent, &beyond) : b->top;
    return exponent_difference(a->exponent, b->exponent) + x - y;
}

/* Compares what is not zero, signs aside. */
static int cmp_size(const struct owl_decimal *a, const struct owl_decimal *b)
{
    int64_t higher = top_difference(a, b);
    if (higher != 0)
        return higher < 0 ? -1 : 1;
    const char *p = a->p, *q = b->p;
    uint32_t n = a->digits < b->digits ? a->digits : b->digits;
    for (uint32_t i = 0; i < n; i++) {
        char x = next_digit(&p), y = next_digit(&q);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return a->digits < b->digits ? -1 : a->digits > b->digits;
}

static int sign(const struct owl_decimal *d)
{
    if (d->p == d->end)
        return 0;
    return d->negative ? -1 : 1;
}

int owl_decimal_cmp(const struct owl_decimal *a, const struct owl_decimal *b)
{
    int s = sign(a), t = sign(b);
    if (s != t)
        return s < t ? -1 : 1;
    if (s == 0)
        return 0;
    return s > 0 ? cmp_size(a, b) : cmp_size(b, a);
}

bool owl_decimal_is_integer(const struct owl_decimal *d)
{
    return d->top >= (int64_t)d->digits;
}

bool owl_decimal_u64(const struct owl_decimal *d, uint64_t max, uint64_t *ret)
{
    if (d->negative || !owl_decimal_is_integer(d) || d->top > 20)
        return false;
    wide v = 0;
    const char *p = d->p;
    for (int64_t i = 0; i < d->top; i++)
        v = v * 10 + (i < (int64_t)d->digits ? (unsigned)(next_digit(&p) - '0') : 0);
    if (v > max)
        return false;
    *ret = (uint64_t)v;
    return true;
}

bool owl_decimal_i64(const struct owl_decimal *d, int64_t *ret)
{
    struct owl_decimal size = *d;
    uint64_t v;
    size.negative = false;
    if (!owl_decimal_u64(&size, (uint64_t)INT64_MAX + d->negative, &v))
        return false;
    *ret = d->negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

double owl_decimal_double(const struct owl_decimal *d)
{
    /* No number in the middle between two doubles has as many digits: of what follows it matters
     * only that it is not 0. Without a point, strtod() knows no locale. */
    enum { DIGITS = 800, FAR = 10000 };
    char text[DIGITS + 32], *end = text;
    const char *p = d->p;
    uint32_t n = d->digits < DIGITS ? d->digits : DIGITS;
    int64_t top = d->top > FAR ? FAR : d->top < -FAR ? -FAR : d->top;
    if (n == 0)
        return 0;
    if (d->negative)
        *end++ = '-';
    for (uint32_t i = 0; i < n; i++)
        *end++ = next_digit(&p);
    if (n < d->digits)
        *end++ = '1';
    int64_t exponent = top - (end - text - d->negative);
    (void)snprintf(end, (size_t)(text + sizeof text - end), "e%lld", (long long)exponent);
    return strtod(text, NULL);
}

/* Zero, or within the range in which doubles have all their digits. */
static bool is_normal(const struct owl_decimal *d)
{
    return d->digits == 0 || (d->top > DBL_MIN_10_EXP && d->top <= DBL_MAX_10_EXP);
}

bool owl_decimal_same_double(const struct owl_decimal *a, const struct owl_decimal *b)
{
    if (OWL_LIKELY(is_normal(a) && is_normal(b))) {
        int64_t higher = a->top - b->top;
        if (a->digits <= DBL_DIG && b->digits <= DBL_DIG)
            return false;
        if (a->digits == 0 || b->digits == 0 || higher > 1 || higher < -1)
            return false;
    }
    return owl_decimal_double(a) == owl_decimal_double(b);
}

uint64_t owl_decimal_hash(const struct owl_decimal *d)
{
    /* Piece by piece, each with the hash of those before it: of numbers that agree in some digits
     * only, many would have to be compared one by one. */
    enum { PIECE = 64 };
    char bytes[PIECE + sizeof(uint64_t)];
    /* Near the greatest exponents the top is not exact: there it tells nothing. */
    int64_t top = d->top, most = EXPONENT_MAX - UINT32_MAX;
    if (top > most || top < -most)
        top = top < 0 ? -most : most;
    uint64_t hash = (uint64_t)top * 2 + d->negative;
    const char *p = d->p;
    uint32_t i = 0;
    do {
        size_t n = 0;
        for (; n < PIECE && i < d->digits; i++)
            bytes[n++] = next_digit(&p);
        memcpy(bytes + n, &hash, sizeof hash);
        hash = owl_hash((owl_str){bytes, n + sizeof hash});
    } while (i < d->digits);
    return hash;
}

static uint64_t mul_mod(uint64_t a, uint64_t b, uint64_t m)
{
    return (uint64_t)((wide)a * (wide)b % (wide)m);
}

static uint64_t ten_to_mod(uint64_t exponent, uint64_t m)
{
    uint64_t result = 1 % m, base = 10 % m;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result = mul_mod(result, base, m);
        base = mul_mod(base, base, m);
    }
    return result;
}

bool owl_decimal_is_multiple(const struct owl_decimal *d, const struct owl_decimal *divisor)
{
    if (d->p == d->end)
        return true;
    /* d = a × 10^x and divisor = b × 10^y, where 10 divides neither a nor b. If x < y, then
     * a = k × b × 10^(y - x) would be divided by 10. If x - y is so great that it is not exact, any
     * that is great does: 10^60 already has all factors 2 and 5 that b can have. */
    int64_t up = top_difference(d, divisor) - (int64_t)d->digits + (int64_t)divisor->digits;
    if (up < 0)
        return false;
    uint64_t b = 0, rest = 0;
    const char *p = divisor->p;
    for (uint32_t i = 0; i < divisor->digits; i++)
        b = b * 10 + (uint64_t)(next_digit(&p) - '0');
    OWL_ASSERT(b > 0);
    p = d->p;
    for (uint32_t i = 0; i < d->digits; i++)
        rest = (uint64_t)(((wide)rest * 10 + (wide)(next_digit(&p) - '0')) % (wide)b);
    return mul_mod(rest, ten_to_mod((uint64_t)up, b), b) == 0;
}

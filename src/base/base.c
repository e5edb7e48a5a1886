/* base/base.c - byte spans and the failed check.
 * Threads: pure. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void owl_assert_failed(const char *cond, const char *file, int line)
{
    fprintf(stderr, "owlclaw: broken invariant: %s (%s:%d)\n", cond, file, line);
    abort();
}

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* Eight bytes at once: they may differ in the bit that makes a letter small, and only in
 * letters. */
static bool eight_equal(const char *p, const char *q)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;
    uint64_t x, y;
    memcpy(&x, p, 8);
    memcpy(&y, q, 8);
    uint64_t differ = x ^ y, small = x | ones * 0x20;
    if (differ & ~(ones * 0x20))
        return false;
    /* Of bytes below 0x80: the top bit says "at least a", "above z". */
    uint64_t low = small & ~tops;
    uint64_t letters = (low + ones * (0x80 - 'a')) & ~(low + ones * (0x7f - 'z')) & ~x & tops;
    return ((differ << 2) & ~letters) == 0;
}

bool owl_str_ieq(owl_str a, owl_str b)
{
    if (a.n != b.n)
        return false;
    size_t i = 0;
    for (; i + 8 <= a.n; i += 8) {
        if (!eight_equal(a.p + i, b.p + i))
            return false;
    }
    if (i > 0) /* the rest, with some of what is known already */
        return i == a.n || eight_equal(a.p + a.n - 8, b.p + a.n - 8);
    for (; i < a.n; i++) {
        if (a.p[i] != b.p[i] && lower(a.p[i]) != lower(b.p[i]))
            return false;
    }
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

owl_str owl_str__trim(owl_str s)
{
    while (s.n > 0 && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool owl_str_split(owl_str *rest, char sep, owl_str *ret_part)
{
    if (!rest->p)
        return false;
    const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
    if (!at) {
        *ret_part = *rest;
        *rest = (owl_str){NULL, 0};
        return true;
    }
    size_t n = (size_t)(at - rest->p);
    *ret_part = (owl_str){rest->p, n};
    *rest = (owl_str){at + 1, rest->n - n - 1};
    return true;
}

bool owl_str_u64(owl_str s, uint64_t max, uint64_t *ret)
{
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(s.p[i] - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (s.n == 0 || v > max)
        return false;
    *ret = v;
    return true;
}

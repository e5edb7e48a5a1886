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

bool owl_str_ieq(owl_str a, owl_str b)
{
    if (a.n != b.n)
        return false;
    size_t i = 0;
    for (uint64_t x, y; i + 8 <= a.n; i += 8) { /* eight at a time while they are the same */
        memcpy(&x, a.p + i, 8);
        memcpy(&y, b.p + i, 8);
        if (x == y)
            continue;
        if ((x ^ y) & ~UINT64_C(0x2020202020202020))
            return false;
        for (size_t k = i; k < i + 8; k++) {
            if (a.p[k] != b.p[k] && lower(a.p[k]) != lower(b.p[k]))
                return false;
        }
    }
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

owl_str owl_str_trim(owl_str s)
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

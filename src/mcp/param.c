/* mcp/param.c - whether an Mcp-Param-* header says what the argument says.
 *
 * Pure, any thread. Numbers are compared as text, so that none is too long to be compared well. */
#include "mcp/param.h"

#include "base/err.h"
#include "codec/scan.h"
#include "mcp/headers.h"
#include "mcp/internal.h"

enum { EXPONENT_MAX = 1 << 20 };

/* ---- numbers --------------------------------------------------------------------------------- */

/* 0.digits times ten to the power of top. */
struct decimal {
    bool negative;
    owl_str digits; /* from the first that is not 0, maybe with a point among them; empty: zero */
    int64_t top;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take_sign(owl_str *s)
{
    bool negative = s->n > 0 && s->p[0] == '-';
    if (negative || (s->n > 0 && s->p[0] == '+')) {
        s->p++;
        s->n--;
    }
    return negative;
}

/* What follows the digits: nothing, or e and a number of moderate size. */
static bool read_exponent(owl_str s, int64_t *ret)
{
    *ret = 0;
    if (s.n == 0)
        return true;
    if (s.p[0] != 'e' && s.p[0] != 'E')
        return false;
    s = (owl_str){s.p + 1, s.n - 1};
    bool negative = take_sign(&s);
    uint64_t value;
    if (!owl_str_u64(s, EXPONENT_MAX, &value))
        return false;
    *ret = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool read_decimal(owl_str s, struct decimal *ret)
{
    ret->negative = take_sign(&s);
    size_t n = 0, n_digits = 0, point = SIZE_MAX, first = SIZE_MAX;
    for (; n < s.n && (is_digit(s.p[n]) || (s.p[n] == '.' && point == SIZE_MAX)); n++) {
        if (s.p[n] == '.')
            point = n;
        else
            n_digits++;
        if (first == SIZE_MAX && s.p[n] != '.' && s.p[n] != '0')
            first = n;
    }
    if (n_digits == 0 || !read_exponent((owl_str){s.p + n, s.n - n}, &ret->top))
        return false;
    if (first == SIZE_MAX) {
        *ret = (struct decimal){.digits = OWL_STR("")};
        return true;
    }
    ret->digits = (owl_str){s.p + first, n - first};
    if (point == SIZE_MAX)
        point = n;
    ret->top += (int64_t)point - (int64_t)first + (first > point ? 1 : 0);
    return true;
}

/* The next digit; 0 without end behind the last one. */
static char next_digit(owl_str *digits)
{
    while (digits->n > 0) {
        char c = *digits->p++;
        digits->n--;
        if (c != '.')
            return c;
    }
    return '0';
}

static bool same_number(owl_str a, owl_str b)
{
    struct decimal x, y;
    if (!read_decimal(a, &x) || !read_decimal(b, &y))
        return owl_str_eq(a, b);
    if (x.negative != y.negative || x.top != y.top)
        return false;
    while (x.digits.n > 0 || y.digits.n > 0) {
        if (next_digit(&x.digits) != next_digit(&y.digits))
            return false;
    }
    return true;
}

/* ---- the check ------------------------------------------------------------------------------- */

static bool says(owl_str text, owl_str argument)
{
    if (owl_span_is_string(argument))
        return owl_span_str_eq(argument, text);
    if (is_digit(argument.p[0]) || argument.p[0] == '-')
        return same_number(text, argument);
    return owl_str_eq(text, argument);
}

static int check_absent(const struct owl_mcp_param *p, owl_error *reterr)
{
    if (!p->header.p)
        return 0;
    return owl_fail(reterr, OWL_EHEADER,
                    "the Mcp-Param-%s header says '%s', but its argument is absent or null",
                    owl_mcp__show(p->name).z, owl_mcp__show(p->header).z);
}

int owl_mcp_param_check(struct owl_arena *a, const struct owl_mcp_param *p, owl_error *reterr)
{
    if (!p->argument.p || owl_str_is(p->argument, "null"))
        return check_absent(p, reterr);
    if (owl_span_is_object(p->argument) || owl_span_is_array(p->argument))
        return 0;

    struct owl_mcp__shown name = owl_mcp__show(p->name);
    struct owl_mcp__shown want = owl_mcp__show(p->argument);
    if (p->twice)
        return owl_fail(reterr, OWL_EHEADER,
                        "the header Mcp-Param-%s is there more than once, with different values; "
                        "send it once",
                        name.z);
    if (!p->header.p)
        return owl_fail(reterr, OWL_EHEADER,
                        "the Mcp-Param-%s header is missing; send the value of its argument, %s",
                        name.z, want.z);
    owl_str text;
    owl_error why;
    int rc = owl_mcp_header_decode(a, p->header, &text, &why);
    if (rc != 0)
        return owl_fail(reterr, -rc, "Mcp-Param-%s: %s", name.z, why.message);
    if (says(text, p->argument))
        return 0;
    return owl_fail(reterr, OWL_EHEADER, "the Mcp-Param-%s header says '%s', its argument is %s",
                    name.z, owl_mcp__show(p->header).z, want.z);
}

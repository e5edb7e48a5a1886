/* formats/yaml_scalar.c - scalars by the core schema of YAML 1.2.
 * Threads: pure.
 *
 * What is not a number, a boolean or null is a string: "no", 1_000, 12:30 and 2024-01-01 are. */
#include "formats/yaml_parts.h"

enum meaning {
    STRING,
    NOTHING,
    NO,
    YES,
    INTEGER,
    OCTAL,
    HEXADECIMAL,
    FLOAT,
    INFINITE,
    NOT_A_NUMBER
};

static bool one_of(owl_str text, const char *a, const char *b, const char *c)
{
    return owl_str_is(text, a) || owl_str_is(text, b) || owl_str_is(text, c);
}

bool owl_yaml__is_null(owl_str text)
{
    return text.n == 0 || owl_str_is(text, "~") || one_of(text, "null", "Null", "NULL");
}

static size_t run_of(owl_str s, size_t from, const char *set)
{
    size_t n = 0;
    while (from + n < s.n && s.p[from + n] != '\0' && strchr(set, s.p[from + n]))
        n++;
    return n;
}

static const char digits[] = "0123456789";

/* The parts of a decimal number. */
struct decimal {
    bool negative, point, exponent;
    owl_str whole, fraction, power; /* the power with its sign */
};

static bool read_decimal(owl_str s, struct decimal *ret)
{
    struct decimal d = {.negative = s.n > 0 && s.p[0] == '-'};
    size_t at = s.n > 0 && (s.p[0] == '-' || s.p[0] == '+');
    d.whole = (owl_str){s.p + at, run_of(s, at, digits)};
    at += d.whole.n;
    if (at < s.n && s.p[at] == '.') {
        d.point = true;
        at++;
        d.fraction = (owl_str){s.p + at, run_of(s, at, digits)};
        at += d.fraction.n;
    }
    if (d.whole.n + d.fraction.n == 0)
        return false;
    if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
        d.exponent = true;
        size_t sign = ++at < s.n && (s.p[at] == '-' || s.p[at] == '+');
        size_t n = run_of(s, at + sign, digits);
        if (n == 0)
            return false;
        d.power = (owl_str){s.p + at, sign + n};
        at += sign + n;
    }
    *ret = d;
    return at == s.n;
}

static enum meaning meaning_of(owl_str s)
{
    if (owl_yaml__is_null(s))
        return NOTHING;
    if (one_of(s, "true", "True", "TRUE"))
        return YES;
    if (one_of(s, "false", "False", "FALSE"))
        return NO;
    if (s.n > 2 && s.p[0] == '0' && s.p[1] == 'o' && run_of(s, 2, "01234567") == s.n - 2)
        return OCTAL;
    if (s.n > 2 && s.p[0] == '0' && s.p[1] == 'x' &&
        run_of(s, 2, "0123456789abcdefABCDEF") == s.n - 2)
        return HEXADECIMAL;
    if (one_of(s, ".nan", ".NaN", ".NAN"))
        return NOT_A_NUMBER;
    size_t sign = s.p[0] == '-' || s.p[0] == '+';
    if (one_of((owl_str){s.p + sign, s.n - sign}, ".inf", ".Inf", ".INF"))
        return INFINITE;
    struct decimal d;
    if (!read_decimal(s, &d))
        return STRING;
    return d.point || d.exponent ? FLOAT : INTEGER;
}

/* As JSON writes it: no plus, no leading zeros, digits on both sides of the point. */
static void put_decimal(struct owl_buf *b, owl_str s)
{
    struct decimal d = {0};
    OWL_ASSERT(read_decimal(s, &d));
    if (d.negative)
        owl_buf_putc(b, '-');
    size_t zeros = run_of(d.whole, 0, "0");
    if (zeros == d.whole.n)
        owl_buf_putc(b, '0');
    else
        owl_buf_put(b, d.whole.p + zeros, d.whole.n - zeros);
    if (d.fraction.n > 0) {
        owl_buf_putc(b, '.');
        owl_buf_puts(b, d.fraction);
    }
    if (d.exponent) {
        owl_buf_putc(b, 'e');
        owl_buf_puts(b, d.power);
    }
}

static int put_power_of_two(struct owl_buf *b, owl_str s, unsigned bits)
{
    uint64_t n = 0;
    for (size_t i = 2; i < s.n; i++) {
        char c = s.p[i];
        unsigned digit = c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
        if (n >> (64 - bits))
            return -OWL_ELIMIT;
        n = n << bits | digit;
    }
    owl_buf_putu(b, n);
    return 0;
}

static bool fits(enum owl_yaml__tag tag, enum meaning m)
{
    switch (tag) {
    case OWL_TAG_NONE:
    case OWL_TAG_STR: return true;
    case OWL_TAG_INT: return m == INTEGER || m == OCTAL || m == HEXADECIMAL;
    case OWL_TAG_FLOAT: return m == INTEGER || m == FLOAT || m == INFINITE || m == NOT_A_NUMBER;
    case OWL_TAG_BOOL: return m == YES || m == NO;
    case OWL_TAG_NULL: return m == NOTHING;
    case OWL_TAG_MAP:
    case OWL_TAG_SEQ:
    case OWL_TAG_UNKNOWN: break;
    }
    return false;
}

/* The text of a number. */
static int put_number(struct owl_buf *b, owl_str text, enum meaning m)
{
    switch (m) {
    case OCTAL: return put_power_of_two(b, text, 3);
    case HEXADECIMAL: return put_power_of_two(b, text, 4);
    case INFINITE: owl_buf_putz(b, text.p[0] == '-' ? "-inf" : "inf"); return 0;
    case NOT_A_NUMBER: owl_buf_putz(b, "nan"); return 0;
    default: put_decimal(b, text); return 0;
    }
}

int owl_yaml__scalar(struct owl_arena *a, owl_str text, enum owl_yaml__tag tag, struct owl_value *v)
{
    static const uint8_t kinds[] = {
        [STRING] = OWL_NODE_STRING,
        [NOTHING] = OWL_NODE_NULL,
        [NO] = OWL_NODE_FALSE,
        [YES] = OWL_NODE_TRUE,
    };
    enum meaning m = tag == OWL_TAG_STR ? STRING : meaning_of(text);
    if (!fits(tag, m))
        return -OWL_EPARSE;
    v->kind = m < INTEGER ? kinds[m] : OWL_NODE_NUMBER;
    v->form = m == INFINITE || m == NOT_A_NUMBER ? OWL_FORM_NOT_FINITE : OWL_FORM_PLAIN;
    if (m == STRING) {
        v->text = (owl_str){owl_arena_dup(a, text), text.n};
        return v->text.p ? 0 : -OWL_ENOMEM;
    }
    if (m < INTEGER)
        return 0;
    struct owl_buf b;
    owl_buf_init_arena(&b, a, SIZE_MAX);
    int rc = put_number(&b, text, m);
    owl_buf_putc(&b, '\0');
    if (rc || b.rc)
        return b.rc ? -OWL_ENOMEM : rc;
    v->text = (owl_str){b.p, b.n - 1};
    return 0;
}

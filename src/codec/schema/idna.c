/* codec/schema/idna.c - labels of internationalised host names (RFC 3492, RFC 5892).
 * Threads: pure. */
#include "codec/schema/program.h"

enum { LABEL_MAX = 63 };

/* What a label may not hold, as a regular expression: a mark in front, characters that are neither
 * letters, marks nor digits, those that are disallowed by name, and those that need a neighbour. */
static const char faulty[] =
    "^\\p{M}"
    "|[^\\p{Ll}\\p{Lm}\\p{Lo}\\p{Mn}\\p{Mc}\\p{Nd}\\-"
    "\\u00b7\\u0375\\u05f3\\u05f4\\u30fb\\u200c\\u200d"
    "\\u06fd\\u06fe\\u0f0b\\u3007]"
    "|[\\u0640\\u07fa\\u302e\\u302f\\u3031-\\u3035\\u303b]"
    "|(?<!l)\\u00b7|\\u00b7(?!l)"
    "|\\u0375(?!\\p{Script=Greek})"
    "|(?<!\\p{Script=Hebrew})[\\u05f3\\u05f4]"
    "|^(?!.*[\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Han}]).*\\u30fb"
    "|[\\u0660-\\u0669].*[\\u06f0-\\u06f9]|[\\u06f0-\\u06f9].*[\\u0660-\\u0669]"
    /* a joiner needs a virama before it; a non-joiner may stand between joining letters instead */
    "|(?<![\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca\\u0e3a\\u0f84])"
    "\\u200d"
    "|(?<![\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca\\u0e3a\\u0f84\\p{"
    "Script="
    "Arabic}\\p{Script=Syriac}])\\u200c";

static unsigned adapt(unsigned delta, unsigned points, bool first)
{
    delta = first ? delta / 700 : delta / 2;
    delta += delta / points;
    unsigned k = 0;
    for (; delta > 455; k += 36)
        delta /= 35;
    return k + 36 * delta / (delta + 38);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0' + 26;
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'z' ? lower - 'a' : -1;
}

/* Takes one generalised integer off @p s. */
static bool take_delta(owl_str *s, unsigned bias, unsigned *ret)
{
    uint64_t delta = 0, w = 1;
    for (unsigned k = 36;; k += 36) {
        int digit = s->n > 0 ? digit_of(s->p[0]) : -1;
        if (digit < 0)
            return false;
        *s = (owl_str){s->p + 1, s->n - 1};
        delta += (uint64_t)digit * w;
        if (delta > 0x10ffff * (uint64_t)(LABEL_MAX + 1))
            return false;
        unsigned t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if ((unsigned)digit < t)
            break;
        w *= 36 - t;
    }
    *ret = (unsigned)delta;
    return true;
}

/* The code points of a label; 0 if it is no Punycode. */
static unsigned decode(owl_str s, unsigned points[LABEL_MAX + 1])
{
    unsigned n = 0, code = 128, i = 0, bias = 72;
    bool first = true;
    size_t basic = s.n;
    while (basic > 0 && s.p[basic - 1] != '-')
        basic--;
    if (s.n > LABEL_MAX)
        return 0;
    for (; n + 1 < basic; n++)
        points[n] = (unsigned char)s.p[n];
    s = (owl_str){s.p + basic, s.n - basic};
    while (s.n > 0 && n < LABEL_MAX) {
        unsigned delta;
        if (!take_delta(&s, bias, &delta))
            return 0;
        n++;
        bias = adapt(delta, n, first);
        first = false;
        i += delta;
        code += i / n;
        i %= n;
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return 0;
        memmove(points + i + 1, points + i, (n - 1 - i) * sizeof *points);
        points[i++] = code;
    }
    return code > 128 ? n : 0;
}

static size_t encode(unsigned c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char heads[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(heads[more] | c >> (6 * more));
    for (unsigned k = more; k-- > 0;)
        out[more - k] = (char)(0x80 | (c >> (6 * k) & 0x3f));
    return more + 1;
}

bool owl_idna__label(owl_str punycode)
{
    unsigned points[LABEL_MAX + 1];
    char text[4 * (LABEL_MAX + 1)];
    unsigned n = decode(punycode, points);
    size_t bytes = 0;
    for (unsigned i = 0; i < n; i++)
        bytes += encode(points[i], text + bytes);
    owl_str label = {text, bytes};
    if (n == 0 || (n >= 4 && text[2] == '-' && text[3] == '-'))
        return false;
    struct owl_arena *a = owl_arena_new(0);
    struct owl_matcher m;
    owl_matcher_init(&m, 10000);
    const struct owl_regex *re;
    bool found = true;
    if (a && owl_regex_new(a, owl_str_of(faulty), &re, NULL) == 0 &&
        owl_regex_search(re, &m, label, &found))
        found = true;
    owl_matcher_done(&m);
    owl_arena_free(a);
    return !found;
}

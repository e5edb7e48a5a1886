/* codec/regex/translate.c - expressions of ECMA-262 in the words of PCRE2.
 * Threads: pure.
 *
 * The translation goes once over the pattern, atom by atom. Invariant: what it lets through means
 * the same to PCRE2 (with the options of regex.c) as to ECMA-262 with the flag "u"; only a brace
 * that stands for itself is let through though "u" would refuse it, because schemas are full of
 * them. */
#include "codec/regex/program.h"
#include "codec/text.h"

#define SPACES \
    "\\t\\n\\x0b\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}" \
    "\\x{3000}\\x{feff}"

#define NOT_SPACES \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{" \
    "2027}" \
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{" \
    "10ffff}"

static bool fault(struct owl_translation *t, const char *what)
{
    t->fault = what;
    return false;
}

/* Reads exactly @p n hex digits at @p p. */
static bool hex(const char *p, const char *end, int n, unsigned *ret)
{
    unsigned v = 0;
    for (int i = 0; i < n; i++) {
        int digit = p + i < end ? owl_hex_digit(p[i]) : -1;
        if (digit < 0)
            return false;
        v = v * 16 + (unsigned)digit;
    }
    *ret = v;
    return true;
}

/* Behind "\u": four digits, a pair of surrogates or {…}. */
static bool unicode_escape(struct owl_translation *t)
{
    unsigned c = 0, low;
    if (t->p < t->end && *t->p == '{') {
        const char *p = t->p + 1;
        for (; p < t->end && owl_hex_digit(*p) >= 0 && c <= 0x10ffff; p++)
            c = c * 16 + (unsigned)owl_hex_digit(*p);
        if (p == t->p + 1 || p >= t->end || *p != '}' || c > 0x10ffff)
            return fault(t, "\\u{…} is no character");
        t->p = p + 1;
    } else if (hex(t->p, t->end, 4, &c)) {
        t->p += 4;
        if (c >= 0xd800 && c < 0xdc00 && t->end - t->p >= 6 && t->p[0] == '\\' && t->p[1] == 'u' &&
            hex(t->p + 2, t->end, 4, &low) && low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            t->p += 6;
        }
    } else {
        return fault(t, "\\u needs four hexadecimal digits");
    }
    if (c >= 0xd800 && c < 0xe000)
        return fault(t, "half of a surrogate pair is no character");
    owl_buf_printf(&t->out, "\\x{%x}", c);
    return true;
}

/* Long names of categories, which PCRE2 knows by their short ones only. */
static const char *const categories[][2] = {
    {"Letter", "L"},
    {"Cased_Letter", "L&"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
};

/* Behind "\p" or "\P". */
static bool property(struct owl_translation *t, char letter)
{
    const char *close = t->p < t->end && *t->p == '{' ? memchr(t->p, '}', (size_t)(t->end - t->p))
                                                      : NULL;
    if (!close)
        return fault(t, "\\p needs a property in braces");
    owl_str name = {t->p + 1, (size_t)(close - t->p - 1)};
    const char *equals = memchr(name.p, '=', name.n);
    const char *of = "";
    if (equals) {
        owl_str kind = {name.p, (size_t)(equals - name.p)};
        name = (owl_str){equals + 1, (size_t)(close - equals - 1)};
        if (owl_str_is(kind, "Script") || owl_str_is(kind, "sc"))
            of = "sc:";
        else if (owl_str_is(kind, "Script_Extensions") || owl_str_is(kind, "scx"))
            of = "scx:";
        else if (!owl_str_is(kind, "General_Category") && !owl_str_is(kind, "gc"))
            return fault(t, "unknown property");
    }
    for (size_t i = 0; i < name.n; i++) {
        char c = (char)(name.p[i] | 0x20);
        if (!(c >= 'a' && c <= 'z') && name.p[i] != '_' && !(c >= '0' && c <= '9'))
            return fault(t, "unknown property");
    }
    for (size_t i = 0; i < OWL_COUNT(categories) && !of[0]; i++) {
        if (owl_str_is(name, categories[i][0]))
            name = owl_str_of(categories[i][1]);
    }
    owl_buf_printf(&t->out, "\\%c{%s%.*s}", letter, of, (int)name.n, name.p);
    t->p = close + 1;
    return true;
}

static bool char_escape(struct owl_translation *t, char c)
{
    unsigned v;
    switch (c) {
    case 'u': return unicode_escape(t);
    case 'x':
        if (!hex(t->p, t->end, 2, &v))
            return fault(t, "\\x needs two hexadecimal digits");
        t->p += 2;
        owl_buf_printf(&t->out, "\\x{%x}", v);
        return true;
    case 'c':
        if (t->p == t->end || (*t->p | 0x20) < 'a' || (*t->p | 0x20) > 'z')
            return fault(t, "\\c needs a letter");
        owl_buf_printf(&t->out, "\\x{%x}", (unsigned)*t->p++ & 0x1f);
        return true;
    case '0':
        if (t->p < t->end && *t->p >= '0' && *t->p <= '9')
            return fault(t, "\\0 may not be followed by a digit");
        owl_buf_putz(&t->out, "\\x{0}");
        return true;
    case 'v': owl_buf_putz(&t->out, "\\x0b"); return true;
    case 't':
    case 'n':
    case 'f':
    case 'r': break;
    default:
        if (c == '\0' || !strchr("^$\\.*+?()[]{}|/-", c))
            return fault(t, "this escape is unknown");
        break;
    }
    owl_buf_putc(&t->out, '\\');
    owl_buf_putc(&t->out, c);
    return true;
}

/* Behind "\k": a group by its name. */
static bool named_reference(struct owl_translation *t)
{
    const char *close = t->p < t->end && *t->p == '<' ? memchr(t->p, '>', (size_t)(t->end - t->p))
                                                      : NULL;
    if (!close)
        return fault(t, "\\k needs the name of a group in angle brackets");
    t->refers_back = true;
    owl_buf_putz(&t->out, "\\k");
    owl_buf_put(&t->out, t->p, (size_t)(close + 1 - t->p));
    t->p = close + 1;
    return true;
}

/* Behind its first digit. No pattern is long enough for a million groups. */
static bool numbered_reference(struct owl_translation *t)
{
    unsigned n = (unsigned)(t->p[-1] - '0');
    for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
        n = n < 1000000 ? n * 10 + (unsigned)(*t->p - '0') : n;
    if (n > t->referred) {
        t->referred = n;
        t->refers = t->p;
    }
    t->refers_back = true;
    owl_buf_printf(&t->out, "\\g{%u}", n);
    return true;
}

static void spaces(struct owl_translation *t, bool yes)
{
    if (t->in_class)
        owl_buf_putz(&t->out, yes ? SPACES : NOT_SPACES);
    else if (t->brief)
        owl_buf_printf(&t->out, "(?%u)", t->groups + (yes ? 1 : 2));
    else
        owl_buf_putz(&t->out, yes ? "[" SPACES "]" : "[^" SPACES "]");
}

static bool escape(struct owl_translation *t)
{
    if (++t->p == t->end)
        return fault(t, "a backslash at the end");
    char c = *t->p++;
    t->quantifiable = true;
    switch (c) {
    case 'd':
    case 'D':
    case 'w':
    case 'W':
        owl_buf_putc(&t->out, '\\');
        owl_buf_putc(&t->out, c);
        return true;
    case 's':
    case 'S': spaces(t, c == 's'); return true;
    case 'p':
    case 'P': return property(t, c);
    case 'b':
        t->quantifiable = t->in_class;
        owl_buf_putz(&t->out, t->in_class ? "\\x{8}" : "\\b");
        return true;
    default: break;
    }
    if (t->in_class)
        return char_escape(t, c);
    if (c == 'B') {
        t->quantifiable = false;
        owl_buf_putz(&t->out, "\\B");
        return true;
    }
    if (c == 'k')
        return named_reference(t);
    if (c >= '1' && c <= '9')
        return numbered_reference(t);
    return char_escape(t, c);
}

/* "(" and what tells its kind. */
static bool group(struct owl_translation *t)
{
    static const char *const kinds[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!"};
    owl_str rest = {t->p, (size_t)(t->end - t->p)};
    t->quantifiable = false;
    if (rest.n < 2 || rest.p[1] != '?') {
        if (rest.n >= 2 && rest.p[1] == '*')
            return fault(t, "nothing to repeat");
        owl_buf_putc(&t->out, *t->p++);
        t->groups += !t->brief;
        return true;
    }
    for (size_t i = 0; i < OWL_COUNT(kinds); i++) {
        if (owl_str_begins(rest, kinds[i])) {
            owl_buf_putz(&t->out, kinds[i]);
            t->p += strlen(kinds[i]);
            return true;
        }
    }
    if (rest.n < 4 || rest.p[2] != '<')
        return fault(t, "unknown kind of group");
    owl_buf_putz(&t->out, "(?<");
    t->p += 3;
    t->groups += !t->brief;
    return true;
}

/* A count at @p p: behind it, or @p p if there is none. */
static const char *count(struct owl_translation *t, const char *p)
{
    unsigned n = 0;
    for (; p < t->end && *p >= '0' && *p <= '9'; p++)
        n = n < 1000000 ? n * 10 + (unsigned)(*p - '0') : n;
    t->most = n > t->most ? n : t->most;
    return p;
}

/* "{n}", "{n,}" or "{n,m}": behind it, or NULL. */
static const char *counted(struct owl_translation *t)
{
    const char *from = t->p + 1, *p = count(t, from);
    if (p == from)
        return NULL;
    if (p < t->end && *p == ',')
        p = count(t, p + 1);
    return p < t->end && *p == '}' ? p + 1 : NULL;
}

static bool quantifier(struct owl_translation *t)
{
    const char *behind = *t->p == '{' ? counted(t) : t->p + 1;
    if (!behind) {
        owl_buf_putz(&t->out, "\\{");
        t->p++;
        t->quantifiable = true;
        return true;
    }
    if (!t->quantifiable)
        return fault(t, "nothing to repeat");
    owl_buf_put(&t->out, t->p, (size_t)(behind - t->p));
    t->p = behind;
    if (t->p < t->end && *t->p == '?')
        owl_buf_putc(&t->out, *t->p++);
    t->quantifiable = false;
    return true;
}

static bool literal(struct owl_translation *t)
{
    owl_buf_putc(&t->out, *t->p++);
    t->quantifiable = true;
    return true;
}

static bool in_class(struct owl_translation *t)
{
    switch (*t->p) {
    case '\\': return escape(t);
    case ']':
        t->in_class = false;
        t->quantifiable = true;
        return literal(t);
    case '[': /* might begin a POSIX class */ owl_buf_putc(&t->out, '\\'); return literal(t);
    default: return literal(t);
    }
}

static bool class_begin(struct owl_translation *t)
{
    owl_str rest = {t->p, (size_t)(t->end - t->p)};
    bool no_spaces = t->brief && owl_str_begins(rest, "[^\\s]");
    if (no_spaces || owl_str_begins(rest, "[]")) {
        if (no_spaces)
            spaces(t, false);
        else /* PCRE2 reads no quantifier behind its own empty class */
            owl_buf_putz(&t->out, "[^\\x{0}-\\x{10ffff}]");
        t->p += no_spaces ? 5 : 2;
        t->quantifiable = true;
        return true;
    }
    t->in_class = true;
    literal(t);
    if (t->p < t->end && *t->p == '^')
        literal(t);
    return true;
}

static bool outside(struct owl_translation *t)
{
    switch (*t->p) {
    case '\\': return escape(t);
    case '[': return class_begin(t);
    case '(': return group(t);
    case '*':
    case '+':
    case '?':
    case '{': return quantifier(t);
    case '}':
    case ']': owl_buf_putc(&t->out, '\\'); return literal(t);
    case '.':
        t->p++;
        t->quantifiable = true;
        owl_buf_putz(&t->out, "[^\\n\\r\\x{2028}\\x{2029}]");
        return true;
    case '^':
    case '$':
    case '|':
        literal(t);
        t->quantifiable = false;
        return true;
    default: return literal(t);
    }
}

bool owl_regex__translate(struct owl_translation *t)
{
    bool ok = true;
    while (ok && t->p < t->end)
        ok = t->in_class ? in_class(t) : outside(t);
    if (ok && t->referred > t->groups) {
        t->p = t->refers;
        return fault(t, "there is no group of this number");
    }
    if (ok && t->brief) /* behind all groups, so that those keep their numbers */
        owl_buf_putz(&t->out, "(?(DEFINE)([" SPACES "])([^" SPACES "]))");
    return ok;
}

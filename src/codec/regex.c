/* codec/regex.c - regular expressions of ECMA-262, by PCRE2.
 * Threads: a compiled expression is immutable; a matcher belongs to one thread.
 *
 * The translation goes once over the pattern, atom by atom. Invariant: what it lets through means
 * the same to PCRE2 (with the options below) as to ECMA-262 with the flag "u"; only a brace that
 * stands for itself is let through though "u" would refuse it, because schemas are full of them. */
#include "codec/regex.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "codec/text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { PATTERN_MAX = 64 * 1024 };
enum { FEW = 1000, STEPS_A_BYTE = 16 }; /* of backtracking: what honest patterns need */
/* What a search may remember of where to go back to: it is little for most, and some for each byte
 * if a group is repeated all along the text. */
enum { MEMORY_LEAST = 64 * 1024, MEMORY_A_BYTE = 256, MEMORY_MOST = 64 * 1024 * 1024 };

#define SPACES \
    "\\t\\n\\x0b\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}" \
    "\\x{3000}\\x{feff}"

#define NOT_SPACES \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{" \
    "2027}" \
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{" \
    "10ffff}"

struct owl_regex {
    pcre2_code *code;
};

/* ---- translation ---------------------------------------------------------------------------- */

struct translation {
    const char *start, *p, *end;
    struct owl_buf out;
    bool in_class;
    bool quantifiable;  /* the atom before may be repeated */
    bool brief;         /* what is long and often there is called like a function */
    unsigned groups;    /* that capture; brief: how many there are altogether */
    unsigned referred;  /* the greatest number of a group that is referred to … */
    const char *refers; /* … behind this */
    const char *fault;
};

static bool fault(struct translation *t, const char *what)
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
static bool unicode_escape(struct translation *t)
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
static bool property(struct translation *t, char letter)
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

static bool char_escape(struct translation *t, char c)
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
static bool named_reference(struct translation *t)
{
    const char *close = t->p < t->end && *t->p == '<' ? memchr(t->p, '>', (size_t)(t->end - t->p))
                                                      : NULL;
    if (!close)
        return fault(t, "\\k needs the name of a group in angle brackets");
    owl_buf_putz(&t->out, "\\k");
    owl_buf_put(&t->out, t->p, (size_t)(close + 1 - t->p));
    t->p = close + 1;
    return true;
}

/* Behind its first digit. No pattern is long enough for a million groups. */
static bool numbered_reference(struct translation *t)
{
    unsigned n = (unsigned)(t->p[-1] - '0');
    for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
        n = n < 1000000 ? n * 10 + (unsigned)(*t->p - '0') : n;
    if (n > t->referred) {
        t->referred = n;
        t->refers = t->p;
    }
    owl_buf_printf(&t->out, "\\g{%u}", n);
    return true;
}

static void spaces(struct translation *t, bool yes)
{
    if (t->in_class)
        owl_buf_putz(&t->out, yes ? SPACES : NOT_SPACES);
    else if (t->brief)
        owl_buf_printf(&t->out, "(?%u)", t->groups + (yes ? 1 : 2));
    else
        owl_buf_putz(&t->out, yes ? "[" SPACES "]" : "[^" SPACES "]");
}

static bool escape(struct translation *t)
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
static bool group(struct translation *t)
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

/* "{n}", "{n,}" or "{n,m}" at @p p: behind it, or NULL. */
static const char *counted(const char *p, const char *end)
{
    const char *from = ++p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    if (p == from)
        return NULL;
    if (p < end && *p == ',') {
        p++;
        while (p < end && *p >= '0' && *p <= '9')
            p++;
    }
    return p < end && *p == '}' ? p + 1 : NULL;
}

static bool quantifier(struct translation *t)
{
    const char *behind = *t->p == '{' ? counted(t->p, t->end) : t->p + 1;
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

static bool literal(struct translation *t)
{
    owl_buf_putc(&t->out, *t->p++);
    t->quantifiable = true;
    return true;
}

static bool in_class(struct translation *t)
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

static bool outside(struct translation *t)
{
    switch (*t->p) {
    case '\\': return escape(t);
    case '[':
        if (t->brief && owl_str_begins((owl_str){t->p, (size_t)(t->end - t->p)}, "[^\\s]")) {
            spaces(t, false);
            t->p += 5;
            t->quantifiable = true;
            return true;
        }
        t->in_class = true;
        literal(t);
        if (t->p < t->end && *t->p == '^')
            literal(t);
        return true;
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

static bool translate(struct translation *t)
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

/* ---- PCRE2 ---------------------------------------------------------------------------------- */

static void *on_heap(size_t n, void *ctx)
{
    (void)ctx;
    return owl_malloc(n);
}

static void off_heap(void *p, void *ctx)
{
    (void)ctx;
    owl_free(p);
}

static void free_code(void *code)
{
    pcre2_code_free(code);
}

static int compile(owl_str text, pcre2_code **ret, owl_error *reterr)
{
    const uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY |
                             PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF |
                             PCRE2_NEVER_BACKSLASH_C;
    pcre2_general_context *heap = pcre2_general_context_create(on_heap, off_heap, NULL);
    if (!heap)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    pcre2_compile_context *context = pcre2_compile_context_create(heap);
    int code = 0;
    PCRE2_SIZE at = 0;
    if (context)
        *ret = pcre2_compile((PCRE2_SPTR)text.p, text.n, options, &code, &at, context);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(heap);
    if (!context || (!*ret && code == PCRE2_ERROR_HEAP_FAILED))
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    if (*ret) {
        OWL_IGNORE(pcre2_jit_compile(*ret, PCRE2_JIT_COMPLETE)); /* slower without, else the same */
        return 0;
    }
    char message[160] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof message);
    if (code == PCRE2_ERROR_PATTERN_TOO_LARGE || code == PCRE2_ERROR_QUANTIFIER_TOO_BIG)
        return owl_fail(reterr, OWL_ELIMIT,
                        code == PCRE2_ERROR_PATTERN_TOO_LARGE
                            ? "the pattern is too large: compiled, with its counted groups written "
                              "out as often as they may be there, it takes more than 64 KiB"
                            : "the pattern repeats something more than 65535 times by count");
    return owl_fail(reterr, OWL_EINVAL, "not a regular expression: %s", message);
}

static size_t size_of(const pcre2_code *code)
{
    size_t plain = 0, jit = 0;
    OWL_IGNORE(pcre2_pattern_info(code, PCRE2_INFO_SIZE, &plain)); /* cannot fail */
    OWL_IGNORE(pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &jit));
    return plain + jit;
}

/* Translates and compiles. *@p groups: how many capture; brief: how many it was. */
static int make(owl_str pattern, bool brief, unsigned *groups, pcre2_code **ret, owl_error *reterr)
{
    struct translation t = {.start = pattern.p,
                            .p = pattern.p,
                            .end = pattern.p + pattern.n,
                            .brief = brief,
                            .groups = *groups};
    owl_buf_init(&t.out, SIZE_MAX / 2);
    int rc = 0;
    if (!translate(&t))
        rc = owl_fail(reterr, OWL_EINVAL, "not a regular expression: %s at byte %zu", t.fault,
                      (size_t)(t.p - t.start));
    else if (t.out.rc)
        rc = owl_fail(reterr, -t.out.rc, NULL);
    else
        rc = compile(owl_buf_str(&t.out), ret, reterr);
    owl_buf_done(&t.out);
    *groups = t.groups;
    return rc;
}

int owl_regex_new(struct owl_arena *a, owl_str pattern, const struct owl_regex **ret,
                  owl_error *reterr)
{
    if (pattern.n > PATTERN_MAX)
        return owl_fail(reterr, OWL_ELIMIT, "a pattern of more than %d bytes", PATTERN_MAX);
    struct owl_regex *re = owl_arena_alloc(a, sizeof *re);
    if (!re)
        return owl_fail(reterr, owl_arena_over(a) ? OWL_ELIMIT : OWL_ENOMEM, NULL);
    unsigned groups = 0;
    pcre2_code *code = NULL;
    int rc = make(pattern, false, &groups, &code, reterr);
    if (rc == -OWL_ELIMIT) /* slower to match, but shorter */
        rc = make(pattern, true, &groups, &code, reterr);
    if (rc)
        return rc;
    if (!owl_arena_charge(a, size_of(code)) || owl_arena_cleanup(a, free_code, code)) {
        pcre2_code_free(code);
        return owl_fail(reterr, owl_arena_over(a) ? OWL_ELIMIT : OWL_ENOMEM, NULL);
    }
    re->code = code;
    *ret = re;
    return 0;
}

bool owl_regex_valid(owl_str pattern)
{
    struct owl_arena *a = owl_arena_new(0);
    const struct owl_regex *re;
    bool valid = a && owl_regex_new(a, pattern, &re, NULL) == 0;
    owl_arena_free(a);
    return valid;
}

/* ---- searching ------------------------------------------------------------------------------ */

/* From the room of the matcher as long as there is some: it is enough unless PCRE2 was built without
 * its compiler. Nothing goes back there. */
static void *in_room(size_t n, void *matcher)
{
    struct owl_matcher *m = matcher;
    if (n > sizeof m->room - m->used)
        return owl_malloc(n);
    char *p = m->room + m->used;
    m->used += (uint32_t)(n + 15) & ~15u;
    return p;
}

static void off_room(void *p, void *matcher)
{
    struct owl_matcher *m = matcher;
    uintptr_t offset = (uintptr_t)p - (uintptr_t)m->room;
    if (offset >= sizeof m->room)
        owl_free(p);
}

static int prepare(struct owl_matcher *m)
{
    pcre2_general_context *room = pcre2_general_context_create(in_room, off_room, m);
    if (!room)
        return -OWL_ENOMEM;
    m->data = pcre2_match_data_create(1, room);
    m->context = m->data ? pcre2_match_context_create(room) : NULL;
    pcre2_general_context_free(room);
    if (!m->context) {
        owl_matcher_done(m);
        return -OWL_ENOMEM;
    }
    pcre2_set_heap_limit(m->context, MEMORY_MOST / 1024);
    return 0;
}

void owl_matcher_done(struct owl_matcher *m)
{
    if (m->data)
        pcre2_match_data_free(m->data);
    if (m->context)
        pcre2_match_context_free(m->context);
    owl_matcher_init(m, m->max_match);
}

/* Compiled code with a stack that goes with the text; without one, the slow way. */
static int search_deep(const struct owl_regex *re, struct owl_matcher *m, owl_str s)
{
    PCRE2_SPTR text = (PCRE2_SPTR)s.p;
    size_t most = s.n < MEMORY_MOST / MEMORY_A_BYTE ? MEMORY_LEAST + s.n * MEMORY_A_BYTE
                                                    : MEMORY_MOST;
    int rc = PCRE2_ERROR_JIT_STACKLIMIT;
    m->cost += s.n / 4;
    pcre2_jit_stack *stack = pcre2_jit_stack_create(MEMORY_LEAST, most, NULL);
    if (stack) {
        pcre2_jit_stack_assign(m->context, NULL, stack);
        rc = pcre2_match(re->code, text, s.n, 0, PCRE2_NO_UTF_CHECK, m->data, m->context);
        pcre2_jit_stack_assign(m->context, NULL, NULL);
        pcre2_jit_stack_free(stack);
    }
    if (rc != PCRE2_ERROR_JIT_STACKLIMIT)
        return rc;
    m->cost += s.n * 8;
    return pcre2_match(re->code, text, s.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, m->data,
                       m->context);
}

/* With so many steps, and some for each byte. */
static int search(const struct owl_regex *re, struct owl_matcher *m, owl_str s, uint32_t steps)
{
    uint64_t most = steps + (uint64_t)s.n * STEPS_A_BYTE;
    pcre2_set_match_limit(m->context, most < UINT32_MAX ? (uint32_t)most : UINT32_MAX);
    int rc = pcre2_match(re->code, (PCRE2_SPTR)s.p, s.n, 0, PCRE2_NO_UTF_CHECK, m->data,
                         m->context);
    return rc == PCRE2_ERROR_JIT_STACKLIMIT ? search_deep(re, m, s) : rc;
}

int owl_regex_search(const struct owl_regex *re, struct owl_matcher *m, owl_str s, bool *ret_found)
{
    if (!m->data && prepare(m))
        return -OWL_ENOMEM;
    uint32_t few = m->max_match < FEW ? m->max_match : FEW;
    m->cost = 8 + s.n / 16;
    int rc = search(re, m, s, few);
    if (rc == PCRE2_ERROR_MATCHLIMIT && few < m->max_match) {
        m->cost += m->max_match;
        rc = search(re, m, s, m->max_match);
    }
    if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH) {
        *ret_found = rc >= 0;
        return 0;
    }
    m->why = rc == PCRE2_ERROR_HEAPLIMIT ? "a pattern takes too much memory to match"
                                         : "a pattern takes too many steps to match";
    return rc == PCRE2_ERROR_NOMEMORY ? -OWL_ENOMEM : -OWL_ELIMIT;
}

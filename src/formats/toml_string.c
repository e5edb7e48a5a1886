/* formats/toml_string.c - TOML's strings of all four kinds.
 * Threads: one at a time.
 *
 * Invariant: the text is valid UTF-8. The end of a string is looked for first, so that a string
 * that has none is one fault, and a fault within a string is not taken for its end. */
#include "formats/toml.h"

struct quotes {
    char mark;   /* " or ' */
    bool multi;  /* three of them: may go on over lines */
    bool broken; /* a fault was told; one a string is enough */
};

/* The closing quotes of the string whose inside begins at @p p, or NULL. */
static const char *closing(const struct owl_toml *t, const char *p, const struct quotes *q)
{
    for (; p < t->end; p++) {
        if (*p == '\\' && q->mark == '"' && t->end - p > 1 && (q->multi || p[1] != '\n')) {
            p++;
            continue;
        }
        if (*p == '\n' && !q->multi)
            return NULL;
        if (*p != q->mark)
            continue;
        if (!q->multi)
            return p;
        if (t->end - p < 3 || p[1] != q->mark || p[2] != q->mark)
            continue;
        /* One or two more belong to the inside. */
        for (int more = 0; more < 2 && t->end - p > 3 && p[3] == q->mark; more++)
            p++;
        return p;
    }
    return NULL;
}

static int unclosed(struct owl_toml *t, struct owl_mark at, const struct quotes *q)
{
    struct owl_fault *f;
    char m = q->mark;
    if (q->multi) {
        f = owl_fault_add(t->in->faults, at,
                          "the string that begins here is not closed: found the end of the file, "
                          "expected %c%c%c",
                          m, m, m);
        f->width = 3;
        t->p = t->end;
        return OWL_TOML_STOP;
    }
    f = owl_fault_add(t->in->faults, at,
                      "the string that begins here is not closed: found the end of the line, "
                      "expected %c",
                      m);
    owl_fault_hint(t->in->faults, f,
                   "add %c, or begin and end a string of several lines with %c%c%c", m, m, m, m);
    while (!owl_toml__at_line_end(t))
        t->p++;
    return OWL_TOML_STOP;
}

static void bad_control(struct owl_toml *t, struct quotes *q)
{
    if (q->broken)
        return;
    q->broken = true;
    unsigned c = (unsigned char)*t->p;
    struct owl_fault *f = owl_fault_add(
        t->in->faults, owl_toml__mark(t, t->p),
        "found the control character U+%04X in a string, expected an escape in its place", c);
    owl_fault_hint(t->in->faults, f, "write \\u%04X in a string with \"", c);
}

static void bad_escape(struct owl_toml *t, struct quotes *q, size_t n, const char *expected)
{
    if (q->broken)
        return;
    q->broken = true;
    owl_str escape = {t->p, n};
    struct owl_fault *f = owl_fault_add(
        t->in->faults, owl_toml__mark(t, t->p), "found %s%.*s, expected %s",
        n > 1 ? "the escape " : "a lone ", (int)n, escape.p, expected);
    f->width = owl_toml__width(escape);
    owl_fault_hint(t->in->faults, f,
                   "write \\\\ for a backslash, or put the text between ' where \\ is itself");
}

static size_t encode(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(first[n] | c);
    return n;
}

/* \uXXXX or \UXXXXXXXX at t->p. */
static size_t code_point(struct owl_toml *t, struct quotes *q, const char *end, char *out)
{
    size_t digits = t->p[1] == 'u' ? 4 : 8, n = 2;
    uint32_t c = 0;
    for (; n < digits + 2 && t->p + n < end; n++) {
        char d = t->p[n];
        if (owl_toml__digit(d))
            c = c << 4 | (uint32_t)(d - '0');
        else if ((d | 0x20) >= 'a' && (d | 0x20) <= 'f')
            c = c << 4 | (uint32_t)((d | 0x20) - 'a' + 10);
        else
            break;
    }
    if (n < digits + 2)
        bad_escape(t, q, n,
                   digits == 4 ? "\\u and four hexadecimal digits"
                               : "\\U and eight hexadecimal digits");
    else if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        bad_escape(t, q, n, "a character of Unicode: up to 10FFFF, and not D800 to DFFF");
    t->p += n;
    return q->broken ? 0 : encode(c, out);
}

/* A backslash at the end of a line: goes to what is next on a later one. */
static bool line_joint(struct owl_toml *t, const char *end)
{
    const char *p = t->p + 1;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p < end && *p == '\r')
        p++;
    if (p == end || *p != '\n')
        return false;
    for (t->p = p; t->p < end;) {
        if (*t->p == '\n')
            owl_toml__newline(t);
        else if (*t->p == ' ' || *t->p == '\t' || (*t->p == '\r' && t->p[1] == '\n'))
            t->p++;
        else
            break;
    }
    return true;
}

/* Decodes the escape at t->p, moves behind it, and returns how many bytes it gave. */
static size_t escape(struct owl_toml *t, struct quotes *q, const char *end, char *out)
{
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    char c = t->p[1]; /* a backslash is never the last byte */
    const char *known = memchr(from, c, sizeof from - 1);
    if (known) {
        *out = to[known - from];
        t->p += 2;
        return 1;
    }
    if (c == 'u' || c == 'U')
        return code_point(t, q, end, out);
    if (q->multi && line_joint(t, end))
        return 0;
    size_t n = 2;
    while (t->p + n < end && ((unsigned char)t->p[n] & 0xc0) == 0x80)
        n++; /* the whole character */
    if (owl_toml__control(c) || c == ' ' || c == '\t')
        n = 1;
    bad_escape(t, q, n, "one of \\\" \\\\ \\b \\t \\n \\f \\r \\uXXXX \\UXXXXXXXX");
    t->p += n;
    return 0;
}

/* The inside from t->p to @p end; what it gives is never longer. */
static size_t decode(struct owl_toml *t, struct quotes *q, const char *end, char *out)
{
    char *start = out;
    while (t->p < end) {
        const char *run = t->p;
        while (run < end && !owl_toml__control(*run) && (*run != '\\' || q->mark == '\''))
            run++;
        memcpy(out, t->p, (size_t)(run - t->p));
        out += run - t->p;
        t->p = run;
        if (run == end)
            break;
        if (*run == '\\') {
            out += escape(t, q, end, out);
        } else if (q->multi && owl_toml__at_line_end(t)) {
            *out++ = '\n';
            t->p += *run == '\r';
            owl_toml__newline(t);
        } else {
            bad_control(t, q);
            t->p++;
        }
    }
    return (size_t)(out - start);
}

int owl_toml__string(struct owl_toml *t, struct owl_arena *a, owl_str *ret)
{
    struct quotes q = {.mark = *t->p};
    q.multi = owl_toml__peek(t, 1) == q.mark && owl_toml__peek(t, 2) == q.mark;
    size_t n = q.multi ? 3 : 1;
    struct owl_mark at = owl_toml__mark(t, t->p);
    const char *end = closing(t, t->p + n, &q);
    if (!end)
        return unclosed(t, at, &q);
    t->p += n;
    if (q.multi && owl_toml__at_line_end(t)) { /* is not part of the string */
        t->p += *t->p == '\r';
        owl_toml__newline(t);
    }
    char *out = owl_arena_alloc(a, (size_t)(end - t->p) + 1);
    if (!out)
        return -OWL_ENOMEM;
    size_t length = decode(t, &q, end, out);
    out[length] = '\0';
    t->p = end + n;
    *ret = q.broken ? (owl_str){NULL, 0} : (owl_str){out, length};
    return 0;
}

/* codec/uri.c - URI syntax and templates.
 * Threads: pure; a compiled template is immutable.
 *
 * A template is a prefix and, for each variable, the literal text behind it. Matching is what the
 * greedy regular expressions "[^/]+" and ".+" would do, without their backtracking: a pass from the
 * end finds, per variable, where it may begin so that the rest fits; a pass from the beginning then
 * takes the longest choice each time. */
#include "codec/uri.h"

#include "base/err.h"
#include "codec/json.h"

enum { URI_MAX = 8192 }; /* longer URIs match no template with variables */

struct var {
    owl_str name;
    owl_str tail; /* the literal text behind it */
    bool reserved;
};

struct owl_uri_template {
    owl_str prefix;
    size_t n;
    struct var vars[OWL_URI_VARS];
};

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int owl_uri__escape(owl_str s, size_t i)
{
    int high = s.n - i > 2 ? owl_hex_digit(s.p[i + 1]) : -1;
    int low = high >= 0 ? owl_hex_digit(s.p[i + 2]) : -1;
    return low >= 0 ? high << 4 | low : -1;
}

/* No controls or spaces, and every "%" begins an escape. */
static bool is_clean(owl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c == 0x7f || (c == '%' && owl_uri__escape(s, i) < 0))
            return false;
    }
    return true;
}

bool owl_uri_valid(owl_str uri)
{
    size_t n = 0;
    while (n < uri.n && (is_alpha(uri.p[n]) || (n > 0 && (is_digit(uri.p[n]) || uri.p[n] == '+' ||
                                                          uri.p[n] == '-' || uri.p[n] == '.'))))
        n++;
    return n > 0 && n < uri.n && uri.p[n] == ':' && is_clean(uri);
}

/* Writes the bytes that @p s stands for, which are no more than its own, to @p out; absent if one of
 * them is NUL or an escape is bad. */
static owl_str decode(owl_str s, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int c = (unsigned char)s.p[i];
        if (c == '%') {
            c = owl_uri__escape(s, i);
            i += 2;
        }
        if (c <= 0)
            return (owl_str){NULL, 0};
        out[n++] = (char)c;
    }
    return (owl_str){out, n};
}

owl_str owl_uri_decode(struct owl_arena *a, owl_str s)
{
    char *out = s.n < SIZE_MAX ? owl_arena_alloc(a, s.n + 1) : NULL;
    owl_str decoded = out ? decode(s, out) : (owl_str){NULL, 0};
    if (decoded.p)
        out[decoded.n] = '\0';
    return decoded;
}

/* ---- templates ------------------------------------------------------------------------------ */

static bool name_valid(owl_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool dot = c == '.' && i > 0 && i + 1 < name.n && name.p[i - 1] != '.';
        if (!is_alpha(c) && !is_digit(c) && c != '_' && !dot)
            return false;
    }
    return name.n > 0;
}

/* Takes the literal text up to the next brace off *@p rest. */
static int take_literal(owl_str *rest, owl_str *ret, owl_error *reterr)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] != '{' && rest->p[n] != '}')
        n++;
    if (n < rest->n && rest->p[n] == '}')
        return owl_fail(reterr, OWL_EINVAL, "URI template: '}' without '{'");
    *ret = (owl_str){rest->p, n};
    *rest = (owl_str){rest->p + n, rest->n - n};
    if (!is_clean(*ret))
        return owl_fail(reterr, OWL_EINVAL,
                        "URI template: a space, control character or bad %%-escape");
    return 0;
}

/* Takes the expression at the beginning of *@p rest, which is at its brace. */
static int take_var(owl_str *rest, struct var *ret, owl_error *reterr)
{
    const char *close = memchr(rest->p, '}', rest->n);
    if (!close)
        return owl_fail(reterr, OWL_EINVAL, "URI template: '{' without '}'");
    owl_str name = {rest->p + 1, (size_t)(close - rest->p - 1)};
    *rest = (owl_str){close + 1, rest->n - name.n - 2};
    bool reserved = name.n > 0 && name.p[0] == '+';
    if (reserved)
        name = (owl_str){name.p + 1, name.n - 1};
    if (!name_valid(name))
        return owl_fail(reterr, OWL_EINVAL,
                        "URI template: \"{%.*s}\" is not supported; write {name} or {+name}",
                        (int)(name.n < 64 ? name.n : 64), name.p);
    *ret = (struct var){.name = name, .reserved = reserved};
    return 0;
}

static int compile(struct owl_uri_template *t, owl_str rest, owl_error *reterr)
{
    int rc = take_literal(&rest, &t->prefix, reterr);
    while (rc == 0 && rest.n > 0) {
        if (t->n == OWL_URI_VARS)
            return owl_fail(reterr, OWL_EINVAL, "URI template: more than %d variables",
                            OWL_URI_VARS);
        struct var *v = &t->vars[t->n];
        rc = take_var(&rest, v, reterr);
        for (size_t i = 0; rc == 0 && i < t->n; i++) {
            if (owl_str_eq(t->vars[i].name, v->name))
                rc = owl_fail(reterr, OWL_EINVAL, "URI template: {%.*s} occurs twice",
                              (int)(v->name.n < 64 ? v->name.n : 64), v->name.p);
        }
        if (rc == 0)
            rc = take_literal(&rest, &v->tail, reterr);
        t->n++;
    }
    return rc;
}

int owl_uri_template_new(struct owl_arena *a, owl_str text, struct owl_uri_template **ret,
                         owl_error *reterr)
{
    struct owl_uri_template *t = owl_arena_zalloc(a, sizeof *t);
    char *copy = t ? owl_arena_dup(a, text) : NULL;
    if (!copy)
        return owl_fail(reterr, owl_arena_over(a) ? OWL_ELIMIT : OWL_ENOMEM, NULL);
    int rc = compile(t, (owl_str){copy, text.n}, reterr);
    if (rc)
        return rc;
    *ret = t;
    return 0;
}

owl_str owl_uri_template_var(const struct owl_uri_template *t, size_t i)
{
    return i < t->n ? t->vars[i].name : (owl_str){NULL, 0};
}

/* ---- matching ------------------------------------------------------------------------------- */

struct match {
    const struct owl_uri_template *t;
    owl_str uri;
    uint64_t begins[OWL_URI_VARS][URI_MAX / 64 + 1]; /* where variable i may begin */
};

static bool literal_at(owl_str uri, size_t at, owl_str literal)
{
    return literal.n <= uri.n - at &&
           (literal.n == 0 || memcmp(uri.p + at, literal.p, literal.n) == 0);
}

static bool may_begin(const struct match *m, size_t var, size_t at)
{
    return m->begins[var][at / 64] >> (at % 64) & 1;
}

/* Whether @p at, behind some character of @p uri, is within an escape or a character of UTF-8. */
static bool is_within(owl_str uri, size_t at)
{
    if (uri.p[at - 1] == '%' || (at >= 2 && uri.p[at - 2] == '%'))
        return true;
    if (at == uri.n)
        return false;
    int high = (unsigned char)uri.p[at] >> 4;
    if (uri.p[at] == '%' && at + 1 < uri.n)
        high = owl_hex_digit(uri.p[at + 1]);
    return high >= 0x8 && high <= 0xB; /* it goes on what came before */
}

/* Whether variable @p var may end at @p at, given where the next one may begin. */
static bool may_end(const struct match *m, size_t var, size_t at)
{
    owl_str tail = m->t->vars[var].tail;
    if (!literal_at(m->uri, at, tail) || is_within(m->uri, at))
        return false;
    if (var + 1 == m->t->n)
        return at + tail.n == m->uri.n;
    return may_begin(m, var + 1, at + tail.n);
}

static void find_begins(struct match *m, size_t var)
{
    uint64_t *begins = m->begins[var];
    memset(begins, 0, (m->uri.n / 64 + 1) * sizeof *begins);
    bool fits = false;
    for (size_t at = m->uri.n; at-- > 0;) {
        fits |= may_end(m, var, at + 1);
        fits &= m->t->vars[var].reserved || m->uri.p[at] != '/';
        begins[at / 64] |= (uint64_t)fits << (at % 64);
    }
}

/* The farthest end of variable @p var, which may begin at @p at. */
static size_t farthest_end(const struct match *m, size_t var, size_t at)
{
    size_t end = at;
    bool reserved = m->t->vars[var].reserved;
    for (size_t i = at; i < m->uri.n && (reserved || m->uri.p[i] != '/'); i++) {
        if (may_end(m, var, i + 1))
            end = i + 1;
    }
    return end;
}

/* Whether the raw value of a variable, a part of a URI, stands for text. */
static bool is_text(owl_str raw)
{
    char out[URI_MAX];
    owl_str text = decode(raw, out);
    return text.p && owl_utf8_valid(text);
}

bool owl_uri_template_match(const struct owl_uri_template *t, owl_str uri,
                            owl_str values[OWL_URI_VARS])
{
    if (t->n == 0 || !literal_at(uri, 0, t->prefix))
        return t->n == 0 && owl_str_eq(uri, t->prefix);
    if (uri.n > URI_MAX)
        return false;
    struct match m;
    m.t = t;
    m.uri = uri;
    for (size_t var = t->n; var-- > 0;)
        find_begins(&m, var);
    size_t at = t->prefix.n;
    if (!may_begin(&m, 0, at))
        return false;
    for (size_t var = 0; var < t->n; var++) {
        size_t end = farthest_end(&m, var, at);
        values[var] = (owl_str){uri.p + at, end - at};
        if (!is_text(values[var]))
            return false;
        at = end + t->vars[var].tail.n;
    }
    return true;
}

/* codec/schema/resolve.c - references against a base (RFC 3986, section 5.2).
 * Threads: pure. */
#include "codec/schema/program.h"

struct uri {
    owl_str scheme, authority, path, query, fragment; /* absent: {NULL,0} */
};

static owl_str cut(owl_str *rest, size_t n, size_t skip)
{
    owl_str part = {rest->p, n};
    *rest = (owl_str){rest->p + n + skip, rest->n - n - skip};
    return part;
}

static size_t until(owl_str s, const char *stops)
{
    size_t n = 0;
    while (n < s.n && (s.p[n] == '\0' || !strchr(stops, s.p[n])))
        n++;
    return n;
}

static bool scheme_valid(owl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = (char)(s.p[i] | 0x20);
        bool letter = c >= 'a' && c <= 'z';
        bool other = (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '+' || s.p[i] == '-' ||
                     s.p[i] == '.';
        if (!letter && (i == 0 || !other))
            return false;
    }
    return s.n > 0;
}

static struct uri split(owl_str s)
{
    struct uri u = {0};
    if (!s.p)
        s.p = "";
    size_t n = until(s, ":/?#");
    if (n < s.n && s.p[n] == ':' && scheme_valid((owl_str){s.p, n}))
        u.scheme = cut(&s, n, 1);
    if (s.n >= 2 && s.p[0] == '/' && s.p[1] == '/') {
        cut(&s, 0, 2);
        u.authority = cut(&s, until(s, "/?#"), 0);
    }
    u.path = cut(&s, until(s, "?#"), 0);
    if (s.n > 0 && s.p[0] == '?') {
        cut(&s, 0, 1);
        u.query = cut(&s, until(s, "#"), 0);
    }
    if (s.n > 0) {
        cut(&s, 0, 1);
        u.fragment = s;
    }
    return u;
}

owl_str owl_uri__without_fragment(owl_str uri)
{
    const char *hash = uri.n ? memchr(uri.p, '#', uri.n) : NULL;
    return hash ? (owl_str){uri.p, (size_t)(hash - uri.p)} : uri;
}

bool owl_uri__absolute(owl_str uri)
{
    return split(uri).scheme.p != NULL;
}

/* Removes "." and ".." segments in place; returns the length that is left. */
static size_t remove_dots(char *p, size_t n)
{
    size_t out = 0, i = 0;
    while (i < n) {
        size_t j = i + 1; /* a segment with the slash before it, if there is one */
        while (j < n && p[j] != '/')
            j++;
        owl_str s = {p + i, j - i};
        if (owl_str_is(s, "/..") || owl_str_is(s, "/.")) {
            if (s.n == 3) {
                while (out > 0 && p[--out] != '/') {
                }
            }
            if (j == n)
                p[out++] = '/';
        } else {
            memmove(p + out, s.p, s.n);
            out += s.n;
        }
        i = j;
    }
    return out;
}

static char *append(char *at, owl_str s)
{
    if (s.n > 0)
        memcpy(at, s.p, s.n);
    return at + s.n;
}

/* The path of a reference with a relative path, merged with that of the base. */
static char *merge(char *at, const struct uri *base, owl_str path)
{
    if (base->authority.p && base->path.n == 0) {
        *at++ = '/';
    } else {
        size_t n = base->path.n;
        while (n > 0 && base->path.p[n - 1] != '/')
            n--;
        at = append(at, (owl_str){base->path.p, n});
    }
    return append(at, path);
}

static char *write_path(char *at, const struct uri *r, const struct uri *b, const struct uri *from)
{
    char *start = at;
    if (from == r && !r->scheme.p && !r->authority.p && r->path.n > 0 && r->path.p[0] != '/')
        at = merge(at, b, r->path);
    else
        at = append(at, from->path);
    return start + remove_dots(start, (size_t)(at - start));
}

owl_str owl_uri__resolve(struct owl_arena *a, owl_str base, owl_str ref)
{
    char *out = owl_arena_alloc(a, base.n + ref.n + 8);
    if (!out)
        return (owl_str){NULL, 0};
    struct uri b = split(base), r = split(ref);
    const struct uri *authority = r.scheme.p || r.authority.p ? &r : &b;
    const struct uri *path = authority == &r || r.path.n > 0 ? &r : &b;
    owl_str query = path == &r || r.query.p ? r.query : b.query;
    owl_str scheme = r.scheme.p ? r.scheme : b.scheme;
    char *at = out;
    if (scheme.p) {
        at = append(at, scheme);
        *at++ = ':';
    }
    if (authority->authority.p) {
        at = append(at, OWL_STR("//"));
        at = append(at, authority->authority);
    }
    /* What is opaque, such as a URN, has no segments to remove. */
    if (path->scheme.p && !path->authority.p && (path->path.n == 0 || path->path.p[0] != '/'))
        at = append(at, path->path);
    else
        at = write_path(at, &r, &b, path);
    if (query.p) {
        *at++ = '?';
        at = append(at, query);
    }
    if (r.fragment.p) {
        *at++ = '#';
        at = append(at, r.fragment);
    }
    *at = '\0';
    return (owl_str){out, (size_t)(at - out)};
}

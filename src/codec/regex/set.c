/* codec/regex/set.c - sets of characters, as a translated pattern spells them.
 * Threads: that of the compiling.
 *
 * PCRE2 has accepted the pattern: what a hyphen stands for, and that ranges are in order, is
 * settled. Properties are known to PCRE2 alone, which is asked while matching; the rest is a list
 * of ranges. */
#include "codec/regex/program.h"
#include "codec/text.h"

#include <stdlib.h>

enum { LAST_CHAR = 0x10ffff, RECENT = 8 };

struct ranges {
    struct owl_arena *scratch;
    struct owl_range *list;
    uint32_t n, cap;
    bool full; /* there was no memory */
};

static void add(struct ranges *r, uint32_t from, uint32_t to)
{
    if (r->n == r->cap) {
        uint32_t cap = r->cap ? r->cap * 2 : 16;
        struct owl_range *grown = owl_arena_realloc(r->scratch, r->list, r->cap * sizeof *grown,
                                                    cap * sizeof *grown);
        if (!grown) {
            r->full = true;
            return;
        }
        r->list = grown;
        r->cap = cap;
    }
    r->list[r->n++] = (struct owl_range){from, to};
}

uint32_t owl_syntax__char(const char **p, const char *end)
{
    uint32_t n = 1, c = owl_char__at(*p, end, &n);
    *p += n;
    if (c != '\\' || *p == end)
        return c;
    char kind = *(*p)++;
    switch (kind) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'f': return '\f';
    case 'r': return '\r';
    case 'x': break;
    default: return (unsigned char)kind;
    }
    bool braced = *p < end && **p == '{';
    const char *from = *p += braced;
    for (c = 0; *p < end && owl_hex_digit(**p) >= 0 && (braced || *p < from + 2); ++*p)
        c = c * 16 + (uint32_t)owl_hex_digit(**p);
    *p += braced;
    return c;
}

/* \d, \D, \w or \W at *@p p. */
static bool take_kind(struct ranges *r, const char **p, const char *end)
{
    if (end - *p < 2 || **p != '\\')
        return false;
    switch ((*p)[1]) {
    case 'd': add(r, '0', '9'); break;
    case 'D':
        add(r, 0, '0' - 1);
        add(r, '9' + 1, LAST_CHAR);
        break;
    case 'w':
        add(r, '0', '9');
        add(r, 'A', 'Z');
        add(r, '_', '_');
        add(r, 'a', 'z');
        break;
    case 'W':
        add(r, 0, '0' - 1);
        add(r, '9' + 1, 'A' - 1);
        add(r, 'Z' + 1, '_' - 1);
        add(r, '_' + 1, 'a' - 1);
        add(r, 'z' + 1, LAST_CHAR);
        break;
    default: return false;
    }
    *p += 2;
    return true;
}

/* What stands in brackets. A hyphen makes a range of the characters around it. */
static void take_all(struct ranges *r, const char *p, const char *end)
{
    while (p < end) {
        if (take_kind(r, &p, end))
            continue;
        uint32_t from = owl_syntax__char(&p, end), to = from;
        if (end - p >= 2 && p[0] == '-') {
            p++;
            to = owl_syntax__char(&p, end);
        }
        add(r, from, to);
    }
}

static int by_from(const void *a, const void *b)
{
    const struct owl_range *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* In order, none touches another; negated, if @p negated. */
static void settle(struct ranges *r, bool negated)
{
    if (r->n > 1)
        qsort(r->list, r->n, sizeof *r->list, by_from);
    struct ranges in = *r;
    uint32_t free_from = 0; /* nothing before it belongs to the others */
    *r = (struct ranges){.scratch = in.scratch};
    for (uint32_t i = 0; i < in.n; i++) {
        struct owl_range x = in.list[i];
        while (i + 1 < in.n && in.list[i + 1].from <= x.to + 1) {
            i++;
            x.to = in.list[i].to > x.to ? in.list[i].to : x.to;
        }
        if (!negated)
            add(r, x.from, x.to);
        else if (x.from > free_from)
            add(r, free_from, x.from - 1);
        free_from = x.to + 1;
    }
    if (negated && free_from <= LAST_CHAR)
        add(r, free_from, LAST_CHAR);
    r->full |= in.full;
}

static int no_memory(const struct owl_arena *a)
{
    return owl_arena_over(a) ? -OWL_ELIMIT : -OWL_ENOMEM;
}

static int of_ranges(struct owl_syntax *x, owl_str text, struct owl_char_set *set)
{
    struct ranges r = {.scratch = x->scratch};
    bool bracket = text.p[0] == '[', negated = bracket && text.p[1] == '^';
    const char *from = text.p + bracket + negated;
    take_all(&r, from, text.p + text.n - bracket);
    settle(&r, negated);
    if (r.full)
        return no_memory(x->scratch);
    struct owl_range *list = owl_arena_alloc(x->a, (r.n + 1) * sizeof *list);
    if (!list)
        return no_memory(x->a);
    for (uint32_t i = 0; i < r.n; i++) {
        struct owl_range v = r.list[i];
        for (uint32_t c = v.from; c <= v.to && c < 128; c++)
            set->ascii[c / 64] |= UINT64_C(1) << (c % 64);
        if (v.to >= 128)
            list[set->n++] = (struct owl_range){v.from < 128 ? 128 : v.from, v.to};
    }
    set->ranges = list;
    return 0;
}

static int of_properties(struct owl_syntax *x, owl_str text, struct owl_char_set *set)
{
    int rc = owl_regex__class(x->a, text, &set->code);
    struct owl_matcher m;
    owl_matcher_init(&m, 0);
    for (uint32_t c = 0; rc == 0 && c < 128; c++) {
        char byte = (char)c;
        bool has = false;
        rc = owl_regex__class_has(set->code, &m, (owl_str){&byte, 1}, &has);
        set->ascii[c / 64] |= (uint64_t)has << (c % 64);
    }
    owl_matcher_done(&m);
    return rc;
}

static bool has_property(owl_str text)
{
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.p[i] == '\\' && (text.p[++i] | 0x20) == 'p')
            return true;
    }
    return false;
}

static bool same(const struct owl_char_set *a, const struct owl_char_set *b)
{
    return !a->code && !b->code && a->ascii[0] == b->ascii[0] && a->ascii[1] == b->ascii[1] &&
           a->n == b->n && memcmp(a->ranges, b->ranges, a->n * sizeof *a->ranges) == 0;
}

int owl_syntax__set(struct owl_syntax *x, owl_str translated, uint32_t *ret)
{
    struct owl_char_set set = {.n = 0};
    int rc = has_property(translated) ? of_properties(x, translated, &set)
                                      : of_ranges(x, translated, &set);
    if (rc)
        return rc;
    for (uint32_t i = x->n_sets; i > 0 && i + RECENT > x->n_sets; i--) {
        if (same(&x->sets[i - 1], &set)) {
            *ret = i - 1;
            return 0;
        }
    }
    if (x->n_sets == x->sets_cap) {
        uint32_t cap = x->sets_cap ? x->sets_cap * 2 : 4;
        struct owl_char_set *grown = owl_arena_realloc(x->a, x->sets, x->sets_cap * sizeof *grown,
                                                       cap * sizeof *grown);
        if (!grown)
            return no_memory(x->a);
        x->sets = grown;
        x->sets_cap = cap;
    }
    x->sets[x->n_sets] = set;
    *ret = x->n_sets++;
    return 0;
}

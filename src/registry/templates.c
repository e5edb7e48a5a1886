/* registry/templates.c - URI templates, found by their literal beginning.
 * Threads: immutable once built.
 *
 * The beginnings are sorted, and each knows the longest other one that it begins with. All that a URI
 * begins with are therefore among the greatest one that is not behind the URI and those that lead up
 * from it: one binary search, then only templates whose beginning fits. */
#include "registry/templates.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "registry/snapshot.h"

struct owl_template {
    owl_str beginning; /* the text up to the first variable */
    size_t order;
    const struct owl_uri_template *compiled;
    struct owl_item *item;
};

enum { NONE = -1 };

struct owl_beginning {
    owl_str text;
    size_t from, n; /* its templates */
    ptrdiff_t up;   /* the longest other one that it begins with, or NONE */
};

static int compare(owl_str a, owl_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

static int by_beginning(const void *a, const void *b)
{
    const struct owl_template *x = a, *y = b;
    int order = compare(x->beginning, y->beginning);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static bool begins(owl_str s, owl_str with)
{
    return s.n >= with.n && (with.n == 0 || memcmp(s.p, with.p, with.n) == 0);
}

static void add(struct owl_templates *t, owl_str text, const struct owl_uri_template *compiled,
                struct owl_item *item, size_t order)
{
    if (!compiled)
        return;
    const char *brace = memchr(text.p, '{', text.n);
    owl_str beginning = {text.p, brace ? (size_t)(brace - text.p) : text.n};
    t->all[t->n++] = (struct owl_template){beginning, order, compiled, item};
}

static void link_up(struct owl_templates *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct owl_beginning *last = t->n_beginnings ? &t->beginnings[t->n_beginnings - 1] : NULL;
        if (last && owl_str_eq(last->text, t->all[i].beginning)) {
            last->n++;
            continue;
        }
        struct owl_beginning *b = &t->beginnings[t->n_beginnings];
        *b = (struct owl_beginning){.text = t->all[i].beginning, .from = i, .n = 1};
        b->up = (ptrdiff_t)t->n_beginnings - 1;
        while (b->up != NONE && !begins(b->text, t->beginnings[b->up].text))
            b->up = t->beginnings[b->up].up;
        t->n_beginnings++;
    }
}

bool owl_templates__build(struct owl_templates *t, const struct owl_entry *items, size_t n)
{
    *t = (struct owl_templates){0};
    if (n == 0)
        return true;
    t->all = owl_malloc(2 * n * sizeof t->all[0]);
    t->beginnings = owl_malloc(2 * n * sizeof t->beginnings[0]);
    if (!t->all || !t->beginnings)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct owl_item *it = items[i].item;
        if (items[i].shown == OWL_SHOWN)
            add(t, it->key, it->uri_template, it, i);
        add(t, it->fallback, it->fallback_template, it, i);
    }
    qsort(t->all, t->n, sizeof t->all[0], by_beginning);
    link_up(t);
    return true;
}

void owl_templates__done(struct owl_templates *t)
{
    owl_free(t->all);
    owl_free(t->beginnings);
}

/* The last beginning that does not stand behind @p uri, or NONE. */
static ptrdiff_t last_before(const struct owl_templates *t, owl_str uri)
{
    size_t low = 0, high = t->n_beginnings;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare(t->beginnings[mid].text, uri) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return (ptrdiff_t)low - 1;
}

static size_t common(owl_str a, owl_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

struct owl_item *owl_templates__match(const struct owl_templates *t, owl_str uri,
                                      owl_str values[OWL_URI_VARS], size_t *ret_tried)
{
    const struct owl_template *best = NULL;
    owl_str tried_values[OWL_URI_VARS];
    *ret_tried = 0;
    ptrdiff_t at = last_before(t, uri);
    size_t fits = at == NONE ? 0 : common(t->beginnings[at].text, uri);
    for (; at != NONE; at = t->beginnings[at].up) {
        const struct owl_beginning *b = &t->beginnings[at];
        if (b->text.n > fits)
            continue;
        for (size_t i = b->from; i < b->from + b->n; i++) {
            if (best && t->all[i].order >= best->order)
                break;
            ++*ret_tried;
            if (!owl_uri_template_match(t->all[i].compiled, uri, tried_values))
                continue;
            best = &t->all[i];
            for (size_t v = 0; owl_uri_template_var(best->compiled, v).p; v++)
                values[v] = tried_values[v];
            break;
        }
    }
    return best ? best->item : NULL;
}

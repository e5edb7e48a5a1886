/* registry/snapshot.c - parts, and the index that merges them.
 * Threads: built by one, then read by any; counted atomically.
 *
 * Invariants: within a kind, items are in ascending order of their `seq`, which is unique; every
 * item of an index is held by one of the snapshot's parts. */
#include "registry/snapshot.h"

#include <stdlib.h>

#include "base/alloc.h"

/* ---- parts ----------------------------------------------------------------------------------- */

struct owl_part *owl_part__new(size_t n)
{
    struct owl_part *p = owl_malloc(sizeof *p + n * sizeof p->items[0]);
    if (!p)
        return NULL;
    atomic_init(&p->_refs, 1);
    p->n = 0;
    return p;
}

void owl_part__add(struct owl_part *p, struct owl_item *item)
{
    p->items[p->n++] = owl_item_aref(item);
}

struct owl_part *owl_part__aref(struct owl_part *p)
{
    atomic_fetch_add_explicit(&p->_refs, 1, memory_order_relaxed);
    return p;
}

void owl_part__aunref(struct owl_part *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->_refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < p->n; i++)
        owl_item_aunref(p->items[i]);
    owl_free(p);
}

/* ---- the index ------------------------------------------------------------------------------- */

static int by_seq(const void *a, const void *b)
{
    const struct owl_entry *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Puts the items of all parts into their kinds; false without memory. */
static bool merge(struct owl_snapshot *s)
{
    for (size_t i = 0; i < s->n_parts; i++) {
        const struct owl_part *p = s->parts[i];
        for (size_t j = 0; j < p->n; j++) {
            struct owl_item *it = p->items[j];
            struct owl_index *x = &s->kinds[it->kind];
            if (owl_map_get(&x->map, it->key))
                continue; /* an earlier part has it */
            if (owl_map_put(&x->map, it->key, it, NULL))
                return false;
            x->items[x->n++] = (struct owl_entry){it->seq, it};
        }
    }
    return true;
}

/* A part is in order, so that only several need sorting. */
static void sort(struct owl_index *x)
{
    for (size_t i = 1; i < x->n; i++) {
        if (x->items[i - 1].seq > x->items[i].seq) {
            qsort(x->items, x->n, sizeof x->items[0], by_seq);
            return;
        }
    }
}

static size_t n_slots(const struct owl_index *x)
{
    return OWL_REV__MAX * x->n_pages;
}

/* Finds out which revisions get the same pages: those that no part of any item tells apart. */
static void compare_revs(struct owl_index *x)
{
    unsigned others[OWL_REV__MAX] = {0};
    for (size_t i = 0; i < x->n; i++) {
        for (int k = 0; k < OWL_ITEM_PARTS; k++) {
            unsigned revs = x->items[i].item->parts[k].revs;
            for (int rev = 0; rev < OWL_REV__MAX; rev++)
                others[rev] |= revs & OWL_REV_BIT(rev) ? ~revs : revs;
        }
    }
    for (int rev = 0; rev < OWL_REV__MAX; rev++) {
        int same = 0;
        while (others[rev] & OWL_REV_BIT(same))
            same++; /* at the latest at itself */
        x->same[rev] = (enum owl_rev)same;
    }
}

static bool make_pages(struct owl_index *x, size_t page_items)
{
    size_t n = x->n ? (x->n - 1) / page_items + 1 : 1;
    x->page_items = page_items;
    compare_revs(x);
    x->n_pages = n < OWL__PAGES_KEPT ? n : OWL__PAGES_KEPT;
    x->pages = owl_calloc(n_slots(x), sizeof x->pages[0]);
    for (size_t i = 0; x->pages && i < n_slots(x); i++)
        atomic_init(&x->pages[i], NULL);
    return x->pages != NULL;
}

static bool make_index(struct owl_snapshot *s, size_t page_items)
{
    static const size_t defaults[] = {[OWL_KIND_TOOL] = 100,
                                      [OWL_KIND_RESOURCE] = 50,
                                      [OWL_KIND_TEMPLATE] = 50,
                                      [OWL_KIND_PROMPT] = 100};
    size_t room[OWL_KIND__MAX] = {0};
    for (size_t i = 0; i < s->n_parts; i++) {
        for (size_t j = 0; j < s->parts[i]->n; j++)
            room[s->parts[i]->items[j]->kind]++;
    }
    for (int k = 0; k < OWL_KIND__MAX; k++) {
        s->kinds[k].items = owl_malloc(room[k] * sizeof s->kinds[k].items[0]);
        if (!s->kinds[k].items)
            return false;
    }
    if (!merge(s))
        return false;
    for (int k = 0; k < OWL_KIND__MAX; k++) {
        sort(&s->kinds[k]);
        if (!make_pages(&s->kinds[k], page_items ? page_items : defaults[k]))
            return false;
    }
    return true;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

struct owl_snapshot *owl_snapshot__new(struct owl_part *const *parts, size_t n_parts, unsigned caps,
                                       size_t page_items)
{
    struct owl_snapshot *s = owl_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    atomic_init(&s->_refs, 1);
    s->caps = caps;
    pthread_mutex_init(&s->building, NULL);

    s->parts = owl_malloc(n_parts * sizeof s->parts[0]);
    for (size_t i = 0; s->parts && i < n_parts; i++)
        s->parts[s->n_parts++] = owl_part__aref(parts[i]);
    if (!s->parts || !make_index(s, page_items)) {
        owl_snapshot_aunref(s);
        return NULL;
    }
    return s;
}

struct owl_snapshot *owl_snapshot_aref(struct owl_snapshot *s)
{
    atomic_fetch_add_explicit(&s->_refs, 1, memory_order_relaxed);
    return s;
}

static void index_done(struct owl_index *x)
{
    for (size_t i = 0; x->pages && i < n_slots(x); i++) {
        struct owl_buf *page = atomic_load_explicit(&x->pages[i], memory_order_relaxed);
        if (page)
            owl_buf_done(page);
        owl_free(page);
    }
    owl_free(x->pages);
    owl_map_done(&x->map);
    owl_free(x->items);
}

void owl_snapshot_aunref(struct owl_snapshot *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->_refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int k = 0; k < OWL_KIND__MAX; k++)
        index_done(&s->kinds[k]);
    for (size_t i = 0; i < s->n_parts; i++)
        owl_part__aunref(s->parts[i]);
    owl_free(s->parts);
    pthread_mutex_destroy(&s->building);
    owl_free(s);
}

unsigned owl_snapshot_caps(const struct owl_snapshot *s)
{
    return s->caps;
}

size_t owl_snapshot_count(const struct owl_snapshot *s, enum owl_kind kind)
{
    return s->kinds[kind].n;
}

struct owl_item *owl_snapshot_find(const struct owl_snapshot *s, enum owl_kind kind, owl_str key)
{
    return owl_map_get(&s->kinds[kind].map, key);
}

struct owl_item *owl_snapshot_match(const struct owl_snapshot *s, owl_str uri,
                                    owl_str values[OWL_URI_VARS])
{
    const struct owl_index *x = &s->kinds[OWL_KIND_TEMPLATE];
    for (size_t i = 0; i < x->n; i++) {
        if (owl_uri_template_match(x->items[i].item->uri_template, uri, values))
            return x->items[i].item;
    }
    return NULL;
}

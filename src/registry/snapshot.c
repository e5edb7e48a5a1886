/* registry/snapshot.c - parts, and the snapshots that are made of them.
 * Threads: built by one, then read by any; counted atomically.
 *
 * Invariant: every item of an index is held by one of the snapshot's parts. */
#include "registry/snapshot.h"

#include "base/alloc.h"

/* ---- parts ----------------------------------------------------------------------------------- */

struct owl_part *owl_part__new(struct owl_provider *provider, size_t n)
{
    struct owl_part *p = owl_malloc(sizeof *p + n * sizeof p->items[0]);
    if (!p)
        return NULL;
    *p = (struct owl_part){.provider = provider ? owl_provider_aref(provider) : NULL};
    atomic_init(&p->_refs, 1);
    return p;
}

void owl_part__add(struct owl_part *p, struct owl_item *item, uint64_t seq)
{
    p->items[p->n++] = (struct owl_entry){
        .seq = seq, .item = owl_item_aref(item), .kind = item->kind};
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
        owl_item_aunref(p->items[i].item);
    owl_arena_free(p->arena);
    owl_provider_aunref(p->provider);
    owl_free(p);
}

unsigned owl_part__changes(const struct owl_part *p)
{
    unsigned changes = 0;
    for (size_t i = 0; i < p->n; i++)
        changes |= owl_kind_change(p->items[i].kind);
    return changes;
}

/* ---- pages -------------------------------------------------------------------------------------- */

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

static bool make_indexes(struct owl_snapshot *s, const struct owl_ranked *parts, size_t page_items)
{
    static const size_t defaults[] = {[OWL_KIND_TOOL] = 100,
                                      [OWL_KIND_RESOURCE] = 50,
                                      [OWL_KIND_TEMPLATE] = 50,
                                      [OWL_KIND_PROMPT] = 100};
    for (int k = 0; k < OWL_KIND__MAX; k++) {
        struct owl_index *x = &s->kinds[k];
        if (!owl_index__merge(x, (enum owl_kind)k, parts, s->n_parts) ||
            !make_pages(x, page_items ? page_items : defaults[k]))
            return false;
    }
    const struct owl_index *x = &s->kinds[OWL_KIND_TEMPLATE];
    return owl_templates__build(&s->templates, x->items, x->n);
}

/* ---- what providers declare ------------------------------------------------------------------ */

static bool add_methods(struct owl_snapshot *s, const struct owl_part *p)
{
    for (size_t i = 0; i < p->n_methods; i++) {
        if (!owl_map_get(&s->methods, p->methods[i]) &&
            owl_map_put(&s->methods, p->methods[i], p->provider, NULL))
            return false;
    }
    return true;
}

static bool add_extensions(struct owl_snapshot *s, const struct owl_part *p, struct owl_map *seen)
{
    for (size_t i = 0; i < p->n_extensions; i++) {
        const struct owl_declared *e = &p->extensions[i];
        if (owl_map_get(seen, e->id))
            continue;
        if (owl_map_put(seen, e->id, s, NULL))
            return false;
        s->extensions[s->n_extensions++] = e;
    }
    return true;
}

/* Of two parts that declare the same, the earlier one counts. False without memory. */
static bool merge_declared(struct owl_snapshot *s)
{
    size_t room = 0;
    for (size_t i = 0; i < s->n_parts; i++)
        room += s->parts[i]->n_extensions;
    if (room > 0 && !(s->extensions = owl_malloc(room * sizeof s->extensions[0])))
        return false;
    struct owl_map seen;
    owl_map_init(&seen);
    bool good = true;
    for (size_t i = 0; good && i < s->n_parts; i++)
        good = add_methods(s, s->parts[i]) && add_extensions(s, s->parts[i], &seen);
    owl_map_done(&seen);
    return good;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

struct owl_snapshot *owl_snapshot__new(const struct owl_ranked *parts, size_t n_parts,
                                       unsigned caps, size_t page_items)
{
    struct owl_snapshot *s = owl_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    atomic_init(&s->_refs, 1);
    s->caps = caps;
    pthread_mutex_init(&s->building, NULL);

    s->parts = owl_malloc(n_parts * sizeof s->parts[0]);
    for (size_t i = 0; s->parts && i < n_parts; i++)
        s->parts[s->n_parts++] = owl_part__aref(parts[i].part);
    if (!s->parts || !make_indexes(s, parts, page_items) || !merge_declared(s)) {
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
    owl_free(x->runs);
}

void owl_snapshot_aunref(struct owl_snapshot *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->_refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int k = 0; k < OWL_KIND__MAX; k++)
        index_done(&s->kinds[k]);
    owl_templates__done(&s->templates);
    owl_map_done(&s->methods);
    owl_free(s->extensions);
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

struct owl_item *owl_snapshot_find(const struct owl_snapshot *s, enum owl_kind kind, owl_str name)
{
    return owl_map_get(&s->kinds[kind].map, name);
}

owl_str owl_snapshot_name(const struct owl_snapshot *s, const struct owl_item *item)
{
    if (owl_snapshot_find(s, item->kind, item->key) == item)
        return item->key;
    bool found = item->fallback.p && owl_snapshot_find(s, item->kind, item->fallback) == item;
    return found ? item->fallback : (owl_str){0};
}

struct owl_item *owl_snapshot_match(const struct owl_snapshot *s, owl_str uri,
                                    owl_str values[OWL_URI_VARS])
{
    size_t tried;
    return owl_templates__match(&s->templates, uri, values, &tried);
}

struct owl_provider *owl_snapshot_method(const struct owl_snapshot *s, owl_str name)
{
    return owl_map_get(&s->methods, name);
}

const struct owl_declared *owl_snapshot_extension(const struct owl_snapshot *s, size_t i)
{
    return i < s->n_extensions ? s->extensions[i] : NULL;
}

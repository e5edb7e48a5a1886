/* registry/update.c - a provider's part, replaced as a whole.
 * Threads: an update belongs to one thread at a time; the registry is asked at its beginning and its
 * end.
 *
 * Items that stay keep their places, so that cursors stay true: new ones get places between those of
 * their neighbours, or behind the greatest that was ever given. Only where there is no room between
 * two neighbours are all places of the part given anew. */
#include "base/alloc.h"
#include "base/err.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "registry/snapshot.h"

enum { FIRST = 16, DECLARED_MAX = 256, NAME_BYTES = 256, SETTINGS_BYTES = 64 << 10, DEPTH = 32 };

static const uint64_t step = 1 << 20; /* between two places, so that others fit in */

struct owl_update {
    struct owl_registry *registry;
    struct owl_provider *provider;      /* a reference */
    struct owl_part *old;               /* a reference, or NULL: it has no part yet */
    struct owl_map was[OWL_KIND__MAX];  /* what it calls its items to the old entries */
    struct owl_map raws[OWL_KIND__MAX]; /* the texts of their entries to the old items */
    struct owl_map now[OWL_KIND__MAX];  /* what it calls its items to those of this update */
    struct owl_entry *items;            /* a reference each */
    size_t n, cap;
    struct owl_arena *arena; /* of what follows; becomes the part's */
    owl_str methods[DECLARED_MAX];
    struct owl_declared extensions[DECLARED_MAX];
    size_t n_methods, n_extensions;
};

struct owl_update *owl_update_new(struct owl_registry *r, struct owl_provider *p)
{
    struct owl_update *u = owl_calloc(1, sizeof *u);
    if (!u)
        return NULL;
    u->registry = r;
    u->provider = owl_provider_aref(p);
    u->arena = owl_arena_new(0);
    u->old = owl_registry__part(r, p);
    bool good = u->arena != NULL;
    for (size_t i = 0; good && u->old && i < u->old->n; i++) {
        struct owl_entry *e = &u->old->items[i];
        good = owl_map_put(&u->was[e->item->kind], e->item->origin, e, NULL) == 0 &&
               (!e->item->raw.p ||
                owl_map_put(&u->raws[e->item->kind], e->item->raw, e->item, NULL) == 0);
    }
    if (!good) {
        owl_update_free(u);
        return NULL;
    }
    return u;
}

void owl_update_free(struct owl_update *u)
{
    if (!u)
        return;
    for (int k = 0; k < OWL_KIND__MAX; k++) {
        owl_map_done(&u->was[k]);
        owl_map_done(&u->raws[k]);
        owl_map_done(&u->now[k]);
    }
    for (size_t i = 0; i < u->n; i++)
        owl_item_aunref(u->items[i].item);
    owl_free(u->items);
    owl_arena_free(u->arena);
    owl_part__aunref(u->old);
    owl_provider_aunref(u->provider);
    owl_free(u);
}

/* ---- items ----------------------------------------------------------------------------------- */

int owl_update_add(struct owl_update *u, struct owl_item *item)
{
    if (owl_map_get(&u->now[item->kind], item->origin))
        return -OWL_EEXISTS;
    if (u->n >= OWL__ITEMS_MAX)
        return -OWL_ELIMIT;
    if (u->n == u->cap) {
        size_t cap = u->cap ? u->cap * 2 : FIRST;
        struct owl_entry *items = owl_realloc(u->items, cap * sizeof items[0]);
        if (!items)
            return -OWL_ENOMEM;
        u->items = items;
        u->cap = cap;
    }
    if (owl_map_put(&u->now[item->kind], item->origin, item, NULL))
        return -OWL_ENOMEM;
    u->items[u->n++] = (struct owl_entry){.item = owl_item_aref(item), .kind = item->kind};
    return 0;
}

int owl_update_add_raw(struct owl_update *u, enum owl_kind kind, owl_str entry,
                       const struct owl_item_options *o, owl_error *reterr)
{
    struct owl_item *it = owl_map_get(&u->raws[kind], entry);
    int rc = 0;
    if (it && owl_item_same(it, entry, o))
        owl_item_aref(it);
    else
        rc = owl_item_raw(kind, entry, o, &it, reterr);
    if (rc)
        return rc;
    rc = owl_update_add(u, it);
    if (rc == -OWL_EEXISTS) {
        owl_str name = owl_utf8_cut(it->origin, 80);
        rc = owl_fail(reterr, OWL_EEXISTS, "\"%.*s\" is listed twice", (int)name.n, name.p);
    } else if (rc) {
        rc = owl_fail(reterr, -rc, NULL);
    }
    owl_item_aunref(it);
    return rc;
}

/* ---- what else is declared ------------------------------------------------------------------- */

int owl_update_add_method(struct owl_update *u, owl_str name, owl_error *reterr)
{
    if (name.n == 0 || name.n > NAME_BYTES || !owl_utf8_valid(name))
        return owl_fail(reterr, OWL_EINVAL, "a method's name has 1 to %d bytes of UTF-8",
                        NAME_BYTES);
    for (size_t i = 0; i < u->n_methods; i++) {
        if (owl_str_eq(u->methods[i], name))
            return owl_fail(reterr, OWL_EEXISTS, "the method %.*s is declared twice", (int)name.n,
                            name.p);
    }
    if (u->n_methods == DECLARED_MAX)
        return owl_fail(reterr, OWL_ELIMIT, "more than %d methods", DECLARED_MAX);
    name.p = owl_arena_dup(u->arena, name);
    if (!name.p)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    u->methods[u->n_methods++] = name;
    return 0;
}

/* The settings on one line, in the arena. */
static int keep_settings(struct owl_update *u, owl_str settings, owl_str *ret, owl_error *reterr)
{
    settings = owl_str_trim(settings);
    int rc = owl_json_scan(settings, DEPTH, reterr);
    if (rc == -OWL_ENOMEM)
        return rc;
    if (rc || !owl_span_is_object(owl_span_begin(settings)))
        return owl_fail(reterr, OWL_EINVAL, "the settings of an extension must be a JSON object");
    struct owl_buf b;
    owl_buf_init_arena(&b, u->arena, SETTINGS_BYTES);
    owl_json_compact(&b, settings);
    if (b.rc)
        return owl_fail(reterr, -b.rc,
                        b.rc == -OWL_ELIMIT ? "the settings of an extension take too many bytes"
                                            : NULL);
    *ret = owl_buf_str(&b);
    return 0;
}

int owl_update_add_extension(struct owl_update *u, owl_str id, owl_str settings, owl_error *reterr)
{
    if (id.n == 0 || id.n > NAME_BYTES || !memchr(id.p, '/', id.n) || !owl_mcp_key_valid(id))
        return owl_fail(reterr, OWL_EINVAL, "an extension id has the form vendor.prefix/name");
    for (size_t i = 0; i < u->n_extensions; i++) {
        if (owl_str_eq(u->extensions[i].id, id))
            return owl_fail(reterr, OWL_EEXISTS, "the extension %.*s is declared twice", (int)id.n,
                            id.p);
    }
    if (u->n_extensions == DECLARED_MAX)
        return owl_fail(reterr, OWL_ELIMIT, "more than %d extensions", DECLARED_MAX);
    struct owl_declared e = {.id = {owl_arena_dup(u->arena, id), id.n}};
    if (!e.id.p)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    int rc = keep_settings(u, settings, &e.settings, reterr);
    if (rc == 0)
        u->extensions[u->n_extensions++] = e;
    return rc;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The place that item @p i had, or 0. */
static uint64_t old_place(const struct owl_update *u, size_t i)
{
    const struct owl_item *it = u->items[i].item;
    const struct owl_entry *e = owl_map_get(&u->was[it->kind], it->origin);
    return e ? e->seq : 0;
}

/* Gives places to the items from @p from up to @p end, between two others; 0: there is none behind
 * them. False if there is no room. */
static bool fill(struct owl_update *u, size_t from, size_t end, uint64_t before, uint64_t behind,
                 uint64_t *top)
{
    uint64_t n = end - from, by = step;
    if (behind == 0) {
        before = before > *top ? before : *top;
        if (n > (UINT64_MAX - before) / step)
            return false;
        *top = before + n * step;
    } else {
        by = (behind - before) / (n + 1);
        if (by == 0)
            return false;
    }
    for (size_t i = from; i < end; i++)
        u->items[i].seq = before += by;
    return true;
}

/* Who comes behind all that stand before it stays; the others find their place between those. */
static bool keep_places(struct owl_update *u, uint64_t *top)
{
    uint64_t last = 0;
    for (size_t i = 0; i < u->n;) {
        size_t end = i;
        uint64_t place = 0;
        while (end < u->n && (place = old_place(u, end)) <= last)
            end++;
        if (end == u->n)
            place = 0;
        if (end > i && !fill(u, i, end, last, place, top))
            return false;
        if (end < u->n)
            u->items[end].seq = last = place;
        i = end + 1;
    }
    return true;
}

static uint64_t give_places(struct owl_update *u)
{
    uint64_t top = u->old ? u->old->top : 0;
    if (keep_places(u, &top))
        return top;
    for (size_t i = 0; i < u->n; i++)
        u->items[i].seq = (i + 1) * step;
    return u->n * step;
}

/* ---- putting it in place --------------------------------------------------------------------- */

/* The place of the next item of that kind from @p i on, or @p n. */
static size_t next_of(const struct owl_entry *items, size_t n, enum owl_kind kind, size_t i)
{
    while (i < n && items[i].kind != kind)
        i++;
    return i;
}

static bool list_differs(const struct owl_update *u, enum owl_kind kind)
{
    const struct owl_entry *old = u->old ? u->old->items : NULL;
    size_t n_old = u->old ? u->old->n : 0;
    size_t i = next_of(old, n_old, kind, 0), j = next_of(u->items, u->n, kind, 0);
    while (i < n_old && j < u->n && old[i].item == u->items[j].item) {
        i = next_of(old, n_old, kind, i + 1);
        j = next_of(u->items, u->n, kind, j + 1);
    }
    return i < n_old || j < u->n;
}

static bool declares_same(const struct owl_update *u)
{
    const struct owl_part *p = u->old;
    if (p->n_methods != u->n_methods || p->n_extensions != u->n_extensions)
        return false;
    for (size_t i = 0; i < u->n_methods; i++) {
        if (!owl_str_eq(p->methods[i], u->methods[i]))
            return false;
    }
    for (size_t i = 0; i < u->n_extensions; i++) {
        if (!owl_str_eq(p->extensions[i].id, u->extensions[i].id) ||
            !owl_str_eq(p->extensions[i].settings, u->extensions[i].settings))
            return false;
    }
    return true;
}

static struct owl_update_result compare(const struct owl_update *u)
{
    struct owl_update_result result = {0};
    for (int k = 0; k < OWL_KIND__MAX; k++) {
        if (list_differs(u, (enum owl_kind)k))
            result.changes |= owl_kind_change((enum owl_kind)k);
    }
    for (size_t i = 0; i < u->n; i++) {
        const struct owl_item *it = u->items[i].item;
        const struct owl_entry *e = owl_map_get(&u->was[it->kind], it->origin);
        result.kept += e && e->item == it;
    }
    result.built = u->n - result.kept;
    return result;
}

/* A part of what was added. The arena is the update's too until it is in place. */
static struct owl_part *make_part(struct owl_update *u)
{
    struct owl_part *p = owl_part__new(u->provider, u->n);
    owl_str *methods = owl_arena_alloc(u->arena, u->n_methods * sizeof *methods);
    struct owl_declared *extensions = owl_arena_alloc(u->arena,
                                                      u->n_extensions * sizeof *extensions);
    if (!p || !methods || !extensions) {
        owl_part__aunref(p);
        return NULL;
    }
    memcpy(methods, u->methods, u->n_methods * sizeof *methods);
    memcpy(extensions, u->extensions, u->n_extensions * sizeof *extensions);
    p->arena = u->arena;
    p->methods = methods;
    p->extensions = extensions;
    p->n_methods = u->n_methods;
    p->n_extensions = u->n_extensions;
    p->top = give_places(u);
    for (size_t i = 0; i < u->n; i++)
        owl_part__add(p, u->items[i].item, u->items[i].seq);
    return p;
}

int owl_update_commit(struct owl_update *u, unsigned rank, struct owl_update_result *ret)
{
    struct owl_update_result result = compare(u);
    bool same = u->old && result.changes == 0 && declares_same(u);
    struct owl_part *part = same ? owl_part__aref(u->old) : make_part(u);
    if (!part)
        return -OWL_ENOMEM;
    bool moved = false;
    int rc = owl_registry__swap(u->registry, u->old, part, rank, &moved);
    if (rc == 0 && moved)
        result.changes |= owl_part__changes(part);
    if (rc == 0 && !same)
        u->arena = NULL;
    else if (rc && !same)
        part->arena = NULL;
    owl_part__aunref(part);
    if (rc == 0 && ret)
        *ret = result;
    return rc;
}

int owl_registry_replace_part(struct owl_registry *r, struct owl_provider *p, unsigned rank,
                              struct owl_item *const *items, size_t n,
                              struct owl_update_result *ret)
{
    struct owl_update *u = owl_update_new(r, p);
    int rc = u ? 0 : -OWL_ENOMEM;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = owl_update_add(u, items[i]);
    if (rc == 0)
        rc = owl_update_commit(u, rank, ret);
    owl_update_free(u);
    return rc;
}

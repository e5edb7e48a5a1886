/* registry/registry.c - the list that changes.
 * Threads: any, under one lock. Nothing of the program's (free_data) is called with the lock held.
 *
 * A change only touches this list and forgets the snapshot; the next one who asks builds a new
 * one, so that adding many items costs one snapshot. Invariants: items of a kind are in ascending
 * order of their `seq`, and each is in its map; `current` is NULL or shows just what is there. */
#include "base/alloc.h"
#include "mcp/model.h"
#include "registry/snapshot.h"

enum { ITEMS_MAX = 100000, FIRST = 16 };

/* The items of one kind. */
struct shelf {
    struct owl_item **items; /* a reference each */
    size_t n, cap;
    struct owl_map map;
};

struct owl_registry {
    pthread_mutex_t lock;
    struct shelf kinds[OWL_KIND__MAX];
    size_t n; /* items of all kinds */
    uint64_t last_seq;
    unsigned caps; /* of all that ever was here: what was declared is never taken back */
    size_t page_items;
    struct owl_snapshot *current;
};

struct owl_registry *owl_registry_new(unsigned page_items)
{
    struct owl_registry *r = owl_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    r->page_items = page_items;
    return r;
}

void owl_registry_free(struct owl_registry *r)
{
    if (!r)
        return;
    owl_snapshot_aunref(r->current);
    for (int k = 0; k < OWL_KIND__MAX; k++) {
        struct shelf *f = &r->kinds[k];
        for (size_t i = 0; i < f->n; i++)
            owl_item_aunref(f->items[i]);
        owl_free(f->items);
        owl_map_done(&f->map);
    }
    pthread_mutex_destroy(&r->lock);
    owl_free(r);
}

static size_t place_of(const struct shelf *f, const struct owl_item *item)
{
    size_t low = 0, high = f->n - 1;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->items[mid]->seq < item->seq)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int append(struct owl_registry *r, struct shelf *f, struct owl_item *item)
{
    if (r->n >= ITEMS_MAX)
        return -OWL_ELIMIT;
    if (f->n == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : FIRST;
        struct owl_item **items = owl_realloc(f->items, cap * sizeof items[0]);
        if (!items)
            return -OWL_ENOMEM;
        f->items = items;
        f->cap = cap;
    }
    if (owl_map_put(&f->map, item->key, item, NULL))
        return -OWL_ENOMEM;
    item->seq = ++r->last_seq;
    f->items[f->n++] = item;
    r->n++;
    return 0;
}

static int replace(struct shelf *f, struct owl_item *old, struct owl_item *item)
{
    if (owl_map_put(&f->map, item->key, item, NULL))
        return -OWL_ENOMEM;
    item->seq = old->seq;
    f->items[place_of(f, old)] = item;
    return 0;
}

static unsigned caps_of(const struct owl_item *item)
{
    static const unsigned caps[OWL_KIND__MAX] = {
        [OWL_KIND_TOOL] = OWL_CAP_TOOLS,
        [OWL_KIND_RESOURCE] = OWL_CAP_RESOURCES,
        [OWL_KIND_TEMPLATE] = OWL_CAP_RESOURCES,
        [OWL_KIND_PROMPT] = OWL_CAP_PROMPTS,
    };
    return caps[item->kind] | (item->complete ? OWL_CAP_COMPLETIONS : OWL_CAP_NONE) |
           (item->flags & OWL_TASK ? OWL_CAP_TASKS : OWL_CAP_NONE);
}

/* After a change: the snapshot that is no longer true, to be released without the lock. */
static struct owl_snapshot *outdate(struct owl_registry *r)
{
    struct owl_snapshot *stale = r->current;
    r->current = NULL;
    return stale;
}

int owl_registry_put(struct owl_registry *r, struct owl_item *item)
{
    struct owl_snapshot *stale = NULL;
    pthread_mutex_lock(&r->lock);
    struct shelf *f = &r->kinds[item->kind];
    struct owl_item *old = owl_map_get(&f->map, item->key);
    int rc = old ? replace(f, old, item) : append(r, f, item);
    if (rc == 0) {
        r->caps |= caps_of(item);
        stale = outdate(r);
    }
    pthread_mutex_unlock(&r->lock);
    if (rc)
        return rc;
    owl_snapshot_aunref(stale);
    owl_item_aunref(old);
    return 0;
}

int owl_registry_remove(struct owl_registry *r, enum owl_kind kind, owl_str key)
{
    struct owl_snapshot *stale = NULL;
    pthread_mutex_lock(&r->lock);
    struct shelf *f = &r->kinds[kind];
    struct owl_item *old = owl_map_del(&f->map, key);
    if (old) {
        size_t at = place_of(f, old);
        f->n--;
        r->n--;
        memmove(&f->items[at], &f->items[at + 1], (f->n - at) * sizeof f->items[0]);
        stale = outdate(r);
    }
    pthread_mutex_unlock(&r->lock);
    owl_snapshot_aunref(stale);
    owl_item_aunref(old);
    return old ? 0 : -OWL_ENOTFOUND;
}

/* All that is registered here is one part, for the program is one provider. */
static struct owl_snapshot *build(const struct owl_registry *r)
{
    struct owl_part *part = owl_part__new(r->n);
    if (!part)
        return NULL;
    for (int k = 0; k < OWL_KIND__MAX; k++) {
        const struct shelf *f = &r->kinds[k];
        for (size_t i = 0; i < f->n; i++)
            owl_part__add(part, f->items[i]);
    }
    struct owl_snapshot *s = owl_snapshot__new(&part, 1, r->caps, r->page_items);
    owl_part__aunref(part);
    return s;
}

struct owl_snapshot *owl_registry_snapshot(struct owl_registry *r)
{
    pthread_mutex_lock(&r->lock);
    if (!r->current)
        r->current = build(r);
    struct owl_snapshot *s = r->current ? owl_snapshot_aref(r->current) : NULL;
    pthread_mutex_unlock(&r->lock);
    return s;
}

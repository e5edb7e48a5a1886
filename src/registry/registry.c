/* registry/registry.c - the parts that change.
 * Threads: any, under one lock. Nothing of the program's (free_data) is called with the lock held.
 *
 * The program's own part is a list here, of which a part is made when a snapshot needs it. Those of
 * providers come as they are (update.c). A change only touches these and forgets the snapshot; the
 * next one who asks builds a new one, so that adding many items costs one snapshot. Invariants: own
 * items of a kind are in ascending order of their `seq`, and each is in its map; parts are in the
 * order of rank and number, one a provider; `own` and `current` are NULL or show just what is there. */
#include "base/alloc.h"
#include "mcp/model.h"
#include "registry/snapshot.h"

enum { PARTS_MAX = 10000, FIRST = 16 };

/* The program's items of one kind. */
struct shelf {
    struct owl_item **items; /* a reference each */
    size_t n, cap;
    struct owl_map map;
};

struct owl_registry {
    pthread_mutex_t lock;
    struct shelf kinds[OWL_KIND__MAX];
    size_t n_own;
    uint64_t last_seq;
    struct owl_ranked own;    /* its number is 0; its part is made of the shelves */
    struct owl_ranked *parts; /* of providers; a reference each */
    size_t n_parts, cap_parts;
    uint64_t last_number;
    size_t n;      /* items of all parts */
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
    owl_part__aunref(r->own.part);
    for (size_t i = 0; i < r->n_parts; i++)
        owl_part__aunref(r->parts[i].part);
    owl_free(r->parts);
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
    if (r->n >= OWL__ITEMS_MAX)
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
    r->n_own++;
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

/* What is no longer true after a change, to be released without the lock. */
struct stale {
    struct owl_snapshot *snapshot;
    struct owl_part *part;
};

static struct stale outdate(struct owl_registry *r)
{
    struct stale stale = {.snapshot = r->current};
    r->current = NULL;
    return stale;
}

static struct stale outdate_own(struct owl_registry *r)
{
    struct stale stale = outdate(r);
    stale.part = r->own.part;
    r->own.part = NULL;
    return stale;
}

static void release(struct stale stale)
{
    owl_snapshot_aunref(stale.snapshot);
    owl_part__aunref(stale.part);
}

int owl_registry_put(struct owl_registry *r, struct owl_item *item)
{
    struct stale stale = {0};
    pthread_mutex_lock(&r->lock);
    struct shelf *f = &r->kinds[item->kind];
    struct owl_item *old = owl_map_get(&f->map, item->key);
    int rc = old ? replace(f, old, item) : append(r, f, item);
    if (rc == 0) {
        r->caps |= caps_of(item);
        stale = outdate_own(r);
    }
    pthread_mutex_unlock(&r->lock);
    if (rc)
        return rc;
    release(stale);
    owl_item_aunref(old);
    return 0;
}

int owl_registry_remove(struct owl_registry *r, enum owl_kind kind, owl_str key)
{
    struct stale stale = {0};
    pthread_mutex_lock(&r->lock);
    struct shelf *f = &r->kinds[kind];
    struct owl_item *old = owl_map_del(&f->map, key);
    if (old) {
        size_t at = place_of(f, old);
        f->n--;
        r->n_own--;
        r->n--;
        memmove(&f->items[at], &f->items[at + 1], (f->n - at) * sizeof f->items[0]);
        stale = outdate_own(r);
    }
    pthread_mutex_unlock(&r->lock);
    release(stale);
    owl_item_aunref(old);
    return old ? 0 : -OWL_ENOTFOUND;
}

/* ---- parts of providers ---------------------------------------------------------------------- */

/* Where the provider's part is; n_parts if it has none. */
static size_t find_part(const struct owl_registry *r, const struct owl_provider *p)
{
    size_t i = 0;
    while (i < r->n_parts && r->parts[i].provider != p)
        i++;
    return i;
}

struct owl_part *owl_registry__part(struct owl_registry *r, const struct owl_provider *p)
{
    pthread_mutex_lock(&r->lock);
    size_t at = find_part(r, p);
    struct owl_part *part = at < r->n_parts ? owl_part__aref(r->parts[at].part) : NULL;
    pthread_mutex_unlock(&r->lock);
    return part;
}

static void take_out(struct owl_registry *r, size_t at)
{
    r->n_parts--;
    memmove(&r->parts[at], &r->parts[at + 1], (r->n_parts - at) * sizeof r->parts[0]);
}

/* There is room for it. */
static void put_in(struct owl_registry *r, const struct owl_ranked *p)
{
    size_t at = r->n_parts;
    while (at > 0 &&
           owl_rank_less(p->rank, p->number, r->parts[at - 1].rank, r->parts[at - 1].number))
        at--;
    memmove(&r->parts[at + 1], &r->parts[at], (r->n_parts - at) * sizeof r->parts[0]);
    r->parts[at] = *p;
    r->n_parts++;
}

static int make_room(struct owl_registry *r)
{
    if (r->n_parts >= PARTS_MAX)
        return -OWL_ELIMIT;
    if (r->n_parts < r->cap_parts)
        return 0;
    size_t cap = r->cap_parts ? r->cap_parts * 2 : FIRST;
    struct owl_ranked *parts = owl_realloc(r->parts, cap * sizeof parts[0]);
    if (!parts)
        return -OWL_ENOMEM;
    r->parts = parts;
    r->cap_parts = cap;
    return 0;
}

/* Under the lock. On success *ret_stale is the old part and the old snapshot. */
static int swap(struct owl_registry *r, const struct owl_part *old, struct owl_ranked *now,
                struct stale *ret_stale, bool *ret_moved)
{
    size_t at = find_part(r, now->provider);
    struct owl_ranked *was = at < r->n_parts ? &r->parts[at] : NULL;
    if ((was ? was->part : NULL) != old)
        return -OWL_ESTATE;
    if (r->n - (was ? was->part->n : 0) + now->part->n > OWL__ITEMS_MAX)
        return -OWL_ELIMIT;
    int rc = was ? 0 : make_room(r);
    if (rc)
        return rc;
    *ret_moved = was && was->rank != now->rank;
    if (was && !*ret_moved && was->part == now->part)
        return 0; /* nothing has changed */
    *ret_stale = outdate(r);
    now->number = was ? was->number : ++r->last_number;
    if (was) {
        ret_stale->part = was->part;
        r->n -= was->part->n;
        take_out(r, at);
    }
    r->n += now->part->n;
    owl_part__aref(now->part);
    put_in(r, now);
    for (size_t i = 0; i < now->part->n; i++)
        r->caps |= caps_of(now->part->items[i].item);
    return 0;
}

int owl_registry__swap(struct owl_registry *r, struct owl_part *old, struct owl_part *part,
                       unsigned rank, bool *ret_moved)
{
    struct stale stale = {0};
    struct owl_ranked now = {.part = part, .rank = rank, .provider = part->provider};
    pthread_mutex_lock(&r->lock);
    int rc = swap(r, old, &now, &stale, ret_moved);
    pthread_mutex_unlock(&r->lock);
    release(stale);
    return rc;
}

int owl_registry_remove_part(struct owl_registry *r, const struct owl_provider *p,
                             unsigned *ret_changes)
{
    struct stale stale = {0};
    pthread_mutex_lock(&r->lock);
    size_t at = find_part(r, p);
    if (at < r->n_parts) {
        stale = outdate(r);
        stale.part = r->parts[at].part;
        r->n -= stale.part->n;
        take_out(r, at);
    }
    pthread_mutex_unlock(&r->lock);
    if (!stale.part)
        return -OWL_ENOTFOUND;
    if (ret_changes)
        *ret_changes = owl_part__changes(stale.part);
    release(stale);
    return 0;
}

int owl_registry_set_rank(struct owl_registry *r, const struct owl_provider *p, unsigned rank)
{
    struct stale stale = {0};
    int rc = 0;
    pthread_mutex_lock(&r->lock);
    size_t at = p ? find_part(r, p) : 0;
    if (!p) {
        stale = outdate(r);
        r->own.rank = rank;
    } else if (at < r->n_parts) {
        struct owl_ranked moved = r->parts[at];
        moved.rank = rank;
        stale = outdate(r);
        take_out(r, at);
        put_in(r, &moved);
    } else {
        rc = -OWL_ENOTFOUND;
    }
    pthread_mutex_unlock(&r->lock);
    release(stale);
    return rc;
}

void owl_registry_declare(struct owl_registry *r, unsigned caps)
{
    struct stale stale = {0};
    pthread_mutex_lock(&r->lock);
    if (caps & ~r->caps) {
        r->caps |= caps;
        stale = outdate(r);
    }
    pthread_mutex_unlock(&r->lock);
    release(stale);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* The part of what the program has added; false without memory. */
static bool make_own(struct owl_registry *r)
{
    if (r->own.part)
        return true;
    struct owl_part *part = owl_part__new(NULL, r->n_own);
    if (!part)
        return false;
    for (int k = 0; k < OWL_KIND__MAX; k++) {
        const struct shelf *f = &r->kinds[k];
        for (size_t i = 0; i < f->n; i++)
            owl_part__add(part, f->items[i], f->items[i]->seq);
    }
    r->own.part = part;
    return true;
}

static struct owl_snapshot *build(struct owl_registry *r)
{
    if (!make_own(r))
        return NULL;
    struct owl_ranked *all = owl_malloc((r->n_parts + 1) * sizeof all[0]);
    if (!all)
        return NULL;
    size_t n = 0;
    while (n < r->n_parts && r->parts[n].rank < r->own.rank) {
        all[n] = r->parts[n];
        n++;
    }
    all[n] = r->own;
    for (; n < r->n_parts; n++)
        all[n + 1] = r->parts[n];
    struct owl_snapshot *s = owl_snapshot__new(all, n + 1, r->caps, r->page_items);
    owl_free(all);
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

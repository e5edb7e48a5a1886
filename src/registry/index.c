/* registry/index.c - the merged list of one kind, and the names that lead to its items.
 * Threads: built by one.
 *
 * The parts come in their order, and the items of each in theirs, so that the list is one after the
 * other. Names are given in rounds, those that matter most first; what has a name keeps it. */
#include "base/alloc.h"
#include "registry/snapshot.h"

static size_t count(enum owl_kind kind, const struct owl_ranked *parts, size_t n_parts)
{
    size_t n = 0;
    for (size_t i = 0; i < n_parts; i++) {
        const struct owl_part *p = parts[i].part;
        for (size_t j = 0; j < p->n; j++)
            n += p->items[j].kind == kind;
    }
    return n;
}

/* Puts all items of the kind into the list. */
static void gather(struct owl_index *x, enum owl_kind kind, const struct owl_ranked *parts,
                   size_t n_parts)
{
    for (size_t i = 0; i < n_parts; i++) {
        const struct owl_part *p = parts[i].part;
        size_t from = x->n;
        for (size_t j = 0; j < p->n; j++) {
            if (p->items[j].kind == kind)
                x->items[x->n++] = p->items[j];
        }
        if (x->n > from)
            x->runs[x->n_runs++] = (struct owl_run){parts[i].rank, parts[i].number, from};
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

/* *ret_taken: the name belongs to another item. False without memory. */
static bool take(struct owl_index *x, owl_str name, struct owl_item *it, bool *ret_taken)
{
    struct owl_item *owner = owl_map_get(&x->map, name);
    *ret_taken = owner && owner != it;
    return owner || owl_map_put(&x->map, name, it, NULL) == 0;
}

/* A name that is found only, if nothing else has it. */
static bool offer(struct owl_index *x, owl_str name, struct owl_item *it)
{
    bool taken;
    return !name.p || take(x, name, it, &taken);
}

/* *ret_more: some item has other names, or none yet. */
static bool name_keys(struct owl_index *x, bool *ret_more)
{
    *ret_more = false;
    for (size_t i = 0; i < x->n; i++) {
        struct owl_entry *e = &x->items[i];
        bool taken;
        if (!take(x, e->item->key, e->item, &taken))
            return false;
        e->shown = taken ? OWL_RENAMED : OWL_SHOWN;
        *ret_more |= taken || e->item->fallback.p || e->item->registry_name.p || e->item->n_aliases;
    }
    return true;
}

static bool name_renamed(struct owl_index *x)
{
    for (size_t i = 0; i < x->n; i++) {
        struct owl_entry *e = &x->items[i];
        if (e->shown == OWL_SHOWN)
            continue;
        bool taken = true;
        if (e->item->fallback.p && !take(x, e->item->fallback, e->item, &taken))
            return false;
        if (taken)
            e->shown = OWL_UNLISTED;
    }
    return true;
}

static bool name_rest(struct owl_index *x)
{
    for (size_t i = 0; i < x->n; i++) {
        if (!offer(x, x->items[i].item->fallback, x->items[i].item))
            return false;
    }
    for (size_t i = 0; i < x->n; i++) {
        if (!offer(x, x->items[i].item->registry_name, x->items[i].item))
            return false;
    }
    for (size_t i = 0; i < x->n; i++) {
        const struct owl_item *it = x->items[i].item;
        for (size_t k = 0; k < it->n_aliases; k++) {
            if (!offer(x, it->aliases[k], x->items[i].item))
                return false;
        }
    }
    return true;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Takes what is not listed out of the list. */
static void drop_unlisted(struct owl_index *x)
{
    size_t to = 0;
    for (size_t r = 0; r < x->n_runs; r++) {
        size_t end = r + 1 < x->n_runs ? x->runs[r + 1].from : x->n;
        size_t i = x->runs[r].from;
        x->runs[r].from = to;
        for (; i < end; i++) {
            if (x->items[i].shown != OWL_UNLISTED)
                x->items[to++] = x->items[i];
        }
    }
    x->n = to;
}

bool owl_index__merge(struct owl_index *x, enum owl_kind kind, const struct owl_ranked *parts,
                      size_t n_parts)
{
    x->items = owl_malloc(count(kind, parts, n_parts) * sizeof x->items[0]);
    x->runs = owl_malloc(n_parts * sizeof x->runs[0]);
    if (!x->items || !x->runs)
        return false;
    gather(x, kind, parts, n_parts);
    bool more;
    if (!name_keys(x, &more))
        return false;
    if (more && (!name_renamed(x) || !name_rest(x)))
        return false;
    if (more)
        drop_unlisted(x);
    return true;
}

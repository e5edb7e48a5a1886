/* registry/snapshot.h - what a snapshot is made of; for the files of this layer.
 * Layer: registry. Threads: immutable once built, but for the pages, which appear one by one. */
#ifndef OWL_REGISTRY_SNAPSHOT_H
#define OWL_REGISTRY_SNAPSHOT_H

#include <pthread.h>

#include "base/map.h"
#include "registry/registry.h"
#include "registry/templates.h"

enum { OWL__PAGES_KEPT = 64 }; /* pages that one snapshot keeps */

enum owl_shown {
    OWL_SHOWN,   /* under its key */
    OWL_RENAMED, /* under its fallback */
    OWL_UNLISTED /* not in lists, but found by other names */
};

struct owl_entry {
    uint64_t seq;          /* place in its part; beside the item so that a search touches no item */
    struct owl_item *item; /* in a part: a reference; in an index: borrowed from its part */
    enum owl_kind kind;    /* of the item; likewise beside it */
    enum owl_shown shown;  /* of an index only */
};

/* What one provider offers. Counted: snapshots that differ in other parts share it. Invariant: the
 * entries of a kind are in ascending order of `seq`, which begins at 1. */
struct owl_part {
    atomic_uint _refs;
    struct owl_provider *provider; /* a reference; NULL: the program */
    struct owl_arena *arena;       /* holds what is declared; NULL: nothing is */
    const owl_str *methods;
    const struct owl_declared *extensions;
    size_t n_methods, n_extensions;
    uint64_t top; /* greatest place that was ever given */
    size_t n;
    struct owl_entry items[];
};

/* A part with room for @p n items and none in it, or NULL. Add with owl_part__add() until it is
 * shared; both take references of their own. */
OWL_NODISCARD struct owl_part *owl_part__new(struct owl_provider *provider, size_t n);
void owl_part__add(struct owl_part *p, struct owl_item *item, uint64_t seq);
struct owl_part *owl_part__aref(struct owl_part *p);
void owl_part__aunref(struct owl_part *p);
/* The lists that it has items in: OWL_CHANGED_… */
unsigned owl_part__changes(const struct owl_part *p);

/* A part and where it stands: by rank, then by number, which no other has. */
struct owl_ranked {
    struct owl_part *part;
    unsigned rank;
    uint64_t number;
    const struct owl_provider
        *provider; /* the part's; beside it so that a search touches no part */
};
static inline bool owl_rank_less(unsigned rank, uint64_t number, unsigned than_rank,
                                 uint64_t than_number)
{
    return rank != than_rank ? rank < than_rank : number < than_number;
}

/* Where the items of a part begin in an index. */
struct owl_run {
    unsigned rank;
    uint64_t number;
    size_t from;
};

/* All items of one kind, in their order. */
struct owl_index {
    struct owl_entry *items; /* those that are listed */
    size_t n;
    struct owl_run *runs; /* of parts that have any of the kind, in their order; may be empty */
    size_t n_runs;
    struct owl_map map; /* every name to its item */
    size_t page_items;
    enum owl_rev same[OWL_REV__MAX];  /* the oldest revision that gets the pages of this one */
    _Atomic(struct owl_buf *) *pages; /* of each revision that is its own oldest those that begin at
                                       * 0, page_items, 2 × page_items … */
    size_t n_pages;                   /* of one revision; at most OWL__PAGES_KEPT */
};

struct owl_snapshot {
    atomic_uint _refs;
    unsigned caps;
    struct owl_index kinds[OWL_KIND__MAX];
    struct owl_templates templates;
    struct owl_map methods; /* to providers */
    const struct owl_declared **extensions;
    size_t n_extensions;
    struct owl_part **parts; /* a reference each */
    size_t n_parts;
    pthread_mutex_t building; /* held while a page is built; guards `kept` */
    unsigned kept;
};

/* Merge @p parts, which are in their order (takes references of its own); @p page_items 0: the
 * defaults. One reference; NULL without memory. */
OWL_NODISCARD struct owl_snapshot *owl_snapshot__new(const struct owl_ranked *parts, size_t n_parts,
                                                     unsigned caps, size_t page_items);
/* Puts the items of all parts into the list and the map of @p kind; false without memory. */
OWL_NODISCARD bool owl_index__merge(struct owl_index *x, enum owl_kind kind,
                                    const struct owl_ranked *parts, size_t n_parts);

/* ---- the parts that a registry has (registry.c), for update.c --------------------------------- */

enum { OWL__ITEMS_MAX = 100000 };

/* The provider's part, with a reference; NULL if it has none. */
OWL_NODISCARD struct owl_part *owl_registry__part(struct owl_registry *r,
                                                  const struct owl_provider *p);
/* Puts @p part (takes a reference of its own) in the place of @p old, the provider's part or NULL.
 * *ret_moved: its rank was another one. @errors as owl_update_commit(). */
OWL_NODISCARD int owl_registry__swap(struct owl_registry *r, struct owl_part *old,
                                     struct owl_part *part, unsigned rank, bool *ret_moved);

#endif

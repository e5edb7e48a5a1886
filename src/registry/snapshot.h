/* registry/snapshot.h - what a snapshot is made of; for the files of this layer.
 * Layer: registry. Threads: immutable once built, but for the pages, which appear one by one. */
#ifndef OWL_REGISTRY_SNAPSHOT_H
#define OWL_REGISTRY_SNAPSHOT_H

#include <pthread.h>

#include "base/map.h"
#include "registry/registry.h"

enum { OWL__PAGES_KEPT = 64 }; /* pages that one snapshot keeps */

/* What one provider offers. Counted: snapshots that differ in other parts share it. */
struct owl_part {
    atomic_uint _refs;
    size_t n;
    struct owl_item *items[]; /* a reference each */
};

/* A part with room for @p n items and none in it, or NULL. Add with owl_part__add() until it is
 * shared. */
OWL_NODISCARD struct owl_part *owl_part__new(size_t n);
void owl_part__add(struct owl_part *p, struct owl_item *item); /* takes a reference of its own */
struct owl_part *owl_part__aref(struct owl_part *p);
void owl_part__aunref(struct owl_part *p);

struct owl_entry {
    uint64_t seq;          /* of the item; beside it so that a search touches no item */
    struct owl_item *item; /* borrowed from its part */
};

/* All items of one kind, in the order of `seq`. */
struct owl_index {
    struct owl_entry *items;
    size_t n;
    struct owl_map map;
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
    struct owl_part **parts; /* a reference each */
    size_t n_parts;
    pthread_mutex_t building; /* held while a page is built; guards `kept` */
    unsigned kept;
};

/* Merge @p parts (takes references of its own); @p page_items 0: the defaults. Of two items with
 * one kind and key, that of the part that comes first is served. One reference; NULL without
 * memory. */
OWL_NODISCARD struct owl_snapshot *owl_snapshot__new(struct owl_part *const *parts, size_t n_parts,
                                                     unsigned caps, size_t page_items);

#endif

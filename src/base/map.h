/* base/map.h - a hash map from byte strings to pointers.
 * Layer: base. Threads: one writer; any number of readers while nobody writes.
 *
 * Keys are borrowed: they must live as long as their entry. Hashes are seeded per process, so
 * that a peer cannot choose colliding names. */
#ifndef OWL_BASE_MAP_H
#define OWL_BASE_MAP_H

#include "base/base.h"

struct owl_map {
    struct owl_map_slot *slots;
    size_t n;   /* entries */
    size_t cap; /* slots, a power of two, or 0 */
};

uint64_t owl_hash(owl_str key);

void owl_map_init(struct owl_map *m);
void owl_map_done(struct owl_map *m); /* frees the table, not the values */
OWL_NODISCARD void *owl_map_get(const struct owl_map *m, owl_str key);
/* Adds or replaces; *ret_old (may be NULL) is the value that was there, or NULL. v must not be
 * NULL. 0 or -OWL_ENOMEM. On replacement the key becomes the new one. */
OWL_NODISCARD int owl_map_put(struct owl_map *m, owl_str key, void *v, void **ret_old);
/* Removes; the value that was there, or NULL. */
void *owl_map_del(struct owl_map *m, owl_str key);
/* Walks in no particular order: for (size_t i = 0; owl_map_next(&m, &i, &key, &v);) The map must
 * not change meanwhile. */
bool owl_map_next(const struct owl_map *m, size_t *i, owl_str *ret_key, void **ret_v);

#endif

/* codec/schema/names.h - sets of short strings: the names of members, the strings of an enum.
 * Layer: codec, private to codec/schema. Threads: a set is immutable once compiled. */
#ifndef OWL_CODEC_SCHEMA_NAMES_H
#define OWL_CODEC_SCHEMA_NAMES_H

#include "codec/text.h"

/* A string with its first and last bytes, which tell it from nearly all that are as long. */
struct owl_name {
    owl_str s;
    struct owl_text__ends ends;
};
/* The name is within a text that ends at @p end. */
static inline struct owl_name owl_name_within(owl_str s, const char *end)
{
    return (struct owl_name){s, owl_text__ends_of(s, end)};
}
static inline struct owl_name owl_name_of(owl_str s)
{
    return owl_name_within(s, s.p + s.n);
}
static inline bool owl_name_same(const struct owl_name *a, struct owl_name b)
{
    return a->ends.head == b.ends.head && a->ends.tail == b.ends.tail && a->s.n == b.s.n &&
           (b.s.n <= 16 || memcmp(a->s.p, b.s.p, b.s.n) == 0);
}

/* A set of names; the index of a name is its place in the list. Hashes are made of first and last
 * bytes, which is quick and no secret: every name is within OWL_NAMES_REACH slots of its place, or
 * the set has gone over to hashes that a peer cannot foresee. */
struct owl_names {
    struct owl_name *list;
    uint32_t *slots; /* index + 1 */
    uint64_t seed; /* one that has each name of a small set in a slot of its own, if there is any */
    uint32_t n;
    uint8_t bits; /* slots as a power of two */
    bool strong;
};
enum { OWL_NAMES_REACH = 8 };
/* Where a name belongs, if the set is not strong. */
static inline uint64_t owl_names__slot(const struct owl_names *names, struct owl_name name)
{
    return owl_text__hash(name.ends, name.s.n, names->seed) >> (64 - names->bits);
}
/* The index of a name, or n. */
uint32_t owl_names__search(const struct owl_names *names, struct owl_name name);
/* The same; most are the first in their place. */
static inline uint32_t owl_names__find(const struct owl_names *names, struct owl_name name)
{
    uint32_t slot = names->slots[owl_names__slot(names, name)];
    if (OWL_LIKELY(slot && owl_name_same(&names->list[slot - 1], name)))
        return slot - 1;
    return owl_names__search(names, name);
}

#endif

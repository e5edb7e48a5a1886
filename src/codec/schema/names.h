/* codec/schema/names.h - sets of short strings: the names of members, the strings of an enum.
 * Layer: codec, private to codec/schema. Threads: a set is immutable once compiled. */
#ifndef OWL_CODEC_SCHEMA_NAMES_H
#define OWL_CODEC_SCHEMA_NAMES_H

#include "codec/text.h"

/* A string with its first and last bytes, which tell it from others that are as long; up to 16 bytes
 * they are all of it. */
struct owl_name {
    owl_str s;
    uint64_t head, tail;
};
static inline struct owl_name owl_name_of(owl_str s)
{
    if (s.n >= 8)
        return (struct owl_name){s, owl_text__load(s.p), owl_text__load(s.p + s.n - 8)};
    if (s.n >= 4) {
        uint32_t head, tail;
        memcpy(&head, s.p, sizeof head);
        memcpy(&tail, s.p + s.n - sizeof tail, sizeof tail);
        return (struct owl_name){s, head, tail};
    }
    if (s.n == 0)
        return (struct owl_name){s, 0, 0};
    const unsigned char *u = (const unsigned char *)s.p;
    return (struct owl_name){s, (uint64_t)u[0] << 16 | (uint64_t)u[s.n / 2] << 8 | u[s.n - 1], 0};
}
static inline bool owl_name_same(const struct owl_name *a, struct owl_name b)
{
    return a->s.n == b.s.n && a->head == b.head && a->tail == b.tail &&
           (b.s.n <= 16 || memcmp(a->s.p, b.s.p, b.s.n) == 0);
}
static inline uint64_t owl_name_hash(struct owl_name name)
{
    uint64_t tail = name.tail << 29 | name.tail >> 35;
    return (name.head ^ tail ^ name.s.n) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* A set of names; the index of a name is its place in the list. Hashes are made of first and last
 * bytes, which is quick and no secret: every name is within OWL_NAMES_REACH slots of its place, or
 * the set has gone over to hashes that a peer cannot foresee. */
struct owl_names {
    struct owl_name *list;
    uint32_t *slots; /* index + 1 */
    uint32_t n, mask;
    bool strong;
};
enum { OWL_NAMES_REACH = 8 };
/* The index of a string, or n. */
uint32_t owl_names__search(const struct owl_names *names, owl_str s);
/* The same; most are short, and the first in their place. */
static inline uint32_t owl_names__find(const struct owl_names *names, struct owl_name name)
{
    uint32_t slot = names->slots[owl_name_hash(name) & names->mask];
    if (OWL_LIKELY(slot && name.s.n <= 16 && owl_name_same(&names->list[slot - 1], name)))
        return slot - 1;
    return owl_names__search(names, name.s);
}
bool owl_names__has(const struct owl_names *names, owl_str s);

#endif

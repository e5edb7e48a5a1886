/* formats/reader.h - what the readers of files that people write have in common.
 * Layer: formats, private. Threads: pure. */
#ifndef OWL_FORMATS_READER_H
#define OWL_FORMATS_READER_H

#include "base/map.h"
#include "formats/value.h"

/* The text without its BOM. @errors OWL_EPARSE, with a fault: not UTF-8, 2 GiB or more. */
OWL_NODISCARD int owl_reader__text(const struct owl_reading *r, owl_str *ret);
uint32_t owl_reader__depth(const struct owl_reading *r); /* at most OWL_JSON_DEPTH */
uint32_t owl_reader__values(const struct owl_reading *r);

/* Turns places in a text into marks: one pass forward over all that are asked. Lines end with a
 * line feed. */
struct owl_marker {
    const char *p, *end;
    size_t index;         /* characters before p */
    struct owl_mark mark; /* of p */
};
struct owl_marker owl_marker(owl_str text, uint32_t source);
/* A place before the last one that was asked is taken for that one. */
struct owl_mark owl_marker_byte(struct owl_marker *m, const char *at);
struct owl_mark owl_marker_index(struct owl_marker *m, size_t index);
/* One place, from the beginning. */
struct owl_mark owl_mark_of(const struct owl_reading *r, owl_str text, const char *at);

/* The members of an object that is being read, found in O(1). Zero it first. */
struct owl_members {
    struct owl_map map; /* of a large object */
};
void owl_members_done(struct owl_members *m);
struct owl_value *owl_members_get(const struct owl_members *m, const struct owl_value *object,
                                  owl_str key);
/* @errors OWL_ENOMEM. */
OWL_NODISCARD int owl_members_add(struct owl_members *m, struct owl_value *object,
                                  struct owl_value *child);

/* ---- faults that all readers find ------------------------------------------------------- */

uint32_t owl_reader__width(owl_str s); /* in characters, at least 1 */
void owl_reader__twice(const struct owl_reading *r, owl_str key, struct owl_mark at,
                       struct owl_mark first);
void owl_reader__too_deep(const struct owl_reading *r, struct owl_mark at);
void owl_reader__too_many(const struct owl_reading *r, struct owl_mark at);
/* For a text that could not be read: whether what is left of a merge is to blame; says so then. */
bool owl_reader__conflict(const struct owl_reading *r, owl_str text);

#endif

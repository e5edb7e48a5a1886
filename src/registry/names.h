/* registry/names.h - the names under which another server's items are shown.
 * Layer: registry. Threads: pure.
 *
 * Model APIs take [A-Za-z0-9_-]{1,64} as the name of a tool. Equal input gives equal names, in every
 * process. Two tools may get one name; the snapshot shows the later one under its distinct name
 * (registry.h). Nothing here is ever taken apart again: the snapshot's map leads back. */
#ifndef OWL_REGISTRY_NAMES_H
#define OWL_REGISTRY_NAMES_H

#include "base/arena.h"

enum { OWL_WIRE_NAME = 64 }; /* longest wire name */

struct owl_wire_name {
    char z[OWL_WIRE_NAME + 1];
};

struct owl_name_parts {
    owl_str server; /* as it is configured */
    owl_str prefix; /* what stands before the separator: often the server; absent: nothing does */
    owl_str separator; /* between prefix and tool */
    owl_str tool;      /* as the server calls it: a tool or prompt */
};

/* prefix, separator, tool. Other characters than A-Z a-z 0-9 _ - become "_". A name that would be
 * longer, or has no letter or digit of the tool, gets a hash of server and tool instead of its end.
 * @errors OWL_EINVAL (the tool's name is empty, or there is nothing to show), OWL_EIO (no SHA-256). */
OWL_NODISCARD int owl_name_wire(const struct owl_name_parts *p, struct owl_wire_name *ret,
                                owl_error *reterr);
/* The same with the hash at its end in any case: for `fallback` of struct owl_item_options. */
OWL_NODISCARD int owl_name_distinct(const struct owl_name_parts *p, struct owl_wire_name *ret,
                                    owl_error *reterr);

/* "server:tool", as policies, ledger and console have it. In @p a; absent without memory. */
OWL_NODISCARD owl_str owl_name_registry(struct owl_arena *a, owl_str server, owl_str tool);
/* "server+uri", a URI or template that no other server has. Characters of the server's name that a
 * URI scheme cannot have become "-", and an "s" stands before one that begins with no letter. */
OWL_NODISCARD owl_str owl_name_uri(struct owl_arena *a, owl_str server, owl_str uri);

#endif

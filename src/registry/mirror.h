/* registry/mirror.h - which arguments of a tool are mirrored in headers.
 * Layer: registry, private. Threads: pure. */
#ifndef OWL_REGISTRY_MIRROR_H
#define OWL_REGISTRY_MIRROR_H

#include "registry/item.h"

enum { OWL_ITEM__JSON_DEPTH = 64 }; /* to which the JSON texts of a definition may nest */

/* Collects the `x-mcp-header` annotations of an input schema (proved, an object) in @p a. Each must
 * be a token (RFC 9110), unlike the others in any case, on a property whose type is string, integer
 * or boolean and that is reached from the root through `properties` alone. What `const`, `default`,
 * `enum` and `examples` hold is data and not looked at.
 * @errors OWL_EINVAL (where, and what is wrong), OWL_ENOMEM. */
OWL_NODISCARD int owl_item__headers(struct owl_arena *a, owl_str schema,
                                    const struct owl_item_header **ret, size_t *ret_n,
                                    owl_error *reterr);

#endif

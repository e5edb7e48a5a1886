/* registry/templates.h - URI templates, found by their literal beginning.
 * Layer: registry, private. Threads: immutable once built. */
#ifndef OWL_REGISTRY_TEMPLATES_H
#define OWL_REGISTRY_TEMPLATES_H

#include "registry/item.h"

struct owl_entry;

struct owl_templates {
    struct owl_template *all; /* by their beginning, then by their order */
    size_t n;
    struct owl_beginning *beginnings; /* each once, in the order of their bytes */
    size_t n_beginnings;
};

/* Of the listed templates @p items, in their order. They are borrowed. False without memory. */
OWL_NODISCARD bool owl_templates__build(struct owl_templates *t, const struct owl_entry *items,
                                        size_t n);
void owl_templates__done(struct owl_templates *t);
/* The first one that matches, or NULL; *ret_tried is how many were compared with the URI. */
struct owl_item *owl_templates__match(const struct owl_templates *t, owl_str uri,
                                      owl_str values[OWL_URI_VARS], size_t *ret_tried);

#endif

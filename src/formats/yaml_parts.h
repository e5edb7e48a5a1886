/* formats/yaml_parts.h - the parts of the YAML reader: scalars, and what went wrong.
 * Layer: formats, private. Threads: pure. */
#ifndef OWL_FORMATS_YAML_PARTS_H
#define OWL_FORMATS_YAML_PARTS_H

#include <yaml.h>

#include "formats/reader.h"

enum owl_yaml__tag {
    OWL_TAG_NONE, /* what the core schema makes of it */
    OWL_TAG_STR,
    OWL_TAG_INT,
    OWL_TAG_FLOAT,
    OWL_TAG_BOOL,
    OWL_TAG_NULL,
    OWL_TAG_MAP,
    OWL_TAG_SEQ,
    OWL_TAG_UNKNOWN
};

/* Gives @p v the kind, form and text that the core schema has for a scalar written as @p text.
 * @errors OWL_EPARSE: the tag wants something else; OWL_ELIMIT: more than 64 bits in hexadecimal or
 * octal; OWL_ENOMEM. */
OWL_NODISCARD int owl_yaml__scalar(struct owl_arena *a, owl_str text, enum owl_yaml__tag tag,
                                   struct owl_value *v);
/* Whether a plain scalar is null. */
bool owl_yaml__is_null(owl_str text);

/* Adds the fault for what libyaml has stumbled over, in words for those who have written it. */
void owl_yaml__explain(const struct owl_reading *r, owl_str text, const yaml_parser_t *parser);

#endif

/* config/redact.h - what may be seen of a line that a fault is about.
 * Layer: config, private. Threads: pure. */
#ifndef OWL_CONFIG_REDACT_H
#define OWL_CONFIG_REDACT_H

#include "config/config.h"

enum { OWL_REDACT__LINE = 1024 }; /* bytes; more of a line are never shown */

struct owl_redaction {
    owl_str line; /* absent: there is none */
    size_t at;    /* the byte that the mark is of */
    bool secret;  /* what stands there may not be seen */
    bool quoted;  /* nor what words repeat of it from here on: it was not understood */
    size_t from;
    bool byte[OWL_REDACT__LINE];
};

void owl_redact__of(struct owl_redaction *h, const struct owl_config *c, struct owl_mark at);
/* The bytes of a ${NAME} that begins here, which is no secret itself; a default may be one. */
size_t owl_redact__variable(owl_str rest);

#endif

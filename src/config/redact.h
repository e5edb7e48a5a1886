/* config/redact.h - what may be seen of a line that a fault is about, and in its words.
 * Layer: config, private. Threads: pure; owl_redact__faults() that of the loading.
 *
 * One rule for all that is shown. Of a line that was understood, names are seen, and values that the
 * tree knows and does not call secret (owl_config_secret()); what the tree has dropped may be
 * anything. Of a line in a file that could not be read, only words are seen that cannot be secrets:
 * those of the schema, names in the place of a name, small numbers. Messages and hints never repeat
 * what their line hides. */
#ifndef OWL_CONFIG_REDACT_H
#define OWL_CONFIG_REDACT_H

#include "config/config.h"

/* What stands between words, in lines and in messages. */
#define OWL_REDACT__SIGNS " \t\r{}[](),:;=.\"'`#"

enum { OWL_REDACT__LINE = 1024 }; /* bytes; more of a line are never looked at */

/* A line, or of a long one the part around the mark. */
struct owl_redaction {
    owl_str line;                /* absent: there is none */
    size_t at;                   /* the byte of it that the mark is of */
    bool whole;                  /* it begins with the line */
    bool raw;                    /* it was not understood: readers quote what stands at the mark */
    bool byte[OWL_REDACT__LINE]; /* not to be seen */
};

void owl_redact__of(struct owl_redaction *h, const struct owl_config *c, struct owl_mark at);
/* The bytes of a ${NAME} that begins here, which is no secret itself; a default may be one. */
size_t owl_redact__variable(owl_str rest);
/* Hides bytes from @p from up to @p to. */
void owl_redact__hide(struct owl_redaction *h, size_t from, size_t to);
/* A line that was not understood: @p all of it, and its file. */
void owl_redact__raw(struct owl_redaction *h, const struct owl_config *c,
                     const struct owl_source *source, owl_str all);
/* Without the quotes around it, if there are any. */
owl_str owl_redact__unquoted(owl_str s);
/* Whether what stands behind a name, which may be dotted, is secret. */
bool owl_redact__telling(owl_str dotted);
/* Whether a word says too little to be a secret: true, null, 8080. */
bool owl_redact__plain(owl_str word);

/* Takes out of the words of all faults what their lines hide, so that whoever shows them need not.
 * @errors OWL_ENOMEM. */
OWL_NODISCARD int owl_redact__faults(struct owl_config *c);

#endif

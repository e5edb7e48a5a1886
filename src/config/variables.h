/* config/variables.h - ${VARIABLES} in the strings of configuration files.
 * Layer: config, private. Threads: pure; one at a time.
 *
 *     ${NAME}            the variable of the environment; not set: an error
 *     ${NAME:-default}   if it is not set, or empty, the default, which may hold variables again
 *     ${env:NAME}        the same as ${NAME}, as editors write it
 *     ${userHome}        the home directory
 *     ${workspaceFolder} where relative names begin
 *     ${input:id}        OWLCLAW_INPUT_ID, the id in upper case with "_" for what is no letter or
 *                        digit; otherwise the default of that input
 *     $${                a "${" that is none
 *
 * Any other "$" stands for itself. What a variable holds is not looked into again. */
#ifndef OWL_CONFIG_VARIABLES_H
#define OWL_CONFIG_VARIABLES_H

#include "base/map.h"
#include "formats/value.h"

enum {
    OWL_VARIABLES__DEPTH = 8,           /* defaults within defaults */
    OWL_VARIABLES__STRING = 1 << 20,    /* bytes that one string may become */
    OWL_VARIABLES__TOTAL = 64 * 1 << 20 /* bytes that all of them may become */
};

struct owl_variables {
    const char *const *list;
    struct owl_map env;    /* name: what is behind "NAME=" */
    struct owl_map inputs; /* id: its struct owl_value in "inputs" */
    owl_str home, folder;  /* absent: not known */
    size_t left;           /* of the total */
};

/* Borrows everything. @errors OWL_ENOMEM. */
OWL_NODISCARD int owl_variables__init(struct owl_variables *v, const char *const *env, owl_str home,
                                      owl_str folder);
void owl_variables__done(struct owl_variables *v);
/* NULL: not set. */
const char *owl_variables__get(const struct owl_variables *v, owl_str name);
/* Remembers the inputs of a list; what is none of them is passed over. @errors OWL_ENOMEM. */
OWL_NODISCARD int owl_variables__inputs(struct owl_variables *v, const struct owl_value *list);

struct owl_expansion {
    owl_str text;
    bool replaced;       /* there were variables in it */
    bool secret;         /* a variable whose name says so was used */
    owl_str fault, hint; /* what is wrong with it, in the arena; absent: nothing */
};

/* Expands a string into @p a; one without variables is returned as it is. @errors OWL_ENOMEM. */
OWL_NODISCARD int owl_variables__expand(struct owl_variables *v, struct owl_arena *a, owl_str text,
                                        struct owl_expansion *ret);

/* Whether a name speaks of secrets: API_TOKEN, Authorization, dbPassword; not token_file. */
bool owl_secret__name(owl_str name);
/* Whether a text carries one: https://user:password@host/, https://x@host/, --token=x, x --token y, Bearer x. */
bool owl_secret__text(owl_str text);
/* Whether an argument is one because of that before it: "--token", or "-u" before "me:password". */
bool owl_secret__option(owl_str option, owl_str text);

#endif

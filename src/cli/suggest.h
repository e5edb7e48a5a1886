/* cli/suggest.h - what somebody meant to type.
 * Layer: cli. Threads: pure. */
#ifndef OWL_CLI_SUGGEST_H
#define OWL_CLI_SUGGEST_H

#include "base/base.h"

/* Steps from one word to the other: a byte added, removed, replaced, or two neighbours swapped
 * (each byte once: "optimal string alignment"). Words of more than 32 bytes are far from all
 * others: 33. */
size_t owl_suggest_distance(owl_str a, owl_str b);
/* Keeps the nearest of the words it is shown, if that is near enough to be meant: a third of the
 * letters may differ, or it is the beginning of the word. Begin with best and distance zero. */
struct owl_suggestion {
    const char *best; /* NULL: nothing was near */
    size_t distance;
};
void owl_suggest(struct owl_suggestion *s, owl_str typed, const char *word);

#endif

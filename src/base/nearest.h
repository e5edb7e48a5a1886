/* base/nearest.h - which of many words was meant.
 * Layer: base (of the program, not of the library). Threads: pure. */
#ifndef OWL_BASE_NEAREST_H
#define OWL_BASE_NEAREST_H

#include "base/base.h"

enum { OWL_NEAREST_LENGTH = 64 }; /* longer words are far from all others */

/* Zero it but for the word that was written. */
struct owl_nearest {
    owl_str written;
    owl_str best; /* absent: no word was near enough to be meant */
    size_t distance;
};

/* Shows it one more word, which is kept if it is nearer than those before. Letters that are added,
 * left out, replaced or swapped with their neighbour count, "-" for "_" and another case do not;
 * a third of the letters may differ. The beginning of a word is near to it as well. */
void owl_nearest_try(struct owl_nearest *n, owl_str word);

#endif

/* base/sized.h - structs of the public interface that begin with their size and grow at their end.
 * Layer: base. Threads: pure. */
#ifndef OWL_BASE_SIZED_H
#define OWL_BASE_SIZED_H

#include "base/base.h"

/* Copies a sized struct that a program gave to *@p ret, a struct @p type; members that the program
 * does not know yet are 0. It must reach to the end of @p last, its last required member, and what
 * a newer program knows beyond @p type must be 0: nothing that was asked for is left out silently.
 * @errors OWL_EINVAL (also if @p given is NULL). */
#define OWL_SIZED_READ(ret, type, last, given, reterr) \
    owl_sized__read((ret), (given), \
                    &(struct owl_sized){#type, sizeof(type), \
                                        offsetof(type, last) + sizeof(((type *)NULL)->last)}, \
                    (reterr))

struct owl_sized {
    const char *name;
    size_t known, least;
};
OWL_NODISCARD int owl_sized__read(void *ret, const void *given, const struct owl_sized *type,
                                  owl_error *reterr);

#endif

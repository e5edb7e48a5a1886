/* codec/regex.h - regular expressions of ECMA-262 (flag "u"), searched for with bounded effort.
 * Layer: codec. Threads: a compiled expression is immutable; a matcher belongs to one thread.
 *
 * PCRE2 does the work and is known to regex.c alone. What ECMA-262 has and PCRE2 reads otherwise is
 * translated; what PCRE2 has beyond it is refused. */
#ifndef OWL_CODEC_REGEX_H
#define OWL_CODEC_REGEX_H

#include "base/arena.h"

struct owl_regex;

/* Compiles into @p a, which frees it. @errors OWL_EINVAL (what and where), OWL_ELIMIT (too big),
 * OWL_ENOMEM. */
OWL_NODISCARD int owl_regex_new(struct owl_arena *a, owl_str pattern, const struct owl_regex **ret,
                                owl_error *reterr);

/* What searching needs, in any number of searches in turn. It must not be moved. */
enum { OWL_MATCHER_ROOM = 512 };
struct owl_matcher {
    void *data, *context;
    uint32_t max_match; /* backtracking of one search, beyond what goes with its length */
    uint32_t used;
    uint64_t cost;   /* of the last search, in steps; how far it backtracked is not known exactly */
    const char *why; /* the last search that failed did so */
    _Alignas(16) char room[OWL_MATCHER_ROOM]; /* spares the heap */
};
static inline void owl_matcher_init(struct owl_matcher *m, uint32_t max_match)
{
    m->data = m->context = NULL;
    m->max_match = max_match;
    m->used = 0;
}
void owl_matcher_done(struct owl_matcher *m);

/* Whether the expression is found in @p s, valid UTF-8. @errors OWL_ELIMIT, OWL_ENOMEM. */
OWL_NODISCARD int owl_regex_search(const struct owl_regex *re, struct owl_matcher *m, owl_str s,
                                   bool *ret_found);
/* Whether @p pattern is an expression of ECMA-262. */
bool owl_regex_valid(owl_str pattern);

#endif

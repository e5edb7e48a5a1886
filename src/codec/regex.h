/* codec/regex.h - regular expressions of ECMA-262 (flag "u"), searched for within a budget.
 * Layer: codec. Threads: a compiled expression is immutable; a matcher belongs to one thread.
 *
 * What ECMA-262 has and PCRE2 reads otherwise is translated; what PCRE2 has beyond it is refused.
 * An expression that does not refer back to a group is run by a machine that reads the text once,
 * and once more for each lookaround: its steps grow with the length of the text times the size of
 * the pattern, and no faster. One that refers back (\1, \k<name>), and one whose counted
 * repetitions make more than 16,384 states, is left to PCRE2, which backtracks; there, too, every
 * step of the whole search is counted. PCRE2 is known to regex.c alone. */
#ifndef OWL_CODEC_REGEX_H
#define OWL_CODEC_REGEX_H

#include "base/arena.h"

struct owl_regex;

/* Compiles into @p a, which frees it. @errors OWL_EINVAL (what and where), OWL_ELIMIT (too big),
 * OWL_ENOMEM. */
OWL_NODISCARD int owl_regex_new(struct owl_arena *a, owl_str pattern, const struct owl_regex **ret,
                                owl_error *reterr);

/* What searching needs, in any number of searches in turn. It must not be moved.
 *
 * A step is about as much as judging one small value of an instance: eight visits of a state, a
 * place that is tried while backtracking, or 16 bytes that are only passed over. No search does
 * more than "budget" steps, whatever the pattern and the text are. */
enum { OWL_MATCHER_ROOM = 512 };
struct owl_matcher {
    void *data, *context;
    uint64_t budget;    /* steps of the next search; the caller may set it before each one */
    uint64_t cost;      /* steps of the last search, at most the budget, also if it failed */
    uint32_t max_match; /* places that one search may try while it backtracks, and 16 a byte */
    uint32_t used;
    const char *why;                          /* the last search failed with OWL_ELIMIT */
    _Alignas(16) char room[OWL_MATCHER_ROOM]; /* spares the heap */
};
/* The budget is without limit until the caller sets one. */
static inline void owl_matcher_init(struct owl_matcher *m, uint32_t max_match)
{
    m->data = m->context = NULL;
    m->budget = UINT64_MAX;
    m->max_match = max_match;
    m->used = 0;
}
void owl_matcher_done(struct owl_matcher *m);

/* Whether the expression is found in @p s, valid UTF-8. @errors OWL_EBUSY (the budget is used up:
 * there is no verdict yet, and with a greater budget there may be one), OWL_ELIMIT (max_match, or
 * 64 MiB of memory), OWL_ENOMEM. */
OWL_NODISCARD int owl_regex_search(const struct owl_regex *re, struct owl_matcher *m, owl_str s,
                                   bool *ret_found);
/* Whether @p pattern is an expression of ECMA-262. To find out takes up to owl_regex_valid_cost()
 * steps, and as many more as are written to *@p ret_more (which may be NULL): a short pattern with
 * counted groups can become long, but not longer than 64 KiB. */
bool owl_regex_valid(owl_str pattern, uint64_t *ret_more);
static inline uint64_t owl_regex_valid_cost(owl_str pattern)
{
    return 16 + 4 * (uint64_t)pattern.n;
}

#endif

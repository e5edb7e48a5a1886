/* base/budget.h - bytes that many arenas hold together, bounded.
 * Layer: base. Threads: one takes from a pool; what an arena holds goes back where that is freed.
 *
 * The first 16 KiB of each share are not counted: who holds all the rest locks nobody out. One share
 * alone gets whatever it wants: the limit is on many. */
#ifndef OWL_BASE_BUDGET_H
#define OWL_BASE_BUDGET_H

#include <stdatomic.h>

#include "base/arena.h"

struct owl_budget {
    atomic_size_t held; /* bytes, and one for the owner */
    size_t max;
};

/* NULL without memory. */
OWL_NODISCARD struct owl_budget *owl_budget_new(size_t max);
/* [any] Its owner needs it no longer; it is freed with the last arena that holds something of it. */
void owl_budget_done(struct owl_budget *pool);

/* What an arena has of a pool. All zeros at first. */
struct owl_budget_share {
    size_t n; /* all its bytes */
    struct owl_budget__hold *_hold;
};
/* Adds @p n bytes to a share, which go back when @p a is freed. 0, -OWL_ENOMEM, or -OWL_EBUSY: all
 * would hold too much. */
OWL_NODISCARD int owl_budget_take(struct owl_budget *pool, struct owl_arena *a,
                                  struct owl_budget_share *share, size_t n);

#endif

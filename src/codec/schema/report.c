/* codec/schema/report.c - which of the misses that a machine notes are worth telling.
 * Threads: that of the machine.
 *
 * Invariant: misses of one branch lie behind one another, so that all of them can be forgotten,
 * moved, and counted by where they begin. */
#include "codec/schema/run.h"

/* Whether it only sums up that no alternative fits. */
static bool is_summary(const struct owl_miss *miss)
{
    return (miss->op->code == OWL_OP_ANY_OF || miss->op->code == OWL_OP_ONE_OF) && miss->extra == 0;
}

/* Whether it says which values would do, and so can be told together with others. */
static bool is_choice(const struct owl_miss *miss)
{
    return miss->op->code == OWL_OP_TYPE || miss->op->code == OWL_OP_CONST ||
           miss->op->code == OWL_OP_ENUM;
}

bool owl_miss__tied(const struct owl_miss *miss)
{
    return is_choice(miss) && miss->extra > 0;
}

/* Alternatives within alternatives for one value are summed up once. A summary comes behind the
 * misses of its own branch, so that the last miss is within it. */
static bool sums_up(struct owl_report *r, const struct owl_miss *summary)
{
    uint32_t last = r->n - 1;
    if (r->n == 0 || r->n > OWL_REPORT_KEPT)
        return false;
    while (last > 0 && owl_miss__tied(&r->misses[last]))
        last--;
    if (!is_summary(&r->misses[last]) || r->misses[last].node != summary->node)
        return false;
    r->misses[last] = *summary;
    return true;
}

void owl_report__add(struct owl_report *r, const struct owl_miss *miss)
{
    if (is_summary(miss) && sums_up(r, miss))
        return;
    if (r->n < OWL_REPORT_KEPT)
        r->misses[r->n] = *miss;
    r->n += r->n < UINT32_MAX;
}

/* How far a miss shows its branch to be off: another type is another thing altogether, another
 * constant probably tells branches apart. */
static uint64_t weight(const struct owl_miss *miss, uint32_t node)
{
    if (owl_miss__tied(miss))
        return 0;
    switch (miss->op->code) {
    case OWL_OP_TYPE: return miss->node == node ? 10000 : 20;
    case OWL_OP_CONST:
    case OWL_OP_ENUM: return miss->node == node ? 1000 : 200;
    default: return 10;
    }
}

/* The choice among the misses of the best branch so far that another one adds to, or r->n. */
static uint32_t choice_of(const struct owl_report *r, const struct owl_frame *f,
                          const struct owl_miss *miss)
{
    for (uint32_t i = f->mark; i < f->mark + f->best; i++) {
        const struct owl_miss *other = &r->misses[i];
        if (is_choice(other) && !owl_miss__tied(other) && other->node == miss->node &&
            (other->op->code == OWL_OP_TYPE) == (miss->op->code == OWL_OP_TYPE))
            return other->op == miss->op ? r->n : i;
    }
    return r->n;
}

/* Of a branch that is as near as the best: ties its choices to those of the best. */
static void tie(struct owl_report *r, struct owl_frame *f)
{
    enum { FEW = 16, MANY = 64 };
    uint32_t from = f->mark + f->best;
    if (r->n - from > FEW)
        return;
    for (uint32_t i = from; i < r->n && f->best < MANY; i++) {
        struct owl_miss miss = r->misses[i];
        uint32_t first = is_choice(&miss) ? choice_of(r, f, &miss) : r->n;
        if (first == r->n)
            continue;
        uint32_t at = f->mark + f->best++; /* at most i */
        miss.extra = at - first;
        r->misses[at] = miss;
    }
}

void owl_report__branch(struct owl_report *r, struct owl_frame *f)
{
    uint32_t from = f->mark + f->best, n = r->n - from;
    uint32_t end = r->n < OWL_REPORT_KEPT ? r->n : OWL_REPORT_KEPT;
    uint64_t score = 1 + 10 * (uint64_t)(r->n - end);
    for (uint32_t i = from; i < end; i++)
        score += weight(&r->misses[i], f->node);
    if (f->score == 0) { /* the first, where it belongs already */
        f->score = score;
        f->best = n;
    } else if (score < f->score && r->n == end) { /* of others only one that is kept as a whole */
        memmove(&r->misses[f->mark], &r->misses[from], n * sizeof r->misses[0]);
        f->score = score;
        f->best = n;
    } else if (score == f->score && r->n == end) {
        tie(r, f);
    }
    r->n = f->mark + f->best;
}

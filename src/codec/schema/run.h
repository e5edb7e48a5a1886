/* codec/schema/run.h - the machine that runs a compiled schema over an instance.
 * Layer: codec, private to schema_*.c. Threads: a machine belongs to one thread. */
#ifndef OWL_CODEC_SCHEMA_RUN_H
#define OWL_CODEC_SCHEMA_RUN_H

#include "codec/schema/program.h"

/* A miss: a keyword that a value fails, before it is put into words. */
struct owl_miss {
    const struct owl_unit *unit;
    const struct owl_op *op;
    uint32_t node;     /* of the instance */
    uint8_t keyword;   /* that of the operation, or another one that it serves */
    uint32_t at;       /* node of that keyword's value in the schema */
    uint32_t extra;    /* by operation: which name or dependency is missing, how many fit, whether
                          only rounding is at fault */
    uint32_t which[2]; /* by operation: its need, the first two that fit or are equal */
};

/* More are kept than are told: alternatives within alternatives are compared with one another. */
enum { OWL_REPORT_KEPT = 1024 };

struct owl_report {
    struct owl_miss misses[OWL_REPORT_KEPT];
    uint32_t n; /* all; the first OWL_REPORT_KEPT are kept */
};

/* One unit at work on one value. */
struct owl_frame {
    const struct owl_unit *unit;
    uint32_t node;
    uint32_t pc;    /* the operation */
    uint32_t at;    /* of the operation: which child or branch */
    uint32_t index; /* of that child among its siblings */
    uint32_t step;  /* of the operation: where within that child */
    uint32_t mark;  /* report: how many misses there were before the operation */
    uint32_t best;  /* report: misses of the nearest branch, kept behind the mark */
    uint64_t score; /* report: how far that branch is off */
    uint64_t hits;  /* of the operation: what it counts */
    uint32_t bits;  /* where its set of evaluated children begins */
    bool tracks;    /* it has such a set */
    bool in_place;  /* the value is that of the frame beneath */
    bool begun;     /* the operation has begun */
    bool resumed;   /* a unit has ended that the operation waited for */
    bool matched;   /* of the operation: something applies to the child */
    bool bad;       /* the operation has failed already */
    bool failed;    /* the unit has */
};

enum { OWL_MACHINE_FRAMES = 24, OWL_MACHINE_BITS = 64, OWL_MACHINE_TEXT = 256 };

struct owl_machine {
    const struct owl_schema *s;
    const struct owl_tree *t;
    const char *end;           /* of its text */
    struct owl_report *report; /* NULL: the verdict is all that is asked for */
    uint64_t work;             /* what may still be done; 0 only if it stopped for that */
    int rc;                    /* why there is no verdict */
    const char *why;
    bool verdict;            /* of the unit that has ended last */
    bool rounds;             /* some number would not keep to a bound once it is rounded: … */
    struct owl_miss rounded; /* … the first */
    struct owl_frame *frames;
    uint32_t depth, frames_cap;
    uint64_t *bits; /* a stack of sets */
    uint32_t bits_n, bits_cap;
    char *text; /* a decoded string */
    size_t text_cap;
    struct owl_matcher matcher;
    struct owl_frame own_frames[OWL_MACHINE_FRAMES];
    uint64_t own_bits[OWL_MACHINE_BITS];
    char own_text[OWL_MACHINE_TEXT];
};

void owl_machine__init(struct owl_machine *m, const struct owl_schema *s, const struct owl_tree *t,
                       struct owl_report *report);
void owl_machine__done(struct owl_machine *m);
/* Runs the whole; the verdict is in m->verdict if m->rc is 0. */
void owl_machine__run(struct owl_machine *m);

/* Reads @p proved into @p t, which is the caller's to end, and runs a machine over it, with or
 * without a report and a budget. Returns 1: valid, 0: not. @errors as
 * owl_schema_validate_within(). */
OWL_NODISCARD int owl_machine__judge(const struct owl_schema *s, struct owl_tree *t, owl_str proved,
                                     struct owl_report *report, struct owl_schema_work *work,
                                     owl_error *reterr);

/* Stops the machine. */
void owl_machine__stop(struct owl_machine *m, int rc, const char *why);
/* Takes @p n off what may be done; false: the machine has stopped. */
static inline bool owl_machine__spend(struct owl_machine *m, uint64_t n)
{
    if (OWL_LIKELY(m->work > n)) {
        m->work -= n;
        return true;
    }
    m->work = 0;
    owl_machine__stop(m, -OWL_ELIMIT, "validation takes too many steps");
    return false;
}
/* The decoded string; valid until the next one is asked for. {NULL,0}: the machine has stopped. */
owl_str owl_machine__decode(struct owl_machine *m, uint32_t node);
static inline owl_str owl_machine__string(struct owl_machine *m, uint32_t node)
{
    return OWL_LIKELY(!m->t->nodes[node].escaped) ? owl_tree_text(m->t, node)
                                                  : owl_machine__decode(m, node);
}
static inline struct owl_name owl_machine__name(struct owl_machine *m, uint32_t node)
{
    return OWL_LIKELY(!m->t->nodes[node].escaped)
               ? owl_name_within(owl_tree_text(m->t, node), m->end)
               : owl_name_of(owl_machine__decode(m, node));
}
bool owl_machine__search(struct owl_machine *m, const struct owl_regex *re, uint32_t node);

/* Operations of a unit, from @p pc to before @p end, which run no other. */
bool owl_machine__checks(struct owl_machine *m, const struct owl_unit *u, uint32_t pc, uint32_t end,
                         uint32_t node);

/* Whether a miss is told with another one, as many places before it as "extra" says. */
bool owl_miss__tied(const struct owl_miss *miss);

/* Notes a miss. */
void owl_report__add(struct owl_report *r, const struct owl_miss *miss);
/* A branch has failed: keeps its misses behind the mark if it came nearer than the best so far.
 * If it came as near, the values that it asks for are tied to those of the best. */
void owl_report__branch(struct owl_report *r, struct owl_frame *f);

#endif

/* codec/schema/validate.c - the verdict.
 * Threads: that of the caller; a run shares nothing with others but the schema.
 *
 * The index and the machine are on the stack, with room for what is ordinary. */
#include "base/err.h"
#include "codec/schema/run.h"

enum { BYTES_A_STEP = 64 }; /* of the text, to read it */

/* Runs a machine that may do *@p steps steps, and says in the same place how many it did not do. */
static int run(const struct owl_schema *s, const struct owl_tree *t, struct owl_report *report,
               uint64_t *steps, owl_error *reterr)
{
    struct owl_machine m;
    owl_machine__init(&m, s, t, report);
    m.work = *steps;
    owl_machine__run(&m);
    *steps = m.work;
    int rc = m.rc;
    bool valid = m.verdict;
    const char *why = m.why;
    owl_machine__done(&m);
    if (rc)
        return why ? owl_fail(reterr, -rc, "%s", why) : owl_fail(reterr, -rc, NULL);
    return valid;
}

static int too_much(owl_error *reterr)
{
    return owl_fail(reterr, OWL_ELIMIT, "validation takes too many steps");
}

int owl_machine__judge(const struct owl_schema *s, struct owl_tree *t, owl_str proved,
                       struct owl_report *report, struct owl_schema_work *work, owl_error *reterr)
{
    bool less = work && work->budget > 0 && work->budget < s->max_work;
    const uint64_t budget = less ? work->budget : s->max_work, reading = proved.n / BYTES_A_STEP;
    uint64_t left = budget;
    int rc = reading < budget ? owl_tree_read(t, proved) : 0;
    if (rc) {
        OWL_IGNORE(owl_fail(reterr, -rc, NULL)); /* rc is returned below */
    } else if (reading >= budget) {
        left = 0;
        rc = too_much(reterr);
    } else {
        left = budget - reading;
        rc = run(s, t, report, &left, reterr);
    }
    if (work)
        work->used = budget - left;
    if (rc == -OWL_ELIMIT && left == 0 && less)
        return owl_fail(reterr, OWL_EBUSY, "validation takes more than %llu steps",
                        (unsigned long long)budget);
    return rc;
}

int owl_schema_validate_within(const struct owl_schema *s, owl_str proved,
                               struct owl_schema_work *work, bool *ret_valid, owl_error *reterr)
{
    struct owl_node nodes[160];
    struct owl_tree t;
    owl_tree_init(&t, nodes, OWL_COUNT(nodes));
    int rc = owl_machine__judge(s, &t, proved, NULL, work, reterr);
    owl_tree_done(&t);
    if (rc >= 0)
        *ret_valid = rc > 0;
    return rc < 0 ? rc : 0;
}

int owl_schema_validate(const struct owl_schema *s, owl_str proved, bool *ret_valid,
                        owl_error *reterr)
{
    return owl_schema_validate_within(s, proved, NULL, ret_valid, reterr);
}

/* codec/schema/validate.c - the verdict.
 * Threads: that of the caller; a run shares nothing with others but the schema.
 *
 * The index and the machine are on the stack, with room for what is ordinary. */
#include "base/err.h"
#include "codec/schema/run.h"

int owl_schema_validate(const struct owl_schema *s, owl_str proved, bool *ret_valid,
                        owl_error *reterr)
{
    struct owl_node nodes[160];
    struct owl_tree t;
    owl_tree_init(&t, nodes, OWL_COUNT(nodes));
    int rc = owl_tree_read(&t, proved);
    if (rc) {
        owl_tree_done(&t);
        return owl_fail(reterr, -rc, NULL);
    }
    struct owl_machine m;
    owl_machine__init(&m, s, &t, NULL);
    owl_machine__run(&m);
    rc = m.rc;
    bool valid = m.verdict;
    const char *why = m.why;
    owl_machine__done(&m);
    owl_tree_done(&t);
    if (rc)
        return why ? owl_fail(reterr, -rc, "%s", why) : owl_fail(reterr, -rc, NULL);
    *ret_valid = valid;
    return 0;
}

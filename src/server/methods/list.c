/* server/methods/list.c - what the four list methods share. */
#include "server/server.h"

enum owl_verdict owl_list_run(struct owl_call *c, enum owl_kind kind)
{
    owl_str cursor;
    owl_error err;
    if (!owl_call_param_str(c, "cursor", &cursor))
        return OWL_FINISH;
    int rc = owl_snapshot_page(owl_call_registry(c), &(struct owl_page){kind, c->req.rev, cursor},
                               &c->result.list, &c->result.shared, &err);
    if (rc != 0)
        return owl_call_set_failure(c, -rc, "%s", err.message);
    return OWL_FINISH;
}

/* server/methods/tools_list.c - the method tools/list. */
#include "server/server.h"

static enum owl_verdict run(struct owl_call *c)
{
    return owl_list_run(c, OWL_KIND_TOOL);
}

const struct owl_method owl_method_tools_list = {
    .name = "tools/list",
    .eras = OWL_IN_BOTH,
    .capability = OWL_CAP_TOOLS,
    .flags = OWL_M_CACHEABLE,
    .run = run,
};

/* server/methods/resources_list.c - the method resources/list. */
#include "server/server.h"

static enum owl_verdict run(struct owl_call *c)
{
    return owl_list_run(c, OWL_KIND_RESOURCE);
}

const struct owl_method owl_method_resources_list = {
    .name = "resources/list",
    .eras = OWL_IN_BOTH,
    .capability = OWL_CAP_RESOURCES,
    .flags = OWL_M_CACHEABLE,
    .run = run,
};

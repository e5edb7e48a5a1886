/* server/methods/prompts_list.c - the method prompts/list. */
#include "server/server.h"

static enum owl_verdict run(struct owl_call *c)
{
    return owl_list_run(c, OWL_KIND_PROMPT);
}

const struct owl_method owl_method_prompts_list = {
    .name = "prompts/list",
    .eras = OWL_IN_BOTH,
    .capability = OWL_CAP_PROMPTS,
    .flags = OWL_M_CACHEABLE,
    .run = run,
};

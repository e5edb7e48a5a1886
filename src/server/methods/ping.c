/* server/methods/ping.c - the method ping: an empty result. */
#include "server/server.h"

static enum owl_verdict run(struct owl_call *c)
{
    (void)c;
    return OWL_FINISH;
}

const struct owl_method owl_method_ping = {
    .name = "ping",
    .eras = OWL_IN_LEGACY,
    .flags = OWL_M_EARLY,
    .run = run,
};

/* server/methods/resources_unsubscribe.c - the method resources/unsubscribe. */
#include "server/server.h"

static enum owl_verdict run(struct owl_call *c)
{
    owl_str uri;
    if (!owl_call_param_str(c, "uri", &uri))
        return OWL_FINISH;
    if (!uri.p)
        return owl_call_set_failure(c, OWL_EPARAMS, "resources/unsubscribe needs params.uri");
    owl_session_unsubscribe(c->req.session, uri);
    return OWL_FINISH;
}

const struct owl_method owl_method_resources_unsubscribe = {
    .name = "resources/unsubscribe",
    .eras = OWL_IN_LEGACY,
    .capability = OWL_CAP_RESOURCES,
    .run = run,
};

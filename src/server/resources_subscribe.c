/* server/resources_subscribe.c - the method resources/subscribe. */
#include "server/server.h"

static enum owl_verdict run(struct owl_call *c)
{
    owl_str uri;
    if (!owl_call_param_str(c, "uri", &uri))
        return OWL_FINISH;
    if (!uri.p)
        return owl_call_set_failure(c, OWL_EPARAMS, "resources/subscribe needs params.uri");
    int rc = owl_session_subscribe(c->session, uri);
    if (rc != 0)
        return owl_call_set_failure(c, -rc, "a session may subscribe to 1000 resources at most");
    return OWL_FINISH;
}

const struct owl_method owl_method_resources_subscribe = {
    .name = "resources/subscribe",
    .eras = OWL_IN_LEGACY,
    .capability = OWL_CAP_RESOURCES,
    .run = run,
};

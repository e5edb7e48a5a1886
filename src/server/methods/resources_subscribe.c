/* server/methods/resources_subscribe.c - the method resources/subscribe. */
#include "base/err.h"
#include "server/server.h"

static enum owl_verdict run(struct owl_call *c)
{
    owl_str uri;
    if (!owl_call_param_str(c, "uri", &uri))
        return OWL_FINISH;
    if (!uri.p)
        return owl_call_set_failure(c, OWL_EPARAMS, "resources/subscribe needs params.uri");
    int rc = owl_session_subscribe(c->req.session, uri);
    if (rc == -OWL_ELIMIT)
        return owl_call_set_failure(c, OWL_ELIMIT,
                                    "a session may subscribe to 1000 resources at most, whose URIs "
                                    "have %d bytes at most, and %d together",
                                    (int)OWL_SESSION_URI_BYTES, (int)OWL_SESSION_URIS_BYTES);
    if (rc == -OWL_EBUSY)
        return owl_call_set_failure(c, OWL_EBUSY,
                                    "all subscriptions take %zu bytes, the most they may; try "
                                    "again later",
                                    owl_server_of(c)->limits.subscription_bytes);
    if (rc != 0)
        return owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
    return OWL_FINISH;
}

const struct owl_method owl_method_resources_subscribe = {
    .name = "resources/subscribe",
    .eras = OWL_IN_LEGACY,
    .capability = OWL_CAP_RESOURCES,
    .run = run,
};

/* server/methods/logging_set_level.c - the method logging/setLevel: what a legacy session wants to hear. */
#include "server/server.h"

static enum owl_verdict run(struct owl_call *c)
{
    owl_str name;
    if (!owl_call_param_str(c, "level", &name))
        return OWL_FINISH;
    int level = name.p ? owl_level_parse(name) : -1;
    if (level < 0)
        return owl_call_set_failure(c, OWL_EPARAMS,
                                    "params.level must be one of debug, info, notice, warning, "
                                    "error, critical, alert, emergency");
    owl_session_set_log_level(c->req.session, (owl_level)level);
    return OWL_FINISH;
}

const struct owl_method owl_method_logging_set_level = {
    .name = "logging/setLevel",
    .eras = OWL_IN_LEGACY,
    .run = run,
};

/* server/methods/server_discover.c - the method server/discover: what modern clients want to know first. */
#include "codec/json.h"
#include "server/server.h"

static enum owl_verdict run(struct owl_call *c)
{
    struct owl_server *s = owl_server_of(c);
    struct owl_buf *b = &c->result.list;
    owl_buf_putz(b, "\"supportedVersions\":");
    owl_revs_write(b, s->revs);
    owl_buf_putz(b, ",\"capabilities\":");
    owl_server_caps(s, owl_call_registry(c), c->req.rev, b);
    if (s->instructions) {
        owl_buf_putz(b, ",\"instructions\":");
        owl_json_quote(b, owl_str_of(s->instructions));
    }
    return OWL_FINISH;
}

const struct owl_method owl_method_server_discover = {
    .name = "server/discover",
    .eras = OWL_IN_MODERN,
    .flags = OWL_M_CACHEABLE,
    .run = run,
};

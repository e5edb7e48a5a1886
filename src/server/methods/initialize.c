/* server/methods/initialize.c - the method initialize: agree on a revision, open a session. */
#include "base/err.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "server/server.h"

static int open_session(struct owl_call *c, const struct owl_session_init *init, owl_error *err)
{
    struct owl_front *front = OWL_CONTAINER(c->sink, struct owl_front, sink);
    struct owl_session *session = NULL;
    int rc = 0;
    if (front->http)
        rc = owl_sessions_open(front->server->sessions, init, &session, err);
    else if (!(session = owl_session_new(front->server->sessions, init)))
        rc = owl_fail(err, OWL_ENOMEM, NULL);
    if (rc == 0) {
        front->adopt(front, session);
        owl_session_aunref(session);
    }
    return rc;
}

static void write_result(struct owl_call *c, enum owl_rev rev, const char *version)
{
    struct owl_server *s = owl_server_of(c);
    struct owl_buf *b = &c->result.list;
    owl_buf_printf(b, "\"protocolVersion\":\"%s\",\"capabilities\":", version);
    owl_server_caps(s, owl_call_registry(c), rev, b);
    owl_buf_putz(b, ",\"serverInfo\":");
    owl_buf_puts(b, c->env->server_info);
    if (s->instructions) {
        owl_buf_putz(b, ",\"instructions\":");
        owl_json_quote(b, owl_str_of(s->instructions));
    }
}

static enum owl_verdict run(struct owl_call *c)
{
    owl_str asked;
    owl_error err;
    if (!owl_call_param_str(c, "protocolVersion", &asked))
        return OWL_FINISH;
    owl_str caps = owl_rpc_param(&c->req.msg, OWL_STR("capabilities"));
    owl_str info = owl_rpc_param(&c->req.msg, OWL_STR("clientInfo"));
    if (!asked.p || !owl_span_is_object(caps) || !owl_span_is_object(info))
        return owl_call_set_failure(c, OWL_EPARAMS, "initialize needs params.%s",
                                    !asked.p                    ? "protocolVersion"
                                    : !owl_span_is_object(caps) ? "capabilities, an object"
                                                                : "clientInfo, an object");
    if (caps.n + info.n > OWL_SESSION_CLIENT_BYTES)
        return owl_call_set_failure(c, OWL_EPARAMS,
                                    "capabilities and clientInfo are longer than %d bytes",
                                    (int)OWL_SESSION_CLIENT_BYTES);
    if (c->req.session && !OWL_CONTAINER(c->sink, struct owl_front, sink)->http)
        return owl_call_set_failure(c, OWL_EREQUEST, "this connection is initialized already");
    struct owl_session_init init = {
        .rev = owl_mcp_negotiate(owl_server_of(c)->revs, asked),
        .client_caps = caps,
        .client_info = info,
        .principal = c->req.principal,
        .offered = owl_snapshot_caps(owl_call_registry(c)),
        .owner = owl_reactor_index(c->reactor),
    };
    int rc = open_session(c, &init, &err);
    if (rc != 0)
        return owl_call_set_failure(c, -rc, "%s", err.message);
    write_result(c, init.rev,
                 owl_str_is(asked, OWL_REV_ALIAS) && owl_rev_asked(asked) == (int)init.rev
                     ? OWL_REV_ALIAS
                     : owl_rev_name(init.rev));
    return OWL_FINISH;
}

const struct owl_method owl_method_initialize = {
    .name = "initialize",
    .eras = OWL_IN_LEGACY,
    .flags = OWL_M_EARLY,
    .run = run,
};

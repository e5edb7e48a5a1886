/* server/methods/tools_call.c - the method tools/call: find the tool, let its handler answer. */
#include "codec/scan.h"
#include "jsonrpc/member.h"
#include "mcp/param.h"
#include "server/server.h"

static owl_str argument_at(owl_str arguments, const owl_str *path, size_t n_path)
{
    owl_str value = arguments;
    for (size_t i = 0; i < n_path; i++) {
        owl_str object = value;
        if (!owl_members(object, NULL, &path[i], 1, &value))
            break; /* no object: the value is absent */
    }
    return value;
}

/* A modern client repeats in headers the arguments that the tool has marked; elsewhere the marks
 * mean nothing. False: it did not, and the failure is recorded. */
static bool headers_agree(struct owl_call *c, const struct owl_item *tool)
{
    struct owl_front *front = OWL_CONTAINER(c->sink, struct owl_front, sink);
    if (c->req.codec->era != OWL_ERA_MODERN || !front->param)
        return true;
    for (size_t i = 0; i < tool->n_headers; i++) {
        const struct owl_item_header *h = &tool->headers[i];
        struct owl_mcp_param param = {
            .name = h->name,
            .argument = argument_at(c->req.arguments, h->path, h->n_path),
        };
        param.header = front->param(front, h->name, &param.twice);
        owl_error why;
        int rc = owl_mcp_param_check(c->arena, &param, &why);
        if (rc != 0) {
            owl_call_set_failure(c, -rc, "%s", why.message);
            return false;
        }
    }
    return true;
}

static enum owl_verdict resolve(struct owl_call *c)
{
    owl_str name;
    if (!owl_call_param_str(c, "name", &name))
        return OWL_FINISH;
    if (!name.p)
        return owl_call_set_failure(c, OWL_EPARAMS, "tools/call needs params.name");
    struct owl_item *tool = owl_snapshot_find(owl_call_registry(c), OWL_KIND_TOOL, name);
    if (!tool) {
        owl_call_set_failure(c, OWL_ENOTFOUND, "unknown tool: %.*s", (int)name.n, name.p);
        c->failure.of_name = true;
        return OWL_FINISH;
    }
    c->req.arguments = owl_rpc_param(&c->req.msg, OWL_STR("arguments"));
    if (c->req.arguments.p && !owl_span_is_object(c->req.arguments))
        return owl_call_set_failure(c, OWL_EPARAMS, "params.arguments must be an object");
    /* Before the call is the tool's: it has not failed then, the request is refused. */
    if (tool->n_headers > 0 && !headers_agree(c, tool))
        return OWL_FINISH;
    c->result.form = OWL_RESULT_TOOL;
    owl_result_reset(&c->result);
    return owl_call_set_item(c, tool, tool->handler, name);
}

const struct owl_method owl_method_tools_call = {
    .name = "tools/call",
    .eras = OWL_IN_BOTH,
    .name_key = "name",
    .capability = OWL_CAP_TOOLS,
    .flags = OWL_M_ASKS,
    .resolve = resolve,
};

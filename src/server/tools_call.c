/* server/tools_call.c - the method tools/call: find the tool, let its handler answer. */
#include "codec/scan.h"
#include "server/server.h"

static enum owl_verdict resolve(struct owl_call *c)
{
    owl_str name;
    if (!owl_call_param_str(c, "name", &name))
        return OWL_FINISH;
    if (!name.p)
        return owl_call_set_failure(c, OWL_EPARAMS, "tools/call needs params.name");
    struct owl_item *tool = owl_snapshot_find(owl_call_registry(c), OWL_KIND_TOOL, name);
    if (!tool)
        return owl_call_set_failure(c, OWL_ENOTFOUND, "unknown tool: %.*s", (int)name.n, name.p);
    c->arguments = owl_rpc_param(&c->msg, "arguments");
    if (c->arguments.p && !owl_span_is_object(c->arguments))
        return owl_call_set_failure(c, OWL_EPARAMS, "params.arguments must be an object");
    owl_call_set_item(c, tool, name);
    c->result.form = OWL_RESULT_TOOL;
    owl_result_reset(&c->result);
    return OWL_NEXT;
}

const struct owl_method owl_method_tools_call = {
    .name = "tools/call",
    .eras = OWL_IN_BOTH,
    .name_key = "name",
    .capability = OWL_CAP_TOOLS,
    .flags = OWL_M_ASKS,
    .resolve = resolve,
};

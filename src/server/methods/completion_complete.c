/* server/methods/completion_complete.c - the method completion/complete: values for an argument of a prompt
 * or a template. */
#include "codec/json.h"
#include "codec/scan.h"
#include "server/server.h"

static bool decode_member(struct owl_call *c, owl_str object, const char *key, owl_str *ret)
{
    owl_str literal = owl_span_get(object, key);
    return owl_span_is_string(literal) && owl_json_decode(c->arena, literal, ret) == 0;
}

/* The prompt or template that `ref` names. */
static struct owl_item *find_ref(struct owl_call *c, owl_str ref, owl_str *ret_name)
{
    owl_str type = owl_span_get(ref, "type");
    struct owl_snapshot *s = owl_call_registry(c);
    if (owl_span_str_eq(type, OWL_STR("ref/prompt")) && decode_member(c, ref, "name", ret_name))
        return owl_snapshot_find(s, OWL_KIND_PROMPT, *ret_name);
    if (!owl_span_str_eq(type, OWL_STR("ref/resource")) || !decode_member(c, ref, "uri", ret_name))
        return NULL;
    struct owl_item *item = owl_snapshot_find(s, OWL_KIND_TEMPLATE, *ret_name);
    return item ? item : owl_snapshot_find(s, OWL_KIND_RESOURCE, *ret_name);
}

static enum owl_verdict resolve(struct owl_call *c)
{
    owl_str ref = owl_rpc_param(&c->req.msg, OWL_STR("ref")), name = {NULL, 0};
    owl_str argument = owl_rpc_param(&c->req.msg, OWL_STR("argument"));
    if (!owl_span_is_object(ref) || !owl_span_is_object(argument) ||
        !decode_member(c, argument, "name", &c->req.complete_name) ||
        !decode_member(c, argument, "value", &c->req.complete_value))
        return owl_call_set_failure(c, OWL_EPARAMS,
                                    "completion/complete needs params.ref and params.argument "
                                    "{name, value}");
    struct owl_item *item = find_ref(c, ref, &name);
    if (!item)
        return owl_call_set_failure(
            c, OWL_EPARAMS, "params.ref names no prompt or resource template of this server");
    owl_str context = owl_rpc_param(&c->req.msg, OWL_STR("context"));
    if (owl_span_is_object(context))
        c->req.complete_context = owl_span_get(context, "arguments");
    c->result.form = OWL_RESULT_COMPLETION;
    owl_result_reset(&c->result);
    return owl_call_set_item(c, item, item->complete, name); /* NULL: no values */
}

const struct owl_method owl_method_completion_complete = {
    .name = "completion/complete",
    .eras = OWL_IN_BOTH,
    .capability = OWL_CAP_COMPLETIONS,
    .resolve = resolve,
};

/* server/methods/prompts_get.c - the method prompts/get: find the prompt, check its arguments, let its
 * handler answer. */
#include "codec/scan.h"
#include "server/server.h"

/* prompts/get takes a map of strings; what the prompt calls required must be there. */
static enum owl_verdict check_arguments(struct owl_call *c, const struct owl_item *prompt)
{
    if (c->req.arguments.p && !owl_span_is_object(c->req.arguments))
        return owl_call_set_failure(c, OWL_EPARAMS, "params.arguments must be an object");
    struct owl_span_iter it = owl_span_iter(c->req.arguments);
    for (struct owl_span s; c->req.arguments.p && owl_span_next(&it, &s);)
        if (!owl_span_is_string(s.value))
            return owl_call_set_failure(c, OWL_EPARAMS, "params.arguments.%.*s must be a string",
                                        (int)s.key.n, s.key.p);
    for (size_t i = 0; i < prompt->n_args; i++) {
        const struct owl_item_arg *a = &prompt->args[i];
        if (a->required && (!c->req.arguments.p || !owl_span_get(c->req.arguments, a->name.p).p))
            return owl_call_set_failure(c, OWL_EPARAMS, "prompt %.*s needs the argument \"%.*s\"",
                                        (int)prompt->key.n, prompt->key.p, (int)a->name.n,
                                        a->name.p);
    }
    return OWL_NEXT;
}

static enum owl_verdict resolve(struct owl_call *c)
{
    owl_str name;
    if (!owl_call_param_str(c, "name", &name))
        return OWL_FINISH;
    if (!name.p)
        return owl_call_set_failure(c, OWL_EPARAMS, "prompts/get needs params.name");
    struct owl_item *prompt = owl_snapshot_find(owl_call_registry(c), OWL_KIND_PROMPT, name);
    if (!prompt)
        return owl_call_set_failure(c, OWL_ENOTFOUND, "unknown prompt: %.*s", (int)name.n, name.p);
    c->req.arguments = owl_rpc_param(&c->req.msg, OWL_STR("arguments"));
    enum owl_verdict v = check_arguments(c, prompt);
    if (v != OWL_NEXT)
        return v;
    c->result.form = OWL_RESULT_PROMPT;
    owl_result_reset(&c->result);
    return owl_call_set_item(c, prompt, prompt->handler, name);
}

const struct owl_method owl_method_prompts_get = {
    .name = "prompts/get",
    .eras = OWL_IN_BOTH,
    .name_key = "name",
    .capability = OWL_CAP_PROMPTS,
    .flags = OWL_M_ASKS,
    .resolve = resolve,
};

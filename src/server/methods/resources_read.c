/* server/methods/resources_read.c - the method resources/read: the exact URI first, then templates in their
 * order. */
#include "codec/json.h"
#include "server/server.h"

static enum owl_verdict not_found(struct owl_call *c, owl_str uri)
{
    struct owl_buf data;
    owl_buf_init_arena(&data, c->arena, 64 * 1024);
    owl_buf_putz(&data, "{\"uri\":");
    owl_json_quote(&data, uri);
    owl_buf_putc(&data, '}');
    owl_call_set_failure(c, OWL_ENOTFOUND, "resource not found: %.*s", (int)uri.n, uri.p);
    c->failure.of_resource = true;
    if (data.rc == 0)
        owl_call_set_failure_data(c, owl_buf_str(&data));
    return OWL_FINISH;
}

static enum owl_verdict resolve(struct owl_call *c)
{
    owl_str uri;
    if (!owl_call_param_str(c, "uri", &uri))
        return OWL_FINISH;
    if (!uri.p)
        return owl_call_set_failure(c, OWL_EPARAMS, "resources/read needs params.uri");
    struct owl_snapshot *s = owl_call_registry(c);
    struct owl_item *item = owl_snapshot_find(s, OWL_KIND_RESOURCE, uri);
    if (!item)
        item = owl_snapshot_match(s, uri, c->req.vars);
    if (!item)
        return not_found(c, uri);
    c->result.form = OWL_RESULT_RESOURCE;
    c->result.uri = uri;
    c->result.mime_type = item->mime_type;
    owl_result_reset(&c->result);
    if (item->text.p)
        /* its error is kept in the result */
        OWL_IGNORE(owl_result_textn(c, item->text.p, item->text.n));
    return owl_call_set_item(c, item, item->handler, uri);
}

const struct owl_method owl_method_resources_read = {
    .name = "resources/read",
    .eras = OWL_IN_BOTH,
    .name_key = "uri",
    .capability = OWL_CAP_RESOURCES,
    .flags = OWL_M_CACHEABLE | OWL_M_ASKS,
    .resolve = resolve,
};

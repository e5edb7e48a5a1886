/* registry/item.c - from a public definition to an immutable item.
 * Threads: a finished item is read by any thread and counted atomically. */
#include "registry/item.h"

#include "base/sized.h"
#include "codec/json.h"
#include "registry/draft.h"

/* What a tool without a schema takes. */
#define NO_ARGUMENTS "{\"type\":\"object\",\"additionalProperties\":false}"

static void put_object(struct owl_draft *d, const char *wire, const char *member, const char *text)
{
    owl_draft__put_json(d, wire, owl_draft__prove(d, member, owl_str_of(text), '{'));
}

static void put_icons(struct owl_draft *d, const char *text)
{
    owl_draft__put_icons(d, "icons", owl_draft__prove(d, "icons", owl_str_of(text), '['));
}

/* The name by which a tool or prompt is called. */
static void put_name(struct owl_draft *d, const char *name)
{
    d->item.key = owl_draft__check_key(d, "name", owl_str_of(name), NULL);
    owl_draft__put_string(d, "name", "name", d->item.key.p);
}

static void put_schemas(struct owl_draft *d, const owl_tool *def)
{
    owl_str input = owl_str_of(def->input_schema ? def->input_schema : NO_ARGUMENTS);
    owl_draft__put_input(d, "input_schema", owl_draft__prove(d, "input_schema", input, '{'));
    owl_str output = owl_str_of(def->output_schema);
    output = owl_draft__prove(d, "output_schema", output, '{');
    owl_draft__put_output(d, "output_schema", output, true);
}

int owl_item_tool(const owl_tool *given, struct owl_item **ret, owl_error *reterr)
{
    owl_tool def;
    int rc = OWL_SIZED_READ(&def, owl_tool, handler, given, reterr);
    if (rc)
        return rc;

    struct owl_draft d;
    owl_draft__begin(&d, OWL_KIND_TOOL, reterr);
    put_name(&d, def.name);
    owl_draft__put_string(&d, "title", "title", def.title);
    owl_draft__put_string(&d, "description", "description", def.description);
    put_schemas(&d, &def);
    put_object(&d, "annotations", "annotations", def.annotations);
    put_icons(&d, def.icons);
    put_object(&d, "_meta", "meta", def.meta);

    if (!def.handler)
        owl_draft__reject(&d, "handler", "is missing");
    d.item.handler = def.handler;
    d.item.data = def.data;
    d.item.free_data = def.free_data;
    d.item.timeout_ms = def.timeout_ms;
    d.item.flags = def.flags;
    owl_draft__put_flags(&d, OWL_INLINE | OWL_PARKED | OWL_TASK | OWL_TASK_ONLY | OWL_TASK_LATER |
                                 OWL_FOREIGN);
    return owl_draft__end(&d, ret);
}

/* The URI, or the template that decides which URIs are this item's. */
static void put_uri(struct owl_draft *d, const char *uri)
{
    bool plain = d->item.kind == OWL_KIND_RESOURCE;
    d->item.key = owl_draft__check_key(d, "uri", owl_str_of(uri), &d->item.uri_template);
    owl_draft__put_string(d, plain ? "uri" : "uriTemplate", "uri", d->item.key.p);
}

/* How a resource is read: by a handler, or it is a text. */
static void set_content(struct owl_draft *d, const owl_resource *def)
{
    bool plain = d->item.kind == OWL_KIND_RESOURCE;
    if (!def->handler && !def->text)
        owl_draft__reject(d, "handler", "is missing, and there is no text");
    if (def->handler && def->text)
        owl_draft__reject(d, "text", "is given beside a handler; only one can be served");
    if (def->text && !owl_utf8_valid(owl_str_of(def->text)))
        owl_draft__reject(d, "text", "is not UTF-8");
    if (def->complete && plain)
        owl_draft__reject(d, "complete", "is for templates, and the URI has no \"{\"");
    d->item.handler = def->handler;
    d->item.complete = def->complete;
    d->item.mime_type = owl_draft__keep(d, owl_str_of(def->mime_type));
    d->item.text = owl_draft__keep(d, owl_str_of(def->text));
}

static void put_size(struct owl_draft *d, const owl_resource *def)
{
    if (def->bytes < 0)
        owl_draft__reject(d, "bytes", "is negative");
    uint64_t bytes = def->text ? strlen(def->text) : (uint64_t)def->bytes;
    if (d->rc || bytes == 0 || d->item.kind != OWL_KIND_RESOURCE)
        return;
    owl_draft__put_key(d, "size");
    owl_buf_putu(&d->entry, bytes);
}

int owl_item_resource(const owl_resource *given, struct owl_item **ret, owl_error *reterr)
{
    owl_resource def;
    int rc = OWL_SIZED_READ(&def, owl_resource, name, given, reterr);
    if (rc)
        return rc;

    struct owl_draft d;
    bool plain = !def.uri || !strchr(def.uri, '{');
    owl_draft__begin(&d, plain ? OWL_KIND_RESOURCE : OWL_KIND_TEMPLATE, reterr);
    put_uri(&d, def.uri);
    if (!def.name || !*def.name)
        owl_draft__reject(&d, "name", "is missing");
    owl_draft__put_string(&d, "name", "name", def.name);
    owl_draft__put_string(&d, "title", "title", def.title);
    owl_draft__put_string(&d, "description", "description", def.description);
    owl_draft__put_string(&d, "mimeType", "mime_type", def.mime_type);
    put_size(&d, &def);
    put_object(&d, "annotations", "annotations", def.annotations);
    put_icons(&d, def.icons);
    put_object(&d, "_meta", "meta", def.meta);

    set_content(&d, &def);
    d.item.data = def.data;
    d.item.free_data = def.free_data;
    d.item.timeout_ms = def.timeout_ms;
    d.item.flags = def.flags;
    owl_draft__put_flags(&d, OWL_INLINE);
    return owl_draft__end(&d, ret);
}

int owl_item_prompt(const owl_prompt *given, struct owl_item **ret, owl_error *reterr)
{
    owl_prompt def;
    int rc = OWL_SIZED_READ(&def, owl_prompt, handler, given, reterr);
    if (rc)
        return rc;

    struct owl_draft d;
    owl_draft__begin(&d, OWL_KIND_PROMPT, reterr);
    put_name(&d, def.name);
    owl_draft__put_string(&d, "title", "title", def.title);
    owl_draft__put_string(&d, "description", "description", def.description);
    owl_str arguments = owl_draft__prove(&d, "arguments", owl_str_of(def.arguments), '[');
    owl_draft__put_arguments(&d, "arguments", arguments);
    put_icons(&d, def.icons);
    put_object(&d, "_meta", "meta", def.meta);

    if (!def.handler)
        owl_draft__reject(&d, "handler", "is missing");
    d.item.handler = def.handler;
    d.item.complete = def.complete;
    d.item.data = def.data;
    d.item.free_data = def.free_data;
    d.item.timeout_ms = def.timeout_ms;
    d.item.flags = def.flags;
    owl_draft__put_flags(&d, OWL_INLINE);
    return owl_draft__end(&d, ret);
}

/* ---- references ------------------------------------------------------------------------------ */

struct owl_item *owl_item_aref(struct owl_item *it)
{
    atomic_fetch_add_explicit(&it->_refs, 1, memory_order_relaxed);
    return it;
}

void owl_item_aunref(struct owl_item *it)
{
    if (!it || atomic_fetch_sub_explicit(&it->_refs, 1, memory_order_acq_rel) != 1)
        return;
    if (it->free_data)
        it->free_data(it->data);
    struct owl_provider *provider = it->provider;
    owl_arena_free(it->arena); /* the item is in it */
    owl_provider_aunref(provider);
}

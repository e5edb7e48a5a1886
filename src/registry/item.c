/* registry/item.c - from a public definition to an immutable item.
 * Threads: a draft belongs to its caller; a finished item is read by any thread and counted
 * atomically.
 *
 * A draft gathers the item and its list entry member by member, in the order in which they are
 * served. It keeps the first thing that is wrong and ignores what follows, so that a kind of item
 * is described by a plain list of its members. Invariant: an item, and all that it points to but
 * the program's own data, lives in the item's arena or is freed with it. */
#include "registry/item.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "base/map.h"
#include "base/sized.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "registry/mirror.h"

enum {
    NAME_BYTES = 128,
    ENTRY_BYTES = 4 << 20 /* longest list entry */
};

/* What a tool without a schema takes. */
#define NO_ARGUMENTS "{\"type\":\"object\",\"additionalProperties\":false}"

struct draft {
    struct owl_item item;
    struct owl_buf entry; /* becomes item.json */
    size_t n_parts;
    owl_error *reterr;
    int rc;
};

static const char *const kind_names[OWL_KIND__MAX] = {
    [OWL_KIND_TOOL] = "tool",
    [OWL_KIND_RESOURCE] = "resource",
    [OWL_KIND_TEMPLATE] = "resource template",
    [OWL_KIND_PROMPT] = "prompt",
};

/* Says what is wrong with a member, as the caller of the C API knows it. The first one counts. */
OWL_PRINTF(3, 4)
static void reject(struct draft *d, const char *member, const char *fmt, ...)
{
    if (d->rc)
        return;
    char why[252];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    const char *kind = kind_names[d->item.kind];
    if (d->item.key.p)
        d->rc = owl_fail(d->reterr, OWL_EINVAL, "%s \"%.80s\": %s: %s", kind, d->item.key.p, member,
                         why);
    else
        d->rc = owl_fail(d->reterr, OWL_EINVAL, "%s: %s: %s", kind, member, why);
}

static void no_memory(struct draft *d)
{
    if (!d->rc)
        d->rc = owl_fail(d->reterr, OWL_ENOMEM, NULL);
}

static void draft_begin(struct draft *d, enum owl_kind kind, owl_error *reterr)
{
    *d = (struct draft){.item.kind = kind, .reterr = reterr};
    owl_buf_init(&d->entry, ENTRY_BYTES);
    owl_buf_putc(&d->entry, '{');
    d->item.arena = owl_arena_new(0);
    if (!d->item.arena)
        no_memory(d);
}

/* A copy in the arena; absent stays absent. */
static owl_str keep(struct draft *d, owl_str s)
{
    if (d->rc || !s.p)
        return (owl_str){0};
    s.p = owl_arena_dup(d->item.arena, s);
    if (!s.p) {
        no_memory(d);
        return (owl_str){0};
    }
    return s;
}

static int draft_end(struct draft *d, struct owl_item **ret)
{
    owl_buf_putc(&d->entry, '}');
    if (d->entry.rc == -OWL_ELIMIT)
        reject(d, "definition", "is longer than %d bytes", ENTRY_BYTES);
    else if (d->entry.rc)
        no_memory(d);
    d->item.json = keep(d, owl_buf_str(&d->entry));
    owl_buf_done(&d->entry);

    struct owl_item *it = d->rc ? NULL : owl_arena_alloc(d->item.arena, sizeof *it);
    if (!it) {
        no_memory(d);
        owl_arena_free(d->item.arena);
        return d->rc;
    }
    *it = d->item;
    atomic_init(&it->_refs, 1);
    *ret = it;
    return 0;
}

/* ---- members --------------------------------------------------------------------------------- */

static void put_key(struct draft *d, const char *wire)
{
    owl_buf_putz(&d->entry, d->entry.n > 1 ? ",\"" : "\"");
    owl_buf_putz(&d->entry, wire);
    owl_buf_putz(&d->entry, "\":");
}

/* What was put since @p from is for clients of these revisions only. */
static void end_part(struct draft *d, size_t from, unsigned revs)
{
    /* The entry is no longer than ENTRY_BYTES. */
    d->item.parts[d->n_parts++] = (struct owl_item_part){(uint32_t)from, (uint32_t)d->entry.n,
                                                         revs};
}

/* A string for people or clients; nothing if it is NULL. */
static void put_string(struct draft *d, const char *wire, const char *member, const char *value)
{
    if (d->rc || !value)
        return;
    if (!owl_utf8_valid(owl_str_of(value))) {
        reject(d, member, "is not UTF-8");
        return;
    }
    put_key(d, wire);
    owl_json_quote(&d->entry, owl_str_of(value));
}

static bool is_name(owl_str s)
{
    if (s.n < 1 || s.n > NAME_BYTES)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '.' || c == '-';
        if (!good)
            return false;
    }
    return true;
}

/* The name by which a tool or prompt is called. */
static void put_name(struct draft *d, const char *name)
{
    if (!is_name(owl_str_of(name))) {
        reject(d, "name", "must be 1 to %d of A-Z a-z 0-9 _ . -", NAME_BYTES);
        return;
    }
    d->item.key = keep(d, owl_str_of(name));
    put_string(d, "name", "name", name);
}

static owl_str trim_json(owl_str s)
{
    static const char blanks[] = " \t\r\n";
    while (s.n > 0 && memchr(blanks, s.p[0], sizeof blanks - 1)) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && memchr(blanks, s.p[s.n - 1], sizeof blanks - 1))
        s.n--;
    return s;
}

/* The proved text of a JSON member that opens with @p open, '{' or '['; absent if there is none or
 * it was rejected. */
static owl_str prove(struct draft *d, const char *member, const char *text, char open)
{
    const owl_str absent = {0};
    if (d->rc || !text)
        return absent;
    owl_str json = trim_json(owl_str_of(text));
    owl_error why;
    int rc = owl_json_scan(json, OWL_ITEM__JSON_DEPTH, &why);
    if (rc == -OWL_ENOMEM) {
        no_memory(d);
        return absent;
    }
    if (rc) {
        reject(d, member, "%s", why.message);
        return absent;
    }
    if (json.p[0] != open) {
        reject(d, member, "must be a JSON %s", open == '{' ? "object" : "array");
        return absent;
    }
    return json;
}

/* Proved text, nothing of it changed but the white space; nothing if it is absent. */
static void put_proved(struct draft *d, const char *wire, owl_str json)
{
    if (d->rc || !json.p)
        return;
    put_key(d, wire);
    owl_json_compact(&d->entry, json);
}

static void put_object(struct draft *d, const char *wire, const char *member, const char *text)
{
    put_proved(d, wire, prove(d, member, text, '{'));
}

static void free_schema(void *s)
{
    owl_schema_free(s);
}

/* The schema, compiled; freed with the arena. */
static const struct owl_schema *compile_schema(struct draft *d, const char *member, owl_str json)
{
    if (d->rc)
        return NULL;
    struct owl_schema *s = NULL;
    owl_error why;
    int rc = owl_schema_compile(json, NULL, &s, &why);
    if (rc == 0 && owl_arena_cleanup(d->item.arena, free_schema, s)) {
        owl_schema_free(s);
        rc = -OWL_ENOMEM;
    }
    if (rc == 0)
        return s;
    if (rc == -OWL_ENOMEM)
        no_memory(d);
    else
        reject(d, member, "%s", why.message);
    return NULL;
}

static bool describes_object(owl_str schema)
{
    owl_str type = owl_span_get(schema, "type");
    return owl_span_is_string(type) && owl_span_str_eq(type, OWL_STR("object"));
}

/* The arguments that a tool takes, and which of them are mirrored in headers. */
static void put_input_schema(struct draft *d, const char *text)
{
    owl_str json = prove(d, "input_schema", text ? text : NO_ARGUMENTS, '{');
    if (!json.p)
        return;
    if (!describes_object(json))
        reject(d, "input_schema", "must have \"type\":\"object\" at its root");
    d->item.input = compile_schema(d, "input_schema", json);
    put_proved(d, "inputSchema", json);
    if (d->rc)
        return;
    owl_error why;
    int rc = owl_item__headers(d->item.arena, json, &d->item.headers, &d->item.n_headers, &why);
    if (rc == -OWL_ENOMEM)
        no_memory(d);
    else if (rc)
        reject(d, "input_schema", "%s", why.message);
}

/* The results of a tool. Schemas came with 2025-06-18, and were of objects until 2026-07-28. */
static void put_output_schema(struct draft *d, const char *text)
{
    owl_str json = prove(d, "output_schema", text, '{');
    if (!json.p)
        return;
    unsigned revs = OWL_REV_BIT(OWL_REV_2026_07_28);
    if (describes_object(json))
        revs |= OWL_REV_BIT(OWL_REV_2025_06_18) | OWL_REV_BIT(OWL_REV_2025_11_25);
    size_t from = d->entry.n;
    d->item.output = compile_schema(d, "output_schema", json);
    put_proved(d, "outputSchema", json);
    end_part(d, from, revs);
}

static void put_icons(struct draft *d, const char *text)
{
    owl_str json = prove(d, "icons", text, '[');
    if (!json.p)
        return;
    size_t at = 0;
    struct owl_span_iter it = owl_span_iter(json);
    for (struct owl_span s; owl_span_next(&it, &s); at++) {
        if (!owl_span_is_object(s.value) || !owl_span_is_string(owl_span_get(s.value, "src")))
            reject(d, "icons", "element %zu must be an object with a string \"src\"", at);
    }
    put_proved(d, "icons", json);
}

static void check_flags(struct draft *d, unsigned known)
{
    if (d->item.flags & ~known)
        reject(d, "flags", "0x%x is not known here", d->item.flags & ~known);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* Only as a task or later as a task is as a task. Only in 2025-11-25 are clients told of it. */
static void put_task_support(struct draft *d)
{
    unsigned *flags = &d->item.flags;
    if (*flags & (OWL_TASK_ONLY | OWL_TASK_LATER))
        *flags |= OWL_TASK;
    if (d->rc || !(*flags & OWL_TASK))
        return;
    size_t from = d->entry.n;
    put_key(d, "execution");
    owl_buf_printf(&d->entry, "{\"taskSupport\":\"%s\"}",
                   *flags & OWL_TASK_ONLY ? "required" : "optional");
    end_part(d, from, OWL_REV_BIT(OWL_REV_2025_11_25));
}

int owl_item_tool(const owl_tool *given, struct owl_item **ret, owl_error *reterr)
{
    owl_tool def;
    int rc = OWL_SIZED_READ(&def, owl_tool, handler, given, reterr);
    if (rc)
        return rc;

    struct draft d;
    draft_begin(&d, OWL_KIND_TOOL, reterr);
    put_name(&d, def.name);
    put_string(&d, "title", "title", def.title);
    put_string(&d, "description", "description", def.description);
    put_input_schema(&d, def.input_schema);
    put_output_schema(&d, def.output_schema);
    put_object(&d, "annotations", "annotations", def.annotations);
    put_icons(&d, def.icons);
    put_object(&d, "_meta", "meta", def.meta);

    if (!def.handler)
        reject(&d, "handler", "is missing");
    d.item.handler = def.handler;
    d.item.data = def.data;
    d.item.free_data = def.free_data;
    d.item.timeout_ms = def.timeout_ms;
    d.item.flags = def.flags;
    check_flags(&d,
                OWL_INLINE | OWL_PARKED | OWL_TASK | OWL_TASK_ONLY | OWL_TASK_LATER | OWL_FOREIGN);
    if ((def.flags & OWL_TASK_LATER) && (def.flags & (OWL_TASK | OWL_TASK_ONLY)))
        reject(&d, "flags", "OWL_TASK_LATER excludes OWL_TASK and OWL_TASK_ONLY");
    put_task_support(&d);
    return draft_end(&d, ret);
}

static void compile_template(struct draft *d, owl_str text)
{
    if (d->rc)
        return;
    owl_error why;
    int rc = owl_uri_template_new(d->item.arena, text, &d->item.uri_template, &why);
    if (rc == -OWL_ENOMEM)
        no_memory(d);
    else if (rc)
        reject(d, "uri", "%s", why.message);
}

/* The URI, or the template that decides which URIs are this item's. */
static void put_uri(struct draft *d, const char *uri)
{
    owl_str s = owl_str_of(uri);
    if (!s.p || !owl_utf8_valid(s)) {
        reject(d, "uri", s.p ? "is not UTF-8" : "is missing");
        return;
    }
    bool plain = d->item.kind == OWL_KIND_RESOURCE;
    if (plain && !owl_uri_valid(s))
        reject(d, "uri", "must be an absolute URI, such as \"file:///a.txt\"");
    owl_str kept = keep(d, s);
    if (!plain)
        compile_template(d, kept);
    d->item.key = kept;
    put_string(d, plain ? "uri" : "uriTemplate", "uri", uri);
}

/* How a resource is read: by a handler, or it is a text. */
static void set_content(struct draft *d, const owl_resource *def)
{
    bool plain = d->item.kind == OWL_KIND_RESOURCE;
    if (!def->handler && !def->text)
        reject(d, "handler", "is missing, and there is no text");
    if (def->handler && def->text)
        reject(d, "text", "is given beside a handler; only one can be served");
    if (def->text && !owl_utf8_valid(owl_str_of(def->text)))
        reject(d, "text", "is not UTF-8");
    if (def->complete && plain)
        reject(d, "complete", "is for templates, and the URI has no \"{\"");
    d->item.handler = def->handler;
    d->item.complete = def->complete;
    d->item.mime_type = keep(d, owl_str_of(def->mime_type));
    d->item.text = keep(d, owl_str_of(def->text));
}

static void put_size(struct draft *d, const owl_resource *def)
{
    if (def->bytes < 0)
        reject(d, "bytes", "is negative");
    uint64_t bytes = def->text ? strlen(def->text) : (uint64_t)def->bytes;
    if (d->rc || bytes == 0 || d->item.kind != OWL_KIND_RESOURCE)
        return;
    put_key(d, "size");
    owl_buf_putu(&d->entry, bytes);
}

int owl_item_resource(const owl_resource *given, struct owl_item **ret, owl_error *reterr)
{
    owl_resource def;
    int rc = OWL_SIZED_READ(&def, owl_resource, name, given, reterr);
    if (rc)
        return rc;

    struct draft d;
    bool plain = !def.uri || !strchr(def.uri, '{');
    draft_begin(&d, plain ? OWL_KIND_RESOURCE : OWL_KIND_TEMPLATE, reterr);
    put_uri(&d, def.uri);
    if (!def.name || !*def.name)
        reject(&d, "name", "is missing");
    put_string(&d, "name", "name", def.name);
    put_string(&d, "title", "title", def.title);
    put_string(&d, "description", "description", def.description);
    put_string(&d, "mimeType", "mime_type", def.mime_type);
    put_size(&d, &def);
    put_object(&d, "annotations", "annotations", def.annotations);
    put_icons(&d, def.icons);
    put_object(&d, "_meta", "meta", def.meta);

    set_content(&d, &def);
    d.item.data = def.data;
    d.item.free_data = def.free_data;
    d.item.timeout_ms = def.timeout_ms;
    d.item.flags = def.flags;
    check_flags(&d, OWL_INLINE);
    return draft_end(&d, ret);
}

static bool has_control(owl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return true;
    }
    return false;
}

/* Element @p at of a prompt's arguments. */
static void read_argument(struct draft *d, size_t at, owl_str json, struct owl_item_arg *arg)
{
    owl_str name = owl_span_is_object(json) ? owl_span_get(json, "name") : (owl_str){0};
    if (!owl_span_is_string(name)) {
        reject(d, "arguments", "element %zu must be an object with a string \"name\"", at);
        return;
    }
    if (owl_json_decode(d->item.arena, name, &arg->name)) {
        no_memory(d);
        return;
    }
    if (arg->name.n == 0 || has_control(arg->name))
        reject(d, "arguments", "element %zu has an empty name or control characters in it", at);
    owl_str required = owl_span_get(json, "required");
    arg->required = owl_str_is(required, "true");
    if (required.p && !arg->required && !owl_str_is(required, "false"))
        reject(d, "arguments", "element %zu: \"required\" must be true or false", at);
}

static void read_arguments(struct draft *d, owl_str json, struct owl_item_arg *args)
{
    struct owl_map names;
    owl_map_init(&names);
    size_t at = 0;
    struct owl_span_iter it = owl_span_iter(json);
    for (struct owl_span s; !d->rc && owl_span_next(&it, &s); at++) {
        void *twin = NULL;
        read_argument(d, at, s.value, &args[at]);
        if (!d->rc && owl_map_put(&names, args[at].name, &args[at], &twin))
            no_memory(d);
        if (twin)
            reject(d, "arguments", "element %zu has the name of another", at);
    }
    owl_map_done(&names);
}

static void put_arguments(struct draft *d, const char *text)
{
    owl_str json = prove(d, "arguments", text, '[');
    if (!json.p)
        return;
    size_t n = owl_span_count(json);
    struct owl_item_arg *args = owl_arena_zalloc(d->item.arena, n * sizeof *args);
    if (!args) {
        no_memory(d);
        return;
    }
    read_arguments(d, json, args);
    d->item.args = args;
    d->item.n_args = n;
    put_proved(d, "arguments", json);
}

int owl_item_prompt(const owl_prompt *given, struct owl_item **ret, owl_error *reterr)
{
    owl_prompt def;
    int rc = OWL_SIZED_READ(&def, owl_prompt, handler, given, reterr);
    if (rc)
        return rc;

    struct draft d;
    draft_begin(&d, OWL_KIND_PROMPT, reterr);
    put_name(&d, def.name);
    put_string(&d, "title", "title", def.title);
    put_string(&d, "description", "description", def.description);
    put_arguments(&d, def.arguments);
    put_icons(&d, def.icons);
    put_object(&d, "_meta", "meta", def.meta);

    if (!def.handler)
        reject(&d, "handler", "is missing");
    d.item.handler = def.handler;
    d.item.complete = def.complete;
    d.item.data = def.data;
    d.item.free_data = def.free_data;
    d.item.timeout_ms = def.timeout_ms;
    d.item.flags = def.flags;
    check_flags(&d, OWL_INLINE);
    return draft_end(&d, ret);
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
    owl_provider_aunref(it->provider);
    owl_arena_free(it->arena); /* the item is in it */
}

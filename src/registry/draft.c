/* registry/draft.c - the members of an item, checked and written one by one.
 * Threads: a draft belongs to its caller.
 *
 * Invariant: an item, and all that it points to but the program's own data and the provider, lives in
 * the item's arena or is freed with it. */
#include "registry/draft.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "base/map.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "registry/mirror.h"

static const char *const kind_names[OWL_KIND__MAX] = {
    [OWL_KIND_TOOL] = "tool",
    [OWL_KIND_RESOURCE] = "resource",
    [OWL_KIND_TEMPLATE] = "resource template",
    [OWL_KIND_PROMPT] = "prompt",
};

void owl_draft__reject(struct owl_draft *d, const char *member, const char *fmt, ...)
{
    if (d->rc)
        return;
    char why[252];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    const char *kind = kind_names[d->item.kind];
    if (d->label.p) {
        owl_str label = owl_utf8_cut(d->label, 80);
        d->rc = owl_fail(d->reterr, OWL_EINVAL, "%s %.*s: %s: %s", kind, (int)label.n, label.p,
                         member, why);
    } else if (d->item.key.p) {
        d->rc = owl_fail(d->reterr, OWL_EINVAL, "%s \"%.80s\": %s: %s", kind, d->item.key.p, member,
                         why);
    } else {
        d->rc = owl_fail(d->reterr, OWL_EINVAL, "%s: %s: %s", kind, member, why);
    }
}

void owl_draft__no_memory(struct owl_draft *d)
{
    if (!d->rc)
        d->rc = owl_fail(d->reterr, OWL_ENOMEM, NULL);
}

void owl_draft__begin(struct owl_draft *d, enum owl_kind kind, owl_error *reterr)
{
    *d = (struct owl_draft){.item.kind = kind, .reterr = reterr};
    owl_buf_init(&d->entry, OWL_DRAFT__ENTRY_BYTES);
    owl_buf_putc(&d->entry, '{');
    d->item.arena = owl_arena_new(0);
    if (!d->item.arena)
        owl_draft__no_memory(d);
}

owl_str owl_draft__keep(struct owl_draft *d, owl_str s)
{
    if (d->rc || !s.p)
        return (owl_str){0};
    s.p = owl_arena_dup(d->item.arena, s);
    if (!s.p) {
        owl_draft__no_memory(d);
        return (owl_str){0};
    }
    return s;
}

int owl_draft__end(struct owl_draft *d, struct owl_item **ret)
{
    owl_buf_putc(&d->entry, '}');
    if (d->entry.rc == -OWL_ELIMIT)
        owl_draft__reject(d, "definition", "is longer than %d bytes", OWL_DRAFT__ENTRY_BYTES);
    else if (d->entry.rc)
        owl_draft__no_memory(d);
    d->item.json = owl_draft__keep(d, owl_buf_str(&d->entry));
    owl_buf_done(&d->entry);

    struct owl_item *it = d->rc ? NULL : owl_arena_alloc(d->item.arena, sizeof *it);
    if (!it) {
        owl_draft__no_memory(d);
        owl_arena_free(d->item.arena);
        return d->rc;
    }
    *it = d->item;
    atomic_init(&it->_refs, 1);
    if (!it->origin.p)
        it->origin = it->key;
    if (it->provider)
        owl_provider_aref(it->provider);
    *ret = it;
    return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

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

owl_str owl_draft__prove(struct owl_draft *d, const char *member, owl_str text, char open)
{
    const owl_str absent = {0};
    if (d->rc || !text.p)
        return absent;
    owl_str json = trim_json(text);
    owl_error why;
    int rc = owl_json_scan(json, OWL_ITEM__JSON_DEPTH, &why);
    if (rc == -OWL_ENOMEM) {
        owl_draft__no_memory(d);
        return absent;
    }
    if (rc) {
        owl_draft__reject(d, member, "%s", why.message);
        return absent;
    }
    if (json.p[0] != open) {
        owl_draft__reject(d, member, "must be a JSON %s", open == '{' ? "object" : "array");
        return absent;
    }
    return json;
}

void owl_draft__put_key(struct owl_draft *d, const char *wire)
{
    owl_buf_putz(&d->entry, d->entry.n > 1 ? ",\"" : "\"");
    owl_buf_putz(&d->entry, wire);
    owl_buf_putz(&d->entry, "\":");
}

void owl_draft__put_string(struct owl_draft *d, const char *wire, const char *member,
                           const char *value)
{
    if (d->rc || !value)
        return;
    if (!owl_utf8_valid(owl_str_of(value))) {
        owl_draft__reject(d, member, "is not UTF-8");
        return;
    }
    owl_draft__put_key(d, wire);
    owl_json_quote(&d->entry, owl_str_of(value));
}

/* Nothing of it is changed but the white space. */
void owl_draft__put_json(struct owl_draft *d, const char *wire, owl_str json)
{
    if (d->rc || !json.p)
        return;
    owl_draft__put_key(d, wire);
    owl_json_compact(&d->entry, json);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool is_name(owl_str s)
{
    if (s.n < 1 || s.n > OWL_DRAFT__NAME_BYTES)
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

static struct owl_uri_template *compile_template(struct owl_draft *d, const char *member,
                                                 owl_str text)
{
    if (d->rc)
        return NULL;
    owl_error why;
    struct owl_uri_template *t = NULL;
    int rc = owl_uri_template_new(d->item.arena, text, &t, &why);
    if (rc == -OWL_ENOMEM)
        owl_draft__no_memory(d);
    else if (rc)
        owl_draft__reject(d, member, "%s", why.message);
    return t;
}

owl_str owl_draft__check_key(struct owl_draft *d, const char *member, owl_str key,
                             struct owl_uri_template **ret_template)
{
    enum owl_kind kind = d->item.kind;
    if (d->rc)
        return (owl_str){0};
    if (kind == OWL_KIND_TOOL || kind == OWL_KIND_PROMPT) {
        if (!is_name(key))
            owl_draft__reject(d, member, "must be 1 to %d of A-Z a-z 0-9 _ . -",
                              OWL_DRAFT__NAME_BYTES);
    } else if (!key.p || !owl_utf8_valid(key)) {
        owl_draft__reject(d, member, key.p ? "is not UTF-8" : "is missing");
    } else if (kind == OWL_KIND_RESOURCE && !owl_uri_valid(key)) {
        owl_draft__reject(d, member, "must be an absolute URI, such as \"file:///a.txt\"");
    }
    owl_str kept = owl_draft__keep(d, key);
    if (kind == OWL_KIND_TEMPLATE && kept.p)
        *ret_template = compile_template(d, member, kept);
    return kept;
}

/* ---- schemas --------------------------------------------------------------------------------- */

/* What was put since @p from is for clients of these revisions only. */
static void end_part(struct owl_draft *d, size_t from, unsigned revs)
{
    /* The entry is no longer than OWL_DRAFT__ENTRY_BYTES. */
    d->item.parts[d->n_parts++] = (struct owl_item_part){(uint32_t)from, (uint32_t)d->entry.n,
                                                         revs};
}

static void free_schema(void *s)
{
    owl_schema_free(s);
}

/* The schema, compiled; freed with the arena. */
static const struct owl_schema *compile_schema(struct owl_draft *d, const char *member,
                                               owl_str json)
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
        owl_draft__no_memory(d);
    else
        owl_draft__reject(d, member, "%s", why.message);
    return NULL;
}

static bool describes_object(owl_str schema)
{
    owl_str type = owl_span_get(schema, "type");
    return owl_span_is_string(type) && owl_span_str_eq(type, OWL_STR("object"));
}

void owl_draft__put_input(struct owl_draft *d, const char *member, owl_str json)
{
    if (d->rc || !json.p)
        return;
    if (!describes_object(json))
        owl_draft__reject(d, member, "must have \"type\":\"object\" at its root");
    d->item.input = compile_schema(d, member, json);
    owl_draft__put_json(d, "inputSchema", json);
    if (d->rc)
        return;
    owl_error why;
    int rc = owl_item__headers(d->item.arena, json, &d->item.headers, &d->item.n_headers, &why);
    if (rc == -OWL_ENOMEM)
        owl_draft__no_memory(d);
    else if (rc)
        owl_draft__reject(d, member, "%s", why.message);
}

/* Schemas of results came with 2025-06-18, and were of objects until 2026-07-28. */
void owl_draft__put_output(struct owl_draft *d, const char *member, owl_str json, bool judge)
{
    if (d->rc || !json.p)
        return;
    unsigned revs = OWL_REV_BIT(OWL_REV_2026_07_28);
    if (describes_object(json))
        revs |= OWL_REV_BIT(OWL_REV_2025_06_18) | OWL_REV_BIT(OWL_REV_2025_11_25);
    size_t from = d->entry.n;
    if (judge)
        d->item.output = compile_schema(d, member, json);
    owl_draft__put_json(d, "outputSchema", json);
    end_part(d, from, revs);
}

/* ---- other members --------------------------------------------------------------------------- */

void owl_draft__put_icons(struct owl_draft *d, const char *member, owl_str json)
{
    if (d->rc || !json.p)
        return;
    size_t at = 0;
    struct owl_span_iter it = owl_span_iter(json);
    for (struct owl_span s; owl_span_next(&it, &s); at++) {
        if (!owl_span_is_object(s.value) || !owl_span_is_string(owl_span_get(s.value, "src")))
            owl_draft__reject(d, member, "element %zu must be an object with a string \"src\"", at);
    }
    owl_draft__put_json(d, "icons", json);
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
static void read_argument(struct owl_draft *d, const char *member, size_t at, owl_str json,
                          struct owl_item_arg *arg)
{
    owl_str name = owl_span_is_object(json) ? owl_span_get(json, "name") : (owl_str){0};
    if (!owl_span_is_string(name)) {
        owl_draft__reject(d, member, "element %zu must be an object with a string \"name\"", at);
        return;
    }
    if (owl_json_decode(d->item.arena, name, &arg->name)) {
        owl_draft__no_memory(d);
        return;
    }
    if (arg->name.n == 0 || has_control(arg->name))
        owl_draft__reject(d, member, "element %zu has an empty name or control characters in it",
                          at);
    owl_str required = owl_span_get(json, "required");
    arg->required = owl_str_is(required, "true");
    if (required.p && !arg->required && !owl_str_is(required, "false"))
        owl_draft__reject(d, member, "element %zu: \"required\" must be true or false", at);
}

static void read_arguments(struct owl_draft *d, const char *member, owl_str json,
                           struct owl_item_arg *args)
{
    struct owl_map names;
    owl_map_init(&names);
    size_t at = 0;
    struct owl_span_iter it = owl_span_iter(json);
    for (struct owl_span s; !d->rc && owl_span_next(&it, &s); at++) {
        void *twin = NULL;
        read_argument(d, member, at, s.value, &args[at]);
        if (!d->rc && owl_map_put(&names, args[at].name, &args[at], &twin))
            owl_draft__no_memory(d);
        if (twin)
            owl_draft__reject(d, member, "element %zu has the name of another", at);
    }
    owl_map_done(&names);
}

void owl_draft__put_arguments(struct owl_draft *d, const char *member, owl_str json)
{
    if (d->rc || !json.p)
        return;
    size_t n = owl_span_count(json);
    struct owl_item_arg *args = owl_arena_zalloc(d->item.arena, n * sizeof *args);
    if (!args) {
        owl_draft__no_memory(d);
        return;
    }
    read_arguments(d, member, json, args);
    d->item.args = args;
    d->item.n_args = n;
    owl_draft__put_json(d, "arguments", json);
}

/* Only as a task or later as a task is as a task. Only in 2025-11-25 are clients told of it. */
void owl_draft__put_flags(struct owl_draft *d, unsigned known)
{
    unsigned *flags = &d->item.flags;
    if (*flags & ~known)
        owl_draft__reject(d, "flags", "0x%x is not known here", *flags & ~known);
    if ((*flags & OWL_TASK_LATER) && (*flags & (OWL_TASK | OWL_TASK_ONLY)))
        owl_draft__reject(d, "flags", "OWL_TASK_LATER excludes OWL_TASK and OWL_TASK_ONLY");
    if (*flags & (OWL_TASK_ONLY | OWL_TASK_LATER))
        *flags |= OWL_TASK;
    if (d->rc || !(*flags & OWL_TASK))
        return;
    size_t from = d->entry.n;
    owl_draft__put_key(d, "execution");
    owl_buf_printf(&d->entry, "{\"taskSupport\":\"%s\"}",
                   *flags & OWL_TASK_ONLY ? "required" : "optional");
    end_part(d, from, OWL_REV_BIT(OWL_REV_2025_11_25));
}

/* call/result.c - the result of a call, built entry by entry (the builders of owlclaw/handler.h).
 *
 * Threads: the one that runs the handler, then the reactor. The members are built in their final
 * form, so that closing a result appends a bracket and copies nothing. */
#include "call/result.h"

#include <stdarg.h>

#include "base/err.h"
#include "call/call.h"
#include "codec/json.h"
#include "codec/scan.h"

enum { MAX_COMPLETIONS = 100, MAX_JSON_DEPTH = 64 };

static const char *const openings[] = {
    [OWL_RESULT_TOOL] = "\"content\":[",
    [OWL_RESULT_PROMPT] = "\"messages\":[",
    [OWL_RESULT_RESOURCE] = "\"contents\":[",
    [OWL_RESULT_COMPLETION] = "\"completion\":{\"values\":[",
    [OWL_RESULT_RAW] = "",
};

void owl_result_init(struct owl_result *r, enum owl_result_form form, struct owl_arena *a,
                     size_t max)
{
    *r = (struct owl_result){.form = form, .revs = OWL_REV_ALL};
    owl_buf_init_arena(&r->list, a, max);
    owl_buf_init_arena(&r->extra, a, max);
    owl_buf_init_arena(&r->meta, a, max);
    owl_buf_putz(&r->list, openings[form]);
}

void owl_result_reset(struct owl_result *r)
{
    if (r->replaced)
        r->form = r->replaced_form;
    r->replaced = false;
    owl_buf_reset(&r->list);
    owl_buf_reset(&r->extra);
    owl_buf_reset(&r->meta);
    r->meta_keys = NULL;
    r->structured = (owl_str){NULL, 0};
    r->revs = OWL_REV_ALL;
    r->is_error = false;
    r->n = 0;
    r->assistant = false;
    r->rc = 0;
    r->why = NULL;
    owl_buf_putz(&r->list, openings[r->form]);
}

void owl_result_replace(struct owl_result *r)
{
    owl_result_reset(r);
    owl_buf_reset(&r->list);
    r->replaced = true;
    r->replaced_form = r->form;
    r->form = OWL_RESULT_RAW;
}

int owl_result_close(struct owl_result *r, owl_str *ret_members)
{
    if (r->shared.p) {
        *ret_members = r->shared;
        return r->rc;
    }
    if (!r->closed) {
        if (r->form == OWL_RESULT_COMPLETION)
            owl_buf_printf(&r->list, "],\"total\":%zu,\"hasMore\":%s}", r->n,
                           r->n > MAX_COMPLETIONS ? "true" : "false");
        else if (r->form != OWL_RESULT_RAW)
            owl_buf_putc(&r->list, ']');
        owl_buf_puts(&r->list, owl_buf_str(&r->extra));
        r->closed = true;
    }
    int rc = r->rc ? r->rc : r->list.rc ? r->list.rc : r->extra.rc ? r->extra.rc : r->meta.rc;
    if (rc == 0)
        *ret_members = owl_buf_str(&r->list);
    return rc;
}

enum owl_mcp_form owl_result_blocks(const struct owl_result *r)
{
    switch (r->replaced ? r->replaced_form : r->form) {
    case OWL_RESULT_TOOL: return OWL_FORM_TOOL;
    case OWL_RESULT_PROMPT: return OWL_FORM_PROMPT;
    default: return OWL_FORM_OTHER;
    }
}

static int convert(struct owl_result *r, enum owl_rev rev, struct owl_arena *a, owl_str members,
                   owl_str *ret)
{
    struct owl_buf object, out;
    owl_buf_init_arena(&object, a, members.n + 2);
    owl_buf_putc(&object, '{');
    owl_buf_puts(&object, members);
    owl_buf_putc(&object, '}');
    if (object.rc != 0)
        return object.rc;
    owl_buf_init_arena(&out, a, r->list.max);
    owl_mcp_convert(&out, rev, owl_result_blocks(r), owl_buf_str(&object), NULL);
    if (out.rc == 0)
        *ret = owl_buf_str(&out);
    return out.rc;
}

int owl_result_members(struct owl_result *r, enum owl_rev rev, struct owl_arena *a,
                       owl_str *ret_members)
{
    owl_str members;
    int rc = owl_result_close(r, &members);
    if (rc != 0)
        return rc;
    if (!(r->revs & OWL_REV_BIT(rev)))
        return convert(r, rev, a, members, ret_members);
    *ret_members = members;
    return 0;
}

/* ---- entries ---- */

/* What a builder adds to; NULL: the call is over, and the reactor may have it already. */
static struct owl_result *result_of(owl_call *c)
{
    return owl_call__over(c) ? NULL : &c->result;
}

/* The first error is kept: the call fails with it. @p why is for the log. */
static int refuse(struct owl_result *r, int rc, const char *why)
{
    if (r->rc == 0) {
        r->rc = rc;
        r->why = why;
    }
    return r->rc;
}

/* What was added is there, unless there was no room. */
static int added(struct owl_result *r)
{
    int rc = r->list.rc ? r->list.rc : r->extra.rc ? r->extra.rc : r->meta.rc;
    return rc ? refuse(r, rc, "it is too large, or there is no memory") : r->rc;
}

static void begin_entry(struct owl_result *r)
{
    if (r->n++)
        owl_buf_putc(&r->list, ',');
    if (r->form == OWL_RESULT_PROMPT)
        owl_buf_putz(&r->list, r->assistant ? "{\"role\":\"assistant\",\"content\":"
                                            : "{\"role\":\"user\",\"content\":");
}

static int end_entry(struct owl_result *r)
{
    if (r->form == OWL_RESULT_PROMPT)
        owl_buf_putc(&r->list, '}');
    return added(r);
}

static void member_str(struct owl_buf *b, const char *prefix, owl_str value)
{
    if (!value.p)
        return;
    owl_buf_putz(b, prefix);
    owl_json_quote(b, value);
}

/* Whether the form takes blocks, of any kind, or content at all. */
static bool takes_blocks(const struct owl_result *r)
{
    return r->form == OWL_RESULT_TOOL || r->form == OWL_RESULT_PROMPT;
}

static bool takes_content(const struct owl_result *r)
{
    return takes_blocks(r) || r->form == OWL_RESULT_RESOURCE;
}

static const char no_content[] = "results of this kind of handler have no such content";

/* {"uri":…,"mimeType":…,"text"|"blob":…} */
static void put_contents(struct owl_buf *b, owl_str uri, owl_str mime, const char *member,
                         owl_str content)
{
    member_str(b, "{\"uri\":", uri);
    member_str(b, ",\"mimeType\":", mime);
    owl_buf_putz(b, member);
    if (member[2] == 'b')
        owl_json_quote_base64(b, content.p, content.n);
    else
        owl_json_quote(b, content);
    owl_buf_putc(b, '}');
}

static const char text_member[] = ",\"text\":", blob_member[] = ",\"blob\":";

int owl_result_textn(owl_call *c, const char *text, size_t len)
{
    struct owl_result *r = result_of(c);
    if (!r)
        return -OWL_EDONE;
    if (!text)
        return refuse(r, -OWL_EINVAL, "a text is NULL");
    if (!takes_content(r))
        return refuse(r, -OWL_ESTATE, no_content);
    owl_str s = owl_str_nts(text, len);
    begin_entry(r);
    if (r->form == OWL_RESULT_RESOURCE) {
        put_contents(&r->list, r->uri, r->mime_type, text_member, s);
    } else {
        owl_buf_puts(&r->list, OWL_STR("{\"type\":\"text\",\"text\":"));
        owl_json_quote(&r->list, s);
        owl_buf_putc(&r->list, '}');
    }
    return end_entry(r);
}

int owl_result_text(owl_call *c, const char *text)
{
    return owl_result_textn(c, text, OWL_NTS);
}

int owl_result_textf(owl_call *c, const char *fmt, ...)
{
    struct owl_result *r = result_of(c);
    if (!r)
        return -OWL_EDONE;
    size_t n = 0;
    va_list ap;
    va_start(ap, fmt);
    char *text = owl_call_vprintf(c, fmt, ap, &n);
    va_end(ap);
    return text ? owl_result_textn(c, text, n) : refuse(r, -OWL_ENOMEM, "there is no memory");
}

static int put_media(owl_call *c, const char *type, const void *bytes, size_t len, const char *mime)
{
    struct owl_result *r = result_of(c);
    if (!r)
        return -OWL_EDONE;
    if (!takes_blocks(r))
        return refuse(r, -OWL_ESTATE, no_content);
    if (!mime || (!bytes && len))
        return refuse(r, -OWL_EINVAL, "the bytes or the mime_type of an image or audio are NULL");
    if (len == OWL_NTS)
        return refuse(r, -OWL_EINVAL, "the bytes of an image or audio have no length");
    begin_entry(r);
    r->revs &= owl_mcp_block_revs(owl_str_of(type));
    owl_buf_printf(&r->list, "{\"type\":%s,\"data\":", type);
    owl_json_quote_base64(&r->list, bytes, len);
    member_str(&r->list, ",\"mimeType\":", owl_str_of(mime));
    owl_buf_putc(&r->list, '}');
    return end_entry(r);
}

int owl_result_image(owl_call *c, const void *bytes, size_t len, const char *mime)
{
    return put_media(c, "\"image\"", bytes, len, mime);
}

int owl_result_audio(owl_call *c, const void *bytes, size_t len, const char *mime)
{
    return put_media(c, "\"audio\"", bytes, len, mime);
}

int owl_result_bytes(owl_call *c, const void *bytes, size_t len, const char *mime)
{
    struct owl_result *r = result_of(c);
    if (!r)
        return -OWL_EDONE;
    if (r->form != OWL_RESULT_RESOURCE)
        return refuse(r, -OWL_ESTATE, no_content);
    if ((!bytes && len) || len == OWL_NTS)
        return refuse(r, -OWL_EINVAL, "bytes are NULL, or have no length");
    begin_entry(r);
    put_contents(&r->list, r->uri, mime ? owl_str_of(mime) : r->mime_type, blob_member,
                 (owl_str){bytes, len});
    return end_entry(r);
}

static int put_resource(owl_call *c, const char *uri, const char *mime, const char *member,
                        owl_str content)
{
    struct owl_result *r = result_of(c);
    if (!r)
        return -OWL_EDONE;
    if (!takes_content(r))
        return refuse(r, -OWL_ESTATE, no_content);
    if (!uri || !content.p || content.n == OWL_NTS)
        return refuse(r, -OWL_EINVAL, "the URI or the content of a resource is NULL");
    bool embedded = r->form != OWL_RESULT_RESOURCE;
    begin_entry(r);
    if (embedded)
        owl_buf_putz(&r->list, "{\"type\":\"resource\",\"resource\":");
    put_contents(&r->list, owl_str_of(uri), owl_str_of(mime), member, content);
    if (embedded)
        owl_buf_putc(&r->list, '}');
    return end_entry(r);
}

int owl_result_resource(owl_call *c, const char *uri, const char *mime, const char *text)
{
    return put_resource(c, uri, mime, text_member, owl_str_of(text));
}

int owl_result_blob(owl_call *c, const char *uri, const char *mime, const void *bytes, size_t len)
{
    return put_resource(c, uri, mime, blob_member, (owl_str){bytes || len ? bytes : "", len});
}

int owl_result_link(owl_call *c, const char *uri, const char *name, const char *mime,
                    const char *description)
{
    struct owl_result *r = result_of(c);
    if (!r)
        return -OWL_EDONE;
    if (!takes_blocks(r))
        return refuse(r, -OWL_ESTATE, no_content);
    if (!uri || !name)
        return refuse(r, -OWL_EINVAL, "the URI or the name of a link is NULL");
    begin_entry(r);
    r->revs &= owl_mcp_block_revs(OWL_STR("\"resource_link\""));
    member_str(&r->list, "{\"type\":\"resource_link\",\"uri\":", owl_str_of(uri));
    member_str(&r->list, ",\"name\":", owl_str_of(name));
    member_str(&r->list, ",\"mimeType\":", owl_str_of(mime));
    member_str(&r->list, ",\"description\":", owl_str_of(description));
    owl_buf_putc(&r->list, '}');
    return end_entry(r);
}

/* ---- JSON text of the handler's own ---- */

/* Proves JSON text, and that it is an object if it has to be one. */
static int prove(owl_call *c, const char *json, size_t len, bool object, owl_str *ret)
{
    if (!json)
        return refuse(&c->result, -OWL_EINVAL, "JSON text is NULL");
    owl_str text = owl_str_trim(owl_str_nts(json, len));
    owl_error e = {0};
    int rc = owl_json_scan(text, MAX_JSON_DEPTH, &e);
    if (rc != 0) {
        char *why = owl_arena_dup(c->arena, owl_str_of(e.message));
        return refuse(&c->result, rc, why ? why : "malformed JSON");
    }
    if (object && text.p[0] != '{')
        return refuse(&c->result, -OWL_EINVAL, "JSON text is no object");
    *ret = text;
    return 0;
}

int owl_result_block(owl_call *c, const char *json, size_t len)
{
    struct owl_result *r = result_of(c);
    owl_str text;
    if (!r)
        return -OWL_EDONE;
    if (!takes_content(r))
        return refuse(r, -OWL_ESTATE, no_content);
    int rc = prove(c, json, len, true, &text);
    if (rc != 0)
        return rc;
    owl_str type = owl_span_get(text, "type");
    if (takes_blocks(r) && !owl_span_is_string(type))
        return refuse(r, -OWL_EINVAL, "a content block has no type");
    if (takes_blocks(r))
        r->revs &= owl_mcp_block_revs(type);
    begin_entry(r);
    owl_json_compact(&r->list, text);
    return end_entry(r);
}

int owl_result_structured(owl_call *c, const char *json, size_t len)
{
    struct owl_result *r = result_of(c);
    owl_str text;
    if (!r)
        return -OWL_EDONE;
    if (r->form != OWL_RESULT_TOOL || r->structured.p)
        return refuse(r, -OWL_ESTATE, "structured content is that of a tool, and given once");
    int rc = prove(c, json, len, false, &text);
    if (rc != 0)
        return rc;
    struct owl_buf compact;
    owl_buf_init_arena(&compact, c->arena, r->list.max);
    owl_json_compact(&compact, text);
    if (compact.rc != 0)
        return refuse(r, compact.rc, "structured content is too large, or there is no memory");
    r->structured = owl_buf_str(&compact);
    if (r->n == 0)
        OWL_IGNORE(owl_result_textn(c, compact.p, compact.n)); /* its error is kept in r */
    r->revs &= owl_mcp_structured_revs(r->structured);
    owl_buf_putz(&r->extra, ",\"structuredContent\":");
    owl_buf_puts(&r->extra, r->structured);
    return added(r);
}

struct owl_result_key {
    struct owl_result_key *next;
    owl_str quoted;
};

/* A member of _meta; -OWL_EEXISTS if its key is there, or is the codec's own. */
static int put_meta(struct owl_result *r, owl_str quoted, owl_str value)
{
    if (owl_span_str_eq(quoted, OWL_STR("io.modelcontextprotocol/serverInfo")))
        return -OWL_EEXISTS;
    for (const struct owl_result_key *k = r->meta_keys; k; k = k->next) {
        if (owl_str_eq(k->quoted, quoted))
            return -OWL_EEXISTS;
    }
    struct owl_result_key *key = owl_arena_alloc(r->meta.arena, sizeof *key);
    char *copy = owl_arena_dup(r->meta.arena, quoted);
    if (!key || !copy)
        return -OWL_ENOMEM;
    *key = (struct owl_result_key){r->meta_keys, {copy, quoted.n}};
    r->meta_keys = key;
    if (r->meta.n)
        owl_buf_putc(&r->meta, ',');
    owl_buf_puts(&r->meta, quoted);
    owl_buf_putc(&r->meta, ':');
    owl_json_compact(&r->meta, value);
    return r->meta.rc;
}

int owl_result_meta(owl_call *c, const char *key, const char *json, size_t len)
{
    struct owl_result *r = result_of(c);
    owl_str text;
    if (!r)
        return -OWL_EDONE;
    if (!key || !owl_mcp_key_valid(owl_str_of(key)))
        return refuse(r, -OWL_EINVAL, "a key of _meta is none");
    int rc = prove(c, json, len, false, &text);
    if (rc != 0)
        return rc;
    struct owl_buf quoted;
    owl_buf_init_arena(&quoted, c->arena, r->meta.max);
    owl_json_quote(&quoted, owl_str_of(key));
    rc = quoted.rc ? quoted.rc : put_meta(r, owl_buf_str(&quoted), text);
    return rc ? refuse(r, rc, "a member of _meta is there already, or there is no room") : r->rc;
}

/* Members of a raw result that are written by the codec. */
static bool is_of_codec(const owl_call *c, owl_str key)
{
    bool hints = c->method && (c->method->flags & OWL_M_CACHEABLE) &&
                 c->req.codec->era == OWL_ERA_MODERN;
    return owl_str_is(key, "resultType") ||
           (hints && (owl_str_is(key, "ttlMs") || owl_str_is(key, "cacheScope")));
}

static int put_raw_meta(struct owl_result *r, owl_str object)
{
    struct owl_span_iter it = owl_span_iter(object);
    int rc = 0;
    for (struct owl_span s; rc == 0 && owl_span_next(&it, &s);) {
        rc = put_meta(r, (owl_str){s.key.p - 1, s.key.n + 2}, s.value);
        rc = rc == -OWL_EEXISTS ? 0 : rc; /* no key is there twice: it is the codec's own */
    }
    return rc;
}

/* Returns where in the list the value begins. */
static size_t put_raw_member(struct owl_result *r, const struct owl_span *s)
{
    if (r->list.n)
        owl_buf_putc(&r->list, ',');
    owl_buf_puts(&r->list, (owl_str){s->key.p - 1, s->key.n + 2});
    owl_buf_putc(&r->list, ':');
    size_t at = r->list.n;
    owl_json_compact(&r->list, s->value);
    return at;
}

int owl_result_raw(owl_call *c, const char *json, size_t len)
{
    struct owl_result *r = result_of(c);
    owl_str text;
    if (!r)
        return -OWL_EDONE;
    int rc = prove(c, json, len, true, &text);
    if (rc != 0)
        return rc;
    owl_result_replace(r);
    if (owl_result_blocks(r) != OWL_FORM_OTHER)
        r->revs = OWL_REV_BIT(OWL_REV_2026_07_28); /* its blocks are looked at when it is sent */
    size_t at = 0, end = 0; /* of structuredContent; the list may move as it grows */
    struct owl_span_iter it = owl_span_iter(text);
    for (struct owl_span s; owl_span_next(&it, &s);) {
        bool meta = owl_str_is(s.key, "_meta");
        if (meta && !owl_span_is_object(s.value))
            return refuse(r, -OWL_EINVAL, "the _meta of a raw result is no object");
        if (meta && (rc = put_raw_meta(r, s.value)) != 0)
            return refuse(r, rc, "there is no room for _meta");
        if (meta || is_of_codec(c, s.key))
            continue;
        size_t begin = put_raw_member(r, &s);
        if (owl_span_key_is(&s, OWL_STR("structuredContent"))) {
            at = begin;
            end = r->list.n;
        }
        if (owl_span_key_is(&s, OWL_STR("isError")))
            r->is_error = owl_str_is(s.value, "true");
    }
    if (end > at)
        r->structured = (owl_str){r->list.p + at, end - at};
    return added(r);
}

int owl_result_completion(owl_call *c, const char *value)
{
    struct owl_result *r = result_of(c);
    if (!r)
        return -OWL_EDONE;
    if (!value)
        return refuse(r, -OWL_EINVAL, "a completion is NULL");
    if (r->form != OWL_RESULT_COMPLETION)
        return refuse(r, -OWL_ESTATE, "only completion handlers have completions");
    if (r->n++ >= MAX_COMPLETIONS)
        return r->rc;
    if (r->n > 1)
        owl_buf_putc(&r->list, ',');
    owl_json_quote(&r->list, owl_str_of(value));
    return added(r);
}

int owl_result_role(owl_call *c, const char *role)
{
    struct owl_result *r = result_of(c);
    owl_str s = owl_str_of(role);
    if (!r)
        return -OWL_EDONE;
    if (r->form != OWL_RESULT_PROMPT)
        return refuse(r, -OWL_ESTATE, "only messages of prompts have roles");
    if (!owl_str_is(s, "user") && !owl_str_is(s, "assistant"))
        return refuse(r, -OWL_EINVAL, "a role is neither user nor assistant");
    r->assistant = s.p[0] == 'a';
    return r->rc;
}

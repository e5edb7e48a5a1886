/* mcp/convert.c - from the newest revision's results to those of older ones.
 *
 * Pure, any thread. Invariant: what is written is proved JSON text if what is read is; a value that
 * no revision objects to keeps its bytes, but for line breaks between tokens. */
#include "mcp/convert.h"

#include "codec/json.h"
#include "codec/scan.h"

#define SINCE(rev) (OWL_REV_ALL & ~(OWL_REV_BIT(rev) - 1u))

unsigned owl_mcp_block_revs(owl_str type)
{
    if (owl_span_str_eq(type, OWL_STR("audio")))
        return SINCE(OWL_REV_2025_03_26);
    if (owl_span_str_eq(type, OWL_STR("resource_link")))
        return SINCE(OWL_REV_2025_06_18);
    return OWL_REV_ALL;
}

unsigned owl_mcp_structured_revs(owl_str value)
{
    return owl_span_is_object(value) ? SINCE(OWL_REV_2025_06_18) : SINCE(OWL_REV_2026_07_28);
}

/* A message is one line, whatever text it repeats. */
static void put_value(struct owl_buf *b, owl_str value)
{
    if (memchr(value.p, '\n', value.n) || memchr(value.p, '\r', value.n))
        owl_json_compact(b, value);
    else
        owl_buf_puts(b, value);
}

static void put_member(struct owl_buf *b, size_t from, const struct owl_span *s)
{
    if (b->n > from)
        owl_buf_putc(b, ',');
    owl_buf_put(b, s->key.p - 1, s->key.n + 2);
    owl_buf_putc(b, ':');
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* What a string literal says, as part of another literal. */
static void put_inner(struct owl_buf *b, owl_str literal)
{
    if (owl_span_is_string(literal) && literal.n > 2)
        owl_buf_put(b, literal.p + 1, literal.n - 2);
}

static size_t base64_bytes(owl_str literal)
{
    size_t n = owl_span_is_string(literal) ? literal.n - 2 : 0, padding = 0;
    while (padding < 2 && padding < n / 4 && literal.p[n - padding] == '=')
        padding++;
    return n / 4 * 3 - padding;
}

static void put_audio_note(struct owl_buf *b, owl_str block)
{
    owl_str data = owl_span_get(block, "data"), type = owl_span_get(block, "mimeType");
    owl_buf_printf(b, "{\"type\":\"text\",\"text\":\"(%zu bytes of ", base64_bytes(data));
    put_inner(b, owl_span_is_string(type) ? type : OWL_STR("\"audio\""));
    owl_buf_putz(b, ", which this client cannot take)\"}");
}

static void put_link_note(struct owl_buf *b, owl_str block)
{
    owl_str description = owl_span_get(block, "description");
    owl_buf_putz(b, "{\"type\":\"text\",\"text\":\"");
    put_inner(b, owl_span_get(block, "name"));
    owl_buf_putz(b, ": ");
    put_inner(b, owl_span_get(block, "uri"));
    if (owl_span_is_string(description)) {
        owl_buf_putz(b, "\\n");
        put_inner(b, description);
    }
    owl_buf_putz(b, "\"}");
}

static bool takes(enum owl_rev rev, owl_str block)
{
    if (!owl_span_is_object(block))
        return true; /* no block: none of our affairs */
    return owl_mcp_block_revs(owl_span_get(block, "type")) & OWL_REV_BIT(rev);
}

static void put_block(struct owl_buf *b, enum owl_rev to, owl_str block)
{
    if (takes(to, block))
        put_value(b, block);
    else if (owl_span_str_eq(owl_span_get(block, "type"), OWL_STR("audio")))
        put_audio_note(b, block);
    else
        put_link_note(b, block);
}

/* An array of blocks; whether one of them is text. */
static bool put_blocks(struct owl_buf *b, enum owl_rev to, owl_str array)
{
    bool text = false;
    const char *comma = "";
    owl_buf_putc(b, '[');
    struct owl_span_iter it = owl_span_iter(array);
    for (struct owl_span s; owl_span_next(&it, &s); comma = ",") {
        owl_buf_putz(b, comma);
        put_block(b, to, s.value);
        text = text || !takes(to, s.value) ||
               (owl_span_is_object(s.value) &&
                owl_span_str_eq(owl_span_get(s.value, "type"), OWL_STR("text")));
    }
    return text;
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* Structured content that the client cannot take is in a text, at the latest now. */
static void put_content(struct owl_buf *b, enum owl_rev to, owl_str array, owl_str dropped)
{
    bool text = put_blocks(b, to, array);
    if (dropped.p && !text) {
        struct owl_span_iter it = owl_span_iter(array);
        struct owl_span any;
        if (owl_span_next(&it, &any))
            owl_buf_putc(b, ',');
        owl_buf_putz(b, "{\"type\":\"text\",\"text\":");
        owl_json_quote(b, dropped);
        owl_buf_putc(b, '}');
    }
    owl_buf_putc(b, ']');
}

static void put_message(struct owl_buf *b, enum owl_rev to, owl_str message)
{
    if (!owl_span_is_object(message) || takes(to, owl_span_get(message, "content"))) {
        put_value(b, message);
        return;
    }
    owl_buf_putc(b, '{');
    size_t from = b->n;
    struct owl_span_iter it = owl_span_iter(message);
    for (struct owl_span s; owl_span_next(&it, &s);) {
        put_member(b, from, &s);
        if (owl_span_key_is(&s, OWL_STR("content")))
            put_block(b, to, s.value);
        else
            put_value(b, s.value);
    }
    owl_buf_putc(b, '}');
}

static void put_messages(struct owl_buf *b, enum owl_rev to, owl_str array)
{
    const char *comma = "";
    owl_buf_putc(b, '[');
    struct owl_span_iter it = owl_span_iter(array);
    for (struct owl_span s; owl_span_next(&it, &s); comma = ",") {
        owl_buf_putz(b, comma);
        put_message(b, to, s.value);
    }
    owl_buf_putc(b, ']');
}

/* Members that the codec of the client's era writes, or that its era does not have. */
static bool is_of_codec(const struct owl_span *s)
{
    switch (s->key.n) {
    case 5: return owl_str_is(s->key, "ttlMs");
    case 10: return owl_str_is(s->key, "resultType") || owl_str_is(s->key, "cacheScope");
    default:
        return s->escaped &&
               (owl_span_key_is(s, OWL_STR("resultType")) || owl_span_key_is(s, OWL_STR("ttlMs")) ||
                owl_span_key_is(s, OWL_STR("cacheScope")));
    }
}

/* structuredContent, if clients of @p to do not get it. */
static owl_str dropped_content(enum owl_rev to, owl_str object)
{
    owl_str value = owl_span_get(object, "structuredContent");
    bool drop = value.p && !(owl_mcp_structured_revs(value) & OWL_REV_BIT(to));
    return drop ? value : (owl_str){NULL, 0};
}

void owl_mcp_convert(struct owl_buf *b, enum owl_rev to, enum owl_mcp_form form, owl_str object,
                     owl_str *ret_meta)
{
    bool old = owl_rev_era(to) == OWL_ERA_LEGACY, blocks = to < OWL_REV_2025_06_18;
    owl_str meta = {NULL, 0}, dropped = {NULL, 0};
    if (old && form == OWL_FORM_TOOL)
        dropped = dropped_content(to, object);
    size_t from = b->n;
    struct owl_span_iter it = owl_span_iter(object);
    for (struct owl_span s; owl_span_next(&it, &s);) {
        if (owl_span_key_is(&s, OWL_STR("_meta"))) {
            meta = s.value;
            continue;
        }
        if (is_of_codec(&s) || (dropped.p && dropped.p == s.value.p))
            continue;
        put_member(b, from, &s);
        if (form == OWL_FORM_TOOL && (blocks || dropped.p) && owl_span_is_array(s.value) &&
            owl_span_key_is(&s, OWL_STR("content")))
            put_content(b, to, s.value, dropped);
        else if (form == OWL_FORM_PROMPT && blocks && owl_span_is_array(s.value) &&
                 owl_span_key_is(&s, OWL_STR("messages")))
            put_messages(b, to, s.value);
        else
            put_value(b, s.value);
    }
    if (ret_meta)
        *ret_meta = meta;
}

/* ---- _meta ----------------------------------------------------------------------------------- */

static bool is_of_hop(const struct owl_span *s)
{
    static const owl_str keys[] = {{"io.modelcontextprotocol/serverInfo", 34},
                                   {"io.modelcontextprotocol/related-task", 36},
                                   {"io.modelcontextprotocol/subscriptionId", 38}};
    for (size_t i = 0; i < OWL_COUNT(keys); i++)
        if (owl_span_key_is(s, keys[i]))
            return true;
    return false;
}

void owl_mcp_convert_meta(struct owl_buf *b, owl_str meta, bool trusted)
{
    size_t from = b->n;
    struct owl_span_iter it = owl_span_iter(meta);
    for (struct owl_span s; owl_span_next(&it, &s);) {
        if (is_of_hop(&s) || (!trusted && owl_span_key_begins(&s, OWL_STR("owlclaw/"))))
            continue;
        put_member(b, from, &s);
        put_value(b, s.value);
    }
}

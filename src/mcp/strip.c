/* mcp/strip.c - what others say in our name is left out.
 *
 * Pure, any thread. Works on spans of proved text: what stays is copied as it is written, and only
 * if something goes. */
#include "codec/scan.h"
#include "mcp/wire.h"

static bool is_ours(const struct owl_span *s)
{
    return owl_span_key_begins(s, OWL_STR("owlclaw/"));
}

static bool has_ours(owl_str meta)
{
    struct owl_span_iter it = owl_span_iter(meta);
    for (struct owl_span s; it.object && owl_span_next(&it, &s);) {
        if (is_ours(&s))
            return true;
    }
    return false;
}

static void put_members(struct owl_buf *b, owl_str meta)
{
    char before = '{';
    struct owl_span_iter it = owl_span_iter(meta);
    for (struct owl_span s; owl_span_next(&it, &s);) {
        if (is_ours(&s))
            continue;
        owl_buf_putc(b, before);
        /* From its quote to its end: key, colon and value as they are. */
        const char *from = s.key.p - 1;
        owl_buf_puts(b, (owl_str){from, (size_t)(s.value.p + s.value.n - from)});
        before = ',';
    }
    if (before == '{')
        owl_buf_putc(b, '{');
    owl_buf_putc(b, '}');
}

int owl_mcp_strip_meta(owl_str object, struct owl_buf *b, owl_str *ret)
{
    owl_str meta = owl_span_get(object, "_meta");
    if (!has_ours(meta)) {
        *ret = object;
        return 0;
    }
    size_t from = b->n;
    const char *behind = meta.p + meta.n;
    owl_buf_puts(b, (owl_str){object.p, (size_t)(meta.p - object.p)});
    put_members(b, meta);
    owl_buf_puts(b, (owl_str){behind, (size_t)(object.p + object.n - behind)});
    if (b->rc == 0)
        *ret = (owl_str){b->p + from, b->n - from};
    return b->rc;
}

/* codec/span.c - walks over proved JSON text.
 * Threads: pure.
 *
 * Invariant: the text was proved by owl_json_scan(), so that a quote has its partner, a bracket
 * too, and a value is never followed by the end of the text unless it is the outermost. Nothing
 * is checked again. */
#include "codec/scan.h"
#include "codec/text.h"

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && owl_text__space(*p))
        p++;
    return p;
}

/* Behind the object or array that begins at @p p. */
static const char *skip_nested(const char *p, const char *end)
{
    size_t depth = 0;
    for (;;) {
        switch (*p++) {
        case '"': p = owl_text__string_end(p, end); break;
        case '{':
        case '[': depth++; break;
        case '}':
        case ']':
            if (--depth == 0)
                return p;
            break;
        default: break;
        }
    }
}

static const char *skip_value(const char *p, const char *end)
{
    if (*p == '"')
        return owl_text__string_end(p + 1, end);
    if (*p == '{' || *p == '[')
        return skip_nested(p, end);
    while (p < end && *p != ',' && *p != '}' && *p != ']' && !owl_text__space(*p))
        p++;
    return p;
}

struct owl_span_iter owl_span_iter(owl_str proved_text)
{
    if (!proved_text.p)
        return (struct owl_span_iter){NULL, NULL, false};
    const char *end = proved_text.p + proved_text.n;
    const char *p = skip_space(proved_text.p, end);
    bool object = p < end && *p == '{';
    if (!object && (p == end || *p != '['))
        return (struct owl_span_iter){end, end, false};
    return (struct owl_span_iter){p + 1, end, object};
}

bool owl_span_next(struct owl_span_iter *it, struct owl_span *ret)
{
    const char *p = skip_space(it->p, it->end);
    if (p < it->end && *p == ',')
        p = skip_space(p + 1, it->end);
    if (p == it->end || *p == '}' || *p == ']') {
        it->p = it->end;
        return false;
    }
    owl_str key = {NULL, 0};
    if (it->object) {
        const char *from = p + 1;
        p = owl_text__string_end(from, it->end);
        key = (owl_str){from, (size_t)(p - 1 - from)};
        p = skip_space(skip_space(p, it->end) + 1, it->end);
    }
    it->p = skip_value(p, it->end);
    *ret = (struct owl_span){key, {p, (size_t)(it->p - p)}, key.p && memchr(key.p, '\\', key.n)};
    return true;
}

size_t owl_span_count(owl_str text)
{
    size_t n = 0;
    struct owl_span_iter it = owl_span_iter(text);
    for (struct owl_span s; owl_span_next(&it, &s);)
        n++;
    return n;
}

bool owl_span__escaped_key_is(const struct owl_span *s, owl_str name)
{
    return owl_text__equals(s->key, name);
}

bool owl_span_key_begins(const struct owl_span *s, owl_str prefix)
{
    const char *p = s->key.p, *end = p + s->key.n;
    if (!s->escaped)
        return s->key.n >= prefix.n && memcmp(p, prefix.p, prefix.n) == 0;
    for (size_t at = 0; at < prefix.n; at++) {
        char decoded[4] = {'\0'};
        if (p == end)
            return false;
        if (*p != '\\')
            decoded[0] = *p++;
        else if (owl_text__escape(&p, decoded) != 1)
            return false;
        if (decoded[0] != prefix.p[at])
            return false;
    }
    return true;
}

owl_str owl_span_get(owl_str proved_object, const char *key)
{
    owl_str wanted = owl_str_of(key);
    struct owl_span_iter it = owl_span_iter(proved_object);
    struct owl_span s;
    while (it.object && owl_span_next(&it, &s)) {
        if (owl_span_key_is(&s, wanted))
            return s.value;
    }
    return (owl_str){NULL, 0};
}

bool owl_span_is_integer(owl_str v)
{
    if (v.n == 0 || (v.p[0] != '-' && (v.p[0] < '0' || v.p[0] > '9')))
        return false;
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] == '.' || v.p[i] == 'e' || v.p[i] == 'E')
            return false;
    }
    return true;
}

bool owl_span_str_eq(owl_str literal, owl_str s)
{
    return owl_span_is_string(literal) &&
           owl_text__equals((owl_str){literal.p + 1, literal.n - 2}, s);
}

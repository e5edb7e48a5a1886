/* codec/text.c - the bytes of JSON strings: ends, escapes, UTF-8.
 * Threads: pure.
 *
 * Invariant: all but owl_utf8_valid() work on proved text, and check nothing again. */
#include "codec/text.h"

#include "codec/json.h"

const char *owl_text__string_end(const char *p, const char *end)
{
    for (p = owl_text__quote_run(p, end); *p == '\\';)
        p = owl_text__quote_run(p + 2, end);
    return p + 1;
}

struct owl_text__ends owl_text__short_ends(owl_str s)
{
    uint64_t v = 0;
    for (size_t i = s.n; i > 0; i--)
        v = v << 8 | (unsigned char)s.p[i - 1];
    return (struct owl_text__ends){v, v};
}

static unsigned hex4(const char *p)
{
    unsigned v = 0;
    for (int i = 0; i < 4; i++)
        v = v << 4 | (unsigned)owl_hex_digit(p[i]);
    return v;
}

static size_t encode(unsigned c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

size_t owl_text__escape(const char **p, char out[4])
{
    static const char from[] = "bfnrt";
    static const char to[] = "\b\f\n\r\t";
    const char *at = *p + 1;
    if (*at != 'u') {
        const char *letter = memchr(from, *at, sizeof from - 1);
        out[0] = letter ? to[letter - from] : *at;
        *p = at + 1;
        return 1;
    }
    unsigned c = hex4(at + 1);
    at += 5;
    if (c >= 0xd800 && c < 0xe000) { /* alone only in text of owl_json_scan_lenient() */
        bool pair = c < 0xdc00 && at[0] == '\\' && at[1] == 'u';
        unsigned low = pair ? hex4(at + 2) : 0;
        pair = low >= 0xdc00 && low < 0xe000;
        c = pair ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
        at += pair ? 6 : 0;
    }
    *p = at;
    return encode(c, out);
}

size_t owl_text__decode(owl_str raw, char *out)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    char *start = out;
    while (p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        size_t n = (size_t)((escape ? escape : end) - p);
        memcpy(out, p, n);
        out += n;
        p += n;
        if (!escape)
            break;
        char decoded[4];
        n = owl_text__escape(&p, decoded);
        memcpy(out, decoded, n);
        out += n;
    }
    return (size_t)(out - start);
}

bool owl_text__equals(owl_str raw, owl_str s)
{
    if (raw.n <= s.n) /* an escape is longer than what it stands for: only the same bytes will do */
        return raw.n == s.n &&
               (s.n == 0 || (memcmp(raw.p, s.p, s.n) == 0 && !memchr(raw.p, '\\', raw.n)));
    const char *p = raw.p, *end = raw.p + raw.n;
    size_t at = 0;
    while (p < end) {
        char decoded[4] = {*p};
        size_t n = 1;
        if (*p == '\\')
            n = owl_text__escape(&p, decoded);
        else
            p++;
        if (n > s.n - at || memcmp(s.p + at, decoded, n) != 0)
            return false;
        at += n;
    }
    return at == s.n;
}

owl_str owl_utf8_cut(owl_str s, size_t most)
{
    if (s.n <= most)
        return s;
    s.n = most;
    while (s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80)
        s.n--;
    return s;
}

bool owl_utf8_valid(owl_str s)
{
    if (s.n == 0)
        return true;
    const char *p = s.p, *end = s.p + s.n;
    while (p < end) {
        if (end - p >= 8 && !(owl_text__load(p) & OWL_TEXT__TOPS)) {
            p += 8;
            continue;
        }
        size_t n = owl_text__utf8(p, end);
        if (n == 0)
            return false;
        p += n;
    }
    return true;
}

/* codec/json_write.c - JSON text out.
 * Threads: a writer belongs to one thread at a time; the rest is pure.
 *
 * Invariant of a writer: while rc is 0, buf is the beginning of one JSON value, objects and
 * arrays of which are open to `depth`. */
#include "codec/json.h"

#include "base/alloc.h"
#include "codec/base64.h"
#include "codec/scan.h"
#include "codec/text.h"

#include <math.h>

struct owl_json_writer {
    struct owl_buf buf;
    int rc;
    unsigned depth;
    bool comma;                      /* the next member or element follows another */
    bool keyed;                      /* a key waits for its value */
    bool object[OWL_JSON_DEPTH + 1]; /* by depth; [0] is the outside */
};

/* ---- text ----------------------------------------------------------------------------------- */

static void put_escape(struct owl_buf *b, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char to[] = "\"\\bfnrt";
    const char *known = memchr(from, c, sizeof from - 1);
    if (known) {
        const char two[2] = {'\\', to[known - from]};
        owl_buf_put(b, two, sizeof two);
        return;
    }
    const char six[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    owl_buf_put(b, six, sizeof six);
}

void owl_json_quote(struct owl_buf *b, owl_str s)
{
    const char *p = s.n ? s.p : "", *end = p + s.n;
    owl_buf_putc(b, '"');
    while (p < end) {
        const char *from = p;
        size_t n = 1;
        while (p < end && n > 0) {
            p = owl_text__plain_run(p, end);
            n = p < end && (unsigned char)*p >= 0x80 ? owl_text__utf8(p, end) : 0;
            p += n;
        }
        owl_buf_put(b, from, (size_t)(p - from));
        if (p == end)
            break;
        if ((unsigned char)*p >= 0x80)
            owl_buf_puts(b, OWL_STR("\xef\xbf\xbd"));
        else
            put_escape(b, (unsigned char)*p);
        p++;
    }
    owl_buf_putc(b, '"');
}

/* Where one of the bytes is with which U+0085, U+2028 and U+2029 begin: 0xc2 and 0xe2. */
static const char *line_candidate(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i but_for = _mm_set1_epi8((char)0xdf), first = _mm_set1_epi8((char)0xc2);
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_and_si128(_mm_loadu_si128((const __m128i *)(const void *)p), but_for);
        int hits = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, first));
        if (hits)
            return p + __builtin_ctz((unsigned)hits);
    }
#endif
    while (p < end && ((unsigned char)*p & 0xdf) != 0xc2)
        p++;
    return p;
}

/* How to write the character at @p p if it is one of them; its bytes are *ret_n. */
static const char *line_escape(const char *p, const char *end, size_t *ret_n)
{
    if (end - p >= 2 && memcmp(p, "\xc2\x85", 2) == 0) {
        *ret_n = 2;
        return "\\u0085";
    }
    if (end - p < 3 || memcmp(p, "\xe2\x80", 2) != 0)
        return NULL;
    *ret_n = 3;
    return p[2] == '\xa8' ? "\\u2028" : p[2] == '\xa9' ? "\\u2029" : NULL;
}

bool owl_json_line_split(owl_str *rest, owl_str *ret_plain, owl_str *ret_escape)
{
    if (rest->n == 0)
        return false;
    const char *end = rest->p + rest->n, *escape = NULL;
    const char *p = line_candidate(rest->p, end);
    size_t n = 0;
    while (p < end && !(escape = line_escape(p, end, &n)))
        p = line_candidate(p + 1, end);
    *ret_plain = (owl_str){rest->p, (size_t)(p - rest->p)};
    *ret_escape = escape ? (owl_str){escape, 6} : OWL_STR("");
    p += escape ? n : 0;
    *rest = (owl_str){p, (size_t)(end - p)};
    return true;
}

void owl_json_quote_base64(struct owl_buf *b, const void *p, size_t n)
{
    owl_buf_putc(b, '"');
    owl_base64_encode(b, p, n);
    owl_buf_putc(b, '"');
}

void owl_json_compact(struct owl_buf *b, owl_str proved)
{
    const char *p = proved.n ? proved.p : "", *end = p + proved.n;
    while (p < end) {
        const char *from = p;
        while (p < end && !owl_text__space(*p))
            p = *p == '"' ? owl_text__string_end(p + 1, end) : p + 1;
        owl_buf_put(b, from, (size_t)(p - from));
        while (p < end && owl_text__space(*p))
            p++;
    }
}

/* ---- the writer ----------------------------------------------------------------------------- */

owl_json_writer *owl_json_writer_new(void)
{
    owl_json_writer *w = owl_calloc(1, sizeof *w);
    if (w)
        owl_buf_init(&w->buf, SIZE_MAX);
    return w;
}

void owl_json_writer_free(owl_json_writer *w)
{
    if (!w)
        return;
    owl_buf_done(&w->buf);
    owl_free(w);
}

static void misuse(owl_json_writer *w, int code)
{
    if (w->rc == 0)
        w->rc = -code;
}

/* Whether a value may be written here; then the comma before it is. A writer that could not be made
 * (NULL) takes nothing. */
static bool begin_value(owl_json_writer *w)
{
    if (!w || w->rc)
        return false;
    bool object = w->object[w->depth];
    bool second = w->depth == 0 && w->buf.n > 0;
    if (object != w->keyed || second) {
        misuse(w, OWL_ESTATE);
        return false;
    }
    if (w->comma && !object)
        owl_buf_putc(&w->buf, ',');
    w->comma = true;
    w->keyed = false;
    return true;
}

static void begin_nested(owl_json_writer *w, bool object)
{
    if (!begin_value(w))
        return;
    if (w->depth == OWL_JSON_DEPTH) {
        misuse(w, OWL_ELIMIT);
        return;
    }
    owl_buf_putc(&w->buf, object ? '{' : '[');
    w->object[++w->depth] = object;
    w->comma = false;
}

void owl_json_begin_object(owl_json_writer *w)
{
    begin_nested(w, true);
}

void owl_json_begin_array(owl_json_writer *w)
{
    begin_nested(w, false);
}

void owl_json_end(owl_json_writer *w)
{
    if (!w || w->rc)
        return;
    if (w->depth == 0 || w->keyed) {
        misuse(w, OWL_ESTATE);
        return;
    }
    owl_buf_putc(&w->buf, w->object[w->depth--] ? '}' : ']');
    w->comma = true;
}

static void put_string(owl_json_writer *w, owl_str s)
{
    if (owl_utf8_valid(s))
        owl_json_quote(&w->buf, s);
    else
        misuse(w, OWL_EINVAL);
}

void owl_json_key(owl_json_writer *w, const char *key)
{
    if (!w || w->rc)
        return;
    if (!w->object[w->depth] || w->keyed) {
        misuse(w, OWL_ESTATE);
        return;
    }
    if (!key) {
        misuse(w, OWL_EINVAL);
        return;
    }
    if (w->comma)
        owl_buf_putc(&w->buf, ',');
    put_string(w, owl_str_of(key));
    owl_buf_putc(&w->buf, ':');
    w->keyed = true;
}

void owl_json_put_str(owl_json_writer *w, const char *s)
{
    owl_json_put_strn(w, s, OWL_NTS);
}

void owl_json_put_strn(owl_json_writer *w, const char *s, size_t len)
{
    if (!s)
        owl_json_put_null(w);
    else if (begin_value(w))
        put_string(w, owl_str_nts(s, len));
}

void owl_json_put_int(owl_json_writer *w, int64_t v)
{
    if (!begin_value(w))
        return;
    if (v < 0)
        owl_buf_putc(&w->buf, '-');
    owl_buf_putu(&w->buf, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void owl_json_put_num(owl_json_writer *w, double v)
{
    if (!begin_value(w))
        return;
    if (isfinite(v))
        owl_json_number(&w->buf, v);
    else
        misuse(w, OWL_EINVAL);
}

void owl_json_put_bool(owl_json_writer *w, bool v)
{
    if (begin_value(w))
        owl_buf_putz(&w->buf, v ? "true" : "false");
}

void owl_json_put_null(owl_json_writer *w)
{
    if (begin_value(w))
        owl_buf_puts(&w->buf, OWL_STR("null"));
}

void owl_json_put_value(owl_json_writer *w, const owl_json *v)
{
    if (begin_value(w))
        owl_json_put(&w->buf, v);
}

void owl_json_put_raw(owl_json_writer *w, const char *text, size_t len)
{
    const owl_str raw = owl_str_nts(text, len);
    if (!begin_value(w))
        return;
    w->rc = owl_json_scan(raw, OWL_JSON_DEPTH - w->depth, NULL);
    if (w->rc == 0)
        owl_json_compact(&w->buf, raw);
}

int owl_json_writer_text(owl_json_writer *w, const char **ret_text, size_t *ret_len)
{
    if (!w)
        return -OWL_ENOMEM;
    if (w->rc || w->buf.rc)
        return w->rc ? w->rc : w->buf.rc;
    if (w->depth > 0 || w->buf.n == 0)
        return -OWL_ESTATE;
    w->buf.p[w->buf.n] = '\0';
    *ret_text = w->buf.p;
    if (ret_len)
        *ret_len = w->buf.n;
    return 0;
}

/* codec/text.h - quick steps over the bytes of JSON strings.
 * Layer: codec, private. Threads: pure. */
#ifndef OWL_CODEC_TEXT_H
#define OWL_CODEC_TEXT_H

#include "base/base.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define OWL_TEXT__ONES UINT64_C(0x0101010101010101)
#define OWL_TEXT__TOPS UINT64_C(0x8080808080808080)

/* Eight bytes, the first in the lowest bits. */
static inline uint64_t owl_text__load(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* The index of the first byte whose top bit is set in @p marks, which is not 0. */
static inline size_t owl_text__first(uint64_t marks)
{
    return (size_t)__builtin_ctzll(marks) >> 3;
}

/* Marks the bytes that equal @p c; exact up to the first mark. */
static inline uint64_t owl_text__equal(uint64_t v, unsigned char c)
{
    v ^= OWL_TEXT__ONES * c;
    return (v - OWL_TEXT__ONES) & ~v & OWL_TEXT__TOPS;
}

/* The first and the last eight bytes of a string; of a shorter one all of it twice, with zeros
 * behind. Up to 16 bytes they are all that it holds. */
struct owl_text__ends {
    uint64_t head, tail;
};
/* The same of less than eight bytes with nothing behind them that may be read. */
struct owl_text__ends owl_text__short_ends(owl_str s);
/* @p s is within a text that ends at @p end: what stands behind is loaded with it, and masked off. */
static inline struct owl_text__ends owl_text__ends_of(owl_str s, const char *end)
{
    static const uint64_t masks[9] = {0,          0xff,         0xffff,         0xffffff,
                                      0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
                                      UINT64_MAX};
    if (OWL_UNLIKELY(end - s.p < 8))
        return owl_text__short_ends(s);
    size_t n = s.n < 8 ? s.n : 8;
    return (struct owl_text__ends){owl_text__load(s.p) & masks[n],
                                   owl_text__load(s.p + s.n - n) & masks[n]};
}
/* Of a string with @p n bytes; the top bits are the best. Quick, and weak: who knows it finds strings
 * that it does not tell apart. */
static inline uint64_t owl_text__hash(struct owl_text__ends e, size_t n, uint64_t seed)
{
    return (e.head ^ (e.tail << 29 | e.tail >> 35) ^ n) * seed;
}
#define OWL_TEXT__SEED UINT64_C(0x9e3779b97f4a7c15)

/* A byte that stands for itself in a JSON string: ASCII, no control, quote or backslash. */
static inline bool owl_text__plain(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 0x20 && u < 0x80 && u != '"' && u != '\\';
}

#ifdef __SSE2__
/* Which of 16 bytes are not plain; of @p proved text only quotes and backslashes count. */
static inline uint64_t owl_text__marks16(const char *p, bool proved)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i odd = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
                               _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
    if (!proved) /* As signed bytes, controls and everything but ASCII are below a blank. */
        odd = _mm_or_si128(odd, _mm_cmplt_epi8(v, _mm_set1_epi8(' ')));
    return (uint64_t)_mm_movemask_epi8(odd);
}
#endif

/* The first byte that is not plain, or @p end. */
static inline const char *owl_text__plain_run(const char *p, const char *end)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        uint64_t marks = owl_text__marks16(p, false);
        if (marks)
            return p + __builtin_ctzll(marks);
    }
#endif
    while (end - p >= 8) {
        uint64_t v = owl_text__load(p);
        /* A borrow out of a byte spoils the marks above it only, hence the first mark is exact. */
        uint64_t marks = (v - OWL_TEXT__ONES * 0x20) | v |
                         ((v ^ OWL_TEXT__ONES * '"') - OWL_TEXT__ONES) |
                         ((v ^ OWL_TEXT__ONES * '\\') - OWL_TEXT__ONES);
        marks &= OWL_TEXT__TOPS;
        if (marks)
            return p + owl_text__first(marks);
        p += 8;
    }
    while (p < end && owl_text__plain(*p))
        p++;
    return p;
}

/* The first quote or backslash of the inside of a proved string, which has a quote at its end. */
static inline const char *owl_text__quote_run(const char *p, const char *end)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        uint64_t marks = owl_text__marks16(p, true);
        if (marks)
            return p + __builtin_ctzll(marks);
    }
#endif
    for (; end - p >= 8; p += 8) {
        uint64_t v = owl_text__load(p);
        uint64_t marks = owl_text__equal(v, '"') | owl_text__equal(v, '\\');
        if (marks)
            return p + owl_text__first(marks);
    }
    while (*p != '"' && *p != '\\')
        p++;
    return p;
}

/* 64 bytes of a text and where runs end in them. Strings are short: one look finds the ends of
 * several, and where the next one is does not wait for a load from where the last one was. */
struct owl_text__window {
    const char *at; /* at first the beginning of the text */
    uint64_t marks; /* bit i: a run ends at at[i]; at first 0 */
};

/* As owl_text__plain_run() or, if the text is @p proved, as owl_text__quote_run(). @p p never goes
 * back. */
static inline __attribute__((always_inline)) const char *
owl_text__run(struct owl_text__window *w, const char *p, const char *end, bool proved)
{
#ifdef __SSE2__
    for (;; p = w->at + 64) {
        size_t i = (size_t)(p - w->at);
        if (OWL_LIKELY(i < 64 && w->marks >> i))
            return p + (size_t)__builtin_ctzll(w->marks >> i);
        if (end - w->at <= 64 || p == end)
            break; /* a short text, or the end of a long one */
        w->at = end - p < 64 ? end - 64 : p;
        w->marks = owl_text__marks16(w->at, proved) | owl_text__marks16(w->at + 16, proved) << 16 |
                   owl_text__marks16(w->at + 32, proved) << 32 |
                   owl_text__marks16(w->at + 48, proved) << 48;
        i = (size_t)(p - w->at);
        if (OWL_LIKELY(w->marks >> i))
            return p + (size_t)__builtin_ctzll(w->marks >> i);
    }
#endif
    return proved ? owl_text__quote_run(p, end) : owl_text__plain_run(p, end);
}

/* The bytes of the UTF-8 sequence at @p p, which is before @p end; 0 if it is none: overlong, a
 * surrogate, above U+10FFFF, cut short. */
static inline size_t owl_text__utf8(const char *p, const char *end)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t left = (size_t)(end - p);
    if (u[0] < 0x80)
        return 1;
    if (u[0] < 0xc2 || u[0] > 0xf4 || left < 2)
        return 0;
    if (u[0] < 0xe0)
        return (u[1] & 0xc0) == 0x80 ? 2 : 0;
    /* The bounds of the second byte rule out what is overlong, a surrogate or too big. */
    if (u[0] < 0xf0) {
        unsigned char low = u[0] == 0xe0 ? 0xa0 : 0x80, high = u[0] == 0xed ? 0x9f : 0xbf;
        return left >= 3 && u[1] >= low && u[1] <= high && (u[2] & 0xc0) == 0x80 ? 3 : 0;
    }
    unsigned char low = u[0] == 0xf0 ? 0x90 : 0x80, high = u[0] == 0xf4 ? 0x8f : 0xbf;
    return left >= 4 && u[1] >= low && u[1] <= high && (u[2] & 0xc0) == 0x80 &&
                   (u[3] & 0xc0) == 0x80
               ? 4
               : 0;
}

static inline bool owl_text__space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Behind the closing quote of the proved string whose first byte (after its quote) is at @p p; the
 * proved text ends at @p end. */
const char *owl_text__string_end(const char *p, const char *end);

/* Decodes the escape of a proved string at *@p p and moves behind it; 1 to 4 bytes. */
size_t owl_text__escape(const char **p, char out[4]);

/* Decodes the inside of a proved string; @p out has room for raw.n bytes. Returns the bytes
 * written. */
size_t owl_text__decode(owl_str raw, char *out);

/* Whether the inside of a proved string decodes to @p s. */
bool owl_text__equals(owl_str raw, owl_str s);

#endif

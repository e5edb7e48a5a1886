/* codec/base64.c - RFC 4648 base64 and base64url.
 * Threads: pure.
 *
 * Decoding is strict, so that every byte string has exactly one spelling. */
#include "codec/base64.h"

struct variant {
    const char *alphabet;
    bool padded;
};

static const struct variant standard = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", true};
static const struct variant url = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", false};

static void encode(struct owl_buf *b, const struct variant *v, const unsigned char *p, size_t n)
{
    size_t last = n % 3 == 0 ? 0 : v->padded ? 4 : n % 3 + 1;
    /* No object is so large that the sum could wrap. */
    if (owl_buf_reserve(b, n / 3 * 4 + last))
        return;
    if (n == 0)
        return;
    char *out = b->p + b->n;
    for (; n >= 3; p += 3, n -= 3) {
        unsigned bits = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];
        *out++ = v->alphabet[bits >> 18];
        *out++ = v->alphabet[bits >> 12 & 63];
        *out++ = v->alphabet[bits >> 6 & 63];
        *out++ = v->alphabet[bits & 63];
    }
    if (n > 0) {
        unsigned bits = (unsigned)p[0] << 16 | (n == 2 ? (unsigned)p[1] << 8 : 0);
        *out++ = v->alphabet[bits >> 18];
        *out++ = v->alphabet[bits >> 12 & 63];
        if (n == 2)
            *out++ = v->alphabet[bits >> 6 & 63];
        for (size_t i = n; v->padded && i < 3; i++)
            *out++ = '=';
    }
    b->n = (size_t)(out - b->p);
}

void owl_base64_encode(struct owl_buf *b, const void *p, size_t n)
{
    encode(b, &standard, p, n);
}

void owl_base64url_encode(struct owl_buf *b, const void *p, size_t n)
{
    encode(b, &url, p, n);
}

/* 0 to 63, or -1. */
static int value_of(const struct variant *v, char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == v->alphabet[62] ? 62 : c == v->alphabet[63] ? 63 : -1;
}

/* Appends the bytes of unpadded @p text; there is room. False if it is not canonical. */
static bool decode_digits(struct owl_buf *b, const struct variant *v, owl_str text)
{
    unsigned bits = 0, nbits = 0;
    for (size_t i = 0; i < text.n; i++) {
        int digit = value_of(v, text.p[i]);
        if (digit < 0)
            return false;
        bits = (bits << 6 | (unsigned)digit) & 0xffff;
        nbits += 6;
        if (nbits >= 8) {
            nbits -= 8;
            b->p[b->n++] = (char)(bits >> nbits);
            bits &= (1u << nbits) - 1;
        }
    }
    return nbits < 6 && bits == 0;
}

static int decode(struct owl_buf *b, const struct variant *v, owl_str text)
{
    if (v->padded && text.n % 4 != 0)
        return -OWL_EPARSE;
    for (int i = 0; v->padded && i < 2 && text.n > 0 && text.p[text.n - 1] == '='; i++)
        text.n--;
    if (owl_buf_reserve(b, text.n / 4 * 3 + text.n % 4))
        return b->rc;
    size_t before = b->n;
    if (decode_digits(b, v, text))
        return 0;
    b->n = before;
    return -OWL_EPARSE;
}

int owl_base64_decode(struct owl_buf *b, owl_str text)
{
    return decode(b, &standard, text);
}

int owl_base64url_decode(struct owl_buf *b, owl_str text)
{
    return decode(b, &url, text);
}

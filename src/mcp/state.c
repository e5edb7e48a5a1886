/* mcp/state.c - requestState: a sealed note to ourselves that travels through the client.
 *
 * Any thread; a key is immutable. What comes back is an attacker's until the tag is verified, and
 * the answer to a forgery does not tell what was wrong with it.
 *
 * sealed  = base64url(key id [4] ‖ nonce [12] ‖ ciphertext ‖ tag [16]) content = expiry,
 * milliseconds since 1970, big endian [8] ‖ payload bound   = label ‖ key id ‖ (length [8] ‖ bytes)
 * of principal, method, name ‖ SHA-256 of the arguments
 *
 * Nonces are random: with 96 bits a key serves 2^32 notes before a repetition is worth a
 * thought. */
#include "mcp/state.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "codec/base64.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <time.h>

enum {
    KEY_ID = 4,
    NONCE = 12,
    HEAD = KEY_ID + NONCE,
    EXPIRY = 8,
    TAG = 16,
    DIGEST = 32,
    OVERHEAD = HEAD + EXPIRY + TAG,
    RAW_MAX = OWL_STATE_MAX_BYTES / 4 * 3 /* bytes that so much base64url holds */
};

static const char bound_label[] = "owlclaw requestState 1";
static const char key_label[] = "owlclaw requestState key id";

static void cipher_freep(EVP_CIPHER_CTX **ctx)
{
    EVP_CIPHER_CTX_free(*ctx);
}

static void digest_freep(EVP_MD_CTX **ctx)
{
    EVP_MD_CTX_free(*ctx);
}

static void put_be64(unsigned char out[8], uint64_t v)
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        out[i] = (unsigned char)v;
}

static uint64_t get_be64(const unsigned char in[8])
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | in[i];
    return v;
}

int owl_state_key_init(struct owl_state_key *k, const void *secret)
{
    unsigned char digest[DIGEST];
    OWL_AUTO(digest_freep) EVP_MD_CTX *md = EVP_MD_CTX_new();
    if (secret)
        memcpy(k->secret, secret, sizeof(k->secret));
    else if (owl_random(k->secret, sizeof(k->secret)) != 0)
        return -OWL_EIO;
    if (!md || EVP_DigestInit_ex(md, EVP_sha256(), NULL) != 1 ||
        EVP_DigestUpdate(md, key_label, sizeof(key_label)) != 1 ||
        EVP_DigestUpdate(md, k->secret, sizeof(k->secret)) != 1 ||
        EVP_DigestFinal_ex(md, digest, NULL) != 1)
        return -OWL_EIO;
    memcpy(k->id, digest, sizeof(k->id));
    return 0;
}

/* ---- the cipher ------------------------------------------------------------------------------ */

/* Bytes that are authenticated and not sent. */
static bool bind_bytes(EVP_CIPHER_CTX *ctx, const void *p, size_t n)
{
    int len;
    return n <= INT32_MAX && (n == 0 || EVP_CipherUpdate(ctx, NULL, &len, p, (int)n) == 1);
}

static bool bind_text(EVP_CIPHER_CTX *ctx, owl_str s)
{
    unsigned char length[8];
    put_be64(length, s.n);
    return bind_bytes(ctx, length, sizeof(length)) && bind_bytes(ctx, s.p, s.n);
}

static EVP_CIPHER_CTX *begin(const struct owl_state_key *k, const struct owl_state_bind *bind,
                             const unsigned char nonce[NONCE], bool seal)
{
    unsigned char digest[DIGEST];
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    if (ctx &&
        EVP_Digest(bind->args.p ? bind->args.p : "", bind->args.n, digest, NULL, EVP_sha256(),
                   NULL) == 1 &&
        EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, k->secret, nonce, seal) == 1 &&
        bind_bytes(ctx, bound_label, sizeof(bound_label)) &&
        bind_bytes(ctx, k->id, sizeof(k->id)) && bind_text(ctx, bind->principal) &&
        bind_text(ctx, bind->method) && bind_text(ctx, bind->name) &&
        bind_bytes(ctx, digest, sizeof(digest)))
        return ctx;
    EVP_CIPHER_CTX_free(ctx);
    return NULL;
}

/* raw = head ‖ content ‖ room for the tag, of @p n bytes, encrypted in place. */
static int seal_raw(const struct owl_state_key *k, const struct owl_state_bind *bind,
                    unsigned char *raw, size_t n)
{
    int len;
    int content = (int)(n - HEAD - TAG);
    memcpy(raw, k->id, KEY_ID);
    if (owl_random(raw + KEY_ID, NONCE) != 0)
        return -OWL_EIO;
    OWL_AUTO(cipher_freep) EVP_CIPHER_CTX *ctx = begin(k, bind, raw + KEY_ID, true);
    if (!ctx || EVP_CipherUpdate(ctx, raw + HEAD, &len, raw + HEAD, content) != 1 ||
        len != content || EVP_CipherFinal_ex(ctx, raw + n - TAG, &len) != 1 || len != 0 ||
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG, raw + n - TAG) != 1)
        return -OWL_EIO;
    return 0;
}

/* The reverse; false if anything is not as it was sealed. */
static bool open_raw(const struct owl_state_key *k, const struct owl_state_bind *bind,
                     unsigned char *raw, size_t n)
{
    int len;
    int content = (int)(n - HEAD - TAG);
    if (memcmp(raw, k->id, KEY_ID) != 0) /* no secret: it travels in the clear */
        return false;
    OWL_AUTO(cipher_freep) EVP_CIPHER_CTX *ctx = begin(k, bind, raw + KEY_ID, false);
    return ctx && EVP_CipherUpdate(ctx, raw + HEAD, &len, raw + HEAD, content) == 1 &&
           len == content &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, raw + n - TAG) == 1 &&
           EVP_CipherFinal_ex(ctx, raw + n - TAG, &len) == 1;
}

/* ---- notes ----------------------------------------------------------------------------------- */

int owl_state_seal(const struct owl_state_key *k, const struct owl_state_bind *bind,
                   owl_str payload, uint64_t ttl_ms, struct owl_buf *out)
{
    if (payload.n > RAW_MAX - OVERHEAD)
        return -OWL_ELIMIT;
    size_t n = OVERHEAD + payload.n;
    unsigned char *raw = owl_malloc(n);
    if (!raw)
        return -OWL_ENOMEM;
    uint64_t now = (uint64_t)owl_wall_ms();
    put_be64(raw + HEAD, ttl_ms < UINT64_MAX - now ? now + ttl_ms : UINT64_MAX);
    if (payload.n > 0)
        memcpy(raw + HEAD + EXPIRY, payload.p, payload.n);
    int rc = seal_raw(k, bind, raw, n);
    if (rc == 0) {
        owl_base64url_encode(out, raw, n);
        rc = out->rc;
    }
    OPENSSL_cleanse(raw, n);
    owl_free(raw);
    return rc;
}

int owl_state_open(const struct owl_state_key *k, const struct owl_state_bind *bind, owl_str text,
                   struct owl_arena *a, owl_str *ret, owl_error *reterr)
{
    struct owl_buf b;
    owl_buf_init_arena(&b, a, RAW_MAX);
    int rc = text.n <= OWL_STATE_MAX_BYTES ? owl_base64url_decode(&b, text) : -OWL_EPARSE;
    if (rc != 0 && rc != -OWL_EPARSE)
        return owl_fail(reterr, -rc, NULL);
    unsigned char *raw = (unsigned char *)b.p;
    if (rc != 0 || b.n < OVERHEAD || !open_raw(k, bind, raw, b.n))
        return owl_fail(reterr, OWL_EPARAMS,
                        "requestState does not belong to this request; repeat the request without "
                        "requestState and inputResponses");
    if (get_be64(raw + HEAD) <= (uint64_t)owl_wall_ms())
        return owl_fail(reterr, OWL_EPARAMS,
                        "requestState has expired; repeat the request without requestState and "
                        "inputResponses");
    *ret = (owl_str){b.p + HEAD + EXPIRY, b.n - OVERHEAD};
    return 0;
}

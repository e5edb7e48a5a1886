/* codec/digest.c - a short name for a long text.
 * Threads: any. */
#include "codec/digest.h"

#include <openssl/evp.h>

int owl_digest(owl_str text, char ret[OWL_DIGEST_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (EVP_Digest(text.p ? text.p : "", text.n, sum, &n, EVP_sha256(), NULL) != 1 || n != 32)
        return -OWL_EIO;
    for (unsigned i = 0; i < n; i++) {
        ret[2 * i] = digits[sum[i] >> 4];
        ret[2 * i + 1] = digits[sum[i] & 15];
    }
    ret[OWL_DIGEST_TEXT - 1] = '\0';
    return 0;
}

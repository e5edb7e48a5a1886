/* codec/base64.h - RFC 4648 base64 (padded) and base64url (unpadded).
 * Layer: codec. Threads: pure. */
#ifndef OWL_CODEC_BASE64_H
#define OWL_CODEC_BASE64_H

#include "base/buf.h"

void owl_base64_encode(struct owl_buf *b, const void *p, size_t n);
void owl_base64url_encode(struct owl_buf *b, const void *p, size_t n);
/* Strict: right alphabet, right padding (url: none), zero trailing bits. Appends the bytes.
 * -OWL_EPARSE otherwise; what was appended is taken back. */
OWL_NODISCARD int owl_base64_decode(struct owl_buf *b, owl_str text);
OWL_NODISCARD int owl_base64url_decode(struct owl_buf *b, owl_str text);

#endif

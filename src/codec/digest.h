/* codec/digest.h - a short name for a long text.
 * Layer: codec (of the program, not of the library). Threads: any. */
#ifndef OWL_CODEC_DIGEST_H
#define OWL_CODEC_DIGEST_H

#include "base/base.h"

enum { OWL_DIGEST_TEXT = 65 }; /* with its NUL */

/* SHA-256 in lower-case hex digits. @errors OWL_EIO: the cryptographic library refused. */
OWL_NODISCARD int owl_digest(owl_str text, char ret[OWL_DIGEST_TEXT]);

#endif

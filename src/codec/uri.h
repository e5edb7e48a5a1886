/* codec/uri.h - URI syntax and URI templates (RFC 6570 level 1 and reserved "{+x}").
 * Layer: codec. Threads: pure. */
#ifndef OWL_CODEC_URI_H
#define OWL_CODEC_URI_H

#include "base/arena.h"

enum { OWL_URI_VARS = 16 };

/* Has a scheme (RFC 3986), no control characters or spaces, valid %-escapes. */
bool owl_uri_valid(owl_str uri);
/* The byte that the escape at the "%" at s.p[i] stands for, or -1. */
int owl_uri__escape(owl_str s, size_t i);

struct owl_uri_template;

/* Compile into @p a. @errors OWL_EINVAL (the message says what), OWL_ENOMEM. */
OWL_NODISCARD int owl_uri_template_new(struct owl_arena *a, owl_str text,
                                       struct owl_uri_template **ret, owl_error *reterr);
/* The name of variable @p i, or {NULL,0}. */
owl_str owl_uri_template_var(const struct owl_uri_template *t, size_t i);

/* Whether @p uri matches: values[i] gets the raw text of variable i (borrowed from uri). "{x}"
 * matches one or more characters but "/"; "{+x}" one or more of any. What does not decode to UTF-8
 * without NULs is no value, and such a URI does not match. Linear in uri × variables. */
bool owl_uri_template_match(const struct owl_uri_template *t, owl_str uri,
                            owl_str values[OWL_URI_VARS]);

/* %-decoded copy in @p a; {NULL,0} without memory or with a bad escape or an encoded NUL. */
owl_str owl_uri_decode(struct owl_arena *a, owl_str s);

#endif

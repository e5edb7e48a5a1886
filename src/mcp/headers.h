/* mcp/headers.h - the mirror headers of modern HTTP requests (mcp-wire 1.12).
 * Layer: mcp. Threads: pure. */
#ifndef OWL_MCP_HEADERS_H
#define OWL_MCP_HEADERS_H

#include "mcp/model.h"

/* Decode a header value: `=?base64?…?=` is decoded, everything else is literal ASCII (white
 * space at both ends is trimmed). @errors OWL_EHEADER (bad base64, what decodes to bad UTF-8,
 * literal control or non-ASCII characters), OWL_ENOMEM. The result is in @p a or borrowed. */
OWL_NODISCARD int owl_mcp_header_decode(struct owl_arena *a, owl_str value, owl_str *ret,
                                        owl_error *reterr);
/* Encode @p value as a header value: plain where it can be, base64 where it must be. */
void owl_mcp_header_encode(struct owl_buf *b, owl_str value);

/* What the mirror headers say, and what they mirror. */
struct owl_mcp_mirror {
    owl_str header_method, header_name; /* raw values, or absent */
    owl_str method;                     /* of the body */
    const char *name_key; /* the params member that Mcp-Name mirrors; NULL: it is not looked at */
    owl_str name;         /* that member, raw, or absent; no string: left to the method to refuse */
};
/* @errors OWL_EHEADER (which header, what it said, what the body says), OWL_ENOMEM. */
OWL_NODISCARD int owl_mcp_headers_check(struct owl_arena *a, const struct owl_mcp_mirror *m,
                                        owl_error *reterr);

/* Whether @p entry is what the list of allowed hosts below consists of. */
bool owl_mcp_host_valid(owl_str entry);
/* Host and Origin against the names that a server answers to: localhost, 127.0.0.1, [::1] (each
 * with any port), and @p allowed (names, or names with a port, separated by commas; "*" for any
 * well-formed one; or absent). An absent origin is fine; "null" is not. */
bool owl_mcp_host_allowed(owl_str host, owl_str allowed);
bool owl_mcp_origin_allowed(owl_str origin, owl_str allowed);

#endif

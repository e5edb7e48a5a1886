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

/* Mcp-Method against the method, Mcp-Name against the params member that the method mirrors. @p
 * name_key NULL: Mcp-Name is not looked at. @p header_* are raw values or absent; @p params
 * proved text or absent. A params member that is no string is left to the method to refuse.
 * @errors OWL_EHEADER (which header, what it said, what the body says). */
OWL_NODISCARD int owl_mcp_headers_check(struct owl_arena *a, owl_str header_method,
                                        owl_str header_name, owl_str method, const char *name_key,
                                        owl_str params, owl_error *reterr);

/* Host and Origin against the names that a server answers to: localhost, 127.0.0.1, [::1] (each
 * with any port), and @p allowed (names, or names with a port, separated by commas; "*" for any
 * well-formed one; or absent). An absent origin is fine; "null" is not. */
bool owl_mcp_host_allowed(owl_str host, owl_str allowed);
bool owl_mcp_origin_allowed(owl_str origin, owl_str allowed);

#endif

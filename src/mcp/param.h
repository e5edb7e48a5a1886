/* mcp/param.h - the Mcp-Param-* headers of modern HTTP requests (mcp-wire 1.12).
 * Layer: mcp. Threads: pure.
 *
 * A tool says with `"x-mcp-header":"N"` in its schema that the header Mcp-Param-N mirrors an
 * argument. Who decides by the header must be able to rely on it: what the tool gets is the
 * same. */
#ifndef OWL_MCP_PARAM_H
#define OWL_MCP_PARAM_H

#include "mcp/model.h"

/* What a header says, and what it mirrors. */
struct owl_mcp_param {
    owl_str name;     /* N of Mcp-Param-N */
    owl_str header;   /* raw value, or absent */
    bool twice;       /* it is there with another value, too */
    owl_str argument; /* proved JSON text, or absent */
};
/* An argument that is absent or null has no header, every other one has. Strings and booleans are
 * compared byte by byte once the header is decoded, numbers by value, whatever their size. Objects
 * and arrays, which no header can mirror, are not looked at: they are for the tool to refuse.
 * @errors OWL_EHEADER (which header, what it said, what the body says), OWL_ENOMEM, OWL_ELIMIT. */
OWL_NODISCARD int owl_mcp_param_check(struct owl_arena *a, const struct owl_mcp_param *p,
                                      owl_error *reterr);

#endif

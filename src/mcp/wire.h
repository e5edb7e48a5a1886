/* mcp/wire.h - one codec a revision family: the internal model to the words of a revision.
 * Layer: mcp. Threads: pure; codecs are const.
 *
 * Nobody above asks which revision a peer speaks: they hand the model to call->codec. */
#ifndef OWL_MCP_WIRE_H
#define OWL_MCP_WIRE_H

#include "mcp/model.h"

/* A result, before it has the form of a revision. */
struct owl_mcp_result {
    const char *type; /* "complete" (also NULL), "input_required" */
    owl_str members;  /* its members, comma-separated without braces; may be empty */
    owl_str meta;     /* members of its `_meta`, likewise */
    bool cacheable;   /* carries cache hints where the revision has them, if complete */
    bool per_user;    /* and must not be shared between users: cacheScope "private" */
    unsigned ttl_ms;
};

/* A failure, before it has the form of a revision. */
struct owl_mcp_failure {
    int error;        /* OWL_E*: decides the code unless rpc_code is given */
    int rpc_code;     /* 0, or a code that a handler chose; reserved ones become -32603 */
    bool of_tool;     /* a known tool failed: arguments, denial, timeout, exception */
    bool of_resource; /* OWL_ENOTFOUND speaks of a resource */
    bool of_name;     /* OWL_ENOTFOUND speaks of a tool */
    owl_str message;  /* for the client; empty: the text of the error */
    owl_str data;     /* proved JSON text of error.data, or absent; objects get trace_id added */
    owl_str trace_id; /* or absent */
};

struct owl_mcp_codec {
    enum owl_era era;
    bool
        codes; /* a failure of a known tool is a JSON-RPC error with a code (ruling 5), no result */
    /* Write the result object. @p server_info is the serverInfo object as text. */
    void (*result)(struct owl_buf *b, const struct owl_mcp_result *r, owl_str server_info);
    /* The JSON-RPC code of a failure. */
    int (*code)(const struct owl_mcp_failure *f);
    /* The HTTP status of an error response with that code, unless the classifier gave one. */
    int (*http_status)(int code, int error);
};

/* 2024-11-05 to 2025-06-18, 2025-11-25, 2026-07-28. */
extern const struct owl_mcp_codec owl_mcp_codes, owl_mcp_legacy, owl_mcp_modern;
const struct owl_mcp_codec *owl_mcp_codec_of(enum owl_rev rev);

/* A whole response message with that failure, on one line: a JSON-RPC error, or (a failure of a
 * known tool, ruling 5, style `mcp`) a result with isError, one text block and
 * _meta["owlclaw/error"] = {code, details, retryable, trace_id, …data}. Returns the HTTP status. */
int owl_mcp_write_failure(struct owl_buf *b, const struct owl_mcp_codec *codec, owl_str id,
                          const struct owl_mcp_failure *f, owl_str server_info);

#endif

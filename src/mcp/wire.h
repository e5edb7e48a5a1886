/* mcp/wire.h - results and failures in the words of a revision.
 * Layer: mcp. Threads: pure; codecs are const.
 *
 * A codec is what a revision has × the error style (ruling 5). Nobody
 * above asks which revision a peer speaks: they hand the model to call->codec. */
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

/* Which tool ran and how long: `meta` of the style `layered`. */
struct owl_mcp_run {
    owl_str tool, version;
    uint64_t duration_ms;
    int64_t ended_ms; /* since 1970 */
};

/* A failure, before it has the form of a revision. */
struct owl_mcp_failure {
    int error;        /* OWL_E*: decides the code unless rpc_code is given */
    int rpc_code;     /* 0, or a code that a handler chose; reserved ones become -32603 */
    bool relayed;     /* rpc_code, message and data are another server's: they pass as they are, but
                       * for codes that this revision does not have or that would speak of us; with
                       * rpc_code 0 it means nothing. -32042 passes at 2025-11-25, whose client must
                       * have declared elicitation.url; at 2026-07-28 it becomes -32021, unless the
                       * caller has turned it into questions */
    bool of_tool;     /* a known tool failed: arguments, denial, timeout, exception */
    bool of_resource; /* OWL_ENOTFOUND, or what is relayed, speaks of a resource */
    bool of_name;     /* OWL_ENOTFOUND speaks of a tool */
    owl_str message;  /* for the client; empty: the text of the error */
    owl_str data;     /* proved JSON text of error.data, or absent; objects get trace_id added */
    owl_str trace_id; /* or absent */
    const struct owl_mcp_run *run; /* for the style `layered`; NULL: nothing is known */
};

struct owl_mcp_codec {
    enum owl_era era;
    enum owl_rev since;         /* the oldest revision that it writes for */
    enum owl_error_style style; /* never AUTO */
    /* Write the result object. @p server_info is the serverInfo object as text. */
    void (*result)(struct owl_buf *b, const struct owl_mcp_result *r, owl_str server_info);
};

/* The codec of a revision; OWL_ERRORS_AUTO is the style that ruling 5 gives to it. */
const struct owl_mcp_codec *owl_mcp_codec_of(enum owl_rev rev, enum owl_error_style style);
/* The same revision in another style: of a tool that declares a contract. */
const struct owl_mcp_codec *owl_mcp_codec_with(const struct owl_mcp_codec *codec,
                                               enum owl_error_style style);

/* The JSON-RPC code of a failure that is reported as a JSON-RPC error. */
int owl_mcp_failure_code(const struct owl_mcp_codec *codec, const struct owl_mcp_failure *f);

/* A whole response message with that failure, on one line. A failure of a known tool is, by style:
 *   codes    a JSON-RPC error with data {details, retryable, trace_id, …data}
 *   mcp      a result with isError, one text block and _meta["owlclaw/error"] = {code, details,
 *            retryable, trace_id, …data}; arguments that do not fit are -32602 before 2025-11-25
 *   layered  a result with isError, one text block and structuredContent {success, data,
 *            error {code: "E_*", message, retryable, …data}, meta {traceId, tool, version,
 *            durationMs, timestamp}}
 * Every other one is a JSON-RPC error. @p id absent: null; empty: there is no member `id`. Returns
 * the HTTP status. */
int owl_mcp_write_failure(struct owl_buf *b, const struct owl_mcp_codec *codec, owl_str id,
                          const struct owl_mcp_failure *f, owl_str server_info);

/* A result or params object, proved text, without the members "owlclaw/…" of its `_meta`, which only
 * count from those that we trust. *ret is @p object itself if there are none, which is found out by
 * a walk over its members and those of `_meta`; otherwise the rest is written to @p b, which *ret
 * borrows. 0, or -OWL_ENOMEM or -OWL_ELIMIT of @p b. */
OWL_NODISCARD int owl_mcp_strip_meta(owl_str object, struct owl_buf *b, owl_str *ret);

#endif

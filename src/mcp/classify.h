/* mcp/classify.h - which era a message belongs to (the table of mcp-wire 4.3), as a pure function.
 * Layer: mcp. Threads: pure. */
#ifndef OWL_MCP_CLASSIFY_H
#define OWL_MCP_CLASSIFY_H

#include "mcp/model.h"

enum owl_session_state {
    OWL_SESSION_NONE, /* no session id was sent; stdio: not initialized */
    OWL_SESSION_KNOWN,
    OWL_SESSION_UNKNOWN /* an id that we do not know (any more) */
};

struct owl_mcp_input {
    bool http;      /* otherwise stdio */
    owl_str method; /* absent for responses and batches, and for GET and DELETE */
    bool notification;
    owl_str meta_version;   /* _meta protocolVersion, or absent */
    owl_str header_version; /* MCP-Protocol-Version, or absent (always on stdio) */
    owl_str header_twice;   /* a header that says two things, or absent */
    owl_str legacy_twice;   /* likewise, one that means nothing in the modern era */
    enum owl_session_state session;
    enum owl_rev session_rev; /* if known */
    unsigned revs;            /* the revisions that this server serves */
};

struct owl_mcp_class {
    enum owl_era era; /* of an error: in whose words it is to be written */
    enum owl_rev rev; /* of legacy `initialize`: meaningless, it negotiates */
    int error;        /* 0, or OWL_E: HEADER, VERSION, PARAMS, REQUEST, NOTFOUND (session) */
    char why[200];    /* for the error: what was wrong and what to send instead */
};

/* Rows 1–10 for HTTP, the three cases for stdio. A server that serves only one era refuses the
 * other and names its versions; if that is the legacy one, in none of the modern errors, from which
 * a client would conclude that it must not initialize. Responses and notifications of a known legacy
 * session are legacy; a notification is modern also if only one of header and `_meta` says so, and
 * on stdio before initialize. Modern checks of required `_meta` members beyond the version are
 * owl_mcp_modern_check()'s. */
void owl_mcp_classify(const struct owl_mcp_input *in, struct owl_mcp_class *ret);

/* The answer to `initialize`: the asked revision if it is served and legacy, otherwise the
 * newest legacy one. There must be one (owl_mcp_classify() refuses `initialize` otherwise). */
enum owl_rev owl_mcp_negotiate(unsigned revs, owl_str asked);

/* What a modern request must carry besides its version: clientCapabilities. OWL_EPARAMS names
 * what is missing. */
OWL_NODISCARD int owl_mcp_modern_check(const struct owl_mcp_meta *meta, owl_error *reterr);

#endif

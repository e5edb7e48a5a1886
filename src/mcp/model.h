/* mcp/model.h - the one internal model of the protocol: revisions, eras, methods, `_meta`.
 * Layer: mcp. Threads: pure. */
#ifndef OWL_MCP_MODEL_H
#define OWL_MCP_MODEL_H

#include "base/arena.h"
#include "base/buf.h"
#include "codec/scan.h"

enum owl_era { OWL_ERA_LEGACY, OWL_ERA_MODERN };

enum owl_rev {
#define OWL_REVISION_ROW(sym, name, era) OWL_REV_##sym,
#include "tbl/revisions.h"
    OWL_REV__MAX
};
#define OWL_REV_BIT(rev) (1u << (rev))
#define OWL_REV_ALL ((1u << OWL_REV__MAX) - 1u)

const char *owl_rev_name(enum owl_rev rev);
enum owl_era owl_rev_era(enum owl_rev rev);
/* The revision of that name, or -1. */
int owl_rev_parse(owl_str name);
/* The same for what a client asks for: "1.0" was never a revision, and is served as the oldest. */
#define OWL_REV_ALIAS "1.0"
int owl_rev_asked(owl_str name);
/* "2025-11-25, 2026-07-28" → set of revisions; OWL_EINVAL names the unknown one and lists the
 * known. */
OWL_NODISCARD int owl_revs_parse(owl_str list, unsigned *ret_set, owl_error *reterr);
/* The newest revision of that era in a set, or -1. */
int owl_revs_newest(unsigned revs, enum owl_era era);
/* ["2025-11-25","2026-07-28"] of a set, oldest first. */
void owl_revs_write(struct owl_buf *b, unsigned set);

/* Methods (tbl/methods.h). */
enum {
    OWL_M_EARLY = 1u << 0,     /* allowed before notifications/initialized */
    OWL_M_CACHEABLE = 1u << 1, /* modern results carry ttlMs and cacheScope */
    OWL_M_ASKS = 1u << 2       /* may answer input_required */
};
enum {
    OWL_IN_LEGACY = 1u << OWL_ERA_LEGACY,
    OWL_IN_MODERN = 1u << OWL_ERA_MODERN,
    OWL_IN_BOTH = 3u
};

/* Server capabilities, as bits. */
enum {
    OWL_CAP_NONE = 0,
    OWL_CAP_TOOLS = 1u << 0,
    OWL_CAP_RESOURCES = 1u << 1,
    OWL_CAP_PROMPTS = 1u << 2,
    OWL_CAP_COMPLETIONS = 1u << 3,
    OWL_CAP_TASKS = 1u << 4
};

/* What can change and be told to subscribers, as bits. */
enum {
    OWL_CHANGED_TOOLS = 1u << 0,
    OWL_CHANGED_RESOURCES = 1u << 1,
    OWL_CHANGED_PROMPTS = 1u << 2
};

/* `params._meta` of a request: spans of the source. Absent members are {NULL,0}. */
struct owl_mcp_meta {
    owl_str raw;              /* the whole object */
    owl_str protocol_version; /* decoded; absent also if it is no string */
    owl_str client_caps;      /* raw object; absent also if it is none */
    owl_str client_info;      /* raw object */
    owl_str log_level;        /* decoded; empty if it is no string */
    owl_str progress_token;   /* raw string or integer literal; absent also if it is neither */
    owl_str traceparent;      /* decoded */
};
/* @p raw is `_meta` of a request, proved text or absent; @p tape is that of the message, or NULL.
 * @errors OWL_EPARAMS (`_meta` is not an object), OWL_ENOMEM. */
OWL_NODISCARD int owl_mcp_meta_read(struct owl_arena *a, owl_str raw, const struct owl_tape *tape,
                                    struct owl_mcp_meta *ret, owl_error *reterr);

/* Whether a key of `_meta` has the form [prefix/]name: labels with dots between them, and a name that
 * may be empty. The id of an extension has the same form, with a prefix. */
bool owl_mcp_key_valid(owl_str key);

/* Whether raw client capabilities (proved text or absent) declare @p name, and @p rev has it:
 * "sampling", "sampling.tools", "roots", "elicitation" (either mode), "elicitation.form" (also
 * declared by an elicitation object without modes), "elicitation.url", "extensions.<id>" (the id may
 * hold dots), "experimental.<key>". */
bool owl_mcp_caps_have(owl_str caps, enum owl_rev rev, const char *name);
/* Whether @p rev has the capability @p name at all, whatever a client declares. */
bool owl_mcp_caps_known(enum owl_rev rev, const char *name);
/* {"elicitation":{"url":{}}} for "elicitation.url": the `requiredCapabilities` of an error. */
void owl_mcp_caps_required(struct owl_buf *b, const char *name);

#endif

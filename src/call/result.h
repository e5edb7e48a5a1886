/* call/result.h - what a handler has built so far, in the format of the newest revision.
 * Layer: call. Threads: the handler's, then the reactor's. */
#ifndef OWL_CALL_RESULT_H
#define OWL_CALL_RESULT_H

#include "base/buf.h"
#include "mcp/convert.h"

enum owl_result_form {
    OWL_RESULT_TOOL,     /* content blocks */
    OWL_RESULT_PROMPT,   /* messages */
    OWL_RESULT_RESOURCE, /* contents of a URI */
    OWL_RESULT_COMPLETION,
    OWL_RESULT_RAW /* members as they are */
};

struct owl_result {
    enum owl_result_form form;
    struct owl_buf list;  /* the members of the result so far: "content":[…, open until the end */
    struct owl_buf extra; /* further members, each with its leading comma */
    struct owl_buf meta;  /* members of _meta, comma-separated */
    struct owl_result_key *meta_keys; /* of meta, in no order */
    owl_str shared;                   /* instead of list: members that live elsewhere */
    owl_str uri, mime_type;           /* of a resource */
    owl_str structured;               /* structuredContent, or absent */
    unsigned revs;   /* whose clients take the members as they are; others need a conversion */
    bool is_error;   /* a raw result that says so */
    size_t n;        /* entries of the list */
    bool closed;     /* owl_result_close() was called */
    bool assistant;  /* role of the next message */
    int rc;          /* first error */
    const char *why; /* … and what was wrong, for the log; or NULL */
    bool replaced;   /* form is RAW until the next reset; then it is … */
    enum owl_result_form replaced_form;
};

void owl_result_init(struct owl_result *r, enum owl_result_form form, struct owl_arena *a,
                     size_t max);
/* Empty again, for a handler that is run again. */
void owl_result_reset(struct owl_result *r);
/* Empty, and of raw members until the next reset. */
void owl_result_replace(struct owl_result *r);
/* No more entries: the members of the result, complete. -OWL_ELIMIT or -OWL_ENOMEM if it did not
 * fit. */
OWL_NODISCARD int owl_result_close(struct owl_result *r, owl_str *ret_members);
/* Where its content blocks are. */
enum owl_mcp_form owl_result_blocks(const struct owl_result *r);
/* The same for clients of @p rev, converted into @p a if need be. */
OWL_NODISCARD int owl_result_members(struct owl_result *r, enum owl_rev rev, struct owl_arena *a,
                                     owl_str *ret_members);

#endif

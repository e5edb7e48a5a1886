/* registry/item.h - one tool, resource, template or prompt: immutable and counted.
 * Layer: registry. Threads: any (counted atomically).
 *
 * A call holds the item that it runs, so that a change or removal never pulls it away. */
#ifndef OWL_REGISTRY_ITEM_H
#define OWL_REGISTRY_ITEM_H

#include <owlclaw/server.h>

#include <stdatomic.h>

#include "base/arena.h"
#include "codec/schema.h"
#include "codec/uri.h"
#include "mcp/model.h"
#include "mcp/param.h"
#include "registry/provider.h"

enum owl_kind {
    OWL_KIND_TOOL,
    OWL_KIND_RESOURCE,
    OWL_KIND_TEMPLATE,
    OWL_KIND_PROMPT,
    OWL_KIND__MAX
};

struct owl_item_arg { /* an argument of a prompt */
    owl_str name;
    bool required;
};

struct owl_item_header { /* an argument of a tool that a header mirrors: `x-mcp-header` */
    owl_str name;        /* N of Mcp-Param-N */
    const owl_str *path; /* names of the properties that lead to it, outermost first */
    size_t n_path;
};

/* What of an entry not every revision knows: bytes of `json`, with the comma before them. */
struct owl_item_part {
    uint32_t from, end;
    unsigned revs; /* those that know it */
};
enum { OWL_ITEM_PARTS = 2 }; /* of a tool: its output schema, and whether it may be a task */

struct owl_item {
    atomic_uint _refs;
    enum owl_kind kind;
    owl_str key;       /* name, URI or template text */
    owl_str json;      /* its entry in a list, with all that any revision knows: one line */
    owl_str mime_type; /* resources and templates; may be absent */
    owl_str text;      /* content that never changes; absent if there is a handler */
    uint64_t seq;      /* place in lists; set by the registry, kept when an item is replaced */
    struct owl_provider *provider; /* who answers, counted; NULL: the handlers */
    owl_handler_fn handler;
    owl_handler_fn complete;
    void *data;
    void (*free_data)(void *);
    unsigned flags; /* OWL_INLINE, OWL_PARKED */
    unsigned timeout_ms;
    struct owl_item_part parts[OWL_ITEM_PARTS]; /* in their order; empty if not there */
    struct owl_uri_template *uri_template;
    const struct owl_item_arg *args;
    size_t n_args;
    const struct owl_item_header *headers;
    size_t n_headers;
    const struct owl_schema *input;  /* tools: what arguments must fit */
    const struct owl_schema *output; /* … and structuredContent; or NULL */
    struct owl_arena *arena;         /* holds all of it */
};

/* Check and copy a public definition. One reference. The error names the member and what is wrong:
 * a missing or malformed name, a schema that is no JSON object or does not compile, one of arguments
 * without "type":"object", an annotation "x-mcp-header" that is malformed or misplaced, JSON text
 * that does not parse, neither handler nor text or both, a bad URI or template, a completion for
 * what is no template, an unknown flag, `size` smaller than the required members, an entry over
 * 4 MiB. On failure free_data is NOT called: the definition stays the caller's. @errors OWL_EINVAL,
 * OWL_ENOMEM. */
OWL_NODISCARD int owl_item_tool(const owl_tool *def, struct owl_item **ret, owl_error *reterr);
OWL_NODISCARD int owl_item_resource(const owl_resource *def, struct owl_item **ret,
                                    owl_error *reterr); /* a template if the URI has "{" */
OWL_NODISCARD int owl_item_prompt(const owl_prompt *def, struct owl_item **ret, owl_error *reterr);

struct owl_item *owl_item_aref(struct owl_item *it);
void owl_item_aunref(struct owl_item *it); /* the last one calls free_data */

#endif

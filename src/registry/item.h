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

/* The list in which a kind is: OWL_CHANGED_… (mcp/model.h). */
static inline unsigned owl_kind_change(enum owl_kind kind)
{
    return kind == OWL_KIND_TOOL     ? OWL_CHANGED_TOOLS
           : kind == OWL_KIND_PROMPT ? OWL_CHANGED_PROMPTS
                                     : OWL_CHANGED_RESOURCES;
}

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
    owl_str key;           /* name, URI or template text: under which it is listed */
    owl_str fallback;      /* … where another item of a snapshot has that one; or absent */
    owl_str registry_name; /* "server:tool"; or absent */
    owl_str origin;        /* what its provider calls it */
    const owl_str *aliases;
    size_t n_aliases;
    owl_str json;      /* its entry in a list, with all that any revision knows: one line */
    owl_str raw;       /* the entry of which it was made; absent if there was none */
    owl_str mime_type; /* resources and templates; may be absent */
    owl_str text;      /* content that never changes; absent if there is a handler */
    uint64_t seq;      /* place in the program's own part; set by the registry */
    struct owl_provider *provider; /* who answers, counted; NULL: the handler, or the text */
    owl_handler_fn handler;
    owl_handler_fn complete;
    void *data; /* for the handler, or the provider */
    void (*free_data)(void *);
    unsigned flags; /* OWL_INLINE, OWL_PARKED, OWL_TASK…, OWL_FOREIGN */
    unsigned timeout_ms;
    struct owl_item_part parts[OWL_ITEM_PARTS]; /* in their order; empty if not there */
    uint32_t key_from, key_end; /* the key in `json`, with its quotes; before the parts */
    owl_str fallback_json;      /* what stands there instead, if the fallback is shown */
    struct owl_uri_template *uri_template, *fallback_template; /* of key and fallback */
    const struct owl_item_arg *args;
    size_t n_args;
    const struct owl_item_header *headers;
    size_t n_headers;
    const struct owl_schema *input;  /* tools: what arguments must fit */
    const struct owl_schema *output; /* … and structuredContent; NULL: it is not judged */
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

/* How an entry of another server becomes ours. Zero stands for absent everywhere; all is copied. */
struct owl_item_options {
    owl_str key;            /* the name, URI or template to show; absent: the one of the entry */
    owl_str fallback;       /* shown instead if another provider has it; always found */
    owl_str registry_name;  /* found too, not shown */
    const owl_str *aliases; /* likewise; at most OWL_ITEM_ALIASES */
    size_t n_aliases;
    struct owl_provider *provider; /* answers; the item counts it */
    void *data;                    /* for it, and kept alive by it */
    unsigned timeout_ms;
    unsigned flags; /* OWL_TASK…: written to the entry in place of what it says of tasks */
};
enum { OWL_ITEM_ALIASES = 16, OWL_ITEM_NAME_BYTES = 8192 };

/* Make an item of a Tool, Resource, ResourceTemplate or Prompt object, as JSON text. Its members are
 * kept, unknown ones too, but for those that are known and null. The schema of arguments is compiled
 * and its annotations "x-mcp-header" are read; that of results is only listed, for a tool of another
 * server has OWL_FOREIGN. One reference. The error names the entry, the member and what is wrong, so
 * that the caller can leave it out with a warning: no JSON object, no name, a member of the wrong
 * type, a schema that does not compile, a key or fallback that cannot be shown, a template of a kind
 * that is not supported, an entry over 4 MiB. @errors OWL_EINVAL, OWL_ENOMEM. */
OWL_NODISCARD int owl_item_raw(enum owl_kind kind, owl_str entry, const struct owl_item_options *o,
                               struct owl_item **ret, owl_error *reterr);
/* Whether owl_item_raw() would make the same item again. */
bool owl_item_same(const struct owl_item *it, owl_str entry, const struct owl_item_options *o);

struct owl_item *owl_item_aref(struct owl_item *it);
void owl_item_aunref(struct owl_item *it); /* the last one calls free_data */

#endif

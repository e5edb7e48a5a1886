/* registry/draft.h - an item that is being made.
 * Layer: registry, private. Threads: a draft belongs to its caller.
 *
 * A draft gathers the item and its list entry member by member. It keeps the first thing that is
 * wrong and ignores what follows, so that a kind of item is described by a plain list of its members
 * and looks at the outcome once, at the end. */
#ifndef OWL_REGISTRY_DRAFT_H
#define OWL_REGISTRY_DRAFT_H

#include "base/buf.h"
#include "registry/item.h"

enum {
    OWL_DRAFT__NAME_BYTES = 128,     /* longest name of a tool or prompt */
    OWL_DRAFT__ENTRY_BYTES = 4 << 20 /* longest list entry */
};

struct owl_draft {
    struct owl_item item;
    struct owl_buf entry; /* becomes item.json */
    owl_str label;        /* what errors call it: a JSON string; absent: the key */
    size_t n_parts;
    owl_error *reterr;
    int rc; /* 0, or the first thing that was wrong */
};

void owl_draft__begin(struct owl_draft *d, enum owl_kind kind, owl_error *reterr);
/* The finished item with one reference, or the error. */
OWL_NODISCARD int owl_draft__end(struct owl_draft *d, struct owl_item **ret);

/* Says what is wrong with a member, as its author knows it. */
void owl_draft__reject(struct owl_draft *d, const char *member, const char *fmt, ...)
    OWL_PRINTF(3, 4);
void owl_draft__no_memory(struct owl_draft *d);
/* A copy in the arena; absent stays absent. */
owl_str owl_draft__keep(struct owl_draft *d, owl_str s);

/* The proved text of a JSON value that opens with @p open, '{' or '['; absent if there is none or it
 * was rejected. */
owl_str owl_draft__prove(struct owl_draft *d, const char *member, owl_str text, char open);
/* A key to keep, NUL-terminated, or absent: a name, a URI, or a template, which is compiled to
 * *ret_template. */
owl_str owl_draft__check_key(struct owl_draft *d, const char *member, owl_str key,
                             struct owl_uri_template **ret_template);

/* Members of the entry. Nothing is put if the value is absent. @p member is what errors call it;
 * `json` is proved. */
void owl_draft__put_key(struct owl_draft *d, const char *wire);
void owl_draft__put_string(struct owl_draft *d, const char *wire, const char *member,
                           const char *value);
void owl_draft__put_json(struct owl_draft *d, const char *wire, owl_str json);
/* The arguments that a tool takes, and which of them are mirrored in headers. */
void owl_draft__put_input(struct owl_draft *d, const char *member, owl_str json);
/* The schema of a tool's results, which is compiled if results are to be judged. */
void owl_draft__put_output(struct owl_draft *d, const char *member, owl_str json, bool judge);
void owl_draft__put_icons(struct owl_draft *d, const char *member, owl_str json);
/* The arguments that a prompt takes. */
void owl_draft__put_arguments(struct owl_draft *d, const char *member, owl_str json);
/* Whether a tool may be a task, by its flags, which must be among @p known. */
void owl_draft__put_flags(struct owl_draft *d, unsigned known);

#endif

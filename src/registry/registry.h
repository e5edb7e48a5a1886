/* registry/registry.h - what the server offers: a list that changes, and its immutable snapshots.
 * Layer: registry. Threads: registry functions from any (a lock inside); snapshots are immutable,
 * counted atomically.
 *
 * A snapshot is made of counted parts, one a provider, and a merged index. A change rebuilds its
 * part and the index; items are shared between snapshots. The program's own part is filled one by
 * one (owl_registry_put), that of a provider is replaced as a whole (struct owl_update).
 *
 * Order: rank of the part, then place in it; parts of one rank stand in the order in which they came.
 * Names: an item is found by its key, fallback, registry name and aliases. If two
 * items have one name, that order decides (a key stands over a fallback), then the order of the list.
 * An item whose key belongs to an earlier one is listed under its fallback, or else not at all. */
#ifndef OWL_REGISTRY_REGISTRY_H
#define OWL_REGISTRY_REGISTRY_H

#include "base/buf.h"
#include "registry/item.h"

struct owl_registry;
struct owl_snapshot;

/* @p page_items are on one page of a list; 0: 100, of resources and templates 50. */
OWL_NODISCARD struct owl_registry *owl_registry_new(unsigned page_items);
void owl_registry_free(struct owl_registry *r);

/* Add @p item to the program's own part (takes the reference) or replace the one with its kind and
 * key, in its place.
 * @errors OWL_ENOMEM, OWL_ELIMIT (more than 100,000 items): the reference stays the caller's. */
OWL_NODISCARD int owl_registry_put(struct owl_registry *r, struct owl_item *item);
/* @errors OWL_ENOTFOUND. */
OWL_NODISCARD int owl_registry_remove(struct owl_registry *r, enum owl_kind kind, owl_str key);

/* The lists that a change of parts has altered, and what it cost. */
struct owl_update_result {
    unsigned changes; /* OWL_CHANGED_… (mcp/model.h) */
    size_t built;     /* items that were not there before */
    size_t kept;      /* those that were, with their schemas and entries */
};

/* What a provider offers from now on, put together item by item, then put in place at once. An update
 * belongs to one thread at a time. NULL without memory. */
struct owl_update;
OWL_NODISCARD struct owl_update *owl_update_new(struct owl_registry *r, struct owl_provider *p);
void owl_update_free(struct owl_update *u); /* whether or not it was committed */
/* Add the item of this entry: the one that the provider has, if entry and options are as they were,
 * otherwise a new one. @errors as owl_item_raw(); OWL_EEXISTS (the provider has named one of this
 * kind so already), OWL_ELIMIT (100,000 items). The update goes on without it. */
OWL_NODISCARD int owl_update_add_raw(struct owl_update *u, enum owl_kind kind, owl_str entry,
                                     const struct owl_item_options *o, owl_error *reterr);
/* Add an item (takes a reference of its own). @errors OWL_ENOMEM, OWL_EEXISTS, OWL_ELIMIT. */
OWL_NODISCARD int owl_update_add(struct owl_update *u, struct owl_item *item);
/* Declare a method beyond those of MCP, or an extension with its settings, a JSON object.
 * @errors OWL_EINVAL (malformed, or a name of more than 256 bytes), OWL_EEXISTS (twice), OWL_ELIMIT
 * (256 each, settings of 64 KiB), OWL_ENOMEM. */
OWL_NODISCARD int owl_update_add_method(struct owl_update *u, owl_str name, owl_error *reterr);
OWL_NODISCARD int owl_update_add_extension(struct owl_update *u, owl_str id, owl_str settings,
                                           owl_error *reterr);
/* Put it in place: the provider's part has this rank and content. Nothing happens if that is as it
 * was. @p ret may be NULL. @errors OWL_ENOMEM, OWL_ELIMIT (100,000 items, 10,000 parts), OWL_ESTATE
 * (the part was replaced or removed since the update was begun): nothing has changed. */
OWL_NODISCARD int owl_update_commit(struct owl_update *u, unsigned rank,
                                    struct owl_update_result *ret);
/* All of that for items that are there (takes references of its own). */
OWL_NODISCARD int owl_registry_replace_part(struct owl_registry *r, struct owl_provider *p,
                                            unsigned rank, struct owl_item *const *items, size_t n,
                                            struct owl_update_result *ret);
/* Take away what a provider offers; its changes in *ret_changes (may be NULL).
 * @errors OWL_ENOTFOUND. */
OWL_NODISCARD int owl_registry_remove_part(struct owl_registry *r, const struct owl_provider *p,
                                           unsigned *ret_changes);
/* Move a part; NULL is the program's own, which begins with rank 0. @errors OWL_ENOTFOUND. */
OWL_NODISCARD int owl_registry_set_rank(struct owl_registry *r, const struct owl_provider *p,
                                        unsigned rank);
/* Declare capabilities (OWL_CAP_…) of which there is no item yet. */
void owl_registry_declare(struct owl_registry *r, unsigned caps);

/* A snapshot of what is there now, with one reference; the same one while nothing changed. NULL
 * without memory. */
OWL_NODISCARD struct owl_snapshot *owl_registry_snapshot(struct owl_registry *r);

struct owl_snapshot *owl_snapshot_aref(struct owl_snapshot *s);
void owl_snapshot_aunref(struct owl_snapshot *s);

/* Capability bits (mcp/model.h): what was declared, kinds of which an item is or ever was there,
 * completions if one of them completes. */
unsigned owl_snapshot_caps(const struct owl_snapshot *s);
size_t owl_snapshot_count(const struct owl_snapshot *s, enum owl_kind kind);
/* The item of that name, borrowed from the snapshot, or NULL. */
struct owl_item *owl_snapshot_find(const struct owl_snapshot *s, enum owl_kind kind, owl_str name);
/* The name under which @p item is listed: its key or fallback, or absent if it is not. */
owl_str owl_snapshot_name(const struct owl_snapshot *s, const struct owl_item *item);
/* The first template, in order, that matches @p uri. Only those whose literal beginning is that of
 * the URI are tried. */
struct owl_item *owl_snapshot_match(const struct owl_snapshot *s, owl_str uri,
                                    owl_str values[OWL_URI_VARS]);

/* Who answers a method beyond those of MCP, borrowed from the snapshot; or NULL. */
struct owl_provider *owl_snapshot_method(const struct owl_snapshot *s, owl_str name);
/* Extensions that providers declare, each id once; NULL behind the last one. */
struct owl_declared {
    owl_str id;
    owl_str settings; /* a JSON object on one line */
};
const struct owl_declared *owl_snapshot_extension(const struct owl_snapshot *s, size_t i);

struct owl_page {
    enum owl_kind kind;
    enum owl_rev rev; /* whose clients it is for: they get the items as they know them */
    owl_str cursor;   /* absent for the first one */
};
/* One page of a list as members of a result: `"tools":[…]` or `"tools":[…],"nextCursor":"…"`
 * (tools, resources, resourceTemplates, prompts). Built on first use and kept with the snapshot (a
 * bounded number of pages). A cursor names the last item of the page before and survives a new
 * snapshot. The page is borrowed from the snapshot, or appended to @p scratch when it is not kept.
 * @errors OWL_EPARAMS (bad cursor), OWL_ENOMEM, OWL_ELIMIT (more than @p scratch may hold). */
OWL_NODISCARD int owl_snapshot_page(struct owl_snapshot *s, const struct owl_page *which,
                                    struct owl_buf *scratch, owl_str *ret_members,
                                    owl_error *reterr);

#endif

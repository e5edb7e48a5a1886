/* registry/registry.h - what the server offers: a list that changes, and its immutable snapshots.
 * Layer: registry. Threads: registry functions from any (a lock inside); snapshots are immutable,
 * counted atomically.
 *
 * A snapshot is made of counted parts, one a provider, and a merged index. A change rebuilds its
 * part and the index; items are shared between snapshots. */
#ifndef OWL_REGISTRY_REGISTRY_H
#define OWL_REGISTRY_REGISTRY_H

#include "base/buf.h"
#include "registry/item.h"

struct owl_registry;
struct owl_snapshot;

/* @p page_items are on one page of a list; 0: 100, of resources and templates 50. */
OWL_NODISCARD struct owl_registry *owl_registry_new(unsigned page_items);
void owl_registry_free(struct owl_registry *r);

/* Add @p item (takes the reference) or replace the one with its kind and key, in its place.
 * @errors OWL_ENOMEM, OWL_ELIMIT (more than 100,000 items): the reference stays the caller's. */
OWL_NODISCARD int owl_registry_put(struct owl_registry *r, struct owl_item *item);
/* @errors OWL_ENOTFOUND. */
OWL_NODISCARD int owl_registry_remove(struct owl_registry *r, enum owl_kind kind, owl_str key);
/* A snapshot of what is there now, with one reference; the same one while nothing changed. NULL
 * without memory. */
OWL_NODISCARD struct owl_snapshot *owl_registry_snapshot(struct owl_registry *r);

struct owl_snapshot *owl_snapshot_aref(struct owl_snapshot *s);
void owl_snapshot_aunref(struct owl_snapshot *s);

/* Capability bits (mcp/model.h): kinds of which an item is or ever was there, completions if one
 * of them completes. */
unsigned owl_snapshot_caps(const struct owl_snapshot *s);
size_t owl_snapshot_count(const struct owl_snapshot *s, enum owl_kind kind);
/* Borrowed from the snapshot, or NULL. */
struct owl_item *owl_snapshot_find(const struct owl_snapshot *s, enum owl_kind kind, owl_str key);
/* The first template, in order, that matches @p uri. */
struct owl_item *owl_snapshot_match(const struct owl_snapshot *s, owl_str uri,
                                    owl_str values[OWL_URI_VARS]);

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

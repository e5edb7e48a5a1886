/* config/diff.h - what has changed between two configurations, for a reload.
 * Layer: config. Threads: pure. */
#ifndef OWL_CONFIG_DIFF_H
#define OWL_CONFIG_DIFF_H

#include "config/config.h"

/* What a change touches, so that a reload knows what to restart. */
enum owl_change_area {
    OWL_CHANGE_LISTENER, /* transport, http, tls */
    OWL_CHANGE_SERVER,   /* an entry of servers; its name */
    OWL_CHANGE_TOOL,     /* an entry of tools, handlers or skills; its name */
    OWL_CHANGE_POLICY,   /* governance: a rule, a quota, a principal; its name */
    OWL_CHANGE_OTHER     /* logging, tracing, limits, store …: the first key */
};

struct owl_change {
    enum owl_change_area area;
    owl_str name;    /* of the thing within its area; absent: the area itself */
    owl_str pointer; /* JSON Pointer of the value in the effective tree */
    const struct owl_value *before, *after; /* NULL: added, removed */
};

/* Every value that differs, the outermost where something was added or removed, in the order of
 * the new tree, what was removed last. Where a value came from is no difference, nor is the order
 * of members. The list lives in @p a, its values in the configurations. @errors OWL_ENOMEM. */
OWL_NODISCARD int owl_config_diff(const struct owl_config *before, const struct owl_config *after,
                                  struct owl_arena *a, const struct owl_change **ret,
                                  size_t *ret_n);

#endif

/* registry/provider.h - who answers for an item: counted here, called by the layers above.
 * Layer: registry. Threads: any (counted atomically). */
#ifndef OWL_REGISTRY_PROVIDER_H
#define OWL_REGISTRY_PROVIDER_H

#include <stdatomic.h>

struct owl_provider_ops; /* call/provider.h */

/* Embedded in what implements it. Items that name it hold a reference each. */
struct owl_provider {
    atomic_uint _refs;
    const char *name;
    const struct owl_provider_ops *ops;
    void (*free)(struct owl_provider *p); /* with the last reference, on any thread */
};

static inline struct owl_provider *owl_provider_aref(struct owl_provider *p)
{
    if (p)
        atomic_fetch_add_explicit(&p->_refs, 1, memory_order_relaxed);
    return p;
}

static inline void owl_provider_aunref(struct owl_provider *p)
{
    if (p && atomic_fetch_sub_explicit(&p->_refs, 1, memory_order_acq_rel) == 1)
        p->free(p);
}

#endif

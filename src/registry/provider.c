/* registry/provider.c - references to providers.
 * Threads: any; counted atomically. */
#include "registry/provider.h"

#include <stddef.h>

struct owl_provider *owl_provider_aref(struct owl_provider *p)
{
    atomic_fetch_add_explicit(&p->_refs, 1, memory_order_relaxed);
    return p;
}

void owl_provider_aunref(struct owl_provider *p)
{
    if (p && atomic_fetch_sub_explicit(&p->_refs, 1, memory_order_acq_rel) == 1)
        p->free(p);
}

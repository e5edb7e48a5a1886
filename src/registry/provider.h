/* registry/provider.h - who answers for an item: an upstream server, a set of skills, …
 * Layer: registry. Threads: any (counted atomically).
 *
 * A provider embeds this struct. The registry counts it and compares its address; what it can do is
 * for the layers above (`ops`, call/provider.h). */
#ifndef OWL_REGISTRY_PROVIDER_H
#define OWL_REGISTRY_PROVIDER_H

#include <stdatomic.h>

struct owl_provider_ops;

struct owl_provider {
    atomic_uint _refs;
    const char *name; /* "github" of "github:search"; lives as long as the provider */
    const struct owl_provider_ops *ops;
    void (*free)(
        struct owl_provider *p); /* on the thread that drops the last reference, without a lock */
};

struct owl_provider *owl_provider_aref(struct owl_provider *p);
void owl_provider_aunref(struct owl_provider *p); /* NULL is ignored */

#endif

/* base/alloc.h - the only way to the heap.
 * Layer: base. Threads: any.
 *
 * Tests make the n-th allocation fail (owl_alloc_fail_at), to prove that running out of memory
 * is an error and nothing worse. */
#ifndef OWL_BASE_ALLOC_H
#define OWL_BASE_ALLOC_H

#include "base/base.h"

OWL_NODISCARD void *owl_malloc(size_t n);
OWL_NODISCARD void *owl_calloc(size_t n, size_t size);
OWL_NODISCARD void *owl_realloc(void *p, size_t n);
OWL_NODISCARD char *owl_strdup(const char *z); /* NULL stays NULL */
OWL_NODISCARD char *owl_strndup(const char *p, size_t n);
void owl_free(void *p);

/* Frees *p and nulls it. */
#define OWL_FREE(pp) \
    do { \
        owl_free(*(pp)); \
        *(pp) = NULL; \
    } while (0)

/* Test knob: 0 switches it off; n lets n-1 allocations of this thread pass and fails all after. */
void owl_alloc_fail_at(unsigned long n);
/* Counts as one allocation: whether the knob makes it fail. For those that recycle memory, which
 * would otherwise hide their failures from tests. */
OWL_NODISCARD bool owl_alloc_denied(void);

#endif

/* base/alloc.c - the heap, and the knob that makes it fail.
 * Threads: any; the knob is the calling thread's own.
 *
 * Invariant: a request for no bytes still yields an object, so that NULL always means failure. */
#include "base/alloc.h"

#include <stdlib.h>

static OWL_THREAD_LOCAL struct {
    bool armed;
    unsigned long left; /* allocations that still succeed */
} knob;

void owl_alloc_fail_at(unsigned long n)
{
    knob.armed = n > 0;
    knob.left = n > 0 ? n - 1 : 0;
}

bool owl_alloc_denied(void)
{
    if (OWL_LIKELY(!knob.armed))
        return false;
    if (knob.left == 0)
        return true;
    knob.left--;
    return false;
}

void *owl_malloc(size_t n)
{
    return owl_alloc_denied() ? NULL : malloc(n ? n : 1);
}

void *owl_calloc(size_t n, size_t size)
{
    if (n == 0 || size == 0)
        n = size = 1;
    if (n > SIZE_MAX / size)
        return NULL;
    return owl_alloc_denied() ? NULL : calloc(n, size);
}

void *owl_realloc(void *p, size_t n)
{
    return owl_alloc_denied() ? NULL : realloc(p, n ? n : 1);
}

char *owl_strdup(const char *z)
{
    return z ? owl_strndup(z, strlen(z)) : NULL;
}

char *owl_strndup(const char *p, size_t n)
{
    char *copy = n < SIZE_MAX ? owl_malloc(n + 1) : NULL;
    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, p, n);
    copy[n] = '\0';
    return copy;
}

void owl_free(void *p)
{
    free(p);
}

/* base/sized.c - reads the sized structs of the public interface.
 * Threads: pure. */
#include "base/sized.h"

#include "base/err.h"

enum { MOST = 4096 }; /* no struct is that long: a size beyond it was never set */

int owl_sized__read(void *ret, const void *given, const struct owl_sized *type, owl_error *reterr)
{
    size_t size = 0;
    if (given)
        memcpy(&size, given, sizeof size);
    if (!given || size < type->least || size > MOST || size % sizeof(void *) != 0)
        return owl_fail(reterr, OWL_EINVAL, "%s: size must be sizeof(%s)", type->name, type->name);
    for (size_t i = type->known; i < size; i++) {
        if (((const char *)given)[i] != 0)
            return owl_fail(reterr, OWL_EINVAL,
                            "%s: size is that of a newer library, and a member is set that this "
                            "one does not know",
                            type->name);
    }
    memset(ret, 0, type->known);
    memcpy(ret, given, size < type->known ? size : type->known);
    return 0;
}

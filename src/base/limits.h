/* base/limits.h - the defaults of limits (tbl/limits.h), for the layers that keep them.
 * Layer: base. Threads: pure. */
#ifndef OWL_BASE_LIMITS_H
#define OWL_BASE_LIMITS_H

#include <stdint.h>

enum {
#define OWL_LIMIT_ROW(name, value, least, most, text) OWL_DEFAULT_##name = (value),
#include "tbl/limits.h"
};

#endif

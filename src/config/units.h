/* config/units.h - durations and sizes as people write them.
 * Layer: config, private. Threads: pure. */
#ifndef OWL_CONFIG_UNITS_H
#define OWL_CONFIG_UNITS_H

#include "base/buf.h"
#include "config/keys.h"

/* Appends @p text as a number of @p unit, in JSON's notation: "90s", "1h30m", "1.5h", "250ms" and
 * "2d" are durations, "512KiB", "10MB" and "1.5GiB" are sizes (a KB has 1,000 bytes, a KiB 1,024).
 * False, and nothing appended: it is none, or does not come out even (bytes are whole, the rest has
 * a thousandth at most). */
bool owl_units__read(owl_str text, enum owl_key_unit unit, struct owl_buf *b);
/* Whether it is spelt as an amount, be it one that comes out even or not. */
bool owl_units__spelt(owl_str text, enum owl_key_unit unit);

#endif

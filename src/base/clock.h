/* base/clock.h - time and randomness.
 * Layer: base. Threads: any. */
#ifndef OWL_BASE_CLOCK_H
#define OWL_BASE_CLOCK_H

#include "base/base.h"

uint64_t owl_now_ns(void); /* monotonic */
uint64_t owl_now_ms(void); /* monotonic */
int64_t owl_wall_ms(void); /* since 1970; may jump */

/* Fills with bytes that nobody can guess; 0 or -OWL_EIO. */
OWL_NODISCARD int owl_random(void *p, size_t n);
/* 2n lower-case hex digits and a NUL from n random bytes. 0 or -OWL_EIO. */
OWL_NODISCARD int owl_random_hex(char *out, size_t n);

#endif

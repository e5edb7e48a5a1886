/* codec/decimal.h - numbers as they are written, compared exactly.
 * Layer: codec. Threads: pure.
 *
 * A decimal borrows the text of a proved JSON number: unless a double is asked for nothing is
 * rounded, however many digits it has, and no exponent is too great. */
#ifndef OWL_CODEC_DECIMAL_H
#define OWL_CODEC_DECIMAL_H

#include "base/base.h"

struct owl_decimal {
    const char *p, *end; /* from the first digit that is not 0 to behind the last; p == end: zero */
    int64_t top;         /* the value is 0.ddd… × 10^top */
    owl_str exponent;    /* what stands behind the "e", if anything does */
    bool beyond;         /* it is beyond ±10^17, for which it counts in top */
    uint32_t digits;     /* between p and end, a decimal point not counted */
    bool negative;       /* never for zero */
};

struct owl_decimal owl_decimal_of(owl_str proved_number);
/* <0, 0, >0. O(digits). */
int owl_decimal_cmp(const struct owl_decimal *a, const struct owl_decimal *b);
/* 1.0 and 1e3 are integers. */
bool owl_decimal_is_integer(const struct owl_decimal *d);
/* The value, if it is an integer from 0 to @p max. */
bool owl_decimal_u64(const struct owl_decimal *d, uint64_t max, uint64_t *ret);
/* The value, if it is an integer that fits. */
bool owl_decimal_i64(const struct owl_decimal *d, int64_t *ret);
/* The nearest double, in every locale; infinite if it is too big for one. O(1). */
double owl_decimal_double(const struct owl_decimal *d);
/* Whether the nearest double of two different numbers is the same. Seldom needs the doubles. */
bool owl_decimal_same_double(const struct owl_decimal *a, const struct owl_decimal *b);
uint64_t owl_decimal_hash(const struct owl_decimal *d);

/* The most significant digits that a divisor may have. */
enum { OWL_DECIMAL_DIVISOR_DIGITS = 18 };
/* Whether @p d is an integer times @p divisor, which is positive. O(digits + log exponent). */
bool owl_decimal_is_multiple(const struct owl_decimal *d, const struct owl_decimal *divisor);

#endif

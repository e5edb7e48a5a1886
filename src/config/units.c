/* config/units.c - durations and sizes as people write them.
 * Threads: pure.
 *
 * All is counted in thousandths of the smallest thing there is - of a millisecond, of a byte - so
 * that nothing is rounded: what does not come out even is refused. */
#include "config/units.h"

enum { PARTS = 8 }; /* of one duration: 1d2h3m4s */

struct unit {
    const char *name;
    uint64_t worth; /* milliseconds, or bytes */
};

/* These lists and the patterns of the schema ($defs/time, $defs/bytes) are the same. */
static const struct unit durations[] = {
    {"ms", 1},          {"s", 1000},        {"sec", 1000},           {"m", 60 * 1000},
    {"min", 60 * 1000}, {"h", 3600 * 1000}, {"d", 24 * 3600 * 1000}, {"w", 7 * 24 * 3600 * 1000},
};

/* In capitals or not, with a "B" behind it or not. */
static const struct unit sizes[] = {
    {"", 1},
    {"K", 1000},
    {"M", 1000 * 1000},
    {"G", 1000 * 1000 * 1000},
    {"T", UINT64_C(1000) * 1000 * 1000 * 1000},
    {"Ki", 1u << 10},
    {"Mi", 1u << 20},
    {"Gi", 1u << 30},
    {"Ti", UINT64_C(1) << 40},
};

enum reading { NO_AMOUNT, AMOUNT, BEYOND }; /* it is none; it is one; it is one nobody can count */

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Takes "12.345" off @p s as thousandths. */
static enum reading take_number(owl_str *s, uint64_t *ret)
{
    size_t i = 0;
    uint64_t n = 0, place = 100;
    bool beyond = false;
    for (; i < s->n && digit(s->p[i]); i++) {
        beyond = beyond || n > UINT64_C(1000000000000000);
        n = beyond ? n : n * 10 + (uint64_t)(s->p[i] - '0');
    }
    if (i == 0)
        return NO_AMOUNT;
    n *= 1000;
    if (i < s->n && s->p[i] == '.') {
        size_t first = ++i;
        for (; i < s->n && digit(s->p[i]); i++, place /= 10) {
            beyond = beyond || (place == 0 && s->p[i] != '0');
            n += (uint64_t)(s->p[i] - '0') * place;
        }
        if (i == first)
            return NO_AMOUNT;
    }
    *s = (owl_str){s->p + i, s->n - i};
    *ret = n;
    return beyond ? BEYOND : AMOUNT;
}

static uint64_t duration(owl_str name)
{
    for (size_t i = 0; i < OWL_COUNT(durations); i++)
        if (owl_str_is(name, durations[i].name))
            return durations[i].worth;
    return 0;
}

static uint64_t size(owl_str name)
{
    bool byte = name.n > 0 && (name.p[name.n - 1] | 0x20) == 'b';
    bool binary = name.n == 2 && (name.p[1] | 0x20) == 'i';
    if (name.n == 0 || binary) /* "Ki" without its "B" is nothing that people write */
        return 0;
    name.n -= byte;
    for (size_t i = 0; i < OWL_COUNT(sizes); i++)
        if (owl_str_ieq(name, owl_str_of(sizes[i].name)))
            return sizes[i].worth;
    return 0;
}

/* Takes the letters of a unit off @p s; 0: there are none, or no such unit. */
static uint64_t take_unit(owl_str *s, bool is_size)
{
    size_t blank = is_size && s->n > 0 && s->p[0] == ' ';
    owl_str name = {s->p + blank, 0};
    while (blank + name.n < s->n && letter(name.p[name.n]))
        name.n++;
    *s = (owl_str){name.p + name.n, s->n - blank - name.n};
    return is_size ? size(name) : duration(name);
}

/* Writes thousandths without needless zeros. */
static void put_thousandths(struct owl_buf *b, uint64_t n)
{
    owl_buf_putu(b, n / 1000);
    unsigned rest = (unsigned)(n % 1000);
    if (rest == 0)
        return;
    char digits[8];
    digits[0] = '.';
    digits[1] = (char)('0' + rest / 100);
    digits[2] = (char)('0' + rest / 10 % 10);
    digits[3] = (char)('0' + rest % 10);
    size_t length = rest % 10 ? 4 : rest % 100 ? 3 : 2;
    owl_buf_put(b, digits, length);
}

/* The sum of all parts, in thousandths of a millisecond or byte. */
static enum reading sum(owl_str s, bool is_size, uint64_t *ret)
{
    uint64_t total = 0;
    bool beyond = false;
    for (unsigned parts = 0; s.n > 0; parts++) {
        uint64_t n = 0, part;
        enum reading number = take_number(&s, &n);
        uint64_t worth = number == NO_AMOUNT || (is_size && parts > 0) ? 0 : take_unit(&s, is_size);
        if (worth == 0)
            return NO_AMOUNT;
        beyond = beyond || number == BEYOND || parts == PARTS ||
                 __builtin_mul_overflow(n, worth, &part) ||
                 __builtin_add_overflow(total, part, &total);
    }
    *ret = total;
    return beyond ? BEYOND : AMOUNT;
}

bool owl_units__read(owl_str text, enum owl_key_unit unit, struct owl_buf *b)
{
    uint64_t total, worth = unit == OWL_UNIT__SECONDS ? 1000 : 1;
    if (text.n == 0 || unit == OWL_UNIT__NONE ||
        sum(text, unit == OWL_UNIT__BYTES, &total) != AMOUNT)
        return false;
    if (total % worth || (unit == OWL_UNIT__BYTES && total % 1000))
        return false;
    put_thousandths(b, total / worth);
    return b->rc == 0;
}

bool owl_units__spelt(owl_str text, enum owl_key_unit unit)
{
    uint64_t total;
    return text.n > 0 && unit != OWL_UNIT__NONE &&
           sum(text, unit == OWL_UNIT__BYTES, &total) != NO_AMOUNT;
}

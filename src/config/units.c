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

static const struct unit durations[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}, {"d", 24 * 3600 * 1000},
};

static const struct unit sizes[] = {
    {"B", 1},          {"KB", 1000},      {"MB", 1000 * 1000}, {"GB", 1000 * 1000 * 1000},
    {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30},
};

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Takes "12.345" off @p s as thousandths. */
static bool take_number(owl_str *s, uint64_t *ret)
{
    size_t i = 0;
    uint64_t n = 0;
    while (i < s->n && digit(s->p[i])) {
        if (n > UINT64_C(1000000000000000))
            return false;
        n = n * 10 + (uint64_t)(s->p[i++] - '0');
    }
    if (i == 0)
        return false;
    n *= 1000;
    if (i < s->n && s->p[i] == '.') {
        uint64_t place = 100;
        size_t first = ++i;
        for (; i < s->n && digit(s->p[i]); i++, place /= 10) {
            if (place == 0)
                return false;
            n += (uint64_t)(s->p[i] - '0') * place;
        }
        if (i == first)
            return false;
    }
    *s = (owl_str){s->p + i, s->n - i};
    *ret = n;
    return true;
}

/* Takes the letters of a unit off @p s; 0: there are none, or no such unit. */
static uint64_t take_unit(owl_str *s, bool size)
{
    owl_str name = {s->p, 0};
    while (name.n < s->n && letter(s->p[name.n]))
        name.n++;
    *s = (owl_str){s->p + name.n, s->n - name.n};
    const struct unit *list = size ? sizes : durations;
    size_t n = size ? OWL_COUNT(sizes) : OWL_COUNT(durations);
    for (size_t i = 0; i < n; i++)
        if (owl_str_is(name, list[i].name))
            return list[i].worth;
    return 0;
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
static bool sum(owl_str s, bool size, uint64_t *ret)
{
    uint64_t total = 0;
    for (unsigned parts = 0; s.n > 0; parts++) {
        uint64_t n, part;
        if (parts == PARTS || (size && parts > 0) || !take_number(&s, &n))
            return false;
        uint64_t worth = take_unit(&s, size);
        if (worth == 0 || __builtin_mul_overflow(n, worth, &part) ||
            __builtin_add_overflow(total, part, &total))
            return false;
    }
    *ret = total;
    return true;
}

bool owl_units__read(owl_str text, enum owl_key_unit unit, struct owl_buf *b)
{
    uint64_t total, worth = unit == OWL_UNIT__SECONDS ? 1000 : 1;
    if (text.n == 0 || unit == OWL_UNIT__NONE || !sum(text, unit == OWL_UNIT__BYTES, &total))
        return false;
    if (total % worth || (unit == OWL_UNIT__BYTES && total % 1000))
        return false;
    put_thousandths(b, total / worth);
    return b->rc == 0;
}

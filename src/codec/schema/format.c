/* codec/schema/format.c - the formats of JSON Schema.
 * Threads: pure.
 *
 * Each check takes what it recognises off a cursor; a text has the format if nothing is left. */
#include "codec/schema/program.h"
#include "codec/uri.h"

/* A coded label is judged by a pattern that is compiled for it; no host name has more of them. */
enum { BYTES_A_STEP = 16, LABEL_STEPS = 3000, LABELS_MOST = 50 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return owl_hex_digit(c) >= 0;
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

static owl_str rest_of(owl_str s, size_t from)
{
    return (owl_str){s.p + from, s.n - from};
}

static bool take(owl_str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = rest_of(*s, 1);
    return true;
}

static bool take_letter(owl_str *s, char lower)
{
    if (s->n == 0 || (s->p[0] | 0x20) != lower)
        return false;
    *s = rest_of(*s, 1);
    return true;
}

/* Exactly @p n digits. */
static bool take_number(owl_str *s, unsigned n, unsigned *ret)
{
    unsigned v = 0;
    for (unsigned i = 0; i < n; i++) {
        if (i >= s->n || !is_digit(s->p[i]))
            return false;
        v = v * 10 + (unsigned)(s->p[i] - '0');
    }
    *ret = v;
    *s = rest_of(*s, n);
    return true;
}

static size_t take_digits(owl_str *s)
{
    size_t n = 0;
    while (n < s->n && is_digit(s->p[n]))
        n++;
    *s = rest_of(*s, n);
    return n;
}

/* ---- times (RFC 3339) ----------------------------------------------------------------------- */

static bool take_date(owl_str *s)
{
    static const uint8_t days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    unsigned y, m, d;
    if (!take_number(s, 4, &y) || !take(s, '-') || !take_number(s, 2, &m) || !take(s, '-') ||
        !take_number(s, 2, &d))
        return false;
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return m >= 1 && m <= 12 && d >= 1 && d <= days[m - 1] && (m != 2 || d < 29 || leap);
}

static bool take_time(owl_str *s)
{
    unsigned h, m, sec, oh = 0, om = 0;
    if (!take_number(s, 2, &h) || !take(s, ':') || !take_number(s, 2, &m) || !take(s, ':') ||
        !take_number(s, 2, &sec) || h > 23 || m > 59 || sec > 60)
        return false;
    if (take(s, '.') && take_digits(s) == 0)
        return false;
    int offset = 0;
    if (!take_letter(s, 'z')) {
        bool west = take(s, '-');
        if (!west && !take(s, '+'))
            return false;
        if (!take_number(s, 2, &oh) || !take(s, ':') || !take_number(s, 2, &om) || oh > 23 ||
            om > 59)
            return false;
        offset = (int)(oh * 60 + om) * (west ? -1 : 1);
    }
    /* A leap second is the last of a day of UTC. */
    int utc = ((int)(h * 60 + m) - offset + 2 * 1440) % 1440;
    return sec < 60 || utc == 1439;
}

static bool date(owl_str s)
{
    return take_date(&s) && s.n == 0;
}

static bool time_of_day(owl_str s)
{
    return take_time(&s) && s.n == 0;
}

static bool date_time(owl_str s)
{
    return take_date(&s) && take_letter(&s, 't') && take_time(&s) && s.n == 0;
}

/* Numbers with the units of @p units, in their order and without a gap; at least one. */
static bool take_units(owl_str *s, const char *units)
{
    const char *at = units;
    bool first = true;
    while (s->n > 0 && is_digit(s->p[0])) {
        take_digits(s);
        const char *unit = s->n > 0 && s->p[0] != '\0' ? strchr(at, s->p[0]) : NULL;
        if (!unit || (!first && unit != at))
            return false;
        first = false;
        at = unit + 1;
        *s = rest_of(*s, 1);
    }
    return !first;
}

static bool duration(owl_str s)
{
    if (!take(&s, 'P') || s.n == 0)
        return false;
    if (s.p[s.n - 1] == 'W')
        return take_digits(&s) > 0 && s.n == 1;
    if (s.p[0] != 'T' && !take_units(&s, "YMD"))
        return false;
    return s.n == 0 || (take(&s, 'T') && take_units(&s, "HMS") && s.n == 0);
}

/* ---- hosts ---------------------------------------------------------------------------------- */

static bool ipv4(owl_str s)
{
    for (int i = 0; i < 4; i++) {
        owl_str from = s;
        size_t n = take_digits(&s);
        uint64_t v;
        if (n == 0 || n > 3 || (n > 1 && from.p[0] == '0') ||
            !owl_str_u64((owl_str){from.p, n}, 255, &v) || (i < 3 && !take(&s, '.')))
            return false;
    }
    return s.n == 0;
}

static bool ipv6(owl_str s)
{
    int groups = 0;
    bool gap = false;
    if (s.n >= 2 && s.p[0] == ':' && s.p[1] != ':')
        return false;
    while (s.n > 0) {
        if (s.n >= 2 && s.p[0] == ':' && s.p[1] == ':') {
            if (gap)
                return false;
            gap = true;
            s = rest_of(s, 2);
            continue;
        }
        if (groups > 0 && s.p[-1] != ':' && !take(&s, ':'))
            return false;
        size_t n = 0;
        while (n < s.n && is_hex(s.p[n]))
            n++;
        if (n < s.n && s.p[n] == '.')
            return ipv4(s) && (gap ? groups <= 5 : groups == 6);
        if (n == 0 || n > 4)
            return false;
        groups++;
        s = rest_of(s, n);
    }
    return gap ? groups <= 7 : groups == 8;
}

static bool label(owl_str s)
{
    if (s.n == 0 || s.n > 63 || s.p[0] == '-' || s.p[s.n - 1] == '-')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_alpha(s.p[i]) && !is_digit(s.p[i]) && s.p[i] != '-')
            return false;
    }
    if (s.n < 4 || s.p[2] != '-' || s.p[3] != '-')
        return true;
    return owl_str_ieq((owl_str){s.p, 2}, OWL_STR("xn")) && owl_idna__label(rest_of(s, 4));
}

static bool hostname(owl_str s)
{
    owl_str part;
    if (s.n == 0 || s.n > 253)
        return false;
    while (owl_str_split(&s, '.', &part)) {
        if (!label(part))
            return false;
    }
    return true;
}

static bool atext(char c)
{
    return is_alpha(c) || is_digit(c) || is_one_of(c, "!#$%&'*+-/=?^_`{|}~");
}

/* The part before the "@": words between dots, or anything in quotes. */
static bool local_part(owl_str s)
{
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"') {
        for (size_t i = 1; i + 1 < s.n; i++) {
            if (s.p[i] == '\\' && ++i + 1 >= s.n)
                return false;
            if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f ||
                (s.p[i] == '"' && s.p[i - 1] != '\\'))
                return false;
        }
        return true;
    }
    for (size_t i = 0; i < s.n; i++) {
        bool dot = s.p[i] == '.' && i > 0 && i + 1 < s.n && s.p[i - 1] != '.';
        if (!atext(s.p[i]) && !dot)
            return false;
    }
    return s.n > 0;
}

static bool email(owl_str s)
{
    size_t at = s.n;
    while (at > 0 && s.p[at - 1] != '@')
        at--;
    if (at < 2)
        return false;
    owl_str domain = rest_of(s, at);
    if (domain.n > 2 && domain.p[0] == '[' && domain.p[domain.n - 1] == ']') {
        domain = (owl_str){domain.p + 1, domain.n - 2};
        if (domain.n > 5 && owl_str_ieq((owl_str){domain.p, 5}, OWL_STR("ipv6:")))
            return local_part((owl_str){s.p, at - 1}) && ipv6(rest_of(domain, 5));
        return local_part((owl_str){s.p, at - 1}) && ipv4(domain);
    }
    return local_part((owl_str){s.p, at - 1}) && hostname(domain);
}

/* ---- URIs (RFC 3986, RFC 6570) -------------------------------------------------------------- */

/* Unreserved, sub-delims, %-escapes and the characters of @p more. */
static bool uri_chars(owl_str s, const char *more)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            if (owl_uri__escape(s, i) < 0)
                return false;
            i += 2;
        } else if (!is_alpha(c) && !is_digit(c) && !is_one_of(c, "-._~!$&'()*+,;=") &&
                   !is_one_of(c, more)) {
            return false;
        }
    }
    return true;
}

static owl_str take_until(owl_str *s, const char *stops)
{
    size_t n = 0;
    while (n < s->n && !is_one_of(s->p[n], stops))
        n++;
    owl_str part = {s->p, n};
    *s = rest_of(*s, n);
    return part;
}

static bool ip_literal(owl_str s)
{
    if (s.n > 0 && (s.p[0] | 0x20) == 'v') {
        const char *dot = memchr(s.p, '.', s.n);
        for (size_t i = 1; dot && s.p + i < dot; i++) {
            if (!is_hex(s.p[i]))
                return false;
        }
        return dot && dot > s.p + 1 && dot + 1 < s.p + s.n && !memchr(s.p, '%', s.n) &&
               uri_chars(rest_of(s, (size_t)(dot + 1 - s.p)), ":");
    }
    return ipv6(s);
}

static bool authority(owl_str s)
{
    const char *at = s.n ? memchr(s.p, '@', s.n) : NULL;
    if (at) {
        size_t n = (size_t)(at - s.p);
        if (!uri_chars((owl_str){s.p, n}, ":"))
            return false;
        s = rest_of(s, n + 1);
    }
    if (take(&s, '[')) {
        owl_str host = take_until(&s, "]");
        if (!take(&s, ']') || !ip_literal(host))
            return false;
    } else if (!uri_chars(take_until(&s, ":"), "")) {
        return false;
    }
    return s.n == 0 || (take(&s, ':') && (take_digits(&s), s.n == 0));
}

/* What follows the scheme, or all of a relative reference. */
static bool hierarchy(owl_str s, bool relative)
{
    if (s.n >= 2 && s.p[0] == '/' && s.p[1] == '/') {
        s = rest_of(s, 2);
        if (!authority(take_until(&s, "/?#")))
            return false;
    }
    owl_str path = take_until(&s, "?#"), rest = path;
    owl_str first = take_until(&rest, "/");
    if (relative && first.n > 0 && memchr(first.p, ':', first.n))
        return false; /* it would be a scheme */
    if (!uri_chars(path, "/:@"))
        return false;
    if (take(&s, '?') && !uri_chars(take_until(&s, "#"), "/:@?"))
        return false;
    return s.n == 0 || (take(&s, '#') && uri_chars(s, "/:@?"));
}

static bool take_scheme(owl_str *s)
{
    size_t n = 0;
    while (n < s->n &&
           (is_alpha(s->p[n]) || (n > 0 && (is_digit(s->p[n]) || is_one_of(s->p[n], "+-.")))))
        n++;
    if (n == 0 || n == s->n || s->p[n] != ':')
        return false;
    *s = rest_of(*s, n + 1);
    return true;
}

static bool uri(owl_str s)
{
    return take_scheme(&s) && hierarchy(s, false);
}

static bool uri_reference(owl_str s)
{
    owl_str behind = s;
    return take_scheme(&behind) ? hierarchy(behind, false) : hierarchy(s, true);
}

/* One variable of an expression: a name, then ":n" or "*". */
static bool template_variable(owl_str s)
{
    owl_str name = take_until(&s, ":*");
    for (size_t i = 0; i < name.n; i++) {
        bool dot = name.p[i] == '.' && i > 0 && i + 1 < name.n && name.p[i - 1] != '.';
        bool escape = name.p[i] == '%' && owl_uri__escape(name, i) >= 0;
        if (!is_alpha(name.p[i]) && !is_digit(name.p[i]) && name.p[i] != '_' && !dot && !escape)
            return false;
    }
    if (name.n == 0)
        return false;
    if (take(&s, ':')) {
        size_t n = s.n > 0 && s.p[0] != '0' ? take_digits(&s) : 0;
        return n > 0 && n < 5 && s.n == 0;
    }
    return s.n == 0 || (take(&s, '*') && s.n == 0);
}

static bool uri_template(owl_str s)
{
    while (s.n > 0) {
        owl_str text = take_until(&s, "{");
        for (size_t i = 0; i < text.n; i++) {
            unsigned char c = (unsigned char)text.p[i];
            bool escape = c != '%' || owl_uri__escape(text, i) >= 0;
            if (c <= ' ' || is_one_of(text.p[i], "\"<>\\^`|}\x7f") || !escape)
                return false;
        }
        if (!take(&s, '{'))
            return s.n == 0;
        owl_str list = take_until(&s, "}"), variable;
        if (!take(&s, '}'))
            return false;
        if (list.n > 0 && is_one_of(list.p[0], "+#./;?&=,!@|"))
            list = rest_of(list, 1);
        while (owl_str_split(&list, ',', &variable)) {
            if (!template_variable(variable))
                return false;
        }
    }
    return true;
}

/* ---- others --------------------------------------------------------------------------------- */

static bool json_pointer(owl_str s)
{
    if (s.n > 0 && s.p[0] != '/')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1')))
            return false;
    }
    return true;
}

static bool relative_json_pointer(owl_str s)
{
    owl_str from = s;
    size_t n = take_digits(&s);
    if (n == 0 || (n > 1 && from.p[0] == '0'))
        return false;
    return (s.n == 1 && s.p[0] == '#') || json_pointer(s);
}

static bool uuid(owl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.p[i] != '-' : !is_hex(s.p[i]))
            return false;
    }
    return s.n == 36;
}

static bool regex(owl_str s)
{
    return owl_regex_valid(s, NULL);
}

/* Labels that have to be decoded, or look like it. */
static uint64_t coded_labels(owl_str s)
{
    uint64_t n = 0;
    for (size_t i = 0; i + 4 <= s.n && n < LABELS_MOST; i++)
        n += owl_str_ieq((owl_str){s.p + i, 4}, OWL_STR("xn--"));
    return n;
}

bool owl_format__holds(owl_str name, owl_str s, uint64_t *work)
{
    uint64_t cost = s.n / BYTES_A_STEP, more = 0;
    bool is_regex = owl_str_is(name, "regex");
    if (is_regex)
        cost = owl_regex_valid_cost(s);
    else if (owl_str_is(name, "hostname") || owl_str_is(name, "email"))
        cost += coded_labels(s) * LABEL_STEPS;
    bool enough = cost < *work;
    *work -= enough ? cost : *work;
    if (!enough)
        return false;
    bool holds = is_regex ? owl_regex_valid(s, &more) : owl_format_holds(name, s);
    *work -= more < *work ? more : *work;
    return holds;
}

bool owl_format_holds(owl_str name, owl_str s)
{
    static const struct {
        const char *name;
        bool (*holds)(owl_str s);
    } formats[] = {
        {"date-time", date_time},
        {"date", date},
        {"time", time_of_day},
        {"duration", duration},
        {"email", email},
        {"hostname", hostname},
        {"ipv4", ipv4},
        {"ipv6", ipv6},
        {"uri", uri},
        {"uri-reference", uri_reference},
        {"uri-template", uri_template},
        {"json-pointer", json_pointer},
        {"relative-json-pointer", relative_json_pointer},
        {"regex", regex},
        {"uuid", uuid},
    };
    for (size_t i = 0; i < OWL_COUNT(formats); i++) {
        if (owl_str_is(name, formats[i].name))
            return formats[i].holds(s);
    }
    return true;
}

/* formats/toml_scalar.c - TOML's numbers, dates, times and booleans, and what is taken for them.
 * Threads: one at a time.
 *
 * What is not quoted reaches to the next delimiter; whatever it is, reading goes on behind it. */
#include "formats/toml.h"

#include <stdio.h>

/* What is being read: its text, and where it stands. */
struct word {
    owl_str s;
    struct owl_mark at;
};

static struct owl_fault *wrong(struct owl_toml *t, const struct word *w, const char *expected)
{
    struct owl_fault *f = owl_fault_add(t->in->faults, w->at, "found %.*s, expected %s",
                                        owl_toml__clip(w->s), w->s.p, expected);
    f->width = owl_toml__width(w->s);
    return f;
}

/* ---- words that mean nothing ------------------------------------------------------------ */

static bool is_any(owl_str s, const char *const *names)
{
    for (; *names; names++)
        if (owl_str_ieq(s, owl_str_of(*names)))
            return true;
    return false;
}

/* Words that other notations have; false if @p w is none of them. */
static bool foreign_word(struct owl_toml *t, const struct word *w)
{
    static const char *const yes[] = {"true", "yes", "on", NULL};
    static const char *const no[] = {"false", "no", "off", NULL};
    static const char *const nothing[] = {"null", "nil", "none", "undefined", "~", NULL};
    static const char *const not_finite[] = {"inf", "+inf", "-inf", "nan", "+nan", "-nan", NULL};
    struct owl_faults *faults = t->in->faults;
    if (is_any(w->s, yes))
        owl_fault_hint(faults, wrong(t, w, "a value"), "write true");
    else if (is_any(w->s, no))
        owl_fault_hint(faults, wrong(t, w, "a value"), "write false");
    else if (is_any(w->s, not_finite))
        owl_fault_hint(faults, wrong(t, w, "a value"), "write inf or nan in lower case");
    else if (is_any(w->s, nothing))
        owl_fault_hint(faults, wrong(t, w, "a value"),
                       "TOML has no null: leave the key out to give it no value");
    else
        return false;
    return true;
}

/* Text without its quotes, most likely: takes all that was meant. */
static void unquoted(struct owl_toml *t, struct word *w)
{
    const char *end = w->s.p;
    while (end < t->end && !owl_toml__control(*end) && *end != '#' &&
           (t->n_frames == 0 || (*end != ',' && *end != ']' && *end != '}')))
        end++;
    t->p = end;
    while (end > w->s.p && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    w->s.n = (size_t)(end - w->s.p);
    struct owl_fault *f = wrong(t, w, "a value");
    if (w->s.p[0] == '=') {
        owl_fault_hint(t->in->faults, f, "one = is enough");
        return;
    }
    bool literal = memchr(w->s.p, '"', w->s.n) || memchr(w->s.p, '\\', w->s.n);
    char quote = literal ? '\'' : '"';
    int n = owl_toml__clip(w->s);
    if ((size_t)n < w->s.n || (literal && memchr(w->s.p, '\'', w->s.n)))
        owl_fault_hint(t->in->faults, f, "text needs quotes");
    else
        owl_fault_hint(t->in->faults, f, "text needs quotes: %c%.*s%c", quote, n, w->s.p, quote);
}

static void no_value(struct owl_toml *t, struct word *w)
{
    bool line = owl_toml__at_line_end(t) || *t->p == '#';
    if (line) {
        struct owl_fault *f = owl_fault_add(t->in->faults, w->at,
                                            "found the end of the %s, expected a value",
                                            t->p == t->end ? "file" : "line");
        owl_fault_hint(t->in->faults, f, "write \"\" for an empty string");
        return;
    }
    if (owl_toml__control(*t->p)) {
        owl_fault_add(t->in->faults, w->at, "found the control character U+%04X, expected a value",
                      (unsigned)(unsigned char)*t->p);
    } else {
        owl_toml__expected(t, "a value");
    }
    t->p += *t->p != ']' && *t->p != '}' && *t->p != ',';
}

/* ---- dates and times -------------------------------------------------------------------- */

struct date_time {
    const char *p, *end;
    char expected[96]; /* what is wrong, once something is */
};

/* A number of @p n digits from @p low to @p high; @p low if it is none. */
static int field(struct date_time *d, int n, int low, int high, const char *name)
{
    int v = 0, i = 0;
    for (; i < n && d->p + i < d->end && owl_toml__digit(d->p[i]); i++)
        v = v * 10 + (d->p[i] - '0');
    d->p += i;
    if (i == n && v >= low && v <= high)
        return v;
    if (!d->expected[0])
        snprintf(d->expected, sizeof d->expected, "%s of %s digits from %0*d to %0*d", name,
                 n == 2 ? "two" : "four", n, low, n, high);
    return low;
}

static void literal(struct date_time *d, char c, const char *before)
{
    if (d->p < d->end && *d->p == c)
        d->p++;
    else if (!d->expected[0])
        snprintf(d->expected, sizeof d->expected, "%c before the %s", c, before);
}

static void read_date(struct date_time *d)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = field(d, 4, 0, 9999, "a year");
    literal(d, '-', "month");
    int month = field(d, 2, 1, 12, "a month");
    literal(d, '-', "day");
    int day = field(d, 2, 1, 31, "a day");
    if (d->expected[0])
        return;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    int last = days[month - 1] + (month == 2 && leap);
    if (day > last)
        snprintf(d->expected, sizeof d->expected, "a day up to %d: %s %d has no more", last,
                 months[month - 1], year);
}

static void read_time(struct date_time *d)
{
    field(d, 2, 0, 23, "an hour");
    literal(d, ':', "minute");
    field(d, 2, 0, 59, "a minute");
    literal(d, ':', "second");
    field(d, 2, 0, 60, "a second"); /* 60: leap seconds */
    if (d->p == d->end || *d->p != '.')
        return;
    const char *digits = ++d->p;
    while (d->p < d->end && owl_toml__digit(*d->p))
        d->p++;
    if (d->p == digits && !d->expected[0])
        snprintf(d->expected, sizeof d->expected, "digits behind the decimal point");
}

static void read_offset(struct date_time *d)
{
    if (*d->p == 'Z' || *d->p == 'z') {
        d->p++;
        return;
    }
    d->p++;
    field(d, 2, 0, 23, "an hour");
    literal(d, ':', "minute");
    field(d, 2, 0, 59, "a minute");
}

static enum owl_value_form read_date_time(struct date_time *d)
{
    if (d->p[2] == ':') {
        read_time(d);
        return OWL_FORM_LOCAL_TIME;
    }
    read_date(d);
    if (d->p == d->end || (*d->p != 'T' && *d->p != 't' && *d->p != ' '))
        return OWL_FORM_LOCAL_DATE;
    d->p++;
    read_time(d);
    if (d->p == d->end || !owl_toml__one_of(*d->p, "Zz+-"))
        return OWL_FORM_LOCAL_DATE_TIME;
    read_offset(d);
    return OWL_FORM_OFFSET_DATE_TIME;
}

static bool looks_like_date(owl_str s)
{
    const char *p = s.p;
    bool two = s.n > 2 && owl_toml__digit(p[0]) && owl_toml__digit(p[1]);
    if (two && p[2] == ':')
        return true;
    return two && s.n > 4 && owl_toml__digit(p[2]) && owl_toml__digit(p[3]) && p[4] == '-';
}

/* A blank may stand between date and time. */
static void join_time(struct owl_toml *t, struct word *w)
{
    const char *end = w->s.p + w->s.n;
    if (w->s.n != 10 || w->s.p[4] != '-' || t->end - end < 4 || end[0] != ' ' ||
        !owl_toml__digit(end[1]) || !owl_toml__digit(end[2]) || end[3] != ':')
        return;
    for (end++; end < t->end && owl_toml__one_of(*end, "0123456789:.+-Zz"); end++)
        ;
    w->s.n = (size_t)(end - w->s.p);
    t->p = end;
}

static int date_time(struct owl_toml *t, struct word *w, struct owl_value **ret)
{
    join_time(t, w);
    struct date_time d = {.p = w->s.p, .end = w->s.p + w->s.n};
    enum owl_value_form form = read_date_time(&d);
    if (d.p != d.end && !d.expected[0])
        snprintf(d.expected, sizeof d.expected, "nothing behind the %s",
                 form == OWL_FORM_LOCAL_DATE ? "date" : "time");
    if (d.expected[0]) {
        struct owl_fault *f = wrong(t, w, d.expected);
        owl_fault_hint(t->in->faults, f,
                       "a date is 2024-12-31, a time 23:59:59, both 2024-12-31T23:59:59Z; "
                       "text needs quotes");
        return 0;
    }
    int rc = owl_toml__value(t, OWL_NODE_STRING, w->at, ret);
    if (rc)
        return rc;
    char *text = owl_arena_dup(t->in->arena, w->s);
    if (!text)
        return -OWL_ENOMEM;
    if (w->s.n > 10 && form != OWL_FORM_LOCAL_TIME)
        text[10] = 'T';
    if (text[w->s.n - 1] == 'z')
        text[w->s.n - 1] = 'Z';
    (*ret)->text = (owl_str){text, w->s.n};
    (*ret)->form = (uint8_t)form;
    return 0;
}

/* ---- numbers ---------------------------------------------------------------------------- */

static int keep_number(struct owl_toml *t, const struct word *w, owl_str text,
                       struct owl_value **ret)
{
    int rc = owl_toml__value(t, OWL_NODE_NUMBER, w->at, ret);
    if (rc)
        return rc;
    char *copy = owl_arena_dup(t->in->arena, text);
    if (!copy)
        return -OWL_ENOMEM;
    (*ret)->text = (owl_str){copy, text.n};
    return 0;
}

/* The value of a digit; 255 if it is none. */
static unsigned digit_value(char c)
{
    if (owl_toml__digit(c))
        return (unsigned)(c - '0');
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 255;
}

/* Whether underscores stand between digits only. */
static bool underscores_fit(owl_str s, unsigned base)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '_' && (i == 0 || i + 1 == s.n || digit_value(s.p[i - 1]) >= base ||
                              digit_value(s.p[i + 1]) >= base))
            return false;
    return true;
}

static int out_of_range(struct owl_toml *t, const struct word *w)
{
    owl_fault_hint(t->in->faults,
                   wrong(t, w, "an integer from -9223372036854775808 to 9223372036854775807"),
                   "write it with .0 behind, or as text in quotes");
    return 0;
}

/* 0x…, 0o…, 0b… */
static int prefixed(struct owl_toml *t, const struct word *w, struct owl_value **ret)
{
    static const char *const expected[] = {"0x and hexadecimal digits", "0o and digits from 0 to 7",
                                           "0b and digits 0 and 1"};
    unsigned base = w->s.p[1] == 'x' ? 16 : w->s.p[1] == 'o' ? 8 : 2;
    owl_str digits = {w->s.p + 2, w->s.n - 2};
    const char *name = expected[base == 16 ? 0 : base == 8 ? 1 : 2];
    uint64_t v = 0;
    bool over = false;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] == '_')
            continue;
        unsigned d = digit_value(digits.p[i]);
        if (d >= base) {
            wrong(t, w, name);
            return 0;
        }
        over = over || v > ((uint64_t)INT64_MAX - d) / base;
        v = v * base + d;
    }
    if (digits.n == 0) {
        wrong(t, w, name);
        return 0;
    }
    if (!underscores_fit(digits, base)) {
        wrong(t, w, "underscores between digits only");
        return 0;
    }
    if (over)
        return out_of_range(t, w);
    char text[24];
    int n = snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    return keep_number(t, w, (owl_str){text, (size_t)n}, ret);
}

/* What is wrong with a number, and how to mend it. */
struct complaint {
    const char *expected, *hint;
};
static const struct complaint no_whole = {"a digit before the decimal point",
                                          "write 0 before the point"};
static const struct complaint no_fraction = {"a digit behind the decimal point",
                                             "write 0 behind the point"};
static const struct complaint no_exponent = {"digits in the exponent", NULL};
static const struct complaint leading_zero = {
    "a number without 0 in front",
    "leave the 0 out; an octal number is 0o17, and text needs quotes: \"017\""};
static const struct complaint no_number = {"a number", "text needs quotes"};

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && owl_toml__digit(*p))
        p++;
    return p;
}

/* Judges a decimal number without its sign and underscores; NULL: it is one. */
static const struct complaint *check_decimal(owl_str s, bool *ret_float)
{
    const char *end = s.p + s.n, *p = skip_digits(s.p, end);
    if (p == s.p)
        return &no_whole;
    if (p - s.p > 1 && s.p[0] == '0')
        return &leading_zero;
    *ret_float = p < end;
    if (p < end && *p == '.') {
        const char *digits = p + 1;
        p = skip_digits(digits, end);
        if (p == digits)
            return &no_fraction;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        const char *digits = p;
        p = skip_digits(digits, end);
        if (p == digits)
            return &no_exponent;
    }
    return p < end ? &no_number : NULL;
}

static bool in_range(owl_str digits, bool negative)
{
    uint64_t v;
    return owl_str_u64(digits, (uint64_t)INT64_MAX + negative, &v);
}

static int decimal(struct owl_toml *t, const struct word *w, struct owl_value **ret)
{
    bool sign = w->s.p[0] == '+' || w->s.p[0] == '-', negative = w->s.p[0] == '-';
    owl_str s = {w->s.p + sign, w->s.n - sign};
    if (!underscores_fit(s, 10)) {
        wrong(t, w, "underscores between digits only");
        return 0;
    }
    char *text = owl_arena_alloc(t->scratch, w->s.n + 1);
    if (!text)
        return -OWL_ENOMEM;
    size_t n = 0;
    text[n++] = '-';
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '_')
            text[n++] = s.p[i];
    owl_str plain = {text + 1, n - 1};
    bool is_float = false;
    const struct complaint *c = check_decimal(plain, &is_float);
    if (c) {
        struct owl_fault *f = wrong(t, w, c->expected);
        if (c->hint)
            owl_fault_hint(t->in->faults, f, "%s", c->hint);
        return 0;
    }
    if (!is_float && !in_range(plain, negative))
        return out_of_range(t, w);
    if (negative && (is_float || plain.p[0] != '0'))
        plain = (owl_str){text, n};
    return keep_number(t, w, plain, ret);
}

static int not_finite(struct owl_toml *t, const struct word *w, struct owl_value **ret)
{
    bool negative = w->s.p[0] == '-', inf = w->s.p[w->s.n - 1] == 'f';
    owl_str text = !inf ? OWL_STR("nan") : negative ? OWL_STR("-inf") : OWL_STR("inf");
    int rc = keep_number(t, w, text, ret);
    if (rc == 0)
        (*ret)->form = OWL_FORM_NOT_FINITE;
    return rc;
}

/* Whether a number was meant: digits, and what may stand between them. 10s and 1.2.3 are text. */
static bool looks_like_number(owl_str s)
{
    size_t digits = 0, points = 0, letters = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (owl_toml__digit(c))
            digits++;
        else if (c == '.')
            points++;
        else if (c == 'e' || c == 'E')
            letters++;
        else if (c != '_' && !((c == '+' || c == '-') && (i == 0 || (s.p[i - 1] | 0x20) == 'e')))
            return false;
    }
    return digits > 0 && points < 2 && letters < 2 && (s.p[0] | 0x20) != 'e' && s.p[0] != '_';
}

static int number_or_text(struct owl_toml *t, struct word *w, struct owl_value **ret)
{
    bool sign = w->s.p[0] == '+' || w->s.p[0] == '-';
    owl_str s = {w->s.p + sign, w->s.n - sign};
    if (owl_str_is(s, "inf") || owl_str_is(s, "nan"))
        return not_finite(t, w, ret);
    if (s.n > 1 && s.p[0] == '0' && owl_toml__one_of(s.p[1], "xobXOB")) {
        if (!sign && (s.p[1] & 0x20))
            return prefixed(t, w, ret);
        owl_fault_hint(t->in->faults, wrong(t, w, "a number"),
                       sign ? "only decimal numbers have a sign" : "write 0x, 0o or 0b");
        return 0;
    }
    if (looks_like_number(w->s))
        return decimal(t, w, ret);
    if (!foreign_word(t, w))
        unquoted(t, w);
    return 0;
}

int owl_toml__scalar(struct owl_toml *t, struct owl_value **ret)
{
    struct word w = {{t->p, 0}, owl_toml__mark(t, t->p)};
    const char *p = t->p;
    while (p < t->end && !owl_toml__control(*p) && !owl_toml__one_of(*p, " \t,;]}#"))
        p++;
    w.s.n = (size_t)(p - w.s.p);
    *ret = NULL;
    if (w.s.n == 0) {
        no_value(t, &w);
        return 0;
    }
    t->p = p;
    if (owl_str_is(w.s, "true") || owl_str_is(w.s, "false"))
        return owl_toml__value(t, w.s.n == 4 ? OWL_NODE_TRUE : OWL_NODE_FALSE, w.at, ret);
    if (looks_like_date(w.s))
        return date_time(t, &w, ret);
    return number_or_text(t, &w, ret);
}

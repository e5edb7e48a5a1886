/* config/redact.c - what may be seen of a line that a fault is about.
 * Threads: pure.
 *
 * A line that was understood is taken apart into its names and values. A value is seen if the tree
 * has it, from this very place, and does not call it secret; a later file may have replaced it, or
 * nobody may know it. */
#include "config/redact.h"

#include <ctype.h>

#include "config/internal.h"

enum { DEPTH = 64 };

/* What the tree has at a byte. */
enum place { PLACE_NOTHING, PLACE_OPEN, PLACE_SECRET };

/* Names and values of one line, as YAML, TOML and JSON have them in common. */
struct scan {
    struct owl_redaction *h;
    const uint8_t *places; /* enum place of each byte */
    owl_str s;
    size_t at;
    bool flow;      /* a comma ends a word wherever it is */
    bool behind;    /* a name and its ":" or "=" */
    bool hide;      /* what follows belongs to a name that speaks of secrets */
    owl_str before; /* the value before, or absent: it may be "--token" */
    unsigned depth;
    bool within[DEPTH]; /* what is in these brackets does */
};

static bool blank_at(owl_str s, size_t i)
{
    return i >= s.n || s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '\r';
}

/* Where the quoted text that begins at byte @p at ends. */
static size_t end_of_quoted(owl_str s, size_t at)
{
    char quote = s.p[at];
    bool three = s.n - at >= 6 && s.p[at + 1] == quote && s.p[at + 2] == quote;
    if (three) {
        const char *end = memmem(s.p + at + 3, s.n - at - 3, s.p + at, 3);
        return end ? (size_t)(end - s.p) + 3 : s.n;
    }
    for (size_t i = at + 1; i < s.n; i++) {
        bool escaped = quote == '"' ? s.p[i] == '\\'
                                    : s.p[i] == quote && i + 1 < s.n && s.p[i + 1] == quote;
        if (escaped)
            i++;
        else if (s.p[i] == quote)
            return i + 1;
    }
    return s.n;
}

/* A ": " cannot be in words of YAML's that have no brackets around them. */
static bool has_name(owl_str s, size_t at)
{
    for (; at < s.n && !(s.p[at] == '#' && blank_at(s, at - 1)); at++)
        if (s.p[at] == ':' && blank_at(s, at + 1))
            return true;
    return false;
}

static size_t end_of_words(const struct scan *c, size_t at)
{
    owl_str s = c->s;
    bool flow = c->flow || c->depth > 0 || (c->behind && has_name(s, at));
    for (size_t i = at; i < s.n; i++) {
        bool name = !c->behind &&
                    (s.p[i] == '=' || (s.p[i] == ':' && (c->flow || blank_at(s, i + 1))));
        if (name || (flow && strchr(",]}", s.p[i])) || (s.p[i] == '#' && blank_at(s, i - 1)))
            return i > at ? i : at + 1;
    }
    return s.n;
}

void owl_redact__hide(struct owl_redaction *h, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < OWL_COUNT(h->byte); i++)
        h->byte[i] = true;
}

/* Whether the tree has a value that begins within these bytes, and shows it. */
static bool is_open(const struct scan *c, size_t from, size_t to)
{
    bool open = false;
    for (size_t i = from; i < to; i++) {
        if (c->places[i] == PLACE_SECRET)
            return false;
        open = open || c->places[i] == PLACE_OPEN;
    }
    return open;
}

/* A name, or a value. */
static void scan_word(struct scan *c)
{
    owl_str s = c->s;
    size_t from = c->at;
    bool quoted = s.p[from] == '"' || s.p[from] == '\'';
    size_t to = quoted ? end_of_quoted(s, from) : end_of_words(c, from), next = to;
    while (next < s.n && blank_at(s, next))
        next++;
    owl_str word = owl_redact__unquoted(owl_str_trim((owl_str){s.p + from, to - from}));
    bool within = c->depth > 0 && c->within[c->depth - 1];
    c->at = to;
    if (!c->behind && next < s.n && (s.p[next] == ':' || s.p[next] == '=')) {
        c->behind = true;
        c->hide = within || owl_redact__telling(word);
        c->before = (owl_str){NULL, 0};
        c->at = next + 1;
        return;
    }
    bool known = is_open(c, from, to) || (!quoted && owl_redact__plain(word));
    if (!known || c->hide || within || owl_secret__option(c->before, word) ||
        owl_secret__text(word))
        owl_redact__hide(c->h, from, to);
    c->before = word;
}

static void scan_mark(struct scan *c, char mark)
{
    bool within = c->hide || (c->depth > 0 && c->within[c->depth - 1]);
    if (mark == '{' || mark == '[') {
        c->within[c->depth++] = within;
        c->before = (owl_str){NULL, 0};
    } else if (mark != ',') {
        c->depth -= c->depth > 0;
    }
    c->behind = c->hide = false;
    c->at++;
}

/* Hides the values of a line, the names before them not; a comment may say anything. */
static void scan_line(struct owl_redaction *h, const uint8_t *places, bool flow)
{
    struct scan c = {.h = h, .places = places, .s = h->line, .flow = flow};
    while (c.at < c.s.n && c.depth < DEPTH) {
        char mark = c.s.p[c.at];
        bool first = blank_at(c.s, c.at - 1);
        if (blank_at(c.s, c.at) || (mark == '-' && !c.behind && blank_at(c.s, c.at + 1))) {
            c.at++;
        } else if (mark == '#' && first) {
            break;
        } else if (strchr("{}[],", mark)) {
            scan_mark(&c, mark);
        } else {
            scan_word(&c);
        }
    }
    owl_redact__hide(h, c.at, c.s.n);
}

/* ---- both ------------------------------------------------------------------------------- */

static bool before(struct owl_mark a, struct owl_mark b)
{
    return a.line < b.line || (a.line == b.line && a.column < b.column);
}

/* What the tree has on one line. */
struct finding {
    const struct owl_config *c;
    owl_str line;          /* all of it */
    struct owl_mark at;    /* its beginning */
    struct owl_mark first; /* of the names and values on it; if there is none, the next line */
    const struct owl_value *last; /* the last value above it */
    uint8_t *places;
};

static void put_place(struct finding *f, struct owl_mark at, enum place place)
{
    if (at.line != f->at.line || at.column > OWL_REDACT__LINE)
        return;
    size_t byte = owl_source__byte(f->line, at.column);
    if (byte < OWL_REDACT__LINE && f->places[byte] < place)
        f->places[byte] = (uint8_t)place;
}

static void find_value(struct finding *f, const struct owl_value *v)
{
    struct owl_mark next = {f->at.source, f->at.line + 1, 0};
    if (v->key.p && v->key_at.source == f->at.source && v->key_at.line > 0) {
        if (!before(v->key_at, f->at) && before(v->key_at, next) && before(v->key_at, f->first))
            f->first = v->key_at;
        put_place(f, v->key_at, PLACE_OPEN); /* the name of a server may be the value of `name` */
    }
    if (v->at.source != f->at.source || v->at.line == 0)
        return;
    if (!before(v->at, f->at) && before(v->at, f->first))
        f->first = v->at;
    if (before(v->at, f->at) && (!f->last || !before(v->at, f->last->at)))
        f->last = v;
    if (v->at.line == f->at.line && v->at.column <= OWL_REDACT__LINE && v->kind < OWL_NODE_ARRAY)
        put_place(f, v->at, owl_config_secret(f->c, v) ? PLACE_SECRET : PLACE_OPEN);
}

/* Finds what the tree has on the line. Returns the bytes before the first name or value of it, if the
 * last one above is secret: its text may end here. */
static size_t find_places(struct finding *f)
{
    const struct owl_value *root = owl_config_tree(f->c);
    const struct owl_value *include = f->c->sources[f->at.source].include;
    for (const struct owl_value *v = root; v; v = owl_value_next(root, v))
        find_value(f, v);
    for (const struct owl_value *v = include; v; v = owl_value_next(include, v))
        put_place(f, v->at, owl_secret__text(v->text) ? PLACE_SECRET : PLACE_OPEN);
    size_t n = f->first.line == f->at.line ? owl_source__byte(f->line, f->first.column) : f->line.n;
    bool words = strspn(f->line.p, " \t,{}[]") < n;
    return f->last && words && f->last->kind < OWL_NODE_ARRAY && owl_config_secret(f->c, f->last)
               ? n
               : 0;
}

/* The part of a line that is looked at. */
static void take_window(struct owl_redaction *h, owl_str all, struct owl_mark at)
{
    enum { BEFORE = 512 };
    size_t byte = owl_source__byte(all, at.column);
    size_t skip = byte + BEFORE > OWL_REDACT__LINE ? byte - BEFORE : 0;
    size_t n = all.n - skip < OWL_REDACT__LINE ? all.n - skip : OWL_REDACT__LINE;
    *h = (struct owl_redaction){.line = {all.p + skip, n}, .at = byte - skip, .whole = skip == 0};
}

void owl_redact__of(struct owl_redaction *h, const struct owl_config *c, struct owl_mark at)
{
    *h = (struct owl_redaction){.line = {NULL, 0}};
    if (at.source >= c->n_sources)
        return;
    const struct owl_source *s = &c->sources[at.source];
    owl_str all = owl_source__line(s, at.line);
    if (!all.p)
        return;
    uint8_t places[OWL_REDACT__LINE] = {PLACE_NOTHING};
    struct finding f = {c, all, {at.source, at.line, 0}, {at.source, at.line + 1, 0}, NULL, places};
    take_window(h, all, at);
    size_t old = find_places(&f);
    if (h->whole)
        owl_redact__hide(h, 0, old);
    for (size_t i = 0; s->damaged && h->whole && i < h->line.n; i++)
        if (places[i] == PLACE_SECRET)
            owl_redact__hide(h, i, h->line.n);
    if (s->damaged)
        owl_redact__raw(h, c, s, all);
    else if (!h->whole)
        owl_redact__hide(h, 0, h->line.n);
    else
        scan_line(h, places, owl_source__format(s) == OWL_FORMAT__JSON);
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

size_t owl_redact__variable(owl_str rest)
{
    enum { NAME = 64 };
    size_t n = 2;
    if (rest.n < 4 || rest.p[0] != '$' || rest.p[1] != '{')
        return 0;
    while (n < rest.n && n < NAME && (is_letter(rest.p[n]) || rest.p[n] == ':') &&
           memcmp(rest.p + n - 1, ":-", 2) != 0)
        n++;
    if (rest.n - n >= 6 && memcmp(rest.p + n - 1, ":-...}", 6) == 0) /* as advice has it */
        return n + 5;
    return n < rest.n && rest.p[n] == '}' ? n + 1 : 0;
}

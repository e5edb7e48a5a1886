/* config/redact.c - what may be seen of a line that a fault is about.
 * Threads: pure.
 *
 * A line that was understood is taken apart into its words: hidden are the values that the tree
 * knows as secrets, and those behind names that speak of such, for a later file may have replaced
 * what stands here. A line that was not understood has no values: all behind such a name is
 * hidden. */
#include "config/redact.h"

#include <strings.h>

#include "config/internal.h"

enum { LOOK = 4096 }; /* bytes of a line that are looked at: a file of one line has many faults */

/* ---- a line that was not understood ----------------------------------------------------- */

#define NOWHERE SIZE_MAX

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

/* A name of a table may be quoted. */
static owl_str unquoted(owl_str s)
{
    bool quoted = s.n > 1 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0];
    return quoted ? (owl_str){s.p + 1, s.n - 2} : s;
}

/* Whether the members of what is named so are secret, but not their names. A file that cannot be
 * read has no tree to ask: the schema's own secrets are named here. */
static bool is_map(owl_str dotted)
{
    owl_str last = {NULL, 0};
    for (owl_str name; owl_str_split(&dotted, '.', &name);)
        last = name;
    last = unquoted(owl_str_trim(last));
    return owl_str_is(last, "env") || owl_str_is(last, "headers");
}

/* Whether what stands behind a name is secret. */
static bool telling(owl_str dotted)
{
    for (owl_str name; owl_str_split(&dotted, '.', &name);)
        if (is_map(name) || owl_secret__name(unquoted(owl_str_trim(name))))
            return true;
    return false;
}

static size_t indent_of(owl_str line)
{
    size_t n = 0;
    while (n < line.n && (line.p[n] == ' ' || line.p[n] == '\t'))
        n++;
    return n;
}

/* The byte from which on a line is not to be shown: behind NAME and its ":", "=" or ","; these may
 * be forgotten behind the first word. */
static size_t named_from(owl_str line, owl_str *ret_name)
{
    size_t first = indent_of(line);
    for (size_t i = 0; i < line.n;) {
        size_t end = i;
        while (end < line.n && word_char(line.p[end]))
            end++;
        owl_str word = {line.p + i, end - i};
        size_t at = end;
        while (at < line.n && (line.p[at] == '"' || line.p[at] == '\'' || line.p[at] == ' '))
            at++;
        bool mark = at < line.n && strchr(":=,", line.p[at]),
             forgotten = at > end && (i == first || word.p[0] == '-');
        if (word.n > 0 && at < line.n && (mark || forgotten) && telling(word)) {
            *ret_name = word;
            return at + mark;
        }
        i = end > i ? end : i + 1;
    }
    return NOWHERE;
}

/* The same of a text that carries a secret, whatever its name: of a header, or in a URL. */
static size_t carried_from(owl_str line)
{
    static const char *const schemes[] = {"bearer ", "basic "};
    for (size_t i = 0; i < line.n; i++) {
        owl_str word = {line.p + i, 0};
        for (size_t k = 0; k < OWL_COUNT(schemes); k++)
            if (strncasecmp(word.p, schemes[k], strlen(schemes[k])) == 0)
                return i + strlen(schemes[k]);
        if (line.p[i] != ':')
            continue;
        while (i + word.n < line.n && !strchr(" \"'", word.p[word.n]))
            word.n++;
        if (word.n > 3 && owl_secret__text(word))
            return i + 1;
    }
    return NOWHERE;
}

static size_t secret_from(owl_str line)
{
    owl_str name;
    size_t named = named_from(line, &name), carried = carried_from(line);
    return named < carried ? named : carried;
}

/* Whether a line is within a text of several lines, as TOML has them. */
static bool within_quotes(owl_str text, owl_str line)
{
    static const char *const quotes[] = {"\"\"\"", "'''"};
    for (size_t k = 0; k < OWL_COUNT(quotes); k++) {
        bool open = false;
        const char *p = text.p;
        while ((p = memmem(p, (size_t)(line.p - p), quotes[k], 3)) != NULL) {
            open = !open;
            p += 3;
        }
        if (open)
            return true;
    }
    return false;
}

/* Whether a line is an element of a list, "- --token", that tells what the next one is. */
static bool is_option(owl_str line)
{
    line = owl_str_trim(line);
    if (line.n < 4 || memcmp(line.p, "- ", 2) != 0)
        return false;
    line = unquoted(owl_str_trim((owl_str){line.p + 2, line.n - 2}));
    return owl_secret__option(line, OWL_STR("x:"));
}

/* What a line is within, or goes on with. Of a map only the values are secret. */
enum begun { BEGUN_NOTHING, BEGUN_SECRET, BEGUN_MAP };

/* What the lines above began: those that are indented less, a [table], and a name at the end of the
 * last line. */
static enum begun begun_above(owl_str text, owl_str line)
{
    enum { BACK = 4096 };
    size_t indent = indent_of(line);
    bool last = true;
    const char *p = line.p;
    for (unsigned i = 0; i < BACK && p > text.p; i++) {
        const char *before = memrchr(text.p, '\n', (size_t)(p - 1 - text.p));
        const char *begin = before ? before + 1 : text.p;
        owl_str above = {begin, (size_t)(p - 1 - begin)}, name = {NULL, 0};
        p = begin;
        above.n -= above.n > 0 && begin[above.n - 1] == '\r';
        size_t deep = indent_of(above);
        if (deep == above.n || above.n > LOOK)
            continue;
        size_t from = named_from(above, &name);
        bool opens = from != NOWHERE &&
                     owl_str_trim((owl_str){begin + from, above.n - from}).n == 0;
        enum begun begun = opens && is_map(name) ? BEGUN_MAP : BEGUN_SECRET;
        if (last && (opens || is_option(above)))
            return begun;
        last = false;
        owl_str table = owl_str_trim(above);
        if (table.n > 2 && table.p[0] == '[' && table.p[table.n - 1] == ']') {
            table = (owl_str){table.p + 1, table.n - 2};
            return !telling(table) ? BEGUN_NOTHING : is_map(table) ? BEGUN_MAP : BEGUN_SECRET;
        }
        /* Behind a name that the line begins with: "- token: |". */
        if (deep < indent && from != NOWHERE && name.p <= begin + deep + 4)
            return begun;
        indent = deep < indent ? deep : indent;
    }
    return BEGUN_NOTHING;
}

/* Whether a line is the head of one of our tables, which goes on with nothing. */
static bool is_table(owl_str line)
{
    size_t n = 0;
    while (n < line.n && strchr("[\"'", line.p[n]))
        n++;
    return n > 0 && line.p[0] == '[' && line.n - n > 3 && memcmp(line.p + n, "mcp", 3) == 0;
}

static enum begun begun_before(owl_str text, owl_str line)
{
    if (within_quotes(text, line))
        return BEGUN_SECRET;
    return is_table(line) ? BEGUN_NOTHING : begun_above(text, line);
}

/* The byte from which on a line must not be seen, by the part of it that ends behind byte @p at and a
 * little later. */
static size_t hidden_from(enum begun begun, owl_str line, size_t at)
{
    size_t skip = at > LOOK ? at - LOOK : 0;
    owl_str part = {line.p + skip, line.n - skip < 2 * LOOK ? line.n - skip : 2 * LOOK};
    if (begun) {
        size_t name = begun == BEGUN_MAP && skip == 0 ? strcspn(part.p, ":=\n") : part.n;
        return name < part.n ? name + 1 : skip + indent_of(part);
    }
    size_t from = secret_from(part);
    return from == NOWHERE ? line.n : skip + from;
}

/* ---- a line that was understood --------------------------------------------------------- */

enum { DEPTH = 64 };

/* Names and values of one line, as YAML, TOML and JSON have them in common. */
struct scan {
    struct owl_redaction *h;
    const bool *secret; /* a byte where a secret of the tree begins */
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

static void hide(struct owl_redaction *h, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < OWL_COUNT(h->byte); i++)
        h->byte[i] = true;
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
    owl_str word = unquoted(owl_str_trim((owl_str){s.p + from, to - from}));
    bool within = c->depth > 0 && c->within[c->depth - 1];
    c->at = to;
    if (!c->behind && next < s.n && (s.p[next] == ':' || s.p[next] == '=')) {
        c->behind = true;
        c->hide = within || telling(word);
        c->before = (owl_str){NULL, 0};
        c->at = next + 1;
    } else {
        if (c->hide || within || owl_secret__option(c->before, word) || owl_secret__text(word))
            hide(c->h, from, to);
        c->before = word;
    }
    for (size_t i = from; i < to; i++)
        if (c->secret[i])
            hide(c->h, i, to);
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

/* Hides the values of a line, the names before them not. */
static void scan_line(struct owl_redaction *h, const bool *secret, bool flow)
{
    struct scan c = {.h = h, .secret = secret, .s = h->line, .flow = flow};
    c.s.n = c.s.n < OWL_COUNT(h->byte) ? c.s.n : OWL_COUNT(h->byte);
    while (c.at < c.s.n && c.depth < DEPTH) {
        char mark = c.s.p[c.at];
        bool first = blank_at(c.s, c.at - 1);
        owl_str rest = {c.s.p + c.at, c.s.n - c.at};
        if (blank_at(c.s, c.at) || (mark == '-' && !c.behind && blank_at(c.s, c.at + 1))) {
            c.at++;
        } else if (mark == '#' && first) {
            size_t from = secret_from(rest);
            if (from != NOWHERE)
                hide(h, c.at + from, c.s.n);
            return;
        } else if (strchr("{}[],", mark)) {
            scan_mark(&c, mark);
        } else {
            scan_word(&c);
        }
    }
    hide(h, c.at, c.s.n);
}

/* ---- both ------------------------------------------------------------------------------- */

static bool before(struct owl_mark a, struct owl_mark b)
{
    return a.line < b.line || (a.line == b.line && a.column < b.column);
}

/* Where secrets of the tree begin. Returns the bytes before the first name or value of the line, if
 * the last one above it is secret: its text may end here. */
static size_t find_secrets(const struct owl_config *c, const struct owl_redaction *h,
                           struct owl_mark at, bool *secret)
{
    const struct owl_value *root = owl_config_tree(c), *last = NULL;
    struct owl_mark line = {at.source, at.line, 0}, first = {at.source, at.line + 1, 0};
    for (const struct owl_value *v = root; v; v = owl_value_next(root, v)) {
        bool named = v->key.p && v->key_at.source == at.source;
        if (named && !before(v->key_at, line) && before(v->key_at, first))
            first = v->key_at;
        if (v->at.source != at.source || v->at.line == 0)
            continue;
        if (!before(v->at, line) && before(v->at, first))
            first = v->at;
        if (before(v->at, line) && (!last || !before(v->at, last->at)))
            last = v;
        if (v->at.line != at.line || v->kind >= OWL_NODE_ARRAY ||
            v->at.column > OWL_COUNT(h->byte) || !owl_config_secret(c, v))
            continue;
        size_t byte = owl_source__byte(h->line, v->at.column);
        if (byte < OWL_COUNT(h->byte))
            secret[byte] = true;
    }
    size_t n = first.line == at.line ? owl_source__byte(h->line, first.column) : h->line.n;
    bool words = strspn(h->line.p, " \t,{}[]") < n;
    return last && words && last->kind < OWL_NODE_ARRAY && owl_config_secret(c, last) ? n : 0;
}

/* Whether a file has braces around it all, by its name or by its looks. */
static bool is_json(const struct owl_source *s)
{
    static const char begin[] = "\xef\xbb\xbf \t\r\n";
    return memmem(s->name.p, s->name.n, ".json", 5) || s->text.p[strspn(s->text.p, begin)] == '{';
}

void owl_redact__of(struct owl_redaction *h, const struct owl_config *c, struct owl_mark at)
{
    const struct owl_source *sources;
    size_t n = owl_config_sources(c, &sources);
    bool secret[OWL_COUNT(h->byte)] = {false};
    *h = (struct owl_redaction){.line = {NULL, 0}};
    if (at.source >= n)
        return;
    const struct owl_source *s = &sources[at.source];
    h->line = owl_source__line(s, at.line);
    if (!h->line.p)
        return;
    h->at = owl_source__byte(h->line, at.column);
    hide(h, 0, find_secrets(c, h, at, secret));
    enum begun begun = begun_before(s->text, h->line);
    if (s->damaged) {
        size_t from = hidden_from(begun, h->line, 0), far = hidden_from(begun, h->line, h->at);
        for (size_t i = 0; i < from && i < OWL_COUNT(secret); i++)
            from = secret[i] ? i : from;
        hide(h, from, h->line.n);
        h->from = from < far ? from : far;
        h->secret = h->at >= h->from;
        h->quoted = h->from < h->line.n;
        return;
    }
    if (begun)
        hide(h, hidden_from(begun, h->line, 0), h->line.n);
    else
        scan_line(h, secret, is_json(s));
    h->secret = h->at >= OWL_COUNT(h->byte) || h->byte[h->at];
}

size_t owl_redact__variable(owl_str rest)
{
    enum { NAME = 64 };
    size_t n = 2;
    if (rest.n < 4 || rest.p[0] != '$' || rest.p[1] != '{')
        return 0;
    while (n < rest.n && n < NAME && (word_char(rest.p[n]) || rest.p[n] == ':') &&
           memcmp(rest.p + n - 1, ":-", 2) != 0)
        n++;
    if (rest.n - n >= 6 && memcmp(rest.p + n - 1, ":-...}", 6) == 0) /* as advice has it */
        return n + 5;
    return n < rest.n && rest.p[n] == '}' ? n + 1 : 0;
}

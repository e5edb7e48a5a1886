/* config/redact_raw.c - what may be seen of a line in a file that could not be read.
 * Threads: pure.
 *
 * Nothing is known of such a line: quotes and brackets may be what is wrong with it. So it is taken
 * for words with signs between them, and only words that cannot be secrets are seen; behind a name
 * that speaks of secrets, on this line or on one above, not even those. */
#include "config/redact.h"

#include <ctype.h>
#include <strings.h>

#include "config/internal.h"

enum { LOOK = 4096 }; /* bytes of a line that are looked at: a file of one line has many faults */

#define NOWHERE SIZE_MAX

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

owl_str owl_redact__unquoted(owl_str s)
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
    last = owl_redact__unquoted(owl_str_trim(last));
    return owl_str_is(last, "env") || owl_str_is(last, "headers");
}

bool owl_redact__telling(owl_str dotted)
{
    for (owl_str name; owl_str_split(&dotted, '.', &name);)
        if (is_map(name) || owl_secret__name(owl_redact__unquoted(owl_str_trim(name))))
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
        if (word.n > 0 && at < line.n && (mark || forgotten) && owl_redact__telling(word)) {
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
    line = owl_redact__unquoted(owl_str_trim((owl_str){line.p + 2, line.n - 2}));
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
            return !owl_redact__telling(table) ? BEGUN_NOTHING
                   : is_map(table)             ? BEGUN_MAP
                                               : BEGUN_SECRET;
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

/* ---- words ------------------------------------------------------------------------------- */

bool owl_redact__plain(owl_str word)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off", "~"};
    size_t digits = 0;
    while (digits < word.n && word.p[digits] >= '0' && word.p[digits] <= '9')
        digits++;
    if (digits == word.n && digits <= 5)
        return true;
    for (size_t i = 0; i < OWL_COUNT(words); i++)
        if (owl_str_ieq(word, owl_str_of(words[i])))
            return true;
    return false;
}

static bool in_word(char c)
{
    return c != '\0' && !strchr(OWL_REDACT__SIGNS, c);
}

/* Signs such as "-" and "|". */
static bool is_sign(owl_str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (!ispunct((unsigned char)word.p[i]))
            return false;
    return true;
}

/* An anchor, an alias or a tag of YAML: a sign and a few small letters. */
static bool is_reference(owl_str word)
{
    enum { FEW = 9 };
    bool letters = word.n > 1 && word.n <= FEW && strchr("&*!", word.p[0]);
    for (size_t i = 1; i < word.n && letters; i++)
        letters = word.p[i] >= 'a' && word.p[i] <= 'z';
    return letters;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Whether a name can stand behind byte @p at of a line: at its beginning, or behind a sign. */
static bool opens_name(const struct owl_redaction *h, size_t at)
{
    while (at > 0 && is_blank(h->line.p[at - 1]))
        at--;
    return at > 0 ? strchr("{,-[.", h->line.p[at - 1]) != NULL : h->whole;
}

/* Whether the word is a name: where one belongs, with its ":" or "=" behind it. */
static bool is_name(const struct owl_redaction *h, size_t from, size_t to)
{
    enum { NAME = 64 };
    owl_str line = h->line;
    bool quote = from > 0 && strchr("\"'", line.p[from - 1]);
    bool quoted = quote && to < line.n && line.p[to] == line.p[from - 1];
    size_t at = to + quoted;
    for (size_t i = from; i < to; i++)
        if (!word_char(line.p[i]))
            return false;
    while (at < line.n && is_blank(line.p[at]))
        at++;
    if (to - from > NAME || at >= line.n || (line.p[at] != ':' && line.p[at] != '='))
        return false;
    bool behind = at + 1 == line.n || strchr(" \t\r\"'{[$", line.p[at + 1]);
    return (quoted || behind) && opens_name(h, from - quote) &&
           !owl_secret__text((owl_str){line.p + from, to - from});
}

/* Whether the line is the head of a table of TOML, which is names and dots. */
static bool is_head(const struct owl_redaction *h, bool toml)
{
    owl_str line = owl_str_trim(h->line);
    if (!toml || !h->whole || line.n < 3 || line.p[0] != '[')
        return false;
    for (size_t i = 0; i < line.n; i++)
        if (!word_char(line.p[i]) && !strchr("[] ", line.p[i]))
            return false;
    return !owl_secret__text(line);
}

static void hide_words(struct owl_redaction *h, const struct owl_config *c)
{
    for (size_t i = 0, to; i < h->line.n; i = to) {
        to = i + 1;
        if (!in_word(h->line.p[i]))
            continue;
        while (to < h->line.n && in_word(h->line.p[to]))
            to++;
        owl_str word = {h->line.p + i, to - i};
        bool cut = (i == 0 && !h->whole) || to == OWL_REDACT__LINE;
        bool seen = is_sign(word) || is_reference(word) || owl_redact__plain(word) ||
                    owl_keys__word(&c->keys, word) || is_name(h, i, to);
        if (cut || !seen)
            owl_redact__hide(h, i, to);
    }
}

void owl_redact__raw(struct owl_redaction *h, const struct owl_config *c,
                     const struct owl_source *source, owl_str all)
{
    owl_str text = source->text;
    bool toml = owl_source__format(source) == OWL_FORMAT__TOML;
    size_t skip = (size_t)(h->line.p - all.p);
    enum begun begun = begun_before(text, all);
    size_t from = hidden_from(begun, all, 0), far = hidden_from(begun, all, skip + h->at);
    h->raw = true;
    if (!is_head(h, toml))
        hide_words(h, c);
    from = from < far ? from : far;
    owl_redact__hide(h, from > skip ? from - skip : 0, h->line.n);
}

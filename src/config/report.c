/* config/report.c - faults for people and for programs.
 * Threads: pure.
 *
 * The line of the file is shown beneath the fault, what it may not show made unreadable: whatever
 * stands behind a name that speaks of secrets, and every secret of the tree that is on that line. */
#include "config/report.h"

#include <strings.h>

#include "codec/json.h"
#include "codec/visible.h"
#include "config/variables.h"

enum {
    WIDTH = 160, /* characters of a line that are shown */
    INDENT = 4,
    LOOK = 4096 /* bytes of a line that are looked at: a file of one line has many faults on it */
};

/* ---- the line --------------------------------------------------------------------------- */

/* Line @p n of a text, without its end; absent: there is none. */
static owl_str line_of(owl_str text, uint32_t n)
{
    const char *p = text.p, *end = text.p + text.n;
    if (text.n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    for (; n > 1 && p; n--) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    if (!p || n == 0)
        return (owl_str){NULL, 0};
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    stop = stop ? stop : end;
    return (owl_str){p, (size_t)(stop - p) - (stop > p && stop[-1] == '\r')};
}

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

/* Whether what stands behind a name is secret. A file that cannot be read has no tree to ask: the
 * schema's own secrets are named here. */
static bool telling(owl_str dotted)
{
    static const char *const names[] = {"state_key", "key", "env", "headers"};
    for (owl_str name; owl_str_split(&dotted, '.', &name);) {
        name = unquoted(owl_str_trim(name));
        if (owl_secret__name(name))
            return true;
        for (size_t i = 0; i < OWL_COUNT(names); i++)
            if (owl_str_is(name, names[i]))
                return true;
    }
    return false;
}

/* The byte from which on a line is not to be shown: behind NAME and its ":", "=" or ",". */
static size_t named_from(owl_str line)
{
    for (size_t i = 0; i < line.n;) {
        size_t end = i;
        while (end < line.n && word_char(line.p[end]))
            end++;
        owl_str word = {line.p + i, end - i};
        size_t at = end;
        while (at < line.n && (line.p[at] == '"' || line.p[at] == '\'' || line.p[at] == ' '))
            at++;
        if (word.n > 0 && at < line.n && strchr(":=,", line.p[at]) && telling(word))
            return at + 1;
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

static size_t indent_of(owl_str line)
{
    size_t n = 0;
    while (n < line.n && (line.p[n] == ' ' || line.p[n] == '\t'))
        n++;
    return n;
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

/* Whether the members of what is named so are secret, but not their names. */
static bool is_map(owl_str dotted)
{
    const char *dot = dotted.n > 0 ? memrchr(dotted.p, '.', dotted.n) : NULL;
    owl_str last = dot ? (owl_str){dot + 1, dotted.n - (size_t)(dot + 1 - dotted.p)} : dotted;
    last = unquoted(owl_str_trim(last));
    return owl_str_is(last, "env") || owl_str_is(last, "headers");
}

/* The word that ends before byte @p at, whatever stands between. */
static owl_str name_before(owl_str line, size_t at)
{
    size_t end = at;
    while (end > 0 && !word_char(line.p[end - 1]))
        end--;
    size_t begin = end;
    while (begin > 0 && word_char(line.p[begin - 1]))
        begin--;
    return (owl_str){line.p + begin, end - begin};
}

/* Whether a line is within, or goes on with, what an earlier one began, and that is secret: the
 * lines above it that are indented less, a [table], and a name at the end of the last line. Of a
 * map only the values are. */
static bool continues_secret(owl_str text, owl_str line, bool *ret_map)
{
    enum { BACK = 4096 };
    size_t indent = indent_of(line);
    bool last = true;
    const char *p = line.p;
    for (unsigned i = 0; i < BACK && p > text.p; i++) {
        const char *before = memrchr(text.p, '\n', (size_t)(p - 1 - text.p));
        const char *begin = before ? before + 1 : text.p;
        owl_str above = {begin, (size_t)(p - 1 - begin)};
        p = begin;
        size_t deep = indent_of(above);
        if (deep == above.n || above.n > LOOK)
            continue;
        size_t from = named_from(above);
        bool opens = from != NOWHERE &&
                     owl_str_trim((owl_str){begin + from, above.n - from}).n == 0;
        *ret_map = opens && is_map(name_before(above, from));
        if (last && opens)
            return true;
        last = false;
        owl_str table = owl_str_trim(above);
        if (table.n > 2 && table.p[0] == '[' && table.p[table.n - 1] == ']') {
            table = (owl_str){table.p + 1, table.n - 2};
            *ret_map = is_map(table);
            return telling(table);
        }
        /* Behind a name that the line begins with: "- token: |". */
        if (deep < indent && from != NOWHERE && name_before(above, from).p <= begin + deep + 4)
            return true;
        indent = deep < indent ? deep : indent;
    }
    return false;
}

/* The column of the first secret value of the tree that is on a line, as far as that is shown. */
static size_t hidden_by_tree(const struct owl_config *c, uint32_t source, uint32_t n)
{
    const struct owl_value *root = owl_config_tree(c);
    size_t column = WIDTH + 1;
    for (const struct owl_value *v = root; v; v = owl_value_next(root, v))
        if (v->at.source == source && v->at.line == n && v->at.column < column &&
            v->kind < OWL_NODE_ARRAY && owl_config_secret(c, v))
            column = v->at.column;
    return column;
}

/* The byte from which on what is behind a name must not be seen, in the part of a line that ends
 * behind byte @p at and a little later. */
static size_t hidden_by_name(owl_str text, owl_str line, size_t at)
{
    size_t skip = at > LOOK ? at - LOOK : 0;
    owl_str part = {line.p + skip, line.n - skip < 2 * LOOK ? line.n - skip : 2 * LOOK};
    size_t named = named_from(part), carried = carried_from(part);
    bool map = false, quoted = within_quotes(text, line);
    if (quoted || continues_secret(text, line, &map)) {
        size_t name = map && !quoted && skip == 0 ? strcspn(part.p, ":=\n") : part.n;
        return name < part.n ? name + 1 : skip + indent_of(part);
    }
    size_t from = named < carried ? named : carried;
    return from == NOWHERE ? line.n : skip + from;
}

/* The bytes of a ${NAME} that stands here, which is no secret itself; a default may be one. */
static size_t variable_at(owl_str rest)
{
    enum { NAME = 64 };
    size_t n = 2;
    if (rest.n < 4 || rest.p[0] != '$' || rest.p[1] != '{')
        return 0;
    while (n < rest.n && n < NAME && (word_char(rest.p[n]) || rest.p[n] == ':') &&
           memcmp(rest.p + n - 1, ":-", 2) != 0)
        n++;
    return n < rest.n && rest.p[n] == '}' ? n + 1 : 0;
}

/* The line as it may be seen: one mark a character, no control characters. */
static void show_line(struct owl_buf *b, const struct owl_config *c, const struct owl_fault *f,
                      owl_str text)
{
    owl_str line = line_of(text, f->at.line);
    size_t from = hidden_by_name(text, line, 0);
    size_t column = hidden_by_tree(c, f->at.source, f->at.line), at = 0, open = 0;
    for (size_t i = 0; i < line.n && at < WIDTH; at++) {
        size_t next = i + 1;
        while (next < line.n && (line.p[next] & 0xc0) == 0x80)
            next++;
        owl_str one = {line.p + i, next - i};
        uint32_t character = owl_text_next(&one);
        size_t variable = variable_at((owl_str){line.p + i, line.n - i});
        open = variable > 0 ? i + variable : open;
        bool hide = (i >= from || at + 1 >= column) && line.p[i] != ' ' && i >= open;
        if (hide)
            owl_buf_putc(b, '*');
        else if (one.n > 0 || !owl_utf8_valid((owl_str){line.p + i, next - i}))
            owl_buf_putc(b, '?');
        else if (owl_text_unsafe(character))
            owl_buf_putc(b, ' ');
        else
            owl_buf_put(b, line.p + i, next - i);
        i = next;
    }
}

static void show_place(struct owl_buf *b, const struct owl_config *c, const struct owl_fault *f,
                       owl_str text, bool colours)
{
    if (f->at.line == 0 || !text.p || !line_of(text, f->at.line).p || f->at.column > WIDTH)
        return;
    owl_buf_printf(b, "%*s", INDENT, "");
    show_line(b, c, f, text);
    owl_buf_printf(b, "\n%*s%s^", (int)(INDENT + (f->at.column > 0 ? f->at.column - 1 : 0)), "",
                   colours ? "\033[32m" : "");
    for (uint32_t i = 1; i < f->width && f->at.column + i <= WIDTH; i++)
        owl_buf_putc(b, '~');
    owl_buf_printf(b, "%s\n", colours ? "\033[0m" : "");
}

/* ---- words ------------------------------------------------------------------------------ */

/* What may not be seen of the line that a fault is about: readers quote what they cannot read. */
static owl_str hidden_tail(const struct owl_fault *f, owl_str text)
{
    owl_str line = f->at.line > 0 && text.p ? line_of(text, f->at.line) : (owl_str){NULL, 0};
    size_t at = 0;
    for (uint32_t column = 1; at < line.n && column < f->at.column; column++)
        for (at++; at < line.n && (line.p[at] & 0xc0) == 0x80;)
            at++;
    if (line.n == 0)
        return (owl_str){NULL, 0};
    size_t from = hidden_by_name(text, line, at);
    size_t n = line.n - from < LOOK / 4 ? line.n - from : LOOK / 4;
    return (owl_str){line.p + from, n};
}

/* How many bytes of @p words, from its first on, also stand in @p tail; names of variables there do
 * not count. */
static size_t shared(owl_str words, owl_str tail)
{
    size_t most = 0;
    for (size_t i = 0; i < tail.n;) {
        size_t variable = variable_at((owl_str){tail.p + i, tail.n - i}), n = 0;
        while (n < words.n && i + n < tail.n && words.p[n] == tail.p[i + n])
            n++;
        most = variable == 0 && n > most ? n : most;
        i += variable > 0 ? variable : 1;
    }
    return most;
}

static void put_words(struct owl_buf *b, owl_str words, owl_str hidden)
{
    enum { FEW = 4 }; /* so many letters in common are no accident */
    while (words.n > 0) {
        size_t n = hidden.n > 0 ? shared(words, hidden) : 0;
        if (n < FEW)
            n = 1;
        if (n == 1)
            owl_buf_putc(b, words.p[0]);
        else
            owl_buf_putz(b, "***");
        words = (owl_str){words.p + n, words.n - n};
    }
}

static void put_quoted(struct owl_buf *b, owl_str words, owl_str hidden)
{
    struct owl_buf open;
    owl_buf_init(&open, b->max);
    put_words(&open, words, hidden);
    owl_json_quote(b, owl_buf_str(&open));
    if (open.rc && !b->rc)
        b->rc = open.rc;
    owl_buf_done(&open);
}

/* ---- faults ----------------------------------------------------------------------------- */

static const struct owl_source *source_of(const struct owl_config *c, const struct owl_fault *f)
{
    const struct owl_source *list;
    size_t n = owl_config_sources(c, &list);
    return &list[f->at.source < n ? f->at.source : 0];
}

void owl_report_fault(struct owl_buf *b, const struct owl_config *c, const struct owl_fault *f,
                      bool colours)
{
    const struct owl_source *s = source_of(c, f);
    const char *bold = colours ? "\033[1m" : "", *plain = colours ? "\033[0m" : "";
    const char *colour = !colours ? "" : f->warning ? "\033[35m" : "\033[31m";
    owl_buf_putz(b, bold);
    owl_put_visible(b, s->name);
    if (f->at.line > 0)
        owl_buf_printf(b, ":%u:%u", f->at.line, f->at.column);
    owl_buf_printf(b, ":%s %s%s%s:%s ", plain, bold, colour, f->warning ? "warning" : "error",
                   plain);
    owl_str hidden = hidden_tail(f, s->text);
    put_words(b, f->what, hidden);
    owl_buf_putc(b, '\n');
    show_place(b, c, f, s->text, colours);
    if (f->hint.p) {
        owl_buf_putz(b, "  hint: ");
        put_words(b, f->hint, hidden);
        owl_buf_putc(b, '\n');
    }
}

void owl_report_fault_json(struct owl_buf *b, const struct owl_config *c, const struct owl_fault *f)
{
    const struct owl_source *s = source_of(c, f);
    owl_buf_putz(b, s->kind == OWL_SOURCE_FILE ? "{\"file\":" : "{\"source\":");
    owl_json_quote(b, s->name);
    if (f->at.line > 0)
        owl_buf_printf(b, ",\"line\":%u,\"column\":%u", f->at.line, f->at.column);
    owl_buf_printf(b, ",\"severity\":\"%s\",\"message\":", f->warning ? "warning" : "error");
    owl_str hidden = hidden_tail(f, s->text);
    put_quoted(b, f->what, hidden);
    if (f->hint.p) {
        owl_buf_putz(b, ",\"hint\":");
        put_quoted(b, f->hint, hidden);
    }
    owl_buf_putc(b, '}');
}

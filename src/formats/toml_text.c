/* formats/toml_text.c - the text of TOML: marks, blanks, comments, merge conflicts, and the way on
 * after a fault.
 * Threads: one at a time. */
#include "formats/toml.h"

#include <stdio.h>

#include "codec/json.h"
#include "codec/text.h"

enum { ENCODING_FAULTS = 10 };

/* ---- text ------------------------------------------------------------------------------- */

uint32_t owl_toml__width(owl_str s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n > 0 ? n : 1;
}

int owl_toml__clip(owl_str s)
{
    return (int)owl_utf8_cut(s, OWL_TOML_QUOTED).n;
}

struct owl_mark owl_toml__mark(struct owl_toml *t, const char *p)
{
    if (p < t->counted) {
        t->counted = t->line_start;
        t->column = 1;
    }
    for (; t->counted < p; t->counted++)
        t->column += ((unsigned char)*t->counted & 0xc0) != 0x80;
    return (struct owl_mark){t->in->source, t->line, t->column};
}

void owl_toml__newline(struct owl_toml *t)
{
    t->p++;
    t->line++;
    t->line_start = t->counted = t->p;
    t->column = 1;
}

struct owl_toml_found owl_toml__found(const struct owl_toml *t)
{
    struct owl_toml_found f = {.width = 1};
    const char *p = t->p;
    if (p == t->end) {
        snprintf(f.words, sizeof f.words, "the end of the file");
    } else if (owl_toml__at_line_end(t)) {
        snprintf(f.words, sizeof f.words, "the end of the line");
    } else if (owl_toml__control(*p)) {
        snprintf(f.words, sizeof f.words, "the control character U+%04X",
                 (unsigned)(unsigned char)*p);
    } else {
        size_t n = owl_text__utf8(p, t->end);
        while (owl_toml__bare(*p) && p + n < t->end && owl_toml__bare(p[n]))
            n++;
        owl_str word = {p, n};
        f.width = owl_toml__width(word);
        const char *quote = owl_toml__bare(*p) ? "" : *p == '\'' ? "\"" : "'";
        snprintf(f.words, sizeof f.words, "%s%.*s%s", quote, owl_toml__clip(word), p, quote);
    }
    return f;
}

struct owl_fault *owl_toml__expected(struct owl_toml *t, const char *what)
{
    struct owl_toml_found f = owl_toml__found(t);
    struct owl_fault *fault = owl_fault_add(t->in->faults, owl_toml__mark(t, t->p),
                                            "found %s, expected %s", f.words, what);
    fault->width = f.width;
    return fault;
}

void owl_toml__skip_blanks(struct owl_toml *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
        t->p++;
}

static void skip_line(struct owl_toml *t)
{
    const char *end = t->p < t->end ? memchr(t->p, '\n', (size_t)(t->end - t->p)) : NULL;
    t->p = end ? end : t->end;
}

static void skip_comment(struct owl_toml *t)
{
    while (!owl_toml__at_line_end(t) && !owl_toml__control(*t->p))
        t->p++;
    if (owl_toml__at_line_end(t))
        return;
    owl_toml__expected(t, "a comment without control characters");
    skip_line(t);
}

/* ---- merge conflicts -------------------------------------------------------------------- */

static bool is_marker(const struct owl_toml *t, char c)
{
    if (t->p != t->line_start || t->end - t->p < 7)
        return false;
    for (int i = 0; i < 7; i++)
        if (t->p[i] != c)
            return false;
    char behind = owl_toml__peek(t, 7);
    return t->end - t->p == 7 || behind == ' ' || behind == '\r' || behind == '\n';
}

/* One fault a conflict: its first side is read, and the others are skipped. False if there is no
 * marker at t->p. */
static bool skip_conflict(struct owl_toml *t)
{
    bool begins = is_marker(t, '<');
    if (!begins && !is_marker(t, '=') && !is_marker(t, '|') && !is_marker(t, '>'))
        return false;
    if (begins || !t->conflict) {
        struct owl_fault *f = owl_fault_add(t->in->faults, owl_toml__mark(t, t->p),
                                            "found the marker %.7s of a merge conflict, expected a "
                                            "key, a [table] or a comment",
                                            t->p);
        f->width = 7;
        owl_fault_hint(t->in->faults, f, "keep one side of the conflict, and remove its markers");
    }
    bool others = t->conflict && !begins;
    while (others && t->p < t->end && !is_marker(t, '>')) {
        skip_line(t);
        if (t->p < t->end)
            owl_toml__newline(t);
    }
    t->conflict = begins;
    skip_line(t);
    return true;
}

void owl_toml__skip_space(struct owl_toml *t)
{
    for (;;) {
        if (t->p == t->line_start && skip_conflict(t))
            continue;
        owl_toml__skip_blanks(t);
        if (t->p == t->end)
            return;
        if (*t->p == '#') {
            skip_comment(t);
            continue;
        }
        if (!owl_toml__at_line_end(t))
            return;
        t->p += *t->p == '\r';
        owl_toml__newline(t);
    }
}

/* ---- the way on after a fault ------------------------------------------------------------ */

const char *owl_toml__line_end(const struct owl_toml *t, const char *p)
{
    const char *end = p < t->end ? memchr(p, '\n', (size_t)(t->end - p)) : NULL;
    return end ? end : t->end;
}

/* Words that may stand alone in an array. */
static bool is_value_word(owl_str s)
{
    return owl_str_is(s, "true") || owl_str_is(s, "false") || owl_str_is(s, "inf") ||
           owl_str_is(s, "nan");
}

/* [word…], from the first column on: no array that is well-formed. */
static bool is_header(const char *p, const char *end)
{
    p++;
    p += p < end && *p == '[';
    const char *name = p;
    while (p < end && (owl_toml__bare(*p) || *p == '.'))
        p++;
    owl_str word = {name, (size_t)(p - name)};
    return word.n > 0 && p < end && *p == ']' && !owl_toml__digit(*name) && *name != '-' &&
           !is_value_word(word);
}

/* `key =`, dots and quotes and all. */
static bool is_pair(const char *p, const char *end)
{
    bool key = false;
    for (; p < end; p++) {
        if (owl_toml__bare(*p)) {
            key = true;
        } else if (*p == '"' || *p == '\'') {
            p = memchr(p + 1, *p, (size_t)(end - p - 1));
            if (!p)
                return false;
            key = true;
        } else if (*p != '.' && *p != ' ' && *p != '\t') {
            break;
        }
    }
    return key && p < end && *p == '=';
}

bool owl_toml__at_statement(const struct owl_toml *t)
{
    const char *p = t->line_start;
    while (p < t->p && (*p == ' ' || *p == '\t'))
        p++;
    if (p != t->p || p == t->end)
        return false;
    const char *end = owl_toml__line_end(t, p);
    return *p == '[' ? p == t->line_start && is_header(p, end) : is_pair(p, end);
}

static void skip_quoted(struct owl_toml *t)
{
    char q = *t->p;
    if (owl_toml__peek(t, 1) == q && owl_toml__peek(t, 2) == q) {
        t->p += 3;
        while (t->p < t->end &&
               !(*t->p == q && owl_toml__peek(t, 1) == q && owl_toml__peek(t, 2) == q)) {
            if (*t->p == '\n')
                owl_toml__newline(t);
            else
                t->p += *t->p == '\\' && q == '"' && t->end - t->p > 1 && t->p[1] != '\n' ? 2 : 1;
        }
        t->p += t->end - t->p >= 3 ? 3 : 0;
        return;
    }
    for (t->p++; t->p < t->end && *t->p != q && *t->p != '\n';)
        t->p += *t->p == '\\' && q == '"' && t->end - t->p > 1 && t->p[1] != '\n' ? 2 : 1;
    t->p += t->p < t->end && *t->p == q;
}

void owl_toml__skip_statement(struct owl_toml *t)
{
    uint32_t open = t->n_frames;
    bool fresh = true; /* a line, which is looked at once */
    while (open > 0 && t->p < t->end) {
        char c = *t->p;
        if (fresh && owl_toml__at_statement(t))
            return;
        fresh = c == '\n';
        if (fresh) {
            owl_toml__newline(t);
            owl_toml__skip_blanks(t);
        } else if (c == '"' || c == '\'') {
            skip_quoted(t);
        } else if (c == '#') {
            skip_line(t);
        } else {
            open += c == '[' || c == '{';
            open -= c == ']' || c == '}';
            t->p++;
        }
    }
    skip_line(t);
}

/* ---- the text as a whole ----------------------------------------------------------------- */

/* Text of another encoding gives no tree: what its bytes mean is anybody's guess. */
bool owl_toml__encoding_fits(struct owl_toml *t)
{
    unsigned faults = 0;
    size_t n = (size_t)(t->end - t->p);
    if (n >= 2 && (memcmp(t->p, "\xff\xfe", 2) == 0 || memcmp(t->p, "\xfe\xff", 2) == 0)) {
        struct owl_fault *f = owl_fault_add(t->in->faults, owl_toml__mark(t, t->p),
                                            "found text in UTF-16, expected UTF-8");
        owl_fault_hint(t->in->faults, f, "save the file as UTF-8");
        return false;
    }
    if (owl_utf8_valid((owl_str){t->p, n}))
        return true;
    while (t->p < t->end && faults < ENCODING_FAULTS) {
        size_t width = owl_text__utf8(t->p, t->end);
        if (*t->p == '\n') {
            owl_toml__newline(t);
        } else if (width > 0) {
            t->p += width;
        } else {
            struct owl_fault *f = owl_fault_add(
                t->in->faults, owl_toml__mark(t, t->p),
                "found the byte 0x%02X, which is not UTF-8, expected UTF-8",
                (unsigned)(unsigned char)*t->p);
            owl_fault_hint(t->in->faults, f, "save the file as UTF-8");
            faults++;
            skip_line(t);
        }
    }
    return false;
}

void owl_toml__rewind(struct owl_toml *t)
{
    owl_str text = t->in->text;
    size_t bom = owl_str_begins(text, "\xef\xbb\xbf") ? 3 : 0;
    t->p = t->line_start = t->counted = text.p ? text.p + bom : "";
    t->end = text.p ? text.p + text.n : t->p;
    t->line = t->column = 1;
}

/* config/report.c - faults for people and for programs.
 * Threads: pure.
 *
 * The line of the file is shown beneath the fault, what it may not show made unreadable. */
#include "config/report.h"

#include "base/visible.h"
#include "codec/json.h"
#include "config/redact.h"

enum {
    WIDTH = 160, /* characters of a line that are shown */
    INDENT = 4,
    QUOTED = 512 /* bytes; no reader quotes so many */
};

/* ---- the line --------------------------------------------------------------------------- */

/* One character of the line, as it may be seen: no control characters, a mark for what is hidden.
 * Returns the columns that it takes. */
static size_t show_character(struct owl_buf *b, owl_str one, bool hidden)
{
    owl_str rest = one;
    uint32_t character = owl_text_next(&rest);
    if (hidden && one.p[0] != ' ') {
        owl_buf_putc(b, '*');
    } else if (rest.n > 0 || !owl_utf8_valid(one)) {
        owl_buf_putc(b, '?');
    } else if (owl_text_unsafe(character)) {
        owl_buf_putc(b, ' ');
    } else {
        owl_buf_puts(b, one);
        return owl_text_columns(character);
    }
    return 1;
}

/* The line as it may be seen, and the columns before the fault and of what is meant. */
static void show_line(struct owl_buf *b, const struct owl_fault *f, const struct owl_redaction *h,
                      size_t *ret_before, size_t *ret_width)
{
    owl_str line = h->line;
    size_t open = 0, at = 1;
    *ret_before = *ret_width = 0;
    for (size_t i = 0; i < line.n && i < OWL_COUNT(h->byte) && at <= WIDTH; at++) {
        size_t next = i + 1;
        while (next < line.n && (line.p[next] & 0xc0) == 0x80)
            next++;
        size_t variable = owl_redact__variable((owl_str){line.p + i, line.n - i});
        open = variable > 0 ? i + variable : open;
        bool hidden = h->byte[i] && i >= open;
        size_t columns = show_character(b, (owl_str){line.p + i, next - i}, hidden);
        *ret_before += at < f->at.column ? columns : 0;
        *ret_width += at >= f->at.column && at - f->at.column < f->width ? columns : 0;
        i = next;
    }
    /* A mark may stand behind the end. */
    *ret_before += f->at.column > at ? f->at.column - at : 0;
}

static void show_place(struct owl_buf *b, const struct owl_fault *f, const struct owl_redaction *h,
                       bool colours)
{
    size_t before, width;
    if (!h->line.p || f->at.column > WIDTH)
        return;
    owl_buf_printf(b, "%*s", INDENT, "");
    show_line(b, f, h, &before, &width);
    owl_buf_printf(b, "\n%*s%s^", (int)(INDENT + before), "", colours ? "\033[32m" : "");
    for (size_t i = 1; i < width; i++)
        owl_buf_putc(b, '~');
    owl_buf_printf(b, "%s\n", colours ? "\033[0m" : "");
}

/* ---- words ------------------------------------------------------------------------------ */

/* How many bytes two texts have in common from their first on. */
static size_t alike(owl_str a, owl_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

/* What stands at the mark, as faults repeat it. */
struct quotable {
    char p[QUOTED + 4]; /* the last character may be a long one */
    size_t n;
    size_t clear; /* bytes that may be seen */
    size_t told;  /* bytes that were hidden already: less than that is a word of ours */
};

/* How many bytes of @p words are what stands at the mark, with or without the sign before it (*, &,
 * a quote): a few letters, or a whole word of fewer. Readers quote what they could not read. */
static size_t repeated(owl_str words, const struct quotable *q)
{
    enum { FEW = 4 }; /* so many in common are no accident */
    size_t least = q->told > FEW ? q->told : FEW;
    for (size_t skip = 0; skip < 2 && skip < q->n; skip++) {
        owl_str rest = {q->p + skip, q->n - skip};
        size_t n = alike(words, rest);
        bool ends = n > 0 && q->told == 0 && (n == rest.n || strchr(" ,]}\"'", rest.p[n])) &&
                    (n == words.n || strchr(" ,\"'`", words.p[n]));
        if ((n >= least || ends) && skip + n > q->clear)
            return n;
    }
    return 0;
}

/* The bytes, up to its end, of a "${" that names no variable: a secret may hold such a thing. */
static size_t odd_variable(owl_str words)
{
    size_t n = 0;
    if (words.n < 2 || memcmp(words.p, "${", 2) != 0 || owl_redact__variable(words) > 0)
        return 0;
    while (n < words.n && words.p[n] != '`')
        n++;
    return n;
}

static void find_quotable(struct quotable *q, const struct owl_redaction *h)
{
    owl_str rest = h->quoted ? (owl_str){h->line.p + h->at, h->line.n - h->at} : OWL_STR("");
    while (rest.n > 0 && q->n < QUOTED) {
        const char *from = rest.p;
        OWL_IGNORE(owl_text_next(&rest)); /* its bytes are what counts */
        size_t bytes = (size_t)(rest.p - from);
        memcpy(q->p + q->n, from, bytes);
        q->n += owl_text_tame(q->p + q->n, bytes, false);
        if (rest.p <= h->line.p + h->from)
            q->clear = q->n;
    }
}

static void put_words(struct owl_buf *b, owl_str words, const struct owl_redaction *h)
{
    struct quotable q = {.n = 0};
    find_quotable(&q, h);
    while (words.n > 0) {
        size_t n = h->secret ? odd_variable(words) : 0;
        if (n == 0 && h->quoted)
            n = repeated(words, &q);
        if (n == 0)
            owl_buf_putc(b, words.p[0]);
        else
            owl_buf_putz(b, "***");
        q.told = n > q.told ? n : q.told;
        n = n > 0 ? n : 1;
        words = (owl_str){words.p + n, words.n - n};
    }
}

static void put_quoted(struct owl_buf *b, owl_str words, const struct owl_redaction *h)
{
    struct owl_buf open;
    owl_buf_init(&open, b->max);
    put_words(&open, words, h);
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
    struct owl_redaction hidden;
    owl_redact__of(&hidden, c, f->at);
    put_words(b, f->what, &hidden);
    owl_buf_putc(b, '\n');
    show_place(b, f, &hidden, colours);
    if (f->hint.p) {
        owl_buf_putz(b, "  hint: ");
        put_words(b, f->hint, &hidden);
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
    struct owl_redaction hidden;
    owl_redact__of(&hidden, c, f->at);
    put_quoted(b, f->what, &hidden);
    if (f->hint.p) {
        owl_buf_putz(b, ",\"hint\":");
        put_quoted(b, f->hint, &hidden);
    }
    owl_buf_putc(b, '}');
}

/* config/report.c - faults for people and for programs.
 * Threads: pure.
 *
 * The line of the file is shown beneath the fault, what it may not show made unreadable. The words are
 * shown as they are: what they must not repeat was taken out when the configuration was loaded. */
#include "config/report.h"

#include "base/visible.h"
#include "codec/json.h"
#include "config/redact.h"

enum {
    WIDTH = 160, /* characters of a line that are shown */
    INDENT = 4
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

static void show_place(struct owl_buf *b, const struct owl_config *c, const struct owl_fault *f,
                       bool colours)
{
    size_t before, width;
    struct owl_redaction h;
    if (f->at.column > WIDTH)
        return;
    owl_redact__of(&h, c, f->at);
    if (!h.line.p)
        return;
    owl_buf_printf(b, "%*s", INDENT, "");
    show_line(b, f, &h, &before, &width);
    owl_buf_printf(b, "\n%*s%s^", (int)(INDENT + before), "", colours ? "\033[32m" : "");
    for (size_t i = 1; i < width; i++)
        owl_buf_putc(b, '~');
    owl_buf_printf(b, "%s\n", colours ? "\033[0m" : "");
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
    owl_buf_puts(b, f->what);
    owl_buf_putc(b, '\n');
    show_place(b, c, f, colours);
    if (f->hint.p) {
        owl_buf_putz(b, "  hint: ");
        owl_buf_puts(b, f->hint);
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
    owl_json_quote(b, f->what);
    if (f->hint.p) {
        owl_buf_putz(b, ",\"hint\":");
        owl_json_quote(b, f->hint);
    }
    owl_buf_putc(b, '}');
}

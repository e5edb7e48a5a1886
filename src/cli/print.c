/* cli/print.c - text for people: colour, width, paragraphs and tables.
 * Threads: one at a time. */
#include "cli/print.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH = 80, WIDTH_LEAST = 20, WIDTH_MOST = 100, GAP = 2, BELOW = 10, ROOM_LEAST = 24 };

/* ---- the stream ----------------------------------------------------------------------------- */

static bool wants_colour(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
}

void owl_print_init(struct owl_print *p, FILE *file, enum owl_colour colour)
{
    int fd = fileno(file); /* -1: in memory */
    struct winsize size = {0};
    size_t width = WIDTH;
    if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col;
    width = width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : width;
    bool on = colour == OWL_COLOUR_ALWAYS || (colour == OWL_COLOUR_AUTO && wants_colour(fd));
    *p = (struct owl_print){.file = file, .width = width, .colour = on};
}

static void begin(struct owl_print *p, enum owl_style style)
{
    static const char *const codes[] = {"", "1", "2", "32", "1;31", "36"};
    if (p->colour && style != OWL_PLAIN)
        fprintf(p->file, "\033[%sm", codes[style]);
}

static void end(struct owl_print *p, enum owl_style style)
{
    if (p->colour && style != OWL_PLAIN)
        fputs("\033[0m", p->file);
}

void owl_print(struct owl_print *p, enum owl_style style, const char *fmt, ...)
{
    va_list args;
    begin(p, style);
    va_start(args, fmt);
    OWL_IGNORE(vfprintf(p->file, fmt, args) < 0); /* the stream remembers */
    va_end(args);
    end(p, style);
}

static void blanks(struct owl_print *p, size_t n)
{
    fprintf(p->file, "%*s", (int)n, "");
}

/* ---- characters ----------------------------------------------------------------------------- */

size_t owl_text_width(owl_str text)
{
    size_t width = 0;
    while (text.n > 0)
        width += owl_text_columns(owl_text_next(&text));
    return width;
}

/* Text on one line, as a terminal may get it. */
static void put_safely(struct owl_print *p, owl_str text)
{
    while (text.n > 0) {
        const char *from = text.p;
        uint32_t c = owl_text_next(&text);
        if (c == '\t' || c == '\n')
            fputc(' ', p->file);
        else if (c == 0xfffd || owl_text_unsafe(c))
            fputs("\xef\xbf\xbd", p->file);
        else
            OWL_IGNORE(
                fwrite(from, 1, (size_t)(text.p - from), p->file)); /* the stream remembers */
    }
}

void owl_print_foreign(struct owl_print *p, enum owl_style style, owl_str text)
{
    begin(p, style);
    put_safely(p, text);
    end(p, style);
}

/* ---- paragraphs and tables ------------------------------------------------------------------ */

static owl_str take_word(const char **text)
{
    const char *start = *text + strspn(*text, " ");
    size_t n = strcspn(start, " \n");
    *text = start + n;
    return (owl_str){start, n};
}

void owl_print_wrapped(struct owl_print *p, size_t indent, size_t at, const char *text)
{
    bool fresh = true; /* nothing is on this line yet */
    while (*text) {
        if (*text == '\n') {
            fputc('\n', p->file);
            at = 0;
            fresh = true;
            text++;
            continue;
        }
        owl_str word = take_word(&text);
        size_t width = owl_text_width(word);
        if (!fresh && at + 1 + width > p->width) {
            fputc('\n', p->file);
            at = 0;
            fresh = true;
        }
        if (fresh && at < indent)
            blanks(p, indent - at);
        at = fresh && at < indent ? indent : at;
        fputs(fresh ? "" : " ", p->file);
        put_safely(p, word);
        at += width + !fresh;
        fresh = false;
    }
    fputc('\n', p->file);
}

void owl_print_table(struct owl_print *p, const char *const *cells, size_t columns, size_t rows)
{
    size_t widths[OWL_TABLE_COLUMNS] = {0}, left = GAP;
    OWL_ASSERT(columns > 0 && columns <= OWL_TABLE_COLUMNS);
    for (size_t i = 0; i < rows * columns; i++) {
        size_t width = owl_text_width(owl_str_of(cells[i])), c = i % columns;
        widths[c] = width > widths[c] ? width : widths[c];
    }
    for (size_t c = 0; c + 1 < columns; c++)
        left += widths[c] + GAP;
    /* Too narrow for all: the last cell gets lines of its own. */
    bool below = columns > 1 && left + ROOM_LEAST > p->width &&
                 left + widths[columns - 1] > p->width;
    size_t indent = below ? BELOW : left;

    for (size_t row = 0; row < rows; row++) {
        size_t at = 0;
        for (size_t c = 0; c + 1 < columns; c++) {
            const char *cell = cells[row * columns + c];
            size_t width = owl_text_width(owl_str_of(cell));
            blanks(p, GAP);
            owl_print_foreign(p, c == 0 ? OWL_BOLD : OWL_PLAIN, owl_str_of(cell));
            bool last = below && c + 2 == columns;
            blanks(p, last ? 0 : widths[c] - width);
            at += GAP + (last ? width : widths[c]);
        }
        if (below)
            fputc('\n', p->file);
        owl_print_wrapped(p, indent, below ? 0 : at, cells[row * columns + columns - 1]);
    }
}

/* cli/print.h - text for people: colour, width, paragraphs and tables.
 * Layer: cli. Threads: one at a time.
 *
 * Errors of the stream are kept by it; the program looks once, at its end. No locale is used: text
 * is UTF-8 whatever the environment says. */
#ifndef OWL_CLI_PRINT_H
#define OWL_CLI_PRINT_H

#include <stdio.h>

#include "base/visible.h"

enum owl_colour { OWL_COLOUR_AUTO, OWL_COLOUR_ALWAYS, OWL_COLOUR_NEVER };
enum owl_style { OWL_PLAIN, OWL_BOLD, OWL_DIM, OWL_GOOD, OWL_BAD, OWL_ACCENT };

struct owl_print {
    FILE *file;
    size_t width; /* columns of the terminal, 20 to 100; 80 if it is none */
    bool colour;
};

/* OWL_COLOUR_AUTO: if it is a terminal that can, and NO_COLOR is not set. */
void owl_print_init(struct owl_print *p, FILE *file, enum owl_colour colour);

/* Our own words. What somebody else has written goes through one of the other functions, which all
 * keep it from driving the terminal. */
void owl_print(struct owl_print *p, enum owl_style style, const char *fmt, ...) OWL_PRINTF(3, 4);
/* Text from elsewhere: what could drive the terminal or hide text is shown as U+FFFD, tabs and
 * newlines as blanks. */
void owl_print_foreign(struct owl_print *p, enum owl_style style, owl_str text);
/* Paragraphs, separated by empty lines, from column @p indent on, where the cursor is at @p at. */
void owl_print_wrapped(struct owl_print *p, size_t indent, size_t at, const char *text);

enum { OWL_TABLE_COLUMNS = 8 };
/* Rows of @p columns cells each (at most OWL_TABLE_COLUMNS), two blanks before and between them.
 * The last cell is wrapped; where there is no room for it, it begins on a line of its own. */
void owl_print_table(struct owl_print *p, const char *const *cells, size_t columns, size_t rows);

/* Columns that UTF-8 text takes on a terminal. */
size_t owl_text_width(owl_str text);

#endif

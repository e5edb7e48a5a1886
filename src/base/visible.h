/* base/visible.h - text from elsewhere, as people may read it: in a log, on a terminal, in a report.
 * Layer: base. Threads: pure.
 *
 * Whatever prints text that a peer, a file or a user has written passes it through here, so that one
 * list says what could drive a terminal, forge a line or hide text. Other UTF-8 stays as it is. */
#ifndef OWL_BASE_VISIBLE_H
#define OWL_BASE_VISIBLE_H

#include "base/buf.h"

/* Takes the next character off *@p text, which is not empty; U+FFFD for a byte that is none. */
uint32_t owl_text_next(owl_str *text);
/* Whether a character could drive the terminal or hide text: controls (C0, DEL, C1 with NEL), line
 * separators, marks of direction, what has no width, tags. */
bool owl_text_unsafe(uint32_t character);
/* Columns that it takes on a terminal: 0, 1 or 2; 1 for what is unsafe, which is shown as U+FFFD. */
size_t owl_text_columns(uint32_t character);
/* Appends text on one line: what is unsafe is shown as U+FFFD, tabs and newlines as blanks. */
void owl_put_visible(struct owl_buf *b, owl_str text);
/* The same in place and without memory, with "?" for U+FFFD: returns the bytes that are left, no more
 * than @p n. @p cut: the text may end within a character, which is left out then. */
size_t owl_text_tame(char *text, size_t n, bool cut);

#endif

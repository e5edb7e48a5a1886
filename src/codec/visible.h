/* codec/visible.h - text from elsewhere, as a terminal may get it.
 * Layer: codec (of the program, not of the library). Threads: pure. */
#ifndef OWL_CODEC_VISIBLE_H
#define OWL_CODEC_VISIBLE_H

#include "base/buf.h"

/* Takes the next character off *@p text, which is not empty; U+FFFD for a byte that is none. */
uint32_t owl_text_next(owl_str *text);
/* Whether a character could drive the terminal or hide text: controls, directions, tags. */
bool owl_text_unsafe(uint32_t character);
/* Columns that it takes on a terminal: 0, 1 or 2. */
size_t owl_text_columns(uint32_t character);
/* Appends text on one line: what is unsafe is shown as U+FFFD, tabs and newlines as blanks. */
void owl_put_visible(struct owl_buf *b, owl_str text);

#endif

/* transport/line.h - split a byte stream into lines.
 * Layer: transport. Threads: one at a time.
 *
 * A line ends in LF; a CR before it is dropped. Partial lines are kept. A line over the maximum is
 * reported once and skipped to its end; who wants to know what it was about sees it pass. */
#ifndef OWL_TRANSPORT_LINE_H
#define OWL_TRANSPORT_LINE_H

#include "base/buf.h"

struct owl_line {
    struct owl_buf buf; /* the partial line */
    size_t max;
    bool skipping; /* within a line that was refused */
    bool unseen;   /* … because there was no memory: nobody sees it pass */
};

struct owl_line_ops {
    void (*line)(void *user, owl_str line); /* valid during the call; never a blank line */
    void (*overlong)(void *user);
    /* The line that was just reported as overlong, from its beginning, piece by piece; the last one
     * ends it and may be empty, or end in the CR. NULL: nobody looks. */
    void (*skipped)(void *user, owl_str piece, bool last);
};

void owl_line_init(struct owl_line *l, size_t max);
void owl_line_done(struct owl_line *l);
/* Feed bytes; calls back for each complete line. 0, or -OWL_ENOMEM (the partial line is lost). */
OWL_NODISCARD int owl_line_feed(struct owl_line *l, owl_str bytes, const struct owl_line_ops *ops,
                                void *user);

#endif

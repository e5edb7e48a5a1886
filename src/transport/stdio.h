/* transport/stdio.h - one peer on a pair of descriptors, one message a line.
 * Layer: transport. Threads: the reactor's.
 *
 * Pipes, sockets, terminals and files all work. Whole lines are written, in order. While more than
 * `queue_bytes` wait to be written, nothing is read: a peer that does not read is not buffered
 * without end. If it hangs up then and takes nothing for 400 ms, that is the end of input. The ops
 * are never called from inside the functions below. */
#ifndef OWL_TRANSPORT_STDIO_H
#define OWL_TRANSPORT_STDIO_H

#include "reactor/reactor.h"

struct owl_stdio;

struct owl_stdio_options {
    int in_fd, out_fd;  /* stay the caller's; they are duplicated */
    bool own_stdout;    /* out_fd is 1: until the close, descriptor 1 leads to standard error */
    size_t line_bytes;  /* longest line; 0: 4 MiB */
    size_t queue_bytes; /* 0: 1 MiB */
};

struct owl_stdio_ops {
    void (*line)(void *user, owl_str line); /* valid during the call */
    void (*overlong)(void *user);           /* a line was refused and skipped */
    void (*eof)(void *user);                /* end of input or a broken pipe; called once */
    /* The line that was refused: see transport/line.h. NULL: nobody looks. */
    void (*skipped)(void *user, owl_str piece, bool last);
};

OWL_NODISCARD int owl_stdio_open(struct owl_reactor *r, const struct owl_stdio_options *o,
                                 const struct owl_stdio_ops *ops, void *user,
                                 struct owl_stdio **ret, owl_error *reterr);
/* Start reading; before it, only writing works. */
OWL_NODISCARD int owl_stdio_read(struct owl_stdio *s);
/* Write one line; the newline is added. @p line has none. -OWL_ECLOSED, -OWL_ENOMEM. */
int owl_stdio_write(struct owl_stdio *s, owl_str line);
/* Bytes that wait to be written. */
size_t owl_stdio_queued(const struct owl_stdio *s);
/* Flush what is queued (at most @p flush_ms), close, free, then call @p done (may be NULL). */
void owl_stdio_close(struct owl_stdio *s, unsigned flush_ms, void (*done)(void *user));

#endif

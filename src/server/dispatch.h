/* server/dispatch.h - what dispatch.c and batch.c share.
 * Layer: server, private. Threads: the front's reactor. */
#ifndef OWL_SERVER_DISPATCH_H
#define OWL_SERVER_DISPATCH_H

#include "server/server.h"

/* One message of a text that the scan has proved; @p tape may be NULL. As owl_dispatch(). */
enum owl_dispatched owl_dispatch__one(struct owl_inbound *in, owl_str proved,
                                      const struct owl_tape *tape, struct owl_call **ret_call,
                                      struct owl_buf *out, int *status);
/* The error response to a message that could not be read, with its @p id if that could (it may be
 * absent). */
enum owl_dispatched owl_dispatch__refuse(struct owl_inbound *in, owl_str id, const owl_error *err,
                                         struct owl_buf *out, int *status);
/* The members of a batch that is allowed. */
enum owl_dispatched owl_dispatch__batch(struct owl_inbound *in, owl_str array, struct owl_buf *out,
                                        int *status);

#endif

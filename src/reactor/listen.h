/* reactor/listen.h - TCP listeners, one SO_REUSEPORT socket a reactor, and fair placement.
 * Layer: reactor. Threads: open and close as said; accepted on the chosen reactor.
 *
 * Streams live for hours, so hashing alone leaves reactors unbalanced: an accepted descriptor goes
 * to the less loaded of the accepting reactor and one other, by mailbox. Out of descriptors, a
 * listener pauses for 100 ms instead of spinning. At most 64 connections are accepted a turn. */
#ifndef OWL_REACTOR_LISTEN_H
#define OWL_REACTOR_LISTEN_H

#include "reactor/reactor.h"

struct owl_listener;

/* A new connection, on the thread of @p r: takes the descriptor, which is non-blocking,
 * close-on-exec and has TCP_NODELAY set. The listener has counted it as load of @p r already, so
 * that the next placement sees it: the receiver inherits that count and does
 * owl_reactor_load_add(r, -1) when it has closed the connection. Not called on a reactor after
 * owl_listener_stop() there. */
typedef void (*owl_accept_fn)(void *user, struct owl_reactor *r, int fd);

/* The address is "127.0.0.1:8080", "[::1]:8080", "localhost:8080" or "8080" (both are 127.0.0.1),
 * or "[::]:8080" (IPv4 too). Port 0 picks one. */
struct owl_listen_options {
    owl_str address;
    unsigned max; /* load of the whole runtime beyond which connections are closed at once; not 0 */
    owl_accept_fn accept;
    void *user;
};

/* Binds. Before the start of the runtime; connections wait until then. Borrows @p o for the call.
 * @errors OWL_EINVAL (what is wrong with the address), OWL_EIO (address and reason), OWL_ENOMEM. */
OWL_NODISCARD int owl_listener_open(struct owl_runtime *rt, const struct owl_listen_options *o,
                                    struct owl_listener **ret, owl_error *reterr);
int owl_listener_port(const struct owl_listener *l);
bool owl_listener_loopback(const struct owl_listener *l);

/* Stop accepting on @p r; on its thread. Harmless if it is repeated. */
void owl_listener_stop(struct owl_listener *l, struct owl_reactor *r);
/* After all reactors have ended. If they were never started: before owl_runtime_join(); closes the
 * sockets then. NULL is fine. */
void owl_listener_free(struct owl_listener *l);

#endif

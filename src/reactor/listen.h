/* reactor/listen.h - listeners on TCP and Unix sockets, and fair placement.
 * Layer: reactor. Threads: as said; connections are accepted on the chosen reactor.
 *
 * TCP has one SO_REUSEPORT socket a reactor. A Unix socket is accepted from by reactor 0 alone.
 * Streams live for hours, so hashing alone leaves reactors unbalanced: an accepted descriptor goes
 * to the less loaded of the accepting reactor and one other, by mailbox. Out of descriptors, a
 * listener pauses for 100 ms instead of spinning. At most 64 connections are accepted a turn. Those
 * beyond a limit are closed at once, without a reset unless the peer has sent a lot already. */
#ifndef OWL_REACTOR_LISTEN_H
#define OWL_REACTOR_LISTEN_H

#include "reactor/peers.h"
#include "reactor/reactor.h"

struct owl_listener;

/* A new connection, on the thread of @p r: takes the descriptor, which is non-blocking,
 * close-on-exec and, if it is TCP, has TCP_NODELAY set. The listener has counted it already, as load
 * of @p r and as one of @p peer (NULL: nobody's): the receiver inherits these counts and gives them
 * back by owl_conn_left(r, peer) when it has closed the connection. Not called on a reactor after
 * owl_listener_stop() there. */
typedef void (*owl_accept_fn)(void *user, struct owl_reactor *r, int fd, struct owl_peer *peer);
/* [any] A connection that was accepted has been closed. */
void owl_conn_left(struct owl_reactor *r, struct owl_peer *peer);

/* The address is "127.0.0.1:8080", "[::1]:8080", "localhost:8080" or "8080" (both are 127.0.0.1),
 * or "[::]:8080" (IPv4 too). Port 0 picks one. Or it is "unix:/path", a socket file that only the
 * owner may use: it replaces one that nobody listens on, and is removed at the end. Or "unix:@name"
 * of Linux's abstract namespace, which every user of the machine may connect to. */
struct owl_listen_options {
    owl_str address;
    unsigned max; /* load of the whole runtime beyond which connections are closed at once; not 0 */
    struct owl_peers *peers; /* borrowed until the last owl_conn_left(); NULL: no limit a peer */
    owl_accept_fn accept;
    void *user;
    /* The listener has stopped on all reactors and none of its connections is between two of them:
     * owl_listener_free() may come now, on any thread. On a reactor. May be NULL. */
    void (*closed)(void *user);
};

/* [any] Binds and listens: connections wait until the listener and the runtime are started. Borrows
 * @p o for the call. @errors OWL_EINVAL (what is wrong with the address), OWL_EIO (address and
 * reason), OWL_ENOMEM. */
OWL_NODISCARD int owl_listener_bind(struct owl_runtime *rt, const struct owl_listen_options *o,
                                    struct owl_listener **ret, owl_error *reterr);
/* [any] Accept, before the start of the runtime or while it runs; once. A reactor that has no room for
 * one more handle says so in the log, and the others accept. */
void owl_listener_start(struct owl_listener *l);
/* Both. */
OWL_NODISCARD int owl_listener_open(struct owl_runtime *rt, const struct owl_listen_options *o,
                                    struct owl_listener **ret, owl_error *reterr);
int owl_listener_port(const struct owl_listener *l); /* Unix: 0 */
bool owl_listener_loopback(
    const struct owl_listener *l); /* nobody beyond this machine reaches it */

/* Stop accepting on @p r; on its thread, once it has been started. Connections that were accepted
 * live on. Harmless if it is repeated. */
void owl_listener_stop(struct owl_listener *l, struct owl_reactor *r);
/* [any] The same on all reactors, soon: by messages. Once, and not after `closed`. */
void owl_listener_close(struct owl_listener *l);
/* Before it was started, after `closed`, or after owl_runtime_join(). NULL is fine. */
void owl_listener_free(struct owl_listener *l);

#endif

/* reactor/peers.h - how many connections each peer has, and may have.
 * Layer: reactor. Threads: any, unless a function says otherwise.
 *
 * One table for all listeners and reactors, so that a peer cannot have its share of each. It holds
 * only peers that have a connection. IPv6 peers count by their /64: that is what a provider gives to
 * one customer, who may use as many of its addresses as he likes. */
#ifndef OWL_REACTOR_PEERS_H
#define OWL_REACTOR_PEERS_H

#include "reactor/nets.h"

struct owl_peers;
struct owl_peer; /* the connections of one peer; each holds it once */

struct owl_peers_options {
    unsigned max;                  /* connections of one peer; not 0 */
    bool count_local;              /* those from this machine, too: loopback, Unix sockets */
    const struct owl_nets *exempt; /* borrowed; NULL: nobody */
};

/* NULL without memory. */
OWL_NODISCARD struct owl_peers *owl_peers_new(const struct owl_peers_options *o);
/* After the last release. NULL is fine. */
void owl_peers_free(struct owl_peers *p);
unsigned owl_peers_max(const struct owl_peers *p);

/* Counts a connection from @p address. *ret is NULL if it is exempt. O(1) but for the exempt list.
 * @errors OWL_ELIMIT, OWL_ENOMEM. */
OWL_NODISCARD int owl_peers_take(struct owl_peers *p, const struct sockaddr_storage *address,
                                 struct owl_peer **ret);
/* A number for the address, the same whenever it comes; not 0. Of NULL: 0. */
uint64_t owl_peer_number(const struct owl_peer *peer);
/* Gives one back. NULL is fine. */
void owl_peer_release(struct owl_peer *peer);

#endif

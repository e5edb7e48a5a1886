/* reactor/nets.h - a set of peers by their addresses, e.g. the proxies that are trusted.
 * Layer: reactor. Threads: any; a set never changes. */
#ifndef OWL_REACTOR_NETS_H
#define OWL_REACTOR_NETS_H

#include <sys/socket.h>

#include "base/base.h"

enum { OWL_NETS_MAX = 256 }; /* members of a set: each is looked at */

struct owl_nets;

/* Addresses, CIDR blocks and "unix" (whoever comes through a Unix socket), separated by commas:
 * "10.0.0.0/8, 2001:db8::1, unix". Blanks around them do not matter; an empty text is the empty
 * set. @errors OWL_EINVAL (which one, and what is wrong with it), OWL_ENOMEM. */
OWL_NODISCARD int owl_nets_parse(owl_str text, struct owl_nets **ret, owl_error *reterr);
void owl_nets_free(struct owl_nets *n);

/* Whether the set has @p a; NULL is the empty set. An IPv4 address is the same in its IPv6 form. */
bool owl_nets_have(const struct owl_nets *n, const struct sockaddr_storage *a);

#endif

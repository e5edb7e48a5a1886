/* server/subs.h - what the files of subscribers share: who they are (subs.c), what they are told
 * (notify.c), what is gathered for them (changes.c).
 * Layer: server. Threads: see each. */
#ifndef OWL_SERVER_SUBS_H
#define OWL_SERVER_SUBS_H

#include "server/server.h"

/* On its reactor: where those are that listen for @p key, among a few others. Not the same any more
 * once a subscriber was added. */
struct owl_list *owl_subs__watches(struct owl_server_local *l, uint64_t key);

/* [any] To every reactor, which count in s->telling until all have heard. 0 or -OWL_ENOMEM: not all
 * are told. */
OWL_NODISCARD int owl_notify__changes(struct owl_server *s, unsigned changes);
OWL_NODISCARD int owl_notify__updated(struct owl_server *s, owl_str uri);
/* After the reactor has ended. */
void owl_notify__done(struct owl_server_local *l);

#endif

/* jsonrpc/find_id.h - the id of a message that is not read: too long, too deep, or JSON that we refuse.
 * Layer: jsonrpc. Threads: pure.
 *
 * Looks at one message as its bytes pass, however they are cut, and keeps nothing of it but the id. It
 * proves nothing: brackets and strings are followed, all else is taken as it comes. */
#ifndef OWL_JSONRPC_FIND_ID_H
#define OWL_JSONRPC_FIND_ID_H

#include "jsonrpc/envelope.h"

struct owl_id_finder {
    size_t depth;        /* open objects and arrays */
    bool closed;         /* the message is complete */
    bool string, escape; /* within a string; behind its backslash */
    bool value;          /* of a member of the message: behind its colon */
    bool taking;         /* … of the member `id` */
    bool hopeless; /* no object; a response, whose id is one of ours; two ids; a key with escapes */
    unsigned ids;
    char key[8]; /* of a member of the message; longer ones are cut */
    size_t key_n, id_n;
    char id[OWL_RPC_ID_BYTES]; /* as it is written; id_n beyond its size: too long */
};

void owl_id_finder_init(struct owl_id_finder *f);
void owl_id_finder_feed(struct owl_id_finder *f, owl_str piece);
/* The raw literal, which lives as long as @p f, once all was fed; absent if there is none that can be
 * told: the message is no request, is not complete, or its id is no id. */
owl_str owl_id_finder_end(struct owl_id_finder *f);

#endif

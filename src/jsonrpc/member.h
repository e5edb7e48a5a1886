/* jsonrpc/member.h - several members of an object at once.
 * Layer: jsonrpc. Threads: pure. */
#ifndef OWL_JSONRPC_MEMBER_H
#define OWL_JSONRPC_MEMBER_H

#include "base/arena.h"
#include "codec/scan.h"

/* The raw values of the members of @p proved that are called names[0…n-1]: ret[i] is that of
 * names[i], or absent. A key that is spelled with escapes is found too. Looked up on the tape of
 * the text if there is one that knows this object (the text itself or a value in it), otherwise by
 * one walk, which ends when all were found. False if @p proved is no object. */
bool owl_members(owl_str proved, const struct owl_tape *tape, const owl_str *names, size_t n,
                 owl_str *ret);

/* The members of @p proved one by one, in their order; on the tape as far as that knows it:
 *     struct owl_member_walk w = owl_member_walk(object, tape);
 *     for (struct owl_span s; owl_member_next(&w, &s);) …
 * Anything but an object has none. */
struct owl_member_walk {
    const struct owl_tape *tape; /* NULL: the text is walked */
    size_t at;
    unsigned level;
    struct owl_span_iter it;
};
struct owl_member_walk owl_member_walk(owl_str proved, const struct owl_tape *tape);
bool owl_member_next(struct owl_member_walk *w, struct owl_span *ret);

/* The text of a proved string literal: borrowed from the source if it has no escapes, otherwise
 * decoded into @p a. Absent if @p literal is no string. @errors OWL_ENOMEM, OWL_ELIMIT (arena
 * cap). */
OWL_NODISCARD int owl_member_text(struct owl_arena *a, owl_str literal, owl_str *ret);

#endif

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

/* The text of a proved string literal: borrowed from the source if it has no escapes, otherwise
 * decoded into @p a. Absent if @p literal is no string. @errors OWL_ENOMEM, OWL_ELIMIT (arena
 * cap). */
OWL_NODISCARD int owl_member_text(struct owl_arena *a, owl_str literal, owl_str *ret);

#endif

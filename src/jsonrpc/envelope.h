/* jsonrpc/envelope.h - JSON-RPC 2.0 messages: read from proved text, written to buffers.
 * Layer: jsonrpc. Threads: pure. */
#ifndef OWL_JSONRPC_ENVELOPE_H
#define OWL_JSONRPC_ENVELOPE_H

#include "base/arena.h"
#include "base/buf.h"
#include "jsonrpc/member.h"

enum { OWL_RPC_ID_BYTES = 1024, OWL_RPC_METHOD_BYTES = 256 };

enum owl_rpc_kind {
    OWL_RPC_REQUEST,
    OWL_RPC_NOTIFICATION,
    OWL_RPC_RESULT, /* a response with a result */
    OWL_RPC_ERROR   /* a response with an error */
};

/* One message, as spans of its source: ids, params and results keep their spelling. */
struct owl_rpc_msg {
    enum owl_rpc_kind kind;
    owl_str id;     /* raw literal, e.g. `7` or `"a"`; absent for notifications, maybe for errors */
    owl_str method; /* decoded */
    owl_str params; /* raw object (or array), or absent */
    owl_str payload;       /* raw result or error of a response */
    const owl_str *_known; /* the params of tbl/params.h, in the arena; NULL: there are none */
};

/* Read one message from text that owl_json_scan() has proved; @p tape is what it recorded, or NULL.
 * Method names with escapes are decoded into @p a, and where some params are is noted there: a few
 * hundred bytes, whatever the peer sends. Refused with OWL_EREQUEST, the message saying
 * which member and why: not an object; jsonrpc is not "2.0"; id neither string nor integer or too
 * long; method not a string or too long; params neither object nor array; both or neither of result
 * and error; a method beside them; an error that is no object; a response without id (an error may
 * have none, or null, which reads as none). OWL_ENOMEM and OWL_ELIMIT (arena). ret->id is set also on failure (absent if it was not readable), so that the answer
 * can name it; everything else of *ret only on success. */
OWL_NODISCARD int owl_rpc_read(struct owl_arena *a, owl_str proved, const struct owl_tape *tape,
                               struct owl_rpc_msg *ret, owl_error *reterr);

/* The raw value of a member of params, or {NULL,0}. O(1) for those of tbl/params.h, otherwise
 * O(params). */
owl_str owl_rpc_param(const struct owl_rpc_msg *msg, owl_str name);

/* One spelling for all of an id: @p id itself unless it has escapes. @errors OWL_ENOMEM,
 * OWL_ELIMIT (of the arena). */
OWL_NODISCARD int owl_rpc_id_plain(struct owl_arena *a, owl_str id, owl_str *ret);

/* ---- writing: whole messages on one line, without newline ---- */

/* {"jsonrpc":"2.0","id":ID,"result":  … the caller writes the value and owl_rpc_end(). */
void owl_rpc_begin_result(struct owl_buf *b, owl_str id);
/* {"jsonrpc":"2.0","id":ID,"method":"M","params":  … likewise. */
void owl_rpc_begin_request(struct owl_buf *b, owl_str id, owl_str method);
/* {"jsonrpc":"2.0","method":"M","params":  … likewise. */
void owl_rpc_begin_notification(struct owl_buf *b, owl_str method);
void owl_rpc_end(struct owl_buf *b);
/* {"jsonrpc":"2.0","id":ID,"error":{"code":C,"message":"M"  … the caller may write `,"data":`
 * and a value. An absent id is written as null, an empty one not at all. */
void owl_rpc_begin_error(struct owl_buf *b, owl_str id, int code, owl_str message);
void owl_rpc_end_error(struct owl_buf *b);
/* A whole error response. @p data is JSON text without newlines, or absent. */
void owl_rpc_error(struct owl_buf *b, owl_str id, int code, owl_str message, owl_str data);

#endif

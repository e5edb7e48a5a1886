/* mcp/state.h - requestState: a sealed note to ourselves that travels through the client.
 * Layer: mcp. Threads: a key is immutable; any.
 *
 * AES-256-GCM. Text form: base64url(key id ‖ nonce ‖ ciphertext ‖ tag). What it is bound to
 * (principal, method, name, digest of the arguments) is authenticated but not sent. */
#ifndef OWL_MCP_STATE_H
#define OWL_MCP_STATE_H

#include "base/arena.h"
#include "base/buf.h"

/* The longest text that is made or looked at. */
enum { OWL_STATE_KEY_BYTES = 32, OWL_STATE_MAX_BYTES = 64 * 1024 };

struct owl_state_key {
    unsigned char secret[OWL_STATE_KEY_BYTES];
    unsigned char id[4]; /* derived from the secret */
};
/* From 32 bytes, or (NULL) a random key of this process. 0 or -OWL_EIO. */
OWL_NODISCARD int owl_state_key_init(struct owl_state_key *k, const void *secret);

struct owl_state_bind {
    owl_str principal; /* empty if unauthenticated */
    owl_str method;
    owl_str name;
    owl_str args; /* digested (SHA-256): one spelling for equal arguments */
};

/* Append the sealed text of @p payload, which expires @p ttl_ms from now (wall clock). @errors
 * OWL_ELIMIT (too long), OWL_ENOMEM, OWL_EIO. */
OWL_NODISCARD int owl_state_seal(const struct owl_state_key *k, const struct owl_state_bind *bind,
                                 owl_str payload, uint64_t ttl_ms, struct owl_buf *out);
/* Open a text: the payload in @p a. @errors OWL_EPARAMS: not ours, tampered, expired, other key,
 * or bound to something else; the message does not tell an attacker which, except for expiry.
 * OWL_ENOMEM, OWL_ELIMIT (arena). */
OWL_NODISCARD int owl_state_open(const struct owl_state_key *k, const struct owl_state_bind *bind,
                                 owl_str text, struct owl_arena *a, owl_str *ret,
                                 owl_error *reterr);

#endif

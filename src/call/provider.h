/* call/provider.h - the one way from a call to whatever answers it.
 * Layer: call. Threads: everything here happens on the call's reactor.
 *
 * The step `invoke` hands a call to the provider of its item. There are two kinds:
 *   native  (native.c) parses the arguments, runs a handler of the program on a worker, and runs it
 *           again when the client has answered its questions. Items without a provider are native.
 *   relay   passes on what others say. It reads the request as the bytes that came (owl_call.msg and
 *           .arguments), gives a result back as text with an owner, and never parses what it only
 *           passes on. It may put requests to the client, withdraw them, and finish while one is
 *           open. What it does on other threads or reactors it brings to the call's reactor by a
 *           post, and holds the call with owl_call_ref() meanwhile. */
#ifndef OWL_CALL_PROVIDER_H
#define OWL_CALL_PROVIDER_H

#include "call/call.h"
#include "registry/provider.h"

/* The client's answer to a request of owl_call_request(). Borrowed. */
struct owl_client_answer {
    owl_str key;
    owl_str result; /* JSON object, proved; absent if the client refused */
    owl_str error;  /* JSON-RPC error object; absent if it did not */
};

struct owl_provider_ops {
    /* Begin. OWL_NEXT: it is answered by owl_call_give*(), within this function or later; a call
     * that is not finished within calls owl_call_await() first. OWL_FINISH: a failure was
     * recorded. The arguments fit the item's schema. */
    enum owl_verdict (*invoke)(struct owl_call *c);
    /* It was ended from outside, with that error (cancelled, timed out, stopping): nothing more is
     * given or answered. Not called for a call that was given its result. NULL: no matter. */
    void (*cancel)(struct owl_call *c, int error);
    /* May finish the call, or ask again. NULL: it never asks. */
    void (*answer)(struct owl_call *c, const struct owl_client_answer *a);
};
extern const struct owl_provider_ops owl_native;

/* The call waits for its provider, until its deadline. */
void owl_call_await(struct owl_call *c);

/* ---- the end, once ---- */

/* Text of a peer, and who keeps it. */
struct owl_given {
    owl_str result; /* whole result object, proved JSON, in the words of any revision */
    bool trusted;   /* its _meta may hold owlclaw/… */
    void *owner;    /* of the bytes; */
    void (*release)(void *owner); /* … called once, on the call's reactor; NULL: the call's arena */
};
/* The result. @errors OWL_EDONE: the call was ended or finished before; it is released all the
 * same. */
int owl_call_give(struct owl_call *c, const struct owl_given *g);
/* A JSON-RPC error of a peer: its code and data stay as they are, as far as the client's revision
 * allows. Copied. @errors OWL_EDONE. */
int owl_call_give_error(struct owl_call *c, owl_str error_object);
/* A failure of ours on the way, as owl_call_set_failure(). @errors OWL_EDONE. */
int owl_call_give_failure(struct owl_call *c, int error, const char *fmt, ...) OWL_PRINTF(3, 4);
/* To a modern client: it is to come back with answers to @p requests (key → {method, params}, JSON
 * object; absent: with none) and with the state. @p state is any text of the provider's, sealed
 * here; owl_call_state() has it when the client comes back. @errors OWL_EDONE; OWL_ESTATE (a legacy
 * client, or a method without this), OWL_ELIMIT (too long), OWL_ENOMEM: the call goes on. */
int owl_call_give_input(struct owl_call *c, owl_str requests, owl_str state);
/* In invoke(): that state, or absent. The answers are params.inputResponses. */
owl_str owl_call_state(const struct owl_call *c);

/* ---- requests to the client ---- */

/* Put a request to the client. @p key names it within the call, and is free again when it is
 * answered or withdrawn; @p params is a JSON object. The method is not judged, nor what the client
 * has declared. A legacy client gets it on the call's stream; a modern one as input_required, a few
 * milliseconds later, together with others. The time that it takes does not count against the
 * deadline. @errors OWL_EDONE; OWL_EEXISTS (the key); OWL_ESTATE (this client cannot be asked),
 * OWL_EBUSY, OWL_ELIMIT (too many), OWL_ECLOSED (it has gone), OWL_ENOMEM. */
OWL_NODISCARD int owl_call_request(struct owl_call *c, owl_str key, owl_str method, owl_str params);
/* Nobody needs the answer any more. False: there is no such request. */
bool owl_call_withdraw(struct owl_call *c, owl_str key);

#endif

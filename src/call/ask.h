/* call/ask.h - questions to the client: collected by the handler, sent and answered by the reactor.
 * Layer: call. Threads: as marked in call.h. */
#ifndef OWL_CALL_ASK_H
#define OWL_CALL_ASK_H

#include "call/call.h"

/* One question; lives in the call's arena. */
struct owl_ask {
    struct owl_ask *next;
    struct owl_call *call;
    owl_str key;
    const char *method; /* elicitation/create, sampling/createMessage, roots/list */
    owl_str params;     /* raw object */
    owl_str id;         /* raw literal of the request sent to a legacy client; absent: not sent */
    owl_str answer;     /* raw result, or absent */
};

/* The step `ask`: modern clients get input_required and this call ends; legacy clients get requests and the call waits. */
enum owl_verdict owl_ask_step(struct owl_call *c);
/* Read inputResponses and requestState of a modern retry; on the reactor, before the handler runs. */
enum owl_verdict owl_ask_restore(struct owl_call *c);
/* Forget what was sent; when a call ends. */
void owl_ask_drop(struct owl_call *c);

/* A response from a legacy client, on any reactor: finds the call that asked. @p session must be the one that was asked.
 * False if nobody waits for that id. */
bool owl_ask_answer(struct owl_host *h, struct owl_session *session, const struct owl_rpc_msg *msg);

#endif

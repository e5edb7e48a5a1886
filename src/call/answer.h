/* call/answer.h - a legacy client's response, also on its way to the reactor that sent the request.
 * Layer: call. Threads: as marked.
 *
 * A response that arrives on the reactor that asked is taken as it is. Any other is copied and posted;
 * then it counts in the budget of the reactor on which it arrived, and a session has only a few more
 * on their way than it has open requests, so that nobody fills memory with what was not asked for. */
#ifndef OWL_CALL_ANSWER_H
#define OWL_CALL_ANSWER_H

#include "call/call.h"

struct owl_answer {
    struct owl_session *session;
    owl_str id;      /* raw literal, of our request */
    owl_str payload; /* raw result or error object */
    bool refused;    /* it is an error */
    bool busy;       /* there was no room for the payload, which is empty */
};

/* What takes a response on the reactor that asked; false: nobody waits for it. */
typedef bool (*owl_answer_fn)(struct owl_call_env *env, struct owl_reactor *r,
                              const struct owl_answer *a);

/* [reactor @p r] Bring the response @p msg of @p session to @p to, whose @p take gets it, at once if
 * that is the same reactor. False: it was dropped. */
bool owl_answer_bring(struct owl_call_env *env, struct owl_reactor *r, struct owl_reactor *to,
                      struct owl_session *session, const struct owl_rpc_msg *msg,
                      owl_answer_fn take);

#endif

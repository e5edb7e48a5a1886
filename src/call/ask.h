/* call/ask.h - questions to the client: collected by the handler, sent and answered by the reactor.
 * Layer: call. Threads: as marked in call.h. */
#ifndef OWL_CALL_ASK_H
#define OWL_CALL_ASK_H

#include "call/call.h"
#include "codec/schema.h"

enum {
    OWL_ASK_ROUNDS = 32,         /* of questions within one call that waits */
    OWL_ASK_PARAMS = 1024 * 1024 /* bytes of params of one */
};

/* One question; lives in the call's arena, or on the heap if it is relayed. */
struct owl_ask {
    struct owl_ask *next;
    struct owl_call *call;
    owl_str key;
    const char
        *method; /* elicitation/create, sampling/createMessage, roots/list; NULL: only an answer */
    owl_ask_kind kind;
    owl_str params;                /* raw object */
    const struct owl_schema *form; /* FORM: what `content` must fit; freed with the arena */
    owl_str id; /* raw literal of the request sent to a legacy client; absent: not out */
    struct owl_session *asked; /* who it was sent to, counted; NULL: not out */
    char id_text[48];
    owl_str answer;        /* raw result, or absent */
    const owl_json *value; /* the same, parsed */
    bool refused;          /* the client would not answer */
    bool relayed;          /* a request of relay.c: the provider gets the answer, as it came */
    bool shown;            /* … and was sent to a modern client */
    int (*fn)(owl_call *call, const owl_json *answer,
              void *data); /* parked: what goes on with it */
    void *data;
};

/* A question that has no answer yet. */
static inline bool owl_ask_open(const struct owl_ask *a)
{
    return a->method && !a->answer.p && !a->refused;
}

/* The step `ask`: modern clients get input_required and this call ends; legacy clients get requests
 * and the call waits. A parked call waits in both cases. */
enum owl_verdict owl_ask_step(struct owl_call *c);
/* Read inputResponses and requestState of a modern retry; on the reactor, before the handler runs.
 * OWL_SUSPEND: the retry is handed to the parked call that it belongs to. */
enum owl_verdict owl_ask_restore(struct owl_call *c);
/* Forget what was sent; when a call ends. */
void owl_ask_drop(struct owl_call *c);
/* What the worker runs for a parked call with answers: its functions; the handler's status. */
int owl_ask_continue(struct owl_call *c);
/* All answers are there: run the handler again from its start, or the functions of a parked
 * call. */
void owl_ask_go_on(struct owl_call *c);

/* A response from a legacy client, on any reactor, @p r: finds the call that asked. @p session must
 * be the one that was asked. What is kept of it until then counts as what calls of @p r parse; where
 * that is too much, the call hears that its client is to be asked again. False if nobody waits for
 * that id, or more answers of the session are on their way than it has questions, and a few: nothing
 * is kept. */
bool owl_ask_answer(struct owl_call_env *h, struct owl_reactor *r, struct owl_session *session,
                    const struct owl_rpc_msg *msg);

/* ---- between ask.c, ask_legacy.c, park.c, relay.c and task.c ---- */

/* The question of that key, as text or as a member of an object; or NULL. */
struct owl_ask *owl_ask__find(struct owl_call *c, owl_str key);
struct owl_ask *owl_ask__find_key(struct owl_call *c, const struct owl_span *s);

/* For a call that waits: every member of a JSON object becomes the answer to the open question of
 * its key. Other keys, and answers that do not fit, are ignored. @errors OWL_ENOMEM, OWL_EBUSY (an
 * answer could not be kept: its question stays open). */
OWL_NODISCARD int owl_ask__take(struct owl_call *c, owl_str object);
/* Keeps an answer for longer than what brought it. 0, -OWL_ENOMEM, or -OWL_EBUSY: calls hold too
 * much, and this one nothing more. */
OWL_NODISCARD int owl_ask__keep(struct owl_call *c, struct owl_ask *a, owl_str answer);
/* The open questions as an object: key → {method, params}. */
void owl_ask__requests(struct owl_call *c, struct owl_buf *out);
/* A legacy client is asked, and the call waits. */
enum owl_verdict owl_ask__legacy(struct owl_call *c);
/* Whether the client of another call has declared all that the open questions need. */
bool owl_ask__may(struct owl_call *c, struct owl_call *client);
/* To a legacy client: send the open questions; forget that they were sent; tell it that it need not
 * answer those that are answered. */
OWL_NODISCARD int owl_ask__send(struct owl_call *c);
void owl_ask__unsend(struct owl_call *c);
void owl_ask__withdraw(struct owl_call *c);
/* Close one question; a client that has it gets notifications/cancelled. */
void owl_ask__withdraw_one(struct owl_call *c, struct owl_ask *a);
/* "requestState":"…"; @p payload is what is sealed. */
OWL_NODISCARD int owl_ask__seal(struct owl_call *c, owl_str payload, struct owl_buf *out);
/* "inputRequests":{…},"requestState":"…" for the open questions; likewise. */
OWL_NODISCARD int owl_ask__write(struct owl_call *c, owl_str payload, struct owl_buf *out);

/* Whether a result is an answer to the question: it has the members that its kind must have, and
 * what was entered into a form fits its schema. @errors OWL_ENOMEM. */
OWL_NODISCARD int owl_ask__fits(const struct owl_ask *a, owl_str answer, bool *ret_fits);
/* Fails the call: the answer does not fit, and a legacy client is not asked again. */
int owl_ask__reject(struct owl_call *c, const struct owl_ask *a, owl_str answer);

/* ---- requests of a provider (relay.c) ---- */

/* The provider gets the answer to its request, which is gone afterwards; so may be the call. */
void owl_relay__answer(struct owl_call *c, struct owl_ask *a, owl_str payload, bool refused);
/* Forget the requests, none of which is out. */
void owl_relay__drop(struct owl_call *c);
/* The members of the result that was given, for clients of the call's revision, and of its _meta. */
void owl_relay__members(struct owl_call *c, struct owl_buf *members, struct owl_buf *meta);

/* ---- forms (form.c) ---- */

/* The requestedSchema of a question's params, compiled; freed with @p arena. It must be what MCP
 * calls a flat object of primitives. @errors OWL_EINVAL (what is wrong), OWL_ENOMEM. */
OWL_NODISCARD int owl_form_compile(struct owl_arena *arena, owl_str params,
                                   const struct owl_schema **ret, owl_error *reterr);
/* The params of a form in the words of 2025-06-18, which has no titled choices and none of which
 * several may be taken: each becomes an enum with enumNames, of which the user takes one. */
void owl_form_put_old(struct owl_buf *b, owl_str params);
/* What a client answered to that, as an answer to @p params: one of several becomes a list. */
void owl_form_put_answer(struct owl_buf *b, owl_str params, owl_str answer);

/* ---- parked calls (park.c) ---- */

/* A modern client is asked: its request is answered with input_required, the call stays. */
enum owl_verdict owl_park_step(struct owl_call *c);
/* The same for requests of a provider, a little later. */
void owl_park_on_timer(struct owl_timer *t);
/* The retry @p front has opened a state that names a parked call (a raw string). */
enum owl_verdict owl_park_attach(struct owl_call *front, owl_str literal);
/* The answer of a call that speaks through a retry. */
void owl_park_reply(struct owl_call *c);
/* The retry is answered with a result of this type; the call goes on by itself. */
void owl_park_leave(struct owl_call *c, const char *type, owl_str members);
/* Forget it; when a call ends. */
void owl_park_drop(struct owl_call *c);
/* End the calls that wait for a client to come back. */
void owl_park_end_all(struct owl_call_local *l);

#endif

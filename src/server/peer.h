/* server/peer.h - the clients of a server outside of any call: what they say, what is said to them.
 * Layer: server. Threads: see each function.
 *
 * A legacy session is spoken to on the stream that it has for that: stdio, the stream of the old
 * HTTP+SSE, or its newest GET. Modern clients cannot be spoken to outside of calls. */
#ifndef OWL_SERVER_PEER_H
#define OWL_SERVER_PEER_H

#include "mcp/session.h"
#include "reactor/reactor.h"

struct owl_server;

/* ---- to a client ---- */

enum { OWL_PEER_REQUEST_BYTES = 1 << 20 }; /* method and params of a request, at most */

/* [any] Sends @p message, a whole notification on one line, which is copied. It is lost if the stream
 * ends before, or if the client reads too slowly. @errors OWL_ECLOSED (the session has ended, or the
 * server stops), OWL_ESTATE (it is not initialized, or has no stream now), OWL_ENOMEM. */
OWL_NODISCARD int owl_session_send(struct owl_server *s, struct owl_session *session,
                                   owl_str message);

/* What became of a request, on the reactor on which the session's stream was. @p payload is the
 * `result` (rc 0) or the `error` object (rc -OWL_ETOOL) of the answer, and lives until this returns.
 * Otherwise it is absent, and rc is -OWL_ETIMEOUT; -OWL_ECLOSED: the session has ended, its stream had
 * gone before it was asked, or the server stops; -OWL_EBUSY: too many requests of the reactor wait for
 * answers, or there was no room for this one; or -OWL_ENOMEM. */
typedef void owl_session_answer_fn(void *user, int rc, owl_str payload);

struct owl_session_question {
    const char *method;
    owl_str params;      /* a JSON object on one line, or absent */
    unsigned timeout_ms; /* 0: that of questions, owl_limits.question_ms */
    owl_session_answer_fn *done;
    void *user;
};

/* [any] Asks the client; all is copied. `done` is called once, never from inside this call, unless
 * this fails. Whether the client has declared that it can answer is for the caller to know. When the
 * time is over the client gets notifications/cancelled. @errors as
 * owl_session_send(), OWL_EBUSY (64 questions wait for its answers), OWL_ELIMIT (too long). */
OWL_NODISCARD int owl_session_request(struct owl_server *s, struct owl_session *session,
                                      const struct owl_session_question *question);

/* ---- from a client ---- */

/* A notification. Valid during the call. */
struct owl_peer_note {
    struct owl_server *server;
    struct owl_reactor *reactor; /* on which it has arrived, and the call is made */
    struct owl_session *session; /* NULL: of a modern client */
    owl_str principal;           /* whose it is; empty: nobody knows */
    owl_str method;
    owl_str params; /* raw object or array, or absent */
};

/* Before the start: @p fn hears of client notifications of that method, beside others that do.
 * NULL: of those that nobody else hears of, the server included. Those of sessions that are not
 * initialized are not passed on. @errors OWL_EINVAL, OWL_ESTATE (it has been started), OWL_ENOMEM. */
OWL_NODISCARD int owl_server_on_notification(struct owl_server *s, const char *method,
                                             void (*fn)(void *user, const struct owl_peer_note *n),
                                             void *user);

#endif

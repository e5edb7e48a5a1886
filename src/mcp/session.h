/* mcp/session.h - legacy sessions: what `initialize` agreed, and a table to find them.
 * Layer: mcp. Threads: any; the table is striped, a session is counted atomically and has a small
 * lock of its own.
 *
 * A session id is "<owner>-<32 hex digits>": the reactor that owns the session and 128 random
 * bits. */
#ifndef OWL_MCP_SESSION_H
#define OWL_MCP_SESSION_H

#include <stdatomic.h>

#include "mcp/model.h"

enum {
    OWL_SESSION_URI_BYTES = 8192,
    OWL_SESSION_URIS_BYTES = 256 * 1024,
    OWL_SESSION_CLIENT_BYTES = 16 * 1024 /* capabilities and clientInfo together */
};

struct owl_session;
struct owl_sessions;

struct owl_session_init {
    enum owl_rev rev;
    owl_str client_caps; /* raw object, copied */
    owl_str client_info; /* raw object, copied */
    owl_str principal;   /* whose it is, copied; empty: nobody knows */
    unsigned offered;    /* OWL_CAP_…: the capabilities declared to the client */
    unsigned owner;      /* reactor index */
};

/* A session outside any table (stdio, the old HTTP+SSE): id "". What it is subscribed to counts
 * among that of @p t (may be NULL), whose observers hear of it. One reference; NULL without memory. */
OWL_NODISCARD struct owl_session *owl_session_new(struct owl_sessions *t,
                                                  const struct owl_session_init *init);
/* End such a session: owl_session_ended() is true. Harmless if it is repeated. */
void owl_session_end(struct owl_session *s);
struct owl_session *owl_session_aref(struct owl_session *s);
void owl_session_aunref(struct owl_session *s);

owl_str owl_session_id(const struct owl_session *s);
enum owl_rev owl_session_rev(const struct owl_session *s);
owl_str owl_session_client_caps(const struct owl_session *s);
owl_str owl_session_client_info(const struct owl_session *s);
owl_str owl_session_principal(const struct owl_session *s);
unsigned owl_session_offered(const struct owl_session *s);
unsigned owl_session_owner(const struct owl_session *s);

bool owl_session_initialized(const struct owl_session *s);
void owl_session_set_initialized(struct owl_session *s);
/* The least severe level that the client wants; OWL_LEVEL_INFO until it said so. */
owl_level owl_session_log_level(const struct owl_session *s);
void owl_session_set_log_level(struct owl_session *s, owl_level level);
bool owl_session_ended(const struct owl_session *s);

/* The client says that its roots have changed: the observers hear of it. */
void owl_session_roots_changed(struct owl_session *s);

/* A number that no other session has, of this process nor, as good as certainly, of one before or
 * after it: a store may keep it. Not 0, and less than 2^63. Nothing is to depend on clients not
 * knowing it. */
uint64_t owl_session_serial(const struct owl_session *s);

/* On which reactor the newest stream lives that the session can be spoken to on outside of calls:
 * stdio, the old HTTP+SSE, GET. Index, or -1: it has none. */
int owl_session_stream_at(const struct owl_session *s);
void owl_session_set_stream(struct owl_session *s, unsigned reactor);
/* The last stream of that reactor has ended; one that has been opened elsewhere stays. */
void owl_session_clear_stream(struct owl_session *s, unsigned reactor);

/* One more of what it may have only so many of, until it leaves. False: there are @p most. */
enum owl_session_part {
    OWL_SESSION_CALLS,
    OWL_SESSION_QUESTIONS,
    OWL_SESSION_ANSWERS, /* on their way to the reactors that asked */
    OWL_SESSION__PARTS
};
OWL_NODISCARD bool owl_session_enter(struct owl_session *s, enum owl_session_part part,
                                     size_t most);
void owl_session_leave(struct owl_session *s, enum owl_session_part part);
/* How many it has. */
size_t owl_session_has(const struct owl_session *s, enum owl_session_part part);

/* Subscribed resource URIs (at most 1000 a session, each at most OWL_SESSION_URI_BYTES, together
 * OWL_SESSION_URIS_BYTES: OWL_ELIMIT). Twice is once. If all sessions together have as many as
 * there may be, another that nobody holds and that has no less ends for it: of those unused for long
 * the one with most. @errors OWL_ELIMIT, OWL_ENOMEM, OWL_EBUSY (there is none). */
OWL_NODISCARD int owl_session_subscribe(struct owl_session *s, owl_str uri);
void owl_session_unsubscribe(struct owl_session *s, owl_str uri);
bool owl_session_subscribed(struct owl_session *s, owl_str uri);

/* At most @p max sessions (0: no limit), each ending after @p idle_ms without use (0: never), whose
 * subscriptions take @p max_uri_bytes at most (0: no limit). NULL without memory. */
OWL_NODISCARD struct owl_sessions *owl_sessions_new(size_t max, uint64_t idle_ms,
                                                    size_t max_uri_bytes);
/* What parts of a program hear of sessions on every front. Each function may be NULL. They are called
 * on the thread on which it happens (a reactor; whichever ends the session), under no lock, in the
 * order of their registration, and may not use the table. One that needs a thread of its own
 * posts; it may count the session. */
struct owl_session_observer {
    void (*opened)(void *user, struct owl_session *s); /* before anything else of the session */
    void (*ended)(void *user, struct owl_session *s);  /* once; in whatever way but by
                                                          owl_sessions_free() */
    void (*level)(void *user, struct owl_session *s, owl_level level); /* it wants these logs */
    void (*roots_changed)(void *user, struct owl_session *s);
    void *user;
};
enum { OWL_SESSION_OBSERVERS = 8 };
/* Before the first session; copied. @errors OWL_ELIMIT (there are OWL_SESSION_OBSERVERS). */
OWL_NODISCARD int owl_sessions_observe(struct owl_sessions *t,
                                       const struct owl_session_observer *o);
/* Ends all; sessions that are still referenced live on outside the table. */
void owl_sessions_free(struct owl_sessions *t);
/* A new session in the table, with a reference for the caller. In a full table one that nobody
 * holds and that was unused for long ends for it. @errors OWL_EBUSY (all are held; names the
 * limit), OWL_ENOMEM, OWL_EIO. */
OWL_NODISCARD int owl_sessions_open(struct owl_sessions *t, const struct owl_session_init *init,
                                    struct owl_session **ret, owl_error *reterr);
/* The session of that id with a reference for the caller, or NULL; counts as use. */
OWL_NODISCARD struct owl_session *owl_sessions_find(struct owl_sessions *t, owl_str id);
/* End one: no longer found, owl_session_ended() is true. False if there was none. */
bool owl_sessions_end(struct owl_sessions *t, owl_str id);
/* A number for one more event stream of the session; they count from 1. */
uint64_t owl_session_next_stream(struct owl_session *s);
/* A session in use (a stream is open) does not expire: */
void owl_session_hold(struct owl_session *s);
void owl_session_release(struct owl_session *s);
bool owl_session_held(const struct owl_session *s);

/* Places of streams that last. */
struct owl_places {
    atomic_size_t taken;
    size_t max;
};
/* False: there is none left. */
OWL_NODISCARD bool owl_places_take(struct owl_places *p);
void owl_places_give(struct owl_places *p);
/* A stream of GET begins, with a place of its own or, if there is none left, with that of another
 * stream of the session: who comes back replaces what broke, before or after the server sees that it
 * broke. False: it has none either. */
OWL_NODISCARD bool owl_session_stream_enter(struct owl_session *s, struct owl_places *p);
void owl_session_stream_leave(struct owl_session *s, struct owl_places *p);

/* End those that were idle too long at monotonic @p now_ms, a few at a time; how many. */
size_t owl_sessions_sweep(struct owl_sessions *t, uint64_t now_ms);
size_t owl_sessions_count(struct owl_sessions *t);

#endif

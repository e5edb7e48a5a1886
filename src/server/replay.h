/* server/replay.h - what event streams have said, for clients that lost one and come back.
 * Layer: server. Threads: see each part.
 *
 * A log is the record of one event stream. Its producer (a call's front, or a session's subscriber)
 * lives on one reactor and appends; its reader is an HTTP response on any reactor, with a position
 * in the log. The two meet under the log's lock only: the producer wakes the reader, which reads.
 * There is one reader at most: a new one takes the log over from the last. While nobody reads, and
 * for a while after the end, the log is kept: the client may name an event and go on from there.
 *
 * An event id is "<stream>-<n>": the stream's number within its session, and the event's in it. */
#ifndef OWL_SERVER_REPLAY_H
#define OWL_SERVER_REPLAY_H

#include "base/buf.h"
#include "base/list.h"
#include "reactor/reactor.h"

struct owl_replay_limits {   /* 0: the default */
    size_t replay_bytes;     /* of one stream; 256 KiB, the oldest events go first */
    unsigned replay_events;  /* of one stream; 1000, likewise */
    unsigned replay_streams; /* of one session; 100, those that ended or lost their client first */
    size_t replay_total_bytes; /* of all; 64 MiB, likewise */
    unsigned replay_ms;        /* after its end or the loss of its client; 60 s */
    unsigned replay_retry_ms;  /* before a client comes back; 1 s */
};

struct owl_replay_table; /* all logs of a server */
struct owl_replay;       /* one log; counted */

/* NULL without memory. */
OWL_NODISCARD struct owl_replay_table *owl_replay_table_new(const struct owl_replay_limits *limits);
/* On reactor 0: nothing is begun there any more. */
void owl_replay_table_stop(struct owl_replay_table *all);
/* After all reactors have ended, or have no log any more. NULL is fine. */
void owl_replay_table_free(struct owl_replay_table *all);
const struct owl_replay_limits *owl_replay_table_limits(const struct owl_replay_table *all);
/* [any] The session has ended: none of its logs is found any more. */
void owl_replay_table_forget(struct owl_replay_table *all, uint64_t session);
/* [any] Forget what was kept long enough at monotonic @p now_ms; happens by itself. */
void owl_replay_table_sweep(struct owl_replay_table *all, uint64_t now_ms);
/* [any] Memory of all logs together. */
size_t owl_replay_table_bytes(const struct owl_replay_table *all);

/* ---- the producer: on its reactor ---- */

enum {
    OWL_REPLAY_KEEP = 1, /* events have ids and are kept; otherwise they go with their reader */
    OWL_REPLAY_FEED = 2  /* the one stream on which the server speaks first: replaces the last */
};

struct owl_replay_init {
    struct owl_reactor *reactor;
    uint64_t session; /* its serial */
    uint64_t stream;  /* a number that no other stream of the session has */
    unsigned flags;
    /* Who does not read it now never will: it was kept long enough, gave way, had to drop what
     * nobody has read, or its session has ended. Once, and not after owl_replay_finish(). */
    void (*forgotten)(void *user);
    void *user;
};
/* A new log, the producer's until owl_replay_finish(). @errors OWL_ENOMEM, OWL_ELIMIT (as many
 * streams of this session as are kept have clients that read). */
OWL_NODISCARD int owl_replay_new(struct owl_replay_table *all, const struct owl_replay_init *init,
                                 struct owl_replay **ret);
/* An event without a message, that tells its id and how long to wait before coming back; if it is
 * kept. */
OWL_NODISCARD int owl_replay_prime(struct owl_replay *log);
/* A message, on one line to every reader (see owl_json_line_split()). @errors OWL_ENOMEM,
 * OWL_ECLOSED: nobody reads and nobody will. */
OWL_NODISCARD int owl_replay_append(struct owl_replay *log, owl_str message);
/* Send the reader away, if there is one and it may come back. */
void owl_replay_release(struct owl_replay *log);
/* Nothing will follow; the log is no longer the producer's. */
void owl_replay_finish(struct owl_replay *log);

/* ---- the reader: on its own reactor ---- */

struct owl_replay_reader {
    struct owl_reactor *reactor;
    /* There is something to read, or the end: owl_replay_read(). May be called from within the
     * producer's functions, if it lives on the same reactor. */
    void (*ready)(struct owl_replay_reader *rd);
    /* After owl_replay_detach(), as soon as nothing refers to it. */
    void (*free)(struct owl_replay_reader *rd);

    struct owl_msg _wake;
    struct owl_replay *_log; /* counted */
    uint64_t _next;          /* the first event that it has not read */
    bool _woken;             /* _wake is under way */
    bool _lost;              /* it was sent away, or another has taken its place */
    bool _closed;            /* detached while _wake was under way */
};

enum owl_replay_state {
    OWL_REPLAY_OPEN,  /* that is all for now */
    OWL_REPLAY_MORE,  /* read on */
    OWL_REPLAY_ENDED, /* that was the last */
    OWL_REPLAY_LOST   /* the log is not this reader's any more */
};

/* The event after which a client wants to go on. */
struct owl_replay_mark {
    struct owl_replay *log; /* counted: owl_replay_unref() */
    uint64_t from;          /* the event after that one */
    bool over;              /* it will never be: the stream has ended */
};
/* [any] @errors OWL_EINVAL (no event id at all), OWL_ENOTFOUND (none of this session, its stream
 * was forgotten, or events after it were dropped). */
OWL_NODISCARD int owl_replay_find(struct owl_replay_table *all, uint64_t session, owl_str event_id,
                                  struct owl_replay_mark *ret);
void owl_replay_unref(struct owl_replay *log);

/* Read from the event @p from (0: the first) on. Whoever read it is sent away. Nothing is read yet:
 * owl_replay_read(). -OWL_ECLOSED: it was forgotten just now, or that event was dropped. */
OWL_NODISCARD int owl_replay_attach(struct owl_replay *log, struct owl_replay_reader *rd,
                                    uint64_t from);
/* Append the next events to @p out. What does not fit in memory is not read: see out->rc. */
enum owl_replay_state owl_replay_read(struct owl_replay_reader *rd, struct owl_buf *out);
/* The reader goes: rd->free() follows, at once or later. */
void owl_replay_detach(struct owl_replay_reader *rd);

#endif

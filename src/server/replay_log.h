/* server/replay_log.h - a log and the table of all logs, as their files see them.
 * Layer: server (private to replay.c, replay_table.c). Threads: any.
 *
 * The table's lock guards which logs there are: those of a session hang on its shelf, and those that
 * nobody waits at (ended, or without a reader) stand in line to be forgotten, the oldest first. A
 * log's own lock guards its events and its reader; it may be taken under the table's, never the
 * other way round. Messages are posted under either, functions of producers and readers are called
 * under none.
 *
 * The table counts each log that is on a shelf, the producer counts it until it has finished, a
 * reader while it is attached. */
#ifndef OWL_SERVER_REPLAY_LOG_H
#define OWL_SERVER_REPLAY_LOG_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "reactor/timer.h"
#include "server/replay.h"

struct owl_replay__event;
struct owl_replay__shelf;

struct owl_replay {
    struct owl_replay_table *all;
    atomic_uint refs;
    uint64_t stream;
    unsigned flags;

    /* the producer's; on its reactor */
    struct owl_reactor *reactor;
    void (*forgotten_fn)(void *user);
    void *user;
    struct owl_msg told; /* posted once: it was forgotten */

    /* under the table's lock */
    struct owl_replay__shelf *shelf; /* NULL: nobody finds it any more */
    struct owl_list on_shelf, in_line;
    uint64_t line_ms; /* since when it stands in line */

    pthread_mutex_t lock; /* the rest */
    struct owl_replay__event *first, *last;
    size_t n, bytes;
    uint64_t seq;        /* of the last event */
    uint64_t gone, read; /* events before that one were dropped, before this one were read */
    bool finished, forgotten;
    struct owl_replay_reader *reader;
};

struct owl_replay_table {
    struct owl_replay_limits limits;
    atomic_size_t bytes;
    pthread_mutex_t lock;   /* the rest */
    struct owl_map shelves; /* by session */
    struct owl_list line;
    struct owl_msg arm; /* to the timer's reactor */
    bool armed;
    bool stopped;
    struct owl_timer timer; /* on reactor 0 */
};

static inline void owl_replay__ref(struct owl_replay *log)
{
    atomic_fetch_add_explicit(&log->refs, 1u, memory_order_relaxed);
}

/* ---- replay.c ---- */

/* It is off its shelf: nobody finds it any more; a reader that has it reads on. */
void owl_replay__forget(struct owl_replay *log);
/* The same unless somebody reads it: false. */
OWL_NODISCARD bool owl_replay__give_way(struct owl_replay *log);

/* ---- replay_table.c ---- */

/* Before @p more bytes are kept: those that stand in line give way. */
void owl_replay_table__make_room(struct owl_replay_table *all, size_t more);
/* Puts a new log on the shelf of its session. @errors OWL_ENOMEM, OWL_ELIMIT. */
OWL_NODISCARD int owl_replay_table__add(struct owl_replay *log, uint64_t session);
/* Somebody waits at the log, or nobody does any more: out of the line, or into it. */
void owl_replay_table__settle(struct owl_replay *log);

#endif

/* server/replay.c - the logs of event streams, and the table of them.
 *
 * Any thread. The table's lock guards which logs there are: those of a session hang on its shelf,
 * and those that nobody waits at (ended, or without a reader) stand in line to be forgotten, the
 * oldest first. A log's own lock guards its events and its reader; it may be taken under the
 * table's, never the other way round. Messages are posted under either, functions of producers and
 * readers are called under none.
 *
 * Invariants: the table counts each log that is on a shelf, the producer counts it until it has
 * finished, a reader while it is attached. A reader is touched and freed on its reactor only, but
 * for its private part. */
#include "server/replay.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "reactor/timer.h"

enum {
    HEAD_BYTES = 96,      /* of an event, before its message */
    PIECE_BYTES = 262144, /* read at once, about */
    LAG = 4               /* times its limits a log may grow for a reader that is behind */
};

struct event {
    struct event *next;
    uint64_t seq;
    size_t n;
    char text[]; /* as it is sent */
};

struct shelf { /* the logs of one session; under the table's lock */
    uint64_t session;
    struct owl_list logs; /* oldest first */
    unsigned kept;        /* of them, those that clients may come back for */
    struct owl_replay *feed;
};

struct owl_replay {
    struct owl_replays *all;
    atomic_uint refs;
    uint64_t stream;
    unsigned flags;
    size_t max_bytes, max_events;

    /* the producer's; on its reactor */
    struct owl_reactor *reactor;
    void (*forgotten_fn)(void *user);
    void *user;
    struct owl_msg told; /* posted once: it was forgotten */

    /* under the table's lock */
    struct shelf *shelf; /* NULL: forgotten */
    struct owl_list on_shelf, in_line;
    uint64_t line_ms; /* since when it stands in line */

    pthread_mutex_t lock; /* the rest */
    struct event *first, *last;
    size_t n, bytes;
    uint64_t seq; /* of the last event */
    bool finished, forgotten;
    struct owl_replay_reader *reader;
};

struct owl_replays {
    struct owl_replay_limits limits;
    atomic_size_t bytes;
    pthread_mutex_t lock;
    struct owl_map shelves; /* by session */
    struct owl_list line;
    struct owl_msg arm; /* to the timer's reactor */
    bool armed;
    struct owl_timer timer; /* on reactor 0 */
};

/* ---- the events of a log; under its lock ---- */

static void drop_first(struct owl_replay *log)
{
    struct event *e = log->first;
    size_t size = sizeof *e + e->n;
    log->first = e->next;
    if (!log->first)
        log->last = NULL;
    log->n--;
    log->bytes -= size;
    atomic_fetch_sub(&log->all->bytes, size);
    owl_free(e);
}

static void drop_all(struct owl_replay *log)
{
    while (log->first)
        drop_first(log);
}

static void add_last(struct owl_replay *log, struct event *e)
{
    size_t size = sizeof *e + e->n;
    e->next = NULL;
    if (log->last)
        log->last->next = e;
    else
        log->first = e;
    log->last = e;
    log->seq = e->seq;
    log->n++;
    log->bytes += size;
    atomic_fetch_add(&log->all->bytes, size);
}

/* Whether the first event is to go. The last one never is: it may be the answer. */
static bool too_much(const struct owl_replay *log)
{
    if (!(log->flags & OWL_REPLAY_KEEP))
        return true;
    return log->first != log->last &&
           (log->n > log->max_events || log->bytes > log->max_bytes ||
            atomic_load(&log->all->bytes) > log->all->limits.replay_total_bytes);
}

static void drop_until(struct owl_replay *log, uint64_t seq)
{
    while (log->first && log->first->seq < seq && too_much(log))
        drop_first(log);
}

/* A reader misses nothing; one that is far behind is sent away. */
static void trim(struct owl_replay *log)
{
    struct owl_replay_reader *rd = log->reader;
    drop_until(log, rd && !rd->_lost ? rd->_next : UINT64_MAX);
    if (!rd || log->first == log->last ||
        (log->n <= LAG * log->max_events && log->bytes <= LAG * log->max_bytes))
        return;
    rd->_lost = true;
    drop_until(log, UINT64_MAX);
}

/* ---- waking the reader ---- */

static void on_wake(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct owl_replay_reader *rd = OWL_CONTAINER(m, struct owl_replay_reader, _wake);
    struct owl_replay *log = rd->_log;
    pthread_mutex_lock(&log->lock);
    rd->_woken = false;
    bool closed = rd->_closed;
    pthread_mutex_unlock(&log->lock);
    if (!closed) {
        rd->ready(rd);
        return;
    }
    rd->free(rd);
    owl_replay_unref(log);
}

/* Under the log's lock. */
static void wake(struct owl_replay_reader *rd)
{
    if (!rd || rd->_woken)
        return;
    rd->_wake.run = on_wake;
    rd->_woken = owl_post(rd->reactor, &rd->_wake); /* otherwise its reactor has ended, and it too */
}

/* The producer has changed the log, whose lock is held: lets it go. A reader on the same reactor
 * reads at once. */
static void unlock_and_wake(struct owl_replay *log)
{
    struct owl_replay_reader *rd = log->reader;
    bool here = rd && rd->reactor == owl_reactor_self();
    if (!here)
        wake(rd);
    pthread_mutex_unlock(&log->lock);
    if (here)
        rd->ready(rd);
}

/* ---- life ---- */

static void ref(struct owl_replay *log)
{
    atomic_fetch_add_explicit(&log->refs, 1u, memory_order_relaxed);
}

void owl_replay_unref(struct owl_replay *log)
{
    if (!log || atomic_fetch_sub_explicit(&log->refs, 1u, memory_order_acq_rel) != 1)
        return;
    drop_all(log);
    atomic_fetch_sub(&log->all->bytes, sizeof *log);
    OWL_IGNORE(pthread_mutex_destroy(&log->lock)); /* nobody else knows it any more */
    owl_free(log);
}

static void on_told(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct owl_replay *log = OWL_CONTAINER(m, struct owl_replay, told);
    if (log->user)
        log->forgotten_fn(log->user);
    owl_replay_unref(log);
}

/* Tells the producer that its log was forgotten; once, under the log's lock. */
static void tell(struct owl_replay *log)
{
    if (log->finished)
        return;
    ref(log);
    log->told.run = on_told;
    if (!owl_post(log->reactor, &log->told))
        atomic_fetch_sub(&log->refs, 1u); /* its reactor has ended; not the last: the caller's */
}

/* ---- the table; under its lock ---- */

static void take_off_shelf(struct owl_replay *log)
{
    struct shelf *sh = log->shelf;
    owl_list_del(&log->on_shelf);
    owl_list_del(&log->in_line);
    log->shelf = NULL;
    sh->kept -= log->flags & OWL_REPLAY_KEEP;
    if (sh->feed == log)
        sh->feed = NULL;
    if (!owl_list_empty(&sh->logs))
        return;
    owl_map_del(&log->all->shelves, (owl_str){(const char *)&sh->session, sizeof sh->session});
    owl_free(sh);
}

/* Nobody finds it any more; a reader that has it reads on. */
static void forget(struct owl_replay *log)
{
    take_off_shelf(log);
    pthread_mutex_lock(&log->lock);
    log->forgotten = true;
    if (!log->reader)
        drop_all(log);
    if (!log->reader || (log->flags & OWL_REPLAY_FEED))
        tell(log);
    pthread_mutex_unlock(&log->lock);
    owl_replay_unref(log);
}

static void arm(struct owl_replays *all, struct owl_reactor *any)
{
    if (!all->armed)
        all->armed = owl_post(owl_runtime_at(owl_reactor_runtime(any), 0), &all->arm);
}

/* Nobody waits at the log, from now on or because it has ended. */
static void stand_in_line(struct owl_replay *log)
{
    if (!log->shelf || !owl_list_empty(&log->in_line))
        return;
    if (!(log->flags & OWL_REPLAY_KEEP)) {
        forget(log);
        return;
    }
    log->line_ms = owl_now_ms();
    owl_list_add(&log->all->line, &log->in_line);
    arm(log->all, log->reactor);
}

static struct owl_replay *first_in_line(struct owl_replays *all)
{
    return owl_list_empty(&all->line) ? NULL
                                      : OWL_CONTAINER(all->line.next, struct owl_replay, in_line);
}

static bool is_due(const struct owl_replay *log, uint64_t now_ms)
{
    return !owl_list_empty(&log->in_line) &&
           now_ms >= log->line_ms + log->all->limits.replay_ms;
}

static void sweep(struct owl_replays *all, uint64_t now_ms)
{
    for (struct owl_replay *log; (log = first_in_line(all)) && is_due(log, now_ms);)
        forget(log);
}

static struct shelf *shelf_of(struct owl_replays *all, uint64_t session)
{
    return owl_map_get(&all->shelves, (owl_str){(const char *)&session, sizeof session});
}

static struct shelf *shelf_make(struct owl_replays *all, uint64_t session)
{
    struct shelf *sh = shelf_of(all, session);
    if (sh)
        return sh;
    sh = owl_calloc(1, sizeof *sh);
    if (!sh)
        return NULL;
    sh->session = session;
    owl_list_init(&sh->logs);
    owl_str key = {(const char *)&sh->session, sizeof sh->session};
    if (owl_map_put(&all->shelves, key, sh, NULL) == 0)
        return sh;
    owl_free(sh);
    return NULL;
}

/* One more is on the shelf: another gives way if need be. False if all the others have somebody who
 * waits at them. */
static bool make_place(struct shelf *sh, unsigned max)
{
    if (sh->kept <= max)
        return true;
    OWL_LIST_EACH (&sh->logs, it) {
        struct owl_replay *log = OWL_CONTAINER(it, struct owl_replay, on_shelf);
        if (owl_list_empty(&log->in_line))
            continue;
        forget(log);
        return true;
    }
    return false;
}

static void on_timer(struct owl_timer *t)
{
    struct owl_replays *all = OWL_CONTAINER(t, struct owl_replays, timer);
    uint64_t now = owl_now_ms();
    pthread_mutex_lock(&all->lock);
    sweep(all, now);
    const struct owl_replay *next = first_in_line(all);
    all->armed = next != NULL;
    uint64_t due = next ? next->line_ms + all->limits.replay_ms : now;
    pthread_mutex_unlock(&all->lock);
    if (next)
        owl_timer_start(owl_reactor_self(), t, due > now ? due - now : 1);
}

static void on_arm(struct owl_reactor *r, struct owl_msg *m)
{
    struct owl_replays *all = OWL_CONTAINER(m, struct owl_replays, arm);
    owl_timer_start(r, &all->timer, all->limits.replay_ms);
}

static size_t or_default(size_t v, size_t d)
{
    return v ? v : d;
}

struct owl_replays *owl_replays_new(const struct owl_replay_limits *limits)
{
    static const struct owl_replay_limits none;
    const struct owl_replay_limits *l = limits ? limits : &none;
    struct owl_replays *all = owl_calloc(1, sizeof *all);
    if (!all)
        return NULL;
    all->limits = (struct owl_replay_limits){
        .replay_bytes = or_default(l->replay_bytes, (size_t)256 * 1024),
        .replay_events = (unsigned)or_default(l->replay_events, 1000),
        .replay_streams = (unsigned)or_default(l->replay_streams, 100),
        .replay_total_bytes = or_default(l->replay_total_bytes, (size_t)64 * 1024 * 1024),
        .replay_ms = (unsigned)or_default(l->replay_ms, 60000),
        .replay_retry_ms = (unsigned)or_default(l->replay_retry_ms, 1000),
    };
    /* Fails only for attributes that are not asked for here. */
    OWL_ASSERT(pthread_mutex_init(&all->lock, NULL) == 0);
    atomic_init(&all->bytes, 0u);
    owl_map_init(&all->shelves);
    owl_list_init(&all->line);
    all->arm.run = on_arm;
    owl_timer_init(&all->timer, on_timer);
    return all;
}

void owl_replays_free(struct owl_replays *all)
{
    if (!all)
        return;
    owl_replays_sweep(all, UINT64_MAX);
    OWL_ASSERT(all->shelves.n == 0); /* producers and readers end with their reactors */
    owl_map_done(&all->shelves);
    OWL_IGNORE(pthread_mutex_destroy(&all->lock)); /* nobody uses it any more */
    owl_free(all);
}

const struct owl_replay_limits *owl_replays_limits(const struct owl_replays *all)
{
    return &all->limits;
}

size_t owl_replays_bytes(const struct owl_replays *all)
{
    return atomic_load(&all->bytes);
}

void owl_replays_sweep(struct owl_replays *all, uint64_t now_ms)
{
    pthread_mutex_lock(&all->lock);
    sweep(all, now_ms);
    pthread_mutex_unlock(&all->lock);
}

void owl_replays_forget(struct owl_replays *all, uint64_t session)
{
    pthread_mutex_lock(&all->lock);
    struct shelf *sh = shelf_of(all, session);
    for (unsigned last = !sh; !last;) { /* the shelf goes with its last log */
        struct owl_list *first = sh->logs.next;
        last = first->next == &sh->logs;
        forget(OWL_CONTAINER(first, struct owl_replay, on_shelf));
    }
    pthread_mutex_unlock(&all->lock);
}

/* Before @p more bytes are kept: those that wait in line give way. */
static void make_room(struct owl_replays *all, size_t more)
{
    if (OWL_LIKELY(atomic_load(&all->bytes) + more <= all->limits.replay_total_bytes))
        return;
    pthread_mutex_lock(&all->lock);
    for (struct owl_replay *log; atomic_load(&all->bytes) + more > all->limits.replay_total_bytes &&
                                 (log = first_in_line(all));)
        forget(log);
    pthread_mutex_unlock(&all->lock);
}

/* ---- the producer ---- */

static struct owl_replay *log_new(struct owl_replays *all, const struct owl_replay_init *init)
{
    struct owl_replay *log = owl_calloc(1, sizeof *log);
    if (!log)
        return NULL;
    OWL_ASSERT(pthread_mutex_init(&log->lock, NULL) == 0); /* as above */
    log->all = all;
    atomic_init(&log->refs, 2u); /* the producer's and the table's */
    log->stream = init->stream;
    log->flags = init->flags;
    log->max_bytes = all->limits.replay_bytes;
    log->max_events = all->limits.replay_events;
    log->reactor = init->reactor;
    log->forgotten_fn = init->forgotten;
    log->user = init->user;
    owl_list_init(&log->on_shelf);
    owl_list_init(&log->in_line);
    atomic_fetch_add(&all->bytes, sizeof *log);
    return log;
}

static int put_on_shelf(struct owl_replay *log, uint64_t session)
{
    struct owl_replays *all = log->all;
    struct shelf *sh = shelf_make(all, session);
    if (!sh)
        return -OWL_ENOMEM;
    log->shelf = sh;
    owl_list_add(&sh->logs, &log->on_shelf);
    sh->kept += log->flags & OWL_REPLAY_KEEP;
    if ((log->flags & OWL_REPLAY_KEEP) && !make_place(sh, all->limits.replay_streams)) {
        take_off_shelf(log);
        return -OWL_ELIMIT;
    }
    if (!(log->flags & OWL_REPLAY_FEED))
        return 0;
    if (sh->feed)
        forget(sh->feed);
    sh->feed = log;
    return 0;
}

int owl_replay_new(struct owl_replays *all, const struct owl_replay_init *init,
                   struct owl_replay **ret)
{
    make_room(all, sizeof(struct owl_replay));
    struct owl_replay *log = log_new(all, init);
    if (!log)
        return -OWL_ENOMEM;
    pthread_mutex_lock(&all->lock);
    int rc = put_on_shelf(log, init->session);
    pthread_mutex_unlock(&all->lock);
    if (rc == 0) {
        *ret = log;
        return 0;
    }
    owl_replay_unref(log);
    owl_replay_unref(log);
    return rc;
}

/* Takes the event. */
static int append(struct owl_replay *log, struct event *e)
{
    make_room(log->all, sizeof *e + e->n);
    pthread_mutex_lock(&log->lock);
    if (log->forgotten && !log->reader) {
        pthread_mutex_unlock(&log->lock);
        owl_free(e);
        return -OWL_ECLOSED;
    }
    add_last(log, e);
    trim(log);
    unlock_and_wake(log);
    return 0;
}

int owl_replay_prime(struct owl_replay *log)
{
    struct event *e = owl_malloc(sizeof *e + HEAD_BYTES);
    if (!e)
        return -OWL_ENOMEM;
    e->seq = 0;
    e->n = (size_t)snprintf(e->text, HEAD_BYTES, "id: %llu-0\nretry: %u\ndata: \n\n",
                            (unsigned long long)log->stream, log->all->limits.replay_retry_ms);
    return append(log, e);
}

int owl_replay_append(struct owl_replay *log, owl_str message)
{
    struct event *e = owl_malloc(sizeof *e + HEAD_BYTES + message.n);
    if (!e)
        return -OWL_ENOMEM;
    e->seq = log->seq + 1; /* nobody else changes it */
    int n = 0;
    if (log->flags & OWL_REPLAY_KEEP)
        n = snprintf(e->text, HEAD_BYTES, "id: %llu-%llu\n", (unsigned long long)log->stream,
                     (unsigned long long)e->seq);
    char *p = e->text + n;
    memcpy(p, "data: ", 6);
    memcpy(p + 6, message.p, message.n);
    memcpy(p + 6 + message.n, "\n\n", 2);
    e->n = (size_t)n + 6 + message.n + 2;
    return append(log, e);
}

void owl_replay_release(struct owl_replay *log)
{
    pthread_mutex_lock(&log->lock);
    if (log->reader)
        log->reader->_lost = true;
    unlock_and_wake(log);
}

void owl_replay_finish(struct owl_replay *log)
{
    struct owl_replays *all = log->all;
    log->user = NULL;
    pthread_mutex_lock(&all->lock);
    pthread_mutex_lock(&log->lock);
    log->finished = true;
    pthread_mutex_unlock(&log->lock);
    stand_in_line(log);
    pthread_mutex_unlock(&all->lock);
    pthread_mutex_lock(&log->lock);
    unlock_and_wake(log);
    owl_replay_unref(log);
}

/* ---- the reader ---- */

static struct owl_replay *find_stream(struct owl_replays *all, uint64_t session, uint64_t stream)
{
    struct shelf *sh = shelf_of(all, session);
    if (!sh)
        return NULL;
    OWL_LIST_EACH (&sh->logs, it) {
        struct owl_replay *log = OWL_CONTAINER(it, struct owl_replay, on_shelf);
        if (log->stream == stream && (log->flags & OWL_REPLAY_KEEP))
            return is_due(log, owl_now_ms()) ? NULL : log;
    }
    return NULL;
}

int owl_replay_find(struct owl_replays *all, uint64_t session, owl_str event_id,
                    struct owl_replay_mark *ret)
{
    owl_str rest = event_id, part;
    uint64_t stream, seq;
    if (!owl_str_split(&rest, '-', &part) || !owl_str_u64(part, UINT64_MAX, &stream) ||
        !owl_str_u64(rest, UINT64_MAX - 1, &seq))
        return -OWL_EINVAL;
    int rc = -OWL_ENOTFOUND;
    pthread_mutex_lock(&all->lock);
    struct owl_replay *log = find_stream(all, session, stream);
    if (log) {
        pthread_mutex_lock(&log->lock);
        if (seq <= log->seq) {
            ref(log);
            *ret = (struct owl_replay_mark){log, seq + 1, log->finished && seq == log->seq};
            rc = 0;
        }
        pthread_mutex_unlock(&log->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

int owl_replay_attach(struct owl_replay *log, struct owl_replay_reader *rd, uint64_t from)
{
    pthread_mutex_lock(&log->all->lock);
    if (!log->shelf) {
        pthread_mutex_unlock(&log->all->lock);
        return -OWL_ECLOSED;
    }
    ref(log);
    rd->_log = log;
    rd->_next = from;
    rd->_woken = rd->_lost = rd->_closed = false;
    pthread_mutex_lock(&log->lock);
    if (log->reader) {
        log->reader->_lost = true;
        wake(log->reader);
    }
    log->reader = rd;
    if (!log->finished)
        owl_list_del(&log->in_line);
    pthread_mutex_unlock(&log->lock);
    pthread_mutex_unlock(&log->all->lock);
    return 0;
}

/* Nearly always it is the last, or nothing. */
static const struct event *first_from(const struct owl_replay *log, uint64_t seq)
{
    const struct event *e = log->last && log->last->seq <= seq ? log->last : log->first;
    while (e && e->seq < seq)
        e = e->next;
    return e;
}

enum owl_replay_state owl_replay_read(struct owl_replay_reader *rd, struct owl_buf *out)
{
    struct owl_replay *log = rd->_log;
    enum owl_replay_state state = OWL_REPLAY_LOST;
    pthread_mutex_lock(&log->lock);
    if (!rd->_lost) {
        const struct event *e = first_from(log, rd->_next);
        for (; e && out->n < PIECE_BYTES; e = e->next) {
            owl_buf_put(out, e->text, e->n);
            if (out->rc != 0)
                break;
            rd->_next = e->seq + 1;
        }
        state = e ? OWL_REPLAY_MORE : log->finished ? OWL_REPLAY_ENDED : OWL_REPLAY_OPEN;
        trim(log);
    }
    pthread_mutex_unlock(&log->lock);
    return state;
}

void owl_replay_detach(struct owl_replay_reader *rd)
{
    struct owl_replay *log = rd->_log;
    struct owl_replays *all = log->all;
    pthread_mutex_lock(&all->lock);
    pthread_mutex_lock(&log->lock);
    rd->_closed = rd->_woken;
    bool later = rd->_woken;
    bool was = log->reader == rd;
    if (was)
        log->reader = NULL;
    if (was && log->forgotten) {
        drop_all(log);
        if (!(log->flags & OWL_REPLAY_FEED))
            tell(log); /* a feed was told before */
    }
    pthread_mutex_unlock(&log->lock);
    if (was)
        stand_in_line(log);
    pthread_mutex_unlock(&all->lock);
    if (later)
        return; /* the wake-up is under way: it frees the reader */
    rd->free(rd);
    owl_replay_unref(log);
}

/* server/replay.c - the log of one event stream: written by its producer, read by its reader.
 *
 * Any thread; see replay_log.h. A reader is touched and freed on its reactor only, but for its
 * private part. */
#include <stdio.h>

#include "base/alloc.h"
#include "codec/json.h"
#include "server/replay_log.h"

enum {
    HEAD_BYTES = 96,      /* of an event, before its message, at most */
    ALLOC_BYTES = 16,     /* what the heap adds to an object, about */
    PIECE_BYTES = 262144, /* read at once, about */
    LAG = 4               /* times its limits a log may grow for a reader that is behind */
};

struct owl_replay__event {
    struct owl_replay__event *next;
    uint64_t seq;
    size_t n;
    char text[]; /* as it is sent */
};

/* What an event counts for. */
static size_t cost(const struct owl_replay__event *e)
{
    return sizeof *e + e->n + ALLOC_BYTES;
}

/* ---- the events of a log; under its lock ---- */

static void drop_first(struct owl_replay *log)
{
    struct owl_replay__event *e = log->first;
    size_t size = cost(e);
    log->gone = e->seq + 1;
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

static void add_last(struct owl_replay *log, struct owl_replay__event *e)
{
    size_t size = cost(e);
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

/* Whether the first event is to go. The last one never is, nor do its bytes push others out: it may
 * be the answer. */
static bool too_much(const struct owl_replay *log)
{
    if (!(log->flags & OWL_REPLAY_KEEP))
        return true;
    return log->first != log->last &&
           (log->n > log->all->limits.replay_events ||
            log->bytes - cost(log->last) > log->all->limits.replay_bytes ||
            atomic_load(&log->all->bytes) > log->all->limits.replay_total_bytes);
}

static void drop_until(struct owl_replay *log, uint64_t seq)
{
    while (log->first && log->first->seq < seq && too_much(log))
        drop_first(log);
}

/* ---- the end of a log ---- */

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

/* Tells the producer, once; under the log's lock. A reader that has it reads on. */
static void set_forgotten(struct owl_replay *log)
{
    if (!log->reader || log->reader->_lost)
        drop_all(log);
    bool told = log->finished || log->forgotten;
    log->forgotten = true;
    if (told)
        return;
    owl_replay__ref(log);
    log->told.run = on_told;
    if (!owl_post(log->reactor, &log->told))
        atomic_fetch_sub(&log->refs, 1u); /* its reactor has ended; not the last: the caller's */
}

/* ---- its bounds; under its lock ---- */

/* Keeps the limits although nobody has read what goes. Then no client knows an event from which it
 * could go on without missing some. */
static void trim_unread(struct owl_replay *log)
{
    drop_until(log, UINT64_MAX);
    if (log->gone > log->read)
        set_forgotten(log);
}

/* A reader misses nothing; one that is far behind is sent away. */
static void trim(struct owl_replay *log)
{
    struct owl_replay_reader *rd = log->reader;
    if (!rd || rd->_lost) {
        trim_unread(log);
        return;
    }
    drop_until(log, rd->_next);
    if (log->first == log->last ||
        (log->n <= LAG * log->all->limits.replay_events &&
         log->bytes - cost(log->last) <= LAG * log->all->limits.replay_bytes))
        return;
    rd->_lost = true;
    trim_unread(log);
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
    rd->_woken = owl_post(rd->reactor,
                          &rd->_wake); /* otherwise its reactor has ended, and it too */
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

bool owl_replay__give_way(struct owl_replay *log)
{
    pthread_mutex_lock(&log->lock);
    bool read = log->reader && !log->reader->_lost && !log->finished;
    if (!read)
        set_forgotten(log);
    pthread_mutex_unlock(&log->lock);
    return !read;
}

void owl_replay__forget(struct owl_replay *log)
{
    pthread_mutex_lock(&log->lock);
    set_forgotten(log);
    pthread_mutex_unlock(&log->lock);
    owl_replay_unref(log);
}

/* ---- the producer ---- */

static struct owl_replay *log_new(struct owl_replay_table *all, const struct owl_replay_init *init)
{
    struct owl_replay *log = owl_calloc(1, sizeof *log);
    if (!log)
        return NULL;
    /* Fails only for attributes that are not asked for here. */
    OWL_ASSERT(pthread_mutex_init(&log->lock, NULL) == 0);
    log->all = all;
    atomic_init(&log->refs, 1u);
    log->stream = init->stream;
    log->flags = init->flags;
    log->reactor = init->reactor;
    log->forgotten_fn = init->forgotten;
    log->user = init->user;
    owl_list_init(&log->on_shelf);
    owl_list_init(&log->in_line);
    atomic_fetch_add(&all->bytes, sizeof *log);
    return log;
}

int owl_replay_new(struct owl_replay_table *all, const struct owl_replay_init *init,
                   struct owl_replay **ret)
{
    owl_replay_table__make_room(all, sizeof(struct owl_replay));
    struct owl_replay *log = log_new(all, init);
    if (!log)
        return -OWL_ENOMEM;
    int rc = owl_replay_table__add(log, init->session);
    if (rc == 0)
        *ret = log;
    else
        owl_replay_unref(log);
    return rc;
}

/* Takes the event. */
static int append(struct owl_replay *log, struct owl_replay__event *e)
{
    owl_replay_table__make_room(log->all, cost(e));
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

static char *put(char *p, owl_str s)
{
    memcpy(p, s.p, s.n);
    return p + s.n;
}

/* The data as it is to be written; its length is @p n. */
static char *put_data(char *p, owl_str data, size_t n)
{
    owl_str plain, escape;
    if (n == data.n)
        return put(p, data);
    while (owl_json_line_split(&data, &plain, &escape))
        p = put(put(p, plain), escape);
    return p;
}

static size_t data_length(owl_str data)
{
    size_t n = 0;
    owl_str plain, escape;
    while (owl_json_line_split(&data, &plain, &escape))
        n += plain.n + escape.n;
    return n;
}

/* An event of these lines, the data and its end: not a byte more, since thousands are kept. */
static struct owl_replay__event *event_new(uint64_t seq, owl_str lines, owl_str data)
{
    static const owl_str before = {"data: ", 6}, after = {"\n\n", 2};
    size_t length = data_length(data), n = lines.n + before.n + length + after.n;
    struct owl_replay__event *e = owl_malloc(sizeof *e + n);
    if (!e)
        return NULL;
    e->seq = seq;
    e->n = n;
    put(put_data(put(put(e->text, lines), before), data, length), after);
    return e;
}

int owl_replay_prime(struct owl_replay *log)
{
    char lines[HEAD_BYTES];
    if (!(log->flags & OWL_REPLAY_KEEP))
        return 0;
    int n = snprintf(lines, sizeof lines, "id: %llu-0\nretry: %u\n",
                     (unsigned long long)log->stream, log->all->limits.replay_retry_ms);
    struct owl_replay__event *e = event_new(0, (owl_str){lines, (size_t)n}, OWL_STR(""));
    return e ? append(log, e) : -OWL_ENOMEM;
}

int owl_replay_append(struct owl_replay *log, owl_str message)
{
    char lines[HEAD_BYTES];
    uint64_t seq = log->seq + 1; /* nobody else changes it */
    int n = 0;
    if (log->flags & OWL_REPLAY_KEEP)
        n = snprintf(lines, sizeof lines, "id: %llu-%llu\n", (unsigned long long)log->stream,
                     (unsigned long long)seq);
    struct owl_replay__event *e = event_new(seq, (owl_str){lines, (size_t)n}, message);
    return e ? append(log, e) : -OWL_ENOMEM;
}

void owl_replay_release(struct owl_replay *log)
{
    if (!(log->flags & OWL_REPLAY_KEEP))
        return;
    pthread_mutex_lock(&log->lock);
    if (log->reader)
        log->reader->_lost = true;
    trim(log);
    unlock_and_wake(log);
}

void owl_replay_finish(struct owl_replay *log)
{
    log->user = NULL;
    pthread_mutex_lock(&log->lock);
    log->finished = true;
    unlock_and_wake(log);
    owl_replay_table__settle(log);
    owl_replay_unref(log);
}

/* ---- the reader ---- */

int owl_replay_attach(struct owl_replay *log, struct owl_replay_reader *rd, uint64_t from)
{
    pthread_mutex_lock(&log->lock);
    if (log->forgotten || from < log->gone) {
        pthread_mutex_unlock(&log->lock);
        return -OWL_ECLOSED;
    }
    owl_replay__ref(log);
    rd->_log = log;
    rd->_next = from;
    rd->_woken = rd->_lost = rd->_closed = false;
    if (log->reader) {
        log->reader->_lost = true;
        wake(log->reader);
    }
    log->reader = rd;
    pthread_mutex_unlock(&log->lock);
    owl_replay_table__settle(log);
    return 0;
}

/* Nearly always it is the last, or nothing. */
static const struct owl_replay__event *first_from(const struct owl_replay *log, uint64_t seq)
{
    const struct owl_replay__event *e = log->last && log->last->seq <= seq ? log->last : log->first;
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
        const struct owl_replay__event *e = first_from(log, rd->_next);
        for (; e && out->n < PIECE_BYTES; e = e->next) {
            owl_buf_put(out, e->text, e->n);
            if (out->rc != 0)
                break;
            rd->_next = e->seq + 1;
        }
        log->read = rd->_next > log->read ? rd->_next : log->read;
        state = e ? OWL_REPLAY_MORE : log->finished ? OWL_REPLAY_ENDED : OWL_REPLAY_OPEN;
        trim(log);
    }
    pthread_mutex_unlock(&log->lock);
    return state;
}

void owl_replay_detach(struct owl_replay_reader *rd)
{
    struct owl_replay *log = rd->_log;
    pthread_mutex_lock(&log->lock);
    bool later = rd->_closed = rd->_woken; /* the wake-up is under way: it frees the reader */
    if (log->reader == rd) {
        log->reader = NULL;
        trim(log);
        if (log->forgotten)
            drop_all(log);
    }
    pthread_mutex_unlock(&log->lock);
    owl_replay_table__settle(log);
    if (later)
        return;
    rd->free(rd);
    owl_replay_unref(log);
}

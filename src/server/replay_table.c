/* server/replay_table.c - the table of logs: which there are, whose they are, how long they are kept.
 *
 * Any thread; see replay_log.h. Everything but the functions of the headers is under the table's
 * lock. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "server/replay_log.h"

struct owl_replay__shelf { /* the logs of one session */
    uint64_t session;
    struct owl_list logs; /* oldest first */
    unsigned kept;        /* of them, those that clients may come back for */
    struct owl_replay *feed;
};

/* ---- off the shelf ---- */

static void take_off_shelf(struct owl_replay *log)
{
    struct owl_replay__shelf *sh = log->shelf;
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

static void forget(struct owl_replay *log)
{
    take_off_shelf(log);
    owl_replay__forget(log);
}

/* ---- the line ---- */

static void arm(struct owl_replay_table *all, struct owl_reactor *any)
{
    if (!all->armed && !all->stopped)
        all->armed = owl_post(owl_runtime_at(owl_reactor_runtime(any), 0), &all->arm);
}

static void stand_in_line(struct owl_replay *log)
{
    if (!owl_list_empty(&log->in_line))
        return;
    if (!(log->flags & OWL_REPLAY_KEEP)) {
        forget(log);
        return;
    }
    log->line_ms = owl_now_ms();
    owl_list_add(&log->all->line, &log->in_line);
    arm(log->all, log->reactor);
}

void owl_replay_table__settle(struct owl_replay *log)
{
    pthread_mutex_lock(&log->all->lock);
    pthread_mutex_lock(&log->lock);
    bool waited_at = log->reader && !log->finished;
    pthread_mutex_unlock(&log->lock);
    if (waited_at)
        owl_list_del(&log->in_line);
    else if (log->shelf)
        stand_in_line(log);
    pthread_mutex_unlock(&log->all->lock);
}

static struct owl_replay *first_in_line(struct owl_replay_table *all)
{
    return owl_list_empty(&all->line) ? NULL
                                      : OWL_CONTAINER(all->line.next, struct owl_replay, in_line);
}

static bool is_due(const struct owl_replay *log, uint64_t now_ms)
{
    return !owl_list_empty(&log->in_line) && now_ms >= log->line_ms + log->all->limits.replay_ms;
}

/* A log that stands in line is forgotten; false: somebody has just come back to it, and it leaves
 * the line. */
static bool give_way(struct owl_replay *log)
{
    if (!owl_replay__give_way(log)) {
        owl_list_del(&log->in_line);
        return false;
    }
    take_off_shelf(log);
    owl_replay_unref(log);
    return true;
}

static void sweep(struct owl_replay_table *all, uint64_t now_ms)
{
    for (struct owl_replay *log; (log = first_in_line(all)) && is_due(log, now_ms);)
        OWL_IGNORE(give_way(log)); /* in either case it stands there no more */
}

void owl_replay_table_sweep(struct owl_replay_table *all, uint64_t now_ms)
{
    pthread_mutex_lock(&all->lock);
    sweep(all, now_ms);
    pthread_mutex_unlock(&all->lock);
}

void owl_replay_table__make_room(struct owl_replay_table *all, size_t more)
{
    if (OWL_LIKELY(atomic_load(&all->bytes) + more <= all->limits.replay_total_bytes))
        return;
    pthread_mutex_lock(&all->lock);
    for (struct owl_replay *log; atomic_load(&all->bytes) + more > all->limits.replay_total_bytes &&
                                 (log = first_in_line(all));)
        OWL_IGNORE(give_way(log)); /* likewise */
    pthread_mutex_unlock(&all->lock);
}

static void on_timer(struct owl_timer *t)
{
    struct owl_replay_table *all = OWL_CONTAINER(t, struct owl_replay_table, timer);
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
    struct owl_replay_table *all = OWL_CONTAINER(m, struct owl_replay_table, arm);
    pthread_mutex_lock(&all->lock);
    bool stopped = all->stopped;
    pthread_mutex_unlock(&all->lock);
    if (!stopped)
        owl_timer_start(r, &all->timer, all->limits.replay_ms);
}

void owl_replay_table_stop(struct owl_replay_table *all)
{
    pthread_mutex_lock(&all->lock);
    all->stopped = true;
    pthread_mutex_unlock(&all->lock);
    owl_timer_stop(&all->timer);
}

/* ---- the shelves ---- */

static struct owl_replay__shelf *shelf_of(struct owl_replay_table *all, uint64_t session)
{
    return owl_map_get(&all->shelves, (owl_str){(const char *)&session, sizeof session});
}

static struct owl_replay__shelf *shelf_make(struct owl_replay_table *all, uint64_t session)
{
    struct owl_replay__shelf *sh = shelf_of(all, session);
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
static bool make_place(struct owl_replay__shelf *sh, unsigned max)
{
    if (sh->kept <= max)
        return true;
    OWL_LIST_EACH (&sh->logs, it) {
        struct owl_replay *log = OWL_CONTAINER(it, struct owl_replay, on_shelf);
        if (!owl_list_empty(&log->in_line) && give_way(log))
            return true;
    }
    return false;
}

static int put_on_shelf(struct owl_replay *log, uint64_t session)
{
    struct owl_replay_table *all = log->all;
    struct owl_replay__shelf *sh = shelf_make(all, session);
    if (!sh)
        return -OWL_ENOMEM;
    log->shelf = sh;
    owl_replay__ref(log);
    owl_list_add(&sh->logs, &log->on_shelf);
    sh->kept += log->flags & OWL_REPLAY_KEEP;
    if ((log->flags & OWL_REPLAY_KEEP) && !make_place(sh, all->limits.replay_streams)) {
        take_off_shelf(log);
        owl_replay_unref(log); /* not the last: the producer's */
        return -OWL_ELIMIT;
    }
    if (!(log->flags & OWL_REPLAY_FEED))
        return 0;
    if (sh->feed)
        forget(sh->feed);
    sh->feed = log;
    return 0;
}

int owl_replay_table__add(struct owl_replay *log, uint64_t session)
{
    pthread_mutex_lock(&log->all->lock);
    int rc = put_on_shelf(log, session);
    pthread_mutex_unlock(&log->all->lock);
    return rc;
}

void owl_replay_table_forget(struct owl_replay_table *all, uint64_t session)
{
    pthread_mutex_lock(&all->lock);
    struct owl_replay__shelf *sh = shelf_of(all, session);
    for (bool more = sh; more;) { /* the shelf goes with its last log */
        struct owl_list *first = sh->logs.next;
        more = first->next != &sh->logs;
        forget(OWL_CONTAINER(first, struct owl_replay, on_shelf));
    }
    pthread_mutex_unlock(&all->lock);
}

static struct owl_replay *find_stream(struct owl_replay_table *all, uint64_t session,
                                      uint64_t stream)
{
    struct owl_replay__shelf *sh = shelf_of(all, session);
    if (!sh)
        return NULL;
    OWL_LIST_EACH (&sh->logs, it) {
        struct owl_replay *log = OWL_CONTAINER(it, struct owl_replay, on_shelf);
        if (log->stream == stream && (log->flags & OWL_REPLAY_KEEP))
            return is_due(log, owl_now_ms()) ? NULL : log;
    }
    return NULL;
}

int owl_replay_find(struct owl_replay_table *all, uint64_t session, owl_str event_id,
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
        if (seq <= log->seq && seq + 1 >= log->gone) {
            owl_replay__ref(log);
            *ret = (struct owl_replay_mark){log, seq + 1, log->finished && seq == log->seq};
            rc = 0;
        }
        pthread_mutex_unlock(&log->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

/* ---- life ---- */

static size_t or_default(size_t v, size_t d)
{
    return v ? v : d;
}

struct owl_replay_table *owl_replay_table_new(const struct owl_replay_limits *limits)
{
    static const struct owl_replay_limits none;
    const struct owl_replay_limits *l = limits ? limits : &none;
    struct owl_replay_table *all = owl_calloc(1, sizeof *all);
    if (!all)
        return NULL;
    all->limits = (struct owl_replay_limits){
        .replay_bytes = or_default(l->replay_bytes, OWL_DEFAULT_replay_bytes),
        .replay_events = (unsigned)or_default(l->replay_events, OWL_DEFAULT_replay_events),
        .replay_streams = (unsigned)or_default(l->replay_streams, OWL_DEFAULT_replay_streams),
        .replay_total_bytes = or_default(l->replay_total_bytes, OWL_DEFAULT_replay_total_bytes),
        .replay_ms = (unsigned)or_default(l->replay_ms, OWL_DEFAULT_replay_ms),
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

void owl_replay_table_free(struct owl_replay_table *all)
{
    if (!all)
        return;
    owl_replay_table_sweep(all, UINT64_MAX);
    OWL_ASSERT(all->shelves.n == 0); /* producers and readers end with their reactors */
    owl_map_done(&all->shelves);
    OWL_IGNORE(pthread_mutex_destroy(&all->lock)); /* nobody uses it any more */
    owl_free(all);
}

const struct owl_replay_limits *owl_replay_table_limits(const struct owl_replay_table *all)
{
    return &all->limits;
}

size_t owl_replay_table_bytes(const struct owl_replay_table *all)
{
    return atomic_load(&all->bytes);
}

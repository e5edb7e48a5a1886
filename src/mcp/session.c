/* mcp/session.c - legacy sessions and the table of them.
 *
 * Any thread. A session is counted atomically; what `initialize` agreed never changes, flags and
 * times are atomic, subscriptions are under its own lock. The table is striped by the hash of the
 * id, each stripe has a lock, a map and lists. Locks are never nested and nothing is freed under a
 * stripe's.
 *
 * Invariant: a session that is found in a stripe is counted by it, is in one of its lists, and has
 * not ended. Those that somebody holds have a list of their own: whoever looks for one that can go
 * never meets them. So have those that are subscribed to something: whoever looks for room for that
 * meets no others. */
#include "mcp/session.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/map.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    STRIPES = 64,
    STRIPE_BITS = 6,
    CACHE_LINE = 64,
    BATCH = 64, /* sessions that a sweep ends before it lets others at the stripe */
    RANDOM_BYTES = 16,
    ID_BYTES = 10 + 1 + 2 * RANDOM_BYTES + 1,
    SUBSCRIPTIONS = 1000,
    SUBSCRIPTION_BYTES = 128, /* about what one takes besides its uri */
    TRIES = 4,                /* sessions that give way to one subscription, if others are faster */
    SAMPLE = 8,               /* stripes that are looked at for a session that can go */
    LOOKS = 4,                /* … and sessions of each */
    INITIALIZED_MS = 600000
};

/* The lists of a stripe; in each those that were used last are behind. */
enum kind {
    IDLE,
    SUBSCRIBED, /* idle, and subscribed to something when it was used last */
    HELD,
    KINDS
};

struct owl_session {
    struct owl_list node;       /* in its stripe; under the stripe's lock */
    struct stripe *stripe;      /* of its table; NULL: it never was in one */
    struct owl_sessions *table; /* counts its subscriptions, and is counted; or NULL */
    atomic_uint refs;
    atomic_uint holds;
    atomic_size_t parts[OWL_SESSION__PARTS];
    _Atomic uint64_t used_ms, streams;
    atomic_int level;
    atomic_bool initialized, ended;
    atomic_int stream; /* reactor + 1; 0: none */
    enum owl_rev rev;
    unsigned owner, offered;
    uint64_t serial;
    atomic_size_t taken; /* by all uris; written under lock */
    pthread_mutex_t lock;
    size_t gets, places; /* streams of GET, and what they have of owl_places; under lock */
    struct owl_map uris; /* uri → its copy; under lock */
    owl_str client_caps, client_info, principal; /* within text */
    char id[ID_BYTES];
    char text[];
};

struct stripe {
    _Alignas(CACHE_LINE) pthread_mutex_t lock;
    struct owl_map map; /* id → session */
    struct owl_list lists[KINDS];
};

struct owl_sessions {
    struct stripe stripes[STRIPES];
    atomic_size_t refs; /* its owner, and every session that knows it */
    atomic_size_t count, sample;
    atomic_size_t uri_bytes; /* of what sessions are subscribed to */
    size_t max, max_uri_bytes;
    uint64_t idle_ms;
    struct owl_session_observer observers[OWL_SESSION_OBSERVERS];
    size_t n_observers;
    void *memory; /* of which this is the aligned part */
};

/* ---- one session ----------------------------------------------------------------------------- */

/* Copies @p s to *p and moves *p behind it. Absent stays absent. */
static owl_str copy_text(char **p, owl_str s)
{
    if (!s.p)
        return s;
    owl_str copy = {*p, s.n};
    memcpy(*p, s.p, s.n);
    *p += s.n;
    return copy;
}

uint64_t owl_session_next_stream(struct owl_session *s)
{
    return atomic_fetch_add(&s->streams, 1) + 1;
}

/* Processes begin where no other does: 62 random bits, so that even those that run for years count
 * on without meeting another, or the upper half, which other scopes have. */
static uint64_t next_serial(void)
{
    static _Atomic uint64_t last;
    uint64_t first = 0;
    if (atomic_load(&last) == 0) {
        /* Without random numbers the time of day must do. */
        if (owl_random(&first, sizeof first) != 0)
            first = (uint64_t)owl_wall_ms() << 20 ^ owl_now_ns();
        first = first >> 2 | 1;
        uint64_t none = 0;
        atomic_compare_exchange_strong(&last, &none, first);
    }
    return atomic_fetch_add(&last, 1) + 1;
}

/* Nobody has heard of it yet. */
static struct owl_session *session_make(struct owl_sessions *t, const struct owl_session_init *init)
{
    size_t n = sizeof(struct owl_session) + init->client_caps.n + init->client_info.n +
               init->principal.n;
    struct owl_session *s = owl_malloc(n);
    if (!s)
        return NULL;
    memset(s, 0, sizeof(*s));
    if (pthread_mutex_init(&s->lock, NULL) != 0) {
        owl_free(s);
        return NULL;
    }
    owl_list_init(&s->node);
    owl_map_init(&s->uris);
    atomic_init(&s->refs, 1u);
    atomic_init(&s->holds, 0u);
    for (size_t i = 0; i < OWL_SESSION__PARTS; i++)
        atomic_init(&s->parts[i], 0u);
    atomic_init(&s->used_ms, owl_now_ms());
    atomic_init(&s->streams, 0u);
    atomic_init(&s->taken, 0u);
    atomic_init(&s->level, OWL_LEVEL_INFO);
    atomic_init(&s->initialized, false);
    atomic_init(&s->ended, false);
    atomic_init(&s->stream, 0);
    s->table = t;
    if (t)
        atomic_fetch_add(&t->refs, 1u);
    s->rev = init->rev;
    s->owner = init->owner;
    s->offered = init->offered;
    s->serial = next_serial();
    char *p = s->text;
    s->client_caps = copy_text(&p, init->client_caps);
    s->client_info = copy_text(&p, init->client_info);
    s->principal = copy_text(&p, init->principal);
    return s;
}

/* ---- observers */

static void tell_opened(struct owl_session *s)
{
    const struct owl_sessions *t = s->table;
    for (size_t i = 0; t && i < t->n_observers; i++)
        if (t->observers[i].opened)
            t->observers[i].opened(t->observers[i].user, s);
}

static void tell_ended(struct owl_session *s)
{
    const struct owl_sessions *t = s->table;
    for (size_t i = 0; t && i < t->n_observers; i++)
        if (t->observers[i].ended)
            t->observers[i].ended(t->observers[i].user, s);
}

void owl_session_roots_changed(struct owl_session *s)
{
    const struct owl_sessions *t = s->table;
    for (size_t i = 0; t && i < t->n_observers; i++)
        if (t->observers[i].roots_changed)
            t->observers[i].roots_changed(t->observers[i].user, s);
}

void owl_session_set_log_level(struct owl_session *s, owl_level level)
{
    const struct owl_sessions *t = s->table;
    atomic_store(&s->level, (int)level);
    for (size_t i = 0; t && i < t->n_observers; i++)
        if (t->observers[i].level)
            t->observers[i].level(t->observers[i].user, s, level);
}

struct owl_session *owl_session_new(struct owl_sessions *t, const struct owl_session_init *init)
{
    struct owl_session *s = session_make(t, init);
    if (s)
        tell_opened(s);
    return s;
}

void owl_session_end(struct owl_session *s)
{
    OWL_ASSERT(!s->stripe);
    if (!atomic_exchange(&s->ended, true))
        tell_ended(s);
}

/* ---- one session, further */

static void table_unref(struct owl_sessions *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1u) > 1)
        return;
    for (size_t i = 0; i < STRIPES; i++)
        OWL_IGNORE(pthread_mutex_destroy(&t->stripes[i].lock)); /* nobody uses it any more */
    owl_free(t->memory);
}

static void uncount_uris(struct owl_session *s, size_t bytes)
{
    atomic_fetch_sub(&s->taken, bytes);
    if (s->table)
        atomic_fetch_sub(&s->table->uri_bytes, bytes);
}

/* It is subscribed to nothing any more. */
static void forget_uris(struct owl_session *s)
{
    pthread_mutex_lock(&s->lock);
    struct owl_map uris = s->uris;
    owl_map_init(&s->uris);
    uncount_uris(s, atomic_load(&s->taken));
    pthread_mutex_unlock(&s->lock);
    void *uri;
    owl_str key;
    for (size_t i = 0; owl_map_next(&uris, &i, &key, &uri);)
        owl_free(uri);
    owl_map_done(&uris);
}

static void session_free(struct owl_session *s)
{
    forget_uris(s);
    OWL_IGNORE(pthread_mutex_destroy(&s->lock)); /* nobody else knows it any more */
    table_unref(s->table);
    owl_free(s);
}

struct owl_session *owl_session_aref(struct owl_session *s)
{
    atomic_fetch_add_explicit(&s->refs, 1u, memory_order_relaxed);
    return s;
}

void owl_session_aunref(struct owl_session *s)
{
    if (s && atomic_fetch_sub_explicit(&s->refs, 1u, memory_order_acq_rel) == 1)
        session_free(s);
}

owl_str owl_session_id(const struct owl_session *s)
{
    return owl_str_of(s->id);
}

enum owl_rev owl_session_rev(const struct owl_session *s)
{
    return s->rev;
}

unsigned owl_session_offered(const struct owl_session *s)
{
    return s->offered;
}

owl_str owl_session_principal(const struct owl_session *s)
{
    return s->principal;
}

owl_str owl_session_client_caps(const struct owl_session *s)
{
    return s->client_caps;
}

owl_str owl_session_client_info(const struct owl_session *s)
{
    return s->client_info;
}

unsigned owl_session_owner(const struct owl_session *s)
{
    return s->owner;
}

bool owl_session_initialized(const struct owl_session *s)
{
    return atomic_load(&s->initialized);
}

void owl_session_set_initialized(struct owl_session *s)
{
    atomic_store(&s->initialized, true);
}

owl_level owl_session_log_level(const struct owl_session *s)
{
    return (owl_level)atomic_load(&s->level);
}

bool owl_session_ended(const struct owl_session *s)
{
    return atomic_load(&s->ended);
}

uint64_t owl_session_serial(const struct owl_session *s)
{
    return s->serial;
}

int owl_session_stream_at(const struct owl_session *s)
{
    return atomic_load(&s->stream) - 1;
}

void owl_session_set_stream(struct owl_session *s, unsigned reactor)
{
    atomic_store(&s->stream, (int)reactor + 1);
}

void owl_session_clear_stream(struct owl_session *s, unsigned reactor)
{
    int here = (int)reactor + 1;
    atomic_compare_exchange_strong(&s->stream, &here, 0);
}

bool owl_places_take(struct owl_places *p)
{
    if (atomic_fetch_add(&p->taken, 1u) < p->max)
        return true;
    owl_places_give(p);
    return false;
}

void owl_places_give(struct owl_places *p)
{
    atomic_fetch_sub(&p->taken, 1u);
}

bool owl_session_stream_enter(struct owl_session *s, struct owl_places *p)
{
    pthread_mutex_lock(&s->lock);
    bool place = owl_places_take(p), in = place || s->places > 0;
    s->places += place;
    s->gets += in;
    pthread_mutex_unlock(&s->lock);
    return in;
}

void owl_session_stream_leave(struct owl_session *s, struct owl_places *p)
{
    pthread_mutex_lock(&s->lock);
    if (--s->gets < s->places) {
        s->places--;
        owl_places_give(p);
    }
    pthread_mutex_unlock(&s->lock);
}

bool owl_session_held(const struct owl_session *s)
{
    return atomic_load(&s->holds) > 0;
}

bool owl_session_enter(struct owl_session *s, enum owl_session_part part, size_t most)
{
    if (atomic_fetch_add(&s->parts[part], 1u) < most)
        return true;
    owl_session_leave(s, part);
    return false;
}

void owl_session_leave(struct owl_session *s, enum owl_session_part part)
{
    atomic_fetch_sub(&s->parts[part], 1u);
}

size_t owl_session_has(const struct owl_session *s, enum owl_session_part part)
{
    return atomic_load(&s->parts[part]);
}

/* ---- the table ------------------------------------------------------------------------------- */

struct owl_sessions *owl_sessions_new(size_t max, uint64_t idle_ms, size_t max_uri_bytes)
{
    void *memory = owl_calloc(1, sizeof(struct owl_sessions) + CACHE_LINE);
    if (!memory)
        return NULL;
    uintptr_t at = ((uintptr_t)memory + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1);
    struct owl_sessions *t = (struct owl_sessions *)at;
    t->memory = memory;
    t->max = max;
    t->idle_ms = idle_ms;
    t->max_uri_bytes = max_uri_bytes;
    atomic_init(&t->refs, 1u);
    atomic_init(&t->count, 0u);
    for (size_t i = 0; i < STRIPES; i++) {
        /* Fails only for attributes that are not asked for here. */
        OWL_ASSERT(pthread_mutex_init(&t->stripes[i].lock, NULL) == 0);
        owl_map_init(&t->stripes[i].map);
        for (size_t k = 0; k < KINDS; k++)
            owl_list_init(&t->stripes[i].lists[k]);
    }
    return t;
}

int owl_sessions_observe(struct owl_sessions *t, const struct owl_session_observer *o)
{
    if (t->n_observers == OWL_SESSION_OBSERVERS)
        return -OWL_ELIMIT;
    t->observers[t->n_observers++] = *o;
    return 0;
}

static struct stripe *stripe_of(struct owl_sessions *t, owl_str id)
{
    return &t->stripes[owl_hash(id) >> (64 - STRIPE_BITS)]; /* the map uses the low bits */
}

/* A session is used: it goes behind the others of its kind. The stripe's lock is held. */
static void touch(struct stripe *st, struct owl_session *s)
{
    enum kind kind = owl_session_held(s) ? HELD : atomic_load(&s->taken) > 0 ? SUBSCRIBED : IDLE;
    atomic_store_explicit(&s->used_ms, owl_now_ms(), memory_order_relaxed);
    owl_list_del(&s->node);
    owl_list_add(&st->lists[kind], &s->node);
}

/* Takes a session out of its stripe, whose lock is held; the caller gets the stripe's reference. */
static void take_out(struct owl_sessions *t, struct stripe *st, struct owl_session *s)
{
    OWL_IGNORE(owl_map_del(&st->map, owl_session_id(s))); /* it is s */
    owl_list_del(&s->node);
    atomic_store(&s->ended, true);
    atomic_fetch_sub(&t->count, 1u);
}

/* After it was taken out, under no lock; takes the reference. */
static void has_ended(struct owl_session *s)
{
    tell_ended(s);
    owl_session_aunref(s);
}

static void end_all(struct owl_sessions *t, struct stripe *st, struct owl_list *sessions)
{
    OWL_LIST_EACH (sessions, it) {
        struct owl_session *s = OWL_CONTAINER(it, struct owl_session, node);
        take_out(t, st, s);
        owl_session_aunref(s);
    }
}

void owl_sessions_free(struct owl_sessions *t)
{
    for (size_t i = 0; t && i < STRIPES; i++) {
        struct stripe *st = &t->stripes[i];
        for (size_t k = 0; k < KINDS; k++)
            end_all(t, st, &st->lists[k]);
        owl_map_done(&st->map);
    }
    table_unref(t);
}

static int insert(struct owl_sessions *t, struct owl_session *s)
{
    struct stripe *st = stripe_of(t, owl_session_id(s));
    s->stripe = st;
    pthread_mutex_lock(&st->lock);
    int rc = owl_map_put(&st->map, owl_session_id(s), s, NULL);
    if (rc == 0)
        touch(st, owl_session_aref(s));
    pthread_mutex_unlock(&st->lock);
    return rc;
}

static int open_counted(struct owl_sessions *t, const struct owl_session_init *init,
                        struct owl_session **ret)
{
    struct owl_session *s = session_make(t, init);
    if (!s)
        return -OWL_ENOMEM;
    int n = snprintf(s->id, sizeof(s->id), "%u-", init->owner);
    int rc = owl_random_hex(s->id + n, RANDOM_BYTES);
    if (rc == 0) {
        tell_opened(s); /* as soon as it is in the table anybody may end it */
        rc = insert(t, s);
        if (rc != 0) {
            atomic_store(&s->ended, true);
            tell_ended(s);
        }
    }
    if (rc == 0)
        *ret = s;
    else
        owl_session_aunref(s);
    return rc;
}

/* When a session was used last; one whose client came back after `initialize` counts as used later
 * than it was. The other way round the clock of a machine that has just started has no room for it. */
static uint64_t rank(const struct owl_session *s)
{
    uint64_t used = atomic_load_explicit(&s->used_ms, memory_order_relaxed);
    return used + (atomic_load(&s->initialized) ? INITIALIZED_MS : 0);
}

/* Whether @p a gives way rather than @p b: for what it is subscribed to, or for its place. */
static bool rather(const struct owl_session *a, const struct owl_session *b, enum kind from)
{
    return from == SUBSCRIBED ? atomic_load(&a->taken) > atomic_load(&b->taken) : rank(a) < rank(b);
}

/* Who is to give way. */
struct wanted {
    enum kind from; /* its kind, or a later one that nobody holds */
    size_t least;   /* what it is subscribed to takes so much */
};

/* The session of a list that gives way first, of the few that were unused for longest; or @p best
 * if that is better. The stripe's lock is held. */
static struct owl_session *better(struct owl_list *list, const struct wanted *w,
                                  struct owl_session *best)
{
    unsigned looks = 0;
    OWL_LIST_EACH (list, it) {
        struct owl_session *s = OWL_CONTAINER(it, struct owl_session, node);
        if (looks++ == LOOKS)
            break;
        if (atomic_load(&s->taken) >= w->least && (!best || rather(s, best, w->from)))
            best = s;
    }
    return best;
}

/* The same of a stripe, counted; takes over the count of @p best. */
static struct owl_session *better_of(struct stripe *st, const struct wanted *w,
                                     struct owl_session *best)
{
    struct owl_session *old = best;
    pthread_mutex_lock(&st->lock);
    for (enum kind k = w->from; k < HELD; k++)
        best = better(&st->lists[k], w, best);
    if (best != old)
        owl_session_aref(best);
    pthread_mutex_unlock(&st->lock);
    if (best != old)
        owl_session_aunref(old);
    return best;
}

/* There is no room. So that nobody can lock the others out, a session that was unused for long
 * ends, the best of a sample. It is returned, counted; NULL: there is none. */
static struct owl_session *give_way(struct owl_sessions *t, const struct wanted *w)
{
    struct owl_session *victim = NULL;
    size_t first = atomic_fetch_add(&t->sample, SAMPLE);
    for (size_t i = 0; i < STRIPES && (i < SAMPLE || !victim); i++)
        victim = better_of(&t->stripes[(first + i) % STRIPES], w, victim);
    if (victim)
        OWL_IGNORE(owl_sessions_end(t, owl_session_id(victim))); /* ended meanwhile: fine */
    return victim;
}

static bool make_room(struct owl_sessions *t)
{
    struct owl_session *victim = give_way(t, &(struct wanted){.from = IDLE});
    owl_session_aunref(victim);
    return victim != NULL;
}

int owl_sessions_open(struct owl_sessions *t, const struct owl_session_init *init,
                      struct owl_session **ret, owl_error *reterr)
{
    int rc;
    if (atomic_fetch_add(&t->count, 1u) >= t->max && t->max > 0 && !make_room(t))
        rc = owl_fail(reterr, OWL_EBUSY, "%zu sessions are open, the most there may be; try later",
                      t->max);
    else if ((rc = open_counted(t, init, ret)) != 0)
        rc = owl_fail(reterr, -rc, NULL);
    if (rc != 0)
        atomic_fetch_sub(&t->count, 1u);
    return rc;
}

struct owl_session *owl_sessions_find(struct owl_sessions *t, owl_str id)
{
    struct stripe *st = stripe_of(t, id);
    pthread_mutex_lock(&st->lock);
    struct owl_session *s = owl_map_get(&st->map, id);
    if (s)
        touch(st, owl_session_aref(s));
    pthread_mutex_unlock(&st->lock);
    return s;
}

/* @p by 1, -1, or 0: it is only used. */
static void hold(struct owl_session *s, unsigned by)
{
    struct stripe *st = s->stripe;
    if (st)
        pthread_mutex_lock(&st->lock);
    atomic_fetch_add(&s->holds, by);
    if (st && !owl_session_ended(s))
        touch(st, s);
    if (st)
        pthread_mutex_unlock(&st->lock);
}

void owl_session_hold(struct owl_session *s)
{
    hold(s, 1u);
}

void owl_session_release(struct owl_session *s)
{
    hold(s, -1u);
}

bool owl_sessions_end(struct owl_sessions *t, owl_str id)
{
    struct stripe *st = stripe_of(t, id);
    pthread_mutex_lock(&st->lock);
    struct owl_session *s = owl_map_get(&st->map, id);
    if (s)
        take_out(t, st, s);
    pthread_mutex_unlock(&st->lock);
    if (s)
        has_ended(s);
    return s != NULL;
}

/* ---- subscriptions --------------------------------------------------------------------------- */

static bool count_uri(struct owl_session *s, size_t n)
{
    struct owl_sessions *t = s->table;
    atomic_fetch_add(&s->taken, n);
    if (!t || atomic_fetch_add(&t->uri_bytes, n) + n <= t->max_uri_bytes || !t->max_uri_bytes)
        return true;
    uncount_uris(s, n);
    return false;
}

static int keep_uri(struct owl_session *s, owl_str uri)
{
    char *copy = owl_strndup(uri.p, uri.n);
    if (!copy)
        return -OWL_ENOMEM;
    int rc = owl_map_put(&s->uris, (owl_str){copy, uri.n}, copy, NULL);
    if (rc != 0)
        owl_free(copy);
    return rc;
}

static int add_uri(struct owl_session *s, owl_str uri)
{
    size_t bytes = atomic_load(&s->taken) - s->uris.n * SUBSCRIPTION_BYTES;
    if (owl_map_get(&s->uris, uri))
        return 0;
    if (s->uris.n >= SUBSCRIPTIONS || bytes + uri.n > OWL_SESSION_URIS_BYTES)
        return -OWL_ELIMIT;
    if (!count_uri(s, SUBSCRIPTION_BYTES + uri.n))
        return -OWL_EBUSY;
    int rc = keep_uri(s, uri);
    if (rc != 0)
        uncount_uris(s, SUBSCRIPTION_BYTES + uri.n);
    return rc;
}

/* All together take all there is. One that has no less than this one will have gives way, so that
 * nobody can lock the others out, and who has most pushes nobody out. */
static bool make_room_for_uris(struct owl_session *s, size_t n)
{
    struct owl_session *victim = give_way(
        s->table, &(struct wanted){.from = SUBSCRIBED, .least = atomic_load(&s->taken) + n});
    if (victim)
        forget_uris(victim); /* whoever still uses it need not be waited for */
    owl_session_aunref(victim);
    return victim != NULL;
}

int owl_session_subscribe(struct owl_session *s, owl_str uri)
{
    int rc = uri.n > OWL_SESSION_URI_BYTES ? -OWL_ELIMIT : -OWL_EBUSY;
    size_t n = SUBSCRIPTION_BYTES + uri.n;
    for (unsigned i = 0; rc == -OWL_EBUSY && i <= TRIES && (i == 0 || make_room_for_uris(s, n));
         i++) {
        pthread_mutex_lock(&s->lock);
        rc = add_uri(s, uri);
        pthread_mutex_unlock(&s->lock);
    }
    if (rc == 0)
        hold(s, 0); /* it may be of another kind now */
    return rc;
}

void owl_session_unsubscribe(struct owl_session *s, owl_str uri)
{
    pthread_mutex_lock(&s->lock);
    void *copy = owl_map_del(&s->uris, uri);
    if (copy)
        uncount_uris(s, SUBSCRIPTION_BYTES + uri.n);
    pthread_mutex_unlock(&s->lock);
    owl_free(copy);
    hold(s, 0); /* it may be of another kind now */
}

bool owl_session_subscribed(struct owl_session *s, owl_str uri)
{
    pthread_mutex_lock(&s->lock);
    bool yes = owl_map_get(&s->uris, uri) != NULL;
    pthread_mutex_unlock(&s->lock);
    return yes;
}

/* ---- expiry ---------------------------------------------------------------------------------- */

static bool expired(const struct owl_sessions *t, const struct owl_session *s, uint64_t now_ms)
{
    uint64_t used = atomic_load(&s->used_ms);
    return now_ms > used && now_ms - used >= t->idle_ms;
}

/* Ends those of a list that were idle too long, a batch at most. How many. */
static size_t sweep_batch(struct owl_sessions *t, struct stripe *st, enum kind kind,
                          uint64_t now_ms)
{
    struct owl_list ended;
    size_t count = 0;
    owl_list_init(&ended);
    pthread_mutex_lock(&st->lock);
    OWL_LIST_EACH (&st->lists[kind], it) {
        struct owl_session *s = OWL_CONTAINER(it, struct owl_session, node);
        if (count == BATCH || !expired(t, s, now_ms))
            break; /* the others were used later */
        take_out(t, st, s);
        owl_list_add(&ended, &s->node);
        count++;
    }
    pthread_mutex_unlock(&st->lock);
    OWL_LIST_EACH (&ended, it) {
        owl_list_del(it);
        has_ended(OWL_CONTAINER(it, struct owl_session, node));
    }
    return count;
}

size_t owl_sessions_sweep(struct owl_sessions *t, uint64_t now_ms)
{
    size_t ended = 0;
    for (size_t i = 0; t->idle_ms > 0 && i < STRIPES * HELD; i++) {
        size_t n;
        do {
            n = sweep_batch(t, &t->stripes[i / HELD], (enum kind)(i % HELD), now_ms);
            ended += n;
        } while (n == BATCH);
    }
    return ended;
}

size_t owl_sessions_count(struct owl_sessions *t)
{
    return atomic_load(&t->count);
}

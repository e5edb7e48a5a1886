/* server/run.c - start, serve, drain, stop: a server as a part of a runtime.
 *
 * The runtime is one of its own, or the caller's (owl_server_attach()).
 *
 * Stopping, in order, each reactor on its own: no new connections, streams end, running calls get
 * GRACE_MS and are then ended with a retryable error, whatever they wait for. When the last call has
 * ended, connections get a moment to send what is queued, and are closed. When all reactors have got
 * there and all listeners are closed, the part has ended. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/ask.h"
#include "server/server.h"

enum { GRACE_MS = 4000, AGAIN_MS = 200, LINGER_MS = 400, LINGER_STEP_MS = 10, LAG_WARN_MS = 100 };

int owl_server__too_late(const struct owl_server *s, const char *what, owl_error *reterr)
{
    return owl_fail(reterr, OWL_ESTATE, "%s: %s", what,
                    atomic_load(&s->failed) ? "the start of this server failed: make a new one"
                    : atomic_load(&s->phase) >= OWL_PHASE_STOPPING
                        ? "the server stops or has stopped, and runs once"
                        : "the server has been started, and runs once");
}

int owl_server_serve_fds(owl_server *s, int in_fd, int out_fd, owl_error *reterr)
{
    if (in_fd < 0 || out_fd < 0)
        return owl_fail(reterr, OWL_EINVAL, "serve_fds: two open descriptors are needed");
    if (atomic_load(&s->phase) != OWL_PHASE_NEW)
        return owl_server__too_late(s, "serve_fds", reterr);
    if (s->stdio_in >= 0)
        return owl_fail(reterr, OWL_ESTATE, "serve_fds: there is a pair already, and one client");
    s->stdio_in = in_fd;
    s->stdio_out = out_fd;
    return 0;
}

/* ---- the end, on each reactor ---- */

bool owl_server__post(struct owl_server *s, struct owl_msg *m)
{
    pthread_mutex_lock(&s->lock);
    bool posted = !s->ended && owl_post(s->local[0].reactor, m);
    pthread_mutex_unlock(&s->lock);
    return posted;
}

void owl_server__ended_one(struct owl_server *s)
{
    if (atomic_fetch_sub(&s->pending, 1u) != 1)
        return;
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_mutex_unlock(&s->lock);
    owl_runtime_part_ended(&s->part);
}

static void on_left(struct owl_runtime_part *p)
{
    struct owl_server *s = OWL_CONTAINER(p, struct owl_server, part);
    pthread_mutex_lock(&s->lock);
    s->gone = true;
    pthread_cond_broadcast(&s->going);
    pthread_mutex_unlock(&s->lock);
}

static void reactor_ended(struct owl_server_local *l)
{
    struct owl_server *s = l->server;
    l->ended = true;
    owl_subs_stop(l);
    if (owl_reactor_index(l->reactor) != 0) {
        owl_server__ended_one(s);
        return;
    }
    owl_timer_stop(&s->sweep);
    owl_replay_table_stop(s->replays);
    owl_stdio_peer_close(s, owl_server__ended_one);
}

/* Their ends run in this turn of the loop. */
static void on_closing(struct owl_timer *t)
{
    struct owl_server_local *l = OWL_CONTAINER(t, struct owl_server_local, timer);
    if (owl_http_connections(l->server->http, l->reactor) > 0)
        owl_timer_start(l->reactor, t, 0);
    else
        reactor_ended(l);
}

/* Connections that still send their last answer get a moment, once they have it: a call on another
 * reactor may be about to write it. */
static void on_linger(struct owl_timer *t)
{
    struct owl_server_local *l = OWL_CONTAINER(t, struct owl_server_local, timer);
    if (!l->n_readers || owl_now_ms() >= l->grace_end)
        l->waited_ms += LINGER_STEP_MS;
    if (owl_http_connections(l->server->http, l->reactor) > 0 && l->waited_ms < LINGER_MS) {
        owl_timer_start(l->reactor, t, LINGER_STEP_MS);
        return;
    }
    owl_http_close(l->server->http, l->reactor);
    owl_timer_init(t, on_closing);
    on_closing(t);
}

static void on_idle(struct owl_call_local *h)
{
    struct owl_server_local *l = h->idle_data;
    bool busy = owl_http_connections(l->server->http, l->reactor) > 0;
    h->on_idle = NULL;
    owl_timer_stop(&l->timer);
    owl_timer_init(&l->timer, on_linger);
    owl_timer_start(l->reactor, &l->timer, busy ? LINGER_STEP_MS : 0);
}

static void on_grace_over(struct owl_timer *t)
{
    struct owl_server_local *l = OWL_CONTAINER(t, struct owl_server_local, timer);
    /* One that was just finishing may be asking its client now: look again until all have gone. */
    owl_timer_start(l->reactor, t, AGAIN_MS);
    owl_calls_end(owl_call_local(&l->server->env, l->reactor), OWL_ECLOSED);
}

static void on_drain(struct owl_runtime_part *p, struct owl_reactor *r)
{
    struct owl_server *s = OWL_CONTAINER(p, struct owl_server, part);
    struct owl_server_local *l = owl_server_local(s, r);
    struct owl_call_local *h = owl_call_local(&s->env, r);
    l->draining = true;
    l->grace_end = owl_now_ms() + GRACE_MS;
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->phase, OWL_PHASE_STOPPING);
    owl_addresses__stop(s, r);
    pthread_mutex_unlock(&s->lock);
    owl_subs_end(s, r);
    owl_sse_leave(s, r);
    owl_entries_end(s, r);
    owl_http_drain(s->http, r);
    h->idle_data = l;
    owl_park_end_all(h); /* their clients would have to come back to a server that has gone */
    owl_tasks_end_waiting(h);
    if (h->n_calls == 0) {
        on_idle(h);
        return;
    }
    h->on_idle = on_idle;
    owl_timer_init(&l->timer, on_grace_over);
    owl_timer_start(r, &l->timer, GRACE_MS);
}

static void on_hurry(struct owl_runtime_part *p, struct owl_reactor *r)
{
    struct owl_server *s = OWL_CONTAINER(p, struct owl_server, part);
    struct owl_server_local *l = owl_server_local(s, r);
    if (owl_now_ms() < l->grace_end)
        l->grace_end = owl_now_ms();
    if (owl_call_local(&s->env, r)->on_idle)
        owl_timer_start(r, &l->timer, 0);
}

void owl_server__drain(struct owl_server *s)
{
    OWL_IGNORE(owl_runtime_part_drain(&s->part)); /* it drains already */
}

void owl_server_stop(owl_server *s)
{
    if (s && !owl_runtime_part_drain(&s->part))
        owl_runtime_part_hurry(&s->part);
}

/* ---- starting ---- */

static void on_sweep(struct owl_timer *t)
{
    struct owl_server *s = OWL_CONTAINER(t, struct owl_server, sweep);
    size_t every = s->limits.session_idle_ms / 10;
    unsigned changes = atomic_exchange(&s->unpublished, 0);
    if (changes && owl_server_publish(s, changes) != 0)
        atomic_fetch_or(&s->unpublished, changes);
    s->env.tasks->ops->expire(s->env.tasks);
    OWL_IGNORE(owl_sessions_sweep(s->sessions, owl_now_ms())); /* those have no streams */
    owl_timer_start(owl_runtime_at(s->env.runtime, 0), t,
                    every < 100     ? 100
                    : every > 60000 ? 60000
                                    : every);
}

static void on_begin(struct owl_reactor *r, struct owl_msg *m)
{
    struct owl_server *s = OWL_CONTAINER(m, struct owl_server, begin);
    if (!owl_server_local(s, r)->ended)
        on_sweep(&s->sweep);
}

static void ref_snapshot(void *snap)
{
    owl_snapshot_aref(snap);
}

static void unref_snapshot(void *snap)
{
    owl_snapshot_aunref(snap);
}

static int make_runtime(struct owl_server *s, owl_error *reterr)
{
    /* One client on a pipe keeps one reactor busy at most. */
    bool only_stdio = s->stdio_in >= 0 && !s->addresses;
    struct owl_runtime_options o = {.reactors = s->embedded || only_stdio ? 1 : s->reactors,
                                    .workers = s->workers,
                                    .max_queued_work = 10000,
                                    .lag_warn_ms = s->log.fn ? LAG_WARN_MS : 0,
                                    .embedded = s->embedded,
                                    .log = &s->log};
    return owl_runtime_new(&o, &s->env.runtime, reterr);
}

static int make_locals(struct owl_server *s, owl_error *reterr)
{
    unsigned n = owl_runtime_count(s->env.runtime);
    struct owl_snapshot *snap = owl_registry_snapshot(s->registry);
    s->local = owl_calloc(n, sizeof *s->local);
    if (!snap || !s->local || owl_call_env_init(&s->env) != 0) {
        owl_snapshot_aunref(snap);
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    }
    for (unsigned i = 0; i < n; i++) {
        s->local[i].server = s;
        s->local[i].reactor = owl_runtime_at(s->env.runtime, i);
        owl_subs_init_local(&s->local[i]);
        owl_list_init(&s->local[i].sse_peers);
        owl_map_init(&s->local[i].sse_ids);
        owl_timer_init(&s->local[i].timer, on_linger);
    }
    s->env.registry = owl_cell_new(s->env.runtime, snap, ref_snapshot, unref_snapshot);
    if (s->env.registry)
        return owl_routes_start(s) == 0 ? 0 : owl_fail(reterr, OWL_ENOMEM, NULL);
    owl_snapshot_aunref(snap);
    return owl_fail(reterr, OWL_ENOMEM, NULL);
}

static struct owl_http_limits http_limits(const owl_limits *l)
{
    return (struct owl_http_limits){
        .url_bytes = l->url_bytes,
        .header_bytes = l->header_bytes,
        .headers = (unsigned)l->headers,
        .body_bytes = l->body_bytes,
        .queue_bytes = l->queue_bytes,
        .queue_total_bytes = l->queue_total_bytes,
        .input_total_bytes = l->input_total_bytes,
        .header_ms = (unsigned)l->header_ms,
        .body_ms = (unsigned)l->body_ms,
        .idle_ms = (unsigned)l->idle_ms,
        .keepalive_ms = (unsigned)l->keepalive_ms,
        .handshake_ms = (unsigned)l->handshake_ms,
        .handshakes = (unsigned)l->handshakes,
    };
}

static int open_stdio(struct owl_server *s, owl_error *reterr)
{
    if (s->stdio_in < 0)
        return 0;
    if (s->attached && owl_runtime_started(s->env.runtime))
        return owl_fail(
            reterr, OWL_ESTATE,
            "a server with a pair of descriptors is attached before the runtime starts");
    return owl_stdio_peer_open(s, reterr);
}

/* From here on the server can be drained. */
static int enter_runtime(struct owl_server *s, owl_error *reterr)
{
    s->part.name = "server";
    s->part.drain = on_drain;
    s->part.hurry = on_hurry;
    s->part.left = on_left;
    s->env.part = &s->part;
    s->begin.run = on_begin;
    owl_timer_init(&s->sweep, on_sweep);
    atomic_store(&s->pending, owl_runtime_count(s->env.runtime));
    pthread_mutex_lock(&s->lock); /* the drain waits until this is through */
    int rc = owl_runtime_part_add(s->env.runtime, &s->part, reterr);
    if (rc == 0) {
        owl_addresses__start(s);
        OWL_IGNORE(owl_post(s->local[0].reactor, &s->begin)); /* a stopped runtime needs no sweep */
        atomic_store(&s->phase, OWL_PHASE_RUNNING);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* On s->env.runtime. */
static int settle_in(struct owl_server *s, owl_error *reterr)
{
    struct owl_http_limits limits = http_limits(&s->limits);
    pthread_mutex_lock(&s->lock);
    int rc = make_locals(s, reterr);
    pthread_mutex_unlock(&s->lock);
    if (rc != 0)
        return rc;
    if (owl_http_new(s->env.runtime, &limits, &owl_http_front_ops, s, &s->http) != 0)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    rc = owl_addresses__bind(s, reterr);
    if (rc == 0)
        rc = open_stdio(s, reterr);
    return rc == 0 ? enter_runtime(s, reterr) : rc;
}

/* What a failed start has made: nothing of it has run yet. */
static void undo_start(struct owl_server *s)
{
    owl_stdio_peer_close(s, NULL);
    if (!s->attached && s->env.runtime) {
        owl_runtime_stop(s->env.runtime);
        owl_runtime_join(s->env.runtime);
    }
    pthread_mutex_lock(&s->lock);
    owl_addresses__reap(s, true);
    atomic_store(&s->failed, true);
    atomic_store(&s->phase, OWL_PHASE_STOPPED);
    pthread_mutex_unlock(&s->lock);
}

static int begin_start(struct owl_server *s, const char *what, owl_error *reterr)
{
    int fresh = OWL_PHASE_NEW;
    pthread_mutex_lock(&s->lock);
    bool won = atomic_compare_exchange_strong(&s->phase, &fresh, OWL_PHASE_STARTING);
    pthread_mutex_unlock(&s->lock);
    return won ? 0 : owl_server__too_late(s, what, reterr);
}

static int start(struct owl_server *s, owl_error *reterr)
{
    if (atomic_load(&s->phase) == OWL_PHASE_NEW && !s->addresses && s->stdio_in < 0)
        return owl_fail(
            reterr, OWL_ESTATE,
            "nowhere to serve: call owl_server_listen() or owl_server_serve_fds() first");
    int rc = begin_start(s, "start", reterr);
    if (rc != 0)
        return rc;
    rc = make_runtime(s, reterr);
    if (rc == 0)
        rc = settle_in(s, reterr);
    if (rc == 0)
        rc = owl_runtime_start(s->env.runtime, reterr);
    if (rc != 0)
        undo_start(s);
    return rc;
}

int owl_server_start(owl_server *s, owl_error *reterr)
{
    return start(s, reterr);
}

int owl_server_attach(struct owl_server *s, struct owl_runtime *rt, owl_error *reterr)
{
    int rc = begin_start(s, "attach", reterr);
    if (rc != 0)
        return rc;
    s->attached = true;
    s->env.runtime = owl_runtime_aref(rt);
    rc = settle_in(s, reterr);
    if (rc != 0)
        undo_start(s);
    return rc;
}

static void wait_until_gone(struct owl_server *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->gone)
        pthread_cond_wait(&s->going, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

int owl_server_join(owl_server *s)
{
    int phase = atomic_load(&s->phase);
    if (phase == OWL_PHASE_NEW)
        return -OWL_ESTATE;
    if (phase == OWL_PHASE_STOPPED)
        return 0;
    if (s->attached)
        wait_until_gone(s);
    else
        owl_runtime_join(s->env.runtime);
    atomic_store(&s->phase, OWL_PHASE_STOPPED);
    return 0;
}

int owl_server_run(owl_server *s, owl_error *reterr)
{
    int rc = owl_server_start(s, reterr);
    return rc == 0 ? owl_server_join(s) : rc;
}

/* ---- in somebody else's loop ---- */

int owl_server_fd(owl_server *s, owl_error *reterr)
{
    if (atomic_load(&s->phase) == OWL_PHASE_NEW) {
        s->embedded = true;
        int rc = start(s, reterr);
        if (rc != 0) {
            s->embedded = false;
            return rc;
        }
    }
    if (!s->embedded)
        return owl_server__too_late(s, "fd", reterr);
    return uv_backend_fd(owl_reactor_loop(owl_runtime_at(s->env.runtime, 0)));
}

int owl_server_poll_ms(owl_server *s)
{
    if (!s->embedded || !s->env.runtime)
        return -1;
    return uv_backend_timeout(owl_reactor_loop(owl_runtime_at(s->env.runtime, 0)));
}

int owl_server_step(owl_server *s)
{
    if (!s->embedded || !s->env.runtime)
        return -OWL_ESTATE;
    return owl_runtime_step(s->env.runtime) ? 1 : 0;
}

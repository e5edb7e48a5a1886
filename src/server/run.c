/* server/run.c - start, serve, drain, stop.
 *
 * Stopping, in order, each reactor on its own: no new connections, streams end, running calls get
 * GRACE_MS and are then ended with a retryable error; when the last call has ended, connections get
 * a moment to send what is queued, and are closed. The last reactor to get there stops the
 * runtime. */
#include <sched.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/sized.h"
#include "call/ask.h"
#include "server/server.h"

enum { GRACE_MS = 4000, AGAIN_MS = 200, LINGER_MS = 400, LINGER_STEP_MS = 10, LAG_WARN_MS = 100 };

/* What needs a server that was not started yet. */
static int too_late(const struct owl_server *s, const char *what, owl_error *reterr)
{
    return owl_fail(reterr, OWL_ESTATE, "%s: %s", what,
                    atomic_load(&s->failed) ? "the start of this server failed: make a new one"
                                            : "the server has been started, and runs once");
}

/* ---- where to serve ---- */

/* Takes @p tls (or NULL) on success only. */
static int add_address(struct owl_server *s, const char *address, struct owl_tls *tls,
                       owl_error *reterr)
{
    if (!address || !*address)
        return owl_fail(reterr, OWL_EINVAL, "listen: an address such as 127.0.0.1:8080 is needed");
    size_t n = strlen(address) + 1;
    struct owl_address *a = owl_calloc(1, sizeof *a + n);
    if (!a)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    memcpy(a->text, address, n);
    a->port.tls = tls;
    pthread_mutex_lock(&s->lock);
    struct owl_address **end = &s->addresses;
    while (*end)
        end = &(*end)->next;
    bool early = atomic_load(&s->phase) == OWL_PHASE_NEW;
    if (early)
        *end = a;
    pthread_mutex_unlock(&s->lock);
    if (early)
        return 0;
    owl_free(a);
    return too_late(s, "listen", reterr);
}

int owl_server_listen(owl_server *s, const char *address, owl_error *reterr)
{
    return add_address(s, address, NULL, reterr);
}

int owl_server_listen_tls(owl_server *s, const char *address, const owl_tls_options *in,
                          owl_error *reterr)
{
    owl_tls_options o;
    struct owl_tls *tls = NULL;
    int rc = OWL_SIZED_READ(&o, owl_tls_options, key_file, in, reterr);
    if (rc != 0)
        return rc;
    struct owl_tls_files files = {o.cert_file, o.key_file, o.client_ca_file};
    rc = owl_tls_new(&files, &tls, reterr);
    if (rc == 0)
        rc = add_address(s, address, tls, reterr);
    if (rc != 0)
        owl_tls_free(tls);
    return rc;
}

int owl_server_reload_tls(owl_server *s, owl_error *reterr)
{
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    for (struct owl_address *a = s->addresses; a; a = a->next) {
        int one = a->port.tls ? owl_tls_reload(a->port.tls, rc == 0 ? reterr : NULL) : 0;
        rc = rc == 0 ? one : rc;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int owl_server_serve_fds(owl_server *s, int in_fd, int out_fd, owl_error *reterr)
{
    if (in_fd < 0 || out_fd < 0)
        return owl_fail(reterr, OWL_EINVAL, "serve_fds: two open descriptors are needed");
    if (atomic_load(&s->phase) != OWL_PHASE_NEW)
        return too_late(s, "serve_fds", reterr);
    if (s->stdio_in >= 0)
        return owl_fail(reterr, OWL_ESTATE, "serve_fds: there is a pair already, and one client");
    s->stdio_in = in_fd;
    s->stdio_out = out_fd;
    return 0;
}

int owl_server_port(const owl_server *s)
{
    int port = 0;
    for (const struct owl_address *a = s->addresses; a && a->listener && port == 0; a = a->next)
        port = owl_listener_port(a->listener);
    return port;
}

/* ---- stopping, on each reactor ---- */

/* owl_server_stop() may be on its way in another thread: the handle goes when nobody is. */
static void close_wake(struct owl_server *s)
{
    if (!atomic_exchange(&s->wake_open, false))
        return;
    while (atomic_load(&s->wakers) > 0)
        sched_yield();
    uv_close((uv_handle_t *)&s->wake, NULL);
}

static void count_ended(struct owl_server *s)
{
    if (atomic_fetch_add(&s->n_ended, 1) + 1 == owl_runtime_count(s->env.runtime))
        owl_runtime_stop(s->env.runtime);
}

static void reactor_ended(struct owl_server_local *l)
{
    struct owl_server *s = l->server;
    owl_timer_stop(&l->timer);
    if (s->http)
        owl_http_close(s->http, l->reactor);
    if (owl_reactor_index(l->reactor) != 0) {
        count_ended(s);
        return;
    }
    owl_timer_stop(&s->sweep);
    close_wake(s);
    owl_stdio_peer_close(s, count_ended);
}

/* Connections that still send their last answer get a moment, once they have it: a call on another
 * reactor may be about to write it. */
static void on_linger(struct owl_timer *t)
{
    struct owl_server_local *l = OWL_CONTAINER(t, struct owl_server_local, timer);
    if (!l->n_readers || owl_now_ms() >= l->drain_ms + GRACE_MS)
        l->waited_ms += LINGER_STEP_MS;
    if (owl_reactor_load(l->reactor) == 0 || l->waited_ms >= LINGER_MS) {
        reactor_ended(l);
        return;
    }
    owl_timer_start(l->reactor, t, LINGER_STEP_MS);
}

static void on_idle(struct owl_call_local *h)
{
    struct owl_server_local *l = h->idle_data;
    h->on_idle = NULL;
    owl_timer_stop(&l->timer);
    owl_timer_init(&l->timer, on_linger);
    owl_timer_start(l->reactor, &l->timer, owl_reactor_load(l->reactor) ? LINGER_STEP_MS : 0);
}

static void on_grace_over(struct owl_timer *t)
{
    struct owl_server_local *l = OWL_CONTAINER(t, struct owl_server_local, timer);
    /* One that was just finishing may be asking its client now: look again until all have gone. */
    owl_timer_start(l->reactor, t, AGAIN_MS);
    owl_calls_end(owl_call_local(&l->server->env, l->reactor), OWL_ECLOSED);
}

static void on_drain(struct owl_reactor *r, struct owl_msg *m)
{
    struct owl_server_local *l = OWL_CONTAINER(m, struct owl_server_local, drain);
    struct owl_server *s = l->server;
    struct owl_call_local *h = owl_call_local(&s->env, r);
    l->draining = true;
    l->drain_ms = owl_now_ms();
    for (struct owl_address *a = s->addresses; a; a = a->next)
        owl_listener_stop(a->listener, r);
    owl_subs_end(s, r);
    owl_sse_leave(s, r);
    owl_entries_end(s, r);
    if (s->http)
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

static void begin_stop(struct owl_server *s)
{
    int running = OWL_PHASE_RUNNING;
    if (!atomic_compare_exchange_strong(&s->phase, &running, OWL_PHASE_STOPPING))
        return;
    for (unsigned i = 0; i < owl_runtime_count(s->env.runtime); i++) {
        s->local[i].drain.run = on_drain;
        bool posted = owl_post(s->local[i].reactor, &s->local[i].drain);
        OWL_ASSERT(posted); /* mailboxes close after every reactor has drained */
    }
}

static void on_wake(uv_async_t *h)
{
    struct owl_server *s = h->data;
    if (atomic_load(&s->stop_asked))
        begin_stop(s);
}

void owl_server_stop(owl_server *s)
{
    if (!s)
        return;
    atomic_store(&s->stop_asked, true);
    atomic_fetch_add(&s->wakers, 1);
    if (atomic_load(&s->wake_open))
        uv_async_send(&s->wake); /* safe in a signal handler */
    atomic_fetch_sub(&s->wakers, 1);
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
    int rc = owl_runtime_new(&o, &s->env.runtime, reterr);
    if (rc != 0)
        return rc;
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

static int open_listeners(struct owl_server *s, owl_error *reterr)
{
    struct owl_http_limits limits = http_limits(&s->limits);
    if (s->addresses &&
        owl_http_new(s->env.runtime, &limits, &owl_http_front_ops, s, &s->http) != 0)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    for (struct owl_address *a = s->addresses; a; a = a->next) {
        a->port.http = s->http;
        struct owl_listen_options o = {.address = owl_str_of(a->text),
                                       .max = (unsigned)s->limits.connections,
                                       .peers = s->peers,
                                       .accept = owl_http_accept,
                                       .user = &a->port};
        int rc = owl_listener_open(s->env.runtime, &o, &a->listener, reterr);
        if (rc != 0)
            return rc;
        if (!owl_listener_loopback(a->listener) && !s->allow_hosts)
            return owl_fail(reterr, OWL_EINVAL,
                            "%s is not a loopback address: if others are meant to reach it, name "
                            "the hosts to serve in allow_hosts",
                            a->text);
    }
    return 0;
}

/* What a failed start has made. */
static void undo_start(struct owl_server *s)
{
    for (struct owl_address *a = s->addresses; a; a = a->next) {
        owl_listener_free(a->listener);
        a->listener = NULL;
    }
    close_wake(s);
    owl_stdio_peer_close(s, NULL);
    if (s->env.runtime) {
        owl_runtime_stop(s->env.runtime);
        owl_runtime_join(s->env.runtime);
    }
    atomic_store(&s->failed, true);
    atomic_store(&s->phase, OWL_PHASE_STOPPED);
}

static int start(struct owl_server *s, owl_error *reterr)
{
    int fresh = OWL_PHASE_NEW;
    if (!s->addresses && s->stdio_in < 0)
        return owl_fail(
            reterr, OWL_ESTATE,
            "nowhere to serve: call owl_server_listen() or owl_server_serve_fds() first");
    pthread_mutex_lock(&s->lock);
    int rc = 0;
    if (!atomic_compare_exchange_strong(&s->phase, &fresh, OWL_PHASE_RUNNING))
        rc = too_late(s, "start", reterr);
    pthread_mutex_unlock(&s->lock);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&s->lock);
    rc = make_runtime(s, reterr);
    pthread_mutex_unlock(&s->lock);
    if (rc == 0)
        rc = open_listeners(s, reterr);
    if (rc == 0 &&
        uv_async_init(owl_reactor_loop(owl_runtime_at(s->env.runtime, 0)), &s->wake, on_wake) != 0)
        rc = owl_fail(reterr, OWL_EIO, "no descriptor for the wake-up handle");
    if (rc == 0) {
        s->wake.data = s;
        atomic_store(&s->wake_open, true);
        owl_timer_init(&s->sweep, on_sweep);
        on_sweep(&s->sweep);
    }
    if (rc == 0 && s->stdio_in >= 0)
        rc = owl_stdio_peer_open(s, reterr);
    if (rc == 0)
        rc = owl_runtime_start(s->env.runtime, reterr);
    if (rc != 0) {
        undo_start(s);
        return rc;
    }
    if (atomic_load(&s->stop_asked))
        uv_async_send(&s->wake); /* stopped before it had started */
    return 0;
}

int owl_server_start(owl_server *s, owl_error *reterr)
{
    return start(s, reterr);
}

int owl_server_join(owl_server *s)
{
    int phase = atomic_load(&s->phase);
    if (phase == OWL_PHASE_NEW)
        return -OWL_ESTATE;
    if (phase == OWL_PHASE_STOPPED)
        return 0;
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
        return too_late(s, "fd", reterr);
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

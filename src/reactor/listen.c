/* reactor/listen.c - accepting connections and placing them.
 *
 * Threads: bind, start, close and free on any; an acceptor on its reactor's own from the start on.
 * Invariants: every connection that is handed on is counted as load of the reactor it goes to
 * before anybody else chooses. A handed-over descriptor belongs to its message until it is run.
 * `uses` counts the acceptors that are not closed and the messages that are on their way; once it is 0,
 * nothing on any reactor knows the listener. */
#include "reactor/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "reactor/internal.h"

enum {
    BACKLOG = 1024,
    ACCEPTS_PER_TURN = 64,
    PAUSE_MS = 100,
    WARN_EVERY_MS = 5000,
    UNSENT_BYTES = 256 * 1024 /* that the kernel takes of a connection before it can be sent */
};

enum acceptor_state {
    ACCEPTOR_NEW, /* no handle yet; takes what another one hands over */
    ACCEPTOR_OPEN,
    ACCEPTOR_DEAF, /* open without a socket: likewise */
    ACCEPTOR_CLOSING,
    ACCEPTOR_CLOSED
};

/* Says something at most once in WARN_EVERY_MS, and then how often it has happened. */
struct warning {
    uint64_t last_ms; /* 0: never */
    unsigned times;
};

struct acceptor {
    struct owl_listener *listener;
    struct owl_reactor *reactor;
    int fd;
    enum acceptor_state state;
    struct owl_msg start, stop;
    uv_poll_t poll;
    struct owl_timer pause;
    uint64_t random;
    struct warning exhausted, refused, crowded;
};

struct owl_listener {
    struct owl_runtime *rt;
    struct owl_listen_options opt;   /* its text of the address is not kept */
    struct sockaddr_storage address; /* with the port that was picked */
    struct owl_unix__file file;      /* of a Unix socket: reactor 0's */
    atomic_uint uses;
    unsigned n;
    struct acceptor acceptors[]; /* one a reactor */
};

/* A connection and what it was counted as. */
struct arrival {
    int fd;
    struct owl_peer *peer;
};

struct hand_over {
    struct owl_msg msg;
    struct owl_listener *listener;
    struct arrival arrival;
};

/* The last one tells the owner, who may free the listener at once. */
static void use_end(struct owl_listener *l)
{
    if (atomic_fetch_sub(&l->uses, 1u) == 1 && l->opt.closed)
        l->opt.closed(l->opt.user);
}

/* ---- placement ------------------------------------------------------------------------------- */

static bool warning_due(struct warning *w)
{
    uint64_t now = owl_now_ms();
    w->times++;
    if (w->last_ms != 0 && now - w->last_ms < WARN_EVERY_MS)
        return false;
    w->last_ms = now;
    return true;
}

/* xorshift: spreads well enough, and nothing is lost if somebody guesses it. */
static unsigned any_below(struct acceptor *a, unsigned n)
{
    a->random ^= a->random << 13;
    a->random ^= a->random >> 7;
    a->random ^= a->random << 17;
    return (unsigned)(a->random >> 32) % n;
}

/* The better of this reactor and one other. One more connection here is cheaper than a hop. */
static struct owl_reactor *choose(struct acceptor *a)
{
    unsigned n = a->listener->n;
    if (n == 1)
        return a->reactor;
    unsigned index = (owl_reactor_index(a->reactor) + 1 + any_below(a, n - 1)) % n;
    struct owl_reactor *peer = owl_runtime_at(a->listener->rt, index);
    return owl_reactor_load(peer) + 1 < owl_reactor_load(a->reactor) ? peer : a->reactor;
}

void owl_conn_left(struct owl_reactor *r, struct owl_peer *peer)
{
    owl_reactor_load_add(r, -1);
    owl_peer_release(peer);
}

/* What has arrived is read first: closing with unread input would reset the connection, and the peer
 * would see an error instead of an end. */
static void turn_away(int fd)
{
    char input[4096];
    OWL_IGNORE(recv(fd, input, sizeof(input), 0) < 0); /* non-blocking: there may be nothing */
    close(fd);
}

static void hand_over_run(struct owl_reactor *r, struct owl_msg *m)
{
    struct hand_over h = *OWL_CONTAINER(m, struct hand_over, msg);
    const struct acceptor *a = &h.listener->acceptors[owl_reactor_index(r)];
    owl_free(OWL_CONTAINER(m, struct hand_over, msg));
    if (a->state == ACCEPTOR_CLOSING || a->state == ACCEPTOR_CLOSED) {
        turn_away(h.arrival.fd);
        owl_conn_left(r, h.arrival.peer);
    } else {
        h.listener->opt.accept(h.listener->opt.user, r, h.arrival.fd, h.arrival.peer);
    }
    use_end(h.listener);
}

static bool hand_over(struct owl_listener *l, struct owl_reactor *to, struct arrival arrival)
{
    struct hand_over *h = owl_malloc(sizeof(*h));
    if (!h)
        return false;
    *h = (struct hand_over){.msg.run = hand_over_run, .listener = l, .arrival = arrival};
    atomic_fetch_add(&l->uses, 1u);
    if (owl_post(to, &h->msg))
        return true;
    atomic_fetch_sub(&l->uses, 1u); /* not the last: the acceptor has its own */
    owl_free(h);
    return false;
}

static void place(struct acceptor *a, struct arrival arrival)
{
    struct owl_listener *l = a->listener;
    struct owl_reactor *to = choose(a);
    if (!owl_reactor__load_take(to, l->opt.max)) {
        turn_away(arrival.fd);
        owl_peer_release(arrival.peer);
        if (warning_due(&a->refused))
            OWL_LOG(l->rt->opt.log, OWL_LEVEL_WARNING, "listen",
                    "reactor %u refused %u connections so far: the limit of %u is reached",
                    a->reactor->index, a->refused.times, l->opt.max);
        return;
    }
    if (to != a->reactor) {
        if (hand_over(l, to, arrival))
            return;
        owl_reactor_load_add(to, -1);
        owl_reactor_load_add(a->reactor, 1);
    }
    l->opt.accept(l->opt.user, a->reactor, arrival.fd, arrival.peer);
}

/* ---- accepting ------------------------------------------------------------------------------- */

/* Whether the peer may have one more connection; it is counted then. */
static bool admit(struct acceptor *a, const struct sockaddr_storage *from, struct owl_peer **ret)
{
    const struct owl_listener *l = a->listener;
    int rc = l->opt.peers ? owl_peers_take(l->opt.peers, from, ret) : 0;
    if (rc == 0)
        return true;
    char text[OWL_ADDRESS__TEXT];
    if (warning_due(&a->crowded))
        OWL_LOG(l->rt->opt.log, OWL_LEVEL_WARNING, "listen",
                "reactor %u refused %u connections of single peers so far, now one of %s: %s %u",
                a->reactor->index, a->crowded.times, owl_address__show(from, text),
                rc == -OWL_ELIMIT ? "it has the limit of" : "no memory to count up to",
                owl_peers_max(l->opt.peers));
    return false;
}

static void acceptor_readable(uv_poll_t *poll, int status, int events);

static void acceptor_resume(struct owl_timer *t)
{
    struct acceptor *a = OWL_CONTAINER(t, struct acceptor, pause);
    if (uv_poll_start(&a->poll, UV_READABLE, acceptor_readable) != 0)
        owl_timer_start(a->reactor, t, PAUSE_MS);
}

/* The connection stays in the queue and would wake the loop at once, again and again. */
static void acceptor_pause(struct acceptor *a, int uv_error)
{
    uv_poll_stop(&a->poll);
    owl_timer_start(a->reactor, &a->pause, PAUSE_MS);
    if (warning_due(&a->exhausted))
        OWL_LOG(a->listener->rt->opt.log, OWL_LEVEL_WARNING, "listen",
                "reactor %u cannot accept connections: %s; paused for %d ms, %u times so far",
                a->reactor->index, uv_strerror(uv_error), PAUSE_MS, a->exhausted.times);
}

/* Errors of the connection that was about to be accepted, not of the listener: see accept(2). */
static bool is_of_the_peer(int error)
{
    switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET: return true;
    default: return false;
    }
}

static void acceptor_take(struct acceptor *a, int fd, const struct sockaddr_storage *from)
{
    struct arrival arrival = {.fd = fd};
    if (!admit(a, from, &arrival.peer)) {
        turn_away(fd);
        return;
    }
    place(a, arrival);
}

static void acceptor_turn(struct acceptor *a)
{
    for (unsigned n = 0; n < ACCEPTS_PER_TURN && a->state == ACCEPTOR_OPEN; n++) {
        struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
        socklen_t size = sizeof(from);
        int fd = accept4(a->fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            acceptor_take(a, fd, &from);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (!is_of_the_peer(errno)) {
            acceptor_pause(a, uv_translate_sys_error(errno));
            return;
        }
    }
}

static void acceptor_readable(uv_poll_t *poll, int status, int events)
{
    struct acceptor *a = poll->data;
    (void)events;
    const char *before = owl_reactor_mark(a->reactor, "accept");
    if (status < 0)
        acceptor_pause(a, status);
    else
        acceptor_turn(a);
    owl_reactor_mark(a->reactor, before);
}

/* ---- open and close -------------------------------------------------------------------------- */

/* Connections inherit those of TCP. What the kernel takes of an answer counts nowhere, and it has a
 * limit for all connections of the machine together: peers that do not read would fill that. */
static int socket_options(int fd, int family)
{
    static const int on = 1, off = 0, unsent = UNSENT_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        return -1;
    /* Not every system that calls itself Linux has it: there peers that do not read cost more. */
    OWL_IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent)));
    if (family == AF_INET6)
        return setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    return 0;
}

/* The first socket binds without SO_REUSEPORT, which it gets only for its siblings' sake: otherwise
 * a second program of the same user could bind the port as well and silently take half the
 * traffic. */
static int socket_bind(int fd, struct sockaddr_storage *address, bool first, bool has_siblings)
{
    static const int on = 1;
    socklen_t n = sizeof(*address);
    if (!first && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0)
        return -1;
    if (bind(fd, (const struct sockaddr *)address, owl_address__size(address)) != 0)
        return -1;
    if (first && has_siblings && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0)
        return -1;
    return getsockname(fd, (struct sockaddr *)address, &n); /* the port, if it was 0 */
}

/* *ret_why may say better than the error what is wrong. */
static int acceptor_bind(struct acceptor *a, const char **ret_why)
{
    struct owl_listener *l = a->listener;
    int family = l->address.ss_family, rc = 0;
    a->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (a->fd < 0)
        return uv_translate_sys_error(errno);
    if (family == AF_UNIX)
        rc = owl_unix__bind(a->fd, &l->address, &l->file, ret_why);
    else if (socket_options(a->fd, family) != 0 ||
             socket_bind(a->fd, &l->address, a == &l->acceptors[0], l->n > 1) != 0)
        rc = uv_translate_sys_error(errno);
    if (rc == 0 && listen(a->fd, BACKLOG) != 0)
        rc = uv_translate_sys_error(errno);
    return rc;
}

/* A path can be bound once, and a socket that all reactors poll wakes them all for every connection.
 * Local clients are few and stay: reactor 0 accepts and places for all. */
static bool needs_socket(const struct acceptor *a)
{
    return a->listener->address.ss_family != AF_UNIX || a == &a->listener->acceptors[0];
}

static void socket_close(struct acceptor *a)
{
    if (a->fd < 0)
        return;
    if (a->listener->address.ss_family == AF_UNIX) /* and this is reactor 0's, which alone has it */
        owl_unix__remove(&a->listener->file, &a->listener->address);
    close(a->fd);
    a->fd = -1;
}

static int acceptor_poll(struct acceptor *a)
{
    int rc = uv_poll_init(owl_reactor_loop(a->reactor), &a->poll, a->fd);
    if (rc != 0)
        return rc;
    a->poll.data = a;
    a->state = ACCEPTOR_OPEN;
    rc = uv_poll_start(&a->poll, UV_READABLE, acceptor_readable);
    if (rc != 0) /* out of memory in the kernel: it may have some later */
        acceptor_pause(a, rc);
    return 0;
}

static void acceptor_open(struct acceptor *a)
{
    int rc = a->fd >= 0 ? acceptor_poll(a) : 0;
    if (a->state == ACCEPTOR_OPEN)
        return;
    socket_close(a); /* connections that come there would wait for ever */
    a->state = ACCEPTOR_DEAF;
    if (rc != 0)
        OWL_LOG(a->listener->rt->opt.log, OWL_LEVEL_ERROR, "listen",
                "reactor %u cannot accept connections: %s", a->reactor->index, uv_strerror(rc));
}

static void acceptor_closed(uv_handle_t *h)
{
    struct acceptor *a = h->data;
    a->state = ACCEPTOR_CLOSED;
    use_end(a->listener);
}

static void acceptor_close(struct acceptor *a)
{
    enum acceptor_state before = a->state;
    if (before == ACCEPTOR_CLOSING || before == ACCEPTOR_CLOSED)
        return;
    a->state = before == ACCEPTOR_OPEN ? ACCEPTOR_CLOSING : ACCEPTOR_CLOSED;
    owl_timer_stop(&a->pause);
    if (before == ACCEPTOR_OPEN)
        uv_close((uv_handle_t *)&a->poll, acceptor_closed);
    socket_close(a);
    if (before != ACCEPTOR_OPEN)
        use_end(a->listener);
}

/* A runtime that was stopped before its start opens nothing any more. */
static void on_start(struct owl_reactor *r, struct owl_msg *m)
{
    struct acceptor *a = OWL_CONTAINER(m, struct acceptor, start);
    pthread_mutex_lock(&r->rt->mu);
    bool stopping = r->rt->stopping;
    pthread_mutex_unlock(&r->rt->mu);
    if (stopping)
        acceptor_close(a);
    else if (a->state == ACCEPTOR_NEW)
        acceptor_open(a);
    use_end(a->listener);
}

static void on_stop(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct acceptor *a = OWL_CONTAINER(m, struct acceptor, stop);
    acceptor_close(a);
    use_end(a->listener);
}

static void acceptor_init(struct owl_listener *l, unsigned index)
{
    struct acceptor *a = &l->acceptors[index];
    a->listener = l;
    a->reactor = owl_runtime_at(l->rt, index);
    a->fd = -1;
    a->start.run = on_start;
    a->stop.run = on_stop;
    owl_timer_init(&a->pause, acceptor_resume);
    if (owl_random(&a->random, sizeof(a->random)) != 0 || a->random == 0)
        a->random = index + 1; /* any start but zero does */
}

int owl_listener_bind(struct owl_runtime *rt, const struct owl_listen_options *o,
                      struct owl_listener **ret, owl_error *reterr)
{
    unsigned n = owl_runtime_count(rt);
    struct sockaddr_storage address;
    int rc = owl_address__parse(o->address, &address, reterr);
    if (rc != 0)
        return rc;
    if (o->max == 0)
        return owl_fail(reterr, OWL_EINVAL, "a listener needs room for at least one connection");

    struct owl_listener *l = owl_calloc(1, sizeof(*l) + n * sizeof(l->acceptors[0]));
    if (!l)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    l->rt = rt;
    l->opt = *o;
    l->opt.address = (owl_str){NULL, 0};
    l->address = address;
    l->n = n;
    for (unsigned i = 0; i < n; i++)
        acceptor_init(l, i);
    for (unsigned i = 0; i < n; i++) {
        const char *why = NULL;
        rc = needs_socket(&l->acceptors[i]) ? acceptor_bind(&l->acceptors[i], &why) : 0;
        if (rc == 0)
            continue;
        owl_listener_free(l);
        return owl_fail(reterr, rc == UV_ENOMEM ? OWL_ENOMEM : OWL_EIO, "cannot listen on %.*s: %s",
                        (int)o->address.n, o->address.p, why ? why : uv_strerror(rc));
    }
    *ret = l;
    return 0;
}

/* A mailbox that refuses is that of a runtime that has stopped: nothing is to be done there. */
void owl_listener_start(struct owl_listener *l)
{
    atomic_store(&l->uses, 2 * l->n); /* of each acceptor and of its message */
    for (unsigned i = 0; i < l->n; i++) {
        if (!owl_post(l->acceptors[i].reactor, &l->acceptors[i].start))
            atomic_fetch_sub(&l->uses, 1u);
    }
}

int owl_listener_open(struct owl_runtime *rt, const struct owl_listen_options *o,
                      struct owl_listener **ret, owl_error *reterr)
{
    int rc = owl_listener_bind(rt, o, ret, reterr);
    if (rc == 0)
        owl_listener_start(*ret);
    return rc;
}

int owl_listener_port(const struct owl_listener *l)
{
    return owl_address__port(&l->address);
}

bool owl_listener_loopback(const struct owl_listener *l)
{
    return owl_address__loopback(&l->address);
}

void owl_listener_stop(struct owl_listener *l, struct owl_reactor *r)
{
    owl_reactor_assert(r);
    acceptor_close(&l->acceptors[owl_reactor_index(r)]);
}

void owl_listener_close(struct owl_listener *l)
{
    unsigned n = l->n; /* with the last message l may be gone */
    atomic_fetch_add(&l->uses, n);
    for (unsigned i = 0; i < n; i++) {
        if (!owl_post(l->acceptors[i].reactor, &l->acceptors[i].stop))
            atomic_fetch_sub(&l->uses, 1u);
    }
}

void owl_listener_free(struct owl_listener *l)
{
    if (!l)
        return;
    for (unsigned i = 0; i < l->n; i++)
        socket_close(&l->acceptors[i]);
    owl_free(l);
}

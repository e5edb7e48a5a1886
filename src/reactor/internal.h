/* reactor/internal.h - the structures behind reactor.h, for this layer only.
 * Layer: reactor. Threads: each field says who touches it. */
#ifndef OWL_REACTOR_INTERNAL_H
#define OWL_REACTOR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "reactor/part.h"
#include "reactor/reactor.h"
#include "reactor/timer.h"
#include "reactor/worker.h"

#define OWL_NS_PER_MS UINT64_C(1000000)

/* First in, first out. An empty queue has no head; its tail is then stale. */
struct owl_msg_queue {
    struct owl_msg *head, *tail;
};

struct owl_reactor {
    struct owl_runtime *rt;
    unsigned index;
    pthread_t thread; /* of the runtime: valid between start and join, unless embedded */
    uv_loop_t loop;

    /* mailbox.c. Other threads send on `wake` only under `mu` and not once `closed` is set. */
    uv_async_t wake;
    pthread_mutex_t mu;
    struct owl_msg_queue inbox; /* under mu */
    bool closed;                /* under mu */
    struct owl_msg_queue taken; /* own thread: out of the inbox, not yet run */

    /* timer.c, own thread */
    uv_timer_t alarm;
    struct owl_timer *timers; /* the root of the heap */
    uint64_t alarm_at;        /* when the alarm is set for; UINT64_MAX: it is not set */
    uint64_t timer_seq;
    struct owl_timer lull; /* reactor.c: runs while the thread keeps memory for the next turns */

    /* watch.c. Written by the own thread, read by any; counters only, hence relaxed. */
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    _Atomic uint64_t busy_since; /* owl_now_ns() at the start of this turn; 0: it waits */
    _Atomic uint64_t max_lag_ns;
    _Atomic(const char *) mark;
    uint64_t warned_turn; /* the control thread's: busy_since of the turn that it warned of */

    atomic_int load;
};

enum owl_runtime_state {
    OWL_RUNTIME_NEW,      /* no reactor threads: whoever holds the runtime may touch the loops */
    OWL_RUNTIME_STARTING, /* threads exist and wait for the verdict */
    OWL_RUNTIME_RUNNING,
    OWL_RUNTIME_ENDED /* joined */
};

enum { OWL_LANES = 256 };

/* Work of those clients whose numbers lead here, in its order. */
struct owl_lane {
    struct owl_list node; /* in `turns`, if a worker may take from it */
    struct owl_list work;
    unsigned n;       /* of work */
    unsigned running; /* workers that run what was here */
};

struct owl_runtime {
    atomic_uint refs;
    atomic_uint load; /* the sum of all reactors' loads */
    struct owl_runtime_options opt;
    _Atomic(enum owl_runtime_state) state; /* written under mu; read anywhere for assertions */
    pthread_t control;

    pthread_mutex_t mu;
    pthread_cond_t work;   /* for workers: there is work, or the end */
    pthread_cond_t change; /* for the others: state, stopping or workers_live has changed */
    bool stopping;
    struct owl_lane lanes[OWL_LANES]; /* worker.c: the queue */
    struct owl_list turns;            /* lanes, the next to be served first */
    unsigned queued;
    pthread_t *workers;
    unsigned workers_made; /* threads ever started; they are joined at the stop */
    unsigned workers_live;
    unsigned workers_free; /* neither running nor ended: each looks at the queue soon */

    /* part.c */
    struct owl_list parts; /* under mu */
    uv_async_t bell;       /* on reactor 0 */
    atomic_bool bell_open, drain_asked, hurry_asked;
    atomic_uint ringers; /* threads that are about to send on the bell */

    struct owl_reactor reactors[]; /* opt.reactors of them */
};

/* thread.c: starts a thread that blocks all signals but faults and gives the memory that it keeps
 * back at its end. 0 or -OWL_ENOMEM. */
OWL_NODISCARD int owl_thread__start(pthread_t *ret, const char *name, void (*run)(void *),
                                    void *arg);

/* mailbox.c: the wake handle. init: 0 or a libuv error. shut: [any] no more posts; what was posted
 * still runs, then the reactor closes its own handles. */
OWL_NODISCARD int owl_mailbox__init(struct owl_reactor *r);
void owl_mailbox__shut(struct owl_reactor *r);

/* reactor.c. init: 0 or a libuv error, nothing is left then. run: the loop to its end, as the
 * reactor's own thread. done: after the end of the loop. */
OWL_NODISCARD int owl_reactor__init(struct owl_runtime *rt, unsigned index);
void owl_reactor__run(struct owl_reactor *r);
bool owl_reactor__step(struct owl_reactor *r);
/* At the end of a turn. */
void owl_reactor__keep(struct owl_reactor *r);
void owl_reactor__close_handles(struct owl_reactor *r);
void owl_reactor__done(struct owl_reactor *r);
/* [any] Adds one to the load of @p r unless the runtime's sum has reached @p max. */
OWL_NODISCARD bool owl_reactor__load_take(struct owl_reactor *r, unsigned max);

/* timer.c */
void owl_timer__init(struct owl_reactor *r);

/* address.c: an address as text, e.g. "[::1]:8080" or "unix:/run/owl.sock", for bind(). -OWL_EINVAL
 * says what is wrong. */
OWL_NODISCARD int owl_address__parse(owl_str text, struct sockaddr_storage *ret, owl_error *reterr);
/* An IP address without a port: false if @p text is none. */
OWL_NODISCARD bool owl_address__host(owl_str text, struct sockaddr_storage *ret);
socklen_t owl_address__size(const struct sockaddr_storage *a);
/* Reached from this machine only: loopback and Unix sockets. */
bool owl_address__loopback(const struct sockaddr_storage *a);
int owl_address__port(const struct sockaddr_storage *a); /* Unix: 0 */
/* The IPv6 address, or the IPv4 address as a mapped one; false for anything else. */
OWL_NODISCARD bool owl_address__ip(const struct sockaddr_storage *a, unsigned char ret[16]);
bool owl_address__mapped(const unsigned char ip[16]);
/* Without the port, for people. */
enum { OWL_ADDRESS__TEXT = 48 };
const char *owl_address__show(const struct sockaddr_storage *a, char out[OWL_ADDRESS__TEXT]);
/* For error messages, as arguments of "%.*s": as much as is useful of what may be anything. */
#define OWL_ADDRESS__SHOWN(s) ((s).n > 64 ? 64 : (int)(s).n), (s).p

/* unix.c. bind: makes the file, for the owner only, in the place of one that nobody listens on. 0 or
 * a libuv error; then *ret_why may say it better. remove: before the socket is closed. */
struct owl_unix__file {
    bool made;
    dev_t dev;
    ino_t ino;
};
OWL_NODISCARD int owl_unix__bind(int fd, const struct sockaddr_storage *a,
                                 struct owl_unix__file *file, const char **ret_why);
void owl_unix__remove(struct owl_unix__file *file, const struct sockaddr_storage *a);

/* watch.c. turn_begin is called by whatever may run first after a poll; cheap when it is repeated.
 * scan: on the control thread. */
void owl_watch__init(struct owl_reactor *r);
void owl_watch__turn_begin(struct owl_reactor *r);
void owl_watch__turn_end(struct owl_reactor *r);
void owl_watch__scan(struct owl_runtime *rt);

/* part.c. init: when reactor 0 exists. close: on reactor 0, its handle. work_done: under rt->mu; p may
 * be NULL. let_go: of a runtime that has ended. */
void owl_part__init(struct owl_runtime *rt);
void owl_part__close(struct owl_runtime *rt);
void owl_part__work_done(struct owl_runtime *rt, struct owl_runtime_part *p);
void owl_part__let_go(struct owl_runtime *rt);

/* worker.c. stop: under rt->mu. join: once workers_live is 0. */
void owl_worker__init(struct owl_runtime *rt);
void owl_worker__stop(struct owl_runtime *rt);
void owl_worker__join(struct owl_runtime *rt);

#endif

/* server/server.h - the inside of owl_server: what its fronts and methods share.
 * Layer: server. Threads: see each part.
 *
 * A front (front_post.c, front_sse.c, front_stdio.c) turns a transport's messages into calls through owl_dispatch() and is
 * their sink. */
#ifndef OWL_SERVER_SERVER_H
#define OWL_SERVER_SERVER_H

#include <owlclaw/server.h>

#include "call/call.h"
#include "call/task.h"
#include "mcp/classify.h"
#include "reactor/listen.h"
#include "reactor/part.h"
#include "server/replay.h"
#include "transport/http1.h"
#include "transport/stdio.h"

/* ---- fronts ---- */

/* A sink of this layer. */
struct owl_front {
    struct owl_sink sink;
    struct owl_server *server;
    struct owl_reactor *reactor;
    owl_str principal; /* who speaks, if the connection says so; otherwise empty */
    uint64_t client;   /* whose work it brings: see reactor/worker.h */
    /* `initialize` has made a session: the front keeps it. */
    void (*adopt)(struct owl_front *f, struct owl_session *s);
    /* The front stays although its last call is answered, until it is let go; NULL where fronts go
     * with their call (HTTP), or with the server (stdio). */
    void (*hold)(struct owl_front *f);
    void (*let_go)(struct owl_front *f);
    /* The value of the header Mcp-Param-NAME, or absent, and whether it has another one, too; NULL
     * where there are no headers. */
    owl_str (*param)(struct owl_front *f, owl_str name, bool *ret_twice);
    unsigned listens; /* subscriptions/listen requests that are open through it */
    bool http;        /* each message has headers of its own, its session among them */
    bool can_send;    /* messages before the response reach the client */
};

/* One message or batch from a peer, with what the transport knows of it. */
struct owl_inbound {
    struct owl_front *front;
    struct owl_arena
        *arena; /* holds text; NULL afterwards if a call took it, otherwise still the caller's */
    owl_str text;
    owl_str version, method, name; /* HTTP headers, or absent */
    owl_str twice;                 /* a header that says two things, or absent */
    owl_str legacy_twice;          /* likewise, one that modern requests do not have */
    struct owl_session *session;   /* borrowed; NULL if none or unknown */
    enum owl_session_state session_state;
    uint64_t scope; /* within which ids of legacy requests (stdio: of all) name calls; 0: nowhere */
    bool in_batch;
    bool busy; /* as many requests of this peer are being answered as may be */
};

enum owl_dispatched {
    OWL_DISPATCH_CALL,     /* a call answers through the front; it may have done so already */
    OWL_DISPATCH_ACCEPTED, /* a notification or a response: no answer */
    OWL_DISPATCH_REFUSED   /* *out holds the error response, *status its HTTP status */
};
/* @p status and @p out (reset before) are used for OWL_DISPATCH_REFUSED; without memory for the
 * error, out->rc says so and it is empty. @p ret_call (may be NULL)
 * is set before the call runs, so that the front can tell it that the peer has gone. */
enum owl_dispatched owl_dispatch(struct owl_inbound *in, struct owl_call **ret_call,
                                 struct owl_buf *out, int *status);
/* [any] Nobody wants the results of the calls of that scope any more: they are cancelled, wherever
 * they run. Without memory some run on. */
void owl_dispatch_cancel_all(struct owl_server *s, uint64_t scope);
/* The client of a batch that this front has sent cannot be reached any more: those of its calls end
 * that wait for the client. The front may be gone when this returns. */
void owl_dispatch_leave(struct owl_front *front);

/* ---- subscribers: streams that hear of changes ---- */

struct owl_server_local;
struct owl_route_table;
struct owl_auth_ops;
struct owl_peer_listener;
struct owl_peer_note;

/* What listens for the tasks of a session, or for one task. */
struct owl_task_watch {
    struct owl_list node; /* in its bucket */
    struct owl_sub *sub;
    uint64_t key;   /* serial of the session, or hash of the task's id */
    uint64_t heard; /* which of the reactor's tasks it heard of last */
};

/* Lives on one reactor. Zero, but for what its owner sets, when it is added. */
struct owl_sub {
    struct owl_list node;       /* among all of the reactor */
    uint64_t heard, heard_task; /* which of the reactor's news it heard last */
    uint64_t born;              /* it is the so manieth of the reactor */
    struct owl_server *server;
    struct owl_server_local *local;
    struct owl_session *session; /* legacy: counted */
    struct owl_call *call;       /* modern: the listen call */
    unsigned changes;            /* modern: OWL_CHANGED_* that it asked for */
    const owl_str *uris;         /* modern: resources that it asked for */
    size_t n_uris;
    const owl_str *tasks; /* modern: ids of tasks that it asked for */
    size_t n_tasks;
    struct owl_task_watch watch;    /* legacy */
    struct owl_task_watch *watches; /* modern: room for one of each task */
    void (*send)(struct owl_sub *s, owl_str message);
    void (*end)(struct owl_sub *s); /* the server stops or the session ended: close, forget */
};
void owl_subs_init(struct owl_server *s);
void owl_subs_init_local(struct owl_server_local *l);
/* After all reactors have ended. */
void owl_subs_done(struct owl_server *s);
void owl_subs_add(struct owl_server *s, struct owl_reactor *r, struct owl_sub *sub);
void owl_subs_remove(struct owl_sub *sub);
/* [any] Tell all subscribers, debounced by a few milliseconds. */
void owl_subs_changed(struct owl_server *s, unsigned changes);
/* [any] The resource has changed; likewise. */
OWL_NODISCARD int owl_subs_updated(struct owl_server *s, owl_str uri);
/* A task has changed: an owl_call_env.task_changed. */
void owl_subs_task(struct owl_call_env *h, const struct owl_task *t);
/* On @p r: end all of them. */
void owl_subs_end(struct owl_server *s, struct owl_reactor *r);
/* On its reactor, which has ended for this server: stop the timers. */
void owl_subs_stop(struct owl_server_local *l);

/* ---- the server ---- */

enum { OWL_WATCH_BUCKETS = 64 };

/* What a reactor is about to tell. */
struct owl_notify_queue {
    struct owl_server_local *local;
    struct owl_list news;
    struct owl_map waiting; /* those of tasks that nobody has heard yet, by the task's id */
    size_t bytes;           /* payloads of their tasks */
    bool lost;              /* there were too many: it was logged */
    uint64_t told;          /* news so far */
    struct owl_timer timer;
};

enum owl_phase {
    OWL_PHASE_NEW,
    OWL_PHASE_STARTING,
    OWL_PHASE_RUNNING,
    OWL_PHASE_STOPPING, /* it drains */
    OWL_PHASE_STOPPED   /* joined, or its start failed */
};

struct owl_server_local { /* a reactor's own part */
    struct owl_server *server;
    struct owl_reactor *reactor;
    struct owl_list subs;
    struct owl_list *watches; /* of subs, by their keys: buckets, as many as a power of two */
    size_t n_buckets, n_watches;
    struct owl_list first_watches[OWL_WATCH_BUCKETS]; /* the buckets, until there are more */
    struct owl_notify_queue changes, tasks;
    uint64_t subs_born;      /* subscribers so far */
    struct owl_map requests; /* server/peer.c: to clients, that wait for answers; by their ids */
    uint64_t next_request;
    struct owl_list entries;   /* server/entry.c: requests that wait for authentication */
    struct owl_list sse_peers; /* server/front_sse.c */
    struct owl_map sse_ids;    /* the same, those whose streams are open, by their ids */
    struct owl_timer timer;    /* run.c: grace, then the wait for connections to close */
    bool draining;
    bool ended;         /* nothing is begun here any more */
    uint64_t grace_end; /* when calls are ended, monotonic, in ms */
    unsigned waited_ms;
    size_t n_readers; /* streams that read logs; other reactors may write them */
    size_t host_n;    /* the Host that was allowed last: nearly every request has the same */
    char host[256];
};

/* In the list of its server, under the lock; freed by owl_addresses__reap(). */
struct owl_address {
    struct owl_address *next;
    struct owl_server *server;
    struct owl_listener *listener; /* NULL before the start */
    bool closing;                  /* owl_server_unlisten() */
    atomic_bool closed;            /* no reactor knows the listener any more */
    struct owl_http_port port;     /* its `tls` is this address's own */
    char text[];
};

struct owl_extension {
    struct owl_extension *next;
    char *id, *settings;
};

struct owl_custom { /* a method of the program's own */
    struct owl_method method;
    struct owl_custom *next;
    char *name;
    owl_handler_fn handler;
    void *data;
    void (*free_data)(void *);
    unsigned flags, timeout_ms;
};

struct owl_plugin_handle {
    struct owl_plugin_handle *next;
    const owl_plugin_def *def;
    void *data;
};

struct owl_server {
    struct owl_call_env env;
    struct owl_log log;
    atomic_int phase;     /* enum owl_phase */
    atomic_bool failed;   /* its start; it is OWL_PHASE_STOPPED then, and can only be freed */
    pthread_mutex_t lock; /* registration against start and stop; addresses */
    char *name, *version, *title, *instructions, *allow_hosts;
    struct owl_buf info; /* serverInfo */
    unsigned revs;
    bool legacy; /* some of them are */
    unsigned reactors, workers;
    owl_limits limits; /* complete */
    struct owl_nets *trusted_proxies;
    struct owl_peers *peers;
    struct owl_registry *registry;
    struct owl_map methods; /* name → const struct owl_method */
    struct owl_custom *customs;
    struct owl_extension *extensions;
    struct owl_plugin_handle *plugins;
    struct owl_sessions *sessions;
    struct owl_replay_table *replays; /* what their event streams have said */
    struct owl_places streams;        /* of GET and of the old HTTP+SSE */
    struct owl_http *http;
    struct owl_route_table *routes; /* counted; under lock */
    struct owl_cell *route_cell;    /* the same, while it runs */
    struct owl_map note_listeners;  /* server/peer.c: by method */
    struct owl_peer_listener *all_note_listeners;
    atomic_uint n_requests;          /* to clients, outside of calls */
    const struct owl_auth_ops *auth; /* NULL: none */
    void *auth_self;
    struct owl_cors *cors;
    struct owl_address *addresses;
    struct owl_stdio_peer *stdio; /* server/front_stdio.c; at most one */
    int stdio_in, stdio_out;      /* -1: none */
    struct owl_server_local *local;
    struct owl_runtime_part part;
    struct owl_msg begin;   /* to reactor 0 */
    bool attached;          /* the runtime is another's */
    atomic_uint pending;    /* reactors and listeners that have not ended */
    bool ended;             /* under the lock: nothing is pending, and nothing is posted any more */
    bool gone;              /* under the lock: the runtime does not know it any more … */
    pthread_cond_t going;   /* … as told by this */
    struct owl_timer sweep; /* on reactor 0: expired sessions */
    struct owl_timer gather; /* on reactor 0: changes are being gathered */
    atomic_uint telling;     /* changes that some reactor still tells of */
    struct owl_map touched;  /* on reactor 0: resources that clients are about to hear of … */
    struct owl_list touched_order; /* … and in which order */
    bool touched_lost;             /* … of which there were too many: it was logged */
    atomic_uint changed;           /* OWL_CHANGED_* that clients are about to hear of */
    atomic_uint unpublished;       /* … that could not be published yet */
    atomic_uint n_subs;            /* subscribers of all reactors */
    atomic_size_t listens;         /* subscriptions/listen requests that are open */
    bool embedded;
};

extern const struct owl_method *const owl_methods[];
extern const size_t owl_methods_count;
#define OWL_METHOD_ROW(sym) extern const struct owl_method owl_method_##sym;
#include "tbl/methods.h"

static inline struct owl_server *owl_server_of(const struct owl_call *c)
{
    return OWL_CONTAINER(c->env, struct owl_server, env);
}
static inline struct owl_server_local *owl_server_local(struct owl_server *s,
                                                        const struct owl_reactor *r)
{
    return &s->local[owl_reactor_index(r)];
}

/* The capabilities object that this server advertises to clients of a revision. */
void owl_server_caps(struct owl_server *s, struct owl_snapshot *snap, enum owl_rev rev,
                     struct owl_buf *b);
/* The limits that are given, and the defaults of the others. @errors OWL_EINVAL names the limit and
 * its range. */
OWL_NODISCARD int owl_limits_read(const owl_limits *given, owl_limits *ret, owl_error *reterr);
/* A page of a list as the result of @p c; for the list methods. */
enum owl_verdict owl_list_run(struct owl_call *c, enum owl_kind kind);
/* ---- run.c ---- */

/* Start on a runtime of the caller's, before or after its own start, instead of owl_server_start(). The
 * server is a part of it, of level 0; owl_server_stop() drains that part, owl_server_join() waits until
 * it has left, on a thread that is not a reactor's. It needs no address. After a failure the server can
 * only be freed, as after owl_server_start(). @errors as there; OWL_ESTATE also if the runtime is
 * stopping, or runs and the server has a pair of descriptors to serve. */
OWL_NODISCARD int owl_server_attach(struct owl_server *s, struct owl_runtime *rt,
                                    owl_error *reterr);
/* [any] Drain, without a hurry if that is under way. */
void owl_server__drain(struct owl_server *s);
/* [any] Post to reactor 0; false once the server has ended. */
OWL_NODISCARD bool owl_server__post(struct owl_server *s, struct owl_msg *m);
/* One of what is pending has ended. The last one is the end of the server, which may then be freed. */
void owl_server__ended_one(struct owl_server *s);
/* What a start that came too late says. */
int owl_server__too_late(const struct owl_server *s, const char *what, owl_error *reterr);

/* ---- addresses.c ---- */

/* Bind all of them. What was bound before a failure stays so until the reap. */
OWL_NODISCARD int owl_addresses__bind(struct owl_server *s, owl_error *reterr);
/* Under the lock. */
void owl_addresses__start(struct owl_server *s);
void owl_addresses__stop(struct owl_server *s, struct owl_reactor *r);
/* Under the lock, or alone: free those that are closed, or with @p all every one. */
void owl_addresses__reap(struct owl_server *s, bool all);

/* Publish the registry as it is now and tell the clients. */
OWL_NODISCARD int owl_server_publish(struct owl_server *s, unsigned changes);

/* ---- route.c, routes.c, entry.c: see also route.h ---- */
extern const struct owl_http_ops owl_http_front_ops;
/* The routes of MCP itself, of a new server. */
OWL_NODISCARD int owl_routes_add(struct owl_server *s, owl_error *reterr);
/* With the reactors, before the first request. 0 or -OWL_ENOMEM. */
OWL_NODISCARD int owl_routes_start(struct owl_server *s);
/* After all reactors have ended. */
void owl_routes_done(struct owl_server *s);
/* On @p r: requests whose clients are still being authenticated are told to try again. */
void owl_entries_end(struct owl_server *s, struct owl_reactor *r);

/* ---- peer.c: see also peer.h ---- */
/* [any] A response of the client of @p session, if it is one to owl_session_request(). */
bool owl_peer_answer(struct owl_server *s, struct owl_reactor *r, struct owl_session *session,
                     const struct owl_rpc_msg *msg);
/* A notification of a client, for those who listen; @p known: it means something to the server. */
void owl_peer_heard(const struct owl_peer_note *n, bool known);
/* [any] Nobody will answer what the session was asked. */
void owl_peer_session_ended(struct owl_server *s, struct owl_session *session);
/* On the reactor: nobody is asked any more. */
void owl_peer_close(struct owl_server_local *l);
/* After all reactors have ended. */
void owl_peer_done(struct owl_server *s);

/* ---- cors.c ---- */
struct owl_cors;
/* From a list of origins, or "*", by commas; an empty or absent one allows none. @errors OWL_EINVAL
 * (says what is wrong and how it is written), OWL_ENOMEM. */
OWL_NODISCARD int owl_cors_new(owl_str origins, struct owl_cors **ret, owl_error *reterr);
void owl_cors_free(struct owl_cors *c);
/* Whether pages of @p origin may use the server. The header lines are for every answer to it; they
 * live as long as @p c. */
bool owl_cors_lines(const struct owl_cors *c, owl_str origin, owl_str *ret_lines);
/* Answers an OPTIONS request by which a browser asks whether an allowed origin may send another;
 * false if it asks nothing. */
bool owl_cors_preflight(struct owl_http_req *req);

/* ---- front_sse.c ---- */
/* On @p r: end the streams, each after its last answer. */
void owl_sse_leave(struct owl_server *s, struct owl_reactor *r);

/* ---- front_stdio.c ---- */
OWL_NODISCARD int owl_stdio_peer_open(struct owl_server *s, owl_error *reterr);
/* Calls @p closed (may be NULL) once what is queued was sent or has taken too long: until then the
 * timers of reactor 0 are needed. At once if there is no peer. */
void owl_stdio_peer_close(struct owl_server *s, void (*closed)(struct owl_server *s));

#endif

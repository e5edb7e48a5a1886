/* server/route.h - the HTTP entry of a server: routes, and who may use them.
 * Layer: server. Threads: routes come and go from any thread; handlers and authentication run on the
 * reactor of the connection.
 *
 * Every request takes the same way: Host and Origin, the route of its path and method, whether the
 * server is stopping, authentication, the route's own look at the head, then its handler. What the
 * head is enough for is refused before the body is read. Authentication may take its time: the body
 * waits, other requests do not. */
#ifndef OWL_SERVER_ROUTE_H
#define OWL_SERVER_ROUTE_H

#include "transport/http1.h"

struct owl_server;
struct owl_heads; /* front.h */

/* What hangs on a request that is answered later: its owl_http_set_user(). */
struct owl_hook {
    /* The client has hung up: let go of the request. */
    void (*gone)(struct owl_hook *h);
    /* The client has waited for long: show it that the answer is on its way; or NULL. */
    void (*waiting)(struct owl_hook *h);
};

/* ---- routes ---- */

enum {
    OWL_ROUTES = 256,           /* at most */
    OWL_ROUTE_PATH_BYTES = 200, /* likewise */
};

enum owl_route_flag {
    OWL_ROUTE_PREFIX = 1 << 0,   /* and every path that begins with it; it ends in "/" */
    OWL_ROUTE_AUTH = 1 << 1,     /* authenticate the client first */
    OWL_ROUTE_DRAIN = 1 << 2,    /* serve it although the server is stopping; otherwise 503 */
    OWL_ROUTE_ANY_HOST = 1 << 3, /* whatever Host and Origin say: nothing secret, nothing changes */
};

/* A request that has found its route. Valid during the call, but for the request itself. */
struct owl_route_req {
    struct owl_server *server;
    struct owl_http_req *http;
    const struct owl_heads *heads;
    owl_str principal; /* who authentication says it is; without one whom the certificate of the
                          connection names, or empty */
    owl_str rest;      /* the path behind that of a route with OWL_ROUTE_PREFIX */
};

struct owl_route {
    unsigned methods; /* 1 << OWL_HTTP_…; OPTIONS is answered by the server */
    const char *path; /* "/health"; copied */
    unsigned flags;   /* OWL_ROUTE_… */
    /* Answers as an owl_http_ops.request would. State of its own that is put on the request begins
     * with a struct owl_hook. */
    void (*handler)(void *data, const struct owl_route_req *r);
    /* The head alone: false if it has answered the request, which it may do only to refuse it. Called
     * before the body is read, and again if that came later than the head. May be NULL. */
    bool (*head)(void *data, const struct owl_route_req *r);
    void *data;
    void (*free_data)(void *data); /* when no call can come any more, on any thread; may be NULL */
};

/* [any] At any time in the life of @p s; in use when this returns, on a reactor as soon as it sees
 * its next request. An exact path comes before a prefix, a long prefix before a short one. On failure
 * the data stays the caller's. @errors OWL_EINVAL (what is wrong with it), OWL_EEXISTS (a method of
 * this path has a route), OWL_ELIMIT, OWL_ENOMEM. */
OWL_NODISCARD int owl_server_add_route(struct owl_server *s, const struct owl_route *route,
                                       owl_error *reterr);
/* [any] Removes the route of @p path (with or without OWL_ROUTE_PREFIX in @p flags) that has one of
 * @p methods. Requests that its handler has taken go on. @errors OWL_ENOTFOUND, OWL_ENOMEM. */
OWL_NODISCARD int owl_server_remove_route(struct owl_server *s, unsigned methods, const char *path,
                                          unsigned flags);

/* ---- authentication ---- */

/* A request whose client is being authenticated. Look at owl_http_view(), owl_http_peer() (the
 * certificate) and owl_http_peer_address() of it; do not answer it, and do not use its body. */
struct owl_auth_req {
    struct owl_server *server;
    struct owl_http_req *http;
    void *state; /* the ops' own; NULL at first */
};

struct owl_auth_answer {
    int status;        /* 0: it is known; otherwise the HTTP status of the refusal */
    owl_str principal; /* who it is; copied */
    const char *why;   /* of a refusal: the message to the client */
    owl_str headers;   /* of a refusal: lines such as WWW-Authenticate, each with CRLF */
};

struct owl_auth_ops {
    /* Find out who it is: call owl_auth_done() once, before this returns or later, on the same
     * reactor. */
    void (*begin)(void *self, struct owl_auth_req *a);
    /* The client has gone, the deadline has passed or the server stops: @p a is invalid after the
     * call. Not after owl_auth_done(). */
    void (*cancel)(void *self, struct owl_auth_req *a);
    unsigned timeout_ms; /* after which the client gets a retryable error; 0: 10 s */
};

/* Before the start; NULL ops: none, as at first. Both outlive the server. */
void owl_server_set_auth(struct owl_server *s, const struct owl_auth_ops *ops, void *self);
/* On the reactor of the request. @p a is invalid afterwards. */
void owl_auth_done(struct owl_auth_req *a, const struct owl_auth_answer *answer);

#endif

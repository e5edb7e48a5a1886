/* server/front.h - what the files of the HTTP front share.
 * Layer: server (private to routes.c and the front_*.c of HTTP). Threads: the connection's reactor. */
#ifndef OWL_SERVER_FRONT_H
#define OWL_SERVER_FRONT_H

#include "server/replay.h"
#include "server/server.h"

/* What hangs on a request until it is answered. */
struct owl_hook {
    void (*gone)(struct owl_hook *h); /* the client has hung up: let go */
    void (*waiting)(
        struct owl_hook *h); /* show the client that the answer is on its way; or NULL */
};

/* ---- routes.c: the headers that matter, small answers ---- */

struct owl_accepted {
    bool json, stream; /* without any Accept: both */
    bool stream_first; /* it names the stream before the other */
    bool named;        /* there is an Accept */
};

struct owl_heads {
    owl_str host, origin, type, session, version, method, name, last_event_id;
    struct owl_accepted accept;
    owl_str twice;        /* the name of one that is there with two values, or absent */
    owl_str place_twice;  /* likewise of Host and Origin */
    owl_str legacy_twice; /* likewise of those that only sessions have */
};

/* Whether a Content-Type is application/json. */
bool owl_front__is_json(owl_str type);

void owl_front__reply_status(struct owl_http_req *req, int status, owl_str headers);
void owl_front__reply_json(struct owl_http_req *req, int status, owl_str body);
/* An HTTP error with a JSON-RPC error without id as its body. */
void owl_front__reply_error(struct owl_server *s, struct owl_http_req *req, int status,
                            const char *text);
/* An event of a stream that has begun, with that name or none, on one line to every reader (see
 * owl_json_line_split()); as owl_http_stream_write(). */
int owl_front__write_event(struct owl_http_req *req, const char *name, owl_str message);
/* The session that the request names: counted in in->session. That of somebody else is unknown. */
void owl_front__find_session(struct owl_server *s, const struct owl_http_req *req, owl_str id,
                             struct owl_inbound *in);
/* The session that GET and DELETE are about, counted; or NULL, and an error was replied. */
struct owl_session *owl_front__require_session(struct owl_server *s, struct owl_http_req *req,
                                               const struct owl_heads *h);

/* ---- front_post.c ---- */

void owl_front__post(struct owl_server *s, struct owl_http_req *req, const struct owl_heads *h);

/* ---- front_get.c ---- */

void owl_front__get(struct owl_server *s, struct owl_http_req *req, const struct owl_heads *h);
/* A new log of the session, for the producer that @p init names; kept where clients come back and as
 * many may be kept. NULL without memory. If the session ended before, nobody tells the producer: it
 * looks. */
struct owl_replay *owl_front__log(struct owl_server *s, struct owl_session *session,
                                  struct owl_replay_init *init);
/* The event stream that has begun on @p req reads the log from now on, and the request is its.
 * False without memory: nothing has happened. */
bool owl_front__read(struct owl_server *s, struct owl_http_req *req, struct owl_session *session,
                     struct owl_replay *log);

#endif

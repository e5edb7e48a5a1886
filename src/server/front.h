/* server/front.h - what the files of the HTTP front share.
 * Layer: server (private to the route*.c, entry.c and the front_*.c of HTTP). Threads: the connection's reactor. */
#ifndef OWL_SERVER_FRONT_H
#define OWL_SERVER_FRONT_H

#include "server/replay.h"
#include "server/route.h"
#include "server/server.h"

/* ---- route.c ---- */

/* The route of a request; NULL if there is none for the method. The Allow line of the path, absent if
 * nothing at all has this path. Both live as long as the table. */
const struct owl_route *owl_route__find(const struct owl_route_table *t,
                                        enum owl_http_method method, owl_str path,
                                        owl_str *ret_allow);

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

/* The strings point to what the view shows. */
void owl_front__read_heads(const struct owl_http_view *v, struct owl_heads *ret);
/* Whether the Content-Type is application/json; otherwise 415 is replied. */
bool owl_front__require_json(const struct owl_route_req *r);

void owl_front__reply_status(struct owl_http_req *req, int status, owl_str headers);
void owl_front__reply_json(struct owl_http_req *req, int status, owl_str body);
/* The request ends with that error: its status is that of tbl/errors.h, its body a JSON-RPC error
 * without id. */
void owl_front__refuse(struct owl_server *s, struct owl_http_req *req, int error, const char *text);
/* The same for what only HTTP knows, such as 406 and 415, with header lines or none. */
void owl_front__reply_error(struct owl_server *s, struct owl_http_req *req, int status,
                            owl_str headers, const char *text);
/* An event of a stream that has begun, with that name or none, on one line to every reader (see
 * owl_json_line_split()); as owl_http_stream_write(). */
int owl_front__write_event(struct owl_http_req *req, const char *name, owl_str message);
/* Whose work it is where the address does not tell: its principal's, otherwise that of @p scope. */
uint64_t owl_front__lane(owl_str principal, uint64_t scope);
/* The session that the request names: counted in in->session. That of somebody else is unknown. */
void owl_front__find_session(const struct owl_route_req *r, struct owl_inbound *in);
/* The session that GET and DELETE are about, counted; or NULL, and an error was replied. */
struct owl_session *owl_front__require_session(const struct owl_route_req *r);

/* ---- front_post.c ---- */

/* POST /mcp, and its look at the head. */
void owl_front__post(void *data, const struct owl_route_req *r);
bool owl_front__post_head(void *data, const struct owl_route_req *r);

/* ---- front_sse.c ---- */

/* GET /mcp/sse: open the stream of a new peer. */
void owl_front__sse_get(void *data, const struct owl_route_req *r);
/* POST /mcp/messages: a message of the peer that the query names; and its look at the head. */
void owl_front__sse_post(void *data, const struct owl_route_req *r);
bool owl_front__sse_post_head(void *data, const struct owl_route_req *r);

/* ---- front_get.c ---- */

/* GET /mcp. */
void owl_front__get(void *data, const struct owl_route_req *r);
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

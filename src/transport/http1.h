/* transport/http1.h - an HTTP/1.1 server on the reactors: bytes to requests, replies to bytes.
 * Layer: transport. Threads: everything of a connection on the reactor that accepted it.
 *
 * Knows nothing of MCP: a complete request (headers and body, within limits) is handed to an ops
 * struct, which answers now or later, with a whole reply or with an event stream. The head of one
 * whose body is still to come may be refused before the body is read. Malformed or
 * abusive input is answered here with the right status and never reaches the ops. Requests of one
 * connection are served one after the other; pipelined ones wait in a bounded buffer. Connections
 * may be TCP or Unix sockets, and plain or TLS. */
#ifndef OWL_TRANSPORT_HTTP1_H
#define OWL_TRANSPORT_HTTP1_H

#include "base/arena.h"
#include "reactor/listen.h"
#include "transport/tls.h"

struct owl_http;     /* a server's shared part: options, per-reactor connection lists */
struct owl_http_req; /* one request; lives until it was answered or `gone` was called */

struct owl_http_limits { /* 0: the default */
    size_t url_bytes;    /* 8 KiB → 414 */
    size_t header_bytes; /* all headers together; 32 KiB → 431 */
    unsigned headers;    /* 100 → 431 */
    size_t body_bytes;   /* 4 MiB → 413 */
    size_t queue_bytes;  /* unsent when a stream is written to; 1 MiB → the peer is dropped */
    size_t queue_total_bytes; /* unsent to all; 256 MiB → those that read least are dropped */
    size_t input_total_bytes; /* bodies that somebody holds; 256 MiB → 503 */
    unsigned header_ms;       /* first byte to end of headers; 10 s → 408 */
    unsigned body_ms;         /* end of headers to end of body; 30 s → 408 */
    unsigned idle_ms;         /* between requests; 75 s → closed */
    unsigned keepalive_ms;    /* silence of a stream or of a pending request; 15 s → see below */
    unsigned handshake_ms; /* from the connection to the end of the TLS handshake; 10 s → closed */
    unsigned handshakes;   /* that one turn of a loop takes further; 16 → the others wait */
};

struct owl_http_ops {
    /* The head of a request whose body has not come with it, or not all of it; it is not to be used.
     * True: the body is read, and `request` follows, or `gone`. False: the request was answered, or
     * will be, or the body is read after owl_http_read_body(); until then nothing more of it is read
     * than a small buffer takes. An answer to a head is the last of its connection: what follows is
     * discarded, never taken for a request. No stream may be begun. May be NULL. */
    bool (*headers)(void *user, struct owl_http_req *req);
    /* A complete request. Answer with owl_http_reply() or owl_http_stream_begin(), now or later.
     * Never called from inside one of the functions below. */
    void (*request)(void *user, struct owl_http_req *req);
    /* The peer has gone before the answer was complete, or the body of a request whose head was
     * accepted was refused here; @p req is invalid after the call. Never called from inside one of
     * the functions below. */
    void (*gone)(void *user, struct owl_http_req *req);
    /* The request has been pending for keepalive_ms; again each time that it has been for as long
     * once more. A stream may be begun now, which is then kept alive by itself. May be NULL. */
    void (*waiting)(void *user, struct owl_http_req *req);
};

OWL_NODISCARD int owl_http_new(struct owl_runtime *rt, const struct owl_http_limits *limits,
                               const struct owl_http_ops *ops, void *user, struct owl_http **ret);
/* After all reactors have ended, or have no connections any more. */
void owl_http_free(struct owl_http *h);

/* What a listener hands its connections to. */
struct owl_http_port {
    struct owl_http *http;
    struct owl_tls *tls; /* NULL: plain */
};
/* An owl_accept_fn: @p user is a struct owl_http_port, which outlives the listener. */
void owl_http_accept(void *user, struct owl_reactor *r, int fd, struct owl_peer *peer);

/* On @p r: close idle connections now and every other after its current answer. */
void owl_http_drain(struct owl_http *h, struct owl_reactor *r);
/* On @p r: close every connection now (`gone` is called for open requests). */
void owl_http_close(struct owl_http *h, struct owl_reactor *r);
/* On @p r: how many connections there are, those included whose end the loop has not run yet. */
size_t owl_http_connections(const struct owl_http *h, const struct owl_reactor *r);

/* ---- the request ---- */

enum owl_http_method {
    OWL_HTTP_GET,
    OWL_HTTP_HEAD,
    OWL_HTTP_POST,
    OWL_HTTP_PUT,
    OWL_HTTP_PATCH,
    OWL_HTTP_DELETE,
    OWL_HTTP_OPTIONS,
    OWL_HTTP_OTHER
};

struct owl_http_header {
    owl_str name;  /* as sent; compare without case */
    owl_str value; /* without surrounding white space */
};

struct owl_http_view {
    enum owl_http_method method;
    owl_str path;  /* of the target, before "?", as sent */
    owl_str query; /* after "?", or absent */
    const struct owl_http_header *headers;
    size_t n_headers;
    owl_str body;
};
/* Borrowed. Path, query and headers are valid until ops->request returns, or longer after
 * owl_http_keep(); the body as long as the arena. A stream that has begun leaves only the method, unless the arena was taken: streams last
 * for hours, and there may be many. */
const struct owl_http_view *owl_http_view(const struct owl_http_req *req);
/* Within ops->request, before the arena is taken: path, query and headers are valid as long as the
 * body. Within ops->headers they are already. 0 or -OWL_ENOMEM. */
OWL_NODISCARD int owl_http_keep(struct owl_http_req *req);
/* A head that ops->headers has left open is accepted: read the body. Not from inside ops->headers. */
void owl_http_read_body(struct owl_http_req *req);
/* The body lives in an arena without a cap of its own. Once only: the taker owns it from now on,
 * with all that the view shows, and may free it on any thread. It counts as input until then, even
 * if the server is freed before. */
OWL_NODISCARD struct owl_arena *owl_http_take_arena(struct owl_http_req *req);
/* Whom the client certificate of the connection names (see tls.h); empty without one. As long as
 * the request. */
owl_str owl_http_peer(const struct owl_http_req *req);
/* The address of the connection's other end as text, without its port: "192.0.2.7", "2001:db8::1",
 * IPv4 as such although it came to an IPv6 socket. Empty for a Unix socket, or if the peer has just
 * gone. It may be that of a proxy. */
enum { OWL_HTTP_ADDRESS_BYTES = 46 };
owl_str owl_http_peer_address(const struct owl_http_req *req, char buf[OWL_HTTP_ADDRESS_BYTES]);
/* owl_peer_number() of the connection; not after `gone`. */
uint64_t owl_http_peer_number(const struct owl_http_req *req);
struct owl_reactor *owl_http_reactor(const struct owl_http_req *req);
/* A word for the ops' own state. */
void owl_http_set_user(struct owl_http_req *req, void *state);
void *owl_http_user(const struct owl_http_req *req);

/* ---- the answer ---- */

/* Header lines, each with CRLF, that the answer carries, whatever it is. Before the answer; they
 * must live until it has begun, and take the place of others. */
void owl_http_add_headers(struct owl_http_req *req, owl_str lines);

struct owl_http_reply {
    int status;
    const char *content_type; /* NULL: none */
    owl_str headers;          /* further header lines, each with CRLF; may be empty */
    owl_str body;             /* copied if it cannot be sent at once; not sent for HEAD, 204, 304 */
};
/* The whole answer; @p req is invalid afterwards. */
void owl_http_reply(struct owl_http_req *req, const struct owl_http_reply *reply);

/* Begin an event stream: 200, text/event-stream, no caching, X-Accel-Buffering: no. Whenever nothing
 * was written to it for keepalive_ms, a comment is, so that proxies do not take it for dead. */
void owl_http_stream_begin(struct owl_http_req *req, owl_str headers);
/* Send bytes of the stream (formatted events). -OWL_ELIMIT: the peer reads too slowly, or
 * -OWL_ECLOSED: it has gone; `gone` follows in a later turn. A peer that has read all so far may be
 * sent one piece of any length. */
int owl_http_stream_write(struct owl_http_req *req, owl_str bytes);
/* The end of the stream; @p req is invalid afterwards. The connection is kept where possible. */
void owl_http_stream_end(struct owl_http_req *req);

#endif

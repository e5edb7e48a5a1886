/* transport/http1_conn.h - a connection of the HTTP server, as its files see it.
 * Layer: transport (private to http1). Threads: the reactor's. */
#ifndef OWL_TRANSPORT_HTTP1_CONN_H
#define OWL_TRANSPORT_HTTP1_CONN_H

#include <sys/uio.h>
#include <time.h>

#include "base/buf.h"
#include "base/list.h"
#include "reactor/timer.h"
#include "transport/http1_parse.h"

enum {
    OWL_HTTP__READ_BYTES = 64 * 1024,          /* the read buffer of a reactor */
    OWL_HTTP__AHEAD_BYTES = 64 * 1024,         /* pipelined input that waits for an answer */
    OWL_HTTP__LINGER_BYTES = 16 * 1024 * 1024, /* discarded after the last answer, at most */
    OWL_HTTP__LINGER_MS = 2000,
    OWL_HTTP__DATE_BYTES = 40,
    OWL_HTTP__RECORD_BYTES = 16 * 1024,  /* the most plain text that a TLS record holds */
    OWL_HTTP__SLICE_BYTES = 64 * 1024,   /* sealed before it is sent; queued as one */
    OWL_HTTP__SEALED_BYTES = 1024 * 1024 /* a slice, or a long chain of certificates */
};

/* The part of a server that one reactor owns. */
struct owl_http__shard {
    struct owl_http *http;
    struct owl_reactor *reactor;
    struct owl_list conns;
    size_t n_conns;         /* of these, and those that are being closed */
    struct owl_list behind; /* those with unsent output, first those that read least lately */
    size_t queued;          /* unsent output of all of them */
    size_t max_queued;
    struct owl_budget *bodies;
    bool draining;
    time_t date_at; /* `date` is that of this second */
    char date[OWL_HTTP__DATE_BYTES];
    struct owl_list line;            /* handshakes that wait for a leave, the oldest first */
    unsigned handshakes;             /* leaves of this turn */
    struct owl_timer turn;           /* runs: when the next one begins */
    struct owl_buf sealed;           /* what TLS has to send, sent before anything else happens */
    char read[OWL_HTTP__READ_BYTES]; /* parsed or copied before the next read */
    char plain[OWL_HTTP__RECORD_BYTES]; /* the same, deciphered */
};

struct owl_http {
    struct owl_http_limits limits;
    struct owl_http_ops ops;
    void *user;
    unsigned n;
    struct owl_http__shard *shards[];
};

struct owl_http_req {
    struct owl_http__conn *conn; /* of which it is a part: requests come one by one */
    void *user;
    owl_str more; /* header lines of the answer, besides its own */
};

enum owl_http__state {
    OWL_HTTP__HANDSHAKE, /* TLS is not established yet */
    OWL_HTTP__READING,   /* a request, or waiting for one: the parser's stage says which */
    OWL_HTTP__PENDING,   /* the ops have a request */
    OWL_HTTP__STREAM,    /* … and have begun to answer */
    OWL_HTTP__LINGER,    /* the last answer is on its way; input is discarded */
    OWL_HTTP__CLOSED     /* uv_close() was called; the memory lives until its callback */
};

/* What a deadline is running for. */
enum owl_http__wait {
    OWL_HTTP__WAIT_NONE,
    OWL_HTTP__WAIT_HANDSHAKE,
    OWL_HTTP__WAIT_IDLE,
    OWL_HTTP__WAIT_HEAD,
    OWL_HTTP__WAIT_BODY,
    OWL_HTTP__WAIT_FLUSH,
    OWL_HTTP__WAIT_LINGER,
    OWL_HTTP__WAIT_PENDING, /* these two are not the end of the connection */
    OWL_HTTP__WAIT_STREAM
};

struct owl_http__conn {
    uv_tcp_t tcp;
    int fd; /* of tcp */
    struct owl_peer *peer;
    struct owl_http__shard *shard;
    struct owl_list link, behind;
    struct owl_tls_conn *tls; /* NULL: plain */
    struct owl_list in_line;  /* of the shard's handshakes */
    enum owl_http__state state;
    bool greeted;  /* the peer has begun to speak TLS */
    bool leave;    /* the next input may take the handshake further */
    bool serving;  /* inside the loop that takes request after request from the input */
    bool open;     /* the ops have a request that is neither answered nor gone */
    bool shown;    /* the ops have seen the head of the request whose body is being read … */
    bool accepted; /* … and wait for it */
    bool paused;   /* not reading: too much input waits */
    bool sated;    /* has just filled the read buffer: others have their turn first */
    bool eof;      /* the peer will send no more */
    bool chunked;  /* the stream's framing */
    bool bodyless; /* HEAD: the stream sends nothing */
    struct owl_http__parse parse;
    struct owl_http_req req;

    struct owl_buf ahead; /* input behind the request that is being answered */
    size_t ahead_at;      /* of which so much is used */
    size_t queued;        /* memory of unsent output */
    size_t discarded;
    uv_shutdown_t shutdown;

    /* The timer is lazy: a later deadline is only noted, and found when the timer fires early. */
    struct owl_timer timer;
    enum owl_http__wait wait;
    bool wake;         /* the timer runs to take up `ahead` outside of the ops' call */
    uint64_t deadline; /* of `wait` */
    uint64_t timer_at; /* UINT64_MAX: idle */
    size_t flush_mark; /* `queued` bytes at the last look of WAIT_FLUSH */
};

/* ---- http1.c ---- */

/* Closes at once; what the ops still hold is reported as gone in a later turn. Repeatable. */
void owl_http__close(struct owl_http__conn *c);
/* Input, deciphered. */
void owl_http__input(struct owl_http__conn *c, owl_str in);
/* The peer will send no more; if it has not said so itself, it has gone. */
void owl_http__end(struct owl_http__conn *c, bool orderly);
void owl_http__read_continue(struct owl_http__conn *c);
/* Takes up what comes after an answer: waiting input, or the wait for more. */
void owl_http__next(struct owl_http__conn *c);
/* Makes the deadline that of the present state; one that is running for it goes on. */
void owl_http__await(struct owl_http__conn *c);
/* Something was sent: the silence begins anew. */
void owl_http__spoke(struct owl_http__conn *c);
/* No more requests: flush, tell the peer the end, give it the time to read, close. */
void owl_http__linger(struct owl_http__conn *c);

/* ---- http1_write.c ---- */

/* Sends, or queues what does not fit. 0, or -OWL_ECLOSED: the connection was closed for it. */
int owl_http__send(struct owl_http__conn *c, struct iovec *iov, size_t n);
/* The same as it is, beneath TLS. */
int owl_http__send_raw(struct owl_http__conn *c, struct iovec *iov, size_t n);
/* Answers a request that is refused, and lingers. */
void owl_http__refuse(struct owl_http__conn *c, const struct owl_http__refusal *why);
/* Sends "100 Continue". */
void owl_http__continue(struct owl_http__conn *c);

/* ---- http1_tls.c: of connections with c->tls ---- */

int owl_http__tls_send(struct owl_http__conn *c, const struct iovec *iov, size_t n);
/* Tells the peer the end. */
void owl_http__tls_end(struct owl_http__conn *c);
void owl_http__tls_input(struct owl_http__conn *c, owl_str in);
/* Whether a handshake may be read now; takes a leave. If not, it lines up and is not read until it
 * has got one. */
bool owl_http__tls_may_go_on(struct owl_http__conn *c);
void owl_http__tls_line_up(struct owl_http__conn *c);
/* Of shard->turn: new leaves, first for those in line. */
void owl_http__tls_turn(struct owl_timer *t);

#endif

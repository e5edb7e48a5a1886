/* owlclaw/limits.h - how much a peer may have of a server; part of server.h.
 *
 *     owl_limits limits = OWL_LIMITS;
 *     limits.body_bytes = 65536;
 *     options.limits = &limits;
 *
 * Every quantity that comes from outside has one. What is over it gets a clear error and harms
 * nobody else. Members that are 0 have the default; those of time are milliseconds. docs/limits.md
 * has the range of each, and what happens beyond it. */
#ifndef OWLCLAW_LIMITS_H
#define OWLCLAW_LIMITS_H

#include <owlclaw/types.h>

OWL_BEGIN_DECLS

typedef struct owl_limits {
    size_t size; /* sizeof(owl_limits) */

    /* one message */
    size_t body_bytes;   /* HTTP; default 4 MiB */
    size_t line_bytes;   /* stdio; default 4 MiB */
    size_t url_bytes;    /* default 8 KiB */
    size_t headers;      /* lines; default 100 */
    size_t header_bytes; /* together; default 32 KiB */
    size_t depth;        /* of its JSON; default 128, which is also the most */
    size_t id_bytes;     /* default 256 */
    size_t batch;        /* messages of a batch; default 100 */
    size_t result_bytes; /* what one call may build, or a batch; default 64 MiB */

    /* slow peers */
    size_t header_ms;    /* first byte to end of headers; default 10 s */
    size_t body_ms;      /* from there to the end of the body; default 30 s */
    size_t idle_ms;      /* between two requests; default 75 s */
    size_t keepalive_ms; /* silence on a stream, after which a comment is sent; default 15 s */
    size_t handshake_ms; /* of TLS; default 10 s */
    size_t handshakes;   /* of TLS, that a reactor goes on with in one turn; default 16 */

    /* connections and streams */
    size_t connections;          /* of all peers together; default 10000 */
    size_t connections_per_peer; /* of one address (IPv6: of one /64); default 256. Exempt are
                                  * trusted_proxies and, unless it is set, this machine: loopback
                                  * and Unix sockets. */
    size_t queue_bytes;          /* unsent when a stream is written to, beyond which its reader is
                                  * dropped; default 1 MiB */
    size_t queue_total_bytes;    /* unsent to all peers over HTTP, beyond which those that have read
                                  * nothing for longest are dropped; default 256 MiB */
    size_t input_total_bytes;    /* bodies of HTTP requests, for as long as anything works on them,
                                  * and as much again of what calls parse and keep of all that
                                  * clients send; default 256 MiB */
    size_t streams;              /* of GET and of the old HTTP+SSE; default 10000 */
    size_t listens;              /* subscriptions/listen; default 10000 */

    /* legacy sessions */
    size_t sessions;           /* over HTTP; default 10000 */
    size_t session_idle_ms;    /* default 1 h */
    size_t session_calls;      /* of one session, that are not over; default 256 */
    size_t subscription_bytes; /* of what sessions are subscribed to, together; default 64 MiB */
    size_t replay_events;      /* of a stream, that can be sent again; default 1000 */
    size_t replay_bytes;       /* … and their bytes; default 256 KiB */
    size_t replay_total_bytes; /* … of all streams; default 64 MiB */
    size_t replay_streams;     /* of a session, that can be resumed; default 100 */
    size_t replay_ms;          /* for which a broken stream can be resumed; default 60 s */

    /* calls that wait */
    size_t questions;   /* to legacy clients, of each reactor; default 10000 */
    size_t question_ms; /* for which a client may think; default 10 min */
    size_t parked;      /* calls that wait for a modern client, of each reactor; default 1000 */
    size_t tasks;       /* that are kept; default 10000 */
    size_t task_bytes;  /* of their results together; default 256 MiB */
    size_t task_ms;     /* for which a task is kept from its beginning on; default 1 h */
} owl_limits;

OWL_END_DECLS

#endif

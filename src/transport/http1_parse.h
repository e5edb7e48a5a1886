/* transport/http1_parse.h - bytes to one HTTP/1.1 request, without a socket.
 * Layer: transport (private to http1). Threads: one at a time. */
#ifndef OWL_TRANSPORT_HTTP1_PARSE_H
#define OWL_TRANSPORT_HTTP1_PARSE_H

#include <llhttp.h>

#include "base/budget.h"
#include "transport/http1.h"

enum owl_http__stage {
    OWL_HTTP__BEFORE, /* nothing of the request has come */
    OWL_HTTP__HEAD,
    OWL_HTTP__BODY,
    OWL_HTTP__COMPLETE,
    OWL_HTTP__REFUSED
};

/* Why a request was refused, as the sentence "<why>[: <detail>][ <limit>]." */
struct owl_http__refusal {
    int status;
    const char *why;
    const char *detail; /* or NULL */
    size_t limit;       /* or 0 */
};

struct owl_http__parse {
    llhttp_t _llhttp;
    const struct owl_http_limits *limits;
    struct owl_budget *bodies; /* NULL: nobody counts */

    /* Of one request, cleared between two. */
    enum owl_http__stage stage;
    bool http10;
    bool keep_alive;   /* the peer wants to; known from the body on */
    bool may_continue; /* the peer waits for "100 Continue" before it sends the body */
    struct owl_arena *arena;
    struct owl_http_view view;
    struct owl_http__refusal refusal;

    struct owl_http_header *_headers; /* of which the view shows the complete ones */
    size_t _headers_cap;
    size_t _headers_kept; /* … and so many are in the arena, not in the input */
    owl_str _token; /* being read: in the input, or in the arena (then it has _token_cap bytes) */
    size_t _token_cap;
    bool _target_kept;
    bool _naming,
        _name_kept;     /* the next header has its name but not its value; it is in the arena */
    size_t _head_bytes; /* of names and values */
    size_t _raw_bytes;  /* of the request, with all white space */
    char *_body;
    size_t _body_cap, _announced;   /* _announced: the Content-Length */
    struct owl_budget_share _share; /* of the bodies */
    unsigned _hosts;
    bool _chunked, _expects, _expects_other;
    unsigned char _line; /* how far the request line has been followed */
    owl_str _target;
};

/* @p limits is borrowed and complete (no zeros). */
void owl_http__parse_init(struct owl_http__parse *p, const struct owl_http_limits *limits);
/* Ready for the next request; frees the arena if nobody took it. */
void owl_http__parse_reset(struct owl_http__parse *p);
/* Frees the arena if nobody took it; of the view the method stays. */
void owl_http__parse_release(struct owl_http__parse *p);

/* Of a request that is complete or whose body is coming: what the view shows does not depend on the
 * input any more. 0 or -OWL_ENOMEM. */
OWL_NODISCARD int owl_http__parse_keep(struct owl_http__parse *p);

/* Feed bytes; not after COMPLETE or REFUSED. Returns how many were used: all, or those up to the
 * end of the request. p->stage says what has become of it. */
size_t owl_http__parse_feed(struct owl_http__parse *p, owl_str in);

#endif

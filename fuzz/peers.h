/* fuzz/peers.h - the clients of a fuzz target: what they have asked, and whether what they hear may
 * be said to them.
 *
 * Peer 0 is on stdio, the others speak HTTP. Everything that arrives must be one JSON-RPC message
 * or a batch of them; a request is answered once at most, and on HTTP in its own exchange; a modern
 * exchange carries no requests. */
#ifndef OWL_FUZZ_PEERS_H
#define OWL_FUZZ_PEERS_H

#include <errno.h>

#include "fuzz/events.h"
#include "fuzz/wants.h"
#include "fuzz/world.h"

enum { PEERS = 4, EXCHANGES = 8 };

/* A request on HTTP, until its response is complete. */
struct exchange {
    unsigned serial;
    bool modern, head;
    bool resumed; /* it repeats what was said on another one */
};

struct peer {
    int fd; /* -1: not connected */
    bool http;
    bool wild;        /* was sent bytes that are no requests of ours: its exchanges are unknown */
    bool deaf;        /* nor can its responses be told apart */
    bool paused;      /* does not read */
    bool slow;        /* did not read for a while: it may have been dropped for that */
    bool pushy;       /* has sent more than the server may have looked at when it stops */
    bool ended;       /* the server has hung up, or has said that it will */
    unsigned session; /* of which it speaks; SESSIONS: none */
    struct exchange queue[EXCHANGES];
    unsigned n_queue;
    struct owl_buf in; /* not yet understood */
    enum { AT_HEAD, AT_BODY, AT_CHUNK, AT_STREAM } at;
    size_t left;
    int status;
    bool is_stream, is_json, initialized;
    struct owl_buf body;
    struct events events;
    uint64_t stream, event; /* of the last event id on this response */
    bool has_ids;
};

static struct peer peers[PEERS];
static unsigned exchange_serial;

static unsigned number_of(const struct peer *p)
{
    return (unsigned)(p - peers);
}

/* ---- answers ---- */

/* A message that could not be read is refused with its id all the same, which nobody waits for. */
static bool is_refusal(const struct owl_rpc_msg *m)
{
    owl_str code = m->kind == OWL_RPC_ERROR ? owl_span_get(m->payload, "code") : (owl_str){NULL, 0};
    return owl_str_is(code, "-32700") || owl_str_is(code, "-32600");
}

static void hear_answer(struct peer *p, const struct exchange *x, const struct owl_rpc_msg *m)
{
    unsigned peer = number_of(p), exchange = x ? x->serial : 0;
    if (!m->id.p) {
        OWL_ASSERT(m->kind == OWL_RPC_ERROR);
        if (p->http && p->status >= 400)
            wants_drop(peer, exchange, false); /* the whole message was refused */
        return;
    }
    struct want *w = want_find(peer, exchange, m->id);
    if (!w && x && x->resumed)
        w = want_find(1, 0, m->id);
    if (!w && (is_refusal(m) || p->wild || m->id.n >= sizeof w->id || (x && x->resumed)))
        return;
    OWL_ASSERT(w); /* never asked, or answered before */
    w->open = false;
    if (m->kind == OWL_RPC_RESULT)
        remember(w, m->payload);
    if (strncmp(w->call, "\"initialize\"", 12) == 0 && m->kind == OWL_RPC_RESULT)
        p->initialized = true;
}

static void hear_question(struct peer *p, const struct exchange *x, const struct owl_rpc_msg *m)
{
    static const char *const methods[] = {"elicitation/create", "sampling/createMessage",
                                          "roots/list"};
    bool known = false;
    for (size_t i = 0; i < OWL_COUNT(methods); i++)
        known = known || owl_str_is(m->method, methods[i]);
    OWL_ASSERT(known && m->id.n < sizeof seen.question[0]);
    if (!p->wild)
        OWL_ASSERT(p->http ? x && !x->modern : p->initialized);
    keep_text(seen.question[seen.n_questions++ % MEMORIES], sizeof seen.question[0], m->id);
}

static void hear_one(struct peer *p, const struct exchange *x, owl_str text)
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_rpc_msg m;
    OWL_ASSERT(owl_rpc_read(a, text, NULL, &m, NULL) == 0);
    if (m.kind == OWL_RPC_REQUEST)
        hear_question(p, x, &m);
    else if (m.kind != OWL_RPC_NOTIFICATION)
        hear_answer(p, x, &m);
    else
        OWL_ASSERT(m.method.n > 14 && memcmp(m.method.p, "notifications/", 14) == 0);
    owl_arena_free(a);
}

/* A message or a batch; @p x is NULL on stdio and where exchanges are unknown. */
static void hear(struct peer *p, const struct exchange *x, owl_str text)
{
    note(number_of(p), "< %.*s", TEXT(text));
    OWL_ASSERT(owl_json_scan(text, OWL_JSON_DEPTH, NULL) == 0);
    if (!owl_span_is_array(text)) {
        hear_one(p, x, text);
        return;
    }
    unsigned n = 0;
    OWL_ASSERT(!x || !x->modern);
    struct owl_span_iter it = owl_span_iter(text);
    for (struct owl_span s; owl_span_next(&it, &s); n++)
        hear_one(p, x, s.value);
    OWL_ASSERT(n > 0);
}

/* ---- HTTP responses ---- */

static const struct exchange *current(const struct peer *p)
{
    return p->n_queue > 0 && !p->wild ? &p->queue[0] : NULL;
}

/* Ids are "<stream>-<n>": one stream a response, each event once, in order. */
static void check_event_id(struct peer *p, owl_str id)
{
    owl_str rest = id, part;
    uint64_t stream, event;
    OWL_ASSERT(owl_str_split(&rest, '-', &part) && owl_str_u64(part, UINT64_MAX, &stream));
    OWL_ASSERT(owl_str_u64(rest, UINT64_MAX, &event));
    OWL_ASSERT(!p->has_ids || (stream == p->stream && event > p->event));
    p->stream = stream;
    p->event = event;
    p->has_ids = true;
    keep_text(seen.event[seen.n_events++ % MEMORIES], sizeof seen.event[0], id);
}

static void on_event(void *user, const struct event *e)
{
    struct peer *p = user;
    if (e->has_id)
        check_event_id(p, e->id);
    bool endpoint = owl_str_is(e->type, "endpoint");
    if (endpoint && current(p)) {
        unsigned i = seen.n_endpoints++ % MEMORIES;
        keep_text(seen.endpoint[i].path, sizeof seen.endpoint[i].path, e->data);
        seen.endpoint[i].peer = number_of(p);
        seen.endpoint[i].exchange = current(p)->serial;
    } else if (e->data.n > 0 && !endpoint) { /* otherwise it only tells its id */
        hear(p, current(p), e->data);
    }
}

static void response_end(struct peer *p)
{
    unsigned peer = number_of(p);
    const struct exchange *x = current(p);
    if (p->is_stream)
        OWL_ASSERT(p->events.line.n == 0 && !p->events.has_data); /* no event is cut off */
    else if (p->body.n > 0 && p->is_json)
        hear(p, x, owl_buf_str(&p->body));
    else if (x && p->status >= 400)
        wants_drop(peer, x->serial, false); /* refused before it was looked at */
    if (x && p->has_ids)
        wants_roam(peer, x->serial, false);
    else if (x)
        wants_check(peer, x->serial, false);
    if (p->n_queue > 0)
        memmove(&p->queue[0], &p->queue[1], --p->n_queue * sizeof p->queue[0]);
    p->at = AT_HEAD;
}

static owl_str head_field(const char *head, const char *name)
{
    const char *at = strcasestr(head, name);
    if (!at)
        return (owl_str){NULL, 0};
    at += strlen(name);
    return owl_str_trim((owl_str){at, strcspn(at, "\r")});
}

static void begin_body(struct peer *p, const char *head)
{
    uint64_t n = 0;
    owl_str length = head_field(head, "\r\nContent-Length:");
    owl_str type = head_field(head, "\r\nContent-Type:");
    owl_str session = head_field(head, "\r\nMcp-Session-Id:");
    bool chunked = owl_str_is(head_field(head, "\r\nTransfer-Encoding:"), "chunked");
    if (session.p) {
        p->session = seen.n_sessions++ % SESSIONS;
        keep_text(seen.session[p->session], sizeof seen.session[0], session);
    }
    if (owl_str_is(head_field(head, "\r\nConnection:"), "close"))
        p->ended = true;
    p->is_stream = type.n >= 17 && memcmp(type.p, "text/event-stream", 17) == 0;
    p->is_json = owl_str_is(type, "application/json");
    OWL_ASSERT(p->is_stream || p->is_json || p->status >= 400 || !type.p);
    events_done(&p->events);
    events_init(&p->events, on_event, p);
    owl_buf_reset(&p->body);
    p->has_ids = false;
    OWL_ASSERT(!length.p || owl_str_u64(length, SIZE_MAX, &n));
    p->left = (size_t)n;
    bool bare = p->status == 204 || p->status == 304 || (current(p) && current(p)->head);
    if (bare || (length.p && n == 0))
        response_end(p);
    else if (length.p || chunked)
        p->at = chunked ? AT_CHUNK : AT_BODY;
    else
        p->at = AT_STREAM; /* to the end of the connection */
}

static bool take_head(struct peer *p)
{
    owl_buf_putc(&p->in, '\0');
    p->in.n--;
    const char *end = p->in.n ? strstr(p->in.p, "\r\n\r\n") : NULL;
    if (!end)
        return false;
    size_t n = (size_t)(end - p->in.p) + 4;
    OWL_ASSERT(memcmp(p->in.p, "HTTP/1.1 ", 9) == 0);
    p->in.p[n - 1] = '\0';
    p->status = (int)strtol(p->in.p + 9, NULL, 10);
    note(number_of(p), "< %s", p->in.p);
    OWL_ASSERT(p->status >= 100 && p->status < 600);
    if (p->status != 100) {
        OWL_ASSERT(p->wild || p->n_queue > 0);
        begin_body(p, p->in.p);
    }
    owl_buf_consume(&p->in, n);
    return true;
}

static void take_bytes(struct peer *p, size_t n)
{
    owl_str piece = {p->in.p, n};
    if (p->is_stream)
        events_feed(&p->events, piece);
    else
        owl_buf_puts(&p->body, piece);
    owl_buf_consume(&p->in, n);
}

static bool take_body(struct peer *p)
{
    size_t n = p->at == AT_STREAM || p->in.n < p->left ? p->in.n : p->left;
    if (n == 0)
        return false;
    take_bytes(p, n);
    if (p->at == AT_BODY && (p->left -= n) == 0)
        response_end(p);
    return true;
}

static bool take_chunk(struct peer *p)
{
    owl_buf_putc(&p->in, '\0');
    p->in.n--;
    char *end = p->in.n ? strstr(p->in.p, "\r\n") : NULL;
    if (!end)
        return false;
    size_t size = strtoul(p->in.p, NULL, 16), head = (size_t)(end - p->in.p) + 2;
    if (p->in.n < head + size + 2)
        return false;
    OWL_ASSERT(memcmp(p->in.p + head + size, "\r\n", 2) == 0);
    owl_buf_consume(&p->in, head);
    take_bytes(p, size);
    owl_buf_consume(&p->in, 2);
    if (size == 0)
        response_end(p);
    return true;
}

static void take_http(struct peer *p)
{
    bool more = true;
    while (more && p->in.n > 0) {
        if (p->at == AT_HEAD)
            more = take_head(p);
        else
            more = p->at == AT_CHUNK ? take_chunk(p) : take_body(p);
    }
}

static void take_lines(struct peer *p)
{
    char *end;
    while (p->in.n && (end = memchr(p->in.p, '\n', p->in.n))) {
        size_t n = (size_t)(end - p->in.p);
        hear(p, NULL, (owl_str){p->in.p, n});
        owl_buf_consume(&p->in, n + 1);
    }
}

/* ---- life ---- */

static struct peer *peer_at(unsigned i)
{
    struct peer *p = &peers[i % PEERS];
    if (p->fd >= 0)
        return p;
    *p = (struct peer){.http = i % PEERS != 0, .session = p->session};
    owl_buf_init(&p->in, SIZE_MAX);
    owl_buf_init(&p->body, SIZE_MAX);
    events_init(&p->events, on_event, p);
    p->fd = world_connect(p->http);
    return p;
}

static void peer_close(struct peer *p)
{
    if (p->fd < 0)
        return;
    close(p->fd);
    for (unsigned i = 0; i < p->n_queue; i++)
        wants_doubt(p->queue[i].serial);
    if (p->http)
        wants_roam(number_of(p), 0, true);
    else
        wants_drop(number_of(p), 0, true);
    owl_buf_done(&p->in);
    owl_buf_done(&p->body);
    events_done(&p->events);
    p->fd = -1;
}

static void peer_hung_up(struct peer *p)
{
    if (p->http && p->at == AT_STREAM)
        response_end(p);
    /* An open exchange is not left without a response, unless the client was at fault. */
    bool fair = !p->http || p->wild || p->ended || p->slow || p->pushy || p->n_queue == 0;
    note(number_of(p), "%shung up on %u exchanges", fair ? "" : "FATAL ", p->n_queue);
    OWL_ASSERT(fair);
    peer_close(p);
}

/* Reads what is there; whether anything was. */
static bool peer_read(struct peer *p)
{
    if (p->fd < 0 || p->paused)
        return false;
    if (owl_buf_reserve(&p->in, 65536) != 0)
        abort();
    ssize_t n = recv(p->fd, p->in.p + p->in.n, 65536, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        peer_hung_up(p);
        return true;
    }
    p->in.n += (size_t)n;
    if (p->deaf)
        owl_buf_reset(&p->in);
    else if (p->http)
        take_http(p);
    else
        take_lines(p);
    return true;
}

static void peers_read(void)
{
    for (unsigned i = 0; i < PEERS; i++)
        peer_read(&peers[i]);
}

/* Lets the server work until it has nothing to do and the clients have heard all. */
static void settle(void)
{
    unsigned idle = 0;
    for (unsigned turns = 0; idle < 2; turns++) {
        bool heard = false;
        OWL_ASSERT(turns < 20000);
        world_turn();
        for (unsigned i = 0; i < PEERS; i++)
            heard = peer_read(&peers[i]) || heard;
        idle = heard || world_ready() ? 0 : idle + 1;
    }
}

#endif

/* server/front_stdio.c - the stdio front: one client, one message a line, on reactor 0. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/err.h"
#include "jsonrpc/find_id.h"
#include "server/server.h"

enum { SCOPE = -1, FLUSH_MS = 400, MAX_UNREAD = 4 * 1024 * 1024 };

struct owl_stdio_peer {
    struct owl_front front;
    struct owl_stdio *io;
    struct owl_session *session;  /* after initialize; counted */
    struct owl_sub sub;           /* hears of changes once there is a session */
    struct owl_buf out;           /* refusals */
    struct owl_id_finder refused; /* of the line that is being skipped */
    void (*closed)(struct owl_server *s);
};

/* ---- as a sink ---- */

static void peer_write(struct owl_stdio_peer *p, owl_str message)
{
    if (p->io && message.n)
        OWL_IGNORE(owl_stdio_write(p->io, message)); /* a broken pipe is reported as end of input */
}

/* A client that does not read gets no more notifications; answers and questions wait for it. */
static int peer_send(struct owl_sink *sink, struct owl_call *c, owl_str message)
{
    struct owl_stdio_peer *p = OWL_CONTAINER(sink, struct owl_stdio_peer, front.sink);
    (void)c;
    if (!p->io)
        return -OWL_ECLOSED;
    if (owl_stdio_queued(p->io) > MAX_UNREAD)
        return -OWL_ELIMIT;
    peer_write(p, message);
    return 0;
}

static void peer_respond(struct owl_sink *sink, struct owl_call *c, owl_str message, int status)
{
    (void)c;
    (void)status;
    peer_write(OWL_CONTAINER(sink, struct owl_stdio_peer, front.sink), message);
}

static const struct owl_sink_ops peer_ops = {.send = peer_send, .respond = peer_respond};

/* ---- the legacy session ---- */

static void sub_send(struct owl_sub *sub, owl_str message)
{
    struct owl_stdio_peer *p = OWL_CONTAINER(sub, struct owl_stdio_peer, sub);
    OWL_IGNORE(peer_send(&p->front.sink, NULL, message)); /* not told: it reads too slowly */
}

static void sub_end(struct owl_sub *sub)
{
    owl_subs_remove(sub);
}

static void peer_adopt(struct owl_front *f, struct owl_session *s)
{
    struct owl_stdio_peer *p = OWL_CONTAINER(f, struct owl_stdio_peer, front);
    owl_subs_remove(&p->sub);
    owl_session_aunref(p->session);
    p->session = owl_session_aref(s);
    p->sub.session = p->session;
    p->sub.send = sub_send;
    p->sub.end = sub_end;
    owl_subs_add(f->server, f->reactor, &p->sub);
}

/* ---- input ---- */

static void on_line(void *user, owl_str line)
{
    struct owl_stdio_peer *p = user;
    struct owl_inbound in = {.front = &p->front,
                             .session = p->session,
                             .session_state = p->session ? OWL_SESSION_KNOWN : OWL_SESSION_NONE,
                             .scope = (uint64_t)SCOPE}; /* one client: its ids name its calls */
    if (owl_str_trim(line).n == 0)
        return; /* white space between messages harms nobody */
    in.arena = owl_arena_new(0);
    char *copy = in.arena ? owl_arena_dup(in.arena, line) : NULL;
    if (!copy) {
        owl_arena_free(in.arena);
        OWL_LOG(&p->front.server->log, OWL_LEVEL_ERROR, "stdio",
                "out of memory: a message was lost");
        return;
    }
    in.text = (owl_str){copy, line.n};
    int status;
    if (owl_dispatch(&in, NULL, &p->out, &status) == OWL_DISPATCH_REFUSED)
        peer_write(p, owl_buf_str(&p->out));
    owl_arena_free(in.arena);
}

static void on_overlong(void *user)
{
    struct owl_stdio_peer *p = user;
    owl_id_finder_init(&p->refused);
}

/* The answer waits for the end of the line: many clients write the id last. */
static void on_skipped(void *user, owl_str piece, bool last)
{
    struct owl_stdio_peer *p = user;
    const owl_limits *limits = &p->front.server->limits;
    char text[120];
    owl_id_finder_feed(&p->refused, piece);
    if (!last)
        return;
    owl_str id = owl_id_finder_end(&p->refused);
    snprintf(text, sizeof text, "a message of more than %zu bytes was refused", limits->line_bytes);
    owl_buf_reset(&p->out);
    owl_rpc_error(&p->out, id.n <= limits->id_bytes ? id : (owl_str){NULL, 0},
                  owl_err_info(OWL_ELIMIT)->rpc_code, owl_str_of(text), (owl_str){NULL, 0});
    peer_write(p, owl_buf_str(&p->out));
}

static void on_eof(void *user)
{
    struct owl_stdio_peer *p = user;
    owl_server__drain(p->front.server); /* a stop that is under way takes its time all the same */
}

static const struct owl_stdio_ops stdio_ops = {
    .line = on_line, .overlong = on_overlong, .eof = on_eof, .skipped = on_skipped};

/* ---- life ---- */

/* Where nobody waits for this, the server may have gone. */
static void on_closed(void *user)
{
    struct owl_stdio_peer *p = user;
    struct owl_server *s = p->front.server;
    void (*closed)(struct owl_server *) = p->closed;
    owl_session_aunref(p->session);
    p->session = NULL;
    owl_buf_done(&p->out);
    owl_free(p);
    if (closed)
        closed(s);
}

int owl_stdio_peer_open(struct owl_server *s, owl_error *reterr)
{
    struct owl_stdio_peer *p = owl_calloc(1, sizeof *p);
    if (!p)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    struct owl_reactor *r = owl_runtime_at(s->env.runtime, 0);
    p->front = (struct owl_front){
        .sink.ops = &peer_ops, .server = s, .reactor = r, .adopt = peer_adopt, .can_send = true};
    owl_list_init(&p->sub.node);
    owl_buf_init(&p->out, 64 * 1024);
    struct owl_stdio_options o = {.in_fd = s->stdio_in,
                                  .out_fd = s->stdio_out,
                                  .own_stdout = s->stdio_out == 1,
                                  .line_bytes = s->limits.line_bytes,
                                  .queue_bytes = s->limits.queue_bytes};
    int rc = owl_stdio_open(r, &o, &stdio_ops, p, &p->io, reterr);
    if (rc != 0) {
        owl_free(p);
        return rc;
    }
    s->stdio = p;
    rc = owl_stdio_read(p->io);
    return rc == 0 ? 0 : owl_fail(reterr, -rc, "standard input cannot be read");
}

void owl_stdio_peer_close(struct owl_server *s, void (*closed)(struct owl_server *s))
{
    struct owl_stdio_peer *p = s->stdio;
    if (!p) {
        if (closed)
            closed(s);
        return;
    }
    s->stdio = NULL;
    p->closed = closed;
    if (p->session)
        owl_session_end(p->session);
    owl_subs_remove(&p->sub);
    owl_stdio_close(p->io, FLUSH_MS, on_closed);
    p->io = NULL;
}

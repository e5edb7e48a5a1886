/* server/front_get.c - GET: the stream on which a session hears of changes, and the way back to any of
 * its event streams.
 *
 * Threads: what reads a log lives on the reactor of its connection, the feed that writes one on that
 * of the GET that opened it. A feed outlives its connection by the time that its log is kept. */
#include <stdio.h>

#include "base/alloc.h"
#include "server/front.h"

#define NO_MEMORY "out of memory; try again later"
#define HAS_ENDED "the session has just ended: initialize again"

/* ---- an HTTP response that reads a log ---- */

struct stream {
    struct owl_hook hook;
    struct owl_replay_reader reader;
    struct owl_http_req *req;
    struct owl_server *server;
    struct owl_session *session; /* counted and held */
    bool entered;                /* into the streams of the session */
};

static void stream_free(struct owl_replay_reader *rd)
{
    owl_free(OWL_CONTAINER(rd, struct stream, reader));
}

static void let_go(struct stream *st)
{
    if (st->entered)
        owl_session_stream_leave(st->session, &st->server->streams);
    owl_server_local(st->server, st->reader.reactor)->n_readers--;
    owl_session_release(st->session);
    owl_session_aunref(st->session);
}

/* The request is answered or gone. */
static void stream_close(struct stream *st)
{
    let_go(st);
    owl_replay_detach(&st->reader);
}

static void stream_gone(struct owl_hook *h)
{
    stream_close(OWL_CONTAINER(h, struct stream, hook));
}

static void stream_ready(struct owl_replay_reader *rd)
{
    struct stream *st = OWL_CONTAINER(rd, struct stream, reader);
    enum owl_replay_state state;
    do {
        struct owl_buf b;
        owl_buf_init(&b, SIZE_MAX / 2);
        state = owl_replay_read(rd, &b);
        if (b.rc != 0)
            state = OWL_REPLAY_LOST; /* out of memory: it may come back */
        /* a peer that is too slow is dropped: `gone` follows */
        OWL_IGNORE(owl_http_stream_write(st->req, owl_buf_str(&b)));
        owl_buf_done(&b);
    } while (state == OWL_REPLAY_MORE);
    if (state == OWL_REPLAY_OPEN)
        return;
    owl_http_stream_end(st->req);
    stream_close(st);
}

static struct stream *stream_new(struct owl_server *s, struct owl_http_req *req,
                                 struct owl_session *session)
{
    struct stream *st = owl_calloc(1, sizeof *st);
    if (!st)
        return NULL;
    st->hook.gone = stream_gone;
    st->reader.reactor = owl_http_reactor(req);
    st->reader.ready = stream_ready;
    st->reader.free = stream_free;
    st->req = req;
    st->server = s;
    st->session = owl_session_aref(session);
    owl_session_hold(session);
    owl_server_local(s, st->reader.reactor)->n_readers++;
    return st;
}

/* The opposite of stream_new(): it reads no log. */
static void stream_drop(struct stream *st)
{
    let_go(st);
    owl_free(st);
}

bool owl_front__read(struct owl_server *s, struct owl_http_req *req, struct owl_session *session,
                     struct owl_replay *log)
{
    struct stream *st = stream_new(s, req, session);
    if (!st)
        return false;
    if (owl_replay_attach(log, &st->reader, 0) != 0) { /* the session has just ended */
        stream_drop(st);
        return false;
    }
    owl_http_set_user(req, st);
    return true;
}

struct owl_replay *owl_front__log(struct owl_server *s, struct owl_session *session,
                                  struct owl_replay_init *init)
{
    bool keep = owl_session_rev(session) >= OWL_REV_2025_03_26;
    struct owl_replay *log;
    init->session = owl_session_serial(session);
    init->stream = owl_session_next_stream(session);
    init->flags |= keep ? OWL_REPLAY_KEEP : 0;
    int rc = owl_replay_new(s->replays, init, &log);
    if (rc == -OWL_ELIMIT) { /* as many as can be kept are being read: this one is not kept */
        init->flags &= ~(unsigned)OWL_REPLAY_KEEP;
        rc = owl_replay_new(s->replays, init, &log);
    }
    return rc == 0 ? log : NULL;
}

/* ---- the feed: what writes the stream of a session ---- */

struct feed {
    struct owl_sub sub;
    struct owl_replay *log;
};

static void feed_send(struct owl_sub *sub, owl_str message)
{
    struct feed *f = OWL_CONTAINER(sub, struct feed, sub);
    OWL_IGNORE(owl_replay_append(f->log, message)); /* forgotten just now: its end follows */
}

static void feed_end(struct owl_sub *sub)
{
    struct feed *f = OWL_CONTAINER(sub, struct feed, sub);
    owl_subs_remove(sub);
    owl_replay_finish(f->log);
    owl_session_aunref(sub->session);
    owl_free(f);
}

static void feed_forgotten(void *user)
{
    struct feed *f = user;
    feed_end(&f->sub);
}

/* NULL without memory. */
static struct feed *feed_new(struct owl_server *s, struct owl_reactor *r,
                             struct owl_session *session)
{
    struct feed *f = owl_calloc(1, sizeof *f);
    if (!f)
        return NULL;
    struct owl_replay_init init = {
        .reactor = r, .flags = OWL_REPLAY_FEED, .forgotten = feed_forgotten, .user = f};
    f->log = owl_front__log(s, session, &init);
    if (!f->log) {
        owl_free(f);
        return NULL;
    }
    f->sub.session = owl_session_aref(session);
    f->sub.send = feed_send;
    f->sub.end = feed_end;
    owl_subs_add(s, r, &f->sub);
    return f;
}

/* ---- GET ---- */

/* A response to GET that is to read a log; NULL, and an error was replied. */
static struct stream *answer(struct owl_server *s, struct owl_http_req *req,
                             struct owl_session *session)
{
    struct stream *st = stream_new(s, req, session);
    if (!st) {
        owl_front__refuse(s, req, OWL_ENOMEM, NO_MEMORY);
        return NULL;
    }
    st->entered = owl_session_stream_enter(session, &s->streams);
    if (st->entered)
        return st;
    stream_drop(st);
    owl_front__refuse(s, req, OWL_EBUSY, "too many streams are open; try again later");
    return NULL;
}

/* It reads a log. */
static void begin(struct stream *st)
{
    owl_http_set_user(st->req, st);
    owl_http_stream_begin(st->req, OWL_STR(""));
    OWL_IGNORE(owl_http_stream_write(st->req, OWL_STR(":\n\n"))); /* `gone` follows */
}

static void open_feed(struct owl_server *s, struct owl_http_req *req, struct owl_session *session)
{
    struct stream *st = answer(s, req, session);
    if (!st)
        return;
    struct feed *f = feed_new(s, owl_http_reactor(req), session);
    if (!f || owl_replay_attach(f->log, &st->reader, 0) != 0) {
        stream_drop(st);
        if (!f)
            owl_front__refuse(s, req, OWL_ENOMEM, NO_MEMORY);
        else if (owl_session_ended(session))
            owl_front__refuse(s, req, OWL_ENOTFOUND, HAS_ENDED);
        else
            owl_front__refuse(s, req, OWL_EEXISTS,
                              "another GET of this session came at the same time");
        if (f)
            feed_end(&f->sub);
        return;
    }
    begin(st);
    if (owl_session_rev(session) >= OWL_REV_2025_11_25)
        OWL_IGNORE(owl_replay_prime(f->log)); /* without memory the client waits for an event */
    if (owl_session_ended(session))           /* perhaps before there was a log to forget */
        feed_end(&f->sub);
}

static void refuse_event_id(struct owl_server *s, struct owl_http_req *req, int rc)
{
    char text[200];
    if (rc == -OWL_EINVAL) {
        owl_front__refuse(s, req, OWL_EREQUEST, "Last-Event-ID is no event id of this server");
        return;
    }
    /* Not 404, which would say that the session has gone. */
    snprintf(
        text, sizeof text,
        "Last-Event-ID is unknown in this session, or what followed it was forgotten (after %u "
        "ms, or because it was too much): send the request again, or GET without "
        "Last-Event-ID",
        owl_replay_table_limits(s->replays)->replay_ms);
    owl_front__refuse(s, req, OWL_EREQUEST, text);
}

static void go_on(struct owl_server *s, struct owl_http_req *req, struct owl_session *session,
                  const struct owl_replay_mark *mark)
{
    struct stream *st = answer(s, req, session);
    if (!st)
        return;
    if (owl_replay_attach(mark->log, &st->reader, mark->from) != 0) {
        stream_drop(st);
        if (owl_session_ended(session))
            owl_front__refuse(s, req, OWL_ENOTFOUND, HAS_ENDED);
        else
            refuse_event_id(s, req, -OWL_ENOTFOUND);
        return;
    }
    begin(st);
    stream_ready(&st->reader);
}

static void resume(struct owl_server *s, struct owl_http_req *req, struct owl_session *session,
                   owl_str event_id)
{
    struct owl_replay_mark mark;
    int rc = owl_replay_find(s->replays, owl_session_serial(session), event_id, &mark);
    if (rc != 0) {
        refuse_event_id(s, req, rc);
        return;
    }
    if (mark.over) { /* what tells an event source not to come back */
        struct owl_http_reply r = {.status = 204, .content_type = "text/event-stream"};
        owl_http_reply(req, &r);
    } else {
        go_on(s, req, session, &mark);
    }
    owl_replay_unref(mark.log);
}

void owl_front__get(void *data, const struct owl_route_req *r)
{
    (void)data;
    struct owl_server *s = r->server;
    struct owl_http_req *req = r->http;
    const struct owl_heads *h = r->heads;
    if (!h->accept.named || !h->accept.stream) {
        owl_front__reply_error(s, req, 406, OWL_STR(""),
                               "GET opens an event stream: Accept must be text/event-stream");
        return;
    }
    struct owl_session *session = owl_front__require_session(r);
    if (!session)
        return;
    if (h->last_event_id.n && owl_session_rev(session) >= OWL_REV_2025_03_26)
        resume(s, req, session, h->last_event_id);
    else
        open_feed(s, req, session);
    owl_session_aunref(session);
}

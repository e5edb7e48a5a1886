/* server/peer.c - messages, requests and notifications outside of calls.
 *
 * Threads: what is said to a session travels to the reactor of its stream. A request lives there, in
 * the reactor's map, until it is answered, from wherever the answer arrives; until its time is over;
 * until its session ends, which is told to all reactors; or until the server stops.
 * Invariant: a request whose `done` has not been called counts in s->n_requests and among the
 * questions of its session. */
#include "server/peer.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/err.h"
#include "call/answer.h"
#include "server/subs.h"

enum { MAX_OF_SESSION = 64, ID_BYTES = 48 };

/* ---- where a session is spoken to ---- */

/* The newest of its streams on this reactor, or NULL. */
static struct owl_sub *find_stream(struct owl_server_local *l, const struct owl_session *session)
{
    struct owl_sub *found = NULL;
    OWL_LIST_EACH (owl_subs__watches(l, owl_session_serial(session)), it) {
        struct owl_sub *sub = OWL_CONTAINER(it, struct owl_task_watch, node)->sub;
        if (sub->session == session && (!found || sub->born > found->born))
            found = sub;
    }
    return found;
}

/* [any] The reactor of its stream; or why it cannot be spoken to. */
static int reactor_of(struct owl_server *s, const struct owl_session *session,
                      struct owl_reactor **ret)
{
    int at = owl_session_stream_at(session);
    if (owl_session_ended(session) || atomic_load(&s->phase) != OWL_PHASE_RUNNING)
        return -OWL_ECLOSED;
    if (at < 0 || !owl_session_initialized(session))
        return -OWL_ESTATE;
    *ret = owl_runtime_at(s->env.runtime, (unsigned)at);
    return 0;
}

static bool can_hear(const struct owl_server_local *l, const struct owl_session *session)
{
    return !l->draining && !owl_session_ended(session);
}

/* ---- a message ---- */

struct message {
    struct owl_msg msg;
    struct owl_server *server;
    struct owl_session *session; /* counted */
    size_t n;
    char text[];
};

static void message_free(struct message *m)
{
    owl_session_aunref(m->session);
    owl_free(m);
}

static void on_message(struct owl_reactor *r, struct owl_msg *msg)
{
    struct message *m = OWL_CONTAINER(msg, struct message, msg);
    struct owl_server_local *l = owl_server_local(m->server, r);
    struct owl_sub *sub = can_hear(l, m->session) ? find_stream(l, m->session) : NULL;
    if (sub)
        sub->send(sub, (owl_str){m->text, m->n});
    message_free(m);
}

int owl_session_send(struct owl_server *s, struct owl_session *session, owl_str message)
{
    struct owl_reactor *r;
    int rc = reactor_of(s, session, &r);
    if (rc != 0)
        return rc;
    struct message *m = owl_malloc(sizeof *m + message.n);
    if (!m)
        return -OWL_ENOMEM;
    *m = (struct message){
        .msg.run = on_message, .server = s, .session = owl_session_aref(session), .n = message.n};
    memcpy(m->text, message.p, message.n);
    if (owl_post(r, &m->msg))
        return 0;
    message_free(m);
    return -OWL_ECLOSED;
}

/* ---- a request ---- */

struct request {
    struct owl_msg msg;
    struct owl_timer timer;
    struct owl_server *server;
    struct owl_session *session; /* counted */
    struct owl_server_local *local;
    owl_session_answer_fn *done;
    void *user;
    unsigned timeout_ms;
    owl_str id; /* once it is out: its key in local->requests */
    char id_text[ID_BYTES];
    owl_str method, params; /* within text */
    char text[];
};

static void request_free(struct request *q)
{
    owl_session_leave(q->session, OWL_SESSION_QUESTIONS);
    atomic_fetch_sub(&q->server->n_requests, 1u);
    owl_session_aunref(q->session);
    owl_free(q);
}

static void finish(struct request *q, int rc, owl_str payload)
{
    owl_timer_stop(&q->timer);
    if (q->id.p)
        owl_map_del(&q->local->requests, q->id);
    q->done(q->user, rc, payload);
    request_free(q);
}

static void close_request(struct request *q)
{
    finish(q, -OWL_ECLOSED, (owl_str){NULL, 0});
}

/* What @p b holds, on the session's stream. 0 or why not. */
static int say(struct request *q, const struct owl_buf *b)
{
    struct owl_sub *sub = find_stream(q->local, q->session);
    if (b->rc != 0)
        return b->rc;
    if (!sub)
        return -OWL_ECLOSED;
    sub->send(sub, owl_buf_str(b));
    return 0;
}

/* The client still thinks about a question that nobody needs answered. */
static void on_timeout(struct owl_timer *t)
{
    struct request *q = OWL_CONTAINER(t, struct request, timer);
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    owl_rpc_begin_notification(&b, OWL_STR("notifications/cancelled"));
    owl_buf_putz(&b, "{\"requestId\":");
    owl_buf_puts(&b, q->id);
    owl_buf_putc(&b, '}');
    owl_rpc_end(&b);
    OWL_IGNORE(say(q, &b)); /* it cannot hear it: fine */
    owl_buf_done(&b);
    finish(q, -OWL_ETIMEOUT, (owl_str){NULL, 0});
}

static int send_request(struct request *q)
{
    struct owl_server_local *l = q->local;
    if (!can_hear(l, q->session))
        return -OWL_ECLOSED;
    if (l->requests.n >= q->server->limits.questions)
        return -OWL_EBUSY;
    int n = snprintf(q->id_text, sizeof q->id_text, "\"out-%u-%llu\"",
                     owl_reactor_index(l->reactor), (unsigned long long)++l->next_request);
    owl_str id = {q->id_text, (size_t)n};
    int rc = owl_map_put(&l->requests, id, q, NULL);
    if (rc != 0)
        return rc;
    q->id = id;
    struct owl_buf b;
    owl_buf_init(&b, 2 * (size_t)OWL_PEER_REQUEST_BYTES);
    if (q->params.p) {
        owl_rpc_begin_request(&b, id, q->method);
        owl_buf_puts(&b, q->params);
        owl_rpc_end(&b);
    } else {
        owl_buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%.*s\"}", q->id_text,
                       (int)q->method.n, q->method.p);
    }
    rc = say(q, &b);
    owl_buf_done(&b);
    return rc;
}

static void on_request(struct owl_reactor *r, struct owl_msg *m)
{
    struct request *q = OWL_CONTAINER(m, struct request, msg);
    q->local = owl_server_local(q->server, r);
    int rc = send_request(q);
    if (rc == 0)
        owl_timer_start(r, &q->timer, q->timeout_ms);
    else
        finish(q, rc, (owl_str){NULL, 0});
}

static struct request *request_new(struct owl_server *s, struct owl_session *session,
                                   owl_str method, owl_str params)
{
    struct request *q = owl_malloc(sizeof *q + method.n + params.n);
    if (!q)
        return NULL;
    *q = (struct request){.msg.run = on_request, .server = s};
    memcpy(q->text, method.p, method.n);
    memcpy(q->text + method.n, params.n ? params.p : "", params.n);
    q->method = (owl_str){q->text, method.n};
    q->params = (owl_str){params.p ? q->text + method.n : NULL, params.n};
    owl_timer_init(&q->timer, on_timeout);
    q->session = owl_session_aref(session);
    atomic_fetch_add(&s->n_requests, 1u);
    return q;
}

int owl_session_request(struct owl_server *s, struct owl_session *session,
                        const struct owl_session_question *question)
{
    struct owl_reactor *r;
    owl_str name = owl_str_of(question->method);
    int rc = reactor_of(s, session, &r);
    if (rc != 0)
        return rc;
    if (name.n > OWL_RPC_METHOD_BYTES || question->params.n > OWL_PEER_REQUEST_BYTES - name.n)
        return -OWL_ELIMIT;
    if (!owl_session_enter(session, OWL_SESSION_QUESTIONS, MAX_OF_SESSION))
        return -OWL_EBUSY;
    struct request *q = request_new(s, session, name, question->params);
    if (!q) {
        owl_session_leave(session, OWL_SESSION_QUESTIONS);
        return -OWL_ENOMEM;
    }
    q->done = question->done;
    q->user = question->user;
    q->timeout_ms = question->timeout_ms ? question->timeout_ms : (unsigned)s->limits.question_ms;
    if (owl_post(r, &q->msg))
        return 0;
    request_free(q);
    return -OWL_ECLOSED;
}

/* ---- an answer ---- */

static bool take(struct owl_call_env *env, struct owl_reactor *r, const struct owl_answer *a)
{
    struct owl_server *s = OWL_CONTAINER(env, struct owl_server, env);
    struct request *q = owl_map_get(&owl_server_local(s, r)->requests, a->id);
    if (!q || q->session != a->session)
        return false;
    if (a->busy)
        finish(q, -OWL_EBUSY, (owl_str){NULL, 0});
    else
        finish(q, a->refused ? -OWL_ETOOL : 0, a->payload);
    return true;
}

bool owl_peer_answer(struct owl_server *s, struct owl_reactor *r, struct owl_session *session,
                     const struct owl_rpc_msg *msg)
{
    static const char prefix[] = "\"out-";
    const size_t n = sizeof prefix - 1;
    owl_str id = msg->id;
    if (!session || id.n <= n || id.n >= ID_BYTES || memcmp(id.p, prefix, n) != 0)
        return false;
    struct owl_reactor *to = owl_runtime_named(s->env.runtime, (owl_str){id.p + n, id.n - n});
    return to && owl_answer_bring(&s->env, r, to, session, msg, take);
}

/* ---- the end of a session, and of the server ---- */

/* Closes the requests of @p session, NULL: all. Each may make others end or begin. */
static void close_requests(struct owl_server_local *l, const struct owl_session *session)
{
    owl_str id;
    void *v;
    for (size_t i = 0; owl_map_next(&l->requests, &i, &id, &v);) {
        struct request *q = v;
        if (session && q->session != session)
            continue;
        close_request(q);
        i = 0; /* the map has changed */
    }
}

static void on_session_ended(struct owl_reactor *r, struct owl_msg *msg)
{
    struct message *m = OWL_CONTAINER(msg, struct message, msg);
    close_requests(owl_server_local(m->server, r), m->session);
    message_free(m);
}

void owl_peer_session_ended(struct owl_server *s, struct owl_session *session)
{
    for (unsigned i = 0; atomic_load(&s->n_requests) && i < owl_runtime_count(s->env.runtime);
         i++) {
        struct message *m = owl_malloc(sizeof *m);
        if (!m)
            return; /* they end in their time */
        *m = (struct message){
            .msg.run = on_session_ended, .server = s, .session = owl_session_aref(session)};
        if (!owl_post(owl_runtime_at(s->env.runtime, i), &m->msg))
            message_free(m);
    }
}

void owl_peer_close(struct owl_server_local *l)
{
    close_requests(l, NULL);
}

/* ---- from clients ---- */

struct owl_peer_listener {
    struct owl_peer_listener *next, *same; /* of all; of those of the same method */
    void (*fn)(void *user, const struct owl_peer_note *n);
    void *user;
    size_t n;
    char method[];
};

int owl_server_on_notification(struct owl_server *s, const char *method,
                               void (*fn)(void *user, const struct owl_peer_note *n), void *user)
{
    size_t n = method ? strlen(method) : 0;
    if (!fn || (method && (n == 0 || n > OWL_RPC_METHOD_BYTES)))
        return -OWL_EINVAL;
    if (atomic_load(&s->phase) != OWL_PHASE_NEW)
        return -OWL_ESTATE;
    struct owl_peer_listener *e = owl_malloc(sizeof *e + n);
    if (!e)
        return -OWL_ENOMEM;
    *e = (struct owl_peer_listener){.fn = fn, .user = user, .n = n};
    memcpy(e->method, method ? method : "", n);
    owl_str key = {e->method, n};
    struct owl_peer_listener *first = owl_map_get(&s->note_listeners, key);
    if (first) {
        e->same = first->same;
        first->same = e;
    } else if (owl_map_put(&s->note_listeners, key, e, NULL) != 0) {
        owl_free(e);
        return -OWL_ENOMEM;
    }
    e->next = s->all_note_listeners;
    s->all_note_listeners = e;
    return 0;
}

void owl_peer_heard(const struct owl_peer_note *n, bool known)
{
    const struct owl_map *listeners = &n->server->note_listeners;
    const struct owl_peer_listener *e = NULL;
    if (listeners->n == 0)
        return;
    if (n->method.n)
        e = owl_map_get(listeners, n->method);
    if (!e && !known)
        e = owl_map_get(listeners, OWL_STR(""));
    for (; e; e = e->same)
        e->fn(e->user, n);
}

void owl_peer_done(struct owl_server *s)
{
    owl_map_done(&s->note_listeners);
    for (struct owl_peer_listener *e; (e = s->all_note_listeners);) {
        s->all_note_listeners = e->next;
        owl_free(e);
    }
    for (unsigned i = 0; s->local && i < owl_runtime_count(s->env.runtime); i++)
        owl_map_done(&s->local[i].requests);
}

/* call/park.c - calls that wait for a modern client to come back with its answers.
 *
 * The request that began the call has been answered with input_required; its retry, a call of its
 * own on any reactor, becomes the front of the parked call: it brings the answers, and the parked
 * call speaks through it.
 * Threads: a parked call is touched on its reactor only, a front on its own; they meet by messages.
 * Each message holds the calls that it names. Invariant: a park id is used once. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/ask.h"
#include "call/parts.h"
#include "call/provider.h"
#include "codec/json.h"

/* ---- to the front ---- */

/* What a parked call has to say; its texts follow. */
struct owl_park_word {
    struct owl_msg msg;
    struct owl_call *front;
    const char *type;               /* as call.result_type */
    struct owl_mcp_failure failure; /* error != 0 */
    owl_str members, meta;
    char text[];
};

static void on_word(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct owl_park_word *w = OWL_CONTAINER(m, struct owl_park_word, msg);
    struct owl_call *f = w->front;
    if (owl_call__state(f) == OWL_CALL_RUNNING) {
        owl_result_replace(&f->result);
        owl_buf_puts(&f->result.list, w->members);
        owl_buf_puts(&f->result.meta, w->meta);
        f->result_type = w->type;
        f->failure = w->failure;
        f->talk->word = w; /* the texts of the failure live here until the call ends */
        OWL_IGNORE(owl_call_complete(f)); /* cancelled meanwhile: fine */
    } else {
        owl_free(w);
    }
    owl_call_unref(f);
}

static owl_str put_text(char **p, owl_str s)
{
    if (!s.p)
        return s;
    owl_str copy = {memcpy(*p, s.p, s.n), s.n};
    *p += s.n;
    return copy;
}

static void say(struct owl_call *front, const struct owl_park_word *in)
{
    const struct owl_mcp_failure *f = &in->failure;
    struct owl_park_word *w = owl_malloc(sizeof *w + in->members.n + in->meta.n + f->message.n +
                                         f->data.n);
    if (!w)
        return; /* the front's deadline answers */
    *w = *in;
    char *p = w->text;
    w->msg.run = on_word;
    w->members = put_text(&p, in->members);
    w->meta = put_text(&p, in->meta);
    w->failure.message = put_text(&p, f->message);
    w->failure.data = put_text(&p, f->data);
    w->front = front;
    atomic_fetch_add_explicit(&front->refs, 1, memory_order_relaxed);
    if (!owl_post(front->reactor, &w->msg)) {
        owl_call_unref(front);
        owl_free(w);
    }
}

/* The result as members, in the buffers if they are nowhere else. */
static int take_members(struct owl_call *c, struct owl_buf *members, struct owl_buf *meta,
                        struct owl_park_word *w)
{
    w->type = c->result_type;
    if (!c->given) {
        w->meta = owl_buf_str(&c->result.meta);
        return owl_result_close(&c->result, &w->members);
    }
    owl_relay__members(c, members, meta);
    w->members = owl_buf_str(members);
    w->meta = owl_buf_str(meta);
    return members->rc ? members->rc : meta->rc;
}

void owl_park_reply(struct owl_call *c)
{
    struct owl_park_word w = {.type = NULL};
    if (c->end_error)
        w.failure = (struct owl_mcp_failure){
            .error = c->end_error,
            .of_tool = true,
            .message = owl_str_of(owl_err_info(c->end_error)->text),
        };
    else if (c->failure.error)
        w.failure = c->failure;
    struct owl_buf members, meta;
    owl_buf_init(&members, c->env->limits->result_bytes);
    owl_buf_init(&meta, c->env->limits->result_bytes);
    int rc = w.failure.error ? 0 : take_members(c, &members, &meta, &w);
    if (rc != 0)
        w.failure = (struct owl_mcp_failure){
            .error = -rc, .of_tool = true, .message = owl_str_of(owl_err_info(rc)->text)};
    say(c->talk->front, &w);
    owl_buf_done(&members);
    owl_buf_done(&meta);
}

void owl_park_leave(struct owl_call *c, const char *type, owl_str members)
{
    struct owl_call *front = c->talk->front;
    struct owl_park_word w = {.type = type, .members = members};
    say(front, &w);
    pthread_mutex_lock(&c->lock);
    c->talk->front = NULL;
    c->req.meta.progress_token = (owl_str){NULL, 0}; /* it was the front's */
    pthread_mutex_unlock(&c->lock);
    owl_call_unref(front);
}

/* ---- parking ---- */

/* input_required to whoever waits: the request that began the call, or the retry that is its
 * front. */
static int tell(struct owl_call *c, owl_str members)
{
    if (owl_call_front(c)) {
        owl_park_leave(c, "input_required", members); /* nor does it keep what that brought */
        return 0;
    }
    if (!c->sink)
        return -OWL_ECLOSED;
    struct owl_buf *out = &owl_call_local(c->env, c->reactor)->out;
    struct owl_mcp_result r = {.type = "input_required", .members = members};
    owl_buf_reset(out);
    owl_rpc_begin_result(out, c->req.msg.id);
    c->req.codec->result(out, &r, c->env->server_info);
    owl_rpc_end(out);
    if (out->rc != 0)
        return out->rc;
    struct owl_sink *sink = c->sink;
    c->sink = NULL;
    sink->ops->respond(sink, c, owl_buf_str(out), 200);
    return 0;
}

static void end_parked(struct owl_call *c, int error)
{
    owl_park_drop(c); /* nobody finds it any more, even if it takes long */
    if (!owl_call_end(c, error, false))
        owl_call__give_up(c); /* it has an answer that nobody has come for */
}

static int park(struct owl_call *c)
{
    char id[80], hex[33];
    struct owl_call_local *l = owl_call_local(c->env, c->reactor);
    owl_park_drop(c);
    if (!owl_call__talk(c))
        return -OWL_ENOMEM;
    if (l->n_parked >= c->env->limits->parked) /* nobody may lock the others out */
        end_parked(OWL_CONTAINER(l->park_order.next, struct owl_talk, park_node)->call, OWL_ELIMIT);
    if (owl_random_hex(hex, 16) != 0)
        return -OWL_EIO;
    int n = snprintf(id, sizeof id, "%u-%s", owl_reactor_index(c->reactor), hex);
    char *copy = owl_arena_dup(c->arena, (owl_str){id, (size_t)n});
    if (!copy)
        return -OWL_ENOMEM;
    c->talk->park_id = (owl_str){copy, (size_t)n};
    int rc = owl_map_put(&l->parked, c->talk->park_id, c, NULL);
    if (rc != 0) {
        c->talk->park_id = (owl_str){NULL, 0};
        return rc;
    }
    owl_list_add(&l->park_order, &c->talk->park_node);
    l->n_parked++;
    c->talk->parked = true;
    char payload[128];
    n = snprintf(payload, sizeof payload, "{\"park\":\"%s\"}", id);
    struct owl_buf members;
    owl_buf_init(&members, c->env->limits->result_bytes);
    rc = owl_ask__write(c, (owl_str){payload, (size_t)n}, &members);
    rc = rc == 0 ? tell(c, owl_buf_str(&members)) : rc;
    for (struct owl_ask *a = c->asks; a; a = a->next)
        a->shown = true;
    owl_buf_done(&members);
    if (rc != 0)
        owl_park_drop(c);
    return rc;
}

/* Its request is answered with input_required; the id is free again, for good. */
static int leave_client(struct owl_call *c)
{
    owl_call_forget_id(c);
    c->scope = 0;
    return park(c);
}

enum owl_verdict owl_park_step(struct owl_call *c)
{
    int rc = leave_client(c);
    if (rc != 0)
        return owl_call_set_failure(c, OWL_ETOOL, "the client could not be asked: %s",
                                    owl_err_info(rc)->text);
    owl_call_wait(c, c->env->limits->question_ms);
    return OWL_SUSPEND;
}

void owl_park_on_timer(struct owl_timer *t)
{
    struct owl_call *c = OWL_CONTAINER(t, struct owl_talk, timer)->call;
    if (owl_call__state(c) != OWL_CALL_RUNNING || !c->asks || (!c->sink && !c->talk->front))
        return; /* over, or its client is away already: it hears of it when it comes back */
    int rc = leave_client(c);
    if (rc != 0)
        OWL_IGNORE(owl_call_give_failure(c, OWL_ETOOL, "the client could not be asked: %s",
                                         owl_err_info(rc)->text)); /* it runs: it cannot be over */
}

/* A retry has come, or nobody will. */
static void unpark(struct owl_call *c)
{
    owl_list_del(&c->talk->park_node);
    if (c->talk->parked)
        owl_call_local(c->env, c->reactor)->n_parked--;
    c->talk->parked = false;
}

void owl_park_drop(struct owl_call *c)
{
    if (!c->talk || c->talk->fronting)
        return;
    if (c->talk->park_id.p)
        owl_map_del(&owl_call_local(c->env, c->reactor)->parked, c->talk->park_id);
    c->talk->park_id = (owl_str){NULL, 0};
    unpark(c);
}

void owl_park_end_all(struct owl_call_local *l)
{
    while (!owl_list_empty(&l->park_order))
        end_parked(OWL_CONTAINER(l->park_order.next, struct owl_talk, park_node)->call,
                   OWL_ECLOSED);
}

/* ---- the retry ---- */

struct visit {
    struct owl_msg msg;
    struct owl_call_env *env;
    struct owl_call *front; /* counted */
    bool leave;             /* the front has gone: end the call that it speaks for */
    size_t n;
    char id[];
};

/* The provider gets the answers, and may finish the call with any of them. What is open still is
 * asked again. */
static void hand_on(struct owl_call *c, owl_str responses)
{
    owl_call_ref(c);
    struct owl_span_iter it = owl_span_iter(responses);
    for (struct owl_span s; owl_span_next(&it, &s);) {
        struct owl_ask *a = owl_ask__find_key(c, &s);
        if (a && a->shown && owl_span_is_object(s.value) && owl_call__state(c) == OWL_CALL_RUNNING)
            owl_relay__answer(c, a, s.value, false);
    }
    if (owl_call__state(c) == OWL_CALL_RUNNING && c->asks)
        owl_timer_start(c->reactor, &c->talk->timer, 0);
    owl_call_unref(c);
}

/* The parked call speaks through the front from now on, and goes on if that brings all answers. */
static void attach(struct owl_call *c, struct owl_call *front)
{
    struct owl_call *old = c->talk->front;
    pthread_mutex_lock(&c->lock); /* threads that keep the call may report progress at any time */
    c->talk->front = owl_call_ref(front);
    c->req.meta.progress_token = front->req.meta.progress_token;
    c->last_progress = -1;
    pthread_mutex_unlock(&c->lock);
    atomic_store(&c->log_level, atomic_load(&front->log_level));
    owl_call_unref(old);
    unpark(c); /* the id stays: the front may leave */
    owl_str responses = owl_rpc_param(&front->req.msg, OWL_STR("inputResponses"));
    if (!owl_span_is_object(responses))
        responses = OWL_STR("{}");
    if (c->talk->holding) {
        c->talk->holding = false;
        owl_call_run(c);
        return;
    }
    if (c->ops != &owl_native) {
        hand_on(c, responses);
        return;
    }
    int rc = owl_ask__take(c, responses);
    if (rc != 0 && rc != -OWL_EBUSY) { /* what could not be kept is asked once more */
        owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
        owl_call__fail(c);
        return;
    }
    for (struct owl_ask *a = c->asks; a; a = a->next) {
        if (owl_ask_open(a)) { /* not all are answered: ask again */
            owl_call_run(c);
            return;
        }
    }
    owl_ask_go_on(c);
}

static void on_visit(struct owl_reactor *r, struct owl_msg *m)
{
    struct visit *v = OWL_CONTAINER(m, struct visit, msg);
    struct owl_call_local *l = owl_call_local(v->env, r);
    struct owl_call *c = owl_map_get(&l->parked, (owl_str){v->id, v->n});
    if (v->leave) {
        if (c && c->talk->front == v->front)
            OWL_IGNORE(owl_call_end(c, OWL_ECANCELLED, false)); /* finished meanwhile: fine */
    } else if (c && c->talk->parked) {
        attach(c, v->front);
    } else {
        struct owl_park_word w = {.failure = {.error = OWL_EPARAMS}};
        w.failure.message = OWL_STR("the requestState was used before or has expired: call again");
        say(v->front, &w);
    }
    owl_call_unref(v->front);
    owl_free(v);
}

static int visit(struct owl_call *front, owl_str id, bool leave)
{
    struct owl_reactor *to = owl_runtime_named(front->runtime, id);
    if (!to)
        return -OWL_EPARAMS;
    struct visit *v = owl_malloc(sizeof *v + id.n);
    if (!v)
        return -OWL_ENOMEM;
    *v = (struct visit){.msg.run = on_visit, .env = front->env, .leave = leave, .n = id.n};
    memcpy(v->id, id.p, id.n);
    v->front = owl_call_ref(front);
    if (owl_post(to, &v->msg))
        return 0;
    owl_call_unref(front);
    owl_free(v);
    return -OWL_ECLOSED;
}

static void on_front_cancelled(owl_call *front, void *data)
{
    (void)data;
    /* no memory: the parked call's deadline ends it */
    OWL_IGNORE(visit(front, front->talk->park_id, true));
}

enum owl_verdict owl_park_attach(struct owl_call *front, owl_str literal)
{
    owl_str id;
    int rc = owl_json_decode(front->arena, literal, &id);
    if (rc == 0 && !owl_call__talk(front))
        rc = -OWL_ENOMEM;
    if (rc == 0)
        rc = owl_call_claim_id(front);
    if (rc == 0)
        rc = owl_call_on_cancel(front, on_front_cancelled, NULL);
    if (rc == 0) {
        front->talk->park_id = id;
        front->talk->fronting = true;
        owl_call_wait(front, front->env->timeout_ms);
        rc = visit(front, id, false);
    }
    if (rc == 0)
        return OWL_SUSPEND;
    owl_call_set_failure(front, -rc, "%s", owl_err_info(rc)->text);
    front->failure.of_tool = false;
    return OWL_FINISH;
}

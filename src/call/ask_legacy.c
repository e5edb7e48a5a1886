/* call/ask_legacy.c - questions to a legacy client: requests of ours, and what is answered.
 *
 * Threads: the reactor of the call that asks; a response may arrive on any and travels there.
 * Invariant: a question that is out is in the reactor's map of them, under an id that is used
 * once. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/answer.h"
#include "call/ask.h"
#include "call/parts.h"
#include "call/task.h"
#include "codec/json.h"
#include "codec/scan.h"

enum {
    MAX_QUESTIONS = 64, /* of a session, that wait for an answer */
    FEW = 4             /* … when all sessions together have too many */
};

/* ---- asking ---- */

/* The client's revision has other words for forms. */
static bool has_old_form(const struct owl_call *c, const struct owl_ask *a)
{
    return a->form && c->req.rev < OWL_REV_2025_11_25;
}

/* An URL must have an id, which questions of modern calls do not have. */
static void put_elicitation_id(struct owl_buf *b, owl_str params)
{
    char id[33];
    bool url = owl_span_str_eq(owl_span_get(params, "mode"), OWL_STR("url"));
    if (url && !owl_span_get(params, "elicitationId").p && owl_random_hex(id, 16) == 0)
        owl_buf_printf(b, "\"elicitationId\":\"%s\",", id); /* `mode` follows */
}

/* A question of a task says so, in the handler's own _meta if there is one. */
static void put_params(struct owl_buf *b, struct owl_call *c, const struct owl_ask *a)
{
    if (has_old_form(c, a)) { /* its revision has no tasks */
        owl_form_put_old(b, a->params);
        return;
    }
    owl_str all = a->params, meta = owl_span_get(all, "_meta"); /* compact */
    owl_str task = owl_task_id(c);
    if (!task.p || (meta.p && !owl_span_is_object(meta))) {
        owl_buf_puts(b, all);
        return;
    }
    const char *at = meta.p ? meta.p + 1 : all.p + 1; /* the first member of what it goes into */
    owl_buf_putc(b, '{');
    put_elicitation_id(b, all);
    owl_buf_put(b, all.p + 1, (size_t)(at - all.p - 1));
    owl_buf_putz(b, meta.p ? "" : "\"_meta\":{");
    owl_task_write_related(b, task);
    owl_buf_putz(b, meta.p ? "" : "}");
    owl_buf_putz(b, *at == '}' ? "" : ",");
    owl_buf_put(b, at, all.n - (size_t)(at - all.p));
}

/* Who is asked: that of the call, or whoever waits for the task. */
static struct owl_session *audience(const struct owl_call *c)
{
    const struct owl_call *front = owl_call_front(c);
    return front ? front->req.session : c->req.session;
}

/* The question is out from now on. Where too many are, a session is still asked a few. */
static int enter_question(struct owl_call *c, struct owl_ask *a)
{
    struct owl_call_local *l = owl_call_local(c->env, c->reactor);
    struct owl_session *asked = audience(c);
    bool full = l->asked.n >= c->env->limits->questions;
    if (!owl_session_enter(asked, OWL_SESSION_QUESTIONS, full ? FEW : MAX_QUESTIONS))
        return -OWL_EBUSY;
    int n = snprintf(a->id_text, sizeof a->id_text, "\"owl-%u-%llu\"",
                     owl_reactor_index(c->reactor), (unsigned long long)++l->next_ask);
    owl_str id = {a->id_text, (size_t)n};
    int rc = owl_map_put(&l->asked, id, a, NULL);
    if (rc != 0) {
        owl_session_leave(asked, OWL_SESSION_QUESTIONS);
        return rc;
    }
    a->asked = owl_session_aref(asked);
    a->id = id;
    c->n_asked++;
    return 0;
}

/* It has been answered, or will not be. */
static void leave_question(struct owl_call *c, struct owl_ask *a)
{
    owl_map_del(&owl_call_local(c->env, c->reactor)->asked, a->id);
    owl_session_leave(a->asked, OWL_SESSION_QUESTIONS);
    owl_session_aunref(a->asked);
    a->asked = NULL;
    a->id = (owl_str){NULL, 0};
    c->n_asked--;
}

static int send_question(struct owl_call *c, struct owl_ask *a)
{
    int rc = enter_question(c, a);
    if (rc != 0)
        return rc;
    struct owl_buf b;
    owl_buf_init(&b, 2 * OWL_ASK_PARAMS);
    owl_rpc_begin_request(&b, a->id, owl_str_of(a->method));
    put_params(&b, c, a);
    owl_rpc_end(&b);
    rc = b.rc ? b.rc : owl_call_send(c, owl_buf_str(&b));
    owl_buf_done(&b);
    if (rc != 0 && a->id.p) /* unless the end of its stream was the end of the question */
        leave_question(c, a);
    return rc;
}

int owl_ask__send(struct owl_call *c)
{
    int rc = 0;
    for (struct owl_ask *a = c->asks; a && rc == 0; a = a->next)
        if (owl_ask_open(a) && !a->id.p)
            rc = send_question(c, a);
    /* Whoever ends the session from now on finds the questions. */
    return rc == 0 && owl_session_ended(audience(c)) ? -OWL_ECLOSED : rc;
}

enum owl_verdict owl_ask__legacy(struct owl_call *c)
{
    int rc = owl_ask__send(c);
    if (rc == -OWL_EBUSY)
        return owl_call_set_failure(c, OWL_EBUSY,
                                    "too many questions wait for answers; try again later");
    if (rc == -OWL_ECLOSED) { /* it has gone: as if that had been seen a moment later */
        owl_call__cancelled(c);
        return OWL_FINISH;
    }
    if (rc != 0)
        return owl_call_set_failure(c, OWL_ETOOL, "the client could not be asked: %s",
                                    owl_err_info(rc)->text);
    owl_call_wait(c, c->env->limits->question_ms);
    return OWL_SUSPEND;
}

/* ---- answers ---- */

static int keep_answer(struct owl_call *c, struct owl_ask *a, owl_str answer)
{
    if (!has_old_form(c, a))
        return owl_ask__keep(c, a, answer);
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_form_put_answer(&b, a->params, answer);
    int rc = b.rc ? b.rc : owl_ask__keep(c, a, owl_buf_str(&b));
    owl_buf_done(&b);
    return rc;
}

/* To a question of a handler. */
static void take_answer(struct owl_call *c, struct owl_ask *a, const struct owl_answer *m)
{
    owl_str payload = m->payload;
    bool form = a->method[0] == 'e'; /* elicitation/create: an error closes the form */
    a->refused = m->refused && !form && (c->run->flags & OWL_PARKED);
    if (m->refused && form)
        payload = OWL_STR("{\"action\":\"cancel\"}");
    int rc = m->busy ? -OWL_EBUSY : 0;
    if (rc == 0 && (!m->refused || form))
        rc = keep_answer(c, a, payload);
    else if (rc == 0 && !a->refused)
        rc = -OWL_ETOOL;
    if (rc == -OWL_EBUSY && c->task && c->run->rounds++ < OWL_ASK_ROUNDS) {
        owl_task__ask_later(c); /* it stays open */
        return;
    }
    if (rc != 0) {
        owl_call_set_failure(c, -rc, "%s",
                             rc == -OWL_ETOOL ? "the client refused to answer"
                                              : owl_err_info(rc)->text);
        owl_call__fail(c);
        return;
    }
    if (c->task)
        owl_task__answered(c);
    else if (c->n_asked == 0)
        owl_ask_go_on(c);
}

/* False: nobody waits for it. */
static bool take_reply(struct owl_call_env *h, struct owl_reactor *r, const struct owl_answer *m)
{
    struct owl_ask *a = owl_map_get(&owl_call_local(h, r)->asked, m->id);
    if (!a || a->asked != m->session)
        return false;
    struct owl_call *c = a->call;
    leave_question(c, a);
    if (!a->relayed)
        take_answer(c, a, m);
    else if (m->busy)
        owl_relay__answer(c, a, OWL_STR("{\"code\":-32603,\"message\":\"the answer had no room\"}"),
                          true);
    else if (!m->refused && !owl_span_is_object(m->payload))
        owl_relay__answer(
            c, a, OWL_STR("{\"code\":-32603,\"message\":\"no result of the client\"}"), true);
    else
        owl_relay__answer(c, a, m->payload, m->refused);
    return true;
}

/* The reactor that an id of ours names, or NULL. */
static struct owl_reactor *id_reactor(struct owl_call_env *h, owl_str id)
{
    static const char prefix[] = "\"owl-";
    size_t n = sizeof prefix - 1;
    if (id.n <= n || memcmp(id.p, prefix, n) != 0)
        return NULL;
    return owl_runtime_named(h->runtime, (owl_str){id.p + n, id.n - n});
}

bool owl_ask_answer(struct owl_call_env *h, struct owl_reactor *r, struct owl_session *session,
                    const struct owl_rpc_msg *msg)
{
    struct owl_reactor *to = msg->id.p && session ? id_reactor(h, msg->id) : NULL;
    return to && owl_answer_bring(h, r, to, session, msg, take_reply);
}

/* ---- forgetting ---- */

/* The client still shows a question that nobody needs. */
static void send_cancelled(struct owl_call *c, owl_str id)
{
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    owl_rpc_begin_notification(&b, OWL_STR("notifications/cancelled"));
    owl_buf_putz(&b, "{\"requestId\":");
    owl_buf_puts(&b, id);
    owl_task_write_meta(&b, owl_task_id(c));
    owl_buf_putc(&b, '}');
    owl_rpc_end(&b);
    if (b.rc == 0)
        OWL_IGNORE(owl_call_send(c, owl_buf_str(&b))); /* it has gone: fine */
    owl_buf_done(&b);
}

void owl_ask__unsend(struct owl_call *c)
{
    for (struct owl_ask *a = c->n_asked ? c->asks : NULL; a; a = a->next)
        if (a->id.p)
            leave_question(c, a);
}

void owl_ask__withdraw(struct owl_call *c)
{
    for (struct owl_ask *a = c->n_asked ? c->asks : NULL; a; a = a->next) {
        if (!a->id.p || owl_ask_open(a))
            continue;
        send_cancelled(c, a->id);
        leave_question(c, a);
    }
}

void owl_ask__withdraw_one(struct owl_call *c, struct owl_ask *a)
{
    if (!a->id.p)
        return;
    if (c->sink || owl_call_front(c))
        send_cancelled(c, a->id);
    leave_question(c, a);
}

void owl_ask_drop(struct owl_call *c)
{
    for (struct owl_ask *a = c->n_asked ? c->asks : NULL; a; a = a->next)
        owl_ask__withdraw_one(c, a);
    owl_relay__drop(c);
}

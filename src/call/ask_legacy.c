/* call/ask_legacy.c - questions to a legacy client: requests of ours, and what is answered.
 *
 * Threads: the reactor of the call that asks; a response may arrive on any and travels there.
 * Invariant: a question that is out is in the reactor's map of them, under an id that is used
 * once. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/err.h"
#include "call/ask.h"
#include "call/task.h"
#include "codec/json.h"
#include "codec/scan.h"

/* ---- asking ---- */

/* A question of a task says so, in the handler's own _meta if there is one. */
static void put_params(struct owl_buf *b, struct owl_call *c, const struct owl_ask *a)
{
    owl_str all = a->params, meta = owl_span_get(all, "_meta"); /* compact */
    if (!c->related.p || (meta.p && !owl_span_is_object(meta))) {
        owl_buf_puts(b, all);
        return;
    }
    const char *at = meta.p ? meta.p + 1 : all.p + 1; /* the first member of what it goes into */
    owl_buf_put(b, all.p, (size_t)(at - all.p));
    owl_buf_putz(b, meta.p ? "" : "\"_meta\":{");
    owl_task_write_related(b, c);
    owl_buf_putz(b, meta.p ? "" : "}");
    owl_buf_putz(b, *at == '}' ? "" : ",");
    owl_buf_put(b, at, all.n - (size_t)(at - all.p));
}

static int send_question(struct owl_call *c, struct owl_ask *a)
{
    struct owl_host_local *l = owl_host_local(c->host, c->reactor);
    if (l->asked.n >= c->host->limits->questions)
        return -OWL_ELIMIT;
    int n = snprintf(a->id_text, sizeof a->id_text, "\"owl-%u-%llu\"",
                     owl_reactor_index(c->reactor), (unsigned long long)++l->next_ask);
    owl_str id = {a->id_text, (size_t)n};
    int rc = owl_map_put(&l->asked, id, a, NULL);
    if (rc != 0)
        return rc;
    a->id = id;
    c->n_asked++;
    struct owl_buf b;
    owl_buf_init(&b, 2 * OWL_ASK_PARAMS);
    owl_rpc_begin_request(&b, a->id, owl_str_of(a->method));
    put_params(&b, c, a);
    owl_rpc_end(&b);
    rc = b.rc ? b.rc : owl_call_send(c, owl_buf_str(&b));
    owl_buf_done(&b);
    return rc;
}

int owl_ask__send(struct owl_call *c)
{
    int rc = 0;
    for (struct owl_ask *a = c->asks; a && rc == 0; a = a->next)
        if (owl_ask_open(a) && !a->id.p)
            rc = send_question(c, a);
    return rc;
}

enum owl_verdict owl_ask__legacy(struct owl_call *c)
{
    int rc = owl_ask__send(c);
    if (rc != 0)
        return owl_call_set_failure(c, OWL_ETOOL, "the client could not be asked: %s",
                                    owl_err_info(rc)->text);
    owl_call_wait(c, c->host->limits->question_ms);
    return OWL_SUSPEND;
}

/* ---- answers ---- */

struct answer {
    struct owl_msg msg;
    struct owl_host *host;
    struct owl_session *session;
    bool refused;
    size_t id_n, n;
    char text[]; /* id, then payload */
};

static void take_answer(struct owl_host *h, struct owl_reactor *r, const struct answer *m)
{
    struct owl_map *map = &owl_host_local(h, r)->asked;
    struct owl_ask *a = owl_map_get(map, (owl_str){m->text, m->id_n});
    if (!a || a->call->session != m->session)
        return;
    struct owl_call *c = a->call;
    owl_map_del(map, a->id);
    a->id = (owl_str){NULL, 0};
    c->n_asked--;
    owl_str payload = {m->text + m->id_n, m->n};
    bool form = a->method[0] == 'e'; /* elicitation/create: an error closes the form */
    a->refused = m->refused && !form && (c->handler_flags & OWL_PARKED);
    if (m->refused && form)
        payload = OWL_STR("{\"action\":\"cancel\"}");
    char *copy = owl_arena_dup(c->arena, payload);
    if (!copy || (m->refused && !form && !a->refused)) {
        owl_call_set_failure(c, copy ? OWL_ETOOL : OWL_ENOMEM, "%s",
                             copy ? "the client refused to answer"
                                  : owl_err_info(OWL_ENOMEM)->text);
        owl_call_resume(c);
        return;
    }
    if (!a->refused)
        a->answer = (owl_str){copy, payload.n};
    if (c->n_asked == 0)
        owl_ask_go_on(c);
}

static void on_answer(struct owl_reactor *r, struct owl_msg *msg)
{
    struct answer *m = OWL_CONTAINER(msg, struct answer, msg);
    take_answer(m->host, r, m);
    owl_session_aunref(m->session);
    owl_free(m);
}

/* The reactor that an id of ours names, or NULL. */
static struct owl_reactor *id_reactor(struct owl_host *h, owl_str id)
{
    static const char prefix[] = "\"owl-";
    size_t n = sizeof prefix - 1;
    if (id.n <= n || memcmp(id.p, prefix, n) != 0)
        return NULL;
    return owl_runtime_named(h->runtime, (owl_str){id.p + n, id.n - n});
}

bool owl_ask_answer(struct owl_host *h, struct owl_session *session, const struct owl_rpc_msg *msg)
{
    struct owl_reactor *to = msg->id.p && session ? id_reactor(h, msg->id) : NULL;
    if (!to)
        return false;
    struct answer *m = owl_malloc(sizeof *m + msg->id.n + msg->payload.n);
    if (!m)
        return false;
    *m = (struct answer){.msg.run = on_answer,
                         .host = h,
                         .session = owl_session_aref(session),
                         .refused = msg->kind == OWL_RPC_ERROR,
                         .id_n = msg->id.n,
                         .n = msg->payload.n};
    memcpy(m->text, msg->id.p, msg->id.n);
    memcpy(m->text + msg->id.n, msg->payload.p, msg->payload.n);
    if (owl_post(to, &m->msg))
        return true;
    owl_session_aunref(m->session);
    owl_free(m);
    return false;
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
    owl_buf_putc(&b, '}');
    owl_rpc_end(&b);
    if (b.rc == 0)
        OWL_IGNORE(owl_call_send(c, owl_buf_str(&b))); /* it has gone: fine */
    owl_buf_done(&b);
}

void owl_ask__unsend(struct owl_call *c)
{
    for (struct owl_ask *a = c->n_asked ? c->asks : NULL; a; a = a->next) {
        if (!a->id.p)
            continue;
        owl_map_del(&owl_host_local(c->host, c->reactor)->asked, a->id);
        a->id = (owl_str){NULL, 0};
        c->n_asked--;
    }
}

void owl_ask_drop(struct owl_call *c)
{
    for (struct owl_ask *a = c->n_asked ? c->asks : NULL; a; a = a->next)
        if (a->id.p && (c->sink || c->front))
            send_cancelled(c, a->id);
    owl_ask__unsend(c);
}

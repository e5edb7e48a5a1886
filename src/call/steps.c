/* call/steps.c - what each step of a call does (tbl/steps.h).
 *
 * Threads: the call's reactor. Invariant: a step returns a verdict and never runs another step. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/ask.h"
#include "call/call.h"
#include "call/check.h"
#include "call/native.h"
#include "call/parts.h"
#include "call/provider.h"
#include "call/task.h"
#include "codec/json.h"

enum { SETTLE_MS = 10000 }; /* for which the policy, or the store of tasks, keeps an answer back */

/* A method that only a provider knows, which gets it as it came. */
static const struct owl_method relayed = {.name = "a method of a provider", .eras = OWL_IN_BOTH};

static enum owl_verdict run_route(struct owl_call *c)
{
    if (!c->method && owl_call_registry(c)) {
        struct owl_provider *p = owl_snapshot_method(owl_call_registry(c), c->req.msg.method);
        if (p) {
            owl_call__set_provider(c, p);
            c->method = &relayed;
        }
    }
    const struct owl_method *m = c->method;
    if (!m || !(m->eras & (1u << c->req.codec->era)) || c->req.rev < m->since)
        return owl_call_set_failure(c, OWL_ENOMETHOD, "method not found: %.*s",
                                    (int)c->req.msg.method.n, c->req.msg.method.p);
    if (c->req.session && !owl_session_initialized(c->req.session) && !(m->flags & OWL_M_EARLY))
        return owl_call_set_failure(
            c, OWL_EREQUEST, "%s before notifications/initialized: finish the handshake first",
            m->name);
    struct owl_snapshot *s = owl_call_registry(c);
    if (!s)
        return owl_call_set_failure(c, OWL_ENOMEM, "%s", owl_err_info(OWL_ENOMEM)->text);
    if (m->capability & ~owl_snapshot_caps(s))
        return owl_call_set_failure(c, OWL_ENOMETHOD, "%s: this server does not offer it", m->name);
    return OWL_NEXT;
}

static enum owl_verdict run_resolve(struct owl_call *c)
{
    enum owl_verdict v = c->method->resolve ? c->method->resolve(c) : OWL_NEXT;
    return v == OWL_NEXT ? owl_call__enter(c) : v;
}

static uint64_t time_left(const struct owl_call *c)
{
    uint64_t now = owl_now_ms(), at = atomic_load(&c->deadline_ms);
    return at > now ? at - now : 1;
}

static enum owl_verdict run_admit(struct owl_call *c)
{
    if (!c->req.item)
        return OWL_NEXT;
    c->ticket.admitted = true;
    enum owl_verdict v = c->env->policy->admit(c->env->policy_self, c);
    if (v != OWL_SUSPEND)
        return v;
    c->ticket.suspended++;
    int rc = owl_call_claim_id(c);
    if (rc != 0) {
        c->ticket.stale = c->ticket.suspended; /* it resumes a call that is over */
        return owl_call_refuse_id(c, rc);
    }
    owl_call_wait(c, time_left(c));
    return OWL_SUSPEND;
}

int owl_call__count(struct owl_call *c, size_t n)
{
    return owl_budget_take(owl_call_local(c->env, c->reactor)->values, c->arena, &c->values, n);
}

int owl_call__parse(struct owl_call *c, owl_str proved, const owl_json **ret)
{
    size_t n;
    int rc = owl_json_parse_arena(c->arena, proved, ret, &n);
    return rc ? rc : owl_call__count(c, n);
}

static enum owl_verdict run_invoke(struct owl_call *c)
{
    if (c->method->run)
        return c->method->run(c);
    if (!c->run && !c->provider)
        return OWL_FINISH; /* the method has written the result already */
    enum owl_verdict v = owl_ask_restore(c);
    if (v != OWL_NEXT)
        return v;
    int rc = owl_call_claim_id(c); /* the provider has the arena from now on */
    if (rc != 0) {
        v = owl_call_refuse_id(c, rc);
        c->failure.of_tool = false;
        return v;
    }
    c->returned = false;
    c->invoking = true;
    v = c->ops->invoke(c);
    c->invoking = false;
    return v;
}

void owl_call_await(struct owl_call *c)
{
    owl_call_wait(c, time_left(c));
}

/* Run twice: when the wait begins, and when the call is finished. */
static enum owl_verdict run_await(struct owl_call *c)
{
    if (!c->returned)
        return OWL_SUSPEND; /* even if it has finished: its post is under way */
    return c->ops == &owl_native ? owl_native_judge(c) : OWL_FINISH;
}

static enum owl_verdict run_settle(struct owl_call *c)
{
    /* From here on its end is decided: nobody may finish or end it any more. */
    OWL_IGNORE(
        owl_call__move(c, 1u << OWL_CALL_RUNNING | 1u << OWL_CALL_ASKING, OWL_CALL_FINISHED));
    if (!c->ticket.admitted)
        return OWL_NEXT;
    c->ticket.admitted = false;
    enum owl_verdict v = c->env->policy->settle(c->env->policy_self, c);
    if (v != OWL_SUSPEND)
        return OWL_NEXT;
    c->ticket.suspended++;
    owl_call_wait(c, SETTLE_MS);
    return OWL_SUSPEND;
}

/* What a line of the log calls it: the method, and the name of what it is about if it has one. */
static void log_failure(struct owl_call *c, const struct owl_mcp_failure *f)
{
    owl_str name = owl_str_eq(c->req.name, c->req.msg.method) ? OWL_STR("") : c->req.name;
    OWL_LOG(c->env->log, OWL_LEVEL_INFO, "call", "%.*s%s%.*s failed: %s: %.*s trace_id=%s",
            (int)c->req.msg.method.n, c->req.msg.method.p, name.n ? " " : "", (int)name.n,
            name.p ? name.p : "", owl_error_name(f->error), (int)f->message.n, f->message.p,
            f->trace_id.p);
}

/* The failure as the client is told. When the reactor ended the call, the handler may still be
 * writing its own. */
static int write_failure(struct owl_call *c, struct owl_buf *out, int error)
{
    struct owl_mcp_failure f = {.error = error,
                                .of_tool = c->req.item && c->req.item->kind == OWL_KIND_TOOL};
    if (!error)
        f = c->failure;
    if (!f.message.p)
        f.message = owl_str_of(owl_err_info(f.error)->text);
    f.trace_id = owl_str_of(owl_call_trace_id(c));
    uint64_t now = owl_now_ms();
    struct owl_mcp_run run = {.tool = c->req.name,
                              .version = {"", 0},
                              .duration_ms = now > c->begun_ms ? now - c->begun_ms : 0,
                              .ended_ms = owl_wall_ms()};
    f.run = &run;
    log_failure(c, &f);
    return owl_mcp_write_failure(out, c->req.codec, c->req.msg.id, &f, c->env->server_info);
}

/* A relayed result: nobody knows for how long it holds, nor for whom else. */
static int take_given(struct owl_call *c, struct owl_mcp_result *r)
{
    struct owl_buf members, meta;
    owl_buf_init_arena(&members, c->arena, c->env->limits->result_bytes);
    owl_buf_init_arena(&meta, c->arena, c->env->limits->result_bytes);
    owl_relay__members(c, &members, &meta);
    r->members = owl_buf_str(&members);
    r->meta = owl_buf_str(&meta);
    r->per_user = true;
    return members.rc ? members.rc : meta.rc;
}

/* What a handler says may be for whom it knows, or who has answered, and be another the next time. */
static int take_built(struct owl_call *c, struct owl_mcp_result *r)
{
    r->per_user = c->asks || (c->run && c->req.principal.n > 0);
    r->ttl_ms = c->req.item && c->run ? 0 : c->env->list_ttl_ms;
    r->meta = owl_buf_str(&c->result.meta);
    if (c->result_type) {
        r->type = c->result_type;
        r->cacheable = false;
    }
    return owl_result_members(&c->result, c->req.rev, c->arena, &r->members);
}

static int write_result(struct owl_call *c, struct owl_buf *out)
{
    struct owl_mcp_result r = {.type = "complete", .cacheable = c->method->flags & OWL_M_CACHEABLE};
    int rc = c->given ? take_given(c, &r) : take_built(c, &r);
    if (rc != 0)
        return rc;
    owl_rpc_begin_result(out, c->req.msg.id);
    c->req.codec->result(out, &r, c->env->server_info);
    owl_rpc_end(out);
    return out->rc;
}

static enum owl_verdict run_reply(struct owl_call *c)
{
    owl_ask_drop(c);
    if (c->talk && c->talk->parked && !c->end_error) {
        c->talk->holding = true; /* for the retry, or until nobody comes any more */
        owl_call_wait(c, c->env->limits->question_ms);
        return OWL_SUSPEND;
    }
    if (owl_call_front(c) && !c->task)
        owl_park_reply(c);
    if (!c->sink && !c->task)
        return OWL_NEXT;
    if (c->task && !owl_task_due(c)) {
        owl_call_wait(c, SETTLE_MS);
        return owl_task_reply(c, (owl_str){NULL, 0});
    }
    struct owl_buf *out = &owl_call_local(c->env, c->reactor)->out;
    owl_buf_reset(out);
    int status = 200;
    int rc = 0;
    bool unanswered = c->end_error && c->silent;
    if (!unanswered && (c->end_error || c->failure.error))
        status = write_failure(c, out, c->end_error);
    else if (!unanswered)
        rc = write_result(c, out);
    if (rc == 0)
        rc = out->rc;
    if (rc != 0) {
        owl_buf_reset(out); /* what is too long is not the client's fault */
        status = write_failure(c, out, rc == -OWL_ELIMIT ? OWL_EINTERNAL : -rc);
    }
    if (out->rc != 0) { /* rather nothing than half of something */
        owl_buf_reset(out);
        status = owl_err_info(OWL_ENOMEM)->http_status;
    }
    if (c->task) {
        owl_call_wait(c, SETTLE_MS);
        return owl_task_reply(c, owl_buf_str(out));
    }
    struct owl_sink *sink = c->sink;
    c->sink = NULL;
    sink->ops->respond(sink, c, owl_buf_str(out), status);
    return OWL_NEXT;
}

static enum owl_verdict run_end(struct owl_call *c)
{
    if (c->consults)
        owl_call_ref(c); /* the question to the store is part of it: the answer lets go */
    struct owl_call_local *l = owl_call_local(c->env, c->reactor);
    owl_call_forget_id(c);
    owl_call__leave(c);
    owl_ask_drop(c);
    owl_park_drop(c);
    owl_task_drop(c);
    owl_timer_stop(&c->deadline);
    if (c->talk)
        owl_timer_stop(&c->talk->timer);
    if (c->pin)
        owl_pin_release(c->pin);
    c->pin = NULL;
    owl_list_del(&c->node);
    l->n_calls--;
    owl_call__release_given(c); /* others may hold the call for long */
    owl_call_unref(c);
    if (l->n_calls == 0 && l->on_idle)
        l->on_idle(l);
    return OWL_SUSPEND;
}

#define run_arguments owl_check_arguments
#define run_task owl_task_step
#define run_ask owl_ask_step
const struct owl_step owl_steps[] = {
#define OWL_STEP_ROW(sym, text) [OWL_STEP_##sym] = {#sym, run_##sym},
#include "tbl/steps.h"
};

/* call/native.c - calls that handlers of the program answer.
 *
 * The arguments are parsed on the reactor; the handler runs on a worker, or on the reactor if it is
 * inline; it finishes from any thread.
 * Threads: as marked in call.h. Invariant: the thread that wins the run (owl_call__win) alone touches
 * the result until the reactor has its post. */
#include "call/native.h"

#include <time.h>

#include "base/err.h"
#include "call/ask.h"
#include "call/check.h"
#include "call/parts.h"
#include "call/provider.h"
#include "codec/json.h"

enum { MOST_PAUSES = 10000 }; /* of a millisecond: a reactor that hangs is no reason to hang, too */

/* ---- completion, from any thread ---- */

/* Takes a reference. */
static void on_own_reactor(struct owl_call *c)
{
    c->returned = true;
    if (!c->invoking) { /* otherwise the step `await` follows */
        OWL_ASSERT(c->step == &owl_steps[OWL_STEP_await]);
        owl_call_run(c);
    }
    owl_call_unref(c);
}

static void count_posted(struct owl_run *run)
{
    const struct owl_result *r = &run->call->result;
    run->posted = r->list.n + r->extra.n + r->meta.n;
    atomic_fetch_add(&owl_call_local(run->call->env, run->call->reactor)->finished, run->posted);
}

static void on_done(struct owl_reactor *r, struct owl_msg *m)
{
    struct owl_run *run = OWL_CONTAINER(m, struct owl_run, done);
    atomic_fetch_sub(&owl_call_local(run->call->env, r)->finished, run->posted);
    on_own_reactor(run->call);
}

/* The winner of the run posts. */
static int finish(struct owl_call *c, unsigned run, int status)
{
    if (!owl_call__win(c, run))
        return -OWL_EDONE;
    c->run->status = status;
    if (status == 0)
        owl_check_result(c);
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    if (owl_reactor_self() == c->reactor) { /* its own: no message is needed */
        on_own_reactor(c);
        return 0;
    }
    count_posted(c->run);
    c->run->done.run = on_done;
    if (!owl_post(c->reactor, &c->run->done))
        owl_call_unref(c); /* the server has gone: there is nobody to answer */
    return 0;
}

int owl_call_finish(owl_call *c, int status)
{
    return status == OWL_LATER ? -OWL_EINVAL : finish(c, atomic_load(&c->state), status);
}

void owl_call__returned(struct owl_call *c, unsigned run, int status)
{
    if (status != OWL_LATER)
        OWL_IGNORE(finish(c, run, status)); /* finished by hand, or ended: its return is ignored */
}

/* ---- running a handler ---- */

/* Workers make results faster than a reactor sends them: while it has too many, they wait. */
static void wait_for_room(const struct owl_call *c)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const struct owl_call_local *l = owl_call_local(c->env, c->reactor);
    for (int i = 0; i < MOST_PAUSES; i++) {
        if (atomic_load(&l->finished) <= c->env->limits->queue_total_bytes ||
            owl_call__state(c) != OWL_CALL_RUNNING)
            return;
        nanosleep(&pause, NULL);
    }
}

static void run_on_worker(struct owl_work *w)
{
    struct owl_call *c = OWL_CONTAINER(w, struct owl_call, work);
    if (owl_call__state(c) == OWL_CALL_RUNNING)
        wait_for_room(c);
    unsigned run = atomic_load(&c->state);
    if (run % OWL_CALL__RUN == OWL_CALL_RUNNING)
        owl_call__returned(c, run,
                           c->run->going_on ? owl_ask_continue(c) : c->run->fn(c, c->run->data));
    owl_call_unref(c);
}

static enum owl_verdict start_worker(struct owl_call *c)
{
    owl_call_ref(c); /* the work's own */
    c->work.run = run_on_worker;
    int rc = owl_worker_submit(c->runtime, &c->work);
    if (rc == 0)
        return OWL_NEXT;
    owl_call_unref(c);
    return owl_call_set_failure(c, rc == -OWL_ENOMEM ? OWL_ENOMEM : OWL_ECLOSED,
                                "the server is too busy to run %.*s now; try again later",
                                (int)c->req.name.n, c->req.name.p);
}

/* Runs the handler on the reactor. */
static enum owl_verdict run_inline(struct owl_call *c)
{
    unsigned run = atomic_load(&c->state);
    int rc = c->run->fn(c, c->run->data);
    if (rc == OWL_LATER || !owl_call__win(c, run))
        return OWL_NEXT; /* later, or finished by hand */
    c->run->status = rc;
    c->returned = true;
    if (rc == 0)
        owl_check_result(c);
    return rc == 0 && c->result.rc == 0 && !c->failure.error ? OWL_FINISH : OWL_NEXT;
}

/* What the handler will read, parsed while the reactor still has the arena. */
static enum owl_verdict parse_input(struct owl_call *c)
{
    owl_str args = c->req.arguments.p ? c->req.arguments : OWL_STR("{}");
    owl_str params = c->req.msg.params.p ? c->req.msg.params : OWL_STR("{}");
    int rc = c->run->args ? 0 : owl_call__parse(c, args, &c->run->args);
    if (rc == 0 && !c->req.item && !c->run->params)
        rc = owl_call__parse(c, params, &c->run->params);
    if (rc != 0)
        return owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
    return OWL_NEXT;
}

static enum owl_verdict invoke(struct owl_call *c)
{
    enum owl_verdict v = parse_input(c);
    if (v != OWL_NEXT)
        return v;
    if ((c->run->flags & OWL_INLINE) && !c->run->going_on) {
        v = run_inline(c);
        if (!c->returned)
            owl_call_await(c);
        return v;
    }
    owl_call_await(c); /* the handler has the call from now on */
    return start_worker(c);
}

/* ---- what it returned ---- */

/* What a handler returned, as an error of its call. Those that are about messages are about ones that
 * it has read itself, not about the one that called it; a method of the program's own knows better. */
static int error_of(const struct owl_call *c, int status)
{
    if (status < -OWL_EBUSY || status > -OWL_EINVAL)
        return OWL_ETOOL; /* none of ours */
    switch (-status) {
    case OWL_EDONE: return OWL_ETOOL;
    case OWL_EPARSE:
    case OWL_EREQUEST:
    case OWL_ENOMETHOD:
    case OWL_EVERSION:
    case OWL_EHEADER:
    case OWL_EINTERNAL: return c->req.item ? OWL_ETOOL : -status;
    case OWL_ELIMIT:
    case OWL_ESTATE: return c->req.item && c->req.item->kind != OWL_KIND_TOOL ? OWL_ETOOL : -status;
    default: return -status;
    }
}

/* What the handler has built is wrong, not what it was asked for. */
static enum owl_verdict refuse_result(struct owl_call *c)
{
    int rc = c->result.rc;
    OWL_LOG(c->env->log, OWL_LEVEL_WARNING, "call",
            "the result of %.*s could not be built: %s trace_id=%s", (int)c->req.name.n,
            c->req.name.p, c->result.why, owl_call_trace_id(c));
    return owl_call_set_failure(c,
                                rc == -OWL_ENOMEM ? OWL_ENOMEM
                                : c->req.item     ? OWL_ETOOL
                                                  : OWL_EINTERNAL,
                                "the result could not be built: %s", owl_err_info(rc)->text);
}

enum owl_verdict owl_native_judge(struct owl_call *c)
{
    if (c->run->status == OWL_PENDING && !c->failure.error)
        return OWL_NEXT;
    if (c->run->status > 0)
        return owl_call_set_failure(c, OWL_ETOOL, "the handler returned %d", c->run->status);
    if (c->run->status == -OWL_ECAPABILITY && c->run->missing_capability && !c->failure.error) {
        owl_call__lacks(c, c->run->missing_capability);
        return OWL_FINISH;
    }
    if (c->run->status == -OWL_EINVAL && c->run->bad_question)
        return owl_call_set_failure(c, OWL_ETOOL, "%s", c->run->bad_question);
    if (c->result.rc != 0 && (c->run->status == 0 || c->run->status == c->result.rc))
        return refuse_result(c);
    if (c->run->status < 0) {
        int error = error_of(c, c->run->status);
        return owl_call_set_failure(c, error, "%s", owl_err_info(error)->text);
    }
    return OWL_FINISH;
}

const struct owl_provider_ops owl_native = {.invoke = invoke};

/* call/call.h - one request on its way from the envelope to the answer (the inside of
 * owlclaw/handler.h).
 * Layer: call. Threads: a call belongs to the reactor on which it arrived; while its handler works
 * elsewhere, that thread alone touches what is marked [handler]. Everything marked [atomic] may be
 * touched by any thread that holds the call.
 *
 * A call is data plus a named step (tbl/steps.h). It is completed exactly once: whoever moves
 * `state` away from OWL_CALL_RUNNING decides how it ends; everybody else is told -OWL_EDONE. */
#ifndef OWL_CALL_CALL_H
#define OWL_CALL_CALL_H

#include <owlclaw/handler.h>
#include <owlclaw/limits.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "base/budget.h"
#include "base/list.h"
#include "base/map.h"
#include "call/policy.h"
#include "call/result.h"
#include "jsonrpc/envelope.h"
#include "mcp/session.h"
#include "mcp/state.h"
#include "mcp/wire.h"
#include "observe/trace.h"
#include "reactor/cell.h"
#include "reactor/timer.h"
#include "reactor/worker.h"
#include "registry/registry.h"

struct owl_given;
struct owl_run;  /* call/parts.h */
struct owl_talk; /* likewise */
struct owl_task;
struct owl_task_said;
struct owl_task_store;

struct owl_step {
    const char *name;
    enum owl_verdict (*run)(struct owl_call *c);
};

/* A method of the protocol or of the program's own; const, one a file in server/. */
struct owl_method {
    const char *name;
    unsigned eras;        /* OWL_IN_* */
    const char *name_key; /* params member that Mcp-Name mirrors, or NULL */
    unsigned capability;  /* OWL_CAP_* that must be there, or 0 */
    enum owl_rev since;   /* older revisions do not have it */
    unsigned flags;       /* OWL_M_* */
    /* Find what the call is about: owl_call_set_item(), or fail. NULL: nothing to find. */
    enum owl_verdict (*resolve)(struct owl_call *c);
    /* Answer on the reactor: write c->result, or fail. NULL: the item's handler answers. */
    enum owl_verdict (*run)(struct owl_call *c);
};

/* Where what a call says goes. Implemented by the transports' fronts in server/. On the call's
 * reactor. */
struct owl_sink {
    const struct owl_sink_ops *ops;
};
struct owl_sink_ops {
    /* A notification or a request to the client, before the response. 0, or -OWL_ESTATE: this
     * client cannot be told. */
    int (*send)(struct owl_sink *s, struct owl_call *c, owl_str message);
    /* The response; the sink forgets the call. An empty message: the call ends without an answer,
     * or (an HTTP status from 400 on) there was no memory for it. */
    void (*respond)(struct owl_sink *s, struct owl_call *c, owl_str message, int http_status);
    /* The client need not wait on its connection: it may come back for the answer. NULL: it cannot,
     * or has nothing to gain. */
    void (*release)(struct owl_sink *s, struct owl_call *c);
};

/* What the calls of one server share. Immutable while it runs, except the reactors' own parts. */
struct owl_call_env {
    struct owl_runtime *runtime;
    struct owl_runtime_part *part; /* whose work handlers are */
    const struct owl_log *log;
    const struct owl_policy_ops *policy;
    void *policy_self;
    struct owl_cell *registry; /* of struct owl_snapshot */
    struct owl_task_store *tasks;
    /* The store has a new version of the task, which is valid during the call; may be NULL. */
    void (*task_changed)(struct owl_call_env *h, const struct owl_task *t);
    unsigned task_poll_ms;
    struct owl_state_key state_key;
    owl_str server_info; /* JSON object */
    unsigned timeout_ms;
    unsigned list_ttl_ms;
    enum owl_error_style error_style;
    const owl_limits *limits;
    struct owl_call_local *local; /* one a reactor */
};

/* A reactor's own part. */
struct owl_call_local {
    struct owl_list calls;    /* all that have not ended */
    struct owl_map in_flight; /* suspended calls that a notification may cancel, by scope and id */
    struct owl_map scopes;    /* one of the same for each scope: it leads to the others */
    struct owl_map asked;     /* questions that wait for an answer, by their id */
    struct owl_map parked;    /* calls that were, by the park id that they had last */
    struct owl_list park_order; /* those whose modern client is away, oldest first */
    size_t n_parked;            /* … how many */
    struct owl_map tasks;       /* calls that run as tasks, by the task's id */
    struct owl_list asking;     /* those that have asked, longest ago first; not all ask still */
    uint64_t next_ask;
    struct owl_budget *values; /* what calls make of what clients send: parsed, and kept answers */
    atomic_size_t finished;    /* bytes of results that other threads have posted here */
    size_t n_calls;
    bool ending;                               /* the server stops, and its patience is over */
    struct owl_buf out;                        /* scratch for replies */
    void (*on_idle)(struct owl_call_local *l); /* once, when n_calls reaches 0; or NULL */
    void *idle_data;
};
OWL_NODISCARD int
owl_call_env_init(struct owl_call_env *h);      /* local parts; after the runtime exists */
void owl_call_env_done(struct owl_call_env *h); /* after its end */
struct owl_call_local *owl_call_local(struct owl_call_env *h, const struct owl_reactor *r);

enum owl_call_state {
    OWL_CALL_RUNNING,  /* a handler may finish it */
    OWL_CALL_FINISHED, /* the handler is through: the reactor takes over */
    OWL_CALL_ASKING,   /* waits for the client's answers: nobody may finish it */
    OWL_CALL_ENDED     /* cancelled, timed out or stopped: what the handler still does is ignored */
};
/* `state` holds the number of the handler's run in its upper bits, so that a handler that returns
 * late does not finish the run after its own. */
enum { OWL_CALL__RUN = 4 };

/* What was asked. Immutable once the call runs. */
struct owl_request {
    struct owl_rpc_msg msg;
    struct owl_mcp_meta meta; /* but progress_token, which is under the call's lock */
    const struct owl_mcp_codec *codec;
    enum owl_rev rev;
    owl_str client_caps;
    struct owl_session *session; /* counted; NULL for modern */
    owl_str principal;           /* who calls, ends in NUL; empty: nobody knows */
    owl_str name;                /* tool, prompt, URI; otherwise the method */
    owl_str arguments;           /* raw object, or absent */
    struct owl_item *item;       /* NULL for methods that answer themselves */
    owl_str vars[OWL_URI_VARS];  /* raw values of template variables */
    owl_str complete_name, complete_value, complete_context;
};

/* What the policy has of it. */
struct owl_ticket {
    bool admitted;     /* settle() is due */
    uint8_t suspended; /* times that the policy is to resume it */
    uint8_t stale;     /* … of which these come too late */
};

struct owl_call {
    atomic_uint refs;
    atomic_uint state;        /* run × OWL_CALL__RUN + enum owl_call_state */
    atomic_bool keeps_rt;     /* holds a reference to the runtime */
    struct owl_call_env *env; /* only while the server lives */
    struct owl_runtime *runtime;
    struct owl_reactor *reactor;
    struct owl_arena *arena; /* [handler] holds the call itself and its message */
    struct owl_sink *sink;   /* NULL once the client has gone */
    struct owl_request req;
    const struct owl_method *method;    /* NULL: nobody knows it */
    struct owl_provider *provider;      /* who answers: call/provider.h; NULL: a handler */
    const struct owl_provider_ops *ops; /* … its own, or those of handlers */
    void *provider_data;                /* the provider's own */
    owl_str sealed;                     /* what the provider had sealed, or absent */

    /* its flow */
    const struct owl_step *step;
    uint64_t step_ns, begun_ms; /* monotonic, as the next */
    atomic_ullong deadline_ms;
    struct owl_timer deadline;
    struct owl_pin *pin;        /* the registry snapshot, until the call suspends or ends */
    bool held;                  /* item and provider are counted: the call may wait */
    bool invoking;              /* the provider's invoke() is on the stack */
    bool returned;              /* the reactor knows that the provider is through */
    bool counted;               /* among the calls of its session that are not over */
    int end_error;              /* the reactor ended the call with this */
    bool silent;                /* … and the client gets no answer */
    int end_wanted;             /* it is to be ended with this, if it is about to ask the client */
    bool end_silent;            /* … likewise */
    struct owl_list node;       /* among all of the reactor */
    uint64_t scope;             /* within which its id names this call; 0: nothing does */
    owl_str cancel_key;         /* in owl_call_local.in_flight, or absent */
    struct owl_list scope_node; /* among those of its scope that are there */
    struct owl_work work;
    struct verdict *verdict;        /* on its arguments, if a worker gives it: check.c */
    struct owl_budget_share values; /* of owl_call_local.values */

    /* its outcome */
    struct owl_result result;       /* [handler] */
    const char *result_type;        /* of a modern result, if it is not "complete" */
    struct owl_given *given;        /* the result, if another than `result` */
    struct owl_mcp_failure failure; /* [handler] error != 0: it failed */
    char why[252];                  /* [handler] storage of failure.message */
    char trace_id[OWL_TRACE_ID + 1];

    /* parts, each if it is needed */
    struct owl_ticket ticket;
    struct owl_run *run;          /* NULL: no handler of the program answers */
    struct owl_ask *asks;         /* [handler] questions, call/ask.h; of a relay the reactor's */
    unsigned n_asked;             /* … that are out; no handler runs then */
    struct owl_talk *talk;        /* NULL: it has no more to say than its answer */
    struct owl_task_run *task;    /* it runs as a task: call/task.h */
    owl_str related;              /* legacy: its id, in whatever the call says; immutable */
    struct owl_task_query *visit; /* it is about one */
    bool consults;                /* it has asked the store of tasks, which has not answered */

    /* what other threads see of it */
    atomic_int log_level; /* least severe that the client wants; above OWL_LEVEL_EMERGENCY: none */
    double told;          /* the progress that was sent last; the reactor's */
    pthread_mutex_t lock; /* the rest, talk and its front, and req.meta.progress_token */
    double last_progress;
    unsigned notes;             /* messages to the client that are on their way to the reactor */
    struct owl_task_said *said; /* what its task is to say of itself */
    void (*on_cancel)(owl_call *call, void *data);
    void *on_cancel_data;
    bool cancelled;
    pthread_mutex_t cancelling; /* held while on_cancel runs */
};

/* ---- life ---- */

struct owl_call_init {
    struct owl_call_env *env;
    struct owl_reactor *reactor;
    struct owl_arena *arena; /* taken on success */
    struct owl_sink *sink;
    const struct owl_rpc_msg *msg;
    const struct owl_mcp_meta *meta;
    enum owl_rev rev;
    struct owl_session *session;     /* the call takes a reference of its own; may be NULL */
    owl_str principal;               /* lives as long as the arena */
    const struct owl_method *method; /* NULL: unknown */
    uint64_t scope;                  /* never used again for another client */
    uint64_t client;                 /* struct owl_work has it */
};
/* A new call at its first step, on the reactor. NULL without memory. */
OWL_NODISCARD struct owl_call *owl_call_new(const struct owl_call_init *init);
/* Run steps until one suspends or the call has ended: the call may be gone afterwards. */
void owl_call_run(struct owl_call *c);
/* The id names this call from now on: it can be cancelled by it. Before a handler has the arena.
 * @errors OWL_EEXISTS (the id is in use), OWL_ECANCELLED (its session has just ended),
 * OWL_ENOMEM. */
OWL_NODISCARD int owl_call_claim_id(struct owl_call *c);
/* The failure of a call that could not claim its id. */
enum owl_verdict owl_call_refuse_id(struct owl_call *c, int rc);
/* The call is going to wait, for @p ms at most (0: for ever): what it holds only while it is quick
 * is let go. */
void owl_call_wait(struct owl_call *c, uint64_t ms);
/* Its id no longer names the call. */
void owl_call_forget_id(struct owl_call *c);
/* A method that suspended has its result now; on the reactor. False if the call was ended
 * before. */
bool owl_call_complete(struct owl_call *c);
/* Go on after the policy suspended it; on the reactor. Ignored if the call was ended meanwhile, or
 * the policy took too long. */
void owl_call_resume(struct owl_call *c);
/* End it from outside with that error, on the reactor: cancelled, timed out, stopping. False if it
 * was completed. With @p answer false the client gets nothing (it cancelled). */
bool owl_call_end(struct owl_call *c, int error, bool answer);
/* End every call of the reactor with that error, and keep no further one waiting: not for a policy,
 * a store or a client either. */
void owl_calls_end(struct owl_call_local *l, int error);
/* End the call with that id (owl_rpc_id_plain) in that scope, if it runs here. */
void owl_call_cancel(struct owl_call_local *l, uint64_t scope, owl_str id);
/* End all calls of that scope that wait here: nobody wants their results any more. With @p answer the
 * client gets an error, if it still listens. */
void owl_calls_cancel(struct owl_call_local *l, uint64_t scope, bool answer);

/* ---- for steps and methods ---- */

/* Record the failure; returns OWL_FINISH, so that a step fails in one statement. First one wins. */
enum owl_verdict owl_call_set_failure(struct owl_call *c, int error, const char *fmt, ...)
    OWL_PRINTF(3, 4);
/* error.data of the failure: JSON text that lives as long as the call's arena. */
void owl_call_set_failure_data(struct owl_call *c, owl_str json);
/* What the call is about, and which of its handlers answers (may be NULL), unless it has a provider.
 * On the reactor, while the registry is pinned. OWL_NEXT, or OWL_FINISH without memory. */
enum owl_verdict owl_call_set_item(struct owl_call *c, struct owl_item *item, owl_handler_fn fn,
                                   owl_str name);
/* The handler that answers it, or NULL: what the method has written does; likewise. */
enum owl_verdict owl_call_set_handler(struct owl_call *c, owl_handler_fn fn, void *data,
                                      unsigned flags);
/* The registry as this call sees it. */
struct owl_snapshot *owl_call_registry(struct owl_call *c);
/* A string member of params: decoded, in the arena. Absent, or OWL_EPARAMS recorded if it is no
 * string (then false). */
bool owl_call_param_str(struct owl_call *c, const char *key, owl_str *ret);
/* Text in the call's arena; [handler]. NULL without memory. */
char *owl_call_vprintf(struct owl_call *c, const char *fmt, va_list ap, size_t *ret_n)
    OWL_PRINTF(2, 0);
/* Send a message about this call to whoever it speaks to; on any thread. @p message is copied. */
int owl_call_send(struct owl_call *c, owl_str message);
/* The same for what concerns only the client that began it: progress, and (NaN) log messages.
 * Progress is dropped if a later one of another thread has overtaken it. */
int owl_call_tell(struct owl_call *c, owl_str message, double progress);
/* 32 hex digits: of the client's traceparent, otherwise random. */
const char *owl_call_trace_id(struct owl_call *c);

/* Who answers instead of a handler. On the reactor, while the registry is pinned. */
void owl_call__set_provider(struct owl_call *c, struct owl_provider *p);
/* Its part for what it says beyond its answer, on the reactor; NULL without memory. */
struct owl_talk *owl_call__talk(struct owl_call *c);
/* What was given to it is not needed any more. */
void owl_call__release_given(struct owl_call *c);
/* The call is about to run a handler: it counts for its session until it leaves. */
enum owl_verdict owl_call__enter(struct owl_call *c);
void owl_call__leave(struct owl_call *c);
/* Its client has gone while the call asks: nobody is answered. The step finishes. */
void owl_call__cancelled(struct owl_call *c);
/* The step in which it waited has this verdict now. */
void owl_call__advance(struct owl_call *c, enum owl_verdict v);
/* It waits and has got a failure: settle. */
void owl_call__fail(struct owl_call *c);
/* It is finished and waits for the policy, the store of tasks or a client that is away: not any
 * more. */
void owl_call__give_up(struct owl_call *c);
/* How long the handler may run from now on. */
uint64_t owl_call__allowed_ms(const struct owl_call *c);
/* The one setter of the step; traces. */
void owl_call__trace(struct owl_call *c, const struct owl_step *step);
static inline void owl_call__goto(struct owl_call *c, const struct owl_step *step)
{
    const struct owl_log *log = c->env->log;
    if (OWL_UNLIKELY(log->fn && log->level <= OWL_LEVEL_DEBUG))
        owl_call__trace(c, step);
    c->step = step;
}
/* The handler of run @p run (the state when it began) has returned on another thread. */
void owl_call__returned(struct owl_call *c, unsigned run, int status);
/* The call fails because the client has not declared that. */
void owl_call__lacks(struct owl_call *c, const char *capability);
/* Counts @p n bytes that the call keeps of what clients send, on the reactor. 0, -OWL_ENOMEM, or
 * -OWL_EBUSY: calls hold too much. */
OWL_NODISCARD int owl_call__count(struct owl_call *c, size_t n);
/* Parses what a client sent, on the reactor, and counts it; likewise. */
OWL_NODISCARD int owl_call__parse(struct owl_call *c, owl_str proved, const owl_json **ret);
/* The reactor moves the state from one of the states of @p from (bits) to @p to. False if it was in
 * none of them. */
bool owl_call__move(struct owl_call *c, unsigned from, enum owl_call_state to);
static inline enum owl_call_state owl_call__state(const struct owl_call *c)
{
    return (enum owl_call_state)(atomic_load_explicit(&c->state, memory_order_acquire) %
                                 OWL_CALL__RUN);
}
/* Nobody builds its result any more, or says how far it is. */
static inline bool owl_call__over(const struct owl_call *c)
{
    enum owl_call_state s = owl_call__state(c);
    return s == OWL_CALL_FINISHED || s == OWL_CALL_ENDED;
}
/* Whoever gets true has finished the run that began with the state @p run, and nobody else has. */
static inline bool owl_call__win(struct owl_call *c, unsigned run)
{
    return run % OWL_CALL__RUN == OWL_CALL_RUNNING &&
           atomic_compare_exchange_strong(&c->state, &run,
                                          run - OWL_CALL_RUNNING + OWL_CALL_FINISHED);
}
extern const struct owl_step owl_steps[];
enum {
#define OWL_STEP_ROW(sym, text) OWL_STEP_##sym,
#include "tbl/steps.h"
    OWL_STEP__MAX
};

#endif

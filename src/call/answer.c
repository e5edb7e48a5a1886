/* call/answer.c - responses of legacy clients on their way. */
#include "call/answer.h"

#include "base/budget.h"

enum { FEW = 4 }; /* responses of a session on their way beyond its open requests */

/* Lives in its arena. */
struct parcel {
    struct owl_msg msg;
    struct owl_arena *arena;
    struct owl_call_env *env;
    owl_answer_fn take;
    struct owl_answer answer; /* counts its session */
    char text[];              /* id, then payload */
};

static void parcel_free(struct parcel *p)
{
    owl_session_leave(p->answer.session, OWL_SESSION_ANSWERS);
    owl_session_aunref(p->answer.session);
    owl_arena_free(p->arena);
}

static void on_arrival(struct owl_reactor *r, struct owl_msg *m)
{
    struct parcel *p = OWL_CONTAINER(m, struct parcel, msg);
    OWL_IGNORE(p->take(p->env, r, &p->answer)); /* nobody waits any more: fine */
    parcel_free(p);
}

/* Without room for the payload it goes without; NULL without memory. Takes the session's place. */
static struct parcel *parcel_new(struct owl_call_env *env, struct owl_reactor *r,
                                 const struct owl_answer *a)
{
    struct owl_budget_share share = {0};
    struct owl_arena *arena = owl_arena_new(0);
    size_t n = a->payload.n;
    int rc = arena ? owl_budget_take(owl_call_local(env, r)->values, arena, &share, a->id.n + n)
                   : -OWL_ENOMEM;
    if (rc == -OWL_EBUSY)
        n = 0;
    struct parcel *p = rc == -OWL_ENOMEM ? NULL : owl_arena_alloc(arena, sizeof *p + a->id.n + n);
    if (!p) {
        owl_arena_free(arena);
        return NULL;
    }
    *p = (struct parcel){.msg.run = on_arrival, .arena = arena, .env = env, .answer = *a};
    memcpy(p->text, a->id.p, a->id.n);
    memcpy(p->text + a->id.n, a->payload.p, n);
    p->answer.id.p = p->text;
    p->answer.payload = (owl_str){p->text + a->id.n, n};
    p->answer.busy = rc == -OWL_EBUSY;
    owl_session_aref(a->session);
    return p;
}

bool owl_answer_bring(struct owl_call_env *env, struct owl_reactor *r, struct owl_reactor *to,
                      struct owl_session *session, const struct owl_rpc_msg *msg,
                      owl_answer_fn take)
{
    struct owl_answer a = {.session = session,
                           .id = msg->id,
                           .payload = msg->payload,
                           .refused = msg->kind == OWL_RPC_ERROR};
    if (to == r)
        return take(env, r, &a);
    size_t open = owl_session_has(session, OWL_SESSION_QUESTIONS);
    if (open == 0 || !owl_session_enter(session, OWL_SESSION_ANSWERS, open + FEW))
        return false;
    struct parcel *p = parcel_new(env, r, &a);
    if (!p) {
        owl_session_leave(session, OWL_SESSION_ANSWERS);
        return false;
    }
    p->take = take;
    if (owl_post(to, &p->msg))
        return true;
    parcel_free(p);
    return false;
}

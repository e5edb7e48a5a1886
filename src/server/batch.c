/* server/batch.c - a batch: each message a call of its own, the answers one array.
 *
 * Threads: the reactor of the front that brought it. Invariant: the batch goes with its last answer. */
#include "base/alloc.h"
#include "base/err.h"
#include "codec/scan.h"
#include "server/dispatch.h"

/* The arena of a batch, which holds its text, this and the outer front of an HTTP request. The
 * calls of its members may outlive the answer, and their last reference may go on any thread. */
struct common {
    struct owl_arena *arena;
    atomic_size_t refs;
};

static void common_unref(void *data)
{
    struct common *c = data;
    if (atomic_fetch_sub(&c->refs, 1) == 1)
        owl_arena_free(c->arena);
}

/* Collects the responses of a batch; the front gets them as one array. */
struct batch {
    struct owl_front front; /* the sink of the members' calls */
    struct owl_front *outer;
    struct common *common;
    size_t left;
    bool asked; /* some of its messages are requests */
    struct owl_buf out;
    struct owl_budget_share held; /* by `out`, of what calls of the reactor may hold */
};

/* @p rc says whether the message could be written: the answers are complete, or none. */
static void batch_add(struct batch *b, owl_str message, int rc)
{
    if (rc != 0)
        b->out.rc = rc;
    if (!message.n)
        return;
    owl_buf_putc(&b->out, b->out.n ? ',' : '[');
    owl_buf_puts(&b->out, message);
}

static void batch_done(struct batch *b)
{
    if (--b->left)
        return;
    int status = b->asked ? 200 : 202; /* nothing but notifications: nothing to say */
    if (b->out.n || b->out.rc)
        owl_buf_putc(&b->out, ']');
    if (b->out.rc != 0) {
        owl_buf_reset(&b->out);
        owl_rpc_error(&b->out, (owl_str){NULL, 0}, owl_err_info(OWL_ENOMEM)->rpc_code,
                      OWL_STR("no memory for the answers to the batch; try again later"),
                      OWL_STR("{\"retryable\":true}"));
    }
    if (b->out.rc != 0) { /* rather nothing than half of something */
        owl_buf_reset(&b->out);
        status = owl_err_info(OWL_ENOMEM)->http_status;
    }
    b->outer->sink.ops->respond(&b->outer->sink, NULL, owl_buf_str(&b->out), status);
    owl_buf_done(&b->out);
    common_unref(b->common);
    owl_free(b);
}

static int batch_send(struct owl_sink *sink, struct owl_call *c, owl_str message)
{
    struct batch *b = OWL_CONTAINER(sink, struct batch, front.sink);
    return b->outer->sink.ops->send(&b->outer->sink, c, message);
}

/* Whether an answer may wait for the others: -OWL_ELIMIT, it is too large besides them; -OWL_EBUSY,
 * those of all batches are. */
static int batch_has_room(struct batch *b, const struct owl_call *c, size_t n)
{
    if (b->out.n && b->out.n + n > c->env->limits->result_bytes)
        return -OWL_ELIMIT;
    return owl_budget_take(owl_call_local(c->env, c->reactor)->values, b->common->arena, &b->held,
                           n);
}

/* What has no room is an error of its own request. */
static void batch_add_error(struct batch *b, struct owl_call *c, int rc)
{
    struct owl_mcp_failure f = {
        .error = -rc,
        .rpc_code = owl_err_info(OWL_EINTERNAL)->rpc_code,
        .message = rc == -OWL_ELIMIT
                       ? OWL_STR("this has run, but the answers to the batch are too large "
                                 "together; send such requests one at a time")
                       : owl_str_of(owl_err_info(rc)->text),
        .trace_id = owl_str_of(owl_call_trace_id(c))};
    OWL_LOG(c->env->log, OWL_LEVEL_INFO, "dispatch", "%.*s failed: %s trace_id=%s",
            (int)c->req.msg.method.n, c->req.msg.method.p, f.message.p, f.trace_id.p);
    owl_buf_putc(&b->out, b->out.n ? ',' : '[');
    owl_mcp_write_failure(&b->out, c->req.codec, c->req.msg.id, &f, c->env->server_info);
}

static void batch_respond(struct owl_sink *sink, struct owl_call *c, owl_str message, int status)
{
    struct batch *b = OWL_CONTAINER(sink, struct batch, front.sink);
    int rc = message.n ? batch_has_room(b, c, message.n) : 0;
    if (rc != 0)
        batch_add_error(b, c, rc);
    else
        batch_add(b, message, status >= 400 && !message.n ? -OWL_ENOMEM : 0);
    batch_done(b);
}

static const struct owl_sink_ops batch_ops = {.send = batch_send, .respond = batch_respond};

/* The arena of one member, which keeps that of the batch. NULL without memory. */
static struct owl_arena *member_arena(struct common *c)
{
    struct owl_arena *a = owl_arena_new(0);
    if (!a || owl_arena_cleanup(a, common_unref, c) != 0) {
        owl_arena_free(a);
        return NULL;
    }
    atomic_fetch_add(&c->refs, 1);
    return a;
}

/* One member, in an arena of its own because its call lives on its own. */
static void dispatch_member(struct batch *b, const struct owl_inbound *in, owl_str text)
{
    struct owl_inbound one = *in;
    struct owl_buf out;
    int status;
    owl_buf_init(&out, 64 * 1024);
    one.front = &b->front;
    one.in_batch = true;
    one.arena = member_arena(b->common);
    enum owl_dispatched d;
    if (!one.arena) {
        owl_error err;
        owl_fail(&err, OWL_ENOMEM, NULL);
        d = owl_dispatch__refuse(&one, (owl_str){NULL, 0}, &err, &out, &status);
    } else {
        d = owl_dispatch__one(&one, text, NULL, NULL, &out, &status);
    }
    b->asked = b->asked || d != OWL_DISPATCH_ACCEPTED;
    if (d == OWL_DISPATCH_REFUSED)
        batch_add(b, owl_buf_str(&out), out.rc);
    if (d != OWL_DISPATCH_CALL)
        batch_done(b);
    owl_buf_done(&out);
    owl_arena_free(one.arena);
}

void owl_dispatch_leave(struct owl_front *front)
{
    struct owl_list *calls = &owl_call_local(&front->server->env, front->reactor)->calls, todo;
    owl_list_move(&todo, calls); /* the end of one may be the end of others */
    for (struct owl_list *it; (it = owl_list_turn(&todo, calls));) {
        struct owl_call *c = OWL_CONTAINER(it, struct owl_call, node);
        if (c->sink && c->sink->ops == &batch_ops && (c->n_asked || c->visit) &&
            OWL_CONTAINER(c->sink, struct batch, front.sink)->outer == front)
            OWL_IGNORE(owl_call_end(c, OWL_ECANCELLED, false)); /* just completed: fine */
    }
}

enum owl_dispatched owl_dispatch__batch(struct owl_inbound *in, owl_str array, struct owl_buf *out,
                                        int *status)
{
    struct batch *b = owl_calloc(1, sizeof *b);
    struct common *common = b ? owl_arena_alloc(in->arena, sizeof *common) : NULL;
    if (!common) {
        owl_free(b);
        owl_error err;
        owl_fail(&err, OWL_ENOMEM, NULL);
        return owl_dispatch__refuse(in, (owl_str){NULL, 0}, &err, out, status);
    }
    common->arena = in->arena;
    atomic_init(&common->refs, 1);
    b->common = common;
    in->arena = NULL;
    b->front = (struct owl_front){.sink = {&batch_ops},
                                  .server = in->front->server,
                                  .reactor = in->front->reactor,
                                  .principal = in->front->principal,
                                  .client = in->front->client,
                                  .http = in->front->http,
                                  .can_send = in->front->can_send};
    b->outer = in->front;
    owl_buf_init(&b->out, SIZE_MAX);     /* batch_respond() bounds it */
    b->left = owl_span_count(array) + 1; /* ours, so that it stays until all have begun */
    struct owl_span_iter it = owl_span_iter(array);
    for (struct owl_span s; owl_span_next(&it, &s);)
        dispatch_member(b, in, s.value);
    batch_done(b);
    return OWL_DISPATCH_CALL;
}

/* server/methods/subscriptions_listen.c - the method subscriptions/listen: a call that lasts, and hears of
 * changes.
 *
 * The call ends when its client goes or cancels, or with a result when the server stops. */
#include "base/err.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "server/server.h"

enum {
    MAX_LISTENS = 16,      /* of one stream or pipe: no connection of its own bounds them */
    MAX_STRINGS = 1000,    /* of one kind in a filter */
    MAX_BYTES = 256 * 1024 /* that a message may keep for as long as it is listened to */
};

static const struct {
    unsigned bit, capability;
    const char *key;
} keys[] = {
    {OWL_CHANGED_TOOLS, OWL_CAP_TOOLS, "toolsListChanged"},
    {OWL_CHANGED_PROMPTS, OWL_CAP_PROMPTS, "promptsListChanged"},
    {OWL_CHANGED_RESOURCES, OWL_CAP_RESOURCES, "resourcesListChanged"},
};

static void sub_send(struct owl_sub *sub, owl_str message)
{
    struct owl_call *c = sub->call;
    if (c->sink)
        OWL_IGNORE(c->sink->ops->send(c->sink, c, message)); /* it is being dropped: fine */
}

static void put_id(struct owl_buf *b, struct owl_call *c)
{
    owl_buf_putz(b, "\"io.modelcontextprotocol/subscriptionId\":");
    owl_buf_puts(b, c->req.msg.id);
}

static struct owl_front *front_of(const struct owl_call *c)
{
    return OWL_CONTAINER(c->sink, struct owl_front, sink);
}

/* Before the call is answered: its front may go with it. */
static void forget(struct owl_sub *sub)
{
    owl_subs_remove(sub);
    front_of(sub->call)->listens--;
    atomic_fetch_sub(&sub->server->listens, 1);
}

/* Counts one more of the front, and of all. False: the failure is recorded. */
static bool enter(struct owl_call *c)
{
    struct owl_server *s = owl_server_of(c);
    size_t most = MAX_LISTENS;
    if (front_of(c)->listens < most) {
        most = s->limits.listens;
        if (atomic_fetch_add(&s->listens, 1) < most) {
            front_of(c)->listens++;
            return true;
        }
        atomic_fetch_sub(&s->listens, 1);
    }
    owl_call_set_failure(c, OWL_EBUSY,
                         "%zu listens are open, the most there may be; try again later", most);
    return false;
}

/* Where streams of answers do not end one by one, the result is followed by what the specification
 * wants to see there. */
static void sub_end(struct owl_sub *sub)
{
    struct owl_call *c = sub->call;
    struct owl_front *front = front_of(c);
    bool http = front->http; /* it goes with the call */
    struct owl_buf b;
    forget(sub);
    owl_buf_init(&b, 4096);
    owl_rpc_begin_notification(&b, OWL_STR("notifications/cancelled"));
    owl_buf_putz(&b, "{\"requestId\":");
    owl_buf_puts(&b, c->req.msg.id);
    owl_buf_putz(&b, ",\"reason\":\"the server is stopping\"}");
    owl_rpc_end(&b);
    put_id(&c->result.meta, c);
    if (front->hold)
        front->hold(front);
    bool ended = owl_call_complete(c); /* otherwise it was being cancelled */
    if (ended && !http && b.rc == 0)   /* nobody listens: fine */
        OWL_IGNORE(front->sink.ops->send(&front->sink, NULL, owl_buf_str(&b)));
    if (!http && front->let_go)
        front->let_go(front);
    owl_buf_done(&b);
}

static void on_cancel(struct owl_call *c, void *data)
{
    (void)c;
    forget(data);
}

/* An array of strings of the filter, if it is there. False: the failure is recorded. */
static bool read_strings(struct owl_call *c, const char *key, const owl_str **ret, size_t *ret_n)
{
    owl_str filter = owl_rpc_param(&c->req.msg, OWL_STR("notifications"));
    owl_str array = owl_span_get(filter, key);
    size_t n = 0;
    if (!array.p)
        return true;
    struct owl_span_iter it = owl_span_iter(array);
    for (struct owl_span s; owl_span_is_array(array) && owl_span_next(&it, &s);)
        n++;
    owl_str *strings = n <= MAX_STRINGS ? owl_arena_zalloc(c->arena, (n + 1) * sizeof *strings)
                                        : NULL;
    if (!strings) {
        owl_call_set_failure(c, OWL_ELIMIT, "%s may have %d entries at most", key,
                             (int)MAX_STRINGS);
        return false;
    }
    int rc = owl_span_is_array(array) ? 0 : -OWL_EPARAMS;
    it = owl_span_iter(array);
    n = 0;
    for (struct owl_span s; rc == 0 && owl_span_next(&it, &s); n++)
        rc = owl_span_is_string(s.value) ? owl_json_decode(c->arena, s.value, &strings[n])
                                         : -OWL_EPARAMS;
    if (rc != 0) {
        owl_call_set_failure(c, -rc, "%s must be an array of strings", key);
        return false;
    }
    *ret = strings;
    *ret_n = n;
    return true;
}

static bool read_filter(struct owl_call *c, struct owl_sub *sub)
{
    owl_str filter = owl_rpc_param(&c->req.msg, OWL_STR("notifications"));
    unsigned caps = owl_snapshot_caps(owl_call_registry(c));
    for (size_t i = 0; i < OWL_COUNT(keys); i++) {
        owl_str wanted = owl_span_get(filter, keys[i].key);
        bool on = owl_str_is(wanted, "true");
        if (!on && wanted.p && !owl_str_is(wanted, "false")) {
            owl_call_set_failure(c, OWL_EPARAMS, "%s must be true or false", keys[i].key);
            return false;
        }
        if (on && (caps & keys[i].capability))
            sub->changes |= keys[i].bit;
    }
    if ((caps & OWL_CAP_RESOURCES) &&
        !read_strings(c, "resourceSubscriptions", &sub->uris, &sub->n_uris))
        return false;
    if (caps & OWL_CAP_TASKS) {
        if (owl_span_get(filter, "taskIds").p &&
            owl_call_require(c, "extensions." OWL_TASKS_EXTENSION) != 0)
            return false;
        if (!read_strings(c, "taskIds", &sub->tasks, &sub->n_tasks))
            return false;
        sub->watches = owl_arena_zalloc(c->arena, (sub->n_tasks + 1) * sizeof *sub->watches);
        if (!sub->watches) {
            owl_call_set_failure(c, OWL_ENOMEM, "%s", owl_err_info(OWL_ENOMEM)->text);
            return false;
        }
    }
    return true;
}

/* Names of a byte or two are many times as long once they are read: that counts as what other calls
 * parse. */
static bool keep_filter(struct owl_call *c, struct owl_sub *sub)
{
    size_t before = owl_arena_used(c->arena);
    if (!read_filter(c, sub))
        return false;
    int rc = owl_budget_take(owl_call_local(c->env, c->reactor)->values, c->arena, &c->values,
                             owl_arena_used(c->arena) - before);
    if (rc != 0)
        owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
    return rc == 0;
}

/* Nothing if the filter does not name it. Returns what comes before the next member. */
static const char *put_strings(struct owl_buf *b, const char *comma, const char *key,
                               const owl_str *strings, size_t n)
{
    if (!strings)
        return comma;
    owl_buf_printf(b, "%s\"%s\":[", comma, key);
    for (size_t i = 0; i < n; i++) {
        owl_buf_putz(b, i ? "," : "");
        owl_json_quote(b, strings[i]);
    }
    owl_buf_putc(b, ']');
    return ",";
}

/* The subset of the filter that is honoured: what this server can tell. */
static int acknowledge(struct owl_call *c, const struct owl_sub *sub)
{
    struct owl_buf b;
    owl_buf_init(&b, 4 << 20);
    owl_rpc_begin_notification(&b, OWL_STR("notifications/subscriptions/acknowledged"));
    owl_buf_putz(&b, "{\"_meta\":{");
    put_id(&b, c);
    owl_buf_putz(&b, "},\"notifications\":{");
    const char *comma = "";
    for (size_t i = 0; i < OWL_COUNT(keys); i++) {
        if (!(sub->changes & keys[i].bit))
            continue;
        owl_buf_printf(&b, "%s\"%s\":true", comma, keys[i].key);
        comma = ",";
    }
    comma = put_strings(&b, comma, "resourceSubscriptions", sub->uris, sub->n_uris);
    put_strings(&b, comma, "taskIds", sub->tasks, sub->n_tasks);
    owl_buf_putz(&b, "}}");
    owl_rpc_end(&b);
    int rc = b.rc ? b.rc : c->sink->ops->send(c->sink, c, owl_buf_str(&b));
    owl_buf_done(&b);
    return rc;
}

static enum owl_verdict run(struct owl_call *c)
{
    owl_str filter = owl_rpc_param(&c->req.msg, OWL_STR("notifications"));
    struct owl_sub *sub = owl_arena_zalloc(c->arena, sizeof *sub);
    if (owl_arena_used(c->arena) > MAX_BYTES)
        return owl_call_set_failure(c, OWL_EPARAMS,
                                    "subscriptions/listen keeps its message, which may take %d "
                                    "bytes; this one takes %zu",
                                    (int)MAX_BYTES, owl_arena_used(c->arena));
    if (!owl_span_is_object(filter))
        return owl_call_set_failure(c, OWL_EPARAMS,
                                    "subscriptions/listen needs params.notifications");
    if (!front_of(c)->can_send)
        return owl_call_set_failure(c, OWL_EREQUEST,
                                    "subscriptions/listen answers with a stream: Accept must allow "
                                    "text/event-stream");
    if (!sub)
        return owl_call_set_failure(c, OWL_ENOMEM, "%s", owl_err_info(OWL_ENOMEM)->text);
    if (!keep_filter(c, sub))
        return OWL_FINISH;
    owl_list_init(&sub->node);
    int rc = owl_call_claim_id(c);
    if (rc != 0)
        return owl_call_refuse_id(c, rc);
    OWL_IGNORE(owl_call_on_cancel(c, on_cancel, sub)); /* the first: it fails for a second only */
    if (!enter(c))
        return OWL_FINISH;
    sub->call = c;
    sub->send = sub_send;
    sub->end = sub_end;
    owl_call_wait(c, 0);
    owl_subs_add(owl_server_of(c), c->reactor, sub);
    rc = acknowledge(c, sub);
    if (rc == 0)
        return OWL_SUSPEND;
    forget(sub);
    return owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
}

const struct owl_method owl_method_subscriptions_listen = {
    .name = "subscriptions/listen",
    .eras = OWL_IN_MODERN,
    .run = run,
};

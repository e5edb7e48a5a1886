/* server/subscriptions_listen.c - the method subscriptions/listen: a call that lasts, and hears of
 * changes.
 *
 * The call ends when its client goes or cancels, or with a result when the server stops. */
#include "base/err.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "server/server.h"

enum { MAX_URIS = 1000 };

static const struct {
    unsigned bit, capability;
    const char *key;
} keys[] = {
    {OWL_CHANGED_TOOLS, OWL_CAP_TOOLS, "toolsListChanged"},
    {OWL_CHANGED_PROMPTS, OWL_CAP_PROMPTS, "promptsListChanged"},
    {OWL_CHANGED_RESOURCES, OWL_CAP_RESOURCES, "resourcesListChanged"},
};

struct listen {
    struct owl_sub sub;
    bool resources; /* the filter named resources: the list goes into the acknowledgement */
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
    owl_buf_puts(b, c->msg.id);
}

static void sub_end(struct owl_sub *sub)
{
    struct owl_call *c = sub->call;
    owl_subs_remove(sub);
    put_id(&c->result.meta, c);
    OWL_IGNORE(owl_call_complete(c)); /* it was being cancelled: fine */
}

static void on_cancel(struct owl_call *c, void *data)
{
    (void)c;
    struct listen *l = data;
    owl_subs_remove(&l->sub);
}

static enum owl_verdict read_uris(struct owl_call *c, struct listen *l, owl_str array)
{
    size_t n = 0;
    if (!array.p)
        return OWL_NEXT;
    if (!owl_span_is_array(array))
        return owl_call_set_failure(c, OWL_EPARAMS, "resourceSubscriptions must be an array");
    struct owl_span_iter it = owl_span_iter(array);
    for (struct owl_span s; owl_span_next(&it, &s);)
        n++;
    owl_str *uris = n <= MAX_URIS ? owl_arena_zalloc(c->arena, (n + 1) * sizeof *uris) : NULL;
    if (!uris)
        return owl_call_set_failure(c, OWL_ELIMIT, "a listen may name %d resources at most",
                                    (int)MAX_URIS);
    it = owl_span_iter(array);
    for (struct owl_span s; owl_span_next(&it, &s);) {
        int rc = owl_span_is_string(s.value)
                     ? owl_json_decode(c->arena, s.value, &uris[l->sub.n_uris])
                     : -OWL_EPARAMS;
        if (rc != 0)
            return owl_call_set_failure(c, -rc, "resourceSubscriptions must be strings");
        l->sub.n_uris++;
    }
    l->sub.uris = uris;
    l->resources = true;
    return OWL_NEXT;
}

/* The subset of the filter that is honoured: what this server can tell. */
static int acknowledge(struct owl_call *c, struct listen *l)
{
    struct owl_buf b;
    owl_buf_init(&b, 4 << 20);
    owl_rpc_begin_notification(&b, OWL_STR("notifications/subscriptions/acknowledged"));
    owl_buf_putz(&b, "{\"_meta\":{");
    put_id(&b, c);
    owl_buf_putz(&b, "},\"notifications\":{");
    const char *comma = "";
    for (size_t i = 0; i < OWL_COUNT(keys); i++) {
        if (!(l->sub.changes & keys[i].bit))
            continue;
        owl_buf_printf(&b, "%s\"%s\":true", comma, keys[i].key);
        comma = ",";
    }
    if (l->resources) {
        owl_buf_printf(&b, "%s\"resourceSubscriptions\":[", comma);
        for (size_t i = 0; i < l->sub.n_uris; i++) {
            owl_buf_putz(&b, i ? "," : "");
            owl_json_quote(&b, l->sub.uris[i]);
        }
        owl_buf_putc(&b, ']');
    }
    owl_buf_putz(&b, "}}");
    owl_rpc_end(&b);
    int rc = b.rc ? b.rc : c->sink->ops->send(c->sink, c, owl_buf_str(&b));
    owl_buf_done(&b);
    return rc;
}

static enum owl_verdict run(struct owl_call *c)
{
    owl_str filter = owl_rpc_param(&c->msg, OWL_STR("notifications"));
    struct listen *l = owl_arena_zalloc(c->arena, sizeof *l);
    if (!owl_span_is_object(filter))
        return owl_call_set_failure(c, OWL_EPARAMS,
                                    "subscriptions/listen needs params.notifications");
    if (!OWL_CONTAINER(c->sink, struct owl_front, sink)->can_send)
        return owl_call_set_failure(c, OWL_EREQUEST,
                                    "subscriptions/listen answers with a stream: Accept must allow "
                                    "text/event-stream");
    if (!l)
        return owl_call_set_failure(c, OWL_ENOMEM, "%s", owl_err_info(OWL_ENOMEM)->text);
    unsigned caps = owl_snapshot_caps(owl_call_registry(c));
    for (size_t i = 0; i < OWL_COUNT(keys); i++)
        if ((caps & keys[i].capability) && owl_str_is(owl_span_get(filter, keys[i].key), "true"))
            l->sub.changes |= keys[i].bit;
    enum owl_verdict v = OWL_NEXT;
    if (caps & OWL_CAP_RESOURCES)
        v = read_uris(c, l, owl_span_get(filter, "resourceSubscriptions"));
    if (v != OWL_NEXT)
        return v;
    int rc = owl_call_claim_id(c);
    if (rc == 0)
        rc = owl_call_on_cancel(c, on_cancel, l);
    if (rc != 0)
        return owl_call_set_failure(c, rc == -OWL_EEXISTS ? OWL_EREQUEST : -rc, "the id is in use");
    l->sub.call = c;
    l->sub.send = sub_send;
    l->sub.end = sub_end;
    owl_call_wait(c, 0);
    owl_subs_add(owl_server_of(c), c->reactor, &l->sub);
    rc = acknowledge(c, l);
    if (rc == 0)
        return OWL_SUSPEND;
    owl_subs_remove(&l->sub);
    return owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
}

const struct owl_method owl_method_subscriptions_listen = {
    .name = "subscriptions/listen",
    .eras = OWL_IN_MODERN,
    .run = run,
};

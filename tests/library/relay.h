/* library/relay.h - a provider that relays calls to a peer in the same process, for tests.
 *
 * The peer is a thread that takes and says JSON-RPC messages, as another MCP server would. The relay
 * remaps ids, passes arguments, results and params on as the bytes that came, and parses nothing but
 * envelopes. What the peer says is brought to the call's reactor by a post. */
#ifndef OWL_TEST_RELAY_H
#define OWL_TEST_RELAY_H

#include "base/alloc.h"
#include "call/provider.h"
#include "codec/scan.h"
#include "library/fixture.h"
#include "server/server.h"

enum { RELAY_CALLS = 1024 };

struct line {
    struct line *next;
    char *text;
};

struct relay {
    struct owl_provider base;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct line *first, **last;          /* to the peer */
    struct owl_call *calls[RELAY_CALLS]; /* by the id that the peer knows, counted */
    unsigned next;
    bool stop;
    void (*peer)(struct relay *r, const msg *m); /* what the peer does with a message */
    atomic_int cancelled, released, invoked;
};

/* ---- to the peer ---- */

static inline void relay_send(struct relay *r, char *text)
{
    struct line *l = malloc(sizeof *l);
    *l = (struct line){NULL, text};
    pthread_mutex_lock(&r->lock);
    *r->last = l;
    r->last = &l->next;
    pthread_cond_signal(&r->more);
    pthread_mutex_unlock(&r->lock);
}

static inline struct owl_call *relay_take(struct relay *r, unsigned id, bool forget)
{
    pthread_mutex_lock(&r->lock);
    struct owl_call *c = r->calls[id % RELAY_CALLS];
    if (c && forget)
        r->calls[id % RELAY_CALLS] = NULL;
    else if (c)
        owl_call_ref(c);
    pthread_mutex_unlock(&r->lock);
    return c;
}

static inline enum owl_verdict relay_invoke(struct owl_call *c)
{
    struct relay *r = OWL_CONTAINER(c->provider, struct relay, base);
    owl_str args = c->req.arguments.p ? c->req.arguments : OWL_STR("{}"), state = owl_call_state(c);
    owl_str answers = owl_rpc_param(&c->req.msg, OWL_STR("inputResponses"));
    atomic_fetch_add(&r->invoked, 1);
    pthread_mutex_lock(&r->lock);
    unsigned id = r->next++;
    r->calls[id % RELAY_CALLS] = owl_call_ref(c);
    pthread_mutex_unlock(&r->lock);
    c->provider_data = (void *)(uintptr_t)id;
    owl_call_await(c);
    relay_send(r, text_of("{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%.*s\",\"params\":{"
                          "\"name\":\"%.*s\",\"arguments\":%.*s%s%.*s%s%s%.*s}}",
                          id, (int)c->req.msg.method.n, c->req.msg.method.p, (int)c->req.name.n,
                          c->req.name.p, (int)args.n, args.p, state.p ? ",\"requestState\":\"" : "",
                          (int)state.n, state.p ? state.p : "", state.p ? "\"" : "",
                          answers.p ? ",\"inputResponses\":" : "", (int)answers.n,
                          answers.p ? answers.p : ""));
    return OWL_NEXT;
}

static inline void relay_cancel(struct owl_call *c, int error)
{
    (void)error;
    struct relay *r = OWL_CONTAINER(c->provider, struct relay, base);
    unsigned id = (unsigned)(uintptr_t)c->provider_data;
    atomic_fetch_add(&r->cancelled, 1);
    owl_call_unref(relay_take(r, id, true));
    relay_send(r, text_of("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                          "\"requestId\":%u}}",
                          id));
}

static inline void relay_answer(struct owl_call *c, const struct owl_client_answer *a)
{
    struct relay *r = OWL_CONTAINER(c->provider, struct relay, base);
    owl_str payload = a->result.p ? a->result : a->error;
    relay_send(r, text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"%s\":%.*s}", (int)a->key.n,
                          a->key.p, a->result.p ? "result" : "error", (int)payload.n, payload.p));
}

static const struct owl_provider_ops relay_ops = {relay_invoke, relay_cancel, relay_answer};

/* ---- from the peer ---- */

/* A message of the peer on its way to the reactor of its call. */
struct said {
    struct owl_msg msg;
    struct relay *relay;
    struct owl_call *call; /* counted */
    char *text;
};

static inline void said_release(void *owner)
{
    struct said *s = owner;
    atomic_fetch_add(&s->relay->released, 1);
    free(s->text);
    free(s);
}

static inline void on_said(struct owl_reactor *reactor, struct owl_msg *m)
{
    (void)reactor;
    struct said *s = OWL_CONTAINER(m, struct said, msg);
    struct owl_call *c = s->call;
    owl_str text = owl_str_of(s->text);
    owl_str result = owl_span_get(text, "result"), error = owl_span_get(text, "error");
    owl_str id = owl_span_get(text, "id"), method = owl_span_get(text, "method");
    owl_str params = owl_span_get(text, "params"), state = owl_span_get(result, "requestState");
    if (state.p) {
        assert_int_equal(owl_call_give_input(c, owl_span_get(result, "inputRequests"),
                                             (owl_str){state.p + 1, state.n - 2}),
                         0);
    } else if (result.p) {
        struct owl_given g = {.result = result, .owner = s, .release = said_release};
        OWL_IGNORE(owl_call_give(c, &g)); /* cancelled meanwhile: fine */
        owl_call_unref(c);
        return;
    } else if (error.p) {
        OWL_IGNORE(owl_call_give_error(c, error)); /* likewise */
    } else if (owl_span_str_eq(method, OWL_STR("notifications/cancelled"))) {
        owl_str key = owl_span_get(params, "requestId");
        OWL_IGNORE(owl_call_withdraw(c, (owl_str){key.p + 1, key.n - 2})); /* answered: fine */
    } else {
        int rc = owl_call_request(c, (owl_str){id.p + 1, id.n - 2},
                                  (owl_str){method.p + 1, method.n - 2}, params);
        if (rc != 0)
            relay_send(s->relay, text_of("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":%d,"
                                         "\"message\":\"not asked\"}}",
                                         (int)id.n, id.p, rc));
    }
    owl_call_unref(c);
    free(s->text);
    free(s);
}

/* The peer says something about the call that it knows by @p id; takes the text. */
static inline void peer_say(struct relay *r, unsigned id, char *text)
{
    bool last = strstr(text, "\"result\":") || strstr(text, "\"error\":");
    struct owl_call *c = relay_take(r, id, last);
    struct said *s = c ? malloc(sizeof *s) : NULL;
    if (s)
        *s = (struct said){.msg.run = on_said, .relay = r, .call = c, .text = text};
    if (s && owl_post(c->reactor, &s->msg))
        return;
    owl_call_unref(c);
    free(s);
    free(text);
}

static inline void *peer_main(void *arg)
{
    struct relay *r = arg;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        while (!r->first && !r->stop)
            pthread_cond_wait(&r->more, &r->lock);
        struct line *l = r->first;
        if (l && !(r->first = l->next))
            r->last = &r->first;
        pthread_mutex_unlock(&r->lock);
        if (!l)
            return NULL;
        msg *m = msg_parse(l->text, strlen(l->text));
        r->peer(r, m);
        owl_json_doc_free(m);
        free(l->text);
        free(l);
    }
}

/* ---- life ---- */

static inline void relay_no_free(struct owl_provider *p)
{
    (void)p; /* the test's */
}

static inline void relay_start(struct relay *r, void (*peer)(struct relay *, const msg *))
{
    memset(r, 0, sizeof *r);
    atomic_init(&r->base._refs, 1);
    r->base.name = "relay";
    r->base.ops = &relay_ops;
    r->base.free = relay_no_free;
    r->last = &r->first;
    r->next = 1;
    r->peer = peer;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->more, NULL);
    assert_int_equal(pthread_create(&r->thread, NULL, peer_main, r), 0);
}

/* After the server has stopped. */
static inline void relay_end(struct relay *r)
{
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->more);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    for (size_t i = 0; i < RELAY_CALLS; i++)
        owl_call_unref(r->calls[i]);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->more);
}

/* What the peer offers: tools of these names, as it lists them, and a method. Before the start. */
static inline void relay_offer(struct relay *r, owl_server *s, const char *const *tools, size_t n,
                               const char *method)
{
    struct owl_update *u = owl_update_new(s->registry, &r->base);
    struct owl_item_options o = {.provider = &r->base};
    for (size_t i = 0; i < n; i++) {
        char *entry = text_of(
            "{\"name\":\"%s\",\"vendor\":[1.0],\"inputSchema\":" ANY_ARGUMENTS "}", tools[i]);
        assert_int_equal(owl_update_add_raw(u, OWL_KIND_TOOL, owl_str_of(entry), &o, NULL), 0);
        free(entry);
    }
    assert_int_equal(owl_update_add_method(u, owl_str_of(method), NULL), 0);
    assert_int_equal(owl_update_commit(u, 1, NULL), 0);
    owl_update_free(u);
}

#endif

/* call/relay.c - what a provider that passes on gives back: results as bytes, errors of peers,
 * requests to the client (provider.h).
 *
 * Threads: the call's reactor. Invariant: a request to the client lives on the heap, from
 * owl_call_request() until it is answered, withdrawn or the call is over, so that a call that asks
 * for long does not grow. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/ask.h"
#include "call/parts.h"
#include "call/provider.h"
#include "codec/json.h"
#include "codec/scan.h"

enum {
    MAX_REQUESTS = 1000,  /* of one call, to its client */
    COALESCE_MS = 3,      /* after the first of several requests to a modern client */
    ERROR_BYTES = 1 << 20 /* of a peer's error */
};

/* ---- the end ---- */

/* Finishes the call with what was recorded. */
static int finish(struct owl_call *c)
{
    owl_ask_drop(c);
    if (c->invoking) { /* the step goes on by itself */
        bool won = owl_call__move(c, 1u << OWL_CALL_RUNNING, OWL_CALL_FINISHED);
        OWL_ASSERT(won);
        c->returned = true;
        return 0;
    }
    bool won = owl_call_complete(c);
    OWL_ASSERT(won);
    return 0;
}

static bool is_over(const struct owl_call *c)
{
    owl_reactor_assert(c->reactor);
    return owl_call__state(c) != OWL_CALL_RUNNING;
}

void owl_call__release_given(struct owl_call *c)
{
    struct owl_given *g = c->given;
    c->given = NULL;
    if (g && g->release)
        g->release(g->owner);
}

int owl_call_give(struct owl_call *c, const struct owl_given *g)
{
    struct owl_given *kept = is_over(c) ? NULL : owl_arena_alloc(c->arena, sizeof *kept);
    if (kept) {
        *kept = *g;
        c->given = kept;
        return finish(c);
    }
    bool over = is_over(c);
    if (g->release)
        g->release(g->owner);
    return over ? -OWL_EDONE : owl_call_give_failure(c, OWL_ENOMEM, "%s", "out of memory");
}

/* The rest of the object ends the digits. */
static int read_code(owl_str literal)
{
    long code = owl_span_is_integer(literal) ? strtol(literal.p, NULL, 10) : 0;
    return code != 0 && code >= INT32_MIN && code <= INT32_MAX ? (int)code : -32603;
}

int owl_call_give_error(struct owl_call *c, owl_str error)
{
    owl_str code = owl_span_get(error, "code"), message = owl_span_get(error, "message");
    owl_str data = owl_span_get(error, "data"), text = {NULL, 0};
    if (is_over(c))
        return -OWL_EDONE;
    char *copy = data.n <= ERROR_BYTES ? owl_arena_dup(c->arena, data) : NULL;
    if (owl_json_decode(c->arena, message, &text) != 0)
        text = (owl_str){NULL, 0};
    owl_call_set_failure(c, OWL_ETOOL, "%s", owl_err_info(OWL_ETOOL)->text);
    c->failure.rpc_code = read_code(code);
    c->failure.relayed = true;
    c->failure.of_resource = c->result.form == OWL_RESULT_RESOURCE;
    if (text.p)
        c->failure.message = text;
    if (copy && data.p)
        c->failure.data = (owl_str){copy, data.n};
    return finish(c);
}

int owl_call_give_failure(struct owl_call *c, int error, const char *fmt, ...)
{
    char why[sizeof c->why];
    if (is_over(c))
        return -OWL_EDONE;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    owl_call_set_failure(c, error, "%s", why);
    return finish(c);
}

void owl_relay__members(struct owl_call *c, struct owl_buf *members, struct owl_buf *meta)
{
    owl_str object;
    owl_mcp_convert(members, c->req.rev, owl_result_blocks(&c->result), c->given->result, &object);
    if (owl_span_is_object(object))
        owl_mcp_convert_meta(meta, object, c->given->trusted);
}

/* ---- input_required by the provider itself ---- */

static int seal(struct owl_call *c, owl_str state, struct owl_buf *out)
{
    struct owl_buf payload;
    owl_buf_init(&payload, OWL_STATE_MAX_BYTES);
    owl_buf_putz(&payload, "{\"state\":");
    owl_json_quote(&payload, state);
    owl_buf_putc(&payload, '}');
    int rc = payload.rc ? payload.rc : owl_ask__seal(c, owl_buf_str(&payload), out);
    owl_buf_done(&payload);
    return rc;
}

int owl_call_give_input(struct owl_call *c, owl_str requests, owl_str state)
{
    if (is_over(c))
        return -OWL_EDONE;
    if (c->req.codec->era != OWL_ERA_MODERN || !(c->method->flags & OWL_M_ASKS))
        return -OWL_ESTATE;
    owl_result_replace(&c->result);
    struct owl_buf *b = &c->result.list;
    if (requests.p) {
        owl_buf_putz(b, "\"inputRequests\":");
        owl_json_compact(b, requests);
        owl_buf_putc(b, ',');
    }
    int rc = seal(c, state, b);
    if (rc != 0) {
        owl_result_reset(&c->result);
        return rc;
    }
    c->result_type = "input_required";
    return finish(c);
}

owl_str owl_call_state(const struct owl_call *c)
{
    return c->sealed;
}

/* ---- requests to the client ---- */

/* What it says goes out on one line. */
static struct owl_ask *request_new(struct owl_call *c, owl_str key, owl_str method, owl_str params)
{
    struct owl_buf line;
    owl_buf_init(&line, params.n);
    owl_json_compact(&line, params);
    struct owl_ask *a = line.rc ? NULL : owl_calloc(1, sizeof *a + key.n + method.n + line.n + 2);
    if (!a) {
        owl_buf_done(&line);
        return NULL;
    }
    char *text = (char *)(a + 1);
    memcpy(text, method.p, method.n);
    a->method = text;
    text += method.n + 1;
    memcpy(text, key.p, key.n);
    a->key = (owl_str){text, key.n};
    text += key.n + 1;
    memcpy(text, line.p, line.n);
    a->params = (owl_str){text, line.n};
    owl_buf_done(&line);
    a->call = c;
    a->relayed = true;
    a->next = c->asks;
    c->asks = a;
    return a;
}

/* Forgets a request that is not out. */
static void request_free(struct owl_call *c, struct owl_ask *a)
{
    struct owl_ask **at = &c->asks;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    owl_free(a);
}

void owl_relay__drop(struct owl_call *c)
{
    if (c->ops == &owl_native)
        return; /* its questions are the handler's */
    while (c->asks)
        request_free(c, c->asks);
}

/* The client's time does not count: the clock stands while a request is open. */
static void stop_clock(struct owl_call *c)
{
    uint64_t now = owl_now_ms(), at = atomic_load(&c->deadline_ms);
    c->talk->left_ms = at > now ? at - now : 1;
    owl_call_wait(c, c->env->limits->question_ms);
}

static void restart_clock(struct owl_call *c)
{
    if (!c->asks && owl_call__state(c) == OWL_CALL_RUNNING)
        owl_call_wait(c, c->talk->left_ms);
}

int owl_call_request(struct owl_call *c, owl_str key, owl_str method, owl_str params)
{
    bool modern = c->req.codec->era == OWL_ERA_MODERN;
    if (is_over(c))
        return -OWL_EDONE;
    if (modern && !(c->method->flags & OWL_M_ASKS))
        return -OWL_ESTATE;
    if (owl_ask__find(c, key))
        return -OWL_EEXISTS;
    if (!owl_call__talk(c))
        return -OWL_ENOMEM;
    if (c->talk->n_requests >= MAX_REQUESTS)
        return -OWL_ELIMIT;
    bool first = !c->asks;
    struct owl_ask *a = request_new(c, key, method, params);
    if (!a)
        return -OWL_ENOMEM;
    int rc = modern ? 0 : owl_ask__send(c);
    if (rc != 0) {
        if (owl_ask__find(c, key) == a) {
            owl_ask__withdraw_one(c, a); /* it may be out, to a session that has just ended */
            request_free(c, a);
        }
        return rc;
    }
    c->talk->n_requests++;
    if (first)
        stop_clock(c);
    if (modern)
        owl_timer_start(c->reactor, &c->talk->timer, COALESCE_MS);
    return 0;
}

bool owl_call_withdraw(struct owl_call *c, owl_str key)
{
    struct owl_ask *a = is_over(c) ? NULL : owl_ask__find(c, key);
    if (!a || !a->relayed)
        return false;
    owl_ask__withdraw_one(c, a);
    request_free(c, a);
    restart_clock(c);
    return true;
}

void owl_relay__answer(struct owl_call *c, struct owl_ask *a, owl_str payload, bool refused)
{
    owl_str none = {NULL, 0};
    struct owl_client_answer answer = {
        .key = a->key, .result = refused ? none : payload, .error = refused ? payload : none};
    struct owl_ask **at = &c->asks;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next; /* its key is free: the provider may ask again at once */
    owl_call_ref(c);
    restart_clock(c);
    c->ops->answer(c, &answer);
    owl_free(a);
    owl_call_unref(c);
}

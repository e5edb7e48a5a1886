/* call/ask.c - asking the client, alike on every revision.
 *
 * The handler's thread collects questions (owl_ask) and reads answers; the step `ask` sends them. A
 * modern client gets them as input_required together with a sealed state that carries the answers
 * of earlier rounds, and comes back with a new request. A legacy client gets requests of ours on
 * the call's stream; the call waits, and its handler is run again from its start when the last
 * answer is there. Invariant: while a call waits in `ask` no handler runs, so the reactor may use
 * its arena. */
#include "call/ask.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/block.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/sized.h"
#include "call/check.h"
#include "call/parts.h"
#include "call/provider.h"
#include "call/task.h"
#include "codec/json.h"
#include "codec/scan.h"

enum {
    FORM_STEPS = 200000, /* of checking what was entered: a few milliseconds, on a reactor */
    MAX_EARLY = 64,      /* answers to what was not asked yet; further ones are not looked at */
    MAX_ARGS = 64 * OWL_ASK_PARAMS
};

struct kind {
    const char *method;
    const char *capability;
};
static const struct kind kinds[] = {
    [OWL_ASK_FORM] = {"elicitation/create", "elicitation.form"},
    [OWL_ASK_URL] = {"elicitation/create", "elicitation.url"},
    [OWL_ASK_SAMPLING] = {"sampling/createMessage", "sampling"},
    [OWL_ASK_ROOTS] = {"roots/list", "roots"},
};

/* ---- the handler's side ---- */

struct owl_ask *owl_ask__find(struct owl_call *c, owl_str key)
{
    for (struct owl_ask *a = c->asks; a; a = a->next)
        if (owl_str_eq(a->key, key))
            return a;
    return NULL;
}

static struct owl_ask *add(struct owl_call *c, owl_str key)
{
    struct owl_ask *a = owl_arena_zalloc(c->arena, sizeof *a);
    char *copy = owl_arena_dup(c->arena, key);
    if (!a || !copy)
        return NULL;
    a->call = c;
    a->key = (owl_str){copy, key.n};
    struct owl_ask **end = &c->asks;
    while (*end)
        end = &(*end)->next;
    return *end = a;
}

/* Whether a result has the members that an answer of this kind must have. */
static bool has_form(const struct owl_ask *a, owl_str answer)
{
    if (!owl_span_is_object(answer))
        return false;
    switch (a->kind) {
    case OWL_ASK_FORM:
    case OWL_ASK_URL: {
        owl_str action = owl_span_get(answer, "action");
        if (owl_span_str_eq(action, OWL_STR("accept")))
            return !a->form || owl_span_is_object(owl_span_get(answer, "content"));
        return owl_span_str_eq(action, OWL_STR("decline")) ||
               owl_span_str_eq(action, OWL_STR("cancel"));
    }
    case OWL_ASK_SAMPLING:
        return owl_span_get(answer, "content").p && owl_span_get(answer, "role").p;
    case OWL_ASK_ROOTS: return owl_span_is_array(owl_span_get(answer, "roots"));
    }
    return false;
}

/* What the user has entered into the form; absent: nothing. */
static owl_str entered(const struct owl_ask *a, owl_str answer)
{
    bool accepted = a->form && owl_span_str_eq(owl_span_get(answer, "action"), OWL_STR("accept"));
    return accepted ? owl_span_get(answer, "content") : (owl_str){NULL, 0};
}

int owl_ask__fits(const struct owl_ask *a, owl_str answer, bool *ret_fits)
{
    bool fits = has_form(a, answer);
    owl_str content = fits ? entered(a, answer) : (owl_str){NULL, 0};
    struct owl_schema_work work = {.budget = FORM_STEPS};
    int rc = content.p ? owl_schema_validate_within(a->form, content, &work, &fits, NULL) : 0;
    if (rc == -OWL_ENOMEM)
        return rc;
    *ret_fits = rc == 0 && fits; /* what is too much to be judged does not fit */
    return 0;
}

int owl_ask__reject(struct owl_call *c, const struct owl_ask *a, owl_str answer)
{
    struct owl_check_words words = {{"", 0}, {NULL, 0}};
    owl_str content = has_form(a, answer) ? entered(a, answer) : (owl_str){NULL, 0};
    if (!content.p)
        return owl_call_fail(c, "the client's answer to \"%s\" has not the form of a result of %s",
                             a->key.p, a->method);
    if (owl_check_explain(a->form, content, FORM_STEPS, c->arena, &words) == -OWL_ENOMEM)
        return -OWL_ENOMEM; /* what takes too long is not told */
    return owl_call_fail(c, "what the client entered for \"%s\" does not fit what was asked%.*s",
                         a->key.p, (int)words.text.n, words.text.p);
}

static void put_member(struct owl_buf *b, const char *prefix, const char *value)
{
    if (!value)
        return;
    owl_buf_putz(b, prefix);
    owl_json_quote(b, owl_str_of(value));
}

static int put_json(struct owl_buf *b, owl_str text)
{
    int rc = owl_json_scan(text, 64, NULL);
    if (rc == 0 && text.p[0] != '{')
        rc = -OWL_EINVAL;
    if (rc == 0)
        owl_json_compact(b, text);
    return rc;
}

/* `params` of the request that a question becomes. */
static int write_params(struct owl_call *c, const owl_question *q, struct owl_buf *b)
{
    if (q->params_json)
        return put_json(b, owl_str_trim(owl_str_of(q->params_json)));
    if (q->kind == OWL_ASK_ROOTS) {
        owl_buf_putz(b, "{}");
        return 0;
    }
    if (!q->message)
        return -OWL_EINVAL;
    if (q->kind == OWL_ASK_SAMPLING) {
        put_member(b, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":",
                   q->message);
        owl_buf_printf(b, "}}],\"maxTokens\":%u", q->max_tokens ? q->max_tokens : 1000u);
        put_member(b, ",\"systemPrompt\":", q->system);
    } else if (q->kind == OWL_ASK_URL) {
        char id[33];
        if (!q->url)
            return -OWL_EINVAL;
        put_member(b, "{\"mode\":\"url\",\"message\":", q->message);
        put_member(b, ",\"url\":", q->url);
        if (c->req.codec->era == OWL_ERA_LEGACY && owl_random_hex(id, 16) == 0)
            put_member(b, ",\"elicitationId\":", id);
    } else {
        if (!q->schema)
            return -OWL_EINVAL;
        put_member(b, "{\"message\":", q->message);
        owl_buf_putz(b, ",\"requestedSchema\":");
        int rc = put_json(b, owl_str_trim(owl_str_of(q->schema)));
        if (rc != 0)
            return rc;
    }
    owl_buf_putc(b, '}');
    return 0;
}

static int read_question(const owl_question *in, owl_question *ret)
{
    int rc = OWL_SIZED_READ(ret, owl_question, kind, in, NULL);
    if (rc == 0 && ((unsigned)ret->kind >= OWL_COUNT(kinds) || !kinds[ret->kind].method))
        rc = -OWL_EINVAL;
    return rc;
}

/* Whether this handler may put this question to this client. */
static int check_question(struct owl_call *c, const char *key, const owl_question *in, bool parked,
                          owl_question *ret)
{
    int rc = key ? read_question(in, ret) : -OWL_EINVAL;
    if (rc != 0)
        return rc;
    if (!(c->method->flags & OWL_M_ASKS) || !c->req.item ||
        parked != ((c->run->flags & OWL_PARKED) != 0))
        return -OWL_ESTATE;
    if (owl_call_client_can(c, kinds[ret->kind].capability))
        return 0;
    c->run->missing_capability = kinds[ret->kind].capability;
    return -OWL_ECAPABILITY;
}

/* What the client must have declared for params of the handler's own. */
static const char *capability_of(enum owl_ask_kind kind, owl_str params)
{
    if (kind == OWL_ASK_SAMPLING)
        return owl_span_get(params, "tools").p || owl_span_get(params, "toolChoice").p
                   ? "sampling.tools"
                   : kinds[kind].capability;
    if (kind == OWL_ASK_FORM && owl_span_str_eq(owl_span_get(params, "mode"), OWL_STR("url")))
        return kinds[OWL_ASK_URL].capability;
    return kinds[kind].capability;
}

bool owl_ask__may(struct owl_call *c, struct owl_call *client)
{
    for (struct owl_ask *a = c->asks; a; a = a->next)
        if (owl_ask_open(a) && !owl_call_client_can(client, capability_of(a->kind, a->params)))
            return false;
    return true;
}

/* What may be entered: the schema is compiled once, however often the handler runs. A bad one is
 * the tool's fault, and its author is told why if the handler fails with it. */
static int put_form(struct owl_call *c, struct owl_ask *a, owl_str params)
{
    owl_error why;
    if (a->form && owl_str_eq(a->params, params))
        return 0;
    int rc = owl_form_compile(c->arena, params, &a->form, &why);
    if (rc == -OWL_EINVAL)
        c->run->bad_question = owl_arena_dup(c->arena, owl_str_of(why.message));
    return rc;
}

/* The handler asks this under the key of @p a; whether it is answered is another matter. */
static int put_question(struct owl_call *c, struct owl_ask *a, const owl_question *q)
{
    struct owl_buf params;
    owl_buf_init_arena(&params, c->arena, OWL_ASK_PARAMS);
    int rc = write_params(c, q, &params);
    if (rc == 0)
        rc = params.rc;
    if (rc != 0)
        return rc;
    const char *capability = capability_of(q->kind, owl_buf_str(&params));
    if (!owl_call_client_can(c, capability)) {
        c->run->missing_capability = capability;
        return -OWL_ECAPABILITY;
    }
    if (capability == kinds[OWL_ASK_FORM].capability)
        rc = put_form(c, a, owl_buf_str(&params));
    else
        a->form = NULL;
    if (rc != 0)
        return rc;
    a->method = kinds[q->kind].method;
    a->kind = q->kind;
    a->params = owl_buf_str(&params);
    return 0;
}

int owl_ask(owl_call *c, const char *key, const owl_question *question, const owl_json **ret_answer)
{
    owl_question q;
    int rc = check_question(c, key, question, false, &q);
    if (rc != 0)
        return rc;
    struct owl_ask *a = owl_ask__find(c, owl_str_of(key));
    if (!a && !(a = add(c, owl_str_of(key))))
        return -OWL_ENOMEM;
    bool fits = false;
    rc = put_question(c, a, &q);
    if (rc != 0 || !a->answer.p)
        return rc ? rc : OWL_PENDING;
    rc = owl_ask__fits(a, a->answer, &fits);
    if (rc != 0)
        return rc;
    if (fits) {
        *ret_answer = a->value;
        return 0;
    }
    if (c->req.codec->era == OWL_ERA_LEGACY)
        return owl_ask__reject(c, a, a->answer);
    a->answer = (owl_str){NULL, 0}; /* asked again */
    return OWL_PENDING;
}

int owl_ask_async(owl_call *c, const char *key, const owl_question *question,
                  int (*fn)(owl_call *call, const owl_json *answer, void *data), void *data)
{
    owl_question q;
    int rc = fn ? check_question(c, key, question, true, &q) : -OWL_EINVAL;
    if (rc != 0)
        return rc;
    if (owl_ask__find(c, owl_str_of(key)))
        return -OWL_EEXISTS;
    struct owl_ask *a = add(c, owl_str_of(key));
    if (!a)
        return -OWL_ENOMEM;
    a->fn = fn;
    a->data = data;
    return put_question(c, a, &q);
}

/* An answer goes to its function, if it is one. Who was asked in the modern form was asked again until
 * it was. */
static int hand_on(struct owl_call *c, struct owl_ask *a)
{
    int (*fn)(owl_call *, const owl_json *, void *) = a->fn;
    bool fits = true;
    a->fn = NULL; /* once */
    int rc = 0;
    if (!a->refused)
        rc = owl_ask__fits(a, a->answer, &fits);
    if (rc == 0 && !fits)
        rc = owl_ask__reject(c, a, a->answer);
    return rc == 0 ? fn(c, a->refused ? NULL : a->value, a->data) : rc;
}

int owl_ask_continue(struct owl_call *c)
{
    int rc = 0;
    struct owl_ask *last = c->asks;
    while (last && last->next)
        last = last->next;
    for (struct owl_ask *a = c->asks; a && rc >= 0; a = a->next) {
        if (a->fn && !owl_ask_open(a))
            rc = hand_on(c, a);
        if (a == last)
            break; /* what the functions have asked meanwhile is for the next round */
    }
    return rc;
}

/* ---- modern: input_required and back ---- */

/* What a state belongs to: the values of the arguments, however the next request spells them. The
 * caller frees @p args, which may be as long as these. */
static struct owl_state_bind binding(struct owl_call *c, struct owl_buf *args)
{
    owl_buf_init(args, MAX_ARGS);
    owl_json_canonical(args, c->req.arguments.p ? c->req.arguments : OWL_STR("{}"));
    return (struct owl_state_bind){.principal = c->req.principal,
                                   .method = c->req.msg.method,
                                   .name = c->req.name,
                                   .args = owl_buf_str(args)};
}

static void free_arena(void *a)
{
    owl_arena_free(a);
}

int owl_ask__keep(struct owl_call *c, struct owl_ask *a, owl_str answer)
{
    struct owl_arena *own = owl_arena_new(0); /* so that nothing stays of one that is not kept */
    char *copy = own ? owl_arena_dup(own, answer) : NULL;
    owl_str kept = {copy, answer.n};
    const owl_json *value;
    size_t n;
    int rc = copy ? owl_json_parse_arena(own, kept, &value, &n) : -OWL_ENOMEM;
    if (rc == 0)
        rc = owl_call__count(c, OWL_CHUNK_BYTES + kept.n + n);
    if (rc != 0 || owl_arena_cleanup(c->arena, free_arena, own) != 0) {
        owl_arena_free(own);
        return rc ? rc : -OWL_ENOMEM;
    }
    a->answer = kept;
    a->value = value;
    return 0;
}

struct owl_ask *owl_ask__find_key(struct owl_call *c, const struct owl_span *s)
{
    struct owl_ask *a = c->asks;
    while (a && !owl_span_key_is(s, a->key))
        a = a->next;
    return a;
}

/* An answer for a call that waits, of which only what was asked may take memory: clients send as
 * much as they like. It outlives the request that brought it. */
static int take_awaited(struct owl_call *c, const struct owl_span *s)
{
    struct owl_ask *a = owl_ask__find_key(c, s);
    if (!a || !owl_ask_open(a))
        return 0; /* never asked, or answered */
    bool fits = false;
    int rc = owl_ask__fits(a, s->value, &fits);
    if (rc != 0 || !fits)
        return rc; /* it stays open: asked again; a task shows it still */
    return owl_ask__keep(c, a, s->value);
}

int owl_ask__take(struct owl_call *c, owl_str object)
{
    int rc = 0;
    bool busy = false;
    struct owl_span_iter it = owl_span_iter(object);
    for (struct owl_span s; rc == 0 && owl_span_next(&it, &s);) {
        rc = take_awaited(c, &s);
        busy = busy || rc == -OWL_EBUSY;
        rc = rc == -OWL_EBUSY ? 0 : rc;
    }
    return rc == 0 && busy ? -OWL_EBUSY : rc;
}

/* The key, for a handler that will ask; NULL without memory. */
static struct owl_ask *add_key(struct owl_call *c, const struct owl_span *s)
{
    owl_str key;
    int rc = owl_json_decode(c->arena, (owl_str){s->key.p - 1, s->key.n + 2}, &key);
    return rc == 0 ? add(c, key) : NULL;
}

/* An answer that lives as long as the call. */
static int take_own(struct owl_call *c, struct owl_ask *a, owl_str answer)
{
    int rc = owl_call__parse(c, answer, &a->value);
    if (rc == 0)
        a->answer = answer;
    return rc;
}

/* What the sealed state says was asked: key → answer, or null if there is none yet. */
static int take_sealed(struct owl_call *c, owl_str answers)
{
    int rc = 0;
    struct owl_span_iter it = owl_span_iter(answers);
    for (struct owl_span s; rc == 0 && owl_span_next(&it, &s);) {
        struct owl_ask *a = add_key(c, &s);
        if (!a)
            rc = -OWL_ENOMEM;
        else if (!owl_str_is(s.value, "null"))
            rc = take_own(c, a, s.value);
    }
    return rc;
}

/* A retry: of what it brings only what was asked and is not answered counts. */
static int take_asked(struct owl_call *c, owl_str responses)
{
    int rc = 0;
    struct owl_span_iter it = owl_span_iter(responses);
    for (struct owl_span s; rc == 0 && owl_span_next(&it, &s);) {
        struct owl_ask *a = owl_ask__find_key(c, &s);
        if (a && !a->answer.p)
            rc = take_own(c, a, s.value);
    }
    return rc;
}

/* No retry: nobody knows yet what the handler is going to ask. The first answers are kept for it, as
 * far as there is room; what it does not find it asks for. */
static int take_early(struct owl_call *c, owl_str responses)
{
    int rc = 0;
    struct owl_span_iter it = owl_span_iter(responses);
    struct owl_span s;
    for (unsigned i = 0; i < MAX_EARLY && rc == 0 && owl_span_next(&it, &s); i++) {
        rc = owl_call__count(c, sizeof(struct owl_ask) + 2 * s.key.n);
        struct owl_ask *a = rc == 0 ? add_key(c, &s) : NULL;
        if (rc == 0)
            rc = a ? owl_ask__keep(c, a, s.value) : -OWL_ENOMEM;
    }
    return rc == -OWL_EBUSY ? 0 : rc;
}

/* What the client says was asked and answered, before the handler runs from its start. */
static int restore(struct owl_call *c, owl_str payload, owl_str responses)
{
    if (c->ops != &owl_native)
        return owl_json_decode(c->arena, owl_span_get(payload, "state"), &c->sealed);
    if (owl_call_flags(c) & OWL_PARKED)
        return 0; /* it asks first, and is answered where it waits */
    if (!payload.p)
        return take_early(c, responses);
    int rc = take_sealed(c, owl_span_get(payload, "answers"));
    return rc == 0 ? take_asked(c, responses) : rc;
}

static int open_state(struct owl_call *c, owl_str literal, owl_str *ret_payload, owl_error *err)
{
    owl_str text;
    struct owl_buf args;
    if (!owl_span_is_string(literal))
        return owl_fail(err, OWL_EPARAMS, "params.requestState must be a string");
    int rc = owl_json_decode(c->arena, literal, &text);
    if (rc != 0)
        return owl_fail(err, -rc, NULL);
    struct owl_state_bind bind = binding(c, &args);
    rc = args.rc ? owl_fail(err, -args.rc, NULL)
                 : owl_state_open(&c->env->state_key, &bind, text, c->arena, ret_payload, err);
    owl_buf_done(&args);
    return rc;
}

enum owl_verdict owl_ask_restore(struct owl_call *c)
{
    if (c->req.codec->era != OWL_ERA_MODERN || !(c->method->flags & OWL_M_ASKS) ||
        (c->run && c->run->going_on) || c->task)
        return OWL_NEXT; /* nor does a task that goes on come back to what began it */
    owl_error err;
    owl_str payload = {NULL, 0}, park;
    owl_str state = owl_rpc_param(&c->req.msg, OWL_STR("requestState"));
    owl_str responses = owl_rpc_param(&c->req.msg, OWL_STR("inputResponses"));
    if (!state.p && !responses.p)
        return OWL_NEXT; /* nobody was asked */
    int rc = state.p ? open_state(c, state, &payload, &err) : 0;
    if (rc == 0 && (park = owl_span_get(payload, "park")).p)
        return owl_park_attach(c, park);
    if (!owl_span_is_object(responses))
        responses = (owl_str){NULL, 0};
    if (rc == 0 && (rc = restore(c, payload, responses)) != 0)
        owl_fail(&err, -rc, NULL);
    if (rc == 0)
        return OWL_NEXT;
    /* A state that is not ours is a fault of the request, not of the tool. */
    owl_call_set_failure(c, -rc, "%s", err.message);
    c->failure.of_tool = false;
    return OWL_FINISH;
}

void owl_ask__requests(struct owl_call *c, struct owl_buf *out)
{
    const char *comma = "";
    owl_buf_putc(out, '{');
    for (struct owl_ask *a = c->asks; a; a = a->next) {
        if (!owl_ask_open(a))
            continue;
        owl_buf_putz(out, comma);
        owl_json_quote(out, a->key);
        owl_buf_putz(out, ":{\"method\":");
        owl_json_quote(out, owl_str_of(a->method));
        owl_buf_putz(out, ",\"params\":");
        owl_buf_puts(out, a->params);
        owl_buf_putc(out, '}');
        comma = ",";
    }
    owl_buf_putc(out, '}');
}

int owl_ask__seal(struct owl_call *c, owl_str payload, struct owl_buf *out)
{
    struct owl_buf args;
    owl_buf_putz(out, "\"requestState\":\"");
    struct owl_state_bind bind = binding(c, &args);
    int rc = args.rc;
    if (rc == 0)
        rc = owl_state_seal(&c->env->state_key, &bind, payload, c->env->limits->question_ms, out);
    owl_buf_done(&args);
    owl_buf_putc(out, '"');
    return rc ? rc : out->rc;
}

int owl_ask__write(struct owl_call *c, owl_str payload, struct owl_buf *out)
{
    owl_buf_putz(out, "\"inputRequests\":");
    owl_ask__requests(c, out);
    owl_buf_putc(out, ',');
    return owl_ask__seal(c, payload, out);
}

/* {"answers":{…}}: what this run of the handler has asked, with the answer or null, comes back with
 * the next answers. */
static void write_answers(struct owl_call *c, struct owl_buf *b)
{
    const char *comma = "";
    owl_buf_putz(b, "{\"answers\":{");
    for (struct owl_ask *a = c->asks; a; a = a->next) {
        if (!a->method)
            continue; /* an answer that it did not look for */
        owl_buf_putz(b, comma);
        owl_json_quote(b, a->key);
        owl_buf_putc(b, ':');
        owl_buf_puts(b, a->answer.p ? a->answer : OWL_STR("null"));
        comma = ",";
    }
    owl_buf_putz(b, "}}");
}

static enum owl_verdict ask_modern(struct owl_call *c)
{
    struct owl_buf payload;
    owl_buf_init_arena(&payload, c->arena, OWL_STATE_MAX_BYTES);
    write_answers(c, &payload);
    owl_result_replace(&c->result);
    int rc = payload.rc ? payload.rc : owl_ask__write(c, owl_buf_str(&payload), &c->result.list);
    if (rc != 0)
        return owl_call_set_failure(c, -rc, "the state of the question could not be kept: %s",
                                    owl_err_info(rc)->text);
    c->result_type = "input_required";
    return OWL_FINISH;
}

/* ---- the step ---- */

enum owl_verdict owl_ask_step(struct owl_call *c)
{
    bool any = false;
    for (struct owl_ask *a = c->asks; a; a = a->next)
        any = any || owl_ask_open(a);
    if (!any)
        return owl_call_set_failure(
            c, OWL_ETOOL, "the handler waits for an answer to a question that it did not ask");
    if (c->req.codec->era == OWL_ERA_MODERN && !c->task && !(c->run->flags & OWL_PARKED))
        return ask_modern(c);
    if (c->end_wanted) { /* somebody has ended it while the handler was returning */
        c->end_error = c->end_wanted;
        c->silent = c->end_silent;
        return OWL_FINISH;
    }
    if (c->run->rounds++ >= OWL_ASK_ROUNDS)
        return owl_call_set_failure(c, OWL_ETOOL, "the client was asked %d times without an end",
                                    (int)OWL_ASK_ROUNDS);
    /* From now on a deadline or a cancellation may end it, and only the answers let it go on. */
    OWL_IGNORE(owl_call__move(c, 1u << OWL_CALL_FINISHED | 1u << OWL_CALL_ASKING, OWL_CALL_ASKING));
    if (c->task)
        return owl_task_ask(c);
    return c->req.codec->era == OWL_ERA_LEGACY ? owl_ask__legacy(c) : owl_park_step(c);
}

void owl_ask_go_on(struct owl_call *c)
{
    atomic_store(&c->deadline_ms, owl_now_ms() + owl_call__allowed_ms(c));
    if (!owl_call__move(c, 1u << OWL_CALL_ASKING, OWL_CALL_RUNNING))
        return;
    if (c->task)
        owl_task_go_on(c);
    c->run->going_on = c->run->flags & OWL_PARKED;
    if (!c->run->going_on) {
        owl_result_reset(&c->result);
        pthread_mutex_lock(&c->lock);
        c->on_cancel = NULL;
        pthread_mutex_unlock(&c->lock);
    }
    owl_call__goto(c, &owl_steps[OWL_STEP_invoke]);
    owl_call_run(c);
}

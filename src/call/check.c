/* call/check.c - arguments before a handler runs, results before they are sent.
 *
 * Threads: arguments on the call's reactor, or a worker if that takes long, on the bytes of the
 * message, which the scan has proved; results on the thread that finishes the call, which alone has it between winning and posting.
 * Invariant: what could not be judged (a limit, no memory) is a failure, never a fit. */
#include "call/check.h"
#include "call/parts.h"

#include "base/err.h"
#include "call/provider.h"
#include "call/task.h"
#include "codec/json.h"

enum {
    STEPS_AT_ONCE = 20000,   /* on a reactor: half a millisecond */
    SCRATCH_BYTES = 1 << 20, /* of an explanation while it is put into words */
    TEXT_BYTES = 4096,       /* of sentences */
    DATA_BYTES = 8192        /* of violations as data */
};

/* ---- into words ---- */

static void put_text(struct owl_buf *b, const struct owl_explanation *e)
{
    size_t i = 0;
    for (; i < e->n && b->n + e->violations[i].sentence.n < TEXT_BYTES; i++) {
        owl_buf_putz(b, "\n- ");
        owl_buf_puts(b, e->violations[i].sentence);
    }
    size_t more = e->n - i + e->left_out;
    if (more > 0)
        owl_buf_printf(b, "\n- and %zu more", more);
}

static void put_violation(struct owl_buf *b, const struct owl_violation *v)
{
    owl_buf_putz(b, "{\"instance\":");
    owl_json_quote(b, v->instance);
    owl_buf_putz(b, ",\"keyword\":");
    owl_json_quote(b, v->keyword);
    owl_buf_putz(b, ",\"schema\":");
    owl_json_quote(b, v->schema);
    owl_buf_putz(b, ",\"message\":");
    owl_json_quote(b, v->sentence);
    owl_buf_putc(b, '}');
}

static void put_data(struct owl_buf *b, const struct owl_explanation *e)
{
    size_t i = 0;
    owl_buf_putz(b, "{\"violations\":[");
    for (; i < e->n; i++) {
        const struct owl_violation *v = &e->violations[i];
        if (b->n + v->instance.n + v->schema.n + v->sentence.n > DATA_BYTES)
            break;
        owl_buf_putz(b, i > 0 ? "," : "");
        put_violation(b, v);
    }
    size_t more = e->n - i + e->left_out;
    owl_buf_putc(b, ']');
    if (more > 0)
        owl_buf_printf(b, ",\"left_out\":%zu", more);
    owl_buf_putc(b, '}');
}

int owl_check_explain(const struct owl_schema *s, owl_str proved, uint64_t budget,
                      struct owl_arena *a, struct owl_check_words *ret)
{
    struct owl_schema_work work = {.budget = budget};
    struct owl_explanation e;
    struct owl_buf text, data;
    struct owl_arena *scratch = owl_arena_new(SCRATCH_BYTES);
    int rc = scratch ? owl_schema_explain_within(s, proved, &work, scratch, &e, NULL) : -OWL_ENOMEM;
    *ret = (struct owl_check_words){{"", 0}, {NULL, 0}};
    if (rc == 0) { /* quoting may make it longer, by as much as six times */
        owl_buf_init_arena(&text, a, 2 * TEXT_BYTES);
        owl_buf_init_arena(&data, a, 8 * DATA_BYTES);
        put_text(&text, &e);
        put_data(&data, &e);
        rc = text.rc ? text.rc : data.rc;
    }
    if (rc == 0)
        *ret = (struct owl_check_words){owl_buf_str(&text), owl_buf_str(&data)};
    owl_arena_free(scratch);
    return rc == -OWL_ENOMEM || rc == -OWL_EBUSY ? rc : 0;
}

/* The message of a failure that is longer than others: "why", then the faults. */
static void add_words(struct owl_call *c, owl_str words)
{
    struct owl_buf b;
    owl_buf_init_arena(&b, c->arena, sizeof c->why + 2 * TEXT_BYTES);
    owl_buf_puts(&b, c->failure.message);
    owl_buf_puts(&b, words);
    if (b.rc == 0)
        c->failure.message = owl_buf_str(&b);
}

/* ---- arguments ---- */

/* A verdict on arguments, and who asks for it. */
struct verdict {
    struct owl_msg msg;
    struct owl_call *call;
    int rc; /* of the check: there is no verdict */
    bool fits;
    owl_error why;
    struct owl_check_words words; /* unless it fits */
};

static owl_str arguments_of(const struct owl_call *c)
{
    return c->req.arguments.p ? c->req.arguments : OWL_STR("{}");
}

/* @errors OWL_EBUSY: it takes more steps than @p budget. */
static int judge(struct verdict *v, uint64_t budget)
{
    struct owl_call *c = v->call;
    struct owl_schema_work work = {.budget = budget};
    v->rc = owl_schema_validate_within(c->req.item->input, arguments_of(c), &work, &v->fits,
                                       &v->why);
    if (v->rc == 0 && !v->fits)
        v->rc = owl_check_explain(c->req.item->input, arguments_of(c), budget, c->arena, &v->words);
    return v->rc == -OWL_EBUSY ? v->rc : 0;
}

static enum owl_verdict conclude(const struct verdict *v)
{
    struct owl_call *c = v->call;
    if (OWL_LIKELY(v->rc == 0 && v->fits))
        return OWL_NEXT;
    if (v->rc == 0) {
        owl_call_set_failure(c, OWL_EPARAMS,
                             "Invalid params: the arguments do not fit the inputSchema of %.*s",
                             (int)c->req.name.n, c->req.name.p);
        add_words(c, v->words.text);
        owl_call_set_failure_data(c, v->words.data);
    } else if (v->rc == -OWL_ELIMIT) {
        owl_call_set_failure(c, OWL_EPARAMS,
                             "Invalid params: the arguments cannot be checked: %s; send less",
                             v->why.message);
    } else {
        owl_call_set_failure(c, -v->rc, "%s", owl_err_info(v->rc)->text);
    }
    if (owl_task_wanted(c))
        c->failure.of_tool = false; /* its client takes a task or an error, no result */
    return OWL_FINISH;
}

static void on_judged(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct verdict *v = OWL_CONTAINER(m, struct verdict, msg);
    struct owl_call *c = v->call;
    if (owl_call__state(c) == OWL_CALL_RUNNING) /* otherwise it was ended meanwhile */
        owl_call__advance(c, conclude(v));
    owl_call_unref(c);
}

static void judge_on_worker(struct owl_work *w)
{
    struct owl_call *c = OWL_CONTAINER(w, struct owl_call, work);
    struct verdict *v = c->verdict;
    OWL_IGNORE(judge(v, 0)); /* without a budget it is not busy */
    v->msg.run = on_judged;
    if (!owl_post(c->reactor, &v->msg))
        owl_call_unref(c); /* the server has gone */
}

/* The worker has the arena until it posts. */
static enum owl_verdict hand_to_worker(struct owl_call *c)
{
    struct verdict *v = owl_arena_zalloc(c->arena, sizeof *v);
    int rc = v ? owl_call_claim_id(c) : -OWL_ENOMEM;
    if (rc != 0)
        return owl_call_refuse_id(c, rc);
    v->call = owl_call_ref(c); /* the work's own */
    c->verdict = v;
    owl_call_await(c);
    c->work.run = judge_on_worker;
    rc = owl_worker_submit(c->runtime, &c->work);
    if (rc == 0)
        return OWL_SUSPEND;
    owl_call_unref(c);
    return owl_call_set_failure(c, OWL_EBUSY, "%s", owl_err_info(OWL_EBUSY)->text);
}

enum owl_verdict owl_check_arguments(struct owl_call *c)
{
    if (!c->req.item || !c->req.item->input)
        return OWL_NEXT;
    struct verdict v = {.call = c};
    return judge(&v, STEPS_AT_ONCE) == -OWL_EBUSY ? hand_to_worker(c) : conclude(&v);
}

/* ---- results ---- */

/* The client cannot correct it: the details are for those who run the tool. What another server
 * gives is passed on: its clients have lived with it so far. */
static void blame(struct owl_call *c, const char *what, owl_str words)
{
    bool foreign = c->run->flags & OWL_FOREIGN;
    OWL_LOG(c->env->log, foreign ? OWL_LEVEL_WARNING : OWL_LEVEL_ERROR, "call",
            "%.*s has %s: trace_id=%s %.*s", (int)c->req.name.n, c->req.name.p, what,
            owl_call_trace_id(c), (int)words.n, words.p);
    if (foreign)
        return;
    owl_call_set_failure(c, OWL_ETOOL,
                         "the tool %.*s is at fault, not the arguments: it has %s. Calling it "
                         "again will hardly help; tell who runs it",
                         (int)c->req.name.n, c->req.name.p, what);
}

void owl_check_result(struct owl_call *c)
{
    const struct owl_result *r = &c->result;
    const struct owl_schema *s = c->req.item ? c->req.item->output : NULL;
    if (!s || r->rc != 0 || r->is_error || c->failure.error)
        return;
    if (!r->structured.p) {
        blame(c, "an outputSchema, but gave no structuredContent", OWL_STR(""));
        return;
    }
    bool fits = false;
    owl_error why;
    struct owl_check_words words;
    int rc = owl_schema_validate(s, r->structured, &fits, &why);
    if (rc == 0 && fits)
        return;
    if (rc == 0)
        rc = owl_check_explain(s, r->structured, 0, c->arena, &words);
    if (rc == 0)
        blame(c, "given structuredContent that does not fit its outputSchema", words.text);
    else if (rc == -OWL_ELIMIT)
        blame(c, "given structuredContent that cannot be checked", owl_str_of(why.message));
    else
        owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
}

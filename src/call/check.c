/* call/check.c - arguments before a handler runs, results before they are sent.
 *
 * Threads: arguments on the call's reactor, on the bytes of the message, which the scan has proved;
 * results on the thread that finishes the call, which alone has it between winning and posting.
 * Invariant: what could not be judged (a limit, no memory) is a failure, never a fit. */
#include "call/check.h"

#include "base/err.h"
#include "call/task.h"
#include "codec/json.h"

enum {
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

int owl_check_explain(const struct owl_schema *s, owl_str proved, struct owl_arena *a,
                      struct owl_check_words *ret)
{
    struct owl_explanation e;
    struct owl_buf text, data;
    struct owl_arena *scratch = owl_arena_new(SCRATCH_BYTES);
    int rc = scratch ? owl_schema_explain(s, proved, scratch, &e, NULL) : -OWL_ENOMEM;
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
    return rc == -OWL_ENOMEM ? rc : 0;
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

static enum owl_verdict refuse(struct owl_call *c, owl_str args)
{
    struct owl_check_words words;
    if (owl_check_explain(c->item->input, args, c->arena, &words) != 0)
        return owl_call_set_failure(c, OWL_ENOMEM, "%s", owl_err_info(OWL_ENOMEM)->text);
    owl_call_set_failure(c, OWL_EPARAMS,
                         "Invalid params: the arguments do not fit the inputSchema of %.*s",
                         (int)c->name.n, c->name.p);
    add_words(c, words.text);
    owl_call_set_failure_data(c, words.data);
    return OWL_FINISH;
}

enum owl_verdict owl_check_arguments(struct owl_call *c)
{
    if (!c->item || !c->item->input)
        return OWL_NEXT;
    owl_str args = c->arguments.p ? c->arguments : OWL_STR("{}");
    bool fits = false;
    owl_error why;
    int rc = owl_schema_validate(c->item->input, args, &fits, &why);
    if (OWL_LIKELY(rc == 0 && fits))
        return OWL_NEXT;
    if (rc == 0)
        refuse(c, args);
    else if (rc == -OWL_ELIMIT)
        owl_call_set_failure(c, OWL_EPARAMS,
                             "Invalid params: the arguments cannot be checked: %s; send less",
                             why.message);
    else
        owl_call_set_failure(c, -rc, "%s", why.message);
    if (owl_task_wanted(c))
        c->failure.of_tool = false; /* its client takes a task or an error, no result */
    return OWL_FINISH;
}

/* ---- results ---- */

/* The client cannot correct it: the details are for those who run the tool. What another server
 * gives is passed on: its clients have lived with it so far. */
static void blame(struct owl_call *c, const char *what, owl_str words)
{
    bool foreign = c->handler_flags & OWL_FOREIGN;
    OWL_LOG(c->env->log, foreign ? OWL_LEVEL_WARNING : OWL_LEVEL_ERROR, "call",
            "%.*s has %s: trace_id=%s %.*s", (int)c->name.n, c->name.p, what, owl_call_trace_id(c),
            (int)words.n, words.p);
    if (foreign)
        return;
    owl_call_set_failure(c, OWL_ETOOL,
                         "the tool %.*s is at fault, not the arguments: it has %s. Calling it "
                         "again will hardly help; tell who runs it",
                         (int)c->name.n, c->name.p, what);
}

void owl_check_result(struct owl_call *c)
{
    const struct owl_result *r = &c->result;
    const struct owl_schema *s = c->item ? c->item->output : NULL;
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
        rc = owl_check_explain(s, r->structured, c->arena, &words);
    if (rc == 0)
        blame(c, "given structuredContent that does not fit its outputSchema", words.text);
    else if (rc == -OWL_ELIMIT)
        blame(c, "given structuredContent that cannot be checked", owl_str_of(why.message));
    else
        owl_call_set_failure(c, -rc, "%s", owl_err_info(rc)->text);
}

/* unit/server/tasks.h - for the tests of tasks: a store that answers later and fails when told, the
 * tools that run as tasks, and clients that ask about them. */
#ifndef OWL_TEST_SERVER_TASKS_H
#define OWL_TEST_SERVER_TASKS_H

#include "base/alloc.h"
#include "server/server.h"
#include "unit/server/fixture.h"

/* ---- a store that answers later ---- */

/* What the store does; set before the server starts, or at any time. */
static atomic_uint store_delay_ms; /* 0: answers inside the call */
static atomic_uint store_mixed;    /* of a hundred questions, so many are answered inside */
static atomic_uint store_bad;      /* of a hundred questions, so many fail at random */
static atomic_int store_fail_puts; /* so many puts fail, beginning with the next */
static atomic_int store_fail_gets;
static atomic_int store_fail_rc = -OWL_EIO;
static atomic_int store_puts, store_out, store_lost;

struct later {
    struct owl_task_store store;
    struct owl_task_store *inner;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct owl_list due; /* of struct question */
    bool stop;
    unsigned seed;
};

struct question {
    struct owl_msg msg;
    struct owl_list node;
    struct owl_task_op op; /* to the inner store */
    struct owl_task_op *asker;
    struct later *store;
    struct owl_reactor *reactor;
    int64_t at;
    int rc; /* it fails with this */
    char kind;
    struct owl_task *task;
    char id[OWL_TASK_ID_BYTES];
    uint64_t session;
    size_t max;
};

static inline void question_done(struct owl_task_op *op, int rc)
{
    struct question *q = OWL_CONTAINER(op, struct question, op);
    struct owl_task_op *asker = q->asker;
    asker->tasks = op->tasks;
    asker->n = op->n;
    asker->more = op->more;
    atomic_fetch_sub(&store_out, 1);
    asker->done(asker, rc);
}

static inline void question_run(struct question *q)
{
    struct owl_task_store *in = q->store->inner;
    if (q->rc)
        question_done(&q->op, q->rc);
    else if (q->kind == 'p')
        in->ops->put(in, q->task, &q->op);
    else if (q->kind == 'g')
        in->ops->get(in, owl_str_of(q->id), &q->op);
    else
        in->ops->list(in, q->session, q->id[0] ? owl_str_of(q->id) : (owl_str){NULL, 0}, q->max,
                      &q->op);
    owl_task_aunref(q->task);
    free(q);
}

static inline void on_question(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    question_run(OWL_CONTAINER(m, struct question, msg));
}

static inline void *later_thread(void *arg)
{
    struct later *l = arg;
    pthread_mutex_lock(&l->lock);
    while (!l->stop || !owl_list_empty(&l->due)) {
        if (owl_list_empty(&l->due)) {
            pthread_cond_wait(&l->some, &l->lock);
            continue;
        }
        struct question *q = OWL_CONTAINER(l->due.next, struct question, node);
        owl_list_del(&q->node);
        pthread_mutex_unlock(&l->lock);
        while (now_ms() < q->at)
            usleep(200);
        q->msg.run = on_question;
        if (!owl_post(q->reactor, &q->msg)) {
            atomic_fetch_add(&store_lost, 1); /* the server did not wait for the answer */
            owl_task_aunref(q->task);
            free(q);
        }
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static inline int question_fate(struct later *l, char kind)
{
    atomic_int *fails = kind == 'p' ? &store_fail_puts : &store_fail_gets;
    if (atomic_load(fails) > 0) {
        atomic_fetch_sub(fails, 1);
        return atomic_load(&store_fail_rc);
    }
    if ((unsigned)rand_r(&l->seed) % 100 < atomic_load(&store_bad))
        return rand_r(&l->seed) % 2 ? -OWL_EIO : -OWL_ELIMIT;
    return 0;
}

static inline void later_ask(struct owl_task_store *s, struct question from)
{
    struct later *l = OWL_CONTAINER(s, struct later, store);
    struct question *q = malloc(sizeof *q);
    *q = from;
    q->store = l;
    q->op.done = question_done;
    q->reactor = owl_reactor_self();
    atomic_fetch_add(&store_out, 1);
    pthread_mutex_lock(&l->lock);
    q->rc = question_fate(l, q->kind);
    unsigned ms = atomic_load(&store_delay_ms);
    bool inside = !ms || (unsigned)rand_r(&l->seed) % 100 < atomic_load(&store_mixed);
    if (!inside) {
        q->at = now_ms() + ms;
        owl_list_init(&q->node);
        owl_list_add(&l->due, &q->node);
        pthread_cond_signal(&l->some);
    }
    pthread_mutex_unlock(&l->lock);
    if (inside)
        question_run(q);
}

static inline void later_put(struct owl_task_store *s, struct owl_task *t, struct owl_task_op *op)
{
    atomic_fetch_add(&store_puts, 1);
    later_ask(s, (struct question){.kind = 'p', .task = owl_task_aref(t), .asker = op});
}

static inline void later_get(struct owl_task_store *s, owl_str id, struct owl_task_op *op)
{
    struct question q = {.kind = 'g', .asker = op};
    snprintf(q.id, sizeof q.id, "%.*s", (int)id.n, id.p);
    later_ask(s, q);
}

static inline void later_list(struct owl_task_store *s, uint64_t session, owl_str after, size_t max,
                              struct owl_task_op *op)
{
    struct question q = {.kind = 'l', .asker = op, .session = session, .max = max};
    snprintf(q.id, sizeof q.id, "%.*s", (int)after.n, after.p ? after.p : "");
    later_ask(s, q);
}

static inline void later_expire(struct owl_task_store *s)
{
    struct later *l = OWL_CONTAINER(s, struct later, store);
    l->inner->ops->expire(l->inner);
}

static inline void later_free(struct owl_task_store *s)
{
    struct later *l = OWL_CONTAINER(s, struct later, store);
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_signal(&l->some);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    l->inner->ops->free(l->inner);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->some);
    free(l);
}

static const struct owl_task_store_ops later_ops = {.put = later_put,
                                                    .get = later_get,
                                                    .list = later_list,
                                                    .expire = later_expire,
                                                    .free = later_free};

/* The server keeps its tasks there from now on; before it starts. */
static inline void use_store(owl_server *s, size_t max, size_t max_bytes)
{
    struct later *l = calloc(1, sizeof *l);
    l->store.ops = &later_ops;
    l->inner = owl_task_memory_new(max, max_bytes);
    l->seed = 1;
    owl_list_init(&l->due);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->some, NULL);
    pthread_create(&l->thread, NULL, later_thread, l);
    s->host.tasks->ops->free(s->host.tasks);
    s->host.tasks = &l->store;
}

/* ---- tools ---- */

#define ACCEPT(name) "{\"action\":\"accept\",\"content\":{\"name\":\"" name "\"}}"

static atomic_int begun, ended, gate, cancels;
static atomic_int become_rc = 1;

static inline int quick(owl_call *c, void *data)
{
    (void)data;
    return owl_result_text(c, "quick");
}

/* Works until the gate is open. */
static inline int wait_gate(owl_call *c, void *data)
{
    (void)data;
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&gate) && !owl_call_cancelled(c))
        usleep(500);
    atomic_fetch_add(&ended, 1);
    if (owl_call_cancelled(c))
        atomic_fetch_add(&cancels, 1);
    return owl_result_text(c, "through");
}

/* Tells progress and logs, now and when the gate is open. */
static inline int tell_all(owl_call *c, void *data)
{
    owl_call_progress(c, 1, 3, "one");
    owl_call_logf(c, OWL_LEVEL_ERROR, "test", "first");
    int rc = wait_gate(c, data);
    owl_call_progress(c, 2, 3, "two");
    owl_call_logf(c, OWL_LEVEL_ERROR, "test", "second");
    while (atomic_load(&gate) == 1 && !owl_call_cancelled(c))
        usleep(500);
    return rc;
}

static inline int fail_tool(owl_call *c, void *data)
{
    (void)data;
    return owl_call_fail(c, "it broke");
}

static inline int fail_rpc(owl_call *c, void *data)
{
    (void)data;
    return owl_call_error(c, -32603, "{\"why\":\"x\"}", "it broke badly");
}

static inline int ask_form(owl_call *c, const char *key, const owl_json **ret)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = key, .schema = SCHEMA};
    return owl_ask(c, key, &q, ret);
}

static inline const char *given_name(const owl_json *answer)
{
    return owl_json_get_str(owl_json_get(answer, "content"), "name",
                            owl_json_get_str(answer, "action", "?"));
}

static inline int ask_one(owl_call *c, void *data)
{
    (void)data;
    const owl_json *a;
    int rc = ask_form(c, "a", &a);
    return rc ? rc : owl_result_textf(c, "a=%s", given_name(a));
}

static inline int ask_two(owl_call *c, void *data)
{
    (void)data;
    const owl_json *a, *b;
    int rc = ask_form(c, "a", &a), rc2 = ask_form(c, "b", &b);
    if (rc || rc2)
        return rc ? rc : rc2;
    return owl_result_textf(c, "a=%s b=%s", given_name(a), given_name(b));
}

/* One question after the other. */
static inline int ask_rounds(owl_call *c, void *data)
{
    (void)data;
    const owl_json *a, *b;
    int rc = ask_form(c, "a", &a);
    if (rc == 0)
        rc = ask_form(c, "b", &b);
    return rc ? rc : owl_result_textf(c, "a=%s b=%s", given_name(a), given_name(b));
}

static inline int become(owl_call *c, void *data)
{
    atomic_store(&become_rc, owl_call_become_task(c));
    return data ? wait_gate(c, NULL) : owl_result_text(c, "became");
}

/* A question before it is a task, one after. */
static inline int become_between(owl_call *c, void *data)
{
    (void)data;
    const owl_json *a, *b;
    int rc = ask_form(c, "a", &a);
    if (rc != 0)
        return rc;
    atomic_store(&become_rc, owl_call_become_task(c));
    rc = ask_form(c, "b", &b);
    return rc ? rc : owl_result_textf(c, "a=%s b=%s", given_name(a), given_name(b));
}

static inline int parked_answer(owl_call *c, const owl_json *answer, void *data)
{
    if (data)
        atomic_store(&become_rc, owl_call_become_task(c));
    if (data)
        while (!atomic_load(&gate) && !owl_call_cancelled(c))
            usleep(500);
    return owl_result_textf(c, "parked=%s", given_name(answer));
}

static inline int ask_parked(owl_call *c, void *data)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "?", .schema = SCHEMA};
    int rc = owl_ask_async(c, "a", &q, parked_answer, data);
    return rc ? rc : OWL_PENDING;
}

static inline int big_result(owl_call *c, void *data)
{
    (void)data;
    char text[20001];
    memset(text, 'x', 20000);
    text[20000] = '\0';
    return owl_result_text(c, text);
}

static inline int with_meta(owl_call *c, void *data)
{
    (void)data;
    int rc = owl_result_meta(c, "mine", "1", OWL_NTS);
    return rc ? rc : owl_result_text(c, "meta");
}

static char some_data[] = "x";

static inline void add_task_tools(owl_server *s)
{
    const owl_tool tools[] = {
        {.name = "plain", .handler = quick},
        {.name = "quick", .handler = quick, .flags = OWL_TASK},
        {.name = "inline", .handler = quick, .flags = OWL_TASK | OWL_INLINE},
        {.name = "gate", .handler = wait_gate, .flags = OWL_TASK},
        {.name = "short", .handler = wait_gate, .flags = OWL_TASK, .timeout_ms = 50},
        {.name = "tell", .handler = tell_all, .flags = OWL_TASK},
        {.name = "only", .handler = quick, .flags = OWL_TASK_ONLY},
        {.name = "fail", .handler = fail_tool, .flags = OWL_TASK},
        {.name = "error", .handler = fail_rpc, .flags = OWL_TASK},
        {.name = "ask", .handler = ask_one, .flags = OWL_TASK},
        {.name = "ask2", .handler = ask_two, .flags = OWL_TASK},
        {.name = "rounds", .handler = ask_rounds, .flags = OWL_TASK},
        {.name = "later", .handler = become, .flags = OWL_TASK_LATER},
        {.name = "later_inline", .handler = become, .flags = OWL_TASK_LATER | OWL_INLINE},
        {.name = "later_gate", .handler = become, .data = some_data, .flags = OWL_TASK_LATER},
        {.name = "between", .handler = become_between, .flags = OWL_TASK_LATER},
        {.name = "parked", .handler = ask_parked, .flags = OWL_TASK | OWL_PARKED},
        {.name = "parked_later",
         .handler = ask_parked,
         .data = some_data,
         .flags = OWL_TASK_LATER | OWL_PARKED},
        {.name = "big", .handler = big_result, .flags = OWL_TASK},
        {.name = "meta", .handler = with_meta, .flags = OWL_TASK},
    };
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        add_tool(s, tools[i]);
}

static inline owl_server *task_server(unsigned reactors)
{
    owl_limits limits = OWL_LIMITS;
    limits.replay_ms = 50; /* a client that has lost its stream is given up soon */
    owl_server *s = server_with((owl_server_options){.reactors = reactors, .limits = &limits});
    add_task_tools(s);
    use_store(s, 1000, 1 << 20);
    server_start(s);
    return s;
}

static inline void task_server_end(owl_server *s)
{
    server_end(s);
    assert_int_equal(atomic_load(&store_out), 0);
    assert_int_equal(atomic_load(&store_lost), 0);
}

/* ---- modern clients ---- */

#define EXTENSION "io.modelcontextprotocol/tasks"
#define TASKS "{\"elicitation\":{},\"extensions\":{\"" EXTENSION "\":{}}}"
#define NO_TASKS "{\"elicitation\":{}}"

static inline msg *modern_with(owl_server *s, const char *method, const char *name,
                               const char *params, const char *caps)
{
    struct http h = http_open(s);
    char *text = modern_text("1", method, params, caps, "");
    modern_send(&h, name, text);
    free(text);
    http_head(&h);
    msg *last = NULL;
    for (msg *m; (m = http_next(&h));) {
        owl_json_doc_free(last);
        last = m;
        if (!h.events)
            break;
    }
    http_close(&h);
    return last;
}

static inline msg *modern_tool(owl_server *s, const char *tool, const char *caps)
{
    char *params = text_of("\"name\":\"%s\"", tool);
    msg *m = modern_with(s, "tools/call", tool, params, caps);
    free(params);
    return m;
}

struct id {
    char text[OWL_TASK_ID_BYTES];
};

static inline struct id id_at(const msg *m, const char *path)
{
    struct id id;
    snprintf(id.text, sizeof id.text, "%s", str_at(m, path));
    if (strlen(id.text) < 33)
        fail_msg("no task: %s", json_at(m, ""));
    return id;
}

/* Calls the tool, which must become a task. */
static inline struct id task_of(owl_server *s, const char *tool)
{
    msg *m = modern_tool(s, tool, TASKS);
    struct id id = id_at(m, "result/taskId");
    assert_string_equal(str_at(m, "result/status"), "working");
    expect_str(m, "result/resultType", "task");
    return id;
}

static inline msg *about(owl_server *s, const char *method, struct id id, const char *more)
{
    char *params = text_of("\"taskId\":\"%s\"%s%s", id.text, *more ? "," : "", more);
    msg *m = modern_with(s, method, id.text, params, TASKS);
    free(params);
    return m;
}

static inline msg *task_get(owl_server *s, struct id id)
{
    return about(s, "tasks/get", id, "");
}

/* tasks/get until the status is @p status; the last answer. */
static inline msg *task_when(owl_server *s, struct id id, const char *status)
{
    msg *m = NULL;
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; usleep(2000)) {
        owl_json_doc_free(m);
        m = task_get(s, id);
        if (strcmp(str_at(m, "result/status"), status) == 0)
            return m;
    }
    fail_msg("never %s: %s", status, json_at(m, ""));
    return NULL;
}

static inline void expect_text(msg *m, const char *want)
{
    expect_str(m, "result/result/content/0/text", want);
}

static inline msg *task_update(owl_server *s, struct id id, const char *responses)
{
    char *more = text_of("\"inputResponses\":%s", responses);
    msg *m = about(s, "tasks/update", id, more);
    free(more);
    return m;
}

/* The answer has nothing but resultType and _meta. */
static inline void expect_ack(msg *m)
{
    const owl_json *r = at(m, "result");
    if (owl_json_len(r) - (at(m, "result/_meta") != NULL) != 1)
        fail_msg("no bare ack: %s", json_at(m, ""));
    expect_str(m, "result/resultType", "complete");
}

#endif

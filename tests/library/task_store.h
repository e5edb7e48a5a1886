/* library/task_store.h - a store of tasks that answers later and fails when told; part of tasks.h.
 *
 * It keeps them in memory. What it does is set by the counters, before the server starts or at any
 * time; a test has a process of its own. */
#ifndef OWL_TEST_SERVER_TASK_STORE_H
#define OWL_TEST_SERVER_TASK_STORE_H

#include "base/clock.h"
#include "library/servers.h"
#include "server/server.h"

static atomic_uint store_delay_ms; /* 0: answers inside the call */
static atomic_uint store_mixed;    /* of a hundred questions, so many are answered inside */
static atomic_uint store_bad;      /* of a hundred questions, so many fail at random */
static atomic_int store_fail_puts; /* so many puts fail, beginning with the next */
static atomic_int store_fail_gets;
static atomic_int store_fail_rc = -OWL_EIO;
static atomic_bool store_silent; /* questions are answered when the store is freed */
static atomic_int store_puts, store_out, store_lost;

struct later {
    struct owl_task_store store;
    struct owl_task_store *inner;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct owl_list due;    /* of struct question */
    struct owl_list silent; /* likewise, those without an answer */
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

static inline void question_close(struct question *q)
{
    atomic_fetch_sub(&store_out, 1);
    q->asker->done(q->asker, -OWL_ECLOSED);
    owl_task_aunref(q->task);
    free(q);
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
            question_close(q);
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
    bool silent = atomic_load(&store_silent);
    if (!inside || silent) {
        q->at = now_ms() + ms;
        owl_list_init(&q->node);
        owl_list_add(silent ? &l->silent : &l->due, &q->node);
        pthread_cond_signal(&l->some);
    }
    pthread_mutex_unlock(&l->lock);
    if (inside && !silent)
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
    OWL_LIST_EACH (&l->silent, it)
        question_close(OWL_CONTAINER(it, struct question, node));
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
    l->inner = owl_task_store_memory_new(max, max_bytes);
    l->seed = 1;
    owl_list_init(&l->due);
    owl_list_init(&l->silent);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->some, NULL);
    pthread_create(&l->thread, NULL, later_thread, l);
    s->env.tasks->ops->free(s->env.tasks);
    s->env.tasks = &l->store;
}

#endif

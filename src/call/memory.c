/* call/memory.c - the store that keeps tasks in memory.
 *
 * Threads: any; the table has one lock, under which nothing is computed. Invariant: `order` holds
 * the tasks of the map, oldest first. */
#include <pthread.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/map.h"
#include "call/store.h"

struct slot {
    struct owl_list node;
    struct owl_task *task; /* its latest version; counted */
};

struct memory {
    struct owl_task_store store;
    pthread_mutex_t lock;
    struct owl_map by_id; /* → struct slot */
    struct owl_list order;
    size_t max, max_bytes, bytes;
};

static struct memory *memory_of(struct owl_task_store *s)
{
    return OWL_CONTAINER(s, struct memory, store);
}

static void forget(struct memory *m, struct slot *s)
{
    owl_map_del(&m->by_id, owl_str_of(s->task->id));
    owl_list_del(&s->node);
    m->bytes -= s->task->payload.n;
    owl_task_aunref(s->task);
    owl_free(s);
}

/* Makes room for one more task or none, and @p bytes more; false if only tasks that run are left.
 * @p keep stays. */
static bool make_room(struct memory *m, size_t tasks, size_t bytes, const struct slot *keep)
{
    OWL_LIST_EACH (&m->order, it) {
        if (m->by_id.n + tasks <= m->max && m->bytes + bytes <= m->max_bytes)
            break;
        struct slot *s = OWL_CONTAINER(it, struct slot, node);
        if (s != keep && (owl_task_over(s->task->status) || !owl_task_left(s->task)))
            forget(m, s);
    }
    return m->by_id.n + tasks <= m->max && m->bytes + bytes <= m->max_bytes;
}

static int add(struct memory *m, struct owl_task *t)
{
    struct slot *s = owl_calloc(1, sizeof *s);
    int rc = s ? owl_map_put(&m->by_id, owl_str_of(t->id), s, NULL) : -OWL_ENOMEM;
    if (rc != 0) {
        owl_free(s);
        return rc;
    }
    s->task = owl_task_aref(t);
    m->bytes += t->payload.n;
    owl_list_add(&m->order, &s->node);
    return 0;
}

static int put(struct memory *m, struct owl_task *t)
{
    struct slot *s = owl_map_get(&m->by_id, owl_str_of(t->id));
    size_t had = s ? s->task->payload.n : 0;
    size_t more = t->payload.n > had ? t->payload.n - had : 0;
    if (more > m->max_bytes || !make_room(m, s ? 0 : 1, more, s))
        return -OWL_ELIMIT;
    if (!s)
        return add(m, t);
    void *old = NULL; /* the key lives in the record that goes: the new one's takes its place */
    int rc = owl_map_put(&m->by_id, owl_str_of(t->id), s, &old);
    if (rc != 0)
        return rc;
    m->bytes = m->bytes - had + t->payload.n;
    owl_task_aunref(s->task);
    s->task = owl_task_aref(t);
    return 0;
}

static void memory_put(struct owl_task_store *store, struct owl_task *t, struct owl_task_op *op)
{
    struct memory *m = memory_of(store);
    pthread_mutex_lock(&m->lock);
    int rc = put(m, t);
    pthread_mutex_unlock(&m->lock);
    op->done(op, rc);
}

static void memory_get(struct owl_task_store *store, owl_str id, struct owl_task_op *op)
{
    struct memory *m = memory_of(store);
    pthread_mutex_lock(&m->lock);
    struct slot *s = owl_map_get(&m->by_id, id);
    struct owl_task *t = s && owl_task_left(s->task) ? owl_task_aref(s->task) : NULL;
    pthread_mutex_unlock(&m->lock);
    op->tasks = &t;
    op->n = t ? 1 : 0;
    op->done(op, t ? 0 : -OWL_ENOTFOUND);
    owl_task_aunref(t);
}

/* Gathers with the lock held; returns how many, or -OWL_ENOTFOUND. */
static int gather(struct memory *m, uint64_t session, owl_str after, size_t max,
                  struct owl_task **ret)
{
    struct owl_list *it = m->order.next;
    if (after.p) {
        struct slot *s = owl_map_get(&m->by_id, after);
        if (!s || s->task->session != session)
            return -OWL_ENOTFOUND;
        it = s->node.next;
    }
    int n = 0;
    for (; it != &m->order && (size_t)n < max; it = it->next) {
        struct owl_task *t = OWL_CONTAINER(it, struct slot, node)->task;
        if (t->session == session && owl_task_left(t))
            ret[n++] = owl_task_aref(t);
    }
    return n;
}

static void memory_list(struct owl_task_store *store, uint64_t session, owl_str after, size_t max,
                        struct owl_task_op *op)
{
    struct memory *m = memory_of(store);
    struct owl_task **found = owl_calloc(max + 1, sizeof(struct owl_task *));
    if (!found) {
        op->done(op, -OWL_ENOMEM);
        return;
    }
    pthread_mutex_lock(&m->lock);
    int n = gather(m, session, after, max + 1, found);
    pthread_mutex_unlock(&m->lock);
    op->tasks = found;
    op->more = n > 0 && (size_t)n > max;
    op->n = n < 0 ? 0 : op->more ? max : (size_t)n;
    op->done(op, n < 0 ? n : 0);
    for (int i = 0; i < n; i++)
        owl_task_aunref(found[i]);
    owl_free(found);
}

static void memory_expire(struct owl_task_store *store)
{
    struct memory *m = memory_of(store);
    pthread_mutex_lock(&m->lock);
    OWL_LIST_EACH (&m->order, it) {
        struct slot *s = OWL_CONTAINER(it, struct slot, node);
        if (!owl_task_left(s->task))
            forget(m, s);
    }
    pthread_mutex_unlock(&m->lock);
}

static void memory_free(struct owl_task_store *store)
{
    struct memory *m = memory_of(store);
    OWL_LIST_EACH (&m->order, it)
        forget(m, OWL_CONTAINER(it, struct slot, node));
    owl_map_done(&m->by_id);
    pthread_mutex_destroy(&m->lock);
    owl_free(m);
}

static const struct owl_task_store_ops memory_ops = {
    .put = memory_put,
    .get = memory_get,
    .list = memory_list,
    .expire = memory_expire,
    .free = memory_free,
};

struct owl_task_store *owl_task_memory_new(size_t max, size_t max_bytes)
{
    struct memory *m = owl_calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->store.ops = &memory_ops;
    m->max = max;
    m->max_bytes = max_bytes;
    pthread_mutex_init(&m->lock, NULL);
    owl_map_init(&m->by_id);
    owl_list_init(&m->order);
    return &m->store;
}

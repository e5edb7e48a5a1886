/* call/task_store_memory.c - the store that keeps tasks in memory.
 *
 * Threads: any; the table has one lock, under which nothing is computed. Invariants: a task of the
 * map is on one of the shelves `open` (oldest first) and `over` (in the order in which they ended),
 * and in the list of its session if it has one. Only the end of their time walks tasks that it is not
 * about. */
#include <pthread.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/map.h"
#include "call/task_store.h"

enum { LOOKS = 16 }; /* at the oldest tasks that run, when there is no room */

/* The tasks of a legacy session, oldest first; never none. */
struct owner {
    uint64_t session;
    struct owl_list slots;
};

struct shelf {
    struct owl_list slots;
    size_t n, bytes; /* of their payloads */
};

struct slot {
    struct shelf *on;
    struct owl_list node;    /* of on->slots */
    struct owl_list sibling; /* of owner->slots */
    struct owner *owner;     /* or NULL */
    struct owl_task *task;   /* its latest version; counted */
};

struct memory {
    struct owl_task_store store;
    pthread_mutex_t lock;
    struct owl_map by_id;      /* → struct slot */
    struct owl_map by_session; /* → struct owner */
    struct shelf open, over;
    size_t max, max_bytes;
};

static struct memory *memory_of(struct owl_task_store *s)
{
    return OWL_CONTAINER(s, struct memory, store);
}

static owl_str key_of(const uint64_t *session)
{
    return (owl_str){(const char *)session, sizeof *session};
}

/* The owner of that session; NULL without memory. */
static struct owner *owner_of(struct memory *m, uint64_t session)
{
    struct owner *o = owl_map_get(&m->by_session, key_of(&session));
    if (o)
        return o;
    o = owl_calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->session = session;
    owl_list_init(&o->slots);
    if (owl_map_put(&m->by_session, key_of(&o->session), o, NULL) == 0)
        return o;
    owl_free(o);
    return NULL;
}

static void leave(struct memory *m, struct slot *s)
{
    owl_list_del(&s->sibling);
    if (!s->owner || !owl_list_empty(&s->owner->slots))
        return;
    owl_map_del(&m->by_session, key_of(&s->owner->session));
    owl_free(s->owner);
}

static void take_off(struct slot *s)
{
    if (!s->on)
        return;
    owl_list_del(&s->node);
    s->on->n--;
    s->on->bytes -= s->task->payload.n;
    s->on = NULL;
}

/* Where its status says, behind the others; if it is there, it stays. */
static void shelve(struct memory *m, struct slot *s)
{
    struct shelf *to = owl_task_over(s->task->status) ? &m->over : &m->open;
    if (s->on == to)
        return;
    take_off(s);
    s->on = to;
    to->n++;
    to->bytes += s->task->payload.n;
    owl_list_add(&to->slots, &s->node);
}

static void forget(struct memory *m, struct slot *s)
{
    owl_map_del(&m->by_id, owl_str_of(s->task->id));
    take_off(s);
    leave(m, s);
    owl_task_aunref(s->task);
    owl_free(s);
}

/* Whether there is room beside the tasks that are open, and with @p over beside the others, too. */
static bool fits(const struct memory *m, size_t tasks, size_t bytes, bool over)
{
    return m->open.n + (over ? m->over.n : 0) + tasks <= m->max &&
           m->open.bytes + (over ? m->over.bytes : 0) + bytes <= m->max_bytes;
}

/* Makes room for one more task or none, and @p bytes more: some that have outlived their time go, then
 * those that ended first, if that is of use. @p keep stays. */
static bool make_room(struct memory *m, size_t tasks, size_t bytes, const struct slot *keep)
{
    unsigned looks = 0;
    OWL_LIST_EACH (&m->open.slots, it) {
        struct slot *s = OWL_CONTAINER(it, struct slot, node);
        if (fits(m, tasks, bytes, true) || looks++ == LOOKS)
            break;
        if (s != keep && !owl_task_left(s->task))
            forget(m, s);
    }
    if (!fits(m, tasks, bytes, false))
        return false;
    OWL_LIST_EACH (&m->over.slots, it) {
        struct slot *s = OWL_CONTAINER(it, struct slot, node);
        if (fits(m, tasks, bytes, true))
            break;
        if (s != keep)
            forget(m, s);
    }
    return fits(m, tasks, bytes, true);
}

static int add(struct memory *m, struct owl_task *t)
{
    struct slot *s = owl_calloc(1, sizeof *s);
    if (!s)
        return -OWL_ENOMEM;
    owl_list_init(&s->node);
    owl_list_init(&s->sibling);
    s->owner = t->session ? owner_of(m, t->session) : NULL;
    if (s->owner)
        owl_list_add(&s->owner->slots, &s->sibling);
    if ((t->session && !s->owner) || owl_map_put(&m->by_id, owl_str_of(t->id), s, NULL) != 0) {
        leave(m, s);
        owl_free(s);
        return -OWL_ENOMEM;
    }
    s->task = owl_task_aref(t);
    shelve(m, s);
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
    s->on->bytes = s->on->bytes - had + t->payload.n;
    owl_task_aunref(s->task);
    s->task = owl_task_aref(t);
    shelve(m, s);
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
    struct owner *o = owl_map_get(&m->by_session, key_of(&session));
    const struct slot *s = after.p ? owl_map_get(&m->by_id, after) : NULL;
    if (after.p && (!s || !o || s->owner != o))
        return -OWL_ENOTFOUND;
    if (!o)
        return 0;
    int n = 0;
    for (struct owl_list *it = s ? s->sibling.next : o->slots.next;
         it != &o->slots && (size_t)n < max; it = it->next) {
        struct owl_task *t = OWL_CONTAINER(it, struct slot, sibling)->task;
        if (owl_task_left(t))
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

/* Those of a list, or those that have outlived their time. */
static void forget_all(struct memory *m, struct owl_list *list, bool old)
{
    OWL_LIST_EACH (list, it) {
        struct slot *s = OWL_CONTAINER(it, struct slot, node);
        if (!old || !owl_task_left(s->task))
            forget(m, s);
    }
}

static void memory_expire(struct owl_task_store *store)
{
    struct memory *m = memory_of(store);
    pthread_mutex_lock(&m->lock);
    forget_all(m, &m->open.slots, true);
    forget_all(m, &m->over.slots, true);
    pthread_mutex_unlock(&m->lock);
}

static void memory_free(struct owl_task_store *store)
{
    struct memory *m = memory_of(store);
    forget_all(m, &m->open.slots, false);
    forget_all(m, &m->over.slots, false);
    owl_map_done(&m->by_id);
    owl_map_done(&m->by_session);
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

struct owl_task_store *owl_task_store_memory_new(size_t max, size_t max_bytes)
{
    struct memory *m = owl_calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->store.ops = &memory_ops;
    m->max = max;
    m->max_bytes = max_bytes;
    pthread_mutex_init(&m->lock, NULL);
    owl_map_init(&m->by_id);
    owl_map_init(&m->by_session);
    owl_list_init(&m->open.slots);
    owl_list_init(&m->over.slots);
    return &m->store;
}

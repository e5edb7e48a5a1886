/* reactor/worker.c - the pool of threads for work that may block.
 *
 * Threads: submit from any. All state is under rt->mu, never held while work runs.
 * Invariants: there is a queue only if there is a worker; workers_free counts those that are about
 * to look at the queue, including one that was just made, so that a thread is made only when the
 * queue holds more than they will take. */
#include <stdio.h>

#include "reactor/internal.h"

static struct owl_work *queue_pop(struct owl_runtime *rt)
{
    struct owl_work *w = rt->queue_head;
    rt->queue_head = w->next;
    rt->queued--;
    return w;
}

static void queue_push(struct owl_runtime *rt, struct owl_work *w)
{
    w->next = NULL;
    if (rt->queue_head)
        rt->queue_tail->next = w;
    else
        rt->queue_head = w;
    rt->queue_tail = w;
    rt->queued++;
}

static void worker_main(void *arg)
{
    struct owl_runtime *rt = arg;
    pthread_mutex_lock(&rt->mu);
    for (;;) {
        while (!rt->queue_head && !rt->stopping)
            pthread_cond_wait(&rt->work, &rt->mu);
        if (!rt->queue_head)
            break;
        struct owl_work *w = queue_pop(rt);
        rt->workers_free--;
        pthread_mutex_unlock(&rt->mu);
        w->run(w);
        pthread_mutex_lock(&rt->mu);
        rt->workers_free++;
    }
    rt->workers_free--;
    rt->workers_live--;
    pthread_cond_broadcast(&rt->change);
    pthread_mutex_unlock(&rt->mu);
}

static int worker_make(struct owl_runtime *rt)
{
    char name[16];
    snprintf(name, sizeof(name), "owl-w%u", rt->workers_made);
    int rc = owl_thread__start(&rt->workers[rt->workers_made], name, worker_main, rt);
    if (rc != 0)
        return rc;
    rt->workers_made++;
    rt->workers_live++;
    rt->workers_free++;
    return 0;
}

static int submit(struct owl_runtime *rt, struct owl_work *w)
{
    if (rt->stopping)
        return -OWL_ECLOSED;
    unsigned can_be_made = rt->opt.workers - rt->workers_made;
    uint64_t room = (uint64_t)rt->opt.max_queued_work + rt->workers_free + can_be_made;
    if (rt->queued >= room)
        return -OWL_ELIMIT;
    if (rt->queued >= rt->workers_free && can_be_made > 0 && worker_make(rt) != 0 &&
        rt->workers_made == 0)
        return -OWL_ENOMEM; /* with a worker at least the work would only have to wait */
    queue_push(rt, w);
    pthread_cond_signal(&rt->work);
    return 0;
}

int owl_worker_submit(struct owl_runtime *rt, struct owl_work *w)
{
    pthread_mutex_lock(&rt->mu);
    int rc = submit(rt, w);
    pthread_mutex_unlock(&rt->mu);
    return rc;
}

void owl_worker__stop(struct owl_runtime *rt)
{
    rt->stopping = true;
    pthread_cond_broadcast(&rt->work);
}

void owl_worker__join(struct owl_runtime *rt)
{
    for (unsigned i = 0; i < rt->workers_made; i++)
        pthread_join(rt->workers[i], NULL);
}

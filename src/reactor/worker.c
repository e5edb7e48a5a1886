/* reactor/worker.c - the pool of threads for work that may block.
 *
 * Threads: submit from any. All state is under rt->mu, never held while work runs.
 * Invariants: there is a queue only if there is a worker; workers_free counts those that are about
 * to look at the queue, including one that was just made, so that a thread is made only when the
 * queue holds more than they will take, and may be taken.
 *
 * The queue has lanes, which take turns, and a client's work goes into one of them: however much
 * one client sends, it delays those of other lanes by a turn. Nor does a lane ever have all workers,
 * for nothing ends what a worker runs. Two clients may share a lane; those that cannot be told apart
 * have lane 0, without that limit. A lane is in `turns` exactly if a worker may take from it. */
#include <stdio.h>

#include "reactor/internal.h"

static struct owl_lane *lane_of(struct owl_runtime *rt, const struct owl_work *w)
{
    return &rt->lanes[w->client ? 1 + w->client % (OWL_LANES - 1) : 0];
}

/* How many workers the lane may have: all but a quarter. */
static unsigned lane_workers(const struct owl_runtime *rt, const struct owl_lane *lane)
{
    unsigned all = rt->opt.workers;
    return lane == &rt->lanes[0] || all == 1 ? all : all - (all + 3) / 4;
}

/* It has changed: it waits for its turn, or does not. */
static void lane_update(struct owl_runtime *rt, struct owl_lane *lane)
{
    bool ready = lane->n > 0 && lane->running < lane_workers(rt, lane);
    if (!ready)
        owl_list_del(&lane->node);
    else if (owl_list_empty(&lane->node))
        owl_list_add(&rt->turns, &lane->node);
}

static void queue_push(struct owl_runtime *rt, struct owl_work *w)
{
    struct owl_lane *lane = lane_of(rt, w);
    owl_list_add(&lane->work, &w->node);
    w->queued = true;
    rt->queued++;
    lane->n++;
    lane_update(rt, lane);
}

static void queue_remove(struct owl_runtime *rt, struct owl_work *w)
{
    struct owl_lane *lane = lane_of(rt, w);
    owl_list_del(&w->node);
    w->queued = false;
    rt->queued--;
    lane->n--;
    lane_update(rt, lane);
}

/* Runs the next work of the lane whose turn it is. Under the lock, but not while it runs. */
static void run_next(struct owl_runtime *rt)
{
    struct owl_lane *lane = OWL_CONTAINER(rt->turns.next, struct owl_lane, node);
    struct owl_work *w = OWL_CONTAINER(lane->work.next, struct owl_work, node);
    owl_list_del(&lane->node); /* it goes behind the others */
    lane->running++;
    struct owl_runtime_part *part = w->part;
    queue_remove(rt, w);
    rt->workers_free--;
    pthread_mutex_unlock(&rt->mu);
    w->run(w);
    pthread_mutex_lock(&rt->mu);
    owl_part__work_done(rt, part);
    rt->workers_free++;
    lane->running--;
    lane_update(rt, lane);
}

void owl_worker__init(struct owl_runtime *rt)
{
    owl_list_init(&rt->turns);
    for (size_t i = 0; i < OWL_LANES; i++) {
        owl_list_init(&rt->lanes[i].node);
        owl_list_init(&rt->lanes[i].work);
    }
}

static void worker_main(void *arg)
{
    struct owl_runtime *rt = arg;
    pthread_mutex_lock(&rt->mu);
    for (;;) {
        while (owl_list_empty(&rt->turns) && !rt->stopping)
            pthread_cond_wait(&rt->work, &rt->mu);
        if (owl_list_empty(&rt->turns))
            break; /* what a lane still holds is taken by those who run for it */
        run_next(rt);
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
    const struct owl_lane *lane = lane_of(rt, w);
    if (rt->queued >= room && lane->n >= rt->opt.max_queued_work / OWL_LANES)
        return -OWL_ELIMIT;
    bool wanted = rt->queued >= rt->workers_free &&
                  lane->n + lane->running < lane_workers(rt, lane);
    if (wanted && can_be_made > 0 && worker_make(rt) != 0 && rt->workers_made == 0)
        return -OWL_ENOMEM; /* with a worker at least the work would only have to wait */
    queue_push(rt, w);
    if (w->part)
        w->part->_work++;
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

bool owl_worker_withdraw(struct owl_runtime *rt, struct owl_work *w)
{
    pthread_mutex_lock(&rt->mu);
    bool queued = w->queued;
    if (queued) {
        queue_remove(rt, w);
        owl_part__work_done(rt, w->part);
    }
    pthread_mutex_unlock(&rt->mu);
    return queued;
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

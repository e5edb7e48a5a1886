/* Tests of reactor/worker.c. */
#include "unit/reactor/fixture.h"

struct job {
    struct owl_work work;
    struct flag *gate; /* waits for it, if there is one */
    struct owl_reactor *tell;
    struct owl_msg msg;
};

static struct flag running, finished, told;
static atomic_uint at_once, most_at_once;

static void told_run(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    (void)m;
    flag_raise(&told);
}

static void job_run(struct owl_work *w)
{
    struct job *j = OWL_CONTAINER(w, struct job, work);
    unsigned now = atomic_fetch_add(&at_once, 1) + 1;
    for (unsigned most = atomic_load(&most_at_once);
         now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now);) {
    }
    flag_raise(&running);
    if (j->gate && !flag_wait(j->gate, 1))
        abort();
    atomic_fetch_sub(&at_once, 1);
    if (j->tell) {
        j->msg.run = told_run;
        if (!owl_post(j->tell, &j->msg))
            abort();
    }
    flag_raise(&finished);
}

static unsigned threads_made(struct owl_runtime *rt)
{
    pthread_mutex_lock(&rt->mu);
    unsigned n = rt->workers_made;
    pthread_mutex_unlock(&rt->mu);
    return n;
}

static void wait_for_free(struct owl_runtime *rt, unsigned n)
{
    for (unsigned i = 0; i < 20000; i++) {
        pthread_mutex_lock(&rt->mu);
        bool reached = rt->workers_free >= n;
        pthread_mutex_unlock(&rt->mu);
        if (reached)
            return;
        usleep(1000);
    }
    fail_msg("the workers are still busy");
}

static struct owl_runtime *runtime_with(unsigned workers, unsigned queue)
{
    const struct owl_runtime_options o = {
        .reactors = 1, .workers = workers, .max_queued_work = queue};
    struct owl_runtime *rt = runtime_new(&o);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    return rt;
}

TEST(threads_are_made_only_when_they_are_needed, "")
{
    struct owl_runtime *rt = runtime_with(4, 100);
    struct job jobs[50] = {0};
    assert_int_equal(threads_made(rt), 0);
    for (unsigned i = 0; i < 50; i++) {
        jobs[i].work.run = job_run;
        assert_int_equal(owl_worker_submit(rt, &jobs[i].work), 0);
        assert_true(flag_wait(&finished, i + 1));
        wait_for_free(rt, 1);
    }
    assert_int_equal(threads_made(rt), 1); /* it was free each time */
    runtime_end(rt);
}

TEST(no_more_than_the_limit_run_at_once, "")
{
    struct owl_runtime *rt = runtime_with(3, 100);
    struct flag gate = {0};
    struct job jobs[20] = {0};
    for (unsigned i = 0; i < 20; i++) {
        jobs[i] = (struct job){.work.run = job_run, .gate = &gate};
        assert_int_equal(owl_worker_submit(rt, &jobs[i].work), 0);
    }
    assert_true(flag_wait(&running, 3));
    assert_int_equal(threads_made(rt), 3);
    usleep(5000);
    assert_int_equal(atomic_load(&running.n), 3);
    flag_raise(&gate);
    assert_true(flag_wait(&finished, 20));
    assert_int_equal(atomic_load(&most_at_once), 3);
    runtime_end(rt);
}

TEST(a_full_queue_refuses, "")
{
    struct owl_runtime *rt = runtime_with(2, 3);
    struct flag gate = {0};
    struct job jobs[6] = {0};
    for (unsigned i = 0; i < 6; i++)
        jobs[i] = (struct job){.work.run = job_run, .gate = &gate};
    for (unsigned i = 0; i < 5; i++) /* two run, three wait: exact, however slow the threads are */
        assert_int_equal(owl_worker_submit(rt, &jobs[i].work), 0);
    assert_int_equal(owl_worker_submit(rt, &jobs[5].work), -OWL_ELIMIT);
    flag_raise(&gate);
    assert_true(flag_wait(&finished, 5));
    wait_for_free(rt, 2);
    assert_int_equal(owl_worker_submit(rt, &jobs[5].work), 0);
    runtime_end(rt);
    assert_int_equal(atomic_load(&finished.n), 6);
}

/* Fills the queue of one worker, which is busy, with @p n jobs of client 7. */
static struct owl_runtime *runtime_full(struct job *jobs, unsigned n, struct flag *gate)
{
    struct owl_runtime *rt = runtime_with(1, n);
    for (unsigned i = 0; i <= n; i++) {
        jobs[i] = (struct job){.work = {.run = job_run, .client = 7}, .gate = gate};
        assert_int_equal(owl_worker_submit(rt, &jobs[i].work), 0);
    }
    assert_true(flag_wait(&running, 1));
    return rt;
}

static atomic_uint finished_before;

static void late_run(struct owl_work *w)
{
    (void)w;
    atomic_store(&finished_before, (unsigned)atomic_load(&finished.n));
    flag_raise(&told);
}

TEST(a_client_that_fills_the_queue_takes_turns_with_others, "")
{
    static struct job jobs[2 * OWL_LANES + 1];
    struct flag gate = {0};
    struct job more = {.work = {.run = job_run, .client = 7}},
               others[3] = {{.work = {.run = late_run, .client = 8}},
                            {.work = {.run = late_run, .client = 8}},
                            {.work = {.run = job_run, .client = 8}}};
    struct owl_runtime *rt = runtime_full(jobs, 2 * OWL_LANES, &gate);
    assert_int_equal(owl_worker_submit(rt, &more.work), -OWL_ELIMIT);
    assert_int_equal(owl_worker_submit(rt, &others[0].work), 0); /* its even share is two */
    assert_int_equal(owl_worker_submit(rt, &others[1].work), 0);
    assert_int_equal(owl_worker_submit(rt, &others[2].work), -OWL_ELIMIT);
    flag_raise(&gate);
    assert_true(flag_wait(&told, 2));
    assert_in_range(atomic_load(&finished_before), 2, 3); /* one that ran, one or two turns */
    assert_true(flag_wait(&finished, 2 * OWL_LANES + 1));
    runtime_end(rt);
}

TEST(no_client_has_all_workers, "")
{
    struct owl_runtime *rt = runtime_with(4, 100);
    struct flag gate = {0};
    struct job jobs[20] = {0}, other = {.work = {.run = late_run, .client = 8}};
    for (unsigned i = 0; i < 20; i++) {
        jobs[i] = (struct job){.work = {.run = job_run, .client = 7}, .gate = &gate};
        assert_int_equal(owl_worker_submit(rt, &jobs[i].work), 0);
    }
    assert_true(flag_wait(&running, 3));
    assert_int_equal(owl_worker_submit(rt, &other.work), 0);
    assert_true(flag_wait(&told, 1)); /* before any of the others is through */
    assert_int_equal(atomic_load(&finished_before), 0);
    flag_raise(&gate);
    assert_true(flag_wait(&finished, 20));
    assert_int_equal(atomic_load(&most_at_once), 3);
    runtime_end(rt);
}

TEST(a_stop_runs_what_a_client_still_has_in_the_queue, "")
{
    struct owl_runtime *rt = runtime_with(4, 100);
    struct flag gate = {0};
    struct job jobs[20] = {0};
    for (unsigned i = 0; i < 20; i++) {
        jobs[i] = (struct job){.work = {.run = job_run, .client = 7}, .gate = &gate};
        assert_int_equal(owl_worker_submit(rt, &jobs[i].work), 0);
    }
    owl_runtime_stop(rt);
    flag_raise(&gate);
    owl_runtime_join(rt);
    assert_int_equal(atomic_load(&finished.n), 20);
    owl_runtime_aunref(rt);
}

TEST(no_thread_is_made_for_work_that_it_may_not_take, "")
{
    struct owl_runtime *rt = runtime_with(8, 20);
    struct flag gate = {0};
    struct job jobs[10] = {0};
    for (unsigned i = 0; i < OWL_COUNT(jobs); i++) {
        jobs[i] = (struct job){.work = {.run = job_run, .client = 7}, .gate = &gate};
        assert_int_equal(owl_worker_submit(rt, &jobs[i].work), 0);
    }
    assert_int_equal(threads_made(rt), 6);
    flag_raise(&gate);
    assert_true(flag_wait(&finished, OWL_COUNT(jobs)));
    runtime_end(rt);
}

TEST(what_is_withdrawn_is_not_run_and_leaves_its_place, "")
{
    struct job jobs[4] = {0}, more = {.work = {.run = job_run, .client = 7}};
    struct flag gate = {0};
    struct owl_runtime *rt = runtime_full(jobs, 3, &gate);
    assert_int_equal(owl_worker_submit(rt, &more.work), -OWL_ELIMIT);
    assert_false(owl_worker_withdraw(rt, &more.work));
    assert_false(owl_worker_withdraw(rt, &jobs[0].work)); /* it runs */
    assert_true(owl_worker_withdraw(rt, &jobs[2].work));
    assert_false(owl_worker_withdraw(rt, &jobs[2].work));
    assert_int_equal(owl_worker_submit(rt, &more.work), 0);
    flag_raise(&gate);
    assert_true(flag_wait(&finished, 4));
    runtime_end(rt);
    assert_int_equal(atomic_load(&finished.n), 4);
}

TEST(a_stop_runs_what_is_queued_and_refuses_more, "")
{
    struct owl_runtime *rt = runtime_with(1, 10);
    struct flag gate = {0};
    struct job jobs[5] = {0}, late = {.work.run = job_run};
    for (unsigned i = 0; i < 5; i++) {
        jobs[i] = (struct job){.work.run = job_run, .gate = &gate, .tell = owl_runtime_at(rt, 0)};
        assert_int_equal(owl_worker_submit(rt, &jobs[i].work), 0);
    }
    owl_runtime_stop(rt);
    assert_int_equal(owl_worker_submit(rt, &late.work), -OWL_ECLOSED);
    flag_raise(&gate);
    owl_runtime_join(rt);
    assert_int_equal(atomic_load(&finished.n), 5);
    assert_int_equal(atomic_load(&told.n), 5); /* results arrived: mailboxes closed after them */
    assert_int_equal(owl_worker_submit(rt, &late.work), -OWL_ECLOSED);
    owl_runtime_aunref(rt);
}

TEST(work_is_run_without_a_start_too, "")
{
    const struct owl_runtime_options o = {.reactors = 1, .workers = 2, .max_queued_work = 4};
    struct owl_runtime *rt = runtime_new(&o);
    struct job j = {.work.run = job_run, .tell = owl_runtime_at(rt, 0)};
    assert_int_equal(owl_worker_submit(rt, &j.work), 0);
    owl_runtime_join(rt);
    assert_int_equal(atomic_load(&finished.n), 1);
    assert_int_equal(atomic_load(&told.n), 1);
    owl_runtime_aunref(rt);
}

TEST(without_a_thread_work_is_refused_unless_another_can_take_it, "")
{
    struct owl_runtime *rt = runtime_with(2, 4);
    struct flag gate = {0};
    struct job first = {.work.run = job_run, .gate = &gate}, second = first;
    owl_alloc_fail_at(1);
    int rc = owl_worker_submit(rt, &first.work);
    owl_alloc_fail_at(0);
    assert_int_equal(rc, -OWL_ENOMEM);

    assert_int_equal(owl_worker_submit(rt, &first.work), 0);
    assert_true(flag_wait(&running, 1));
    owl_alloc_fail_at(1);
    rc = owl_worker_submit(rt, &second.work);
    owl_alloc_fail_at(0);
    assert_int_equal(rc, 0);
    assert_int_equal(threads_made(rt), 1);
    flag_raise(&gate);
    assert_true(flag_wait(&finished, 2));
    runtime_end(rt);
}

static void stopper_run(struct owl_work *w)
{
    struct job *j = OWL_CONTAINER(w, struct job, work);
    owl_runtime_stop(owl_reactor_runtime(j->tell));
}

TEST(a_worker_may_stop_the_runtime, "")
{
    struct owl_runtime *rt = runtime_with(1, 1);
    struct job j = {.work.run = stopper_run, .tell = owl_runtime_at(rt, 0)};
    assert_int_equal(owl_worker_submit(rt, &j.work), 0);
    owl_runtime_join(rt);
    owl_runtime_aunref(rt);
}

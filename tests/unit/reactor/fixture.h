/* unit/reactor/fixture.h - runtimes and small helpers for the tests of the reactor layer. */
#ifndef OWL_TEST_REACTOR_FIXTURE_H
#define OWL_TEST_REACTOR_FIXTURE_H

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "reactor/internal.h"
#include "support/test.h"

static inline struct owl_runtime *runtime_new(const struct owl_runtime_options *o)
{
    struct owl_runtime *rt = NULL;
    owl_error e = {0};
    int rc = owl_runtime_new(o, &rt, &e);
    if (rc != 0)
        fail_msg("owl_runtime_new: %s", e.message);
    return rt;
}

static inline struct owl_runtime *runtime_started(unsigned reactors)
{
    const struct owl_runtime_options o = {
        .reactors = reactors, .workers = 2, .max_queued_work = 16};
    struct owl_runtime *rt = runtime_new(&o);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    return rt;
}

static inline void runtime_end(struct owl_runtime *rt)
{
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    owl_runtime_aunref(rt);
}

/* A flag that another thread sets. */
struct flag {
    atomic_uint n;
};

static inline void flag_raise(struct flag *f)
{
    atomic_fetch_add(&f->n, 1);
}

/* Waits for at least @p n raises; false after 20 s. */
static inline bool flag_wait(struct flag *f, unsigned n)
{
    for (uint64_t end = owl_now_ms() + 20000; owl_now_ms() < end;) {
        if (atomic_load(&f->n) >= n)
            return true;
        usleep(200);
    }
    return false;
}

/* Runs fn(arg) on @p r and waits for its end. */
struct on_reactor {
    struct owl_msg msg;
    void (*fn)(struct owl_reactor *r, void *arg);
    void *arg;
    struct flag done;
};

static inline void on_reactor_run(struct owl_reactor *r, struct owl_msg *m)
{
    struct on_reactor *o = OWL_CONTAINER(m, struct on_reactor, msg);
    o->fn(r, o->arg);
    flag_raise(&o->done);
}

static inline void on_reactor(struct owl_reactor *r, void (*fn)(struct owl_reactor *, void *),
                              void *arg)
{
    struct on_reactor o = {.msg.run = on_reactor_run, .fn = fn, .arg = arg};
    assert_true(owl_post(r, &o.msg));
    assert_true(flag_wait(&o.done, 1));
}

/* A log that keeps its last line. */
struct log_tail {
    pthread_mutex_t mu;
    unsigned lines;
    owl_level level;
    char last[300];
};

static inline void log_tail_line(void *data, owl_level level, const char *line)
{
    struct log_tail *t = data;
    pthread_mutex_lock(&t->mu);
    t->lines++;
    t->level = level;
    snprintf(t->last, sizeof(t->last), "%s", line);
    pthread_mutex_unlock(&t->mu);
}

static inline unsigned log_tail_count(struct log_tail *t)
{
    pthread_mutex_lock(&t->mu);
    unsigned n = t->lines;
    pthread_mutex_unlock(&t->mu);
    return n;
}

/* Whether the last line holds @p part and is a warning. */
static inline bool log_tail_warns(struct log_tail *t, const char *part)
{
    pthread_mutex_lock(&t->mu);
    bool yes = t->level == OWL_LEVEL_WARNING && strstr(t->last, part);
    pthread_mutex_unlock(&t->mu);
    return yes;
}

#endif

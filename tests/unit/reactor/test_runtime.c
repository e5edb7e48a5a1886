/* Tests of reactor/runtime.c, reactor.c and thread.c: every order of start, stop and join. */
#include "base/block.h"
#include "unit/reactor/fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const struct owl_runtime_options two = {.reactors = 2, .workers = 1, .max_queued_work = 4};
static const struct owl_runtime_options embedded = {
    .reactors = 2, .workers = 1, .max_queued_work = 4, .embedded = true};

TEST(options_are_checked, "")
{
    struct owl_runtime *rt = NULL;
    owl_error e;
    assert_int_equal(owl_runtime_new(&(struct owl_runtime_options){.workers = 1}, &rt, &e),
                     -OWL_EINVAL);
    assert_non_null(strstr(e.message, "reactors"));
    assert_int_equal(owl_runtime_new(&(struct owl_runtime_options){.reactors = 1}, &rt, &e),
                     -OWL_EINVAL);
    assert_non_null(strstr(e.message, "workers"));
    assert_int_equal(
        owl_runtime_new(&(struct owl_runtime_options){.reactors = 1u << 31, .workers = 1}, &rt, &e),
        -OWL_EINVAL);
    assert_null(rt);
}

TEST(a_runtime_without_memory_is_an_error, "")
{
    struct owl_runtime *rt = NULL;
    for (unsigned long n = 1; n < 3; n++) {
        owl_alloc_fail_at(n);
        int rc = owl_runtime_new(&two, &rt, NULL);
        owl_alloc_fail_at(0);
        assert_int_equal(rc, -OWL_ENOMEM);
        assert_null(rt);
    }
}

TEST(a_runtime_leaves_standard_descriptors_alone, "")
{
    pid_t pid = fork();
    if (pid == 0) {
        struct owl_runtime *rt;
        for (int fd = 0; fd <= 2; fd++)
            close(fd);
        if (owl_runtime_new(&two, &rt, NULL) != 0)
            _exit(1);
        bool fail = read(0, &(char){0}, 1) >= 0 || write(1, "", 1) >= 0 || write(2, "", 1) >= 0;
        runtime_end(rt);
        _exit(fail || open("/dev/null", O_RDONLY) <= 2);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

TEST(a_runtime_without_descriptors_is_an_error, "")
{
    struct owl_runtime *rt = NULL;
    owl_error e;
    struct rlimit before, few;
    /* The first loop of a process makes a pipe that libuv cannot do without. */
    owl_runtime_join(rt = runtime_new(&two));
    owl_runtime_aunref(rt);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    rlim_t n = 4;
    unsigned failures = 0;
    int rc;
    do { /* with none, then one of the loops made already; libuv 1.44 leaks one a failed loop */
        few = before;
        few.rlim_cur = n += 2;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        rc = owl_runtime_new(&two, &rt, &e);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (rc != 0) {
            failures++;
            assert_int_equal(rc, -OWL_EIO);
            assert_non_null(strstr(e.message, "event loop"));
        }
    } while (rc != 0 && n < 200);
    assert_int_equal(rc, 0);
    assert_true(failures > 1);
    owl_runtime_join(rt);
    owl_runtime_aunref(rt);
}

TEST(never_started_it_joins_at_once, "")
{
    struct owl_runtime *rt = runtime_new(&two);
    owl_runtime_join(rt);
    owl_runtime_join(rt); /* harmless */
    owl_runtime_aunref(rt);

    rt = runtime_new(&two);
    runtime_end(rt);

    rt = runtime_new(&embedded);
    assert_true(owl_runtime_step(rt));
    owl_runtime_join(rt);
    assert_false(owl_runtime_step(rt));
    owl_runtime_aunref(rt);
}

struct raiser {
    struct owl_msg msg;
    struct flag done;
    struct owl_reactor *on;
};

static void raise_run(struct owl_reactor *r, struct owl_msg *m)
{
    struct raiser *x = OWL_CONTAINER(m, struct raiser, msg);
    x->on = owl_reactor_self();
    assert_ptr_equal(x->on, r);
    flag_raise(&x->done);
}

TEST(never_started_it_still_runs_what_was_posted, "")
{
    struct owl_runtime *rt = runtime_new(&two);
    struct raiser x = {.msg.run = raise_run};
    assert_true(owl_post(owl_runtime_at(rt, 1), &x.msg));
    owl_runtime_join(rt);
    assert_int_equal(atomic_load(&x.done.n), 1);
    assert_null(owl_reactor_self());
    owl_runtime_aunref(rt);
}

TEST(it_starts_once_and_not_after_a_stop, "")
{
    owl_error e;
    struct owl_runtime *rt = runtime_new(&two);
    assert_int_equal(owl_runtime_start(rt, &e), 0);
    assert_int_equal(owl_runtime_start(rt, &e), -OWL_ESTATE);
    owl_runtime_stop(rt);
    owl_runtime_stop(rt);
    runtime_end(rt);

    rt = runtime_new(&two);
    owl_runtime_stop(rt);
    assert_int_equal(owl_runtime_start(rt, &e), -OWL_ESTATE);
    runtime_end(rt);
}

TEST(a_start_is_all_or_nothing, "")
{
    struct owl_runtime *rt = runtime_new(&two);
    owl_error e;
    for (unsigned long n = 1; n <= 3; n++) { /* two reactors and the control thread */
        owl_alloc_fail_at(n);
        int rc = owl_runtime_start(rt, &e);
        owl_alloc_fail_at(0);
        assert_int_equal(rc, -OWL_ENOMEM);
        owl_reactor_assert(owl_runtime_at(rt, 0)); /* nobody's again */
    }
    assert_int_equal(owl_runtime_start(rt, &e), 0);
    struct raiser x = {.msg.run = raise_run};
    assert_true(owl_post(owl_runtime_at(rt, 1), &x.msg));
    assert_true(flag_wait(&x.done, 1));
    runtime_end(rt);
}

static void stop_here(struct owl_reactor *r, void *arg)
{
    (void)arg;
    owl_runtime_stop(owl_reactor_runtime(r));
}

TEST(a_reactor_may_stop_its_runtime, "")
{
    struct owl_runtime *rt = runtime_started(2);
    on_reactor(owl_runtime_at(rt, 1), stop_here, NULL);
    owl_runtime_join(rt);
    owl_runtime_aunref(rt);
}

static void *late_stop(void *arg)
{
    usleep(20000);
    owl_runtime_stop(arg);
    return NULL;
}

TEST(join_waits_for_the_stop, "")
{
    const struct owl_runtime_options *kinds[] = {&two, &embedded};
    for (size_t i = 0; i < OWL_COUNT(kinds); i++) {
        struct owl_runtime *rt = runtime_new(kinds[i]);
        assert_int_equal(owl_runtime_start(rt, NULL), 0);
        pthread_t t;
        uint64_t began = owl_now_ms();
        assert_int_equal(pthread_create(&t, NULL, late_stop, rt), 0);
        owl_runtime_join(rt);
        assert_true(owl_now_ms() - began >= 19);
        pthread_join(t, NULL);
        owl_runtime_aunref(rt);
    }
}

TEST(embedded_runs_only_when_it_is_stepped, "")
{
    struct owl_runtime *rt = runtime_new(&embedded);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    struct raiser mine = {.msg.run = raise_run}, other = {.msg.run = raise_run};
    assert_true(owl_post(owl_runtime_at(rt, 0), &mine.msg));
    assert_true(owl_post(owl_runtime_at(rt, 1), &other.msg));
    assert_true(flag_wait(&other.done, 1)); /* the others have threads */
    assert_int_equal(atomic_load(&mine.done.n), 0);
    assert_true(owl_runtime_step(rt));
    assert_int_equal(atomic_load(&mine.done.n), 1);
    assert_null(owl_reactor_self());

    owl_runtime_stop(rt);
    for (unsigned i = 0; owl_runtime_step(rt); i++) {
        assert_true(i < 20000);
        usleep(1000);
    }
    assert_false(owl_runtime_step(rt));
    owl_runtime_join(rt);
    owl_runtime_aunref(rt);
}

static void count_error(uv_write_t *write, int status)
{
    assert_int_equal(status, UV_EPIPE);
    ++*(int *)write->data;
}

struct vain {
    struct owl_msg msg;
    int fd, errors;
    uv_pipe_t handle;
    uv_write_t write;
};

/* To a peer that has gone, by libuv, which does not suppress the signal. */
static void write_in_vain(struct owl_reactor *r, struct owl_msg *m)
{
    struct vain *v = OWL_CONTAINER(m, struct vain, msg);
    uv_buf_t x = uv_buf_init((char[]){'x'}, 1);
    v->write.data = &v->errors;
    assert_int_equal(uv_pipe_init(owl_reactor_loop(r), &v->handle, 0), 0);
    assert_int_equal(uv_pipe_open(&v->handle, v->fd), 0);
    assert_int_equal(uv_write(&v->write, (uv_stream_t *)&v->handle, &x, 1, count_error), 0);
}

TEST(a_program_that_steps_gets_no_signal_for_a_peer_that_has_gone, "")
{
    int ends[2];
    sigset_t pipe_only, after;
    signal(SIGPIPE, SIG_DFL); /* would end the test */
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_UNBLOCK, &pipe_only, NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    close(ends[1]);
    struct vain v = {.msg.run = write_in_vain, .fd = ends[0]};
    struct owl_runtime *rt = runtime_new(&embedded);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    assert_true(owl_post(owl_runtime_at(rt, 0), &v.msg));
    for (unsigned i = 0; i < 20000 && v.errors == 0; i++) {
        assert_true(owl_runtime_step(rt));
        pthread_sigmask(SIG_SETMASK, NULL, &after);
        assert_false(sigismember(&after, SIGPIPE));
    }
    assert_int_equal(v.errors, 1);
    uv_close((uv_handle_t *)&v.handle, NULL);
    runtime_end(rt);
}

static void facts(struct owl_reactor *r, void *arg)
{
    char *name = arg;
    sigset_t blocked;
    pthread_getname_np(pthread_self(), name, 16);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_true(sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGCHLD) &&
                sigismember(&blocked, SIGPIPE));
    assert_false(sigismember(&blocked, SIGSEGV));
    assert_ptr_equal(owl_reactor_self(), r);
    owl_reactor_assert(r);
    assert_true(owl_reactor_now(r) > 0);
}

TEST(threads_are_named_and_leave_signals_alone, "")
{
    char name[16];
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    struct owl_runtime *rt = runtime_started(2);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
    on_reactor(owl_runtime_at(rt, 0), facts, name);
    assert_string_equal(name, "owl-r0");
    on_reactor(owl_runtime_at(rt, 1), facts, name);
    assert_string_equal(name, "owl-r1");
    assert_int_equal(owl_reactor_index(owl_runtime_at(rt, 1)), 1);
    assert_null(owl_reactor_self());
    runtime_end(rt);
}

/* Runs fn in a child; true if it aborted. */
static bool aborts(void (*fn)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        OWL_IGNORE(freopen("/dev/null", "w", stderr) == NULL); /* the message is expected */
        fn();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void touch_from_outside(void)
{
    struct owl_runtime *rt = runtime_started(1);
    owl_reactor_assert(owl_runtime_at(rt, 0));
}

static void leak_a_handle(void)
{
    static uv_timer_t leaked;
    struct owl_runtime *rt = runtime_new(&two);
    uv_timer_init(owl_reactor_loop(owl_runtime_at(rt, 1)), &leaked);
    owl_runtime_join(rt);
}

static void forget_to_join(void)
{
    owl_runtime_aunref(runtime_new(&two));
}

static void negative_load(void)
{
    owl_reactor_load_add(owl_runtime_at(runtime_new(&two), 0), -1);
}

#ifndef OWL_ARENA_DEBUG
static void keep_a_block(struct owl_reactor *r, void *ret_kept)
{
    (void)r;
    size_t size;
    void *p = owl_block_new(1000000, &size);
    assert_non_null(p);
    owl_block_free(p, size);
    *(size_t *)ret_kept = owl_thread_kept();
}

static void look_at_kept(struct owl_reactor *r, void *ret_kept)
{
    (void)r;
    *(size_t *)ret_kept = owl_thread_kept();
}

TEST(a_reactor_gives_memory_back_that_it_does_not_need_for_seconds, "")
{
    struct owl_runtime *rt = runtime_started(1);
    size_t kept = 0;
    on_reactor(owl_runtime_at(rt, 0), keep_a_block, &kept);
    assert_true(kept >= 1000000);
    for (uint64_t end = owl_now_ms() + 20000; kept > 0 && owl_now_ms() < end; usleep(100000))
        on_reactor(owl_runtime_at(rt, 0), look_at_kept, &kept);
    assert_int_equal(kept, 0);
    runtime_end(rt);
}

struct keeping {
    struct owl_msg msg;
    size_t kept;
};

static void keep_in_message(struct owl_reactor *r, struct owl_msg *m)
{
    keep_a_block(r, &OWL_CONTAINER(m, struct keeping, msg)->kept);
}

TEST(the_thread_of_a_program_keeps_nothing_after_the_end, "")
{
    struct owl_runtime *rt = runtime_new(&embedded);
    struct keeping k = {.msg.run = keep_in_message};
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    assert_true(owl_post(owl_runtime_at(rt, 0), &k.msg));
    assert_true(owl_runtime_step(rt));
    assert_true(k.kept >= 1000000);
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    owl_runtime_aunref(rt);
    assert_int_equal(owl_thread_kept(), 0);
    keep_a_block(NULL, &k.kept);
    assert_int_equal(k.kept, 0);
}
#endif

TEST(broken_contracts_abort, "")
{
    assert_true(aborts(touch_from_outside));
    assert_true(aborts(leak_a_handle));
    assert_true(aborts(forget_to_join));
    assert_true(aborts(negative_load));
}

static void log_to_fd(void *data, owl_level level, const char *line)
{
    (void)level;
    OWL_IGNORE(write(*(int *)data, line, strlen(line)) < 0);
}

TEST(a_leaked_handle_is_named_in_the_log, "")
{
    int out[2];
    char text[400] = "";
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        OWL_IGNORE(freopen("/dev/null", "w", stderr) == NULL);
        const struct owl_log log = {log_to_fd, &out[1], OWL_LEVEL_DEBUG};
        struct owl_runtime_options o = two;
        o.log = &log;
        struct owl_runtime *rt = runtime_new(&o);
        uv_timer_t leaked;
        uv_timer_init(owl_reactor_loop(owl_runtime_at(rt, 1)), &leaked);
        owl_runtime_join(rt);
        _exit(0);
    }
    close(out[1]);
    assert_true(read(out[0], text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "reactor 1 ended with an open timer handle"));
    close(out[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(loads_are_counted_per_reactor_and_limited_in_sum, "")
{
    struct owl_runtime *rt = runtime_new(&two);
    struct owl_reactor *a = owl_runtime_at(rt, 0), *b = owl_runtime_at(rt, 1);
    owl_reactor_load_add(a, 2);
    assert_true(owl_reactor__load_take(b, 3));
    assert_false(owl_reactor__load_take(b, 3));
    assert_int_equal(owl_reactor_load(a), 2);
    assert_int_equal(owl_reactor_load(b), 1);
    owl_reactor_load_add(a, -2);
    assert_true(owl_reactor__load_take(a, 2));
    assert_int_equal(owl_reactor_load(a), 1);
    runtime_end(rt);
}

/* One peer on a pair of descriptors: pipes, sockets, files, a terminal.
 *
 * The loop is stepped by the test's own thread, so that the ops run where the asserts are. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "reactor/reactor.h"
#include "transport/stdio.h"

struct peer {
    struct owl_log log;
    struct owl_runtime *rt;
    struct owl_stdio *stdio;
    struct owl_buf seen; /* "<line>", "!" for overlong, "$" for the end */
    bool inside;         /* a function of stdio.h is running */
    bool echo;
    bool close_on_line;
    bool closed;
};

static void on_closed(void *user)
{
    ((struct peer *)user)->closed = true;
}

/* Runs on the loop's turn, as the functions of stdio.h demand. */
struct errand {
    struct owl_msg msg;
    struct peer *peer;
    void (*run)(struct errand *e);
    owl_str line;
    unsigned ms;
    int rc;
    bool done;
};

static void run_errand(struct owl_reactor *r, struct owl_msg *m)
{
    struct errand *e = OWL_CONTAINER(m, struct errand, msg);
    (void)r;
    e->peer->inside = true;
    e->run(e);
    e->peer->inside = false;
    e->done = true;
}

static void in_loop(struct errand *e)
{
    e->msg.run = run_errand;
    assert_true(owl_post(owl_runtime_at(e->peer->rt, 0), &e->msg));
    while (!e->done)
        owl_runtime_step(e->peer->rt);
}

static void do_write(struct errand *e)
{
    e->rc = owl_stdio_write(e->peer->stdio, e->line);
}

static void do_close(struct errand *e)
{
    owl_stdio_close(e->peer->stdio, e->ms, on_closed);
    assert_int_equal(owl_stdio_read(e->peer->stdio), -OWL_ECLOSED);
    assert_int_equal(owl_stdio_write(e->peer->stdio, OWL_STR("x")), -OWL_ECLOSED);
}

static void do_write_starved(struct errand *e)
{
    owl_alloc_fail_at(1);
    e->rc = owl_stdio_write(e->peer->stdio, e->line);
    owl_alloc_fail_at(0);
}

static void peer_write(struct peer *p, owl_str line, int want)
{
    struct errand e = {.peer = p, .run = do_write, .line = line};
    in_loop(&e);
    assert_int_equal(e.rc, want);
}

static void peer_close(struct peer *p, unsigned ms)
{
    in_loop(&(struct errand){.peer = p, .run = do_close, .ms = ms});
}

static void on_line(void *user, owl_str line)
{
    struct peer *p = user;
    assert_false(p->inside);
    owl_buf_putc(&p->seen, '<');
    owl_buf_puts(&p->seen, line);
    owl_buf_putc(&p->seen, '>');
    p->inside = true;
    if (p->echo)
        assert_int_equal(owl_stdio_write(p->stdio, line), 0);
    if (p->close_on_line)
        owl_stdio_close(p->stdio, 1000, on_closed);
    p->inside = false;
}

static void on_overlong(void *user)
{
    owl_buf_putc(&((struct peer *)user)->seen, '!');
}

static void on_eof(void *user)
{
    struct peer *p = user;
    assert_false(p->inside);
    owl_buf_putc(&p->seen, '$');
}

static const struct owl_stdio_ops ops = {.line = on_line, .overlong = on_overlong, .eof = on_eof};

static void peer_new(struct peer *p)
{
    memset(p, 0, sizeof(*p));
    struct owl_runtime_options o = {
        .reactors = 1, .workers = 1, .max_queued_work = 1, .embedded = true, .log = &p->log};
    owl_buf_init(&p->seen, SIZE_MAX);
    assert_int_equal(owl_runtime_new(&o, &p->rt, NULL), 0);
}

static void peer_open(struct peer *p, const struct owl_stdio_options *o)
{
    owl_error e = {0};
    peer_new(p);
    int rc = owl_stdio_open(owl_runtime_at(p->rt, 0), o, &ops, p, &p->stdio, &e);
    if (rc != 0)
        print_error("%s\n", e.message);
    assert_int_equal(rc, 0);
    assert_int_equal(owl_stdio_read(p->stdio), 0);
    assert_int_equal(owl_runtime_start(p->rt, NULL), 0);
}

static void step(struct peer *p, int ms)
{
    for (int i = 0; i < ms * 5; i++) {
        owl_runtime_step(p->rt);
        usleep(200);
    }
}

/* Steps until @p want was seen. */
static void await(struct peer *p, const char *want)
{
    for (int i = 0; i < 2000 && !owl_str_is(owl_buf_str(&p->seen), want); i++)
        step(p, 1);
    assert_int_equal(p->seen.n, strlen(want));
    assert_memory_equal(owl_buf_str(&p->seen).p, want, strlen(want));
}

static void peer_end(struct peer *p)
{
    if (!p->close_on_line && p->stdio)
        peer_close(p, 1000);
    for (int i = 0; i < 2000 && p->stdio && !p->closed; i++)
        step(p, 1);
    assert_true(p->closed || !p->stdio);
    owl_runtime_stop(p->rt);
    while (owl_runtime_step(p->rt))
        usleep(100);
    owl_runtime_join(p->rt);
    owl_runtime_aunref(p->rt);
    owl_buf_done(&p->seen);
}

static void put(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void expect_read(int fd, const char *want)
{
    char buf[1000];
    size_t n = 0;
    while (n < strlen(want)) {
        ssize_t r = read(fd, buf + n, sizeof(buf) - n);
        assert_true(r > 0);
        n += (size_t)r;
    }
    assert_int_equal(n, strlen(want));
    assert_memory_equal(buf, want, n);
}

TEST(pipes_carry_lines_both_ways, "CO-3.3.1")
{
    int in[2], out[2];
    struct peer p;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    peer_open(&p, &(struct owl_stdio_options){.in_fd = in[0], .out_fd = out[1]});
    p.echo = true;
    put(in[1], "one\ntwo\r\n\nth");
    await(&p, "<one><two>");
    put(in[1], "ree\n");
    await(&p, "<one><two><three>");
    expect_read(out[0], "one\ntwo\nthree\n");
    /* The caller's descriptors are as they were. */
    assert_false(fcntl(in[0], F_GETFL) & O_NONBLOCK);
    assert_false(fcntl(out[1], F_GETFL) & O_NONBLOCK);
    close(in[1]);
    await(&p, "<one><two><three>$");
    peer_write(&p, OWL_STR("after the end of input"), 0);
    expect_read(out[0], "after the end of input\n");
    peer_end(&p);
    assert_true(fcntl(in[0], F_GETFD) >= 0 && fcntl(out[1], F_GETFD) >= 0);
    close(in[0]);
    close(out[0]);
    close(out[1]);
}

TEST(a_last_line_without_its_end_is_a_line, "")
{
    int in[2];
    struct peer p;
    assert_int_equal(pipe(in), 0);
    peer_open(&p, &(struct owl_stdio_options){.in_fd = in[0], .out_fd = STDERR_FILENO});
    put(in[1], "whole\npart");
    close(in[1]);
    await(&p, "<whole><part>$");
    peer_end(&p);
    close(in[0]);
}

TEST(an_overlong_line_is_refused_and_the_next_is_read, "")
{
    int in[2];
    struct peer p;
    assert_int_equal(pipe(in), 0);
    peer_open(
        &p, &(struct owl_stdio_options){.in_fd = in[0], .out_fd = STDERR_FILENO, .line_bytes = 5});
    put(in[1], "12345\n123456\nok\n");
    await(&p, "<12345>!<ok>");
    peer_end(&p);
    close(in[0]);
    close(in[1]);
}

TEST(one_socket_serves_as_both_ends, "")
{
    int s[2];
    struct peer p;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
    peer_open(&p, &(struct owl_stdio_options){.in_fd = s[0], .out_fd = s[0]});
    p.echo = true;
    assert_false(fcntl(s[0], F_GETFL) & O_NONBLOCK);
    put(s[1], "hello\n");
    await(&p, "<hello>");
    expect_read(s[1], "hello\n");
    close(s[1]);
    await(&p, "<hello>$");
    peer_write(&p, OWL_STR("nobody reads"), -OWL_ECLOSED);
    step(&p, 5);
    await(&p, "<hello>$"); /* told once */
    peer_end(&p);
    close(s[0]);
}

TEST(files_are_read_to_their_end_and_written, "")
{
    char in[] = "/tmp/owl-stdio-in-XXXXXX", out[] = "/tmp/owl-stdio-out-XXXXXX";
    int in_fd = mkstemp(in), out_fd = mkstemp(out);
    struct owl_buf want;
    struct peer p;
    assert_true(in_fd >= 0 && out_fd >= 0);
    owl_buf_init(&want, SIZE_MAX);
    for (int i = 0; i < 30000; i++) {
        char line[32];
        snprintf(line, sizeof(line), "line %d\n", i);
        put(in_fd, line);
        owl_buf_printf(&want, "<line %d>", i);
    }
    owl_buf_putz(&want, "$");
    owl_buf_putc(&want, '\0');
    lseek(in_fd, 0, SEEK_SET);
    peer_open(&p, &(struct owl_stdio_options){.in_fd = in_fd, .out_fd = out_fd});
    p.echo = true;
    await(&p, want.p);
    peer_end(&p);
    struct stat a, b;
    assert_int_equal(fstat(in_fd, &a), 0);
    assert_int_equal(fstat(out_fd, &b), 0);
    assert_int_equal(a.st_size, b.st_size);
    owl_buf_done(&want);
    close(in_fd);
    close(out_fd);
    unlink(in);
    unlink(out);
}

TEST(dev_null_is_an_empty_input_and_a_full_device_a_broken_output, "")
{
    int null = open("/dev/null", O_RDONLY), full = open("/dev/full", O_WRONLY);
    struct peer p;
    assert_true(null >= 0 && full >= 0);
    peer_open(&p, &(struct owl_stdio_options){.in_fd = null, .out_fd = full});
    peer_write(&p, OWL_STR("x"), -OWL_ECLOSED);
    await(&p, "$");
    peer_end(&p);
    close(null);
    close(full);
}

TEST(a_terminal_keeps_its_mode, "")
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    struct peer p;
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        skip();
    int tty = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(tty >= 0);
    peer_open(&p, &(struct owl_stdio_options){.in_fd = tty, .out_fd = tty});
    put(master, "typed\n");
    await(&p, "<typed>");
    assert_false(fcntl(tty, F_GETFL) & O_NONBLOCK);
    peer_end(&p);
    assert_false(fcntl(tty, F_GETFL) & O_NONBLOCK);
    close(tty);
    close(master);
}

/* Whether the reader goes before or after the opening, and whether the thread blocks the signal. */
static void break_pipe(bool early, bool blocked)
{
    int in[2], out[2];
    struct peer p;
    sigset_t set, pending;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    signal(SIGPIPE, blocked ? SIG_IGN : SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
    if (early)
        close(out[0]);
    peer_open(&p, &(struct owl_stdio_options){.in_fd = in[0], .out_fd = out[1]});
    if (!early)
        close(out[0]);
    peer_write(&p, OWL_STR("x"), -OWL_ECLOSED);
    await(&p, "$");
    peer_write(&p, OWL_STR("x"), -OWL_ECLOSED);
    put(in[1], "not read any more\n");
    step(&p, 5);
    await(&p, "$");
    assert_int_equal(sigpending(&pending), 0);
    if (!blocked)
        assert_int_equal(sigismember(&pending, SIGPIPE), 0);
    peer_end(&p);
    assert_false(fcntl(out[1], F_GETFL) & O_NONBLOCK);
    close(in[0]);
    close(in[1]);
    close(out[1]);
}

TEST(a_broken_pipe_is_the_end_and_no_signal, "")
{
    break_pipe(false, false);
    break_pipe(true, false);
    break_pipe(false, true);
}

TEST(a_pipe_that_breaks_while_lines_wait_is_the_end, "")
{
    int in[2], out[2];
    struct peer p;
    assert_int_equal(pipe(in), 0);
    static char big[200 * 1000];
    for (int starved = 0; starved < 2; starved++) {
        assert_int_equal(pipe(out), 0);
        peer_open(&p, &(struct owl_stdio_options){.in_fd = in[0], .out_fd = out[1]});
        if (starved) { /* half a line is out and the rest is lost: it cannot go on */
            struct errand e = {.peer = &p, .run = do_write_starved, .line = {big, sizeof(big)}};
            in_loop(&e);
            assert_int_equal(e.rc, -OWL_ECLOSED);
        } else {
            peer_write(&p, (owl_str){big, sizeof(big)}, 0);
            close(out[0]);
        }
        await(&p, "$");
        peer_write(&p, OWL_STR("x"), -OWL_ECLOSED);
        peer_end(&p);
        if (starved)
            close(out[0]);
        close(out[1]);
    }
    close(in[0]);
    close(in[1]);
}

/* Lines that are larger than the pipe come out whole and in order; nothing is read meanwhile. */
TEST(a_peer_that_does_not_read_is_not_read_from, "")
{
    int in[2], out[2];
    struct peer p;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    peer_open(&p,
              &(struct owl_stdio_options){.in_fd = in[0], .out_fd = out[1], .queue_bytes = 1000});
    static char big[200 * 1000];
    memset(big, 'x', sizeof(big));
    peer_write(&p, (owl_str){big, sizeof(big)}, 0);
    peer_write(&p, OWL_STR("second"), 0);
    put(in[1], "waits\n");
    step(&p, 20);
    assert_int_equal(p.seen.n, 0);
    size_t n = 0;
    bool third = false;
    static char got[sizeof(big) + 14];
    while (n < sizeof(got)) {
        ssize_t r = read(out[0], got + n, sizeof(got) - n);
        assert_true(r > 0);
        n += (size_t)r;
        step(&p, 1);
        if (n > 3 * sizeof(big) / 5 && !third) {
            third = true;
            peer_write(&p, OWL_STR("third"), 0);
        }
    }
    assert_memory_equal(got, big, sizeof(big));
    assert_memory_equal(got + sizeof(big), "\nsecond\nthird\n", 14);
    await(&p, "<waits>");
    peer_end(&p);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
}

/* Many lines may arrive in one piece, each with an answer. */
TEST(a_peer_that_does_not_read_is_not_fed_from_between_two_lines, "")
{
    enum { LINES = 50, LONG = 1000, PIPE = 4096, QUEUE = 2000 };
    int in[2], out[2];
    struct peer p;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    assert_int_equal(fcntl(out[1], F_SETPIPE_SZ, PIPE), PIPE);
    peer_open(&p,
              &(struct owl_stdio_options){.in_fd = in[0], .out_fd = out[1], .queue_bytes = QUEUE});
    p.echo = true;
    static char all[LINES * LONG + 1], got[LINES * LONG];
    for (int i = 0; i < LINES; i++)
        snprintf(all + (size_t)i * LONG, LONG + 1, "%0*d\n", LONG - 1, i);
    put(in[1], all);
    step(&p, 20);
    assert_in_range(p.seen.n, QUEUE, PIPE + QUEUE + 2 * LONG);
    for (size_t n = 0; n < sizeof(got);) { /* as it reads, it is read from: nothing else comes */
        ssize_t r = read(out[0], got + n, sizeof(got) - n);
        assert_true(r > 0);
        n += (size_t)r;
        step(&p, 3);
    }
    assert_memory_equal(got, all, sizeof(got));
    peer_end(&p);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
}

enum way { BY_PIPE, BY_FIFO, BY_SOCKET, BY_HALF_OF_A_SOCKET, WAYS };

static void way_open(enum way way, int ret[2])
{
    char path[64];
    switch (way) {
    case BY_PIPE: assert_int_equal(pipe(ret), 0); return;
    case BY_FIFO:
        snprintf(path, sizeof(path), "/tmp/owl-stdio-fifo-%d", (int)getpid());
        assert_int_equal(mkfifo(path, 0600), 0);
        ret[0] = open(path, O_RDONLY | O_NONBLOCK);
        ret[1] = open(path, O_WRONLY);
        unlink(path);
        assert_true(ret[0] >= 0 && ret[1] >= 0);
        assert_int_equal(fcntl(ret[0], F_SETFL, O_RDONLY), 0);
        return;
    default: assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ret), 0); return;
    }
}

TEST(a_writer_may_have_gone_before_the_opening, "")
{
    for (enum way way = 0; way < WAYS; way++) {
        int in[2];
        struct peer p;
        way_open(way, in);
        int flags = fcntl(in[0], F_GETFL);
        put(in[1], "said before\n");
        close(in[1]);
        peer_open(&p, &(struct owl_stdio_options){.in_fd = in[0], .out_fd = STDERR_FILENO});
        await(&p, "<said before>$");
        peer_end(&p);
        assert_int_equal(fcntl(in[0], F_GETFL), flags);
        close(in[0]);
    }
}

/* Nothing of what it had asked is read unless it takes what waits for it. */
static void hang_up(enum way way, bool reads)
{
    int in[2], out[2];
    struct peer p;
    way_open(way, in);
    assert_int_equal(pipe(out), 0);
    peer_open(&p,
              &(struct owl_stdio_options){.in_fd = in[0], .out_fd = out[1], .queue_bytes = 1000});
    static char big[1000 * 1000], got[sizeof(big) + 1];
    peer_write(&p, (owl_str){big, sizeof(big)}, 0);
    put(in[1], "waits\n");
    if (way == BY_HALF_OF_A_SOCKET)
        shutdown(in[1], SHUT_WR);
    else
        close(in[1]);
    step(&p, 20);
    assert_int_equal(p.seen.n, 0);
    for (size_t n = 0; reads && n < sizeof(got);) {
        ssize_t r = read(out[0], got, sizeof(got) - n);
        assert_true(r > 0);
        n += (size_t)r;
        step(&p, 40); /* longer than its patience in all */
    }
    await(&p, reads ? "<waits>$" : "$");
    peer_close(&p, 0);
    p.stdio = NULL;
    while (!p.closed)
        step(&p, 1);
    peer_end(&p);
    if (way == BY_HALF_OF_A_SOCKET)
        close(in[1]);
    close(in[0]);
    close(out[0]);
    close(out[1]);
}

TEST(a_peer_that_hangs_up_and_does_not_read_has_ended, "")
{
    for (enum way way = 0; way < WAYS; way++)
        hang_up(way, false);
}

TEST(a_peer_that_hangs_up_and_reads_on_is_read_to_its_end, "")
{
    for (enum way way = 0; way < WAYS; way++)
        hang_up(way, true);
}

TEST(a_close_flushes_but_not_for_ever, "")
{
    static char big[200 * 1000], got[sizeof(big) + 1];
    for (int reads = 0; reads < 2; reads++) {
        int in[2], out[2];
        struct peer p;
        assert_int_equal(pipe(in), 0);
        assert_int_equal(pipe(out), 0);
        peer_open(&p, &(struct owl_stdio_options){.in_fd = in[0], .out_fd = out[1]});
        memset(big, 'x', sizeof(big));
        peer_write(&p, (owl_str){big, sizeof(big)}, 0);
        uint64_t begin = owl_now_ms();
        peer_close(&p, reads ? 10000 : 100);
        size_t n = 0;
        while (!p.closed) {
            step(&p, 1);
            if (reads) {
                ssize_t r = read(out[0], got + n, sizeof(got) - n);
                n += r > 0 ? (size_t)r : 0;
            }
        }
        uint64_t took = owl_now_ms() - begin;
        if (reads) {
            while (n < sizeof(got))
                n += (size_t)read(out[0], got + n, sizeof(got) - n);
            assert_memory_equal(got, big, sizeof(big));
            assert_int_equal(got[sizeof(big)], '\n');
        } else {
            assert_true(took >= 90 && took < 5000);
        }
        p.stdio = NULL;
        peer_end(&p);
        for (int i = 0; i < 2; i++) {
            close(in[i]);
            close(out[i]);
        }
    }
}

TEST(a_close_from_inside_a_line_ends_the_lines, "")
{
    int in[2];
    struct peer p;
    assert_int_equal(pipe(in), 0);
    peer_open(&p, &(struct owl_stdio_options){.in_fd = in[0], .out_fd = STDERR_FILENO});
    p.close_on_line = true;
    put(in[1], "one\ntwo\nthree\n");
    await(&p, "<one>");
    peer_end(&p);
    close(in[0]);
    close(in[1]);
}

TEST(standard_output_leads_to_standard_error_until_the_close, "OD-3.1.1.1")
{
    int in[2], out[2], err[2];
    struct peer p;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(err), 0);
    fflush(stdout);
    int old_out = dup(STDOUT_FILENO), old_err = dup(STDERR_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    peer_open(&p, &(struct owl_stdio_options){
                      .in_fd = in[0], .out_fd = STDOUT_FILENO, .own_stdout = true});
    put(STDOUT_FILENO, "a stray print\n");
    peer_write(&p, OWL_STR("a message"), 0);
    expect_read(err[0], "a stray print\n");
    expect_read(out[0], "a message\n");
    peer_end(&p);
    put(STDOUT_FILENO, "restored\n");
    expect_read(out[0], "restored\n");
    dup2(old_out, STDOUT_FILENO);
    dup2(old_err, STDERR_FILENO);
    close(old_out);
    close(old_err);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
        close(err[i]);
    }
}

TEST(bad_descriptors_and_no_memory_are_errors, "")
{
    struct peer p;
    owl_error e = {0};
    peer_new(&p);
    struct owl_reactor *r = owl_runtime_at(p.rt, 0);
    struct owl_stdio_options o = {.in_fd = 999, .out_fd = 2};
    assert_int_equal(owl_stdio_open(r, &o, &ops, &p, &p.stdio, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "999"));
    o = (struct owl_stdio_options){.in_fd = 0, .out_fd = 998};
    assert_int_equal(owl_stdio_open(r, &o, &ops, &p, &p.stdio, &e), -OWL_EIO);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    o = (struct owl_stdio_options){.in_fd = ends[0], .out_fd = ends[0]};
    assert_int_equal(owl_stdio_open(r, &o, &ops, &p, &p.stdio, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "not open for writing"));
    o = (struct owl_stdio_options){.in_fd = ends[1], .out_fd = ends[1]};
    assert_int_equal(owl_stdio_open(r, &o, &ops, &p, &p.stdio, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "not open for reading"));
    close(ends[0]);
    close(ends[1]);
    o = (struct owl_stdio_options){.in_fd = 0, .out_fd = 2, .own_stdout = true};
    assert_int_equal(owl_stdio_open(r, &o, &ops, &p, &p.stdio, &e), -OWL_EINVAL);
    o = (struct owl_stdio_options){.in_fd = 0, .out_fd = 2};
    owl_alloc_fail_at(1);
    assert_int_equal(owl_stdio_open(r, &o, &ops, &p, &p.stdio, &e), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    assert_null(p.stdio);
    int old_err = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    o = (struct owl_stdio_options){.in_fd = 0, .out_fd = 1, .own_stdout = true};
    int rc = owl_stdio_open(r, &o, &ops, &p, &p.stdio, &e);
    dup2(old_err, STDERR_FILENO);
    close(old_err);
    assert_int_equal(rc, -OWL_EIO);
    assert_null(p.stdio);
    assert_int_equal(owl_runtime_start(p.rt, NULL), 0);
    peer_end(&p);
}

TEST(without_memory_a_line_is_lost_as_a_whole, "")
{
    int in[2], out[2];
    struct peer p;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    peer_open(&p, &(struct owl_stdio_options){.in_fd = in[0], .out_fd = out[1]});
    static char full[64 * 1024];
    memset(full, 'x', sizeof(full));
    assert_int_equal(owl_buf_reserve(&p.seen, 100), 0);
    peer_write(&p, (owl_str){full, sizeof(full) - 1}, 0); /* exactly the pipe */
    owl_alloc_fail_at(1);
    peer_write(&p, OWL_STR("lost"), -OWL_ENOMEM);
    put(in[1], "partial");
    step(&p, 5);
    owl_alloc_fail_at(0);
    await(&p, "!");
    put(in[1], " line\nnext\n");
    await(&p, "!<next>");
    peer_write(&p, OWL_STR("kept"), 0);
    assert_int_equal(read(out[0], full, sizeof(full)), (ssize_t)sizeof(full));
    step(&p, 5);
    expect_read(out[0], "kept\n");
    peer_end(&p);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
}

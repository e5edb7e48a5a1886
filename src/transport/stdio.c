/* transport/stdio.c - one peer on a pair of descriptors, one message a line.
 * Threads: the reactor's.
 *
 * Standard descriptors are shared with the parent, the shell and the program's own output, so this
 * file goes to some length not to disturb them. Pipes and terminals are opened anew through /proc,
 * which gives a description whose O_NONBLOCK is ours alone; where that fails the flag is set on the
 * shared one and put back at the close. Sockets are asked not to block call by call. What cannot be
 * polled (files, /dev/null) never blocks for long: it is read a piece a turn, and written directly.
 *
 * Invariants: reading stops while more than `queue_bytes` wait to be written, also between two
 * lines of a piece; the rest of it waits, and nothing more is read before it is used up. A peer that
 * hangs up meanwhile is read to its end if it takes what waits, and given up if it does not. The
 * ops are never called from inside a function of stdio.h, and not at all after owl_stdio_close(). */
#include "transport/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "reactor/timer.h"
#include "transport/line.h"

enum {
    READ_BYTES = 64 * 1024,
    LINE_BYTES = 4 * 1024 * 1024,
    QUEUE_BYTES = 1024 * 1024,
    PATIENCE_MS = 400, /* with a peer that has hung up and takes nothing of what waits for it */
    FIRST_PRIVATE_FD = 3
};

enum input {
    OFF,
    READING,
    PAUSED, /* too much waits to be written; a hangup is noticed */
    HUNG_UP /* … and has happened: the timer runs */
};

/* One of the two descriptors. */
struct end {
    int fd;      /* our own, or -1 */
    int restore; /* the flags of the description that is shared, or -1 */
    bool socket;
    bool pollable;
    union {
        uv_handle_t handle;
        uv_poll_t poll;
        uv_idle_t idle; /* not pollable: a piece a turn */
    } uv;
};

struct owl_stdio {
    struct owl_reactor *reactor;
    struct owl_stdio_ops ops;
    void *user;
    size_t queue_bytes;
    struct end in, out;
    int stdout_fd; /* what descriptor 1 was, or -1 */
    bool wanted;   /* owl_stdio_read() was called */
    enum input input;
    bool ended; /* end of input, or a broken pipe */
    bool told;  /* … and the ops know */
    bool broken;
    bool closing;
    bool finished; /* the handles are being closed */
    struct owl_line lines;
    struct owl_buf queue; /* of which `sent` bytes are written */
    size_t sent;
    struct owl_timer again; /* goes on with the rest of a piece */
    struct owl_timer timer; /* tells the end outside of the ops' call; or a deadline */
    unsigned handles;
    void (*done)(void *user);
    owl_str rest; /* of what was read, within buf */
    char buf[READ_BYTES];
};

/* ---- descriptors ---- */

/* A new description of the pipe or terminal behind @p fd, or -1. Never one of the standard numbers,
 * even if they are free: others believe to know what is there. */
static int reopen(int fd, int access)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int again = open(path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again < 0 || again >= FIRST_PRIVATE_FD)
        return again;
    int moved = fcntl(again, F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD);
    close(again);
    return moved;
}

/* A named FIFO that is opened anew when its writers have gone hides that from poll(). */
static bool may_reopen(int fd, const struct stat *st, int access)
{
    struct statfs fs;
    if (!S_ISFIFO(st->st_mode))
        return isatty(fd);
    return access == O_WRONLY || (fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC);
}

/* A descriptor of our own for what @p fd leads to. */
static int end_open(struct end *e, int fd, int access, owl_error *reterr)
{
    struct stat st;
    int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
    if (fstat(fd, &st) != 0 || (mode != O_RDWR && mode != access))
        return owl_fail(reterr, OWL_EIO,
                        "descriptor %d is not open for %s: connect it to the client", fd,
                        access == O_RDONLY ? "reading" : "writing");
    e->socket = S_ISSOCK(st.st_mode);
    if (may_reopen(fd, &st, access))
        e->fd = reopen(fd, access);
    if (e->fd >= 0)
        return 0;
    e->fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD);
    if (e->fd < 0)
        return owl_fail(reterr, OWL_EIO, "descriptor %d: %s", fd, strerror(errno));
    e->restore = fcntl(e->fd, F_GETFL);
    return 0;
}

static void flags_restore(struct end *e)
{
    if (e->restore != -1)
        OWL_IGNORE(fcntl(e->fd, F_SETFL, e->restore)); /* there is no better we can do */
    e->restore = -1;
}

static void end_close(struct end *e)
{
    if (e->fd < 0)
        return;
    flags_restore(e);
    close(e->fd);
    e->fd = -1;
}

/* Puts the descriptor on the loop; what cannot be polled is left without a handle. */
static int end_watch(struct end *e, uv_loop_t *loop, owl_error *reterr)
{
    int rc = uv_poll_init(loop, &e->uv.poll, e->fd);
    if (rc == UV_EPERM) {
        e->pollable = false;
        flags_restore(e);
        return 0;
    }
    if (rc != 0)
        return owl_fail(reterr, OWL_EIO, "cannot watch a descriptor: %s", uv_strerror(rc));
    e->pollable = true;
    if (e->socket) /* libuv has made it non-blocking for everyone; MSG_DONTWAIT is enough for us */
        flags_restore(e);
    return 0;
}

/* ---- writing ---- */

/* Writes what goes without waiting: the number of bytes, or -1 if the pipe is broken. */
static ssize_t end_write(const struct end *e, struct iovec *iov, int n)
{
    ssize_t written;
    do {
        if (e->socket) {
            const struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)n};
            written = sendmsg(e->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        } else {
            written = writev(e->fd, iov, n); /* raises nothing: see reactor.h */
        }
    } while (written < 0 && errno == EINTR);
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    return written;
}

static void finish(struct owl_stdio *s);
static void read_update(struct owl_stdio *s);
static void on_writable(uv_poll_t *poll, int status, int events);

static void fail_output(struct owl_stdio *s)
{
    s->broken = s->ended = true;
    owl_buf_done(&s->queue);
    s->sent = 0;
    if (s->out.pollable)
        OWL_IGNORE(uv_poll_stop(&s->out.uv.poll)); /* it cannot fail */
    read_update(s);
    if (!s->closing)
        owl_timer_start(s->reactor, &s->timer, 0);
}

/* Writes the queue as far as it goes, and waits for room for the rest. */
static void flush(struct owl_stdio *s)
{
    while (s->sent < s->queue.n) {
        struct iovec iov = {s->queue.p + s->sent, s->queue.n - s->sent};
        ssize_t n = end_write(&s->out, &iov, 1);
        if (n < 0 || (n == 0 && !s->out.pollable)) {
            fail_output(s);
            return;
        }
        if (n == 0)
            break;
        s->sent += (size_t)n;
    }
    if (s->sent == s->queue.n) {
        owl_buf_done(&s->queue);
        s->sent = 0;
        if (s->out.pollable)
            OWL_IGNORE(uv_poll_stop(&s->out.uv.poll)); /* it cannot fail */
    } else if (uv_poll_start(&s->out.uv.poll, UV_WRITABLE, on_writable) != 0) {
        fail_output(s);
        return;
    }
    read_update(s);
}

/* On an error the write itself says what is wrong. */
static void on_writable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct owl_stdio *s = poll->data;
    if (s->input == HUNG_UP)
        owl_timer_start(s->reactor, &s->timer, PATIENCE_MS); /* there is room: it reads */
    flush(s);
    if (s->closing && s->queue.n == 0)
        finish(s);
}

static int enqueue(struct owl_stdio *s, owl_str line)
{
    if (s->sent > s->queue.n / 2) {
        owl_buf_consume(&s->queue, s->sent);
        s->sent = 0;
    }
    if (owl_buf_reserve(&s->queue, line.n + 1) != 0) {
        s->queue.rc = 0; /* this line is lost as a whole, the queue is sound */
        return -OWL_ENOMEM;
    }
    owl_buf_puts(&s->queue, line);
    owl_buf_putc(&s->queue, '\n');
    return 0;
}

size_t owl_stdio_queued(const struct owl_stdio *s)
{
    return s->queue.n - s->sent;
}

int owl_stdio_write(struct owl_stdio *s, owl_str line)
{
    owl_reactor_assert(s->reactor);
    if (s->broken || s->closing)
        return -OWL_ECLOSED;
    if (s->queue.n > 0) {
        int rc = enqueue(s, line);
        read_update(s);
        return rc;
    }
    union {
        const char *from;
        void *to; /* not written to */
    } p = {line.p};
    struct iovec iov[] = {{p.to, line.n}, {(char[]){'\n'}, 1}};
    ssize_t n = end_write(&s->out, iov, OWL_COUNT(iov));
    if (n < 0) {
        fail_output(s);
        return -OWL_ECLOSED;
    }
    if ((size_t)n == line.n + 1)
        return 0;
    if (enqueue(s, line) != 0) {
        if (n == 0)
            return -OWL_ENOMEM;
        fail_output(s); /* half a line must not be followed by another */
        return -OWL_ECLOSED;
    }
    s->sent = (size_t)n;
    flush(s);
    return s->broken ? -OWL_ECLOSED : 0;
}

/* ---- reading ---- */

static void on_line(void *user, owl_str line)
{
    struct owl_stdio *s = user;
    if (!s->closing)
        s->ops.line(s->user, line);
}

static void on_overlong(void *user)
{
    struct owl_stdio *s = user;
    if (!s->closing)
        s->ops.overlong(s->user);
}

static void on_skipped(void *user, owl_str piece, bool last)
{
    struct owl_stdio *s = user;
    if (!s->closing && s->ops.skipped)
        s->ops.skipped(s->user, piece, last);
}

static void feed(struct owl_stdio *s, owl_str bytes)
{
    static const struct owl_line_ops ops = {
        .line = on_line, .overlong = on_overlong, .skipped = on_skipped};
    if (owl_line_feed(&s->lines, bytes, &ops, s) == 0)
        return;
    on_overlong(s); /* no memory to keep the line */
    on_skipped(s, OWL_STR(""), true);
}

static void tell_end(struct owl_stdio *s)
{
    if (s->told || s->closing)
        return;
    s->told = true;
    s->ops.eof(s->user);
}

static enum input input_wanted(const struct owl_stdio *s)
{
    if (!s->wanted || s->ended || s->closing)
        return OFF;
    if (owl_stdio_queued(s) <= s->queue_bytes)
        return READING;
    return s->input == HUNG_UP ? HUNG_UP : PAUSED;
}

/* Feeds line by line what was read, for as long as it is wanted. */
static void feed_rest(struct owl_stdio *s)
{
    while (s->rest.n > 0 && input_wanted(s) == READING) {
        const char *end = memchr(s->rest.p, '\n', s->rest.n);
        owl_str line = {s->rest.p, end ? (size_t)(end - s->rest.p) + 1 : s->rest.n};
        s->rest.p += line.n;
        s->rest.n -= line.n;
        feed(s, line);
    }
}

/* Reads one piece, if the one before is used up. */
static void read_some(struct owl_stdio *s)
{
    ssize_t n;
    if (s->rest.n > 0) {
        feed_rest(s);
        return;
    }
    do {
        n = s->in.socket ? recv(s->in.fd, s->buf, sizeof(s->buf), MSG_DONTWAIT)
                         : read(s->in.fd, s->buf, sizeof(s->buf));
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    if (n > 0) {
        s->rest = (owl_str){s->buf, (size_t)n};
        feed_rest(s);
        return;
    }
    s->ended = true;
    read_update(s);
    if (n == 0)
        feed(s, OWL_STR("\n")); /* the last line may lack its end */
    tell_end(s);
}

/* On an error libuv has stopped polling; the read says whether there is more. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)events;
    struct owl_stdio *s = poll->data;
    if (status < 0)
        s->input = OFF;
    read_some(s);
    read_update(s);
}

/* The event would come again and again. */
static void on_hangup(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct owl_stdio *s = poll->data;
    s->input = HUNG_UP;
    OWL_IGNORE(uv_poll_stop(poll)); /* it cannot fail */
    owl_timer_start(s->reactor, &s->timer, PATIENCE_MS);
}

static void on_idle(uv_idle_t *idle)
{
    read_some(idle->data);
}

/* Whether or not there is more to read: the rest of a piece is there. */
static void on_again(struct owl_timer *t)
{
    struct owl_stdio *s = OWL_CONTAINER(t, struct owl_stdio, again);
    feed_rest(s);
    read_update(s);
}

/* Reads or does not read, as the state demands. */
static void read_update(struct owl_stdio *s)
{
    enum input before = s->input;
    s->input = input_wanted(s);
    if (s->input == before)
        return;
    if (s->input == READING && s->rest.n > 0)
        owl_timer_start(s->reactor, &s->again, 0);
    if (before == HUNG_UP)
        owl_timer_stop(&s->timer);
    int rc;
    if (!s->in.pollable)
        rc = s->input == READING ? uv_idle_start(&s->in.uv.idle, on_idle)
                                 : uv_idle_stop(&s->in.uv.idle);
    else if (s->input == READING)
        rc = uv_poll_start(&s->in.uv.poll, UV_READABLE, on_readable);
    else if (s->input == PAUSED)
        rc = uv_poll_start(&s->in.uv.poll, UV_DISCONNECT, on_hangup);
    else
        rc = uv_poll_stop(&s->in.uv.poll);
    OWL_ASSERT(rc == 0); /* the handles are open and the callbacks are given */
}

int owl_stdio_read(struct owl_stdio *s)
{
    owl_reactor_assert(s->reactor);
    if (s->closing)
        return -OWL_ECLOSED;
    s->wanted = true;
    read_update(s);
    return 0;
}

/* ---- life ---- */

static void on_timer(struct owl_timer *t)
{
    struct owl_stdio *s = OWL_CONTAINER(t, struct owl_stdio, timer);
    if (s->closing) {
        finish(s);
        return;
    }
    s->ended = true;
    read_update(s);
    tell_end(s);
}

static void stdio_free(struct owl_stdio *s)
{
    end_close(&s->in);
    end_close(&s->out);
    if (s->stdout_fd >= 0) {
        OWL_IGNORE(dup2(s->stdout_fd, STDOUT_FILENO) < 0); /* nobody is left to be told */
        close(s->stdout_fd);
    }
    owl_line_done(&s->lines);
    owl_buf_done(&s->queue);
    owl_free(s);
}

static void on_closed(uv_handle_t *handle)
{
    struct owl_stdio *s = handle->data;
    if (--s->handles > 0)
        return;
    void (*done)(void *) = s->done;
    void *user = s->user;
    stdio_free(s);
    if (done)
        done(user);
}

/* Closes what there is of handles; the memory goes with the last of them. */
static void finish(struct owl_stdio *s)
{
    if (s->finished)
        return;
    s->finished = true;
    owl_timer_stop(&s->again);
    owl_timer_stop(&s->timer);
    s->handles = s->out.pollable ? 2 : 1;
    uv_close(&s->in.uv.handle, on_closed);
    if (s->out.pollable)
        uv_close(&s->out.uv.handle, on_closed);
}

void owl_stdio_close(struct owl_stdio *s, unsigned flush_ms, void (*done)(void *user))
{
    owl_reactor_assert(s->reactor);
    OWL_ASSERT(!s->closing);
    s->closing = true;
    s->done = done;
    read_update(s);
    if (s->queue.n == 0)
        finish(s);
    else
        owl_timer_start(s->reactor, &s->timer, flush_ms);
}

/* From here on descriptor 1 is standard error's, until the close. */
static int take_stdout(struct owl_stdio *s, owl_error *reterr)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD);
    if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return owl_fail(reterr, OWL_EIO, "standard output: %s", strerror(error));
    }
    s->stdout_fd = fd;
    return 0;
}

static int open_ends(struct owl_stdio *s, const struct owl_stdio_options *o, owl_error *reterr)
{
    uv_loop_t *loop = owl_reactor_loop(s->reactor);
    int rc = end_open(&s->in, o->in_fd, O_RDONLY, reterr);
    if (rc == 0)
        rc = end_open(&s->out, o->out_fd, O_WRONLY, reterr);
    if (rc == 0 && o->own_stdout)
        rc = take_stdout(s, reterr);
    if (rc == 0)
        rc = end_watch(&s->in, loop, reterr);
    if (rc != 0)
        return rc;
    if (!s->in.pollable)
        OWL_IGNORE(uv_idle_init(loop, &s->in.uv.idle)); /* it cannot fail */
    s->in.uv.handle.data = s;
    /* From here on there is a handle, and a failure has to close it. */
    rc = end_watch(&s->out, loop, reterr);
    if (rc != 0) {
        s->closing = true;
        finish(s);
        return rc;
    }
    if (s->out.pollable)
        s->out.uv.handle.data = s;
    return 0;
}

int owl_stdio_open(struct owl_reactor *r, const struct owl_stdio_options *o,
                   const struct owl_stdio_ops *ops, void *user, struct owl_stdio **ret,
                   owl_error *reterr)
{
    owl_reactor_assert(r);
    if (o->own_stdout && o->out_fd != STDOUT_FILENO)
        return owl_fail(reterr, OWL_EINVAL, "own_stdout needs out_fd to be %d", STDOUT_FILENO);
    struct owl_stdio *s = owl_malloc(sizeof(*s));
    if (!s)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    memset(s, 0, offsetof(struct owl_stdio, buf)); /* the buffer is touched when it is used */
    s->reactor = r;
    s->ops = *ops;
    s->user = user;
    s->queue_bytes = o->queue_bytes ? o->queue_bytes : QUEUE_BYTES;
    s->in.fd = s->out.fd = s->stdout_fd = -1;
    s->in.restore = s->out.restore = -1;
    owl_line_init(&s->lines, o->line_bytes ? o->line_bytes : LINE_BYTES);
    owl_buf_init(&s->queue, SIZE_MAX);
    owl_timer_init(&s->again, on_again);
    owl_timer_init(&s->timer, on_timer);
    int rc = open_ends(s, o, reterr);
    if (rc != 0) {
        if (!s->finished)
            stdio_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

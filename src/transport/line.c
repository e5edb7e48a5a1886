/* transport/line.c - split a byte stream into lines.
 * Threads: one at a time.
 *
 * Invariants: what is reported does not depend on how the bytes were cut into pieces. The buffer
 * holds a partial line only, never more than `max` bytes and one CR that may belong to the end. A
 * line that arrives in one piece is reported where it lies, without a copy. */
#include "transport/line.h"

/* A buffer that one long line has made larger than this is not kept for the next. */
#define KEPT_BYTES ((size_t)64 * 1024)

void owl_line_init(struct owl_line *l, size_t max)
{
    OWL_ASSERT(max < SIZE_MAX);
    owl_buf_init(&l->buf, max + 1);
    l->max = max;
    l->skipping = l->unseen = false;
}

void owl_line_done(struct owl_line *l)
{
    owl_buf_done(&l->buf);
    l->skipping = false;
}

static void forget(struct owl_line *l)
{
    if (l->buf.cap > KEPT_BYTES)
        owl_buf_done(&l->buf);
    else
        owl_buf_reset(&l->buf);
}

static void pass(const struct owl_line_ops *ops, void *user, owl_str piece, bool last)
{
    if (ops->skipped)
        ops->skipped(user, piece, last);
}

static void report(const struct owl_line *l, owl_str line, const struct owl_line_ops *ops,
                   void *user)
{
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (line.n > l->max) {
        ops->overlong(user);
        pass(ops, user, line, true);
    } else if (line.n > 0) {
        ops->line(user, line);
    }
}

/* Whether a partial line of @p n bytes that ends in @p last is too long however it goes on. */
static bool hopeless(const struct owl_line *l, size_t n, char last)
{
    return n > l->max && !(n == l->max + 1 && last == '\r');
}

/* The line of which the buffer has the beginning is too long. */
static void refuse(struct owl_line *l, owl_str part, bool last, const struct owl_line_ops *ops,
                   void *user)
{
    l->skipping = !last;
    l->unseen = false;
    ops->overlong(user);
    if (l->buf.n > 0)
        pass(ops, user, owl_buf_str(&l->buf), false);
    pass(ops, user, part, last);
    forget(l);
}

/* Keep the beginning of a line whose end has not come yet. */
static int keep(struct owl_line *l, owl_str part, const struct owl_line_ops *ops, void *user)
{
    if (part.n == 0)
        return 0;
    if (hopeless(l, l->buf.n + part.n, part.p[part.n - 1])) {
        refuse(l, part, false, ops, user);
        return 0;
    }
    owl_buf_puts(&l->buf, part);
    if (l->buf.rc == 0)
        return 0;
    owl_buf_done(&l->buf);
    l->skipping = l->unseen = true;
    return -OWL_ENOMEM;
}

/* The end of a line whose beginning was kept. */
static int complete(struct owl_line *l, owl_str part, const struct owl_line_ops *ops, void *user)
{
    if (part.n > l->max + 1 - l->buf.n) {
        refuse(l, part, true, ops, user);
        return 0;
    }
    owl_buf_puts(&l->buf, part);
    if (l->buf.rc != 0) {
        owl_buf_done(&l->buf);
        return -OWL_ENOMEM;
    }
    report(l, owl_buf_str(&l->buf), ops, user);
    forget(l);
    return 0;
}

int owl_line_feed(struct owl_line *l, owl_str bytes, const struct owl_line_ops *ops, void *user)
{
    int rc = 0;
    while (bytes.n > 0) {
        const char *end = memchr(bytes.p, '\n', bytes.n);
        owl_str part = {bytes.p, end ? (size_t)(end - bytes.p) : bytes.n};
        int r = 0;
        if (l->skipping) {
            l->skipping = !end;
            if (!l->unseen)
                pass(ops, user, part, end);
        } else if (!end) {
            r = keep(l, part, ops, user);
        } else if (l->buf.n > 0) {
            r = complete(l, part, ops, user);
        } else {
            report(l, part, ops, user);
        }
        if (r != 0)
            rc = r;
        size_t used = part.n + (end ? 1 : 0);
        bytes.p += used;
        bytes.n -= used;
    }
    return rc;
}

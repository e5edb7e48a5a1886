/* base/buf.h - a growing run of bytes with a stated maximum, on the heap or in an arena.
 * Layer: base. Threads: one at a time.
 *
 * The first failure (no memory, over the maximum) is kept in `rc`; later appends do nothing, so
 * that a writer checks once at its end. */
#ifndef OWL_BASE_BUF_H
#define OWL_BASE_BUF_H

#include "base/arena.h"

struct owl_buf {
    char *p;
    size_t n;
    size_t cap;              /* p has cap + 1 bytes: a NUL fits behind the last one */
    size_t max;              /* most bytes that it may ever hold */
    struct owl_arena *arena; /* NULL: heap */
    int rc;                  /* 0, -OWL_ENOMEM or -OWL_ELIMIT */
};

void owl_buf_init(struct owl_buf *b, size_t max);
void owl_buf_init_arena(struct owl_buf *b, struct owl_arena *a, size_t max);
void owl_buf_done(struct owl_buf *b);  /* frees; the buffer is empty and usable afterwards */
void owl_buf_reset(struct owl_buf *b); /* empties, keeps the memory, forgets the error */

/* Makes room for @p n more bytes. The room is at b->p + b->n; add what was used to b->n. */
int owl_buf__grow(struct owl_buf *b, size_t n);
static inline int owl_buf_reserve(struct owl_buf *b, size_t n)
{
    return OWL_LIKELY(b->rc == 0 && n <= b->cap - b->n) ? 0 : owl_buf__grow(b, n);
}

static inline void owl_buf_putc(struct owl_buf *b, char c)
{
    if (owl_buf_reserve(b, 1) == 0)
        b->p[b->n++] = c;
}

static inline void owl_buf_put(struct owl_buf *b, const void *p, size_t n)
{
    if (n == 0 || owl_buf_reserve(b, n))
        return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

static inline void owl_buf_puts(struct owl_buf *b, owl_str s)
{
    owl_buf_put(b, s.p, s.n);
}

static inline void owl_buf_putz(struct owl_buf *b, const char *z)
{
    owl_buf_puts(b, owl_str_of(z));
}

void owl_buf_printf(struct owl_buf *b, const char *fmt, ...) OWL_PRINTF(2, 3);
void owl_buf_putu(struct owl_buf *b, uint64_t v); /* decimal */
/* Removes the first @p n bytes. */
void owl_buf_consume(struct owl_buf *b, size_t n);
static inline owl_str owl_buf_str(const struct owl_buf *b)
{
    return (owl_str){b->p ? b->p : "", b->n};
}

#endif

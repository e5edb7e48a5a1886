/* base/buf.c - a growing run of bytes.
 * Threads: one at a time.
 *
 * Invariants: n <= cap <= max; p has cap + 1 bytes, so that a NUL always fits behind the text. */
#include "base/buf.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>

enum { FIRST = 128 };

void owl_buf_init(struct owl_buf *b, size_t max)
{
    owl_buf_init_arena(b, NULL, max);
}

void owl_buf_init_arena(struct owl_buf *b, struct owl_arena *a, size_t max)
{
    *b = (struct owl_buf){.max = max < SIZE_MAX / 2 ? max : SIZE_MAX / 2, .arena = a};
}

void owl_buf_done(struct owl_buf *b)
{
    if (!b->arena)
        owl_free(b->p);
    owl_buf_init_arena(b, b->arena, b->max);
}

void owl_buf_reset(struct owl_buf *b)
{
    b->n = 0;
    b->rc = 0;
}

static int grow(struct owl_buf *b, size_t need)
{
    size_t cap = b->cap < FIRST ? FIRST : b->cap * 2;
    if (cap > b->max)
        cap = b->max;
    if (cap < need)
        cap = need;
    size_t old_n = b->p ? b->cap + 1 : 0;
    char *p = b->arena ? owl_arena_realloc(b->arena, b->p, old_n, cap + 1)
                       : owl_realloc(b->p, cap + 1);
    if (!p)
        return b->rc = b->arena && owl_arena_over(b->arena) ? -OWL_ELIMIT : -OWL_ENOMEM;
    b->p = p;
    b->cap = cap;
    return 0;
}

int owl_buf__grow(struct owl_buf *b, size_t n)
{
    if (b->rc)
        return b->rc;
    if (n > b->max - b->n)
        return b->rc = -OWL_ELIMIT;
    return grow(b, b->n + n);
}

void owl_buf_printf(struct owl_buf *b, const char *fmt, ...)
{
    if (b->rc)
        return;
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    size_t room = b->p ? b->cap - b->n + 1 : 0;
    int n = vsnprintf(room ? b->p + b->n : NULL, room, fmt, args);
    if (n < 0)
        b->rc = -OWL_ELIMIT; /* the text would be longer than INT_MAX */
    else if ((size_t)n >= room && n > 0 && owl_buf_reserve(b, (size_t)n) == 0)
        n = vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
    if (b->rc == 0)
        b->n += (size_t)n;
    va_end(again);
    va_end(args);
}

void owl_buf_putu(struct owl_buf *b, uint64_t v)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    owl_buf_put(b, digits + at, sizeof digits - at);
}

void owl_buf_consume(struct owl_buf *b, size_t n)
{
    OWL_ASSERT(n <= b->n);
    b->n -= n;
    if (n && b->n)
        memmove(b->p, b->p + n, b->n);
}

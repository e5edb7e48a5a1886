/* unit/formats/reading.h - what the tests of the readers share: cases of a text and what becomes of
 * it, as JSON or as a fault. */
#ifndef OWL_UNIT_CODEC_READING_H
#define OWL_UNIT_CODEC_READING_H

#include "support/test.h"

#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "formats/value.h"

typedef int (*read_fn)(const struct owl_reading *r, struct owl_value **ret);

/* One text that was read. */
struct reading {
    struct owl_arena *arena;
    struct owl_faults faults;
    struct owl_value *tree; /* NULL if it failed */
    int rc;
};

static inline struct reading read_with(read_fn fn, owl_str text, uint32_t depth, uint32_t values)
{
    struct reading r = {.arena = owl_arena_new(0)};
    assert_non_null(r.arena);
    r.faults.arena = r.arena;
    char *exact = malloc(text.n + !text.n); /* a block of its own, so that an overrun is seen */
    assert_non_null(exact);
    memcpy(exact, text.p, text.n);
    struct owl_reading in = {{exact, text.n}, 7, r.arena, &r.faults, depth, values};
    r.rc = fn(&in, &r.tree);
    free(exact); /* nothing of it is kept */
    if (r.rc == -OWL_EPARSE)
        assert_true(r.faults.errors > 0);
    if (r.rc)
        assert_null(r.tree);
    for (size_t i = 0; i < r.faults.n; i++) {
        assert_int_equal(r.faults.list[i].at.source, 7);
        assert_true(r.faults.list[i].at.line > 0 && r.faults.list[i].at.column > 0);
        assert_true(r.faults.list[i].what.n > 0 && r.faults.list[i].width > 0);
    }
    return r;
}

/* "line:column what [hint]" of the first fault, then ", and N more". */
static inline void print_faults(const struct reading *r, char *out, size_t n)
{
    out[0] = '\0';
    if (r->faults.n == 0)
        return;
    const struct owl_fault *f = &r->faults.list[0];
    snprintf(out, n, "%u:%u %s [%s]", f->at.line, f->at.column, f->what.p,
             f->hint.p ? f->hint.p : "");
    if (r->faults.errors > 1) {
        size_t at = strlen(out);
        snprintf(out + at, n - at, ", and %zu more", r->faults.errors - 1);
    }
}

struct reading_case {
    const char *text;
    const char *json;  /* NULL: no tree */
    const char *fault; /* how the faults begin; NULL: none */
};

static inline void check_case(read_fn fn, const struct reading_case *c)
{
    struct reading r = read_with(fn, owl_str_of(c->text), 0, 0);
    char faults[1024];
    print_faults(&r, faults, sizeof faults);
    if (c->fault ? strncmp(faults, c->fault, strlen(c->fault)) != 0 : faults[0] != '\0')
        fail_msg("%s\n  has the fault     %s\n  and should have   %s", c->text, faults,
                 c->fault ? c->fault : "none");
    assert_int_equal(r.rc, c->json ? 0 : -OWL_EPARSE);
    if (c->json) {
        struct owl_buf b;
        owl_buf_init(&b, 65536);
        owl_value_json(&b, r.tree, NULL);
        owl_buf_putc(&b, '\0');
        assert_int_equal(b.rc, 0);
        if (strcmp(b.p, c->json) != 0)
            fail_msg("%s\n  is read as  %s\n  and is      %s", c->text, b.p, c->json);
        owl_buf_done(&b);
    }
    owl_arena_free(r.arena);
}

/* Every value as "pointer key_line:key_column line:column", one a line. */
static inline void check_marks(read_fn fn, const char *text, const char *expected)
{
    struct reading r = read_with(fn, owl_str_of(text), 0, 0);
    assert_int_equal(r.rc, 0);
    struct owl_buf b;
    owl_buf_init(&b, 65536);
    for (const struct owl_value *v = r.tree; v; v = owl_value_next(r.tree, v)) {
        owl_value_pointer(&b, r.tree, v);
        owl_buf_printf(&b, " %u:%u %u:%u\n", v->key_at.line, v->key_at.column, v->at.line,
                       v->at.column);
        assert_int_equal(v->at.source, 7);
    }
    owl_buf_putc(&b, '\0');
    assert_string_equal(b.p, expected);
    owl_buf_done(&b);
    owl_arena_free(r.arena);
}

/* A text that is too much must be refused, in time and with these words. */
static inline void check_bomb(read_fn fn, owl_str text, const char *fault)
{
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    struct reading r = read_with(fn, text, 0, 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    assert_int_equal(r.rc, -OWL_EPARSE);
    char faults[1024];
    const struct owl_fault *last = &r.faults.list[r.faults.n - 1];
    snprintf(faults, sizeof faults, "%u:%u %s", last->at.line, last->at.column, last->what.p);
    assert_string_equal(faults, fault);
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    if (seconds > 5) /* below one; what is quadratic takes minutes */
        fail_msg("%s: %.1f s", fault, seconds);
    owl_arena_free(r.arena);
}

/* Runs out of memory at every allocation of a reading. */
static inline void check_no_memory(read_fn fn, const char *text)
{
    for (unsigned long at = 1;; at++) {
        struct owl_arena *a = owl_arena_new(0);
        struct owl_faults faults = {.arena = a};
        struct owl_value *tree = NULL;
        struct owl_reading in = {owl_str_of(text), 0, a, &faults, 0, 0};
        owl_alloc_fail_at(at);
        int rc = fn(&in, &tree);
        owl_alloc_fail_at(0);
        assert_true(rc == 0 || rc == -OWL_ENOMEM);
        assert_int_equal(rc == 0, tree != NULL);
        owl_arena_free(a);
        if (rc == 0)
            break;
        assert_true(at < 100000);
    }
}

static inline owl_str repeated(struct owl_buf *b, const char *before, const char *text, size_t n)
{
    owl_buf_init(b, SIZE_MAX);
    owl_buf_putz(b, before);
    for (size_t i = 0; i < n; i++)
        owl_buf_putz(b, text);
    assert_int_equal(b->rc, 0);
    return owl_buf_str(b);
}

#endif

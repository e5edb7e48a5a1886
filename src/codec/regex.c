/* codec/regex.c - regular expressions: by a machine of our own, or by PCRE2.
 * Threads: a compiled expression is immutable; a matcher belongs to one thread.
 *
 * PCRE2 compiles every pattern, and so decides what is one. It searches only for patterns that the
 * machine cannot run, and stops before each item of the pattern to have the step counted. Invariant:
 * between two of these stops it does no more than the later one is charged for. */
#include "codec/regex.h"

#include "base/alloc.h"
#include "base/err.h"
#include "codec/regex/program.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { PATTERN_MAX = 64 * 1024 };
enum { PLACES_A_BYTE = 16, BYTES_A_STEP = 16 };
enum { CODE_A_STEP = 2 }; /* bytes that PCRE2 makes in a step, if groups lie within one another */
enum { MEMORY_MOST = 64 * 1024 * 1024 }; /* what a search may remember of where to go back to */

struct owl_regex {
    const struct owl_program *program; /* or, if it cannot be one: */
    const pcre2_code *code;
    uint32_t most; /* the greatest count of a repetition */
};

/* ---- compiling ------------------------------------------------------------------------------ */

static void *on_heap(size_t n, void *ctx)
{
    (void)ctx;
    return owl_malloc(n);
}

static void off_heap(void *p, void *ctx)
{
    (void)ctx;
    owl_free(p);
}

static void free_code(void *code)
{
    pcre2_code_free(code);
}

static int refuse(int code, owl_error *reterr)
{
    char message[160] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof message);
    if (code == PCRE2_ERROR_PATTERN_TOO_LARGE || code == PCRE2_ERROR_QUANTIFIER_TOO_BIG)
        return owl_fail(reterr, OWL_ELIMIT,
                        code == PCRE2_ERROR_PATTERN_TOO_LARGE
                            ? "the pattern is too large: compiled, with its counted groups written "
                              "out as often as they may be there, it takes more than 64 KiB"
                            : "the pattern repeats something more than 65535 times by count");
    return owl_fail(reterr, OWL_EINVAL, "not a regular expression: %s", message);
}

static int compile(owl_str text, uint32_t more_options, pcre2_code **ret, owl_error *reterr)
{
    const uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY |
                             PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF |
                             PCRE2_NEVER_BACKSLASH_C | more_options;
    pcre2_general_context *heap = pcre2_general_context_create(on_heap, off_heap, NULL);
    if (!heap)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    pcre2_compile_context *context = pcre2_compile_context_create(heap);
    int code = 0;
    PCRE2_SIZE at = 0;
    *ret = context ? pcre2_compile((PCRE2_SPTR)text.p, text.n, options, &code, &at, context) : NULL;
    pcre2_compile_context_free(context);
    pcre2_general_context_free(heap);
    if (*ret)
        return 0;
    if (!context || code == PCRE2_ERROR_HEAP_FAILED)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    return refuse(code, reterr);
}

static int translate(struct owl_translation *t, owl_str pattern, owl_error *reterr)
{
    t->start = t->p = pattern.p;
    t->end = pattern.p + pattern.n;
    owl_buf_init(&t->out, SIZE_MAX / 2);
    if (!owl_regex__translate(t))
        return owl_fail(reterr, OWL_EINVAL, "not a regular expression: %s at byte %zu", t->fault,
                        (size_t)(t->p - t->start));
    return t->out.rc ? owl_fail(reterr, -t->out.rc, NULL) : 0;
}

/* Compiles what is translated; if that is too large, its brief translation, which is slower. */
static int compile_either(const struct owl_translation *t, owl_str pattern, uint32_t options,
                          pcre2_code **ret, owl_error *reterr)
{
    int rc = compile(owl_buf_str(&t->out), options, ret, reterr);
    if (rc != -OWL_ELIMIT)
        return rc;
    struct owl_translation brief = {.brief = true, .groups = t->groups};
    rc = translate(&brief, pattern, reterr);
    if (rc == 0)
        rc = compile(owl_buf_str(&brief.out), options, ret, reterr);
    owl_buf_done(&brief.out);
    return rc;
}

static size_t size_of(const pcre2_code *code)
{
    size_t plain = 0, jit = 0;
    OWL_IGNORE(pcre2_pattern_info(code, PCRE2_INFO_SIZE, &plain)); /* cannot fail */
    OWL_IGNORE(pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &jit));
    return plain + jit;
}

/* The arena takes the code over, which counts against it. */
static int keep(struct owl_arena *a, pcre2_code *code)
{
    if (owl_arena_charge(a, size_of(code)) && owl_arena_cleanup(a, free_code, code) == 0)
        return 0;
    pcre2_code_free(code);
    return owl_arena_over(a) ? -OWL_ELIMIT : -OWL_ENOMEM;
}

/* What searches for a pattern that PCRE2 has accepted. */
static int make(struct owl_arena *a, const struct owl_translation *t, owl_str pattern,
                struct owl_regex *re, owl_error *reterr)
{
    int rc = t->refers_back ? 0 : owl_program__new(a, owl_buf_str(&t->out), &re->program);
    if (rc)
        return owl_fail(reterr, -rc, NULL);
    if (re->program)
        return 0;
    pcre2_code *code = NULL;
    rc = compile_either(t, pattern, PCRE2_AUTO_CALLOUT, &code, reterr);
    if (rc)
        return rc;
    re->code = code;
    re->most = t->most;
    rc = keep(a, code);
    return rc ? owl_fail(reterr, -rc, NULL) : 0;
}

int owl_regex_new(struct owl_arena *a, owl_str pattern, const struct owl_regex **ret,
                  owl_error *reterr)
{
    if (pattern.n > PATTERN_MAX)
        return owl_fail(reterr, OWL_ELIMIT, "a pattern of more than %d bytes", PATTERN_MAX);
    struct owl_regex *re = owl_arena_zalloc(a, sizeof *re);
    if (!re)
        return owl_fail(reterr, owl_arena_over(a) ? OWL_ELIMIT : OWL_ENOMEM, NULL);
    struct owl_translation t = {.groups = 0};
    pcre2_code *code = NULL;
    int rc = translate(&t, pattern, reterr);
    if (rc == 0)
        rc = compile_either(&t, pattern, 0, &code, reterr);
    pcre2_code_free(code);
    if (rc == 0)
        rc = make(a, &t, pattern, re, reterr);
    owl_buf_done(&t.out);
    if (rc == 0)
        *ret = re;
    return rc;
}

bool owl_regex_valid(owl_str pattern, uint64_t *ret_more)
{
    struct owl_translation t = {.groups = 0};
    pcre2_code *code = NULL;
    bool valid = pattern.n <= PATTERN_MAX && translate(&t, pattern, NULL) == 0 &&
                 compile_either(&t, pattern, 0, &code, NULL) == 0;
    if (ret_more)
        *ret_more = valid ? size_of(code) / CODE_A_STEP : 0;
    pcre2_code_free(code);
    owl_buf_done(&t.out);
    return valid;
}

/* ---- matchers ------------------------------------------------------------------------------- */

/* From the room of the matcher as long as there is some. Nothing goes back there. */
static void *in_room(size_t n, void *matcher)
{
    struct owl_matcher *m = matcher;
    if (n > sizeof m->room - m->used)
        return owl_malloc(n);
    char *p = m->room + m->used;
    m->used += (uint32_t)(n + 15) & ~15u;
    return p;
}

static void off_room(void *p, void *matcher)
{
    struct owl_matcher *m = matcher;
    uintptr_t offset = (uintptr_t)p - (uintptr_t)m->room;
    if (offset >= sizeof m->room)
        owl_free(p);
}

static int prepare(struct owl_matcher *m)
{
    if (m->data)
        return 0;
    pcre2_general_context *room = pcre2_general_context_create(in_room, off_room, m);
    if (!room)
        return -OWL_ENOMEM;
    m->data = pcre2_match_data_create(1, room);
    m->context = m->data ? pcre2_match_context_create(room) : NULL;
    pcre2_general_context_free(room);
    if (!m->context) {
        owl_matcher_done(m);
        return -OWL_ENOMEM;
    }
    pcre2_set_heap_limit(m->context, MEMORY_MOST / 1024);
    return 0;
}

void owl_matcher_done(struct owl_matcher *m)
{
    if (m->data)
        pcre2_match_data_free(m->data);
    if (m->context)
        pcre2_match_context_free(m->context);
    m->data = m->context = NULL;
    m->used = 0;
}

/* ---- classes -------------------------------------------------------------------------------- */

int owl_regex__class(struct owl_arena *a, owl_str translated, const void **ret)
{
    pcre2_code *code = NULL;
    int rc = compile(translated, PCRE2_ANCHORED, &code, NULL);
    if (rc) /* the whole pattern has compiled */
        return -OWL_ENOMEM;
    OWL_IGNORE(pcre2_jit_compile(code, PCRE2_JIT_COMPLETE)); /* slower without, else the same */
    *ret = code;
    return keep(a, code);
}

int owl_regex__class_has(const void *class, struct owl_matcher *m, owl_str utf8, bool *ret)
{
    if (prepare(m))
        return -OWL_ENOMEM;
    int rc = pcre2_match(class, (PCRE2_SPTR)utf8.p, utf8.n, 0, PCRE2_NO_UTF_CHECK, m->data,
                         m->context);
    *ret = rc >= 0;
    return rc >= 0 || rc == PCRE2_ERROR_NOMATCH ? 0 : -OWL_ENOMEM;
}

/* ---- backtracking --------------------------------------------------------------------------- */

struct counting {
    uint64_t budget, cost; /* steps */
    uint64_t places;       /* that may still be tried */
    uint32_t most;
    size_t last; /* where the place before was */
    bool spent;  /* the budget is */
};

/* The longest text that a group has. */
static size_t longest_group(const pcre2_callout_block *b)
{
    size_t longest = 0;
    for (uint32_t i = 1; i < b->capture_top; i++) {
        PCRE2_SIZE from = b->offset_vector[2 * i], to = b->offset_vector[2 * i + 1];
        if (from != PCRE2_UNSET && to != PCRE2_UNSET && to > from && to - from > longest)
            longest = to - from;
    }
    return longest;
}

/* PCRE2 is about to try an item of the pattern at a place. It has gone there from the place before,
 * and that item may have failed after a number of characters, or of copies of a group: those that
 * its count asks for, or one, but no more than there is text. */
static int count(pcre2_callout_block *b, void *data)
{
    struct counting *c = data;
    size_t at = b->current_position, rest = b->subject_length - at;
    size_t passed = at > c->last ? at - c->last : c->last - at;
    uint64_t failed = (uint64_t)(longest_group(b) + 4) * (c->most + 1);
    c->cost += 1 + b->capture_top / 8 + (passed + (failed < rest ? failed : rest)) / BYTES_A_STEP;
    c->last = at;
    c->spent = c->cost > c->budget;
    return c->spent || c->places-- == 0 ? PCRE2_ERROR_CALLOUT : 0;
}

static int search_back(const struct owl_regex *re, struct owl_matcher *m, owl_str s,
                       bool *ret_found)
{
    if (prepare(m))
        return -OWL_ENOMEM;
    uint64_t places = m->max_match + (uint64_t)s.n * PLACES_A_BYTE;
    struct counting c = {.budget = m->budget,
                         .cost = 8 + s.n / BYTES_A_STEP, /* to find out where it may begin */
                         .places = places,
                         .most = re->most};
    if (c.cost > m->budget) {
        m->cost = m->budget;
        return -OWL_EBUSY;
    }
    pcre2_set_callout(m->context, count, &c);
    int rc = pcre2_match(re->code, (PCRE2_SPTR)s.p, s.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                         m->data, m->context);
    pcre2_set_callout(m->context, NULL, NULL);
    m->cost = c.cost < m->budget ? c.cost : m->budget;
    if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH) {
        *ret_found = rc >= 0;
        return 0;
    }
    if (rc == PCRE2_ERROR_CALLOUT && c.spent)
        return -OWL_EBUSY;
    m->why = rc == PCRE2_ERROR_HEAPLIMIT ? "a pattern takes too much memory to match"
                                         : "a pattern takes too many steps to match";
    return rc == PCRE2_ERROR_NOMEMORY ? -OWL_ENOMEM : -OWL_ELIMIT;
}

int owl_regex_search(const struct owl_regex *re, struct owl_matcher *m, owl_str s, bool *ret_found)
{
    m->cost = 0;
    return re->program ? owl_program__search(re->program, m, s, ret_found)
                       : search_back(re, m, s, ret_found);
}

/* fuzz/wants.h - what the clients of a fuzz target wait for, and what they have seen. */
#ifndef OWL_FUZZ_WANTS_H
#define OWL_FUZZ_WANTS_H

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "codec/scan.h"

enum { WANTS = 64, SESSIONS = 4, MEMORIES = 4 };

/* ---- the record of a run ---- */

static bool trace;

static void __attribute__((format(printf, 2, 3))) note(unsigned peer, const char *fmt, ...)
{
    va_list ap;
    if (!trace)
        return;
    fprintf(stderr, "%u ", peer);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

#define TEXT(s) (int)((s).n), (s).p

/* ---- what was seen ---- */

/* What was seen and can be used again. */
static struct {
    char session[SESSIONS][80];
    unsigned n_sessions;
    char question[MEMORIES][80]; /* raw ids */
    unsigned n_questions;
    struct owl_buf state[MEMORIES]; /* requestState, raw */
    char call[MEMORIES][400];       /* the request that it belongs to */
    unsigned n_states;
    char event[MEMORIES][80]; /* ids */
    unsigned n_events;
    char task[MEMORIES][80]; /* ids */
    unsigned n_tasks;
    struct {
        char path[120]; /* where messages for an old event stream go */
        unsigned peer, exchange;
    } endpoint[MEMORIES];
    unsigned n_endpoints;
    char cursor[200];   /* raw */
    uint64_t cancelled; /* a bit for the hash of each id that HTTP peers have cancelled */
} seen;

/* The one of a ring of which @p n were seen that is @p back before the last. */
static unsigned recent(unsigned n, unsigned back)
{
    return (n + MEMORIES - 1 - back % MEMORIES) % MEMORIES;
}

static void keep_text(char *to, size_t size, owl_str text)
{
    size_t n = text.n < size ? text.n : 0; /* what is too long is as good as nothing */
    memcpy(to, text.p ? text.p : "", n);
    to[n] = '\0';
}

/* ---- requests ---- */

/* A request that waits for its answer. Exchange 0 is stdio; on HTTP, that of streams which were
 * lost and may be resumed: they are peer 1's. */
struct want {
    bool open;
    bool optional; /* it was cancelled, or may be refused together with others */
    unsigned peer, exchange;
    unsigned post;  /* the exchange that brought it, if another one brings the answer */
    char id[80];    /* raw */
    char call[400]; /* method, and params without their last brace: what a retry repeats */
};

static struct want wants[WANTS];

static struct want *want_new(unsigned peer, unsigned exchange)
{
    for (unsigned i = 0; i < WANTS; i++) {
        if (wants[i].open)
            continue;
        wants[i] = (struct want){.open = true, .peer = peer, .exchange = exchange};
        return &wants[i];
    }
    return NULL;
}

/* Of requests with the same id one that must be answered. */
static struct want *want_find(unsigned peer, unsigned exchange, owl_str id)
{
    struct want *found = NULL;
    for (unsigned i = 0; i < WANTS; i++) {
        struct want *w = &wants[i];
        if (w->open && w->peer == peer && w->exchange == exchange && owl_str_is(id, w->id) &&
            (!found || found->optional))
            found = w;
    }
    return found;
}

static void wants_drop(unsigned peer, unsigned exchange, bool all)
{
    for (unsigned i = 0; i < WANTS; i++)
        if ((wants[i].peer == peer && (all || wants[i].exchange == exchange)) ||
            (wants[i].post && wants[i].post == exchange))
            wants[i].open = false;
}

static void wants_excuse(unsigned peer, unsigned exchange)
{
    for (unsigned i = 0; i < WANTS; i++)
        if (wants[i].peer == peer && wants[i].exchange == exchange)
            wants[i].optional = true;
}

/* What an exchange brought for another stream may not have arrived. */
static void wants_doubt(unsigned exchange)
{
    for (unsigned i = 0; i < WANTS; i++)
        if (wants[i].post == exchange)
            wants[i].optional = true;
}

/* The client may still hear the answers, on another connection. */
static void wants_roam(unsigned peer, unsigned exchange, bool all)
{
    for (unsigned i = 0; i < WANTS; i++) {
        if (wants[i].peer != peer || (!all && wants[i].exchange != exchange))
            continue;
        wants[i].peer = 1;
        wants[i].exchange = 0;
        wants[i].optional = true;
    }
}

static void wants_check(unsigned peer, unsigned exchange, bool all)
{
    for (unsigned i = 0; i < WANTS; i++) {
        struct want *w = &wants[i];
        if (!w->open || w->peer != peer || (!all && w->exchange != exchange))
            continue;
        note(peer, "%s request %s has no answer", w->optional ? "optional" : "FATAL", w->id);
        OWL_ASSERT(w->optional);
        w->open = false;
    }
}

/* Members of a result that the program may come back to. */
static void remember(const struct want *w, owl_str result)
{
    owl_str state = owl_span_get(result, "requestState");
    owl_str cursor = owl_span_get(result, "nextCursor");
    owl_str task = owl_span_get(result, "taskId");
    if (!task.p)
        task = owl_span_get(owl_span_get(result, "task"), "taskId");
    if (owl_span_is_string(task))
        keep_text(seen.task[seen.n_tasks++ % MEMORIES], sizeof seen.task[0],
                  (owl_str){task.p + 1, task.n - 2});
    if (cursor.p)
        keep_text(seen.cursor, sizeof seen.cursor, cursor);
    if (!state.p)
        return;
    unsigned at = seen.n_states++ % MEMORIES;
    owl_buf_reset(&seen.state[at]);
    owl_buf_puts(&seen.state[at], state);
    memcpy(seen.call[at], w->call, sizeof w->call);
}

#endif

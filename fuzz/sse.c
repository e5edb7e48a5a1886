/* Fuzz event streams: their log (server/replay.h) against a model of it, and what it has written
 * read back as the HTML standard says.
 *
 * The input is a program. Of the first byte of an instruction the lowest four bits say what to do,
 * the next three with which log or reader, and the highest whether on the reactor, where readers
 * read at once. Whatever the messages hold, a reader gets all those after the event that it has
 * named, in their order, each once and whole; who names one that fits in the limits is not refused,
 * and no log is found that was forgotten. */
#include "server/replay.h"

#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)

#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "fuzz/clock.h"
#include "fuzz/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LOGS = 6, READERS = 6, EVENTS = 64, BYTES = 800, MOST = 5, STREAMS = 3, KEEP_MS = 1000 };
enum { OVERHEAD = 160, LOG_BYTES = 512, LAG = 4 }; /* bounds of what the log does by itself */

struct log {
    struct owl_replay *log; /* NULL: not the producer's any more */
    bool used, keep, feed, finished, primed;
    bool forgotten; /* it may be: its session was, it was replaced, or gave way */
    unsigned told;  /* how often the producer heard of it */
    uint64_t session, stream;
    struct reader *reader;
    struct owl_buf text[EVENTS + 1]; /* by number; 0 is the priming event */
    uint64_t last;                   /* number of the last one */
    uint64_t read;                   /* those before were read */
    uint64_t line_ms;                /* since when it may be forgotten; UINT64_MAX: it may not */
};

struct reader {
    struct owl_replay_reader rd;
    struct log *log;
    bool attached, freed;
    bool lazy;  /* does not read by itself */
    bool first; /* nothing has come yet */
    uint64_t
        next; /* what must come next; the first of all may be the one after the priming event */
    struct events events;
};

static struct owl_runtime *rt;
static struct owl_reactor *reactor;
static struct owl_replay_table *all;
static struct log logs[LOGS];
static struct reader *readers[READERS];
static uint64_t next_stream;
static owl_str program;

static unsigned byte(void)
{
    if (program.n == 0)
        return 0;
    unsigned b = (unsigned char)program.p[0];
    program = (owl_str){program.p + 1, program.n - 1};
    return b;
}

/* ---- the model ---- */

/* The first event that fits in the limits together with all after it: it must still be there. What
 * is before it may have been dropped, and if nobody had read it, the log with it. */
static uint64_t must_have(const struct log *l)
{
    size_t bytes = 0;
    uint64_t seq = l->last + 1;
    for (unsigned n = 0; l->keep && seq > (l->primed ? 0 : 1) && n < MOST; n++) {
        bytes += n > 0 ? OVERHEAD + l->text[seq - 1].n : 0; /* the last does not count */
        if (bytes > BYTES)
            break;
        seq--;
    }
    return seq;
}

static bool may_be_forgotten(const struct log *l)
{
    return l->forgotten || !l->keep || must_have(l) > l->read ||
           (l->line_ms != UINT64_MAX && owl_now_ms() - l->line_ms >= KEEP_MS);
}

static void stand_in_line(struct log *l)
{
    if (l->line_ms == UINT64_MAX)
        l->line_ms = owl_now_ms();
}

/* ---- readers ---- */

static void on_event(void *user, const struct event *e)
{
    struct reader *r = user;
    struct log *l = r->log;
    uint64_t seq = r->next;
    if (l->keep) {
        owl_str rest = e->id, part;
        uint64_t stream;
        OWL_ASSERT(e->has_id && owl_str_split(&rest, '-', &part));
        OWL_ASSERT(owl_str_u64(part, UINT64_MAX, &stream) && stream == l->stream);
        OWL_ASSERT(owl_str_u64(rest, UINT64_MAX, &seq));
    } else {
        OWL_ASSERT(!e->has_id);
    }
    OWL_ASSERT(seq == r->next || (r->first && r->next == 0 && seq == 1 && !l->primed));
    OWL_ASSERT(seq <= l->last && owl_str_eq(e->data, owl_buf_str(&l->text[seq])));
    OWL_ASSERT(e->type.n == 0);
    r->first = false;
    r->next = seq + 1;
    l->read = r->next > l->read ? r->next : l->read;
}

static void detach(struct reader *r)
{
    struct log *l = r->log;
    r->attached = false;
    if (l->reader == r) { /* no other has taken its place */
        l->reader = NULL;
        stand_in_line(l);
    }
    owl_replay_detach(&r->rd);
}

static void read_all(struct reader *r)
{
    enum owl_replay_state state;
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    do {
        owl_buf_reset(&b);
        state = owl_replay_read(&r->rd, &b);
        events_feed(&r->events, owl_buf_str(&b));
    } while (state == OWL_REPLAY_MORE);
    owl_buf_done(&b);
    OWL_ASSERT(r->events.line.n == 0 && !r->events.has_data); /* whole events */
    bool nothing = r->log->last == 0 && !r->log->primed;
    if (state == OWL_REPLAY_OPEN || state == OWL_REPLAY_ENDED) {
        OWL_ASSERT(nothing || r->next > r->log->last);
        OWL_ASSERT(r->log->finished == (state == OWL_REPLAY_ENDED));
    }
    if (state == OWL_REPLAY_ENDED || state == OWL_REPLAY_LOST)
        detach(r);
}

static void on_ready(struct owl_replay_reader *rd)
{
    struct reader *r = OWL_CONTAINER(rd, struct reader, rd);
    OWL_ASSERT(r->attached && !r->freed);
    if (!r->lazy)
        read_all(r);
}

static void on_free(struct owl_replay_reader *rd)
{
    struct reader *r = OWL_CONTAINER(rd, struct reader, rd);
    OWL_ASSERT(!r->attached && !r->freed);
    r->freed = true;
}

static void reap(void)
{
    for (unsigned i = 0; i < READERS; i++) {
        if (!readers[i] || !readers[i]->freed)
            continue;
        events_done(&readers[i]->events);
        OWL_FREE(&readers[i]);
    }
}

static void attach(struct log *l, struct owl_replay *log, uint64_t from, bool lazy)
{
    unsigned i = 0;
    while (i < READERS && readers[i])
        i++;
    if (i == READERS)
        return;
    struct reader *r = readers[i] = owl_calloc(1, sizeof *r);
    if (!r)
        return;
    events_init(&r->events, on_event, r);
    r->rd = (struct owl_replay_reader){.reactor = reactor, .ready = on_ready, .free = on_free};
    r->log = l;
    r->lazy = lazy;
    r->first = true;
    r->next = from ? from : !l->keep; /* only what is kept may be primed */
    if (owl_replay_attach(log, &r->rd, from) != 0) {
        OWL_ASSERT(may_be_forgotten(l) || from < must_have(l));
        r->freed = true;
        return;
    }
    r->attached = true;
    l->reader = r;
    if (!l->finished)
        l->line_ms = UINT64_MAX;
    if (!lazy)
        read_all(r);
}

/* ---- producers ---- */

static void on_forgotten(void *user)
{
    struct log *l = user;
    OWL_ASSERT(!l->finished && ++l->told == 1);
    OWL_ASSERT(may_be_forgotten(l));
}

/* Others of the session give way to a new log: any that nobody waits at may be the one. */
static void give_way(const struct log *new)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < LOGS; i++) {
        struct log *l = &logs[i];
        if (!l->used || l == new || l->session != new->session)
            continue;
        if (new->feed && l->feed)
            l->forgotten = true;
        kept += l->keep; /* maybe not any more */
    }
    for (unsigned i = 0; i < LOGS && kept >= STREAMS; i++)
        if (&logs[i] != new &&logs[i].session == new->session && logs[i].line_ms != UINT64_MAX)
            logs[i].forgotten = true;
}

static void do_new(struct log *l)
{
    unsigned how = byte();
    if (l->used)
        return;
    *l = (struct log){.keep = how & 1, .feed = how & 2, .line_ms = UINT64_MAX};
    l->session = 1 + (how >> 2) % 2;
    l->stream = ++next_stream;
    for (unsigned i = 0; i <= EVENTS; i++)
        owl_buf_init(&l->text[i], SIZE_MAX);
    struct owl_replay_init init = {.reactor = reactor,
                                   .session = l->session,
                                   .stream = l->stream,
                                   .flags = (l->keep ? OWL_REPLAY_KEEP : 0u) |
                                            (l->feed ? OWL_REPLAY_FEED : 0u),
                                   .forgotten = on_forgotten,
                                   .user = l};
    give_way(l);
    int rc = owl_replay_new(all, &init, &l->log);
    OWL_ASSERT(rc == 0 || (rc == -OWL_ELIMIT && l->keep));
    l->used = rc == 0;
    if (rc == 0 && (how & 16)) { /* as servers do: its first reader, then the priming event */
        attach(l, l->log, 0, how & 32);
        l->primed = l->keep && (how & 64);
        if (l->primed && owl_replay_prime(l->log) != 0)
            OWL_ASSERT(may_be_forgotten(l));
    }
}

/* A message is one line of JSON, whatever was to be said. */
static void put_message(struct owl_buf *b, unsigned how)
{
    size_t n = byte() * (how & 1 ? 8u : 1u);
    owl_str text = {program.p, n < program.n ? n : program.n};
    program = (owl_str){program.p + text.n, program.n - text.n};
    if ((how & 2) && owl_json_scan(text, OWL_JSON_DEPTH, NULL) == 0) {
        owl_json_compact(b, text);
        return;
    }
    owl_buf_putz(b, "{\"jsonrpc\":\"2.0\",\"method\":");
    owl_json_quote(b, text);
    owl_buf_putc(b, '}');
}

static void do_append(struct log *l, unsigned how)
{
    struct owl_buf b;
    if (!l->log || l->last == EVENTS)
        return;
    owl_buf_init(&b, SIZE_MAX);
    put_message(&b, how);
    OWL_ASSERT(owl_utf8_valid(owl_buf_str(&b)));
    owl_str rest = owl_buf_str(&b), plain, escape;
    l->last++;
    while (owl_json_line_split(&rest, &plain, &escape)) { /* as readers see it, maybe at once */
        owl_buf_puts(&l->text[l->last], plain);
        owl_buf_puts(&l->text[l->last], escape);
    }
    if (owl_replay_append(l->log, owl_buf_str(&b)) != 0) {
        OWL_ASSERT(may_be_forgotten(l));
        owl_buf_done(&l->text[l->last--]);
    }
    owl_buf_done(&b);
}

static void do_finish(struct log *l)
{
    if (!l->log)
        return;
    struct owl_replay *log = l->log;
    l->log = NULL;
    l->finished = true;
    stand_in_line(l);
    owl_replay_finish(log);
}

/* ---- coming back ---- */

static void come_back(struct log *l, owl_str id, uint64_t session, bool lazy)
{
    struct owl_replay_mark mark;
    int rc = owl_replay_find(all, session, id, &mark);
    if (rc != 0)
        return;
    owl_str rest = id, part;
    uint64_t stream = 0, seq = 0;
    OWL_ASSERT(owl_str_split(&rest, '-', &part) && owl_str_u64(part, UINT64_MAX, &stream) &&
               owl_str_u64(rest, UINT64_MAX, &seq));
    for (unsigned i = 0; i < LOGS; i++)
        if (logs[i].used && logs[i].stream == stream && logs[i].session == session)
            l = &logs[i];
    OWL_ASSERT(l->used && l->keep && l->stream == stream && seq <= l->last);
    OWL_ASSERT(mark.from == seq + 1 && mark.over == (l->finished && seq == l->last));
    attach(l, mark.log, mark.from, lazy);
    owl_replay_unref(mark.log);
}

/* With the id of an event that there was: it must be found while it is kept. */
static void do_resume(struct log *l, unsigned how)
{
    char id[64];
    uint64_t seq = byte() % (l->last + 2);
    if (!l->used)
        return;
    int n = snprintf(id, sizeof id, "%llu-%llu", (unsigned long long)l->stream,
                     (unsigned long long)seq);
    struct owl_replay_mark mark;
    int rc = owl_replay_find(all, l->session, (owl_str){id, (size_t)n}, &mark);
    OWL_ASSERT(rc == 0 || seq > l->last || may_be_forgotten(l) || seq + 1 < must_have(l));
    OWL_ASSERT(rc == -OWL_ENOTFOUND || (rc == 0 && seq <= l->last && l->keep));
    if (rc == 0)
        owl_replay_unref(mark.log);
    come_back(l, (owl_str){id, (size_t)n}, how & 1 ? l->session : 3 - l->session, how & 2);
}

static void do_find(struct log *l, unsigned how)
{
    size_t n = byte() % 40;
    owl_str id = {program.p, n < program.n ? n : program.n};
    program = (owl_str){program.p + id.n, program.n - id.n};
    come_back(l, id, 1 + how % 2, false);
}

/* ---- the run ---- */

static void do_forget(uint64_t session)
{
    for (unsigned i = 0; i < LOGS; i++)
        logs[i].forgotten = logs[i].forgotten || logs[i].session == session;
    owl_replay_table_forget(all, session);
}

static void do_reader(unsigned which, unsigned how)
{
    struct reader *r = readers[which % READERS];
    if (!r || !r->attached)
        return;
    if (how & 1)
        read_all(r);
    else
        detach(r);
}

static void check_bounds(void)
{
    size_t most = 0;
    for (unsigned i = 0; i < LOGS; i++) {
        const struct log *l = &logs[i];
        if (!l->used)
            continue;
        size_t last = OVERHEAD + l->text[l->last].n;
        size_t kept = (size_t)LAG * (BYTES + OVERHEAD); /* also after its reader has left */
        most += LOG_BYTES + last + kept;
    }
    OWL_ASSERT(owl_replay_table_bytes(all) <= most);
}

static void instruct(unsigned op)
{
    struct log *l = &logs[(op >> 4) % LOGS];
    switch (op & 15) {
    case 0: do_new(l); break;
    case 1:
    case 2:
    case 3:
    case 4: do_append(l, op); break;
    case 5: do_finish(l); break;
    case 6:
        if (l->log)
            owl_replay_release(l->log);
        break;
    case 7:
    case 8:
    case 9: do_resume(l, op); break;
    case 10: do_find(l, op >> 4); break;
    case 11: do_reader(op >> 4, 0); break;
    case 12: do_reader(op >> 4, 1); break;
    case 13: clock_wait((op >> 4) * 150); break;
    case 14: do_forget(1 + (op >> 4) % 2); break;
    default: owl_replay_table_sweep(all, owl_now_ms()); break;
    }
    check_bounds();
}

struct errand {
    struct owl_msg msg;
    unsigned op;
};

static void on_errand(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    instruct(OWL_CONTAINER(m, struct errand, msg)->op);
}

static void turn(void)
{
    OWL_ASSERT(owl_runtime_step(rt));
    OWL_ASSERT(owl_runtime_step(rt));
    reap();
}

static void finish_all(void)
{
    for (unsigned i = 0; i < LOGS; i++)
        do_finish(&logs[i]);
    turn();
    for (unsigned i = 0; i < READERS; i++)
        if (readers[i] && readers[i]->attached)
            detach(readers[i]);
    turn();
    owl_replay_table_sweep(all, UINT64_MAX);
    turn();
    OWL_ASSERT(owl_replay_table_bytes(all) == 0);
    for (unsigned i = 0; i < LOGS; i++) {
        for (unsigned k = 0; logs[i].used && k <= EVENTS; k++)
            owl_buf_done(&logs[i].text[k]);
        logs[i] = (struct log){.used = false};
    }
    for (unsigned i = 0; i < READERS; i++)
        OWL_ASSERT(!readers[i]);
}

static void open_all(void)
{
    const struct owl_runtime_options o = {.reactors = 1, .workers = 1, .embedded = true};
    const struct owl_replay_limits limits = {.replay_bytes = BYTES,
                                             .replay_events = MOST,
                                             .replay_streams = STREAMS,
                                             .replay_total_bytes = SIZE_MAX,
                                             .replay_ms = KEEP_MS};
    all = owl_replay_table_new(&limits);
    OWL_ASSERT(all && owl_runtime_new(&o, &rt, NULL) == 0 && owl_runtime_start(rt, NULL) == 0);
    reactor = owl_runtime_at(rt, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!all)
        open_all();
    program = (owl_str){(const char *)data, size};
    while (program.n > 0) {
        unsigned op = byte();
        if (op & 128) { /* on the reactor, where readers read at once */
            struct errand e = {.msg.run = on_errand, .op = op & 127};
            bool posted = owl_post(reactor, &e.msg);
            OWL_ASSERT(posted);
            turn();
        } else {
            instruct(op);
        }
        reap();
        if ((op & 15) == 15)
            turn();
    }
    turn();
    finish_all();
    return 0;
}

#pragma clang attribute pop

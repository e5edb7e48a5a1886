/* The logs of event streams: what they keep, how they are read, when they are forgotten. */
#include <malloc.h>
#include <owlclaw/types.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "server/replay_log.h"
#include "support/test.h"

/* ---- a table, a reactor that is run by hand, readers that remember ---- */

struct rig {
    struct owl_runtime *rt;
    struct owl_reactor *reactor;
    struct owl_replay_table *all;
};

static struct rig rig_open(struct owl_replay_limits limits)
{
    const struct owl_runtime_options o = {.reactors = 1, .workers = 1, .embedded = true};
    struct rig g = {.all = owl_replay_table_new(&limits)};
    assert_non_null(g.all);
    assert_int_equal(owl_runtime_new(&o, &g.rt, NULL), 0);
    assert_int_equal(owl_runtime_start(g.rt, NULL), 0);
    g.reactor = owl_runtime_at(g.rt, 0);
    return g;
}

static void rig_close(struct rig *g)
{
    owl_runtime_stop(g->rt);
    owl_runtime_join(g->rt);
    owl_replay_table_free(g->all);
    owl_runtime_aunref(g->rt);
}

/* Lets messages and timers run. */
static void turn(struct rig *g)
{
    assert_true(owl_runtime_step(g->rt));
}

static void count(void *user)
{
    (*(int *)user)++;
}

static int open_log(struct rig *g, uint64_t session, uint64_t stream, unsigned flags,
                    int *forgotten, struct owl_replay **ret)
{
    const struct owl_replay_init init = {.reactor = g->reactor,
                                         .session = session,
                                         .stream = stream,
                                         .flags = flags,
                                         .forgotten = count,
                                         .user = forgotten};
    return owl_replay_new(g->all, &init, ret);
}

static struct owl_replay *log_of(struct rig *g, uint64_t session, uint64_t stream, int *forgotten)
{
    struct owl_replay *log = NULL;
    assert_int_equal(open_log(g, session, stream, OWL_REPLAY_KEEP, forgotten, &log), 0);
    return log;
}

struct reader {
    struct owl_replay_reader rd;
    struct owl_buf got;
    enum owl_replay_state state;
    int woken;
    bool freed;
};

static void reader_read(struct owl_replay_reader *rd)
{
    struct reader *r = OWL_CONTAINER(rd, struct reader, rd);
    r->woken++;
    do
        r->state = owl_replay_read(rd, &r->got);
    while (r->state == OWL_REPLAY_MORE && r->got.rc == 0);
}

static void reader_freed(struct owl_replay_reader *rd)
{
    struct reader *r = OWL_CONTAINER(rd, struct reader, rd);
    assert_false(r->freed);
    r->freed = true;
    owl_buf_done(&r->got);
}

static void reader_init(struct rig *g, struct reader *r)
{
    *r = (struct reader){.rd = {.reactor = g->reactor, .ready = reader_read, .free = reader_freed}};
    owl_buf_init(&r->got, SIZE_MAX / 2);
}

static void reader_open(struct rig *g, struct reader *r, struct owl_replay *log, uint64_t from)
{
    reader_init(g, r);
    assert_int_equal(owl_replay_attach(log, &r->rd, from), 0);
}

/* What it got since the last time. */
static void expect_got(struct reader *r, const char *want)
{
    owl_buf_putc(&r->got, '\0');
    assert_string_equal(r->got.p, want);
    owl_buf_reset(&r->got);
}

static void say(struct owl_replay *log, const char *text)
{
    assert_int_equal(owl_replay_append(log, owl_str_of(text)), 0);
}

static int find(struct rig *g, uint64_t session, const char *id, struct owl_replay_mark *ret)
{
    return owl_replay_find(g->all, session, owl_str_of(id), ret);
}

/* Whether the id is one from which a client may go on. */
static int found(struct rig *g, uint64_t session, const char *id)
{
    struct owl_replay_mark m;
    int rc = find(g, session, id, &m);
    if (rc == 0)
        owl_replay_unref(m.log);
    return rc;
}

/* ---- reading ---- */

TEST(events_are_read_as_they_are_sent_and_once, "mcp:L7")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_retry_ms = 250});
    struct reader r;
    struct owl_replay *log = log_of(&g, 1, 7, NULL);
    reader_open(&g, &r, log, 0);
    assert_int_equal(owl_replay_prime(log), 0);
    say(log, "{}");
    say(log, "[1]");
    assert_int_equal(r.woken, 0); /* nothing runs inside the producer's call on another thread */
    turn(&g);
    assert_int_equal(r.woken, 1);
    expect_got(&r, "id: 7-0\nretry: 250\ndata: \n\nid: 7-1\ndata: {}\n\nid: 7-2\ndata: [1]\n\n");
    assert_int_equal(r.state, OWL_REPLAY_OPEN);
    say(log, "last");
    owl_replay_finish(log);
    turn(&g);
    expect_got(&r, "id: 7-3\ndata: last\n\n");
    assert_int_equal(r.state, OWL_REPLAY_ENDED);
    owl_replay_detach(&r.rd);
    assert_true(r.freed);
    rig_close(&g);
}

TEST(an_id_names_where_to_go_on, "mcp:L7")
{
    struct rig g = rig_open((struct owl_replay_limits){0});
    struct owl_replay *log = log_of(&g, 1, 3, NULL), *other = log_of(&g, 1, 4, NULL);
    struct owl_replay_mark m;
    struct reader r;
    for (int i = 1; i <= 3; i++)
        say(log, "m");
    say(other, "other");
    assert_int_equal(find(&g, 1, "3-1", &m), 0);
    assert_ptr_equal(m.log, log);
    assert_int_equal(m.from, 2);
    assert_false(m.over);
    reader_open(&g, &r, m.log, m.from);
    owl_replay_unref(m.log);
    reader_read(&r.rd);
    expect_got(&r, "id: 3-2\ndata: m\n\nid: 3-3\ndata: m\n\n");
    owl_replay_detach(&r.rd);
    assert_int_equal(find(&g, 1, "3-3", &m), 0);
    assert_false(m.over);
    owl_replay_unref(m.log);
    owl_replay_finish(log);
    assert_int_equal(find(&g, 1, "3-3", &m), 0);
    assert_true(m.over);
    owl_replay_unref(m.log);
    owl_replay_finish(other);
    rig_close(&g);
}

TEST(ids_that_name_nothing_are_not_found, "mcp:L7")
{
    struct rig g = rig_open((struct owl_replay_limits){0});
    struct owl_replay *log = log_of(&g, 1, 3, NULL);
    say(log, "m");
    assert_int_equal(found(&g, 1, "3-0"), 0);
    assert_int_equal(found(&g, 1, "3-1"), 0);
    static const char *const unknown[] = {"3-2", "4-1", "3-18446744073709551614", "0-0"};
    for (size_t i = 0; i < OWL_COUNT(unknown); i++)
        assert_int_equal(found(&g, 1, unknown[i]), -OWL_ENOTFOUND);
    assert_int_equal(found(&g, 2, "3-1"), -OWL_ENOTFOUND);
    static const char *const malformed[] = {"",
                                            "3",
                                            "3-",
                                            "-",
                                            "-1",
                                            "3-1-1",
                                            "3 -1",
                                            "x-1",
                                            "3-x",
                                            "3--1",
                                            "+3-1",
                                            "3-18446744073709551615",
                                            "18446744073709551616-1"};
    for (size_t i = 0; i < OWL_COUNT(malformed); i++)
        assert_int_equal(found(&g, 1, malformed[i]), -OWL_EINVAL);
    owl_replay_finish(log);
    rig_close(&g);
}

TEST(a_new_reader_takes_the_log_over, "mcp:L7")
{
    struct rig g = rig_open((struct owl_replay_limits){0});
    struct reader a, b;
    struct owl_replay *log = log_of(&g, 1, 1, NULL);
    reader_open(&g, &a, log, 0);
    say(log, "m");
    turn(&g);
    expect_got(&a, "id: 1-1\ndata: m\n\n");
    reader_open(&g, &b, log, 1);
    say(log, "n");
    turn(&g);
    assert_int_equal(a.state, OWL_REPLAY_LOST);
    expect_got(&a, "");
    expect_got(&b, "id: 1-1\ndata: m\n\nid: 1-2\ndata: n\n\n");
    owl_replay_detach(&a.rd); /* b has it still */
    say(log, "o");
    turn(&g);
    expect_got(&b, "id: 1-3\ndata: o\n\n");
    owl_replay_detach(&b.rd);
    owl_replay_finish(log);
    rig_close(&g);
}

TEST(a_reader_that_is_sent_away_may_come_back, "mcp:T12")
{
    struct rig g = rig_open((struct owl_replay_limits){0});
    struct reader r;
    struct owl_replay *log = log_of(&g, 1, 1, NULL);
    owl_replay_release(log); /* nobody is there */
    reader_open(&g, &r, log, 0);
    say(log, "m");
    owl_replay_release(log);
    turn(&g);
    assert_int_equal(r.state, OWL_REPLAY_LOST);
    owl_replay_detach(&r.rd);
    assert_int_equal(found(&g, 1, "1-0"), 0);
    reader_open(&g, &r, log, 0);
    reader_read(&r.rd);
    expect_got(&r, "id: 1-1\ndata: m\n\n");
    owl_replay_detach(&r.rd);
    owl_replay_finish(log);
    rig_close(&g);
}

TEST(a_reader_that_goes_while_it_is_woken_is_freed_later, "")
{
    struct rig g = rig_open((struct owl_replay_limits){0});
    struct reader r;
    struct owl_replay *log = log_of(&g, 1, 1, NULL);
    reader_open(&g, &r, log, 0);
    say(log, "m");
    owl_replay_detach(&r.rd);
    assert_false(r.freed);
    owl_replay_finish(log);
    owl_replay_table_forget(g.all, 1);
    turn(&g);
    assert_true(r.freed);
    assert_int_equal(r.woken, 0);
    rig_close(&g);
}

/* ---- bounds ---- */

TEST(the_oldest_events_go_first_and_who_would_miss_one_is_refused, "mcp:L7")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_events = 3});
    struct reader r;
    struct owl_replay *log = log_of(&g, 1, 1, NULL);
    reader_open(&g, &r, log, 0);
    for (int i = 0; i < 10; i++)
        say(log, "m");
    turn(&g);
    owl_replay_detach(&r.rd);
    assert_int_equal(found(&g, 1, "1-6"), -OWL_ENOTFOUND);
    assert_int_equal(found(&g, 1, "1-7"), 0);
    reader_init(&g, &r);
    assert_int_equal(owl_replay_attach(log, &r.rd, 7),
                     -OWL_ECLOSED); /* dropped since it was found */
    reader_open(&g, &r, log, 8);
    reader_read(&r.rd);
    expect_got(&r, "id: 1-8\ndata: m\n\nid: 1-9\ndata: m\n\nid: 1-10\ndata: m\n\n");
    owl_replay_detach(&r.rd);
    owl_replay_finish(log);
    rig_close(&g);
}

TEST(a_log_that_drops_what_nobody_has_read_is_forgotten, "")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_events = 3});
    struct reader r;
    int forgotten = 0;
    struct owl_replay *log = log_of(&g, 1, 1, &forgotten);
    size_t empty = owl_replay_table_bytes(g.all);
    reader_open(&g, &r, log, 0);
    say(log, "m");
    turn(&g);
    owl_replay_detach(&r.rd);
    for (int i = 0; i < 3; i++)
        say(log, "m");
    turn(&g);
    assert_int_equal(forgotten, 0); /* who has read the first may come back */
    assert_int_equal(found(&g, 1, "1-1"), 0);
    say(log, "m");
    turn(&g);
    assert_int_equal(forgotten, 1);
    assert_int_equal(owl_replay_table_bytes(g.all), empty);
    assert_int_equal(found(&g, 1, "1-1"), -OWL_ENOTFOUND);
    assert_int_equal(owl_replay_append(log, OWL_STR("m")), -OWL_ECLOSED);
    owl_replay_table_forget(g.all, 1);
    owl_replay_finish(log);
    turn(&g);
    assert_int_equal(forgotten, 1);
    rig_close(&g);
}

TEST(bytes_are_bounded_but_the_last_event_is_kept, "")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_bytes = 1000});
    struct reader r;
    struct owl_replay *log = log_of(&g, 1, 1, NULL);
    static char text[5001];
    memset(text, 'x', 300);
    size_t before = owl_replay_table_bytes(g.all);
    reader_open(&g, &r, log, 0);
    for (int i = 0; i < 100; i++) {
        say(log, text);
        turn(&g);
    }
    owl_buf_reset(&r.got);
    owl_replay_detach(&r.rd);
    assert_true(owl_replay_table_bytes(g.all) - before <= 1400); /* the last is not counted */
    say(log, "progress");
    memset(text, 'y', 5000);
    say(log, text); /* pushes nothing out that nobody has read */
    reader_open(&g, &r, log, 101);
    reader_read(&r.rd);
    assert_true(r.got.n > 5000 && r.got.n < 5200);
    owl_replay_detach(&r.rd);
    say(log, "z");
    assert_true(owl_replay_table_bytes(g.all) - before <= 1000);
    owl_replay_finish(log);
    owl_replay_table_forget(g.all, 1);
    assert_int_equal(owl_replay_table_bytes(g.all), 0);
    rig_close(&g);
}

/* An answer may be far longer than what is kept. */
TEST(a_reader_that_is_up_to_date_gets_the_longest_event, "")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_bytes = 1000});
    struct reader r;
    struct owl_replay *log = log_of(&g, 1, 1, NULL);
    static char text[50001];
    memset(text, 'x', sizeof(text) - 1);
    reader_open(&g, &r, log, 0);
    say(log, "progress");
    turn(&g);
    owl_buf_reset(&r.got);
    for (int i = 0; i < 3; i++) {
        say(log, text);
        reader_read(&r.rd);
        assert_int_equal(r.state, OWL_REPLAY_OPEN);
        assert_true(r.got.n > 50000);
        owl_buf_reset(&r.got);
    }
    owl_replay_detach(&r.rd);
    owl_replay_finish(log);
    owl_replay_table_forget(g.all, 1);
    rig_close(&g);
}

/* With sanitizers the heap does not tell, and nothing is proved. */
TEST(bytes_that_count_are_the_bytes_that_are_used, "")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_events = 10000});
    struct owl_replay *log = log_of(&g, 1, 1, NULL);
    size_t counted = owl_replay_table_bytes(g.all), used = mallinfo2().uordblks;
    for (int i = 0; i < 1000; i++)
        say(log, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    counted = owl_replay_table_bytes(g.all) - counted;
    used = mallinfo2().uordblks - used;
    assert_true(counted > 64 * 1000);
    assert_true(used <= counted + counted / 10);
    owl_replay_finish(log);
    rig_close(&g);
}

/* How a reader goes that has read nothing of what was said. */
static void detach_behind(struct owl_replay *log, struct reader *r)
{
    (void)log;
    owl_replay_detach(&r->rd);
}

static void release_behind(struct owl_replay *log, struct reader *r)
{
    owl_replay_release(log);
    owl_replay_detach(&r->rd);
}

static void keeps_its_limits(void (*go)(struct owl_replay *log, struct reader *r))
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_events = 4});
    struct owl_replay *full = log_of(&g, 1, 1, NULL), *log = log_of(&g, 1, 2, NULL);
    struct reader r;
    for (int i = 0; i < 4; i++)
        say(full, "m");
    size_t other = owl_replay_table_bytes(g.all);
    reader_open(&g, &r, log, 0);
    for (int i = 0; i < 16; i++)
        say(log, "m");
    go(log, &r);
    turn(&g);
    /* the other has a log of four, too; the ids of this one are longer by a digit */
    assert_true(owl_replay_table_bytes(g.all) - other <= other + 4);
    owl_replay_finish(log);
    owl_replay_finish(full);
    rig_close(&g);
}

TEST(a_log_is_back_within_its_limits_when_a_slow_reader_has_gone, "")
{
    keeps_its_limits(detach_behind);
    keeps_its_limits(release_behind);
}

TEST(a_reader_misses_nothing_unless_it_is_far_behind, "")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_events = 4});
    struct reader r;
    struct owl_replay *log = log_of(&g, 1, 1, NULL);
    reader_open(&g, &r, log, 0);
    for (int i = 0; i < 16; i++)
        say(log, "m");
    reader_read(&r.rd);
    assert_int_equal(r.state, OWL_REPLAY_OPEN);
    assert_int_equal(r.got.n,
                     9 * strlen("id: 1-1\ndata: m\n\n") + 7 * strlen("id: 1-10\ndata: m\n\n"));
    owl_buf_reset(&r.got);
    for (int i = 0; i < 17; i++)
        say(log, "m");
    reader_read(&r.rd);
    assert_int_equal(r.state, OWL_REPLAY_LOST);
    owl_replay_detach(&r.rd);
    turn(&g);
    reader_init(&g, &r);
    assert_int_equal(owl_replay_attach(log, &r.rd, 17), -OWL_ECLOSED);
    owl_replay_finish(log);
    rig_close(&g);
}

TEST(a_long_log_is_read_in_pieces, "")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_bytes = 1 << 20});
    struct reader r;
    struct owl_replay *log = log_of(&g, 1, 1, NULL);
    static char text[100001];
    memset(text, 'x', 100000);
    for (int i = 0; i < 8; i++)
        say(log, text);
    reader_open(&g, &r, log, 0);
    assert_int_equal(owl_replay_read(&r.rd, &r.got), OWL_REPLAY_MORE);
    assert_true(r.got.n < 400000);
    size_t sum = r.got.n;
    owl_buf_reset(&r.got);
    do {
        r.state = owl_replay_read(&r.rd, &r.got);
        sum += r.got.n;
        owl_buf_reset(&r.got);
    } while (r.state == OWL_REPLAY_MORE);
    assert_int_equal(r.state, OWL_REPLAY_OPEN);
    assert_int_equal(sum, 8 * (100000 + strlen("id: 1-1\ndata: \n\n")));
    owl_replay_detach(&r.rd);
    owl_replay_finish(log);
    rig_close(&g);
}

TEST(streams_of_a_session_are_bounded_and_those_without_a_client_go_first, "")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_streams = 2});
    struct reader r, q;
    int forgotten[3] = {0};
    struct owl_replay *logs[3], *none = NULL;
    logs[0] = log_of(&g, 1, 1, &forgotten[0]);
    reader_open(&g, &r, logs[0], 0);
    logs[1] = log_of(&g, 1, 2, &forgotten[1]);
    reader_open(&g, &q, logs[1], 0);
    assert_int_equal(open_log(&g, 1, 3, OWL_REPLAY_KEEP, NULL, &none), -OWL_ELIMIT);
    assert_null(none);
    struct owl_replay *elsewhere = log_of(&g, 2, 1, NULL);
    owl_replay_detach(&q.rd);
    logs[2] = log_of(&g, 1, 3, &forgotten[2]);
    turn(&g);
    assert_int_equal(forgotten[0] + forgotten[2], 0);
    assert_int_equal(forgotten[1], 1);
    assert_int_equal(found(&g, 1, "1-0"), 0);
    assert_int_equal(found(&g, 1, "2-0"), -OWL_ENOTFOUND);
    assert_int_equal(owl_replay_append(logs[1], OWL_STR("m")), -OWL_ECLOSED);
    owl_replay_detach(&r.rd);
    for (int i = 0; i < 3; i++)
        owl_replay_finish(logs[i]);
    owl_replay_finish(elsewhere);
    rig_close(&g);
}

TEST(all_logs_together_are_bounded, "")
{
    enum { TOTAL = 40000, LOGS = 50 };
    struct rig g = rig_open((struct owl_replay_limits){.replay_total_bytes = TOTAL});
    static char text[1001];
    memset(text, 'x', 1000);
    for (unsigned i = 1; i <= LOGS; i++) {
        struct owl_replay *log = log_of(&g, i % 5 + 1, i, NULL);
        say(log, text);
        owl_replay_finish(log);
        assert_true(owl_replay_table_bytes(g.all) <= TOTAL);
    }
    assert_int_equal(found(&g, 2, "1-0"), -OWL_ENOTFOUND);
    assert_int_equal(found(&g, LOGS % 5 + 1, "50-0"), 0);
    struct owl_replay *log = log_of(&g, 9, 1, NULL);
    struct reader r;
    reader_open(&g, &r, log, 0);
    for (int i = 0; i < 100; i++) { /* one that is read keeps no more than there is room for */
        say(log, text);
        reader_read(&r.rd);
        owl_buf_reset(&r.got);
        assert_true(owl_replay_table_bytes(g.all) <= TOTAL + 2000);
    }
    turn(&g);
    owl_replay_detach(&r.rd);
    owl_replay_finish(log);
    rig_close(&g);
}

/* ---- the end ---- */

TEST(a_log_is_kept_for_a_while_after_its_end, "")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_ms = 5000});
    int forgotten = 0;
    struct owl_replay *log = log_of(&g, 1, 1, &forgotten);
    owl_replay_table_sweep(g.all, owl_now_ms() + 100000);
    assert_int_equal(found(&g, 1, "1-0"), 0); /* it was not read yet: its first reader is to come */
    owl_replay_finish(log);
    owl_replay_table_sweep(g.all, owl_now_ms() + 4000);
    assert_int_equal(found(&g, 1, "1-0"), 0);
    owl_replay_table_sweep(g.all, owl_now_ms() + 5000);
    assert_int_equal(found(&g, 1, "1-0"), -OWL_ENOTFOUND);
    turn(&g);
    assert_int_equal(forgotten, 0); /* it was through */
    assert_int_equal(owl_replay_table_bytes(g.all), 0);
    rig_close(&g);
}

TEST(who_comes_back_in_time_stops_the_clock, "")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_ms = 5000});
    struct reader r;
    int forgotten = 0;
    struct owl_replay *log = log_of(&g, 1, 1, &forgotten);
    reader_open(&g, &r, log, 0);
    owl_replay_detach(&r.rd);
    reader_open(&g, &r, log, 0);
    owl_replay_table_sweep(g.all, owl_now_ms() + 100000);
    assert_int_equal(found(&g, 1, "1-0"), 0);
    owl_replay_detach(&r.rd);
    owl_replay_table_sweep(g.all, owl_now_ms() + 100000);
    assert_int_equal(found(&g, 1, "1-0"), -OWL_ENOTFOUND);
    turn(&g);
    assert_int_equal(forgotten, 1);
    assert_int_equal(owl_replay_append(log, OWL_STR("m")), -OWL_ECLOSED);
    reader_init(&g, &r);
    assert_int_equal(owl_replay_attach(log, &r.rd, 0), -OWL_ECLOSED);
    owl_replay_finish(log);
    turn(&g);
    assert_int_equal(forgotten, 1);
    rig_close(&g);
}

TEST(time_passes_by_itself, "")
{
    struct rig g = rig_open((struct owl_replay_limits){.replay_ms = 30});
    int forgotten = 0;
    struct owl_replay *log = log_of(&g, 1, 1, &forgotten);
    for (int round = 1; round <= 2; round++) {
        struct reader r;
        reader_open(&g, &r, log, 0);
        owl_replay_detach(&r.rd);
        for (uint64_t end = owl_now_ms() + 5000; !forgotten && owl_now_ms() < end; usleep(2000))
            turn(&g);
        assert_int_equal(forgotten, 1);
        owl_replay_finish(log);
        forgotten = 0;
        log = log_of(&g, 1, (uint64_t)round + 1, &forgotten);
    }
    owl_replay_finish(log);
    rig_close(&g);
}

TEST(an_ended_session_is_forgotten_but_read_to_the_end, "")
{
    struct rig g = rig_open((struct owl_replay_limits){0});
    struct reader r;
    int call = 0, feed = 0, idle = 0;
    struct owl_replay *log = log_of(&g, 1, 1, &call), *away = log_of(&g, 1, 2, &idle), *f = NULL;
    assert_int_equal(open_log(&g, 1, 3, OWL_REPLAY_KEEP | OWL_REPLAY_FEED, &feed, &f), 0);
    reader_open(&g, &r, log, 0);
    owl_replay_table_forget(g.all, 2);
    owl_replay_table_forget(g.all, 1);
    turn(&g);
    assert_int_equal(found(&g, 1, "1-0"), -OWL_ENOTFOUND);
    assert_int_equal(call, 1); /* although somebody reads it: what waits for a client ends */
    assert_int_equal(feed, 1);
    assert_int_equal(idle, 1);
    say(log, "m");
    turn(&g);
    expect_got(&r, "id: 1-1\ndata: m\n\n");
    owl_replay_detach(&r.rd);
    assert_int_equal(owl_replay_append(log, OWL_STR("n")), -OWL_ECLOSED);
    turn(&g);
    assert_int_equal(call, 1); /* once */
    owl_replay_finish(log);
    owl_replay_finish(away);
    owl_replay_finish(f);
    rig_close(&g);
}

TEST(a_session_has_one_feed, "")
{
    struct rig g = rig_open((struct owl_replay_limits){0});
    int old = 0, young = 0;
    struct owl_replay *a = NULL, *b = NULL;
    assert_int_equal(open_log(&g, 1, 1, OWL_REPLAY_KEEP | OWL_REPLAY_FEED, &old, &a), 0);
    assert_int_equal(open_log(&g, 1, 2, OWL_REPLAY_KEEP | OWL_REPLAY_FEED, &young, &b), 0);
    turn(&g);
    assert_int_equal(old, 1);
    assert_int_equal(young, 0);
    assert_int_equal(found(&g, 1, "1-0"), -OWL_ENOTFOUND);
    assert_int_equal(found(&g, 1, "2-0"), 0);
    owl_replay_finish(a);
    owl_replay_finish(b);
    rig_close(&g);
}

TEST(a_log_that_is_not_kept_goes_with_its_reader, "")
{
    struct rig g = rig_open((struct owl_replay_limits){0});
    struct reader r;
    int forgotten = 0;
    struct owl_replay *log = NULL;
    assert_int_equal(open_log(&g, 1, 1, OWL_REPLAY_FEED, &forgotten, &log), 0);
    size_t empty = owl_replay_table_bytes(g.all);
    reader_open(&g, &r, log, 0);
    assert_int_equal(owl_replay_prime(log), 0); /* there is nothing to come back for, … */
    owl_replay_release(log);                    /* … hence it stays */
    for (int i = 0; i < 3; i++)
        say(log, "m");
    turn(&g);
    expect_got(&r, "data: m\n\ndata: m\n\ndata: m\n\n");
    assert_int_equal(owl_replay_table_bytes(g.all), empty);
    assert_int_equal(found(&g, 1, "1-1"), -OWL_ENOTFOUND);
    owl_replay_detach(&r.rd);
    turn(&g);
    assert_int_equal(forgotten, 1);
    owl_replay_finish(log);
    assert_int_equal(owl_replay_table_bytes(g.all), 0);
    rig_close(&g);
}

/* ---- without memory ---- */

TEST(without_memory_nothing_is_lost_but_what_was_to_be_added, "")
{
    struct rig g = rig_open((struct owl_replay_limits){0});
    struct owl_replay *log = NULL;
    unsigned long n = 1;
    for (int rc = -OWL_ENOMEM; rc != 0; n++) {
        owl_alloc_fail_at(n);
        rc = open_log(&g, 1, 1, OWL_REPLAY_KEEP, NULL, &log);
        owl_alloc_fail_at(0);
        assert_true(rc == 0 || rc == -OWL_ENOMEM);
    }
    assert_true(n > 2);
    owl_alloc_fail_at(1);
    assert_null(owl_replay_table_new(NULL));
    assert_int_equal(owl_replay_append(log, OWL_STR("m")), -OWL_ENOMEM);
    assert_int_equal(owl_replay_prime(log), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    say(log, "m");
    struct reader r;
    reader_open(&g, &r, log, 0);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_replay_read(&r.rd, &r.got), OWL_REPLAY_MORE);
    owl_alloc_fail_at(0);
    assert_int_equal(r.got.rc, -OWL_ENOMEM);
    owl_buf_reset(&r.got);
    reader_read(&r.rd);
    expect_got(&r, "id: 1-1\ndata: m\n\n");
    owl_replay_detach(&r.rd);
    owl_replay_finish(log);
    rig_close(&g);
}

struct comeback {
    struct owl_replay *log;
    struct reader *reader;
};

static void *come_back(void *arg)
{
    struct comeback *c = arg;
    assert_int_equal(owl_replay_attach(c->log, &c->reader->rd, 2), 0);
    return NULL;
}

static bool is_read(struct owl_replay *log)
{
    pthread_mutex_lock(&log->lock);
    bool read = log->reader != NULL;
    pthread_mutex_unlock(&log->lock);
    return read;
}

/* Another reactor has the lock of the table, and forgets what stands in line. */
TEST(who_came_back_in_time_keeps_the_producer, "")
{
    for (int i = 0; i < 50; i++) {
        struct rig g = rig_open((struct owl_replay_limits){.replay_ms = 60000});
        int forgotten = 0;
        struct owl_replay *log = log_of(&g, 1, 1, &forgotten);
        struct reader a, b;
        reader_open(&g, &a, log, 0);
        say(log, "one");
        owl_replay_detach(&a.rd); /* it stands in line */
        turn(&g);
        reader_init(&g, &b);
        struct comeback c = {log, &b};
        pthread_t t;
        pthread_mutex_lock(&g.all->lock);
        assert_int_equal(pthread_create(&t, NULL, come_back, &c), 0);
        while (!is_read(log))
            usleep(100);
        pthread_mutex_unlock(&g.all->lock);
        owl_replay_table_sweep(g.all, UINT64_MAX);
        assert_int_equal(pthread_join(t, NULL), 0);
        turn(&g);
        turn(&g);
        assert_int_equal(forgotten, 0);
        owl_replay_finish(log);
        owl_replay_detach(&b.rd);
        rig_close(&g);
    }
}

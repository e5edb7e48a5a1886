/* library/test_task_news.c - news of tasks that wait until their listeners are told, and how
 * those are found. The tasks are made up: what changes, and when, is the test's own. */
#include "library/tasks.h"
#include "server/subs.h"

enum { KIB = 1024, IDS = 1000 };

static atomic_int lost;

static void count_lost(void *data, owl_level level, const char *line)
{
    (void)data;
    (void)level;
    if (strstr(line, "not told of some tasks"))
        atomic_fetch_add(&lost, 1);
}

static owl_server *one_reactor(size_t task_bytes)
{
    owl_limits limits = OWL_LIMITS;
    limits.task_bytes = task_bytes;
    atomic_store(&lost, 0);
    owl_server *s = server_with(
        (owl_server_options){.reactors = 1, .limits = &limits, .log = count_lost});
    add_task_tools(s);
    server_start(s);
    return s;
}

/* A filter of @p n ids, numbered from @p first on. */
static char *filter_of(int first, int n)
{
    struct owl_buf b;
    owl_buf_init(&b, 1 << 20);
    for (int i = 0; i < n; i++)
        owl_buf_printf(&b, "%s\"id-%06d\"", i ? "," : "", first + i);
    char *filter = text_of("{\"taskIds\":[%.*s]}", (int)b.n, b.p);
    owl_buf_done(&b);
    return filter;
}

static struct http listen_for(owl_server *s, int first, int n)
{
    struct http h = http_open(s);
    char *filter = filter_of(first, n);
    listen_to(&h, filter, TASKS);
    owl_json_doc_free(http_next(&h));
    free(filter);
    return h;
}

/* ---- a reactor that does one thing ---- */

struct errand {
    struct owl_msg msg;
    struct owl_server *server;
    void (*run)(struct owl_server_local *l);
    atomic_int state; /* 1: begun, 2: done */
};

static void on_errand(struct owl_reactor *r, struct owl_msg *m)
{
    struct errand *e = OWL_CONTAINER(m, struct errand, msg);
    atomic_store(&e->state, 1);
    e->run(owl_server_local(e->server, r));
    atomic_store(&e->state, 2);
}

static void begin(struct errand *e)
{
    e->msg.run = on_errand;
    assert_true(owl_post(owl_runtime_at(e->server->env.runtime, 0), &e->msg));
    assert_true(reaches(&e->state, 1));
}

static void until_gate(struct owl_server_local *l)
{
    (void)l;
    while (!atomic_load(&gate))
        usleep(100);
}

/* @p n tasks change, numbered from @p first on in steps of @p step, all before the first is told. */
static void change_at_once(owl_server *s, int first, int n, int step)
{
    static char payload[KIB];
    int len = snprintf(payload, sizeof payload, "{\"x\":\"%01000d\"}", 0);
    struct errand e = {.server = s, .run = until_gate};
    atomic_store(&gate, 0);
    begin(&e);
    for (int i = 0; i < n; i++) {
        struct owl_task t = {.status = OWL_TASK_COMPLETED,
                             .ttl_ms = 60000,
                             .poll_ms = (unsigned)i,
                             .payload = {payload, (size_t)len}};
        snprintf(t.id, sizeof t.id, "id-%06d", first + i * step);
        owl_subs_task(&s->env, &t);
    }
    atomic_store(&gate, 1);
    assert_true(reaches(&e.state, 2));
}

/* ---- what waits ---- */

TEST(of_a_task_that_changes_fast_the_last_state_is_told, "mcp:K4")
{
    owl_server *s = one_reactor(10 * KIB);
    struct http h = listen_for(s, 7, 1);
    for (int round = 0; round < 2; round++) {
        change_at_once(s, 7, 100, 0);
        msg *m = http_next(&h);
        assert_string_equal(str_at(m, "params/taskId"), "id-000007");
        expect_int(m, "params/pollIntervalMs", 99);
        assert_false(http_ready(&h, 30));
    }
    http_close(&h);
    server_end(s);
    assert_int_equal(atomic_load(&lost), 0);
}

TEST(news_of_tasks_that_wait_are_bounded, "")
{
    owl_server *s = one_reactor(10 * KIB);
    struct http h = listen_for(s, 0, IDS);
    change_at_once(s, 0, 10, 1); /* as much as may wait */
    for (int i = 0; i < 10; i++)
        expect_int(http_next(&h), "params/pollIntervalMs", i);
    assert_int_equal(atomic_load(&lost), 0);
    change_at_once(s, 0, 200, 1);
    for (int i = 190; i < 200; i++) /* the oldest are not told */
        expect_int(http_next(&h), "params/pollIntervalMs", i);
    assert_false(http_ready(&h, 30));
    assert_int_equal(atomic_load(&lost), 1);
    change_at_once(s, 5, 1, 1);
    msg *m = http_next(&h);
    expect_str(m, "params/taskId", "id-000005");
    http_close(&h);
    server_end(s);
}

/* ---- who is told ---- */

static size_t crowd;

/* The most watches among which somebody is looked for. */
static void find_crowd(struct owl_server_local *l)
{
    for (int i = 0; i < IDS; i++) {
        char id[OWL_TASK_ID_BYTES];
        snprintf(id, sizeof id, "other-%d", i);
        size_t n = 0;
        OWL_LIST_EACH (owl_subs__watches(l, owl_hash(owl_str_of(id))), it)
            n++;
        crowd = n > crowd ? n : crowd;
    }
}

/* Ids that nobody has cost those nothing who listen for theirs. */
TEST(however_many_ids_are_listened_for_a_listener_is_found_at_once, "mcp:K4")
{
    enum { LISTENS = 20 };
    owl_server *s = one_reactor(KIB * KIB);
    struct http h[LISTENS];
    for (int i = 0; i < LISTENS; i++)
        h[i] = listen_for(s, i * IDS, IDS);
    struct errand e = {.server = s, .run = find_crowd};
    crowd = 0;
    begin(&e);
    assert_true(reaches(&e.state, 2));
    assert_true(crowd > 0 && crowd < 12);
    change_at_once(s, 0, LISTENS, IDS); /* the first id of each */
    for (int i = 0; i < LISTENS; i++)
        expect_int(http_next(&h[i]), "params/pollIntervalMs", i);
    for (int i = 0; i < LISTENS; i++) {
        assert_false(http_ready(&h[i], 0));
        http_close(&h[i]);
    }
    server_end(s);
}

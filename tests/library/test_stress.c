/* Everything at once, at random: clients of every revision on several reactors that call, ask,
 * park, listen, cancel and hang up, while tools come and go and resources change; then the server
 * is stopped in the midst of it. Every answer must be the one to its request, and nothing may be
 * left.
 *
 * OWLCLAW_SEED repeats a run as far as threads allow. */
#include "library/fixture.h"
#include "server/server.h"
#include "transport/http1_conn.h"

#include <dirent.h>

enum { CLIENTS = 12, RUN_MS = 2500, KEPT = 64 };

#define CAPS "{\"elicitation\":{\"form\":{}},\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"

static owl_server *server;
static atomic_bool stopping; /* from now on connections may break */
static atomic_int answered, opened, unsure, deleted;

/* ---- chance ---- */

static unsigned seed_of_run(void)
{
    const char *text = getenv("OWLCLAW_SEED");
    return text ? (unsigned)strtoul(text, NULL, 10) : 20260728;
}

static unsigned chance(unsigned *seed, unsigned n)
{
    return (unsigned)rand_r(seed) % n;
}

/* ---- what the server offers ---- */

static int echo(owl_call *c, void *data)
{
    (void)data;
    return owl_result_textf(c, "%lld", (long long)owl_json_get_int(owl_call_args(c), "n", -1));
}

static int tell(owl_call *c, void *data)
{
    for (int i = 1; i <= 5 && !owl_call_cancelled(c); i++) {
        owl_call_progress(c, i, 5, "on");
        owl_call_logf(c, OWL_LEVEL_ERROR, NULL, "step %d", i);
    }
    return echo(c, data);
}

static int slow(owl_call *c, void *data)
{
    for (int i = 0; i < 20 && !owl_call_cancelled(c); i++)
        pause_ms(1);
    return echo(c, data);
}

static const owl_question question = {
    .size = sizeof question, .kind = OWL_ASK_FORM, .message = "well?", .schema = SCHEMA};

static int ask(owl_call *c, void *data)
{
    const owl_json *answer;
    int rc = owl_ask(c, "k", &question, &answer);
    if (rc != 0)
        return rc;
    if (strcmp(owl_json_get_str(answer, "action", ""), "accept") != 0)
        return owl_result_text(c, "declined");
    return echo(c, data);
}

static int parked(owl_call *c, const owl_json *answer, void *data)
{
    if (!answer || strcmp(owl_json_get_str(answer, "action", ""), "accept") != 0)
        return owl_result_text(c, "declined");
    return echo(c, data);
}

static int park(owl_call *c, void *data)
{
    (void)data;
    int rc = owl_ask_async(c, "k", &question, parked, NULL);
    return rc ? rc : OWL_PENDING;
}

/* Calls that another thread will finish. */
static struct {
    pthread_mutex_t lock;
    owl_call *calls[KEPT];
    int n;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int later(owl_call *c, void *data)
{
    pthread_mutex_lock(&kept.lock);
    bool room = kept.n < KEPT;
    if (room)
        kept.calls[kept.n++] = owl_call_ref(c);
    pthread_mutex_unlock(&kept.lock);
    return room ? OWL_LATER : echo(c, data);
}

static void finish_kept(void)
{
    owl_call *calls[KEPT];
    pthread_mutex_lock(&kept.lock);
    int n = kept.n;
    memcpy(calls, kept.calls, sizeof calls);
    kept.n = 0;
    pthread_mutex_unlock(&kept.lock);
    for (int i = 0; i < n; i++) {
        int rc = owl_call_cancelled(calls[i]) ? 0 : echo(calls[i], NULL);
        owl_call_finish(calls[i], rc); /* or it was cancelled meanwhile */
        owl_call_unref(calls[i]);
    }
}

static owl_server *stress_server(void)
{
    static const struct {
        const char *name;
        owl_handler_fn handler;
        unsigned flags;
    } tools[] = {
        {"echo", echo, OWL_INLINE},
        {"work", echo, 0},
        {"tell", tell, 0},
        {"slow", slow, 0},
        {"later", later, OWL_INLINE},
        {"ask", ask, 0},
        {"asknow", ask, OWL_INLINE},
        {"park", park, OWL_PARKED},
        {"task", slow, OWL_TASK},
    };
    const char *reactors = getenv("OWLCLAW_REACTORS");
    unsigned n = reactors ? (unsigned)strtoul(reactors, NULL, 10) : 4;
    owl_server *s = server_new(n < 4 ? 4 : n);
    for (size_t i = 0; i < OWL_COUNT(tools); i++)
        add_tool(s, (owl_tool){.name = tools[i].name,
                               .input_schema = ANY_ARGUMENTS,
                               .handler = tools[i].handler,
                               .flags = tools[i].flags});
    add_resource(s, (owl_resource){.uri = "mem://a", .name = "a", .text = "a"});
    return s;
}

/* Tools come and go, resources change, and what was kept is finished. */
static void *meddle_main(void *arg)
{
    unsigned seed = *(unsigned *)arg;
    while (!atomic_load(&stopping)) {
        char name[16];
        snprintf(name, sizeof name, "extra%u", chance(&seed, 3));
        if (chance(&seed, 2))
            add_tool(server, (owl_tool){.name = name, .handler = echo});
        else
            OWL_IGNORE(owl_server_remove_tool(server, name));       /* it may not be there */
        OWL_IGNORE(owl_server_resource_updated(server, "mem://a")); /* without memory: not told */
        finish_kept();
        pause_ms(1 + chance(&seed, 4));
    }
    return NULL;
}

/* ---- clients ---- */

struct client {
    unsigned seed;
    int n; /* of the last request, and what it must be answered with */
};

static struct http dial(void)
{
    struct http h = {.port = owl_server_port(server), .may_break = &stopping};
    http_connect(&h);
    return h;
}

/* Another connection for the session of @p h. */
static struct http dial_again(const struct http *h)
{
    struct http other = dial();
    memcpy(other.session, h->session, sizeof other.session);
    return other;
}

static int await_head(struct http *h)
{
    return h->broken ? 0 : http_head(h);
}

/* The next question or the answer, which must be the last message; NULL at the end. Progress is
 * checked to go on. */
static msg *await(struct http *h)
{
    double progress = 0;
    for (msg *m; (m = http_next(h)); owl_json_doc_free(m)) {
        if (at(m, "method") && at(m, "id"))
            return m;
        if (!at(m, "method")) {
            msg *more = h->events ? http_next(h) : NULL;
            if (more)
                fail_msg("after the answer: %s", json_at(more, ""));
            return m;
        }
        double now = owl_json_num(at(m, "params/progress"), progress + 1);
        if (now <= progress)
            fail_msg("progress went from %g to %g", progress, now);
        progress = at(m, "params/progress") ? now : progress;
        if (!h->events)
            break;
    }
    return NULL;
}

/* The answer must be that to request c->n: its number, or "declined". Frees it. */
static void check(const struct client *c, const struct http *h, msg *m, bool declined)
{
    char want[32];
    snprintf(want, sizeof want, "%d", c->n);
    bool stops = atomic_load(&stopping);
    if (!m && !stops)
        fail_msg("request %d has no answer: status %d", c->n, h->status);
    if (!m)
        return;
    bool refused = at(m, "error") || owl_json_bool(at(m, "result/isError"), false);
    if (!refused && int_at(m, "id") != c->n)
        fail_msg("request %d was answered with %s", c->n, json_at(m, ""));
    if (refused ? !stops : strcmp(str_at(m, "result/content/0/text"), declined ? "declined" : want))
        fail_msg("request %d was answered with %s", c->n, json_at(m, ""));
    atomic_fetch_add(&answered, 1);
    owl_json_doc_free(m);
}

/* ---- modern clients ---- */

/* Sends tools/call; @p more are further members of params. */
static void call_modern(struct client *c, struct http *h, const char *tool, const char *more)
{
    char id[16];
    snprintf(id, sizeof id, "%d", c->n);
    char *params = text_of("\"name\":\"%s\",\"arguments\":{\"n\":%d}%s", tool, c->n, more);
    char *text = modern_text(id, "tools/call", params, CAPS, "\"progressToken\":7");
    modern_send(h, tool, text);
    free(text);
    free(params);
}

static void modern_plain(struct client *c)
{
    static const char *const tools[] = {"echo", "work", "tell", "slow", "later"};
    struct http h = dial();
    for (unsigned left = 1 + chance(&c->seed, 4); left > 0 && !h.broken; left--) {
        c->n++;
        call_modern(c, &h, tools[chance(&c->seed, OWL_COUNT(tools))], "");
        check(c, &h, await_head(&h) ? await(&h) : NULL, false);
    }
    http_close(&h);
}

/* Begins something and hangs up. */
static void modern_leave(struct client *c)
{
    static const char *const tools[] = {"slow", "tell", "later", "ask", "park"};
    struct http h = dial();
    c->n++;
    call_modern(c, &h, tools[chance(&c->seed, OWL_COUNT(tools))], "");
    pause_ms(chance(&c->seed, 4));
    http_close(&h);
}

/* Is asked, comes back on another connection, or does not; a second time with the same state. */
static void modern_asked(struct client *c)
{
    static const char *const tools[] = {"ask", "asknow", "park"};
    const char *tool = tools[chance(&c->seed, OWL_COUNT(tools))];
    bool accepts = chance(&c->seed, 2);
    struct http h = dial();
    c->n++;
    call_modern(c, &h, tool, "");
    msg *m = await_head(&h) ? await(&h) : NULL;
    http_close(&h);
    bool asked = strcmp(str_at(m, "result/resultType"), "input_required") == 0;
    if (!asked && !atomic_load(&stopping))
        fail_msg("not asked: %s", json_at(m, ""));
    if (asked && chance(&c->seed, 4)) {
        char *more = text_of(
            ",\"requestState\":\"%s\",\"inputResponses\":{\"k\":{\"action\":\"%s\","
            "\"content\":{}}}",
            str_at(m, "result/requestState"), accepts ? "accept" : "decline");
        h = dial();
        call_modern(c, &h, tool, more);
        if (chance(&c->seed, 4))
            check(c, &h, await_head(&h) ? await(&h) : NULL, !accepts);
        http_close(&h);
        free(more);
    }
    owl_json_doc_free(m);
}

/* One request about a task; its answer, or NULL. */
static msg *about_task(struct http *h, const char *method, const char *task)
{
    char *params = text_of("\"taskId\":\"%s\"", task);
    char *text = modern_text("\"t\"", method, params, CAPS, "");
    modern_send(h, task, text);
    free(text);
    free(params);
    return await_head(h) ? await(h) : NULL;
}

/* A task is looked at until it is over, cancelled, or left alone. */
static void modern_task(struct client *c)
{
    struct http h = dial();
    char want[32];
    snprintf(want, sizeof want, "%d", ++c->n);
    call_modern(c, &h, "task", "");
    msg *made = await_head(&h) ? await(&h) : NULL;
    bool task = strcmp(str_at(made, "result/resultType"), "task") == 0;
    if (!task && !atomic_load(&stopping))
        fail_msg("no task: %s", json_at(made, ""));
    unsigned left = task ? 1 + chance(&c->seed, 60) : 0;
    bool cancels = chance(&c->seed, 4) == 0;
    for (const char *status = "working"; left > 0 && strcmp(status, "working") == 0; left--) {
        msg *m = about_task(&h, left == 1 && cancels ? "tasks/cancel" : "tasks/get",
                            str_at(made, "result/taskId"));
        bool over = strcmp(str_at(m, "result/status"), "completed") == 0;
        if (over && strcmp(str_at(m, "result/result/content/0/text"), want) != 0)
            fail_msg("task %d came to %s", c->n, json_at(m, ""));
        status = m && !at(m, "error") && !over ? "working" : "over";
        owl_json_doc_free(m);
        pause_ms(1);
    }
    owl_json_doc_free(made);
    http_close(&h);
}

static void modern_listen(struct client *c)
{
    struct http h = dial();
    char *text = modern_text("\"l\"", "subscriptions/listen",
                             "\"notifications\":{\"toolsListChanged\":true,"
                             "\"resourceSubscriptions\":[\"mem://a\"]}",
                             CAPS, "");
    modern_send(&h, "", text);
    free(text);
    if (await_head(&h) == 200) {
        for (unsigned left = 1 + chance(&c->seed, 20); left > 0 && !h.over; left--) {
            msg *m = http_next(&h);
            const char *of = "params/_meta/io.modelcontextprotocol~subscriptionId";
            if (m && at(m, "method") && strcmp(str_at(m, of), "l") != 0)
                fail_msg("not of this listen: %s", json_at(m, ""));
            owl_json_doc_free(m);
        }
    }
    http_close(&h);
}

/* ---- legacy clients ---- */

static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

static struct http initialize(struct client *c, unsigned rev)
{
    struct http h = dial();
    char *text = text_of("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"initialize\",\"params\":{"
                         "\"protocolVersion\":\"%s\",\"capabilities\":" CAPS ","
                         "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
                         ++c->n, revisions[rev]);
    legacy_send(&h, text);
    free(text);
    atomic_fetch_add(&unsure, 1);
    msg *m = await_head(&h) == 200 ? await(&h) : NULL;
    if (m && strcmp(str_at(m, "result/protocolVersion"), revisions[rev]) != 0)
        fail_msg("another revision: %s", json_at(m, ""));
    if (m) {
        atomic_fetch_sub(&unsure, 1);
        atomic_fetch_add(&opened, 1);
    }
    owl_json_doc_free(m);
    return h;
}

/* Something that has no answer of its own, on another connection. */
static void tell_legacy(const struct http *h, const char *text)
{
    struct http other = dial_again(h);
    legacy_send(&other, text);
    if (await_head(&other) != 202 && !atomic_load(&stopping))
        fail_msg("%s: status %d", text, other.status);
    http_close(&other);
}

static void call_legacy(struct client *c, struct http *h, const char *tool)
{
    char *text = text_of("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"%s\",\"arguments\":{\"n\":%d},\"_meta\":{\"progressToken\":1}"
                         "}}",
                         c->n, tool, c->n);
    legacy_send(h, text);
    free(text);
}

static void legacy_plain(struct client *c, struct http *h)
{
    static const char *const tools[] = {"echo", "work", "tell", "slow", "later"};
    c->n++;
    call_legacy(c, h, tools[chance(&c->seed, OWL_COUNT(tools))]);
    check(c, h, await_head(h) ? await(h) : NULL, false);
}

static void legacy_batch(struct http *h)
{
    char *text = text_of("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"work\",\"arguments\":{\"n\":11}}},{\"jsonrpc\":\"2.0\","
                         "\"method\":\"notifications/x\"},{\"jsonrpc\":\"2.0\",\"id\":2,"
                         "\"method\":\"ping\"}]");
    legacy_send(h, text);
    free(text);
    msg *m = await_head(h) == 200 ? http_next(h) : NULL;
    const owl_json *root = m ? owl_json_doc_root(m) : NULL;
    if (owl_json_len(root) != 2 && !atomic_load(&stopping))
        fail_msg("no batch of two: %s", json_at(m, ""));
    for (size_t i = 0; i < 2 && owl_json_kind_of(root) == OWL_JSON_ARRAY; i++) {
        const owl_json *one = owl_json_at(root, i);
        int64_t id = owl_json_get_int(one, "id", 0);
        if (id != 1 && id != 2)
            fail_msg("whose answer is that? %s", json_at(m, ""));
    }
    owl_json_doc_free(m);
    if (h->events && http_next(h))
        fail_msg("more than one answer to a batch");
}

/* The client is asked on the stream of its call. It answers elsewhere, or cancels, or leaves. */
static void legacy_asked(struct client *c, struct http *h)
{
    static const char *const tools[] = {"ask", "asknow", "park"};
    bool accepts = chance(&c->seed, 2);
    unsigned what = chance(&c->seed, 5);
    c->n++;
    call_legacy(c, h, tools[chance(&c->seed, OWL_COUNT(tools))]);
    msg *m = await_head(h) ? await(h) : NULL;
    if (!m || !at(m, "method")) {
        check(c, h, m, false); /* the server stops */
        return;
    }
    char *text = NULL;
    if (what == 0)
        text = text_of("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                       "\"requestId\":%d}}",
                       c->n);
    else if (what > 1)
        text = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":\"%s\","
                       "\"content\":{}}}",
                       str_at(m, "id"), accepts ? "accept" : "decline");
    owl_json_doc_free(m);
    if (text)
        tell_legacy(h, text);
    free(text);
    if (what > 1) {
        check(c, h, await(h), !accepts);
    } else if (what == 0) {
        while ((m = await(h))) /* nothing, or what was under way */
            owl_json_doc_free(m);
    } else {
        http_close(h);
        *h = dial_again(h);
    }
}

/* Hangs up after the first event and comes back for the rest. */
static void legacy_resume(struct client *c, struct http *h)
{
    c->n++;
    call_legacy(c, h, "tell");
    msg *m = await_head(h) ? http_next(h) : NULL;
    if (!m || !at(m, "method") || !h->event[0]) {
        check(c, h, m, false);
        return;
    }
    owl_json_doc_free(m);
    http_close(h);
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n"
                            "Last-Event-ID: %s\r\n",
                            h->session, h->event);
    *h = dial_again(h);
    http_send(h, "GET", headers, "");
    free(headers);
    check(c, h, await_head(h) ? await(h) : NULL, false);
}

static void legacy_end(struct http *h, struct http *stream, bool deletes)
{
    struct http other = dial_again(h);
    char *headers = text_of("Mcp-Session-Id: %s\r\n", h->session);
    if (deletes) {
        http_send(&other, "DELETE", headers, "");
        int status = await_head(&other);
        if (status == 200)
            atomic_fetch_add(&deleted, 1);
        else if (!atomic_load(&stopping))
            fail_msg("DELETE: status %d", status);
        for (msg *m; stream->status == 200 && (m = http_next(stream));) /* its stream ends */
            owl_json_doc_free(m);
    }
    free(headers);
    http_close(&other);
}

static void legacy_session(struct client *c)
{
    unsigned rev = chance(&c->seed, OWL_COUNT(revisions));
    struct http h = initialize(c, rev);
    struct http stream = dial_again(&h);
    if (h.session[0]) {
        tell_legacy(&h, INITIALIZED);
        char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n", h.session);
        bool listens = chance(&c->seed, 2);
        if (listens) {
            http_send(&stream, "GET", headers, "");
            await_head(&stream);
        }
        for (unsigned left = chance(&c->seed, 6); left > 0 && !h.broken; left--) {
            unsigned what = chance(&c->seed, 5);
            if (what == 0 && rev <= 1)
                legacy_batch(&h);
            else if (what == 4 && rev >= 1)
                legacy_resume(c, &h);
            else if (what <= 1 && rev >= 2)
                legacy_asked(c, &h);
            else
                legacy_plain(c, &h);
        }
        free(headers);
        legacy_end(&h, &stream, chance(&c->seed, 4));
    }
    http_close(&stream);
    http_close(&h);
}

/* Half a request. */
static void rude(struct client *c)
{
    static const char text[] = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                               "application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"";
    struct http h = dial();
    size_t n = 1 + chance(&c->seed, sizeof text - 1);
    OWL_IGNORE(send(h.fd, text, n, MSG_NOSIGNAL) < 0); /* it does not matter how far it gets */
    http_close(&h);
}

static void *client_main(void *arg)
{
    static void (*const acts[])(struct client *) = {
        modern_plain,  modern_plain,   modern_leave,   modern_asked,   modern_asked, modern_task,
        modern_listen, legacy_session, legacy_session, legacy_session, rude,
    };
    struct client c = {.seed = *(unsigned *)arg};
    while (!atomic_load(&stopping))
        acts[chance(&c.seed, OWL_COUNT(acts))](&c);
    return NULL;
}

/* ---- the test ---- */

static int open_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void check_empty(void)
{
    for (unsigned i = 0; i < owl_runtime_count(server->env.runtime); i++) {
        struct owl_reactor *r = owl_runtime_at(server->env.runtime, i);
        struct owl_call_local *l = owl_call_local(&server->env, r);
        assert_int_equal(l->n_calls, 0);
        assert_true(owl_list_empty(&l->calls) && owl_list_empty(&l->park_order));
        assert_int_equal(l->in_flight.n + l->asked.n + l->parked.n, 0);
        assert_true(owl_list_empty(&owl_server_local(server, r)->subs));
        assert_true(owl_list_empty(&server->http->shards[i]->conns));
        assert_int_equal(owl_reactor_load(r), 0);
    }
    int sessions = (int)owl_sessions_count(server->sessions);
    int least = atomic_load(&opened) - atomic_load(&deleted);
    if (sessions < least || sessions > least + atomic_load(&unsure))
        fail_msg("%d sessions of %d to %d", sessions, least, least + atomic_load(&unsure));
}

TEST(a_server_under_random_stress_answers_all_and_leaves_nothing, "")
{
    unsigned seed = seed_of_run(), seeds[CLIENTS + 1];
    pthread_t threads[CLIENTS + 1];
    server = stress_server(); /* what libuv opens once and for all */
    server_start(server);
    server_end(server);
    int before = open_descriptors();
    print_message("OWLCLAW_SEED=%u\n", seed);
    server = stress_server();
    server_start(server);
    for (unsigned i = 0; i <= CLIENTS; i++) {
        seeds[i] = seed + i * 7919;
        assert_int_equal(
            pthread_create(&threads[i], NULL, i ? client_main : meddle_main, &seeds[i]), 0);
    }
    pause_ms(RUN_MS);
    atomic_store(&stopping, true);
    owl_server_stop(server);
    finish_kept();
    assert_int_equal(owl_server_join(server), 0);
    for (unsigned i = 0; i <= CLIENTS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    finish_kept();
    check_empty();
    owl_server_free(server);
    print_message("%d answers, %d sessions\n", atomic_load(&answered), atomic_load(&opened));
    assert_true(atomic_load(&answered) > CLIENTS);
    assert_int_equal(open_descriptors(), before);
}

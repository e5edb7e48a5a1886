/* What a peer can make a server hold, beside what the limits promise (docs/limits.md): each test sends
 * the most that is documented, many times, while nobody can work on it, and looks at the heap. */
#include <malloc.h>

#include "base/block.h"
#include "base/buf.h"
#include "call/call.h"
#include "library/hold.h"
#include "server/server.h"

enum {
    MIB = 1024 * 1024,
    BODY = 4 * MIB,
    TOTAL = 16 * MIB, /* input_total_bytes */
    KEPT = 32 * MIB,  /* what each reactor keeps for the next long messages */
    SLACK = 4 * MIB,  /* connections, sessions, what the test itself holds */
    REACTORS = 2
};

/* Of the sanitizers; their header is not there for each of them. */
size_t __sanitizer_get_current_allocated_bytes(void);

static size_t heap_bytes(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return __sanitizer_get_current_allocated_bytes();
#else
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#endif
}

static void expect_grown(size_t before, size_t most)
{
    size_t now = heap_bytes(), grown = now > before ? now - before : 0;
    if (grown > most)
        fail_msg("%zu KiB more are held, of %zu", grown / 1024, most / 1024);
}

/* ---- calls that stay, with as much as a message may have ---- */

struct tidy {
    struct owl_msg msg;
    atomic_int done;
};

static void on_tidy(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    owl_thread_keep_nothing();
    atomic_fetch_add(&OWL_CONTAINER(m, struct tidy, msg)->done, 1);
}

/* The reactor gives back what it keeps for the next long messages. */
static void keep_nothing(owl_server *s)
{
    struct tidy t = {.msg.run = on_tidy};
    assert_true(owl_post(owl_runtime_at(s->env.runtime, 0), &t.msg));
    assert_true(reaches(&t.done, 1));
}

/* One call alone may hold what it wants, and short ones are not counted: these are neither. */
enum { CALLS = 20, WORKERS = 32, SHAPED = MIB / 4, SHAPED_TOTAL = 4 * MIB };

/* What members of params or arguments are made of. */
static const struct shape {
    const char *name, *before, *each, *after;
    size_t most; /* of each, 0: as many as fit; "%x" in it is their number */
} shapes[] = {
    {"a long string", "\"arguments\":{\"s\":\"", "0123456789abcdef", "\"}", 0},
    {"a long string of escapes", "\"arguments\":{\"s\":\"", "\\u0061", "\"}", 0},
    {"numbers", "\"arguments\":{\"n\":[", "1,", "1]}", 0},
    {"fractions", "\"arguments\":{\"n\":[", "9007199254740993.0,", "1]}", 0},
    {"empty objects", "\"arguments\":{\"n\":[", "{},", "1]}", 0},
    {"members", "\"arguments\":{", "\"%x\":1,", "\"z\":1}", 99000},
    {"objects of members", "\"arguments\":{\"o\":[", "{\"a\":1,\"b\":{}},", "1]}", 0},
    {"params", "", "\"%x\":1,", "\"z\":1", 99000},
    {"members of _meta", "\"_meta\":{", "\"%x\":1,", "\"z\":1}", 99000},
    {"white space", "\"arguments\":{", "                ", "}", 0},
};

static char *shaped(const struct shape *x)
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_putz(&b, "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"tools/call\",\"params\":{"
                     "\"name\":\"hold\",");
    owl_buf_putz(&b, x->before);
    size_t each = strlen(x->each);
    for (size_t i = 0; b.n + 2 * each + 100 < SHAPED && (x->most == 0 || i < x->most); i++) {
        if (x->most)
            owl_buf_printf(&b, "\"%zx\":1,", i);
        else
            owl_buf_put(&b, x->each, each);
    }
    owl_buf_putz(&b, x->after);
    owl_buf_put(&b, "}}", 3);
    assert_int_equal(b.rc, 0);
    return b.p;
}

/* Sends it, and waits until it is answered or its handler runs. */
static void send_shaped(struct http *h, const char *text)
{
    int before = atomic_load(&entered);
    struct pollfd p = {.fd = h->fd, .events = POLLIN};
    legacy_send(h, text);
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end;)
        if (atomic_load(&entered) > before || poll(&p, 1, 1) > 0)
            return;
    fail_msg("neither refused nor run");
}

static void expect_promise(const struct shape *x)
{
    size_t most = 2 * SHAPED_TOTAL + SLACK / 2;
    owl_limits limits = {.size = sizeof limits, .input_total_bytes = SHAPED_TOTAL};
    owl_server *s = server_with(
        (owl_server_options){.reactors = 1, .workers = WORKERS, .limits = &limits});
    add_tool(s, (owl_tool){.name = "hold", .handler = hold, .input_schema = ANY_ARGUMENTS});
    server_start(s);
    atomic_store(&entered, 0);
    atomic_store(&may_leave, false);
    struct http session = legacy_open(s, "{}"), calls[CALLS];
    char *text = shaped(x);
    keep_nothing(s);
    size_t before = heap_bytes();
    for (int i = 0; i < CALLS; i++) {
        calls[i] = http_join(&session);
        strstr(text, "\"id\":")[6] = (char)('0' + i % 10); /* an id of its own: 10, 11, … 29 */
        strstr(text, "\"id\":")[5] = (char)('1' + i / 10);
        send_shaped(&calls[i], text);
    }
    keep_nothing(s);
    size_t grown = heap_bytes() - before;
    if (atomic_load(&entered) == 0 || grown > most)
        fail_msg("%s: %zu KiB more are held, of %zu", x->name, grown / 1024, most / 1024);
    atomic_store(&may_leave, true);
    for (int i = 0; i < CALLS; i++)
        http_close(&calls[i]);
    http_close(&session);
    free(text);
    server_end(s);
}

TEST(calls_hold_no_more_than_is_promised, "")
{
    for (size_t i = 0; i < OWL_COUNT(shapes); i++)
        expect_promise(&shapes[i]);
}

/* ---- calls that are asked again and again ---- */

static int answered(owl_call *c, const owl_json *answer, void *data)
{
    (void)answer;
    (void)data;
    return owl_result_text(c, "answered");
}

static int ask_parked(owl_call *c, void *data)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "?", .schema = SCHEMA};
    int rc = owl_ask_async(c, "who", &q, answered, data);
    return rc ? rc : OWL_PENDING;
}

/* The client comes back without an answer, or with @p more; the next state, or NULL at the end. */
static char *come_back(owl_server *s, const char *arguments, const char *state, const char *more)
{
    struct http h = http_open(s);
    char *params = text_of("\"arguments\":%s%s%s%s%s", arguments,
                           state ? ",\"requestState\":\"" : "", state ? state : "",
                           state ? "\"" : "", more);
    modern_call(&h, "parked", params, "{\"elicitation\":{}}", "");
    assert_int_equal(http_head(&h), 200);
    msg *m = http_next(&h);
    bool over = !at(m, "result/requestState");
    char *next = over ? NULL : text_of("%s", str_at(m, "result/requestState"));
    if (over)
        assert_string_equal(str_at(m, "result/content/0/text"), "answered");
    owl_json_doc_free(m);
    free(params);
    http_close(&h);
    return next;
}

TEST(a_call_grows_no_further_when_it_asks_again, "")
{
    enum { ROUNDS = 20 };
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "parked",
                           .handler = ask_parked,
                           .input_schema = ANY_ARGUMENTS,
                           .flags = OWL_PARKED});
    server_start(s);
    char *arguments = text_of("{\"s\":\"%0*d\"}", MIB, 0);
    char *state = come_back(s, arguments, NULL, "");
    assert_non_null(state);
    keep_nothing(s);
    size_t before = heap_bytes();
    for (int i = 0; i < ROUNDS; i++) {
        char *next = come_back(s, arguments, state, "");
        assert_non_null(next);
        free(state);
        state = next;
    }
    keep_nothing(s);
    expect_grown(before, SLACK);
    assert_null(
        come_back(s, arguments, state, ",\"inputResponses\":{\"who\":{\"action\":\"decline\"}}"));
    free(state);
    free(arguments);
    server_end(s);
}

/* ---- listens ---- */

enum { LISTENS = 150 };

/* Few bytes each to write, and many to hold. */
TEST(what_listens_name_counts, "")
{
    owl_limits limits = {.size = sizeof limits, .input_total_bytes = MIB};
    owl_server *s = server_with((owl_server_options){.reactors = 1, .limits = &limits});
    add_resource(s, (owl_resource){.uri = "x:1", .name = "r", .text = "1"});
    add_tool(s, (owl_tool){.name = "hold", .handler = hold, .flags = OWL_TASK});
    server_start(s);
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_putz(&b, "\"notifications\":{\"resourceSubscriptions\":[\"\"");
    for (int i = 1; i < 1000; i++)
        owl_buf_putz(&b, ",\"\"");
    owl_buf_putz(&b, "],\"taskIds\":[\"\"");
    for (int i = 1; i < 1000; i++)
        owl_buf_putz(&b, ",\"\"");
    owl_buf_put(&b, "]}", 3);
    char *text = modern_text("1", "subscriptions/listen", b.p,
                             "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}", "");
    static struct http listens[LISTENS];
    size_t before = heap_bytes(), refused = 0;
    for (int i = 0; i < LISTENS; i++) {
        listens[i] = http_open(s);
        modern_send(&listens[i], "", text);
        assert_int_equal(http_head(&listens[i]), 200);
        msg *m = http_next(&listens[i]);
        refused += at(m, "error") != NULL;
        if (at(m, "error"))
            assert_true(owl_json_bool(at(m, "error/data/retryable"), false));
        owl_json_doc_free(m);
        free(listens[i].raw.p);
        free(listens[i].body.p);
        listens[i].raw = listens[i].body = (struct bytes){.p = NULL};
    }
    keep_nothing(s);
    /* The first 16 KiB of each body and of what is made of it do not count. */
    expect_grown(before, MIB + LISTENS * 40 * 1024 + SLACK);
    assert_in_range(refused, 1, LISTENS - 1);
    for (int i = 0; i < LISTENS; i++)
        http_close(&listens[i]);
    owl_buf_done(&b);
    free(text);
    server_end(s);
}

/* ---- servers of two reactors, one of which can be stopped ---- */

static int where(owl_call *c, void *data)
{
    (void)data;
    return owl_result_textf(c, "%u", owl_reactor_index(c->reactor));
}

static int ask(owl_call *c, void *data)
{
    (void)data;
    const owl_json *answer;
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_ROOTS};
    int rc = owl_ask(c, "roots", &q, &answer);
    return rc ? rc : owl_result_text(c, "asked");
}

static owl_server *promising_server(owl_limits limits)
{
    limits.size = sizeof limits;
    limits.input_total_bytes = TOTAL;
    owl_server *s = server_with((owl_server_options){.reactors = REACTORS, .limits = &limits});
    add_tool(s, (owl_tool){.name = "where", .handler = where, .flags = OWL_INLINE});
    add_tool(s, (owl_tool){.name = "stop", .handler = hold, .flags = OWL_INLINE});
    add_tool(s, (owl_tool){.name = "hold", .handler = hold, .input_schema = ANY_ARGUMENTS});
    add_tool(s, (owl_tool){.name = "ask", .handler = ask});
    server_start(s);
    atomic_store(&entered, 0);
    atomic_store(&may_leave, false);
    return s;
}

/* A connection of the session to the reactor of that number. Those that land elsewhere stay open
 * meanwhile: connections go where there are fewer. */
static struct http join_at(const struct http *session, const char *reactor)
{
    struct http tried[50];
    int n = 0;
    bool there = false;
    while (!there && n < (int)OWL_COUNT(tried)) {
        struct http *h = &tried[n++];
        *h = http_join(session);
        legacy_call(h, "where", "");
        assert_int_equal(http_head(h), 200);
        msg *m = http_next(h);
        there = strcmp(str_at(m, "result/content/0/text"), reactor) == 0;
        owl_json_doc_free(m);
    }
    if (!there)
        fail_msg("no connection to reactor %s", reactor);
    for (int i = 0; i < n - 1; i++)
        http_close(&tried[i]);
    return tried[n - 1];
}

/* ---- responses ---- */

enum { RESPONSES = 20 };

/* The response to @p id, as long as a message may be. */
static char *long_response(const char *id)
{
    return text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"roots\":[],\"pad\":\"%0*d\"}}",
                   id, BODY - 200, 0);
}

static void send_responses(struct http *h, const char *text)
{
    for (int i = 0; i < RESPONSES; i++) {
        legacy_send(h, text);
        assert_int_equal(http_head(h), 202);
    }
}

TEST(responses_to_nothing_are_not_kept, "")
{
    owl_server *s = promising_server((owl_limits){0});
    struct http h = legacy_open(s, "{\"roots\":{}}");
    struct http sender = join_at(&h, "0"), stopped = join_at(&h, "1");
    legacy_call(&stopped, "stop", "");
    assert_true(reaches(&entered, 1));
    char *text = long_response("owl-1-1");
    size_t before = heap_bytes();
    send_responses(&sender, text);
    expect_grown(before, KEPT + SLACK + 2 * BODY);
    atomic_store(&may_leave, true);
    assert_int_equal(http_head(&stopped), 200);
    free(text);
    http_close(&sender);
    http_close(&stopped);
    http_close(&h);
    server_end(s);
}

TEST(responses_on_their_way_count, "")
{
    owl_server *s = promising_server((owl_limits){0});
    struct http h = legacy_open(s, "{\"roots\":{}}");
    struct http sender = join_at(&h, "0"), asked = join_at(&h, "1"), stopped = join_at(&h, "1");
    legacy_call(&asked, "ask", "");
    assert_int_equal(http_head(&asked), 200);
    msg *question = http_next(&asked);
    char *stop = legacy_text("2", "tools/call", "\"name\":\"stop\"");
    legacy_send(&stopped, stop);
    assert_true(reaches(&entered, 1));
    char *text = long_response(str_at(question, "id"));
    size_t before = heap_bytes();
    send_responses(&sender, text);
    expect_grown(before, TOTAL / REACTORS + KEPT + SLACK + 2 * BODY);
    atomic_store(&may_leave, true);
    expect_str(http_next(&asked), "result/content/0/text", "asked"); /* the first was kept */
    free(text);
    free(stop);
    owl_json_doc_free(question);
    http_close(&sender);
    http_close(&asked);
    http_close(&stopped);
    http_close(&h);
    server_end(s);
}

TEST(a_call_hears_that_there_was_no_room_for_its_answer, "")
{
    owl_server *s = promising_server((owl_limits){0});
    struct http h = legacy_open(s, "{\"roots\":{}}"), sender = join_at(&h, "0");
    struct http asked[2], stopped = join_at(&h, "1");
    char *answers[2];
    for (int i = 0; i < 2; i++) {
        char *text = legacy_text(i ? "11" : "10", "tools/call", "\"name\":\"ask\"");
        asked[i] = join_at(&h, "1");
        legacy_send(&asked[i], text);
        assert_int_equal(http_head(&asked[i]), 200);
        msg *question = http_next(&asked[i]);
        answers[i] = long_response(str_at(question, "id"));
        owl_json_doc_free(question);
        free(text);
    }
    legacy_call(&stopped, "stop", "");
    assert_true(reaches(&entered, 1));
    const int order[] = {0, 0, 1}; /* two take all the room that reactor 0 has for answers */
    for (size_t i = 0; i < OWL_COUNT(order); i++) {
        legacy_send(&sender, answers[order[i]]);
        assert_int_equal(http_head(&sender), 202);
    }
    atomic_store(&may_leave, true);
    expect_str(http_next(&asked[0]), "result/content/0/text", "asked");
    msg *m = http_next(&asked[1]);
    assert_true(owl_json_bool(at(m, "error/data/retryable"), false));
    expect_int(m, "error/code", -32603);
    for (int i = 0; i < 2; i++) {
        http_close(&asked[i]);
        free(answers[i]);
    }
    http_close(&sender);
    http_close(&stopped);
    http_close(&h);
    server_end(s);
}

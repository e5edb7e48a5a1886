/* library/test_limits.c - the limits of a server: defaults, ranges, and what is beyond them.
 * Those that the transport, the sessions and the tasks keep are tested where they are kept. */
#include "base/block.h"
#include "library/fixture.h"
#include "library/hold.h"
#include "server/server.h"

TEST(limits_that_are_not_given_have_their_defaults, "")
{
    owl_limits l;
    owl_error e = {0};
    assert_int_equal(owl_limits_read(NULL, &l, &e), 0);
    assert_int_equal(l.body_bytes, 4 << 20);
    assert_int_equal(l.line_bytes, 4 << 20);
    assert_int_equal(l.headers, 100);
    assert_int_equal(l.header_bytes, 32 << 10);
    assert_int_equal(l.depth, 128);
    assert_int_equal(l.id_bytes, 256);
    assert_int_equal(l.connections_per_peer, 256);
    assert_int_equal(l.sessions, 10000);
    assert_int_equal(l.streams, 10000);
    assert_int_equal(l.listens, 10000);
    assert_int_equal(l.session_calls, 256);
    assert_int_equal(l.subscription_bytes, 64 << 20);
    assert_int_equal(l.parked, 1000);
    assert_int_equal(l.queue_bytes, 1 << 20);
    assert_int_equal(l.header_ms, 10000);
    assert_int_equal(l.body_ms, 30000);
    assert_int_equal(l.handshakes, 16);
    owl_limits given = OWL_LIMITS;
    given.batch = 7;
    assert_int_equal(owl_limits_read(&given, &l, &e), 0);
    assert_int_equal(l.batch, 7);
    assert_int_equal(l.body_bytes, 4 << 20);
}

TEST(a_program_that_knows_fewer_limits_is_understood, "")
{
    owl_limits l, given = OWL_LIMITS;
    owl_error e = {0};
    given.size = offsetof(owl_limits, line_bytes);
    given.body_bytes = 2048;
    given.task_ms = 1; /* garbage behind what it knows */
    assert_int_equal(owl_limits_read(&given, &l, &e), 0);
    assert_int_equal(l.body_bytes, 2048);
    assert_int_equal(l.task_ms, 3600000);
    given.size = 1;
    assert_int_equal(owl_limits_read(&given, &l, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "sizeof(owl_limits)"));
}

TEST(every_limit_has_a_range, "")
{
    static const struct {
        size_t at;
        uint64_t least, most;
        const char *name;
    } rows[] = {
#define OWL_LIMIT_ROW(name, value, least, most, text) \
    {offsetof(owl_limits, name), least, most, #name},
#include "tbl/limits.h"
    };
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        owl_limits l, given = OWL_LIMITS;
        owl_error e = {0};
        size_t *v = (size_t *)(void *)((char *)&given + rows[i].at);
        *v = (size_t)rows[i].most;
        assert_int_equal(owl_limits_read(&given, &l, &e), 0);
        *v = (size_t)rows[i].least;
        assert_int_equal(owl_limits_read(&given, &l, &e), 0);
        *v = (size_t)rows[i].most + 1;
        assert_int_equal(owl_limits_read(&given, &l, &e), -OWL_EINVAL);
        assert_non_null(strstr(e.message, rows[i].name));
        if (rows[i].least == 1)
            continue; /* 0 is the default */
        *v = (size_t)rows[i].least - 1;
        assert_int_equal(owl_limits_read(&given, &l, &e), -OWL_EINVAL);
    }
}

TEST(a_server_is_not_made_with_a_limit_out_of_range, "")
{
    owl_limits limits = OWL_LIMITS;
    owl_server_options o = OWL_SERVER_OPTIONS("test", "1");
    owl_server *s = NULL;
    owl_error e = {0};
    limits.depth = 1000;
    o.limits = &limits;
    assert_int_equal(owl_server_new(&o, &s, &e), -OWL_EINVAL);
    assert_null(s);
    assert_non_null(strstr(e.message, "limits.depth is 1000: it may be 4 to 128"));
}

/* ---- beyond them, over HTTP ---- */

static int say_hello(owl_call *call, void *data)
{
    (void)data;
    return owl_result_text(call, "hello");
}

static owl_server *small_server(owl_limits limits)
{
    limits.size = sizeof limits;
    owl_server *s = server_with((owl_server_options){.reactors = 2, .limits = &limits});
    add_tool(s, (owl_tool){.name = "echo", .handler = say_hello, .flags = OWL_INLINE});
    server_start(s);
    return s;
}

/* The status of a POST on a connection of its own. */
static int post_status(owl_server *s, const char *headers, const char *body)
{
    struct http h = http_open(s);
    char *all = text_of(POST_HEADERS "%s", headers);
    http_send(&h, "POST", all, body);
    int status = http_head(&h);
    http_close(&h);
    free(all);
    return status;
}

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define OK_STATUS 400 /* a ping without a session is understood, and refused */

TEST(a_request_that_is_too_large_gets_the_right_status, "")
{
    owl_server *s = small_server((owl_limits){
        .body_bytes = 1024, .headers = 10, .header_bytes = 1000, .url_bytes = 64, .depth = 5});
    char *long_body = text_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"%1024s}", "");
    char *long_header = text_of("X-Long: %0990d\r\n", 1);
    assert_int_equal(post_status(s, "", PING), OK_STATUS);
    assert_int_equal(post_status(s, "", long_body), 413);
    assert_int_equal(post_status(s, long_header, PING), 431);
    assert_int_equal(post_status(s,
                                 "A:1\r\nB:1\r\nC:1\r\nD:1\r\nE:1\r\nF:1\r\nG:1\r\nH:1\r\n"
                                 "I:1\r\nJ:1\r\n",
                                 PING),
                     431);
    assert_int_equal(post_status(s, "",
                                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\","
                                 "\"params\":{\"a\":[[[[1]]]]}}"),
                     400);
    assert_int_equal(post_status(s, "", PING), OK_STATUS); /* nobody else is harmed */
    free(long_body);
    free(long_header);
    server_end(s);
}

TEST(an_id_that_is_too_long_is_refused, "")
{
    owl_server *s = small_server((owl_limits){.id_bytes = 16});
    struct http h = legacy_open(s, "{}");
    legacy_send(&h, "{\"jsonrpc\":\"2.0\",\"id\":\"12345678901234\",\"method\":\"ping\"}");
    assert_int_equal(http_head(&h), 200);
    owl_json_doc_free(http_next(&h));
    legacy_send(&h, "{\"jsonrpc\":\"2.0\",\"id\":\"123456789012345\",\"method\":\"ping\"}");
    assert_int_equal(http_head(&h), 400);
    msg *m = http_next(&h);
    assert_int_equal(int_at(m, "error/code"), -32600);
    assert_non_null(strstr(str_at(m, "error/message"), "16 bytes"));
    owl_json_doc_free(m);
    http_close(&h);
    server_end(s);
}

/* The answer to a listen with @p blanks behind it. */
static msg *listen_with(owl_server *s, int blanks)
{
    struct http h = http_open(s);
    char *text = modern_text("1", "subscriptions/listen", "\"notifications\":{}", "{}", "");
    char *padded = text_of("%s%*s", text, blanks, "");
    modern_send(&h, "", padded);
    http_head(&h);
    msg *m = http_next(&h);
    free(padded);
    free(text);
    http_close(&h);
    return m;
}

TEST(a_listen_keeps_no_large_message, "")
{
    owl_server *s = small_server((owl_limits){.listens = 2});
    expect_str(listen_with(s, 250 * 1024), "method", "notifications/subscriptions/acknowledged");
    msg *m = listen_with(s, 256 * 1024);
    assert_non_null(strstr(str_at(m, "error/message"), "262144"));
    expect_int(m, "error/code", -32602);
    server_end(s);
}

TEST(listens_are_counted_and_given_back, "")
{
    static const char listen[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","
        "\"io.modelcontextprotocol/clientCapabilities\":{}},\"notifications\":{}}}";
    static const char headers[] = "MCP-Protocol-Version: " MODERN "\r\n"
                                  "Mcp-Method: subscriptions/listen\r\n";
    owl_server *s = small_server((owl_limits){.listens = 2});
    struct http a = http_open(s), b = http_open(s), c = http_open(s);
    struct http *const both[] = {&a, &b};
    char *all = text_of(POST_HEADERS "%s", headers);
    for (int i = 0; i < 2; i++) {
        http_send(both[i], "POST", all, listen);
        assert_int_equal(http_head(both[i]), 200);
        owl_json_doc_free(http_next(both[i]));
    }
    http_send(&c, "POST", all, listen);
    assert_int_equal(http_head(&c), 200);
    msg *m = http_next(&c);
    assert_int_equal(int_at(m, "error/code"), -32603);
    assert_true(owl_json_bool(at(m, "error/data/retryable"), false));
    assert_non_null(strstr(str_at(m, "error/message"), "2 listens"));
    owl_json_doc_free(m);
    http_close(&a); /* its place becomes free as soon as that is noticed */
    for (int64_t end = now_ms() + WAIT_MS;; usleep(1000)) {
        http_send(&c, "POST", all, listen);
        assert_int_equal(http_head(&c), 200);
        m = http_next(&c);
        bool heard = strcmp(str_at(m, "method"), "(none)") != 0;
        owl_json_doc_free(m);
        if (heard)
            break;
        assert_true(now_ms() < end);
    }
    free(all);
    http_close(&b);
    http_close(&c);
    server_end(s);
}

/* The error code of a subscription, 0 if it is taken. */
static int64_t subscribe(struct http *h, int i)
{
    char *params = text_of("\"uri\":\"x://%0400d\"", i);
    char *text = legacy_text("1", "resources/subscribe", params);
    legacy_send(h, text);
    assert_int_equal(http_head(h), 200);
    msg *m = http_next(h);
    int64_t code = at(m, "error") ? int_at(m, "error/code") : 0;
    if (code != 0) {
        assert_true(owl_json_bool(at(m, "error/data/retryable"), false));
        assert_non_null(strstr(str_at(m, "error/message"), "1100 bytes"));
    }
    owl_json_doc_free(m);
    free(text);
    free(params);
    return code;
}

/* Opens the stream of the session on a connection of its own. */
static struct http open_stream(const struct http *session)
{
    struct http h = http_join(session);
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n", h.session);
    http_send(&h, "GET", headers, "");
    assert_int_equal(http_head(&h), 200);
    free(headers);
    return h;
}

TEST(subscriptions_of_all_sessions_are_limited, "")
{
    owl_server *s = small_server((owl_limits){.subscription_bytes = 1100});
    add_resource(s, (owl_resource){.uri = "x:y", .name = "n", .handler = say_hello});
    struct http a = legacy_open(s, "{}"), b = legacy_open(s, "{}"), c = legacy_open(s, "{}");
    struct http stream = open_stream(&b);
    assert_int_equal(subscribe(&a, 1), 0);
    assert_int_equal(subscribe(&b, 1), 0);
    assert_int_equal(subscribe(&c, 1), 0); /* in the place of one that could not hear of it */
    legacy_send(&a, PING);
    assert_int_equal(http_head(&a), 404);
    owl_json_doc_free(http_next(&a));
    assert_int_equal(subscribe(&c, 2), -32603);
    assert_int_equal(subscribe(&c, 1), 0); /* it is there already */
    http_close(&stream);
    http_close(&a);
    http_close(&b);
    http_close(&c);
    server_end(s);
}

/* ---- bodies count for as long as they are held ---- */

static owl_server *holding_server(void)
{
    owl_limits limits = {.size = sizeof limits, .input_total_bytes = 65536};
    owl_server *s = server_with((owl_server_options){.reactors = 1, .limits = &limits});
    add_tool(s, (owl_tool){.name = "hold", .handler = hold});
    server_start(s);
    atomic_store(&entered, 0);
    atomic_store(&may_leave, false);
    return s;
}

/* A large body is refused until the handler has returned. */
static void expect_held(owl_server *s)
{
    char *large = text_of(PING "%40000s", "");
    pause_ms(50); /* whatever would be given back too early */
    assert_int_equal(post_status(s, "", large), 503);
    assert_int_equal(post_status(s, "", PING), OK_STATUS);
    atomic_store(&may_leave, true);
    int64_t end = now_ms() + WAIT_MS;
    while (post_status(s, "", large) == 503 && now_ms() < end)
        usleep(1000);
    assert_int_equal(post_status(s, "", large), OK_STATUS);
    free(large);
}

TEST(the_body_of_a_call_that_goes_on_without_its_client_counts, "")
{
    owl_server *s = holding_server();
    struct http h = legacy_open(s, "{}");
    char *pad = text_of("\"pad\":\"%080000d\"", 0);
    legacy_call(&h, "hold", pad);
    assert_true(reaches(&entered, 1));
    http_close(&h);
    expect_held(s);
    free(pad);
    server_end(s);
}

/* Short to write, long to hold: each number takes two bytes of a body, and sixteen as a value. */
TEST(what_calls_parse_of_their_arguments_counts, "")
{
    owl_limits limits = {.size = sizeof limits, .input_total_bytes = 262144};
    owl_server *s = server_with((owl_server_options){.reactors = 1, .limits = &limits});
    add_tool(s,
             (owl_tool){.name = "hold", .handler = hold, .input_schema = "{\"type\":\"object\"}"});
    server_start(s);
    atomic_store(&entered, 0);
    atomic_store(&may_leave, false);
    char numbers[2 * 9000];
    for (size_t i = 0; i < sizeof numbers; i += 2)
        memcpy(numbers + i, "1,", 2);
    numbers[sizeof numbers - 1] = '\0';
    char *args = text_of("\"arguments\":{\"x\":[%s]}", numbers);
    struct http a = legacy_open(s, "{}"), b = legacy_open(s, "{}");
    legacy_call(&a, "hold", args); /* 160 KB */
    assert_true(reaches(&entered, 1));
    legacy_call(&b, "hold", args);
    http_head(&b);
    expect_int(http_next(&b), "error/code", -32603);
    atomic_store(&may_leave, true);
    http_head(&a);
    expect_str(http_next(&a), "result/content/0/text", "held");
    legacy_call(&b, "hold", args); /* there is room again */
    http_head(&b);
    expect_str(http_next(&b), "result/content/0/text", "held");
    http_close(&a);
    http_close(&b);
    free(args);
    server_end(s);
}

/* A byte or two each to write, and a chunk each to hold. */
TEST(answers_that_nobody_has_asked_for_count, "")
{
    owl_server *s = holding_server();
    struct owl_budget *values = owl_call_local(&s->env, owl_runtime_at(s->env.runtime, 0))->values;
    char early[2000] = "\"inputResponses\":{\"k\":1";
    for (size_t i = 1, n = strlen(early); i < 64; i++)
        n += (size_t)snprintf(early + n, sizeof early - n, ",\"k%zu\":1%s", i, i == 63 ? "}" : "");
    struct http calls[3];
    size_t held[3];
    for (int i = 0; i < 3; i++) {
        calls[i] = http_open(s);
        modern_call(&calls[i], "hold", early, "{}", "");
        assert_true(reaches(&entered, i + 1));
        held[i] = atomic_load(&values->held);
    }
    assert_in_range(held[0], 63 * OWL_CHUNK_BYTES - 16384, 80 * OWL_CHUNK_BYTES);
    assert_int_equal(held[1], held[0]); /* they keep what counts nowhere, and no more */
    assert_int_equal(held[2], held[0]);
    atomic_store(&may_leave, true);
    for (int i = 0; i < 3; i++) {
        http_head(&calls[i]);
        expect_str(http_next(&calls[i]), "result/content/0/text", "held");
        http_close(&calls[i]);
    }
    server_end(s);
}

/* A session whose revision has batches. */
static struct http batches_open(owl_server *s)
{
    struct http h = http_open(s);
    legacy_send(&h, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                    "\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},"
                    "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}");
    assert_int_equal(http_head(&h), 200);
    owl_json_doc_free(http_next(&h));
    legacy_tell(&h, INITIALIZED);
    return h;
}

static int say_much(owl_call *call, void *data)
{
    (void)data;
    atomic_fetch_add(&entered, 1);
    return owl_result_textf(call, "%060000d", 0);
}

/* What is ready while another member goes on. */
TEST(answers_of_batches_that_wait_count, "")
{
    static const char batch[] =
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"much\"}},"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\"}}]";
    owl_server *s = holding_server();
    add_tool(s, (owl_tool){.name = "much", .handler = say_much, .flags = OWL_INLINE});
    struct http first = batches_open(s), second = batches_open(s);
    legacy_send(&first, batch);
    assert_true(reaches(&entered, 2));
    legacy_send(&second, batch);
    assert_true(reaches(&entered, 4));
    atomic_store(&may_leave, true);
    http_head(&first);
    msg *m = http_next(&first);
    assert_int_equal(strlen(str_at(m, "0/result/content/0/text")), 60000);
    owl_json_doc_free(m);
    http_head(&second);
    m = http_next(&second);
    assert_int_equal(int_at(m, "0/id"), 1);
    assert_int_equal(int_at(m, "0/error/code"), -32603);
    assert_true(owl_json_bool(at(m, "0/error/data/retryable"), false));
    expect_str(m, "1/result/content/0/text", "held");
    http_close(&first);
    http_close(&second);
    server_end(s);
}

TEST(the_body_of_a_batch_counts_until_its_last_handler_has_returned, "")
{
    owl_server *s = holding_server();
    struct http h = batches_open(s);
    char *batch = text_of("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                          "\"name\":\"hold\",\"pad\":\"%080000d\"}}]",
                          0);
    legacy_send(&h, batch);
    assert_true(reaches(&entered, 1));
    legacy_tell(&h, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                    "\"requestId\":1}}");
    assert_int_equal(http_head(&h), 200); /* answered, but the handler knows nothing of it */
    http_close(&h);
    expect_held(s);
    free(batch);
    server_end(s);
}

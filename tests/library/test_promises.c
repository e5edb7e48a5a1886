/* What a peer can make a server hold, beside what the limits promise (docs/limits.md): each test sends
 * the most that is documented, many times, while nobody can work on it, and looks at the heap. */
#include <malloc.h>
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/allocator_interface.h>
#endif

#include "call/call.h"
#include "library/hold.h"

enum {
    MIB = 1024 * 1024,
    BODY = 4 * MIB,
    TOTAL = 16 * MIB, /* input_total_bytes */
    KEPT = 32 * MIB,  /* what each reactor keeps for the next long messages */
    SLACK = 4 * MIB,  /* connections, sessions, what the test itself holds */
    REACTORS = 2
};

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

/* A connection of the session to the reactor of that number. */
static struct http join_at(const struct http *session, const char *reactor)
{
    for (int i = 0; i < 100; i++) {
        struct http h = http_join(session);
        legacy_call(&h, "where", "");
        assert_int_equal(http_head(&h), 200);
        msg *m = http_next(&h);
        bool there = strcmp(str_at(m, "result/content/0/text"), reactor) == 0;
        owl_json_doc_free(m);
        if (there)
            return h;
        http_close(&h);
    }
    fail_msg("no connection to reactor %s", reactor);
    return *session;
}

/* ---- responses ---- */

enum { RESPONSES = 40 };

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

/* Clients of the old HTTP+SSE that come, use the server and vanish, in every way and at any time:
 * nothing of theirs stays; nor does a server without memory lose or leak anything. */
#include "base/alloc.h"
#include "base/block.h"
#include "library/fixture.h"
#include "server/server.h"

#include <malloc.h>

#define CLIENT "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}"
#define META \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN \
    "\",\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}"

/* ---- what is called ---- */

static int quick(owl_call *c, void *data)
{
    (void)data;
    return owl_result_text(c, "hello");
}

/* Also gives back what its thread keeps for the next call. */
static int tidy(owl_call *c, void *data)
{
    owl_thread_keep_nothing();
    return quick(c, data);
}

static int never(owl_call *c, void *data)
{
    (void)c;
    (void)data;
    return OWL_LATER;
}

static int until_cancelled(owl_call *c, void *data)
{
    (void)data;
    for (int i = 0; !owl_call_cancelled(c) && i < WAIT_MS; i++) {
        owl_call_progress(c, i, 0, NULL);
        usleep(1000);
    }
    return owl_result_text(c, "cut short");
}

static int ask(owl_call *c, void *data)
{
    (void)data;
    const owl_json *answer;
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "?", .schema = SCHEMA};
    return owl_ask(c, "who", &q, &answer);
}

static void add_all(owl_server *s)
{
    add_tool(s, (owl_tool){.name = "quick", .handler = quick, .flags = OWL_INLINE});
    add_tool(s, (owl_tool){.name = "worker", .handler = tidy});
    add_tool(s, (owl_tool){.name = "never", .handler = never, .flags = OWL_INLINE});
    add_tool(s, (owl_tool){.name = "slow", .handler = until_cancelled});
    add_tool(s, (owl_tool){.name = "ask", .handler = ask});
    add_resource(s, (owl_resource){.uri = "x:1", .name = "r", .text = "1"});
}

/* ---- a client ---- */

struct guest {
    struct http stream;
    char path[80];
};

static int connect_to(int port)
{
    struct http h = {.port = port};
    http_connect(&h);
    return h.fd;
}

static void send_text(int fd, const char *text, size_t n)
{
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), (ssize_t)n);
}

static void guest_knock(struct guest *g, int port)
{
    static const char get[] = "GET /mcp/sse HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    *g = (struct guest){.stream.port = port};
    http_connect(&g->stream);
    send_text(g->stream.fd, get, sizeof get - 1);
}

/* Reads the event `endpoint`. */
static void guest_enter(struct guest *g)
{
    assert_int_equal(http_head(&g->stream), 200);
    while (!g->stream.body.n || !strstr(g->stream.body.p, "\n\n"))
        assert_true(http_piece(&g->stream));
    const char *data = strstr(g->stream.body.p, "event: endpoint\ndata: /");
    assert_non_null(data);
    data += strlen("event: endpoint\ndata: ");
    snprintf(g->path, sizeof g->path, "%.*s", (int)strcspn(data, "\n"), data);
}

static char *post_text(const struct guest *g, const char *message)
{
    return text_of("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n" POST_HEADERS
                   "Content-Length: %zu\r\n\r\n%s",
                   g->path, strlen(message), message);
}

static int guest_post(const struct guest *g, const char *message)
{
    struct http h = {.fd = connect_to(g->stream.port)};
    char *text = post_text(g, message);
    send_text(h.fd, text, strlen(text));
    int status = http_head(&h);
    free(text);
    http_close(&h);
    return status;
}

/* Hangs up, sometimes without a word. */
static void guest_leave(struct guest *g, bool rudely)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    if (rudely)
        setsockopt(g->stream.fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    http_close(&g->stream);
}

/* ---- one random visit ---- */

static unsigned draw(unsigned *seed, unsigned n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static void initialize(const struct guest *g, unsigned which)
{
    static const char *const revs[] = {"2024-11-05", "2025-03-26", "2025-06-18", LEGACY, "1.0"};
    char *text = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":{"
                         "\"protocolVersion\":\"%s\",\"capabilities\":{\"elicitation\":{}}," CLIENT
                         "}}",
                         revs[which]);
    assert_int_equal(guest_post(g, text), 202);
    free(text);
    assert_int_equal(guest_post(g, INITIALIZED), 202);
}

#define CALL(id, tool, more) \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool \
    "\"" more "}}"

static const char *const messages[] = {
    CALL(1, "quick", ""),
    CALL(2, "worker", ""),
    CALL(3, "never", ""),
    CALL(4, "slow", ",\"_meta\":{\"progressToken\":1}"),
    CALL(5, "ask", ""),
    CALL(6, "never", "," META),
    CALL(7, "ask", "," META),
    "[" CALL(8, "never", "") "," CALL(9, "quick", "") "," CALL(10, "slow", "") "]",
    "{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"resources/"
    "subscribe\",\"params\":{\"uri\":\"x:1\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"subscriptions/listen\",\"params\":{"
    "\"notifications\":{\"toolsListChanged\":true}," META "}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}",
    "{\"jsonrpc\":\"2.0\",\"id\":13,\"method\":\"ping\"}",
    "{not JSON",
};

/* Uses the server for a while. */
static void guest_use(const struct guest *g, unsigned *seed)
{
    if (draw(seed, 4))
        initialize(g, draw(seed, 5));
    for (unsigned n = draw(seed, 6); n > 0; n--) {
        int status = guest_post(g, messages[draw(seed, OWL_COUNT(messages))]);
        assert_true(status == 202 || status == 400);
    }
    if (draw(seed, 5) == 0) { /* a message that is on its way when the client goes */
        int fd = connect_to(g->stream.port);
        char *text = post_text(g, messages[draw(seed, OWL_COUNT(messages))]);
        send_text(fd, text, strlen(text) - draw(seed, 2));
        free(text);
        close(fd);
    }
}

/* ---- what is left of them ---- */

struct census {
    struct owl_msg msg;
    owl_server *server;
    atomic_size_t *left;
    atomic_int *asked;
};

static size_t length(const struct owl_list *l)
{
    size_t n = 0;
    for (const struct owl_list *it = l->next; it != l; it = it->next)
        n++;
    return n;
}

static void count_here(struct owl_reactor *r, struct owl_msg *m)
{
    struct census *c = OWL_CONTAINER(m, struct census, msg);
    const struct owl_server_local *l = owl_server_local(c->server, r);
    const struct owl_call_local *h = owl_call_local(&c->server->env, r);
    atomic_fetch_add(c->left, length(&l->sse_peers) + l->sse_ids.n + length(&l->subs) + h->n_calls +
                                  h->asked.n + h->in_flight.n - h->parked.n);
    owl_thread_keep_nothing();
    atomic_fetch_add(c->asked, 1);
}

/* Peers, streams, subscribers, calls and questions of all reactors together. */
static size_t left_behind(owl_server *s)
{
    struct census all[8];
    atomic_size_t left = atomic_load(&s->streams.taken);
    atomic_int asked = 0;
    unsigned n = owl_runtime_count(s->env.runtime);
    for (unsigned i = 0; i < n; i++) {
        all[i] = (struct census){{.run = count_here}, s, &left, &asked};
        assert_true(owl_post(owl_runtime_at(s->env.runtime, i), &all[i].msg));
    }
    assert_true(reaches(&asked, (int)n));
    return atomic_load(&left);
}

static void expect_nothing_left(owl_server *s, int64_t ms)
{
    size_t left = 1;
    for (int64_t end = now_ms() + ms; left && now_ms() < end; usleep(1000))
        left = left_behind(s);
    if (left)
        fail_msg("%zu things are left after %lld ms", left, (long long)ms);
}

/* Bytes in use, of all arenas of the allocator; 0 where it cannot be known. */
static size_t memory_in_use(owl_server *s)
{
    char *text = NULL;
    size_t n = 0, used = 0;
    expect_str(call(s, "worker"), "result/content/0/text", "hello");
    assert_int_equal(left_behind(s), 0);
    FILE *f = open_memstream(&text, &n);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    malloc_info(0, f);
#endif
    fclose(f);
    /* The totals of all arenas are at the end: what the system gave, less what is free. */
    const char *at = n ? strstr(text, "</heap>\n<total") : NULL;
    for (const char *last = at; last; last = strstr(last + 1, "</heap>\n<total"))
        at = last;
    if (at) {
        size_t fast, rest, mmap, size;
        if (sscanf(at,
                   "</heap> <total type=\"fast\" count=\"%*u\" size=\"%zu\"/> <total type=\"rest\" "
                   "count=\"%*u\" size=\"%zu\"/> <total type=\"mmap\" count=\"%*u\" size=\"%zu\"/> "
                   "<system type=\"current\" size=\"%zu\"/>",
                   &fast, &rest, &mmap, &size) == 4)
            used = size + mmap - fast - rest;
    }
    free(text);
    return used;
}

enum { AT_ONCE = 8, VISITS = 1200 };

/* Visits of which up to AT_ONCE overlap. */
static void receive_guests(owl_server *s, unsigned *seed, int visits)
{
    struct guest guests[AT_ONCE];
    bool here[AT_ONCE] = {false};
    for (int open = 0; visits > 0 || open > 0;) {
        unsigned i = draw(seed, AT_ONCE);
        struct guest *g = &guests[i];
        if (here[i]) {
            guest_leave(g, draw(seed, 2));
            here[i] = false;
            open--;
        } else if (visits > 0) {
            visits--;
            guest_knock(g, owl_server_port(s));
            here[i] = true;
            open++;
            if (draw(seed, 10) == 0)
                continue; /* one that does not even wait for the first event */
            guest_enter(g);
            guest_use(g, seed);
        }
    }
}

static void nothing_stays(unsigned reactors)
{
    owl_server *s = server_with((owl_server_options){.reactors = reactors, .workers = 1});
    unsigned seed = 42 + reactors;
    add_all(s);
    server_start(s);
    receive_guests(s, &seed, VISITS / 2);
    expect_nothing_left(s, 1000);
    size_t before = memory_in_use(s);
    receive_guests(s, &seed, VISITS / 2);
    expect_nothing_left(s, 1000);
    size_t after = memory_in_use(s);
    print_message("%zu bytes in use, then %zu\n", before, after);
    assert_true(after <= before + VISITS / 2 * 400); /* caches grow a little, leaks a lot */
    assert_int_equal(owl_sessions_count(s->sessions), 0);
    server_end(s);
}

TEST(a_message_counts_as_input_until_its_call_is_over, "")
{
    owl_limits limits = {.size = sizeof limits, .input_total_bytes = 65536};
    owl_server *s = server_with((owl_server_options){.reactors = 1, .limits = &limits});
    struct guest g;
    char *large = text_of("%s%80000s", CALL(1, "slow", ""), "");
    add_all(s);
    server_start(s);
    guest_knock(&g, owl_server_port(s));
    guest_enter(&g);
    initialize(&g, 0);
    assert_int_equal(guest_post(&g, large), 202);
    assert_int_equal(guest_post(&g, large), 503);
    assert_int_equal(guest_post(&g, CALL(2, "quick", "")), 202);
    guest_leave(&g, false);
    int status = 503; /* until the handler has noticed */
    for (int64_t end = now_ms() + WAIT_MS; status == 503 && now_ms() < end; usleep(1000))
        status = guest_post(&g, large);
    assert_int_equal(status, 404);
    free(large);
    server_end(s);
}

TEST(nothing_of_a_client_stays_on_one_reactor, "OR-3.8 OD-P9 OD-3.1.2.3")
{
    nothing_stays(1);
}

TEST(nothing_of_a_client_stays_on_two_reactors, "OR-3.8 OD-P9 OD-3.1.2.3")
{
    nothing_stays(2);
}

TEST(nothing_of_a_client_stays_on_four_reactors, "OR-3.8 OD-P9 OD-3.1.2.3")
{
    nothing_stays(4);
}

TEST(a_server_stops_with_guests_in_the_house, "")
{
    for (unsigned reactors = 1; reactors <= 4; reactors *= 2) {
        owl_server *s = server_with((owl_server_options){.reactors = reactors});
        struct guest guests[AT_ONCE];
        unsigned seed = reactors;
        add_all(s);
        server_start(s);
        for (int i = 0; i < AT_ONCE; i++) {
            guest_knock(&guests[i], owl_server_port(s));
            guest_enter(&guests[i]);
            guest_use(&guests[i], &seed);
        }
        owl_server_stop(s);
        for (int i = 0; i < AT_ONCE; i++)
            guest_leave(&guests[i], i % 2);
        server_end(s);
    }
}

TEST(streams_are_limited, "")
{
    owl_server *s = server_new(2);
    struct guest guests[3];
    struct http late;
    s->streams.max = 3;
    server_start(s);
    for (int i = 0; i < 3; i++) {
        guest_knock(&guests[i], owl_server_port(s));
        guest_enter(&guests[i]);
    }
    struct guest other;
    guest_knock(&other, owl_server_port(s));
    late = other.stream;
    assert_int_equal(http_head(&late), 503);
    expect_int(http_next(&late), "error/code", -32600);
    http_close(&late);
    guest_leave(&guests[1], false);
    for (int64_t end = now_ms() + WAIT_MS; atomic_load(&s->streams.taken) == 3 && now_ms() < end;)
        usleep(1000);
    guest_knock(&guests[1], owl_server_port(s));
    guest_enter(&guests[1]);
    for (int i = 0; i < 3; i++)
        guest_leave(&guests[i], false);
    server_end(s);
}

/* ---- without memory ---- */

static owl_server *embedded(void)
{
    owl_server *s = server_with((owl_server_options){.workers = 1, .timeout_ms = 400});
    owl_error e = {0};
    add_all(s);
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", &e), 0);
    assert_true(owl_server_fd(s, &e) >= 0);
    return s;
}

/* Of an answer that has arrived; 0 if the connection was closed instead. */
static int status_of(struct http *h)
{
    char byte;
    return recv(h->fd, &byte, 1, MSG_PEEK) > 0 ? http_head(h) : 0;
}

/* A guest that may find the door closed: false then. */
static bool enters(owl_server *s, struct guest *g, unsigned long fail_at)
{
    guest_knock(g, owl_server_port(s));
    owl_alloc_fail_at(fail_at);
    bool answered = step_until_readable(s, g->stream.fd, 30);
    owl_alloc_fail_at(0);
    if (!answered && !step_until_readable(s, g->stream.fd, 3000))
        fail_msg("a GET was lost at allocation %lu", fail_at);
    int status = status_of(&g->stream);
    if (status != 200)
        return false;
    step_until_readable(s, g->stream.fd, g->stream.raw.n ? 0 : 3000);
    if (!http_piece(&g->stream))
        return false; /* a stream that ended at once */
    const char *data = strstr(g->stream.body.p, "data: /");
    assert_non_null(data);
    snprintf(g->path, sizeof g->path, "%.*s", (int)strcspn(data + 6, "\n"), data + 6);
    return true;
}

/* The status of a POST, 0 if its connection was closed; the answer may be on the stream then. */
static int posts(owl_server *s, const struct guest *g, const char *message, unsigned long fail_at)
{
    struct http h = {.fd = connect_to(g->stream.port)};
    char *text = post_text(g, message);
    send_text(h.fd, text, strlen(text));
    free(text);
    owl_alloc_fail_at(fail_at);
    bool answered = step_until_readable(s, h.fd, 30);
    owl_alloc_fail_at(0);
    if (!answered && !step_until_readable(s, h.fd, 3000))
        fail_msg("a POST was lost at allocation %lu", fail_at);
    int status = status_of(&h);
    http_close(&h);
    return status;
}

static void meets_no_memory(const char *message, unsigned long n)
{
    owl_server *s = embedded();
    struct guest g, again;
    enters(s, &g, n);
    guest_leave(&g, true);
    assert_true(enters(s, &g, 0));
    int status = posts(s, &g, message, n);
    if (status == 202) { /* then there is an answer, or the stream has ended */
        bool told = g.stream.body.n && strstr(g.stream.body.p, "event: message");
        if (!told && !step_until_readable(s, g.stream.fd, 3000))
            fail_msg("an answer was lost at allocation %lu: %s", n, message);
    } else if (status != 503 && status != 0) {
        fail_msg("status %d at allocation %lu", status, n);
    }
    assert_true(enters(s, &again, 0)); /* it serves again */
    assert_int_equal(posts(s, &again, messages[11], 0), 202);
    assert_true(step_until_readable(s, again.stream.fd, 3000));
    guest_leave(&g, false);
    guest_leave(&again, false);
    owl_server_free(s);
}

TEST(nothing_is_lost_without_memory, "")
{
    for (unsigned long n = 1; n <= 40; n++) {
        meets_no_memory(messages[11], n);
        meets_no_memory(CALL(1, "quick", "," META), n);
        meets_no_memory("{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":{"
                        "\"protocolVersion\":\"2024-11-05\",\"capabilities\":{}," CLIENT "}}",
                        n);
    }
}

/* ---- a client that never stops asking ---- */

TEST(a_peer_has_so_many_requests_and_no_more, "")
{
    owl_server *s = server_new(2);
    add_all(s);
    server_start(s);
    struct guest g;
    guest_knock(&g, owl_server_port(s));
    guest_enter(&g);
    bytes_drop(&g.stream.body, (size_t)(strstr(g.stream.body.p, "\n\n") + 2 - g.stream.body.p));
    initialize(&g, 3);
    for (int i = 0; i < 300; i++) {
        char *text = text_of("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\","
                             "\"params\":{\"name\":\"never\"}}",
                             i);
        assert_int_equal(guest_post(&g, text), 202);
        free(text);
    }
    assert_true(left_behind(s) < 600); /* each call counts twice: it runs and can be cancelled */
    /* What was refused is answered, and what ends others is heard. */
    guest_post(&g, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                   "\"params\":{\"requestId\":7}}");
    guest_post(&g, CALL(8888, "quick", ""));
    int refused = 0;
    for (bool last = false; !last;) {
        msg *m = http_next(&g.stream);
        last = m && int_at(m, "id") == 8888;
        if (last || strcmp(str_at(m, "id"), "i") == 0) {
            owl_json_doc_free(m);
            continue;
        }
        assert_int_equal(int_at(m, "error/code"), -32603);
        assert_non_null(strstr(str_at(m, "error/message"), "too many"));
        assert_true(owl_json_bool(at(m, "error/data/retryable"), false));
        owl_json_doc_free(m);
        refused++;
    }
    assert_int_equal(refused, 300 - 256);
    guest_leave(&g, false);
    expect_nothing_left(s, WAIT_MS);
    server_end(s);
}

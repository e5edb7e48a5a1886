/* Fuzz whole sessions: a program of messages, on stdio and several HTTP connections at once,
 * through the real server.
 *
 * The input is a text, an instruction a line: the digit of a peer (0 is on stdio), modifiers, a
 * capital letter that says what to do, and what that takes (see instructions[] below), e.g.
 *     1I4f            initialize with the fourth revision and all capabilities
 *     1N              notifications/initialized
 *     1C4{"ask":"f"}  call the tool that asks
 *     2$0A0a          another connection answers the question, in session 0
 * Modifiers: m modern, - without client capabilities, #d the id, + nothing is served before the
 * next instruction, /d the bytes go in pieces of d, !d an oddity of the HTTP head, $d the session,
 * @d with the id of an event seen (0: the last), ~d to an old event stream, t as a task.
 * A first line of "stop" stops the server in the midst of it all, and frees it.
 *
 * Once the last instruction was obeyed, the clock runs until every call has timed out: each request
 * has its answer then, and nothing is left in the server. FUZZ_TRACE=1 shows what is said. */
#include "codec/json.h"
#include "server/server.h"

/* What is to be explored is the server, not its clients. */
#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)

#include "fuzz/peers.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 4096, MAX_LINES = 64 };

struct line {
    owl_str rest; /* not read yet */
    struct peer *peer;
    bool modern, bare, hold;
    unsigned id, odd, piece, session, event, endpoint;
    bool task;
    struct owl_buf text;       /* the message */
    size_t call, call_n;       /* where in it `"method","params":{…` is; 0: nowhere */
    const char *method, *name; /* for the headers, or NULL */
    const char *path;          /* NULL: /mcp */
};

static struct owl_buf batch; /* messages that will be sent together */
static unsigned batch_left, fresh_id;
static struct owl_buf unended; /* the line on stdio that has no end yet */
static bool stopping;

/* ---- reading an instruction ---- */

static char next(struct line *l)
{
    if (l->rest.n == 0)
        return '\0';
    char c = l->rest.p[0];
    l->rest = (owl_str){l->rest.p + 1, l->rest.n - 1};
    return c;
}

static unsigned digit(struct line *l)
{
    unsigned char c = (unsigned char)next(l);
    return c >= 'a' ? c - 'a' + 10u : c >= '0' ? c - '0' : c;
}

/* The rest, or if there is none something else. */
static owl_str rest_or(struct line *l, const char *other)
{
    return l->rest.n ? l->rest : owl_str_of(other);
}

/* ---- sending ---- */

static void send_bytes(struct line *l, owl_str bytes)
{
    size_t step = l->piece ? l->piece : bytes.n;
    struct peer *p = l->peer;
    for (size_t at = 0; at < bytes.n && p->fd >= 0;) {
        size_t n = bytes.n - at < step ? bytes.n - at : step;
        ssize_t sent = send(p->fd, bytes.p + at, n, MSG_NOSIGNAL);
        at += sent > 0 ? (size_t)sent : 0;
        if (sent > 0 && l->piece)
            settle();
        if (sent > 0)
            continue;
        stopping = stopping || !p->http; /* the end of stdio is the end of the server */
        peer_close(p);                   /* it waits until we read, and we do not */
    }
}

/* A cancellation may wait behind other requests of its connection, and meet a later request that has
 * the same id on another one. */
static uint64_t bit_of(owl_str id)
{
    return (uint64_t)1 << owl_hash(id) % 64;
}

static void expect_cancelled(owl_str id, bool http)
{
    if (http)
        seen.cancelled |= id.p ? bit_of(id) : UINT64_MAX;
    for (unsigned i = 0; i < WANTS; i++)
        if (peers[wants[i].peer].http == http && (!id.p || owl_str_is(id, wants[i].id)))
            wants[i].optional = true;
}

/* Notes that the server owes an answer. @p l is NULL if the message is not all of the line's. */
static void expect_one(struct peer *p, unsigned exchange, owl_str text, const struct line *l)
{
    struct owl_rpc_msg m = {.kind = OWL_RPC_RESULT};
    struct owl_arena *a = owl_arena_new(0);
    int rc = owl_rpc_read(a, text, NULL, &m, NULL);
    if (rc == 0 && owl_str_is(m.method, "notifications/cancelled"))
        expect_cancelled(owl_rpc_param(&m, OWL_STR("requestId")), p->http);
    bool request = rc == 0 && m.kind == OWL_RPC_REQUEST;
    struct want *w = m.id.p && (rc != 0 || request) ? want_new(number_of(p), exchange) : NULL;
    if (w) {
        keep_text(w->id, sizeof w->id, m.id);
        w->optional = !request || !l || m.id.n >= sizeof w->id ||
                      (p->http && (seen.cancelled & bit_of(m.id)));
        if (l && l->call)
            keep_text(w->call, sizeof w->call, (owl_str){l->text.p + l->call, l->call_n});
        else if (request)
            snprintf(w->call, sizeof w->call, "\"%.*s\"", (int)m.method.n, m.method.p);
    }
    owl_arena_free(a);
}

static void expect(struct peer *p, unsigned exchange, owl_str text, const struct line *l)
{
    if (owl_json_scan(text, OWL_JSON_DEPTH, NULL) != 0)
        return;
    text = owl_span_begin(text);
    if (!owl_span_is_array(text)) {
        expect_one(p, exchange, text, l);
        return;
    }
    struct owl_span_iter it = owl_span_iter(text);
    for (struct owl_span s; owl_span_next(&it, &s);)
        expect_one(p, exchange, s.value, NULL);
}

/* The answer comes on the stream that the message is for, or in its own exchange. */
static void expect_http(struct peer *p, unsigned exchange, owl_str text, struct line *l)
{
    unsigned i = recent(seen.n_endpoints, l->endpoint);
    struct peer *stream = &peers[seen.endpoint[i].peer % PEERS];
    if (l->endpoint != UINT_MAX && seen.endpoint[i].path[0])
        l->path = seen.endpoint[i].path;
    if (!l->path) {
        expect(p, exchange, text, l);
        return;
    }
    bool before[WANTS], gone = stream->fd < 0; /* the server may not know that yet */
    for (unsigned k = 0; k < WANTS; k++)
        before[k] = wants[k].open;
    expect(gone ? p : stream, gone ? exchange : seen.endpoint[i].exchange, text, l);
    for (unsigned k = 0; k < WANTS; k++) {
        if (!wants[k].open || before[k])
            continue;
        wants[k].post = gone ? 0 : exchange;
        /* Behind another one the stream may have ended before its turn; behind garbage it has none. */
        if (gone || p->n_queue > 1 || p->wild)
            wants[k].optional = true;
    }
}

static void send_stdio(struct line *l, owl_str bytes)
{
    bool whole = unended.n == 0;
    owl_buf_puts(&unended, bytes);
    for (char *end; unended.n && (end = memchr(unended.p, '\n', unended.n)); whole = false) {
        owl_str line = {unended.p, (size_t)(end - unended.p)};
        expect(l->peer, 0, line, whole ? l : NULL);
        owl_buf_consume(&unended, line.n + 1);
    }
    send_bytes(l, bytes);
}

/* ---- HTTP ---- */

static const char *odd_head(unsigned odd)
{
    static const char *const heads[] = {
        "Accept: application/json, text/event-stream\r\n",
        "Accept: application/json\r\n",
        "Accept: text/event-stream\r\n",
        "",
        "Accept: text/html\r\n",
        "Accept: */*\r\nOrigin: https://evil.example\r\n",
        "Accept: */*\r\nConnection: close\r\n",
        "Accept: */*\r\nMCP-Protocol-Version: 1999-01-01\r\n",
        "Accept: */*\r\nMcp-Param-Region: =?base64?ZXU=?=\r\nMcp-Param-Size: 7\r\n",
        "Accept: */*\r\nLast-Event-ID: 1\r\n",
        "Accept: */*\r\nExpect: 100-continue\r\n",
    };
    return heads[odd < OWL_COUNT(heads) ? odd : 0];
}

static void put_head(struct line *l, struct owl_buf *b, const char *verb)
{
    const char *path = l->path ? l->path : "/mcp";
    owl_buf_printf(b, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s", verb, path, odd_head(l->odd));
    if (l->session < SESSIONS && seen.session[l->session][0])
        owl_buf_printf(b, "Mcp-Session-Id: %s\r\n", seen.session[l->session]);
    if (l->event != UINT_MAX)
        owl_buf_printf(b, "Last-Event-ID: %s\r\n", seen.event[recent(seen.n_events, l->event)]);
    if (l->modern) {
        owl_buf_putz(b, "MCP-Protocol-Version: 2026-07-28\r\n");
        owl_buf_printf(b, "Mcp-Method: %s\r\n", l->method ? l->method : "");
        if (l->name)
            owl_buf_printf(b, "Mcp-Name: %s\r\n", l->name);
    }
}

static void send_http(struct line *l, const char *verb, owl_str body)
{
    struct peer *p = l->peer;
    struct owl_buf b;
    if (p->n_queue == EXCHANGES || p->ended)
        return;
    struct exchange *x = &p->queue[p->n_queue++];
    *x = (struct exchange){.serial = ++exchange_serial,
                           .resumed = l->event != UINT_MAX,
                           .modern = l->modern && body.p &&
                                     !owl_span_is_array(owl_span_begin(body)),
                           .head = strcmp(verb, "HEAD") == 0};
    owl_buf_init(&b, SIZE_MAX);
    if (body.p)
        expect_http(p, x->serial, body, l);
    put_head(l, &b, verb);
    bool chunked = l->odd == 12 && body.n > 0;
    if (body.p) {
        owl_buf_printf(&b, "Content-Type: application/%s\r\n", l->odd == 11 ? "xml" : "json");
        if (chunked)
            owl_buf_printf(&b, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", body.n);
        else
            owl_buf_printf(&b, "Content-Length: %zu\r\n\r\n", body.n);
        owl_buf_puts(&b, body);
        owl_buf_putz(&b, chunked ? "\r\n0\r\n\r\n" : "");
    } else {
        owl_buf_putz(&b, "\r\n");
    }
    note(number_of(p), "> %.*s", TEXT(owl_buf_str(&b)));
    send_bytes(l, owl_buf_str(&b));
    owl_buf_done(&b);
}

/* ---- messages ---- */

/* Sends the message, or adds it to the batch that is being collected. */
static void send_message(struct line *l)
{
    owl_str text = owl_buf_str(&l->text);
    if (batch_left > 0) {
        owl_buf_putc(&batch, batch.n ? ',' : '[');
        owl_buf_puts(&batch, text);
        if (--batch_left > 0)
            return;
        owl_buf_putc(&batch, ']');
        owl_buf_reset(&l->text);
        owl_buf_puts(&l->text, owl_buf_str(&batch));
        owl_buf_reset(&batch);
        l->call = 0;
        text = owl_buf_str(&l->text);
    }
    if (l->peer->http) {
        send_http(l, "POST", text);
        return;
    }
    note(0, "> %.*s", TEXT(text));
    owl_buf_putc(&l->text, '\n');
    send_stdio(l, owl_buf_str(&l->text));
}

static void put_id(struct owl_buf *b, unsigned id)
{
    if (id == UINT_MAX)
        owl_buf_printf(b, "%u", 100 + fresh_id++);
    else
        owl_buf_printf(b, id < 10 ? "%u" : "\"%u\"", id);
}

static void put_meta(struct line *l)
{
    owl_buf_printf(&l->text, "%s\"_meta\":{", l->text.p[l->text.n - 1] == '{' ? "" : ",");
    if (l->modern)
        owl_buf_printf(
            &l->text,
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"f\",\"version\":\"1\"},"
            "\"io.modelcontextprotocol/logLevel\":\"debug\","
            "\"io.modelcontextprotocol/clientCapabilities\":%s,",
            l->bare ? "{}"
                    : "{\"sampling\":{},\"roots\":{},\"elicitation\":{\"form\":{},\"url\":{}},"
                      "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}");
    owl_buf_printf(&l->text, "\"progressToken\":\"p%u\"}", fresh_id);
}

static void begin(struct line *l, const char *method)
{
    l->method = method;
    owl_buf_putz(&l->text, "{\"jsonrpc\":\"2.0\",\"id\":");
    put_id(&l->text, l->id);
    owl_buf_putz(&l->text, ",\"method\":");
    l->call = l->text.n;
    owl_buf_printf(&l->text, "\"%s\",\"params\":{", method);
}

static void finish(struct line *l)
{
    l->call_n = l->text.n - l->call;
    put_meta(l);
    owl_buf_putz(&l->text, "}}");
    send_message(l);
}

static void notify(struct line *l, const char *method, const char *params)
{
    l->method = method;
    owl_buf_printf(&l->text, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"%s}", method, params);
    send_message(l);
}

static void put_string(struct line *l, const char *key, owl_str value)
{
    owl_buf_printf(&l->text, "%s\"%s\":", l->text.p[l->text.n - 1] == '{' ? "" : ",", key);
    owl_json_quote(&l->text, value);
}

#include "fuzz/instructions.h"

/* ---- the run ---- */

static void obey(struct line *l)
{
    char c;
    while ((c = next(l)) != '\0' && (c < 'A' || c > 'Z')) {
        switch (c) {
        case 'm': l->modern = true; break;
        case '-': l->bare = true; break;
        case '+': l->hold = true; break;
        case '#': l->id = digit(l); break;
        case '!': l->odd = digit(l); break;
        case '/': l->piece = digit(l); break;
        case '$': l->session = digit(l); break;
        case '@': l->event = digit(l); break;
        case '~': l->endpoint = digit(l); break;
        case 't': l->task = true; break;
        default: break;
        }
    }
    for (size_t i = 0; i < OWL_COUNT(instructions); i++)
        if (instructions[i].letter == c)
            instructions[i].run(l);
    if (!l->hold && !stopping)
        settle();
}

static void run_line(owl_str text)
{
    struct line l = {.rest = text, .id = UINT_MAX, .event = UINT_MAX, .endpoint = UINT_MAX};
    l.peer = peer_at(digit(&l));
    l.session = l.peer->session;
    owl_buf_init(&l.text, SIZE_MAX);
    obey(&l);
    owl_buf_done(&l.text);
}

static void let_go(void)
{
    for (unsigned i = 0; i < OFFERS_KEPT; i++) {
        if (kept[i])
            owl_call_unref(kept[i]);
        kept[i] = NULL;
    }
}

static bool anything_open(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < PEERS; i++)
        n += peers[i].fd >= 0 ? peers[i].n_queue : 0;
    for (unsigned i = 0; i < WANTS; i++)
        n += wants[i].open && !wants[i].optional;
    return n > 0;
}

/* Everything comes to its end by itself, one exchange of a connection after the other: time passes
 * for its end, and for the next one to be taken up. */
static void run_out(void)
{
    for (unsigned i = 0; i < 3 + 2 * EXCHANGES && (i < 3 || anything_open()); i++) {
        clock_wait(WORLD_PATIENCE_MS + 60000);
        settle();
        world_do(end_streams, 0);
        settle();
    }
    for (unsigned i = 0; i < PEERS; i++)
        wants_check(i, 0, true);
    for (unsigned i = 1; i < PEERS; i++)
        peer_close(&peers[i]);
    settle();
    world_do(close_stdio, 0);
    settle();
    peer_close(&peers[0]);
    for (unsigned i = 0; i < 3; i++) {
        clock_wait(WORLD_PATIENCE_MS + 60000);
        settle();
    }
    let_go();
    for (unsigned i = 0; i < 3; i++)
        OWL_IGNORE(offers_extra(world.server, i, false)); /* it may not be there */
    clock_wait(1000);
    settle();
    world_check_empty();
}

/* The server is stopped while all this goes on. What it has begun it answers. */
static void run_stop(void)
{
    for (unsigned i = 1; i < PEERS; i++) {
        struct peer *p = &peers[i];
        p->pushy = p->n_queue > 1; /* what waits behind another one may be left */
        for (unsigned k = 1; k < p->n_queue; k++)
            wants_excuse(i, p->queue[k].serial);
    }
    owl_server_stop(world.server);
    world_close(peers_read);
    peers_read();
    for (unsigned i = 0; i < PEERS; i++)
        wants_check(i, 0, true);
    let_go();
}

static void reset(void)
{
    for (unsigned i = 0; i < PEERS; i++) {
        peer_close(&peers[i]);
        peers[i] = (struct peer){.fd = -1, .session = SESSIONS};
    }
    memset(wants, 0, sizeof wants);
    for (unsigned i = 0; i < MEMORIES; i++)
        owl_buf_done(&seen.state[i]);
    memset(&seen, 0, sizeof seen);
    for (unsigned i = 0; i < MEMORIES; i++)
        owl_buf_init(&seen.state[i], SIZE_MAX);
    owl_buf_done(&batch);
    owl_buf_init(&batch, SIZE_MAX);
    owl_buf_done(&unended);
    owl_buf_init(&unended, SIZE_MAX);
    batch_left = fresh_id = exchange_serial = 0;
    clock_seed = 0;
    stopping = false;
}

/* Weighing its corpus takes libFuzzer longer than a run takes the server: without, unless the
 * command line says otherwise. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char plain[] = "-entropic=0";
    static char *args[256];
    trace = getenv("FUZZ_TRACE") != NULL;
    for (unsigned i = 0; i < PEERS; i++)
        peers[i].fd = -1;
    if (*argc > 0 && (size_t)*argc + 2 < OWL_COUNT(args)) {
        args[0] = (*argv)[0];
        args[1] = plain;
        memcpy(&args[2], &(*argv)[1], (size_t)(*argc - 1) * sizeof args[0]);
        *argv = args;
        ++*argc;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    owl_str rest = {(const char *)data, size}, text;
    if (size > MAX_BYTES)
        return 0;
    reset();
    if (!world.server)
        world_open();
    bool stop = size >= 4 && memcmp(data, "stop", 4) == 0;
    peer_at(0); /* the server closes it at its end */
    for (unsigned n = 0; n < MAX_LINES && !stopping && owl_str_split(&rest, '\n', &text); n++)
        if (text.n > 0 && !(stop && n == 0))
            run_line(text);
    for (unsigned i = 0; i < PEERS; i++)
        peers[i].paused = false;
    if (!stopping)
        settle();
    if (stop || stopping)
        run_stop();
    else
        run_out();
    reset();
    return 0;
}

#pragma clang attribute pop

/* fuzz/instructions.h - what a program of fuzz/session.c can do; part of it. */
#ifndef OWL_FUZZ_INSTRUCTIONS_H
#define OWL_FUZZ_INSTRUCTIONS_H

/* ---- messages ---- */

static const char *const answers[] = {
    "{\"action\":\"accept\",\"content\":{\"a\":\"b\"}}",
    "{\"action\":\"decline\"}",
    "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"t\"},\"model\":\"m\"}",
    "{\"roots\":[{\"uri\":\"file:///a\"}]}",
    "{\"action\":\"cancel\"}",
    "{}",
    "[]",
};

static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                        "2026-07-28", "1.0",        "1999-01-01"};

static void do_initialize(struct line *l)
{
    unsigned rev = digit(l), caps = digit(l);
    begin(l, "initialize");
    put_string(l, "protocolVersion", owl_str_of(revisions[rev % OWL_COUNT(revisions)]));
    owl_buf_printf(&l->text,
                   ",\"clientInfo\":{\"name\":\"f\",\"version\":\"1\"},\"capabilities\":{"
                   "\"experimental\":{}%s%s%s}",
                   caps & 1 ? ",\"sampling\":{}" : "", caps & 2 ? ",\"roots\":{}" : "",
                   caps & 4 ? ",\"elicitation\":{\"form\":{},\"url\":{}}" : "");
    finish(l);
}

static void do_initialized(struct line *l)
{
    notify(l, "notifications/initialized", "");
}

static void do_ping(struct line *l)
{
    begin(l, "ping");
    finish(l);
}

/* With the task that was seen last but so many. */
static void do_discover(struct line *l)
{
    static const char *const methods[] = {"server/discover", "tasks/get",  "tasks/result",
                                          "tasks/cancel",    "tasks/list", "tasks/update"};
    unsigned which = digit(l) % OWL_COUNT(methods);
    const char *task = seen.task[recent(seen.n_tasks, digit(l))];
    begin(l, methods[which]);
    if (which > 0 && which != 4) {
        l->name = task;
        put_string(l, "taskId", owl_str_of(task));
    }
    if (which == 5)
        owl_buf_printf(&l->text, ",\"inputResponses\":{\"k0\":%s}",
                       answers[digit(l) % OWL_COUNT(answers)]);
    finish(l);
}

static void do_list(struct line *l)
{
    static const char *const lists[] = {"tools/list", "resources/list", "resources/templates/list",
                                        "prompts/list"};
    begin(l, lists[digit(l) % OWL_COUNT(lists)]);
    if (l->rest.n && l->rest.p[0] == '.' && seen.cursor[0])
        owl_buf_printf(&l->text, "\"cursor\":%s", seen.cursor);
    else if (l->rest.n)
        put_string(l, "cursor", l->rest);
    finish(l);
}

static void do_call(struct line *l)
{
    l->name = offers_tools[digit(l) % OWL_COUNT(offers_tools)].name;
    begin(l, "tools/call");
    put_string(l, "name", owl_str_of(l->name));
    owl_buf_putz(&l->text, ",\"arguments\":");
    owl_buf_puts(&l->text, rest_or(l, "{}"));
    if (l->task)
        owl_buf_putz(&l->text, ",\"task\":{\"ttl\":60000}");
    finish(l);
}

static void about_uri(struct line *l, const char *method)
{
    l->name = offers_uris[digit(l) % OWL_COUNT(offers_uris)];
    begin(l, method);
    put_string(l, "uri", rest_or(l, l->name));
    finish(l);
}

static void do_read(struct line *l)
{
    about_uri(l, "resources/read");
}

static void do_subscribe(struct line *l)
{
    about_uri(l, "resources/subscribe");
}

static void do_unsubscribe(struct line *l)
{
    about_uri(l, "resources/unsubscribe");
}

static void do_prompt(struct line *l)
{
    l->name = offers_prompts[digit(l) % OWL_COUNT(offers_prompts)];
    begin(l, "prompts/get");
    put_string(l, "name", owl_str_of(l->name));
    owl_buf_putz(&l->text, ",\"arguments\":");
    owl_buf_puts(&l->text, rest_or(l, "{\"who\":\"me\"}"));
    finish(l);
}

static void do_complete(struct line *l)
{
    bool resource = digit(l) & 1;
    begin(l, "completion/complete");
    owl_buf_putz(&l->text, resource ? "\"ref\":{\"type\":\"ref/resource\",\"uri\":"
                                      "\"db://{table}/{id}\"},\"argument\":{\"name\":\"id\""
                                    : "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"hello\"},"
                                      "\"argument\":{\"name\":\"who\"");
    put_string(l, "value", rest_or(l, "a"));
    owl_buf_putz(&l->text, "},\"context\":{\"arguments\":{\"table\":\"t\"}}");
    finish(l);
}

static void do_level(struct line *l)
{
    static const char *const levels[] = {"debug", "info", "error", "loud"};
    begin(l, "logging/setLevel");
    put_string(l, "level", owl_str_of(levels[digit(l) % OWL_COUNT(levels)]));
    finish(l);
}

static void do_listen(struct line *l)
{
    unsigned what = digit(l);
    begin(l, "subscriptions/listen");
    owl_buf_printf(&l->text,
                   "\"notifications\":{\"toolsListChanged\":%s,"
                   "\"resourcesListChanged\":%s,\"promptsListChanged\":%s,"
                   "\"resourceSubscriptions\":[",
                   what & 1 ? "true" : "false", what & 2 ? "true" : "0", what & 4 ? "true" : "[]");
    owl_json_quote(&l->text, rest_or(l, offers_uris[0]));
    owl_buf_putz(&l->text, "]}");
    finish(l);
}

static void do_own(struct line *l)
{
    begin(l, "own/method");
    put_string(l, "s", l->rest);
    finish(l);
}

static void do_cancel(struct line *l)
{
    char params[160];
    unsigned id = digit(l);
    snprintf(params, sizeof params,
             id < 10 ? ",\"params\":{\"requestId\":%u}" : ",\"params\":{\"requestId\":\"%u\"}", id);
    notify(l, "notifications/cancelled", params);
}

/* ---- answers ---- */

static void do_answer(struct line *l)
{
    const char *id = seen.question[recent(seen.n_questions, digit(l))];
    unsigned how = digit(l);
    if (how < OWL_COUNT(answers))
        owl_buf_printf(&l->text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}",
                       *id ? id : "\"owl-0-1\"", answers[how]);
    else
        owl_buf_printf(&l->text,
                       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-1,\"message\":\"no\"}}",
                       *id ? id : "\"owl-0-1\"");
    send_message(l);
}

/* The name within the call that is repeated, for the header; static memory. */
static const char *name_in(const char *call)
{
    static char name[64];
    const char *tool = strstr(call, "\"name\":\""), *uri = strstr(call, "\"uri\":\"");
    const char *at = tool ? tool + 8 : uri ? uri + 7 : "";
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
    return name;
}

static void do_retry(struct line *l)
{
    static const char *const methods[] = {"tools/call", "resources/read", "prompts/get"};
    unsigned which = recent(seen.n_states, digit(l));
    const char *call = seen.call[which], *comma = "";
    if (!*call)
        return;
    for (size_t i = 0; i < OWL_COUNT(methods); i++)
        if (strncmp(call + 1, methods[i], strlen(methods[i])) == 0)
            l->method = methods[i];
    const char *params = strchr(call, '{');
    l->name = name_in(params ? params : call);
    owl_buf_putz(&l->text, "{\"jsonrpc\":\"2.0\",\"id\":");
    put_id(&l->text, l->id);
    owl_buf_putz(&l->text, ",\"method\":");
    l->call = l->text.n;
    owl_buf_putz(&l->text, call);
    l->call_n = l->text.n - l->call;
    owl_buf_printf(&l->text, ",\"inputResponses\":{");
    for (unsigned i = 0; l->rest.n && i < 20; i++) { /* pairs of a key and an answer */
        unsigned key = digit(l), how = digit(l);
        owl_buf_printf(&l->text, "%s\"k%u\":%s", comma, key, answers[how % OWL_COUNT(answers)]);
        comma = ",";
    }
    owl_buf_putz(&l->text, "},\"requestState\":");
    owl_buf_puts(&l->text, owl_buf_str(&seen.state[which]));
    put_meta(l);
    owl_buf_putz(&l->text, "}}");
    send_message(l);
}

/* ---- bytes and connections ---- */

/* With \n, \r and \0 where they stand for the byte. */
static void put_unescaped(struct owl_buf *b, owl_str in)
{
    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];
        char after = c == '\\' && i + 1 < in.n ? in.p[i + 1] : '\0';
        bool escape = after == 'n' || after == 'r' || after == '0';
        owl_buf_putc(b, !escape ? c : after == 'n' ? '\n' : after == 'r' ? '\r' : '\0');
        i += escape;
    }
}

/* A whole message, whatever it is. */
static void do_message(struct line *l)
{
    owl_buf_puts(&l->text, l->rest);
    send_message(l);
}

static void do_raw(struct line *l)
{
    put_unescaped(&l->text, l->rest);
    owl_str bytes = owl_buf_str(&l->text);
    note(number_of(l->peer), "> (raw) %.*s", TEXT(bytes));
    if (!l->peer->http) {
        l->call = 0;
        send_stdio(l, bytes);
        return;
    }
    wants_drop(number_of(l->peer), 0, true);
    expect_cancelled((owl_str){NULL, 0}, true);
    l->peer->wild = true;
    l->peer->deaf = l->peer->deaf || memmem(bytes.p, bytes.n, "HEAD", 4);
    send_bytes(l, bytes);
}

static void do_verb(struct line *l)
{
    static const char *const verbs[] = {"GET", "DELETE", "OPTIONS", "HEAD", "PUT", "GET"};
    unsigned verb = digit(l) % OWL_COUNT(verbs);
    l->path = verb == 5 ? "/mcp/sse" : NULL;
    if (l->peer->http)
        send_http(l, verbs[verb], (owl_str){NULL, 0});
}

static void do_batch(struct line *l)
{
    batch_left = digit(l) % 8;
    owl_buf_reset(&batch);
}

/* Hangs up. The end of stdio is the end of the server. */
static void do_quit(struct line *l)
{
    struct peer *p = l->peer;
    if (!p->http) {
        stopping = true;
        expect(p, 0, owl_buf_str(&unended), NULL); /* the end of input ends its last line */
        shutdown(p->fd, SHUT_WR);
    } else if (digit(l) == 1) {
        shutdown(p->fd, SHUT_WR);
        wants_drop(number_of(p), 0, true);
        p->wild = p->ended = true;
    } else {
        peer_close(p);
    }
}

static void do_pause(struct line *l)
{
    l->peer->paused = !l->peer->paused;
    l->peer->slow = true;
    for (unsigned i = 0; i < WANTS; i++)
        if (l->peer->http && wants[i].peer == number_of(l->peer))
            wants[i].optional = true;
}

/* ---- the world ---- */

static void do_wait(struct line *l)
{
    static const unsigned ms[] = {1, 10, 100, 1000, 5000, 11000, 31000, 76000, 301000, 601000};
    settle(); /* or a connection would be closed as idle before its request was read */
    clock_wait(ms[digit(l) % OWL_COUNT(ms)]);
    l->hold = false; /* or while the next one is under way */
}

static void do_change(struct line *l)
{
    unsigned which = digit(l);
    OWL_IGNORE(offers_extra(world.server, which, which & 4)); /* not there: fine */
}

static void do_finish(struct line *l)
{
    static const int statuses[] = {0, -OWL_ETOOL, OWL_PENDING, OWL_LATER, -OWL_ECAPABILITY, -1};
    unsigned which = digit(l) % OFFERS_KEPT;
    if (!kept[which])
        return;
    int status = statuses[digit(l) % OWL_COUNT(statuses)];
    owl_call_progress(kept[which], 1, 0, "almost");
    if (!owl_call_cancelled(kept[which]))
        OWL_IGNORE(owl_result_text(kept[which], "late")); /* it says so at the finish */
    OWL_IGNORE(owl_call_finish(kept[which], status));     /* cancelled meanwhile: fine */
    owl_call_unref(kept[which]);
    kept[which] = NULL;
}

static const struct {
    char letter;
    void (*run)(struct line *l);
} instructions[] = {
    {'A', do_answer},     /* question (0: the last), how: answers[], or an error */
    {'B', do_batch},      /* so many messages that follow are one */
    {'C', do_call},       /* tool, arguments */
    {'D', do_discover},   /* */
    {'E', do_change},     /* what; +4: it is added, otherwise removed */
    {'F', do_finish},     /* call that was kept, status */
    {'G', do_prompt},     /* prompt, arguments */
    {'H', do_verb},       /* an HTTP request without a message; 5: an old event stream */
    {'I', do_initialize}, /* revision, capabilities */
    {'J', do_wait},       /* how long */
    {'K', do_complete},   /* prompt or resource, value */
    {'L', do_list},       /* list, cursor; ".": the one seen last */
    {'M', do_message},    /* its text */
    {'N', do_initialized}, {'O', do_own}, /* text */
    {'P', do_ping},                       /* */
    {'Q', do_quit},                       /* 1: only the sending half */
    {'R', do_read},                       /* resource, or its URI */
    {'S', do_subscribe},                  /* likewise */
    {'T', do_retry},                      /* state (0: the last), then pairs of key and answer */
    {'U', do_unsubscribe},                /* resource */
    {'V', do_level},                      /* level */
    {'W', do_listen},                     /* lists, as bits; URI */
    {'X', do_cancel},                     /* id */
    {'Y', do_pause},                      /* stops reading, or begins again */
    {'Z', do_raw},                        /* bytes */
};

#endif

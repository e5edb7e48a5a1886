/* fuzz/offers.h - what the server of a fuzz target offers: something of everything.
 *
 * Handlers run on the loop unless they are there to run elsewhere; arguments steer them. */
#ifndef OWL_FUZZ_OFFERS_H
#define OWL_FUZZ_OFFERS_H

#include <owlclaw/owlclaw.h>
#include <stdio.h>
#include <string.h>

enum { OFFERS_KEPT = 8 };
static owl_call *kept[OFFERS_KEPT]; /* calls whose handler has returned OWL_LATER */

/* ---- plain handlers ---- */

static int put_json(owl_call *c, const owl_json *v, int (*put)(owl_call *, const char *, size_t))
{
    const char *text;
    size_t n;
    owl_json_writer *w = owl_json_writer_new();
    owl_json_put_value(w, v);
    int rc = owl_json_writer_text(w, &text, &n);
    rc = rc == 0 ? put(c, text, n) : rc;
    owl_json_writer_free(w);
    return rc;
}

static int echo(owl_call *c, void *data)
{
    (void)data;
    return put_json(c, owl_call_args(c), owl_result_textn);
}

static int own(owl_call *c, void *data)
{
    (void)data;
    return put_json(c, owl_call_params(c), owl_result_raw);
}

static int fail(owl_call *c, void *data)
{
    const char *why = owl_json_get_str(owl_call_args(c), "why", "no reason");
    return data ? owl_call_error(c, -32099, "{\"a\":[]}", "%s", why) : owl_call_fail(c, "%s", why);
}

static int later(owl_call *c, void *data)
{
    (void)data;
    for (int i = 0; i < OFFERS_KEPT; i++) {
        if (kept[i])
            continue;
        kept[i] = owl_call_ref(c);
        if (owl_json_get_bool(owl_call_args(c), "away", false))
            owl_call_close_stream(c);
        return OWL_LATER;
    }
    return owl_call_fail(c, "too many");
}

static int become(owl_call *c, void *data)
{
    owl_call_become_task(c); /* a client that takes none is answered as ever */
    return later(c, data);
}

/* Speaks while it runs. */
static int tell(owl_call *c, void *data)
{
    (void)data;
    const owl_json *args = owl_call_args(c);
    owl_call_progress(c, 1, 2, "half");
    owl_call_logf(c, OWL_LEVEL_WARNING, "tell", "%s", owl_json_get_str(args, "say", "\n\r\xff"));
    owl_call_progress(c, owl_json_get_num(args, "at", 2), 2, NULL);
    return owl_result_text(c, "told");
}

static int big(owl_call *c, void *data)
{
    (void)data;
    char piece[4096];
    memset(piece, 'x', sizeof piece);
    int64_t n = owl_json_get_int(owl_call_args(c), "n", 0);
    int rc = 0;
    for (int64_t i = 0; i < n && i < 100 && rc == 0; i++)
        rc = owl_result_textn(c, piece, sizeof piece);
    return rc;
}

static int blocks(owl_call *c, void *data)
{
    (void)data;
    const char *s = owl_json_get_str(owl_call_args(c), "s", "");
    size_t n = strlen(s);
    owl_result_image(c, s, n, "image/png");
    owl_result_audio(c, s, n, s);
    owl_result_resource(c, s, NULL, s);
    owl_result_blob(c, "mem://x", s, s, n);
    owl_result_link(c, s, s, s, NULL);
    owl_result_structured(c, "{ \"a\" : [1, 2.50, \"\\u2028\"] }", OWL_NTS);
    owl_result_meta(c, "m", "null", OWL_NTS);
    return owl_result_block(c, s, n) == 0 ? 0 : owl_call_fail(c, "no block: %s", s);
}

static int prompt(owl_call *c, void *data)
{
    (void)data;
    owl_result_role(c, owl_json_get_str(owl_call_args(c), "style", "user"));
    return owl_result_textf(c, "hello %s", owl_json_get_str(owl_call_args(c), "who", "you"));
}

static int complete(owl_call *c, void *data)
{
    (void)data;
    owl_result_completion(c, owl_call_complete_name(c));
    owl_result_completion(c, owl_call_complete_value(c));
    const char *other = owl_call_var(c, "table");
    return other ? owl_result_completion(c, other) : 0;
}

static int row(owl_call *c, void *data)
{
    (void)data;
    const char *table = owl_call_var(c, "table"), *id = owl_call_var(c, "id");
    owl_result_bytes(c, table, strlen(table), "application/octet-stream");
    return owl_result_text(c, id);
}

/* ---- handlers that ask: "fu;s" is a form and a URL together, then a sampling ---- */

static owl_question question(char kind)
{
    owl_question q = {.size = sizeof q, .kind = OWL_ASK_FORM, .message = "?", .url = "https://a/"};
    q.schema = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}";
    if (kind == 'u')
        q.kind = OWL_ASK_URL;
    else if (kind == 's')
        q.kind = OWL_ASK_SAMPLING;
    else if (kind == 'r')
        q.kind = OWL_ASK_ROOTS;
    else if (kind != 'f')
        q.params_json = "{\"mode\":\"form\",\"message\":\"m\",\"requestedSchema\":{}}";
    return q;
}

static int ask(owl_call *c, void *data)
{
    (void)data;
    const char *script = owl_json_get_str(owl_call_args(c), "ask", "f");
    int rc = 0;
    for (int i = 0; script[i] && i < 40; i++) {
        char key[8];
        const owl_json *answer = NULL;
        owl_question q = question(script[i]);
        snprintf(key, sizeof key, "k%d", i);
        if (script[i] == ';' && rc != 0)
            return rc;
        if (script[i] == ';')
            continue;
        int asked = owl_ask(c, key, &q, &answer);
        if (asked < 0)
            return asked;
        rc = asked ? asked : rc;
        if (asked == 0 && put_json(c, answer, owl_result_textn) != 0)
            return -OWL_ETOOL;
    }
    return rc ? rc : owl_result_text(c, "asked");
}

static int park_round(owl_call *c, const char *script);

static int parked(owl_call *c, const owl_json *answer, void *data)
{
    int rc = answer ? put_json(c, answer, owl_result_textn) : owl_result_text(c, "refused");
    const char *rest = data;
    return rc != 0 || !rest || !*rest ? rc : park_round(c, rest);
}

/* The function of the last question of a round goes on with the next one. */
static int park_round(owl_call *c, const char *script)
{
    const char *all = owl_json_get_str(owl_call_args(c), "ask", "f");
    const char *end = script + strcspn(script, ";");
    for (const char *at = script; at < end; at++) {
        char key[24];
        owl_question q = question(*at);
        union {
            const char *c;
            void *p;
        } rest = {at + 1 < end ? NULL : end + (*end == ';')};
        snprintf(key, sizeof key, "k%d", (int)(at - all));
        int rc = owl_ask_async(c, key, &q, parked, rest.p);
        if (rc != 0)
            return rc;
    }
    return end > script ? OWL_PENDING : owl_result_text(c, "nothing to ask");
}

static int park(owl_call *c, void *data)
{
    (void)data;
    return park_round(c, owl_json_get_str(owl_call_args(c), "ask", "f"));
}

/* ---- the offers ---- */

#define PARAM_SCHEMA \
    "{\"type\":\"object\",\"properties\":{" \
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}," \
    "\"size\":{\"type\":\"integer\",\"x-mcp-header\":\"Size\"}}}"

static char as_error[] = "JSON-RPC";

static const struct {
    const char *name;
    owl_handler_fn handler;
    unsigned flags;
    const char *schema;
    void *data;
} offers_tools[] = {
    {"echo", echo, OWL_INLINE, NULL, NULL},
    {"fail", fail, OWL_INLINE, NULL, NULL},
    {"error", fail, OWL_INLINE, NULL, as_error},
    {"later", later, OWL_INLINE, NULL, NULL},
    {"ask", ask, OWL_INLINE, NULL, NULL},
    {"park", park, OWL_INLINE | OWL_PARKED, NULL, NULL},
    {"tell", tell, OWL_INLINE, NULL, NULL},
    {"work", tell, 0, NULL, NULL},
    {"big", big, OWL_INLINE, NULL, NULL},
    {"blocks", blocks, OWL_INLINE, NULL, NULL},
    {"param", echo, OWL_INLINE, PARAM_SCHEMA, NULL},
    {"task", later, OWL_INLINE | OWL_TASK, NULL, NULL},
    {"asktask", ask, OWL_INLINE | OWL_TASK, NULL, NULL},
    {"parktask", park, OWL_PARKED | OWL_TASK, NULL, NULL},
    {"become", become, OWL_INLINE | OWL_TASK_LATER, NULL, NULL},
};

static const char *const offers_uris[] = {"mem://a", "mem://b", "mem://ask", "db://t/1", "db://x"};
static const char *const offers_prompts[] = {"hello", "asking", "plain"};

static int offers_extra(owl_server *s, unsigned which, bool add)
{
    const owl_tool t = OWL_TOOL("extra", NULL, NULL, echo);
    const owl_resource r = OWL_RESOURCE("mem://extra", "extra", NULL, NULL, row);
    const owl_prompt p = OWL_PROMPT("extra", NULL, NULL, prompt);
    switch (which % 4) {
    case 0: return add ? owl_server_add_tool(s, &t, NULL) : owl_server_remove_tool(s, "extra");
    case 1:
        return add ? owl_server_add_resource(s, &r, NULL)
                   : owl_server_remove_resource(s, "mem://extra");
    case 2: return add ? owl_server_add_prompt(s, &p, NULL) : owl_server_remove_prompt(s, "extra");
    default: return owl_server_resource_updated(s, offers_uris[0]);
    }
}

static int offers_add_tools(owl_server *s, owl_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < sizeof offers_tools / sizeof offers_tools[0] && rc == 0; i++) {
        owl_tool t = OWL_TOOL(offers_tools[i].name, NULL, offers_tools[i].schema,
                              offers_tools[i].handler);
        t.flags = offers_tools[i].flags;
        t.data = offers_tools[i].data;
        rc = owl_server_add_tool(s, &t, e);
    }
    return rc;
}

static int offers_add(owl_server *s, owl_error *e)
{
    owl_resource resources[] = {
        OWL_RESOURCE("mem://a", "a", NULL, NULL, NULL),
        OWL_RESOURCE("mem://b", "b", NULL, NULL, prompt),
        OWL_RESOURCE("mem://ask", "ask", NULL, NULL, ask),
        OWL_RESOURCE("db://{table}/{id}", "row", NULL, NULL, row),
    };
    owl_prompt prompts[] = {
        OWL_PROMPT("hello", NULL, "[{\"name\":\"who\",\"required\":true},{\"name\":\"style\"}]",
                   prompt),
        OWL_PROMPT("asking", NULL, "[{\"name\":\"ask\"}]", ask),
        OWL_PROMPT("plain", NULL, NULL, prompt), /* on a worker */
    };
    owl_method_def method = {.size = sizeof method,
                             .name = "own/method",
                             .handler = own,
                             .flags = OWL_INLINE | OWL_CACHEABLE};
    resources[0].text = "\xe2\x80\xa8 text";
    resources[3].complete = prompts[0].complete = complete;
    prompts[0].flags = prompts[1].flags = OWL_INLINE;
    int rc = offers_add_tools(s, e);
    for (size_t i = 0; i < sizeof resources / sizeof resources[0] && rc == 0; i++) {
        resources[i].flags = OWL_INLINE;
        rc = owl_server_add_resource(s, &resources[i], e);
    }
    for (size_t i = 0; i < sizeof prompts / sizeof prompts[0] && rc == 0; i++)
        rc = owl_server_add_prompt(s, &prompts[i], e);
    return rc ? rc : owl_server_add_method(s, &method, e);
}

#endif

/* What a server offers changes while it runs: calls keep what they began with, clients are told. */
#include "library/fixture.h"

static atomic_int entered, freed_old, freed_new, freed_any, stop_all;
static atomic_int gate;

static int say(owl_call *c, void *data)
{
    return owl_result_text(c, data ? data : "plain");
}

/* Waits for the test, then says who it is. */
static int wait_and_say(owl_call *c, void *data)
{
    atomic_fetch_add(&entered, 1);
    while (!atomic_load(&gate))
        pause_ms(1);
    return owl_result_text(c, data);
}

static char old_name[] = "old", new_name[] = "new";

static void count_old(void *data)
{
    assert_ptr_equal(data, old_name);
    atomic_fetch_add(&freed_old, 1);
}

static void count_new(void *data)
{
    assert_ptr_equal(data, new_name);
    atomic_fetch_add(&freed_new, 1);
}

TEST(a_call_keeps_the_tool_that_it_began_with, "")
{
    owl_server *s = server_new(2);
    add_tool(
        s,
        (owl_tool){.name = "t", .handler = wait_and_say, .data = old_name, .free_data = count_old});
    server_start(s);
    struct http h = http_open(s);
    modern_call(&h, "t", "", "{}", "");
    assert_true(reaches(&entered, 1));
    add_tool(s, (owl_tool){.name = "t", .handler = say, .data = new_name, .free_data = count_new});
    expect_str(call(s, "t"), "result/content/0/text", "new");
    assert_int_equal(owl_server_remove_tool(s, "t"), 0);
    assert_int_equal(owl_server_remove_tool(s, "t"), -OWL_ENOTFOUND);
    expect_int(call(s, "t"), "error/code", -32602);
    assert_int_equal(atomic_load(&freed_old), 0);
    atomic_store(&gate, 1);
    http_head(&h);
    expect_str(http_next(&h), "result/content/0/text", "old");
    http_close(&h);
    assert_true(reaches(&freed_old, 1));
    server_end(s);
    assert_int_equal(atomic_load(&freed_old), 1);
    assert_int_equal(atomic_load(&freed_new), 1);
}

TEST(what_is_not_there_cannot_be_removed, "")
{
    owl_server *s = server_new(1);
    assert_int_equal(owl_server_remove_tool(s, "x"), -OWL_ENOTFOUND);
    assert_int_equal(owl_server_remove_prompt(s, "x"), -OWL_ENOTFOUND);
    assert_int_equal(owl_server_remove_resource(s, "x:y"), -OWL_ENOTFOUND);
    assert_int_equal(owl_server_remove_resource(s, "x:{y}"), -OWL_ENOTFOUND);
    assert_true(owl_server_remove_tool(s, NULL) < 0);
    assert_true(owl_server_remove_resource(s, NULL) < 0);
    assert_int_equal(owl_server_resource_updated(s, NULL), -OWL_EINVAL);
    assert_int_equal(owl_server_resource_updated(s, "x:y"), 0); /* nobody is there to be told */
    owl_server_free(s);
}

/* ---- many at once ---- */

static void count_any(void *data)
{
    (void)data;
    atomic_fetch_add(&freed_any, 1);
}

static atomic_int added;
enum { CHANGES = 120 };

/* Adds, replaces and removes things of every kind. */
static void *change_main(void *arg)
{
    owl_server *s = arg;
    for (int i = 0; i < CHANGES; i++) {
        char name[20], uri[20];
        snprintf(name, sizeof name, "n%d", i % 7);
        snprintf(uri, sizeof uri, i % 2 ? "x:%d" : "t%d:{v}", i % 5);
        owl_tool t = {.size = sizeof t,
                      .name = name,
                      .handler = say,
                      .data = arg,
                      .flags = i % 3 ? OWL_INLINE : 0,
                      .free_data = count_any};
        owl_prompt p = {.size = sizeof p, .name = name, .handler = say, .free_data = count_any};
        owl_resource r = {
            .size = sizeof r, .uri = uri, .name = name, .handler = say, .free_data = count_any};
        t.data = NULL;
        if (owl_server_add_tool(s, &t, NULL) || owl_server_add_prompt(s, &p, NULL) ||
            owl_server_add_resource(s, &r, NULL))
            abort();
        atomic_fetch_add(&added, 3);
        if (i % 4 == 0) {
            owl_server_remove_tool(s, name); /* another thread may have been quicker */
            owl_server_remove_prompt(s, name);
            owl_server_remove_resource(s, uri);
        }
        owl_server_resource_updated(s, uri);
    }
    return NULL;
}

/* Lists and calls until told to stop. */
static void *client_main(void *arg)
{
    struct http h = http_open(arg);
    for (int i = 0; !atomic_load(&stop_all); i++) {
        static const char *const methods[] = {"tools/list", "resources/list", "prompts/list",
                                              "resources/templates/list"};
        char *text = modern_text("1", methods[i % 4], "", "{}", "");
        modern_send(&h, "", text);
        free(text);
        http_head(&h);
        msg *m = http_next(&h); /* parsed strictly */
        if (!at(m, "result"))
            abort();
        owl_json_doc_free(m);
        char name[20];
        snprintf(name, sizeof name, "n%d", i % 7);
        modern_call(&h, name, "", "{}", "");
        http_head(&h);
        m = http_next(&h);
        if (!at(m, "result") && int_at(m, "error/code") != -32602)
            abort();
        owl_json_doc_free(m);
    }
    http_close(&h);
    return NULL;
}

TEST(everything_may_change_while_clients_list_and_call, "")
{
    enum { THREADS = 3 };
    owl_server *s = server_new(2);
    pthread_t change[THREADS], client[THREADS];
    add_tool(s, (owl_tool){.name = "fix", .handler = say});
    add_prompt(s, (owl_prompt){.name = "fix", .handler = say});
    add_resource(s, (owl_resource){.uri = "fix:y", .name = "fix", .handler = say});
    add_resource(s, (owl_resource){.uri = "fix:{y}", .name = "fix", .handler = say});
    server_start(s);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&change[i], NULL, change_main, s), 0);
        assert_int_equal(pthread_create(&client[i], NULL, client_main, s), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(change[i], NULL);
    atomic_store(&stop_all, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(client[i], NULL);
    server_end(s);
    assert_int_equal(atomic_load(&added), THREADS * CHANGES * 3);
    assert_int_equal(atomic_load(&freed_any), atomic_load(&added));
}

/* ---- telling ---- */

static struct http open_get(const struct http *session)
{
    struct http g = http_join(session);
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n", g.session);
    http_send(&g, "GET", headers, "");
    free(headers);
    assert_int_equal(http_head(&g), 200);
    assert_true(g.events);
    return g;
}

static struct http open_listen(owl_server *s, const char *filter)
{
    struct http h = http_open(s);
    char *params = text_of("\"notifications\":%s", filter);
    char *text = modern_text("\"sub\"", "subscriptions/listen", params, "{}", "");
    modern_send(&h, "", text);
    free(text);
    free(params);
    assert_int_equal(http_head(&h), 200);
    expect_str(http_next(&h), "method", "notifications/subscriptions/acknowledged");
    return h;
}

static void subscribe(struct http *h, const char *method, const char *uri)
{
    char *params = text_of("\"uri\":\"%s\"", uri);
    char *text = legacy_text("9", method, params);
    legacy_send(h, text);
    http_head(h);
    expect_int(http_next(h), "id", 9);
    free(text);
    free(params);
}

static owl_server *with_one_of_each(unsigned reactors)
{
    owl_server *s = server_new(reactors);
    add_tool(s, (owl_tool){.name = "t", .handler = say});
    add_prompt(s, (owl_prompt){.name = "p", .handler = say});
    add_resource(s, (owl_resource){.uri = "x:y", .name = "r", .handler = say});
    return s;
}

TEST(clients_are_told_once_of_many_changes, "")
{
    owl_server *s = with_one_of_each(4);
    server_start(s);
    struct http a = legacy_open(s, "{}"), get = open_get(&a),
                listen = open_listen(s, "{\"toolsListChanged\":true}"),
                others = open_listen(s, "{\"promptsListChanged\":true}");
    for (int i = 0; i < 20; i++)
        add_tool(s, (owl_tool){.name = "again", .handler = say});
    expect_str(http_next(&get), "method", "notifications/tools/list_changed");
    msg *m = http_next(&listen);
    assert_string_equal(str_at(m, "params/_meta/io.modelcontextprotocol~subscriptionId"), "sub");
    expect_str(m, "method", "notifications/tools/list_changed");
    assert_int_equal(owl_server_remove_prompt(s, "p"), 0);
    assert_int_equal(owl_server_remove_resource(s, "x:y"), 0);
    /* Those of the tools were gathered: what follows is of the others. Two may have come. */
    msg *r = http_next(&get), *p = http_next(&get);
    while (strcmp(str_at(r, "method"), "notifications/tools/list_changed") == 0) {
        owl_json_doc_free(r);
        r = p;
        p = http_next(&get);
    }
    expect_str(r, "method", "notifications/resources/list_changed");
    expect_str(p, "method", "notifications/prompts/list_changed");
    expect_str(http_next(&others), "method", "notifications/prompts/list_changed");
    assert_false(http_ready(&others, 50));
    http_close(&others);
    http_close(&listen);
    http_close(&get);
    http_close(&a);
    server_end(s);
}

TEST(only_subscribers_hear_of_a_resource, "OR-3.5")
{
    owl_server *s = with_one_of_each(4);
    server_start(s);
    struct http a = legacy_open(s, "{}"), b = legacy_open(s, "{}"), ga = open_get(&a),
                gb = open_get(&b), la = open_listen(s, "{\"resourceSubscriptions\":[\"x:y\"]}"),
                lb = open_listen(s, "{\"resourceSubscriptions\":[\"x:other\"]}");
    subscribe(&a, "resources/subscribe", "x:y");
    assert_int_equal(owl_server_resource_updated(s, "x:y"), 0);
    msg *m = http_next(&ga);
    assert_string_equal(str_at(m, "method"), "notifications/resources/updated");
    assert_null(at(m, "params/_meta"));
    expect_str(m, "params/uri", "x:y");
    m = http_next(&la);
    assert_string_equal(str_at(m, "params/_meta/io.modelcontextprotocol~subscriptionId"), "sub");
    expect_str(m, "params/uri", "x:y");
    subscribe(&a, "resources/unsubscribe", "x:y");
    assert_int_equal(owl_server_resource_updated(s, "x:y"), 0);
    assert_int_equal(owl_server_resource_updated(s, "x:other"), 0);
    expect_str(http_next(&la), "params/uri", "x:y");
    expect_str(http_next(&lb), "params/uri", "x:other");
    assert_false(http_ready(&ga, 50));
    assert_false(http_ready(&gb, 0));
    assert_false(http_ready(&la, 0));

    /* The end of the server ends the streams, a listen with its result. */
    owl_server_stop(s);
    m = http_next(&la);
    assert_string_equal(str_at(m, "id"), "sub");
    expect_str(m, "result/_meta/io.modelcontextprotocol~subscriptionId", "sub");
    assert_null(http_next(&la));
    assert_null(http_next(&ga));
    assert_int_equal(owl_server_join(s), 0);
    owl_server_free(s);
    http_close(&a);
    http_close(&b);
    http_close(&ga);
    http_close(&gb);
    http_close(&la);
    http_close(&lb);
}

/* The first change is told soon, a thousand at once as one, the last never gets lost. */
TEST(a_resource_that_changes_all_the_time_is_told_now_and_then, "")
{
    owl_server *s = with_one_of_each(2);
    server_start(s);
    struct http l = open_listen(s, "{\"resourceSubscriptions\":[\"x:y\"]}");
    int64_t began = now_ms();
    for (int i = 0; i < 1000; i++)
        assert_int_equal(owl_server_resource_updated(s, "x:y"), 0);
    int64_t took = now_ms() - began, told = 0;
    expect_str(http_next(&l), "params/uri", "x:y");
    for (told = 1; http_ready(&l, 50); told++)
        expect_str(http_next(&l), "params/uri", "x:y");
    assert_true(told <= 2 + took / 10);
    http_close(&l);
    server_end(s);
}

/* x:0, x:1 … have changed. */
static void touch_many(owl_server *s, int n)
{
    for (int i = 0; i < n; i++) {
        char uri[20];
        snprintf(uri, sizeof uri, "x:%d", i);
        assert_int_equal(owl_server_resource_updated(s, uri), 0);
    }
}

/* More than are gathered, and a stop while some wait. */
TEST(many_resources_are_told_in_their_order, "")
{
    owl_server *s = with_one_of_each(2);
    server_start(s);
    struct http l = open_listen(s, "{\"resourceSubscriptions\":[\"x:0\",\"x:1200\",\"x:2400\"]}");
    touch_many(s, 2500);
    expect_str(http_next(&l), "params/uri", "x:0");
    expect_str(http_next(&l), "params/uri", "x:1200");
    expect_str(http_next(&l), "params/uri", "x:2400");
    for (int i = 0; i < 10; i++)
        assert_int_equal(owl_server_resource_updated(s, "x:1"), 0);
    http_close(&l);
    server_end(s);
}

static void count_lost(void *data, owl_level level, const char *line)
{
    (void)level;
    if (strstr(line, "not told of some resources: they change faster"))
        atomic_fetch_add((atomic_int *)data, 1);
}

/* A program that changes more resources than clients can be told of is told so, once. */
TEST(resources_that_wait_to_be_told_of_are_bounded, "")
{
    atomic_int lost = 0;
    owl_server *s = server_with(
        (owl_server_options){.reactors = 2, .log = count_lost, .log_data = &lost});
    add_resource(s, (owl_resource){.uri = "x:y", .name = "r", .handler = say});
    server_start(s);
    struct http l = open_listen(s, "{\"resourceSubscriptions\":[\"x:0\"]}");
    touch_many(s, 120 * 1000);
    expect_str(http_next(&l), "params/uri", "x:0");
    assert_true(reaches(&lost, 1));
    expect_int(call(s, "none"), "error/code", -32601); /* others are served */
    http_close(&l);
    server_end(s);
    assert_int_equal(atomic_load(&lost), 1);
}

TEST(a_stdio_client_is_told, "")
{
    owl_server *s = with_one_of_each(1);
    struct pipes p = pipes_open(s);
    assert_int_equal(owl_server_start(s, NULL), 0);
    add_tool(s, (owl_tool){.name = "early", .handler = say}); /* nobody is there yet */
    pause_ms(50);
    pipes_initialize(&p, "{}");
    char *text = legacy_text("1", "resources/subscribe", "\"uri\":\"x:y\"");
    pipes_send(&p, text);
    free(text);
    expect_int(pipes_next(&p), "id", 1);
    add_tool(s, (owl_tool){.name = "more", .handler = say});
    expect_str(pipes_next(&p), "method", "notifications/tools/list_changed");
    assert_int_equal(owl_server_resource_updated(s, "x:other"), 0);
    assert_int_equal(owl_server_resource_updated(s, "x:y"), 0);
    expect_str(pipes_next(&p), "params/uri", "x:y");
    assert_null(pipes_next_in(&p, 30));
    server_end(s);
    pipes_close(&p);
}

/* A handler changes what its server offers. */
static int change_from_handler(owl_call *c, void *data)
{
    (void)data;
    owl_server *s = owl_call_server(c);
    owl_tool t = OWL_TOOL("born", NULL, NULL, say);
    int rc = owl_server_add_tool(s, &t, NULL);
    if (rc == 0)
        rc = owl_server_remove_tool(s, "self");
    return rc ? rc : owl_result_text(c, "changed");
}

TEST(a_handler_may_change_its_server, "")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        owl_server *s = server_new(2);
        add_tool(s, (owl_tool){.name = "self", .handler = change_from_handler, .flags = flags});
        server_start(s);
        expect_str(call(s, "self"), "result/content/0/text", "changed");
        expect_int(call(s, "self"), "error/code", -32602);
        expect_str(call(s, "born"), "result/content/0/text", "plain");
        server_end(s);
    }
}

/* ---- what handlers see ---- */

static int look(owl_call *c, void *data)
{
    (void)data;
    return owl_result_textf(
        c, "%s|%s|%s|%s|%d", owl_call_name(c), owl_call_var(c, "id") ? owl_call_var(c, "id") : "-",
        owl_call_var(c, "nope") ? "?" : "-", owl_call_revision(c), owl_call_params(c) != NULL);
}

static int complete(owl_call *c, void *data)
{
    (void)data;
    owl_result_completion(c, owl_call_complete_name(c));
    owl_result_completion(c, owl_call_complete_value(c));
    const char *other = owl_call_var(c, "other");
    return owl_result_completion(c, other ? other : "-");
}

static int needs_sampling(owl_call *c, void *data)
{
    (void)data;
    return owl_call_require(c, "sampling.tools");
}

TEST(a_handler_sees_what_is_asked, "")
{
    owl_server *s = server_new(1);
    add_resource(
        s,
        (owl_resource){.uri = "db:{id}/row", .name = "row", .handler = look, .complete = complete});
    add_tool(s, (owl_tool){.name = "t", .handler = look});
    add_tool(s, (owl_tool){.name = "requires", .handler = needs_sampling});
    server_start(s);
    expect_str(modern(s, "resources/read", "db:a%20b/row", "\"uri\":\"db:a%20b/row\""),
               "result/contents/0/text", "db:a%20b/row|a b|-|" MODERN "|0");
    expect_str(call(s, "t"), "result/content/0/text", "t|-|-|" MODERN "|0");
    msg *m = modern(s, "completion/complete", "",
                    "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"db:{id}/row\"},"
                    "\"argument\":{\"name\":\"id\",\"value\":\"4\"},"
                    "\"context\":{\"arguments\":{\"other\":\"o\"}}");
    assert_string_equal(json_at(m, "result/completion/values"), "[\"id\",\"4\",\"o\"]");
    owl_json_doc_free(m);
    expect_int(call(s, "requires"), "error/code", -32021);
    struct http h = legacy_open(s, "{\"sampling\":{\"tools\":{}}}");
    legacy_call(&h, "requires", "");
    http_head(&h);
    m = http_next(&h);
    assert_false(owl_json_bool(at(m, "result/isError"), false));
    owl_json_doc_free(m);
    legacy_call(&h, "t", "");
    http_head(&h);
    expect_str(http_next(&h), "result/content/0/text", "t|-|-|" LEGACY "|0");
    http_close(&h);
    server_end(s);
}

/* ---- what was not there at first ---- */

static void add_note(owl_server *s)
{
    add_resource(s, (owl_resource){.uri = "note://1", .name = "note", .text = "n"});
}

static struct http feed_of(const struct http *session)
{
    struct http g = http_join(session);
    char *headers = text_of("Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n",
                            session->session);
    http_send(&g, "GET", headers, "");
    free(headers);
    assert_int_equal(http_head(&g), 200);
    return g;
}

/* The first list of which a legacy client hears that it changed, after a resource and a tool. */
static void expect_first_change(unsigned offers, const char *method)
{
    owl_server *s = server_with((owl_server_options){.reactors = 2, .offers = offers});
    add_tool(s, (owl_tool){.name = "t", .handler = say});
    server_start(s);
    struct http h = legacy_open(s, "{}"), g = feed_of(&h);
    add_note(s);
    pause_ms(50); /* the changes are not gathered into one */
    add_tool(s, (owl_tool){.name = "u", .handler = say});
    expect_str(http_next(&g), "method", method);
    http_close(&g);
    http_close(&h);
    server_end(s);
}

TEST(a_legacy_client_hears_only_of_what_was_declared_to_it, "mcp:L2")
{
    expect_first_change(0, "notifications/tools/list_changed");
    expect_first_change(OWL_OFFERS_RESOURCES, "notifications/resources/list_changed");
}

TEST(what_an_option_offers_is_declared_before_it_is_there, "")
{
    owl_server *s = server_with(
        (owl_server_options){.reactors = 1, .offers = OWL_OFFERS_RESOURCES | OWL_OFFERS_PROMPTS});
    server_start(s);
    msg *m = modern(s, "server/discover", "", "");
    assert_non_null(at(m, "result/capabilities/resources"));
    assert_non_null(at(m, "result/capabilities/prompts"));
    assert_null(at(m, "result/capabilities/tools"));
    owl_json_doc_free(m);
    m = modern(s, "resources/list", "", "");
    assert_int_equal(owl_json_len(at(m, "result/resources")), 0);
    owl_json_doc_free(m);
    server_end(s);
}

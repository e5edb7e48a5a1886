/* Events on every kind of stream, to readers that also end lines at U+0085, U+2028 and U+2029. */
#include "library/fixture.h"

#define ODD "a\xc2\x85 b\xe2\x80\xa8 c\xe2\x80\xa9 \xe2\x80\x9c\xc2\xab"
#define ESCAPED "a\\u0085 b\\u2028 c\\u2029 \xe2\x80\x9c\xc2\xab"

static int odd(owl_call *c, void *data)
{
    (void)data;
    owl_call_progress(c, 1, 0, "p" ODD);
    return owl_result_structured(c, "{\"r\":\"" ODD "\"}", OWL_NTS); /* relayed as it is */
}

static owl_server *odd_server(void)
{
    owl_server *s = server_new(1);
    add_tool(s, (owl_tool){.name = "odd", .handler = odd});
    server_start(s);
    return s;
}

/* Reads what has a result in it. */
static void expect_escaped(struct http *h)
{
    while (!h->body.n || !strstr(h->body.p, "\"result\"") || !strstr(h->body.p, "\"r\":"))
        assert_true(http_piece(h));
    assert_non_null(strstr(h->body.p, "\"p" ESCAPED "\""));
    assert_non_null(strstr(h->body.p, "\"r\":\"" ESCAPED "\""));
    assert_null(strstr(h->body.p, "\xc2\x85"));
    assert_null(strstr(h->body.p, "\xe2\x80\xa8"));
    assert_null(strstr(h->body.p, "\xe2\x80\xa9"));
}

static const char CALL[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                           "\"name\":\"odd\",\"_meta\":{\"progressToken\":1}}}";

TEST(a_modern_answer_is_one_line_to_every_reader, "")
{
    owl_server *s = odd_server();
    struct http h = http_open(s);
    modern_call(&h, "odd", "", "{}", "\"progressToken\":1");
    assert_int_equal(http_head(&h), 200);
    assert_true(h.events);
    expect_escaped(&h);
    http_close(&h);
    server_end(s);
}

TEST(an_answer_that_can_be_resumed_is_one_line_to_every_reader, "")
{
    owl_server *s = odd_server();
    struct http h = legacy_open(s, "{}");
    legacy_send(&h, CALL);
    assert_int_equal(http_head(&h), 200);
    assert_true(h.events);
    expect_escaped(&h);
    http_close(&h);
    server_end(s);
}

/* ---- the old HTTP+SSE ---- */

static void post_to(owl_server *s, const char *path, const char *text)
{
    struct http h = http_open(s);
    char *all = text_of("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n" POST_HEADERS
                        "Content-Length: %zu\r\n\r\n%s",
                        path, strlen(text), text);
    assert_int_equal(send(h.fd, all, strlen(all), MSG_NOSIGNAL), (ssize_t)strlen(all));
    assert_int_equal(http_head(&h), 202);
    free(all);
    http_close(&h);
}

TEST(an_answer_on_the_old_stream_is_one_line_to_every_reader, "")
{
    static const char get[] = "GET /mcp/sse HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    static const char begin[] = "event: endpoint\ndata: ";
    owl_server *s = odd_server();
    struct http h = http_open(s);
    char path[200];
    assert_int_equal(send(h.fd, get, sizeof get - 1, MSG_NOSIGNAL), (ssize_t)sizeof get - 1);
    assert_int_equal(http_head(&h), 200);
    while (!h.body.n || !strstr(h.body.p, "\n\n"))
        assert_true(http_piece(&h));
    const char *at = strstr(h.body.p, begin);
    assert_non_null(at);
    at += sizeof begin - 1;
    snprintf(path, sizeof path, "%.*s", (int)strcspn(at, "\n"), at);
    char *initialize = initialize_as(LEGACY, "{}");
    post_to(s, path, initialize);
    post_to(s, path, INITIALIZED);
    post_to(s, path, CALL);
    expect_escaped(&h);
    free(initialize);
    http_close(&h);
    server_end(s);
}

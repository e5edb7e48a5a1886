/* A route in a page: a counter beside the MCP endpoint, which comes and goes while the server runs. */
#include "library/fixture.h"
#include "server/front.h"
#include "server/route.h"

struct counter {
    atomic_uint n;
};

/* On the reactor of the connection. It answers at once; one that answers later puts a struct owl_hook
 * on the request, to hear of a client that hangs up. */
static void count(void *data, const struct owl_route_req *r)
{
    struct counter *c = data;
    char body[64];
    int n = snprintf(body, sizeof body, "{\"count\":%u}", atomic_fetch_add(&c->n, 1) + 1);
    struct owl_http_reply reply = {
        .status = 200, .content_type = "application/json", .body = {body, (size_t)n}};
    owl_http_reply(r->http, &reply);
}

static const struct owl_route route = {
    .methods = 1u << OWL_HTTP_GET,
    .path = "/count",
    .flags = OWL_ROUTE_DRAIN, /* no authentication, and served while the server stops */
    .handler = count,
};

static int get_count(owl_server *s)
{
    struct http h = http_open(s);
    static const char request[] = "GET /count HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    assert_true(http_put(&h, request, sizeof request - 1));
    int n = -http_head(&h);
    while (http_piece(&h))
        ;
    if (n == -200)
        assert_int_equal(sscanf(h.body.p, "{\"count\":%d}", &n), 1);
    http_close(&h);
    return n;
}

TEST(a_route_in_a_page_comes_and_goes, "")
{
    static struct counter counter;
    struct owl_route mine = route;
    owl_server *s = server_new(2);
    server_start(s);
    assert_int_equal(get_count(s), -404);
    mine.data = &counter;
    assert_int_equal(owl_server_add_route(s, &mine, NULL), 0);
    assert_int_equal(get_count(s), 1);
    assert_int_equal(get_count(s), 2);
    assert_int_equal(owl_server_remove_route(s, mine.methods, mine.path, mine.flags), 0);
    assert_int_equal(get_count(s), -404);
    server_end(s);
}

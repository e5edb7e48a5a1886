/* The request parser alone, without a socket. */
#include "support/test.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/block.h"
#include "base/buf.h"
#include "transport/http1_parse.h"

static const struct owl_http_limits limits = {
    .url_bytes = 1000, .header_bytes = 4000, .headers = 50, .body_bytes = 300000};

/* Feeds @p in in pieces of @p step bytes, each its own block; how much was used. A piece is there until
 * the next one comes: that is how long the view may point into it. */
static size_t feed(struct owl_http__parse *p, owl_str in, size_t step)
{
    static char *last;
    size_t at = 0;
    while (at < in.n && p->stage < OWL_HTTP__COMPLETE) {
        size_t n = in.n - at < step ? in.n - at : step;
        free(last);
        char *piece = malloc(n);
        assert_non_null(piece);
        memcpy(piece, in.p + at, n);
        size_t used = owl_http__parse_feed(p, (owl_str){piece, n});
        assert_true(used == n || p->stage == OWL_HTTP__COMPLETE);
        at += used;
        last = piece;
    }
    return at;
}

static void assert_str(owl_str s, const char *want)
{
    assert_int_equal(s.n, strlen(want));
    if (s.n > 0)
        assert_memory_equal(s.p, want, s.n);
}

TEST(a_request_is_the_same_in_pieces_of_any_size, "")
{
    static const char in[] = "\r\nPOST /path/to?a=b&c HTTP/1.1\r\nHost:  h:1 \r\nEmpty:\r\n"
                             "X-Spaces: a  b\t\r\nTransfer-Encoding: Chunked\r\n\r\n"
                             "5;name=value\r\nhello\r\n006\r\n world\r\n0\r\nT: 1\r\n\r\nGET / ";
    struct owl_http__parse p;
    owl_http__parse_init(&p, &limits);
    for (size_t step = 1; step < sizeof(in); step++) {
        size_t used = feed(&p, OWL_STR(in), step);
        assert_int_equal(p.stage, OWL_HTTP__COMPLETE);
        assert_int_equal(used, sizeof(in) - 1 - strlen("GET / "));
        assert_int_equal(p.view.method, OWL_HTTP_POST);
        assert_str(p.view.path, "/path/to");
        assert_str(p.view.query, "a=b&c");
        assert_int_equal(p.view.n_headers, 4);
        assert_str(p.view.headers[0].name, "Host");
        assert_str(p.view.headers[0].value, "h:1");
        assert_str(p.view.headers[1].value, "");
        assert_str(p.view.headers[2].value, "a  b");
        assert_str(p.view.body, "hello world");
        assert_true(p.keep_alive);
        owl_http__parse_reset(&p);
    }
    owl_http__parse_release(&p);
}

/* llhttp also reads RTSP and ICE, and takes several spaces for one. */
TEST(a_request_line_is_that_of_http_and_nothing_else, "")
{
    static const struct {
        const char *line;
        int status; /* 0: it is served */
    } cases[] = {
        {"GET / HTTP/1.1", 0},
        {"\r\nGET / HTTP/1.0", 0},
        {"POST /mcp RTSP/1.0", 400},
        {"GET /mcp RTSP/1.1", 400},
        {"DESCRIBE /mcp RTSP/1.0", 400},
        {"SOURCE /mcp ICE/1.0", 400},
        {"SOURCE /mcp  ICE/1.1", 400},
        {"POST  /mcp HTTP/1.1", 400},
        {"POST /mcp  HTTP/1.1", 400},
        {"POST /mcp   HTTP/1.0", 400},
        {"POST /mcp HTTP/1.1 ", 400},
        {"POST /mcp\tHTTP/1.1", 400},
        {" POST /mcp HTTP/1.1", 400},
        {"GET / HTTP/2.0", 505},
        {"GET /", 505},
    };
    struct owl_http__parse p;
    owl_http__parse_init(&p, &limits);
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        char in[200];
        int n = snprintf(in, sizeof in, "%s\r\nHost: h\r\n\r\n", cases[i].line);
        for (size_t step = 1; step <= (size_t)n; step++) {
            feed(&p, (owl_str){in, (size_t)n}, step);
            if (cases[i].status == 0)
                assert_int_equal(p.stage, OWL_HTTP__COMPLETE);
            else
                assert_int_equal(p.stage, OWL_HTTP__REFUSED);
            assert_int_equal(p.refusal.status, cases[i].status);
            owl_http__parse_reset(&p);
        }
    }
    owl_http__parse_release(&p);
}

TEST(a_target_that_names_the_host_counts_more_than_the_header, "")
{
    static const char in[] = "POST HTTP://a.example:8/mcp HTTP/1.1\r\nX: 1\r\nHost: localhost\r\n"
                             "Content-Length: 1\r\n\r\nx";
    struct owl_http__parse p;
    owl_http__parse_init(&p, &limits);
    for (size_t step = 1; step < sizeof(in); step++) {
        feed(&p, OWL_STR(in), step);
        assert_int_equal(p.stage, OWL_HTTP__COMPLETE);
        assert_str(p.view.path, "/mcp");
        assert_str(p.view.headers[0].value, "1");
        assert_str(p.view.headers[1].name, "Host");
        assert_str(p.view.headers[1].value, "a.example:8");
        owl_http__parse_reset(&p);
    }
    owl_http__parse_release(&p);
}

TEST(absent_query_and_body_are_absent_and_empty, "")
{
    struct owl_http__parse p;
    owl_http__parse_init(&p, &limits);
    feed(&p, OWL_STR("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), 100);
    assert_int_equal(p.stage, OWL_HTTP__COMPLETE);
    assert_null(p.view.query.p);
    assert_non_null(p.view.body.p);
    assert_int_equal(p.view.body.n, 0);
    owl_http__parse_reset(&p);
    feed(&p, OWL_STR("GET /? HTTP/1.1\r\nHost: h\r\n\r\n"), 100);
    assert_non_null(p.view.query.p);
    assert_int_equal(p.view.query.n, 0);
    owl_http__parse_release(&p);
}

/* The first block of headers and text is outgrown, in the middle of a token too. */
TEST(many_and_long_headers_stay_where_they_are, "")
{
    struct owl_buf b, want;
    struct owl_http__parse p;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_init(&want, SIZE_MAX);
    owl_buf_putz(&b, "GET / HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < 48; i++)
        owl_buf_printf(&b, "name-%d: %0*d\r\n", i, i + 20, i);
    owl_buf_putz(&b, "\r\n");
    owl_http__parse_init(&p, &limits);
    for (size_t step = 1; step < 200; step += 7) {
        feed(&p, owl_buf_str(&b), step);
        assert_int_equal(p.stage, OWL_HTTP__COMPLETE);
        assert_int_equal(p.view.n_headers, 49);
        for (int i = 0; i < 48; i++) {
            owl_buf_reset(&want);
            owl_buf_printf(&want, "name-%d", i);
            assert_true(owl_str_eq(p.view.headers[i + 1].name, owl_buf_str(&want)));
            owl_buf_reset(&want);
            owl_buf_printf(&want, "%0*d", i + 20, i);
            assert_true(owl_str_eq(p.view.headers[i + 1].value, owl_buf_str(&want)));
        }
        owl_http__parse_reset(&p);
    }
    owl_http__parse_release(&p);
    owl_buf_done(&want);
    owl_buf_done(&b);
}

/* Around every length at which the memory of a body grows. */
TEST(bodies_of_any_length_come_out_as_they_went_in, "")
{
    static const size_t lengths[] = {1, 2000, 65535, 65536, 65537, 131073, 299999, 300000};
    static const size_t steps[] = {997, 65536, 300000};
    static char text[300000];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 31 + i / 251);
    struct owl_http__parse p;
    struct owl_budget *bodies = owl_budget_new(SIZE_MAX);
    assert_non_null(bodies);
    owl_http__parse_init(&p, &limits);
    p.bodies = bodies;
    for (size_t i = 0; i < OWL_COUNT(lengths) * OWL_COUNT(steps) * 2; i++) {
        bool chunked = i % 2;
        owl_str body = {text, lengths[i / 2 % OWL_COUNT(lengths)]};
        struct owl_buf b;
        owl_buf_init(&b, SIZE_MAX);
        owl_buf_printf(&b, "POST / HTTP/1.1\r\nHost: h\r\n");
        owl_buf_printf(&b,
                       chunked ? "Transfer-Encoding: chunked\r\n\r\n%zx\r\n"
                               : "Content-Length: %zu\r\n\r\n",
                       body.n);
        owl_buf_puts(&b, body);
        owl_buf_putz(&b, chunked ? "\r\n0\r\n\r\n" : "");
        feed(&p, owl_buf_str(&b), steps[i / 2 / OWL_COUNT(lengths)]);
        assert_int_equal(p.stage, OWL_HTTP__COMPLETE);
        assert_true(owl_str_eq(p.view.body, body));
        assert_true(owl_arena_used(p.arena) < body.n + 10000);
        owl_http__parse_reset(&p);
        assert_int_equal(atomic_load(&bodies->held), 1);
        owl_buf_done(&b);
    }
    owl_http__parse_release(&p);
    owl_budget_done(bodies);
}

/* Memory that was used before is there although nothing has come yet. */
TEST(what_a_body_takes_counts_and_is_little_more_than_what_has_come, "")
{
    static char text[1000];
    struct owl_http__parse p;
    struct owl_budget *bodies = owl_budget_new(SIZE_MAX);
    assert_non_null(bodies);
    for (int chunked = 0; chunked < 2; chunked++) {
        owl_http__parse_init(&p, &limits);
        p.bodies = bodies;
        feed(&p, OWL_STR("POST / HTTP/1.1\r\nHost: h\r\n"), 100);
        feed(&p,
             chunked ? OWL_STR("Transfer-Encoding: chunked\r\n\r\n493e0\r\n")
                     : OWL_STR("Content-Length: 300000\r\n\r\n"),
             100);
        for (size_t n = 0; n < 290 * sizeof(text); n += sizeof(text)) {
            feed(&p, (owl_str){text, sizeof(text)}, sizeof(text));
            assert_int_equal(p.view.body.n, n + sizeof(text));
            assert_true(p._share.n <= 4 * p.view.body.n + 16384);
            assert_true(owl_arena_used(p.arena) <= p._share.n + 10000);
        }
        owl_http__parse_release(&p);
    }
    owl_budget_done(bodies);
}

/* A chunk may be called anything, at any length; llhttp only passes over it. */
TEST(endless_extensions_of_chunks_are_refused_and_small_chunks_are_not, "")
{
    struct owl_http__parse p;
    static char x[1000];
    memset(x, 'x', sizeof(x));
    owl_http__parse_init(&p, &limits);
    feed(&p, OWL_STR("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;"), 100);
    size_t n = 0;
    while (p.stage == OWL_HTTP__BODY && n < 1000000)
        n += feed(&p, (owl_str){x, sizeof(x)}, sizeof(x));
    assert_int_equal(p.stage, OWL_HTTP__REFUSED);
    assert_int_equal(p.refusal.status, 400);
    assert_in_range(n, 1000, 100000);
    owl_http__parse_release(&p);

    owl_http__parse_init(&p, &limits);
    feed(&p, OWL_STR("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"), 100);
    for (size_t i = 0; i < limits.body_bytes; i++)
        feed(&p, OWL_STR("1\r\nb\r\n"), 6);
    feed(&p, OWL_STR("0\r\n\r\n"), 6);
    assert_int_equal(p.stage, OWL_HTTP__COMPLETE);
    assert_int_equal(p.view.body.n, limits.body_bytes);
    owl_http__parse_release(&p);
}

TEST(an_announced_length_is_not_believed_before_it_comes, "")
{
    struct owl_http__parse p;
    owl_http__parse_init(&p, &limits);
    feed(&p, OWL_STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\nx"), 1000);
    assert_int_equal(p.stage, OWL_HTTP__BODY);
    assert_true(owl_arena_used(p.arena) < 100000);
    owl_http__parse_release(&p);
}

TEST(running_out_of_memory_anywhere_is_a_refusal, "")
{
    static char in[200000];
    int n = snprintf(in, sizeof(in),
                     "POST /%0700d HTTP/1.1\r\nHost: h\r\nContent-Length: 150000\r\n", 1);
    for (int i = 0; i < 30; i++)
        n += snprintf(in + n, sizeof(in) - (size_t)n, "h%d: v\r\n", i);
    n += snprintf(in + n, sizeof(in) - (size_t)n, "\r\n");
    size_t total = (size_t)n + 150000;
    memset(in + n, 'b', 150000);
    unsigned long fail = 1;
    struct owl_budget *bodies = owl_budget_new(SIZE_MAX);
    assert_non_null(bodies);
    for (bool refused = true; refused; fail++) {
        struct owl_http__parse p;
        owl_http__parse_init(&p, &limits);
        p.bodies = bodies;
        owl_alloc_fail_at(fail);
        for (size_t at = 0; at < total && p.stage < OWL_HTTP__COMPLETE; at += 1000)
            owl_http__parse_feed(&p, (owl_str){in + at, total - at < 1000 ? total - at : 1000});
        owl_alloc_fail_at(0);
        refused = p.stage == OWL_HTTP__REFUSED;
        if (refused)
            assert_int_equal(p.refusal.status, 503);
        else
            assert_int_equal(p.stage, OWL_HTTP__COMPLETE);
        owl_http__parse_release(&p);
        owl_thread_keep_nothing();
        assert_int_equal(atomic_load(&bodies->held), 1);
    }
    owl_budget_done(bodies);
    assert_true(fail > 4);
}

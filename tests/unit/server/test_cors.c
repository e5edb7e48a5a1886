/* Which origins an option may name, how they are compared, and what their browsers are told. */
#include "base/alloc.h"
#include "library/fixture.h"
#include "server/server.h"

static struct owl_cors *cors_of(const char *origins)
{
    struct owl_cors *c = NULL;
    owl_error e = {0};
    if (owl_cors_new(owl_str_of(origins), &c, &e) != 0)
        fail_msg("%s: %s", origins, e.message);
    return c;
}

static bool allows(const char *origins, const char *origin)
{
    struct owl_cors *c = cors_of(origins);
    owl_str lines;
    bool yes = owl_cors_lines(c, owl_str_of(origin), &lines);
    char *text = text_of("%.*s", (int)lines.n, lines.p ? lines.p : "");
    bool told = strstr(text, "Access-Control-Allow-Origin: ");
    free(text);
    assert_int_equal(yes, told);
    owl_cors_free(c);
    return yes;
}

TEST(listed_origins_are_allowed_and_no_others, "OR-3.6")
{
    const char *list = "https://app.example.com, http://localhost:3000 ,chrome-extension://abcdef";
    assert_true(allows(list, "https://app.example.com"));
    assert_true(allows(list, "http://localhost:3000"));
    assert_true(allows(list, "chrome-extension://abcdef"));
    const char *const others[] = {
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://app.example.comx",
        "https://evil.example",
        "https://x.app.example.com",
        "http://localhost",
        "https://app.example.com/",
        "https://app.example.co",
        "null",
        "https://app.example.com.evil",
        "*",
        "",
    };
    for (size_t i = 0; i < OWL_COUNT(others); i++)
        if (allows(list, others[i]))
            fail_msg("%s is allowed", others[i]);
    assert_false(allows(list, NULL));
    assert_false(allows(NULL, "https://app.example.com"));
    assert_false(allows("", "https://app.example.com"));
    assert_false(allows("  ", "https://app.example.com"));
}

TEST(origins_are_compared_as_browsers_write_them, "OR-3.6")
{
    assert_true(allows("HTTPS://App.Example.COM:443", "https://app.example.com"));
    assert_true(allows("http://Example.com:80", "http://example.com"));
    assert_false(allows("http://example.com:443", "http://example.com"));
    assert_true(allows("http://example.com:443", "http://example.com:443"));
    assert_true(allows("http://[::1]:3000", "http://[::1]:3000"));
}

TEST(a_star_allows_every_origin_that_is_one, "OR-3.6")
{
    assert_true(allows("*", "https://anything.example:99"));
    assert_true(allows("https://a.example, *", "https://b.example"));
    assert_false(allows("*", "null"));
    assert_false(allows("*", "https://a.example/path"));
    assert_false(allows("*", "nonsense"));
    assert_false(allows("*", NULL));
    struct owl_cors *c = cors_of("*");
    owl_str lines;
    assert_true(owl_cors_lines(c, OWL_STR("https://a.example"), &lines));
    static const char star[] = "Access-Control-Allow-Origin: *\r\n";
    assert_memory_equal(lines.p, star, sizeof star - 1);
    owl_cors_free(c);
}

TEST(the_lines_name_origin_headers_and_what_varies, "OR-3.6")
{
    struct owl_cors *c = cors_of("https://a.example");
    owl_str lines;
    assert_true(owl_cors_lines(c, OWL_STR("https://a.example"), &lines));
    char *text = text_of("%.*s", (int)lines.n, lines.p);
    assert_string_equal(text, "Access-Control-Allow-Origin: https://a.example\r\n"
                              "Access-Control-Expose-Headers: Mcp-Session-Id, "
                              "MCP-Protocol-Version, WWW-Authenticate, Retry-After\r\n"
                              "Vary: Origin\r\n");
    free(text);
    assert_false(owl_cors_lines(c, OWL_STR("https://b.example"), &lines));
    assert_true(owl_str_is(lines, "Vary: Origin\r\n")); /* a cache must not serve it to a.example */
    owl_cors_free(c);
    c = cors_of(NULL);
    assert_false(owl_cors_lines(c, OWL_STR("https://b.example"), &lines));
    assert_int_equal(lines.n, 0);
    owl_cors_free(c);
}

static void refused(const char *origins, const char *part)
{
    owl_server_options o = OWL_SERVER_OPTIONS("n", "1");
    owl_server *s = NULL;
    owl_error e = {0};
    o.cors_origins = origins;
    int rc = owl_server_new(&o, &s, &e);
    if (rc != -OWL_EINVAL || !strstr(e.message, "cors_origins") || !strstr(e.message, part))
        fail_msg("%s: %d %s", origins, rc, e.message);
    assert_null(s);
}

TEST(what_is_no_origin_is_refused_with_advice, "OR-3.6")
{
    const char *const bad[] = {
        "app.example.com",
        "https://",
        "https://a.example/",
        "https://a.example/p",
        "https://u@a.example",
        "https://a.example:",
        "https://a.example:x",
        "https://a.example:99999",
        "https://*.example.com",
        "null",
        "://a.example",
        "1http://a.example",
        "https://a.example?q",
        "https:/a.example",
        "https://a.example.",
        "https://a.example,,*",
        "https://a.example,",
        ",",
        "**",
    };
    for (size_t i = 0; i < OWL_COUNT(bad); i++)
        refused(bad[i], "scheme://host");
    refused("https://a.example https://b.example", "commas");
    refused("https://b\xc3\xbc"
            "cher.example",
            "xn--");
    refused("https://a.example\r\nX: y", "ASCII");
    char *text = calloc(1, 5000);
    memset(text, 'a', 4000);
    refused(text, "longer than 300");
    size_t n = 0;
    for (int i = 0; i < 101; i++)
        n += (size_t)sprintf(text + n, "%shttp://a:%d", i ? "," : "", i);
    refused(text, "more than 100");
    *strrchr(text, ',') = '\0';
    assert_true(allows(text, "http://a:99"));
    free(text);
}

TEST(without_memory_there_are_no_origins, "")
{
    struct owl_cors *c = NULL;
    owl_error e;
    int rc = -OWL_ENOMEM;
    for (unsigned long n = 1; rc != 0; n++) {
        owl_alloc_fail_at(n);
        rc = owl_cors_new(OWL_STR("https://a.example, https://b.example"), &c, &e);
        owl_alloc_fail_at(0);
        assert_true(rc == 0 || (rc == -OWL_ENOMEM && e.code == OWL_ENOMEM && !c));
        assert_true(n < 100);
    }
    owl_cors_free(c);
    owl_cors_free(NULL);
}

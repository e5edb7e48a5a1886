/* Tests of mcp/headers.h: vectors of mcp-wire 10.1, rules of 1.12 and 1.13. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/scan.h"
#include "mcp/headers.h"

static const owl_str absent = {NULL, 0};

static void assert_str(owl_str got, owl_str want)
{
    assert_non_null(got.p);
    assert_int_equal(got.n, want.n);
    assert_memory_equal(got.p, want.p, got.n);
}

/* ---- values (10.1) --------------------------------------------------------------------------- */

static const struct {
    const char *value, *header;
} vectors[] = {
    {"us-west1", "us-west1"},
    {"us west 1", "us west 1"},
    {"", ""},
    {"42", "42"},
    {"-7", "-7"},
    {"true", "true"},
    {" us-west1", "=?base64?IHVzLXdlc3Qx?="},
    {"us-west1 ", "=?base64?dXMtd2VzdDEg?="},
    {" padded ", "=?base64?IHBhZGRlZCA=?="},
    {"\tindented", "=?base64?CWluZGVudGVk?="},
    {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
    {"line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="},
    {"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
    {"日本語", "=?base64?5pel5pys6Kqe?="},
    {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
    {"=?base64?"
     "?=",
     "=?base64?PT9iYXNlNjQ/Pz0=?="},
    {"=?base64?=", "=?base64?="}, /* too short for both marks: literal */
    {"\x7f", "=?base64?fw==?="},
};

TEST(vectors_10_1_are_encoded_and_decoded, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    for (size_t i = 0; i < OWL_COUNT(vectors); i++) {
        owl_buf_reset(&b);
        owl_mcp_header_encode(&b, owl_str_of(vectors[i].value));
        assert_int_equal(b.rc, 0);
        assert_str(owl_buf_str(&b), owl_str_of(vectors[i].header));
        owl_str got;
        assert_int_equal(owl_mcp_header_decode(a, owl_buf_str(&b), &got, NULL), 0);
        assert_str(got, owl_str_of(vectors[i].value));
    }
    owl_buf_done(&b);
    owl_arena_free(a);
}

TEST(half_and_wrong_case_markers_are_literal, "")
{
    const char *literals[] = {"SGVsbG8=", "=?base64?SGVsbG8=", "=?BASE64?SGVsbG8=?=", "SGVsbG8=?=",
                              "=?Base64?SGVsbG8=?="};
    for (size_t i = 0; i < OWL_COUNT(literals); i++) {
        owl_str got;
        assert_int_equal(owl_mcp_header_decode(NULL, owl_str_of(literals[i]), &got, NULL), 0);
        assert_str(got, owl_str_of(literals[i]));
    }
}

TEST(white_space_around_a_value_is_trimmed, "")
{
    struct owl_arena *a = owl_arena_new(0);
    owl_str got;
    assert_int_equal(owl_mcp_header_decode(a, OWL_STR(" \ta\tb \t"), &got, NULL), 0);
    assert_str(got, OWL_STR("a\tb"));
    assert_int_equal(owl_mcp_header_decode(a, OWL_STR(" =?base64?SGVsbG8=?= "), &got, NULL), 0);
    assert_str(got, OWL_STR("Hello"));
    owl_arena_free(a);
}

TEST(bad_values_are_refused, "")
{
    const owl_str bad[] = {OWL_STR("=?base64?SGVsbG8?="),     /* padding */
                           OWL_STR("=?base64?SGVs!!!bG8=?="), /* alphabet */
                           OWL_STR("=?base64?/w==?="),        /* not UTF-8 */
                           OWL_STR("a\nb"),
                           OWL_STR("a\x7f"),
                           OWL_STR("a\0b"),
                           OWL_STR("\xe4\xb8\x96"),
                           OWL_STR("\xff")};
    struct owl_arena *a = owl_arena_new(0);
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        owl_str got = OWL_STR("kept");
        owl_error err = {0};
        assert_int_equal(owl_mcp_header_decode(a, bad[i], &got, &err), -OWL_EHEADER);
        assert_int_equal(err.code, OWL_EHEADER);
        assert_str(got, OWL_STR("kept"));
    }
    owl_arena_free(a);
}

TEST(no_memory_for_a_decoded_value_is_an_error, "")
{
    struct owl_arena *a = owl_arena_new(1);
    owl_str got;
    owl_error err = {0};
    int rc = owl_mcp_header_decode(a, OWL_STR("=?base64?SGVsbG8gd29ybGQsIEhlbGxv?="), &got, &err);
    assert_true(rc == -OWL_ENOMEM || rc == -OWL_ELIMIT);
    assert_int_equal(err.code, -rc);
    owl_arena_free(a);
}

/* ---- mirrors (1.12) -------------------------------------------------------------------------- */

static const struct {
    const char *row, *header_method, *header_name, *method, *key, *params;
    const char *says; /* NULL: accepted */
} mirrors[] = {
    {"Mcp-Method", "tools/list", NULL, "tools/list", NULL, "{}", NULL},
    {"Mcp-Method trimmed", " tools/list ", NULL, "tools/list", NULL, NULL, NULL},
    {"Mcp-Method missing", NULL, NULL, "tools/list", NULL, "{}", "send 'tools/list'"},
    {"Mcp-Method differs", "tools/call", NULL, "tools/list", NULL, "{}", "says 'tools/call'"},
    {"Mcp-Method case", "Tools/List", NULL, "tools/list", NULL, "{}", "the body 'tools/list'"},
    {"Mcp-Method empty", "", NULL, "tools/list", NULL, "{}", "says ''"},
    {"Mcp-Name", "tools/call", "add", "tools/call", "name", "{\"name\":\"add\"}", NULL},
    {"Mcp-Name uri", "resources/read", "file:///a", "resources/read", "uri",
     "{\"uri\":\"file:\\/\\/\\/a\"}", NULL},
    {"Mcp-Name base64", "tools/call", "=?base64?5pel5pys6Kqe?=", "tools/call", "name",
     "{\"name\":\"日本語\"}", NULL},
    {"Mcp-Name empty", "tools/call", "", "tools/call", "name", "{\"name\":\"\"}", NULL},
    {"Mcp-Name missing", "tools/call", NULL, "tools/call", "name", "{\"name\":\"add\"}",
     "params.name, \"add\""},
    {"Mcp-Name differs", "tools/call", "sub", "tools/call", "name", "{\"name\":\"add\"}",
     "says 'sub'"},
    {"Mcp-Name case", "tools/call", "Add", "tools/call", "name", "{\"name\":\"add\"}", "\"add\""},
    {"Mcp-Name prefix", "tools/call", "ad", "tools/call", "name", "{\"name\":\"add\"}",
     "says 'ad'"},
    {"Mcp-Name bad base64", "tools/call", "=?base64?SGVsbG8?=", "tools/call", "name",
     "{\"name\":\"Hello\"}", "Mcp-Name: the header value is not valid base64"},
    {"Mcp-Name bad chars", "tools/call", "\xe4\xb8\x96", "tools/call", "name", "{\"name\":\"世\"}",
     "Mcp-Name: "},
    {"Mcp-Name not looked at", "ping", "junk", "ping", NULL, "{\"name\":\"add\"}", NULL},
    {"no string", "tools/call", "8", "tools/call", "name", "{\"name\":7}",
     "Mcp-Name header says '8'"},
    {"no string, the same: left to the method", "tools/call", " 7", "tools/call", "name",
     "{\"name\":7}", NULL},
    {"absent", "tools/call", "x", "tools/call", "name", "{}", "params.name is no string"},
    {"no string: left to the method", "tools/call", NULL, "tools/call", "name", "{\"name\":7}",
     NULL},
    {"absent: left to the method", "tools/call", NULL, "tools/call", "name", "{}", NULL},
    {"no params: left to the method", "tools/call", NULL, "tools/call", "name", NULL, NULL},
    {"array: left to the method", "tools/call", NULL, "tools/call", "name", "[\"name\"]", NULL},
};

TEST(mirror_headers_equal_the_body, "")
{
    struct owl_arena *a = owl_arena_new(0);
    for (size_t i = 0; i < OWL_COUNT(mirrors); i++) {
        owl_error err = {0};
        struct owl_mcp_mirror m = {owl_str_of(mirrors[i].header_method),
                                   owl_str_of(mirrors[i].header_name),
                                   owl_str_of(mirrors[i].method),
                                   mirrors[i].key,
                                   {NULL, 0}};
        if (mirrors[i].key)
            m.name = owl_span_get(owl_str_of(mirrors[i].params), mirrors[i].key);
        int rc = owl_mcp_headers_check(a, &m, &err);
        if (rc != (mirrors[i].says ? -OWL_EHEADER : 0))
            fail_msg("%s: %d %s", mirrors[i].row, rc, err.message);
        if (mirrors[i].says && !strstr(err.message, mirrors[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", mirrors[i].row, err.message,
                     mirrors[i].says);
    }
    owl_arena_free(a);
}

/* ---- Host and Origin (1.13) ------------------------------------------------------------------ */

static const struct {
    const char *host, *allowed;
    bool ok;
} hosts[] = {
    {"localhost", NULL, true},
    {"LocalHost:8080", NULL, true},
    {"127.0.0.1", NULL, true},
    {"127.0.0.1:1", NULL, true},
    {"[::1]", NULL, true},
    {"[::1]:65535", NULL, true},
    {" localhost ", NULL, true},
    {"evil.example.com", NULL, false},
    {"localhost.evil.com", NULL, false},
    {"127.0.0.1.evil.com", NULL, false},
    {"evil.com:127.0.0.1", NULL, false},
    {"localhost.", NULL, false},
    {"localhost.:80", NULL, false},
    {"localhost:", NULL, false},
    {"localhost:65536", NULL, false},
    {"localhost:80x", NULL, false},
    {"localhost:-1", NULL, false},
    {"localhost:80:80", NULL, false},
    {"user@localhost", NULL, false},
    {"localhost@evil.com", NULL, false},
    {"localhost/x", NULL, false},
    {"localhost\\x", NULL, false},
    {"local host", NULL, false},
    {"::1", NULL, false},
    {"[::1", NULL, false},
    {"[]", NULL, false},
    {"[::1]x", NULL, false},
    {"[localhost]", NULL, false},
    {"[::2]", NULL, false},
    {"127.0.0.2", NULL, false},
    {"", NULL, false},
    {":80", NULL, false},
    {"127.1", NULL, false},
    {"mcp.example.com", "a.example, MCP.example.com ", true},
    {"mcp.example.com:443", "mcp.example.com", true},
    {"mcp.example.com:443", "mcp.example.com:443", true},
    {"mcp.example.com:444", "mcp.example.com:443", false},
    {"mcp.example.com", "mcp.example.com:443", false},
    {"x.mcp.example.com", "mcp.example.com", false},
    {"[fe80::1]:80", "[fe80::1]", true},
    {"localhost", "a.example", true},
    {"evil.com", "a.example,,", false},
    {"", "a.example,,", false},
    {"anything.example", "*", true},
    {"anything.example", "a.example,*", true},
    {"x@anything.example", "*", false},
    {"anything.example.", "*", false},
    {"any thing", "*", false},
};

TEST(hosts_are_checked, "")
{
    for (size_t i = 0; i < OWL_COUNT(hosts); i++) {
        bool ok = owl_mcp_host_allowed(owl_str_of(hosts[i].host), owl_str_of(hosts[i].allowed));
        if (ok != hosts[i].ok)
            fail_msg("host '%s' of '%s': %d", hosts[i].host, hosts[i].allowed, ok);
    }
    assert_false(owl_mcp_host_allowed(absent, absent));
    assert_false(owl_mcp_host_allowed(absent, OWL_STR("*")));
    assert_false(owl_mcp_host_allowed(OWL_STR("localhost\0.evil.com"), absent));
    assert_false(owl_mcp_host_allowed(OWL_STR("a\0b"), OWL_STR("*")));
}

static const struct {
    const char *origin, *allowed;
    bool ok;
} origins[] = {
    {"http://localhost", NULL, true},
    {"https://localhost:3000", NULL, true},
    {"HTTP://127.0.0.1:80", NULL, true},
    {"http://[::1]:5", NULL, true},
    {"http://evil.example.com", NULL, false},
    {"http://localhost.evil.com", NULL, false},
    {"http://user@localhost", NULL, false},
    {"http://localhost/", NULL, false},
    {"http://localhost#x", NULL, false},
    {"ftp://localhost", NULL, false},
    {"file://", NULL, false},
    {"localhost", NULL, false},
    {"http:/localhost", NULL, false},
    {"http://", NULL, false},
    {"https://", "*", false},
    {"null", NULL, false},
    {"null", "*", false},
    {"", NULL, false},
    {"http://evil.com http://localhost", NULL, false},
    {"https://app.example", "app.example", true},
    {"https://app.example:1", "app.example:2", false},
    {"https://app.example", "*", true},
};

TEST(origins_are_checked, "")
{
    for (size_t i = 0; i < OWL_COUNT(origins); i++) {
        bool ok = owl_mcp_origin_allowed(owl_str_of(origins[i].origin),
                                         owl_str_of(origins[i].allowed));
        if (ok != origins[i].ok)
            fail_msg("origin '%s' of '%s': %d", origins[i].origin, origins[i].allowed, ok);
    }
    assert_true(owl_mcp_origin_allowed(absent, absent)); /* no browser */
}

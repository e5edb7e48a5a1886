/* Tests of mcp/classify.h: the rows of the era table (mcp-wire 4.3), by their numbers. */
#include "support/test.h"

#include "base/err.h"
#include "mcp/classify.h"

#define M "2026-07-28"
#define L "2025-11-25"
enum { LEGACY = OWL_REV_BIT(OWL_REV_2025_11_25), MODERN = OWL_REV_BIT(OWL_REV_2026_07_28) };
enum { NONE = OWL_SESSION_NONE, KNOWN = OWL_SESSION_KNOWN, UNKNOWN = OWL_SESSION_UNKNOWN };
enum { AT_L = OWL_REV_2025_11_25, AT_M = OWL_REV_2026_07_28 };

struct row {
    const char *row;
    const char *meta, *header; /* NULL: absent */
    int session;
    const char *method; /* NULL: a response; '~' in front: a notification */
    unsigned revs;      /* 0: all */
    int error, status;  /* 0: accepted … */
    int rev;            /* … at this revision */
    const char *says;   /* in the refusal */
};

static struct owl_mcp_class classify(bool http, const struct row *r)
{
    bool notification = r->method && r->method[0] == '~';
    struct owl_mcp_input in = {.http = http,
                               .method = owl_str_of(notification ? r->method + 1 : r->method),
                               .notification = notification,
                               .meta_version = owl_str_of(r->meta),
                               .header_version = owl_str_of(r->header),
                               .session = (enum owl_session_state)r->session,
                               .session_rev = OWL_REV_2025_11_25,
                               .revs = r->revs ? r->revs : OWL_REV_ALL};
    struct owl_mcp_class got;
    memset(&got, 0x5a, sizeof(got));
    owl_mcp_classify(&in, &got);
    return got;
}

static void check(bool http, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        struct owl_mcp_class got = classify(http, r);
        if (got.error != r->error ||
            (r->error && http && owl_err_info(got.error)->http_status != r->status))
            fail_msg("row %s: error %d, status %d: %s", r->row, got.error,
                     owl_err_info(got.error)->http_status, got.why);
        if (!r->error && ((int)got.rev != r->rev || got.era != owl_rev_era(got.rev)))
            fail_msg("row %s: revision %d, era %d", r->row, (int)got.rev, (int)got.era);
        if (r->error && !strstr(got.why, r->says))
            fail_msg("row %s: \"%s\" does not say \"%s\"", r->row, got.why, r->says);
        if (strlen(got.why) + 1 >= sizeof(got.why))
            fail_msg("row %s: cut: %s", r->row, got.why);
    }
}

static const struct row http_rows[] = {
    {"1", M, M, NONE, "tools/list", 0, 0, 0, AT_M, NULL},
    {"1 session ignored", M, M, KNOWN, "tools/list", 0, 0, 0, AT_M, NULL},
    {"1 session ignored", M, M, UNKNOWN, "tools/call", 0, 0, 0, AT_M, NULL},
    {"1 initialize", M, M, NONE, "initialize", 0, 0, 0, AT_M, NULL},
    {"1 ping", M, M, NONE, "ping", 0, 0, 0, AT_M, NULL},
    {"1 notification", M, M, NONE, "~notifications/cancelled", 0, 0, 0, AT_M, NULL},
    {"1 modern only", M, M, NONE, "tools/list", MODERN, 0, 0, AT_M, NULL},
    {"2 absent", M, NULL, NONE, "tools/list", 0, OWL_EHEADER, 400, 0, "header is missing"},
    {"2 absent initialize", M, NULL, NONE, "initialize", 0, OWL_EHEADER, 400, 0, M},
    {"2 differs", M, L, NONE, "tools/list", 0, OWL_EHEADER, 400, 0, "says '" L "'"},
    {"2 outranks 3", "v999.0.0", M, NONE, "server/discover", 0, OWL_EHEADER, 400, 0, "'v999.0.0'"},
    {"2 outranks 6", L, NULL, KNOWN, "tools/list", 0, OWL_EHEADER, 400, 0, "missing"},
    {"2 empty header", M, "", NONE, "tools/list", 0, OWL_EHEADER, 400, 0, "says ''"},
    {"2 notification may lack it", M, NULL, NONE, "~notifications/x", 0, 0, 0, AT_M, NULL},
    {"2 notification differs", M, L, NONE, "~notifications/x", 0, OWL_EHEADER, 400, 0, "equal"},
    {"3 unknown", "v999.0.0", "v999.0.0", NONE, "server/discover", 0, OWL_EVERSION, 400, 0,
     L ", " M},
    {"3 legacy", L, L, NONE, "tools/list", 0, OWL_EVERSION, 400, 0, "'" L "'"},
    {"3 legacy on a session", L, L, KNOWN, "tools/list", 0, OWL_EVERSION, 400, 0, M},
    {"3 legacy initialize", L, L, NONE, "initialize", 0, OWL_EVERSION, 400, 0, M},
    {"3 empty", "", "", NONE, "tools/list", 0, OWL_EVERSION, 400, 0, "''"},
    {"3 legacy only", M, M, NONE, "tools/list", LEGACY, OWL_EREQUEST, 400, 0, "supported are " L},
    {"3 legacy only, no header", M, NULL, NONE, "tools/list", LEGACY, OWL_EREQUEST, 400, 0,
     "initialize first"},
    {"3 legacy only, a session", M, L, KNOWN, "tools/list", LEGACY, 0, 0, AT_L, NULL},
    {"4", NULL, NULL, NONE, "initialize", 0, 0, 0, AT_L, NULL},
    {"4 legacy header", NULL, L, NONE, "initialize", 0, 0, 0, AT_L, NULL},
    {"4 older header", NULL, "2025-06-18", NONE, "initialize", 0, 0, 0, AT_L, NULL},
    {"4 modern header", NULL, M, NONE, "initialize", 0, 0, 0, AT_L, NULL},
    {"4 unknown header", NULL, "x", NONE, "initialize", 0, 0, 0, AT_L, NULL},
    {"4 unknown session", NULL, NULL, UNKNOWN, "initialize", 0, 0, 0, AT_L, NULL},
    {"4 modern only", NULL, NULL, NONE, "initialize", MODERN, OWL_EVERSION, 400, 0, M},
    {"4 modern only", NULL, L, NONE, "initialize", MODERN, OWL_EVERSION, 400, 0, "no initialize"},
    {"5", NULL, M, NONE, "tools/list", 0, OWL_EPARAMS, 400, 0, "protocolVersion"},
    {"5 on a session", NULL, M, KNOWN, "tools/list", 0, OWL_EPARAMS, 400, 0, M},
    {"5 ping", NULL, M, NONE, "ping", 0, OWL_EPARAMS, 400, 0, "_meta"},
    {"5 notification needs no _meta", NULL, M, NONE, "~notifications/x", 0, 0, 0, AT_M, NULL},
    {"5 response", NULL, M, NONE, NULL, 0, OWL_EREQUEST, 400, 0, "one at a time"},
    {"5 legacy only", NULL, M, NONE, "tools/list", LEGACY, OWL_EREQUEST, 400, 0, L},
    {"6 header", NULL, L, KNOWN, "tools/list", 0, 0, 0, AT_L, NULL},
    {"6 no header", NULL, NULL, KNOWN, "tools/list", 0, 0, 0, AT_L, NULL},
    {"6 notification", NULL, L, KNOWN, "~notifications/initialized", 0, 0, 0, AT_L, NULL},
    {"6 response", NULL, NULL, KNOWN, NULL, 0, 0, 0, AT_L, NULL},
    {"6 legacy only", NULL, L, KNOWN, "ping", LEGACY, 0, 0, AT_L, NULL},
    {"6 older", NULL, "2025-06-18", KNOWN, "ping", 0, 0, 0, AT_L, NULL},
    {"6 the oldest", NULL, "1.0", KNOWN, "ping", 0, 0, 0, AT_L, NULL},
    {"6 older, not served", NULL, "2025-06-18", KNOWN, "ping", LEGACY, OWL_EREQUEST, 400, 0,
     "'2025-06-18'"},
    {"7 header", NULL, L, UNKNOWN, "tools/list", 0, OWL_ENOTFOUND, 404, 0, "initialize"},
    {"7 no header", NULL, NULL, UNKNOWN, "tools/list", 0, OWL_ENOTFOUND, 404, 0, "ended"},
    {"7 response", NULL, NULL, UNKNOWN, NULL, 0, OWL_ENOTFOUND, 404, 0, "session"},
    {"7 notification", NULL, L, UNKNOWN, "~notifications/x", 0, OWL_ENOTFOUND, 404, 0, "session"},
    {"8", NULL, L, NONE, "tools/list", 0, OWL_EREQUEST, 400, 0, "Mcp-Session-Id"},
    {"8 ping", NULL, L, NONE, "ping", 0, OWL_EREQUEST, 400, 0, "initialize first"},
    {"8 notification", NULL, L, NONE, "~notifications/x", 0, OWL_EREQUEST, 400, 0,
     "Mcp-Session-Id"},
    {"8 response", NULL, L, NONE, NULL, 0, OWL_EREQUEST, 400, 0, "Mcp-Session-Id"},
    {"9", NULL, NULL, NONE, "tools/list", 0, OWL_EHEADER, 400, 0, "send initialize first, or"},
    {"9 names the modern way", NULL, NULL, NONE, "tools/list", 0, OWL_EHEADER, 400, 0, M},
    {"9 modern only", NULL, NULL, NONE, "ping", MODERN, OWL_EHEADER, 400, 0,
     "send the MCP-Protocol"},
    {"9 modern only, session", NULL, NULL, KNOWN, "ping", MODERN, OWL_EHEADER, 400, 0, M},
    {"9 legacy only", NULL, NULL, NONE, "tools/list", LEGACY, OWL_EREQUEST, 400, 0, "initialize"},
    {"9 initialize as a notification", NULL, NULL, NONE, "~initialize", 0, OWL_EHEADER, 400, 0, M},
    {"10 none", NULL, "v999", NONE, "tools/list", 0, OWL_EVERSION, 400, 0, "'v999'"},
    {"10 known", NULL, "v999", KNOWN, "tools/list", 0, OWL_EVERSION, 400, 0, L ", " M},
    {"10 unknown", NULL, "v999", UNKNOWN, "tools/list", 0, OWL_EVERSION, 400, 0, "v999"},
    {"10 empty", NULL, "", KNOWN, "tools/list", 0, OWL_EVERSION, 400, 0, "''"},
    {"10 legacy at modern only", NULL, L, KNOWN, "tools/list", MODERN, OWL_EVERSION, 400, 0, M},
};

TEST(http_rows_1_to_10, "")
{
    check(true, http_rows, OWL_COUNT(http_rows));
}

static const struct row stdio_rows[] = {
    {"modern", M, NULL, NONE, "tools/list", 0, 0, 0, AT_M, NULL},
    {"modern initialize", M, NULL, NONE, "initialize", 0, 0, 0, AT_M, NULL},
    {"modern beside a session", M, NULL, KNOWN, "tools/list", 0, 0, 0, AT_M, NULL},
    {"modern unknown", "1900-01-01", NULL, NONE, "tools/list", 0, OWL_EVERSION, 0, 0,
     "'1900-01-01'"},
    {"modern shape, legacy version", L, NULL, KNOWN, "ping", 0, OWL_EVERSION, 0, 0, M},
    {"modern at legacy only", M, NULL, NONE, "tools/list", LEGACY, OWL_EPARAMS, 0, 0, L},
    {"initialize", NULL, NULL, NONE, "initialize", 0, 0, 0, AT_L, NULL},
    {"initialize again", NULL, NULL, KNOWN, "initialize", 0, 0, 0, AT_L, NULL},
    {"ping", NULL, NULL, NONE, "ping", 0, 0, 0, AT_L, NULL},
    {"initialized", NULL, NULL, KNOWN, "tools/list", 0, 0, 0, AT_L, NULL},
    {"initialized response", NULL, NULL, KNOWN, NULL, 0, 0, 0, AT_L, NULL},
    {"initialized notification", NULL, NULL, KNOWN, "~notifications/x", 0, 0, 0, AT_L, NULL},
    {"initialize at modern only", NULL, NULL, NONE, "initialize", MODERN, OWL_EVERSION, 0, 0, M},
    {"ping at modern only", NULL, NULL, NONE, "ping", MODERN, OWL_EPARAMS, 0, 0, "_meta"},
    {"neither", NULL, NULL, NONE, "tools/list", 0, OWL_EPARAMS, 0, 0,
     "initialize first, or send params"},
    {"neither names versions", NULL, NULL, NONE, "tools/list", 0, OWL_EPARAMS, 0, 0, L ", " M},
    {"neither at legacy only", NULL, NULL, NONE, "x", LEGACY, OWL_EPARAMS, 0, 0,
     "send initialize first; "},
    {"neither at modern only", NULL, NULL, NONE, "x", MODERN, OWL_EPARAMS, 0, 0, "are " M},
    {"cancelled", NULL, NULL, NONE, "~notifications/cancelled", 0, 0, 0, AT_M, NULL},
    {"early notification", NULL, NULL, NONE, "~x", LEGACY, OWL_EREQUEST, 0, 0, "notification"},
    {"early response", NULL, NULL, NONE, NULL, 0, OWL_EREQUEST, 0, 0, "response"},
};

TEST(stdio_cases, "")
{
    check(false, stdio_rows, OWL_COUNT(stdio_rows));
}

TEST(a_header_that_says_two_things_is_refused, "")
{
    struct owl_mcp_class got;
    struct owl_mcp_input in = {.http = true,
                               .method = OWL_STR("ping"),
                               .header_twice = OWL_STR("Mcp-Name"),
                               .session = OWL_SESSION_KNOWN,
                               .session_rev = OWL_REV_2025_11_25,
                               .revs = OWL_REV_ALL};
    owl_mcp_classify(&in, &got);
    assert_int_equal(got.error, OWL_EREQUEST);
    assert_int_equal(owl_err_info(got.error)->http_status, 400);
    assert_non_null(strstr(got.why, "Mcp-Name"));
    in.meta_version = in.header_version = owl_str_of(M);
    owl_mcp_classify(&in, &got);
    assert_int_equal(got.error, OWL_EHEADER);
    in.revs = LEGACY;
    owl_mcp_classify(&in, &got);
    assert_int_equal(got.error, OWL_EREQUEST);
}

TEST(a_header_of_sessions_that_says_two_things_is_refused_only_there, "mcp:T9")
{
    struct owl_mcp_class got;
    struct owl_mcp_input in = {.http = true,
                               .method = OWL_STR("ping"),
                               .legacy_twice = OWL_STR("Mcp-Session-Id"),
                               .session = OWL_SESSION_KNOWN,
                               .session_rev = OWL_REV_2025_11_25,
                               .revs = OWL_REV_ALL};
    owl_mcp_classify(&in, &got);
    assert_int_equal(got.error, OWL_EREQUEST);
    in.session = OWL_SESSION_UNKNOWN;
    owl_mcp_classify(&in, &got);
    assert_int_equal(got.error, OWL_EREQUEST);
    assert_int_equal(owl_err_info(got.error)->http_status, 400);
    assert_non_null(strstr(got.why, "Mcp-Session-Id"));
    in.meta_version = in.header_version = owl_str_of(M);
    owl_mcp_classify(&in, &got);
    assert_int_equal(got.error, 0);
    in.revs = LEGACY;
    owl_mcp_classify(&in, &got);
    assert_int_equal(got.era, OWL_ERA_MODERN); /* its header is not served */
    in.header_version = (owl_str){NULL, 0};
    owl_mcp_classify(&in, &got);
    assert_int_equal(got.error, OWL_EREQUEST);
    assert_non_null(strstr(got.why, "Mcp-Session-Id"));
}

TEST(refusals_name_the_era_in_whose_words_they_are_written, "")
{
    struct row modern[] = {{"2", M, NULL, NONE, "x", 0, 0, 0, 0, NULL},
                           {"3", L, L, NONE, "x", 0, 0, 0, 0, NULL},
                           {"5", NULL, M, NONE, "x", 0, 0, 0, 0, NULL},
                           {"9", NULL, NULL, NONE, "x", 0, 0, 0, 0, NULL},
                           {"10", NULL, "?", NONE, "x", 0, 0, 0, 0, NULL}};
    struct row legacy[] = {{"7", NULL, L, UNKNOWN, "x", 0, 0, 0, 0, NULL},
                           {"8", NULL, L, NONE, "x", 0, 0, 0, 0, NULL}};
    for (size_t i = 0; i < OWL_COUNT(modern); i++)
        assert_int_equal(classify(true, &modern[i]).era, OWL_ERA_MODERN);
    for (size_t i = 0; i < OWL_COUNT(legacy); i++)
        assert_int_equal(classify(true, &legacy[i]).era, OWL_ERA_LEGACY);
}

TEST(what_is_quoted_is_printable_and_short, "")
{
    char junk[300];
    memset(junk, '\n', sizeof(junk) - 1);
    junk[sizeof(junk) - 1] = 0;
    struct row r = {"10", junk, "\x1b[2J\xff", NONE, "x", 0, 0, 0, 0, NULL};
    struct owl_mcp_class got = classify(true, &r);
    assert_int_equal(got.error, OWL_EHEADER);
    for (const char *p = got.why; *p; p++)
        assert_true(*p >= ' ' && *p <= '~');
    assert_non_null(strstr(got.why, "..."));
    assert_non_null(strstr(got.why, "they must be equal"));
}

/* mcp-wire 1.9, version negotiation; 4.3: `initialize` asking for a modern revision. */
TEST(initialize_negotiates_a_legacy_revision, "")
{
    assert_int_equal(owl_mcp_negotiate(OWL_REV_ALL, OWL_STR(L)), AT_L);
    assert_int_equal(owl_mcp_negotiate(OWL_REV_ALL, OWL_STR(M)), AT_L);
    assert_int_equal(owl_mcp_negotiate(OWL_REV_ALL, OWL_STR("9999-01-01")), AT_L);
    assert_int_equal(owl_mcp_negotiate(OWL_REV_ALL, OWL_STR("2025-06-18")), OWL_REV_2025_06_18);
    assert_int_equal(owl_mcp_negotiate(OWL_REV_ALL, OWL_STR("2025-03-26")), OWL_REV_2025_03_26);
    assert_int_equal(owl_mcp_negotiate(OWL_REV_ALL, OWL_STR("2024-11-05")), OWL_REV_2024_11_05);
    assert_int_equal(owl_mcp_negotiate(OWL_REV_ALL, OWL_STR("1.0")), OWL_REV_2024_11_05);
    assert_int_equal(owl_mcp_negotiate(LEGACY, OWL_STR("1.0")), AT_L);
    assert_int_equal(owl_mcp_negotiate(LEGACY, (owl_str){NULL, 0}), AT_L);
}

/* mcp-wire 1.8, "required _meta field missing". */
TEST(modern_requests_must_declare_their_capabilities, "")
{
    struct owl_mcp_meta m = {.protocol_version = OWL_STR(M), .client_caps = OWL_STR("{}")};
    owl_error err = {0};
    assert_int_equal(owl_mcp_modern_check(&m, &err), 0); /* clientInfo is optional */
    m.client_caps = (owl_str){NULL, 0};
    assert_int_equal(owl_mcp_modern_check(&m, &err), -OWL_EPARAMS);
    assert_non_null(strstr(err.message, "io.modelcontextprotocol/clientCapabilities"));
    m.protocol_version = (owl_str){NULL, 0};
    assert_int_equal(owl_mcp_modern_check(&m, &err), -OWL_EPARAMS);
    assert_non_null(strstr(err.message, "io.modelcontextprotocol/protocolVersion"));
}

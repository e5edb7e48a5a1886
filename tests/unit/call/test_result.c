/* The builders of owlclaw/handler.h, in every kind of handler, without a server around them. */
#include "base/alloc.h"
#include "call/call.h"
#include "support/test.h"

static void make(owl_call *c, enum owl_result_form form, enum owl_rev rev, size_t max)
{
    memset(c, 0, sizeof *c);
    c->arena = owl_arena_new(0);
    assert_non_null(c->arena);
    c->req.codec = owl_mcp_codec_of(rev, OWL_ERRORS_AUTO);
    c->req.rev = rev;
    owl_result_init(&c->result, form, c->arena, max);
    c->result.uri = OWL_STR("test://x");
    c->result.mime_type = OWL_STR("text/plain");
}

static void make_form(owl_call *c, enum owl_result_form form)
{
    make(c, form, OWL_REV_2026_07_28, 1 << 20);
}

/* Closes the result, compares its members with @p want, and lets go. */
static void closes_as(owl_call *c, const char *want)
{
    owl_str got = {NULL, 0};
    assert_int_equal(owl_result_members(&c->result, c->req.rev, c->arena, &got), 0);
    if (!owl_str_is(got, want))
        fail_msg("%.*s\nis not\n%s", (int)got.n, got.p, want);
    owl_arena_free(c->arena);
}

static void closes_with(owl_call *c, int rc)
{
    owl_str got = {NULL, 0};
    assert_int_equal(owl_result_close(&c->result, &got), rc);
    assert_null(got.p);
    owl_arena_free(c->arena);
}

/* ---- what each builder writes ---- */

TEST(a_tool_gets_content_blocks, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_TOOL);
    assert_int_equal(owl_result_text(&c, "a\"b"), 0);
    assert_int_equal(owl_result_textf(&c, "%d%s", 7, "x"), 0);
    assert_int_equal(owl_result_textn(&c, "abcdef", 3), 0);
    assert_int_equal(owl_result_textn(&c, "nts", OWL_NTS), 0);
    assert_int_equal(owl_result_image(&c, "\x01\x02\x03", 3, "image/png"), 0);
    assert_int_equal(owl_result_audio(&c, NULL, 0, "audio/wav"), 0);
    assert_int_equal(owl_result_resource(&c, "u:1", NULL, "t"), 0);
    assert_int_equal(owl_result_blob(&c, "u:2", "a/b", "\xff", 1), 0);
    assert_int_equal(owl_result_blob(&c, "u:3", NULL, NULL, 0), 0);
    assert_int_equal(owl_result_link(&c, "u:4", "n", NULL, NULL), 0);
    assert_int_equal(owl_result_link(&c, "u:5", "n", "a/b", "d"), 0);
    assert_int_equal(owl_result_block(&c, " { \"type\" : \"new\" } ", OWL_NTS), 0);
    closes_as(&c, "\"content\":[{\"type\":\"text\",\"text\":\"a\\\"b\"},"
                  "{\"type\":\"text\",\"text\":\"7x\"},{\"type\":\"text\",\"text\":\"abc\"},"
                  "{\"type\":\"text\",\"text\":\"nts\"},"
                  "{\"type\":\"image\",\"data\":\"AQID\",\"mimeType\":\"image/png\"},"
                  "{\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"audio/wav\"},"
                  "{\"type\":\"resource\",\"resource\":{\"uri\":\"u:1\",\"text\":\"t\"}},"
                  "{\"type\":\"resource\",\"resource\":{\"uri\":\"u:2\",\"mimeType\":\"a/b\","
                  "\"blob\":\"/w==\"}},"
                  "{\"type\":\"resource\",\"resource\":{\"uri\":\"u:3\",\"blob\":\"\"}},"
                  "{\"type\":\"resource_link\",\"uri\":\"u:4\",\"name\":\"n\"},"
                  "{\"type\":\"resource_link\",\"uri\":\"u:5\",\"name\":\"n\",\"mimeType\":\"a/b\","
                  "\"description\":\"d\"},{\"type\":\"new\"}]");
}

TEST(a_tool_without_content_has_an_empty_list, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_TOOL);
    closes_as(&c, "\"content\":[]");
}

TEST(a_prompt_gets_messages_with_the_current_role, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_PROMPT);
    assert_int_equal(owl_result_text(&c, "q"), 0);
    assert_int_equal(owl_result_role(&c, "assistant"), 0);
    assert_int_equal(owl_result_image(&c, "a", 1, "i/p"), 0);
    assert_int_equal(owl_result_link(&c, "u:1", "n", NULL, NULL), 0);
    assert_int_equal(owl_result_role(&c, "user"), 0);
    assert_int_equal(owl_result_resource(&c, "u:1", "a/b", "t"), 0);
    closes_as(&c,
              "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"q\"}},"
              "{\"role\":\"assistant\",\"content\":{\"type\":\"image\",\"data\":\"YQ==\","
              "\"mimeType\":\"i/p\"}},"
              "{\"role\":\"assistant\",\"content\":{\"type\":\"resource_link\",\"uri\":\"u:1\","
              "\"name\":\"n\"}},"
              "{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":\"u:1\","
              "\"mimeType\":\"a/b\",\"text\":\"t\"}}}]");
}

TEST(a_resource_gets_contents_of_its_uri, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_RESOURCE);
    assert_int_equal(owl_result_text(&c, "t"), 0);
    assert_int_equal(owl_result_bytes(&c, "a", 1, NULL), 0);
    assert_int_equal(owl_result_bytes(&c, NULL, 0, "a/b"), 0);
    assert_int_equal(owl_result_resource(&c, "u:1", NULL, "other"), 0);
    assert_int_equal(owl_result_blob(&c, "u:2", "a/b", "a", 1), 0);
    closes_as(&c, "\"contents\":[{\"uri\":\"test://x\",\"mimeType\":\"text/plain\",\"text\":\"t\"},"
                  "{\"uri\":\"test://x\",\"mimeType\":\"text/plain\",\"blob\":\"YQ==\"},"
                  "{\"uri\":\"test://x\",\"mimeType\":\"a/b\",\"blob\":\"\"},"
                  "{\"uri\":\"u:1\",\"text\":\"other\"},"
                  "{\"uri\":\"u:2\",\"mimeType\":\"a/b\",\"blob\":\"YQ==\"}]");
}

TEST(a_completion_sends_a_hundred_values_and_counts_the_rest, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_COMPLETION);
    for (int i = 0; i < 150; i++)
        assert_int_equal(owl_result_completion(&c, "v"), 0);
    owl_str got;
    assert_int_equal(owl_result_close(&c.result, &got), 0);
    char *text = calloc(1, got.n + 1);
    assert_non_null(text);
    memcpy(text, got.p, got.n);
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, "\"v\"")); p++)
        n++;
    assert_int_equal(n, 100);
    assert_non_null(strstr(text, "],\"total\":150,\"hasMore\":true}"));
    free(text);
    owl_arena_free(c.arena);

    make_form(&c, OWL_RESULT_COMPLETION);
    assert_int_equal(owl_result_completion(&c, "a"), 0);
    assert_int_equal(owl_result_completion(&c, "b"), 0);
    closes_as(&c, "\"completion\":{\"values\":[\"a\",\"b\"],\"total\":2,\"hasMore\":false}");
}

TEST(structured_content_is_also_text_when_there_is_no_content, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_TOOL);
    assert_int_equal(owl_result_structured(&c, "{ \"a\" : 1 }", OWL_NTS), 0);
    closes_as(&c, "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}],"
                  "\"structuredContent\":{\"a\":1}");
    make_form(&c, OWL_RESULT_TOOL);
    assert_int_equal(owl_result_text(&c, "t"), 0);
    assert_int_equal(owl_result_structured(&c, "[1,2] and more", 5), 0);
    closes_as(&c, "\"content\":[{\"type\":\"text\",\"text\":\"t\"}],\"structuredContent\":[1,2]");
}

TEST(legacy_clients_get_structured_objects_only, "")
{
    owl_call c;
    make(&c, OWL_RESULT_TOOL, OWL_REV_2025_11_25, 1 << 20);
    assert_int_equal(owl_result_structured(&c, "[1]", OWL_NTS), 0);
    closes_as(&c, "\"content\":[{\"type\":\"text\",\"text\":\"[1]\"}]");
}

TEST(old_clients_get_text_for_what_they_do_not_know, "")
{
    owl_call c;
    make(&c, OWL_RESULT_TOOL, OWL_REV_2024_11_05, 1 << 20);
    assert_int_equal(owl_result_audio(&c, "abc", 3, "audio/wav"), 0);
    assert_int_equal(owl_result_link(&c, "u:1", "n", "a/b", "d"), 0);
    assert_int_equal(owl_result_link(&c, "u:2", "m", NULL, NULL), 0);
    closes_as(&c,
              "\"content\":[{\"type\":\"text\",\"text\":\"(3 bytes of audio/wav, which this client "
              "cannot take)\"},{\"type\":\"text\",\"text\":\"n: u:1\\nd\"},"
              "{\"type\":\"text\",\"text\":\"m: u:2\"}]");
    make(&c, OWL_RESULT_TOOL, OWL_REV_2024_11_05, 1 << 20);
    assert_int_equal(owl_result_structured(&c, "{\"a\":1}", OWL_NTS), 0);
    closes_as(&c, "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}]");

    make(&c, OWL_RESULT_TOOL, OWL_REV_2024_11_05, 1 << 20);
    c.req.rev = OWL_REV_2025_03_26; /* knows audio */
    assert_int_equal(owl_result_audio(&c, "", 0, "audio/wav"), 0);
    closes_as(&c, "\"content\":[{\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"audio/wav\"}]");
    make(&c, OWL_RESULT_TOOL, OWL_REV_2024_11_05, 1 << 20);
    c.req.rev = OWL_REV_2025_06_18; /* knows all of them */
    assert_int_equal(owl_result_link(&c, "u:2", "m", NULL, NULL), 0);
    assert_int_equal(owl_result_structured(&c, "{}", OWL_NTS), 0);
    closes_as(&c, "\"content\":[{\"type\":\"resource_link\",\"uri\":\"u:2\",\"name\":\"m\"}],"
                  "\"structuredContent\":{}");
}

TEST(structured_content_is_given_once, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_TOOL);
    assert_int_equal(owl_result_structured(&c, "{}", OWL_NTS), 0);
    assert_int_equal(owl_result_structured(&c, "{}", OWL_NTS), -OWL_ESTATE);
    closes_with(&c, -OWL_ESTATE);
}

TEST(a_key_of_meta_is_given_once, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_TOOL);
    assert_int_equal(owl_result_meta(&c, "a", "1", OWL_NTS), 0);
    assert_int_equal(owl_result_meta(&c, "b", "1", OWL_NTS), 0);
    assert_int_equal(owl_result_meta(&c, "a", "2", OWL_NTS), -OWL_EEXISTS);
    closes_with(&c, -OWL_EEXISTS);
    make_form(&c, OWL_RESULT_TOOL);
    assert_int_equal(owl_result_meta(&c, "io.modelcontextprotocol/serverInfo", "{}", OWL_NTS),
                     -OWL_EEXISTS);
    closes_with(&c, -OWL_EEXISTS);
}

TEST(raw_replaces_all_and_its_meta_is_merged, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_TOOL);
    assert_int_equal(owl_result_text(&c, "gone"), 0);
    assert_int_equal(owl_result_meta(&c, "gone", "1", OWL_NTS), 0);
    assert_int_equal(owl_result_raw(&c,
                                    " {\"a\": [1, 2], \"resultType\":\"odd\", \"_meta\": "
                                    "{\"k\": 1, \"l\": {}}, \"b\": null} ",
                                    OWL_NTS),
                     0);
    assert_int_equal(owl_result_meta(&c, "m", " true", OWL_NTS), 0);
    owl_str meta = owl_buf_str(&c.result.meta);
    assert_true(owl_str_is(meta, "\"k\":1,\"l\":{},\"m\":true"));
    closes_as(&c, "\"a\":[1,2],\"b\":null");
}

TEST(text_that_is_not_utf8_is_replaced, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_TOOL);
    assert_int_equal(owl_result_text(&c, "a\xff"
                                         "b"),
                     0);
    assert_int_equal(owl_result_link(&c, "u:\xfe", "\xc3", NULL, NULL), 0);
    closes_as(&c,
              "\"content\":[{\"type\":\"text\",\"text\":\"a\xef\xbf\xbd"
              "b\"},"
              "{\"type\":\"resource_link\",\"uri\":\"u:\xef\xbf\xbd\",\"name\":\"\xef\xbf\xbd\"}]");
    make_form(&c, OWL_RESULT_COMPLETION);
    assert_int_equal(owl_result_completion(&c, "\x80"), 0);
    closes_as(&c, "\"completion\":{\"values\":[\"\xef\xbf\xbd\"],\"total\":1,\"hasMore\":false}");
}

/* ---- what each builder refuses ---- */

enum builder {
    TEXT,
    TEXTF,
    IMAGE,
    AUDIO,
    BYTES,
    RESOURCE,
    BLOB,
    LINK,
    BLOCK,
    STRUCTURED,
    COMPLETION,
    ROLE,
    BUILDERS
};

static int build(owl_call *c, enum builder b)
{
    switch (b) {
    case TEXT: return owl_result_text(c, "t");
    case TEXTF: return owl_result_textf(c, "%s", "t");
    case IMAGE: return owl_result_image(c, "a", 1, "i/p");
    case AUDIO: return owl_result_audio(c, "a", 1, "a/w");
    case BYTES: return owl_result_bytes(c, "a", 1, "a/b");
    case RESOURCE: return owl_result_resource(c, "u:1", NULL, "t");
    case BLOB: return owl_result_blob(c, "u:1", NULL, "a", 1);
    case LINK: return owl_result_link(c, "u:1", "n", NULL, NULL);
    case BLOCK: return owl_result_block(c, "{\"type\":\"x\"}", OWL_NTS);
    case STRUCTURED: return owl_result_structured(c, "{}", OWL_NTS);
    case COMPLETION: return owl_result_completion(c, "v");
    case ROLE: return owl_result_role(c, "user");
    case BUILDERS: break;
    }
    return -1;
}

TEST(each_kind_of_handler_has_its_builders_and_no_others, "")
{
    enum {
        T = 1 << OWL_RESULT_TOOL,
        P = 1 << OWL_RESULT_PROMPT,
        R = 1 << OWL_RESULT_RESOURCE,
        C = 1 << OWL_RESULT_COMPLETION
    };
    static const int allowed[BUILDERS] = {
        [TEXT] = T | P | R,  [TEXTF] = T | P | R,    [IMAGE] = T | P,    [AUDIO] = T | P,
        [BYTES] = R,         [RESOURCE] = T | P | R, [BLOB] = T | P | R, [LINK] = T | P,
        [BLOCK] = T | P | R, [STRUCTURED] = T,       [COMPLETION] = C,   [ROLE] = P,
    };
    for (int form = OWL_RESULT_TOOL; form <= OWL_RESULT_RAW; form++) {
        for (int b = 0; b < BUILDERS; b++) {
            owl_call c;
            make_form(&c, (enum owl_result_form)form);
            int want = allowed[b] & (1 << form) ? 0 : -OWL_ESTATE;
            if (build(&c, (enum builder)b) != want)
                fail_msg("builder %d in form %d", b, form);
            owl_str got;
            assert_int_equal(owl_result_close(&c.result, &got), want);
            owl_arena_free(c.arena);
        }
    }
}

#define REFUSED(kind, error, expr) \
    do { \
        owl_call c; \
        make_form(&c, kind); \
        assert_int_equal(expr, error); \
        assert_int_equal(c.result.rc, error); \
        closes_with(&c, error); \
    } while (0)

TEST(required_arguments_must_not_be_null, "")
{
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_text(&c, NULL));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_textn(&c, NULL, 3));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_image(&c, NULL, 1, "i/p"));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_image(&c, "a", 1, NULL));
    REFUSED(OWL_RESULT_PROMPT, -OWL_EINVAL, owl_result_audio(&c, "a", 1, NULL));
    REFUSED(OWL_RESULT_RESOURCE, -OWL_EINVAL, owl_result_bytes(&c, NULL, 1, NULL));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_resource(&c, NULL, NULL, "t"));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_resource(&c, "u:1", NULL, NULL));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_blob(&c, "u:1", NULL, NULL, 1));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_link(&c, NULL, "n", NULL, NULL));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_link(&c, "u:1", NULL, NULL, NULL));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_block(&c, NULL, 0));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_structured(&c, NULL, OWL_NTS));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_meta(&c, NULL, "1", OWL_NTS));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_meta(&c, "no key", "1", OWL_NTS));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_meta(&c, "k", NULL, OWL_NTS));
    REFUSED(OWL_RESULT_RAW, -OWL_EINVAL, owl_result_raw(&c, NULL, OWL_NTS));
    REFUSED(OWL_RESULT_COMPLETION, -OWL_EINVAL, owl_result_completion(&c, NULL));
    REFUSED(OWL_RESULT_PROMPT, -OWL_EINVAL, owl_result_role(&c, NULL));
    REFUSED(OWL_RESULT_PROMPT, -OWL_EINVAL, owl_result_role(&c, "system"));
}

TEST(json_text_is_proved, "")
{
    REFUSED(OWL_RESULT_TOOL, -OWL_EPARSE, owl_result_block(&c, "{", OWL_NTS));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_block(&c, "[]", OWL_NTS));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_block(&c, "{}", OWL_NTS));
    REFUSED(OWL_RESULT_PROMPT, -OWL_EINVAL, owl_result_block(&c, "{\"type\":5}", OWL_NTS));
    REFUSED(OWL_RESULT_TOOL, -OWL_EINVAL, owl_result_image(&c, "a", OWL_NTS, "i/p"));
    REFUSED(OWL_RESULT_RESOURCE, -OWL_EINVAL, owl_result_bytes(&c, "a", OWL_NTS, "a/b"));
    REFUSED(OWL_RESULT_TOOL, -OWL_EPARSE, owl_result_structured(&c, "", OWL_NTS));
    REFUSED(OWL_RESULT_TOOL, -OWL_EPARSE, owl_result_structured(&c, "{\"a\":1,\"a\":2}", OWL_NTS));
    REFUSED(OWL_RESULT_TOOL, -OWL_EPARSE, owl_result_meta(&c, "k", "nope", OWL_NTS));
    REFUSED(OWL_RESULT_RAW, -OWL_EINVAL, owl_result_raw(&c, "3", OWL_NTS));
    REFUSED(OWL_RESULT_RAW, -OWL_EPARSE, owl_result_raw(&c, "{\"a\":\xff}", OWL_NTS));
}

TEST(the_first_error_is_kept_and_fails_the_call, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_TOOL);
    assert_int_equal(owl_result_completion(&c, "v"), -OWL_ESTATE);
    assert_int_equal(owl_result_text(&c, "t"), -OWL_ESTATE);
    assert_int_equal(owl_result_block(&c, "[", OWL_NTS), -OWL_ESTATE);
    owl_result_reset(&c.result);
    assert_int_equal(owl_result_text(&c, "t"), 0);
    closes_as(&c, "\"content\":[{\"type\":\"text\",\"text\":\"t\"}]");
}

TEST(a_handler_that_is_run_again_builds_what_it_could_build_before, "")
{
    owl_call c;
    make_form(&c, OWL_RESULT_TOOL);
    assert_int_equal(owl_result_raw(&c, "{\"draft\":1}", OWL_NTS), 0);
    owl_result_reset(&c.result);
    assert_int_equal(owl_result_text(&c, "t"), 0);
    closes_as(&c, "\"content\":[{\"type\":\"text\",\"text\":\"t\"}]");
}

/* ---- limits and memory ---- */

TEST(a_result_over_its_limit_is_an_error, "")
{
    char big[2000];
    memset(big, 'x', sizeof big);
    for (int b = 0; b < 4; b++) {
        owl_call c;
        make(&c, OWL_RESULT_TOOL, OWL_REV_2026_07_28, 1024);
        big[sizeof big - 1] = '\0';
        assert_int_equal(owl_result_text(&c, "fits"), 0);
        int rc = b == 0   ? owl_result_text(&c, big)
                 : b == 1 ? owl_result_image(&c, big, sizeof big, "i/p")
                 : b == 2 ? owl_result_textf(&c, "%s", big)
                          : owl_result_link(&c, big, big, NULL, NULL);
        assert_int_equal(rc, -OWL_ELIMIT);
        assert_int_equal(owl_result_text(&c, "more"), -OWL_ELIMIT);
        closes_with(&c, -OWL_ELIMIT);
    }
}

TEST(a_result_survives_running_out_of_memory, "")
{
    char big[9000];
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = '\0';
    bool done = false;
    for (unsigned long n = 1; n < 200 && !done; n++) {
        owl_call c;
        make_form(&c, OWL_RESULT_TOOL);
        owl_alloc_fail_at(n);
        int rc = 0;
        for (int i = 0; i < 4; i++) {
            rc = owl_result_textf(&c, "%s", big);
            rc = owl_result_image(&c, big, sizeof big, "i/p");
            char key[2] = {(char)('a' + i), 0};
            rc = owl_result_meta(&c, key, "[1]", OWL_NTS);
        }
        rc = owl_result_structured(&c, "{}", OWL_NTS);
        owl_alloc_fail_at(0);
        owl_str got;
        assert_int_equal(owl_result_close(&c.result, &got), rc);
        assert_true(rc == 0 || rc == -OWL_ENOMEM);
        done = rc == 0;
        owl_arena_free(c.arena);
    }
    assert_true(done);
}

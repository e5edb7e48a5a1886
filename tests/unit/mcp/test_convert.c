/* Unit tests of mcp/convert.c: results of the newest revision for clients of every one. */
#include "mcp/convert.h"

#include "support/test.h"

#define TEXT "{\"type\":\"text\",\"text\":\"a\"}"
#define AUDIO "{\"type\":\"audio\",\"data\":\"QUJDRA==\",\"mimeType\":\"audio/wav\"}"
#define LINK \
    "{\"type\":\"resource_link\",\"uri\":\"a://b\",\"name\":\"n\\\"\",\"description\":\"d\"}"
#define AUDIO_NOTE \
    "{\"type\":\"text\",\"text\":\"(4 bytes of audio/wav, which this client cannot take)\"}"
#define LINK_NOTE "{\"type\":\"text\",\"text\":\"n\\\": a://b\\nd\"}"

static void expect(enum owl_rev to, enum owl_mcp_form form, const char *object, const char *members)
{
    struct owl_buf b;
    owl_str meta;
    owl_buf_init(&b, 1 << 20);
    owl_mcp_convert(&b, to, form, owl_str_of(object), &meta);
    assert_int_equal(b.rc, 0);
    owl_buf_putc(&b, '\0');
    assert_string_equal(b.p, members);
    owl_buf_done(&b);
}

TEST(blocks_that_a_revision_does_not_have_become_text, "OR-5.3")
{
    const char *all = "{\"content\":[" TEXT "," AUDIO "," LINK "],\"isError\":false}";
    expect(OWL_REV_2024_11_05, OWL_FORM_TOOL, all,
           "\"content\":[" TEXT "," AUDIO_NOTE "," LINK_NOTE "],\"isError\":false");
    expect(OWL_REV_2025_03_26, OWL_FORM_TOOL, all,
           "\"content\":[" TEXT "," AUDIO "," LINK_NOTE "],\"isError\":false");
    for (int rev = OWL_REV_2025_06_18; rev < OWL_REV__MAX; rev++)
        expect((enum owl_rev)rev, OWL_FORM_TOOL, all,
               "\"content\":[" TEXT "," AUDIO "," LINK "],\"isError\":false");
}

TEST(messages_of_prompts_are_converted_too, "")
{
    const char *all = "{\"description\":\"x\",\"messages\":[{\"role\":\"user\",\"content\":" LINK
                      "},{\"content\":" TEXT ",\"role\":\"assistant\"}]}";
    expect(OWL_REV_2025_03_26, OWL_FORM_PROMPT, all,
           "\"description\":\"x\",\"messages\":[{\"role\":\"user\",\"content\":" LINK_NOTE
           "},{\"content\":" TEXT ",\"role\":\"assistant\"}]");
    expect(OWL_REV_2025_06_18, OWL_FORM_PROMPT, all,
           "\"description\":\"x\",\"messages\":[{\"role\":\"user\",\"content\":" LINK
           "},{\"content\":" TEXT ",\"role\":\"assistant\"}]");
    expect(OWL_REV_2024_11_05, OWL_FORM_OTHER, all,
           "\"description\":\"x\",\"messages\":[{\"role\":\"user\",\"content\":" LINK
           "},{\"content\":" TEXT ",\"role\":\"assistant\"}]");
}

TEST(structured_content_is_left_to_those_who_take_it, "")
{
    const char *object = "{\"content\":[" TEXT "],\"structuredContent\":{\"a\":1}}";
    const char *array = "{\"structuredContent\":[1],\"content\":[" TEXT "]}";
    expect(OWL_REV_2025_03_26, OWL_FORM_TOOL, object, "\"content\":[" TEXT "]");
    expect(OWL_REV_2025_06_18, OWL_FORM_TOOL, object,
           "\"content\":[" TEXT "],\"structuredContent\":{\"a\":1}");
    expect(OWL_REV_2025_11_25, OWL_FORM_TOOL, array, "\"content\":[" TEXT "]");
    expect(OWL_REV_2026_07_28, OWL_FORM_TOOL, array,
           "\"structuredContent\":[1],\"content\":[" TEXT "]");
}

TEST(structured_content_that_is_dropped_is_in_a_text, "")
{
    expect(OWL_REV_2025_11_25, OWL_FORM_TOOL, "{\"content\":[],\"structuredContent\":[\"b\"]}",
           "\"content\":[{\"type\":\"text\",\"text\":\"[\\\"b\\\"]\"}]");
    expect(OWL_REV_2025_03_26, OWL_FORM_TOOL,
           "{\"content\":[{\"type\":\"image\"}],\"structuredContent\":{}}",
           "\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"{}\"}]");
}

TEST(what_the_codec_writes_is_left_out, "")
{
    const char *all = "{\"resultType\":\"complete\",\"a\":1,\"ttlMs\":5,\"cacheScope\":\"public\","
                      "\"_meta\":{\"k\":2},\"\\u0072esultType\":3}";
    for (int rev = 0; rev < OWL_REV__MAX; rev++)
        expect((enum owl_rev)rev, OWL_FORM_OTHER, all, "\"a\":1");
    expect(OWL_REV_2026_07_28, OWL_FORM_OTHER, "{}", "");
}

TEST(a_result_is_one_line_however_it_came, "")
{
    expect(OWL_REV_2026_07_28, OWL_FORM_TOOL, "{\n \"content\": [\r\n" TEXT "\n] }",
           "\"content\":[" TEXT "]");
}

TEST(members_of_meta_travel_unless_they_belong_to_a_hop, "")
{
    const char *meta = "{\"a/b\":1,\"io.modelcontextprotocol/serverInfo\":{},\"owlclaw/cost\":2,"
                       "\"\\u006fwlclaw/cost\":3,\"io.modelcontextprotocol/related-task\":{}}";
    struct owl_buf b;
    owl_buf_init(&b, 1 << 20);
    owl_mcp_convert_meta(&b, owl_str_of(meta), false);
    assert_true(owl_str_is(owl_buf_str(&b), "\"a/b\":1"));
    owl_buf_reset(&b);
    owl_mcp_convert_meta(&b, owl_str_of(meta), true);
    assert_true(
        owl_str_is(owl_buf_str(&b), "\"a/b\":1,\"owlclaw/cost\":2,\"\\u006fwlclaw/cost\":3"));
    owl_buf_done(&b);
}

TEST(what_stands_where_a_string_belongs_is_not_repeated, "")
{
    expect(
        OWL_REV_2024_11_05, OWL_FORM_TOOL,
        "{\"content\":[{\"type\":\"resource_link\",\"name\":[\n{\"jsonrpc\":\"2.0\"}\n],\"uri\":5}"
        ",{\"type\":\"audio\",\"data\":\"==\",\"mimeType\":7}]}",
        "\"content\":[{\"type\":\"text\",\"text\":\": \"},{\"type\":\"text\",\"text\":"
        "\"(0 bytes of audio, which this client cannot take)\"}]");
}

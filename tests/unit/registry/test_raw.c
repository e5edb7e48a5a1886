/* What becomes of an entry of another server's list: what is kept, refused and compared. */
#include "unit/registry/fixture.h"

#include "base/alloc.h"
#include "codec/scan.h"

static const struct owl_item_options no_options = {0};

static struct owl_item *make(enum owl_kind kind, const char *entry,
                             const struct owl_item_options *o)
{
    owl_error e = {0};
    struct owl_item *it = NULL;
    if (owl_item_raw(kind, owl_str_of(entry), o ? o : &no_options, &it, &e))
        fail_msg("%s", e.message);
    assert_int_equal(owl_json_scan(it->json, 64, NULL), 0);
    return it;
}

static void refused(enum owl_kind kind, const char *entry, const struct owl_item_options *o,
                    const char *why)
{
    owl_error e = {0};
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_raw(kind, owl_str_of(entry), o ? o : &no_options, &it, &e),
                     -OWL_EINVAL);
    assert_null(it);
    if (!strstr(e.message, why))
        fail_msg("\"%s\" does not say \"%s\"", e.message, why);
}

TEST(entry_is_kept_with_what_we_do_not_know_and_gets_our_name, "")
{
    struct owl_item *it = make(
        OWL_KIND_TOOL,
        " { \"description\" : \"D\", \"x-new\" : [ 1, {\"a\" : 1.0e2} ], \"name\" : \"se/arch\",\n"
        "  \"inputSchema\":{\"type\":\"object\"}, \"k\\u0065y\":true,\"_meta\":{\"a/b\": 1} } ",
        &(struct owl_item_options){.key = OWL_STR("gh__se_arch")});
    assert_str(it->json,
               "{\"name\":\"gh__se_arch\",\"description\":\"D\",\"x-new\":[1,{\"a\":1.0e2}],"
               "\"inputSchema\":{\"type\":\"object\"},\"k\\u0065y\":true,"
               "\"_meta\":{\"a/b\":1}}");
    assert_str(it->key, "gh__se_arch");
    assert_str(it->origin, "se/arch");
    assert_true(owl_str_begins(it->raw, " { \"desc"));
    assert_non_null(it->input);
    assert_true(it->flags & OWL_FOREIGN);
    owl_item_aunref(it);
}

TEST(without_options_an_entry_keeps_its_name, "")
{
    struct owl_item *it = make(
        OWL_KIND_TOOL, "{\"n\\u0061me\":\"a\\u0062\",\"inputSchema\":{\"type\":\"object\"}}", NULL);
    assert_str(it->json, "{\"name\":\"ab\",\"inputSchema\":{\"type\":\"object\"}}");
    assert_str(it->key, "ab");
    assert_str(it->origin, "ab");
    assert_null(it->fallback.p);
    assert_null(it->registry_name.p);
    assert_null(it->provider);
    owl_item_aunref(it);
}

TEST(options_are_copied_and_the_provider_is_counted, "")
{
    struct test_provider gh;
    test_provider_init(&gh, "gh");
    int data;
    owl_str aliases[] = {OWL_STR("find"), OWL_STR("look for")};
    struct owl_item_options o = {.key = OWL_STR("gh__s"),
                                 .fallback = OWL_STR("gh__s_1234"),
                                 .registry_name = OWL_STR("gh:s"),
                                 .aliases = aliases,
                                 .n_aliases = 2,
                                 .provider = &gh.provider,
                                 .data = &data,
                                 .timeout_ms = 9};
    struct owl_item *it = make(OWL_KIND_TOOL, raw_tool("s", "d").z, &o);
    aliases[0] = aliases[1] = (owl_str){0};
    owl_provider_aunref(&gh.provider);
    assert_int_equal(gh.freed, 0);
    assert_str(it->fallback, "gh__s_1234");
    assert_str(it->fallback_json, "\"gh__s_1234\"");
    assert_str(it->registry_name, "gh:s");
    assert_str(it->aliases[1], "look for");
    assert_ptr_equal(it->provider, &gh.provider);
    assert_ptr_equal(it->data, &data);
    assert_int_equal(it->timeout_ms, 9);
    assert_str((owl_str){it->json.p + it->key_from, it->key_end - it->key_from}, "\"gh__s\"");
    owl_item_aunref(it);
    assert_int_equal(gh.freed, 1);
}

/* Servers that write null for "absent" are many; clients refuse such lists. */
TEST(known_members_that_are_null_are_left_out, "")
{
    struct owl_item *it = make(OWL_KIND_TOOL,
                               "{\"name\":\"a\",\"title\":null,\"description\":null,\"icons\":null,"
                               "\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":null,"
                               "\"annotations\":null,\"execution\":null,\"_meta\":null,\"x\":null}",
                               NULL);
    assert_str(it->json, "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"x\":null}");
    owl_item_aunref(it);
    refused(OWL_KIND_TOOL, "{\"name\":null}", NULL, "name: must be a string");
    refused(OWL_KIND_TOOL, "{\"name\":\"a\",\"inputSchema\":null}", NULL,
            "inputSchema: is missing");
}

TEST(tool_that_cannot_be_served_is_refused_with_the_reason, "")
{
#define WITH(members) "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"}," members "}"
    static const struct {
        const char *entry, *why;
    } rows[] = {
        {"", "tool: entry: "},
        {"[]", "tool: entry: must be a JSON object"},
        {"{\"name\":\"a\",", "tool: entry: byte "},
        {"{}", "tool: name: is missing"},
        {"{\"name\":5}", "tool: name: must be a string"},
        {"{\"name\":\"\"}", "name: must be 1 to"},
        {"{\"name\":\"a b\\n\"}", "tool \"a b\\n\": name: must be 1 to 128 of"},
        {"{\"name\":\"a\"}", "tool \"a\": inputSchema: is missing"},
        {"{\"name\":\"a\",\"inputSchema\":[]}", "inputSchema: must be an object"},
        {"{\"name\":\"a\",\"inputSchema\":{}}", "\"type\":\"object\""},
        {"{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"minProperties\":\"x\"}}",
         "tool \"a\": inputSchema: "},
        {"{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"$ref\":\"http://x/y\"}}",
         "http://x/y"},
        {"{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":"
         "\"array\",\"x-mcp-header\":\"P\"}}}}",
         "x-mcp-header of #/properties/p"},
        {WITH("\"title\":1"), "title: must be a string"},
        {WITH("\"description\":{}"), "description: must be a string"},
        {WITH("\"outputSchema\":true"), "outputSchema: must be an object"},
        {WITH("\"annotations\":\"x\""), "annotations: must be an object"},
        {WITH("\"icons\":[{}]"), "icons: element 0"},
        {WITH("\"_meta\":[]"), "_meta: must be an object"},
        {WITH("\"t\\u0069tle\":1"), "title: must be a string"},
        {WITH("\"x\":1,\"x\":2"), "entry: byte "},
    };
    for (size_t i = 0; i < OWL_COUNT(rows); i++)
        refused(OWL_KIND_TOOL, rows[i].entry, NULL, rows[i].why);
}

TEST(entry_over_4_mib_is_refused_though_most_of_it_is_white_space, "")
{
    enum { N = (4 << 20) + 1 };
    char *text = owl_malloc(N + 1);
    assert_non_null(text);
    struct raw_text t = raw_tool("a", "d");
    size_t n = strlen(t.z);
    memset(text, ' ', N);
    memcpy(text, t.z, n);
    text[N] = '\0';
    refused(OWL_KIND_TOOL, text, NULL, "entry: is longer than 4194304 bytes");
    text[N - 1] = '\0';
    owl_item_aunref(make(OWL_KIND_TOOL, text, NULL));
    owl_free(text);
}

TEST(options_that_cannot_be_shown_are_refused, "")
{
    char name[OWL_ITEM_NAME_BYTES + 2];
    memset(name, 'x', sizeof name);
    owl_str aliases[OWL_ITEM_ALIASES + 1], bad_alias = OWL_STR("\xff");
    for (size_t i = 0; i < OWL_COUNT(aliases); i++)
        aliases[i] = OWL_STR("a");
    struct raw_text t = raw_tool("a", "d");
    refused(OWL_KIND_TOOL, t.z, &(struct owl_item_options){.key = OWL_STR("a:b")}, "name: must");
    refused(OWL_KIND_TOOL, t.z, &(struct owl_item_options){.fallback = OWL_STR("")},
            "fallback: must");
    refused(OWL_KIND_TOOL, t.z, &(struct owl_item_options){.registry_name = OWL_STR("")},
            "registry name: must be 1 to");
    refused(OWL_KIND_TOOL, t.z,
            &(struct owl_item_options){.registry_name = {name, OWL_ITEM_NAME_BYTES + 1}},
            "registry name: must be 1 to");
    refused(OWL_KIND_TOOL, t.z, &(struct owl_item_options){.aliases = &bad_alias, .n_aliases = 1},
            "alias: must be");
    refused(OWL_KIND_TOOL, t.z,
            &(struct owl_item_options){.aliases = aliases, .n_aliases = OWL_COUNT(aliases)},
            "aliases: are more than 16");
    refused(OWL_KIND_TOOL, t.z, &(struct owl_item_options){.flags = 1u << 20}, "flags: ");
    refused(OWL_KIND_PROMPT, "{\"name\":\"a\"}", &(struct owl_item_options){.flags = OWL_TASK},
            "flags: ");
}

TEST(results_of_other_servers_are_listed_but_not_judged, "")
{
    /* A schema that would not compile. */
    struct owl_item *it = make(OWL_KIND_TOOL,
                               WITH("\"outputSchema\":{\"type\":\"object\","
                                    "\"minProperties\":\"x\"},\"z\":1"),
                               NULL);
    assert_null(it->output);
    assert_non_null(
        strstr(it->json.p, "\"outputSchema\":{\"type\":\"object\",\"minProperties\":\"x\"}"));
    assert_int_equal(it->parts[0].revs & OWL_REV_BIT(OWL_REV_2025_03_26), 0);
    assert_true(it->parts[0].revs & OWL_REV_BIT(OWL_REV_2025_06_18));
    owl_item_aunref(it);
    it = make(OWL_KIND_TOOL, WITH("\"outputSchema\":{\"type\":\"array\"}"), NULL);
    assert_int_equal(it->parts[0].revs, OWL_REV_BIT(OWL_REV_2026_07_28));
    owl_item_aunref(it);
}

TEST(our_flags_say_whether_a_tool_may_be_a_task, "")
{
    static const char entry[] = WITH("\"execution\":{\"taskSupport\":\"required\"},\"z\":1");
    struct owl_item *it = make(OWL_KIND_TOOL, entry, NULL);
    assert_str(it->json, "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"z\":1}");
    owl_item_aunref(it);
    it = make(OWL_KIND_TOOL, entry, &(struct owl_item_options){.flags = OWL_TASK});
    assert_str(it->json, "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"z\":1,"
                         "\"execution\":{\"taskSupport\":\"optional\"}}");
    assert_int_equal(it->parts[0].revs, OWL_REV_BIT(OWL_REV_2025_11_25));
    owl_item_aunref(it);
}

TEST(arguments_mirrored_in_headers_are_read, "")
{
    struct owl_item *it = make(
        OWL_KIND_TOOL,
        "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
        "\"r\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}}",
        NULL);
    assert_int_equal(it->n_headers, 1);
    assert_str(it->headers[0].name, "Region");
    assert_str(it->headers[0].path[0], "r");
    owl_item_aunref(it);
}

TEST(resources_templates_and_prompts_are_taken_too, "")
{
    struct owl_item *it = make(OWL_KIND_RESOURCE,
                               "{\"name\":\"N\",\"uri\":\"file:///a\",\"size\":5,\"mimeType\":"
                               "\"text\\/plain\",\"annotations\":{\"audience\":[\"user\"]}}",
                               &(struct owl_item_options){.fallback = OWL_STR("s+file:///a")});
    assert_str(it->json, "{\"uri\":\"file:///a\",\"name\":\"N\",\"size\":5,\"mimeType\":"
                         "\"text\\/plain\",\"annotations\":{\"audience\":[\"user\"]}}");
    assert_str(it->mime_type, "text/plain");
    assert_str(it->key, "file:///a");
    assert_str(it->fallback, "s+file:///a");
    assert_int_equal(it->flags & OWL_FOREIGN, 0);
    owl_item_aunref(it);

    it = make(OWL_KIND_TEMPLATE, "{\"uriTemplate\":\"db://{t}\",\"name\":\"N\"}",
              &(struct owl_item_options){.fallback = OWL_STR("s+db://{t}")});
    assert_non_null(it->uri_template);
    assert_non_null(it->fallback_template);
    owl_item_aunref(it);

    it = make(OWL_KIND_PROMPT,
              "{\"name\":\"p q\",\"arguments\":[{\"name\":\"x\",\"required\":true,\"y\":1}]}",
              &(struct owl_item_options){.key = OWL_STR("p_q")});
    assert_str(it->json,
               "{\"name\":\"p_q\",\"arguments\":[{\"name\":\"x\",\"required\":true,\"y\":1}]}");
    assert_int_equal(it->n_args, 1);
    assert_true(it->args[0].required);
    owl_item_aunref(it);

    refused(OWL_KIND_RESOURCE, "{\"uri\":\"a\",\"name\":\"N\"}", NULL, "uri: must be an absolute");
    refused(OWL_KIND_RESOURCE, "{\"uri\":\"a:b\"}", NULL, "resource \"a:b\": name: is missing");
    refused(OWL_KIND_RESOURCE, "{\"uri\":\"a:b\",\"name\":null}", NULL, "name: is missing");
    refused(OWL_KIND_RESOURCE, "{\"uri\":\"a:b\",\"name\":\"N\",\"size\":\"5\"}", NULL,
            "size: must be a number");
    refused(OWL_KIND_TEMPLATE, "{\"uriTemplate\":\"db://{?q}\",\"name\":\"N\"}", NULL,
            "resource template \"db://{?q}\": uriTemplate: URI template: ");
    refused(OWL_KIND_PROMPT, "{\"name\":\"p\",\"arguments\":[{}]}", NULL, "arguments: element 0");
}

TEST(only_the_same_entry_with_the_same_options_is_the_same, "")
{
    struct test_provider p, q;
    test_provider_init(&p, "p");
    test_provider_init(&q, "q");
    owl_str aliases[] = {OWL_STR("x"), OWL_STR("y")}, others[] = {OWL_STR("x"), OWL_STR("z")};
    const struct owl_item_options good = {.key = OWL_STR("p__a"),
                                          .fallback = OWL_STR("p__a_1"),
                                          .registry_name = OWL_STR("p:a"),
                                          .aliases = aliases,
                                          .n_aliases = 2,
                                          .provider = &p.provider,
                                          .data = &p,
                                          .timeout_ms = 5,
                                          .flags = OWL_TASK_ONLY};
    struct raw_text t = raw_tool("a", "d"), u = raw_tool("a", "e");
    struct owl_item *it = make(OWL_KIND_TOOL, t.z, &good);
    assert_true(owl_item_same(it, owl_str_of(t.z), &good));
    assert_false(owl_item_same(it, owl_str_of(u.z), &good));
    struct owl_item_options o[10];
    for (size_t i = 0; i < OWL_COUNT(o); i++)
        o[i] = good;
    o[0].key = OWL_STR("p__b");
    o[1].key = (owl_str){0};
    o[2].fallback = (owl_str){0};
    o[3].registry_name = OWL_STR("p:b");
    o[4].aliases = others;
    o[5].n_aliases = 1;
    o[6].provider = &q.provider;
    o[7].data = NULL;
    o[8].timeout_ms = 0;
    o[9].flags = OWL_TASK;
    for (size_t i = 0; i < OWL_COUNT(o); i++)
        assert_false(owl_item_same(it, owl_str_of(t.z), &o[i]));
    owl_item_aunref(it);
    it = make_tool("a", NULL); /* a definition of the program's */
    assert_false(owl_item_same(it, owl_str_of(t.z), &no_options));
    owl_item_aunref(it);
}

TEST(without_memory_there_is_no_item_and_no_leak, "")
{
    static const struct {
        enum owl_kind kind;
        const char *entry;
    } rows[] = {
        {OWL_KIND_TOOL,
         "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"r\":{"
         "\"type\":\"string\",\"x-mcp-header\":\"Region\"}}},\"outputSchema\":{}}"},
        {OWL_KIND_RESOURCE, "{\"uri\":\"a:b\",\"name\":\"N\",\"mimeType\":\"x/y\"}"},
        {OWL_KIND_TEMPLATE, "{\"uriTemplate\":\"a:{b}\",\"name\":\"N\"}"},
        {OWL_KIND_PROMPT, "{\"name\":\"p\",\"arguments\":[{\"name\":\"x\"}]}"},
    };
    struct test_provider p;
    test_provider_init(&p, "p");
    owl_str alias = OWL_STR("x");
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        bool uri = rows[i].kind == OWL_KIND_RESOURCE || rows[i].kind == OWL_KIND_TEMPLATE;
        struct owl_item_options o = {.fallback = uri ? OWL_STR("s+a:{b}") : OWL_STR("other"),
                                     .registry_name = OWL_STR("s:a"),
                                     .aliases = &alias,
                                     .n_aliases = 1,
                                     .provider = &p.provider};
        struct owl_item *it = NULL;
        unsigned long n = 0;
        while (!it) {
            owl_error e = {0};
            owl_alloc_fail_at(++n);
            int rc = owl_item_raw(rows[i].kind, owl_str_of(rows[i].entry), &o, &it, &e);
            owl_alloc_fail_at(0);
            assert_int_equal(rc, it ? 0 : -OWL_ENOMEM);
            assert_int_equal(e.code, it ? 0 : OWL_ENOMEM);
            assert_int_equal(atomic_load(&p.provider._refs), it ? 2 : 1);
        }
        assert_true(n > 3);
        owl_item_aunref(it);
    }
}

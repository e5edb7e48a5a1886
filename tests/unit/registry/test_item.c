/* What becomes of a definition: its list entry, what is refused and why, who frees what. */
#include "unit/registry/fixture.h"

#include "base/alloc.h"

static const owl_tool good_tool = TOOL("add");
static const owl_resource good_resource = RESOURCE("db://a", "A");
static const owl_prompt good_prompt = PROMPT("ask");

/* ---- tools ----------------------------------------------------------------------------------- */

TEST(tool_entry_has_every_member_in_order, "OD-4.2.1.1 OD-4.2.1.2 OD-4.2.1.3 OD-4.2.1.5 OR-4.3")
{
    const owl_tool def = {
        .size = sizeof def,
        .name = "a.b-C_9",
        .title = "Add \"x\"",
        .description = "Adds\nnumbers",
        .input_schema =
            " { \"type\" : \"object\" , \"properties\" : {\"a b\":{\"type\":\"number\"}} }\n",
        .output_schema = "{\"type\":\"object\"}",
        .annotations = "{\"readOnlyHint\": true}",
        .icons = "[ {\"src\": \"https://x/y.png\"} ]",
        .meta = "{\"com.example/k\": [1, 2]}",
        .handler = no_handler,
        .flags = OWL_INLINE | OWL_PARKED,
        .timeout_ms = 7,
    };
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
    assert_str(
        it->json,
        "{\"name\":\"a.b-C_9\",\"title\":\"Add \\\"x\\\"\",\"description\":\"Adds\\nnumbers\","
        "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a b\":{\"type\":\"number\"}}},"
        "\"outputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true},"
        "\"icons\":[{\"src\":\"https://x/y.png\"}],\"_meta\":{\"com.example/k\":[1,2]}}");
    assert_str(it->key, "a.b-C_9");
    assert_int_equal(it->kind, OWL_KIND_TOOL);
    assert_ptr_equal(it->handler, no_handler);
    assert_int_equal(it->flags, OWL_INLINE | OWL_PARKED);
    assert_int_equal(it->timeout_ms, 7);
    owl_item_aunref(it);
}

TEST(tool_without_schema_takes_no_arguments, "OD-4.2.1.5")
{
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&good_tool, &it, NULL), 0);
    assert_str(it->json, "{\"name\":\"add\",\"inputSchema\":"
                         "{\"type\":\"object\",\"additionalProperties\":false}}");
    owl_item_aunref(it);
}

TEST(schema_keeps_every_keyword_number_and_escape, "")
{
    static const char schema[] =
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"x-z\":1.0e+2,"
        "\"\\u0074ype\":\"obj\\u0065ct\",\"$defs\":{\"a\":{\"$anchor\":\"q\"}},\"allOf\":[{}],"
        "\"x-big\":12345678901234567890123}";
    owl_tool def = good_tool;
    def.input_schema = schema;
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
    assert_non_null(memmem(it->json.p, it->json.n, schema, sizeof schema - 1));
    owl_item_aunref(it);
}

/* Expects a refusal whose message holds @p what, and nothing else touched. */
static void tool_refused(const owl_tool *def, const char *what)
{
    owl_error e = {0};
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(def, &it, &e), -OWL_EINVAL);
    assert_null(it);
    assert_int_equal(e.code, OWL_EINVAL);
    if (!strstr(e.message, what))
        fail_msg("\"%s\" does not say \"%s\"", e.message, what);
    assert_int_equal(owl_item_tool(def, &it, NULL), -OWL_EINVAL);
}

TEST(tool_names_outside_the_alphabet_are_refused, "")
{
    char longest[130];
    memset(longest, 'x', sizeof longest - 1);
    longest[129] = '\0';
    const char *const bad[] = {NULL, "", "a b", "a/b", "a:b", "\xc3\xa9", "a\n", "{", longest};
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        owl_tool def = good_tool;
        def.name = bad[i];
        tool_refused(&def, "tool: name: must be 1 to 128");
    }
    longest[128] = '\0';
    owl_item_aunref(make_tool(longest, NULL));
}

TEST(tool_schemas_must_describe_an_object, "OD-4.2.1.5")
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "byte"},
        {"  ", "byte"},
        {"{", "byte"},
        {"{} {}", "byte"},
        {"{\"type\":\"object\",\"type\":\"object\"}", "byte"},
        {"[]", "must be a JSON object"},
        {"true", "must be a JSON object"},
        {"null", "must be a JSON object"},
        {"{}", "must have \"type\":\"object\""},
        {"{\"type\":\"array\"}", "must have \"type\":\"object\""},
        {"{\"type\":[\"object\"]}", "must have \"type\":\"object\""},
        {"{\"a\":{\"type\":\"object\"}}", "must have \"type\":\"object\""},
        {"{\"type\":\"object\",\"a\":\"\xff\"}", "byte"},
    };
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        owl_tool def = good_tool;
        def.input_schema = bad[i].text;
        tool_refused(&def, "tool \"add\": input_schema: ");
        tool_refused(&def, bad[i].why);
        def = good_tool;
        def.output_schema = bad[i].text;
        if (strstr(bad[i].why, "type"))
            continue; /* results may be anything */
        tool_refused(&def, "tool \"add\": output_schema: ");
        tool_refused(&def, bad[i].why);
    }
}

TEST(tool_schemas_must_compile, "OT-ERR.4a mcp:B5 mcp:B6")
{
#define ON_A(schema) "{\"type\":\"object\",\"properties\":{\"a\":" schema "}}"
    static const struct {
        const char *text, *place, *why;
    } bad[] = {
        {ON_A("{\"type\":\"strin\"}"), "#/properties/a/type", "must be null, boolean"},
        {ON_A("{\"minLength\":-1}"), "#/properties/a/minLength", ""},
        {ON_A("{\"pattern\":\"[a\"}"), "#/properties/a/pattern", ""},
        {ON_A("7"), "#/properties/a", "must be an object, true or false"},
        {ON_A("{\"$ref\":\"#/$defs/none\"}"), "#/$defs/none", "leads nowhere"},
        {ON_A("{\"$ref\":\"https://x.example/s\"}"), "nothing is fetched", "https://x.example/s"},
        {"{\"type\":\"object\",\"$schema\":\"http://json-schema.org/draft-04/schema#\"}", "$schema",
         "draft-04"},
        {"{\"type\":\"object\",\"required\":\"a\"}", "#/required", ""},
    };
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        owl_tool def = good_tool;
        def.input_schema = bad[i].text;
        tool_refused(&def, "tool \"add\": input_schema: ");
        tool_refused(&def, bad[i].place);
        tool_refused(&def, bad[i].why);
        def = good_tool;
        def.output_schema = bad[i].text;
        tool_refused(&def, "tool \"add\": output_schema: ");
        tool_refused(&def, bad[i].place);
    }
}

TEST(a_tool_has_its_schemas_compiled, "")
{
    owl_tool def = good_tool;
    def.input_schema = ON_A("{\"type\":\"string\"}");
    def.output_schema = "{\"type\":\"object\",\"required\":[\"b\"]}";
    struct owl_item *it = NULL;
    bool fits = false;
    assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
    assert_int_equal(owl_schema_validate(it->input, OWL_STR("{\"a\":\"\"}"), &fits, NULL), 0);
    assert_true(fits);
    assert_int_equal(owl_schema_validate(it->input, OWL_STR("{\"a\":1}"), &fits, NULL), 0);
    assert_false(fits);
    assert_int_equal(owl_schema_validate(it->output, OWL_STR("{\"b\":1}"), &fits, NULL), 0);
    assert_true(fits);
    owl_item_aunref(it);
    it = make_tool("nothing", NULL);
    assert_int_equal(owl_schema_validate(it->input, OWL_STR("{}"), &fits, NULL), 0);
    assert_true(fits);
    assert_int_equal(owl_schema_validate(it->input, OWL_STR("{\"a\":1}"), &fits, NULL), 0);
    assert_false(fits);
    assert_null(it->output);
    owl_item_aunref(it);
}

TEST(json_deeper_than_64_is_refused, "")
{
    char text[256];
    for (int depth = 64; depth <= 65; depth++) {
        size_t n = (size_t)sprintf(text, "{\"a\":");
        for (int i = 1; i < depth; i++)
            text[n++] = '[';
        for (int i = 1; i < depth; i++)
            text[n++] = ']';
        text[n++] = '}';
        text[n] = '\0';
        owl_tool def = good_tool;
        def.meta = text;
        struct owl_item *it = NULL;
        if (depth == 65) {
            tool_refused(&def, "tool \"add\": meta: ");
            continue;
        }
        assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
        owl_item_aunref(it);
    }
}

TEST(tool_members_are_checked_and_named, "")
{
    owl_tool def = good_tool;
    def.handler = NULL;
    tool_refused(&def, "handler: is missing");
    def = good_tool;
    def.flags = 64;
    tool_refused(&def, "flags: 0x40");
    def.flags = OWL_TASK | OWL_TASK_LATER;
    tool_refused(&def, "flags: OWL_TASK_LATER excludes");
    def.flags = OWL_TASK_ONLY | OWL_TASK_LATER;
    tool_refused(&def, "flags: OWL_TASK_LATER excludes");
    def = good_tool;
    def.title = "\xff";
    tool_refused(&def, "title: is not UTF-8");
    def = good_tool;
    def.description = "\xed\xa0\x80";
    tool_refused(&def, "description: is not UTF-8");
    def = good_tool;
    def.annotations = "[]";
    tool_refused(&def, "annotations: must be a JSON object");
    def = good_tool;
    def.meta = "1";
    tool_refused(&def, "meta: must be a JSON object");
    def = good_tool;
    def.icons = "{}";
    tool_refused(&def, "icons: must be a JSON array");
    def.icons = "[{\"src\":\"data:,\"},\"x\"]";
    tool_refused(&def, "icons: element 1");
    def.icons = "[{\"src\":1}]";
    tool_refused(&def, "icons: element 0");
}

TEST(entry_of_absurd_length_is_refused, "")
{
    size_t n = 5u << 20;
    char *text = owl_malloc(n + 1);
    assert_non_null(text);
    memset(text, 'x', n);
    text[n] = '\0';
    owl_tool def = good_tool;
    def.description = text;
    tool_refused(&def, "definition: is longer than");
    owl_free(text);
}

/* ---- sized structs --------------------------------------------------------------------------- */

TEST(older_callers_know_fewer_members, "")
{
    owl_tool def = good_tool;
    def.title = "not known yet";
    def.meta = "not even JSON";
    def.size = offsetof(owl_tool, title);
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
    assert_null(memmem(it->json.p, it->json.n, "title", 5));
    owl_item_aunref(it);

    def.size = offsetof(owl_tool, data);
    def.flags = ~0u;
    assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
    assert_int_equal(it->flags, 0);
    owl_item_aunref(it);
}

TEST(newer_callers_know_more_members, "")
{
    struct {
        owl_tool def;
        const char *future;
    } newer = {TOOL("add"), NULL};
    newer.def.size = sizeof newer;
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&newer.def, &it, NULL), 0);
    owl_item_aunref(it);
    newer.future = "?";
    tool_refused(&newer.def, "newer library");
}

TEST(size_that_misses_required_members_is_refused, "")
{
    owl_tool tool = good_tool;
    const size_t bad[] = {0, 8, offsetof(owl_tool, handler), offsetof(owl_tool, data) + 3};
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        tool.size = bad[i];
        tool_refused(&tool, "size");
    }
    tool_refused(NULL, "size");

    struct owl_item *it = NULL;
    owl_resource resource = good_resource;
    resource.size = offsetof(owl_resource, name);
    assert_int_equal(owl_item_resource(&resource, &it, NULL), -OWL_EINVAL);
    assert_int_equal(owl_item_resource(NULL, &it, NULL), -OWL_EINVAL);
    owl_prompt prompt = good_prompt;
    prompt.size = offsetof(owl_prompt, handler);
    assert_int_equal(owl_item_prompt(&prompt, &it, NULL), -OWL_EINVAL);
    assert_int_equal(owl_item_prompt(NULL, &it, NULL), -OWL_EINVAL);
}

/* ---- resources ------------------------------------------------------------------------------- */

TEST(resource_entry_has_every_member_in_order, "")
{
    const owl_resource def = {
        .size = sizeof def,
        .uri = "file:///a.txt",
        .name = "a",
        .title = "A",
        .description = "the file",
        .mime_type = "text/plain",
        .bytes = 42,
        .annotations = "{\"priority\":0.5}",
        .icons = "[]",
        .meta = "{}",
        .handler = no_handler,
        .flags = OWL_INLINE,
    };
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_resource(&def, &it, NULL), 0);
    assert_str(it->json, "{\"uri\":\"file:///a.txt\",\"name\":\"a\",\"title\":\"A\","
                         "\"description\":\"the file\",\"mimeType\":\"text/plain\",\"size\":42,"
                         "\"annotations\":{\"priority\":0.5},\"icons\":[],\"_meta\":{}}");
    assert_int_equal(it->kind, OWL_KIND_RESOURCE);
    assert_str(it->key, "file:///a.txt");
    assert_str(it->mime_type, "text/plain");
    assert_null(it->text.p);
    owl_item_aunref(it);
}

TEST(text_of_a_resource_is_copied_and_measured, "")
{
    char text[] = "hello";
    owl_resource def = good_resource;
    def.handler = NULL;
    def.text = text;
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_resource(&def, &it, NULL), 0);
    text[0] = 'j';
    assert_str(it->text, "hello");
    assert_null(it->mime_type.p);
    assert_str(it->json, "{\"uri\":\"db://a\",\"name\":\"A\",\"size\":5}");
    owl_item_aunref(it);
}

TEST(uri_with_a_brace_is_a_template, "")
{
    owl_resource def = RESOURCE("db://{table}/{id}", "row");
    def.mime_type = "text/csv";
    def.complete = no_handler;
    def.bytes = 9; /* templates have no size */
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_resource(&def, &it, NULL), 0);
    assert_int_equal(it->kind, OWL_KIND_TEMPLATE);
    assert_str(it->json, "{\"uriTemplate\":\"db://{table}/{id}\",\"name\":\"row\","
                         "\"mimeType\":\"text/csv\"}");
    assert_str(owl_uri_template_var(it->uri_template, 1), "id");
    assert_ptr_equal(it->complete, no_handler);
    owl_item_aunref(it);
}

static void resource_refused(const owl_resource *def, const char *what)
{
    owl_error e = {0};
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_resource(def, &it, &e), -OWL_EINVAL);
    assert_null(it);
    if (!strstr(e.message, what))
        fail_msg("\"%s\" does not say \"%s\"", e.message, what);
}

TEST(resource_members_are_checked_and_named, "")
{
    const char *const bad_uris[] = {NULL,       "",         "a.txt",      "/a",
                                    "db://a b", "db://a\n", "db://%zz",   "db://\xff",
                                    "db://{",   "db://{}",  "db://{a}/{a"};
    for (size_t i = 0; i < OWL_COUNT(bad_uris); i++) {
        owl_resource def = good_resource;
        def.uri = bad_uris[i];
        resource_refused(&def, ": uri: ");
    }
    owl_resource def = good_resource;
    def.name = NULL;
    resource_refused(&def, "resource \"db://a\": name: is missing");
    def.name = "";
    resource_refused(&def, "name: is missing");
    def = good_resource;
    def.handler = NULL;
    resource_refused(&def, "handler: is missing, and there is no text");
    def = good_resource;
    def.text = "x";
    resource_refused(&def, "text: is given beside a handler");
    def.handler = NULL;
    def.text = "\xff";
    resource_refused(&def, "text: is not UTF-8");
    def = good_resource;
    def.complete = no_handler;
    resource_refused(&def, "complete: is for templates");
    def = good_resource;
    def.mime_type = "\xff";
    resource_refused(&def, "mime_type: is not UTF-8");
    def = good_resource;
    def.bytes = -1;
    resource_refused(&def, "bytes: is negative");
    def = good_resource;
    def.flags = OWL_PARKED;
    resource_refused(&def, "flags: 0x2");
    def = good_resource;
    def.annotations = "[";
    resource_refused(&def, "annotations: byte");
}

/* ---- prompts --------------------------------------------------------------------------------- */

TEST(prompt_entry_and_its_arguments, "")
{
    const owl_prompt def = {
        .size = sizeof def,
        .name = "ask",
        .title = "Ask",
        .description = "d",
        .arguments =
            "[{\"name\":\"a\",\"required\":true},{\"description\":\"x\",\"name\":\"\\u00e9\"},"
            "{\"name\":\"c\", \"required\" : false}]",
        .icons = "[]",
        .meta = "{}",
        .handler = no_handler,
        .complete = no_handler,
    };
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_prompt(&def, &it, NULL), 0);
    assert_str(it->json,
               "{\"name\":\"ask\",\"title\":\"Ask\",\"description\":\"d\",\"arguments\":"
               "[{\"name\":\"a\",\"required\":true},{\"description\":\"x\",\"name\":\"\\u00e9\"},"
               "{\"name\":\"c\",\"required\":false}],\"icons\":[],\"_meta\":{}}");
    assert_int_equal(it->n_args, 3);
    assert_str(it->args[0].name, "a");
    assert_true(it->args[0].required);
    assert_str(it->args[1].name, "\xc3\xa9");
    assert_false(it->args[1].required);
    assert_false(it->args[2].required);
    owl_item_aunref(it);
}

TEST(prompt_without_arguments_has_none, "")
{
    owl_prompt def = good_prompt;
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_prompt(&def, &it, NULL), 0);
    assert_str(it->json, "{\"name\":\"ask\"}");
    assert_int_equal(it->n_args, 0);
    owl_item_aunref(it);
    def.arguments = "[ ]";
    assert_int_equal(owl_item_prompt(&def, &it, NULL), 0);
    assert_str(it->json, "{\"name\":\"ask\",\"arguments\":[]}");
    assert_int_equal(it->n_args, 0);
    owl_item_aunref(it);
}

TEST(prompt_members_are_checked_and_named, "")
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"{}", "arguments: must be a JSON array"},
        {"[1]", "arguments: element 0 must be an object"},
        {"[{}]", "arguments: element 0 must be an object with a string \"name\""},
        {"[{\"name\":\"a\"},{\"name\":2}]", "arguments: element 1"},
        {"[{\"name\":\"\"}]", "empty name"},
        {"[{\"name\":\"a\\u0000b\"}]", "control characters"},
        {"[{\"name\":\"a\",\"required\":1}]", "\"required\" must be true or false"},
        {"[{\"name\":\"a\",\"required\":\"true\"}]", "\"required\" must be true or false"},
        {"[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"\\u0061\"}]",
         "element 2 has the name of another"},
        {"[", "arguments: byte"},
    };
    owl_error e;
    struct owl_item *it = NULL;
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        owl_prompt def = good_prompt;
        def.arguments = bad[i].text;
        assert_int_equal(owl_item_prompt(&def, &it, &e), -OWL_EINVAL);
        if (!strstr(e.message, bad[i].why))
            fail_msg("\"%s\" does not say \"%s\"", e.message, bad[i].why);
    }
    owl_prompt def = good_prompt;
    def.name = "no blanks";
    assert_int_equal(owl_item_prompt(&def, &it, &e), -OWL_EINVAL);
    assert_string_equal(e.message, "prompt: name: must be 1 to 128 of A-Z a-z 0-9 _ . -");
    def = good_prompt;
    def.handler = NULL;
    assert_int_equal(owl_item_prompt(&def, &it, &e), -OWL_EINVAL);
    assert_string_equal(e.message, "prompt \"ask\": handler: is missing");
    def = good_prompt;
    def.flags = OWL_PARKED;
    assert_int_equal(owl_item_prompt(&def, &it, &e), -OWL_EINVAL);
    assert_null(it);
}

/* ---- ownership ------------------------------------------------------------------------------- */

TEST(last_reference_frees_the_data_once, "")
{
    unsigned freed = 0;
    owl_tool def = good_tool;
    def.data = &freed;
    def.free_data = count_free;
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
    assert_ptr_equal(it->data, &freed);
    assert_ptr_equal(owl_item_aref(it), it);
    owl_item_aunref(it);
    assert_int_equal(freed, 0);
    owl_item_aunref(it);
    assert_int_equal(freed, 1);
    owl_item_aunref(NULL);
}

TEST(refused_definition_stays_the_callers, "")
{
    unsigned freed = 0;
    owl_tool def = good_tool;
    def.data = &freed;
    def.free_data = count_free;
    def.flags = 1u << 9;
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&def, &it, NULL), -OWL_EINVAL);
    assert_int_equal(freed, 0);
}

static int build_tool(struct owl_item **ret, owl_error *e)
{
    owl_tool def = good_tool;
    def.title = "t";
    def.input_schema = "{\"type\":\"object\"}";
    def.output_schema = "{\"type\":\"object\",\"patternProperties\":{\"^a\":{\"enum\":[1]}}}";
    def.icons = "[{\"src\":\"data:,\"}]";
    return owl_item_tool(&def, ret, e);
}

static int build_template(struct owl_item **ret, owl_error *e)
{
    owl_resource def = RESOURCE("db://{a}/{b}", "n");
    def.handler = NULL;
    def.mime_type = "text/plain";
    def.text = "x";
    return owl_item_resource(&def, ret, e);
}

static int build_prompt(struct owl_item **ret, owl_error *e)
{
    static char arguments[8192];
    size_t n = 0;
    for (int i = 0; i < 200; i++)
        n += (size_t)sprintf(arguments + n, "%c{\"name\":\"argument%d\"}", i ? ',' : '[', i);
    strcpy(arguments + n, "]");
    owl_prompt def = good_prompt;
    def.arguments = arguments;
    return owl_item_prompt(&def, ret, e);
}

TEST(without_memory_an_item_is_an_error_and_leaks_nothing, "")
{
    int (*const builders[])(struct owl_item **, owl_error *) = {build_tool, build_template,
                                                                build_prompt};
    for (size_t i = 0; i < OWL_COUNT(builders); i++) {
        unsigned long n = 0;
        int rc;
        do {
            struct owl_item *it = NULL;
            owl_error e = {0};
            owl_alloc_fail_at(++n);
            rc = builders[i](&it, &e);
            owl_alloc_fail_at(0);
            if (rc) {
                assert_int_equal(rc, -OWL_ENOMEM);
                assert_int_equal(e.code, OWL_ENOMEM);
                assert_null(it);
            }
            owl_item_aunref(it);
        } while (rc);
        assert_true(n > 2);
    }
}

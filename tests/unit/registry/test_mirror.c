/* Which arguments of a tool are mirrored in headers, and which annotations are refused. */
#include "unit/registry/fixture.h"

#include "base/alloc.h"

#define ROOT(rest) "{\"type\":\"object\"," rest "}"
#define PROPERTIES(rest) ROOT("\"properties\":{" rest "}")
#define REGION "{\"type\":\"string\",\"x-mcp-header\":\"Region\"}"

static int build(const char *schema, struct owl_item **ret, owl_error *e)
{
    owl_tool def = TOOL("deploy");
    def.input_schema = schema;
    return owl_item_tool(&def, ret, e);
}

static struct owl_item *make(const char *schema)
{
    struct owl_item *it = NULL;
    owl_error e = {0};
    if (build(schema, &it, &e))
        fail_msg("%s: %s", schema, e.message);
    return it;
}

static void assert_header(const struct owl_item *it, size_t at, const char *name, const char *path)
{
    char joined[256] = "";
    size_t n = 0;
    assert_true(at < it->n_headers);
    const struct owl_item_header *h = &it->headers[at];
    for (size_t i = 0; i < h->n_path; i++)
        n += (size_t)snprintf(joined + n, sizeof joined - n, "/%.*s", (int)h->path[i].n,
                              h->path[i].p);
    assert_str(h->name, name);
    assert_string_equal(joined, path);
}

TEST(annotated_arguments_are_found_in_their_order, "")
{
    struct owl_item *it = make(
        PROPERTIES("\"region\":" REGION ","
                   "\"count\":{\"x-mcp-header\":\"count\",\"type\":\"integer\"},"
                   "\"plain\":{\"type\":\"string\"},"
                   "\"dry\":{\"type\":\"boolean\",\"x-mcp-header\":\"!#$%&'*+-.^_`|~9\"}"));
    assert_int_equal(it->n_headers, 3);
    assert_header(it, 0, "Region", "/region");
    assert_header(it, 1, "count", "/count");
    assert_header(it, 2, "!#$%&'*+-.^_`|~9", "/dry");
    assert_non_null(strstr(it->json.p, "\"x-mcp-header\":\"Region\""));
    owl_item_aunref(it);
}

TEST(nested_arguments_have_a_path, "")
{
    struct owl_item *it = make(PROPERTIES(
        "\"a\":{\"type\":\"object\",\"properties\":{\"b\":{\"properties\":{\"c\":" REGION "}},"
        "\"d\":{\"type\":\"boolean\",\"x-mcp-header\":\"D\"}}},"
        "\"e\":{\"type\":\"integer\",\"x-mcp-header\":\"E\"}"));
    assert_int_equal(it->n_headers, 3);
    assert_header(it, 0, "Region", "/a/b/c");
    assert_header(it, 1, "D", "/a/d");
    assert_header(it, 2, "E", "/e");
    owl_item_aunref(it);
}

TEST(escaped_spellings_are_the_same_words, "")
{
    struct owl_item *it = make(
        ROOT("\"propert\\u0069es\":{\"\\u00e9\\n\":{\"typ\\u0065\":\"str\\u0069ng\","
             "\"\\u0078-mcp-header\":\"Reg\\u0069on\"}}"));
    assert_int_equal(it->n_headers, 1);
    assert_header(it, 0, "Region", "/\xc3\xa9\n");
    owl_item_aunref(it);
}

TEST(what_only_looks_like_an_annotation_is_none, "")
{
    static const char *const schemas[] = {
        NULL,
        ROOT("\"required\":[\"x-mcp-header\"]"),
        PROPERTIES("\"x-mcp-header\":{\"type\":\"string\"}"), /* an argument of that name */
        PROPERTIES("\"a\":{\"const\":{\"x-mcp-header\":1}}"),
        PROPERTIES("\"a\":{\"default\":{\"x-mcp-header\":\"A\"}}"),
        PROPERTIES(
            "\"a\":{\"enum\":[{\"x-mcp-header\":\"A\"}],\"examples\":[{\"x-mcp-header\":2}]}"),
        PROPERTIES("\"a\":{\"properties\":{\"x-mcp-header\":true}}"),
        ROOT("\"$defs\":{\"x-mcp-header\":{\"type\":\"string\"}}"),
        PROPERTIES("\"a\":{\"description\":\"\\\"x-mcp-header\\\":\\\"A\\\"\"}"),
    };
    for (size_t i = 0; i < OWL_COUNT(schemas); i++) {
        struct owl_item *it = make(schemas[i]);
        assert_int_equal(it->n_headers, 0);
        assert_null(it->headers);
        owl_item_aunref(it);
    }
}

/* An output schema mirrors nothing. */
TEST(only_arguments_are_mirrored, "")
{
    owl_tool def = TOOL("deploy");
    def.output_schema = PROPERTIES("\"a\":{\"type\":\"number\",\"x-mcp-header\":\"\"}");
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
    assert_int_equal(it->n_headers, 0);
    owl_item_aunref(it);
}

static void assert_refused(const char *schema, const char *place, const char *why)
{
    struct owl_item *it = NULL;
    owl_error e = {0};
    assert_int_equal(build(schema, &it, &e), -OWL_EINVAL);
    assert_null(it);
    if (!strstr(e.message, "tool \"deploy\": input_schema: x-mcp-header of #") ||
        !strstr(e.message, place) || !strstr(e.message, why))
        fail_msg("%s: \"%s\" does not say \"%s\" and \"%s\"", schema, e.message, place, why);
}

TEST(a_name_is_a_token, "")
{
    static const char *const bad[] = {
        "1",         "null",    "true",     "{}",          "[\"A\"]",     "\"\"",
        "\"a b\"",   "\"a:b\"", "\"a\\n\"", "\"\\u00e9\"", "\"é\"",       "\"a\\u0000\"",
        "\"a\\\"\"", "\"a/b\"", "\"(a)\"",  "\"a,b\"",     "\"a\\u007f\""};
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        char schema[256];
        snprintf(schema, sizeof schema,
                 PROPERTIES("\"region\":{\"type\":\"string\",\"x-mcp-header\":%s}"), bad[i]);
        assert_refused(schema, "#/properties/region:", "must be a name that a header can have");
    }
}

TEST(names_differ_in_more_than_case, "")
{
    static const char why[] = "is the name of another one too";
    assert_refused(PROPERTIES("\"a\":" REGION ",\"b\":" REGION), "#/properties/b:", why);
    assert_refused(PROPERTIES("\"a\":" REGION ",\"b\":{\"properties\":{\"c\":{\"type\":\"string\","
                              "\"x-mcp-header\":\"rEGION\"}}}"),
                   "#/properties/b/properties/c:", why);
}

TEST(the_type_is_one_that_a_header_can_hold, "")
{
    static const char *const bad[] = {"\"number\"", "\"object\"",   "\"array\"",
                                      "\"null\"",   "[\"string\"]", "[\"string\",\"null\"]"};
    static const char why[] = "is for the types \"string\", \"integer\" and \"boolean\" only";
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        char schema[256];
        snprintf(schema, sizeof schema,
                 PROPERTIES("\"region\":{\"type\":%s,\"x-mcp-header\":\"A\"}"), bad[i]);
        assert_refused(schema, "#/properties/region:", why);
    }
    assert_refused(PROPERTIES("\"a\":{\"x-mcp-header\":\"A\"}"), "#/properties/a:", why);
    assert_refused(ROOT("\"x-mcp-header\":\"A\""), "of #:", why);
}

TEST(annotations_stand_where_properties_alone_lead, "")
{
    static const char why[] = "is not reached through \"properties\" alone";
    static const struct {
        const char *schema, *place;
    } bad[] = {
        {PROPERTIES("\"a\":{\"items\":" REGION "}"), "#/properties/a/items:"},
        {PROPERTIES("\"a\":{\"prefixItems\":[true," REGION "]}"), "#/properties/a/prefixItems:"},
        {PROPERTIES("\"a\":{\"unknown\":[[" REGION "]]}"), "#/properties/a/unknown:"},
        {PROPERTIES("\"a\":{\"items\":{\"properties\":{\"b\":" REGION "}}}"),
         "#/properties/a/items/properties/b:"},
        {PROPERTIES("\"a\":{\"oneOf\":[" REGION "]}"), "#/properties/a/oneOf:"},
        {ROOT("\"oneOf\":[{\"properties\":{\"a\":" REGION "}}]"), "#/oneOf/properties/a:"},
        {ROOT("\"anyOf\":[{\"properties\":{\"a\":" REGION "}}]"), "#/anyOf/properties/a:"},
        {ROOT("\"allOf\":[{\"properties\":{\"a\":" REGION "}}]"), "#/allOf/properties/a:"},
        {ROOT("\"not\":{\"properties\":{\"a\":" REGION "}}"), "#/not/properties/a:"},
        {ROOT("\"if\":{\"properties\":{\"a\":" REGION "}}"), "#/if/properties/a:"},
        {ROOT("\"then\":{\"properties\":{\"a\":" REGION "}}"), "#/then/properties/a:"},
        {ROOT("\"else\":{\"properties\":{\"a\":" REGION "}}"), "#/else/properties/a:"},
        {ROOT("\"$defs\":{\"r\":" REGION "}"), "#/$defs/r:"},
        {ROOT("\"definitions\":{\"properties\":" REGION "}"), "#/definitions/properties:"},
        {ROOT("\"additionalProperties\":" REGION), "#/additionalProperties:"},
        {ROOT("\"patternProperties\":{\"^a\":" REGION "}"), "#/patternProperties/^a:"},
        {ROOT("\"propertyNames\":" REGION), "#/propertyNames:"},
        {ROOT("\"dependentSchemas\":{\"const\":" REGION "}"), "#/dependentSchemas/const:"},
    };
    for (size_t i = 0; i < OWL_COUNT(bad); i++)
        assert_refused(bad[i].schema, bad[i].place, why);
}

/* A schema with a property at that depth of properties, each a member of the one before. */
static void nest(char *out, size_t size, unsigned depth, const char *inner)
{
    size_t n = (size_t)snprintf(out, size, "{\"type\":\"object\"");
    for (unsigned i = 1; i < depth; i++)
        n += (size_t)snprintf(out + n, size - n, ",\"properties\":{\"p\":{\"x\":0");
    n += (size_t)snprintf(out + n, size - n, ",\"properties\":{\"p\":%s}", inner);
    for (unsigned i = 1; i < depth; i++)
        n += (size_t)snprintf(out + n, size - n, "}}");
    snprintf(out + n, size - n, "}");
}

TEST(paths_have_a_limit, "")
{
    char schema[4096];
    nest(schema, sizeof schema, 16, REGION);
    struct owl_item *it = make(schema);
    assert_int_equal(it->n_headers, 1);
    assert_int_equal(it->headers[0].n_path, 16);
    owl_item_aunref(it);
    nest(schema, sizeof schema, 17, REGION);
    assert_refused(schema, "#/properties/p/", "is nested too deeply; 16 levels are possible");
}

TEST(the_deepest_schema_can_be_walked, "")
{
    char schema[4096];
    nest(schema, sizeof schema, 31, "{\"enum\":[]}"); /* 64 levels */
    owl_item_aunref(make(schema));
    nest(schema, sizeof schema, 31, "{\"items\":{}}");
    owl_item_aunref(make(schema));
    nest(schema, sizeof schema, 31, "{\"items\":{\"default\":[]}}");
    struct owl_item *it = NULL;
    assert_int_equal(build(schema, &it, NULL), -OWL_EINVAL);
}

static void many(char *out, size_t size, unsigned count)
{
    size_t n = (size_t)snprintf(out, size, "{\"type\":\"object\",\"properties\":{");
    for (unsigned i = 0; i < count; i++)
        n += (size_t)snprintf(out + n, size - n,
                              "%s\"p%u\":{\"type\":\"string\",\"x-mcp-header\":\"H%u\"}",
                              i ? "," : "", i, i);
    snprintf(out + n, size - n, "}}");
}

TEST(headers_have_a_limit, "")
{
    char schema[8192];
    many(schema, sizeof schema, 64);
    struct owl_item *it = make(schema);
    assert_int_equal(it->n_headers, 64);
    assert_header(it, 63, "H63", "/p63");
    owl_item_aunref(it);
    many(schema, sizeof schema, 65);
    assert_refused(schema, "#/properties/p64:", "is one too many; 64 are possible");
}

TEST(without_memory_a_mirrored_tool_is_an_error_and_leaks_nothing, "")
{
    char schema[8192];
    many(schema, sizeof schema, 64);
    unsigned long n = 0;
    int rc;
    do {
        struct owl_item *it = NULL;
        owl_error e = {0};
        owl_alloc_fail_at(++n);
        rc = build(schema, &it, &e);
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

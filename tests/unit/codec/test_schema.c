/* Unit tests of codec/schema: errors of schemas, limits, memory, threads. */
#include "unit/codec/schemas.h"

#include "base/alloc.h"
#include "base/block.h"
#include "base/buf.h"

#include <pthread.h>

/* ---- schemas that are none ------------------------------------------------------------------ */

TEST(a_schema_that_is_none_is_refused_with_the_place_and_the_reason, "")
{
    static const struct {
        const char *schema;
        int code;
        const char *text;
    } cases[] = {
        {"{", OWL_EPARSE, "byte"},
        {"12", OWL_EINVAL, "schema #: a schema must be an object, true or false"},
        {"{\"type\":12}", OWL_EINVAL, "schema #/type: type must be null"},
        {"{\"type\":[\"strin\"]}", OWL_EINVAL, "schema #/type/0: is no type"},
        {"{\"properties\":{\"a\":{\"minimum\":\"1\"}}}", OWL_EINVAL,
         "schema #/properties/a/minimum: minimum must be a number"},
        {"{\"properties\":[]}", OWL_EINVAL, "properties must be an object"},
        {"{\"required\":[\"a\",\"a\"]}", OWL_EINVAL, "names a property twice"},
        {"{\"required\":[1]}", OWL_EINVAL, "schema #/required/0: must be a string"},
        {"{\"anyOf\":[]}", OWL_EINVAL, "anyOf must be an array of schemas that is not empty"},
        {"{\"maxLength\":-1}", OWL_EINVAL, "maxLength must be a whole number"},
        {"{\"minItems\":1.5}", OWL_EINVAL, "minItems must be a whole number"},
        {"{\"contains\":{},\"minContains\":\"x\"}", OWL_EINVAL, "minContains must be"},
        {"{\"multipleOf\":0}", OWL_EINVAL, "multipleOf must be greater than 0"},
        {"{\"multipleOf\":1.0000000000000000001}", OWL_EINVAL, "18 significant digits"},
        {"{\"pattern\":\"(\"}", OWL_EINVAL, "schema #/pattern: not a regular expression"},
        {"{\"patternProperties\":{\"\\\\a\":true}}", OWL_EINVAL, "this escape is unknown"},
        {"{\"uniqueItems\":1}", OWL_EINVAL, "uniqueItems must be true or false"},
        {"{\"enum\":1}", OWL_EINVAL, "enum must be an array"},
        {"{\"format\":1}", OWL_EINVAL, "format must be a string"},
        {"{\"prefixItems\":{}}", OWL_EINVAL, "prefixItems must be an array"},
        {"{\"$id\":1}", OWL_EINVAL, "$id must be a string"},
        {"{\"$id\":\"a#b\"}", OWL_EINVAL, "use $anchor"},
        {"{\"$ref\":1}", OWL_EINVAL, "a reference must be a string"},
        {"{\"$ref\":\"#/no\"}", OWL_ENOTFOUND, "\"#/no\" leads nowhere"},
        {"{\"$ref\":\"#no\"}", OWL_ENOTFOUND, "\"#no\" leads nowhere"},
        {"{\"$ref\":\"https://example.com/x.json\"}", OWL_ENOTFOUND,
         "\"https://example.com/x.json\" leads nowhere"},
        {"{\"$ref\":\"#/$defs/%zz\",\"$defs\":{\"%zz\":{}}}", OWL_EINVAL,
         "schema #/$ref: the reference has a % that begins no escape"},
        {"{\"$ref\":\"#/$defs/%2\",\"$defs\":{\"%2\":{}}}", OWL_EINVAL, "begins no escape"},
        {"{\"$anchor\":\"1a\"}", OWL_EINVAL, "schema #/$anchor: $anchor must be letters"},
        {"{\"$anchor\":\"a b\"}", OWL_EINVAL, "$anchor must be letters"},
        {"{\"$anchor\":\"\"}", OWL_EINVAL, "$anchor must be letters"},
        {"{\"$dynamicAnchor\":\"#a\"}", OWL_EINVAL, "$dynamicAnchor must be letters"},
        {"{\"$dynamicAnchor\":\"a:b\"}", OWL_EINVAL, "$dynamicAnchor must be letters"},
        {"{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\",\"$anchor\":\"_a\"}",
         OWL_EINVAL, "$anchor must be letters"},
        {"{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\",\"$recursiveRef\":\"#a\","
         "\"$anchor\":\"a\"}",
         OWL_EINVAL, "$recursiveRef must be \"#\""},
        {"{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\",\"$recursiveAnchor\":1}",
         OWL_EINVAL, "$recursiveAnchor must be true or false"},
        {"{\"type\":[\"string\",\"string\"]}", OWL_EINVAL, "schema #/type/1: names a type twice"},
        {"{\"dependentRequired\":{\"a\":[\"b\",\"b\"]}}", OWL_EINVAL,
         "schema #/dependentRequired/a: names a property twice"},
        {"{\"$schema\":\"http://json-schema.org/draft-07/schema\","
         "\"dependencies\":{\"a\":[\"b\",\"b\"]}}",
         OWL_EINVAL, "names a property twice"},
        {"{\"$defs\":{\"a\":1}}", OWL_EINVAL, "schema #/$defs/a: a schema must be an object"},
        {"{\"$defs\":[]}", OWL_EINVAL, "schema #/$defs: $defs must be an object"},
        {"{\"$schema\":\"http://json-schema.org/draft-07/schema\",\"definitions\":{\"a\":1}}",
         OWL_EINVAL, "schema #/definitions/a: a schema must be an object"},
        {"{\"$schema\":\"http://json-schema.org/draft-07/schema\",\"definitions\":[]}", OWL_EINVAL,
         "definitions must be an object"},
        {"{\"$schema\":\"http://json-schema.org/draft-07/schema\",\"additionalItems\":1}",
         OWL_EINVAL, "schema #/additionalItems: a schema must be an object"},
        {"{\"then\":1}", OWL_EINVAL, "schema #/then: a schema must be an object"},
        {"{\"minContains\":-1}", OWL_EINVAL, "minContains must be a whole number"},
        {"{\"maxContains\":-1}", OWL_EINVAL, "maxContains must be a whole number"},
        {"{\"$id\":\"http://[x\"}", OWL_EINVAL, "schema #/$id: $id is no URI reference"},
        {"{\"contentSchema\":{\"type\":\"foo\"}}", OWL_EINVAL, "schema #/contentSchema/type: "},
        {"{\"contentSchema\":{\"$ref\":\"#/nope\"}}", OWL_ENOTFOUND, "leads nowhere"},
        {"{\"$schema\":\"http://json-schema.org/draft-04/schema#\"}", OWL_ENOTFOUND,
         "unknown dialect \"http://json-schema.org/draft-04/schema\""},
        {"{\"$defs\":{\"a\":{\"$anchor\":\"x\"},\"b\":{\"$anchor\":\"x\"}}}", OWL_EINVAL,
         "the anchor \"x\" is there twice"},
        {"{\"$defs\":{\"a\":{\"$id\":\"x:x\"},\"b\":{\"$id\":\"x:x\"}}}", OWL_EINVAL,
         "the $id \"x:x\" is there twice"},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        struct owl_schema *s = NULL;
        owl_error err = {0};
        int rc = owl_schema_compile(owl_str_of(cases[i].schema), NULL, &s, &err);
        if (rc != -cases[i].code || !strstr(err.message, cases[i].text))
            fail_msg("%s: %d %s", cases[i].schema, rc, err.message);
        assert_null(s);
    }
}

TEST(a_registry_takes_what_has_a_name_once, "")
{
    struct owl_schema_registry *r = owl_schema_registry_new();
    owl_error err = {0};
    assert_non_null(r);
    owl_str named = OWL_STR("{\"$id\":\"https://x.y/a\",\"type\":\"string\"}");
    assert_int_equal(owl_schema_registry_add(r, OWL_STR(""), OWL_STR("{"), &err), -OWL_EPARSE);
    assert_int_equal(owl_schema_registry_add(r, OWL_STR(""), OWL_STR("{}"), &err), -OWL_EINVAL);
    assert_int_equal(owl_schema_registry_add(r, OWL_STR("a/b"), OWL_STR("{}"), &err), -OWL_EINVAL);
    assert_int_equal(owl_schema_registry_add(r, OWL_STR(""), named, &err), 0);
    assert_int_equal(owl_schema_registry_add(r, OWL_STR(""), named, &err), -OWL_EEXISTS);
    assert_int_equal(owl_schema_registry_add(r, OWL_STR("https://x.y/b"), named, &err), 0);
    struct owl_schema_options o = {.registry = r, .uri = OWL_STR("https://x.y/main")};
    struct owl_schema *s = NULL;
    assert_int_equal(owl_schema_compile(OWL_STR("{\"$ref\":\"b#\"}"), &o, &s, &err), 0);
    owl_schema_registry_free(r);
    bool ok = true;
    assert_int_equal(owl_schema_validate(s, OWL_STR("1"), &ok, &err), 0);
    assert_false(ok);
    assert_true(owl_schema_size(s) > 0);
    owl_schema_free(s);
    owl_schema_free(NULL);
    owl_schema_registry_free(NULL);
}

static void load_missing(void *data, owl_str uri)
{
    struct owl_schema_registry *r = data;
    owl_error err = {0};
    assert_false(owl_str_is(uri, "https://json-schema.org/draft/2020-12/schema"));
    if (owl_str_is(uri, "https://x.y/a"))
        assert_int_equal(owl_schema_registry_add(r, uri, OWL_STR("{\"$ref\":\"b\"}"), &err), 0);
    if (owl_str_is(uri, "https://x.y/b"))
        assert_int_equal(owl_schema_registry_add(r, uri, OWL_STR("{\"type\":\"null\"}"), &err), 0);
}

TEST(a_registry_asks_for_what_it_lacks, "")
{
    struct owl_schema_registry *r = owl_schema_registry_new();
    assert_non_null(r);
    owl_schema_registry_on_missing(r, load_missing, r);
    struct owl_schema_options o = {.registry = r, .uri = OWL_STR("https://x.y/main")};
    struct owl_schema *s = NULL;
    owl_error err = {0};
    owl_str text = OWL_STR("{\"allOf\":[{\"$ref\":\"a\"},"
                           "{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}]}");
    assert_int_equal(owl_schema_compile(text, &o, &s, &err), 0);
    bool ok = true;
    assert_int_equal(owl_schema_validate(s, OWL_STR("true"), &ok, &err), 0);
    assert_false(ok);
    owl_schema_free(s);
    assert_int_equal(owl_schema_compile(OWL_STR("{\"$ref\":\"c\"}"), &o, &s, &err), -OWL_ENOTFOUND);
    owl_schema_registry_free(r);
}

static void load_other(void *data, owl_str uri)
{
    static const char *const documents[][2] = {
        {"https://x.y/a", "{\"$id\":\"https://other/a\",\"type\":\"string\",\"x\":"
                          "{\"$anchor\":\"x\",\"maxLength\":1}}"},
        {"https://x.y/bad", "{\"properties\":{\"p\":{\"type\":\"foo\"}}}"},
        {"https://x.y/odd", "{\"$schema\":\"https://x.y/unknown\"}"},
    };
    struct owl_schema_registry *r = data;
    for (size_t i = 0; i < OWL_COUNT(documents); i++) {
        owl_error err = {0};
        if (owl_str_is(uri, documents[i][0]))
            assert_int_equal(owl_schema_registry_add(r, uri, owl_str_of(documents[i][1]), &err), 0);
    }
}

/* Which reference loads a document, and which only leads into it, does not matter. */
TEST(references_may_stand_in_any_order, "")
{
    static const char *const schemas[] = {
        "{\"allOf\":[{\"$ref\":\"https://x.y/a\"},{\"$ref\":\"https://other/a\"}]}",
        "{\"allOf\":[{\"$ref\":\"https://other/a\"},{\"$ref\":\"https://x.y/a\"}]}",
        "{\"allOf\":[{\"$ref\":\"https://other/a#x\"},{\"$ref\":\"https://x.y/a#/x\"}]}",
    };
    for (size_t i = 0; i < OWL_COUNT(schemas); i++) {
        struct owl_schema_registry *r = owl_schema_registry_new();
        assert_non_null(r);
        owl_schema_registry_on_missing(r, load_other, r);
        struct owl_schema_options o = {.registry = r};
        struct owl_schema *s = NULL;
        owl_error err = {0};
        if (owl_schema_compile(owl_str_of(schemas[i]), &o, &s, &err))
            fail_msg("%s: %s", schemas[i], err.message);
        bool ok = false;
        assert_int_equal(owl_schema_validate(s, OWL_STR("\"a\""), &ok, &err), 0);
        assert_true(ok);
        assert_int_equal(
            owl_schema_validate(s, i < 2 ? OWL_STR("1") : OWL_STR("\"aa\""), &ok, &err), 0);
        assert_false(ok);
        owl_schema_free(s);
        owl_schema_registry_free(r);
    }
}

TEST(faults_of_other_documents_are_told_with_their_uri, "")
{
    static const char *const cases[][2] = {
        {"{\"$ref\":\"https://x.y/bad\"}", "schema https://x.y/bad#/properties/p/type: type must"},
        {"{\"type\":1}", "schema #/type: type must"},
        {"{\"$ref\":\"https://x.y/odd\"}", "unknown dialect \"https://x.y/unknown\""},
        {"{\"items\":{\"$ref\":\"https://x.y/no\"},\"contains\":{\"$ref\":\"#no\"}}",
         "\"https://x.y/no\" leads nowhere"},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        struct owl_schema_registry *r = owl_schema_registry_new();
        assert_non_null(r);
        owl_schema_registry_on_missing(r, load_other, r);
        struct owl_schema_options o = {.registry = r};
        struct owl_schema *s = NULL;
        owl_error err = {0};
        assert_true(owl_schema_compile(owl_str_of(cases[i][0]), &o, &s, &err) < 0);
        if (!strstr(err.message, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], err.message);
        owl_schema_registry_free(r);
    }
}

TEST(lengths_are_counted_in_characters, "")
{
    static const struct {
        const char *schema, *instance;
        bool valid;
    } cases[] = {
        {"{\"maxLength\":2}", "\"\xc3\xa9\xe2\x82\xac\"", true},
        {"{\"maxLength\":1}", "\"\xc3\xa9\xe2\x82\xac\"", false},
        {"{\"minLength\":2}", "\"\xf0\x9f\xa6\x89\"", false},
        {"{\"minLength\":1}", "\"\xf0\x9f\xa6\x89\"", true},
        {"{\"minLength\":1,\"maxLength\":1}", "\"\\ud83e\\udd89\"", true},
        {"{\"minLength\":2}", "\"\\ud83e\\udd89\"", false},
        {"{\"minLength\":2}", "\"\\ud83e\\udd89\\n\"", true},
        {"{\"maxLength\":3}", "\"abcdefghijklmnopq\"", false},
        {"{\"minLength\":3}", "\"abcdefghijklmnopq\"", true},
        {"{\"minLength\":0}", "\"\"", true},
        {"{\"maxLength\":0}", "\"\"", true},
        {"{\"maxLength\":1e30}", "\"a\"", true},
        {"{\"minLength\":1e30}", "\"a\"", false},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++)
        if (valid(cases[i].schema, cases[i].instance) != cases[i].valid)
            fail_msg("%s of %s", cases[i].schema, cases[i].instance);
}

/* Names that differ in the middle only look the same to the quick hash. */
/* It asserts nothing, but it may be referred to. */
TEST(a_schema_of_content_is_a_schema, "")
{
    static const char *const schemas[] = {
        "{\"contentSchema\":{\"$anchor\":\"a\",\"type\":\"integer\"},\"$ref\":\"#a\"}",
        "{\"contentSchema\":{\"$id\":\"x:y\",\"type\":\"integer\"},\"$ref\":\"x:y\"}",
        ("{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\","
         "\"contentSchema\":{\"$anchor\":\"a\",\"type\":\"integer\"},\"$ref\":\"#a\"}"),
    };
    for (size_t i = 0; i < OWL_COUNT(schemas); i++) {
        assert_true(valid(schemas[i], "1"));
        assert_false(valid(schemas[i], "\"1\""));
    }
    assert_true(valid("{\"contentSchema\":false}", "\"1\""));
}

/* Programs write null where they have nothing to say; what asserts nothing must not cost a tool. */
TEST(annotations_may_be_anything, "")
{
    assert_true(
        valid("{\"title\":null,\"description\":null,\"examples\":{},\"deprecated\":\"soon\","
              "\"readOnly\":1,\"$comment\":1,\"contentMediaType\":null}",
              "1"));
}

TEST(dialects_are_known_by_either_scheme, "")
{
    static const struct {
        const char *schema;
        bool valid;
    } cases[] = {
        {"{\"$schema\":\"http://json-schema.org/draft-06/schema#\",\"if\":true,\"then\":false}",
         true},
        {"{\"$schema\":\"http://json-schema.org/draft-06/schema#\",\"if\":1}", true},
        {"{\"$schema\":\"http://json-schema.org/draft-06/schema#\",\"type\":\"string\"}", false},
        {"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"if\":true,\"then\":false}",
         false},
        {"{\"$schema\":\"https://json-schema.org/draft-07/schema\",\"prefixItems\":1}", true},
        {"{\"$schema\":\"http://json-schema.org/draft/2020-12/schema\",\"if\":true,\"then\":false}",
         false},
        {"{\"$schema\":\"http://json-schema.org/draft/2019-09/schema#\",\"prefixItems\":1}", true},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        if (valid(cases[i].schema, "1") != cases[i].valid)
            fail_msg("%s", cases[i].schema);
    }
}

TEST(names_that_look_alike_are_told_apart, "")
{
    enum { N = 60 };
    struct owl_buf schema, instance;
    owl_buf_init(&schema, 1 << 20);
    owl_buf_init(&instance, 1 << 20);
    owl_buf_putz(&schema, "{\"additionalProperties\":false,\"properties\":{\"a\":{\"enum\":[");
    for (int i = 0; i < N; i++)
        owl_buf_printf(&schema, "%s\"beginning %02d is the end\"", i ? "," : "", i);
    owl_buf_putz(&schema, "]}");
    for (int i = 0; i < N; i++)
        owl_buf_printf(&schema, ",\"property_%02d_of_many\":{\"const\":%d}", i, i);
    owl_buf_putz(&schema, "},\"required\":[\"property_07_of_many\",\"other_77_of_many\"],"
                          "\"patternProperties\":{\"^other\":true}}");
    owl_buf_putc(&schema, '\0');
    for (int i = 0; i < N + 1; i++) {
        owl_buf_done(&instance);
        owl_buf_init(&instance, 1 << 20);
        owl_buf_printf(&instance, "{\"other_77_of_many\":0,\"a\":\"beginning %02d is the end\"", i);
        for (int j = N - 1; j >= 0; j--)
            owl_buf_printf(&instance, ",\"property_%02d_of_many\":%d", j, j);
        owl_buf_putz(&instance, "}");
        owl_buf_putc(&instance, '\0');
        assert_int_equal(valid(schema.p, instance.p), i < N);
    }
    assert_false(valid(schema.p, "{\"property_07_of_many\":7}"));
    assert_true(valid(schema.p, "{\"property_07_of_many\":7,\"other_77_of_many\":1}"));
    assert_false(valid(schema.p, "{\"property_07_of_many\":8,\"other_77_of_many\":1}"));
    assert_false(valid(schema.p, "{\"property_07_of_many\":7,\"other_77_of_many\":1,"
                                 "\"property_77_of_many\":77}"));
    owl_buf_done(&schema);
    owl_buf_done(&instance);
}

TEST(numbers_are_exact, "")
{
    assert_false(valid("{\"const\":1e4611686018427387904}", "1e4611686018427387905"));
    assert_true(valid("{\"const\":1e4611686018427387904}", "10e4611686018427387903"));
    assert_true(valid("{\"uniqueItems\":true}", "[1e4611686018427387904,1e4611686018427387905]"));
    assert_false(valid("{\"maximum\":9007199254740992}", "9007199254740993"));
    assert_true(valid("{\"const\":1.0}", "10e-1"));
    assert_false(valid("{\"const\":0.1}", "0.10000000000000000001"));
    assert_true(valid("{\"multipleOf\":0.01}", "19.99"));
    assert_true(valid("{\"multipleOf\":0.01}", "1234567890123456789012345678901234567890.13"));
    assert_false(valid("{\"multipleOf\":0.01}", "0.015"));
    assert_true(valid("{\"multipleOf\":3}", "3e1000000000"));
    assert_false(valid("{\"multipleOf\":7}", "3e1000000000"));
    assert_true(valid("{\"type\":\"integer\"}", "1.50e1"));
    assert_false(valid("{\"type\":\"integer\"}", "1.55e1"));
    assert_false(valid("{\"uniqueItems\":true}", "[1,2,3,4,5,6,7,8,9,10,1e1]"));
    assert_true(valid("{\"uniqueItems\":true}", "[1,2,3,4,5,6,7,8,9,10,true,[1],{\"a\":1},[2]]"));
    assert_false(valid("{\"uniqueItems\":true}",
                       "[1,2,3,4,5,6,7,8,{\"a\":1,\"b\":[2]},{\"\\u0062\":[2.0],\"a\":1}]"));
}

/* A handler reads a double: one that is beyond a bound must not reach it. */
TEST(what_would_be_rounded_across_a_bound_is_refused, "")
{
    static const struct {
        const char *schema, *instance;
        bool is;
    } cases[] = {
        {"{\"exclusiveMaximum\":1}", "0.99999999999999999999", false},
        {"{\"exclusiveMaximum\":1}", "0.9999999999999999", true},
        {"{\"exclusiveMinimum\":1}", "1.00000000000000000001", false},
        {"{\"exclusiveMinimum\":-0.0}", "1e-400", false}, /* which reads as 0 */
        {"{\"exclusiveMinimum\":0}", "5e-324", true},
        {"{\"exclusiveMinimum\":0}", "2e-324", false},
        {"{\"exclusiveMaximum\":1e400}", "1e399", false}, /* both are infinite */
        {"{\"exclusiveMaximum\":0.1}", "0.09999999999999999999999", false},
        {"{\"exclusiveMaximum\":0.1}", "0.0999999999999999", true},
        {"{\"maximum\":0.1}", "0.09999999999999999999999", true},
        {"{\"maximum\":0.1}", "0.1", true},
        {"{\"maximum\":18446744073709551615}", "18446744073709551600", true},
        {"{\"exclusiveMaximum\":18446744073709551615}", "18446744073709551600", false},
        /* Integers of 64 bits are read as they are, however they are written. */
        {"{\"exclusiveMaximum\":9007199254740993}", "9007199254740992", true},
        {"{\"exclusiveMaximum\":9007199254740993}", "9007199254740992.0", true},
        {"{\"exclusiveMinimum\":-9223372036854775808}", "-9223372036854775807", true},
        {"{\"exclusiveMinimum\":9007199254740992}", "900719925474099300e-2", true},
        /* Wherever the bound stands. */
        {"{\"not\":{\"minimum\":1}}", "0.99999999999999999999", false},
        {"{\"not\":{\"minimum\":1}}", "0.9999999999999999", true},
        {"{\"not\":{\"exclusiveMaximum\":1}}", "0.99999999999999999999", false},
        {"{\"if\":{\"minimum\":1},\"then\":{\"type\":\"number\"}}", "0.99999999999999999999",
         false},
        {"{\"oneOf\":[{\"maximum\":1},{\"minimum\":1}]}", "1.00000000000000000001", false},
        {"{\"items\":{\"properties\":{\"a\":{\"exclusiveMaximum\":1}}}}",
         "[{\"a\":0.5},{\"a\":0.99999999999999999999}]", false},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++)
        if (valid(cases[i].schema, cases[i].instance) != cases[i].is)
            fail_msg("%s: %s", cases[i].schema, cases[i].instance);
}

/* ---- limits --------------------------------------------------------------------------------- */

static void assert_stopped(const char *schema, owl_str instance, const char *text)
{
    struct owl_schema *s = compiled(schema);
    bool ok;
    owl_error err = {0};
    struct owl_explanation e;
    assert_int_equal(owl_json_scan(instance, OWL_JSON_DEPTH, NULL), 0);
    assert_int_equal(owl_schema_validate(s, instance, &ok, &err), -OWL_ELIMIT);
    if (!strstr(err.message, text))
        fail_msg("%s", err.message);
    struct owl_arena *a = owl_arena_new(0);
    assert_int_equal(owl_schema_explain(s, instance, a, &e, &err), -OWL_ELIMIT);
    owl_arena_free(a);
    owl_schema_free(s);
}

TEST(schemas_that_lead_to_themselves_end, "")
{
    assert_stopped("{\"$ref\":\"#\"}", OWL_STR("1"), "without end");
    assert_stopped("{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"allOf\":[{\"$ref\":"
                   "\"#/$defs/a\"}]}},\"$ref\":\"#/$defs/a\"}",
                   OWL_STR("1"), "without end");
    assert_stopped("{\"$dynamicAnchor\":\"x\",\"$dynamicRef\":\"#x\"}", OWL_STR("1"),
                   "without end");
    assert_true(valid("{\"items\":{\"$ref\":\"#\"}}", "[[[[]]],[]]"));
}

/* Schemas that are nothing but a reference are passed over, unless they go round in a circle. */
TEST(references_may_be_chained, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 1 << 20);
    owl_buf_putz(&b, "{\"items\":{\"$ref\":\"#/$defs/d0\"},\"$defs\":{");
    for (int i = 0; i < 50; i++)
        owl_buf_printf(&b, "\"d%d\":{\"$ref\":\"#/$defs/d%d\"},", i, i + 1);
    owl_buf_putz(&b, "\"d50\":{\"type\":\"integer\"}}}");
    owl_buf_putc(&b, '\0');
    assert_true(valid(b.p, "[1,2]"));
    assert_false(valid(b.p, "[1,\"2\"]"));
    owl_buf_done(&b);
    static const char *const circles[] = {
        "{\"items\":{\"$ref\":\"#/items\"}}",
        "{\"items\":{\"$ref\":\"#/$defs/a\"},\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},"
        "\"b\":{\"$ref\":\"#/$defs/c\"},\"c\":{\"$ref\":\"#/$defs/a\"}}}",
    };
    for (size_t i = 0; i < OWL_COUNT(circles); i++) {
        struct owl_schema *s = compiled(circles[i]);
        bool ok;
        assert_int_equal(owl_schema_validate(s, OWL_STR("[1]"), &ok, NULL), -OWL_ELIMIT);
        owl_schema_free(s);
    }
}

TEST(bombs_run_out_of_steps, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 1 << 20);
    owl_buf_putz(&b, "{\"$defs\":{\"d0\":{\"not\":{}}");
    for (int i = 1; i < 40; i++)
        owl_buf_printf(
            &b, ",\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]}", i,
            i - 1, i - 1);
    owl_buf_putz(&b, "},\"$ref\":\"#/$defs/d39\"}");
    owl_buf_putc(&b, '\0');
    assert_stopped(b.p, OWL_STR("1"), "too many steps");
    owl_buf_done(&b);
    assert_false(valid("{\"pattern\":\"^(a+)+$\"}",
                       "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\""));
    assert_stopped("{\"pattern\":\"^(a+)+\\\\1$\"}",
                   OWL_STR("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\""),
                   "a pattern takes too many steps");
}

TEST(patterns_that_backtrack_are_paid_for, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 1 << 20);
    for (int i = 0; i < 2000; i++) /* each within its own limit */
        owl_buf_printf(&b, "%s\"aaaaaaaaaaaaa!\"", i ? "," : "[");
    owl_buf_putc(&b, ']');
    assert_stopped("{\"items\":{\"not\":{\"pattern\":\"^(a+)+\\\\1$\"}}}", owl_buf_str(&b),
                   " takes too many steps");
    owl_buf_done(&b);
}

/* Appends an array of @p n numbers of 1,004 digits, of which only the last tell them apart. */
static void put_long_numbers(struct owl_buf *b, int n, int first)
{
    char digits[1001];
    memset(digits, '7', sizeof digits);
    digits[1000] = '\0';
    for (int i = 0; i < n; i++)
        owl_buf_printf(b, "%s%s%04d", i ? "," : "[", digits, first + i);
    owl_buf_putc(b, ']');
}

TEST(long_numbers_are_paid_for, "")
{
    struct owl_buf schema, instance;
    owl_buf_init(&schema, 4 << 20);
    owl_buf_init(&instance, 4 << 20);
    owl_buf_putz(&schema, "{\"items\":{\"not\":{\"enum\":");
    put_long_numbers(&schema, 300, 0);
    owl_buf_putz(&schema, "}}}");
    owl_buf_putc(&schema, '\0');
    put_long_numbers(&instance, 300, 1000);
    assert_stopped(schema.p, owl_buf_str(&instance), "validation takes too many steps");
    owl_buf_done(&instance);
    put_long_numbers(&instance, 2000, 0);
    owl_buf_putc(&instance, '\0');
    assert_true(valid("{\"uniqueItems\":true}", instance.p)); /* no two have the same hash */
    owl_buf_done(&instance);
    owl_buf_done(&schema);
    owl_buf_init(&instance, 4 << 20);
    for (int i = 0; i < 100000; i++)
        owl_buf_putz(&instance, "7777777777");
    owl_buf_init(&schema, 4 << 20);
    owl_buf_putz(&schema, "{\"allOf\":[{\"minimum\":1}");
    for (int i = 0; i < 200; i++)
        owl_buf_putz(&schema, ",{\"minimum\":1}");
    owl_buf_putz(&schema, "]}");
    owl_buf_putc(&schema, '\0');
    assert_stopped(schema.p, owl_buf_str(&instance), "validation takes too many steps");
    owl_buf_done(&instance);
    owl_buf_done(&schema);
}

/* A schema of @p n definitions, each with the number of the next one behind @p value. */
static int compile_many(const char *keyword, const char *value, int n, owl_error *reterr)
{
    struct owl_buf b;
    struct owl_schema *s = NULL;
    owl_buf_init(&b, 4 << 20);
    owl_buf_putz(&b, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < n; i++)
        owl_buf_printf(&b, "%s\"d%d\":{\"%s\":\"%s%d\"}", i ? "," : "", i, keyword, value,
                       i + 1 < n ? i + 1 : 0);
    owl_buf_putz(&b, "}}");
    int rc = owl_schema_compile(owl_buf_str(&b), NULL, &s, reterr);
    owl_buf_done(&b);
    if (rc == 0)
        owl_schema_free(s);
    return rc;
}

TEST(lists_that_would_make_compiling_slow_are_paid_for, "")
{
    static const char *const kinds[][2] = {{"$id", "x:"}, {"$anchor", "a"}, {"$ref", "#/$defs/d"}};
    for (size_t i = 0; i < OWL_COUNT(kinds); i++) {
        owl_error err = {0};
        assert_int_equal(compile_many(kinds[i][0], kinds[i][1], 2000, &err), 0);
        assert_int_equal(compile_many(kinds[i][0], kinds[i][1], 20000, &err), -OWL_ELIMIT);
        assert_non_null(strstr(err.message, "too many steps to compile"));
    }
}

TEST(a_keyword_may_be_escaped_like_any_key, "")
{
    assert_false(valid("{\"t\\u0079pe\":\"string\"}", "1"));
    assert_false(valid("{\"pr\\u006fperties\":{\"a\":false}}", "{\"a\":1}"));
    assert_false(valid("{\"\\u0024ref\":\"#/$defs/a\",\"$defs\":{\"a\":false}}", "1"));
}

TEST(a_program_has_a_size, "")
{
    struct owl_schema_options o = {.max_memory = 1500};
    struct owl_schema *s = NULL;
    owl_error err = {0};
    int rc = owl_schema_compile(
        OWL_STR("{\"enum\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,"
                "20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37]}"),
        &o, &s, &err);
    assert_int_equal(rc, -OWL_ELIMIT);
    assert_non_null(strstr(err.message, "1500 bytes"));
    rc = owl_schema_compile(OWL_STR("{\"pattern\":\"((a{1000}){1000}){1000}\"}"), NULL, &s, &err);
    assert_int_equal(rc, -OWL_ELIMIT);
    assert_int_equal(err.code, OWL_ELIMIT);
    assert_non_null(strstr(err.message, "too large"));
}

TEST(deep_instances_need_no_stack, "")
{
    enum { DEEP = 10000 };
    struct owl_schema_options o = {.max_depth = 3 * DEEP};
    struct owl_schema *s = NULL, *shallow = compiled("{\"items\":{\"$ref\":\"#\"}}");
    assert_int_equal(owl_schema_compile(OWL_STR("{\"items\":{\"$ref\":\"#\"}}"), &o, &s, NULL), 0);
    char *deep = malloc(2 * DEEP);
    assert_non_null(deep);
    memset(deep, '[', DEEP);
    memset(deep + DEEP, ']', DEEP);
    bool ok = false;
    assert_int_equal(owl_schema_validate(s, (owl_str){deep, 2 * DEEP}, &ok, NULL), 0);
    assert_true(ok);
    assert_int_equal(owl_schema_validate(shallow, (owl_str){deep, 2 * DEEP}, &ok, NULL),
                     -OWL_ELIMIT);
    free(deep);
    owl_schema_free(s);
    owl_schema_free(shallow);
}

/* ---- memory and threads --------------------------------------------------------------------- */

static const char everything[] =
    "{\"$id\":\"https://x.y/z\",\"$defs\":{\"a\":{\"$anchor\":\"a\",\"pattern\":\"^[a-z]*$\"}},"
    "\"properties\":{\"a\":{\"$ref\":\"#a\"},\"b\":{\"items\":{\"$ref\":\"#/$defs/a\"},"
    "\"uniqueItems\":true,\"unevaluatedItems\":false},\"c\":{\"enum\":[\"x\",{\"y\":[1]},2]}},"
    "\"patternProperties\":{\"^p\":{\"anyOf\":[{\"type\":\"null\"},{\"contains\":{\"const\":1}}]}},"
    "\"allOf\":[{\"dependentRequired\":{\"a\":[\"b\"]}},{\"dependentSchemas\":{\"a\":{\"required\":"
    "["
    "\"c\"]}}}],\"if\":{\"minProperties\":1},\"then\":{\"propertyNames\":{\"maxLength\":9}},"
    "\"unevaluatedProperties\":{\"format\":\"date\"}}";
static const char fits[] =
    "{\"a\":\"b\\u0063\",\"b\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"],"
    "\"c\":{\"y\":[1.0]},\"p\":[1],\"q\":\"2020-01-01\"}";
static const char fails[] =
    "{\"a\":\"B\",\"b\":[\"a\",\"a\"],\"c\":{\"y\":[2]},\"p\":[2],\"q\":\"x\"}";

TEST(without_memory_every_step_fails_cleanly, "")
{
    struct owl_schema_options o = {.assert_format = true};
    for (unsigned long n = 1;; n++) {
        struct owl_schema *s = NULL;
        struct owl_arena *a = owl_arena_new(0);
        struct owl_explanation e = {0};
        bool ok = false;
        owl_error err = {0};
        assert_non_null(a);
        owl_thread_keep_nothing();
        owl_alloc_fail_at(n);
        int rc = owl_schema_compile(owl_str_of(everything), &o, &s, &err);
        if (rc == 0)
            rc = owl_schema_validate(s, owl_str_of(fits), &ok, &err);
        if (rc == 0)
            rc = owl_schema_explain(s, owl_str_of(fails), a, &e, &err);
        owl_alloc_fail_at(0);
        owl_schema_free(s);
        if (rc == 0)
            assert_true(ok && e.n == 6);
        else
            assert_int_equal(rc, -OWL_ENOMEM);
        owl_arena_free(a);
        if (rc == 0)
            return;
        assert_true(n < 10000);
    }
}

TEST(a_fault_too_long_to_be_told_is_a_limit, "")
{
    enum { NAME = 2 << 20 };
    struct owl_schema *s = compiled("{\"additionalProperties\":false}");
    struct owl_arena *roomy = owl_arena_new(0), *small = owl_arena_new(1000);
    struct owl_explanation e = {0};
    char *text = malloc(NAME + 6);
    assert_true(text && roomy && small);
    memset(text, 'k', NAME);
    memcpy(text, "{\"", 2);
    memcpy(text + NAME, "\":1}", 5);
    owl_str whole = {text, NAME + 4};
    assert_int_equal(owl_schema_explain(s, whole, roomy, &e, NULL), -OWL_ELIMIT);
    text[2000] = '"';
    memcpy(text + 2001, ":1}", 3);
    assert_int_equal(owl_schema_explain(s, (owl_str){text, 2004}, small, &e, NULL), -OWL_ELIMIT);
    assert_int_equal(e.n, 0);
    free(text);
    owl_arena_free(roomy);
    owl_arena_free(small);
    owl_schema_free(s);
}

TEST(an_ordinary_verdict_takes_no_memory, "")
{
    struct owl_schema *s = compiled(
        "{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"^a\",\"maxLength\":9},"
        "\"b\":{\"type\":\"array\",\"items\":{\"enum\":[\"x\",\"y\"]}},\"c\":{\"anyOf\":[{"
        "\"type\":\"null\"},{\"type\":\"object\",\"properties\":{\"d\":{\"minimum\":1}}}]}},"
        "\"required\":[\"a\"],\"unevaluatedProperties\":false}");
    bool ok = false;
    owl_alloc_fail_at(1);
    int rc = owl_schema_validate(
        s, OWL_STR("{\"a\":\"\\u0061\",\"b\":[\"x\",\"y\"],\"c\":{\"d\":4}}"), &ok, NULL);
    owl_alloc_fail_at(0);
    assert_int_equal(rc, 0);
    assert_true(ok);
    owl_schema_free(s);
}

static void *judge_often(void *schema)
{
    for (int i = 0; i < 200; i++) {
        bool good = false, bad = true;
        if (owl_schema_validate(schema, owl_str_of(fits), &good, NULL) || !good ||
            owl_schema_validate(schema, owl_str_of(fails), &bad, NULL) || bad)
            return NULL;
    }
    return schema;
}

TEST(threads_share_a_schema, "")
{
    struct owl_schema *s = compiled(everything);
    pthread_t threads[4];
    for (size_t i = 0; i < OWL_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, judge_often, s), 0);
    for (size_t i = 0; i < OWL_COUNT(threads); i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, s);
    }
    owl_schema_free(s);
}

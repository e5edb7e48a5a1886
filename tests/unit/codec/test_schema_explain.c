/* Unit tests of codec/schema: explanations. */
#include "unit/codec/schemas.h"

#include "base/alloc.h"
#include "base/buf.h"

/* "instance schema keyword: sentence" of every fault, a line each. */
static void assert_told(const char *schema, const char *instance, const char *want)
{
    struct owl_schema *s = compiled(schema);
    struct owl_arena *a = owl_arena_new(0);
    struct owl_explanation e = {0};
    assert_int_equal(owl_schema_explain(s, owl_str_of(instance), a, &e, NULL), 0);
    struct owl_buf b;
    owl_buf_init(&b, 100000);
    for (size_t i = 0; i < e.n; i++) {
        const struct owl_violation *v = &e.violations[i];
        owl_buf_printf(&b, "%s %s %s: %s\n", v->instance.p, v->schema.p, v->keyword.p,
                       v->sentence.p);
    }
    owl_buf_putc(&b, '\0');
    assert_string_equal(b.p, want);
    owl_buf_done(&b);
    owl_arena_free(a);
    owl_schema_free(s);
}

TEST(every_fault_is_told_in_a_sentence, "")
{
    assert_told(
        "{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"minimum\":3,\"maximum\":1},"
        "\"c/d\":{\"enum\":[1,\"x\"]}},\"required\":[\"e\"],\"additionalProperties\":false}",
        "{\"a\":1,\"b\":2,\"c/d\":null,\"f\":0}",
        "/a #/properties/a/type type: /a must be of type string, but is a number: 1\n"
        "/b #/properties/b/minimum minimum: /b must be at least 3, but is 2\n"
        "/b #/properties/b/maximum maximum: /b must be at most 1, but is 2\n"
        "/c~1d #/properties/c~1d/enum enum: /c~1d must be one of [1,\"x\"], but is null\n"
        "/f #/additionalProperties additionalProperties: /f is not allowed: no such "
        "property is known; known are a, b, c/d\n"
        " #/required required: the value lacks the required property \"e\"\n");
    assert_told(
        "{\"type\":[\"string\",\"array\",\"null\"]}", "{}",
        " #/type type: the value must be of type string, array or null, but is an object\n");
    assert_told("{\"const\":{\"a\":1}}", "[]",
                " #/const const: the value must be {\"a\":1}, but is []\n");
    assert_told("{\"minLength\":3,\"pattern\":\"^x\"}", "\"ab\"",
                " #/minLength minLength: the value must have at least 3 characters, but is \"ab\"\n"
                " #/pattern pattern: the value must match the pattern \"^x\", but is \"ab\"\n");
    assert_told("{\"multipleOf\":2,\"exclusiveMaximum\":3,\"exclusiveMinimum\":3}", "3",
                " #/exclusiveMinimum exclusiveMinimum: the value must be greater than 3, but is 3\n"
                " #/exclusiveMaximum exclusiveMaximum: the value must be less than 3, but is 3\n"
                " #/multipleOf multipleOf: the value must be a multiple of 2, but is 3\n");
    assert_told(
        "{\"maxItems\":1,\"uniqueItems\":true,\"contains\":{\"type\":\"null\"}}", "[1,1]",
        " #/maxItems maxItems: the value must have at most 1 item, but has 2\n"
        " #/uniqueItems uniqueItems: the value must not have equal items, but /0 and /1 are equal\n"
        " #/contains contains: the value must have at least 1 item that fits \"contains\", "
        "but has 0\n");
    assert_told(
        "{\"contains\":true,\"maxContains\":1,\"prefixItems\":[true],\"items\":false}", "[1,2]",
        "/1 #/items items: /1 is one item too many\n"
        " #/maxContains maxContains: the value must have at most 1 item that fits \"contains\", "
        "but has 2\n");
    assert_told("{\"dependentRequired\":{\"a\":[\"b\"]},\"not\":{},\"minProperties\":2}",
                "{\"a\":1}",
                " #/minProperties minProperties: the value must have at least 2 properties, but "
                "has 1\n"
                " #/dependentRequired dependentRequired: the value has \"a\", which needs \"b\" "
                "beside it\n"
                " #/not not: the value must not fit the schema of \"not\", but does\n");
    assert_told("false", "1", " # false: the value is not allowed: no value is valid here\n");
    assert_told("{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}",
                "/ab #/propertyNames/maxLength maxLength: the name of the property \"ab\" must "
                "have at most 1 character\n");
    assert_told("{}", "1", "");
}

/* What is told of the only fault. */
static void assert_sentence(const char *schema, const char *instance, const char *want)
{
    struct owl_schema *s = compiled(schema);
    struct owl_arena *a = owl_arena_new(0);
    struct owl_explanation e = {0};
    assert_int_equal(owl_schema_explain(s, owl_str_of(instance), a, &e, NULL), 0);
    assert_int_equal(e.n, 1);
    assert_string_equal(e.violations[0].sentence.p, want);
    owl_arena_free(a);
    owl_schema_free(s);
}

TEST(a_number_that_would_be_rounded_to_a_bound_is_told, "")
{
    assert_sentence("{\"properties\":{\"a\":{\"exclusiveMaximum\":1}}}",
                    "{\"a\":0.99999999999999999999}",
                    "/a must not be so close to 1 that it is read as 1, but is "
                    "0.99999999999999999999");
    assert_sentence("{\"not\":{\"maximum\":0.0}}", "1e-400",
                    "the value must not be so close to 0.0 that it is read as 0, but is 1e-400");
    assert_sentence("{\"exclusiveMaximum\":1e400}", "1e399",
                    "the value must not be so close to 1e400 that it is read as infinity, but is "
                    "1e399");
    /* What is wrong anyway is told alone. */
    assert_sentence("{\"maximum\":1}", "1.00000000000000000001",
                    "the value must be at most 1, but is 1.00000000000000000001");
}

TEST(all_properties_that_are_known_are_told, "")
{
    assert_sentence("{\"allOf\":[{\"properties\":{\"a\":{},\"b\":{}}}],\"properties\":{\"c\":{},"
                    "\"n\":false},\"required\":[\"a\"],\"unevaluatedProperties\":false}",
                    "{\"a\":1,\"d\":2}",
                    "/d is not allowed: no such property is known; known are c, a, b");
    assert_sentence("{\"properties\":{\"c\":{}},\"patternProperties\":{\"^x-\":{},\"^\\\\d\":{}},"
                    "\"additionalProperties\":false,\"allOf\":[{\"properties\":{\"z\":{}}}]}",
                    "{\"d\":2}",
                    "/d is not allowed: no such property is known; known are c and names that "
                    "match \"^x-\", \"^\\\\d\"");
    assert_sentence("{\"patternProperties\":{\"^x-\":{}},\"additionalProperties\":false}",
                    "{\"d\":2}",
                    "/d is not allowed: no such property is known; known are names that match "
                    "\"^x-\"");
    /* Schemas that lead to one another, and one that does not fit. */
    assert_sentence(
        "{\"$ref\":\"#/$defs/a\",\"if\":{\"required\":[\"q\"],\"properties\":{\"q\":{}}},"
        "\"then\":{\"properties\":{\"r\":{}}},\"dependentSchemas\":{\"q\":{"
        "\"properties\":{\"s\":{}}}},\"unevaluatedProperties\":false,\"$defs\":{\"a\":{"
        "\"properties\":{\"t\":{\"$ref\":\"#\"}}}}}",
        "{\"u\":1}", "/u is not allowed: no such property is known; known are t, s, q, r");
    assert_sentence("{\"if\":{\"required\":[\"q\"]},\"then\":{\"properties\":{\"r\":{}}},"
                    "\"unevaluatedProperties\":false}",
                    "{\"r\":1}",
                    "/r is not allowed here: only a schema that does not fit knows it");
}

TEST(a_value_is_told_for_a_property_or_an_item_only_if_it_is_one, "")
{
#define DEFS "\"$defs\":{\"a\":{\"properties\":{\"b\":{}},\"additionalProperties\":false}}"
    assert_sentence("{\"$ref\":\"#/$defs/a/additionalProperties\",\"not\":{\"not\":{\"$ref\":"
                    "\"#/$defs/a\"}}," DEFS "}",
                    "{}", "the value is not allowed: no value is valid here");
    assert_sentence("{\"items\":{\"$ref\":\"#/$defs/a/additionalProperties\"},"
                    "\"not\":{\"not\":{\"$ref\":\"#/$defs/a\"}}," DEFS "}",
                    "[1]", "/0 is not allowed: no value is valid here");
#undef DEFS
    assert_sentence("{\"$ref\":\"#/$defs/a/items\",\"$defs\":{\"a\":{\"items\":false}}}", "1",
                    "the value is not allowed: no value is valid here");
    assert_sentence("{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"items\":false}}}", "[1]",
                    "/0 is one item too many");
}

TEST(known_properties_without_end_are_cut, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 100000);
    owl_buf_putz(&b, "{\"properties\":{\"a\":true");
    for (int i = 1; i < 25; i++)
        owl_buf_printf(&b, ",\"%d\":true", i);
    owl_buf_putz(&b, "},\"additionalProperties\":false}");
    owl_buf_putc(&b, '\0');
    assert_sentence(b.p, "{\"d\":2}",
                    "/d is not allowed: no such property is known; known are a, 1, 2, 3, 4, 5, 6, "
                    "7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, …");
    owl_buf_reset(&b);
    owl_buf_putz(&b,
                 "{\"properties\":{\"a\":true},\"unevaluatedProperties\":false,\"allOf\":[true");
    for (int i = 0; i < 100; i++)
        owl_buf_putz(&b, ",{}");
    owl_buf_putz(&b, "]}");
    owl_buf_putc(&b, '\0');
    assert_sentence(b.p, "{\"d\":2}",
                    "/d is not allowed: no such property is known; known are a, …");
    owl_buf_done(&b);
}

TEST(how_many_are_contained_is_told_of_the_keyword_that_asks, "")
{
    assert_told("{\"contains\":{\"type\":\"string\"},\"minContains\":2}", "[\"a\",1]",
                " #/minContains minContains: the value must have at least 2 items that fit "
                "\"contains\", but has 1\n");
    assert_told("{\"contains\":{\"type\":\"string\"},\"maxContains\":1}", "[\"a\",\"b\"]",
                " #/maxContains maxContains: the value must have at most 1 item that fits "
                "\"contains\", but has 2\n");
    assert_told("{\"contains\":{\"type\":\"string\"},\"maxContains\":3}", "[]",
                " #/contains contains: the value must have at least 1 item that fits "
                "\"contains\", but has 0\n");
    assert_told("{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"contains\":false,"
                "\"minContains\":2}",
                "[]",
                " #/contains contains: the value must have at least 1 item that fits "
                "\"contains\", but has 0\n");
}

TEST(what_is_wrong_with_a_name_is_not_told_of_the_value, "")
{
    assert_told("{\"propertyNames\":{\"enum\":[\"a\",\"b\"]}}", "{\"c\" : \"a\", \"b\":5}",
                "/c #/propertyNames/enum enum: the name of the property \"c\" must be one of "
                "[\"a\",\"b\"]\n");
    assert_told("{\"properties\":{\"x\":{\"items\":{\"propertyNames\":false}}}}",
                "{\"x\":[{\"c\":\"d\"}]}",
                "/x/0/c #/properties/x/items/propertyNames propertyNames: the name of the property "
                "\"c\" of /x/0 is not allowed: no name is valid here\n");
    assert_told("{\"propertyNames\":{\"type\":\"null\"}}", "{\"c\":null}",
                "/c #/propertyNames/type type: the name of the property \"c\" must be of type "
                "null, but is a string\n");
    assert_told("{\"properties\":{\"items\":false}}", "{\"items\":\"x\"}",
                "/items #/properties/items false: /items is not allowed: no value is valid here\n");
}

TEST(of_alternatives_the_nearest_is_told, "")
{
    static const char shapes[] =
        "{\"anyOf\":[{\"type\":\"string\"},"
        "{\"properties\":{\"kind\":{\"const\":\"a\"},\"x\":{\"type\":\"integer\"}},"
        "\"required\":[\"kind\",\"x\"]},"
        "{\"properties\":{\"kind\":{\"const\":\"b\"},\"y\":{\"type\":\"integer\"}}}]}";
    assert_told(shapes, "{\"kind\":\"b\",\"y\":\"1\"}",
                "/y #/anyOf/2/properties/y/type type: /y must be of type integer, but is a "
                "string: \"1\"\n"
                " #/anyOf anyOf: the value fits none of 3 alternatives; the nearest is told "
                "before\n");
    assert_told(shapes, "{\"kind\":\"a\",\"y\":\"1\"}",
                " #/anyOf/1/required required: the value lacks the required property \"x\"\n"
                " #/anyOf anyOf: the value fits none of 3 alternatives; the nearest is told "
                "before\n");
    assert_told("{\"oneOf\":[{\"minimum\":1},{\"minimum\":2},{\"minimum\":9}]}", "3",
                " #/oneOf oneOf: the value must fit exactly one of 3 alternatives, but fits 2: "
                "#/oneOf/0 and #/oneOf/1\n");
    assert_told("{\"oneOf\":[{\"type\":\"string\"},{\"minimum\":9}]}", "3",
                " #/oneOf/1/minimum minimum: the value must be at least 9, but is 3\n"
                " #/oneOf oneOf: the value fits none of 2 alternatives; the nearest is told "
                "before\n");
}

/* What is told first of two faults, the other one being that no alternative fits. */
static void assert_nearest(const char *schema, const char *instance, const char *want)
{
    struct owl_schema *s = compiled(schema);
    struct owl_arena *a = owl_arena_new(0);
    struct owl_explanation e = {0};
    assert_int_equal(owl_schema_explain(s, owl_str_of(instance), a, &e, NULL), 0);
    assert_int_equal(e.n, 2);
    assert_int_equal(e.left_out, 0);
    assert_string_equal(e.violations[0].sentence.p, want);
    assert_non_null(strstr(e.violations[1].sentence.p, "; the nearest is told before"));
    owl_arena_free(a);
    owl_schema_free(s);
}

TEST(alternatives_that_are_equally_near_are_told_together, "")
{
    assert_nearest("{\"anyOf\":[{\"type\":\"object\",\"required\":[\"id\"]},{\"type\":[\"array\","
                   "\"object\"]},{\"type\":\"string\"}]}",
                   "7", "the value must be of type object, array or string, but is a number: 7");
    assert_nearest("{\"oneOf\":[{\"properties\":{\"kind\":{\"const\":\"a\"}}},{\"properties\":{"
                   "\"kind\":{\"const\":\"b\"}}},{\"properties\":{\"kind\":{\"enum\":[\"d\",\"b\","
                   "[\"e\"]]}}}]}",
                   "{\"kind\":\"c\"}",
                   "/kind must be \"a\", \"b\", \"d\" or [\"e\"], but is \"c\"");
    /* Alternatives within alternatives, in one element of many. */
    assert_nearest(
        "{\"items\":{\"anyOf\":[{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]},{"
        "\"anyOf\":[{\"type\":\"array\"},{\"type\":\"boolean\"}]}]}}",
        "[null,\"x\",7,[]]",
        "/2 must be of type string, null, array or boolean, but is a number: 7");
    /* One that is nearer is told alone. */
    assert_nearest("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"},{\"minimum\":8}]}", "7",
                   "the value must be at least 8, but is 7");
    /* What is wrong in one branch only is told of the first. */
    assert_told("{\"anyOf\":[{\"properties\":{\"k\":{\"const\":\"a\"}},\"required\":[\"x\"]},{"
                "\"properties\":{\"k\":{\"const\":\"b\"}},\"required\":[\"y\"]}]}",
                "{\"k\":\"c\"}",
                "/k #/anyOf/0/properties/k/const const: /k must be \"a\" or \"b\", but is \"c\"\n"
                " #/anyOf/0/required required: the value lacks the required property \"x\"\n"
                " #/anyOf anyOf: the value fits none of 2 alternatives; the nearest is told "
                "before\n");
}

TEST(the_place_in_the_schema_is_a_fragment_of_a_uri, "")
{
    assert_told("{\"properties\":{\"%41 <\303\251>\":{\"type\":\"null\"}}}",
                "{\"%41 <\303\251>\":1}",
                "/%41 <\303\251> #/properties/%2541%20%3C%C3%A9%3E/type type: /%41 <\303\251> must "
                "be of type null, but is a number: 1\n");
    assert_told("{\"$defs\":{\"a/b\":{\"oneOf\":[{\"$anchor\":\"x\"},{}]}},"
                "\"$ref\":\"#/$defs/a~1b\"}",
                "1",
                " #/$defs/a~1b/oneOf oneOf: the value must fit exactly one of 2 alternatives, but "
                "fits 2: #/$defs/a~1b/oneOf/0 and #/$defs/a~1b/oneOf/1\n");
}

TEST(what_is_too_much_is_named, "")
{
    assert_sentence("{\"uniqueItems\":true}", "[1,2,3,4,2]",
                    "the value must not have equal items, but /1 and /4 are equal");
    assert_sentence("{\"properties\":{\"x\":{\"uniqueItems\":true}}}",
                    "{\"x\":[9,8,7,6,5,4,3,{\"a\":1,\"b\":2},1,2,{\"b\":2,\"a\":1.0},1,9]}",
                    "/x must not have equal items, but /x/7 and /x/10 are equal");
    assert_sentence("{\"oneOf\":[false,{},{\"type\":\"string\"},true,true]}", "1",
                    "the value must fit exactly one of 5 alternatives, but fits 3, among them "
                    "#/oneOf/1 and #/oneOf/3");
}

TEST(alternatives_within_alternatives_are_summed_up_once, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 100000);
    owl_buf_putz(&b, "{\"$ref\":\"#/$defs/a12\",\"$defs\":{\"a0\":{\"type\":\"integer\"}");
    for (int i = 0; i < 12; i++)
        owl_buf_printf(&b,
                       ",\"a%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/a%d\"},"
                       "{\"$ref\":\"#/$defs/a%d\"}]}",
                       i + 1, i, i);
    owl_buf_putz(&b, "}}");
    owl_buf_putc(&b, '\0');
    assert_told(b.p, "\"x\"",
                " #/$defs/a0/type type: the value must be of type integer, but is a string: "
                "\"x\"\n"
                " #/$defs/a12/anyOf anyOf: the value fits none of 2 alternatives; the nearest is "
                "told before\n");
    owl_buf_done(&b);
}

/* Elements, then what no alternative fits. */
static struct owl_explanation explained(const char *schema, const char *element, int n,
                                        const char *last, struct owl_arena *a)
{
    struct owl_explanation e = {0};
    struct owl_schema *s = compiled(schema);
    struct owl_buf b;
    owl_buf_init(&b, 100000);
    for (int i = 0; i < n; i++)
        owl_buf_printf(&b, "%s%s", i == 0 ? "[" : ",", element);
    owl_buf_printf(&b, ",%s]", last);
    assert_int_equal(owl_schema_explain(s, owl_buf_str(&b), a, &e, NULL), 0);
    owl_buf_done(&b);
    owl_schema_free(s);
    return e;
}

TEST(a_branch_with_many_faults_does_not_hide_a_nearer_one, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_explanation e = explained(
        "{\"anyOf\":[{\"items\":{\"type\":\"string\"}},{\"items\":{\"maximum\":5}}]}", "1", 100,
        "9", a);
    assert_int_equal(e.n, 2);
    assert_string_equal(e.violations[0].sentence.p, "/100 must be at most 5, but is 9");
    /* More than are kept: the first branch stays. */
    e = explained("{\"anyOf\":[{\"items\":{\"type\":\"string\"}},{\"items\":{\"maximum\":5}}]}",
                  "1", 2000, "9", a);
    assert_int_equal(e.n, OWL_SCHEMA_VIOLATIONS);
    assert_int_equal(e.left_out, 2002 - OWL_SCHEMA_VIOLATIONS);
    assert_string_equal(e.violations[63].instance.p, "/63");
    owl_arena_free(a);
}

TEST(what_an_alternative_made_good_is_not_counted, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_explanation e = explained(
        "{\"items\":{\"maximum\":5,\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}}", "9",
        99, "9", a);
    assert_int_equal(e.n, OWL_SCHEMA_VIOLATIONS);
    assert_int_equal(e.left_out, 100 - OWL_SCHEMA_VIOLATIONS);
    owl_arena_free(a);
}

TEST(a_fault_knows_its_byte_and_its_values, "")
{
    struct owl_schema *s = compiled("{\"items\":{\"maximum\":5}}");
    struct owl_arena *a = owl_arena_new(0);
    struct owl_explanation e = {0};
    struct owl_buf b;
    owl_buf_init(&b, 100000);
    owl_buf_putz(&b, "[1, 77");
    for (int i = 0; i < 99; i++)
        owl_buf_putz(&b, ",9");
    owl_buf_putc(&b, ']');
    assert_int_equal(owl_schema_explain(s, owl_buf_str(&b), a, &e, NULL), 0);
    assert_int_equal(e.n, OWL_SCHEMA_VIOLATIONS);
    assert_int_equal(e.left_out, 100 - OWL_SCHEMA_VIOLATIONS);
    assert_int_equal(e.violations[0].at, 4);
    assert_string_equal(e.violations[0].found.p, "77");
    assert_string_equal(e.violations[0].expected.p, "5");
    owl_buf_done(&b);
    owl_arena_free(a);
    owl_schema_free(s);
}

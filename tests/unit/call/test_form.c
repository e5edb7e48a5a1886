/* Forms in the words of older revisions. */
#include "support/test.h"

#include "call/ask.h"

static void assert_old(const char *property, const char *want)
{
    struct owl_buf in, out, expected;
    owl_buf_init(&in, SIZE_MAX);
    owl_buf_init(&out, SIZE_MAX);
    owl_buf_init(&expected, SIZE_MAX);
    static const char frame[] = "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\","
                                "\"properties\":{\"a\\u0062\":%s,\"z\":{\"type\":\"number\"}},"
                                "\"required\":[\"z\"]}}";
    owl_buf_printf(&in, frame, property);
    owl_buf_printf(&expected, frame, want);
    owl_form_put_old(&out, owl_buf_str(&in));
    owl_buf_putc(&out, '\0');
    owl_buf_putc(&expected, '\0');
    assert_string_equal(out.p, expected.p);
    owl_buf_done(&in);
    owl_buf_done(&out);
    owl_buf_done(&expected);
}

TEST(choices_become_enums_and_nothing_else_changes, "")
{
    assert_old("{\"title\":\"T\",\"type\":\"string\",\"oneOf\":[{\"const\":\"x\",\"title\":\"X\"},"
               "{\"const\":\"y\"}],\"default\":\"y\"}",
               "{\"type\":\"string\",\"title\":\"T\",\"default\":\"y\",\"enum\":[\"x\",\"y\"],"
               "\"enumNames\":[\"X\",\"y\"]}");
    assert_old(
        "{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"default\":[\"x\"],"
        "\"items\":{\"type\":\"string\",\"enum\":[\"x\",\"\\u00e9\"]},\"description\":\"D\"}",
        "{\"type\":\"string\",\"description\":\"D\",\"enum\":[\"x\",\"\\u00e9\"]}");
    assert_old(
        "{\"type\":\"array\",\"items\":{\"enum\":[\"x\"]},\"enum\":[[\"x\"]],\"enumNames\":[]}",
        "{\"type\":\"string\",\"enum\":[\"x\"]}");
    assert_old("{\"type\":\"string\",\"enum\":[\"x\"],\"oneOf\":[{\"const\":\"x\"}]}",
               "{\"type\":\"string\",\"enum\":[\"x\"],\"enumNames\":[\"x\"]}");
    static const char *const same[] = {
        "{\"type\":\"string\",\"enum\":[\"a\"],\"enumNames\":[\"A\"]}",
        "{\"type\":\"string\",\"oneOf\":[{\"minLength\":2},{\"const\":\"x\"}]}",
        "{\"type\":\"string\",\"oneOf\":[{\"const\":1}]}",
        "{\"type\":\"string\",\"oneOf\":true}",
        "{\"type\":\"array\"}",
        "{\"type\":\"array\",\"items\":true}",
        "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}",
        "{\"type\":\"array\",\"items\":{\"anyOf\":[1]}}",
        "{}",
    };
    for (size_t i = 0; i < OWL_COUNT(same); i++)
        assert_old(same[i], same[i]);
}

static void assert_answer(const char *answer, const char *want)
{
    static const char params[] =
        "{\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
        "\"l\\u0069st\":{\"type\":\"array\",\"items\":{\"enum\":[\"x\",\"y\"]}},"
        "\"any\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
        "\"one\":{\"type\":\"string\",\"enum\":[\"x\"]}}}}";
    struct owl_buf out;
    owl_buf_init(&out, SIZE_MAX);
    owl_form_put_answer(&out, OWL_STR(params), owl_str_of(answer));
    owl_buf_putc(&out, '\0');
    assert_string_equal(out.p, want);
    owl_buf_done(&out);
}

TEST(one_choice_of_several_becomes_a_list_of_one, "")
{
    assert_answer(
        "{\"action\":\"accept\",\"content\":{\"list\":\"x\",\"one\":\"x\",\"more\":\"x\"}}",
        "{\"action\":\"accept\",\"content\":{\"list\":[\"x\"],\"one\":\"x\",\"more\":\"x\"}}");
    assert_answer("{\"content\":{\"l\\u0069st\":\"x\"}}", "{\"content\":{\"l\\u0069st\":[\"x\"]}}");
    static const char *const same[] = {
        "{\"content\":{\"list\":[\"x\",\"y\"]}}",                 /* it knows better */
        "{\"content\":{\"list\":\"x\",\"b\":1,\"c\":2,\"d\":3}}", /* more than the form has */
        "{\"content\":{\"list\":null,\"any\":\"x\"}}",
        "{\"action\":\"decline\"}",
        "{\"action\":\"accept\",\"content\":\"x\"}",
        "{}",
        "[\"x\"]",
        "null",
    };
    for (size_t i = 0; i < OWL_COUNT(same); i++)
        assert_answer(same[i], same[i]);
}

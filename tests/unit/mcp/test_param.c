/* Tests of mcp/param.h: vectors of mcp-wire 10.1, rules of 1.12. */
#include "support/test.h"

#include "codec/json.h"
#include "codec/scan.h"
#include "mcp/param.h"

static const owl_str absent = {NULL, 0};

static int check(const char *header, const char *argument, owl_error *e)
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_mcp_param p = {
        .name = OWL_STR("Region"), .header = owl_str_of(header), .argument = owl_str_of(argument)};
    if (argument)
        assert_int_equal(owl_json_scan(p.argument, OWL_JSON_DEPTH, NULL), 0);
    *e = (owl_error){0};
    int rc = owl_mcp_param_check(a, &p, e);
    assert_int_equal(e->code, -rc);
    owl_arena_free(a);
    return rc;
}

struct row {
    const char *header, *argument;
};

static void assert_all(const struct row *rows, size_t n, int expected)
{
    owl_error e;
    for (size_t i = 0; i < n; i++) {
        int rc = check(rows[i].header, rows[i].argument, &e);
        if (rc != expected)
            fail_msg("'%s' for %s: %d %s", rows[i].header, rows[i].argument, rc, e.message);
        if (rc && !strstr(e.message, "Mcp-Param-Region"))
            fail_msg("\"%s\" does not name the header", e.message);
    }
}

TEST(vectors_10_1_agree, "")
{
    static const struct row rows[] = {
        {"us-west1", "\"us-west1\""},
        {"us west 1", "\"us west 1\""},
        {"", "\"\""},
        {"42", "42"},
        {"-7", "-7"},
        {"true", "true"},
        {"false", "false"},
        {"=?base64?IHVzLXdlc3Qx?=", "\" us-west1\""},
        {"=?base64?dXMtd2VzdDEg?=", "\"us-west1 \""},
        {"=?base64?IHBhZGRlZCA=?=", "\" padded \""},
        {"=?base64?CWluZGVudGVk?=", "\"\\tindented\""},
        {"=?base64?bGluZTEKbGluZTI=?=", "\"line1\\nline2\""},
        {"=?base64?bGluZTENCmxpbmUy?=", "\"line1\\r\\nline2\""},
        {"=?base64?SGVsbG8sIOS4lueVjA==?=", "\"Hello, 世界\""},
        {"=?base64?SGVsbG8sIOS4lueVjA==?=", "\"Hello, \\u4e16\\u754c\""},
        {"=?base64?5pel5pys6Kqe?=", "\"日本語\""},
        {"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "\"=?base64?literal?=\""},
        /* no full pair of marks: literal */
        {"SGVsbG8=", "\"SGVsbG8=\""},
        {"=?base64?SGVsbG8=", "\"=?base64?SGVsbG8=\""},
        {"=?BASE64?SGVsbG8=?=", "\"=?BASE64?SGVsbG8=?=\""},
        /* encoded without need */
        {"=?base64?SGVsbG8=?=", "\"Hello\""},
        {"=?base64?NDI=?=", "42"},
        {"=?base64?dHJ1ZQ==?=", "true"},
        /* white space around a value is not part of it */
        {" us-west1\t", "\"us-west1\""},
        {" 42 ", "42"},
        {" true", "true"},
    };
    assert_all(rows, OWL_COUNT(rows), 0);
}

TEST(bad_values_and_mismatches_are_refused, "")
{
    static const struct row rows[] = {
        {"=?base64?SGVsbG8?=", "\"Hello\""},     /* padding */
        {"=?base64?SGVs!!!bG8=?=", "\"Hello\""}, /* alphabet */
        {"=?base64?/w==?=", "\"\\u00ff\""},      /* not UTF-8 */
        {"\xe4\xb8\x96", "\"世\""},
        {"a\x01", "\"a\\u0001\""},
        {"World", "\"Hello\""},
        {"hello", "\"Hello\""},
        {"Hell", "\"Hello\""},
        {"Hello1", "\"Hello\""},
        {"", "\"Hello\""},
        {"Hello", "\"\""},
        {"\"Hello\"", "\"Hello\""},
        {"=?BASE64?SGVsbG8=?=", "\"Hello\""},
        {"a", "\"a\\u0000\""},
        {"false", "true"},
        {"True", "true"},
        {"1", "true"},
        {"", "false"},
        {"43", "42"},
        {"", "0"},
        {"\xff", "1"},
    };
    assert_all(rows, OWL_COUNT(rows), -OWL_EHEADER);
}

TEST(a_header_is_there_exactly_when_its_argument_is, "")
{
    static const struct row missing[] = {
        {NULL, "\"\""}, {NULL, "\"x\""}, {NULL, "0"}, {NULL, "false"}};
    static const struct row uncalled[] = {{"x", NULL},   {"", NULL},      {"null", "null"},
                                          {"0", "null"}, {"false", NULL}, {"", "null"}};
    static const struct row none[] = {{NULL, NULL},   {NULL, "null"}, {NULL, NULL},
                                      {NULL, "null"}, {NULL, NULL},   {NULL, "null"}};
    assert_all(missing, OWL_COUNT(missing), -OWL_EHEADER);
    assert_all(uncalled, OWL_COUNT(uncalled), -OWL_EHEADER);
    assert_all(none, OWL_COUNT(none), 0);
}

TEST(objects_and_arrays_are_left_to_the_tool, "")
{
    static const struct row rows[] = {{"a", "[\"a\"]"}, {NULL, "{}"}, {NULL, "[]"}, {"\xff", "{}"}};
    assert_all(rows, OWL_COUNT(rows), 0);
}

/* What its schema says of the argument makes no difference here. */
TEST(a_value_of_any_scalar_type_is_mirrored, "mcp:T6")
{
    static const struct row same[] = {{"7", "7"}, {"true", "true"}, {"42", "\"42\""}, {"7.0", "7"}};
    static const struct row other[] = {{NULL, "7"}, {"x", "7"}, {"42", "\"43\""}, {"x", "true"}};
    assert_all(same, OWL_COUNT(same), 0);
    assert_all(other, OWL_COUNT(other), -OWL_EHEADER);
}

TEST(numbers_are_compared_by_value, "")
{
    static const struct row same[] = {
        {"0", "0"},
        {"-0", "0"},
        {"0", "-0"},
        {"+42", "42"},
        {"0042", "42"},
        {"-007", "-7"},
        {"9007199254740993", "9007199254740993"},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
        {"42", "42.0"},
        {"42", "4.2e1"},
        {"42.000", "42"},
        {"42", "420E-1"},
        {"1e2", "100"},
        {"100", "1E+2"},
        {"0", "0.0e9"},
        {"1", "0.001e3"},
        {"3.14", "3.140"},
        {"1e99999999", "1e99999999"}, /* beyond reading: the same text is the same number */
    };
    static const struct row other[] = {
        {"7", "-7"},
        {"-7", "7"},
        {"9007199254740992", "9007199254740993"}, /* equal as doubles */
        {"123456789012345678901234567890", "123456789012345678901234567891"},
        {"4", "42"},
        {"420", "42"},
        {"4.2", "42"},
        {"0.42", "42"},
        {"402", "42"},
        {"0", "0.1"},
        {"1", "1e99999999"},
        {"42x", "42"},
        {"x42", "42"},
        {"4 2", "42"},
        {"0x2a", "42"},
        {"--42", "42"},
        {"+-42", "42"},
        {"4.2.", "4.2"},
        {".", "0"},
        {"-", "0"},
        {"42e", "42"},
        {"42e+-1", "420"},
        {"42,", "42"},
    };
    assert_all(same, OWL_COUNT(same), 0);
    assert_all(other, OWL_COUNT(other), -OWL_EHEADER);
}

TEST(the_error_says_what_both_sides_say, "")
{
    owl_error e;
    assert_int_equal(check("World", "\"Hello\"", &e), -OWL_EHEADER);
    assert_string_equal(e.message,
                        "the Mcp-Param-Region header says 'World', its argument is \"Hello\"");
    assert_int_equal(check(NULL, "42", &e), -OWL_EHEADER);
    assert_string_equal(
        e.message, "the Mcp-Param-Region header is missing; send the value of its argument, 42");
    assert_int_equal(check("true", NULL, &e), -OWL_EHEADER);
    assert_string_equal(
        e.message, "the Mcp-Param-Region header says 'true', but its argument is absent or null");
    assert_int_equal(check("=?base64?SGVsbG8?=", "\"Hello\"", &e), -OWL_EHEADER);
    assert_non_null(strstr(e.message, "Mcp-Param-Region: the header value is not valid base64"));
}

TEST(no_memory_for_a_decoded_header_is_an_error, "")
{
    struct owl_arena *a = owl_arena_new(1);
    struct owl_mcp_param p = {.name = OWL_STR("Region"),
                              .header = OWL_STR("=?base64?SGVsbG8gd29ybGQsIEhlbGxv?="),
                              .argument = OWL_STR("\"Hello world, Hello\"")};
    owl_error e = {0};
    int rc = owl_mcp_param_check(a, &p, &e);
    assert_true(rc == -OWL_ENOMEM || rc == -OWL_ELIMIT);
    assert_int_equal(e.code, -rc);
    p.header = absent;
    assert_int_equal(owl_mcp_param_check(a, &p, NULL), -OWL_EHEADER);
    owl_arena_free(a);
}

/* Tests of mcp/param.h: vectors of mcp-wire 10.1, rules of 1.12. */
#include "support/test.h"

#include "codec/json.h"
#include "codec/scan.h"
#include "mcp/param.h"

static const owl_str absent = {NULL, 0};

#define S OWL_PARAM_STRING
#define I OWL_PARAM_INTEGER
#define B OWL_PARAM_BOOLEAN

static int check(enum owl_mcp_param_kind kind, const char *header, const char *argument,
                 owl_error *e)
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_mcp_param p = {kind, OWL_STR("Region"), owl_str_of(header), owl_str_of(argument)};
    if (argument)
        assert_int_equal(owl_json_scan(p.argument, OWL_JSON_DEPTH, NULL), 0);
    *e = (owl_error){0};
    int rc = owl_mcp_param_check(a, &p, e);
    assert_int_equal(e->code, -rc);
    owl_arena_free(a);
    return rc;
}

struct row {
    enum owl_mcp_param_kind kind;
    const char *header, *argument;
};

static void assert_all(const struct row *rows, size_t n, int expected)
{
    owl_error e;
    for (size_t i = 0; i < n; i++) {
        int rc = check(rows[i].kind, rows[i].header, rows[i].argument, &e);
        if (rc != expected)
            fail_msg("'%s' for %s: %d %s", rows[i].header, rows[i].argument, rc, e.message);
        if (rc && !strstr(e.message, "Mcp-Param-Region"))
            fail_msg("\"%s\" does not name the header", e.message);
    }
}

TEST(vectors_10_1_agree, "")
{
    static const struct row rows[] = {
        {S, "us-west1", "\"us-west1\""},
        {S, "us west 1", "\"us west 1\""},
        {S, "", "\"\""},
        {I, "42", "42"},
        {I, "-7", "-7"},
        {B, "true", "true"},
        {B, "false", "false"},
        {S, "=?base64?IHVzLXdlc3Qx?=", "\" us-west1\""},
        {S, "=?base64?dXMtd2VzdDEg?=", "\"us-west1 \""},
        {S, "=?base64?IHBhZGRlZCA=?=", "\" padded \""},
        {S, "=?base64?CWluZGVudGVk?=", "\"\\tindented\""},
        {S, "=?base64?bGluZTEKbGluZTI=?=", "\"line1\\nline2\""},
        {S, "=?base64?bGluZTENCmxpbmUy?=", "\"line1\\r\\nline2\""},
        {S, "=?base64?SGVsbG8sIOS4lueVjA==?=", "\"Hello, 世界\""},
        {S, "=?base64?SGVsbG8sIOS4lueVjA==?=", "\"Hello, \\u4e16\\u754c\""},
        {S, "=?base64?5pel5pys6Kqe?=", "\"日本語\""},
        {S, "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "\"=?base64?literal?=\""},
        /* no full pair of marks: literal */
        {S, "SGVsbG8=", "\"SGVsbG8=\""},
        {S, "=?base64?SGVsbG8=", "\"=?base64?SGVsbG8=\""},
        {S, "=?BASE64?SGVsbG8=?=", "\"=?BASE64?SGVsbG8=?=\""},
        /* encoded without need */
        {S, "=?base64?SGVsbG8=?=", "\"Hello\""},
        {I, "=?base64?NDI=?=", "42"},
        {B, "=?base64?dHJ1ZQ==?=", "true"},
        /* white space around a value is not part of it */
        {S, " us-west1\t", "\"us-west1\""},
        {I, " 42 ", "42"},
        {B, " true", "true"},
    };
    assert_all(rows, OWL_COUNT(rows), 0);
}

TEST(bad_values_and_mismatches_are_refused, "")
{
    static const struct row rows[] = {
        {S, "=?base64?SGVsbG8?=", "\"Hello\""},     /* padding */
        {S, "=?base64?SGVs!!!bG8=?=", "\"Hello\""}, /* alphabet */
        {S, "=?base64?/w==?=", "\"\\u00ff\""},      /* not UTF-8 */
        {S, "\xe4\xb8\x96", "\"世\""},
        {S, "a\x01", "\"a\\u0001\""},
        {S, "World", "\"Hello\""},
        {S, "hello", "\"Hello\""},
        {S, "Hell", "\"Hello\""},
        {S, "Hello1", "\"Hello\""},
        {S, "", "\"Hello\""},
        {S, "Hello", "\"\""},
        {S, "\"Hello\"", "\"Hello\""},
        {S, "=?BASE64?SGVsbG8=?=", "\"Hello\""},
        {S, "a", "\"a\\u0000\""},
        {B, "false", "true"},
        {B, "True", "true"},
        {B, "1", "true"},
        {B, "", "false"},
        {I, "43", "42"},
        {I, "", "0"},
        {I, "\xff", "1"},
    };
    assert_all(rows, OWL_COUNT(rows), -OWL_EHEADER);
}

TEST(a_header_is_there_exactly_when_its_argument_is, "")
{
    static const struct row missing[] = {
        {S, NULL, "\"\""}, {S, NULL, "\"x\""}, {I, NULL, "0"}, {B, NULL, "false"}};
    static const struct row uncalled[] = {{S, "x", NULL},   {S, "", NULL},      {S, "null", "null"},
                                          {I, "0", "null"}, {B, "false", NULL}, {B, "", "null"}};
    static const struct row none[] = {{S, NULL, NULL},   {S, NULL, "null"}, {I, NULL, NULL},
                                      {I, NULL, "null"}, {B, NULL, NULL},   {B, NULL, "null"}};
    assert_all(missing, OWL_COUNT(missing), -OWL_EHEADER);
    assert_all(uncalled, OWL_COUNT(uncalled), -OWL_EHEADER);
    assert_all(none, OWL_COUNT(none), 0);
}

TEST(an_argument_of_another_type_is_left_to_the_tool, "")
{
    static const struct row rows[] = {
        {S, NULL, "7"},      {S, "7", "7"},         {S, "a", "[\"a\"]"}, {S, NULL, "{}"},
        {S, "true", "true"}, {I, NULL, "\"42\""},   {I, "42", "\"43\""}, {I, "x", "true"},
        {I, NULL, "[]"},     {B, NULL, "\"true\""}, {B, "true", "1"},    {B, "\xff", "{}"},
    };
    assert_all(rows, OWL_COUNT(rows), 0);
}

TEST(numbers_are_compared_by_value, "")
{
    static const struct row same[] = {
        {I, "0", "0"},
        {I, "-0", "0"},
        {I, "0", "-0"},
        {I, "+42", "42"},
        {I, "0042", "42"},
        {I, "-007", "-7"},
        {I, "9007199254740993", "9007199254740993"},
        {I, "123456789012345678901234567890", "123456789012345678901234567890"},
        {I, "42", "42.0"},
        {I, "42", "4.2e1"},
        {I, "42.000", "42"},
        {I, "42", "420E-1"},
        {I, "1e2", "100"},
        {I, "100", "1E+2"},
        {I, "0", "0.0e9"},
        {I, "1", "0.001e3"},
        {I, "3.14", "3.140"},
        {I, "1e99999999", "1e99999999"}, /* beyond reading: the same text is the same number */
    };
    static const struct row other[] = {
        {I, "7", "-7"},
        {I, "-7", "7"},
        {I, "9007199254740992", "9007199254740993"}, /* equal as doubles */
        {I, "123456789012345678901234567890", "123456789012345678901234567891"},
        {I, "4", "42"},
        {I, "420", "42"},
        {I, "4.2", "42"},
        {I, "0.42", "42"},
        {I, "402", "42"},
        {I, "0", "0.1"},
        {I, "1", "1e99999999"},
        {I, "42x", "42"},
        {I, "x42", "42"},
        {I, "4 2", "42"},
        {I, "0x2a", "42"},
        {I, "--42", "42"},
        {I, "+-42", "42"},
        {I, "4.2.", "4.2"},
        {I, ".", "0"},
        {I, "-", "0"},
        {I, "42e", "42"},
        {I, "42e+-1", "420"},
        {I, "42,", "42"},
    };
    assert_all(same, OWL_COUNT(same), 0);
    assert_all(other, OWL_COUNT(other), -OWL_EHEADER);
}

TEST(the_error_says_what_both_sides_say, "")
{
    owl_error e;
    assert_int_equal(check(S, "World", "\"Hello\"", &e), -OWL_EHEADER);
    assert_string_equal(e.message,
                        "the Mcp-Param-Region header says 'World', its argument is \"Hello\"");
    assert_int_equal(check(I, NULL, "42", &e), -OWL_EHEADER);
    assert_string_equal(
        e.message, "the Mcp-Param-Region header is missing; send the value of its argument, 42");
    assert_int_equal(check(B, "true", NULL, &e), -OWL_EHEADER);
    assert_string_equal(
        e.message, "the Mcp-Param-Region header says 'true', but its argument is absent or null");
    assert_int_equal(check(S, "=?base64?SGVsbG8?=", "\"Hello\"", &e), -OWL_EHEADER);
    assert_non_null(strstr(e.message, "Mcp-Param-Region: the header value is not valid base64"));
}

TEST(no_memory_for_a_decoded_header_is_an_error, "")
{
    struct owl_arena *a = owl_arena_new(1);
    struct owl_mcp_param p = {S, OWL_STR("Region"), OWL_STR("=?base64?SGVsbG8gd29ybGQsIEhlbGxv?="),
                              OWL_STR("\"Hello world, Hello\"")};
    owl_error e = {0};
    int rc = owl_mcp_param_check(a, &p, &e);
    assert_true(rc == -OWL_ENOMEM || rc == -OWL_ELIMIT);
    assert_int_equal(e.code, -rc);
    p.header = absent;
    assert_int_equal(owl_mcp_param_check(a, &p, NULL), -OWL_EHEADER);
    owl_arena_free(a);
}

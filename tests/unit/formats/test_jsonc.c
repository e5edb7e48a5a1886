/* Unit tests of formats/jsonc.c: JSON with comments. */
#include "unit/formats/reading.h"

#include <dirent.h>

#include "codec/scan.h"

TEST(json_with_comments_is_read, "")
{
    static const struct reading_case cases[] = {
        {"{}", "{}", NULL},
        {" [1, -2.50e+3, \"a\\u00e4\\n\\ud83d\\ude00\", true, false, null]\r\n",
         "[1,-2.50e+3,\"aä\\n😀\",true,false,null]", NULL},
        {"\"x\"", "\"x\"", NULL},
        {"\xef\xbb\xbf{\"a\":1}", "{\"a\":1}", NULL},
        {"// head\n{ // one\n \"a\": 1, /* two\n lines */ \"b\": 2 // end\n} // tail",
         "{\"a\":1,\"b\":2}", NULL},
        {"{\"a\": [1, 2, ], \"b\": {\"c\": 3,},}", "{\"a\":[1,2],\"b\":{\"c\":3}}", NULL},
        {"[1, // last\n /* really */ ]", "[1]", NULL},
        {"[1/**/,/***/2]", "[1,2]", NULL},
        {"/* ** // */[]", "[]", NULL},
        {"{\"http://x\": \"/* no */ // comment,]\"}", "{\"http://x\":\"/* no */ // comment,]\"}",
         NULL},
        {"[\"\\\"//\", \"\\\\\" // \"\n]", "[\"\\\"//\",\"\\\\\"]", NULL},
        {"// dos\r[1]", "[1]", NULL},
        {"{\"\":{\"\":[]}}", "{\"\":{\"\":[]}}", NULL},
        {"[\"a\\u0000b\"]", "[\"a\\u0000b\"]", NULL},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++)
        check_case(owl_jsonc_read, &cases[i]);
}

TEST(what_is_wrong_in_json_is_said_where_it_is, "")
{
    static const struct reading_case cases[] = {
        {"", NULL, "1:1 expected a value, found the end of the text"},
        {"// only a comment", NULL, "1:18 expected a value"},
        {"{'a': 1}", NULL,
         "1:2 JSON has no such quotes [write keys and strings in straight double"},
        {"{\"a\": 'x'}", NULL, "1:7 JSON has no such quotes"},
        {"{\"a\": “x”}", NULL, "1:7 this is a curly quote"},
        {"{\n  name: 1}", NULL, "2:3 the key name is not in double quotes [write \"name\"]"},
        {"{1: 1}", NULL, "1:2 the key 1 is not in double quotes"},
        {"{\"a\": 1\n \"b\": 2}", NULL, "1:8 expected ',' before what comes next [add a ',' here]"},
        {"{\"a\": 1 // one\n \"b\": 2}", NULL, "1:8 expected ','"},
        {"[1 2]", NULL, "1:3 expected ','"},
        {"[{} {}]", NULL, "1:4 expected ','"},
        {"{\"a\": undefined}", NULL, "1:7 undefined is no value of JSON [write null]"},
        {"{\"a\": True}", NULL, "1:7 True is no value of JSON [write true]"},
        {"{\"a\": None}", NULL, "1:7 None is no value of JSON [write null]"},
        {"[NaN]", NULL, "1:2 NaN is no value of JSON [write a number that is finite, or null]"},
        {"[-Infinity]", NULL, "1:2 -Infinity is no number of JSON [write a number that is finite"},
        {"[no]", NULL, "1:2 no is no value of JSON [write false]"},
        {"[nul]", NULL, "1:2 nul is no value of JSON [put it in double quotes"},
        {"[10ms]", NULL, "1:2 10ms is no number of JSON [put it in double quotes"},
        {"[0x1F]", NULL, "1:2 0x1F is no number of JSON"},
        {"[1_000]", NULL, "1:2 1_000 is no number"},
        {"[012]", NULL, "1:2 012 is no number of JSON [write it without the leading 0"},
        {"[+1]", NULL, "1:2 +1 is no number"},
        {"[.5]", NULL, "1:2 .5 is no number"},
        {"[1.]", NULL, "1:2 1. is no number"},
        {"[truee]", NULL, "1:2 truee is no value"},
        {"{\"a\": \"x\n}", NULL, "1:7 this string is not closed on its line [close it with \""},
        {"{\"a\": \"x", NULL, "1:7 this string is not closed"},
        {"[\"x\\\"", NULL, "1:2 this string is not closed"},
        {"[\"a\\", NULL, "1:2 this string is not closed"},
        {"{\"a\": \"x\"", NULL, "1:1 this { is never closed [add the } that is missing]"},
        {"{\"a\": [1, {\"b\": []}", NULL, "1:7 this [ is never closed [add the ]"},
        {"[\"a\tb\"]", NULL, "1:4 a control character in a string must be escaped [write \\t"},
        {"[\"C:\\dir\"]", NULL, "1:5 unknown escape in a string [write \\\\ for each backslash]"},
        {"[1, /* x", NULL, "1:5 this comment is never closed [close it with */]"},
        {"[1, /*/", NULL, "1:5 this comment is never closed"},
        {"[,]", NULL, "1:2 expected a value, found ','"},
        {"[1,,]", NULL, "1:4 expected a value, found ','"},
        {"{,}", NULL, "1:2 expected a key in double quotes"},
        {"{\"a\":,}", NULL, "1:6 expected a value, found ','"},
        {"{\"a\" 1}", NULL, "1:6 expected ':' after a key, found '1'"},
        {"1x", NULL, "1:1 1x is no number"},
        {"1 x", NULL, "1:3 the value is complete"},
        {"{\"a\" = 1}", NULL, "1:6 expected ':' after a key, found '='"},
        {"[1}", NULL, "1:3 expected ',' or ']', found '}'"},
        {"1,", NULL, "1:2 the value is complete before this [a file holds one value]"},
        {"{}\n{}", NULL, "2:1 the value is complete before this"},
        {"# comment\n{}", NULL, "1:1 expected a value, found '#' [comments begin with //]"},
        {"{\n<<<<<<< HEAD\n\"a\": 1\n=======\n\"a\": 2\n>>>>>>> x\n}", NULL,
         "2:1 this line is left of a merge conflict [decide for one side"},
        {"[\"ä\", x]", NULL, "1:7 x is no value"},
        {"[ä]", NULL, "1:2 ä is no value of JSON"},
        {"\xff\xfe{\0", NULL, "1:1 the text is UTF-16, not UTF-8 [save the file as UTF-8]"},
        {"[\n\"\xe9\"]", NULL, "2:2 the byte 0xe9 is not UTF-8 [save the file as UTF-8]"},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++)
        check_case(owl_jsonc_read, &cases[i]);
}

TEST(equal_keys_are_faults_and_the_first_counts, "")
{
    static const struct reading_case cases[] = {
        {"{\"a\": 1,\n \"b\": 2, \"\\u0061\": {\"c\": [3]}, \"d\": 4}", "{\"a\":1,\"b\":2,\"d\":4}",
         "2:10 the key \"a\" is there already, at line 1, column 2 [keep one of the two]"},
        {"{\"a\": {\"x\": 1, \"x\": 2}, \"a\": 3, \"a\": 4}", "{\"a\":{\"x\":1}}",
         "1:16 the key \"x\" is there already, at line 1, column 8 [keep one of the two], and 2 "
         "more"},
        {"[{\"a\":1},{\"a\":1}]", "[{\"a\":1},{\"a\":1}]", NULL},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++)
        check_case(owl_jsonc_read, &cases[i]);
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    for (int i = 0; i < 1000; i++)
        owl_buf_printf(&b, "%s\"k%d\":%d", i ? "," : "{", i % 900, i);
    owl_buf_putc(&b, '}');
    struct reading r = read_with(owl_jsonc_read, owl_buf_str(&b), 0, 0);
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.tree->count, 900);
    assert_int_equal(r.faults.errors, 100);
    assert_string_equal(r.tree->last->text.p, "899");
    owl_arena_free(r.arena);
    owl_buf_done(&b);
}

TEST(every_value_of_json_knows_its_place, "")
{
    check_marks(owl_jsonc_read,
                "\xef\xbb\xbf{ \"a\": 1,\n  // ü\n  \"ü\": [true,\r\n \"x\"], /* ü */ \"c\": {}}",
                " 1:1 1:1\n"
                "/a 1:3 1:8\n"
                "/ü 3:3 3:8\n"
                "/ü/0 3:9 3:9\n"
                "/ü/1 4:2 4:2\n"
                "/c 4:16 4:21\n");
}

TEST(json_has_limits, "")
{
    struct reading r = read_with(owl_jsonc_read, OWL_STR("[[[1]]]"), 3, 4);
    assert_int_equal(r.rc, 0);
    owl_arena_free(r.arena);
    r = read_with(owl_jsonc_read, OWL_STR("[[[1]]]"), 2, 0);
    assert_int_equal(r.rc, -OWL_EPARSE);
    assert_string_equal(r.faults.list[0].what.p, "nested deeper than 2 levels");
    assert_int_equal(r.faults.list[0].at.column, 3);
    owl_arena_free(r.arena);
    r = read_with(owl_jsonc_read, OWL_STR("{\"a\": 1, \"b\": [], \"c\": 3}"), 0, 3);
    assert_int_equal(r.rc, -OWL_EPARSE);
    assert_string_equal(r.faults.list[0].what.p, "more than 3 values");
    assert_int_equal(r.faults.list[0].at.column, 19);
    owl_arena_free(r.arena);
    r = read_with(owl_jsonc_read, OWL_STR("{\"a\": 1, \"b\": [], \"c\": 3,}"), 0, 4);
    assert_int_equal(r.rc, 0);
    owl_arena_free(r.arena);
    struct owl_buf b;
    check_bomb(owl_jsonc_read, repeated(&b, "", "[", 10000), "1:101 nested deeper than 100 levels");
    owl_buf_done(&b);
    check_bomb(owl_jsonc_read, repeated(&b, "", "{", 1 << 20),
               "1:1000001 more than 1000000 values");
    owl_buf_done(&b);
    check_bomb(owl_jsonc_read, repeated(&b, "[1", ",1", 5 << 20),
               "1:2000000 more than 1000000 values");
    owl_buf_done(&b);
    check_bomb(owl_jsonc_read, repeated(&b, "", "/* ", 5 << 20),
               "1:1 this comment is never closed");
    owl_buf_done(&b);
    check_bomb(owl_jsonc_read, repeated(&b, "", "\"", 5 << 20 | 1),
               "1:3 the value is complete before this");
    owl_buf_done(&b);
}

TEST(json_survives_without_memory, "")
{
    check_no_memory(
        owl_jsonc_read,
        "{\"a\":[1,\"x\"],\"a\":2,\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,\"7\":7,"
        "\"8\":8,\"9\":9,\"10\":1,\"11\":1,\"12\":1,\"13\":1,\"14\":1,\"15\":1,"
        "\"16\":{\"\\n\":{}},\"17\":[]}");
}

/* ---- other people's cases ------------------------------------------------------------------- */

/* No JSON, but JSON with comments and commas behind the last one; and a BOM. */
static const char *const made_valid[] = {
    "n_array_extra_comma.json",
    "n_array_number_and_comma.json",
    "n_object_trailing_comma.json",
    "n_object_trailing_comment.json",
    "n_object_trailing_comment_slash_open.json",
    "n_structure_object_with_comment.json",
};

static bool is_made_valid(const char *name)
{
    for (size_t i = 0; i < OWL_COUNT(made_valid); i++) {
        if (strcmp(name, made_valid[i]) == 0)
            return true;
    }
    return false;
}

static void read_whole(const char *path, struct owl_buf *b)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    owl_buf_reset(b);
    for (size_t n = 1; n > 0; b->n += n) {
        assert_int_equal(owl_buf_reserve(b, 65536), 0);
        n = fread(b->p + b->n, 1, 65536, f);
    }
    fclose(f);
}

TEST(the_json_parsing_suite_holds_but_for_comments_and_commas, "")
{
    const char *found = owl_test_data("json-parsing/test_parsing");
    if (!found)
        skip();
    char folder[2048];
    snprintf(folder, sizeof folder, "%s", found);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    unsigned seen = 0, made = 0;
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        if (d->d_name[0] == '.')
            continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        read_whole(path, &b);
        struct reading r = read_with(owl_jsonc_read, owl_buf_str(&b), 0, 0);
        bool want = d->d_name[0] == 'y' || is_made_valid(d->d_name);
        if (d->d_name[0] != 'i' && (r.rc == 0) != want)
            fail_msg("%s: %s", d->d_name, r.rc ? "refused" : "read");
        bool twice = strncmp(d->d_name, "y_object_duplicated_key", 23) == 0;
        if (r.rc == 0)
            assert_int_equal(r.faults.errors, twice);
        owl_arena_free(r.arena);
        seen++;
        made += is_made_valid(d->d_name);
    }
    assert_true(seen > 300);
    assert_int_equal(made, OWL_COUNT(made_valid));
    closedir(dir);
    owl_buf_done(&b);
}

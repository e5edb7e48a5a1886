/* Unit tests of formats/yaml.c and its parts: YAML 1.2. */
#include "unit/formats/reading.h"

#include <yaml.h>

static void check_cases(const struct reading_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_case(owl_yaml_read, &cases[i]);
}

/* ---- values --------------------------------------------------------------------------------- */

TEST(plain_scalars_are_those_of_the_core_schema, "")
{
    static const struct reading_case cases[] = {
        {"[null, Null, NULL, ~, , nUll]", NULL, "1:23 expected a value here"},
        {"[null, Null, NULL, ~, nUll, none, nil]",
         "[null,null,null,null,\"nUll\",\"none\",\"nil\"]", NULL},
        {"[true, True, TRUE, false, False, FALSE, tRue]",
         "[true,true,true,false,false,false,\"tRue\"]", NULL},
        {"[yes, Yes, no, No, NO, on, On, off, y, n]",
         "[\"yes\",\"Yes\",\"no\",\"No\",\"NO\",\"on\",\"On\",\"off\",\"y\",\"n\"]", NULL},
        {"[0, 12, 012, 00, -0, -012, +5, +007]", "[0,12,12,0,-0,-12,5,7]", NULL},
        {"[0o7, 0o17, 0o, 0o8, -0o7, 0777]", "[7,15,\"0o\",\"0o8\",\"-0o7\",777]", NULL},
        {"[0xFF, 0xdeadbeef, 0x, 0xG, -0xF, 0XFF]",
         "[255,3735928559,\"0x\",\"0xG\",\"-0xF\",\"0XFF\"]", NULL},
        {"[0xFFFFFFFFFFFFFFFF, 0o1777777777777777777777]",
         "[18446744073709551615,18446744073709551615]", NULL},
        {"[0x1FFFFFFFFFFFFFFFF, 1]", "[1]",
         "1:2 the number has more than 64 bits [write it in decimal]"},
        {"[1e3, 1E3, 1e+3, 1.5e-3, .5, 5., -.5, +.5e1, 00.50, 5.e2]",
         "[1e3,1e3,1e+3,1.5e-3,0.5,5,-0.5,0.5e1,0.50,5e2]", NULL},
        {"[., .e3, 1e, 1e+, e3, 1.2.3, +, -]",
         "[\".\",\".e3\",\"1e\",\"1e+\",\"e3\",\"1.2.3\",\"+\",\"-\"]", NULL},
        {"[.inf, -.Inf, +.INF, .nan, .NaN, -.nan, inf, nan, .iNF]",
         "[\"inf\",\"-inf\",\"inf\",\"nan\",\"nan\",\"-.nan\",\"inf\",\"nan\",\".iNF\"]", NULL},
        {"[1_000, 12:30, 12:30:45, 2024-01-01, 0b11, 1 2, 1.5s]",
         "[\"1_000\",\"12:30\",\"12:30:45\",\"2024-01-01\",\"0b11\",\"1 2\",\"1.5s\"]", NULL},
        {"123456789012345678901234567890.10", "123456789012345678901234567890.10", NULL},
        {"['1', \"true\", 'null', '']", "[\"1\",\"true\",\"null\",\"\"]", NULL},
        {"a:\nb: ''\nc:\n", "{\"a\":null,\"b\":\"\",\"c\":null}", NULL},
        {"[=, <<, a#b, http://x:80/y]", "[\"=\",\"<<\",\"a#b\",\"http://x:80/y\"]", NULL},
    };
    check_cases(cases, OWL_COUNT(cases));
    struct reading r = read_with(owl_yaml_read, OWL_STR("[.inf, inf, 1]"), 0, 0);
    const struct owl_value *v = r.tree->first;
    assert_int_equal(v->kind, OWL_NODE_NUMBER);
    assert_int_equal(v->form, OWL_FORM_NOT_FINITE);
    assert_string_equal(v->text.p, "inf");
    assert_int_equal(v->next->kind, OWL_NODE_STRING);
    assert_int_equal(v->next->next->form, OWL_FORM_PLAIN);
    owl_arena_free(r.arena);
}

TEST(strings_of_all_styles_are_read, "")
{
    static const struct reading_case cases[] = {
        {"|\n  a\n   b\n\n  c\n", "\"a\\n b\\n\\nc\\n\"", NULL},
        {"|-\n  a\n  b\n\n", "\"a\\nb\"", NULL},
        {"|+\n  a\n\n\n", "\"a\\n\\n\\n\"", NULL},
        {">\n  a\n  b\n\n  c\n", "\"a b\\nc\\n\"", NULL},
        {">-\n  a\n    b\n  c\n", "\"a\\n  b\\nc\"", NULL},
        {"|2\n   a\n", "\" a\\n\"", NULL},
        {"a: |\n  012\nb: 1\n", "{\"a\":\"012\\n\",\"b\":1}", NULL},
        {"a: one\n  two\n\n  three\n", "{\"a\":\"one two\\nthree\"}", NULL},
        {"'it''s'", "\"it's\"", NULL},
        {"\"a\\tb\\x41\\u00e4\\U0001F600\\0\\e\\/\\\"\"", "\"a\\tbAä😀\\u0000\\u001b/\\\"\"", NULL},
        {"\"a\n  b\\\n  c\"", "\"a bc\"", NULL},
        {"a: b # comment\n# another\nc: 'd # no'\n", "{\"a\":\"b\",\"c\":\"d # no\"}", NULL},
        {"a: 1\r\nb: |\r\n  x\r\n  y\r\n", "{\"a\":1,\"b\":\"x\\ny\\n\"}", NULL},
        {"ключ: значение 😀", "{\"ключ\":\"значение 😀\"}", NULL},
    };
    check_cases(cases, OWL_COUNT(cases));
}

TEST(structure_is_read, "")
{
    static const struct reading_case cases[] = {
        {"", "null", NULL},
        {"\n\n# nothing\n", "null", NULL},
        {"---\n", "null", NULL},
        {"\xef\xbb\xbf# bom\na: 1", "{\"a\":1}", NULL},
        {"%YAML 1.2\n---\na: 1\n...\n", "{\"a\":1}", NULL},
        {"%YAML 1.1\n---\nno\n", "\"no\"", NULL},
        {"a:\n- 1\n- 2\nb:\n  - c: 3\n    d: 4\n  - - 5\n    - 6\n",
         "{\"a\":[1,2],\"b\":[{\"c\":3,\"d\":4},[5,6]]}", NULL},
        {"{\"a\":1,\"b\":[true,{\"c\":null}]}", "{\"a\":1,\"b\":[true,{\"c\":null}]}", NULL},
        {"{a: 1, b: [x, y,], c, }", "{\"a\":1,\"b\":[\"x\",\"y\"],\"c\":null}", NULL},
        {"[a: 1, b]", "[{\"a\":1},\"b\"]", NULL},
        {"? a\n: 1\n? b\n", "{\"a\":1,\"b\":null}", NULL},
        {"1: a\ntrue: b\nno: c\n012: d\n\"\": e\n'~': f\n",
         "{\"1\":\"a\",\"true\":\"b\",\"no\":\"c\",\"012\":\"d\",\"\":\"e\",\"~\":\"f\"}", NULL},
        {"{a:1}", "{\"a:1\":null}", NULL},
        {"- - - 1\n", "[[[1]]]", NULL},
        {"'<<': 1", "{\"<<\":1}", NULL},
        {"a:\tb", "{\"a\":\"b\"}", NULL},
    };
    check_cases(cases, OWL_COUNT(cases));
}

TEST(aliases_repeat_what_they_name, "")
{
    static const struct reading_case cases[] = {
        {"a: &x {b: [1, 2]}\nc: *x\nd: [*x , *x ]\n",
         "{\"a\":{\"b\":[1,2]},\"c\":{\"b\":[1,2]},\"d\":[{\"b\":[1,2]},{\"b\":[1,2]}]}", NULL},
        {"- &a 1\n- *a\n- &a two\n- *a\n", "[1,1,\"two\",\"two\"]", NULL},
        {"&k key: v\nb: *k\n", "{\"key\":\"v\",\"b\":\"key\"}", NULL},
        {"&n 012: v\nb: *n\n", "{\"012\":\"v\",\"b\":12}", NULL},
        {"a: &e\nb: *e\n", "{\"a\":null,\"b\":null}", NULL},
        {"- &x [&x 1, *x ]\n- *x\n", "[[1,1],1]", NULL},
        {"a: *nobody\nb: 1\n", "{\"b\":1}",
         "1:4 no anchor &nobody comes before this alias [put the value in quotes"},
        {"- 1\n- *later\n- &later 2\n", "[1,2]", "2:3 no anchor &later comes before"},
        {"a: &a [1, *a ]\n", "{\"a\":[1]}",
         "1:11 this alias stands within what it repeats [write the value out]"},
        {"a: &a\n  b: {c: *a }\n", "{\"a\":{\"b\":{}}}", "2:10 this alias stands within"},
        {"k: &k x\n*k : y\n", "{\"k\":\"x\"}", "2:1 an alias cannot be a key [write the key out]"},
        {"*nobody", NULL, "1:1 no anchor &nobody"},
        {"a: &x 1\na: &y 2\nb: *y\n", "{\"a\":1,\"b\":2}", "2:1 the key \"a\" is there already"},
        {"a: &x !foo 1\nb: *x\n", "{}", "1:4 the tag !foo is not known"},
        {"a: &x !foo [1]\nb: *x\n", "{}", "1:4 the tag !foo is not known"},
    };
    check_cases(cases, OWL_COUNT(cases));
}

TEST(tags_of_the_core_schema_are_honoured, "")
{
    static const struct reading_case cases[] = {
        {"[!!str 1, !!str , !!str true, ! 5, !!str 'x']", "[\"1\",\"\",\"true\",\"5\",\"x\"]",
         NULL},
        {"[!!int 5, !!int '012', !!int 0x10, !!float 5, !!float 1e3, !!float .inf]",
         "[5,12,16,5,1e3,\"inf\"]", NULL},
        {"[!!bool true, !!bool 'False', !!null ~, !!null '']", "[true,false,null,null]", NULL},
        {"!!map {a: !!seq [1]}", "{\"a\":[1]}", NULL},
        {"!<tag:yaml.org,2002:str> 1", "\"1\"", NULL},
        {"%TAG !y! tag:yaml.org,2002:\n---\n!y!str 1", "\"1\"", NULL},
        {"!!str 1: a", "{\"1\":\"a\"}", NULL},
        {"a: !!int x\nb: 1", "{\"b\":1}",
         "1:4 this is no value for the tag !!int [take the tag out, or write a value of that "
         "kind]"},
        {"[!!int 1.5, !!bool yes, !!null x, !!float a, !!map x, !!seq x]", "[]",
         "1:2 this is no value for the tag !!int [take the tag out, or write a value of that "
         "kind], "
         "and 5 more"},
        {"a: !!map [1]\nb: !!seq {c: 1}\nc: !!str [1]", "{}",
         "1:4 this is no value for the tag !!map"},
        {"a: !env HOME\nb: 1", "{\"b\":1}",
         "1:4 the tag !env is not known [take it out, or put the"},
        {"a: !!binary aGk=", "{}", "1:4 the tag tag:yaml.org,2002:binary is not known"},
        {"!foo {a: 1}", NULL, "1:1 the tag !foo is not known"},
        {"!!int a: 1\nb: 2", "{\"b\":2}", "1:1 this is no value for the tag !!int"},
        {"!x!y z", NULL, "1:1 this tag is not known"},
    };
    check_cases(cases, OWL_COUNT(cases));
}

/* ---- faults --------------------------------------------------------------------------------- */

TEST(keys_that_are_none_are_faults, "")
{
    static const struct reading_case cases[] = {
        {"a: 1\nb: 2\na: 3\n", "{\"a\":1,\"b\":2}",
         "3:1 the key \"a\" is there already, at line 1, column 1 [keep one of the two]"},
        {"{a: 1, \"a\": {a: 2, a: 3}, 'a': 4}", "{\"a\":1}",
         "1:8 the key \"a\" is there already, at line 1, column 2 [keep one of the two], and 2 "
         "more"},
        {"a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n", "{\"a\":{\"x\":1},\"b\":{\"y\":2}}",
         "3:3 the merge key << is not of YAML 1.2 [write the keys out, or use an include]"},
        {"~: 1\na: 2", "{\"a\":2}", "1:1 a key must not be null"},
        {"null: 1\na: 2", "{\"a\":2}", "1:1 a key must not be null"},
        {"!!null '': 1\na: 2", "{\"a\":2}", "1:1 a key must not be null"},
        {"?\n: 1\n", "{}", "1:2 a key must not be null"},
        {"? [1, {b: 2}]\n: {c: 3}\na: 4", "{\"a\":4}",
         "1:3 a list cannot be a key [put it in quotes"},
        {"{a: {{ b }}}", "{\"a\":{}}", "1:6 a map cannot be a key [put it in quotes if it is"},
    };
    check_cases(cases, OWL_COUNT(cases));
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    for (int i = 0; i < 1000; i++)
        owl_buf_printf(&b, "k%d: %d\n", i % 900, i);
    struct reading r = read_with(owl_yaml_read, owl_buf_str(&b), 0, 0);
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.tree->count, 900);
    assert_int_equal(r.faults.errors, 100);
    assert_string_equal(r.tree->last->text.p, "899");
    owl_arena_free(r.arena);
    owl_buf_done(&b);
}

TEST(what_is_wrong_in_yaml_is_said_where_it_is, "")
{
    static const struct reading_case cases[] = {
        {"a:\n\tb: 1\n", NULL, "2:1 a tab cannot indent [use spaces]"},
        {"a: 1\n\tb: 1\n", NULL, "2:1 a tab cannot indent [use spaces]"},
        {"a:\n  b: 1\n \tc: 2\n", NULL, "3:2 a tab cannot indent"},
        {"a: |\n\tx\n", NULL, "2:1 a tab cannot indent"},
        {"- a\n-\tb: 1\n", NULL, "2:2 a tab cannot indent"},
        {"a: 1\nb:2\nc: 3\n", NULL, "2:2 a blank is missing behind this ':' [write key: value, or"},
        {"a: 1\nb:2\n", NULL, "2:2 a blank is missing"},
        {"host:x\nport: 80\n", NULL, "1:5 a blank is missing"},
        {"s:\n  - host:x\n    port: 80\n", NULL, "2:9 a blank is missing"},
        {"{a:[1]}", NULL, "1:3 a blank is missing"},
        {"a: b: c\n", NULL, "1:5 a second ': ' in one value [put the value in quotes"},
        {"a: Note: this\n", NULL, "1:8 a second ': ' in one value"},
        {"a: 1\n  b: 2\n", NULL,
         "2:4 this key is indented as if it went on with the value before it [begin all keys"},
        {"x:\n  a: 1\n b: 2\n", NULL,
         "3:2 expected a key of the map that began at line 1, column 1"},
        {": 1\n", NULL, "1:1 a key is missing before this ':'"},
        {" a: 1\nb: 2\n", NULL, "2:1 the document is complete before this [begin all keys"},
        {"a: 1\nb\nc: 2\n", NULL, "2:1 expected a key and ':' here [write key: value"},
        {"a: 1\nb = 2\n", NULL, "2:1 expected a key and ':' here"},
        {"- 1\nb: 2\n", NULL,
         "2:1 expected '- ' of the list that began at line 1, column 1 [begin"},
        {"a: - b\n", NULL, "1:4 a list cannot begin on the line of its key"},
        {"a: \"x\n", NULL, "1:4 this quote is never closed [add the quote at its end]"},
        {"a: 'it's'\n", NULL, "1:8 text behind the end of a quoted string"},
        {"a: 'x\nb: 'y'\n", NULL, "2:5 text behind the end of a quoted string"},
        {"a: \"x\n---\n", NULL, "1:4 this quote is not closed before the document ends"},
        {"a: \"C:\\dir\"\n", NULL, "1:7 this escape is not known [write \\\\ for a backslash, or"},
        {"\"\\xZZ\"", NULL, "1:4 expected a hexadecimal digit"},
        {"\"\\ud83d\\ude00\"", NULL, "1:4 this escape is half of a surrogate pair"},
        {"a: [1, 2\n", NULL, "1:4 this [ is never closed [add the ] that is missing]"},
        {"a: {b: 1\n", NULL, "1:4 this { is never closed [add the }"},
        {"a: [1, 2}\n", NULL, "1:9 expected ',' or ']'; the '[' is at line 1, column 4"},
        {"a: [1, 2\nb: 3\n", NULL, "2:2 expected ',' or ']'; the '[' is at line 1, column 4"},
        {"a: {b: 1]\n", NULL, "1:9 expected ',' or '}'; the '{' is at line 1, column 4"},
        {"a: [1] x\n", NULL, "1:8 expected a key of the map"},
        {"a: [1, , 2]\n", NULL, "1:8 expected a value here"},
        {"a: @x\n", NULL, "1:4 a value cannot begin with @ [put it in quotes]"},
        {"a: `x`\n", NULL, "1:4 a value cannot begin with `"},
        {"a: %x\n", NULL, "1:4 a value cannot begin with %"},
        {"[|\n x]", NULL, "1:2 a block of text (|) cannot stand within [ ] or { }"},
        {"a: *.txt\n", NULL,
         "1:4 a value that begins with * is an alias, and this is no name of one"},
        {"a: & b\n", NULL, "1:4 a value that begins with & is an anchor"},
        {"a: | x\n  y\n", NULL, "1:6 nothing can follow on this line [begin the text on the next"},
        {"a: |0\n  y\n", NULL, "1:5 the indentation of a block of text cannot be 0"},
        {"[1] 2", NULL, "1:5 the document is complete before this"},
        {"{a: 1}}", NULL, "1:7 the document is complete before this"},
        {"%YAML 2.0\n---\na", NULL, "1:1 only YAML 1.2 is read"},
        {"%FOO\n---\na", NULL, "1:1 a line that begins with % is a directive"},
        {"a: 1\n---\nb: 2\n", "{\"a\":1}", "2:1 a second document begins here [a file holds one"},
        {"a: 1\n...\n---\n", "{\"a\":1}", "3:1 a second document begins here"},
        {"a: x\x01y\n", NULL, "1:5 the character U+0001 is not allowed"},
        {"a: ü\nb: \xff\n", NULL, "2:4 the byte 0xff is not UTF-8 [save the file as UTF-8]"},
        {"a: ü\nü: ü: 2\n", NULL, "2:5 a second ': '"},
        {"\xfe\xff", NULL, "1:1 the text is UTF-16"},
        {"a: 1\n# \xe2\x80\xa8", NULL,
         "2:3 a line separator of Unicode cannot stand here [write it as"},
        {"\xc2\x85", NULL, "1:1 a line separator of Unicode"},
        {"\"\\L\"", "\"\xe2\x80\xa8\"", NULL},
        {"a:\n<<<<<<< HEAD\n  b: 1\n=======\n  b: 2\n>>>>>>> main\n", NULL,
         "2:1 this line is left of a merge conflict [decide for one side, and take the lines that "
         "begin with <<<<<<<, ======= and >>>>>>> out]"},
        {"- a\r\n>>>>>>> main\r\n", NULL, "2:1 this line is left of a merge conflict"},
    };
    check_cases(cases, OWL_COUNT(cases));
}

TEST(every_value_of_yaml_knows_its_place, "")
{
    check_marks(owl_yaml_read,
                "# c\na: 1\nü: [x,\n  &l {b: \"y\"}]\nc:\nd: *l\ne: |\n  text\n"
                "f: # comment\n  - g: 1\n",
                " 2:1 2:1\n"
                "/a 2:1 2:4\n"
                "/ü 3:1 3:4\n"
                "/ü/0 3:5 3:5\n"
                "/ü/1 4:3 4:3\n"
                "/ü/1/b 4:7 4:10\n"
                "/c 5:1 5:3\n"
                "/d 6:1 6:4\n" /* the alias; what is in it, where it was written: */
                "/d/b 4:7 4:10\n"
                "/e 7:1 7:4\n"
                "/f 9:1 10:3\n"
                "/f/0 10:5 10:5\n"
                "/f/0/g 10:5 10:8\n");
}

/* ---- limits --------------------------------------------------------------------------------- */

static void check_limits(const char *text, uint32_t depth, uint32_t values, const char *fault)
{
    struct reading r = read_with(owl_yaml_read, owl_str_of(text), depth, values);
    char faults[1024];
    print_faults(&r, faults, sizeof faults);
    assert_string_equal(faults, fault);
    assert_int_equal(r.rc, fault[0] ? -OWL_EPARSE : 0);
    owl_arena_free(r.arena);
}

TEST(yaml_has_limits, "")
{
    check_limits("[[[1]]]", 3, 4, "");
    check_limits("[[[1]]]", 2, 0, "1:3 nested deeper than 2 levels []");
    check_limits("[[[1]]]", 0, 3, "1:4 more than 3 values []");
    check_limits("a: &a [[1]]\nb: [*a ]\n", 4, 0, "");
    check_limits("a: &a [[1]]\nb: [*a ]\n", 3, 0, "2:5 nested deeper than 3 levels []");
    check_limits("a: &a [1, 2]\nb: *a\n", 0, 7, "");
    check_limits("a: &a [1, 2]\nb: *a\n", 0, 6,
                 "2:4 with what this alias repeats there are too many values [write less of it; "
                 "aliases of aliases multiply]");
    check_limits("a: &a [1, 2]\nb: *a\nc: 1", 0, 7, "3:4 more than 7 values []");
    check_limits("- &a 1\n- *b\n- *b\n", 0, 3,
                 "2:3 no anchor &b comes before this alias [put the value in quotes if it is a "
                 "string], and 1 more");
}

TEST(bombs_do_not_go_off, "")
{
    static const struct {
        const char *before, *text;
        size_t n;
        const char *fault;
    } cases[] = {
        {"", "[", 10000, "1:101 nested deeper than 100 levels"},
        {"", "- ", 10000, "1:201 nested deeper than 100 levels"},
        {"", "{", 1 << 20, "1:101 nested deeper than 100 levels"},
        {"", "? ", 1 << 20, "1:201 nested deeper than 100 levels"},
        {"", "[a, ", 1 << 20, "1:401 nested deeper than 100 levels"},
        {"", "a: &a [*a\n", 1 << 20, "2:1 expected ',' or ']'; the '[' is at line 1, column 7"},
        {"", "[a: &a [*a , ", 1 << 20, "1:431 nested deeper than 100 levels"},
        {"", "- *x\n", 2 << 20, "200:3 no anchor &x comes before this alias"},
        {"- &x [1,2,3,4,5,6,7,8,9]\n", "- *x\n", 1 << 20,
         "100000:3 with what this alias repeats there are too many values"},
        {"", "%TAG !a! b\n", 1 << 20, "101:1 too many directives"},
        {"", "\"", 1 << 20 | 1, "1:3 the document is complete before this"},
        {"", ": ", 1 << 20, "1:1 a key is missing before this ':'"},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        struct owl_buf b;
        owl_str text = repeated(&b, cases[i].before, cases[i].text, cases[i].n);
        check_bomb(owl_yaml_read, text, cases[i].fault);
        owl_buf_done(&b);
    }
}

TEST(laughs_are_fewer_than_a_billion, "")
{
    struct owl_buf b;
    repeated(&b, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n", "", 0);
    for (int i = 1; i < 12; i++) {
        owl_buf_printf(&b, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            owl_buf_printf(&b, "*a%d ,", i - 1);
        owl_buf_putz(&b, "]\n");
    }
    check_bomb(owl_yaml_read, owl_buf_str(&b),
               "6:45 with what this alias repeats there are too many values");
    owl_buf_done(&b);
    repeated(&b, "- &a0 [x]\n", "", 0);
    for (int i = 1; i < 200; i++)
        owl_buf_printf(&b, "- &a%d [*a%d ]\n", i, i - 1);
    check_bomb(owl_yaml_read, owl_buf_str(&b), "100:9 nested deeper than 100 levels");
    owl_buf_done(&b);
}

TEST(many_blanks_cost_no_more_than_they_are_worth, "")
{
    struct owl_buf b;
    repeated(&b, "a: x\n", "\n", 1 << 20);
    owl_buf_putz(&b, "  y\n");
    struct reading r = read_with(owl_yaml_read, owl_buf_str(&b), 0, 0);
    assert_int_equal(r.rc, 0); /* odd, but no bomb */
    assert_int_equal(r.tree->first->text.n, (1 << 20) + 2);
    owl_arena_free(r.arena);
    for (int i = 0; i < 1 << 20; i++)
        owl_buf_putz(&b, "  y\n");
    check_bomb(owl_yaml_read, owl_buf_str(&b), "1048578:2 too many blanks or empty lines in a row");
    owl_buf_done(&b);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* libyaml's own memory, here under the same knob as ours. */
void *yaml_malloc(size_t n);
void *yaml_realloc(void *p, size_t n);
void yaml_free(void *p);
yaml_char_t *yaml_strdup(const yaml_char_t *s);

static unsigned long asked;

void *yaml_malloc(size_t n)
{
    asked++;
    return owl_malloc(n ? n : 1);
}

void *yaml_realloc(void *p, size_t n)
{
    asked++;
    return owl_realloc(p, n ? n : 1);
}

void yaml_free(void *p)
{
    owl_free(p);
}

yaml_char_t *yaml_strdup(const yaml_char_t *s)
{
    asked++;
    return s ? (yaml_char_t *)owl_strdup((const char *)s) : NULL;
}

TEST(yaml_survives_without_memory, "")
{
    check_no_memory(owl_yaml_read, "- &x [1, 'x']\n- *x\n- |\n  t\n");
    check_no_memory(owl_yaml_read,
                    "%TAG !y! tag:yaml.org,2002:\n---\n"
                    "a: &x [1, 'x', 0xF]\nb: *x\na: 2\nc: !y!str 1\n&k d: >\n  e\n  f\n"
                    "1: 1\n2: 1\n3: 1\n4: 1\n5: 1\n6: 1\n7: 1\n8: 1\n9: 1\n10: 1\n11: 1\n12: 1\n"
                    "g: {h: \"i\n  j\"}\nk: one\n  two\n");
    assert_true(asked > 1000); /* it was libyaml that has run out, too */
}

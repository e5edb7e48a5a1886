/* Unit tests of formats/toml*.c: marks, faults, limits, memory. What is TOML and what is not is the
 * matter of test_toml_suite.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "formats/value.h"

#include <stdio.h>

struct reading {
    struct owl_reading r;
    struct owl_faults faults;
    struct owl_value *root;
    int rc;
};

static void begin(struct reading *x, owl_str text)
{
    *x = (struct reading){.faults = {.arena = owl_arena_new(0)}};
    x->r = (struct owl_reading){
        .text = text, .source = 3, .arena = x->faults.arena, .faults = &x->faults};
}

static void run(struct reading *x)
{
    x->rc = owl_toml_read(&x->r, &x->root);
}

static void read_text(struct reading *x, const char *text)
{
    begin(x, owl_str_of(text));
    run(x);
}

static void done(struct reading *x)
{
    owl_arena_free(x->faults.arena);
}

static void assert_json(const struct reading *x, const char *expected)
{
    struct owl_buf b;
    assert_int_equal(x->rc, 0);
    owl_buf_init(&b, SIZE_MAX);
    owl_value_json(&b, x->root, NULL);
    owl_buf_putc(&b, '\0');
    assert_int_equal(b.rc, 0);
    assert_string_equal(b.p, expected);
    owl_buf_done(&b);
}

/* All faults, one a line: "line:column+width what | hint". */
static void assert_faults(const struct reading *x, const char *expected)
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    for (size_t i = 0; i < x->faults.n; i++) {
        const struct owl_fault *f = &x->faults.list[i];
        assert_int_equal(f->at.source, 3);
        assert_false(f->warning);
        owl_buf_printf(&b, "%u:%u+%u %s", f->at.line, f->at.column, f->width, f->what.p);
        if (f->hint.p)
            owl_buf_printf(&b, " | %s", f->hint.p);
        owl_buf_putc(&b, '\n');
    }
    owl_buf_putc(&b, '\0');
    assert_string_equal(b.p, expected);
    owl_buf_done(&b);
}

static void check(const char *text, const char *faults, const char *json)
{
    struct reading x;
    read_text(&x, text);
    assert_faults(&x, faults);
    if (json)
        assert_json(&x, json);
    else
        assert_int_equal(x.rc, -OWL_EPARSE);
    done(&x);
}

static void assert_mark(struct owl_mark at, uint32_t line, uint32_t column)
{
    assert_int_equal(at.source, 3);
    assert_int_equal(at.line, line);
    assert_int_equal(at.column, column);
}

/* ---- values ----------------------------------------------------------------------------- */

TEST(every_value_knows_where_it_stands, "")
{
    struct reading x;
    read_text(&x, "\xef\xbb\xbf"
                  "a = 1\r\n"
                  "\t\"\xc3\xa4\xf0\x9f\xa6\x89\".b = ['x', # y\r\n"
                  "  {c = '''\r\n\r\n''', d = 2}]\r\n"
                  "[t.u]\r\n"
                  "[[l]]\r\n"
                  " [[ l ]]\r\n"
                  "[t]\r\n");
    assert_json(&x, "{\"a\":1,\"\xc3\xa4\xf0\x9f\xa6\x89\":{\"b\":[\"x\",{\"c\":\"\\n\",\"d\":2}]},"
                    "\"t\":{\"u\":{}},\"l\":[{},{}]}");
    const struct owl_value *root = x.root, *a = root->first, *owl = a->next, *b = owl->first;
    assert_mark(root->at, 1, 1);
    assert_mark(a->key_at, 1, 1);
    assert_mark(a->at, 1, 5);
    assert_mark(owl->key_at, 2, 2);
    assert_mark(b->key_at, 2, 7);
    assert_mark(b->at, 2, 11);
    assert_mark(b->first->at, 2, 12);
    const struct owl_value *table = b->last, *t = owl->next, *l = t->next;
    assert_mark(table->at, 3, 3);
    assert_mark(table->first->key_at, 3, 4);
    assert_mark(table->first->at, 3, 8);
    assert_mark(table->last->key_at, 5, 6);
    assert_mark(t->first->at, 6, 1);
    assert_mark(t->first->key_at, 6, 4);
    assert_mark(t->at, 9, 1); /* where it is defined at last */
    assert_mark(t->key_at, 9, 2);
    assert_mark(l->at, 7, 1);
    assert_mark(l->key_at, 7, 3);
    assert_mark(l->first->at, 7, 1);
    assert_mark(l->last->at, 8, 2);
    done(&x);
}

TEST(scalars_are_read_in_the_notation_of_json, "")
{
    check("a=[+0,-0,-0.0,+1_000.5,1e06,-9223372036854775808,9223372036854775807,0xdead_BEEF,"
          "0o777,0b101,0x7fffffffffffffff,6.02E+23]",
          "",
          "{\"a\":[0,0,-0.0,1000.5,1e06,-9223372036854775808,9223372036854775807,3735928559,"
          "511,5,9223372036854775807,6.02E+23]}");
    struct reading x;
    read_text(&x, "a=[inf,+inf,-inf,nan,-nan,1979-05-27t07:32:00z,1979-05-27 07:32:00.50,"
                  "1979-05-27 ,07:32:60,\"\"]");
    static const struct {
        const char *text;
        enum owl_node_kind kind;
        enum owl_value_form form;
    } expected[] = {
        {"inf", OWL_NODE_NUMBER, OWL_FORM_NOT_FINITE},
        {"inf", OWL_NODE_NUMBER, OWL_FORM_NOT_FINITE},
        {"-inf", OWL_NODE_NUMBER, OWL_FORM_NOT_FINITE},
        {"nan", OWL_NODE_NUMBER, OWL_FORM_NOT_FINITE},
        {"nan", OWL_NODE_NUMBER, OWL_FORM_NOT_FINITE},
        {"1979-05-27T07:32:00Z", OWL_NODE_STRING, OWL_FORM_OFFSET_DATE_TIME},
        {"1979-05-27T07:32:00.50", OWL_NODE_STRING, OWL_FORM_LOCAL_DATE_TIME},
        {"1979-05-27", OWL_NODE_STRING, OWL_FORM_LOCAL_DATE},
        {"07:32:60", OWL_NODE_STRING, OWL_FORM_LOCAL_TIME},
        {"", OWL_NODE_STRING, OWL_FORM_PLAIN},
    };
    assert_int_equal(x.rc, 0);
    assert_int_equal(x.faults.n, 0);
    const struct owl_value *v = x.root->first->first;
    for (size_t i = 0; i < OWL_COUNT(expected); i++, v = v->next) {
        assert_string_equal(v->text.p, expected[i].text);
        assert_int_equal(v->text.n, strlen(expected[i].text));
        assert_int_equal(v->kind, expected[i].kind);
        assert_int_equal(v->form, expected[i].form);
    }
    assert_null(v);
    done(&x);
}

TEST(nothing_is_an_empty_table, "")
{
    check("", "", "{}");
    check("\xef\xbb\xbf", "", "{}");
    check(" \t# only\r\n", "", "{}");
    struct reading x;
    begin(&x, (owl_str){NULL, 0});
    run(&x);
    assert_json(&x, "{}");
    done(&x);
}

/* ---- faults ----------------------------------------------------------------------------- */

TEST(text_without_quotes_is_told_with_its_quotes, "")
{
    check("a = my server # here\nb = 10s\nc = C:\\dir\nd = 127.0.0.1:80\ne = [x y, z]\n",
          "1:5+9 found my server, expected a value | text needs quotes: \"my server\"\n"
          "2:5+3 found 10s, expected a value | text needs quotes: \"10s\"\n"
          "3:5+6 found C:\\dir, expected a value | text needs quotes: 'C:\\dir'\n"
          "4:5+12 found 127.0.0.1:80, expected a value | text needs quotes: \"127.0.0.1:80\"\n"
          "5:6+3 found x y, expected a value | text needs quotes: \"x y\"\n"
          "5:11+1 found z, expected a value | text needs quotes: \"z\"\n",
          "{\"e\":[]}");
}

TEST(habits_of_other_notations_are_told, "")
{
    check("a: 1\nb = True\nc = no\nd = null\ne == 1\nf = 1;\ng = 1,\nh = NaN\n",
          "1:2+1 found ':' behind the key a, expected '=' | "
          "TOML has = where YAML and JSON have a colon: a = …\n"
          "2:5+4 found True, expected a value | write true\n"
          "3:5+2 found no, expected a value | write false\n"
          "4:5+4 found null, expected a value | "
          "TOML has no null: leave the key out to give it no value\n"
          "5:4+3 found = 1, expected a value | one = is enough\n"
          "6:6+1 found ';', expected the end of the line behind the value | "
          "remove it: the end of the line ends the value\n"
          "7:6+1 found ',', expected the end of the line behind the value | "
          "remove it: the end of the line ends the value\n"
          "8:5+3 found NaN, expected a value | write inf or nan in lower case\n",
          "{\"f\":1,\"g\":1}");
    check("\n{\n\"a\": 1}\n",
          "2:1+1 found '{', expected a key, a [table] or a comment: is this JSON? | "
          "name the file .json\n",
          NULL);
    check("---\na: 1\nb: 2\n",
          "1:1+1 found '---', expected a key, a [table] or a comment: is this YAML? | "
          "name the file .yaml\n",
          NULL);
}

TEST(keys_without_values_and_values_without_keys_are_told, "")
{
    check("a\nb 1\nc =\n= 1\nd. = 1\n\xc3\xa4 = 1\ne = 1 f = 2\n\"\"\"g\"\"\" = 1\n",
          "1:2+1 found the end of the line behind the key a, expected '=' | write a = value\n"
          "2:3+1 found 1 behind the key b, expected '=' | write b = value\n"
          "3:4+1 found the end of the line, expected a value | write \"\" for an empty string\n"
          "4:1+1 found '=', expected a key, a [table] or a comment | "
          "name the key before the sign =\n"
          "5:4+1 found '=', expected a key behind the dot | name the key before the sign =\n"
          "6:1+1 found '\xc3\xa4', expected a key, a [table] or a comment | "
          "a key of other characters than A-Z a-z 0-9 _ - needs quotes\n"
          "7:7+1 found f, expected the end of the line behind the value | "
          "one key a line; quotes enclose all of a text\n"
          "8:1+3 found \"\"\", expected a key in one pair of quotes\n",
          "{\"e\":1}");
}

TEST(strings_that_are_wrong_are_told_once, "")
{
    check(
        "a = \"open\nb = 'open\nc = \"C:\\dir\\q\"\nd = \"\\u12\"\ne = \"\\ud800\"\n"
        "f = '\x01'\ng = \"x\\ y\"\nh = 1\n",
        "1:5+1 the string that begins here is not closed: found the end of the line, expected \" "
        "| add \", or begin and end a string of several lines with \"\"\"\n"
        "2:5+1 the string that begins here is not closed: found the end of the line, expected ' "
        "| add ', or begin and end a string of several lines with '''\n"
        "3:8+2 found the escape \\d, expected one of \\\" \\\\ \\b \\t \\n \\f \\r \\uXXXX "
        "\\UXXXXXXXX | write \\\\ for a backslash, or put the text between ' where \\ is itself\n"
        "4:6+4 found the escape \\u12, expected \\u and four hexadecimal digits | "
        "write \\\\ for a backslash, or put the text between ' where \\ is itself\n"
        "5:6+6 found the escape \\ud800, expected a character of Unicode: up to 10FFFF, and not "
        "D800 to DFFF | "
        "write \\\\ for a backslash, or put the text between ' where \\ is itself\n"
        "6:6+1 found the control character U+0001 in a string, expected an escape in its place | "
        "write \\u0001 in a string with \"\n"
        "7:7+1 found a lone \\, expected one of \\\" \\\\ \\b \\t \\n \\f \\r \\uXXXX "
        "\\UXXXXXXXX | write \\\\ for a backslash, or put the text between ' where \\ is itself\n",
        "{\"h\":1}");
    check("a = 1\nb = \"\"\"\nc = 2\n",
          "2:5+3 the string that begins here is not closed: found the end of the file, expected "
          "\"\"\"\n",
          "{\"a\":1}");
    check(
        "a = \"\"\"\n\n  \xc3\xa4\\q\"\"\"\nb = 1", /* the column behind lines and characters */
        "3:4+2 found the escape \\q, expected one of \\\" \\\\ \\b \\t \\n \\f \\r \\uXXXX "
        "\\UXXXXXXXX | write \\\\ for a backslash, or put the text between ' where \\ is itself\n",
        "{\"b\":1}");
}

TEST(numbers_that_are_wrong_are_told, "")
{
    check("a = 01\nb = 9223372036854775808\nc = -9223372036854775809\nd = 0x8000000000000000\n"
          "e = 1__0\nf = .5\ng = 5.\nh = -0x1\ni = 0b2\nj = 0XF\nk = 1e\n",
          "1:5+2 found 01, expected a number without 0 in front | "
          "leave the 0 out; an octal number is 0o17, and text needs quotes: \"017\"\n"
          "2:5+19 found 9223372036854775808, expected an integer from -9223372036854775808 to "
          "9223372036854775807 | write it with .0 behind, or as text in quotes\n"
          "3:5+20 found -9223372036854775809, expected an integer from -9223372036854775808 to "
          "9223372036854775807 | write it with .0 behind, or as text in quotes\n"
          "4:5+18 found 0x8000000000000000, expected an integer from -9223372036854775808 to "
          "9223372036854775807 | write it with .0 behind, or as text in quotes\n"
          "5:5+4 found 1__0, expected underscores between digits only\n"
          "6:5+2 found .5, expected a digit before the decimal point | write 0 before the point\n"
          "7:5+2 found 5., expected a digit behind the decimal point | write 0 behind the point\n"
          "8:5+4 found -0x1, expected a number | only decimal numbers have a sign\n"
          "9:5+3 found 0b2, expected 0b and digits 0 and 1\n"
          "10:5+3 found 0XF, expected a number | write 0x, 0o or 0b\n"
          "11:5+2 found 1e, expected digits in the exponent\n",
          "{}");
}

#define DATES \
    " | a date is 2024-12-31, a time 23:59:59, both 2024-12-31T23:59:59Z; text needs quotes\n"

TEST(dates_that_never_were_are_told, "")
{
    check("a = 2023-02-29\nb = 2024-02-30\nc = 1900-02-29\nd = 2024-13-01\ne = 24:00:00\n"
          "f = 07:32\ng = 2024-01-01T00:00:00+0100\nh = 2024-01-01x\ni = 2024-02-29\n"
          "j = 2000-02-29\n",
          "1:5+10 found 2023-02-29, expected a day up to 28: February 2023 has no more" DATES
          "2:5+10 found 2024-02-30, expected a day up to 29: February 2024 has no more" DATES
          "3:5+10 found 1900-02-29, expected a day up to 28: February 1900 has no more" DATES
          "4:5+10 found 2024-13-01, expected a month of two digits from 01 to 12" DATES
          "5:5+8 found 24:00:00, expected an hour of two digits from 00 to 23" DATES
          "6:5+5 found 07:32, expected : before the second" DATES
          "7:5+24 found 2024-01-01T00:00:00+0100, expected : before the minute" DATES
          "8:5+11 found 2024-01-01x, expected nothing behind the date" DATES,
          "{\"i\":\"2024-02-29\",\"j\":\"2000-02-29\"}");
}

TEST(of_two_equal_keys_the_first_is_kept_and_named, "")
{
    check(
        "a = 1\n  a = 2\nb.c = 1\nb.c.d = 2\nb = 3\ne = {x = 1, x = 2}\ne.y = 3\n",
        "2:3+1 the key \"a\" is there already: line 1, column 1 makes it a number | "
        "keep one of the two, or rename one\n"
        "4:3+1 the key \"c\" cannot have keys of its own here: line 3, column 3 makes it a number\n"
        "5:1+1 the key \"b\" is there already: line 3, column 1 makes it a table | "
        "keep one of the two, or rename one\n"
        "6:13+1 the key \"x\" is there already: line 6, column 6 makes it a number | "
        "keep one of the two, or rename one\n"
        "7:1+1 the key \"e\" cannot have keys of its own here: line 6, column 1 makes it an inline "
        "table | put the key between the braces of line 6\n",
        "{\"a\":1,\"b\":{\"c\":1},\"e\":{\"x\":1}}");
    check(
        "[a.b]\nx = 1\n[a]\nb.y = 2\n",
        "4:1+1 the key \"b\" cannot have keys of its own here: line 1, column 4 makes it a table | "
        "put the key below the header of line 1\n",
        "{\"a\":{\"b\":{\"x\":1}}}");
    /* A table that was but implied may be defined by a dotted key; then it is. */
    check("[a.b.c]\n[a]\nb.y = 2\n[a.b]\n",
          "4:2+3 the table [a.b] is there already: line 1, column 4 defines it | "
          "put all its keys in one place\n",
          "{\"a\":{\"b\":{\"c\":{},\"y\":2}}}");
}

TEST(tables_and_arrays_of_tables_that_are_mixed_up_are_told, "")
{
    check("[a]\nx = 1\n[a]\nx = 2\ny = 01\n",
          "3:2+1 the table [a] is there already: line 1, column 1 defines it | "
          "put all its keys in one place\n"
          "5:5+2 found 01, expected a number without 0 in front | "
          "leave the 0 out; an octal number is 0o17, and text needs quotes: \"017\"\n",
          "{\"a\":{\"x\":1}}");
    check(
        "[[a]]\nx = 1\n[a]\nx = 2\n[[b]\n[c]]\n[d\n[]\n",
        "3:2+1 found the header [a], but line 1, column 1 makes \"a\" an array of tables | "
        "write [[a]] to add an entry\n"
        "5:5+1 found the end of the line, expected a second ']' | an entry is [[b]], a table [b]\n"
        "6:4+1 found ']', expected the end of the line behind the header | "
        "an entry is [[c]], a table [c]\n"
        "7:3+1 found the end of the line, expected ']'\n"
        "8:2+1 found ']', expected the name of a table\n",
        "{\"a\":[{\"x\":1},{\"x\":2}],\"c\":{}}");
    check("[a]\n[[a]]\nx = 1\n",
          "2:3+1 found the header [[a]], but line 1, column 1 makes \"a\" a table | "
          "write [[a]] in line 1 too, if there are to be several\n",
          "{\"a\":{}}");
    check("a = [1]\n[[a]]\nb = {}\n[b.c]\nx = 1\n",
          "2:3+1 found the header [[a]], but line 1, column 5 makes \"a\" an array\n",
          "{\"a\":[1],\"b\":{\"c\":{\"x\":1}}}");
    check("a = {}\n[a.c]\nx = 1\n",
          "2:2+3 found the header [a.c], but line 1, column 5 makes \"a\" an inline table\n",
          "{\"a\":{}}");
}

TEST(what_follows_something_unclosed_is_read, "")
{
    check("a = [1, 2\nb = 3\nc = [1,\n  d.e = 4\nf = [\n[g]\nh = {x = 1\ni = 5\n",
          "2:1+1 found b, expected ',' or ']': the array of line 1, column 5 is open\n"
          "4:3+1 found d, expected ',' or ']': the array of line 3, column 5 is open\n"
          "6:1+1 found '[', expected ',' or ']': the array of line 5, column 5 is open\n"
          "7:11+1 found the end of the line, expected '}': the inline table of line 7, column 5 is "
          "open | an inline table stands in one line; for more, write a [table]\n",
          "{\"b\":3,\"d\":{\"e\":4},\"g\":{\"i\":5}}");
    check("a = [1 2, [3, \"]\"], # ]\n '''\n]''']\nb = 1\n",
          "1:8+1 found 2, expected ',' or ']': the array of line 1, column 5 is open\n",
          "{\"b\":1}");
    check("a = [1,,2]\nb = [[true],\n[inf],\n[-1]]\nc = [",
          "1:8+1 found ',', expected a value or ']'\n"
          "5:6+1 found the end of the file, expected ',' or ']': the array of line 5, column 5 is "
          "open\n",
          "{\"b\":[[true],[\"inf\"],[-1]]}");
}

TEST(an_inline_table_over_lines_is_one_fault, "")
{
    check("a = {\n  x = 1, # one\n  y = 2,\n}\nb = {x = 1,}\nc = {x = }\n",
          "1:6+1 found the end of the line, expected '}': the inline table of line 1, column 5 is "
          "open | an inline table stands in one line; for more, write a [table]\n"
          "5:12+1 found '}', expected a key behind the comma | "
          "an inline table has no comma behind its last key\n"
          "6:10+1 found '}', expected a value\n",
          "{\"a\":{\"x\":1,\"y\":2},\"b\":{\"x\":1},\"c\":{}}");
    check("a = {x = 1,\n", /* and no end at all */
          "1:12+1 found the end of the line, expected '}': the inline table of line 1, column 5 is "
          "open | an inline table stands in one line; for more, write a [table]\n",
          "{}");
    check("a = {\nx = 1,\n",
          "1:6+1 found the end of the line, expected '}': the inline table of line 1, column 5 is "
          "open | an inline table stands in one line; for more, write a [table]\n",
          "{}");
}

TEST(a_merge_conflict_is_one_fault, "")
{
#define CONFLICT \
    " of a merge conflict, expected a key, a [table] or a comment | " \
    "keep one side of the conflict, and remove its markers\n"
    check(
        "a = 1\n<<<<<<< ours\nb = 1\n=======\nb = 2\n>>>>>>> theirs\nc = [\n<<<<<<<\n1,\n|||||||\n"
        "2,\n=======\n3,\n>>>>>>>\n]\n=======\n",
        "2:1+7 found the marker <<<<<<<" CONFLICT "8:1+7 found the marker <<<<<<<" CONFLICT
        "16:1+7 found the marker =======" CONFLICT,
        "{\"a\":1,\"b\":1,\"c\":[1]}");
}

TEST(bytes_of_other_encodings_give_no_tree, "")
{
    check("a = 1\nb = '\xe4' # \xff\n\n# \xc3\n",
          "2:6+1 found the byte 0xE4, which is not UTF-8, expected UTF-8 | "
          "save the file as UTF-8\n"
          "4:3+1 found the byte 0xC3, which is not UTF-8, expected UTF-8 | "
          "save the file as UTF-8\n",
          NULL);
    struct reading x;
    begin(&x, OWL_STR("\xff\xfe"
                      "a\0=\0"));
    run(&x);
    assert_int_equal(x.rc, -OWL_EPARSE);
    assert_faults(&x, "1:1+1 found text in UTF-16, expected UTF-8 | save the file as UTF-8\n");
    done(&x);
    begin(&x, OWL_STR("a = 1\n\0b = 2\nc = 3 # \x7f\nd = 4"));
    run(&x);
    assert_faults(&x,
                  "2:1+1 found the control character U+0000, expected a key, a [table] or a "
                  "comment\n"
                  "3:9+1 found the control character U+007F, expected a comment without control "
                  "characters\n");
    assert_json(&x, "{\"a\":1,\"c\":3,\"d\":4}");
    done(&x);
}

TEST(long_texts_are_quoted_in_part, "")
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_putz(&b, "a = ");
    for (int i = 0; i < 1000; i++)
        owl_buf_putz(&b, "\xc3\xa4");
    owl_buf_putz(&b, "x\nb = 1");
    struct reading x;
    begin(&x, owl_buf_str(&b));
    run(&x);
    assert_json(&x, "{\"b\":1}");
    assert_int_equal(x.faults.n, 1);
    assert_int_equal(x.faults.list[0].width, 1001);
    assert_true(x.faults.list[0].what.n < 100);
    assert_non_null(strstr(x.faults.list[0].what.p, "\xc3\xa4, expected a value"));
    assert_string_equal(x.faults.list[0].hint.p, "text needs quotes");
    done(&x);
    owl_buf_done(&b);
}

/* ---- limits ----------------------------------------------------------------------------- */

static void repeat(struct owl_buf *b, const char *z, size_t n)
{
    for (size_t i = 0; i < n; i++)
        owl_buf_putz(b, z);
}

/* Reads @p open n times, then @p middle, then @p close n times, with a limit of depth. */
static void read_deep(struct reading *x, struct owl_buf *b, const char *const parts[3], size_t n,
                      uint32_t max_depth)
{
    owl_buf_reset(b);
    repeat(b, parts[0], n);
    owl_buf_putz(b, parts[1]);
    repeat(b, parts[2], n);
    owl_buf_putz(b, "\n[z]\n");
    begin(x, owl_buf_str(b));
    x->r.max_depth = max_depth;
    run(x);
}

TEST(depth_is_limited_whatever_makes_it, "")
{
    /* Each has the document and n more levels; a list of tables makes two. */
    static const char *const arrays[] = {"a=[", "", "]"};
    static const char *const brackets[] = {"[", "", "]"};
    static const char *const keys[] = {"a.", "b=1", ""};
    static const char *const inlines[] = {"a={", "", "}"};
    struct owl_buf b, text;
    struct reading x;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_init(&text, SIZE_MAX);
    read_deep(&x, &b, arrays, 1, 2);
    assert_int_equal(x.faults.n, 0);
    done(&x);
    read_deep(&x, &b, arrays, 1, 1);
    assert_int_equal(x.faults.n, 2); /* [z] is too deep, too */
    assert_json(&x, "{}");
    done(&x);
    read_deep(&x, &b, keys, 4, 5);
    assert_int_equal(x.faults.n, 0);
    done(&x);
    read_deep(&x, &b, keys, 5, 5);
    assert_string_equal(x.faults.list[0].what.p,
                        "nested too deeply: found a key of more than 5 parts");
    assert_json(&x, "{\"z\":{}}");
    done(&x);
    read_deep(&x, &b, inlines, 4, 5);
    assert_int_equal(x.faults.n, 0);
    done(&x);
    read_deep(&x, &b, inlines, 5, 5);
    assert_int_equal(x.faults.n, 1);
    assert_string_equal(x.faults.list[0].what.p, "nested too deeply: expected at most 5 levels");
    assert_mark(x.faults.list[0].at, 1, 15);
    assert_json(&x, "{\"z\":{}}");
    done(&x);
    for (size_t n = 99; n < 100000; n += 49950) { /* the document is the hundredth */
        owl_buf_reset(&text);
        owl_buf_putz(&text, "a=");
        repeat(&text, brackets[0], n);
        repeat(&text, brackets[2], n);
        owl_buf_putz(&text, "\nb=1\n");
        begin(&x, owl_buf_str(&text));
        run(&x);
        assert_int_equal(x.rc, 0);
        assert_int_equal(x.faults.n, n > 99);
        assert_int_equal(x.root->count, n > 99 ? 1 : 2);
        done(&x);
    }
    check("[a.b]", "", "{\"a\":{\"b\":{}}}");
    owl_buf_done(&text);
    owl_buf_done(&b);
}

TEST(an_entry_too_deep_leaves_no_empty_array, "")
{
    struct reading x;
    begin(&x, OWL_STR("[[a.b]]\nx=1\n[a.b.c]\n[[d]]\n"));
    x.r.max_depth = 3;
    run(&x);
    assert_faults(&x, "1:5+1 nested too deeply: expected at most 3 levels\n"
                      "3:6+1 nested too deeply: expected at most 3 levels\n");
    assert_json(&x, "{\"a\":{\"b\":{}},\"d\":[{}]}");
    done(&x);
}

TEST(values_are_limited, "")
{
    struct reading x;
    begin(&x, OWL_STR("a = [1, 2]\n"));
    x.r.max_values = 4;
    run(&x);
    assert_json(&x, "{\"a\":[1,2]}");
    done(&x);
    begin(&x, OWL_STR("a = [1, 2]\nb = 1\nc = 2\n"));
    x.r.max_values = 4;
    run(&x);
    assert_int_equal(x.rc, -OWL_EPARSE);
    assert_null(x.root);
    assert_faults(&x, "2:5+1 found more than 4 values, expected no more in one file | "
                      "divide the file\n");
    done(&x);
}

TEST(a_fault_a_line_is_bounded, "")
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    repeat(&b, "key: value\n", 100000);
    struct reading x;
    begin(&x, owl_buf_str(&b));
    run(&x);
    assert_json(&x, "{}");
    assert_int_equal(x.faults.n, OWL_FAULTS);
    assert_int_equal(x.faults.errors, 100000);
    assert_true(owl_arena_used(x.faults.arena) < 200000);
    done(&x);
    owl_buf_done(&b);
}

/* The milliseconds that the text takes; it has no faults. */
static uint64_t time_of(const struct owl_buf *b, size_t members)
{
    struct reading x;
    assert_int_equal(b->rc, 0);
    begin(&x, owl_buf_str(b));
    uint64_t start = owl_now_ns();
    run(&x);
    uint64_t took = (owl_now_ns() - start) / 1000000;
    assert_int_equal(x.rc, 0);
    assert_int_equal(x.faults.errors, 0);
    assert_int_equal(x.root->count > 1 ? x.root->count : x.root->first->count, members);
    done(&x);
    return took;
}

TEST(time_is_linear, "")
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    for (int i = 0; i < 100000; i++)
        owl_buf_printf(&b, "key%d = %d\n", i, i);
    assert_true(time_of(&b, 100000) < 3000);
    owl_buf_reset(&b);
    owl_buf_putz(&b, "a = {");
    for (int i = 0; i < 100000; i++)
        owl_buf_printf(&b, "%sk%d = ''", i ? ", " : "", i); /* one line */
    owl_buf_putz(&b, "}");
    assert_true(time_of(&b, 100000) < 3000);
    owl_buf_reset(&b);
    for (int i = 0; i < 100000; i++)
        owl_buf_printf(&b, "[[x]]\na.b = 1\n[x.t%d]\n", i);
    assert_true(time_of(&b, 100000) < 3000);
    owl_buf_reset(&b);
    owl_buf_putz(&b, "a = [\n");
    repeat(&b, " ", 300000);
    repeat(&b, "1,", 300000);
    owl_buf_putz(&b, "\n]");
    assert_true(time_of(&b, 300000) < 3000);
    owl_buf_done(&b);
}

TEST(time_is_linear_when_all_is_wrong, "")
{
    static const char *const units[] = {"a=[\n",      "[[[",   "\"\"\"", "a={\n", "<<<<<<< \n",
                                        "=======\n",  "a=[1 ", "x",      "'",     "[a.b]\n",
                                        "a=\"\"\"\\", " ",     "{a=[",   "a.",    "a=[\"\n"};
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    for (size_t i = 0; i < OWL_COUNT(units); i++) {
        owl_buf_reset(&b);
        repeat(&b, units[i], 100000);
        struct reading x;
        begin(&x, owl_buf_str(&b));
        uint64_t start = owl_now_ns();
        run(&x);
        assert_true((owl_now_ns() - start) / 1000000 < 3000);
        done(&x);
    }
    owl_buf_done(&b);
}

/* ---- memory ----------------------------------------------------------------------------- */

TEST(running_out_of_memory_is_an_error, "")
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_putz(&b, "a.\"b\\n\".c = {x = [1, 'y', 2024-02-29, true, inf], z.z = 0x10}\n[[t]]\n"
                     "[t.u]\n[a]\n[a]\nx = 01\n");
    repeat(&b, "a.", 20);
    owl_buf_putz(&b, "a = [[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]\n[many]\n");
    for (int i = 0; i < 50; i++)
        owl_buf_printf(&b,
                       "key%d = 'a text that fills the arena, so that it needs another chunk "
                       "before long'\n",
                       i);
    unsigned long failures = 0;
    for (unsigned long at = 1;; at++) {
        struct reading x;
        begin(&x, owl_buf_str(&b));
        owl_alloc_fail_at(at);
        run(&x);
        owl_alloc_fail_at(0);
        int rc = x.rc;
        if (rc == 0)
            assert_int_equal(x.faults.errors, 3);
        done(&x);
        if (rc == 0)
            break;
        assert_int_equal(rc, -OWL_ENOMEM);
        failures++;
    }
    assert_true(failures > 5);
    for (size_t cap = 0; cap < 40000; cap += 16) { /* each allocation of the tree in turn */
        struct reading x;
        begin(&x, owl_buf_str(&b));
        struct owl_arena *tree = owl_arena_new(cap + 1);
        x.r.arena = tree;
        run(&x);
        assert_true(x.rc == 0 || x.rc == -OWL_ENOMEM);
        bool enough = x.rc == 0;
        owl_arena_free(tree);
        done(&x);
        if (enough)
            break;
        assert_true(cap < 39000);
    }
    owl_buf_done(&b);
}

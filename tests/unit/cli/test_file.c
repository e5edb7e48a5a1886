/* Text from files, and places in it. */
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/file.h"
#include "support/test.h"

static int pipe_with(const char *text, size_t n)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], text, n), n);
    close(fds[1]);
    return fds[0];
}

TEST(what_is_read_has_a_limit, "")
{
    for (size_t max = 3; max <= 6; max++) {
        struct owl_file f = {.name = "x"};
        owl_error e = {0};
        int fd = pipe_with("12345", 5);
        int rc = owl_file_read_fd(&f, fd, max, &e);
        assert_int_equal(rc, max < 5 ? -OWL_ELIMIT : 0);
        if (rc == 0)
            assert_string_equal(f.p, "12345");
        else
            assert_non_null(strstr(e.message, "the most that is read"));
        owl_file_done(&f);
        close(fd);
    }
}

TEST(a_file_that_cannot_be_read_says_why, "")
{
    struct owl_file f;
    owl_error e = {0};
    assert_int_equal(owl_file_read(&f, "/nonexistent/x", 10, &e), -OWL_EIO);
    assert_string_equal(e.message, "No such file or directory");
    assert_int_equal(owl_file_read(&f, "/", 10, &e), -OWL_EIO);
    assert_string_equal(e.message, "Is a directory");
    owl_file_done(&f);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_file_read(&f, "/dev/null", 10, &e), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    owl_file_done(&f);
}

static void no_json(const char *text, size_t n, size_t at, const char *message)
{
    char copy[64];
    memcpy(copy, text, n);
    struct owl_file f = {.name = "x", .p = copy, .n = n};
    owl_error e = {0};
    size_t where = 99;
    assert_true(owl_file_prove_json(&f, &where, &e) < 0);
    assert_int_equal(where, at);
    assert_string_equal(e.message, message);
}

TEST(what_is_no_json_has_a_place, "")
{
    no_json("", 0, 0, "the file is empty; JSON has at least one value");
    no_json("\xff\xfe{\0", 4, 0, "this is UTF-16; JSON files are UTF-8");
    no_json("\xef\xbb\xbf{}", 5, 0, "a byte order mark is not allowed; send UTF-8 without one");
    no_json("[1,\0]", 5, 3, "a NUL byte, which JSON cannot hold");
    no_json("[1,\n x]", 7, 5, "expected a value, found 'x'");
    struct owl_file f = {.name = "x", .p = (char[]){"[1]"}, .n = 3};
    size_t at;
    assert_int_equal(owl_file_prove_json(&f, &at, NULL), 0);
}

static void place(const char *text, size_t at, size_t line, size_t column)
{
    struct owl_place p = owl_place_of(owl_str_of(text), at);
    assert_int_equal(p.line, line);
    assert_int_equal(p.column, column);
}

TEST(columns_count_characters_from_one, "")
{
    place("", 0, 1, 1);
    place("abc", 2, 1, 3);
    place("abc", 99, 1, 4);
    place("a\nb", 2, 2, 1);
    place("a\nb", 1, 1, 2);
    place("\n\n\n", 3, 4, 1);
    place("名前x", 6, 1, 3);
    place("\r\n\r\nx", 4, 3, 1);
}

static char *shown(const char *text, size_t at, size_t width)
{
    static char *out;
    size_t n;
    free(out);
    FILE *f = open_memstream(&out, &n);
    struct owl_print p;
    owl_print_init(&p, f, OWL_COLOUR_NEVER);
    p.width = width;
    owl_print_place(&p, owl_str_of(text), at);
    fclose(f);
    return out;
}

TEST(a_caret_stands_beneath_its_byte, "")
{
    assert_string_equal(shown("{\r\n  \"名\":\t17,\r\n}", 12, 80), "    2 |   \"名\": 17,\n"
                                                                   "      |         ^\n");
    assert_string_equal(shown("[", 1, 80), "    1 | [\n      |  ^\n");
    assert_string_equal(shown("", 0, 80), "    1 | \n      | ^\n");
    assert_string_equal(shown("\x1b\x1bx", 2, 80), "    1 | ��x\n      |   ^\n");
}

TEST(a_long_line_is_cut_around_its_place, "")
{
    char line[301];
    for (size_t i = 0; i < 300; i++)
        line[i] = (char)('a' + i % 26);
    line[300] = '\0';
    assert_string_equal(shown(line, 0, 30), "    1 | abcdefghijklmnopqrst…\n"
                                            "      | ^\n");
    assert_string_equal(shown(line, 130, 30), "    1 | …nopqrstuvwxyzabcdefg…\n"
                                              "      |               ^\n");
    assert_string_equal(shown(line, 299, 30), "    1 | …abcdefghijklmn\n"
                                              "      |               ^\n");
}

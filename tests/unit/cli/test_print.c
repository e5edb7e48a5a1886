/* Text for people: width, paragraphs, tables, colour. */
#include <stdio.h>
#include <unistd.h>

#include "cli/print.h"
#include "support/test.h"

/* A stream in memory; text() ends it. */
static char *text_of_memory;
static size_t size_of_memory;

static struct owl_print memory(size_t width, enum owl_colour colour)
{
    FILE *f = open_memstream(&text_of_memory, &size_of_memory);
    assert_non_null(f);
    struct owl_print p;
    owl_print_init(&p, f, colour);
    assert_int_equal(p.width, 80);
    p.width = width;
    return p;
}

static void is(struct owl_print *p, const char *expected)
{
    fclose(p->file);
    assert_string_equal(text_of_memory, expected);
    free(text_of_memory);
}

TEST(width_is_that_of_a_terminal, "")
{
    assert_int_equal(owl_text_width(OWL_STR("")), 0);
    assert_int_equal(owl_text_width(OWL_STR("abc")), 3);
    assert_int_equal(owl_text_width(OWL_STR("é")), 1);
    assert_int_equal(owl_text_width(OWL_STR("e\xcc\x81")), 1); /* a combining accent */
    assert_int_equal(owl_text_width(OWL_STR("名前")), 4);
    assert_int_equal(owl_text_width(OWL_STR("ｗｉｄｅ")), 8);
    assert_int_equal(owl_text_width(OWL_STR("🦉")), 2);
    assert_int_equal(owl_text_width(OWL_STR("…—“")), 3);
}

TEST(what_is_no_utf8_is_one_replacement_a_byte, "")
{
    static const char *const bad[] = {"\x80",         "\xc0\xaf",     "\xff",
                                      "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xf0\x9f",     "\xe5\x90"};
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        owl_str s = owl_str_of(bad[i]);
        for (size_t n = s.n; n > 0; n--) {
            assert_int_equal(owl_text_next(&s), 0xfffd);
            assert_int_equal(s.n, n - 1);
        }
    }
    owl_str s = OWL_STR("\xf4\x8f\xbf\xbf\x7f");
    assert_int_equal(owl_text_next(&s), 0x10ffff);
    assert_int_equal(owl_text_next(&s), 0x7f);
}

TEST(foreign_text_cannot_drive_the_terminal, "")
{
    struct owl_print p = memory(80, OWL_COLOUR_NEVER);
    owl_print_foreign(&p, OWL_BAD, OWL_STR("a\x1b[31mb\tc\nd\r\xc2\x9b\xe2\x80\xae\xff\x7f名"));
    is(&p, "a�[31mb c d�����名");
}

TEST(foreign_text_in_tables_and_paragraphs_cannot_either, "")
{
    static const char *const cells[] = {"a\xc2\x9b"
                                        "2Jb",
                                        "c\x1b[1md",
                                        "e\xe2\x80\xae"
                                        "f",
                                        "x",
                                        "\xc2\x85",
                                        "名\xff"};
    struct owl_print p = memory(80, OWL_COLOUR_NEVER);
    owl_print_table(&p, cells, 3, 2);
    is(&p, "  a�2Jb  c�[1md  e�f\n  x      �       名�\n");
    p = memory(80, OWL_COLOUR_NEVER);
    owl_print_wrapped(&p, 0, 0, "one\ttwo\x1b[2J \xe2\x80\x8bthree\n");
    is(&p, "one two�[2J �three\n\n");
    assert_int_equal(owl_text_width(OWL_STR("\xe2\x80\x8b")), 1); /* as it is shown */
}

TEST(paragraphs_are_wrapped, "")
{
    struct owl_print p = memory(12, OWL_COLOUR_NEVER);
    owl_print_wrapped(&p, 2, 0, "one two three  four\n\nfive 名前名前 six");
    is(&p, "  one two\n  three four\n\n  five\n  名前名前\n  six\n");
    p = memory(12, OWL_COLOUR_NEVER);
    owl_print_wrapped(&p, 4, 4, "a-word-that-is-too-long x y");
    is(&p, "a-word-that-is-too-long\n    x y\n");
    p = memory(12, OWL_COLOUR_NEVER);
    owl_print_wrapped(&p, 0, 0, "exactly 12.. next");
    is(&p, "exactly 12..\nnext\n");
    p = memory(12, OWL_COLOUR_NEVER);
    owl_print_wrapped(&p, 2, 2, "");
    is(&p, "\n");
}

TEST(columns_are_aligned_by_what_is_seen, "")
{
    static const char *const cells[] = {"name", "kind", "what it is",
                                        "名前", "x",    "a text that has to be wrapped"};
    struct owl_print p = memory(40, OWL_COLOUR_NEVER);
    owl_print_table(&p, cells, 3, 2);
    is(&p, "  name  kind  what it is\n"
           "  名前  x     a text that has to be\n"
           "              wrapped\n");
}

TEST(a_narrow_table_puts_its_last_cell_below, "")
{
    static const char *const cells[] = {"--map PREFIX=DIR", "take documents from a folder", "-h",
                                        "show this help"};
    struct owl_print p = memory(30, OWL_COLOUR_NEVER);
    owl_print_table(&p, cells, 2, 2);
    is(&p, "  --map PREFIX=DIR\n"
           "          take documents from\n"
           "          a folder\n"
           "  -h\n"
           "          show this help\n");
}

TEST(colour_is_for_those_who_want_it, "")
{
    struct owl_print p = memory(80, OWL_COLOUR_ALWAYS);
    owl_print(&p, OWL_GOOD, "x%d", 1);
    owl_print(&p, OWL_PLAIN, "y");
    is(&p, "\033[32mx1\033[0my");
    p = memory(80, OWL_COLOUR_AUTO);
    owl_print(&p, OWL_GOOD, "x");
    is(&p, "x");
}

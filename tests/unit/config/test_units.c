/* Unit tests of config/units.c. */
#include "support/test.h"

#include "config/units.h"

static void check(const char *text, enum owl_key_unit unit, const char *expected, int line)
{
    struct owl_buf b;
    owl_buf_init(&b, 64);
    bool read = owl_units__read(owl_str_of(text), unit, &b);
    owl_buf_putc(&b, '\0');
    if (read != (expected != NULL) || (expected && strcmp(b.p, expected) != 0)) {
        print_error("line %d: '%s' is '%s'\n", line, text, read ? b.p : "nothing");
        fail();
    }
    owl_buf_done(&b);
}
#define seconds(text, expected) check(text, OWL_UNIT__SECONDS, expected, __LINE__)
#define milliseconds(text, expected) check(text, OWL_UNIT__MILLISECONDS, expected, __LINE__)
#define bytes(text, expected) check(text, OWL_UNIT__BYTES, expected, __LINE__)

TEST(durations_become_numbers, "OT-CFG.3 OT-CFG.16")
{
    seconds("30s", "30");
    seconds("1h30m", "5400");
    seconds("1.5h", "5400");
    seconds("250ms", "0.25");
    seconds("1ms", "0.001");
    seconds("2d", "172800");
    seconds("0s", "0");
    seconds("7min", "420");
    seconds("3sec", "3");
    seconds("2w", "1209600");
    seconds("1.5000s", "1.5");
    seconds("1d1h1m1s1ms", "90061.001");
    milliseconds("30s", "30000");
    milliseconds("1ms", "1");
    milliseconds("0.5s", "500");
    milliseconds("0.5ms", "0.5");
}

TEST(sizes_become_bytes, "")
{
    bytes("1B", "1");
    bytes("10KB", "10000");
    bytes("64KiB", "65536");
    bytes("1.5MiB", "1572864");
    bytes("10MB", "10000000");
    bytes("2GiB", "2147483648");
    bytes("2GB", "2000000000");
    bytes("0.001KB", "1");
    bytes("1kb", "1000");
    bytes("1K", "1000");
    bytes("2g", "2000000000");
    bytes("3 MB", "3000000");
    bytes("100 KiB", "102400");
    bytes("1tib", "1099511627776");
    bytes("1TB", "1000000000000");
}

TEST(what_is_no_amount_is_refused, "")
{
    static const char *const wrong[] = {"",      "s",   "30",    "30 s", "30x",    "-3s",
                                        "1e3s",  "1.s", ".5s",   "1s2",  "30S",    "0x1s",
                                        "1..2s", "s30", "1m 2s", "10KB", "1.2345s"};
    for (size_t i = 0; i < OWL_COUNT(wrong); i++)
        seconds(wrong[i], NULL);
    static const char *const odd[] = {"",   "B",    "1",        "1Ki",   "1ib", "1KBB", "0.5B",
                                      "1s", "1B1B", "1.0001KB", "1  MB", "-1B", "1PB",  "1 "};
    for (size_t i = 0; i < OWL_COUNT(odd); i++)
        bytes(odd[i], NULL);
    seconds("0.1ms", NULL); /* less than a thousandth of a second */
    seconds("1s1s1s1s1s1s1s1s1s", NULL);
    seconds("99999999999999999999s", NULL);
    seconds("9999999999999999d", NULL);
    bytes("9999999999999999GiB", NULL);
    check("1s", OWL_UNIT__NONE, NULL, __LINE__);
}

TEST(an_amount_that_finds_no_room_is_refused, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 2);
    assert_false(owl_units__read(OWL_STR("1000s"), OWL_UNIT__SECONDS, &b));
    owl_buf_done(&b);
}

TEST(an_amount_that_cannot_be_counted_is_one_all_the_same, "")
{
    static const char *const times[] = {"0.1ms", "1.2345s", "99999999999999999999s",
                                        "9999999999999999d", "1s1s1s1s1s1s1s1s1s"};
    for (size_t i = 0; i < OWL_COUNT(times); i++) {
        assert_true(owl_units__spelt(owl_str_of(times[i]), OWL_UNIT__SECONDS));
        seconds(times[i], NULL);
    }
    assert_true(owl_units__spelt(OWL_STR("0.5B"), OWL_UNIT__BYTES));
    assert_true(owl_units__spelt(OWL_STR("9999999999999999 TiB"), OWL_UNIT__BYTES));
    assert_false(owl_units__spelt(OWL_STR(""), OWL_UNIT__BYTES));
    assert_false(owl_units__spelt(OWL_STR("30s"), OWL_UNIT__BYTES));
    assert_false(owl_units__spelt(OWL_STR("30s"), OWL_UNIT__NONE));
    assert_false(owl_units__spelt(OWL_STR("s"), OWL_UNIT__SECONDS));
}

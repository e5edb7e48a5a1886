/* Unit tests of base/base.c, err.c, clock.c, log.c and list.h. */
#include "support/test.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/log.h"

#include <limits.h>
#include <owlclaw/version.h>
#include <stdio.h>

TEST(strings_compare_by_bytes, "")
{
    assert_true(owl_str_eq(OWL_STR("ab"), OWL_STR("ab")));
    assert_true(owl_str_eq(OWL_STR(""), (owl_str){NULL, 0}));
    assert_false(owl_str_eq(OWL_STR("ab"), OWL_STR("abc")));
    assert_true(owl_str_ieq(OWL_STR("Content-TYPE"), OWL_STR("content-type")));
    assert_false(owl_str_ieq(OWL_STR("a"), OWL_STR("b")));
    assert_false(owl_str_ieq(OWL_STR("@"), OWL_STR("`"))); /* 0x20 apart, no letters */
    assert_false(owl_str_ieq(OWL_STR("\xc4"), OWL_STR("\xe4")));
    assert_false(owl_str_ieq(OWL_STR("a"), OWL_STR("ab")));
}

TEST(trim_takes_blanks_off_both_ends, "")
{
    assert_true(owl_str_is(owl_str_trim(OWL_STR(" \t a b\t ")), "a b"));
    assert_true(owl_str_is(owl_str_trim(OWL_STR(" \t ")), ""));
    assert_true(owl_str_is(owl_str_trim(OWL_STR("\na")), "\na"));
    assert_null(owl_str_trim((owl_str){NULL, 0}).p);
}

static void check_split(owl_str text, const char *want)
{
    char got[64] = "";
    for (owl_str part; owl_str_split(&text, ',', &part);)
        snprintf(got + strlen(got), sizeof got - strlen(got), "<%.*s>", (int)part.n, part.p);
    assert_string_equal(got, want);
}

TEST(split_keeps_empty_parts, "")
{
    check_split(OWL_STR("a,,b"), "<a><><b>");
    check_split(OWL_STR("a,"), "<a><>");
    check_split(OWL_STR(","), "<><>");
    check_split(OWL_STR(""), "<>");
    check_split((owl_str){NULL, 0}, "");
}

TEST(numbers_are_digits_only_and_bounded, "")
{
    uint64_t v = 7;
    assert_true(owl_str_u64(OWL_STR("0"), 10, &v));
    assert_int_equal(v, 0);
    assert_true(owl_str_u64(OWL_STR("18446744073709551615"), UINT64_MAX, &v));
    assert_true(v == UINT64_MAX);
    static const char *const bad[] = {
        "", "-1", "+1", " 1", "1 ", "1a", "18446744073709551616", "99999999999999999999", "11"};
    for (size_t i = 0; i < OWL_COUNT(bad); i++)
        assert_false(owl_str_u64(owl_str_of(bad[i]), i < 8 ? UINT64_MAX : 10, &v));
    assert_true(v == UINT64_MAX); /* only written on success */
}

TEST(errors_have_rows_of_either_sign, "OD-3.2.1.1 OD-7.2.1")
{
    assert_int_equal(owl_err_info(OWL_EPARSE)->rpc_code, -32700);
    assert_int_equal(owl_err_info(-OWL_EPARSE)->http_status, 400);
    assert_false(owl_err_info(OWL_EPARSE)->retryable);
    assert_true(owl_err_info(OWL_ENOMEM)->retryable);
    assert_string_equal(owl_error_name(-OWL_EINVAL), "invalid_argument");
    assert_string_equal(owl_error_name(OWL_EINTERNAL), "internal");
    assert_string_equal(owl_error_name(0), "ok");
    static const int unknown[] = {OWL_EBUSY + 1, INT_MAX, INT_MIN, -4711};
    for (size_t i = 0; i < OWL_COUNT(unknown); i++)
        assert_string_equal(owl_error_name(unknown[i]), "internal");
    for (int i = OWL_EINVAL; i <= OWL_EBUSY; i++) {
        assert_non_null(owl_err_info(i)->text);
        assert_true(owl_err_info(i)->rpc_code < 0);
        assert_in_range(owl_err_info(i)->http_status, 400, 599);
        assert_int_equal(strncmp(owl_err_info(i)->layered, "E_", 2), 0);
    }
}

TEST(fail_fills_once_and_returns_the_code, "")
{
    owl_error e = {0};
    assert_int_equal(owl_fail(&e, OWL_ELIMIT, "over %d", 5), -OWL_ELIMIT);
    assert_int_equal(e.code, OWL_ELIMIT);
    assert_string_equal(e.message, "over 5");
    assert_int_equal(owl_fail(&e, -OWL_ENOMEM, NULL), -OWL_ENOMEM);
    assert_int_equal(e.code, OWL_ENOMEM);
    assert_string_equal(e.message, owl_err_info(OWL_ENOMEM)->text);
    assert_int_equal(owl_fail(NULL, OWL_EIO, "x"), -OWL_EIO);
    owl_fail(&e, OWL_EIO, "%0500d", 1);
    assert_int_equal(strlen(e.message), sizeof e.message - 1);
}

TEST(the_version_is_that_of_the_header, "")
{
    assert_string_equal(owl_version(), OWL_VERSION_STRING);
}

TEST(the_clock_never_goes_back, "")
{
    uint64_t last = owl_now_ns();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = owl_now_ns();
        assert_true(now >= last);
        last = now;
    }
    uint64_t ms = owl_now_ms();
    assert_true(ms >= last / 1000000 && ms - last / 1000000 < 60000);
}

TEST(random_hex_is_hex_and_differs, "")
{
    char a[65], b[65];
    memset(a, 'x', sizeof a);
    assert_int_equal(owl_random_hex(a, 32), 0);
    assert_int_equal(owl_random_hex(b, 32), 0);
    assert_int_equal(strlen(a), 64);
    assert_int_equal(strspn(a, "0123456789abcdef"), 64);
    assert_string_not_equal(a, b);
    /* Every digit occurs in enough of them. */
    char many[2001];
    assert_int_equal(owl_random_hex(many, 1000), 0);
    for (const char *c = "0123456789abcdef"; *c; c++)
        assert_non_null(strchr(many, *c));
    assert_int_equal(owl_random_hex(a, 0), 0);
    assert_string_equal(a, "");
}

static char logged[2048];
static owl_level logged_level;

static void keep(void *data, owl_level level, const char *line)
{
    assert_ptr_equal(data, logged);
    logged_level = level;
    snprintf(logged, sizeof logged, "%s", line);
}

static int evaluated;

static const char *evaluate(const char *s)
{
    evaluated++;
    return s;
}

TEST(the_log_tests_the_level_first, "")
{
    struct owl_log log = {keep, logged, OWL_LEVEL_NOTICE};
    OWL_LOG(&log, OWL_LEVEL_INFO, "http", "%s", evaluate("hidden"));
    assert_int_equal(evaluated, 0);
    OWL_LOG(&log, OWL_LEVEL_ERROR, "http", "%s", evaluate("shown"));
    assert_int_equal(evaluated, 1);
    assert_string_equal(logged, "http: shown");
    assert_int_equal(logged_level, OWL_LEVEL_ERROR);
    log.fn = NULL;
    OWL_LOG(&log, OWL_LEVEL_ERROR, "http", "%s", evaluate("nobody"));
    assert_int_equal(evaluated, 1);
}

TEST(a_log_line_cannot_be_forged_or_overrun, "")
{
    struct owl_log log = {keep, logged, OWL_LEVEL_DEBUG};
    OWL_LOG(&log, OWL_LEVEL_INFO, "a", "x\ny\x1b[31m%s", "\r\x7f");
    assert_string_equal(logged, "a: x y?[31m ?");
    OWL_LOG(&log, OWL_LEVEL_INFO, "a", "%05000d", 1);
    assert_in_range(strlen(logged), 1000, 1023);
    assert_string_equal(logged + strlen(logged) - 3, "...");
}

TEST(a_log_line_holds_nothing_that_drives_a_terminal, "")
{
    struct owl_log log = {keep, logged, OWL_LEVEL_DEBUG};
    OWL_LOG(&log, OWL_LEVEL_INFO, "a", "%s",
            "csi \xc2\x9b"
            "2J nel \xc2\x85 end");
    assert_string_equal(logged, "a: csi ?2J nel ? end");
    OWL_LOG(&log, OWL_LEVEL_INFO, "a", "%s",
            "rlo \xe2\x80\xae lri \xe2\x81\xa6 ls \xe2\x80\xa8 bom \xef\xbb\xbf");
    assert_string_equal(logged, "a: rlo ? lri ? ls ? bom ?");
    OWL_LOG(&log, OWL_LEVEL_INFO, "a", "%s", "bytes \xff\x9b\xc0\xaf\xe5\x90");
    assert_string_equal(logged, "a: bytes ??????");
    OWL_LOG(&log, OWL_LEVEL_INFO, "a", "%s", "Grüße 名前 🦉 e\xcc\x81");
    assert_string_equal(logged, "a: Grüße 名前 🦉 e\xcc\x81");
    for (int pad = 1000; pad < 1030; pad++) { /* a line is never cut within a character */
        OWL_LOG(&log, OWL_LEVEL_INFO, "a", "%0*d名名名名名名名名名名", pad, 1);
        assert_null(strchr(logged, '?'));
        assert_string_equal(logged + strlen(logged) - 3, "...");
    }
}

TEST(levels_are_spelled_as_mcp_does, "")
{
    assert_int_equal(owl_level_parse(OWL_STR("debug")), OWL_LEVEL_DEBUG);
    assert_int_equal(owl_level_parse(OWL_STR("emergency")), OWL_LEVEL_EMERGENCY);
    assert_int_equal(owl_level_parse(OWL_STR("Debug")), -1);
    assert_int_equal(owl_level_parse((owl_str){NULL, 0}), -1);
    for (int i = OWL_LEVEL_DEBUG; i <= OWL_LEVEL_EMERGENCY; i++)
        assert_int_equal(owl_level_parse(owl_str_of(owl_level_name((owl_level)i))), i);
    assert_string_equal(owl_level_name((owl_level)99), "unknown");
}

struct item {
    int v;
    struct owl_list link;
};

TEST(lists_keep_order_and_allow_removal_on_the_way, "")
{
    struct owl_list head;
    struct item items[5];
    owl_list_init(&head);
    assert_true(owl_list_empty(&head));
    for (int i = 0; i < 5; i++) {
        items[i].v = i;
        owl_list_add(&head, &items[i].link);
    }
    int want = 0;
    OWL_LIST_EACH (&head, it) {
        assert_int_equal(OWL_CONTAINER(it, struct item, link)->v, want++);
        if (want % 2)
            owl_list_del(it);
    }
    assert_int_equal(want, 5);
    owl_list_del(&items[0].link); /* in no list: harmless */
    assert_ptr_equal(head.next, &items[1].link);
    assert_ptr_equal(head.prev, &items[3].link);
}

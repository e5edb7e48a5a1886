/* Tests of observe/trace.h. */
#include "support/test.h"

#include "observe/trace.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

TEST(the_trace_of_a_traceparent_is_found, "")
{
    static const char *const good[] = {
        "00-" TRACE "-" SPAN "-01",
        "00-" TRACE "-" SPAN "-00",
        "cc-" TRACE "-" SPAN "-01",
        "cc-" TRACE "-" SPAN "-01-what-comes-later",
    };
    for (size_t i = 0; i < OWL_COUNT(good); i++) {
        char id[OWL_TRACE_ID + 1] = "";
        assert_true(owl_trace_id_of(owl_str_of(good[i]), id));
        assert_string_equal(id, TRACE);
    }
}

TEST(what_is_no_traceparent_is_refused, "mcp:B8")
{
    static const char *const bad[] = {
        "",
        "00",
        "00-" TRACE,
        "00-" TRACE "-" SPAN,
        "00-" TRACE "-" SPAN "-",
        "00-" TRACE "-" SPAN "-1",
        "00-" TRACE "-" SPAN "-01-",
        "00-" TRACE "-" SPAN "-01-x",
        "00-" TRACE "-" SPAN "-011",
        "ff-" TRACE "-" SPAN "-01",
        "0x-" TRACE "-" SPAN "-01",
        "00_" TRACE "-" SPAN "-01",
        "00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319-" SPAN "-01",
    };
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        char id[OWL_TRACE_ID + 1] = "kept";
        if (owl_trace_id_of(owl_str_of(bad[i]), id))
            fail_msg("accepted: %s", bad[i]);
        assert_string_equal(id, "kept");
    }
    assert_false(owl_trace_id_of((owl_str){NULL, 0}, NULL));
}

TEST(new_traces_differ, "")
{
    char a[OWL_TRACE_ID + 1], b[OWL_TRACE_ID + 1];
    assert_int_equal(owl_trace_id_new(a), 0);
    assert_int_equal(owl_trace_id_new(b), 0);
    assert_int_equal(strspn(a, "0123456789abcdef"), OWL_TRACE_ID);
    assert_int_equal(strlen(a), OWL_TRACE_ID);
    assert_string_not_equal(a, b);
}

/* Tests of jsonrpc/find_id.h: the id of a message that is refused unread. */
#include "support/test.h"

#include "jsonrpc/find_id.h"

#include <stdio.h>

/* However it is cut. */
static void finds(owl_str text, const char *want)
{
    for (size_t step = 1; step <= text.n; step = step < 9 ? step + 1 : text.n + (step == text.n)) {
        struct owl_id_finder f;
        owl_id_finder_init(&f);
        for (size_t at = 0; at < text.n; at += step)
            owl_id_finder_feed(&f, (owl_str){text.p + at, text.n - at < step ? text.n - at : step});
        owl_str got = owl_id_finder_end(&f);
        if (want ? !owl_str_is(got, want) : got.p != NULL)
            fail_msg("%.60s by %zu: %.*s", text.p, step, (int)got.n, got.p ? got.p : "");
    }
}

TEST(an_id_is_found_wherever_it_stands, "")
{
    finds(OWL_STR("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}"), "7");
    finds(OWL_STR("{\"method\":\"m\",\"params\":{\"id\":1,\"x\":[{\"id\":2}]},\"id\":\"a\\\"}\"}"),
          "\"a\\\"}\"");
    finds(OWL_STR(" { \"id\" : -12 , \"a\" : \"\\\"id\\\":3,{[\" } \r"), "-12");
    finds(OWL_STR("{\"x\":\"id\",\"id\":0}"), "0");
}

/* What the scan refuses, and another parser takes. */
TEST(stricter_rules_do_not_hide_it, "")
{
    char deep[2100] = "{\"params\":";
    memset(deep + 10, '[', 1000);
    memset(deep + 1010, ']', 1000);
    snprintf(deep + 2010, sizeof deep - 2010, ",\"id\":5}");
    finds(owl_str_of(deep), "5");
    finds(OWL_STR("{\"a\":1,\"a\":2,\"id\":5}"), "5");
    finds(OWL_STR("{\"a\":\"\\ud800\",\"id\":5}"), "5");
}

TEST(what_cannot_be_told_is_not_guessed, "")
{
    char longer[OWL_RPC_ID_BYTES + 64];
    int n = snprintf(longer, sizeof longer, "{\"id\":\"%0*d\"}", OWL_RPC_ID_BYTES - 1, 0);
    finds((owl_str){longer, (size_t)n}, NULL);
    finds(OWL_STR("{\"method\":\"m\"}"), NULL);
    finds(OWL_STR("{\"id\":1,\"id\":2}"), NULL);
    finds(OWL_STR("{\"id\":1,\"result\":{}}"), NULL); /* one of ours */
    finds(OWL_STR("{\"error\":{},\"id\":1}"), NULL);
    finds(OWL_STR("{\"id\":1,\"r\\u0065sult\":{}}"), NULL);
    finds(OWL_STR("[{\"id\":1}]"), NULL);
    finds(OWL_STR("{\"id\":1,\"method\":"), NULL);
    finds(OWL_STR("{\"id\":null}"), NULL);
    finds(OWL_STR("{\"id\":1.5}"), NULL);
    finds(OWL_STR("{\"id\":[1]}"), NULL);
    finds(OWL_STR("{\"id\":1 2}"), NULL);
    finds(OWL_STR("{\"id\":\"\\udc00\"}"), NULL);
    finds(OWL_STR("\"id\":1"), NULL);
    finds(OWL_STR("}{\"id\":}"), NULL);
}

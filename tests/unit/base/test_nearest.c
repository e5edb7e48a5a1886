/* Unit tests of base/nearest.c. */
#include "support/test.h"

#include "base/nearest.h"

static const char *nearest(const char *written)
{
    static const char *const words[] = {"port", "host", "allowed_origins", "transport", "tls"};
    struct owl_nearest n = {.written = owl_str_of(written)};
    for (size_t i = 0; i < OWL_COUNT(words); i++)
        owl_nearest_try(&n, owl_str_of(words[i]));
    return n.best.p;
}

TEST(the_nearest_word_is_found, "")
{
    assert_string_equal(nearest("prot"), "port");
    assert_string_equal(nearest("ports"), "port");
    assert_string_equal(nearest("Host"), "host");
    assert_string_equal(nearest("allowed-origins"), "allowed_origins");
    assert_string_equal(nearest("allowedOrigins"), "allowed_origins");
    assert_string_equal(nearest("trans"), "transport");
    assert_string_equal(nearest("tsl"), "tls");
}

TEST(a_word_that_is_far_is_not_meant, "")
{
    assert_null(nearest("x"));
    assert_null(nearest(""));
    assert_null(nearest("database"));
    assert_null(nearest("t"));
    char longer[OWL_NEAREST_LENGTH + 2];
    memset(longer, 'p', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    assert_null(nearest(longer));
    struct owl_nearest n = {.written = OWL_STR("port")};
    owl_nearest_try(&n, owl_str_of(longer));
    owl_nearest_try(&n, OWL_STR(""));
    assert_null(n.best.p);
}

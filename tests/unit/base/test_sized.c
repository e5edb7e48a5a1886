/* Unit tests of base/sized.c. */
#include "support/test.h"

#include "base/sized.h"

struct known {
    size_t size;
    const char *required, *optional;
};

struct newer {
    struct known known;
    const char *future;
    size_t more;
};

static int read_known(struct known *ret, const void *given, owl_error *e)
{
    return OWL_SIZED_READ(ret, struct known, required, given, e);
}

TEST(what_an_older_program_does_not_know_is_0, "")
{
    struct known given = {offsetof(struct known, optional), "r", "not looked at"};
    struct known got = {1, "x", "x"};
    assert_int_equal(read_known(&got, &given, NULL), 0);
    assert_string_equal(got.required, "r");
    assert_null(got.optional);
    given.size = sizeof given;
    assert_int_equal(read_known(&got, &given, NULL), 0);
    assert_string_equal(got.optional, "not looked at");
}

TEST(what_only_a_newer_program_knows_must_be_0, "")
{
    struct newer given = {{sizeof given, "r", "o"}, NULL, 0};
    struct known got = {0};
    owl_error e = {0};
    assert_int_equal(read_known(&got, &given, &e), 0);
    assert_string_equal(got.optional, "o");
    got.optional = NULL;
    given.more = 1;
    assert_int_equal(read_known(&got, &given, &e), -OWL_EINVAL);
    assert_null(got.optional);
    assert_non_null(strstr(e.message, "struct known"));
    assert_non_null(strstr(e.message, "newer"));
}

TEST(a_size_that_makes_no_sense_is_refused, "")
{
    static const size_t bad[] = {0,
                                 sizeof(size_t),
                                 offsetof(struct known, required),
                                 offsetof(struct known, optional) + 3,
                                 sizeof(struct known) + 1,
                                 4096 + sizeof(size_t),
                                 SIZE_MAX - 7};
    struct known got = {0};
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        struct known given = {bad[i], "r", "o"};
        owl_error e = {0};
        assert_int_equal(read_known(&got, &given, &e), -OWL_EINVAL);
        assert_non_null(strstr(e.message, "sizeof(struct known)"));
    }
    assert_int_equal(read_known(&got, NULL, NULL), -OWL_EINVAL);
    assert_null(got.required);
}

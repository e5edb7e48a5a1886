/* Tests of reactor/nets.c. */
#include "reactor/nets.h"
#include "unit/reactor/fixture.h"

#include <sys/un.h>

static struct owl_nets *nets(const char *text)
{
    struct owl_nets *n = NULL;
    owl_error e = {0};
    if (owl_nets_parse(owl_str_of(text), &n, &e) != 0)
        fail_msg("%s: %s", text, e.message);
    return n;
}

static bool have(const struct owl_nets *n, const char *address)
{
    struct sockaddr_storage a;
    assert_true(owl_address__host(owl_str_of(address), &a));
    return owl_nets_have(n, &a);
}

static bool have_unix(const struct owl_nets *n)
{
    const struct sockaddr_storage a = {.ss_family = AF_UNIX};
    return owl_nets_have(n, &a);
}

TEST(addresses_and_blocks_are_found, "")
{
    static const struct {
        const char *set, *in, *out;
    } rows[] = {
        {"192.0.2.1", "192.0.2.1", "192.0.2.2"},
        {"192.0.2.1/32", "192.0.2.1", "192.0.2.0"},
        {"10.0.0.0/8", "10.255.255.255", "11.0.0.0"},
        {"172.16.0.0/12", "172.31.255.255", "172.32.0.0"},
        {"192.0.2.128/25", "192.0.2.128", "192.0.2.127"},
        {"0.0.0.0/0", "255.255.255.255", "2001:db8::1"},
        {"::/0", "2001:db8::1", NULL},
        {"::/0", "192.0.2.1", NULL}, /* everybody */
        {"2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"},
        {"2001:db8::8/125", "2001:db8::f", "2001:db8::10"},
        {"2001:db8::1", "2001:db8::1", "2001:db8::2"},
        {"192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2"},
        {"::ffff:10.0.0.0/104", "10.1.2.3", "11.0.0.0"},
        {" 192.0.2.1\t, 2001:db8::/32 ,10.0.0.0/8", "10.9.9.9", "192.0.2.3"},
        {"192.0.2.1,2001:db8::/32,unix,10.0.0.0/8", "10.9.9.9", "192.0.2.3"},
    };
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        struct owl_nets *n = nets(rows[i].set);
        if (!have(n, rows[i].in))
            fail_msg("%s is not in %s", rows[i].in, rows[i].set);
        if (rows[i].out && have(n, rows[i].out))
            fail_msg("%s is in %s", rows[i].out, rows[i].set);
        owl_nets_free(n);
    }
}

TEST(unix_sockets_have_a_name_of_their_own, "")
{
    struct owl_nets *with = nets("10.0.0.0/8, unix"), *without = nets("::/0");
    assert_true(have_unix(with));
    assert_false(have_unix(without));
    owl_nets_free(with);
    owl_nets_free(without);
}

TEST(empty_sets_have_nobody, "")
{
    static const char *const empty[] = {"", "  ", NULL};
    for (size_t i = 0; i < OWL_COUNT(empty); i++) {
        struct owl_nets *n = nets(empty[i]);
        assert_false(have(n, "127.0.0.1"));
        assert_false(have_unix(n));
        owl_nets_free(n);
    }
    assert_false(have(NULL, "127.0.0.1"));
    owl_nets_free(NULL);
}

TEST(bad_sets_are_refused_with_a_reason, "")
{
    static const struct {
        const char *text, *reason;
    } bad[] = {
        {",", "'' is neither"},
        {"10.0.0.1,", "'' is neither"},
        {"10.0.0.1,,10.0.0.2", "'' is neither"},
        {"localhost", "'localhost' is neither"},
        {"10.0.0", "'10.0.0' is neither"},
        {"10.0.0.1 10.0.0.2", "'10.0.0.1 10.0.0.2' is neither"},
        {"10.0.0.1:80", "'10.0.0.1:80' is neither"},
        {"[::1]", "'[::1]' is neither"},
        {"/8", "'/8' is neither"},
        {"unix/8", "'unix/8' is neither"},
        {"10.0.0.0/", "0 to 32"},
        {"10.0.0.0/33", "0 to 32"},
        {"10.0.0.0/-1", "0 to 32"},
        {"10.0.0.0/8/8", "0 to 32"},
        {"10.0.0.0/255.0.0.0", "0 to 32"},
        {"2001:db8::/129", "0 to 128"},
        {"10.0.0.1/8", "beyond its length"},
        {"2001:db8::1/64", "beyond its length"},
        {"128.0.0.0/0", "beyond its length"},
    };
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        struct owl_nets *n = NULL;
        owl_error e = {0};
        if (owl_nets_parse(owl_str_of(bad[i].text), &n, &e) != -OWL_EINVAL || n ||
            !strstr(e.message, bad[i].reason))
            fail_msg("%s: %s", bad[i].text, e.message);
    }
}

TEST(a_set_has_a_most, "")
{
    char text[OWL_NETS_MAX * 8 + 16] = "10.0.0.1";
    struct owl_nets *n = NULL;
    owl_error e = {0};
    for (unsigned i = 1; i < OWL_NETS_MAX; i++)
        strcat(text, ",::1");
    owl_nets_free(nets(text));
    strcat(text, ",::1");
    assert_int_equal(owl_nets_parse(owl_str_of(text), &n, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "257 addresses"));
    owl_alloc_fail_at(1);
    assert_int_equal(owl_nets_parse(OWL_STR("::1"), &n, NULL), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    assert_null(n);
}

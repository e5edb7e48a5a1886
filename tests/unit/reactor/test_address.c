/* Tests of reactor/address.c. */
#include "unit/reactor/fixture.h"

#include <sys/un.h>

static int parse(const char *z, struct sockaddr_storage *a, owl_error *e)
{
    return owl_address__parse(owl_str_of(z), a, e);
}

TEST(addresses_are_read, "")
{
    static const struct {
        const char *text;
        int family, port;
        bool loopback;
    } good[] = {
        {"127.0.0.1:8080", AF_INET, 8080, true},
        {"127.9.9.9:1", AF_INET, 1, true},
        {"0.0.0.0:65535", AF_INET, 65535, false},
        {"192.0.2.1:80", AF_INET, 80, false},
        {"localhost:0", AF_INET, 0, true},
        {"LocalHost:7", AF_INET, 7, true},
        {"8080", AF_INET, 8080, true},
        {"0", AF_INET, 0, true},
        {"[::1]:8080", AF_INET6, 8080, true},
        {"[::]:80", AF_INET6, 80, false},
        {"[2001:db8::1]:1", AF_INET6, 1, false},
        {"[::ffff:127.0.0.1]:2", AF_INET6, 2, true},
        {"[::ffff:192.0.2.1]:2", AF_INET6, 2, false},
        {"unix:/run/owl.sock", AF_UNIX, 0, true},
        {"unix:owl:8080", AF_UNIX, 0, true},
        {"unix:@owl", AF_UNIX, 0, true},
    };
    for (size_t i = 0; i < OWL_COUNT(good); i++) {
        struct sockaddr_storage a;
        owl_error e = {0};
        if (parse(good[i].text, &a, &e) != 0)
            fail_msg("%s: %s", good[i].text, e.message);
        assert_int_equal(a.ss_family, good[i].family);
        assert_int_equal(owl_address__port(&a), good[i].port);
        assert_int_equal(owl_address__loopback(&a), good[i].loopback);
    }
}

TEST(bad_addresses_are_refused_with_a_reason, "")
{
    static const struct {
        const char *text, *reason;
    } bad[] = {
        {"", "port"},
        {"127.0.0.1", "port"},
        {"127.0.0.1:", "port"},
        {"127.0.0.1:65536", "port"},
        {"127.0.0.1:-1", "port"},
        {"127.0.0.1:80x", "port"},
        {"127.0.0.1: 80", "port"},
        {"http", "port"},
        {":8080", "no host"},
        {"::1:8080", "brackets"},
        {"::1", "brackets"},
        {"[::1]", "[IPv6 address]:port"},
        {"[::1]8080", "[IPv6 address]:port"},
        {"[::1", "[IPv6 address]:port"},
        {"unix:", "path or @name"},
        {"unix:@", "path or @name"},
        {"Unix:/run/owl.sock", "port"},
        {"[::1]:", "port"},
        {"[]:80", "no host"},
        {"[127.0.0.1]:80", "neither"},
        {"[localhost]:80", "neither"},
        {"[127.0.0.1", "[IPv6 address]:port"},
        {"example.org:80", "neither"},
        {"256.0.0.1:80", "neither"},
        {"[fe80::1%lo]:80", "neither"},
        {"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:80", "neither"},
    };
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        struct sockaddr_storage a;
        owl_error e = {0};
        if (parse(bad[i].text, &a, &e) != -OWL_EINVAL || e.code != OWL_EINVAL ||
            !strstr(e.message, bad[i].reason) || !strstr(e.message, bad[i].text))
            fail_msg("%s: %s", bad[i].text, e.message);
    }
    struct sockaddr_storage a;
    assert_int_equal(owl_address__parse((owl_str){NULL, 0}, &a, NULL), -OWL_EINVAL);
    assert_int_equal(owl_address__parse((owl_str){"127.0.0.1\0x:80", 14}, &a, NULL), -OWL_EINVAL);
    assert_int_equal(owl_address__parse((owl_str){"unix:/a\0b", 9}, &a, NULL), -OWL_EINVAL);
}

TEST(paths_of_unix_sockets_have_a_most, "")
{
    enum { MOST = sizeof(((struct sockaddr_un *)0)->sun_path) - 1 };
    static const char *const begin[] = {"unix:/", "unix:@"};
    for (size_t i = 0; i < OWL_COUNT(begin); i++) {
        char text[5 + MOST + 2];
        struct sockaddr_storage a;
        owl_error e = {0};
        snprintf(text, sizeof(text), "%s%0*d", begin[i], MOST - 1, 0);
        assert_int_equal(parse(text, &a, &e), 0);
        assert_int_equal(owl_address__size(&a),
                         offsetof(struct sockaddr_un, sun_path) + MOST + 1 - i);
        strcat(text, "x");
        assert_int_equal(parse(text, &a, &e), -OWL_EINVAL);
        assert_non_null(strstr(e.message, "path of 108 bytes"));
        assert_non_null(strstr(e.message, "may have 107"));
    }
}

TEST(addresses_have_a_size_and_a_text, "")
{
    static const struct {
        const char *text, *shown;
        size_t size;
    } rows[] = {
        {"192.0.2.7:80", "192.0.2.7", sizeof(struct sockaddr_in)},
        {"[2001:db8::7]:80", "2001:db8::7", sizeof(struct sockaddr_in6)},
        {"[::ffff:192.0.2.7]:80", "192.0.2.7", sizeof(struct sockaddr_in6)},
        {"unix:/a", "a Unix socket", offsetof(struct sockaddr_un, sun_path) + 3},
        {"unix:@a", "a Unix socket", offsetof(struct sockaddr_un, sun_path) + 2},
    };
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        struct sockaddr_storage a;
        char shown[OWL_ADDRESS__TEXT];
        assert_int_equal(parse(rows[i].text, &a, NULL), 0);
        assert_int_equal(owl_address__size(&a), rows[i].size);
        assert_string_equal(owl_address__show(&a, shown), rows[i].shown);
    }
}

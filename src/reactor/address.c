/* reactor/address.c - the address of a listener: "host:port" as text and as a socket address.
 *
 * Threads: pure. Names are not resolved: what a listener binds to must not depend on a name
 * server. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/err.h"
#include "reactor/internal.h"

/* For error messages: as much as is useful of what may be anything. */
#define SHOWN(s) ((s).n > 64 ? 64 : (int)(s).n), (s).p

/* The host (without brackets) and the port of @p text; the host is absent in a bare port. */
static int address_split(owl_str text, owl_str *ret_host, owl_str *ret_port, owl_error *reterr)
{
    const char *end = text.p + text.n;
    const char *close = text.n ? memchr(text.p, ']', text.n) : NULL;
    const char *colon = text.n ? memchr(text.p, ':', text.n) : NULL;

    if (text.n && text.p[0] == '[') {
        if (!close || close + 1 == end || close[1] != ':')
            return owl_fail(reterr, OWL_EINVAL, "address '%.*s': expected '[IPv6 address]:port'",
                            SHOWN(text));
        *ret_host = (owl_str){text.p + 1, (size_t)(close - text.p) - 1};
        *ret_port = (owl_str){close + 2, (size_t)(end - close) - 2};
        return 0;
    }
    if (!colon) {
        *ret_host = (owl_str){NULL, 0};
        *ret_port = text;
        return 0;
    }
    if (memchr(colon + 1, ':', (size_t)(end - colon) - 1))
        return owl_fail(reterr, OWL_EINVAL,
                        "address '%.*s': an IPv6 address stands in brackets, e.g. [::1]:8080",
                        SHOWN(text));
    *ret_host = (owl_str){text.p, (size_t)(colon - text.p)};
    *ret_port = (owl_str){colon + 1, (size_t)(end - colon) - 1};
    return 0;
}

static bool host_parse(owl_str host, bool v6, struct sockaddr_storage *a)
{
    char z[INET6_ADDRSTRLEN];
    struct sockaddr_in *in = (struct sockaddr_in *)a;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)a;

    if (!host.p || owl_str_ieq(host, OWL_STR("localhost")))
        host = OWL_STR("127.0.0.1");
    if (host.n >= sizeof(z) || memchr(host.p, '\0', host.n))
        return false;
    memcpy(z, host.p, host.n);
    z[host.n] = '\0';
    a->ss_family = v6 ? AF_INET6 : AF_INET;
    return inet_pton(a->ss_family, z, v6 ? (void *)&in6->sin6_addr : (void *)&in->sin_addr) == 1;
}

int owl_address__parse(owl_str text, struct sockaddr_storage *ret, owl_error *reterr)
{
    owl_str host = {0}, port = {0};
    uint64_t number;
    if (!text.p)
        text = OWL_STR("");
    int rc = address_split(text, &host, &port, reterr);
    if (rc != 0)
        return rc;
    if (!owl_str_u64(port, 65535, &number))
        return owl_fail(reterr, OWL_EINVAL,
                        "address '%.*s': expected a port (0 to 65535) at the end, e.g. "
                        "127.0.0.1:8080",
                        SHOWN(text));
    if (host.p && host.n == 0)
        return owl_fail(reterr, OWL_EINVAL,
                        "address '%.*s' has no host: use 127.0.0.1, or 0.0.0.0 for all interfaces",
                        SHOWN(text));
    struct sockaddr_storage a;
    memset(&a, 0, sizeof(a));
    if (!host_parse(host, text.p[0] == '[', &a))
        return owl_fail(reterr, OWL_EINVAL,
                        "address '%.*s': '%.*s' is neither an IP address nor localhost",
                        SHOWN(text), SHOWN(host));
    if (a.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&a)->sin6_port = htons((uint16_t)number);
    else
        ((struct sockaddr_in *)&a)->sin_port = htons((uint16_t)number);
    *ret = a;
    return 0;
}

bool owl_address__loopback(const struct sockaddr_storage *a)
{
    if (a->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

int owl_address__port(const struct sockaddr_storage *a)
{
    return ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
                                          : ((const struct sockaddr_in *)a)->sin_port);
}

/* reactor/address.c - addresses of listeners and peers, as text and as socket addresses.
 *
 * Threads: pure. Names are not resolved: what a listener binds to must not depend on a name
 * server. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/err.h"
#include "reactor/internal.h"

#define SHOWN OWL_ADDRESS__SHOWN

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

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

static bool host_parse(owl_str host, bool v6, struct sockaddr_storage *ret)
{
    char z[INET6_ADDRSTRLEN];
    struct sockaddr_storage a;
    struct sockaddr_in *in = (struct sockaddr_in *)&a;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a;

    if (host.n == 0 || host.n >= sizeof(z) || memchr(host.p, '\0', host.n))
        return false;
    memcpy(z, host.p, host.n);
    z[host.n] = '\0';
    memset(&a, 0, sizeof(a));
    a.ss_family = v6 ? AF_INET6 : AF_INET;
    if (inet_pton(a.ss_family, z, v6 ? (void *)&in6->sin6_addr : (void *)&in->sin_addr) != 1)
        return false;
    *ret = a;
    return true;
}

bool owl_address__host(owl_str text, struct sockaddr_storage *ret)
{
    return host_parse(text, text.n && memchr(text.p, ':', text.n), ret);
}

/* "/path", or "@name" for one of the abstract namespace, which begins with a NUL instead. */
static int unix_parse(owl_str path, struct sockaddr_storage *ret, owl_error *reterr)
{
    struct sockaddr_storage a;
    struct sockaddr_un *un = (struct sockaddr_un *)&a;
    bool abstract = path.n && path.p[0] == '@';
    size_t most = sizeof(un->sun_path) - 1;
    if (path.n <= abstract || memchr(path.p, '\0', path.n))
        return owl_fail(reterr, OWL_EINVAL,
                        "address 'unix:%.*s': expected a path or @name, e.g. unix:/run/owl.sock",
                        SHOWN(path));
    if (path.n > most)
        return owl_fail(reterr, OWL_EINVAL,
                        "address 'unix:%.*s…' has a path of %zu bytes: a Unix socket may have %zu",
                        SHOWN(path), path.n, most);
    memset(&a, 0, sizeof(a));
    a.ss_family = AF_UNIX;
    memcpy(un->sun_path, path.p, path.n);
    if (abstract)
        un->sun_path[0] = '\0';
    *ret = a;
    return 0;
}

int owl_address__parse(owl_str text, struct sockaddr_storage *ret, owl_error *reterr)
{
    owl_str host = {0}, port = {0};
    uint64_t number;
    if (!text.p)
        text = OWL_STR("");
    if (text.n >= 5 && memcmp(text.p, "unix:", 5) == 0)
        return unix_parse((owl_str){text.p + 5, text.n - 5}, ret, reterr);
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
    bool v6 = text.p[0] == '[';
    struct sockaddr_storage a;
    if (!host.p || (!v6 && owl_str_ieq(host, OWL_STR("localhost"))))
        host = OWL_STR("127.0.0.1");
    if (!host_parse(host, v6, &a))
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

socklen_t owl_address__size(const struct sockaddr_storage *a)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)a;
    if (a->ss_family == AF_INET)
        return sizeof(struct sockaddr_in);
    if (a->ss_family == AF_INET6)
        return sizeof(struct sockaddr_in6);
    /* A path with its NUL, or an abstract name, which begins with one. */
    size_t n = un->sun_path[0] ? strlen(un->sun_path)
                               : strnlen(un->sun_path + 1, sizeof(un->sun_path) - 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
}

bool owl_address__mapped(const unsigned char ip[16])
{
    return memcmp(ip, mapped, sizeof(mapped)) == 0;
}

bool owl_address__ip(const struct sockaddr_storage *a, unsigned char ret[16])
{
    if (a->ss_family == AF_INET6) {
        memcpy(ret, &((const struct sockaddr_in6 *)a)->sin6_addr, 16);
        return true;
    }
    if (a->ss_family != AF_INET)
        return false;
    memcpy(ret, mapped, sizeof(mapped));
    memcpy(ret + sizeof(mapped), &((const struct sockaddr_in *)a)->sin_addr, 4);
    return true;
}

bool owl_address__loopback(const struct sockaddr_storage *a)
{
    static const unsigned char one[16] = {[15] = 1};
    unsigned char ip[16];
    if (!owl_address__ip(a, ip))
        return a->ss_family == AF_UNIX;
    return owl_address__mapped(ip) ? ip[12] == 127 : memcmp(ip, one, sizeof(one)) == 0;
}

int owl_address__port(const struct sockaddr_storage *a)
{
    switch (a->ss_family) {
    case AF_INET: return ntohs(((const struct sockaddr_in *)a)->sin_port);
    case AF_INET6: return ntohs(((const struct sockaddr_in6 *)a)->sin6_port);
    default: return 0;
    }
}

const char *owl_address__show(const struct sockaddr_storage *a, char out[OWL_ADDRESS__TEXT])
{
    unsigned char ip[16];
    if (!owl_address__ip(a, ip))
        return "a Unix socket";
    bool v4 = owl_address__mapped(ip);
    return inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? ip + 12 : ip, out, OWL_ADDRESS__TEXT);
}

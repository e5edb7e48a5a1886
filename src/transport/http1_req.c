/* transport/http1_req.c - the HTTP server: what the ops see of a request.
 * Threads: the reactor's. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "transport/http1_conn.h"

const struct owl_http_view *owl_http_view(const struct owl_http_req *req)
{
    return &req->conn->parse.view;
}

struct owl_arena *owl_http_take_arena(struct owl_http_req *req)
{
    struct owl_arena *a = req->conn->parse.arena;
    OWL_ASSERT(a);
    req->conn->parse.arena = NULL;
    return a;
}

owl_str owl_http_peer(const struct owl_http_req *req)
{
    const struct owl_tls_conn *tls = req->conn->tls;
    return tls ? owl_tls_peer(tls) : OWL_STR("");
}

int owl_http_keep(struct owl_http_req *req)
{
    return owl_http__parse_keep(&req->conn->parse);
}

owl_str owl_http_peer_address(const struct owl_http_req *req, char buf[OWL_HTTP_ADDRESS_BYTES])
{
    struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
    socklen_t n = sizeof from;
    const void *ip = NULL;
    int family = AF_INET;
    if (getpeername(req->conn->fd, (struct sockaddr *)&from, &n) != 0)
        return OWL_STR("");
    if (from.ss_family == AF_INET) {
        ip = &((const struct sockaddr_in *)&from)->sin_addr;
    } else if (from.ss_family == AF_INET6) {
        const struct in6_addr *a = &((const struct sockaddr_in6 *)&from)->sin6_addr;
        bool mapped = IN6_IS_ADDR_V4MAPPED(a);
        family = mapped ? AF_INET : AF_INET6;
        ip = mapped ? (const void *)&a->s6_addr[12] : (const void *)a;
    }
    if (!ip || !inet_ntop(family, ip, buf, OWL_HTTP_ADDRESS_BYTES))
        return OWL_STR("");
    return owl_str_of(buf);
}

uint64_t owl_http_peer_number(const struct owl_http_req *req)
{
    return owl_peer_number(req->conn->peer);
}

struct owl_reactor *owl_http_reactor(const struct owl_http_req *req)
{
    return req->conn->shard->reactor;
}

void owl_http_set_user(struct owl_http_req *req, void *state)
{
    req->user = state;
}

void *owl_http_user(const struct owl_http_req *req)
{
    return req->user;
}

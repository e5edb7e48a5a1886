/* server/cors.c - pages of other origins: who may use the server, and what their browsers are told.
 *
 * Pure, and immutable once made. The header lines of every origin are written in advance, so that a
 * request costs a comparison and no memory. Where every origin is welcome the Host is checked all
 * the same: a name that was bound to our address by somebody else is none of ours. */
#include "base/arena.h"
#include "base/err.h"
#include "mcp/headers.h"
#include "server/server.h"

enum {
    MAX_ORIGINS = 100,
    MAX_ORIGIN_BYTES = 300,
    SHOWN_BYTES = 60, /* of an origin that is none, in a message */
    PREFLIGHT_BYTES = 4096
};

#define MAX_AGE "3600" /* seconds for which a browser need not ask again */
#define EXPOSED "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After"
#define METHODS "GET, POST, DELETE, OPTIONS"
#define HEADERS \
    "Content-Type, Authorization, Accept, X-MCP-Client-ID, Mcp-Session-Id, MCP-Protocol-Version, " \
    "Last-Event-ID, Mcp-Method, Mcp-Name"

static const owl_str anybody = {"*", 1};
static const owl_str varies = {"Vary: Origin\r\n", 14}; /* for caches: others may get more */

struct owl_cors {
    struct owl_arena *arena; /* holds this and all texts */
    size_t n;
    struct {
        owl_str origin; /* as browsers write it, or "*" */
        owl_str lines;
    } sites[MAX_ORIGINS];
};

/* ---- what an origin is ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A letter, a digit or one of the @p others. */
static bool is_part(char c, const char *others)
{
    return is_letter(c) || (c >= '0' && c <= '9') || (c != '\0' && strchr(others, c));
}

/* The host of scheme://host or scheme://host:port with its port; absent if it is anything else. */
static owl_str host_of(owl_str origin)
{
    size_t n = 0;
    while (n < origin.n && is_part(origin.p[n], "+-."))
        n++;
    owl_str host = {origin.p + n, origin.n - n};
    if (n == 0 || !is_letter(origin.p[0]) || host.n < 4 || memcmp(host.p, "://", 3) != 0)
        return (owl_str){NULL, 0};
    host.p += 3;
    host.n -= 3;
    bool well_formed = owl_str_trim(host).n == host.n && owl_mcp_host_allowed(host, anybody);
    return well_formed ? host : (owl_str){NULL, 0};
}

/* As browsers write it: letters in lower case, without the port that its scheme has anyway. */
static owl_str normal(struct owl_arena *a, owl_str origin)
{
    static const struct {
        owl_str scheme, port;
    } usual[] = {{{"http://", 7}, {":80", 3}}, {{"https://", 8}, {":443", 4}}};
    char *copy = owl_arena_dup(a, origin);
    if (!copy)
        return (owl_str){NULL, 0};
    for (size_t i = 0; i < origin.n; i++)
        if (copy[i] >= 'A' && copy[i] <= 'Z')
            copy[i] = (char)(copy[i] - 'A' + 'a');
    for (size_t i = 0; i < OWL_COUNT(usual); i++) {
        owl_str head = {copy, usual[i].scheme.n};
        owl_str tail = {copy + origin.n - usual[i].port.n, usual[i].port.n};
        if (origin.n > head.n + tail.n && owl_str_eq(head, usual[i].scheme) &&
            owl_str_eq(tail, usual[i].port))
            return (owl_str){copy, origin.n - tail.n};
    }
    return (owl_str){copy, origin.n};
}

/* ---- from the option ---- */

static int add_site(struct owl_cors *c, owl_str origin)
{
    struct owl_buf b;
    owl_buf_init_arena(&b, c->arena, 2 * MAX_ORIGIN_BYTES + 512);
    origin = normal(c->arena, origin);
    owl_buf_printf(&b,
                   "Access-Control-Allow-Origin: %.*s\r\n"
                   "Access-Control-Expose-Headers: " EXPOSED "\r\n",
                   (int)origin.n, origin.p ? origin.p : "");
    owl_buf_puts(&b, varies);
    if (!origin.p || b.rc != 0)
        return -OWL_ENOMEM;
    c->sites[c->n].origin = origin;
    c->sites[c->n++].lines = owl_buf_str(&b);
    return 0;
}

static int check_origin(owl_str origin, owl_error *reterr)
{
    if (origin.n > MAX_ORIGIN_BYTES)
        return owl_fail(reterr, OWL_EINVAL,
                        "options.cors_origins: an origin is longer than %d bytes",
                        (int)MAX_ORIGIN_BYTES);
    for (size_t i = 0; i < origin.n; i++)
        if (origin.p[i] <= ' ' || origin.p[i] > '~')
            return owl_fail(reterr, OWL_EINVAL,
                            "options.cors_origins: an origin is printable ASCII without blanks; "
                            "international names are written as xn--…, several origins with "
                            "commas between them");
    if (!host_of(origin).p && !owl_str_eq(origin, anybody))
        return owl_fail(reterr, OWL_EINVAL,
                        "options.cors_origins: \"%.*s\" is no origin: write scheme://host or "
                        "scheme://host:port without a path, as in https://app.example.com, or * "
                        "for every origin",
                        origin.n > SHOWN_BYTES ? SHOWN_BYTES : (int)origin.n, origin.p);
    return 0;
}

static int read_origins(struct owl_cors *c, owl_str list, owl_error *reterr)
{
    for (owl_str origin; owl_str_split(&list, ',', &origin);) {
        origin = owl_str_trim(origin);
        int rc = check_origin(origin, reterr);
        if (rc != 0)
            return rc;
        if (c->n == MAX_ORIGINS)
            return owl_fail(reterr, OWL_EINVAL, "options.cors_origins: more than %d origins",
                            (int)MAX_ORIGINS);
        if (add_site(c, origin) != 0)
            return owl_fail(reterr, OWL_ENOMEM, NULL);
    }
    return 0;
}

int owl_cors_new(owl_str origins, struct owl_cors **ret, owl_error *reterr)
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_cors *c = a ? owl_arena_zalloc(a, sizeof *c) : NULL;
    if (!c) {
        owl_arena_free(a);
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    }
    c->arena = a;
    int rc = owl_str_trim(origins).n ? read_origins(c, origins, reterr) : 0;
    if (rc != 0)
        owl_arena_free(a);
    else
        *ret = c;
    return rc;
}

void owl_cors_free(struct owl_cors *c)
{
    if (c)
        owl_arena_free(c->arena);
}

/* ---- requests ---- */

bool owl_cors_lines(const struct owl_cors *c, owl_str origin, owl_str *ret_lines)
{
    origin = owl_str_trim(origin);
    for (size_t i = 0; i < c->n && origin.n; i++) {
        bool all = owl_str_eq(c->sites[i].origin, anybody) && host_of(origin).p;
        if (all || owl_str_eq(c->sites[i].origin, origin)) {
            *ret_lines = c->sites[i].lines;
            return true;
        }
    }
    *ret_lines = c->n ? varies : (owl_str){NULL, 0};
    return false;
}

static owl_str header(const struct owl_http_view *v, owl_str name)
{
    for (size_t i = 0; i < v->n_headers; i++)
        if (owl_str_ieq(v->headers[i].name, name))
            return v->headers[i].value;
    return (owl_str){NULL, 0};
}

/* Mcp-Param-* with a name that can be one. */
static bool is_param(owl_str name)
{
    static const owl_str prefix = {"mcp-param-", 10};
    if (name.n <= prefix.n || !owl_str_ieq((owl_str){name.p, prefix.n}, prefix))
        return false;
    for (size_t i = prefix.n; i < name.n; i++)
        if (!is_part(name.p[i], "!#$%&'*+-.^_`|~"))
            return false;
    return true;
}

/* Behind the @p n bytes that are there; the new number. */
static size_t append(char *to, size_t n, owl_str s)
{
    memcpy(to + n, s.p, s.n);
    return n + s.n;
}

bool owl_cors_preflight(struct owl_http_req *req)
{
    const owl_str tail = OWL_STR("\r\nAccess-Control-Max-Age: " MAX_AGE "\r\n");
    const struct owl_http_view *v = owl_http_view(req);
    owl_str asked = header(v, OWL_STR("access-control-request-headers"));
    if (!header(v, OWL_STR("access-control-request-method")).p)
        return false;
    char lines[PREFLIGHT_BYTES];
    size_t n = append(lines, 0,
                      OWL_STR("Access-Control-Allow-Methods: " METHODS "\r\n"
                              "Access-Control-Allow-Headers: " HEADERS));
    /* A wildcard would not cover them for every client, and nothing else names them. */
    for (owl_str name; owl_str_split(&asked, ',', &name);) {
        name = owl_str_trim(name);
        if (!is_param(name) || n + 2 + name.n + tail.n > sizeof lines)
            continue;
        n = append(lines, n, OWL_STR(", "));
        n = append(lines, n, name);
    }
    n = append(lines, n, tail);
    struct owl_http_reply r = {.status = 204, .headers = {lines, n}};
    owl_http_reply(req, &r);
    return true;
}

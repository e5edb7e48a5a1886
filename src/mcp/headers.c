/* mcp/headers.c - mirror headers of modern requests, and who may be addressed by whom.
 *
 * Pure, any thread. Nothing is copied unless a value is base64-encoded. */
#include "mcp/headers.h"

#include "base/err.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "mcp/internal.h"

/* ---- values ---------------------------------------------------------------------------------- */

#define PREFIX "=?base64?"
#define SUFFIX "?="
enum { WRAP = sizeof(PREFIX SUFFIX) - 1, PREFIX_LEN = sizeof(PREFIX) - 1 };

static bool is_wrapped(owl_str v)
{
    return v.n >= WRAP && memcmp(v.p, PREFIX, PREFIX_LEN) == 0 &&
           memcmp(v.p + v.n - 2, SUFFIX, 2) == 0;
}

static bool is_plain(owl_str v, bool tabs)
{
    for (size_t i = 0; i < v.n; i++) {
        if ((v.p[i] < ' ' || v.p[i] > '~') && !(tabs && v.p[i] == '\t'))
            return false;
    }
    return true;
}

static int unwrap(struct owl_arena *a, owl_str text, owl_str *ret, owl_error *reterr)
{
    struct owl_buf b;
    owl_buf_init_arena(&b, a, text.n);
    int rc = owl_base64_decode(&b, text);
    if (rc == -OWL_EPARSE)
        return owl_fail(reterr, OWL_EHEADER, "the header value is not valid base64: %s",
                        owl_mcp__show(text).z);
    if (rc != 0)
        return owl_fail(reterr, -rc, NULL);
    if (!owl_utf8_valid(owl_buf_str(&b)))
        return owl_fail(reterr, OWL_EHEADER, "the header value does not decode to UTF-8: %s",
                        owl_mcp__show(text).z);
    *ret = owl_buf_str(&b);
    return 0;
}

int owl_mcp_header_decode(struct owl_arena *a, owl_str value, owl_str *ret, owl_error *reterr)
{
    value = owl_str_trim(value);
    if (is_wrapped(value))
        return unwrap(a, (owl_str){value.p + PREFIX_LEN, value.n - WRAP}, ret, reterr);
    if (!is_plain(value, true))
        return owl_fail(reterr, OWL_EHEADER,
                        "the header value holds control or non-ASCII characters; send it as " PREFIX
                        "…" SUFFIX);
    *ret = value;
    return 0;
}

void owl_mcp_header_encode(struct owl_buf *b, owl_str value)
{
    if (is_plain(value, false) && owl_str_trim(value).n == value.n && !is_wrapped(value)) {
        owl_buf_puts(b, value);
        return;
    }
    owl_buf_puts(b, OWL_STR(PREFIX));
    owl_base64_encode(b, value.p, value.n);
    owl_buf_puts(b, OWL_STR(SUFFIX));
}

/* ---- mirrors --------------------------------------------------------------------------------- */

static int check_method(const struct owl_mcp_mirror *m, owl_error *reterr)
{
    if (m->header_method.p && owl_str_eq(owl_str_trim(m->header_method), m->method))
        return 0;
    struct owl_mcp__shown want = owl_mcp__show(m->method);
    if (!m->header_method.p)
        return owl_fail(reterr, OWL_EHEADER, "the Mcp-Method header is missing; send '%s'", want.z);
    return owl_fail(reterr, OWL_EHEADER, "the Mcp-Method header says '%s', the body '%s'",
                    owl_mcp__show(m->header_method).z, want.z);
}

static int check_name(struct owl_arena *a, const struct owl_mcp_mirror *m, owl_error *reterr)
{
    owl_str name = {NULL, 0};
    owl_error why;
    int rc = m->header_name.p ? owl_mcp_header_decode(a, m->header_name, &name, &why) : 0;
    if (rc != 0)
        return owl_fail(reterr, -rc, "Mcp-Name: %s", why.message);
    if (name.p && owl_span_str_eq(m->name, name))
        return 0;
    /* With its quotes, which is well enough for a message. */
    struct owl_mcp__shown want = owl_mcp__show(m->name);
    if (!m->header_name.p)
        return owl_fail(reterr, OWL_EHEADER,
                        "the Mcp-Name header is missing; send the value of params.%s, %s",
                        m->name_key, want.z);
    return owl_fail(reterr, OWL_EHEADER, "the Mcp-Name header says '%s', params.%s is %s",
                    owl_mcp__show(m->header_name).z, m->name_key, want.z);
}

int owl_mcp_headers_check(struct owl_arena *a, const struct owl_mcp_mirror *m, owl_error *reterr)
{
    int rc = check_method(m, reterr);
    if (rc != 0 || !m->name_key)
        return rc;
    if (owl_span_is_string(m->name))
        return check_name(a, m, reterr);
    /* Something that the method refuses, if the header says the same. */
    if (!m->header_name.p || owl_str_eq(owl_str_trim(m->header_name), m->name))
        return 0;
    return owl_fail(reterr, OWL_EHEADER, "the Mcp-Name header says '%s', params.%s is no string",
                    owl_mcp__show(m->header_name).z, m->name_key);
}

/* ---- Host and Origin ------------------------------------------------------------------------- */

static bool is_host_char(char c, bool v6)
{
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.')
        return true;
    return v6 ? c == ':' : c == '-' || c == '_';
}

/* The name of "name", "name:port", "[v6]" or "[v6]:port" (with its brackets); absent if it is
 * anything else, hence with user info, a path, an empty port or a trailing dot. */
static owl_str host_name(owl_str host)
{
    static const owl_str none = {NULL, 0};
    bool v6 = host.n > 0 && host.p[0] == '[';
    size_t n = v6 ? 1 : 0;
    while (n < host.n && is_host_char(host.p[n], v6))
        n++;
    if (v6 && (n == 1 || n >= host.n || host.p[n++] != ']'))
        return none;
    if (n == 0 || host.p[n - 1] == '.')
        return none;

    uint64_t port;
    owl_str rest = {host.p + n, host.n - n};
    if (rest.n > 0 &&
        (rest.p[0] != ':' || !owl_str_u64((owl_str){rest.p + 1, rest.n - 1}, UINT16_MAX, &port)))
        return none;
    return (owl_str){host.p, n};
}

bool owl_mcp_host_valid(owl_str entry)
{
    return owl_str_is(entry, "*") || host_name(entry).p;
}

bool owl_mcp_host_allowed(owl_str host, owl_str allowed)
{
    static const owl_str local[] = {{"localhost", 9}, {"127.0.0.1", 9}, {"[::1]", 5}};
    host = owl_str_trim(host);
    owl_str name = host_name(host);
    if (!name.p)
        return false;
    for (size_t i = 0; i < OWL_COUNT(local); i++) {
        if (owl_str_ieq(name, local[i]))
            return true;
    }
    for (owl_str part; owl_str_split(&allowed, ',', &part);) {
        part = owl_str_trim(part);
        if (owl_str_is(part, "*") || owl_str_ieq(part, name) || owl_str_ieq(part, host))
            return true;
    }
    return false;
}

bool owl_mcp_origin_allowed(owl_str origin, owl_str allowed)
{
    static const owl_str schemes[] = {{"http://", 7}, {"https://", 8}};
    if (!origin.p)
        return true;
    origin = owl_str_trim(origin);
    for (size_t i = 0; i < OWL_COUNT(schemes); i++) {
        owl_str head = {origin.p, schemes[i].n};
        if (origin.n > head.n && owl_str_ieq(head, schemes[i]))
            return owl_mcp_host_allowed((owl_str){origin.p + head.n, origin.n - head.n}, allowed);
    }
    return false;
}

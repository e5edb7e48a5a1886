/* mcp/classify.c - which era a message belongs to.
 *
 * Pure, any thread. The rows are those of the table of era detection for HTTP POST, where the first
 * match wins: the body outranks the header, and a mismatch outranks an unsupported version. */
#include "mcp/classify.h"

#include "base/err.h"
#include "mcp/internal.h"

#include <stdarg.h>
#include <stdio.h>

#define META_VERSION "io.modelcontextprotocol/protocolVersion"

static void accept(struct owl_mcp_class *ret, int rev)
{
    ret->rev = (enum owl_rev)rev;
    ret->era = owl_rev_era(ret->rev);
}

/* @p era is that in whose words the refusal is written. */
static void OWL_PRINTF(4, 5)
    refuse(struct owl_mcp_class *ret, enum owl_era era, int error, const char *fmt, ...)
{
    ret->era = era;
    ret->error = error;
    va_list ap;
    va_start(ap, fmt);
    OWL_IGNORE(vsnprintf(ret->why, sizeof(ret->why), fmt, ap) < 0); /* cut is good enough */
    va_end(ap);
}

static bool is_modern(const struct owl_mcp_input *in)
{
    return owl_revs_newest(in->revs, OWL_ERA_MODERN) >= 0;
}

static void refuse_version(const struct owl_mcp_input *in, struct owl_mcp_class *ret,
                           owl_str received)
{
    refuse(ret, OWL_ERA_MODERN, is_modern(in) ? OWL_EVERSION : OWL_EREQUEST,
           "protocol version '%s' is not supported here; supported are %s",
           owl_mcp__show(received).z, owl_mcp__revs_text(in->revs).z);
}

static void refuse_initialize(const struct owl_mcp_input *in, struct owl_mcp_class *ret)
{
    refuse(ret, OWL_ERA_MODERN, OWL_EVERSION,
           "this server has no initialize; send requests with _meta[\"" META_VERSION
           "\"], one of %s",
           owl_mcp__revs_text(in->revs).z);
}

/* The served revision of that name and era, or -1. */
static int served(const struct owl_mcp_input *in, owl_str name, enum owl_era era)
{
    int rev = owl_rev_asked(name);
    if (rev < 0 || !(in->revs & OWL_REV_BIT(rev)) || owl_rev_era((enum owl_rev)rev) != era)
        return -1;
    return rev;
}

/* Rows 1 and 3: the version in the body, which is what the header says too. */
static void by_meta(const struct owl_mcp_input *in, struct owl_mcp_class *ret)
{
    int rev = served(in, in->meta_version, OWL_ERA_MODERN);
    if (rev >= 0)
        accept(ret, rev);
    else
        refuse_version(in, ret, in->meta_version);
}

/* Row 2. The specification leaves the headers of a notification open, hence it may lack this
 * one. */
static bool header_contradicts(const struct owl_mcp_input *in)
{
    if (!in->header_version.p)
        return !in->notification;
    return !owl_str_eq(in->header_version, in->meta_version);
}

static void header_mismatch(const struct owl_mcp_input *in, struct owl_mcp_class *ret)
{
    struct owl_mcp__shown body = owl_mcp__show(in->meta_version);
    if (!in->header_version.p)
        refuse(ret, OWL_ERA_MODERN, OWL_EHEADER,
               "the MCP-Protocol-Version header is missing; _meta says '%s', send the same",
               body.z);
    else
        refuse(ret, OWL_ERA_MODERN, OWL_EHEADER,
               "the MCP-Protocol-Version header says '%s', _meta says '%s'; they must be equal",
               owl_mcp__show(in->header_version).z, body.z);
}

/* Row 5: a modern header over a body without version. Notifications need none; responses and batches
 * have no place in the modern era. */
static void modern_header(const struct owl_mcp_input *in, struct owl_mcp_class *ret, int rev)
{
    if (in->notification)
        accept(ret, rev);
    else if (!in->method.p)
        refuse(ret, OWL_ERA_MODERN, OWL_EREQUEST,
               "at %s a client posts requests and notifications, one at a time; answers travel in "
               "params.inputResponses",
               owl_rev_name((enum owl_rev)rev));
    else
        refuse(ret, OWL_ERA_MODERN, OWL_EPARAMS,
               "params._meta lacks \"" META_VERSION "\"; send \"%s\" there as in the header",
               owl_rev_name((enum owl_rev)rev));
}

/* Rows 8 and 9: neither a session nor a version in the body. */
static void sessionless(const struct owl_mcp_input *in, struct owl_mcp_class *ret)
{
    bool legacy = owl_revs_newest(in->revs, OWL_ERA_LEGACY) >= 0;
    int modern = owl_revs_newest(in->revs, OWL_ERA_MODERN);
    if (in->header_version.p)
        refuse(ret, OWL_ERA_LEGACY, OWL_EREQUEST,
               "the Mcp-Session-Id header is missing; send initialize first and repeat the id that "
               "its answer carries");
    else if (modern < 0)
        refuse(ret, OWL_ERA_LEGACY, OWL_EREQUEST,
               "neither Mcp-Session-Id nor MCP-Protocol-Version was sent; send initialize first");
    else
        refuse(ret, OWL_ERA_MODERN, OWL_EHEADER,
               "no protocol version was sent; %sthe MCP-Protocol-Version header and "
               "_meta[\"" META_VERSION "\"] with \"%s\"",
               legacy ? "send initialize first, or " : "send ", owl_rev_name((enum owl_rev)modern));
}

static void classify_http(const struct owl_mcp_input *in, struct owl_mcp_class *ret)
{
    int legacy = owl_revs_newest(in->revs, OWL_ERA_LEGACY);
    int modern_rev = served(in, in->header_version, OWL_ERA_MODERN);
    bool known_header = !in->header_version.p ||
                        served(in, in->header_version, OWL_ERA_LEGACY) >= 0;

    if (in->meta_version.p && header_contradicts(in))
        header_mismatch(in, ret);
    else if (in->meta_version.p)
        by_meta(in, ret);
    else if (owl_str_is(in->method, "initialize") && !in->notification && legacy < 0)
        refuse_initialize(in, ret);
    else if (owl_str_is(in->method, "initialize") && !in->notification)
        accept(ret, legacy); /* row 4 */
    else if (modern_rev >= 0)
        modern_header(in, ret, modern_rev);
    else if (!known_header)
        refuse_version(in, ret, in->header_version); /* row 10 */
    else if (legacy >= 0 && in->session == OWL_SESSION_KNOWN)
        accept(ret, (int)in->session_rev); /* row 6 */
    else if (legacy >= 0 && in->session == OWL_SESSION_UNKNOWN)
        refuse(ret, OWL_ERA_LEGACY, OWL_ENOTFOUND,
               "the session does not exist or has ended; send initialize without Mcp-Session-Id "
               "to begin a new one"); /* row 7 */
    else
        sessionless(in, ret);
}

static void classify_stdio(const struct owl_mcp_input *in, struct owl_mcp_class *ret)
{
    int legacy = owl_revs_newest(in->revs, OWL_ERA_LEGACY);
    int modern = owl_revs_newest(in->revs, OWL_ERA_MODERN);
    bool initialize = owl_str_is(in->method, "initialize") && !in->notification;

    if (in->meta_version.p)
        by_meta(in, ret);
    else if (initialize && legacy < 0)
        refuse_initialize(in, ret);
    else if (legacy >= 0 && in->session == OWL_SESSION_KNOWN)
        accept(ret, (int)in->session_rev);
    else if (legacy >= 0 && (initialize || owl_str_is(in->method, "ping")))
        accept(ret, legacy);
    else if (in->notification && modern >= 0)
        accept(ret, modern); /* cancelled carries no version */
    else if (!in->method.p || in->notification)
        refuse(ret, OWL_ERA_LEGACY, OWL_EREQUEST, "not expected before initialize: a %s",
               in->method.p ? "notification" : "response");
    else
        refuse(ret, modern >= 0 ? OWL_ERA_MODERN : OWL_ERA_LEGACY, OWL_EPARAMS,
               "%s%s%s; supported are %s", legacy >= 0 ? "send initialize first" : "",
               legacy >= 0 && modern >= 0 ? ", or " : "",
               modern >= 0 ? "send params._meta[\"" META_VERSION "\"]" : "",
               owl_mcp__revs_text(in->revs).z);
}

/* Who reads another line of it than we do would be told something else. */
static void refuse_twice(const struct owl_mcp_input *in, owl_str header, struct owl_mcp_class *ret)
{
    bool modern = in->meta_version.p;
    refuse(ret, modern ? OWL_ERA_MODERN : OWL_ERA_LEGACY, modern ? OWL_EHEADER : OWL_EREQUEST,
           "the header %s is there more than once, with different values; send it once",
           owl_mcp__show(header).z);
}

static void classify(const struct owl_mcp_input *in, struct owl_mcp_class *ret)
{
    if (in->header_twice.p)
        refuse_twice(in, in->header_twice, ret);
    else if (in->http)
        classify_http(in, ret);
    else
        classify_stdio(in, ret);
    if (in->legacy_twice.p && ret->era == OWL_ERA_LEGACY)
        refuse_twice(in, in->legacy_twice, ret);
}

void owl_mcp_classify(const struct owl_mcp_input *in, struct owl_mcp_class *ret)
{
    *ret = (struct owl_mcp_class){0};
    if (in->meta_version.p && !is_modern(in)) {
        struct owl_mcp_input legacy = *in;
        legacy.meta_version = (owl_str){NULL, 0}; /* means nothing in that era */
        classify(&legacy, ret);
    } else {
        classify(in, ret);
    }
}

enum owl_rev owl_mcp_negotiate(unsigned revs, owl_str asked)
{
    int rev = owl_rev_asked(asked);
    if (rev >= 0 && (revs & OWL_REV_BIT(rev)) && owl_rev_era((enum owl_rev)rev) == OWL_ERA_LEGACY)
        return (enum owl_rev)rev;
    rev = owl_revs_newest(revs, OWL_ERA_LEGACY);
    OWL_ASSERT(rev >= 0);
    return (enum owl_rev)rev;
}

int owl_mcp_modern_check(const struct owl_mcp_meta *meta, owl_error *reterr)
{
    if (!meta->protocol_version.p)
        return owl_fail(reterr, OWL_EPARAMS, "params._meta lacks \"" META_VERSION "\", a string");
    if (!meta->client_caps.p)
        return owl_fail(reterr, OWL_EPARAMS,
                        "params._meta lacks \"io.modelcontextprotocol/clientCapabilities\", an "
                        "object; send {} if the client has none");
    return 0;
}

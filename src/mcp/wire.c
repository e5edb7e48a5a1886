/* mcp/wire.c - results and failures in the words of a revision.
 *
 * Pure, any thread; the codecs are const. Invariants: no code is written that the revision reserves
 * and does not define, and nothing is written twice in one object. */
#include "mcp/wire.h"

#include "base/err.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "jsonrpc/envelope.h"
#include "jsonrpc/member.h"

#include <time.h>

enum {
    RPC_PARSE = -32700,
    RPC_REQUEST = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    RPC_TOOL = -32001,       /* style `codes` only */
    RPC_RESOURCE = -32002,   /* legacy only */
    RPC_URL_ELICIT = -32042, /* legacy only */
    RPC_HEADER = -32020,     /* modern; also to peers whose era is unknown */
    RPC_CAPABILITY = -32021, /* modern only */
    RPC_VERSION = -32022,    /* modern; also to peers whose era is unknown */
    RPC_RESERVED_FIRST = -32768,
    RPC_RESERVED_LAST = -32000
};

/* ---- results --------------------------------------------------------------------------------- */

static void legacy_result(struct owl_buf *b, const struct owl_mcp_result *r, owl_str server_info)
{
    (void)server_info; /* told once, by initialize */
    owl_buf_putc(b, '{');
    owl_buf_puts(b, r->members);
    if (r->meta.n > 0) {
        owl_buf_puts(b, r->members.n > 0 ? OWL_STR(",\"_meta\":{") : OWL_STR("\"_meta\":{"));
        owl_buf_puts(b, r->meta);
        owl_buf_putc(b, '}');
    }
    owl_buf_putc(b, '}');
}

static void modern_result(struct owl_buf *b, const struct owl_mcp_result *r, owl_str server_info)
{
    owl_str type = r->type ? owl_str_of(r->type) : OWL_STR("complete");
    owl_buf_puts(b, OWL_STR("{\"resultType\":"));
    owl_json_quote(b, type);
    if (r->members.n > 0) {
        owl_buf_putc(b, ',');
        owl_buf_puts(b, r->members);
    }
    if (r->cacheable && owl_str_is(type, "complete"))
        owl_buf_printf(b, ",\"ttlMs\":%u,\"cacheScope\":\"%s\"", r->ttl_ms,
                       r->per_user ? "private" : "public");
    if (server_info.n > 0 || r->meta.n > 0) {
        owl_buf_puts(b, OWL_STR(",\"_meta\":{"));
        if (server_info.n > 0) {
            owl_buf_puts(b, OWL_STR("\"io.modelcontextprotocol/serverInfo\":"));
            owl_buf_puts(b, server_info);
        }
        if (server_info.n > 0 && r->meta.n > 0)
            owl_buf_putc(b, ',');
        owl_buf_puts(b, r->meta);
        owl_buf_putc(b, '}');
    }
    owl_buf_putc(b, '}');
}

/* ---- codecs ---------------------------------------------------------------------------------- */

/* Revisions that differ in how failures are told. */
enum family { FIRST, EARLY, LATE, MODERN, FAMILIES };
enum { STYLES = OWL_ERRORS_LAYERED };

#define STYLE(era, since, style, result) \
    [style - 1] = {OWL_ERA_##era, OWL_REV_##since, style, result}
#define FAMILY(era, since, result) \
    { \
        STYLE(era, since, OWL_ERRORS_CODES, result), STYLE(era, since, OWL_ERRORS_MCP, result), \
            STYLE(era, since, OWL_ERRORS_LAYERED, result) \
    }

static const struct owl_mcp_codec codecs[FAMILIES][STYLES] = {
    [FIRST] = FAMILY(LEGACY, 2024_11_05, legacy_result),
    [EARLY] = FAMILY(LEGACY, 2025_03_26, legacy_result),
    [LATE] = FAMILY(LEGACY, 2025_11_25, legacy_result),
    [MODERN] = FAMILY(MODERN, 2026_07_28, modern_result),
};

const struct owl_mcp_codec *owl_mcp_codec_of(enum owl_rev rev, enum owl_error_style style)
{
    enum family f = FIRST;
    while (f + 1 < FAMILIES && rev >= codecs[f + 1][0].since)
        f++;
    if (style == OWL_ERRORS_AUTO)
        style = f == FIRST ? OWL_ERRORS_CODES : OWL_ERRORS_MCP;
    return &codecs[f][style - 1];
}

const struct owl_mcp_codec *owl_mcp_codec_with(const struct owl_mcp_codec *codec,
                                               enum owl_error_style style)
{
    return owl_mcp_codec_of(codec->since, style);
}

/* ---- codes ----------------------------------------------------------------------------------- */

static bool is_legacy(const struct owl_mcp_codec *codec)
{
    return codec->era == OWL_ERA_LEGACY;
}

/* A code that both eras define, or one outside the range that JSON-RPC and MCP keep for
 * themselves. */
static bool code_is_free(int code)
{
    switch (code) {
    case RPC_PARSE:
    case RPC_REQUEST:
    case RPC_METHOD:
    case RPC_PARAMS:
    case RPC_INTERNAL:
    case RPC_HEADER:
    case RPC_VERSION: return true;
    default: return code < RPC_RESERVED_FIRST || code > RPC_RESERVED_LAST;
    }
}

/* What an era has beyond those, or -32603. */
static int code_of_era(const struct owl_mcp_codec *codec, int code)
{
    if (code_is_free(code))
        return code;
    if (is_legacy(codec))
        return code == RPC_RESOURCE || code == RPC_URL_ELICIT ? code : RPC_INTERNAL;
    return code == RPC_RESOURCE ? RPC_PARAMS : code == RPC_CAPABILITY ? code : RPC_INTERNAL;
}

/* The code of a failure of a known tool: arguments, denial and timeout have their own, all else
 * failed. */
static int tool_code(int error)
{
    switch (error) {
    case OWL_EPARAMS:
    case OWL_EDENIED:
    case OWL_ETIMEOUT:
    case OWL_ECAPABILITY: return owl_err_info(error)->rpc_code;
    default: return owl_err_info(OWL_ETOOL)->rpc_code;
    }
}

/* Faults of the tool or of its call, not of the protocol or of the server: what a model can correct
 * or try again. */
static bool is_of_tool(const struct owl_mcp_failure *f)
{
    if (!f->of_tool || f->rpc_code != 0)
        return false;
    switch (f->error) {
    case OWL_EPARAMS:
    case OWL_EDENIED:
    case OWL_ETIMEOUT:
    case OWL_ETOOL:
    case OWL_EINVAL:
    case OWL_ENOTFOUND:
    case OWL_ELIMIT:
    case OWL_EEXISTS:
    case OWL_ESTATE:
    case OWL_EIO:
    case OWL_ECAPABILITY: return true;
    default: return false;
    }
}

/* What is visible but refused; tools have their style. */
static bool is_denied(const struct owl_mcp_failure *f)
{
    return f->error == OWL_EDENIED && f->rpc_code == 0;
}

/* The code of a failure of a known tool that is told as an error. */
static int code_of_tool(const struct owl_mcp_codec *codec, const struct owl_mcp_failure *f)
{
    if (f->error == OWL_ECAPABILITY) /* only modern has a code for it */
        return is_legacy(codec) ? tool_code(OWL_ETOOL) : RPC_CAPABILITY;
    return tool_code(f->error);
}

/* What another server said, in the words of this revision. What may not pass becomes a failure of
 * ours with the same message and data. */
static struct owl_mcp_failure translate(const struct owl_mcp_codec *codec,
                                        const struct owl_mcp_failure *f)
{
    struct owl_mcp_failure told = *f;
    bool legacy = is_legacy(codec), pass = true;
    told.relayed = f->relayed && f->rpc_code != 0;
    if (!told.relayed)
        return told;
    switch (f->rpc_code) {
    case RPC_RESOURCE:
        if (!legacy) /* which must not have it, whatever the other server meant by it */
            told.rpc_code = f->of_resource ? RPC_PARAMS : RPC_INTERNAL;
        break;
    case RPC_PARAMS:
        if (legacy && f->of_resource && owl_span_get(f->data, "uri").p)
            told.rpc_code = RPC_RESOURCE;
        break;
    case RPC_CAPABILITY:
        pass = !legacy;
        told.error = pass ? f->error : OWL_ECAPABILITY;
        break;
    case RPC_HEADER:
    case RPC_VERSION: /* about the way from us to the other server */
        pass = !legacy;
        told.error = pass ? f->error : OWL_EINTERNAL;
        break;
    case RPC_URL_ELICIT:
        pass = legacy && codec->since >= OWL_REV_2025_11_25;
        if (!pass)
            told.error = !legacy ? OWL_ECAPABILITY : f->of_tool ? OWL_ETOOL : OWL_EINTERNAL;
        if (!legacy)
            told.data = OWL_STR("{\"requiredCapabilities\":{\"elicitation\":{\"url\":{}}}}");
        break;
    default: break;
    }
    if (!pass) {
        told.relayed = false;
        told.rpc_code = 0;
    }
    return told;
}

/* @p f is translated. */
static int code_of(const struct owl_mcp_codec *codec, const struct owl_mcp_failure *f)
{
    if (f->relayed)
        return f->rpc_code;
    if (f->rpc_code != 0)
        return code_of_era(codec, f->rpc_code);
    if (codec->style == OWL_ERRORS_CODES && f->error == OWL_ENOTFOUND && f->of_name)
        return RPC_TOOL;
    if (codec->style == OWL_ERRORS_CODES && is_of_tool(f))
        return code_of_tool(codec, f);
    if (is_denied(f))
        return is_legacy(codec) ? tool_code(OWL_EDENIED) : -tool_code(OWL_EDENIED);
    if (f->error == OWL_ENOTFOUND && f->of_resource)
        return code_of_era(codec, RPC_RESOURCE);
    if (f->error == OWL_ECANCELLED)
        return RPC_INTERNAL; /* the table's -32800 is LSP's */
    return code_of_era(codec, owl_err_info(f->error)->rpc_code);
}

int owl_mcp_failure_code(const struct owl_mcp_codec *codec, const struct owl_mcp_failure *f)
{
    struct owl_mcp_failure told = translate(codec, f);
    return code_of(codec, &told);
}

/* The row of the error that a code stands for, where the code has been chosen. */
static int error_of(const struct owl_mcp_failure *f)
{
    switch (f->rpc_code) {
    case 0: return f->error;
    case RPC_METHOD: return OWL_ENOMETHOD;
    case RPC_HEADER: return OWL_EHEADER;
    case RPC_CAPABILITY: return OWL_ECAPABILITY;
    case RPC_VERSION: return OWL_EVERSION;
    default: return OWL_ETOOL;
    }
}

static int status_of(const struct owl_mcp_codec *codec, const struct owl_mcp_failure *f)
{
    const struct owl_err_info *row = owl_err_info(error_of(f));
    return !is_legacy(codec) && row->status_of_call ? row->http_status : 200;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* What a failure tells about itself. Members of its data are merged in; those that are written here
 * are not repeated, and of these only `retryable` is taken from the data. */
struct details {
    const struct owl_mcp_failure *f;
    owl_str retryable; /* from the data, or absent */
    int code;          /* 0: not told */
    bool full;         /* details and retryable are always told */
    bool layered;      /* code and message of that style; the trace id is told elsewhere */
    bool details;      /* the data has details of its own */
    char before;       /* '{' until something is written */
};

static void put_key(struct owl_buf *b, struct details *d, owl_str key)
{
    owl_buf_putc(b, d->before);
    d->before = ',';
    owl_buf_putc(b, '"');
    owl_buf_puts(b, key); /* as it is written between quotes */
    owl_buf_puts(b, OWL_STR("\":"));
}

/* A refusal that passes by itself is no failed precondition: the tool is not to be had now. */
static const char *layered_code(const struct details *d)
{
    if (d->f->error == OWL_EDENIED && owl_str_is(d->retryable, "true"))
        return owl_err_info(OWL_EBUSY)->layered;
    return owl_err_info(d->f->error)->layered;
}

static void put_own(struct owl_buf *b, struct details *d)
{
    bool retry = owl_err_info(d->f->error)->retryable;
    if (d->layered) {
        put_key(b, d, OWL_STR("code"));
        owl_json_quote(b, owl_str_of(layered_code(d)));
        put_key(b, d, OWL_STR("message"));
        owl_json_quote(b, d->f->message);
    } else if (d->code != 0) {
        put_key(b, d, OWL_STR("code"));
        owl_buf_printf(b, "%d", d->code);
    }
    if (d->full && !d->details) {
        put_key(b, d, OWL_STR("details"));
        owl_json_quote(b, d->f->message);
    }
    if (d->retryable.p || retry || d->code != 0 || d->full || d->layered) {
        put_key(b, d, OWL_STR("retryable"));
        owl_json_compact(b, d->retryable.p ? d->retryable
                            : retry        ? OWL_STR("true")
                                           : OWL_STR("false"));
    }
    if (d->f->trace_id.p && !d->layered) {
        put_key(b, d, OWL_STR("trace_id"));
        owl_json_quote(b, d->f->trace_id);
    }
}

static bool is_own(const struct details *d, owl_str literal)
{
    return ((d->code != 0 || d->layered) && owl_span_str_eq(literal, OWL_STR("code"))) ||
           (d->layered && owl_span_str_eq(literal, OWL_STR("message"))) ||
           (d->retryable.p && owl_span_str_eq(literal, OWL_STR("retryable"))) ||
           (d->f->trace_id.p && owl_span_str_eq(literal, OWL_STR("trace_id")));
}

/* {own members, members of the data}. Data that is no object becomes the member `details`. */
static void put_details(struct owl_buf *b, struct details d)
{
    static const owl_str names[] = {{"retryable", 9}, {"details", 7}};
    owl_str m[2], data = d.f->data;
    bool object = owl_members(data, NULL, names, 2, m);
    d.before = '{';
    d.retryable = m[0];
    d.details = m[1].p || (data.p && !object);
    put_own(b, &d);
    if (object) {
        struct owl_span_iter it = owl_span_iter(data);
        for (struct owl_span s; owl_span_next(&it, &s);) {
            if (is_own(&d, (owl_str){s.key.p - 1, s.key.n + 2}))
                continue;
            put_key(b, &d, s.key);
            owl_json_compact(b, s.value);
        }
    } else if (data.p) {
        put_key(b, &d, OWL_STR("details"));
        owl_json_compact(b, data);
    }
    if (d.before == '{')
        owl_buf_putc(b, '{');
    owl_buf_putc(b, '}');
}

/* Whether the model should see the failure, as the result of its tool. */
static bool is_tool_result(const struct owl_mcp_codec *codec, const struct owl_mcp_failure *f)
{
    if (codec->style == OWL_ERRORS_CODES || !is_of_tool(f))
        return false;
    if (f->error == OWL_ECAPABILITY)
        return is_legacy(codec); /* modern has a code */
    return f->error != OWL_EPARAMS || codec->style == OWL_ERRORS_LAYERED ||
           codec->since >= OWL_REV_2025_11_25;
}

/* "2026-02-12T09:35:21.103Z" */
static void put_time(struct owl_buf *b, int64_t wall_ms)
{
    time_t s = (time_t)(wall_ms / 1000);
    struct tm tm;
    char text[32];
    if (!gmtime_r(&s, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        text[0] = '\0';
    owl_buf_printf(b, "\"%s.%03dZ\"", text, (int)(wall_ms % 1000));
}

/* The envelope of the style `layered`. */
static void put_envelope(struct owl_buf *b, const struct owl_mcp_failure *f)
{
    static const struct owl_mcp_run none = {.tool = {"", 0}, .version = {"", 0}};
    const struct owl_mcp_run *run = f->run ? f->run : &none;
    owl_buf_puts(b, OWL_STR(",\"structuredContent\":{\"success\":false,\"data\":{},\"error\":"));
    put_details(b, (struct details){.f = f, .layered = true});
    owl_buf_puts(b, OWL_STR(",\"meta\":{\"traceId\":"));
    owl_json_quote(b, f->trace_id);
    owl_buf_puts(b, OWL_STR(",\"tool\":"));
    owl_json_quote(b, run->tool);
    owl_buf_puts(b, OWL_STR(",\"version\":"));
    owl_json_quote(b, run->version);
    owl_buf_printf(b, ",\"durationMs\":%llu,\"timestamp\":", (unsigned long long)run->duration_ms);
    put_time(b, run->ended_ms);
    owl_buf_puts(b, OWL_STR("}}"));
}

static void write_tool_result(struct owl_buf *b, const struct owl_mcp_codec *codec, owl_str id,
                              const struct owl_mcp_failure *f, owl_str server_info)
{
    struct owl_buf parts; /* the members, then those of _meta */
    if (b->arena)
        owl_buf_init_arena(&parts, b->arena, b->max);
    else
        owl_buf_init(&parts, b->max);
    owl_buf_puts(&parts, OWL_STR("\"content\":[{\"type\":\"text\",\"text\":"));
    owl_json_quote(&parts, f->message);
    owl_buf_puts(&parts, OWL_STR("}],\"isError\":true"));
    if (codec->style == OWL_ERRORS_LAYERED)
        put_envelope(&parts, f);
    size_t n = parts.n;
    if (codec->style == OWL_ERRORS_MCP) {
        owl_buf_puts(&parts, OWL_STR("\"owlclaw/error\":"));
        put_details(&parts, (struct details){.f = f, .code = tool_code(f->error), .full = true});
    }

    if (parts.rc == 0) {
        struct owl_mcp_result r = {
            .type = "complete", .members = {parts.p, n}, .meta = {parts.p + n, parts.n - n}};
        owl_rpc_begin_result(b, id);
        codec->result(b, &r, server_info);
        owl_rpc_end(b);
    } else if (b->rc == 0) {
        b->rc = parts.rc;
    }
    owl_buf_done(&parts);
}

/* Failures of tools and denials have the same data on every revision. */
static bool tells_all(const struct owl_mcp_codec *codec, const struct owl_mcp_failure *f)
{
    return codec->style == OWL_ERRORS_CODES || is_denied(f) ||
           (f->error == OWL_EPARAMS && is_of_tool(f));
}

static void write_error(struct owl_buf *b, const struct owl_mcp_codec *codec, owl_str id,
                        const struct owl_mcp_failure *f)
{
    bool full = tells_all(codec, f), object = !f->data.p || owl_span_is_object(f->data);
    owl_rpc_begin_error(b, id, code_of(codec, f), f->message);
    if (f->data.p && (f->relayed || (!object && !full))) {
        owl_buf_puts(b, OWL_STR(",\"data\":"));
        owl_json_compact(b, f->data);
    } else if (!f->relayed &&
               (full || f->data.p || f->trace_id.p || owl_err_info(f->error)->retryable)) {
        owl_buf_puts(b, OWL_STR(",\"data\":"));
        put_details(b, (struct details){.f = f, .full = full});
    }
    owl_rpc_end_error(b);
}

int owl_mcp_write_failure(struct owl_buf *b, const struct owl_mcp_codec *codec, owl_str id,
                          const struct owl_mcp_failure *f, owl_str server_info)
{
    struct owl_mcp_failure told = translate(codec, f);
    if (told.message.n == 0)
        told.message = owl_str_of(owl_err_info(told.error)->text);
    if (is_tool_result(codec, &told)) {
        write_tool_result(b, codec, id, &told, server_info);
        return 200;
    }
    write_error(b, codec, id, &told);
    return status_of(codec, &told);
}

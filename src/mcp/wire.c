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

/* ---- codes ----------------------------------------------------------------------------------- */

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

/* The code that a failure asks for, before a revision has had its say. */
static int wanted_code(const struct owl_mcp_failure *f)
{
    if (f->rpc_code != 0)
        return f->rpc_code;
    if (f->error == OWL_ENOTFOUND && f->of_resource)
        return RPC_RESOURCE;
    if (f->error == OWL_ECANCELLED)
        return RPC_INTERNAL; /* the table's -32800 is LSP's */
    return owl_err_info(f->error)->rpc_code;
}

static int legacy_code(const struct owl_mcp_failure *f)
{
    int code = wanted_code(f);
    if (code == RPC_RESOURCE || code == RPC_URL_ELICIT || code_is_free(code))
        return code;
    return RPC_INTERNAL;
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

static int codes_code(const struct owl_mcp_failure *f)
{
    if (f->error == OWL_ENOTFOUND && f->of_name && f->rpc_code == 0)
        return RPC_TOOL;
    if (f->error == OWL_ECAPABILITY && is_of_tool(f))
        return tool_code(OWL_ETOOL); /* these revisions have no code for it */
    return is_of_tool(f) ? tool_code(f->error) : legacy_code(f);
}

static int modern_code(const struct owl_mcp_failure *f)
{
    int code = wanted_code(f);
    if (code == RPC_RESOURCE)
        return RPC_PARAMS;
    return code == RPC_CAPABILITY || code_is_free(code) ? code : RPC_INTERNAL;
}

static int legacy_status(int code, int error)
{
    (void)code;
    (void)error;
    return 200;
}

static int modern_status(int code, int error)
{
    if (error == OWL_EPARSE || error == OWL_EREQUEST)
        return 400; /* no request that could have been answered */
    switch (code) {
    case RPC_METHOD: return 404;
    case RPC_HEADER:
    case RPC_CAPABILITY:
    case RPC_VERSION: return 400;
    default: return 200;
    }
}

const struct owl_mcp_codec owl_mcp_codes = {OWL_ERA_LEGACY, true, legacy_result, codes_code,
                                            legacy_status};
const struct owl_mcp_codec owl_mcp_legacy = {OWL_ERA_LEGACY, false, legacy_result, legacy_code,
                                             legacy_status};
const struct owl_mcp_codec owl_mcp_modern = {OWL_ERA_MODERN, false, modern_result, modern_code,
                                             modern_status};

const struct owl_mcp_codec *owl_mcp_codec_of(enum owl_rev rev)
{
    if (owl_rev_era(rev) == OWL_ERA_MODERN)
        return &owl_mcp_modern;
    return rev <= OWL_REV_2025_06_18 ? &owl_mcp_codes : &owl_mcp_legacy;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* What a failure tells about itself. Members of its data are merged in; those that are written here
 * are not repeated, and of these only `retryable` is taken from the data. */
struct details {
    const struct owl_mcp_failure *f;
    owl_str retryable; /* from the data, or absent */
    int code;          /* 0: not told */
    bool full;         /* details and retryable are always told */
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

static void put_own(struct owl_buf *b, struct details *d)
{
    bool retry = owl_err_info(d->f->error)->retryable;
    if (d->code != 0) {
        put_key(b, d, OWL_STR("code"));
        owl_buf_printf(b, "%d", d->code);
    }
    if (d->full && !d->details) {
        put_key(b, d, OWL_STR("details"));
        owl_json_quote(b, d->f->message);
    }
    if (d->retryable.p || retry || d->code != 0 || d->full) {
        put_key(b, d, OWL_STR("retryable"));
        owl_json_compact(b, d->retryable.p ? d->retryable
                            : retry        ? OWL_STR("true")
                                           : OWL_STR("false"));
    }
    if (d->f->trace_id.p) {
        put_key(b, d, OWL_STR("trace_id"));
        owl_json_quote(b, d->f->trace_id);
    }
}

static bool is_own(const struct details *d, owl_str literal)
{
    return (d->code != 0 && owl_span_str_eq(literal, OWL_STR("code"))) ||
           (d->retryable.p && owl_span_str_eq(literal, OWL_STR("retryable"))) ||
           (d->f->trace_id.p && owl_span_str_eq(literal, OWL_STR("trace_id")));
}

/* {own members, members of the data}. Data that is no object becomes the member `details`. */
static void put_details(struct owl_buf *b, const struct owl_mcp_failure *f, int code, bool full)
{
    static const owl_str names[] = {{"retryable", 9}, {"details", 7}};
    owl_str m[2];
    struct details d = {.f = f, .code = code, .full = full, .before = '{'};
    bool object = owl_members(f->data, NULL, names, 2, m);
    d.retryable = m[0];
    d.details = m[1].p || (f->data.p && !object);
    put_own(b, &d);
    if (object) {
        struct owl_span_iter it = owl_span_iter(f->data);
        for (struct owl_span s; owl_span_next(&it, &s);) {
            if (is_own(&d, (owl_str){s.key.p - 1, s.key.n + 2}))
                continue;
            put_key(b, &d, s.key);
            owl_json_compact(b, s.value);
        }
    } else if (f->data.p) {
        put_key(b, &d, OWL_STR("details"));
        owl_json_compact(b, f->data);
    }
    if (d.before == '{')
        owl_buf_putc(b, '{');
    owl_buf_putc(b, '}');
}

/* Whether the model should see the failure, as the result of its tool. */
static bool is_tool_result(const struct owl_mcp_codec *codec, const struct owl_mcp_failure *f)
{
    if (codec->codes || !is_of_tool(f))
        return false;
    return f->error != OWL_ECAPABILITY || codec->era == OWL_ERA_LEGACY; /* modern has a code */
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
    size_t n = parts.n;
    owl_buf_puts(&parts, OWL_STR("\"owlclaw/error\":"));
    put_details(&parts, f, tool_code(f->error), true);

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

static void write_error(struct owl_buf *b, owl_str id, const struct owl_mcp_failure *f, int code,
                        bool full)
{
    owl_rpc_begin_error(b, id, code, f->message);
    bool object = !f->data.p || owl_span_is_object(f->data);
    if (!object && !full) {
        owl_buf_puts(b, OWL_STR(",\"data\":"));
        owl_json_compact(b, f->data);
    } else if (full || f->data.p || f->trace_id.p || owl_err_info(f->error)->retryable) {
        owl_buf_puts(b, OWL_STR(",\"data\":"));
        put_details(b, f, 0, full);
    }
    owl_rpc_end_error(b);
}

int owl_mcp_write_failure(struct owl_buf *b, const struct owl_mcp_codec *codec, owl_str id,
                          const struct owl_mcp_failure *f, owl_str server_info)
{
    struct owl_mcp_failure told = *f;
    if (told.message.n == 0)
        told.message = owl_str_of(owl_err_info(f->error)->text);
    if (is_tool_result(codec, f)) {
        write_tool_result(b, codec, id, &told, server_info);
        return 200;
    }
    int code = codec->code(f);
    write_error(b, id, &told, code, codec->codes);
    return codec->http_status(code, f->error);
}

/* server/routes.c - the routes of MCP, and what their handlers share: headers, small answers, the
 * session.
 *
 * Threads: the reactor of the connection. POST is in front_post.c, GET in front_get.c, the old
 * HTTP+SSE in front_sse.c; who gets so far is decided in entry.c. */
#include "base/alloc.h"
#include "base/err.h"
#include "codec/json.h"
#include "mcp/headers.h"
#include "server/front.h"

/* ---- the headers that matter ---- */

/* Where the value of a header goes, or NULL. Lengths tell nearly all of them apart. */
static owl_str *slot(struct owl_heads *h, owl_str name)
{
    owl_str wanted;
    owl_str *at;
    switch (name.n) {
    case 4: wanted = OWL_STR("host"), at = &h->host; break;
    case 6: wanted = OWL_STR("origin"), at = &h->origin; break;
    case 8: wanted = OWL_STR("mcp-name"), at = &h->name; break;
    case 10: wanted = OWL_STR("mcp-method"), at = &h->method; break;
    case 12: wanted = OWL_STR("content-type"), at = &h->type; break;
    case 13: wanted = OWL_STR("last-event-id"), at = &h->last_event_id; break;
    case 14: wanted = OWL_STR("mcp-session-id"), at = &h->session; break;
    case 20: wanted = OWL_STR("mcp-protocol-version"), at = &h->version; break;
    default: return NULL;
    }
    return owl_str_ieq(name, wanted) ? at : NULL;
}

/* Where it is noted that the header of that slot has two values. */
static owl_str *twice_of(struct owl_heads *h, const owl_str *slot)
{
    if (slot == &h->host || slot == &h->origin)
        return &h->place_twice;
    return slot == &h->session || slot == &h->last_event_id ? &h->legacy_twice : &h->twice;
}

/* How well a media range, without parameters, fits: it is the type, its group or anything; 0: not. */
static int closeness(owl_str range, owl_str type)
{
    size_t group = (size_t)((const char *)memchr(type.p, '/', type.n) - type.p) + 1;
    if (owl_str_ieq(range, type))
        return 3;
    if (range.n == group + 1 && range.p[group] == '*')
        return owl_str_ieq((owl_str){range.p, group}, (owl_str){type.p, group}) ? 2 : 0;
    return owl_str_is(range, "*/*") ? 1 : 0;
}

/* Whether parameters of a media range have the weight 0: it is not wanted. */
static bool is_refused(owl_str parameters)
{
    for (owl_str part; owl_str_split(&parameters, ';', &part);) {
        part = owl_str_trim(part);
        if (part.n < 3 || (part.p[0] != 'q' && part.p[0] != 'Q') || part.p[1] != '=')
            continue;
        size_t n = 2;
        while (n < part.n && (part.p[n] == '0' || part.p[n] == '.'))
            n++;
        return n == part.n;
    }
    return false;
}

/* The range that fits a type best decides about it. */
struct wish {
    int closeness;
    bool wanted;
};

static void consider(struct wish *w, owl_str range, bool wanted, owl_str type)
{
    int n = closeness(range, type);
    if (n > w->closeness)
        *w = (struct wish){n, wanted};
}

/* All lines of the header are one list. */
static struct owl_accepted read_accept(const struct owl_http_view *v)
{
    struct wish json = {0}, stream = {0};
    struct owl_accepted a = {.named = true};
    for (size_t i = 0; i < v->n_headers; i++) {
        owl_str list = v->headers[i].value, part, range;
        if (!owl_str_ieq(v->headers[i].name, OWL_STR("accept")))
            continue;
        while (owl_str_split(&list, ',', &part)) {
            OWL_IGNORE(owl_str_split(&part, ';', &range)); /* even an empty text has one part */
            bool wanted = !is_refused(part);
            consider(&json, owl_str_trim(range), wanted, OWL_STR("application/json"));
            consider(&stream, owl_str_trim(range), wanted, OWL_STR("text/event-stream"));
            a.stream_first = a.stream_first || (stream.wanted && !json.wanted);
        }
    }
    a.json = json.wanted;
    a.stream = stream.wanted;
    return a;
}

void owl_front__read_heads(const struct owl_http_view *v, struct owl_heads *ret)
{
    size_t accepts = 0, usual = 0;
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < v->n_headers; i++) {
        owl_str name = v->headers[i].name, value = v->headers[i].value;
        owl_str *at = slot(ret, name);
        if (at && at->p && !owl_str_eq(*at, value))
            *twice_of(ret, at) = name;
        else if (at)
            *at = value;
        else if (owl_str_ieq(name, OWL_STR("accept"))) {
            accepts++;
            usual += owl_str_is(value, "application/json, text/event-stream");
        }
    }
    ret->accept = accepts == usual
                      ? (struct owl_accepted){.json = true, .stream = true, .named = accepts > 0}
                      : read_accept(v);
}

/* ---- small answers ---- */

void owl_front__reply_status(struct owl_http_req *req, int status, owl_str headers)
{
    struct owl_http_reply r = {.status = status, .headers = headers};
    owl_http_reply(req, &r);
}

void owl_front__reply_json(struct owl_http_req *req, int status, owl_str body)
{
    struct owl_http_reply r = {.status = status, .content_type = "application/json", .body = body};
    owl_http_reply(req, &r);
}

static void reply_error(struct owl_server *s, struct owl_http_req *req,
                        const struct owl_http_reply *reply, owl_str data, const char *text)
{
    struct owl_buf *b = &owl_call_local(&s->env, owl_http_reactor(req))->out;
    struct owl_http_reply r = *reply;
    owl_buf_reset(b);
    owl_rpc_error(b, (owl_str){NULL, 0}, owl_err_info(OWL_EREQUEST)->rpc_code, owl_str_of(text),
                  data);
    OWL_LOG(&s->log, OWL_LEVEL_INFO, "http", "%d: %s", r.status, text);
    r.content_type = "application/json";
    r.body = owl_buf_str(b);
    owl_http_reply(req, &r);
}

void owl_front__refuse(struct owl_server *s, struct owl_http_req *req, int error, const char *text)
{
    const struct owl_err_info *row = owl_err_info(error);
    owl_str data = row->retryable ? OWL_STR("{\"retryable\":true}") : (owl_str){NULL, 0};
    reply_error(s, req, &(struct owl_http_reply){.status = row->http_status}, data, text);
}

void owl_front__reply_error(struct owl_server *s, struct owl_http_req *req, int status,
                            owl_str headers, const char *text)
{
    owl_str data = status == 503 ? OWL_STR("{\"retryable\":true}") : (owl_str){NULL, 0};
    reply_error(s, req, &(struct owl_http_reply){.status = status, .headers = headers}, data, text);
}

int owl_front__write_event(struct owl_http_req *req, const char *name, owl_str message)
{
    struct owl_buf b;
    owl_str plain, escape;
    owl_buf_init(&b, 3 * message.n + 128); /* no character grows more */
    if (name)
        owl_buf_printf(&b, "event: %s\n", name);
    owl_buf_puts(&b, OWL_STR("data: "));
    while (owl_json_line_split(&message, &plain, &escape)) {
        owl_buf_puts(&b, plain);
        owl_buf_puts(&b, escape);
    }
    owl_buf_puts(&b, OWL_STR("\n\n"));
    int rc = b.rc ? b.rc : owl_http_stream_write(req, owl_buf_str(&b));
    owl_buf_done(&b);
    return rc;
}

/* ---- what a request wants ---- */

bool owl_front__require_json(const struct owl_route_req *r)
{
    owl_str type = r->heads->type, part;
    if (owl_str_split(&type, ';', &part) &&
        owl_str_ieq(owl_str_trim(part), OWL_STR("application/json")))
        return true;
    owl_front__reply_error(r->server, r->http, 415, OWL_STR(""),
                           "Content-Type must be application/json");
    return false;
}

uint64_t owl_front__lane(owl_str principal, uint64_t scope)
{
    return principal.n ? owl_hash(principal) | UINT64_C(1) << 63 : scope;
}

void owl_front__find_session(const struct owl_route_req *r, struct owl_inbound *in)
{
    owl_str id = r->heads->session;
    in->session = id.p ? owl_sessions_find(r->server->sessions, id) : NULL;
    if (in->session && !owl_str_eq(owl_session_principal(in->session), r->principal)) {
        owl_session_aunref(in->session);
        in->session = NULL;
    }
    in->session_state = in->session ? OWL_SESSION_KNOWN
                        : id.p      ? OWL_SESSION_UNKNOWN
                                    : OWL_SESSION_NONE;
}

struct owl_session *owl_front__require_session(const struct owl_route_req *r)
{
    struct owl_server *s = r->server;
    const struct owl_heads *h = r->heads;
    struct owl_inbound in = {.session = NULL};
    owl_front__find_session(r, &in);
    if (in.session_state == OWL_SESSION_NONE) {
        owl_front__refuse(s, r->http, OWL_EREQUEST,
                          "Mcp-Session-Id is missing: GET and DELETE belong to a session");
        return NULL;
    }
    struct owl_mcp_input input = {
        .http = true,
        .header_version = h->version,
        .header_twice = h->twice,
        .legacy_twice = h->legacy_twice,
        .session = in.session_state,
        .session_rev = in.session ? owl_session_rev(in.session) : 0,
        .revs = s->revs,
    };
    struct owl_mcp_class class;
    owl_mcp_classify(&input, &class);
    if (!class.error)
        return in.session;
    owl_front__refuse(s, r->http, class.error, class.why);
    owl_session_aunref(in.session);
    return NULL;
}

/* ---- DELETE: the end of a legacy session ---- */

static void on_delete(void *data, const struct owl_route_req *r)
{
    (void)data;
    struct owl_session *session = owl_front__require_session(r);
    if (!session)
        return;
    /* ended twice is ended */
    OWL_IGNORE(owl_sessions_end(r->server->sessions, owl_session_id(session)));
    owl_session_aunref(session);
    owl_front__reply_status(r->http, 200, OWL_STR(""));
}

/* ---- the routes ---- */

/* POST is answered while the server stops, too: by an error that names the request. */
static const struct owl_route routes[] = {
    {.methods = 1u << OWL_HTTP_POST,
     .path = "/mcp",
     .flags = OWL_ROUTE_AUTH | OWL_ROUTE_DRAIN,
     .handler = owl_front__post,
     .head = owl_front__post_head},
    /* All others are about sessions, which only legacy clients have. */
    {.methods = 1u << OWL_HTTP_GET,
     .path = "/mcp",
     .flags = OWL_ROUTE_AUTH,
     .handler = owl_front__get},
    {.methods = 1u << OWL_HTTP_DELETE,
     .path = "/mcp",
     .flags = OWL_ROUTE_AUTH,
     .handler = on_delete},
    {.methods = 1u << OWL_HTTP_GET,
     .path = "/mcp/sse",
     .flags = OWL_ROUTE_AUTH,
     .handler = owl_front__sse_get},
    {.methods = 1u << OWL_HTTP_POST,
     .path = "/mcp/messages",
     .flags = OWL_ROUTE_AUTH | OWL_ROUTE_DRAIN,
     .handler = owl_front__sse_post,
     .head = owl_front__sse_post_head},
};

int owl_routes_add(struct owl_server *s, owl_error *reterr)
{
    int rc = 0;
    for (size_t i = 0; i < (s->legacy ? OWL_COUNT(routes) : 1) && rc == 0; i++)
        rc = owl_server_add_route(s, &routes[i], reterr);
    return rc;
}

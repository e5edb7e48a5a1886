/* server/routes.c - the HTTP front: who may speak, and who listens to them.
 *
 * Threads: the reactor of the connection. POST is in front_post.c, GET in front_get.c, the old
 * HTTP+SSE in front_sse.c. */
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

static void read_heads(const struct owl_http_view *v, struct owl_heads *ret)
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

void owl_front__reply_error(struct owl_server *s, struct owl_http_req *req, int status,
                            const char *text)
{
    struct owl_buf *b = &owl_call_local(&s->env, owl_http_reactor(req))->out;
    owl_str data = status == 503 ? OWL_STR("{\"retryable\":true}") : (owl_str){NULL, 0};
    owl_buf_reset(b);
    owl_rpc_error(b, (owl_str){NULL, 0}, -32600, owl_str_of(text), data);
    OWL_LOG(&s->log, OWL_LEVEL_INFO, "http", "%d: %s", status, text);
    owl_front__reply_json(req, status, owl_buf_str(b));
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

bool owl_front__is_json(owl_str type)
{
    owl_str part;
    return owl_str_split(&type, ';', &part) &&
           owl_str_ieq(owl_str_trim(part), OWL_STR("application/json"));
}

void owl_front__find_session(struct owl_server *s, const struct owl_http_req *req, owl_str id,
                             struct owl_inbound *in)
{
    in->session = id.p ? owl_sessions_find(s->sessions, id) : NULL;
    if (in->session && !owl_str_eq(owl_session_principal(in->session), owl_http_peer(req))) {
        owl_session_aunref(in->session);
        in->session = NULL;
    }
    in->session_state = in->session ? OWL_SESSION_KNOWN
                        : id.p      ? OWL_SESSION_UNKNOWN
                                    : OWL_SESSION_NONE;
}

struct owl_session *owl_front__require_session(struct owl_server *s, struct owl_http_req *req,
                                               const struct owl_heads *h)
{
    struct owl_inbound in = {.session = NULL};
    owl_front__find_session(s, req, h->session, &in);
    if (in.session_state == OWL_SESSION_NONE) {
        owl_front__reply_error(s, req, 400,
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
    owl_front__reply_error(s, req, class.http_status, class.why);
    owl_session_aunref(in.session);
    return NULL;
}

/* ---- DELETE: the end of a legacy session ---- */

static void on_delete(struct owl_server *s, struct owl_http_req *req, const struct owl_heads *h)
{
    struct owl_session *session = owl_front__require_session(s, req, h);
    if (!session)
        return;
    OWL_IGNORE(owl_sessions_end(s->sessions, owl_session_id(session))); /* ended twice is ended */
    owl_session_aunref(session);
    owl_front__reply_status(req, 200, OWL_STR(""));
}

/* ---- the old HTTP+SSE ---- */

static void on_sse_get(struct owl_server *s, struct owl_http_req *req, const struct owl_heads *h)
{
    if (h->accept.stream)
        owl_sse_open(s, req);
    else
        owl_front__reply_error(s, req, 406,
                               "GET opens an event stream: Accept must be text/event-stream");
}

static void on_sse_post(struct owl_server *s, struct owl_http_req *req, const struct owl_heads *h)
{
    if (owl_front__is_json(h->type))
        owl_sse_post(s, req);
    else
        owl_front__reply_error(s, req, 415, "Content-Type must be application/json");
}

/* ---- routing ---- */

typedef void route_fn(struct owl_server *s, struct owl_http_req *req, const struct owl_heads *h);

struct endpoint {
    owl_str path;
    const char *allow;
    route_fn *post, *get, *delete; /* NULL: not allowed */
};
static const struct endpoint endpoints[] = {
    {{"/mcp", 4},
     "Allow: GET, POST, DELETE, OPTIONS\r\n",
     owl_front__post,
     owl_front__get,
     on_delete},
    {{"/mcp/sse", 8}, "Allow: GET, OPTIONS\r\n", NULL, on_sse_get, NULL},
    {{"/mcp/messages", 13}, "Allow: POST, OPTIONS\r\n", on_sse_post, NULL, NULL},
};
static const struct endpoint modern_endpoint = {
    {"/mcp", 4}, "Allow: POST, OPTIONS\r\n", owl_front__post, NULL, NULL};

/* All but POST is about sessions, which only legacy clients have. */
static const struct endpoint *find_endpoint(const struct owl_server *s, owl_str path)
{
    const struct endpoint *all = s->legacy ? endpoints : &modern_endpoint;
    for (size_t i = 0; i < (s->legacy ? OWL_COUNT(endpoints) : 1); i++)
        if (owl_str_eq(path, all[i].path))
            return &all[i];
    return NULL;
}

static void route(struct owl_server *s, struct owl_http_req *req, const struct owl_heads *h,
                  const struct endpoint *e)
{
    enum owl_http_method method = owl_http_view(req)->method;
    route_fn *fn = method == OWL_HTTP_POST     ? e->post
                   : method == OWL_HTTP_GET    ? e->get
                   : method == OWL_HTTP_DELETE ? e->delete
                                               : NULL;
    if (fn)
        fn(s, req, h);
    else
        owl_front__reply_status(req, method == OWL_HTTP_OPTIONS ? 204 : 405, owl_str_of(e->allow));
}

static bool host_allowed(struct owl_server *s, struct owl_server_local *l, owl_str host)
{
    if (host.p && host.n > 0 && owl_str_eq(host, (owl_str){l->host, l->host_n}))
        return true;
    if (!host.p || !owl_mcp_host_allowed(host, owl_str_of(s->allow_hosts)))
        return false;
    l->host_n = host.n <= sizeof l->host ? host.n : 0;
    memcpy(l->host, host.p, l->host_n);
    return true;
}

static void on_request(void *user, struct owl_http_req *req)
{
    struct owl_server *s = user;
    const struct owl_http_view *v = owl_http_view(req);
    struct owl_server_local *l = owl_server_local(s, owl_http_reactor(req));
    const struct endpoint *e = find_endpoint(s, v->path);
    struct owl_heads h;
    owl_str lines;
    read_heads(v, &h);
    bool listed = owl_cors_lines(s->cors, h.origin, &lines);
    owl_http_add_headers(req, lines);
    if (h.place_twice.p)
        owl_front__reply_error(s, req, 400,
                               "Host or Origin is there more than once, with different values");
    else if (!host_allowed(s, l, h.host))
        owl_front__reply_error(s, req, 403,
                               "this Host is not served here (DNS rebinding protection)");
    else if (!listed && !owl_mcp_origin_allowed(h.origin, owl_str_of(s->allow_hosts)))
        owl_front__reply_error(s, req, 403, "requests from this Origin are not allowed");
    else if (!e)
        owl_front__reply_error(s, req, 404, "not found: the MCP endpoint is /mcp");
    else if (v->method != OWL_HTTP_POST && l->draining)
        owl_front__reply_error(s, req, 503, "the server is stopping; try again");
    else if (v->method != OWL_HTTP_OPTIONS || !listed || !owl_cors_preflight(req))
        route(s, req, &h, e);
}

static void on_gone(void *user, struct owl_http_req *req)
{
    (void)user;
    struct owl_hook *h = owl_http_user(req);
    if (h)
        h->gone(h);
}

static void on_waiting(void *user, struct owl_http_req *req)
{
    (void)user;
    struct owl_hook *h = owl_http_user(req);
    if (h && h->waiting)
        h->waiting(h);
}

const struct owl_http_ops owl_http_front_ops = {
    .request = on_request, .gone = on_gone, .waiting = on_waiting};

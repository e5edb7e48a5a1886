/* transport/http1_parse.c - bytes to one HTTP/1.1 request, without a socket.
 * Threads: one at a time.
 *
 * llhttp finds the syntax (always strictly); this file shows what it finds, keeps the limits and
 * decides which well-formed requests are refused all the same. A head that arrives whole is never
 * copied: the view points into the input. What has been read when the input ends goes into the
 * arena of the request, and so does the body.
 * Invariant: what a peer can make us keep is bounded by the limits at every byte. */
#include "transport/http1_parse.h"

enum {
    FIRST_HEADERS = 16,     /* enough for an ordinary head */
    FIRST_BODY = 16 * 1024, /* believed of a Content-Length before bytes have come … */
    BODY_GROWTH = 4,        /* … and how many times of what has come */
    RAW_SLACK = 1024,       /* method, version and ordinary white space of a head */
    CHUNK_OVERHEAD = 8      /* times what they hold: six are ordinary for a byte a chunk */
};

static struct owl_http__parse *parse_of(llhttp_t *llhttp)
{
    return llhttp->data;
}

/* The request is refused; returned from a callback it stops llhttp. */
static int refuse(struct owl_http__parse *p, int status, const char *why, size_t limit)
{
    p->stage = OWL_HTTP__REFUSED;
    p->refusal = (struct owl_http__refusal){.status = status, .why = why, .limit = limit};
    return HPE_USER;
}

static int no_memory(struct owl_http__parse *p)
{
    return refuse(p, 503, "The server is out of memory; try again later", 0);
}

static int body_too_long(struct owl_http__parse *p)
{
    return refuse(p, 413, "The body is too long; the limit in bytes is", p->limits->body_bytes);
}

/* ---- tokens: target, names and values ---- */

/* A token that came in several pieces is put together in the arena. */
static int token_append(struct owl_http__parse *p, const char *at, size_t n)
{
    size_t need = p->_token.n + n;
    if (need > p->_token_cap) {
        size_t cap = need < 64 ? 128 : need * 2;
        char *text = owl_arena_alloc(p->arena, cap);
        if (!text)
            return no_memory(p);
        if (p->_token.n > 0)
            memcpy(text, p->_token.p, p->_token.n);
        p->_token.p = text;
        p->_token_cap = cap;
    }
    union {
        const char *from;
        char *to; /* it is ours: see above */
    } text = {p->_token.p};
    memcpy(text.to + p->_token.n, at, n);
    p->_token.n = need;
    return 0;
}

static int token_add(struct owl_http__parse *p, const char *at, size_t n)
{
    if (p->_token.n > 0 || p->_token_cap > 0)
        return n > 0 ? token_append(p, at, n) : 0;
    p->_token = (owl_str){at, n};
    return 0;
}

static owl_str token_end(struct owl_http__parse *p)
{
    owl_str token = p->_token.n > 0 ? p->_token : OWL_STR("");
    p->_token = (owl_str){NULL, 0};
    p->_token_cap = 0;
    return token;
}

/* ---- the target ---- */

/* "http://host/path" → "/path" and "host"; other forms are left alone. False: another scheme or no
 * host. */
static bool strip_authority(owl_str *target, owl_str *ret_host)
{
    static const owl_str schemes[] = {{"http://", 7}, {"https://", 8}};
    if (target->p[0] == '/')
        return true;
    for (size_t i = 0; i < OWL_COUNT(schemes); i++) {
        owl_str s = schemes[i];
        if (target->n <= s.n || !owl_str_ieq((owl_str){target->p, s.n}, s))
            continue;
        owl_str rest = {target->p + s.n, target->n - s.n};
        size_t host = 0;
        while (host < rest.n && rest.p[host] != '/' && rest.p[host] != '?')
            host++;
        *target = (owl_str){rest.p + host, rest.n - host};
        *ret_host = (owl_str){rest.p, host};
        return host > 0;
    }
    return false;
}

/* What a target says of the host counts, not the header (RFC 9112, 3.2.2). */
static void name_host(struct owl_http__parse *p, owl_str host)
{
    for (size_t i = 0; i < p->view.n_headers; i++) {
        if (owl_str_ieq(p->_headers[i].name, OWL_STR("host")))
            p->_headers[i].value = host;
    }
}

static bool split_target(struct owl_http__parse *p)
{
    owl_str target = p->_target, host = {NULL, 0};
    if (target.n == 0 || memchr(target.p, '#', target.n))
        return false;
    if (owl_str_is(target, "*")) {
        p->view.path = target;
        return p->view.method == OWL_HTTP_OPTIONS;
    }
    if (!strip_authority(&target, &host))
        return false;
    if (host.p)
        name_host(p, host);
    const char *mark = target.n > 0 ? memchr(target.p, '?', target.n) : NULL;
    owl_str path = {target.p, mark ? (size_t)(mark - target.p) : target.n};
    p->view.path = path.n > 0 ? path : OWL_STR("/");
    if (mark)
        p->view.query = (owl_str){mark + 1, target.n - path.n - 1};
    return true;
}

/* ---- the request line ---- */

/* llhttp takes several spaces for one, and RTSP and ICE for HTTP, without saying so: the places of
 * the line are followed here. From LINE_PROTOCOL on one state for each byte of "HTTP/". */
enum {
    LINE_BEFORE,
    LINE_METHOD,
    LINE_SPACE, /* one has been read */
    LINE_TARGET,
    LINE_PROTOCOL,
    LINE_END = LINE_PROTOCOL + 5, /* what follows, or is missing, is llhttp's to judge */
    LINE_ODD                      /* it is refused if llhttp finds no other fault */
};

static unsigned char line_next(unsigned char line, char c)
{
    bool end = c == '\r' || c == '\n';
    if (line == LINE_BEFORE)
        return end ? LINE_BEFORE : LINE_METHOD;
    if (end)
        return LINE_END; /* of a request without a version */
    switch (line) {
    case LINE_METHOD: return c == ' ' ? LINE_SPACE : line;
    case LINE_SPACE: return c == ' ' ? LINE_ODD : LINE_TARGET;
    case LINE_TARGET: return c == ' ' ? LINE_PROTOCOL : line;
    default: return c == "HTTP/"[line - LINE_PROTOCOL] ? line + 1 : LINE_ODD;
    }
}

/* The usual: all of it has come at once, and is as it should be. */
static bool is_whole_line(owl_str in)
{
    const char *end = in.p + in.n, *target = memchr(in.p, ' ', in.n < 16 ? in.n : 16);
    if (!target || end - target < 2 || *++target == ' ')
        return false;
    const char *protocol = memchr(target, ' ', (size_t)(end - target));
    return protocol && end - protocol > 5 && memcmp(protocol + 1, "HTTP/", 5) == 0 &&
           !memchr(in.p, '\n', (size_t)(protocol - in.p)) &&
           !memchr(in.p, '\r', (size_t)(protocol - in.p));
}

static void follow_line(struct owl_http__parse *p, owl_str in)
{
    unsigned char line = p->_line;
    if (line == LINE_BEFORE && is_whole_line(in))
        line = LINE_END;
    for (size_t i = 0; i < in.n && line < LINE_END; i++)
        line = line_next(line, in.p[i]);
    p->_line = line;
}

/* ---- what must outlive the input ---- */

static bool keep(struct owl_http__parse *p, owl_str *s)
{
    char *copy = owl_arena_dup(p->arena, *s);
    if (copy)
        s->p = copy;
    return copy != NULL;
}

/* The input ends before the request: what has been read of its head goes into the arena, each part
 * once. */
static bool keep_head(struct owl_http__parse *p)
{
    if (!p->_target_kept && p->_target.p) {
        if (!keep(p, &p->_target))
            return false;
        p->_target_kept = true;
        if (p->stage != OWL_HTTP__HEAD && !split_target(p))
            return false;
    }
    for (; p->_headers_kept < p->view.n_headers; p->_headers_kept++) {
        struct owl_http_header *h = &p->_headers[p->_headers_kept];
        if ((!p->_name_kept && !keep(p, &h->name)) || !keep(p, &h->value))
            return false;
        p->_name_kept = false;
    }
    if (p->_naming && !p->_name_kept) {
        if (!keep(p, &p->_headers[p->_headers_kept].name))
            return false;
        p->_name_kept = true;
    }
    owl_str part = p->_token;
    if (part.n == 0 || p->_token_cap > 0)
        return true;
    p->_token.n = 0;
    return token_append(p, part.p, part.n) == 0;
}

static int on_begin(llhttp_t *llhttp)
{
    struct owl_http__parse *p = parse_of(llhttp);
    p->stage = OWL_HTTP__HEAD;
    p->arena = owl_arena_new(0);
    if (!p->arena)
        return no_memory(p);
    p->_headers = owl_arena_alloc(p->arena, FIRST_HEADERS * sizeof *p->_headers);
    if (!p->_headers)
        return no_memory(p);
    p->_headers_cap = FIRST_HEADERS;
    return 0;
}

static int on_url(llhttp_t *llhttp, const char *at, size_t n)
{
    struct owl_http__parse *p = parse_of(llhttp);
    if (n > p->limits->url_bytes - p->_token.n)
        return refuse(p, 414, "The request target is too long; the limit in bytes is",
                      p->limits->url_bytes);
    return token_add(p, at, n);
}

static int on_url_complete(llhttp_t *llhttp)
{
    struct owl_http__parse *p = parse_of(llhttp);
    p->_target = token_end(p);
    return 0;
}

/* ---- headers ---- */

static int head_add(struct owl_http__parse *p, const char *at, size_t n)
{
    p->_head_bytes += n;
    if (p->_head_bytes > p->limits->header_bytes)
        return refuse(p, 431, "The headers are too long; the limit in bytes is",
                      p->limits->header_bytes);
    if (p->stage == OWL_HTTP__BODY) /* trailers are counted and dropped */
        return 0;
    return token_add(p, at, n);
}

static int on_field(llhttp_t *llhttp, const char *at, size_t n)
{
    return head_add(parse_of(llhttp), at, n);
}

static int on_value(llhttp_t *llhttp, const char *at, size_t n)
{
    return head_add(parse_of(llhttp), at, n);
}

static int on_field_complete(llhttp_t *llhttp)
{
    struct owl_http__parse *p = parse_of(llhttp);
    if (p->stage == OWL_HTTP__BODY)
        return 0;
    size_t n = p->view.n_headers;
    if (n == p->limits->headers)
        return refuse(p, 431, "There are too many headers; the limit is", p->limits->headers);
    if (n == p->_headers_cap) {
        size_t old = n * sizeof(*p->_headers);
        struct owl_http_header *grown = owl_arena_alloc(p->arena, 2 * old);
        if (!grown)
            return no_memory(p);
        memcpy(grown, p->_headers, old);
        p->_headers = grown;
        p->_headers_cap = 2 * n;
    }
    p->_headers[n] = (struct owl_http_header){.name = token_end(p)};
    p->_naming = true;
    return 0;
}

/* What is needed of the headers besides what llhttp itself looks at. */
static int note(struct owl_http__parse *p, const struct owl_http_header *h)
{
    if (h->name.n == 4 && owl_str_ieq(h->name, OWL_STR("host"))) {
        p->_hosts++;
    } else if (h->name.n == 6 && owl_str_ieq(h->name, OWL_STR("expect"))) {
        p->_expects = true;
        if (!owl_str_ieq(h->value, OWL_STR("100-continue")))
            p->_expects_other = true;
    } else if (h->name.n == 17 && owl_str_ieq(h->name, OWL_STR("transfer-encoding"))) {
        if (p->_chunked || !owl_str_ieq(h->value, OWL_STR("chunked")))
            return refuse(p, 501, "The only Transfer-Encoding that is understood is chunked", 0);
        p->_chunked = true;
    }
    return 0;
}

static int on_value_complete(llhttp_t *llhttp)
{
    struct owl_http__parse *p = parse_of(llhttp);
    if (p->stage == OWL_HTTP__BODY)
        return 0;
    struct owl_http_header *h = &p->_headers[p->view.n_headers++];
    p->_naming = false;
    h->value = owl_str_trim(token_end(p));
    return note(p, h);
}

/* ---- the end of the head ---- */

static enum owl_http_method method_of(uint8_t method)
{
    switch (method) {
    case HTTP_GET: return OWL_HTTP_GET;
    case HTTP_HEAD: return OWL_HTTP_HEAD;
    case HTTP_POST: return OWL_HTTP_POST;
    case HTTP_PUT: return OWL_HTTP_PUT;
    case HTTP_PATCH: return OWL_HTTP_PATCH;
    case HTTP_DELETE: return OWL_HTTP_DELETE;
    case HTTP_OPTIONS: return OWL_HTTP_OPTIONS;
    default: return OWL_HTTP_OTHER;
    }
}

/* Well-formed heads that are refused. */
static int check_head(struct owl_http__parse *p)
{
    const llhttp_t *l = &p->_llhttp;
    if (p->_line == LINE_ODD)
        return refuse(p, 400,
                      "The request line must be a method, a target and HTTP/1.1, with one space "
                      "between them",
                      0);
    if (l->http_major != 1 || l->http_minor > 1)
        return refuse(p, 505, "Only HTTP/1.1 and HTTP/1.0 are served", 0);
    if (l->method == HTTP_CONNECT)
        return refuse(p, 501, "CONNECT is not served", 0);
    if (p->_hosts > 1 || (p->_hosts == 0 && !p->http10))
        return refuse(p, 400, "A request needs exactly one Host header", 0);
    if (p->_chunked && p->http10)
        return refuse(p, 400, "HTTP/1.0 has no Transfer-Encoding", 0);
    if (!split_target(p))
        return refuse(p, 400, "The request target is no path of this server", 0);
    if (p->_expects_other && !p->http10)
        return refuse(p, 417, "The only Expect that is understood is 100-continue", 0);
    return l->content_length > p->limits->body_bytes ? body_too_long(p) : 0;
}

static int on_head(llhttp_t *llhttp)
{
    struct owl_http__parse *p = parse_of(llhttp);
    p->http10 = llhttp->http_major == 1 && llhttp->http_minor == 0;
    p->view.method = method_of(llhttp->method);
    p->view.headers = p->_headers;
    int rc = check_head(p);
    if (rc != 0)
        return rc;
    llhttp->upgrade = 0; /* offers to speak something else are declined by ignoring them */
    p->keep_alive = llhttp_should_keep_alive(llhttp);
    p->may_continue = p->_expects && !p->http10 && (p->_chunked || llhttp->content_length > 0);
    p->_announced = p->_chunked ? 0 : (size_t)llhttp->content_length;
    p->stage = OWL_HTTP__BODY;
    return 0;
}

/* ---- body and end ---- */

/* What is reserved counts, although it may not have come: it may be memory that was used before. Each
 * step copies what is there while everybody else waits, hence large ones. */
static int body_grow(struct owl_http__parse *p, size_t need)
{
    size_t most = p->_chunked ? p->limits->body_bytes : p->_announced;
    size_t cap = p->_body_cap || p->_chunked ? BODY_GROWTH * p->_body_cap : FIRST_BODY;
    if (cap > most)
        cap = most;
    if (cap < need)
        cap = need;
    int rc = p->bodies ? owl_budget_take(p->bodies, p->arena, &p->_share, cap - p->_body_cap) : 0;
    if (rc != 0)
        return rc;
    char *body = owl_arena_realloc(p->arena, p->_body, p->_body_cap, cap);
    if (!body)
        return -OWL_ENOMEM;
    p->_body = body;
    p->_body_cap = cap;
    return 0;
}

static int on_chunk(llhttp_t *llhttp)
{
    struct owl_http__parse *p = parse_of(llhttp);
    return llhttp->content_length > p->limits->body_bytes - p->view.body.n ? body_too_long(p) : 0;
}

static int on_body(llhttp_t *llhttp, const char *at, size_t n)
{
    struct owl_http__parse *p = parse_of(llhttp);
    size_t had = p->view.body.n;
    if (n > p->limits->body_bytes - had)
        return body_too_long(p);
    int rc = n > p->_body_cap - had ? body_grow(p, had + n) : 0;
    if (rc == -OWL_EBUSY)
        return refuse(p, 503, "Too much is being received at once; try again later", 0);
    if (rc != 0)
        return no_memory(p);
    memcpy(p->_body + had, at, n);
    p->view.body = (owl_str){p->_body, had + n};
    return 0;
}

static int on_complete(llhttp_t *llhttp)
{
    struct owl_http__parse *p = parse_of(llhttp);
    if (p->_body) /* who looks at what the message takes sees its length; it stays where it is */
        p->_body = owl_arena_realloc(p->arena, p->_body, p->_body_cap, p->view.body.n);
    p->stage = OWL_HTTP__COMPLETE;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_begin,
    .on_url = on_url,
    .on_url_complete = on_url_complete,
    .on_header_field = on_field,
    .on_header_field_complete = on_field_complete,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_head,
    .on_chunk_header = on_chunk,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

/* ---- the parser ---- */

/* Clears all that belongs to one request: everything from `stage` on. */
static void forget(struct owl_http__parse *p)
{
    size_t from = offsetof(struct owl_http__parse, stage);
    memset((char *)p + from, 0, sizeof(*p) - from);
    p->view.body = OWL_STR("");
}

void owl_http__parse_init(struct owl_http__parse *p, const struct owl_http_limits *limits)
{
    llhttp_init(&p->_llhttp, HTTP_REQUEST, &settings);
    p->_llhttp.data = p;
    p->limits = limits;
    p->bodies = NULL;
    forget(p);
}

void owl_http__parse_reset(struct owl_http__parse *p)
{
    owl_arena_free(p->arena);
    llhttp_reset(&p->_llhttp);
    forget(p);
}

void owl_http__parse_release(struct owl_http__parse *p)
{
    if (!p->arena)
        return; /* somebody has it, with the body */
    owl_arena_free(p->arena);
    p->arena = NULL;
    p->view = (struct owl_http_view){.method = p->view.method, .body = OWL_STR("")};
}

int owl_http__parse_keep(struct owl_http__parse *p)
{
    OWL_ASSERT(p->arena && (p->stage == OWL_HTTP__BODY || p->stage == OWL_HTTP__COMPLETE));
    return keep_head(p) ? 0 : -OWL_ENOMEM;
}

static bool is_token_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

/* llhttp's verdict as a status. @p at is the byte that it did not like, or NULL. */
static void refuse_syntax(struct owl_http__parse *p, llhttp_errno_t error, const char *at)
{
    const llhttp_t *l = &p->_llhttp;
    bool other_version = error == HPE_INVALID_VERSION && (l->http_major != 1 || l->http_minor > 1);
    if (other_version || error == HPE_PAUSED_H2_UPGRADE) {
        (void)refuse(p, 505, "Only HTTP/1.1 and HTTP/1.0 are served", 0);
    } else if (error == HPE_INVALID_METHOD && at && is_token_char(*at)) {
        (void)refuse(p, 501, "The request method is unknown", 0);
    } else {
        (void)refuse(p, 400, "The request is malformed", 0);
        p->refusal.detail = llhttp_get_error_reason(l);
    }
}

size_t owl_http__parse_feed(struct owl_http__parse *p, owl_str in)
{
    if (p->_line < LINE_END)
        follow_line(p, in);
    llhttp_errno_t error = llhttp_execute(&p->_llhttp, in.p, in.n);
    const char *at = error == HPE_OK ? NULL : llhttp_get_error_pos(&p->_llhttp);
    if (p->stage == OWL_HTTP__COMPLETE)
        return (size_t)(at - in.p);
    if (p->stage == OWL_HTTP__REFUSED)
        return in.n;
    if (error != HPE_OK) {
        refuse_syntax(p, error, at && at < in.p + in.n ? at : NULL);
        return in.n;
    }
    /* Names, values and the body were counted as they came; this is about endless white space and
     * extensions of chunks. */
    p->_raw_bytes += in.n;
    size_t head = p->limits->url_bytes + p->limits->header_bytes + RAW_SLACK;
    if (p->stage == OWL_HTTP__HEAD && p->_raw_bytes > head)
        (void)refuse(p, 431, "The headers are too long; the limit in bytes is",
                     p->limits->header_bytes);
    else if (p->stage == OWL_HTTP__BODY &&
             p->_raw_bytes / CHUNK_OVERHEAD > head + in.n + p->view.body.n)
        (void)refuse(p, 400, "The chunks of the body say more about themselves than they hold", 0);
    if (p->arena && p->stage != OWL_HTTP__REFUSED && !keep_head(p))
        (void)no_memory(p);
    return in.n;
}

/* transport/http1_write.c - the HTTP server: answers.
 * Threads: the reactor's.
 *
 * Head and body leave in one system call, from where the caller has them; only what the socket does
 * not take is copied and queued. An answer waits for its queue to empty before the next request is
 * looked at, a stream is bounded by the limit: so no peer makes us keep more than one answer.
 *
 * Invariant: nothing here calls the ops. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/block.h"
#include "transport/http1_conn.h"

/* ---- output ---- */

struct unsent {
    uv_write_t write;
    size_t size;    /* of the block */
    size_t counted; /* in c->queued: what is needed of it */
    char data[];
};

static void on_written(uv_write_t *write, int status)
{
    struct unsent *u = OWL_CONTAINER(write, struct unsent, write);
    struct owl_http__conn *c = write->handle->data;
    size_t counted = u->counted;
    owl_block_free(u, u->size);
    if (c->state == OWL_HTTP__CLOSED)
        return;
    c->queued -= counted;
    c->shard->queued -= counted;
    owl_list_del(&c->behind);
    if (c->queued > 0)
        owl_list_add(&c->shard->behind, &c->behind); /* it reads */
    if (status != 0)
        owl_http__close(c);
    else if (c->queued == 0 && c->state == OWL_HTTP__READING)
        owl_http__next(c);
}

/* Peers that do not read must not have all the memory together: those that have read nothing for
 * longest are dropped. */
static void drop_behind(struct owl_http__shard *s)
{
    while (s->queued > s->max_queued && s->behind.next != s->behind.prev)
        owl_http__close(OWL_CONTAINER(s->behind.next, struct owl_http__conn, behind));
}

/* Copies @p len bytes of the @p n pieces, from the byte @p at of them all on. */
static void gather(char *to, const struct iovec *iov, size_t n, size_t at, size_t len)
{
    for (size_t i = 0; i < n && len > 0; i++) {
        size_t jump = at < iov[i].iov_len ? at : iov[i].iov_len;
        size_t part = len < iov[i].iov_len - jump ? len : iov[i].iov_len - jump;
        if (part > 0)
            memcpy(to, (const char *)iov[i].iov_base + jump, part);
        at -= jump;
        to += part;
        len -= part;
    }
}

static bool queue_slice(struct owl_http__conn *c, const struct iovec *iov, size_t n, size_t at,
                        size_t len)
{
    size_t size, counted = sizeof(struct unsent) + len;
    struct unsent *u = owl_block_new(counted, &size);
    if (!u)
        return false;
    u->size = size;
    u->counted = counted;
    gather(u->data, iov, n, at, len);
    uv_buf_t buf = {.base = u->data, .len = len};
    if (uv_write(&u->write, (uv_stream_t *)&c->tcp, &buf, 1, on_written) != 0) {
        owl_block_free(u, size);
        return false;
    }
    c->queued += counted;
    c->shard->queued += counted;
    return true;
}

/* Queues all of the @p n pieces but the first @p at bytes, up to the byte @p end. In slices, so that
 * memory goes as the peer reads, and that it does is seen. */
static int queue(struct owl_http__conn *c, const struct iovec *iov, size_t n, size_t at, size_t end)
{
    const size_t most = OWL_HTTP__SLICE_BYTES - sizeof(struct unsent);
    for (size_t len; at < end; at += len) {
        len = end - at < most ? end - at : most;
        if (!queue_slice(c, iov, n, at, len)) {
            owl_http__close(c);
            return -OWL_ECLOSED;
        }
    }
    if (owl_list_empty(&c->behind))
        owl_list_add(&c->shard->behind, &c->behind);
    drop_behind(c->shard);
    return c->state == OWL_HTTP__CLOSED ? -OWL_ECLOSED : 0;
}

/* Small pieces are gathered first: copying them costs less than having the kernel gather them. */
static ssize_t send_once(int fd, struct iovec *iov, size_t n, size_t total)
{
    enum { SMALL = 4096 };
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    if (total <= SMALL) {
        char gathered[SMALL];
        size_t at = 0;
        for (size_t i = 0; i < n; at += iov[i++].iov_len)
            memcpy(gathered + at, iov[i].iov_base, iov[i].iov_len);
        return send(fd, gathered, total, flags);
    }
    const struct msghdr msg = {.msg_iov = iov, .msg_iovlen = n};
    return sendmsg(fd, &msg, flags);
}

/* As much as the socket takes; a negative errno is fatal. */
static ssize_t send_now(const struct owl_http__conn *c, struct iovec *iov, size_t n, size_t total)
{
    ssize_t sent;
    do {
        sent = send_once(c->fd, iov, n, total);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? 0 : -errno;
}

int owl_http__send_raw(struct owl_http__conn *c, struct iovec *iov, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += iov[i].iov_len;
    ssize_t sent = c->queued == 0 ? send_now(c, iov, n, total) : 0;
    if (sent < 0) {
        owl_http__close(c);
        return -OWL_ECLOSED;
    }
    if ((size_t)sent == total)
        return 0;
    return queue(c, iov, n, (size_t)sent, total);
}

int owl_http__send(struct owl_http__conn *c, struct iovec *iov, size_t n)
{
    return OWL_UNLIKELY(c->tls) ? owl_http__tls_send(c, iov, n) : owl_http__send_raw(c, iov, n);
}

static struct iovec iov_of(owl_str s)
{
    union {
        const char *from;
        void *to; /* sendmsg() does not write to it */
    } p = {s.p};
    return (struct iovec){.iov_base = p.to, .iov_len = s.n};
}

/* ---- heads ---- */

struct head {
    size_t n;
    char p[512];
};

static void put(struct head *h, owl_str s)
{
    OWL_ASSERT(s.n <= sizeof(h->p) - h->n);
    memcpy(h->p + h->n, s.p, s.n);
    h->n += s.n;
}

static void put_number(struct head *h, size_t v, unsigned base)
{
    char digits[24];
    size_t at = sizeof(digits);
    do {
        digits[--at] = "0123456789abcdef"[v % base];
        v /= base;
    } while (v > 0);
    put(h, (owl_str){digits + at, sizeof(digits) - at});
}

static owl_str reason(int status)
{
    static const struct {
        int status;
        owl_str text;
    } reasons[] = {
        {200, {"OK", 2}},
        {201, {"Created", 7}},
        {202, {"Accepted", 8}},
        {204, {"No Content", 10}},
        {304, {"Not Modified", 12}},
        {400, {"Bad Request", 11}},
        {401, {"Unauthorized", 12}},
        {403, {"Forbidden", 9}},
        {404, {"Not Found", 9}},
        {405, {"Method Not Allowed", 18}},
        {406, {"Not Acceptable", 14}},
        {408, {"Request Timeout", 15}},
        {409, {"Conflict", 8}},
        {413, {"Content Too Large", 17}},
        {414, {"URI Too Long", 12}},
        {415, {"Unsupported Media Type", 22}},
        {417, {"Expectation Failed", 18}},
        {429, {"Too Many Requests", 17}},
        {431, {"Request Header Fields Too Large", 31}},
        {499, {"Client Closed Request", 21}},
        {500, {"Internal Server Error", 21}},
        {501, {"Not Implemented", 15}},
        {502, {"Bad Gateway", 11}},
        {503, {"Service Unavailable", 19}},
        {504, {"Gateway Timeout", 15}},
        {505, {"HTTP Version Not Supported", 26}},
    };
    for (size_t i = 0; i < OWL_COUNT(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].text;
    }
    return OWL_STR("");
}

/* The Date line, made once a second. Not by strftime(), which follows the host program's locale. */
static owl_str date_line(struct owl_http__shard *s)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t now = time(NULL);
    if (now != s->date_at) {
        struct tm t = {0};
        (void)gmtime_r(&now, &t);
        (void)snprintf(s->date, sizeof(s->date),
                       "Date: %.3s, %02u %.3s %04u %02u:%02u:%02u GMT\r\n", days + 3 * t.tm_wday,
                       (unsigned)t.tm_mday % 100, months + 3 * t.tm_mon,
                       (unsigned)(t.tm_year + 1900) % 10000, (unsigned)t.tm_hour % 100,
                       (unsigned)t.tm_min % 100, (unsigned)t.tm_sec % 100);
        s->date_at = now;
    }
    return (owl_str){s->date, sizeof "Date: Sun, 01 Jan 2026 00:00:00 GMT\r\n" - 1};
}

static bool last_answer(const struct owl_http__conn *c)
{
    return !c->parse.keep_alive || c->shard->draining;
}

/* Status line, Date, Content-Type and Connection. */
static void head_begin(struct head *h, struct owl_http__conn *c, int status, const char *type)
{
    h->n = 0;
    OWL_ASSERT(status >= 100 && status <= 999);
    if (OWL_LIKELY(status == 200)) {
        put(h, OWL_STR("HTTP/1.1 200 OK\r\n"));
    } else {
        put(h, OWL_STR("HTTP/1.1 "));
        put_number(h, (size_t)status, 10);
        put(h, OWL_STR(" "));
        put(h, reason(status));
        put(h, OWL_STR("\r\n"));
    }
    put(h, date_line(c->shard));
    if (type) {
        put(h, OWL_STR("Content-Type: "));
        put(h, owl_str_of(type));
        put(h, OWL_STR("\r\n"));
    }
    if (last_answer(c))
        put(h, OWL_STR("Connection: close\r\n"));
    else if (c->parse.http10)
        put(h, OWL_STR("Connection: keep-alive\r\n"));
}

void owl_http_add_headers(struct owl_http_req *req, owl_str lines)
{
    req->more = lines;
}

/* ---- whole answers ---- */

/* The answer is complete, sent or queued: the connection goes on or ends. */
static void answered(struct owl_http__conn *c)
{
    bool last = last_answer(c);
    c->open = c->shown = false;
    c->req.more = (owl_str){NULL, 0};
    owl_http__parse_reset(&c->parse);
    if (c->state == OWL_HTTP__CLOSED)
        return;
    c->state = OWL_HTTP__READING;
    if (last)
        owl_http__linger(c);
    else if (!c->serving)
        owl_http__next(c);
}

static void send_reply(struct owl_http__conn *c, const struct owl_http_reply *r)
{
    struct head h;
    bool no_length = r->status == 204 || r->status == 304;
    bool no_body = no_length || c->parse.view.method == OWL_HTTP_HEAD;
    head_begin(&h, c, r->status, r->content_type);
    if (!no_length) {
        put(&h, OWL_STR("Content-Length: "));
        put_number(&h, r->body.n, 10);
        put(&h, OWL_STR("\r\n"));
    }
    struct iovec iov[5];
    size_t n = 0;
    bool more = r->headers.n > 0 || c->req.more.n > 0;
    if (!more)
        put(&h, OWL_STR("\r\n"));
    iov[n++] = iov_of((owl_str){h.p, h.n});
    if (c->req.more.n > 0)
        iov[n++] = iov_of(c->req.more);
    if (r->headers.n > 0)
        iov[n++] = iov_of(r->headers);
    if (more)
        iov[n++] = iov_of(OWL_STR("\r\n"));
    if (!no_body && r->body.n > 0)
        iov[n++] = iov_of(r->body);
    OWL_IGNORE(owl_http__send(c, iov, n)); /* a failure has closed the connection */
}

void owl_http_reply(struct owl_http_req *req, const struct owl_http_reply *reply)
{
    struct owl_http__conn *c = req->conn;
    OWL_ASSERT(c->open && c->state != OWL_HTTP__STREAM);
    if (c->parse.stage == OWL_HTTP__BODY) /* where the next request begins is not known */
        c->parse.keep_alive = false;
    if (c->state != OWL_HTTP__CLOSED)
        send_reply(c, reply);
    answered(c);
}

void owl_http__refuse(struct owl_http__conn *c, const struct owl_http__refusal *why)
{
    char text[256];
    int n = snprintf(text, sizeof(text), "%s%s%s", why->why, why->detail ? ": " : "",
                     why->detail ? why->detail : "");
    size_t at = n < 0 ? 0 : (size_t)n < sizeof(text) - 32 ? (size_t)n : sizeof(text) - 32;
    n = why->limit > 0 ? snprintf(text + at, sizeof(text) - at, " %zu.\n", why->limit)
                       : snprintf(text + at, sizeof(text) - at, ".\n");
    c->parse.keep_alive = false;
    send_reply(c, &(struct owl_http_reply){
                      .status = why->status,
                      .content_type = "text/plain; charset=utf-8",
                      .body = {text, at + (size_t)(n < 0 ? 0 : n)},
                  });
    answered(c);
}

void owl_http__continue(struct owl_http__conn *c)
{
    struct iovec iov = iov_of(OWL_STR("HTTP/1.1 100 Continue\r\n\r\n"));
    OWL_IGNORE(owl_http__send(c, &iov, 1)); /* a failure has closed the connection */
}

/* ---- streams ---- */

void owl_http_stream_begin(struct owl_http_req *req, owl_str headers)
{
    struct owl_http__conn *c = req->conn;
    OWL_ASSERT(c->open && c->state != OWL_HTTP__STREAM);
    OWL_ASSERT(c->parse.stage == OWL_HTTP__COMPLETE);
    if (c->state == OWL_HTTP__CLOSED)
        return;
    c->state = OWL_HTTP__STREAM;
    c->chunked = !c->parse.http10;
    c->bodyless = c->parse.view.method == OWL_HTTP_HEAD;
    if (!c->chunked)
        c->parse.keep_alive = false;
    /* Nothing else would find out that the peer has vanished: streams may be silent for hours. */
    OWL_IGNORE(uv_tcp_keepalive(&c->tcp, 1, 60));

    struct head h;
    head_begin(&h, c, 200, "text/event-stream");
    put(&h, OWL_STR("Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n"));
    if (c->chunked)
        put(&h, OWL_STR("Transfer-Encoding: chunked\r\n"));
    struct iovec iov[] = {
        iov_of((owl_str){h.p, h.n}),
        iov_of(c->req.more.p ? c->req.more : OWL_STR("")),
        iov_of(headers),
        iov_of(OWL_STR("\r\n")),
    };
    OWL_IGNORE(owl_http__send(c, iov, OWL_COUNT(iov))); /* a failure has closed the connection */
    if (!c->serving)
        owl_http__parse_release(&c->parse);
    owl_http__await(c);
}

int owl_http_stream_write(struct owl_http_req *req, owl_str bytes)
{
    struct owl_http__conn *c = req->conn;
    if (c->state == OWL_HTTP__CLOSED)
        return -OWL_ECLOSED;
    OWL_ASSERT(c->state == OWL_HTTP__STREAM);
    if (bytes.n == 0 || c->bodyless)
        return 0;
    /* A peer that has read everything so far may be sent one piece of any length. */
    if (c->queued > 0 && c->queued + bytes.n > c->shard->http->limits.queue_bytes) {
        owl_http__close(c);
        return -OWL_ELIMIT;
    }
    owl_http__spoke(c);
    if (c->chunked) {
        struct head h = {.n = 0};
        put_number(&h, bytes.n, 16);
        put(&h, OWL_STR("\r\n"));
        struct iovec iov[] = {
            iov_of((owl_str){h.p, h.n}),
            iov_of(bytes),
            iov_of(OWL_STR("\r\n")),
        };
        return owl_http__send(c, iov, OWL_COUNT(iov));
    }
    struct iovec iov = iov_of(bytes);
    return owl_http__send(c, &iov, 1);
}

void owl_http_stream_end(struct owl_http_req *req)
{
    struct owl_http__conn *c = req->conn;
    OWL_ASSERT(c->open);
    if (c->state != OWL_HTTP__CLOSED) {
        OWL_ASSERT(c->state == OWL_HTTP__STREAM);
        if (c->chunked && !c->bodyless) {
            struct iovec iov = iov_of(OWL_STR("0\r\n\r\n"));
            OWL_IGNORE(owl_http__send(c, &iov, 1)); /* a failure has closed the connection */
        }
    }
    answered(c);
}

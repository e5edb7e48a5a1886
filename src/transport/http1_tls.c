/* transport/http1_tls.c - the HTTP server: TLS between the socket and the requests.
 * Threads: the reactor's.
 *
 * Input is deciphered a record at a time into the reactor's one buffer and taken from there like
 * plain input. Output is sealed slice by slice into another and sent, or queued, like plain output.
 * Handshakes are costly, so each needs a leave to go on: only so many are given a turn of the loop,
 * the others are not even read and wait in line.
 *
 * Invariant: shard->sealed is empty whenever another connection may use it. */
#include "base/alloc.h"
#include "transport/http1_conn.h"

/* ---- output ---- */

static int broken(struct owl_http__conn *c)
{
    owl_buf_reset(&c->shard->sealed);
    owl_http__close(c);
    return -OWL_ECLOSED;
}

static int flush(struct owl_http__conn *c)
{
    struct owl_buf *b = &c->shard->sealed;
    struct iovec iov = {.iov_base = b->p, .iov_len = b->n};
    int rc = b->n > 0 ? owl_http__send_raw(c, &iov, 1) : 0;
    owl_buf_reset(b);
    return rc;
}

static int seal(struct owl_http__conn *c, owl_str bytes)
{
    while (bytes.n > 0) {
        size_t n = bytes.n < OWL_HTTP__SLICE_BYTES ? bytes.n : OWL_HTTP__SLICE_BYTES;
        if (owl_tls_write(c->tls, (owl_str){bytes.p, n}) != 0)
            return broken(c);
        int rc = flush(c);
        if (rc != 0)
            return rc;
        bytes = (owl_str){bytes.p + n, bytes.n - n};
    }
    return 0;
}

int owl_http__tls_send(struct owl_http__conn *c, const struct iovec *iov, size_t n)
{
    char record[OWL_HTTP__RECORD_BYTES];
    size_t total = 0, at = 0;
    int rc = 0;
    for (size_t i = 0; i < n; i++)
        total += iov[i].iov_len;
    if (total > sizeof(record)) {
        for (size_t i = 0; i < n && rc == 0; i++)
            rc = seal(c, (owl_str){iov[i].iov_base, iov[i].iov_len});
        return rc;
    }
    /* One record costs less than several. */
    for (size_t i = 0; i < n; at += iov[i++].iov_len) {
        if (iov[i].iov_len > 0)
            memcpy(record + at, iov[i].iov_base, iov[i].iov_len);
    }
    return seal(c, (owl_str){record, total});
}

void owl_http__tls_end(struct owl_http__conn *c)
{
    owl_tls_end(c->tls);
    OWL_IGNORE(flush(c)); /* a failure has closed the connection */
}

/* ---- the line of handshakes ---- */

bool owl_http__tls_may_go_on(struct owl_http__conn *c)
{
    struct owl_http__shard *s = c->shard;
    bool leave = c->leave;
    c->leave = false;
    if (leave)
        return true;
    if (s->handshakes >= s->http->limits.handshakes)
        return false;
    s->handshakes++;
    if (!owl_timer_active(&s->turn))
        owl_timer_start(s->reactor, &s->turn, 0);
    return true;
}

void owl_http__tls_line_up(struct owl_http__conn *c)
{
    owl_list_add(&c->shard->line, &c->in_line);
}

void owl_http__tls_turn(struct owl_timer *t)
{
    struct owl_http__shard *s = OWL_CONTAINER(t, struct owl_http__shard, turn);
    s->handshakes = 0;
    while (!owl_list_empty(&s->line) && s->handshakes < s->http->limits.handshakes) {
        struct owl_http__conn *c = OWL_CONTAINER(s->line.next, struct owl_http__conn, in_line);
        owl_list_del(&c->in_line);
        c->leave = true;
        s->handshakes++;
        owl_http__read_continue(c);
    }
    if (s->handshakes > 0)
        owl_timer_start(s->reactor, t, 0);
}

/* ---- input ---- */

/* From now on the connection is a plain one. */
static void strip(struct owl_http__conn *c)
{
    owl_tls_conn_free(c->tls);
    c->tls = NULL;
}

/* The peer is told why, if it can still be. */
static void on_failure(struct owl_http__conn *c)
{
    if (c->state != OWL_HTTP__HANDSHAKE) {
        OWL_IGNORE(flush(c)); /* it is closed in any case */
        owl_http__close(c);
        return;
    }
    if (flush(c) != 0)
        return;
    strip(c);
    owl_http__linger(c);
}

/* A handshake begins with 0x16, a plain request with a letter. */
static bool is_plain_http(owl_str in)
{
    return (in.p[0] >= 'A' && in.p[0] <= 'Z') || (in.p[0] >= 'a' && in.p[0] <= 'z');
}

static void refuse_plain(struct owl_http__conn *c)
{
    strip(c);
    owl_http__refuse(c, &(struct owl_http__refusal){
                            .status = 400, .why = "This port speaks HTTPS, not plain HTTP"});
}

/* What TLS itself has to say. A peer that asks for it without end and never reads is dropped. */
static int flush_own(struct owl_http__conn *c)
{
    size_t n = c->shard->sealed.n;
    if (n > 0 && c->queued > 0 && c->queued + n > c->shard->http->limits.queue_bytes)
        return broken(c);
    return flush(c);
}

/* One record. False: there is no more for now, or nothing more at all. */
static bool take_record(struct owl_http__conn *c)
{
    struct owl_http__shard *s = c->shard;
    ssize_t n = owl_tls_read(c->tls, s->plain, sizeof(s->plain));
    if (n < 0 && n != -OWL_ECLOSED) {
        on_failure(c);
        return false;
    }
    if (flush_own(c) != 0)
        return false;
    if (c->state == OWL_HTTP__HANDSHAKE && owl_tls_established(c->tls)) {
        c->state = OWL_HTTP__READING;
        owl_http__await(c);
    }
    if (n == -OWL_ECLOSED)
        owl_http__end(c, true);
    else if (n > 0)
        owl_http__input(c, (owl_str){s->plain, (size_t)n});
    return n > 0 && c->state != OWL_HTTP__CLOSED && c->state != OWL_HTTP__LINGER;
}

void owl_http__tls_input(struct owl_http__conn *c, owl_str in)
{
    if (in.n == 0)
        return;
    if (!c->greeted && is_plain_http(in)) {
        refuse_plain(c);
        return;
    }
    c->greeted = true;
    owl_tls_feed(c->tls, in);
    while (take_record(c)) {
    }
    if (c->tls)
        owl_tls_feed(c->tls, OWL_STR("")); /* the input is not ours any longer */
}

/* Fuzz the HTTP request parser: bytes in pieces must never break it, nor matter.
 *
 * The first byte of the input sets the size of the pieces. */
#include "base/alloc.h"
#include "transport/http1_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct owl_http_limits limits = {
    .url_bytes = 200, .header_bytes = 1000, .headers = 10, .body_bytes = 1000};

/* The whole connection's worth of requests; how many were complete. */
static unsigned run(owl_str in, size_t step, int *ret_status)
{
    struct owl_http__parse p;
    unsigned complete = 0;
    size_t at = 0;
    *ret_status = 0;
    owl_http__parse_init(&p, &limits);
    while (at < in.n) {
        size_t n = in.n - at < step ? in.n - at : step;
        char *piece = owl_malloc(n);
        if (!piece)
            break;
        memcpy(piece, in.p + at, n);
        size_t used = owl_http__parse_feed(&p, (owl_str){piece, n});
        OWL_ASSERT(used <= n && (used == n || p.stage == OWL_HTTP__COMPLETE));
        at += used;
        owl_free(piece);
        if (p.stage == OWL_HTTP__REFUSED) {
            *ret_status = p.refusal.status;
            OWL_ASSERT(p.refusal.status >= 400 && p.refusal.why);
            break;
        }
        if (p.stage != OWL_HTTP__COMPLETE)
            continue;
        OWL_ASSERT(p.view.path.n > 0 && p.view.body.p && p.view.n_headers <= limits.headers);
        OWL_ASSERT(p.view.body.n <= limits.body_bytes);
        complete++;
        owl_http__parse_reset(&p);
    }
    owl_http__parse_release(&p);
    return complete;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 8192)
        return 0;
    owl_str in = {(const char *)data + 1, size - 1};
    int whole_status, pieces_status;
    unsigned whole = run(in, in.n, &whole_status);
    unsigned pieces = run(in, 1 + data[0] % 16, &pieces_status);
    /* Which fault is seen first may depend on the pieces; whether there is one does not, but for
     * white space, which is only counted from piece to piece. */
    if (pieces_status != 431)
        OWL_ASSERT(whole == pieces && (whole_status == 0) == (pieces_status == 0));
    return 0;
}

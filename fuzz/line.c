/* Fuzz the line splitter: how the bytes are cut into pieces does not matter. The first byte sets
 * the size of the pieces. */
#include "transport/line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX = 64 };

static void on_line(void *user, owl_str line)
{
    OWL_ASSERT(line.n > 0 && line.n <= MAX && !memchr(line.p, '\n', line.n));
    owl_buf_puts(user, line);
    owl_buf_putc(user, '\n');
}

static void on_overlong(void *user)
{
    owl_buf_putz(user, "!\n");
}

static void run(owl_str in, size_t step, struct owl_buf *seen)
{
    static const struct owl_line_ops ops = {.line = on_line, .overlong = on_overlong};
    struct owl_line l;
    owl_line_init(&l, MAX);
    for (size_t at = 0; at < in.n; at += step) {
        size_t n = in.n - at < step ? in.n - at : step;
        OWL_ASSERT(owl_line_feed(&l, (owl_str){in.p + at, n}, &ops, seen) == 0);
    }
    owl_line_done(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct owl_buf whole, pieces;
    if (size < 2)
        return 0;
    owl_str in = {(const char *)data + 1, size - 1};
    owl_buf_init(&whole, SIZE_MAX);
    owl_buf_init(&pieces, SIZE_MAX);
    run(in, in.n, &whole);
    run(in, 1 + data[0] % 32, &pieces);
    OWL_ASSERT(owl_str_eq(owl_buf_str(&whole), owl_buf_str(&pieces)));
    owl_buf_done(&whole);
    owl_buf_done(&pieces);
    return 0;
}

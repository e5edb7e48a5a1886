/* Fuzz the JSON scan: what it accepts yyjson accepts too, walks and compacts, and a compact text is
 * a fixed point. */
#include "codec/scan.h"
#include "base/alloc.h"
#include "codec/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every member down to the fourth level: spans must lie within the text, in order. */
static void walk(owl_str text)
{
    struct owl_span_iter it[4];
    unsigned depth = 0;
    it[0] = owl_span_iter(text);
    for (struct owl_span s;;) {
        if (!owl_span_next(&it[depth], &s)) {
            if (depth-- == 0)
                return;
            continue;
        }
        OWL_ASSERT(s.value.n > 0 && s.value.p >= text.p &&
                   s.value.p + s.value.n <= text.p + text.n);
        if (depth < 3)
            it[++depth] = owl_span_iter(s.value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = owl_malloc(size ? size : 1); /* exactly as long, so that an overrun is seen */
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    owl_str text = {copy, size};
    struct owl_tape tape;
    owl_error err = {0};
    int rc = owl_json_scan_tape(text, OWL_JSON_DEPTH, &tape, &err);
    OWL_ASSERT(rc == 0 || (err.code == -rc && err.message[0]));
    if (rc == 0) {
        struct owl_arena *a = owl_arena_new(0);
        const owl_json *v = NULL;
        OWL_ASSERT(a && owl_json_parse_arena(a, text, &v, NULL) == 0 && v);
        walk(text);
        struct owl_buf once, twice;
        owl_buf_init(&once, SIZE_MAX);
        owl_buf_init(&twice, SIZE_MAX);
        owl_json_compact(&once, text);
        OWL_ASSERT(owl_json_scan(owl_buf_str(&once), OWL_JSON_DEPTH, NULL) == 0);
        owl_json_compact(&twice, owl_buf_str(&once));
        OWL_ASSERT(owl_str_eq(owl_buf_str(&once), owl_buf_str(&twice)));
        owl_buf_done(&once);
        owl_buf_done(&twice);
        owl_arena_free(a);
    }
    owl_free(copy);
    return 0;
}

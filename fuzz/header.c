/* Fuzz the values of mirror headers: what is encoded decodes to itself, hosts and origins never
 * overrun. */
#include "base/alloc.h"
#include "codec/json.h"
#include "mcp/headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct owl_arena *a = owl_arena_new(0);
    char *copy = owl_malloc(size ? size : 1);
    memcpy(copy, data, size);
    owl_str in = {copy, size}, out;
    OWL_IGNORE(owl_mcp_header_decode(a, in, &out, NULL)); /* whatever it says, it returns */
    if (owl_utf8_valid(in)) {
        struct owl_buf b;
        owl_buf_init(&b, SIZE_MAX);
        owl_mcp_header_encode(&b, in);
        OWL_ASSERT(owl_mcp_header_decode(a, owl_buf_str(&b), &out, NULL) == 0);
        OWL_ASSERT(owl_str_eq(out, in));
        owl_buf_done(&b);
    }
    bool host = owl_mcp_host_allowed(in, OWL_STR("example.com"));
    bool origin = owl_mcp_origin_allowed(in, OWL_STR("example.com"));
    OWL_ASSERT(!(host && origin && size)); /* "host" and "scheme://host" exclude each other */
    owl_free(copy);
    owl_arena_free(a);
    return 0;
}

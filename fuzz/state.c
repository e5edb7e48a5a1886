/* Fuzz requestState: only what was sealed opens, and only whole. The input is a text from a client,
 * or (first byte odd) a payload that is sealed, damaged at one place and opened. */
#include "mcp/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char secret[OWL_STATE_KEY_BYTES] = {1, 2, 3};
    struct owl_state_bind bind = {OWL_STR(""), OWL_STR("tools/call"), OWL_STR("x"), OWL_STR("{}")};
    struct owl_state_key key;
    owl_str payload;
    if (size < 3 || owl_state_key_init(&key, secret) != 0)
        return 0;
    struct owl_arena *a = owl_arena_new(0);
    owl_str in = {(const char *)data + 3, size - 3};
    if (data[0] & 1) {
        struct owl_buf text;
        owl_buf_init(&text, SIZE_MAX);
        if (owl_state_seal(&key, &bind, in, 60000, &text) == 0) {
            OWL_ASSERT(owl_state_open(&key, &bind, owl_buf_str(&text), a, &payload, NULL) == 0);
            OWL_ASSERT(owl_str_eq(payload, in));
            size_t at = ((size_t)data[1] << 8 | data[2]) % text.n;
            text.p[at] = (char)(text.p[at] == 'A' ? 'B' : 'A');
            OWL_ASSERT(owl_state_open(&key, &bind, owl_buf_str(&text), a, &payload, NULL) != 0);
        }
        owl_buf_done(&text);
    } else {
        OWL_ASSERT(owl_state_open(&key, &bind, in, a, &payload, NULL) != 0);
    }
    owl_arena_free(a);
    return 0;
}

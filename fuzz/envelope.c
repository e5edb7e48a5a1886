/* Fuzz the envelope: the tape and the walk agree on every message, and a message that is written
 * again reads the same. */
#include "jsonrpc/envelope.h"
#include "codec/json.h"
#include "mcp/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(struct owl_buf *b, const struct owl_rpc_msg *m)
{
    owl_str params = m->params.p ? m->params : OWL_STR("{}");
    if (m->kind == OWL_RPC_REQUEST)
        owl_rpc_begin_request(b, m->id, m->method);
    else
        owl_rpc_begin_notification(b, m->method);
    owl_buf_puts(b, params);
    owl_rpc_end(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    owl_str text = {(const char *)data, size};
    struct owl_tape tape;
    if (owl_json_scan_tape(text, OWL_JSON_DEPTH, &tape, NULL) != 0)
        return 0;
    struct owl_arena *a = owl_arena_new(0);
    struct owl_rpc_msg walked = {0}, taped = {0}, again;
    owl_error e1 = {0}, e2 = {0};
    int rc = owl_rpc_read(a, text, NULL, &walked, &e1);
    OWL_ASSERT(owl_rpc_read(a, text, &tape, &taped, &e2) == rc);
    OWL_ASSERT(strcmp(e1.message, e2.message) == 0 && walked.id.p == taped.id.p);
    if (rc == 0 && walked.method.p) {
        OWL_ASSERT(owl_str_eq(owl_rpc_param(&walked, OWL_STR("arguments")),
                              owl_rpc_param(&taped, OWL_STR("arguments"))));
        struct owl_mcp_meta m1 = {0}, m2 = {0};
        owl_str raw = owl_rpc_param(&taped, OWL_STR("_meta"));
        OWL_ASSERT(owl_str_eq(raw, owl_rpc_param(&walked, OWL_STR("_meta"))));
        int meta = owl_mcp_meta_read(a, raw, NULL, &m1, NULL);
        OWL_ASSERT(owl_mcp_meta_read(a, raw, &tape, &m2, NULL) == meta);
        OWL_ASSERT(m1.client_caps.p == m2.client_caps.p && owl_str_eq(m1.log_level, m2.log_level));
        OWL_ASSERT(owl_str_eq(m1.protocol_version, m2.protocol_version));
        OWL_ASSERT(owl_mcp_caps_have(m1.client_caps, OWL_REV_2026_07_28, "elicitation.form") ==
                   owl_mcp_caps_have(m2.client_caps, OWL_REV_2026_07_28, "elicitation.form"));
        struct owl_buf b;
        owl_buf_init(&b, SIZE_MAX);
        write_again(&b, &taped);
        OWL_ASSERT(owl_json_scan(owl_buf_str(&b), OWL_JSON_DEPTH, NULL) == 0);
        OWL_ASSERT(owl_rpc_read(a, owl_buf_str(&b), NULL, &again, NULL) == 0);
        OWL_ASSERT(again.kind == taped.kind && owl_str_eq(again.id, taped.id) &&
                   owl_str_eq(again.method, taped.method));
        owl_buf_done(&b);
    }
    owl_arena_free(a);
    return 0;
}

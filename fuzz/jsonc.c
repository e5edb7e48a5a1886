/* Fuzz JSON with comments: what is read is JSON, every value stands where its mark says, and any
 * JSON is read as what it is. */
#include "base/alloc.h"
#include "codec/scan.h"
#include "formats/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_faults(const struct owl_faults *f)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct owl_fault *fault = &f->list[i];
        OWL_ASSERT(fault->what.n > 0 && fault->width > 0);
        OWL_ASSERT(fault->at.line > 0 && fault->at.column > 0);
    }
}

/* The tree equals the text, which is proved. */
static void check_equal(owl_str text, owl_str json)
{
    struct owl_tree a, b;
    bool equal = false;
    uint64_t work = UINT64_MAX;
    owl_tree_init(&a, NULL, 0);
    owl_tree_init(&b, NULL, 0);
    OWL_ASSERT(owl_tree_read(&a, text) == 0 && owl_tree_read(&b, json) == 0);
    OWL_ASSERT(owl_tree_equal(&a, 0, &b, 0, &work, &equal) == 0 && equal);
    owl_tree_done(&a);
    owl_tree_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = owl_malloc(size ? size : 1); /* exactly as long, so that an overrun is seen */
    OWL_ASSERT(copy);
    memcpy(copy, data, size);
    owl_str text = {copy, size};
    struct owl_arena *a = owl_arena_new(0);
    struct owl_faults faults = {.arena = a};
    struct owl_reading r = {text, 0, a, &faults, 0, 0};
    struct owl_value *tree = NULL;
    int rc = owl_jsonc_read(&r, &tree);
    OWL_ASSERT(rc == 0 || (rc == -OWL_EPARSE && faults.errors > 0 && !tree));
    check_faults(&faults);
    bool json = owl_json_scan(text, 100, NULL) == 0;
    OWL_ASSERT(!json || (rc == 0 && faults.errors == 0));
    if (rc == 0) {
        struct owl_buf b;
        owl_buf_init(&b, SIZE_MAX);
        owl_value_json(&b, tree, NULL);
        OWL_ASSERT(owl_json_scan(owl_buf_str(&b), OWL_JSON_DEPTH, NULL) == 0);
        if (json)
            check_equal(text, owl_buf_str(&b));
        owl_buf_done(&b);
    }
    owl_arena_free(a);
    owl_free(copy);
    return 0;
}

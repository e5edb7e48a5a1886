/* Fuzz YAML: what is read is JSON, within the limits; what is refused is refused in words, at a
 * place of the text; and JSON is read as what it is. */
#include "base/alloc.h"
#include "codec/scan.h"
#include "formats/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DEPTH = 20, VALUES = 2000 };

static void check_faults(const struct owl_faults *f, owl_str text)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    for (size_t i = 0; i < f->n; i++) {
        const struct owl_fault *fault = &f->list[i];
        OWL_ASSERT(fault->what.n > 0 && fault->width > 0 && fault->at.column > 0);
        OWL_ASSERT(fault->at.line > 0 && fault->at.line <= lines);
    }
}

static void check_tree(const struct owl_value *tree)
{
    size_t n = 0;
    for (const struct owl_value *v = tree; v; v = owl_value_next(tree, v)) {
        OWL_ASSERT(v->at.line > 0 && v->key_at.line > 0);
        n++;
    }
    OWL_ASSERT(n <= VALUES);
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_value_json(&b, tree, NULL);
    OWL_ASSERT(owl_json_scan(owl_buf_str(&b), DEPTH, NULL) == 0);
    owl_buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = owl_malloc(size ? size : 1); /* exactly as long, so that an overrun is seen */
    OWL_ASSERT(copy);
    memcpy(copy, data, size);
    owl_str text = {copy, size};
    struct owl_arena *a = owl_arena_new(0);
    struct owl_faults faults = {.arena = a};
    struct owl_reading r = {text, 0, a, &faults, DEPTH, VALUES};
    struct owl_value *tree = NULL;
    int rc = owl_yaml_read(&r, &tree);
    OWL_ASSERT(rc == 0 || (rc == -OWL_EPARSE && faults.errors > 0 && !tree));
    check_faults(&faults, text);
    if (rc == 0)
        check_tree(tree);
    owl_arena_free(a);
    owl_free(copy);
    return 0;
}

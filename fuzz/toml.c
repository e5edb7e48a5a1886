/* Fuzz the TOML reader: whatever the text, marks are within it, and every fault has its words; what
 * is read without a fault can be written as JSON that is proved, as deep as was allowed. */
#include "base/alloc.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "formats/value.h"

enum { DEPTH = 20, VALUES = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct lines {
    uint32_t n;
    uint32_t *width; /* of each line, in bytes; characters are no more */
};

static struct lines lines_of(owl_str text)
{
    struct lines l = {.n = 1};
    for (size_t i = 0; i < text.n; i++)
        l.n += text.p[i] == '\n';
    l.width = owl_calloc(l.n, sizeof *l.width);
    OWL_ASSERT(l.width);
    for (size_t i = 0, line = 0; i < text.n; i++) {
        if (text.p[i] == '\n')
            line++;
        else
            l.width[line]++;
    }
    return l;
}

/* A fault may stand behind the last character of its line. */
static void check_mark(const struct lines *l, struct owl_mark at)
{
    OWL_ASSERT(at.source == 7 && at.line >= 1 && at.line <= l->n);
    OWL_ASSERT(at.column >= 1 && at.column <= l->width[at.line - 1] + 1);
}

static void check_tree(const struct lines *l, const struct owl_value *root)
{
    uint32_t n = 0;
    for (const struct owl_value *v = root; v; v = owl_value_next(root, v)) {
        check_mark(l, v->at);
        check_mark(l, v->key_at);
        OWL_ASSERT(++n <= VALUES);
        OWL_ASSERT(!v->text.p || v->text.p[v->text.n] == '\0');
        OWL_ASSERT(v->kind != OWL_NODE_NULL);
        if (v->parent && v->parent->kind == OWL_NODE_OBJECT)
            OWL_ASSERT(v->key.p && owl_value_get(v->parent, v->key) == v);
    }
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_value_json(&b, root, NULL);
    OWL_ASSERT(b.rc == 0 && owl_json_scan(owl_buf_str(&b), DEPTH, NULL) == 0);
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
    struct owl_reading r = {.text = text,
                            .source = 7,
                            .arena = a,
                            .faults = &faults,
                            .max_depth = DEPTH,
                            .max_values = VALUES};
    struct owl_value *root = NULL;
    struct lines l = lines_of(text);
    int rc = owl_toml_read(&r, &root);
    OWL_ASSERT(rc == 0 || (rc == -OWL_EPARSE && faults.errors > 0));
    if (rc == 0)
        check_tree(&l, root);
    for (size_t i = 0; i < faults.n; i++) {
        check_mark(&l, faults.list[i].at);
        OWL_ASSERT(faults.list[i].width >= 1 && faults.list[i].what.n > 0);
        OWL_ASSERT(owl_utf8_valid(faults.list[i].what) && owl_utf8_valid(faults.list[i].hint));
    }
    owl_arena_free(a);
    owl_free(l.width);
    owl_free(copy);
    return 0;
}

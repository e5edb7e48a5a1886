/* Fuzz JSON Schema: the first line is a schema, the rest an instance. Verdict and explanation must
 * agree, every failure has its words, and nothing takes longer than its limits allow. */
#include "codec/schema.h"
#include "base/alloc.h"
#include "codec/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const struct owl_schema *s, owl_str instance)
{
    owl_error err = {0};
    bool valid = false;
    struct owl_explanation e = {0};
    struct owl_arena *a = owl_arena_new(0);
    int verdict = owl_schema_validate(s, instance, &valid, &err);
    int words = owl_schema_explain(s, instance, a, &e, &err);
    OWL_ASSERT((verdict == 0 && words == 0) || err.message[0]);
    /* To explain is more work than to judge: the one may end where the other does not. */
    OWL_ASSERT(verdict || words || valid == (e.n == 0));
    for (size_t i = 0; words == 0 && i < e.n; i++)
        OWL_ASSERT(e.violations[i].sentence.n > 0 && e.violations[i].at < instance.n);
    owl_arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    if (!line)
        return 0;
    size_t n = (size_t)(line - data);
    char *schema = owl_malloc(n + 1), *instance = owl_malloc(size - n); /* exactly as long */
    OWL_ASSERT(schema && instance);
    memcpy(schema, data, n);
    memcpy(instance, line + 1, size - n - 1);
    owl_str text = {instance, size - n - 1};
    struct owl_schema_options options = {
        .assert_format = true, .max_work = 100000, .max_match = 2000, .max_memory = 4 << 20};
    struct owl_schema *s = NULL;
    owl_error err = {0};
    int rc = owl_schema_compile((owl_str){schema, n}, &options, &s, &err);
    OWL_ASSERT(rc == 0 || (err.code == -rc && err.message[0]));
    if (rc == 0 && owl_json_scan(text, OWL_JSON_DEPTH, NULL) == 0)
        judge(s, text);
    owl_schema_free(s);
    owl_free(schema);
    owl_free(instance);
    return 0;
}

/* What tests of schemas share. */
#ifndef OWL_UNIT_CODEC_SCHEMAS_H
#define OWL_UNIT_CODEC_SCHEMAS_H

#include "support/test.h"

#include "codec/scan.h"
#include "codec/schema.h"

static inline struct owl_schema *compiled(const char *text)
{
    struct owl_schema *s = NULL;
    owl_error err = {0};
    if (owl_schema_compile(owl_str_of(text), NULL, &s, &err))
        fail_msg("%s: %s", text, err.message);
    return s;
}

static inline bool valid(const char *schema, const char *instance)
{
    struct owl_schema *s = compiled(schema);
    bool ok = false;
    owl_error err = {0};
    assert_int_equal(owl_json_scan(owl_str_of(instance), OWL_JSON_DEPTH, NULL), 0);
    if (owl_schema_validate(s, owl_str_of(instance), &ok, &err))
        fail_msg("%s: %s", instance, err.message);
    owl_schema_free(s);
    return ok;
}

#endif

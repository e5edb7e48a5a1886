/* call/form.c - the schemas of forms that users fill in.
 *
 * Threads: the handler's. A form is a flat object of primitives, for people fill it in; its formats
 * are asserted, for they are all that tells an address from any other text. */
#include "base/err.h"
#include "call/ask.h"
#include "codec/scan.h"

static bool is_primitive(owl_str type)
{
    static const char *const types[] = {"string", "number", "integer", "boolean", "array"};
    for (size_t i = 0; i < OWL_COUNT(types); i++)
        if (owl_span_is_string(type) && owl_span_str_eq(type, owl_str_of(types[i])))
            return true;
    return false;
}

static int check_flat(owl_str schema, owl_error *reterr)
{
    owl_str type = owl_span_get(schema, "type");
    if (!owl_span_is_string(type) || !owl_span_str_eq(type, OWL_STR("object")))
        return owl_fail(reterr, OWL_EINVAL,
                        "requestedSchema must have \"type\":\"object\" at its root");
    owl_str properties = owl_span_get(schema, "properties");
    if (!owl_span_is_object(properties))
        return owl_fail(reterr, OWL_EINVAL, "requestedSchema must have \"properties\", an object");
    struct owl_span_iter it = owl_span_iter(properties);
    for (struct owl_span s; owl_span_next(&it, &s);) {
        owl_str inner = owl_span_is_object(s.value) ? owl_span_get(s.value, "type") : (owl_str){0};
        if (!is_primitive(inner))
            return owl_fail(reterr, OWL_EINVAL,
                            "requestedSchema: the type of \"%.*s\" must be string, number, "
                            "integer, boolean or array: forms are flat",
                            (int)(s.key.n < 80 ? s.key.n : 80), s.key.p);
    }
    return 0;
}

static void free_schema(void *s)
{
    owl_schema_free(s);
}

int owl_form_compile(struct owl_arena *arena, owl_str params, const struct owl_schema **ret,
                     owl_error *reterr)
{
    owl_str text = owl_span_get(params, "requestedSchema");
    if (!owl_span_is_object(text))
        return owl_fail(reterr, OWL_EINVAL, "a form needs a requestedSchema, an object");
    int rc = check_flat(text, reterr);
    if (rc != 0)
        return rc;
    struct owl_schema *s;
    owl_error why;
    rc = owl_schema_compile(text, &(struct owl_schema_options){.assert_format = true}, &s, &why);
    if (rc == -OWL_ENOMEM)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    if (rc != 0)
        return owl_fail(reterr, OWL_EINVAL, "requestedSchema: %s", why.message);
    if (owl_arena_cleanup(arena, free_schema, s)) {
        owl_schema_free(s);
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    }
    *ret = s;
    return 0;
}

/* call/form.c - the schemas of forms that users fill in.
 *
 * Threads: that which has the arena of the call. A form is a flat object of primitives, for people
 * fill it in; its formats are asserted, for they are all that tells an address from any other
 * text. */
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

/* ---- for clients of 2025-06-18 ---- */

/* One property of a form. Revisions after 2025-06-18 have choices of which each has a title, and
 * those of which several may be taken; it has an enum of which one is taken, and enumNames. */
struct choices {
    owl_str list; /* strings, or {"const":…,"title":…}; absent: as it is known to all */
    bool several, titled;
};

static bool is_choice(owl_str v)
{
    return owl_span_is_string(owl_span_is_object(v) ? owl_span_get(v, "const") : v);
}

static struct choices choices_of(owl_str property)
{
    struct choices c = {
        .several = owl_span_str_eq(owl_span_get(property, "type"), OWL_STR("array"))};
    owl_str of = c.several ? owl_span_get(property, "items") : property, list = {NULL, 0};
    if (owl_span_is_object(of))
        list = owl_span_get(of, c.several ? "anyOf" : "oneOf");
    if (owl_span_is_object(of) && c.several && list.n == 0)
        list = owl_span_get(of, "enum");
    struct owl_span_iter it = owl_span_iter(list);
    for (struct owl_span s; owl_span_next(&it, &s);) {
        c.titled = c.titled || owl_span_is_object(s.value);
        if (!is_choice(s.value))
            return c;
    }
    if (owl_span_is_array(list))
        c.list = list;
    return c;
}

/* "<name>":[<what each choice is, or is called>] */
static void put_list(struct owl_buf *b, const char *name, owl_str list, const char *member)
{
    bool first = true;
    owl_buf_putz(b, name);
    struct owl_span_iter it = owl_span_iter(list);
    for (struct owl_span s; owl_span_next(&it, &s); first = false) {
        owl_str v = s.value;
        if (owl_span_is_object(v)) {
            owl_str wanted = owl_span_get(v, member);
            v = owl_span_is_string(wanted) ? wanted : owl_span_get(v, "const");
        }
        owl_buf_putz(b, first ? "" : ",");
        owl_buf_puts(b, v);
    }
    owl_buf_putc(b, ']');
}

static bool is_one_of(const struct owl_span *s, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (owl_span_key_is(s, owl_str_of(names[i])))
            return true;
    return false;
}

static void put_key(struct owl_buf *b, const struct owl_span *s)
{
    owl_buf_putc(b, '"');
    owl_buf_puts(b, s->key);
    owl_buf_putz(b, "\":");
}

static void put_property(struct owl_buf *b, const struct owl_span *member, owl_str about)
{
    (void)about;
    owl_str property = member->value;
    static const char *const one[] = {"type", "oneOf", "enum", "enumNames"};
    static const char *const many[] = {"type",        "items",   "minItems", "maxItems",
                                       "uniqueItems", "default", "enum",     "enumNames"};
    struct choices c = choices_of(property);
    if (!c.list.p) {
        owl_buf_puts(b, property);
        return;
    }
    owl_buf_putz(b, "{\"type\":\"string\"");
    struct owl_span_iter it = owl_span_iter(property);
    for (struct owl_span s; owl_span_next(&it, &s);) {
        if (c.several ? is_one_of(&s, many, OWL_COUNT(many)) : is_one_of(&s, one, OWL_COUNT(one)))
            continue;
        owl_buf_putc(b, ',');
        put_key(b, &s);
        owl_buf_puts(b, s.value);
    }
    put_list(b, ",\"enum\":[", c.list, "const");
    if (c.titled)
        put_list(b, ",\"enumNames\":[", c.list, "title");
    owl_buf_putc(b, '}');
}

typedef void put_fn(struct owl_buf *b, const struct owl_span *member, owl_str about);

/* Copies an object, but for the values that @p put writes: that of @p name, or all. */
static void put_object(struct owl_buf *b, owl_str object, const char *name, put_fn *put,
                       owl_str about)
{
    bool first = true;
    owl_buf_putc(b, '{');
    struct owl_span_iter it = owl_span_iter(object);
    for (struct owl_span s; owl_span_next(&it, &s); first = false) {
        owl_buf_putz(b, first ? "" : ",");
        put_key(b, &s);
        if (!name || owl_span_key_is(&s, owl_str_of(name)))
            put(b, &s, about);
        else
            owl_buf_puts(b, s.value);
    }
    owl_buf_putc(b, '}');
}

static void put_properties(struct owl_buf *b, const struct owl_span *properties, owl_str about)
{
    put_object(b, properties->value, NULL, put_property, about);
}

static void put_schema(struct owl_buf *b, const struct owl_span *schema, owl_str about)
{
    put_object(b, schema->value, "properties", put_properties, about);
}

void owl_form_put_old(struct owl_buf *b, owl_str params)
{
    put_object(b, params, "requestedSchema", put_schema, params);
}

static bool same_key(const struct owl_span *a, const struct owl_span *b)
{
    if (a->escaped && b->escaped)
        return owl_str_eq(a->key, b->key);
    return a->escaped ? owl_span_key_is(a, b->key) : owl_span_key_is(b, a->key);
}

static void put_entered(struct owl_buf *b, const struct owl_span *entered, owl_str properties)
{
    bool list = false;
    struct owl_span_iter it = owl_span_iter(properties);
    for (struct owl_span s; owl_span_is_string(entered->value) && owl_span_next(&it, &s);) {
        if (!same_key(&s, entered))
            continue;
        struct choices c = choices_of(s.value);
        list = c.list.p && c.several;
        break;
    }
    owl_buf_putz(b, list ? "[" : "");
    owl_buf_puts(b, entered->value);
    owl_buf_putz(b, list ? "]" : "");
}

/* For each member the properties are walked: clients are not served with more of that than the form
 * asks for. */
static void put_content(struct owl_buf *b, const struct owl_span *content, owl_str properties)
{
    if (owl_span_is_object(content->value) &&
        owl_span_count(content->value) <= owl_span_count(properties))
        put_object(b, content->value, NULL, put_entered, properties);
    else
        owl_buf_puts(b, content->value);
}

void owl_form_put_answer(struct owl_buf *b, owl_str params, owl_str answer)
{
    owl_str schema = owl_span_get(params, "requestedSchema");
    if (owl_span_is_object(answer))
        put_object(b, answer, "content", put_content, owl_span_get(schema, "properties"));
    else
        owl_buf_puts(b, answer);
}

/* config/coerce.c - texts become what their keys want.
 * Threads: that of the loading.
 *
 * The environment and the command line know texts only. What cannot be read as the type that is
 * wanted stays a text, and is judged as such. */
#include "config/internal.h"

#include "codec/decimal.h"
#include "config/units.h"

static void become(struct owl_value *v, enum owl_node_kind kind)
{
    v->kind = (uint8_t)kind;
    v->form = OWL_FORM_PLAIN;
}

/* JSON's grammar of numbers. */
static bool is_number(owl_str s, bool *ret_integer)
{
    const char *p = s.p, *end = s.p + s.n;
    p += p < end && *p == '-';
    const char *digits = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    if (p == digits || (*digits == '0' && p - digits > 1))
        return false;
    *ret_integer = p == end;
    if (p < end && *p == '.') {
        const char *fraction = ++p;
        while (p < end && *p >= '0' && *p <= '9')
            p++;
        if (p == fraction)
            return false;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '-' || *p == '+');
        const char *exponent = p;
        while (p < end && *p >= '0' && *p <= '9')
            p++;
        if (p == exponent)
            return false;
    }
    return p == end;
}

static bool as_number(struct owl_value *v, unsigned types)
{
    bool integer = false;
    if (!(types & (OWL_KEY__INTEGER | OWL_KEY__NUMBER)) || !is_number(v->text, &integer))
        return false;
    become(v, OWL_NODE_NUMBER);
    return true;
}

static bool as_boolean(struct owl_value *v, unsigned types)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", true}, {"false", false}, {"yes", true}, {"no", false},
                 {"on", true},   {"off", false},   {"1", true},   {"0", false}};
    if (!(types & OWL_KEY__BOOLEAN))
        return false;
    size_t n = types & OWL_KEY__STRING ? 2 : OWL_COUNT(words); /* "no" may be meant as a text */
    for (size_t i = 0; i < n; i++) {
        if (!owl_str_ieq(v->text, owl_str_of(words[i].word)))
            continue;
        become(v, words[i].value ? OWL_NODE_TRUE : OWL_NODE_FALSE);
        v->text = (owl_str){NULL, 0};
        return true;
    }
    return false;
}

/* JSON in a text: it becomes a tree, all of which stands where the text does. */
static int as_json(struct owl_config *c, struct owl_value *v)
{
    struct owl_faults faults = {.arena = c->arena};
    struct owl_reading r = {
        .text = v->text, .source = v->at.source, .arena = c->arena, .faults = &faults};
    struct owl_value *tree = NULL;
    int rc = owl_jsonc_read(&r, &tree);
    if (rc == -OWL_ENOMEM)
        return rc;
    if (rc || faults.errors > 0) {
        /* The reader would quote what it found, which may be a secret. */
        struct owl_mark where = faults.n > 0 ? faults.list[0].at : v->at;
        struct owl_fault *f = owl_fault_add(&c->faults, v->at,
                                            "this is no JSON, from line %u, column %u on",
                                            where.line, where.column);
        become(v, v->text.p[0] == '[' ? OWL_NODE_ARRAY : OWL_NODE_OBJECT);
        v->text = (owl_str){NULL, 0};
        return owl_config__blame(c, v, f);
    }
    struct owl_mark at = v->at, key_at = v->key_at;
    for (struct owl_value *x = tree; x; x = owl_value_next(tree, x))
        x->at = x->key_at = at;
    owl_merge__become(v, tree);
    v->at = at;
    v->key_at = key_at;
    return 0;
}

/* "a, b, c" */
static int as_list(struct owl_config *c, struct owl_value *v, uint32_t key)
{
    owl_str rest = owl_str_trim(v->text), part;
    uint32_t element = owl_keys__of(&c->keys, key)->element;
    become(v, OWL_NODE_ARRAY);
    v->text = (owl_str){NULL, 0};
    while (rest.n > 0 && owl_str_split(&rest, ',', &part)) {
        struct owl_value *e = owl_value_new(c->arena, OWL_NODE_STRING, v->at);
        part = owl_str_trim(part);
        char *text = e ? owl_arena_dup(c->arena, part) : NULL;
        if (!text)
            return -OWL_ENOMEM;
        e->text = (owl_str){text, part.n};
        owl_value_add(v, e);
        unsigned types = element ? owl_keys__of(&c->keys, element)->types : 0;
        if (!as_boolean(e, types))
            as_number(e, types & OWL_KEY__STRING ? 0 : types);
    }
    return 0;
}

int owl_coerce__unit(struct owl_config *c, struct owl_value *v, uint32_t key)
{
    enum owl_key_unit unit = key ? owl_keys__of(&c->keys, key)->unit : OWL_UNIT__NONE;
    if (unit == OWL_UNIT__NONE || v->kind != OWL_NODE_STRING)
        return 0;
    struct owl_buf b;
    owl_buf_init_arena(&b, c->arena, 64);
    if (owl_units__read(v->text, unit, &b)) {
        char *text = owl_arena_dup(c->arena, owl_buf_str(&b));
        if (!text)
            return -OWL_ENOMEM;
        v->text = (owl_str){text, b.n};
        become(v, OWL_NODE_NUMBER);
    }
    return b.rc == -OWL_ENOMEM ? b.rc : 0;
}

int owl_coerce__foreign_time(struct owl_config *c, struct owl_value *v)
{
    enum { FAR = 20 }; /* digits before the point that no time has */
    struct owl_decimal n, limit = owl_decimal_of(OWL_STR("1000"));
    struct owl_buf b;
    if (v->kind != OWL_NODE_NUMBER || v->form == OWL_FORM_NOT_FINITE)
        return 0;
    n = owl_decimal_of(v->text);
    if (owl_decimal_cmp(&n, &limit) < 0 || n.top > FAR)
        return 0;
    int64_t point = n.top - 3, i = 0;
    owl_buf_init_arena(&b, c->arena, (size_t)n.digits + FAR + 2);
    for (const char *p = n.p; p < n.end; p++) {
        if (*p == '.')
            continue;
        if (i++ == point)
            owl_buf_putc(&b, '.');
        owl_buf_putc(&b, *p);
    }
    for (; i < point; i++)
        owl_buf_putc(&b, '0');
    owl_buf_putc(&b, '\0');
    if (b.rc)
        return -OWL_ENOMEM;
    v->text = (owl_str){b.p, b.n - 1};
    return 0;
}

int owl_coerce__text(struct owl_config *c, struct owl_value *v, uint32_t key)
{
    if (!key || v->kind != OWL_NODE_STRING)
        return 0;
    unsigned types = owl_keys__of(&c->keys, key)->types;
    char first = v->text.n > 0 ? v->text.p[0] : '\0';
    if (as_boolean(v, types) || as_number(v, types & OWL_KEY__STRING ? 0 : types))
        return 0;
    if ((types & OWL_KEY__NULL) && owl_str_is(v->text, "null")) {
        become(v, OWL_NODE_NULL);
        v->text = (owl_str){NULL, 0};
        return 0;
    }
    if ((first == '[' && (types & OWL_KEY__ARRAY)) || (first == '{' && (types & OWL_KEY__OBJECT)))
        return as_json(c, v);
    if ((types & OWL_KEY__ARRAY) && !(types & OWL_KEY__STRING))
        return as_list(c, v, key);
    return owl_coerce__unit(c, v, key);
}

/* registry/mirror.c - the `x-mcp-header` annotations of a schema.
 * Threads: pure.
 *
 * A walk over every schema within the schema, with a stack of its own. Invariants: a frame is an
 * object or array of the proved text, hence there are never more of them than that may nest; the
 * frames up to one that is `plain` are schema, properties, schema, properties and so on. */
#include "registry/mirror.h"

#include <stdio.h>

#include "base/err.h"
#include "codec/json.h"
#include "codec/scan.h"

enum { MAX_HEADERS = 64, MAX_PATH = 16 };

#define ANNOTATION "x-mcp-header"

enum shape {
    SCHEMA,  /* members are keywords */
    SCHEMAS, /* members are schemas under names of their own */
    ELEMENTS /* of an array: schemas, maybe */
};

struct frame {
    struct owl_span_iter it;
    enum shape shape;
    bool plain; /* reached through `properties` alone */
    owl_str text;
    owl_str key; /* as written; absent for the root and elements */
};

struct walk {
    struct owl_arena *arena;
    owl_error *reterr;
    size_t n_frames, n_found;
    struct frame frames[OWL_ITEM__JSON_DEPTH];
    struct owl_item_header found[MAX_HEADERS];
};

static void push(struct walk *w, struct frame f)
{
    OWL_ASSERT(w->n_frames < OWL_COUNT(w->frames));
    f.it = owl_span_iter(f.text);
    w->frames[w->n_frames++] = f;
}

/* "#/properties/region" of the innermost frame; the beginning of it, if it is long. */
struct place {
    char z[80];
};

static struct place place_of(const struct walk *w)
{
    struct place p = {"#"};
    size_t n = 1;
    for (size_t i = 1; i < w->n_frames && n < sizeof p.z; i++) {
        owl_str key = w->frames[i].key;
        int add = key.p ? snprintf(p.z + n, sizeof p.z - n, "/%.*s", (int)key.n, key.p) : 0;
        n += add > 0 ? (size_t)add : 0;
    }
    return p;
}

static int refuse(const struct walk *w, const char *why)
{
    return owl_fail(w->reterr, OWL_EINVAL, ANNOTATION " of %s: %s", place_of(w).z, why);
}

/* ---- one annotation -------------------------------------------------------------------------- */

static bool is_token(owl_str s)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                    memchr(marks, c, sizeof marks - 1);
        if (!good)
            return false;
    }
    return s.n > 0;
}

/* Whether its values can stand in a header. */
static bool is_scalar(owl_str schema)
{
    static const owl_str names[] = {{"string", 6}, {"integer", 7}, {"boolean", 7}};
    owl_str type = owl_span_get(schema, "type");
    for (size_t i = 0; i < OWL_COUNT(names); i++)
        if (owl_span_str_eq(type, names[i]))
            return true;
    return false;
}

static int read_name(struct walk *w, owl_str json, owl_str *ret)
{
    if (owl_json_decode(w->arena, json, ret))
        return owl_fail(w->reterr, OWL_ENOMEM, NULL);
    if (!is_token(*ret)) /* nor is what was no string */
        return refuse(w, "must be a name that a header can have, such as \"Region\"");
    for (size_t i = 0; i < w->n_found; i++) {
        if (owl_str_ieq(w->found[i].name, *ret))
            return refuse(w, "is the name of another one too; case makes no difference");
    }
    return 0;
}

/* The names of the properties on the way to the innermost frame. */
static int read_path(struct walk *w, struct owl_item_header *h)
{
    size_t n = w->n_frames / 2;
    if (n > MAX_PATH)
        return refuse(w, "is nested too deeply; 16 levels are possible");
    owl_str *path = owl_arena_alloc(w->arena, n * sizeof *path);
    if (!path)
        return owl_fail(w->reterr, OWL_ENOMEM, NULL);
    for (size_t i = 0; i < n; i++) {
        owl_str key = w->frames[2 * (i + 1)].key;
        owl_str literal = {key.p - 1, key.n + 2}; /* with its quotes, which are in the text */
        if (owl_json_decode(w->arena, literal, &path[i]))
            return owl_fail(w->reterr, OWL_ENOMEM, NULL);
    }
    h->path = path;
    h->n_path = n;
    return 0;
}

static int take_annotation(struct walk *w, owl_str value)
{
    const struct frame *top = &w->frames[w->n_frames - 1];
    struct owl_item_header h = {0};
    if (!top->plain)
        return refuse(w, "is not reached through \"properties\" alone");
    if (!is_scalar(top->text))
        return refuse(w, "is for the types \"string\", \"integer\" and \"boolean\" only");
    if (w->n_found == MAX_HEADERS)
        return refuse(w, "is one too many; 64 are possible");
    int rc = read_name(w, value, &h.name);
    if (rc == 0)
        rc = read_path(w, &h);
    if (rc == 0)
        w->found[w->n_found++] = h;
    return rc;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool is_one_of(const struct owl_span *key, const owl_str *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (owl_span_key_is(key, names[i]))
            return true;
    }
    return false;
}

static bool holds_data(const struct owl_span *keyword)
{
    static const owl_str names[] = {{"const", 5}, {"default", 7}, {"enum", 4}, {"examples", 8}};
    return is_one_of(keyword, names, OWL_COUNT(names));
}

static bool holds_schemas(const struct owl_span *keyword)
{
    static const owl_str names[] = {
        {"properties", 10},       {"$defs", 5},        {"patternProperties", 17},
        {"dependentSchemas", 16}, {"definitions", 11}, {"dependencies", 12},
    };
    return is_one_of(keyword, names, OWL_COUNT(names));
}

/* One member or element of the innermost frame. */
static int visit(struct walk *w, const struct owl_span *s)
{
    const struct frame *top = &w->frames[w->n_frames - 1];
    struct frame f = {.shape = SCHEMA, .text = s->value, .key = s->key};
    if (top->shape == SCHEMA) {
        if (owl_span_key_is(s, OWL_STR(ANNOTATION)))
            return take_annotation(w, s->value);
        if (holds_data(s))
            return 0;
        if (holds_schemas(s))
            f.shape = SCHEMAS;
        f.plain = top->plain && owl_span_key_is(s, OWL_STR("properties"));
    } else {
        f.plain = top->plain;
    }
    if (owl_span_is_array(s->value)) {
        f.shape = ELEMENTS;
        f.plain = false;
    }
    if (owl_span_is_object(s->value) || owl_span_is_array(s->value))
        push(w, f);
    return 0;
}

int owl_item__headers(struct owl_arena *a, owl_str schema, const struct owl_item_header **ret,
                      size_t *ret_n, owl_error *reterr)
{
    struct walk w = {.arena = a, .reterr = reterr};
    push(&w, (struct frame){.shape = SCHEMA, .plain = true, .text = schema});
    while (w.n_frames > 0) {
        struct owl_span s;
        if (!owl_span_next(&w.frames[w.n_frames - 1].it, &s)) {
            w.n_frames--;
            continue;
        }
        int rc = visit(&w, &s);
        if (rc != 0)
            return rc;
    }
    struct owl_item_header *found = NULL;
    if (w.n_found > 0) {
        found = owl_arena_alloc(a, w.n_found * sizeof *found);
        if (!found)
            return owl_fail(reterr, OWL_ENOMEM, NULL);
        memcpy(found, w.found, w.n_found * sizeof *found);
    }
    *ret = found;
    *ret_n = w.n_found;
    return 0;
}

/* Unit tests of config/schema.json: what the published schema says of itself is so. */
#include "support/test.h"

#include "base/buf.h"
#include "codec/scan.h"
#include "codec/schema.h"
#include "codec/tree.h"

#include <stdio.h>

static char text[1 << 18];

/* The published schema; tests are run at the root of the project. */
static owl_str published(void)
{
    FILE *f = fopen("src/config/schema.json", "rb");
    if (!f)
        skip();
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    assert_true(n < sizeof text);
    assert_int_equal(owl_json_scan((owl_str){text, n}, OWL_JSON_DEPTH, NULL), 0);
    return (owl_str){text, n};
}

static struct owl_schema *compiled(owl_str schema, const struct owl_schema_registry *registry)
{
    struct owl_schema *s = NULL;
    owl_error err = {0};
    const struct owl_schema_options options = {.registry = registry};
    if (owl_schema_compile(schema, &options, &s, &err))
        fail_msg("%.*s: %s", schema.n < 80 ? (int)schema.n : 80, schema.p, err.message);
    return s;
}

/* Fails with what is wrong with @p instance. */
static void must_fit(const struct owl_schema *s, owl_str instance, const char *where)
{
    struct owl_arena *a = owl_arena_new(1 << 20);
    struct owl_explanation why;
    owl_error err = {0};
    assert_int_equal(owl_schema_explain(s, instance, a, &why, &err), 0);
    if (why.n > 0)
        fail_msg("%s: %s", where, why.violations[0].sentence.p);
    owl_arena_free(a);
}

TEST(the_schema_is_one_of_2020_12_and_compiles, "")
{
    owl_str schema = published();
    struct owl_schema *meta = compiled(
        OWL_STR("{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}"), NULL);
    must_fit(meta, schema, "schema.json");
    owl_schema_free(meta);
    owl_schema_free(compiled(schema, NULL));
}

/* ---- defaults and examples ------------------------------------------------------------------ */

/* Where a walk through the schema is: an object or array that is not finished. */
struct level {
    uint32_t node, next;
    size_t path;    /* bytes of the pointer before this level's own step */
    bool names;     /* its members are names of keys, not keywords */
    unsigned index; /* of the next element */
};

struct walk {
    struct owl_tree tree;
    struct owl_schema_registry *registry;
    struct owl_buf path;
    struct level levels[OWL_JSON_DEPTH];
    unsigned n, judged;
};

/* A value as it is written, quotes and all. */
static owl_str source(const struct owl_tree *t, uint32_t node)
{
    owl_str s = owl_tree_text(t, node);
    return t->nodes[node].kind == OWL_NODE_STRING ? (owl_str){s.p - 1, s.n + 2} : s;
}

/* The value must fit the schema that the walk is in. */
static void judge(struct walk *w, uint32_t node)
{
    char reference[1024];
    snprintf(reference, sizeof reference, "{\"$ref\":\"urn:owlclaw:config#%.*s\"}", (int)w->path.n,
             w->path.p);
    struct owl_schema *s = compiled(owl_str_of(reference), w->registry);
    must_fit(s, source(&w->tree, node), reference);
    owl_schema_free(s);
    w->judged++;
}

static void enter(struct walk *w, uint32_t node, size_t path, bool names)
{
    assert_true(w->n < OWL_COUNT(w->levels));
    w->levels[w->n++] = (struct level){node, node + 1, path, names, 0};
}

static void keyword(struct walk *w, uint32_t key, uint32_t value)
{
    static const char *const schemas[] = {"properties", "$defs"};
    const struct owl_tree *t = &w->tree;
    const bool names = w->levels[w->n - 1].names;
    size_t path = w->path.n;
    if (!names && owl_tree_is(t, key, OWL_STR("default"))) {
        judge(w, value);
    } else if (!names && owl_tree_is(t, key, OWL_STR("examples"))) {
        for (uint32_t e = value + 1; e < t->nodes[value].next; e = t->nodes[e].next)
            judge(w, e);
    } else if (t->nodes[value].kind >= OWL_NODE_ARRAY) {
        bool within = false;
        for (size_t i = 0; i < OWL_COUNT(schemas); i++)
            within = within || (!names && owl_tree_is(t, key, owl_str_of(schemas[i])));
        owl_str step = owl_tree_text(t, key);
        owl_buf_printf(&w->path, "/%.*s", (int)step.n, step.p);
        enter(w, value, path, within);
    }
}

/* One member, one element, or the end of a level. */
static void step(struct walk *w)
{
    struct level *l = &w->levels[w->n - 1];
    const struct owl_tree *t = &w->tree;
    if (l->next >= t->nodes[l->node].next) {
        w->path.n = l->path;
        w->n--;
        return;
    }
    uint32_t at = l->next;
    if (t->nodes[l->node].kind == OWL_NODE_OBJECT) {
        l->next = t->nodes[at + 1].next;
        keyword(w, at, at + 1);
        return;
    }
    size_t path = w->path.n;
    unsigned index = l->index++;
    l->next = t->nodes[at].next;
    if (t->nodes[at].kind == OWL_NODE_OBJECT) {
        owl_buf_printf(&w->path, "/%u", index);
        enter(w, at, path, false);
    }
}

TEST(every_default_and_every_example_fits_its_key, "")
{
    struct walk w = {.registry = owl_schema_registry_new()};
    owl_str schema = published();
    owl_error err = {0};
    owl_buf_init(&w.path, 1000);
    owl_tree_init(&w.tree, NULL, 0);
    assert_int_equal(owl_schema_registry_add(w.registry, OWL_STR(""), schema, &err), 0);
    assert_int_equal(owl_tree_read(&w.tree, schema), 0);
    enter(&w, 0, 0, false);
    while (w.n > 0)
        step(&w);
    assert_true(w.judged > 100);
    owl_tree_done(&w.tree);
    owl_buf_done(&w.path);
    owl_schema_registry_free(w.registry);
}

/* ---- limits --------------------------------------------------------------------------------- */

static uint32_t member(const struct owl_tree *t, uint32_t node, const char *path)
{
    owl_str rest = owl_str_of(path), name;
    while (owl_str_split(&rest, '/', &name)) {
        node = owl_tree_get(t, node, name);
        if (!node)
            fail_msg("there is no %s", path);
    }
    return node;
}

static void must_say(const struct owl_tree *t, uint32_t key, const char *keyword, uint64_t value)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)value);
    owl_str found = owl_tree_text(t, member(t, key, keyword));
    if (!owl_str_is(found, wanted))
        fail_msg("%s is %.*s instead of %s", keyword, (int)found.n, found.p, wanted);
}

/* A limit that means something else when it is set has its default in its description. */
static void must_default(const struct owl_tree *t, uint32_t key, const char *name, uint64_t value)
{
    char words[64];
    owl_str about = owl_tree_text(t, member(t, key, "description"));
    if (strcmp(name, "connections_per_peer") != 0) {
        must_say(t, key, "default", value);
        return;
    }
    snprintf(words, sizeof words, "Without it %llu, and", (unsigned long long)value);
    assert_non_null(memmem(about.p, about.n, words, strlen(words)));
    assert_int_equal(owl_tree_get(t, key, OWL_STR("default")), 0);
}

TEST(limits_are_those_of_the_library, "")
{
    struct owl_tree t;
    owl_tree_init(&t, NULL, 0);
    assert_int_equal(owl_tree_read(&t, published()), 0);
    uint32_t limits = member(&t, 0, "$defs/limits/properties");
    unsigned n = 0;
#define OWL_LIMIT_ROW(name, value, least, most, words) \
    must_default(&t, member(&t, limits, #name), #name, value); \
    must_say(&t, member(&t, limits, #name), "minimum", least); \
    must_say(&t, member(&t, limits, #name), "maximum", most); \
    n++;
#include "tbl/limits.h"
    assert_int_equal(t.nodes[limits].count, n);
    owl_tree_done(&t);
}

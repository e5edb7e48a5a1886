/* codec/schema/load.c - documents of a schema: which resources and anchors they hold, and where
 * references lead.
 * Threads: the one that compiles.
 *
 * A document is looked through once, schema by schema, when it is loaded: an "$id" in a place where
 * no schema can be (an enum, an unknown keyword) names nothing. */
#include "codec/schema/program.h"

#include "base/buf.h"
#include "base/err.h"
#include "codec/text.h"
#include "codec/uri.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    D20 = 1 << OWL_SCHEMA_2020_12,
    D19 = 1 << OWL_SCHEMA_2019_09,
    D07 = 1 << OWL_SCHEMA_DRAFT_07
};
enum { ANY = D20 | D19 | D07 };

const struct owl_keyword owl_keywords[OWL_KW__N] = {
#define X(id, name, drafts, vocabulary, schemas) \
    {name, drafts, OWL_VOC_##vocabulary, OWL_SUB_##schemas},
    OWL_KEYWORDS(X)
#undef X
};

int owl_keyword__find(const struct owl_tree *t, uint32_t key, struct owl_dialect d)
{
    owl_str s = owl_tree_text(t, key);
    char decoded[160]; /* the longest keyword, every letter of it escaped */
    if (s.n >= sizeof decoded)
        return -1;
    int low = 0, high = OWL_KW__N - 1;
    decoded[owl_text__decode(s, decoded)] = '\0';
    while (low <= high) {
        int middle = (low + high) / 2;
        int order = strcmp(decoded, owl_keywords[middle].name);
        if (order == 0) {
            const struct owl_keyword *k = &owl_keywords[middle];
            return (k->drafts & 1u << d.draft) && (k->vocabulary & d.vocabularies) ? middle : -1;
        }
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return -1;
}

/* ---- errors --------------------------------------------------------------------------------- */

int owl_compiler__no_memory(struct owl_compiler *c)
{
    if (owl_arena_over(c->a))
        return owl_fail(c->reterr, OWL_ELIMIT, "the schema needs more than %zu bytes when compiled",
                        c->options->max_memory);
    return owl_fail(c->reterr, OWL_ENOMEM, NULL);
}

int owl_compiler__fail(struct owl_compiler *c, const struct owl_doc *d, uint32_t node,
                       const char *fmt, ...)
{
    struct owl_buf b;
    owl_buf_init(&b, 64 * 1024);
    owl_tree__pointer(&d->tree, node, &b);
    char text[200];
    va_list args;
    va_start(args, fmt);
    OWL_IGNORE(vsnprintf(text, sizeof text, fmt, args) < 0); /* what fits is told */
    va_end(args);
    /* The document that is compiled was the first; of another one the URI is told. */
    owl_str uri = d->next ? d->uri : (owl_str){"", 0};
    int n = b.n < 120 ? (int)b.n : 120, m = uri.n < 100 ? (int)uri.n : 100;
    int rc = owl_fail(c->reterr, OWL_EINVAL, "schema %.*s#%.*s: %s", m, uri.p, n, b.p ? b.p : "",
                      text);
    owl_buf_done(&b);
    return rc;
}

int owl_compiler__schema(struct owl_compiler *c, const struct owl_doc *d, uint32_t node)
{
    unsigned kind = d->tree.nodes[node].kind;
    if (kind != OWL_NODE_OBJECT && kind != OWL_NODE_TRUE && kind != OWL_NODE_FALSE)
        return owl_compiler__fail(c, d, node, "a schema must be an object, true or false");
    return 0;
}

/* What a hostile schema could make quadratic is paid for: looking names up in lists. */
static int spend(struct owl_compiler *c, uint64_t steps)
{
    if (steps > c->work)
        return owl_fail(c->reterr, OWL_ELIMIT,
                        "the schema takes too many steps to compile: it has too many "
                        "references, $ids or anchors");
    c->work -= steps;
    return 0;
}

int owl_compiler__regex(struct owl_compiler *c, const struct owl_doc *d, uint32_t node,
                        owl_str pattern, const struct owl_regex **ret)
{
    owl_error why = {0};
    int rc = owl_regex_new(c->a, pattern, ret, &why);
    if (rc == -OWL_ENOMEM || owl_arena_over(c->a))
        return owl_compiler__no_memory(c);
    if (rc == 0)
        return 0;
    OWL_IGNORE(owl_compiler__fail(c, d, node, "%s", why.message)); /* the code is another */
    if (c->reterr)
        c->reterr->code = -rc;
    return rc;
}

/* ---- dialects ------------------------------------------------------------------------------- */

/* Whether a string is @p front and @p back. */
static bool is_joined(owl_str s, const char *front, const char *back)
{
    size_t n = strlen(front);
    return owl_str_begins(s, front) && owl_str_is((owl_str){s.p + n, s.n - n}, back);
}

/* Nobody fetches these, so whether they begin with http or https does not matter. */
static bool well_known(owl_str uri, struct owl_dialect *ret)
{
    static const struct {
        const char *path;
        struct owl_dialect dialect;
    } known[] = {
        {"draft/2020-12/schema", {OWL_SCHEMA_2020_12, OWL_VOC_ALL}},
        {"draft/2019-09/schema", {OWL_SCHEMA_2019_09, OWL_VOC_ALL}},
        {"draft-07/schema", {OWL_SCHEMA_DRAFT_07, OWL_VOC_ALL}},
        {"draft-06/schema", {OWL_SCHEMA_DRAFT_07, OWL_VOC_ALL & ~OWL_VOC_CONDITION}},
    };
    static const char *const hosts[] = {"https://json-schema.org/", "http://json-schema.org/"};
    for (size_t i = 0; i < OWL_COUNT(known) * OWL_COUNT(hosts); i++) {
        if (is_joined(uri, hosts[i % 2], known[i / 2].path)) {
            *ret = known[i / 2].dialect;
            return true;
        }
    }
    return false;
}

/* The vocabulary of a URI such as …/2020-12/vocab/validation; 0 if it is unknown. */
static unsigned vocabulary_of(owl_str uri)
{
    static const struct {
        const char *name;
        unsigned bits;
    } known[] = {
        {"core", OWL_VOC_CORE},
        {"applicator", OWL_VOC_APPLICATOR | OWL_VOC_CONDITION},
        {"validation", OWL_VOC_VALIDATION},
        {"unevaluated", OWL_VOC_UNEVALUATED},
        {"format-annotation", OWL_VOC_FORMAT},
        {"format", OWL_VOC_FORMAT},
        {"format-assertion", OWL_VOC_FORMAT | OWL_VOC_FORMAT_ASSERTED},
        {"meta-data", OWL_VOC_CORE},
        {"content", OWL_VOC_CONTENT},
    };
    static const char *const prefixes[] = {"https://json-schema.org/draft/2020-12/vocab/",
                                           "https://json-schema.org/draft/2019-09/vocab/"};
    for (size_t i = 0; i < OWL_COUNT(known) * OWL_COUNT(prefixes); i++) {
        if (is_joined(uri, prefixes[i % 2], known[i / 2].name))
            return known[i / 2].bits;
    }
    return 0;
}

/* Takes the vocabularies of a metaschema into @p d. */
static int read_vocabularies(struct owl_compiler *c, const struct owl_tree *t, uint32_t map,
                             struct owl_dialect *d)
{
    unsigned vocabularies = OWL_VOC_CORE;
    for (uint32_t k = map + 1; k < t->nodes[map].next; k = t->nodes[k + 1].next) {
        unsigned bits = vocabulary_of(owl_tree_text(t, k));
        if (bits == 0 && t->nodes[k + 1].kind == OWL_NODE_TRUE)
            return owl_fail(c->reterr, OWL_EINVAL, "the vocabulary \"%.*s\" is not supported",
                            (int)t->nodes[k].n, t->text + t->nodes[k].at);
        vocabularies |= bits;
    }
    if (d->draft == OWL_SCHEMA_2019_09 && (vocabularies & OWL_VOC_APPLICATOR))
        vocabularies |= OWL_VOC_UNEVALUATED;
    d->vocabularies = vocabularies;
    return 0;
}

/* The dialect of a metaschema that is not built in: that of its own "$schema", with the
 * vocabularies that it names. */
static int custom_dialect(struct owl_compiler *c, owl_str uri, struct owl_dialect *ret)
{
    owl_str text = owl_schema__document(c->options->registry, uri);
    if (!text.p)
        return owl_fail(c->reterr, OWL_ENOTFOUND,
                        "\"$schema\" names the unknown dialect \"%.*s\"; known are 2020-12, "
                        "2019-09, draft-07 and registered metaschemas",
                        (int)(uri.n < 100 ? uri.n : 100), uri.p);
    struct owl_tree t;
    owl_tree_init(&t, NULL, 0);
    int rc = owl_tree_read(&t, text);
    if (rc) {
        owl_tree_done(&t);
        return owl_fail(c->reterr, -rc, NULL);
    }
    uint32_t schema = owl_tree_get(&t, 0, OWL_STR("$schema"));
    uint32_t map = owl_tree_get(&t, 0, OWL_STR("$vocabulary"));
    *ret = (struct owl_dialect){c->options->draft, OWL_VOC_ALL};
    if (schema && !well_known(owl_uri__without_fragment(owl_tree_text(&t, schema)), ret))
        rc = owl_fail(c->reterr, OWL_EINVAL,
                      "the metaschema \"%.*s\" is not written in a known dialect",
                      (int)(uri.n < 100 ? uri.n : 100), uri.p);
    if (rc == 0 && map && t.nodes[map].kind == OWL_NODE_OBJECT)
        rc = read_vocabularies(c, &t, map, ret);
    owl_tree_done(&t);
    return rc;
}

/* ---- looking through a document ------------------------------------------------------------- */

static int add_anchor(struct owl_compiler *c, struct owl_resource *r, owl_str name, uint32_t node,
                      bool dynamic)
{
    struct owl_anchor *a = owl_arena_zalloc(c->a, sizeof *a);
    if (!a)
        return owl_compiler__no_memory(c);
    uint64_t steps = 0;
    for (struct owl_anchor *other = r->anchors; other; other = other->next, steps++) {
        if (owl_str_eq(other->name, name) && other->node != node)
            return owl_compiler__fail(c, r->doc, node, "the anchor \"%.*s\" is there twice",
                                      (int)(name.n < 60 ? name.n : 60), name.p);
    }
    int rc = spend(c, steps);
    if (rc)
        return rc;
    *a = (struct owl_anchor){.name = name, .node = node, .dynamic = dynamic, .next = r->anchors};
    r->anchors = a;
    return 0;
}

/* The resource of a URI, or NULL. */
static int find_resource(struct owl_compiler *c, owl_str uri, struct owl_resource **ret)
{
    uint64_t steps = 0;
    struct owl_resource *r = c->s->resources;
    for (; r && !owl_str_eq(r->uri, uri); r = r->next)
        steps++;
    *ret = r;
    return spend(c, steps);
}

static int add_resource(struct owl_compiler *c, struct owl_doc *d, uint32_t node, owl_str uri,
                        struct owl_resource **ret)
{
    struct owl_resource *old;
    int rc = find_resource(c, uri, &old);
    if (rc)
        return rc;
    if (old && old->doc == d && old->node != node)
        return owl_compiler__fail(c, d, node, "the $id \"%.*s\" is there twice",
                                  (int)(uri.n < 100 ? uri.n : 100), uri.p);
    struct owl_resource *r = owl_arena_zalloc(c->a, sizeof *r);
    if (!r)
        return owl_compiler__no_memory(c);
    *r = (struct owl_resource){.uri = uri,
                               .doc = d,
                               .node = node,
                               .dialect = {c->options->draft, OWL_VOC_ALL},
                               .next = c->s->resources};
    c->s->resources = r;
    *ret = r;
    return 0;
}

/* The string value of a member of a schema, decoded; {NULL,0} if there is none. */
static int string_member(struct owl_compiler *c, struct owl_doc *d, uint32_t schema,
                         const char *name, owl_str *ret)
{
    *ret = (owl_str){NULL, 0};
    uint32_t v = owl_tree_get(&d->tree, schema, owl_str_of(name));
    if (!v)
        return 0;
    if (d->tree.nodes[v].kind != OWL_NODE_STRING)
        return owl_compiler__fail(c, d, v, "%s must be a string", name);
    *ret = owl_tree_decode(&d->tree, v, c->a);
    return ret->p ? 0 : owl_compiler__no_memory(c);
}

static int read_dialect(struct owl_compiler *c, struct owl_doc *d, uint32_t node,
                        struct owl_resource *r)
{
    owl_str schema;
    int rc = string_member(c, d, node, "$schema", &schema);
    if (rc || !schema.p)
        return rc;
    schema = owl_uri__without_fragment(schema);
    return well_known(schema, &r->dialect) ? 0 : custom_dialect(c, schema, &r->dialect);
}

/* "$id": a new resource, or in draft-07 perhaps an anchor. */
static int read_id(struct owl_compiler *c, struct owl_doc *d, uint32_t node,
                   struct owl_resource **r)
{
    owl_str id;
    uint32_t ref = owl_tree_get(&d->tree, node, OWL_STR("$ref"));
    if ((*r)->dialect.draft == OWL_SCHEMA_DRAFT_07 && ref && node > 0)
        return 0; /* beside a $ref nothing counts */
    if (node > 0 && node == (*r)->node)
        return 0; /* seen before */
    int rc = string_member(c, d, node, "$id", &id);
    if (rc || !id.p)
        return rc;
    if (!owl_format_holds(OWL_STR("uri-reference"), id))
        return owl_compiler__fail(c, d, owl_tree_get(&d->tree, node, OWL_STR("$id")),
                                  "$id is no URI reference");
    owl_str bare = owl_uri__without_fragment(id);
    owl_str fragment = {id.p + bare.n + 1, id.n > bare.n ? id.n - bare.n - 1 : 0};
    if (bare.n > 0) {
        owl_str uri = owl_uri__resolve(c->a, (*r)->uri, bare);
        if (!uri.p)
            return owl_compiler__no_memory(c);
        struct owl_dialect inherited = (*r)->dialect;
        if (node == (*r)->node) {
            (*r)->uri = uri;
        } else {
            rc = add_resource(c, d, node, uri, r);
            if (rc == 0) {
                (*r)->dialect = inherited;
                rc = read_dialect(c, d, node, *r);
            }
        }
    }
    if (rc == 0 && fragment.n > 0) {
        if ((*r)->dialect.draft != OWL_SCHEMA_DRAFT_07)
            return owl_compiler__fail(c, d, node, "$id may not have a fragment; use $anchor");
        rc = add_anchor(c, *r, fragment, node, false);
    }
    return rc;
}

/* As the metaschemas have it: 2019-09 allows a colon, and no underscore at the beginning. */
static bool is_anchor(owl_str name, bool old)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i], low = (char)(c | 0x20);
        bool letter = low >= 'a' && low <= 'z';
        bool other = (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
                     (old && c == ':');
        if (!letter && !(i == 0 ? !old && c == '_' : other))
            return false;
    }
    return name.n > 0;
}

static int read_anchors(struct owl_compiler *c, struct owl_doc *d, uint32_t node,
                        struct owl_resource *r)
{
    static const char *const names[] = {"$anchor", "$dynamicAnchor"};
    if (r->dialect.draft == OWL_SCHEMA_DRAFT_07)
        return 0;
    int rc = 0;
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        owl_str name;
        if (i == 1 && r->dialect.draft != OWL_SCHEMA_2020_12)
            break;
        rc = string_member(c, d, node, names[i], &name);
        if (rc == 0 && name.p && !is_anchor(name, r->dialect.draft == OWL_SCHEMA_2019_09))
            rc = owl_compiler__fail(c, d, owl_tree_get(&d->tree, node, owl_str_of(names[i])),
                                    "%s must be letters, digits, -, _ and ., and begin with a "
                                    "letter",
                                    names[i]);
        else if (rc == 0 && name.p)
            rc = add_anchor(c, r, name, node, i == 1);
    }
    return rc;
}

static int read_recursive_anchor(struct owl_compiler *c, struct owl_doc *d, uint32_t node,
                                 struct owl_resource *r)
{
    uint32_t v = owl_tree_get(&d->tree, node, OWL_STR("$recursiveAnchor"));
    if (!v || r->dialect.draft != OWL_SCHEMA_2019_09 || d->tree.nodes[v].kind == OWL_NODE_FALSE)
        return 0;
    if (d->tree.nodes[v].kind != OWL_NODE_TRUE)
        return owl_compiler__fail(c, d, v, "$recursiveAnchor must be true or false");
    return node == r->node ? add_anchor(c, r, OWL_STR(""), node, true) : 0;
}

/* The schema at a node, which may be none, belongs to @p r. */
static int note(struct owl_compiler *c, struct owl_doc *d, uint32_t node, struct owl_resource *r)
{
    if (!d->resource_of[node])
        d->resource_of[node] = r;
    return owl_compiler__schema(c, d, node);
}

static int note_map(struct owl_compiler *c, struct owl_doc *d, uint32_t map, int keyword,
                    struct owl_resource *r)
{
    const struct owl_node *nodes = d->tree.nodes;
    if (nodes[map].kind != OWL_NODE_OBJECT)
        return owl_compiler__fail(c, d, map, "%s must be an object", owl_keywords[keyword].name);
    int rc = 0;
    for (uint32_t k = map + 1; k < nodes[map].next && rc == 0; k = nodes[k + 1].next) {
        if (keyword != OWL_KW_DEPENDENCIES || nodes[k + 1].kind != OWL_NODE_ARRAY)
            rc = note(c, d, k + 1, r);
    }
    return rc;
}

/* Notes that the nodes where @p value has schemas belong to @p r; they are looked at when the walk
 * comes to them. */
static int note_schemas(struct owl_compiler *c, struct owl_doc *d, uint32_t value, int keyword,
                        struct owl_resource *r)
{
    const struct owl_node *v = &d->tree.nodes[value];
    int rc = 0;
    switch (owl_keywords[keyword].schemas) {
    case OWL_SUB_ONE: return note(c, d, value, r);
    case OWL_SUB_MAP: return note_map(c, d, value, keyword, r);
    case OWL_SUB_LIST:
        if (v->kind != OWL_NODE_ARRAY) /* items may be either; others are refused later */
            return keyword == OWL_KW_ITEMS ? note(c, d, value, r) : 0;
        for (uint32_t e = value + 1; e < v->next && rc == 0; e = d->tree.nodes[e].next)
            rc = note(c, d, e, r);
        return rc;
    default: return 0;
    }
}

/* Looks through the schema at @p root, whose resource is noted, and those in it. Children stand
 * behind their parents in the tree, so one pass in its order meets them all. */
static int look_through(struct owl_compiler *c, struct owl_doc *d, uint32_t root)
{
    int rc = spend(c, d->tree.nodes[root].next - root);
    for (uint32_t i = root; i < d->tree.nodes[root].next && rc == 0; i++) {
        struct owl_resource *r = d->resource_of[i];
        if (!r || d->tree.nodes[i].kind != OWL_NODE_OBJECT)
            continue;
        rc = read_id(c, d, i, &r);
        if (rc == 0)
            rc = read_anchors(c, d, i, r);
        if (rc == 0)
            rc = read_recursive_anchor(c, d, i, r);
        d->resource_of[i] = r;
        for (uint32_t k = i + 1; k < d->tree.nodes[i].next && rc == 0;
             k = d->tree.nodes[k + 1].next) {
            int keyword = owl_keyword__find(&d->tree, k, r->dialect);
            if (keyword >= 0)
                rc = note_schemas(c, d, k + 1, keyword, r);
        }
    }
    return rc;
}

static int read_tree(struct owl_compiler *c, struct owl_doc *d, owl_str text)
{
    char *copy = owl_arena_dup(c->a, text);
    if (!copy)
        return owl_compiler__no_memory(c);
    struct owl_tree t;
    owl_tree_init(&t, NULL, 0);
    int rc = owl_tree_read(&t, (owl_str){copy, text.n});
    struct owl_node *nodes = rc ? NULL : owl_arena_alloc(c->a, t.n * sizeof *nodes);
    if (nodes) {
        memcpy(nodes, t.nodes, t.n * sizeof *nodes);
        d->tree = t;
        d->tree.nodes = nodes;
        d->tree.cap = t.n;
        d->tree.heap = false;
        d->resource_of = owl_arena_zalloc(c->a, t.n * sizeof(struct owl_resource *));
        d->unit_of = owl_arena_zalloc(c->a, t.n * sizeof(struct owl_unit *));
    }
    owl_tree_done(&t);
    return nodes && d->resource_of && d->unit_of ? 0 : owl_compiler__no_memory(c);
}

int owl_compiler__load(struct owl_compiler *c, owl_str uri, owl_str text, struct owl_doc **ret)
{
    struct owl_doc *d = owl_arena_zalloc(c->a, sizeof *d);
    if (!d)
        return owl_compiler__no_memory(c);
    int rc = read_tree(c, d, text);
    if (rc)
        return rc;
    d->uri = uri;
    d->next = c->s->docs;
    c->s->docs = d;
    struct owl_resource *r = NULL;
    rc = add_resource(c, d, 0, uri, &r);
    if (rc == 0 && r)
        rc = read_dialect(c, d, 0, r);
    if (rc)
        return rc;
    d->resource_of[0] = r;
    rc = look_through(c, d, 0);
    if (rc == 0)
        *ret = d;
    return rc;
}

/* ---- references ----------------------------------------------------------------------------- */

/* The document of a URI: one that is loaded, whatever its $id, or one that can be. */
static int find_document(struct owl_compiler *c, owl_str uri, struct owl_resource **ret)
{
    int rc = find_resource(c, uri, ret);
    if (rc)
        return rc;
    for (struct owl_doc *d = c->s->docs; d && !*ret; d = d->next) {
        if (owl_str_eq(d->uri, uri))
            *ret = d->resource_of[0];
    }
    if (*ret || c->again)
        return 0;
    owl_str text = owl_schema__document(c->options->registry, uri);
    if (!text.p)
        return 0;
    struct owl_doc *d = NULL;
    rc = owl_compiler__load(c, uri, text, &d);
    if (rc == 0 && d)
        *ret = d->resource_of[0];
    return rc;
}

/* A pointer may lead where no schema was expected: from there on it is one, of the resource of the
 * nearest schema around it. */
static int adopt(struct owl_compiler *c, struct owl_doc *d, uint32_t node)
{
    if (d->resource_of[node])
        return 0;
    struct owl_resource *r = d->resource_of[0];
    for (uint32_t at = 0; at != node;) {
        uint32_t child = at + 1;
        while (node >= d->tree.nodes[child].next)
            child = d->tree.nodes[child].next;
        at = child;
        if (d->resource_of[at])
            r = d->resource_of[at];
    }
    d->resource_of[node] = r;
    return look_through(c, d, node);
}

static int dangling(struct owl_compiler *c, owl_str uri, struct owl_target *ret)
{
    *ret = (struct owl_target){0};
    if (!c->final)
        return 0;
    return owl_fail(c->reterr, OWL_ENOTFOUND,
                    "the reference \"%.*s\" leads nowhere: it is not in the document, not "
                    "registered, and nothing is fetched",
                    (int)(uri.n < 130 ? uri.n : 130), uri.p);
}

/* {NULL,0}: a "%" begins no escape. */
static owl_str percent_decoded(owl_str s, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int c = (unsigned char)s.p[i];
        if (c == '%') {
            c = owl_uri__escape(s, i);
            i += 2;
        }
        if (c < 0)
            return (owl_str){NULL, 0};
        out[n++] = (char)c;
    }
    return (owl_str){out, n};
}

int owl_compiler__resolve(struct owl_compiler *c, const struct owl_resource *from, uint32_t ref,
                          struct owl_target *ret)
{
    struct owl_doc *d = from->doc;
    if (d->tree.nodes[ref].kind != OWL_NODE_STRING)
        return owl_compiler__fail(c, d, ref, "a reference must be a string");
    owl_str text = owl_tree_decode(&d->tree, ref, c->a);
    owl_str uri = text.p ? owl_uri__resolve(c->a, from->uri, text) : text;
    if (!uri.p)
        return owl_compiler__no_memory(c);
    owl_str bare = owl_uri__without_fragment(uri);
    owl_str fragment = {uri.p + bare.n + 1, uri.n > bare.n ? uri.n - bare.n - 1 : 0};
    struct owl_resource *r = NULL;
    int rc = find_document(c, bare, &r);
    if (rc)
        return rc;
    if (!r)
        return dangling(c, uri, ret);
    *ret = (struct owl_target){r->doc, r->node, NULL};
    if (fragment.n == 0)
        return 0;
    char *decoded = owl_arena_alloc(c->a, fragment.n);
    if (!decoded)
        return owl_compiler__no_memory(c);
    fragment = percent_decoded(fragment, decoded);
    if (!fragment.p)
        return owl_compiler__fail(c, d, ref, "the reference has a %% that begins no escape");
    if (fragment.n > 0 && fragment.p[0] == '/') {
        /* The pointer counts from the resource, which may stand within its document. */
        uint64_t steps = 0;
        uint32_t node = owl_tree__find(&r->doc->tree, r->node, fragment, &steps);
        rc = spend(c, steps);
        if (rc)
            return rc;
        if (node == UINT32_MAX)
            return dangling(c, uri, ret);
        ret->node = node;
        return adopt(c, r->doc, node);
    }
    uint64_t steps = 0;
    for (const struct owl_anchor *a = r->anchors; a; a = a->next, steps++) {
        if (owl_str_eq(a->name, fragment)) {
            ret->node = a->node;
            ret->anchor = a;
            if (a->dynamic) /* it may stand beside a plain anchor of that name */
                break;
        }
    }
    return ret->anchor ? spend(c, steps) : dangling(c, uri, ret);
}

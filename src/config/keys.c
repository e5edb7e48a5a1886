/* config/keys.c - the published schema as a map of keys.
 * Threads: pure.
 *
 * Only what our own schema uses is understood: "$ref" into the document, "properties",
 * "additionalProperties", "items", and alternatives and conditions, which are all looked at.
 * The judgement itself is that of codec/schema.h. */
#include "config/keys.h"

#include "config/config.h"

#include "base/alloc.h"
#include "base/nearest.h"
#include "codec/scan.h"

enum { HOPS = 64 }; /* of one search: references and alternatives */

static uint32_t get(const struct owl_keys *k, uint32_t node, owl_str keyword)
{
    return k->tree.nodes[node].kind == OWL_NODE_OBJECT ? owl_tree_get(&k->tree, node, keyword) : 0;
}

/* Where a reference leads: "#/$defs/server". Names with escapes are none of ours. */
static uint32_t target(const struct owl_keys *k, uint32_t ref)
{
    owl_str rest = owl_tree_text(&k->tree, ref), step;
    uint32_t node = 0;
    if (!owl_str_split(&rest, '/', &step) || !owl_str_is(step, "#"))
        return 0;
    while (owl_str_split(&rest, '/', &step))
        if (!(node = get(k, node, step)))
            return 0;
    return node;
}

/* A search through a schema, what it refers to, and its alternatives. */
struct search {
    const struct owl_keys *k;
    struct {
        uint32_t schema;
        bool itself; /* it was reached by references alone */
    } stack[16];
    unsigned n, hops;
    bool itself; /* so was the schema at hand */
};

static void push(struct search *s, uint32_t schema, bool itself)
{
    if (schema && s->n < OWL_COUNT(s->stack) && s->hops < HOPS) {
        s->stack[s->n].schema = schema;
        s->stack[s->n++].itself = itself;
        s->hops++;
    }
}

static struct search search(const struct owl_keys *k, uint32_t key)
{
    struct search s = {.k = k};
    push(&s, key, true);
    return s;
}

/* The next schema, nearest first; 0 at the end. */
static uint32_t next_schema(struct search *s)
{
    const struct owl_tree *t = &s->k->tree;
    if (s->n == 0)
        return 0;
    uint32_t schema = s->stack[--s->n].schema, ref = 0;
    s->itself = s->stack[s->n].itself;
    bool object = t->nodes[schema].kind == OWL_NODE_OBJECT;
    for (uint32_t at = schema + 1; object && at < t->nodes[schema].next;
         at = t->nodes[at + 1].next) {
        owl_str word = owl_tree_text(t, at);
        if (owl_str_is(word, "$ref"))
            ref = at + 1;
        else if (owl_str_is(word, "then") || owl_str_is(word, "else"))
            push(s, at + 1, false);
        else if (owl_str_is(word, "allOf") || owl_str_is(word, "anyOf") ||
                 owl_str_is(word, "oneOf"))
            for (uint32_t e = at + 2; e < t->nodes[at + 1].next; e = t->nodes[e].next)
                push(s, e, false);
    }
    push(s, ref ? target(s->k, ref) : 0, s->itself);
    return schema;
}

uint32_t owl_keys__find(const struct owl_keys *k, uint32_t key, owl_str keyword)
{
    struct search s = search(k, key);
    for (uint32_t schema; (schema = next_schema(&s));) {
        uint32_t node = get(k, schema, keyword);
        if (node)
            return node;
    }
    return 0;
}

uint32_t owl_keys__path(const struct owl_keys *k, uint32_t key, owl_str path)
{
    for (owl_str step; key && owl_config_step(&path, &step);)
        key = owl_keys__member(k, key, step);
    return key;
}

owl_str owl_keys__text(const struct owl_keys *k, uint32_t key, owl_str keyword)
{
    uint32_t node = owl_keys__find(k, key, keyword);
    bool string = node && k->tree.nodes[node].kind == OWL_NODE_STRING;
    return string ? owl_tree_text(&k->tree, node) : (owl_str){NULL, 0};
}

/* ---- facts ------------------------------------------------------------------------------ */

static uint8_t type_bit(owl_str name)
{
    static const char *const names[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object"};
    for (unsigned i = 0; i < OWL_COUNT(names); i++)
        if (owl_str_is(name, names[i]))
            return (uint8_t)(1u << i);
    return 0;
}

/* The types that "type" names. */
static uint8_t types_of(const struct owl_tree *t, uint32_t type)
{
    if (t->nodes[type].kind == OWL_NODE_STRING)
        return type_bit(owl_tree_text(t, type));
    uint8_t bits = 0;
    for (uint32_t e = type + 1; e < t->nodes[type].next; e = t->nodes[e].next)
        bits |= type_bit(owl_tree_text(t, e));
    return bits;
}

static uint8_t unit_of(owl_str unit)
{
    if (owl_str_is(unit, "seconds"))
        return OWL_UNIT__SECONDS;
    if (owl_str_is(unit, "milliseconds"))
        return OWL_UNIT__MILLISECONDS;
    return owl_str_is(unit, "bytes") ? OWL_UNIT__BYTES : OWL_UNIT__NONE;
}

static bool has_member(const struct owl_key *key, owl_str name)
{
    for (uint32_t i = 0; i < key->n_members; i++)
        if (owl_str_eq(key->members[i].name, name))
            return true;
    return false;
}

/* A key that is being learned. */
struct learning {
    struct owl_keys *k;
    struct owl_key *key;
    struct owl_key_member *members;
    size_t cap;
    bool entries; /* "additionalProperties" was seen */
    bool typed;   /* "x-type" was: it says what a value is in the end */
};

/* The names of one "properties". */
static int learn_members(struct learning *l, uint32_t map)
{
    const struct owl_tree *t = &l->k->tree;
    for (uint32_t at = map + 1; at < t->nodes[map].next; at = t->nodes[at + 1].next) {
        owl_str name = owl_tree_text(t, at);
        if (has_member(l->key, name))
            continue;
        if (l->key->n_members == l->cap) {
            size_t more = l->cap + t->nodes[map].count;
            l->members = owl_arena_realloc(l->k->arena, l->members, l->cap * sizeof *l->members,
                                           more * sizeof *l->members);
            if (!l->members)
                return -OWL_ENOMEM;
            l->cap = more;
            l->key->members = l->members;
        }
        l->members[l->key->n_members++] = (struct owl_key_member){name, at + 1};
    }
    return 0;
}

/* What holds only if the schema itself says it, not one of its alternatives. */
static void learn_own(struct learning *l, owl_str word, uint32_t node)
{
    struct owl_key *key = l->key;
    if (owl_str_is(word, "default"))
        key->fallback = key->fallback ? key->fallback : node;
    else if (owl_str_is(word, "x-values"))
        key->words = key->words ? key->words : node;
    else if (owl_str_is(word, "x-feature"))
        key->to_come = true;
    else if (owl_str_is(word, "required"))
        key->required = true;
    else if (owl_str_is(word, "x-optional"))
        key->optional = true;
    else if (owl_str_is(word, "if"))
        key->variable = true;
}

/* What the nearest schema that says it decides. */
static void learn_word(struct learning *l, owl_str word, uint32_t node)
{
    const struct owl_tree *t = &l->k->tree;
    struct owl_key *key = l->key;
    owl_str text = owl_tree_text(t, node);
    bool truth = t->nodes[node].kind == OWL_NODE_TRUE;
    if (owl_str_is(word, "type") || owl_str_is(word, "enum")) {
        uint8_t types = word.p[0] == 't' ? types_of(t, node) : OWL_KEY__STRING;
        key->types = key->types ? key->types : types;
    } else if (owl_str_is(word, "x-type")) {
        key->types = l->typed ? key->types : type_bit(text);
        l->typed = true;
    } else if (owl_str_is(word, "items")) {
        key->element = key->element ? key->element : node;
    } else if (owl_str_is(word, "additionalProperties")) {
        if (!l->entries && t->nodes[node].kind == OWL_NODE_OBJECT)
            key->entry = node;
        l->entries = true;
    } else if (owl_str_is(word, "x-unit")) {
        key->unit = key->unit ? key->unit : unit_of(text);
    } else if (owl_str_is(word, "x-secret")) {
        key->secret = key->secret || truth;
    } else if (owl_str_is(word, "x-not")) {
        key->inverted = key->inverted || truth;
    } else if (owl_str_is(word, "x-key")) {
        key->ours = key->ours.p ? key->ours : text;
    }
}

/* Finds out about a key; what it leads to is found out about later. */
static int learn(struct owl_keys *k, uint32_t node)
{
    const struct owl_tree *t = &k->tree;
    struct learning l = {.k = k, .key = owl_arena_zalloc(k->arena, sizeof *l.key)};
    struct search s = search(k, node);
    int rc = l.key ? 0 : -OWL_ENOMEM;
    for (uint32_t schema; rc == 0 && (schema = next_schema(&s));) {
        uint32_t end = t->nodes[schema].kind == OWL_NODE_OBJECT ? t->nodes[schema].next : 0;
        for (uint32_t at = schema + 1; rc == 0 && at < end; at = t->nodes[at + 1].next) {
            owl_str word = owl_tree_text(t, at);
            bool map = t->nodes[at + 1].kind == OWL_NODE_OBJECT;
            if (map && owl_str_is(word, "properties"))
                rc = learn_members(&l, at + 1);
            learn_word(&l, word, at + 1);
            if (s.itself)
                learn_own(&l, word, at + 1);
        }
    }
    k->known[node] = l.key;
    return rc;
}

/* Keys that are still to be learned, each once. */
struct queue {
    uint32_t *list;
    size_t n;
    uint8_t *seen;
};

static void enqueue(struct queue *q, uint32_t node)
{
    if (node && !q->seen[node]) {
        q->seen[node] = 1;
        q->list[q->n++] = node;
    }
}

static int learn_all(struct owl_keys *k)
{
    struct queue q = {.list = owl_malloc(k->tree.n * sizeof *q.list),
                      .seen = owl_calloc(k->tree.n, 1)};
    uint32_t top = get(k, 0, OWL_STR("properties"));
    int rc = q.list && q.seen ? 0 : -OWL_ENOMEM;
    for (uint32_t at = top + 1; rc == 0 && top && at < k->tree.nodes[top].next;
         at = k->tree.nodes[at + 1].next)
        enqueue(&q, at + 1);
    for (size_t i = 0; rc == 0 && i < q.n; i++) {
        rc = learn(k, q.list[i]);
        const struct owl_key *key = rc ? NULL : k->known[q.list[i]];
        for (uint32_t m = 0; key && m < key->n_members; m++)
            enqueue(&q, key->members[m].key);
        enqueue(&q, key ? key->element : 0);
        enqueue(&q, key ? key->entry : 0);
    }
    owl_free(q.list);
    owl_free(q.seen);
    return rc;
}

int owl_keys__init(struct owl_keys *k, owl_str schema)
{
    *k = (struct owl_keys){.arena = owl_arena_new(0)};
    owl_tree_init(&k->tree, NULL, 0);
    int rc = k->arena ? owl_json_scan(schema, OWL_JSON_DEPTH, NULL) : -OWL_ENOMEM;
    if (rc == 0)
        rc = owl_tree_read(&k->tree, schema);
    if (rc)
        return rc;
    k->known = owl_arena_zalloc(k->arena, k->tree.n * sizeof *k->known);
    return k->known ? learn_all(k) : -OWL_ENOMEM;
}

void owl_keys__done(struct owl_keys *k)
{
    owl_tree_done(&k->tree);
    owl_arena_free(k->arena);
}

const struct owl_key *owl_keys__of(const struct owl_keys *k, uint32_t key)
{
    static const struct owl_key nothing;
    return key && k->known[key] ? k->known[key] : &nothing;
}

uint32_t owl_keys__top(const struct owl_keys *k, owl_str name)
{
    uint32_t map = get(k, 0, OWL_STR("properties"));
    return map ? get(k, map, name) : 0;
}

uint32_t owl_keys__member(const struct owl_keys *k, uint32_t key, owl_str name)
{
    const struct owl_key *known = owl_keys__of(k, key);
    for (uint32_t i = 0; i < known->n_members; i++)
        if (owl_str_eq(known->members[i].name, name))
            return known->members[i].key;
    return known->entry;
}

owl_str owl_keys__nearest(const struct owl_keys *k, uint32_t key, owl_str written)
{
    const struct owl_key *known = owl_keys__of(k, key);
    struct owl_nearest near = {.written = written};
    for (uint32_t i = 0; i < known->n_members; i++)
        owl_nearest_try(&near, known->members[i].name);
    return near.best;
}

bool owl_keys__word(const struct owl_keys *k, owl_str word)
{
    for (uint32_t i = 0; i < k->tree.n; i++)
        if (k->tree.nodes[i].kind == OWL_NODE_STRING &&
            owl_str_eq(owl_tree_text(&k->tree, i), word))
            return true;
    return false;
}

/* config/keys.c - the published schema as a map of keys.
 * Threads: pure.
 *
 * Only what our own schema uses is understood: "$ref" into the document, "properties",
 * "additionalProperties", "items", and alternatives and conditions, which are all looked at.
 * The judgement itself is that of codec/schema.h. */
#include "config/keys.h"

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
    uint32_t stack[16];
    unsigned n, hops;
};

static void push(struct search *s, uint32_t schema)
{
    if (schema && s->n < OWL_COUNT(s->stack) && s->hops < HOPS) {
        s->stack[s->n++] = schema;
        s->hops++;
    }
}

static struct search search(const struct owl_keys *k, uint32_t key)
{
    struct search s = {.k = k};
    push(&s, key);
    return s;
}

/* The next schema, nearest first; 0 at the end. */
static uint32_t next_schema(struct search *s)
{
    if (s->n == 0)
        return 0;
    static const char *const branching[] = {"oneOf", "anyOf", "allOf"};
    static const char *const deciding[] = {"else", "then"};
    const struct owl_tree *t = &s->k->tree;
    uint32_t schema = s->stack[--s->n];
    for (size_t i = 0; i < OWL_COUNT(deciding); i++)
        push(s, get(s->k, schema, owl_str_of(deciding[i])));
    for (size_t i = 0; i < OWL_COUNT(branching); i++) {
        uint32_t list = get(s->k, schema, owl_str_of(branching[i]));
        if (list && t->nodes[list].kind == OWL_NODE_ARRAY)
            for (uint32_t e = list + 1; e < t->nodes[list].next; e = t->nodes[e].next)
                push(s, e);
    }
    uint32_t ref = get(s->k, schema, OWL_STR("$ref"));
    push(s, ref ? target(s->k, ref) : 0);
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

/* The same without alternatives and conditions. */
static uint32_t find_itself(const struct owl_keys *k, uint32_t key, owl_str keyword)
{
    for (unsigned hops = 0; key && hops < HOPS; hops++) {
        uint32_t node = get(k, key, keyword), ref = get(k, key, OWL_STR("$ref"));
        if (node)
            return node;
        key = ref ? target(k, ref) : 0;
    }
    return 0;
}

uint32_t owl_keys__path(const struct owl_keys *k, uint32_t key, owl_str path)
{
    for (owl_str step; key && owl_str_split(&path, '.', &step);)
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

/* The types that one schema names itself. */
static uint8_t types_here(const struct owl_keys *k, uint32_t schema)
{
    const struct owl_tree *t = &k->tree;
    uint32_t type = get(k, schema, OWL_STR("type"));
    if (!type)
        return get(k, schema, OWL_STR("enum")) ? OWL_KEY__STRING : 0;
    if (t->nodes[type].kind == OWL_NODE_STRING)
        return type_bit(owl_tree_text(t, type));
    uint8_t bits = 0;
    for (uint32_t e = type + 1; e < t->nodes[type].next; e = t->nodes[e].next)
        bits |= type_bit(owl_tree_text(t, e));
    return bits;
}

static uint8_t types_of(const struct owl_keys *k, uint32_t key)
{
    uint8_t bits = type_bit(owl_keys__text(k, key, OWL_STR("x-type")));
    struct search s = search(k, key);
    for (uint32_t schema; !bits && (schema = next_schema(&s));)
        bits = types_here(k, schema);
    return bits;
}

static enum owl_key_unit unit_of(const struct owl_keys *k, uint32_t key)
{
    owl_str unit = owl_keys__text(k, key, OWL_STR("x-unit"));
    if (owl_str_is(unit, "seconds"))
        return OWL_UNIT__SECONDS;
    if (owl_str_is(unit, "milliseconds"))
        return OWL_UNIT__MILLISECONDS;
    return owl_str_is(unit, "bytes") ? OWL_UNIT__BYTES : OWL_UNIT__NONE;
}

static bool is_true(const struct owl_keys *k, uint32_t key, owl_str keyword)
{
    uint32_t node = owl_keys__find(k, key, keyword);
    return node && k->tree.nodes[node].kind == OWL_NODE_TRUE;
}

static uint32_t entry_of(const struct owl_keys *k, uint32_t key)
{
    uint32_t node = owl_keys__find(k, key, OWL_STR("additionalProperties"));
    return node && k->tree.nodes[node].kind == OWL_NODE_OBJECT ? node : 0;
}

static bool has_member(const struct owl_key *key, owl_str name)
{
    for (uint32_t i = 0; i < key->n_members; i++)
        if (owl_str_eq(key->members[i].name, name))
            return true;
    return false;
}

/* Every name of "properties", the nearest schema first. */
static int list_members(struct owl_keys *k, struct owl_key *key, uint32_t node)
{
    const struct owl_tree *t = &k->tree;
    struct owl_key_member *list = NULL;
    size_t cap = 0;
    struct search s = search(k, node);
    for (uint32_t schema; (schema = next_schema(&s));) {
        uint32_t map = get(k, schema, OWL_STR("properties"));
        for (uint32_t at = map + 1; map && at < t->nodes[map].next; at = t->nodes[at + 1].next) {
            owl_str name = owl_tree_text(t, at);
            if (has_member(key, name))
                continue;
            if (key->n_members == cap) {
                size_t more = cap + t->nodes[map].count;
                list = owl_arena_realloc(k->arena, list, cap * sizeof *list, more * sizeof *list);
                if (!list)
                    return -OWL_ENOMEM;
                cap = more;
                key->members = list;
            }
            list[key->n_members++] = (struct owl_key_member){name, at + 1};
        }
    }
    return 0;
}

/* Finds out about a key; what it leads to is found out about later. */
static int learn(struct owl_keys *k, uint32_t node)
{
    struct owl_key *key = owl_arena_zalloc(k->arena, sizeof *key);
    if (!key || list_members(k, key, node))
        return -OWL_ENOMEM;
    key->element = owl_keys__find(k, node, OWL_STR("items"));
    key->entry = entry_of(k, node);
    key->fallback = find_itself(k, node, OWL_STR("default"));
    key->types = types_of(k, node);
    key->unit = (uint8_t)unit_of(k, node);
    key->secret = is_true(k, node, OWL_STR("x-secret"));
    key->to_come = find_itself(k, node, OWL_STR("x-feature")) != 0;
    key->required = find_itself(k, node, OWL_STR("required")) != 0;
    key->variable = find_itself(k, node, OWL_STR("if")) != 0;
    key->inverted = is_true(k, node, OWL_STR("x-not"));
    key->words = find_itself(k, node, OWL_STR("x-values"));
    key->ours = owl_keys__text(k, node, OWL_STR("x-key"));
    k->known[node] = key;
    return 0;
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

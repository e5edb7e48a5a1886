/* codec/schema/assert.c - compiles the keywords that only assert: each becomes one operation.
 * Threads: the one that compiles. */
#include "codec/schema/program.h"

#include "base/err.h"
#include "base/map.h"

struct owl_op *owl_building__op(struct owl_building *b, enum owl_op_code code,
                                enum owl_keyword_id keyword, unsigned kinds)
{
    struct owl_unit *u = b->unit;
    if (u->n == b->cap) {
        uint32_t cap = b->cap ? b->cap * 2 : 4;
        struct owl_op *ops = owl_arena_realloc(b->c->a, u->ops, b->cap * sizeof *ops,
                                               cap * sizeof *ops);
        if (!ops)
            return NULL;
        u->ops = ops;
        b->cap = cap;
    }
    struct owl_op *op = &u->ops[u->n++];
    *op = (struct owl_op){.code = (uint8_t)code,
                          .keyword = (uint8_t)keyword,
                          .kinds = (uint8_t)kinds,
                          .at = b->at[keyword]};
    return op;
}

static int fail(struct owl_building *b, enum owl_keyword_id keyword, const char *what)
{
    return owl_compiler__fail(b->c, b->d, b->at[keyword], "%s %s", owl_keywords[keyword].name,
                              what);
}

/* ---- sets of names -------------------------------------------------------------------------- */

enum { FEW_NAMES = 32, SEEDS = 32 };

/* The slot of a name, or the free one where it belongs, or NULL: neither is within reach. */
static uint32_t *slot_of(const struct owl_names *names, struct owl_name name)
{
    uint64_t h = names->strong ? owl_hash(name.s) : owl_names__slot(names, name);
    uint64_t mask = (UINT64_C(1) << names->bits) - 1;
    for (uint32_t i = 0; i < OWL_NAMES_REACH || names->strong; i++) {
        uint32_t *slot = &names->slots[(h + i) & mask];
        if (*slot == 0 || owl_name_same(&names->list[*slot - 1], name))
            return slot;
    }
    return NULL;
}

uint32_t owl_names__search(const struct owl_names *names, struct owl_name name)
{
    const uint32_t *slot = slot_of(names, name);
    return slot && *slot ? *slot - 1 : names->n;
}

/* A strong set has a slot for everything. */
static uint32_t *must(uint32_t *slot)
{
    OWL_ASSERT(slot);
    return slot;
}

static void clear_slots(struct owl_names *names)
{
    memset(names->slots, 0, sizeof *names->slots << names->bits);
}

/* All names anew, each in a slot that is free. */
static void place_again(struct owl_names *names)
{
    clear_slots(names);
    for (uint32_t i = 0; i < names->n; i++)
        *must(slot_of(names, names->list[i])) = i + 1;
}

uint32_t owl_building__name(struct owl_names *names, owl_str s)
{
    struct owl_name name = owl_name_of(s);
    uint32_t *slot = slot_of(names, name);
    if (!slot) {
        names->strong = true;
        place_again(names);
        slot = must(slot_of(names, name));
    }
    if (*slot == 0) {
        names->list[names->n] = name;
        *slot = ++names->n;
    }
    return *slot - 1;
}

/* Whether each name gets the slot where it belongs. */
static bool place_apart(struct owl_names *names)
{
    clear_slots(names);
    for (uint32_t i = 0; i < names->n; i++) {
        uint32_t *slot = &names->slots[owl_names__slot(names, names->list[i])];
        if (*slot)
            return false;
        *slot = i + 1;
    }
    return true;
}

void owl_building__names_done(struct owl_names *names)
{
    if (names->n > FEW_NAMES || names->strong)
        return;
    for (int i = 0; i < SEEDS; i++) {
        if (place_apart(names))
            return;
        names->seed = names->seed * UINT64_C(6364136223846793005) + 2; /* stays odd */
    }
    names->seed = OWL_TEXT__SEED; /* with which all were within reach */
    place_again(names);
}

int owl_building__names(struct owl_building *b, uint32_t cap, struct owl_names *ret)
{
    size_t least = cap <= FEW_NAMES ? cap * (size_t)4 : cap * (size_t)2;
    *ret = (struct owl_names){.seed = OWL_TEXT__SEED, .bits = 3};
    while ((size_t)1 << ret->bits < least)
        ret->bits++;
    ret->slots = owl_arena_zalloc(b->c->a, sizeof *ret->slots << ret->bits);
    ret->list = owl_arena_alloc(b->c->a, (cap + 1) * sizeof *ret->list);
    return ret->slots && ret->list ? 0 : owl_compiler__no_memory(b->c);
}

int owl_building__strings(struct owl_building *b, uint32_t array, const owl_str **ret)
{
    const struct owl_tree *t = &b->d->tree;
    const struct owl_node *v = &t->nodes[array];
    if (v->kind != OWL_NODE_ARRAY)
        return owl_compiler__fail(b->c, b->d, array, "must be an array of strings");
    owl_str *list = owl_arena_alloc(b->c->a, (v->count + 1) * sizeof *list);
    uint32_t n = 0;
    for (uint32_t e = array + 1; list && e < v->next; e = t->nodes[e].next, n++) {
        if (t->nodes[e].kind != OWL_NODE_STRING)
            return owl_compiler__fail(b->c, b->d, e, "must be a string");
        list[n] = owl_tree_decode(t, e, b->c->a);
        if (!list[n].p)
            return owl_compiler__no_memory(b->c);
    }
    if (!list)
        return owl_compiler__no_memory(b->c);
    *ret = list;
    return 0;
}

/* ---- any instance --------------------------------------------------------------------------- */

static unsigned type_named(const struct owl_tree *t, uint32_t node)
{
    static const struct {
        const char *name;
        unsigned kinds;
    } types[] = {
        {"null", 1u << OWL_NODE_NULL}, {"boolean", 1u << OWL_NODE_TRUE | 1u << OWL_NODE_FALSE},
        {"integer", OWL_KIND_INTEGER}, {"number", OWL_KIND_NUMBER},
        {"string", OWL_KIND_STRING},   {"array", OWL_KIND_ARRAY},
        {"object", OWL_KIND_OBJECT},
    };
    for (size_t i = 0; t->nodes[node].kind == OWL_NODE_STRING && i < OWL_COUNT(types); i++) {
        if (owl_tree_is(t, node, owl_str_of(types[i].name)))
            return types[i].kinds;
    }
    return 0;
}

static int type(struct owl_building *b)
{
    const struct owl_tree *t = &b->d->tree;
    uint32_t v = b->at[OWL_KW_TYPE];
    unsigned kinds = type_named(t, v);
    if (t->nodes[v].kind == OWL_NODE_ARRAY) {
        for (uint32_t e = v + 1; e < t->nodes[v].next; e = t->nodes[e].next) {
            unsigned more = type_named(t, e);
            if (!more)
                return owl_compiler__fail(b->c, b->d, e, "is no type");
            if ((kinds & more) == more)
                return owl_compiler__fail(b->c, b->d, e, "names a type twice");
            kinds |= more;
        }
    }
    if (!kinds)
        return fail(b, OWL_KW_TYPE,
                    "must be null, boolean, integer, number, string, array or object, or an array "
                    "of these");
    /* What is of an allowed type need not be looked at. */
    struct owl_op *op = owl_building__op(b, OWL_OP_TYPE, OWL_KW_TYPE, OWL_KIND_ANY & ~kinds);
    if (!op)
        return owl_compiler__no_memory(b->c);
    op->types = (uint8_t)kinds;
    return 0;
}

static int enumeration(struct owl_building *b)
{
    const struct owl_tree *t = &b->d->tree;
    uint32_t v = b->at[OWL_KW_ENUM];
    if (t->nodes[v].kind != OWL_NODE_ARRAY)
        return fail(b, OWL_KW_ENUM, "must be an array");
    uint32_t n = t->nodes[v].count;
    struct owl_enum *set = owl_arena_zalloc(b->c->a, sizeof *set);
    uint32_t *others = owl_arena_alloc(b->c->a, (n + 1) * sizeof *others);
    struct owl_op *op = owl_building__op(b, OWL_OP_ENUM, OWL_KW_ENUM, OWL_KIND_ANY);
    if (!set || !others || !op)
        return owl_compiler__no_memory(b->c);
    int rc = owl_building__names(b, n, &set->strings);
    for (uint32_t e = v + 1; rc == 0 && e < t->nodes[v].next; e = t->nodes[e].next) {
        if (t->nodes[e].kind != OWL_NODE_STRING) {
            others[set->n_others++] = e;
            continue;
        }
        owl_str s = owl_tree_decode(t, e, b->c->a);
        if (!s.p)
            return owl_compiler__no_memory(b->c);
        OWL_IGNORE(owl_building__name(&set->strings, s)); /* which of them does not matter */
    }
    if (rc == 0)
        owl_building__names_done(&set->strings);
    set->others = others;
    op->u.set = set;
    return rc;
}

/* ---- numbers and sizes ---------------------------------------------------------------------- */

static int number(struct owl_building *b, enum owl_op_code code, enum owl_keyword_id keyword)
{
    if (b->d->tree.nodes[b->at[keyword]].kind != OWL_NODE_NUMBER)
        return fail(b, keyword, "must be a number");
    struct owl_op *op = owl_building__op(b, code, keyword, OWL_KIND_NUMBER);
    struct owl_bound *bound = owl_arena_alloc(b->c->a, sizeof *bound);
    if (!op || !bound)
        return owl_compiler__no_memory(b->c);
    bound->number = owl_decimal_of(owl_tree_text(&b->d->tree, b->at[keyword]));
    bound->is_small = owl_tree__small(&b->d->tree, b->at[keyword], &bound->small);
    op->u.bound = bound;
    if (code == OWL_OP_MULTIPLE) {
        if (bound->number.negative || bound->number.digits == 0)
            return fail(b, keyword, "must be greater than 0");
        if (bound->number.digits > OWL_DECIMAL_DIVISOR_DIGITS)
            return fail(b, keyword, "has more than 18 significant digits");
    }
    return 0;
}

int owl_building__count(struct owl_building *b, enum owl_keyword_id keyword, uint64_t *ret)
{
    const struct owl_tree *t = &b->d->tree;
    struct owl_decimal d = {0};
    uint32_t v = b->at[keyword];
    if (t->nodes[v].kind == OWL_NODE_NUMBER)
        d = owl_decimal_of(owl_tree_text(t, v));
    if (t->nodes[v].kind != OWL_NODE_NUMBER || d.negative || !owl_decimal_is_integer(&d))
        return fail(b, keyword, "must be a whole number, at least 0");
    if (!owl_decimal_u64(&d, UINT64_MAX, ret))
        *ret = UINT64_MAX;
    return 0;
}

static int size(struct owl_building *b, enum owl_op_code code, enum owl_keyword_id keyword,
                unsigned kinds)
{
    struct owl_op *op = owl_building__op(b, code, keyword, kinds);
    return op ? owl_building__count(b, keyword, &op->u.limit) : owl_compiler__no_memory(b->c);
}

/* ---- strings, arrays, objects --------------------------------------------------------------- */

static int pattern(struct owl_building *b)
{
    const struct owl_tree *t = &b->d->tree;
    uint32_t v = b->at[OWL_KW_PATTERN];
    if (t->nodes[v].kind != OWL_NODE_STRING)
        return fail(b, OWL_KW_PATTERN, "must be a string");
    owl_str text = owl_tree_decode(t, v, b->c->a);
    struct owl_op *op = owl_building__op(b, OWL_OP_PATTERN, OWL_KW_PATTERN, OWL_KIND_STRING);
    if (!text.p || !op)
        return owl_compiler__no_memory(b->c);
    return owl_compiler__regex(b->c, b->d, v, text, &op->u.regex);
}

static int format(struct owl_building *b)
{
    const struct owl_tree *t = &b->d->tree;
    uint32_t v = b->at[OWL_KW_FORMAT];
    if (t->nodes[v].kind != OWL_NODE_STRING)
        return fail(b, OWL_KW_FORMAT, "must be a string");
    unsigned vocabularies = b->unit->resource->dialect.vocabularies;
    if (!b->c->options->assert_format && !(vocabularies & OWL_VOC_FORMAT_ASSERTED))
        return 0;
    struct owl_op *op = owl_building__op(b, OWL_OP_FORMAT, OWL_KW_FORMAT, OWL_KIND_STRING);
    if (!op)
        return owl_compiler__no_memory(b->c);
    op->u.name = owl_tree_decode(t, v, b->c->a);
    return op->u.name.p ? 0 : owl_compiler__no_memory(b->c);
}

static int unique(struct owl_building *b)
{
    unsigned kind = b->d->tree.nodes[b->at[OWL_KW_UNIQUE_ITEMS]].kind;
    if (kind == OWL_NODE_FALSE)
        return 0;
    if (kind != OWL_NODE_TRUE)
        return fail(b, OWL_KW_UNIQUE_ITEMS, "must be true or false");
    return owl_building__op(b, OWL_OP_UNIQUE, OWL_KW_UNIQUE_ITEMS, OWL_KIND_ARRAY)
               ? 0
               : owl_compiler__no_memory(b->c);
}

static int constant(struct owl_building *b)
{
    return owl_building__op(b, OWL_OP_CONST, OWL_KW_CONST, OWL_KIND_ANY)
               ? 0
               : owl_compiler__no_memory(b->c);
}

static int assert_one(struct owl_building *b, enum owl_keyword_id keyword)
{
    switch (keyword) {
    case OWL_KW_TYPE: return type(b);
    case OWL_KW_CONST: return constant(b);
    case OWL_KW_ENUM: return enumeration(b);
    case OWL_KW_MULTIPLE_OF: return number(b, OWL_OP_MULTIPLE, keyword);
    case OWL_KW_MAXIMUM:
    case OWL_KW_EXCLUSIVE_MAXIMUM:
    case OWL_KW_MINIMUM:
    case OWL_KW_EXCLUSIVE_MINIMUM: return number(b, OWL_OP_COMPARE, keyword);
    case OWL_KW_MAX_LENGTH:
    case OWL_KW_MIN_LENGTH: return size(b, OWL_OP_LENGTH, keyword, OWL_KIND_STRING);
    case OWL_KW_MAX_ITEMS:
    case OWL_KW_MIN_ITEMS: return size(b, OWL_OP_COUNT, keyword, OWL_KIND_ARRAY);
    case OWL_KW_MAX_PROPERTIES:
    case OWL_KW_MIN_PROPERTIES: return size(b, OWL_OP_COUNT, keyword, OWL_KIND_OBJECT);
    case OWL_KW_PATTERN: return pattern(b);
    case OWL_KW_FORMAT: return format(b);
    case OWL_KW_UNIQUE_ITEMS: return unique(b);
    default: return 0;
    }
}

int owl_building__asserts(struct owl_building *b)
{
    static const uint8_t order[] = {
        OWL_KW_TYPE,
        OWL_KW_CONST,
        OWL_KW_ENUM,
        OWL_KW_MINIMUM,
        OWL_KW_MAXIMUM,
        OWL_KW_EXCLUSIVE_MINIMUM,
        OWL_KW_EXCLUSIVE_MAXIMUM,
        OWL_KW_MULTIPLE_OF,
        OWL_KW_MIN_LENGTH,
        OWL_KW_MAX_LENGTH,
        OWL_KW_MIN_ITEMS,
        OWL_KW_MAX_ITEMS,
        OWL_KW_MIN_PROPERTIES,
        OWL_KW_MAX_PROPERTIES,
        OWL_KW_PATTERN,
        OWL_KW_FORMAT,
        OWL_KW_UNIQUE_ITEMS,
    };
    int rc = 0;
    for (size_t i = 0; i < OWL_COUNT(order) && rc == 0; i++) {
        if (b->at[order[i]])
            rc = assert_one(b, order[i]);
    }
    return rc;
}

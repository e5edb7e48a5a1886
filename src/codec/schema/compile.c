/* codec/schema/compile.c - a schema becomes units.
 * Threads: the one that compiles; what it makes is immutable.
 *
 * Units are compiled from a queue, each when something first refers to it: schemas that nothing
 * leads to cost nothing, and those that lead to themselves are no trouble. */
#include "codec/schema/program.h"

#include "base/err.h"
#include "codec/scan.h"

enum { MEMORY_DEFAULT = 16 * 1024 * 1024, DEPTH_DEFAULT = 4096, MATCH_DEFAULT = 100000 };
static const uint64_t WORK_DEFAULT = 10 * 1000 * 1000;

static int fail(struct owl_building *b, enum owl_keyword_id keyword, const char *what)
{
    return owl_compiler__fail(b->c, b->d, b->at[keyword], "%s %s", owl_keywords[keyword].name,
                              what);
}

int owl_compiler__unit(struct owl_compiler *c, struct owl_doc *d, uint32_t node,
                       const struct owl_unit **ret)
{
    struct owl_unit *u = d->unit_of[node];
    if (!u) {
        int rc = owl_compiler__schema(c, d, node);
        if (rc)
            return rc;
        u = owl_arena_zalloc(c->a, sizeof *u);
        if (!u)
            return owl_compiler__no_memory(c);
        u->node = node;
        u->resource = d->resource_of[node];
        if (c->last)
            c->last->next = u;
        else
            c->first = u;
        c->last = u;
        d->unit_of[node] = u;
    }
    *ret = u;
    return 0;
}

static int unit(struct owl_building *b, uint32_t node, const struct owl_unit **ret)
{
    return owl_compiler__unit(b->c, b->d, node, ret);
}

/* The units of the schemas in an array. */
static int unit_list(struct owl_building *b, uint32_t array, const struct owl_unit *const **ret)
{
    const struct owl_node *v = &b->d->tree.nodes[array];
    const struct owl_unit **list = owl_arena_zalloc(b->c->a, (v->count + 1) * sizeof *list);
    if (!list)
        return owl_compiler__no_memory(b->c);
    int rc = 0;
    uint32_t n = 0;
    for (uint32_t e = array + 1; e < v->next && rc == 0; e = b->d->tree.nodes[e].next)
        rc = unit(b, e, &list[n++]);
    *ret = list;
    return rc;
}

/* ---- references ----------------------------------------------------------------------------- */

/* The reference waits until more is loaded. */
static int put_off(struct owl_compiler *c, struct owl_unit *u, uint32_t i)
{
    struct owl_waiting *w = owl_arena_alloc(c->a, sizeof *w);
    if (!w)
        return owl_compiler__no_memory(c);
    *w = (struct owl_waiting){u, i, NULL};
    *c->waiting_end = w;
    c->waiting_end = &w->next;
    return 0;
}

/* Completes the operation of a reference, which has n == 0 as long as it is not. */
static int lead(struct owl_compiler *c, struct owl_unit *u, uint32_t i)
{
    const enum owl_keyword_id keyword = u->ops[i].keyword;
    struct owl_target target;
    int rc = owl_compiler__resolve(c, u->resource, u->ops[i].at, &target);
    if (rc || !target.doc)
        return rc ? rc : put_off(c, u, i);
    const struct owl_unit **to = owl_arena_zalloc(c->a, sizeof *to);
    if (!to)
        return owl_compiler__no_memory(c);
    rc = owl_compiler__unit(c, target.doc, target.node, to);
    if (rc)
        return rc;
    owl_str name = {NULL, 0}; /* of the anchor, if the reference is really dynamic */
    if (keyword == OWL_KW_DYNAMIC_REF && target.anchor && target.anchor->dynamic)
        name = target.anchor->name;
    const struct owl_resource *r = target.doc->resource_of[target.node];
    for (const struct owl_anchor *a = r->anchors; a && keyword == OWL_KW_RECURSIVE_REF; a = a->next)
        if (a->name.n == 0 && a->node == target.node)
            name = a->name;
    struct owl_op *op = &u->ops[i];
    op->n = 1;
    if (!name.p) {
        op->u.units = to;
        return 0;
    }
    struct owl_dependency *d = owl_arena_zalloc(c->a, sizeof *d);
    if (!d)
        return owl_compiler__no_memory(c);
    *d = (struct owl_dependency){.name = name, .unit = *to};
    op->code = OWL_OP_DYNAMIC_REF;
    op->u.dependencies = d;
    c->dynamic = true;
    return 0;
}

static int reference(struct owl_building *b, enum owl_keyword_id keyword)
{
    const struct owl_tree *t = &b->d->tree;
    uint32_t v = b->at[keyword];
    if (keyword == OWL_KW_RECURSIVE_REF &&
        (t->nodes[v].kind != OWL_NODE_STRING || !owl_tree_is(t, v, OWL_STR("#"))))
        return fail(b, keyword, "must be \"#\"");
    if (!owl_building__op(b, OWL_OP_REF, keyword, OWL_KIND_ANY))
        return owl_compiler__no_memory(b->c);
    return lead(b->c, b->unit, b->unit->n - 1);
}

static int references(struct owl_building *b)
{
    static const uint8_t keywords[] = {OWL_KW_REF, OWL_KW_DYNAMIC_REF, OWL_KW_RECURSIVE_REF};
    int rc = 0;
    for (size_t i = 0; i < OWL_COUNT(keywords) && rc == 0; i++) {
        if (b->at[keywords[i]])
            rc = reference(b, keywords[i]);
    }
    return rc;
}

/* ---- objects -------------------------------------------------------------------------------- */

static int pattern_properties(struct owl_building *b, struct owl_members *m)
{
    uint32_t map = b->at[OWL_KW_PATTERN_PROPERTIES];
    const struct owl_tree *t = &b->d->tree;
    struct owl_pattern *list = owl_arena_zalloc(b->c->a, (t->nodes[map].count + 1) * sizeof *list);
    if (!list)
        return owl_compiler__no_memory(b->c);
    for (uint32_t k = map + 1; map && k < t->nodes[map].next; k = t->nodes[k + 1].next) {
        struct owl_pattern *p = &list[m->n_patterns++];
        owl_str text = owl_tree_decode(t, k, b->c->a);
        if (!text.p)
            return owl_compiler__no_memory(b->c);
        int rc = owl_compiler__regex(b->c, b->d, k + 1, text, &p->regex);
        if (rc == 0)
            rc = unit(b, k + 1, &p->unit);
        if (rc)
            return rc;
    }
    m->patterns = list;
    return 0;
}

/* The names of "properties" with their units, then those of "required" that are not among them. */
static int named_members(struct owl_building *b, struct owl_members *m)
{
    const struct owl_tree *t = &b->d->tree;
    uint32_t map = b->at[OWL_KW_PROPERTIES];
    m->required_at = b->at[OWL_KW_REQUIRED];
    m->n_needed = m->required_at ? t->nodes[m->required_at].count : 0;
    int rc = m->required_at ? owl_building__strings(b, m->required_at, &m->needed) : 0;
    uint32_t cap = (map ? t->nodes[map].count : 0) + m->n_needed;
    if (rc == 0)
        rc = owl_building__names(b, cap, &m->names);
    if (rc)
        return rc;
    struct owl_member *list = owl_arena_zalloc(b->c->a, (cap + 1) * sizeof *list);
    if (!list)
        return owl_compiler__no_memory(b->c);
    m->list = list;
    for (uint32_t k = map + 1; map && rc == 0 && k < t->nodes[map].next; k = t->nodes[k + 1].next) {
        owl_str name = owl_tree_decode(t, k, b->c->a);
        if (!name.p)
            return owl_compiler__no_memory(b->c);
        rc = unit(b, k + 1, &list[owl_building__name(&m->names, name)].unit);
    }
    for (uint32_t i = 0; i < m->n_needed && rc == 0; i++) {
        uint32_t at = owl_building__name(&m->names, m->needed[i]);
        if (list[at].required)
            return fail(b, OWL_KW_REQUIRED, "names a property twice");
        list[at].required = true;
    }
    owl_building__names_done(&m->names);
    return rc;
}

static int members(struct owl_building *b)
{
    static const uint8_t keywords[] = {OWL_KW_PROPERTIES, OWL_KW_PATTERN_PROPERTIES,
                                       OWL_KW_ADDITIONAL_PROPERTIES, OWL_KW_REQUIRED};
    int first = -1;
    for (size_t i = 0; i < OWL_COUNT(keywords) && first < 0; i++)
        first = b->at[keywords[i]] ? keywords[i] : -1;
    if (first < 0)
        return 0;
    struct owl_members *m = owl_arena_zalloc(b->c->a, sizeof *m);
    int rc = m ? named_members(b, m) : owl_compiler__no_memory(b->c);
    if (rc == 0)
        rc = pattern_properties(b, m);
    if (rc == 0 && b->at[OWL_KW_ADDITIONAL_PROPERTIES])
        rc = unit(b, b->at[OWL_KW_ADDITIONAL_PROPERTIES], &m->additional);
    if (rc)
        return rc;
    struct owl_op *op = owl_building__op(b, OWL_OP_MEMBERS, (enum owl_keyword_id)first,
                                         OWL_KIND_OBJECT);
    if (!op)
        return owl_compiler__no_memory(b->c);
    op->u.members = m;
    return 0;
}

/* The strings of an array are there once each. */
static int check_once(struct owl_building *b, uint32_t array, const owl_str *list)
{
    struct owl_names names;
    uint32_t n = b->d->tree.nodes[array].count;
    int rc = owl_building__names(b, n, &names);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        if (owl_building__name(&names, list[i]) < i)
            rc = owl_compiler__fail(b->c, b->d, array, "names a property twice");
    }
    return rc;
}

static int dependent(struct owl_building *b, enum owl_keyword_id keyword)
{
    const struct owl_tree *t = &b->d->tree;
    uint32_t map = b->at[keyword];
    int rc = 0;
    if (t->nodes[map].kind != OWL_NODE_OBJECT)
        return fail(b, keyword, "must be an object");
    struct owl_dependency *list = owl_arena_zalloc(b->c->a,
                                                   (t->nodes[map].count + 1) * sizeof *list);
    bool names = keyword == OWL_KW_DEPENDENT_REQUIRED;
    struct owl_op *op = owl_building__op(b, names ? OWL_OP_DEPENDENT_REQUIRED : OWL_OP_DEPENDENT,
                                         keyword, OWL_KIND_OBJECT);
    if (!list || !op)
        return owl_compiler__no_memory(b->c);
    op->n = t->nodes[map].count;
    op->u.dependencies = list;
    for (uint32_t k = map + 1; rc == 0 && k < t->nodes[map].next;
         k = t->nodes[k + 1].next, list++) {
        list->name = owl_tree_decode(t, k, b->c->a);
        if (!list->name.p)
            return owl_compiler__no_memory(b->c);
        if (names || (keyword == OWL_KW_DEPENDENCIES && t->nodes[k + 1].kind == OWL_NODE_ARRAY)) {
            list->n_needs = t->nodes[k + 1].count;
            rc = owl_building__strings(b, k + 1, &list->needs);
            if (rc == 0)
                rc = check_once(b, k + 1, list->needs);
        } else {
            rc = unit(b, k + 1, &list->unit);
        }
    }
    return rc;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static int items(struct owl_building *b)
{
    uint32_t prefix = b->at[OWL_KW_PREFIX_ITEMS], rest = b->at[OWL_KW_ITEMS];
    enum owl_keyword_id keyword = prefix ? OWL_KW_PREFIX_ITEMS : OWL_KW_ITEMS;
    if (!prefix && !rest)
        return 0;
    bool old = b->unit->resource->dialect.draft != OWL_SCHEMA_2020_12;
    if (old && b->d->tree.nodes[rest].kind == OWL_NODE_ARRAY) {
        prefix = rest;
        rest = b->at[OWL_KW_ADDITIONAL_ITEMS];
    }
    if (prefix && b->d->tree.nodes[prefix].kind != OWL_NODE_ARRAY)
        return fail(b, OWL_KW_PREFIX_ITEMS, "must be an array");
    struct owl_items *i = owl_arena_zalloc(b->c->a, sizeof *i);
    struct owl_op *op = owl_building__op(b, OWL_OP_ITEMS, keyword, OWL_KIND_ARRAY);
    if (!i || !op)
        return owl_compiler__no_memory(b->c);
    op->u.items = i;
    int rc = prefix ? unit_list(b, prefix, &i->prefix) : 0;
    if (rc == 0 && prefix)
        i->n_prefix = b->d->tree.nodes[prefix].count;
    if (rc == 0 && rest)
        rc = unit(b, rest, &i->rest);
    return rc;
}

static int contains(struct owl_building *b)
{
    uint64_t min = 1, max = UINT64_MAX;
    int rc = b->at[OWL_KW_MIN_CONTAINS] ? owl_building__count(b, OWL_KW_MIN_CONTAINS, &min) : 0;
    if (rc == 0 && b->at[OWL_KW_MAX_CONTAINS])
        rc = owl_building__count(b, OWL_KW_MAX_CONTAINS, &max);
    if (rc || !b->at[OWL_KW_CONTAINS])
        return rc;
    struct owl_contains *x = owl_arena_zalloc(b->c->a, sizeof *x);
    struct owl_op *op = owl_building__op(b, OWL_OP_CONTAINS, OWL_KW_CONTAINS, OWL_KIND_ARRAY);
    if (!x || !op)
        return owl_compiler__no_memory(b->c);
    op->u.contains = x;
    x->min = min;
    x->max = max;
    x->min_at = b->at[OWL_KW_MIN_CONTAINS];
    x->max_at = b->at[OWL_KW_MAX_CONTAINS];
    x->evaluates = b->unit->resource->dialect.draft == OWL_SCHEMA_2020_12;
    return unit(b, b->at[OWL_KW_CONTAINS], &x->unit);
}

/* ---- combinations --------------------------------------------------------------------------- */

static int combination(struct owl_building *b, enum owl_op_code code, enum owl_keyword_id keyword)
{
    uint32_t v = b->at[keyword];
    if (!v)
        return 0;
    if (b->d->tree.nodes[v].kind != OWL_NODE_ARRAY || b->d->tree.nodes[v].count == 0)
        return fail(b, keyword, "must be an array of schemas that is not empty");
    struct owl_op *op = owl_building__op(b, code, keyword, OWL_KIND_ANY);
    if (!op)
        return owl_compiler__no_memory(b->c);
    op->n = b->d->tree.nodes[v].count;
    return unit_list(b, v, &op->u.units);
}

/* One schema for the whole instance, or for what is left of it. */
static int single(struct owl_building *b, enum owl_op_code code, enum owl_keyword_id keyword,
                  unsigned kinds)
{
    if (!b->at[keyword])
        return 0;
    struct owl_op *op = owl_building__op(b, code, keyword, kinds);
    const struct owl_unit **u = owl_arena_zalloc(b->c->a, sizeof *u);
    if (!op || !u)
        return owl_compiler__no_memory(b->c);
    op->n = 1;
    op->u.units = u;
    return unit(b, b->at[keyword], u);
}

/* "if", with NULL for a branch that is not there. */
static int condition(struct owl_building *b)
{
    if (!b->at[OWL_KW_IF])
        return 0;
    static const uint8_t keywords[] = {OWL_KW_IF, OWL_KW_THEN, OWL_KW_ELSE};
    struct owl_op *op = owl_building__op(b, OWL_OP_IF, OWL_KW_IF, OWL_KIND_ANY);
    const struct owl_unit **units = owl_arena_zalloc(b->c->a, 3 * sizeof *units);
    if (!op || !units)
        return owl_compiler__no_memory(b->c);
    op->n = 3;
    op->u.units = units;
    int rc = 0;
    for (size_t i = 0; i < 3 && rc == 0; i++) {
        if (b->at[keywords[i]])
            rc = unit(b, b->at[keywords[i]], &units[i]);
    }
    return rc;
}

static int combinations(struct owl_building *b)
{
    static const uint8_t dependents[] = {OWL_KW_DEPENDENT_REQUIRED, OWL_KW_DEPENDENCIES,
                                         OWL_KW_DEPENDENT_SCHEMAS};
    int rc = 0;
    for (size_t i = 0; i < OWL_COUNT(dependents) && rc == 0; i++) {
        if (b->at[dependents[i]])
            rc = dependent(b, dependents[i]);
    }
    if (rc == 0)
        rc = combination(b, OWL_OP_ALL_OF, OWL_KW_ALL_OF);
    if (rc == 0)
        rc = combination(b, OWL_OP_ANY_OF, OWL_KW_ANY_OF);
    if (rc == 0)
        rc = combination(b, OWL_OP_ONE_OF, OWL_KW_ONE_OF);
    if (rc == 0)
        rc = single(b, OWL_OP_NOT, OWL_KW_NOT, OWL_KIND_ANY);
    return rc ? rc : condition(b);
}

/* ---- units ---------------------------------------------------------------------------------- */

static int unevaluated(struct owl_building *b)
{
    b->unit->tracks = b->at[OWL_KW_UNEVALUATED_ITEMS] || b->at[OWL_KW_UNEVALUATED_PROPERTIES];
    int rc = single(b, OWL_OP_UNEVALUATED_ITEMS, OWL_KW_UNEVALUATED_ITEMS, OWL_KIND_ARRAY);
    if (rc == 0)
        rc = single(b, OWL_OP_UNEVALUATED_PROPERTIES, OWL_KW_UNEVALUATED_PROPERTIES,
                    OWL_KIND_OBJECT);
    return rc;
}

/* "contentSchema" is an annotation, but a schema all the same. */
static int content(struct owl_building *b)
{
    const struct owl_unit *u;
    uint32_t at = b->at[OWL_KW_CONTENT_SCHEMA];
    return at ? unit(b, at, &u) : 0;
}

static int build_object(struct owl_building *b)
{
    const struct owl_tree *t = &b->d->tree;
    struct owl_dialect dialect = b->unit->resource->dialect;
    for (uint32_t k = b->unit->node + 1; k < t->nodes[b->unit->node].next;
         k = t->nodes[k + 1].next) {
        int keyword = owl_keyword__find(t, k, dialect);
        if (keyword >= 0)
            b->at[keyword] = k + 1;
    }
    if (b->at[OWL_KW_REF] && dialect.draft == OWL_SCHEMA_DRAFT_07)
        return references(b); /* beside a $ref nothing counts */
    int rc = owl_building__asserts(b);
    if (rc == 0)
        rc = members(b);
    if (rc == 0)
        rc = single(b, OWL_OP_NAMES, OWL_KW_PROPERTY_NAMES, OWL_KIND_OBJECT);
    if (rc == 0)
        rc = items(b);
    if (rc == 0)
        rc = contains(b);
    if (rc == 0)
        rc = references(b);
    if (rc == 0)
        rc = combinations(b);
    if (rc == 0)
        rc = content(b);
    return rc ? rc : unevaluated(b);
}

/* Which instances are looked at by what, and of strings perhaps nothing but an enum. */
static void sum_up(struct owl_unit *u)
{
    unsigned on_strings = 0;
    for (; u->n_checks < u->n && u->ops[u->n_checks].code < OWL_OP__APPLICATORS; u->n_checks++) {
        const struct owl_op *op = &u->ops[u->n_checks];
        u->checks |= op->kinds;
        if (op->kinds & OWL_KIND_STRING) {
            bool first = on_strings++ == 0;
            u->strings = first && op->code == OWL_OP_ENUM ? &op->u.set->strings : NULL;
        }
    }
    for (uint32_t i = u->n_checks; i < u->n; i++)
        u->enters |= u->ops[i].kinds;
}

/* A unit that only refers to another is passed over when it runs, unless that takes it round in a
 * circle or the way there matters to dynamic references. */
static void pass_over(struct owl_unit *u)
{
    enum { HOPS = 16 };
    if (u->n != 1 || u->ops[0].code != OWL_OP_REF)
        return;
    if (u->ops[0].n == 0) /* waits */
        return;
    const struct owl_unit *to = u->ops[0].u.units[0], *end = to->same;
    for (int i = 0; i < HOPS && end && end != u; i++)
        end = end->same;
    if (!end && to != u && to->resource == u->resource)
        u->same = to;
}

static int build(struct owl_compiler *c, struct owl_unit *u)
{
    struct owl_building b = {.c = c, .d = u->resource->doc, .unit = u};
    int rc = 0;
    if (b.d->tree.nodes[u->node].kind == OWL_NODE_FALSE) {
        struct owl_op *op = owl_building__op(&b, OWL_OP_NEVER, OWL_KW_NOT, OWL_KIND_ANY);
        if (!op)
            return owl_compiler__no_memory(c);
        op->at = u->node;
    } else if (b.d->tree.nodes[u->node].kind == OWL_NODE_OBJECT) {
        rc = build_object(&b);
    }
    if (rc)
        return rc;
    sum_up(u);
    pass_over(u);
    return 0;
}

/* Dynamic references may lead to any dynamic anchor of the documents that are loaded. */
static int queue_anchors(struct owl_compiler *c)
{
    int rc = 0;
    for (struct owl_resource *r = c->s->resources; r; r = r->next) {
        for (struct owl_anchor *a = r->anchors; a && rc == 0; a = a->next) {
            if (a->dynamic && !a->unit)
                rc = owl_compiler__unit(c, r->doc, a->node, &a->unit);
        }
    }
    return rc;
}

/* All that can be built is: tries once more what waits. If nothing has come of it, it is an error. */
static int lead_waiting(struct owl_compiler *c)
{
    struct owl_waiting *list = c->waiting;
    bool progress = false;
    int rc = 0;
    c->waiting = NULL;
    c->waiting_end = &c->waiting;
    c->again = true;
    for (struct owl_waiting *w = list; w && rc == 0; w = w->next) {
        rc = lead(c, w->unit, w->op);
        if (rc == 0 && w->unit->ops[w->op].n > 0) {
            pass_over(w->unit);
            progress = true;
        }
    }
    if (rc == 0 && !progress) {
        c->final = true;
        rc = lead(c, list->unit, list->op);
    }
    c->again = false;
    return rc;
}

static int build_all(struct owl_compiler *c, owl_str text)
{
    owl_str uri = {"", 0};
    if (c->options->uri.n > 0) {
        uri = owl_uri__resolve(c->a, uri, c->options->uri);
        if (!uri.p)
            return owl_compiler__no_memory(c);
    }
    struct owl_doc *d;
    int rc = owl_compiler__load(c, uri, text, &d);
    if (rc == 0)
        rc = owl_compiler__unit(c, d, 0, &c->s->root);
    while (rc == 0 && (c->first || c->waiting)) {
        struct owl_unit *u = c->first;
        c->first = u ? u->next : NULL;
        if (!c->first)
            c->last = NULL;
        rc = u ? build(c, u) : lead_waiting(c);
        if (rc == 0 && !c->first && c->dynamic)
            rc = queue_anchors(c);
    }
    return rc;
}

int owl_schema_compile(owl_str text, const struct owl_schema_options *options,
                       struct owl_schema **ret, owl_error *reterr)
{
    int rc = owl_json_scan(text, OWL_JSON_DEPTH, reterr);
    if (rc)
        return rc;
    struct owl_schema_options o = options ? *options : (struct owl_schema_options){0};
    if (!o.max_memory)
        o.max_memory = MEMORY_DEFAULT;
    struct owl_arena *a = owl_arena_new(o.max_memory);
    struct owl_schema *s = a ? owl_arena_zalloc(a, sizeof *s) : NULL;
    if (!s) {
        owl_arena_free(a);
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    }
    s->arena = a;
    s->max_work = o.max_work ? o.max_work : WORK_DEFAULT;
    s->max_depth = o.max_depth ? o.max_depth : DEPTH_DEFAULT;
    s->max_match = o.max_match ? o.max_match : MATCH_DEFAULT;
    struct owl_compiler c = {.a = a, .s = s, .options = &o, .work = s->max_work, .reterr = reterr};
    c.waiting_end = &c.waiting;
    rc = build_all(&c, text);
    if (rc) {
        owl_arena_free(a);
        return rc;
    }
    *ret = s;
    return 0;
}

void owl_schema_free(struct owl_schema *s)
{
    if (s)
        owl_arena_free(s->arena);
}

size_t owl_schema_size(const struct owl_schema *s)
{
    return owl_arena_used(s->arena);
}

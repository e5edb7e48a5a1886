/* codec/schema/explain.c - what a value misses, in words.
 * Threads: that of the caller.
 *
 * The machine that judges also explains: with a report it does not stop at the first miss, and so
 * cannot disagree with the verdict. */
#include "codec/schema/run.h"

#include <math.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "codec/json.h"

enum { CUT = 200 }; /* longest piece of JSON that is told */

/* ---- pieces --------------------------------------------------------------------------------- */

struct telling {
    struct owl_arena *a;
    const struct owl_tree *t;   /* the instance */
    const struct owl_miss *end; /* of all that it misses */
    struct owl_buf b, pointer;
};

static owl_str json_of(const struct owl_tree *t, uint32_t node)
{
    const struct owl_node *v = &t->nodes[node];
    bool string = v->kind == OWL_NODE_STRING;
    return (owl_str){t->text + v->at - string, v->n + 2 * (size_t)string};
}

/* Puts text, cut if it is long. */
static void put_cut(struct owl_buf *b, owl_str s)
{
    owl_str shown = owl_utf8_cut(s, CUT);
    owl_buf_puts(b, shown);
    if (shown.n < s.n)
        owl_buf_putz(b, "…");
}

static owl_str take(struct telling *x)
{
    char *copy = x->b.rc ? NULL : owl_arena_dup(x->a, owl_buf_str(&x->b));
    if (!copy && !x->b.rc)
        x->b.rc = owl_arena_over(x->a) ? -OWL_ELIMIT : -OWL_ENOMEM;
    owl_str s = {copy, copy ? x->b.n : 0};
    x->b.n = 0;
    return s;
}

static owl_str copied(struct telling *x, owl_str json)
{
    put_cut(&x->b, json);
    return take(x);
}

/* "#" and the pointer to a node as a fragment of a URI (RFC 6901, 6). */
static void put_fragment(struct telling *x, const struct owl_tree *t, uint32_t node)
{
    owl_buf_reset(&x->pointer);
    owl_tree__pointer(t, node, &x->pointer);
    owl_buf_putc(&x->b, '#');
    for (size_t i = 0; i < x->pointer.n; i++) {
        unsigned char c = (unsigned char)x->pointer.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("-._~!$&'()*+,;=:@/?", c));
        if (plain)
            owl_buf_putc(&x->b, (char)c);
        else
            owl_buf_printf(&x->b, "%%%02X", c);
    }
    if (x->b.rc == 0)
        x->b.rc = x->pointer.rc;
}

static const char *kind_name(const struct owl_tree *t, uint32_t node)
{
    static const char *const names[] = {"null",     "a boolean", "a boolean", "a number",
                                        "a string", "an array",  "an object"};
    return names[t->nodes[node].kind];
}

/* The container of a node: of a member its object. The root has none. */
static uint32_t parent_of(const struct owl_tree *t, uint32_t node)
{
    uint32_t at = 0, parent = 0;
    while (at != node) {
        parent = at;
        at++;
        while (node >= t->nodes[at].next)
            at = t->nodes[at].next;
    }
    return parent;
}

/* Whether a node is the name of a member: of all strings only names have a colon behind them. */
static bool is_name(const struct owl_tree *t, uint32_t node)
{
    const struct owl_node *v = &t->nodes[node];
    if (v->kind != OWL_NODE_STRING || node == 0)
        return false;
    const char *p = t->text + v->at + v->n + 1; /* something closes the container */
    while (owl_text__space(*p))
        p++;
    return *p == ':';
}

/* Of the schema false the keyword whose value it is, if that says what is wrong; in "properties" and
 * the like a keyword is a name that anybody chose. */
static owl_str keyword_of(const struct owl_miss *miss)
{
    if (miss->op->code != OWL_OP_NEVER)
        return owl_str_of(owl_keywords[miss->keyword].name);
    static const char *const telling[] = {"additionalProperties",
                                          "unevaluatedProperties",
                                          "additionalItems",
                                          "unevaluatedItems",
                                          "items",
                                          "propertyNames"};
    const struct owl_doc *d = miss->unit->resource->doc;
    uint32_t parent = parent_of(&d->tree, miss->unit->node);
    bool member = d->tree.nodes[parent].kind == OWL_NODE_OBJECT && d->resource_of[parent];
    for (size_t i = 0; member && i < OWL_COUNT(telling); i++) {
        if (owl_str_is(owl_tree_text(&d->tree, miss->unit->node - 1), telling[i]))
            return owl_str_of(telling[i]);
    }
    return OWL_STR("false");
}

/* ---- lists ---------------------------------------------------------------------------------- */

enum { LISTED = 20 };

/* Names or values, each once. */
struct list {
    owl_str all[LISTED];
    uint32_t n;
    bool more; /* than are told */
};

/* False: there are @p most already. */
static bool add(struct list *l, uint32_t most, owl_str s)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (owl_str_eq(l->all[i], s))
            return true;
    }
    if (l->n == most)
        return false;
    l->all[l->n++] = s;
    return true;
}

static void put_list(struct telling *x, const struct list *l, const char *before_last)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (i > 0)
            owl_buf_putz(&x->b, i + 1 == l->n && !l->more ? before_last : ", ");
        put_cut(&x->b, l->all[i]);
    }
    if (l->more)
        owl_buf_putz(&x->b, ", …");
}

/* ---- known properties ----------------------------------------------------------------------- */

enum { KNOWN_UNITS = 64, KNOWN_PATTERNS = 4 };

/* The properties that a schema knows, with those that it applies to the same object. */
struct known {
    const struct owl_tree *t; /* the instance, and the name that is asked for */
    uint32_t name;
    bool found;
    const struct owl_unit *units[KNOWN_UNITS]; /* a queue */
    uint32_t n_units;
    struct list names;    /* more: than there is room for anywhere, or than can be told */
    struct list patterns; /* JSON */
};

static void know_unit(struct known *k, const struct owl_unit *u)
{
    for (uint32_t i = 0; u && i < k->n_units; i++) {
        if (k->units[i] == u)
            return;
    }
    if (u && k->n_units < KNOWN_UNITS)
        k->units[k->n_units++] = u;
    else
        k->names.more |= u != NULL;
}

static bool is_never(const struct owl_unit *u)
{
    return u->n == 1 && u->ops[0].code == OWL_OP_NEVER;
}

static void know_members(struct known *k, const struct owl_members *x)
{
    for (uint32_t i = 0; i < x->names.n; i++) {
        if (!x->list[i].unit || is_never(x->list[i].unit))
            continue;
        k->found |= owl_tree_is(k->t, k->name, x->names.list[i].s);
        k->names.more |= !add(&k->names, LISTED, x->names.list[i].s);
    }
    for (uint32_t i = 0; i < x->n_patterns; i++) {
        const struct owl_unit *u = x->patterns[i].unit;
        owl_str pattern = json_of(&u->resource->doc->tree, u->node - 1);
        if (!is_never(u))
            k->names.more |= !add(&k->patterns, KNOWN_PATTERNS, pattern);
    }
    k->names.more |= x->additional && !is_never(x->additional);
}

/* What an operation applies to the same value. */
static void know_in_place(struct known *k, const struct owl_op *op)
{
    for (uint32_t i = 0; i < op->n; i++) {
        switch (op->code) {
        case OWL_OP_REF:
        case OWL_OP_IF:
        case OWL_OP_ALL_OF:
        case OWL_OP_ANY_OF:
        case OWL_OP_ONE_OF: know_unit(k, op->u.units[i]); break;
        case OWL_OP_DEPENDENT: know_unit(k, op->u.dependencies[i].unit); break;
        case OWL_OP_DYNAMIC_REF: k->names.more = true; break; /* whatever it led to */
        default: return;
        }
    }
}

static void know_all(struct known *k, const struct owl_unit *u, bool in_place)
{
    know_unit(k, u);
    for (uint32_t i = 0; i < k->n_units; i++) {
        for (uint32_t j = 0; j < k->units[i]->n; j++) {
            const struct owl_op *op = &k->units[i]->ops[j];
            if (op->code == OWL_OP_MEMBERS)
                know_members(k, op->u.members);
            else if (in_place)
                know_in_place(k, op);
        }
    }
}

static void put_known(struct telling *x, const struct known *k)
{
    if (k->names.n > 0) {
        owl_buf_putz(&x->b, "; known are ");
        put_list(x, &k->names, ", ");
    }
    if (k->patterns.n > 0) {
        owl_buf_putz(&x->b,
                     k->names.n > 0 ? " and names that match " : "; known are names that match ");
        put_list(x, &k->patterns, ", ");
    }
}

/* A property that the schema false is for, because nothing else is. */
static void tell_unknown(struct telling *x, const struct owl_miss *miss, bool in_place)
{
    const struct owl_doc *d = miss->unit->resource->doc;
    struct known k = {.t = x->t, .name = miss->node - 1};
    know_all(&k, d->unit_of[parent_of(&d->tree, miss->unit->node)], in_place);
    if (k.found) {
        owl_buf_putz(&x->b, " is not allowed here: only a schema that does not fit knows it");
    } else {
        owl_buf_putz(&x->b, " is not allowed: no such property is known");
        put_known(x, &k);
    }
}

/* ---- sentences ------------------------------------------------------------------------------ */

static void put_found(struct telling *x, const struct owl_miss *miss)
{
    if (is_name(x->t, miss->node)) /* which the sentence begins with */
        return;
    owl_buf_putz(&x->b, ", but is ");
    put_cut(&x->b, json_of(x->t, miss->node));
}

/* Lists the values that would do, for the miss or for one that is tied to it. False: none is. */
static bool choose(const struct telling *x, const struct owl_miss *miss, struct list *l)
{
    bool tied = false;
    for (const struct owl_miss *other = miss; other < x->end; other++) {
        if (other != miss && !(owl_miss__tied(other) && other->extra == (uint32_t)(other - miss)))
            continue;
        const struct owl_tree *t = &other->unit->resource->doc->tree;
        bool several = other->op->code != OWL_OP_CONST &&
                       t->nodes[other->at].kind == OWL_NODE_ARRAY;
        uint32_t end = t->nodes[other->at].next;
        for (uint32_t e = other->at + several; e < end; e = t->nodes[e].next)
            l->more |= !add(l, LISTED,
                            other->op->code == OWL_OP_TYPE ? owl_tree_text(t, e) : json_of(t, e));
        tied |= other != miss;
    }
    return tied;
}

static void tell_type(struct telling *x, const struct owl_miss *miss)
{
    struct list types = {.n = 0};
    OWL_IGNORE(choose(x, miss, &types)); /* of one or of several, they are told alike */
    owl_buf_putz(&x->b, " must be of type ");
    put_list(x, &types, " or ");
    owl_buf_printf(&x->b, ", but is %s", kind_name(x->t, miss->node));
    if (x->t->nodes[miss->node].kind < OWL_NODE_ARRAY && !is_name(x->t, miss->node)) {
        owl_buf_putz(&x->b, ": ");
        put_cut(&x->b, json_of(x->t, miss->node));
    }
}

static void tell_value(struct telling *x, const struct owl_miss *miss, const char *what)
{
    owl_buf_printf(&x->b, " must %s ", what);
    put_cut(&x->b, json_of(&miss->unit->resource->doc->tree, miss->at));
    put_found(x, miss);
}

/* One constant, one list, or what several branches allow. */
static void tell_choice(struct telling *x, const struct owl_miss *miss)
{
    struct list values = {.n = 0};
    if (!choose(x, miss, &values)) {
        tell_value(x, miss, miss->op->code == OWL_OP_CONST ? "be" : "be one of");
        return;
    }
    owl_buf_putz(&x->b, " must be ");
    put_list(x, &values, " or ");
    put_found(x, miss);
}

static void tell_rounded(struct telling *x, const struct owl_miss *miss)
{
    struct owl_decimal d = owl_decimal_of(json_of(x->t, miss->node));
    double read = owl_decimal_double(&d);
    owl_buf_putz(&x->b, " must not be so close to ");
    put_cut(&x->b, json_of(&miss->unit->resource->doc->tree, miss->at));
    owl_buf_putz(&x->b, " that it is read as ");
    if (isfinite(read))
        owl_json_number(&x->b, read);
    else
        owl_buf_putz(&x->b, "infinity");
    put_found(x, miss);
}

static void tell_compare(struct telling *x, const struct owl_miss *miss)
{
    if (miss->extra > 0) {
        tell_rounded(x, miss);
        return;
    }
    switch (miss->keyword) {
    case OWL_KW_MAXIMUM: tell_value(x, miss, "be at most"); break;
    case OWL_KW_EXCLUSIVE_MAXIMUM: tell_value(x, miss, "be less than"); break;
    case OWL_KW_MINIMUM: tell_value(x, miss, "be at least"); break;
    default: tell_value(x, miss, "be greater than"); break;
    }
}

static void tell_size(struct telling *x, const struct owl_miss *miss)
{
    bool most = miss->keyword == OWL_KW_MAX_LENGTH || miss->keyword == OWL_KW_MAX_ITEMS ||
                miss->keyword == OWL_KW_MAX_PROPERTIES;
    bool one = miss->op->u.limit == 1;
    const char *what = miss->op->code == OWL_OP_LENGTH    ? one ? "character" : "characters"
                       : miss->op->kinds & OWL_KIND_ARRAY ? one ? "item" : "items"
                       : one                              ? "property"
                                                          : "properties";
    owl_buf_printf(&x->b, " must have at %s %llu %s", most ? "most" : "least",
                   (unsigned long long)miss->op->u.limit, what);
    if (miss->op->code == OWL_OP_LENGTH)
        put_found(x, miss);
    else
        owl_buf_printf(&x->b, ", but has %u", x->t->nodes[miss->node].count);
}

static void tell_dependency(struct telling *x, const struct owl_miss *miss)
{
    const struct owl_dependency *d = &miss->op->u.dependencies[miss->extra];
    owl_buf_putz(&x->b, " has \"");
    put_cut(&x->b, d->name);
    owl_buf_putz(&x->b, "\", which needs \"");
    put_cut(&x->b, d->needs[miss->which[0]]);
    owl_buf_putz(&x->b, "\" beside it");
}

/* References lead other values to the schemas of items, too. */
static bool is_item(const struct owl_tree *t, uint32_t node)
{
    return node > 0 && t->nodes[parent_of(t, node)].kind == OWL_NODE_ARRAY;
}

static void tell_never(struct telling *x, const struct owl_miss *miss)
{
    owl_str keyword = keyword_of(miss);
    bool unevaluated = owl_str_is(keyword, "unevaluatedProperties");
    bool property = unevaluated || owl_str_is(keyword, "additionalProperties");
    if (property && miss->node > 0 && is_name(x->t, miss->node - 1)) {
        tell_unknown(x, miss, unevaluated);
    } else if (is_name(x->t, miss->node)) {
        owl_buf_putz(&x->b, " is not allowed: no name is valid here");
    } else if (property || owl_str_is(keyword, "false") || !is_item(x->t, miss->node)) {
        owl_buf_putz(&x->b, " is not allowed: no value is valid here");
    } else {
        owl_buf_putz(&x->b, " is one item too many");
    }
}

static void tell_unique(struct telling *x, const struct owl_miss *miss)
{
    owl_buf_putz(&x->b, " must not have equal items, but ");
    owl_tree__pointer(x->t, miss->which[0], &x->b);
    owl_buf_putz(&x->b, " and ");
    owl_tree__pointer(x->t, miss->which[1], &x->b);
    owl_buf_putz(&x->b, " are equal");
}

/* More alternatives fit than one. */
static void tell_fitting(struct telling *x, const struct owl_miss *miss)
{
    const struct owl_tree *t = &miss->unit->resource->doc->tree;
    owl_buf_printf(&x->b, " must fit exactly one of %u alternatives, but fits %u%s ", miss->op->n,
                   miss->extra, miss->extra == 2 ? ":" : ", among them");
    put_fragment(x, t, miss->at);
    owl_buf_printf(&x->b, "/%u and ", miss->which[0]);
    put_fragment(x, t, miss->at);
    owl_buf_printf(&x->b, "/%u", miss->which[1]);
}

static void tell_combined(struct telling *x, const struct owl_miss *miss)
{
    if (miss->op->code == OWL_OP_NOT)
        owl_buf_putz(&x->b, " must not fit the schema of \"not\", but does");
    else if (miss->extra > 0)
        tell_fitting(x, miss);
    else
        owl_buf_printf(&x->b, " fits none of %u alternatives; the nearest is told before",
                       miss->op->n);
}

static void tell_contains(struct telling *x, const struct owl_miss *miss)
{
    const struct owl_contains *c = miss->op->u.contains;
    bool few = miss->extra < c->min;
    uint64_t limit = few ? c->min : c->max;
    owl_buf_printf(&x->b, " must have at %s %llu %s \"contains\", but has %u",
                   few ? "least" : "most", (unsigned long long)limit,
                   limit == 1 ? "item that fits" : "items that fit", miss->extra);
}

static void tell(struct telling *x, const struct owl_miss *miss)
{
    switch (miss->op->code) {
    case OWL_OP_NEVER: tell_never(x, miss); break;
    case OWL_OP_TYPE: tell_type(x, miss); break;
    case OWL_OP_CONST:
    case OWL_OP_ENUM: tell_choice(x, miss); break;
    case OWL_OP_MULTIPLE: tell_value(x, miss, "be a multiple of"); break;
    case OWL_OP_COMPARE: tell_compare(x, miss); break;
    case OWL_OP_LENGTH:
    case OWL_OP_COUNT: tell_size(x, miss); break;
    case OWL_OP_PATTERN: tell_value(x, miss, "match the pattern"); break;
    case OWL_OP_FORMAT: tell_value(x, miss, "have the format"); break;
    case OWL_OP_UNIQUE: tell_unique(x, miss); break;
    case OWL_OP_MEMBERS:
        owl_buf_putz(&x->b, " lacks the required property \"");
        put_cut(&x->b, miss->op->u.members->needed[miss->extra]);
        owl_buf_putc(&x->b, '"');
        break;
    case OWL_OP_DEPENDENT:
    case OWL_OP_DEPENDENT_REQUIRED: tell_dependency(x, miss); break;
    case OWL_OP_CONTAINS: tell_contains(x, miss); break;
    default: tell_combined(x, miss); break;
    }
}

/* ---- violations ----------------------------------------------------------------------------- */

/* What the sentence is about. */
static void put_subject(struct telling *x, const struct owl_miss *miss, struct owl_violation *v)
{
    if (v->of_name) {
        uint32_t object = parent_of(x->t, miss->node);
        owl_buf_putz(&x->b, "the name of the property ");
        put_cut(&x->b, json_of(x->t, miss->node));
        if (object != 0) {
            owl_buf_putz(&x->b, " of ");
            owl_tree__pointer(x->t, object, &x->b);
        }
    } else if (v->instance.n > 0) {
        put_cut(&x->b, v->instance);
    } else {
        owl_buf_putz(&x->b, "the value");
    }
    v->subject = x->b.n;
}

static void violation(struct telling *x, const struct owl_miss *miss, struct owl_violation *v)
{
    const struct owl_doc *d = miss->unit->resource->doc;
    owl_tree__pointer(x->t, miss->node, &x->b);
    v->instance = take(x);
    owl_buf_puts(&x->b, d->uri);
    put_fragment(x, &d->tree, miss->at);
    v->schema = take(x);
    v->keyword = copied(x, keyword_of(miss));
    v->expected = copied(x, json_of(&d->tree, miss->at));
    owl_str found = json_of(x->t, miss->node);
    v->found = copied(x, found);
    v->at = (size_t)(found.p - x->t->text);
    v->of_name = is_name(x->t, miss->node);
    put_subject(x, miss, v);
    tell(x, miss);
    v->sentence = take(x);
}

static int put_into_words(const struct owl_report *r, const struct owl_tree *t, struct owl_arena *a,
                          struct owl_explanation *ret)
{
    uint32_t kept = r->n < OWL_REPORT_KEPT ? r->n : OWL_REPORT_KEPT, n = 0;
    struct telling x = {.a = a, .t = t, .end = r->misses + kept};
    size_t all = r->n, room = kept < OWL_SCHEMA_VIOLATIONS ? kept : OWL_SCHEMA_VIOLATIONS;
    struct owl_violation *list = owl_arena_zalloc(a, (room + 1) * sizeof *list);
    if (!list)
        return owl_arena_over(a) ? -OWL_ELIMIT : -OWL_ENOMEM;
    owl_buf_init(&x.b, 1024 * 1024);
    owl_buf_init(&x.pointer, 1024 * 1024);
    for (const struct owl_miss *miss = r->misses; miss < x.end && x.b.rc == 0; miss++) {
        if (owl_miss__tied(miss)) {
            all--;
        } else if (n < room) {
            violation(&x, miss, &list[n++]);
        }
    }
    int rc = x.b.rc;
    owl_buf_done(&x.b);
    owl_buf_done(&x.pointer);
    if (rc == 0)
        *ret = (struct owl_explanation){n, list, all - n};
    return rc;
}

int owl_schema_explain_within(const struct owl_schema *s, owl_str proved,
                              struct owl_schema_work *work, struct owl_arena *a,
                              struct owl_explanation *ret, owl_error *reterr)
{
    struct owl_tree t;
    struct owl_report *r = owl_calloc(1, sizeof *r);
    if (work)
        work->used = 0;
    if (!r)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    owl_tree_init(&t, NULL, 0);
    int rc = owl_machine__judge(s, &t, proved, r, work, reterr);
    if (rc >= 0) {
        rc = put_into_words(r, &t, a, ret);
        if (rc)
            OWL_IGNORE(owl_fail(reterr, -rc, NULL)); /* rc is returned below */
    }
    owl_free(r);
    owl_tree_done(&t);
    return rc;
}

int owl_schema_explain(const struct owl_schema *s, owl_str proved, struct owl_arena *a,
                       struct owl_explanation *ret, owl_error *reterr)
{
    return owl_schema_explain_within(s, proved, NULL, a, ret, reterr);
}

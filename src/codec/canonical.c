/* codec/canonical.c - one spelling for each JSON value.
 * Threads: pure.
 *
 * Members stand in the order of the bytes of their keys, strings hold the escapes that
 * owl_json_quote() writes and no others, numbers are digits without zeros at either end and an
 * exponent unless that is 0. Hence equal values give equal text, and different ones never do, since
 * it is JSON text that means the value. Depth is bounded by OWL_JSON_DEPTH; nothing recurses. */
#include <stdlib.h>

#include "codec/decimal.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "codec/tree.h"

struct member {
    owl_str key; /* decoded */
    uint32_t value;
};

/* A container that is being written. */
struct level {
    struct member *members; /* of an object, in order */
    uint32_t at, end;       /* index into members, or node */
    bool object, comma;
};

struct writing {
    struct owl_buf *out;
    struct owl_tree tree;
    struct owl_arena *arena; /* decoded strings, members */
    struct level levels[OWL_JSON_DEPTH];
    unsigned depth;
};

static int by_key(const void *a, const void *b)
{
    const owl_str *x = &((const struct member *)a)->key, *y = &((const struct member *)b)->key;
    size_t n = x->n < y->n ? x->n : y->n;
    int order = n ? memcmp(x->p, y->p, n) : 0;
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* {NULL,0} without memory. */
static owl_str string_of(struct writing *w, uint32_t node)
{
    if (!w->tree.nodes[node].escaped)
        return owl_tree_text(&w->tree, node);
    owl_str s = owl_tree_decode(&w->tree, node, w->arena);
    if (!s.p)
        w->out->rc = -OWL_ENOMEM;
    return s;
}

/* The members of an object, sorted; NULL without memory. */
static struct member *members_of(struct writing *w, uint32_t object)
{
    const struct owl_node *nodes = w->tree.nodes;
    struct member *members = owl_arena_alloc(w->arena, (nodes[object].count + 1) * sizeof *members);
    if (!members) {
        w->out->rc = -OWL_ENOMEM;
        return NULL;
    }
    size_t n = 0;
    for (uint32_t k = object + 1; k < nodes[object].next; k = nodes[k + 1].next)
        members[n++] = (struct member){string_of(w, k), k + 1};
    if (w->out->rc == 0)
        qsort(members, n, sizeof *members, by_key);
    return members;
}

static void open_level(struct writing *w, uint32_t node)
{
    const struct owl_node *v = &w->tree.nodes[node];
    if (w->depth == OWL_JSON_DEPTH) {
        w->out->rc = -OWL_ELIMIT;
        return;
    }
    bool object = v->kind == OWL_NODE_OBJECT;
    owl_buf_putc(w->out, object ? '{' : '[');
    w->levels[w->depth++] = (struct level){.members = object ? members_of(w, node) : NULL,
                                           .at = object ? 0 : node + 1,
                                           .end = object ? v->count : v->next,
                                           .object = object};
}

static void put_number(struct owl_buf *b, owl_str text)
{
    struct owl_decimal d = owl_decimal_of(text);
    if (d.p == d.end || d.beyond) { /* beyond: as it is, for whatever it means */
        owl_buf_puts(b, d.p == d.end ? OWL_STR("0") : text);
        return;
    }
    size_t n = (size_t)(d.end - d.p);
    const char *point = memchr(d.p, '.', n);
    size_t before = point ? (size_t)(point - d.p) : n;
    owl_buf_putz(b, d.negative ? "-" : "");
    owl_buf_put(b, d.p, before);
    if (point)
        owl_buf_put(b, point + 1, n - before - 1);
    int64_t exponent = d.top - (int64_t)d.digits;
    if (exponent != 0)
        owl_buf_printf(b, "e%lld", (long long)exponent);
}

static void put_value(struct writing *w, uint32_t node)
{
    switch (w->tree.nodes[node].kind) {
    case OWL_NODE_ARRAY:
    case OWL_NODE_OBJECT: open_level(w, node); break;
    case OWL_NODE_STRING: owl_json_quote(w->out, string_of(w, node)); break;
    case OWL_NODE_NUMBER: put_number(w->out, owl_tree_text(&w->tree, node)); break;
    default: owl_buf_puts(w->out, owl_tree_text(&w->tree, node)); break;
    }
}

/* The next value of the innermost container, or its end. */
static void step(struct writing *w)
{
    struct level *l = &w->levels[w->depth - 1];
    if (l->at == l->end) {
        owl_buf_putc(w->out, l->object ? '}' : ']');
        w->depth--;
        return;
    }
    uint32_t value = l->at;
    owl_buf_putz(w->out, l->comma ? "," : "");
    l->comma = true;
    if (l->object) {
        const struct member *m = &l->members[l->at++];
        owl_json_quote(w->out, m->key);
        owl_buf_putc(w->out, ':');
        value = m->value;
    } else {
        l->at = w->tree.nodes[value].next;
    }
    put_value(w, value);
}

void owl_json_canonical(struct owl_buf *b, owl_str proved)
{
    struct owl_node some[64];
    struct writing w = {.out = b, .arena = owl_arena_new(0)};
    owl_tree_init(&w.tree, some, OWL_COUNT(some));
    int rc = w.arena ? owl_tree_read(&w.tree, proved) : -OWL_ENOMEM;
    if (b->rc == 0)
        b->rc = rc;
    if (b->rc == 0)
        put_value(&w, 0);
    while (b->rc == 0 && w.depth > 0)
        step(&w);
    owl_tree_done(&w.tree);
    owl_arena_free(w.arena);
}

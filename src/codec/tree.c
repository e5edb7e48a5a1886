/* codec/tree.c - an index of proved JSON text.
 * Threads: pure; a tree that was read is immutable.
 *
 * While a container is open its `next` names the container around it: the index is its own stack,
 * and no depth is too deep. */
#include "codec/tree.h"

#include "base/alloc.h"
#include "base/map.h"
#include "codec/decimal.h"
#include "codec/text.h"

void owl_tree_init(struct owl_tree *t, struct owl_node *nodes, uint32_t cap)
{
    *t = (struct owl_tree){.nodes = nodes, .cap = cap};
}

void owl_tree_done(struct owl_tree *t)
{
    if (t->heap)
        owl_free(t->nodes);
    *t = (struct owl_tree){0};
}

static int grow(struct owl_tree *t)
{
    uint32_t cap = t->cap < 64 ? 128 : t->cap * 2;
    struct owl_node *nodes = owl_realloc(t->heap ? t->nodes : NULL, cap * sizeof *nodes);
    if (!nodes)
        return -OWL_ENOMEM;
    if (!t->heap && t->cap > 0)
        memcpy(nodes, t->nodes, t->cap * sizeof *nodes);
    t->nodes = nodes;
    t->cap = cap;
    t->heap = true;
    return 0;
}

/* What is still to be read of a text. */
struct reading {
    const char *text, *p, *end;
    struct owl_text__window window;
};

/* Each field is written once: a node that is copied whole waits for the writes of its parts. */
static inline __attribute__((always_inline)) void read_string(struct reading *r, uint32_t next,
                                                              struct owl_node *v)
{
    const char *from = r->p + 1;
    const char *p = owl_text__run(&r->window, from, r->end, true);
    bool escaped = false;
    while (OWL_UNLIKELY(*p == '\\')) {
        escaped = true;
        p = owl_text__run(&r->window, p + 2, r->end, true);
    }
    r->p = p + 1;
    v->at = (uint32_t)(from - r->text);
    v->n = (uint32_t)(p - from);
    v->next = next;
    v->count = 0;
    v->kind = OWL_NODE_STRING;
    v->escaped = escaped;
    v->whole = false;
}

static inline void read_number(struct reading *r, struct owl_node *v)
{
    const char *p = r->p + 1, *end = r->end;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    v->whole = p == end || (*p != '.' && (*p | 0x20) != 'e');
    while (!v->whole && p<end && * p> ' ' && *p != ',' && *p != ']' && *p != '}')
        p++;
    v->n = (uint32_t)(p - r->p);
    v->kind = OWL_NODE_NUMBER;
    r->p = p;
}

static inline void read_word(struct reading *r, struct owl_node *v)
{
    v->kind = *r->p == 'n' ? OWL_NODE_NULL : *r->p == 't' ? OWL_NODE_TRUE : OWL_NODE_FALSE;
    v->n = *r->p == 'f' ? 5 : 4;
    r->p += v->n;
}

/* What stands between two values at r->p: blanks, colons, commas, and the ends of containers, of
 * which *@p open is the innermost. @p n nodes have been read. */
static inline __attribute__((always_inline)) void
read_between(struct reading *r, struct owl_node *nodes, uint32_t n, uint32_t *open)
{
    for (; r->p < r->end; r->p++) {
        char c = *r->p;
        if (c == '"')
            return;
        if (c == ',') {
            nodes[*open].count++;
        } else if (c == '}' || c == ']') {
            struct owl_node *v = &nodes[*open];
            v->n = (uint32_t)(r->p + 1 - r->text) - v->at;
            v->count += n > *open + 1; /* there is a comma less than there are values */
            *open = v->next;
            v->next = n;
        } else if (c != ':' && c > ' ') {
            return;
        }
    }
}

int owl_tree_read(struct owl_tree *t, owl_str proved)
{
    if (proved.n >= (size_t)INT32_MAX)
        return -OWL_ELIMIT;
    struct reading r = {proved.p, proved.p, proved.p + proved.n, {proved.p, 0}};
    struct owl_node *nodes = t->nodes;
    uint32_t n = 0, open = 0;
    t->text = proved.p;
    t->n = 0;
    while (r.p < r.end && *r.p <= ' ')
        r.p++;
    while (r.p < r.end) {
        if (OWL_UNLIKELY(n == t->cap)) {
            if (grow(t))
                return -OWL_ENOMEM;
            nodes = t->nodes;
        }
        struct owl_node *v = &nodes[n++];
        char c = *r.p;
        if (c == '"') {
            read_string(&r, n, v);
            if (OWL_LIKELY(r.end - r.p >= 2 && r.p[0] == ':' && r.p[1] > ' ')) {
                r.p++; /* most keys: what follows is a value */
                continue;
            }
        } else {
            *v = (struct owl_node){.at = (uint32_t)(r.p - proved.p), .next = n};
            if (c == '{' || c == '[') {
                v->kind = c == '{' ? OWL_NODE_OBJECT : OWL_NODE_ARRAY;
                v->next = open;
                open = n - 1;
                r.p++;
            } else if (c >= 'a') {
                read_word(&r, v);
            } else {
                read_number(&r, v);
            }
        }
        read_between(&r, nodes, n, &open);
    }
    t->n = n;
    return 0;
}

/* ---- strings -------------------------------------------------------------------------------- */

bool owl_tree_is(const struct owl_tree *t, uint32_t string, owl_str s)
{
    owl_str raw = owl_tree_text(t, string);
    return t->nodes[string].escaped ? owl_text__equals(raw, s) : owl_str_eq(raw, s);
}

uint32_t owl_tree_get(const struct owl_tree *t, uint32_t object, owl_str key)
{
    if (t->nodes[object].kind != OWL_NODE_OBJECT)
        return 0;
    for (uint32_t c = object + 1; c < t->nodes[object].next; c = t->nodes[c + 1].next) {
        if (owl_tree_is(t, c, key))
            return c + 1;
    }
    return 0;
}

owl_str owl_tree_decode(const struct owl_tree *t, uint32_t string, struct owl_arena *a)
{
    owl_str raw = owl_tree_text(t, string);
    char *out = owl_arena_alloc(a, raw.n + 1);
    if (!out)
        return (owl_str){NULL, 0};
    size_t n = owl_text__decode(raw, out);
    out[n] = '\0';
    return (owl_str){out, n};
}

/* The next decoded bytes of the inside of a string. */
static size_t decode_some(const char **p, char out[4])
{
    if (**p == '\\')
        return owl_text__escape(p, out);
    out[0] = *(*p)++;
    return 1;
}

/* Two strings of which both may hold escapes. */
static bool same_string(owl_str a, bool a_escaped, owl_str b, bool b_escaped)
{
    if (!a_escaped || !b_escaped) {
        if (!a_escaped && !b_escaped)
            return owl_str_eq(a, b);
        return a_escaped ? owl_text__equals(a, b) : owl_text__equals(b, a);
    }
    const char *p = a.p, *q = b.p;
    char x[4], y[4];
    size_t nx = 0, ny = 0, ix = 0, iy = 0;
    for (;;) {
        if (ix == nx && p < a.p + a.n) {
            nx = decode_some(&p, x);
            ix = 0;
        }
        if (iy == ny && q < b.p + b.n) {
            ny = decode_some(&q, y);
            iy = 0;
        }
        if (ix == nx || iy == ny)
            return ix == nx && iy == ny;
        if (x[ix++] != y[iy++])
            return false;
    }
}

/* ---- equality ------------------------------------------------------------------------------- */

/* A pair of containers that is being compared. */
struct pair {
    uint32_t a, a_end; /* the next child of the one, and its end */
    uint32_t b;        /* array: the next element; object: the member that is expected */
    uint32_t b_object; /* the object to look in */
    bool object;
};

static uint64_t spend(uint64_t *work, uint64_t n)
{
    *work = *work > n ? *work - n : 0;
    return *work;
}

/* What it takes to compare two scalars beyond the step that each takes: only long ones cost more. */
static uint64_t extra_steps(const struct owl_node *x, const struct owl_node *y)
{
    enum { SHORT = 128, BYTES_A_STEP = 16 };
    uint64_t n = (uint64_t)x->n + y->n;
    bool free = x->kind == OWL_NODE_STRING && !x->escaped && !y->escaped && x->n != y->n;
    return n <= SHORT || free ? 0 : n / BYTES_A_STEP;
}

/* Scalars, and of containers the kind and size. */
static bool same_outside(const struct owl_tree *a, uint32_t i, const struct owl_tree *b, uint32_t j,
                         uint64_t *work)
{
    const struct owl_node *x = &a->nodes[i], *y = &b->nodes[j];
    if (x->kind != y->kind)
        return false;
    if (x->kind < OWL_NODE_ARRAY && extra_steps(x, y) > 0 && spend(work, extra_steps(x, y)) == 0)
        return false;
    switch (x->kind) {
    case OWL_NODE_STRING:
        return same_string(owl_tree_text(a, i), x->escaped, owl_tree_text(b, j), y->escaped);
    case OWL_NODE_NUMBER: {
        struct owl_decimal d = owl_decimal_of(owl_tree_text(a, i));
        struct owl_decimal e = owl_decimal_of(owl_tree_text(b, j));
        return owl_decimal_cmp(&d, &e) == 0;
    }
    case OWL_NODE_ARRAY:
    case OWL_NODE_OBJECT: return x->count == y->count;
    default: return true;
    }
}

/* The value in b of the key at p->a, or 0. Members are mostly in the same order. */
static uint32_t partner(const struct owl_tree *a, const struct owl_tree *b, struct pair *p,
                        uint64_t *work)
{
    uint32_t end = b->nodes[p->b_object].next;
    uint32_t start = p->b < end ? p->b : p->b_object + 1;
    uint32_t k = start;
    do {
        if (spend(work, 1) == 0)
            return 0;
        if (same_outside(a, p->a, b, k, work)) {
            p->b = b->nodes[k + 1].next;
            return k + 1;
        }
        k = b->nodes[k + 1].next;
        if (k >= end)
            k = p->b_object + 1;
    } while (k != start);
    return 0;
}

static struct pair pair_of(const struct owl_tree *a, uint32_t i, uint32_t j)
{
    return (struct pair){.a = i + 1,
                         .a_end = a->nodes[i].next,
                         .b = j + 1,
                         .b_object = j,
                         .object = a->nodes[i].kind == OWL_NODE_OBJECT};
}

enum { PAIRS = 64 };

static int more_pairs(struct pair **stack, struct pair *local, uint32_t *cap)
{
    struct pair *grown = owl_realloc(*stack == local ? NULL : *stack, *cap * 2 * sizeof *grown);
    if (!grown)
        return -OWL_ENOMEM;
    if (*stack == local)
        memcpy(grown, local, *cap * sizeof *grown);
    *stack = grown;
    *cap *= 2;
    return 0;
}

int owl_tree_equal(const struct owl_tree *a, uint32_t node_a, const struct owl_tree *b,
                   uint32_t node_b, uint64_t *work, bool *ret)
{
    bool same = same_outside(a, node_a, b, node_b, work);
    if (!same || a->nodes[node_a].kind < OWL_NODE_ARRAY) {
        *ret = same;
        return 0;
    }
    struct pair local[PAIRS], *stack = local;
    uint32_t depth = 1, cap = PAIRS;
    int rc = 0;
    stack[0] = pair_of(a, node_a, node_b);
    while (depth > 0 && same && rc == 0 && spend(work, 1) > 0) {
        struct pair *p = &stack[depth - 1];
        if (p->a == p->a_end) {
            depth--;
            continue;
        }
        uint32_t i = p->a, j = p->b;
        if (p->object) {
            j = partner(a, b, p, work);
            i++;
        } else {
            p->b = b->nodes[j].next;
        }
        p->a = a->nodes[i].next;
        same = j > 0 && same_outside(a, i, b, j, work);
        if (!same || a->nodes[i].kind < OWL_NODE_ARRAY)
            continue;
        if (depth == cap)
            rc = more_pairs(&stack, local, &cap);
        if (rc == 0)
            stack[depth++] = pair_of(a, i, j);
    }
    if (stack != local)
        owl_free(stack);
    if (rc == 0)
        *ret = same;
    return rc;
}

/* ---- hashes --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xd1342543de82ef95u;
    return h ^ (h >> 29);
}

/* Of the decoded bytes, piece by piece. */
static uint64_t hash_string(const struct owl_tree *t, uint32_t i)
{
    enum { PIECE = 256 };
    char bytes[PIECE + 4];
    size_t n = 0;
    uint64_t hash = 0;
    owl_str raw = owl_tree_text(t, i);
    const char *p = raw.p, *end = raw.p + raw.n;
    if (!t->nodes[i].escaped) {
        for (; end - p > PIECE; p += PIECE)
            hash = mix(hash, owl_hash((owl_str){p, PIECE}));
        return mix(hash, owl_hash((owl_str){p, (size_t)(end - p)}));
    }
    while (p < end) {
        n += decode_some(&p, bytes + n);
        if (n <= PIECE)
            continue;
        hash = mix(hash, owl_hash((owl_str){bytes, PIECE}));
        n -= PIECE;
        memmove(bytes, bytes + PIECE, n);
    }
    return mix(hash, owl_hash((owl_str){bytes, n}));
}

static uint64_t hash_scalar(const struct owl_tree *t, uint32_t i)
{
    const struct owl_node *v = &t->nodes[i];
    if (v->kind == OWL_NODE_STRING)
        return hash_string(t, i);
    if (v->kind == OWL_NODE_NUMBER) {
        struct owl_decimal d = owl_decimal_of(owl_tree_text(t, i));
        return owl_decimal_hash(&d);
    }
    return mix(v->kind, v->count);
}

/* A sum over all that is in the value, each with the hash of its path: the order of members does
 * not matter, that of elements does. Below the 16th level paths are no longer told apart. */
uint64_t owl_tree_hash(const struct owl_tree *t, uint32_t node)
{
    enum { LEVELS = 16 };
    struct {
        uint64_t path;
        uint32_t end, index;
        bool object;
    } open[LEVELS];
    unsigned depth = 0;
    uint64_t sum = 0;
    for (uint32_t i = node; i < t->nodes[node].next; i++) {
        while (depth > 0 && i >= open[depth - 1].end)
            depth--;
        uint64_t path = 0;
        if (depth > 0) {
            path = open[depth - 1].path;
            if (depth == LEVELS)
                path = mix(path, 7);
            else if (open[depth - 1].object)
                path = mix(path, hash_scalar(t, i++));
            else
                path = mix(path, open[depth - 1].index++);
        }
        sum += mix(path, hash_scalar(t, i));
        if (t->nodes[i].kind < OWL_NODE_ARRAY || depth == LEVELS)
            continue;
        open[depth].path = mix(path, 3);
        open[depth].end = t->nodes[i].next;
        open[depth].index = 0;
        open[depth].object = t->nodes[i].kind == OWL_NODE_OBJECT;
        depth++;
    }
    return sum;
}

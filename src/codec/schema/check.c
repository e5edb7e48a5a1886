/* codec/schema/check.c - the operations that only look at one value.
 * Threads: that of the machine. */
#include "codec/schema/run.h"

#include "base/alloc.h"
#include "codec/text.h"

/* Of what is longer than this, every so many bytes are a step; a division is one for less. */
enum { SHORT_NUMBER = 64, BYTES_A_STEP = 16, DIGITS_A_STEP = 2 };

owl_str owl_machine__decode(struct owl_machine *m, uint32_t node)
{
    owl_str raw = owl_tree_text(m->t, node);
    if (raw.n > OWL_MACHINE_TEXT && !owl_machine__spend(m, raw.n / BYTES_A_STEP))
        return (owl_str){NULL, 0};
    if (raw.n > m->text_cap) {
        char *text = owl_realloc(m->text == m->own_text ? NULL : m->text, raw.n);
        if (!text) {
            owl_machine__stop(m, -OWL_ENOMEM, NULL);
            return (owl_str){NULL, 0};
        }
        m->text = text;
        m->text_cap = raw.n;
    }
    return (owl_str){m->text, owl_text__decode(raw, m->text)};
}

bool owl_machine__search(struct owl_machine *m, const struct owl_regex *re, uint32_t node)
{
    owl_str s = owl_machine__string(m, node);
    bool found = false;
    if (!s.p)
        return false;
    m->matcher.budget = m->work;
    int rc = owl_regex_search(re, &m->matcher, s, &found);
    if (rc == -OWL_EBUSY) {
        owl_machine__stop(m, -OWL_ELIMIT, "a pattern takes too many steps to match");
        m->work = 0;
        return false;
    }
    if (rc)
        owl_machine__stop(m, rc, rc == -OWL_ENOMEM ? NULL : m->matcher.why);
    return owl_machine__spend(m, m->matcher.cost) && found;
}

/* Whether the value equals another one, which is in @p t. */
static inline __attribute__((always_inline)) bool
equals(struct owl_machine *m, const struct owl_tree *t, uint32_t other, uint32_t node)
{
    bool same = false;
    int rc = owl_tree_equal(t, other, m->t, node, &m->work, &same);
    if (rc)
        owl_machine__stop(m, rc, NULL);
    return owl_machine__spend(m, 1) && same && m->rc == 0;
}

static bool in_set(struct owl_machine *m, const struct owl_unit *u, const struct owl_enum *set,
                   uint32_t node)
{
    if (m->t->nodes[node].kind == OWL_NODE_STRING) {
        struct owl_name name = owl_machine__name(m, node);
        return name.s.p && owl_names__find(&set->strings, name) < set->strings.n;
    }
    for (uint32_t i = 0; i < set->n_others && m->rc == 0; i++) {
        if (equals(m, &u->resource->doc->tree, set->others[i], node))
            return true;
    }
    return false;
}

static bool in_order(const struct owl_op *op, int order)
{
    switch (op->keyword) {
    case OWL_KW_MAXIMUM: return order <= 0;
    case OWL_KW_EXCLUSIVE_MAXIMUM: return order < 0;
    case OWL_KW_MINIMUM: return order >= 0;
    default: return order > 0;
    }
}

/* Whether the verdict would be another one of what a program reads. Rounding keeps the order of numbers
 * but for those that it makes equal. */
static bool rounds_across(const struct owl_op *op, const struct owl_decimal *d, int order)
{
    int64_t exact;
    return in_order(op, order) != in_order(op, 0) &&
           OWL_UNLIKELY(owl_decimal_same_double(d, &op->u.bound->number)) &&
           !owl_decimal_i64(d, &exact);
}

static bool compare(struct owl_machine *m, const struct owl_op *op, const struct owl_unit *u,
                    uint32_t node)
{
    const struct owl_bound *bound = op->u.bound;
    int64_t v;
    if (OWL_LIKELY(bound->is_small && owl_tree__small(m->t, node, &v)))
        return in_order(op, v < bound->small ? -1 : v > bound->small);
    struct owl_decimal d = owl_decimal_of(owl_tree_text(m->t, node));
    int order = owl_decimal_cmp(&d, &bound->number);
    if (!m->rounds && rounds_across(op, &d, order)) {
        m->rounds = true;
        m->rounded = (struct owl_miss){u, op, node, op->keyword, op->at, 1, {0}};
    }
    return in_order(op, order);
}

/* Characters (code points) of a string. */
static uint64_t length_of(const struct owl_tree *t, uint32_t node)
{
    owl_str s = owl_tree_text(t, node);
    uint64_t n = 0;
    for (size_t i = 0; i < s.n;) {
        if (OWL_LIKELY(s.p[i] != '\\')) {
            n += (s.p[i++] & 0xc0) != 0x80; /* the first byte of each counts */
            continue;
        }
        const char *at = s.p + i;
        char decoded[4];
        OWL_IGNORE(owl_text__escape(&at, decoded)); /* only how far it goes matters */
        i = (size_t)(at - s.p);
        n++;
    }
    return n;
}

/* Bytes tell most: a character has 1 to 4, or up to 12 if it is escaped. */
static bool length_fits(struct owl_machine *m, const struct owl_op *op, uint32_t node)
{
    const uint64_t bytes = m->t->nodes[node].n, limit = op->u.limit;
    const uint64_t least = m->t->nodes[node].escaped ? bytes / 12 : bytes / 4;
    bool longest = op->keyword == OWL_KW_MAX_LENGTH;
    if (bytes < limit + longest)
        return longest;
    if (least > limit)
        return !longest;
    if (!owl_machine__spend(m, bytes / BYTES_A_STEP))
        return false;
    uint64_t n = length_of(m->t, node);
    return longest ? n <= limit : n >= limit;
}

static bool count_fits(const struct owl_machine *m, const struct owl_op *op, uint32_t node)
{
    uint64_t n = m->t->nodes[node].count;
    bool most = op->keyword == OWL_KW_MAX_ITEMS || op->keyword == OWL_KW_MAX_PROPERTIES;
    return most ? n <= op->u.limit : n >= op->u.limit;
}

/* ---- uniqueItems ---------------------------------------------------------------------------- */

/* Both tell the first item that equals one before it, and that one. */
static bool few_unique(struct owl_machine *m, uint32_t array, uint32_t equal[2])
{
    const struct owl_node *nodes = m->t->nodes;
    uint32_t end = nodes[array].next;
    for (uint32_t a = array + 1; a < end; a = nodes[a].next) {
        for (uint32_t b = nodes[a].next; b < end; b = nodes[b].next) {
            if (!equals(m, m->t, a, b) && m->rc == 0)
                continue;
            if (!m->report || m->rc)
                return false;
            equal[0] = a;
            equal[1] = end = b; /* two that come before it may be equal, too */
        }
    }
    return equal[1] == 0;
}

struct hashed {
    uint64_t hash;
    uint32_t node; /* 0: free */
};

static bool many_unique(struct owl_machine *m, uint32_t array, uint32_t equal[2])
{
    const struct owl_node *nodes = m->t->nodes;
    uint32_t size = 64;
    while (size < nodes[array].count * 2)
        size *= 2;
    if (!owl_machine__spend(m, nodes[array].next - array + nodes[array].n / BYTES_A_STEP))
        return false;
    struct hashed *table = owl_calloc(size, sizeof *table);
    if (!table) {
        owl_machine__stop(m, -OWL_ENOMEM, NULL);
        return false;
    }
    bool unique = true;
    for (uint32_t e = array + 1; e < nodes[array].next && unique; e = nodes[e].next) {
        uint64_t hash = owl_tree_hash(m->t, e);
        uint64_t i = hash & (size - 1);
        for (; table[i].node && unique; i = (i + 1) & (size - 1)) {
            equal[0] = table[i].node;
            equal[1] = e;
            unique = owl_machine__spend(m, 1) &&
                     (table[i].hash != hash || !equals(m, m->t, table[i].node, e)) && m->rc == 0;
        }
        if (unique)
            table[i] = (struct hashed){hash, e};
    }
    owl_free(table);
    return unique;
}

static bool unique(struct owl_machine *m, const struct owl_op *op, const struct owl_unit *u,
                   uint32_t node)
{
    uint32_t equal[2] = {0};
    if (m->t->nodes[node].count <= 8 ? few_unique(m, node, equal) : many_unique(m, node, equal))
        return true;
    const struct owl_miss miss = {u, op, node, op->keyword, op->at, 0, {equal[0], equal[1]}};
    if (m->report && m->rc == 0)
        owl_report__add(m->report, &miss);
    return false;
}

/* ---- all ------------------------------------------------------------------------------------ */

static bool dependents_there(struct owl_machine *m, const struct owl_op *op,
                             const struct owl_unit *u, uint32_t node)
{
    bool all = true;
    for (uint32_t i = 0; i < op->n; i++) {
        const struct owl_dependency *d = &op->u.dependencies[i];
        if (!owl_machine__spend(m, m->t->nodes[node].count) || !owl_tree_get(m->t, node, d->name))
            continue;
        for (uint32_t j = 0; j < d->n_needs; j++) {
            if (!owl_machine__spend(m, m->t->nodes[node].count) ||
                owl_tree_get(m->t, node, d->needs[j]))
                continue;
            all = false;
            if (!m->report)
                return false;
            const struct owl_miss miss = {u, op, node, op->keyword, op->at, i, {j}};
            owl_report__add(m->report, &miss);
        }
    }
    return all;
}

/* A long number has to be read. */
static bool read_long(struct owl_machine *m, const struct owl_op *op, uint32_t n)
{
    return owl_machine__spend(m, n / (op->code == OWL_OP_MULTIPLE ? DIGITS_A_STEP : BYTES_A_STEP));
}

__attribute__((noinline)) static bool check(struct owl_machine *m, const struct owl_op *op,
                                            const struct owl_unit *u, uint32_t node)
{
    const struct owl_node *v = &m->t->nodes[node];
    struct owl_decimal d;
    owl_str s;
    bool holds;
    if (OWL_UNLIKELY(v->kind == OWL_NODE_NUMBER && v->n > SHORT_NUMBER) && !read_long(m, op, v->n))
        return false;
    switch (op->code) {
    case OWL_OP_TYPE: /* the kind is not among the types, but a number may be an integer */
        if (v->kind != OWL_NODE_NUMBER || !(op->types & OWL_KIND_INTEGER))
            return false;
        d = owl_decimal_of(owl_tree_text(m->t, node));
        return owl_decimal_is_integer(&d);
    case OWL_OP_CONST: return equals(m, &u->resource->doc->tree, op->at, node);
    case OWL_OP_ENUM: return in_set(m, u, op->u.set, node);
    case OWL_OP_MULTIPLE:
        d = owl_decimal_of(owl_tree_text(m->t, node));
        return owl_decimal_is_multiple(&d, &op->u.bound->number);
    case OWL_OP_COMPARE: return compare(m, op, u, node);
    case OWL_OP_LENGTH: return length_fits(m, op, node);
    case OWL_OP_PATTERN: return owl_machine__search(m, op->u.regex, node);
    case OWL_OP_FORMAT:
        s = owl_machine__string(m, node);
        holds = s.p && owl_format__holds(op->u.name, s, &m->work);
        return owl_machine__spend(m, 1) && holds;
    case OWL_OP_COUNT: return count_fits(m, op, node);
    case OWL_OP_UNIQUE: return unique(m, op, u, node);
    case OWL_OP_DEPENDENT_REQUIRED: return dependents_there(m, op, u, node);
    default: return false;
    }
}

/* What most checks that look at a number ask for. */
static inline bool is_integer(const struct owl_op *op, const struct owl_node *v)
{
    return v->whole && op->code == OWL_OP_TYPE && (op->types & OWL_KIND_INTEGER);
}

/* Notes that a check has failed. False: nobody asks for more. */
__attribute__((cold, noinline)) static bool go_on(struct owl_machine *m, const struct owl_op *op,
                                                  const struct owl_unit *u, uint32_t node)
{
    if (!m->report || m->rc)
        return false;
    const struct owl_miss miss = {u, op, node, op->keyword, op->at, 0, {0}};
    if (op->code != OWL_OP_DEPENDENT_REQUIRED && op->code != OWL_OP_UNIQUE) /* noted already */
        owl_report__add(m->report, &miss);
    return true;
}

bool owl_machine__checks(struct owl_machine *m, const struct owl_unit *u, uint32_t pc, uint32_t end,
                         uint32_t node)
{
    const struct owl_node *v = &m->t->nodes[node];
    bool ok = true;
    for (; pc < end; pc++) {
        const struct owl_op *op = &u->ops[pc];
        if (!(op->kinds >> v->kind & 1) || is_integer(op, v) || check(m, op, u, node))
            continue;
        ok = false;
        if (!go_on(m, op, u, node))
            break;
    }
    return ok;
}

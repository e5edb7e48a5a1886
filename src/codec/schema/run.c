/* codec/schema/run.c - runs a compiled schema over an instance.
 * Threads: that of the caller; a run shares nothing with others but the schema.
 *
 * There is a stack of frames instead of recursion. An operation that needs the verdict of another
 * unit pushes a frame for it, returns WAIT and is called again with `resumed` set when that unit has
 * ended; units that run no others are run at once, without a frame. Invariant: a frame is not
 * touched after a push, which may move the stack. */
#include "codec/schema/run.h"

#include "base/alloc.h"

enum flow { PASS, FAIL, WAIT };

void owl_machine__init(struct owl_machine *m, const struct owl_schema *s, const struct owl_tree *t,
                       struct owl_report *report)
{
    m->s = s;
    m->t = t;
    m->end = t->text + t->nodes[0].at + t->nodes[0].n;
    m->report = report;
    m->work = s->max_work;
    m->rc = 0;
    m->why = NULL;
    m->verdict = m->rounds = false;
    m->frames = m->own_frames;
    m->depth = 0;
    m->frames_cap = OWL_MACHINE_FRAMES;
    m->bits = m->own_bits;
    m->bits_n = 0;
    m->bits_cap = OWL_MACHINE_BITS;
    m->text = m->own_text;
    m->text_cap = OWL_MACHINE_TEXT;
    owl_matcher_init(&m->matcher, s->max_match);
}

void owl_machine__done(struct owl_machine *m)
{
    if (m->frames != m->own_frames)
        owl_free(m->frames);
    if (m->bits != m->own_bits)
        owl_free(m->bits);
    if (m->text != m->own_text)
        owl_free(m->text);
    owl_matcher_done(&m->matcher);
}

void owl_machine__stop(struct owl_machine *m, int rc, const char *why)
{
    if (m->rc == 0) {
        m->rc = rc;
        m->why = why;
    }
}

/* ---- frames --------------------------------------------------------------------------------- */

/* Room for one more frame. */
static bool grow_frames(struct owl_machine *m)
{
    if (m->depth >= m->s->max_depth) {
        owl_machine__stop(m, -OWL_ELIMIT,
                          "schemas are nested too deeply, or refer to themselves without end");
        return false;
    }
    if (m->depth < m->frames_cap)
        return true;
    size_t size = m->frames_cap * sizeof *m->frames;
    struct owl_frame *grown = owl_realloc(m->frames == m->own_frames ? NULL : m->frames, size * 2);
    if (!grown) {
        owl_machine__stop(m, -OWL_ENOMEM, NULL);
        return false;
    }
    if (m->frames == m->own_frames)
        memcpy(grown, m->own_frames, size);
    m->frames = grown;
    m->frames_cap *= 2;
    return true;
}

static uint32_t words_of(const struct owl_machine *m, uint32_t node)
{
    return m->t->nodes[node].count / 64 + 1;
}

/* An empty set for the children of the value. */
static bool push_bits(struct owl_machine *m, struct owl_frame *f)
{
    uint32_t n = words_of(m, f->node);
    if (!owl_machine__spend(m, n))
        return false;
    if (n > m->bits_cap - m->bits_n) {
        uint32_t cap = (m->bits_cap + n) * 2;
        uint64_t *grown = owl_realloc(m->bits == m->own_bits ? NULL : m->bits, cap * sizeof *grown);
        if (!grown) {
            owl_machine__stop(m, -OWL_ENOMEM, NULL);
            return false;
        }
        if (m->bits == m->own_bits)
            memcpy(grown, m->own_bits, m->bits_n * sizeof *grown);
        m->bits = grown;
        m->bits_cap = cap;
    }
    f->bits = m->bits_n;
    memset(m->bits + f->bits, 0, n * sizeof *m->bits);
    m->bits_n += n;
    return true;
}

static void set_bit(struct owl_machine *m, const struct owl_frame *f, uint32_t i)
{
    if (f->tracks)
        m->bits[f->bits + i / 64] |= UINT64_C(1) << (i % 64);
}

static bool bit(const struct owl_machine *m, const struct owl_frame *f, uint32_t i)
{
    return m->bits[f->bits + i / 64] >> (i % 64) & 1;
}

/* The checks of the unit are done. */
static void push(struct owl_machine *m, const struct owl_unit *u, uint32_t node, bool in_place,
                 bool failed)
{
    if (!grow_frames(m))
        return;
    const struct owl_frame *below = m->depth > 0 ? &m->frames[m->depth - 1] : NULL;
    struct owl_frame *f = &m->frames[m->depth];
    *f = (struct owl_frame){.unit = u,
                            .node = node,
                            .pc = u->n_checks,
                            .bits = m->bits_n,
                            .in_place = in_place,
                            .failed = failed};
    f->mark = m->report ? m->report->n : 0;
    f->tracks = (u->tracks || (in_place && below && below->tracks)) &&
                m->t->nodes[node].kind >= OWL_NODE_ARRAY;
    if (!f->tracks || push_bits(m, f))
        m->depth++;
}

/* The topmost unit has ended. */
static void pop(struct owl_machine *m)
{
    struct owl_frame *f = &m->frames[--m->depth];
    m->verdict = !f->failed;
    m->bits_n = f->bits;
    if (m->depth == 0)
        return;
    struct owl_frame *below = f - 1;
    below->resumed = true;
    if (!f->failed && f->in_place && f->tracks && below->tracks) {
        for (uint32_t i = 0; i < words_of(m, f->node); i++)
            m->bits[below->bits + i] |= m->bits[f->bits + i];
    }
}

/* Whether an enum is all that is checked of the value, and has it. */
static inline __attribute__((always_inline)) bool
is_listed(const struct owl_machine *m, const struct owl_unit *u, const struct owl_node *v)
{
    if (!u->strings || v->kind != OWL_NODE_STRING || v->escaped)
        return false;
    struct owl_name name = owl_name_within((owl_str){m->t->text + v->at, v->n}, m->end);
    return owl_names__find(u->strings, name) < u->strings->n;
}

/* Runs a unit on a value, for which the caller has spent a step. WAIT: do not touch the frame
 * again. */
static inline __attribute__((always_inline)) enum flow
judge(struct owl_machine *m, const struct owl_unit *u, uint32_t node, bool in_place)
{
    while (u->same && owl_machine__spend(m, 1))
        u = u->same;
    const struct owl_node *v = &m->t->nodes[node];
    unsigned kind = 1u << v->kind;
    bool ok = !(u->checks & kind) || is_listed(m, u, v) ||
              owl_machine__checks(m, u, 0, u->n_checks, node);
    if (!(u->enters & kind) || (!ok && !m->report))
        return ok ? PASS : FAIL;
    push(m, u, node, in_place, !ok);
    return WAIT;
}

/* The same, for callers that treat all units alike. True: it has ended, f->resumed is set; false:
 * wait. */
__attribute__((noinline)) static bool apply(struct owl_machine *m, struct owl_frame *f,
                                            const struct owl_unit *u, uint32_t node, bool in_place)
{
    enum flow flow = owl_machine__spend(m, 1) ? judge(m, u, node, in_place) : FAIL;
    if (flow == WAIT)
        return false;
    m->verdict = flow == PASS;
    f->resumed = true;
    return true;
}

/* Takes the verdict that was waited for. False: it is bad, and nobody asks for more. */
static bool good_enough(struct owl_machine *m, struct owl_frame *f)
{
    f->resumed = false;
    f->bad |= !m->verdict;
    return m->verdict || m->report;
}

static void miss(struct owl_machine *m, const struct owl_frame *f, const struct owl_op *op,
                 uint32_t extra, uint32_t first, uint32_t second)
{
    const struct owl_miss v = {f->unit, op, f->node, op->keyword, op->at, extra, {first, second}};
    if (m->report)
        owl_report__add(m->report, &v);
}

/* What was noted since the operation began. */
static void forget(struct owl_machine *m, const struct owl_frame *f)
{
    if (m->report)
        m->report->n = f->mark;
}

/* ---- on the same value ---------------------------------------------------------------------- */

static enum flow all_of(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    for (;;) {
        if (f->resumed) {
            if (!good_enough(m, f))
                return FAIL;
            f->at++;
        }
        if (f->at == op->n)
            return f->bad ? FAIL : PASS;
        if (!apply(m, f, op->u.units[f->at], f->node, true))
            return WAIT;
    }
}

/* Counts the alternatives that fit, until there are more than @p enough. False: to be resumed. */
static bool count_fitting(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op,
                          size_t enough)
{
    for (;;) {
        if (f->resumed) {
            f->resumed = false;
            if (m->verdict && f->hits < 2) /* the first that fit are told */
                *(f->hits == 0 ? &f->index : &f->step) = f->at;
            f->hits += m->verdict;
            if (!m->verdict && m->report)
                owl_report__branch(m->report, f);
            f->at++;
        }
        if (f->at == op->n || f->hits > enough)
            return true;
        if (!apply(m, f, op->u.units[f->at], f->node, true))
            return false;
    }
}

static enum flow any_of(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    if (!count_fitting(m, f, op, f->tracks ? SIZE_MAX : 0))
        return WAIT;
    if (f->hits > 0) {
        forget(m, f);
        return PASS;
    }
    miss(m, f, op, 0, 0, 0);
    return FAIL;
}

static enum flow one_of(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    if (!count_fitting(m, f, op, m->report ? SIZE_MAX : 1))
        return WAIT;
    if (f->hits > 0)
        forget(m, f);
    if (f->hits == 1)
        return PASS;
    miss(m, f, op, (uint32_t)f->hits, f->index, f->step);
    return FAIL;
}

static enum flow negation(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    if (!f->resumed && !apply(m, f, op->u.units[0], f->node, true))
        return WAIT;
    f->resumed = false;
    forget(m, f);
    if (!m->verdict)
        return PASS;
    miss(m, f, op, 0, 0, 0);
    return FAIL;
}

static enum flow condition(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    if (!f->resumed && !apply(m, f, op->u.units[0], f->node, true))
        return WAIT;
    f->resumed = false;
    if (f->at == 0) {
        forget(m, f);
        f->at = m->verdict ? 1 : 2;
        const struct owl_unit *branch = op->u.units[f->at];
        if (!branch)
            return PASS;
        if (!apply(m, f, branch, f->node, true))
            return WAIT;
        f->resumed = false;
    }
    return m->verdict ? PASS : FAIL;
}

static enum flow dependent(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    for (;;) {
        if (f->resumed) {
            if (!good_enough(m, f))
                return FAIL;
            f->at++;
        }
        if (f->at == op->n)
            return f->bad ? FAIL : PASS;
        const struct owl_dependency *d = &op->u.dependencies[f->at];
        uint32_t count = m->t->nodes[f->node].count;
        if (!owl_machine__spend(m, 1 + count))
            return FAIL;
        if (!owl_tree_get(m->t, f->node, d->name)) {
            f->at++;
            continue;
        }
        if (d->unit) {
            if (!apply(m, f, d->unit, f->node, true))
                return WAIT;
            continue;
        }
        m->verdict = f->resumed = true;
        for (uint32_t j = 0; j < d->n_needs && owl_machine__spend(m, count); j++) {
            if (owl_tree_get(m->t, f->node, d->needs[j]))
                continue;
            m->verdict = false;
            miss(m, f, op, f->at, j, 0);
        }
    }
}

/* The outermost schema on the way here that has the dynamic anchor. */
static const struct owl_unit *dynamic_target(struct owl_machine *m, const struct owl_dependency *d)
{
    const struct owl_resource *last = NULL;
    for (uint32_t i = 0; i < m->depth && owl_machine__spend(m, 1); i++) {
        const struct owl_resource *r = m->frames[i].unit->resource;
        if (r == last)
            continue;
        last = r;
        for (const struct owl_anchor *a = r->anchors; a; a = a->next) {
            if (a->dynamic && owl_str_eq(a->name, d->name))
                return a->unit;
        }
    }
    return d->unit;
}

static enum flow reference(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    if (!f->resumed) {
        const struct owl_unit *u = op->code == OWL_OP_REF ? op->u.units[0]
                                                          : dynamic_target(m, op->u.dependencies);
        if (!apply(m, f, u, f->node, true))
            return WAIT;
    }
    f->resumed = false;
    return m->verdict ? PASS : FAIL;
}

/* ---- on members ----------------------------------------------------------------------------- */

static void begin_children(struct owl_frame *f)
{
    if (!f->begun) {
        f->begun = true;
        f->at = f->node + 1;
    }
}

/* The unit that "properties" has for the present member, or NULL. */
static inline __attribute__((always_inline)) const struct owl_unit *
named_unit(struct owl_machine *m, struct owl_frame *f, const struct owl_members *x)
{
    uint32_t i = owl_names__find(&x->names, owl_machine__name(m, f->at));
    if (i == x->names.n)
        return NULL;
    f->hits += x->list[i].required;
    return x->list[i].unit;
}

static void next_member(struct owl_machine *m, struct owl_frame *f)
{
    if (f->matched)
        set_bit(m, f, f->index);
    f->matched = false;
    f->step = 0;
    f->index++;
    f->at = m->t->nodes[f->at + 1].next;
}

/* What applies next to a member, and its value; NULL: nothing more. The frame moves on to the next
 * member with the last that applies. */
static const struct owl_unit *member_unit(struct owl_machine *m, struct owl_frame *f,
                                          const struct owl_members *x, uint32_t *ret_value)
{
    uint32_t end = m->t->nodes[f->node].next;
    while (f->at < end && m->rc == 0 && owl_machine__spend(m, 1)) {
        const struct owl_unit *u = f->step == 0 ? named_unit(m, f, x) : NULL;
        *ret_value = f->at + 1;
        f->step += f->step == 0;
        for (; !u && f->step <= x->n_patterns && m->rc == 0; f->step++) {
            const struct owl_pattern *p = &x->patterns[f->step - 1];
            u = owl_machine__search(m, p->regex, f->at) ? p->unit : NULL;
        }
        if (!u && !f->matched)
            u = x->additional;
        f->matched |= u != NULL;
        if (f->step > x->n_patterns)
            next_member(m, f);
        if (u)
            return u;
    }
    return NULL;
}

/* Notes the names that are not there. */
static void report_missing(struct owl_machine *m, const struct owl_frame *f,
                           const struct owl_op *op)
{
    const struct owl_members *x = op->u.members;
    for (uint32_t i = 0; m->report && i < x->n_needed; i++) {
        if (!owl_machine__spend(m, m->t->nodes[f->node].count))
            return;
        const struct owl_miss v = {f->unit, op, f->node, OWL_KW_REQUIRED, x->required_at, i, {0}};
        if (!owl_tree_get(m->t, f->node, x->needed[i]))
            owl_report__add(m->report, &v);
    }
}

/* Without patterns: at most one unit applies to a member. */
static enum flow plain_members(struct owl_machine *m, struct owl_frame *f,
                               const struct owl_members *x)
{
    const struct owl_node *nodes = m->t->nodes;
    const uint32_t end = nodes[f->node].next;
    while (f->at < end && owl_machine__spend(m, 1)) {
        const struct owl_unit *u = named_unit(m, f, x);
        uint32_t value = f->at + 1, index = f->index++;
        f->at = nodes[value].next;
        if (!u)
            u = x->additional;
        if (!u)
            continue;
        set_bit(m, f, index);
        enum flow flow = judge(m, u, value, false);
        if (flow == WAIT)
            return WAIT;
        if (flow == FAIL && !m->report)
            return FAIL;
        f->bad |= flow == FAIL;
    }
    return PASS;
}

static enum flow patterned_members(struct owl_machine *m, struct owl_frame *f,
                                   const struct owl_members *x)
{
    for (;;) {
        if (f->resumed && !good_enough(m, f))
            return FAIL;
        uint32_t value;
        const struct owl_unit *u = member_unit(m, f, x, &value);
        if (!u)
            return PASS;
        if (!apply(m, f, u, value, false))
            return WAIT;
    }
}

static enum flow members(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    const struct owl_members *x = op->u.members;
    begin_children(f);
    if (f->resumed && !good_enough(m, f))
        return FAIL;
    enum flow flow = x->n_patterns == 0 ? plain_members(m, f, x) : patterned_members(m, f, x);
    if (flow != PASS)
        return flow;
    if (f->hits == x->n_needed)
        return f->bad ? FAIL : PASS;
    report_missing(m, f, op);
    return FAIL;
}

static enum flow names(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    begin_children(f);
    for (;;) {
        if (f->resumed) {
            if (!good_enough(m, f))
                return FAIL;
            f->at = m->t->nodes[f->at + 1].next;
        }
        if (f->at >= m->t->nodes[f->node].next || !owl_machine__spend(m, 1))
            return f->bad ? FAIL : PASS;
        if (!apply(m, f, op->u.units[0], f->at, false))
            return WAIT;
    }
}

/* Members (with @p skip 1: behind the key) or elements that nothing has evaluated. */
static enum flow unevaluated(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op,
                             uint32_t skip)
{
    begin_children(f);
    for (;;) {
        if (f->resumed) {
            if (!good_enough(m, f))
                return FAIL;
            f->matched = true;
        }
        if (f->at >= m->t->nodes[f->node].next || !owl_machine__spend(m, 1))
            return f->bad ? FAIL : PASS;
        if (f->matched || bit(m, f, f->index)) {
            set_bit(m, f, f->index++);
            f->matched = false;
            f->at = m->t->nodes[f->at + skip].next;
            continue;
        }
        if (!apply(m, f, op->u.units[0], f->at + skip, false))
            return WAIT;
    }
}

/* ---- on elements ---------------------------------------------------------------------------- */

static enum flow items(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    const struct owl_items *x = op->u.items;
    const struct owl_node *nodes = m->t->nodes;
    const uint32_t end = nodes[f->node].next;
    begin_children(f);
    if (f->resumed && !good_enough(m, f))
        return FAIL;
    while (f->at < end && owl_machine__spend(m, 1)) {
        const struct owl_unit *u = f->index < x->n_prefix ? x->prefix[f->index] : x->rest;
        if (!u)
            break;
        uint32_t value = f->at;
        f->at = nodes[value].next;
        set_bit(m, f, f->index++);
        enum flow flow = judge(m, u, value, false);
        if (flow == WAIT)
            return WAIT;
        if (flow == FAIL && !m->report)
            return FAIL;
        f->bad |= flow == FAIL;
    }
    return f->bad ? FAIL : PASS;
}

/* Notes that too few or too many fit, of the keyword that sets the limit if there is one. */
static void report_contained(struct owl_machine *m, const struct owl_frame *f,
                             const struct owl_op *op)
{
    bool few = f->hits < op->u.contains->min;
    uint32_t at = few ? op->u.contains->min_at : op->u.contains->max_at, n = (uint32_t)f->hits;
    uint8_t keyword = !at ? op->keyword : few ? OWL_KW_MIN_CONTAINS : OWL_KW_MAX_CONTAINS;
    const struct owl_miss v = {f->unit, op, f->node, keyword, at ? at : op->at, n, {0}};
    if (m->report)
        owl_report__add(m->report, &v);
}

static enum flow contains(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    const struct owl_contains *x = op->u.contains;
    bool all = x->max != UINT64_MAX || m->report || (f->tracks && x->evaluates);
    begin_children(f);
    for (;;) {
        if (f->resumed) {
            f->resumed = false;
            forget(m, f);
            f->hits += m->verdict;
            if (m->verdict && x->evaluates)
                set_bit(m, f, f->index);
            f->index++;
            f->at = m->t->nodes[f->at].next;
        }
        if (f->at >= m->t->nodes[f->node].next || (f->hits >= x->min && !all) ||
            (f->hits > x->max && !m->report) || !owl_machine__spend(m, 1))
            break;
        if (!apply(m, f, x->unit, f->at, false))
            return WAIT;
    }
    if (f->hits >= x->min && f->hits <= x->max)
        return PASS;
    report_contained(m, f, op);
    return FAIL;
}

/* ---- the machine ---------------------------------------------------------------------------- */

static enum flow step(struct owl_machine *m, struct owl_frame *f, const struct owl_op *op)
{
    switch (op->code) {
    case OWL_OP_REF:
    case OWL_OP_DYNAMIC_REF: return reference(m, f, op);
    case OWL_OP_MEMBERS: return members(m, f, op);
    case OWL_OP_NAMES: return names(m, f, op);
    case OWL_OP_ITEMS: return items(m, f, op);
    case OWL_OP_CONTAINS: return contains(m, f, op);
    case OWL_OP_DEPENDENT: return dependent(m, f, op);
    case OWL_OP_ALL_OF: return all_of(m, f, op);
    case OWL_OP_ANY_OF: return any_of(m, f, op);
    case OWL_OP_ONE_OF: return one_of(m, f, op);
    case OWL_OP_NOT: return negation(m, f, op);
    case OWL_OP_IF: return condition(m, f, op);
    case OWL_OP_UNEVALUATED_ITEMS: return unevaluated(m, f, op, 0);
    case OWL_OP_UNEVALUATED_PROPERTIES: return unevaluated(m, f, op, 1);
    default: return owl_machine__checks(m, f->unit, f->pc, f->pc + 1, f->node) ? PASS : FAIL;
    }
}

/* Makes the frame ready for its next operation. */
static void next_op(const struct owl_machine *m, struct owl_frame *f)
{
    f->at = f->index = f->step = f->best = 0;
    f->hits = f->score = 0;
    f->begun = f->resumed = f->matched = f->bad = false;
    f->mark = m->report ? m->report->n : 0;
}

/* Another unit may have asked for the contrary of a bound: a number that is on both sides of it is
 * refused in the end, whatever they say. */
static void refuse_rounded(struct owl_machine *m)
{
    if (!m->rounds || !m->verdict || m->rc != 0)
        return;
    m->verdict = false;
    if (m->report)
        owl_report__add(m->report, &m->rounded);
}

void owl_machine__run(struct owl_machine *m)
{
    const struct owl_unit *root = m->s->root;
    bool ok = owl_machine__checks(m, root, 0, root->n_checks, 0);
    push(m, root, 0, false, !ok);
    while (m->depth > 0 && m->rc == 0) {
        struct owl_frame *f = &m->frames[m->depth - 1];
        if (f->pc == f->unit->n || (f->failed && !m->report)) {
            pop(m);
            continue;
        }
        const struct owl_op *op = &f->unit->ops[f->pc];
        enum flow flow = PASS;
        if (op->kinds & 1u << m->t->nodes[f->node].kind) {
            if (!owl_machine__spend(m, 1))
                break;
            flow = step(m, f, op);
        }
        if (flow == WAIT)
            continue;
        f->failed |= flow == FAIL;
        f->pc++;
        next_op(m, f);
    }
    refuse_rounded(m);
}

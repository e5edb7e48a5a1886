/* codec/regex/program.c - makes the states of a syntax tree.
 * Threads: that of the compiling.
 *
 * A piece is made with the state that follows it known, so no state is patched later but the
 * splits of loops. There is no recursion: a frame waits for the entry of its child. What a lookahead
 * looks at is made in reverse, because it is run from the end of the text. */
#include "codec/regex/program.h"

enum { EFFORT_MAX = 16 * OWL_STATES_MAX };

struct frame {
    struct owl_piece *piece;
    struct owl_piece *child; /* that is being made, or NULL: it has not begun */
    uint32_t left;  /* REPEAT: how many times more, as often as it may be, then as it must */
    uint16_t next;  /* what follows */
    uint16_t entry; /* of what is made so far */
    uint16_t split; /* REPEAT: of the loop */
    bool reverse;
    bool must; /* REPEAT: what may be left out is made */
};

struct maker {
    struct owl_syntax x;
    struct owl_state *states;
    struct owl_look *looks;
    uint32_t n, n_looks, looks_cap;
    struct frame *frames;
    uint32_t depth;
    uint32_t effort;
    bool big; /* too many states */
    int rc;
};

static uint16_t put(struct maker *m, unsigned code, uint32_t next, uint32_t arg)
{
    if (m->n == OWL_STATES_MAX) {
        m->big = true;
        return 0;
    }
    m->states[m->n] = (struct owl_state){(uint16_t)code, (uint16_t)next, arg};
    return (uint16_t)m->n++;
}

static void push(struct maker *m, struct owl_piece *piece, uint16_t next, bool reverse)
{
    m->frames[m->depth++] = (struct frame){
        .piece = piece, .next = next, .entry = next, .reverse = reverse};
    m->big |= ++m->effort > EFFORT_MAX;
}

/* Every step below is given the entry of the child that was made last, unless it has just begun.
 * True: the frame has its entry and ends. */

static bool make_sequence(struct maker *m, struct frame *f, uint16_t entry)
{
    const struct owl_piece *p = f->piece;
    if (!f->child) {
        f->child = f->reverse ? p->first : p->last;
    } else {
        f->entry = entry;
        f->child = f->reverse ? f->child->after : f->child->before;
    }
    if (!f->child)
        return true;
    push(m, f->child, f->entry, f->reverse);
    return false;
}

static bool make_choice(struct maker *m, struct frame *f, uint16_t entry)
{
    if (!f->child) {
        f->child = f->piece->first;
    } else {
        f->entry = f->child == f->piece->first ? entry : put(m, OWL_STATE_SPLIT, entry, f->entry);
        f->child = f->child->after;
    }
    if (!f->child)
        return true;
    push(m, f->child, f->next, f->reverse);
    return false;
}

/* One copy more. */
static bool make_copy(struct maker *m, struct frame *f)
{
    f->left--;
    f->child = f->piece->first;
    push(m, f->child, f->entry, f->reverse);
    return false;
}

/* From the end: a loop or the copies that may be left out, then those that must be there. */
static bool make_repeat(struct maker *m, struct frame *f, uint16_t entry)
{
    const struct owl_piece *p = f->piece;
    bool loop = p->max == UINT32_MAX;
    if (!f->child) {
        f->left = loop ? 1 : p->max - p->min;
        if (loop)
            f->entry = f->split = put(m, OWL_STATE_SPLIT, 0, f->next);
    } else if (f->must) {
        f->entry = entry;
    } else if (loop) {
        m->states[f->split].next = entry;
        f->entry = p->min > 0 ? entry : f->split;
    } else {
        f->entry = put(m, OWL_STATE_SPLIT, entry, f->next);
    }
    if (f->left == 0 && !f->must) {
        f->must = true;
        f->left = p->min - (loop && p->min > 0);
    }
    return f->left == 0 || make_copy(m, f);
}

static void add_look(struct maker *m, struct owl_piece *p, uint16_t entry)
{
    if (m->n_looks == m->looks_cap) {
        uint32_t cap = m->looks_cap ? m->looks_cap * 2 : 4;
        struct owl_look *grown = owl_arena_realloc(m->x.a, m->looks, m->looks_cap * sizeof *grown,
                                                   cap * sizeof *grown);
        if (!grown) {
            m->rc = owl_arena_over(m->x.a) ? -OWL_ELIMIT : -OWL_ENOMEM;
            return;
        }
        m->looks = grown;
        m->looks_cap = cap;
    }
    p->numbered = true;
    p->arg = m->n_looks;
    m->looks[m->n_looks++] = (struct owl_look){entry, p->behind};
}

/* What is looked at is made once, however often the piece is copied. */
static bool make_look(struct maker *m, struct frame *f, uint16_t entry)
{
    struct owl_piece *p = f->piece;
    if (!p->numbered && !f->child) {
        f->child = p->first;
        push(m, p->first, put(m, OWL_STATE_FOUND, 0, 0), !p->behind);
        return false;
    }
    if (!p->numbered)
        add_look(m, p, entry);
    f->entry = put(m, p->code, f->next, p->arg);
    return true;
}

static bool step(struct maker *m, struct frame *f, uint16_t entry)
{
    switch (f->piece->kind) {
    case OWL_PIECE_SEQUENCE: return make_sequence(m, f, entry);
    case OWL_PIECE_CHOICE: return make_choice(m, f, entry);
    case OWL_PIECE_REPEAT: return make_repeat(m, f, entry);
    case OWL_PIECE_LOOK: return make_look(m, f, entry);
    default: f->entry = put(m, f->piece->code, f->next, f->piece->arg); return true;
    }
}

static uint16_t make_all(struct maker *m)
{
    uint16_t entry = 0;
    push(m, m->x.root, put(m, OWL_STATE_FOUND, 0, 0), false);
    while (m->depth > 0 && !m->big && m->rc == 0) {
        struct frame *f = &m->frames[m->depth - 1];
        if (step(m, f, entry)) {
            entry = f->entry;
            m->depth--;
        }
    }
    return entry;
}

/* ---- where it can begin --------------------------------------------------------------------- */

static void starts_with(struct owl_program *p, const struct owl_state *s)
{
    if (s->code == OWL_STATE_SET) {
        const struct owl_char_set *set = &p->sets[s->arg];
        bool others = set->n > 0 || set->code;
        p->starts[0] |= set->ascii[0];
        p->starts[1] |= set->ascii[1];
        p->starts[3] |= others ? UINT64_MAX : 0; /* the first bytes of such characters */
    } else if (s->arg < 128) {
        p->starts[s->arg / 64] |= UINT64_C(1) << (s->arg % 64);
    } else {
        p->starts[3] = UINT64_MAX;
    }
}

/* Goes everywhere that the entry leads to without taking a character, if the text has begun before
 * and every other test holds. @p todo has room for all states. */
static void find_starts(struct owl_program *p, uint16_t *todo, bool *seen)
{
    uint32_t n = 1;
    bool any = false;
    todo[0] = p->entry;
    seen[p->entry] = true;
    while (n > 0) {
        const struct owl_state *s = &p->states[todo[--n]];
        if (s->code == OWL_STATE_BEGIN)
            continue;
        p->anywhere |= s->code == OWL_STATE_FOUND;
        any |= s->code < OWL_STATE__TAKES;
        if (s->code < OWL_STATE__TAKES)
            starts_with(p, s);
        if (s->code < OWL_STATE__TAKES || s->code == OWL_STATE_FOUND)
            continue;
        uint32_t ways[2] = {s->next, s->code == OWL_STATE_SPLIT ? s->arg : s->next};
        for (int i = 0; i < 2; i++) {
            if (!seen[ways[i]])
                todo[n++] = (uint16_t)ways[i];
            seen[ways[i]] = true;
        }
    }
    p->anchored = !any && !p->anywhere;
}

/* ---- all ------------------------------------------------------------------------------------ */

static int finish(struct maker *m, uint16_t entry, const struct owl_program **ret)
{
    struct owl_program *p = owl_arena_zalloc(m->x.a, sizeof *p);
    struct owl_state *states = owl_arena_alloc(m->x.a, m->n * sizeof *states);
    if (!p || !states)
        return owl_arena_over(m->x.a) ? -OWL_ELIMIT : -OWL_ENOMEM;
    uint16_t *todo = owl_arena_alloc(m->x.scratch, m->n * sizeof *todo);
    bool *seen = owl_arena_zalloc(m->x.scratch, m->n * sizeof *seen);
    if (!todo || !seen)
        return -OWL_ENOMEM;
    memcpy(states, m->states, m->n * sizeof *states);
    *p = (struct owl_program){.states = states,
                              .sets = m->x.sets,
                              .looks = m->looks,
                              .n_states = m->n,
                              .n_sets = m->x.n_sets,
                              .n_looks = m->n_looks,
                              .entry = entry};
    find_starts(p, todo, seen);
    *ret = p;
    return 0;
}

int owl_program__new(struct owl_arena *a, owl_str translated, const struct owl_program **ret)
{
    struct owl_arena *scratch = owl_arena_new(0);
    struct maker m = {.x = {.a = a, .scratch = scratch}};
    *ret = NULL;
    int rc = scratch ? owl_syntax__parse(&m.x, translated) : -OWL_ENOMEM;
    if (rc == 0) {
        m.states = owl_arena_alloc(scratch, OWL_STATES_MAX * sizeof *m.states);
        m.frames = owl_arena_alloc(scratch, (m.x.depth + 1) * sizeof *m.frames);
        rc = m.states && m.frames ? 0 : -OWL_ENOMEM;
    }
    if (rc == 0) {
        uint16_t entry = make_all(&m);
        rc = m.rc ? m.rc : m.big ? 0 : finish(&m, entry, ret);
    }
    owl_arena_free(scratch);
    return rc;
}

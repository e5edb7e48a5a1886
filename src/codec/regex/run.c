/* codec/regex/run.c - runs a program over a text.
 * Threads: that of the matcher.
 *
 * The machine is in a set of states at a time, and takes one character after the other: no
 * character is read twice. First each lookaround is run over the whole text, and notes in a set of
 * positions where it holds; those that it needs come before it. Invariant: a state is visited once
 * at a position at most, every visit is counted, and none is made beyond the budget. */
#include "codec/regex/program.h"

#include "base/alloc.h"

/* Visits that are one step, bytes that are skipped for one visit, visits for asking PCRE2. */
enum { VISITS_A_STEP = 8, BYTES_A_VISIT = 2, PROPERTY_VISITS = 32 };
enum { POSITIONS_MOST = 64 * 1024 * 1024 }; /* bytes of the sets of positions */

struct run {
    const struct owl_program *p;
    struct owl_matcher *m;
    owl_str s;
    size_t at;
    uint64_t left; /* visits */
    bool over;     /* the run has ended: there were not enough, or … */
    int rc;        /* … this */
    bool found;
    uint64_t *positions; /* of each lookaround */
    size_t words;        /* of each set of positions */
    uint32_t now;        /* the character at hand, in marks */
    uint32_t *marks;     /* of each state: when it was visited last */
    uint16_t *todo;
    uint16_t *list, *next_list; /* states that wait for a character */
    uint32_t n, n_next;
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool at_edge(const struct run *r)
{
    bool before = r->at > 0 && is_word(r->s.p[r->at - 1]);
    bool behind = r->at < r->s.n && is_word(r->s.p[r->at]);
    return before != behind;
}

/* Whether a state that takes nothing goes on here. */
static bool holds(const struct run *r, const struct owl_state *s)
{
    switch (s->code) {
    case OWL_STATE_BEGIN: return r->at == 0;
    case OWL_STATE_END: return r->at == r->s.n;
    case OWL_STATE_WORD: return at_edge(r);
    case OWL_STATE_NOT_WORD: return !at_edge(r);
    case OWL_STATE_LOOK:
    case OWL_STATE_NOT_LOOK: {
        const uint64_t *set = r->positions + s->arg * r->words;
        return (set[r->at / 64] >> (r->at % 64) & 1) == (s->code == OWL_STATE_LOOK);
    }
    default: return true;
    }
}

static inline bool spend(struct run *r, uint64_t n)
{
    if (OWL_LIKELY(n <= r->left)) {
        r->left -= n;
        return true;
    }
    r->left = 0;
    r->over = true;
    return false;
}

static inline uint32_t mark(struct run *r, uint32_t n, uint32_t state)
{
    r->todo[n] = (uint16_t)state;
    n += r->marks[state] != r->now;
    r->marks[state] = r->now;
    return n;
}

/* Goes to a state and everywhere that it leads to without a character. */
static void go(struct run *r, uint16_t state)
{
    const struct owl_state *states = r->p->states;
    uint32_t n = mark(r, 0, state);
    while (n > 0 && spend(r, 1)) {
        uint16_t at = r->todo[--n];
        const struct owl_state *s = &states[at];
        if (s->code < OWL_STATE__TAKES) {
            r->next_list[r->n_next++] = at;
        } else if (s->code == OWL_STATE_FOUND) {
            r->found = true;
        } else if (s->code == OWL_STATE_SPLIT) {
            n = mark(r, n, s->next);
            n = mark(r, n, s->arg);
        } else if (holds(r, s)) {
            n = mark(r, n, s->next);
        }
    }
}

/* Whether a set has a character beyond ASCII, of which @p utf8 is the text. */
static bool has_other(struct run *r, const struct owl_char_set *set, uint32_t c, owl_str utf8)
{
    if (set->code) {
        bool has = false;
        if (spend(r, PROPERTY_VISITS))
            r->rc = owl_regex__class_has(set->code, r->m, utf8, &has);
        r->over |= r->rc != 0;
        return has;
    }
    uint32_t from = 0, to = set->n;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (c < set->ranges[middle].from)
            to = middle;
        else if (c > set->ranges[middle].to)
            from = middle + 1;
        else
            return true;
    }
    return false;
}

static inline bool takes(struct run *r, const struct owl_state *s, uint32_t c, owl_str utf8)
{
    if (s->code == OWL_STATE_CHAR)
        return s->arg == c;
    const struct owl_char_set *set = &r->p->sets[s->arg];
    return OWL_LIKELY(c < 128) ? set->ascii[c / 64] >> (c % 64) & 1 : has_other(r, set, c, utf8);
}

/* Every mark is of the past. */
static void next_mark(struct run *r)
{
    if (++r->now == 0) {
        memset(r->marks, 0, r->p->n_states * sizeof *r->marks);
        r->now = 1;
    }
}

/* What waits takes the next character, or the one before if @p back. */
static void take(struct run *r, bool back)
{
    const char *p = r->s.p + r->at, *end = r->s.p + r->s.n;
    uint32_t bytes = 1;
    if (back) {
        do
            p--;
        while (p > r->s.p && (*p & 0xc0) == 0x80);
    }
    uint32_t c = OWL_LIKELY((unsigned char)*p < 128) ? (unsigned char)*p
                                                     : owl_char__at(p, end, &bytes);
    owl_str utf8 = {p, bytes};
    r->at = back ? (size_t)(p - r->s.p) : r->at + bytes;
    next_mark(r);
    for (uint32_t i = 0; i < r->n && spend(r, 1); i++) {
        const struct owl_state *s = &r->p->states[r->list[i]];
        if (takes(r, s, c, utf8))
            go(r, s->next);
    }
}

static void swap(struct run *r)
{
    uint16_t *list = r->list;
    r->list = r->next_list;
    r->next_list = list;
    r->n = r->n_next;
    r->n_next = 0;
}

static void begin(struct run *r, size_t at)
{
    r->at = at;
    r->n = r->n_next = 0;
    r->found = false;
    next_mark(r);
}

/* Notes every position where a lookaround holds. */
static void look(struct run *r, const struct owl_look *look, uint64_t *positions)
{
    size_t last = look->behind ? r->s.n : 0;
    begin(r, r->s.n - last);
    for (;;) {
        go(r, look->entry);
        if (r->found)
            positions[r->at / 64] |= UINT64_C(1) << (r->at % 64);
        r->found = false;
        swap(r);
        if (r->at == last || r->over)
            return;
        take(r, !look->behind);
    }
}

/* Nothing waits: goes on to where the expression can begin. */
static void skip(struct run *r)
{
    const unsigned char *s = (const unsigned char *)r->s.p;
    const uint64_t *starts = r->p->starts;
    size_t from = r->at;
    while (r->at < r->s.n && !(starts[s[r->at] / 64] >> (s[r->at] % 64) & 1))
        r->at++;
    OWL_IGNORE(spend(r, (r->at - from) / BYTES_A_VISIT)); /* the caller sees it */
    next_mark(r);
}

/* One state waits, and so does the one behind it: there is no set to keep. */
static void run_straight(struct run *r)
{
    const struct owl_state *states = r->p->states, *s = &states[r->list[0]];
    while (r->at < r->s.n && (unsigned char)r->s.p[r->at] < 128 && spend(r, 1)) {
        if (!takes(r, s, (unsigned char)r->s.p[r->at], OWL_STR(""))) {
            r->n = 0;
            return;
        }
        if (states[s->next].code >= OWL_STATE__TAKES)
            break;
        s = &states[s->next];
        r->at++;
    }
    r->list[0] = (uint16_t)(s - states);
}

static void search(struct run *r)
{
    const struct owl_program *p = r->p;
    begin(r, 0);
    go(r, p->entry);
    swap(r);
    while (!r->found && !r->over && r->at < r->s.n && (r->n > 0 || !p->anchored)) {
        if (p->anchored && r->n == 1) {
            run_straight(r);
            if (r->n == 0 || r->at == r->s.n)
                return;
        }
        take(r, false);
        if (!p->anchored) {
            if (!p->anywhere && r->n_next == 0)
                skip(r);
            go(r, p->entry);
        }
        swap(r);
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

static size_t sets_size(const struct owl_program *p)
{
    return p->n_states * (sizeof(uint32_t) + 3 * sizeof(uint16_t));
}

/* Lays the sets into @p memory, which is zeroed. */
static void lay_out(struct run *r, void *memory)
{
    size_t n = r->p->n_states;
    r->positions = memory;
    r->marks = (uint32_t *)(r->positions + r->p->n_looks * r->words);
    r->todo = (uint16_t *)(r->marks + n);
    r->list = r->todo + n;
    r->next_list = r->list + n;
}

static void run_all(struct run *r)
{
    for (uint32_t i = 0; i < r->p->n_looks && !r->over; i++)
        look(r, &r->p->looks[i], r->positions + i * r->words);
    if (!r->over)
        search(r);
}

int owl_program__search(const struct owl_program *p, struct owl_matcher *m, owl_str s,
                        bool *ret_found)
{
    uint64_t local[256];
    const uint64_t budget = m->budget > 0 ? m->budget - 1 : 0; /* the search itself is a step */
    const uint64_t most = budget < UINT64_MAX / VISITS_A_STEP ? budget * VISITS_A_STEP : UINT64_MAX;
    struct run r = {.p = p, .m = m, .s = s, .left = most, .words = s.n / 64 + 1};
    if (p->n_looks > 0 && r.words > POSITIONS_MOST / sizeof(uint64_t) / p->n_looks) {
        m->why = "a pattern takes too much memory to match";
        return -OWL_ELIMIT;
    }
    size_t size = p->n_looks * r.words * sizeof(uint64_t) + sets_size(p);
    void *memory = local;
    if (spend(&r, size / 32)) { /* that is zeroed */
        if (size <= sizeof local)
            memset(local, 0, size);
        else
            memory = owl_calloc(1, size);
        if (!memory)
            return -OWL_ENOMEM;
        lay_out(&r, memory);
        run_all(&r);
        if (memory != local)
            owl_free(memory);
    }
    m->cost = (most - r.left + VISITS_A_STEP - 1) / VISITS_A_STEP + (m->budget > 0);
    if (r.over && !r.found)
        return r.rc ? r.rc : -OWL_EBUSY;
    *ret_found = r.found;
    return 0;
}

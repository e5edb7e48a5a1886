/* codec/regex/parse.c - the syntax tree of a translated pattern.
 * Threads: that of the compiling.
 *
 * PCRE2 has accepted the pattern, so nothing is checked again. There is no recursion: the tree is
 * walked up at each closing parenthesis. A lazy quantifier finds what a greedy one does. */
#include "codec/regex/program.h"

struct parser {
    struct owl_syntax *x;
    const char *p, *end;
    struct owl_piece *sequence; /* that grows */
    uint32_t depth;
    int rc;
};

/* A piece at the end of @p up, or NULL: p->rc says why. */
static struct owl_piece *append(struct parser *p, struct owl_piece *up, enum owl_piece_kind kind,
                                unsigned code)
{
    struct owl_piece *piece = p->rc ? NULL : owl_arena_zalloc(p->x->scratch, sizeof *piece);
    if (!piece) {
        p->rc = p->rc ? p->rc : owl_arena_over(p->x->scratch) ? -OWL_ELIMIT : -OWL_ENOMEM;
        return NULL;
    }
    piece->kind = (uint8_t)kind;
    piece->code = (uint8_t)code;
    piece->up = up;
    if (up) {
        piece->before = up->last;
        *(up->last ? &up->last->after : &up->first) = piece;
        up->last = piece;
    }
    return piece;
}

static void put_state(struct parser *p, enum owl_state_code code, uint32_t arg)
{
    struct owl_piece *piece = append(p, p->sequence, OWL_PIECE_STATE, code);
    if (piece)
        piece->arg = arg;
}

/* A choice within @p up, and its first sequence. */
static void open_choice(struct parser *p, struct owl_piece *up)
{
    struct owl_piece *choice = append(p, up, OWL_PIECE_CHOICE, 0);
    struct owl_piece *sequence = append(p, choice, OWL_PIECE_SEQUENCE, 0);
    if (!sequence)
        return;
    p->sequence = sequence;
    p->depth += 4; /* a look, or what repeats it; the choice; the sequence; a state */
    p->x->depth = p->depth > p->x->depth ? p->depth : p->x->depth;
    if (!p->x->root)
        p->x->root = choice;
}

static bool takes(struct parser *p, const char *front)
{
    owl_str rest = {p->p, (size_t)(p->end - p->p)};
    if (!owl_str_begins(rest, front))
        return false;
    p->p += strlen(front);
    return true;
}

static void open_group(struct parser *p)
{
    bool ahead = takes(p, "(?="), not_ahead = !ahead && takes(p, "(?!");
    bool behind = !ahead && !not_ahead && takes(p, "(?<=");
    bool not_behind = !ahead && !not_ahead && !behind && takes(p, "(?<!");
    if (!ahead && !not_ahead && !behind && !not_behind) {
        if (takes(p, "(?<"))
            p->p = (const char *)memchr(p->p, '>', (size_t)(p->end - p->p)) + 1;
        else if (!takes(p, "(?:"))
            p->p++;
        open_choice(p, p->sequence);
        return;
    }
    struct owl_piece *look = append(p, p->sequence, OWL_PIECE_LOOK,
                                    ahead || behind ? OWL_STATE_LOOK : OWL_STATE_NOT_LOOK);
    if (!look)
        return;
    look->behind = behind || not_behind;
    open_choice(p, look);
}

static void close_group(struct parser *p)
{
    struct owl_piece *outer = p->sequence->up->up;
    OWL_ASSERT(outer); /* parentheses match */
    p->sequence = outer->kind == OWL_PIECE_LOOK ? outer->up : outer;
    p->depth -= 4;
    p->p++;
}

static uint32_t count(struct parser *p)
{
    uint32_t n = 0;
    for (; *p->p >= '0' && *p->p <= '9'; p->p++)
        n = n * 10 + (uint32_t)(*p->p - '0');
    return n;
}

/* Puts the last piece into one that repeats it. */
static void repeat(struct parser *p)
{
    uint32_t min = *p->p == '+', max = *p->p == '?' ? 1 : UINT32_MAX;
    if (*p->p == '{') {
        p->p++;
        min = max = count(p);
        if (*p->p == ',') {
            p->p++;
            max = *p->p == '}' ? UINT32_MAX : count(p);
        }
    }
    p->p++;
    if (p->p < p->end && *p->p == '?')
        p->p++;
    struct owl_piece *child = p->sequence->last,
                     *piece = append(p, p->sequence, OWL_PIECE_REPEAT, 0);
    if (!piece)
        return;
    piece->min = min;
    piece->max = max;
    piece->before = child->before;
    *(child->before ? &child->before->after : &p->sequence->first) = piece;
    child->before = child->after = NULL;
    child->up = piece;
    piece->first = piece->last = child;
}

static void put_set(struct parser *p, const char *end)
{
    uint32_t set = 0;
    int rc = owl_syntax__set(p->x, (owl_str){p->p, (size_t)(end - p->p)}, &set);
    p->rc = p->rc ? p->rc : rc;
    put_state(p, OWL_STATE_SET, set);
    p->p = end;
}

/* Behind the bracket that closes a class. */
static const char *class_end(const struct parser *p)
{
    const char *q = p->p + 1;
    for (; q < p->end && *q != ']'; q++)
        q += *q == '\\';
    return q + 1;
}

static void escape(struct parser *p)
{
    switch (p->p[1]) {
    case 'b':
    case 'B':
        put_state(p, p->p[1] == 'b' ? OWL_STATE_WORD : OWL_STATE_NOT_WORD, 0);
        p->p += 2;
        break;
    case 'd':
    case 'D':
    case 'w':
    case 'W': put_set(p, p->p + 2); break;
    case 'p':
    case 'P': put_set(p, (const char *)memchr(p->p, '}', (size_t)(p->end - p->p)) + 1); break;
    default: put_state(p, OWL_STATE_CHAR, owl_syntax__char(&p->p, p->end)); break;
    }
}

static void take(struct parser *p)
{
    switch (*p->p) {
    case '\\': escape(p); break;
    case '[': put_set(p, class_end(p)); break;
    case '(': open_group(p); break;
    case ')': close_group(p); break;
    case '*':
    case '+':
    case '?':
    case '{': repeat(p); break;
    case '|': {
        struct owl_piece *next = append(p, p->sequence->up, OWL_PIECE_SEQUENCE, 0);
        p->sequence = next ? next : p->sequence;
        p->p++;
        break;
    }
    case '^':
    case '$': put_state(p, *p->p++ == '^' ? OWL_STATE_BEGIN : OWL_STATE_END, 0); break;
    default: put_state(p, OWL_STATE_CHAR, owl_syntax__char(&p->p, p->end)); break;
    }
}

int owl_syntax__parse(struct owl_syntax *x, owl_str translated)
{
    struct parser p = {.x = x, .p = translated.p, .end = translated.p + translated.n};
    open_choice(&p, NULL);
    while (p.rc == 0 && p.p < p.end)
        take(&p);
    return p.rc;
}

/* codec/regex/program.h - what a regular expression is made of.
 * Layer: codec, private to regex.c and regex/. Threads: immutable once compiled.
 *
 * An expression that does not refer back to a group becomes a program: the states of a
 * nondeterministic machine, which reads the text once for each lookaround and once for the whole,
 * however the pattern is written. The others, and those with too many states, are left to PCRE2,
 * which backtracks. Only whether the expression is found is asked for, so nothing captures. */
#ifndef OWL_CODEC_REGEX_PROGRAM_H
#define OWL_CODEC_REGEX_PROGRAM_H

#include "base/arena.h"
#include "base/buf.h"
#include "codec/regex.h"

/* ---- translation ---------------------------------------------------------------------------- */

struct owl_translation {
    const char *start, *p, *end;
    struct owl_buf out; /* for PCRE2 */
    bool in_class;
    bool quantifiable;  /* the atom before may be repeated */
    bool brief;         /* \s and \S are calls of groups behind the pattern: they are long */
    bool refers_back;   /* to a group */
    unsigned groups;    /* that capture; brief: how many there are altogether */
    unsigned referred;  /* the greatest number of a group that is referred to … */
    const char *refers; /* … behind this */
    unsigned most;      /* the greatest count of a repetition */
    const char *fault;
};
/* Translates for PCRE2, into t->out, which the caller frees. False: t->fault, at t->p. */
bool owl_regex__translate(struct owl_translation *t);

/* ---- programs ------------------------------------------------------------------------------- */

enum owl_state_code {
    OWL_STATE_CHAR, /* takes the character `arg` */
    OWL_STATE_SET,  /* takes a character of the set `arg` */
    OWL_STATE__TAKES,
    OWL_STATE_SPLIT = OWL_STATE__TAKES, /* goes on at `next` and at `arg` */
    OWL_STATE_BEGIN,                    /* goes on at the beginning of the text */
    OWL_STATE_END,
    OWL_STATE_WORD, /* goes on between a character of a word and another */
    OWL_STATE_NOT_WORD,
    OWL_STATE_LOOK, /* goes on where the lookaround `arg` holds */
    OWL_STATE_NOT_LOOK,
    OWL_STATE_FOUND
};

struct owl_state {
    uint16_t code;
    uint16_t next;
    uint32_t arg;
};

struct owl_range {
    uint32_t from, to;
};

struct owl_char_set {
    uint64_t ascii[2];
    const struct owl_range *ranges; /* the others, in order */
    uint32_t n;
    const void *code; /* or, if there are properties in it, what asks PCRE2 about the others */
};

/* A lookahead is run backwards from the end of the text, a lookbehind forwards: where it reaches
 * FOUND, it holds. */
struct owl_look {
    uint16_t entry;
    bool behind;
};

enum { OWL_STATES_MAX = 16 * 1024 };

struct owl_program {
    const struct owl_state *states;
    const struct owl_char_set *sets;
    const struct owl_look *looks; /* each behind those that it needs */
    uint32_t n_states, n_sets, n_looks;
    uint16_t entry;
    bool anchored;      /* it can begin at the beginning of the text only */
    bool anywhere;      /* it can be found without taking a character; else … */
    uint64_t starts[4]; /* … these bytes can begin what it takes */
};

/* Makes a program of a pattern that is translated (not brief) and that PCRE2 has accepted. *@p ret
 * is NULL if it would have too many states. @errors OWL_ELIMIT (of the arena), OWL_ENOMEM. */
OWL_NODISCARD int owl_program__new(struct owl_arena *a, owl_str translated,
                                   const struct owl_program **ret);
/* owl_regex_search() by a program. */
OWL_NODISCARD int owl_program__search(const struct owl_program *p, struct owl_matcher *m, owl_str s,
                                      bool *ret_found);

/* ---- syntax tree ---------------------------------------------------------------------------- */

enum owl_piece_kind {
    OWL_PIECE_STATE, /* one state, of `code` and `arg` */
    OWL_PIECE_LOOK,  /* one child; `code` is OWL_STATE_LOOK or OWL_STATE_NOT_LOOK */
    OWL_PIECE_SEQUENCE,
    OWL_PIECE_CHOICE, /* of sequences */
    OWL_PIECE_REPEAT  /* one child, min to max times */
};

struct owl_piece {
    uint8_t kind, code;
    bool behind;   /* LOOK */
    bool numbered; /* LOOK: it is in the program, and `arg` is its number */
    uint32_t arg;
    uint32_t min, max; /* UINT32_MAX: without limit */
    struct owl_piece *up, *first, *last, *before, *after;
};

struct owl_syntax {
    struct owl_arena *a;       /* of the program: the sets */
    struct owl_arena *scratch; /* of the tree */
    struct owl_piece *root;
    struct owl_char_set *sets;
    uint32_t n_sets, sets_cap;
    uint32_t depth; /* how many pieces lie within one another at most */
};
/* Parses a translated pattern. @errors OWL_ELIMIT (of an arena), OWL_ENOMEM. */
OWL_NODISCARD int owl_syntax__parse(struct owl_syntax *x, owl_str translated);
/* The set of a class, \d and the like or a property, as @p translated spells it. */
OWL_NODISCARD int owl_syntax__set(struct owl_syntax *x, owl_str translated, uint32_t *ret);
/* Takes a character, or the escape of one, off the text. */
uint32_t owl_syntax__char(const char **p, const char *end);

/* The character at @p p, before @p end, and how many bytes it has. The text is UTF-8. */
static inline uint32_t owl_char__at(const char *p, const char *end, uint32_t *ret_n)
{
    const unsigned char *s = (const unsigned char *)p;
    uint32_t n = s[0] < 0xc0 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    *ret_n = n;
    if (n == 1 || (size_t)(end - p) < n) {
        *ret_n = 1;
        return s[0];
    }
    uint32_t c = s[0] & (0x7fu >> n);
    for (uint32_t i = 1; i < n; i++)
        c = c << 6 | (s[i] & 0x3f);
    return c;
}

/* ---- characters, by PCRE2 ------------------------------------------------------------------- */

/* A class or property as PCRE2 spells it; it counts against the arena, which frees it. @errors
 * OWL_ELIMIT (of the arena), OWL_ENOMEM. */
OWL_NODISCARD int owl_regex__class(struct owl_arena *a, owl_str translated, const void **ret);
/* Whether it has the character of which @p utf8 is the text. @errors OWL_ENOMEM. */
OWL_NODISCARD int owl_regex__class_has(const void *class, struct owl_matcher *m, owl_str utf8,
                                       bool *ret);

#endif

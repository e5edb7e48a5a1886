/* formats/toml.h - what the files of the TOML reader share.
 * Layer: formats, private. Threads: one at a time.
 *
 * Steps return 0, OWL_TOML_STOP when a fault was told and the rest of the statement means nothing,
 * or an error that ends the reading. */
#ifndef OWL_FORMATS_TOML_H
#define OWL_FORMATS_TOML_H

#include "base/map.h"
#include "formats/value.h"

enum { OWL_TOML_STOP = 1, OWL_TOML_QUOTED = 48 };

/* How a table or an array came to be: it decides who may add to it. */
enum owl_toml_how {
    OWL_TOML_IMPLIED, /* a table, by the header of one within it */
    OWL_TOML_HEADER,  /* a table, by its header; the document; an entry of [[x]] */
    OWL_TOML_DOTTED,  /* a table, by a dotted key */
    OWL_TOML_CLOSED,  /* {} or [] */
    OWL_TOML_ENTRIES  /* an array, by [[x]] */
};

/* A table or an array. What only the reader has to know stands behind the value. */
struct owl_toml_table {
    struct owl_value value;
    enum owl_toml_how how;
    uint32_t depth;                 /* the document's is 1 */
    struct owl_map index;           /* of the members, once there are many */
    struct owl_toml_table *indexed; /* the next one that has an index */
};

/* A part of a dotted key, decoded. */
struct owl_toml_part {
    owl_str key;
    struct owl_mark at;
};

/* A place for a value. */
struct owl_toml_slot {
    struct owl_toml_table *into;
    owl_str key;
    struct owl_mark at;
};

/* An array or an inline table that is open. */
struct owl_toml_frame {
    struct owl_toml_table *table;
    bool comma;         /* one is due before the next element */
    bool several_lines; /* of an inline table; was told */
};

struct owl_toml {
    const struct owl_reading *in;
    struct owl_arena *scratch; /* freed at the end */
    uint32_t max_depth, max_values, values;

    const char *p, *end;
    const char *line_start;
    uint32_t line;
    const char *counted; /* up to here columns have been counted, within the line */
    uint32_t column;
    bool conflict; /* within the first side of a merge conflict */

    struct owl_toml_part *path; /* the last key or header that was read */
    uint32_t n_path, cap_path;
    owl_str path_text; /* as it is written */
    struct owl_mark path_at;

    struct owl_toml_frame *frames;
    uint32_t n_frames, cap_frames;

    struct owl_toml_table *root;
    struct owl_toml_table *current; /* of the last header */
    struct owl_toml_table *lost;    /* of a header that was refused */
    struct owl_toml_table dropped;  /* what is put into it is not kept */
    struct owl_toml_table *indexed;
};

/* ---- text: toml_text.c ----------------------------------------------------------------------- */

/* The mark of a place in the present line. */
struct owl_mark owl_toml__mark(struct owl_toml *t, const char *p);
/* Moves behind the line feed at t->p. */
void owl_toml__newline(struct owl_toml *t);
/* The characters of valid UTF-8. */
uint32_t owl_toml__width(owl_str s);
/* At most as many bytes of @p s as a fault quotes, whole characters; for "%.*s". */
int owl_toml__clip(owl_str s);

/* What stands at t->p, in words. */
struct owl_toml_found {
    char words[OWL_TOML_QUOTED + 16];
    uint32_t width;
};
struct owl_toml_found owl_toml__found(const struct owl_toml *t);
/* Tells "found …, expected …" at t->p. */
struct owl_fault *owl_toml__expected(struct owl_toml *t, const char *what);

/* To the beginning of the text, behind a BOM. */
void owl_toml__rewind(struct owl_toml *t);
/* Tells what is not UTF-8, from t->p on. */
OWL_NODISCARD bool owl_toml__encoding_fits(struct owl_toml *t);
const char *owl_toml__line_end(const struct owl_toml *t, const char *p);
void owl_toml__skip_blanks(struct owl_toml *t);
/* Skips blanks, comments and ends of lines. Merge conflicts are told. */
void owl_toml__skip_space(struct owl_toml *t);
/* Whether t->p is before the first word of a line that can only be a statement of its own. */
bool owl_toml__at_statement(const struct owl_toml *t);
/* After a fault: to the end of what is open, unless another statement seems to begin before. */
void owl_toml__skip_statement(struct owl_toml *t);

/* The byte i behind t->p; 0 behind the end. */
static inline char owl_toml__peek(const struct owl_toml *t, size_t i)
{
    return i < (size_t)(t->end - t->p) ? t->p[i] : '\0';
}

static inline bool owl_toml__one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

static inline bool owl_toml__control(char c)
{
    return ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
}

static inline bool owl_toml__digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool owl_toml__bare(char c)
{
    return owl_toml__digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
}

/* Whether a line ends at t->p; the end of the text is one. */
static inline bool owl_toml__at_line_end(const struct owl_toml *t)
{
    return t->p == t->end || *t->p == '\n' || (*t->p == '\r' && owl_toml__peek(t, 1) == '\n');
}

/* ---- strings: toml_string.c ------------------------------------------------------------- */

/* Reads the string at t->p into @p a, NUL behind. *ret is absent if a fault was told but the end
 * of the string was found; OWL_TOML_STOP if it was not. */
OWL_NODISCARD int owl_toml__string(struct owl_toml *t, struct owl_arena *a, owl_str *ret);

/* ---- numbers, dates, truth: toml_scalar.c ----------------------------------------------- */

/* Reads what is not quoted. *ret is NULL if a fault was told. */
OWL_NODISCARD int owl_toml__scalar(struct owl_toml *t, struct owl_value **ret);

/* ---- tables: toml_table.c --------------------------------------------------------------- */

/* -OWL_EPARSE: there are too many values. */
OWL_NODISCARD int owl_toml__value(struct owl_toml *t, enum owl_node_kind kind, struct owl_mark at,
                                  struct owl_value **ret);
/* A table or array that is to be put into @p parent (NULL: the document itself). */
OWL_NODISCARD int owl_toml__table(struct owl_toml *t, enum owl_node_kind kind,
                                  enum owl_toml_how how, const struct owl_toml_table *parent,
                                  struct owl_mark at, struct owl_toml_table **ret);
OWL_NODISCARD int owl_toml__put(struct owl_toml *t, const struct owl_toml_slot *slot,
                                struct owl_value *v);
/* The place that the dotted key in t->path names within @p table. A place that is taken, or must
 * not be added to, is told; what goes to the slot is dropped then. */
OWL_NODISCARD int owl_toml__place(struct owl_toml *t, struct owl_toml_table *table,
                                  struct owl_toml_slot *ret);
/* Makes the table that t->path names the current one. If that cannot be, it is told, and the keys
 * to come are dropped. */
OWL_NODISCARD int owl_toml__section(struct owl_toml *t, bool entry, struct owl_mark at);
/* Keys to come are read, but not kept. */
OWL_NODISCARD int owl_toml__section_dropped(struct owl_toml *t);
void owl_toml__tables_done(struct owl_toml *t);

#endif

/* formats/value.h - values that know where they were written: what files that people write are read
 * into, be they YAML, TOML or JSON with comments; and the faults that were found in them.
 * Layer: formats (of the program, not of the library). Threads: one at a time; a tree that nobody
 * changes any more may be read by all.
 *
 * Trees and faults live in arenas and are freed with them. The kinds are those of JSON: a tree can
 * be written as JSON text, and judged by a schema. */
#ifndef OWL_FORMATS_VALUE_H
#define OWL_FORMATS_VALUE_H

#include "base/buf.h"
#include "codec/tree.h"

/* Where something stands. Lines and columns count from 1, columns in characters; line 0: nowhere in
 * particular (a variable of the environment, an option, a default). */
struct owl_mark {
    uint32_t source; /* an index into the reader's list of sources */
    uint32_t line, column;
};

/* What a scalar was before it became a string or a number. */
enum owl_value_form {
    OWL_FORM_PLAIN,
    OWL_FORM_OFFSET_DATE_TIME, /* TOML's dates and times; strings of RFC 3339 */
    OWL_FORM_LOCAL_DATE_TIME,
    OWL_FORM_LOCAL_DATE,
    OWL_FORM_LOCAL_TIME,
    OWL_FORM_NOT_FINITE /* a number that JSON has not: "inf", "-inf", "nan" */
};

struct owl_value {
    struct owl_value *parent;
    struct owl_value *first, *last; /* members or elements, in the order of the text */
    struct owl_value *next, *prev;  /* those of the same parent */
    owl_str key;                    /* of a member, decoded */
    owl_str text;                   /* a string decoded, a number in JSON's notation; NUL behind */
    struct owl_mark key_at, at;
    uint32_t count; /* of members or elements */
    uint32_t index; /* within the parent; nothing is ever taken out from between */
    uint8_t kind;   /* enum owl_node_kind */
    uint8_t form;   /* enum owl_value_form */
    uint8_t note;   /* of whoever works on the tree; 0 at first */
};

/* NULL without memory. Text and keys are borrowed; keep them in the same arena. */
OWL_NODISCARD struct owl_value *owl_value_new(struct owl_arena *a, enum owl_node_kind kind,
                                              struct owl_mark at);
/* Appends; @p child is in no other tree. */
void owl_value_add(struct owl_value *parent, struct owl_value *child);
/* Takes out all that is in @p parent: returns the first, the others are its next. They still name
 * their parent; add those that are to stay. */
struct owl_value *owl_value_take(struct owl_value *parent);
/* Member @p key of an object, or NULL, also if @p object is none or NULL. O(members). */
struct owl_value *owl_value_get(const struct owl_value *object, owl_str key);
/* Copies a tree, marks and all; the texts are shared. @errors OWL_ENOMEM. */
OWL_NODISCARD int owl_value_copy(struct owl_arena *a, const struct owl_value *v,
                                 struct owl_value **ret);
/* The value behind @p v in the order of the text, its own members first; NULL behind the last one
 * within @p root: for (v = root; v; v = owl_value_next(root, v)) ... */
struct owl_value *owl_value_next(const struct owl_value *root, const struct owl_value *v);
/* Appends the JSON Pointer of @p v within @p root. */
void owl_value_pointer(struct owl_buf *b, const struct owl_value *root, const struct owl_value *v);

/* Which values stand where in JSON text that was written; on the heap. */
struct owl_value_places {
    struct owl_value_place {
        size_t at;
        const struct owl_value *value;
    } * list;
    size_t n, cap;
};
/* Appends the tree as JSON text without white space; a number that is not finite becomes a string.
 * @p places may be NULL; zero it before and owl_free() its list afterwards. A failure is left in
 * b->rc. */
void owl_value_json(struct owl_buf *b, const struct owl_value *root,
                    struct owl_value_places *places);
/* The value that stands at a byte of the text; on a key, its member. NULL of nothing. */
const struct owl_value *owl_value_at(const struct owl_value_places *places, size_t at);

/* Appends the tree as YAML that owl_yaml_read() reads back equal, a line a value. What @p comment (may
 * be NULL) says of a value that has no members or elements stands behind it. */
typedef owl_str (*owl_value_comment)(void *data, const struct owl_value *v);
void owl_value_yaml(struct owl_buf *b, const struct owl_value *root, owl_value_comment comment,
                    void *data);

/* ---- faults ----------------------------------------------------------------------------- */

struct owl_fault {
    struct owl_mark at;
    uint32_t width; /* characters that are meant, at least 1 */
    bool warning;   /* otherwise an error */
    owl_str what;   /* what was found and what was expected: a sentence without its full stop */
    owl_str hint;   /* how to mend it, or absent */
};

enum { OWL_FAULTS = 200 }; /* as many are kept */

/* Zero it, then set the arena. */
struct owl_faults {
    struct owl_arena *arena;
    struct owl_fault *list;
    size_t n, cap;
    size_t errors;   /* all that were added, kept or not */
    size_t left_out; /* faults beyond OWL_FAULTS */
};

/* Adds a fault and returns it, so that a hint can be given; never NULL: what cannot be kept goes
 * to a place that nobody reads. Bytes that no terminal should see are made visible. */
struct owl_fault *owl_fault_add(struct owl_faults *f, struct owl_mark at, const char *fmt, ...)
    OWL_PRINTF(3, 4);
struct owl_fault *owl_warning_add(struct owl_faults *f, struct owl_mark at, const char *fmt, ...)
    OWL_PRINTF(3, 4);
void owl_fault_hint(struct owl_faults *f, struct owl_fault *fault, const char *fmt, ...)
    OWL_PRINTF(3, 4);
/* By source, line and column; errors and warnings as they come. */
void owl_faults_sort(struct owl_faults *f);

/* ---- readers ---------------------------------------------------------------------------- */

/* One text to read. */
struct owl_reading {
    owl_str text;            /* any bytes; a BOM is skipped */
    uint32_t source;         /* for the marks */
    struct owl_arena *arena; /* gets the tree */
    struct owl_faults *faults;
    uint32_t max_depth;  /* 0: 100; at most OWL_JSON_DEPTH */
    uint32_t max_values; /* 0: 1,000,000, those that aliases repeat included */
};

/* Each reads a whole text and gives a tree, even when faults were found, as long as there is
 * something to look at: what is at fault is left out then, and of two equal keys the first is
 * kept. @errors OWL_EPARSE: no tree, and a fault says why; OWL_ENOMEM.
 *
 * YAML 1.2 with the core schema: one document; "no" is a string, 012 is twelve, 1e3 is a number.
 * Aliases repeat what they name, with the mark of the alias; what is within has the marks of where
 * it was written. Tags other than those of the core schema, merge keys and keys that are no scalars
 * are faults. */
OWL_NODISCARD int owl_yaml_read(const struct owl_reading *r, struct owl_value **ret);
/* TOML 1.0. */
OWL_NODISCARD int owl_toml_read(const struct owl_reading *r, struct owl_value **ret);
/* JSON, with comments of both kinds and commas behind the last member or element. */
OWL_NODISCARD int owl_jsonc_read(const struct owl_reading *r, struct owl_value **ret);

#endif

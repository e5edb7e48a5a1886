/* codec/schema/program.h - what a compiled schema is made of.
 * Layer: codec, private to schema_*.c. Threads: immutable once compiled.
 *
 * A unit is one schema: a run of operations, cheap ones first. An operation is a keyword, or a
 * group of keywords that one pass over the instance serves. Everything lies in one arena. */
#ifndef OWL_CODEC_SCHEMA_PROGRAM_H
#define OWL_CODEC_SCHEMA_PROGRAM_H

#include "codec/decimal.h"
#include "codec/regex.h"
#include "codec/schema.h"
#include "codec/schema/names.h"
#include "codec/tree.h"

/* ---- keywords --------------------------------------------------------------------------- */

/* name in C, spelling, dialects, vocabulary, where schemas are in its value. The spellings are in
 * the order of strcmp(). */
#define OWL_KEYWORDS(X) \
    X(ANCHOR, "$anchor", D19 | D20, CORE, NONE) \
    X(DEFS, "$defs", D19 | D20, CORE, MAP) \
    X(DYNAMIC_ANCHOR, "$dynamicAnchor", D20, CORE, NONE) \
    X(DYNAMIC_REF, "$dynamicRef", D20, CORE, NONE) \
    X(ID, "$id", ANY, CORE, NONE) \
    X(RECURSIVE_ANCHOR, "$recursiveAnchor", D19, CORE, NONE) \
    X(RECURSIVE_REF, "$recursiveRef", D19, CORE, NONE) \
    X(REF, "$ref", ANY, CORE, NONE) \
    X(SCHEMA, "$schema", ANY, CORE, NONE) \
    X(ADDITIONAL_ITEMS, "additionalItems", D07 | D19, APPLICATOR, ONE) \
    X(ADDITIONAL_PROPERTIES, "additionalProperties", ANY, APPLICATOR, ONE) \
    X(ALL_OF, "allOf", ANY, APPLICATOR, LIST) \
    X(ANY_OF, "anyOf", ANY, APPLICATOR, LIST) \
    X(CONST, "const", ANY, VALIDATION, NONE) \
    X(CONTAINS, "contains", ANY, APPLICATOR, ONE) \
    X(CONTENT_SCHEMA, "contentSchema", D19 | D20, CONTENT, ONE) \
    X(DEFINITIONS, "definitions", ANY, CORE, MAP) \
    X(DEPENDENCIES, "dependencies", ANY, APPLICATOR, MAP) \
    X(DEPENDENT_REQUIRED, "dependentRequired", D19 | D20, VALIDATION, NONE) \
    X(DEPENDENT_SCHEMAS, "dependentSchemas", D19 | D20, APPLICATOR, MAP) \
    X(ELSE, "else", ANY, CONDITION, ONE) \
    X(ENUM, "enum", ANY, VALIDATION, NONE) \
    X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", ANY, VALIDATION, NONE) \
    X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", ANY, VALIDATION, NONE) \
    X(FORMAT, "format", ANY, FORMAT, NONE) \
    X(IF, "if", ANY, CONDITION, ONE) \
    X(ITEMS, "items", ANY, APPLICATOR, LIST) \
    X(MAX_CONTAINS, "maxContains", D19 | D20, VALIDATION, NONE) \
    X(MAX_ITEMS, "maxItems", ANY, VALIDATION, NONE) \
    X(MAX_LENGTH, "maxLength", ANY, VALIDATION, NONE) \
    X(MAX_PROPERTIES, "maxProperties", ANY, VALIDATION, NONE) \
    X(MAXIMUM, "maximum", ANY, VALIDATION, NONE) \
    X(MIN_CONTAINS, "minContains", D19 | D20, VALIDATION, NONE) \
    X(MIN_ITEMS, "minItems", ANY, VALIDATION, NONE) \
    X(MIN_LENGTH, "minLength", ANY, VALIDATION, NONE) \
    X(MIN_PROPERTIES, "minProperties", ANY, VALIDATION, NONE) \
    X(MINIMUM, "minimum", ANY, VALIDATION, NONE) \
    X(MULTIPLE_OF, "multipleOf", ANY, VALIDATION, NONE) \
    X(NOT, "not", ANY, APPLICATOR, ONE) \
    X(ONE_OF, "oneOf", ANY, APPLICATOR, LIST) \
    X(PATTERN, "pattern", ANY, VALIDATION, NONE) \
    X(PATTERN_PROPERTIES, "patternProperties", ANY, APPLICATOR, MAP) \
    X(PREFIX_ITEMS, "prefixItems", D20, APPLICATOR, LIST) \
    X(PROPERTIES, "properties", ANY, APPLICATOR, MAP) \
    X(PROPERTY_NAMES, "propertyNames", ANY, APPLICATOR, ONE) \
    X(REQUIRED, "required", ANY, VALIDATION, NONE) \
    X(THEN, "then", ANY, CONDITION, ONE) \
    X(TYPE, "type", ANY, VALIDATION, NONE) \
    X(UNEVALUATED_ITEMS, "unevaluatedItems", D19 | D20, UNEVALUATED, ONE) \
    X(UNEVALUATED_PROPERTIES, "unevaluatedProperties", D19 | D20, UNEVALUATED, ONE) \
    X(UNIQUE_ITEMS, "uniqueItems", ANY, VALIDATION, NONE)

enum owl_keyword_id {
#define X(id, name, drafts, vocabulary, schemas) OWL_KW_##id,
    OWL_KEYWORDS(X)
#undef X
        OWL_KW__N
};

enum { OWL_SUB_NONE, OWL_SUB_ONE, OWL_SUB_LIST, OWL_SUB_MAP };
enum {
    OWL_VOC_CORE = 1,
    OWL_VOC_APPLICATOR = 2,
    OWL_VOC_VALIDATION = 4,
    OWL_VOC_UNEVALUATED = 8,
    OWL_VOC_FORMAT = 16,
    OWL_VOC_FORMAT_ASSERTED = 32,
    OWL_VOC_CONTENT = 64,
    OWL_VOC_CONDITION = 128, /* goes with the applicators, but draft-06 is without */
    OWL_VOC_ALL = 31 | OWL_VOC_CONTENT | OWL_VOC_CONDITION
};

struct owl_dialect {
    enum owl_schema_draft draft;
    unsigned vocabularies;
};

struct owl_keyword {
    const char *name;
    uint8_t drafts, vocabulary, schemas;
};
extern const struct owl_keyword owl_keywords[OWL_KW__N];
/* The keyword of a key in a dialect, or -1. */
int owl_keyword__find(const struct owl_tree *t, uint32_t key, struct owl_dialect d);

/* ---- operations ------------------------------------------------------------------------- */

enum owl_op_code {
    OWL_OP_NEVER, /* the schema false */
    OWL_OP_TYPE,
    OWL_OP_CONST,
    OWL_OP_ENUM,
    OWL_OP_MULTIPLE,
    OWL_OP_COMPARE,
    OWL_OP_LENGTH,
    OWL_OP_PATTERN,
    OWL_OP_FORMAT,
    OWL_OP_COUNT,
    OWL_OP_UNIQUE,
    OWL_OP_DEPENDENT_REQUIRED,
    OWL_OP__APPLICATORS, /* those behind run other units */
    OWL_OP_REF = OWL_OP__APPLICATORS,
    OWL_OP_DYNAMIC_REF,
    OWL_OP_MEMBERS,
    OWL_OP_NAMES,
    OWL_OP_ITEMS,
    OWL_OP_CONTAINS,
    OWL_OP_DEPENDENT,
    OWL_OP_ALL_OF,
    OWL_OP_ANY_OF,
    OWL_OP_ONE_OF,
    OWL_OP_NOT,
    OWL_OP_IF,
    OWL_OP_UNEVALUATED_ITEMS,
    OWL_OP_UNEVALUATED_PROPERTIES
};

/* Kinds of instances as a set; an integer is a number without fraction. */
enum {
    OWL_KIND_NUMBER = 1u << OWL_NODE_NUMBER,
    OWL_KIND_STRING = 1u << OWL_NODE_STRING,
    OWL_KIND_ARRAY = 1u << OWL_NODE_ARRAY,
    OWL_KIND_OBJECT = 1u << OWL_NODE_OBJECT,
    OWL_KIND_INTEGER = 1u << 7,
    OWL_KIND_ANY = 0x7f
};

struct owl_unit;

struct owl_members {
    struct owl_names names; /* as "properties" has them, then those that are only required */
    const struct owl_member {
        const struct owl_unit *unit; /* NULL: its name is only required */
        bool required;
    } * list;              /* of each name */
    const owl_str *needed; /* as "required" has them */
    uint32_t n_needed;
    uint32_t n_patterns;
    const struct owl_pattern {
        const struct owl_regex *regex;
        const struct owl_unit *unit;
    } * patterns;
    const struct owl_unit *additional;
    uint32_t required_at; /* node of the value of "required" */
};

struct owl_items {
    const struct owl_unit *const *prefix;
    uint32_t n_prefix;
    const struct owl_unit *rest;
};

struct owl_bound {
    struct owl_decimal number;
    int64_t small; /* its value */
    bool is_small; /* if it is a short integer */
};
/* The value of a number that is short and written without fraction and exponent. */
static inline bool owl_tree__small(const struct owl_tree *t, uint32_t node, int64_t *ret)
{
    owl_str s = owl_tree_text(t, node);
    if (!t->nodes[node].whole || s.n > 18)
        return false;
    bool negative = s.p[0] == '-';
    int64_t v = 0;
    for (size_t i = negative; i < s.n; i++)
        v = v * 10 + (s.p[i] - '0');
    *ret = negative ? -v : v;
    return true;
}

struct owl_contains {
    const struct owl_unit *unit;
    uint64_t min, max;
    uint32_t min_at, max_at; /* nodes of the values of "minContains" and "maxContains", or 0 */
    bool evaluates;          /* 2020-12: what it matches is evaluated */
};

struct owl_enum {
    struct owl_names strings;
    const uint32_t *others; /* nodes */
    uint32_t n_others;
};

/* A name and what it brings along: names, or a unit. */
struct owl_dependency {
    owl_str name;
    const struct owl_unit *unit;
    const owl_str *needs;
    uint32_t n_needs;
};

struct owl_op {
    uint8_t code;
    uint8_t keyword;
    uint8_t kinds; /* instances that it looks at */
    uint8_t types; /* TYPE: what is allowed */
    uint32_t n;
    uint32_t at; /* node of the keyword's value */
    union {
        uint64_t limit;
        const struct owl_bound *bound;
        owl_str name;
        const struct owl_enum *set;
        const struct owl_regex *regex;
        const struct owl_unit *const *units; /* n of them */
        const struct owl_members *members;
        const struct owl_items *items;
        const struct owl_contains *contains;
        const struct owl_dependency *dependencies;
    } u;
};

struct owl_unit {
    struct owl_op *ops;
    uint32_t n;
    uint32_t n_checks; /* how many of its first operations run no other unit */
    uint8_t checks;    /* instances that those look at */
    uint8_t enters;    /* instances that the others look at */
    bool tracks;       /* needs to know what was evaluated */
    const struct owl_names
        *strings; /* if all that is checked of a string is that it is one of these */
    uint32_t node;
    const struct owl_unit *same; /* it is nothing but a reference to this one */
    const struct owl_resource *resource;
    struct owl_unit *next; /* compiling: the queue */
};

/* ---- documents -------------------------------------------------------------------------- */

struct owl_doc {
    owl_str uri;
    struct owl_tree tree;
    struct owl_resource **resource_of; /* by node; NULL: no schema is known to be there */
    struct owl_unit **unit_of;         /* by node */
    struct owl_doc *next;
};

struct owl_anchor {
    owl_str name; /* "": $recursiveAnchor */
    uint32_t node;
    bool dynamic;
    const struct owl_unit *unit; /* of a dynamic anchor, if any reference is dynamic */
    struct owl_anchor *next;
};

struct owl_resource {
    owl_str uri; /* without fragment */
    struct owl_doc *doc;
    uint32_t node;
    struct owl_dialect dialect;
    struct owl_anchor *anchors;
    struct owl_resource *next;
};

struct owl_schema {
    struct owl_arena *arena;
    const struct owl_unit *root;
    struct owl_resource *resources;
    struct owl_doc *docs;
    uint64_t max_work;
    uint32_t max_depth;
    uint32_t max_match;
};

/* Appends the JSON Pointer of a node. */
struct owl_buf;
void owl_tree__pointer(const struct owl_tree *t, uint32_t node, struct owl_buf *b);
/* The node that a JSON Pointer names, counted from node @p at, or UINT32_MAX. *@p steps grows by
 * what it took. */
uint32_t owl_tree__find(const struct owl_tree *t, uint32_t at, owl_str pointer, uint64_t *steps);

/* The text of a registered document or metaschema by its URI (without fragment), or {NULL,0}. */
owl_str owl_schema__document(const struct owl_schema_registry *r, owl_str uri);
owl_str owl_schema__builtin(owl_str uri);

/* ---- compiling -------------------------------------------------------------------------- */

/* A reference that leads nowhere yet: it may lead into a document that another one loads. */
struct owl_waiting {
    struct owl_unit *unit;
    uint32_t op; /* which of its operations */
    struct owl_waiting *next;
};

struct owl_compiler {
    struct owl_arena *a;
    struct owl_schema *s;
    const struct owl_schema_options *options;
    struct owl_unit *first, *last; /* the queue */
    bool dynamic;                  /* a dynamic reference was met */
    struct owl_waiting *waiting, **waiting_end;
    bool again;    /* what waits is tried again: what could not be loaded is not asked for again */
    bool final;    /* nothing more will be loaded */
    uint64_t work; /* steps that are left */
    owl_error *reterr;
};

/* -OWL_ENOMEM or -OWL_ELIMIT, as the arena says. */
int owl_compiler__no_memory(struct owl_compiler *c);
/* Fails with the place in the schema in front of the text. */
int owl_compiler__fail(struct owl_compiler *c, const struct owl_doc *d, uint32_t node,
                       const char *fmt, ...) OWL_PRINTF(4, 5);
/* Fails unless a node can be a schema. */
OWL_NODISCARD int owl_compiler__schema(struct owl_compiler *c, const struct owl_doc *d,
                                       uint32_t node);
/* Compiles a pattern, for which the node is blamed. */
OWL_NODISCARD int owl_compiler__regex(struct owl_compiler *c, const struct owl_doc *d,
                                      uint32_t node, owl_str pattern, const struct owl_regex **ret);
/* Reads a document. Every schema in it that a keyword leads to can be one, and where a keyword has a
 * map of schemas there is an object. */
OWL_NODISCARD int owl_compiler__load(struct owl_compiler *c, owl_str uri, owl_str text,
                                     struct owl_doc **ret);
/* Where a reference of @p from leads: its document, node and, if it names one, anchor. Without a
 * document it leads nowhere yet; when nothing more will be loaded that is an error. */
struct owl_target {
    struct owl_doc *doc;
    uint32_t node;
    const struct owl_anchor *anchor;
};
OWL_NODISCARD int owl_compiler__resolve(struct owl_compiler *c, const struct owl_resource *from,
                                        uint32_t ref, struct owl_target *ret);
/* The unit of a schema at a node; it is compiled later if it is not yet. */
OWL_NODISCARD int owl_compiler__unit(struct owl_compiler *c, struct owl_doc *d, uint32_t node,
                                     const struct owl_unit **ret);
/* The operations of the keywords that only assert. */
struct owl_building {
    struct owl_compiler *c;
    struct owl_doc *d;
    struct owl_unit *unit;
    uint32_t at[OWL_KW__N]; /* node of each keyword's value, or 0 */
    uint32_t cap;
};
OWL_NODISCARD int owl_building__asserts(struct owl_building *b);
OWL_NODISCARD struct owl_op *owl_building__op(struct owl_building *b, enum owl_op_code code,
                                              enum owl_keyword_id keyword, unsigned kinds);
/* The value of a keyword that counts; one that is too big to count is as good as the biggest. */
OWL_NODISCARD int owl_building__count(struct owl_building *b, enum owl_keyword_id keyword,
                                      uint64_t *ret);
/* An empty set with room for @p cap names. */
OWL_NODISCARD int owl_building__names(struct owl_building *b, uint32_t cap, struct owl_names *ret);
/* The index of a name, which joins the set if it is not there. */
uint32_t owl_building__name(struct owl_names *names, owl_str s);
/* All names are there: makes the set quick. */
void owl_building__names_done(struct owl_names *names);
/* Decodes an array of strings. */
OWL_NODISCARD int owl_building__strings(struct owl_building *b, uint32_t array,
                                        const owl_str **ret);

/* owl_format_holds(), whose steps are taken off *@p work; if that leaves none, the answer is void. */
bool owl_format__holds(owl_str name, owl_str s, uint64_t *work);
/* Whether what stands behind the "xn--" of a label is Punycode of a label of IDNA2008. */
bool owl_idna__label(owl_str punycode);

/* RFC 3986, 5.2: @p ref against @p base, in @p a; {NULL,0} without memory. */
owl_str owl_uri__resolve(struct owl_arena *a, owl_str base, owl_str ref);
bool owl_uri__absolute(owl_str uri);
owl_str owl_uri__without_fragment(owl_str uri);

#endif

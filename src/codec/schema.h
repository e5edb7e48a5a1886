/* codec/schema.h - JSON Schema: compile once, judge many, explain when asked.
 * Layer: codec. Threads: a compiled schema is immutable and may be used by any number of threads;
 * a registry belongs to one thread while it is filled, and is only read afterwards.
 *
 * Dialects: 2020-12 (the default), 2019-09 and draft-07, chosen by "$schema"; draft-06 is read as
 * draft-07 without "if".
 * Nothing is ever fetched: a reference leads into the document, to a registered document or to one
 * of the metaschemas, which are built in; any other is an error that names it.
 *
 * Numbers are compared as they are written: none is rounded. But programs read doubles: where a
 * number would be on the other side of a bound once it is rounded, the instance is not valid,
 * whatever the schema makes of the bound. Integers of 64 bits are read as they are. Patterns are
 * those of ECMA-262 with the flag "u" (codec/regex.h). Everything that a hostile schema or instance
 * could drive up has a limit; a limit is an error (OWL_ELIMIT), never a verdict. All work is counted
 * in steps, that of patterns included, and "max_work" bounds one validation as a whole; a thread that
 * must not be held up gives a smaller budget (struct owl_schema_work). */
#ifndef OWL_CODEC_SCHEMA_H
#define OWL_CODEC_SCHEMA_H

#include "base/arena.h"

struct owl_schema;          /* a compiled schema */
struct owl_schema_registry; /* documents that may be referred to */

enum owl_schema_draft { OWL_SCHEMA_2020_12, OWL_SCHEMA_2019_09, OWL_SCHEMA_DRAFT_07 };

/* Zero stands for the default everywhere. */
struct owl_schema_options {
    const struct owl_schema_registry *registry; /* read while compiling only */
    owl_str uri;                 /* where the document is from, if it has no absolute "$id" */
    enum owl_schema_draft draft; /* of documents without "$schema" */
    bool assert_format;          /* "format" is an assertion; otherwise it says nothing */
    size_t max_memory;           /* of the compiled schema; default 16 MiB */
    uint64_t max_work;           /* steps of one validation, or of compiling; default 10,000,000 */
    uint32_t max_depth;          /* schemas within schemas while validating; default 4,096 */
    uint32_t max_match;          /* places that a pattern which refers back may try in one search,
                                    and 16 a byte of the text; default 100,000 */
};

/* ---- registry --------------------------------------------------------------------------- */

OWL_NODISCARD struct owl_schema_registry *owl_schema_registry_new(void); /* NULL: no memory */
void owl_schema_registry_free(struct owl_schema_registry *r);
/* Copies a document. It is found by @p uri and by the "$id" of its outermost schema; one of them
 * must be there, and absolute. @errors OWL_EPARSE, OWL_EINVAL, OWL_EEXISTS, OWL_ENOMEM. */
OWL_NODISCARD int owl_schema_registry_add(struct owl_schema_registry *r, owl_str uri, owl_str text,
                                          owl_error *reterr);
/* @p load is asked for each document that a schema refers to and that is neither registered nor
 * built in, by the thread that compiles; it may add it. Such a registry belongs to that thread. */
void owl_schema_registry_on_missing(struct owl_schema_registry *r,
                                    void (*load)(void *data, owl_str uri), void *data);

/* ---- compiling -------------------------------------------------------------------------- */

/* Compiles @p text, which is checked and copied. @p options may be NULL. On failure the error says
 * which keyword of the schema is at fault, and why. @errors OWL_EPARSE (no JSON), OWL_EINVAL (no
 * schema), OWL_ENOTFOUND (a reference leads nowhere), OWL_ELIMIT, OWL_ENOMEM. */
OWL_NODISCARD int owl_schema_compile(owl_str text, const struct owl_schema_options *options,
                                     struct owl_schema **ret, owl_error *reterr);
void owl_schema_free(struct owl_schema *s);
/* Memory that it holds. */
size_t owl_schema_size(const struct owl_schema *s);

/* ---- judging ---------------------------------------------------------------------------- */

/* Whether @p proved, which owl_json_scan() has passed, is valid. No heap for ordinary schemas and
 * instances: up to 160 keys and values, 24 schemas within schemas, escaped strings of 256 bytes, 8
 * unique items and patterns of 200 states. @errors OWL_ELIMIT, OWL_ENOMEM: there is no verdict. */
OWL_NODISCARD int owl_schema_validate(const struct owl_schema *s, owl_str proved, bool *ret_valid,
                                      owl_error *reterr);

/* How much may be done, and was. A step takes some tens of nanoseconds.
 *
 * A thread that must not be held up (a reactor) asks with a small budget first. If that does not do,
 * the answer is OWL_EBUSY, which is neither a verdict nor a fault of the instance: the same question
 * is put again, from the beginning, by a thread that has time (a worker), with the budget 0. There
 * OWL_EBUSY cannot come, and OWL_ELIMIT is final. Both threads may use the schema at once; nothing
 * is kept from one question to the next.
 *
 *     struct owl_schema_work work = {.budget = 20000};
 *     int rc = owl_schema_validate_within(s, text, &work, &valid, &err);
 *     if (rc == -OWL_EBUSY)
 *         … a worker calls owl_schema_validate(s, text, &valid, &err) … */
struct owl_schema_work {
    uint64_t budget; /* in: steps; 0, or more than the schema's max_work: as many as that */
    uint64_t used;   /* out: steps that were done, at most the budget; set on every return */
};

/* As owl_schema_validate() and owl_schema_explain(), within a budget. Reading the text is part of
 * the work, one step for each 64 bytes: if that alone is too much, nothing is read. @errors as
 * those, and OWL_EBUSY (the budget is used up, and smaller than max_work). */
OWL_NODISCARD int owl_schema_validate_within(const struct owl_schema *s, owl_str proved,
                                             struct owl_schema_work *work, bool *ret_valid,
                                             owl_error *reterr);
struct owl_explanation;
OWL_NODISCARD int owl_schema_explain_within(const struct owl_schema *s, owl_str proved,
                                            struct owl_schema_work *work, struct owl_arena *a,
                                            struct owl_explanation *ret, owl_error *reterr);

/* One fault of an instance. All text is UTF-8, NUL-terminated and in the arena. */
struct owl_violation {
    owl_str instance; /* JSON Pointer to the value, "" for the whole */
    owl_str schema;   /* the keyword: URI of the document, if any, "#" and a JSON Pointer,
                         percent-encoded */
    owl_str keyword;
    owl_str expected; /* what the keyword asks for: JSON, cut if it is long */
    owl_str found;    /* what is there: JSON, cut if it is long */
    owl_str sentence; /* for a person or a model: what is wrong and what would do */
    size_t subject;   /* how much of the sentence only names the value */
    size_t at;        /* byte of the text where the value begins */
    bool of_name;     /* it is the name of the member that is wrong, not its value */
};

struct owl_explanation {
    size_t n; /* 0: valid */
    const struct owl_violation *violations;
    size_t left_out; /* faults beyond the first OWL_SCHEMA_VIOLATIONS */
};

enum { OWL_SCHEMA_VIOLATIONS = 64 };

/* Every fault of @p proved, in the order in which keywords are looked at. Of "anyOf" and "oneOf"
 * the faults of the branch that came nearest are told (with the types and constants that others ask
 * for, if they are as near), then that no branch fits. The explanation lives in @p a. @errors
 * OWL_ELIMIT, OWL_ENOMEM. */
OWL_NODISCARD int owl_schema_explain(const struct owl_schema *s, owl_str proved,
                                     struct owl_arena *a, struct owl_explanation *ret,
                                     owl_error *reterr);

/* Whether @p s has the format @p name ("date-time", "uri", …); unknown formats hold always. */
bool owl_format_holds(owl_str name, owl_str s);

#endif

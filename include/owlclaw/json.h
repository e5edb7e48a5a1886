/* owlclaw/json.h - read and write JSON without copying.
 *
 * Reading: a value is a borrowed pointer into a document. Every reader accepts NULL, which is "no
 * value": lookups can be chained without checks. Values are immutable and may be read by any thread
 * while their document lives (arguments of a call: until the call is released).
 *
 * Writing: an owl_json_writer keeps the first error that it meets and ignores what follows, so that
 * only owl_json_writer_text() needs a check. A writer belongs to one thread at a time. */
#ifndef OWLCLAW_JSON_H
#define OWLCLAW_JSON_H

#include <owlclaw/types.h>

OWL_BEGIN_DECLS

typedef struct owl_json owl_json;
typedef struct owl_json_doc owl_json_doc;
typedef struct owl_json_writer owl_json_writer;

typedef enum owl_json_kind {
    OWL_JSON_NONE, /* no value: NULL, or a member that is not there */
    OWL_JSON_NULL,
    OWL_JSON_BOOL,
    OWL_JSON_NUMBER,
    OWL_JSON_STRING,
    OWL_JSON_ARRAY,
    OWL_JSON_OBJECT
} owl_json_kind;

/* ---- reading ---------------------------------------------------------------------------- */

/** Parse @p len bytes (or OWL_NTS). Strict JSON: valid UTF-8, no duplicate keys, at most 128 levels
 *  deep. @errors OWL_EPARSE (the message names the byte), OWL_ELIMIT, OWL_ENOMEM. Free the document
 *  with owl_json_doc_free(). */
OWL_API int owl_json_parse(const char *text, size_t len, owl_json_doc **ret_doc, owl_error *reterr);
OWL_API void owl_json_doc_free(owl_json_doc *doc);
OWL_API const owl_json *owl_json_doc_root(const owl_json_doc *doc);

OWL_API owl_json_kind owl_json_kind_of(const owl_json *v);

/** The member @p key of an object, or NULL. O(members). */
OWL_API const owl_json *owl_json_get(const owl_json *object, const char *key);
/** The element @p index of an array, or NULL. O(index). */
OWL_API const owl_json *owl_json_at(const owl_json *array, size_t index);
/** Elements of an array, members of an object, bytes of a string; otherwise 0. */
OWL_API size_t owl_json_len(const owl_json *v);

/** The value if it has that type, otherwise @p fallback.
 *  Integers: a number without fraction that fits, however it is written: 1, 1.0 and 10e-1 are 1. Of
 *  a fraction that lies closer to an integer than doubles tell apart (1.00000000000000000001) that
 *  integer is read. What is beyond int64_t gives @p fallback: a schema that asks for an integer
 *  should also have "minimum" and "maximum".
 *  Doubles: every number, rounded to the nearest; what is too big for a double is infinite. A
 *  number that passed a schema is still within its bounds when it was rounded: one that would not be
 *  is refused with the arguments.
 *  Strings: UTF-8, and end in NUL; they may hold further NULs, owl_json_len() tells. */
OWL_API const char *owl_json_str(const owl_json *v, const char *fallback);
OWL_API int64_t owl_json_int(const owl_json *v, int64_t fallback);
OWL_API double owl_json_num(const owl_json *v, double fallback);
OWL_API bool owl_json_bool(const owl_json *v, bool fallback);

/** Shorthands for the member of an object. */
OWL_API const char *owl_json_get_str(const owl_json *object, const char *key, const char *fallback);
OWL_API int64_t owl_json_get_int(const owl_json *object, const char *key, int64_t fallback);
OWL_API double owl_json_get_num(const owl_json *object, const char *key, double fallback);
OWL_API bool owl_json_get_bool(const owl_json *object, const char *key, bool fallback);

/** Walks the elements of an array or the members of an object, in order:
 *      owl_json_iter it = owl_json_iter_of(v);
 *      const char *key;
 *      for (const owl_json *e; (e = owl_json_next(&it, &key)) != NULL;) ...
 *  @p ret_key may be NULL; it is set to NULL for arrays. */
typedef struct owl_json_iter {
    const void *_at;
    size_t _left;
    bool _object;
} owl_json_iter;
OWL_API owl_json_iter owl_json_iter_of(const owl_json *v);
OWL_API const owl_json *owl_json_next(owl_json_iter *it, const char **ret_key);

/* ---- writing ---------------------------------------------------------------------------- */

/** A new, empty writer, or NULL without memory. Free it with owl_json_writer_free(). */
OWL_API owl_json_writer *owl_json_writer_new(void);
OWL_API void owl_json_writer_free(owl_json_writer *w);

OWL_API void owl_json_begin_object(owl_json_writer *w);
OWL_API void owl_json_begin_array(owl_json_writer *w);
/** Ends the innermost object or array. */
OWL_API void owl_json_end(owl_json_writer *w);
/** The key of the member whose value is written next. */
OWL_API void owl_json_key(owl_json_writer *w, const char *key);
/** Strings must be UTF-8 (otherwise OWL_EINVAL); NULL is written as null. @p len may be OWL_NTS. */
OWL_API void owl_json_put_str(owl_json_writer *w, const char *s);
OWL_API void owl_json_put_strn(owl_json_writer *w, const char *s, size_t len);
OWL_API void owl_json_put_int(owl_json_writer *w, int64_t v);
/** The shortest decimal that reads back equal; NaN and infinities are OWL_EINVAL. */
OWL_API void owl_json_put_num(owl_json_writer *w, double v);
OWL_API void owl_json_put_bool(owl_json_writer *w, bool v);
OWL_API void owl_json_put_null(owl_json_writer *w);
/** Copies a value that was read. NULL is written as null. */
OWL_API void owl_json_put_value(owl_json_writer *w, const owl_json *v);
/** Copies JSON text, after checking it as owl_json_parse() does. @p len may be OWL_NTS. */
OWL_API void owl_json_put_raw(owl_json_writer *w, const char *text, size_t len);

/** The text written so far (NUL-terminated, no newline in it), if it is one complete value.
 *  @owns the writer; valid until the next write or free. @errors the first error that was met,
 *  OWL_ESTATE if an object or array is still open. */
OWL_API int owl_json_writer_text(owl_json_writer *w, const char **ret_text, size_t *ret_len);

OWL_END_DECLS

#endif

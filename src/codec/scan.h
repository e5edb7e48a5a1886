/* codec/scan.h - one pass over JSON text before anything is parsed.
 * Layer: codec. Threads: pure.
 *
 * Proves that the text is one strict JSON value: grammar, UTF-8, valid escapes and surrogates,
 * depth, no duplicate keys within any object (decoded keys are compared: "a" and "\u0061" are
 * equal). The members of proved text can then be walked, so that what only passes through
 * travels as its source bytes and only what is read gets parsed. */
#ifndef OWL_CODEC_SCAN_H
#define OWL_CODEC_SCAN_H

#include "base/base.h"

enum { OWL_JSON_DEPTH = 128 };

/* One member of an object, or one element of an array (then key is absent). Borrowed source
 * bytes. */
struct owl_span {
    owl_str key;   /* as written between its quotes, escapes and all */
    owl_str value; /* as written, without surrounding white space */
    bool escaped;  /* the key holds escapes */
};

/* Proves that @p text is one JSON value. On failure the error names the byte ("byte 17: …").
 * @errors OWL_EPARSE, OWL_ELIMIT (deeper than max_depth, an object with more than 100,000
 * members). No heap for ordinary input; objects of more than 32 members or with escaped keys use
 * a temporary table (OWL_ENOMEM). O(n). */
OWL_NODISCARD int owl_json_scan(owl_str text, unsigned max_depth, owl_error *reterr);
/* The same, but keys may repeat: for a reader that says of each where it was written. */
OWL_NODISCARD int owl_json_scan_repeats(owl_str text, unsigned max_depth, owl_error *reterr);

/* The same, but keys may repeat and halves of surrogate pairs stand alone: whether it is JSON at all,
 * where it was refused for being bad JSON. */
OWL_NODISCARD int owl_json_scan_lenient(owl_str text, unsigned max_depth, owl_error *reterr);

/* Where the members of the outer three levels of objects are, in the order of the text: what a
 * router of messages looks at, found while the text is proved instead of by walking it again. */
enum { OWL_TAPE_LEVELS = 3, OWL_TAPE_ENTRIES = 56 };
struct owl_tape {
    const char *text;
    size_t n;
    bool partial; /* there were more: walk instead */
    struct owl_tape_entry {
        struct owl_span span;
        unsigned level; /* 1: a member of the outermost object; n + 1: of the last of level n */
    } entries[OWL_TAPE_ENTRIES];
};
/* As owl_json_scan(). The tape means something on success only; it borrows the text. */
OWL_NODISCARD int owl_json_scan_tape(owl_str text, unsigned max_depth, struct owl_tape *tape,
                                     owl_error *reterr);

/* Walks the members or elements of the outermost value of text that was proved by owl_json_scan():
 *     struct owl_span_iter it = owl_span_iter(text);
 *     for (struct owl_span s; owl_span_next(&it, &s);) ...
 * Anything but an object or array has no members. O(n) over the whole walk. */
struct owl_span_iter {
    const char *p, *end;
    bool object;
};
struct owl_span_iter owl_span_iter(owl_str proved_text);
bool owl_span_next(struct owl_span_iter *it, struct owl_span *ret);
/* How many there are. */
size_t owl_span_count(owl_str proved_text);

/* Whether the key of a span decodes to @p name. */
bool owl_span__escaped_key_is(const struct owl_span *s, owl_str name);
static inline bool owl_span_key_is(const struct owl_span *s, owl_str name)
{
    return OWL_LIKELY(!s->escaped) ? owl_str_eq(s->key, name) : owl_span__escaped_key_is(s, name);
}
/* Whether the key, decoded, begins with @p prefix, which is ASCII. */
bool owl_span_key_begins(const struct owl_span *s, owl_str prefix);
/* The value of the member @p key (an escaped spelling in the source is found too), or {NULL,0}. */
owl_str owl_span_get(owl_str proved_object, const char *key);

/* Proved text without the white space before it. */
static inline owl_str owl_span_begin(owl_str proved)
{
    while (proved.n > 0 && (unsigned char)proved.p[0] <= ' ')
        proved = (owl_str){proved.p + 1, proved.n - 1};
    return proved;
}

/* First character classes of proved text. */
static inline bool owl_span_is_object(owl_str v)
{
    return v.n > 0 && v.p[0] == '{';
}
static inline bool owl_span_is_array(owl_str v)
{
    return v.n > 0 && v.p[0] == '[';
}
static inline bool owl_span_is_string(owl_str v)
{
    return v.n > 0 && v.p[0] == '"';
}
bool owl_span_is_integer(owl_str v); /* number written without fraction or exponent */

/* Whether a proved string literal (with its quotes) decodes to @p s. */
bool owl_span_str_eq(owl_str literal, owl_str s);

#endif

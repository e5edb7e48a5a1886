/* codec/json.h - JSON values in arenas, and text out (the inside of owlclaw/json.h).
 * Layer: codec. Threads: pure; a document is immutable once parsed.
 *
 * yyjson is known to json_read.c alone: everybody else sees owl_json. */
#ifndef OWL_CODEC_JSON_H
#define OWL_CODEC_JSON_H

#include <owlclaw/json.h>

#include "base/arena.h"
#include "base/buf.h"

/* Parse text that owl_json_scan() has proved, into @p a. The value lives as long as the arena, in
 * which it fills @p *ret_bytes (which may be NULL).
 * @errors OWL_ENOMEM, OWL_ELIMIT (arena cap), OWL_EPARSE. */
OWL_NODISCARD int owl_json_parse_arena(struct owl_arena *a, owl_str proved, const owl_json **ret,
                                       size_t *ret_bytes);

/* The bytes of a string value; {NULL,0} if it is none. */
owl_str owl_json_string(const owl_json *v);

/* Decode a proved string literal (with its quotes) into @p a, NUL-terminated. Absent or not a
 * string: {NULL,0}. Literals without escapes are copied all the same. @errors OWL_ENOMEM,
 * OWL_ELIMIT. */
OWL_NODISCARD int owl_json_decode(struct owl_arena *a, owl_str literal, owl_str *ret);

/* Append @p s as a JSON string with its quotes. Invalid UTF-8 is replaced by U+FFFD. */
void owl_json_quote(struct owl_buf *b, owl_str s);
/* Append @p s base64-encoded within quotes. */
void owl_json_quote_base64(struct owl_buf *b, const void *p, size_t n);
/* Append proved JSON text with white space outside strings removed (hence no newline). */
void owl_json_compact(struct owl_buf *b, owl_str proved);
/* Append proved JSON text in the one spelling of its value (canonical.c): the order of members, how
 * strings and numbers are written and white space do not matter. Only numbers with exponents beyond
 * ±10^17 are taken as they are written. O(n log n). Fails as @p b does; OWL_ELIMIT also if it is
 * deeper than OWL_JSON_DEPTH. */
void owl_json_canonical(struct owl_buf *b, owl_str proved);
/* The shortest decimal that reads back equal, the same in every locale. @p v is finite. */
void owl_json_number(struct owl_buf *b, double v);
/* Append a value that was read, without white space. NULL is null. */
void owl_json_put(struct owl_buf *b, const owl_json *v);

/* For readers that take U+0085, U+2028 and U+2029, which JSON allows in strings, for the ends of lines:
 * cuts what comes before the next of these off *@p rest, and the character. *@p ret_escape is how to
 * write it, or empty. False: nothing was left. As fast as memory for ordinary text. */
bool owl_json_line_split(owl_str *rest, owl_str *ret_plain, owl_str *ret_escape);

bool owl_utf8_valid(owl_str s);
/* At most that many bytes of it, in whole characters. */
owl_str owl_utf8_cut(owl_str s, size_t most);

#endif

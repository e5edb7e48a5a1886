/* call/check.h - what a tool takes and gives, judged by its schemas.
 * Layer: call. Threads: as marked. */
#ifndef OWL_CALL_CHECK_H
#define OWL_CALL_CHECK_H

#include "call/call.h"
#include "codec/schema.h"

/* [reactor] The step `arguments`: those of a tool fit its inputSchema, or the call fails with all
 * that is wrong with them. Absent ones are an empty object. What takes more than a moment is done by
 * a worker; the step suspends. */
enum owl_verdict owl_check_arguments(struct owl_call *c);

/* [handler] The call was finished as a success: a result that breaks the tool's outputSchema
 * becomes a failure of the tool. A result that is marked as an error promises nothing. */
void owl_check_result(struct owl_call *c);

/* Why a value does not fit, in a few kilobytes at most. */
struct owl_check_words {
    owl_str text; /* "\n- sentence" for each fault; empty if that could not be told */
    owl_str data; /* {"violations":[{instance, keyword, schema, message}], "left_out"?: n} */
};
/* Put it into words, in @p a, within @p budget steps (0: all that the schema allows). @errors
 * OWL_ENOMEM, OWL_EBUSY (the budget is too small). */
OWL_NODISCARD int owl_check_explain(const struct owl_schema *s, owl_str proved, uint64_t budget,
                                    struct owl_arena *a, struct owl_check_words *ret);

#endif

/* call/native.h - calls that handlers of the program answer, as the steps see them.
 * Layer: call, private. Threads: the call's reactor. */
#ifndef OWL_CALL_NATIVE_H
#define OWL_CALL_NATIVE_H

#include "call/call.h"

/* The handler is through: its status becomes a result, a failure, or (OWL_NEXT) a question. */
enum owl_verdict owl_native_judge(struct owl_call *c);

#endif

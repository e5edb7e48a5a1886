/* observe/trace.h - W3C trace context: the ids that lead from a reply to the log.
 * Layer: observe. Threads: pure. */
#ifndef OWL_OBSERVE_TRACE_H
#define OWL_OBSERVE_TRACE_H

#include "base/base.h"

enum { OWL_TRACE_ID = 32 };

/* The trace id of a traceparent ("00-<32 hex>-<16 hex>-<2 hex>", later versions may be longer): 32
 * lower-case hex digits and a NUL. False, and nothing written, if it is malformed or names no trace
 * (all zero). */
OWL_NODISCARD bool owl_trace_id_of(owl_str traceparent, char ret[OWL_TRACE_ID + 1]);
/* A new trace id. 0 or -OWL_EIO. */
OWL_NODISCARD int owl_trace_id_new(char ret[OWL_TRACE_ID + 1]);

#endif

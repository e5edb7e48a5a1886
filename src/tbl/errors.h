/* tbl/errors.h - one row an error: name, JSON-RPC code, HTTP status where the error ends a request, whether a modern
 * response to a request that became a call has that status too (the others are answered with 200), label, retryable, code
 * in the style `layered`, text. The names and their order are those of owlclaw/types.h (checked in base/err.c).
 * Include with OWL_ERROR_ROW(name, rpc, http, call_http, label, retryable, layered, text) defined. */
OWL_ERROR_ROW(EINVAL, -32603, 500, 0, "invalid_argument", 0, "E_INVALID_ARGUMENT", "invalid argument")
OWL_ERROR_ROW(ENOMEM, -32603, 503, 0, "out_of_memory", 1, "E_UNAVAILABLE", "out of memory; try again later")
OWL_ERROR_ROW(ELIMIT, -32600, 400, 0, "limit", 0, "E_INTERNAL", "a limit was exceeded")
OWL_ERROR_ROW(EPARSE, -32700, 400, 1, "parse_error", 0, "E_INTERNAL", "malformed JSON")
OWL_ERROR_ROW(EREQUEST, -32600, 400, 1, "invalid_request", 0, "E_INTERNAL", "not a valid JSON-RPC request")
OWL_ERROR_ROW(ENOTFOUND, -32602, 404, 0, "not_found", 0, "E_NOT_FOUND", "not found")
OWL_ERROR_ROW(ENOMETHOD, -32601, 404, 1, "method_not_found", 0, "E_INTERNAL", "method not found")
OWL_ERROR_ROW(EPARAMS, -32602, 400, 0, "invalid_params", 0, "E_INVALID_ARGUMENT", "invalid parameters")
OWL_ERROR_ROW(EEXISTS, -32603, 409, 0, "exists", 0, "E_CONFLICT", "exists already")
OWL_ERROR_ROW(ESTATE, -32600, 409, 0, "state", 0, "E_CONFLICT", "not possible in this state")
OWL_ERROR_ROW(EDONE, -32603, 500, 0, "done", 0, "E_INTERNAL", "finished already")
OWL_ERROR_ROW(ECANCELLED, -32800, 499, 0, "cancelled", 1, "E_UNAVAILABLE", "cancelled")
OWL_ERROR_ROW(ETIMEOUT, -32004, 504, 0, "timeout", 1, "E_TIMEOUT", "the call took too long")
OWL_ERROR_ROW(EDENIED, -32003, 403, 0, "denied", 0, "E_PRECONDITION_FAILED", "denied by policy")
OWL_ERROR_ROW(ECAPABILITY, -32021, 400, 1, "missing_capability", 0, "E_PRECONDITION_FAILED", "the client lacks a capability that this call needs")
OWL_ERROR_ROW(EVERSION, -32022, 400, 1, "unsupported_version", 0, "E_INTERNAL", "unsupported protocol version")
OWL_ERROR_ROW(EHEADER, -32020, 400, 1, "header_mismatch", 0, "E_INTERNAL", "headers and body disagree")
OWL_ERROR_ROW(EIO, -32603, 500, 0, "io", 1, "E_UNAVAILABLE", "input/output error")
OWL_ERROR_ROW(ECLOSED, -32603, 503, 0, "closed", 1, "E_UNAVAILABLE", "the server is stopping; try again")
OWL_ERROR_ROW(ETOOL, -32005, 500, 0, "tool_failed", 0, "E_INTERNAL", "the tool failed")
OWL_ERROR_ROW(EINTERNAL, -32603, 500, 0, "internal", 0, "E_INTERNAL", "internal error")
OWL_ERROR_ROW(EBUSY, -32603, 503, 0, "busy", 1, "E_UNAVAILABLE", "the server is too busy; try again later")
#undef OWL_ERROR_ROW

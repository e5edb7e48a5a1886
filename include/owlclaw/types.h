/* owlclaw/types.h - what every public header shares: export macros, errors, log.
 *
 * Manners of the library: it installs no signal handler, never exits, writes only to descriptors
 * that it was given, and logs only through the callback that it was given. Running out of memory is
 * an error like any other; it never aborts the program.
 *
 * Every function that can fail returns 0 or a negative error, e.g. -OWL_EINVAL. An out parameter
 * named ret_x is written only on success; an owl_error only on failure, and may always be NULL.
 * Other pointers must not be NULL unless it is said that they may; functions that free or unref take
 * NULL. */
#ifndef OWLCLAW_TYPES_H
#define OWLCLAW_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define OWL_BEGIN_DECLS extern "C" {
#define OWL_END_DECLS }
#else
#define OWL_BEGIN_DECLS
#define OWL_END_DECLS
#endif

#if defined(__GNUC__)
#define OWL_API __attribute__((visibility("default")))
#define OWL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define OWL_API
#define OWL_PRINTF(fmt, args)
#endif

OWL_BEGIN_DECLS

/** For the length of a text, JSON or not, that ends in NUL: it is counted. Bytes (images, blobs) need
 *  their length. */
#define OWL_NTS ((size_t)-1)

/** Error numbers; functions return them negated. None of them is an errno. The list only grows. */
enum {
    OWL_EINVAL = 1001, /* an argument or option makes no sense */
    OWL_ENOMEM,        /* out of memory */
    OWL_ELIMIT,        /* a configured limit was exceeded */
    OWL_EPARSE,        /* malformed JSON */
    OWL_EREQUEST,      /* not a valid JSON-RPC request */
    OWL_ENOTFOUND,     /* no such tool, resource, prompt, session or key */
    OWL_ENOMETHOD,     /* no such method */
    OWL_EPARAMS,       /* the parameters do not fit the method */
    OWL_EEXISTS,       /* the name is taken */
    OWL_ESTATE,        /* not possible in this state */
    OWL_EDONE,         /* the call has been finished already */
    OWL_ECANCELLED,    /* the client cancelled the call */
    OWL_ETIMEOUT,      /* the deadline passed */
    OWL_EDENIED,       /* policy refused the call */
    OWL_ECAPABILITY,   /* the client did not declare the capability that is needed */
    OWL_EVERSION,      /* the protocol revision is not supported */
    OWL_EHEADER,       /* HTTP headers and message body disagree */
    OWL_EIO,           /* the operating system refused */
    OWL_ECLOSED,       /* the peer or the server has gone */
    OWL_ETOOL,         /* the tool itself failed */
    OWL_EINTERNAL,     /* a fault of the library */
    OWL_EBUSY          /* as much as the server does at a time is being done: try again later */
};

/** What went wrong, for people. Filled once, where the failure arose. */
typedef struct owl_error {
    int code;          /* the positive OWL_E* number */
    char message[252]; /* what, where and how to fix it; always terminated */
} owl_error;

/** The short name of an error number of either sign, e.g. "invalid_argument". Never NULL. */
OWL_API const char *owl_error_name(int code);

/** Severity, as MCP names them; usable for owl_call_logf() and for the library's own log. */
typedef enum owl_level {
    OWL_LEVEL_DEBUG = 1,
    OWL_LEVEL_INFO,
    OWL_LEVEL_NOTICE,
    OWL_LEVEL_WARNING,
    OWL_LEVEL_ERROR,
    OWL_LEVEL_CRITICAL,
    OWL_LEVEL_ALERT,
    OWL_LEVEL_EMERGENCY
} owl_level;

/** How clients are told that a known tool failed. */
typedef enum owl_error_style {
    OWL_ERRORS_AUTO,   /* codes to clients of 2024-11-05 and "1.0", mcp to all others */
    OWL_ERRORS_CODES,  /* a JSON-RPC error: -32003 denied, -32004 timeout, -32005 failed */
    OWL_ERRORS_MCP,    /* a result with isError, which the model sees */
    OWL_ERRORS_LAYERED /* the same, with an envelope {success, data, error, meta} */
} owl_error_style;

/** Receives one line of the library's own log (no newline). Called from any thread, possibly from
 *  several at once; @p line is valid during the call only. */
typedef void (*owl_log_fn)(void *data, owl_level level, const char *line);

OWL_END_DECLS

#endif

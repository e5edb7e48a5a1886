/* base/err.c - the error table as code, and the version.
 * Threads: pure.
 *
 * Invariant: the rows of tbl/errors.h have the names and the order of the enum in owlclaw/types.h;
 * the build fails otherwise. */
#include "base/err.h"

#include <limits.h>
#include <owlclaw/version.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    ROW_NONE = OWL_EINVAL - 1,
#define OWL_ERROR_ROW(name, rpc, http, call_http, label, retryable, layered, text) ROW_##name,
#include "tbl/errors.h"
    ROW_END
};

#define OWL_ERROR_ROW(name, rpc, http, call_http, label, retryable, layered, text) \
    _Static_assert((int)ROW_##name == (int)OWL_##name, "tbl/errors.h: " #name " is out of order");
#include "tbl/errors.h"
_Static_assert((int)ROW_END == (int)OWL_EBUSY + 1, "tbl/errors.h: rows are missing");

static const struct owl_err_info rows[] = {
#define OWL_ERROR_ROW(name, rpc, http, call_http, label, retryable, layered, text) \
    [OWL_##name - OWL_EINVAL] = {label, text, layered, rpc, http, call_http, retryable},
#include "tbl/errors.h"
};

static int magnitude(int code)
{
    if (code == INT_MIN)
        return INT_MAX;
    return code < 0 ? -code : code;
}

const struct owl_err_info *owl_err_info(int code)
{
    int row = magnitude(code);
    return &rows[(row > ROW_NONE && row < ROW_END ? row : OWL_EINTERNAL) - OWL_EINVAL];
}

const char *owl_error_name(int code)
{
    return code == 0 ? "ok" : owl_err_info(code)->label;
}

int owl_fail(owl_error *e, int code, const char *fmt, ...)
{
    code = magnitude(code);
    if (!e)
        return -code;
    e->code = code;
    if (!fmt) {
        snprintf(e->message, sizeof e->message, "%s", owl_err_info(code)->text);
        return -code;
    }
    va_list args;
    va_start(args, fmt);
    if (vsnprintf(e->message, sizeof e->message, fmt, args) < 0)
        e->message[0] = '\0';
    va_end(args);
    return -code;
}

const char *owl_version(void)
{
    return OWL_VERSION_STRING;
}

/* base/err.h - the error table (tbl/errors.h) as code.
 * Layer: base. Threads: pure. */
#ifndef OWL_BASE_ERR_H
#define OWL_BASE_ERR_H

#include "base/base.h"

struct owl_err_info {
    const char *label;   /* metrics, logs */
    const char *text;    /* for people, when nothing better is known */
    const char *layered; /* E_*: its code in the style `layered` */
    int rpc_code;
    int http_status;     /* where the error ends a request */
    bool status_of_call; /* … also if the request became a call of a modern client */
    bool retryable;
};

/* The row of an error of either sign; unknown numbers get OWL_EINTERNAL's. */
const struct owl_err_info *owl_err_info(int code);

/* Fill @p e (which may be NULL) and return -code, so that a failure is one statement:
 *     return owl_fail(reterr, OWL_ELIMIT, "line is longer than %zu bytes", max);
 * With fmt NULL the table's text is used. */
int owl_fail(owl_error *e, int code, const char *fmt, ...) OWL_PRINTF(3, 4);

#endif

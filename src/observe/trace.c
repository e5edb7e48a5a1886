/* observe/trace.c - W3C trace context.
 *
 * Threads: any. Each thread draws random bytes for many ids at once: a system call for each would
 * cost more than the rest of a quick call. */
#include "observe/trace.h"

#include "base/clock.h"

/* Takes @p n lower-case hex digits and what follows them: a dash, or the end. */
static bool take_hex(owl_str *rest, size_t n, owl_str *ret)
{
    if (rest->n < n || (rest->n > n && rest->p[n] != '-'))
        return false;
    bool zero = true;
    for (size_t i = 0; i < n; i++) {
        char c = rest->p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        zero = zero && c == '0';
    }
    *ret = (owl_str){rest->p, n};
    size_t used = rest->n > n ? n + 1 : n;
    *rest = (owl_str){rest->p + used, rest->n - used};
    return !zero || n == 2; /* ids are never all zero; versions and flags may be */
}

bool owl_trace_id_of(owl_str traceparent, char ret[OWL_TRACE_ID + 1])
{
    owl_str rest = traceparent, version, trace, parent, flags;
    if (!rest.p || !take_hex(&rest, 2, &version) || owl_str_is(version, "ff") ||
        !take_hex(&rest, OWL_TRACE_ID, &trace) || !take_hex(&rest, 16, &parent) ||
        !take_hex(&rest, 2, &flags))
        return false;
    if (owl_str_is(version, "00") && traceparent.n != 55)
        return false;
    memcpy(ret, trace.p, OWL_TRACE_ID);
    ret[OWL_TRACE_ID] = '\0';
    return true;
}

int owl_trace_id_new(char ret[OWL_TRACE_ID + 1])
{
    static OWL_THREAD_LOCAL unsigned char drawn[8 * OWL_TRACE_ID / 2];
    static OWL_THREAD_LOCAL size_t left;
    static const char digits[] = "0123456789abcdef";
    if (left == 0) {
        int rc = owl_random(drawn, sizeof drawn);
        if (rc != 0)
            return rc;
        left = sizeof drawn;
    }
    left -= OWL_TRACE_ID / 2;
    for (size_t i = 0; i < OWL_TRACE_ID / 2; i++) {
        ret[2 * i] = digits[drawn[left + i] >> 4];
        ret[2 * i + 1] = digits[drawn[left + i] & 15];
    }
    ret[OWL_TRACE_ID] = '\0';
    return 0;
}

/* server/limits.c - the limits that a program gives, the defaults for the others (tbl/limits.h). */
#include "base/err.h"
#include "base/sized.h"
#include "server/server.h"

static const struct {
    const char *name;
    size_t at; /* in owl_limits */
    uint64_t value, least, most;
} rows[] = {
#define OWL_LIMIT_ROW(name, value, least, most, text) \
    {#name, offsetof(owl_limits, name), value, least, most},
#include "tbl/limits.h"
};

int owl_limits_read(const owl_limits *given, owl_limits *ret, owl_error *reterr)
{
    owl_limits limits = {.size = sizeof limits};
    int rc = given ? OWL_SIZED_READ(&limits, owl_limits, size, given, reterr) : 0;
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        size_t *v = (size_t *)(void *)((char *)&limits + rows[i].at);
        if (*v == 0)
            *v = (size_t)rows[i].value;
        else if (*v < rows[i].least || *v > rows[i].most)
            return owl_fail(reterr, OWL_EINVAL, "limits.%s is %zu: it may be %llu to %llu",
                            rows[i].name, *v, (unsigned long long)rows[i].least,
                            (unsigned long long)rows[i].most);
    }
    *ret = limits;
    return 0;
}

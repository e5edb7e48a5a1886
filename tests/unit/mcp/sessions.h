/* unit/mcp/sessions.h - sessions for tests. */
#ifndef OWL_TEST_MCP_SESSIONS_H
#define OWL_TEST_MCP_SESSIONS_H

#include "support/test.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "mcp/session.h"

static const struct owl_session_init init = {.rev = OWL_REV_2025_11_25,
                                             .client_caps = {"{\"roots\":{}}", 12},
                                             .client_info = {"{\"name\":\"c\"}", 12},
                                             .owner = 3};

static inline struct owl_session *open_one(struct owl_sessions *t)
{
    struct owl_session *s = NULL;
    owl_error err = {0};
    assert_int_equal(owl_sessions_open(t, &init, &s, &err), 0);
    assert_non_null(s);
    return s;
}

#endif

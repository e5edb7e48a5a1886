/* library/hold.h - a handler that stays until it is told to leave. */
#ifndef OWL_TEST_SERVER_HOLD_H
#define OWL_TEST_SERVER_HOLD_H

#include "library/fixture.h"

static atomic_int entered;
static atomic_bool may_leave;

static int hold(owl_call *call, void *data)
{
    (void)data;
    atomic_fetch_add(&entered, 1);
    for (int64_t end = now_ms() + WAIT_MS; !atomic_load(&may_leave) && now_ms() < end;)
        usleep(1000);
    return owl_result_text(call, "held");
}

#endif

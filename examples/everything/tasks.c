/* tasks.c - tools that run as tasks for clients that take tasks, and as ordinary calls for others.
 *
 * A handler does not care which it is, except where it decides itself when the call becomes a
 * task. */
#include "everything.h"

#include <unistd.h>

/* Sleeps in small pieces: a task may be cancelled. */
static int work(owl_call *call, double seconds)
{
    enum { PIECE_MS = 20 };
    for (double ms = seconds * 1000; ms > 0 && !owl_call_cancelled(call); ms -= PIECE_MS)
        usleep(1000u * (unsigned)(ms < PIECE_MS ? ms : PIECE_MS));
    return owl_call_cancelled(call) ? -OWL_ECANCELLED : 0;
}

static int greet(owl_call *call, void *data)
{
    (void)data;
    const char *name = owl_json_get_str(owl_call_args(call), "name", "World");
    return owl_result_textf(call, "Hello, %s!", name);
}

static int slow_compute(owl_call *call, void *data)
{
    (void)data;
    const owl_json *args = owl_call_args(call);
    double seconds = owl_json_get_num(args, "seconds", 1);
    int rc = work(call, seconds);
    if (rc != 0)
        return rc;
    return owl_result_textf(call, "%s: done after %g seconds.",
                            owl_json_get_str(args, "label", "slow_compute"), seconds);
}

static int failing_job(owl_call *call, void *data)
{
    (void)data;
    int rc = work(call, 1);
    return rc != 0 ? rc : owl_call_fail(call, "This job always fails.");
}

static int protocol_error_job(owl_call *call, void *data)
{
    (void)data;
    int rc = work(call, 0.2);
    return rc != 0 ? rc : owl_call_error(call, -32603, NULL, "This job ends in an error.");
}

#define CONFIRM_SCHEMA \
    "{\"type\":\"object\",\"properties\":{\"confirm\":{\"type\":\"boolean\"}}," \
    "\"required\":[\"confirm\"]}"

static int confirm_delete(owl_call *call, void *data)
{
    (void)data;
    const owl_json *answer;
    const char *file = owl_json_get_str(owl_call_args(call), "filename", "nothing");
    int rc = ask_form(call, "confirm", "Really delete it?", CONFIRM_SCHEMA, &answer);
    if (rc != 0)
        return rc;
    bool yes = owl_json_get_bool(owl_json_get(answer, "content"), "confirm", false);
    return owl_result_textf(call, yes ? "%s is deleted." : "%s is kept.", file);
}

static int multi_input(owl_call *call, void *data)
{
    (void)data;
    const owl_json *first, *second;
    int rc = ask_form(call, "first", "The first name?", NAME_SCHEMA, &first);
    int rc2 = ask_form(call, "second", "The second name?", NAME_SCHEMA, &second);
    if (rc != 0 || rc2 != 0)
        return rc < 0 || rc2 == 0 ? rc : rc2;
    return owl_result_textf(call, "%s and %s",
                            owl_json_get_str(owl_json_get(first, "content"), "name", "?"),
                            owl_json_get_str(owl_json_get(second, "content"), "name", "?"));
}

/* Asks first, as an ordinary call; the work is a task. */
static int tool_with_task(owl_call *call, void *data)
{
    (void)data;
    const owl_json *answer;
    int rc = ask_form(call, "user_name", "What is your name?", NAME_SCHEMA, &answer);
    if (rc != 0)
        return rc;
    rc = owl_call_become_task(call);
    if (rc != 0 && rc != -OWL_ECAPABILITY)
        return rc;
    rc = work(call, 0.2);
    if (rc != 0)
        return rc;
    return owl_result_textf(call, "The work for %s is done.",
                            owl_json_get_str(owl_json_get(answer, "content"), "name", "you"));
}

int add_task_tools(owl_server *server, owl_error *reterr)
{
    owl_tool tools[] = {
        OWL_TOOL("greet", "Says hello, at once.",
                 "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}", greet),
        OWL_TOOL("slow_compute", "Computes for some seconds.",
                 "{\"type\":\"object\",\"properties\":{\"seconds\":{\"type\":\"number\","
                 "\"minimum\":0,\"maximum\":600},"
                 "\"label\":{\"type\":\"string\"}}}",
                 slow_compute),
        OWL_TOOL("failing_job", "Works for a second and fails; only as a task.", NO_ARGUMENTS,
                 failing_job),
        OWL_TOOL("protocol_error_job", "Ends in an error of the protocol.", NO_ARGUMENTS,
                 protocol_error_job),
        OWL_TOOL("confirm_delete", "Asks before it deletes.",
                 "{\"type\":\"object\",\"properties\":{\"filename\":{\"type\":\"string\"}}}",
                 confirm_delete),
        OWL_TOOL("multi_input", "Asks two questions at once.", NO_ARGUMENTS, multi_input),
        OWL_TOOL("test_tool_with_task", "Asks, then works as a task.", NO_ARGUMENTS,
                 tool_with_task),
    };
    static const unsigned flags[] = {0,        OWL_TASK, OWL_TASK_ONLY, OWL_TASK,
                                     OWL_TASK, OWL_TASK, OWL_TASK_LATER};
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        tools[i].flags = flags[i];
    return add_tools(server, tools, COUNT_OF(tools), reterr);
}

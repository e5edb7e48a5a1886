/* runtime.c - tools about how a call runs: progress, log, cancellation, deadlines, changes.
 * They block on worker threads; the counters are shared by all of them. */
#include "everything.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static atomic_int sleepers;  /* calls that sleep now */
static atomic_int cancelled; /* sleeping calls that were told to give up */

static void nap(long ms)
{
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&ts, NULL);
}

/* Sleeps in small steps; false as soon as nobody waits for the answer any more. */
static bool sleep_unless_cancelled(owl_call *call, int64_t ms)
{
    enum { STEP_MS = 5 };
    atomic_fetch_add(&sleepers, 1);
    while (ms > 0 && !owl_call_cancelled(call)) {
        nap(STEP_MS);
        ms -= STEP_MS;
    }
    atomic_fetch_sub(&sleepers, 1);
    if (owl_call_cancelled(call))
        atomic_fetch_add(&cancelled, 1);
    return ms <= 0;
}

static int with_progress(owl_call *call, void *data)
{
    (void)data;
    for (int percent = 0; percent <= 100; percent += 50) {
        owl_call_progress(call, percent, 100, percent == 100 ? "done" : "working");
        nap(50);
    }
    return owl_result_text(call, "Progress was reported.");
}

static int with_logging(owl_call *call, void *data)
{
    (void)data;
    static const char *const messages[] = {"Tool execution started", "Tool processing data",
                                           "Tool execution completed"};
    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        owl_call_logf(call, OWL_LEVEL_INFO, NULL, "%s", messages[i]);
        nap(i + 1 < COUNT_OF(messages) ? 50 : 0);
    }
    return owl_result_text(call, "Log messages were sent.");
}

/* One message a level, so that a test sees what is filtered. */
static int every_level(owl_call *call, void *data)
{
    (void)data;
    for (int level = OWL_LEVEL_DEBUG; level <= OWL_LEVEL_EMERGENCY; level++)
        owl_call_logf(call, (owl_level)level, "test_logging_tool", "level %d", level);
    static const char fields[] = "{\"disk\":\"full\",\"percent\":99}";
    owl_call_log_json(call, OWL_LEVEL_ERROR, NULL, fields, OWL_NTS);
    return owl_result_text(call, "Every level was logged.");
}

static int streaming(owl_call *call, void *data)
{
    (void)data;
    owl_call_progress(call, 1, 2, "half way");
    return owl_result_text(call, "Nothing was asked on the stream.");
}

/* Sends the client away; one that can comes back for the result. */
static int reconnection(owl_call *call, void *data)
{
    (void)data;
    owl_call_close_stream(call);
    nap(100);
    return owl_result_text(call, "The result of a call whose stream may have been closed.");
}

static int missing_capability(owl_call *call, void *data)
{
    (void)data;
    int rc = owl_call_require(call, "sampling");
    return rc != 0 ? rc : owl_result_text(call, "The client can sample.");
}

static int sleep_ms(owl_call *call, void *data)
{
    (void)data;
    int64_t ms = owl_json_get_int(owl_call_args(call), "ms", 100);
    if (!sleep_unless_cancelled(call, ms))
        return owl_call_fail(call, "The sleep was cut short.");
    return owl_result_textf(call, "slept %lld ms", (long long)ms);
}

static int too_slow(owl_call *call, void *data)
{
    (void)data;
    sleep_unless_cancelled(call, 10000);
    return owl_result_text(call, "This is never seen.");
}

static int counters(owl_call *call, void *data)
{
    (void)data;
    return owl_result_textf(call, "{\"sleeping\":%d,\"cancelled\":%d}", atomic_load(&sleepers),
                            atomic_load(&cancelled));
}

static int client_facts(owl_call *call, void *data)
{
    (void)data;
    return owl_result_textf(call,
                            "{\"revision\":\"%s\",\"principal\":\"%s\",\"sampling\":%s,"
                            "\"deadline\":%s}",
                            owl_call_revision(call), owl_call_principal(call),
                            owl_call_client_can(call, "sampling") ? "true" : "false",
                            owl_call_remaining_ms(call) > 0 ? "true" : "false");
}

static void *finish_later(void *arg)
{
    owl_call *call = arg;
    nap(50);
    owl_result_text(call, "Finished by another thread.");
    owl_call_finish(call, 0);
    owl_call_unref(call);
    return NULL;
}

static int later(owl_call *call, void *data)
{
    (void)data;
    pthread_t thread;
    if (pthread_create(&thread, NULL, finish_later, owl_call_ref(call)) != 0) {
        owl_call_unref(call);
        return owl_call_fail(call, "No thread could be started; try again later.");
    }
    pthread_detach(thread);
    return OWL_LATER;
}

/* What a careless library would do to the standard output of a server on stdio. */
static int stray_output(owl_call *call, void *data)
{
    (void)data;
    printf("{\"stray\":\"output\"}\nwithout a newline");
    fflush(stdout);
    return owl_result_text(call, "Something was printed.");
}

static int dynamic(owl_call *call, void *data)
{
    (void)data;
    return owl_result_text(call, "This comes and goes.");
}

/* Each call of a trigger adds what the one before has removed, and the other way round. */
static int trigger_tool_change(owl_call *call, void *data)
{
    (void)data;
    owl_server *server = owl_call_server(call);
    owl_tool tool = OWL_TOOL("test_dynamic_tool", "Comes and goes.", NO_ARGUMENTS, dynamic);
    if (owl_server_remove_tool(server, tool.name) != 0 &&
        owl_server_add_tool(server, &tool, NULL) != 0)
        return owl_call_fail(call, "The tool could not be added.");
    return owl_result_text(call, "The list of tools has changed.");
}

static int trigger_prompt_change(owl_call *call, void *data)
{
    (void)data;
    owl_server *server = owl_call_server(call);
    owl_prompt prompt = {
        .size = sizeof(prompt),
        .name = "test_dynamic_prompt",
        .description = "Comes and goes.",
        .handler = dynamic,
    };
    if (owl_server_remove_prompt(server, prompt.name) != 0 &&
        owl_server_add_prompt(server, &prompt, NULL) != 0)
        return owl_call_fail(call, "The prompt could not be added.");
    return owl_result_text(call, "The list of prompts has changed.");
}

static int trigger_resource_change(owl_call *call, void *data)
{
    (void)data;
    owl_server *server = owl_call_server(call);
    owl_resource resource = {
        .size = sizeof(resource),
        .uri = "test://dynamic-resource",
        .name = "dynamic-resource",
        .description = "Comes and goes.",
        .text = "This comes and goes.",
    };
    if (owl_server_remove_resource(server, resource.uri) != 0 &&
        owl_server_add_resource(server, &resource, NULL) != 0)
        return owl_call_fail(call, "The resource could not be added.");
    return owl_result_text(call, "The list of resources has changed.");
}

static int touch_resource(owl_call *call, void *data)
{
    (void)data;
    owl_server *server = owl_call_server(call);
    const char *uri = owl_json_get_str(owl_call_args(call), "uri", "test://watched-resource");
    owl_server_resource_updated(server, uri);
    return owl_result_textf(call, "%s was touched.", uri);
}

static const owl_tool tools[] = {
    OWL_TOOL("test_tool_with_progress", "Reports progress.", NO_ARGUMENTS, with_progress),
    OWL_TOOL("test_tool_with_logging", "Logs while it runs.", NO_ARGUMENTS, with_logging),
    OWL_TOOL("test_logging_tool", "Logs a message of every level.", NO_ARGUMENTS, every_level),
    OWL_TOOL("test_streaming_elicitation", "Answers on a stream.", NO_ARGUMENTS, streaming),
    OWL_TOOL("test_reconnection", "Answers a client that was sent away.", NO_ARGUMENTS,
             reconnection),
    OWL_TOOL("test_missing_capability", "Needs a client that can sample.", NO_ARGUMENTS,
             missing_capability),
    OWL_TOOL("test_sleep", "Sleeps that long.",
             "{\"type\":\"object\",\"properties\":{\"ms\":{\"type\":\"integer\"}}}", sleep_ms),
    {
        .size = sizeof(owl_tool),
        .name = "test_timeout",
        .description = "Takes longer than it may.",
        .handler = too_slow,
        .timeout_ms = 200,
    },
    OWL_TOOL("test_counters", "How many calls sleep and were cancelled.", NO_ARGUMENTS, counters),
    OWL_TOOL("test_client_facts", "What is known of the client.", NO_ARGUMENTS, client_facts),
    OWL_TOOL("test_later", "Is finished by another thread.", NO_ARGUMENTS, later),
    OWL_TOOL("test_stray_output", "Prints to standard output.", NO_ARGUMENTS, stray_output),
    OWL_TOOL("test_trigger_tool_change", "Adds or removes a tool.", NO_ARGUMENTS,
             trigger_tool_change),
    OWL_TOOL("test_trigger_prompt_change", "Adds or removes a prompt.", NO_ARGUMENTS,
             trigger_prompt_change),
    OWL_TOOL("test_trigger_resource_change", "Adds or removes a resource.", NO_ARGUMENTS,
             trigger_resource_change),
    OWL_TOOL("test_touch_resource", "Tells subscribers that a resource has changed.",
             "{\"type\":\"object\",\"properties\":{\"uri\":{\"type\":\"string\"}}}",
             touch_resource),
};

int add_runtime_tools(owl_server *server, owl_error *reterr)
{
    return add_tools(server, tools, COUNT_OF(tools), reterr);
}

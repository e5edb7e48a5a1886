/* catalog.c - resources, templates, prompts and their completion. */
#include "everything.h"

#include <stdio.h>
#include <string.h>

static int static_binary(owl_call *call, void *data)
{
    (void)data;
    return owl_result_bytes(call, test_png, test_png_len, "image/png");
}

static int template_data(owl_call *call, void *data)
{
    (void)data;
    const char *id = owl_call_var(call, "id");
    char line[128];
    if (snprintf(line, sizeof(line), "Data for ID: %s", id) >= (int)sizeof(line))
        return owl_call_fail(call, "An id has at most 100 bytes.");
    const char *text = "";
    size_t len = 0;
    owl_json_writer *w = owl_json_writer_new();
    if (w == NULL)
        return -OWL_ENOMEM;
    owl_json_begin_object(w);
    owl_json_key(w, "id");
    owl_json_put_str(w, id);
    owl_json_key(w, "templateTest");
    owl_json_put_bool(w, true);
    owl_json_key(w, "data");
    owl_json_put_str(w, line);
    owl_json_end(w);
    int rc = owl_json_writer_text(w, &text, &len);
    if (rc == 0)
        rc = owl_result_textn(call, text, len);
    owl_json_writer_free(w);
    return rc;
}

static int failing_resource(owl_call *call, void *data)
{
    (void)data;
    return owl_call_fail(call, "This resource cannot be read today.");
}

/* Values that begin with what was typed. */
static int complete_from(owl_call *call, const char *const *values, size_t n)
{
    const char *typed = owl_call_complete_value(call);
    for (size_t i = 0; i < n; i++)
        if (strncmp(values[i], typed, strlen(typed)) == 0)
            owl_result_completion(call, values[i]);
    return 0;
}

static int complete_id(owl_call *call, void *data)
{
    (void)data;
    static const char *const ids[] = {"1", "12", "123", "42"};
    return complete_from(call, ids, COUNT_OF(ids));
}

/* arg2 depends on what arg1 is already. */
static int complete_argument(owl_call *call, void *data)
{
    (void)data;
    static const char *const first[] = {"test1", "test2", "other"};
    static const char *const second[] = {"testA", "testB"};
    if (strcmp(owl_call_complete_name(call), "arg1") == 0)
        return complete_from(call, first, COUNT_OF(first));
    const char *arg1 = owl_call_var(call, "arg1");
    if (arg1 != NULL && strcmp(arg1, "other") == 0)
        return 0;
    return complete_from(call, second, COUNT_OF(second));
}

/* More values than one answer may carry. */
static int complete_many(owl_call *call, void *data)
{
    (void)data;
    char value[] = "value-000";
    for (unsigned i = 0; i < 150; i++) {
        value[6] = (char)('0' + i / 100);
        value[7] = (char)('0' + i / 10 % 10);
        value[8] = (char)('0' + i % 10);
        owl_result_completion(call, value);
    }
    return 0;
}

static const owl_resource resources[] = {
    {
        .size = sizeof(owl_resource),
        .uri = "test://static-text",
        .name = "static-text",
        .description = "A text that never changes.",
        .mime_type = "text/plain",
        .text = "This is the content of the static text resource.",
        .title = "Static text",
        .bytes = 48,
    },
    {
        .size = sizeof(owl_resource),
        .uri = "test://static-binary",
        .name = "static-binary",
        .description = "A picture that never changes.",
        .mime_type = "image/png",
        .handler = static_binary,
    },
    {
        .size = sizeof(owl_resource),
        .uri = "test://watched-resource",
        .name = "watched-resource",
        .description = "Clients may subscribe to it.",
        .mime_type = "text/plain",
        .text = "This is watched.",
    },
    {
        .size = sizeof(owl_resource),
        .uri = "test://example-resource",
        .name = "example-resource",
        .description = "The resource that a prompt embeds.",
        .mime_type = "text/plain",
        .text = "Embedded resource content for testing.",
    },
    {
        .size = sizeof(owl_resource),
        .uri = "test://failing-resource",
        .name = "failing-resource",
        .description = "Cannot be read.",
        .handler = failing_resource,
    },
    {
        .size = sizeof(owl_resource),
        .uri = "test://template/{id}/data",
        .name = "template-data",
        .description = "Data by id.",
        .mime_type = "application/json",
        .handler = template_data,
        .complete = complete_id,
    },
};

int add_resources(owl_server *server, owl_error *reterr)
{
    for (size_t i = 0; i < COUNT_OF(resources); i++) {
        int rc = owl_server_add_resource(server, &resources[i], reterr);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int simple_prompt(owl_call *call, void *data)
{
    (void)data;
    return owl_result_text(call, "This is a simple prompt for testing.");
}

static int prompt_with_arguments(owl_call *call, void *data)
{
    (void)data;
    const owl_json *args = owl_call_args(call);
    return owl_result_textf(call, "Prompt with arguments: arg1='%s', arg2='%s'",
                            owl_json_get_str(args, "arg1", ""), owl_json_get_str(args, "arg2", ""));
}

static int prompt_with_resource(owl_call *call, void *data)
{
    (void)data;
    const char *uri = owl_json_get_str(owl_call_args(call), "resourceUri",
                                       "test://example-resource");
    owl_result_resource(call, uri, "text/plain", "Embedded resource content for testing.");
    return owl_result_text(call, "Please process the embedded resource above.");
}

static int prompt_with_image(owl_call *call, void *data)
{
    (void)data;
    owl_result_image(call, test_png, test_png_len, "image/png");
    return owl_result_text(call, "Please analyze the image above.");
}

static int dialogue(owl_call *call, void *data)
{
    (void)data;
    owl_result_text(call, "Who are you?");
    owl_result_role(call, "assistant");
    return owl_result_text(call, "An owl.");
}

static const owl_prompt prompts[] = {
    {
        .size = sizeof(owl_prompt),
        .name = "test_simple_prompt",
        .description = "A prompt without arguments.",
        .handler = simple_prompt,
        .title = "Simple prompt",
    },
    {
        .size = sizeof(owl_prompt),
        .name = "test_prompt_with_arguments",
        .description = "A prompt with two arguments.",
        .arguments = "[{\"name\":\"arg1\",\"description\":\"First argument\",\"required\":true},"
                     "{\"name\":\"arg2\",\"description\":\"Second argument\",\"required\":true}]",
        .handler = prompt_with_arguments,
        .complete = complete_argument,
    },
    {
        .size = sizeof(owl_prompt),
        .name = "test_prompt_with_embedded_resource",
        .description = "A prompt that embeds a resource.",
        .arguments = "[{\"name\":\"resourceUri\",\"description\":\"The URI to embed\","
                     "\"required\":true}]",
        .handler = prompt_with_resource,
        .complete = complete_many,
    },
    {
        .size = sizeof(owl_prompt),
        .name = "test_prompt_with_image",
        .description = "A prompt with a picture.",
        .handler = prompt_with_image,
    },
    {
        .size = sizeof(owl_prompt),
        .name = "test_prompt_dialogue",
        .description = "A prompt with messages of both roles.",
        .handler = dialogue,
    },
};

int add_prompts(owl_server *server, owl_error *reterr)
{
    for (size_t i = 0; i < COUNT_OF(prompts); i++) {
        int rc = owl_server_add_prompt(server, &prompts[i], reterr);
        if (rc != 0)
            return rc;
    }
    return 0;
}

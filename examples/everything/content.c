/* content.c - tools that show every kind of content, and what is said about a tool in a list.
 * All of them are pure functions of their arguments and run on any worker thread. */
#include "everything.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
/* One transparent pixel. */
const unsigned char test_png[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1f, 0x15, 0xc4,
    0x89, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xfc, 0xcf, 0xc0, 0xf0,
    0x1f, 0x00, 0x05, 0x05, 0x02, 0x00, 0x5f, 0xc8, 0xf1, 0xd2, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45,
    0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};
const size_t test_png_len = sizeof(test_png);

/* One sample of silence at 8 kHz. */
const unsigned char test_wav[] = {
    0x52, 0x49, 0x46, 0x46, 0x26, 0x00, 0x00, 0x00, 0x57, 0x41, 0x56, 0x45, 0x66, 0x6d, 0x74, 0x20,
    0x10, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x40, 0x1f, 0x00, 0x00, 0x00, 0x7d, 0x00, 0x00,
    0x02, 0x00, 0x10, 0x00, 0x64, 0x61, 0x74, 0x61, 0x02, 0x00, 0x00, 0x00,
};
const size_t test_wav_len = sizeof(test_wav);
/* clang-format on */

int add_tools(owl_server *server, const owl_tool *tools, size_t n, owl_error *reterr)
{
    for (size_t i = 0; i < n; i++) {
        int rc = owl_server_add_tool(server, &tools[i], reterr);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int simple_text(owl_call *call, void *data)
{
    (void)data;
    return owl_result_text(call, "This is a simple text response for testing.");
}

static int echo(owl_call *call, void *data)
{
    (void)data;
    const owl_json *message = owl_json_get(owl_call_args(call), "message");
    return owl_result_textn(call, owl_json_str(message, ""), owl_json_len(message));
}

static int image(owl_call *call, void *data)
{
    (void)data;
    return owl_result_image(call, test_png, test_png_len, "image/png");
}

static int audio(owl_call *call, void *data)
{
    (void)data;
    return owl_result_audio(call, test_wav, test_wav_len, "audio/wav");
}

static int embedded_resource(owl_call *call, void *data)
{
    (void)data;
    return owl_result_resource(call, "test://embedded-resource", "text/plain",
                               "This is an embedded resource content.");
}

static int resource_link(owl_call *call, void *data)
{
    (void)data;
    return owl_result_link(call, "test://static-text", "static-text", "text/plain",
                           "A resource that can be read.");
}

/* The builders keep the first error and fail the call with it: only the last need be asked. */
static int multiple_content_types(owl_call *call, void *data)
{
    (void)data;
    owl_result_text(call, "Multiple content types test:");
    owl_result_image(call, test_png, test_png_len, "image/png");
    return owl_result_resource(call, "test://mixed-content-resource", "application/json",
                               "{\"test\":\"data\",\"value\":123}");
}

static int structured(owl_call *call, void *data)
{
    (void)data;
    static const char weather[] = "{\"temperature\":22.5,\"conditions\":\"partly cloudy\"}";
    return owl_result_structured(call, weather, OWL_NTS);
}

static int meta(owl_call *call, void *data)
{
    (void)data;
    owl_result_meta(call, "com.example/colour", "\"blue\"", OWL_NTS);
    return owl_result_text(call, "This result has a _meta member.");
}

static int large(owl_call *call, void *data)
{
    (void)data;
    int64_t bytes = owl_json_get_int(owl_call_args(call), "bytes", 0);
    char *text = malloc((size_t)bytes + 1);
    if (text == NULL)
        return -OWL_ENOMEM;
    memset(text, 'x', (size_t)bytes);
    int rc = owl_result_textn(call, text, (size_t)bytes);
    free(text);
    return rc;
}

static int error_handling(owl_call *call, void *data)
{
    (void)data;
    return owl_call_fail(call, "This tool intentionally returns an error for testing");
}

static int protocol_error(owl_call *call, void *data)
{
    (void)data;
    return owl_call_error(call, 1234, "{\"colour\":\"red\"}", "an error of the application's own");
}

/* An error without a word about it: the library finds one. */
static int bare_error(owl_call *call, void *data)
{
    (void)data;
    owl_result_text(call, "half of a result, which is dropped");
    return -OWL_EIO;
}

static int region(owl_call *call, void *data)
{
    (void)data;
    const owl_json *args = owl_call_args(call);
    return owl_result_textf(call, "region=%s", owl_json_get_str(args, "region", "none"));
}

static int address(owl_call *call, void *data)
{
    (void)data;
    return owl_result_textf(call, "name=%s",
                            owl_json_get_str(owl_call_args(call), "name", "unknown"));
}

static const char json_schema_2020_12[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"
    "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
    "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
    "\"required\":[\"contactMethod\"]},"
    "\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
    "\"additionalProperties\":false}";

static const owl_tool tools[] = {
    /* Probes that know nothing of a server call its first tool without arguments. */
    OWL_TOOL("test_simple_text", "Returns a short text.", NO_ARGUMENTS, simple_text),
    {
        .size = sizeof(owl_tool),
        .name = "echo",
        .description = "Returns the message that it is given.",
        .input_schema = "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},"
                        "\"required\":[\"message\"]}",
        .handler = echo,
        .flags = OWL_INLINE,
        .annotations = "{\"readOnlyHint\":true}",
    },
    OWL_TOOL("test_image_content", "Returns a picture.", NO_ARGUMENTS, image),
    OWL_TOOL("test_audio_content", "Returns a sound.", NO_ARGUMENTS, audio),
    OWL_TOOL("test_embedded_resource", "Returns a resource.", NO_ARGUMENTS, embedded_resource),
    OWL_TOOL("test_resource_link", "Returns a link to a resource.", NO_ARGUMENTS, resource_link),
    OWL_TOOL("test_multiple_content_types", "Returns text, a picture and a resource.", NO_ARGUMENTS,
             multiple_content_types),
    {
        .size = sizeof(owl_tool),
        .name = "test_structured_content",
        .description = "Returns structured content.",
        .handler = structured,
        .title = "Structured content",
        .output_schema =
            "{\"type\":\"object\",\"properties\":{\"temperature\":{\"type\":\"number\"},"
            "\"conditions\":{\"type\":\"string\"}},"
            "\"required\":[\"temperature\",\"conditions\"]}",
    },
    OWL_TOOL("test_result_meta", "Returns a result with _meta.", NO_ARGUMENTS, meta),
    OWL_TOOL("test_large_content", "Returns a text of that many bytes.",
             "{\"type\":\"object\",\"properties\":{\"bytes\":{\"type\":\"integer\","
             "\"minimum\":0,\"maximum\":67108864}}}",
             large),
    OWL_TOOL("test_error_handling", "Fails, and says so.", NO_ARGUMENTS, error_handling),
    OWL_TOOL("test_protocol_error", "Fails with a JSON-RPC error.", NO_ARGUMENTS, protocol_error),
    OWL_TOOL("test_bare_error", "Fails without a word.", NO_ARGUMENTS, bare_error),
    OWL_TOOL("test_header_region", "Mirrors its arguments in headers such as Mcp-Param-Region.",
             "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
             "\"x-mcp-header\":\"Region\"},\"in\":{\"type\":\"object\",\"properties\":{"
             "\"zone\":{\"type\":\"integer\",\"x-mcp-header\":\"Zone\"}}}}}",
             region),
    OWL_TOOL("json_schema_2020_12_tool", "Takes arguments that need all of JSON Schema 2020-12.",
             json_schema_2020_12, address),
};

int add_content_tools(owl_server *server, owl_error *reterr)
{
    return add_tools(server, tools, COUNT_OF(tools), reterr);
}

/* hello-server.c - an MCP server with one tool, over HTTP or pipes. */
#include <owlclaw/owlclaw.h>
#include <stdio.h>
#include <string.h>

static const char hint[] =
    "curl http://127.0.0.1:%d/mcp -H 'Content-Type: application/json' \\\n"
    "  -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \\\n"
    "  -H 'Mcp-Method: tools/call' -H 'Mcp-Name: hello' -d '{\"jsonrpc\":\"2.0\",\"id\":1,\n"
    "  \"method\":\"tools/call\",\"params\":{\"name\":\"hello\",\"arguments\":{\"name\":\"owl\"},\n"
    "  \"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\n"
    "  \"io.modelcontextprotocol/clientCapabilities\":{}}}}'\n";

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}";

static int hello(owl_call *call, void *data)
{
    (void)data;
    const char *name = owl_json_get_str(owl_call_args(call), "name", "world");
    return owl_result_textf(call, "Hello, %s!", name);
}

int main(int argc, char **argv)
{
    owl_server_options options = OWL_SERVER_OPTIONS("hello", "1.0");
    owl_tool tool = OWL_TOOL("hello", "Greets somebody.", schema, hello);
    bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    bool http = argc != 2 || strcmp(argv[1], "--stdio") != 0;
    bool chosen = argc == 3 && strcmp(argv[1], "--port") == 0;
    if (http && !chosen && argc != 1)
        return fprintf(help ? stdout : stderr, "usage: hello-server [--stdio | --port N]\n"),
               help ? 0 : 2;
    owl_server *server = NULL;
    owl_error err = {0};
    if (owl_server_new(&options, &server, &err) || owl_server_add_tool(server, &tool, &err) ||
        (http ? owl_server_listen(server, chosen ? argv[2] : "8080", &err)
              : owl_server_serve_fds(server, 0, 1, &err)) ||
        owl_server_start(server, &err))
        return fprintf(stderr, "hello-server: %s\n", err.message), 1;
    if (http && printf("http://127.0.0.1:%d/mcp is ready. Try:\n\n", owl_server_port(server)) > 0)
        printf(hint, owl_server_port(server)), fflush(stdout);
    owl_server_join(server);
    owl_server_free(server);
}

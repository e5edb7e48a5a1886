// What the official Java SDK does with a server: list, call, elicit.
//
// usage: driver URL COMMAND ARGUMENTS...      prints a line a check: see tests/soak/run.py

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.Callable;

class driver {
    static final String MESSAGE = "h\u00e9llo \"owl\" \ud83e\udd89\n";
    static final Map<String, Object> ANSWER =
            Map.of("username", "owl", "email", "owl@example.com");
    static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    static McpClientTransport http(String url) {
        URI uri = URI.create(url);
        return HttpClientStreamableHttpTransport.builder(url.replace(uri.getPath(), ""))
                .endpoint(uri.getPath()).build();
    }

    static McpClientTransport stdio(String[] args) {
        ServerParameters server = ServerParameters.builder(args[1])
                .args(Arrays.asList(args).subList(2, args.length)).build();
        return new StdioClientTransport(server, McpJsonDefaults.getMapper());
    }

    static String text(McpSyncClient client, String tool, Map<String, Object> arguments) {
        var result = client.callTool(new McpSchema.CallToolRequest(tool, arguments));
        return ((McpSchema.TextContent) result.content().get(0)).text();
    }

    static void check(String name, String what, Callable<Boolean> passed) {
        try {
            out.println(passed.call() ? "ok " + name + " " + what
                    : "FAIL " + name + " " + what + ": a wrong answer");
        } catch (Exception error) {
            out.println("FAIL " + name + " " + what + ": " + error);
        }
    }

    static void run(String name, McpClientTransport transport) {
        McpSyncClient client = McpClient.sync(transport)
                .requestTimeout(Duration.ofSeconds(30))
                .capabilities(McpSchema.ClientCapabilities.builder().elicitation().build())
                .elicitation(request -> new McpSchema.ElicitResult(
                        McpSchema.ElicitResult.Action.ACCEPT, ANSWER))
                .build();
        check(name, "connect", () -> client.initialize() != null);
        check(name, "list", () -> {
            var names = client.listTools().tools().stream().map(tool -> tool.name()).toList();
            return names.contains("echo") && names.contains("test_elicitation");
        });
        check(name, "call", () ->
                text(client, "echo", Map.of("message", MESSAGE)).equals(MESSAGE));
        check(name, "elicit", () -> text(client, "test_elicitation", Map.of("message", "Who?"))
                .contains("\"username\":\"owl\""));
        client.closeGracefully();
    }

    public static void main(String[] args) {
        run("java-sdk http", http(args[0]));
        run("java-sdk stdio", stdio(args));
        System.exit(0);
    }
}

// client.cjs - what a program built on an official SDK does first: connect, list, call, read, get.
// Over the old HTTP+SSE it is also asked something, and hears of a change.
//
// usage: node client.cjs v1|v2 legacy|auto|modern URL | unix:PATH | COMMAND ARGUMENTS...
//
// A URL that ends in /sse is that of the old transport.
// The packages are those of the folder OWLCLAW_CLIENTS. Prints what it saw as one line of JSON.
'use strict';

const http = require('node:http');
const { createRequire } = require('node:module');
const path = require('node:path');
const { Readable } = require('node:stream');

const load = createRequire(path.join(process.env.OWLCLAW_CLIENTS, 'index.js'));
const [sdk, era, target, ...args] = process.argv.slice(2);

function parts() {
    if (sdk === 'v1') {
        const base = '@modelcontextprotocol/sdk/client/';
        const files = ['index.js', 'streamableHttp.js', 'stdio.js', 'sse.js'];
        return Object.assign({}, ...files.map((file) => load(base + file)));
    }
    const base = '@modelcontextprotocol/client';
    return { ...load(base), ...load(base + '/stdio') };
}

// Node's own fetch() knows no Unix sockets.
function fetchThrough(socketPath) {
    const agent = new http.Agent({ keepAlive: true });
    return (url, { method, headers, body, signal } = {}) => new Promise((resolve, reject) => {
        const options = {
            agent, method, signal, socketPath, headers: Object.fromEntries(new Headers(headers)),
        };
        http.request(url, options, (got) => {
            const bare = got.statusCode === 204;
            resolve(new Response(bare ? null : Readable.toWeb(got), {
                status: got.statusCode, headers: got.headers,
            }));
        }).on('error', reject).end(body);
    });
}

const old = target.endsWith('/sse');

function transportTo({ SSEClientTransport, StreamableHTTPClientTransport, StdioClientTransport }) {
    if (old)
        return new SSEClientTransport(new URL(target));
    if (target.startsWith('http'))
        return new StreamableHTTPClientTransport(new URL(target));
    if (!target.startsWith('unix:'))
        return new StdioClientTransport({ command: target, args });
    const fetch = fetchThrough(target.slice('unix:'.length));
    return new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { fetch });
}

// What the server says first: a question and a change of the list of tools.
async function listen(client, call) {
    const { ElicitRequestSchema, ToolListChangedNotificationSchema } =
        load('@modelcontextprotocol/sdk/types.js');
    const changed = new Promise((done) => client.setNotificationHandler(
        ToolListChangedNotificationSchema, () => done(true)));
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => (
        { action: 'accept', content: { username: params.message, email: 'owl@example.com' } }));
    const elicited = (await call('test_elicitation', { message: 'Who?' })).content[0].text;
    await call('test_trigger_tool_change', {});
    return { elicited, changed: await changed };
}

async function main() {
    const { Client, ...transports } = parts();
    const mode = era === 'modern' ? { pin: '2026-07-28' } : era;
    const capabilities = old ? { elicitation: {} } : {};
    const client = new Client({ name: 'e2e', version: '1' },
        { versionNegotiation: { mode }, capabilities });
    const transport = transportTo(transports);
    await client.connect(transport);

    const message = 'h\u00e9llo "owl" \u{1f989}\n';
    const progress = [];
    const schema = sdk === 'v1' ? [undefined] : []; // v1 takes a schema of the result, too
    const call = (name, given, options) =>
        client.callTool({ name, arguments: given }, ...schema, options);
    const seen = {
        server: client.getServerVersion()?.name,
        tools: (await client.listTools()).tools.map((t) => t.name),
        echoed: (await call('echo', { message })).content[0].text === message,
        failed: (await call('test_error_handling', {})).isError,
        structured: (await call('test_structured_content', {})).structuredContent,
        resources: (await client.listResources()).resources.map((r) => r.uri),
        text: (await client.readResource({ uri: 'test://static-text' })).contents[0].text,
        prompt: (await client.getPrompt({
            name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' },
        })).messages[0].content.text,
    };
    await call('test_tool_with_progress', {}, { onprogress: (p) => progress.push(p.progress) });
    seen.progress = progress;
    seen.reconnected = (await call('test_reconnection', {})).content[0].text;
    seen.unknown = await call('no_such_tool', {}).then(() => null, (error) => error.code);
    Object.assign(seen, old ? await listen(client, call) : {});
    await client.close();
    console.log(JSON.stringify(seen));
}

main().then(() => process.exit(0), (error) => {
    console.error(error);
    process.exit(1);
});

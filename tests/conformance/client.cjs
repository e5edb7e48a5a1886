// client.cjs - what a program built on an official SDK does first: connect, list, call, read, get.
//
// usage: node client.cjs v1|v2 legacy|auto|modern URL | unix:PATH | COMMAND ARGUMENTS...
//
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
        const files = ['index.js', 'streamableHttp.js', 'stdio.js'];
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

function transportTo(place, { StreamableHTTPClientTransport, StdioClientTransport }) {
    if (place.startsWith('http'))
        return new StreamableHTTPClientTransport(new URL(place));
    if (!place.startsWith('unix:'))
        return new StdioClientTransport({ command: place, args });
    const fetch = fetchThrough(place.slice('unix:'.length));
    return new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { fetch });
}

async function main() {
    const { Client, ...transports } = parts();
    const mode = era === 'modern' ? { pin: '2026-07-28' } : era;
    const client = new Client({ name: 'e2e', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(transportTo(target, transports));

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
    seen.unknown = await call('no_such_tool', {}).then(() => null, (error) => error.code);
    await client.close();
    console.log(JSON.stringify(seen));
}

main().then(() => process.exit(0), (error) => {
    console.error(error);
    process.exit(1);
});

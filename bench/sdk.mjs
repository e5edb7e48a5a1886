// sdk.mjs - what bench/server.c is, by the official TypeScript SDK: the tool `echo` over HTTP.
//
// Written as the documentation of the SDK says: a factory of servers behind createMcpHandler(), the
// adapter for node:http, and its guards against foreign hosts. The packages are those of the folder
// OWLCLAW_SDK.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

const load = createRequire(path.join(process.env.OWLCLAW_SDK, 'index.js'));
const { McpServer, createMcpHandler } = load('@modelcontextprotocol/server');
const { localhostHostValidation, localhostOriginValidation, toNodeHandler } =
    load('@modelcontextprotocol/node');
const z = load('zod');

const inputSchema = z.object({ message: z.string().describe('What is to be said again.') });

function makeServer() {
    const server = new McpServer({ name: 'bench', version: '1' });
    server.registerTool('echo', { description: 'Returns its message.', inputSchema },
        ({ message }) => ({ content: [{ type: 'text', text: message }] }));
    return server;
}

const handle = toNodeHandler(createMcpHandler(makeServer));
const hostIsFine = localhostHostValidation();
const originIsFine = localhostOriginValidation();
const http = createServer((req, res) => {
    if (hostIsFine(req, res) && originIsFine(req, res))
        handle(req, res);
});
http.listen(0, '127.0.0.1', () => {
    console.error(`listening on http://127.0.0.1:${http.address().port}/mcp`);
});

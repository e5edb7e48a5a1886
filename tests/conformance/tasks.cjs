// tasks.cjs - what a program built on an official SDK does with tasks.
//
// usage: node tasks.cjs v1 URL | COMMAND ARGUMENTS...     the experimental API of SDK v1: 2025-11-25
//        node tasks.cjs ext URL                           ext-tasks on SDK v2: 2026-07-28
//
// The packages are those of the folder OWLCLAW_CLIENTS. Prints what it saw as one line of JSON.
'use strict';

const { createRequire } = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const load = createRequire(path.join(process.env.OWLCLAW_CLIENTS, 'index.js'));
const [api, target, ...args] = process.argv.slice(2);
const INFO = { name: 'e2e', version: '1' };
const ANSWER = { action: 'accept', content: { confirm: true } };

async function v1() {
    const base = '@modelcontextprotocol/sdk/';
    const { Client } = load(base + 'client/index.js');
    const { StreamableHTTPClientTransport } = load(base + 'client/streamableHttp.js');
    const { StdioClientTransport } = load(base + 'client/stdio.js');
    const { ElicitRequestSchema, CallToolResultSchema, TaskStatusNotificationSchema } =
        load(base + 'types.js');
    const client = new Client(INFO, { capabilities: { elicitation: {} } });
    const statuses = new Set();
    client.setRequestHandler(ElicitRequestSchema, async () => ANSWER);
    client.setNotificationHandler(TaskStatusNotificationSchema, (n) => {
        statuses.add(n.params.status);
    });
    await client.connect(target.startsWith('http')
        ? new StreamableHTTPClientTransport(new URL(target))
        : new StdioClientTransport({ command: target, args }));
    await client.listTools(); // the SDK learns which tools are tasks

    const tasks = client.experimental.tasks;
    async function stream(name, given, options) {
        const seen = [];
        const call = tasks.callToolStream({ name, arguments: given }, CallToolResultSchema, options);
        for await (const m of call) {
            seen.push(m.type === 'taskStatus' ? m.task.status : m.type);
            if (m.type === 'taskCreated')
                seen.task = m.task;
            if (m.type === 'result')
                seen.text = m.result.content[0].text;
        }
        return seen;
    }
    const slow = await stream('slow_compute', { seconds: 0.7, label: 'l' }, { task: { ttl: 60000 } });
    const asked = await stream('confirm_delete', { filename: 'f' }, { task: {} });
    const failed = await stream('failing_job', {}, {});
    const kept = await tasks.getTaskResult(failed.task.taskId, CallToolResultSchema);
    const running = client.request(
        { method: 'tools/call', params: { name: 'slow_compute', arguments: { seconds: 60 } } },
        load(base + 'types.js').CreateTaskResultSchema, { task: {} });
    const { task } = await running;
    const seen = {
        capability: client.getServerCapabilities().tasks,
        slow: [slow[0], slow.at(-1)], text: slow.text, ttl: slow.task.ttl,
        asked: asked.text,
        failed: failed.at(-1), isError: kept.isError,
        cancelled: (await tasks.cancelTask(task.taskId)).status,
        again: await tasks.cancelTask(task.taskId).then(() => null, (error) => error.code),
        status: (await tasks.getTask(task.taskId)).status,
        listed: (await tasks.listTasks()).tasks.length,
        pushed: statuses.has('completed') && statuses.has('cancelled'),
    };
    await client.close();
    return seen;
}

// The SDK refuses results of the type "task": ext-tasks sends its requests by the host's own path.
async function dispatch(request) {
    const { params } = request;
    const response = await fetch(target, {
        method: 'POST',
        headers: {
            'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
            'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': request.method,
            'Mcp-Name': params.taskId ?? params.name,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }),
    });
    const { result, error } = await response.json();
    return error ? { kind: 'error', error } : { kind: 'result', result };
}

async function ext() {
    const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client');
    const file = path.join(process.env.OWLCLAW_CLIENTS,
        'node_modules/@modelcontextprotocol/ext-tasks/dist/client/index.js');
    const { createTaskSessionFromClient, resultFromTaskOutcome } = await import(pathToFileURL(file));
    const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const client = new Client(INFO, {
        capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(target)));
    const session = createTaskSessionFromClient(client, {
        endpointId: 'e2e',
        rawDispatch: dispatch,
        v2RequestFraming: {
            protocolVersion: '2026-07-28', clientInfo: INFO, clientCapabilities: capabilities,
        },
    });
    async function call(name, given) {
        const execution = await session.callTool(name, given);
        const { outcome } = await execution.settle();
        return { kind: execution.kind, result: resultFromTaskOutcome(outcome) };
    }
    const slow = await call('slow_compute', { seconds: 0.3, label: 'l' });
    const failed = await call('failing_job', {});
    const quick = await call('greet', { name: 'Owl' });
    const error = await call('protocol_error_job', {}).then(() => null, (e) => String(e));
    const seen = {
        slow: slow.kind, text: slow.result.content[0].text,
        failed: failed.kind, isError: failed.result.isError,
        quick: quick.kind, error,
    };
    await session.close();
    await client.close();
    return seen;
}

(api === 'v1' ? v1() : ext()).then((seen) => {
    console.log(JSON.stringify(seen));
    process.exit(0);
}, (error) => {
    console.error(error);
    process.exit(1);
});

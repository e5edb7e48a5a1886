// What both generations of the TypeScript SDK do with a server: list, call, elicit.
//
// usage: node driver.cjs URL COMMAND ARGUMENTS...      prints a line a check: see tests/soak/run.py
'use strict';

const [url, command, ...args] = process.argv.slice(2);
const answer = { action: 'accept', content: { username: 'owl', email: 'owl@example.com' } };
const message = 'h\u00e9llo "owl" \u{1f989}\n';

function v1() {
    const base = '@modelcontextprotocol/sdk/';
    const { ElicitRequestSchema } = require(base + 'types.js');
    const files = ['index.js', 'streamableHttp.js', 'stdio.js'];
    const parts = Object.assign({}, ...files.map((file) => require(base + 'client/' + file)));
    return { ...parts, elicit: ElicitRequestSchema };
}

function v2() {
    const base = '@modelcontextprotocol/client';
    return { ...require(base), ...require(base + '/stdio'), elicit: 'elicitation/create' };
}

async function check(name, what, passed) {
    try {
        console.log(await passed() ? `ok ${name} ${what}` : `FAIL ${name} ${what}: a wrong answer`);
    } catch (error) {
        console.log(`FAIL ${name} ${what}: ${error}`);
    }
}

async function run(name, sdk, mode, transport) {
    const client = new sdk.Client({ name: 'soak', version: '1' },
        { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler(sdk.elicit, () => answer);
    const text = async (tool, given) =>
        (await client.callTool({ name: tool, arguments: given })).content[0].text;
    await client.connect(transport);
    await check(name, 'list', async () => {
        const names = (await client.listTools()).tools.map((tool) => tool.name);
        return names.includes('echo') && names.includes('test_elicitation');
    });
    await check(name, 'call', async () => await text('echo', { message }) === message);
    await check(name, 'elicit', async () =>
        (await text('test_elicitation', { message: 'Who?' })).includes('"username":"owl"'));
    await client.close();
}

async function main() {
    for (const [version, parts, mode] of [['sdk', v1, 'legacy'], ['client legacy', v2, 'legacy'],
        ['client auto', v2, 'auto']]) {
        const sdk = parts();
        for (const kind of ['http', 'stdio']) {
            const transport = kind === 'http'
                ? new sdk.StreamableHTTPClientTransport(new URL(url))
                : new sdk.StdioClientTransport({ command, args });
            const name = `${version} ${kind}`;
            await run(name, sdk, mode, transport).catch((error) =>
                console.log(`FAIL ${name} connect: ${error}`));
        }
    }
}

main().then(() => process.exit(0));

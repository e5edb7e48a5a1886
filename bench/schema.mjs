// schema.mjs - what bench/schema.c is, by JSON.parse and ajv from the folder OWLCLAW_PEERS.
//
// The text of the arguments is a string already: decoding its bytes is not charged to node.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const SLICES = 25, SLICE_NS = 50e6;
const load = createRequire(path.join(process.env.OWLCLAW_PEERS, 'index.js'));
const Ajv = load('ajv/dist/2020').default;

const [what, schemaPath, instancePath, verdict] = process.argv.slice(2);
const schemaText = readFileSync(schemaPath, 'utf8');
const text = readFileSync(instancePath, 'utf8');
const expected = verdict === 'valid';
const ajv = new Ajv({ strict: false });
const validate = ajv.compile(JSON.parse(schemaText));
const parsed = JSON.parse(text);

const jobs = {
    bytes: (n) => {
        let right = 0;
        for (let i = 0; i < n; i++)
            right += validate(JSON.parse(text)) === expected;
        return right;
    },
    verdict: (n) => {
        let right = 0;
        for (let i = 0; i < n; i++)
            right += validate(parsed) === expected;
        return right;
    },
    compile: (n) => {
        let right = 0;
        for (let i = 0; i < n; i++) {
            const schema = JSON.parse(schemaText);
            right += typeof ajv.compile(schema) === 'function';
            ajv.removeSchema(schema); // or every one would be kept
        }
        return right;
    },
};

function tookNs(n) {
    const from = process.cpuUsage();
    if (jobs[what](n) !== n)
        throw new Error('the wrong verdict');
    const { user, system } = process.cpuUsage(from);
    return (user + system) * 1e3;
}

let n = 1;
while (tookNs(n) < SLICE_NS)
    n *= 2;
let best = Infinity;
for (let i = 0; i < SLICES; i++)
    best = Math.min(best, tookNs(n) / n);
console.log(best.toFixed(1));

// npm run test:engines: real engines, as far as this machine can take them. README.md tells the parts.
import { parseArgs } from 'node:util';
import { build, parse as parseLlama, tune as tuneLlama } from './llama-server.mjs';
import { parse as parseSglang } from './sglang.mjs';
import { defaultWork, NotHere } from './steps.mjs';
import { parse as parseVllm, tune as tuneVllm } from './vllm.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    work: { type: 'string', default: defaultWork },
    build: { type: 'boolean', default: false },
    server: { type: 'string' },
    vllm: { type: 'string' },
    sglang: { type: 'string' },
  },
});

const parts = {
  'parse-llama-server': parseLlama,
  'parse-vllm': parseVllm,
  'parse-sglang': parseSglang,
  'llama-server': tuneLlama,
  'vllm-cpu': tuneVllm,
};

const unknown = positionals.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`no part ${unknown.join(', ')}; parts: ${Object.keys(parts).join(', ')}`);
  process.exit(2);
}

if (values.build) await build(values);
const lines = [];
let failed = false;
for (const [name, run] of Object.entries(parts)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  try {
    lines.push(`${name}: ${described(await run(values))}`);
  } catch (error) {
    failed ||= !(error instanceof NotHere);
    lines.push(`${name}: ${error instanceof NotHere ? 'not run' : 'FAILED'}: ${error.message}`);
  }
}
console.log(lines.join('\n'));
process.exit(failed ? 1 : 0);

function described(result) {
  if (typeof result === 'string') return `done, report in ${result}`;
  const { version, count, refused } = result;
  if (refused.length === 0) return `${version} takes all ${count} commands`;
  failed = true;
  return [
    `${version} refuses ${refused.length} of ${count} commands`,
    ...refused.map(({ at, argv, error }) => `  ${at}: ${error}\n    ${argv.join(' ')}`),
  ].join('\n');
}

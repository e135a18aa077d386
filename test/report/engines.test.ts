import { expect, it } from 'vitest';
import { en } from '../../src/i18n/en.ts';
import type { RunData } from '../../src/records/run.ts';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { plainText } from '../../src/report/document.ts';
import { reportInfo } from '../../src/report/gather.ts';
import { reportDocument } from '../../src/report/render.ts';
import { engines } from '../../src/report/sections/engines.ts';
import { everyTable, everyText } from '../contracts/section.ts';
import { exampleRun } from './fixture.ts';

/** The run with trials changed. */
const changed = (run: RunData, change: (trial: FinishedTrial) => FinishedTrial): RunData => ({
  ...run,
  trials: run.trials.map(change),
});
const bare = ({ gpu, counters, stress, times, ...trial }: FinishedTrial): FinishedTrial => ({
  ...trial,
  times: {
    ...(times.startS === undefined ? {} : { startS: times.startS, parts: { starting: 3, 'first token': 0.2 } }),
  },
});
const tables = (run: RunData) => everyTable(engines.render(reportInfo(run), en));
const texts = (run: RunData): string[] => everyText(reportDocument(reportInfo(run), en).blocks);
const titles = (run: RunData, caption: string): string[] =>
  tables(run)
    .find((t) => t.caption === caption)
    ?.columns.map((c) => c.title) ?? [];

it('gives power, energy, memory and slow-downs of each configuration and workload once', () => {
  const run = exampleRun('many');
  const table = tables(run).find((t) => t.caption === en.engines.gpuCaption);
  const measured = run.trials.filter((t) => t.gpu);
  const keys = new Set(measured.map((t) => JSON.stringify([t.configuration, t.workload])));
  expect(keys.size).toBeLessThan(measured.length);
  expect(table?.rows).toHaveLength(keys.size);
  const [first] = measured;
  expect(table?.rows[0]?.slice(3).map(plainText)).toEqual([
    '612',
    '690',
    (first?.gpu?.energyPerOutputTokenJ ?? 0).toFixed(3),
    '72.4 GiB',
    '97 %',
    'sw power cap (41 % of the time)',
  ]);
});

it('splits starts into parts, and says where the compiled graphs came from', () => {
  const run = exampleRun('many');
  const table = tables(run).find((t) => t.caption === en.engines.startCaption);
  expect(table?.columns.map((c) => c.title)).toEqual([
    ...['Configuration', 'Workload', 'Trial', 'Ready after', 'Starting', 'Loading weights', 'Compiling'],
    ...['Recording graphs', 'First token', 'Compiled graphs'],
  ]);
  const cells = table?.rows.map((row) => plainText(row.at(-1) ?? ''));
  expect(cells?.[0]).toBe('compiled anew');
  expect(new Set(cells?.slice(1))).toEqual(new Set(['from the cache', '–']));
  expect(texts(run)).toContain(en.engines.cacheNote);
  const cold = changed(run, (t) => ({
    ...t,
    times: { ...t.times, ...(t.times.compileCache ? { compileCache: 'cold' } : {}) },
  }));
  expect(texts(cold)).not.toContain(en.engines.cacheNote);
});

it('leaves out a column that nobody has a figure for', () => {
  const shown = titles(exampleRun('many'), en.engines.countersCaption);
  expect(shown).toEqual(expect.arrayContaining([en.engines.prefixHits, en.engines.preemptions]));
  expect(shown).not.toContain(en.engines.draftAcceptance);
});

it('is left out where nothing was told, with none, one and many trials', () => {
  for (const shape of ['none', 'one', 'many'] as const) {
    const run = changed(exampleRun(shape), bare);
    expect(engines.render(reportInfo(run), en)).toEqual([]);
    expect(texts(run)).not.toContain(en.engines.heading);
  }
  expect(tables(exampleRun('one')).map((t) => t.rows.length)).toEqual([1, 1, 1]);
});

it('names the weights with their revision, and says what a failed configuration has otherwise', () => {
  const all = texts(exampleRun('many'));
  expect(all).toEqual(expect.arrayContaining(['40c069824f4251a91eefaf281ebe4c544efd3e18', en.setup.localFiles]));
  expect(all).toContain('Against the configuration that it was made from: quantization default → awq.');
  const { weights: _, ...without } = exampleRun('many');
  expect(texts(without)).not.toContain(en.setup.weightsCaption);
});

it('tells how the winner lived through its burst', () => {
  const run = exampleRun('many');
  const confirmed = run.trials.find((t) => t.purpose === 'confirmation');
  expect(confirmed?.stress).toBeDefined();
  const burst = '300 requests at once, each of 512 prompt tokens for 256 output tokens';
  expect(texts(run).some((text) => text.includes(`${burst}. All were answered, in 31.4 sec.`))).toBe(true);
  const lost = changed(run, (t) => (t.stress ? { ...t, stress: { ...t.stress, failed: 2 } } : t));
  expect(texts(lost).some((text) => text.includes(`${burst}. Of these 2 were not answered`))).toBe(true);
});

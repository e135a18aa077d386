import { expect, it } from 'vitest';
import { en } from '../../src/i18n/en.ts';
import { formatChange, formatQuantity, formatShare } from '../../src/kit/words.ts';
import { configurationKey } from '../../src/records/settings.ts';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { plainText } from '../../src/report/document.ts';
import { commandText } from '../../src/report/figures.ts';
import { reportInfo } from '../../src/report/gather.ts';
import { reportDocument } from '../../src/report/render.ts';
import { everyTable } from '../contracts/section.ts';
import { exampleRun } from './fixture.ts';

const run = exampleRun('many');
const info = reportInfo(run);
const { blocks } = reportDocument(info, en);
const tables = everyTable(blocks);

const rowsOf = (caption: RegExp): string[][] => {
  const table = tables.find((t) => caption.test(t.caption));
  return (table?.rows ?? []).map((row) => row.map(plainText));
};
const throughput = (t: FinishedTrial): number => t.summary?.totalTokenThroughput as number;
const tpotMs = (t: FinishedTrial): number => (t.summary?.latencies.tpot?.mean as number) * 1000;
const geometricMean = (values: readonly number[]): number =>
  values.reduce((product, v) => product * v, 1) ** (1 / values.length);
const measuredOf = (configuration: FinishedTrial['configuration'], workload: string): FinishedTrial[] =>
  run.trials.filter(
    (t) =>
      t.fate === 'measured' &&
      t.workload === workload &&
      configurationKey(t.configuration) === configurationKey(configuration),
  );
const quantity = (value: number): string => formatQuantity(value, 'en');

it('is a whole study: enough trials, a failure, close calls, two further workloads', () => {
  expect(run.trials.length).toBeGreaterThanOrEqual(16);
  expect(run.trials.some((t) => t.fate === 'out_of_memory')).toBe(true);
  expect(run.trials.filter((t) => t.purpose === 'repeat').length).toBeGreaterThan(2);
  expect(info.conclusion.verdict).toBe('better');
});

it('fills the first table from the trials', () => {
  const rows = rowsOf(/^Baseline and optimized/);
  expect(rows.map(([name]) => name)).toEqual(['chat', 'short-prompts', 'long-prompts']);
  for (const [workload = '', baseline, optimized, change, , baselineTpot, optimizedTpot] of rows) {
    const [base, best] = [info.baseline, info.winner].map((c) => measuredOf(c.configuration, workload)) as [
      FinishedTrial[],
      FinishedTrial[],
    ];
    const [before, after] = [base, best].map((trials) => geometricMean(trials.map(throughput))) as [number, number];
    expect(baseline).toBe(quantity(before));
    expect(optimized).toBe(quantity(after));
    expect(change?.split(' (')[0]).toBe(formatChange(after / before, 'en'));
    expect(baselineTpot).toBe(quantity(geometricMean(base.map(tpotMs))));
    expect(optimizedTpot).toBe(quantity(geometricMean(best.map(tpotMs))));
  }
});

it('has intervals around their changes, and says so where one holds no change', () => {
  for (const { change } of info.results) {
    if (!change) throw new Error('no change');
    expect(change.low).toBeLessThan(change.ratio);
    expect(change.high).toBeGreaterThan(change.ratio);
    expect(change.verdict === 'no_significant_difference').toBe(change.low < 1 && change.high > 1);
  }
  const verdicts = new Set(info.results.map((r) => r.change?.verdict));
  expect(verdicts).toEqual(new Set(['better', 'no_significant_difference']));
});

it('ranks each stage by the trials that it could see', () => {
  const visible: FinishedTrial[] = run.trials.filter((t) => t.purpose === 'baseline');
  for (const stage of info.stages) {
    visible.push(...run.trials.filter((t) => t.stage === stage.name));
    const rows = rowsOf(new RegExp(`stage ${stage.name},`));
    const before = visible.filter((t) => stage.incumbent.trialIds.includes(t.id));
    for (const [i, candidate] of [stage.incumbent, ...stage.challengers].entries()) {
      const own = visible.filter(
        (t) => t.fate === 'measured' && configurationKey(t.configuration) === configurationKey(candidate.configuration),
      );
      const row = rows[i] as string[];
      expect(row[0]).toBe(candidate.label ?? 'unchanged');
      if (own.length === 0) {
        expect(row.slice(1)).toEqual(['0 of 1', '–', '–', '–']);
        continue;
      }
      const value = geometricMean(own.map(throughput));
      expect(row[1]).toBe(String(own.length));
      expect(row[2]).toBe(quantity(value));
      if (i > 0) {
        const change = formatChange(value / geometricMean(before.map(throughput)), 'en');
        expect(row[3]?.split(' (')[0]).toBe(change);
      }
    }
    const values = stage.ranking.map((r) => r.value);
    expect(values).toEqual([...values].sort((a, b) => b - a));
  }
});

it('puts ≈ between neighbours that noise does not tell apart, and > between others', () => {
  const lines = blocks
    .flatMap((b) => (b.kind === 'paragraph' ? [plainText(b.text)] : []))
    .filter((t) => t.startsWith('Result: '));
  expect(lines).toHaveLength(3);
  lines.forEach((line, i) => {
    const { ranking } = info.stages[i] as (typeof info.stages)[number];
    const expected = ranking
      .map(
        (r, k) =>
          `${r.label ?? 'unchanged'} (${quantity(r.value)} tok/s)${k === ranking.length - 1 ? '' : r.tied ? ' ≈ ' : ' > '}`,
      )
      .join('');
    expect(line).toBe(`Result: ${expected}`);
  });
  expect(lines.join()).toContain('≈');
  expect(lines.join()).toContain('>');
});

it('lists what each stage gained, and a dash where noise covers it', () => {
  const rows = rowsOf(/^What each stage changed/);
  expect(rows.map(([name]) => name)).toEqual(['quantization', 'attention', 'batch', 'All stages together']);
  info.stages.forEach((stage, i) => {
    const text = rows[i]?.[2];
    expect(text).toBe(
      stage.verdict === 'better' && stage.comparison ? formatChange(stage.comparison.atRunNoise.ratio, 'en') : '–',
    );
  });
  expect(info.stages.find((s) => s.name === 'attention')?.verdict).toBe('no_significant_difference');
  expect(rows.at(-1)?.[2]).toBe(formatChange(info.conclusion.change?.ratio as number, 'en'));
});

it('states drift, confirmation, repeats and the client from the trials', () => {
  const first = run.trials.find((t) => t.purpose === 'baseline') as FinishedTrial;
  const again = run.trials.find((t) => t.purpose === 'baseline_again') as FinishedTrial;
  expect(info.quality.drift?.change?.ratio).toBeCloseTo(throughput(again) / throughput(first), 12);

  const confirmation = run.trials.find((t) => t.purpose === 'confirmation') as FinishedTrial;
  const earlier = measuredOf(info.winner.configuration, 'chat').filter((t) => t.id < confirmation.id);
  expect(info.quality.confirmation?.against).toBeCloseTo(geometricMean(earlier.map(throughput)), 6);
  expect(info.quality.confirmation?.value).toBeCloseTo(throughput(confirmation), 6);

  for (const [, , trials = '', values, spread] of rowsOf(/more than once/)) {
    const own = trials
      .split(', ')
      .map((id) => throughput(run.trials.find((t) => t.id === Number(id)) as FinishedTrial));
    expect(values).toBe(own.map(quantity).join(' · '));
    expect(spread).toBe(formatShare(Math.max(...own) / Math.min(...own) - 1, 'en'));
  }
  const last = run.trials.filter((t) => t.client).at(-1) as FinishedTrial;
  expect(info.quality.client?.loopDelayMaxS).toEqual({ value: last.client?.loopDelayMaxS, trialId: last.id });
  expect(info.quality.requests.asked).toBe(run.trials.reduce((n, t) => n + (t.summary?.asked ?? 0), 0));
});

it('takes a metric of which less is better the other way round', () => {
  const latency = reportInfo(exampleRun('latency'));
  const { change } = latency.conclusion;
  expect(latency.objective.better).toBe('lower');
  expect(change?.ratio).toBeLessThan(1);
  expect(change?.verdict).toBe('better');
  expect(change && change.low < change.ratio && change.ratio < change.high).toBe(true);
  for (const { ranking } of latency.stages) {
    const values = ranking.map((r) => r.value);
    expect(values).toEqual([...values].sort((a, b) => a - b));
  }
  const line = reportDocument(latency, en).blocks.flatMap((b) => (b.kind === 'paragraph' ? [plainText(b.text)] : []));
  expect(line.find((t) => t.startsWith('Result: '))).toContain(' ms) < ');
});

it('recommends exactly the command that the confirmation was started by', () => {
  const confirmation = run.trials.find((t) => t.purpose === 'confirmation') as FinishedTrial;
  expect(info.conclusion.servingCommand).toEqual(confirmation.servingCommand);
  const first = blocks.find((b) => b.kind === 'code');
  expect(first?.kind === 'code' && first.text).toBe(commandText(confirmation.servingCommand));
});

it('counts what was tried against what the stages span', () => {
  const tried = new Set(run.trials.map((t) => configurationKey(t.configuration))).size;
  expect(info.scope.configurationsTried).toBe(tried);
  // Three values of each of three settings; nothing a stage offers equals the default.
  expect(info.scope.configurationsSpanned).toBe(27);
  expect(info.scope.numberFormats).toEqual(['quantization']);
});

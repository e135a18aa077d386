import { expect, it } from 'vitest';
import { en } from '../../src/i18n/en.ts';
import { formatShare } from '../../src/kit/words.ts';
import type { RunData } from '../../src/records/run.ts';
import type { Configuration, Settings } from '../../src/records/settings.ts';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { labelAgainst, referenceLabel } from '../../src/report/candidates.ts';
import { plainText } from '../../src/report/document.ts';
import { idList, intervalText } from '../../src/report/figures.ts';
import { reportInfo } from '../../src/report/gather.ts';
import { judgedOtherwise } from '../../src/report/info.ts';
import { renderReport, reportDocument } from '../../src/report/render.ts';
import { conclusion } from '../../src/report/sections/conclusion.ts';
import { decide } from '../../src/search/decisions.ts';
import { compareScores } from '../../src/search/noise.ts';
import { everyTable, everyText } from '../contracts/section.ts';
import { exampleRun } from './fixture.ts';

/** The run with trials changed; their number and order stay. */
const changed = (run: RunData, change: (trial: FinishedTrial) => FinishedTrial): RunData => ({
  ...run,
  trials: run.trials.map(change),
});
const slower = (trial: FinishedTrial, factor: number): FinishedTrial =>
  trial.summary
    ? {
        ...trial,
        summary: { ...trial.summary, totalTokenThroughput: (trial.summary.totalTokenThroughput ?? 0) * factor },
      }
    : trial;
const texts = (run: RunData): string[] => everyText(reportDocument(reportInfo(run), en).blocks);
const itemRows = (run: RunData): string[][] =>
  (
    everyTable(reportDocument(reportInfo(run), en).blocks).find((t) => t.caption.startsWith('What each stage'))?.rows ??
    []
  ).map((row) => row.map(plainText));

/** The baseline's last measurement tells of noise that no stage knew. */
const noisy = changed(exampleRun('many'), (t) => (t.purpose === 'baseline_again' ? slower(t, 0.5) : t));

it('says of a stage that later repeats made doubtful that its difference would not be significant', () => {
  const info = reportInfo(noisy);
  const { noise, stages } = decide(noisy.study, noisy.space, noisy.trials, true);
  const sd = formatShare(noise.sd, 'en');
  expect(noise.sd).toBeGreaterThan(2 * (stages[0]?.noise.sd ?? 0));
  const doubtful = info.stages.filter((s) => judgedOtherwise(s) === 'covered');
  expect(doubtful.length).toBeGreaterThan(0);
  const sentences = texts(noisy).filter((text) => text.startsWith(`At the noise that the whole run showed (${sd})`));
  expect(sentences).toHaveLength(doubtful.length);
  for (const [i, stage] of doubtful.entries()) {
    const decided = stages.find((s) => s.name === stage.name);
    if (!decided || !stage.comparison) throw new Error('no comparison');
    const final = compareScores(decided.winner.scores, decided.incumbent.scores, noise);
    expect(decided.verdict).toBe('better');
    expect(decided.comparison?.significant).toBe(true);
    expect(final.significant).toBe(false);
    expect(stage.comparison.atRunNoise).toMatchObject({ low: final.low, high: final.high });
    expect(sentences[i]).toContain(`would not be significant (${intervalText(stage.comparison.atRunNoise, en)})`);
  }
});

it('puts a drift beside the verdict, even the only repeat of a study', () => {
  const said = (run: RunData): number =>
    conclusion
      .render(reportInfo(run), en)
      .filter((b) => b.kind === 'callout' && everyText([b]).join().includes('drifted')).length;
  expect(said(exampleRun('many'))).toBe(0);
  expect(said(noisy)).toBe(1);
  const once = exampleRun('keep_baseline');
  const alone: RunData = {
    ...once,
    space: { ...once.space, stages: [] },
    trials: once.trials
      .filter((t) => t.purpose === 'baseline' || t.purpose === 'baseline_again')
      .map((t) => (t.purpose === 'baseline_again' ? slower(t, 0.523) : t)),
  };
  expect(alone.trials).toHaveLength(2);
  expect(reportInfo(alone).quality.drift?.change?.verdict).toBe('worse');
  expect(said(alone)).toBe(1);
});

it('puts a confirmation that failed to confirm beside the verdict', () => {
  const run = changed(exampleRun('many'), (t) => (t.purpose === 'confirmation' ? slower(t, 0.6) : t));
  const shown = everyText(conclusion.render(reportInfo(run), en)).join();
  expect(shown).toMatch(/When it was tried once more it gave .* more than noise explains/);
  expect(everyText(conclusion.render(reportInfo(exampleRun('many')), en)).join()).not.toContain('once more');
});

it('prints the intervals of the optimization items at the noise of the whole run, and marks what that turns', () => {
  const info = reportInfo(noisy);
  const rows = itemRows(noisy);
  info.stages.forEach((stage, i) => {
    const row = rows[i] ?? [];
    expect(row[2]?.includes('†')).toBe(judgedOtherwise(stage) === 'covered');
    expect(row[3]).toBe(
      stage.verdict === 'better' && stage.comparison ? intervalText(stage.comparison.atRunNoise, en) : '–',
    );
  });
  expect(texts(noisy).filter((text) => text.startsWith('† '))).toHaveLength(1);
  expect(texts(exampleRun('many')).join()).not.toMatch(/[†‡]|that the whole run showed/);
});

it('names a configuration by what differs within its stage', () => {
  const of = (settings: Settings, version = '1'): Configuration => ({ engine: 'vllm', version, settings });
  const input = of({ quantization: 'fp8' });
  const both = of({ quantization: 'fp8', max_running_requests: 16, max_batched_tokens: 64 });
  const one = of({ quantization: 'fp8', max_running_requests: 8 });
  expect(labelAgainst(both, input)).toBe('max_batched_tokens=64 max_running_requests=16');
  expect(labelAgainst(one, input)).toBe('max_running_requests=8');
  expect(referenceLabel(input, [one, both])).toBeNull();
  expect(referenceLabel(one, [of({ quantization: 'fp8', max_running_requests: 4, max_batched_tokens: 64 })])).toBe(
    'max_running_requests=8',
  );
  expect(labelAgainst(of({}), input)).toBe('quantization=default');
  expect(labelAgainst(of({}, '2'), input)).toBe('vllm@2');
  expect(referenceLabel(input, [one, of({}, '2')])).toBe('vllm@1 quantization=fp8');
  expect(referenceLabel(input, [])).toBe('vllm@1 quantization=fp8');
});

it.each([
  [[3, 7, 9], '3, 7, and 9'],
  [[1, 2], '1 and 2'],
  [[1, 2, 3, 5, 6], '1 to 3, 5, and 6'],
  [Array.from({ length: 17 }, (_, i) => i + 1), '1 to 17'],
  [Array.from({ length: 14 }, (_, i) => 2 * i + 1), '1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, and 3 more'],
])('lists trials %j', (ids, expected) => {
  expect(idList(ids, en)).toBe(expected);
});

it('marks a change that noise covers in the chart and in what is read out', () => {
  const files = renderReport(exampleRun('many'), { lang: 'en', formats: ['md'] });
  const svg = files.find((f) => f.name === 'report-chart.svg')?.content ?? '';
  const covered = reportInfo(exampleRun('many')).results.filter(
    (r) => r.change?.verdict === 'no_significant_difference',
  );
  expect(covered.length).toBeGreaterThan(0);
  expect(svg.match(/ % n\.s\.<\/tspan>/g)).toHaveLength(covered.length);
  expect(svg).toContain(en.conclusion.chartLegend);
  const alt = /^!\[.*$/m.exec(files[0]?.content ?? '')?.[0] ?? '';
  expect(alt.match(/, no significant difference\)/g)).toHaveLength(covered.length);
});

const ofModel = (model: string): RunData => {
  const run = exampleRun('one');
  return { ...run, study: { ...run.study, model } };
};

it.each([
  ['/data/models/qwen-8b.gguf', 'qwen-8b.gguf'],
  ['./models/qwen-8b/', 'qwen-8b'],
  ['C:\\models\\q.gguf', 'q.gguf'],
  ['models/q.gguf', 'q.gguf'],
  ['Qwen/Qwen3-14B', 'Qwen/Qwen3-14B'],
  ['tiny-qwen3', 'tiny-qwen3'],
])('calls model %s %s in the title, and by its whole name in the set-up', (model, name) => {
  const document = reportDocument(reportInfo(ofModel(model)), en);
  expect(document.title).toBe(`Optimizing the throughput of ${name} on NVIDIA H100 80GB HBM3`);
  const section = document.blocks.findIndex((b) => b.kind === 'heading' && b.text === en.setup.model);
  const block = document.blocks[section + 1];
  expect(block?.kind === 'paragraph' && plainText(block.text)).toBe(model);
});

it('says what the built-in model and the embedded engine are, and of others nothing', () => {
  const run = ofModel('tiny-qwen3');
  const baseline: Configuration = { engine: 'embedded', version: '3.21.1', settings: {} };
  const own = texts({ ...run, trials: [], space: { ...run.space, baseline } });
  expect(own).toContain(en.setup.tinyModel);
  expect(own.some((text) => /^embedded@3\.21\.1 \(llama\.cpp through node-llama-cpp/.test(text))).toBe(true);
  expect(texts(exampleRun('many')).join('\n')).not.toMatch(/random weights|llama\.cpp/);
});

it('shows beside the asked prompt length what the server counted', () => {
  const run = changed(exampleRun('many'), (t) =>
    t.summary ? { ...t, summary: { ...t.summary, inputTokens: t.summary.inputTokens + 10 * t.summary.ok } } : t,
  );
  const table = everyTable(reportDocument(reportInfo(run), en).blocks).find((t) => t.caption === 'What is sent');
  const column = table?.columns.findIndex((c) => c.title === en.setup.inputTokensMeasured) ?? -1;
  expect(table?.rows.map((row) => plainText(row[column] ?? ''))).toEqual(['522', '138', '4,010']);
  expect(texts(run)).toContain(en.setup.measuredWithTemplate);
  expect(texts({ ...run, simulated: true })).not.toContain(en.setup.measuredWithTemplate);
});

it('gives the client’s own reason for a refused measurement, without a log where there is none', () => {
  const reason = 'its event loop was 120 ms late (p99); something else takes the cores';
  const run = changed(exampleRun('many'), (t) =>
    t.id === 2 && t.client
      ? {
          ...t,
          fate: 'invalid_measurement',
          failure: { message: `client-bound: ${reason}`, logTail: [] },
          client: { ...t.client, verdict: 'client_bound', reason },
        }
      : t,
  );
  const all = texts(run);
  expect(run.trials[1]?.fate).toBe('invalid_measurement');
  const heading = all.findIndex((text) => text.startsWith('Trial 2 failed'));
  expect(all[heading]).toBe(`Trial 2 failed: invalid measurement. Client-bound: ${reason}.`);
  expect(all[heading + 1]).toBe(en.trial.refusedBlock(2));
  expect(all).toContain('The load generator did not keep up in trial 2; its figures do not count.');
  expect(all).toContain(`Trial 2: ${reason}`);
  expect(all.join()).not.toContain('bottleneck');
});

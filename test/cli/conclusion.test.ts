import { expect, it } from 'vitest';
import { conclude, conclusionLines } from '../../src/cli/conclusion.ts';
import type { RunData } from '../../src/records/run.ts';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { createStore } from '../../src/store/store.ts';
import { exampleRun } from '../report/fixture.ts';
import { folder } from './command.ts';

/** What the terminal says of a run at its end. */
function linesOf({ trials, endedAt: _, ...start }: RunData): string {
  const dir = folder();
  {
    using store = createStore(dir, { ...start, studyText: '' });
    for (const trial of trials) {
      store.begin(trial);
      store.finish(trial);
    }
  }
  return conclusionLines(conclude(dir), ['report.md']).join('\n');
}

const slower = (run: RunData, purpose: FinishedTrial['purpose'], factor: number): RunData => ({
  ...run,
  trials: run.trials.map((t) =>
    t.purpose === purpose && t.summary
      ? { ...t, summary: { ...t.summary, totalTokenThroughput: (t.summary.totalTokenThroughput ?? 0) * factor } }
      : t,
  ),
});

it('says a drift beyond noise beside the verdict, and a confirmation that did not confirm', () => {
  const quiet = linesOf(exampleRun('many'));
  expect(quiet).toContain('Recommended');
  expect(quiet).not.toMatch(/drifted|not confirmed/);
  const drifted = linesOf(slower(exampleRun('many'), 'baseline_again', 0.523));
  expect(drifted).toMatch(/The machine drifted: the baseline gave .* at last \(-4\d\.\d %\), more than noise explains/);
  expect(drifted.indexOf('drifted')).toBeGreaterThan(drifted.indexOf('Recommended'));
  expect(drifted.indexOf('drifted')).toBeLessThan(drifted.indexOf('report.md'));
  expect(linesOf(slower(exampleRun('many'), 'confirmation', 0.6))).toContain('The recommendation was not confirmed');
});

it('says it also where the baseline is kept', () => {
  const kept = linesOf(slower(exampleRun('keep_baseline'), 'baseline_again', 0.523));
  expect(kept).toContain('This is the baseline');
  expect(kept).toContain('The machine drifted');
});

it('gives no command for a server that somebody else started', () => {
  const run = exampleRun('keep_baseline');
  const configuration = { engine: 'external', version: '0.25.1', settings: {} };
  const trials = run.trials
    .filter((t) => t.purpose === 'baseline' || t.purpose === 'baseline_again')
    .map((t, i) => ({ ...t, id: i + 1, configuration, servingCommand: [] }));
  const said = linesOf({ ...run, trials, space: { baseline: configuration, stages: [] } });
  expect(said).toContain('the server as it runs');
  expect(said).not.toContain('serve ');
});

import { expect, it } from 'vitest';
import { en } from '../../src/i18n/en.ts';
import type { RunData } from '../../src/records/run.ts';
import { reportInfo } from '../../src/report/gather.ts';
import { reportDocument } from '../../src/report/render.ts';
import { everyText } from '../contracts/section.ts';
import { exampleRun } from './fixture.ts';

/** A run on a server that somebody else started, measured at first and again at the end. */
function attachedRun(): RunData {
  const run = exampleRun('keep_baseline');
  const configuration = { engine: 'external', version: '0.25.1', settings: {} };
  const [first] = run.trials;
  const again = run.trials.find((t) => t.purpose === 'baseline_again');
  if (!first || !again) throw new Error('the fixture lacks a baseline');
  return {
    ...run,
    space: { baseline: configuration, stages: [] },
    trials: [first, { ...again, id: 2, engineStart: 2 }].map(({ stage: _, ...t }) => ({
      ...t,
      configuration,
      servingCommand: [],
      times: { startS: 0.77, loadS: 20 },
    })),
  };
}

const texts = (run: RunData): string => everyText(reportDocument(reportInfo(run), en).blocks).join('\n');

it('says nothing of starts of a server that servetune does not start', () => {
  const info = reportInfo(attachedRun());
  expect(info.quality.repeated).toHaveLength(1);
  expect(info.time).toMatchObject({ engineStarts: 0, startS: 0, waitS: 1.54 });
  const all = texts(attachedRun());
  expect(all).not.toMatch(/No command was recorded|Recommended command|fresh engine start|[Ss]tarted in|Engine starts/);
  expect(all).toContain(en.conclusion.serverAsItRuns);
  expect(all).toContain(en.quality.repeatedAttached);
  expect(all).toContain('Answered after 770 ms');
  expect(all).toContain(en.setup.waiting);
});

it('calls a server that refuses to serve no engine that did not start', () => {
  const run = attachedRun();
  const failed: RunData = {
    ...run,
    trials: run.trials.map(({ summary: _, ...t }) => ({
      ...t,
      fate: 'start_failed',
      failure: { message: 'the engine refuses a plain request', logTail: [] },
    })),
  };
  expect(texts(failed)).not.toContain(en.fates.start_failed);
  expect(texts(failed)).toContain(en.trial.notServing);
});

it('still says it of engines that are started', () => {
  const all = texts(exampleRun('many'));
  expect(all).toMatch(/Engine starts[\s\S]*fresh engine start/);
  expect(all).not.toContain(en.setup.waiting);
});

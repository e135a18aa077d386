import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { createStore, isRun, openStore, type RunStart } from '../../src/store/store.ts';
import { measureIn, twoStageSpace, twoStages } from '../fixtures/trials.ts';

const start: RunStart = {
  study: twoStages,
  studyText: 'name: toy',
  space: twoStageSpace,
  machine: { os: 'Linux', cpu: 'x', cores: 2, memoryBytes: 1, gpus: [], node: 'v20' },
  servetuneVersion: '0.1.0',
  simulated: false,
  beganAt: '2026-01-01T00:00:00.000Z',
};
const proposal = {
  configuration: twoStageSpace.baseline,
  measure: [{ workload: 'chat', purpose: 'baseline' as const }],
  reason: 'first',
};
const [finished] = measureIn(() => 100)(proposal, []) as [FinishedTrial];

let dir: string;
/** The same folder, with nothing of a run in it. */
function emptyOf(folder: string): string {
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(folder, `run.db${suffix}`), { force: true });
  return folder;
}
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'servetune-store-'));
});

describe('a store', () => {
  it('gives back what was put in, also after it was closed', () => {
    {
      using store = createStore(dir, start);
      store.begin(finished);
      expect(store.running()).toHaveLength(1);
      expect(store.finished()).toEqual([]);
      store.finish(finished);
      store.setEnded('2026-01-01T01:00:00.000Z');
    }
    using store = openStore(dir, { readonly: true });
    expect(isRun(dir)).toBe(true);
    expect(store.start()).toEqual(start);
    expect(store.finished()).toEqual([finished]);
    expect(store.counters()).toEqual({ trial: 1, engineStart: 1 });
    expect(store.runData().endedAt).toBe('2026-01-01T01:00:00.000Z');
  });

  it('never changes a finished trial', () => {
    using store = createStore(dir, start);
    store.begin(finished);
    store.finish(finished);
    expect(() => store.finish({ ...finished, fate: 'hung' })).toThrow(/immutable/);
    expect(store.finished()[0]?.fate).toBe('measured');
  });

  it('forgets trials that never ended, and only those', () => {
    using store = createStore(dir, start);
    store.begin(finished);
    store.finish(finished);
    store.begin({ ...finished, id: 2 });
    expect(store.forgetRunning().map((t) => t.id)).toEqual([2]);
    expect(store.finished()).toHaveLength(1);
    expect(store.running()).toEqual([]);
  });

  it.each<[string, () => void]>([
    ['removed', () => rmSync(join(dir, 'run.db'))],
    ['replaced', () => createStore(emptyOf(dir), start)[Symbol.dispose]()],
    ['moved with its folder', () => renameSync(dir, `${dir}-moved`)],
  ])('writes nothing more into a database that was %s', (_, spoil) => {
    using store = createStore(dir, start);
    store.begin(finished);
    spoil();
    const error = { code: 'run_folder_replaced', exitCode: 2, message: expect.stringContaining(`${dir}: run.db`) };
    for (const write of [
      () => store.begin({ ...finished, id: 2 }),
      () => store.finish(finished),
      () => store.forgetRunning(),
      () => store.setEnded(null),
    ]) {
      expect(write).toThrow(expect.objectContaining(error));
    }
  });

  it('writes nothing when it was opened to read', () => {
    createStore(dir, start)[Symbol.dispose]();
    using store = openStore(dir, { readonly: true });
    expect(() => store.begin(finished)).toThrow();
  });

  it('says what is wrong with a folder that holds no run, and with a file that is no database', () => {
    expect(() => openStore(dir)).toThrow(/holds no run/);
    writeFileSync(
      join(dir, 'run.db'),
      'this is text, and long enough to be looked at as a header of a database file.......',
    );
    expect(() => openStore(dir)).toThrow(/not a database of a run/);
  });
});

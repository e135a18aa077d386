import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findLeftovers, reap } from '../../src/processes/reap.ts';
import { configurationKey } from '../../src/records/settings.ts';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { reasonAgainst, start, trialsOf } from '../cli/command.ts';
import { eventually, expectFreshBuild, lives, parentOf } from '../processes/living.ts';
import { type Does, emptyFolder, expectNothingLeft, modelFolder, type StandIns, standIns } from './stand-in.ts';

beforeAll(expectFreshBuild);

let dir: string;
let ours: StandIns;
beforeEach(() => {
  dir = emptyFolder();
});
afterEach(async () => {
  await expectNothingLeft(ours, ports());
});

const runDir = (): string => join(dir, 'runs/launch');
/** The ports that engines were started on, as far as trials are over. */
const ports = (): readonly number[] =>
  existsSync(join(runDir(), 'trials'))
    ? [...new Set(trialsOf(runDir()).map(({ servingCommand }) => portIn(servingCommand)))]
    : [];
const portIn = (command: readonly string[]): number => Number(command[command.indexOf('--port') + 1]);

/** Settings by which the stand-in knows what it shall do: `max_running_requests` of so many. */
type Ways = Readonly<Record<number, Does>>;

/** Starts a small study in which each way of misbehaving is an alternative. */
function studyOf(
  ways: Ways,
  { engine = 'vllm', flag = '--max-num-seqs', all = {} as Does, more = '', limits = '' } = {},
) {
  const alternatives = Object.keys(ways).map((n) => `{ max_running_requests: ${n} }`);
  const path = join(dir, 'study.yaml');
  writeFileSync(
    path,
    `
name: launch
model: ${modelFolder()}
engines: [${engine}]
baseline: { engine: ${engine} }
stages: [{ name: one, alternatives: [${alternatives.join(', ')}] }]
workloads: [{ name: chat, random_input_len: 16, random_output_len: 8, num_prompts: 24, max_concurrency: 4 }]
repeats: { close_calls: 0 }
limits: { start_timeout_s: 20, load_timeout_s: 30, stall_timeout_s: 3${limits && `, ${limits}`} }
${more}`,
  );
  const journalPath = join(dir, 'journal');
  const when = Object.entries(ways).map(([n, does]) => ({ has: `${flag} ${n}`, does }));
  ours = standIns({ startS: 0.2, tokenS: 0.02, journalPath, ...all }, when);
  return start(['tune', path], { cwd: dir, env: { ...ours.env } });
}

const fateOf = (trials: readonly FinishedTrial[], way: number): FinishedTrial | undefined =>
  trials.find((t) => t.configuration.settings.max_running_requests === way);

/** No engine was started while one before it lived. */
function expectOneAtATime(): void {
  const lines = readFileSync(join(dir, 'journal'), 'utf8').trim().split('\n');
  const alive = lines.map((line) => (JSON.parse(line) as { alive: number[] }).alive);
  expect(alive.length).toBeGreaterThan(2);
  expect(alive.flat()).toEqual([]);
}

describe('a study goes on', () => {
  const left = { workers: 2, workersIn: 'session', workersAre: 'left' };

  it('past every configuration that fails, names each failure, and tries none of them twice', async () => {
    const { code, stderr } = await studyOf({
      101: { exits: 1, lines: ['a last word'] },
      102: { fails: 'fail-memory-taken', ...left },
      103: { diesAtRequest: 20, lastWords: 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate', ...left },
      104: { diesAtRequest: 20, diesWith: 'SIGKILL', ...left },
      105: { hangsAtRequest: 12, sigterm: 'ignored' },
      106: { removedFlags: ['--max-num-seqs'] },
    }).ended;
    expect(stderr).not.toContain('fault of servetune');
    expect(code).toBe(0);
    const trials = trialsOf(runDir());
    expect(fateOf(trials, 101)).toMatchObject({ fate: 'start_failed' });
    expect(fateOf(trials, 101)?.failure?.logTail.at(-1)).toBe('a last word');
    expect(fateOf(trials, 102)).toMatchObject({ fate: 'out_of_memory' });
    expect(fateOf(trials, 103)).toMatchObject({ fate: 'out_of_memory' });
    expect(fateOf(trials, 103)?.failure?.message).toContain('under load');
    expect(fateOf(trials, 104)).toMatchObject({ fate: 'crashed_under_load' });
    expect(fateOf(trials, 105)).toMatchObject({ fate: 'hung' });
    expect(fateOf(trials, 106)).toMatchObject({ fate: 'unsupported_setting' });
    for (const way of [102, 103, 106]) expect(fateOf(trials, way)?.failure?.hint).toBeTruthy();

    expect(fateOf(trials, 102)?.failure?.changed).toEqual([{ name: 'max_running_requests', from: null, to: 102 }]);
    expect(Object.keys(trials[0]?.times.parts ?? {})).toContain('first token');

    const tried = trials.filter((t) => t.purpose === 'stage').map((t) => configurationKey(t.configuration));
    expect(new Set(tried).size).toBe(tried.length);
    const measured = trials.filter((t) => t.configuration.settings.max_running_requests === undefined);
    expect(measured.length).toBeGreaterThan(0);
    expect(measured.map(reasonAgainst).filter(Boolean)).toEqual([]);
    expectOneAtATime();
  });

  it('past a server that lists no model at first, one that binds late and says 137 when it is ended, one that is strict', async () => {
    const { code } = await studyOf({
      101: { modelsTooSoon: true, modelsS: 0.3, healthS: 0.5, generatesS: 1 },
      102: { bind: 'late', sigterm: 137, ...left },
      // Nobody but this side counts its tokens then.
      103: { refuses: ['stream_options'], says: ' the' },
      104: { refuses: ['ignore_eos'], endsAfter: 4 },
    }).ended;
    expect(code).toBe(0);
    const trials = trialsOf(runDir());
    expect(fateOf(trials, 101)?.times.startS).toBeGreaterThan(1);
    for (const way of [101, 102, 103]) expect(reasonAgainst(fateOf(trials, way))).toBeUndefined();
    const warnings = (way: number): string => fateOf(trials, way)?.summary?.warnings.join('\n') ?? '';
    expect(warnings(102)).not.toContain('refuses');
    expect(warnings(103)).toMatch(/refuses the field stream_options, .* counted on this side/);
    expect(warnings(104)).toMatch(/refuses the field ignore_eos, .* not pinned/);
    expect(fateOf(trials, 104)).toMatchObject({
      fate: 'invalid_measurement',
      failure: { message: expect.stringContaining('not pinned, since the server refuses the field ignore_eos') },
    });
    expectOneAtATime();
  });

  it('no further than its budget, in which failures count', async () => {
    const ways = Object.fromEntries([101, 102, 103, 104, 105, 106].map((n) => [n, { startS: 0.05, exits: 1 }]));
    const { code } = await studyOf(ways, { more: 'budget: { max_trials: 6 }' }).ended;
    expect([0, 5]).toContain(code);
    const trials = trialsOf(runDir());
    expect(trials.length).toBeLessThanOrEqual(6);
    expect(trials.filter((t) => t.fate === 'start_failed').length).toBeGreaterThan(0);
  });
});

/** A start serves a probe, 4 warm-ups and 24 requests; the 40th is one of the burst. */
const inBurst = 40;

describe('a winner that its stress burst breaks', () => {
  const fast = { tokenS: 0.004 };
  const slower = { tokenS: 0.01 };
  const lastOf = (purpose: FinishedTrial['purpose']): FinishedTrial | undefined =>
    trialsOf(runDir()).findLast((t) => t.purpose === purpose);

  it.each([
    ['crashed_under_load', { diesAtRequest: inBurst, diesWith: 'SIGKILL' }],
    ['out_of_memory', { diesAtRequest: inBurst, lastWords: 'torch.OutOfMemoryError: CUDA out of memory.' }],
    ['hung', { hangsAtRequest: inBurst, sigterm: 'ignored' }],
  ])('is %s, and the runner-up is recommended', async (fate, way) => {
    const { code, stdout, stderr } = await studyOf({ 101: { ...fast, ...way }, 102: slower }).ended;
    expect(stderr).not.toContain('fault of servetune');
    expect(code).toBe(0);
    const trials = trialsOf(runDir());
    const confirmations = trials.filter((t) => t.purpose === 'confirmation');
    expect(confirmations.map((t) => [t.configuration.settings.max_running_requests, t.fate])).toEqual([
      [101, fate],
      [102, 'measured'],
    ]);
    const [broken, held] = confirmations;
    expect(broken?.failure?.message).toContain('stress burst of 101 requests of 16 + 8 tokens');
    expect(broken?.failure?.hint).toContain('max_running_requests');
    expect(broken?.summary?.ok).toBe(24);
    expect(broken?.stress).toMatchObject({ requests: 101, promptTokens: 16, outputTokens: 8 });
    expect(broken?.stress?.failed).toBeGreaterThan(0);
    expect(held?.stress).toMatchObject({ requests: 102, failed: 0 });
    expect(held?.stress?.durationS).toBeGreaterThan(0.05);
    expect(held?.summary?.asked).toBe(24);
    expect(stdout + stderr).toMatch(/Recommended\s.*--max-num-seqs 102/);
    // Only confirmations are stressed, and the recorded start of the stand-in compiled its graphs.
    expect(trials.filter((t) => t.stress && t.purpose !== 'confirmation')).toEqual([]);
    expect(trials[0]?.times.compileCache).toBe('cold');
    expectOneAtATime();
  });

  it('wins all the same when the engine refuses what is too much for it', async () => {
    const { code } = await studyOf({ 101: { ...fast, refusesAtRequest: inBurst } }).ended;
    expect(code).toBe(0);
    expect(lastOf('confirmation')).toMatchObject({ fate: 'measured', stress: { requests: 101, failed: 101 - 10 } });
  });

  it('is sent none where the study says so, and a smaller one where it says how many tokens', async () => {
    const way = { ...fast, diesAtRequest: inBurst };
    const none = await studyOf({ 101: way }, { limits: 'stress_burst_tokens: 0' }).ended;
    expect(none.code).toBe(0);
    expect(lastOf('confirmation')).toMatchObject({ fate: 'measured' });
    expect(lastOf('confirmation')?.stress).toBeUndefined();
    dir = emptyFolder();
    await studyOf({ 101: way }, { limits: 'stress_burst_tokens: 200' }).ended;
    expect(lastOf('confirmation')).toMatchObject({ fate: 'measured', stress: { requests: 8, failed: 0 } });
  });
});

describe('a flag that the installed version does not have', () => {
  it('is refused before anything is started, with the flag and the version', async () => {
    const { code, stderr } = await studyOf({ 101: {} }, { all: { removedFlags: ['--max-num-seqs'] } }).ended;
    expect(code).toBe(2);
    expect(stderr).toContain('--max-num-seqs');
    expect(stderr).toContain('0.25.1');
    expect(existsSync(join(dir, 'journal'))).toBe(false);
  });
});

describe('nothing outlives servetune', () => {
  const stubborn = { workers: 2, workersIn: 'session', workersAre: 'left', sigterm: 'ignored' };
  const loading = (): boolean => ours.alive().length >= 4;

  it.each(['loading', 'under load'])('when it is killed with kill -9 while its engine is %s', async (phase) => {
    const running = studyOf(
      { 64: {} },
      { all: { ...stubborn, ...(phase === 'loading' ? { startS: 60 } : { tokenS: 0.2 }) } },
    );
    const trial = join(runDir(), 'trials/001');
    await eventually(() => loading() && (phase === 'loading' || existsSync(join(trial, 'records.jsonl'))), 40);
    running.child.kill('SIGKILL');
    await running.ended;
    await expectNothingLeft(ours, [8000, 8001, 8002], 5);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'when it gets %s while its engine loads and ignores SIGTERM',
    async (name) => {
      const running = studyOf({ 64: {} }, { all: { ...stubborn, startS: 60 } });
      await eventually(loading, 40);
      running.child.kill(name);
      const { code, stderr } = await running.ended;
      expect(code).toBe(130);
      expect(stderr).not.toContain('    at ');
      expect(ours.alive()).toEqual([]);
    },
  );

  it('longer than until somebody looks, when its watchdog was killed with it', async () => {
    const running = studyOf({ 64: {} }, { all: { ...stubborn, startS: 60 } });
    await eventually(loading, 40);
    const note = join(runDir(), 'trials/001/engine.json');
    const noted = (): { pid: number; members?: unknown[] } => JSON.parse(readFileSync(note, 'utf8'));
    await eventually(() => (noted().members?.length ?? 0) >= 2);
    const { pid } = noted();
    const watchdog = parentOf(pid);
    running.child.kill('SIGKILL');
    process.kill(watchdog, 'SIGKILL');
    await running.ended;
    process.kill(pid, 'SIGKILL');
    await eventually(() => !lives(pid));
    expect(ours.alive()).toHaveLength(2);
    const leftovers = findLeftovers(join(dir, 'runs'));
    expect(leftovers.flatMap(({ running: left }) => left.map((p) => p.pid)).sort()).toEqual([...ours.alive()].sort());
    expect(await reap(leftovers, 0.5)).toMatchObject([{ survivors: [] }]);
  });
});

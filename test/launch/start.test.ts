import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fitsSlots } from '../../src/engines/llama-cpp/slots.ts';
import type { StartPartName } from '../../src/records/trial.ts';
import { stopEngine } from '../../src/study/running-engine.ts';
import { eventually, expectFreshBuild } from '../processes/living.ts';
import {
  type Attempt,
  attempt,
  type Does,
  emptyFolder,
  expectNothingLeft,
  isTaken,
  type StandIns,
  standIns,
} from './stand-in.ts';

beforeAll(expectFreshBuild);

let ours: StandIns;
const attempts: { readonly by: StandIns; readonly made?: Attempt }[] = [];
afterEach(async () => {
  for (const { by, made } of attempts.splice(0)) await expectNothingLeft(by, made ? [made.port] : []);
});

async function tryStart(does: Does, more?: Parameters<typeof attempt>[1]): Promise<Attempt> {
  ours = standIns(does);
  const at = attempts.push({ by: ours }) - 1;
  const made = await attempt(ours, more);
  attempts[at] = { by: ours, made };
  return made;
}

/** Of a start that came up, ended again. */
async function cameUp({ start }: Attempt): Promise<void> {
  expect(start.failure).toBeUndefined();
  if (start.running) await stopEngine(start.running.engineProcess);
}

/** What llama-server says of itself: four slots that share a context. */
const props = { total_slots: 4, default_generation_settings: { n_ctx: 1024 } };

describe('an engine is ready', () => {
  it('with its first real generation: not when it lists its models, and not when it is healthy', async () => {
    const tried = await tryStart({ startS: 0.2, modelsTooSoon: true, modelsS: 0.3, healthS: 0.6, generatesS: 1.2 });
    expect(tried.start.startS).toBeGreaterThan(1.4);
    expect(partOf(tried, 'starting')).toBeGreaterThan(0);
    expect(partOf(tried, 'first token')).toBeGreaterThan(0.3);
    expect(sumOfParts(tried)).toBeCloseTo(tried.start.startS, 1);
    expect(tried.start.running?.model).toBe('Qwen/Qwen3-14B');
    await cameUp(tried);
  });

  it.each(['early', 'late'])('whenever it binds its port: %s', async (bind) => {
    const tried = await tryStart({ startS: 0.8, bind, lateS: 0.5, healthS: 0.2 });
    expect(tried.start.startS).toBeGreaterThan(1);
    await cameUp(tried);
  });

  it('on the next port when its own was taken at the last moment', async () => {
    const dir = emptyFolder();
    const tried = await tryStart({ portTakenOnce: join(dir, 'mark') }, { dir });
    expect(readFileSync(join(dir, 'engine.log'), 'utf8')).toContain('Address already in use');
    await cameUp(tried);
  });

  it.each([
    ['vllm', 'Qwen/Qwen3-14B'],
    ['sglang', 'Qwen/Qwen3-14B'],
    ['tensorrt-llm', 'Qwen/Qwen3-14B'],
    ['llama.cpp', '/models/qwen3.gguf'],
  ])('whichever it is, with all that it started: %s', async (engine, model) => {
    const does = { workers: 2, workersIn: 'session', workersAre: 'left', props };
    const tried = await tryStart(does, { engine, model });
    expect(ours.alive()).toHaveLength(3);
    expect(tried.start.running?.model).toBe(model);
    expect(isTaken(tried.port, ours)).toBe(true);
    await cameUp(tried);
  });

  it('with the slots that it really has, so that what does not fit shows before the load', async () => {
    const tried = await tryStart({ props }, { engine: 'llama.cpp', model: '/models/qwen3.gguf' });
    const effective = tried.start.running?.effectiveSettings ?? {};
    expect(effective).toMatchObject({ max_running_requests: '4', context_length: '1024' });
    const need = { requestTokens: 1100, concurrency: 4, settings: {} };
    expect(fitsSlots(effective, need)).toMatchObject({ place: 'context_length', hint: expect.stringMatching(/1100/) });
    expect(fitsSlots(effective, { ...need, requestTokens: 1000 })).toBeUndefined();
    expect(fitsSlots(effective, { ...need, requestTokens: 1000, settings: { max_running_requests: 1 } })).toMatchObject(
      {
        place: 'max_running_requests',
      },
    );
    await cameUp(tried);
  });

  it('without fields that it refuses, by name or without one, and says which', async () => {
    const named = await tryStart({ refuses: ['ignore_eos', 'stream_options'] });
    expect(named.start.running).toBeDefined();
    expect([...(refusedBy(named) ?? [])].sort()).toEqual(['ignore_eos', 'stream_options']);
    await cameUp(named);
    const silent = await tryStart({ refuses: ['stream_options'], refusesSilently: true });
    expect(refusedBy(silent)).toEqual(['stream_options']);
    await cameUp(silent);
    const liberal = await tryStart({});
    expect(refusedBy(liberal)).toEqual([]);
    await cameUp(liberal);
  });

  it('when its model has no chat template and completes bare prompts', async () => {
    await cameUp(await tryStart({ refusesAll: 'chat' }));
  });

  it('never, when it refuses whatever it is asked: its words are the message', async () => {
    const { start } = await tryStart({ refusesAll: 'all' });
    expect(start.failure).toMatchObject({ fate: 'start_failed', failure: { hint: expect.stringMatching(/./) } });
    expect(start.failure?.failure.message).toContain('default chat template is no longer allowed');
    expect(start.startS).toBeLessThan(20);
  });

  it('and its exit code 137 is no failure when we end it', async () => {
    const { start } = await tryStart({ sigterm: 137 });
    const stopped = await start.running?.engineProcess.stop();
    expect(stopped).toMatchObject({ exit: { code: 137 }, forced: false, survivors: [] });
  });
});

describe('a start that fails', () => {
  it('is out of memory with the cause, not with what wraps it', async () => {
    const { start } = await tryStart({ fails: 'fail-memory-taken', workers: 1 });
    expect(start.failure?.fate).toBe('out_of_memory');
    expect(start.failure?.failure.message).toContain('is less than desired GPU memory utilization');
    const fragment = start.failure?.failure.fragment ?? [];
    expect(fragment.length).toBeLessThanOrEqual(5);
    expect(fragment.join('\n')).toContain('is less than desired GPU memory utilization');
    expect(fragment.join('\n')).not.toContain('Engine core initialization failed');
  });

  it('offers the length that the engine says would fit', async () => {
    const { start } = await tryStart({ fails: 'fail-kv-too-small' });
    expect(start.failure?.fate).toBe('out_of_memory');
    const { suggestion, hint } = start.failure?.failure ?? {};
    expect(suggestion).toEqual({ context_length: 1024 });
    expect(hint).toContain('context_length=1024');
  });

  it('names a flag that this version does not have', async () => {
    const { start } = await tryStart({ removedFlags: ['--max-num-seqs'] }, { settings: { max_running_requests: 8 } });
    expect(start.failure?.fate).toBe('unsupported_setting');
    expect(start.failure?.failure.fragment?.join('\n')).toContain('unrecognized arguments: --max-num-seqs');
    expect(start.failure?.failure.message).toContain('exit code 2');
  });

  it('without a word keeps its log, and its next one comes up', async () => {
    const { start } = await tryStart({ startS: 0.1, exits: 1 });
    expect(start.failure?.fate).toBe('start_failed');
    expect(start.failure?.failure.message).toContain('exit code 1');
    expect(start.failure?.failure.logTail.join('\n')).toContain('Application startup complete');
    await cameUp(await tryStart({}));
  });

  it('by being killed points at the memory of the system', async () => {
    const { start } = await tryStart({ startS: 0.1, exits: 137 });
    expect(start.failure?.failure.hint).toContain('memory');
  });

  it('by time is ended although it ignores SIGTERM', async () => {
    const { start } = await tryStart(
      { startS: 60, sigterm: 'ignored while loading', workers: 2, workersAre: 'left', workersIn: 'session' },
      { limits: { start_timeout_s: 2 } },
    );
    expect(start.failure?.fate).toBe('timed_out');
    expect(start.failure?.failure.hint).toContain('start_timeout_s');
  });

  it('because nothing happens any more is hung, and says what it was doing', async () => {
    const { start } = await tryStart(
      { startS: 0.3, stallsAt: 'Using max model len' },
      { limits: { stall_timeout_s: 1.5 } },
    );
    expect(start.failure?.fate).toBe('hung');
    expect(start.failure?.failure.message).toContain('Using max model len');
    expect(start.startS).toBeLessThan(15);
  });

  it('because its first answer never comes is hung, however healthy it is', async () => {
    const { start } = await tryStart({ hangsAtRequest: 1 }, { limits: { stall_timeout_s: 1.5 } });
    expect(start.failure?.fate).toBe('hung');
    expect(start.failure?.failure.message).toContain('first token');
  });

  it('is none while it computes for longer than the stall limit and prints nothing', async () => {
    const tried = await tryStart(
      { startS: 0.3, worksAt: { line: 'Using max model len', s: 4 } },
      { limits: { stall_timeout_s: 1.5 } },
    );
    expect(tried.start.startS).toBeGreaterThan(4);
    await cameUp(tried);
  });
});

describe('nothing outlives a start', () => {
  it('when it is interrupted while the engine ignores SIGTERM', async () => {
    const interruption = new AbortController();
    const trying = tryStart(
      { startS: 60, sigterm: 'ignored', workers: 2, workersIn: 'session', workersAre: 'left' },
      { signal: interruption.signal },
    );
    await eventually(() => ours.alive().length === 3);
    interruption.abort(new Error('interrupted'));
    await expect(trying).rejects.toThrow('interrupted');
    expect(ours.alive()).toEqual([]);
  });

  it.each(['group', 'session'])('when its leader is killed and workers stay in its %s', async (workersIn) => {
    const { start } = await tryStart({ workers: 2, workersIn, workersAre: 'left' });
    const engineProcess = start.running?.engineProcess;
    expect(ours.alive()).toHaveLength(3);
    process.kill(engineProcess?.pid ?? 0, 'SIGKILL');
    expect(await engineProcess?.exited).toMatchObject({ signal: 'SIGKILL' });
    await eventually(() => ours.alive().length === 0);
    expect(await engineProcess?.stop()).toMatchObject({ survivors: [] });
  });
});

const partOf = ({ start }: Attempt, part: StartPartName): number | undefined => start.parts?.[part];
const sumOfParts = ({ start }: Attempt): number =>
  Object.values(start.parts ?? {}).reduce((sum, seconds) => sum + seconds, 0);
const refusedBy = ({ start }: Attempt): readonly string[] | undefined => start.running?.refusedFields;

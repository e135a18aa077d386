import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { InputError } from '../../../src/kit/errors.ts';
import { readRequestLine } from '../../../src/records/request-line.ts';
import type { Configuration, Settings } from '../../../src/records/settings.ts';
import { parseStudy } from '../../../src/study/read.ts';
import { prepareSimulation, type Simulation } from '../../../src/study/simulated/simulation.ts';
import { asSimulated, isSimulated, otherKind, withHardware, withVersions } from '../../../src/study/simulated/study.ts';
import { simulateTrial } from '../../../src/study/simulated/trial.ts';

const { signal } = new AbortController();
const dir = mkdtempSync(join(tmpdir(), 'servetune-simulated-'));
const environment = { HF_HUB_OFFLINE: '1', SERVETUNE_CACHE: join(dir, 'cache') };

const file = parseStudy(
  `
name: virtual
model: Qwen/Qwen3-14B
hardware: { gpu: h100, count: 2 }
engines: [vllm@0.11.0, sglang]
baseline: { engine: vllm }
stages: []
workloads:
  - { name: burst, random_input_len: 256, random_output_len: 32, num_prompts: 60 }
  - { name: pace, random_input_len: 64, random_output_len: 8, num_prompts: 20, request_rate: 20, min_duration_s: 10 }
  - { name: prefix, random_input_len: 8, random_prefix_len: 2000, random_output_len: 4, num_prompts: 40 }
  - { name: overlong, random_input_len: 900, random_range_ratio: 0.5, random_output_len: 4, num_prompts: 20 }
`,
  'study.yaml',
);
const study = withVersions(asSimulated(file));
let simulation: Simulation;
beforeAll(async () => {
  simulation = await prepareSimulation(study, environment, signal);
});

const trialOf = async (workload: string, settings: Settings = {}, id = 1, engine = 'vllm') => {
  const spec = study.study.workloads.find(({ name }) => name === workload);
  if (!spec) throw new Error(workload);
  const configuration: Configuration = { engine, version: '0.11.0', settings };
  const recordsPath = join(dir, `${workload}.jsonl`);
  const outcome = await simulateTrial(simulation, {
    trial: { id, engineStart: id, configuration, workload, purpose: 'baseline', reason: '' },
    workload: spec,
    starts: true,
    recordsPath,
    signal,
  });
  return { outcome, recordsPath };
};

describe('a simulated study', () => {
  it('is one of which every engine is simulated, with a version for each', () => {
    expect(isSimulated(file.study)).toBe(false);
    expect(isSimulated(study.study)).toBe(true);
    expect(study.study.engines).toMatchObject([{ version: '0.11.0' }, { name: 'sglang', version: expect.stringMatching(/^\d/) }]); // biome-ignore format: one line
  });

  it('takes the hardware that is asked for before the one that it names', () => {
    expect(withHardware(study, { gpu: 'H200' }).study.hardware).toEqual({ gpu: 'H200', count: 1 });
    expect(withHardware(study, { gpus: 4 }).study.hardware).toEqual({ gpu: 'h100', count: 4 });
  });

  it('says what it cannot be simulated on, and with which texts', async () => {
    const text = file.text.replace('h100', 'Voodoo 2').replace('name: burst,', 'name: burst, dataset_name: custom, dataset_path: none.jsonl,'); // biome-ignore format: one line
    const wrong = prepareSimulation(asSimulated(parseStudy(text, 'study.yaml')), environment, signal);
    await expect(wrong).rejects.toThrow(/no figures are known of the GPU “Voodoo 2”/);
    const known = parseStudy(text.replace('Voodoo 2', 'H100'), 'study.yaml');
    await expect(prepareSimulation(asSimulated(known), environment, signal)).rejects.toThrow(/cannot be simulated/); // biome-ignore format: one line
    const unnamed = parseStudy(file.text.replace(/^hardware.*$/m, ''), 'study.yaml');
    await expect(prepareSimulation(asSimulated(unnamed), environment, signal)).rejects.toThrow(InputError);
  });

  it('is never added to a measured run, nor the other way round', () => {
    const [virtual, live] = ['1970-01-01T00:00:00.000Z', '2026-11-30T18:00:00.000Z'].map((beganAt) => ({ simulated: true, beganAt })); // biome-ignore format: one line
    const measured = { simulated: false, beganAt: '2026-11-30T18:00:00.000Z' };
    expect(otherKind(virtual as typeof measured, 'measured', 'runs/a')?.message).toMatch(/simulated in virtual time/);
    expect(otherKind(live as typeof measured, 'virtual', 'runs/a')?.hint).toMatch(/--live/);
    expect(otherKind(measured, 'virtual', 'runs/a')?.message).toMatch(/measured/);
    expect(otherKind(virtual as typeof measured, 'virtual', 'runs/a')).toBeUndefined();
  });
});

describe('a simulated trial', () => {
  it('has a row like a measured one, and records that say that they are simulated', async () => {
    const before = Date.parse(simulation.clock.time());
    const { outcome, recordsPath } = await trialOf('burst');
    const { summary, times } = outcome;
    expect(outcome).toMatchObject({ fate: 'measured', simulated: true });
    expect(summary).toMatchObject({ asked: 60, ok: 60, failed: 0, outputTokens: 60 * 32, inputTokens: 60 * 256 });
    expect(summary?.warnings.join(' ')).toMatch(/no engine ran.*Uncalibrated/);
    // 29.5 GB of weights at 2 GB/s, and 20 s.
    expect(times.startS).toBe(35);
    const passedS = (Date.parse(simulation.clock.time()) - before) / 1000;
    expect(passedS).toBeCloseTo(35 + (times.loadS ?? 0), 2);
    const lines = readFileSync(recordsPath, 'utf8').trim().split('\n');
    expect(lines.length).toBe(60);
    for (const line of lines) {
      expect(line).toContain('"simulated":true');
      const record = readRequestLine(line);
      if (typeof record === 'string') throw new Error(record);
      expect(record.tokenTimesS.length).toBe(32);
      expect(record.tokenTimesS.every((timeS, i, all) => timeS > (all[i - 1] ?? record.sendS))).toBe(true);
      expect(record.endS).toBe(record.tokenTimesS.at(-1));
    }
  });

  it('comes out the same again, and differs from its repeats by a few per cent', async () => {
    const rate = async (id: number): Promise<number> => (await trialOf('burst', {}, id)).outcome.summary?.totalTokenThroughput ?? 0; // biome-ignore format: one line
    const rates = await Promise.all([1, 2, 3, 4, 5, 6].map(rate));
    expect(await rate(1)).toBe(rates[0]);
    expect(new Set(rates).size).toBe(rates.length);
    expect(Math.max(...rates) / Math.min(...rates)).toBeLessThan(1.2);
  });

  it('goes on for as long as the workload asks', async () => {
    const { outcome } = await trialOf('pace');
    expect(outcome.fate).toBe('measured');
    // About 20 a second for ten seconds.
    expect(outcome.summary?.asked).toBeGreaterThan(150);
    expect(outcome.summary?.asked).toBeLessThan(260);
    expect(outcome.summary?.durationS).toBeGreaterThan(9.5);
  });

  it('finds shared beginnings in the cache, unless that is off', async () => {
    const on = (await trialOf('prefix')).outcome.summary;
    const off = (await trialOf('prefix', { prefix_caching: false })).outcome.summary;
    expect(on?.cachedInputTokens).toBe(39 * 2000);
    expect(off?.cachedInputTokens ?? 0).toBe(0);
    expect(on?.durationS).toBeLessThan((off?.durationS ?? 0) / 2);
  });

  it('shares requests among copies of the model', async () => {
    const one = (await trialOf('burst')).outcome.summary;
    const two = (await trialOf('burst', { data_parallel: 2 })).outcome.summary;
    expect(two).toMatchObject({ ok: 60, inputTokens: 60 * 256 });
    expect(two?.durationS).toBeLessThan(one?.durationS ?? 0);
  });

  it('fails as a real one would: too few GPUs, too little memory, prompts that are too long', async () => {
    const { outcome: few } = await trialOf('burst', { tensor_parallel: 4 });
    expect(few).toMatchObject({ fate: 'unsupported_setting', simulated: true, failure: { message: expect.stringContaining('needs 4 GPUs') } }); // biome-ignore format: one line
    const { outcome: unknown } = await trialOf('burst', {}, 1, 'llama.cpp');
    expect(unknown).toMatchObject({ fate: 'unsupported_setting', failure: { message: expect.stringContaining('llama.cpp') } }); // biome-ignore format: one line
    const { outcome: small } = await trialOf('burst', { gpu_memory_fraction: 0.43 });
    expect(small.fate).toBe('out_of_memory');
    const context = small.failure?.suggestion?.context_length;
    expect(small.failure?.hint).toContain('context_length');
    const { outcome: mended } = await trialOf('burst', { gpu_memory_fraction: 0.43, context_length: context ?? 0 });
    expect(mended.fate).toBe('measured');
    const { outcome: overlong } = await trialOf('overlong', { context_length: 1000 });
    expect(overlong).toMatchObject({ fate: 'invalid_measurement' });
    expect(overlong.failure?.message).toMatch(/of 20 requests failed: .*more than the longest sequence of 1000/);
  });
});

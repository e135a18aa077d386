import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { engines } from '../../src/engines/table.ts';
import { InputError } from '../../src/kit/errors.ts';
import type { Gpu } from '../../src/records/gpu.ts';
import type { ModelShape } from '../../src/records/model-shape.ts';
import { gpusAskedFor } from '../../src/study/init/facts.ts';
import { neededGpus } from '../../src/study/init/parallel.ts';
import { mergeStages } from '../../src/study/init/stages.ts';
import { leftOut, workloadsFor } from '../../src/study/init/workloads.ts';
import { defaultStudy, draftStudy, type StudyFacts, studyName } from '../../src/study/init.ts';
import { parseStudy } from '../../src/study/read.ts';
import { resolveStudy } from '../../src/study/resolve.ts';
import { expectFreshBuild } from '../processes/living.ts';
import { standIn } from './gpu-box.ts';

const signal = new AbortController().signal;
const gpu = (name: string, memoryMiB: number, computeCapability: number): Gpu => ({
  vendor: 'nvidia', index: 0, uuid: 'GPU-1', name, memoryMiB, computeCapability, driver: '580.159.04', powerLimitW: 700,
}); // biome-ignore format: one card
const h100 = gpu('NVIDIA H100 80GB HBM3', 81_559, 90);
const qwen3: ModelShape = {
  attentionHeads: 40, kvHeads: 8, layers: 40, hiddenSize: 5120, maxPositions: 40_960, experts: 0, quantization: null,
} as ModelShape; // biome-ignore format: one model
const model = 'Qwen/Qwen3-14B';
const gpuEngines = engines
  .map(({ name }) => name)
  .filter((name) => !['embedded', 'llama.cpp', 'external'].includes(name))
  .map((name) => ({ name, host: 'local' }));

let dir: string;
let environment: Record<string, string>;
beforeAll(() => expectFreshBuild());
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'servetune-init-'));
  mkdirSync(join(dir, 'bin'));
  environment = {
    PATH: [join(dir, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    HOME: dir,
    HF_HUB_OFFLINE: '1',
  };
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** The study in a text, checked as a run and a dry run check it. */
async function checked(text: string, known: StudyFacts = {}) {
  const file = parseStudy(text, 'study.yaml');
  const nowhere = { PATH: join(dir, 'bin') };
  return { study: file.study, space: await resolveStudy(file, nowhere, signal, { mustBeInstalled: false, known }) };
}

describe('a default study', () => {
  const places: readonly (readonly [string, readonly Gpu[]])[] = [
    ['an H100', [h100]],
    ['eight H200', Array.from({ length: 8 }, (_, index) => ({ ...gpu('NVIDIA H200', 143_771, 90), index }))],
    ['an A100', [gpu('NVIDIA A100-SXM4-80GB', 81_920, 80)]],
    ['an L4', [gpu('NVIDIA L4', 23_034, 89)]],
    ['a B200', [gpu('NVIDIA B200', 183_359, 100)]],
    ['a T4', [gpu('Tesla T4', 15_360, 75)]],
    ['no GPU', []],
  ];

  it.each(places)('passes every check on %s, with all engines and with each alone', async (_, gpus) => {
    for (const facts of [{ gpus }, { gpus, shape: qwen3 }]) {
      for (const declared of [gpuEngines, ...gpuEngines.map((one) => [one])]) {
        const { study, space } = await checked(defaultStudy(model, facts, declared), facts);
        expect(study.model).toBe(model);
        expect(space.baseline).toMatchObject({ engine: declared[0]?.name, settings: {} });
      }
    }
  });

  it('asks for nothing that an engine would refuse on its own', async () => {
    for (const declared of gpuEngines) {
      const { space } = await checked(defaultStudy(model, { gpus: [h100], shape: qwen3 }, [declared]));
      expect(space.stages.flatMap(({ alternatives }) => alternatives).length).toBeGreaterThan(3);
      expect(space.stages.some(({ name }) => name === 'engine')).toBe(false);
    }
  });

  it('decides engine, number format and attention first, as the reference study does, on its workloads', async () => {
    const { study } = await checked(defaultStudy(model, { gpus: [h100], shape: qwen3 }, gpuEngines));
    expect(study.stages[0]?.name).toBe('engine');
    expect(study.stages[0]?.alternatives).toEqual(gpuEngines.slice(1).map(({ name }) => ({ engine: name })));
    expect(study.stages[1]?.name).toMatch(/quantization/);
    expect(study.stages[2]?.name).toMatch(/attention/);
    expect(study.workloads[0]).toMatchObject({ dataset_name: 'sharegpt', num_prompts: 1000 });
    expect(study.workloads.slice(1).map((w) => [w.random_input_len, w.random_output_len, w.num_prompts])).toEqual([
      [128, 4, 1000],
      [2000, 100, 500],
      [4000, 200, 500],
      [32_000, 100, 100],
    ]);
    expect(study.objective).toMatchObject({ metric: 'total_token_throughput', workload: 'sharegpt' });
    expect(study.name).toBe('qwen3-14b-h100');
  });

  it('tells which engines have an alternative that not all of them have', () => {
    const text = defaultStudy(model, { gpus: [h100], shape: qwen3 }, gpuEngines);
    expect(text).toMatch(/- \{ .+ \} # \S+/);
    expect(text).toContain('# Made for: 1 x NVIDIA H100 80GB HBM3, 80 GiB');
    expect(text).toContain('40 layers');
  });

  it('spreads a model that is too large for one GPU, in every engine', async () => {
    const gpus = Array.from({ length: 4 }, (_, index) => ({ ...h100, index }));
    const facts = { gpus, shape: { ...qwen3, attentionHeads: 64 }, weightBytes: 140e9 };
    const { study } = await checked(defaultStudy('some/70B', facts, gpuEngines), facts);
    expect(study.baseline).toMatchObject({ tensor_parallel: 4 });
    for (const alternative of study.stages[0]?.alternatives ?? []) expect(alternative.tensor_parallel).toBe(4);
    for (const { name, host } of gpuEngines) {
      const { space } = await checked(defaultStudy('some/70B', facts, [{ name, host }]), facts);
      const all = space.stages.flatMap(({ alternatives }) => alternatives).map(({ settings }) => settings);
      expect(all.filter((s) => s.data_parallel !== undefined || Number(s.tensor_parallel ?? 4) < 4)).toEqual([]);
    }
  });

  it('keeps versions, hosts and interpreters', async () => {
    const declared = [
      { name: 'vllm', version: '0.11.0', host: 'uv' },
      { name: 'vllm', version: '0.25.1', host: 'local', python: '/opt/vllm/bin/python' },
    ];
    const { study } = await checked(defaultStudy(model, {}, declared));
    expect(study.engines).toEqual(declared);
    expect(study.baseline).toEqual({ engine: 'vllm@0.11.0' });
    expect(study.stages[0]?.alternatives).toEqual([{ engine: 'vllm@0.25.1' }]);
  });

  it('takes small workloads for what computes on the CPU', async () => {
    const { study } = await checked(defaultStudy('tiny-qwen3', {}, [{ name: 'embedded', host: 'local' }]));
    expect(study.workloads.every((w) => (w.max_concurrency ?? 1000) <= 16)).toBe(true);
  });

  it.each(['a: b', '../models/#1', '"quoted" model', 'mødel/é'])('survives a model called %s', async (name) => {
    expect(parseStudy(defaultStudy(name, {}, gpuEngines), 'study.yaml').study.model).toBe(name);
  });
});

describe('its parts', () => {
  it.each([
    [model, 'NVIDIA H100 80GB HBM3', 'qwen3-14b-h100'],
    ['meta-llama/Llama-3.1-8B', 'NVIDIA A100-SXM4-80GB', 'llama-3.1-8b-a100'],
    [model, 'NVIDIA GeForce RTX 4090', 'qwen3-14b-rtx-4090'],
    [model, 'AMD Instinct MI300X', 'qwen3-14b-mi300x'],
    ['/models/q.gguf', undefined, 'q'],
    ['模型', undefined, 'study'],
  ])('names the study of %s on %s', (name, card, expected) => {
    expect(studyName(name, card === undefined ? [] : [{ name: card }])).toBe(expected);
  });

  it('leaves out workloads that are longer than the model', () => {
    const names = (maxPositions: number | undefined) => workloadsFor({ onCpu: false, maxPositions }).map((w) => w.name);
    expect(names(undefined)).toContain('very-long');
    expect(names(8192)).toEqual(['sharegpt', 'short', 'medium', 'long']);
    expect(names(2048)).toEqual(['short']);
    expect(leftOut({ onCpu: false, maxPositions: 8192 }).map((w) => w.name)).toEqual(['very-long']);
    const [own, ...none] = workloadsFor({ onCpu: false, maxPositions: 128 });
    expect(none).toEqual([]);
    expect((own?.random_input_len ?? 0) + (own?.random_output_len ?? 0)).toBeLessThanOrEqual(64);
    expect(workloadsFor({ onCpu: true, maxPositions: 100 })[0]?.random_input_len).toBeLessThan(64);
  });

  it('says which were left out', async () => {
    const facts = { gpus: [h100], shape: { ...qwen3, maxPositions: 4096 } };
    const text = defaultStudy(model, facts, gpuEngines);
    expect(text).toContain(
      '# Left out, since the model takes 4096 tokens: long (up to 4264) and very-long (up to 32164)',
    );
    expect((await checked(text, facts)).study.workloads.map(({ name }) => name)).toEqual([
      'sharegpt',
      'short',
      'medium',
    ]);
  });

  it('merges stages of one name, and equal alternatives', () => {
    const merged = mergeStages([
      { engine: 'a', name: 'batch', alternatives: [{ max_running_requests: 8 }] },
      { engine: 'a', name: 'Attention backend', alternatives: [{ attention_backend: 'x' }] },
      {
        engine: 'b',
        name: 'attention_backend',
        alternatives: [{ attention_backend: 'x' }, { attention_backend: 'y' }],
      },
      { engine: 'b', name: 'nothing', alternatives: [] },
    ]);
    expect(merged.map(({ name }) => name)).toEqual(['Attention backend', 'batch']);
    expect(merged[0]?.alternatives).toEqual([
      { settings: { attention_backend: 'x' }, engines: ['a', 'b'] },
      { settings: { attention_backend: 'y' }, engines: ['b'] },
    ]);
  });

  it('leaves the order of a single engine as it is', () => {
    const merged = mergeStages([
      { engine: 'a', name: 'GPU layers', alternatives: [{ gpu_layers: 999 }] },
      { engine: 'a', name: 'attention', alternatives: [{ attention_backend: 'x' }] },
    ]);
    expect(merged.map(({ name }) => name)).toEqual(['GPU layers', 'attention']);
  });

  it('counts the GPUs that weights need', () => {
    const four = [h100, h100, h100, h100];
    expect(neededGpus({})).toBe(1);
    expect(neededGpus({ gpus: four, weightBytes: 29e9 })).toBe(1);
    expect(neededGpus({ gpus: four, weightBytes: 120e9 })).toBe(2);
    expect(neededGpus({ gpus: four, weightBytes: 150e9 })).toBe(3);
    expect(neededGpus({ gpus: four, weightBytes: 150e9, shape: { attentionHeads: 40 } })).toBe(4);
    expect(neededGpus({ gpus: four, weightBytes: 1e12 })).toBe(4);
  });
});

describe('what is found here', () => {
  const stand = (): void => {
    copyFileSync(join(import.meta.dirname, '../fixtures/stand-ins/vllm'), join(dir, 'bin/vllm'));
    chmodSync(join(dir, 'bin/vllm'), 0o755);
  };

  it('is taken: the engine on PATH, and the GPU', async () => {
    stand();
    standIn(join(dir, 'bin'), {});
    const { text, engines: found } = await draftStudy(model, {}, environment, signal);
    expect(found).toEqual([{ name: 'vllm', host: 'local' }]);
    expect(text).toContain('1 x NVIDIA H100 80GB HBM3');
    expect((await checked(text)).study.engines).toEqual(['vllm']);
  });

  it('is not looked for when the model itself is not there', async () => {
    await expect(draftStudy(join(dir, 'none.gguf'), {}, environment, signal)).rejects.toThrow('does not exist');
  });

  it('serves a model of the right kind: what is made here, with the engine that makes it', async () => {
    stand();
    const { engines: found } = await draftStudy('tiny-qwen3', {}, environment, signal);
    expect(found).toEqual([{ name: 'embedded', host: 'local' }]);
  });

  it('is refused with a remedy when there is nothing', async () => {
    const attempt = draftStudy(model, {}, environment, signal);
    await expect(attempt).rejects.toThrow(InputError);
    await expect(attempt).rejects.toMatchObject({ problems: [{ hint: expect.stringContaining('--engines') }] });
  });

  it('is not needed for engines that are named', async () => {
    const named = ['vllm@0.11.0', 'vllm@0.25.1'];
    const { engines: found } = await draftStudy(model, { named, host: 'uv' }, environment, signal);
    expect(found.map(({ version, host }) => `${version} ${host}`)).toEqual(['0.11.0 uv', '0.25.1 uv']);
  });

  it('is made for the GPUs that the environment shows only', async () => {
    stand();
    standIn(join(dir, 'bin'), {});
    const shown = { ...environment, CUDA_VISIBLE_DEVICES: '' };
    const { text, notes } = await draftStudy(model, {}, shown, signal);
    expect(text).toContain('# Made for: no GPU found');
    expect(notes).toEqual([expect.stringMatching(/^No stages for vllm: .*CUDA_VISIBLE_DEVICES= hides all of them/)]);
  });

  it('is made for GPUs that are elsewhere, when they are named', async () => {
    const asked = { named: ['vllm@0.11.0'], gpus: { gpu: 'h100', count: 2 } };
    const { text, notes } = await draftStudy(model, asked, environment, signal);
    expect(notes).toEqual([]);
    expect(text).toContain('# Made for: 2 x NVIDIA H100 SXM, 79 GiB, as it was named');
    const { study } = await checked(text);
    expect(study.stages.map(({ name }) => name)).toContain('parallelism');
    expect(study.name).toBe('qwen3-14b-h100');
    for (const gpu of ['A100 SXM 40GB', 'L4', 'H200', 'B200', 'RTX 4090', 'RTX 5090', 'MI300X']) {
      const one = await draftStudy(model, { ...asked, gpus: { gpu, count: 1 } }, environment, signal);
      expect((await checked(one.text)).study.stages.length).toBeGreaterThan(1);
      expect(gpusAskedFor({ gpu, count: 1 })[0]?.computeCapability === null).toBe(gpu === 'MI300X');
    }
    const unknown = draftStudy(model, { ...asked, gpus: { gpu: 'H900', count: 1 } }, environment, signal);
    await expect(unknown).rejects.toMatchObject({
      problems: [{ place: '--gpu', hint: expect.stringContaining('H200') }],
    });
  });

  it('says why there are no stages without a GPU', async () => {
    const { notes } = await draftStudy(model, { named: ['vllm@0.11.0'] }, environment, signal);
    expect(notes).toEqual([expect.stringMatching(/No stages for vllm: .*none was found here.*--gpu H100/)]);
    expect((await draftStudy('tiny-qwen3', {}, environment, signal)).notes).toEqual([]);
  });

  it('keeps the interpreters that were named, also without --engines', async () => {
    const pythons = ['vllm=/opt/v/bin/python', 'sglang@0.5.5.post1=/opt/s/bin/python'];
    const { engines: found, text } = await draftStudy(model, { pythons }, environment, signal);
    expect(found).toEqual([
      { name: 'vllm', host: 'local', python: '/opt/v/bin/python' },
      { name: 'sglang', version: '0.5.5.post1', host: 'local', python: '/opt/s/bin/python' },
    ]);
    expect((await checked(text)).study.engines).toHaveLength(2);
    const one = await draftStudy(model, { named: ['vllm'], pythons: ['/v/python'] }, environment, signal);
    expect(one.engines).toEqual([{ name: 'vllm', host: 'local', python: '/v/python' }]);
    const stray = draftStudy(model, { named: ['vllm'], pythons: ['sglang=/s/python'] }, environment, signal);
    await expect(stray).rejects.toThrow('sglang is not among the engines that are named');
  });

  it.each([
    [model, ['llama.cpp'], /llama\.cpp serves GGUF files, and Qwen\/Qwen3-14B is none/],
    [model, ['embedded'], /embedded serves GGUF files/],
    ['tiny-qwen3', ['vllm'], /vllm is given models as a folder or by their name on a hub/],
    [model, ['vllm@latest'], /“latest” is no version of vllm/],
    [model, ['vllm@'], /“” is no version of vllm/],
    [model, ['vllm@0.11.0', 'vllm@0.11.0'], /vllm@0\.11\.0 is named twice/],
    [model, [], /names no engine/],
  ])('is refused where the study could not run: %s with %j', async (name, named, expected) => {
    const attempt = draftStudy(name, { named }, environment, signal);
    await expect(attempt).rejects.toThrow(InputError);
    await expect(attempt).rejects.toThrow(expected);
  });

  it('is refused for a model on this disk that is not whole', async () => {
    const folder = join(dir, 'model');
    mkdirSync(folder);
    const draft = () => draftStudy(folder, { named: ['vllm'] }, environment, signal);
    await expect(draft()).rejects.toThrow(/lacks config\.json and weights/);
    writeFileSync(join(folder, 'config.json'), '{"num_hidden_layers": 4');
    await expect(draft()).rejects.toThrow(/config\.json: cannot be read/);
    writeFileSync(join(folder, 'config.json'), '{}');
    await expect(draft()).rejects.toThrow(/lacks weights/);
    writeFileSync(join(dir, 'text.gguf'), 'text');
    const text = draftStudy(join(dir, 'text.gguf'), { named: ['embedded'] }, environment, signal);
    await expect(text).rejects.toThrow(/not a GGUF file/);
  });

  it('names every engine that does not exist or lacks its version', async () => {
    const attempt = draftStudy(model, { named: ['vlm', 'vllm'], host: 'docker' }, environment, signal);
    await expect(attempt).rejects.toMatchObject({
      problems: [{ message: expect.stringContaining('vlm') }, { message: expect.stringContaining('version') }],
    });
  });
});

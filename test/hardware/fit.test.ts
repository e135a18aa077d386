import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FitInput, fitOf, sequencesThatFit } from '../../src/hardware/fit.ts';
import { gpuNamed, type Hardware } from '../../src/hardware/gpus.ts';
import { type CompleteShape, completeShape } from '../../src/hardware/model.ts';
import { relative, shapeOf } from './shapes.ts';

const gib = 2 ** 30;
const engines = join(import.meta.dirname, '../fixtures/engines');

function gpu(name: string): Hardware {
  const found = gpuNamed(name);
  if (found === null) throw new Error(`no ${name}`);
  return found;
}

/** A number in a recorded log. */
function logged(file: string, pattern: RegExp): number {
  const found = pattern.exec(readFileSync(join(engines, file), 'utf8'))?.[1];
  if (found === undefined) throw new Error(`${file} has no ${pattern}`);
  return Number(found.replaceAll(',', ''));
}

const qwen = shapeOf('Qwen3-14B');

/** The Qwen3 of four layers that engines were recorded with. */
const small = ((): CompleteShape => {
  const shape = completeShape({
    attentionHeads: 16, kvHeads: 8, layers: 4, hiddenSize: 1024, maxPositions: 40960, experts: 0, quantization: null,
    headDim: 128, intermediateSize: 3072, vocabularySize: 151936,
  }); // biome-ignore format: one shape
  if (shape === null) throw new Error('incomplete');
  return shape;
})();

// What vLLM's and SGLang's defaults are on this card.
const h200 = {
  hardware: gpu('NVIDIA H200'),
  precision: 'bf16' as const,
  maxBatchedTokens: 8192,
  maxRunningRequests: 1024,
};

const vllm = {
  loaded: /Model loading took ([\d.]+) GiB/,
  available: /Available KV cache memory: (-?[\d.]+) GiB/,
  tokens: /GPU KV cache size: ([\d,]+) tokens/,
  graphs: /Graph capturing finished in \d+ secs, took ([\d.]+) GiB/,
  longest: /estimated maximum model length is (\d+)/,
};

describe('fitOf, against recorded engines', () => {
  it.each([
    ['start-14b', qwen],
    ['start-small', small],
  ] as const)('divides the memory as vLLM 0.25.1 did: %s', (name, shape) => {
    const log = `vllm-0.25.1/logs/${name}.log`;
    const fit = fitOf({ ...h200, shape });
    expect(fit.starts).toBe(true);
    expect(relative(fit.parts.weights / gib, logged(log, vllm.loaded))).toBeLessThan(0.02);
    expect(relative(fit.kvCapacityTokens, logged(log, vllm.tokens))).toBeLessThan(0.01);
    expect(relative(fit.parts.kvCache / gib, logged(log, vllm.available))).toBeLessThan(0.01);
    expect(relative(fit.parts.cudaGraphs / gib, logged(log, vllm.graphs))).toBeLessThan(0.05);
  });

  it('finds the longest context as vLLM did where 4 million tokens were asked for', () => {
    const log = 'vllm-0.25.1/logs/fail-fraction-099-huge-context.log';
    const fit = fitOf({ ...h200, shape: qwen, memoryFraction: 0.99, maxModelLen: 4_000_000 });
    expect(fit.starts).toBe(false);
    expect(fit.reason).toMatch(/one sequence of \d+ tokens, fewer than the 4000000/);
    expect(relative(fit.largestContextTokens, logged(log, vllm.longest))).toBeLessThan(0.01);
    expect(relative(fit.parts.kvCache / gib, logged(log, vllm.available))).toBeLessThan(0.01);
    expect(fitOf({ ...h200, shape: qwen, memoryFraction: 0.99, maxModelLen: fit.largestContextTokens }).starts).toBe(
      true,
    );
  });

  it('finds no room as vLLM and SGLang did not with a tenth of the memory', () => {
    const tenth = { ...h200, shape: qwen, memoryFraction: 0.1, enforceEager: true };
    expect(logged('vllm-0.25.1/logs/fail-fraction-too-small.log', vllm.available)).toBeLessThan(0);
    for (const memoryRule of ['total', 'static'] as const) {
      const fit = fitOf({ ...tenth, memoryRule });
      expect(fit).toMatchObject({ starts: false, kvCapacityTokens: 0, largestContextTokens: 0, fullSequences: 0 });
      expect(fit.reason).toMatch(/weights of 27.5 GiB leave no room for a KV cache in 14.0 GiB/);
      expect(fit.parts.kvCache).toBeLessThan(0);
    }
  });

  it.each([
    ['start-14b', qwen, 0.903],
    ['start-sigint-idle', small, 0.903],
    ['fail-port-in-use', small, 0.15],
  ] as const)('divides the memory as SGLang 0.5.11 did: %s', (name, shape, memoryFraction) => {
    const log = `sglang-0.5.11/logs/${name}.log`;
    expect(logged(log, /mem_fraction_static=([\d.]+)/)).toBe(memoryFraction);
    const fit = fitOf({ ...h200, shape, memoryRule: 'static', memoryFraction });
    expect(fit.starts).toBe(true);
    expect(relative(fit.kvCapacityTokens, logged(log, /max_total_num_tokens=(\d+)/))).toBeLessThan(0.01);
    expect(relative(fit.parts.weights / gib, logged(log, /mem usage=([\d.]+) GB\.\s/))).toBeLessThan(0.05);
  });

  it('leaves the published H100 the room of its ceilings, less graphs and activations', () => {
    const fit = fitOf({ ...h200, shape: qwen, hardware: gpu('H100') });
    expect(fit.kvCapacityTokens).toBeLessThan(297_249);
    expect(relative(fit.kvCapacityTokens, 297_249)).toBeLessThan(0.05);
  });

  it('has the bytes a token of gpt-oss-120b as TensorRT-LLM allocates them', () => {
    // 5.95 GiB for 86,720 tokens; it gives no room back for the windows of half the layers.
    const shape = shapeOf('gpt-oss-120b');
    const { parts, kvCapacityTokens } = fitOf({
      ...h200,
      shape,
      precision: 'mxfp4',
      memoryRule: 'free',
      maxRunningRequests: 64,
    });
    const perToken = parts.kvCache / kvCapacityTokens;
    const log = 'tensorrt-llm/start-1.1.0rc3.log';
    const allocated = logged(log, /Allocated (5\.95) GiB/) * gib;
    expect(
      relative(perToken, allocated / logged(log, /Allocated 5\.95 GiB for max tokens in paged KV cache \((\d+)\)/)),
    ).toBeLessThan(0.01);
  });
});

describe('fitOf', () => {
  const base: FitInput = { ...h200, shape: qwen };

  it('holds with an FP8 cache twice as many tokens, and with FP8 weights more', () => {
    const { kvCapacityTokens: tokens } = fitOf(base);
    expect(relative(fitOf({ ...base, kvDtype: 'fp8' }).kvCapacityTokens, 2 * tokens)).toBeLessThan(0.001);
    const saved = 13.212e9 / 163_840;
    expect(relative(fitOf({ ...base, precision: 'fp8' }).kvCapacityTokens - tokens, saved)).toBeLessThan(0.01);
  });

  it('shares weights and KV heads among GPUs, down to one head each', () => {
    const two = fitOf({ ...base, tensorParallel: 2 });
    expect(two.parts.weights).toBe(fitOf(base).parts.weights / 2);
    expect(two.kvCapacityTokens).toBeGreaterThan(2 * fitOf(base).kvCapacityTokens);
    const [eight, sixteen] = [8, 16].map((tensorParallel) => fitOf({ ...base, tensorParallel }).kvCapacityTokens);
    // With one head on each of eight, eight more GPUs only spread the weights further.
    expect(sixteen).toBeLessThan(1.05 * (eight ?? 0));
  });

  it('gives each stage of a pipeline its layers, and the fullest one an embedding or the head', () => {
    const { parts, kvCapacityTokens } = fitOf({ ...base, pipelineParallel: 2 });
    expect(relative(parts.weights, 13.212e9 + 2 * 777.9e6)).toBeLessThan(0.001);
    expect(kvCapacityTokens).toBeGreaterThan(2 * fitOf(base).kvCapacityTokens);
    // 40 layers in three stages are 14, 13 and 13.
    expect(
      relative(fitOf({ ...base, pipelineParallel: 3 }).parts.weights, (2 * 13.212e9 * 14) / 40 + 2 * 777.9e6),
    ).toBeLessThan(0.001);
  });

  it('needs less without CUDA graphs and for smaller steps', () => {
    expect(fitOf({ ...base, enforceEager: true }).parts).toMatchObject({ cudaGraphs: 0 });
    const few = fitOf({ ...base, maxBatchedTokens: 2048, maxRunningRequests: 16 }).parts.activations;
    expect(few).toBeLessThan(fitOf(base).parts.activations / 3);
  });

  it('says how many sequences of a length run at once', () => {
    const { kvCapacityTokens } = fitOf(base);
    expect(sequencesThatFit(base, 40_960)).toBe(Math.floor(kvCapacityTokens / 40_960));
    expect(sequencesThatFit(base, 2000)).toBeGreaterThan(300);
    expect(sequencesThatFit({ ...base, maxRunningRequests: 10 }, 2000)).toBe(10);
    expect(sequencesThatFit(base, 4_000_000)).toBe(0);
  });

  it('keeps the windows of Gemma 3 small, so that longer contexts fit', () => {
    const shape = shapeOf('gemma-3-27b');
    const fit = fitOf({ ...h200, hardware: gpu('H100'), shape, maxRunningRequests: 256 });
    // Ten layers of 62 keep everything.
    expect(fit.largestContextTokens).toBeGreaterThan(5 * fit.kvCapacityTokens);
    const again = { ...h200, hardware: gpu('H100'), shape, maxRunningRequests: 256 };
    expect(fitOf({ ...again, maxModelLen: fit.largestContextTokens }).fullSequences).toBe(1);
    expect(fitOf({ ...again, maxModelLen: fit.largestContextTokens + 32 })).toMatchObject({
      fullSequences: 0,
      starts: false,
    });
  });

  it('refuses a share that is not free, and SGLang one that leaves nothing for a step', () => {
    expect(fitOf({ ...base, memoryFraction: 0.999 }).reason).toMatch(/0.999 is 139.7 GiB, but only 139.1 GiB are free/);
    expect(fitOf({ ...base, memoryRule: 'static', memoryFraction: 0.999 }).reason).toMatch(
      /activations and CUDA graphs need/,
    );
    expect(fitOf({ ...base, memoryRule: 'static', memoryFraction: 0.9, maxModelLen: 4_000_000 }).starts).toBe(true);
  });

  it('knows which of two cards a model needs', () => {
    const on = (name: string, precision: FitInput['precision']): boolean =>
      fitOf({ shape: shapeOf('Qwen3-32B'), hardware: gpu(name), precision, maxModelLen: 8192, maxBatchedTokens: 2048 })
        .starts;
    expect([on('RTX 4090', 'bf16'), on('RTX 4090', 'awq'), on('L40S', 'fp8'), on('H100', 'bf16')]).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import {
  attentionFlopPerPair,
  attentionWork,
  type CompleteShape,
  completeShape,
  headFlopPerPosition,
  kvBytesOfSequence,
  kvBytesPerToken,
  linearFlopPerToken,
  parametersOf,
  weightBytesOf,
} from '../../src/hardware/model.ts';
import { knownModels, modelNamed } from '../../src/hardware/models.ts';
import { precisionNamed, precisions } from '../../src/hardware/precision.ts';
import { relative, shapeOf } from './shapes.ts';

/** A shape small enough to count by hand: two layers, three heads of width four. */
const tiny: CompleteShape = {
  attentionHeads: 3, kvHeads: 1, layers: 2, hiddenSize: 10, maxPositions: 100, experts: 0, quantization: null,
  headDim: 4, intermediateSize: 7, gatedMlp: true, vocabularySize: 50, tiedEmbeddings: false,
}; // biome-ignore format: one shape

/** Lengths that a sum in a loop checks a closed form with. */
const lengths = [[1, 1], [4, 1], [3, 6], [9, 5], [30, 12]] as const; // biome-ignore format: one list

describe('parametersOf', () => {
  // Total and active as the models' cards publish them, in 10⁹.
  it.each([
    ['Qwen3-0.6B', 0.6, 0.6], ['Qwen3-1.7B', 1.72, 1.72], ['Qwen3-4B', 4.02, 4.02], ['Qwen3-8B', 8.19, 8.19],
    ['Qwen3-14B', 14.77, 14.77], ['Qwen3-32B', 32.76, 32.76], ['Qwen3-30B-A3B', 30.53, 3.35],
    ['Qwen3-235B-A22B', 235.09, 22.19], ['Qwen2.5-7B', 7.62, 7.62], ['Qwen2.5-72B', 72.71, 72.71],
    ['Llama-3.1-8B', 8.03, 8.03], ['Llama-3.1-70B', 70.55, 70.55], ['Llama-3.1-405B', 405.85, 405.85],
    ['Llama-3.2-1B', 1.236, 1.236], ['Mistral-7B-v0.1', 7.24, 7.24], ['Mixtral-8x7B', 46.7, 12.88],
    ['Mixtral-8x22B-v0.1', 140.6, 39.1], ['gemma-2-9b', 9.24, 9.24], ['gemma-2-27b', 27.23, 27.23],
    ['gemma-3-1b', 1.0, 1.0], ['gpt-oss-20b', 20.91, 4.19], ['gpt-oss-120b', 116.83, 5.71],
    ['DeepSeek-V3', 671, 37.6], ['GLM-5', 744, 40.6], ['phi-4', 14.66, 14.66], ['Phi-3.5-mini', 3.82, 3.82],
    ['Phi-4-mini', 3.84, 3.84],
  ] as const)('counts %s', (name, total, active) => {
    const parameters = parametersOf(shapeOf(name));
    expect(relative(parameters.total / 1e9, total)).toBeLessThan(0.012);
    expect(relative(parameters.active / 1e9, active)).toBeLessThan(0.02);
  }); // biome-ignore format: several models a line

  it('takes one matrix of embeddings where they are tied, and two of an MLP without a gate', () => {
    const attention = 2 * (2 * 10 * 12 + 2 * 10 * 4);
    expect(parametersOf(tiny)).toMatchObject({ attention, mlp: 2 * 210, total: attention + 420 + 1000, head: 500 });
    const other = parametersOf({ ...tiny, tiedEmbeddings: true, gatedMlp: false });
    expect(other).toMatchObject({ mlp: 2 * 140, total: attention + 280 + 500, head: 500, embedding: 500 });
    expect(linearFlopPerToken(tiny)).toBe(2 * (attention + 420));
    expect(headFlopPerPosition(tiny)).toBe(1000);
  });

  it('gives experts to sparse layers only', () => {
    const mixture = { expertsPerToken: 2, expertIntermediateSize: 3, sharedIntermediateSize: 5, denseLayers: 1 };
    const { mlp, experts, activeExperts } = parametersOf({ ...tiny, experts: 4, mixture });
    expect(experts).toBe(4 * 90);
    expect(activeExperts).toBe(2 * 90);
    expect(mlp).toBe(210 + 150 + 40);
  });
});

describe('weightBytesOf', () => {
  it('leaves embedding and head of published FP8 and AWQ checkpoints in 16 bits', () => {
    const shape = shapeOf('Qwen3-14B');
    const { layers, head, embedding } = parametersOf(shape);
    expect(weightBytesOf(shape, precisions.bf16).total).toBe(2 * (layers + head + embedding));
    expect(weightBytesOf(shape, precisions.fp8).total).toBe(layers + 2 * (head + embedding));
    // Sizes of the published repositories, GB.
    expect(relative(weightBytesOf(shape, precisions.fp8).total / 1e9, 16.3)).toBeLessThan(0.02);
    expect(relative(weightBytesOf(shape, precisions.awq).total / 1e9, 9.97)).toBeLessThan(0.02);
    expect(relative(weightBytesOf(shape, precisions.q4_k_m).total / 1e9, 9.0)).toBeLessThan(0.02);
    expect(relative(weightBytesOf(shape, precisions.q8_0).total / 1e9, 15.7)).toBeLessThan(0.02);
  });

  it('quantizes the experts of gpt-oss only', () => {
    expect(relative(weightBytesOf(shapeOf('gpt-oss-20b'), precisions.mxfp4).total / 1e9, 13.76)).toBeLessThan(0.02);
    expect(relative(weightBytesOf(shapeOf('gpt-oss-120b'), precisions.mxfp4).total / 1e9, 65.25)).toBeLessThan(0.02);
  });

  it.each([
    ['fp8_e4m3', 'fp8'], ['fp8_per_tensor', 'fp8'], ['bfloat16', 'bf16'], ['gptq_marlin', 'gptq'], ['modelopt_fp4', 'nvfp4'],
    ['Q4_K_M', 'q4_k_m'], ['Q5_K_S', 'q5_k'], ['w8a8_int8', 'int8'], ['constructor', null], ['exl2', null],
  ] as const)('knows %s as %s', (name, precision) => expect(precisionNamed(name)).toBe(precision)); // biome-ignore format: one list
});

describe('the KV cache', () => {
  it.each([
    ['Qwen3-14B', 163_840], ['Llama-3.1-8B', 131_072], ['Qwen3-30B-A3B', 98_304], ['gpt-oss-120b', 73_728],
    ['DeepSeek-V3', 61 * 576 * 2], ['Phi-3.5-mini', 393_216],
  ] as const)('takes of %s %i bytes a token', (name, bytes) => {
    expect(kvBytesPerToken(shapeOf(name), 'bf16')).toBe(bytes);
    expect(kvBytesPerToken(shapeOf(name), 'fp8')).toBe(bytes / 2);
  }); // biome-ignore format: several models a line

  it('is shared by GPUs down to one head each, and a compressed one not at all', () => {
    const qwen = shapeOf('Qwen3-14B');
    expect([1, 2, 8, 16].map((tp) => kvBytesPerToken(qwen, 'bf16', tp))).toEqual([163_840, 81_920, 20_480, 20_480]);
    expect(kvBytesPerToken(shapeOf('DeepSeek-V3'), 'bf16', 8)).toBe(61 * 576 * 2);
  });

  it('keeps no more than the window in layers that have one, and nothing in linear layers', () => {
    const shape = { ...tiny, slidingWindow: { tokens: 16, layers: 1 } };
    expect(kvBytesOfSequence(shape, 'bf16', 10)).toBe(10 * 2 * 16);
    expect(kvBytesOfSequence(shape, 'bf16', 100)).toBe((100 + 16) * 16);
    expect(kvBytesPerToken({ ...tiny, linearAttentionLayers: 1 }, 'bf16')).toBe(16);
  });
});

describe('attentionWork', () => {
  const contexts = (input: number, output: number, window: number): number => {
    let sum = 0;
    for (let k = 1; k < output; k++) sum += Math.min(input + k, window);
    return sum;
  };

  it.each(lengths)('of %i and %i tokens is the sum over tokens', (input, output) => {
    const all = contexts(input, output, Number.POSITIVE_INFINITY);
    const work = attentionWork(tiny, 'bf16', { input, output });
    expect(attentionFlopPerPair(tiny)).toBe(48);
    expect(work.prefillFlop).toBe((2 * 48 * input ** 2) / 2);
    expect(work.decodeFlop).toBe(2 * 48 * all);
    expect(work.kvReadBytes).toBe(2 * 16 * all);
    expect(work.kvWriteBytes).toBe(2 * 16 * (input + output - 1));
  });

  it.each(lengths)('of %i and %i tokens stays within a window', (input, output) => {
    const shape = { ...tiny, slidingWindow: { tokens: 8, layers: 1 } };
    const all = contexts(input, output, Number.POSITIVE_INFINITY);
    const near = contexts(input, output, 8);
    const work = attentionWork(shape, 'bf16', { input, output });
    expect(work.decodeFlop).toBe(48 * (all + near));
    expect(work.kvReadBytes).toBe(16 * (all + near));
    const pairs = input <= 8 ? input ** 2 / 2 : 32 + 8 * (input - 8);
    expect(work.prefillFlop).toBe(48 * (input ** 2 / 2 + pairs));
  });

  it('counts the pairs that sparse attention chooses, and the widths of latent attention', () => {
    const { prefillFlop } = attentionWork(shapeOf('GLM-5'), 'bf16', { input: 100_000, output: 1 });
    const pairs = 2048 ** 2 / 2 + 2048 * (100_000 - 2048);
    expect(prefillFlop).toBe(78 * pairs * 2 * 64 * (192 + 64 + 256));
  });
});

describe('modelNamed', () => {
  it.each([
    ['Qwen/Qwen3-14B-FP8', 'Qwen/Qwen3-14B', 'fp8'], ['Qwen/Qwen3-14B-AWQ', 'Qwen/Qwen3-14B', 'awq'],
    ['/models/qwen3-14b-q4_k_m.gguf', 'Qwen/Qwen3-14B', 'q4_k_m'], ['Qwen3-8B.Q8_0.gguf', 'Qwen/Qwen3-8B', 'q8_0'],
    ['Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4', 'Qwen/Qwen2.5-7B', 'gptq'], ['Qwen/Qwen3-30B-A3B-Instruct-2507-FP8', 'Qwen/Qwen3-30B-A3B', 'fp8'],
    ['meta-llama/Meta-Llama-3.1-8B-Instruct', 'meta-llama/Llama-3.1-8B', null], ['openai/gpt-oss-20b', 'openai/gpt-oss-20b', 'mxfp4'],
    ['RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8-dynamic', 'meta-llama/Llama-3.1-70B', 'fp8'],
    ['mistralai/Mistral-7B-Instruct-v0.2', 'mistralai/Mistral-7B-v0.2', null], ['mixtral-8x7b', 'mistralai/Mixtral-8x7B-v0.1', null],
    ['google/gemma-3-27b-it', 'google/gemma-3-27b', null], ['deepseek-ai/DeepSeek-V3-0324', 'deepseek-ai/DeepSeek-V3', 'fp8'],
    ['microsoft/Phi-3-mini-4k-instruct', 'microsoft/Phi-3-mini-4k', null],
  ] as const)('finds %s', (name, repository, quantization) => {
    expect(modelNamed(name)).toMatchObject({ repository, shape: { quantization } });
  }); // biome-ignore format: several models a line

  it('takes nothing for another model', () => {
    for (const name of [
      'Qwen3-15B',
      'deepseek-ai/DeepSeek-R1-Distill-Llama-8B',
      'Qwen/Qwen3-Embedding-8B',
      '',
      'fp8',
    ]) {
      expect(modelNamed(name)).toBeNull();
    }
  });

  it('knows the longer sequences of later releases', () => {
    expect(modelNamed('Qwen3-30B-A3B-Thinking-2507')?.shape.maxPositions).toBe(262_144);
    expect(modelNamed('Qwen3-30B-A3B')?.shape.maxPositions).toBe(40_960);
  });

  it('has complete shapes, each with its source, each found under its own name', () => {
    for (const { repository, shape, source } of knownModels) {
      expect(completeShape(shape)).not.toBeNull();
      expect(source.url).toContain(repository);
      expect(modelNamed(repository)?.repository).toBe(repository);
    }
  });
});

describe('completeShape', () => {
  const { attentionHeads, kvHeads, layers, hiddenSize, maxPositions, quantization } = tiny;
  const bare = { attentionHeads: 5, kvHeads, layers, hiddenSize, maxPositions, experts: 0, quantization };

  it('derives the width of a head, and asks for what cannot be derived', () => {
    expect(attentionHeads).toBe(3);
    expect(completeShape(bare)).toBeNull();
    expect(completeShape({ ...bare, vocabularySize: 9 })).toBeNull();
    expect(completeShape({ ...bare, vocabularySize: 9, intermediateSize: 7 })).toMatchObject({ headDim: 2, gatedMlp: true, tiedEmbeddings: false }); // biome-ignore format: one shape
    expect(completeShape({ ...bare, vocabularySize: 9, intermediateSize: 7, experts: 2 })).toBeNull();
  });
});

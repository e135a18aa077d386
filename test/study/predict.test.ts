import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import { publishedParameters } from '../../src/simulator/published-parameters.ts';
import { observationOf, type PublishedBlock, readBlocks } from '../../src/study/predict/published.ts';
import { compared, meanError } from '../../src/study/predict/validation.ts';

const path = resolve(import.meta.dirname, '../../tools/simulator/blocks/qwen3-14b.json');
const blocks = readBlocks(readFileSync(path, 'utf8'), path);
const split = JSON.parse(readFileSync(join(path, '../split.json'), 'utf8')) as {
  folds: string[];
  apart: { gpu: string; precision: string }[];
};

const observed = (block: PublishedBlock) => {
  const one = observationOf(block);
  if (typeof one === 'string') throw new Error(one);
  return one;
};

describe('published blocks', () => {
  it('are 30, each in one fold, two of them apart', () => {
    expect(blocks).toHaveLength(30);
    expect(new Set(blocks.map(({ workload }) => workload))).toEqual(new Set(split.folds));
    const apart = blocks.filter((b) => split.apart.some((a) => a.gpu === b.gpu && a.precision === b.precision));
    expect(apart).toHaveLength(2);
  });

  it('become loads with the tokens that they tell, and the settings of their commands', () => {
    for (const block of blocks) {
      const { load } = observed(block);
      const sum = (list: ArrayLike<number>): number => Array.from(list).reduce((a, b) => a + b, 0);
      expect(load.promptTokens.length).toBe(block.n_requests);
      expect(sum(load.promptTokens) / (block.metrics.input_tokens ?? 0)).toBeCloseTo(1, 2);
      expect(sum(load.outputTokens) / (block.metrics.output_tokens ?? 0)).toBeCloseTo(1, 2);
    }
    const chunked = blocks.find(({ command }) => command.includes('--enable_chunked_prefill')) as PublishedBlock;
    const larger = blocks.find(({ command }) => command.includes('--max_num_tokens=16384')) as PublishedBlock;
    expect(observed(chunked).deployment.configuration.settings).toMatchObject({
      chunked_prefill: true,
      context_length: 40_960,
    });
    expect(observed(larger).deployment.configuration.settings).toMatchObject({
      max_batched_tokens: 16_384,
      quantization: 'bf16',
    });
  });

  it('are met by the committed parameters as the page says', () => {
    const used = blocks.filter((b) => !split.apart.some((a) => a.gpu === b.gpu && a.precision === b.precision));
    const rows = used.map((block) => compared(observed(block), publishedParameters));
    expect(rows.every(({ predicted }) => typeof predicted !== 'string')).toBe(true);
    expect(meanError(rows, 'totalTokensPerS')).toBeLessThan(0.05);
    expect(meanError(rows, 'meanTtftS')).toBeLessThan(0.08);
    expect(meanError(rows, 'meanTpotS')).toBeLessThan(0.08);
  });

  it('that say too little are left out, each with its reason', () => {
    const [block] = blocks as [PublishedBlock];
    expect(observationOf({ ...block, engine: 'lmdeploy' })).toContain('lmdeploy');
    expect(observationOf({ ...block, gpu: 'TPU v5' })).toContain('TPU v5');
    expect(observationOf({ ...block, model: 'nobody/knows-it' })).toContain('nobody/knows-it');
  });

  it('in a file of another form are refused with every problem', () => {
    const broken = JSON.stringify({
      blocks: [
        { ...blocks[0], engine: 3 },
        { ...blocks[1], n_requests: 0 },
      ],
    });
    let error: unknown;
    try {
      readBlocks(broken, 'some.json');
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(InputError);
    expect((error as InputError).problems.map(({ place }) => place)).toEqual([
      'some.json: blocks.0.engine',
      'some.json: blocks.1.n_requests',
    ]);
    expect(() => readBlocks('{', 'some.json')).toThrow(InputError);
  });
});

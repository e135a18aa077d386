import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CeilingInput, ceilingOf, floorsOf, physicsProblems, type Requests } from '../../src/hardware/ceiling.ts';
import { gpuNamed, type Hardware } from '../../src/hardware/gpus.ts';
import { relative, shapeOf } from './shapes.ts';

interface Entry {
  readonly model: string;
  readonly workload: string;
  readonly gpu: string;
  readonly prec: 'bf16' | 'fp8';
  readonly t_compute: number;
  readonly t_memory: number;
  readonly steps: number;
  readonly ceiling: number;
  readonly flop_per_tok: number;
  readonly bound: string;
  readonly kv_cap: number;
  readonly tok: number;
  readonly flop: number;
}

const entries: readonly Entry[] = JSON.parse(
  readFileSync(join(import.meta.dirname, '../fixtures/hardware/ceilings.json'), 'utf8'),
);

function gpu(name: string): Hardware {
  const found = gpuNamed(name);
  if (found === null) throw new Error(`no ${name}`);
  return found;
}

/** Four sizes with the sums that the fixture's README gives: of tokens, of squared prompts and of decoded contexts. */
const shareGpt: readonly Requests[] = [
  { count: 15, input: 830, output: 1000 },
  { count: 185, input: 830, output: 135 },
  { count: 62, input: 64, output: 1000 },
  { count: 738, input: 64, output: 135 },
];

/** As the workloads are called there: `random 4000/200` is 500 requests of 4000 and 200 tokens. */
function requestsOf(workload: string): readonly Requests[] {
  if (workload === 'ShareGPT') return shareGpt;
  const counts: Readonly<Record<string, number>> = {
    '32000/100': 100,
    '4000/200': 500,
    '2000/100': 500,
    '128/4': 1000,
  };
  const sizes = workload.split(' ')[1] ?? '';
  const [input = 0, output = 0] = sizes.split('/').map(Number);
  return [{ input, output, count: counts[sizes] ?? 0 }];
}

const of = ({ model, workload, gpu: name, prec }: Entry): CeilingInput => ({
  shape: shapeOf(model),
  hardware: gpu(name),
  precision: prec,
  requests: requestsOf(workload),
});

describe('ceilingOf', () => {
  it('stands for ShareGPT with its sums', () => {
    const sum = (value: (request: Requests) => number): number =>
      shareGpt.reduce((total, request) => total + (request.count ?? 1) * value(request), 0);
    expect(sum(() => 1)).toBe(1000);
    expect(
      relative(
        sum(({ input }) => input),
        217_391,
      ),
    ).toBeLessThan(0.005);
    expect(
      relative(
        sum(({ output }) => output),
        201_601,
      ),
    ).toBeLessThan(0.005);
    expect(
      relative(
        sum(({ input }) => input ** 2),
        140_023_053,
      ),
    ).toBeLessThan(0.01);
    const contexts = sum(({ input, output }) => (output - 1) * input + (output * (output - 1)) / 2);
    expect(relative(contexts, 90_478_960)).toBeLessThan(0.01);
  });

  it.each(entries)('of $model, $workload, $gpu in $prec', (entry) => {
    const ceiling = ceilingOf(of(entry));
    // Sums of ShareGPT's sizes are known, but not the sizes; the others must agree to the rounding.
    const within = entry.workload === 'ShareGPT' ? 0.01 : 1e-6;
    expect(relative(ceiling.totalTokensPerS, entry.ceiling)).toBeLessThan(within);
    expect(relative(ceiling.computeS, entry.t_compute)).toBeLessThan(within);
    expect(relative(ceiling.memoryS, entry.t_memory)).toBeLessThan(within);
    expect(relative(ceiling.steps, entry.steps)).toBeLessThan(within);
    expect(relative(ceiling.flop, entry.flop)).toBeLessThan(within);
    expect(relative(ceiling.flop / ceiling.tokens, entry.flop_per_tok)).toBeLessThan(within);
    expect(relative(ceiling.kvCapacityTokens, entry.kv_cap)).toBeLessThan(1e-6);
    expect(ceiling.bound === 'compute' ? 'compute' : 'memory').toBe(entry.bound);
  });

  const qwen = { shape: shapeOf('Qwen3-14B'), hardware: gpu('H100'), precision: 'bf16' as const };
  const long = { ...qwen, requests: [{ input: 4000, output: 2000, count: 500 }] };

  it('tells a small KV cache from slow memory', () => {
    expect(ceilingOf(long).bound).toBe('capacity');
    expect(ceilingOf({ ...long, hardware: { ...gpu('H100'), memoryBytes: 1e13 } }).bound).toBe('memory');
    expect(ceilingOf({ ...long, requests: [{ input: 4000, output: 1 }] }).bound).toBe('compute');
  });

  it('falls with the concurrency that is allowed, down to one stream at a time', () => {
    const at = (maxConcurrency: number): number => ceilingOf({ ...long, maxConcurrency }).totalTokensPerS;
    expect(at(1000)).toBe(ceilingOf(long).totalTokensPerS);
    expect(at(8)).toBeLessThan(at(16));
    // One by one, each token of an answer reads all weights.
    const { tokenS } = floorsOf(qwen);
    const one = ceilingOf({ ...long, maxConcurrency: 1 });
    expect(one.steps).toBe(500 * 2000);
    expect(one.memoryS).toBeGreaterThan(500 * 2000 * tokenS);
  });

  it('takes a prompt without an answer whole, as embeddings are made', () => {
    const { flop, tokens } = ceilingOf({ ...qwen, requests: [{ input: 1000, output: 0, count: 3 }] });
    expect(tokens).toBe(3000);
    expect(flop).toBe(3 * (2 * 13_212_057_600 * 1000 + (819_200 * 1000 ** 2) / 2));
  });

  it('is nothing where the weights do not fit, and more than twice on twice the GPUs where they hardly do', () => {
    const big = { ...long, shape: shapeOf('Llama-3.1-70B') };
    expect(ceilingOf(big)).toMatchObject({ totalTokensPerS: 0, bound: 'capacity', kvCapacityTokens: 0 });
    const two = ceilingOf({ ...big, tensorParallel: 2 });
    const four = ceilingOf({ ...big, tensorParallel: 4 });
    expect(two.totalTokensPerS).toBeGreaterThan(0);
    expect(four.totalTokensPerS).toBeGreaterThan(2 * two.totalTokensPerS);
    expect(four.computeS).toBe(two.computeS / 2);
  });

  it('counts an FP8 cache as half the bytes, and its attention at the rate of FP8', () => {
    const half = ceilingOf({ ...long, kvDtype: 'fp8' });
    expect(half.kvCapacityTokens).toBe(2 * ceilingOf(long).kvCapacityTokens);
    expect(half.computeS).toBeLessThan(ceilingOf(long).computeS);
    const a100 = { ...long, hardware: gpu('A100') };
    expect(ceilingOf({ ...a100, kvDtype: 'fp8' }).computeS).toBe(ceilingOf(a100).computeS);
  });

  it('reads of a mixture what a step takes', () => {
    const moe = { shape: shapeOf('Qwen3-30B-A3B'), hardware: gpu('H100'), precision: 'bf16' as const };
    const alone = ceilingOf({ ...moe, requests: [{ input: 1, output: 1000 }], maxConcurrency: 1 });
    expect(relative(alone.memoryS / 1000, floorsOf(moe).tokenS)).toBeLessThan(0.01);
    const many = ceilingOf({ ...moe, requests: [{ input: 1, output: 1000, count: 4096 }] });
    // Some three billion of thirty are read for one token, all of them for thousands.
    expect(many.memoryS / alone.memoryS).toBeGreaterThan(8);
  });
});

describe('floorsOf', () => {
  const qwen = { shape: shapeOf('Qwen3-14B'), hardware: gpu('H100'), precision: 'bf16' as const };

  it('is the time to read what a token takes, on each GPU its share', () => {
    // 13.21 billion weights of layers and 0.78 of the head, at 3.35 TB/s.
    expect(floorsOf(qwen).tokenS).toBeCloseTo((2 * 13.99e9) / 3.35e12, 5);
    expect(floorsOf({ ...qwen, tensorParallel: 4 }).tokenS).toBeCloseTo(floorsOf(qwen).tokenS / 4, 12);
    expect(floorsOf(qwen, { tokensPerStep: 2 }).tokenS).toBe(floorsOf(qwen).tokenS / 2);
    expect(floorsOf({ ...qwen, precision: 'fp8' }).tokenS).toBeLessThan(0.6 * floorsOf(qwen).tokenS);
    expect(floorsOf(qwen).firstTokenS).toBeNull();
  });

  it('is for a first token the reading of a short prompt and the arithmetic of a long one', () => {
    expect(floorsOf(qwen, { inputTokens: 10 }).firstTokenS).toBe(floorsOf(qwen).tokenS);
    const { firstTokenS } = floorsOf(qwen, { inputTokens: 32_000 });
    const flop = 2 * 13.212e9 * 32_000 + (819_200 * 32_000 ** 2) / 2 + 2 * 777.9e6;
    expect(relative(firstTokenS ?? 0, flop / 989e12)).toBeLessThan(0.001);
  });

  it('lies under what an H200 was seen to do', () => {
    // A lone stream of the recorded Qwen3-14B got a token every 8.3 ms from SGLang.
    const { tokenS } = floorsOf({ ...qwen, hardware: gpu('H200') });
    expect(tokenS).toBeGreaterThan(0.005);
    expect(tokenS).toBeLessThan(1 / 119.87);
  });
});

describe('physicsProblems', () => {
  const ceiling = { totalTokensPerS: 1000, bound: 'compute' } as const;
  const floors = { tokenS: 0.005 };

  it('finds nothing in what is possible, unknown or without a limit', () => {
    expect(physicsProblems({ totalTokensPerS: 1000, meanTpotS: 0.005 }, ceiling, floors)).toEqual([]);
    expect(physicsProblems({ totalTokensPerS: null, meanTpotS: null }, ceiling, floors)).toEqual([]);
    expect(physicsProblems({}, ceiling, floors)).toEqual([]);
    expect(physicsProblems({ totalTokensPerS: 9e9, meanTpotS: 1e-9 }, null, null)).toEqual([]);
    expect(physicsProblems({ totalTokensPerS: 1 }, { totalTokensPerS: 0, bound: 'capacity' }, null)).toEqual([]);
    // Answers of one token have no TPOT; others write 0.
    expect(physicsProblems({ meanTpotS: 0 }, ceiling, floors)).toEqual([]);
  });

  it('finds throughput above the ceiling and streams below the floor', () => {
    expect(physicsProblems({ totalTokensPerS: 1234.4, meanTpotS: 0.0042 }, ceiling, floors)).toEqual([
      { rule: 'above-ceiling', message: '1234 tok/s are more than the 1000 tok/s that this hardware can do at most (compute bound).' },
      { rule: 'below-floor', message: 'A mean TPOT of 4.20 ms is less than the 5.00 ms that reading the weights once takes.' },
    ]); // biome-ignore format: one problem a line
  });
});

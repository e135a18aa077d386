import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { random } from '../../src/datasets/random.ts';
import { InputError } from '../../src/kit/errors.ts';
import { createRandom } from '../../src/kit/random.ts';
import { workloadOptions } from '../../src/records/workload.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';

const bundled = await bundledTokenizer();
const options = (changes: Record<string, number>) => workloadOptions.parse(changes);

/** One id a token, as text `id,id,...`; `more` ids come back on top of what went in. */
const plain = (changes: Partial<Tokenizer> = {}, more = 0): Tokenizer => ({
  name: 'plain',
  vocabSize: 151_643,
  specialIds: [],
  specialTokenCount: 0,
  encode: async (texts) => texts.map((t) => [...t.split(',').map(Number), ...new Array<number>(more).fill(0)]),
  decode: async (ids) => ids.map((list) => list.join()),
  ...changes,
});
const idsOf = ({ prompt }: { prompt: string }): number[] => prompt.split(',').map(Number);

interface VllmCase {
  input_len: number; output_len: number; num_prompts: number; seed: number; range_ratio: number; prefix_len: number; total_output: number;
  drawn: { input_lens: number[]; output_lens: number[]; offsets: number[]; prefix?: number[] };
} // biome-ignore format: as in the file
const vllm: { vocab_size: number; cases: VllmCase[] } = JSON.parse(
  readFileSync(new URL('../fixtures/datasets/qwen3-random.json', import.meta.url), 'utf8'),
);

describe.each(vllm.cases)('len $input_len seed $seed ratio $range_ratio prefix $prefix_len', (c) => {
  it('draws what vLLM draws', async () => {
    const { input_len, output_len, range_ratio, prefix_len, seed } = c;
    const requests = await random.make(
      options({ random_input_len: input_len, random_output_len: output_len, random_range_ratio: range_ratio, random_prefix_len: prefix_len, seed }),
      c.num_prompts,
      plain({ vocabSize: vllm.vocab_size }),
    ); // biome-ignore format: the options in one line
    const first = requests.slice(0, c.drawn.offsets.length);
    expect(first.map((r) => r.promptTokens - prefix_len)).toEqual(c.drawn.input_lens);
    expect(first.map((r) => r.outputTokens)).toEqual(c.drawn.output_lens);
    expect(first.map((r, i) => ((idsOf(r)[prefix_len] as number) - i + vllm.vocab_size) % vllm.vocab_size)).toEqual(
      c.drawn.offsets,
    );
    expect(requests.reduce((sum, r) => sum + r.outputTokens, 0)).toBe(c.total_output);
  });
});

it('gives every prompt exactly the length asked for', async () => {
  const length = fc.integer({ min: 1, max: 200 });
  await fc.assert(
    fc.asyncProperty(length, fc.nat(40), fc.nat(2 ** 32 - 1), async (input, prefix, seed) => {
      const made = await random.make(
        options({ random_input_len: input, random_prefix_len: prefix, seed }), 5, bundled,
      ); // biome-ignore format: short
      expect(made.map((r) => r.promptTokens)).toEqual(new Array(5).fill(input + prefix));
      const ids = await bundled.encode(made.map((r) => r.prompt));
      expect(ids.map((list) => list.length)).toEqual(made.map((r) => r.promptTokens));
    }),
    { numRuns: 30 },
  );
});

it('keeps lengths within the range ratio, and reaches its ends', async () => {
  const made = await random.make(
    options({ random_input_len: 10, random_output_len: 20, random_range_ratio: 0.3 }), 1000, plain(),
  ); // biome-ignore format: short
  const [inputs, outputs] = [made.map((r) => r.promptTokens), made.map((r) => r.outputTokens)];
  expect([Math.min(...inputs), Math.max(...inputs)]).toEqual([7, 13]);
  expect([Math.min(...outputs), Math.max(...outputs)]).toEqual([14, 26]);
});

it('puts the same prefix in front of all', async () => {
  const made = await random.make(options({ random_input_len: 8, random_prefix_len: 20 }), 20, plain());
  const prefixes = made.map((r) => idsOf(r).slice(0, 20).join());
  expect(new Set(prefixes).size).toBe(1);
  expect(new Set(made.map((r) => r.prompt)).size).toBe(20);
});

it('takes consecutive ids, wrapping, and no special ones', async () => {
  const [vocabSize, specialIds] = [20_000, [0, 3, 17, 19_999]];
  const made = await random.make(options({ random_input_len: 25_000 }), 5, plain({ vocabSize, specialIds }));
  const usable = Array.from({ length: vocabSize }, (_, id) => id).filter((id) => !specialIds.includes(id));
  for (const request of made) {
    const ids = idsOf(request);
    const start = usable.indexOf(ids[0] as number);
    expect(ids).toEqual(ids.map((_, j) => usable[(start + j) % usable.length]));
  }
});

it('draws every id where a small vocabulary has too few places to begin', async () => {
  const specialIds = [0, 3, 99];
  const made = await random.make(options({ random_input_len: 20 }), 500, plain({ vocabSize: 100, specialIds }));
  expect(new Set(made.map((r) => r.prompt)).size).toBe(500);
  expect(new Set(made.flatMap(idsOf)).size).toBe(97);
  expect(made.flatMap(idsOf).filter((id) => specialIds.includes(id))).toEqual([]);
});

it('leaves room for the special tokens that the tokenizer adds', async () => {
  const [made] = await random.make(options({ random_input_len: 10 }), 1, plain({ specialTokenCount: 2 }));
  expect(made?.promptTokens).toBe(8);
});

it('tells the true length where a tokenizer never settles', async () => {
  const made = await random.make(options({ random_input_len: 100 }), 3, plain({}, 3));
  expect(made.map((r) => r.promptTokens)).toEqual([103, 103, 103]);
});

it('repairs in the order of the requests, whatever the tokenizer takes together', async () => {
  // Every seventh id vanishes, so that most prompts must be filled up, some several times; every eleventh doubles.
  const merge = (id: number) => (id % 7 === 3 ? [] : id % 11 === 5 ? [id, id] : [id]);
  const encode: Tokenizer['encode'] = async (texts) => texts.map((t) => t.split(',').map(Number).flatMap(merge));
  const tokenizer = plain({ encode });
  const made = await random.make(options({ random_input_len: 9, random_prefix_len: 4, seed: 5 }), 300, tokenizer);

  // One request after the other, as vLLM goes about it.
  const generator = createRandom(5);
  const offsets = generator.integers(0, tokenizer.vocabSize, 300);
  const repaired = async (start: readonly number[], target: number) => {
    let ids = start;
    for (let left = 10; ; left--) {
      const [text] = await tokenizer.decode([ids]);
      ids = (await encode([text as string]))[0] as readonly number[];
      if (left === 0 || ids.length === target) return { text, ids };
      ids =
        ids.length < target
          ? [...ids, ...generator.integers(0, tokenizer.vocabSize, target - ids.length)]
          : ids.slice(0, target);
    }
  };
  const prefix = await repaired(generator.integers(0, tokenizer.vocabSize, 4), 4);
  for (const [i, request] of made.entries()) {
    const inner = Array.from({ length: 9 }, (_, j) => ((offsets[i] as number) + i + j) % tokenizer.vocabSize);
    const { text, ids } = await repaired([...prefix.ids, ...inner], 13);
    expect([request.prompt, request.promptTokens]).toEqual([text, ids.length]);
  }
});

it.each([
  [{ random_input_len: 1 }, 1, 2],
  [{ random_input_len: 2 }, 3, 4],
  [{ random_input_len: 1, random_range_ratio: 0.5 }, 0, 2],
  [{ random_input_len: 2, random_range_ratio: 0.75 }, 1, 5],
])('refuses %j with %i special tokens, and says what is least', async (changes, specialTokenCount, least) => {
  const make = (length: number) =>
    random.make(options({ ...changes, random_input_len: length }), 3, plain({ specialTokenCount }));
  const error = await make(changes.random_input_len).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(InputError);
  expect((error as InputError).problems).toEqual([
    { place: 'random_input_len', message: expect.stringContaining('empty prompts'), hint: `set random_input_len to at least ${least}` },
  ]); // biome-ignore format: short
  expect(await make(least)).toHaveLength(3);
});

it('needs no input of its own behind a prefix', async () => {
  const made = await random.make(
    options({ random_input_len: 1, random_prefix_len: 4 }), 2, plain({ specialTokenCount: 1 }),
  ); // biome-ignore format: short
  expect(made.map((r) => r.promptTokens)).toEqual([4, 4]);
});

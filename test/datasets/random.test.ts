import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { random } from '../../src/datasets/random.ts';
import { InputError } from '../../src/kit/errors.ts';
import { createRandom } from '../../src/kit/random.ts';
import { type Compat, compatModes } from '../../src/records/compat.ts';
import { workloadOptions } from '../../src/records/workload.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';
import { making } from '../contracts/dataset.ts';

const bundled = await bundledTokenizer();
const options = (changes: Record<string, unknown>) => workloadOptions.parse(changes);
const make = async (changes: Record<string, unknown>, count: number, tokenizer: Tokenizer = plain()) =>
  (await random.make(options(changes), count, making(tokenizer))).requests;

/** One id a token, as text `id,id,...`; `more` ids come back on top of what went in. */
const plain = (changes: Partial<Tokenizer> = {}, more = 0): Tokenizer => ({
  name: 'plain',
  fingerprint: null,
  chatTemplate: null,
  vocabSize: 151_643,
  specialIds: [],
  specialTokenCount: 0,
  encode: async (texts) => texts.map((t) => [...t.split(',').map(Number), ...new Array<number>(more).fill(0)]),
  decode: async (ids) => ids.map((list) => list.join()),
  ...changes,
});
/** The same with a share more, of other ids. */
const longer = (share: number): Tokenizer =>
  plain({
    encode: async (texts) =>
      texts.map((t) => {
        const ids = t.split(',').map(Number);
        return [...ids, ...new Array<number>(Math.floor(ids.length * share)).fill(0)];
      }),
  });
const idsOf = ({ prompt }: { prompt: string }): number[] => prompt.split(',').map(Number);

interface VllmCase {
  input_len: number;
  output_len: number;
  num_prompts: number;
  seed: number;
  range_ratio: number;
  prefix_len: number;
  total_output: number;
  drawn: { input_lens: number[]; output_lens: number[]; offsets: number[]; prefix?: number[] };
}
const vllm: { cases: VllmCase[] } = JSON.parse(
  readFileSync(new URL('../fixtures/datasets/random-2026-08-17.json', import.meta.url), 'utf8'),
);

/** Of Qwen3, with whose tokenizer the cases were made. */
const vocabSize = 151_643;

describe.each(vllm.cases)('len $input_len seed $seed ratio $range_ratio prefix $prefix_len', (c) => {
  it('draws what vLLM draws', async () => {
    const { input_len, output_len, range_ratio, prefix_len, seed } = c;
    const requests = await make(
      {
        random_input_len: input_len,
        random_output_len: output_len,
        random_range_ratio: range_ratio,
        random_prefix_len: prefix_len,
        seed,
      },
      c.num_prompts,
      plain({ vocabSize }),
    );
    const first = requests.slice(0, c.drawn.offsets.length);
    expect(first.map((r) => r.promptTokens - prefix_len)).toEqual(c.drawn.input_lens);
    expect(first.map((r) => r.outputTokens)).toEqual(c.drawn.output_lens);
    expect(first.map((r, i) => ((idsOf(r)[prefix_len] as number) - i + vocabSize) % vocabSize)).toEqual(
      c.drawn.offsets,
    );
    expect(requests.reduce((sum, r) => sum + r.outputTokens, 0)).toBe(c.total_output);
  });
});

it('gives every prompt exactly the length asked for', async () => {
  const length = fc.integer({ min: 1, max: 200 });
  await fc.assert(
    fc.asyncProperty(length, fc.nat(40), fc.nat(2 ** 32 - 1), async (input, prefix, seed) => {
      const made = await make({ random_input_len: input, random_prefix_len: prefix, seed }, 5, bundled);
      expect(made.map((r) => r.promptTokens)).toEqual(new Array(5).fill(input + prefix));
      const ids = await bundled.encode(made.map((r) => r.prompt));
      expect(ids.map((list) => list.length)).toEqual(made.map((r) => r.promptTokens));
    }),
    { numRuns: 30 },
  );
});

it('keeps lengths within the range ratio, and reaches its ends', async () => {
  const made = await make({ random_input_len: 10, random_output_len: 20, random_range_ratio: 0.3 }, 1000, plain());
  const [inputs, outputs] = [made.map((r) => r.promptTokens), made.map((r) => r.outputTokens)];
  expect([Math.min(...inputs), Math.max(...inputs)]).toEqual([7, 13]);
  expect([Math.min(...outputs), Math.max(...outputs)]).toEqual([14, 26]);
});

it('puts the same prefix in front of all', async () => {
  const made = await make({ random_input_len: 8, random_prefix_len: 20 }, 20, plain());
  const prefixes = made.map((r) => idsOf(r).slice(0, 20).join());
  expect(new Set(prefixes).size).toBe(1);
  expect(new Set(made.map((r) => r.prompt)).size).toBe(20);
});

it('takes consecutive ids, wrapping, and no special ones', async () => {
  const [vocabSize, specialIds] = [20_000, [0, 3, 17, 19_999]];
  const made = await make({ random_input_len: 25_000 }, 5, plain({ vocabSize, specialIds }));
  const usable = Array.from({ length: vocabSize }, (_, id) => id).filter((id) => !specialIds.includes(id));
  for (const request of made) {
    const ids = idsOf(request);
    const start = usable.indexOf(ids[0] as number);
    expect(ids).toEqual(ids.map((_, j) => usable[(start + j) % usable.length]));
  }
});

it('draws every id where a small vocabulary has too few places to begin', async () => {
  const specialIds = [0, 3, 99];
  const made = await make({ random_input_len: 20 }, 500, plain({ vocabSize: 100, specialIds }));
  expect(new Set(made.map((r) => r.prompt)).size).toBe(500);
  expect(new Set(made.flatMap(idsOf)).size).toBe(97);
  expect(made.flatMap(idsOf).filter((id) => specialIds.includes(id))).toEqual([]);
});

describe('prompts that come twice (case 54)', () => {
  const repeatsIn = async (changes: Record<string, unknown>, count: number, tokenizer: Tokenizer) => {
    const { requests, notes } = await random.make(options(changes), count, making(tokenizer));
    return { repeats: count - new Set(requests.map(({ prompt }) => prompt)).size, notes };
  };

  it.each(compatModes)('are counted, as few as they are (%s)', async (compat) => {
    // Of a thousand places in this vocabulary, some are the same: these are vLLM's own.
    const { repeats, notes } = await repeatsIn({ compat, random_input_len: 20, seed: 42 }, 1000, plain());
    expect(repeats).toBe(5);
    expect(notes).toEqual([expect.stringMatching(/^5 of 1000 prompts are repeats; a prefix cache answers repeats /)]);
  });

  it.each([100, 1000, 16_383])('are none with %i ids that leave room for others', async (vocabSize) => {
    const { repeats, notes } = await repeatsIn({ random_input_len: 12, seed: 1 }, 100, plain({ vocabSize }));
    expect([repeats, notes]).toEqual([0, []]);
  });

  it('are said to be where the vocabulary has no more', async () => {
    const { repeats, notes } = await repeatsIn({ random_input_len: 1 }, 500, plain({ vocabSize: 100 }));
    expect(repeats).toBeGreaterThanOrEqual(400);
    expect(notes).toEqual([expect.stringMatching(new RegExp(`^${repeats} of 500 prompts are repeats`))]);
  });

  it('are not made by working in batches, which all draw on', async () => {
    const { repeats } = await repeatsIn({ random_input_len: 12 }, 700, plain({ vocabSize: 100 }));
    expect(repeats).toBe(0);
  });
});

it('leaves room for the special tokens that the tokenizer adds', async () => {
  const [made] = await make({ random_input_len: 10 }, 1, plain({ specialTokenCount: 2 }));
  expect(made?.promptTokens).toBe(8);
});

describe.each(compatModes)('with a tokenizer whose text has more tokens than it was made of (%s)', (compat) => {
  it.each([
    ['3 more', plain({}, 3), 103],
    ['3 % more', longer(0.03), 103],
  ])('%s: is never longer than asked where that can be helped, and says what is off', async (_, tokenizer, most) => {
    const { requests, notes } = await random.make(options({ compat, random_input_len: 100 }), 4, making(tokenizer));
    const counted = await tokenizer.encode(requests.map((r) => r.prompt));
    // v0.11.0 counts what it cut, not what the server will find.
    const told = requests.map((r) => r.promptTokens);
    if (compat === 'vllm-0.11.0') expect([told, notes]).toEqual([[100, 100, 100, 100], []]);
    else expect(told).toEqual(counted.map((ids) => ids.length));
    if (compat === 'servetune') {
      expect(Math.max(...told)).toBeLessThanOrEqual(100);
      expect(Math.min(...told)).toBeGreaterThanOrEqual(98);
      const off = told.filter((length) => length !== 100);
      const by = Math.max(0, ...off.map((length) => 100 - length));
      expect(notes).toEqual(
        off.length === 0
          ? []
          : [
              `${off.length} of 4 prompts have another length than asked, by at most ${by} token${by === 1 ? '' : 's'}.`,
            ],
      );
    } else if (compat !== 'vllm-0.11.0') {
      expect(told).toEqual(new Array(4).fill(most));
      expect(notes).toEqual(['4 of 4 prompts have another length than asked, by at most 3 tokens.']);
    }
  });
});

it('leaves a prompt too long that cannot be made shorter', async () => {
  const tokenizer = plain({ encode: async (texts) => texts.map(() => [1, 2, 3]) });
  const { requests, notes } = await random.make(options({ random_input_len: 1 }), 2, making(tokenizer));
  expect(requests.map((r) => r.promptTokens)).toEqual([3, 3]);
  expect(notes[0]).toBe('2 of 2 prompts have another length than asked, by at most 2 tokens.');
});

it('is as short as its text in the way of v0.11.0', async () => {
  // Every seventh id vanishes, and nothing is put in its place.
  const encode: Tokenizer['encode'] = async (texts) =>
    texts.map((t) =>
      t
        .split(',')
        .map(Number)
        .filter((id) => id % 7),
    );
  const changes = { compat: 'vllm-0.11.0', random_input_len: 14 };
  const { requests, notes } = await random.make(options(changes), 20, making(plain({ encode })));
  expect(requests.map((r) => r.promptTokens)).toEqual(new Array(20).fill(12));
  expect(notes).toEqual(['20 of 20 prompts have another length than asked, by at most 2 tokens.']);
});

it('takes special tokens of the vocabulary in the way of v0.11.0 only', async () => {
  const [specialIds, few] = [[0, 3, 99], 100];
  const idsIn = async (compat: Compat) => {
    const made = await make(
      { compat, random_input_len: 100, random_prefix_len: 9 },
      3,
      plain({ vocabSize: few, specialIds }),
    );
    return [...new Set(made.flatMap(idsOf))].sort((a, b) => a - b);
  };
  const every = Array.from({ length: few }, (_, id) => id);
  expect(await idsIn('vllm-0.11.0')).toEqual(every);
  expect(await idsIn('vllm-0.11.1')).toEqual(every.filter((id) => !specialIds.includes(id)));
  expect(await idsIn('vllm-2026-08')).toEqual(every.filter((id) => !specialIds.includes(id)));
});

it.each(['vllm-0.11.0', 'vllm-0.11.1', 'vllm-2026-08'])(
  'repeats prompts of a small vocabulary as %s does',
  async (compat) => {
    const made = await make({ compat, random_input_len: 5 }, 500, plain({ vocabSize: 100 }));
    expect(new Set(made.map((r) => r.prompt)).size).toBeLessThanOrEqual(100);
    for (const ids of made.map(idsOf)) expect(ids).toEqual(ids.map((_, j) => ((ids[0] as number) + j) % 100));
  },
);

it('spreads input and output apart where two ratios are given', async () => {
  const made = await make(
    { random_input_len: 10, random_output_len: 20, random_range_ratio: { input: 0.3, output: 0 } },
    300,
  );
  expect([...new Set(made.map((r) => r.promptTokens))].sort((a, b) => a - b)).toEqual([7, 8, 9, 10, 11, 12, 13]);
  expect(new Set(made.map((r) => r.outputTokens))).toEqual(new Set([20]));
});

it('tells after each batch how far it is, and stops when told to', async () => {
  const told: [number, number][] = [];
  const stop = new AbortController();
  const onProgress = (done: number, total: number): void => {
    told.push([done, total]);
    if (done > 500) stop.abort(new Error('enough'));
  };
  const decode: Tokenizer['decode'] = async (ids, signal) => {
    signal?.throwIfAborted();
    return ids.map((list) => list.join());
  };
  const made = random.make(options({}), 1000, making(plain({ decode }), { onProgress, signal: stop.signal }));
  await expect(made).rejects.toThrow('enough');
  expect(told).toEqual([
    [256, 1000],
    [512, 1000],
  ]);
});

it('says that it needs a tokenizer', async () => {
  const error = await random.make(options({}), 3, making(null)).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(InputError);
  expect((error as InputError).problems[0]?.place).toBe('--skip-tokenizer-init');
});

it('repairs in the order of the requests, whatever the tokenizer takes together', async () => {
  // Every seventh id vanishes, so that most prompts must be filled up, some several times; every eleventh doubles.
  const merge = (id: number) => (id % 7 === 3 ? [] : id % 11 === 5 ? [id, id] : [id]);
  const encode: Tokenizer['encode'] = async (texts) => texts.map((t) => t.split(',').map(Number).flatMap(merge));
  const tokenizer = plain({ encode });
  const made = await make(
    { compat: 'vllm-2026-08', random_input_len: 9, random_prefix_len: 4, seed: 5 },
    300,
    tokenizer,
  );

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

it('finds the least length at once, however wide the spread', async () => {
  const error = await make({ random_input_len: 5, random_range_ratio: 1 - 1e-12 }, 1).catch((e: unknown) => e);
  expect((error as InputError).problems[0]?.hint).toMatch(/at least \d{12,13}, or lower random_range_ratio$/);
});

it.each([
  [{ random_input_len: 1 }, 1, 2],
  [{ random_input_len: 2 }, 3, 4],
  [{ random_input_len: 1, random_range_ratio: 0.5 }, 0, 2],
  [{ random_input_len: 2, random_range_ratio: 0.75 }, 1, 5],
])('refuses %j with %i special tokens, and says what is least (case 47)', async (changes, specialTokenCount, least) => {
  const ask = (length: number) => make({ ...changes, random_input_len: length }, 3, plain({ specialTokenCount }));
  const error = await ask(changes.random_input_len).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(InputError);
  expect((error as InputError).problems).toEqual([
    {
      place: 'random_input_len',
      message: expect.stringContaining('empty prompts'),
      hint: expect.stringMatching(
        new RegExp(`^set random_input_len to at least ${least}(, or lower random_range_ratio)?$`),
      ),
    },
  ]);
  expect(await ask(least)).toHaveLength(3);
});

it('needs no input of its own behind a prefix', async () => {
  const made = await make({ random_input_len: 1, random_prefix_len: 4 }, 2, plain({ specialTokenCount: 1 }));
  expect(made.map((r) => r.promptTokens)).toEqual([4, 4]);
});

import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Dataset, Made, Making } from '../../src/datasets/dataset.ts';
import { cachedMake } from '../../src/datasets/kept/prompt-cache.ts';
import { now } from '../../src/kit/clock.ts';
import type { RequestSpec } from '../../src/records/request.ts';
import { type WorkloadOptions, workloadOptions } from '../../src/records/workload.ts';
import type { ChatTemplate } from '../../src/tokenizers/chat-template.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';

const emptyFolder = (): string => mkdtempSync(join(tmpdir(), 'servetune-prompts-'));
const always = { worthS: 0 };

const template = (prefix: string): ChatTemplate => ({
  render: (messages) => prefix + messages.map(({ content }) => content).join(),
});
const tokenizer: Tokenizer = {
  name: 'test',
  fingerprint: 'f'.repeat(64),
  chatTemplate: template('<chat>'),
  vocabSize: 100,
  specialIds: [],
  specialTokenCount: 0,
  encode: async (texts) => texts.map((text) => [...text].map(() => 1)),
  decode: async (ids) => ids.map((list) => 'a'.repeat(list.length)),
};
const making = (changes: Partial<Making> = {}): Making => ({
  tokenizer,
  signal: new AbortController().signal,
  serverTemplates: false,
  cacheDir: emptyFolder(),
  ...changes,
});
const options = (changes: Record<string, unknown> = {}): WorkloadOptions =>
  workloadOptions.parse({ dataset_name: 'custom', ...changes });

/** A dataset that gives what it is told, and counts how often it was asked. */
function counting(made: Made | ((count: number) => Made)): Dataset & { readonly asked: number } {
  let asked = 0;
  return {
    name: 'custom',
    description: 'a test',
    pinsOutput: false,
    async make(_, count) {
      asked++;
      return typeof made === 'function' ? made(count) : made;
    },
    get asked() {
      return asked;
    },
  };
}
const requests = (count: number, prompt = 'a prompt'): RequestSpec[] =>
  Array.from({ length: count }, (_, index) => ({
    index,
    prompt: `${prompt} ${index}`,
    promptTokens: 3,
    outputTokens: 4,
  }));
const some: Made = { requests: requests(5), notes: ['two rows were left out'] };
const setsIn = ({ cacheDir }: Making): string[] =>
  existsSync(join(cacheDir, 'prompts'))
    ? readdirSync(join(cacheDir, 'prompts'))
        .filter((name) => name.endsWith('.jsonl'))
        .map((name) => join(cacheDir, 'prompts', name))
    : [];

describe('cachedMake', () => {
  it('gives back exactly what was made', async () => {
    const spec = fc.record(
      {
        index: fc.nat(),
        prompt: fc.string({ unit: 'binary' }),
        promptTokens: fc.nat(),
        outputTokens: fc.nat(),
        dueS: fc.double({ min: 0, max: 1e9, noNaN: true }).map((value) => value + 0),
        model: fc.string(),
      },
      { requiredKeys: ['index', 'prompt', 'promptTokens', 'outputTokens'] },
    ).map((plain): RequestSpec => ({ ...plain })); // biome-ignore format: one record
    await fc.assert(
      fc.asyncProperty(fc.array(spec, { maxLength: 20 }), fc.array(fc.string()), async (list, notes) => {
        const made = { requests: list, notes };
        const dataset = counting(made);
        const same = making();
        expect(await cachedMake(dataset, options(), 5, same, always)).toStrictEqual(made);
        expect(await cachedMake(dataset, options(), 5, same, always)).toStrictEqual(made);
        expect(dataset.asked).toBe(1);
      }),
      { numRuns: 40 },
    );
  });

  it('keeps halves of surrogate pairs, which have no UTF-8', async () => {
    const made = { requests: [{ index: 0, prompt: 'a\ud800b', promptTokens: 1, outputTokens: 1 }], notes: [] };
    const same = making();
    await cachedMake(counting(made), options(), 1, same, always);
    expect(await cachedMake(counting(some), options(), 1, same, always)).toStrictEqual(made);
  });

  it('takes nothing made of another input', async () => {
    const dataset = counting(some);
    const first = making();
    const of = (changes: Partial<Tokenizer>) => ({ ...first, tokenizer: { ...tokenizer, ...changes } });
    const different: [WorkloadOptions, number, Making][] = [
      [options(), 5, first],
      [options({ seed: 1 }), 5, first],
      [options({ compat: 'vllm-0.11.0' }), 5, first],
      [options({ skip_chat_template: true }), 5, first],
      [options({ chat_template_kwargs: { enable_thinking: false } }), 5, first],
      [options({ random_range_ratio: { input: 0.1, output: 0.2 } }), 5, first],
      [options(), 6, first],
      [options(), 5, of({ fingerprint: 'e'.repeat(64) })],
      [options(), 5, of({ chatTemplate: template('<other>') })],
      [options(), 5, of({ chatTemplate: null })],
      [options(), 5, { ...first, serverTemplates: true }],
    ];
    for (const [i, input] of different.entries()) {
      await cachedMake(dataset, ...input, always);
      expect(dataset.asked).toBe(i + 1);
    }
    for (const input of different) await cachedMake(dataset, ...input, always);
    expect(dataset.asked).toBe(different.length);
    await cachedMake({ ...dataset, name: 'sonnet' }, options(), 5, first, always);
    expect(dataset.asked).toBe(different.length + 1);
  });

  it('does not mind how often or to whom the prompts are sent, nor in which order keys stand', async () => {
    const dataset = counting(some);
    const same = making();
    const spread = (value: object) => options({ random_range_ratio: value });
    await cachedMake(dataset, spread({ input: 0.1, output: 0.2 }), 5, same, always);
    for (const input of [
      { ...spread({ output: 0.2, input: 0.1 }) },
      { ...spread({ input: 0.1, output: 0.2 }), request_rate: 3, max_concurrency: 7, temperature: 1, num_prompts: 9 },
    ]) await cachedMake(dataset, input, 5, same, always); // biome-ignore format: one loop
    expect(dataset.asked).toBe(1);
  });

  it('knows a file by its content, wherever it lies', async () => {
    const dataset = counting(some);
    const same = making();
    const folder = emptyFolder();
    const file = (name: string, content: string): WorkloadOptions => {
      const path = join(folder, name);
      writeFileSync(path, content);
      const longAgo = new Date(Date.now() - 60_000);
      utimesSync(path, longAgo, longAgo);
      return options({ dataset_path: path });
    };
    const first = file('a', 'one');
    await cachedMake(dataset, first, 5, same, always);
    await cachedMake(dataset, first, 5, same, always);
    await cachedMake(dataset, file('b', 'one'), 5, same, always);
    expect(dataset.asked).toBe(1);
    await cachedMake(dataset, file('a', 'two'), 5, same, always);
    expect(dataset.asked).toBe(2);
    await cachedMake(dataset, options({ dataset_path: join(folder, 'missing') }), 5, same, always);
    await cachedMake(dataset, options({ dataset_path: folder }), 5, same, always);
    expect(dataset.asked).toBe(4);
    expect(setsIn(same)).toHaveLength(2);
  });

  it.each([
    ['a tokenizer without a fingerprint', { tokenizer: { ...tokenizer, fingerprint: null } }, always],
    ['no tokenizer', { tokenizer: null }, always],
    ['a set that is made at once', {}, { worthS: 60 }],
  ])('keeps nothing of %s', async (_, changes, limits) => {
    const dataset = counting(some);
    const same = making(changes);
    expect(await cachedMake(dataset, options(), 5, same, limits)).toStrictEqual(some);
    expect(await cachedMake(dataset, options(), 5, same, limits)).toStrictEqual(some);
    expect(dataset.asked).toBe(2);
    expect(setsIn(same)).toEqual([]);
  });

  it('makes again, and writes anew, what was damaged', async () => {
    const dataset = counting(some);
    const same = making();
    await cachedMake(dataset, options(), 5, same, always);
    const [path] = setsIn(same) as [string];
    const whole = readFileSync(path);
    const flips = [0, 10, 100, whole.length - 3].map((at) => {
      const copy = Buffer.from(whole);
      copy[at] = (copy[at] as number) ^ 1;
      return copy;
    });
    for (const damaged of [...flips, whole.subarray(0, -10), whole.subarray(0, 40), Buffer.alloc(0)]) {
      writeFileSync(path, damaged);
      const before = dataset.asked;
      expect(await cachedMake(dataset, options(), 5, same, always)).toStrictEqual(some);
      expect(dataset.asked).toBe(before + 1);
      expect(readFileSync(path).equals(whole)).toBe(true);
    }
  });

  it('is written by several at once without harm', async () => {
    const dataset = counting(some);
    const same = making();
    const all = await Promise.all(Array.from({ length: 8 }, () => cachedMake(dataset, options(), 5, same, always)));
    for (const made of all) expect(made).toStrictEqual(some);
    const before = dataset.asked;
    expect(await cachedMake(dataset, options(), 5, same, always)).toStrictEqual(some);
    expect(dataset.asked).toBe(before);
    expect(readdirSync(join(same.cacheDir, 'prompts')).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('leaves a note where the folder cannot be written', async () => {
    const cacheDir = emptyFolder();
    writeFileSync(join(cacheDir, 'prompts'), 'a file in the way');
    const { requests, notes } = await cachedMake(counting(some), options(), 5, making({ cacheDir }), always);
    expect(requests).toStrictEqual(some.requests);
    expect(notes).toEqual([...some.notes, expect.stringMatching(/could not be kept .* \(E[A-Z]+\)/)]);
  });

  it('removes what was not used for longest when it is too much', async () => {
    const dataset = counting((count) => ({ requests: requests(count, 'x'.repeat(1000)), notes: [] }));
    const same = making();
    const limits = { worthS: 0, mostBytes: 60_000 };
    const make = (seed: number): Promise<Made> => cachedMake(dataset, options({ seed }), 20, same, limits);
    const age = (path: string, minutes: number): void => {
      const time = new Date(Date.now() - minutes * 60_000);
      utimesSync(path, time, time);
    };
    await make(1);
    const [one] = setsIn(same) as [string];
    age(one, 30);
    await make(2);
    const two = setsIn(same).find((path) => path !== one) as string;
    age(two, 20);
    // Used again, so the second is now the oldest.
    await make(1);
    expect(statSync(one).mtimeMs).toBeGreaterThan(Date.now() - 60_000);
    await make(3);
    expect(setsIn(same)).toHaveLength(2);
    expect(existsSync(one)).toBe(true);
    expect(existsSync(two)).toBe(false);
  });

  it('passes on what a dataset fails with', async () => {
    const broken = { ...counting(some), make: () => Promise.reject(new Error('no such row')) };
    await expect(cachedMake(broken, options(), 5, making(), always)).rejects.toThrow('no such row');
  });

  it('loads 500 prompts of 4000 tokens at once', async () => {
    const prompt = 'Zufällige Wörter '.repeat(1500);
    const big = counting({ requests: requests(500, prompt), notes: [] });
    const same = making();
    await cachedMake(big, options(), 500, same, always);
    const began = now();
    const { requests: loaded } = await cachedMake(big, options(), 500, same, always);
    expect(big.asked).toBe(1);
    expect(loaded).toHaveLength(500);
    // A tenth of a second where nothing else runs.
    expect(now() - began).toBeLessThan(5);
  });
});

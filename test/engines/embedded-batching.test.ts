import { expect, it } from 'vitest';
import type { AddonContext, AddonSampler } from '../../src/engines/embedded/addon.ts';
import { type Batching, startBatching } from '../../src/engines/embedded/batching.ts';
import type { Generation } from '../../src/serving/source.ts';

interface Part {
  readonly slot: number;
  readonly position: number;
  readonly tokens: number[];
  readonly sampled: boolean;
}

const endToken = 0;

/**
 * A model of arithmetic: the token after `n` is `n - 1`, so a prompt that ends in `n` makes `n - 1` ... 1 and then the
 * end token (and 100 after that). It checks what llama.cpp would abort on.
 */
function countdown(failAt?: { step: number; message: string }) {
  const steps: Part[][] = [];
  const lengths = new Map<number, number>();
  const disposed: number[] = [];
  let size = 0;
  let parts: Part[] = [];
  let logits: number[] = [];
  let decoding = false;
  const context: AddonContext = {
    init: async () => true,
    getContextSize: () => 1000,
    getThreads: () => 1,
    initBatch(tokens) {
      expect(decoding).toBe(false);
      size = tokens;
      parts = [];
      logits = [];
    },
    addToBatch(slot, position, tokens, logitIndexes) {
      expect(position).toBe(lengths.get(slot) ?? 0);
      lengths.set(slot, position + tokens.length);
      const places: number[] = [];
      for (const [i, token] of tokens.entries()) {
        if (logitIndexes.includes(i)) places.push(logits.length);
        logits.push(token === endToken ? 100 : token - 1);
      }
      parts.push({ slot, position, tokens: [...tokens], sampled: places.length > 0 });
      return Uint32Array.from(places);
    },
    async decodeBatch() {
      expect(logits.length).toBe(size);
      steps.push(parts);
      decoding = true;
      await new Promise((resolve) => setImmediate(resolve));
      decoding = false;
      if (failAt?.step === steps.length) throw new Error(failAt.message);
    },
    sampleToken: async (place) => logits[place] ?? -1,
    disposeSequence(slot) {
      expect(decoding).toBe(false);
      lengths.delete(slot);
      disposed.push(slot);
    },
  };
  return { context, steps, disposed };
}

const sampler = {} as AddonSampler;

function start(context: AddonContext, slots: number, batchSize: number) {
  const fatal: unknown[] = [];
  const batching = startBatching({
    context,
    slots,
    batchSize,
    contextSize: 1000,
    oneWorker: true,
    piece: (token) => ({ bytes: Buffer.from(`${token} `), text: `${token} ` }),
    isEnd: (token) => token === endToken,
    sampler: () => sampler,
    onFatal: (error) => fatal.push(error),
  });
  return { batching, fatal };
}

interface Asked {
  readonly end: Promise<string>;
  readonly texts: string[];
  cancel(): void;
}

/** A request whose end is `stop`, `length` or the message of its failure. */
function ask(batching: Batching, prompt: number[], more: Partial<Generation> = {}): Asked {
  const texts: string[] = [];
  let cancel = () => {};
  const end = new Promise<string>((resolve) => {
    const generation = {
      promptTokens: Uint32Array.from(prompt),
      maxTokens: 50,
      ignoreEos: false,
      temperature: 0,
      topP: 1,
      seed: undefined,
      ...more,
    };
    ({ cancel } = batching.start(generation, { token: (text) => texts.push(text), end: resolve, fail: resolve }));
  });
  return { end, texts, cancel: () => cancel() };
}

it('generates until the end token or the limit', async () => {
  const { batching } = start(countdown().context, 2, 8);
  const ended = ask(batching, [9, 4]);
  const cut = ask(batching, [4], { maxTokens: 2 });
  const pinned = ask(batching, [2], { ignoreEos: true, maxTokens: 3 });
  expect(await ended.end).toBe('stop');
  expect(ended.texts).toEqual(['3 ', '2 ', '1 ', '']);
  expect(await cut.end).toBe('length');
  expect(cut.texts).toEqual(['3 ', '2 ']);
  expect(await pinned.end).toBe('length');
  expect(pinned.texts).toEqual(['1 ', '0 ', '100 ']);
});

it('reads prompts in the room that generating sequences leave, in order, neighbours by slot', async () => {
  const { context, steps } = countdown();
  const { batching } = start(context, 3, 6);
  const asked = [
    ask(batching, [1, 1, 20], { maxTokens: 3 }),
    ask(batching, [1, 1, 1, 1, 1, 1, 1, 1, 30], { maxTokens: 2 }),
    ask(batching, [1, 40], { maxTokens: 1 }),
  ];
  await Promise.all(asked.map(({ end }) => end));
  const shape = steps.map((parts) =>
    parts.map(({ slot, tokens, sampled }) => `${slot}:${tokens.length}${sampled ? '!' : ''}`),
  );
  expect(shape).toEqual([['0:3!', '1:3'], ['0:1!', '1:5'], ['0:1!', '1:1!', '2:2!'], ['1:1!']]);
});

it('never fills a batch beyond its size or reuses a slot before it is cleared, whatever comes', async () => {
  const { context, steps, disposed } = countdown();
  const { batching } = start(context, 4, 5);
  const asked = Array.from({ length: 30 }, (_, i) =>
    ask(batching, [...Array.from({ length: (i * 7) % 13 }, () => 1), 2 + (i % 9)]),
  );
  for (const [i, one] of asked.entries()) {
    if (i % 5 === 4) one.cancel();
    else expect(await one.end).toBe('stop');
  }
  for (const parts of steps) {
    expect(parts.flatMap(({ tokens }) => tokens).length).toBeLessThanOrEqual(5);
    expect(parts.length).toBeLessThanOrEqual(4);
    expect(parts.map(({ slot }) => slot)).toEqual(parts.map(({ slot }) => slot).sort());
  }
  // Those that were cancelled while they waited never had a slot.
  expect(disposed.length).toBeGreaterThanOrEqual(24);
  await expect
    .poll(() => batching.stats(), { timeout: 30_000 })
    .toMatchObject({ running: 0, waiting: 0, kvCacheUsage: 0 });
});

it('frees the slot of a cancelled request for one that waits', async () => {
  const { batching } = start(countdown().context, 1, 4);
  const endless = ask(batching, [1000], { maxTokens: 900 });
  const next = ask(batching, [3]);
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(batching.stats()).toMatchObject({ running: 1, waiting: 1 });
  endless.cancel();
  const seen = endless.texts.length;
  expect(await next.end).toBe('stop');
  expect(endless.texts.length).toBe(seen);
});

it('fails the running requests when there is no room in the cache, and goes on with others', async () => {
  const { context } = countdown({ step: 2, message: 'could not find a KV slot for the batch' });
  const { batching, fatal } = start(context, 2, 8);
  const failed = [ask(batching, [5]), ask(batching, [6])];
  const waits = ask(batching, [2]);
  for (const { end } of failed) expect(await end).toMatch(/the model failed: could not find a KV slot/);
  expect(failed[0]?.texts).toEqual(['4 ']);
  expect(await waits.end).toBe('stop');
  expect(fatal).toEqual([]);
});

it('fails every request when the model cannot compute any more, and says so', async () => {
  const { context } = countdown({ step: 2, message: 'Eval has failed' });
  const { batching, fatal } = start(context, 1, 8);
  const running = ask(batching, [5]);
  const waits = ask(batching, [2]);
  expect(await running.end).toMatch(/Eval has failed/);
  expect(await waits.end).toMatch(/Eval has failed/);
  expect(fatal).toHaveLength(1);
  expect(await ask(batching, [2]).end).toMatch(/Eval has failed/);
});

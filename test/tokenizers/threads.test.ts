import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { portableTokenizer } from '../../src/tokenizers/portable.ts';
import { codecOf, sourceOf } from '../../src/tokenizers/source.ts';
import { startThreads } from '../../src/tokenizers/threads.ts';
import { expectFreshBuild } from '../built.ts';

beforeAll(() =>
  expectFreshBuild('tokenizers', 'worker', 'source', 'byte-level', 'byte-tables', 'pair-merge', 'library', 'packing'),
);

const root = join(import.meta.dirname, '../..');
const bundledFile = join(root, 'assets/tiny-qwen3/tokenizer.json');
const text = readFileSync(bundledFile, 'utf8');
const source = sourceOf(text, JSON.parse(text));
const codec = codecOf(source);

const lists = Array.from({ length: 400 }, (_, i) => Array.from({ length: i }, (_, j) => (i * 977 + j * 13) % 8192));
const texts = lists.map((ids) => (ids.length === 0 ? '' : codec.decode(ids)));
const ids = texts.map((one) => (one === '' ? [] : codec.encode(one)));
const hundred = Array.from({ length: 100 }, () => texts).flat();

const threads = startThreads(source, 3);
afterAll(() => threads.close());

it('give what one thread gives, in order, also for batches at the same time', async () => {
  const batches = await Promise.all([
    threads.encode(texts), threads.decode(lists), threads.encode([]), threads.encode(texts.slice(7)), threads.decode(lists.slice(9)),
  ]); // biome-ignore format: one of each
  expect(batches).toEqual([ids, texts, [], ids.slice(7), texts.slice(9)]);
});

it('work by the library where the vocabulary is of another kind', async () => {
  const others = startThreads({ kind: 'library', text }, 2);
  expect(await others.encode(texts)).toEqual(ids);
  expect(await others.decode(lists.slice(1))).toEqual(texts.slice(1));
  await others.close();
});

it('leave a batch as soon as they are told to, and go on with the next', async () => {
  const stop = new AbortController();
  const encoding = threads.encode(hundred, stop.signal);
  setTimeout(() => stop.abort(new Error('enough')), 20);
  await expect(encoding).rejects.toThrow('enough');
  await expect(threads.decode(lists, stop.signal)).rejects.toThrow('enough');
  expect(await threads.encode(texts)).toEqual(ids);
});

it('say when they cannot do a batch', async () => {
  const broken = startThreads({ kind: 'library', text: 'no JSON' }, 2);
  expect(await broken.encode(texts)).toBeNull();
  expect(await broken.decode(lists)).toBeNull();

  const closed = startThreads(source, 2);
  const encoding = closed.encode(hundred);
  await pause(20);
  await closed.close();
  expect(await encoding).toBeNull();
  expect(await closed.encode(texts)).toEqual(ids);
  await closed.close();
});

it('share out the big batches of a tokenizer, which does them alone once they are gone', async () => {
  const tokenizer = await portableTokenizer(bundledFile);
  const many = hundred.slice(0, 2000);
  const expected = many.map((_, i) => ids[i % ids.length]);
  expect(await tokenizer.encode(many)).toEqual(expected);
  const [encoded] = await Promise.all([tokenizer.encode(many), tokenizer.close?.()]);
  expect(encoded).toEqual(expected);
  await tokenizer.close?.();
});

it('keep no process alive', async () => {
  const script = `
    const { portableTokenizer } = await import(${JSON.stringify(`${root}/dist/tokenizers/portable.js`)});
    const tokenizer = await portableTokenizer(${JSON.stringify(bundledFile)});
    const ids = await tokenizer.encode(new Array(2000).fill(${JSON.stringify(texts[300])}));
    console.log(new Set(ids.map((list) => list.join())).size, ids[1999].join());
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 50_000,
  });
  expect(stdout.trim()).toBe(`1 ${ids[300]?.join()}`);
});

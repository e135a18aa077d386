import { expect, it } from 'vitest';
import { RecordLog } from '../../src/load/record-log.ts';
import { recount } from '../../src/study/recount.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import { record } from '../metrics/request-record.ts';

const signal = AbortSignal.timeout(60_000);
const { signal: aborted } = (() => {
  const stop = new AbortController();
  stop.abort(new Error('enough'));
  return stop;
})();

it('counts the texts of those that the server did not count, and nothing else', async () => {
  const tokenizer = await bundledTokenizer();
  const open = { outputTokensBy: 'chunks', outputTokens: 1 } as const;
  const records = [
    record({ ...open, text: ' the the the' }),
    record({ outputTokensBy: 'server', outputTokens: 5, text: ' the' }),
    record(open),
    record({ ...open, text: '' }),
    ...Array.from({ length: 600 }, (_, i) => record({ ...open, text: ' the'.repeat(1 + (i % 3)) })),
  ];
  const before = JSON.stringify(records);
  const counted = await recount(records, tokenizer, signal);
  expect([...counted].map(({ outputTokens, outputTokensBy }) => [outputTokens, outputTokensBy])).toEqual([
    [3, 'tokenizer'],
    [5, 'server'],
    [1, 'chunks'],
    [0, 'tokenizer'],
    ...Array.from({ length: 600 }, (_, i) => [1 + (i % 3), 'tokenizer']),
  ]);
  expect(JSON.stringify(records)).toBe(before);
});

it('is the list itself where there is nothing to count', async () => {
  const records = [record({ text: ' the' }), record({ outputTokensBy: 'chunks' })];
  expect(await recount(records, await bundledTokenizer(), signal)).toBe(records);
});

it('can be gone through again', async () => {
  const log = new RecordLog();
  for (let i = 0; i < 3; i++) log.add(record({ outputTokensBy: 'chunks', text: ' the'.repeat(i) }));
  const counted = await recount(log, await bundledTokenizer(), signal);
  const counts = () => [...counted].map(({ outputTokens }) => outputTokens);
  expect(counts()).toEqual([0, 1, 2]);
  expect(counts()).toEqual([0, 1, 2]);
  expect(counted).toHaveLength(3);
});

it('can be interrupted', async () => {
  const records = [record({ outputTokensBy: 'chunks', text: ' the' })];
  await expect(recount(records, await bundledTokenizer(), aborted)).rejects.toThrow('enough');
});

import { expect, it } from 'vitest';
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
  expect(counted.map(({ outputTokens, outputTokensBy }) => [outputTokens, outputTokensBy])).toEqual([
    [3, 'tokenizer'],
    [5, 'server'],
    [1, 'chunks'],
    [0, 'tokenizer'],
    ...Array.from({ length: 600 }, (_, i) => [1 + (i % 3), 'tokenizer']),
  ]);
  expect(JSON.stringify(records)).toBe(before);
});

it('can be interrupted', async () => {
  const records = [record({ outputTokensBy: 'chunks', text: ' the' })];
  await expect(recount(records, await bundledTokenizer(), aborted)).rejects.toThrow('enough');
});

import { expect, it } from 'vitest';
import { standInConversations } from '../../src/datasets/kept/stand-in.ts';
import { answerQuantiles, promptQuantiles } from '../../src/datasets/kept/stand-in-lengths.ts';
import { mean, percentile } from '../../src/kit/numbers.ts';
import { qwen3Tokenizer } from './qwen3.ts';

const conversations = standInConversations();
const qwen3 = await qwen3Tokenizer();

/** Tokens of each text, by Qwen3's own tokenizer. */
const tokensOf = async (texts: readonly string[]): Promise<number[]> =>
  (await qwen3.encode(texts)).map((ids) => ids.length);
const ascending = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

const sample = conversations.slice(0, 1000);
const prompts = await tokensOf(sample.map(({ prompt }) => prompt));
const answers = await tokensOf(sample.map(({ answer }) => answer));

it('has thousands of conversations, no two with the same beginning, always the same', () => {
  expect(conversations).toHaveLength(8192);
  expect(new Set(conversations.map(({ prompt }) => prompt)).size).toBe(8192);
  expect(new Set(sample.map(({ prompt }) => prompt.slice(0, 60))).size).toBe(sample.length);
  expect(standInConversations()[4711]).toEqual(conversations[4711]);
  expect(conversations[0]?.prompt).toBe(conversations[0]?.prompt);
  expect(conversations[0]?.prompt).toMatch(/^[A-Z][a-z]+ [a-z ]+.*\?$/);
});

it('is all within the bounds of vLLM’s benchmark', () => {
  for (const [i, prompt] of prompts.entries()) {
    const answer = answers[i] as number;
    expect(Math.min(prompt, answer)).toBeGreaterThanOrEqual(4);
    expect(prompt).toBeLessThanOrEqual(1024);
    expect(prompt + answer).toBeLessThanOrEqual(2048);
  }
});

// Figures of ShareGPT itself, by the same tokenizer and filter: src/datasets/stand-in-lengths.ts says of which part.
it.each([
  ['prompts', prompts, 219.6, [10, 20, 105, 368, 605]],
  ['answers', answers, 202.9, [11, 27, 135, 314, 495]],
])('has %s as long as ShareGPT’s', (_, lengths, realMean, [p10, p25, p50, p75, p90]) => {
  const sorted = ascending(lengths);
  expect(Math.abs((mean(lengths) as number) / realMean - 1)).toBeLessThan(0.05);
  for (const [p, real] of [[10, p10], [25, p25], [50, p50], [75, p75], [90, p90]] as [number, number][]) {
    const found = percentile(sorted, p) as number;
    // A thousand of them: the quantiles of such a sample scatter by about a tenth.
    expect(Math.abs(found - real), `p${p}: ${found} for ${real}`).toBeLessThan(3 + 0.2 * real);
  } // biome-ignore format: one line
});

it('has, as there, long answers to short prompts and short answers to long ones', () => {
  const medianAnswer = (from: number, to: number): number =>
    percentile(
      ascending(answers.filter((_, i) => (prompts[i] as number) >= from && (prompts[i] as number) <= to)),
      50,
    ) as number;
  const [short, long] = [medianAnswer(12, 64), medianAnswer(240, 700)];
  // About 255 and 28 in ShareGPT.
  expect(short).toBeGreaterThan(200);
  expect(long).toBeLessThan(45);
});

it('keeps quantiles in order', () => {
  for (const quantiles of [promptQuantiles, ...answerQuantiles]) expect([...quantiles]).toEqual(ascending(quantiles));
  expect(answerQuantiles.map((quantiles) => quantiles.length)).toEqual(new Array(16).fill(19));
  expect(promptQuantiles).toHaveLength(65);
});

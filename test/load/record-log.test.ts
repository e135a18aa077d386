import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RecordLog } from '../../src/load/record-log.ts';
import { outcomes, type RequestRecord } from '../../src/records/request.ts';

const timeS = fc.integer({ min: 0, max: 4_000_000_000 }).map((us) => us / 1e6);
const timesS = fc.array(timeS, { maxLength: 12 }).map((times) => times.sort((a, b) => a - b));
const count = fc.nat(1_000_000);
const text = fc.string({ unit: 'grapheme', maxLength: 30 });

const records: fc.Arbitrary<RequestRecord> = fc.record(
  {
    index: count,
    outcome: fc.constantFrom(...outcomes),
    error: text,
    httpStatus: fc.integer({ min: 100, max: 599 }),
    intendedSendS: timeS,
    sendS: timeS,
    firstEventS: timeS,
    firstTokenS: timeS,
    firstAnswerTokenS: timeS,
    tokenTimesS: timesS,
    tokenCounts: fc.array(count, { maxLength: 12 }),
    emptyChoiceTimesS: timesS,
    lastEventS: timeS,
    lastTokenS: timeS,
    endS: timeS,
    promptTokens: fc.oneof(count, fc.constantFrom(0, 127, 128, 2 ** 32, Number.MAX_SAFE_INTEGER)),
    serverPromptTokens: count,
    cachedTokens: count,
    outputTokensAsked: count,
    outputTokens: count,
    outputTokensBy: fc.constantFrom('server', 'tokenizer', 'chunks'),
    finishReason: fc.constantFrom('stop', 'length', 'eos_token'),
    text,
    malformedEvents: fc.nat(3),
    malformedText: text,
  },
  {
    requiredKeys: ['index', 'outcome', 'intendedSendS', 'sendS', 'tokenTimesS', 'endS', 'promptTokens', 'outputTokensAsked', 'outputTokens', 'outputTokensBy', 'malformedEvents'],
  },
); // biome-ignore format: the required keys in one line

it('gives back what was added, in order, also from another thread', () => {
  fc.assert(
    fc.property(fc.array(records, { maxLength: 20 }), fc.nat(20), (all, cut) => {
      const log = new RecordLog();
      for (const record of all.slice(0, cut)) log.add(record);
      const elsewhere = new RecordLog();
      for (const record of all.slice(cut)) elsewhere.add(record);
      log.addPacked(structuredClone(elsewhere.take()));
      expect(elsewhere.length).toBe(0);
      expect(log.length).toBe(all.length);
      expect([...log]).toEqual(all);
      expect([...log]).toEqual(all);
    }),
  );
});

it('keeps records that are larger than its blocks, and many', () => {
  const log = new RecordLog();
  const record = (index: number): RequestRecord => ({
    index,
    outcome: 'ok',
    intendedSendS: 0,
    sendS: 0.000_001,
    tokenTimesS: Array.from({ length: index % 3 === 0 ? 100_000 : 3 }, (_, i) => i / 1e3),
    endS: 100,
    promptTokens: 1,
    outputTokensAsked: 1,
    outputTokens: 1,
    outputTokensBy: 'server',
    text: 'x'.repeat(index % 3 === 1 ? 400_000 : 1),
    malformedEvents: 0,
  });
  const all = Array.from({ length: 9 }, (_, i) => record(i));
  for (const one of all) log.add(one);
  expect([...log]).toEqual(all);
});

it('takes about a hundred bytes for a request of sixteen tokens', () => {
  const log = new RecordLog();
  for (let index = 0; index < 1000; index++) {
    const sendS = index / 100;
    log.add({
      index,
      outcome: 'ok',
      httpStatus: 200,
      intendedSendS: sendS,
      sendS,
      firstEventS: sendS + 0.2,
      firstTokenS: sendS + 0.2,
      firstAnswerTokenS: sendS + 0.2,
      tokenTimesS: Array.from({ length: 16 }, (_, i) => (index * 10_000 + 200_000 + i * 20_011) / 1e6),
      lastEventS: sendS + 0.6,
      lastTokenS: sendS + 0.6,
      endS: sendS + 0.6,
      promptTokens: 100,
      serverPromptTokens: 120,
      outputTokensAsked: 16,
      outputTokens: 16,
      outputTokensBy: 'server',
      finishReason: 'length',
      malformedEvents: 0,
    });
  }
  const { blocks } = log.take();
  expect(blocks.reduce((sum, block) => sum + block.length, 0) / 1000).toBeLessThan(130);
});

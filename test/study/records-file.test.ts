import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InputError, type Problem } from '../../src/kit/errors.ts';
import { outcomes, type RequestRecord } from '../../src/records/request.ts';
import { readRecords } from '../../src/study/records-file.ts';
import { record } from '../metrics/request-record.ts';

const dir = mkdtempSync(join(tmpdir(), 'servetune-records-'));
const path = join(dir, 'records.jsonl');
const lines = (records: readonly object[]): string => records.map((one) => `${JSON.stringify(one)}\n`).join('');
const read = (text: string | Uint8Array) => {
  writeFileSync(path, text);
  return readRecords(path);
};
async function problemsOf(text: string): Promise<readonly Problem[]> {
  const error: unknown = await read(text).then(
    () => undefined,
    (thrown) => thrown,
  );
  if (error instanceof InputError) return error.problems;
  throw error ?? new Error('nothing was wrong');
}

const timeS = fc.double({ min: 0, max: 1e6, noNaN: true });
const anyRecord: fc.Arbitrary<RequestRecord> = fc.record(
  {
    index: fc.nat(),
    outcome: fc.constantFrom(...outcomes),
    error: fc.string({ unit: 'binary' }),
    intendedSendS: timeS,
    sendS: timeS,
    tokenTimesS: fc.array(timeS),
    endS: timeS,
    promptTokens: fc.nat(),
    serverPromptTokens: fc.nat(),
    outputTokensAsked: fc.nat(),
    outputTokens: fc.nat(),
    outputTokensBy: fc.constantFrom('server', 'tokenizer', 'chunks'),
    text: fc.string({ unit: 'binary' }),
    malformedEvents: fc.nat(),
  },
  { requiredKeys: ['index', 'outcome', 'intendedSendS', 'sendS', 'tokenTimesS', 'endS', 'promptTokens', 'outputTokensAsked', 'outputTokens', 'outputTokensBy', 'malformedEvents'] },
); // biome-ignore format: the keys

describe('request records', () => {
  it('come back as they were written', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRecord, { minLength: 1, maxLength: 8 }), async (records) => {
        const kept = await read(lines(records));
        expect(JSON.stringify(kept.records)).toBe(JSON.stringify(records));
        expect(kept.notes).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it('may have keys of a newer version, empty lines, and lie in the folder of a trial', async () => {
    writeFileSync(path, `\n${JSON.stringify({ ...record({}), later: 1 })}\n\n${JSON.stringify(record({}))}\n`);
    const kept = await readRecords(dir);
    expect([kept.path, kept.records.length]).toEqual([path, 2]);
    expect(kept.records[0]).toHaveProperty('later', 1);
  });

  it('lose a last line that was cut off anywhere, with a note', async () => {
    const whole = lines([record({ index: 0 }), record({ index: 1, text: 'größe' })]);
    const bytes = Buffer.from(whole);
    const first = whole.indexOf('\n') + 1;
    for (let end = first + 1; end < bytes.length - 1; end += 7) {
      const { records, notes } = await read(bytes.subarray(0, end));
      expect([records.length, notes]).toEqual([1, [expect.stringContaining('Line 2 of')]]);
    }
    expect((await read(bytes.subarray(0, bytes.length - 1))).records).toHaveLength(2);
  });

  it('are refused with every line that is wrong, a cut line in the middle included', async () => {
    const good = JSON.stringify(record({}));
    const text = [good, good.slice(0, 40), JSON.stringify({ ...record({}), endS: -1 }), good, '7'].join('\n');
    expect((await problemsOf(text)).map(({ place, message }) => [place, message])).toEqual([
      [`${path}:2`, 'is not JSON'],
      [`${path}:3`, expect.stringContaining('endS')],
      [`${path}:5`, expect.stringContaining('is no request record')],
    ]);
  });

  it('are refused with no more problems than can be read', async () => {
    const found = await problemsOf(`${JSON.stringify(record({}))}\n${'no\n'.repeat(500)}`);
    expect(found).toHaveLength(20);
  });

  it.each([[''], [' \n\n']])('are none in %j', async (text) => {
    expect(await problemsOf(text)).toMatchObject([{ place: path, message: 'holds no record' }]);
  });

  it('are refused as one line that was cut off: there is nothing before it', async () => {
    expect(await problemsOf('{"index":0,"outco')).toMatchObject([{ place: `${path}:1`, message: 'is not JSON' }]);
  });
});

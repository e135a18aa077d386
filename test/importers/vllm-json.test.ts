import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { vllmJson } from '../../src/importers/vllm-json.ts';
import { importerContract } from '../contracts/importer.ts';

const fixture = (name: string): string =>
  readFileSync(resolve(import.meta.dirname, '../fixtures/importers', name), 'utf8');
const read = (text: string) => vllmJson.read(text, { path: 'a.json', name: 'a.json', sha256: '00' });
const old = fixture('vllm-0.11.0.json');
const newest = fixture('vllm-2026-08.json');
const oldFields = JSON.parse(old) as Record<string, unknown>;
const pretty = JSON.stringify(JSON.parse(newest), null, 2);

importerContract(vllmJson, {
  text: `${old}\n${pretty}\n${old}`,
  lines: [1, 2, 2 + pretty.split('\n').length],
  broken: { text: `${old}\n{\n  "completed": 5,\n  "duration": "long"\n}`, line: 4 },
});

describe('a result file of vLLM', () => {
  it('gives the figures of v0.11.0, which does not count failures', () => {
    const [result] = read(old);
    expect(result).toMatchObject({
      source: { version: 'vllm-0.11-like', line: 1, column: 1 },
      label: null,
      model: 'Qwen/Qwen3-14B',
      backend: 'openai-chat',
      workload: { numPrompts: 7, requestRate: 'inf', maxConcurrency: null, dataset: null },
      figures: {
        completed: 5,
        failed: null,
        durationS: 0.8,
        inputTokens: 500,
        outputTokens: 18,
        requestThroughput: 6.25,
        requestGoodput: null,
        outputThroughput: 22.5,
        totalTokenThroughput: 647.5,
        peakOutputThroughput: 14,
        peakConcurrency: 5,
      },
      extra: { date: '20251130-090218', tokenizer_id: 'Qwen/Qwen3-14B', burstiness: 1, endpoint_type: 'openai-chat' },
    });
    expect(Object.keys(result?.latencies ?? {})).toEqual(['ttft', 'tpot', 'itl', 'e2el']);
    expect(result?.latencies.ttft).toEqual({
      mean: 0.275,
      median: 0.25,
      sd: 0.16583123951777,
      percentiles: { 50: 0.25, 90: 0.45, 99: 0.495 },
    });
  });

  it('keeps keys that it does not know, of a newer version or of the user’s own metadata (case 64)', () => {
    const [result] = read(newest);
    expect(result).toMatchObject({
      source: { version: 'vllm-2026-like' },
      label: 'night',
      workload: { requestRate: 12.5, maxConcurrency: 4 },
      figures: { failed: 2 },
      extra: {
        tensor_parallel_size: '2',
        rtfx: 0,
        spec_decode_acceptance_rate: 0.71,
        spec_decode_per_position_acceptance_rates: [0.9, 0.5],
      },
    });
  });

  it('reads what is there of a file, whichever keys are missing (case 64)', () => {
    fc.assert(
      fc.property(fc.subarray(Object.keys(oldFields)), (keys) => {
        const part = Object.fromEntries([...keys, 'completed'].map((key) => [key, oldFields[key]]));
        const [result] = read(JSON.stringify(part));
        expect(result?.figures.completed).toBe(5);
        expect(result?.figures.durationS).toBe(keys.includes('duration') ? 0.8 : null);
        expect(result?.latencies.ttft?.mean ?? null).toBe(keys.includes('mean_ttft_ms') ? 0.275 : null);
      }),
    );
  });

  it('reads the spelling of early versions', () => {
    const [result] = read('{"completed": 5, "total_token_throughput": 2, "request_goodput:": 1.5}');
    expect(result?.figures.requestGoodput).toBe(1.5);
    expect(result?.source.version).toBe('vllm-before-0.11-like');
  });

  it('leaves the lists of requests in a detailed file', () => {
    const lists = { input_lens: [1], ttfts: [0.1], itls: [[0.1]], generated_texts: ['}{ "x" \\" ['], errors: [''] };
    const [result] = read(JSON.stringify({ ...oldFields, ...lists }));
    expect(result?.extra).toEqual(read(old)[0]?.extra);
    expect(result?.remarks).toEqual([
      'The lists of its requests (input_lens, ttfts, itls, generated_texts, errors) are left in the file.',
    ]);
  });

  it('leaves out what is too large to keep, and says so', () => {
    const [result] = read(JSON.stringify({ ...oldFields, steps: Array.from({ length: 50_000 }, (_, i) => i) }));
    expect(result?.extra).not.toHaveProperty('steps');
    expect(result?.remarks).toEqual(['“steps” is too large to be kept.']);
  });

  it('reads several objects however they stand, each with its place', () => {
    const one = JSON.stringify({ completed: 1, label: 'a } { b' });
    const places = (text: string) => read(text).map(({ source }) => [source.line, source.column]);
    const wide = one.length + 1;
    expect(places(`${one}\n${one}`)).toEqual([[1, 1], [2, 1]]); // biome-ignore format: pairs
    expect(places(`${one}${one}`)).toEqual([[1, 1], [1, wide]]); // biome-ignore format: pairs
    expect(places(`[${one},\n ${one}]`)).toEqual([[1, 2], [2, 2]]); // biome-ignore format: pairs
  });

  it('takes Python’s NaN and Infinity, and texts that say there is none, for null', () => {
    const [result] = read(
      '{"completed": 1, "duration": NaN, "label": "NaN", "mean_ttft_ms": -Infinity, "p95_itl_ms": "N/A"}',
    );
    expect(result).toMatchObject({
      label: 'NaN',
      figures: { durationS: null },
      latencies: { ttft: { mean: null }, itl: { percentiles: { 95: null } } },
    });
  });

  it.each([
    [`${old}\n{"completed": 3, "dura`, 'a.json:2', /does not end/],
    [`${old}\n{"completed": 3,, }`, 'a.json:2', /is no JSON/],
    [`${old}\nand some text`, 'a.json:2', /is no JSON/],
    [`${old}\n{"benchmarks": []}`, 'a.json:2', /is no result of vllm bench serve/],
    ['[1, 2]', 'a.json:1', /is no/],
    ['[]', 'a.json', /no JSON object/],
    ['{"completed": 1e999}', 'a.json:1', /too large/],
    ['{"completed": [5]}', 'a.json:1', /completed: a list is not a number/],
  ])('says what is wrong: %#', (text, place, message) => {
    try {
      read(text);
      expect.unreachable();
    } catch (error) {
      expect((error as { problems: unknown[] }).problems[0]).toMatchObject({
        place,
        message: expect.stringMatching(message),
      });
    }
  });

  it('leaves the files of other tools alone', () => {
    const sglang = '{"backend": "sglang", "completed": 5, "total_throughput": 1, "input_throughput": 2}';
    expect(vllmJson.recognises(sglang, 'a.json')).toBe(false);
    expect(vllmJson.recognises('{"benchmarks": [{"metrics": {}}]}', 'a.json')).toBe(false);
  });
});

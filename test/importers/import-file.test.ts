import { createHash } from 'node:crypto';
import { mkdtempSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandFacts, wordsOf } from '../../src/importers/command-line.ts';
import { importFile } from '../../src/importers/import-file.ts';
import { printedQuantity } from '../../src/importers/quantity.ts';
import { importers } from '../../src/importers/table.ts';
import { shellCommand } from '../../src/kit/shell.ts';

const fixtures = resolve(import.meta.dirname, '../fixtures/importers');
const dir = mkdtempSync(join(tmpdir(), 'servetune-import-'));
const file = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(dir, name), content);
  return join(dir, name);
};
const json = '{"completed": 5, "request_throughput": 2.5}';

describe('a file to import', () => {
  it.each([
    ['vllm-0.11.0.json', 'vllm-json', 1],
    ['qwen3-14b-h100.ja.txt', 'vllm-block', 15],
    ['gpt-oss-20b-h100.md', 'vllm-block', 3],
  ])('%s is recognised', (name, format, count) => {
    const results = importFile(join(fixtures, name), 'auto');
    expect(results).toHaveLength(count);
    expect(new Set(results.map(({ source }) => source.format))).toEqual(new Set([format]));
  });

  it('is named without its folders where they tell whose it is, and by the hash of its bytes', () => {
    const path = file('r.json', json);
    const sha256 = createHash('sha256').update(json).digest('hex');
    expect(importFile(path, 'auto')[0]?.source).toMatchObject({ file: 'r.json', sha256 });
    const near = relative(process.cwd(), join(fixtures, 'glm-5.2-h200.txt'));
    expect(importFile(near, 'auto')[0]?.source.file).toBe(near);
  });

  it('may be UTF-8 or UTF-16, with or without a mark', () => {
    const le = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(json, 'utf16le')]);
    const be = Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(json, 'utf16le').swap16()]);
    for (const bytes of [le, be, Buffer.from(`\ufeff${json}`), Buffer.from(json)]) {
      expect(importFile(file('wide.json', bytes), 'auto')[0]?.figures.completed).toBe(5);
    }
  });

  it('is read by the reader that was named, whatever it looks like', () => {
    expect(() => importFile(join(fixtures, 'vllm-0.11.0.json'), 'vllm-block')).toThrow(/holds no result block/);
    for (const { name } of importers) expect(() => importFile(file('x', 'x'), name)).toThrow();
  });

  it.each([
    ['missing', () => join(dir, 'nowhere'), /there is no such file/],
    ['a folder', () => dir, /is a folder/],
    ['empty', () => file('empty', ' \n'), /is empty/],
    ['binary', () => file('binary', Buffer.from([1, 2, 0, 3])), /is a binary file/],
    ['compressed', () => file('r.json.gz', gzipSync(json)), /is compressed/],
    ['in another encoding', () => file('sjis', Buffer.from([0x83, 0x78, 0x83, 0x93])), /is no text in UTF-8/],
    ['of another kind', () => file('other', 'name,value\na,1\n'), /no result in a format that servetune reads/],
    ['not regular', () => '/dev/zero', /is no regular file/],
  ])('is refused when it is %s', (_, path, message) => {
    expect(() => importFile(path(), 'auto')).toThrow(message);
  });

  it('is refused when it is too large for one text', () => {
    const path = file('huge.json', json);
    truncateSync(path, 3 * 2 ** 30);
    expect(() => importFile(path, 'auto')).toThrow(/is 3 GiB large, and 256 MiB is the most/);
  });
});

describe('a printed number', () => {
  it.each([
    ['8403.97', 8403.97],
    ['8,403.97', 8403.97],
    ['1,000', 1000],
    ['-0.5', -0.5],
    ['1.5e3', 1500],
    [' 7 ', 7],
    ['N/A', null],
    ['nan', null],
    ['None', null],
    ['-', null],
  ])('%s', (text, value) => {
    expect(printedQuantity(text)).toEqual({ value });
  });

  it.each(['8.403,97', '1,0', '12 ms', 'abc', '1,2345', '0x10', ''])('%s is none', (text) => {
    expect(printedQuantity(text)).toHaveProperty('wrong');
  });

  it('is shifted to seconds without a rounding of its own', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 12 }), (hundredths) => {
        const ms = (hundredths / 100).toFixed(2);
        const digits = String(hundredths).padStart(6, '0');
        const seconds = Number(`${digits.slice(0, -5)}.${digits.slice(-5)}`);
        expect(printedQuantity(ms, -3)).toEqual({ value: seconds });
      }),
    );
  });
});

describe('a command line', () => {
  it('is taken apart as a shell does it', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (argv) => {
        expect(wordsOf(shellCommand(argv))).toEqual(argv);
      }),
    );
    expect(wordsOf(`a "b c" d\\ e 'it'\\''s' "say \\"x\\""`)).toEqual(['a', 'b c', 'd e', "it's", 'say "x"']);
  });

  it.each([
    ['vllm serve Qwen/Qwen3-14B --port 8000', 'serving', 'Qwen/Qwen3-14B'],
    ['$ CUDA_VISIBLE_DEVICES=0 python3 -m sglang.launch_server --model-path Q/M-FP8', 'serving', 'Q/M-FP8'],
    ['trtllm-serve serve Q/M', 'serving', 'Q/M'],
    ['docker run --gpus all vllm/vllm-openai:v0.11.0 --model=Q/M', 'serving', 'Q/M'],
    ['python benchmarks/benchmark_serving.py --model Q/M --num-prompts 5', 'load', 'Q/M'],
    ['# vllm bench serve --model Q/M --num-prompts 5', 'load', 'Q/M'],
    ['npx servetune bench serve --model Q/M', 'load', 'Q/M'],
  ])('%s', (line, kind, model) => {
    expect(commandFacts(line)).toMatchObject({ kind, model });
  });

  it.each([
    'We use vllm bench serve for this.',
    '# vllm serve results',
    'pip install vllm',
    'vllm --version',
    'python3 train.py --model x',
    '',
  ])('“%s” is none', (line) => {
    expect(commandFacts(line)).toBeUndefined();
  });

  it('tells only what it says', () => {
    const nothing = { numPrompts: null, requestRate: null, maxConcurrency: null, dataset: null, inputLen: null, outputLen: null }; // biome-ignore format: one row
    expect(commandFacts('vllm bench serve --model m')?.workload).toEqual(nothing);
    const told =
      'vllm bench serve --dataset_name sharegpt --sharegpt-output-len 64 --request-rate 2.5 --num-prompts 1k';
    const workload = { ...nothing, dataset: 'sharegpt', outputLen: 64, requestRate: 2.5, numPrompts: 1000 };
    expect(commandFacts(told)?.workload).toEqual(workload);
  });

  it('is kept without its secrets', () => {
    for (const line of [
      'HF_TOKEN=plain vllm serve m --api-key plain',
      "vllm bench serve --header 'Authorization: Bearer plain' x=plain --model m",
      'docker run -e "HF_TOKEN=plain" vllm/vllm-openai --model m --api_key=plain',
      'vllm bench serve --headers k=plain',
    ]) {
      const command = commandFacts(line)?.command ?? '';
      expect(command).toContain('<redacted>');
      expect(command).not.toContain('plain');
    }
    const harmless = 'vllm serve m --max-num-batched-tokens 8192 --tokenizer Q/M';
    expect(commandFacts(harmless)?.command).toBe(harmless);
  });
});

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { vllmBlock } from '../../src/importers/vllm-block.ts';
import { resultBlock } from '../../src/metrics/result-block.ts';
import type { Distribution, Summary } from '../../src/records/summary.ts';
import { importerContract } from '../contracts/importer.ts';

const fixtures = resolve(import.meta.dirname, '../fixtures');
const fixture = (name: string): string => readFileSync(resolve(fixtures, name), 'utf8');
const read = (text: string) => vllmBlock.read(text, { path: 'a.txt', name: 'a.txt', sha256: '00' });

const japanese = fixture('importers/qwen3-14b-h100.ja.txt');
const glm = fixture('importers/glm-5.2-h200.txt');

importerContract(vllmBlock, {
  text: japanese,
  lines: [55, 108, 161, 218, 323, 348, 373, 511, 536, 561, 586, 713, 738, 763, 788],
  broken: { text: japanese.replace('3173.92', '3.173.92'), line: 61 },
});

describe('a result block of vLLM', () => {
  it('gives every figure as printed, times in seconds', () => {
    const [first] = read(japanese);
    expect(first).toMatchObject({
      figures: {
        completed: 1000,
        failed: null,
        durationS: 63.53,
        inputTokens: 217393,
        outputTokens: 201648,
        requestThroughput: 15.74,
        requestGoodput: null,
        outputThroughput: 3173.92,
        totalTokenThroughput: 6595.66,
        peakOutputThroughput: 8890,
        peakConcurrency: 1000,
      },
      latencies: {
        ttft: { mean: 22.14121, median: 21.87231, sd: null, percentiles: { 99: 31.15686 } },
        tpot: { mean: 0.22603, median: 0.11746, sd: null, percentiles: { 99: 0.62187 } },
        itl: { mean: 0.09283, median: 0.05999, sd: null, percentiles: { 99: 0.62772 } },
      },
      extra: {},
      remarks: [],
    });
  });

  it('tells the shapes of the versions apart', () => {
    const version = (text: string): string | undefined => read(text)[0]?.source.version;
    expect(version(japanese)).toBe('vllm-0.11-like');
    expect(version(japanese.replace(/Peak .*\n/g, ''))).toBe('vllm-before-0.11-like');
    expect(version(fixture('engines/vllm-0.25.1/bench-start-14b-128-4.txt'))).toBe('vllm-2026-like');
    const between = glm.replace('Benchmark duration', 'Failed requests:    0\nBenchmark duration');
    expect(version(between)).toBe('vllm-0.12-like');
  });

  it('reads latencies in seconds, and more percentiles', () => {
    expect(read(glm)[0]?.latencies.e2el).toEqual({
      mean: 651.51,
      median: 823.57,
      sd: null,
      percentiles: { 95: 857.92, 99: 858.57 },
    });
    expect(read(glm)[0]?.workload.maxConcurrency).toBe(512);
  });

  it('keeps rows that it does not know, and what was not measured as null (case 64)', () => {
    const odd = glm
      .replace('651.51', 'N/A')
      .replace('8204000', '8,204,000')
      .replace('Total generated', 'RTFx (Inverse Real-Time Factor):  1.5\nEngine:  mine\nTotal generated');
    const [result] = read(odd);
    expect(result?.latencies.e2el?.mean).toBeNull();
    expect(result?.figures.inputTokens).toBe(8_204_000);
    expect(result?.extra).toEqual({ 'RTFx (Inverse Real-Time Factor)': 1.5, Engine: 'mine' });
  });

  it('says what is odd about a block: cut, doubled rows, simulated', () => {
    const cut = glm.split('\n').slice(0, 14).join('\n');
    expect(read(`${cut}\n\nThe end: none.`)[0]).toMatchObject({
      extra: {},
      remarks: [expect.stringMatching(/no closing line/)],
    });
    const [both] = read(glm.replace(/(Mean TPOT.*\n)/, '$1$1'));
    expect(both?.remarks).toEqual(['“Mean TPOT (ms)” is there twice; the first is taken.']);
    const [simulated] = read(glm.replace(' Serving', ' SIMULATED Serving'));
    expect(simulated).toMatchObject({ extra: { simulated: true }, remarks: [expect.stringMatching(/no engine ran/)] });
  });

  it('ends a cut block where the next begins, and where its listing ends', () => {
    const cut = glm.split('\n').slice(0, 5).join('\n');
    const results = read(`${cut}\n${cut}\n\`\`\`\nSuccessful requests:   7\nvllm serve m \\\n${glm}`);
    expect(results.map(({ source, figures }) => [source.line, figures.completed, figures.outputTokens])).toEqual([
      [1, 1000, null],
      [6, 1000, null],
      [14, 1000, 1_024_000],
    ]);
    expect(results.map(({ servingCommand }) => servingCommand)).toEqual([null, null, 'vllm serve m']);
  });

  it('finds a block behind quotes, times, colours and progress bars', () => {
    const plain = read(glm)[0];
    const prefixed = (prefix: string) => glm.replace(/^(?=.)/gm, prefix);
    for (const text of [
      prefixed('> '),
      prefixed('    '),
      prefixed('2026-01-01T10:00:00.1234567Z '),
      prefixed('bench-1  | '),
      glm.replace(/^(.+)$/gm, '\u001b[32m$1\u001b[0m'),
      glm.replace(/^(?=.)/gm, ' 50%|##   |\r100%|#####|\r'),
    ]) {
      expect(read(text)[0]).toEqual({ ...plain, source: { ...plain?.source, column: expect.any(Number) } });
    }
  });

  it('names everything that is no number at once', () => {
    const broken = glm.replace('1684.76', '1.684,76').replace('608.31', '608.31 or so');
    try {
      read(broken);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({
        problems: [
          { place: 'a.txt:4', message: 'Benchmark duration (s): “1.684,76” is not a number' },
          { place: 'a.txt:8', message: expect.stringContaining('608.31 or so') },
        ],
      });
    }
  });

  it('gives back what our own block says', () => {
    const time = fc.option(fc.integer({ min: 0, max: 10 ** 9 }).map((hundredths) => hundredths / 1e5));
    const amount = fc.integer({ min: 1, max: 10 ** 9 });
    const rate = fc.option(fc.integer({ min: 0, max: 10 ** 9 }).map((hundredths) => hundredths / 100));
    const distribution = fc
      .record({ mean: time, median: time, p99: time, p999: time })
      .map(({ mean, median, p99, p999 }): Distribution => {
        return { n: 1, mean, median, sd: null, min: null, max: null, percentiles: { 99: p99, 99.9: p999 } };
      });
    const summaries = fc.record({
      ok: amount,
      failed: amount,
      durationS: amount.map((hundredths) => hundredths / 100),
      inputTokens: amount,
      outputTokens: amount,
      requestThroughput: rate,
      outputThroughput: rate,
      totalTokenThroughput: rate,
      peakOutputThroughput: rate,
      peakConcurrency: rate,
      latencies: fc.record({ ttft: distribution, tpot: distribution, itl: distribution, e2el: distribution }),
    });
    fc.assert(
      fc.property(summaries, (figures) => {
        const block = resultBlock(figures as unknown as Summary, {
          percentileMetrics: ['ttft', 'tpot', 'itl', 'e2el'],
          percentiles: [99, 99.9],
          maxConcurrency: 8,
          requestRate: 2.5,
        });
        const [result, none] = read(block);
        expect(none).toBeUndefined();
        const { ok, latencies, ...rest } = figures;
        expect(result?.figures).toEqual({ ...rest, completed: ok, requestGoodput: null });
        expect(result?.workload).toMatchObject({ maxConcurrency: 8, requestRate: 2.5 });
        for (const [name, { mean, median, percentiles }] of Object.entries(latencies)) {
          expect(result?.latencies[name]).toEqual({ mean, median, sd: null, percentiles });
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('what stands around a block', () => {
  const around = (text: string) =>
    read(text).map(({ label, model, servingCommand, command, workload }) => ({
      label,
      model,
      servingCommand,
      command,
      workload,
    }));

  it('is found in a page copied as plain text, listing numbers and all', () => {
    const found = around(japanese);
    expect(found.map(({ label }) => label)).toEqual([
      '実験結果 > 1. 推論エンジンの選択 > vLLM > ベンチマーク結果',
      'SGLang > ベンチマーク結果',
      'TensorRT-LLM > ベンチマーク結果',
      '2. 量子化：SGLang > FP8 > ベンチマーク結果',
      '3. アテンションバックエンド：SGLang > ベンチマーク結果 > fa3',
      '3. アテンションバックエンド：SGLang > ベンチマーク結果 > --attention-backend=flashinfer',
      '3. アテンションバックエンド：SGLang > ベンチマーク結果 > --attention-backend=triton',
      ...['random 32K input', 'random 4K input', 'random 2K input', 'random 128 input'].map(
        (load) => `その他のベンチマークケース > 基準設定のベンチマーク結果 > ${load}`,
      ),
      ...['random 32K input', 'random 4K input', 'random 2K input', 'random 128 input'].map(
        (load) => `その他のベンチマークケース > 最適化後のベンチマーク結果 > ${load}`,
      ),
    ]);
    expect(found.map(({ model }) => model?.replace('Qwen/Qwen3-14B', ''))).toEqual(
      ['', '', '', '-FP8', '-FP8', '-FP8', '-FP8', '', '', '', '', '-FP8', '-FP8', '-FP8', '-FP8'], // biome-ignore format: one list
    );
    expect(found[2]?.servingCommand).toBe('trtllm-serve Qwen/Qwen3-14B');
  });

  it('does not hang the commands of another section on a block', () => {
    for (const { command, workload } of around(japanese)) {
      expect(command).toBeNull();
      expect(workload.numPrompts).toBeNull();
    }
  });

  it('is found in Markdown: headings, tabs, and commands that hold below their heading', () => {
    const [first, second, third] = around(fixture('importers/gpt-oss-20b-h100.md'));
    expect(first).toMatchObject({
      label: 'GPT-OSS-20B on H100 > 1. Choosing the inference engine > vLLM > Benchmark result',
      servingCommand: 'vllm serve openai/gpt-oss-20b',
      command: null,
    });
    expect(second).toMatchObject({
      label: 'GPT-OSS-20B on H100 > Other cases > Long prompts > random 32K input',
      model: 'openai/gpt-oss-20b',
      workload: { numPrompts: 100, requestRate: 'inf', dataset: 'random', inputLen: 32000, outputLen: 100 },
    });
    expect(third).toMatchObject({
      label: 'GPT-OSS-20B on H100 > Other cases > Long prompts again, without a command',
      servingCommand: expect.stringContaining('--async-scheduling'),
      command: null,
      workload: { numPrompts: null },
    });
  });

  it('is handed on without secrets', () => {
    const told = JSON.stringify(read(fixture('importers/gpt-oss-20b-h100.md')));
    expect(told).not.toMatch(/hf_abc|sk-0123|abcdef/);
    expect(told).toContain('HF_TOKEN=<redacted>');
  });

  it('is found in a log of vLLM, which prints its options', () => {
    const log = fixture('engines/vllm-0.25.1/bench-start-14b-128-4.txt');
    const workload = { numPrompts: 1000, dataset: 'random', inputLen: 128, outputLen: 4 };
    const [withCommand] = around(log);
    expect(withCommand).toMatchObject({ label: null, model: 'Qwen3-14B', workload });
    const [optionsOnly] = around(log.split('\n').slice(1).join('\n'));
    expect(optionsOnly).toMatchObject({ command: null, workload });
  });

  it('takes a load command for the next block only, and a serving command for all', () => {
    const block = glm.trimEnd();
    const found = around(
      `vllm serve m\n\nvllm bench serve --model m --num-prompts 5\n${block}\n${block}\nvllm bench serve --model m --num-prompts=7 \\\n  --max_concurrency 2\n${block}`,
    );
    expect(found.map(({ workload }) => workload.numPrompts)).toEqual([5, null, 7]);
    expect(found.map(({ servingCommand }) => servingCommand)).toEqual(['vllm serve m', 'vllm serve m', 'vllm serve m']);
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { savedResult } from '../../src/metrics/vllm/saved.ts';
import { compatModes } from '../../src/records/compat.ts';
import { run as facts } from '../metrics/vllm/outputs.ts';
import { fixtureNames, recordedVersions, resultOf, vllmBlockText, vllmFixture } from '../metrics/vllm-fixture.ts';
import { bench, block, figure, trouble } from './bench-runs.ts';
import { folder, servetune } from './command.ts';
import { openAiServer } from './openai-server.ts';

describe.each(compatModes)('records of a run with --compat %s', (mode) => {
  it.each([
    ['openai', []],
    ['openai-chat', ['--max-concurrency', '2', '--request-rate', '50']],
    ['openai-embeddings', []],
  ])('of %s give the block that the run printed', async (backend, run) => {
    await using server = await openAiServer();
    const path = join(folder(), 'r.jsonl');
    const said = ['--compat', mode, '--metric-percentiles', '50,90,99.9', '--percentile-metrics', 'ttft,tpot,itl,e2el', '--goodput', 'e2el:20', ...run]; // biome-ignore format: one line
    const ended = await bench(server, ['--backend', backend, '--records', path, ...said]);
    expect(trouble(ended)).toEqual([]);
    const again = await servetune(['summarize', path, '--backend', backend, ...said]);
    expect(again.stderr).not.toContain('fault of servetune');
    expect(again.code).toBe(0);
    expect(block(again.stdout)).toBe(block(ended.stdout));
  });

  it('tell embeddings by themselves, and otherwise say what they were taken for', async () => {
    await using server = await openAiServer();
    const path = join(folder(), 'r.jsonl');
    const ended = await bench(server, ['--backend', 'openai-embeddings', '--compat', mode, '--records', path]);
    const embeddings = await servetune(['summarize', path, '--compat', mode]);
    expect(block(embeddings.stdout)).toBe(block(ended.stdout));
    expect(embeddings.stderr).not.toContain('--backend');
    const answers = await bench(server, ['--compat', mode, '--records', path]);
    const read = await servetune(['summarize', path, '--compat', mode]);
    expect(block(read.stdout)).toBe(block(answers.stdout));
    if (mode !== 'servetune') expect(read.stderr).toContain('read as those of openai');
  });
});

it('counts the tokens of answers that the server did not count, as the run did', async () => {
  await using server = await openAiServer({ usage: false });
  const path = join(folder(), 'r.jsonl');
  const ended = await bench(server, ['--records', path]);
  const tokenizer = join(import.meta.dirname, '../../assets/tiny-qwen3');
  const again = await servetune(['summarize', path, '--tokenizer', tokenizer]);
  expect(block(again.stdout)).toBe(block(ended.stdout));
  expect(again.stderr).toContain('by encoding the answer');
});

it('prints everything as JSON, a folder of a trial as well', async () => {
  await using server = await openAiServer();
  const dir = folder();
  const path = join(dir, 'records.jsonl');
  const result = join(dir, 'result.json');
  expect(trouble(await bench(server, ['--records', path, '--result-json', result]))).toEqual([]);
  const { code, stdout } = await servetune(['summarize', dir, '--format', 'json']);
  expect(code).toBe(0);
  const { summary } = JSON.parse(stdout) as { summary: { latencies: unknown; ok: number } };
  const saved = JSON.parse(readFileSync(result, 'utf8')) as { summary: { latencies: unknown } };
  expect(summary.latencies).toEqual(saved.summary.latencies);
  const vllm = await servetune(['summarize', path, '--format', 'json', '--compat', 'vllm-2026-08']);
  expect(JSON.parse(vllm.stdout)).toMatchObject({ completed: 6, failed: 0, num_prompts: 6, total_output_tokens: 36 });
});

describe('what vLLM saved with --save-detailed', () => {
  /** Its file has no latencies, and those of v0.11.0 no start times: lines that need them cannot come out the same. */
  const unknown = (version: string): RegExp => (version === 'vllm-0.11.0' ? /E2EL|TPOT|Peak/ : /E2EL|TPOT|Peak conc/);

  it.each(fixtureNames.flatMap((name) => recordedVersions.map((version) => [name, version] as const)))(
    '%s of %s gives the lines of its own block',
    async (name, version) => {
      const fixture = vllmFixture(name);
      const run = { ...facts, maxConcurrency: fixture.input.max_concurrency };
      const path = join(folder(), 'result.json');
      writeFileSync(path, JSON.stringify(savedResult(resultOf(fixture, version), { run, detailed: true })));
      const limits = Object.entries(fixture.input.goodput).map(([metric, ms]) => `${metric}:${ms}`);
      const { code, stdout, stderr } = await servetune([
        ...['summarize', path, '--compat', version, '--percentile-metrics', fixture.input.percentile_metrics],
        ...['--metric-percentiles', fixture.input.metric_percentiles],
        ...(limits.length > 0 ? ['--goodput', ...limits] : []),
      ]);
      expect([code, stderr]).toEqual([0, expect.stringContaining('no latencies')]);
      const known = (text: string): string[] =>
        text
          .trimEnd()
          .split('\n')
          .filter((line) => !unknown(version).test(line));
      expect(known(block(stdout))).toEqual(known(vllmBlockText(name, version)));
    },
  );

  it('is judged by servetune’s own definitions too, and calls a run without a success invalid', async () => {
    const path = join(folder(), 'result.json');
    const write = (name: (typeof fixtureNames)[number]): void =>
      writeFileSync(path, JSON.stringify(savedResult(resultOf(vllmFixture(name), 'vllm-2026-08'), { run: facts, detailed: true }))); // biome-ignore format: one line
    write('basic');
    const basic = await servetune(['summarize', path]);
    expect([basic.code, figure(basic.stdout, 'Benchmark duration (s):')]).toEqual([0, '2.12']);
    write('all-failed');
    const failed = await servetune(['summarize', path]);
    expect([failed.code, figure(failed.stdout, 'Mean TTFT (ms):')]).toEqual([3, '-']);
    expect(failed.stderr).toContain('invalid measurement');
  });
});

describe('a file that is none', () => {
  const read = async (text: string): Promise<{ code: number | null; stderr: string; path: string }> => {
    const path = join(folder(), 'r.jsonl');
    writeFileSync(path, text);
    return { ...(await servetune(['summarize', path])), path };
  };
  const good = {
    ...{
      index: 0,
      outcome: 'ok',
      intendedSendS: 0,
      sendS: 0,
      firstTokenS: 1,
      tokenTimesS: [1, 2],
      lastTokenS: 2,
      endS: 2,
    },
    ...{ promptTokens: 4, outputTokensAsked: 2, outputTokens: 2, outputTokensBy: 'server', malformedEvents: 0 },
  };
  const line = (changes: object = {}): string => JSON.stringify({ ...good, ...changes });

  it('says what is wrong with each line, at once', async () => {
    const lines = [line(), line({ endS: 'late' }), '{"index": 3, oh', line({ outcome: 'fine' }), line()];
    const { code, stderr, path } = await read(`${lines.join('\n')}\n`);
    expect(code).toBe(2);
    expect(stderr).toMatch(new RegExp(`${path}:2: is no request record: endS: .*number`));
    expect(stderr).toContain(`${path}:3: is not JSON`);
    expect(stderr).toMatch(new RegExp(`${path}:4: is no request record: outcome: `));
    expect(stderr).not.toMatch(/r\.jsonl:[15]:/);
  });

  it.each([
    ['empty', '', /holds no record/],
    ['prose', 'Successful requests: 7', /neither lines of request records nor one JSON document/],
    ['another JSON', '{"a": 1}', /r\.jsonl duration: is missing/],
    ['several results', '{"a": 1}\n{"a": 2}', /appended results has to be split/],
    ['a result without details', JSON.stringify({ duration: 1, completed: 1 }), /--save-detailed/],
  ])('%s', async (_, text, said) => {
    const { code, stderr } = await read(text);
    expect([code, stderr]).toEqual([2, expect.stringMatching(said)]);
    expect(stderr).not.toContain('fault of servetune');
  });

  it('a result of servetune names its records', async () => {
    await using server = await openAiServer();
    const dir = folder();
    const flags = ['--save-result', '--save-detailed', '--result-dir', dir, '--result-filename', 'r.json'];
    expect(trouble(await bench(server, flags))).toEqual([]);
    const { code, stderr } = await servetune(['summarize', join(dir, 'r.json')]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(join(dir, 'r.records.jsonl'))]);
    expect((await servetune(['summarize', join(dir, 'r.records.jsonl')])).code).toBe(0);
  });

  it('does not exist', async () => {
    const dir = folder();
    const { code, stderr } = await servetune(['summarize', dir]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${join(dir, 'records.jsonl')} does not exist`)]);
  });
});

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InputError, type Problem } from '../../src/kit/errors.ts';
import { parseStudy, readStudy } from '../../src/study/read.ts';
import { resolveStudy } from '../../src/study/resolve.ts';

const good = `
name: s
model: tiny-qwen3
engines: [embedded]
baseline: { engine: embedded }
stages: []
workloads: [{ name: chat }]
`;

function problemsOf(text: string): readonly Problem[] {
  try {
    parseStudy(text, 's.yaml');
  } catch (error) {
    if (error instanceof InputError) return error.problems;
    throw error;
  }
  throw new Error('nothing was wrong');
}

async function resolveProblems(text: string): Promise<readonly Problem[]> {
  try {
    await resolveStudy(parseStudy(text, 's.yaml'), { PATH: '' }, new AbortController().signal);
  } catch (error) {
    if (error instanceof InputError) return error.problems;
    throw error;
  }
  throw new Error('nothing was wrong');
}

describe('a study file', () => {
  it('fills in the defaults', () => {
    const { study } = parseStudy(good, 's.yaml');
    expect(study.objective.metric).toBe('total_token_throughput');
    expect(study.workloads[0]?.num_prompts).toBe(1000);
    expect(study.limits.stall_timeout_s).toBe(120);
  });

  it('names every problem at once, each with line, column and remedy', () => {
    const problems = problemsOf(`name: s
model: tiny-qwen3
engines: [embedded]
baseline: { engine: embedded, quantisation: q8_0 }
stages:
  - name: batch
    alternatves: []
workloads:
  - { name: chat, num_prompts: -3, max_concurency: 4 }
objective: { metric: speed }
`);
    const text = problems.map((p) => `${p.place}: ${p.message} (${p.hint})`).join('\n');
    expect(text).toContain(
      's.yaml:4:31 baseline.quantisation: unknown key “quantisation” (did you mean “quantization”?)',
    );
    expect(text).toContain(
      's.yaml:7:5 stages[0].alternatves: unknown key “alternatves” (did you mean “alternatives”?)',
    );
    expect(text).toMatch(/s\.yaml:\d+:\d+ stages\[0\]\.alternatives: is missing/);
    expect(text).toMatch(/s\.yaml:9:19 workloads\[0\]\.num_prompts: /);
    expect(text).toContain('did you mean “max_concurrency”?');
    expect(text).toMatch(/s\.yaml:10:14 objective\.metric: .*total_token_throughput/);
    expect(problems).toHaveLength(6);
  });

  it('points at bad indentation', () => {
    const [problem] = problemsOf('name: s\nworkloads:\n  - name: a\n   num_prompts: 3\n');
    expect(problem?.place).toMatch(/^s\.yaml:[34]:\d+/);
    expect(problem?.hint).toContain('one column');
  });

  it.each(['', '[]', 'just text', '42'])('that is %j is refused without a stack trace', (text) => {
    expect(problemsOf(text).length).toBeGreaterThan(0);
  });

  it('that does not exist, or is a folder, is named', () => {
    expect(() => readStudy('/nowhere/s.yaml')).toThrow(/there is no such file/);
    expect(() => readStudy(tmpdir())).toThrow(InputError);
  });
});

describe('a study against its engines', () => {
  it('knows the engines, the workloads and the model', async () => {
    const problems = await resolveProblems(
      good.replace('[embedded]', '[embeded]').replace('chat }', 'chat }, { name: chat }'),
    );
    const text = problems.map((p) => `${p.message} ${p.hint}`).join('\n');
    expect(text).toContain('did you mean “embedded”?');
    expect(text).toContain('“chat” is there twice');
  });

  it('refuses a load that goes by time and has no pace', async () => {
    const problems = await resolveProblems(good.replace('{ name: chat }', '{ name: chat, min_duration_s: 5 }'));
    expect(problems.map((p) => p.place).join()).toContain('workloads[0].min_duration_s');
  });

  it('refuses a model file that is missing or truncated', async () => {
    const missing = await resolveProblems(good.replace('tiny-qwen3', '/nowhere/model.gguf'));
    expect(missing.map((p) => p.message).join()).toMatch(/no such file|not exist|missing/i);
    const path = join(mkdtempSync(join(tmpdir(), 'servetune-')), 'cut.gguf');
    writeFileSync(path, Buffer.from('GGUF\x03\0\0\0\x05'));
    const cut = await resolveProblems(good.replace('tiny-qwen3', path));
    expect(cut).toHaveLength(1);
    expect(cut[0]?.place).toContain('s.yaml:3:1 model');
  });

  it('refuses values that the engine does not take, in baseline and alternatives, at once', async () => {
    const problems = await resolveProblems(
      `${good
        .replace('{ engine: embedded }', '{ engine: embedded, quantization: q3 }')
        .replace('stages: []', 'stages: [{ name: a, alternatives: [{ threads: many }, { cuda_graphs: false }] }]')}`,
    );
    const places = problems.map((p) => p.place).join('\n');
    expect(places).toContain('baseline.quantization');
    expect(places).toContain('stages[0].alternatives[0].threads');
    expect(places).toContain('stages[0].alternatives[1].cuda_graphs');
  });

  it('refuses a batch that is smaller than the sequences', async () => {
    const problems = await resolveProblems(
      good.replace('{ engine: embedded }', '{ engine: embedded, max_running_requests: 32, max_batched_tokens: 16 }'),
    );
    expect(problems).toHaveLength(1);
    expect(problems[0]?.place).toContain('baseline.max_batched_tokens');
    expect(problems[0]?.hint).toContain('32');
  });

  it('says that an engine is not installed, or is there in another version', async () => {
    const absent = await resolveProblems(good.replace('[embedded]', '[embedded, vllm]'));
    expect(absent.map((p) => p.hint).join()).toContain('install');
    const other = await resolveProblems(good.replace('[embedded]', '[embedded@0.0.1]'));
    expect(other[0]?.message).toMatch(/is installed, not 0\.0\.1/);
  });
});

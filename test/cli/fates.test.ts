import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { folder, processesWith, reasonAgainst, servetune, trialsOf } from './command.ts';

/** A program that acts like `vllm`, first on PATH. */
const standIns = resolve(import.meta.dirname, '../fixtures/stand-ins');
const env = { PATH: `${standIns}:${process.env.PATH}` };

let dir: string;
beforeEach(() => {
  dir = folder();
  for (const name of ['Qwen/Qwen3-14B', 'Qwen/Qwen3-14B-FP8']) putIntoCache(name);
});
afterEach(() => expect(processesWith('stand-ins/vllm')).toEqual([]));

/** Weights that were downloaded before, in the cache of Hugging Face's tools. */
function putIntoCache(name: string): void {
  const commit = '0123456789abcdef0123456789abcdef01234567';
  const model = join(dir, 'hf/hub', `models--${name.replace('/', '--')}`);
  const snapshot = join(model, 'snapshots', commit);
  mkdirSync(snapshot, { recursive: true });
  mkdirSync(join(model, 'refs'));
  writeFileSync(join(model, 'refs/main'), commit);
  writeFileSync(join(snapshot, 'config.json'), '{}');
  writeFileSync(join(snapshot, 'model.safetensors'), 'x');
}

async function study(
  alternatives: string,
  more = '',
): Promise<{ code: number | null; trials: readonly FinishedTrial[]; stdout: string }> {
  const path = join(dir, 'study.yaml');
  writeFileSync(
    path,
    `
name: fates
model: Qwen/Qwen3-14B
engines: [vllm@0.11.0]
baseline: { engine: vllm }
stages: [{ name: one, alternatives: [${alternatives}] }]
workloads: [{ name: chat, random_input_len: 16, random_output_len: 12, num_prompts: 12, max_concurrency: 4 }]
repeats: { close_calls: 2 }
limits: { start_timeout_s: 8, load_timeout_s: 30, stall_timeout_s: 3 }
${more}`,
  );
  const { code, stdout } = await servetune(['tune', path], {
    cwd: dir,
    env: { ...env, STAND_IN_MARK: join(dir, 'mark'), HF_HOME: join(dir, 'hf'), HF_HUB_OFFLINE: '1' },
  });
  return { code, stdout, trials: trialsOf(join(dir, 'runs/fates')) };
}

const fateOf = (trials: readonly FinishedTrial[], mode: number): FinishedTrial | undefined =>
  trials.find((t) => t.configuration.settings.max_running_requests === mode);

describe('what becomes of a configuration that does not work', () => {
  it('is a row with its cause and remedy, and the study goes on to a winner', async () => {
    const { code, trials, stdout } = await study(
      '{ max_running_requests: 91 }, { max_running_requests: 95 }, { max_running_requests: 93 }, { quantization: fp8 }',
    );
    expect(fateOf(trials, 91)).toMatchObject({ fate: 'out_of_memory' });
    expect(fateOf(trials, 91)?.failure?.message).toContain('CUDA out of memory');
    expect(fateOf(trials, 91)?.failure?.hint).toContain('gpu_memory_fraction');
    expect(fateOf(trials, 91)?.failure?.logTail.join('\n')).toContain('Engine core initialization failed');
    expect(fateOf(trials, 95)).toMatchObject({ fate: 'unsupported_setting' });
    expect(fateOf(trials, 93)).toMatchObject({ fate: 'out_of_memory' });
    expect(fateOf(trials, 93)?.failure?.message).toContain('under load');
    expect(code).toBe(0);
    expect(stdout).toContain('vllm serve Qwen/Qwen3-14B-FP8');
    const fp8 = trials.find((t) => t.configuration.settings.quantization === 'fp8');
    expect(fp8?.loadCommand.join(' ')).toContain('--model Qwen/Qwen3-14B-FP8 ');
    expect(trials.every((t) => t.servingCommand.includes('127.0.0.1'))).toBe(true);
    expect(readFileSync(join(dir, 'runs/fates/report.md'), 'utf8')).toContain('CUDA out of memory');
  });

  // Each of these waits for its limit, and the machine may be busy.
  it('is called hung, timed out, or late but ready, and nothing outlives its trial', async () => {
    const { code, trials } = await study(
      '{ max_running_requests: 94 }, { max_running_requests: 92 }, { max_running_requests: 96 }, { max_running_requests: 97 }',
    );
    expect(fateOf(trials, 94)).toMatchObject({ fate: 'hung' });
    expect(fateOf(trials, 92)).toMatchObject({ fate: 'timed_out' });
    expect(reasonAgainst(fateOf(trials, 96))).toBeUndefined();
    expect(fateOf(trials, 96)?.times.startS).toBeGreaterThan(0.8);
    expect(reasonAgainst(fateOf(trials, 97))).toBeUndefined();
    expect(code).toBe(0);
  }, 180_000);

  it('is tried on another port when its own was taken at the last moment', async () => {
    const { code, trials } = await study('{ max_running_requests: 98 }');
    expect(reasonAgainst(fateOf(trials, 98))).toBeUndefined();
    expect(code).toBe(0);
  });

  it('ends the study with exit code 5 when it is true of every configuration', async () => {
    const { code, stdout, trials } = await study(
      '{ max_running_requests: 95 }',
      'constraints: [{ metric: mean_ttft_ms, at_most: 0.0001 }]',
    );
    expect(new Set(trials.map((t) => t.fate)).has('unsupported_setting')).toBe(true);
    expect(stdout).toMatch(/mean_ttft_ms is [\d.]+, more than 0\.0001/);
    expect(code).toBe(5);
  });
});

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { linesOf } from './bench-runs.ts';
import { folder, processesWith, reasonAgainst, servetune, trialsOf } from './command.ts';

it('measures workloads of conversations and of a file, as bench serve does with the command in the report', async () => {
  const dir = folder();
  const prompts = join(dir, 'prompts.jsonl');
  writeFileSync(prompts, ['one', 'two', 'three', 'four'].map((word) => `${JSON.stringify({ prompt: `Count to ${word}.` })}\n`).join('')); // biome-ignore format: one line
  const study = join(dir, 'study.yaml');
  const load = 'max_concurrency: 2, num_prompts: 4, seed: 1';
  writeFileSync(
    study,
    `
name: texts
model: tiny-qwen3
engines: [embedded]
baseline: { engine: embedded, quantization: f16, threads: 1 }
stages: []
workloads:
  - { name: talk, dataset_name: sharegpt, sharegpt_output_len: 4, ${load} }
  - { name: mine, dataset_name: custom, dataset_path: ${prompts}, custom_output_len: 4, ${load} }
limits: { start_timeout_s: 60, load_timeout_s: 120, stall_timeout_s: 60 }
`,
  );
  const env = { SERVETUNE_CACHE: join(dir, 'cache') };
  const { code, stderr } = await servetune(['tune', study], { cwd: dir, env });
  expect(stderr).not.toContain('fault of servetune');
  expect(code).toBe(0);
  const runDir = join(dir, 'runs/texts');
  const trials = trialsOf(runDir);
  expect(trials.map(reasonAgainst).filter(Boolean)).toEqual([]);
  expect(new Set(trials.map(({ workload }) => workload))).toEqual(new Set(['talk', 'mine']));
  for (const { workload, summary, loadCommand } of trials) {
    expect(summary).toMatchObject({ asked: 4, ok: 4, failed: 0, outputTokens: 16 });
    const warnings = summary?.warnings.join(' ') ?? '';
    expect(warnings.includes('synthetic stand-in')).toBe(workload === 'talk');
    expect(loadCommand.join(' ')).toContain(
      workload === 'talk' ? '--dataset-name sharegpt' : `--dataset-path ${prompts}`,
    );
  }
  expect(readFileSync(join(runDir, 'report.md'), 'utf8')).toContain('synthetic stand-in');
  const records = join(runDir, 'trials/001/records.jsonl');
  expect(existsSync(records) && linesOf(records).length).toBe(4);
  const again = await servetune(['summarize', join(runDir, 'trials/001')]);
  expect(again.stdout).toMatch(/^Successful requests: +4 *$/m);
  expect(processesWith(dir)).toEqual([]);
});

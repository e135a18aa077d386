import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Running, start, trialsOf } from '../cli/command.ts';
import { type Does, modelFolder, type StandIns, standIns } from './stand-in.ts';

export interface SmallStudy extends Running {
  readonly runDir: string;
  readonly ours: StandIns;
  /** The ports that engines were started on, as far as trials are over. */
  ports(): readonly number[];
}

/** Starts a study of seconds in `dir` whose alternatives (`max_running_requests` of so many) each behave in a way of their own. */
export function startStudy(
  dir: string,
  ways: Readonly<Record<number, Does>>,
  {
    all = {},
    engine = 'vllm',
    baseline = engine,
    env = {},
    ours = standIns(
      { startS: 0.2, tokenS: 0.01, ...all },
      Object.entries(ways).map(([n, does]) => ({ has: `--max-num-seqs ${n}`, does })),
    ),
  }: { all?: Does; engine?: string; baseline?: string; env?: NodeJS.ProcessEnv; ours?: StandIns } = {},
): SmallStudy {
  const alternatives = Object.keys(ways).map((n) => `{ max_running_requests: ${n} }`);
  const path = join(dir, 'study.yaml');
  writeFileSync(
    path,
    `
name: launch
model: ${modelFolder()}
engines: [${engine}]
baseline: { engine: ${baseline} }
stages: [{ name: one, alternatives: [${alternatives.join(', ')}] }]
workloads: [{ name: chat, random_input_len: 16, random_output_len: 8, num_prompts: 24, max_concurrency: 4 }]
repeats: { close_calls: 0 }
limits: { start_timeout_s: 20, load_timeout_s: 60, stall_timeout_s: 20, stress_burst_tokens: 0 }
`,
  );
  const runDir = join(dir, 'runs/launch');
  return {
    ...start(['tune', path], { cwd: dir, env: { ...ours.env, ...env } }),
    runDir,
    ours,
    ports: () =>
      existsSync(join(runDir, 'run.db'))
        ? [...new Set(trialsOf(runDir).map(({ servingCommand: c }) => Number(c[c.indexOf('--port') + 1])))]
        : [],
  };
}

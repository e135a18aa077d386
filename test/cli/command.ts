import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { openStore } from '../../src/store/store.ts';

/** The command line as it was built; `npm test` builds before it tests. */
export const main = resolve(import.meta.dirname, '../../bin/servetune.cjs');

/** Models made for tests, shared by all of them. */
export const cacheDir = join(tmpdir(), 'servetune-test-cache');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stderr(): string;
}

/** Starts `servetune` as a user would. */
export function start(
  args: readonly string[],
  { cwd = tmpdir(), env = {} }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Running {
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...process.env, SERVETUNE_CACHE: cacheDir, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  const ended = new Promise<Ended>((done) => {
    child.on('close', (code) => done({ code, stdout, stderr }));
  });
  return { child, ended, stderr: () => stderr };
}

/** Runs `servetune` to its end. */
export const servetune = (args: readonly string[], options?: Parameters<typeof start>[1]): Promise<Ended> =>
  start(args, options).ended;

/** An empty folder. */
export const folder = (): string => mkdtempSync(join(tmpdir(), 'servetune-cli-'));

/** A study of a few seconds on the embedded engine: two stages, two workloads, little work. */
export function smallStudy(dir: string, change: (text: string) => string = (text) => text): string {
  const path = join(dir, 'study.yaml');
  const load = 'random_input_len: 16, random_output_len: 8, num_prompts: 12, max_concurrency: 4, seed: 1';
  writeFileSync(
    path,
    change(`
name: small
model: tiny-qwen3
engines: [embedded]
baseline: { engine: embedded, quantization: f16, threads: 1 }
stages:
  - { name: quantization, alternatives: [{ quantization: q4_0 }] }
  - { name: batch, alternatives: [{ max_running_requests: 2 }] }
workloads:
  - { name: chat, ${load} }
  - { name: longer, ${load.replace('16', '32')} }
repeats: { close_calls: 1 }
limits: { start_timeout_s: 60, load_timeout_s: 60, stall_timeout_s: 30 }
`),
  );
  return path;
}

/** The finished trials of a run. */
export function trialsOf(runDir: string): readonly FinishedTrial[] {
  using store = openStore(runDir, { readonly: true });
  return store.finished();
}

/** Why a trial is not a good one; a client that could not keep up is no fault on a machine that runs tests. */
export const reasonAgainst = (trial: FinishedTrial | undefined): string | undefined =>
  trial?.fate === 'measured' || /^client-bound: [^;]*(;[^;]*)*$/.test(trial?.failure?.message ?? '')
    ? undefined
    : `${trial?.fate}: ${trial?.failure?.message}`;

/** Processes whose command line mentions `text`, by the system's own account. */
export const processesWith = (text: string): readonly string[] =>
  readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { ServeOptions } from '../../src/engines/embedded/options.ts';

export interface EngineProcess {
  readonly child: ChildProcess;
  /** What it wrote so far. */
  log(): string;
  /** Its address once it listens; rejects with the log when it ends before. */
  readonly url: Promise<string>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

const entry = join(import.meta.dirname, '../fixtures/embedded/serve.mjs');

/** Starts the embedded engine from the build, as the driver does: with one libuv worker. */
export function startEngine(options: Partial<ServeOptions>, cacheDir: string): EngineProcess {
  const child = spawn(process.execPath, [entry, JSON.stringify({ model: 'tiny-qwen3', port: 0, ...options })], {
    env: { ...process.env, UV_THREADPOOL_SIZE: '1', SERVETUNE_CACHE: cacheDir },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const url = new Promise<string>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      log += chunk.toString();
      const listening = /listening on (\S+)/.exec(log);
      if (listening) resolve(listening[1] as string);
    });
    ended.then((code) => reject(new Error(`it ended with ${code}: ${log}`)));
  });
  url.catch(() => {});
  return { child, log: () => log, url, ended };
}

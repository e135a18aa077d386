// Runs a program and tells what it and everything it started cost.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { busyS } from './machine.mjs';
import { treeCpuS } from './tree.mjs';

/** bash's `time` counts every descendant that was waited for; what a program leaves behind as an orphan is not seen. */
const script = 'TIMEFORMAT="%3U %3S"; { time "$@" > "$BENCH_LOG" 2>&1 < /dev/null; } 2> "$BENCH_CPU"';

const running = new Set();

/** Ends every program that is being measured, with its process group. */
export function endPrograms() {
  for (const child of running) killGroup(child);
}

/**
 * Runs `command` (the program and its arguments), its output going to `log.txt` in `dir`. Resolves, whatever the exit
 * code, with the user and system time of its process tree: `cpuS` in all, `startCpuS` until `firstRequest()` resolved
 * (null when it did not, or where that cannot be read); and with what else the machine computed meanwhile: `otherCores`,
 * without the program, this process and `serverCpuS()`.
 */
export async function measure({ command, env, dir, timeoutS, serverCpuS, firstRequest }) {
  const log = join(dir, 'log.txt');
  const cpu = join(dir, 'cpu.txt');
  const before = { busy: busyS(), own: process.cpuUsage(), server: await serverCpuS(), at: performance.now() };
  const child = spawn('bash', ['-c', script, 'bash', ...command], {
    cwd: dir,
    env: { ...process.env, ...env, BENCH_LOG: log, BENCH_CPU: cpu },
    stdio: ['ignore', 'ignore', 'inherit'],
    // A group of its own, so that a hung client ends with everything it started.
    detached: true,
  });
  running.add(child);
  const exited = new AbortController();
  let startCpuS = null;
  const watched = firstRequest(exited.signal).then((seen) => {
    if (seen) startCpuS = treeCpuS(child.pid);
  });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup(child);
  }, timeoutS * 1000);
  const [code] = await once(child, 'exit');
  clearTimeout(timer);
  running.delete(child);
  exited.abort();
  await watched;

  const wallS = (performance.now() - before.at) / 1000;
  const own = process.cpuUsage(before.own);
  const cpuS = timedOut ? null : readCpuS(cpu);
  const knownS = (cpuS ?? 0) + (own.user + own.system) / 1e6 + (await serverCpuS()) - before.server;
  const otherCores = Math.max(0, busyS() - before.busy - knownS) / wallS;
  return { code, timedOut, wallS, cpuS, startCpuS, otherCores, log };
}

function readCpuS(file) {
  const [, userS, systemS] = /^(\d+\.\d+) (\d+\.\d+)\s*$/m.exec(readFileSync(file, 'utf8')) ?? [];
  return userS === undefined ? null : Number(userS) + Number(systemS);
}

function killGroup(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

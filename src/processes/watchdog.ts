/**
 * The watchdog: a program of its own between servetune (its owner) and one engine. It starts the engine, remembers
 * what the engine forks, and ends all of it when told to, when the engine's first process ends, and when the channel
 * to the owner closes, which the system sees to however the owner died.
 *
 * It is compiled like every other file, and the owner always starts the compiled one in `dist/`.
 */
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { now } from '../kit/clock.ts';
import { messageOf, systemCode } from '../kit/errors.ts';
import { endFamily } from './ending.ts';
import { type Family, trackFamily } from './family.ts';
import type { Exit, Notice, Order, StartOrder } from './messages.ts';
import { processEntry } from './tree.ts';

/** When nobody waits for the answer any more; with the killing that follows, all is over within 5 s. */
const lastGraceS = 2;
/** Engines fork most while they start. Whose parents came and went between two looks is found at the end, by its mark. */
const lookEveryS = { first: 0.1, later: 0.5, firstForS: 15 };

let family: Family | undefined;
let graceEndsAt = Number.POSITIVE_INFINITY;
let ending: Promise<void> | undefined;
let exited: Promise<Exit> | undefined;

function tell(notice: Notice): Promise<void> {
  return new Promise((done) => {
    if (process.connected) process.send?.(notice, undefined, undefined, () => done());
    else done();
  });
}

/** Into the engine's own log, where whoever wonders why it ended will look. */
function note(text: string): void {
  try {
    writeSync(2, `servetune watchdog: ${text}\n`);
  } catch {
    // The disk is full, or nobody reads: ending the engine matters more.
  }
}

async function start({ argv, env, cwd, outputPath, mark }: StartOrder): Promise<void> {
  const [program = '', ...args] = argv;
  // Detached: a session of its own, so that Ctrl-C in the terminal reaches the engine only through its owner.
  const child = spawn(program, args, { env, cwd, detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
  exited = new Promise((done) => {
    child.once('exit', (code, signal) => done({ code, signal }));
  });
  if (child.pid === undefined) {
    const error = await new Promise<unknown>((failed) => {
      child.once('error', failed);
    });
    return notStarted(error);
  }
  child.on('error', (error) => note(messageOf(error)));
  let startTime: string | undefined;
  try {
    // Also of a program that has ended already: it stays in the table until its exit was collected, later in this loop.
    startTime = processEntry(child.pid)?.startTime;
    if (startTime === undefined) throw new Error('the table of processes does not show what was started');
    const hints = { ...(outputPath === undefined ? {} : { outputPath }), ...(mark === undefined ? {} : { mark }) };
    family = trackFamily({ pid: child.pid, startTime }, hints);
  } catch (error) {
    process.kill(-child.pid, 'SIGKILL');
    return notStarted(error);
  }
  await tell({ kind: 'started', pid: child.pid, startTime });
  exited.then((exit) => {
    void tell({ kind: 'exited', exit });
    end(lastGraceS);
  });
  if (process.connected) look(family, now());
}

async function notStarted(error: unknown): Promise<void> {
  await tell({ kind: 'not_started', systemCode: systemCode(error) ?? null, message: messageOf(error) });
  process.exit();
}

function look(watched: Family, beganAt: number): void {
  if (ending) return;
  if (watched.refresh()) {
    const members = watched.running.map(({ pid, startTime }) => ({ pid, startTime }));
    void tell({ kind: 'members', members });
  }
  const everyS = now() - beganAt < lookEveryS.firstForS ? lookEveryS.first : lookEveryS.later;
  setTimeout(look, everyS * 1000, watched, beganAt);
}

/** Called again while it ends, it can only shorten the grace. */
function end(graceS: number, reason?: string): void {
  graceEndsAt = Math.min(graceEndsAt, now() + graceS);
  if (reason && !ending) note(reason);
  ending ??= endNow();
}

async function endNow(): Promise<void> {
  if (family) {
    const result = await endFamily(family, () => graceEndsAt);
    const rootSurvives = result.survivors.includes(family.root.pid);
    const exit = rootSurvives || !exited ? { code: null, signal: null } : await exited;
    await tell({ kind: 'ended', ended: { ...result, exit } });
  }
  process.exit();
}

process.on('message', (order: Order) => {
  if (order.kind === 'start') void start(order);
  else end(order.graceS);
});
process.on('disconnect', () => end(lastGraceS, 'servetune is gone; ending what it had started'));
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(signal, () => end(lastGraceS, `got ${signal}; ending what servetune had started`));
}
process.on('uncaughtException', (error) => end(lastGraceS, `failed: ${error.stack ?? error.message}`));

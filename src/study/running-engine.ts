import { join } from 'node:path';
import type { Engine, Environment } from '../engines/engine.ts';
import { commandWords } from '../hosts/host.ts';
import { hosts } from '../hosts/table.ts';
import { now } from '../kit/clock.ts';
import { ServetuneError } from '../kit/errors.ts';
import { rememberProcess } from '../processes/leftover.ts';
import { listensOn } from '../processes/listener.ts';
import { portFrom } from '../processes/ports.ts';
import { type Exit, type Supervised, supervise } from '../processes/supervisor.ts';
import type { Configuration } from '../records/settings.ts';
import type { StudySpec } from '../records/study.ts';
import { classify, type Failure } from './failure.ts';
import { waitUntilReady } from './ready.ts';

/** First port that is tried for an engine: vLLM's own default, so that commands look as users know them. */
export const firstPort = 8000;

/** Starts that lost the race for a port before the study believes that something else is wrong. */
const portTries = 5;

/** How an engine came up: everything that its trials have in common. */
export interface EngineStart {
  readonly baseUrl: URL;
  /** As a user would type it. */
  readonly servingCommand: readonly string[];
  readonly startS: number;
  /** Absent when it did not come up. */
  readonly running?: RunningEngine;
  readonly failure?: Failure;
}

/** An engine that serves. */
export interface RunningEngine {
  readonly engine: Engine;
  readonly engineProcess: Supervised;
  readonly baseUrl: URL;
  /** The model's name as the server knows it. */
  readonly model: string;
  readonly effectiveSettings?: Readonly<Record<string, string>>;
}

/** Starts one configuration and waits until it serves. On a failure, and when it throws, its process tree is gone. */
export async function startEngine(
  engine: Engine,
  configuration: Configuration,
  context: {
    readonly study: StudySpec;
    readonly environment: Environment;
    /** Folder for its log. */
    readonly dir: string;
    readonly signal: AbortSignal;
  },
): Promise<EngineStart> {
  let port = firstPort;
  for (let attempt = 1; ; attempt++) {
    port = await portFrom(port);
    const start = await startOnce(engine, configuration, port, context);
    // Somebody else may take the port before the engine binds it, minutes later.
    if (!start.failure?.portTaken || attempt === portTries) return start;
    port++;
  }
}

async function startOnce(
  engine: Engine,
  configuration: Configuration,
  port: number,
  { study, environment, dir, signal }: Parameters<typeof startEngine>[2],
): Promise<EngineStart> {
  const baseUrl = new URL(`http://127.0.0.1:${port}`);
  const command = servingCommandOf(engine, study, configuration, port);
  const measuring = engine.measuring ?? { argv: [], env: {} };
  const began = now();
  const engineProcess = await supervise({
    ...hostOf(study, configuration).wrap({
      argv: [...command.argv, ...measuring.argv],
      env: { ...environment, ...command.env, ...measuring.env },
    }),
    logPath: join(dir, 'engine.log'),
  });
  const common = { baseUrl, servingCommand: commandWords(command) };
  try {
    rememberProcess(dir, engineProcess);
    const ready = await becomesReady(engine, engineProcess, baseUrl, study.limits.start_timeout_s, signal);
    const startS = now() - began;
    if (typeof ready !== 'string') {
      await stopEngine(engineProcess);
      return { ...common, startS, failure: ready };
    }
    if (listensOn(engineProcess, port) === false) {
      await stopEngine(engineProcess);
      return { ...common, startS, failure: foreignServer(port) };
    }
    const effectiveSettings = await engine.effectiveSettings?.(baseUrl, signal).catch(() => undefined);
    const running = { engine, engineProcess, baseUrl, model: ready };
    return { ...common, startS, running: effectiveSettings ? { ...running, effectiveSettings } : running };
  } catch (error) {
    await engineProcess.stop();
    throw error;
  }
}

/** Somebody was faster to the port and answers in the engine's place: what it says must never be measured. */
const foreignServer = (port: number): Failure => ({
  fate: 'start_failed',
  failure: {
    message: `another program answers on port ${port}`,
    logTail: [],
    hint: 'stop the program that listens on that port',
  },
  portTaken: true,
});

/** What starts a configuration, without anything that only measuring needs. */
export const servingCommandOf = (
  engine: Engine,
  study: Pick<StudySpec, 'model'>,
  { settings, version }: Configuration,
  port: number,
): ReturnType<Engine['command']> =>
  engine.command({ model: study.model, port, settings, ...(version === undefined ? {} : { version }) });

/** Ends an engine. Throws when a part of it cannot be ended: nothing that is measured beside it could be trusted. */
export async function stopEngine(engineProcess: Supervised): Promise<void> {
  const { survivors } = await engineProcess.stop();
  if (survivors.length === 0) return;
  throw new ServetuneError('engine_survived', `a part of the engine cannot be ended: pid ${survivors.join(', ')}`, {
    hint: 'end it by hand, then go on with --resume',
  });
}

/** The served model's name, or how the start failed. */
async function becomesReady(
  engine: Engine,
  engineProcess: Supervised,
  baseUrl: URL,
  timeoutS: number,
  signal: AbortSignal,
): Promise<string | Failure> {
  const own = new AbortController();
  const exited = engineProcess.exited.then((exit) => {
    own.abort();
    return exit;
  });
  const timer = setTimeout(() => own.abort(), timeoutS * 1000);
  try {
    return await waitUntilReady(baseUrl, engine.healthPath, AbortSignal.any([signal, own.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (!own.signal.aborted) throw error;
    const exit = await Promise.race([exited, Promise.resolve(null)]);
    if (exit?.watchdogLost) throw watchdogLost();
    const otherwise =
      exit === null
        ? { fate: 'timed_out' as const, message: `not ready after ${timeoutS} s`, hint: 'raise limits.start_timeout_s' }
        : { fate: 'start_failed' as const, message: `the engine ended before it was ready (${describeExit(exit)})` };
    return classify(engine, otherwise, engineProcess.logTail(400));
  } finally {
    clearTimeout(timer);
  }
}

function hostOf(study: StudySpec, configuration: Configuration): (typeof hosts)[number] {
  const entry = study.engines.find((e) => typeof e !== 'string' && e.name === configuration.engine);
  const name = typeof entry === 'object' ? entry.host : 'local';
  const host = hosts.find((h) => h.name === name);
  if (!host) throw new Error(`no host ${name}`); // the schema's names are the table's
  return host;
}

/** Somebody killed the watchdog of an engine: no verdict on the configuration, and nothing to go on with. */
export const watchdogLost = (): ServetuneError =>
  new ServetuneError('watchdog_lost', 'the watchdog of the engine was killed, so the engine was ended', {
    hint: 'go on with --resume; the trial will be measured again',
  });

/** How a process ended, in words. */
export const describeExit = ({ code, signal }: Exit): string =>
  signal === null ? `exit code ${code}` : `signal ${signal}`;

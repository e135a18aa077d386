import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { compileCacheIn, type Engine, type Environment, type Launch } from '../engines/engine.ts';
import { type Command, commandWords, type HostedCommand } from '../hosts/host.ts';
import { now } from '../kit/clock.ts';
import { ServetuneError } from '../kit/errors.ts';
import { onRunDisk } from '../kit/files.ts';
import { rememberProcess } from '../processes/leftover.ts';
import { listensOn } from '../processes/listener.ts';
import { portFrom } from '../processes/ports.ts';
import { rememberFamily } from '../processes/reap.ts';
import { type Supervised, supervise } from '../processes/supervisor.ts';
import { processEntry } from '../processes/tree.ts';
import type { Configuration } from '../records/settings.ts';
import type { StudySpec } from '../records/study.ts';
import type { CompileCache, StartParts } from '../records/trial.ts';
import { attached, closedForS, versionAt } from './attached.ts';
import { becomesReady } from './becomes-ready.ts';
import type { Failure } from './failure.ts';
import { followObstacles } from './obstacle.ts';
import { declaredFor, hostedIn, ranIn, shownAt } from './places.ts';
import { type ExpectedServer, expectedAt, servedName } from './served-model.ts';
import { liveCommand } from './simulated/live.ts';
import { watchStart } from './start-watch.ts';
import type { ServedModel } from './target.ts';

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
  readonly parts?: StartParts;
  readonly compileCache?: CompileCache;
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
  /** As the engine tells them itself, in its log or when asked; empty where it tells none. */
  readonly effectiveSettings: Readonly<Record<string, string>>;
  /** Fields that it refuses in a request, so that no load may send them. */
  readonly refusedFields: readonly string[];
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
  const server = expectedAt(context.study, declaredFor(context.study, configuration));
  if (server !== undefined) return await attach(engine, server, context);
  let port = firstPort;
  for (let attempt = 1; ; attempt++) {
    port = await portFrom(port);
    const start = await startOnce(engine, configuration, port, context);
    // Somebody else may take the port before the engine binds it, minutes later.
    if (!start.failure?.portTaken || attempt === portTries) return start;
    port++;
  }
}

/** Measures a server that runs already, as it stands. Throws an InputError where it does not serve the study's model. */
async function attach(
  engine: Engine,
  server: ExpectedServer,
  { study, signal }: Parameters<typeof startEngine>[2],
): Promise<EngineStart> {
  const baseUrl = new URL(server.url);
  const engineProcess = attached();
  const began = now();
  let refusedFields: readonly string[] = [];
  const heard = {
    healthy() {},
    generates(fields: readonly string[]) {
      refusedFields = fields;
    },
    nameIn: (served: readonly ServedModel[]) => servedName(served, server),
    obstacles: followObstacles(closedForS),
  };
  const ready = await becomesReady(engine, engineProcess, baseUrl, study.limits.start_timeout_s, signal, heard);
  const common = { baseUrl, servingCommand: [], startS: now() - began };
  if (typeof ready !== 'string') return { ...common, failure: ready };
  const version = await versionAt(baseUrl, signal);
  const effectiveSettings = { served_model_name: ready, ...(version === undefined ? {} : { version }) };
  return { ...common, running: { engine, engineProcess, baseUrl, model: ready, effectiveSettings, refusedFields } };
}

async function startOnce(
  engine: Engine,
  configuration: Configuration,
  port: number,
  { study, environment, dir, signal }: Parameters<typeof startEngine>[2],
): Promise<EngineStart> {
  const baseUrl = new URL(`http://127.0.0.1:${port}`);
  const command = servingCommandOf(engine, study, configuration, port);
  const measuring = measuringOf(engine, study, configuration, port);
  const began = now();
  const declared = declaredFor(study, configuration);
  // Commands of a simulated study are shown as the engine's own, but what answers is its stand-in.
  const started =
    declared.host === 'simulated'
      ? liveCommand(study, configuration, port)
      : {
          argv: [...command.argv, ...measuring.argv],
          env: { ...command.env, ...measuring.env },
          files: { ...command.files, ...measuring.files },
        };
  const hosted = onRunDisk(dir, () =>
    hostedIn(dir, declared, { ...started, env: { ...passedOn(engine, environment), ...started.env } }),
  );
  const logPath = join(dir, 'engine.log');
  const logFromByte = statSync(logPath, { throwIfNoEntry: false })?.size ?? 0;
  const engineProcess = releasing(await supervise({ argv: hosted.argv, env: hosted.env, cwd: dir, logPath }), hosted);
  const common = { baseUrl, servingCommand: commandWords(shownAt(declared, command, environment)) };
  const watch = watchStart({
    root: engineProcess,
    beganS: began,
    logPath,
    logFromByte,
    parts: engine.startParts ?? [],
    // What runs in a container is no descendant of ours.
    stallTimeoutS: hosted.release === undefined ? study.limits.stall_timeout_s : null,
    onMembers: (members) => rememberFamily(dir, engineProcess, members),
  });
  try {
    onRunDisk(dir, () => rememberProcess(dir, engineProcess));
    const ready = await becomesReady(engine, engineProcess, baseUrl, study.limits.start_timeout_s, signal, watch);
    const times = { startS: now() - began, ...watch.end() };
    const compileCache = compileCacheIn(engineProcess.logTail(2000), engine.compileCache);
    const seen = { ...times, ...(compileCache ? { compileCache } : {}) };
    if (typeof ready !== 'string') {
      await stopEngine(engineProcess);
      return { ...common, ...seen, failure: ready };
    }
    if (await isForeign(engineProcess, hosted, port)) {
      await stopEngine(engineProcess);
      return { ...common, ...seen, failure: foreignServer(port) };
    }
    const image = ranIn(declared, dir);
    const told = await settingsInForce(engine, engineProcess, baseUrl, signal);
    const effectiveSettings = image === undefined ? told : { ...told, image };
    return {
      ...common,
      ...seen,
      running: {
        engine,
        engineProcess,
        baseUrl,
        model: ready,
        effectiveSettings,
        refusedFields: seen.refusedFields ?? [],
      },
    };
  } catch (error) {
    watch.end();
    await engineProcess.stop();
    throw error;
  }
}

/**
 * Whether it is certain that neither the engine nor what its host holds besides listens on its port. A container is no
 * descendant of ours: where its first process is not known, nothing is certain.
 */
async function isForeign(
  engineProcess: Supervised,
  { release, firstProcess }: HostedCommand,
  port: number,
): Promise<boolean> {
  if (release === undefined) return listensOn(engineProcess, port) === false;
  const pid = await firstProcess?.();
  const first = pid === undefined ? undefined : processEntry(pid);
  return first !== undefined && listensOn(first, port) === false;
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
  configuration: Configuration,
  port: number,
): ReturnType<Engine['command']> => engine.command(launchOf(study, configuration, port));

/** What is added for measuring. */
export const measuringOf = (
  engine: Engine,
  study: Pick<StudySpec, 'model'>,
  configuration: Configuration,
  port: number,
): Command => engine.measuring?.(launchOf(study, configuration, port)) ?? { argv: [], env: {} };

const launchOf = ({ model }: Pick<StudySpec, 'model'>, { settings, version }: Configuration, port: number): Launch => ({
  // An engine runs in the folder of its trial, where a relative path would lead elsewhere.
  model: existsSync(model) ? resolve(model) : model,
  port,
  settings,
  ...(version === undefined ? {} : { version }),
});

/** The process, and with its end the end of what its host holds besides. */
function releasing(engineProcess: Supervised, { release }: HostedCommand): Supervised {
  if (release === undefined) return engineProcess;
  const stop: Supervised['stop'] = async (graceS) => {
    const stopped = await engineProcess.stop(graceS);
    await release();
    return stopped;
  };
  return { ...engineProcess, stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}

/** The environment of the user's shell, but for what would change the engine in silence. */
const passedOn = ({ silentVariables }: Engine, environment: Environment): Environment =>
  silentVariables === undefined
    ? environment
    : Object.fromEntries(Object.entries(environment).filter(([name]) => !silentVariables.test(name)));

/** Settings as the engine tells them: in its log, and when asked. One that does not tell is no reason not to measure. */
async function settingsInForce(
  engine: Engine,
  engineProcess: Supervised,
  baseUrl: URL,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const asked = await engine.effectiveSettings?.(baseUrl, signal).catch(() => ({}));
  signal.throwIfAborted();
  return { ...engine.settingsInLog?.(engineProcess.logTail(2000)), ...asked };
}

/** Ends an engine. Throws when a part of it cannot be ended: nothing that is measured beside it could be trusted. */
export async function stopEngine(engineProcess: Supervised): Promise<void> {
  const { survivors } = await engineProcess.stop();
  if (survivors.length === 0) return;
  throw new ServetuneError('engine_survived', `a part of the engine cannot be ended: pid ${survivors.join(', ')}`, {
    hint: 'end it by hand, then go on with --resume',
  });
}

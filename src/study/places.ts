import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Ask, Engine, Environment } from '../engines/engine.ts';
import { engines } from '../engines/table.ts';
import type { Command, Host, HostedCommand, Place } from '../hosts/host.ts';
import { hosts } from '../hosts/table.ts';
import { ServetuneError } from '../kit/errors.ts';
import { runToEnd } from '../processes/run.ts';
import type { Configuration } from '../records/settings.ts';
import type { StudySpec } from '../records/study.ts';

/** One entry under `engines:`, whichever way it was written. */
export interface DeclaredEngine {
  readonly name: string;
  readonly version?: string;
  readonly host: string;
  readonly python?: string;
  readonly image?: string;
  /** Of a server that runs already. */
  readonly url?: string;
  /** Of the model on such a server, where it is not the model's own. */
  readonly served_model_name?: string;
}

export function declaredEngine(entry: StudySpec['engines'][number]): DeclaredEngine {
  if (typeof entry !== 'string') {
    const { name, version, host, python, image, url, served_model_name } = entry;
    return {
      name,
      host,
      ...(version === undefined ? {} : { version }),
      ...(python === undefined ? {} : { python }),
      ...(image === undefined ? {} : { image }),
      ...(url === undefined ? {} : { url }),
      ...(served_model_name === undefined ? {} : { served_model_name }),
    };
  }
  const [name = '', version] = entry.split('@', 2);
  return { name, host: 'local', ...(version === undefined ? {} : { version }) };
}

/** An engine by its name; throws for a name that is not in the table. */
export function engineNamed(name: string): Engine {
  const engine = engines.find((e) => e.name === name);
  if (!engine) throw new ServetuneError('unknown_engine', `there is no engine ${name}`);
  return engine;
}

/** The entry of a study that a configuration is started by: two versions of one engine may be two entries. */
export function declaredFor(study: Pick<StudySpec, 'engines'>, configuration: Configuration): DeclaredEngine {
  const entries = study.engines.map(declaredEngine).filter(({ name }) => name === configuration.engine);
  const { engine, version } = configuration;
  return entries.find((entry) => entry.version === version) ?? entries[0] ?? { name: engine, host: 'local' };
}

/** A simulated engine has the commands that it would have on this machine. */
function hostNamed(name: string): Host {
  const host = hosts.find((h) => h.name === (name === 'simulated' ? 'local' : name));
  if (!host) throw new Error(`no host ${name}`); // the schema's names are the table's
  return host;
}

function placeOf({ name, version, python, image }: DeclaredEngine, dir?: string): Place {
  const engine = engineNamed(name);
  const ownImage = version === undefined ? undefined : engine.image?.(version);
  const packages = version === undefined ? undefined : engine.packages?.(version);
  return {
    engine: name,
    isPython: engine.packages !== undefined,
    ...(version === undefined ? {} : { version }),
    ...(python === undefined ? {} : { python }),
    ...(image === undefined && ownImage === undefined ? {} : { image: (image ?? ownImage) as string }),
    ...(packages === undefined ? {} : { packages }),
    ...(dir === undefined ? {} : { dir: resolve(dir) }),
  };
}

/** Fetches what an engine needs to be started at all: a container image, the packages of its environment. */
export const prepareHost = async (
  declared: DeclaredEngine,
  environment: Environment,
  signal: AbortSignal,
): Promise<void> => await hostNamed(declared.host).prepare?.(placeOf(declared), environment, signal);

/** Whether its host can start it, by what is on this machine; throws an InputError. Only for hosts that leave no trace. */
export function checkHost(declared: DeclaredEngine, environment: Environment): void {
  hostNamed(declared.host).wrap({ argv: ['python3'], env: environment }, placeOf(declared));
}

/** The container image that an engine is started from; undefined where none is known. */
export const imageOf = (declared: DeclaredEngine): string | undefined => placeOf(declared).image;

/** What uv installs to get an engine. */
export const packagesOf = (declared: DeclaredEngine): readonly string[] => placeOf(declared).packages ?? [];

/** What exactly ran in the folder of a trial: the digest of an image. */
export const ranIn = (declared: DeclaredEngine, dir: string): string | undefined =>
  hostNamed(declared.host).ranIn?.(dir);

/** Ends what hosts other than this machine left behind in the folder of a trial. */
export async function endLeftIn(dir: string, environment: Environment): Promise<void> {
  for (const host of hosts) await host.endLeftIn?.(dir, environment);
}

/** Runs short commands of an engine where the engine would run. */
export function askAt(declared: DeclaredEngine, environment: Environment, signal: AbortSignal): Ask {
  return async (argv, timeoutS) => {
    const hosted = hostNamed(declared.host).wrap({ argv, env: environment }, placeOf(declared));
    try {
      return await runToEnd(hosted.argv, { env: hosted.env, timeoutS, signal });
    } finally {
      await hosted.release?.();
    }
  };
}

/** What starts a command where the engine would run, as a user would type it; `command.env` is what it adds. */
export function shownAt(declared: DeclaredEngine, command: Command, environment: Environment): Command {
  const { silentVariables } = engineNamed(declared.name);
  const passed = Object.entries(environment).filter(([name]) => silentVariables?.test(name) !== true);
  return hostNamed(declared.host).shown(command, placeOf(declared), Object.fromEntries(passed));
}

/** The command that really starts a configuration in `dir`; its files are there then. */
export function hostedIn(dir: string, declared: DeclaredEngine, command: Command): HostedCommand {
  for (const [name, text] of Object.entries(command.files ?? {})) writeFileSync(join(dir, name), text);
  return hostNamed(declared.host).wrap(command, placeOf(declared, dir));
}

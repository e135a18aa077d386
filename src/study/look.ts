import type { Environment } from '../engines/engine.ts';
import { InputError, messageOf, type Problem, ServetuneError } from '../kit/errors.ts';
import { engineLabel } from '../records/settings.ts';
import { versionAt } from './attached.ts';
import { flagsOf } from './flag-check.ts';
import { askAt, type DeclaredEngine, engineNamed, prepareHost } from './places.ts';

/** What was found where an engine would run. */
export interface Looked {
  readonly version: string | undefined;
  /** Of the installed engine, as its own help names them. */
  readonly flags?: ReadonlySet<string>;
  readonly problems: readonly Problem[];
}

/** How engines are looked at. */
export interface LookOptions {
  readonly mustBeInstalled: boolean;
  readonly asksFlags: boolean;
  /** Told what is being looked at, and what was found wrong while others are still being looked at. */
  onLook?(what: string): void;
}

/**
 * Longest that the others are still looked at once one engine cannot be started, seconds: long enough to find what is
 * wrong with them as well, too short for a download that the study cannot use yet.
 */
const graceS = 30;

/**
 * Asks every engine for its version, and where need be for its flags, where it would run; fetches what it needs for that.
 * What is wrong with any of them is in the results. Rejects with the signal's reason, and with faults of our own; nothing
 * is at work any more then.
 *
 * @param place where the entry stands, by its number
 */
export async function lookAtEngines(
  declared: readonly DeclaredEngine[],
  place: (index: number) => string,
  environment: Environment,
  signal: AbortSignal,
  options: LookOptions,
): Promise<readonly Looked[]> {
  const others = new AbortController();
  const within = AbortSignal.any([signal, others.signal]);
  let timer: NodeJS.Timeout | undefined;
  const looked = await Promise.allSettled(
    declared.map(async (entry, i): Promise<Looked> => {
      try {
        const found = await lookAt(entry, place(i), environment, within, options);
        if (found.problems.length > 0) timer ??= setTimeout(() => others.abort(), graceS * 1000);
        return found;
      } catch (error) {
        signal.throwIfAborted();
        // Given up for another's sake: nothing is known of it.
        if (others.signal.aborted) return { version: entry.version, problems: [] };
        if (!(error instanceof ServetuneError)) {
          others.abort();
          throw error;
        }
        timer ??= setTimeout(() => others.abort(), graceS * 1000);
        if (declared.length > 1) options.onLook?.(`${placeLabel(entry)} cannot be used: ${firstLine(error)}`);
        return { version: entry.version, problems: problemsIn(error, place(i)) };
      }
    }),
  );
  clearTimeout(timer);
  return looked.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}

const firstLine = (error: Error): string => messageOf(error).split('\n')[0] as string;

const problemsIn = (error: ServetuneError, at: string): readonly Problem[] =>
  error instanceof InputError
    ? error.problems.map((p) => ({ ...p, place: `${at}: ${p.place}` }))
    : [{ place: at, message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) }];

/** `vllm@0.11.0 (uv)`, `vllm (/opt/vllm/bin/python)`. */
export const placeLabel = ({ name, version, host, python, url }: DeclaredEngine): string => {
  const where = url ?? (host === 'local' && python ? python : host);
  return `${engineLabel({ engine: name, ...(version === undefined ? {} : { version }) })} (${where})`;
};

async function lookAt(
  entry: DeclaredEngine,
  at: string,
  environment: Environment,
  signal: AbortSignal,
  { mustBeInstalled, asksFlags, onLook }: LookOptions,
): Promise<Looked> {
  const { name, version, url, host } = entry;
  if (!mustBeInstalled && version !== undefined) return { version, problems: [] };
  const engine = engineNamed(name);
  const ask = askAt(entry, environment, signal);
  try {
    const takesLong = host !== 'local' || engine.help !== undefined;
    if (mustBeInstalled && takesLong) onLook?.(`examining ${placeLabel(entry)} ...`);
    if (mustBeInstalled) await prepareHost(entry, environment, signal);
    const served = url === undefined ? undefined : ((await versionAt(new URL(url), signal)) ?? version);
    const found = served ?? (await engine.version(ask));
    const flags = asksFlags ? await flagsOf(engine, ask) : undefined;
    const installed = { version: found, ...(flags ? { flags } : {}) };
    if (version === undefined || version === found) return { ...installed, problems: [] };
    return { ...installed, version, problems: [otherVersion(entry, found, at)] };
  } catch (error) {
    // Where it will run it may be there.
    if (!mustBeInstalled && error instanceof InputError) return { version, problems: [] };
    throw error;
  }
}

/** An engine that is there in another version than the study names. */
export const otherVersion = ({ name, version, url }: DeclaredEngine, found: string, place: string): Problem => ({
  place,
  message:
    url === undefined ? `${name} ${found} is installed, not ${version}` : `${url} has version ${found}, not ${version}`,
  hint: `${url === undefined ? `install ${name} ${version}` : 'give the url of that version'}, or leave the version out`,
});

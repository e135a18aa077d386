import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../engines/engine.ts';
import { containerIn, endContainerIn } from '../../hosts/docker.ts';
import { InputError, messageOf, ServetuneError } from '../../kit/errors.ts';
import { invoked } from '../../kit/invocation.ts';
import { acquireLock } from '../../processes/lock.ts';
import { findLeftovers, type Reaped, reap } from '../../processes/reap.ts';
import { isRun } from '../../store/store.ts';
import { type Finding, problem } from './finding.ts';

/** A container that was started for a trial and never removed. */
export interface LeftContainer {
  /** Folder of the trial. */
  readonly dir: string;
  readonly id: string;
}

/** What became of everything that earlier runs had left. */
export interface Reaping {
  readonly processes: readonly Reaped[];
  readonly containers: readonly (LeftContainer & { /** Why it is still there. */ readonly failure?: string })[];
  /** Runs that were passed over, each with who is at work on it. */
  readonly passedOver: readonly { readonly dir: string; readonly reason: string }[];
}

/** Engines that earlier runs have left behind: they hold memory, and slow down whatever is measured. */
export const leftoverFindings = (folder: string): readonly Finding[] => {
  const hint = `${invoked('doctor --reap')} ends it`;
  return [
    ...findLeftovers(folder).map(({ dir, running }) =>
      problem('leftover', `an engine of ${dir} still runs: pid ${running.map(({ pid }) => pid).join(', ')}`, hint),
    ),
    ...leftContainers(folder).map(({ dir, id }) =>
      problem('leftover', `the container of ${dir} was never removed: ${id.slice(0, 12)}`, hint),
    ),
  ];
};

/**
 * Ends what earlier runs left behind, in one run's folder or in a folder of runs: processes by the number and start time
 * that were noted, containers by their id. Runs that somebody is at work on are passed over.
 */
export async function reapIn(folder: string, environment: Environment): Promise<Reaping> {
  const containers: Reaping['containers'][number][] = [];
  // The container first: it is what the client in front of it waits for.
  for (const left of leftContainers(folder)) {
    try {
      await endContainerIn(left.dir, environment);
      containers.push(left);
    } catch (error) {
      if (!(error instanceof ServetuneError)) throw error;
      containers.push({ ...left, failure: messageOf(error) });
    }
  }
  const passedOver = runsIn(folder).flatMap((dir) => {
    const reason = existsSync(join(dir, 'lock.json')) ? userOf(dir) : undefined;
    return reason === undefined ? [] : [{ dir, reason }];
  });
  return { processes: await reap(findLeftovers(folder)), containers, passedOver };
}

/** Containers noted in the trials of a run, or of the runs in a folder. */
function leftContainers(folder: string): readonly LeftContainer[] {
  return runsIn(folder).flatMap((run) => {
    const left = foldersIn(join(run, 'trials')).flatMap((dir) => {
      const id = containerIn(dir);
      return id === undefined ? [] : [{ dir, id }];
    });
    return left.length > 0 && userOf(run) === undefined ? left : [];
  });
}

const runsIn = (folder: string): readonly string[] => (isRun(folder) ? [folder] : foldersIn(folder).filter(isRun));

/** Who is at work on a run, in words; undefined when nobody is. */
function userOf(run: string): string | undefined {
  try {
    acquireLock(run).release();
    return undefined;
  } catch (error) {
    // Somebody holds it, or it cannot be told: then it is not ours to touch.
    if (error instanceof InputError) return error.problems.map(({ message }) => message).join('; ');
    throw error;
  }
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(folder, name))
      .sort();
  } catch {
    return []; // there is none
  }
}

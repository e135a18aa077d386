import { existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../engines/engine.ts';
import { InputError, messageOf } from '../kit/errors.ts';
import { acquireLock } from '../processes/lock.ts';
import { isRun, openStore } from '../store/store.ts';
import { endLeftovers } from '../study/tune.ts';

/** Folder of a run that was named by its path, or by its name under `./runs`. */
export function runDirOf(named: string): string {
  const under = join('runs', named);
  return !isRun(named) && isRun(under) ? under : named;
}

/**
 * Puts an earlier run out of the way of a new one: `quickstart` becomes `quickstart.1`. Nothing is deleted. Throws an
 * InputError while a process works on it.
 */
export async function setAside(dir: string, environment: Environment): Promise<string | undefined> {
  if (!existsSync(dir)) return undefined;
  if (!isRun(dir)) {
    if (statSync(dir).isDirectory() && readdirSync(dir).length === 0) return undefined;
    throw new InputError([
      { place: dir, message: 'is there, and is no run', hint: 'choose another folder with --run' },
    ]);
  }
  acquireLock(dir).release();
  {
    using store = openStore(dir, { readonly: true });
    await endLeftovers(dir, store, environment);
  }
  let number = 1;
  while (existsSync(`${dir}.${number}`)) number++;
  try {
    renameSync(dir, `${dir}.${number}`);
  } catch (error) {
    throw new InputError([
      { place: dir, message: `cannot be put aside: ${messageOf(error)}`, hint: 'choose another folder with --run' },
    ]);
  }
  return `${dir}.${number}`;
}

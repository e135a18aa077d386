import { accessSync, constants, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Environment } from '../../engines/engine.ts';
import { defaultCacheDir } from '../../kit/cache-dir.ts';
import { hubCacheIn } from '../../kit/hub-cache.ts';
import { formatBytes } from '../../kit/words.ts';
import { type Finding, note, ok, problem } from './finding.ts';

const gib = 1024 ** 3;
/** Records and logs of a run: a few MiB a trial. */
const runsNeed = gib;
/** A model of 14 billion parameters in BF16, and once more in FP8. */
const modelsNeed = 50 * gib;
/** The ShareGPT file, prompts that are kept, and models that are converted here. */
const cacheNeeds = 2 * gib;

/** Room and permission where runs, models and prompts go. */
export function diskFindings(
  environment: Environment,
  { gpuCount }: { readonly gpuCount: number },
): readonly Finding[] {
  const models = hubCacheIn(environment);
  return [
    folderFinding('runs', resolve('runs'), { least: runsNeed, severe: true, hint: 'use --run on a larger disk' }),
    ...(models === null
      ? [note('models', 'neither HF_HOME nor HOME is set, so engines do not know where models go', 'export HF_HOME')]
      : [
          folderFinding('models', models, {
            least: gpuCount > 0 ? modelsNeed : 0,
            severe: false,
            hint: 'let HF_HOME name a folder on a larger disk',
          }),
        ]),
    folderFinding('servetune’s cache', defaultCacheDir(environment), {
      least: cacheNeeds,
      severe: false,
      hint: 'let SERVETUNE_CACHE name a folder on a larger disk',
    }),
  ];
}

/** Room in a folder, which need not exist yet, and whether it can be written. `severe`: no study runs without. */
export function folderFinding(
  what: string,
  path: string,
  { least, severe, hint }: { readonly least: number; readonly severe: boolean; readonly hint: string },
): Finding {
  const complain = (message: string): Finding => (severe ? problem : note)(what, message, hint);
  const existing = nearestFolder(path);
  if (!mayWrite(existing)) return complain(`${path} cannot be written`);
  const free = freeBytes(existing);
  if (free === null) return note(what, `${path}: the system does not tell how much room there is`);
  const message = `${path}: ${formatBytes(free, 'en')} free`;
  return free < least ? complain(`${message}, and ${formatBytes(least, 'en')} are soon used`) : ok(what, message);
}

/** The folder itself, or the nearest above it that exists. */
function nearestFolder(path: string): string {
  let folder = resolve(path);
  while (!exists(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

const exists = (path: string): boolean => may(path, constants.F_OK);
const mayWrite = (path: string): boolean => may(path, constants.W_OK | constants.X_OK);

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

function freeBytes(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}

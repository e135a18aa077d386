import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkModelFile } from '../engines/embedded/model/cache.ts';
import type { Environment } from '../engines/engine.ts';
import { messageOf, type Problem, systemCode } from '../kit/errors.ts';
import { readReference } from '../weights/reference.ts';

/**
 * What is wrong inside the files of a model that is on this disk: a file that is not GGUF, or is cut off, and a
 * `config.json` that cannot be parsed. Files that are missing are `resolveCheckpoint`'s matter.
 */
export async function localModelProblems(model: string, environment: Environment): Promise<readonly Problem[]> {
  const reference = readReference(model, environment);
  if (reference.kind === 'gguf' && /\.gguf$/i.test(reference.path)) return checkModelFile(reference.path);
  if (reference.kind !== 'folder') return [];
  const path = join(reference.path, 'config.json');
  try {
    const config: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof config === 'object' && config !== null && !Array.isArray(config)) return [];
    return [broken(path, 'holds no object')];
  } catch (error) {
    return systemCode(error) === 'ENOENT' ? [] : [broken(path, `cannot be read: ${messageOf(error)}`)];
  }
}

const broken = (path: string, message: string): Problem => ({
  place: path,
  message,
  hint: 'copy or download it once more',
});

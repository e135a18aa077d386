import { readdir, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { readJson } from '../kit/json-file.ts';
import { sizeOf } from './disk.ts';
import { isWeights } from './needed-files.ts';

/** A file that lies here. */
export interface HeldFile {
  readonly path: string;
  readonly bytes: number;
  /** From the hub's cache, which names large files so; null elsewhere. */
  readonly sha256: string | null;
}

const shardIndex = z.object({ weight_map: z.record(z.string(), z.string()) });

/** All files below a folder by their path in it; links are followed, and a link to nothing is left out. */
export async function filesIn(folder: string): Promise<readonly HeldFile[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = await Promise.all(
    names.map(async (name): Promise<HeldFile | null> => {
      const path = join(folder, name);
      const bytes = await sizeOf(path);
      if (bytes === null) return null;
      const content = basename(await realpath(path));
      return { path: name.replaceAll('\\', '/'), bytes, sha256: /^[0-9a-f]{64}$/.test(content) ? content : null };
    }),
  );
  return files.filter((file) => file !== null).sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * What a folder lacks to be a model, by what its own files tell: the configuration, weights, and parts of the weights
 * that an index or the number of parts in a file's name promises. Empty where it is whole, as far as can be seen.
 */
export async function missingIn(
  folder: string,
  files: readonly HeldFile[],
  withWeights: boolean,
): Promise<readonly string[]> {
  const here = new Set(files.map(({ path }) => path));
  const missing = new Set<string>();
  const gguf = files.some(({ path }) => /\.gguf$/i.test(path));
  if (!gguf && !here.has('config.json') && !here.has('params.json')) missing.add('config.json');
  if (!withWeights) return [...missing];

  if (!files.some(({ path }) => isWeights(path))) missing.add('weights (*.safetensors, *.bin, *.gguf)');
  for (const index of indexesToHold(here)) {
    const read = await readJson(join(folder, index), shardIndex);
    for (const path of Object.values(read?.weight_map ?? {})) if (!here.has(path)) missing.add(path);
  }
  for (const path of here) for (const part of partsOf(path, here)) if (!here.has(part)) missing.add(part);
  return [...missing].sort();
}

/** A folder with both may lack the second kind altogether. */
function indexesToHold(here: ReadonlySet<string>): readonly string[] {
  const safetensors = 'model.safetensors.index.json';
  const torch = 'pytorch_model.bin.index.json';
  if (here.has(safetensors)) return [safetensors];
  return here.has(torch) && ![...here].some((path) => path.endsWith('.safetensors')) ? [torch] : [];
}

/** `model-00002-of-00003.safetensors` promises three files; some count them from nought. */
function partsOf(path: string, here: ReadonlySet<string>): readonly string[] {
  const [, before, of, ending] = /^(.*-)\d{5}-of-(\d{5})(\.(?:safetensors|gguf))$/.exec(path) ?? [];
  if (before === undefined) return [];
  const named = (n: number): string => `${before}${String(n).padStart(5, '0')}-of-${of}${ending}`;
  const first = here.has(named(0)) ? 0 : 1;
  return Array.from({ length: Number(of) }, (_, i) => named(first + i));
}

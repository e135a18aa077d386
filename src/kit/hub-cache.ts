import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The environment as given by whoever may read it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `Qwen/Qwen3-14B`, and names without an owner, as the first models have them (`gpt2`). */
const hubId = /^(?:[\w.-]+\/)?[\w.-]+$/;

export const isHubId = (name: string): boolean => hubId.test(name) && !/(?:^|\/)\.+(?:\/|$)/.test(name);

/** As huggingface_hub reads its switches. */
export const isOn = (value: string | undefined): boolean => /^(?:1|on|yes|true)$/i.test(value ?? '');

/**
 * Where Hugging Face's programs keep what belongs to the user: `HF_HOME`, else `huggingface` in the user's cache folder.
 * Null where the environment tells nothing.
 */
export function hubHomeIn(env: Environment): string | null {
  const caches = env.XDG_CACHE_HOME || (env.HOME && join(env.HOME, '.cache'));
  const home = env.HF_HOME || (caches && join(caches, 'huggingface'));
  return home ? expanded(home, env) : null;
}

/** Where they keep what they have downloaded: `HF_HUB_CACHE`, else `hub` in their home. */
export function hubCacheIn(env: Environment): string | null {
  const given = env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE;
  if (given) return expanded(given, env);
  const home = hubHomeIn(env);
  return home === null ? null : join(home, 'hub');
}

/** A path as Python's `expanduser` reads it; a shell leaves `~` as it is in the middle of a word. */
export const expanded = (path: string, env: Environment): string =>
  env.HOME && /^~(?:\/|$)/.test(path) ? join(env.HOME, path.slice(1)) : path;

/** The folder of a model in a cache of the hub, whether it is there or not. */
export const hubModelFolder = (cache: string, id: string): string => join(cache, `models--${id.replace('/', '--')}`);

/**
 * The folder of the downloaded model `id`, in its main revision, or else in the latest one that has a tokenizer; null
 * where it was not downloaded. What it holds depends on what was asked for then: perhaps no `tokenizer.json`.
 */
export async function hubFolder(id: string, env: Environment): Promise<string | null> {
  const cache = hubCacheIn(env);
  if (cache === null || !isHubId(id)) return null;
  const main = await hubSnapshot(cache, id, 'main');
  if (main !== null) return main.path;
  const snapshots = join(hubModelFolder(cache, id), 'snapshots');
  try {
    const dated = await Promise.all(
      (await readdir(snapshots)).map(async (name) => {
        const path = join(snapshots, name);
        const written = (file: string): Promise<number> => stat(file).then(({ mtimeMs }) => mtimeMs, () => 0); // biome-ignore format: short
        return { path, tokenizer: await written(join(path, 'tokenizer.json')), any: await written(path) };
      }),
    );
    return dated.sort((a, b) => b.tokenizer - a.tokenizer || b.any - a.any)[0]?.path ?? null;
  } catch {
    return null;
  }
}

/** The downloaded files of one revision, a branch, a tag or a commit; null where it was not downloaded. */
export async function hubSnapshot(
  cache: string,
  id: string,
  revision: string,
): Promise<{ readonly path: string; readonly commit: string } | null> {
  const folder = hubModelFolder(cache, id);
  const named = await readFile(join(folder, 'refs', revision), 'utf8').catch(() => '');
  const commit = named.trim() || revision;
  if (!/^[\w-]+$/.test(commit)) return null;
  const path = join(folder, 'snapshots', commit);
  const there = await stat(path).then((found) => found.isDirectory(), () => false); // biome-ignore format: short
  return there ? { path, commit } : null;
}

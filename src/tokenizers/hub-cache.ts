import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The environment as given by whoever may read it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `Qwen/Qwen3-14B`, and names without an owner, as the first models have them (`gpt2`). */
const hubId = /^(?:[\w.-]+\/)?[\w.-]+$/;

export const isHubId = (name: string): boolean => hubId.test(name) && !/^\.+(?:\/|$)/.test(name);

/**
 * Where Hugging Face's programs keep what they have downloaded: `HF_HUB_CACHE`, else `hub` in `HF_HOME`, else that in
 * `huggingface` in the user's cache folder. Null where the environment tells nothing.
 */
export function hubCacheIn(env: Environment): string | null {
  const given = env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE;
  if (given) return given;
  const caches = env.XDG_CACHE_HOME || (env.HOME && join(env.HOME, '.cache'));
  const home = env.HF_HOME || (caches && join(caches, 'huggingface'));
  return home ? join(home, 'hub') : null;
}

/**
 * The folder of the downloaded model `id`, in its main revision, or else in the latest one that has a tokenizer; null
 * where it was not downloaded. What it holds depends on what was asked for then: perhaps no `tokenizer.json`.
 */
export async function hubFolder(id: string, env: Environment): Promise<string | null> {
  const cache = hubCacheIn(env);
  if (cache === null || !isHubId(id)) return null;
  const folder = join(cache, `models--${id.replace('/', '--')}`);
  const snapshots = join(folder, 'snapshots');
  try {
    const main = (await readFile(join(folder, 'refs', 'main'), 'utf8').catch(() => '')).trim();
    const names = await readdir(snapshots);
    if (main !== '' && names.includes(main)) return join(snapshots, main);

    const dated = await Promise.all(
      names.map(async (name) => {
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

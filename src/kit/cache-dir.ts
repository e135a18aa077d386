import { homedir } from 'node:os';
import { join } from 'node:path';

/** `$SERVETUNE_CACHE`, else `$XDG_CACHE_HOME/servetune`, else `~/.cache/servetune`; an empty variable counts as unset. */
export function defaultCacheDir(env: Readonly<Record<string, string | undefined>>): string {
  if (env.SERVETUNE_CACHE) return env.SERVETUNE_CACHE;
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'servetune');
}

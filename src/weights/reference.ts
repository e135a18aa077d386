import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Environment, expanded, isHubId } from '../kit/hub-cache.ts';

/** What the name of a model means. */
export type Reference =
  | { readonly kind: 'folder' | 'gguf'; readonly path: string }
  | { readonly kind: 'no file'; readonly path: string }
  | {
      readonly kind: 'hub';
      readonly id: string;
      readonly revision: string | null;
      /** Of a repository of GGUF files the wanted one: its name, or the quantization (`Q4_K_M`) after a colon. */
      readonly pick: string | null;
    }
  | { readonly kind: 'nonsense' };

/**
 * Reads the name of a model as the engines do: what exists here is meant, else a name on a hub, with `@REVISION` (a
 * branch, a tag or a commit) and for GGUF files `:QUANTIZATION` or `/FILE.gguf` after it.
 */
export function readReference(name: string, environment: Environment): Reference {
  const path = resolve(expanded(name, environment));
  if (name !== '' && existsSync(path)) return { kind: statSync(path).isDirectory() ? 'folder' : 'gguf', path };
  if (/^(?:[/~\\]|\.{1,2}(?:[/\\]|$))/.test(name)) return { kind: 'no file', path };

  const [, whole = '', revision = null] = /^([^@]*)(?:@(.+))?$/.exec(name) ?? [];
  const [, id = '', tag, file] = /^([^/:]+(?:\/[^/:]+)?)(?::([\w.-]+)|\/(.+\.gguf))?$/i.exec(whole) ?? [];
  if (isHubId(id) && isRevision(revision)) return { kind: 'hub', id, revision, pick: tag ?? file ?? null };
  return /\.gguf$/i.test(name) ? { kind: 'no file', path } : { kind: 'nonsense' };
}

/** It becomes a part of an address and of a path. */
const isRevision = (revision: string | null): boolean =>
  revision === null || (/^[\w./-]+$/.test(revision) && isPlainPath(revision));

/** A path that stays below the folder that it is put in. */
export const isPlainPath = (path: string): boolean =>
  !/[\\\0]/.test(path) && path.split('/').every((part) => !/^\.{0,2}$/.test(part));

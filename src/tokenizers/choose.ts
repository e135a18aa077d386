import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bundledModel, bundledTokenizer } from './bundled.ts';
import { portableTokenizer } from './portable.ts';
import { serverTokenizer } from './server.ts';
import type { Tokenizer } from './tokenizer.ts';

export interface TokenizerWanted {
  /** `--tokenizer`: a `tokenizer.json`, or the folder that holds one. */
  readonly path?: string | undefined;
  /** The server's root; absent when nothing is being served. */
  readonly baseUrl?: URL | undefined;
  readonly model: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The best tokenizer that can be had without a download: the one named, else the model's own (the built-in one, or
 * the one in its folder), else the server's, else the built-in one, with a note that lengths are then approximate.
 *
 * Throws an InputError when the one named, or the model's own, cannot be read.
 */
export async function chooseTokenizer(
  wanted: TokenizerWanted,
): Promise<{ readonly tokenizer: Tokenizer; readonly note?: string }> {
  const { path, baseUrl, model, signal } = wanted;
  if (path !== undefined) return { tokenizer: await portableTokenizer(path) };
  if (model === bundledModel) return { tokenizer: await bundledTokenizer() };
  if (existsSync(join(model, 'tokenizer.json'))) return { tokenizer: await portableTokenizer(model, '--model') };

  const served = baseUrl && (await serverTokenizer(baseUrl, model, signal));
  if (served) return { tokenizer: served };
  return {
    tokenizer: await bundledTokenizer(),
    note:
      `No tokenizer of ${model} was found, neither a tokenizer.json nor one behind the server, so prompts were made ` +
      'with the built-in vocabulary and their lengths are approximate; the server’s own token counts are reported.',
  };
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../kit/errors.ts';
import { type Environment, hubCacheIn, hubFolder, isHubId } from '../kit/hub-cache.ts';
import { bundledModel, bundledTokenizer } from './bundled.ts';
import { hasNative, nativeFrom } from './native.ts';
import { portableFrom } from './portable.ts';
import { serverTokenizer } from './server.ts';
import { sourceOf } from './source.ts';
import { specialTokensAdded } from './special-tokens.ts';
import type { Tokenizer } from './tokenizer.ts';
import { readTokenizerFile, type TokenizerFile } from './tokenizer-file.ts';

/** Who encodes: Hugging Face's machine code, JavaScript, or the first of them that can. */
export type TokenizerEngine = 'auto' | 'native' | 'portable';

export interface TokenizerWanted {
  /** `--tokenizer`: a `tokenizer.json`, the folder that holds one, or the id of a model in Hugging Face's cache. */
  readonly path?: string | undefined;
  /** The server's root; absent when nothing is being served. */
  readonly baseUrl?: URL | undefined;
  /** For questions to the server. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Its name on the hub, or its folder. */
  readonly model: string;
  readonly engine?: TokenizerEngine | undefined;
  /** Says where Hugging Face's cache is; without it, nothing is looked up there. */
  readonly env?: Environment | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The best tokenizer that can be had without a download: the one named, else the model's own (the built-in one, or the
 * one in its folder or in Hugging Face's cache), else the server's, else the built-in one, with a note that lengths are
 * then approximate.
 *
 * Throws an InputError when the one named, or the model's own, cannot be read, and a ServetuneError
 * `no_native_tokenizer` when the engine asked for is not installed.
 */
export async function chooseTokenizer(
  wanted: TokenizerWanted,
): Promise<{ readonly tokenizer: Tokenizer; readonly note?: string }> {
  const { path, baseUrl, headers, model, engine = 'auto', env = {}, signal } = wanted;
  const bundled = (): Promise<Tokenizer> => bundledTokenizer(engine === 'native' ? 'native' : 'portable');
  if (path !== undefined) return { tokenizer: await openTokenizer(await located(path, env), '--tokenizer', engine) };
  if (model === bundledModel) return { tokenizer: await bundled() };
  for (const folder of [model, await hubFolder(model, env)]) {
    if (folder === null || !existsSync(join(folder, 'tokenizer.json'))) continue;
    return { tokenizer: await openTokenizer(folder, '--model', engine) };
  }

  const served = baseUrl && (await serverTokenizer(baseUrl, model, signal, headers));
  if (served) return { tokenizer: served };
  return {
    tokenizer: await bundled(),
    note:
      `No tokenizer of ${model} was found, neither a tokenizer.json nor one behind the server, so prompts were made ` +
      'with the built-in vocabulary and their lengths are approximate; the server’s own token counts are reported.',
  };
}

/**
 * A tokenizer from a `tokenizer.json`, or from a folder that holds one. `auto` takes JavaScript for vocabularies of
 * bytes, where it is exact and takes a third of the machine code's CPU time, and else the native engine where it is
 * installed and reads the file: it is what vLLM encodes with, also where the library in JavaScript is not exact.
 */
export async function openTokenizer(
  path: string,
  place = '--tokenizer',
  engine: TokenizerEngine = 'auto',
): Promise<Tokenizer> {
  const file = await readTokenizerFile(path, place);
  if (engine === 'native') return nativeFrom(file);
  if (engine === 'portable') return portableFrom(file);
  const specialTokenCount = specialTokensAdded(file.postProcessor);
  return specialTokenCount === null ? bestFrom(file) : onFirstUse(file, specialTokenCount);
}

async function bestFrom(file: TokenizerFile): Promise<Tokenizer> {
  if (!hasNative()) return portableFrom(file);
  const source = sourceOf(file.text, file.json);
  if (source.kind === 'byte-level') return portableFrom(file, source);
  return nativeFrom(file).catch(() => portableFrom(file));
}

/**
 * A tokenizer that is built when it has something to do: its tables take a second, and prompts that were made before
 * need none of them. A file that cannot be used is found out then.
 */
function onFirstUse(file: TokenizerFile, specialTokenCount: number): Tokenizer {
  const { path: name, vocabSize, specialIds, fingerprint, chatTemplate } = file;
  let built: Promise<Tokenizer> | undefined;
  const tokenizer = (): Promise<Tokenizer> => {
    built ??= bestFrom(file);
    return built;
  };
  return {
    name,
    vocabSize,
    specialIds,
    fingerprint,
    chatTemplate,
    specialTokenCount,
    encode: async (texts, signal) => (await tokenizer()).encode(texts, signal),
    decode: async (ids, signal) => (await tokenizer()).decode(ids, signal),
    close: async () => (await built?.catch(() => undefined))?.close?.(),
  };
}

/** The path that `named` means; what is neither a path nor a known model is left for the reader to refuse. */
async function located(named: string, env: Environment): Promise<string> {
  if (existsSync(named)) return named;
  const folder = await hubFolder(named, env);
  if (folder !== null) return folder;
  const cache = hubCacheIn(env);
  if (cache === null || !isHubId(named) || named.endsWith('.json')) return named;
  throw new InputError([
    {
      place: '--tokenizer',
      message: `${named} is neither a file nor a folder, and no such model lies in Hugging Face’s cache (${cache})`,
      hint: `download it (hf download ${named} tokenizer.json tokenizer_config.json), or give a tokenizer.json`,
    },
  ]);
}

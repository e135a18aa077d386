import { createRequire } from 'node:module';
import { messageOf, ServetuneError } from '../kit/errors.ts';
import { pipelined } from './pipelined.ts';
import type { Tokenizer } from './tokenizer.ts';
import { readTokenizerFile, type TokenizerFile } from './tokenizer-file.ts';

/** What is used of the package; its own types would make an optional package needed for compiling. */
interface Binding {
  readonly Tokenizer: { fromString(json: string): Native };
}
interface Native {
  encode(text: string, pair: null, options: { addSpecialTokens: boolean }): Promise<{ getIds(): number[] }>;
  decode(ids: number[], skipSpecialTokens: boolean): Promise<string>;
  disableTruncation(): void;
  disablePadding(): void;
}

/** As many as libuv has threads, unless told otherwise: more would only wait, and hold up file access. */
const inFlight = 4;

let loaded: Binding | Error | undefined;

/** The optional package `tokenizers`, or why it is not to be had: not installed, or not for this machine. Tried once. */
function loadBinding(): Binding | Error {
  if (loaded) return loaded;
  try {
    loaded = createRequire(import.meta.url)('tokenizers') as Binding;
  } catch (error) {
    loaded = error instanceof Error ? error : new Error(String(error));
  }
  return loaded;
}

/** Whether `nativeTokenizer` can work here. */
export const hasNative = (): boolean => !(loadBinding() instanceof Error);

/**
 * A tokenizer from a `tokenizer.json`, or from a folder that holds one, by Hugging Face's own library in machine code:
 * the very one that vLLM encodes with. It works on threads of libuv's pool, a few texts at once.
 *
 * Throws an InputError under `place` as `portableTokenizer` does, and a ServetuneError `no_native_tokenizer` where the
 * optional package `tokenizers` is not installed or does not load.
 */
export async function nativeTokenizer(path: string, place = '--tokenizer'): Promise<Tokenizer> {
  return nativeFrom(await readTokenizerFile(path, place));
}

export async function nativeFrom(file: TokenizerFile): Promise<Tokenizer> {
  const binding = loadBinding();
  if (binding instanceof Error) {
    throw new ServetuneError('no_native_tokenizer', `the package tokenizers cannot be used: ${messageOf(binding)}`, {
      hint: 'install it (npm install tokenizers), or do without it: the one in JavaScript gives the same ids',
      cause: binding,
    });
  }
  let native: Native;
  try {
    native = binding.Tokenizer.fromString(file.text);
    // Some files ask for them; they would cut prompts short, or fill them up.
    native.disableTruncation();
    native.disablePadding();
  } catch (error) {
    throw file.unusable(error);
  }

  const idsOf = async (text: string, special = false): Promise<number[]> =>
    (await native.encode(text, null, { addSpecialTokens: special })).getIds();
  const special = await idsOf('a', true);
  const plain = await idsOf('a');
  return {
    name: file.path,
    fingerprint: file.fingerprint,
    chatTemplate: file.chatTemplate,
    vocabSize: file.vocabSize,
    specialIds: file.specialIds,
    specialTokenCount: special.length - plain.length,
    encode: (texts, signal) =>
      pipelined(texts, inFlight, (text) => (text === '' ? Promise.resolve([]) : idsOf(text)), signal),
    decode: (lists, signal) =>
      pipelined(
        lists,
        inFlight,
        (ids) => (ids.length === 0 ? Promise.resolve('') : native.decode([...ids], false)),
        signal,
      ),
  };
}

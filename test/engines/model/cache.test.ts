import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkModelFile, defaultCacheDir, modelFile } from '../../../src/engines/embedded/model/cache.ts';
import { metadataOf, readGguf } from '../../../src/engines/embedded/model/gguf.ts';
import { layOut, type TensorShape, text, uint32 } from '../../../src/engines/embedded/model/gguf-writer.ts';
import { formatOf, type TargetFormat, targetFormats } from '../../../src/engines/embedded/model/number-format.ts';
import { decodeNumbers, encodeNumbers } from '../../../src/engines/embedded/model/quantize.ts';
import { InputError } from '../../../src/kit/errors.ts';

const root = mkdtempSync(join(tmpdir(), 'model-cache-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;
const newFolder = (): string => {
  const folder = join(root, String(folders++));
  mkdirSync(folder);
  return folder;
};
const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');
const inCache = (cacheDir: string): string[] => readdirSync(join(cacheDir, 'models')).sort();

/** A model of a few rows with the given formats, its numbers a fixed sequence. */
function writeModel(
  path: string,
  shapes: readonly (TensorShape & { readonly format: { readonly name: string } })[],
  fileType?: number,
): void {
  const entries = [
    text('general.architecture', 'qwen3'),
    ...(fileType === undefined ? [] : [uint32('general.file_type', fileType)]),
  ];
  const header = layOut(entries, shapes);
  const file = Buffer.alloc(header.fileBytes);
  file.set(header.bytes);
  for (const { start, shape, format } of header.tensors) {
    const count = shape.reduce((product, n) => product * n, 1);
    const values = Float32Array.from({ length: count }, (_, i) => Math.sin(i + count) * 3);
    file.set(encodeNumbers(values, format.name as TargetFormat), start);
  }
  writeFileSync(path, file);
}

async function problemsOf(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (e: unknown) => e,
  );
  if (!(error instanceof InputError)) throw new Error('no InputError', { cause: error });
  return error.problems;
}

const tiny = join(root, 'tiny');
const tinyPath = new Map<string, string>();
beforeAll(async () => {
  for (const format of targetFormats) tinyPath.set(format, await modelFile('tiny-qwen3', format, tiny));
});
const tinyFile = (format: string): string => tinyPath.get(format) ?? '';

describe('tiny-qwen3', () => {
  it('is written as f16 when nothing else is asked for, and only once', async () => {
    const path = await modelFile('tiny-qwen3', undefined, tiny);
    expect(path).toBe(tinyFile('f16'));
    const { mtimeMs, ino } = statSync(path);
    expect(await modelFile('tiny-qwen3', 'f16', tiny)).toBe(path);
    expect(statSync(path)).toMatchObject({ mtimeMs, ino });
  });

  it('is written again when the file in the cache has another size', async () => {
    const path = tinyFile('q4_0');
    const before = sha256(path);
    truncateSync(path, 1_000_000);
    expect(await modelFile('tiny-qwen3', 'q4_0', tiny)).toBe(path);
    expect(sha256(path)).toBe(before);
  });

  it('is whole for everyone when several ask at once', async () => {
    const cacheDir = newFolder();
    const paths = await Promise.all(Array.from({ length: 4 }, () => modelFile('tiny-qwen3', 'q4_0', cacheDir)));
    expect(new Set(paths).size).toBe(1);
    expect(sha256(paths[0] ?? '')).toBe(sha256(tinyFile('q4_0')));
    expect(inCache(cacheDir)).toHaveLength(1);
  });

  it('is not had in other formats', async () => {
    const [problem] = await problemsOf(modelFile('tiny-qwen3', 'q4_k_m', tiny));
    expect(problem).toMatchObject({ place: 'quantization=q4_k_m', hint: expect.stringContaining('q4_0') });
  });

  it('stops when it is asked to', async () => {
    const cacheDir = newFolder();
    const stop = new AbortController();
    const writing = modelFile('tiny-qwen3', 'f32', cacheDir, stop.signal);
    setTimeout(() => stop.abort(new Error('enough')), 20);
    await expect(writing).rejects.toThrow('enough');
    expect(inCache(cacheDir)).toEqual([]);
  });
});

describe('a model file', () => {
  it('is taken as it is when no format, or its own, is asked for', async () => {
    const cacheDir = join(newFolder(), 'never');
    expect(await modelFile(tinyFile('f16'), undefined, cacheDir)).toBe(tinyFile('f16'));
    expect(await modelFile(tinyFile('f16'), 'f16', cacheDir)).toBe(tinyFile('f16'));
    expect(await modelFile(tinyFile('q4_0'), 'q4_0', cacheDir)).toBe(tinyFile('q4_0'));
    const mixed = join(newFolder(), 'model-q4_k_m.gguf');
    writeModel(mixed, [{ name: 'a.weight', shape: [32, 2], format: formatOf('q8_0') }], 15);
    expect(await modelFile(mixed, 'q4_k_m', cacheDir)).toBe(mixed);
    expect(() => statSync(cacheDir)).toThrow('ENOENT');
  });

  it.each(['q8_0', 'q4_0', 'bf16', 'f32'] as const)(
    'of f16 becomes the same %s file as the one made directly, once',
    async (format) => {
      const cacheDir = newFolder();
      const path = await modelFile(tinyFile('f16'), format, cacheDir);
      expect(sha256(path)).toBe(sha256(tinyFile(format)));
      const { mtimeMs, ino } = statSync(path);
      expect(await modelFile(tinyFile('f16'), format, cacheDir)).toBe(path);
      expect(statSync(path)).toMatchObject({ mtimeMs, ino });
    },
  );

  it('of f32 becomes the same f16 file', async () => {
    expect(sha256(await modelFile(tinyFile('f32'), 'f16', newFolder()))).toBe(sha256(tinyFile('f16')));
  });

  it('is quantized again when the result was damaged, and when the model was replaced', async () => {
    const cacheDir = newFolder();
    const model = join(newFolder(), 'model.gguf');
    writeModel(model, [{ name: 'a.weight', shape: [64, 4], format: formatOf('f16') }], 1);
    const path = await modelFile(model, 'q8_0', cacheDir);
    const before = sha256(path);
    truncateSync(path, 100);
    expect(await modelFile(model, 'q8_0', cacheDir)).toBe(path);
    expect(sha256(path)).toBe(before);

    utimesSync(model, 1, 1);
    const again = await modelFile(model, 'q8_0', cacheDir);
    expect(again).not.toBe(path);
    expect(sha256(again)).toBe(before);
    const link = join(newFolder(), 'link.gguf');
    symlinkSync(model, link);
    expect(await modelFile(link, 'q8_0', cacheDir)).toBe(again);
  });

  it('keeps what must stay precise, and says the truth about itself', async () => {
    const model = join(newFolder(), 'model.gguf');
    const bf16 = formatOf('bf16');
    writeModel(model, [
      { name: 'blk.10.ffn_up.weight', shape: [64, 2], format: bf16 },
      { name: 'blk.2.ffn_up.weight', shape: [64, 2, 3], format: bf16 },
      { name: 'blk.2.ffn_gate_inp.weight', shape: [64, 2], format: formatOf('f32') },
      { name: 'blk.2.attn_q_norm.weight', shape: [64, 2], format: bf16 },
      { name: 'blk.2.odd.weight', shape: [40, 2], format: bf16 },
      { name: 'blk.2.attn_q.bias', shape: [64, 2], format: bf16 },
      { name: 'blk.2.row.weight', shape: [64, 1], format: bf16 },
      { name: 'output_norm.weight', shape: [64], format: formatOf('f32') },
      { name: 'output.weight', shape: [64, 2], format: formatOf('q8_0') },
    ]);
    const file = readGguf(await modelFile(model, 'q8_0', newFolder()));
    expect(file.tensors.map(({ name, format, shape }) => `${name} ${format.name} ${shape.join('x')}`)).toEqual([
      'output.weight q8_0 64x2',
      'output_norm.weight f32 64',
      'blk.2.attn_q.bias bf16 64x2',
      'blk.2.attn_q_norm.weight bf16 64x2',
      'blk.2.ffn_gate_inp.weight f32 64x2',
      'blk.2.ffn_up.weight q8_0 64x2x3',
      'blk.2.odd.weight f16 40x2',
      'blk.2.row.weight bf16 64',
      'blk.10.ffn_up.weight q8_0 64x2',
    ]);
    expect(metadataOf(file, 'general.file_type')).toBe(7);
    expect(metadataOf(file, 'general.quantization_version')).toBe(2);
    expect(metadataOf(file, 'general.architecture')).toBe('qwen3');

    const source = readGguf(model);
    const numbersOf = (from: typeof file, name: string): Float32Array => {
      const tensor = from.tensors.find((t) => t.name === name);
      if (!tensor) throw new Error(`no ${name}`);
      const bytes = readFileSync(from.path).subarray(tensor.start, tensor.start + tensor.bytes);
      return decodeNumbers(bytes, tensor.format.name as TargetFormat);
    };
    for (const { name, format } of file.tensors) {
      const before = numbersOf(source, name);
      const allowed = format.name === 'q8_0' ? (3 / 127) * 0.51 : 0.002;
      const worst = Math.max(...numbersOf(file, name).map((x, i) => Math.abs(x - (before[i] ?? NaN))));
      expect(worst, name).toBeLessThan(allowed);
    }
  });

  it('that is quantized already is not quantized to something else', async () => {
    const [problem] = await problemsOf(modelFile(tinyFile('q8_0'), 'q4_0', newFolder()));
    expect(problem?.place).toBe('quantization=q4_0');
    expect(problem?.message).toContain('is quantized already (q8_0; output.weight is q8_0)');
    expect(problem?.hint).toContain('start from the F16');
  });

  it('does not become a format that cannot be made here', async () => {
    const [problem] = await problemsOf(modelFile(tinyFile('f16'), 'q4_k_m', newFolder()));
    expect(problem?.message).toContain('is f16, and q4_k_m cannot be made');
    expect(problem?.hint).toContain('llama-quantize');
  });

  it('in parts is to be joined first', async () => {
    const model = join(newFolder(), 'model-00001-of-00002.gguf');
    const header = layOut(
      [uint32('split.count', 2), uint32('general.file_type', 1)],
      [{ name: 'a.weight', shape: [32, 2], format: formatOf('f16') }],
    );
    writeFileSync(model, Buffer.concat([header.bytes, Buffer.alloc(header.fileBytes - header.bytes.length)]));
    expect(await modelFile(model, 'f16', newFolder())).toBe(model);
    const [problem] = await problemsOf(modelFile(model, 'q8_0', newFolder()));
    expect(problem).toMatchObject({
      message: expect.stringContaining('one of 2 parts'),
      hint: expect.stringContaining('merge'),
    });
  });
});

describe('checkModelFile', () => {
  it('finds nothing wrong with a good file and with tiny-qwen3', () => {
    expect(checkModelFile('tiny-qwen3')).toEqual([]);
    for (const format of targetFormats) expect(checkModelFile(tinyFile(format))).toEqual([]);
  });

  const folder = newFolder();
  const good = join(folder, 'good.gguf');
  writeModel(good, [{ name: 'a.weight', shape: [32, 2], format: formatOf('f16') }], 1);
  const cut = join(folder, 'cut.gguf');
  copyFileSync(good, cut);
  truncateSync(cut, statSync(good).size - 1);
  writeFileSync(join(folder, 'safe.gguf'), '{"format":"not gguf"}');
  writeFileSync(join(folder, 'vocabulary.gguf'), layOut([text('general.architecture', 'qwen3')], []).bytes);
  execFileSync('mkfifo', [join(folder, 'pipe.gguf')]);

  it.each([
    ['missing.gguf', /no such file/],
    ['.', /directory/],
    ['pipe.gguf', /not a regular file/],
    ['safe.gguf', /not a GGUF file/],
    ['vocabulary.gguf', /no weights/],
    ['cut.gguf', /cut off: 1 of 1 tensors are not whole, the first is a\.weight; 1 bytes are missing/],
    ['good.gguf/more', /no such file/],
  ])('%s is refused, and so does modelFile', async (name, message) => {
    const path = join(folder, name);
    const problems = checkModelFile(path);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toMatch(message);
    expect(problems[0]?.place.startsWith(path)).toBe(true);
    expect(problems[0]?.hint).toBeTruthy();
    expect(await problemsOf(modelFile(path, 'q8_0', newFolder()))).toEqual(problems);
  });
});

describe('defaultCacheDir', () => {
  it.each([
    [{ SERVETUNE_CACHE: '/s', XDG_CACHE_HOME: '/x', HOME: '/h' }, '/s'],
    [{ SERVETUNE_CACHE: '', XDG_CACHE_HOME: '/x', HOME: '/h' }, '/x/servetune'],
    [{ XDG_CACHE_HOME: '', HOME: '/h' }, '/h/.cache/servetune'],
  ])('%j gives %s', (env, dir) => expect(defaultCacheDir(env)).toBe(dir));
});

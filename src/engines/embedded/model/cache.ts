import { createHash } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { InputError, type Problem } from '../../../kit/errors.ts';
import { conversionProblems, convert, planConversion, quantizationOf } from './conversion.ts';
import { type GgufFile, missingData, readGguf } from './gguf.ts';
import { isTargetFormat, type TargetFormat, targetFormats } from './number-format.ts';
import { tinyModelFile, tinyModelName } from './tiny-model.ts';

export { defaultCacheDir } from '../../../kit/cache-dir.ts';

/** Part of every key: count it up when a conversion is to give other bytes than before. */
const conversionRevision = 1;

const inCache = (cacheDir: string, fileName: string): string => join(cacheDir, 'models', fileName);

/** Files are renamed into the cache when they are whole; one of another size was damaged there and is written again. */
async function isWhole(path: string, bytes: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && found.size === bytes;
}

async function tinyModel(quantization: string, cacheDir: string, signal: AbortSignal | undefined): Promise<string> {
  if (!isTargetFormat(quantization))
    throw new InputError([
      {
        place: `quantization=${quantization}`,
        message: `${tinyModelName} cannot be written in this format`,
        hint: `use one of ${targetFormats.join(', ')}`,
      },
    ]);
  const file = tinyModelFile(quantization);
  const path = inCache(cacheDir, file.fileName);
  if (!(await isWhole(path, file.fileBytes))) await file.write(path, signal);
  return path;
}

/** Names the conversion of one state of one file: a file that was replaced or touched gets another name. */
function convertedName({ path, fileBytes, headerBytes }: GgufFile, target: TargetFormat): string {
  const real = realpathSync(path);
  const state = JSON.stringify([conversionRevision, real, fileBytes, statSync(real).mtimeMs]);
  const key = createHash('sha256').update(state).update(headerBytes).digest('hex').slice(0, 16);
  return `${basename(real)
    .replace(/\.gguf$/i, '')
    .slice(0, 100)}-${target}-${key}.gguf`;
}

async function converted(
  file: GgufFile,
  target: TargetFormat,
  cacheDir: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const conversion = planConversion(file, target);
  const path = inCache(cacheDir, convertedName(file, target));
  if (!(await isWhole(path, conversion.header.fileBytes))) await convert(conversion, path, signal);
  return path;
}

function problemsOf(file: GgufFile): readonly Problem[] {
  if (file.tensors.length > 0) return missingData(file);
  return [
    {
      place: file.path,
      message: 'the file holds no weights',
      hint: 'give the model itself, not its vocabulary or its parts list',
    },
  ];
}

/**
 * What is wrong with a model before anything is started: it is missing, a directory, not a GGUF file, damaged, or cut
 * off. Reads the beginning of the file only. The model that needs no download has no problems.
 */
export function checkModelFile(model: string): readonly Problem[] {
  if (model === tinyModelName) return [];
  try {
    return problemsOf(readGguf(model));
  } catch (error) {
    if (error instanceof InputError) return error.problems;
    throw error;
  }
}

/**
 * Path of the file to serve: `tiny-qwen3` is written into the cache (default format `f16`); a GGUF file is taken as it is
 * when no quantization or its own is asked for, and is otherwise quantized into the cache, from F32, F16 or BF16 to `f32`,
 * `f16`, `bf16`, `q8_0` or `q4_0`. Each file is made once, also when several processes ask at the same time (then each
 * may make it, and all get the same one).
 *
 * Throws an InputError for a model that `checkModelFile` refuses or a format that cannot be had, a ServetuneError
 * (`disk_full`, `cache_not_writable`) when the cache cannot take it, and the signal's reason.
 */
export async function modelFile(
  model: string,
  quantization: string | undefined,
  cacheDir: string,
  signal?: AbortSignal,
): Promise<string> {
  signal?.throwIfAborted();
  if (model === tinyModelName) return tinyModel(quantization ?? 'f16', cacheDir, signal);
  const file = readGguf(model);
  const problems = problemsOf(file);
  if (problems.length > 0) throw new InputError(problems);
  if (quantization === undefined || quantization === quantizationOf(file)) return model;
  if (!isTargetFormat(quantization)) throw new InputError(conversionProblems(file, quantization));
  return converted(file, quantization, cacheDir, signal);
}

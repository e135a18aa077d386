import { createReadStream, type Stats } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { InputError, systemCode } from '../../kit/errors.ts';
import type { WorkloadOptions } from '../../records/workload.ts';

const place = '--dataset-path';
const chunkBytes = 4 * 2 ** 20;

/** What is wrong with the file of a dataset. */
export const fileError = (message: string, hint: string): InputError => new InputError([{ place, message, hint }]);

/**
 * The path of `--dataset-path`, once it is known to name a readable file that is not empty. `holds` says for people what
 * the file shall hold. Throws an InputError otherwise.
 */
export async function datasetFile(
  { dataset_name: name, dataset_path: path }: Pick<WorkloadOptions, 'dataset_name' | 'dataset_path'>,
  holds: string,
): Promise<string> {
  if (path === undefined) throw fileError(`the dataset ${name} is read from a file`, `name a file with ${holds}`);
  const found = await stat(path).catch((error: unknown) => unreadable(path, error));
  if (found.isDirectory()) throw fileError(`${path} is a folder`, `name a file with ${holds}`);
  await access(path, constants.R_OK).catch((error: unknown) => unreadable(path, error));
  if (found.isFile() && found.size === 0) throw fileError(`${path} is empty`, `name a file with ${holds}`);
  return path;
}

function unreadable(path: string, error: unknown): Stats {
  const code = systemCode(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') throw fileError(`${path} does not exist`, 'name an existing file');
  if (code === 'EACCES' || code === 'EPERM') throw fileError(`${path} may not be read`, 'make it readable');
  if (code === 'EISDIR') throw fileError(`${path} is a folder`, 'name the file within it');
  if (code !== undefined) throw fileError(`${path} cannot be read: ${code}`, 'name a file that can be read');
  throw error;
}

/** The text of a file piece by piece, without its byte order mark; bytes that are no UTF-8 become U+FFFD. */
export async function* textPieces(path: string, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const stream = createReadStream(path, { highWaterMark: chunkBytes });
  try {
    for await (const chunk of stream) {
      signal.throwIfAborted();
      yield decoder.decode(chunk as Buffer, { stream: true });
    }
  } catch (error) {
    if (systemCode(error) !== undefined) unreadable(path, error);
    throw error;
  } finally {
    stream.destroy();
  }
  yield decoder.decode();
}

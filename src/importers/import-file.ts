import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { basename } from 'node:path/posix';
import { InputError, messageOf, systemCode } from '../kit/errors.ts';
import { formatBytes } from '../kit/words.ts';
import type { ImportedResult } from '../records/imported.ts';
import type { ImportFile } from './importer.ts';
import { importers } from './table.ts';

/** A text has to fit into one string, and its reader's lines beside it. */
const largestBytes = 256 * 2 ** 20;

/**
 * Reads a file of foreign results with the reader of that name, or, with `auto`, with the first that recognises it.
 * Throws one InputError with everything that is wrong, each with its line where it has one.
 */
export function importFile(path: string, format: string): readonly ImportedResult[] {
  const { text, file } = readText(path);
  if (text.trim() === '') refuse(path, 'is empty', 'give a file with a result');
  const importer = importers.find((i) => (format === 'auto' ? i.recognises(text, path) : i.name === format));
  if (!importer) {
    refuse(
      path,
      'holds no result in a format that servetune reads',
      importers.map((i) => `${i.name}: ${i.description}`).join('; '),
    );
  }
  return importer.read(text, file);
}

function readText(path: string): { readonly text: string; readonly file: ImportFile } {
  let bytes: Buffer;
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) refuse(path, 'is a folder', `give the files in it: ${path.replace(/\/+$/, '')}/*`);
    if (!stat.isFile()) refuse(path, 'is no regular file', 'write its content to a file first');
    if (stat.size > largestBytes) {
      refuse(
        path,
        `is ${formatBytes(stat.size, 'en')} large, and ${formatBytes(largestBytes, 'en')} is the most that is read`,
        'a file of --save-detailed shrinks by: jq "del(.itls, .generated_texts)" FILE',
      );
    }
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof InputError) throw error;
    const missing = systemCode(error) === 'ENOENT';
    refuse(
      path,
      missing ? 'there is no such file' : `cannot be read: ${messageOf(error)}`,
      'check its name and its rights',
    );
  }
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  // A folder above may carry the name of a user; a result is kept and handed on.
  const name = isAbsolute(path) ? basename(path) : path;
  return { text: decoded(bytes, path), file: { path, name, sha256 } };
}

/** The text of a file: UTF-8, or UTF-16 where it begins with that mark, as PowerShell's `>` writes it. */
function decoded(bytes: Buffer, path: string): string {
  const [first, second] = bytes;
  const wide =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
  if (wide === undefined && first === 0x1f && second === 0x8b)
    refuse(path, 'is compressed', `unpack it: gunzip ${path}`);
  if (wide === undefined && bytes.includes(0)) refuse(path, 'is a binary file', 'give a text or a JSON file');
  try {
    return new TextDecoder(wide ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    const hint = wide ? 'it is damaged: copy it again' : `say what it is in: iconv -f SHIFT_JIS -t UTF-8 ${path}`;
    return refuse(path, `is no text in ${wide === undefined ? 'UTF-8' : 'UTF-16'}`, hint);
  }
}

function refuse(place: string, message: string, hint: string): never {
  throw new InputError([{ place, message, hint }]);
}

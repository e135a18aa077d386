import { createHash } from 'node:crypto';
import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { z } from 'zod';
import { now } from '../../kit/clock.ts';
import { messageOf, systemCode } from '../../kit/errors.ts';
import { writeFileAtomic } from '../../kit/files.ts';
import type { RequestSpec } from '../../records/request.ts';
import { arrivalOptions, samplingOptions, type WorkloadOptions } from '../../records/workload.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import { fileHash } from '../../weights/hash.ts';
import type { Dataset, Made, Making } from '../dataset.ts';
import { fetchedDataset } from './fetch.ts';

/** Part of every key: count it up when the form of the kept files changes. */
const formatRevision = 1;
/** Part of every key: count it up whenever any dataset makes other requests or notes of the same input than before. */
export const datasetsRevision = 2;

export interface CacheLimits {
  /** Sets that are made faster are not kept, seconds. */
  readonly worthS?: number;
  /** Size of all that is kept; what was not used for longest goes first. */
  readonly mostBytes?: number;
}

const gibibyte = 2 ** 30;
/** A set is put together in memory before it is written. */
const mostSetBytes = gibibyte / 4;

/**
 * What `dataset.make` makes, from `CACHE/prompts/` where it was made before from the same input: options, count, bytes
 * of the dataset's file, tokenizer and chat template. Equal to what the dataset itself would give.
 *
 * Not kept: what a tokenizer without a fingerprint or a file that is none (a pipe) went into, sets that were made in
 * under a second, and sets of over 256 MiB. A cache that cannot be written costs nothing but a note in the result.
 */
export async function cachedMake(
  dataset: Dataset,
  options: WorkloadOptions,
  count: number,
  making: Making,
  { worthS = 1, mostBytes = 2 * gibibyte }: CacheLimits = {},
): Promise<Made> {
  const folder = join(making.cacheDir, 'prompts');
  const key = await keyOf(dataset, options, count, making, folder);
  if (key === null) return dataset.make(options, count, making);
  const path = join(folder, `${key}.jsonl`);
  const kept = await read(path);
  if (kept !== null) return kept;

  const began = now();
  const made = await dataset.make(options, count, making);
  if (now() - began < worthS) return made;
  const bytes = written(made);
  if (bytes === null) return made;
  try {
    writeFileAtomic(path, bytes);
    prune(folder, mostBytes);
    return made;
  } catch (error) {
    const why = systemCode(error) ?? messageOf(error);
    return { ...made, notes: [...made.notes, `The prompts could not be kept for the next time (${why}).`] };
  }
}

/** Options that change no prompt, or stand for something that is in the key itself. Of a new one it is not known. */
const irrelevant: ReadonlySet<string> = new Set([
  ...Object.keys(arrivalOptions),
  ...Object.keys(samplingOptions),
  ...['dataset_path', 'num_prompts', 'backend', 'min_duration_s', 'ignore_eos', 'request_timeout_s', 'name'],
]);

/** Name of what this input gives; null where that cannot be told without making it. */
async function keyOf(
  dataset: Dataset,
  options: WorkloadOptions,
  count: number,
  { tokenizer, serverTemplates, cacheDir, signal }: Making,
  folder: string,
): Promise<string | null> {
  if (tokenizer === null || tokenizer.fingerprint === null) return null;
  const path =
    options.dataset_path ?? (dataset.name === 'sharegpt' ? await fetchedDataset(cacheDir, 'sharegpt') : null);
  const file = path === null ? 'none' : await contentOf(path, folder, signal);
  if (file === null) return null;
  return sha256(
    JSON.stringify([
      formatRevision,
      datasetsRevision,
      dataset.name,
      canonical(
        Object.fromEntries(
          Object.entries(options).filter(([name, value]) => value !== undefined && !irrelevant.has(name)),
        ),
      ),
      count,
      [file, path === null ? '' : extname(path)],
      [tokenizer.fingerprint, tokenizer.vocabSize, tokenizer.specialTokenCount],
      serverTemplates,
      templateTraits(tokenizer, options),
    ]),
  );
}

/** A value with the keys of its objects in order, so that equal options read alike. */
function canonical(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (Array.isArray(value)) return value.map(canonical);
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => [name, canonical(inner)]);
}

/**
 * What the chat template makes of a few chats. Its text would not do: some write today's date into every prompt.
 */
function templateTraits(
  { chatTemplate }: Tokenizer,
  { chat_template_kwargs: variables }: WorkloadOptions,
): readonly string[] | null {
  if (chatTemplate === null) return null;
  const user = { role: 'user', content: ' a <b>\n\nc ' };
  const chats = [[user], [{ role: 'system', content: 's' }, user], [user, { role: 'assistant', content: ' d\n' }]];
  return chats.flatMap((chat) =>
    [false, true].map((addGenerationPrompt) => {
      try {
        return chatTemplate.render(chat, { ...variables, addGenerationPrompt });
      } catch (error) {
        return `refused: ${messageOf(error)}`;
      }
    }),
  );
}

/** A file that was changed so shortly ago could be changed again without another time, seconds. */
const settledS = 2;

/**
 * SHA-256 of a file, in hex; null for what is no file. A file is read once for each of its states: the hash is kept under
 * its path, size and times.
 */
async function contentOf(path: string, folder: string, signal: AbortSignal): Promise<string | null> {
  let state: string;
  let settled: boolean;
  try {
    const real = await realpath(path);
    const found = await stat(real, { bigint: true });
    if (!found.isFile()) return null;
    state = [real, found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join('\0');
    settled = Date.now() - Number(found.mtimeMs) > settledS * 1000;
  } catch {
    return null; // the dataset says what is wrong with it
  }
  const memo = join(folder, `${sha256(state)}.sha256`);
  const known = await readFile(memo, 'utf8').catch(() => '');
  if (/^[0-9a-f]{64}$/.test(known)) return known;
  try {
    const hash = await fileHash(path, signal);
    if (settled) keepQuietly(memo, hash);
    return hash;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

function keepQuietly(path: string, content: string): void {
  try {
    writeFileAtomic(path, content);
  } catch {
    // It will be read once more the next time.
  }
}

/** First line of a kept set; the notes and each request follow, a line each. */
const header = z.object({ bytes: z.int().min(0), sha256: z.string() });
const newline = 10;

/** The file of a set; null when it is too big to keep. */
function written({ requests, notes }: Made): Uint8Array | null {
  const lines: Buffer[] = [];
  let bytes = 0;
  for (const content of [notes, ...requests]) {
    const line = Buffer.from(`${JSON.stringify(content)}\n`, 'utf8');
    lines.push(line);
    bytes += line.byteLength;
    if (bytes > mostSetBytes) return null;
  }
  const body = Buffer.concat(lines, bytes);
  const head: z.infer<typeof header> = { bytes, sha256: sha256(body) };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
}

/** A kept set; null where there is none, or one that is damaged. Marks it as used. */
async function read(path: string): Promise<Made | null> {
  try {
    const file = await readFile(path);
    const cut = file.indexOf(newline) + 1;
    const head = header.parse(JSON.parse(file.toString('utf8', 0, cut)));
    const body = file.subarray(cut);
    if (body.byteLength !== head.bytes || sha256(body) !== head.sha256) return null;

    const contents: unknown[] = [];
    for (let from = 0; from < body.byteLength; ) {
      const end = body.indexOf(newline, from);
      contents.push(JSON.parse(body.toString('utf8', from, end)));
      from = end + 1;
    }
    const [notes, ...requests] = contents as [readonly string[], ...RequestSpec[]];
    touch(path);
    return { requests, notes };
  } catch {
    return null;
  }
}

function touch(path: string): void {
  try {
    const time = new Date();
    utimesSync(path, time, time);
  } catch {
    // A cache that can only be read is one all the same.
  }
}

/** Removes what was not used for longest, until at most `most` bytes are left; halves that a crash left grow old too. */
function prune(folder: string, most: number): void {
  const files = readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isFile() ? [{ path, bytes: found.size, usedAt: found.mtimeMs }] : [];
  });
  let total = 0;
  for (const { path, bytes } of files.sort((a, b) => b.usedAt - a.usedAt)) {
    total += bytes;
    if (total > most) rmSync(path, { force: true });
  }
}

const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

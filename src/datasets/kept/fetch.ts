import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { wallTime } from '../../kit/clock.ts';
import { writeFileAtomic } from '../../kit/files.ts';
import type { Environment } from '../../kit/hub-cache.ts';
import { readJson } from '../../kit/json-file.ts';
import { acquireLock } from '../../processes/lock.ts';
import { onDisk, sizeOf } from '../../weights/disk.ts';
import { discard, download } from '../../weights/download.ts';
import { failure } from '../../weights/failure.ts';
import { fileHash } from '../../weights/hash.ts';

/** A data set that `servetune dataset fetch` can get. */
export interface Published {
  readonly name: string;
  readonly fileName: string;
  /** Below the root of a Hugging Face hub. */
  readonly hubPath: string;
  readonly bytes: number;
  readonly sha256: string;
  /** What is known of its licence, for whoever is about to use it. */
  readonly licence: string;
}
export type PublishedName = 'sharegpt';

/**
 * Size and hash are those that the hub's page of the file shows; many benchmark repositories that use this file name the
 * same ones.
 */
export const published: Readonly<Record<PublishedName, Published>> = {
  sharegpt: {
    name: 'sharegpt',
    fileName: 'ShareGPT_V3_unfiltered_cleaned_split.json',
    hubPath:
      'datasets/anon8231489123/ShareGPT_Vicuna_unfiltered/resolve/main/ShareGPT_V3_unfiltered_cleaned_split.json',
    bytes: 672_837_942,
    sha256: '35f0e213ce091ed9b9af2a1f0755e9d39f9ccec34ab281cd4ca60d70f6479ba4',
    licence: [
      'ShareGPT holds conversations that users of ChatGPT shared in public. The page it is downloaded from names the',
      'licence Apache-2.0, but was set up by an anonymous third person: neither those users nor OpenAI, whose terms cover',
      'the answers, are known to have agreed. The texts may hold personal data. servetune does not redistribute it.',
    ].join(' '),
  },
};

export interface FetchOptions {
  readonly cacheDir: string;
  /** Another address of the file; any content is then taken for the file, and held to it later on. */
  readonly url?: string | undefined;
  /** Root of the hub, or of a mirror of it (`HF_ENDPOINT`). */
  readonly endpoint?: string | undefined;
  /** Names the proxy, if there is one to go through. */
  readonly environment?: Environment | undefined;
  /** Read a file that is here already as a whole, and compare its hash. Its size is always compared. */
  readonly verify?: boolean | undefined;
  readonly signal: AbortSignal;
  /** `total` is null while it is not known. */
  onProgress?(bytes: number, total: number | null): void;
  /** Wait before the second try of a download that broke off, seconds; doubled with each further one. */
  readonly retryWaitS?: number | undefined;
}

export interface Fetched {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** It was downloaded just now. */
  readonly fresh: boolean;
  /** It is, by its hash, the file that others measure with. */
  readonly original: boolean;
}

/** What stands beside the file. */
const record = z.object({
  url: z.string(),
  bytes: z.int().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  fetchedAt: z.string(),
});
type FileRecord = z.infer<typeof record>;

const hub = 'https://huggingface.co';
const remedy = 'download the file elsewhere and name it with --dataset-path FILE';
const onFailure = { remedy, cacheVariable: 'SERVETUNE_CACHE' };

const placeOf = (cacheDir: string, name: PublishedName) => {
  const folder = join(cacheDir, 'datasets', name);
  const path = join(folder, published[name].fileName);
  return { folder, path, recordPath: `${path}.record.json`, part: `${path}.part` };
};

/**
 * The file of a data set, downloaded into `CACHE/datasets/NAME/` unless it is there already. A download that broke off
 * goes on where it stopped, also in a later process. The file of the hub must have the hash that is known of it; one from
 * another `url` the hash that it had the first time.
 *
 * Throws a ServetuneError with exit code 2: no network, no such file, something other than JSON, a full disk, another
 * content than expected (with both hashes); an InputError while another process downloads it; and the signal's reason.
 */
export async function fetchDataset(name: PublishedName, options: FetchOptions): Promise<Fetched> {
  const place = placeOf(options.cacheDir, name);
  const here = await present(name, options);
  if (here !== null) return here;

  using _ = acquireLock(place.folder);
  // Whoever held the lock before may have got it.
  return (await present(name, options)) ?? (await fetchInto(name, options));
}

/** Path of a fetched file that is whole by its size; null where it was not fetched. */
export async function fetchedDataset(cacheDir: string, name: PublishedName): Promise<string | null> {
  const { path, recordPath } = placeOf(cacheDir, name);
  const known = await readJson(recordPath, record);
  return known !== null && (await sizeOf(path)) === known.bytes ? path : null;
}

const urlOf = (name: PublishedName, { url, endpoint }: FetchOptions): string =>
  url ?? `${(endpoint || hub).replace(/\/+$/, '')}/${published[name].hubPath}`;

/** The file as it lies here, if it is the one asked for. */
async function present(name: PublishedName, options: FetchOptions): Promise<Fetched | null> {
  const { path, recordPath } = placeOf(options.cacheDir, name);
  const { bytes, sha256 } = published[name];
  const size = await sizeOf(path);
  const known = await readJson(recordPath, record);
  if (known === null) {
    // Put here by hand, perhaps.
    if (options.url !== undefined || size !== bytes || (await fileHash(path, options.signal)) !== sha256) return null;
    await keepRecord(recordPath, { url: urlOf(name, options), bytes, sha256, fetchedAt: wallTime() });
    return { path, bytes, sha256, fresh: false, original: true };
  }
  const wanted = options.url === undefined ? known.sha256 === sha256 : known.url === options.url;
  if (size !== known.bytes || !wanted) return null;
  if (options.verify) {
    const found = await fileHash(path, options.signal);
    if (found !== known.sha256) {
      throw failure(
        'dataset_changed',
        `${path} was changed: its sha256 is ${found}, and was ${known.sha256} when it was downloaded`,
        `delete ${path} and fetch it again`,
      );
    }
  }
  return { path, bytes: known.bytes, sha256: known.sha256, fresh: false, original: known.sha256 === sha256 };
}

async function fetchInto(name: PublishedName, options: FetchOptions): Promise<Fetched> {
  const { path, recordPath, part } = placeOf(options.cacheDir, name);
  const { signal, environment, onProgress, retryWaitS } = options;
  const url = urlOf(name, options);
  const { bytes, sha256 } = await download(url, part, {
    signal,
    environment,
    retryWaitS,
    ...onFailure,
    ...(onProgress ? { onProgress } : {}),
  });

  const before = await readJson(recordPath, record);
  const recorded = before?.url === url ? before.sha256 : null;
  const expected = options.url === undefined ? published[name].sha256 : recorded;
  const wrong = await contentProblem(part, url);
  if (wrong !== null || (expected !== null && sha256 !== expected)) await discard(part);
  if (wrong !== null) throw failure('not_json', wrong, remedy);
  if (expected !== null && sha256 !== expected) {
    const hint =
      options.url === undefined
        ? `if you trust that file, name its address with --url; else ${remedy}`
        : `if the new file is right, delete ${recordPath} and run the command again`;
    throw failure('dataset_changed', `${url} gave a file with the sha256 ${sha256}; expected was ${expected}`, hint);
  }

  // In this order: a file without a record would have to be read once more to be known.
  await keepRecord(recordPath, { url, bytes, sha256, fetchedAt: wallTime() });
  await onDisk(() => rename(part, path), path, onFailure);
  await discard(part);
  return { path, bytes, sha256, fresh: true, original: sha256 === published[name].sha256 };
}

/** Why what arrived cannot be a JSON array, by its two ends; null where it may be one. */
async function contentProblem(path: string, url: string): Promise<string | null> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const edge = 64;
    const textAt = async (position: number): Promise<string> => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(edge), 0, edge, Math.max(0, position));
      return buffer.toString('utf8', 0, bytesRead).trim();
    };
    const [first, last] = [await textAt(0), await textAt(size - edge)];
    if (first.startsWith('<')) return `${url} answered with a web page instead of JSON`;
    if (!first.startsWith('[')) return `${url} answered with something other than a JSON array: ${first.slice(0, 40)}`;
    if (!last.endsWith(']')) return `${url} gave a JSON array that is cut off after ${size} bytes`;
    return null;
  } finally {
    await file.close();
  }
}

const keepRecord = (path: string, content: FileRecord): Promise<void> =>
  onDisk(() => writeFileAtomic(path, `${JSON.stringify(content, null, 2)}\n`), path, onFailure);

import { link, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { sleep } from '../kit/clock.ts';
import { InputError, systemCode } from '../kit/errors.ts';
import { makeFolder, writeFileAtomic } from '../kit/files.ts';
import type { Environment } from '../kit/hub-cache.ts';
import { acquireLock, type Lock } from '../processes/lock.ts';
import { blobFolder, blobName, type Checkpoint, type CheckpointFile, unfinished } from './checkpoint.ts';
import { checkSpace, onDisk, type Remedy, sizeOf } from './disk.ts';
import { discard, download } from './download.ts';
import { failure } from './failure.ts';
import { gitBlobHash } from './hash.ts';
import { huggingFace } from './hugging-face.ts';
import { modelScope, writeIndex } from './model-scope.ts';

export interface DownloadProgress {
  /** The file that is arriving. */
  readonly file: string;
  /** What is here of the whole checkpoint, bytes. */
  readonly bytes: number;
  readonly total: number;
}

export interface FetchOptions {
  readonly environment: Environment;
  readonly signal: AbortSignal;
  onProgress?(progress: DownloadProgress): void;
  /** Another process is downloading the same model; its files will be here when it is done. */
  onWait?(message: string): void;
  /** Wait before the second try after a connection broke, seconds; doubled with each further one. */
  readonly retryWaitS?: number;
}

/**
 * Downloads what is missing of a checkpoint to where the engines look for it: Hugging Face's cache (`blobs`, links from
 * `snapshots/COMMIT`, and at last `refs`), or ModelScope's. One file after the other; what broke off goes on where it
 * stopped, also in a later process. A file takes its place only when its length and its hash are right.
 *
 * Throws a ServetuneError with exit code 2 (`no_network`, `http_error`, `disk_full`, `cache_not_writable`,
 * `download_failed`, `wrong_checksum`), and the signal's reason.
 */
export async function downloadCheckpoint(checkpoint: Checkpoint, options: FetchOptions): Promise<Checkpoint> {
  const { source, files, folder, missingBytes } = checkpoint;
  if (files.every(({ url }) => url === null)) return checkpoint;
  const remedy = remedyFor(checkpoint);
  if (missingBytes > 0) await checkSpace(join(folder, 'files'), missingBytes, remedy);

  using _ = await lockWhenFree(checkpoint, options);
  const headers = await (source === 'modelscope' ? modelScope : huggingFace).headers(options.environment);
  let bytes = files.reduce((sum, { presentBytes }) => sum + presentBytes, 0);
  for (const file of files) {
    options.signal.throwIfAborted();
    let seen = file.presentBytes;
    const arrived = (now: number): void => {
      bytes += now - seen;
      seen = now;
      options.onProgress?.({ file: file.path, bytes, total: checkpoint.bytes });
    };
    const place = (path: string): Promise<void> => bring(file, path, { ...options, headers, remedy, arrived });
    if (source === 'modelscope') await place(join(folder, file.path));
    else await inHubCache(folder, file, place, remedy);
    arrived(file.bytes);
  }
  if (source === 'modelscope') await onDisk(() => writeIndex(folder, files), folder, remedy);
  else await keepRevision(checkpoint, remedy);
  return { ...checkpoint, files: files.map((f) => ({ ...f, presentBytes: f.bytes })), missingBytes: 0 };
}

async function inHubCache(
  snapshot: string,
  file: CheckpointFile,
  place: (path: string) => Promise<void>,
  remedy: Remedy,
): Promise<void> {
  const path = join(snapshot, file.path);
  if ((await sizeOf(path)) === file.bytes) return;
  const blob = join(blobFolder(snapshot), blobName(file));
  await place(blob);
  await onDisk(() => linkTo(blob, path), path, remedy);
}

/** The file at `path`, whole and right, downloaded unless it is there. */
async function bring(
  file: CheckpointFile,
  path: string,
  options: FetchOptions & {
    readonly headers: Readonly<Record<string, string>>;
    readonly remedy: Remedy;
    arrived(bytes: number): void;
  },
): Promise<void> {
  const { bytes, sha256, gitBlob, url } = file;
  const { environment, signal, retryWaitS, headers, remedy, arrived } = options;
  if (url === null || (await sizeOf(path)) === bytes) return;
  await onDisk(() => makeFolder(dirname(path)), path, remedy);
  const part = unfinished(path);
  const known = sha256 ?? gitBlob;
  for (;;) {
    const resumed = ((await sizeOf(part)) ?? 0) > 0;
    const got = await download(url, part, {
      ...remedy,
      environment,
      signal,
      headers,
      retryWaitS,
      ...(known === null ? {} : { fixedBytes: bytes }),
      onProgress: arrived,
    });
    const found = sha256 === null && gitBlob !== null ? await gitBlobHash(part, signal) : got.sha256;
    if (got.bytes === bytes && (known === null || found === known)) break;
    await discard(part);
    // What lay here may have been damaged before; once more from the beginning, then.
    if (resumed) continue;
    const wrong = got.bytes === bytes ? `its hash is ${found}, and should be ${known}` : `it has ${got.bytes} bytes, and should have ${bytes}`; // biome-ignore format: short
    throw failure('wrong_checksum', `${url} gave another file than the hub lists: ${wrong}`, `try again later, or ${remedy.remedy}`); // biome-ignore format: short
  }
  await onDisk(() => rename(part, path), path, remedy);
  await discard(part);
}

/** A relative link, as the hub's own client makes it, put in place at once; a second name where there are no links. */
async function linkTo(blob: string, path: string): Promise<void> {
  const folder = dirname(path);
  makeFolder(folder);
  const sibling = `${path}.${process.pid}.tmp`;
  await rm(sibling, { force: true });
  try {
    await symlink(relative(folder, blob), sibling);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP'].includes(systemCode(error) ?? '')) throw error;
    await link(blob, sibling);
  }
  await rename(sibling, path);
}

/** `refs/REVISION` names the commit; last of all, so that an older version counts until this one is whole. */
async function keepRevision({ folder, commit, revision }: Checkpoint, remedy: Remedy): Promise<void> {
  const named = revision ?? 'main';
  if (commit === null || named === commit) return;
  const path = join(folder, '../../refs', named);
  await onDisk(() => writeFileAtomic(path, commit), path, remedy);
}

async function lockWhenFree(checkpoint: Checkpoint, { signal, onWait }: FetchOptions): Promise<Lock> {
  const { source, folder } = checkpoint;
  const model = source === 'modelscope' ? folder : join(folder, '../..');
  const locks = source === 'modelscope' ? '.servetune' : '.locks';
  const path = join(dirname(model), locks, basename(model), 'servetune');
  for (let told = ''; ; ) {
    try {
      return acquireLock(path);
    } catch (error) {
      const [problem] = error instanceof InputError ? error.problems : [];
      // Held by somebody, and not merely unwritable.
      if (problem?.place !== path) {
        throw failure('cache_not_writable', `${path} cannot be written: ${problem?.message}`, remedyFor(checkpoint).remedy, error); // biome-ignore format: short
      }
      const message = `waiting for another download of ${checkpoint.name}: ${problem.message} (${problem.hint})`;
      if (message !== told) onWait?.(message);
      told = message;
      await sleep(0.5, signal);
    }
  }
}

function remedyFor({ id, source }: Checkpoint): Remedy {
  return source === 'modelscope'
    ? {
        cacheVariable: 'MODELSCOPE_CACHE',
        remedy: `download it elsewhere and name its folder (modelscope download ${id})`,
      }
    : { cacheVariable: 'HF_HOME', remedy: `download it elsewhere and name its folder (hf download ${id})` };
}

import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { sleep } from '../../kit/clock.ts';
import { exitCodes, messageOf, ServetuneError, systemCode } from '../../kit/errors.ts';
import { writeFileAtomic } from '../../kit/files.ts';
import { formatBytes } from '../../kit/words.ts';
import { readJson } from './json-file.ts';

export interface DownloadOptions {
  readonly signal: AbortSignal;
  /** What to do where the download cannot be had; it follows every failure. */
  readonly remedy: string;
  /** Called with each piece that arrives; `total` is null while the server has not told it. */
  onProgress?(bytes: number, total: number | null): void;
  /** Wait before the second try, seconds; doubled with each further one. */
  readonly retryWaitS?: number;
}

/** Tries in a row that bring no new byte before it is given up. */
const tries = 5;
/** Longest wait for the next byte, seconds. */
const stallS = 60;

/** What the file `PART.json` says about the unfinished file beside it. */
const partState = z.object({ url: z.string(), validator: z.string().nullable(), total: z.int().min(0).nullable() });
type PartState = z.infer<typeof partState>;

/** The connection, not the request, is to blame: another try may bring more. */
class Broken extends Error {
  /** Nobody answered at all. */
  readonly unanswered: boolean;
  constructor(message: string, unanswered = false) {
    super(message);
    this.unanswered = unanswered;
  }
}

/**
 * Downloads `url` to the file `part`, and goes on from what lies there already where the server can (a byte range, under
 * the condition that its file is still the same). What has arrived outlives this process. Redirects are followed; the
 * length is checked where the server tells it.
 *
 * Throws a ServetuneError with exit code 2 (`no_network`, `http_error`, `not_json`, `disk_full`, `cache_not_writable`,
 * `download_failed`), and the signal's reason.
 */
export async function download(
  url: string,
  part: string,
  options: DownloadOptions,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const { signal, remedy, retryWaitS = 1 } = options;
  const progress = new Running();
  let most = 0;
  let failures = 0;
  for (;;) {
    try {
      return await attempt(url, part, progress, options);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Broken)) throw error;
      if (error.unanswered && most === 0) {
        throw failure('no_network', `${url} cannot be reached: ${error.message}`, remedy, error);
      }
      failures = progress.bytes > most ? 1 : failures + 1;
      most = Math.max(most, progress.bytes);
      if (failures >= tries) {
        const kept = formatBytes((await sizeOf(part)) ?? 0, 'en');
        const again = `run the command again to go on from the ${kept} that are here, or ${remedy}`;
        throw failure('download_failed', `${url} broke off ${failures} times: ${error.message}`, again, error);
      }
      await sleep(retryWaitS * 2 ** (failures - 1), signal);
    }
  }
}

/** Removes an unfinished file with what is known about it. */
export async function discard(part: string): Promise<void> {
  await rm(part, { force: true });
  await rm(statePath(part), { force: true });
}

/** SHA-256 of a file, in hex. */
export async function fileHash(path: string, signal?: AbortSignal): Promise<string> {
  const running = new Running();
  await running.startWith(path, Number.POSITIVE_INFINITY, signal);
  return running.sha256();
}

/** An error that is the surroundings' fault, to be mended by the user. */
export const failure = (code: string, message: string, hint: string, cause?: unknown): ServetuneError =>
  new ServetuneError(code, message, { hint, exitCode: exitCodes.badInput, cause });

/** Length and hash of what has been written so far. */
class Running {
  bytes = 0;
  #hash: Hash = createHash('sha256');

  add(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.bytes += chunk.byteLength;
  }

  sha256(): string {
    return this.#hash.copy().digest('hex');
  }

  /** The first `bytes` of a file; what is known of them already is not read again. */
  async startWith(path: string, bytes: number, signal?: AbortSignal): Promise<void> {
    if (bytes === this.bytes) return;
    this.bytes = 0;
    this.#hash = createHash('sha256');
    if (bytes === 0) return;
    const stream = createReadStream(path, { end: bytes - 1, highWaterMark: 2 ** 20, ...(signal ? { signal } : {}) });
    for await (const chunk of stream) this.add(chunk as Buffer);
  }
}

async function attempt(
  url: string,
  part: string,
  running: Running,
  { signal, remedy, onProgress }: DownloadOptions,
): Promise<{ bytes: number; sha256: string }> {
  const known = await stateOf(part, url);
  let have = known ? ((await sizeOf(part)) ?? 0) : 0;
  if (known?.total != null && have > known.total) have = 0;
  await running.startWith(part, have, signal);
  if (known?.total != null && have === known.total) return { bytes: have, sha256: running.sha256() };

  const stalled = new AbortController();
  const within = AbortSignal.any([signal, stalled.signal]);
  const timer = setTimeout(() => stalled.abort(new Broken(`nothing came for ${stallS} s`)), stallS * 1000);
  try {
    const response = await ask(url, have, known, within);
    const state = await judge(url, response, have, known, part, remedy);
    if (response.status === 200) {
      await running.startWith(part, 0);
      await onDisk(() => writeFileAtomic(statePath(part), JSON.stringify(state)), part, remedy);
      await checkSpace(part, state.total, remedy);
    }
    const file = await onDisk(() => open(part, running.bytes === 0 ? 'w' : 'a'), part, remedy);
    try {
      onProgress?.(running.bytes, state.total);
      for await (const chunk of pieces(response, within)) {
        timer.refresh();
        await onDisk(() => writeAll(file, chunk), part, remedy);
        running.add(chunk);
        onProgress?.(running.bytes, state.total);
      }
      await onDisk(() => file.sync(), part, remedy);
    } finally {
      await file.close();
    }
    if (state.total !== null && running.bytes !== state.total) {
      throw new Broken(`it ended after ${running.bytes} of ${state.total} bytes`);
    }
    return { bytes: running.bytes, sha256: running.sha256() };
  } finally {
    clearTimeout(timer);
  }
}

async function ask(url: string, have: number, known: PartState | null, signal: AbortSignal): Promise<Response> {
  const resume = have > 0 && known?.validator ? { range: `bytes=${have}-`, 'if-range': known.validator } : {};
  try {
    // A length, and a place to go on from, mean something only where the body is the file itself.
    return await fetch(url, { signal, headers: { 'accept-encoding': 'identity', ...resume } });
  } catch (error) {
    throw brokenBy(error, signal, true);
  }
}

/** What is being received. With status 206 it goes on from what is there, with 200 it begins anew. */
async function judge(
  url: string,
  response: Response,
  have: number,
  known: PartState | null,
  part: string,
  remedy: string,
): Promise<PartState> {
  const { status, headers } = response;
  const refuse = async (error: Error): Promise<never> => {
    await response.body?.cancel().catch(() => {});
    throw error;
  };
  if (status === 206 || status === 416) {
    const [, start, end] = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(headers.get('content-range') ?? '') ?? [];
    const total = end === undefined || end === '*' ? null : Number(end);
    const same = status === 206 && known !== null && Number(start) === have && (known.total ?? total) === total;
    if (same) return { ...known, total };
    await discard(part);
    return refuse(new Broken('the server’s file is not the one that the download began with'));
  }
  if (status === 429 || status >= 500) return refuse(new Broken(`the server answered ${status}`));
  if (status !== 200) {
    const why = status === 401 || status === 403 ? ' (it wants a login, or forbids this address)' : '';
    return refuse(failure('http_error', `${url} answered ${status}${why}`, remedy));
  }
  if (/^text\/html\b/i.test(headers.get('content-type') ?? '')) {
    return refuse(failure('not_json', `${url} answered with a web page instead of the file`, remedy));
  }
  const length = headers.get('content-length');
  const total = length === null || headers.has('content-encoding') ? null : Number(length);
  return { url, validator: validatorOf(headers), total };
}

/** What proves that a file is still the same; a weak tag does not. */
function validatorOf(headers: Headers): string | null {
  const etag = headers.get('etag');
  return etag !== null && !etag.startsWith('W/') ? etag : headers.get('last-modified');
}

async function* pieces(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value as Uint8Array;
    }
  } catch (error) {
    throw brokenBy(error, signal, false);
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function brokenBy(error: unknown, signal: AbortSignal, unanswered: boolean): Broken {
  if (signal.reason instanceof Broken) return signal.reason;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // A name with several addresses fails with one error for each, and without words of its own.
  const words = messageOf(cause) || systemCode(cause) || 'no connection';
  return new Broken(words, unanswered);
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength; ) at += (await file.write(chunk, at)).bytesWritten;
}

/**
 * Does something with the file `path`. Throws a ServetuneError `disk_full` or `cache_not_writable` in place of what the
 * system throws.
 */
export async function onDisk<T>(action: () => T | Promise<T>, path: string, remedy: string): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const code = systemCode(error);
    const full = code === 'ENOSPC' || code === 'EDQUOT';
    const message = full ? `the disk under ${dirname(path)} is full` : `${path} cannot be written: ${messageOf(error)}`;
    throw failure(full ? 'disk_full' : 'cache_not_writable', message, spaceHint(remedy), error);
  }
}

async function checkSpace(part: string, total: number | null, remedy: string): Promise<void> {
  const disk = await statfs(dirname(part)).catch(() => null);
  if (disk === null || total === null) return;
  const free = disk.bavail * disk.bsize;
  if (free >= total) return;
  const [need, have] = [formatBytes(total, 'en'), formatBytes(free, 'en')];
  throw failure('disk_full', `the file has ${need}, and ${dirname(part)} has room for ${have}`, spaceHint(remedy));
}

const spaceHint = (remedy: string): string =>
  `make room and run the command again, set SERVETUNE_CACHE to a folder on another disk, or ${remedy}`;

const statePath = (part: string): string => `${part}.json`;

/** What is known of the unfinished file; null where nothing can be made of it. */
async function stateOf(part: string, url: string): Promise<PartState | null> {
  const state = await readJson(statePath(part), partState);
  return state !== null && state.url === url && state.validator !== null ? state : null;
}

async function sizeOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ size }) => size,
    () => null,
  );
}

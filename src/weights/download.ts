import { type FileHandle, open, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { z } from 'zod';
import { sleep } from '../kit/clock.ts';
import { messageOf, ServetuneError, systemCode } from '../kit/errors.ts';
import { writeFileAtomic } from '../kit/files.ts';
import type { Environment } from '../kit/hub-cache.ts';
import { readJson } from '../kit/json-file.ts';
import { formatBytes } from '../kit/words.ts';
import { checkSpace, onDisk, type Remedy, sizeOf } from './disk.ts';
import { failure } from './failure.ts';
import { RunningHash } from './hash.ts';
import { ask } from './http.ts';

export interface DownloadOptions extends Remedy {
  readonly signal: AbortSignal;
  /** Names the proxy, if there is one to go through. */
  readonly environment?: Environment | undefined;
  /** A secret among them is told to the host of the address only, not to where it sends us. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Length of the one content that the address can have, bytes: what is here is then gone on with although the server
   * proves nothing. Whoever says this compares the hash.
   */
  readonly fixedBytes?: number | undefined;
  /** Called with each piece that arrives; `total` is null while the server has not told it. */
  onProgress?(bytes: number, total: number | null): void;
  /** Wait before the second try, seconds; doubled with each further one. */
  readonly retryWaitS?: number | undefined;
}

export interface Downloaded {
  readonly bytes: number;
  readonly sha256: string;
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
 * length is checked where it is known.
 *
 * Throws a ServetuneError with exit code 2 (`no_network`, `http_error`, `not_json`, `disk_full`, `cache_not_writable`,
 * `download_failed`, `bad_proxy`), and the signal's reason.
 */
export async function download(url: string, part: string, options: DownloadOptions): Promise<Downloaded> {
  const { signal, remedy, retryWaitS = 1 } = options;
  const progress = new RunningHash();
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

async function attempt(url: string, part: string, running: RunningHash, options: DownloadOptions): Promise<Downloaded> {
  const { signal, onProgress } = options;
  const known = await stateOf(part, url, options);
  let have = known ? ((await sizeOf(part)) ?? 0) : 0;
  if (known?.total != null && have > known.total) have = 0;
  await running.startWith(part, have, signal);
  if (known?.total != null && have === known.total) {
    if (have === 0) await onDisk(async () => (await open(part, 'w')).close(), part, options);
    return { bytes: have, sha256: running.sha256() };
  }

  const stalled = new AbortController();
  const within = AbortSignal.any([signal, stalled.signal]);
  const timer = setTimeout(() => stalled.abort(new Broken(`nothing came for ${stallS} s`)), stallS * 1000);
  try {
    const answer = await begin(url, have, known, within, options);
    const state = await judge(url, answer, have, known, part, options);
    if (answer.statusCode === 200) {
      await running.startWith(part, 0);
      if (options.fixedBytes === undefined) {
        await onDisk(() => writeFileAtomic(statePath(part), JSON.stringify(state)), part, options);
      }
      if (state.total !== null) await checkSpace(part, state.total, options);
    }
    const file = await onDisk(() => open(part, running.bytes === 0 ? 'w' : 'a'), part, options);
    try {
      onProgress?.(running.bytes, state.total);
      for await (const chunk of pieces(answer, within)) {
        timer.refresh();
        await onDisk(() => writeAll(file, chunk), part, options);
        running.add(chunk);
        onProgress?.(running.bytes, state.total);
      }
      await onDisk(() => file.sync(), part, options);
    } finally {
      answer.destroy();
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

async function begin(
  url: string,
  have: number,
  known: PartState | null,
  signal: AbortSignal,
  { headers, environment }: DownloadOptions,
): Promise<IncomingMessage> {
  const condition = known?.validator ? { 'if-range': known.validator } : {};
  const resume = have > 0 && known !== null ? { range: `bytes=${have}-`, ...condition } : {};
  try {
    return await ask(url, { environment, signal, headers: { ...headers, ...resume } });
  } catch (error) {
    if (error instanceof ServetuneError) throw error;
    throw brokenBy(error, signal, true);
  }
}

/** What is being received. With status 206 it goes on from what is there, with 200 it begins anew. */
async function judge(
  url: string,
  answer: IncomingMessage,
  have: number,
  known: PartState | null,
  part: string,
  { remedy, fixedBytes }: DownloadOptions,
): Promise<PartState> {
  const { statusCode: status = 0, headers } = answer;
  const refuse = (error: Error): never => {
    answer.destroy();
    throw error;
  };
  if (status === 206 || status === 416) {
    const [, start, end] = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? [];
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
  if (fixedBytes === undefined && /^text\/html\b/i.test(headers['content-type'] ?? '')) {
    return refuse(failure('not_json', `${url} answered with a web page instead of the file`, remedy));
  }
  const length = headers['content-length'];
  const told = length === undefined || headers['content-encoding'] !== undefined ? null : Number(length);
  return { url, validator: validatorOf(headers), total: fixedBytes ?? told };
}

/** What proves that a file is still the same; a weak tag does not. */
function validatorOf({ etag, 'last-modified': modified }: IncomingHttpHeaders): string | null {
  return etag !== undefined && !etag.startsWith('W/') ? etag : (modified ?? null);
}

async function* pieces(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of answer) yield chunk as Buffer;
  } catch (error) {
    throw brokenBy(error, signal, false);
  }
}

function brokenBy(error: unknown, signal: AbortSignal, unanswered: boolean): Broken {
  if (signal.reason instanceof Broken) return signal.reason;
  // A name with several addresses fails with one error for each, and without words of its own.
  return new Broken(messageOf(error) || systemCode(error) || 'no connection', unanswered);
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength; ) at += (await file.write(chunk, at)).bytesWritten;
}

const statePath = (part: string): string => `${part}.json`;

/** What is known of the unfinished file; null where nothing can be made of it. */
async function stateOf(part: string, url: string, { fixedBytes }: DownloadOptions): Promise<PartState | null> {
  if (fixedBytes !== undefined) return { url, validator: null, total: fixedBytes };
  const state = await readJson(statePath(part), partState);
  return state !== null && state.url === url && state.validator !== null ? state : null;
}

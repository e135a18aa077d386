import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

/** SHA-256 of a file, in hex. */
export async function fileHash(path: string, signal?: AbortSignal): Promise<string> {
  const running = new RunningHash();
  await running.startWith(path, Number.POSITIVE_INFINITY, signal);
  return running.sha256();
}

/** The name that git gives to a file's content: SHA-1 of `blob SIZE`, a zero byte and the content; in hex. */
export async function gitBlobHash(path: string, signal?: AbortSignal): Promise<string> {
  const { size } = await stat(path);
  const hash = createHash('sha1').update(`blob ${size}\0`);
  for await (const chunk of reading(path, undefined, signal)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Length and SHA-256 of what has been written so far. */
export class RunningHash {
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
    for await (const chunk of reading(path, bytes - 1, signal)) this.add(chunk as Buffer);
  }
}

const reading = (path: string, end: number | undefined, signal: AbortSignal | undefined) =>
  createReadStream(path, {
    highWaterMark: 2 ** 20,
    ...(end === undefined ? {} : { end }),
    ...(signal ? { signal } : {}),
  });

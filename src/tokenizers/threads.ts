import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type Answer, type Job, memoryOf, pack, unpack } from './packing.ts';
import type { CodecSource } from './source.ts';

/**
 * The same file whether this module runs from `src/` (in tests) or from `dist/`: Node cannot run TypeScript, so the
 * thread is always the compiled one.
 */
const workerPath = fileURLToPath(new URL('../../dist/tokenizers/worker.js', import.meta.url));

/** Characters, or ids, of one job: long enough to hide the way there and back, short enough to share out evenly. */
const jobSize = 32_000;

/** Threads that share out a batch. */
export interface Threads {
  /** Null when a thread was lost or failed: the batch is then to be done without them. */
  encode(texts: readonly string[], signal?: AbortSignal): Promise<number[][] | null>;
  decode(lists: readonly (readonly number[])[], signal?: AbortSignal): Promise<string[] | null>;
  close(): Promise<void>;
}

interface Thread {
  readonly worker: Worker;
  /** Settles the job under way: with its answer, or with null when the thread has ended. */
  settle: ((answer: Answer | null) => void) | undefined;
}

/**
 * At most `count` threads, started when a batch needs them. They keep the process alive only while they work, and stay
 * for the next batch until `close`, after which a batch starts new ones.
 */
export function startThreads(source: CodecSource, count: number): Threads {
  const threads: Thread[] = [];
  const idle: Thread[] = [];
  const waiting: ((thread: Thread | null) => void)[] = [];

  const start = (): Thread => {
    const worker = new Worker(workerPath, { workerData: source, execArgv: [], env: {} });
    worker.unref();
    const thread: Thread = { worker, settle: undefined };
    threads.push(thread);
    const end = (): void => {
      threads.splice(0, threads.length, ...threads.filter((one) => one !== thread));
      idle.splice(0, idle.length, ...idle.filter((one) => one !== thread));
      thread.settle?.(null);
      if (threads.length === 0) for (const wait of waiting.splice(0)) wait(null);
    };
    worker.on('message', (answer: Answer) => thread.settle?.(answer));
    // The event that follows, the end, says all that there is to do.
    worker.on('error', () => {});
    worker.on('exit', end);
    return thread;
  };

  const take = async (): Promise<Thread | null> => {
    const free = idle.pop();
    if (free) return free;
    if (threads.length < count) return start();
    return new Promise((resolve) => waiting.push(resolve));
  };

  const ask = async (job: Job): Promise<Answer | null> => {
    const thread = await take();
    if (thread === null) return null;
    const answer = await new Promise<Answer | null>((resolve) => {
      thread.settle = resolve;
      thread.worker.ref();
      thread.worker.postMessage(job, job.kind === 'decode' ? memoryOf(job.packed) : []);
    });
    thread.settle = undefined;
    if (answer === null) return null;
    thread.worker.unref();
    const next = waiting.shift();
    if (next) next(thread);
    else idle.push(thread);
    return answer;
  };

  /** Shares out a batch, as many jobs at once as there are threads; null as soon as one of them fails. */
  const share = async <T, R>(
    items: readonly T[],
    sizeOf: (item: T) => number,
    jobOf: (part: readonly T[]) => Job,
    resultOf: (answer: Answer) => readonly R[] | null,
    signal?: AbortSignal,
  ): Promise<R[] | null> => {
    signal?.throwIfAborted();
    const parts = partsOf(items, sizeOf);
    const results = new Array<readonly R[]>(parts.length);
    const rest = parts.entries();
    let whole = true;
    const work = async (): Promise<void> => {
      for (const [i, part] of rest) {
        if (!whole) return;
        signal?.throwIfAborted();
        const answer = await ask(jobOf(part));
        const result = answer && resultOf(answer);
        if (result) results[i] = result;
        else whole = false;
      }
    };
    await untilAborted(Promise.all(Array.from({ length: Math.min(count, parts.length) }, work)), signal);
    return whole ? results.flat() : null;
  };

  return {
    encode: (texts, signal) =>
      share(
        texts,
        (text) => text.length,
        (part) => ({ kind: 'encode', texts: part }),
        (answer) => (answer.kind === 'ids' ? unpack(answer.packed) : null),
        signal,
      ),
    decode: (lists, signal) =>
      share(
        lists,
        (list) => list.length,
        (part) => ({ kind: 'decode', packed: pack(part) }),
        (answer) => (answer.kind === 'texts' ? answer.texts : null),
        signal,
      ),
    async close() {
      await Promise.all(threads.map(({ worker }) => worker.terminate()));
    },
  };
}

/** Whether threads can be had: false where the package was not built. */
export const canStartThreads = (): boolean => existsSync(workerPath);

function partsOf<T>(items: readonly T[], sizeOf: (item: T) => number): T[][] {
  const parts: T[][] = [];
  let size = jobSize;
  for (const item of items) {
    if (size >= jobSize) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)?.push(item);
    size += sizeOf(item);
  }
  return parts;
}

/** Leaves at once when the signal aborts, whatever is still under way. */
async function untilAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  const { promise, reject } = deferred();
  const leave = (): void => reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
    // A job that ends after the batch was left has nobody who would hear of its failure.
    work.catch(() => {});
  }
}

function deferred(): { readonly promise: Promise<never>; readonly reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<never>((_, no) => {
    reject = no;
  });
  return { promise, reject };
}

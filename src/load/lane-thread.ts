import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { CourseMemory } from './course.ts';
import type { LanePlan, LaneResult } from './lane.ts';
import type { PackedRecords } from './record-log.ts';
import type { BodyPlan } from './request-body.ts';
import type { SharedRequests } from './shared-requests.ts';

/**
 * The same file whether this module runs from `src/` (in tests) or from `dist/`: Node cannot run TypeScript, so the
 * thread is always the compiled one.
 */
const workerPath = fileURLToPath(new URL('../../dist/load/lane-worker.js', import.meta.url));

/** Everything that a thread of the load needs; it can be sent to one. */
export interface LaneTask {
  readonly thread: number;
  readonly memory: CourseMemory;
  readonly plan: LanePlan;
  /** Name of the request dialect. */
  readonly backend: string;
  readonly bodyPlan: BodyPlan;
  readonly limit: number | null;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly ca?: string;
  /** Connections to open before the load. */
  readonly preconnect: number;
  readonly requests: SharedRequests;
}

/** What the thread is told. */
export type LaneOrder =
  | { readonly kind: 'run'; readonly startS: number }
  | { readonly kind: 'abandon'; readonly reason: string };

/** What the thread tells. */
export type LaneNews =
  | { readonly kind: 'ready' }
  | { readonly kind: 'records'; readonly packed: PackedRecords; readonly refusals: readonly string[] }
  | { readonly kind: 'done'; readonly result: LaneResult };

/** A lane, on this thread or on another. */
export interface RunningLane {
  /** `startS` is on the clock of `now`. */
  run(startS: number): Promise<LaneResult>;
  abandon(reason: string): void;
  close(): void;
}

/**
 * Of a thread's young objects, MB. Streams bring a thousand bytes of garbage a token: with as little room as Node gives,
 * it would be collected every second, and each time the events of 20 ms would be read late.
 */
const semiSpaceMb = 32;

/** Starts a lane on a thread of its own, and waits until its connections stand. Rejects when the thread fails. */
export async function startLaneThread(
  task: LaneTask,
  onRecords: (packed: PackedRecords, refusals: readonly string[]) => void,
): Promise<RunningLane> {
  // The heap of a thread is laid out when the thread is made; nothing but this flag can make its beginning large.
  setFlagsFromString(`--min-semi-space-size=${semiSpaceMb}`);
  setFlagsFromString(`--max-semi-space-size=${semiSpaceMb}`);
  const worker = new Worker(workerPath, {
    workerData: task,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 3 * semiSpaceMb },
  });
  let done: (result: LaneResult) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const finished = new Promise<LaneResult>((resolve, reject) => {
    done = resolve;
    fail = reject;
  });
  // Whoever waits for it is told; nobody waits before the load has begun.
  finished.catch(() => {});
  const ready = new Promise<void>((resolve, reject) => {
    worker.on('message', (news: LaneNews) => {
      if (news.kind === 'ready') resolve();
      else if (news.kind === 'records') onRecords(news.packed, news.refusals);
      else done(news.result);
    });
    const failed = (error: Error): void => {
      reject(error);
      fail(error);
    };
    worker.on('error', failed);
    worker.on('exit', (code) => failed(new Error(`a thread of the load ended with code ${code}`)));
  });
  await ready;
  const tell = (order: LaneOrder): void => worker.postMessage(order);
  return {
    run(startS) {
      tell({ kind: 'run', startS });
      return finished;
    },
    abandon: (reason) => tell({ kind: 'abandon', reason }),
    close: () => void worker.terminate(),
  };
}

import { now } from '../kit/clock.ts';
import { messageOf } from '../kit/errors.ts';
import type { RequestRecord } from '../records/request.ts';
import type { Course } from './course.ts';
import { clientHealth } from './health.ts';
import type { Journal } from './journal.ts';
import type { LaneResult } from './lane.ts';
import type { RunningLane } from './lane-thread.ts';
import type { LoadPlan } from './plan.ts';
import { recentRate } from './progress.ts';
import { type PackedRecords, RecordLog, unpack } from './record-log.ts';
import type { LoadHooks, LoadResult } from './result.ts';

const TICK_S = 0.1;
const PROGRESS_S = 0.25;
/** Between the word to begin and the beginning, so that no thread is late for it, seconds. */
const HEAD_START_S = 0.005;

/** What a load consists of besides its plan. */
export interface LoadParts {
  readonly plan: LoadPlan;
  readonly hooks: LoadHooks;
  readonly course: Course;
  readonly journal: Journal | undefined;
}

/** One load while it runs: keeps its records, and looks after silence, time and errors while lanes send it. */
export class Load {
  readonly #parts: LoadParts;
  readonly #log = new RecordLog();
  readonly #rate = recentRate();
  #lanes: readonly RunningLane[] = [];
  #startS = 0;
  #lastEndS = 0;
  #errors = 0;
  #ended: LoadResult['ended'] | undefined;
  #abandonedReason: string | undefined;
  #clientFault: string | undefined;

  constructor(parts: LoadParts) {
    this.#parts = parts;
  }

  async run(lanes: readonly RunningLane[]): Promise<LoadResult> {
    const { signal } = this.#parts.hooks;
    this.#lanes = lanes;
    const cancel = (): void => this.abandon('cancelled', `cancelled: ${messageOf(signal.reason)}`);
    this.#startS = now() + (lanes.length > 1 ? HEAD_START_S : 0);
    const ticker = setInterval(this.#ticks(), TICK_S * 1000);
    if (signal.aborted) this.#parts.course.stop();
    else signal.addEventListener('abort', cancel, { once: true });
    try {
      const running = lanes.map((lane) => lane.run(this.#startS));
      if (signal.aborted) cancel();
      // What went wrong before the first request, such as a journal that cannot be written.
      if (this.#ended !== undefined) this.#dropAll();
      return this.#result(await Promise.all(running));
    } finally {
      clearInterval(ticker);
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Ends the load now: nothing more is sent, and what is under way is dropped. */
  abandon(ended: Exclude<LoadResult['ended'], 'complete'>, reason: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = ended;
    this.#abandonedReason = reason;
    this.#parts.course.stop();
    this.#dropAll();
  }

  #dropAll(): void {
    for (const lane of this.#lanes) lane.abandon(this.#abandonedReason ?? '');
  }

  /** A request of a lane on this thread has ended. */
  record(record: RequestRecord, refusal: string | undefined): void {
    this.#log.add(record);
    this.#noteRecord(record);
    if (refusal !== undefined && isClientFault(refusal)) this.#clientFault ??= record.error ?? refusal;
  }

  /** Requests of a lane on another thread have ended. */
  records(packed: PackedRecords, refusals: readonly string[]): void {
    this.#log.addPacked(packed);
    for (const record of unpack(packed)) this.#noteRecord(record);
    const refusal = refusals.find(isClientFault);
    if (refusal !== undefined) this.#clientFault ??= refusal;
  }

  #noteRecord(record: RequestRecord): void {
    this.#parts.journal?.add(record);
    this.#lastEndS = Math.max(this.#lastEndS, record.endS);
    if (record.outcome !== 'ok' && record.outcome !== 'cancelled') this.#errors++;
    this.#errors += record.malformedEvents;
    const { maxErrors } = this.#parts.plan;
    if (maxErrors === undefined || this.#errors <= maxErrors) return;
    const last = record.error ?? 'a malformed event';
    this.abandon('cancelled', `stopped after ${this.#errors} errors; the last: ${last}`);
  }

  /** What is looked after several times a second: silence, the limit on the whole load, progress. */
  #ticks(): () => void {
    const { plan, course } = this.#parts;
    const { stallTimeoutS = Number.POSITIVE_INFINITY, loadTimeoutS = Number.POSITIVE_INFINITY } = plan;
    let lastS = this.#startS;
    let toldS = this.#startS;
    let silentS = 0;
    let heard = 0;
    let sent = 0;
    return () => {
      const atS = now();
      const inFlight = course.inFlight;
      const bytes = course.total('bytesHeard');
      const asked = course.total('sent');
      // A process that was stopped for a while has not listened: silence counts by the ticks that it lived through.
      if (inFlight > 0 && bytes === heard && asked === sent) silentS += Math.min(atS - lastS, 2 * TICK_S);
      else silentS = 0;
      heard = bytes;
      sent = asked;
      lastS = atS;
      if (silentS >= stallTimeoutS) {
        this.abandon('hung', `no byte from any of ${inFlight} open streams for ${stallTimeoutS} s`);
      } else if (atS - this.#startS >= loadTimeoutS) {
        this.abandon('timed_out', `the load was not over after ${loadTimeoutS} s`);
      }
      if (atS - toldS < PROGRESS_S) return;
      toldS = atS;
      this.#tell();
    };
  }

  #tell(): void {
    const { plan, hooks, course } = this.#parts;
    const elapsedS = now() - this.#startS;
    const [sent, ok, failed] = [course.total('sent'), course.total('ok'), course.total('failed')];
    const outputTokens = course.total('outputTokens');
    hooks.onProgress?.({
      sent,
      ok,
      failed,
      running: sent - ok - failed,
      outputTokens,
      elapsedS,
      tokensPerS: this.#rate(outputTokens, elapsedS),
      total: plan.minDurationS > 0 ? null : plan.minRequests,
    });
  }

  #result(lanes: readonly LaneResult[]): LoadResult {
    const { plan, course } = this.#parts;
    const { minRequests, minDurationS, maxConcurrency } = plan;
    this.#tell();
    const durationS = this.#lastEndS;
    const sent = course.next;
    const asked = Math.max(minRequests, sent);
    const ranOut = this.#ended === undefined && sent === course.due.length && durationS < minDurationS;
    return {
      startS: this.#startS,
      records: this.#log,
      asked,
      notSent: asked - sent,
      client: clientHealth({
        lanes,
        records: this.#log,
        durationS,
        concurrencyAsked: maxConcurrency,
        rateIsInfinite: course.due.every((dueS) => dueS === 0),
        ...(this.#clientFault === undefined ? {} : { clientFault: this.#clientFault }),
      }),
      ended: this.#ended ?? 'complete',
      ...(this.#abandonedReason === undefined ? {} : { abandonedReason: this.#abandonedReason }),
      ...(ranOut
        ? {
            ranOut: `all ${sent} prepared requests had ended after ${durationS.toFixed(1)} s of the ${minDurationS} s asked for`,
          }
        : {}),
      durationS,
      staleRetries: lanes.reduce((sum, lane) => sum + lane.staleRetries, 0),
    };
  }
}

/** This side ran out of files, ports or memory: no fault of the server. */
const isClientFault = (code: string): boolean =>
  ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM'].includes(code);

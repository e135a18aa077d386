import type { SimulatedEngine, StepEvent } from '../engine.ts';
import type { SimulatedClock } from './clock.ts';

/** A simulated engine that goes on as its clock does. */
export interface Pacing {
  /** A request arrives now. */
  add(id: number): void;
  /** Its client is gone. */
  cancel(id: number): void;
  /** Does what is due by now; to be called before the engine is looked at. */
  catchUp(): void;
  /** Simulated seconds by which the engine is behind its clock: more than 0 only where this process cannot keep up. */
  readonly behindS: number;
  stop(): void;
}

/** Told of each step that ended, with the requests that decoded in it. */
export type OnStep = (event: StepEvent, decoded: readonly number[]) => void;

/** Longest that steps are worked off before requests are read again, milliseconds. */
const sliceMs = 20;
/** What the system adds to a sleep before it wakes a thread; the rest is spun through the event loop. */
const wakeUpMs = 0.06;
/** Longest that requests which are read one after the other count as having come together, milliseconds. */
export const longestBurstMs = 100;
/** Longest sleep inside a turn of the event loop: a request that arrives meanwhile is read so much late at most. */
const longestNapMs = 0.2;

/**
 * Each step ends at the time that the simulation gives it, however late the one before was noticed, so that nothing
 * drifts; and none is begun before the one before has ended, so that whoever arrives meanwhile is in the next one. Steps
 * that are due together are worked off together, and their tokens leave together.
 *
 * To read requests takes this process longer than it takes them to arrive, and a burst would be drawn out. So all that
 * are read before the event loop has slept once arrive in the simulation when the first of them did, and until then the
 * engine waits, for `burstMs` at most.
 *
 * Timers of Node have a resolution of a millisecond, so the thread sleeps through the last one before a step in short
 * naps, with a turn of the event loop between them.
 */
export function pace(
  engine: SimulatedEngine,
  clock: SimulatedClock,
  onStep: OnStep,
  burstMs: number = longestBurstMs,
): Pacing {
  const bed = new Int32Array(new SharedArrayBuffer(4));
  /** Requests that arrived while there was something to be worked off first. */
  const arrivals: { readonly id: number; readonly atS: number }[] = [];
  /** Requests are being read: when the first of them came, and what had been slept before. */
  let burst: { readonly atS: number; readonly endsMs: number; readonly slept: number } | null = null;
  let naps = 0;
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;
  let working = false;
  let stopped = false;

  const nextS = (): number => Math.min(engine.nextS(), arrivals[0]?.atS ?? Number.POSITIVE_INFINITY);

  const slept = (): number => performance.nodeTiming.idleTime + naps;

  function endBurst(): void {
    if (burst !== null && (slept() !== burst.slept || performance.now() >= burst.endsMs)) burst = null;
  }

  function workOff(): void {
    working = true;
    endBurst();
    const nowS = burst?.atS ?? clock.nowS();
    const endMs = performance.now() + sliceMs;
    while (nextS() <= nowS && performance.now() < endMs) {
      const atS = nextS();
      const arrival = arrivals[0];
      if (arrival !== undefined && arrival.atS <= atS) {
        arrivals.shift();
        engine.add(arrival.id, arrival.atS);
        continue;
      }
      const decoded = [...engine.scheduler.decoding.ids()];
      const event = engine.advance();
      if (event !== null) onStep(event, event.decoded ? decoded : []);
    }
    working = false;
    arm();
  }

  function nap(): void {
    immediate = undefined;
    const aheadMs = clock.untilS(nextS()) * 1000 - wakeUpMs;
    naps++;
    if (aheadMs > 0) Atomics.wait(bed, 0, 0, Math.min(aheadMs, longestNapMs));
    workOff();
  }

  function arm(): void {
    clearTimeout(timer);
    clearImmediate(immediate);
    timer = undefined;
    immediate = undefined;
    if (stopped) return;
    const aheadMs = clock.untilS(nextS()) * 1000;
    if (aheadMs === Number.POSITIVE_INFINITY) return;
    // Only a timer lets the event loop sleep, if there is nothing more to be read.
    if (burst !== null) timer = setTimeout(workOff, 1);
    else if (aheadMs < 1 + wakeUpMs) immediate = setImmediate(nap);
    else timer = setTimeout(workOff, Math.min(Math.floor(aheadMs - wakeUpMs), 2 ** 30));
  }

  return {
    get behindS() {
      return Math.max(0, clock.nowS() - nextS());
    },
    add(id) {
      endBurst();
      const nowMs = performance.now();
      burst ??= { atS: clock.nowS(), endsMs: nowMs + burstMs, slept: slept() };
      arrivals.push({ id, atS: burst.atS });
      if (!working) workOff();
    },
    cancel(id) {
      const at = arrivals.findIndex((arrival) => arrival.id === id);
      if (at >= 0) arrivals.splice(at, 1);
      else engine.cancel(id);
    },
    catchUp() {
      if (!working) workOff();
    },
    stop() {
      stopped = true;
      arm();
    },
  };
}

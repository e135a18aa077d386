import { dequeue, enqueue, finish, newQueue, type Stream, sendEvents } from './stream.ts';
import type { Tallies } from './tallies.ts';
import type { Turns } from './turns.ts';

export interface Pace {
  readonly ttftMs: number;
  readonly itlMs: number;
  readonly eventsPerWrite: number;
}

/** Sends the events of all streams, each at its time. */
export interface Pacer {
  start(stream: Stream): void;
  /** To be called when a stream that was blocked can be written to again. */
  resume(stream: Stream): void;
  stop(): void;
}

/** Below so many events a millisecond each is waited for by itself; above, those of a millisecond leave together. */
const sparseEventsPerMs = 4;
/** What the system adds to a sleep before it wakes a thread; the rest is spun through the event loop. */
const wakeUpMs = 0.06;
/** Longest sleep inside a turn of the event loop: a request that arrives meanwhile is read so much late at most. */
const longestNapMs = 0.2;
/** How long events may be sent before the event loop looks for requests again. */
const dueSliceMs = 5;
const readySliceMs = 1;
/** The same while clients connect: the loop lets in one with every turn, and the others wait unseen. */
const connectingSliceMs = 0.1;

const isRunning = (stream: Stream): boolean => stream.state === 'running';
const isOver = (stream: Stream): boolean => stream.state === 'over';

/**
 * All streams have the same times to the first and between events, so two queues hold them in order of what is due: a
 * new stream is due after all that wait for their first event, and one that has just had its turn is due after all that
 * had theirs before. The schedule of a stream is absolute: event k is due at its start + ttft + k * itl, however late
 * the ones before it left.
 *
 * Timers of Node have a resolution of a millisecond. With many streams that is the pace: what falls due within one
 * leaves at its end. With few, a timer waits until less than a millisecond is left, and the thread sleeps through that
 * in short naps, with a turn of the event loop between them; spinning would take a whole core from the client.
 */
export function newPacer({ ttftMs, itlMs, eventsPerWrite }: Pace, tallies: Tallies, turns: Turns): Pacer {
  const waiting = newQueue();
  const pacing = newQueue();
  /** Streams that send as fast as they can, round robin. */
  const ready = newQueue();
  const bed = new Int32Array(new SharedArrayBuffer(4));
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;
  let wakesAtMs = Number.POSITIVE_INFINITY;
  let stopped = false;

  const dueOf = (stream: Stream, event: number): number => stream.startedAtMs + ttftMs + event * itlMs;

  /** Also a queue's head whose stream is over: it falls due like the others, and is dropped then. */
  const nextDueMs = (): number => {
    if (ready.head !== undefined) return Number.NEGATIVE_INFINITY;
    return Math.min(
      waiting.head?.dueAtMs ?? Number.POSITIVE_INFINITY,
      pacing.head?.dueAtMs ?? Number.POSITIVE_INFINITY,
    );
  };

  /** Sends what a stream has not sent yet up to event `last`. */
  const catchUp = (stream: Stream, last: number): void => {
    while (isRunning(stream) && stream.sent <= last) sendEvents(stream, 1, dueOf(stream, stream.sent), tallies);
  };

  const takeTurn = (stream: Stream): void => {
    if (isOver(stream)) return;
    if (itlMs === 0) {
      enqueue(ready, stream);
      return;
    }
    catchUp(stream, stream.slot);
    stream.slot++;
    if (isOver(stream) || stream.slot === stream.shape.events) return;
    stream.dueAtMs = dueOf(stream, stream.slot);
    enqueue(pacing, stream);
  };

  const sendDue = (nowMs: number): void => {
    const sliceMs = turns.accepting ? connectingSliceMs : dueSliceMs;
    let sentAtMs = nowMs;
    do {
      const first = waiting.head;
      const second = pacing.head;
      const queue = second === undefined || (first !== undefined && first.dueAtMs <= second.dueAtMs) ? waiting : pacing;
      if (queue.head === undefined || queue.head.dueAtMs > nowMs) return;
      const stream = dequeue(queue) as Stream;
      takeTurn(stream);
      sentAtMs = stream.lastSentAtMs;
    } while (sentAtMs - nowMs < sliceMs);
  };

  const sendReady = (nowMs: number): void => {
    const sliceMs = turns.accepting ? connectingSliceMs : readySliceMs;
    let sentAtMs = nowMs;
    while (ready.head !== undefined && sentAtMs - nowMs < sliceMs) {
      const stream = dequeue(ready) as Stream;
      if (!isRunning(stream)) continue;
      const count = Math.min(eventsPerWrite, stream.shape.events - stream.sent);
      sendEvents(stream, count, stream.sent === 0 && ttftMs > 0 ? stream.dueAtMs : undefined, tallies);
      sentAtMs = stream.lastSentAtMs;
      if (isRunning(stream)) enqueue(ready, stream);
    }
  };

  const tick = (): void => {
    timer = undefined;
    immediate = undefined;
    const nowMs = performance.now();
    turns.enter(nowMs);
    sendDue(nowMs);
    if (ready.head !== undefined) sendReady(performance.now());
    arm();
  };

  const nap = (): void => {
    const nowMs = performance.now();
    turns.enter(nowMs);
    const aheadMs = wakesAtMs - nowMs - wakeUpMs;
    if (aheadMs > 0) Atomics.wait(bed, 0, 0, Math.min(aheadMs, longestNapMs));
    tick();
  };

  const arm = (): void => {
    wakesAtMs = nextDueMs();
    if (stopped || wakesAtMs === Number.POSITIVE_INFINITY) return;
    const aheadMs = wakesAtMs - performance.now();
    if (aheadMs <= 0) immediate = setImmediate(tick);
    else if (aheadMs >= 1 + wakeUpMs) timer = setTimeout(tick, Math.floor(aheadMs - wakeUpMs));
    else if (tallies.active / (itlMs || ttftMs) < sparseEventsPerMs) immediate = setImmediate(nap);
    else timer = setTimeout(tick, 1);
  };

  const disarm = (): void => {
    clearTimeout(timer);
    clearImmediate(immediate);
    timer = undefined;
    immediate = undefined;
    wakesAtMs = Number.POSITIVE_INFINITY;
  };

  const wakeFor = (dueAtMs: number): void => {
    if (dueAtMs >= wakesAtMs) return;
    disarm();
    arm();
  };

  return {
    start(stream) {
      if (ttftMs === 0 && itlMs === 0) {
        enqueue(ready, stream);
        wakeFor(Number.NEGATIVE_INFINITY);
        return;
      }
      stream.dueAtMs = dueOf(stream, 0);
      enqueue(waiting, stream);
      wakeFor(stream.dueAtMs);
    },
    resume(stream) {
      if (stream.state !== 'blocked') return;
      stream.state = 'running';
      if (stream.sent === stream.shape.events) {
        finish(stream);
      } else if (itlMs === 0) {
        enqueue(ready, stream);
        wakeFor(Number.NEGATIVE_INFINITY);
      } else {
        // Its place in the queue is kept: here only goes what fell due while it was blocked.
        catchUp(stream, stream.slot - 1);
      }
    },
    stop() {
      stopped = true;
      disarm();
    },
  };
}

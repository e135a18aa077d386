import type { AnswerShape, Events } from './events.ts';
import type { Tallies } from './tallies.ts';
import type { Wire } from './wire.ts';

/** One answer on its way. Times in milliseconds of `performance.now()`. */
export interface Stream {
  readonly wire: Wire;
  readonly events: Events;
  readonly shape: AnswerShape;
  /** When the last byte of the request had been read. */
  readonly startedAtMs: number;
  /** Events handed to the socket. */
  sent: number;
  lastSentAtMs: number;
  /** `over` is an answer that is finished, or whose client is gone: whoever still holds it lets it go. */
  state: 'running' | 'blocked' | 'over';
  /** The event whose turn comes at `dueAtMs`; runs ahead of `sent` while the client does not read. */
  slot: number;
  dueAtMs: number;
  next: Stream | undefined;
  readonly onFlushed: () => void;
  /** Called when the last byte was handed to the system. */
  readonly onAnswered: () => void;
}

/** First in, first out, linked through the streams themselves, so that waiting in it allocates nothing. */
export interface Queue {
  head: Stream | undefined;
  tail: Stream | undefined;
}

export const newQueue = (): Queue => ({ head: undefined, tail: undefined });

export function enqueue(queue: Queue, stream: Stream): void {
  stream.next = undefined;
  if (queue.tail === undefined) queue.head = stream;
  else queue.tail.next = stream;
  queue.tail = stream;
}

export function dequeue(queue: Queue): Stream | undefined {
  const stream = queue.head;
  if (stream === undefined) return undefined;
  queue.head = stream.next;
  if (queue.head === undefined) queue.tail = undefined;
  stream.next = undefined;
  return stream;
}

/**
 * Hands the next `count` events to the socket as one write. `dueAtMs` is when the first of them was to leave; undefined
 * where nothing was promised.
 */
export function sendEvents(stream: Stream, count: number, dueAtMs: number | undefined, tallies: Tallies): void {
  const { sent, shape } = stream;
  const bytes = stream.events.bytes(sent, count, shape);
  const atMs = performance.now();
  const result = stream.wire.send(bytes, stream.onFlushed);
  if (result === 'gone') {
    stream.state = 'over';
    return;
  }
  if (dueAtMs !== undefined) tallies.lateness.add((atMs - dueAtMs) * 1000);
  if (sent === 0) tallies.ttft.add((atMs - stream.startedAtMs) * 1000);
  else tallies.gap.add((atMs - stream.lastSentAtMs) * 1000);
  for (let i = 1; i < count; i++) tallies.gap.add(0);
  stream.lastSentAtMs = atMs;
  stream.sent = sent + count;
  tallies.events += count;
  tallies.tokens += Math.min(shape.tokens, stream.sent * shape.tokensPerEvent) - sent * shape.tokensPerEvent;
  if (result === 'blocked') stream.state = 'blocked';
  else if (stream.sent === shape.events) finish(stream);
}

/** To be called once the last byte is with the system. */
export function finish(stream: Stream): void {
  stream.state = 'over';
  stream.onAnswered();
}

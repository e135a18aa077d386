/**
 * Watches the turns of the event loop, to know how long what is read now may have lain unread. The system does not tell
 * when bytes came; but they came after the loop had looked for the last time, and if it slept until now, they came now.
 * Times in milliseconds of `performance.now()`.
 */
export interface Turns {
  /** To be called first in whatever the event loop calls. */
  enter(atMs: number): void;
  /** Number of this turn. */
  readonly count: number;
  /** What is read in this turn from a connection that was open before it cannot have come earlier. */
  readonly unseenSinceMs: number;
  /**
   * To be called for every connection that is accepted; returns the earliest moment at which it can have come. The loop
   * accepts one a turn, so connections that come together wait in a queue until a turn finds it empty.
   */
  accepted(): number;
  /** Whether a connection came in this turn or the one before, so that more may be waiting. */
  readonly accepting: boolean;
}

export function watchTurns(): Turns {
  const { nodeTiming } = performance;
  let inTurn = false;
  let idleMs = nodeTiming.idleTime;
  let startedAtMs = performance.now();
  const leave = (): void => {
    inTurn = false;
  };
  let lastAcceptIn = Number.NEGATIVE_INFINITY;
  let queuedSinceMs = startedAtMs;
  let slept = false;
  const turns = {
    count: 0,
    unseenSinceMs: startedAtMs,
    enter(atMs: number): void {
      if (inTurn) return;
      inTurn = true;
      setImmediate(leave);
      const before = idleMs;
      idleMs = nodeTiming.idleTime;
      turns.count++;
      slept = idleMs > before;
      turns.unseenSinceMs = slept ? atMs : startedAtMs;
      startedAtMs = atMs;
    },
    accepted(): number {
      if (slept || turns.count > lastAcceptIn + 1) queuedSinceMs = turns.unseenSinceMs;
      lastAcceptIn = turns.count;
      return queuedSinceMs;
    },
    get accepting(): boolean {
      return turns.count <= lastAcceptIn + 1;
    },
  };
  return turns;
}
